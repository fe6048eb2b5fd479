"""Wrong ways to write lab 07's exercises. Each must lose points and be recognised as itself."""

from grader.catalogue import slip

# ---------------------------------------------------------------------------------- samples_per_length

slip("samples_per_length", "upside_down", "The mean length is divided by the number of samples.",
     "More samples should raise the ratio, and longer samples should lower it. Yours does the opposite.",
     ("len(texts) / mean_length", "mean_length / len(texts)"))

slip("samples_per_length", "characters", "Characters are counted instead of words.",
     "The length of a string is the number of its characters. The rule counts words: cut each text at its spaces "
     "first.",
     ("len(text.split())", "len(text)"))

slip("samples_per_length", "spaces", "The mean length is one word too small, as if spaces were counted.",
     "Between three words there are two spaces. What length does a text of three words have for you?",
     ("len(text.split())", 'text.count(" ")'))

slip("samples_per_length", "all_words",
     "The ratio is 1 / mean length, the number of samples divided by that of all words.",
     "Ten times as many texts of the same kind give the same ratio as before. The number of samples has to be "
     "divided by the *mean* length of a sample.",
     ('for text in texts) / len(texts)', 'for text in texts)'))

slip("samples_per_length", "longest", "The longest text is taken instead of the mean.",
     "The rule is about the average sample. One very long text should not decide it alone.",
     ("sum(len(text.split()) for text in texts) / len(texts)", "max(len(text.split()) for text in texts)"))

slip("samples_per_length", "median", "The median length is taken instead of the mean.",
     "You take the length in the middle. A few long texts raise the mean, but not the median; the rule says mean.",
     ("sum(len(text.split()) for text in texts) / len(texts)",
      "float(np.median([len(text.split()) for text in texts]))"))

slip("samples_per_length", "different_words", "Each text's different words are counted.",
     "A word that occurs twice in a text counts twice for its length. A set has forgotten the second one.",
     ("len(text.split())", "len(set(text.split()))"))

slip("samples_per_length", "rule_reversed", "A sequence model is chosen below the threshold.",
     "A sequence model needs many samples in proportion to their length: it is the choice for a high ratio.",
     ("ratio > threshold", "ratio < threshold"))

slip("samples_per_length", "threshold_fixed", "The threshold has no effect.",
     "Here some ratios are above their threshold. What do you compare, and with what? The threshold is an "
     "argument; 1,500 is only its usual value.",
     ("ratio > threshold", "ratio > 1500"))


slip("samples_per_length", "cut_at_marks", "Words are cut at marks such as the apostrophe and the hyphen.",
     "Only spaces separate words here: *well-known* is one, and so is *3.5*.",
     ("len(text.split())", 'len(__import__("re").findall(r"\\w+", text))'))


# ---------------------------------------------------------------------------------- split_by_group

slip("split_by_group", "groups_cut", "The samples of the last group that is taken are divided.",
     "A group is cut in two: some of its samples are in the test set, others are not. Either all of them or none.",
     ("return np.array([group in chosen for group in groups])",
      "places = [place for group in order for place, other in enumerate(groups) if other == group]\n"
      "    enough = places[: int(np.ceil(share * len(groups)))]\n"
      "    return np.isin(np.arange(len(groups)), enough)"))

slip("split_by_group", "groups_ignored", "The first samples are the test set, whatever group they are of.",
     "You have split the samples as if there were no groups. A group then has samples on both sides.",
     ("return np.array([group in chosen for group in groups])",
      "return np.arange(len(groups)) < share * len(groups)"))

slip("split_by_group", "share_of_groups", "The share is one of groups, not of samples.",
     "You have counted groups. Groups differ in size: a share of the samples is asked for, so count those.",
     ("taken >= share * len(groups)", "len(chosen) >= share * len(order)"))

slip("split_by_group", "training_is_true", "True stands for training instead of test.",
     "The right groups are apart, but the wrong way round: True is for the test set.",
     ("group in chosen for group", "group not in chosen for group"))

slip("split_by_group", "last_group_left_out", "The group that would pass the share is not taken.",
     "You stop before a group that would bring too many. The test set then has fewer samples than asked for; take that group, "
     "too.",
     ("if taken >= share * len(groups):", "if taken + sizes[group] > share * len(groups):"))

