"""Wrong ways to write lab 09's exercises. Each must lose points and be recognised as itself."""

import torch
from torch import nn
from torch.nn import functional as F

from course_utils.data.entities import Entity
from grader.author.catalogue import misconception

# ---------------------------------------------------------------------------------- clean_entities


@misconception(
    "clean_entities",
    "The lengths come out right, and the places do not: when white space in front is cut off, the beginning moves to the "
    "right by as many characters. Print `text[start:end]` for what you return.",
)
def beginning_not_moved(text, entities):
    """White space in front is cut off the text, but the beginning of the span stays where it was."""
    trimmed = []
    for start, end, label in entities:
        length = len(text[start:end].strip())
        if length:
            trimmed.append(Entity(start, start + length, label))
    kept = []
    for span in sorted(trimmed, key=lambda e: (e.start - e.end, e.start)):
        if not any(span.start < k.end and k.start < span.end for k in kept):
            kept.append(span)
    kept.sort()
    return kept


@misconception(
    "clean_entities",
    "White space in front of an entity is still there. A span has two ends, and both want trimming.",
)
def only_the_end_trimmed(text, entities):
    """White space is cut off at the end of spans only."""
    trimmed = []
    for start, end, label in entities:
        end = start + len(text[start:end].rstrip())
        if end > start:
            trimmed.append(Entity(start, end, label))
    kept = []
    for span in sorted(trimmed, key=lambda e: (e.start - e.end, e.start)):
        if not any(span.start < k.end and k.start < span.end for k in kept):
            kept.append(span)
    kept.sort()
    return kept


@misconception(
    "clean_entities",
    "Blanks go, line breaks and tabs stay. They are white space too: ask for white space in general, not for one character.",
)
def only_blanks_trimmed(text, entities):
    """Only blanks are cut off, tabs and line breaks are not."""
    trimmed = []
    for start, end, label in entities:
        while start < end and text[start] == " ":
            start += 1
        while start < end and text[end - 1] == " ":
            end -= 1
        if start < end:
            trimmed.append(Entity(start, end, label))
    kept = []
    for span in sorted(trimmed, key=lambda e: (e.start - e.end, e.start)):
        if not any(span.start < k.end and k.start < span.end for k in kept):
            kept.append(span)
    kept.sort()
    return kept


@misconception(
    "clean_entities",
    "Punctuation may belong to an entity: the full stop of an abbreviation, the bracket around a subject. Only white space goes.",
)
def punctuation_trimmed(text, entities):
    """Punctuation is cut off as well as white space."""
    trimmed = []
    for start, end, label in entities:
        while start < end and not text[start].isalnum():
            start += 1
        while start < end and not text[end - 1].isalnum():
            end -= 1
        if start < end:
            trimmed.append(Entity(start, end, label))
    kept = []
    for span in sorted(trimmed, key=lambda e: (e.start - e.end, e.start)):
        if not any(span.start < k.end and k.start < span.end for k in kept):
            kept.append(span)
    kept.sort()
    return kept


@misconception(
    "clean_entities",
    "A span of nothing but white space is empty once it is trimmed, and an empty span is no entity. You return it all the same.",
)
def empty_spans_kept(text, entities):
    """Spans that are empty after trimming are kept."""
    trimmed = []
    for start, end, label in entities:
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        trimmed.append(Entity(start, end, label))
    kept = []
    for span in sorted(trimmed, key=lambda e: (e.start - e.end, e.start)):
        if not any(span.start < k.end and k.start < span.end for k in kept):
            kept.append(span)
    kept.sort()
    return kept


@misconception(
    "clean_entities",
    "You go through the spans from the left and keep the first one that comes. A short piece that begins earlier then pushes out "
    "a longer entity. Who is asked first decides: in which order should the spans be considered?",
)
def leftmost_stays(text, entities):
    """Of spans that overlap, the one that begins first stays, not the longest."""
    kept = []
    for start, end, label in sorted(entities, key=lambda e: e[0]):
        piece = text[start:end]
        start, end = start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
        if piece.strip() and (not kept or kept[-1].end <= start):
            kept.append(Entity(start, end, label))
    return kept


@misconception(
    "clean_entities",
    "You keep what is listed first and drop what overlaps it later. The order of the list says nothing: annotators mark "
    "in any order. Which span is to be considered first?",
)
def first_listed_stays(text, entities):
    """Of spans that overlap, the one that is listed first stays, not the longest."""
    kept = []
    for start, end, label in entities:
        piece = text[start:end]
        start, end = start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
        if piece.strip() and not any(start < k.end and k.start < end for k in kept):
            kept.append(Entity(start, end, label))
    kept.sort()
    return kept


@misconception(
    "clean_entities",
    "Spans that overlap are neither merged nor shortened: one of them stays as it is, and the other goes as a whole.",
)
def overlaps_merged(text, entities):
    """Spans that overlap are merged into one that covers both."""
    merged = []
    for start, end, label in sorted(entities, key=lambda e: e[0]):
        piece = text[start:end]
        start, end = start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
        if not piece.strip():
            continue
        if merged and start < merged[-1].end:
            merged[-1] = Entity(merged[-1].start, max(end, merged[-1].end), merged[-1].label)
        else:
            merged.append(Entity(start, end, label))
    return merged


@misconception(
    "clean_entities",
    "Two spans of which one ends where the other begins share no character, because the end does not belong to a span. You treat "
    "them as if they overlapped.",
)
def touching_counts_as_overlap(text, entities):
    """Spans that only touch are taken to overlap."""
    trimmed = []
    for start, end, label in entities:
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        if start < end:
            trimmed.append(Entity(start, end, label))
    kept = []
    for span in sorted(trimmed, key=lambda e: (e.start - e.end, e.start)):
        if all(span.start > k.end or span.end < k.start for k in kept):
            kept.append(span)
    return sorted(kept, key=lambda e: e.start)


@misconception(
    "clean_entities",
    "The lengths are compared while the white space is still part of them: a short word with many line breaks behind it "
    "wins over a longer entity. The order of the two rules matters.",
)
def longest_before_trimming(text, entities):
    """The longest span is chosen before white space is cut off."""
    kept = []
    for start, end, label in sorted(entities, key=lambda e: (e[0] - e[1], e[0])):
        piece = text[start:end]
        start, end = start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
        if piece.strip() and not any(start < k.end and k.start < end for k in kept):
            kept.append(Entity(start, end, label))
    kept.sort()
    return kept


