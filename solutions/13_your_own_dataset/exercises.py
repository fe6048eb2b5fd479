"""Lab 13: check, split and measure a data set before anything is trained, and report afterwards.

Texts are words drawn at random, with every kind of fault in every case. The encoder and the tokenizer of ``embed`` are tiny
ones whose numbers the check sets. A model card is read back into its parts. Predictions have no right values: in grading,
goals measure them against labels that only instructors have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any

import numpy as np

from course_utils.cases.classification import call_split, new_words, no_group_on_both_sides
from course_utils.cases.gradients import WEIGHTS
from course_utils.cases.properties import f32, normal, together
from course_utils.cases.reading import written
from course_utils.cases.torch_modules import call_and_leave_gradients_on, sent_back, tensors
from course_utils.checking.exercise import Case, Exercise, Inputs, Outputs, Run, call_function
from course_utils.data.own import COLUMNS, LIBRARIES, load_unlabelled

SECONDS = 30.0  # transformers may have to be imported

_NO_RETURN = "Does every way through the code end in a `return` with a value?"

# ---------------------------------------------------------------------------------- texts


def new_text(rng: np.random.Generator, words: list[str], length: tuple[int, int] = (3, 8)) -> str:
    return " ".join(rng.choice(words, int(rng.integers(*length))).tolist())


# ---------------------------------------------------------------------------------- validate_rows


def _good_row(
    rng: np.random.Generator, task: str, words: list[str], at_the_beginning: bool = False
) -> dict[str, Any]:
    """``at_the_beginning``: an answer stands at the beginning of its context. It stands there only once."""
    text = new_text(rng, words, (6, 12))
    row: dict[str, Any] = {"group": str(rng.choice(words))}
    if task == "classification":
        return row | {"text": text, "label": str(rng.choice(words[:4]))}
    start = 0 if at_the_beginning else int(rng.integers(1, len(text) - 8))
    end = start + int(rng.integers(2, 7))
    if "spans" in COLUMNS[task]:
        last = len(text) - int(rng.integers(2, 6))
        spans = [[0, 3, "A"], [start, end, "B"], [last, len(text), "A"]]  # one ends where the text does
        return row | {"text": text, "spans": [span for span in spans if rng.random() < 0.7]}
    answer = text[start:end]
    if not answer.strip() or text.find(answer) != start:
        return _good_row(rng, task, words, at_the_beginning)
    return row | {"context": text, "question": new_text(rng, words), "answer": answer, "start": start}


def _spoilt(rng: np.random.Generator, task: str, kind: str, words: list[str]) -> dict[str, Any]:
    """A row with one kind of fault, or with two faults."""
    row = _good_row(rng, task, words)
    first_text = "context" if task == "questions" else "text"
    if kind == "gone":
        del row[str(rng.choice(list(row)))]
    elif kind == "none":
        row["group"] = None
    elif kind == "empty":
        row["group"] = ""
    elif kind == "blank":
        row[first_text] = " \t "
    elif kind == "number":
        row["label" if task == "classification" else "group"] = int(rng.integers(1, 9))
    elif kind == "two":
        del row["group"]
        row[first_text] = ""
    elif kind == "two others":
        row["group"] = ""
        del row[first_text]
    if kind in _OF_ONE_COLUMN:  # whether its columns fit each other is not asked
        if isinstance(row.get("start"), int):
            row["start"] = -1
        if isinstance(row.get("spans"), list):
            row["spans"] = [*row["spans"], [2, len(row.get("text", "")) + 1, "A"]]
    elif "spans" in COLUMNS[task]:
        length = len(row["text"])
        spans = {
            "beyond": [length - 4, length + 1, "A"],
            "nothing": [length - 4, length - 4, "A"],
            "reversed": [9, 5, "B"],
            "negative": [-1, 3, "B"],
        }
        if kind == "both":  # the place is one, though two of its spans are wrong
            row["spans"] = [spans["beyond"], spans["reversed"]]
            return row
        if kind in ("beyond", "reversed"):
            row["spans"] = [spans[kind], [0, 2, "A"]]
        else:
            row["spans"] = [[0, 2, "A"], spans[kind]] if kind in spans else "[[0, 2]]"
    elif kind == "elsewhere":  # the answer is there, but not at the place that is given
        row["start"] += int(rng.choice([-1, 1]))
    elif kind == "negative":  # from the end: a slice does not mind
        row["start"] -= len(row["context"])
    elif kind == "beyond":
        row["start"] = len(row["context"]) + 3
    elif kind == "other":
        row["start"] = str(row["start"])
    elif kind == "capitals":  # letter by letter: another spelling is not the answer
        row["answer"] = row["answer"].upper()
    elif kind == "float":
        row["start"] = float(row["start"])
    return row


_OF_TWO_COLUMNS = ("two", "two others")
_OF_ONE_COLUMN = ("gone", "none", "empty", "blank", "number", *_OF_TWO_COLUMNS)
_KINDS = {
    "classification": ("gone", "none", "empty", "blank", "number", *_OF_TWO_COLUMNS),
    "entities": (
        "gone",
        "blank",
        *_OF_TWO_COLUMNS,
        "beyond",
        "nothing",
        "reversed",
        "negative",
        "both",
        "other",
    ),
    "questions": (
        "gone",
        "number",
        *_OF_TWO_COLUMNS,
        *["elsewhere"] * 4,
        "negative",
        "beyond",
        "other",
        "float",
        "capitals",
    ),
}


def _unusual(rng: np.random.Generator, task: str, words: list[str]) -> list[dict[str, Any]]:
    """Rows that look wrong and are not, and rows that are wrong in less usual ways."""
    row = _good_row(rng, task, words)
    rows = [row | {"id": 7, "remark": None}]  # columns that nobody asks for
    blank = str(rng.choice([" ", "  ", "\n", ""]))
    if task == "classification":
        rows += [row | {"spans": [[0, 99, "A"]], "start": -3, "answer": 5}]  # those of other tasks
        rows += [row | {"text": text} for text in ("?!", "\u6771\u4eac", "\N{NO-BREAK SPACE}", " \r\n")]
        rows += [row | {"label": label} for label in ("None", "nan", float("nan"), blank, "4")]
        rows += [row | {"group": group} for group in ("-", "0", "?")]
    elif "spans" in COLUMNS[task]:
        text = "Zo\u00eb sings."  # as long as it has characters; bytes it has one more
        for spans in ([[0, 11, "A"]], [[0, 12, "A"]], [[3, 4, "A"]], [[0, 3, "A"], [0, 3, "A"]]):
            rows.append(row | {"text": text, "spans": spans})
        rows.append(
            row | {"text": text, "spans": [[0, 99, "A"]], "group": blank}
        )  # a fault in one column hides others
        for spans in ([[4, 9, "A"], [0, 3, "B"]], [[0, 3, ""]], [[0, 3, " "]], [[0, 3, "7"]]):
            rows.append(row | {"text": text, "spans": spans})  # in another order, and with any label
    else:
        # a fault in one column hides others
        rows += [row | {"question": blank, "start": row["start"] + 1}, row | {"spans": [[0, 999, "A"]]}]
        context = row["context"]
        space, last = context.index(" "), context.rindex(" ") + 1
        rows += [
            row | {"answer": " ", "start": space},
            row | {"answer": "", "start": space},
            row | {"answer": context[last:], "start": last},  # it ends where its context does
            row
            | {
                "context": f"{context} C",
                "answer": "C",
                "start": len(context) + 1,
            },  # one character is enough
            row | {"question": "42"},
        ]
    return rows


def _table(task: str, one_fault_each: bool = False):
    """``one_fault_each``: no row has two columns that are wrong by themselves, so that none may be overlooked."""

    def inputs(rng: np.random.Generator) -> Inputs:
        words = new_words(rng, 25)
        kinds = [kind for kind in _KINDS[task] if not (one_fault_each and kind in _OF_TWO_COLUMNS)]
        first, *others = rng.permutation(kinds).tolist()
        kinds = [*others, *[""] * int(rng.integers(6, 14))]
        rng.shuffle(kinds)
        rows = [_spoilt(rng, task, first, words), _good_row(rng, task, words, at_the_beginning=True)]
        rows += [_spoilt(rng, task, kind, words) if kind else _good_row(rng, task, words) for kind in kinds]
        if (
            "spans" in COLUMNS[task]
        ):  # one that begins where its text does, one that ends where it does, and none
            for spans, after in (([[0, 3, "A"]], ""), ([[-3, 0, "A"]], ""), ([[-3, 0, "A"]], "  "), ([], "")):
                text = new_text(rng, words, (6, 12)) + after  # blanks are characters like any others
                spans = [[start % len(text), end or len(text), label] for start, end, label in spans]
                rows.append({"group": words[0], "text": text, "spans": spans})
        if "answer" in COLUMNS[task]:
            # An answer that stands there twice; the place that is given is the later one.
            row = _good_row(rng, task, words)
            context = row["context"]
            rows.append(row | {"context": f"{context} {context}", "start": row["start"] + len(context) + 1})
            # A line break at the end of the answer is a space in the context: the answer does not stand there.
            first = new_text(rng, words, (6, 12))
            end = first.index(" ")
            rows.append(row | {"context": first, "answer": f"{first[:end]}\n", "start": 0})
            # The context ends in the middle of the answer.
            last = first.rindex(" ") + 1
            rows.append(row | {"context": first, "answer": f"{first[last:]}s", "start": last})
        rows += _unusual(rng, task, words)
        rows.append(dict(rows[1]))  # a row that is there twice has no fault
        if task == "classification":  # and one with a fault has it at both places
            twice = rows[1] | {"group": ""}
            rows += [twice, dict(twice)]
        return {"rows": rows, "task": task}

    return inputs


_ALL_COLUMNS = tuple(dict.fromkeys(column for columns in COLUMNS.values() for column in columns))


def _call_validate(learner: Callable, inputs: Inputs) -> dict[str, Any]:
    """How often a fault is said to be at each place: a row of numbers for each row of the file, which are counted from 1.

    Raises:
        TypeError: what came back is no list of pairs, or a pair is of no place in the file. The message says which.
    """
    found = call_function(learner, inputs)
    if found is None:
        raise TypeError(f"the result is None; expected a list of pairs. {_NO_RETURN}")
    if not isinstance(found, list):
        raise TypeError(f"it returned a {type(found).__name__}; expected a list of pairs.")
    columns = list(COLUMNS[inputs["task"]])
    times, places = np.zeros((1 + len(inputs["rows"]), len(_ALL_COLUMNS)), dtype=np.int64), []
    for fault in found:
        if not isinstance(fault, tuple | list) or len(fault) != 2 or not isinstance(fault[1], str):
            raise TypeError("a fault must be a pair: the number of a row, and the name of a column.")
        number, column = fault
        if not isinstance(number, int | np.integer) or isinstance(number, bool):
            raise TypeError(f"the number of a row is a {type(number).__name__}; expected an int.")
        if column not in columns:
            raise TypeError(
                f"there is a fault in the column {column[:40]!r}; the columns of this task are {', '.join(columns)}."
            )
        if not 0 <= number < len(times):
            raise TypeError(
                f"there is a fault in row {number}; the file has {len(inputs['rows'])} rows, counted from 1."
            )
        times[number, _ALL_COLUMNS.index(column)] += 1
        places.append((number, columns.index(column)))
    return {"faults": times, "in the order of the rows": places == sorted(places)}


def _pairs_in(times: np.ndarray) -> list[tuple[int, str]]:
    """The faults, as learners return them. One that is there often is shown twice: a count may be any number."""
    return [
        (row, _ALL_COLUMNS[column])
        for row, column in np.argwhere(times).tolist()
        for _ in range(2 if times[row, column] > 1 else 1)
    ]


validate_rows = Exercise(
    name="validate_rows",
    returns=("faults", "in the order of the rows"),
    shown={"faults": _pairs_in},
    call=_call_validate,
    cases=(
        Case(
            "two files for classification; a row with a fault occurs twice",
            together(_table("classification"), _table("classification")),
        ),
        Case(
            "two files with entities", together(_table("entities"), _table("entities", one_fault_each=True))
        ),
        Case(
            "two files with questions",
            together(_table("questions"), _table("questions", one_fault_each=True)),
        ),
    ),
)

# ---------------------------------------------------------------------------------- find_leaks


def _copied(singles: int, three_times: bool = False):
    """Texts and copies of them, with other spaces and capitals, on the same side and on different ones."""

    def inputs(rng: np.random.Generator) -> Inputs:
        words, labels = new_words(rng, 60), new_words(rng, 3)
        rows: list[tuple[str, str, bool]] = []
        for _ in range(singles + int(rng.integers(0, 6))):
            rows.append((new_text(rng, words), str(rng.choice(labels)), bool(rng.random() < 0.5)))
        apart, other_label = new_text(rng, words, (4, 8)), str(rng.choice(labels))
        rows.append((apart, str(rng.choice(labels)), True))
        rows += [(near, other_label, False) for near in _nearly(apart)]
        rows += [("", labels[0], False), (" \n", labels[0], True)]  # texts without words are the same, too
        for near in (labels[0].upper(), f"{labels[0]} "):  # two labels that only look alike
            twice = new_text(rng, words, (5, 9))
            rows += [(twice, labels[0], False), (twice, near, False)]
        kind, runs, at_the_ends = 0, iter(_RUNS), []
        for sides in ((False, False), (True, True), (False, True), (True, False)):
            for agree in (True, False, True):
                kind = (kind + 1) % 3
                text, label = new_text(rng, words, (5, 9)), str(rng.choice(labels))
                if sides[0] != sides[1] and not agree:  # in the alphabet, it is first or last, too
                    text = f"{'z' if sides[0] else 'a'} {text}"
                other = label if agree else next(each for each in labels if each != label)
                copy = text.replace(" ", next(runs), 1) if kind == 1 else _retyped(rng, text, kind)
                group = [(text, label, sides[0]), (copy, other, sides[1])]
                if three_times:
                    group.insert(1, (text, label, sides[0]))
                if sides[0] != sides[1] and not agree:
                    at_the_ends.append(range(len(rows), len(rows) + len(group)))
                rows += group
        (first, *_), last = at_the_ends  # rows that matter stand first and last
        between = [place for place in range(len(rows)) if place != first and place not in last]
        order = [first, *rng.permutation(between).tolist(), *last]
        return {
            "texts": [rows[place][0] for place in order],
            "labels": [rows[place][1] for place in order],
            "in_test": np.array([rows[place][2] for place in order]),
        }

    return inputs


def _nearly(text: str) -> list[str]:
    """Other texts than this one: white space is missing, the words stand in another order or one of them twice, a mark, an
    accent or a digit more."""
    first, *others = text.split()
    long = " ".join([text] * 4)
    return [
        *(f"{text}{mark}" for mark in ",;:!?"),
        f"({text})",
        f'"{text}"',
        f"`{text}`",
        f"{text} max_len",
        f"{text} max len",
        f"{long} x",
        f"{long} y",
        text.replace(" ", "", 1),
        " ".join([*others, first]),
        f"{first} {text}",
        f"{text}.",
        f"{text} 2",
        f"{text} 3",
        f"{text} cafe",
        f"{text} caf\u00e9",
        f"{text} cafe\u0301",  # it looks like the one before
        f"{text} x2",
        f"{text} x\u00b2",
        f"{text} re-open",
        f"{text} re open",
    ]


_RUNS = ("  ", "     ", "\t", "\n\N{NO-BREAK SPACE}")
"""White space inside of a copy, one after another: code that joins two spaces once, or spaces only, overlooks some copies."""


def _retyped(rng: np.random.Generator, text: str, kind: int) -> str:
    """The same text in capitals, or with more space around it."""
    if kind == 0:
        return text.upper() if rng.random() < 0.5 else text.title()
    return f" \t{text} \n"


def nobody_is_later_than_himself(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The first row with a text never comes after the row itself."""
    return outputs["first"] <= np.arange(len(inputs["texts"]))