slip("split_by_group", "one_group_more", "One more group is taken than needed.",
     "There are enough samples before you take the last group. When do you ask, and is every group counted by then?",
     ("        if taken >= share * len(groups):\n            break\n        chosen.add(group)\n        taken += sizes[group]",
      "        chosen.add(group)\n        if taken >= share * len(groups):\n            break\n        taken += sizes[group]"))

slip("split_by_group", "order_ignored", "The groups are taken in alphabetical order.",
     "The groups go into the test set in the order that is given. The alphabet is no chance: neighbours in it belong together.",
     ("for group in order:", "for group in sorted(order):"))

slip("split_by_group", "from_the_end", "The groups are taken from the end of the order.",
     "You begin with the last group of the order. Begin with the first.",
     ("for group in order:", "for group in reversed(order):"))

slip("split_by_group", "one_sample_a_group", "Each group counts as one sample.",
     "You add 1 for each group, however many samples it has, and compare with a number of samples. So too many "
     "groups are taken.",
     ("taken += sizes[group]", "taken += 1"))


# ---------------------------------------------------------------------------------- bag_of_ngrams

slip("bag_of_ngrams", "counted", "Occurrences are counted.",
     "An n-gram that occurs twice gives 2 in your row. A multi-hot row says whether it occurs, not how often.",
     ("bags[row, column] = 1", "bags[row, column] += 1"))

slip("bag_of_ngrams", "longest_only", "Only groups of exactly n words are found.",
     "Shorter groups count, too: with n = 2, single words and pairs. Are they looked for, and does what was found "
     "for them stay?",
     ("range(1, n + 1)", "range(n, n + 1)"))

slip("bag_of_ngrams", "single_words_only", "Only single words are found, never a longer group.",
     "Print a few of the groups that you look for: are there longer ones, and are their words joined by single "
     "spaces, as in the index?",
     ("range(1, n + 1)", "range(1, 2)"))

slip("bag_of_ngrams", "up_to_n_minus_1", "The longest groups are missing.",
     "The end of a range is not part of it. Groups of n words belong to the bag.",
     ("range(1, n + 1)", "range(1, n)"))

slip("bag_of_ngrams", "one_word_too_many", "Groups of n + 1 words count, too.",
     "You look for groups that are one word longer than n.",
     ("range(1, n + 1)", "range(1, n + 2)"))

slip("bag_of_ngrams", "last_one_missed", "The last group of each size is missed: none has the last word of its text.",
     "In a list of five words there are four pairs: the last one begins at the fourth word and ends with the "
     "fifth. Is it among yours?",
     ("len(words) - size + 1", "len(words) - size"))

slip("bag_of_ngrams", "order_within_forgotten", "The words of a group are sorted.",
     "A pair is two words in the order in which they stand. Yours are sorted, so that the order is lost again.",
     ("words[start : start + size])", "sorted(words[start : start + size]))"))

slip("bag_of_ngrams", "column_0_lost", "Column 0 is never filled.",
     "0 is a column like any other. (In a condition it counts as False: ask whether something was found, not "
     "whether it is true.)",
     ("if column is not None:", "if column:"))

slip("bag_of_ngrams", "unknown_in_column_0", "Whatever is not in the index goes into column 0.",
     "Column 0 belongs to an n-gram. What is not in the index has no column and is left out.",
     ('start + size]))', 'start + size]), 0)'))

slip("bag_of_ngrams", "texts_run_together", "Groups reach from one text into the next.",
     "The last word of a text and the first of the next are no pair. Cut each text into words by itself.",
     ("words = text.split()", 'words = " ".join(texts[row : row + 2]).split()[: len(text.split()) + n - 1]'))

slip("bag_of_ngrams", "divided_by_length", "Each row is divided by the length of its text.",
     "The entries should be 1, however long the text is.",
     ("bags[row, column] = 1", "bags[row, column] = 1 / len(words)"))


slip("bag_of_ngrams", "capitals_ignored", "Capital letters are made small.",
     "The index may have *Bath* and *bath*: these are two words with a column each. Take the words as they are.",
     ("text.split()", "text.lower().split()"))

slip("bag_of_ngrams", "cut_at_marks", "Words are cut at marks, and the marks are lost.",
     "Only spaces separate words here. The index has words with marks in them, too. Take the words as they are.",
     ("text.split()", '__import__("re").findall(r"\\w+", text)'))


