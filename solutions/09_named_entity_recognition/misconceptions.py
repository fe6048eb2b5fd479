"""Wrong ways to write lab 09's exercises. Each must lose points and be recognised as itself."""

import torch

from course_utils.data.entities import Entity
from grader.catalogue import misconception, slip

# ---------------------------------------------------------------------------------- clean_entities

slip("clean_entities", "beginning_not_moved",
     "White space at the front shortens the span, but the span still begins at its old place.",
     "The lengths are right, but the positions are not. For each character that you remove at the front, "
     "the beginning must move one place to the right. Print `text[start:end]` for what you return.",
     ("for start, end, label in entities:",
      "for begin, end, label in entities:\n"
      "        start = begin"),
     ("Entity(start, end, label))", "Entity(begin, begin + end - start, label))"))

slip("clean_entities", "only_the_end_trimmed", "White space is cut off only at the end of spans.",
     "White space at the front of a span is still there. A span has two ends: trim both.",
     ("        while start < end and text[start].isspace():\n"
      "            start += 1\n",
      ""))

slip("clean_entities", "only_blanks_trimmed", "Only spaces are cut off; tabs and line breaks are not.",
     "You remove spaces, but you keep line breaks and tabs. These are white space, too. Test for white "
     "space in general, not for one character.",
     ("text[start].isspace()", 'text[start] == " "'), ("text[end - 1].isspace()", 'text[end - 1] == " "'))

slip("clean_entities", "punctuation_trimmed", "Punctuation is cut off as well as white space.",
     "Punctuation may belong to an entity: think of the full stop of an abbreviation, or the brackets "
     "around a subject. Remove only white space.",
     ("text[start].isspace()", "not text[start].isalnum()"),
     ("text[end - 1].isspace()", "not text[end - 1].isalnum()"))

slip("clean_entities", "empty_spans_kept", "Spans that are empty after trimming are kept.",
     "A span that contains only white space is empty after trimming. You still return it, but an empty "
     "span is not an entity.",
     ("        if start < end:\n"
      "            trimmed",
      "        trimmed"))

slip("clean_entities", "leftmost_stays",
     "When spans overlap, the earlier one is kept, not the longest.",
     "A short span that comes earlier in the text pushes out a longer one. The span that you consider "
     "first is always kept. In which order should you consider the spans?",
     ("(span.start - span.end, span.start)", "span.start"))

slip("clean_entities", "length_in_words", "The span with the most words stays, not the one with the most characters.",
     "The length of a span is end minus start, so it counts characters. You compare numbers of words, so "
     "three short words push out two longer ones.",
     ("(span.start - span.end, span.start)", "(-len(text[span.start : span.end].split()), span.start)"))

slip("clean_entities", "first_listed_stays",
     "When spans overlap, the one that is listed first is kept, not the longest.",
     "You keep the span that is listed first and drop every later one that overlaps it. But annotators "
     "mark entities in any order, so the order of the list means nothing. Which span should you consider "
     "first?",
     ("sorted(trimmed, key=lambda span: (span.start - span.end, span.start))", "trimmed"))

slip("clean_entities", "overlaps_merged", "Spans that overlap are merged into one that covers both.",
     "Do not merge or shorten spans that overlap. Keep one of them as it is, and drop the other one "
     "completely.",
     ("(span.start - span.end, span.start)", "span.start"),
     ("if all(entity.end <= other.start or other.end <= entity.start\n"
      "               for other in kept):",
      "if kept and entity.start < kept[-1].end:\n"
      "            kept[-1] = Entity(kept[-1].start, max(entity.end, kept[-1].end), kept[-1].label)\n"
      "        else:"))

slip("clean_entities", "touching_counts_as_overlap", "Spans that only touch are treated as overlapping.",
     "The end of a span is not part of it. So if one span ends where the next one begins, they share no "
     "character. You treat them as if they overlapped.",
     ("entity.end <= other.start or other.end <= entity.start",
      "entity.end < other.start or other.end < entity.start"))

