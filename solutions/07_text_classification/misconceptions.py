"""Wrong ways to write lab 07's exercises. Each must lose points and be recognised as itself."""

from grader.catalogue import slip

# ---------------------------------------------------------------------------------- samples_per_length

slip("samples_per_length", "upside_down", "The mean length is divided by the number of samples.",
     "More samples should raise the ratio, and longer samples should lower it. Yours does the opposite.",
     ("len(texts) / mean_length", "mean_length / len(texts)"))

slip("samples_per_length", "characters", "Characters are counted instead of words.",
     "The length of a string is its number of characters. The rule counts words, so first split each text at "
     "its spaces.",
     ("len(text.split())", "len(text)"))

slip("samples_per_length", "spaces", "The mean length is one word too small, as if spaces were counted.",
     "Three words have only two spaces between them. What length does your code give for a text of three "
     "words?",
     ("len(text.split())", 'text.count(" ")'))

slip("samples_per_length", "all_words",
     "The ratio is 1 / mean length, the number of samples divided by that of all words.",
     "Your ratio stays the same if there are ten times as many texts of the same kind. Divide the number of "
     "samples by the *mean* length of a sample.",
     ('for text in texts) / len(texts)', 'for text in texts)'))

slip("samples_per_length", "longest", "The longest text is taken instead of the mean.",
     "The rule is about the average sample. One very long text should not decide it alone.",
     ("sum(len(text.split()) for text in texts) / len(texts)", "max(len(text.split()) for text in texts)"))

slip("samples_per_length", "median", "The median length is taken instead of the mean.",
     "You take the length in the middle. A few long texts raise the mean, but not the median. The rule asks "
     "for the mean.",
     ("sum(len(text.split()) for text in texts) / len(texts)",
      "float(np.median([len(text.split()) for text in texts]))"))

slip("samples_per_length", "different_words", "Each text's different words are counted.",
     "If a word occurs twice in a text, it counts twice for the length. A set contains it only once.",
     ("len(text.split())", "len(set(text.split()))"))

slip("samples_per_length", "rule_reversed", "A sequence model is chosen below the threshold.",
     "A sequence model needs many samples in proportion to their length. So choose it if the ratio is high.",
     ("ratio > threshold", "ratio < threshold"))

slip("samples_per_length", "threshold_fixed", "The threshold has no effect.",
     "Here some ratios are above their threshold. What do you compare, and with what? The threshold is an "
     "argument. 1,500 is only its usual value.",
     ("ratio > threshold", "ratio > 1500"))


slip("samples_per_length", "cut_at_marks", "Words are cut at marks such as the apostrophe and the hyphen.",
     "Only spaces separate words here: *well-known* is one, and so is *3.5*.",
     ("len(text.split())", 'len(__import__("re").findall(r"\\w+", text))'))


# ---------------------------------------------------------------------------------- split_by_group

slip("split_by_group", "groups_cut", "The samples of the last group that is taken are divided.",
     "You cut a group in two: some of its samples are in the test set, and others are not. Take all samples "
     "of a group or none.",
     ("return np.array([group in chosen for group in groups])",
      "places = [place for group in order for place, other in enumerate(groups) if other == group]\n"
      "    enough = places[: int(np.ceil(share * len(groups)))]\n"
      "    return np.isin(np.arange(len(groups)), enough)"))

slip("split_by_group", "groups_ignored", "The first samples are the test set, whatever group they are of.",
     "You have split the samples as if there were no groups. A group can then have samples on both sides.",
     ("return np.array([group in chosen for group in groups])",
      "return np.arange(len(groups)) < share * len(groups)"))

slip("split_by_group", "share_of_groups", "The share is one of groups, not of samples.",
     "You have counted groups. Groups differ in size, and the share is one of the samples. So count samples.",
     ("taken >= share * len(groups)", "len(chosen) >= share * len(order)"))

slip("split_by_group", "training_is_true", "True stands for training instead of test.",
     "You have separated the right groups, but the other way round: True means the test set.",
     ("group in chosen for group", "group not in chosen for group"))

slip("split_by_group", "last_group_left_out", "The group that would exceed the share is not taken.",
     "You stop before a group that would bring too many samples. The test set then has fewer than asked for. "
     "Take that group, too.",
     ("if taken >= share * len(groups):", "if taken + sizes[group] > share * len(groups):"))

