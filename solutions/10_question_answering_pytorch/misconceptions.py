"""Wrong ways to write lab 10's exercises. Each must lose points and be recognised as itself."""

import torch

from grader.catalogue import misconception, slip

# ---------------------------------------------------------------------------------- answer_token_span

slip("answer_token_span", "last_token_exclusive",
     "The number of the last token is one too high.",
     "The end of a span of characters is exclusive, but the last token is included: it is part of the "
     "answer. For an answer of one token, the two numbers are equal.",
     ("return touched[0], touched[-1]", "return touched[0], touched[-1] + 1"))


@misconception(
    "answer_token_span",
    "`end` is the first character *after* the answer, but you treat it as part of the answer. This "
    "character is often a space, which belongs to no token, or the beginning of the next piece.",
)
def end_taken_as_inclusive(offsets, start, end):
    """The token that contains character `end` is taken as the last one; without such a token, no answer is found."""
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
     "An answer at the very end of the window's text is complete. Ends are exclusive, so its last token "
     "may end exactly where the answer ends. Does your code reach that token? Does it accept an end that "
     "is equal?",
     ("if not touched or", "if not touched or end >= max(pair[1] for pair in offsets if pair) or"))

slip("answer_token_span", "cut_answers_kept",
     "If the window cuts off an answer, the part that is left becomes the target.",
     "The window contains only a part of the answer, and you point at that part. A model that is trained "
     "on this learns to give half an answer. What is the target if the answer is incomplete?",
     ("if not touched or offsets[touched[0]][0] > start or offsets[touched[-1]][1] < end:",
      "if not touched:"))

slip("answer_token_span", "only_at_borders_of_tokens",
     "An answer that ends within a token is not found.",
     "An answer may begin or end in the middle of a token. Do you look for a token that ends exactly where "
     "the answer ends? Which tokens cover the answer if there is no such token?",
     ("[0] > start", "[0] != start"), ("[1] < end:", "[1] != end:"))

slip("answer_token_span", "counted_from_the_context",
     "Tokens are counted from the first token of the context.",
     "Your numbers are too small by the number of tokens in front of the context. The model counts "
     "positions from the beginning of the window, where [CLS] is position 0.",
     ("    touched = [",
      "    offsets = [pair for pair in offsets if pair is not None]\n"
      "    touched = ["))

slip("answer_token_span", "first_token_lost", "The first token of the answer is left out, unless it is the only one.",
     "A token contains part of the answer if it *ends after* the answer's start. You begin one token too "
     "late. Which condition does your first token meet?",
     ("return touched[0],", "return min(touched[0] + 1, touched[-1]),"))

slip("answer_token_span", "nothing_is_found", "No answer is found: the result is always (0, 0).",
     "(0, 0) is for windows that do not contain the whole answer, but you return it for all windows. For "
     "one answer, print the result of each of your conditions at each token.",
     ("    if not touched or offsets[touched[0]][0] > start or offsets[touched[-1]][1] < end:\n        return 0, 0\n", ""),
     ("return touched[0], touched[-1]", "return 0, 0"))

slip("answer_token_span", "minus_one_for_no_answer",
     "(-1, -1) stands for an answer that is not in the window.",
     "If there is no answer, there is still a target: position 0, where [CLS] is. -1 does not mean nowhere: "
     "in Python, it is the last one.",
     ("return 0, 0", "return -1, -1"))


# ---------------------------------------------------------------------------------- split_into_windows

slip("split_into_windows", "windows_without_overlap", "Each window begins where the previous one ends.",
     "Your windows touch but share no tokens, so an answer across a border is complete in neither of them. "
     "Where must the next window begin?",
     ("windows[-1][1] - overlap", "windows[-1][1]"))

slip("split_into_windows", "overlap_taken_as_step",
     "The next window begins `overlap` tokens after the start of the previous one (or 1 token after it, if "
     "`overlap` is 0).",
     "`overlap` is the number of tokens that two windows share. You use it as the distance between their "
     "beginnings. (Hugging Face calls this overlap `stride`, although it is no step.)",
     ("windows[-1][1] - overlap", "windows[-1][0] + max(overlap, 1)"))

slip("split_into_windows", "last_window_missing",
     "A last window that is not full is left out, unless it is the only one.",
     "If the last window would not be full, you leave it out. Then no window contains the end of the text. "
     "When should you stop?",
     ("while windows[-1][1] < length", "while windows[-1][1] - overlap + size <= length"))


@misconception(
    "split_into_windows",
    "Your last window contains nothing new: the one before it already reaches the end of the text. Stop "
    "there, even if another window could still begin.",
)
def one_window_too_many(length, size, overlap):
    """Another window follows after one has reached the end of the text."""
    return [(a, min(a + size, length)) for a in range(0, length, size - overlap)] + (
        [(length - 1, length)] if overlap == 0 else []
    )


slip("split_into_windows", "beyond_the_end",
     "The last window has the full size and goes beyond the end of the text.",
     "Your last window ends after the end of the text. Slices allow that, but the window's number of "
     "tokens is then wrong.",
     ("(0, min(size, length))", "(0, size)"), ("(begin, min(begin + size, length))", "(begin, begin + size)"))

slip("split_into_windows", "window_end_inclusive",
     "The end of each window is its last token instead of the one after it.",
     "The end of a window is exclusive here, as in a slice: `end - begin` is its number of tokens.",
     ("return windows", "return [(begin, end - 1) for begin, end in windows]"))

slip("split_into_windows", "last_window_moved_back", "The last window is moved back until it is full.",
     "Moving the last window back until it is full is a sensible idea, but the exercise asks for something "
     "else. Neighbours share exactly `overlap` tokens, and the last window may be short.",
     ("return windows", "return [*windows[:-1], (max(0, length - size), length)]"))

