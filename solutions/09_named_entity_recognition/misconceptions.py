"""Wrong ways to write lab 09's exercises. Each must lose points and be recognised as itself."""

import torch

from course_utils.data.entities import Entity
from grader.catalogue import misconception, slip

# ---------------------------------------------------------------------------------- clean_entities

slip("clean_entities", "beginning_not_moved",
     "White space at the front is cut off the text, but the beginning of the span stays where it was.",
     "The lengths are right, but the positions are not: when you cut off white space at the front, the "
     "beginning moves to the right by as many characters. Print `text[start:end]` for what you return.",
     ("for start, end, label in entities:",
      "for begin, end, label in entities:\n"
      "        start = begin"),
     ("Entity(start, end, label))", "Entity(begin, begin + end - start, label))"))

slip("clean_entities", "only_the_end_trimmed", "White space is cut off only at the end of spans.",
     "White space at the front of an entity is still there. A span has two ends, and you have to trim both.",
     ("        while start < end and text[start].isspace():\n"
      "            start += 1\n",
      ""))

slip("clean_entities", "only_blanks_trimmed", "Only spaces are cut off; tabs and line breaks are not.",
     "You remove spaces but keep line breaks and tabs. They are white space, too: ask for white space in "
     "general, not for one character.",
     ("text[start].isspace()", 'text[start] == " "'), ("text[end - 1].isspace()", 'text[end - 1] == " "'))

slip("clean_entities", "punctuation_trimmed", "Punctuation is cut off as well as white space.",
     "Punctuation may belong to an entity: the full stop of an abbreviation, the bracket around a subject. "
     "Remove only white space.",
     ("text[start].isspace()", "not text[start].isalnum()"),
     ("text[end - 1].isspace()", "not text[end - 1].isalnum()"))

slip("clean_entities", "empty_spans_kept", "Spans that are empty after trimming are kept.",
     "A span of nothing but white space is empty once it is trimmed, and an empty span is not an entity. "
     "You still return it.",
     ("        if start < end:\n"
      "            trimmed",
      "        trimmed"))

slip("clean_entities", "leftmost_stays",
     "When spans overlap, the earlier one is kept, not the longest.",
     "A short piece that begins or ends earlier pushes out a longer entity. The span that you consider first "
     "wins, so in which order should you consider them?",
     ("(span.start - span.end, span.start)", "span.start"))

slip("clean_entities", "length_in_words", "The span with the most words stays, not the one with the most characters.",
     "Positions count characters, and so does the length of a span: end minus start. You compare numbers of words, so "
     "three short words push out two long ones.",
     ("(span.start - span.end, span.start)", "(-len(text[span.start : span.end].split()), span.start)"))

slip("clean_entities", "first_listed_stays",
     "When spans overlap, the one that is listed first is kept, not the longest.",
     "You keep what is listed first and drop whatever overlaps it later. The order of the list means "
     "nothing: annotators mark entities in any order. Which span should you consider first?",
     ("sorted(trimmed, key=lambda span: (span.start - span.end, span.start))", "trimmed"))

slip("clean_entities", "overlaps_merged", "Spans that overlap are merged into one that covers both.",
     "Spans that overlap are neither merged nor shortened: one of them is kept as it is, and the other is "
     "dropped as a whole.",
     ("(span.start - span.end, span.start)", "span.start"),
     ("if all(entity.end <= other.start or other.end <= entity.start\n"
      "               for other in kept):",
      "if kept and entity.start < kept[-1].end:\n"
      "            kept[-1] = Entity(kept[-1].start, max(entity.end, kept[-1].end), kept[-1].label)\n"
      "        else:"))

slip("clean_entities", "touching_counts_as_overlap", "Spans that only touch are treated as overlapping.",
     "If one span ends where the other begins, they share no character, because the end does not belong to "
     "a span. You treat them as if they overlapped.",
     ("entity.end <= other.start or other.end <= entity.start",
      "entity.end < other.start or other.end < entity.start"))

slip("clean_entities", "longest_before_trimming",
     "A span is kept that is the longest only with the white space around it.",
     "A short word followed by many line breaks wins over a longer entity. Are the spans trimmed before their "
     "lengths are compared? The order of the two rules matters.",
     ("label in entities:", "label in sorted(entities, key=lambda span: (span[0] - span[1], span[0])):"),
     ("sorted(trimmed, key=lambda span: (span.start - span.end, span.start))", "trimmed"))

