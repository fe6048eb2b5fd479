"""Wrong ways to write lab 10's exercises. Each must lose points and be recognised as itself.

Each repeats the whole function or class, so that it can be handed in as it is.
"""

import re
import string
from collections import Counter

import torch
from torch import nn

from grader.author.catalogue import misconception

# What the notebook has beside the exercise in question; in a submission it is the learner's own.


def answer_token_span(offsets, start, end):
    hit = [i for i, o in enumerate(offsets) if o and o[0] < end and o[1] > start]
    whole = hit and offsets[hit[0]][0] <= start and end <= offsets[hit[-1]][1]
    return (hit[0], hit[-1]) if whole else (0, 0)


def split_into_windows(length, size, overlap):
    starts = [0]
    while starts[-1] + size < length:
        starts.append(starts[-1] + size - overlap)
    return [(s, min(s + size, length)) for s in starts]


def make_features(
    question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0
):
    q = tokenize(question)[0]
    c, where = tokenize(context)
    made = []
    for a, b in split_into_windows(len(c), max_length - len(q) - 3, overlap):
        row = [cls_id, *q, sep_id, *c[a:b], sep_id]
        pad = max_length - len(row)
        off = [None] * (len(q) + 2) + where[a:b] + [None] * (pad + 1)
        s, e = answer_token_span(off, *answer) if answer else (0, 0)
        made.append(dict(
            input_ids=row + [pad_id] * pad,
            token_type_ids=[0] * (len(q) + 2) + [1] * (b - a + 1) + [0] * pad,
            attention_mask=[1] * len(row) + [0] * pad, offsets=off, start_position=s, end_position=e,
        ))
    return made


def span_loss(start_logits, end_logits, start_positions, end_positions):
    ce = nn.functional.cross_entropy
    return 0.5 * ce(start_logits, start_positions) + 0.5 * ce(end_logits, end_positions)


def best_span(start_logits, end_logits, in_context, max_answer_length):
    best = (0, 0, float("-inf"))
    places = [i for i, fine in enumerate(in_context.tolist()) if fine]
    for i in places:
        for j in places:
            total = float(start_logits[i] + end_logits[j])
            if i <= j < i + max_answer_length and total > best[2]:
                best = (i, j, total)
    return best


def normalise(text):
    kept = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(w for w in kept.split() if w not in ("a", "an", "the"))


# ---------------------------------------------------------------------------------- answer_token_span


@misconception(
    "answer_token_span",
    "Characters end exclusively, tokens do not: the last token is a part of the answer. For an answer of one token "
    "the two numbers are equal.",
)
def last_token_exclusive(offsets, start, end):
    """The last token is counted exclusively, one too many."""
    first, last = answer_token_span(offsets, start, end)
    return (first, last + 1) if last else (0, 0)


@misconception(
    "answer_token_span",
    "`end` is the first character *behind* the answer. Looked up as if it belonged to the answer it is often a "
    "space, which no token has, or the beginning of the next piece.",
)
def end_taken_as_inclusive(offsets, start, end):
    """The token that holds character `end` itself is taken as the last one."""
    first = last = None
    for i, pair in enumerate(offsets):
        if pair is None:
            continue
        if pair[0] <= start < pair[1]:
            first = i
        if pair[0] <= end < pair[1]:
            last = i
    if first is None or last is None:
        return 0, 0
    return first, last


@misconception(
    "answer_token_span",
    "Ends are exclusive on both sides of your comparison: the last token may end exactly where the answer does. An "
    "answer at the very end of the text or window is whole.",
)
def answer_at_the_end_dropped(offsets, start, end):
    """An answer that ends where the window's text ends is taken as cut off."""
    context = [pair for pair in offsets if pair is not None]
    if end >= context[-1][1]:
        return 0, 0
    return answer_token_span(offsets, start, end)


@misconception(
    "answer_token_span",
    "The window holds only a part of the answer, and you point at that part. Trained on it, a model learns to say "
    "half of an answer. What is the target where the answer is not whole?",
)
def cut_answers_kept(offsets, start, end):
    """Of an answer that the window cuts off, the part that is left is the target."""
    hit = [i for i, pair in enumerate(offsets) if pair and pair[0] < end and pair[1] > start]
    return (hit[0], hit[-1]) if hit else (0, 0)


@misconception(
    "answer_token_span",
    "You look for a token that begins exactly where the answer begins, and one that ends exactly where it ends. An "
    "answer may begin or end within a token; which tokens cover it then?",
)
def only_at_borders_of_tokens(offsets, start, end):
    """An answer is found only if it begins and ends where tokens do."""
    first = [i for i, pair in enumerate(offsets) if pair and pair[0] == start]
    last = [i for i, pair in enumerate(offsets) if pair and pair[1] == end]
    return (first[0], last[0]) if first and last else (0, 0)


@misconception(
    "answer_token_span",
    "Your numbers are too small by the number of tokens in front of the context. The model's positions count from "
    "the beginning of the window, with [CLS] as 0.",
)
def counted_from_the_context(offsets, start, end):
    """Tokens are counted from the first token of the context."""
    pairs = [pair for pair in offsets if pair is not None]
    return answer_token_span(pairs, start, end)


@misconception(
    "answer_token_span",
    "A token has something of the answer in it if it *ends after* the answer's start. You ask it to begin after "
    "the start, and so lose the token that begins right there.",
)
def first_token_lost(offsets, start, end):
    """The token that begins where the answer begins is left out."""
    first, last = answer_token_span(offsets, start, end)
    return (min(first + 1, last), last)