slip("split_into_windows", "first_window_only", "There is only one window; the rest of the text is cut off.",
     "This is truncation: nothing after the first window is ever read, so answers there are never found.",
     ("return windows", "return windows[:1]"))


# ---------------------------------------------------------------------------------- make_features

slip("make_features", "first_mention_by_find",
     "The first mention of the answer's words is treated as the answer.",
     "You search for the answer's words in the context and take the first place where they occur, as "
     "`find` does. That may be the wrong place. Use the answer's position, which you are given.",
     ("    question_ids, _ =",
      "    if answer:\n"
      "        words = context[answer[0] : answer[1]]\n"
      "        answer = context.find(words), context.find(words) + len(words)\n"
      "    question_ids, _ ="))

slip("make_features", "context_stripped",
     "The offsets belong to a text with single spaces only, and with no white space in front.",
     "Your offsets belong to a text with less white space, but the answer's position belongs to the "
     "context as it was given. Which text do you tokenise?",
     ("tokenize(context)", 'tokenize(" ".join(context.split()))'))

slip("make_features", "start_0_taken_for_none",
     "An answer that begins with character 0 is treated as no answer.",
     "0 counts as false in Python, but character 0 is a place like any other. Test whether `answer` *is "
     "None*.",
     ("if answer is None else", "if not (answer and answer[0]) else"))

slip("make_features", "one_segment", "token_type_ids are 0 everywhere.",
     "All your tokens are in segment 0. The model has learned to tell question and context apart by their "
     "segments, and here it cannot.",
     ("[0] * len(front) + [1] * (inside + 1) + [0] * padding", "[0] * max_length"))

slip("make_features", "separator_opens_the_segment",
     "Segment 1 begins one token too early, with the question's [SEP], and ends before the last [SEP].",
     "Each [SEP] belongs to the segment that it closes. The first one belongs to the question, the second "
     "one to the context. In your segments, both are wrong.",
     ("[0] * len(front) + [1] * (inside + 1) + [0] * padding",
      "[0] * (len(front) - 1) + [1] * (inside + 1) + [0] * (padding + 1)"))

slip("make_features", "padding_attended", "The attention mask is also 1 at the padding.",
     "Your attention mask is also 1 at the padding, so every token attends to it. Then the result for a "
     "window depends on how much padding it has.",
     ("[1] * len(tokens) + [0] * padding", "[1] * max_length"))

slip("make_features", "not_padded", "`input_ids` are not padded, so they do not have the required length.",
     "Your windows have different lengths, because `input_ids` are not padded. But a batch must be "
     "rectangular. Are the other lists padded?",
     ("max_length - len(tokens)", "0"))

slip("make_features", "truncated", "Only the first window is returned.",
     "Everything that does not fit into the first window is cut off, and its answers are lost. "
     "`truncation=True` does the same unless you ask for the other windows.",
     ("return features", "return features[:1]"))

slip("make_features", "special_tokens_forgotten",
     "The three special tokens are not counted, so the windows are too long.",
     "Count the special tokens: one at the front, one between the two texts, and one at the end. All of "
     "them need room, and so does the question.",
     ("    room = max_length",
      "    max_length += 3\n"
      "    room = max_length"))

slip("make_features", "positions_in_the_context",
     "start_position and end_position do not count the tokens in front of the context.",
     "You count from the first token of the context in the window. The model's logits begin at [CLS], so "
     "count from there.",
     ('"start_position": first', '"start_position": first - len(front) if last else 0'),
     ('"end_position": last', '"end_position": last - len(front) if last else 0'))

slip("make_features", "offsets_of_the_question_kept",
     "The question's tokens have their offsets instead of None.",
     "The question's tokens have offsets, but these are positions in the question. Among the context's "
     "offsets, they point at characters that have nothing to do with the question.",
     ("question_ids, _ =", "question_ids, question_offsets ="),
     ('"offsets": offsets', '"offsets": [None, *question_offsets, *offsets[len(front) - 1 :]]'))

slip("make_features", "overlap_taken_as_step",
     "The windows begin `overlap` tokens after each other: the overlap is used as the step.",
     "`overlap` is the number of tokens that two windows share. Do you pass this number to "
     "`split_into_windows`, or the distance between two beginnings? (Hugging Face's `stride` is the "
     "overlap, too.)",
     ("room, overlap)", "room, room - overlap)"))

slip("make_features", "mask_guessed_from_ids",
     "The attention mask is 0 wherever the id is that of the padding.",
     "You guess from the ids what is padding. But in some models, the padding has the id of a real token, "
     "such as [SEP]. Then you mask real tokens. Use the number of tokens in the window instead.",
     ("[1] * len(tokens) + [0] * padding", "[int(token != pad_id) for token in tokens] + [0] * padding"))

slip("make_features", "in_lower_case", "The texts are put into lower case before they are tokenised.",
     "You change the texts before the tokenizer gets them, for example to lower case. The tokenizer "
     "already does what its model needs, and your change may move the offsets.",
     ("tokenize(question)", "tokenize(question.lower())"), ("tokenize(context)", "tokenize(context.lower())"))

slip("make_features", "neighbours_share_nothing", "The windows do not overlap.",
     "If windows share no tokens, answers on their borders are lost. What does your code do with `overlap`?",
     ("room, overlap)", "room, 0)"))


# ---------------------------------------------------------------------------------- SpanHead

slip("SpanHead", "StartAndEndSwapped", "Start and end logits are swapped.",
     "Row 0 of the weight is for the start, row 1 for the end. With random weights, the mistake does not "
     "show. With trained weights, start and end of every answer are swapped.",
     ("logits[..., 0], logits[..., 1]", "logits[..., 1], logits[..., 0]"))