slip("clean_entities", "longest_before_trimming",
     "A span is kept because it is the longest together with the white space around it.",
     "A short word followed by many line breaks pushes out a longer entity. Do you trim the spans before "
     "you compare their lengths? The order of these two steps matters.",
     ("label in entities:", "label in sorted(entities, key=lambda span: (span[0] - span[1], span[0])):"),
     ("sorted(trimmed, key=lambda span: (span.start - span.end, span.start))", "trimmed"))

slip("clean_entities", "last_listed_stays",
     "If a span is marked twice with different labels, the one that is listed last is kept.",
     "If two spans begin and end at the same places, you keep the one that is listed later. The docstring "
     "says which one to keep. Does a dict or a sort in your code prefer the last one?",
     ("sorted(trimmed, key=", "sorted(reversed(trimmed), key="))

slip("clean_entities", "longest_listed_first", "The spans are returned with the longest first, not in the order of the text.",
     "You have the right spans, but in the order in which you considered them. The docstring asks for the "
     "order of the text. What is left to do?",
     ("return sorted(kept)", "return kept"))

slip("clean_entities", "pushed_out_by_what_goes",
     "A span is dropped if any longer span overlaps it, even one that is dropped itself.",
     "Only a span that is *kept* pushes out others. You also drop spans because of longer ones that are "
     "dropped themselves. Look at the chain of three in the text: why does C stay?",
     ("for entity in sorted(trimmed, key=lambda span: (span.start - span.end, span.start)):",
      "ranked = sorted(trimmed, key=lambda span: (span.start - span.end, span.start))\n"
      "    for number, entity in enumerate(ranked):"),
     ("for other in kept", "for other in ranked[:number]"))


# ---------------------------------------------------------------------------------- align_labels

slip("align_labels", "every_word_begins", "Every word of an entity gets B-, and no word gets I-.",
     "In your labels, every word of an entity begins a new one. So a name of two words becomes two names. "
     "Only the first word of an entity gets B-.",
     ('"I-" if entity is entity_before else "B-"', '"B-"'))

slip("align_labels", "every_piece_begins",
     "Every piece of an entity gets B-, even those that continue a word.",
     "In your labels, even a piece that continues a word gets B-. A word has only one label, at its first "
     "piece. The other pieces should be ignored.",
     (" or word == word_before", ""), ('"I-" if entity is entity_before else "B-"', '"B-"'))

slip("align_labels", "later_pieces_labelled", "Pieces that continue a word get labels of their own instead of -100.",
     "You also label the pieces that continue a word. That can work, but in this lab a word has one label, "
     "at its first piece. Its later pieces should be ignored.",
     (" or word == word_before", ""))

slip("align_labels", "specials_are_outside", "Special tokens and padding get the label O.",
     "Special tokens and padding are not words, so the model should not learn that they are O. Give them "
     "the label that the loss ignores.",
     ("labels.append(-100)", 'labels.append(label_ids["O"] if word is None else -100)'))

slip("align_labels", "specials_by_their_offsets",
     "Special tokens are labelled by their offsets (0, 0), as if they stood at the beginning of the text.",
     "Special tokens have the offsets (0, 0), which look like the beginning of the text. Check the word id "
     "first: None means that the token belongs to no word.",
     ("word is None or word == word_before", "word is not None and word == word_before"))

slip("align_labels", "end_inclusive",
     "The end of an entity counts as inside, so punctuation right after it becomes part of the entity.",
     "The end of an entity is not part of it. If you include it, a comma or a full stop right after the "
     "entity becomes part of it. Compare with `<`, not with `<=`.",
     ("<= start < span.end", "<= start <= span.end"))

slip("align_labels", "inside_first",
     "Entities begin with I-; B- is used only right after another entity of the same label.",
     "In your labels, the first word of an entity gets I-. In BIO, an entity always *begins* with B-, and "
     "I- is for the words after that.",
     ('"I-" if entity is entity_before else "B-"',
      '"B-" if entity_before not in (None, entity) and entity.label == entity_before.label else "I-"'))

slip("align_labels", "neighbours_glued",
     "A new entity right after one of the same label gets I-, as if it continued it.",
     "Two entities of the same label, side by side, become one. Comparing labels is not enough. Was the "
     "previous word in this *entity* or in another one?",
     ("entity is entity_before", "entity_before and entity.label == entity_before.label"))

