"""Wrong ways to write lab 13's exercises. Each must lose points and be recognised as itself."""

from grader.catalogue import slip

# ---------------------------------------------------------------------------------- validate_rows

slip("validate_rows", "counted_from_0", "Rows are counted from 0.",
     "People who repair the file count its rows from 1. Your first row is number 0.",
     ("enumerate(rows, start=1)", "enumerate(rows)"))

slip("validate_rows", "missing_column_raises", "A missing column ends everything with a KeyError.",
     "A row without a column is exactly what you are looking for. Ask for the value in a way that does not raise.",
     ("row.get(column)", "row[column]"))

slip("validate_rows", "blank_is_fine", "A text of white space passes.",
     "Spaces and tabs are characters, so such a text is not empty. Nothing is left of it without them, though.",
     ("not value.strip()", 'value == ""'))

slip("validate_rows", "type_not_looked_at", "A value of another type passes.",
     "A label that is a number, or spans that are a text, will fail much later and far from here. `COLUMNS` says what type each column has.",
     ("not isinstance(value, kind) or (kind is str and not value.strip())",
      "value is None or (isinstance(value, str) and not value.strip())"),
     ("        if wrong:\n",
      "        if wrong or not all(isinstance(row[column], kind) for column, kind in COLUMNS[task].items()):\n"))

slip("validate_rows", "nothing_taken_for_missing", "A start of 0, or a row without entities, counts as a missing column.",
     "0 and an empty list count as false in Python, but an answer may begin with the first character, and a text need not have entities. Ask for the type, and only of a text whether it is blank.",
     ("not isinstance(value, kind) or", "not value or not isinstance(value, kind) or"))

slip("validate_rows", "only_the_first_of_a_row", "Only the first fault of each row is found.",
     "A row may have several faults. Return all of them, so that people can repair the row in one go.",
     ("for column in wrong]", "for column in wrong[:1]]"))

slip("validate_rows", "stops_at_the_first_row",
     "Nothing is found after the first row with a column that is missing, blank or of another type.",
     "You stop at a bad row. The file has others.",
     ("        if wrong:\n            continue\n", "        if wrong:\n            return faults\n"))

slip("validate_rows", "last_character_excluded", "A span that ends where its text ends counts as a fault.",
     "`end` is exclusive, so it may be as large as the length of the text.",
     ("start < end <= size", "start < end < size"))

slip("validate_rows", "empty_span_passes", "A span without any character passes.",
     "If start and end are equal, the span holds nothing. It cannot be an entity.",
     ("0 <= start < end", "0 <= start <= end"))

slip("validate_rows", "span_beyond_the_text", "A span that goes past the end of its text passes.",
     "Python cuts a slice that is too long without a word. Compare with the length of the text.",
     ("not 0 <= start < end <= size", "not 0 <= start < end"))

slip("validate_rows", "answer_anywhere", "The answer may stand anywhere in the context.",
     "That the context contains the answer is not enough: it must stand at the position that is given. The same words may occur earlier.",
     ('if start < 0 or row["context"][start : start + len(answer)] != answer:',
      'if start < 0 or start > len(row["context"]) or answer not in row["context"]:'))

slip("validate_rows", "negative_start_passes", "A negative position passes.",
     "Python counts negative positions from the end and finds the right letters there. Everybody else who reads the file will not.",
     ("start < 0 or row", "row"))

slip("validate_rows", "no_entities_is_a_fault", "A row without entities counts as a fault.",
     "A text need not have an entity in it; a model has to learn that, too. Only texts must not be empty.",
     ("(kind is str and not value.strip())", "(not value if kind is list else kind is str and not value.strip())"))


# ---------------------------------------------------------------------------------- find_leaks

slip("find_leaks", "capitals_count", "Texts with other capitals count as different.",
     "The same sentence, typed in capitals, is the same sentence. Bring all texts into small letters before you compare them.",
     ("text.lower().split()", "text.split()"))

slip("find_leaks", "spaces_count", "Texts with other white space count as different.",
     "Two spaces instead of one, or a line break at the end, make another string of the same text. Cut the texts into words.",
     ('" ".join(text.lower().split())', "text.lower()"))

slip("find_leaks", "compared_as_they_are", "Texts with other capitals or other white space count as different.",
     "You find only copies with the same capitals and the same white space. Neither should count.",
     ('" ".join(text.lower().split())', "text"))

slip("find_leaks", "only_the_ends_stripped",
     "White space makes no difference at the ends of a text, but inside of it, it does.",
     "Inside of a text there may be two spaces instead of one, as well.",
     ('" ".join(text.lower().split())', "text.lower().strip()"))

slip("find_leaks", "two_spaces_once",
     "Inside of a text, two spaces count as one, but longer runs, tabs and line breaks do not.",
     "A text may have five spaces, a tab or a line break where another has one space. Cut the texts into words.",
     ('" ".join(text.lower().split())', 'text.lower().strip().replace("  ", " ")'))