@misconception(
    "answer_token_span",
    "A missing answer has a target, too: position 0, where [CLS] stands. -1 would be no position at all, or, in "
    "Python, the last one.",
)
def minus_one_for_no_answer(offsets, start, end):
    """(-1, -1) stands for an answer that is not in the window."""
    found = answer_token_span(offsets, start, end)
    return found if found != (0, 0) else (-1, -1)


# ---------------------------------------------------------------------------------- split_into_windows


@misconception(
    "split_into_windows",
    "Your windows touch and share nothing. An answer across a border is whole in neither of them. Where must the "
    "next window begin?",
)
def windows_without_overlap(length, size, overlap):
    """Each window begins where the one before ends."""
    return [(a, min(a + size, length)) for a in range(0, length, size)]


@misconception(
    "split_into_windows",
    "`overlap` is what two windows share, not the distance between their beginnings. (Hugging Face's argument `stride` "
    "is such an overlap, too, in spite of its name.)",
)
def overlap_taken_as_step(length, size, overlap):
    """The next window begins `overlap` tokens after the one before."""
    step, found, a = max(overlap, 1), [], 0
    while True:
        found.append((a, min(a + size, length)))
        if a + size >= length:
            return found
        a += step


@misconception(
    "split_into_windows",
    "The end of the text is in no window. You stop before the last window, perhaps because it is not full.",
)
def last_window_missing(length, size, overlap):
    """Only full windows are made; what is left at the end is lost."""
    found = [(a, a + size) for a in range(0, length - size + 1, size - overlap)]
    return found or [(0, length)]


@misconception(
    "split_into_windows",
    "Your last window holds nothing that the one before does not have: that one has reached the end already. Ask "
    "when to stop, not whether there is still text to begin with.",
)
def one_window_too_many(length, size, overlap):
    """There is a window for every beginning within the text, also when the end was reached."""
    return [(a, min(a + size, length)) for a in range(0, length, size - overlap)] + (
        [(length - 1, length)] if overlap == 0 else []
    )


@misconception(
    "split_into_windows",
    "The last window ends behind the end of the text. Slices forgive that, but the number of tokens in it is wrong.",
)
def beyond_the_end(length, size, overlap):
    """The last window has full size, beyond the end of the text."""
    return [(a, a + size) for a, _ in split_into_windows(length, size, overlap)]


@misconception(
    "split_into_windows",
    "The end of a window is exclusive here, as in a slice: `end - begin` is its number of tokens.",
)
def window_end_inclusive(length, size, overlap):
    """The end of each window is its last token instead of the one behind."""
    return [(a, b - 1) for a, b in split_into_windows(length, size, overlap)]


@misconception(
    "split_into_windows",
    "Moving the last window back so that it is full is a sensible idea, but not this one: neighbours are to share exactly "
    "`overlap` tokens, and a short last window is fine.",
)
def last_window_moved_back(length, size, overlap):
    """The last window is moved back until it is full."""
    found = split_into_windows(length, size, overlap)
    return [*found[:-1], (max(0, length - size), length)]


@misconception(
    "split_into_windows",
    "That is truncation: all that stands behind the first window is never read, and answers there are never found.",
)
def first_window_only(length, size, overlap):
    """There is only one window; the rest of the text is cut off."""
    return [(0, min(size, length))]


# ---------------------------------------------------------------------------------- make_features


@misconception(
    "make_features",
    "You look for the answer's words in the context, and `find` gives the first place where they stand. It may be another "
    "mention. The answer's own place was handed to you.",
)
def first_mention_by_find(question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0):
    """The answer's place is looked up by find(), which gives the first mention."""
    if answer:
        words = context[answer[0]:answer[1]]
        answer = context.find(words), context.find(words) + len(words)
    return make_features(question, context, answer, tokenize, max_length, overlap, cls_id, sep_id, pad_id)


@misconception(
    "make_features",
    "The offsets belong to a text without the white space in front, the answer's place to one with it. Hand the "
    "tokenizer the context as it is.",
)
def context_stripped(question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0):
    """White space is stripped from the context before its offsets are made."""
    return make_features(
        question, " ".join(context.split()), answer, tokenize, max_length, overlap, cls_id, sep_id, pad_id
    )


@misconception(
    "make_features",
    "All tokens are in segment 0: the model cannot tell question and context apart by their segments, as it has learned to.",
)
def one_segment(question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0):
    """token_type_ids are 0 everywhere."""
    made = make_features(question, context, answer, tokenize, max_length, overlap, cls_id, sep_id, pad_id)
    return [{**one, "token_type_ids": [0] * max_length} for one in made]


@misconception(
    "make_features",
    "Each [SEP] closes the text before it, and belongs to its segment: the first one to the question's, the second "
    "one to the context's. One of yours is on the wrong side.",
)
def separator_opens_the_segment(question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0):
    """Segment 1 begins one token too early, with the question's [SEP], and ends before the last [SEP]."""
    made = make_features(question, context, answer, tokenize, max_length, overlap, cls_id, sep_id, pad_id)
    return [{**one, "token_type_ids": [*one["token_type_ids"][1:], 0]} for one in made]


@misconception(
    "make_features",
    "Your attention mask has a 1 at the padding, so that every token attends to it, too. Then a window's result depends on "
    "how much padding it got.",
)
def padding_attended(question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0):
    """The attention mask is 1 at the padding, too."""
    made = make_features(question, context, answer, tokenize, max_length, overlap, cls_id, sep_id, pad_id)
    return [{**one, "attention_mask": [1] * max_length} for one in made]