# ---------------------------------------------------------------------------------- bucketed_batches

slip("bucketed_batches", "no_buckets",
     "All sentences go into batches in the given order, as if there were one bucket only.",
     "Long and short sentences share a batch, and there is as much padding as before. Where do the boundaries "
     "come in, and what is compared with them?",
     ("bucket_boundaries=boundaries", "bucket_boundaries=[1_000]"),
     ("* (len(boundaries) + 1)", "* 2"))

slip("bucketed_batches", "only_one_epoch", "The dataset can be gone through only once.",
     "`fit` goes through the data once in each epoch. A `zip` or a generator is used up after the first time: make it anew "
     "whenever the dataset asks for it.",
     ("return singles.bucket", "pairs = zip(sentences, labels, strict=True)\n"
      "    singles = tf.data.Dataset.from_generator(lambda: pairs, output_signature=signature)\n"
      "    return singles.bucket"))

slip("bucketed_batches", "boundary_below", "A sentence as long as a boundary is put into the bucket below it.",
     "With a boundary at 5, a sentence of 5 words belongs to the bucket that begins with 5.",
     ("tf.shape(sentence)[0]", "tf.shape(sentence)[0] - 1"))

slip("bucketed_batches", "rest_dropped", "What is left at the end is dropped.",
     "The sentences that do not fill a batch are lost. They are data, too: let them make a smaller one.",
     ("        bucket_batch_sizes=", "        drop_remainder=True,\n        bucket_batch_sizes="))

slip("bucketed_batches", "padded_to_the_boundary", "Batches are padded up to their bucket's boundary.",
     "A batch should be as wide as its longest sentence, not as its bucket allows.",
     ("return singles.bucket", "widest = max(map(len, sentences)) + 1\n    return singles.bucket"),
     ("bucket_boundaries=boundaries", "bucket_boundaries=[*boundaries, widest]"),
     ("(len(boundaries) + 1)", "(len(boundaries) + 2)"),
     ("        bucket_batch_sizes=", "        pad_to_bucket_boundary=True,\n        bucket_batch_sizes="))

slip("bucketed_batches", "sorted_first", "The sentences of a bucket are sorted by length before they go into batches.",
     "You have changed the order of the sentences. Sorted, short sentences are always together with the same others; the "
     "buckets do enough.",
     ("zip(sentences, labels, strict=True)",
      "sorted(zip(sentences, labels, strict=True), key=lambda pair: len(pair[0]))"))

slip("bucketed_batches", "labels_sorted", "The labels are not in the order of their sentences.",
     "Sentences and labels have lost each other. Keep each pair together.",
     ("zip(sentences, labels, strict=True)", "zip(sentences, sorted(labels), strict=True)"))

slip("bucketed_batches", "single_sentences", "Every batch holds a single sentence.",
     "Batches of one need no padding, and make training many times slower. A bucket's batch has batch_size sentences.",
     ("[batch_size] *", "[1] *"))

slip("bucketed_batches", "padded_with_minus_1", "Padding is -1.",
     "Padding has the number 0 in this lab: the mask is made by comparing with 0.",
     ("        bucket_batch_sizes=", "        padding_values=(-1, 0),\n        bucket_batch_sizes="))


# ---------------------------------------------------------------------------------- PositionalEmbedding

slip("PositionalEmbedding", "PlacesFrom1", "Places begin at 1.",
     "A running count of ones begins at 1, but the first row of the table is number 0.",
     ("axis=1) - 1", "axis=1)"))

slip("PositionalEmbedding", "NoPositions", "No positions are in the output, even if use_positions is True.",
     "The order of the words changes nothing in your output. Where do the vectors of the places go?",
     ("            embedded = embedded + self.position_embeddings(places)", "            self.position_embeddings(places)"))

slip("PositionalEmbedding", "Multiplied", "The vectors of words and places are multiplied.",
     "The vector of a word and that of its place are added, entry by entry.",
     ("embedded + self.position_embeddings", "embedded * self.position_embeddings"))

slip("PositionalEmbedding", "PlaceOfTheWord", "The vector of the place is looked up by the word's number.",
     "You have asked the table of places for the number of the word. It wants 0, 1, 2 and so on.",
     ("self.position_embeddings(places)", "self.position_embeddings(ids % 7)"))