slip("SpanHead", "NothingBlocked", "The places that are not allowed keep their logits.",
     "You return the layer's logits unchanged, even at the question and at the padding. What is the "
     "argument `allowed` for?",
     (".masked_fill(~allowed[..., None], -1e9)", ""))

slip("SpanHead", "MaskTurnedRound", "The allowed places are blocked, and the others are not.",
     "In this course, True means allowed. You block the allowed places and leave the others unchanged.",
     ("~allowed", "allowed"))

slip("SpanHead", "MultipliedByTheMask", "Forbidden places get 0, or nearly 0, instead of a very low logit.",
     "A logit of 0 is nothing special: it is higher than -5, for example. (1e-9 and -1e-9 are practically "
     "0.) A forbidden place needs a logit that is lower than all others, for example minus a billion.",
     (".masked_fill(~allowed[..., None], -1e9)", " * allowed[..., None]"))

slip("SpanHead", "NotLowEnough", "Forbidden places get a logit of -100.",
     "-100 is low compared with logits of 3, but logits may be in the hundreds. The docstring says how low "
     "the logit of a forbidden place must be.",
     ("-1e9", "-100.0"))

slip("SpanHead", "SharesInsteadOfLogits",
     "A softmax is applied, so probabilities are returned instead of logits.",
     "You return probabilities, not logits. The loss applies a softmax itself, so the result would be a "
     "softmax of a softmax.",
     ("-1e9)", "-1e9).softmax(dim=-2)"))

slip("SpanHead", "LogProbabilities",
     "A log-softmax is applied, so log-probabilities are returned instead of logits.",
     "You return log-probabilities. The loss takes the log-softmax itself. Also, log-probabilities compare "
     "only the tokens of one window with each other. To compare two windows, you need their logits.",
     ("-1e9)", "-1e9).log_softmax(dim=-2)"))

slip("SpanHead", "OneColumnTwice", "The start and end logits are the same.",
     "Your two results are the same column. The layer has two outputs for each token, and you use one of "
     "them twice.",
     ("logits[..., 1]", "logits[..., 0]"))

slip("SpanHead", "ReshapedInsteadOfTakenApart",
     "(batch, seq_len, 2) is reshaped to (2, batch, seq_len), which mixes tokens and logits.",
     "The numbers are right, but they are in the wrong places. A reshape only groups the numbers in "
     "another way, so it mixes tokens and logits. The two logits of a token are side by side in the *last* "
     "axis.",
     (".masked_fill(~allowed[..., None], -1e9)", ".reshape(2, *allowed.shape).masked_fill(~allowed, -1e9)"),
     ("logits[..., 0], logits[..., 1]", "logits[0], logits[1]"))

slip("SpanHead", "NoGradient", "The logits are computed without gradients, so nothing can be trained through them.",
     "The numbers are right, but no gradient gets past them. `no_grad`, `detach` and any detour through "
     "NumPy stop gradients. In training, gradients must reach the layer's weights and the encoder. Which "
     "of your lines stops them?",
     ("    def forward(", "    @torch.no_grad()\n    def forward("))

slip("SpanHead", "EncoderCutOff", "The hidden states are detached, so the encoder cannot be trained.",
     "Your layer learns, but the encoder in front of it never does. `detach` and `.data` keep gradients "
     "from reaching the hidden states.",
     ("self.linear(hidden)", "self.linear(hidden.detach())"))

slip("SpanHead", "DropoutInTheHead", "In training, dropout changes the hidden states.",
     "The docstring asks for one linear layer and its logits. A dropout in front of that layer changes the "
     "logits in training, and differently each time.",
     ("self.linear = nn.Linear(hidden_size, 2)",
      "self.linear = nn.Linear(hidden_size, 2)\n        self.dropout = nn.Dropout(0.1)"),
     ("self.linear(hidden)", "self.linear(self.dropout(hidden))"))

slip("SpanHead", "TwoLayers", "There is one layer for the start and another one for the end.",
     "The docstring asks for one layer named `linear` with two outputs. Two layers can compute the same, "
     "but the trained weights would not fit them.",
     ("self.linear = nn.Linear(hidden_size, 2)",
      "self.start, self.end = nn.Linear(hidden_size, 1), nn.Linear(hidden_size, 1)"),
     ("logits = self.linear(hidden).masked_fill(~allowed[..., None], -1e9)",
      "logits = torch.cat([self.start(hidden), self.end(hidden)], dim=-1)"))


# ---------------------------------------------------------------------------------- span_loss

slip("span_loss", "losses_added", "The two cross-entropies are added instead of averaged.",
     "Your loss is exactly twice as large as it should be: you add the losses of start and end instead of "
     "averaging them. This also changes everything that depends on the size of the loss, such as clipping.",
     ("(start_loss + end_loss) / 2", "start_loss + end_loss"))

slip("span_loss", "no_gradient", "The loss is computed without gradients, so nothing can be trained with it.",
     "The number is right, but no gradient gets past it. `no_grad`, `detach`, `.item()` and any detour "
     "through NumPy stop gradients. Which of your lines stops them?",
     ("return (start_loss + end_loss) / 2", "return ((start_loss + end_loss) / 2).detach()"))

slip("span_loss", "start_only", "Only the start counts.",
     "Only the start counts in your loss. The end gets no gradient, so it is never trained. The model must "
     "learn both ends of an answer.",
     ("(start_loss + end_loss) / 2", "start_loss"))

slip("span_loss", "summed_over_the_batch", "The loss is summed over the batch instead of averaged.",
     "Your loss grows with the batch, because you sum over the windows instead of averaging. Which "
     "`reduction` does the exercise ask for?",
     ("return (start_loss", "return len(start_logits) * (start_loss"))