slip("find_leaks", "spaces_only", "Only spaces are joined; a tab or a line break inside of a text stays.",
     "White space is more than the space bar gives: tabs and line breaks count, too. What does `split` cut at if you tell it nothing?",
     ('" ".join(text.lower().split())', '" ".join(word for word in text.lower().strip().split(" ") if word)'))

slip("find_leaks", "minus_1_for_the_first", "A row that is the first with its text gets -1.",
     "For the first row with a text the answer is the row itself, so that every row has an answer.",
     ("return np.array(first), ",
      "return np.array([-1 if one == row else one for row, one in enumerate(first)]), "))

slip("find_leaks", "row_0_taken_for_none", "A copy of row 0 is given its own number.",
     "0 counts as false in Python, but row 0 is a row like any other. With `or` you ask whether the number is 0, not whether there is one. Ask whether the text is among those seen.",
     ("first = [rows.setdefault(text, row) for row, text in enumerate(plain)]",
      "first = []\n    for row, text in enumerate(plain):\n        first.append(rows.get(text) or row)\n        rows.setdefault(text, row)"))

slip("find_leaks", "the_last_copy", "The last row with the same text is given, not the first.",
     "A dict that is written again and again keeps what came last. You need what came first.",
     ("first = [rows.setdefault(text, row) for row, text in enumerate(plain)]",
      "rows.update({text: row for row, text in enumerate(plain)})\n    first = [rows[text] for text in plain]"))

slip("find_leaks", "only_the_copy_is_contradicted",
     "Only rows that contradict the first row with their text are marked.",
     "Which of the two labels is wrong, nobody knows yet. Both rows have to be looked at.",
     ("contradicted = [len(labels_of[text]) > 1 for text in plain]",
      "contradicted = [label != labels[one] for label, one in zip(labels, first, strict=True)]"))

slip("find_leaks", "every_copy_is_contradicted", "Copies with the same label count as contradicted.",
     "Two rows that agree do not contradict each other. Count the different labels of a text, not its rows.",
     ("[len(labels_of[text]) > 1 for text in plain]", "[plain.count(text) > 1 for text in plain]"))

slip("find_leaks", "both_sides_leak", "The row in the training set counts as leaked, too.",
     "It is the test set that is spoilt by a leak. Mark its rows only; then they can be taken out.",
     ("leaked = [bool(test) and text in trained",
      "tested = {text for text, test in zip(plain, in_test, strict=True) if test}\n    leaked = [text in tested and text in trained"))

slip("find_leaks", "copies_within_the_test_set", "Copies within the test set count as leaked.",
     "A text that is twice in the test set counts twice there, but the model has not seen it. A leak needs a copy in the training set.",
     ("bool(test) and text in trained", "bool(test) and plain.count(text) > 1"))

slip("find_leaks", "only_earlier_rows_leak", "A leak is only found if the row of the training set stands first.",
     "The training set is all of its rows, also those that stand behind a row of the test set.",
     ("leaked = [bool(test) and text in trained\n              for text, test in zip(plain, in_test, strict=True)]",
      "leaked = [bool(test) and any(not in_test[other] and plain[other] == plain[row] for other in range(row))\n              for row, test in enumerate(in_test)]"))


slip("find_leaks", "order_of_words_ignored", "Texts with the same words in another order count as the same.",
     "A sentence says another thing if its words are in another order. Only capitals and white space do not count.",
     ('" ".join(text.lower().split())', '" ".join(sorted(text.lower().split()))'))

slip("find_leaks", "marks_ignored", "Texts that differ in punctuation count as the same.",
     "You remove more than was asked: punctuation stays. Only capitals and white space do not count.",
     ('" ".join(text.lower().split())', '" ".join(text.lower().replace(".", "").split())'))

slip("find_leaks", "only_letters_compared", "Texts that differ in digits or punctuation count as the same.",
     "You keep letters only, so that \"version 2\" and \"version 3\" become the same text. Only capitals and white space do not count.",
     ('" ".join(text.lower().split())',
      '" ".join("".join(letter if letter.isalpha() else " " for letter in text.lower()).split())'))

slip("find_leaks", "labels_without_capitals", "Labels that differ in capitals only do not count as a contradiction.",
     "Capitals do not count in texts. In labels they do: two spellings are two classes for a model.",
     ("labels_of.setdefault(text, set()).add(label)", "labels_of.setdefault(text, set()).add(label.lower())"))

slip("find_leaks", "labels_without_spaces", "Labels that differ in white space at their ends only do not count as a contradiction.",
     "White space does not count in texts. In labels it does: a label with a space behind it is another class for a model.",
     ("labels_of.setdefault(text, set()).add(label)", "labels_of.setdefault(text, set()).add(label.strip())"))


# ---------------------------------------------------------------------------------- split_by_group

slip("split_by_group", "not_stratified", "The classes are not looked at: the test set gets a share of all rows.",
     "You fill the test set until it has enough rows. Which classes they are of is left to chance; a rare one may be missing.",
     ("taken[main] < share * total[main]", "taken.total() < share * len(labels)"))

slip("split_by_group", "training_is_true", "True stands for training instead of test.",
     "The right groups are apart, but the wrong way round: True is for the test set.",
     ("group in chosen for group", "group not in chosen for group"))

