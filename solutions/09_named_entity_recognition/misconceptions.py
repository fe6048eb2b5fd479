"""Wrong ways to write lab 09's exercises. Each must lose points and be recognised as itself."""

import torch

from course_utils.data.entities import Entity
from grader.catalogue import misconception, slip

# ---------------------------------------------------------------------------------- clean_entities

slip("clean_entities", "beginning_not_moved",
     "White space in front is cut off the text, but the beginning of the span stays where it was.",
     "The lengths come out right, and the places do not: when white space in front is cut off, the "
     "beginning moves to the right by as many characters. Print `text[start:end]` for what you return.",
     ("for start, end, label in entities:",
      "for begin, end, label in entities:\n"
      "        start = begin"),
     ("Entity(start, end, label))", "Entity(begin, begin + end - start, label))"))

slip("clean_entities", "only_the_end_trimmed", "White space is cut off at the end of spans only.",
     "White space in front of an entity is still there. A span has two ends, and both want trimming.",
     ("        while start < end and text[start].isspace():\n"
      "            start += 1\n",
      ""))

slip("clean_entities", "only_blanks_trimmed", "Only blanks are cut off, tabs and line breaks are not.",
     "Blanks go, line breaks and tabs stay. They are white space too: ask for white space in general, not "
     "for one character.",
     ("text[start].isspace()", 'text[start] == " "'), ("text[end - 1].isspace()", 'text[end - 1] == " "'))

slip("clean_entities", "punctuation_trimmed", "Punctuation is cut off as well as white space.",
     "Punctuation may belong to an entity: the full stop of an abbreviation, the bracket around a subject. "
     "Only white space goes.",
     ("text[start].isspace()", "not text[start].isalnum()"),
     ("text[end - 1].isspace()", "not text[end - 1].isalnum()"))

slip("clean_entities", "empty_spans_kept", "Spans that are empty after trimming are kept.",
     "A span of nothing but white space is empty once it is trimmed, and an empty span is no entity. You "
     "return it all the same.",
     ("        if start < end:\n"
      "            trimmed",
      "        trimmed"))

slip("clean_entities", "leftmost_stays",
     "Of spans that overlap, the one that begins first stays, not the longest.",
     "You go through the spans from the left and keep the first one that comes. A short piece that begins "
     "earlier then pushes out a longer entity. Who is asked first decides: in which order should the spans "
     "be considered?",
     ("(span.start - span.end, span.start)", "span.start"))

slip("clean_entities", "first_listed_stays",
     "Of spans that overlap, the one that is listed first stays, not the longest.",
     "You keep what is listed first and drop what overlaps it later. The order of the list says nothing: "
     "annotators mark in any order. Which span is to be considered first?",
     ("sorted(trimmed, key=lambda span: (span.start - span.end, span.start))", "trimmed"))

slip("clean_entities", "overlaps_merged", "Spans that overlap are merged into one that covers both.",
     "Spans that overlap are neither merged nor shortened: one of them stays as it is, and the other goes "
     "as a whole.",
     ("(span.start - span.end, span.start)", "span.start"),
     ("if all(entity.end <= other.start or other.end <= entity.start for other in kept):",
      "if kept and entity.start < kept[-1].end:\n"
      "            kept[-1] = Entity(kept[-1].start, max(entity.end, kept[-1].end), kept[-1].label)\n"
      "        else:"))

slip("clean_entities", "touching_counts_as_overlap", "Spans that only touch are taken to overlap.",
     "Two spans of which one ends where the other begins share no character, because the end does not "
     "belong to a span. You treat them as if they overlapped.",
     ("entity.end <= other.start or other.end <= entity.start",
      "entity.end < other.start or other.end < entity.start"))

slip("clean_entities", "longest_before_trimming", "The longest span is chosen before white space is cut off.",
     "The lengths are compared while the white space is still part of them: a short word with many line "
     "breaks behind it wins over a longer entity. The order of the two rules matters.",
     ("label in entities:", "label in sorted(entities, key=lambda span: (span[0] - span[1], span[0])):"),
     ("sorted(trimmed, key=lambda span: (span.start - span.end, span.start))", "trimmed"))