slip("span_loss", "softmax_twice", "The loss is computed from a softmax of a softmax.",
     "PyTorch's `cross_entropy` expects logits and applies the softmax itself. So does `log_softmax`. A "
     "second softmax makes the probabilities more alike, so the loss can never come near 0.",
     ("cross_entropy(start_logits", "cross_entropy(start_logits.softmax(-1)"),
     ("cross_entropy(end_logits", "cross_entropy(end_logits.softmax(-1)"))


@misconception(
    "span_loss",
    "For large logits, the exponentials overflow, or a probability becomes 0 and its logarithm infinite. "
    "Some functions compute the logarithm of a softmax in one step.",
)
def logarithm_of_exponentials(start_logits, end_logits, start_positions, end_positions):
    """For large logits an exponential overflows or becomes 0."""
    total = 0
    for logits, right in ((start_logits, start_positions), (end_logits, end_positions)):
        shares = logits.exp() / logits.exp().sum(-1, keepdim=True)
        total = total - shares.gather(1, right[:, None]).log().mean()
    return total / 2


slip("span_loss", "log_of_softmax",
     "The logarithm of a softmax is taken in two steps, so a share of 0 gives an infinite loss.",
     "Your loss is right for small logits. If the right token's logit lies far below the others, the softmax "
     "rounds its share to 0, and the logarithm of 0 is minus infinity. `cross_entropy` and `log_softmax` "
     "compute the logarithm in one step and stay finite.",
     ("nn.functional.cross_entropy(start_logits, start_positions)",
      "-start_logits.softmax(-1).gather(1, start_positions[:, None]).log().mean()"),
     ("nn.functional.cross_entropy(end_logits, end_positions)",
      "-end_logits.softmax(-1).gather(1, end_positions[:, None]).log().mean()"))

slip("span_loss", "log_of_the_whole_softmax",
     "The logarithm of a softmax is taken in two steps, for all tokens: shares of 0 make the gradients NaN.",
     "A blocked token has a share of 0. The logarithm of 0 is minus infinity, and its gradient spoils those of "
     "the whole row, although the token does not count. `cross_entropy` and `log_softmax` compute the "
     "logarithm in one step.",
     ("cross_entropy(start_logits,", "nll_loss(start_logits.softmax(-1).log(),"),
     ("cross_entropy(end_logits,", "nll_loss(end_logits.softmax(-1).log(),"))

slip("span_loss", "zero_times_infinity",
     "Logarithms of shares of 0 are multiplied by 0, which gives NaN.",
     "The softmax of a blocked token is 0, and its logarithm is minus infinity. If you multiply that by the 0 "
     "of a one-hot row, you get NaN and not 0. Pick out the right token's entry, or let `cross_entropy` do it.",
     ("nn.functional.cross_entropy(start_logits, start_positions)",
      "-(nn.functional.one_hot(start_positions, start_logits.size(1)) * start_logits.softmax(-1).log()).sum(1).mean()"),
     ("nn.functional.cross_entropy(end_logits, end_positions)",
      "-(nn.functional.one_hot(end_positions, end_logits.size(1)) * end_logits.softmax(-1).log()).sum(1).mean()"))

slip("span_loss", "sum_of_exponentials_by_hand",
     "The logarithm is taken of a sum of plain exponentials, which overflows or becomes 0.",
     "Your loss is right for small logits. But the exponential of 300 is too large for float32, and that of "
     "-300 is 0. `torch.logsumexp` and `log_softmax` subtract the largest logit first.",
     ("cross_entropy(start_logits,",
      "nll_loss(start_logits - start_logits.exp().sum(-1, keepdim=True).log(),"),
     ("cross_entropy(end_logits,",
      "nll_loss(end_logits - end_logits.exp().sum(-1, keepdim=True).log(),"))

slip("span_loss", "softmax_over_the_batch", "The softmax runs over the windows of the batch instead of the tokens.",
     "Your softmax runs over the windows, so they compete with each other for a token. The classes are the "
     "tokens of *one* window. Which axis are they on?",
     ("cross_entropy(start_logits", "nll_loss(start_logits.log_softmax(0)"),
     ("cross_entropy(end_logits", "nll_loss(end_logits.log_softmax(0)"))

slip("span_loss", "batch_flattened", "One softmax runs over the tokens of all windows together.",
     "You flatten the batch, so the tokens of all windows compete in one softmax. Each window is a "
     "classification of its own.",
     ("cross_entropy(start_logits", "nll_loss(start_logits.flatten().log_softmax(0).view_as(start_logits)"),
     ("cross_entropy(end_logits", "nll_loss(end_logits.flatten().log_softmax(0).view_as(end_logits)"))

slip("span_loss", "small_number_in_the_logarithm",
     "A small number is added to the probabilities before the logarithm is taken.",
     "The small number keeps the logarithm finite, but it also limits the loss. Beyond that limit, a worse "
     "answer costs no more, so the model learns nothing from it. Some functions compute the logarithm of a "
     "softmax in one step.",
     ("cross_entropy(start_logits, ", "nll_loss((start_logits.softmax(-1) + 1e-9).log(), "),
     ("cross_entropy(end_logits, ", "nll_loss((end_logits.softmax(-1) + 1e-9).log(), "))

slip("span_loss", "logits_for_log_probabilities", "The logits are treated as log-probabilities.",
     "Your loss is minus the mean of the right tokens' logits. Logits can be any numbers, so your loss can "
     "fall below 0. (`nll_loss` expects log-probabilities.)",
     ("functional.cross_entropy", "functional.nll_loss", 2))

