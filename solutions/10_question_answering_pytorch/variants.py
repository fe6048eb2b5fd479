"""Correct versions of lab 10's exercises in other styles, written by people who have not seen the reference."""

# Each one is handed in alone, in place of the reference. Besides what the set-up cell imports, a version may use the
# exercises above it under their own names; in this file the plain versions below stand in for them. All else is
# imported or defined inside. (The cell of `exact_match` also defines `normalise`: the first version of `f1` does not
# count on it.)

import re
import string
from collections import Counter

import numpy as np
import torch
from torch import nn

from grader.catalogue import variant

# ---------------------------------------------------------------------------------- the exercises above, plainly


def answer_token_span(offsets, start, end):
    holds = [n for n, pair in enumerate(offsets) if pair and pair[0] < end and start < pair[1]]
    if holds and offsets[holds[0]][0] <= start and end <= offsets[holds[-1]][1]:
        return holds[0], holds[-1]
    return 0, 0


def split_into_windows(length, size, overlap):
    windows = [(0, min(size, length))]
    while windows[-1][1] < length:
        begin = windows[-1][0] + size - overlap
        windows.append((begin, min(begin + size, length)))
    return windows


def make_features(question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0):
    asked, (ids, places) = tokenize(question)[0], tokenize(context)
    front = [cls_id, *asked, sep_id]
    features = []
    for begin, end in split_into_windows(len(ids), max_length - len(front) - 1, overlap):
        count = end - begin
        rest = max_length - len(front) - count - 1
        offsets = [None] * len(front) + list(places[begin:end]) + [None] * (rest + 1)
        first, last = answer_token_span(offsets, *answer) if answer else (0, 0)
        features.append({
            "input_ids": front + list(ids[begin:end]) + [sep_id] + [pad_id] * rest,
            "token_type_ids": [0] * len(front) + [1] * (count + 1) + [0] * rest,
            "attention_mask": [1] * (max_length - rest) + [0] * rest,
            "offsets": offsets,
            "start_position": first,
            "end_position": last,
        })
    return features


def span_loss(start_logits, end_logits, start_positions, end_positions):
    loss = nn.functional.cross_entropy
    return loss(start_logits, start_positions) / 2 + loss(end_logits, end_positions) / 2


def best_span(start_logits, end_logits, in_context, max_answer_length):
    places = [n for n, inside in enumerate(in_context.tolist()) if inside]
    pairs = [(i, j) for i in places for j in places if i <= j < i + max_answer_length]
    first, last = max(pairs, key=lambda pair: float(start_logits[pair[0]] + end_logits[pair[1]]))
    return first, last, float(start_logits[first] + end_logits[last])


def normalise(text):
    kept = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(word for word in kept.split() if word not in ("a", "an", "the"))


# ---------------------------------------------------------------------------------- answer_token_span


@variant("answer_token_span")
def span_from_both_ends(offsets, start, end):
    """Walks in from the front and from the back of the context's stretch."""
    stretch = [number for number, pair in enumerate(offsets) if pair is not None]
    first, last = stretch[0], stretch[-1]
    if start < offsets[first][0] or end > offsets[last][1]:
        return (0, 0)
    while offsets[first][1] <= start:
        first += 1
    while offsets[last][0] >= end:
        last -= 1
    return (first, last)


@variant("answer_token_span")
def span_by_bisection(offsets, start, end):
    """Looks up both borders in the sorted starts and ends."""
    from bisect import bisect_left, bisect_right

    front = next(number for number, pair in enumerate(offsets) if pair is not None)
    starts, ends = zip(*(pair for pair in offsets if pair is not None), strict=True)
    if not (starts[0] <= start and end <= ends[-1]):
        return 0, 0
    return front + bisect_right(ends, start), front + bisect_left(starts, end) - 1


@variant("answer_token_span")
def span_in_a_table(offsets, start, end):
    """A NumPy table with (-1, -1) for None, and a mask."""
    table = np.array([pair or (-1, -1) for pair in offsets])
    touched = np.flatnonzero((table[:, 1] > start) & (table[:, 0] < end))
    if touched.size == 0:
        return 0, 0
    first, last = touched[[0, -1]]
    whole = table[first, 0] <= start and end <= table[last, 1]
    return (first, last) if whole else (0, 0)


@variant("answer_token_span")
def span_by_owners_of_characters(places, von, bis):
    """A dict from each character to its token; the first and the last character are looked up in it; other names."""
    owner = {}
    for number, pair in enumerate(places):
        if pair is None:
            continue
        for character in range(*pair):
            owner[character] = number
    if von in owner and bis - 1 in owner:
        return owner[von], owner[bis - 1]
    return 0, 0


@variant("answer_token_span")
def span_in_one_pass(offsets, start, end):
    """One pass that remembers where the answer began, and returns as soon as it ends."""
    first = None
    for place, pair in enumerate(offsets):
        if pair is None:
            continue
        left, right = pair
        if first is None and left <= start < right:
            first = place
        if left < end <= right:
            print("from", first, "to", place)
            return (0, 0) if first is None else (first, place)
    return (0, 0)