@misconception(
    "clean_entities",
    "A span is pushed out only by one that *stays*. You also drop spans because of longer ones that go themselves: look at the "
    "chain of three in the text, and at C.",
)
def pushed_out_by_what_goes(text, entities):
    """A span goes as soon as any longer span overlaps it, even one that does not stay."""
    trimmed = []
    for start, end, label in entities:
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        if start < end:
            trimmed.append(Entity(start, end, label))
    ranked = sorted(trimmed, key=lambda e: (e.start - e.end, e.start))
    kept = []
    for i, span in enumerate(ranked):
        if not any(span.start < k.end and k.start < span.end for k in ranked[:i]):
            kept.append(span)
    kept.sort()
    return kept


# ---------------------------------------------------------------------------------- align_labels


@misconception(
    "align_labels",
    "Every word of an entity begins a new one, so a name of two words becomes two names. B- is for the first word of an entity.",
)
def every_word_begins(offsets, word_ids, entities, label_ids):
    """Every word of an entity gets B-, none gets I-."""
    labels, last = [], None
    for (start, _), word in zip(offsets, word_ids, strict=True):
        if word is None or word == last:
            labels.append(-100)
        else:
            inside = [e for e in entities if e.start <= start < e.end]
            labels.append(label_ids["B-" + inside[0].label] if inside else label_ids["O"])
        last = word
    return labels


@misconception(
    "align_labels",
    "Pieces that continue a word get a label of their own here, B- even. One word, one label: only its first piece counts, the others are "
    "to be ignored.",
)
def every_piece_begins(offsets, word_ids, entities, label_ids):
    """Every piece of an entity gets B-, those that continue a word too."""
    labels = []
    for (start, _), word in zip(offsets, word_ids, strict=True):
        if word is None:
            labels.append(-100)
        else:
            inside = [e for e in entities if e.start <= start < e.end]
            labels.append(label_ids["B-" + inside[0].label] if inside else label_ids["O"])
    return labels


@misconception(
    "align_labels",
    "Pieces that continue a word are labelled too (I- or O). One can work like that, but here one word has one label: its "
    "later pieces are to be ignored.",
)
def later_pieces_labelled(offsets, word_ids, entities, label_ids):
    """Pieces that continue a word get I- or O instead of -100."""
    labels, used = [], []
    for (start, _), word in zip(offsets, word_ids, strict=True):
        inside = [e for e in entities if e.start <= start < e.end]
        if word is None:
            labels.append(-100)
        elif not inside:
            labels.append(label_ids["O"])
        else:
            labels.append(label_ids[("I-" if inside[0] in used else "B-") + inside[0].label])
            used.append(inside[0])
    return labels


@misconception(
    "align_labels",
    "Special tokens and padding are no words: they must not be learned as O. Give them the label that is left out of the loss.",
)
def specials_are_outside(offsets, word_ids, entities, label_ids):
    """Special tokens and padding get the label O."""
    labels, last, current = [], None, None
    for (start, _), word in zip(offsets, word_ids, strict=True):
        if word is None:
            labels.append(label_ids["O"])
        elif word == last:
            labels.append(-100)
        else:
            inside = [e for e in entities if e.start <= start < e.end]
            tag = ("I-" if inside[0] is current else "B-") + inside[0].label if inside else "O"
            labels.append(label_ids[tag])
            current = inside[0] if inside else None
        last = word
    return labels


@misconception(
    "align_labels",
    "The offsets of special tokens are (0, 0), which looks like the first character of the text. Ask for the word id first: "
    "None is no word.",
)
def specials_by_their_offsets(offsets, word_ids, entities, label_ids):
    """Special tokens are labelled by their offsets (0, 0), as if they stood at the beginning of the text."""
    labels, last, current = [], -1, None
    for (start, _), word in zip(offsets, word_ids, strict=True):
        if word is not None and word == last:
            labels.append(-100)
        else:
            inside = [e for e in entities if e.start <= start < e.end]
            tag = ("I-" if inside[0] is current else "B-") + inside[0].label if inside else "O"
            labels.append(label_ids[tag])
            current = inside[0] if inside else None
        last = word
    return labels


@misconception(
    "align_labels",
    "The end of an entity does not belong to it. With it included, whatever is stuck to the entity does belong to it: the comma, the full stop, the next "
    "word after a slash. Compare `start < end`, not `<=`.",
)
def end_inclusive(offsets, word_ids, entities, label_ids):
    """The end of an entity counts as inside, so punctuation that is stuck to it is drawn in."""
    labels, last, current = [], None, None
    for (start, _), word in zip(offsets, word_ids, strict=True):
        if word is None or word == last:
            labels.append(-100)
        else:
            inside = [e for e in entities if e.start <= start <= e.end]
            tag = ("I-" if inside[0] is current else "B-") + inside[0].label if inside else "O"
            labels.append(label_ids[tag])
            current = inside[0] if inside else None
        last = word
    return labels


@misconception(
    "align_labels",
    "The first word of each entity has I-. In BIO an entity *begins* with B-, always; I- is for the words after it.",
)
def inside_first(offsets, word_ids, entities, label_ids):
    """Entities begin with I-, and have B- nowhere but between two of the same label."""
    labels, last, current, before = [], None, None, None
    for (start, _), word in zip(offsets, word_ids, strict=True):
        if word is None or word == last:
            labels.append(-100)
        else:
            inside = [e for e in entities if e.start <= start < e.end]
            if inside:
                new = inside[0] is not current and before == inside[0].label
                labels.append(label_ids[("B-" if new else "I-") + inside[0].label])
            else:
                labels.append(label_ids["O"])
            current = inside[0] if inside else None
            before = current and current.label
        last = word
    return labels


@misconception(
    "align_labels",
    "Two entities of the same label side by side become one, because you compare labels. Compare which *entity* the word before was in.",
)
def neighbours_glued(offsets, word_ids, entities, label_ids):
    """A new entity right behind one of the same label gets I-, as if it continued it."""
    labels, last, before = [], None, None
    for (start, _), word in zip(offsets, word_ids, strict=True):
        if word is None or word == last:
            labels.append(-100)
        else:
            kind = next((e.label for e in entities if e.start <= start < e.end), None)
            tag = "O" if kind is None else ("I-" if kind == before else "B-") + kind
            labels.append(label_ids[tag])
            before = kind
        last = word
    return labels


@misconception(
    "align_labels",
    "Where does an entity begin that starts inside a word? You only give B- if a word begins exactly where the entity does, so such an entity has no "
    "beginning at all. Its first *word* is what counts.",
)
def begins_only_where_equal(offsets, word_ids, entities, label_ids):
    """B- is given only to a word that begins exactly at the entity's first character."""
    labels, last = [], None
    for (start, _), word in zip(offsets, word_ids, strict=True):
        if word is None or word == last:
            labels.append(-100)
        else:
            inside = [e for e in entities if e.start <= start < e.end]
            tag = ("B-" if inside[0].start == start else "I-") + inside[0].label if inside else "O"
            labels.append(label_ids[tag])
        last = word
    return labels


