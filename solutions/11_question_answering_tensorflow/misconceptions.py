"""Wrong ways to write lab 11's exercises. Each must lose points and be recognised as itself."""

from grader.catalogue import slip

# ---------------------------------------------------------------------------------- answer_token_spans

slip("answer_token_spans", "last_tokens_exclusive",
     "The number of the last token is one too high.",
     "The last token belongs to the answer: both numbers are inclusive. For an answer of one token they are "
     "equal.",
     ("tf.where(whole, last, 0)", "tf.where(whole, last + 1, 0)"))

slip("answer_token_spans", "token_behind_included",
     "A token that begins where the answer ends is taken along, such as a full stop.",
     "Ends are exclusive: the character at `end` is the first one that is *not* in the answer. A token that begins there "
     "contains no part of it. Which comparison lets it in?",
     ("(begins < ends[:, None])", "(begins <= ends[:, None])"))

slip("answer_token_spans", "parts_of_answers_kept",
     "If the window cuts off an answer, the part that is left becomes the target.",
     "`argmax` of a row without any True is 0, and that happens to look right. But where a window holds "
     "only a part of the answer there is a True, so you get half an answer. Ask whether the tokens cover "
     "all of it.",
     ("\n"
      "        & (tf.gather(begins, first, batch_dims=1) <= starts)\n"
      "        & (tf.gather(stops, last, batch_dims=1) >= ends)",
      ""))

slip("answer_token_spans", "answers_at_the_borders_lost",
     "An answer that begins or ends where the window's text does is not found.",
     "Is one of your comparisons too strict? An answer may end exactly where the window's last token ends, and "
     "begin exactly where its first token begins. Ends are exclusive.",
     ("        & (tf.gather(begins, first,",
      "        & (tf.reduce_min(tf.where(begins >= 0, begins, ends[:, None]), axis=1) < starts)\n"
      "        & (tf.reduce_max(stops, axis=1) > ends)\n"
      "        & (tf.gather(begins, first,"))

slip("answer_token_spans", "equal_borders_only",
     "An answer that ends within a token is not found.",
     "An answer may begin or end in the middle of a token. Do you look for a token that ends exactly where the "
     "answer does? Which tokens cover an answer if there is no such token?",
     ("<= starts)", "== starts)"), (">= ends)", "== ends)"))

slip("answer_token_spans", "first_taken_for_last",
     "The first token of the answer is also returned as its last one.",
     "Both your results are the first token. `argmax` finds the *first* greatest entry: for the last True, read the "
     "row backwards, or number the tokens before you take the maximum.",
     ("tf.where(whole, last, 0)", "tf.where(whole, first, 0)"))

slip("answer_token_spans", "minus_one_where_nothing_is", "-1 stands for no answer.",
     "(-1, -1) marks tokens that are not part of the context. Where there is no answer, start and end are 0 "
     "and 0; the target of the window is then also 0, where [CLS] is, and not -1.",
     ("return tf.where(whole, first, 0), tf.where(whole, last, 0)",
      "return tf.where(whole, first, -1), tf.where(whole, last, -1)"))

slip("answer_token_spans", "counted_in_the_context",
     "Tokens are counted from the first token of the context.",
     "Positions count from the beginning of the window, with [CLS] as 0. Yours count from the first token "
     "of the context.",
     ("return tf.where(whole, first, 0), tf.where(whole, last, 0)",
      "front = tf.argmax(tf.cast(begins >= 0, tf.int32), axis=1, output_type=tf.int32)\n"
      "    return tf.where(whole, first - front, 0), tf.where(whole, last - front, 0)"))


# ---------------------------------------------------------------------------------- padded_batches

slip("padded_batches", "padded_to_the_longest_of_all",
     "Every batch is padded to the longest window of all of them.",
     "All your batches are as wide as the longest window of all. `padded_batch` pads each batch to its own "
     "longest row, unless you give it a shape.",
     ("    return tf.data",
      '    width = max(len(feature["input_ids"]) for feature in features)\n'
      "    widths = {name: [width] * spec.shape.rank for name, spec in signature.items()}\n"
      "    return tf.data"),
     ("padded_batch(batch_size)", "padded_batch(batch_size, widths)"))

slip("padded_batches", "padding_is_attended", "The attention mask is 1 at the padding.",
     "Your attention mask is 1 everywhere, even at the padding. Make it before the windows are padded: then "
     "the padding gets its 0 by itself.",
     ("padded_batch(batch_size)",
      "padded_batch(batch_size).map(\n"
      '        lambda batch: {**batch, "attention_mask": tf.ones_like(batch["attention_mask"])}\n'
      "    )"))

