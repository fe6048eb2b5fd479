"""Wrong ways to write lab 13's exercises. Each must lose points and be recognised as itself."""

from grader.catalogue import slip

# ---------------------------------------------------------------------------------- validate_rows

slip("validate_rows", "counted_from_0", "Rows are counted from 0.",
     "People who repair the file count its rows from 1. Your first row has the number 0.",
     ("enumerate(rows, start=1)", "enumerate(rows)"))

slip("validate_rows", "missing_column_raises", "A missing column raises a KeyError.",
     "A row with a missing column is exactly what you are looking for. Read the value in a way that raises "
     "no error.",
     ("row.get(column)", "row[column]"))

slip("validate_rows", "blank_is_fine", "A text of white space passes.",
     "Spaces and tabs are characters, so such a text is not empty. But without its white space, nothing is "
     "left of it.",
     ("not value.strip()", 'value == ""'))

slip("validate_rows", "type_not_looked_at", "A value of the wrong type passes.",
     "A label that is a number, or spans that are a text, will cause an error much later and far from "
     "here. `COLUMNS` says which type each column has.",
     ("not isinstance(value, kind) or (kind is str and not value.strip())",
      "value is None or (isinstance(value, str) and not value.strip())"),
     ("        if wrong:\n",
      "        if wrong or not all(isinstance(row[column], kind) for column, kind in COLUMNS[task].items()):\n"))

slip("validate_rows", "nothing_taken_for_missing", "A start of 0, or a row without entities, counts as a missing column.",
     "0 and an empty list count as false in Python. But an answer may begin with the first character, and "
     "a text may have no entities. Test the type of every value. Only texts must not be blank.",
     ("not isinstance(value, kind) or", "not value or not isinstance(value, kind) or"))

slip("validate_rows", "only_the_first_of_a_row", "Only the first fault of each row is found.",
     "A row may have several faults. Return all of them, so that people can repair the row in one go.",
     ("for column in wrong]", "for column in wrong[:1]]"))

slip("validate_rows", "stops_at_the_first_row",
     "Nothing is found after the first row with a column that is missing, blank or of the wrong type.",
     "You stop at the first bad row. Later rows may have faults, too.",
     ("        if wrong:\n            continue\n", "        if wrong:\n            return faults\n"))

slip("validate_rows", "last_character_excluded", "A span that ends where its text ends counts as a fault.",
     "`end` is exclusive, so it may be equal to the length of the text.",
     ("start < end <= size", "start < end < size"))

slip("validate_rows", "empty_span_passes", "A span without any characters passes.",
     "If start and end are equal, the span contains no characters. So it cannot be an entity.",
     ("0 <= start < end", "0 <= start <= end"))

slip("validate_rows", "span_beyond_the_text", "A span that goes past the end of its text passes.",
     "Python shortens a slice that is too long, and raises no error. Compare `end` with the length of the "
     "text.",
     ("not 0 <= start < end <= size", "not 0 <= start < end"))

slip("validate_rows", "answer_anywhere", "The answer may be anywhere in the context.",
     "It is not enough that the context contains the answer. The same words may occur more than once, so "
     "the answer must begin at the given position.",
     ('if start < 0 or row["context"][start : start + len(answer)] != answer:',
      'if start < 0 or start > len(row["context"]) or answer not in row["context"]:'))

slip("validate_rows", "negative_start_passes", "A negative position passes.",
     "Python counts negative positions from the end, so it finds the right letters there. Other programs "
     "that read the file do not.",
     ("start < 0 or row", "row"))

slip("validate_rows", "no_entities_is_a_fault", "A row without entities counts as a fault.",
     "A text may have no entities, and a model must learn that, too. Only texts must not be empty.",
     ("(kind is str and not value.strip())", "(not value if kind is list else kind is str and not value.strip())"))


# ---------------------------------------------------------------------------------- find_leaks

slip("find_leaks", "capitals_count", "Texts with other capitals count as different.",
     "A sentence that is typed in capitals is still the same sentence. Convert all texts to lower case "
     "before you compare them.",
     ("text.lower().split()", "text.split()"))

slip("find_leaks", "spaces_count", "Texts with other white space count as different.",
     "Two spaces instead of one, or a line break at the end, make a different string of the same text. Cut "
     "the texts into words.",
     ('" ".join(text.lower().split())', "text.lower()"))

slip("find_leaks", "compared_as_they_are", "Texts with other capitals or other white space count as different.",
     "You find only copies with the same capitals and the same white space. Neither of these should make a "
     "difference.",
     ('" ".join(text.lower().split())', "text"))

slip("find_leaks", "only_the_ends_stripped",
     "White space makes no difference at the ends of a text, but it does inside.",
     "There may also be two spaces instead of one inside a text.",
     ('" ".join(text.lower().split())', "text.lower().strip()"))

slip("find_leaks", "two_spaces_once",
     "Inside a text, two spaces count as one, but longer runs, tabs and line breaks do not.",
     "A text may have five spaces, a tab or a line break where another text has one space. Cut the texts "
     "into words.",
     ('" ".join(text.lower().split())', 'text.lower().strip().replace("  ", " ")'))

slip("find_leaks", "spaces_only", "Only spaces are joined; a tab or a line break inside a text stays.",
     "White space is more than the space bar gives: tabs and line breaks count, too. Where does `split` "
     "cut if you call it without an argument?",
     ('" ".join(text.lower().split())', '" ".join(word for word in text.lower().strip().split(" ") if word)'))