slip("split_by_group", "one_group_more", "One more group is taken than needed.",
     "There are already enough samples before you take the last group. When do you check, and have you "
     "counted every group by then?",
     ("        if taken >= share * len(groups):\n            break\n        chosen.add(group)\n        taken += sizes[group]",
      "        chosen.add(group)\n        if taken >= share * len(groups):\n            break\n        taken += sizes[group]"))

slip("split_by_group", "order_ignored", "The groups are taken in alphabetical order.",
     "Take the groups in the order that is given. The alphabet is not a random order: similar names are next "
     "to each other.",
     ("for group in order:", "for group in sorted(order):"))

slip("split_by_group", "from_the_end", "The groups are taken from the end of the order.",
     "You start with the last group of the order. Start with the first.",
     ("for group in order:", "for group in reversed(order):"))

slip("split_by_group", "one_sample_a_group", "Each group counts as one sample.",
     "You add 1 for each group, however many samples it has. But you compare with a number of samples, so "
     "you take too many groups.",
     ("taken += sizes[group]", "taken += 1"))


# ---------------------------------------------------------------------------------- bag_of_ngrams

slip("bag_of_ngrams", "counted", "Occurrences are counted.",
     "If an n-gram occurs twice, your row has a 2. A multi-hot row says whether it occurs, not how often.",
     ("bags[row, column] = 1", "bags[row, column] += 1"))

slip("bag_of_ngrams", "longest_only", "Only groups of exactly n words are found.",
     "Shorter groups count, too: with n = 2, single words and pairs. Do you look for the shorter ones, and "
     "do you keep what you find?",
     ("range(1, n + 1)", "range(n, n + 1)"))

slip("bag_of_ngrams", "single_words_only", "Only single words are found, never a longer group.",
     "Print a few of the groups that you look for. Are there longer ones? Are their words joined by single "
     "spaces, as in the index?",
     ("range(1, n + 1)", "range(1, 2)"))

slip("bag_of_ngrams", "up_to_n_minus_1", "The longest groups are missing.",
     "A range does not include its end. Groups of n words belong to the bag.",
     ("range(1, n + 1)", "range(1, n)"))

slip("bag_of_ngrams", "one_word_too_many", "Groups of n + 1 words count, too.",
     "You look for groups that are one word longer than n.",
     ("range(1, n + 1)", "range(1, n + 2)"))

slip("bag_of_ngrams", "last_one_missed", "The last group of each size is missed: none has the last word of its text.",
     "A list of five words has four pairs. The last pair begins at the fourth word and ends with the fifth. "
     "Does your code find it?",
     ("len(words) - size + 1", "len(words) - size"))

slip("bag_of_ngrams", "order_within_forgotten", "The words of a group are sorted.",
     "A pair is two words in the order of the text. You sort them, so the order is lost again.",
     ("words[start : start + size])", "sorted(words[start : start + size]))"))

slip("bag_of_ngrams", "column_0_lost", "Column 0 is never filled.",
     "Column 0 is like any other. (In a condition, 0 counts as False. So ask whether something was found, "
     "not whether it is true.)",
     ("if column is not None:", "if column:"))

slip("bag_of_ngrams", "unknown_in_column_0", "Everything that is not in the index goes into column 0.",
     "Column 0 belongs to an n-gram. If an n-gram is not in the index, it has no column. Leave it out.",
     ('start + size]))', 'start + size]), 0)'))

slip("bag_of_ngrams", "texts_run_together", "Groups reach from one text into the next.",
     "The last word of one text and the first word of the next are not a pair. Split each text into words by "
     "itself.",
     ("words = text.split()", 'words = " ".join(texts[row : row + 2]).split()[: len(text.split()) + n - 1]'))

slip("bag_of_ngrams", "divided_by_length", "Each row is divided by the length of its text.",
     "The entries should be 1, however long the text is.",
     ("bags[row, column] = 1", "bags[row, column] = 1 / len(words)"))


slip("bag_of_ngrams", "capitals_ignored", "Capital letters are changed to small letters.",
     "The index may contain both *Bath* and *bath*. These are two words, each with its own column. Do not "
     "change the words.",
     ("text.split()", "text.lower().split()"))

slip("bag_of_ngrams", "cut_at_marks", "Words are cut at marks, and the marks are lost.",
     "Only spaces separate words here. The index also contains words with marks in them. Do not change the "
     "words.",
     ("text.split()", '__import__("re").findall(r"\\w+", text)'))


# ---------------------------------------------------------------------------------- bucketed_batches