slip("PositionalEmbedding", "Backwards", "Places are counted from the end of the row.",
     "The first word of the row should have place 0. Yours are counted from the end, so padding moves every word.",
     ("places = ops.cumsum(ops.ones_like(ids), axis=1) - 1",
      "places = ops.flip(ops.cumsum(ops.ones_like(ids), axis=1) - 1, axis=1)"))

slip("PositionalEmbedding", "ByBatch", "Places are counted down the batch.",
     "The count runs over the sentences of the batch, axis 0. All words of a sentence then have the same place.",
     ("axis=1) - 1", "axis=0) - 1"))

slip("PositionalEmbedding", "MaskInverted", "The mask is True at padding.",
     "In Keras a mask is True where a step is real. Yours is True at padding.",
     ("ops.not_equal(ids, 0)", "ops.equal(ids, 0)"))

slip("PositionalEmbedding", "MaskAsNumbers", "The mask consists of numbers.",
     "A mask consists of True and False. Yours holds numbers, and not every layer accepts those.",
     ("ops.not_equal(ids, 0)", 'ops.cast(ops.not_equal(ids, 0), "float32")'))

slip("PositionalEmbedding", "UnknownIsPadding", "Unknown words count as padding, too.",
     "Your mask is False at the number 1. That is an unknown word, but a real one: only 0 is padding.",
     ("ops.not_equal(ids, 0)", "ops.greater(ids, 1)"))

slip("PositionalEmbedding", "PositionsInAnyCase", "There are positions even if use_positions is False.",
     "A layer that is made with use_positions=False has a part too many. Without positions there is only the vector of "
     "the word.",
     (" if use_positions else None", ""))

slip("PositionalEmbedding", "ConfigWithoutPositions", "get_config forgets use_positions.",
     "A layer that was made without positions comes back with them: the configuration lacks an argument that has a "
     "default.",
     ("**self.config}", '**{key: value for key, value in self.config.items() if key != "use_positions"}}'))

slip("PositionalEmbedding", "ConfigOfTheBaseOnly", "get_config gives only what the base class knows.",
     "When the layer is made again, its constructor misses its arguments. They belong into the configuration, beside what the "
     "base class knows.",
     ("{**super().get_config(), **self.config}", "super().get_config()"))


slip("PositionalEmbedding", "NoGradient", "The result is computed without gradients, so nothing before it can be trained.",
     "The numbers are right, but the way back from them is cut off: `stop_gradient` and a way through NumPy both do that. "
     "In training, gradients must get back through every step to both tables. Which of your lines cuts them off?",
     ("        return embedded\n", "        return ops.stop_gradient(embedded)\n"))


# ---------------------------------------------------------------------------------- TransformerEncoder

slip("TransformerEncoder", "MaskForgotten",
     "Real words look at padding: the layer's own `mask` has no effect, or is laid over the queries.",
     "What stands in the padding changes the real words. Do you hand `mask` on to the attention? (Keras itself hands on only a mask "
     "that comes with the inputs.) And is its new axis in the middle of (batch, queries, keys)? At the end it would forbid the padding "
     "to look at words, and nothing else.",
     ("attention_mask=allowed", "attention_mask=None"))

slip("TransformerEncoder", "MaskInverted", "Only the padding can be looked at.",
     "In an attention mask of Keras, True means may attend. Yours is inverted.",
     ("mask[:, None, :]", "ops.logical_not(mask)[:, None, :]"))

slip("TransformerEncoder", "MaskEndsHere", "The mask is not handed on.",
     "Whoever comes after this layer is not told where padding is. A layer has to say that it supports masks.",
     ("        self.supports_masking = True\n", ""))

slip("TransformerEncoder", "NoResidualAroundAttention", "The attention's input is not added to its output.",
     "The first residual connection is missing: what goes into the attention is added to what comes out.",
     ("self.layernorm1(inputs + attended)", "self.layernorm1(attended)"))

slip("TransformerEncoder", "NoResidualAroundFfn", "The feed-forward network's input is not added to its output.",
     "The second residual connection is missing: what goes into the feed-forward network is added to what comes out.",
     ("self.layernorm2(x + self.ffn(x))", "self.layernorm2(self.ffn(x))"))