slip("align_labels", "begins_only_where_equal",
     "B- is given only to a word that begins exactly at the entity's first character.",
     "You give B- only to a word that begins exactly where the entity begins. So an entity that starts "
     "inside a word has no B- at all. B- is for the first *word* of the entity.",
     ('"I-" if entity is entity_before else "B-"', '"B-" if entity.start == start else "I-"'))

slip("align_labels", "first_word_only",
     "Only the first word of an entity is labelled; its other words are O.",
     "You label only the first word of each entity. Compare each word with the whole span: a word belongs "
     "to the entity if it begins anywhere inside.",
     ("if entity is None:", "if entity is None or entity is entity_before:"))

slip("align_labels", "continued_by_offsets",
     "Every piece without white space in front of it is treated as the rest of a word, even a comma.",
     "A piece without white space in front of it can be a word of its own: a comma, a slash, or a part of "
     "an e-mail address. The word ids say which pieces belong to the same word.",
     ("(start, _)", "(start, end)"), ("word == word_before", "start == word_before"),
     ("word_before = word", "word_before = None if word is None else end", 2))

slip("align_labels", "zero_for_outside",
     "Words outside of entities get the number 0 instead of the number of the tag O.",
     "The number 0 does not stand for the tag O. `label_ids` gives each tag its number, and any tag may "
     "have the number 0.",
     ('label_ids["O"]', "0"))

slip("align_labels", "digit_zero_as_tag",
     "The tag of words outside of entities is looked up as the digit '0' instead of the letter 'O'.",
     "The tag for *outside* is the letter O. You look up the digit 0, which is not a tag.",
     ('label_ids["O"]', 'label_ids["0"]'))


# ---------------------------------------------------------------------------------- encode_batch

slip("encode_batch", "padding_labelled_zero", "The labels are padded with 0 instead of -100.",
     "In your batch, the padding has the label 0, which is a tag like any other. So the model learns to "
     "predict this tag at padding. Which label does the loss ignore?",
     ("[-100]", "[0]"))

slip("encode_batch", "labels_padded_with_pad_id", "The labels are padded with the padding token's id.",
     "The padding id is the id of a *token*. As a label, the same number stands for some tag. Pad the "
     "labels with the number that the loss ignores.",
     ("[-100]", "[pad_id]"))

slip("encode_batch", "mask_of_ones", "The attention mask is also 1 at the padding.",
     "Your mask is 1 everywhere, so the encoder looks at padding as if it were text.",
     ("[1] * length + [0] * missing", "[1] * longest"))

slip("encode_batch", "mask_inverted", "The attention mask is 1 at padding and 0 at tokens.",
     "You have swapped 1 and 0 in the mask. 1 stands for a token that the encoder may look at.",
     ("[1] * length + [0] * missing", "[0] * length + [1] * missing"))

slip("encode_batch", "mask_from_labels",
     "The attention mask is 0 wherever the label is -100, even at real tokens.",
     "You make the mask from the labels, so it hides `[CLS]`, `[SEP]` and all later pieces of words from "
     "the encoder. The encoder should still read a token that has no label. Mask and labels answer "
     "different questions.",
     ("[1] * length + [0] * missing", '[int(label != -100) for label in row["labels"]] + [0] * missing'))

slip("encode_batch", "mask_where_id_is_not_zero",
     "The mask is made by comparing ids with 0, whatever `pad_id` says.",
     "Your mask is right only if the padding id is 0. With any other padding id, the padding is not "
     "masked, but a real token with id 0 is. Use `pad_id`, or the lengths.",
     ("[1] * length + [0] * missing",
      '[int(number != 0) for number in row["input_ids"] + [pad_id] * missing]'))

slip("encode_batch", "padded_with_zero", "The ids are padded with 0, whatever `pad_id` says.",
     "You pad the ids with 0, whatever `pad_id` is. In another tokenizer, 0 may be an ordinary word.",
     ("[pad_id] * missing", "[0] * missing"))

slip("encode_batch", "padded_in_front", "The padding comes before the texts instead of after them.",
     "Your padding comes before the texts, as in batches for models that write text. In this lab, it "
     "belongs after the texts.",
     ('row["input_ids"] + [pad_id] * missing', '[pad_id] * missing + row["input_ids"]'),
     ("[1] * length + [0] * missing", "[0] * missing + [1] * length"),
     ('row["labels"] + [-100] * missing', '[-100] * missing + row["labels"]'))