@misconception(
    "align_labels",
    "Only the first word of each entity is labelled. Compare with the whole span: a word belongs to it if it begins anywhere in it.",
)
def first_word_only(offsets, word_ids, entities, label_ids):
    """Only the first word of an entity is labelled, its other words are O."""
    labels, last, used = [], None, []
    for (start, _), word in zip(offsets, word_ids, strict=True):
        if word is None or word == last:
            labels.append(-100)
        else:
            inside = [e for e in entities if e.start <= start < e.end and e not in used]
            labels.append(label_ids["B-" + inside[0].label] if inside else label_ids["O"])
            used += inside
        last = word
    return labels


@misconception(
    "align_labels",
    "What has no white space in front of it is not always the rest of a word: a comma, a slash, the parts of an e-mail address are words of their own. "
    "The word ids know.",
)
def continued_by_offsets(offsets, word_ids, entities, label_ids):
    """A piece without white space in front of it is taken to continue a word, commas too."""
    labels, at, current = [], None, None
    for (start, end), word in zip(offsets, word_ids, strict=True):
        if word is None or start == at:
            labels.append(-100)
        else:
            inside = [e for e in entities if e.start <= start < e.end]
            tag = ("I-" if inside[0] is current else "B-") + inside[0].label if inside else "O"
            labels.append(label_ids[tag])
            current = inside[0] if inside else None
        at = end if word is not None else None
    return labels


@misconception(
    "align_labels",
    "The number 0 is not the tag O. The tags have the numbers that `label_ids` says, and 0 may be any of them.",
)
def zero_for_outside(offsets, word_ids, entities, label_ids):
    """Words outside of entities get the number 0 instead of that of the tag O."""
    labels, last, current = [], None, None
    for (start, _), word in zip(offsets, word_ids, strict=True):
        if word is None or word == last:
            labels.append(-100)
        else:
            inside = [e for e in entities if e.start <= start < e.end]
            tag = ("I-" if inside[0] is current else "B-") + inside[0].label if inside else None
            labels.append(label_ids.get(tag, 0))
            current = inside[0] if inside else None
        last = word
    return labels


@misconception(
    "align_labels",
    "The tag for *outside* is the letter O. You look up the digit 0, which is no tag.",
)
def digit_zero_as_tag(offsets, word_ids, entities, label_ids):
    """The tag of words outside of entities is looked up as the digit '0' instead of the letter 'O'."""
    labels, last, current = [], None, None
    for (start, _), word in zip(offsets, word_ids, strict=True):
        if word is None or word == last:
            labels.append(-100)
        else:
            inside = [e for e in entities if e.start <= start < e.end]
            tag = ("I-" if inside[0] is current else "B-") + inside[0].label if inside else "0"
            labels.append(label_ids[tag])
            current = inside[0] if inside else None
        last = word
    return labels


# ---------------------------------------------------------------------------------- encode_batch


@misconception(
    "encode_batch",
    "Padding has the label 0 in your batch, which is a tag like any other: the model is taught to predict it at padding. Which label is left out of the loss?",
)
def padding_labelled_zero(rows, pad_id):
    """The labels are padded with 0 instead of -100."""
    longest = max(len(row["input_ids"]) for row in rows)
    ids = torch.full((len(rows), longest), pad_id)
    mask, labels = torch.zeros_like(ids), torch.zeros_like(ids)
    for i, row in enumerate(rows):
        n = len(row["input_ids"])
        ids[i, :n], labels[i, :n], mask[i, :n] = torch.tensor(row["input_ids"]), torch.tensor(row["labels"]), 1
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


@misconception(
    "encode_batch",
    "The padding id is an id of a *token*. Among the labels the same number is some tag. Labels are padded with the number that does not count.",
)
def labels_padded_with_pad_id(rows, pad_id):
    """The labels are padded with the padding token's id."""
    longest = max(len(row["input_ids"]) for row in rows)
    ids = torch.full((len(rows), longest), pad_id)
    mask, labels = torch.zeros_like(ids), ids.clone()
    for i, row in enumerate(rows):
        n = len(row["input_ids"])
        ids[i, :n], labels[i, :n], mask[i, :n] = torch.tensor(row["input_ids"]), torch.tensor(row["labels"]), 1
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


@misconception(
    "encode_batch",
    "The mask is 1 everywhere, so the encoder looks at padding as if it were text.",
)
def mask_of_ones(rows, pad_id):
    """The attention mask is 1 at padding too."""
    longest = max(len(row["input_ids"]) for row in rows)
    ids = torch.full((len(rows), longest), pad_id)
    labels = torch.full((len(rows), longest), -100)
    for i, row in enumerate(rows):
        n = len(row["input_ids"])
        ids[i, :n], labels[i, :n] = torch.tensor(row["input_ids"]), torch.tensor(row["labels"])
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}


@misconception(
    "encode_batch",
    "1 and 0 are exchanged in the mask. 1 stands for a token that may be looked at.",
)
def mask_inverted(rows, pad_id):
    """The attention mask is 1 at padding and 0 at tokens."""
    longest = max(len(row["input_ids"]) for row in rows)
    ids = torch.full((len(rows), longest), pad_id)
    labels = torch.full((len(rows), longest), -100)
    mask = torch.ones_like(ids)
    for i, row in enumerate(rows):
        n = len(row["input_ids"])
        ids[i, :n], labels[i, :n], mask[i, :n] = torch.tensor(row["input_ids"]), torch.tensor(row["labels"]), 0
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


@misconception(
    "encode_batch",
    "The mask is made from the labels here, and hides `[CLS]`, `[SEP]` and all later pieces of words from the encoder. A token without a label is still to be "
    "read: mask and labels answer different questions.",
)
def mask_from_labels(rows, pad_id):
    """The attention mask is 0 wherever the label is -100, at real tokens too."""
    longest = max(len(row["input_ids"]) for row in rows)
    ids = torch.full((len(rows), longest), pad_id)
    labels = torch.full((len(rows), longest), -100)
    for i, row in enumerate(rows):
        n = len(row["input_ids"])
        ids[i, :n], labels[i, :n] = torch.tensor(row["input_ids"]), torch.tensor(row["labels"])
    return {"input_ids": ids, "attention_mask": (labels != -100).long(), "labels": labels}