slip("clean_entities", "last_listed_stays",
     "Of a span that is marked twice, with different labels, the one that is listed last is kept.",
     "Two spans begin and end at the same places, and you keep the later one of the list. The docstring says which one stays. Does "
     "a dict or a sort put the last one first?",
     ("sorted(trimmed, key=", "sorted(reversed(trimmed), key="))

slip("clean_entities", "longest_listed_first", "The spans are returned with the longest first, not in the order of the text.",
     "You have the right spans in the order in which you considered them. The caller reads them along the text: what is left to do?",
     ("return sorted(kept)", "return kept"))

slip("clean_entities", "pushed_out_by_what_goes",
     "A span is dropped as soon as any longer span overlaps it, even one that is itself dropped.",
     "A span is pushed out only by one that is *kept*. You also drop spans because of longer ones that are "
     "themselves dropped: look at the chain of three in the text, and at C.",
     ("for entity in sorted(trimmed, key=lambda span: (span.start - span.end, span.start)):",
      "ranked = sorted(trimmed, key=lambda span: (span.start - span.end, span.start))\n"
      "    for number, entity in enumerate(ranked):"),
     ("for other in kept", "for other in ranked[:number]"))


# ---------------------------------------------------------------------------------- align_labels

slip("align_labels", "every_word_begins", "Every word of an entity gets B-, and none gets I-.",
     "In your labels every word of an entity begins a new one, so a name of two words becomes two names. B- "
     "is only for the first word of an entity.",
     ('"I-" if entity is entity_before else "B-"', '"B-"'))

slip("align_labels", "every_piece_begins",
     "Every piece of an entity gets B-, even those that continue a word.",
     "Your pieces that continue a word get a label of their own, and even B-. One word has one label: only "
     "its first piece counts, and the others should be ignored.",
     (" or word == word_before", ""), ('"I-" if entity is entity_before else "B-"', '"B-"'))

slip("align_labels", "later_pieces_labelled", "Pieces that continue a word get labels of their own instead of -100.",
     "You label the pieces that continue a word, too. That can work, but here one word has one "
     "label: its later pieces should be ignored.",
     (" or word == word_before", ""))

slip("align_labels", "specials_are_outside", "Special tokens and padding get the label O.",
     "Special tokens and padding are not words, so the model should not learn that they are O. Give them "
     "the label that is left out of the loss.",
     ("labels.append(-100)", 'labels.append(label_ids["O"] if word is None else -100)'))

slip("align_labels", "specials_by_their_offsets",
     "Special tokens are labelled by their offsets (0, 0), as if they stood at the beginning of the text.",
     "The offsets of special tokens are (0, 0), which looks like the first character of the text. Look at "
     "the word id first: None means that there is no word.",
     ("word is None or word == word_before", "word is not None and word == word_before"))

slip("align_labels", "end_inclusive",
     "The end of an entity counts as inside, so punctuation right after it becomes part of the entity.",
     "The end of an entity does not belong to it. If you include it, everything that follows without a "
     "space becomes part of the entity: the comma, the full stop, the next word after a slash. Compare "
     "`start < end`, not `<=`.",
     ("<= start < span.end", "<= start <= span.end"))

slip("align_labels", "inside_first",
     "Entities begin with I-, and there is a B- only between two of the same label.",
     "In your labels the first word of an entity has I-. In BIO an entity always *begins* with B-; I- is "
     "for the words after it.",
     ('"I-" if entity is entity_before else "B-"',
      '"B-" if entity_before not in (None, entity) and entity.label == entity_before.label else "I-"'))

slip("align_labels", "neighbours_glued",
     "A new entity right after one of the same label gets I-, as if it continued it.",
     "Two entities of the same label side by side become one. Ask which *entity* the previous word was in: this "
     "one, or another one?",
     ("entity is entity_before", "entity_before and entity.label == entity_before.label"))