slip("encode_batch", "cut_to_the_shortest", "All texts are cut to the length of the shortest one.",
     "You cut all texts to the length of the shortest one, so the longer texts lose their ends. Pad the "
     "short texts instead.",
     ("max(len(", "min(len("), ('length = len(row["input_ids"])', "length = longest"),
     ('(row["input_ids"] +', '(row["input_ids"][:longest] +'),
     ('(row["labels"] +', '(row["labels"][:longest] +'))

slip("encode_batch", "padded_to_a_fixed_length",
     "Every batch is padded to 128 tokens instead of to its longest text.",
     "You pad every batch to the same large length. That works, but most of the computation is then spent "
     "on padding. Pad to the longest text of *this* batch.",
     ('max(len(row["input_ids"]) for row in rows)', "128"))


# ---------------------------------------------------------------------------------- TokenClassifier

slip("TokenClassifier", "MaskNotPassed", "The attention mask has no effect: the encoder looks at padding.",
     "Every word looks at padding, so the same text gets different results in another batch. Does the mask "
     "reach the encoder?",
     (", attention_mask=attention_mask", ""))

slip("TokenClassifier", "MaskInverted", "The encoder gets the inverted mask.",
     "In the encoder's mask, 1 stands for a token that may be looked at. You pass the opposite.",
     ("hidden = ",
      "blocked = 1 - attention_mask\n"
      "        hidden = "),
     ("attention_mask=attention_mask", "attention_mask=blocked + 1e-6 * (blocked.sum(1, keepdim=True) == 0)"))

slip("TokenClassifier", "Pooled", "The pooled vector of the whole text is used for each token.",
     "`pooler_output` is one vector for the whole text, so every token gets the same logits. Use the "
     "vector of each token instead.",
     (".last_hidden_state", ".pooler_output[:, None].expand(-1, input_ids.shape[1], -1)"))

slip("TokenClassifier", "FirstTokenOnly",
     "Only the first token gets logits: the sequence axis is lost.",
     "The vector of the first token, `[CLS]`, is useful for classifying whole texts. Here, each token "
     "needs its own decision, so the sequence axis must stay.",
     (".last_hidden_state", ".last_hidden_state[:, 0]"))

slip("TokenClassifier", "Probabilities",
     "A softmax is taken at the end: probabilities are returned instead of logits.",
     "You return probabilities. The loss expects logits and applies the softmax itself. A softmax of a "
     "softmax is nearly flat, so the model hardly learns.",
     ("(self.dropout(hidden))", "(self.dropout(hidden)).softmax(dim=-1)"))

slip("TokenClassifier", "LogProbabilities",
     "A log-softmax is taken at the end: log-probabilities are returned instead of logits.",
     "You return log-probabilities: their exponentials sum to 1 over the labels. The docstring asks for "
     "logits. The loss takes the log-softmax itself.",
     ("(self.dropout(hidden))", "(self.dropout(hidden)).log_softmax(dim=-1)"))

slip("TokenClassifier", "Rectified", "There is a ReLU between the encoder and the classifier.",
     "Your ReLU sets all negative values of the encoder's output to 0, about half of them. No activation "
     "belongs between the encoder and the linear layer.",
     ("self.dropout(hidden)", "self.dropout(hidden).relu()"))

slip("TokenClassifier", "AlwaysDropping", "Dropout also acts in evaluation mode.",
     "`F.dropout` does not know which mode the module is in unless you pass it. A dropout layer that you "
     "create in `forward` does not know it either. The `nn.Dropout` from the constructor does.",
     ("self.dropout(hidden)", "F.dropout(hidden, self.dropout.p)"))

slip("TokenClassifier", "NeverDropping", "Dropout has no effect.",
     "Nothing is dropped in training. Do you call the dropout layer, and do you use what it returns?",
     ("self.dropout(hidden)", "hidden"))

