"""Lab 09: a pretrained encoder, fine-tuned in PyTorch to find the entities in résumés.

No check needs the pretrained model or its tokenizer. Texts, word pieces and their offsets are made by hand, and a small
encoder, whose weights a check sets, takes the real one's place. What is drawn at random are letters, places and
ids; how spans lie to each other is fixed by each case, so that no mistake is right by luck.
"""

from __future__ import annotations

import itertools
import numbers
import operator
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.cases.properties import normal, together
from course_utils.cases.torch_modules import a_function, sent_back, tensors
from course_utils.checking.exercise import Case, Exercise, Inputs, Outputs, Run, call_function
from course_utils.data.entities import Entity

if TYPE_CHECKING:
    import torch
    from torch import nn

KINDS = (
    "Name",
    "Office",
    "BI-expert",
)  # one begins like the tag O, one has a hyphen and begins like a prefix
"""Labels of the entities in the checks. One has a hyphen in it, as labels of real data may have."""

NEAR = ("Name", "name", "Name ")
"""Labels that are not the same, though they look alike. Real data has such, and only the people who made it can say that they mean one thing."""

LABELS = tuple(dict.fromkeys((*KINDS, *NEAR)))

IGNORED = -100
"""The label of what counts neither in the loss nor in the metric; the default of PyTorch's cross-entropy."""

# ---------------------------------------------------------------------------------- entities as arrays


class WrongForm(ValueError):
    """What came back is not what the docstring asks for; the message says what to change."""


def entity_table(found: Any) -> np.ndarray | None:
    """Entities as numbers: a row (start, end, number of the label) for each, (count, 3); None stays None.

    Raises:
        WrongForm: it is no list of :class:`~course_utils.data.entities.Entity`, or a label is not one of those given.
    """
    if found is None:
        return None
    try:
        rows = [tuple(entity) for entity in found] if isinstance(found, list) else None
    except TypeError:
        rows = None
    if rows is None:
        raise WrongForm(
            f"it returned a {type(found).__name__}; expected a list of Entity(start, end, label)."
        )
    for entity, row in zip(found, rows, strict=True):
        if len(row) != 3:
            raise WrongForm(f"{row!r} is in the list; expected (start, end, label).")
        if row[2] not in LABELS:
            raise WrongForm(f"{row[2]!r} is no label here; the labels are {', '.join(map(repr, LABELS))}.")
        for place in row[:2]:
            _whole(place, "start and end of an entity must be whole numbers")
        if not all(hasattr(entity, name) for name in Entity._fields):
            raise WrongForm(
                f"{entity!r} is a {type(entity).__name__}; expected an Entity(start, end, label), which has `.start`, `.end` and `.label`."
            )
    table = [[start, end, LABELS.index(label)] for start, end, label in rows]
    return np.array(table, dtype=np.int64).reshape(-1, 3)


def _whole(number: Any, rule: str) -> int:
    """A whole number of any library's.

    Raises:
        WrongForm: it is something else, such as 3.0 or "3", which no text and no list can be indexed with.
    """
    try:
        return operator.index(number)
    except TypeError:
        raise WrongForm(f"{rule}; {number!r} is a {type(number).__name__}.") from None


def call_for_entities(learner: Callable, inputs: Inputs) -> np.ndarray | None:
    """Calls a function that returns entities."""
    return entity_table(call_function(learner, inputs))


# ---------------------------------------------------------------------------------- clean_entities


def _word(rng: np.random.Generator, length: int) -> str:
    return "".join(rng.choice(list(string.ascii_letters), length))


def _cleaning(
    lengths: Sequence[int],
    gaps: Sequence[str],
    spans: Sequence[tuple[int, int, int, int]],
    shuffle: bool = False,
    first_label: int | None = None,
    kinds: Sequence[str] = KINDS,
):
    """A text of random words, the first of which is of any length, and spans over the others.

    Args:
        lengths: of the words.
        gaps: what stands behind each word.
        spans: first word, last word, characters to add in front and behind (negative: fewer), in the order in which
            they are listed. Labels take turns.
        shuffle: list them in another order than that of the text; the seed decides.
        first_label: the number of the first span's label; None: the seed decides.
        kinds: the labels.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        text, places = _word(rng, rng.integers(3, 40)) + " ", []
        for length, gap in zip(lengths, gaps, strict=True):
            places.append((len(text), len(text) + length))
            text += _word(rng, length) + gap
        first = rng.integers(len(KINDS)) if first_label is None else first_label
        entities = [
            Entity(places[a][0] - before, places[b][1] + behind, kinds[(first + i) % len(kinds)])
            for i, (a, b, before, behind) in enumerate(spans)
        ]
        if shuffle:
            entities = [
                entities[i] for i in np.roll(np.arange(len(entities)), rng.integers(1, len(entities)))
            ]
        return {"text": text, "entities": entities}

    return inputs


def _labelled_both_ways(*arguments: Sequence):
    """Twice, with labels in different alphabetical orders: the label decides nothing."""
    return together(_cleaning(*arguments, first_label=0), _cleaning(*arguments, first_label=1))


def _with_stop(rng: np.random.Generator) -> Inputs:
    """A word at the very beginning, and characters that belong to entities, though they are no letters, with white space around."""
    name, subject = _word(rng, rng.integers(8, 60)), _word(rng, 5)
    at = _word(rng, rng.integers(2, 7))  # shorter than what comes after it
    text, entities = f"{at} {name} Ltd. , with ({subject}) \n", [Entity(0, len(at), "BI-expert")]
    entities.append(Entity(len(at), len(at) + 1 + len(name) + 6, "Office"))
    start = text.index("(")
    entities.append(Entity(start, start + len(subject) + 3, "Name"))
    for around in (
        "3",
        "-",
        "\N{BULLET}",
        "\N{ZERO WIDTH SPACE}",
        *",;:!?\"'[]{}<>/",
    ):  # none of them white space
        word = f"{around}{_word(rng, 4)}{around}"
        entities.append(Entity(len(text) - 1, len(text) + len(word) + 1, "Name"))
        text += f"{word} \n"
    return {"text": text, "entities": entities}


def _to_both_ends(rng: np.random.Generator) -> Inputs:
    """White space of less usual kinds, spans at both ends of the text, one of a single letter, and one that is empty."""
    letter, name = _word(rng, 1), _word(rng, rng.integers(2, 200))
    text = "\N{NO-BREAK SPACE}" * int(rng.integers(1, 20))
    text += f"\n{letter}\f"
    middle = len(text) - 1
    text += f"{name}\N{EM SPACE}"
    return {
        "text": text,
        "entities": [
            Entity(middle, len(text), "Office"),
            Entity(len(text), len(text), "Name"),
            Entity(0, middle, "Name"),
        ],
    }


def _said_before(rng: np.random.Generator) -> Inputs:
    """The words of both entities, which end with white space, stand earlier in the text, where nothing is marked. So does a label."""
    name, skill = (
        _word(rng, rng.integers(4, 30)),
        _word(rng, rng.integers(31, 60)),
    )  # the longer one is the later one
    text = f"{skill} {name} and {name} {skill}\n"
    end = len(text) - len(skill) - 1
    return {
        "text": text,
        "entities": [Entity(end - len(name) - 1, end, "Name "), Entity(end, len(text), "Office")],
    }


def _word_twice(rng: np.random.Generator) -> Inputs:
    """The same word with the same label at two places."""
    word = _word(rng, 4)
    entities = [Entity(0, 4, KINDS[0]), Entity(6, 10, KINDS[0])]
    return {"text": f"{word}, {word}", "entities": entities}


def no_white_space_at_the_ends(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """No span is empty, and none begins or ends with white space."""
    text, spans = inputs["text"], outputs["entities"]
    return np.array([text[start:end] == text[start:end].strip() != "" for start, end, _ in spans.tolist()])


def no_two_overlap(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The spans are in the order of the text, and no span begins before the previous one has ended."""
    spans = outputs["entities"]
    return spans[1:, 0] >= spans[:-1, 1]