slip("clean_entities", "pushed_out_by_what_goes",
     "A span goes as soon as any longer span overlaps it, even one that does not stay.",
     "A span is pushed out only by one that *stays*. You also drop spans because of longer ones that go "
     "themselves: look at the chain of three in the text, and at C.",
     ("for entity in sorted(trimmed, key=lambda span: (span.start - span.end, span.start)):",
      "ranked = sorted(trimmed, key=lambda span: (span.start - span.end, span.start))\n"
      "    for number, entity in enumerate(ranked):"),
     ("for other in kept", "for other in ranked[:number]"))


# ---------------------------------------------------------------------------------- align_labels

slip("align_labels", "every_word_begins", "Every word of an entity gets B-, none gets I-.",
     "Every word of an entity begins a new one, so a name of two words becomes two names. B- is for the "
     "first word of an entity.",
     ('"I-" if entity is entity_before else "B-"', '"B-"'))

slip("align_labels", "every_piece_begins",
     "Every piece of an entity gets B-, those that continue a word too.",
     "Pieces that continue a word get a label of their own here, B- even. One word, one label: only its "
     "first piece counts, the others are to be ignored.",
     (" or word == word_before", ""), ('"I-" if entity is entity_before else "B-"', '"B-"'))

slip("align_labels", "later_pieces_labelled", "Pieces that continue a word get I- or O instead of -100.",
     "Pieces that continue a word are labelled too (I- or O). One can work like that, but here one word has "
     "one label: its later pieces are to be ignored.",
     (" or word == word_before", ""))

slip("align_labels", "specials_are_outside", "Special tokens and padding get the label O.",
     "Special tokens and padding are no words: they must not be learned as O. Give them the label that is "
     "left out of the loss.",
     ("labels.append(-100)", 'labels.append(label_ids["O"] if word is None else -100)'))

slip("align_labels", "specials_by_their_offsets",
     "Special tokens are labelled by their offsets (0, 0), as if they stood at the beginning of the text.",
     "The offsets of special tokens are (0, 0), which looks like the first character of the text. Ask for "
     "the word id first: None is no word.",
     ("word is None or word == word_before", "word is not None and word == word_before"))

slip("align_labels", "end_inclusive",
     "The end of an entity counts as inside, so punctuation that is stuck to it is drawn in.",
     "The end of an entity does not belong to it. With it included, whatever is stuck to the entity does "
     "belong to it: the comma, the full stop, the next word after a slash. Compare `start < end`, not `<=`.",
     ("<= start < span.end", "<= start <= span.end"))

slip("align_labels", "inside_first",
     "Entities begin with I-, and have B- nowhere but between two of the same label.",
     "The first word of each entity has I-. In BIO an entity *begins* with B-, always; I- is for the words "
     "after it.",
     ('"I-" if entity is entity_before else "B-"',
      '"B-" if entity_before not in (None, entity) and entity.label == entity_before.label else "I-"'))

slip("align_labels", "neighbours_glued",
     "A new entity right behind one of the same label gets I-, as if it continued it.",
     "Two entities of the same label side by side become one, because you compare labels. Compare which "
     "*entity* the word before was in.",
     ("entity is entity_before", "entity_before and entity.label == entity_before.label"))

slip("align_labels", "begins_only_where_equal",
     "B- is given only to a word that begins exactly at the entity's first character.",
     "Where does an entity begin that starts inside a word? You only give B- if a word begins exactly where "
     "the entity does, so such an entity has no beginning at all. Its first *word* is what counts.",
     ('"I-" if entity is entity_before else "B-"', '"B-" if entity.start == start else "I-"'))

slip("align_labels", "first_word_only",
     "Only the first word of an entity is labelled, its other words are O.",
     "Only the first word of each entity is labelled. Compare with the whole span: a word belongs to it if "
     "it begins anywhere in it.",
     ("if entity is None:", "if entity is None or entity is entity_before:"))

slip("align_labels", "continued_by_offsets",
     "A piece without white space in front of it is taken to continue a word, commas too.",
     "What has no white space in front of it is not always the rest of a word: a comma, a slash, the parts "
     "of an e-mail address are words of their own. The word ids know.",
     ("(start, _)", "(start, end)"), ("word == word_before", "start == word_before"),
     ("word_before = word", "word_before = None if word is None else end", 2))

