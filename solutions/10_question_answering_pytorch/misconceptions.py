"""Wrong ways to write lab 10's exercises. Each must lose points and be recognised as itself."""

import torch

from grader.catalogue import misconception, slip

# ---------------------------------------------------------------------------------- answer_token_span

slip("answer_token_span", "last_token_exclusive",
     "The number of the last token is one too high.",
     "Characters end exclusively, but tokens do not: the last token is part of the answer. For an answer of "
     "one token the two numbers are equal.",
     ("return touched[0], touched[-1]", "return touched[0], touched[-1] + 1"))


@misconception(
    "answer_token_span",
    "`end` is the first character *after* the answer. You look it up as if it belonged to the answer, but "
    "it is often a space, which belongs to no token, or the beginning of the next piece.",
)
def end_taken_as_inclusive(offsets, start, end):
    """An answer is found only if a token holds character `end` itself, and that token is taken as the last one."""
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


slip("answer_token_span", "answer_at_the_end_dropped",
     "An answer that ends where the window's text ends is not found.",
     "An answer at the very end of the text or window is whole. Ends are exclusive, so the last token may end "
     "exactly where the answer does. Does your code get as far as that token, and does it accept an end that is equal?",
     ("if not touched or", "if not touched or end >= max(pair[1] for pair in offsets if pair) or"))

slip("answer_token_span", "cut_answers_kept",
     "If the window cuts off an answer, the part that is left becomes the target.",
     "The window holds only a part of the answer, and you point at that part. A model that is trained on "
     "this learns to give half an answer. What is the target if the answer is not whole?",
     ("if not touched or offsets[touched[0]][0] > start or offsets[touched[-1]][1] < end:",
      "if not touched:"))

slip("answer_token_span", "only_at_borders_of_tokens",
     "An answer that ends within a token is not found.",
     "An answer may begin or end in the middle of a token. Do you look for a token that ends exactly where the "
     "answer does? Which tokens cover an answer if there is no such token?",
     ("[0] > start", "[0] != start"), ("[1] < end:", "[1] != end:"))

slip("answer_token_span", "counted_from_the_context",
     "Tokens are counted from the first token of the context.",
     "Your numbers are too small by the number of tokens in front of the context. The model's positions "
     "count from the beginning of the window, with [CLS] as 0.",
     ("    touched = [",
      "    offsets = [pair for pair in offsets if pair is not None]\n"
      "    touched = ["))

slip("answer_token_span", "first_token_lost", "The first token of the answer is left out, unless it is the only one.",
     "A token contains part of the answer if it *ends after* the answer's start. Your first token is the next "
     "one: what do you ask of it?",
     ("return touched[0],", "return min(touched[0] + 1, touched[-1]),"))

slip("answer_token_span", "nothing_is_found", "No answer is found: the result is always (0, 0).",
     "(0, 0) is for windows that do not hold the whole answer, but yours gives it for all of them. Print, for one "
     "answer, what each of your conditions says of each token.",
     ("    if not touched or offsets[touched[0]][0] > start or offsets[touched[-1]][1] < end:\n        return 0, 0\n", ""),
     ("return touched[0], touched[-1]", "return 0, 0"))

slip("answer_token_span", "minus_one_for_no_answer",
     "(-1, -1) stands for an answer that is not in the window.",
     "If there is no answer there is still a target: position 0, where [CLS] is. -1 would be no position at "
     "all or, in Python, the last one.",
     ("return 0, 0", "return -1, -1"))


# ---------------------------------------------------------------------------------- split_into_windows

slip("split_into_windows", "windows_without_overlap", "Each window begins where the previous one ends.",
     "Your windows touch but share nothing. An answer across a border is whole in neither of them. Where "
     "must the next window begin?",
     ("windows[-1][1] - overlap", "windows[-1][1]"))

slip("split_into_windows", "overlap_taken_as_step",
     "The next window begins `overlap` tokens after the start of the previous one (one token, if that is 0).",
     "`overlap` is what two windows share, not the distance between their beginnings. (Hugging Face has an "
     "argument called `stride`, and in spite of its name it is such an overlap, too.)",
     ("windows[-1][1] - overlap", "windows[-1][0] + max(overlap, 1)"))

slip("split_into_windows", "last_window_missing",
     "A last window that is not full is left out, unless it is the only one.",
     "The end of the text is not in any window. You stop before the last window, perhaps because it is not "
     "full.",
     ("while windows[-1][1] < length", "while windows[-1][1] - overlap + size <= length"))


@misconception(
    "split_into_windows",
    "Your last window holds nothing new: the one before it has already reached the end. Ask whether you "
    "are done, not whether there is still text where another window could begin.",
)
def one_window_too_many(length, size, overlap):
    """Another window begins after one has reached the end of the text."""
    return [(a, min(a + size, length)) for a in range(0, length, size - overlap)] + (
        [(length - 1, length)] if overlap == 0 else []
    )


slip("split_into_windows", "beyond_the_end",
     "The last window has the full size and goes beyond the end of the text.",
     "Your last window ends after the end of the text. Slices forgive that, but the number of tokens in it "
     "is wrong.",
     ("(0, min(size, length))", "(0, size)"), ("(begin, min(begin + size, length))", "(begin, begin + size)"))

slip("split_into_windows", "window_end_inclusive",
     "The end of each window is its last token instead of the one after it.",
     "The end of a window is exclusive here, as in a slice: `end - begin` is its number of tokens.",
     ("return windows", "return [(begin, end - 1) for begin, end in windows]"))