slip("bucketed_batches", "no_buckets",
     "All sentences go into batches in the given order, as if there were one bucket only.",
     "Long and short sentences share a batch, so there is as much padding as before. Where do you use the "
     "boundaries, and what do you compare with them?",
     ("bucket_boundaries=boundaries", "bucket_boundaries=[1_000]"),
     ("* (len(boundaries) + 1)", "* 2"))

slip("bucketed_batches", "only_one_epoch", "The dataset can be gone through only once.",
     "`fit` goes through the data once in each epoch. A `zip` or a generator is used up after the first "
     "time. Make a new one whenever the dataset asks for it.",
     ("return singles.bucket", "pairs = zip(sentences, labels, strict=True)\n"
      "    singles = tf.data.Dataset.from_generator(lambda: pairs, output_signature=signature)\n"
      "    return singles.bucket"))

slip("bucketed_batches", "boundary_below", "A sentence as long as a boundary is put into the bucket below it.",
     "With a boundary at 5, a sentence of 5 words belongs to the bucket that begins with 5.",
     ("tf.shape(sentence)[0]", "tf.shape(sentence)[0] - 1"))

slip("bucketed_batches", "rest_dropped", "What is left at the end is dropped.",
     "You lose the sentences that do not fill a batch. They are data, too. Put them in a smaller batch.",
     ("        bucket_batch_sizes=", "        drop_remainder=True,\n        bucket_batch_sizes="))

slip("bucketed_batches", "padded_to_the_boundary", "Batches are padded up to their bucket's boundary.",
     "A batch should be as wide as its longest sentence. The bucket's boundary may be wider.",
     ("return singles.bucket", "widest = max(map(len, sentences)) + 1\n    return singles.bucket"),
     ("bucket_boundaries=boundaries", "bucket_boundaries=[*boundaries, widest]"),
     ("(len(boundaries) + 1)", "(len(boundaries) + 2)"),
     ("        bucket_batch_sizes=", "        pad_to_bucket_boundary=True,\n        bucket_batch_sizes="))

slip("bucketed_batches", "sorted_first", "The sentences of a bucket are sorted by length before they go into batches.",
     "You have changed the order of the sentences. If they are sorted, a short sentence always meets the "
     "same others. The buckets are enough.",
     ("zip(sentences, labels, strict=True)",
      "sorted(zip(sentences, labels, strict=True), key=lambda pair: len(pair[0]))"))

slip("bucketed_batches", "labels_sorted", "The labels are not in the order of their sentences.",
     "Your labels no longer match their sentences. Keep each pair together.",
     ("zip(sentences, labels, strict=True)", "zip(sentences, sorted(labels), strict=True)"))

slip("bucketed_batches", "single_sentences", "Every batch holds a single sentence.",
     "Batches of one sentence need no padding, but they make training many times slower. A full batch has "
     "batch_size sentences.",
     ("[batch_size] *", "[1] *"))

slip("bucketed_batches", "padded_with_minus_1", "Padding is -1.",
     "Padding has the number 0 in this lab, because the mask comes from a comparison with 0.",
     ("        bucket_batch_sizes=", "        padding_values=(-1, 0),\n        bucket_batch_sizes="))


# ---------------------------------------------------------------------------------- PositionalEmbedding

slip("PositionalEmbedding", "PlacesFrom1", "Places begin at 1.",
     "A running count of ones begins at 1. But the first row of the table has the number 0.",
     ("axis=1) - 1", "axis=1)"))

slip("PositionalEmbedding", "NoPositions", "No positions are in the output, even if use_positions is True.",
     "The order of the words changes nothing in your output. What do you do with the vectors of the places?",
     ("            embedded = embedded + self.position_embeddings(places)", "            self.position_embeddings(places)"))

slip("PositionalEmbedding", "LengthFromPython", "The places are cut to a length that Python has to know.",
     "In a compiled model `ids.shape[1]` may be None, and a slice up to None keeps everything. How could you count the places with "
     "tensors, without knowing the length?",
     ("ops.cumsum(ops.ones_like(ids), axis=1) - 1", 'ops.arange(self.config["max_len"])[: ids.shape[1]]'))

slip("PositionalEmbedding", "Multiplied", "The vectors of words and places are multiplied.",
     "A word's vector and its place's vector are added, entry by entry.",
     ("embedded + self.position_embeddings", "embedded * self.position_embeddings"))

slip("PositionalEmbedding", "PlaceOfTheWord", "The vector of the place is looked up by the word's number.",
     "You look up the number of the word in the table of places. That table needs 0, 1, 2 and so on.",
     ("self.position_embeddings(places)", "self.position_embeddings(ids % 7)"))