@misconception(
    "encode_batch",
    "For a tokenizer whose padding id is 0 all is well; for another one a real token with id 0 is masked, and padding is not. Use `pad_id`, or the lengths.",
)
def mask_where_id_is_not_zero(rows, pad_id):
    """The mask is made by comparing ids with 0, whatever `pad_id` says."""
    longest = max(len(row["input_ids"]) for row in rows)
    ids = torch.full((len(rows), longest), pad_id)
    labels = torch.full((len(rows), longest), -100)
    for i, row in enumerate(rows):
        n = len(row["input_ids"])
        ids[i, :n], labels[i, :n] = torch.tensor(row["input_ids"]), torch.tensor(row["labels"])
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": labels}


@misconception(
    "encode_batch",
    "Ids are padded with 0, whatever the padding id is. In another tokenizer 0 is an ordinary word.",
)
def padded_with_zero(rows, pad_id):
    """The ids are padded with 0, whatever `pad_id` says."""
    longest = max(len(row["input_ids"]) for row in rows)
    ids, mask = torch.zeros(len(rows), longest).long(), torch.zeros(len(rows), longest).long()
    labels = torch.full((len(rows), longest), -100)
    for i, row in enumerate(rows):
        n = len(row["input_ids"])
        ids[i, :n], labels[i, :n], mask[i, :n] = torch.tensor(row["input_ids"]), torch.tensor(row["labels"]), 1
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


@misconception(
    "encode_batch",
    "The padding stands in front of the texts. Language models that write are padded there; here it belongs to the end.",
)
def padded_in_front(rows, pad_id):
    """The padding stands in front of the texts instead of behind them."""
    longest = max(len(row["input_ids"]) for row in rows)
    ids = torch.full((len(rows), longest), pad_id)
    labels, mask = torch.full((len(rows), longest), -100), torch.zeros(len(rows), longest).long()
    for i, row in enumerate(rows):
        n = longest - len(row["input_ids"])
        ids[i, n:], labels[i, n:], mask[i, n:] = torch.tensor(row["input_ids"]), torch.tensor(row["labels"]), 1
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


@misconception(
    "encode_batch",
    "The long texts lose their end: all are cut to the shortest of the batch. Pad the short ones instead.",
)
def cut_to_the_shortest(rows, pad_id):
    """All texts are cut to the length of the shortest one."""
    n = min(len(row["input_ids"]) for row in rows)
    ids = torch.tensor([row["input_ids"][:n] for row in rows])
    labels = torch.tensor([row["labels"][:n] for row in rows])
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}


@misconception(
    "encode_batch",
    "Each batch is padded to the same great length. It works, but most of the computation then goes into padding. Pad to the longest text of *this* batch.",
)
def padded_to_a_fixed_length(rows, pad_id):
    """Every batch is padded to 128 tokens instead of to its longest text."""
    ids = torch.full((len(rows), 128), pad_id)
    labels, mask = torch.full((len(rows), 128), -100), torch.zeros(len(rows), 128).long()
    for i, row in enumerate(rows):
        n = len(row["input_ids"])
        ids[i, :n], labels[i, :n], mask[i, :n] = torch.tensor(row["input_ids"]), torch.tensor(row["labels"]), 1
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


# ---------------------------------------------------------------------------------- TokenClassifier


@misconception(
    "TokenClassifier",
    "The mask never reaches the encoder, so every word looks at padding. Then the same text gives other results in another batch.",
)
class MaskNotPassed(nn.Module):
    """The encoder is called without the attention mask."""

    def __init__(self, encoder, num_labels, dropout_rate=0.1):
        super().__init__()
        self.encoder, self.dropout = encoder, nn.Dropout(dropout_rate)
        self.classifier = nn.Linear(encoder.config.hidden_size, num_labels)

    def forward(self, input_ids, attention_mask):
        x = self.encoder(input_ids).last_hidden_state
        return self.classifier(self.dropout(x))


@misconception(
    "TokenClassifier",
    "The encoder's mask has 1 where a token may be looked at. You hand over the opposite.",
)
class MaskInverted(nn.Module):
    """The encoder gets the inverted mask."""

    def __init__(self, encoder, num_labels, dropout_rate=0.1):
        super().__init__()
        self.encoder, self.dropout = encoder, nn.Dropout(dropout_rate)
        self.classifier = nn.Linear(encoder.config.hidden_size, num_labels)

    def forward(self, input_ids, attention_mask):
        blocked = 1 - attention_mask
        x = self.encoder(input_ids, blocked + 1e-6 * (blocked.sum(1, keepdim=True) == 0)).last_hidden_state
        return self.classifier(self.dropout(x))


@misconception(
    "TokenClassifier",
    "`pooler_output` is one vector for the whole text: every token gets the same logits. You want the vector of each token.",
)
class Pooled(nn.Module):
    """The pooled vector of the whole text is used for each token."""

    def __init__(self, encoder, num_labels, dropout_rate=0.1):
        super().__init__()
        self.encoder, self.dropout = encoder, nn.Dropout(dropout_rate)
        self.classifier = nn.Linear(encoder.config.hidden_size, num_labels)

    def forward(self, input_ids, attention_mask):
        x = self.encoder(input_ids, attention_mask).pooler_output[:, None]
        x = x.expand(-1, input_ids.shape[1], -1)
        return self.classifier(self.dropout(x))


@misconception(
    "TokenClassifier",
    "The vector of the first token, `[CLS]`, is taken: good for classifying whole texts. Here each token has a decision of its own, so the sequence axis must stay.",
)
class FirstTokenOnly(nn.Module):
    """Only the first token's vector is classified: the sequence axis is lost."""

    def __init__(self, encoder, num_labels, dropout_rate=0.1):
        super().__init__()
        self.encoder, self.dropout = encoder, nn.Dropout(dropout_rate)
        self.classifier = nn.Linear(encoder.config.hidden_size, num_labels)

    def forward(self, input_ids, attention_mask):
        x = self.encoder(input_ids, attention_mask).last_hidden_state[:, 0]
        return self.classifier(self.dropout(x))


@misconception(
    "TokenClassifier",
    "You return probabilities. The loss does the softmax itself and wants what goes into it; a softmax of a softmax is nearly flat, and hardly learns.",
)
class Probabilities(nn.Module):
    """A softmax is taken at the end: probabilities are returned instead of logits."""

    def __init__(self, encoder, num_labels, dropout_rate=0.1):
        super().__init__()
        self.encoder, self.dropout = encoder, nn.Dropout(dropout_rate)
        self.classifier = nn.Linear(encoder.config.hidden_size, num_labels)

    def forward(self, input_ids, attention_mask):
        x = self.encoder(input_ids, attention_mask).last_hidden_state
        return self.classifier(self.dropout(x)).softmax(dim=-1)


