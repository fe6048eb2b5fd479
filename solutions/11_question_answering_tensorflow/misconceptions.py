"""Wrong ways to write lab 11's exercises. Each must lose points and be recognised as itself."""

from grader.catalogue import slip

# ---------------------------------------------------------------------------------- answer_token_spans

slip("answer_token_spans", "last_tokens_exclusive",
     "The number of the last token is one too high.",
     "The end of a span of characters is exclusive, but the last token is included: it is part of the "
     "answer. For an answer of one token, the two numbers are equal.",
     ("tf.where(whole, last, 0)", "tf.where(whole, last + 1, 0)"))

slip("answer_token_spans", "token_behind_included",
     "A token that begins where the answer ends, such as a full stop, is included.",
     "Ends are exclusive: the character at `end` is the first one *after* the answer. A token that begins "
     "there contains no part of the answer. Which comparison includes it?",
     ("(begins < ends[:, None])", "(begins <= ends[:, None])"))

slip("answer_token_spans", "parts_of_answers_kept",
     "If the window cuts off an answer, the part that is left becomes the target.",
     "`argmax` of a row without any True is 0, which happens to be right. But a window that contains only "
     "a part of the answer has a True, so you return half an answer. Test whether the tokens cover all of "
     "it.",
     ("\n"
      "        & (tf.gather(begins, first, batch_dims=1) <= starts)\n"
      "        & (tf.gather(stops, last, batch_dims=1) >= ends)",
      ""))

slip("answer_token_spans", "answers_at_the_borders_lost",
     "An answer that begins or ends where the window's text does is not found.",
     "An answer may begin exactly where the window's first token begins, and end exactly where its last "
     "token ends. Ends are exclusive. Is one of your comparisons too strict?",
     ("        & (tf.gather(begins, first,",
      "        & (tf.reduce_min(tf.where(begins >= 0, begins, ends[:, None]), axis=1) < starts)\n"
      "        & (tf.reduce_max(stops, axis=1) > ends)\n"
      "        & (tf.gather(begins, first,"))

slip("answer_token_spans", "equal_borders_only",
     "An answer that ends within a token is not found.",
     "An answer may begin or end in the middle of a token. Do you look for a token that ends exactly where "
     "the answer ends? Which tokens cover the answer if there is no such token?",
     ("<= starts)", "== starts)"), (">= ends)", "== ends)"))

slip("answer_token_spans", "first_taken_for_last",
     "The first token of the answer is also returned as its last one.",
     "Both your results are the first token. `argmax` finds the *first* of the greatest entries. To find "
     "the last True, read the row backwards, or number the tokens before you take the maximum.",
     ("tf.where(whole, last, 0)", "tf.where(whole, first, 0)"))

slip("answer_token_spans", "minus_one_where_nothing_is", "-1 stands for no answer.",
     "(-1, -1) marks tokens that are not part of the context. If there is no answer, start and end are "
     "both 0. The target of the window is then also 0, where [CLS] is.",
     ("return tf.where(whole, first, 0), tf.where(whole, last, 0)",
      "return tf.where(whole, first, -1), tf.where(whole, last, -1)"))

slip("answer_token_spans", "counted_in_the_context",
     "Tokens are counted from the first token of the context.",
     "Your numbers are too small by the number of tokens in front of the context. The model counts "
     "positions from the beginning of the window, where [CLS] is position 0.",
     ("return tf.where(whole, first, 0), tf.where(whole, last, 0)",
      "front = tf.argmax(tf.cast(begins >= 0, tf.int32), axis=1, output_type=tf.int32)\n"
      "    return tf.where(whole, first - front, 0), tf.where(whole, last - front, 0)"))


# ---------------------------------------------------------------------------------- padded_batches

slip("padded_batches", "padded_to_the_longest_of_all",
     "Every batch is padded to the longest window of all of them.",
     "All your batches are as wide as the longest window of all. Unless you give it a shape, "
     "`padded_batch` pads each batch to its own longest row.",
     ("    return tf.data",
      '    width = max(len(feature["input_ids"]) for feature in features)\n'
      "    widths = {name: [width] * spec.shape.rank for name, spec in signature.items()}\n"
      "    return tf.data"),
     ("padded_batch(batch_size)", "padded_batch(batch_size, widths)"))