@misconception(
    "make_features",
    "The windows have different lengths: nothing was filled up. A batch is a rectangle.",
)
def not_padded(question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0):
    """There is no padding, so that the lists have no common length."""
    made = make_features(question, context, answer, tokenize, max_length, overlap, cls_id, sep_id, pad_id)
    return [
        {key: v[: sum(one["attention_mask"])] if isinstance(v, list) else v for key, v in one.items()}
        for one in made
    ]


@misconception(
    "make_features",
    "What does not fit into the first window is cut off, and its answers with it. That is what truncation=True does "
    "when nobody asks for the rest.",
)
def truncated(question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0):
    """Only the first window is made."""
    return make_features(
        question, context, answer, tokenize, max_length, overlap, cls_id, sep_id, pad_id
    )[:1]


@misconception(
    "make_features",
    "Count the special tokens: one in front, one between, one at the end. All of them need room beside the question.",
)
def special_tokens_forgotten(question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0):
    """The windows leave no room for the special tokens, and are too long."""
    return make_features(
        question, context, answer, tokenize, max_length + 3, overlap, cls_id, sep_id, pad_id
    )


@misconception(
    "make_features",
    "Your positions count from the context's first token in the window. The model's logits count from [CLS].",
)
def positions_in_the_context(question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0):
    """start_position and end_position do not count the tokens in front of the context."""
    front = len(tokenize(question)[0]) + 2
    made = make_features(question, context, answer, tokenize, max_length, overlap, cls_id, sep_id, pad_id)
    for one in made:
        if one["end_position"]:
            one["start_position"] -= front
            one["end_position"] -= front
    return made


@misconception(
    "make_features",
    "The question's tokens have offsets, too, but in the question. Mixed with the context's they point at characters that "
    "have nothing to do with them.",
)
def offsets_of_the_question_kept(question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0):
    """The question's tokens have their offsets instead of None."""
    places = tokenize(question)[1]
    made = make_features(question, context, answer, tokenize, max_length, overlap, cls_id, sep_id, pad_id)
    for one in made:
        one["offsets"] = [None, *places, *one["offsets"][len(places) + 1:]]
    return made


@misconception(
    "make_features",
    "Windows that share nothing lose the answers on their borders. The argument `overlap` has to reach the windows.",
)
def neighbours_share_nothing(question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0):
    """The windows do not overlap."""
    return make_features(question, context, answer, tokenize, max_length, 0, cls_id, sep_id, pad_id)


# ---------------------------------------------------------------------------------- SpanHead


@misconception(
    "SpanHead",
    "Row 0 of the weight is for the start, row 1 for the end. With random weights nobody notices; with trained ones every "
    "answer is turned round.",
)
class StartAndEndSwapped(nn.Module):
    """Start and end logits have changed places."""

    def __init__(self, hidden_size):
        super().__init__()
        self.linear = nn.Linear(hidden_size, 2)

    def forward(self, hidden, allowed):
        end, start = self.linear(hidden).unbind(-1)
        return start.masked_fill(~allowed, -1e9), end.masked_fill(~allowed, -1e9)


@misconception(
    "SpanHead",
    "The logits are as the layer gives them, at the question and at the padding, too. What is the argument `allowed` for?",
)
class NothingBlocked(nn.Module):
    """The places that are not allowed keep their logits."""

    def __init__(self, hidden_size):
        super().__init__()
        self.linear = nn.Linear(hidden_size, 2)

    def forward(self, hidden, allowed):
        start, end = self.linear(hidden).unbind(-1)
        return start, end


@misconception(
    "SpanHead",
    "True means allowed in this course. You block what is allowed, and leave the rest.",
)
class MaskTurnedRound(nn.Module):
    """The allowed places are blocked, and the others not."""

    def __init__(self, hidden_size):
        super().__init__()
        self.linear = nn.Linear(hidden_size, 2)

    def forward(self, hidden, allowed):
        start, end = self.linear(hidden).unbind(-1)
        return start.masked_fill(allowed, -1e9), end.masked_fill(allowed, -1e9)


@misconception(
    "SpanHead",
    "A logit of 0 is nothing special: it is more than -5, and 1e-9 is nearly 0. To forbid a place its logit must be so low "
    "that no other is lower, minus a billion for example.",
)
class MultipliedByTheMask(nn.Module):
    """Forbidden places get 0, or 1e-9, instead of a very low logit."""

    def __init__(self, hidden_size):
        super().__init__()
        self.linear = nn.Linear(hidden_size, 2)

    def forward(self, hidden, allowed):
        start, end = self.linear(hidden).unbind(-1)
        return start * allowed, end * allowed


@misconception(
    "SpanHead",
    "These are shares, not logits: they lie between 0 and 1. The loss takes a softmax itself, and would take it of a "
    "softmax.",
)
class SharesInsteadOfLogits(nn.Module):
    """A softmax is applied, so that shares come back instead of logits."""

    def __init__(self, hidden_size):
        super().__init__()
        self.linear = nn.Linear(hidden_size, 2)

    def forward(self, hidden, allowed):
        start, end = self.linear(hidden).unbind(-1)
        return start.masked_fill(~allowed, -1e9).softmax(-1), end.masked_fill(~allowed, -1e9).softmax(-1)