slip("TokenClassifier", "LogitsDropped", "Dropout acts on the logits instead of on the encoder's output.",
     "Your dropout sets *logits* to 0, which changes the decisions at random. Apply it to the encoder's "
     "output, before the linear layer.",
     ("self.classifier(self.dropout(hidden))", "self.dropout(self.classifier(hidden))"))

slip("TokenClassifier", "EncoderCutOff", "No gradient reaches the encoder.",
     "The numbers are right, but no gradient reaches the encoder, so it cannot learn. Fine-tuning should "
     "train the encoder, too. Look for `no_grad` or `detach`.",
     (".last_hidden_state", ".last_hidden_state.detach()"))

slip("TokenClassifier", "NoGradient", "The logits are computed without gradients, so nothing of the model can be trained.",
     "The numbers are right, but no weight can learn from them. `no_grad` is for a model that only "
     "predicts. In training, gradients must flow back through every step. Which line stops them?",
     ("return self.classifier(self.dropout(hidden))", "return self.classifier(self.dropout(hidden)).detach()"))


# ---------------------------------------------------------------------------------- token_loss

slip("token_loss", "sum_of_losses", "The sum over all labelled tokens is returned instead of the mean.",
     "You add up the losses without dividing, so a batch of long texts makes a larger step than a batch of "
     "short ones. The exercise asks for the mean.",
     ("ignore_index=-100", 'ignore_index=-100, reduction="sum"'))

slip("token_loss", "divided_by_all_tokens",
     "The sum is divided by the number of all tokens, including ignored ones.",
     "You divide by the number of *all* tokens, so more padding makes the loss smaller. Divide by the "
     "number of tokens that count.",
     ("ignore_index=-100)", 'ignore_index=-100, reduction="none").mean()'))

slip("token_loss", "ignored_as_label_zero", "Tokens with the label -100 are treated as having label 0.",
     "You count tokens with the label -100 as if they had the label 0. They have no label, so leave them "
     "out.",
     ("labels.flatten()", "labels.clamp(min=0).flatten()"))

slip("token_loss", "reshaped_for_transposed",
     "The class axis is moved with a reshape, which mixes tokens with classes.",
     "The shapes fit, but the numbers are mixed up. `view` and `reshape` do not swap axes: they only group "
     "the same numbers in another way. To move the classes to axis 1, *swap* the axes.",
     ("logits.flatten(0, 1), labels.flatten()",
      "logits.reshape(len(logits), logits.shape[2], logits.shape[1]), labels"))

slip("token_loss", "softmax_twice", "A softmax is taken before cross-entropy, which then takes another one.",
     "`F.cross_entropy` expects logits and applies the softmax itself. You pass it probabilities, so the "
     "softmax is applied twice.",
     ("logits.flatten(0, 1)", "logits.softmax(-1).flatten(0, 1)"))

slip("token_loss", "logits_for_log_probabilities", "The logits are treated as log-probabilities.",
     "You pick out one number for each label and average them, as `nll_loss` does. That is right for "
     "log-probabilities. Logits can be any numbers, so your loss can fall below 0.",
     ("F.cross_entropy(", "F.nll_loss("))

slip("token_loss", "probabilities_for_their_logarithms", "Probabilities are used instead of their logarithms.",
     "Your loss lies between -1 and 0: it is minus the mean probability of the labels. A probability near "
     "0 should cost a lot. That is what the logarithm is for.",
     ("F.cross_entropy(logits", "F.nll_loss(logits.softmax(dim=-1)"))

slip("token_loss", "log_of_softmax",
     "The logarithm of a softmax is taken in two steps, so a probability of 0 gives an infinite loss.",
     "Your loss is right for small logits. If a label's logit lies far below the others, the softmax rounds its "
     "probability to 0, and the logarithm of 0 is minus infinity. `F.cross_entropy` and `log_softmax` compute "
     "the logarithm in one step and stay finite.",
     ("F.cross_entropy(logits.flatten(0, 1),", "F.nll_loss(logits.flatten(0, 1).softmax(dim=-1).log(),"))

slip("token_loss", "exponentials_by_hand", "The softmax is computed from plain exponentials, which overflow.",
     "Your loss is right for small logits. But the exponential of 300 is too large for float32, and infinity "
     "divided by infinity is NaN. `F.cross_entropy` and `log_softmax` subtract the largest logit first.",
     ("F.cross_entropy(logits.flatten(0, 1),",
      "F.nll_loss((logits.exp() / logits.exp().sum(dim=-1, keepdim=True)).log().flatten(0, 1),"))