slip("split_into_windows", "last_window_moved_back", "The last window is moved back until it is full.",
     "Moving the last window back so that it is full is a sensible idea, but it is not what the exercise "
     "asks for: neighbours should share exactly `overlap` tokens, and the last window may be short.",
     ("return windows", "return [*windows[:-1], (max(0, length - size), length)]"))

slip("split_into_windows", "first_window_only", "There is only one window; the rest of the text is cut off.",
     "That is truncation: everything after the first window is never read, and answers there are never "
     "found.",
     ("return windows", "return windows[:1]"))


# ---------------------------------------------------------------------------------- make_features

slip("make_features", "first_mention_by_find",
     "The first mention of the answer's words is taken for the answer.",
     "You search for the answer's words in the context, and take the first place where they occur, as `find` "
     "does. That may be another mention. The answer's own position was given to you.",
     ("    question_ids, _ =",
      "    if answer:\n"
      "        words = context[answer[0] : answer[1]]\n"
      "        answer = context.find(words), context.find(words) + len(words)\n"
      "    question_ids, _ ="))

slip("make_features", "context_stripped",
     "The offsets belong to a text with single spaces only, and none in front.",
     "Your offsets belong to a text with less white space, but the answer's position belongs to the context as "
     "it was given. Which text do your offsets count in?",
     ("tokenize(context)", 'tokenize(" ".join(context.split()))'))

slip("make_features", "start_0_taken_for_none",
     "An answer that begins with character 0 is taken for no answer.",
     "0 counts as false in Python, but character 0 is a place like any other. Ask whether `answer` *is None*.",
     ("if answer is None else", "if not (answer and answer[0]) else"))

slip("make_features", "one_segment", "token_type_ids are 0 everywhere.",
     "All your tokens are in segment 0, so the model cannot tell the question and the context apart by "
     "their segments, as it has learned to do.",
     ("[0] * len(front) + [1] * (inside + 1) + [0] * padding", "[0] * max_length"))

slip("make_features", "separator_opens_the_segment",
     "Segment 1 begins one token too early, with the question's [SEP], and ends before the last [SEP].",
     "Each [SEP] closes the text before it, and belongs to the same segment: the first one to the "
     "question's, the second one to the context's. One of yours is in the wrong segment.",
     ("[0] * len(front) + [1] * (inside + 1) + [0] * padding",
      "[0] * (len(front) - 1) + [1] * (inside + 1) + [0] * (padding + 1)"))

slip("make_features", "padding_attended", "The attention mask is also 1 at the padding.",
     "Your attention mask is 1 at the padding as well, so every token attends to the padding, too. The "
     "result for a window then depends on how much padding it got.",
     ("[1] * len(tokens) + [0] * padding", "[1] * max_length"))

slip("make_features", "not_padded", "`input_ids` are not padded, so they do not have the length that is asked for.",
     "Your windows have different lengths, because `input_ids` are not padded. A batch has to be rectangular. "
     "What about the other lists?",
     ("max_length - len(tokens)", "0"))

slip("make_features", "truncated", "Only the first window is returned.",
     "Whatever does not fit into the first window is cut off, and its answers with it. That is what "
     "truncation=True does if nobody asks for the rest.",
     ("return features", "return features[:1]"))

slip("make_features", "special_tokens_forgotten",
     "The three special tokens are not counted, so the windows are too long.",
     "Count the special tokens: one at the front, one between the two texts, one at the end. All of them "
     "need room, and so does the question.",
     ("    room = max_length",
      "    max_length += 3\n"
      "    room = max_length"))

slip("make_features", "positions_in_the_context",
     "start_position and end_position do not count the tokens in front of the context.",
     "You count from the context's first token in the window. The model's logits are counted from [CLS].",
     ('"start_position": first', '"start_position": first - len(front) if last else 0'),
     ('"end_position": last', '"end_position": last - len(front) if last else 0'))

slip("make_features", "offsets_of_the_question_kept",
     "The question's tokens have their offsets instead of None.",
     "The question's tokens do have offsets, but those are positions in the question. Mixed with the "
     "context's offsets, they point at characters that have nothing to do with them.",
     ("question_ids, _ =", "question_ids, question_offsets ="),
     ('"offsets": offsets', '"offsets": [None, *question_offsets, *offsets[len(front) - 1 :]]'))

slip("make_features", "overlap_taken_as_step",
     "The windows begin `overlap` tokens after each other: what they share is taken for the step from one to the next.",
     "`overlap` is what two windows share. What does your call of `split_into_windows` pass on: the overlap, or the distance "
     "between two beginnings? (Hugging Face's `stride` is the overlap, too.)",
     ("room, overlap)", "room, room - overlap)"))

slip("make_features", "mask_guessed_from_ids",
     "The attention mask is 0 wherever the id is that of the padding.",
     "You guess from the ids what is padding. In some models the padding has the id of a real token, such as [SEP], and then "
     "real tokens are masked. You know how many tokens there are: use that.",
     ("[1] * len(tokens) + [0] * padding", "[int(token != pad_id) for token in tokens] + [0] * padding"))

slip("make_features", "in_lower_case", "The texts are put into lower case before they are tokenised.",
     "The tokenizer gets another text than the one that was given. It does itself what its model needs. What you change "
     "before it, such as capitals, may also move the offsets.",
     ("tokenize(question)", "tokenize(question.lower())"), ("tokenize(context)", "tokenize(context.lower())"))

slip("make_features", "neighbours_share_nothing", "The windows do not overlap.",
     "Windows that share nothing lose the answers on their borders. What becomes of `overlap` in your code?",
     ("room, overlap)", "room, 0)"))


# ---------------------------------------------------------------------------------- SpanHead