slip("split_by_group", "groups_cut", "Only the rows of the main class go into the test set.",
     "You have divided groups: the rows of other classes stay in training, next to their neighbours in the test set.",
     ("chosen.add(group)", "chosen.add((group, main))"),
     ("[group in chosen for group in groups]", "[pair in chosen for pair in zip(groups, labels, strict=True)]"))

slip("split_by_group", "only_the_main_class_counts", "Of a group that is taken, only the rows of its main class are counted.",
     "All rows of a group go into the test set, so all of them count, each for its own class.",
     ("taken += inside", "taken[main] += inside[main]"))

slip("split_by_group", "all_rows_for_the_main_class", "All rows of a group count for its main class.",
     "The group's rows of other classes count for those classes, not for the main one.",
     ("taken += inside", "taken[main] += inside.total()"))

slip("split_by_group", "one_row_a_group", "Each group counts as one row.",
     "You count groups, and compare with a number of rows. So far too many groups are taken.",
     ("taken += inside", "taken[main] += 1"))

slip("split_by_group", "order_ignored", "The groups are asked in alphabetical order.",
     "The order is given, so that another order gives another split. The alphabet gives always the same.",
     ("for group in order:", "for group in sorted(order):"))

slip("split_by_group", "from_the_end", "The groups are asked from the end of the order.",
     "You begin with the last group of the order. Begin with the first.",
     ("for group in order:", "for group in reversed(order):"))

slip("split_by_group", "rarest_class", "The rarest class of a group is taken as its main class.",
     "The main class is the most frequent one in the group.",
     ("max(sorted(inside)", "min(sorted(inside)"))

slip("split_by_group", "first_row_decides", "The label of a group's first row is taken as its main class.",
     "The first row of a group may be an exception. Count them all.",
     ("max(sorted(inside), key=lambda label: inside[label])", "labels[groups.index(group)]"))

slip("split_by_group", "never_above_the_share", "A group that would bring too many rows is not taken.",
     "You leave out a group that would pass the share, so that the test set has too few rows of that class. It goes in as a whole.",
     ("taken[main] < share * total[main]", "taken[main] + inside[main] <= share * total[main]"))

slip("split_by_group", "stops_at_the_first_full_class", "It ends at the first group whose main class has enough.",
     "That one class has enough rows does not mean that the others have. Pass this group over, and go on.",
     ("            taken += inside\n", "            taken += inside\n        else:\n            break\n"))


# ---------------------------------------------------------------------------------- embed

slip("embed", "mean_over_padding", "The mean is taken over padding, too.",
     "The states at padding are numbers like any other. Only real word pieces belong in the mean.",
     ("(states * real).sum(dim=1) / real.sum(dim=1)", "states.mean(dim=1)"))

slip("embed", "divided_by_the_width", "The sum of the real pieces is divided by the width of the batch.",
     "The sum is right, but it is divided by the length of the longest text. Each text has its own number of pieces.",
     ("/ real.sum(dim=1)", "/ states.shape[1]"))

slip("embed", "sum_only", "The sum is not divided by anything.",
     "This is the sum of the states. A long text gets a long vector; the mean does not.",
     (" / real.sum(dim=1)", ""))

slip("embed", "encoder_without_mask", "The encoder does not get the tokenizer's mask.",
     "Your mean leaves padding out, but inside the encoder every word has looked at it. Which mask does it get?",
     ("encoder(**batch)", 'encoder(batch["input_ids"])'))

slip("embed", "training_mode", "The encoder is in training mode when it gets the texts.",
     "Dropout is on, so a text gets another vector each time. Which method turns it off, and by when?",
     ("    encoder.eval()\n", ""))

slip("embed", "gradients_recorded", "Gradients are recorded.",
     "The numbers are right, but PyTorch remembers every step for a backward pass that never comes. This costs memory and time.",
     ("set_grad_enabled(False)", "set_grad_enabled(True)"),
     ("torch.cat(vectors).numpy()", "torch.cat(vectors).detach().numpy()"))

slip("embed", "left_frozen", "The encoder is frozen afterwards: its weights cannot be trained any more.",
     "`requires_grad_(False)` stays when your function is done, and the encoder belongs to whoever calls it. That no gradients are "
     "recorded can be limited to one block of lines. How?",
     ("    encoder.eval()\n", "    encoder.eval().requires_grad_(False)\n"))

slip("embed", "first_piece", "The state of the first piece stands for the text.",
     "Some models are trained so that [CLS] stands for the text. This one was trained with the mean.",
     ("(states * real).sum(dim=1) / real.sum(dim=1)", "states[:, 0]"))

slip("embed", "pooler", "The encoder's pooler output is taken.",
     "The pooler reads the first piece alone, through a layer that was made for another task. Take the mean of the last hidden states.",
     ("encoder(**batch).last_hidden_state", "encoder(**batch)"),
     ("(states * real).sum(dim=1) / real.sum(dim=1)", "states.pooler_output"))