slip("find_leaks", "minus_1_for_the_first", "A row that is the first with its text gets -1.",
     "The first row with a text is its own first row. Return its own number, so that every row has one.",
     ("return np.array(first), ",
      "return np.array([-1 if one == row else one for row, one in enumerate(first)]), "))

slip("find_leaks", "row_0_taken_for_none", "A copy of row 0 gets its own number instead of 0.",
     "0 counts as false in Python, but row 0 is a row like any other. With `or`, you test whether the "
     "number is 0, not whether there is one. Test whether you have seen the text before.",
     ("first = [rows.setdefault(text, row) for row, text in enumerate(plain)]",
      "first = []\n    for row, text in enumerate(plain):\n        first.append(rows.get(text) or row)\n        rows.setdefault(text, row)"))

slip("find_leaks", "the_last_copy", "The last row with the same text is returned, not the first.",
     "If you write to the same key of a dict again, the old value is lost. You need the first row, not the "
     "last one.",
     ("first = [rows.setdefault(text, row) for row, text in enumerate(plain)]",
      "rows.update({text: row for row, text in enumerate(plain)})\n    first = [rows[text] for text in plain]"))

slip("find_leaks", "only_the_copy_is_contradicted",
     "Only rows that contradict the first row with their text are marked.",
     "Nobody knows yet which of the two labels is wrong. People must look at both rows, so mark both.",
     ("contradicted = [len(labels_of[text]) > 1 for text in plain]",
      "contradicted = [label != labels[one] for label, one in zip(labels, first, strict=True)]"))

slip("find_leaks", "every_copy_is_contradicted", "Copies with the same label count as contradicted.",
     "Two rows with the same label do not contradict each other. Count the different labels of a text, not "
     "its rows.",
     ("[len(labels_of[text]) > 1 for text in plain]", "[plain.count(text) > 1 for text in plain]"))

slip("find_leaks", "both_sides_leak", "The row in the training set counts as leaked, too.",
     "A leak spoils the test set. Mark only the rows of the test set, so that they can be taken out.",
     ("leaked = [bool(test) and text in trained",
      "tested = {text for text, test in zip(plain, in_test, strict=True) if test}\n    leaked = [text in tested and text in trained"))

slip("find_leaks", "copies_within_the_test_set", "Copies within the test set count as leaked.",
     "A text that is twice in the test set counts twice there, but the model has not seen it. A leak needs a copy in the training set.",
     ("bool(test) and text in trained", "bool(test) and plain.count(text) > 1"))

slip("find_leaks", "only_earlier_rows_leak", "A leak is found only if the row of the training set comes first.",
     "All rows of the training set count, even those that come after a row of the test set.",
     ("leaked = [bool(test) and text in trained\n              for text, test in zip(plain, in_test, strict=True)]",
      "leaked = [bool(test) and any(not in_test[other] and plain[other] == plain[row] for other in range(row))\n              for row, test in enumerate(in_test)]"))


slip("find_leaks", "order_of_words_ignored", "Texts with the same words in another order count as the same.",
     "The same words in another order are another sentence. Only capitals and white space make no "
     "difference.",
     ('" ".join(text.lower().split())', '" ".join(sorted(text.lower().split()))'))

slip("find_leaks", "marks_ignored", "Texts that differ in punctuation count as the same.",
     "You remove more than the exercise asks for: punctuation stays. Only capitals and white space make no "
     "difference.",
     ('" ".join(text.lower().split())', '" ".join(text.lower().replace(".", "").split())'))

slip("find_leaks", "only_letters_compared", "Texts that differ in digits or punctuation count as the same.",
     "You keep only letters, so \"version 2\" and \"version 3\" become the same text. Only capitals and "
     "white space make no difference.",
     ('" ".join(text.lower().split())',
      '" ".join("".join(letter if letter.isalpha() else " " for letter in text.lower()).split())'))

slip("find_leaks", "labels_without_capitals",
     "Labels that differ only in capitals do not count as a contradiction.",
     "Capitals make no difference in texts, but they do in labels: for a model, two spellings are two "
     "classes.",
     ("labels_of.setdefault(text, set()).add(label)", "labels_of.setdefault(text, set()).add(label.lower())"))

slip("find_leaks", "labels_without_spaces", "Labels that differ only in spaces at their ends do not count as a contradiction.",
     "White space makes no difference in texts, but it does in labels: for a model, a label with a space behind it is another "
     "class.",
     ("labels_of.setdefault(text, set()).add(label)", "labels_of.setdefault(text, set()).add(label.strip())"))


# ---------------------------------------------------------------------------------- split_by_group

slip("split_by_group", "not_stratified",
     "The classes are ignored: the test set gets a share of all rows together.",
     "You fill the test set until it has enough rows, whatever their classes. So a rare class may be "
     "missing there.",
     ("taken[main] < share * total[main]", "taken.total() < share * len(labels)"))

slip("split_by_group", "training_is_true", "True stands for training instead of test.",
     "You found the right groups, but you put them on the wrong sides: True is for the test set.",
     ("group in chosen for group", "group not in chosen for group"))