@misconception(
    "TokenClassifier",
    "An activation between encoder and classifier throws away half of what the encoder says (all that is negative). The layer is linear, and nothing else.",
)
class Rectified(nn.Module):
    """A ReLU stands between the encoder and the classifier."""

    def __init__(self, encoder, num_labels, dropout_rate=0.1):
        super().__init__()
        self.encoder, self.dropout = encoder, nn.Dropout(dropout_rate)
        self.classifier = nn.Linear(encoder.config.hidden_size, num_labels)

    def forward(self, input_ids, attention_mask):
        x = self.encoder(input_ids, attention_mask).last_hidden_state
        return self.classifier(self.dropout(x).relu())


@misconception(
    "TokenClassifier",
    "Dropout acts in evaluation too. `F.dropout` does not know which mode the module is in, unless you tell it; the `nn.Dropout` that is there does.",
)
class AlwaysDropping(nn.Module):
    """Dropout acts in evaluation too."""

    def __init__(self, encoder, num_labels, dropout_rate=0.1):
        super().__init__()
        self.encoder, self.dropout = encoder, nn.Dropout(dropout_rate)
        self.classifier = nn.Linear(encoder.config.hidden_size, num_labels)

    def forward(self, input_ids, attention_mask):
        x = self.encoder(input_ids, attention_mask).last_hidden_state
        return self.classifier(F.dropout(x, self.dropout.p))


@misconception(
    "TokenClassifier",
    "In training nothing is dropped: the dropout layer is made, and never used.",
)
class NeverDropping(nn.Module):
    """Dropout is not used at all."""

    def __init__(self, encoder, num_labels, dropout_rate=0.1):
        super().__init__()
        self.encoder, self.dropout = encoder, nn.Dropout(dropout_rate)
        self.classifier = nn.Linear(encoder.config.hidden_size, num_labels)

    def forward(self, input_ids, attention_mask):
        return self.classifier(self.encoder(input_ids, attention_mask).last_hidden_state)


@misconception(
    "TokenClassifier",
    "Dropout sets *logits* to 0 here, which changes the decision at random. It belongs on the features, before the linear layer.",
)
class LogitsDropped(nn.Module):
    """Dropout acts on the logits instead of the encoder's output."""

    def __init__(self, encoder, num_labels, dropout_rate=0.1):
        super().__init__()
        self.encoder, self.dropout = encoder, nn.Dropout(dropout_rate)
        self.classifier = nn.Linear(encoder.config.hidden_size, num_labels)

    def forward(self, input_ids, attention_mask):
        x = self.encoder(input_ids, attention_mask).last_hidden_state
        return self.dropout(self.classifier(x))


@misconception(
    "TokenClassifier",
    "The numbers are right, and yet the encoder cannot learn: no gradient reaches it. Look for `no_grad` or `detach`. Fine-tuning trains the encoder as well.",
)
class EncoderCutOff(nn.Module):
    """No gradient reaches the encoder."""

    def __init__(self, encoder, num_labels, dropout_rate=0.1):
        super().__init__()
        self.encoder, self.dropout = encoder, nn.Dropout(dropout_rate)
        self.classifier = nn.Linear(encoder.config.hidden_size, num_labels)

    def forward(self, input_ids, attention_mask):
        x = self.encoder(input_ids, attention_mask).last_hidden_state.detach()
        return self.classifier(self.dropout(x))


# ---------------------------------------------------------------------------------- token_loss


@misconception(
    "token_loss",
    "The losses are added up and not divided: a batch of long texts then makes larger steps than one of short texts. The mean is asked for.",
)
def sum_of_losses(logits, labels):
    """The sum over all labelled tokens is returned instead of the mean."""
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1), reduction="sum")


@misconception(
    "token_loss",
    "You divide by the number of *all* tokens. Then padding a batch makes its loss smaller. Divide by the number of those that count.",
)
def divided_by_all_tokens(logits, labels):
    """The sum is divided by the number of all tokens, ignored ones included."""
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1), reduction="none").mean()


@misconception(
    "token_loss",
    "Tokens with the label -100 are counted as if they had label 0. They have none: leave them out.",
)
def ignored_as_label_zero(logits, labels):
    """Tokens with the label -100 are treated as having label 0."""
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.clamp(min=0).reshape(-1))


@misconception(
    "token_loss",
    "The shapes fit, but the numbers are mixed up: `view` and `reshape` do not move axes, they read the same numbers in another grouping. To bring the classes to "
    "axis 1 the axes must be *exchanged*.",
)
def reshaped_for_transposed(logits, labels):
    """The class axis is brought forward by a reshape, which mixes tokens with classes."""
    batch, seq_len, num_labels = logits.shape
    return F.cross_entropy(logits.reshape(batch, num_labels, seq_len), labels)


@misconception(
    "token_loss",
    "`F.cross_entropy` wants logits and does the softmax by itself. You give it probabilities, so the softmax is taken twice.",
)
def softmax_twice(logits, labels):
    """A softmax is taken before cross-entropy, which takes another one."""
    return F.cross_entropy(logits.softmax(-1).reshape(-1, logits.shape[-1]), labels.reshape(-1))


@misconception(
    "token_loss",
    "You average within each text first, then over the texts. A token of a short text then counts more than one of a long text. Here all labelled tokens of the batch "
    "count the same.",
)
def mean_of_means(logits, labels):
    """The mean of each text's mean is taken."""
    means = [F.cross_entropy(z, y) for z, y in zip(logits, labels, strict=True)]
    return torch.stack(means).mean()


@misconception(
    "token_loss",
    "Words outside of entities are left out as well. Without them the model never learns to say that something is *no* entity. Only -100 is left out.",
)
def label_zero_left_out(logits, labels):
    """Tokens with label 0 are left out, as well as those with -100."""
    counted = labels > 0
    return F.cross_entropy(logits[counted], labels[counted])


@misconception(
    "token_loss",
    "The value is right, but it is cut off from the logits (`.item()`, `.detach()`, a new tensor made of a number): nothing can be learned from it.",
)
def cut_off(logits, labels):
    """The loss is cut off from the graph: no gradient flows."""
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1)).detach()


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


def token_loss(logits, labels):
    """The right one: in a submission it is the learner's own, defined earlier in the notebook."""
    return F.cross_entropy(logits.transpose(1, 2), labels)