slip("embed", "one_batch", "The encoder gets more texts at once than `batch_size`.",
     "Ten thousand texts at once, padded to the longest of all, do not fit into memory. `batch_size` is the most that "
     "the encoder may get.",
     ("texts[start : start + batch_size]", "texts"),
     ("torch.cat(vectors)", "vectors[0]"))

slip("embed", "last_batch_only", "Only the last batch is returned.",
     "There is a vector for every text, not only for those of the last batch. Collect them.",
     ("torch.cat(vectors)", "vectors[-1]"))

slip("embed", "not_truncated", "Texts that are too long are not truncated.",
     "The encoder has a longest length; real ones raise an error beyond it. The tokenizer can cut a text off.",
     ("batch_size], padding=True, truncation=True", "batch_size], padding=True"))

slip("embed", "sorted_by_length", "The vectors are in the order of the texts' lengths.",
     "Sorting saves padding, but the vectors have to be put back into the order of the texts.",
     ("    encoder.eval()\n", "    encoder.eval()\n    texts = sorted(texts, key=len)\n"))


# ---------------------------------------------------------------------------------- learning_curve

slip("learning_curve", "orders_ignored", "Every repeat takes the first rows as they stand.",
     "All repeats are the same, and the deviation is 0. Each repeat has its own order of the rows.",
     ("some = order[:size]", "some = np.arange(size)"))

slip("learning_curve", "the_rest_of_the_order", "The model is trained on the rows behind the first ones.",
     "`order[size:]` is what is left *after* the first rows. With a small size you train on nearly everything.",
     ("order[:size]", "order[size:]"))

slip("learning_curve", "the_end_of_the_order", "The last rows of each order are taken.",
     "Take the first rows, as everybody does who continues somebody else's order.",
     ("order[:size]", "order[-size:]"))

slip("learning_curve", "measured_on_training_rows",
     "Every accuracy is 1, as on the rows that the model was trained on.",
     "A model knows the rows it was trained on. How good it is shows on others: on the share of all test rows about "
     "which it is right.",
     ("predict(test_features) == test_labels", "predict(features[some]) == labels[some]"))

slip("learning_curve", "measured_on_all_training_rows", "The accuracy is measured on all training rows.",
     "Part of these rows were trained on. There is a test set.",
     ("predict(test_features) == test_labels", "predict(features) == labels"))

slip("learning_curve", "mean_over_sizes", "The mean is taken over the sizes.",
     "There is one number for each size, averaged over the repeats. You have averaged over the other axis.",
     ("accuracy.mean(axis=0), accuracy.std(axis=0, ddof=1)", "accuracy.mean(axis=1), accuracy.std(axis=1, ddof=1)"))

slip("learning_curve", "divided_by_repeats",
     "The deviation has the number of repeats in its denominator, not one less.",
     "This is how far the repeats are spread, not how far all possible ones are. With few repeats, divide by their number minus 1.",
     (", ddof=1", ""))

slip("learning_curve", "variance", "The variance is returned, not the standard deviation.",
     "The variance has squared units. Its root can be laid beside the accuracy.",
     ("accuracy.std(", "accuracy.var("))

slip("learning_curve", "standard_error", "The deviation is divided by the root of the number of repeats.",
     "That is the standard error: how far off the *mean* may be. Asked for is how far a single run may be off.",
     ("accuracy.std(axis=0, ddof=1)", "accuracy.std(axis=0, ddof=1) / len(orders) ** 0.5"))

slip("learning_curve", "error_rate", "The share that is wrong is returned.",
     "Your curve falls where it should rise: you count mistakes.",
     ("predict(test_features) == test_labels", "predict(test_features) != test_labels"))

slip("learning_curve", "sizes_sorted", "The results are in the order of rising sizes.",
     "The results belong to the sizes in the order in which they are given. Yours are in another order.",
     ("enumerate(sizes)", "enumerate(sorted(sizes))"))


# ---------------------------------------------------------------------------------- LoRALinear

slip("LoRALinear", "BaseIsTrained", "The weight and the bias of the base still require gradients.",
     "The point of LoRA is that the large matrix stays as it is, and needs neither gradient nor optimizer state.",
     ("requires_grad_(False)", "requires_grad_(True)"))

slip("LoRALinear", "BiasIsTrained", "The bias of the base still requires a gradient.",
     "The base has two parameters, weight and bias. You have frozen only one.",
     ("        for parameter in base.parameters():\n            parameter.requires_grad_(False)\n",
      "        base.weight.requires_grad_(False)\n"))

slip("LoRALinear", "PlainTensors", "The factors are plain tensors.",
     "An optimizer only sees parameters. Wrap the tensors, so that the module knows them as such.",
     ("nn.Parameter(\n            torch.randn(rank, base.in_features) / base.in_features**0.5\n        )",
      "torch.randn(rank, base.in_features) / base.in_features**0.5"),
     ("nn.Parameter(torch.zeros(base.out_features, rank))", "torch.zeros(base.out_features, rank)"))