slip("PositionalEmbedding", "Backwards", "Places are counted from the end of the row.",
     "The first word of the row should have place 0. You count from the end, so padding moves every word.",
     ("places = ops.cumsum(ops.ones_like(ids), axis=1) - 1",
      "places = ops.flip(ops.cumsum(ops.ones_like(ids), axis=1) - 1, axis=1)"))

slip("PositionalEmbedding", "ByBatch", "Places are counted down the batch.",
     "You count along axis 0, which holds the sentences of the batch. All words of a sentence then have the "
     "same place.",
     ("axis=1) - 1", "axis=0) - 1"))

slip("PositionalEmbedding", "MaskInverted", "The mask is True at padding.",
     "In Keras, a mask is True for a real word. Yours is True for padding.",
     ("ops.not_equal(ids, 0)", "ops.equal(ids, 0)"))

slip("PositionalEmbedding", "MaskAsNumbers", "The mask consists of numbers.",
     "A mask consists of True and False. Yours contains numbers, and some layers do not accept those.",
     ("ops.not_equal(ids, 0)", 'ops.cast(ops.not_equal(ids, 0), "float32")'))

slip("PositionalEmbedding", "UnknownIsPadding", "Unknown words count as padding, too.",
     "Your mask is False for the number 1. That is an unknown word, but still a real word. Only 0 is "
     "padding.",
     ("ops.not_equal(ids, 0)", "ops.greater(ids, 1)"))

slip("PositionalEmbedding", "PositionsInAnyCase", "There are positions even if use_positions is False.",
     "With use_positions=False, your layer has one part too many. Without positions, the output is only the "
     "vector of the word.",
     (" if use_positions else None", ""))

slip("PositionalEmbedding", "ConfigWithoutPositions", "get_config forgets use_positions.",
     "If a layer was made without positions, the loaded one has them again. Your configuration lacks one "
     "argument, so that argument gets its default.",
     ("**self.config}", '**{key: value for key, value in self.config.items() if key != "use_positions"}}'))

slip("PositionalEmbedding", "ConfigOfTheBaseOnly", "get_config gives only what the base class knows.",
     "When the layer is made again, its constructor does not get its arguments. Add them to the "
     "configuration of the base class.",
     ("{**super().get_config(), **self.config}", "super().get_config()"))


slip("PositionalEmbedding", "NoGradient", "The result is computed without gradients, so nothing before it can be trained.",
     "Your numbers are right, but no gradient gets past them: `stop_gradient` and a detour through NumPy "
     "both do that. In training, gradients have to get back through every step to both tables. Which of your "
     "lines stops them?",
     ("        return embedded\n", "        return ops.stop_gradient(embedded)\n"))


# ---------------------------------------------------------------------------------- TransformerEncoder

slip("TransformerEncoder", "MaskForgotten",
     "Real words look at padding: the layer's own `mask` has no effect, or is applied to the queries.",
     "The padding's content changes the real words. Do you pass `mask` to the attention? (Keras passes on "
     "only a mask that comes with the inputs.) Is the new axis in the middle of (batch, queries, keys)? At "
     "the end, it keeps padding from looking.",
     ("attention_mask=allowed", "attention_mask=None"))

slip("TransformerEncoder", "MaskInverted", "Only the padding can be looked at.",
     "In an attention mask of Keras, True means *may attend*. Yours is inverted.",
     ("mask[:, None, :]", "ops.logical_not(mask)[:, None, :]"))

slip("TransformerEncoder", "MaskEndsHere", "The mask is not passed on.",
     "The layers after this one do not learn where the padding is. A layer has to say that it supports "
     "masks.",
     ("        self.supports_masking = True\n", ""))

slip("TransformerEncoder", "NoResidualAroundAttention", "The attention's input is not added to its output.",
     "The first residual connection is missing. Add the attention's input to its output.",
     ("self.layernorm1(inputs + attended)", "self.layernorm1(attended)"))

slip("TransformerEncoder", "NoResidualAroundFfn", "The feed-forward network's input is not added to its output.",
     "The second residual connection is missing. Add the feed-forward network's input to its output.",
     ("self.layernorm2(x + self.ffn(x))", "self.layernorm2(self.ffn(x))"))

slip("TransformerEncoder", "ResidualFromTheInput", "The layer's own input is added in the second half.",
     "In the second half, add the result of the *first half*, not the layer's own input.",
     ("self.layernorm2(x + self.ffn(x))", "self.layernorm2(inputs + self.ffn(x))"))