@variant("answer_token_span")
def span_in_torch(offsets, start, end):
    """PyTorch's searchsorted on the context's part; returns a list."""
    inside = torch.tensor([pair is not None for pair in offsets])
    places = inside.nonzero().flatten()
    pairs = torch.tensor([pair for pair in offsets if pair is not None])
    first = torch.searchsorted(pairs[:, 1].contiguous(), start, right=True)
    last = torch.searchsorted(pairs[:, 0].contiguous(), end, right=False) - 1
    if first >= len(pairs) or last < first or pairs[first, 0] > start or pairs[last, 1] < end:
        return [0, 0]
    return [places[first].item(), places[last].item()]


# ---------------------------------------------------------------------------------- split_into_windows


@variant("split_into_windows")
def windows_in_a_loop(n_tokens, width, shared):
    """An endless loop that the first window to reach the end leaves; other names."""
    windows, begin = [], 0
    while True:
        end = begin + width
        if end >= n_tokens:
            windows.append((begin, n_tokens))
            return windows
        windows.append((begin, end))
        begin = end - shared


@variant("split_into_windows")
def windows_by_their_count(length, size, overlap):
    """Works out first how many there are."""
    import math

    step = size - overlap
    count = 1 if length <= size else 1 + math.ceil((length - size) / step)
    return [(k * step, min(k * step + size, length)) for k in range(count)]


@variant("split_into_windows")
def windows_from_a_stack(length, size, overlap):
    """The first window, then a stack of what is left to cut: where it begins, and how long it is."""
    if length <= size:
        return [(0, length)]
    step = size - overlap
    rest, todo = [], [(step, length - step)]
    while todo:
        moved, left = todo.pop()
        rest.append((moved, moved + min(left, size)))
        if left > size:
            todo.append((moved + step, left - step))
    return [(0, size), *rest]


@variant("split_into_windows")
def windows_by_recursion(length, size, overlap):
    """Calls a function inside that calls itself."""

    def from_(begin):
        if begin + size >= length:
            return [(begin, length)]
        return [(begin, begin + size), *from_(begin + size - overlap)]

    return from_(0)


@variant("split_into_windows")
def windows_by_arange(length, size, overlap):
    """NumPy's arange for the beginnings; returns an array with two columns, row by row as tuples."""
    begins = np.arange(0, max(length - overlap, 1), size - overlap)
    ends = np.minimum(begins + size, length)
    return list(map(tuple, np.column_stack([begins, ends]).tolist()))


@variant("split_into_windows")
def windows_that_are_yielded(length, size, overlap):
    """A generator; a window is yielded only if the one before has not reached the end."""

    def windows():
        reached = 0
        for begin in range(0, length, size - overlap):
            if reached < length:
                reached = min(length, begin + size)
                yield begin, reached

    return list(windows())


# ---------------------------------------------------------------------------------- make_features


@variant("make_features")
def features_from_rows_of_tokens(
    question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0
):
    """A row (id, segment, mask, place) for each token; the columns are the lists."""
    question_ids, _ = tokenize(question)
    context_ids, context_offsets = tokenize(context)
    front = [(cls_id, 0, 1, None), *((number, 0, 1, None) for number in question_ids), (sep_id, 0, 1, None)]
    tokens = [(number, 1, 1, place) for number, place in zip(context_ids, context_offsets, strict=True)]
    features = []
    for begin, end in split_into_windows(len(tokens), max_length - len(front) - 1, overlap):
        rows = front + tokens[begin:end] + [(sep_id, 1, 1, None)]
        rows += [(pad_id, 0, 0, None)] * (max_length - len(rows))
        ids, kinds, mask, places = (list(column) for column in zip(*rows, strict=True))
        feature = dict(input_ids=ids, token_type_ids=kinds, attention_mask=mask, offsets=places)
        span = (0, 0) if answer is None else answer_token_span(places, answer[0], answer[1])
        feature["start_position"], feature["end_position"] = span
        features.append(feature)
    return features


@variant("make_features")
def features_written_into_arrays(
    question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0
):
    """Fills NumPy rows that begin as padding."""
    question_ids, _ = tokenize(question)
    context_ids, context_offsets = tokenize(context)
    m = len(question_ids)
    features = []
    for begin, end in split_into_windows(len(context_ids), max_length - m - 3, overlap):
        stop = m + 2 + end - begin  # there stands the second [SEP]
        ids = np.full(max_length, pad_id)
        ids[0], ids[1 : m + 1], ids[m + 1] = cls_id, question_ids, sep_id
        ids[m + 2 : stop], ids[stop] = context_ids[begin:end], sep_id
        place = np.arange(max_length)
        offsets = [None] * max_length
        offsets[m + 2 : stop] = context_offsets[begin:end]
        start, last = 0, 0
        if answer is not None:
            start, last = answer_token_span(offsets, *answer)
        features.append({
            "input_ids": ids.tolist(),
            "token_type_ids": ((place >= m + 2) & (place <= stop)).astype(int).tolist(),
            "attention_mask": (place <= stop).astype(int).tolist(),
            "offsets": offsets,
            "start_position": int(start),
            "end_position": int(last),
        })
    return features