slip("LoRALinear", "FactorsAreLayers", "The factors are `nn.Linear` layers.",
     "peft does the same, and it would train. But the lab asks for two parameters called `down` and `up`: the weights of your two layers.",
     ("nn.Parameter(\n            torch.randn(rank, base.in_features) / base.in_features**0.5\n        )",
      "nn.Linear(base.in_features, rank, bias=False)"),
     ("nn.Parameter(torch.zeros(base.out_features, rank))", "nn.Linear(rank, base.out_features, bias=False)"),
     ("(x @ self.down.T @ self.up.T)", "self.up(self.down(x))"),
     ("(self.up @ self.down)", "(self.up.weight @ self.down.weight)"))

slip("LoRALinear", "OtherNames", "The factors have other names.",
     "Your factors may be right, but the check looks for parameters called `down` and `up`, as the docstring says.",
     ("self.down = nn.Parameter(", "self.A = nn.Parameter("), ("self.up = nn.Parameter(", "self.B = nn.Parameter("),
     ("(x @ self.down.T @ self.up.T)", "(x @ self.A.T @ self.B.T)"), ("(self.up @ self.down)", "(self.B @ self.A)"))

slip("LoRALinear", "NothingIsTrained", "No gradient arrives at the factors.",
     "The values are right, but the layer was computed where PyTorch records nothing, so training cannot move the factors. Where did you turn recording off?",
     ("return self.base(x) + self.scale * (x @ self.down.T @ self.up.T)",
      "return self.base(x) + self.scale * (x @ self.down.T @ self.up.T).detach()"))

slip("LoRALinear", "NoGradientAtAll", "No gradient goes through the layer.",
     "The values are right, but PyTorch records nothing here: neither the factors nor any layer below can learn. Only merging needs no gradients.",
     ("return self.base(x) + self.scale * (x @ self.down.T @ self.up.T)",
      "return (self.base(x) + self.scale * (x @ self.down.T @ self.up.T)).detach()"))

slip("LoRALinear", "DownIsCutOff", "No gradient arrives at `down`.",
     "Only one of the two factors can learn. Between `down` and the output, something stops the gradient.",
     ("(x @ self.down.T @ self.up.T)", "(x @ self.down.detach().T @ self.up.T)"))

slip("LoRALinear", "BothZero", "Both factors start at zero.",
     "If both are zero, the gradient of each is zero, too, because it is multiplied by the other. Nothing will ever move.",
     ("torch.randn(rank, base.in_features) / base.in_features**0.5", "torch.zeros(rank, base.in_features)"))

slip("LoRALinear", "UpStartsAtRandom", "The correction is not zero at the start.",
     "Before the first step the layer should give exactly what the pretrained one gives. One of the factors has to start at zero.",
     ("torch.zeros(base.out_features, rank)", "torch.ones(base.out_features, rank)"),
     ("torch.randn(rank, base.in_features)", "torch.ones(rank, base.in_features)"))

slip("LoRALinear", "DownStartsAtZero", "The factor that goes down starts at zero, and the other does not.",
     "The product would be zero this way, too, but the paper starts with zeros in the factor that goes up, and so do adapters that you may want to load.",
     ("torch.randn(rank, base.in_features) / base.in_features**0.5", "torch.zeros(rank, base.in_features)"),
     ("torch.zeros(base.out_features, rank)", "torch.randn(base.out_features, rank)"))

slip("LoRALinear", "NotScaled", "The correction is not multiplied by alpha / r.",
     "Without the factor, another rank would need another learning rate.",
     ("self.scale = alpha / rank", "self.scale = 1.0"))

slip("LoRALinear", "AlphaOnly", "The correction is multiplied by alpha.",
     "The factor is alpha divided by the rank: more directions, each with less weight.",
     ("alpha / rank", "alpha"))

slip("LoRALinear", "UpsideDown", "The correction is multiplied by r / alpha.",
     "The fraction is upside down. A larger alpha should make the correction larger.",
     ("alpha / rank", "rank / alpha"))

slip("LoRALinear", "BaseForgotten", "The output is the correction alone.",
     "What the pretrained layer gives is missing. The correction is added to it.",
     ("return self.base(x) + self.scale", "return self.scale"))

slip("LoRALinear", "BiasForgotten", "The bias of the base is missing in the output.",
     "You use the matrix of the base without its bias. Call the base itself.",
     ("self.base(x) +", "x @ self.base.weight.T +"))

slip("LoRALinear", "MergedWithoutScale", "The merged layer lacks the factor.",
     "In `forward` the correction is multiplied by alpha / r, in `merged` it is not.",
     ("self.base.weight + self.scale * (self.up @ self.down)", "self.base.weight + self.up @ self.down"))

slip("LoRALinear", "MergedWithoutBias", "The merged layer does not have the bias of the base.",
     "A new layer has a bias of its own. Which numbers must be in it, so that it gives the same as yours?",
     ("            layer.bias.copy_(self.base.bias)\n", "            layer.bias.fill_(0.0)\n"))

slip("LoRALinear", "MergedInPlace", "Merging changes the base.",
     "You have added the correction to the base itself. If you merge twice, or go on training, it counts twice.",
     ("layer.weight.copy_(self.base.weight + self.scale * (self.up @ self.down))",
      "layer.weight.copy_(self.base.weight.add_(self.scale * (self.up @ self.down)))"))