def only_test_rows_leak(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Only rows of the test set count as leaked."""
    return inputs["in_test"] | ~outputs["leaked"]


def _all_contradicted(copies: int):
    """Every text stands there so many times, each time with another label, of which one is empty."""

    def inputs(rng: np.random.Generator) -> Inputs:
        words, labels = new_words(rng, 30), ["", *new_words(rng, copies - 1)]
        texts = [new_text(rng, words) for _ in range(int(rng.integers(3, 7)))]
        chosen = [rng.permutation(labels).tolist() for _ in texts]
        return {
            "texts": texts * copies,
            "labels": [of_text[copy] for copy in range(copies) for of_text in chosen],
            "in_test": rng.random(copies * len(texts)) < 0.5,
        }

    return inputs


def _call_leaks(learner: Callable, inputs: Inputs) -> Any:
    """Calls the learner's function.

    Raises:
        TypeError: the rows are no whole numbers. Nothing can be indexed with others.
    """
    found = call_function(learner, inputs)
    if isinstance(found, (tuple, list)) and found and (first := np.asarray(found[0])).dtype.kind == "f":
        raise TypeError(f"`first` has the dtype {first.dtype}; expected integers, to index with.")
    return found


find_leaks = Exercise(
    name="find_leaks",
    returns=("first", "contradicted", "leaked"),
    call=_call_leaks,
    cases=(
        Case(
            "copies with other spaces and capitals; then every text contradicts another",
            together(_copied(6), _copied(9), _all_contradicted(2)),
        ),
        Case(
            "some texts occur three times; then all of them do, with three labels",
            together(_copied(4, True), _copied(7, True), _all_contradicted(3)),
        ),
    ),
    properties=(nobody_is_later_than_himself, only_test_rows_leak),
)

# ---------------------------------------------------------------------------------- split_by_group


def _grouped(groups: int, classes: int, share: tuple[float, float], mixed: float):
    """Groups of one main class, in which a part of the rows have another; some classes are much rarer."""

    def inputs(rng: np.random.Generator) -> Inputs:
        names = [
            f"library.{word}" for word in new_words(rng, groups)
        ]  # as modules have: their ends tell them apart
        labels = [label.title() for label in new_words(rng, classes)]
        names[1] = names[0].upper()  # another group than the first: names are taken as they are
        rows = []
        for place, name in enumerate(names):
            main = labels[
                place % classes if place < 2 * classes else int(rng.integers(0, max(2, classes - 1)))
            ]
            size = int(rng.integers(3, 12))
            for number in range(size):
                other = number * 2 < size * mixed
                rows.append((name, str(rng.choice(labels)) if other else main))
        rng.shuffle(rows)
        order = [str(name) for name in rng.permutation(names)]
        return {
            "groups": [str(row[0]) for row in rows],
            "labels": [str(row[1]) for row in rows],
            "order": order,
            "share": float(rng.uniform(*share)),
        }

    return inputs


def _reached_exactly(classes: int, groups: int):
    """Groups of two rows of one class each, of which a quarter is exactly the share. The last one has a class of its own.

    The first row and the last one belong to groups of the test set.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        last, *names = new_words(rng, 1 + classes * groups)
        rare, *labels = new_words(rng, 1 + classes)
        rows = [(name, labels[place % classes]) for place, name in enumerate(names) for _ in range(2)]
        rows += [(last, rare), (last, rare)]
        order = [*(str(name) for name in rng.permutation(names)), last]
        at_the_ends = [next(row for row in rows if row[0] == name) for name in order[:2]]
        for row in at_the_ends:
            rows.remove(row)
        rng.shuffle(rows)
        rows = [at_the_ends[0], *rows, at_the_ends[1]]
        return {
            "groups": [str(row[0]) for row in rows],
            "labels": [str(row[1]) for row in rows],
            "order": order,
            "share": 0.25,
        }

    return inputs


def _of_one_row(groups: int, classes: int, share: tuple[float, float]):
    """Every group is a single row, as where each text comes from somebody else, and every class has a few."""

    def inputs(rng: np.random.Generator) -> Inputs:
        names, labels = new_words(rng, groups), new_words(rng, classes)
        return {
            "groups": names,
            "labels": [labels[place % classes] for place in rng.permutation(groups).tolist()],
            "order": rng.permutation(names).tolist(),
            "share": float(rng.uniform(*share)),
        }

    return inputs


split_by_group = Exercise(
    name="split_by_group",
    returns=("in_test",),
    call=call_split,
    cases=(
        Case(
            "about a fifth for the test, of 24 to 34 groups",
            together(
                _grouped(30, 4, (0.15, 0.25), 0.75),
                _grouped(24, 3, (0.15, 0.25), 0.75),
                _grouped(34, 3, (0.15, 0.25), 0.8),
                _grouped(32, 4, (0.15, 0.25), 0.9),
                _grouped(28, 3, (0.15, 0.25), 0.9),
            ),
        ),
        Case(
            "groups in which the main class is hardly the most frequent, about a third",
            together(
                _grouped(26, 3, (0.28, 0.38), 0.9),
                _grouped(22, 3, (0.28, 0.38), 0.9),
                _grouped(30, 4, (0.28, 0.38), 0.9),
            ),
        ),
        Case(
            "groups of a single row; shares reached exactly; 5 classes, some of them rare",
            together(
                _of_one_row(13, 4, (0.2, 0.3)),
                _of_one_row(10, 3, (0.55, 0.75)),
                _of_one_row(5, 5, (0.2, 0.3)),
                _reached_exactly(3, 8),
                _grouped(35, 5, (0.2, 0.3), 0.7),
                _grouped(40, 5, (0.15, 0.25), 0.7),
                _grouped(38, 5, (0.2, 0.3), 0.8),
            ),
        ),
    ),
    properties=(no_group_on_both_sides,),
    bypasses=(
        "sklearn.model_selection.GroupShuffleSplit",
        "sklearn.model_selection.StratifiedGroupKFold",
        "sklearn.model_selection.GroupKFold",
    ),
)

# ---------------------------------------------------------------------------------- embed


def _texts(lengths: tuple[int, ...], width: int, batch_size: int | None, trained: bool = False):
    """``batch_size``: None if the function is called without one. ``trained``: the vectors are those of a second call, before which
    two weights of the encoder have changed.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        # With capitals, accents and digits: a text that is changed before it is read has other tokens.
        words = [f"{word}{place}" for place, word in enumerate(written(new_words(rng, 15)))]
        shuffled = rng.permutation(lengths)
        texts = [" ".join(rng.choice(words, length).tolist()) for length in shuffled]
        return {
            "weights": {"words": f32(normal(rng, 19, width)), "places": f32(normal(rng, 20, width))},
            "texts": [*texts[:-1], texts[0]],  # one is there twice
            "vocabulary": words,
            "trained": trained,
        } | ({} if batch_size is None else {"batch_size": batch_size})

    return inputs


def _tiny(inputs: Inputs) -> tuple[Any, Any]:
    """An encoder that looks at its mask, its mode and its batches, and a tokenizer, with a real one's ways to be called."""
    import torch
    from transformers import BatchEncoding
    from transformers.modeling_outputs import BaseModelOutputWithPooling

    numbers = {word: 3 + place for place, word in enumerate(inputs["vocabulary"])}
    numbers[inputs["vocabulary"][0]] = 0  # as padding: only the mask tells which is which
    words, places = (torch.tensor(inputs["weights"][name]) for name in ("words", "places"))

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(()))
            self.shift = torch.nn.Parameter(torch.zeros(()))
            self.frozen = torch.nn.Parameter(torch.ones(()), requires_grad=False)
            self.dropout = torch.nn.Dropout()
            self.largest, self.recorded = 0, False

        def forward(self, input_ids, attention_mask=None, token_type_ids=None, **others):
            self.largest = max(self.largest, len(input_ids))
            self.recorded |= torch.is_grad_enabled()
            real = torch.ones(input_ids.shape) if attention_mask is None else attention_mask.float()
            states = words[input_ids] + places[: input_ids.shape[1]]
            seen = (words[input_ids] * real[..., None]).sum(1) / real.sum(1, keepdim=True)
            training = self.training or self.dropout.training
            states = self.frozen * self.scale * (states + seen[:, None] ** 2) + self.shift + 3.0 * training
            return BaseModelOutputWithPooling(
                last_hidden_state=states, pooler_output=torch.tanh(states[:, 0])
            )

    class Tokenizer:
        model_max_length = 16

        def __call__(
            self, texts, padding=False, truncation=False, max_length=None, return_tensors=None, **others
        ):
            texts = [texts] if isinstance(texts, str) else list(texts)
            ids = [[1, *(numbers.get(word, 18) for word in text.split()), 2] for text in texts]
            longest = self.model_max_length if max_length is None else max_length
            if truncation:
                ids = [[*row[: longest - 1], 2] if len(row) > longest else row for row in ids]
            width = longest if padding == "max_length" else max(map(len, ids))
            mask = (
                [[1] * len(row) + [0] * (width - len(row)) for row in ids]
                if padding
                else [[1] * len(row) for row in ids]
            )
            ids = [row + [0] * (width - len(row)) for row in ids] if padding else ids
            kinds = [[0] * len(row) for row in ids]
            data = {"input_ids": ids, "token_type_ids": kinds, "attention_mask": mask}
            if return_tensors == "pt":
                data = {name: torch.tensor(rows) for name, rows in data.items()}
            return BatchEncoding(data)

    return Encoder().train(), Tokenizer()