@variant("make_features")
def features_without_the_exercises_above(
    q, text, gold, cut, longest, shared, cls_id=101, sep_id=102, pad_id=0
):
    """Finds the answer's tokens in the whole context, once, and moves them into each window; other names."""
    asked = list(cut(q)[0])
    ids, places = map(list, cut(text))
    room, moved = longest - len(asked) - 3, len(asked) + 2
    wanted = []
    if gold:
        wanted = [n for n, (left, right) in enumerate(places) if right > gold[0] and left < gold[1]]

    def filled(items, nothing):
        return items + [nothing] * (longest - len(items))

    features, begin, done = [], 0, False
    while not done:
        part, done = ids[begin : begin + room], begin + room >= len(ids)
        start = end = 0
        if wanted and begin <= wanted[0] and wanted[-1] < begin + len(part):
            start, end = wanted[0] - begin + moved, wanted[-1] - begin + moved
        features.append({
            "start_position": start,
            "end_position": end,
            "input_ids": filled([cls_id, *asked, sep_id, *part, sep_id], pad_id),
            "attention_mask": filled([1] * (moved + len(part) + 1), 0),
            "token_type_ids": filled([0] * moved + [1] * (len(part) + 1), 0),
            "offsets": filled([None] * moved + places[begin : begin + len(part)], None),
        })
        begin += room - shared
    return features


@variant("make_features")
def features_appended_token_by_token(
    question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0
):
    """Appends to four lists at once, by a function inside."""
    from collections import defaultdict

    question_ids = tokenize(question)[0]
    context_ids, context_offsets = tokenize(context)
    windows = split_into_windows(
        length=len(context_ids), size=max_length - (1 + len(question_ids) + 1 + 1), overlap=overlap
    )
    result = []
    for window in windows:
        feature = defaultdict(list)

        def put(token, segment, seen=1, place=None, feature=feature):
            feature["input_ids"].append(token)
            feature["token_type_ids"].append(segment)
            feature["attention_mask"].append(seen)
            feature["offsets"].append(place)

        put(cls_id, 0)
        for token in question_ids:
            put(token, 0)
        put(sep_id, 0)
        for number in range(*window):
            put(context_ids[number], 1, place=context_offsets[number])
        put(sep_id, 1)
        while len(feature["input_ids"]) < max_length:
            put(pad_id, 0, seen=0)
        feature["start_position"] = feature["end_position"] = 0
        if answer is not None:
            feature["start_position"], feature["end_position"] = answer_token_span(feature["offsets"], *answer)
        result.append(dict(feature))
    return result


@variant("make_features")
def features_by_torch(
    question, context, answer, tokenize, max_length, overlap, cls_id=101, sep_id=102, pad_id=0
):
    """Tensors, joined by cat and filled up by pad; lists again at the end."""
    from torch.nn.functional import pad

    question_ids = torch.tensor(tokenize(question)[0])
    context_ids, context_offsets = tokenize(context)
    context_ids = torch.tensor(context_ids)
    head, sep = torch.tensor([cls_id]), torch.tensor([sep_id])
    front = torch.cat([head, question_ids, sep])
    features = []
    for begin, end in split_into_windows(len(context_ids), max_length - len(front) - 1, overlap):
        second = torch.cat([context_ids[begin:end], sep])
        missing = max_length - len(front) - len(second)
        ids = pad(torch.cat([front, second]), (0, missing), value=pad_id)
        kinds = pad(torch.ones(len(second), dtype=torch.long), (len(front), missing))
        mask = pad(torch.ones(max_length - missing, dtype=torch.long), (0, missing))
        offsets = [None for _ in front] + context_offsets[begin:end] + [None for _ in range(missing + 1)]
        first, last = (0, 0) if answer is None else answer_token_span(offsets, *answer)
        features.append(
            {
                "input_ids": ids.tolist(),
                "token_type_ids": kinds.tolist(),
                "attention_mask": mask.tolist(),
                "offsets": offsets,
                "start_position": first,
                "end_position": last,
                "window": (begin, end),
            }
        )
    return features


# ---------------------------------------------------------------------------------- SpanHead


@variant("SpanHead")
class HeadWithMaskedFill(nn.Module):
    """As most notebooks have it: one layer, masked_fill with -1e9, unbind."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(hidden_size, 2)

    def forward(self, hidden, allowed):
        logits = self.linear(hidden).masked_fill(~allowed.unsqueeze(-1), -1e9)
        start, end = logits.unbind(-1)
        return start, end


@variant("SpanHead")
class HeadWithMinusInfinity(nn.Module):
    """Splits the last axis, and blocks by torch.where with minus infinity; returns a list."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features=hidden_size, out_features=2, bias=True)
        nn.init.zeros_(self.linear.bias)

    def forward(self, hidden, allowed):
        parts = torch.split(self.linear(hidden), 1, dim=-1)
        never = torch.tensor(float("-inf"))
        return [torch.where(allowed, part.squeeze(-1), never) for part in parts]