slip("padded_batches", "mask_guessed_from_ids", "The attention mask is 0 at every token whose id is 0.",
     "You guess from the ids what is padding. How many tokens a window has tells you that for certain, whatever their ids are.",
     ('[1] * len(feature["input_ids"])', '[int(token != 0) for token in feature["input_ids"]]'))

slip("padded_batches", "cls_not_allowed", "allowed is False at [CLS].",
     "[CLS] stands for no answer, so it has to be allowed: otherwise the model can never say that there is "
     "none, and the loss of such windows is enormous.",
     ('[True, *feature["in_context"][1:]]', '[False, *feature["in_context"][1:]]'))

slip("padded_batches", "every_token_allowed", "allowed is True at every token that is not padding.",
     "An answer consists only of words of the context. You also allow the question and [SEP].",
     ('[True, *feature["in_context"][1:]]', '[True] * len(feature["input_ids"])'))

slip("padded_batches", "rest_dropped", "The last batch is dropped if it is not full.",
     "You lose the windows at the end. The last batch may have fewer than the others; `drop_remainder`, for "
     "example, leaves it out.",
     ("padded_batch(batch_size)", "padded_batch(batch_size, drop_remainder=True)"))

slip("padded_batches", "order_changed", "The windows are in a different order, for example sorted by length.",
     "The windows are not in the order that was given. Shuffling happens elsewhere, before this function "
     "gets them.",
     ("for feature in features:",
      'for feature in sorted(features, key=lambda feature: len(feature["input_ids"])):'))

slip("padded_batches", "segments_lost", "token_type_ids are 0 everywhere.",
     "Segment 1 belongs to the context. Your token_type_ids are 0 everywhere, or not taken from the "
     "features.",
     ('feature["token_type_ids"]', '[0] * len(feature["input_ids"])'))


# ---------------------------------------------------------------------------------- SpanHead

slip("SpanHead", "ColumnsSwapped", "Start and end logits are swapped.",
     "Column 0 of the kernel is for the start, column 1 for the end. You have them the other way round.",
     ("logits[..., 0], logits[..., 1]", "logits[..., 1], logits[..., 0]"))

slip("SpanHead", "NothingIsBlocked", "The places that are not allowed keep their logits.",
     "Your logits are just as the layer gives them, even at the question and at the padding. What is the "
     "argument `allowed` for?",
     ("ops.where(allowed[..., None], self.dense(hidden), -1e9)", "self.dense(hidden)"))

slip("SpanHead", "AllowedIsBlocked", "The allowed places are blocked, and the others are not.",
     "True means allowed in this course. You block what is allowed, and leave the rest as it is.",
     ("self.dense(hidden), -1e9", "-1e9, self.dense(hidden)"))

slip("SpanHead", "ZeroIsNotForbidden", "Forbidden places get 0, or nearly 0, instead of a very low logit.",
     "There is nothing special about a logit of 0: it is more than -5, for example. To forbid a place, its "
     "logit must be so low that no other is lower: minus a billion, for example.",
     ("-1e9", "0.0"))

slip("SpanHead", "NotLowEnough", "Forbidden places get a logit of -100.",
     "-100 is low beside logits of 3, but logits may be in the hundreds. The docstring says how low the logit of a "
     "forbidden place must be.",
     ("-1e9", "-100.0"))

slip("SpanHead", "NoGradient", "The logits are computed without gradients, so nothing can be trained through them.",
     "The numbers are right, but the way back from them is cut off: `stop_gradient` and a way through NumPy do that. "
     "When the reader is trained, gradients must get back to the layer's weights and to the encoder. Which of your lines cuts them off?",
     ("ops.where(allowed[..., None], self.dense(hidden), -1e9)",
      "ops.stop_gradient(ops.where(allowed[..., None], self.dense(hidden), -1e9))"))

slip("SpanHead", "EncoderCutOff", "No gradient gets through to the hidden states, so the encoder cannot be trained.",
     "Your layer learns, but the encoder in front of it never does: `stop_gradient` cuts the way back to the hidden states.",
     ("self.dense(hidden)", "self.dense(ops.stop_gradient(hidden))"))