def _call_embed(learner: Callable, inputs: Inputs) -> dict[str, Any]:
    encoder, tokenizer = _tiny(inputs)
    given = {
        "encoder": encoder,
        "tokenizer": tokenizer,
        "texts": inputs["texts"],
        **({"batch_size": inputs["batch_size"]} if "batch_size" in inputs else {}),
    }
    import torch

    if inputs["trained"]:
        call_and_leave_gradients_on(learner, given)
        with torch.no_grad():
            encoder.train().scale.mul_(-0.5)
            encoder.shift.add_(1.0)
    vectors = call_and_leave_gradients_on(learner, given)
    if encoder.frozen.requires_grad:
        raise TypeError("a weight that was frozen before can be trained afterwards.")
    if isinstance(vectors, torch.Tensor):
        raise TypeError("it returned a tensor; expected a NumPy array.")
    if vectors is None:
        raise TypeError(f"the result is None; expected a NumPy array. {_NO_RETURN}")
    return {
        "vectors": vectors,
        "batch too large": encoder.largest > inputs.get("batch_size", 32),
        "gradients recorded": bool(encoder.recorded),
        "weights frozen afterwards": not encoder.scale.requires_grad,
    }


def _other_batches(rng: np.random.Generator) -> list[Inputs]:
    inputs = _texts((3, 9, 5, 2, 7, 4), 6, 4)(rng)
    return [inputs, {**inputs, "batch_size": 1}]