slip("align_labels", "zero_for_outside",
     "Words outside of entities get the number 0 instead of that of the tag O.",
     "The number 0 is not the tag O. The tags have the numbers that `label_ids` says, and 0 may be any of "
     "them.",
     ('label_ids["O"]', "0"))

slip("align_labels", "digit_zero_as_tag",
     "The tag of words outside of entities is looked up as the digit '0' instead of the letter 'O'.",
     "The tag for *outside* is the letter O. You look up the digit 0, which is no tag.",
     ('label_ids["O"]', 'label_ids["0"]'))


# ---------------------------------------------------------------------------------- encode_batch

slip("encode_batch", "padding_labelled_zero", "The labels are padded with 0 instead of -100.",
     "Padding has the label 0 in your batch, which is a tag like any other: the model is taught to predict "
     "it at padding. Which label is left out of the loss?",
     ("[-100]", "[0]"))

slip("encode_batch", "labels_padded_with_pad_id", "The labels are padded with the padding token's id.",
     "The padding id is an id of a *token*. Among the labels the same number is some tag. Labels are padded "
     "with the number that does not count.",
     ("[-100]", "[pad_id]"))

slip("encode_batch", "mask_of_ones", "The attention mask is 1 at padding too.",
     "The mask is 1 everywhere, so the encoder looks at padding as if it were text.",
     ("[1] * length + [0] * missing", "[1] * longest"))

slip("encode_batch", "mask_inverted", "The attention mask is 1 at padding and 0 at tokens.",
     "1 and 0 are exchanged in the mask. 1 stands for a token that may be looked at.",
     ("[1] * length + [0] * missing", "[0] * length + [1] * missing"))

slip("encode_batch", "mask_from_labels",
     "The attention mask is 0 wherever the label is -100, at real tokens too.",
     "The mask is made from the labels here, and hides `[CLS]`, `[SEP]` and all later pieces of words from "
     "the encoder. A token without a label is still to be read: mask and labels answer different questions.",
     ("[1] * length + [0] * missing", '[int(label != -100) for label in row["labels"]] + [0] * missing'))

slip("encode_batch", "mask_where_id_is_not_zero",
     "The mask is made by comparing ids with 0, whatever `pad_id` says.",
     "For a tokenizer whose padding id is 0 all is well; for another one a real token with id 0 is masked, "
     "and padding is not. Use `pad_id`, or the lengths.",
     ("[1] * length + [0] * missing",
      '[int(number != 0) for number in row["input_ids"] + [pad_id] * missing]'))

slip("encode_batch", "padded_with_zero", "The ids are padded with 0, whatever `pad_id` says.",
     "Ids are padded with 0, whatever the padding id is. In another tokenizer 0 is an ordinary word.",
     ("[pad_id] * missing", "[0] * missing"))

slip("encode_batch", "padded_in_front", "The padding stands in front of the texts instead of behind them.",
     "The padding stands in front of the texts. Language models that write are padded there; here it "
     "belongs to the end.",
     ('row["input_ids"] + [pad_id] * missing', '[pad_id] * missing + row["input_ids"]'),
     ("[1] * length + [0] * missing", "[0] * missing + [1] * length"),
     ('row["labels"] + [-100] * missing', '[-100] * missing + row["labels"]'))

slip("encode_batch", "cut_to_the_shortest", "All texts are cut to the length of the shortest one.",
     "The long texts lose their end: all are cut to the shortest of the batch. Pad the short ones instead.",
     ("max(len(", "min(len("), ('length = len(row["input_ids"])', "length = longest"),
     ('(row["input_ids"] +', '(row["input_ids"][:longest] +'),
     ('(row["labels"] +', '(row["labels"][:longest] +'))

slip("encode_batch", "padded_to_a_fixed_length",
     "Every batch is padded to 128 tokens instead of to its longest text.",
     "Each batch is padded to the same great length. It works, but most of the computation then goes into "
     "padding. Pad to the longest text of *this* batch.",
     ('max(len(row["input_ids"]) for row in rows)', "128"))