clean_entities = Exercise(
    name="clean_entities",
    returns=("entities",),
    call=call_for_entities,
    cases=(
        Case(
            "white space at the ends of spans, spaces and line breaks",
            _cleaning((4, 6, 5, 3), (" ", " \n", "\t\n", "\n"), ((0, 0, 0, 1), (1, 1, 1, 2), (3, 3, 2, 0))),
        ),
        Case(
            "spans of white space alone; then one span with white space at both ends",
            together(
                _cleaning(
                    (4, 6, 5), ("\n \n", "  ", ""), ((0, 0, 0, 1), (1, 1, 3, -6), (2, 2, 0, 0), (2, 2, 1, -5))
                ),
                _cleaning((4, 6), (" ", "\n"), ((1, 1, 1, 1),)),
            ),
        ),
        Case(
            "spans at both ends of the text, of one letter, empty; then no entities",
            together(_to_both_ends, lambda rng: {"text": _word(rng, 7), "entities": []}),
        ),
        Case("full stops, brackets, digits and bullets that belong to the entity", _with_stop),
        Case("the same words stand earlier in the text", _said_before),
        Case(
            "a piece of an entity is marked too: the longest span stays",
            _cleaning(
                (3, 5, 4, 6, 9),
                ("  ", "\n", ", ", " ", ""),  # two blanks within a span are characters of it
                ((0, 0, 0, 0), (0, 2, 0, 0), (2, 2, 0, 0), (4, 4, 0, 0), (3, 4, 0, 0)),
            ),
        ),
        Case(
            "length counts characters, spaces too: a long word and more; words of one letter",
            together(
                _cleaning(
                    (2, 2, 3, 14, 4), (" ", " ", " ", " ", ""), ((0, 2, 0, 0), (2, 3, 0, 0), (4, 4, 0, 0))
                ),
                _cleaning((1, 1, 1, 1, 4), (" ", " ", " ", " ", ""), ((3, 4, 0, 0), (0, 3, 0, 0))),
            ),
        ),
        Case(
            "spans of equal length overlap: the one that begins first stays",
            _labelled_both_ways(
                (4, 4, 4, 6), (" ", " ", " ", ""), ((3, 3, 0, 0), (1, 2, 0, 0), (0, 1, 0, 0))
            ),
        ),
        Case(
            "the same span twice, also with white space around it: the first listed stays",
            _labelled_both_ways(
                (5, 7, 4),
                (" ", " ", " "),
                (
                    *((1, 1, 0, 0), (0, 0, 0, 0), (1, 1, 0, 0), (0, 0, 0, 0)),
                    *((2, 2, 0, 0), (2, 2, 1, 0), (2, 2, 0, 1)),
                ),
            ),
        ),
        Case(
            "a chain of overlapping spans: the longest first, in the middle, last",
            together(
                _cleaning(
                    (9, 3, 4, 2, 5), (" ", " ", " ", " ", ""), ((2, 3, 0, 0), (1, 2, 0, 0), (0, 1, 0, 0))
                ),
                _cleaning(
                    (5, 4, 6, 5, 3), (" ", " ", " ", " ", ""), ((0, 1, 0, 0), (1, 3, 0, 0), (3, 4, 0, 0))
                ),
                _cleaning(
                    (3, 4, 5, 6, 9), (" ", " ", " ", " ", ""), ((0, 1, 0, 0), (1, 2, 0, 0), (2, 4, 0, 0))
                ),
                _cleaning(  # of one label, and they are not joined
                    (4, 5, 3, 6),
                    (" ", " ", " ", ""),
                    ((0, 1, 0, 0), (1, 2, 0, 0), (3, 3, 0, 0)),
                    kinds=KINDS[:1],
                ),
            ),
        ),
        Case(
            "a short span within a longer one, which is dropped, as it overlaps the longest",
            together(
                _cleaning((2, 3, 4, 20), (" ", " ", " ", ""), ((0, 0, 0, 0), (0, 2, 0, 0), (2, 3, 0, 0))),
                _cleaning((20, 4, 3, 2), (" ", " ", " ", ""), ((3, 3, 0, 0), (1, 3, 0, 0), (0, 1, 0, 0))),
            ),
        ),
        Case(
            "white space makes a span seem longer than it is",
            _cleaning((3, 5, 4), (" ", "\n\n\n\n\n\n\n", ""), ((1, 1, 0, 7), (0, 1, 0, 0), (2, 2, 7, 0))),
        ),
        Case(
            "spans that touch: with different labels; with the same label; then the same word twice",
            together(
                *(
                    _cleaning(
                        (4, 5, 3),
                        ("", "", ""),
                        ((0, 0, 0, 0), (1, 1, 0, 0), (2, 2, 0, 0)),
                        shuffle=True,
                        kinds=kinds,
                    )
                    for kinds in (KINDS, KINDS[:1])
                ),
                _word_twice,
            ),
        ),
    ),
    properties=(no_white_space_at_the_ends, no_two_overlap),
)

# ---------------------------------------------------------------------------------- align_labels

TAGS = ("O", *(f"{prefix}-{kind}" for kind in LABELS for prefix in "BI"))


def _tokens(
    rng: np.random.Generator,
    pieces: Sequence[Sequence[int]],
    gaps: Sequence[int],
    padding: int = 0,
    specials: bool = True,
) -> tuple[list[tuple[int, int]], list[int | None], list[tuple[int, int]]]:
    """Offsets and word numbers of made-up word pieces, and where each word begins and ends.

    Args:
        pieces: for each word, the lengths of its pieces. 0 stands for one to twelve letters.
        gaps: how many characters stand in front of each word; 0: it is stuck to the one before, like a comma.
        padding: so many tokens that are no text come at the end.
        specials: whether a token that is no text stands at each end.
    """
    offsets, word_ids, words, at = [(0, 0)] * specials, [None] * specials, [], 0
    for number, (lengths, gap) in enumerate(zip(pieces, gaps, strict=True)):
        at += gap
        begin = at
        for length in lengths:
            length = length or int(rng.integers(1, 13))
            offsets.append((at, at + length))
            word_ids.append(number)
            at += length
        words.append((begin, at))
    ends = [(0, 0)] * (specials + padding)
    return offsets + ends, word_ids + [None] * len(ends), words