slip("SpanHead", "StartAndEndSwapped", "Start and end logits are swapped.",
     "Row 0 of the weight is for the start, row 1 for the end. With random weights nobody would notice; "
     "with trained ones, start and end of every answer are swapped.",
     ("logits[..., 0], logits[..., 1]", "logits[..., 1], logits[..., 0]"))

slip("SpanHead", "NothingBlocked", "The places that are not allowed keep their logits.",
     "Your logits are just as the layer gives them, even at the question and at the padding. What is the "
     "argument `allowed` for?",
     (".masked_fill(~allowed[..., None], -1e9)", ""))

slip("SpanHead", "MaskTurnedRound", "The allowed places are blocked, and the others are not.",
     "True means allowed in this course. You block what is allowed, and leave the rest as it is.",
     ("~allowed", "allowed"))

slip("SpanHead", "MultipliedByTheMask", "Forbidden places get 0, or nearly 0, instead of a very low logit.",
     "There is nothing special about a logit of 0: it is more than -5, for example, and 1e-9 or -1e-9 is "
     "practically 0. To forbid a place, its logit must be so low that no other is lower: minus a billion, for example.",
     (".masked_fill(~allowed[..., None], -1e9)", " * allowed[..., None]"))

slip("SpanHead", "NotLowEnough", "Forbidden places get a logit of -100.",
     "-100 is low beside logits of 3, but logits may be in the hundreds. The docstring says how low the logit of a "
     "forbidden place must be.",
     ("-1e9", "-100.0"))

slip("SpanHead", "SharesInsteadOfLogits",
     "A softmax is applied, so probabilities are returned instead of logits.",
     "You return probabilities, which lie between 0 and 1, not logits. The loss applies a softmax itself, "
     "and that would then be a softmax of a softmax.",
     ("-1e9)", "-1e9).softmax(dim=-2)"))

slip("SpanHead", "LogProbabilities",
     "A log-softmax is applied, so log-probabilities are returned instead of logits.",
     "You return log-probabilities. The loss takes the log-softmax itself, and the logits of two windows can be compared only as "
     "they are: in log-probabilities, each window is compared with itself alone.",
     ("-1e9)", "-1e9).log_softmax(dim=-2)"))

slip("SpanHead", "OneColumnTwice", "The start and end logits are the same.",
     "Both your results are the same column. The layer has two outputs for each token, and you take one of "
     "them twice.",
     ("logits[..., 1]", "logits[..., 0]"))

slip("SpanHead", "ReshapedInsteadOfTakenApart",
     "(batch, seq_len, 2) is reshaped to (2, batch, seq_len), which mixes tokens and logits.",
     "The numbers are right, but in the wrong places: reshaping simply reads the memory row by row, "
     "whatever the numbers mean. The two logits of a token are side by side in the *last* axis.",
     (".masked_fill(~allowed[..., None], -1e9)", ".reshape(2, *allowed.shape).masked_fill(~allowed, -1e9)"),
     ("logits[..., 0], logits[..., 1]", "logits[0], logits[1]"))

slip("SpanHead", "NoGradient", "The logits are computed without gradients, so nothing can be trained through them.",
     "The numbers are right, but the way back from them is cut off: `no_grad`, `detach` and a way through NumPy all do that. "
     "When the reader is trained, gradients must get back to the layer's weights and to the encoder. Which of your lines cuts them off?",
     ("    def forward(", "    @torch.no_grad()\n    def forward("))

slip("SpanHead", "EncoderCutOff", "The hidden states are detached, so the encoder cannot be trained.",
     "Your layer learns, but the encoder in front of it never does: `detach` or `.data` cuts the way back to the hidden states.",
     ("self.linear(hidden)", "self.linear(hidden.detach())"))

slip("SpanHead", "DropoutInTheHead", "In training, a dropout changes the hidden states.",
     "The docstring asks for one linear layer and for its logits. With a dropout in front of it, the logits in training are others, "
     "and different ones each time.",
     ("self.linear = nn.Linear(hidden_size, 2)",
      "self.linear = nn.Linear(hidden_size, 2)\n        self.dropout = nn.Dropout(0.1)"),
     ("self.linear(hidden)", "self.linear(self.dropout(hidden))"))

slip("SpanHead", "TwoLayers", "There is one layer for the start and another one for the end.",
     "The docstring asks for one layer named `linear` with two outputs. Two layers can do the same, but "
     "trained weights would not fit them.",
     ("self.linear = nn.Linear(hidden_size, 2)",
      "self.start, self.end = nn.Linear(hidden_size, 1), nn.Linear(hidden_size, 1)"),
     ("logits = self.linear(hidden).masked_fill(~allowed[..., None], -1e9)",
      "logits = torch.cat([self.start(hidden), self.end(hidden)], dim=-1)"))


# ---------------------------------------------------------------------------------- span_loss

slip("span_loss", "losses_added", "The two cross-entropies are added instead of averaged.",
     "Your loss is exactly twice as large as it should be: you add the two cross-entropies. Everything else "
     "that depends on its size, such as clipping, changes with it.",
     ("(start_loss + end_loss) / 2", "start_loss + end_loss"))

slip("span_loss", "no_gradient", "The loss is computed without gradients, so nothing can be trained with it.",
     "The number is right, but the way back from it is cut off: `no_grad`, `detach`, `.item()` and a way through NumPy all do that. "
     "Which of your lines cuts it off?",
     ("return (start_loss + end_loss) / 2", "return ((start_loss + end_loss) / 2).detach()"))

slip("span_loss", "start_only", "Only the start counts.",
     "The end gets no gradient, so it is never trained. Both ends of an answer are classifications.",
     ("(start_loss + end_loss) / 2", "start_loss"))