slip("span_loss", "probabilities_for_their_logarithms", "Probabilities are used instead of their logarithms.",
     "Your loss lies between -1 and 0: it is minus a mean probability. A probability near 0 should cost a "
     "lot. That is what the logarithm is for.",
     ("cross_entropy(start_logits", "nll_loss(start_logits.softmax(-1)"),
     ("cross_entropy(end_logits", "nll_loss(end_logits.softmax(-1)"))

slip("span_loss", "positions_crossed",
     "Start logits are compared with end positions, and the other way round.",
     "You compare the start logits with the end positions, and the end logits with the start positions. "
     "Which of them belong together?",
     ("(start_logits, start_positions)", "(start_logits, end_positions)"),
     ("(end_logits, end_positions)", "(end_logits, start_positions)"))

slip("span_loss", "no_answer_ignored", "Windows without an answer are left out of the loss.",
     "Position 0 is [CLS], and it stands for no answer. The model must learn this class like any other. If "
     "it never does, it always finds some answer.",
     ("    start_loss =",
      "    keep = start_positions != 0\n"
      "    start_logits, end_logits = start_logits[keep], end_logits[keep]\n"
      "    start_positions, end_positions = start_positions[keep], end_positions[keep]\n"
      "    start_loss ="))


@misconception(
    "span_loss",
    "You average the probabilities first, and then you take the logarithm of the mean. A cross-entropy "
    "does it the other way round: first a logarithm for each target, then the mean of these.",
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
     "The best start and the best end are chosen, whether they fit together or not.",
     "In your code, the end may come before the start, or a page after it. You need the best *pair* among "
     "those that are possible.",
     ("    possible = possible.triu().tril(max_answer_length - 1)\n", ""))


@misconception(
    "best_span",
    "You choose the best start first, and then the best end for it. If that start has no good end, another "
    "pair may have a higher sum.",
)
def greedy(start_logits, end_logits, in_context, max_answer_length):
    """The best start is fixed before an end is chosen."""
    first = int(start_logits.masked_fill(~in_context, -1e9).argmax())
    ends = end_logits.masked_fill(~in_context, -1e9)[first : first + max_answer_length]
    last = first + int(ends.argmax())
    return first, last, float(start_logits[first] + end_logits[last])


slip("best_span", "end_before_start", "The pairs that are kept have their end before their start.",
     "You keep the wrong half of the table. The entry in row i and column j is for the pair that begins "
     "with token i and ends with token j. Is j to the right of the diagonal, or to the left?",
     ("possible.triu().tril(max_answer_length - 1)", "possible.tril().triu(1 - max_answer_length)"))

slip("best_span", "minus_100_for_never",
     "The impossible pairs have the score -100, or the search for the best score begins at -100.",
     "-100 is not lower than every score, because logits can be any numbers. If the scores of all possible "
     "pairs are below -100, -100 wins. What is lower than any score?",
     ('float("-inf")', "-100.0"))

slip("best_span", "question_allowed", "The question's tokens and [SEP] may be answers.",
     "If the logits there are high, you return a piece of the question, or [SEP]. The argument "
     "`in_context` says where an answer may be.",
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
     "The limit on the length has no effect, or it allows too much. Then a good start at the beginning of "
     "the text and a good end far away make one very long answer.",
     (".tril(max_answer_length - 1)", ""))

slip("best_span", "one_token_too_long",
     "Answers may be one token too long.",
     "From token i to token j, there are j - i + 1 tokens, because both ends are included. How many may "
     "there be at most?",
     ("max_answer_length - 1", "max_answer_length"))

slip("best_span", "one_token_too_short", "Answers of exactly max_answer_length tokens are refused.",
     "From token i to token j, there are j - i + 1 tokens, because both ends are included. Your answers "
     "can never have the full length that is allowed.",
     ("max_answer_length - 1", "max_answer_length - 2"))

slip("best_span", "at_least_two_tokens", "The last token must come after the first.",
     "An answer of a single token begins and ends with that token, so first and last may be equal.",
     ("triu()", "triu(1)"))

slip("best_span", "impossible_pairs_set_to_zero",
     "If the scores of all possible pairs are below 0, the result is (0, 0) with score 0.",
     "Something in your code scores 0 without being a possible pair: the impossible pairs, or the value "
     "that you start with. If all logits are far below 0, it wins. What is lower than any score?",
     ('float("-inf")', "0.0"))

slip("best_span", "log_probabilities_added",
     "The score is the sum of two log-probabilities instead of two logits.",
     "Your span is right, but its score is not. Log-probabilities compare the places of one window with "
     "each other. The windows of a text are compared by their logits.",
     ("float(scores[first, last])", "float(start_logits.log_softmax(-1)[first] + end_logits.log_softmax(-1)[last])"))

slip("best_span", "product_of_shares",
     "The score is the product of two probabilities instead of the sum of two logits.",
     "Your span is right, but its score is not. It should be the sum of two logits, so that it can be "
     "compared with the no-answer score. A product of probabilities is on another scale, and on a "
     "different one in every window.",
     ("float(scores[first, last])", "float(start_logits.softmax(-1)[first] * end_logits.softmax(-1)[last])"))


# ---------------------------------------------------------------------------------- exact_match

slip("exact_match", "compared_letter_by_letter", "Case, punctuation, articles and white space all make a difference.",
     "*The kitchen.* and *kitchen* are the same answer. Normalise both texts before you compare them.",
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
     "You drop an article only at the beginning. The rule drops articles everywhere.",
     ('r"\\b(a|an|the)\\b"', 'r"^\\s*(a|an|the)\\b"'))

slip("exact_match", "articles_within_words", "The letters of articles are also deleted within words.",
     "You delete the letters of an article even inside a word, so *theatre* becomes something else. An "
     "article is a whole word.",
     ('r"\\b(a|an|the)\\b", " "', 'r"the|\\ban\\b|a\\b", ""'))

