"""Lab 11: the reader of lab 10 once more, in TensorFlow: whole batches at once, in graphs, with the same numbers.

The data side that needs no framework is the course's here (:mod:`course_utils.models.reader`); what is asked for is
what tensors change. Texts, scripts and weights are made as in lab 10.
"""

from __future__ import annotations

import contextlib
import copy
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.cases.keras_layers import plain_errors, sent_back, tensors
from course_utils.cases.properties import f32, normal, together, weights_have_moved
from course_utils.cases.reading import (
    BATCH,
    IN_CONTEXT,
    LENGTH,
    SPANS,
    WIDTH,
    WINDOW,
    PieceTokenizer,
    ScriptedReader,
    allowed_places,
    answer_cases,
    asked,
    best_score_of_0,
    equally_good,
    every_other_place_is_blocked,
    first_of_equals,
    new_words,
    no_answer_is_nowhere,
    readable_answer,
    readable_logits,
    reader_batch,
    reader_weights,
    smallest_window,
)
from course_utils.checking.exercise import Case, Exercise, Inputs, Outputs, call_function

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

SECONDS = 30.0  # TensorFlow may have to be imported


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Errors in few words, and no advice against many graphs: a check makes one for each case, and means to."""
    logger = logging.getLogger("tensorflow")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with plain_errors():
            yield
    finally:
        logger.setLevel(level)


# ---------------------------------------------------------------------------------- answer_token_spans

_PLACES = {  # title: for each window of a batch, the answer's words (from, to), the window's tokens, and what is cut
    "three windows with answers of 1 to 3 words": [(3, 6, 0, 19), (4, 5, 0, 17), (6, 8, 2, 19)],
    "at the first and at the last character of a window": [(0, 2, 0, 19), (7, 9, 4, 18)],
    "one of four windows has no answer": [(2, 4, 0, 14), (0, 0, 0, 15), (5, 7, 6, 19), (3, 4, 2, 11)],
    "windows that cut the answer off, or do not reach it": [
        (4, 7, 0, 11),
        (2, 5, 7, 17),
        (6, 8, 0, 9),
        (0, 2, 8, 19),
        (3, 5, 4, 15),
    ],
}


_AT_THE_EDGES = [(0, 1, 0, 17), (8, 9, 2, 16), (0, 2, 0, 13), (3, 5, 1, 15)]
"""The same for a text whose first word is a single letter, and whose last one a single token."""


def _token_spans(
    rows: list[tuple[int, int, int, int]],
    inner: bool = False,
    short_at_the_edges: bool = False,
    dtype: str = "int32",
    to_the_end: bool = False,
) -> Callable[[np.random.Generator], Inputs]:
    """A batch of windows over one text of 9 words; ``inner``: answers lack their last letter, and their first one or, in
    every second window, their whole first token. ``to_the_end``: nothing stands behind the context.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        words = new_words(rng, 9)
        if short_at_the_edges:
            words[0], words[-1] = words[0][:1], words[-1][:3]
        context = " ".join(words) + "."
        _, pairs = PieceTokenizer()(context)
        places = [found.span() for found in re.finditer(r"\w+", context)]
        front = int(rng.integers(4, 60))
        length = max(end - begin for _, _, begin, end in rows) if to_the_end else 19 + 2
        offsets = np.full((len(rows), front + length, 2), -1, dtype=np.int32)
        starts, ends = np.zeros((2, len(rows)), dtype=np.int32)
        for row, (first, last, begin, end) in enumerate(rows):
            offsets[row, front : front + end - begin] = pairs[begin:end]
            if last:
                starts[row] = places[first][0] + inner * (3 if row % 2 else 1)
                ends[row] = places[last - 1][1] - inner
        made = {"offsets": offsets, "starts": starts, "ends": ends}
        return {name: array.astype(dtype) for name, array in made.items()}

    return inputs


def _letters(rng: np.random.Generator) -> Inputs:
    """A text of 12 letters, each of which is a token: a window that holds just the answer, one without its first letter, one without its last, one without both."""
    front, windows = int(rng.integers(4, 60)), [(4, 7), (5, 9), (2, 6), (5, 6)]
    offsets = np.full((len(windows), front + 6, 2), -1, dtype=np.int32)
    for row, (begin, end) in enumerate(windows):
        letters = np.arange(begin, end)
        offsets[row, front : front + end - begin] = np.stack([letters, letters + 1], axis=1)
    return {"offsets": offsets, "starts": np.full(4, 4, np.int32), "ends": np.full(4, 7, np.int32)}