slip("split_by_group", "groups_cut", "Only the rows of the main class go into the test set.",
     "You divide groups. Their rows of other classes stay in training, although the rest of the group is "
     "in the test set.",
     ("chosen.add(group)", "chosen.add((group, main))"),
     ("[group in chosen for group in groups]", "[pair in chosen for pair in zip(groups, labels, strict=True)]"))

slip("split_by_group", "only_the_main_class_counts",
     "When a group is taken, only the rows of its main class are counted.",
     "All rows of a group go into the test set. So all of them count, each for its own class.",
     ("taken += inside", "taken[main] += inside[main]"))

slip("split_by_group", "all_rows_for_the_main_class", "All rows of a group count for its main class.",
     "A group may have rows of other classes. Count them for those classes, not for the main one.",
     ("taken += inside", "taken[main] += inside.total()"))

slip("split_by_group", "one_row_a_group", "Each group counts as one row.",
     "You count groups, but you compare that count with a number of rows. So you take far too many groups.",
     ("taken += inside", "taken[main] += 1"))

slip("split_by_group", "order_ignored", "The groups are tried in alphabetical order.",
     "You are given the order, so that another order gives another split. The alphabet always gives the "
     "same one.",
     ("for group in order:", "for group in sorted(order):"))

slip("split_by_group", "from_the_end", "The groups are tried from the end of the order.",
     "You begin with the last group of the order. Begin with the first one.",
     ("for group in order:", "for group in reversed(order):"))

slip("split_by_group", "rarest_class", "The rarest class of a group is taken as its main class.",
     "The main class is the most frequent one in the group.",
     ("max(sorted(inside)", "min(sorted(inside)"))

slip("split_by_group", "first_row_decides", "The label of a group's first row is taken as its main class.",
     "The first row of a group may be an exception. Count all its rows.",
     ("max(sorted(inside), key=lambda label: inside[label])", "labels[groups.index(group)]"))

slip("split_by_group", "never_above_the_share", "A group that would bring too many rows is not taken.",
     "You leave out a group that would exceed the share, so the test set has too few rows of that class. "
     "As long as rows are missing, a group goes in as a whole.",
     ("taken[main] < share * total[main]", "taken[main] + inside[main] <= share * total[main]"))

slip("split_by_group", "stops_at_the_first_full_class",
     "The loop ends at the first group whose main class has enough rows.",
     "One class has enough rows, but the others may not. Skip this group and go on.",
     ("            taken += inside\n", "            taken += inside\n        else:\n            break\n"))


# ---------------------------------------------------------------------------------- embed

slip("embed", "mean_over_padding", "The mean is taken over padding, too.",
     "The states at padding are numbers, too, but they say nothing about the text. Only real word pieces "
     "belong in the mean.",
     ("(states * real).sum(dim=1) / real.sum(dim=1)", "states.mean(dim=1)"))

slip("embed", "divided_by_the_width", "The sum of the real pieces is divided by the width of the batch.",
     "The sum is right, but you divide it by the length of the longest text. Each text has its own number "
     "of pieces.",
     ("/ real.sum(dim=1)", "/ states.shape[1]"))

slip("embed", "sum_only", "The sum is not divided by anything.",
     "You return the sum of the states, so a longer text gets larger numbers. The mean does not grow with "
     "the text.",
     (" / real.sum(dim=1)", ""))

slip("embed", "encoder_without_mask", "The encoder does not get the tokenizer's mask.",
     "Your mean leaves padding out. But inside the encoder, every word has looked at padding. Which mask "
     "does the encoder get?",
     ("encoder(**batch)", 'encoder(batch["input_ids"])'))

slip("embed", "training_mode", "The encoder, or a part of it, is in training mode when it gets the texts.",
     "Dropout is on, so a text gets a different vector each time. Which method turns dropout off, and when "
     "must you call it?",
     ("    encoder.eval()\n", ""))

slip("embed", "gradients_recorded", "Gradients are recorded.",
     "The numbers are right, but PyTorch records every step for a backward pass that never comes. This "
     "costs memory and time.",
     ("set_grad_enabled(False)", "set_grad_enabled(True)"),
     ("torch.cat(vectors).numpy()", "torch.cat(vectors).detach().numpy()"))

slip("embed", "left_frozen", "The encoder is frozen afterwards: its weights cannot be trained any more.",
     "`requires_grad_(False)` still holds when your function has ended, and the caller may want to train the encoder. How do you "
     "turn off gradients for one block of lines only?",
     ("    encoder.eval()\n", "    encoder.eval().requires_grad_(False)\n"))

slip("embed", "first_piece", "The state of the first piece is used for the whole text.",
     "Some models are trained so that [CLS] stands for the text. This one was trained with the mean.",
     ("(states * real).sum(dim=1) / real.sum(dim=1)", "states[:, 0]"))

slip("embed", "pooler", "The encoder's pooler output is used.",
     "The pooler uses only the first piece, with a layer that was made for another task. Take the mean of "
     "the last hidden states.",
     ("encoder(**batch).last_hidden_state", "encoder(**batch)"),
     ("(states * real).sum(dim=1) / real.sum(dim=1)", "states.pooler_output"))

slip("embed", "one_batch", "The encoder gets more texts at once than `batch_size`.",
     "Ten thousand texts at once, padded to the longest of all, do not fit into memory. The encoder must "
     "never get more than `batch_size` texts at once.",
     ("texts[start : start + batch_size]", "texts"),
     ("torch.cat(vectors)", "vectors[0]"))