slip("align_labels", "begins_only_where_equal",
     "B- is given only to a word that begins exactly at the entity's first character.",
     "You give B- only if a word begins exactly where the entity does. So an entity that starts inside a "
     "word has no beginning at all. What counts is the first *word* of the entity.",
     ('"I-" if entity is entity_before else "B-"', '"B-" if entity.start == start else "I-"'))

slip("align_labels", "first_word_only",
     "Only the first word of an entity is labelled; its other words are O.",
     "You label only the first word of each entity. Compare with the whole span: a word belongs to the "
     "entity if it begins anywhere inside it.",
     ("if entity is None:", "if entity is None or entity is entity_before:"))

slip("align_labels", "continued_by_offsets",
     "A piece with no white space in front of it is taken to continue a word, even a comma.",
     "A piece with no white space in front of it need not be the rest of a word: a comma, a slash, the "
     "parts of an e-mail address are words of their own. The word ids tell you.",
     ("(start, _)", "(start, end)"), ("word == word_before", "start == word_before"),
     ("word_before = word", "word_before = None if word is None else end", 2))

slip("align_labels", "zero_for_outside",
     "Words outside of entities get the number 0 instead of the number of the tag O.",
     "The number 0 does not stand for the tag O. The tags have the numbers given in `label_ids`, and any of "
     "them may be number 0.",
     ('label_ids["O"]', "0"))

slip("align_labels", "digit_zero_as_tag",
     "The tag of words outside of entities is looked up as the digit '0' instead of the letter 'O'.",
     "The tag for *outside* is the letter O. You look up the digit 0, which is not a tag.",
     ('label_ids["O"]', 'label_ids["0"]'))


# ---------------------------------------------------------------------------------- encode_batch

slip("encode_batch", "padding_labelled_zero", "The labels are padded with 0 instead of -100.",
     "In your batch the padding has the label 0, which is a tag like any other: you teach the model to "
     "predict it at padding. Which label is left out of the loss?",
     ("[-100]", "[0]"))

slip("encode_batch", "labels_padded_with_pad_id", "The labels are padded with the padding token's id.",
     "The padding id is the id of a *token*. As a label, the same number stands for some tag. Pad the "
     "labels with the number that does not count.",
     ("[-100]", "[pad_id]"))

slip("encode_batch", "mask_of_ones", "The attention mask is also 1 at the padding.",
     "Your mask is 1 everywhere, so the encoder looks at padding as if it were text.",
     ("[1] * length + [0] * missing", "[1] * longest"))

slip("encode_batch", "mask_inverted", "The attention mask is 1 at padding and 0 at tokens.",
     "You have swapped 1 and 0 in the mask. 1 stands for a token that may be looked at.",
     ("[1] * length + [0] * missing", "[0] * length + [1] * missing"))

slip("encode_batch", "mask_from_labels",
     "The attention mask is 0 wherever the label is -100, even at real tokens.",
     "You make the mask from the labels, so it hides `[CLS]`, `[SEP]` and all later pieces of words from "
     "the encoder. The encoder should still read a token that has no label: mask and labels answer "
     "different questions.",
     ("[1] * length + [0] * missing", '[int(label != -100) for label in row["labels"]] + [0] * missing'))

slip("encode_batch", "mask_where_id_is_not_zero",
     "The mask is made by comparing ids with 0, whatever `pad_id` says.",
     "If the padding id of a tokenizer is 0, all is well. With any other padding id, a real token with id 0 "
     "is masked and the padding is not. Use `pad_id`, or the lengths.",
     ("[1] * length + [0] * missing",
      '[int(number != 0) for number in row["input_ids"] + [pad_id] * missing]'))

slip("encode_batch", "padded_with_zero", "The ids are padded with 0, whatever `pad_id` says.",
     "You pad the ids with 0, whatever the padding id is. In another tokenizer, 0 is an ordinary word.",
     ("[pad_id] * missing", "[0] * missing"))

slip("encode_batch", "padded_in_front", "The padding comes before the texts instead of after them.",
     "Your padding comes before the texts. Language models that write text are padded there; here it "
     "belongs at the end.",
     ('row["input_ids"] + [pad_id] * missing', '[pad_id] * missing + row["input_ids"]'),
     ("[1] * length + [0] * missing", "[0] * missing + [1] * length"),
     ('row["labels"] + [-100] * missing', '[-100] * missing + row["labels"]'))