slip("token_loss", "sum_of_exponentials_by_hand",
     "The logarithm is taken of a sum of plain exponentials, which overflows or becomes 0.",
     "Your loss is right for small logits. But the exponential of 300 is too large for float32, and that of "
     "-300 is 0. `torch.logsumexp` and `log_softmax` subtract the largest logit first.",
     ("F.cross_entropy(logits.flatten(0, 1),",
      "F.nll_loss((logits - logits.exp().sum(dim=-1, keepdim=True).log()).flatten(0, 1),"))

slip("token_loss", "mean_of_means", "The mean is taken within each text first, and then over the texts.",
     "You average within each text first, then over the texts. So a token of a short text counts more than "
     "a token of a long one. All labelled tokens of the batch should count the same.",
     ("F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)",
      "torch.stack([F.cross_entropy(*both) for both in zip(logits, labels, strict=True)]).mean()"))

slip("token_loss", "label_zero_left_out", "Tokens with label 0 are left out, as well as those with -100.",
     "You also leave out label 0. It is a tag like any other: in this lab, it is O. Without it, the model "
     "never learns to say that something is *not* an entity. Leave out only -100.",
     ("logits.flatten(0, 1), labels.flatten()", "logits[labels > 0], labels[labels > 0]"))

slip("token_loss", "cut_off", "No gradient flows back from the loss to the logits.",
     "The value is right, but no gradient flows back from it to the logits, so nothing can be learned. "
     "Look for `.item()`, `.detach()`, or a new tensor made from a number.",
     ("ignore_index=-100)", "ignore_index=-100).detach()"))


@misconception(
    "token_loss",
    "For large logits, exp() overflows. A log-softmax subtracts the largest logit first, so it is safe. "
    "Use it instead of combining exp and log yourself.",
)
def overflowing(logits, labels):
    """For large logits an exponential overflows or becomes 0."""
    counted = labels != -100
    powers = torch.exp(logits[counted])
    chances = powers / powers.sum(-1, keepdim=True)
    return -torch.log(chances.gather(-1, labels[counted][:, None])).mean()


# ---------------------------------------------------------------------------------- train_epoch

slip("train_epoch", "gradients_pile_up",
     "Old gradients are not cleared before a batch, so its own gradients are added to them.",
     "PyTorch adds new gradients to those that are already there. Unless you clear them before each batch, "
     "each step also uses the gradients of all earlier batches.",
     ("        optimizer.zero_grad()\n", ""))

slip("train_epoch", "cleared_too_late", "No weight changes.",
     "Is there a backward pass, and a step after it? Are the gradients still there in between? Clear them "
     "before the backward pass or after the step, not between the two.",
     ("        optimizer.zero_grad()\n", ""),
     ("loss.backward()",
      "loss.backward()\n"
      "        optimizer.zero_grad()"))

slip("train_epoch", "not_clipped", "The optimizer gets gradients that are not clipped to max_norm.",
     "Do you clip the gradients to the norm that is given? Does the optimizer use the clipped gradients? "
     "Clip between the backward pass and the step.",
     ("        nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n", ""))

slip("train_epoch", "clipped_one_by_one",
     "Each parameter's gradient is clipped separately instead of all of them together.",
     "You shorten each parameter's gradient separately, which changes the direction of the step. Limit the "
     "norm of *all* gradients together: pass all parameters at once.",
     ("nn.utils.clip_grad_norm_(model.parameters(), max_norm)",
      "for parameter in model.parameters():\n"
      "            nn.utils.clip_grad_norm_([parameter], max_norm)"))

slip("train_epoch", "values_clipped", "The entries of the gradients are clipped instead of their norm.",
     "You limit each entry of the gradient separately, which changes its direction. Limit its length "
     "instead: the norm, not the values.",
     ("clip_grad_norm_", "clip_grad_value_"))