slip("TransformerEncoder", "ResidualFromTheInput", "The layer's own input is added in the second half.",
     "In the second half the result of the *first half* is added, not the layer's own input.",
     ("self.layernorm2(x + self.ffn(x))", "self.layernorm2(inputs + self.ffn(x))"))

slip("TransformerEncoder", "NormBeforeTheSum", "The normalisation comes before the sum.",
     "You normalise what a half gives and add afterwards. In the post-norm form the sum is normalised.",
     ("self.layernorm1(inputs + attended)", "inputs + self.layernorm1(attended)"),
     ("self.layernorm2(x + self.ffn(x))", "x + self.layernorm2(self.ffn(x))"))

slip("TransformerEncoder", "OneNormTwice", "The first LayerNormalization is used twice.",
     "Both halves use the same normalisation, and the other one is never called. Each half has its own.",
     ("self.layernorm2(x + self.ffn(x))", "self.layernorm1(x + self.ffn(x))"))

slip("TransformerEncoder", "NoRelu", "The feed-forward network has no ReLU.",
     "Two dense layers without anything in between are one matrix. The first has a ReLU.",
     ('keras.layers.Dense(dense_dim, activation="relu")', "keras.layers.Dense(dense_dim)"))

slip("TransformerEncoder", "ReluAtTheEnd", "There is a second ReLU, after the second dense layer.",
     "With a ReLU at its end the network can only add to a feature, never take away. Only the first layer has one.",
     ("keras.layers.Dense(embedding_dim),", 'keras.layers.Dense(embedding_dim, activation="relu"),'))

slip("TransformerEncoder", "HeadsAreTooLarge", "Each head is as large as the whole embedding.",
     "`key_dim` is the size of one head. With all of the embedding for each, the layer is several times as large as "
     "intended.",
     ("key_dim=embedding_dim // num_heads", "key_dim=embedding_dim"))

slip("TransformerEncoder", "FfnForgotten", "The feed-forward network has no effect.",
     "The vectors go from one normalisation into the next as they are. Where does what the feed-forward network "
     "gives go?",
     ("self.layernorm2(x + self.ffn(x))", "self.layernorm2(x)"))

slip("TransformerEncoder", "ConfigOfTheBaseOnly", "get_config gives only what the base class knows.",
     "When the layer is made again, its constructor misses its arguments. They belong into the configuration, beside what the "
     "base class knows.",
     ("{**super().get_config(), **self.config}", "super().get_config()"))


slip("TransformerEncoder", "Causal", "Each word looks only at itself and at the words before it.",
     "That is a decoder. An encoder has the whole sentence before it, and each word may look at all the others.",
     ("attention_mask=allowed", "attention_mask=allowed, use_causal_mask=True"))

slip("TransformerEncoder", "OtherEpsilon", "The normalisations have an epsilon of 1e-6 instead of 1e-3.",
     "PyTorch and the paper's own code have a smaller one than Keras. Asked for are LayerNormalizations as Keras makes them.",
     ("self.layernorm1 = keras.layers.LayerNormalization()", "self.layernorm1 = keras.layers.LayerNormalization(epsilon=1e-6)"),
     ("self.layernorm2 = keras.layers.LayerNormalization()", "self.layernorm2 = keras.layers.LayerNormalization(epsilon=1e-6)"))


slip("TransformerEncoder", "NoGradient", "The result is computed without gradients, so nothing before it can be trained.",
     "The numbers are right, but the way back from them is cut off: `stop_gradient` and a way through NumPy both do that. "
     "In training, gradients must get back through every step to the inputs and to all weights. Which of your lines cuts them off?",
     ("return self.layernorm2(x + self.ffn(x))", "return ops.stop_gradient(self.layernorm2(x + self.ffn(x)))"))


# ---------------------------------------------------------------------------------- masked_mean

slip("masked_mean", "mean_of_everything", "The mean is taken over padding, too.",
     "The mask changes nothing: padding counts like a word.",
     ("    if mask is None:\n        return", "    if True:\n        return"))

slip("masked_mean", "divided_by_the_length", "The sum of the real words is divided by the length of the row.",
     "The sum is right, but it is divided by the number of places in a row, padding included. Divide by the number of real words of each sentence.",
     ("ops.maximum(ops.sum(real, axis=1), 1)", "states.shape[1]"))