slip("embed", "last_batch_only", "Only the last batch is returned.",
     "You return only the vectors of the last batch. Collect the vectors of all batches: there must be one "
     "for every text.",
     ("torch.cat(vectors)", "vectors[-1]"))

slip("embed", "not_truncated", "Texts that are too long for the encoder reach it uncut.",
     "An encoder has a maximum length, and a real one raises an error beyond it. The tokenizer knows that length and can cut "
     "there. Did you ask it to cut, and did you leave the length to it?",
     ("batch_size], padding=True, truncation=True", "batch_size], padding=True"))

slip("embed", "sorted_by_length", "The vectors are in the order of the texts' lengths.",
     "Sorting saves padding. But you must then put the vectors back into the order of the texts.",
     ("    encoder.eval()\n", "    encoder.eval()\n    texts = sorted(texts, key=len)\n"))


# ---------------------------------------------------------------------------------- learning_curve

slip("learning_curve", "orders_ignored",
     "Every repeat takes the first rows of the data, whatever its order says.",
     "All your repeats are the same, so the deviation is 0. Each repeat has its own order of the rows.",
     ("some = order[:size]", "some = np.arange(size)"))

slip("learning_curve", "the_rest_of_the_order",
     "The model is trained on the rows that come after the first ones.",
     "`order[size:]` is what is left *after* the first rows. With a small size, you train on nearly "
     "everything.",
     ("order[:size]", "order[size:]"))

slip("learning_curve", "the_end_of_the_order", "The last rows of each order are taken.",
     "You take the last rows of each order. Take the first ones: then everybody who uses the same orders "
     "trains on the same rows.",
     ("order[:size]", "order[-size:]"))

slip("learning_curve", "measured_on_training_rows",
     "Every accuracy is 1, as on the rows that the model was trained on.",
     "A model knows the rows that it was trained on. Only other rows show how good it is: measure the "
     "share of all test rows that it gets right.",
     ("predict(test_features) == test_labels", "predict(features[some]) == labels[some]"))

slip("learning_curve", "measured_on_all_training_rows", "The accuracy is measured on all training rows.",
     "The model was trained on some of these rows. Measure on the test set instead.",
     ("predict(test_features) == test_labels", "predict(features) == labels"))

slip("learning_curve", "mean_over_sizes", "The mean is taken over the sizes.",
     "Return one number for each size, averaged over the repeats. You have averaged over the other axis.",
     ("accuracy.mean(axis=0), accuracy.std(axis=0, ddof=1)", "accuracy.mean(axis=1), accuracy.std(axis=1, ddof=1)"))

slip("learning_curve", "divided_by_repeats",
     "The denominator of the deviation is the number of repeats, not one less.",
     "You measure how much these repeats differ, not how much all possible repeats would. With few "
     "repeats, divide by their number minus 1.",
     (", ddof=1", ""))

slip("learning_curve", "variance", "The variance is returned, not the standard deviation.",
     "The variance has squared units. Its square root can be compared with the accuracy.",
     ("accuracy.std(", "accuracy.var("))

slip("learning_curve", "standard_error", "The deviation is divided by the root of the number of repeats.",
     "You return the standard error: how far off the *mean* may be. The exercise asks how far off a single "
     "run may be.",
     ("accuracy.std(axis=0, ddof=1)", "accuracy.std(axis=0, ddof=1) / len(orders) ** 0.5"))

slip("learning_curve", "error_rate", "The share of wrong predictions is returned.",
     "Your curve falls where it should rise, because you count mistakes.",
     ("predict(test_features) == test_labels", "predict(test_features) != test_labels"))

slip("learning_curve", "sizes_sorted", "The results are in the order of rising sizes.",
     "Return the results in the order in which the sizes are given. Yours are in another order.",
     ("enumerate(sizes)", "enumerate(sorted(sizes))"))


# ---------------------------------------------------------------------------------- LoRALinear

slip("LoRALinear", "BaseIsTrained", "Parameters of the base still require gradients.",
     "The point of LoRA is that the large matrix does not change. So it needs no gradient and no optimizer "
     "state.",
     ("requires_grad_(False)", "requires_grad_(True)"))

slip("LoRALinear", "BiasIsTrained", "A parameter of the base still requires a gradient.",
     "The base has two parameters, weight and bias. You have frozen only one of them.",
     ("        for parameter in base.parameters():\n            parameter.requires_grad_(False)\n",
      "        base.weight.requires_grad_(False)\n"))

slip("LoRALinear", "PlainTensors", "The factors are plain tensors.",
     "An optimizer sees only parameters. Wrap the tensors, so that the module registers them as parameters.",
     ("nn.Parameter(\n            torch.randn(rank, base.in_features) / base.in_features**0.5\n        )",
      "torch.randn(rank, base.in_features) / base.in_features**0.5"),
     ("nn.Parameter(torch.zeros(base.out_features, rank))", "torch.zeros(base.out_features, rank)"))