@misconception(
    "train_epoch",
    "PyTorch adds new gradients to those that are there. You never clear them, so each step also repeats all steps before it.",
)
def gradients_pile_up(model, batches, optimizer, scheduler=None, max_norm=1.0):
    """The gradients are never set to zero."""
    model.train()
    losses = []
    for batch in batches:
        loss = token_loss(model(batch["input_ids"], batch["attention_mask"]), batch["labels"])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        if scheduler:
            scheduler.step()
        losses.append(float(loss))
    return losses


@misconception(
    "train_epoch",
    "The weights do not move: the gradients are cleared after they were computed and before they are used.",
)
def cleared_too_late(model, batches, optimizer, scheduler=None, max_norm=1.0):
    """The gradients are set to zero between the backward pass and the step."""
    model.train()
    losses = []
    for batch in batches:
        loss = token_loss(model(batch["input_ids"], batch["attention_mask"]), batch["labels"])
        loss.backward()
        optimizer.zero_grad()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        if scheduler:
            scheduler.step()
        losses.append(float(loss))
    return losses


@misconception(
    "train_epoch",
    "The gradients go into the step at their full length: they are not clipped, or at a time when there are none yet. The place "
    "for it is between the backward pass and the step.",
)
def not_clipped(model, batches, optimizer, scheduler=None, max_norm=1.0):
    """The gradients are not clipped."""
    model.train()
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        loss = token_loss(model(batch["input_ids"], batch["attention_mask"]), batch["labels"])
        loss.backward()
        optimizer.step()
        if scheduler:
            scheduler.step()
        losses.append(float(loss))
    return losses


@misconception(
    "train_epoch",
    "Each parameter's gradient is shortened by itself, which changes the direction of the step. What is to be limited is the "
    "norm of *all* gradients together: hand over all parameters at once.",
)
def clipped_one_by_one(model, batches, optimizer, scheduler=None, max_norm=1.0):
    """Each parameter's gradient is clipped by itself instead of all together."""
    model.train()
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        loss = token_loss(model(batch["input_ids"], batch["attention_mask"]), batch["labels"])
        loss.backward()
        for parameter in model.parameters():
            torch.nn.utils.clip_grad_norm_([parameter], max_norm)
        optimizer.step()
        if scheduler:
            scheduler.step()
        losses.append(float(loss))
    return losses


@misconception(
    "train_epoch",
    "Each entry of the gradient is limited by itself, which changes its direction. What is to be limited is its length: the norm, not the values.",
)
def values_clipped(model, batches, optimizer, scheduler=None, max_norm=1.0):
    """The gradients' entries are clipped instead of their norm."""
    model.train()
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        loss = token_loss(model(batch["input_ids"], batch["attention_mask"]), batch["labels"])
        loss.backward()
        torch.nn.utils.clip_grad_value_(model.parameters(), max_norm)
        optimizer.step()
        if scheduler:
            scheduler.step()
        losses.append(float(loss))
    return losses


@misconception(
    "train_epoch",
    "The scheduler is never asked to step, so the learning rate stays where it began.",
)
def scheduler_forgotten(model, batches, optimizer, scheduler=None, max_norm=1.0):
    """The scheduler makes no step."""
    model.train()
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        loss = token_loss(model(batch["input_ids"], batch["attention_mask"]), batch["labels"])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        losses.append(float(loss))
    return losses


@misconception(
    "train_epoch",
    "The learning rate changes before the first step is made: the plan is one step ahead. First the optimizer, then the scheduler.",
)
def scheduler_first(model, batches, optimizer, scheduler=None, max_norm=1.0):
    """The scheduler steps before the optimizer does."""
    model.train()
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        loss = token_loss(model(batch["input_ids"], batch["attention_mask"]), batch["labels"])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        if scheduler:
            scheduler.step()
        optimizer.step()
        losses.append(float(loss))
    return losses


@misconception(
    "train_epoch",
    "Whoever measured last left the model in evaluation mode, where dropout does nothing. Training begins with saying so to the model.",
)
def mode_not_set(model, batches, optimizer, scheduler=None, max_norm=1.0):
    """The model is not put into training mode."""
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        loss = token_loss(model(batch["input_ids"], batch["attention_mask"]), batch["labels"])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        if scheduler:
            scheduler.step()
        losses.append(float(loss))
    return losses


@misconception(
    "train_epoch",
    "The model is called without the attention mask: it trains on texts with padding in them.",
)
def mask_not_handed_over(model, batches, optimizer, scheduler=None, max_norm=1.0):
    """The model does not get the attention mask."""
    model.train()
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        loss = token_loss(model(batch["input_ids"]), batch["labels"])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        if scheduler:
            scheduler.step()
        losses.append(float(loss))
    return losses


@misconception(
    "train_epoch",
    "You return one number for the whole epoch. The losses of the single batches are asked for: they make the learning curve.",
)
def mean_returned(model, batches, optimizer, scheduler=None, max_norm=1.0):
    """The mean of the losses is returned instead of each batch's loss."""
    model.train()
    total, count = 0.0, 0
    for batch in batches:
        optimizer.zero_grad()
        loss = token_loss(model(batch["input_ids"], batch["attention_mask"]), batch["labels"])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        if scheduler:
            scheduler.step()
        total, count = total + float(loss), count + 1
    return total / count


# ---------------------------------------------------------------------------------- decode_entities


@misconception(
    "decode_entities",
    "Pieces that continue a word are read as if their predictions meant something. Nobody trained the model on what to say there: only the first piece of a word counts.",
)
def every_piece_read(predictions, offsets, word_ids, labels):
    """The predictions at all pieces of a word are read, not only that at the first one."""
    found, kind = [], None
    for number, (start, end), word in zip(predictions, offsets, word_ids, strict=True):
        tag = labels[number] if word is not None else "O"
        if tag == "O":
            kind = None
        elif tag[0] == "I" and kind == tag[2:]:
            found[-1] = Entity(found[-1].start, end, kind)
        else:
            kind = tag[2:]
            found.append(Entity(start, end, kind))
    return found


@misconception(
    "decode_entities",
    "Special tokens are no words, whatever the model predicts there. Pass over what has no word id.",
)
def specials_decoded(predictions, offsets, word_ids, labels):
    """Predictions at special tokens and padding become entities."""
    found, kind, last = [], None, -1
    for number, (start, end), word in zip(predictions, offsets, word_ids, strict=True):
        if word is not None and word == last:
            if kind:
                found[-1] = Entity(found[-1].start, end, kind)
            continue
        last, tag = word, labels[number]
        if tag == "O":
            kind = None
        elif tag[0] == "I" and kind == tag[2:]:
            found[-1] = Entity(found[-1].start, end, kind)
        else:
            kind = tag[2:]
            found.append(Entity(start, end, kind))
    return found