slip("masked_mean", "sum_only", "The sum of the real words comes out, not their mean.",
     "A long sentence gets a long vector, as if its sum were divided by 1. By what should it be divided?",
     (" / ops.maximum(ops.sum(real, axis=1), 1)", ""))

slip("masked_mean", "mask_inverted", "The mean is that of the padding.",
     "True marks real words. You have taken the others.",
     ("ops.cast(mask, states.dtype)", "(1 - ops.cast(mask, states.dtype))"))

slip("masked_mean", "divided_by_all_words", "The sum is divided by the real words of the whole batch.",
     "The number of real words has to be counted for each sentence by itself.",
     ("ops.sum(real, axis=1), 1)", "ops.sum(real), 1)"))

slip("masked_mean", "nan_without_words", "A sentence without real words gives NaN.",
     "0 divided by 0 is not a number, and one such row spoils a whole batch. Divide by at least 1.",
     ("ops.maximum(ops.sum(real, axis=1), 1)", "ops.sum(real, axis=1)"))

slip("masked_mean", "nearly_the_mean", "Where there is a mask, 1 is added to the number of words.",
     "Adding 1 avoids the division by 0, but brings every mean nearer to 0. Take the larger of the number and 1 instead.",
     ("ops.maximum(ops.sum(real, axis=1), 1)", "(ops.sum(real, axis=1) + 1)"))

slip("masked_mean", "maximum", "The largest number of each feature is taken.",
     "This is max pooling: for each feature the largest number of any word. Asked for is the mean.",
     ("ops.sum(states * real, axis=1) / ops.maximum(ops.sum(real, axis=1), 1)",
      "ops.max(ops.where(real > 0, states, -1e9), axis=1)"))

slip("masked_mean", "first_word", "The first word stands for the whole sentence.",
     "BERT does this with a token of its own at the beginning. Here the mean of all real words is asked for.",
     ("ops.sum(states * real, axis=1) / ops.maximum(ops.sum(real, axis=1), 1)", "states[:, 0]"))


slip("masked_mean", "no_gradient", "The result is computed without gradients, so nothing before it can be trained.",
     "The numbers are right, but the way back from them is cut off: `stop_gradient` and a way through NumPy both do that. "
     "In training, gradients must get back through every step to the states. Which of your lines cuts them off?",
     ("    if mask is None:\n", "    states = ops.stop_gradient(states)\n    if mask is None:\n"))


# ---------------------------------------------------------------------------------- build_classifier

slip("build_classifier", "probabilities_for_logits", "A softmax comes out, where logits should.",
     "These are probabilities. The loss takes the softmax itself, and twice is wrong.",
     ("keras.layers.Dense(num_classes)(x)", 'keras.layers.Dense(num_classes, activation="softmax")(x)'))

slip("build_classifier", "loss_of_probabilities", "The loss takes the logits for probabilities.",
     "The logits are right, the loss is not: it believes that they are probabilities, unless you tell it otherwise.",
     ("(from_logits=True)", "()"))

slip("build_classifier", "dropout_before_the_mean", "Numbers are dropped in the words' vectors, before their mean is taken.",
     "A mean over many words hardly notices that some of them lack a feature. The dropout belongs between the mean and the "
     "last layer.",
     ("    x = MaskedMean()(x)\n    x = keras.layers.Dropout(dropout_rate)(x)",
      "    x = keras.layers.Dropout(dropout_rate)(x)\n    x = MaskedMean()(x)"))

slip("build_classifier", "metrics_by_position", "`compile` takes the metrics for weights of losses.",
     "The third argument of `compile` is `loss_weights`, so a list of metrics that stands there goes astray. Pass the metrics by name.",
     ("        metrics=[", "        loss_weights=["))

slip("build_classifier", "rate_ignored", "Adam has its usual learning rate.",
     "The learning rate that was asked for does not reach the optimizer.",
     ("keras.optimizers.Adam(learning_rate)", '"adam"'))

slip("build_classifier", "no_dropout", "Dropout has no effect.",
     "In training the logits are as without dropout. It stands between the mean and the last layer: is what it "
     "returns used, and does the rate reach it?",
     ("    x = keras.layers.Dropout(dropout_rate)(x)\n", ""))