slip("exact_match", "space_for_marks", "Punctuation becomes a space instead of nothing.",
     "Punctuation marks are deleted, and nothing takes their place. With a space for each of them, "
     "*U.S.A.* becomes three words.",
     ("character for character in text.lower()\n"
      "                   if character not in string.punctuation",
      '" " if character in string.punctuation else character for character in text.lower()'))

slip("exact_match", "articles_before_marks", "Articles are dropped before punctuation is deleted.",
     "The order of the steps matters. In *(the)*, the brackets hide the article until they are deleted. So "
     "delete the punctuation first.",
     ('text = "".join(character for character in text.lower()\n'
      "                   if character not in string.punctuation)",
      'text = " ".join(word for word in text.lower().split() if word not in ("a", "an", "the"))'),
     ('text = re.sub(r"\\b(a|an|the)\\b", " ", text)',
      'text = "".join(character for character in text if character not in string.punctuation)'))

slip("exact_match", "white_space_kept", "Not all white space becomes single spaces.",
     "Some white space inside the text stays as it is. Then a line break, for example, makes two equal "
     "answers different.",
     ('r"\\b(a|an|the)\\b", " "', 'r"\\b(a|an|the)\\b *", ""'),
     ('return " ".join(text.split())', "return text"))

slip("exact_match", "every_mark_deleted",
     "Every character that is not a letter, a digit, an underscore or white space is deleted, not just the "
     "32 marks of ASCII.",
     "You delete too much and too little. By the rules, typographic quotes and dashes stay, but the "
     "underscore goes. Which characters are in `string.punctuation`?",
     ('text = "".join(character for character in text.lower()\n'
      "                   if character not in string.punctuation)",
      'text = re.sub(r"[^\\w\\s]", "", text.lower())'))

slip("exact_match", "accents_dropped", "Accents are dropped, so *café* and *cafe* are equal.",
     "The rules have four steps, and no step changes accents. *résumé* and *resume* are different words.",
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
     "A part of the answer is not an exact match, and neither is a longer text that contains it. F1 is for "
     "such cases.",
     ("return int(normalise(prediction) in right)",
      "said = normalise(prediction)\n"
      "    return int(any(said == one or said and one and (said in one or one in said) for one in right))"))

slip("exact_match", "first_answer_only", "Only the first of the right answers counts.",
     "If there are several right answers, the best match counts. You look only at the first one.",
     ("in right)", "== right[0])"))

slip("exact_match", "no_answer_never_right", "A question without an answer always scores 0.",
     "If there is no right answer, you never return 1. But then the empty text is right: the reader says "
     "that there is no answer, and that is true.",
     ("normalise(prediction) in right", 'normalise(prediction) != "" and normalise(prediction) in right'))

slip("exact_match", "empty_answers_kept", "Right answers count even if normalising leaves nothing of them.",
     "A right answer such as *the* does not count, because normalising leaves nothing of it. Your code "
     "accepts the empty text although there is another answer.",
     ("[normal for normal in map(normalise, answers) if normal]", "list(map(normalise, answers))"))


# ---------------------------------------------------------------------------------- f1

slip("f1", "sets_of_words", "A repeated word counts only once.",
     "A set forgets how often a word occurs, and so do the keys of a Counter. If the prediction has a word "
     "twice and the right answer has it once, they have one word in common. But the prediction has two "
     "words.",
     ("(Counter(said) & Counter(right)).total()", "len(set(said) & set(right))"),
     ("common / len(said), common / len(right)", "common / len(set(said)), common / len(set(right))"))

slip("f1", "counted_too_often",
     "A word of the right answer counts every time the prediction repeats it.",
     "If the prediction has a word twice and the right answer has it once, they have one word in common. "
     "You count it twice.",
     ("(Counter(said) & Counter(right)).total()", "sum(word in right for word in said)"))

slip("f1", "best_of_each_apart",
     "The best precision and the best recall are combined, although they may come from different right "
     "answers.",
     "Each right answer has its own F1. You take the precision from one answer and the recall from "
     "another. Together, they give more than any single answer does.",
     ("return max(against(right) for right in right_ones or [[]])",
      "if not said or not right_ones:\n"
      "        return float(not said and not right_ones)\n"
      "    common = [(Counter(said) & Counter(right)).total() for right in right_ones]\n"
      "    precision = max(common) / len(said)\n"
      "    recall = max(count / len(right) for count, right in zip(common, right_ones, strict=True))\n"
      "    return 2 * precision * recall / (precision + recall) if max(common) else 0.0"))

slip("f1", "precision_only", "Precision is returned instead of F1.",
     "This is precision: the share of the predicted words that are right. A reader that gives a single "
     "word it is sure of would look perfect. The other half of F1 is missing.",
     ("2 * precision * recall / (precision + recall)", "precision"))

slip("f1", "recall_only", "Recall is returned instead of F1.",
     "This is recall: the share of the right words that were predicted. A reader that returns the whole "
     "text would look perfect. The other half of F1 is missing.",
     ("2 * precision * recall / (precision + recall)", "recall"))

slip("f1", "arithmetic_mean",
     "The arithmetic mean of precision and recall is taken instead of the harmonic mean.",
     "You take the ordinary mean of precision and recall. The harmonic mean stays close to the smaller "
     "one, so a high value cannot make up for a low one.",
     ("2 * precision * recall / (precision + recall)", "(precision + recall) / 2"))

slip("f1", "letters_instead_of_words", "Letters are compared instead of words.",
     "You compare letters, so words that only look alike score, too. Here, F1 compares whole words: split "
     "the text first.",
     ("normalise(prediction).split()", "list(normalise(prediction))"),
     ("normalise(one).split()", "list(normalise(one))"))