# ---------------------------------------------------------------------------------- bootstrap_interval

slip("bootstrap_interval", "theirs_minus_ours", "Our accuracy is subtracted from theirs.",
     "The sign is the wrong way round: a positive difference means that we are better.",
     ("ours.astype(float) - theirs.astype(float)", "theirs.astype(float) - ours.astype(float)"))

slip("bootstrap_interval", "not_in_pairs", "The two models are not compared on the same texts.",
     "Each model gets other texts, so it counts whether one has drawn the easier ones. Use the same texts for both.",
     ("difference[draws].mean(axis=1)",
      "ours[draws].mean(axis=1) - theirs[np.roll(draws, 1, axis=0)].mean(axis=1)"))

slip("bootstrap_interval", "drawn_in_another_order", "The two models do not get the same resample.",
     "Each resample is a set of texts for *both* models. If the second one gets the resamples in another order, its luck no longer cancels ours out.",
     ("difference[draws].mean(axis=1)", "ours[draws].mean(axis=1) - theirs[draws[::-1]].mean(axis=1)"))

slip("bootstrap_interval", "intervals_of_both", "An interval is computed for each model, and then one is subtracted from the other.",
     "That allows for the worst luck of one model together with the best of the other. On the same texts their luck is much the same: take the difference in each resample first.",
     ("    low, high = np.quantile(results, [tail, 1 - tail])\n",
      "    mine = np.quantile(ours.astype(float)[draws].mean(axis=1), [tail, 1 - tail])\n"
      "    other = np.quantile(theirs.astype(float)[draws].mean(axis=1), [tail, 1 - tail])\n"
      "    low, high = mine[0] - other[1], mine[1] - other[0]\n"))

slip("bootstrap_interval", "ends_subtracted", "The ends of two intervals are subtracted, low from low and high from high.",
     "The low ends belong to different resamples, so their difference is that of no resample at all. Subtract within each resample, then take the quantiles.",
     ("    low, high = np.quantile(results, [tail, 1 - tail])\n",
      "    mine = np.quantile(ours.astype(float)[draws].mean(axis=1), [tail, 1 - tail])\n"
      "    other = np.quantile(theirs.astype(float)[draws].mean(axis=1), [tail, 1 - tail])\n"
      "    low, high = mine - other\n"))

slip("bootstrap_interval", "ours_only", "The interval is that of our accuracy.",
     "What the other model does is not in your numbers. Asked for is the difference.",
     (" - theirs.astype(float)", ""))

slip("bootstrap_interval", "tail_not_halved", "Both sides lose the whole of what is outside.",
     "With a level of 0.95, one twentieth lies outside, a fortieth on each side. Your interval is too narrow.",
     ("(1 - level) / 2", "1 - level"))

slip("bootstrap_interval", "always_95", "The level is always 95 %.",
     "The level is an argument; 95 % is only its usual value.",
     ("(1 - level) / 2", "0.025"))

slip("bootstrap_interval", "lowest_and_highest", "The interval reaches from the lowest to the highest result.",
     "The extremes grow with the number of resamples. The middle part does not.",
     ("np.quantile(results, [tail, 1 - tail])", "results.min(), results.max()"))

slip("bootstrap_interval", "mean_over_resamples", "The mean is taken over the resamples.",
     "One result belongs to each resample: the mean over its texts. You have averaged over the other axis.",
     ("mean(axis=1)", "mean(axis=0)"))

slip("bootstrap_interval", "sum", "The differences are added up.",
     "This is the number of texts by which one model is ahead. An accuracy is a share.",
     ("difference[draws].mean(axis=1)", "difference[draws].sum(axis=1)"))

slip("bootstrap_interval", "no_resampling", "The quantiles are those of single texts, not of means over resamples.",
     "These are quantiles of single texts, which are -1, 0 or 1. How far the *mean* may be off shows only over resamples.",
     ("difference[draws].mean(axis=1)", "difference"))

slip("bootstrap_interval", "normal_interval", "The interval is the mean plus and minus 1.96 deviations.",
     "That is another interval, and it needs a bell curve and a level of 95 %. Take the quantiles of the results.",
     ("low, high = np.quantile(results, [tail, 1 - tail])",
      "low, high = results.mean() - 1.96 * results.std(), results.mean() + 1.96 * results.std()"))


# ---------------------------------------------------------------------------------- calibration_error

slip("calibration_error", "equal_width", "The bins are equally wide.",
     "That is the error of lab 07. Here every bin has equally many texts, however far apart their confidences are.",
     ("np.array_split(np.argsort(confidence), bins)",
      "[np.flatnonzero(np.minimum((confidence * bins).astype(int), bins - 1) == each) for each in range(bins)]"),
     ("        error += (len(rows) / len(labels)\n                  * abs(right[rows].mean() - confidence[rows].mean()))",
      "        error += abs(right[rows].sum() - confidence[rows].sum()) / len(labels)"))

