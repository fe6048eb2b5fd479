"""Lab 10: extractive question answering in PyTorch: from characters to tokens, to a trained reader, and back.

The checks know no pretrained model. Texts are made of invented words, whose tokens are known; models are small and
scripted, or have given weights. What comes back as lists or dicts becomes arrays here, so that it can be compared.
"""

from __future__ import annotations

import copy
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.cases.forms import plain
from course_utils.cases.properties import f32, normal, together, trained_in_training_mode, weights_have_moved
from course_utils.cases.reading import (
    BATCH,
    IN_CONTEXT,
    LENGTH,
    SEP,
    SPANS,
    WIDTH,
    WINDOW,
    CharacterTokenizer,
    PieceTokenizer,
    ScriptedReader,
    allowed_places,
    answer_cases,
    asked,
    best_score_of_0,
    equally_good,
    every_other_place_is_blocked,
    first_of_equals,
    index,
    new_words,
    no_answer_is_nowhere,
    place_of,
    readable_answer,
    readable_logits,
    reader_batch,
    reader_weights,
    smallest_window,
    spaced,
    written,
)
from course_utils.cases.torch_modules import (
    DescentWithDecay,
    a_function,
    call_and_leave_gradients_on,
    differ,
    one_thread,
    run_module,
    sent_back,
    set_parameters,
    tensors,
)
from course_utils.checking.exercise import Case, Exercise, Inputs, Outputs, Run, call_function

if TYPE_CHECKING:
    import torch
    from torch import nn


# ---------------------------------------------------------------------------------- answer_token_span


def _token_span(
    begins: int, ends: int, holds: slice = slice(None), cut: tuple[int, int] = (0, 0)
) -> Callable[[np.random.Generator], Inputs]:
    """An answer that covers words ``begins`` to ``ends - 1`` of a text of 9 words, shortened by ``cut`` characters.

    ``holds`` are the tokens of the text that the window has: two for each word, one for the mark at the end.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        words = new_words(rng, 9)
        context = " ".join(words) + "."
        _, offsets = PieceTokenizer()(context)
        start = place_of(context, words[begins])[0] + cut[0]
        end = place_of(context, words[ends - 1])[1] - cut[1]
        question = [None] * int(rng.integers(4, 60))
        return {
            "offsets": [None, *question, None, *offsets[holds], None, None, None],
            "start": start,
            "end": end,
        }

    return inputs


def _bare(made: Callable[[np.random.Generator], Inputs]) -> Callable[[np.random.Generator], Inputs]:
    """The same without what stands in front of the context and behind it."""

    def inputs(rng: np.random.Generator) -> Inputs:
        inputs = made(rng)
        return {**inputs, "offsets": [pair for pair in inputs["offsets"] if pair is not None]}

    return inputs


def _mark_at_the_end(rng: np.random.Generator) -> Inputs:
    """The last character of the text belongs to the answer."""
    inputs = dict(_token_span(7, 9)(rng))
    return {**inputs, "end": inputs["end"] + 1}


def _letters(begins: int, ends: int, window: slice) -> Callable[[np.random.Generator], Inputs]:
    """A text of 12 letters, each of which is a token; the answer goes from one to before another, and the window has those in ``window``."""

    def inputs(rng: np.random.Generator) -> Inputs:
        question = [None] * int(rng.integers(4, 60))
        offsets = [(place, place + 1) for place in range(12)]
        return {"offsets": [None, *question, None, *offsets[window], None], "start": begins, "end": ends}

    return inputs


def _call_token_span(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    found = call_function(learner, inputs)
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise TypeError(f"it returned {plain(found)!r}; expected two whole numbers, (first, last).")
    if any(place is None for place in found):
        raise TypeError(f"it returned {found!r}; expected whole numbers: (0, 0) stands for no answer.")
    return {
        "span": np.array([index(place, name) for place, name in zip(found, ("first", "last"), strict=True)])
    }


def tokens_cover_the_answer(inputs: Inputs, outputs: Outputs) -> np.ndarray | None:
    """The tokens from first to last cover the answer, and each of them is needed."""
    first, last = outputs["span"].tolist()
    if (first, last) == (0, 0):
        return None
    offsets = inputs["offsets"]
    if not 0 <= first <= last < len(offsets) or offsets[first] is None or offsets[last] is None:
        return np.array(False)
    starts = offsets[first][0] <= inputs["start"] < offsets[first][1]
    return np.array(starts and offsets[last][0] < inputs["end"] <= offsets[last][1])


answer_token_span = Exercise(
    name="answer_token_span",
    returns=("span",),
    call=_call_token_span,
    cases=(
        Case("an answer of three words", _token_span(3, 6)),
        Case(
            "an answer of one token: a word's first piece, its second, a single letter",
            together(*(_token_span(4, 5, cut=cut) for cut in ((0, 3), (3, 0), (0, 5)))),
        ),
        Case("the answer begins with the first character of the text", _token_span(0, 2)),
        Case("the answer ends with the last character of the text", _mark_at_the_end),
        Case("a later window that contains the answer", _token_span(5, 7, slice(6, 17))),
        Case(
            "a window with one token of the context; one with nothing around the context",
            together(_token_span(4, 5, slice(8, 9), cut=(0, 3)), _bare(_mark_at_the_end)),
        ),
        Case("it begins and ends within a token", _token_span(3, 5, cut=(1, 1))),
        Case(
            "letters as tokens: just the answer; without its first letter, its last, both",
            together(*(_letters(4, 7, slice(*window)) for window in ((4, 7), (5, 9), (2, 6), (5, 6)))),
        ),
        Case(
            "a window that cuts it off at the end, and one that holds it",
            together(_token_span(4, 7, slice(0, 11)), _token_span(4, 7, slice(0, 16))),
        ),
        Case(
            "a window with only the end of the answer, and one with all of it",
            together(_token_span(2, 5, slice(7, 17)), _token_span(2, 5, slice(2, 17))),
        ),
        Case(
            "a window before it, and one that holds it",
            together(_token_span(6, 8, slice(0, 9)), _token_span(6, 8, slice(6, 19))),
        ),
        Case(
            "a window after the answer, and two that contain it",
            together(
                _token_span(0, 2, slice(8, 19)),
                _token_span(0, 2, slice(0, 11)),
                _token_span(1, 3, slice(0, 13)),
            ),
        ),
    ),
    properties=(tokens_cover_the_answer,),
)

# ---------------------------------------------------------------------------------- split_into_windows


def _windows(count: int, overlap: int, missing: int = 0) -> Callable[[np.random.Generator], Inputs]:
    """A length that takes so many windows; the last one lacks ``missing`` tokens to be full."""

    def inputs(rng: np.random.Generator) -> Inputs:
        size = int(rng.integers(11, 4000))
        return {"length": size + (count - 1) * (size - overlap) - missing, "size": size, "overlap": overlap}

    return inputs


def _one_too_many(rng: np.random.Generator) -> Inputs:
    inputs = _windows(1, 4)(rng)
    return {**inputs, "length": inputs["length"] + 1}


def _one_token_left(rng: np.random.Generator) -> Inputs:
    size = int(rng.integers(5, 40))
    return {"length": 2 * size + 1, "size": size, "overlap": 0}


def _one_token_only(rng: np.random.Generator) -> Inputs:
    """Shorter than the overlap, which is as large as it may be."""
    size = int(rng.integers(50, 60))
    return {"length": 1, "size": size, "overlap": size - 1}


def _token_by_token(size: int) -> Callable[[np.random.Generator], Inputs]:
    """Each window begins one token after the one before."""
    return lambda rng: {"length": size + int(rng.integers(60, 90)), "size": size, "overlap": size - 1}


def _call_windows(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    found = call_function(learner, inputs)
    if found is None:
        raise TypeError("it returned None instead of a list of (begin, end).")
    if not isinstance(found, (list, tuple, np.ndarray)):
        raise TypeError(
            f"it returned {found!r}, a {type(found).__name__}; expected a list of pairs (begin, end)."
        )
    windows = plain(found)
    if any(not isinstance(window, list | tuple) or len(window) != 2 for window in windows):
        raise TypeError(f"it returned {windows!r}; expected a list of pairs (begin, end).")
    places = [
        index(place, f"{window!r}: {name}")
        for window in windows
        for name, place in zip(("begin", "end"), window, strict=True)
    ]
    return {"windows": np.array(places, dtype=np.int64).reshape(-1, 2)}


def every_token_is_in_a_window(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Every token is in a window."""
    seen = np.zeros(inputs["length"], dtype=bool)
    for begin, end in outputs["windows"]:
        seen[max(begin, 0) : max(end, 0)] = True
    return seen