slip("padded_batches", "padding_is_attended", "The attention mask is 1 at the padding.",
     "Your attention mask is 1 everywhere, even at the padding. Make it before the windows are padded: "
     "then the padding gets 0 automatically.",
     ("padded_batch(batch_size)",
      "padded_batch(batch_size).map(\n"
      '        lambda batch: {**batch, "attention_mask": tf.ones_like(batch["attention_mask"])}\n'
      "    )"))

slip("padded_batches", "mask_guessed_from_ids", "The attention mask is 0 at every token whose id is 0.",
     "You guess from the ids what is padding. But a real token may have the id 0, too. Then you mask a "
     "real token. Use the number of tokens in the window instead.",
     ('[1] * len(feature["input_ids"])', '[int(token != 0) for token in feature["input_ids"]]'))

slip("padded_batches", "cls_not_allowed", "allowed is False at [CLS].",
     "[CLS] stands for no answer, so it must be allowed. Otherwise, the model can never say that there is "
     "no answer, and the loss of such windows is enormous.",
     ('[True, *feature["in_context"][1:]]', '[False, *feature["in_context"][1:]]'))

slip("padded_batches", "every_token_allowed", "allowed is True at every token that is not padding.",
     "An answer consists only of tokens of the context. You also allow the question and [SEP].",
     ('[True, *feature["in_context"][1:]]', '[True] * len(feature["input_ids"])'))

slip("padded_batches", "rest_dropped", "The last batch is dropped if it is not full.",
     "You lose the windows at the end. The last batch may be smaller than the others. Does something in "
     "your code drop it, such as `drop_remainder`?",
     ("padded_batch(batch_size)", "padded_batch(batch_size, drop_remainder=True)"))

slip("padded_batches", "order_changed", "The windows are in a different order, for example sorted by length.",
     "Your windows are not in the given order. They are shuffled elsewhere, before this function gets them.",
     ("for feature in features:",
      'for feature in sorted(features, key=lambda feature: len(feature["input_ids"])):'))

slip("padded_batches", "segments_lost", "token_type_ids are 0 everywhere.",
     "Segment 1 belongs to the context, but your token_type_ids are 0 everywhere. Do you take them from "
     "the features?",
     ('feature["token_type_ids"]', '[0] * len(feature["input_ids"])'))


# ---------------------------------------------------------------------------------- SpanHead

slip("SpanHead", "ColumnsSwapped", "Start and end logits are swapped.",
     "Column 0 of the kernel is for the start, column 1 for the end. You have swapped them.",
     ("logits[..., 0], logits[..., 1]", "logits[..., 1], logits[..., 0]"))

slip("SpanHead", "NothingIsBlocked", "The places that are not allowed keep their logits.",
     "You return the layer's logits unchanged, even at the question and at the padding. What is the "
     "argument `allowed` for?",
     ("ops.where(allowed[..., None], self.dense(hidden), -1e9)", "self.dense(hidden)"))

slip("SpanHead", "AllowedIsBlocked", "The allowed places are blocked, and the others are not.",
     "In this course, True means allowed. You block the allowed places and leave the others unchanged.",
     ("self.dense(hidden), -1e9", "-1e9, self.dense(hidden)"))

slip("SpanHead", "ZeroIsNotForbidden", "Forbidden places get 0, or nearly 0, instead of a very low logit.",
     "A logit of 0 is nothing special: it is higher than -5, for example. (1e-9 and -1e-9 are practically "
     "0.) A forbidden place needs a logit that is lower than all others, for example minus a billion.",
     ("-1e9", "0.0"))

slip("SpanHead", "NotLowEnough", "Forbidden places get a logit of -100.",
     "-100 is low compared with logits of 3, but logits may be in the hundreds. The docstring says how low "
     "the logit of a forbidden place must be.",
     ("-1e9", "-100.0"))

slip("SpanHead", "NoGradient", "The logits are computed without gradients, so nothing can be trained through them.",
     "The numbers are right, but no gradient gets past them. `stop_gradient` and any detour through NumPy "
     "stop gradients. In training, gradients must reach the layer's weights and the encoder. Which of your "
     "lines stops them?",
     ("ops.where(allowed[..., None], self.dense(hidden), -1e9)",
      "ops.stop_gradient(ops.where(allowed[..., None], self.dense(hidden), -1e9))"))