# ---------------------------------------------------------------------------------- TokenClassifier

slip("TokenClassifier", "MaskNotPassed", "The encoder is called without the attention mask.",
     "The mask never reaches the encoder, so every word looks at padding. Then the same text gives other "
     "results in another batch.",
     (", attention_mask=attention_mask", ""))

slip("TokenClassifier", "MaskInverted", "The encoder gets the inverted mask.",
     "The encoder's mask has 1 where a token may be looked at. You hand over the opposite.",
     ("hidden = ",
      "blocked = 1 - attention_mask\n"
      "        hidden = "),
     ("attention_mask=attention_mask", "attention_mask=blocked + 1e-6 * (blocked.sum(1, keepdim=True) == 0)"))

slip("TokenClassifier", "Pooled", "The pooled vector of the whole text is used for each token.",
     "`pooler_output` is one vector for the whole text: every token gets the same logits. You want the "
     "vector of each token.",
     (".last_hidden_state", ".pooler_output[:, None].expand(-1, input_ids.shape[1], -1)"))

slip("TokenClassifier", "FirstTokenOnly",
     "Only the first token's vector is classified: the sequence axis is lost.",
     "The vector of the first token, `[CLS]`, is taken: good for classifying whole texts. Here each token "
     "has a decision of its own, so the sequence axis must stay.",
     (".last_hidden_state", ".last_hidden_state[:, 0]"))

slip("TokenClassifier", "Probabilities",
     "A softmax is taken at the end: probabilities are returned instead of logits.",
     "You return probabilities. The loss does the softmax itself and wants what goes into it; a softmax of "
     "a softmax is nearly flat, and hardly learns.",
     ("(self.dropout(hidden))", "(self.dropout(hidden)).softmax(dim=-1)"))

slip("TokenClassifier", "Rectified", "A ReLU stands between the encoder and the classifier.",
     "An activation between encoder and classifier throws away half of what the encoder says (all that is "
     "negative). The layer is linear, and nothing else.",
     ("self.dropout(hidden)", "self.dropout(hidden).relu()"))

slip("TokenClassifier", "AlwaysDropping", "Dropout acts in evaluation too.",
     "Dropout acts in evaluation too. `F.dropout` does not know which mode the module is in, unless you "
     "tell it; the `nn.Dropout` that is there does.",
     ("self.dropout(hidden)", "F.dropout(hidden, self.dropout.p)"))

slip("TokenClassifier", "NeverDropping", "Dropout is not used at all.",
     "In training nothing is dropped: the dropout layer is made, and never used.",
     ("self.dropout(hidden)", "hidden"))

slip("TokenClassifier", "LogitsDropped", "Dropout acts on the logits instead of the encoder's output.",
     "Dropout sets *logits* to 0 here, which changes the decision at random. It belongs on the features, "
     "before the linear layer.",
     ("self.classifier(self.dropout(hidden))", "self.dropout(self.classifier(hidden))"))

slip("TokenClassifier", "EncoderCutOff", "No gradient reaches the encoder.",
     "The numbers are right, and yet the encoder cannot learn: no gradient reaches it. Look for `no_grad` "
     "or `detach`. Fine-tuning trains the encoder as well.",
     (".last_hidden_state", ".last_hidden_state.detach()"))


# ---------------------------------------------------------------------------------- token_loss

slip("token_loss", "sum_of_losses", "The sum over all labelled tokens is returned instead of the mean.",
     "The losses are added up and not divided: a batch of long texts then makes larger steps than one of "
     "short texts. The mean is asked for.",
     ("ignore_index=-100", 'ignore_index=-100, reduction="sum"'))

slip("token_loss", "divided_by_all_tokens",
     "The sum is divided by the number of all tokens, ignored ones included.",
     "You divide by the number of *all* tokens. Then padding a batch makes its loss smaller. Divide by the "
     "number of those that count.",
     ("ignore_index=-100)", 'ignore_index=-100, reduction="none").mean()'))

slip("token_loss", "ignored_as_label_zero", "Tokens with the label -100 are treated as having label 0.",
     "Tokens with the label -100 are counted as if they had label 0. They have none: leave them out.",
     ("labels.flatten()", "labels.clamp(min=0).flatten()"))