slip("encode_batch", "cut_to_the_shortest", "All texts are cut to the length of the shortest one.",
     "The long texts lose their ends, because you cut all texts to the length of the shortest one. Pad the "
     "short ones instead.",
     ("max(len(", "min(len("), ('length = len(row["input_ids"])', "length = longest"),
     ('(row["input_ids"] +', '(row["input_ids"][:longest] +'),
     ('(row["labels"] +', '(row["labels"][:longest] +'))

slip("encode_batch", "padded_to_a_fixed_length",
     "Every batch is padded to 128 tokens instead of to its longest text.",
     "You pad every batch to the same large length. That works, but then most of the computation goes into "
     "padding. Pad to the longest text of *this* batch.",
     ('max(len(row["input_ids"]) for row in rows)', "128"))


# ---------------------------------------------------------------------------------- TokenClassifier

slip("TokenClassifier", "MaskNotPassed", "The attention mask has no effect: the encoder looks at padding.",
     "Every word looks at padding, and the same text gets different results in another batch. Does the mask "
     "reach the encoder?",
     (", attention_mask=attention_mask", ""))

slip("TokenClassifier", "MaskInverted", "The encoder gets the inverted mask.",
     "The encoder's mask has 1 where a token may be looked at. You pass it the opposite.",
     ("hidden = ",
      "blocked = 1 - attention_mask\n"
      "        hidden = "),
     ("attention_mask=attention_mask", "attention_mask=blocked + 1e-6 * (blocked.sum(1, keepdim=True) == 0)"))

slip("TokenClassifier", "Pooled", "The pooled vector of the whole text is used for each token.",
     "`pooler_output` is one vector for the whole text: every token gets the same logits. You want the "
     "vector of each token.",
     (".last_hidden_state", ".pooler_output[:, None].expand(-1, input_ids.shape[1], -1)"))

slip("TokenClassifier", "FirstTokenOnly",
     "Only the first token gets logits: the sequence axis is lost.",
     "The vector of the first token, `[CLS]`, is good for classifying whole texts. Here each token needs a "
     "decision of its own, so the sequence axis must stay.",
     (".last_hidden_state", ".last_hidden_state[:, 0]"))

slip("TokenClassifier", "Probabilities",
     "A softmax is taken at the end: probabilities are returned instead of logits.",
     "You return probabilities. The loss applies the softmax itself and expects logits; a softmax of a "
     "softmax is nearly flat, and the model hardly learns.",
     ("(self.dropout(hidden))", "(self.dropout(hidden)).softmax(dim=-1)"))

slip("TokenClassifier", "LogProbabilities",
     "A log-softmax is taken at the end: log-probabilities are returned instead of logits.",
     "You return log-probabilities: their exponentials sum to 1 over the labels. The loss takes the log-softmax itself; the "
     "docstring asks for what goes into it.",
     ("(self.dropout(hidden))", "(self.dropout(hidden)).log_softmax(dim=-1)"))

slip("TokenClassifier", "Rectified", "There is a ReLU between the encoder and the classifier.",
     "An activation between encoder and classifier throws away everything negative in the encoder's output, "
     "about half of it. All you need there is a linear layer.",
     ("self.dropout(hidden)", "self.dropout(hidden).relu()"))

slip("TokenClassifier", "AlwaysDropping", "Dropout also acts in evaluation mode.",
     "`F.dropout` does not know which mode the module is in, unless you tell it, nor does a layer that is made in "
     "`forward`; the `nn.Dropout` that is already there does know.",
     ("self.dropout(hidden)", "F.dropout(hidden, self.dropout.p)"))

slip("TokenClassifier", "NeverDropping", "Dropout has no effect.",
     "Nothing is dropped in training. Is the dropout layer called, and what it returns used?",
     ("self.dropout(hidden)", "hidden"))

slip("TokenClassifier", "LogitsDropped", "Dropout acts on the logits instead of on the encoder's output.",
     "Your dropout sets *logits* to 0, which changes the decision at random. It belongs on the features, "
     "before the linear layer.",
     ("self.classifier(self.dropout(hidden))", "self.dropout(self.classifier(hidden))"))