@variant("SpanHead")
class HeadInDoublePrecision(nn.Module):
    """Two products with the rows of the weight, in float64, and a penalty that is added."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(hidden_size, 2)

    def forward(self, hidden, allowed):
        penalty = -1e9 * (~allowed).double()
        (for_start, for_end), (start_bias, end_bias) = self.linear.weight.double(), self.linear.bias.double()
        start = hidden.double() @ for_start + start_bias + penalty
        end = hidden.double() @ for_end + end_bias + penalty
        return start.float(), end.float()


@variant("SpanHead")
class HeadOfItsOwnParameters(nn.Module):
    """A layer of its own that is named like nn.Linear's parts; einsum; the least float where nothing may be."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        bound = hidden_size**-0.5
        self.linear = nn.Module()
        self.linear.weight = nn.Parameter(bound * (2 * torch.rand(2, hidden_size) - 1))
        self.linear.bias = nn.Parameter(torch.zeros(2))

    def forward(self, hidden, allowed):
        logits = torch.einsum("bth,kh->kbt", hidden, self.linear.weight) + self.linear.bias[:, None, None]
        logits[:, ~allowed] = torch.finfo(logits.dtype).min
        return logits[0], logits[1]


@variant("SpanHead")
class HeadWindowByWindow(nn.Module):
    """A loop over the batch that fills in only what is allowed."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(hidden_size, 2)

    def forward(self, hidden, allowed):
        starts, ends = [], []
        for states, open_places in zip(hidden, allowed, strict=True):
            row = torch.full((2, states.shape[0]), -20_000.0)
            row[:, open_places] = nn.functional.linear(states[open_places], self.linear.weight, self.linear.bias).T
            starts.append(row[0])
            ends.append(row[1])
        return torch.stack(starts), torch.stack(ends)


# ---------------------------------------------------------------------------------- span_loss


@variant("span_loss")
def loss_of_a_batch_twice_as_large(start_logits, end_logits, start_positions, end_positions):
    """Starts and ends below each other, and one cross-entropy for all."""
    logits = torch.cat((start_logits, end_logits), dim=0)
    return nn.CrossEntropyLoss()(logits, torch.cat((start_positions, end_positions), dim=0))


@variant("span_loss")
def loss_by_gather(start_logits, end_logits, start_positions, end_positions):
    """Logarithms of the shares, and of each row the right one."""
    losses = []
    for logits, right in ((start_logits, start_positions), (end_logits, end_positions)):
        log_shares = torch.log_softmax(logits, dim=-1)
        losses.append(-log_shares.gather(1, right[:, None]).mean())
    return 0.5 * (losses[0] + losses[1])


@variant("span_loss")
def loss_by_logsumexp_in_double_precision(start_logits, end_logits, start_positions, end_positions):
    """logsumexp less the right logit, in float64; a mean over both axes."""
    logits = torch.stack([start_logits, end_logits]).double()
    right = torch.stack([start_positions, end_positions])
    side, row = torch.meshgrid(torch.arange(2), torch.arange(logits.shape[1]), indexing="ij")
    return (logits.logsumexp(dim=-1) - logits[side, row, right]).mean()


@variant("span_loss")
def loss_row_by_row(start_logits, end_logits, start_positions, end_positions):
    """One window after the other, with exponentials written out, moved by the greatest logit."""

    def surprise(row, right):
        moved = row - row.max().detach()
        return torch.log(torch.exp(moved).sum()) - moved[right]

    total = torch.zeros(())
    for s, e, i, j in zip(start_logits, end_logits, start_positions.tolist(), end_positions.tolist(), strict=True):
        total = total + surprise(s, i) + surprise(e, j)
    return total / (2 * len(start_logits))


@variant("span_loss")
def loss_of_distributions(start_logits, end_logits, start_positions, end_positions):
    """torch.distributions knows log-probabilities; a tensor of shape (1,)."""
    from torch.distributions import Categorical

    start = Categorical(logits=start_logits).log_prob(start_positions)
    end = Categorical(logits=end_logits).log_prob(end_positions)
    return -(start + end).mean(dim=0, keepdim=True) / 2


@variant("span_loss")
def loss_by_nll(s, e, i, j):
    """nll_loss for each window, added up by hand; other names."""
    from torch.nn import functional as F

    each = F.nll_loss(F.log_softmax(s, 1), i, reduction="none")
    each = each + F.nll_loss(F.log_softmax(e, 1), j, reduction="none")
    print("losses", each.detach())
    return each.sum() / each.numel() / 2


# ---------------------------------------------------------------------------------- best_span


@variant("best_span")
def best_in_two_loops(s, e, mask, longest):
    """Two loops over Python's numbers, the best so far; other names."""
    starts, ends, inside = s.tolist(), e.tolist(), mask.tolist()
    best = None
    for i in range(len(starts)):
        for j in range(i, min(i + longest, len(ends))):
            if inside[i] and inside[j] and (best is None or starts[i] + ends[j] > best[2]):
                best = (i, j, starts[i] + ends[j])
    return best