slip("TransformerEncoder", "NormBeforeTheSum", "The normalisation comes before the sum.",
     "You normalise the output of each half, and add afterwards. The post-norm form normalises the sum.",
     ("self.layernorm1(inputs + attended)", "inputs + self.layernorm1(attended)"),
     ("self.layernorm2(x + self.ffn(x))", "x + self.layernorm2(self.ffn(x))"))

slip("TransformerEncoder", "OneNormTwice", "The first LayerNormalization is used twice.",
     "Both halves use the same normalisation, and the other one is never called. Each half has its own.",
     ("self.layernorm2(x + self.ffn(x))", "self.layernorm1(x + self.ffn(x))"))

slip("TransformerEncoder", "NoRelu", "The feed-forward network has no ReLU.",
     "Two dense layers with nothing in between do no more than one matrix. The first layer has a ReLU.",
     ('keras.layers.Dense(dense_dim, activation="relu")', "keras.layers.Dense(dense_dim)"))

slip("TransformerEncoder", "ReluAtTheEnd", "There is a second ReLU, after the second dense layer.",
     "With a ReLU at its end, the network can only raise a feature, never lower it. Only the first layer has "
     "one.",
     ("keras.layers.Dense(embedding_dim),", 'keras.layers.Dense(embedding_dim, activation="relu"),'))

slip("TransformerEncoder", "HeadsAreTooLarge", "Each head is as large as the whole embedding.",
     "`key_dim` is the size of one head. If each head is as large as the whole embedding, the attention is "
     "several times as large as intended.",
     ("key_dim=embedding_dim // num_heads", "key_dim=embedding_dim"))

slip("TransformerEncoder", "FfnForgotten", "The feed-forward network has no effect.",
     "The vectors go from one normalisation to the next unchanged. What do you do with the output of the "
     "feed-forward network?",
     ("self.layernorm2(x + self.ffn(x))", "self.layernorm2(x)"))

slip("TransformerEncoder", "ConfigOfTheBaseOnly", "get_config gives only what the base class knows.",
     "When the layer is made again, its constructor does not get its arguments. Add them to the "
     "configuration of the base class.",
     ("{**super().get_config(), **self.config}", "super().get_config()"))


slip("TransformerEncoder", "Causal", "Each word looks only at itself and at the words before it.",
     "That is a decoder. An encoder sees the whole sentence at once, so each word may look at all the "
     "others.",
     ("attention_mask=allowed", "attention_mask=allowed, use_causal_mask=True"))

slip("TransformerEncoder", "OtherEpsilon", "The normalisations have an epsilon of 1e-6 instead of 1e-3.",
     "The epsilon of PyTorch and of the paper's own code is smaller than that of Keras. This exercise asks "
     "for LayerNormalization with the default of Keras.",
     ("self.layernorm1 = keras.layers.LayerNormalization()", "self.layernorm1 = keras.layers.LayerNormalization(epsilon=1e-6)"),
     ("self.layernorm2 = keras.layers.LayerNormalization()", "self.layernorm2 = keras.layers.LayerNormalization(epsilon=1e-6)"))


slip("TransformerEncoder", "NoGradient", "The result is computed without gradients, so nothing before it can be trained.",
     "Your numbers are right, but no gradient gets past them: `stop_gradient` and a detour through NumPy "
     "both do that. In training, gradients have to get back through every step to the inputs and to all "
     "weights. Which of your lines stops them?",
     ("return self.layernorm2(x + self.ffn(x))", "return ops.stop_gradient(self.layernorm2(x + self.ffn(x)))"))


# ---------------------------------------------------------------------------------- masked_mean

slip("masked_mean", "mean_of_everything", "The mean is taken over padding, too.",
     "The mask changes nothing in your mean, so padding counts like a word.",
     ("    if mask is None:\n        return", "    if True:\n        return"))

slip("masked_mean", "divided_by_the_length", "The sum of the real words is divided by the length of the row.",
     "The sum is right, but you divide it by the number of places in a row, including padding. Divide by the "
     "number of real words in each sentence.",
     ("ops.maximum(ops.sum(real, axis=1), 1)", "states.shape[1]"))

slip("masked_mean", "sum_only", "The sum of the real words is returned, not their mean.",
     "A long sentence gets a long vector, as if its sum were divided by 1. What should you divide it by?",
     (" / ops.maximum(ops.sum(real, axis=1), 1)", ""))