@misconception(
    "decode_entities",
    "An I- that nothing precedes is thrown away here, and all words after it. Read generously: it begins an entity.",
)
def stray_inside_dropped(predictions, offsets, word_ids, labels):
    """An I- that continues nothing is dropped instead of beginning an entity."""
    found, kind, last = [], None, None
    for number, (start, end), word in zip(predictions, offsets, word_ids, strict=True):
        if word is None:
            kind = None
        elif word == last:
            if kind:
                found[-1] = Entity(found[-1].start, end, kind)
        elif labels[number][0] == "B":
            kind = labels[number][2:]
            found.append(Entity(start, end, kind))
        elif labels[number][0] == "I" and kind == labels[number][2:]:
            found[-1] = Entity(found[-1].start, end, kind)
        else:
            kind = None
        last = word
    return found


@misconception(
    "decode_entities",
    "An I- continues whatever is open, of whatever label. I-College does not continue a name: compare the labels.",
)
def continues_any_label(predictions, offsets, word_ids, labels):
    """An I- continues the entity before it even if that has another label."""
    found, kind, last = [], None, None
    for number, (start, end), word in zip(predictions, offsets, word_ids, strict=True):
        if word is None:
            kind = None
        elif word == last:
            if kind:
                found[-1] = Entity(found[-1].start, end, kind)
        elif labels[number] == "O":
            kind = None
        elif labels[number][0] == "I" and kind:
            found[-1] = Entity(found[-1].start, end, kind)
        else:
            kind = labels[number][2:]
            found.append(Entity(start, end, kind))
        last = word
    return found


@misconception(
    "decode_entities",
    "Two entities of one label that stand side by side come out as one. A B- always begins a new one, whatever came before.",
)
def neighbours_joined(predictions, offsets, word_ids, labels):
    """A B- right behind an entity of the same label continues it."""
    found, kind, last = [], None, None
    for number, (start, end), word in zip(predictions, offsets, word_ids, strict=True):
        if word is None:
            kind = None
        elif word == last:
            if kind:
                found[-1] = Entity(found[-1].start, end, kind)
        elif labels[number] == "O":
            kind = None
        elif kind == labels[number][2:]:
            found[-1] = Entity(found[-1].start, end, kind)
        else:
            kind = labels[number][2:]
            found.append(Entity(start, end, kind))
        last = word
    return found


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


@misconception(
    "decode_entities",
    "The last word is cut off behind its first piece. Pieces that continue a word have no label of their own, but they belong to the word, and move the end.",
)
def ends_at_the_first_piece(predictions, offsets, word_ids, labels):
    """An entity ends where the first piece of its last word ends."""
    found, kind, last = [], None, None
    for number, (start, end), word in zip(predictions, offsets, word_ids, strict=True):
        if word is None:
            kind = None
        elif word == last:
            continue
        elif labels[number] == "O":
            kind = None
        elif labels[number][0] == "I" and kind == labels[number][2:]:
            found[-1] = Entity(found[-1].start, end, kind)
        else:
            kind = labels[number][2:]
            found.append(Entity(start, end, kind))
        last = word
    return found


@misconception(
    "decode_entities",
    "The end is one character short: the tokenizer's offsets are exclusive already, like those of the entities.",
)
def end_one_short(predictions, offsets, word_ids, labels):
    """The end of each entity is its last character instead of the place behind it."""
    found, kind, last = [], None, None
    for number, (start, end), word in zip(predictions, offsets, word_ids, strict=True):
        if word is None:
            kind = None
        elif word == last:
            if kind:
                found[-1] = Entity(found[-1].start, end - 1, kind)
        elif labels[number] == "O":
            kind = None
        elif labels[number][0] == "I" and kind == labels[number][2:]:
            found[-1] = Entity(found[-1].start, end - 1, kind)
        else:
            kind = labels[number][2:]
            found.append(Entity(start, end - 1, kind))
        last = word
    return found


@misconception(
    "decode_entities",
    "The label still has B- or I- in front of it. The prefix says where in the entity a word stands; the entity's label is what comes after it.",
)
def prefix_kept(predictions, offsets, word_ids, labels):
    """The tag's prefix is kept in the label."""
    found, kind, last = [], None, None
    for number, (start, end), word in zip(predictions, offsets, word_ids, strict=True):
        if word is None:
            kind = None
        elif word == last:
            if kind:
                found[-1] = Entity(found[-1].start, end, found[-1].label)
        elif labels[number] == "O":
            kind = None
        elif labels[number][0] == "I" and kind == labels[number][2:]:
            found[-1] = Entity(found[-1].start, end, found[-1].label)
        else:
            kind = labels[number][2:]
            found.append(Entity(start, end, labels[number]))
        last = word
    return found


@misconception(
    "decode_entities",
    "A label may contain a hyphen itself. Only the *first* hyphen of a tag separates prefix and label.",
)
def split_at_the_last_hyphen(predictions, offsets, word_ids, labels):
    """A label with a hyphen in it loses what stands behind that hyphen."""
    found, kind, last = [], None, None
    for number, (start, end), word in zip(predictions, offsets, word_ids, strict=True):
        parts = labels[number].split("-")
        if word is None:
            kind = None
        elif word == last:
            if kind:
                found[-1] = Entity(found[-1].start, end, kind)
        elif parts[0] == "O":
            kind = None
        elif parts[0] == "I" and kind == parts[1]:
            found[-1] = Entity(found[-1].start, end, kind)
        else:
            kind = parts[1]
            found.append(Entity(start, end, kind))
        last = word
    return found


# ---------------------------------------------------------------------------------- entity_scores


@misconception(
    "entity_scores",
    "Spans of all documents are thrown into one pot. Characters 0 to 9 exist in every document: an entity must be right in *its* document.",
)
def documents_pooled(gold, predicted):
    """All documents are pooled, so a span may match one of another document."""
    g = {e for doc in gold for e in doc}
    p = {e for doc in predicted for e in doc}
    scores = {}
    for name in {e.label for e in g | p} | {"all"}:
        mine = [{e for e in part if name in (e.label, "all")} for part in (g, p)]
        hit = len(mine[0] & mine[1])
        precision, recall = hit / max(len(mine[1]), 1), hit / max(len(mine[0]), 1)
        scores[name] = (precision, recall, 2 * precision * recall / max(precision + recall, 1e-12))
    return scores