@variant("best_span")
def best_in_a_masked_table(start_logits, end_logits, in_context, max_answer_length):
    """A table of sums, triu and tril of a mask, minus infinity, argmax of the flat table."""
    n = len(start_logits)
    sums = start_logits[:, None] + end_logits[None, :]
    fits = in_context[:, None] & in_context[None, :]
    fits = fits.triu().tril(max_answer_length - 1)
    number = sums.masked_fill(~fits, float("-inf")).argmax().item()
    first, last = number // n, number % n
    return first, last, sums[first, last].item()


@variant("best_span")
def best_by_length(start_logits, end_logits, in_context, max_answer_length):
    """All spans of one length at once: starts and ends are laid beside each other, moved."""
    candidates = []
    for extra in range(min(max_answer_length, len(start_logits))):
        stop = len(start_logits) - extra
        sums = (start_logits[:stop] + end_logits[extra:]).clone()
        sums[~(in_context[:stop] & in_context[extra:])] = -torch.inf
        score, first = sums.max(dim=0)
        candidates.append((float(score), int(first), int(first) + extra))
    score, first, last = sorted(candidates)[-1]
    return first, last, score


@variant("best_span")
def best_of_each_start(start_logits, end_logits, in_context, max_answer_length):
    """For each start the best end behind it, cut out of the context; float64 NumPy."""
    starts, ends = start_logits.numpy().astype(float), end_logits.numpy().astype(float)
    places = np.flatnonzero(in_context.numpy())
    found = {}
    for first in places:
        reach = places[(places >= first) & (places - first < max_answer_length)]
        last = reach[np.argmax(ends[reach])]
        found[starts[first] + ends[last]] = (first, last)
    score = max(found)
    return int(found[score][0]), int(found[score][1]), float(score)


@variant("best_span")
def best_from_a_heap(start_logits, end_logits, in_context, max_answer_length):
    """heapq takes pairs in the order of their scores, until one is possible."""
    import heapq
    from itertools import product

    numbers = range(len(in_context))
    heap = [(-(start_logits[i] + end_logits[j]).item(), i, j) for i, j in product(numbers, numbers)]
    heapq.heapify(heap)
    while heap:
        cost, i, j = heapq.heappop(heap)
        if in_context[i] and in_context[j] and 0 <= j - i < max_answer_length:
            return i, j, -cost
    raise ValueError("no token of the context")


@variant("best_span")
def best_of_listed_pairs(start_logits, end_logits, in_context, max_answer_length):
    """torch.combinations lists the pairs; minus infinity is added to blocked logits."""
    blocked = torch.where(in_context, 0.0, -torch.inf).double()
    s, e = start_logits.double() + blocked, end_logits.double() + blocked
    pairs = torch.combinations(torch.arange(len(s)), 2, with_replacement=True)
    pairs = pairs[pairs[:, 1] - pairs[:, 0] < max_answer_length]
    sums = s[pairs[:, 0]] + e[pairs[:, 1]]
    winner = torch.topk(sums, 1).indices[0]
    first, last = pairs[winner].tolist()
    return first, last, sums[winner].item()


# ---------------------------------------------------------------------------------- exact_match


@variant("exact_match")
def match_by_translate(prediction, answers):
    """str.translate deletes the marks; a list of right answers that is never empty."""

    def normalise(text):
        table = {ord(mark): None for mark in string.punctuation}
        words = text.lower().translate(table).split()
        return " ".join(word for word in words if word not in {"a", "an", "the"})

    right = [short for short in map(normalise, answers) if short] or [""]
    return int(normalise(prediction) in right)


@variant("exact_match")
def match_by_expressions(prediction, answers):
    """Regular expressions, as in SQuAD's own script."""

    def clean(text):
        text = re.sub("[" + re.escape(string.punctuation) + "]", "", text.lower())
        text = re.sub(r"\b(a|an|the)\b", " ", text)
        return re.sub(r"\s+", " ", text).strip()

    golds = [clean(gold) for gold in answers]
    golds = [gold for gold in golds if gold != ""]
    if len(golds) == 0:
        golds.append("")
    return max(1 if clean(prediction) == gold else 0 for gold in golds)


@variant("exact_match")
def match_letter_by_letter(prediction, answers):
    """Reads letter by letter, collects words; compares lists of words, and returns a bool."""

    def words(text):
        found, word = [], ""
        for letter in text + " ":
            if letter.isspace():
                if word and word not in ["a", "an", "the"]:
                    found.append(word)
                word = ""
            elif letter not in string.punctuation:
                word += letter.lower()
        return found

    said, one_is_left = words(prediction), False
    for each in answers:
        wanted = words(each)
        if not wanted:
            continue
        one_is_left = True
        if wanted == said:
            return True
    return not one_is_left and said == []


@variant("exact_match")
def match_of_sets(prediction, answers):
    """A chain of small functions, and a set without the empty text."""
    from functools import reduce

    steps = [
        str.lower,
        lambda text: "".join(letter for letter in text if letter not in frozenset(string.punctuation)),
        str.split,
        lambda words: filter(lambda word: word not in ("a", "an", "the"), words),
        " ".join,
    ]

    def normal(text):
        return reduce(lambda value, step: step(value), steps, text)

    right = {normal(text) for text in answers} - {""}
    said = normal(prediction)
    return float(said in right if right else not said)