def _alignment(
    pieces: Sequence[Sequence[int]],
    gaps: Sequence[int],
    entities: Sequence[tuple[int, int, int]],
    cut: tuple[int, int] = (0, 0),
    padding: int = 0,
    specials: bool = True,
):
    """Entities over made-up pieces: first word, last word, number of the label among LABELS.

    Args:
        cut: so many characters are missing at the beginning and at the end of every entity.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        offsets, word_ids, words = _tokens(rng, pieces, gaps, padding, specials)
        ids = rng.choice(np.arange(1, 100), len(TAGS) - 1, replace=False)  # 0 is an entity's, never that of O
        label_ids = dict(zip(TAGS, [int(ids[0]), 0, *map(int, ids[1:])], strict=True))
        spans = [Entity(words[a][0] + cut[0], words[b][1] - cut[1], LABELS[kind]) for a, b, kind in entities]
        return {"offsets": offsets, "word_ids": word_ids, "entities": spans, "label_ids": label_ids}

    return inputs


def _with_places(make: Callable[[np.random.Generator], Inputs]):
    """Special tokens have places in the text, too: those of the token before. What is no word has no word's number."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = make(rng)
        offsets = list(made["offsets"])
        for at in range(1, len(offsets)):
            if made["word_ids"][at] is None:
                offsets[at] = offsets[at - 1]
        return {**made, "offsets": offsets}

    return inputs


def _call_align(learner: Callable, inputs: Inputs) -> np.ndarray | None:
    found = call_function(learner, inputs)
    if found is None:
        return None
    if not isinstance(found, list):
        raise WrongForm(f"it returned a {type(found).__name__}; expected a list of whole numbers.")
    labels = np.array([_whole(label, "labels must be whole numbers") for label in found])
    if len(labels) != len(inputs["offsets"]):
        raise WrongForm(f"it returned {len(labels)} labels for {len(inputs['offsets'])} tokens.")
    return labels