def neighbours_share_the_overlap(inputs: Inputs, outputs: Outputs) -> np.ndarray | None:
    """Two windows that follow each other have exactly `overlap` tokens in common."""
    windows = outputs["windows"]
    return windows[:-1, 1] - windows[1:, 0] == inputs["overlap"] if len(windows) > 1 else None


def no_window_is_too_long(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """No window has more than `size` tokens, and no window ends after the end of the text."""
    windows = outputs["windows"]
    return (windows[:, 1] - windows[:, 0] <= inputs["size"]) & (windows[:, 1] <= inputs["length"])


split_into_windows = Exercise(
    name="split_into_windows",
    returns=("windows",),
    call=_call_windows,
    cases=(
        Case(
            "everything fits into one window; then it is even shorter than the overlap",
            together(_windows(1, 3, missing=4), _one_token_only),
        ),
        Case("it fits exactly", _windows(1, 4)),
        Case("one token too many for one window", _one_too_many),
        Case("three windows, the last one full", _windows(3, 5)),
        Case("four windows, the last one short", _windows(4, 3, missing=2)),
        Case(
            "no overlap; then a last window of a single token",
            together(_windows(3, 0, missing=5), _one_token_left),
        ),
        Case(
            "windows of a single token; windows of 7 that begin one token after the other",
            together(_token_by_token(1), _token_by_token(7)),
        ),
    ),
    properties=(every_token_is_in_a_window, neighbours_share_the_overlap, no_window_is_too_long),
)

# ---------------------------------------------------------------------------------- make_features

KEYS = ("input_ids", "token_type_ids", "attention_mask", "offsets", "start_position", "end_position")


def _features(
    words: int,
    answer: tuple[int, int] | None,
    twice: bool = False,
    space: str = "",
    ids: Mapping[str, int] | None = None,
    max_length: int = 24,
    cut: int = 0,
    overlap: int = 5,
    full_stop: bool = False,
) -> Callable[[np.random.Generator], Inputs]:
    """A question of 3 words about a text of so many; the answer goes from one word to before another.

    ``twice``: the answer's words stand at the beginning of the text, too, where they answer nothing. ``cut``: so many
    letters of the answer's first word are no part of it; the first 3 are a token. ``full_stop``: it is a part, and the answer the last.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        known = written(new_words(rng, words + 3))
        text, question = known[:words], known[words:]
        if twice:
            text[: answer[1] - answer[0]] = text[slice(*answer)]
        if (
            answer and cut and answer[1] - answer[0] == 1
        ):  # what is left of the word stands in the first one, too
            text[0] = text[0][:4] + text[answer[0]][4:]
        context = space + f" {space}".join([" ".join(text[:4]) + ".", " ".join(text[4:]) + "."])
        span = None
        if answer:
            said = context[
                place_of(context, text[answer[0]], int(twice))[0] : place_of(
                    context, text[answer[1] - 1], int(twice)
                )[1]
            ]
            start, end = place_of(context, said, int(twice))
            span = start + cut, end + full_stop
        return {
            "question": " ".join(question) + "?",
            "context": context,
            "answer": span,
            "tokenize": PieceTokenizer(),
            "max_length": max_length,
            "overlap": overlap,
            **(ids or {}),
        }

    return inputs


def _every_character(rng: np.random.Generator) -> Inputs:
    """Every character is a token, white space too."""
    question, context, word = spaced(rng)
    return {
        "question": question,
        "context": context,
        "answer": place_of(context, word),
        "tokenize": CharacterTokenizer(),
        "max_length": 31,
        "overlap": 7,
    }


def _pieces_then_characters(rng: np.random.Generator) -> list[Inputs]:
    """The same texts twice: pieces of words are tokens, then every character is one."""
    inputs = _every_character(rng)
    return [{**inputs, "tokenize": PieceTokenizer()}, inputs]


def _very_long(rng: np.random.Generator) -> Inputs:
    """A question of 70 tokens and a text of 600, in two windows."""
    letters = list("abcdefghij")
    return {
        "question": "".join(rng.choice(letters, 70)),
        "context": "".join(rng.choice(letters, 600)),
        "answer": None,
        "tokenize": CharacterTokenizer(),
        "max_length": 640,
        "overlap": 30,
    }


def _call_features(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    return as_arrays(call_function(learner, inputs), inputs["max_length"])


def as_arrays(found: Any, max_length: int) -> dict[str, np.ndarray]:
    """Features as arrays: a row a window; where a token has no offsets, -1.

    Raises:
        TypeError: it is no list of dicts, or a dict has not the keys and lengths that are asked for.
    """
    if not isinstance(found, (list, tuple)) or not found:
        raise TypeError(f"it returned {type(found).__name__}; expected a list with a dict for each window.")
    rows: dict[str, list] = {key: [] for key in KEYS}
    for number, feature in enumerate(found):
        if not isinstance(feature, Mapping):
            raise TypeError(f"window {number} is a {type(feature).__name__}; expected a dict.")
        for key in KEYS:
            if key not in feature:
                raise TypeError(f"window {number} has no {key!r}; expected: {', '.join(KEYS)}.")
            value = feature[key]
            if key.endswith("position"):
                rows[key].append(index(value, f"{key!r} of window {number}"))
                continue
            if len(value) != max_length:
                raise TypeError(f"{key!r} of window {number} has length {len(value)}; expected {max_length}.")
            entries = [(-1, -1) if pair is None else pair for pair in value] if key == "offsets" else value
            what = f"an entry of {key!r} of window {number}"
            rows[key].append(
                [
                    tuple(index(place, what) for place in entry) if key == "offsets" else index(entry, what)
                    for entry in entries
                ]
            )
    return {key: np.array(value, dtype=np.int64) for key, value in rows.items()}


def positions_give_the_answer_back(inputs: Inputs, outputs: Outputs) -> np.ndarray | None:
    """For every target, the text from its first to its last position is exactly the answer."""
    if inputs["answer"] is None:
        return None
    wanted, held = inputs["context"][slice(*inputs["answer"])], []
    for window, (first, last) in enumerate(
        zip(outputs["start_position"], outputs["end_position"], strict=True)
    ):
        if (first, last) != (0, 0):
            offsets = outputs["offsets"][window]
            fits = 0 <= first <= last < len(offsets) and min(offsets[first][0], offsets[last][0]) >= 0
            held.append(fits and inputs["context"][offsets[first][0] : offsets[last][1]] == wanted)
    return (
        np.array(held) if held else np.array(False)
    )  # an answer of no more than the overlap is whole somewhere


make_features = Exercise(
    name="make_features",
    returns=KEYS,
    call=_call_features,
    uses=("answer_token_span", "split_into_windows"),
    cases=(
        Case("a short context: one window, padded", _features(6, (1, 3), max_length=31)),
        Case(
            "a question without an answer; then far more tokens than an encoder reads",
            together(_features(6, None, max_length=29), _very_long),
        ),
        Case("a context of three windows", _features(15, (5, 6))),
        Case(
            "answers that a window's border cuts, that begin within a word, that exceed the overlap",
            together(_features(15, (3, 5)), _features(15, (5, 7), cut=3), _features(15, (1, 4), overlap=1)),
        ),
        Case(
            "the answer ends a context of three windows; then a full stop belongs to it",
            together(_features(15, (13, 15)), _features(6, (4, 6), max_length=31, full_stop=True)),
        ),
        Case(
            "the answer's words occur twice; the second place is meant",
            _features(12, (9, 11), True, overlap=8),
        ),
        Case(
            "white space in front and between; one text in word pieces, then in characters",
            lambda rng: [_features(9, (5, 7), space="\n ")(rng), *_pieces_then_characters(rng)],
        ),
        Case(
            "other special tokens: [CLS] 7, [SEP] 8, padding 9",
            _features(7, (2, 4), ids={"cls_id": 7, "sep_id": 8, "pad_id": 9}, max_length=33),
        ),
        Case(
            "padding with the same id as [SEP]; then [CLS]",
            together(
                _features(8, (3, 5), ids={"cls_id": 101, "sep_id": SEP, "pad_id": SEP}, max_length=34),
                _features(8, (3, 5), ids={"cls_id": 5, "sep_id": 5, "pad_id": 0}, max_length=34),
            ),
        ),
        Case("the answer at the beginning of the context: start 0", _features(7, (0, 2), max_length=30)),
        Case(
            "room for a single token of the context, and no overlap",
            _features(5, (2, 3), max_length=11, overlap=0, cut=3),
        ),
    ),
    properties=(positions_give_the_answer_back,),
    bypasses=("course_utils.models.reader.features_of",),
)

# ---------------------------------------------------------------------------------- SpanHead


def _head(batch: int, length: int, width: int, scale: float = 1.0, open_to_all: bool = False):
    def inputs(rng: np.random.Generator) -> Inputs:
        allowed = allowed_places(batch, length)
        return {
            "weights": {
                "linear.weight": f32(normal(rng, 2, width, scale=scale)),
                "linear.bias": f32(rng.uniform(0.4, 1.0, 2) * [1, -1]),
            },
            "hidden": f32(normal(rng, batch, length, width)),
            "allowed": np.ones_like(allowed) if open_to_all else allowed,
        }

    return inputs


def _without_cls(rng: np.random.Generator) -> Inputs:
    inputs = _head(3, 8, 6)(rng)
    inputs["allowed"][1, 0] = False
    inputs["allowed"][2] = False
    return inputs


def _call_head(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    import torch

    given = tensors(inputs)
    with torch.no_grad(), one_thread():
        head = _head_of(learner, inputs)
        asked = {"hidden": given["hidden"], "allowed": given["allowed"]}
        found = run_module(head.eval(), asked)
        if differ(found, run_module(head.train(), asked)):
            raise TypeError(
                "in training mode it gives other logits than in evaluation mode. It should be the same calculation in both."
            )
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise TypeError(f"it returned {type(found).__name__}; expected (start_logits, end_logits).")
    if not all(isinstance(part, torch.Tensor) for part in found):
        raise TypeError("the logits are not tensors.")
    return readable_logits([part.numpy() for part in found], inputs["allowed"])


def _head_of(learner: Callable, inputs: Inputs) -> nn.Module:
    head = learner(inputs["hidden"].shape[-1])
    set_parameters(head, inputs["weights"])
    return head


def _run_head(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """In training mode. What stands at blocked places may be anything, so nothing is sent back from there."""
    import torch

    head = _head_of(learner, given).train()
    start, end = run_module(head, {"hidden": given["hidden"], "allowed": given["allowed"]})
    return [torch.where(given["allowed"], part, 0.0) for part in (start, end)], dict(head.named_parameters())


span_head = Exercise(
    name="SpanHead",
    returns=("start_logits", "end_logits", "logits where nothing is allowed"),
    call=_call_head,
    cases=(
        Case("a batch of 3 windows of 9 tokens", _head(BATCH, LENGTH, WIDTH)),
        Case("a batch of 4 windows of 7 tokens, every place allowed", _head(4, 7, 6, open_to_all=True)),
        Case("logits in the hundreds", _head(3, 8, 5, scale=100)),
        Case(
            "one window; windows of one token; [CLS] not allowed everywhere; nothing allowed",
            together(_head(1, 6, 4), _head(3, 1, 7), _without_cls),
        ),
        Case(
            "in training mode, gradients reach the hidden states and every weight",
            _head(4, 8, 6),
            reaches=("hidden", "weights"),
        ),
    ),
    backward=sent_back(_run_head, outputs=None),
    properties=(every_other_place_is_blocked,),
    bypasses=("transformers.AutoModelForQuestionAnswering", "transformers.BertForQuestionAnswering"),
)

# ---------------------------------------------------------------------------------- span_loss


def _loss(
    batch: int,
    length: int,
    blocked: float | None = -1e9,
    scale: float = 1.0,
    no_answer: int = 0,
    shift: float = 0.0,
):
    """``batch`` windows; in the first ``no_answer`` of them the target is (0, 0). All logits are shifted by as much."""

    def inputs(rng: np.random.Generator) -> Inputs:
        allowed = allowed_places(batch, length)
        if blocked is None:
            allowed = np.ones_like(allowed)
        logits = [
            f32(np.where(allowed, normal(rng, batch, length, scale=scale) + shift, blocked or 0))
            for _ in range(2)
        ]
        start = rng.integers(5, length - 2, batch)
        start[-1] = min(start[-1], length - 4)  # at least one answer of two tokens
        end = np.minimum(start + 1, length - 3)
        start[:no_answer], end[:no_answer] = 0, 0
        if blocked is None:
            end[-1] = length - 1
        if scale > 1:  # a loss made of the logits themselves is then below 0
            for each, place in zip(logits, (start, end), strict=True):
                each[np.arange(batch), place] = np.abs(each[np.arange(batch), place])
        return {
            "start_logits": logits[0],
            "end_logits": logits[1],
            "start_positions": start,
            "end_positions": end,
        }

    return inputs


def _far_below_0(rng: np.random.Generator) -> Inputs:
    """Logits that lie tens of thousands apart, and every one of them is below -10,000."""
    inputs = _loss(3, 9, None, scale=2e4)(rng)
    lower = {name: inputs[name] - f32(2e5) for name in ("start_logits", "end_logits")}
    return {**inputs, **lower}


def _call_loss(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    import torch

    with one_thread():
        loss = call_function(learner, tensors(inputs))
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        raise TypeError("it returned no tensor with one number: the loss is the mean over the batch.")
    return {"loss": np.array(float(loss.detach()))}


def loss_is_finite(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The loss is a finite number, not below 0."""
    return np.isfinite(outputs["loss"]) & (outputs["loss"] >= 0)


span_loss = Exercise(
    name="span_loss",
    returns=("loss",),
    call=_call_loss,
    backward=sent_back(a_function),
    cases=(
        Case("a batch of 3 windows of 11 tokens, every place allowed", _loss(3, 11, None)),
        Case(
            "a batch of 4 windows, some places blocked; gradients reach both logits",
            _loss(4, 13),
            reaches=("start_logits", "end_logits"),
        ),
        Case(
            "two of five windows have no answer; a single window; none of three has one",
            together(_loss(5, 12, no_answer=2), _loss(1, 10), _loss(3, 9, no_answer=3), _loss(9, 9)),
        ),
        Case(
            "blocked by -inf, all others about -500; then all about -200,000",
            together(_loss(2, 12, blocked=-np.inf, shift=-500), _far_below_0),
        ),
        Case(
            "logits in the hundreds, then in the ten thousands; gradients reach both of them",
            together(_loss(3, 14, None, scale=300), _loss(3, 9, None, scale=2e4)),
            reaches=("start_logits", "end_logits"),
        ),
    ),
    properties=(loss_is_finite,),
    bypasses=("transformers.AutoModelForQuestionAnswering", "transformers.BertForQuestionAnswering"),
)

# ---------------------------------------------------------------------------------- best_span


_ALL_SPANS = SPANS | {
    "the best end stands just in front of the best start": ({8: 6, 6: 3}, {7: 6, 9: 4.5}, 6, 0.0),
    "the best start stands in the question; an answer may be longer than the window": (
        {3: 9, 5: 5},
        {6: 5},
        30,
        0.0,
    ),
    "best start and best end do not fit, and each takes all shares": (
        {9: 900, 5: 3},
        {6: 900, 10: 4.5},
        6,
        200.0,
    ),
    "four starts that are better have no good end": ({10: 6, 9: 6, 8: 6, 7: 6, 6: 4.5}, {6: 6}, 6, 0.0),
}


def _spans(title: str) -> Callable[[np.random.Generator], Inputs]:
    starts, ends, longest, shift = _ALL_SPANS[title]

    def inputs(rng: np.random.Generator) -> Inputs:
        logits = rng.uniform(-0.3, 0.3, (2, WINDOW))
        for row, planted in zip(logits, (starts, ends), strict=True):
            for place, value in planted.items():
                row[place] += value
        logits += shift * rng.uniform(1, 2, (2, 1))
        return {
            "start_logits": f32(logits[0]),
            "end_logits": f32(logits[1]),
            "in_context": IN_CONTEXT.copy(),
            "max_answer_length": longest,
        }

    return inputs


def _context_to_the_end(rng: np.random.Generator) -> Inputs:
    """Nothing stands behind the context, and its last token is the answer."""
    inputs = {**_spans("a single token")(rng), "in_context": np.arange(WINDOW) >= 5}
    for side in ("start_logits", "end_logits"):
        inputs[side][-1] += 9
    return inputs


def _none_of_the_best(many: int) -> Callable[[np.random.Generator], Inputs]:
    """Every token is of the context. So many of the best starts have no good end, and so many of the best ends no good start."""

    def inputs(rng: np.random.Generator) -> Inputs:
        length = 2 * many + 2
        noise = f32(rng.uniform(-0.3, 0.3, (2, length)))
        return {
            "start_logits": noise[0] + f32([-5] * many + [4, 0] + [5] * many),
            "end_logits": noise[1] + f32([5] * many + [0, 4] + [-5] * many),
            "in_context": np.ones(length, dtype=bool),
            "max_answer_length": 3,
        }

    return inputs


def _one_bad_token(rng: np.random.Generator) -> Inputs:
    """The context is one token, and no other one has lower logits."""
    inputs = {**_spans("a single token")(rng), "in_context": np.arange(WINDOW) == 7}
    for side in ("start_logits", "end_logits"):
        inputs[side][7] = inputs[side].min() - 1
    return inputs


def _billions_below_0(rng: np.random.Generator) -> Inputs:
    inputs = _spans("the best start stands behind the best end")(rng)
    return {**inputs, **{name: f32(3e8) * inputs[name] - f32(8e9) for name in ("start_logits", "end_logits")}}


def _billions(rng: np.random.Generator) -> Inputs:
    """The best start and the best end stand in the question, and are better by billions."""
    inputs = _spans("the question looks better than the context")(rng)
    return {**inputs, **{name: f32(1e9) * inputs[name] for name in ("start_logits", "end_logits")}}


def _one_token_each(rng: np.random.Generator) -> Inputs:
    """The best pair has two tokens."""
    inputs = {**_spans("a single token")(rng), "max_answer_length": 1}
    inputs["start_logits"][5] += 9
    inputs["end_logits"][6] += 9
    return inputs


def _call_spans(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    with one_thread():
        found = call_function(learner, tensors(inputs))
    if not isinstance(found, (tuple, list)) or len(found) != 3 or any(part is None for part in found):
        raise TypeError(f"it returned {plain(found)!r}; expected three numbers, (first, last, score).")
    places = index(found[0], "first"), index(found[1], "last")
    first, last = first_of_equals(*inputs.values(), *places)
    return {"first": np.array(first), "last": np.array(last), "score": np.array(float(found[2]))}


def span_is_possible(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The span lies in the context, does not end before it begins, and is not too long."""
    first, last = int(outputs["first"]), int(outputs["last"])
    inside = all(
        0 <= place < len(inputs["in_context"]) and inputs["in_context"][place] for place in (first, last)
    )
    return np.array(inside and first <= last < first + inputs["max_answer_length"])


def score_is_the_sum(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The score is the start logit plus the end logit of the span."""
    end = len(inputs["in_context"]) - 1
    first, last = (int(np.clip(outputs[name], 0, end)) for name in ("first", "last"))
    return np.isclose(outputs["score"], inputs["start_logits"][first] + inputs["end_logits"][last], atol=1e-3)


best_span = Exercise(
    name="best_span",
    returns=("first", "last", "score"),
    call=_call_spans,
    cases=(
        *(Case(title, _spans(title)) for title in _ALL_SPANS),
        Case(
            "a context to the end; many best places that fit nothing; huge scores; exactly 0",
            together(
                best_score_of_0,
                _context_to_the_end,
                _none_of_the_best(5),
                _none_of_the_best(60),
                _one_bad_token,
                _billions_below_0,
                _billions,
            ),
        ),
        Case("two pairs are equally good", equally_good),
        Case(
            "answers of one token only; then a window that is one token",
            together(_one_token_each, smallest_window),
        ),
    ),
    properties=(span_is_possible, score_is_the_sum),
)

# ---------------------------------------------------------------------------------- exact_match and f1


def _pairs(*templates: tuple[str, Sequence[str]]) -> Callable[[np.random.Generator], Inputs]:
    """Pairs of a prediction and the right answers; the capital letters X, Y, Z in braces stand for words.

    Among them stand plain ones, equal and different. How many, and in which order all stand, the seed decides: so no
    scores are right that do not look at the words.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        words = dict(zip("XYZW", new_words(rng, 4), strict=True))
        words |= {letter.lower(): word.title() for letter, word in words.items()}
        equal, different = rng.integers(2, 6, 2)
        all_pairs = [*templates, *[("{W}", ["{W}"])] * equal, *[("{W}", ["{Z}"])] * different]
        all_pairs = [all_pairs[place] for place in rng.permutation(len(all_pairs))]

        def filled(text: str) -> str:
            return re.sub(r"\{(\w)\}", lambda found: words[found[1]], text)

        kinds = (list, tuple)  # a list that is changed in place is noticed
        return {
            "pairs": [
                (filled(said), kinds[place % 2](map(filled, golds)))
                for place, (said, golds) in enumerate(all_pairs)
            ]
        }

    return inputs


def _call_pairs(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    scores = []
    for prediction, answers in inputs["pairs"]:
        score = learner(prediction, answers)
        if score is None or isinstance(score, (str, tuple, list)):
            raise TypeError(f"for {prediction!r} and {answers!r} it returned {score!r}; expected a number.")
        scores.append(float(score))
    return {"scores": np.array(scores)}


def scores_are_shares(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """No score is below 0 or above 1."""
    return (outputs["scores"] >= 0) & (outputs["scores"] <= 1)


def order_of_answers_is_no_matter(runs: list[Run]) -> np.ndarray:
    """The right answers in another order give the same score."""
    return np.isclose(runs[0][1]["scores"], runs[1][1]["scores"])


def _reordered(*templates: tuple[str, Sequence[str]]):
    def inputs(rng: np.random.Generator) -> list[Inputs]:
        made = _pairs(*templates)(rng)
        turned = [(said, answers[::-1]) for said, answers in made["pairs"]]
        return [made, {"pairs": turned}]

    return inputs


READY_SCORES = ("course_utils.models.reader.squad_scores", "course_utils.models.reader.plain_words")

ALMOST = (  # what normalising must leave as different as it was
    ("{X}é", ["{X}e"]),
    ("{X}\u00e9", ["{X}e\u0301"]),  # the same letter in another form of Unicode
    ("{X}ß", ["{X}ss"]),
    ("\ufb01{X}", ["fi{X}"]),
    ("{X} 1960", ["{X} 1961"]),
    ("1960", ["1906"]),
    ("{X}s", ["{X}"]),
    ("{X} of {Y}", ["{X} {Y}"]),
    ("{X} of {Y}", ["{X} in {Y}"]),
    ("“{X}”", ["{X}"]),
    ("{X}\u2019n", ["{X}n"]),
    ("{X}\u2019s", ["{X}'s"]),
    ("A\u00ef{X}", ["\u00ef{X}"]),  # the A is no article: it stands within a word
    ("this {X}", ["{X}"]),
    ("{X} {Y}", ["{Y} {X}"]),
    ("{X} {X}", ["{X}"]),
    ("{X} {Y} {Z} {W}", ["{W} {Y} {Z} {W}"]),
    ("{X} {Y} {Z} {W}", ["{X} {Y} {Z} {X}"]),
)
"""Predictions and answers that are alike, and different."""

exact_match = Exercise(
    name="exact_match",
    returns=("scores",),
    call=_call_pairs,
    cases=(
        Case("a part is not enough", _pairs(("{X}", ["{X} {Y}"]), ("{Z} {X}", ["{X}"]))),
        Case("capital letters", _pairs(("{x} {Y}", ["{X} {y}"]), ("ÉCOLE", ["école"]))),
        Case(
            "the article in front",
            _pairs(("the {X}", ["{X}"]), ("{X}", ["a {X}"]), ("The {X}", ["an {X}"]), ("the {X}", ["a {X}"])),
        ),
        Case(
            "an article in the middle",
            _pairs(
                ("{X} in the {Y}", ["{X} in {Y}"]),
                ("the {X} in the {Y}", ["{X} in {Y}"]),
                ("{X} in the the {Y}", ["{X} in {Y}"]),
                ("{X} in the {Y}", ["{X} in a {Y}"]),
                ("the {X} the {Y} the {Z} the {W}", ["{X} {Y} {Z} {W}"]),
            ),
        ),
        Case("letters of an article within a word", _pairs(("theatre {X}", ["atre {X}"]), ("sofa", ["sof"]))),
        Case(
            "marks are deleted", _pairs(("{X}.", ["{X}"]), ('"{X}", {Y}!', ["{X} {Y}"]), ("U.S.A.", ["USA"]))
        ),
        Case(
            "all 32 marks of ASCII, and no others",
            _pairs(
                (f"{{X}}{string.punctuation}{{Y}}", ["{X}{Y}"]),
                ("{X}_{Y}", ["{X}{Y}"]),
                ("{X}$<{Y}", ["{X}{Y}"]),
                ("“{X}”", ["{X}"]),
                ("{X}—{Y}", ["{X}{Y}"]),
            ),
        ),
        Case("and leave no space", _pairs(("{X}-{Y}", ["{X} {Y}"]), ("{X}-{Y}", ["{X}{Y}"]))),
        Case("marks go before articles", _pairs(("(the) {X}", ["{X}"]), ("the-{X}", ["{X}"]))),
        Case(
            "white space",
            _pairs(
                (" {X} \n  {Y} ", ["{X} {Y}"]),
                ("{X}\t{Y}", ["{X} {Y}"]),
                ("{X}\r\n{Y}", ["{X} {Y}"]),
                ("{X}\u00a0{Y}", ["{X} {Y}"]),
                ("{X}\u2009{Y}", ["{X} {Y}"]),
                ("the\n{X}", ["{X}"]),
                ("{X} in\tthe {Y}", ["{X} in {Y}"]),
            ),
        ),
        Case(
            "texts that are almost equal: other accents, digits, endings, small words, order",
            _pairs(*ALMOST),
        ),
        Case(
            "several right answers, in two orders",
            _reordered(
                ("{X}", ["{Y}", "{X}"]),
                ("{X}", ["{Y}", "{Z}", "{W}"]),
                ("{X}", ["{X}", "{Y}"]),
                ("{X}", ["{X}", "the {X}"]),
            ),
            order_of_answers_is_no_matter,
        ),
        Case("no answer", _pairs(("", []), ("{X}", []), ("", ["{X}"]), ("The.", []), ("the", ["the {X}"]))),
        Case(
            "an answer that becomes empty when normalised",
            _pairs(
                ("", ["the", "{X}"]),
                ("the", ["the", "{X}"]),
                ("", ["", "{X}"]),
                ("{X}", ["..."]),
                ("", ["a"]),
            ),
        ),
    ),
    bypasses=READY_SCORES,
)

f1 = Exercise(
    name="f1",
    returns=("scores",),
    call=_call_pairs,
    uses=("exact_match",),  # whose cell defines `normalise`
    cases=(
        Case("equal and different words", _pairs(("{X} {Y}", ["{X} {Y}"]), ("{X}", ["{Y}"]))),
        Case("one word too many", _pairs(("{X} {Y} {Z}", ["{Y} {Z}"]))),
        Case("two words missing", _pairs(("{X}", ["{X} {Y} {Z}"]))),
        Case("precision 2/3, recall 2/4", _pairs(("{W} {X} {Y}", ["{X} {Y} of {Z}"]))),
        Case(
            "the order of the words",
            _pairs(("{X} {Y} {Z}", ["{Z} {X} {Y}"]), ("{W} {X} {Y} {Z}", ["{Y} of {W} in {Z}"])),
        ),
        Case(
            "words that come twice",
            _pairs(
                ("{X} {X}", ["{X}"]),
                ("{X} by {X}", ["{X} and {X}"]),
                ("{X}", ["{X} {X}"]),
                ("{X} {X}", ["about {X}"]),
            ),
        ),
        Case(
            "words that are almost equal, but are not: in accents, digits, endings",
            _pairs(("{X}{Y}", ["{X} {Y}"]), ("this {X}", ["that {X}"]), *ALMOST),
        ),
        Case(
            "capitals, articles and marks",
            _pairs(
                ("The {x}, {Y}.", ["{X}\u00a0{Y}"]),
                ("in the the {X}", ["in {X}"]),
                ("{X} {Y} {Z}", ["The {x}, {Y}!"]),
                (f"{{X}}{string.punctuation}{{Y}} {{Z}}", ["{X}{Y} {W}"]),
            ),
        ),
        Case(
            "the best of several, in two orders",
            _reordered(
                ("{X} {Y}", ["{X}", "{Y} {X} {Z} {W}"]),
                ("{X} {Y}", ["{Z}", "{X} {W}", "{Y} {W} {Z}"]),
                ("{X} {Y}", ["{X}", "{Y}"]),  # right answers are no bag of words
            ),
        ),
        Case("no answer", _pairs(("", []), ("{X}", []), ("", ["{X}"]), ("The.", []), ("a", ["a {X}"]))),
        Case(
            "an answer that becomes empty when normalised",
            _pairs(("", ["the", "{X}"]), ("", ["", "{X}"]), ("{X}", ["..."]), ("", ["a"])),
        ),
    ),
    properties=(scores_are_shares,),
    bypasses=READY_SCORES,
)

# ---------------------------------------------------------------------------------- train_step


def _tiny_reader(weights: Mapping[str, np.ndarray]) -> nn.Module:
    """A reader that is called like the lab's, small enough to follow by hand; notes the mode it ran in.

    As in the lab's, a part of it is frozen, and another part has no influence on the logits.
    """
    import torch

    class TinyReader(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            (first, array), *others = weights.items()
            self.register_parameter(first, torch.nn.Parameter(torch.from_numpy(array.copy())))
            self.frozen = torch.nn.Parameter(torch.tensor(0.5), requires_grad=False)
            self.unused = torch.nn.Parameter(torch.tensor(0.5))
            for name, array in others:  # what matters stands first and last, so that no loop may leave it out
                self.register_parameter(name, torch.nn.Parameter(torch.from_numpy(array.copy())))
            self.part = torch.nn.Identity()  # where dropout stands in the lab's
            self.modes: list[bool] = []

        def forward(
            self,
            input_ids: torch.Tensor,
            attention_mask: torch.Tensor | None = None,
            token_type_ids: torch.Tensor | None = None,
            allowed: torch.Tensor | None = None,
        ) -> tuple[torch.Tensor, torch.Tensor]:
            self.modes.append(self.training and self.part.training)
            kinds = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
            seen = torch.ones_like(input_ids) if attention_mask is None else attention_mask
            x = self.embedding[input_ids] + self.kind[kinds] + self.frozen
            shares = seen[..., None] / seen.sum(dim=1)[:, None, None]
            logits = torch.tanh(x + (shares * x).sum(dim=1, keepdim=True)) @ self.output
            if allowed is not None:
                logits = logits.masked_fill(~allowed[..., None], -1e9)
            return tuple(logits.unbind(dim=-1))

    return TinyReader()


def _steps(
    rates: Sequence[float],
    scale: float = 1.0,
    max_norm: float | None = 50.0,
    and_afterwards: bool = False,
):
    """A step for each rate; ``max_norm``: None leaves it to the function's default. ``and_afterwards``: the mode counts then, too."""

    def inputs(rng: np.random.Generator) -> Inputs:
        return {
            "weights": reader_weights(rng, scale),
            "batches": [reader_batch(rng, 3 + number, 9 + 2 * number) for number in range(len(rates))],
            "rates": list(rates),
            "max_norm": max_norm,
            "mode afterwards counts": and_afterwards,
        }

    return inputs


def _nothing_to_learn(rng: np.random.Generator) -> Inputs:
    """Two steps. In the first one, only [CLS] is allowed, and is right: the loss is 0, and so are all gradients."""
    made = _steps([0.5, 0.5], scale=3.0)(rng)
    first, second = made["batches"]
    nowhere = np.zeros_like(first["start_positions"])
    only_cls = np.zeros_like(first["allowed"])
    only_cls[:, 0] = True
    first = {**first, "allowed": only_cls, "start_positions": nowhere, "end_positions": nowhere.copy()}
    return {**made, "batches": [first, second]}


def _one_limit_after_another(rng: np.random.Generator) -> Inputs:
    """Small steps with one batch; the limits begin below the norm of the gradients, and end above it."""
    made, limits = _steps([0.05], scale=3.0)(rng), 0.1 * 1.7 ** np.arange(10)
    return {
        **made,
        "batches": made["batches"] * len(limits),
        "rates": made["rates"] * len(limits),
        "max_norm": limits.tolist(),
    }


def _call_train_step(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    import torch

    model = _tiny_reader(inputs["weights"]).eval()  # as an evaluation may have left it
    for weight in model.parameters():
        if weight.requires_grad:
            weight.grad = torch.full_like(weight, 0.2)  # as another loss may have left it
    optimizer = DescentWithDecay(model.parameters(), lr=0.01)
    optimizer.param_groups = [{"params": [weight], "lr": 0.01} for weight in model.parameters()]
    limits, losses = np.broadcast_to(inputs["max_norm"], len(inputs["rates"])).tolist(), []
    with one_thread():
        for batch, rate, limit in zip(inputs["batches"], inputs["rates"], limits, strict=True):
            given = tensors(batch)
            losses.append(learner(model, optimizer, given, rate, *([] if limit is None else [limit])))
            if lost := batch.keys() - given.keys():
                raise TypeError(
                    f"afterwards {min(lost)!r} is missing in the caller's batch: `pop` and `del` take it away. Work on a copy."
                )
    if any(loss is None for loss in losses):
        raise TypeError("it returned None instead of the loss.")
    return {
        "losses": np.array([float(loss) for loss in losses]),
        "in training mode": np.array(bool(model.modes) and all(model.modes)),
        "in training mode afterwards": np.array(model.training or not inputs["mode afterwards counts"]),
        **{f"weight {name}": parameter.detach().numpy() for name, parameter in model.named_parameters()},
        "learning rates afterwards": np.array([group["lr"] for group in optimizer.param_groups]),
    }


train_step = Exercise(
    name="train_step",
    returns=(
        "losses",
        "in training mode",
        "in training mode afterwards",
        "weight embedding",
        "weight kind",
        "weight output",
        "weight frozen",
        "weight unused",
        "learning rates afterwards",
    ),
    call=_call_train_step,
    uses=("span_loss",),
    cases=(
        Case(
            "one step; then two, the first with gradients of 0, as only [CLS] is allowed",
            together(_steps([0.5], scale=3.0), _nothing_to_learn),
        ),
        Case(
            "two steps, other batches and learning rates; the model stays in training mode",
            _steps([0.5, 0.25], scale=3.0, and_afterwards=True),
        ),
        Case(
            "gradients that are too long: shortened to 0.1; then one limit after another",
            together(_steps([0.5, 0.5], scale=3.0, max_norm=0.1), _one_limit_after_another),
        ),
        Case("called without max_norm", _steps([0.5, 0.25], scale=8.0, max_norm=None)),
    ),
    properties=(trained_in_training_mode, weights_have_moved),
)

# ---------------------------------------------------------------------------------- answer


class _AttentiveReader(ScriptedReader):
    """Takes four arguments, as the lab's reader does. What it thinks of [CLS] depends on all tokens of the window, and on each place
    that is wrongly allowed or blocked.
    """

    def __call__(self, input_ids: Any, attention_mask: Any, token_type_ids: Any, allowed: Any):
        import torch

        for name, given in {"attention_mask": attention_mask, "token_type_ids": token_type_ids}.items():
            if not isinstance(given, torch.Tensor) or given.shape != input_ids.shape:
                raise TypeError(f"`{name}` must be a tensor of the shape of `input_ids`.")
        start, end = super().__call__(input_ids, attention_mask, token_type_ids, allowed)
        if self.plain is None:
            known = ((1 + input_ids) * attention_mask * (1 + 2 * token_type_ids)).sum(dim=1).double()
            start[:, 0] += (0.6 * torch.sin(known)).float()
            end[:, 0] += (0.8 * torch.cos(3 * known)).float()
            # without the last [SEP]: before [CLS] or padding
            text = token_type_ids * token_type_ids.roll(-1, 1)
            text[:, 0] = 1
            start[:, 0] += (text != allowed).sum(dim=1)
        return (start.log_softmax(-1), end.log_softmax(-1)) if self.shares else (start, end)


def _asked(**settings: Any) -> Callable[[np.random.Generator], Inputs]:
    return asked(**settings, new_reader=_AttentiveReader)


def _one_token(rng: np.random.Generator) -> Inputs:
    """The reader finds the first piece of a word, and not the rest of it."""
    inputs = _asked(words=6, says=(2, 3))(rng)
    reader = inputs["model"]
    reader.ends = dict(reader.starts)
    return inputs


def _call_answer(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    with one_thread():
        return readable_answer(call_and_leave_gradients_on(learner, inputs), inputs["model"])


def asked_with_care(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The model is called in evaluation mode, and no gradients are kept."""
    return outputs["called as in an evaluation"]


def _many_windows(rng: np.random.Generator) -> list[Inputs]:
    """The same texts in 6 windows, then in 10; the answer is in the last one."""
    inputs = _asked(words=30, says=(28, 30))(rng)
    return [inputs, {**inputs, "model": copy.deepcopy(inputs["model"]), "max_length": 20, "overlap": 4}]


def _with_the_full_stop(rng: np.random.Generator) -> Inputs:
    """The reader finds the last two words and the full stop behind them."""
    inputs = _asked(words=6, says=(4, 6))(rng)
    reader, (ids, _) = inputs["model"], inputs["tokenize"](inputs["context"])
    reader.ends = {(ids[-2], ids[-1]): reader.ends.pop((ids[-3], ids[-2]))}
    return inputs


answer = Exercise(
    name="answer",
    returns=("start", "end", "margin", "called as in an evaluation"),
    call=_call_answer,
    uses=("make_features", "best_span"),
    cases=(
        *answer_cases(_AttentiveReader),
        Case(
            "four windows, the answer in the third",
            _asked(words=18, says=(13, 15), nothing={1: 6.0, 13: 6.0, 15: 3.0}),
        ),
        Case(
            "an answer as long as allowed; one too long; one token; the first two words",
            together(
                _asked(words=7, says=(1, 5)),
                _asked(words=7, says=(1, 6)),
                _one_token,
                _asked(words=6, says=(0, 2)),
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