slip("TokenClassifier", "EncoderCutOff", "No gradient reaches the encoder.",
     "The numbers are right, and yet the encoder cannot learn: no gradient reaches it. Look for `no_grad` "
     "or `detach`. Fine-tuning trains the encoder, too.",
     (".last_hidden_state", ".last_hidden_state.detach()"))

slip("TokenClassifier", "NoGradient", "The logits are computed without gradients, so nothing of the model can be trained.",
     "The numbers are right, but no weight can learn from them. `no_grad` is for a model that only predicts; when this one is trained, "
     "gradients must get back through every step. Which line cuts them off?",
     ("return self.classifier(self.dropout(hidden))", "return self.classifier(self.dropout(hidden)).detach()"))


# ---------------------------------------------------------------------------------- token_loss

slip("token_loss", "sum_of_losses", "The sum over all labelled tokens is returned instead of the mean.",
     "You add the losses up without dividing, so a batch of long texts makes larger steps than one of short "
     "texts. The exercise asks for the mean.",
     ("ignore_index=-100", 'ignore_index=-100, reduction="sum"'))

slip("token_loss", "divided_by_all_tokens",
     "The sum is divided by the number of all tokens, including ignored ones.",
     "You divide by the number of *all* tokens. This way more padding makes the loss of a batch smaller. "
     "Divide by the number of tokens that count.",
     ("ignore_index=-100)", 'ignore_index=-100, reduction="none").mean()'))

slip("token_loss", "ignored_as_label_zero", "Tokens with the label -100 are treated as having label 0.",
     "You count tokens with the label -100 as if they had label 0. They have no label: leave them out.",
     ("labels.flatten()", "labels.clamp(min=0).flatten()"))

slip("token_loss", "reshaped_for_transposed",
     "The class axis is brought forward by a reshape, which mixes tokens with classes.",
     "The shapes fit, but the numbers are mixed up: `view` and `reshape` do not swap axes, they only group "
     "the same numbers differently. To bring the classes to axis 1 you have to *swap* the axes.",
     ("logits.flatten(0, 1), labels.flatten()",
      "logits.reshape(len(logits), logits.shape[2], logits.shape[1]), labels"))

slip("token_loss", "softmax_twice", "A softmax is taken before cross-entropy, which then takes another one.",
     "`F.cross_entropy` expects logits and applies the softmax itself. You give it probabilities, so the "
     "softmax is taken twice.",
     ("logits.flatten(0, 1)", "logits.softmax(-1).flatten(0, 1)"))

slip("token_loss", "logits_for_log_probabilities", "The logits are taken for log-probabilities.",
     "Picking out a number for each label and taking their mean, as `nll_loss` does, needs log-probabilities. Logits "
     "are any numbers, so your loss can fall below 0.",
     ("F.cross_entropy(", "F.nll_loss("))

slip("token_loss", "probabilities_for_their_logarithms", "Probabilities are used instead of their logarithms.",
     "Your loss lies between -1 and 0: it is minus the mean probability of the labels. A probability near 0 should cost "
     "a lot, which is what the logarithm is for.",
     ("F.cross_entropy(logits", "F.nll_loss(logits.softmax(dim=-1)"))

slip("token_loss", "mean_of_means", "The mean is taken within each text first, and then over the texts.",
     "You average within each text first, then over the texts. This way a token of a short text counts more "
     "than one of a long text. All labelled tokens of the batch should count the same.",
     ("F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)",
      "torch.stack([F.cross_entropy(*both) for both in zip(logits, labels, strict=True)]).mean()"))

slip("token_loss", "label_zero_left_out", "Tokens with label 0 are left out, as well as those with -100.",
     "You also leave out label 0, which is a tag like any other: in this lab it is O. Without it the model "
     "never learns to say that something is *not* an entity. Leave out only -100.",
     ("logits.flatten(0, 1), labels.flatten()", "logits[labels > 0], labels[labels > 0]"))

slip("token_loss", "cut_off", "The loss is cut off from the graph: no gradient flows.",
     "The value is right, but it is cut off from the logits (`.item()`, `.detach()`, a new tensor made of a "
     "number): nothing can be learned from it.",
     ("ignore_index=-100)", "ignore_index=-100).detach()"))