@variant("exact_match")
def match_in_numpy(prediction, answers):
    """NumPy compares all right answers at once."""

    def tidy(text):
        for mark in string.punctuation:
            text = text.replace(mark, "")
        words = text.lower().split()
        for article in ("a", "an", "the"):
            while article in words:
                words.remove(article)
        return " ".join(words)

    right = np.array([tidy(each) for each in answers], dtype=object)
    right = right[right.astype(bool)]
    if right.size == 0:
        right = np.array([""], dtype=object)
    return np.int64((right == tidy(prediction)).any())


# ---------------------------------------------------------------------------------- f1


@variant("f1")
def f1_with_its_own_words(prediction, answers):
    """Normalises by itself; Counter's & for the words in common."""

    def words(text):
        kept = "".join(letter for letter in text.lower() if letter not in string.punctuation)
        return [word for word in kept.split() if word not in ("a", "an", "the")]

    def against(said, right):
        if not said or not right:
            return float(said == right)
        common = (Counter(said) & Counter(right)).total()
        if not common:
            return 0.0
        precision, recall = common / len(said), common / len(right)
        return 2 * precision * recall / (precision + recall)

    golds = [gold for gold in map(words, answers) if gold] or [[]]
    return max(against(words(prediction), gold) for gold in golds)


@variant("f1")
def f1_of_merged_words(prediction, answers):
    """Sorts both and walks along them, as in merge sort; the mean of both lengths below."""
    said = sorted(normalise(prediction).split())
    best, anything = 0.0, False
    for text in answers:
        right = sorted(normalise(text).split())
        if not right:
            continue
        anything = True
        i = j = common = 0
        while i < len(said) and j < len(right):
            if said[i] == right[j]:
                i, j, common = i + 1, j + 1, common + 1
            elif said[i] < right[j]:
                i += 1
            else:
                j += 1
        best = max(best, 2 * common / (len(said) + len(right)))
    return best if anything else float(not said)


@variant("f1")
def f1_by_crossing_out(answer, golds):
    """Crosses out each word that is found, and calculates with fractions; other names."""
    from fractions import Fraction

    said = normalise(answer).split()
    scores = []
    for right in filter(None, (normalise(one).split() for one in golds)):
        left = right.copy()
        for word in said:
            if word in left:
                left.remove(word)
        common = len(right) - len(left)
        if common == 0:
            scores.append(Fraction(0))
            continue
        precision, recall = Fraction(common, len(said)), Fraction(common, len(right))
        scores.append(2 / (1 / precision + 1 / recall))
    if not scores:
        return 1.0 if said == [] else 0.0
    return float(max(scores))


@variant("f1")
def f1_of_counts(prediction, answers):
    """Vectors of counts over all words, and the lesser of two in NumPy."""

    def normal(text):
        text = re.sub("[" + re.escape(string.punctuation) + "]", "", text.lower())
        return re.sub(r"\b(an?|the)\b", " ", text).split()

    said, right = normal(prediction), [words for words in map(normal, answers) if words]
    if not right:
        return np.float64(not said)
    vocabulary = sorted({*said, *(word for words in right for word in words)})
    mine = np.array([said.count(word) for word in vocabulary])
    theirs = np.array([[words.count(word) for word in vocabulary] for words in right])
    common = np.minimum(mine, theirs).sum(axis=1)
    return (2 * common / (mine.sum() + theirs.sum(axis=1))).max()


@variant("f1")
def f1_as_the_stub_says(prediction, answers):
    """A function inside for one right answer; sums over the set of words."""
    said = normalise(prediction).split()

    def against(right):
        if not said and not right:
            return 1.0
        common = sum(min(said.count(word), right.count(word)) for word in set(said))
        try:
            precision, recall = common / len(said), common / len(right)
            return 2 * (precision * recall) / (precision + recall)
        except ZeroDivisionError:
            return 0.0

    golds = [normalise(text).split() for text in answers if normalise(text)]
    if not golds:
        golds = [[]]
    return max(map(against, golds))


# ---------------------------------------------------------------------------------- train_step