slip("token_loss", "reshaped_for_transposed",
     "The class axis is brought forward by a reshape, which mixes tokens with classes.",
     "The shapes fit, but the numbers are mixed up: `view` and `reshape` do not move axes, they read the "
     "same numbers in another grouping. To bring the classes to axis 1 the axes must be *exchanged*.",
     ("logits.flatten(0, 1), labels.flatten()",
      "logits.reshape(len(logits), logits.shape[2], logits.shape[1]), labels"))

slip("token_loss", "softmax_twice", "A softmax is taken before cross-entropy, which takes another one.",
     "`F.cross_entropy` wants logits and does the softmax by itself. You give it probabilities, so the "
     "softmax is taken twice.",
     ("logits.flatten(0, 1)", "logits.softmax(-1).flatten(0, 1)"))

slip("token_loss", "mean_of_means", "The mean of each text's mean is taken.",
     "You average within each text first, then over the texts. A token of a short text then counts more "
     "than one of a long text. Here all labelled tokens of the batch count the same.",
     ("F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)",
      "torch.stack([F.cross_entropy(*both) for both in zip(logits, labels, strict=True)]).mean()"))

slip("token_loss", "label_zero_left_out", "Tokens with label 0 are left out, as well as those with -100.",
     "Words outside of entities are left out as well. Without them the model never learns to say that "
     "something is *no* entity. Only -100 is left out.",
     ("logits.flatten(0, 1), labels.flatten()", "logits[labels > 0], labels[labels > 0]"))

slip("token_loss", "cut_off", "The loss is cut off from the graph: no gradient flows.",
     "The value is right, but it is cut off from the logits (`.item()`, `.detach()`, a new tensor made of a "
     "number): nothing can be learned from it.",
     ("ignore_index=-100)", "ignore_index=-100).detach()"))


@misconception(
    "token_loss",
    "For large logits exp() overflows. The log-softmax takes the largest logit out first, and is safe; take that instead of putting it together from exp and log.",
)
def overflowing(logits, labels):
    """The softmax is put together from exp() and overflows for large logits."""
    counted = labels != -100
    powers = torch.exp(logits[counted])
    chances = powers / powers.sum(-1, keepdim=True)
    return -torch.log(chances.gather(-1, labels[counted][:, None])).mean()


# ---------------------------------------------------------------------------------- train_epoch

slip("train_epoch", "gradients_pile_up", "The gradients are never set to zero.",
     "PyTorch adds new gradients to those that are there. You never clear them, so each step also repeats "
     "all steps before it.",
     ("        optimizer.zero_grad()\n", ""))

slip("train_epoch", "cleared_too_late",
     "The gradients are set to zero between the backward pass and the step.",
     "The weights do not move: the gradients are cleared after they were computed and before they are used.",
     ("        optimizer.zero_grad()\n", ""),
     ("loss.backward()",
      "loss.backward()\n"
      "        optimizer.zero_grad()"))

slip("train_epoch", "not_clipped", "The gradients are not clipped.",
     "The gradients go into the step at their full length: they are not clipped, or at a time when there "
     "are none yet. The place for it is between the backward pass and the step.",
     ("        nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n", ""))

slip("train_epoch", "clipped_one_by_one",
     "Each parameter's gradient is clipped by itself instead of all together.",
     "Each parameter's gradient is shortened by itself, which changes the direction of the step. What is to "
     "be limited is the norm of *all* gradients together: hand over all parameters at once.",
     ("nn.utils.clip_grad_norm_(model.parameters(), max_norm)",
      "for parameter in model.parameters():\n"
      "            nn.utils.clip_grad_norm_([parameter], max_norm)"))

slip("train_epoch", "values_clipped", "The gradients' entries are clipped instead of their norm.",
     "Each entry of the gradient is limited by itself, which changes its direction. What is to be limited "
     "is its length: the norm, not the values.",
     ("clip_grad_norm_", "clip_grad_value_"))