@misconception(
    "SpanHead",
    "Both results are the same column. The layer has two outputs for each token; you take one of them twice.",
)
class OneColumnTwice(nn.Module):
    """Start and end are the same logits."""

    def __init__(self, hidden_size):
        super().__init__()
        self.linear = nn.Linear(hidden_size, 2)

    def forward(self, hidden, allowed):
        logits = self.linear(hidden)[..., 0].masked_fill(~allowed, -1e9)
        return logits, logits


@misconception(
    "SpanHead",
    "The numbers are right, but in wrong places: reshaping reads the memory row by row and cares for no meaning. The "
    "two logits of a token lie side by side in the *last* axis.",
)
class ReshapedInsteadOfTakenApart(nn.Module):
    """(batch, seq_len, 2) is reshaped to (2, batch, seq_len), which mixes tokens and logits."""

    def __init__(self, hidden_size):
        super().__init__()
        self.linear = nn.Linear(hidden_size, 2)

    def forward(self, hidden, allowed):
        start, end = self.linear(hidden).reshape(2, *allowed.shape)
        return start.masked_fill(~allowed, -1e9), end.masked_fill(~allowed, -1e9)


@misconception(
    "SpanHead",
    "The docstring asks for one layer named `linear` with two outputs. Two layers can do the same, but trained weights "
    "would not fit into them.",
)
class TwoLayers(nn.Module):
    """There is a layer for the start and another one for the end."""

    def __init__(self, hidden_size):
        super().__init__()
        self.start, self.end = nn.Linear(hidden_size, 1), nn.Linear(hidden_size, 1)

    def forward(self, hidden, allowed):
        return self.start(hidden).squeeze(-1), self.end(hidden).squeeze(-1)


# ---------------------------------------------------------------------------------- span_loss


@misconception(
    "span_loss",
    "Your loss is exactly twice as large: the two cross-entropies are added. Everything else that depends on its size, "
    "such as clipping, changes with it.",
)
def losses_added(start_logits, end_logits, start_positions, end_positions):
    """The two cross-entropies are added instead of averaged."""
    return 2 * span_loss(start_logits, end_logits, start_positions, end_positions)


@misconception(
    "span_loss",
    "The end has no gradient: it is never trained. Both ends of an answer are classifications.",
)
def start_only(start_logits, end_logits, start_positions, end_positions):
    """Only the start counts."""
    return nn.functional.cross_entropy(start_logits, start_positions)


@misconception(
    "span_loss",
    "Your loss grows with the batch: it sums over the windows. Which `reduction` is asked for?",
)
def summed_over_the_batch(start_logits, end_logits, start_positions, end_positions):
    """The loss is summed over the batch instead of averaged."""
    return len(start_logits) * span_loss(start_logits, end_logits, start_positions, end_positions)


@misconception(
    "span_loss",
    "PyTorch's `cross_entropy` takes logits, and takes their softmax itself. Shares handed to it are squashed a second "
    "time: the loss can never come near 0.",
)
def softmax_twice(start_logits, end_logits, start_positions, end_positions):
    """A softmax is taken before cross_entropy, which takes another one."""
    return span_loss(start_logits.softmax(-1), end_logits.softmax(-1), start_positions, end_positions)


@misconception(
    "span_loss",
    "For large logits the exponentials overflow, or a share becomes 0 and its logarithm infinite. There are functions that "
    "compute the logarithm of a softmax in one go.",
)
def logarithm_of_exponentials(start_logits, end_logits, start_positions, end_positions):
    """exp, sum and log are taken one after the other, which overflows for large logits."""
    total = 0
    for logits, right in ((start_logits, start_positions), (end_logits, end_positions)):
        shares = logits.exp() / logits.exp().sum(-1, keepdim=True)
        total = total - shares.gather(1, right[:, None]).log().mean()
    return total / 2


@misconception(
    "span_loss",
    "Start logits meet end positions. Look at what belongs to what.",
)
def positions_crossed(start_logits, end_logits, start_positions, end_positions):
    """Start logits are compared with end positions, and the reverse."""
    return span_loss(start_logits, end_logits, end_positions, start_positions)


@misconception(
    "span_loss",
    "Position 0 is [CLS], and stands for no answer. That is a class to be learned, not one to be ignored: a model that never "
    "learns it always finds something.",
)
def no_answer_ignored(start_logits, end_logits, start_positions, end_positions):
    """Windows without an answer are left out of the loss."""
    keep = start_positions != 0
    return span_loss(start_logits[keep], end_logits[keep], start_positions[keep], end_positions[keep])


@misconception(
    "span_loss",
    "The two targets of a window are not one event whose shares are multiplied and averaged afterwards; the loss averages "
    "logarithms, not shares.",
)
def logarithm_of_the_mean(start_logits, end_logits, start_positions, end_positions):
    """The logarithm of the mean share is taken instead of the mean of the logarithms."""
    logs = [
        logits.log_softmax(-1).gather(1, right[:, None])
        for logits, right in ((start_logits, start_positions), (end_logits, end_positions))
    ]
    every = torch.cat(logs).flatten()
    return torch.log(torch.tensor(float(len(every)))) - every.logsumexp(0)


# ---------------------------------------------------------------------------------- best_span


@misconception(
    "best_span",
    "Start and end are chosen each for itself. Nothing keeps the end from coming before the start, or a page behind it. It is the "
    "best *pair* that is wanted.",
)
def each_for_itself(start_logits, end_logits, in_context, max_answer_length):
    """The best start and the best end of the context are taken independently."""
    first = int(start_logits.masked_fill(~in_context, -1e9).argmax())
    last = int(end_logits.masked_fill(~in_context, -1e9).argmax())
    return first, last, float(start_logits[first] + end_logits[last])