slip("SpanHead", "DropoutInTheHead", "In training, a dropout changes the hidden states.",
     "The docstring asks for one Dense layer and for its logits. With a dropout in front of it, the logits in training are others, "
     "and different ones each time.",
     ("keras.layers.Dense(2)", "keras.layers.Dense(2)\n        self.dropout = keras.layers.Dropout(0.1)"),
     ("self.dense(hidden)", "self.dense(self.dropout(hidden))"))

slip("SpanHead", "SoftmaxInTheHead", "A softmax is applied, so probabilities are returned instead of logits.",
     "You return probabilities, not logits. The loss applies a softmax itself, and that would then be a "
     "softmax of a softmax.",
     ("ops.where(allowed[..., None], self.dense(hidden), -1e9)",
      "ops.softmax(ops.where(allowed[..., None], self.dense(hidden), -1e9), axis=1)"))

slip("SpanHead", "MadeInTheCall", "The Dense layer is created in call, anew each time.",
     "You create a new Dense layer at every call: its weights are random each time, and they are neither "
     "trained nor saved. Layers are created in the constructor.",
     ("        self.dense = keras.layers.Dense(2)\n", ""),
     ("self.dense(hidden)", "keras.layers.Dense(2)(hidden)"))

slip("SpanHead", "Reshaped", "(batch, seq_len, 2) is reshaped to (2, batch, seq_len).",
     "The numbers are there, but in the wrong places: reshaping mixes tokens and logits. The two logits of "
     "a token are side by side in the *last* axis.",
     ("ops.where(allowed[..., None], self.dense(hidden), -1e9)",
      "ops.where(allowed, ops.reshape(self.dense(hidden), (2, *allowed.shape)), -1e9)"),
     ("logits[..., 0], logits[..., 1]", "logits[0], logits[1]"))


# ---------------------------------------------------------------------------------- weights_from_torch

slip("weights_from_torch", "reshaped_instead_of_transposed", "The weight is reshaped instead of transposed.",
     "The shape fits, but the numbers do not: reshaping reads row by row. What is a row in PyTorch is a "
     "column in Keras.",
     ('state["linear.weight"].T', 'state["linear.weight"].reshape(-1, 2)'))

slip("weights_from_torch", "not_transposed", "The weight is used as it is.",
     "Your kernel has the shape that PyTorch uses. Keras multiplies from the other side: (in, out).",
     ('state["linear.weight"].T', 'state["linear.weight"]'))

slip("weights_from_torch", "rows_in_reverse", "Start and end are swapped, in the kernel and in the bias.",
     "You have swapped start and end on the way. Row 0 becomes column 0.",
     ('state["linear.weight"].T, state["linear.bias"]',
      'state["linear.weight"][::-1].T, state["linear.bias"][::-1]'))

slip("weights_from_torch", "bias_of_zeros", "The bias is set to zero.",
     "You lose the bias: a trained bias is not 0. It is the second of the two weights.",
     ('state["linear.bias"]', "np.zeros(2, np.float32)"))


# ---------------------------------------------------------------------------------- span_loss

slip("span_loss", "taken_for_probabilities", "The logits are taken for probabilities, as with from_logits=False.",
     "Keras takes your logits for probabilities, because you did not tell it otherwise. Look up "
     "`from_logits`.",
     (", from_logits=True", "", 2))

slip("span_loss", "two_softmaxes", "The loss is computed from a softmax of a softmax.",
     "You apply a softmax, and then the cross-entropy applies another one: the loss can never come near 0.",
     ("start_positions, start_logits,", "start_positions, tf.nn.softmax(start_logits),"),
     ("end_positions, end_logits,", "end_positions, tf.nn.softmax(end_logits),"))

slip("span_loss", "no_gradient", "The loss is computed without gradients, so nothing can be trained with it.",
     "The number is right, but the way back from it is cut off: `stop_gradient`, `float` and a way through NumPy all do that. "
     "Which of your lines cuts it off?",
     ("return tf.reduce_mean(start_loss + end_loss) / 2", "return tf.stop_gradient(tf.reduce_mean(start_loss + end_loss) / 2)"))

slip("span_loss", "softmax_over_the_batch", "The softmax runs over the windows of the batch instead of the tokens.",
     "In your softmax the windows compete with each other for a token. The classes are the tokens of *one* window: which "
     "axis are they on?",
     ("cross_entropy = keras.losses.sparse_categorical_crossentropy",
      "def cross_entropy(right, logits, from_logits):\n"
      "        return -tf.gather(tf.nn.log_softmax(logits, axis=0), right, batch_dims=1)"))