slip("SpanHead", "EncoderCutOff", "No gradient gets through to the hidden states, so the encoder cannot be trained.",
     "Your layer learns, but the encoder in front of it never does. `stop_gradient` keeps gradients from "
     "reaching the hidden states.",
     ("self.dense(hidden)", "self.dense(ops.stop_gradient(hidden))"))

slip("SpanHead", "DropoutInTheHead", "In training, dropout changes the hidden states.",
     "The docstring asks for one Dense layer and its logits. A dropout in front of that layer changes the "
     "logits in training, and differently each time.",
     ("keras.layers.Dense(2)", "keras.layers.Dense(2)\n        self.dropout = keras.layers.Dropout(0.1)"),
     ("self.dense(hidden)", "self.dense(self.dropout(hidden))"))

slip("SpanHead", "SoftmaxInTheHead", "A softmax is applied, so probabilities are returned instead of logits.",
     "You return probabilities, not logits. The loss applies a softmax itself, so the result would be a "
     "softmax of a softmax.",
     ("ops.where(allowed[..., None], self.dense(hidden), -1e9)",
      "ops.softmax(ops.where(allowed[..., None], self.dense(hidden), -1e9), axis=1)"))

slip("SpanHead", "MadeInTheCall", "The Dense layer is created in call, anew each time.",
     "You create a new Dense layer in every call. So its weights are random each time, and they are "
     "neither trained nor saved. Create layers in the constructor.",
     ("        self.dense = keras.layers.Dense(2)\n", ""),
     ("self.dense(hidden)", "keras.layers.Dense(2)(hidden)"))

slip("SpanHead", "Reshaped",
     "(batch, seq_len, 2) is reshaped to (2, batch, seq_len), which mixes tokens and logits.",
     "The numbers are right, but they are in the wrong places. A reshape only groups the numbers in "
     "another way, so it mixes tokens and logits. The two logits of a token are side by side in the *last* "
     "axis.",
     ("ops.where(allowed[..., None], self.dense(hidden), -1e9)",
      "ops.where(allowed, ops.reshape(self.dense(hidden), (2, *allowed.shape)), -1e9)"),
     ("logits[..., 0], logits[..., 1]", "logits[0], logits[1]"))


# ---------------------------------------------------------------------------------- weights_from_torch

slip("weights_from_torch", "reshaped_instead_of_transposed", "The weight is reshaped instead of transposed.",
     "The shape fits, but the numbers are in the wrong places, because a reshape keeps their order. A row "
     "in PyTorch must become a column in Keras.",
     ('state["linear.weight"].T', 'state["linear.weight"].reshape(-1, 2)'))

slip("weights_from_torch", "not_transposed", "The weight is used as it is.",
     "Your kernel has PyTorch's shape, (out, in). Keras multiplies from the other side and needs (in, out).",
     ('state["linear.weight"].T', 'state["linear.weight"]'))

slip("weights_from_torch", "rows_in_reverse", "Start and end are swapped, in the kernel and in the bias.",
     "You have swapped start and end. Row 0 must become column 0.",
     ('state["linear.weight"].T, state["linear.bias"]',
      'state["linear.weight"][::-1].T, state["linear.bias"][::-1]'))

slip("weights_from_torch", "bias_of_zeros", "The bias is set to zero.",
     "You lose the bias, but a trained bias is not 0. It is the second of the two weights.",
     ('state["linear.bias"]', "np.zeros(2, np.float32)"))


# ---------------------------------------------------------------------------------- span_loss

slip("span_loss", "taken_for_probabilities",
     "The logits are treated as probabilities, as with from_logits=False.",
     "Keras treats your logits as probabilities, because that is its default. Look up `from_logits`.",
     (", from_logits=True", "", 2))

slip("span_loss", "two_softmaxes", "The loss is computed from a softmax of a softmax.",
     "You apply a softmax, and the cross-entropy applies another one. A second softmax makes the "
     "probabilities more alike, so the loss can never come near 0.",
     ("start_positions, start_logits,", "start_positions, tf.nn.softmax(start_logits),"),
     ("end_positions, end_logits,", "end_positions, tf.nn.softmax(end_logits),"))