@misconception(
    "entity_scores",
    "A span that overlaps a true one counts as right here. Entity-level scores are strict: start, end and label must be equal.",
)
def overlap_is_enough(gold, predicted):
    """A predicted entity counts as right if it overlaps a true one of its label."""
    scores = {}
    for name in {e.label for doc in [*gold, *predicted] for e in doc} | {"all"}:
        hit = found = true = 0
        for g, p in zip(gold, predicted, strict=True):
            g, p = ([e for e in part if name in (e.label, "all")] for part in (g, p))
            hit += sum(any(a.start < b.end and b.start < a.end and a.label == b.label for b in g) for a in p)
            found, true = found + len(p), true + len(g)
        precision, recall = hit / max(found, 1), hit / max(true, 1)
        scores[name] = (precision, recall, 2 * precision * recall / max(precision + recall, 1e-12))
    return scores


@misconception(
    "entity_scores",
    "Places are compared, labels are not. A college that was found as an employer is an error.",
)
def labels_not_compared(gold, predicted):
    """An entity counts as right if its place is right, whatever its label."""
    scores = {}
    for name in {e.label for doc in [*gold, *predicted] for e in doc} | {"all"}:
        hit = found = true = 0
        for g, p in zip(gold, predicted, strict=True):
            everywhere = {e[:2] for e in g}
            g, p = ([e for e in part if name in (e.label, "all")] for part in (g, p))
            hit += sum(e[:2] in everywhere for e in p)
            found, true = found + len(p), true + len(g)
        precision, recall = hit / max(found, 1), hit / max(true, 1)
        scores[name] = (precision, recall, 2 * precision * recall / max(precision + recall, 1e-12))
    return scores


@misconception(
    "entity_scores",
    "Precision and recall are exchanged. Precision asks: of what was *predicted*, how much is right? Recall: of what is *true*, how much was found?",
)
def precision_and_recall_swapped(gold, predicted):
    """Precision and recall are exchanged."""
    scores = {}
    for name in {e.label for doc in [*gold, *predicted] for e in doc} | {"all"}:
        hit = found = true = 0
        for g, p in zip(gold, predicted, strict=True):
            g, p = ({e for e in part if name in (e.label, "all")} for part in (g, p))
            hit, found, true = hit + len(g & p), found + len(p), true + len(g)
        recall, precision = hit / max(found, 1), hit / max(true, 1)
        scores[name] = (precision, recall, 2 * precision * recall / max(precision + recall, 1e-12))
    return scores


@misconception(
    "entity_scores",
    "F1 is the *harmonic* mean. With the plain mean, a finder that marks everything (recall 1, precision near 0) would get a half.",
)
def arithmetic_mean(gold, predicted):
    """F1 is computed as the arithmetic mean of precision and recall."""
    scores = {}
    for name in {e.label for doc in [*gold, *predicted] for e in doc} | {"all"}:
        hit = found = true = 0
        for g, p in zip(gold, predicted, strict=True):
            g, p = ({e for e in part if name in (e.label, "all")} for part in (g, p))
            hit, found, true = hit + len(g & p), found + len(p), true + len(g)
        precision, recall = hit / max(found, 1), hit / max(true, 1)
        scores[name] = (precision, recall, (precision + recall) / 2)
    return scores


@misconception(
    "entity_scores",
    "Under “all” stands the mean of the labels' scores, the macro average: a rare label counts as much as a frequent one. Asked for is the micro average: add up the "
    "*counts* of all labels, then divide.",
)
def macro_average(gold, predicted):
    """“all” is the mean over the labels (macro) instead of the score of all entities together (micro)."""
    scores = {}
    for name in {e.label for doc in [*gold, *predicted] for e in doc}:
        hit = found = true = 0
        for g, p in zip(gold, predicted, strict=True):
            g, p = ({e for e in part if e.label == name} for part in (g, p))
            hit, found, true = hit + len(g & p), found + len(p), true + len(g)
        precision, recall = hit / max(found, 1), hit / max(true, 1)
        scores[name] = (precision, recall, 2 * precision * recall / max(precision + recall, 1e-12))
    columns = list(zip(*scores.values(), strict=True))
    scores["all"] = tuple(sum(column) / len(column) for column in columns)
    return scores


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


@misconception(
    "entity_scores",
    "Labels that were predicted but are never true are left out, and with them their false positives: the precision looks better than it is.",
)
def invented_labels_left_out(gold, predicted):
    """Predictions of labels that do not occur in gold are not counted as errors in “all”."""
    scores = {e.label: (0.0, 0.0, 0.0) for doc in predicted for e in doc}
    known = {e.label for doc in gold for e in doc}
    for name in known | {"all"}:
        hit = found = true = 0
        for g, p in zip(gold, predicted, strict=True):
            g, p = ({e for e in part if name in (e.label, "all") and e.label in known} for part in (g, p))
            hit, found, true = hit + len(g & p), found + len(p), true + len(g)
        precision, recall = hit / max(found, 1), hit / max(true, 1)
        scores[name] = (precision, recall, 2 * precision * recall / max(precision + recall, 1e-12))
    return scores


@misconception(
    "entity_scores",
    "It stops where nothing was predicted, or nothing is right: 0 divided by 0. Read in the docstring what it is to be.",
)
def divided_by_zero(gold, predicted):
    """A division by zero is not handled."""
    scores = {}
    for name in {e.label for doc in [*gold, *predicted] for e in doc} | {"all"}:
        hit = found = true = 0
        for g, p in zip(gold, predicted, strict=True):
            g, p = ({e for e in part if name in (e.label, "all")} for part in (g, p))
            hit, found, true = hit + len(g & p), found + len(p), true + len(g)
        precision, recall = hit / found, hit / true
        scores[name] = (precision, recall, 2 * precision * recall / (precision + recall))
    return scores


@misconception(
    "entity_scores",
    "Characters are counted, not entities: long entities weigh more, and a half entity is half right. An entity is right as a whole or not at all.",
)
def characters_counted(gold, predicted):
    """Characters are compared instead of whole entities."""
    scores = {}
    for name in {e.label for doc in [*gold, *predicted] for e in doc} | {"all"}:
        hit = found = true = 0
        for g, p in zip(gold, predicted, strict=True):
            g, p = (
                {(i, e.label) for e in part if name in (e.label, "all") for i in range(e.start, e.end)} for part in (g, p)
            )
            hit, found, true = hit + len(g & p), found + len(p), true + len(g)
        precision, recall = hit / max(found, 1), hit / max(true, 1)
        scores[name] = (precision, recall, 2 * precision * recall / max(precision + recall, 1e-12))
    return scores