slip("train_epoch", "scheduler_forgotten",
     "The learning rate stays the same from batch to batch: the scheduler does not step between them.",
     "The scheduler steps once after each batch. In your code, it never steps, or only when the epoch is "
     "over. So the learning rate stays where it began.",
     ("        if scheduler is not None:\n"
      "            scheduler.step()\n",
      ""))

slip("train_epoch", "scheduler_first", "The scheduler steps before the optimizer does.",
     "The learning rate changes before the optimizer's first step, so the schedule is one step ahead. The "
     "optimizer steps first, then the scheduler.",
     ("optimizer.step()\n"
      "        if scheduler is not None:\n"
      "            scheduler.step()",
      "if scheduler is not None:\n"
      "            scheduler.step()\n"
      "        optimizer.step()"))

slip("train_epoch", "mode_not_set", "The model is not in training mode when it computes the logits.",
     "After an evaluation, a model is still in evaluation mode, where dropout does nothing. Put it into "
     "training mode before you train it.",
     ("    model.train()\n", ""))

slip("train_epoch", "mask_not_handed_over", "The attention mask has no effect: the model looks at padding.",
     "In training, the model looks at the padding. Which mask do you pass to it?",
     (', batch["attention_mask"]', ""))

slip("train_epoch", "frozen_weights_trained", "Weights that are frozen are trained.",
     "A weight whose `requires_grad` is False should stay as it is: before training, the notebook freezes the embeddings. Does a line "
     "of yours set `requires_grad` again?",
     ("    model.train()\n", "    model.train().requires_grad_(True)\n"))

slip("train_epoch", "mean_returned", "The mean of the losses is returned instead of the loss of each batch.",
     "You return one number for the whole epoch. The exercise asks for the loss of each batch: these "
     "losses make up the learning curve.",
     ("return losses", "return sum(losses) / len(losses)"))


# ---------------------------------------------------------------------------------- decode_entities

slip("decode_entities", "every_piece_read",
     "The predictions at all pieces of a word are used, not only the one at its first piece.",
     "You use the predictions at pieces that continue a word. But in training, only the first piece of a "
     "word has a label. So the model never learned what to predict at the other pieces.",
     ("        elif word == word_before:  # the word continues, and its entity with it\n"
      "            if open_entity is not None:\n"
      "                open_entity[1] = end\n",
      ""))

slip("decode_entities", "specials_decoded", "Predictions at special tokens and padding become entities.",
     "Special tokens are not words, whatever the model predicts there. Skip every token that has no word "
     "id.",
     ("if word is None:\n"
      "            open_entity = None\n"
      "        elif word == word_before:",
      "if word is not None and word == word_before:"))

slip("decode_entities", "stray_inside_dropped",
     "An I- that continues nothing is dropped instead of beginning an entity.",
     "If an I- has no entity to continue, you drop it, and all I- after it as well. Be generous when you "
     "read predictions: such an I- begins an entity.",
     ('if prefix == "O":',
      'if prefix == "O" or prefix == "I" and (open_entity is None or open_entity[2] != label):'))

slip("decode_entities", "continues_any_label",
     "An I- continues the entity before it even if that one has another label.",
     "Your I- continues the open entity, whatever its label. But I-College cannot continue a name. Compare "
     "the labels.",
     (" and open_entity[2] == label", ""))

slip("decode_entities", "labels_compared_without_case",
     "Labels that differ only in capital letters are treated as the same.",
     "You treat `name` and `Name` as one label. In the data, these are two labels, so an I- of one cannot "
     "continue an entity of the other. Compare labels exactly.",
     ("open_entity[2] == label", "open_entity[2].lower() == label.lower()"))

slip("decode_entities", "neighbours_joined", "A B- right after an entity of the same label continues it.",
     "Two entities of the same label that are next to each other become one. A B- always begins a new "
     "entity, whatever came before.",
     ('prefix == "I" and ', ""))


@misconception(
    "decode_entities",
    "You store an entity only when something else comes after it. But the last word of a text may belong "
    "to an entity. Is one still open when the text ends?",
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
     "You cut off the last word after its first piece. Pieces that continue a word have no label of their "
     "own, but they belong to the word. So they move the end of the entity.",
     ("elif word == word_before:  # the word continues, and its entity with it\n"
      "            if open_entity is not None:\n"
      "                open_entity[1] = end",
      "elif word == word_before:\n"
      "            pass"))