slip("span_loss", "no_gradient", "The loss is computed without gradients, so nothing can be trained with it.",
     "The number is right, but no gradient gets past it. `stop_gradient`, `float` and any detour through "
     "NumPy stop gradients. Which of your lines stops them?",
     ("return tf.reduce_mean(start_loss + end_loss) / 2", "return tf.stop_gradient(tf.reduce_mean(start_loss + end_loss) / 2)"))

slip("span_loss", "softmax_over_the_batch", "The softmax runs over the windows of the batch instead of the tokens.",
     "Your softmax runs over the windows, so they compete with each other for a token. The classes are the "
     "tokens of *one* window. Which axis are they on?",
     ("cross_entropy = keras.losses.sparse_categorical_crossentropy",
      "def cross_entropy(right, logits, from_logits):\n"
      "        return -tf.gather(tf.nn.log_softmax(logits, axis=0), right, batch_dims=1)"))

slip("span_loss", "batch_flattened", "One softmax runs over the tokens of all windows together.",
     "You flatten the batch, so the tokens of all windows compete in one softmax. Each window is a "
     "classification of its own.",
     ("cross_entropy = keras.losses.sparse_categorical_crossentropy",
      "def cross_entropy(right, logits, from_logits):\n"
      "        shares = tf.nn.log_softmax(tf.reshape(logits, [-1]))\n"
      "        return -tf.gather(tf.reshape(shares, tf.shape(logits)), right, batch_dims=1)"))

slip("span_loss", "small_number_in_the_logarithm",
     "A small number is added to the probabilities before the logarithm is taken.",
     "The small number keeps the logarithm finite, but it also limits the loss. Beyond that limit, a worse "
     "answer costs no more, so the model learns nothing from it. Some functions compute the logarithm of a "
     "softmax in one step.",
     ("cross_entropy = keras.losses.sparse_categorical_crossentropy",
      "def cross_entropy(right, logits, from_logits):\n"
      "        return -tf.math.log(tf.gather(tf.nn.softmax(logits), right, batch_dims=1) + 1e-9)"))

slip("span_loss", "log_of_softmax",
     "The logarithm of a softmax is taken in two steps, so a share of 0 gives an infinite loss.",
     "Your loss is right for small logits. If the right token's logit lies far below the others, the softmax "
     "rounds its share to 0, and the logarithm of 0 is minus infinity. A cross-entropy that gets logits, or "
     "`tf.nn.log_softmax`, computes the logarithm in one step and stays finite.",
     ("cross_entropy = keras.losses.sparse_categorical_crossentropy",
      "def cross_entropy(right, logits, from_logits):\n"
      "        return -tf.math.log(tf.gather(tf.nn.softmax(logits), right, batch_dims=1))"))

slip("span_loss", "probabilities_are_clipped",
     "The cross-entropy gets probabilities and clips them, so no answer costs more than about 16.",
     "Keras cannot take the logarithm of 0, so it raises probabilities to at least 0.0000001. Beyond that, a "
     "worse answer costs no more, and the model learns nothing from it. Give it logits instead.",
     (", start_logits, from_logits=True", ", tf.nn.softmax(start_logits)"),
     (", end_logits, from_logits=True", ", tf.nn.softmax(end_logits)"))

slip("span_loss", "exponentials_by_hand",
     "The softmax is computed from plain exponentials, which overflow or become 0.",
     "Your loss is right for small logits. But the exponential of 300 is too large for float32, and that of "
     "-300 is 0: then you divide infinity by infinity or 0 by 0, which is NaN. A cross-entropy that gets "
     "logits subtracts the largest one first.",
     ("cross_entropy = keras.losses.sparse_categorical_crossentropy",
      "def cross_entropy(right, logits, from_logits):\n"
      "        shares = tf.exp(logits) / tf.reduce_sum(tf.exp(logits), axis=1, keepdims=True)\n"
      "        return -tf.math.log(tf.gather(shares, right, batch_dims=1))"))

slip("span_loss", "zero_times_infinity",
     "Logarithms of shares of 0 are multiplied by 0, which gives NaN.",
     "The softmax of a blocked token is 0, and its logarithm is minus infinity. If you multiply that by the 0 "
     "of a one-hot row, you get NaN and not 0. Pick out the right token's entry, or let Keras do it.",
     ("cross_entropy = keras.losses.sparse_categorical_crossentropy",
      "def cross_entropy(right, logits, from_logits):\n"
      "        wanted = tf.one_hot(right, tf.shape(logits)[1])\n"
      "        return -tf.reduce_sum(wanted * tf.math.log(tf.nn.softmax(logits)), axis=1)"))