slip("span_loss", "summed_over_the_batch", "The loss is summed over the batch instead of averaged.",
     "Your loss grows with the batch, because it sums over the windows. Which `reduction` does the exercise "
     "ask for?",
     ("return (start_loss", "return len(start_logits) * (start_loss"))

slip("span_loss", "softmax_twice", "The loss is computed from a softmax of a softmax.",
     "PyTorch's `cross_entropy` expects logits and applies the softmax itself; so does `log_softmax`. Probabilities "
     "are squashed a second time there, and the loss can never come near 0.",
     ("cross_entropy(start_logits", "cross_entropy(start_logits.softmax(-1)"),
     ("cross_entropy(end_logits", "cross_entropy(end_logits.softmax(-1)"))


@misconception(
    "span_loss",
    "For large logits the exponentials overflow, or a probability becomes 0 and its logarithm infinite. "
    "There are functions that compute the logarithm of a softmax in one go.",
)
def logarithm_of_exponentials(start_logits, end_logits, start_positions, end_positions):
    """For large logits an exponential overflows or becomes 0."""
    total = 0
    for logits, right in ((start_logits, start_positions), (end_logits, end_positions)):
        shares = logits.exp() / logits.exp().sum(-1, keepdim=True)
        total = total - shares.gather(1, right[:, None]).log().mean()
    return total / 2


slip("span_loss", "softmax_over_the_batch", "The softmax runs over the windows of the batch instead of the tokens.",
     "In your softmax the windows compete with each other for a token. The classes are the tokens of *one* window: which "
     "axis are they on?",
     ("cross_entropy(start_logits", "nll_loss(start_logits.log_softmax(0)"),
     ("cross_entropy(end_logits", "nll_loss(end_logits.log_softmax(0)"))

slip("span_loss", "batch_flattened", "One softmax runs over the tokens of all windows together.",
     "You flatten the batch, so the tokens of all windows compete in one softmax. Each window is a classification by itself.",
     ("cross_entropy(start_logits", "nll_loss(start_logits.flatten().log_softmax(0).view_as(start_logits)"),
     ("cross_entropy(end_logits", "nll_loss(end_logits.flatten().log_softmax(0).view_as(end_logits)"))

slip("span_loss", "small_number_in_the_logarithm",
     "A small number is added to the probabilities before the logarithm is taken.",
     "The small number keeps the logarithm finite, but it also limits the loss: a model that is quite wrong pays no more than one "
     "that is a little wrong, and learns nothing from it. There are functions that compute the logarithm of a softmax in one go.",
     ("cross_entropy(start_logits, ", "nll_loss((start_logits.softmax(-1) + 1e-9).log(), "),
     ("cross_entropy(end_logits, ", "nll_loss((end_logits.softmax(-1) + 1e-9).log(), "))

slip("span_loss", "logits_for_log_probabilities", "The logits are taken for log-probabilities.",
     "Your loss is minus the mean of the right tokens' logits. These are any numbers, so it can fall below 0. "
     "(`nll_loss` expects log-probabilities.)",
     ("functional.cross_entropy", "functional.nll_loss", 2))

slip("span_loss", "probabilities_for_their_logarithms", "Probabilities are used instead of their logarithms.",
     "Your loss lies between -1 and 0: it is minus a mean probability. A probability near 0 should cost a lot, which is "
     "what the logarithm is for.",
     ("cross_entropy(start_logits", "nll_loss(start_logits.softmax(-1)"),
     ("cross_entropy(end_logits", "nll_loss(end_logits.softmax(-1)"))

slip("span_loss", "positions_crossed",
     "Start logits are compared with end positions, and the other way round.",
     "You compare the start logits with the end positions. Check which of them belong together.",
     ("(start_logits, start_positions)", "(start_logits, end_positions)"),
     ("(end_logits, end_positions)", "(end_logits, start_positions)"))

slip("span_loss", "no_answer_ignored", "Windows without an answer are left out of the loss.",
     "Position 0 is [CLS], and it stands for no answer. That is a class that the model has to learn, so do "
     "not ignore it: a model that never learns it always finds some answer.",
     ("    start_loss =",
      "    keep = start_positions != 0\n"
      "    start_logits, end_logits = start_logits[keep], end_logits[keep]\n"
      "    start_positions, end_positions = start_positions[keep], end_positions[keep]\n"
      "    start_loss ="))


@misconception(
    "span_loss",
    "You average the probabilities first, and take the logarithm of that mean. A cross-entropy works the "
    "other way round: it takes a logarithm for each target, and then the mean of these.",
)
def logarithm_of_the_mean(start_logits, end_logits, start_positions, end_positions):
    """The logarithm of the mean probability is taken instead of the mean of the logarithms."""
    logs = [
        logits.log_softmax(-1).gather(1, right[:, None])
        for logits, right in ((start_logits, start_positions), (end_logits, end_positions))
    ]
    every = torch.cat(logs).flatten()
    return torch.log(torch.tensor(float(len(every)))) - every.logsumexp(0)


# ---------------------------------------------------------------------------------- best_span

slip("best_span", "each_for_itself",
     "The best start and the best end are taken, whether they fit together or not.",
     "Nothing keeps the end from coming before the start, or a page after it. You want the best *pair* of those "
     "that are possible.",
     ("    possible = possible.triu().tril(max_answer_length - 1)\n", ""))


@misconception(
    "best_span",
    "You take the best start first, and then the best end that fits it. If that start has no good end, "
    "another pair has a higher sum.",
)
def greedy(start_logits, end_logits, in_context, max_answer_length):
    """The best start is fixed before an end is looked for."""
    first = int(start_logits.masked_fill(~in_context, -1e9).argmax())
    ends = end_logits.masked_fill(~in_context, -1e9)[first : first + max_answer_length]
    last = first + int(ends.argmax())
    return first, last, float(start_logits[first] + end_logits[last])