slip("LoRALinear", "FactorsAreLayers", "The factors are `nn.Linear` layers.",
     "peft does the same, and it would train. But the lab asks for two parameters named `down` and `up`. "
     "Use the weights of your two layers, without the layers.",
     ("nn.Parameter(\n            torch.randn(rank, base.in_features) / base.in_features**0.5\n        )",
      "nn.Linear(base.in_features, rank, bias=False)"),
     ("nn.Parameter(torch.zeros(base.out_features, rank))", "nn.Linear(rank, base.out_features, bias=False)"),
     ("(x @ self.down.T @ self.up.T)", "self.up(self.down(x))"),
     ("(self.up @ self.down)", "(self.up.weight @ self.down.weight)"))

slip("LoRALinear", "OtherNames", "The factors have other names.",
     "Your factors may be right. But the check looks for parameters named `down` and `up`, as the "
     "docstring says.",
     ("self.down = nn.Parameter(", "self.A = nn.Parameter("), ("self.up = nn.Parameter(", "self.B = nn.Parameter("),
     ("(x @ self.down.T @ self.up.T)", "(x @ self.A.T @ self.B.T)"), ("(self.up @ self.down)", "(self.B @ self.A)"))

slip("LoRALinear", "NothingIsTrained", "No gradient arrives at the factors.",
     "The values are right, but no gradient gets back to the factors, so training cannot change them. "
     "Where in your code does PyTorch stop recording?",
     ("return self.base(x) + self.scale * (x @ self.down.T @ self.up.T)",
      "return self.base(x) + self.scale * (x @ self.down.T @ self.up.T).detach()"))

slip("LoRALinear", "NoGradientAtAll", "No gradient goes through the layer.",
     "The values are right, but PyTorch records nothing here. So neither the factors nor any layer below "
     "can learn. Only merging needs no gradients.",
     ("return self.base(x) + self.scale * (x @ self.down.T @ self.up.T)",
      "return (self.base(x) + self.scale * (x @ self.down.T @ self.up.T)).detach()"))

slip("LoRALinear", "DownIsCutOff", "No gradient arrives at `down`.",
     "Only one of the two factors can learn. What stops the gradient between the output and `down`?",
     ("(x @ self.down.T @ self.up.T)", "(x @ self.down.detach().T @ self.up.T)"))

slip("LoRALinear", "BothZero", "Both factors start at zero.",
     "If both factors are zero, both gradients are zero, too, because each is multiplied by the other "
     "factor. So nothing will ever change.",
     ("torch.randn(rank, base.in_features) / base.in_features**0.5", "torch.zeros(rank, base.in_features)"))

slip("LoRALinear", "UpStartsAtRandom", "The correction is not zero at the start.",
     "Before the first step, the layer should give exactly what the pretrained one gives. So one of the "
     "factors must start at zero.",
     ("torch.zeros(base.out_features, rank)", "torch.ones(base.out_features, rank)"),
     ("torch.randn(rank, base.in_features)", "torch.ones(rank, base.in_features)"))

slip("LoRALinear", "DownStartsAtZero", "`down` starts at zero, and `up` does not.",
     "The product is zero this way, too. But in the paper, `up` starts at zero, and the same is true of "
     "adapters that you may want to load.",
     ("torch.randn(rank, base.in_features) / base.in_features**0.5", "torch.zeros(rank, base.in_features)"),
     ("torch.zeros(base.out_features, rank)", "torch.randn(base.out_features, rank)"))

slip("LoRALinear", "NotScaled", "The correction is not multiplied by alpha / r.",
     "Without this factor, a different rank would need a different learning rate.",
     ("self.scale = alpha / rank", "self.scale = 1.0"))

slip("LoRALinear", "AlphaOnly", "The correction is multiplied by alpha.",
     "The factor is alpha divided by the rank. If the rank is larger, there are more directions, and each "
     "one gets less weight.",
     ("alpha / rank", "alpha"))

slip("LoRALinear", "UpsideDown", "The correction is multiplied by r / alpha.",
     "The fraction is upside down. A larger alpha should make the correction larger.",
     ("alpha / rank", "rank / alpha"))

slip("LoRALinear", "BaseForgotten", "The output is the correction alone.",
     "The output of the pretrained layer is missing. Add the correction to it.",
     ("return self.base(x) + self.scale", "return self.scale"))

slip("LoRALinear", "BiasForgotten", "The bias of the base is missing in the output.",
     "You use the base's matrix without its bias. Call the base itself.",
     ("self.base(x) +", "x @ self.base.weight.T +"))

slip("LoRALinear", "MergedWithoutScale", "The merged layer lacks the factor.",
     "`forward` multiplies the correction by alpha / r, but `merged` does not.",
     ("self.base.weight + self.scale * (self.up @ self.down)", "self.base.weight + self.up @ self.down"))

slip("LoRALinear", "MergedWithoutBias", "The merged layer does not have the bias of the base.",
     "A new layer has its own bias. Which numbers must it contain, so that the merged layer gives the same "
     "as yours?",
     ("            layer.bias.copy_(self.base.bias)\n", "            layer.bias.fill_(0.0)\n"))

slip("LoRALinear", "MergedSharesBias", "The merged layer has the very bias of the base, not a copy.",
     "Both layers now hold one tensor: whatever changes the bias of the merged layer changes the base, too. "
     "Copy the numbers into the new layer's own bias.",
     ("            layer.bias.copy_(self.base.bias)\n", "            layer.bias = self.base.bias\n"))