slip("span_loss", "both_added", "The two cross-entropies are added instead of averaged.",
     "Your loss is exactly twice as large as it should be: you add the losses of start and end instead of "
     "averaging them. This also changes everything that depends on the size of the loss, such as clipping.",
     ("tf.reduce_mean(start_loss + end_loss) / 2", "tf.reduce_mean(start_loss + end_loss)"))

slip("span_loss", "end_forgotten", "Only the start counts.",
     "Only the start counts in your loss. The end gets no gradient, so it is never trained. The model must "
     "learn both ends of an answer.",
     ("tf.reduce_mean(start_loss + end_loss) / 2", "tf.reduce_mean(start_loss)"))

slip("span_loss", "crossed", "Start logits are compared with end positions, and the other way round.",
     "You compare the start logits with the end positions, and the end logits with the start positions. "
     "Which of them belong together?",
     ("cross_entropy(start_positions", "cross_entropy(end_positions"),
     ("cross_entropy(end_positions", "cross_entropy(start_positions"))

slip("span_loss", "batch_summed", "The loss is summed over the batch.",
     "Your loss grows with the batch, because you sum over the windows instead of averaging.",
     ("tf.reduce_mean(", "tf.reduce_sum("))

slip("span_loss", "zero_left_out", "Windows whose target is 0 are left out.",
     "Position 0 is [CLS], and it stands for no answer. The model must learn this class like any other. If "
     "it never does, it always finds some answer.",
     ("(start_loss + end_loss)", "((start_loss + end_loss)[start_positions > 0])"))


# ---------------------------------------------------------------------------------- best_spans

slip("best_spans", "chosen_apart",
     "The best start and the best end are chosen, whether they fit together or not.",
     "In your code, the end may come before the start, or a page after it. You need the best *pair* among "
     "those that are possible.",
     ("tf.linalg.band_part(both, 0, longest - 1)", "both"))

slip("best_spans", "end_before_start", "The pairs that are kept have their end before their start.",
     "You keep the wrong half of the table. The entry in row i and column j is for the pair that begins "
     "with token i and ends with token j. Is j to the right of the diagonal, or to the left? `band_part` "
     "takes the lower diagonals first.",
     ("tf.linalg.band_part(both, 0, longest - 1)", "tf.linalg.band_part(both, longest - 1, 0)"))

slip("best_spans", "minus_100_for_never", "The impossible pairs have the score -100.",
     "-100 is not lower than every score, because logits can be any numbers. If the scores of all possible "
     "pairs are below -100, an impossible one wins. What is lower than any score?",
     ("scores.dtype.min", "-100.0"))

slip("best_spans", "flattened_over_the_batch",
     "All windows get the same span: the best of all windows together.",
     "Your maximum runs over the batch, too. Each window has its own table: flatten each table separately.",
     ("(-1, length * length)", "(1, -1)"),
     ("output_type=tf.int32)\n",
      "output_type=tf.int32) % (length * length)\n"
      "    best = tf.repeat(best, len(scores))\n"),
     ("tf.reduce_max(flat, axis=1)", "tf.repeat(tf.reduce_max(flat), len(scores))"))

slip("best_spans", "row_and_column_swapped", "First and last are swapped.",
     "Your first token is the last one, and the other way round. Entry k of a flattened table is in row k "
     "// length. Do your rows stand for starts or for ends?",
     ("best // length, best % length", "best % length, best // length"))

slip("best_spans", "zeros_outside_the_band",
     "If the scores of all possible pairs are below 0, the result is (0, 0) with score 0.",
     "Something in your code scores 0 without being a possible pair: the impossible pairs, or the value "
     "that you start with. If all logits are far below 0, it wins. What is lower than any score?",
     ("scores.dtype.min", "0.0"))

slip("best_spans", "band_too_wide", "Answers may be one token too long.",
     "From token i to token j, there are j - i + 1 tokens, because both ends are included. With "
     "`max_answer_length` diagonals above the main one, your answers may be one token too long.",
     ("tf.minimum(max_answer_length, tf.shape(both)[1])", "tf.minimum(max_answer_length + 1, tf.shape(both)[1])"))