slip("masked_mean", "mask_inverted", "The mean is that of the padding.",
     "True marks real words. You have averaged the other places.",
     ("ops.cast(mask, states.dtype)", "(1 - ops.cast(mask, states.dtype))"))

slip("masked_mean", "divided_by_all_words", "The sum is divided by the real words of the whole batch.",
     "Count the real words of each sentence by itself.",
     ("ops.sum(real, axis=1), 1)", "ops.sum(real), 1)"))

slip("masked_mean", "nan_without_words", "A sentence without real words gives NaN.",
     "0 divided by 0 is NaN, and one such row spoils a whole batch. Divide by at least 1.",
     ("ops.maximum(ops.sum(real, axis=1), 1)", "ops.sum(real, axis=1)"))

slip("masked_mean", "nearly_the_mean", "Where there is a mask, 1 is added to the number of words.",
     "Adding 1 avoids the division by 0, but it moves every mean towards 0. Divide by the larger of 1 and "
     "the number of words instead.",
     ("ops.maximum(ops.sum(real, axis=1), 1)", "(ops.sum(real, axis=1) + 1)"))

slip("masked_mean", "maximum", "The largest number of each feature is taken.",
     "This is max pooling: for each feature, it takes the largest number of any word. The exercise asks for "
     "the mean.",
     ("ops.sum(states * real, axis=1) / ops.maximum(ops.sum(real, axis=1), 1)",
      "ops.max(ops.where(real > 0, states, -1e9), axis=1)"))

slip("masked_mean", "first_word", "The first word stands for the whole sentence.",
     "BERT uses a special token at the beginning for this. Here, take the mean of all real words.",
     ("ops.sum(states * real, axis=1) / ops.maximum(ops.sum(real, axis=1), 1)", "states[:, 0]"))


slip("masked_mean", "no_gradient", "The result is computed without gradients, so nothing before it can be trained.",
     "Your numbers are right, but no gradient gets past them: `stop_gradient` and a detour through NumPy "
     "both do that. In training, gradients have to get back through every step to the states. Which of your "
     "lines stops them?",
     ("    if mask is None:\n", "    states = ops.stop_gradient(states)\n    if mask is None:\n"))


slip("masked_mean", "nan_on_the_way_back", "The gradients of a sentence without real words are NaN.",
     "Your mean is right, but its gradients are NaN, and training would spread that to every weight. You divide by 0 and replace the "
     "result afterwards; the gradient still passes through the division. Choose a safe number to divide by instead.",
     ("ops.sum(states * real, axis=1) / ops.maximum(ops.sum(real, axis=1), 1)",
      "ops.where(ops.sum(real, axis=1) > 0, ops.sum(states * real, axis=1) / ops.sum(real, axis=1), 0.0)"))


# ---------------------------------------------------------------------------------- build_classifier

slip("build_classifier", "probabilities_for_logits", "The outputs are probabilities, where they should be logits.",
     "These are probabilities, but the exercise asks for logits. A loss that expects logits applies the softmax "
     "itself.",
     ("keras.layers.Dense(num_classes)(x)", 'keras.layers.Dense(num_classes, activation="softmax")(x)'))

slip("build_classifier", "loss_of_probabilities", "The loss treats the logits as probabilities.",
     "The logits are right, but the loss takes them for probabilities unless you say otherwise.",
     ("(from_logits=True)", "()"))

slip("build_classifier", "dropout_before_the_mean", "Numbers are dropped in the words' vectors, before their mean is taken.",
     "In a mean over many words, it hardly matters that some of them lack a feature. The dropout belongs "
     "between the mean and the last layer.",
     ("    x = MaskedMean()(x)\n    x = keras.layers.Dropout(dropout_rate)(x)",
      "    x = keras.layers.Dropout(dropout_rate)(x)\n    x = MaskedMean()(x)"))

slip("build_classifier", "metrics_by_position", "`compile` takes the metrics for weights of losses.",
     "The third argument of `compile` is `loss_weights`, so a list of metrics in that place is misread. Pass "
     "the metrics by name.",
     ("        metrics=[", "        loss_weights=["))

slip("build_classifier", "rate_ignored", "Adam has its usual learning rate.",
     "The optimizer does not get the learning rate that was asked for.",
     ("keras.optimizers.Adam(learning_rate)", '"adam"'))

slip("build_classifier", "no_dropout", "Dropout has no effect.",
     "In training, your logits are the same as without dropout. It belongs between the mean and the last "
     "layer. Do you use what it returns, and does it get the rate?",
     ("    x = keras.layers.Dropout(dropout_rate)(x)\n", ""))