slip("span_loss", "batch_flattened", "One softmax runs over the tokens of all windows together.",
     "You flatten the batch, so the tokens of all windows compete in one softmax. Each window is a classification by itself.",
     ("cross_entropy = keras.losses.sparse_categorical_crossentropy",
      "def cross_entropy(right, logits, from_logits):\n"
      "        shares = tf.nn.log_softmax(tf.reshape(logits, [-1]))\n"
      "        return -tf.gather(tf.reshape(shares, tf.shape(logits)), right, batch_dims=1)"))

slip("span_loss", "small_number_in_the_logarithm",
     "A small number is added to the probabilities before the logarithm is taken.",
     "The small number keeps the logarithm finite, but it also limits the loss: a model that is quite wrong pays no more than one "
     "that is a little wrong, and learns nothing from it. There are functions that compute the logarithm of a softmax in one go.",
     ("cross_entropy = keras.losses.sparse_categorical_crossentropy",
      "def cross_entropy(right, logits, from_logits):\n"
      "        return -tf.math.log(tf.gather(tf.nn.softmax(logits), right, batch_dims=1) + 1e-9)"))

slip("span_loss", "both_added", "The two cross-entropies are added instead of averaged.",
     "Your loss is exactly twice as large as it should be: you add the losses of start and end instead of "
     "averaging them.",
     ("tf.reduce_mean(start_loss + end_loss) / 2", "tf.reduce_mean(start_loss + end_loss)"))

slip("span_loss", "end_forgotten", "Only the start counts.",
     "The end gets no gradient, so it is never trained. Both ends of an answer are classifications.",
     ("tf.reduce_mean(start_loss + end_loss) / 2", "tf.reduce_mean(start_loss)"))

slip("span_loss", "crossed", "Start logits are compared with end positions, and the other way round.",
     "You compare the start logits with the end positions. Check which of them belong together.",
     ("cross_entropy(start_positions", "cross_entropy(end_positions"),
     ("cross_entropy(end_positions", "cross_entropy(start_positions"))

slip("span_loss", "batch_summed", "The loss is summed over the batch.",
     "Your loss grows with the batch, because it sums over the windows instead of averaging.",
     ("tf.reduce_mean(", "tf.reduce_sum("))

slip("span_loss", "zero_left_out", "Windows whose target is 0 are left out.",
     "Position 0 is [CLS], and it stands for no answer. That is a class that the model has to learn, not "
     "padding that you may leave out.",
     ("(start_loss + end_loss)", "((start_loss + end_loss)[start_positions > 0])"))


# ---------------------------------------------------------------------------------- best_spans

slip("best_spans", "chosen_apart", "The best start and the best end are taken, whether they fit together or not.",
     "Nothing keeps the end from coming before the start, or a page after it. You want the best *pair* of those "
     "that are possible.",
     ("tf.linalg.band_part(both, 0, longest - 1)", "both"))

slip("best_spans", "end_before_start", "The pairs that are kept are those in which the end comes before the start.",
     "You keep the wrong band of the table. In row i and column j stands the pair that begins with token i and ends with token j. "
     "Is j to the right of the diagonal, or to the left? `band_part` takes the lower diagonals first.",
     ("tf.linalg.band_part(both, 0, longest - 1)", "tf.linalg.band_part(both, longest - 1, 0)"))

slip("best_spans", "minus_100_for_never", "The impossible pairs have the score -100.",
     "-100 is not lower than every score: logits can be any numbers. If all possible pairs are below it, it wins. What is "
     "lower than any score?",
     ("scores.dtype.min", "-100.0"))

slip("best_spans", "flattened_over_the_batch",
     "All windows get the same span: the best of all windows together.",
     "Your maximum runs over the batch, too. Each window has a table of its own: flatten it by itself.",
     ("(-1, length * length)", "(1, -1)"),
     ("output_type=tf.int32)\n",
      "output_type=tf.int32) % (length * length)\n"
      "    best = tf.repeat(best, len(scores))\n"),
     ("tf.reduce_max(flat, axis=1)", "tf.repeat(tf.reduce_max(flat), len(scores))"))

slip("best_spans", "row_and_column_swapped", "First and last are swapped.",
     "Your first is the last token, and the other way round. Entry k of a flattened table is in row k // length: "
     "are your rows starts or ends?",
     ("best // length, best % length", "best % length, best // length"))