slip("f1", "words_not_normalised", "The words are compared as they are written.",
     "In your code, capitals, punctuation and articles make a difference. Apply `normalise` to both texts "
     "and compare the results.",
     ("normalise(prediction).split()", "prediction.split()"),
     ("words for words in (normalise(one).split() for one in answers)\n"
      "                  if words",
      "one.split() for one in answers if normalise(one)"))

slip("f1", "mean_of_the_answers", "The mean over the right answers is taken instead of the best.",
     "If there are several right answers, the best F1 counts, not the mean. Each of them is right by "
     "itself.",
     ("return max(against(right) for right in right_ones or [[]])",
      "right_ones = right_ones or [[]]\n"
      "    return sum(map(against, right_ones)) / len(right_ones)"))

slip("f1", "answers_poured_together", "The words of all right answers are treated as one answer.",
     "You put the words of all right answers together. But each of them is an answer by itself: compare "
     "the prediction with one at a time.",
     ("return max(against(right) for right in right_ones or [[]])", "return against(sum(right_ones, []))"))

slip("f1", "division_by_zero", "If there is no common word, there is a division by zero.",
     "If there is no common word, precision and recall are both 0, so the harmonic mean divides by 0. The "
     "text says what F1 is in that case.",
     ("        if common == 0:\n"
      "            return 0.0\n",
      ""))

slip("f1", "nothing_scores_nothing", "If there is no answer, a prediction of no answer scores 0 instead of 1.",
     "If there is no answer and the prediction is empty, the prediction is right. Neither side has any "
     "words, and F1 is 1.",
     ("float(said == right)", "0.0"))

slip("f1", "exact_match_again", "It is 1 for equal texts and 0 for all others, just like exact match.",
     "Exact match is all or nothing. F1 gives part of the score for words in common.",
     ("2 * precision * recall / (precision + recall)", "float(said == right)"))


# ---------------------------------------------------------------------------------- train_step

slip("train_step", "gradients_not_cleared",
     "Old gradients are not cleared before a step, so the gradients of its batch are added to them.",
     "`backward` *adds* to the gradients that are already there, from the previous step or from another "
     "loss. Where do you clear them?",
     ("    optimizer.zero_grad()\n", ""))

slip("train_step", "nothing_changes",
     "No weight changes: there are no gradients when the step is taken, or there is no step.",
     "The loss is right, but no weight changes. Perhaps you clear the gradients just before the step, or "
     "compute none, or never take a step. The order is: clear, compute, use.",
     ("optimizer.zero_grad()\n"
      "    loss.backward()",
      "loss.backward()\n"
      "    optimizer.zero_grad()"))

slip("train_step", "left_in_evaluation", "The model, or a part of it, is not in training mode when it computes the logits.",
     "The model may come from an evaluation. Then dropout stays off while the model learns. There is no "
     "error, but the model learns its training data by heart.",
     ("    model.train()\n", ""))

slip("train_step", "not_clipped", "The optimizer gets gradients that are not clipped to max_norm.",
     "The gradients are used at their full length. Either you do not clip them, or your clipping does not "
     "change the gradients that the step uses. Between which two lines must you clip?",
     ("    nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n", ""))

slip("train_step", "every_number_clipped",
     "Each entry of the gradient is limited, instead of the norm of all of them together.",
     "You limit each number in the gradient separately, which changes its direction. One factor for all "
     "numbers keeps the direction and shortens the step.",
     ("clip_grad_norm_", "clip_grad_value_"))

slip("train_step", "clipped_one_by_one",
     "The gradient of each parameter is clipped by its own norm.",
     "You clip each parameter's gradient separately. Limit the norm of all of them *together*: one factor "
     "for all, so that the direction stays the same.",
     ("    nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n",
      "    for one in model.parameters():\n"
      "        if one.grad is not None:\n"
      "            nn.utils.clip_grad_norm_(one, max_norm)\n"))

slip("train_step", "evaluation_afterwards", "The model is left in evaluation mode.",
     "You put the model into evaluation mode after the step. If the code that trains it next does not set "
     "the mode itself, it trains without dropout.",
     ("    optimizer.step()\n", "    optimizer.step()\n    model.eval()\n"))

slip("train_step", "learning_rate_ignored", "The optimizer steps with its old learning rate.",
     "The optimizer keeps its old rate. The rate for this step is an argument of your function.",
     ('        group["lr"] = learning_rate', "        pass"))

slip("train_step", "attention_mask_forgotten", "The batch's attention mask does not reach the model.",
     "Without the attention mask, every token also attends to the padding. So the result for a window "
     "depends on the other windows in its batch.",
     ("model(*(batch[name] for name in names))",
      "model(\n"
      '        batch["input_ids"], token_type_ids=batch["token_type_ids"], allowed=batch["allowed"]\n'
      "    )"))

slip("train_step", "segments_forgotten", "The batch's token_type_ids do not reach the model.",
     "The segments do not reach the model, so it cannot use them to tell the question from the context. "
     "Check the order of the arguments, or pass them by name.",
     ("model(*(batch[name] for name in names))",
      "model(\n"
      '        batch["input_ids"], batch["attention_mask"], allowed=batch["allowed"]\n'
      "    )"))


# ---------------------------------------------------------------------------------- answer

slip("answer", "place_by_find",
     "The first mention of the answer's words is treated as the answer.",
     "You find the right tokens, but then you search for their text and take the first place where it "
     "occurs, as `find` does. The offsets of the tokens give you the right place.",
     ("return offsets[first][0], offsets[last][1], margin",
      "words = context[offsets[first][0] : offsets[last][1]]\n"
      "    return context.find(words), context.find(words) + len(words), margin"))