@misconception(
    "best_span",
    "You take the best start first, and then the best end that fits it. If that start has no good end, another pair has a "
    "greater sum.",
)
def greedy(start_logits, end_logits, in_context, max_answer_length):
    """The best start is fixed before an end is looked for."""
    first = int(start_logits.masked_fill(~in_context, -1e9).argmax())
    ends = end_logits.masked_fill(~in_context, -1e9)[first : first + max_answer_length]
    last = first + int(ends.argmax())
    return first, last, float(start_logits[first] + end_logits[last])


@misconception(
    "best_span",
    "Your answers are pieces of the question, or [SEP], if their logits are high. The argument `in_context` says where an "
    "answer may be.",
)
def question_allowed(start_logits, end_logits, in_context, max_answer_length):
    """The question's tokens and [SEP] may be answers."""
    anywhere = torch.ones_like(in_context)
    anywhere[0] = False
    return best_span(start_logits, end_logits, anywhere, max_answer_length)


@misconception(
    "best_span",
    "[CLS] is not a token of the context. Its score says that there is no answer, and is compared later with the best span.",
)
def cls_allowed(start_logits, end_logits, in_context, max_answer_length):
    """[CLS] counts as a possible answer."""
    with_cls = in_context.clone()
    with_cls[0] = True
    return best_span(start_logits, end_logits, with_cls, max_answer_length)


@misconception(
    "best_span",
    "There is no limit to the length. A good start at the beginning and a good end at the other side of the text make an answer of "
    "half a page.",
)
def any_length(start_logits, end_logits, in_context, max_answer_length):
    """max_answer_length is not used."""
    return best_span(start_logits, end_logits, in_context, len(start_logits))


@misconception(
    "best_span",
    "From i to j are j - i + 1 tokens, both ends included. Your answers may be one token too long.",
)
def one_token_too_long(start_logits, end_logits, in_context, max_answer_length):
    """The distance from first to last may be max_answer_length: one token too many."""
    return best_span(start_logits, end_logits, in_context, max_answer_length + 1)


@misconception(
    "best_span",
    "From i to j are j - i + 1 tokens, both ends included. Your answers are one token shorter than they might be.",
)
def one_token_too_short(start_logits, end_logits, in_context, max_answer_length):
    """Answers of exactly max_answer_length tokens are refused."""
    return best_span(start_logits, end_logits, in_context, max_answer_length - 1)


@misconception(
    "best_span",
    "An answer of a single token begins and ends with it. First and last may be equal.",
)
def at_least_two_tokens(start_logits, end_logits, in_context, max_answer_length):
    """The last token must come after the first."""
    best = (0, 0, float("-inf"))
    places = [i for i, fine in enumerate(in_context.tolist()) if fine]
    for i in places:
        for j in places:
            total = float(start_logits[i] + end_logits[j])
            if i < j < i + max_answer_length and total > best[2]:
                best = (i, j, total)
    return best


@misconception(
    "best_span",
    "Impossible pairs are multiplied by 0. As long as a good pair has a score above 0, nobody notices; if all are below, the "
    "impossible ones win.",
)
def impossible_pairs_set_to_zero(start_logits, end_logits, in_context, max_answer_length):
    """Impossible pairs have score 0 instead of a score below all others."""
    fine = (in_context[:, None] & in_context).triu().tril(max_answer_length - 1)
    sums = (start_logits[:, None] + end_logits) * fine
    first, last = divmod(int(sums.argmax()), len(start_logits))
    return first, last, float(sums[first, last])


@misconception(
    "best_span",
    "The span is right and the score is not: it is to be the sum of two logits, so that it can be compared with the "
    "no-answer score. A product of shares has another size, and in every window another one.",
)
def product_of_shares(start_logits, end_logits, in_context, max_answer_length):
    """The score is the product of two shares instead of the sum of two logits."""
    first, last, _ = best_span(start_logits, end_logits, in_context, max_answer_length)
    return first, last, float(start_logits.softmax(-1)[first] * end_logits.softmax(-1)[last])


# ---------------------------------------------------------------------------------- exact_match


def _right(answers, normal):
    return [kept for kept in map(normal, answers) if kept] or [""]


@misconception(
    "exact_match",
    "*The kitchen.* and *kitchen* are the same answer. Neither side is normalised in yours.",
)
def compared_letter_by_letter(prediction, answers):
    """Nothing is normalised."""
    return int(prediction in (list(answers) or [""]))


@misconception(
    "exact_match",
    "Lower case is the first of four steps. What about marks, articles and white space?",
)
def lower_case_only(prediction, answers):
    """Only upper and lower case are made equal."""
    right = [one.lower() for one in answers if one.strip()] or [""]
    return int(prediction.lower() in right)


@misconception(
    "exact_match",
    "Articles stay in yours. *the kitchen* and *kitchen* are to be equal.",
)
def articles_kept(prediction, answers):
    """Articles are not dropped."""
    def normal(text):
        return " ".join("".join(c for c in text.lower() if c not in string.punctuation).split())

    return int(normal(prediction) in _right(answers, normal))


@misconception(
    "exact_match",
    "You drop an article at the beginning only. The rule drops it wherever it stands.",
)
def article_in_front_only(prediction, answers):
    """Only an article at the beginning is dropped."""
    def normal(text):
        bare = " ".join("".join(c for c in text.lower() if c not in string.punctuation).split())
        return re.sub(r"^(a|an|the)( |$)", "", bare)

    return int(normal(prediction) in _right(answers, normal))