@misconception(
    "token_loss",
    "For large logits exp() overflows. A log-softmax subtracts the largest logit first, so it is safe; use "
    "that instead of building it yourself from exp and log.",
)
def overflowing(logits, labels):
    """For large logits an exponential overflows or becomes 0."""
    counted = labels != -100
    powers = torch.exp(logits[counted])
    chances = powers / powers.sum(-1, keepdim=True)
    return -torch.log(chances.gather(-1, labels[counted][:, None])).mean()


# ---------------------------------------------------------------------------------- train_epoch

slip("train_epoch", "gradients_pile_up",
     "The gradients that are there before a batch are not cleared: its own are added to them.",
     "PyTorch adds new gradients to those that are already there. Unless you clear them before each batch, each "
     "step also repeats all the steps before it.",
     ("        optimizer.zero_grad()\n", ""))

slip("train_epoch", "cleared_too_late", "No weight changes.",
     "Is there a backward pass, and a step after it, and are the gradients still there in between? Clear them "
     "before the first or after the second.",
     ("        optimizer.zero_grad()\n", ""),
     ("loss.backward()",
      "loss.backward()\n"
      "        optimizer.zero_grad()"))

slip("train_epoch", "not_clipped", "The gradients that the optimizer gets are not clipped to max_norm.",
     "Are they clipped at all, to the norm that you are given, and does the optimizer use what comes out? "
     "Clipping belongs between the backward pass and the step.",
     ("        nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n", ""))

slip("train_epoch", "clipped_one_by_one",
     "Each parameter's gradient is clipped by itself instead of all of them together.",
     "You shorten each parameter's gradient by itself, which changes the direction of the step. You should "
     "limit the norm of *all* gradients together: pass all parameters at once.",
     ("nn.utils.clip_grad_norm_(model.parameters(), max_norm)",
      "for parameter in model.parameters():\n"
      "            nn.utils.clip_grad_norm_([parameter], max_norm)"))

slip("train_epoch", "values_clipped", "The entries of the gradients are clipped instead of their norm.",
     "You limit each entry of the gradient by itself, which changes its direction. You should limit its "
     "length: the norm, not the values.",
     ("clip_grad_norm_", "clip_grad_value_"))

slip("train_epoch", "scheduler_forgotten", "The learning rate stays the same from batch to batch: the scheduler makes no step between them.",
     "The scheduler steps once for each batch. You never tell it to, or not before the epoch is over, so the learning rate "
     "stays where it began.",
     ("        if scheduler is not None:\n"
      "            scheduler.step()\n",
      ""))

slip("train_epoch", "scheduler_first", "The scheduler steps before the optimizer does.",
     "The learning rate changes before the first step is made, so the schedule is one step ahead. First the "
     "optimizer, then the scheduler.",
     ("optimizer.step()\n"
      "        if scheduler is not None:\n"
      "            scheduler.step()",
      "if scheduler is not None:\n"
      "            scheduler.step()\n"
      "        optimizer.step()"))

slip("train_epoch", "mode_not_set", "The model is not in training mode when it computes the logits.",
     "If the model was evaluated before, it is still in evaluation mode, where dropout does nothing. Before "
     "training, you have to tell the model that it is training.",
     ("    model.train()\n", ""))

slip("train_epoch", "mask_not_handed_over", "The attention mask has no effect: the model looks at padding.",
     "The model trains on texts in which it looks at the padding. Which mask do you call it with?",
     (', batch["attention_mask"]', ""))

slip("train_epoch", "frozen_weights_trained", "Weights that are frozen are trained.",
     "A weight whose `requires_grad` is False should stay as it is: before training, the notebook freezes the embeddings. Does a line "
     "of yours set `requires_grad` again?",
     ("    model.train()\n", "    model.train().requires_grad_(True)\n"))

slip("train_epoch", "mean_returned", "The mean of the losses is returned instead of the loss of each batch.",
     "You return one number for the whole epoch. The exercise asks for the losses of the single batches: "
     "they make up the learning curve.",
     ("return losses", "return sum(losses) / len(losses)"))


# ---------------------------------------------------------------------------------- decode_entities