slip("best_spans", "diagonal_missing", "The last token must come after the first.",
     "The main diagonal is missing. An answer of a single token begins and ends with that token, so first "
     "and last may be equal.",
     ("tf.linalg.band_part(both, 0, longest - 1)",
      "(tf.linalg.band_part(both, 0, longest - 1) - tf.linalg.band_part(both, 0, 0))"))

slip("best_spans", "anywhere", "Tokens outside of the context may be answers.",
     "If the logits there are high, you return a piece of the question, or [SEP]. The argument "
     "`in_context` says where an answer may be.",
     ("    both =",
      "    in_context = tf.ones_like(in_context)\n"
      "    both ="))


# ---------------------------------------------------------------------------------- train_step

slip("train_step", "not_in_training", "The model is called without `training=True`.",
     "Without `training=True`, the model runs as in an evaluation: dropout stays off while the model "
     "learns.",
     ("model(batch, training=True)", "model(batch)"))

slip("train_step", "never_applied", "The gradients are not applied.",
     "The loss is right, but no weight changes. What must you do with the gradients in the end?",
     ("    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))\n", ""))

slip("train_step", "full_length", "The optimizer gets gradients of full length.",
     "The gradients are used at their full length. Clip them between the tape and the optimizer, and apply "
     "the clipped ones.",
     ("    gradients, _ = tf.clip_by_global_norm(gradients, max_norm)\n", ""))

slip("train_step", "clipped_one_by_one", "The gradient of each weight is clipped by its own norm.",
     "You clip each weight's gradient separately. Limit the norm of all of them *together*: one factor for "
     "all, so that the direction stays the same.",
     ("gradients, _ = tf.clip_by_global_norm(gradients, max_norm)",
      "gradients = [tf.clip_by_norm(part, max_norm) for part in gradients]"))

slip("train_step", "outside_the_tape", "The tape does not record the whole way from the weights to the loss.",
     "A tape records only what is computed inside it. If a part of the way from the weights to the loss is "
     "missing, all gradients are None. Both the model and the loss belong inside the tape.",
     ("with tf.GradientTape() as tape:\n"
      "        start_logits, end_logits = model(batch, training=True)",
      "start_logits, end_logits = model(batch, training=True)\n"
      "    with tf.GradientTape() as tape:"))

slip("train_step", "number_inside_the_graph", "The loss is turned into a Python number inside the graph.",
     "Inside a graph, the loss has no value yet, so it cannot become a Python number there. Return the "
     "tensor.",
     ("return loss", "return loss.numpy()"))


# ---------------------------------------------------------------------------------- answer

slip("answer", "text_found_again",
     "The first mention of the answer's words is treated as the answer.",
     "You find the right tokens, but then you search for their text and take the first place where it "
     "occurs, as `find` does. The offsets of the tokens give you the right place.",
     ("return offsets[int(first[window])][0], offsets[int(last[window])][1], margin",
      "words = context[offsets[int(first[window])][0] : offsets[int(last[window])][1]]\n"
      "    return context.find(words), context.find(words) + len(words), margin"))

slip("answer", "stripped_first", "Positions are counted without the white space in front of the context.",
     "Your positions count in a text without the white space at the front. But the answer is cut out of "
     "the context as it was given. So your positions are too small by the length of that white space.",
     ("windows_of(question, context,", "windows_of(question, context.strip(),"))

slip("answer", "ends_where_the_last_token_begins", "The answer ends where its last token begins.",
     "Your answers lack their last token, because they end where it begins. Each offset is a pair. Which "
     "of its two numbers do you need here?",
     ("offsets[int(last[window])][1]", "offsets[int(last[window])][0]"))

slip("answer", "end_plus_one", "The end of the answer is one character too far.",
     "Your answers are one character too long. The ends of offsets are already exclusive, as in a slice.",
     ("offsets[int(last[window])][1]", "offsets[int(last[window])][1] + 1"))

slip("answer", "window_zero", "Only the first window counts.",
     "You use only the first window, so an answer further on is never found. Which window has the best "
     "span?",
     ("int(tf.argmax(score))", "0"),
     ("tf.reduce_min(start_logits[:, 0] + end_logits[:, 0])", "start_logits[0, 0] + end_logits[0, 0]"))