slip("decode_entities", "end_one_short",
     "The end of each entity is the place of its last character instead of the place after it.",
     "Your end is one character too early. The ends of the tokenizer's offsets are already exclusive, like "
     "those of the entities.",
     ("[Entity(*entity) for entity in entities]",
      "[Entity(start, end - 1, label) for start, end, label in entities]"))

slip("decode_entities", "prefix_kept", "The prefix of the tag is kept in the label.",
     "Your label still has B- or I- in front of it. This prefix only says where in the entity a word is. "
     "The label is what comes after it.",
     ("open_entity[2] == label", "open_entity[2][2:] == label"),
     ("[start, end, label]", "[start, end, labels[prediction]]"))

slip("decode_entities", "split_at_the_last_hyphen",
     "A label with a hyphen in it is not read as a whole.",
     "A label may contain a hyphen itself. Only the *first* hyphen of a tag separates the prefix from the "
     "label.",
     ('prefix, _, label = labels[prediction].partition("-")',
      'prefix, label, *_ = [*labels[prediction].split("-"), ""]'))


# ---------------------------------------------------------------------------------- entity_scores

slip("entity_scores", "documents_pooled",
     "All documents are pooled, so a span may match a span of another document.",
     "You put the spans of all documents together. But characters 0 to 9 exist in every document. An "
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
     "An entity counts as right although its label, its start or its end is wrong.",
     "Start, end and label must all agree. A college that was found as an employer is an error, and so is "
     "half a college.",
     ("set(truth) & set(guesses)", "[span for span in guesses if span[:2] in {one[:2] for one in truth}]"))

slip("entity_scores", "precision_and_recall_swapped", "Precision and recall are swapped.",
     "Precision is the share of the *predicted* entities that are right. Recall is the share of the *true* "
     "entities that were found.",
     ("= (precision, recall, f1)", "= (recall, precision, f1)"))

slip("entity_scores", "arithmetic_mean", "F1 is computed as the arithmetic mean of precision and recall.",
     "F1 is the *harmonic* mean. With the ordinary mean, a model that marks everything (recall 1, "
     "precision near 0) would score about 0.5.",
     ("2 * precision * recall / (precision + recall) if right[label] else 0.0", "(precision + recall) / 2"))

slip("entity_scores", "macro_average",
     "“all” is the mean over the labels (macro) instead of the score of all entities together (micro).",
     "Under “all”, you have the mean of the labels' scores, the macro average. There, a rare label counts "
     "as much as a frequent one. The exercise asks for the micro average: add up the *counts* of all "
     "labels, then divide.",
     ('{*true, *found, "all"}', '{*true, *found} - {"all"}'),
     ("return scores",
      "columns = zip(*scores.values(), strict=True)\n"
      '    scores["all"] = tuple(sum(column) / len(scores) for column in columns)\n'
      "    return scores"))


@misconception(
    "entity_scores",
    "You average the scores of the documents, so a document with one entity counts as much as one with "
    "twenty. Add up the counts of all documents, then divide.",
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
     "You leave out labels that occur only in the predictions. Their false positives are missing from the "
     "count, so the precision looks better than it is.",
     ("    right, found, true =",
      "    known = {span.label for spans in gold for span in spans}\n"
      "    right, found, true ="),
     ('counter["all"] += 1', 'counter["all"] += span.label in known'))

slip("entity_scores", "divided_by_zero", "A division by zero is not handled.",
     "Your function fails where nothing was predicted or nothing is right: it divides 0 by 0. The "
     "docstring says what the result should be.",
     (" if found[label] else 0.0", ""), (" if true[label] else 0.0", ""), (" if right[label] else 0.0", ""))

slip("entity_scores", "characters_counted", "Characters are compared instead of whole entities.",
     "You count characters, not entities. So long entities count more, and half an entity is half right. "
     "An entity is either right as a whole or wrong.",
     ("        for counter, spans in",
      "        truth, guesses = (\n"
      "            {Entity(i, i + 1, span.label) for span in spans for i in range(span.start, span.end)}\n"
      "            for spans in (truth, guesses)\n"
      "        )\n"
      "        for counter, spans in"))