slip("build_classifier", "dropout_on_logits", "The logits themselves are dropped.",
     "Your dropout comes after the last layer, so classes disappear at random. It belongs before that layer.",
     ("    x = keras.layers.Dropout(dropout_rate)(x)\n", ""),
     ("keras.Model(ids, keras.layers.Dense(num_classes)(x))",
      "keras.Model(ids, keras.layers.Dropout(dropout_rate)(keras.layers.Dense(num_classes)(x)))"))

slip("build_classifier", "padding_in_the_mean", "The mean is taken over padding, too.",
     "More padding changes your logits. The mean needs the mask. Which layer uses the mask, and does the "
     "mask get there?",
     ("MaskedMean()(x)", "ops.mean(x, axis=1)"))

slip("build_classifier", "no_encoder", "There is no encoder: the mean is that of the embeddings.",
     "The embeddings go straight into the mean. Where does each word look at the others?",
     ("    x = TransformerEncoder(embedding_dim, dense_dim, num_heads)(x)\n", ""))

slip("build_classifier", "positions_always", "use_positions is not passed on.",
     "Without positions, the model should have one table fewer. But `use_positions` does not reach the "
     "embedding.",
     ("embedding_dim, use_positions)(ids)", "embedding_dim)(ids)"))

slip("build_classifier", "not_compiled", "The model is not compiled.",
     "Without an optimizer and a loss the model cannot be trained: part 2 is missing.",
     ("    model.compile(\n"
      "        optimizer=keras.optimizers.Adam(learning_rate),\n"
      "        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),\n"
      '        metrics=["accuracy"],\n'
      "    )\n", ""))


slip("build_classifier", "only_the_head_is_trained", "No gradient gets back to the embedding and the encoder: only the last layer can be trained.",
     "This is done with an encoder that has already been trained. Yours begins with random numbers, and they "
     "would never change.",
     ("    x = MaskedMean()(x)\n", "    x = keras.layers.Lambda(ops.stop_gradient)(MaskedMean()(x))\n"))


# ---------------------------------------------------------------------------------- best_epoch

slip("best_epoch", "counted_from_0", "Epochs are counted from 0.",
     "The first epoch is number 1 here. Yours is number 0.",
     ("return best, epoch", "return best - 1, epoch - 1"),
     ("return best, len(losses)", "return best - 1, len(losses) - 1"))

slip("best_epoch", "no_patience", "Training never stops early.",
     "You take the best of all epochs. But training stops when patience has run out, so the later epochs "
     "never take place.",
     ("        if epoch - best >= patience:\n            return best, epoch\n", ""))

slip("best_epoch", "one_too_patient", "Training stops one epoch too late.",
     "With a patience of 2, training stops after two epochs without a new best. You wait for a third.",
     ("epoch - best >= patience", "epoch - best > patience"))

slip("best_epoch", "one_too_impatient", "Training stops one epoch too early.",
     "With a patience of 2, training goes on after one epoch without a new best.",
     ("epoch - best >= patience", "epoch - best >= patience - 1"))

slip("best_epoch", "last_is_kept", "The last epoch is given as the best.",
     "When training stops early, the last epochs brought no new best. The best weights are older than those "
     "of the last epoch.",
     ("return best, epoch", "return epoch, epoch"),
     ("return best, len(losses)", "return len(losses), len(losses)"))

slip("best_epoch", "ties_go_to_the_last", "Of equal losses the last one is the best.",
     "An equal loss is no improvement. Keep the first of them, and count patience from there.",
     ("loss < losses[best - 1]", "loss <= losses[best - 1]"))

slip("best_epoch", "highest", "The epoch with the highest loss is chosen.",
     "A loss should be low. (With accuracy, higher is better: callbacks have an argument for this.)",
     ("loss < losses[best - 1]", "loss > losses[best - 1]"))

slip("best_epoch", "compared_with_the_one_before", "A loss is compared with that of the epoch before.",
     "A loss may be lower than the one before, but not the lowest so far. After a bump, it may fall for a "
     "while without a new best.",
     ("loss < losses[best - 1]", "epoch == 1 or loss < losses[epoch - 2]"))

slip("best_epoch", "best_of_all", "The best epoch is also searched for after the end of the training.",
     "Once training has stopped, the later epochs do not exist. Your end is right, but you also look after "
     "it for the best.",
     ("return best, epoch", "return losses.index(min(losses)) + 1, epoch"))