@misconception(
    "exact_match",
    "You delete the letters of an article wherever they stand, also within a word: a theatre becomes something else. An article "
    "is a whole word.",
)
def articles_within_words(prediction, answers):
    """The letters of articles are deleted within words, too."""
    def normal(text):
        bare = "".join(c for c in text.lower() if c not in string.punctuation)
        return " ".join(re.sub(r"the|\ban\b|a\b", "", bare).split())

    return int(normal(prediction) in _right(answers, normal))


@misconception(
    "exact_match",
    "Marks are deleted, and nothing takes their place. With a space for each, *U.S.A.* is three words.",
)
def space_for_marks(prediction, answers):
    """Punctuation becomes a space instead of nothing."""
    def normal(text):
        bare = "".join(" " if c in string.punctuation else c for c in text.lower())
        return " ".join(w for w in bare.split() if w not in ("a", "an", "the"))

    return int(normal(prediction) in _right(answers, normal))


@misconception(
    "exact_match",
    "The order of the steps matters: as long as a bracket sticks to it, *(the)* is no article. And *the-* in front of a "
    "word is none afterwards.",
)
def articles_before_marks(prediction, answers):
    """Articles are dropped before punctuation is deleted."""
    def normal(text):
        words = [w for w in text.lower().split() if w not in ("a", "an", "the")]
        return " ".join("".join(c for c in " ".join(words) if c not in string.punctuation).split())

    return int(normal(prediction) in _right(answers, normal))


@misconception(
    "exact_match",
    "White space inside the text stays as it is: two spaces or a line break make two equal answers different.",
)
def white_space_kept(prediction, answers):
    """White space is not collapsed."""
    def normal(text):
        bare = "".join(c for c in text.lower() if c not in string.punctuation)
        return re.sub(r"\b(a|an|the)\b *", "", bare)

    return int(normal(prediction) in _right(answers, normal))


@misconception(
    "exact_match",
    "A part of the answer, or more than the answer, is no exact match. F1 is for that.",
)
def part_is_enough(prediction, answers):
    """It is enough if one is a part of the other."""
    said = normalise(prediction)
    return int(any(said == one or (said and one and (said in one or one in said)) for one in _right(answers, normalise)))


@misconception(
    "exact_match",
    "Of several right answers the best counts. You look at the first one only.",
)
def first_answer_only(prediction, answers):
    """Only the first of the right answers counts."""
    return int(normalise(prediction) == _right(answers, normalise)[0])


@misconception(
    "exact_match",
    "Without a right answer you never say 1. Then the empty text is right: the reader says that there is no answer, and there "
    "is none.",
)
def no_answer_never_right(prediction, answers):
    """A question without an answer always scores 0."""
    return int(bool(normalise(prediction)) and normalise(prediction) in map(normalise, answers))


@misconception(
    "exact_match",
    "A right answer of which nothing is left, such as *the*, does not count. Yours makes the empty text right although there is "
    "another answer.",
)
def empty_answers_kept(prediction, answers):
    """Right answers of which nothing is left are not dropped."""
    return int(normalise(prediction) in (list(map(normalise, answers)) or [""]))


# ---------------------------------------------------------------------------------- f1


def _best(prediction, answers, against, normal=normalise):
    right = [one.split() for one in _right(answers, normal)] or [[]]
    return max(against(normal(prediction).split(), one) for one in right)


def _f1(said, right):
    if not said or not right:
        return float(said == right)
    return 2 * (Counter(said) & Counter(right)).total() / (len(said) + len(right))


@misconception(
    "f1",
    "A set forgets how often a word comes. Said twice and right once, one word is in common and two were said.",
)
def sets_of_words(prediction, answers):
    """Words are collected in sets, so that a repeated word counts once."""
    return _best(prediction, answers, lambda said, right: _f1(sorted(set(said)), sorted(set(right))))


@misconception(
    "f1",
    "That is precision: what share of the words said is right. A reader that says a single sure word would be perfect. The other "
    "half is missing.",
)
def precision_only(prediction, answers):
    """Precision is returned instead of F1."""
    def against(said, right):
        if not said or not right:
            return float(said == right)
        return (Counter(said) & Counter(right)).total() / len(said)

    return _best(prediction, answers, against)


@misconception(
    "f1",
    "That is recall: what share of the right words is said. A reader that says the whole text would be perfect. The other half is "
    "missing.",
)
def recall_only(prediction, answers):
    """Recall is returned instead of F1."""
    def against(said, right):
        if not said or not right:
            return float(said == right)
        return (Counter(said) & Counter(right)).total() / len(right)

    return _best(prediction, answers, against)


@misconception(
    "f1",
    "You average precision and recall as usual. The harmonic mean stays close to the smaller of the two, so that neither can be "
    "bought with the other.",
)
def arithmetic_mean(prediction, answers):
    """The arithmetic mean of precision and recall is taken instead of the harmonic."""
    def against(said, right):
        if not said or not right:
            return float(said == right)
        common = (Counter(said) & Counter(right)).total()
        return (common / len(said) + common / len(right)) / 2

    return _best(prediction, answers, against)


@misconception(
    "f1",
    "You count letters, and words that merely look alike score. F1 here is about whole words: split first.",
)
def letters_instead_of_words(prediction, answers):
    """Letters are compared instead of words."""
    return _best(prediction, answers, lambda said, right: _f1(list(" ".join(said)), list(" ".join(right))))