def no_label_where_no_word_begins(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Exactly the first piece of each word has a label; every other token has -100."""
    before = [None, *inputs["word_ids"][:-1]]
    begins = [
        word is not None and word != last for word, last in zip(inputs["word_ids"], before, strict=True)
    ]
    return (outputs["labels"] != IGNORED) == np.array(begins)


def as_many_beginnings_as_entities(inputs: Inputs, outputs: Outputs) -> bool:
    """There are as many B- labels as entities in which a word begins."""
    beginnings = [number for tag, number in inputs["label_ids"].items() if tag.startswith("B-")]
    words = dict(
        reversed([*zip(inputs["word_ids"], inputs["offsets"], strict=True)])
    )  # the first piece of each
    starts = [start for word, (start, _) in words.items() if word is not None]
    begun = sum(any(a <= start < b for start in starts) for a, b, _ in inputs["entities"])
    return np.isin(outputs["labels"], beginnings).sum() == begun


def _within_a_word(rng: np.random.Generator) -> Inputs:
    """Of three entities the first two share a word, so that no word begins in the second one. The third one is the next word."""
    inputs = _alignment([[0], [3, 2], [0, 0], [0]], (0, 1, 1, 1), [(2, 2, 1)])(rng)
    end = inputs["offsets"][3][1]
    return {
        **inputs,
        "entities": [Entity(end - 5, end - 3, KINDS[0]), Entity(end - 2, end, KINDS[2]), *inputs["entities"]],
    }


align_labels = Exercise(
    name="align_labels",
    returns=("labels",),
    call=_call_align,
    cases=(
        Case(
            "words of one piece; an entity of one word and one of three",
            _alignment([[0]] * 7, (0, 1, 1, 1, 2, 1, 1), [(1, 1, 0), (3, 5, 1)]),
        ),
        Case(
            "words of several pieces",
            _alignment(
                [[0, 0], [0], [0, 0, 0], [0, 0], [0], [0, 0]], (0, 1, 1, 1, 1, 1), [(0, 0, 1), (2, 3, 2)]
            ),
        ),
        Case(
            "commas and full stops stuck to words, right behind an entity",
            _alignment([[0, 0], [1], [0], [0], [1], [0, 0]], (0, 0, 0, 1, 0, 1), [(0, 0, 0), (2, 3, 0)]),
        ),
        Case(
            "an address: one entity of five words with nothing between them",
            _alignment([[0], [0, 0], [1], [0], [1], [0], [0]], (0, 1, 0, 0, 0, 0, 1), [(1, 5, 2)]),
        ),
        Case(
            "neighbouring entities: of the same label, of labels that look alike, with nothing between",
            together(
                _alignment([[0], [0], [0, 0], [0], [0]], (0, 1, 0, 0, 1), [(1, 1, 0), (2, 2, 0), (3, 3, 1)]),
                _alignment([[0], [0, 0], [0], [0, 0], [0]], (0, 1, 1, 1, 1), [(0, 1, 2), (2, 3, 2)]),
                _alignment([[0], [0], [0], [0]], (0, 1, 1, 1), [(0, 1, 0), (2, 2, 3), (3, 3, 4)]),
            ),
        ),
        Case(
            "a single word, and padding behind it; then two words without special tokens",
            together(
                _alignment([[0, 0, 0]], (2,), [(0, 0, 1)], padding=3),
                _alignment([[0], [0]], (0, 1), [(1, 1, 2)], specials=False),
            ),
        ),
        Case(
            "an entity that begins within a word: its first word is the next, if any",
            together(
                _alignment([[0], [3, 2], [0, 0], [0], [0]], (0, 1, 1, 1, 1), [(1, 3, 0)], cut=(2, 0)),
                _within_a_word,
            ),
        ),
        Case(
            "an entity that ends within a word, even its first piece: the word belongs",
            _alignment([[0], [0, 0], [4, 2], [0]], (0, 1, 1, 1), [(1, 2, 1)], cut=(0, 4)),
        ),
        Case(
            "no entity; then one of a single letter; then a special token with a place",
            together(
                _alignment([[0], [0, 0], [0]], (0, 1, 1), []),
                _with_places(_alignment([[0], [0, 2]], (0, 1), [(0, 0, 1)], padding=1)),
                _alignment([[0, 0], [1], [0]], (0, 1, 1), [(1, 1, 0)]),
            ),
        ),
    ),
    properties=(no_label_where_no_word_begins, as_many_beginnings_as_entities),
)

# ---------------------------------------------------------------------------------- encode_batch


def _rows(lengths: Sequence[int], pad_id: int, everywhere: bool = False):
    """Rows of token ids, labels, and offsets, which nobody needs. The ids are never that of padding; 0 is among them if it is free.

    Args:
        everywhere: every token has a label, the first, the last and that with the id 0, too.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        rows = []
        for length in lengths:
            ids = rng.integers(5, 90, length)
            if pad_id != 0:
                ids[length // 2] = 0
            labels = rng.integers(0, 7, length)
            if not everywhere:
                labels[[0, length // 2, -1]] = IGNORED
            places = [(at, at + 1) for at in range(length)]
            rows.append({"input_ids": ids.tolist(), "labels": labels.tolist(), "offsets": places})
        return {"rows": rows, "pad_id": pad_id}

    return inputs


def _longer_neighbour(rng: np.random.Generator) -> list[Inputs]:
    inputs = _rows((5, 4), 1)(rng)
    longer = _rows((9,), 1)(rng)["rows"]
    return [inputs, {**inputs, "rows": inputs["rows"] + longer}]


def neighbours_do_not_matter(runs: list[Run]) -> np.ndarray:
    """A longer text in the same batch changes nothing but the padding."""
    (_, few), (_, more) = runs
    return np.array([(few[name] == more[name][:2, :5]).all() for name in few])


def _call_encode(learner: Callable, inputs: Inputs) -> dict[str, Any]:
    import torch

    batch = call_function(learner, inputs)
    if not isinstance(batch, dict):
        return batch
    if more := [name for name in batch if name not in ("input_ids", "attention_mask", "labels")]:
        raise WrongForm(
            f"{more[0]!r} is in the batch; expected only 'input_ids', 'attention_mask' and 'labels'."
        )
    for name in ("input_ids", "labels"):
        if name in batch and getattr(batch[name], "dtype", None) != torch.int64:
            what = f"a {type(batch[name]).__name__}"
            if isinstance(batch[name], torch.Tensor):
                what = f"a tensor of {batch[name].dtype}"
            raise WrongForm(f"`{name}` is {what}; expected a tensor of whole numbers (torch.long).")
    if (mask := batch.get("attention_mask")) is not None:
        if not isinstance(mask, torch.Tensor):
            raise WrongForm(f"`attention_mask` is a {type(mask).__name__}; expected a tensor.")
        if mask.is_floating_point():
            raise WrongForm(
                f"`attention_mask` is of {mask.dtype}; expected a tensor of whole numbers (torch.long)."
            )
        batch = {**batch, "attention_mask": mask.to(torch.int64)}  # ones or True: the encoder takes either
    return batch


def as_many_ones_as_tokens(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Each row of the attention mask has as many ones as the text has tokens."""
    return outputs["attention_mask"].sum(axis=1) == [len(row["input_ids"]) for row in inputs["rows"]]


def padding_has_no_label(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Where the attention mask is 0, the label is -100."""
    return np.where(outputs["attention_mask"] == 0, outputs["labels"] == IGNORED, True)


encode_batch = Exercise(
    name="encode_batch",
    returns=("input_ids", "attention_mask", "labels"),
    call=_call_encode,
    cases=(
        Case("three texts of 5, 6 and 3 tokens", _rows((5, 6, 3), 0)),
        Case(
            "pad_id=3, and 0 is an ordinary token; then every token has a label",
            together(_rows((4, 7), 3), _rows((5, 3), 4, everywhere=True)),
        ),
        Case(
            "texts of equal length: no padding; then one that is longer than BERT's 512 tokens",
            together(_rows((5, 5), 2), _rows((3, 530), 2)),
        ),
        Case("a single text of three tokens", _rows((3,), 1)),
        Case("a longer text joins the batch", _longer_neighbour, neighbours_do_not_matter),
    ),
    properties=(as_many_ones_as_tokens, padding_has_no_label),
    bypasses=("transformers.DataCollatorForTokenClassification",),
)

# ---------------------------------------------------------------------------------- modules for checks


def _tensor(array: np.ndarray) -> torch.Tensor:
    import torch

    return torch.from_numpy(np.array(array))  # a copy: training must not reach the inputs


def small_encoder(weights: Inputs) -> nn.Module:
    """An encoder of two matrices that is called like the pretrained one, and in which words see each other.

    Args:
        weights: embedding (vocabulary, hidden_size) and mixing (hidden_size, hidden_size).
    """
    from types import SimpleNamespace

    import torch

    class Output(dict):
        """Like the output of a Hugging Face model: by name, as an attribute, or by number."""

        def __getattr__(self, name: str) -> torch.Tensor:
            try:
                return self[name]
            except KeyError:
                raise AttributeError(name) from None

        def __getitem__(self, key: str | int) -> torch.Tensor:
            return list(self.values())[key] if isinstance(key, int) else super().__getitem__(key)

    class SmallEncoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = torch.nn.Parameter(_tensor(weights["embedding"]))
            self.mixing = torch.nn.Parameter(_tensor(weights["mixing"]))
            self.config = SimpleNamespace(hidden_size=weights["embedding"].shape[1])

        def forward(self, input_ids=None, attention_mask=None, **_) -> Output:
            words = self.embedding[input_ids]  # (batch, seq_len, hidden_size)
            real = torch.ones_like(input_ids) if attention_mask is None else attention_mask
            real = real[..., None].to(words.dtype)
            around = (words * real).sum(1, keepdim=True) / real.sum(1, keepdim=True)
            seen = torch.tanh(words + around @ self.mixing)
            return Output(last_hidden_state=seen, pooler_output=torch.tanh(seen[:, 0]))

    return SmallEncoder()


def _encoder_weights(rng: np.random.Generator, vocabulary: int, hidden_size: int) -> Inputs:
    return {
        "embedding": normal(rng, vocabulary, hidden_size).astype(np.float32),
        "mixing": normal(rng, hidden_size, hidden_size, scale=1.5 / np.sqrt(hidden_size)).astype(np.float32),
    }


def _linear_weights(rng: np.random.Generator, rows: int, columns: int) -> Inputs:
    return {
        "weight": normal(rng, rows, columns, scale=columns**-0.5).astype(np.float32),
        "bias": normal(rng, rows, scale=0.5).astype(np.float32),
    }


# ---------------------------------------------------------------------------------- TokenClassifier

VOCABULARY, HIDDEN, NUM_LABELS = 23, 8, 5
DROPOUT_RATE = 0.1
"""The module's default."""


def _classifying(
    lengths: Sequence[int], longest: int, training: bool = False, dropout_rate: float | None = 0.0
):
    """Args: dropout_rate: None is the module's own default."""

    def inputs(rng: np.random.Generator) -> Inputs:
        real = np.arange(longest) < np.array(lengths)[:, None]
        input_ids = np.where(real, rng.integers(1, VOCABULARY, real.shape), 0)
        input_ids[0, 1] = 0  # the mask says what is padding, not the id
        return {
            "encoder": _encoder_weights(rng, VOCABULARY, HIDDEN),
            "classifier": _linear_weights(rng, NUM_LABELS, HIDDEN),
            "dropout_rate": dropout_rate,
            "training": training,
            "input_ids": input_ids,
            "attention_mask": real.astype(np.int64),
        }

    return inputs


def _partly_dropped(rng: np.random.Generator) -> Inputs:
    """Far more features than in other cases, so that the share of those that are dropped is near the rate."""
    return _classifying((30, 60, 45, 50), 60, training=True, dropout_rate=float(rng.uniform(0.3, 0.6)))(rng)


def _dropped_by_default(rng: np.random.Generator) -> Inputs:
    return _classifying((30, 60, 45, 50), 60, training=True, dropout_rate=None)(rng)


def _more_padding(rng: np.random.Generator) -> list[Inputs]:
    inputs = _classifying((4, 6, 3), 6)(rng)
    wider = {name: np.pad(inputs[name], ((0, 0), (0, 3))) for name in ("input_ids", "attention_mask")}
    return [inputs, {**inputs, **wider}]


def padding_changes_nothing(runs: list[Run]) -> np.ndarray:
    """Three more columns of padding change no logit of a real token."""
    return np.isclose(runs[0][1]["logits"], runs[1][1]["logits"][:, :6], atol=1e-4)


def _what_dropout_leaves(model: nn.Module, inputs: Inputs) -> Any:
    """What is left of a feature, as a multiple of what it is in evaluation mode: the least and the most. Also, whether the
    share of those of which nothing is left is near the dropout rate. For that, each logit becomes a copy of one feature.
    """
    import torch

    ids, real = _tensor(inputs["input_ids"]), inputs["attention_mask"].astype(bool)
    with torch.no_grad():
        model.classifier.weight.copy_(torch.eye(NUM_LABELS, HIDDEN))
        model.classifier.bias.zero_()
        in_training = model(ids, _tensor(inputs["attention_mask"]))
        in_evaluation = model.eval()(ids, _tensor(inputs["attention_mask"]))
    if not isinstance(in_training, torch.Tensor) or in_training.shape != (*ids.shape, NUM_LABELS):
        return in_training
    left = (in_training / in_evaluation).numpy()[real]
    rate = DROPOUT_RATE if inputs["dropout_rate"] is None else inputs["dropout_rate"]
    near = abs((left == 0).mean() - rate) < 0.12
    return np.array([left.min(), left.max(), float(near)])


def _made(learner: Callable, inputs: Mapping[str, Any]) -> tuple[nn.Module, dict[str, nn.Parameter]]:
    """The module with the weights that are wanted, and its parameters by name; the encoder's are those of the given one."""
    import torch

    encoder = small_encoder(inputs["encoder"])
    rate = inputs["dropout_rate"]
    model = learner(encoder, NUM_LABELS, *([] if rate is None else [rate]))
    if not isinstance(model, torch.nn.Module):
        raise WrongForm(f"it is a {type(model).__name__}; expected a torch.nn.Module.")
    parameters = dict(model.named_parameters())
    if unknown := [name for name in parameters if name.partition(".")[0] not in ("encoder", "classifier")]:
        raise WrongForm(
            f"there is a parameter too many: `{unknown[0]}`. Only `encoder` and `classifier` have some."
        )
    for name, array in inputs["classifier"].items():
        full = f"classifier.{name}"
        if full not in parameters:
            raise WrongForm(f"there is no parameter `{full}`; it has: {', '.join(parameters) or 'none'}.")
        if tuple(parameters[full].shape) != array.shape:
            raise WrongForm(f"`{full}` has shape {tuple(parameters[full].shape)}; expected {array.shape}.")
        parameters[full].data = _tensor(array)
    given = {f"encoder.{name}": parameter for name, parameter in encoder.named_parameters()}
    return model.train(inputs["training"]), {**parameters, **given}


def _call_classifier(learner: Callable, inputs: Inputs) -> Any:
    """Constructs the module, sets its weights, and calls it. Logits of padding may be anything; they are set to 0."""
    import torch

    model, _ = _made(learner, inputs)
    ids, mask = _tensor(inputs["input_ids"]), _tensor(inputs["attention_mask"])
    if inputs["dropout_rate"] not in (0, 1):
        return _what_dropout_leaves(model, inputs)
    logits = model(ids, mask)
    if model.encoder.training != inputs["training"]:
        modes = ("training", "evaluation") if inputs["training"] else ("evaluation", "training")
        act = "never act" if inputs["training"] else "always act"
        raise WrongForm(
            f"after a call in {modes[0]} mode the encoder is in {modes[1]} mode, so its own dropout would {act}. Leave its "
            "mode to the code that calls the module."
        )
    if not isinstance(logits, torch.Tensor) or logits.shape != (*ids.shape, NUM_LABELS):
        return logits
    return logits * mask[..., None]


def _train_through(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, dict[str, nn.Parameter]]:
    model, parameters = _made(learner, given)
    logits = model(given["input_ids"], given["attention_mask"])
    return logits * given["attention_mask"][..., None], parameters


token_classifier = Exercise(
    name="TokenClassifier",
    returns=("logits",),
    call=_call_classifier,
    backward=sent_back(_train_through),
    cases=(
        Case(
            "evaluation: texts of 4, 6 and 3 tokens; a single text; a single token",
            together(_classifying((4, 6, 3), 6), _classifying((5,), 5), _classifying((2, 1), 2)),
        ),
        Case(
            "evaluation with a dropout rate of 1: nothing is dropped",
            _classifying((7, 2), 7, dropout_rate=1.0),
        ),
        Case(
            "training with a dropout rate of 1: all features are dropped, the bias is left",
            _classifying((4, 6, 3), 6, training=True, dropout_rate=1.0),
        ),
        Case(
            "training with dropout, then with its default rate: what is left is scaled up",
            together(_partly_dropped, _dropped_by_default),
        ),
        Case(
            "training without dropout: gradients reach every weight, the encoder's too",
            _classifying((5, 3, 4, 2), 5, training=True),
            reaches=("weights",),
        ),
        Case("three more columns of padding", _more_padding, padding_changes_nothing),
    ),
    bypasses=("transformers.AutoModelForTokenClassification", "transformers.BertForTokenClassification"),
)

# ---------------------------------------------------------------------------------- token_loss


def _losing(lengths: Sequence[int], longest: int, num_labels: int, scale: float = 1.5, shift: float = 0.0):
    """Logits and labels. Every text has labelled tokens, of O and of others, and different numbers of them."""

    def inputs(rng: np.random.Generator) -> Inputs:
        labels = rng.integers(1, num_labels, (len(lengths), longest))
        labels[:, 1] = 0  # O: labelled like any other
        labels[np.arange(longest) >= np.array(lengths)[:, None]] = IGNORED
        labels[:, 0] = IGNORED
        logits = normal(rng, len(lengths), longest, num_labels, scale=scale) + shift
        return {"logits": logits.astype(np.float32), "labels": labels}

    return inputs


def _all_labelled(rng: np.random.Generator) -> Inputs:
    inputs = _losing((5, 5), 5, 4)(rng)
    inputs["labels"][:, 0] = rng.integers(0, 4, 2)
    return inputs


def _some_certain(rng: np.random.Generator) -> Inputs:
    """A text has no labels. In another the model is so sure of two tokens that their loss is exactly 0: they count all the same."""
    inputs = _losing((6, 4, 5), 6, 4)(rng)
    inputs["labels"][1] = IGNORED
    for token in (2, 4):
        inputs["logits"][2, token, inputs["labels"][2, token]] += 300
    return inputs


def _far_apart(rng: np.random.Generator) -> Inputs:
    """The first text's labels have probabilities so small that float32 rounds them to 0: their logarithm is finite only if none is taken of them."""
    inputs = _losing((5, 4), 5, 4)(rng)
    labels = inputs["labels"][0]
    for token in np.flatnonzero(labels != IGNORED):
        inputs["logits"][0, token, labels[token]] -= rng.uniform(120, 160)
    inputs["logits"][1] -= 400  # far below all of the first text
    return inputs


def _ignored_changed(rng: np.random.Generator) -> list[Inputs]:
    inputs = _losing((7, 4, 5), 7, 4)(rng)
    ignored = (inputs["labels"] == IGNORED)[..., None]
    other = normal(rng, *inputs["logits"].shape, scale=3).astype(np.float32)
    return [inputs, {**inputs, "logits": np.where(ignored, other, inputs["logits"])}]


def ignored_tokens_do_not_count(runs: list[Run]) -> np.ndarray:
    """Other logits where the label is -100 do not change the loss."""
    return np.isclose(runs[0][1]["loss"], runs[1][1]["loss"], atol=1e-5)


def _call_loss(learner: Callable, inputs: Inputs) -> Any:
    import torch

    loss = call_function(learner, tensors(inputs))
    if loss is not None and not isinstance(loss, torch.Tensor):
        raise WrongForm(
            f"it returned a {type(loss).__name__}; expected a tensor, which `.backward()` can be called on."
        )
    return loss


token_loss = Exercise(
    name="token_loss",
    returns=("loss",),
    call=_call_loss,
    backward=sent_back(a_function),
    cases=(
        Case("three texts of 7, 4 and 5 tokens", _losing((7, 4, 5), 7, 4)),
        Case(
            "one text; every token labelled; a text without labels; tokens whose loss is 0",
            together(_losing((6,), 6, 5), _all_labelled, _some_certain),
        ),
        Case("texts of very different lengths, (4, 9, 3)", _losing((9, 2, 3, 2), 9, 3)),
        Case(
            "logits around 300: exp() would overflow; then far apart",
            together(_losing((5, 6), 6, 4, shift=300.0), _far_apart),
        ),
        Case("other logits where the label is -100", _ignored_changed, ignored_tokens_do_not_count),
        Case("gradients reach the logits", _losing((7, 4, 5), 7, 4), reaches=("logits",)),
    ),
)

# ---------------------------------------------------------------------------------- train_epoch


def _epoch(
    batches: int,
    max_norm: float | None = 100.0,
    halved: bool = False,
    training: bool = True,
    left_over: float = 0.0,
    used_once: bool = False,
    frozen: bool = False,
    fewest: int = 2,
    unused: bool = False,
    certain: bool = False,
):
    """Batches of different sizes and lengths, and the weights of a small tagger.

    Args:
        max_norm: None is the function's own default; the gradients are then longer than that.
        left_over: every entry of the gradients that are there before the epoch.
        used_once: hand the batches over as an iterator, not as a list.
        frozen: no gradients are computed for the embeddings, as in the notebook's own training.
        fewest: texts of the first batch; each further batch has one more.
        unused: the encoder has a pooler, as the notebook's own; no gradient reaches it.
        certain: every label is as good as sure, so that all gradients are exactly 0.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        made = []
        for number in range(batches):
            rows, longest = fewest + number, 6 - number
            lengths = [longest, longest - 2, *[longest - 1] * rows][:rows]
            real = np.arange(longest) < np.array(lengths)[:, None]
            labels = np.where(real, rng.integers(0, 3, real.shape), IGNORED)
            labels[:, 0] = IGNORED
            ids = np.where(real, rng.integers(1, 11, (rows, longest)), 0)
            ids[0, 1] = 0  # the mask says what is padding, not the id
            made.append({"input_ids": ids, "attention_mask": real.astype(np.int64), "labels": labels})
        encoder, classifier = _encoder_weights(rng, 11, 4), _linear_weights(rng, 3, 4)
        if max_norm is None:
            classifier["weight"] *= 20
        if certain:
            classifier["bias"][1] += 1000
            for batch in made:
                batch["labels"] = np.where(batch["labels"] == IGNORED, IGNORED, 1)
        return {
            "batches": made,
            "encoder": encoder,
            "classifier": classifier,
            "max_norm": max_norm,
            "learning rate is halved": halved,
            "training": training,
            "gradients left over": left_over,
            "batches are an iterator": used_once,
            "frozen": frozen,
            "unused": unused,
        }

    return inputs


def _call_epoch(learner: Callable, inputs: Inputs) -> tuple | None:
    """One epoch of plain gradient descent; the losses, and the weights after it."""
    import torch

    class Tagger(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = small_encoder(inputs["encoder"])
            self.weight = torch.nn.Parameter(_tensor(inputs["classifier"]["weight"]))
            self.bias = torch.nn.Parameter(_tensor(inputs["classifier"]["bias"]))

        def forward(self, input_ids, attention_mask=None) -> torch.Tensor:
            seen = self.encoder(input_ids, attention_mask)["last_hidden_state"]
            seen = seen * (
                0.5 if self.encoder.training else 1.0
            )  # stands for dropout: another result in training
            return seen @ self.weight.T + self.bias

    model = Tagger().train(inputs["training"])
    model.encoder.embedding.requires_grad_(not inputs["frozen"])
    compared = list(model.parameters())
    if inputs["unused"]:  # what an optimizer does with it depends on how gradients are cleared
        model.encoder.pooler = torch.nn.Parameter(torch.ones(4, 4))
    of_the_encoder = list(model.encoder.parameters())
    groups = [{"params": of_the_encoder}, {"params": [model.weight, model.bias]}]  # as for a rate of its own
    optimizer = torch.optim.SGD(groups, lr=0.8, weight_decay=0.1)
    scheduler = (
        torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5) if inputs["learning rate is halved"] else None
    )
    # the inputs' own memory, so that a change in it is seen
    batches = [tensors(batch) for batch in inputs["batches"]]
    for parameter in model.parameters() if inputs["gradients left over"] else ():
        parameter.grad = torch.full_like(parameter, inputs["gradients left over"])
    more = [] if inputs["max_norm"] is None else [inputs["max_norm"]]
    losses = learner(
        model, iter(batches) if inputs["batches are an iterator"] else batches, optimizer, scheduler, *more
    )
    if losses is None:
        return None
    if isinstance(losses, (list, tuple)):
        for loss in losses:
            if not isinstance(loss, numbers.Real):
                raise WrongForm(f"there is a {type(loss).__name__} among the losses; expected plain numbers.")
    for batch, made in zip(batches, inputs["batches"], strict=True):
        if batch.keys() != made.keys():
            raise WrongForm(
                f"a batch has other keys afterwards: {', '.join(map(str, batch)) or 'none'}. Batches are used again; leave them as they are."
            )
    trainable = [not inputs["frozen"], *[True] * (len(of_the_encoder) + 1)]
    if [parameter.requires_grad for parameter in (*of_the_encoder, model.weight, model.bias)] != trainable:
        raise WrongForm(
            "`requires_grad` of a parameter is not what it was before, so the next epoch would train other parameters. Leave it as it is."
        )
    weights = torch.cat([parameter.detach().flatten() for parameter in compared])
    # what the next epoch begins with: a scheduler has gone on after the last batch, too
    rates = np.array([group["lr"] for group in optimizer.param_groups])
    if isinstance(losses, (list, tuple)):
        losses = np.array([float(loss) for loss in losses])
    return losses, weights, rates


train_epoch = Exercise(
    name="train_epoch",
    returns=("losses", "weights", "rates"),
    call=_call_epoch,
    uses=("token_loss",),
    cases=(
        Case(
            "one step; then batches of one text and of two; then one of eight",
            together(_epoch(1), _epoch(2, fewest=1), _epoch(1, fewest=8)),
        ),
        Case("an epoch of three batches, which can be read only once", _epoch(3, used_once=True)),
        Case(
            "gradients longer than max_norm; then longer than its default, 1; then all 0",
            together(_epoch(2, max_norm=0.05), _epoch(2, max_norm=None), _epoch(2, certain=True)),
        ),
        Case("a scheduler that halves the learning rate after each step", _epoch(3, halved=True)),
        Case(
            "a model that was left in evaluation mode, with old gradients",
            _epoch(2, training=False, left_over=0.5),
        ),
        Case(
            "embeddings that are frozen; then an encoder with a layer that is not used",
            together(_epoch(3, frozen=True), _epoch(2, max_norm=0.05, unused=True)),
        ),
    ),
    bypasses=("transformers.Trainer",),
)

# ---------------------------------------------------------------------------------- decode_entities


def _decoding(
    pieces: Sequence[Sequence[int]],
    gaps: Sequence[int],
    tags: Sequence[str | Sequence[str]],
    padding: int = 0,
    specials: bool = True,
    ignored: bool = False,
):
    """Predictions for made-up pieces.

    Args:
        tags: for each word its tag, such as "B0" (begins label 0), "I2" or "O"; or one for each of its pieces.
            Pieces that continue a word get the tag "B1", unless it is said, and specials "B0".
        ignored: the numbers are labels, which are -100 where they do not count.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        offsets, word_ids, _ = _tokens(rng, pieces, gaps, padding, specials)
        order = rng.permutation(len(TAGS))
        labels = [TAGS[i] for i in order]
        named = {"O": "O", **{f"{p}{k}": f"{p}-{kind}" for k, kind in enumerate(LABELS) for p in "BI"}}
        predicted = []
        for lengths, tag in zip(pieces, tags, strict=True):
            of_word = [tag, *["B1"] * (len(lengths) - 1)] if isinstance(tag, str) else tag
            predicted += [named[one] for one in of_word]
        entity_tag = next((tag for tag in predicted if tag != "O"), labels[0])
        at = labels.index(entity_tag)  # 0 is an entity's, never that of O
        labels[0], labels[at] = labels[at], labels[0]
        predicted = [*["B-Name"] * specials, *predicted, *["B-Name"] * (specials + padding)]
        numbers = [labels.index(tag) for tag in predicted]
        if ignored:
            before = [None, *word_ids[:-1]]
            numbers = [
                IGNORED if word in (None, last) else number
                for number, word, last in zip(numbers, word_ids, before, strict=True)
            ]
        return {
            "predictions": numbers,
            "offsets": offsets,
            "word_ids": word_ids,
            "labels": labels,
        }

    return inputs


decode_entities = Exercise(
    name="decode_entities",
    returns=("entities",),
    call=call_for_entities,
    cases=(
        Case(
            "words of one piece: entities of one and three words, even far apart",
            _decoding([[0]] * 7, (0, 1, 1, 1, 40, 1, 1), ["O", "B0", "O", "B1", "I1", "I1", "O"]),
        ),
        Case(
            "words of several pieces: only the first counts; the others -100, then mostly O",
            together(
                *(
                    _decoding(
                        [[0, 3], [0], [0, 2, 2], [0, 0], [0]],
                        (1, 1, 1, 1, 1),
                        ["B0", "O", "B0", "I0", "O"],
                        ignored=ignored,
                    )
                    for ignored in (False, True)
                ),
                _decoding(
                    [[0, 2], [0], [0, 3], [0, 2, 2], [0, 2], [0, 0]],
                    (0, 1, 1, 1, 1, 1),
                    [["B0", "O"], "O", ["B1", "O"], ["I1", "O", "O"], ["O", "I1"], ["B2", "O"]],
                ),
            ),
        ),
        Case(
            "an entity ends the text, in a word of three pieces; without special tokens",
            together(
                _decoding([[0], [0], [0, 2, 3]], (0, 1, 1), ["O", "B2", "I2"], padding=2),
                _decoding([[0], [0, 2], [0]], (0, 1, 1), ["B0", "O", "B1"], specials=False),
                _decoding([[0, 2]], (0,), ["B1"], specials=False),
            ),
        ),
        Case(
            "two of the same label, one right after the other, or stuck to it",
            together(
                _decoding([[0], [0, 0], [0], [0], [0]], (0, 1, 1, 1, 1), ["B2", "I2", "B2", "I2", "O"]),
                _decoding([[0], [1], [0]], (0, 0, 0), ["B1", "B1", "O"]),
            ),
        ),
        Case(
            "I- after O begins an entity, even of the label before the O",
            _decoding(
                [[0], [0], [0], [0], [0, 2], [0], [0], [0]],
                (0, 1, 1, 1, 1, 1, 1, 1),
                ["O", "I1", "I1", "O", "O", "I1", "O", "B0"],
            ),
        ),
        Case(
            "I- after another label begins an entity, even after one that looks alike",
            together(
                _decoding([[0]] * 6, (0, 1, 1, 1, 1, 1), ["B0", "I0", "I2", "I2", "I1", "O"]),
                _decoding([[0]] * 8, (0, *[1] * 7), ["B0", "I0", "I3", "I3", "I4", "I0", "I4", "O"]),
            ),
        ),
        Case(
            "a comma between words, stuck to the first of them",
            _decoding([[0, 2], [1], [0], [0]], (0, 0, 1, 1), ["B0", "O", "B0", "O"]),
        ),
        Case(
            "nothing found, then something; then with special tokens that have the place of a word",
            together(
                _with_places(_decoding([[0], [0, 2]], (0, 1), ["O", "B0"], padding=1)),
                _decoding([[0], [0], [0]], (0, 1, 1), ["O", "O", "O"]),
                _decoding([[0], [0], [0], [0]], (0, 1, 1, 1), ["O", "B1", "O", "B0"]),
            ),
        ),
    ),
)

# ---------------------------------------------------------------------------------- entity_scores


def _documents(
    *documents: tuple[Sequence[tuple[int, int, int]], Sequence[tuple[int, int, int]]],
    more: bool = True,
    labels: Sequence[str] = KINDS,
):
    """Gold and predicted entities of each document, as (start, end, number of the label) in tens of characters.

    Args:
        more: there are more of label 0 in the first document, which were found, missed and invented; how many, the
            seed decides.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        shift = int(rng.integers(0, 5))
        kinds = [labels[i] for i in rng.permutation(len(labels))]
        # Far more are invented than missed, so that precision and recall are never equal by chance.
        counts = rng.integers([1, 1, 15], [20, 10, 30]) if more else (0, 0, 0)
        found, missed, invented = (
            [(place, place + 1, 0) for place in range(start, start + count)]
            for start, count in zip((100, 200, 300), counts, strict=True)
        )
        (gold, predicted), *others = documents
        lists = [([*gold, *found, *missed], [*predicted, *found, *invented]), *others]

        def spans(rows: Iterable[tuple[int, int, int]]) -> list[Entity]:
            rows = list(rows)
            made = [Entity(10 * start + shift, 10 * end + shift, kinds[kind]) for start, end, kind in rows]
            return [made[i] for i in rng.permutation(len(made))]

        return {
            "gold": [spans(gold) for gold, _ in lists],
            "predicted": [spans(predicted) for _, predicted in lists],
        }

    return inputs


def _off_by_few(rng: np.random.Generator) -> Inputs:
    """Long entities, all of one label: some found, and each of the others missed by one to three characters at one end, or at both."""
    gold, predicted, place = [], [], 10
    for begin, end in ((0, 0), (0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1), (1, -1)):
        length, off = int(rng.integers(20, 40)), int(rng.integers(1, 4))
        gold.append(Entity(place, place + length, KINDS[1]))
        predicted.append(Entity(place + off * begin, place + length + off * end, KINDS[1]))
        place += 60
    predicted.append(Entity(place, place + 9, KINDS[1]))
    return {"gold": [gold], "predicted": [predicted]}


def _few_found(rng: np.random.Generator) -> Inputs:
    """So few that precision and recall together are below 1."""
    found, missed, invented = rng.integers([1, 4, 8], [4, 16, 40]).tolist()
    gold = [(place, place + 1, 0) for place in range(found + missed)]
    wrong = [(place, place + 1, 0) for place in range(50, 50 + invented)]
    return _documents((gold, [*gold[:found], *wrong]), more=False)(rng)


def _one_sided(rng: np.random.Generator) -> Inputs:
    """The mean of the labels' F1 is below the means of their precisions and of their recalls."""
    gold = [(place, place + 1, 0) for place in range(9)] + [(20, 21, 1)]
    predicted = [(0, 1, 0)] + [(place, place + 1, 1) for place in range(20, 29)]
    return _documents((gold, predicted), more=False)(rng)


def _labels_of(inputs: Inputs) -> list[str]:
    documents = itertools.chain(inputs["gold"], inputs["predicted"])
    return sorted({entity.label for document in documents for entity in document})


def _call_scores(learner: Callable, inputs: Inputs) -> np.ndarray | None:
    """A row (precision, recall, F1) for each label in alphabetical order, then one for all."""
    scores = call_function(learner, inputs)
    if scores is None:
        return None
    if not isinstance(scores, dict):
        raise WrongForm(f"it returned a {type(scores).__name__}; expected a dict.")
    rows, labels = [], [*_labels_of(inputs), "all"]
    if more := [label for label in scores if label not in labels]:
        raise WrongForm(f"{more[0]!r} is in the dict, and no entity has this label.")
    for label in labels:
        if label not in scores:
            raise WrongForm(
                f"there is no {label!r} in the dict; it has: {', '.join(sorted(map(str, scores))) or 'nothing'}."
            )
        if isinstance(scores[label], dict):
            raise WrongForm(f"{label!r} has a dict; expected three numbers: precision, recall and F1.")
        row = tuple(scores[label])
        if len(row) != 3:
            raise WrongForm(f"{label!r} has {len(row)} numbers; expected precision, recall and F1.")
        if text := [number for number in row if isinstance(number, str)]:
            raise WrongForm(f"{label!r} has the text {text[0]!r}; expected three numbers.")
        rows.append([float(number) for number in row])
    return np.array(rows)


def between_precision_and_recall(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """All numbers lie between 0 and 1, and each F1 between its precision and its recall."""
    precision, recall, f1 = outputs["scores"].T
    low, high = np.minimum(precision, recall) - 1e-6, np.maximum(precision, recall) + 1e-6
    return (f1 >= low) & (f1 <= high) & (low >= -1e-5) & (high <= 1 + 1e-5)


entity_scores = Exercise(
    name="entity_scores",
    returns=("scores",),
    call=_call_scores,
    cases=(
        Case(
            "some found, some missed, some invented",
            _documents(([(0, 1, 0), (2, 4, 0), (5, 6, 0)], [(0, 1, 0), (2, 4, 0), (7, 8, 0), (9, 12, 0)])),
        ),
        Case(
            "few found, more missed, most invented; then one label mostly missed, one mostly invented",
            together(_few_found, _one_sided),
        ),
        Case(
            "a wrong end, beginning or label is an error, even if little is wrong",
            together(
                _off_by_few,
                _documents(
                    (
                        [(0, 2, 0), (3, 5, 0), (6, 7, 1), (8, 9, 0), (10, 11, 1)],
                        [(0, 1, 0), (2, 5, 0), (6, 7, 0), (8, 9, 0), (10, 11, 1), (12, 15, 1)],
                    )
                ),
                _documents(
                    (
                        [(0, 2, 0), (3, 5, 1), (6, 7, 2), (8, 9, 0)],
                        [(0, 2, 1), (3, 5, 2), (6, 7, 0), (8, 9, 0)],
                    ),
                    labels=NEAR,
                ),
            ),
        ),
        Case(
            "one frequent and two rare labels",
            _documents(
                (
                    [(i, i + 1, 0) for i in range(8)] + [(20, 21, 1), (30, 31, 2)],
                    [(i, i + 1, 0) for i in range(7)] + [(9, 10, 0), (22, 23, 1), (30, 31, 2), (32, 33, 2)],
                ),
            ),
        ),
        Case(
            "three documents, with entities at the same places in different ones",
            _documents(
                ([(0, 1, 0), (2, 3, 1)], [(0, 1, 0), (4, 5, 1)]),
                ([(4, 5, 1), (6, 7, 0), (8, 9, 0)], [(2, 3, 1), (6, 7, 0)]),
                ([(0, 1, 0)], [(0, 1, 0), (2, 3, 1), (6, 7, 0)]),
            ),
        ),
        Case(
            "one span with two labels, two with one beginning: predicted ones, then true ones",
            together(
                _documents(([(0, 1, 0), (4, 6, 1)], [(0, 1, 0), (0, 1, 1), (4, 6, 1), (4, 5, 1)])),
                _documents(([(0, 1, 0), (0, 1, 1), (4, 6, 1), (4, 5, 1)], [(0, 1, 0), (4, 6, 1)])),
            ),
        ),
        Case(
            "a label that was never found, and one that is not there",
            _documents(([(0, 1, 0), (2, 3, 0), (4, 5, 1)], [(0, 1, 0), (6, 7, 2), (8, 9, 2)])),
        ),
        Case(
            "nothing found; no documents; a document without finds, without entities; all found",
            together(
                _documents(([(0, 1, 0), (2, 3, 1)], []), ([(4, 5, 0)], []), more=False),
                lambda rng: {"gold": [], "predicted": []},
                _documents(([(0, 1, 0)], []), ([(2, 3, 0)], [(2, 3, 0)]), more=False),
                _documents(([(0, 1, 0)], [(0, 1, 0)]), ([], [(3, 4, 0), (5, 6, 1)]), more=False),
                _documents(([(0, 1, 0)], [(0, 1, 0)])),
            ),
        ),
        Case(
            "everything was found, then not everything",
            together(
                _documents(
                    ([(0, 1, 0), (2, 3, 1)], [(0, 1, 0), (2, 3, 1)]), ([(4, 6, 2)], [(4, 6, 2)]), more=False
                ),
                _documents(([(0, 1, 1)], [(0, 1, 1)])),
            ),
        ),
    ),
    properties=(between_precision_and_recall,),
    bypasses=(
        "seqeval.metrics.classification_report",
        "seqeval.metrics.f1_score",
        "seqeval.metrics.sequence_labeling.precision_recall_fscore_support",
        "seqeval.metrics.precision_score",
        "sklearn.metrics.precision_recall_fscore_support",
    ),
)