slip("best_span", "end_before_start", "The pairs that are kept are those in which the end comes before the start.",
     "You keep the wrong half of the table. In row i and column j stands the pair that begins with token i and ends with token j. "
     "Is j to the right of the diagonal, or to the left?",
     ("possible.triu().tril(max_answer_length - 1)", "possible.tril().triu(1 - max_answer_length)"))

slip("best_span", "minus_100_for_never",
     "The impossible pairs have the score -100, or the best score so far begins there.",
     "-100 is not lower than every score: logits can be any numbers. If all possible pairs are below it, it wins. What is "
     "lower than any score?",
     ('float("-inf")', "-100.0"))

slip("best_span", "question_allowed", "The question's tokens and [SEP] may be answers.",
     "If their logits are high, you return pieces of the question, or [SEP]. The argument `in_context` says "
     "where an answer may be.",
     ("possible = in_context[:, None] & in_context[None, :]",
      "in_context = torch.arange(len(in_context)) > 0\n"
      "    possible = in_context[:, None] & in_context[None, :]"))

slip("best_span", "cls_allowed", "[CLS] counts as a possible answer.",
     "[CLS] is not a token of the context. Its score is the score for no answer, which is compared with the "
     "best span later.",
     ("possible = in_context[:, None] & in_context[None, :]",
      "in_context = in_context | (torch.arange(len(in_context)) == 0)\n"
      "    possible = in_context[:, None] & in_context[None, :]"))

slip("best_span", "any_length", "Answers may be longer than max_answer_length.",
     "The limit on the length has no effect, or allows too much. A good start at the beginning and a good end at the "
     "other end of the text then make an answer half a page long.",
     (".tril(max_answer_length - 1)", ""))

slip("best_span", "one_token_too_long",
     "Answers may be one token too long.",
     "From i to j there are j - i + 1 tokens, both ends included. How many may that be, at most?",
     ("max_answer_length - 1", "max_answer_length"))

slip("best_span", "one_token_too_short", "Answers of exactly max_answer_length tokens are refused.",
     "From i to j there are j - i + 1 tokens, both ends included. Your answers can never have the full "
     "length that is allowed.",
     ("max_answer_length - 1", "max_answer_length - 2"))

slip("best_span", "at_least_two_tokens", "The last token must come after the first.",
     "An answer of a single token begins and ends with that token. First and last may be equal.",
     ("triu()", "triu(1)"))

slip("best_span", "impossible_pairs_set_to_zero",
     "If the scores of all possible pairs are below 0, the result is (0, 0) with score 0.",
     "Something has score 0 in your code that is no possible pair: the impossible ones, or the value that you "
     "begin with. If all logits are far below 0, it wins. What is lower than any score?",
     ('float("-inf")', "0.0"))

slip("best_span", "log_probabilities_added",
     "The score is the sum of two log-probabilities instead of two logits.",
     "Your span is right, but its score is not. Log-probabilities compare the places of one window with each other; the "
     "windows of a text are compared by their logits.",
     ("float(scores[first, last])", "float(start_logits.log_softmax(-1)[first] + end_logits.log_softmax(-1)[last])"))

slip("best_span", "product_of_shares",
     "The score is the product of two probabilities instead of the sum of two logits.",
     "Your span is right, but its score is not: it should be the sum of two logits, so that it can be "
     "compared with the no-answer score. A product of probabilities is on another scale, and on a different "
     "one in every window.",
     ("float(scores[first, last])", "float(start_logits.softmax(-1)[first] * end_logits.softmax(-1)[last])"))


# ---------------------------------------------------------------------------------- exact_match

slip("exact_match", "compared_letter_by_letter", "Case, punctuation, articles and white space all make a difference.",
     "*The kitchen.* and *kitchen* are the same answer. You have to normalise both sides before you compare "
     "them.",
     ("return int(normalise(prediction) in right)", 'return int(prediction in (list(answers) or [""]))'))

slip("exact_match", "lower_case_only", "Case makes no difference, but punctuation, articles and white space do.",
     "Lower case is the first of four steps. What about punctuation, articles and white space?",
     ("normal for normal in map(normalise, answers) if normal",
      "one.lower() for one in answers if one.strip()"),
     ("normalise(prediction)", "prediction.lower()"))

slip("exact_match", "articles_kept", "Articles are not dropped.",
     "You keep the articles, but *the kitchen* and *kitchen* should be equal.",
     ('    text = re.sub(r"\\b(a|an|the)\\b", " ", text)\n', ""))

slip("exact_match", "article_in_front_only", "Only an article at the beginning is dropped.",
     "You drop an article only at the beginning. The rule drops it wherever it occurs.",
     ('r"\\b(a|an|the)\\b"', 'r"^\\s*(a|an|the)\\b"'))

slip("exact_match", "articles_within_words", "The letters of articles are also deleted within words.",
     "You delete the letters of an article wherever they occur, even inside a word: *theatre* becomes "
     "something else. An article is a whole word.",
     ('r"\\b(a|an|the)\\b", " "', 'r"the|\\ban\\b|a\\b", ""'))

slip("exact_match", "space_for_marks", "Punctuation becomes a space instead of nothing.",
     "Punctuation marks are deleted, and nothing takes their place. If you put a space for each of them, "
     "*U.S.A.* becomes three words.",
     ("character for character in text.lower()\n"
      "                   if character not in string.punctuation",
      '" " if character in string.punctuation else character for character in text.lower()'))