slip("LoRALinear", "MergedInPlace", "Merging changes the base.",
     "You add the correction to the base itself. If you merge twice or continue training, it counts twice.",
     ("layer.weight.copy_(self.base.weight + self.scale * (self.up @ self.down))",
      "layer.weight.copy_(self.base.weight.add_(self.scale * (self.up @ self.down)))"))


# ---------------------------------------------------------------------------------- bootstrap_interval

slip("bootstrap_interval", "theirs_minus_ours", "Our accuracy is subtracted from theirs.",
     "The sign is wrong: a positive difference should mean that we are better.",
     ("ours.astype(float) - theirs.astype(float)", "theirs.astype(float) - ours.astype(float)"))

slip("bootstrap_interval", "not_in_pairs", "The two models are not compared on the same texts.",
     "Each model gets different texts, so a model may win only because its texts are easier. Use the same "
     "texts for both.",
     ("difference[draws].mean(axis=1)",
      "ours[draws].mean(axis=1) - theirs[np.roll(draws, 1, axis=0)].mean(axis=1)"))

slip("bootstrap_interval", "drawn_in_another_order", "The two models do not get the same resample.",
     "Each resample is a set of texts for *both* models. If the second model gets the resamples in another "
     "order, the luck of the draw no longer cancels out.",
     ("difference[draws].mean(axis=1)", "ours[draws].mean(axis=1) - theirs[draws[::-1]].mean(axis=1)"))

slip("bootstrap_interval", "intervals_of_both", "An interval is computed for each model, and then one is subtracted from the other.",
     "You combine the worst luck of one model with the best luck of the other. But on the same texts, both "
     "have much the same luck. Take the difference in each resample first.",
     ("    low, high = np.quantile(results, [tail, 1 - tail])\n",
      "    mine = np.quantile(ours.astype(float)[draws].mean(axis=1), [tail, 1 - tail])\n"
      "    other = np.quantile(theirs.astype(float)[draws].mean(axis=1), [tail, 1 - tail])\n"
      "    low, high = mine[0] - other[1], mine[1] - other[0]\n"))

slip("bootstrap_interval", "ends_subtracted", "The ends of two intervals are subtracted, low from low and high from high.",
     "The two low ends belong to different resamples, so no single resample has this difference. Subtract "
     "within each resample, then take the quantiles.",
     ("    low, high = np.quantile(results, [tail, 1 - tail])\n",
      "    mine = np.quantile(ours.astype(float)[draws].mean(axis=1), [tail, 1 - tail])\n"
      "    other = np.quantile(theirs.astype(float)[draws].mean(axis=1), [tail, 1 - tail])\n"
      "    low, high = mine - other\n"))

slip("bootstrap_interval", "ours_only", "The interval is for our accuracy alone.",
     "The other model does not appear in your numbers. The exercise asks for the difference.",
     (" - theirs.astype(float)", ""))

slip("bootstrap_interval", "tail_not_halved",
     "Each side leaves out 1 - level of the results instead of half of it.",
     "With a level of 0.95, a share of 0.05 lies outside: 0.025 on each side. Your interval is too narrow.",
     ("(1 - level) / 2", "1 - level"))

slip("bootstrap_interval", "always_95", "The level is always 95 %.",
     "The level is an argument. 95 % is only its default.",
     ("(1 - level) / 2", "0.025"))

slip("bootstrap_interval", "lowest_and_highest", "The interval reaches from the lowest to the highest result.",
     "With more resamples, the lowest and the highest result move further apart. The quantiles do not.",
     ("np.quantile(results, [tail, 1 - tail])", "results.min(), results.max()"))

slip("bootstrap_interval", "mean_over_resamples", "The mean is taken over the resamples.",
     "Each resample has one result: the mean over its texts. You have averaged over the other axis.",
     ("mean(axis=1)", "mean(axis=0)"))

slip("bootstrap_interval", "sum", "The differences are added up.",
     "You compute by how many texts one model is ahead. An accuracy is a share.",
     ("difference[draws].mean(axis=1)", "difference[draws].sum(axis=1)"))

slip("bootstrap_interval", "no_resampling", "The quantiles are those of single texts, not of means over resamples.",
     "These are quantiles of single texts, which are -1, 0 or 1. Only the resamples show how far off the "
     "*mean* may be.",
     ("difference[draws].mean(axis=1)", "difference"))

slip("bootstrap_interval", "normal_interval", "The interval is the mean plus and minus 1.96 deviations.",
     "This is another kind of interval. It assumes a bell curve and a level of 95 %. Take the quantiles of "
     "the results instead.",
     ("low, high = np.quantile(results, [tail, 1 - tail])",
      "low, high = results.mean() - 1.96 * results.std(), results.mean() + 1.96 * results.std()"))


# ---------------------------------------------------------------------------------- calibration_error

slip("calibration_error", "equal_width", "The bins are equally wide.",
     "You compute the error of lab 07. Here, every bin contains equally many texts, however far apart "
     "their confidences are.",
     ("np.array_split(np.argsort(confidence), bins)",
      "[np.flatnonzero(np.minimum((confidence * bins).astype(int), bins - 1) == each) for each in range(bins)]"),
     ("        error += (len(rows) / len(labels)\n                  * abs(right[rows].mean() - confidence[rows].mean()))",
      "        error += abs(right[rows].sum() - confidence[rows].sum()) / len(labels)"))