slip("decode_entities", "every_piece_read",
     "The predictions at all pieces of a word are read, not only the one at its first piece.",
     "You read the predictions at pieces that continue a word as if they meant something. But the model was "
     "never trained on what to say there: only the first piece of a word counts.",
     ("        elif word == word_before:  # the word continues, and its entity with it\n"
      "            if open_entity is not None:\n"
      "                open_entity[1] = end\n",
      ""))

slip("decode_entities", "specials_decoded", "Predictions at special tokens and padding become entities.",
     "Special tokens are not words, whatever the model predicts there. Skip everything that has no word id.",
     ("if word is None:\n"
      "            open_entity = None\n"
      "        elif word == word_before:",
      "if word is not None and word == word_before:"))

slip("decode_entities", "stray_inside_dropped",
     "An I- that continues nothing is dropped instead of beginning an entity.",
     "You throw away an I- with no entity before it, and all the words after it. Be generous when you read: "
     "it begins an entity.",
     ('if prefix == "O":',
      'if prefix == "O" or prefix == "I" and (open_entity is None or open_entity[2] != label):'))

slip("decode_entities", "continues_any_label",
     "An I- continues the entity before it even if that one has another label.",
     "Your I- continues whatever entity is open, whatever its label. I-College does not continue a name: "
     "compare the labels.",
     (" and open_entity[2] == label", ""))

slip("decode_entities", "labels_compared_without_case", "Labels that differ only in capital letters are taken for the same.",
     "An I- of the label `name` does not continue an entity of the label `Name`: for the data, these are two labels. Compare labels as "
     "they are.",
     ("open_entity[2] == label", "open_entity[2].lower() == label.lower()"))

slip("decode_entities", "neighbours_joined", "A B- right after an entity of the same label continues it.",
     "Two entities of the same label that are next to each other come out as one. A B- always begins a new "
     "one, whatever came before.",
     ('prefix == "I" and ', ""))


@misconception(
    "decode_entities",
    "You store an entity only when something else comes after it. Is one still open when the text ends? "
    "The last word of a text may be the end of an entity.",
)
def last_one_lost(predictions, offsets, word_ids, labels):
    """An entity that reaches the last word is lost."""
    found, span, last = [], None, None
    for number, (start, end), word in zip(predictions, offsets, word_ids, strict=True):
        if word is None:
            continue
        if word == last:
            span = span and Entity(span.start, end, span.label)
            continue
        last, tag = word, labels[number]
        if span and tag[0] == "I" and tag[2:] == span.label:
            span = Entity(span.start, end, span.label)
            continue
        if span:
            found.append(span)
        span = None if tag == "O" else Entity(start, end, tag[2:])
    return found


slip("decode_entities", "ends_at_the_first_piece",
     "An entity ends where the first piece of its last word ends.",
     "The last word is cut off after its first piece. Pieces that continue a word have no label of their "
     "own, but they belong to the word, so they move the end.",
     ("elif word == word_before:  # the word continues, and its entity with it\n"
      "            if open_entity is not None:\n"
      "                open_entity[1] = end",
      "elif word == word_before:\n"
      "            pass"))

slip("decode_entities", "end_one_short",
     "The end of each entity is the place of its last character instead of the place after it.",
     "Your end is one character short: the tokenizer's offsets are already exclusive, like those of the "
     "entities.",
     ("[Entity(*entity) for entity in entities]",
      "[Entity(start, end - 1, label) for start, end, label in entities]"))

slip("decode_entities", "prefix_kept", "The prefix of the tag is kept in the label.",
     "Your label still has B- or I- in front of it. The prefix says where in the entity a word is; the "
     "label is what comes after it.",
     ("open_entity[2] == label", "open_entity[2][2:] == label"),
     ("[start, end, label]", "[start, end, labels[prediction]]"))

slip("decode_entities", "split_at_the_last_hyphen",
     "A label with a hyphen in it is not read as a whole.",
     "A label may contain a hyphen itself. Only the *first* hyphen of a tag separates prefix and label.",
     ('prefix, _, label = labels[prediction].partition("-")',
      'prefix, label, *_ = [*labels[prediction].split("-"), ""]'))


# ---------------------------------------------------------------------------------- entity_scores

slip("entity_scores", "documents_pooled",
     "All documents are pooled, so a span may match one of another document.",
     "You throw the spans of all documents into one pot. But characters 0 to 9 exist in every document: an "
     "entity must be right in *its own* document.",
     ("zip(gold, predicted, strict=True)",
      "[({span for one in gold for span in one}, {span for one in predicted for span in one})]"))