def _pair_of_rows(found: Any, names: tuple[str, str], batch: int) -> dict[str, np.ndarray]:
    if not isinstance(found, (tuple, list)) or len(found) != 2 or any(part is None for part in found):
        raise TypeError(f"it returned {type(found).__name__}; expected ({', '.join(names)}).")
    arrays = {name: np.asarray(part) for name, part in zip(names, found, strict=True)}
    for name, array in arrays.items():
        if array.shape != (batch,):
            raise TypeError(
                f"`{name}` has shape {array.shape}; expected a number for each window: ({batch},)."
            )
        if array.dtype.kind not in "iu":
            raise TypeError(f"`{name}` holds numbers of type {array.dtype}; expected whole numbers.")
    return {name: array.astype(np.int64) for name, array in arrays.items()}


def _call_token_spans(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    with quietly():
        found = call_function(learner, tensors(inputs))
    return _pair_of_rows(found, ("first", "last"), len(inputs["starts"]))


def tokens_cover_the_answers(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The tokens from first to last cover the answer, and each of them is needed."""
    fits = []
    for row, (first, last) in enumerate(zip(outputs["first"], outputs["last"], strict=True)):
        if (first, last) == (0, 0):
            continue
        offsets, start, end = inputs["offsets"][row], inputs["starts"][row], inputs["ends"][row]
        inside = 0 <= first <= last < len(offsets)
        fits.append(
            inside
            and 0 <= offsets[first][0] <= start < offsets[first][1]
            and offsets[last][0] < end <= offsets[last][1]
        )
    return np.array(fits) if fits else np.array(False)


answer_token_spans = Exercise(
    name="answer_token_spans",
    returns=("first", "last"),
    call=_call_token_spans,
    seconds=SECONDS,
    cases=(
        *(Case(title, _token_spans(rows)) for title, rows in _PLACES.items()),
        Case(
            "answers of one token, the first or the last of a window",
            _token_spans(_AT_THE_EDGES, short_at_the_edges=True),
        ),
        Case(
            "a single window; then one with a single token of the context",
            together(_token_spans([(2, 4, 0, 17)]), _token_spans([(0, 1, 0, 1)], short_at_the_edges=True)),
        ),
        Case(
            "letters as tokens: just the answer; without its first letter, its last, both",
            _letters,
        ),
        Case(
            "windows that end with a context token; one behind its answer, one before it",
            _token_spans([(0, 2, 7, 19), (3, 6, 0, 12), (7, 9, 0, 12)], to_the_end=True),
        ),
        Case(
            "a full stop stands right behind the answer, and is not part of it",
            together(*(_token_spans([(7, 9, 2, 19), (8, 9, 6, 19)]) for _ in range(2))),
        ),
        Case(
            "answers that begin and end within a word; int64 numbers",
            _token_spans(_PLACES["three windows with answers of 1 to 3 words"], inner=True, dtype="int64"),
        ),
    ),
    properties=(tokens_cover_the_answers,),
)

# ---------------------------------------------------------------------------------- padded_batches

ROWS = ("input_ids", "attention_mask", "token_type_ids", "allowed")
NUMBERS = ("start_positions", "end_positions")
_FILL = -9  # stands for "not there" where a check lays batches of different widths on each other


def _feature(rng: np.random.Generator, question: int, context: int) -> dict[str, Any]:
    ids = rng.integers(1000, 2000, question + context + 3).tolist()
    ids[0], ids[question + 1], ids[-1] = 101, 102, 102
    ids[question + 2 + context // 2] = 0  # a token like any other
    start = question + 2 + int(rng.integers(0, context - 1))
    return {
        "input_ids": ids,
        "token_type_ids": [0] * (question + 2) + [1] * (context + 1),
        "in_context": [False] * (question + 2) + [True] * context + [False],
        "start_position": start,
        "end_position": start + 1,
    }


def _unpadded(lengths: tuple[int, ...], batch_size: int) -> Callable[[np.random.Generator], Inputs]:
    def inputs(rng: np.random.Generator) -> Inputs:
        features = [_feature(rng, 2 + number % 3, length) for number, length in enumerate(lengths)]
        return {"features": features, "batch_size": batch_size}

    return inputs


def _unusual_windows(rng: np.random.Generator) -> Inputs:
    """A window without an answer, one that begins with another id and is of one type, one without context, and one that comes twice."""
    first, second, third = (_feature(rng, 3, length) for length in (7, 5, 8))
    first |= {"start_position": 0, "end_position": 0}
    second["input_ids"][0], second["token_type_ids"] = 2, [0] * len(second["input_ids"])
    third |= {"in_context": [False] * len(third["in_context"]), "start_position": 0, "end_position": 0}
    return {"features": [first, second, third, second | {}], "batch_size": 3}


def _call_batches(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    import tensorflow as tf

    with quietly():
        found = call_function(learner, inputs)
        if not isinstance(found, tf.data.Dataset):
            raise TypeError(f"it returned {type(found).__name__}; expected a tf.data.Dataset.")
        batches = [{name: np.asarray(tensor) for name, tensor in batch.items()} for batch in found.take(50)]
        again = sum(1 for _ in found.take(50))
    for number, batch in enumerate(batches):
        if missing := [name for name in (*ROWS, *NUMBERS) if name not in batch]:
            raise TypeError(
                f"batch {number} has no {missing[0]!r}; expected: {', '.join((*ROWS, *NUMBERS))}."
            )
        for name in ROWS:
            if batch[name].ndim != 2:
                raise TypeError(
                    f"{name!r} of batch {number} has shape {batch[name].shape}; expected two axes."
                )
        for name in NUMBERS:
            if batch[name].ndim != 1:
                raise TypeError(
                    f"{name!r} of batch {number} has shape {batch[name].shape}; expected one number for each window."
                )
        for name in (*ROWS, *NUMBERS):
            wanted = "bool" if name == "allowed" else "int32"  # a compiled step takes nothing else
            if batch[name].dtype != wanted:
                raise TypeError(f"{name!r} of batch {number} is {batch[name].dtype}; expected {wanted}.")
    if not batches:
        raise TypeError("the dataset is empty.")
    if again != len(batches):
        raise TypeError(
            f"gone through a second time, the dataset gives {again} of its {len(batches)} batches."
        )
    shapes = np.array([batch["input_ids"].shape for batch in batches])
    height, width = 12, 40
    laid = {}
    for name in ROWS:
        laid[name] = np.full((len(batches), height, width), _FILL, dtype=np.int64)
        for row, batch in zip(laid[name], batches, strict=True):
            part = batch[name][:height, :width].astype(np.int64)
            row[: part.shape[0], : part.shape[1]] = part
    numbers = {name: np.concatenate([batch[name].reshape(-1) for batch in batches]) for name in NUMBERS}
    return {"shapes": shapes, **laid, **numbers}


def no_more_padding_than_needed(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Each batch is as wide as its longest window."""
    lengths = [len(feature["input_ids"]) for feature in inputs["features"]]
    size = inputs["batch_size"]
    wanted = [max(lengths[begin : begin + size]) for begin in range(0, len(lengths), size)]
    return outputs["shapes"][:, 1] == np.array(wanted)


padded_batches = Exercise(
    name="padded_batches",
    returns=("shapes", *ROWS, *NUMBERS),
    call=_call_batches,
    seconds=SECONDS,
    cases=(
        Case(
            "a batch of 3 windows; a single window; one of more than 600 tokens",
            together(_unpadded((5, 9, 7), 3), _unpadded((8,), 2), _unpadded((600,), 1)),
        ),
        Case("two batches; the second is shorter and narrower", _unpadded((11, 14, 8, 6, 4), 3)),
        Case(
            "three batches of 2; windows without an answer, without context, and twice the same",
            together(_unpadded((6, 12, 9, 5, 13, 10), 2), _unusual_windows),
        ),
    ),
    properties=(no_more_padding_than_needed,),
    bypasses=("course_utils.models.reader.stacked", "course_utils.models.reader.batches_by_length"),
)

# ---------------------------------------------------------------------------------- SpanHead


def _head(batch: int, length: int, width: int, scale: float = 1.0, open_to_all: bool = False):
    def inputs(rng: np.random.Generator) -> Inputs:
        allowed = allowed_places(batch, length)
        return {
            "kernel": f32(normal(rng, width, 2, scale=scale)),
            "bias": f32(rng.uniform(0.4, 1.0, 2) * [1, -1]),
            "hidden": f32(normal(rng, batch, length, width)),
            "allowed": np.ones_like(allowed) if open_to_all else allowed,
        }

    return inputs


def _without_cls(rng: np.random.Generator) -> Inputs:
    inputs = _head(3, 8, 6)(rng)
    inputs["allowed"][1, 0] = False
    inputs["allowed"][2] = False
    return inputs


def _set_head(layer: Any, kernel: np.ndarray, bias: np.ndarray) -> None:
    import keras

    if not isinstance(layer, keras.layers.Layer):
        raise TypeError(f"it is a {type(layer).__name__}; expected a keras.layers.Layer.")
    shapes = [tuple(weight.shape) for weight in layer.weights]
    if shapes != [kernel.shape, bias.shape]:
        raise TypeError(
            f"its weights have the shapes {shapes}; expected a kernel {kernel.shape} and a bias {bias.shape}."
        )
    layer.set_weights([kernel, bias])


def _run_head(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """In training. What stands at blocked places may be anything, so nothing is sent back from there."""
    import tensorflow as tf

    states, allowed = given["hidden"], given["allowed"]
    with quietly():
        head = learner()
        head(states, allowed)  # makes the weights
        _set_head(head, given["kernel"].numpy(), given["bias"].numpy())
        found = head(states, allowed, training=True)
    parts = [tf.where(allowed, part, 0.0) for part in found]
    return parts, dict(zip(("kernel", "bias"), head.weights, strict=True))


def _call_head(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    """Runs the head in a graph, as the lab's training does; its weights are made before."""
    import tensorflow as tf

    given = tensors(inputs)
    width = given["hidden"].shape[-1]
    signature = [tf.TensorSpec([None, None, width]), tf.TensorSpec([None, None], tf.bool)]
    with quietly():
        head = learner()
        head(given["hidden"], given["allowed"])  # makes the weights
        _set_head(head, inputs["kernel"], inputs["bias"])
        graph = tf.function(lambda hidden, allowed: head(hidden, allowed), input_signature=signature)
        found = graph(given["hidden"], given["allowed"])
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise TypeError(f"it returned {type(found).__name__}; expected (start_logits, end_logits).")
    return readable_logits([np.asarray(part) for part in found], inputs["allowed"])


span_head = Exercise(
    name="SpanHead",
    returns=("start_logits", "end_logits", "logits where nothing is allowed"),
    call=_call_head,
    seconds=SECONDS,
    cases=(
        Case("a batch of 3 windows of 9 tokens", _head(BATCH, LENGTH, WIDTH)),
        Case("a batch of 4 windows of 7 tokens, every place allowed", _head(4, 7, 6, open_to_all=True)),
        Case("logits in the hundreds", _head(3, 8, 5, scale=100)),
        Case(
            "one window; windows of one token; [CLS] not allowed everywhere; nothing allowed",
            together(_head(1, 6, 4), _head(3, 1, 7), _without_cls),
        ),
        Case(
            "in training, gradients reach the hidden states and both weights",
            _head(4, 8, 6),
            reaches=("hidden", "weights"),
        ),
    ),
    backward=sent_back(_run_head, outputs=None),
    properties=(every_other_place_is_blocked,),
)

# ---------------------------------------------------------------------------------- weights_from_torch


def _torch_head(width: int, bias_first: bool = False) -> Callable[[np.random.Generator], Inputs]:
    def inputs(rng: np.random.Generator) -> Inputs:
        state = {
            "linear.weight": f32(normal(rng, 2, width)),
            "linear.bias": f32(rng.uniform(0.5, 1.5, 2) * [1, -1]),
        }
        return {
            "state": dict(reversed(state.items())) if bias_first else state,
            "hidden": f32(normal(rng, 3, 4, width)),
        }

    return inputs


def _call_from_torch(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    with quietly():
        found = learner(inputs["state"])
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise TypeError(f"it returned {type(found).__name__}; expected a list of two arrays, [kernel, bias].")
    if lists := [
        name for name, part in zip(("kernel", "bias"), found, strict=True) if isinstance(part, list)
    ]:
        raise TypeError(f"the {lists[0]} is a list; `set_weights` takes arrays.")
    kernel, bias = (np.asarray(part) for part in found)
    width = inputs["hidden"].shape[-1]
    for name, array, shape in (("kernel", kernel, (width, 2)), ("bias", bias, (2,))):
        if array.shape != shape:
            raise TypeError(f"the {name} has shape {array.shape}; Keras wants {shape}.")
    return {"kernel": kernel, "bias": bias}


def logits_are_pytorch_s(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """With these weights, the Keras layer gives the same logits as the PyTorch layer."""
    state, hidden = inputs["state"], inputs["hidden"]
    theirs = hidden @ state["linear.weight"].T + state["linear.bias"]
    return np.isclose(hidden @ outputs["kernel"] + outputs["bias"], theirs, atol=1e-4)


weights_from_torch = Exercise(
    name="weights_from_torch",
    returns=("kernel", "bias"),
    call=_call_from_torch,
    seconds=SECONDS,
    cases=(
        Case("a width of 5, then one of 2", together(_torch_head(5), _torch_head(2))),
        Case("a width of 7; the bias comes first", _torch_head(7, bias_first=True)),
    ),
    properties=(logits_are_pytorch_s,),
)

# ---------------------------------------------------------------------------------- span_loss


def _loss(
    batch: int,
    length: int,
    blocked: bool = True,
    scale: float = 1.0,
    no_answer: int = 0,
    dtype: str = "int32",
    shift: float = 0.0,
):
    def inputs(rng: np.random.Generator) -> Inputs:
        allowed = allowed_places(batch, length) | (not blocked)
        logits = [
            f32(np.where(allowed, normal(rng, batch, length, scale=scale) + shift, -1e9)) for _ in range(2)
        ]
        start = rng.integers(5, length - 2, batch, dtype=dtype)
        end = np.minimum(start + 1, length - 3)
        start[:no_answer], end[:no_answer] = 0, 0
        return {
            "start_logits": logits[0],
            "end_logits": logits[1],
            "start_positions": start,
            "end_positions": end,
        }

    return inputs


def _call_loss(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    import tensorflow as tf

    with quietly():
        loss = call_function(learner, tensors(inputs))
    if not tf.is_tensor(loss) or loss.shape.num_elements() != 1:
        raise TypeError("it returned no tensor with one number: the loss is the mean over the batch.")
    return {"loss": np.array(float(tf.reshape(loss, ())))}


def _run_loss(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    with quietly():
        return call_function(learner, given), {}


span_loss = Exercise(
    name="span_loss",
    returns=("loss",),
    call=_call_loss,
    backward=sent_back(_run_loss),
    seconds=SECONDS,
    cases=(
        Case("a batch of 3 windows of 11 tokens, every place allowed", _loss(3, 11, blocked=False)),
        Case(
            "a batch of 4 windows, some places blocked; gradients reach both logits",
            _loss(4, 13),
            reaches=("start_logits", "end_logits"),
        ),
        Case(
            "two of five windows have no answer; all logits are about -500; int64 positions",
            _loss(5, 12, no_answer=2, dtype="int64", shift=-500),
        ),
        Case(
            "logits in the hundreds, then in the ten thousands; gradients reach both of them",
            together(
                _loss(3, 14, blocked=False, scale=300), _loss(3, 9, blocked=False, scale=2e4, shift=-3e4)
            ),
            reaches=("start_logits", "end_logits"),
        ),
    ),
)

# ---------------------------------------------------------------------------------- best_spans


_PLANTED = {
    **SPANS,
    "the best start stands right behind the best end": ({8: 6, 5: 3}, {7: 6, 10: 4.5}, 6, 0.0),
    "the best start is in the question, its end in the context": ({3: 9, 6: 5}, {7: 5}, 5, 0.0),
    "the first token of the context; [SEP] looks better": ({4: 9, 5: 6}, {4: 9, 5: 6}, 4, 0.0),
}


def _span_batch(*titles: str) -> Callable[[np.random.Generator], Inputs]:
    """Windows like those of lab 10's cases as a batch; they have one greatest length."""

    def inputs(rng: np.random.Generator) -> Inputs:
        logits = f32(rng.uniform(-0.3, 0.3, (2, len(titles), WINDOW)))
        inside = np.tile(IN_CONTEXT, (len(titles), 1))
        for row, title in enumerate(titles):
            *planted, _, shift = _PLANTED[title]
            for side in range(2):
                logits[side, row] += f32(shift * rng.uniform(1, 2))
                for place, value in planted[side].items():
                    logits[side, row, place] += value
        return {
            "start_logits": logits[0],
            "end_logits": logits[1],
            "in_context": inside,
            "max_answer_length": _PLANTED[titles[0]][2],
        }

    return inputs


def _different_contexts(rng: np.random.Generator) -> Inputs:
    """What looks best in all windows is in the context of the first one only. An answer may be longer than a window. In the last
    window the context is a single token, and no other one has lower logits."""
    starts, ends = f32(rng.uniform(-0.3, 0.3, (2, 4, WINDOW)))
    inside = np.zeros((4, WINDOW), dtype=bool)
    starts[:, 5] += 6
    ends[:, 10] += 6
    for row, (first, last) in enumerate([(5, 10), (6, 8), (1, 3)]):
        inside[row, first : last + 1] = True
        starts[row, first] += 3
        ends[row, last] += 3
    inside[-1, 7] = True
    starts[-1, 7] = ends[-1, 7] = -2
    return {
        "start_logits": starts,
        "end_logits": ends,
        "in_context": inside,
        "max_answer_length": 3 * WINDOW,
    }


def _far_from_the_best(rng: np.random.Generator) -> Inputs:
    """The 25 best starts all stand behind the 25 best ends. The best answer has 12 tokens."""
    starts, ends = f32(rng.uniform(-0.3, 0.3, (2, 1, 100)))
    starts[0, 60:85] += 9
    ends[0, 10:35] += 9
    starts[0, 40] += 6
    ends[0, 51] += 6
    inside = np.ones((1, 100), dtype=bool)
    return {"start_logits": starts, "end_logits": ends, "in_context": inside, "max_answer_length": 16}


def _billions_below_0(rng: np.random.Generator) -> Inputs:
    """In the second window the context is a single token, and no other one has lower logits."""
    made = _span_batch("the best start stands behind the best end", "a single token")(rng)
    made |= {name: f32(3e8) * made[name] - f32(8e9) for name in ("start_logits", "end_logits")}
    made["in_context"][1] = np.arange(WINDOW) == 7
    made["start_logits"][1, 7] = made["end_logits"][1, 7] = -2e10
    return made


def _batch(*makers: Callable[[np.random.Generator], Inputs]) -> Callable[[np.random.Generator], Inputs]:
    """Windows that are made one by one as a batch; they have one greatest length."""

    def inputs(rng: np.random.Generator) -> Inputs:
        rows = [make(rng) for make in makers]
        batch = {
            name: np.stack([row[name] for row in rows])
            for name in ("start_logits", "end_logits", "in_context")
        }
        return {**batch, "max_answer_length": rows[0]["max_answer_length"]}

    return inputs


def _equally_good_and_higher(rng: np.random.Generator) -> Inputs:
    """A window whose best score is above that of any window of :func:`equally_good`."""
    made = equally_good(rng)
    return {**made, "start_logits": made["start_logits"] + f32(16)}


def _of_one_token(rng: np.random.Generator) -> Inputs:
    """Answers of one token; in both windows the best pair has two."""
    made = _span_batch("a single token", "the first token of the context; [SEP] looks better")(rng)
    made["start_logits"][:, 9] += 9
    made["end_logits"][:, 10] += 9
    return {**made, "max_answer_length": 1}


def _call_spans(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    with quietly():
        found = call_function(learner, tensors(inputs))
    if not isinstance(found, (tuple, list)) or len(found) != 3 or any(part is None for part in found):
        raise TypeError(f"it returned {type(found).__name__}; expected (first, last, score).")
    batch = len(inputs["in_context"])
    places = _pair_of_rows(found[:2], ("first", "last"), batch)
    score = np.asarray(found[2])
    if score.shape != (batch,):
        raise TypeError(f"`score` has shape {score.shape}; expected a number for each window: ({batch},).")
    longest = inputs["max_answer_length"]
    for row in range(batch):
        window = [inputs[name][row] for name in ("start_logits", "end_logits", "in_context")]
        found_here = places["first"][row], places["last"][row]
        places["first"][row], places["last"][row] = first_of_equals(*window, longest, *found_here)
    return {**places, "score": score}


def spans_are_possible(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Each span lies in its context, does not end before it begins, and is not too long."""
    fits = []
    for inside, first, last in zip(inputs["in_context"], outputs["first"], outputs["last"], strict=True):
        within = all(0 <= place < len(inside) and inside[place] for place in (first, last))
        fits.append(bool(within and first <= last < first + inputs["max_answer_length"]))
    return np.array(fits)


best_spans = Exercise(
    name="best_spans",
    returns=("first", "last", "score"),
    call=_call_spans,
    seconds=SECONDS,
    cases=(
        Case(
            "four windows; in three of them best start and best end do not fit",
            _span_batch(
                "the best start and the best end fit together",
                "the best start stands behind the best end",
                "the best start stands right behind the best end",
                "the best start has no good end",
            ),
        ),
        Case(
            "no answer longer than three tokens",
            _span_batch(
                "the best pair is longer than allowed", "four tokens are one too many, three are not"
            ),
        ),
        Case(
            "question and [CLS] look better than the context",
            _span_batch(
                "the question looks better than the context",
                "[CLS] looks better than the context",
                "the best start is in the question, its end in the context",
            ),
        ),
        Case(
            "single tokens: any, the last one and the first one of the context",
            _span_batch(
                "a single token",
                "the last token of the context; [SEP] looks better",
                "the first token of the context; [SEP] looks better",
            ),
        ),
        Case(
            "another context in each window; then the 25 best starts behind the 25 best ends",
            together(_different_contexts, _far_from_the_best),
        ),
        Case(
            "logits below -30,000; billions below 0, the only span lowest; a best score of 0",
            together(
                _batch(best_score_of_0, best_score_of_0),
                _span_batch("all logits are below -30,000", "all logits are below -30,000"),
                _billions_below_0,
            ),
        ),
        Case("two pairs are equally good", _batch(equally_good, _equally_good_and_higher)),
        Case(
            "answers of one token only; then a single window that is one token",
            together(_of_one_token, _batch(smallest_window)),
        ),
    ),
    properties=(spans_are_possible,),
)

# ---------------------------------------------------------------------------------- train_step


def _tiny_reader(weights: Mapping[str, np.ndarray]) -> keras.Model:
    """A reader that is called like the lab's. In training it doubles its logits, a dropout that leaves nothing to chance.

    As in the lab's, a part of it is frozen. Its gradients are whole tables: of one that names the same row twice, TensorFlow does
    not add up what belongs together before it takes the norm.
    """
    import keras
    import tensorflow as tf

    class TinyReader(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            for name, array in weights.items():
                initial = keras.initializers.Constant(array)
                setattr(self, name, self.add_weight(shape=array.shape, initializer=initial, name=name))
            self.frozen = self.add_weight(
                shape=(), initializer=keras.initializers.Constant(0.5), trainable=False, name="frozen"
            )
            self.built = True

        def call(self, inputs: Mapping[str, tf.Tensor], training: bool = False) -> tuple[tf.Tensor, ...]:
            x = self.frozen + sum(
                tf.one_hot(inputs[ids], table.shape[0]) @ table
                for ids, table in (("input_ids", self.embedding), ("token_type_ids", self.kind))
            )
            seen = tf.cast(inputs["attention_mask"], "float32")[..., None]
            mean = tf.reduce_sum(seen * x, axis=1, keepdims=True) / tf.reduce_sum(seen, axis=1, keepdims=True)
            logits = tf.tanh(x + mean) @ (self.frozen * self.output_weight) * (2.0 if training else 1.0)
            logits = tf.where(inputs["allowed"][..., None], logits, -1e9)
            return tuple(tf.unstack(logits, axis=-1))

    return TinyReader()


def _steps(count: int, scale: float, max_norm: float | None = 50.0):
    """``count`` steps; ``max_norm``: None leaves it to the function's default."""

    def inputs(rng: np.random.Generator) -> Inputs:
        weights = reader_weights(rng, scale)
        weights["output_weight"] = weights.pop("output")
        batches = [reader_batch(rng, 3 + number, 9 + 2 * number) for number in range(count)]
        return {"weights": weights, "batches": batches, "max_norm": max_norm}

    return inputs


def _nothing_to_learn(rng: np.random.Generator) -> Inputs:
    """Two steps. In the first one, only [CLS] is allowed, and is right: the loss is 0, and so are all gradients."""
    made = _steps(2, scale=3.0)(rng)
    first, second = made["batches"]
    nowhere = np.zeros_like(first["start_positions"])
    only_cls = np.zeros_like(first["allowed"])
    only_cls[:, 0] = True
    first = {**first, "allowed": only_cls, "start_positions": nowhere, "end_positions": nowhere.copy()}
    return {**made, "batches": [first, second]}


def _call_train_step(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    """Runs the step as a graph, as the lab does; a batch of another shape finds the graph made for the first."""
    import keras
    import tensorflow as tf

    model, optimizer, limit = (
        _tiny_reader(inputs["weights"]),
        keras.optimizers.SGD(0.5, weight_decay=0.1),
        inputs["max_norm"],
    )
    optimizer.build(model.trainable_variables)
    batches = [
        {
            name: tf.constant(array, "bool" if array.dtype == bool else "int32")
            for name, array in batch.items()
        }
        for batch in inputs["batches"]
    ]
    signature = {
        name: tf.TensorSpec([None] * tensor.shape.rank, tensor.dtype) for name, tensor in batches[0].items()
    }

    @tf.function(input_signature=[signature])
    def step(batch: Mapping[str, tf.Tensor]) -> Any:
        return learner(model, optimizer, batch, *([] if limit is None else [limit]))

    try:
        with quietly():
            losses = [step(batch) for batch in batches]
    except NotImplementedError as error:
        if str(error):
            raise
        # a stub's own: TensorFlow has made another one of it, with an empty text
        raise NotImplementedError().with_traceback(error.__traceback__) from None
    if any(loss is None for loss in losses):
        raise TypeError("it returned None instead of the loss.")
    if others := [loss for loss in losses if not tf.is_tensor(loss)]:
        raise TypeError(f"it returned a {type(others[0]).__name__}; expected the loss, a tensor.")
    return {
        "losses": np.array([float(np.asarray(loss).reshape(-1)[0]) for loss in losses]),
        **{f"weight {name}": getattr(model, name).numpy() for name in (*inputs["weights"], "frozen")},
    }


train_step = Exercise(
    name="train_step",
    returns=("losses", "weight embedding", "weight kind", "weight output_weight", "weight frozen"),
    call=_call_train_step,
    uses=("span_loss",),
    seconds=SECONDS,
    cases=(
        Case(
            "one step; then two, the first with gradients of 0, as only [CLS] is allowed",
            together(_steps(1, scale=3.0), _nothing_to_learn),
        ),
        Case("two steps in the same graph, with batches of other shapes", _steps(2, scale=3.0)),
        Case("gradients that are too long: shortened to 0.1", _steps(2, scale=3.0, max_norm=0.1)),
        Case("called without max_norm", _steps(2, scale=8.0, max_norm=None)),
    ),
    properties=(weights_have_moved,),
)

# ---------------------------------------------------------------------------------- answer


class ScriptedKerasReader(ScriptedReader):
    """Called like the lab's reader, ``model(inputs, training=False)``; see lab 10's for what is scripted. At [CLS] the two logits differ, and depend on
    all tokens of the window."""

    def __call__(self, inputs: Mapping[str, Any], training: Any = None) -> tuple[Any, Any]:
        import tensorflow as tf

        self.careless |= bool(training)
        for name in ROWS:
            if name not in inputs:
                raise TypeError(f"the model was not given {name!r}.")
            if np.ndim(inputs[name]) != 2:
                raise TypeError(f"`{name}` must have the shape (windows, seq_len).")
            if name.endswith("_ids") and np.asarray(inputs[name]).dtype.kind not in "iu":
                raise TypeError(f"`{name}` must be whole numbers.")
        ids, seen, kinds = (np.asarray(inputs[name]).astype(np.int64) for name in ROWS[:3])
        self.rows += len(ids)
        found = self.logits(ids, np.asarray(inputs["allowed"]))
        if self.plain is None:
            known = ((1 + ids) * seen * (1 + 2 * kinds)).sum(axis=1)
            found[:, :, 0] += f32(np.stack([0.5 + 0.6 * np.sin(known), 0.8 * np.cos(3 * known) - 0.5]))
        if self.shares:
            found -= np.logaddexp.reduce(found, axis=-1, keepdims=True)
        return tf.constant(found[0]), tf.constant(found[1])


def _call_answer(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    with quietly():
        found = call_function(learner, inputs)
    return readable_answer(found, inputs["model"])


def asked_with_care(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The model is called, and not in training mode."""
    return outputs["called as in an evaluation"]


def _with_the_full_stop(rng: np.random.Generator) -> Inputs:
    """The reader finds the last two words and the full stop behind them."""
    made = asked(words=6, says=(4, 6), new_reader=ScriptedKerasReader)(rng)
    model, (ids, _) = made["model"], made["tokenize"](made["context"])
    model.ends = {(ids[-2], ids[-1]): model.ends.pop((ids[-3], ids[-2]))}
    return made


def _many_windows(rng: np.random.Generator) -> list[Inputs]:
    """The same texts in 6 windows, then in 10; the answer is in the last one."""
    made = asked(words=30, says=(28, 30), new_reader=ScriptedKerasReader)(rng)
    return [made, {**made, "model": copy.deepcopy(made["model"]), "max_length": 20, "overlap": 4}]


def _one_token_too_long(rng: np.random.Generator) -> Inputs:
    made = asked(words=7, says=(2, 6), decoy=1, new_reader=ScriptedKerasReader)(rng)
    return {**made, "max_answer_length": 7}


answer = Exercise(
    name="answer",
    returns=("start", "end", "margin", "called as in an evaluation"),
    call=_call_answer,
    uses=("best_spans",),
    seconds=SECONDS,
    cases=(
        *answer_cases(ScriptedKerasReader),
        Case(
            "an answer at the beginning; best pairs that are two tokens too long, and one",
            together(
                asked(words=6, says=(0, 2), new_reader=ScriptedKerasReader),
                asked(words=7, says=(2, 7), decoy=1, new_reader=ScriptedKerasReader),
                _one_token_too_long,
            ),
        ),
        Case(
            "a full stop of the answer; 6 windows; 10, the answer in the last",
            lambda rng: [_with_the_full_stop(rng), *_many_windows(rng)],
        ),
    ),
    properties=(asked_with_care, no_answer_is_nowhere),
    bypasses=("transformers.pipeline",),
)