slip("build_classifier", "dropout_on_logits", "The logits themselves are dropped.",
     "Your dropout stands behind the last layer: it makes classes disappear at random. It belongs before it.",
     ("    x = keras.layers.Dropout(dropout_rate)(x)\n", ""),
     ("keras.Model(ids, keras.layers.Dense(num_classes)(x))",
      "keras.Model(ids, keras.layers.Dropout(dropout_rate)(keras.layers.Dense(num_classes)(x)))"))

slip("build_classifier", "padding_in_the_mean", "The mean is taken over padding, too.",
     "More padding changes your logits. The mean has to know the mask: which layer takes it into account, and "
     "does the mask get there?",
     ("MaskedMean()(x)", "ops.mean(x, axis=1)"))

slip("build_classifier", "no_encoder", "There is no encoder: the mean is that of the embeddings.",
     "The embeddings go straight into the mean. Where does each word look at the others?",
     ("    x = TransformerEncoder(embedding_dim, dense_dim, num_heads)(x)\n", ""))

slip("build_classifier", "positions_always", "use_positions is not handed on.",
     "Without positions the model should have one table fewer. `use_positions` does not reach the embedding.",
     ("embedding_dim, use_positions)(ids)", "embedding_dim)(ids)"))

slip("build_classifier", "not_compiled", "The model is not compiled.",
     "Without an optimizer and a loss the model cannot be trained: part 2 is missing.",
     ("    model.compile(\n"
      "        optimizer=keras.optimizers.Adam(learning_rate),\n"
      "        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),\n"
      '        metrics=["accuracy"],\n'
      "    )\n", ""))


slip("build_classifier", "only_the_head_is_trained", "No gradient gets back to the embedding and the encoder: only the last layer can be trained.",
     "That is done with an encoder that is trained already. Yours begins with random numbers, and would stay that way.",
     ("    x = MaskedMean()(x)\n", "    x = keras.layers.Lambda(ops.stop_gradient)(MaskedMean()(x))\n"))


# ---------------------------------------------------------------------------------- best_epoch

slip("best_epoch", "counted_from_0", "Epochs are counted from 0.",
     "The first epoch is number 1 here. Yours is number 0.",
     ("return best, epoch", "return best - 1, epoch - 1"),
     ("return best, len(losses)", "return best - 1, len(losses) - 1"))

slip("best_epoch", "no_patience", "Training never stops early.",
     "You take the best of all epochs. After patience has run out there are no more: what comes later was never trained.",
     ("        if epoch - best >= patience:\n            return best, epoch\n", ""))

slip("best_epoch", "one_too_patient", "Training stops one epoch too late.",
     "With a patience of 2, two epochs without a new best are enough. You wait for a third.",
     ("epoch - best >= patience", "epoch - best > patience"))

slip("best_epoch", "one_too_impatient", "Training stops one epoch too early.",
     "With a patience of 2, training may go on after one epoch without a new best.",
     ("epoch - best >= patience", "epoch - best >= patience - 1"))

slip("best_epoch", "last_is_kept", "The last epoch is given as the best.",
     "The weights of the last epoch are the worst for a while: that is why training stops. The best came before it.",
     ("return best, epoch", "return epoch, epoch"),
     ("return best, len(losses)", "return len(losses), len(losses)"))

slip("best_epoch", "ties_go_to_the_last", "Of equal losses the last one is the best.",
     "An equal loss is no improvement. The first of them is kept, and patience is counted from there.",
     ("loss < losses[best - 1]", "loss <= losses[best - 1]"))

slip("best_epoch", "highest", "The epoch with the highest loss is chosen.",
     "A loss should be low. (With accuracy, higher is better: callbacks have an argument for this.)",
     ("loss < losses[best - 1]", "loss > losses[best - 1]"))

slip("best_epoch", "compared_with_the_one_before", "A loss is compared with that of the epoch before.",
     "Lower than in the epoch before is not yet the lowest. After a bump the loss may fall for a while without being a new best.",
     ("loss < losses[best - 1]", "epoch == 1 or loss < losses[epoch - 2]"))

slip("best_epoch", "best_of_all", "The best epoch is looked for behind the end of the training, too.",
     "When training has stopped, the later epochs do not exist. You have found the end rightly, but looked past it for the best.",
     ("return best, epoch", "return losses.index(min(losses)) + 1, epoch"))