slip("best_epoch", "small_improvements_ignored", "Only a loss that is lower by a ten-thousandth or more counts as a new best.",
     "Callbacks have an argument for that, `min_delta`, and its default is 0. Here, any lower loss is a new "
     "best, however small the difference.",
     ("loss < losses[best - 1]", "loss < losses[best - 1] - 1e-4"))

slip("best_epoch", "begins_with_a_number", "The lowest loss so far begins with a number that a loss may exceed.",
     "Some losses are in the thousands, so they are never lower than your first value. With which value is "
     "the loss of the first epoch always a new best?",
     ("loss < losses[best - 1]", "loss < min([100, *losses[: epoch - 1]])"))


# ---------------------------------------------------------------------------------- calibration_error

slip("calibration_error", "bins_not_weighted", "The bins are not weighted.",
     "In your code, a bin with two texts counts as much as one with twenty. Weight each distance by the share of "
     "texts in its bin.",
     ("inside.mean() * abs(", "abs("),
     ("return float(error),", "return float(error / len(set(bin_of))),"))

slip("calibration_error", "signs_cancel",
     "The error keeps its sign: too sure in one bin and too unsure in another cancel each other.",
     "You return the overconfidence. The distance in a bin has no sign, so remove the sign before you add "
     "anything up.",
     ("abs(right[inside].mean() - confidence[inside].mean())", "(confidence[inside].mean() - right[inside].mean())"))

slip("calibration_error", "probability_of_the_true_class", "The probability of the true class is taken as confidence.",
     "In use, nobody knows the true class. Confidence is the probability of the class that the model "
     "chooses.",
     ("probabilities.max(axis=1)", "probabilities[np.arange(len(labels)), labels]"))

slip("calibration_error", "squared", "Distances are squared.",
     "The expected calibration error uses the distances themselves. If they are squared, small ones hardly "
     "count.",
     ("abs(right[inside].mean() - confidence[inside].mean())", "(right[inside].mean() - confidence[inside].mean()) ** 2"))

slip("calibration_error", "middle_of_the_bin", "The middle of a bin is taken for its confidence.",
     "The confidences in a bin may lie far from its middle. Take their mean.",
     ("abs(right[inside].mean() - confidence[inside].mean())", "abs(right[inside].mean() - (number + 0.5) / bins)"))

slip("calibration_error", "one_bin", "Too much confidence in one bin and too little in another cancel each other, as if there were only one bin.",
     "If there is only one bin, too sure here and too unsure there cancel each other. That gives the size of "
     "the overconfidence, not the calibration error.",
     ("for number in range(bins):\n        inside = bin_of == number", "for number in range(1):\n        inside = bin_of >= 0"))

slip("calibration_error", "ten_bins_always", "There are always ten bins.",
     "The number of bins is an argument. Ten is only its usual value.",
     ("np.minimum((confidence * bins).astype(int), bins - 1)", "np.minimum((confidence * 10).astype(int), 9)"),
     ("for number in range(bins):", "for number in range(10):"))

slip("calibration_error", "edge_to_the_lower_bin", "A confidence on the edge between two bins is put into the lower one.",
     "The docstring says which bin an edge belongs to. With ten bins, where does a confidence of exactly 0.5 "
     "go?",
     ("np.minimum((confidence * bins).astype(int), bins - 1)", "np.maximum(np.ceil(confidence * bins).astype(int) - 1, 0)"))

slip("calibration_error", "overconfidence_reversed", "The overconfidence has the wrong sign.",
     "A model is overconfident if its confidence is higher than its accuracy. Then the number should be "
     "positive.",
     ("float(confidence.mean() - right.mean())", "float(right.mean() - confidence.mean())"))

slip("calibration_error", "last_bin_forgotten", "The last bin is left out.",
     "The bin with the highest confidences is missing, and that is usually the fullest one.",
     ("for number in range(bins):", "for number in range(bins - 1):"))

slip("calibration_error", "error_rate_compared", "Confidence is compared with the share that is wrong.",
     "A confidence of 0.9 should mean that 90 % of the answers are right. You compare it with the share that "
     "is wrong.",
     ("axis=1) == labels", "axis=1) != labels"))

slip("calibration_error", "overconfidence_without_sign", "The overconfidence has lost its sign.",
     "A model may be too sure or not sure enough. The sign says which.",
     ("float(confidence.mean() - right.mean())", "float(abs(confidence.mean() - right.mean()))"))