slip("calibration_error", "not_sorted", "The texts are put into bins in the order in which they are given.",
     "A bin should contain texts about which the model is equally sure. Sort by confidence first.",
     ("np.argsort(confidence)", "np.arange(len(labels))"))

slip("calibration_error", "signs_cancel",
     "Distances above and below zero cancel each other, as if there were only one bin.",
     "Your result is the distance between mean confidence and accuracy over *all* texts. Each bin has its "
     "own distance, and a distance has no sign.",
     ("abs(right[rows].mean() - confidence[rows].mean())", "(confidence[rows].mean() - right[rows].mean())"))

slip("calibration_error", "squared", "Distances are squared.",
     "The error uses the distances as they are. If they are squared, small ones hardly count.",
     ("abs(right[rows].mean() - confidence[rows].mean())", "(right[rows].mean() - confidence[rows].mean()) ** 2"))

slip("calibration_error", "largest_distance", "The largest distance is returned.",
     "You return the maximum calibration error. The expected one is a mean.",
     ("error += (len(rows) / len(labels)\n                  * abs(right[rows].mean() - confidence[rows].mean()))",
      "error = max(error, abs(right[rows].mean() - confidence[rows].mean()))"))

slip("calibration_error", "bins_not_weighted", "The bins are not weighted by their texts.",
     "Some bins have one text more than others. These larger bins should count a little more.",
     ("len(rows) / len(labels)", "1 / bins"))

slip("calibration_error", "probability_of_the_true_class",
     "The probability of the true class is used as the confidence.",
     "When a model is used, nobody knows the true class. Confidence is the probability of the class that "
     "the model chooses.",
     ("probabilities.max(axis=1)", "probabilities[np.arange(len(labels)), labels]"))

slip("calibration_error", "error_rate_compared", "Confidence is compared with the share that is wrong.",
     "A confidence of 0.9 should mean that 90 % are right. You compare it with the share that is wrong.",
     ("axis=1) == labels", "axis=1) != labels"))

slip("calibration_error", "rest_dropped", "The texts that do not fill a bin are dropped.",
     "If the number of texts cannot be divided by the number of bins, some texts are left over. You drop "
     "them, but they count, too: the model is surest about them.",
     ("np.argsort(confidence), bins", "np.argsort(confidence)[: len(labels) // bins * bins], bins"))

slip("calibration_error", "ten_bins_always", "There are always ten bins.",
     "The number of bins is an argument. Ten is only its default.",
     ("np.argsort(confidence), bins", "np.argsort(confidence), 10"))


# ---------------------------------------------------------------------------------- best_temperature

slip("best_temperature", "multiplied", "The logits are multiplied by the temperature.",
     "A high temperature should make the model less sure. So divide by it.",
     ("logits / temperature", "logits * temperature"))

slip("best_temperature", "place_returned", "The position in the list of candidates is returned.",
     "`argmin` gives a position. The exercise asks for the temperature at that position.",
     ("float(candidates[np.argmin(losses)])", "float(np.argmin(losses))"))

slip("best_temperature", "highest_loss", "The temperature with the highest loss is chosen.",
     "A negative log-likelihood is a loss: lower is better.",
     ("np.argmin(losses)", "np.argmax(losses)"))

slip("best_temperature", "by_accuracy", "The first candidate is always chosen.",
     "If all losses are equal or NaN, the first candidate wins. Which of these is true of yours? For "
     "example, dividing all logits by the same number does not change their order, so the accuracy is "
     "always the same.",
     ("losses.append(-log_shares[np.arange(len(labels)), labels].mean())",
      "losses.append(-(log_shares.argmax(axis=1) == labels).mean())"))

slip("best_temperature", "overflow", "For large logits an exponential overflows or becomes 0.",
     "The exponential of 1,000 is infinite. The exponential of -1,000 is 0, and its logarithm is minus "
     "infinity. Subtract each row's own largest logit first.",
     ("        scaled = scaled - scaled.max(axis=1, keepdims=True)\n", ""))

slip("best_temperature", "logarithm_of_zero",
     "The logarithm of the probabilities is taken, and some of them are 0.",
     "For the computer, the exponential of -1,000 is 0, and the logarithm of 0 is minus infinity. Then all "
     "losses are infinite, and the first candidate wins. Compute the logarithm without the probability: it "
     "is the score minus the logarithm of the sum.",
     ("        losses.append(",
      "        with np.errstate(divide=\"ignore\"):\n"
      "            log_shares = np.log(np.exp(log_shares))\n"
      "        losses.append("))

slip("best_temperature", "logarithm_forgotten", "The mean probability of the true class is maximised.",
     "Without the logarithm, a text about which the model is sure but wrong costs hardly more than one "
     "about which it is unsure.",
     ("-log_shares[np.arange(len(labels)), labels].mean()",
      "-np.exp(log_shares)[np.arange(len(labels)), labels].mean()"))

slip("best_temperature", "over_the_texts", "The softmax is taken over the texts.",
     "Each text has its own probabilities, which sum to 1 over the classes.",
     ("axis=1, keepdims=True", "axis=0, keepdims=True", 2))