@misconception(
    "f1",
    "The words are compared as they are written. Use your `normalise` on both sides first.",
)
def words_not_normalised(prediction, answers):
    """The texts are not normalised."""
    said = prediction.split()
    return max(_f1(said, right) for right in [one.split() for one in answers if normalise(one)] or [[]])


@misconception(
    "f1",
    "Of several right answers the best F1 counts, not their mean: each of them is right by itself.",
)
def mean_of_the_answers(prediction, answers):
    """The mean over the right answers is taken instead of the best."""
    right = [one.split() for one in _right(answers, normalise)]
    return sum(_f1(normalise(prediction).split(), one) for one in right) / len(right)


@misconception(
    "f1",
    "All right answers are poured into one bag of words. Each of them is an answer by itself.",
)
def answers_poured_together(prediction, answers):
    """The words of all right answers are taken as one answer."""
    right = " ".join(_right(answers, normalise)).split()
    return _f1(normalise(prediction).split(), right)


@misconception(
    "f1",
    "Without a common word precision and recall are both 0, and their harmonic mean divides by 0. What is F1 then? The text says it.",
)
def division_by_zero(prediction, answers):
    """Without a common word there is a division by zero."""
    def against(said, right):
        if not said or not right:
            return float(said == right)
        common = (Counter(said) & Counter(right)).total()
        precision, recall = common / len(said), common / len(right)
        return 2 * precision * recall / (precision + recall)

    return _best(prediction, answers, against)


@misconception(
    "f1",
    "When there is no answer and none is given, that is right: both have no word, and F1 is 1.",
)
def nothing_scores_nothing(prediction, answers):
    """No answer where there is none scores 0 instead of 1."""
    return _best(prediction, answers, lambda said, right: _f1(said, right) if said and right else 0.0)


@misconception(
    "f1",
    "Exact match is all or nothing. F1 gives a share for words in common.",
)
def exact_match_again(prediction, answers):
    """It is 1 for equal texts and 0 for all others, as exact match is."""
    return _best(prediction, answers, lambda said, right: float(said == right))


# ---------------------------------------------------------------------------------- train_step


def _forward(model, batch):
    names = ("input_ids", "attention_mask", "token_type_ids", "allowed")
    start, end = model(*[batch[name] for name in names])
    return span_loss(start, end, batch["start_positions"], batch["end_positions"])


@misconception(
    "train_step",
    "The first step is right, later ones are not: `backward` *adds* to the gradients that are there. Who clears them, and when?",
)
def gradients_not_cleared(model, optimizer, batch, learning_rate, max_norm=1.0):
    """The gradients are never set to zero, so that they add up from step to step."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    loss = _forward(model, batch)
    loss.backward()
    nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
    optimizer.step()
    return float(loss)


@misconception(
    "train_step",
    "The loss is right, and the weights stay what they were. Either the gradients are cleared between backward and step, or there is "
    "no step at all. The order is: clear, compute, use.",
)
def nothing_changes(model, optimizer, batch, learning_rate, max_norm=1.0):
    """No weight changes: the gradients are cleared before they are used, or the step is missing."""
    model.train()
    loss = _forward(model, batch)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return float(loss)


@misconception(
    "train_step",
    "The model may come from an evaluation. Then dropout stays off while it learns, and nobody notices until it has learned by "
    "heart.",
)
def left_in_evaluation(model, optimizer, batch, learning_rate, max_norm=1.0):
    """The model is not put into training mode."""
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    loss = _forward(model, batch)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
    optimizer.step()
    return float(loss)


@misconception(
    "train_step",
    "The gradients are used at their full length. Either they are not clipped, or at a moment when there are none yet. Between "
    "which two lines must it happen?",
)
def not_clipped(model, optimizer, batch, learning_rate, max_norm=1.0):
    """The gradients are not clipped, or at a moment when it has no effect."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    loss = _forward(model, batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss)


@misconception(
    "train_step",
    "You limit every number of the gradient by itself. That changes its direction. Scaling all of it by one factor keeps the direction "
    "and shortens the step.",
)
def every_number_clipped(model, optimizer, batch, learning_rate, max_norm=1.0):
    """Each entry of the gradient is limited, instead of the norm of all together."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    loss = _forward(model, batch)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(list(model.parameters()), max_norm)
    optimizer.step()
    return float(loss)


@misconception(
    "train_step",
    "The optimizer goes on with the rate that it had. The schedule's rate for this step is an argument.",
)
def learning_rate_ignored(model, optimizer, batch, learning_rate, max_norm=1.0):
    """The learning rate is not handed to the optimizer."""
    model.train()
    loss = _forward(model, batch)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
    optimizer.step()
    return float(loss)


@misconception(
    "train_step",
    "Without the attention mask every token attends to the padding, too, and a window's result depends on its neighbours in the "
    "batch.",
)
def attention_mask_forgotten(model, optimizer, batch, learning_rate, max_norm=1.0):
    """The attention mask is not handed to the model."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    start, end = model(batch["input_ids"], token_type_ids=batch["token_type_ids"], allowed=batch["allowed"])
    loss = span_loss(start, end, batch["start_positions"], batch["end_positions"])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
    optimizer.step()
    return float(loss)