def batches_change_no_vector(runs: list[Run]) -> np.ndarray:
    """The vector of a text does not depend on what else is in its batch."""
    return np.isclose(runs[0][1]["vectors"], runs[1][1]["vectors"], atol=1e-4)


embed = Exercise(
    name="embed",
    returns=("vectors", "batch too large", "gradients recorded", "weights frozen afterwards"),
    call=_call_embed,
    seconds=SECONDS,
    cases=(
        Case(
            "one text, 7 and 5, 34 without a batch size; 5 after training",
            together(
                _texts((6,), 4, 3),
                _texts((5, 2, 8, 3, 9, 4, 6), 5, 3),
                _texts((1, 7, 3, 4, 2), 4, 2),
                _texts((3, 5) * 17, 3, None),
                _texts((4, 2, 6, 3, 5), 3, 2, trained=True),
            ),
        ),
        Case("6 texts in batches of 4, then each alone", _other_batches, batches_change_no_vector),
        Case(
            "texts that are longer than the tokenizer allows",
            together(_texts((18, 3, 17, 6, 5), 7, 2), _texts((16, 2, 19, 4), 3, 3)),
        ),
    ),
)

# ---------------------------------------------------------------------------------- learning_curve


def nearest(features: np.ndarray, labels: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The simplest classifier there is: the label of the nearest training row."""
    features, labels = np.array(features), np.array(labels)
    if len(features) != len(labels):
        raise ValueError(f"there are {len(features)} rows and {len(labels)} labels.")

    def predict(others: np.ndarray) -> np.ndarray:
        distances = ((np.asarray(others)[:, None, :] - features[None]) ** 2).sum(axis=-1)
        return labels[distances.argmin(axis=1)]

    return predict


def _points(count: int, repeats: int, sizes: int, classes: int, left_out: int = 0):
    """``left_out``: how many rows even the largest size leaves out."""

    def inputs(rng: np.random.Generator) -> Inputs:
        largest = count - left_out
        centres = normal(rng, classes, 3, scale=1.2)
        labels, others = rng.integers(0, classes, count), rng.integers(0, classes, 37)
        chosen = np.append(np.sort(rng.choice(np.arange(4, largest - 8), sizes - 1, replace=False)), largest)
        while chosen[0] <= chosen[-1]:
            rng.shuffle(chosen)
        return {
            "fit": nearest,
            "features": centres[labels] + normal(rng, count, 3),
            "labels": labels,
            "test_features": centres[others] + normal(rng, 37, 3),
            "test_labels": others,
            "sizes": [int(size) for size in chosen],
            "orders": np.array([rng.permutation(count) for _ in range(repeats)]),
        }

    return inputs


learning_curve = Exercise(
    name="learning_curve",
    returns=("mean", "deviation"),
    cases=(
        Case("4 sizes, 5 orders", _points(60, 5, 4, 4)),
        Case(
            "3 sizes, 3 orders; then 4 sizes, 6 orders",
            together(_points(60, 3, 3, 3, left_out=15), _points(65, 6, 4, 3, left_out=12)),
        ),
        Case("5 sizes, 7 orders", _points(70, 7, 5, 5)),
    ),
    bypasses=("sklearn.model_selection.learning_curve", "sklearn.model_selection.LearningCurveDisplay"),
)

# ---------------------------------------------------------------------------------- LoRALinear


def _adapted(batch: tuple[int, ...], inside: int, outside: int, rank: int | None):
    """``rank``: None if the layer is made without rank and alpha."""

    def inputs(rng: np.random.Generator) -> Inputs:
        said = {} if rank is None else {"rank": rank, "alpha": float(rng.uniform(5, 20))}
        return said | {
            "weight": f32(normal(rng, outside, inside)),
            "bias": f32(normal(rng, outside)),
            "down": f32(normal(rng, rank or 8, inside, scale=0.5)),
            "up": f32(normal(rng, outside, rank or 8, scale=0.5)),
            "x": f32(normal(rng, *batch, inside)),
        }

    return inputs


def _like_normal_numbers(down: np.ndarray) -> bool:
    """Whether these may be normal numbers, divided by the root of in_features. Of fewer than a thousand nobody can say."""
    numbers = down.ravel().astype(float) * down.shape[1] ** 0.5
    far = (np.abs(numbers) > 2).mean()  # 4.6 % of normal numbers; none of uniform ones
    if np.linalg.matrix_rank(down) < min(down.shape):  # drawn ones do not depend on each other
        return False
    return bool(
        numbers.size < 1000
        or (abs(numbers.mean()) < 0.15 and 0.85 < numbers.std() < 1.15 and 0.02 < far < 0.08)
    )


def _lora(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """A base with the given numbers, the learner's layer around it, and the layer's parameters by name."""
    import torch

    base = torch.nn.Linear(given["weight"].shape[1], given["weight"].shape[0])
    with torch.no_grad():
        base.weight.copy_(given["weight"])
        base.bias.copy_(given["bias"])
    layer = learner(base, *([given["rank"], given["alpha"]] if "alpha" in given else []))
    if not isinstance(layer, torch.nn.Module):
        raise TypeError(f"it is a {type(layer).__name__}; expected a torch.nn.Module.")
    parts = dict(layer.named_parameters())
    for name in ("down", "up"):
        if name not in parts:
            if f"{name}.weight" in parts:
                raise TypeError(
                    f"`{name}` is a layer with a weight, as in peft. Here `{name}` has to be the parameter itself."
                )
            if name not in vars(layer):
                own = ", ".join(f"`{part}`" for part in parts if not part.startswith("base."))
                raise TypeError(
                    f"the layer has no `{name}`. Its own parameters are {own or 'none'}; "
                    "the two factors have to be called `down` and `up`."
                )
            raise TypeError(f"`{name}` is not a parameter of the layer; an optimizer would never see it.")
        if parts[name].shape != given[name].shape:
            raise TypeError(
                f"`{name}` has the shape {tuple(parts[name].shape)}; expected {tuple(given[name].shape)}."
            )
    return base, layer, parts


def _trained_before(parts: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Puts the factors of a training that is over into the layer."""
    import torch

    with torch.no_grad():
        parts["down"].copy_(given["down"])
        parts["up"].copy_(given["up"])


def _through_lora(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    _, layer, parts = _lora(learner, given)
    _trained_before(parts, given)
    return layer(given["x"]), {name: parts[name] for name in ("down", "up")}


def _call_lora(learner: Callable, inputs: Inputs) -> dict[str, Any]:
    import torch

    given = tensors(inputs)
    if given["x"].ndim > 2:  # as after a transpose: its rows do not lie one after the other in memory
        given["x"] = given["x"].transpose(0, 1).contiguous().transpose(0, 1)
    base, layer, parts = _lora(learner, given)
    starts = [bool(parts[name].detach().any()) for name in ("down", "up")]
    starts.append(_like_normal_numbers(parts["down"].detach().numpy()))
    if all(starts[::2]) and torch.equal(parts["down"], _lora(learner, given)[2]["down"]):
        raise TypeError("two new layers begin with the same numbers in `down`; draw new ones for each layer.")
    at_start = layer(given["x"]).detach().clone()
    _trained_before(parts, given)
    output, in_evaluation = layer(given["x"]), layer.eval()(given["x"]).detach()
    merged = layer.train().merged()
    if not isinstance(merged, torch.nn.Linear):
        raise TypeError(f"merged() returned {type(merged).__name__}; expected a torch.nn.Linear.")
    merged_output = merged(given["x"]).detach().clone()
    with torch.no_grad():  # it is a layer of its own: whatever happens to it, the base stays as it is
        merged.weight.zero_()
        merged.bias.zero_()
    output_again = layer(given["x"]).detach().clone()
    base_after = torch.cat([base.weight.detach(), base.bias.detach()[:, None]], dim=1).clone()
    with torch.no_grad():  # as when saved numbers are loaded: the base has others now, in the same place
        base.weight.mul_(-0.5)
        base.bias.add_(1.0)
    loaded = [layer(given["x"]), layer.merged()(given["x"]), layer.eval()(given["x"])]
    others = [
        value for name, value in parts.items() if name not in ("base.weight", "base.bias", "down", "up")
    ]
    return {
        "output before training": at_start,
        "output": output.detach(),
        "output in evaluation mode": in_evaluation,
        "merged output": merged_output,
        "output after merging": output_again,
        "outputs with another base": torch.stack(loaded).detach(),
        "down begins with zeros": not starts[0],
        "up begins with zeros": not starts[1],
        "down begins as the docstring says": starts[2],
        "the base is trained": base.weight.requires_grad or base.bias.requires_grad,
        "down is trained": parts["down"].requires_grad,
        "up is trained": parts["up"].requires_grad,
        "something else is trained": any(value.requires_grad for value in others),
        "base afterwards": base_after,
    }


def merged_is_the_same(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The merged layer gives what the layer gives."""
    return np.isclose(outputs["output"], outputs["merged output"], atol=1e-3)


def at_the_start_nothing_changes(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Before training, the layer gives what its base gives."""
    return np.isclose(
        outputs["output before training"], inputs["x"] @ inputs["weight"].T + inputs["bias"], atol=1e-3
    )


lora_linear = Exercise(
    name="LoRALinear",
    returns=(
        "output before training",
        "output",
        "output in evaluation mode",
        "merged output",
        "output after merging",
        "outputs with another base",
        "down begins with zeros",
        "up begins with zeros",
        "down begins as the docstring says",
        "the base is trained",
        "down is trained",
        "up is trained",
        "something else is trained",
        "base afterwards",
    ),
    call=_call_lora,
    backward=sent_back(_through_lora),
    cases=(
        Case(
            "7 features to 5, rank 3; then 4 to 4 without rank and alpha",
            together(_adapted((4,), 7, 5, 3), _adapted((4, 4), 4, 4, None)),
            reaches=("x", WEIGHTS),
        ),
        Case(
            "a batch of sentences, from 4 features to 9, rank 2",
            _adapted((3, 6), 4, 9, 2),
            reaches=("x", WEIGHTS),
        ),
        Case(
            "rank 1, then 12, from 150 features to 3",
            together(_adapted((5,), 6, 8, 1), _adapted((2,), 150, 3, 12)),
        ),
    ),
    properties=(at_the_start_nothing_changes, merged_is_the_same),
    bypasses=("peft.LoraConfig", "peft.get_peft_model", "course_utils.models.lora.LoRALinear"),
    atol=1e-4,
)

# ---------------------------------------------------------------------------------- bootstrap_interval


def _two_models(texts: int, resamples: int, usual_level: bool = False):
    """Two models that are mostly right on the same texts, so that a comparison in pairs is much narrower.

    usual_level: no level is given.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        count = int(rng.integers(texts - 15, texts + 16))
        easy = rng.random(count) < rng.uniform(0.45, 0.6)
        ours = easy ^ (rng.random(count) < 0.12) | (rng.random(count) < 0.3)
        theirs = easy ^ (rng.random(count) < 0.12)
        return {
            "ours": ours,
            "theirs": theirs,
            "draws": rng.integers(0, count, (resamples, count)),
        } | ({} if usual_level else {"level": float(rng.uniform(0.75, 0.9))})

    return inputs


def _few_resamples(rng: np.random.Generator) -> Inputs:
    """Nine, of which one alone is the lowest and one the highest: which quantile is taken, and of what, then shows at every seed."""
    while True:
        drawn = _two_models(40, 9)(rng)
        better = drawn["ours"].astype(float) - drawn["theirs"]
        results = np.sort(better[drawn["draws"]].mean(axis=1))
        if results[0] < results[1] and results[-2] < results[-1]:
            return drawn


def _the_worse_one(texts: int, resamples: int):
    """The same two models the other way round: the interval lies below 0, or reaches there."""

    def inputs(rng: np.random.Generator) -> Inputs:
        drawn = _two_models(texts, resamples)(rng)
        return {**drawn, "ours": drawn["theirs"], "theirs": drawn["ours"]}

    return inputs


def _a_model_beside_itself(rng: np.random.Generator) -> Inputs:
    right = rng.random(60) < rng.uniform(0.4, 0.6)
    return {"ours": right, "theirs": right.copy(), "draws": rng.integers(0, 60, (200, 60))}


bootstrap_interval = Exercise(
    name="bootstrap_interval",
    returns=("low", "high"),
    cases=(
        Case("about 80 texts, 400 resamples, no level given", _two_models(80, 400, True)),
        Case("about 130 texts, 300 resamples, another level", _two_models(130, 300)),
        Case("about 57 texts, 500 resamples, another level", _two_models(57, 500)),
        Case("about 40 texts and 9 resamples: each of them counts", _few_resamples),
        Case(
            "about 70 texts; then a model beside itself; then the worse of two",
            together(_two_models(70, 200), _a_model_beside_itself, _the_worse_one(75, 200)),
        ),
    ),
    bypasses=("scipy.stats.bootstrap",),
)

# ---------------------------------------------------------------------------------- calibration_error


def _judged(count: int, classes: int, sharpness: float, bins: int, usual_bins: bool = False):
    """A model that is right where it is least and most sure, and often wrong in between.

    usual_bins: their number is not given, because it is the usual one.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        logits = normal(rng, count, classes, scale=sharpness)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = f32(shares / shares.sum(axis=1, keepdims=True))
        confidence, said = shares.max(axis=1), shares.argmax(axis=1)
        rank = confidence.argsort().argsort() / count
        hit = ((rank * bins).astype(int) % 3 == 0) | (rng.random(count) < 0.25)
        labels = np.where(hit, said, (said + rng.integers(1, classes, count)) % classes)
        return {"probabilities": shares, "labels": labels} | ({} if usual_bins else {"bins": bins})

    return inputs


calibration_error = Exercise(
    name="calibration_error",
    returns=("error",),
    cases=(
        Case(
            "36 texts of 4 classes, no bins given; then 57 in 7 bins",
            together(_judged(36, 4, 1.6, 10, usual_bins=True), _judged(57, 6, 1.8, 7)),
        ),
        Case(
            "29 texts in 8 bins, 45 in 12 bins, 9 in 9 bins",
            together(_judged(29, 3, 1.6, 8), _judged(45, 3, 1.5, 12), _judged(9, 3, 1.6, 9)),
        ),
        Case(
            "a model that is nearly always sure; then 40 texts in 11 bins",
            together(_judged(42, 5, 4.0, 9), _judged(40, 5, 1.5, 11)),
        ),
    ),
    rtol=1e-3,
)

# ---------------------------------------------------------------------------------- best_temperature


def _too_sure(
    texts: int, classes: int, factor: tuple[float, float], apart: float = 0.0, never_first: bool = False
):
    """Logits of a model that would be calibrated, if they were not that many times too large.

    apart: how far the rows are from each other, and one more class, which is never right, from all others.
    never_first: that class is the first one, so that it is no help against overflow; else the last.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        logits = normal(rng, texts, classes, scale=1.8)
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        labels = np.array([rng.choice(classes, p=row) for row in shares])
        logits = logits * rng.uniform(*factor)
        if apart:
            never = logits.min(axis=1, keepdims=True) - rng.uniform(0.9, 1.1, (texts, 1)) * apart
            logits = np.concatenate([never, logits] if never_first else [logits, never], axis=1)
            logits, labels = logits + rng.uniform(-apart, apart, (texts, 1)), labels + int(never_first)
        return {
            "logits": logits,
            "labels": labels,
            # in no order; few, where float32 knows the losses to a few digits only
            "candidates": np.exp(rng.uniform(np.log(0.15), np.log(9), 12 if apart else 250)),
        }

    return inputs


def _torn(texts: int, classes: int):
    """Logits of a model that hesitates between two classes and mostly prefers the wrong one.

    Code that maximises the probability of the true class, or of the most probable one, finds other temperatures here.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        rows, labels = np.arange(texts), rng.integers(0, classes, texts)
        rivals = (labels + rng.integers(1, classes, texts)) % classes
        logits = normal(rng, texts, classes) - 6
        logits[rows, labels] = normal(rng, texts)
        logits[rows, rivals] = logits[rows, labels] + rng.uniform(-1, 2.5, texts)
        return {
            "logits": logits,
            "labels": labels,
            "candidates": np.exp(rng.uniform(np.log(0.15), np.log(9), 250)),
        }

    return inputs


def _far_off(texts: int, classes: int, distance: tuple[float, float] = (150, 200)):
    """A calibrated model's logits, but one label is as good as impossible: the logarithm of its share counts in full.

    distance: from 10,000 the share itself is 0 at every candidate, and its logarithm no number.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        drawn = _too_sure(texts, classes, (0.9, 1.1))(rng)
        drawn["logits"][0, drawn["labels"][0]] -= rng.uniform(*distance)
        return drawn

    return inputs


def _decided(make: Callable[[np.random.Generator], Inputs]):
    """Inputs in which one candidate is so much better than all others that float32 finds it, too."""

    def inputs(rng: np.random.Generator) -> Inputs:
        while True:
            drawn = make(rng)
            scaled = drawn["logits"] / drawn["candidates"][:, None, None]
            scaled -= scaled.max(axis=-1, keepdims=True)
            right = scaled[:, np.arange(len(drawn["labels"])), drawn["labels"]]
            losses = np.sort((np.log(np.exp(scaled).sum(axis=-1)) - right).mean(axis=-1))
            if losses[1] - losses[0] > max(2e-6 * losses[0], 1e-7 * np.abs(drawn["logits"]).max()):
                return drawn

    return inputs


def _all_too_hot(texts: int, classes: int, best: int):
    """Every candidate is above the right temperature, so that the lowest is the best. It stands first (0) or last (-1)."""

    def inputs(rng: np.random.Generator) -> Inputs:
        rising = np.sort(rng.uniform(5, 9, 40))
        return {
            **_too_sure(texts, classes, (2.0, 3.0))(rng),
            "candidates": rising if best == 0 else rising[::-1].copy(),
        }

    return inputs


best_temperature = Exercise(
    name="best_temperature",
    returns=("temperature",),
    cases=(
        Case(
            "models too sure, not sure enough, and torn between two classes",
            together(
                *map(_decided, (_too_sure(90, 5, (2.0, 3.0)), _too_sure(80, 4, (0.2, 0.3)), _torn(75, 5)))
            ),
        ),
        Case(
            "three more models; then the best candidate is the first, or the last",
            together(
                *map(_decided, (_torn(65, 4), _too_sure(110, 3, (0.2, 0.3)), _too_sure(70, 6, (2.2, 3.2)))),
                _all_too_hot(90, 5, best=0),
                _all_too_hot(100, 4, best=-1),
            ),
        ),
        Case(
            "very large logits, logits far apart, nearly impossible labels, two close classes",
            together(
                *map(
                    _decided,
                    (
                        _too_sure(95, 4, (2.0, 3.0), 50_000.0, never_first=True),
                        _too_sure(85, 5, (0.2, 0.3), 50_000.0),
                        _far_off(90, 4),
                        _far_off(60, 3, (15_000, 20_000)),
                        _torn(85, 6),
                    ),
                ),
            ),
        ),
    ),
)

# ---------------------------------------------------------------------------------- model_card

FRONT = ("license", "language", "base_model", "pipeline_tag")
MEASURES = (
    "training texts",
    "test texts",
    "accuracy",
    "95 % interval",
    "majority baseline",
    "calibration error",
)
_FORMS = {
    "training texts": r"\d+",
    "test texts": r"\d+",
    "95 % interval": r"\d+\.\d{3} to \d+\.\d{3}",
}
"""How the numbers are written; all others have three decimals."""
_INTERVAL = re.compile(
    r"95(?:\s*%|[\s-]*per\s?cent)[\s-]*(?:confidence |bootstrap )?(?:interval|CI)", re.IGNORECASE
)
"""What people call the row with the interval."""
_LINE = 64


def _facts(limits: int, decimals: int | None = None):
    """``decimals``: of accuracy, baseline, error and interval; the card shows three, so that some are zeros. None: many."""

    def inputs(rng: np.random.Generator) -> Inputs:
        words = new_words(rng, 30)
        accuracy = (int(rng.integers(500, 800)) + float(rng.uniform(0.6, 0.9))) / 1000  # to be rounded up
        if decimals is not None:
            accuracy = round(accuracy, decimals)

        def number(low: float, high: float) -> float:
            drawn = float(rng.uniform(low, high))
            return drawn if decimals is None else round(drawn, decimals)

        return {
            "facts": {
                "name": f"{words[0]} {words[1]}-{words[2]}",
                "license": str(rng.choice(["mit", "apache-2.0", "cc-by-4.0", "bsd-3-clause"])),
                "language": str(rng.choice(["en", "fr", "de", "es", "it"])),
                "base_model": f"{words[3].title()}/{words[4].upper()}-{words[5]}",
                "pipeline_tag": str(
                    rng.choice(["text-classification", "token-classification", "question-answering"])
                ),
                "training_texts": int(rng.integers(1000, 3000)),  # without a comma among its digits
                "test_texts": int(rng.integers(1000, 3000)),
                "accuracy": accuracy,
                "interval": (
                    accuracy - number(0.02, 0.09),
                    accuracy + number(0.02, 0.09),
                ),
                "baseline": int(rng.integers(10, 40)) / 100,  # with three decimals it ends in a zero
                "calibration_error": number(0.02, 0.3),
                "limits": [new_text(rng, words[5:]) for _ in range(limits + int(rng.integers(0, 3)))],
            }
        }

    return inputs


def _codes(lines: Sequence[str]) -> np.ndarray:
    """Texts as numbers, a row each, so that they can be compared."""
    table = np.zeros((len(lines), _LINE), dtype=np.int64)
    for row, line in zip(table, lines, strict=True):
        codes = [ord(character) for character in line[:_LINE]]
        row[: len(codes)] = codes
    return table


def _lines_in(table: np.ndarray) -> list[str]:
    """What `_codes` has made numbers of."""
    return ["".join(map(chr, row[row > 0].tolist())) for row in table]


def _front_matter(card: str) -> Mapping[str, str]:
    found = re.match(r"---\n(.*?)\n---\n", card, re.DOTALL)
    if not found:
        raise ValueError("the card does not begin with front matter between two lines of three dashes.")
    lines = [line.partition(":") for line in found[1].splitlines()]
    for key, colon, value in lines:
        if colon and value and not value[0].isspace():
            raise ValueError(
                f"in `{key}:{value}` there is no space after the colon; without it, YAML sees no key."
            )
    front = {key.strip(): value.strip().strip("\"'") for key, _, value in lines}
    for key in FRONT:
        if not front.get(key):
            raise ValueError(f"the front matter has no `{key}`.")
    return front


def _section(card: str, title: str) -> str:
    found = re.search(rf"^## {title}[ \t]*\n(.*?)(?=^## |\Z)", card, re.DOTALL | re.MULTILINE)
    if not found:
        raise ValueError(f"there is no section `## {title}`.")
    return found[1]


def _table_of_results(section: str) -> dict[str, str]:
    """Measure -> value. As in GitHub's Markdown, it takes a line of dashes directly under a heading to make a table."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in section.splitlines()]
    tables = [
        place
        for place, (heading, dashes) in enumerate(pairwise(rows), start=2)
        if len(heading) == len(dashes) == 2 and all(re.fullmatch(":?-+:?", cell) for cell in dashes)
    ]
    if not tables:
        raise ValueError("the table of results has no line of dashes under its heading, so it is no table.")
    return {
        _INTERVAL.sub("95 % interval", row[0]): row[1]
        for place in tables
        for row in takewhile(lambda row: len(row) == 2, rows[place:])
    }


def _call_card(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    card = call_function(learner, inputs)
    if card is None:
        raise TypeError(f"the result is None; expected a str. {_NO_RETURN}")
    if not isinstance(card, str):
        raise TypeError(f"it returned a {type(card).__name__}; expected a str.")
    front = _front_matter(card)
    title = re.search(r"^# (.+)$", card, re.MULTILINE)
    if not title:
        raise ValueError("there is no heading `# ...` with the name.")
    results = _table_of_results(_section(card, "Results"))
    numbers = []
    for measure in MEASURES:
        if measure not in results:
            raise ValueError(f"the table of results has no row `{measure}`.")
        found = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", results[measure])]
        if len(found) != 1 + (measure == "95 % interval"):
            raise ValueError(f"the row `{measure}` does not have the numbers that it should.")
        if not re.fullmatch(_FORMS.get(measure, r"\d+\.\d{3}"), results[measure]):
            raise ValueError(
                f"the row `{measure}` is not in the form that is shown: it has {results[measure]!r}."
            )
        numbers += found
    limits = re.findall(r"^[-*] (.+)$", _section(card, "Limits"), re.MULTILINE)
    return {
        "front": _codes([front[key] for key in FRONT]),
        "title": _codes([title[1].strip()]),
        "numbers": np.array(numbers),
        "limits": _codes([limit.strip() for limit in limits]),
    }


model_card = Exercise(
    name="model_card",
    returns=("front", "title", "numbers", "limits"),
    shown=dict.fromkeys(("front", "title", "limits"), _lines_in),
    call=_call_card,
    cases=(
        Case("a card with two limits or more", _facts(2)),
        Case(
            "three limits or more; then numbers with two decimals, which get a zero",
            together(_facts(3), _facts(2, decimals=2)),
        ),
    ),
    rtol=1e-4,  # the third decimal counts
    bypasses=("huggingface_hub.ModelCard", "huggingface_hub.ModelCardData", "huggingface_hub.metadata_save"),
)

# ---------------------------------------------------------------------------------- predictions


def _unlabelled(rng: np.random.Generator) -> Inputs:
    return {"texts": load_unlabelled()}


def _call_predictions(learner: Callable, inputs: Inputs) -> np.ndarray:
    found = call_function(learner, inputs)
    if found is None:
        raise TypeError(f"the result is None; expected a list of labels. {_NO_RETURN}")
    if not isinstance(found, list | tuple | np.ndarray):
        raise TypeError(f"it returned a {type(found).__name__}; expected a list of labels.")
    found = [label.item() if isinstance(label, np.generic) else label for label in found]
    if len(found) != len(inputs["texts"]):
        raise ValueError(f"there are {len(found)} labels for {len(inputs['texts'])} texts.")
    for label in found:
        if label not in LIBRARIES:
            raise ValueError(f"{label!r} is not one of the labels: {', '.join(LIBRARIES)}.")
    return np.array([LIBRARIES.index(label) for label in found])


def _share_right(outputs: Outputs, hidden: Mapping[str, np.ndarray]) -> float:
    return float(np.mean(np.array(LIBRARIES)[outputs["labels"]] == hidden["label"]))


def better_than_chance(inputs: Inputs, outputs: Outputs, hidden: Mapping[str, np.ndarray]) -> bool:
    """At least 30 % are right: better than always the same label (19 %)."""
    return _share_right(outputs, hidden) >= 0.30


def like_a_bag_of_words(inputs: Inputs, outputs: Outputs, hidden: Mapping[str, np.ndarray]) -> bool:
    """At least 45 % are right: more than a bag of words with a hundred labels reaches in the lab."""
    return _share_right(outputs, hidden) >= 0.45


def like_a_frozen_encoder(inputs: Inputs, outputs: Outputs, hidden: Mapping[str, np.ndarray]) -> bool:
    """At least 60 % are right: a frozen encoder with a hundred labels reaches a little more."""
    return _share_right(outputs, hidden) >= 0.60


def more_labels_or_a_better_model(inputs: Inputs, outputs: Outputs, hidden: Mapping[str, np.ndarray]) -> bool:
    """At least 70 % are right: this takes more labels, or a better model, than the notebook's own predictions."""
    return _share_right(outputs, hidden) >= 0.70


predictions = Exercise(
    name="predictions",
    returns=("labels",),
    call=_call_predictions,
    cases=(Case("one of the six labels for each of the 300 texts, in their order", _unlabelled),),
    goals=(better_than_chance, like_a_bag_of_words, like_a_frozen_encoder, more_labels_or_a_better_model),
)


def better_than_anybody(inputs: Inputs, outputs: Outputs, hidden: Mapping[str, np.ndarray]) -> bool:
    """More than 90 % are right, which no model that we know of reaches."""
    return _share_right(outputs, hidden) > 0.90


REMARKABLE = {"predictions": better_than_anybody}
"""What nobody is expected to reach: it moves no points, and the page about the class says who did."""