slip("best_epoch", "small_improvements_ignored", "Only a loss that is lower by a ten-thousandth or more counts as a new best.",
     "Callbacks have an argument for that, `min_delta`, and its usual value is 0. Here a lower loss is a new best, by however little.",
     ("loss < losses[best - 1]", "loss < losses[best - 1] - 1e-4"))

slip("best_epoch", "begins_with_a_number", "The lowest loss so far begins with 100.",
     "Some losses are in thousands, and then none is lower than where you begin. Which loss is certainly the lowest after the first epoch?",
     ("loss < losses[best - 1]", "loss < min([100, *losses[: epoch - 1]])"))


# ---------------------------------------------------------------------------------- calibration_error

slip("calibration_error", "bins_not_weighted", "The bins are not weighted.",
     "A bin with two texts counts as much as one with twenty. Each distance is weighted by the share of texts in its bin.",
     ("inside.mean() * abs(", "abs("),
     ("return float(error),", "return float(error / len(set(bin_of))),"))

slip("calibration_error", "signs_cancel",
     "The error keeps its sign: too sure in one bin and too unsure in another cancel each other.",
     "What you return is the overconfidence. The distance in a bin has no sign, and is taken before anything is "
     "added up.",
     ("abs(right[inside].mean() - confidence[inside].mean())", "(confidence[inside].mean() - right[inside].mean())"))

slip("calibration_error", "probability_of_the_true_class", "The probability of the true class is taken as confidence.",
     "In use nobody knows the true class. Confidence is the probability of the class that the model gives.",
     ("probabilities.max(axis=1)", "probabilities[np.arange(len(labels)), labels]"))

slip("calibration_error", "squared", "Distances are squared.",
     "The expected calibration error takes distances as they are. Squared, small ones hardly count.",
     ("abs(right[inside].mean() - confidence[inside].mean())", "(right[inside].mean() - confidence[inside].mean()) ** 2"))

slip("calibration_error", "middle_of_the_bin", "The middle of a bin is taken for its confidence.",
     "The texts of a bin need not lie around its middle. Take the mean of their confidences.",
     ("abs(right[inside].mean() - confidence[inside].mean())", "abs(right[inside].mean() - (number + 0.5) / bins)"))

slip("calibration_error", "one_bin", "Too sure in one bin and too unsure in another cancel each other, as if there were one bin only.",
     "Without bins, being too sure here and too unsure there cancel each other. That is the size of the overconfidence, not the calibration error.",
     ("for number in range(bins):\n        inside = bin_of == number", "for number in range(1):\n        inside = bin_of >= 0"))

slip("calibration_error", "ten_bins_always", "There are always ten bins.",
     "The number of bins is an argument; ten is only its usual value.",
     ("np.minimum((confidence * bins).astype(int), bins - 1)", "np.minimum((confidence * 10).astype(int), 9)"),
     ("for number in range(bins):", "for number in range(10):"))

slip("calibration_error", "edge_to_the_lower_bin", "A confidence on the edge between two bins is put into the lower one.",
     "The docstring says where an edge belongs. With ten bins, into which one does a confidence of exactly 0.5 go?",
     ("np.minimum((confidence * bins).astype(int), bins - 1)", "np.maximum(np.ceil(confidence * bins).astype(int) - 1, 0)"))

slip("calibration_error", "overconfidence_reversed", "The overconfidence has the wrong sign.",
     "A model that is surer than it is right is overconfident, and the number should be positive.",
     ("float(confidence.mean() - right.mean())", "float(right.mean() - confidence.mean())"))

slip("calibration_error", "last_bin_forgotten", "The last bin is left out.",
     "The bin of the surest texts is missing, and that is usually the fullest one.",
     ("for number in range(bins):", "for number in range(bins - 1):"))

slip("calibration_error", "error_rate_compared", "Confidence is compared with the share that is wrong.",
     "A confidence of 0.9 should mean that 90 % are right. You compare it with the share that is wrong.",
     ("axis=1) == labels", "axis=1) != labels"))

slip("calibration_error", "overconfidence_without_sign", "The overconfidence has lost its sign.",
     "A model may be surer than it is right, or less sure. The sign says which.",
     ("float(confidence.mean() - right.mean())", "float(abs(confidence.mean() - right.mean()))"))