slip("exact_match", "articles_before_marks", "Articles are dropped before punctuation is deleted.",
     "The order of the steps matters: as long as it has brackets around it, *(the)* is not an article. And "
     "*the-* in front of a word is no longer one once the hyphen is gone.",
     ('text = "".join(character for character in text.lower()\n'
      "                   if character not in string.punctuation)",
      'text = " ".join(word for word in text.lower().split() if word not in ("a", "an", "the"))'),
     ('text = re.sub(r"\\b(a|an|the)\\b", " ", text)',
      'text = "".join(character for character in text if character not in string.punctuation)'))

slip("exact_match", "white_space_kept", "Not all white space is made into single spaces.",
     "Some of the white space inside the text stays as it is, so a line break, say, makes two equal answers different.",
     ('r"\\b(a|an|the)\\b", " "', 'r"\\b(a|an|the)\\b *", ""'),
     ('return " ".join(text.split())', "return text"))

slip("exact_match", "every_mark_deleted",
     "Every character that is no letter, digit or underscore is deleted, not just the 32 of ASCII.",
     "You delete more than the rules say, and less: typographic quotes and dashes stay, and the underscore goes. Which characters are in "
     "`string.punctuation`?",
     ('text = "".join(character for character in text.lower()\n'
      "                   if character not in string.punctuation)",
      'text = re.sub(r"[^\\w\\s]", "", text.lower())'))

slip("exact_match", "accents_dropped", "Accents are dropped, so *café* and *cafe* are equal.",
     "The rules have four steps, and none of them touches accents. *résumé* and *resume* are different words.",
     ("text.lower()", "decomposed(text.lower())"),
     ("if character not in", "if not combining(character) and character not in"),
     ("def normalise(text: str) -> str:",
      "from unicodedata import combining, normalize\n\n\n"
      "def decomposed(text):\n"
      '    return normalize("NFD", text)\n\n\n'
      "def normalise(text: str) -> str:"))

slip("exact_match", "order_of_words_ignored", "The words are sorted, so their order makes no difference.",
     "*man bites dog* and *dog bites man* are not the same answer. Exact match compares the words in their order.",
     ('" ".join(text.split())', '" ".join(sorted(text.split()))'))

slip("exact_match", "part_is_enough", "It is enough if one text is part of the other.",
     "A part of the answer, or more than the answer, is not an exact match. F1 is for such cases.",
     ("return int(normalise(prediction) in right)",
      "said = normalise(prediction)\n"
      "    return int(any(said == one or said and one and (said in one or one in said) for one in right))"))

slip("exact_match", "first_answer_only", "Only the first of the right answers counts.",
     "If there are several right answers, the best match counts. You look only at the first one.",
     ("in right)", "== right[0])"))

slip("exact_match", "no_answer_never_right", "A question without an answer always scores 0.",
     "If there is no right answer, you never return 1. But then the empty text is right: the reader says "
     "that there is no answer, and there is none.",
     ("normalise(prediction) in right", 'normalise(prediction) != "" and normalise(prediction) in right'))

slip("exact_match", "empty_answers_kept", "Right answers are kept even if nothing is left of them.",
     "A right answer such as *the*, of which nothing is left, does not count. Your version accepts the "
     "empty text although there is another answer.",
     ("[normal for normal in map(normalise, answers) if normal]", "list(map(normalise, answers))"))


# ---------------------------------------------------------------------------------- f1

slip("f1", "sets_of_words", "A repeated word counts only once.",
     "A set forgets how often a word occurs, and so do the keys of a Counter. If the prediction has a word twice "
     "and the right answer has it once, they have one word in common, but the prediction has two.",
     ("(Counter(said) & Counter(right)).total()", "len(set(said) & set(right))"),
     ("common / len(said), common / len(right)", "common / len(set(said)), common / len(set(right))"))

slip("f1", "counted_too_often",
     "Every word of the prediction that is in the right answer counts, however often it has been said.",
     "If the prediction says a word twice and the right answer has it once, they have one word in common. You count it twice.",
     ("(Counter(said) & Counter(right)).total()", "sum(word in right for word in said)"))

slip("f1", "best_of_each_apart",
     "The best precision and the best recall are combined, though they may come from different right answers.",
     "Each right answer has an F1 of its own. You take the precision from one and the recall from another, which is more than any "
     "of them earns.",
     ("return max(against(right) for right in right_ones or [[]])",
      "if not said or not right_ones:\n"
      "        return float(not said and not right_ones)\n"
      "    common = [(Counter(said) & Counter(right)).total() for right in right_ones]\n"
      "    precision = max(common) / len(said)\n"
      "    recall = max(count / len(right) for count, right in zip(common, right_ones, strict=True))\n"
      "    return 2 * precision * recall / (precision + recall) if max(common) else 0.0"))

slip("f1", "precision_only", "Precision is returned instead of F1.",
     "That is precision: what share of the predicted words is right. A reader that gives a single word it "
     "is sure of would look perfect. The other half is missing.",
     ("2 * precision * recall / (precision + recall)", "precision"))

slip("f1", "recall_only", "Recall is returned instead of F1.",
     "That is recall: what share of the right words was predicted. A reader that returns the whole text "
     "would look perfect. The other half is missing.",
     ("2 * precision * recall / (precision + recall)", "recall"))

slip("f1", "arithmetic_mean", "The arithmetic mean of precision and recall is taken instead of the harmonic.",
     "You take the ordinary mean of precision and recall. The harmonic mean stays close to the smaller of "
     "the two, so a high value of one cannot make up for a low value of the other.",
     ("2 * precision * recall / (precision + recall)", "(precision + recall) / 2"))