slip("answer", "full_stop_left_out", "A full stop at the end of the answer is left out.",
     "Return the span exactly as the model has found it. A mark may be part of an answer, as in `Washington, D.C.`. The answers in the "
     "training data decide that.",
     ("    return offsets[first][0], offsets[last][1], margin",
      "    start, end = offsets[first][0], offsets[last][1]\n"
      "    return start, start + len(context[start:end].rstrip(\".\")), margin"))

slip("answer", "places_in_the_stripped_text", "Positions are counted without the white space in front of the context.",
     "Your positions count in a text without the white space at the front. But the answer is cut out of "
     "the context as it was given. So your positions are too small by the length of that white space.",
     ("make_features(question, context,", "make_features(question, context.strip(),"))

slip("answer", "last_token_cut_off", "The answer ends where its last token begins.",
     "Your answers lack their last token, because they end where it begins. Each offset is a pair. Which "
     "of its two numbers do you need here?",
     ("offsets[last][1]", "offsets[last][0]"))

slip("answer", "one_letter_too_many", "The end of the answer is one character too far.",
     "Your answers are one character too long. The ends of offsets are already exclusive, as in a slice.",
     ("offsets[last][1]", "offsets[last][1] + 1"))

slip("answer", "first_window_read_only", "Only the first window counts.",
     "You use only the first window, so an answer further on is never found. Which window has the best "
     "span?",
     ("range(len(features))", "range(1)"), (".min())", "[0])"))

slip("answer", "last_window_wins", "Only the last window counts.",
     "Your result is always the span of the last window, whatever its score. Does each window overwrite "
     "the result of the one before? Keep the best of all.",
     ("range(len(features))", "[len(features) - 1]"), (".min())", "[-1])"))

slip("answer", "always_an_answer", "There is always an answer, whatever the threshold.",
     "Your function always returns an answer. Compare the margin with the threshold, because the text may "
     "not answer the question.",
     ("    if margin <= threshold:\n"
      "        return 0, 0, margin\n",
      ""))

slip("answer", "greatest_no_answer_score",
     "The highest of the windows' no-answer scores is used instead of the lowest.",
     "A window without the answer is right to say that there is no answer. It must not outvote the window "
     "that found the answer. Which of the no-answer scores should you use?",
     (".min())", ".max())"))

slip("answer", "no_answer_of_the_best_window",
     "The best span is compared with the no-answer score of its own window.",
     "You subtract the no-answer score of the window that has the best span. But the margin is about the "
     "whole text, so look at the no-answer scores of all windows.",
     (".min())", "[window])"))

slip("answer", "no_answer_of_the_last_window", "The no-answer score is that of the last window.",
     "Your no-answer score comes from the last window alone. Does each window overwrite the score of the "
     "one before? Which of these scores does the margin need?",
     (".min())", "[-1])"))

slip("answer", "no_answer_of_the_first_window", "The no-answer score is that of the first window.",
     "Your no-answer score comes from the first window alone, but every window has such a score. Which of "
     "them does the margin need?",
     (".min())", "[0])"))

slip("answer", "best_margin_wins",
     "Each window gets a margin of its own, and the window with the highest margin wins.",
     "You compare margins between windows. So a window with a weak span may win because its [CLS] scores "
     "even lower. First find the best span of all windows. Then compute one margin.",
     ("key=lambda entry: entry[2])",
      "key=lambda entry: entry[2] - float(start_logits[entry[3], 0] + end_logits[entry[3], 0]))"),
     (".min())", "[window])"))

slip("answer", "lowest_of_start_and_end_apart",
     "The lowest start logit of [CLS] and the lowest end logit of [CLS] are added, although they may come "
     "from different windows.",
     "A window's no-answer score is the sum of *its* two logits. You add the lowest start logit and the "
     "lowest end logit, which may come from two different windows.",
     ("(start_logits[:, 0] + end_logits[:, 0]).min()", "start_logits[:, 0].min() + end_logits[:, 0].min()"))

slip("answer", "everything_allowed",
     "For the model, the question and [SEP] are allowed, too.",
     "Your mask allows every place, so the model may answer anywhere. `allowed` is True only at tokens of "
     "the context and at [CLS]. What tells you which tokens are in the context?",
     ("allowed = in_context.clone()", "allowed = torch.ones_like(in_context)"))

slip("answer", "cls_may_answer", "[CLS] counts as a possible answer.",
     "[CLS] stands for no answer: it is allowed, but it is not a token of the context. `allowed` and "
     "`in_context` are two masks. If you write into one of them, does the other change, too? And which one "
     "does `best_span` get?",
     ("allowed = in_context.clone()", "allowed = in_context"))

slip("answer", "question_may_answer", "Tokens of the question, or [SEP], may be the answer.",
     "The best span that you found is not in the context: its tokens have no offsets. `best_span` needs a "
     "mask that is True only at tokens of the context.",
     ("    allowed = in_context.clone()",
      "    in_context = torch.ones_like(in_context)\n"
      "    in_context[:, 0] = False\n"
      "    allowed = in_context.clone()"))

slip("answer", "score_instead_of_margin",
     "The span's score alone is compared with the threshold, without the no-answer score.",
     "Your margin is only the score of the span: you subtract nothing. A high score means little if [CLS] "
     "has a higher one.",
     ("score - float((start_logits[:, 0] + end_logits[:, 0]).min())", "score"))

slip("answer", "asked_in_training_mode",
     "The model is not in evaluation mode when it is called, or gradients are kept.",
     "Your numbers may look right. But in training mode, dropout makes the answers random, and gradients "
     "cost memory for nothing. Set the mode and switch gradients off before you call the model.",
     ("    model.eval()\n"
      "    with torch.set_grad_enabled(False):\n"
      "        start_logits",
      "    start_logits"))