slip("answer", "never_nothing", "There is always an answer, whatever the threshold.",
     "Your function always returns an answer. Compare the margin with the threshold, because the text may "
     "not answer the question.",
     ("    if margin <= threshold:\n"
      "        return 0, 0, margin\n",
      ""))

slip("answer", "outvoted", "The highest of the windows' no-answer scores is used instead of the lowest.",
     "A window without the answer is right to say that there is no answer. It must not outvote the window "
     "that found the answer. Which of the no-answer scores should you use?",
     ("tf.reduce_min", "tf.reduce_max"))

slip("answer", "no_answer_of_the_best_window", "The span is compared with the no-answer score of its own window.",
     "You subtract the no-answer score of the window that has the best span. But the margin is about the "
     "whole text, so look at the no-answer scores of all windows.",
     ("tf.reduce_min(start_logits[:, 0] + end_logits[:, 0])", "start_logits[window, 0] + end_logits[window, 0]"))

slip("answer", "no_answer_of_the_last_window", "The no-answer score is that of the last window.",
     "Your no-answer score comes from the last window alone, but every window has such a score. Which of "
     "them does the margin need?",
     ("tf.reduce_min(start_logits[:, 0] + end_logits[:, 0])", "start_logits[-1, 0] + end_logits[-1, 0]"))

slip("answer", "no_answer_of_the_first_window", "The no-answer score is that of the first window.",
     "Your no-answer score comes from the first window alone, but every window has such a score. Which of "
     "them does the margin need?",
     ("tf.reduce_min(start_logits[:, 0] + end_logits[:, 0])", "start_logits[0, 0] + end_logits[0, 0]"))

slip("answer", "best_margin_wins",
     "Each window gets a margin of its own, and the window with the highest margin wins.",
     "You compare margins between windows. So a window with a weak span may win because its [CLS] scores "
     "even lower. First find the best span of all windows. Then compute one margin.",
     ("tf.argmax(score)", "tf.argmax(score - start_logits[:, 0] - end_logits[:, 0])"),
     ("tf.reduce_min(start_logits[:, 0] + end_logits[:, 0])", "start_logits[window, 0] + end_logits[window, 0]"))

slip("answer", "lowest_of_start_and_end_apart",
     "The lowest start logit of [CLS] and the lowest end logit of [CLS] are added, although they may come "
     "from different windows.",
     "A window's no-answer score is the sum of *its* two logits. You add the lowest start logit and the "
     "lowest end logit, which may come from two different windows.",
     ("tf.reduce_min(start_logits[:, 0] + end_logits[:, 0])",
      "tf.reduce_min(start_logits[:, 0]) + tf.reduce_min(end_logits[:, 0])"))

slip("answer", "full_stop_left_out", "A full stop at the end of the answer is left out.",
     "Return the span exactly as the model has found it. A mark may be part of an answer, as in `Washington, D.C.`. The answers in the "
     "training data decide that.",
     ("    return offsets[int(first[window])][0], offsets[int(last[window])][1], margin",
      "    start, end = offsets[int(first[window])][0], offsets[int(last[window])][1]\n"
      "    return start, start + len(context[start:end].rstrip(\".\")), margin"))

slip("answer", "cls_may_answer", "[CLS] counts as a possible answer.",
     "[CLS] stands for no answer: it is allowed, but it is not a token of the context. `best_spans` needs "
     "a mask in which [CLS] is False.",
     ("    in_context[:, 0] = False\n", ""))

slip("answer", "everything_allowed", "For the model, the question and [SEP] are allowed, too.",
     "Your mask allows every place, so the model may answer anywhere. `stacked` has already made "
     "`allowed`, which is True at tokens of the context and at [CLS]. Pass it on as it is.",
     ("{name: tf.constant(arrays[name]) for name in names}",
      "{name: tf.constant(arrays[name]) for name in names} | {\n"
      '            "allowed": tf.ones_like(arrays["allowed"])}'))

slip("answer", "asked_as_in_training", "The model is called as in training.",
     "You call the model with `training=True`, so dropout makes the answers random.",
     ("names}, training=False", "names}, training=True"))