@variant("train_step")
def step_as_most_write_it(model, optimizer, batch, learning_rate, max_norm=1.0):
    """clip_grad_norm_, and the model's arguments by name."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    wanted = ("input_ids", "attention_mask", "token_type_ids", "allowed")
    start_logits, end_logits = model(**{name: batch[name] for name in wanted})
    loss = span_loss(start_logits, end_logits, batch["start_positions"], batch["end_positions"])
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


@variant("train_step")
def step_with_gradients_by_hand(model, optimizer, batch, learning_rate, max_norm=1.0):
    """Asks autograd for the gradients, shortens them itself, and hangs them on the parameters."""
    model.train(True)
    ids, mask, kinds, allowed = (batch[k] for k in ("input_ids", "attention_mask", "token_type_ids", "allowed"))
    loss = span_loss(*model(ids, mask, kinds, allowed), batch["start_positions"], batch["end_positions"])
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    gradients = torch.autograd.grad(loss, weights, allow_unused=True)
    length = sum(float((slope.double() ** 2).sum()) for slope in gradients if slope is not None) ** 0.5
    for weight, slope in zip(weights, gradients, strict=True):
        weight.grad = slope * (max_norm / length) if slope is not None and length > max_norm else slope
    for group in optimizer.param_groups:
        group.update(lr=learning_rate)
    optimizer.step()
    return float(loss)


@variant("train_step")
def step_with_its_own_loss(model, optimizer, batch, learning_rate, max_norm=1.0):
    """The loss written here; gradients scaled in place by the norm of norms; clears before and after."""
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    model.zero_grad()
    if not model.training:
        model.train()
    inputs = {name: value for name, value in batch.items() if not name.endswith("positions")}
    start, end = model(**inputs)
    rows = torch.arange(len(start))
    loss = -torch.log_softmax(start, -1)[rows, batch["start_positions"]].mean()
    loss = (loss - torch.log_softmax(end, -1)[rows, batch["end_positions"]].mean()) / 2
    loss.backward()
    with torch.no_grad():
        norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
        scale = torch.clamp(max_norm / (norm + 1e-6), max=1.0)
        for p in model.parameters():
            if p.grad is not None:
                p.grad.mul_(scale)
    optimizer.step()
    model.zero_grad()
    return loss.detach().numpy().item()


@variant("train_step")
def step_of_a_function(model, optimizer, batch, learning_rate, max_norm=1.0):
    """The loss as a function of the parameters, and torch.func's gradient of it."""
    from torch.func import functional_call, grad_and_value

    model.train()
    names = ["input_ids", "attention_mask", "token_type_ids", "allowed"]

    def loss_of(parameters):
        start, end = functional_call(model, parameters, tuple(batch[name] for name in names))
        return span_loss(start, end, batch["start_positions"], batch["end_positions"])

    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    gradients, loss = grad_and_value(loss_of)({name: p.detach() for name, p in parameters.items()})
    optimizer.zero_grad(set_to_none=True)
    for name, parameter in parameters.items():
        parameter.grad = gradients[name]
    nn.utils.clip_grad_norm_(list(parameters.values()), max_norm=max_norm, norm_type=2)
    optimizer.param_groups[:] = [{**group, "lr": learning_rate} for group in optimizer.param_groups]
    optimizer.step()
    print(f"loss {loss:.3f}")
    return loss.item()