slip("train_epoch", "scheduler_forgotten", "The scheduler makes no step.",
     "The scheduler is never asked to step, so the learning rate stays where it began.",
     ("        if scheduler is not None:\n"
      "            scheduler.step()\n",
      ""))

slip("train_epoch", "scheduler_first", "The scheduler steps before the optimizer does.",
     "The learning rate changes before the first step is made: the plan is one step ahead. First the "
     "optimizer, then the scheduler.",
     ("optimizer.step()\n"
      "        if scheduler is not None:\n"
      "            scheduler.step()",
      "if scheduler is not None:\n"
      "            scheduler.step()\n"
      "        optimizer.step()"))

slip("train_epoch", "mode_not_set", "The model is not put into training mode.",
     "Whoever measured last left the model in evaluation mode, where dropout does nothing. Training begins "
     "with saying so to the model.",
     ("    model.train()\n", ""))

slip("train_epoch", "mask_not_handed_over", "The model does not get the attention mask.",
     "The model is called without the attention mask: it trains on texts with padding in them.",
     (', batch["attention_mask"]', ""))

slip("train_epoch", "mean_returned", "The mean of the losses is returned instead of each batch's loss.",
     "You return one number for the whole epoch. The losses of the single batches are asked for: they make "
     "the learning curve.",
     ("return losses", "return sum(losses) / len(losses)"))


# ---------------------------------------------------------------------------------- decode_entities

slip("decode_entities", "every_piece_read",
     "The predictions at all pieces of a word are read, not only that at the first one.",
     "Pieces that continue a word are read as if their predictions meant something. Nobody trained the "
     "model on what to say there: only the first piece of a word counts.",
     ("        elif word == word_before:  # the word continues, and its entity with it\n"
      "            if open_entity is not None:\n"
      "                open_entity[1] = end\n",
      ""))

slip("decode_entities", "specials_decoded", "Predictions at special tokens and padding become entities.",
     "Special tokens are no words, whatever the model predicts there. Pass over what has no word id.",
     ("if word is None:\n"
      "            open_entity = None\n"
      "        elif word == word_before:",
      "if word is not None and word == word_before:"))

slip("decode_entities", "stray_inside_dropped",
     "An I- that continues nothing is dropped instead of beginning an entity.",
     "An I- that nothing precedes is thrown away here, and all words after it. Read generously: it begins "
     "an entity.",
     ('if prefix == "O":',
      'if prefix == "O" or prefix == "I" and (open_entity is None or open_entity[2] != label):'))

slip("decode_entities", "continues_any_label",
     "An I- continues the entity before it even if that has another label.",
     "An I- continues whatever is open, of whatever label. I-College does not continue a name: compare the "
     "labels.",
     (" and open_entity[2] == label", ""))

slip("decode_entities", "neighbours_joined", "A B- right behind an entity of the same label continues it.",
     "Two entities of one label that stand side by side come out as one. A B- always begins a new one, "
     "whatever came before.",
     ('prefix == "I" and ', ""))


@misconception(
    "decode_entities",
    "An entity is stored only when something else comes after it. Is one still open when the text ends? A text's last word may be the end of an entity.",
)
def last_one_lost(predictions, offsets, word_ids, labels):
    """An entity that reaches to the last word is lost."""
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
     "The last word is cut off behind its first piece. Pieces that continue a word have no label of their "
     "own, but they belong to the word, and move the end.",
     ("elif word == word_before:  # the word continues, and its entity with it\n"
      "            if open_entity is not None:\n"
      "                open_entity[1] = end",
      "elif word == word_before:\n"
      "            pass"))

slip("decode_entities", "end_one_short",
     "The end of each entity is its last character instead of the place behind it.",
     "The end is one character short: the tokenizer's offsets are exclusive already, like those of the "
     "entities.",
     ("[Entity(*entity) for entity in entities]",
      "[Entity(start, end - 1, label) for start, end, label in entities]"))

slip("decode_entities", "prefix_kept", "The tag's prefix is kept in the label.",
     "The label still has B- or I- in front of it. The prefix says where in the entity a word stands; the "
     "entity's label is what comes after it.",
     ("open_entity[2] == label", "open_entity[2][2:] == label"),
     ("[start, end, label]", "[start, end, labels[prediction]]"))