slip("best_spans", "zeros_outside_the_band",
     "If the scores of all possible pairs are below 0, the result is (0, 0) with score 0.",
     "Something has score 0 in your code that is no possible pair: the impossible ones, or the value that you "
     "begin with. If all logits are far below 0, it wins. What is lower than any score?",
     ("scores.dtype.min", "0.0"))

slip("best_spans", "band_too_wide", "Answers may be one token too long.",
     "From i to j there are j - i + 1 tokens, both ends included. With `max_answer_length` diagonals above "
     "the main one your answers may be one token too long.",
     ("tf.minimum(max_answer_length, tf.shape(both)[1])", "tf.minimum(max_answer_length + 1, tf.shape(both)[1])"))

slip("best_spans", "diagonal_missing", "The last token must come after the first.",
     "Your main diagonal is missing: an answer of a single token begins and ends with that token.",
     ("tf.linalg.band_part(both, 0, longest - 1)",
      "(tf.linalg.band_part(both, 0, longest - 1) - tf.linalg.band_part(both, 0, 0))"))

slip("best_spans", "anywhere", "Tokens outside of the context may be answers.",
     "If their logits are high, you return pieces of the question. The argument `in_context` says where an "
     "answer may be.",
     ("    both =",
      "    in_context = tf.ones_like(in_context)\n"
      "    both ="))


# ---------------------------------------------------------------------------------- train_step

slip("train_step", "not_in_training", "The model is called without `training=True`.",
     "Without training=True the model runs as in an evaluation: dropout stays off while the model learns.",
     ("model(batch, training=True)", "model(batch)"))

slip("train_step", "never_applied", "The gradients are not applied.",
     "The loss is right, but no weight changes. What has to become of the gradients in the end?",
     ("    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))\n", ""))

slip("train_step", "full_length", "The optimizer gets gradients of full length.",
     "The gradients are used at their full length. Clip them between the tape and the optimizer, and apply what comes out.",
     ("    gradients, _ = tf.clip_by_global_norm(gradients, max_norm)\n", ""))

slip("train_step", "clipped_one_by_one", "The gradient of each weight is clipped by its own norm.",
     "You clip each weight's gradient by itself. You should limit the norm of all of them *together*: one "
     "factor for all, so that the direction stays the same.",
     ("gradients, _ = tf.clip_by_global_norm(gradients, max_norm)",
      "gradients = [tf.clip_by_norm(part, max_norm) for part in gradients]"))

slip("train_step", "outside_the_tape", "The way from the weights to the loss is not all on the tape.",
     "What is computed outside the tape is not recorded, and then all gradients are None. Both the "
     "model and the loss belong inside the tape.",
     ("with tf.GradientTape() as tape:\n"
      "        start_logits, end_logits = model(batch, training=True)",
      "start_logits, end_logits = model(batch, training=True)\n"
      "    with tf.GradientTape() as tape:"))

slip("train_step", "number_inside_the_graph", "The loss is turned into a Python number inside the graph.",
     "Inside a graph the loss has no value yet, so it cannot become a Python number there. Return the "
     "tensor.",
     ("return loss", "return loss.numpy()"))


# ---------------------------------------------------------------------------------- answer

slip("answer", "text_found_again",
     "The first mention of the answer's words is taken for the answer.",
     "You found the right tokens, but then you searched for their text, and took the first place where it "
     "occurs, as `find` does. The offsets of the tokens tell you which place it is.",
     ("return offsets[int(first[window])][0], offsets[int(last[window])][1], margin",
      "words = context[offsets[int(first[window])][0] : offsets[int(last[window])][1]]\n"
      "    return context.find(words), context.find(words) + len(words), margin"))

slip("answer", "stripped_first", "Positions are counted without the white space in front of the context.",
     "Your positions count in a text without the white space at the front, but the answer is cut out of the "
     "one that was given.",
     ("windows_of(question, context,", "windows_of(question, context.strip(),"))

slip("answer", "ends_where_the_last_token_begins", "The answer ends where its last token begins.",
     "Your answers lack their last token: they end where it begins. Each offset is a pair with two halves.",
     ("offsets[int(last[window])][1]", "offsets[int(last[window])][0]"))

slip("answer", "end_plus_one", "The end of the answer is one character too far.",
     "Your answers are one character too long. The ends of offsets are already exclusive, like those of a "
     "slice.",
     ("offsets[int(last[window])][1]", "offsets[int(last[window])][1] + 1"))