slip("calibration_error", "not_sorted", "The texts are cut into bins as they stand.",
     "A bin should hold texts about which the model is equally sure. Sort by confidence first.",
     ("np.argsort(confidence)", "np.arange(len(labels))"))

slip("calibration_error", "signs_cancel",
     "Too sure in one bin and too unsure in another cancel each other, as if there were one bin only.",
     "What you get is how far mean confidence and accuracy are apart over *all* texts. Each bin has a distance of its "
     "own, and a distance has no sign.",
     ("abs(right[rows].mean() - confidence[rows].mean())", "(confidence[rows].mean() - right[rows].mean())"))

slip("calibration_error", "squared", "Distances are squared.",
     "The error takes distances as they are. Squared, small ones hardly count.",
     ("abs(right[rows].mean() - confidence[rows].mean())", "(right[rows].mean() - confidence[rows].mean()) ** 2"))

slip("calibration_error", "largest_distance", "The largest distance is returned.",
     "That is the maximum calibration error. The expected one is a mean.",
     ("error += (len(rows) / len(labels)\n                  * abs(right[rows].mean() - confidence[rows].mean()))",
      "error = max(error, abs(right[rows].mean() - confidence[rows].mean()))"))

slip("calibration_error", "bins_not_weighted", "The bins are not weighted by their texts.",
     "Bins differ by one text. The larger ones weigh a little more.",
     ("len(rows) / len(labels)", "1 / bins"))

slip("calibration_error", "probability_of_the_true_class", "The probability of the true class is taken as confidence.",
     "In use nobody knows the true class. Confidence is the probability of the class that the model gives.",
     ("probabilities.max(axis=1)", "probabilities[np.arange(len(labels)), labels]"))

slip("calibration_error", "error_rate_compared", "Confidence is compared with the share that is wrong.",
     "A confidence of 0.9 should mean that 90 % are right. You compare it with the share that is wrong.",
     ("axis=1) == labels", "axis=1) != labels"))

slip("calibration_error", "rest_dropped", "The texts that do not fill a bin are dropped.",
     "The surest texts are left over, where the number of texts cannot be divided by the number of bins. They count, too.",
     ("np.argsort(confidence), bins", "np.argsort(confidence)[: len(labels) // bins * bins], bins"))

slip("calibration_error", "ten_bins_always", "There are always ten bins.",
     "The number of bins is an argument; ten is only its usual value.",
     ("np.argsort(confidence), bins", "np.argsort(confidence), 10"))


# ---------------------------------------------------------------------------------- best_temperature

slip("best_temperature", "multiplied", "The logits are multiplied by the temperature.",
     "A high temperature should make the model less sure: divide.",
     ("logits / temperature", "logits * temperature"))

slip("best_temperature", "place_returned", "The place among the candidates is returned.",
     "`argmin` gives a place. Asked for is the temperature that stands there.",
     ("float(candidates[np.argmin(losses)])", "float(np.argmin(losses))"))

slip("best_temperature", "highest_loss", "The temperature with the highest loss is chosen.",
     "A negative log-likelihood is a loss: the lower, the better.",
     ("np.argmin(losses)", "np.argmax(losses)"))

slip("best_temperature", "by_accuracy", "The first candidate is always chosen.",
     "Are your losses all the same, or no numbers? Then the first candidate wins. Dividing all logits by the same "
     "number changes no order, for example: the accuracy stays what it is.",
     ("losses.append(-log_shares[np.arange(len(labels)), labels].mean())",
      "losses.append(-(log_shares.argmax(axis=1) == labels).mean())"))

slip("best_temperature", "overflow", "For large logits an exponential overflows or becomes 0.",
     "The exponential of 1,000 is infinite, that of -1,000 is 0, and its logarithm minus infinity. Subtract each row's own largest logit first.",
     ("        scaled = scaled - scaled.max(axis=1, keepdims=True)\n", ""))

slip("best_temperature", "logarithm_of_zero", "The logarithm is taken of probabilities, and some of them are 0.",
     "The exponential of -1,000 is 0 for the computer, and the logarithm of 0 is minus infinity. Then all losses are "
     "infinite and the first candidate wins. Compute the logarithm of the probability without the probability: the score "
     "minus the logarithm of the sum.",
     ("        losses.append(",
      "        with np.errstate(divide=\"ignore\"):\n"
      "            log_shares = np.log(np.exp(log_shares))\n"
      "        losses.append("))

slip("best_temperature", "logarithm_forgotten", "The mean probability of the true class is maximised.",
     "Without the logarithm, a text about which the model is sure and wrong costs hardly more than one about which it is unsure.",
     ("-log_shares[np.arange(len(labels)), labels].mean()",
      "-np.exp(log_shares)[np.arange(len(labels)), labels].mean()"))

slip("best_temperature", "over_the_texts", "The softmax is taken over the texts.",
     "Each text has its own probabilities, which sum to 1 over the classes.",
     ("axis=1, keepdims=True", "axis=0, keepdims=True", 2))