@misconception(
    "train_step",
    "Question and context look the same to the model: the segments did not reach it. Mind the order of the arguments, or hand "
    "them over by name.",
)
def segments_forgotten(model, optimizer, batch, learning_rate, max_norm=1.0):
    """The token_type_ids are not handed to the model."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    start, end = model(batch["input_ids"], batch["attention_mask"], allowed=batch["allowed"])
    loss = span_loss(start, end, batch["start_positions"], batch["end_positions"])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
    optimizer.step()
    return float(loss)


# ---------------------------------------------------------------------------------- answer


def _asked(question, context, model, tokenize, max_length, overlap, max_answer_length):
    """The features, the best span of each window, and each window's no-answer score."""
    features = make_features(question, context, None, tokenize, max_length, overlap)
    rows = [[f[k] for f in features] for k in ("input_ids", "attention_mask", "token_type_ids")]
    inside = torch.tensor([[o is not None for o in f["offsets"]] for f in features])
    allowed = inside | (torch.arange(inside.size(1)) == 0)
    model.eval()
    with torch.no_grad():
        start, end = model(*map(torch.tensor, rows), allowed)
    spans = [best_span(start[n], end[n], inside[n], max_answer_length) for n in range(len(features))]
    return features, spans, (start[:, 0] + end[:, 0]).tolist()


def _told(features, spans, nothing, threshold, end_of=lambda pair: pair[1]):
    n = max(range(len(spans)), key=lambda k: spans[k][2])
    margin = spans[n][2] - min(nothing)
    if margin <= threshold:
        return 0, 0, margin
    offsets = features[n]["offsets"]
    return offsets[spans[n][0]][0], end_of(offsets[spans[n][1]]), margin


@misconception(
    "answer",
    "You found the right tokens, and then looked for their text with `find`: it gives the first place where these words stand. The "
    "offsets of the tokens say which place it is.",
)
def place_by_find(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """The answer's place is looked up with find(), which gives the first mention."""
    found = _asked(question, context, model, tokenize, max_length, overlap, max_answer_length)
    start, end, margin = _told(*found, threshold)
    place = context.find(context[start:end])
    return (place, place + end - start, margin) if end else (0, 0, margin)


@misconception(
    "answer",
    "The places count in a text whose white space was stripped, but the answer is cut out of the one that was given. All of them are "
    "off by what was in front.",
)
def places_in_the_stripped_text(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """The context is stripped first, so that all places are off."""
    found = _asked(question, context.strip(), model, tokenize, max_length, overlap, max_answer_length)
    return _told(*found, threshold)


@misconception(
    "answer",
    "Your answers lack their last token: they end where it begins. A pair of offsets has two halves.",
)
def last_token_cut_off(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """The answer ends where its last token begins."""
    found = _asked(question, context, model, tokenize, max_length, overlap, max_answer_length)
    return _told(*found, threshold, end_of=lambda pair: pair[0])


@misconception(
    "answer",
    "Your answers are a letter too long: the ends of offsets are exclusive already, as those of a slice.",
)
def one_letter_too_many(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """1 is added to the answer's end, which is exclusive already."""
    found = _asked(question, context, model, tokenize, max_length, overlap, max_answer_length)
    return _told(*found, threshold, end_of=lambda pair: pair[1] + 1)


@misconception(
    "answer",
    "Only the first window is read. An answer further on is never found.",
)
def first_window_read_only(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """Only the first window counts."""
    found = _asked(question, context, model, tokenize, max_length, overlap, max_answer_length)
    return _told(*(part[:1] for part in found), threshold)


@misconception(
    "answer",
    "Each window overwrites what the one before has found, whatever its score. Keep the best of all.",
)
def last_window_wins(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """The last window's span is taken, whatever its score."""
    found = _asked(question, context, model, tokenize, max_length, overlap, max_answer_length)
    return _told(*(part[-1:] for part in found), threshold)


@misconception(
    "answer",
    "It always finds something. Compare the margin with the threshold: a question may have no answer in this text.",
)
def always_an_answer(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """The threshold is not used, so that there is always an answer."""
    found = _asked(question, context, model, tokenize, max_length, overlap, max_answer_length)
    return _told(*found, float("-inf"))


@misconception(
    "answer",
    "Windows that do not hold the answer rightly say that there is none. One such window must not outvote the one that found it: which of the "
    "no-answer scores counts?",
)
def greatest_no_answer_score(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """The greatest of the windows' no-answer scores counts instead of the least."""
    features, spans, nothing = _asked(
        question, context, model, tokenize, max_length, overlap, max_answer_length
    )
    return _told(features, spans, [max(nothing)], threshold)


@misconception(
    "answer",
    "The margin is the score alone: nothing is subtracted. A high score means little as long as [CLS] may have a higher one.",
)
def score_instead_of_margin(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """The span's score itself is compared with the threshold, without the no-answer score."""
    features, spans, _ = _asked(question, context, model, tokenize, max_length, overlap, max_answer_length)
    return _told(features, spans, [0.0], threshold)


@misconception(
    "answer",
    "The numbers are right, but the model was asked as it was: in training mode dropout makes answers random, and gradients cost memory for "
    "nothing.",
)
def asked_in_training_mode(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """The model is asked in the mode that it was in, with gradients."""
    features = make_features(question, context, None, tokenize, max_length, overlap)
    rows = [[f[k] for f in features] for k in ("input_ids", "attention_mask", "token_type_ids")]
    inside = torch.tensor([[o is not None for o in f["offsets"]] for f in features])
    start, end = model(*map(torch.tensor, rows), inside | (torch.arange(inside.size(1)) == 0))
    spans = [best_span(start[n], end[n], inside[n], max_answer_length) for n in range(len(features))]
    return _told(features, spans, (start[:, 0] + end[:, 0]).tolist(), threshold)