@variant("train_step")
def step_on_the_optimizers_parameters(model, optimizer, batch, learning_rate, max_norm=1.0):
    """Takes the parameters from the optimizer, and sets the rate just before the update."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    model = model.train()
    optimizer.zero_grad()
    with torch.enable_grad():
        logits = model(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            token_type_ids=batch["token_type_ids"],
            allowed=batch["allowed"],
        )
        loss = span_loss(logits[0], logits[1], batch["start_positions"], batch["end_positions"])
    torch.autograd.backward(loss)
    parameters = [parameter for parameter in parameters if parameter.grad is not None]
    everything = torch.cat([parameter.grad.flatten() for parameter in parameters])
    too_long = torch.linalg.vector_norm(everything) / max_norm
    if too_long > 1:
        for parameter in parameters:
            parameter.grad = parameter.grad / too_long
    for number in range(len(optimizer.param_groups)):
        optimizer.param_groups[number]["lr"] = float(learning_rate)
    optimizer.step()
    return round(loss.item(), 7)


# ---------------------------------------------------------------------------------- answer


@variant("answer")
def answer_for_all_windows_at_once(
    question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0
):
    """One batch of all windows, best_span for each, and max and min with keys."""
    features = make_features(question, context, None, tokenize, max_length, overlap)
    in_context = torch.tensor([[pair is not None for pair in one["offsets"]] for one in features])
    allowed = in_context.clone()
    allowed[:, 0] = True
    names = ("input_ids", "attention_mask", "token_type_ids")
    tensors = [torch.tensor([one[name] for one in features]) for name in names]
    model.eval()
    with torch.no_grad():
        starts, ends = model(*tensors, allowed)
    spans = [best_span(s, e, inside, max_answer_length) for s, e, inside in zip(starts, ends, in_context, strict=True)]
    number = max(range(len(spans)), key=lambda n: spans[n][2])
    first, last, score = spans[number]
    margin = score - (starts[:, 0] + ends[:, 0]).min().item()
    if margin <= threshold:
        return 0, 0, margin
    offsets = features[number]["offsets"]
    return offsets[first][0], offsets[last][1], margin


@variant("answer")
def answer_window_by_window(
    question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0
):
    """Asks about one window after the other, and keeps the best and the least so far."""
    model.eval()
    best, nothing = (float("-inf"), 0, 0), float("inf")
    for window in make_features(question, context, None, tokenize, max_length, overlap):
        places = window["offsets"]
        inside = torch.tensor([place is not None for place in places])
        allowed = inside | (torch.arange(len(places)) == 0)
        with torch.inference_mode():
            start, end = model(
                input_ids=torch.tensor([window["input_ids"]]),
                attention_mask=torch.tensor([window["attention_mask"]]),
                token_type_ids=torch.tensor([window["token_type_ids"]]),
                allowed=allowed[None],
            )
        first, last, score = best_span(start[0], end[0], inside, max_answer_length)
        best = max(best, (score, places[first][0], places[last][1]))
        nothing = min(nothing, float(start[0, 0] + end[0, 0]))
    margin = best[0] - nothing
    return (best[1], best[2], margin) if margin > threshold else (0, 0, margin)


@variant("answer")
def answer_by_its_own_table(
    question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0
):
    """A table (windows, starts, ends) in NumPy instead of best_span; asks in a function that is decorated with no_grad."""

    @torch.no_grad()
    def ask(inputs):
        return [part.numpy().astype(np.float64) for part in model.eval()(**inputs)]

    features = make_features(question, context, None, tokenize, max_length, overlap)
    inside = np.array([[place is not None for place in feature["offsets"]] for feature in features])
    allowed = inside.copy()
    allowed[:, 0] = True
    batch = {
        name: torch.as_tensor(np.array([feature[name] for feature in features]))
        for name in ("input_ids", "token_type_ids", "attention_mask")
    }
    start, end = ask({**batch, "allowed": torch.from_numpy(allowed)})
    margin_of_nothing = np.min(start[:, 0] + end[:, 0])
    steps = np.arange(max_length) - np.arange(max_length)[:, None]  # of the end behind the start
    possible = (steps >= 0) & (steps < max_answer_length) & inside[:, :, None] & inside[:, None, :]
    table = np.where(possible, start[:, :, None] + end[:, None, :], -np.inf)
    window, first, last = np.unravel_index(table.argmax(), table.shape)
    margin = table[window, first, last] - margin_of_nothing
    if not margin > threshold:
        return 0, 0, margin
    return features[window]["offsets"][first][0], features[window]["offsets"][last][1], margin


@variant("answer")
def answer_that_restores_the_mode(
    question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0
):
    """Two windows a batch, sorted candidates; puts the model back into the mode that it was in."""
    features = make_features(
        question=question, context=context, answer=None, tokenize=tokenize, max_length=max_length, overlap=overlap
    )
    before = model.training
    model.train(False)
    candidates, nothings = [], []
    try:
        for begin in range(0, len(features), 2):
            part = features[begin : begin + 2]
            ids, mask, kinds = (
                torch.LongTensor([one[name] for one in part])
                for name in ("input_ids", "attention_mask", "token_type_ids")
            )
            allowed = torch.zeros_like(ids, dtype=torch.bool)
            for row, one in enumerate(part):
                for column, pair in enumerate(one["offsets"]):
                    allowed[row, column] = column == 0 or pair is not None
            with torch.set_grad_enabled(False):
                starts, ends = model(ids, mask, kinds, allowed)
            for row, one in enumerate(part):
                inside = allowed[row].logical_and(torch.arange(max_length) > 0)
                i, j, score = best_span(starts[row], ends[row], inside, max_answer_length)
                candidates.append((score, (one["offsets"][i][0], one["offsets"][j][1])))
                nothings.append(starts[row, 0].item() + ends[row, 0].item())
    finally:
        model.train(before)
    candidates.sort(reverse=True)
    score, place = candidates[0]
    margin = score - sorted(nothings)[0]
    print(question, context[slice(*place)], round(margin, 2))
    return (*(place if margin > threshold else (0, 0)), margin)


@variant("answer")
def answer_with_all_work_inside(
    q, text, reader, cut, max_length=160, overlap=48, max_answer_length=16, threshold=0.0
):
    """Uses no exercise above: windows without padding, and every span of all of them in one list; other names."""
    asked = cut(q)[0]
    ids, places = cut(text)
    front = [101, *asked, 102]
    room = max_length - len(front) - 1
    reader.eval()

    def as_batch(numbers):
        return torch.tensor(numbers).unsqueeze(0)

    spans, least = [], None
    for begin in range(0, max(1, len(ids) - overlap), room - overlap):
        part = ids[begin : begin + room]
        row = [*front, *part, 102]
        kinds = [0] * len(front) + [1] * (len(part) + 1)
        allowed = [True] + [False] * (len(front) - 1) + [True] * len(part) + [False]
        with torch.no_grad():
            s, e = reader(as_batch(row), as_batch([1] * len(row)), as_batch(kinds), as_batch(allowed))
        s, e = s.squeeze(0).tolist(), e.squeeze(0).tolist()
        for i in range(len(part)):
            for j in range(i, min(len(part), i + max_answer_length)):
                score = s[len(front) + i] + e[len(front) + j]
                spans.append((score, places[begin + i][0], places[begin + j][1]))
        least = s[0] + e[0] if least is None else min(least, s[0] + e[0])
    score, start, end = max(spans)
    return (start, end, score - least) if score - least > threshold else (0, 0, score - least)