slip("decode_entities", "split_at_the_last_hyphen",
     "A label with a hyphen in it loses what stands behind that hyphen.",
     "A label may contain a hyphen itself. Only the *first* hyphen of a tag separates prefix and label.",
     ('prefix, _, label = labels[prediction].partition("-")',
      'prefix, label, *_ = [*labels[prediction].split("-"), ""]'))


# ---------------------------------------------------------------------------------- entity_scores

slip("entity_scores", "documents_pooled",
     "All documents are pooled, so a span may match one of another document.",
     "Spans of all documents are thrown into one pot. Characters 0 to 9 exist in every document: an entity "
     "must be right in *its* document.",
     ("zip(gold, predicted, strict=True)",
      "[({span for one in gold for span in one}, {span for one in predicted for span in one})]"))

slip("entity_scores", "overlap_is_enough",
     "A predicted entity counts as right if it overlaps a true one of its label.",
     "A span that overlaps a true one counts as right here. Entity-level scores are strict: start, end and "
     "label must be equal.",
     ("set(truth) & set(guesses)",
      "[\n"
      "            span for span in guesses\n"
      "            if any(span.start < one.end and one.start < span.end and span.label == one.label for one in truth)\n"
      "        ]"))

slip("entity_scores", "labels_not_compared",
     "An entity counts as right if its place is right, whatever its label.",
     "Places are compared, labels are not. A college that was found as an employer is an error.",
     ("set(truth) & set(guesses)", "[span for span in guesses if span[:2] in {one[:2] for one in truth}]"))

slip("entity_scores", "precision_and_recall_swapped", "Precision and recall are exchanged.",
     "Precision and recall are exchanged. Precision asks: of what was *predicted*, how much is right? "
     "Recall: of what is *true*, how much was found?",
     ("= (precision, recall, f1)", "= (recall, precision, f1)"))

slip("entity_scores", "arithmetic_mean", "F1 is computed as the arithmetic mean of precision and recall.",
     "F1 is the *harmonic* mean. With the plain mean, a finder that marks everything (recall 1, precision "
     "near 0) would get a half.",
     ("2 * precision * recall / (precision + recall) if right[label] else 0.0", "(precision + recall) / 2"))

slip("entity_scores", "macro_average",
     "“all” is the mean over the labels (macro) instead of the score of all entities together (micro).",
     "Under “all” stands the mean of the labels' scores, the macro average: a rare label counts as much as "
     "a frequent one. Asked for is the micro average: add up the *counts* of all labels, then divide.",
     ('{*true, *found, "all"}', '{*true, *found} - {"all"}'),
     ("return scores",
      "columns = zip(*scores.values(), strict=True)\n"
      '    scores["all"] = tuple(sum(column) / len(scores) for column in columns)\n'
      "    return scores"))


@misconception(
    "entity_scores",
    "You average the scores of the documents. A document with one entity then counts as much as one with twenty. Add up the counts of all documents, then divide.",
)
def mean_over_documents(gold, predicted):
    """The scores of the single documents are averaged."""
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
     "Labels that were predicted but are never true are left out, and with them their false positives: the "
     "precision looks better than it is.",
     ("    right, found, true =",
      "    known = {span.label for spans in gold for span in spans}\n"
      "    right, found, true ="),
     ('counter["all"] += 1', 'counter["all"] += span.label in known'))

slip("entity_scores", "divided_by_zero", "A division by zero is not handled.",
     "It stops where nothing was predicted, or nothing is right: 0 divided by 0. Read in the docstring what "
     "it is to be.",
     (" if found[label] else 0.0", ""), (" if true[label] else 0.0", ""), (" if right[label] else 0.0", ""))

slip("entity_scores", "characters_counted", "Characters are compared instead of whole entities.",
     "Characters are counted, not entities: long entities weigh more, and a half entity is half right. An "
     "entity is right as a whole or not at all.",
     ("        for counter, spans in",
      "        truth, guesses = (\n"
      "            {Entity(i, i + 1, span.label) for span in spans for i in range(span.start, span.end)}\n"
      "            for spans in (truth, guesses)\n"
      "        )\n"
      "        for counter, spans in"))