slip("f1", "letters_instead_of_words", "Letters are compared instead of words.",
     "You count letters, so words that merely look alike score. F1 here is about whole words: split the "
     "text first.",
     ("normalise(prediction).split()", "list(normalise(prediction))"),
     ("normalise(one).split()", "list(normalise(one))"))

slip("f1", "words_not_normalised", "The words are compared as they are written.",
     "Capitals, punctuation and articles make a difference in your version. Compare what your `normalise` makes of "
     "both sides.",
     ("normalise(prediction).split()", "prediction.split()"),
     ("words for words in (normalise(one).split() for one in answers)\n"
      "                  if words",
      "one.split() for one in answers if normalise(one)"))

slip("f1", "mean_of_the_answers", "The mean over the right answers is taken instead of the best.",
     "If there are several right answers, the best F1 counts, not the mean: each of them is right by "
     "itself.",
     ("return max(against(right) for right in right_ones or [[]])",
      "right_ones = right_ones or [[]]\n"
      "    return sum(map(against, right_ones)) / len(right_ones)"))

slip("f1", "answers_poured_together", "The words of all right answers are treated as one answer.",
     "You pour all right answers into one bag of words. But each of them is an answer by itself.",
     ("return max(against(right) for right in right_ones or [[]])", "return against(sum(right_ones, []))"))

slip("f1", "division_by_zero", "If there is no common word, there is a division by zero.",
     "If there is no common word, precision and recall are both 0, and their harmonic mean divides by 0. "
     "The text says what F1 is in that case.",
     ("        if common == 0:\n"
      "            return 0.0\n",
      ""))

slip("f1", "nothing_scores_nothing", "A prediction of no answer, where there is none, scores 0 instead of 1.",
     "If there is no answer and none is given, that is right: neither side has any words, and F1 is 1.",
     ("float(said == right)", "0.0"))

slip("f1", "exact_match_again", "It is 1 for equal texts and 0 for all others, just like exact match.",
     "Exact match is all or nothing. F1 gives part of the score for words in common.",
     ("2 * precision * recall / (precision + recall)", "float(said == right)"))


# ---------------------------------------------------------------------------------- train_step

slip("train_step", "gradients_not_cleared",
     "The gradients that are there before a step are not cleared: those of its batch are added to them.",
     "`backward` *adds* to the gradients that are already there, from the step before or from another loss. Where "
     "do you clear them?",
     ("    optimizer.zero_grad()\n", ""))

slip("train_step", "nothing_changes",
     "No weight changes: there are no gradients when the step is taken, or there is no step.",
     "The loss is right, but the weights stay as they were. Perhaps you clear the gradients just before the "
     "step, or compute none, or never take a step. The order is: clear, compute, use.",
     ("optimizer.zero_grad()\n"
      "    loss.backward()",
      "loss.backward()\n"
      "    optimizer.zero_grad()"))

slip("train_step", "left_in_evaluation", "The model, or a part of it, is not in training mode when it computes the logits.",
     "The model may come from an evaluation. If so, dropout stays off while the model learns, and nobody "
     "notices until it has learned the data by heart.",
     ("    model.train()\n", ""))

slip("train_step", "not_clipped", "The gradients that the optimizer gets are not clipped to max_norm.",
     "The gradients are used at their full length. Either you do not clip them, or what you do has no effect on "
     "those that the step uses. Between which two lines must it happen?",
     ("    nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n", ""))

slip("train_step", "every_number_clipped",
     "Each entry of the gradient is limited, instead of the norm of all of them together.",
     "You limit each number in the gradient by itself, and that changes its direction. Scaling all of them "
     "by one factor keeps the direction and shortens the step.",
     ("clip_grad_norm_", "clip_grad_value_"))

slip("train_step", "clipped_one_by_one",
     "The gradient of each parameter is clipped by its own norm.",
     "You clip each parameter's gradient by itself. You should limit the norm of all of them *together*: one factor for all, so "
     "that the direction stays the same.",
     ("    nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n",
      "    for one in model.parameters():\n"
      "        if one.grad is not None:\n"
      "            nn.utils.clip_grad_norm_(one, max_norm)\n"))

slip("train_step", "evaluation_afterwards", "The model is left in evaluation mode.",
     "You put the model into evaluation mode after the step. The next step, or whatever else trains it, then runs without "
     "dropout, unless it sets the mode itself.",
     ("    optimizer.step()\n", "    optimizer.step()\n    model.eval()\n"))

slip("train_step", "learning_rate_ignored", "The optimizer steps with its old learning rate.",
     "The optimizer keeps the rate that it had. The schedule's rate for this step is an argument of your "
     "function.",
     ('        group["lr"] = learning_rate', "        pass"))

slip("train_step", "attention_mask_forgotten", "The batch's attention mask does not reach the model.",
     "Without the attention mask every token also attends to the padding, so the result for a window "
     "depends on its neighbours in the batch.",
     ("model(*(batch[name] for name in names))",
      "model(\n"
      '        batch["input_ids"], token_type_ids=batch["token_type_ids"], allowed=batch["allowed"]\n'
      "    )"))

slip("train_step", "segments_forgotten", "The batch's token_type_ids do not reach the model.",
     "The segments did not reach the model, so it cannot use them to tell the question from the context. "
     "Mind the order of the arguments, or pass them by name.",
     ("model(*(batch[name] for name in names))",
      "model(\n"
      '        batch["input_ids"], batch["attention_mask"], allowed=batch["allowed"]\n'
      "    )"))


# ---------------------------------------------------------------------------------- answer