slip("best_temperature", "squared_distances", "Squared distances are minimised.",
     "This is Brier's score, another good measure; its best temperature is a little different. Asked for is the likelihood.",
     ("-log_shares[np.arange(len(labels)), labels].mean()",
      "((np.exp(log_shares) - np.eye(logits.shape[1])[labels]) ** 2).sum(axis=1).mean()"))

slip("best_temperature", "inverse", "One divided by the temperature is returned.",
     "You return the number to multiply by. The temperature is the number to divide by.",
     ("float(candidates[np.argmin(losses)])", "float(1 / candidates[np.argmin(losses)])"))


# ---------------------------------------------------------------------------------- model_card

slip("model_card", "no_first_dashes", "The card does not begin with dashes.",
     "Without the first line of dashes the front matter is ordinary text, and the hub knows neither licence nor language.",
     ('lines = ["---"]', "lines = []"))

slip("model_card", "no_license", "The licence is missing in the front matter.",
     "Without a licence nobody may use your model, strictly speaking.",
     ('("license", "language", "base_model", "pipeline_tag")', '("language", "base_model", "pipeline_tag")'))

slip("model_card", "no_base_model", "The base model is missing in the front matter.",
     "Most of what your model knows, it has from another model, with its licence and its faults. Say which.",
     ('"language", "base_model", "pipeline_tag"', '"language", "pipeline_tag"'))

slip("model_card", "in_percent", "Accuracy and baseline are given in percent.",
     "The card gives shares between 0 and 1, with three decimals; readers compare them with other cards.",
     ("{facts['accuracy']:.3f}", "{100 * facts['accuracy']:.3f}"),
     ("{facts['baseline']:.3f}", "{100 * facts['baseline']:.3f}"))

slip("model_card", "no_interval", "The interval is missing.",
     "An accuracy without an interval looks more certain than it is.",
     ('    lines += [f"| 95 % interval | {low:.3f} to {high:.3f} |"]\n', ""))

slip("model_card", "half_of_the_interval", "Only the low end of the interval is given.",
     "An interval has two ends, and readers need both.",
     (" to {high:.3f} |", " |"))

slip("model_card", "no_baseline", "The baseline is missing.",
     "0.61 may be good or poor. Beside 0.18 for always the same answer, a reader can tell.",
     ('    lines += [f"| majority baseline | {facts[\'baseline\']:.3f} |"]\n', ""))

slip("model_card", "training_for_test", "The numbers of training and test texts are exchanged.",
     "Read your table again: how many texts was it trained on, and how many was it measured on?",
     ("test texts | {facts['test_texts']}", "test texts | {facts['training_texts']}"),
     ("training texts | {facts['training_texts']}", "training texts | {facts['test_texts']}"))

slip("model_card", "first_limit_only", "Only the first limit is an item of the list.",
     "There may be several limits. Each is in a line of its own, which begins with a dash of its own.",
     ('for limit in facts["limits"]]', 'for limit in facts["limits"][:1]]'))

slip("model_card", "no_limits", "There is no section about limits.",
     "Where a model fails is what its users need to know most.",
     ('    lines += ["", "## Limits", ""]\n    lines += [f"- {limit}" for limit in facts["limits"]]\n', ""))

slip("model_card", "rounded_too_much", "Numbers do not have three decimals.",
     "With one decimal, 0.55 and 0.64 are the same accuracy. Give three.",
     ("{facts['accuracy']:.3f}", "{facts['accuracy']:.1f}"),
     ("{facts['calibration_error']:.3f}", "{facts['calibration_error']:.1f}"))


# ---------------------------------------------------------------------------------- predictions

slip("predictions", "numbers_for_names", "Numbers are returned instead of labels.",
     "Nobody else knows how you have numbered the labels. Hand in their names.",
     ("LIBRARIES[int(digit)]", "int(digit)"))

slip("predictions", "digits_for_names", "The digits themselves are returned.",
     "Each digit stands for a name of `LIBRARIES`. Turn it into a number, and look the name up.",
     ("[LIBRARIES[int(digit)] for digit in digits]", "list(digits)"))

slip("predictions", "first_line_only", "Some of the digits are missing.",
     "There are four lines of 75 digits, for 300 texts.",
     ("for digit in digits]", "for digit in digits[:75]]"))

slip("predictions", "counted_from_1", "The labels are counted from 1.",
     "Every prediction is the label before the one that was meant: digit 0 is the first name.",
     ("int(digit)]", "int(digit) - 1]"))

slip("predictions", "reversed_order", "The predictions are in reverse order.",
     "The first prediction is for the first text.",
     ("for digit in digits]", "for digit in reversed(digits)]"))

slip("predictions", "sorted_order", "The predictions are sorted.",
     "Sorted predictions have lost their texts. Keep them in the order of the texts.",
     ("for digit in digits]", "for digit in sorted(digits)]"))

slip("predictions", "shifted_by_one", "Every prediction belongs to the text before.",
     "The predictions are shifted by one text. Is there something in front that does not belong there?",
     ("for digit in digits]", "for digit in digits[-1] + digits[:-1]]"))

slip("predictions", "always_the_same", "Every text gets the same label.",
     "That is the baseline of this lab, and its first rung.",
     ("int(digit)]", "0]"))