slip("entity_scores", "overlap_is_enough",
     "A predicted entity counts as right if it overlaps a true one with the same label.",
     "You count a span as right if it overlaps a true one. Entity-level scores are strict: start, end and "
     "label must all be equal.",
     ("set(truth) & set(guesses)",
      "[\n"
      "            span for span in guesses\n"
      "            if any(span.start < one.end and one.start < span.end and span.label == one.label for one in truth)\n"
      "        ]"))

slip("entity_scores", "labels_not_compared",
     "An entity counts as right though its label, its start or its end is wrong.",
     "All three have to agree. A college that was found as an employer is an error, and so is half a college.",
     ("set(truth) & set(guesses)", "[span for span in guesses if span[:2] in {one[:2] for one in truth}]"))

slip("entity_scores", "precision_and_recall_swapped", "Precision and recall are swapped.",
     "Precision asks how much of what was *predicted* is right. Recall asks how much of what is *true* was "
     "found.",
     ("= (precision, recall, f1)", "= (recall, precision, f1)"))

slip("entity_scores", "arithmetic_mean", "F1 is computed as the arithmetic mean of precision and recall.",
     "F1 is the *harmonic* mean. With the ordinary mean, a model that marks everything (recall 1, precision "
     "near 0) would score a half.",
     ("2 * precision * recall / (precision + recall) if right[label] else 0.0", "(precision + recall) / 2"))

slip("entity_scores", "macro_average",
     "“all” is the mean over the labels (macro) instead of the score of all entities together (micro).",
     "Under “all” you have the mean of the labels' scores, the macro average: a rare label counts as much "
     "as a frequent one. The exercise asks for the micro average: add up the *counts* of all labels, then "
     "divide.",
     ('{*true, *found, "all"}', '{*true, *found} - {"all"}'),
     ("return scores",
      "columns = zip(*scores.values(), strict=True)\n"
      '    scores["all"] = tuple(sum(column) / len(scores) for column in columns)\n'
      "    return scores"))


@misconception(
    "entity_scores",
    "You average the scores of the documents. This way a document with one entity counts as much as one "
    "with twenty. Add up the counts of all documents, then divide.",
)
def mean_over_documents(gold, predicted):
    """The scores of the individual documents are averaged."""
    scores = {}
    for name in {e.label for doc in [*gold, *predicted] for e in doc} | {"all"}:
        rows = []
        for g, p in zip(gold, predicted, strict=True):
            g, p = ({e for e in part if name in (e.label, "all")} for part in (g, p))
            precision, recall = len(g & p) / max(len(p), 1), len(g & p) / max(len(g), 1)
            rows.append((precision, recall, 2 * precision * recall / max(precision + recall, 1e-12)))
        scores[name] = tuple(sum(column) / len(rows) for column in zip(*rows, strict=True))
    return scores


slip("entity_scores", "invented_labels_left_out",
     "Predictions of labels that do not occur in gold are not counted as errors in “all”.",
     "You leave out labels that were predicted but are never true, and with them their false positives: the "
     "precision looks better than it is.",
     ("    right, found, true =",
      "    known = {span.label for spans in gold for span in spans}\n"
      "    right, found, true ="),
     ('counter["all"] += 1', 'counter["all"] += span.label in known'))

slip("entity_scores", "divided_by_zero", "A division by zero is not handled.",
     "Your function fails where nothing was predicted, or nothing is right: 0 divided by 0. Read in the "
     "docstring what the result should be.",
     (" if found[label] else 0.0", ""), (" if true[label] else 0.0", ""), (" if right[label] else 0.0", ""))

slip("entity_scores", "characters_counted", "Characters are compared instead of whole entities.",
     "You count characters, not entities: long entities weigh more, and half an entity is half right. An "
     "entity is either right as a whole or wrong.",
     ("        for counter, spans in",
      "        truth, guesses = (\n"
      "            {Entity(i, i + 1, span.label) for span in spans for i in range(span.start, span.end)}\n"
      "            for spans in (truth, guesses)\n"
      "        )\n"
      "        for counter, spans in"))