slip("answer", "place_by_find",
     "The first mention of the answer's words is taken for the answer.",
     "You found the right tokens, but then you searched for their text, and took the first place where it "
     "occurs, as `find` does. The offsets of the tokens tell you which place it is.",
     ("return offsets[first][0], offsets[last][1], margin",
      "words = context[offsets[first][0] : offsets[last][1]]\n"
      "    return context.find(words), context.find(words) + len(words), margin"))

slip("answer", "places_in_the_stripped_text", "Positions are counted without the white space in front of the context.",
     "Your positions count in a text without the white space at the front, but the answer is cut out of the "
     "one that was given. All of them are off by the length of that white space.",
     ("make_features(question, context,", "make_features(question, context.strip(),"))

slip("answer", "last_token_cut_off", "The answer ends where its last token begins.",
     "Your answers lack their last token: they end where it begins. Each offset is a pair with two halves.",
     ("offsets[last][1]", "offsets[last][0]"))

slip("answer", "one_letter_too_many", "The end of the answer is one character too far.",
     "Your answers are one character too long. The ends of offsets are already exclusive, like those of a "
     "slice.",
     ("offsets[last][1]", "offsets[last][1] + 1"))

slip("answer", "first_window_read_only", "Only the first window counts.",
     "You read only the first window. An answer further on is never found.",
     ("range(len(features))", "range(1)"), (".min())", "[0])"))

slip("answer", "last_window_wins", "Only the last window counts.",
     "The last window's span is your result, whatever its score. Does each window overwrite what the previous "
     "one has found? Keep the best of all.",
     ("range(len(features))", "[len(features) - 1]"), (".min())", "[-1])"))

slip("answer", "always_an_answer", "There is always an answer, whatever the threshold.",
     "Your function always finds an answer. Compare the margin with the threshold: there may be no answer "
     "to a question in this text.",
     ("    if margin <= threshold:\n"
      "        return 0, 0, margin\n",
      ""))

slip("answer", "greatest_no_answer_score",
     "The highest of the windows' no-answer scores is used instead of the lowest.",
     "Windows that do not hold the answer are right to say that there is none. One such window must not "
     "outvote the one that found the answer: which of the no-answer scores should you use?",
     (".min())", ".max())"))

slip("answer", "no_answer_of_the_best_window",
     "The best span is compared with the no-answer score of its own window.",
     "You subtract the no-answer score of the window that won. The margin is about the whole text, so the "
     "no-answer scores of all windows take part in it.",
     (".min())", "[window])"))

slip("answer", "no_answer_of_the_last_window", "The no-answer score is that of the last window.",
     "The last window alone decides about the no-answer score, perhaps because each one overwrites that of the "
     "window before. Which of them does the margin need?",
     (".min())", "[-1])"))

slip("answer", "no_answer_of_the_first_window", "The no-answer score is that of the first window.",
     "Your no-answer score comes from the first window only. Every window says something about that: which "
     "of their scores does the margin need?",
     (".min())", "[0])"))

slip("answer", "best_margin_wins",
     "Each window gets a margin of its own, and the window with the highest margin wins.",
     "You compare margins between windows. A window with a weak span wins in this way if its [CLS] scores "
     "lower still. First find the best span of all windows; then there is one margin.",
     ("key=lambda entry: entry[2])",
      "key=lambda entry: entry[2] - float(start_logits[entry[3], 0] + end_logits[entry[3], 0]))"),
     (".min())", "[window])"))

slip("answer", "lowest_of_start_and_end_apart",
     "The lowest start logit of [CLS] and the lowest end logit of [CLS] are added, though they may be from "
     "different windows.",
     "A window's no-answer score is the sum of *its* two logits. You take the lowest of each kind, and add "
     "what may come from two windows.",
     ("(start_logits[:, 0] + end_logits[:, 0]).min()", "start_logits[:, 0].min() + end_logits[:, 0].min()"))

slip("answer", "everything_allowed",
     "For the model, the question and [SEP] are allowed, too.",
     "Your mask allows every place, so the model may answer anywhere. `allowed` is True at tokens of the context and at [CLS], and "
     "at no other place. What tells you which tokens are in the context?",
     ("allowed = in_context.clone()", "allowed = torch.ones_like(in_context)"))

slip("answer", "cls_may_answer", "[CLS] counts as a possible answer.",
     "[CLS] stands for no answer: it is allowed, but it is no token of the context. `allowed` and `in_context` "
     "are two masks. Do you write into both when you write into one? And which one does `best_span` get?",
     ("allowed = in_context.clone()", "allowed = in_context"))

slip("answer", "question_may_answer", "Tokens of the question, or [SEP], may be the answer.",
     "The best span you found is not in the context: its tokens have no offsets. Your mask should be "
     "True only at tokens of the context, and `best_span` needs it.",
     ("    allowed = in_context.clone()",
      "    in_context = torch.ones_like(in_context)\n"
      "    in_context[:, 0] = False\n"
      "    allowed = in_context.clone()"))

slip("answer", "score_instead_of_margin",
     "The span's score alone is compared with the threshold, without the no-answer score.",
     "Your margin is just the score: you subtract nothing. A high score means little as long as [CLS] may "
     "have a higher one.",
     ("score - float((start_logits[:, 0] + end_logits[:, 0]).min())", "score"))

slip("answer", "asked_in_training_mode",
     "The model is not in evaluation mode when it is asked, or gradients are kept.",
     "Your numbers may look right, but in training mode dropout makes the answers random, and gradients "
     "cost memory for nothing. Set the mode and switch gradients off before you ask the model.",
     ("    model.eval()\n"
      "    with torch.set_grad_enabled(False):\n"
      "        start_logits",
      "    start_logits"))