slip("answer", "window_zero", "Only the first window counts.",
     "You use only the first window. Which window has the best span?",
     ("int(tf.argmax(score))", "0"),
     ("tf.reduce_min(start_logits[:, 0] + end_logits[:, 0])", "start_logits[0, 0] + end_logits[0, 0]"))

slip("answer", "never_nothing", "There is always an answer, whatever the threshold.",
     "Your function always finds an answer. Compare the margin with the threshold: there may be no answer "
     "to a question in this text.",
     ("    if margin <= threshold:\n"
      "        return 0, 0, margin\n",
      ""))

slip("answer", "outvoted", "The highest of the windows' no-answer scores is used instead of the lowest.",
     "Windows that do not hold the answer are right to say that there is none. One of them must not outvote "
     "the window that found the answer: use the lowest of the no-answer scores.",
     ("tf.reduce_min", "tf.reduce_max"))

slip("answer", "no_answer_of_the_best_window", "The span is compared with the no-answer score of its own window.",
     "You compare the best span with the no-answer score of its own window. The margin is about all windows: "
     "the lowest of their no-answer scores counts.",
     ("tf.reduce_min(start_logits[:, 0] + end_logits[:, 0])", "start_logits[window, 0] + end_logits[window, 0]"))

slip("answer", "no_answer_of_the_last_window", "The no-answer score is that of the last window.",
     "You subtract the no-answer score of the last window, whichever window has won. The margin is about all "
     "windows: which of their no-answer scores counts?",
     ("tf.reduce_min(start_logits[:, 0] + end_logits[:, 0])", "start_logits[-1, 0] + end_logits[-1, 0]"))

slip("answer", "no_answer_of_the_first_window", "The no-answer score is that of the first window.",
     "You subtract the no-answer score of the first window, whichever window has won. The margin is about "
     "all windows: which of their no-answer scores counts?",
     ("tf.reduce_min(start_logits[:, 0] + end_logits[:, 0])", "start_logits[0, 0] + end_logits[0, 0]"))

slip("answer", "best_margin_wins",
     "Each window gets a margin of its own, and the window with the highest margin wins.",
     "You compare margins between windows. A window with a weak span wins in this way if its [CLS] scores "
     "lower still. First find the best span of all windows; then there is one margin.",
     ("tf.argmax(score)", "tf.argmax(score - start_logits[:, 0] - end_logits[:, 0])"),
     ("tf.reduce_min(start_logits[:, 0] + end_logits[:, 0])", "start_logits[window, 0] + end_logits[window, 0]"))

slip("answer", "lowest_of_start_and_end_apart",
     "The lowest start logit of [CLS] and the lowest end logit of [CLS] are added, though they may be from "
     "different windows.",
     "A window's no-answer score is the sum of *its* two logits. You take the lowest of each kind, and add "
     "what may come from two windows.",
     ("tf.reduce_min(start_logits[:, 0] + end_logits[:, 0])",
      "tf.reduce_min(start_logits[:, 0]) + tf.reduce_min(end_logits[:, 0])"))

slip("answer", "full_stop_left_out", "A full stop at the end of the answer is left out.",
     "Return the span as the model has found it. Marks may be part of an answer, as in `Washington, D.C.`: the answers in the training data "
     "decide that, not you.",
     ("    return offsets[int(first[window])][0], offsets[int(last[window])][1], margin",
      "    start, end = offsets[int(first[window])][0], offsets[int(last[window])][1]\n"
      "    return start, start + len(context[start:end].rstrip(\".\")), margin"))

slip("answer", "cls_may_answer", "[CLS] counts as a possible answer.",
     "[CLS] stands for no answer: it is allowed, but it is no token of the context. `best_spans` needs a mask "
     "in which it is False.",
     ("    in_context[:, 0] = False\n", ""))

slip("answer", "everything_allowed", "For the model, the question and [SEP] are allowed, too.",
     "Your mask allows every place, so the model may answer anywhere. `stacked` has made `allowed`: it is True "
     "at tokens of the context and at [CLS]. Pass that on as it is.",
     ("{name: tf.constant(arrays[name]) for name in names}",
      "{name: tf.constant(arrays[name]) for name in names} | {\n"
      '            "allowed": tf.ones_like(arrays["allowed"])}'))

slip("answer", "asked_as_in_training", "The model is called as in training.",
     "You call the model with training=True, and then dropout makes the answers random.",
     ("names}, training=False", "names}, training=True"))