slip("best_temperature", "squared_distances", "Squared distances are minimised.",
     "You compute Brier's score. It is another good measure, but its best temperature is a little "
     "different. The exercise asks for the likelihood.",
     ("-log_shares[np.arange(len(labels)), labels].mean()",
      "((np.exp(log_shares) - np.eye(logits.shape[1])[labels]) ** 2).sum(axis=1).mean()"))

slip("best_temperature", "inverse", "One divided by the temperature is returned.",
     "You return the number to multiply by. The temperature is the number to divide by.",
     ("float(candidates[np.argmin(losses)])", "float(1 / candidates[np.argmin(losses)])"))


# ---------------------------------------------------------------------------------- model_card

slip("model_card", "no_first_dashes", "The card does not begin with three dashes, then the front matter, then three dashes again.",
     "One line of dashes is the first of the card, the other one ends the front matter. Without both, it is ordinary text, "
     "and the hub knows neither the licence nor the language.",
     ('lines = ["---"]', "lines = []"))

slip("model_card", "no_license", "The licence is missing in the front matter.",
     "Strictly speaking, nobody may use your model without a licence.",
     ('("license", "language", "base_model", "pipeline_tag")', '("language", "base_model", "pipeline_tag")'))

slip("model_card", "no_base_model", "The base model is missing in the front matter.",
     "Most of what your model knows comes from another model. So do its licence and its faults. Say which "
     "model that is.",
     ('"language", "base_model", "pipeline_tag"', '"language", "pipeline_tag"'))

slip("model_card", "in_percent", "Accuracy and baseline are given in percent.",
     "The card gives shares between 0 and 1, with three decimals. Readers compare them with other cards.",
     ("{facts['accuracy']:.3f}", "{100 * facts['accuracy']:.3f}"),
     ("{facts['baseline']:.3f}", "{100 * facts['baseline']:.3f}"))

slip("model_card", "no_interval", "The interval is missing.",
     "An accuracy without an interval looks more certain than it is.",
     ('    lines += [f"| 95 % interval | {low:.3f} to {high:.3f} |"]\n', ""))

slip("model_card", "half_of_the_interval", "Only the low end of the interval is given.",
     "An interval has two ends, and readers need both.",
     (" to {high:.3f} |", " |"))

slip("model_card", "no_baseline", "The baseline is missing.",
     "An accuracy of 0.61 may be good or poor. If readers see that always giving the same answer reaches "
     "0.18, they can tell.",
     ('    lines += [f"| majority baseline | {facts[\'baseline\']:.3f} |"]\n', ""))

slip("model_card", "training_for_test", "The numbers of training and test texts are swapped.",
     "Read your table again. How many texts was the model trained on, and how many was it measured on?",
     ("test texts | {facts['test_texts']}", "test texts | {facts['training_texts']}"),
     ("training texts | {facts['training_texts']}", "training texts | {facts['test_texts']}"))

slip("model_card", "first_limit_only", "Only the first limit is an item of the list.",
     "There may be several limits. Each one needs its own line, which begins with a dash.",
     ('for limit in facts["limits"]]', 'for limit in facts["limits"][:1]]'))

slip("model_card", "no_limits", "There is no section about limits.",
     "Users need to know above all where a model fails.",
     ('    lines += ["", "## Limits", ""]\n    lines += [f"- {limit}" for limit in facts["limits"]]\n', ""))

slip("model_card", "rounded_too_much", "Numbers do not have three decimals.",
     "Give three decimals everywhere. With fewer, different models look the same; more mean nothing for so few texts.",
     ("{facts['accuracy']:.3f}", "{facts['accuracy']:.1f}"),
     ("{facts['calibration_error']:.3f}", "{facts['calibration_error']:.1f}"))


# ---------------------------------------------------------------------------------- predictions

slip("predictions", "numbers_for_names", "Numbers are returned instead of labels.",
     "Nobody else knows how you numbered the labels. Return their names.",
     ("LIBRARIES[int(digit)]", "int(digit)"))

slip("predictions", "digits_for_names", "The digits themselves are returned.",
     "Each digit stands for a name in `LIBRARIES`. Convert it to a number and look up the name.",
     ("[LIBRARIES[int(digit)] for digit in digits]", "list(digits)"))

slip("predictions", "first_line_only", "There are too few labels, or too many.",
     "The 300 texts need four lines of 75 digits. Do you use each of them once?",
     ("for digit in digits]", "for digit in digits[:75]]"))

slip("predictions", "counted_from_1", "The labels are counted from 1.",
     "Digit 0 stands for the first name. In your code, every prediction is the label before the one that "
     "was meant.",
     ("int(digit)]", "int(digit) - 1]"))

slip("predictions", "reversed_order", "The predictions are in reverse order.",
     "You return the last prediction first. The first prediction must be for the first text.",
     ("for digit in digits]", "for digit in reversed(digits)]"))

slip("predictions", "sorted_order", "The predictions are sorted.",
     "After sorting, the predictions no longer belong to their texts. Keep them in the order of the texts.",
     ("for digit in digits]", "for digit in sorted(digits)]"))

slip("predictions", "shifted_by_one", "Every prediction is the one for the text before.",
     "The predictions are shifted by one text. Is there something at the front that does not belong there?",
     ("for digit in digits]", "for digit in digits[-1] + digits[:-1]]"))

slip("predictions", "always_the_same", "Every text gets the same label.",
     "Always giving the same label is the baseline of this lab. A model should do better.",
     ("int(digit)]", "0]"))
