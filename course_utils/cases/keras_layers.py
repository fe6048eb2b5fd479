"""Calls a learner's TensorFlow code: tensors from arrays, layers that serve several cases, and errors in few words."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from course_utils.cases.gradients import WEIGHTS, arrived, direction, outputs_in
from course_utils.checking.exercise import Backward, Inputs, NoGradient, call_function
from course_utils.checking.wording import reason_in_a_graph


def tensors(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs with every array as a TensorFlow tensor."""
    import tensorflow as tf

    return {
        name: tf.convert_to_tensor(value) if isinstance(value, np.ndarray) else value
        for name, value in inputs.items()
    }


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Shortens what Keras and TensorFlow wrap around an error: the arguments, the operation, and colours."""
    try:
        yield
    except Exception as error:
        text = error.args[0] if isinstance(error, KeyError) and error.args else error  # its text is quoted
        text = reason_in_a_graph(re.sub(r"\x1b\[\d+m", "", str(text)))
        text = re.sub(r"(?s)^in user code:.*\n\s+\w+: ", "", text)  # of a function that is traced
        text = re.sub(r"(?s)^Exception encountered when calling \S+\.\s*", "", text)
        text = re.sub(r"(?s)\s*Arguments received by .*", "", text)
        text = re.sub(r"\{\{function_node [^}]*\}\} ?|\s*\[Op:.*", "", text)
        text = re.sub(r"(?s)\[\[.*\]\]", "[[...]]", text)  # the values of a tensor
        text = text.strip()
        if text == str(error):
            raise
        try:
            short = type(error)(text)
        except Exception:  # TensorFlow's errors want more than a text
            short = RuntimeError(text)
        raise short.with_traceback(error.__traceback__) from None


# ---------------------------------------------------------------------------------- gradients

_CUT_BY = "`stop_gradient` or a way through NumPy"


def a_function(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """For :func:`sent_back`: the learner's function is called."""
    return call_function(learner, given), {}


def sent_back(
    run: Callable[[Callable, Mapping[str, Any]], tuple[Any, Mapping[str, Any]]], outputs: int | None = 1
) -> Backward:
    """How an exercise's gradients are sent back.

    Args:
        run: calls the learner's object with tensors, and gives what it returned and its variables by name: :func:`a_function`,
            or a lab's own, which makes a layer and sets its weights.
        outputs: so many of what is returned, from the first on, are trained through; None: all of it.
    """

    def backward(learner: Callable, inputs: Inputs, reaches: Sequence[str]) -> dict[str, np.ndarray]:
        import tensorflow as tf

        given = tensors(inputs)
        leaves = {name: given[name] for name in reaches if name != WEIGHTS}
        with plain_errors():
            with tf.GradientTape() as record:
                record.watch(list(leaves.values()))
                found, variables = run(learner, given)
            weights = dict(variables) if WEIGHTS in reaches else {}
            if frozen := [name for name, weight in weights.items() if not weight.trainable]:
                raise NoGradient(f"`{frozen[0]}` cannot be trained: its `trainable` is False.")
            sources = [
                part for part in outputs_in(found, outputs) if tf.is_tensor(part) and part.dtype.is_floating
            ]
            targets = [*leaves.values(), *weights.values()]
            along = [
                tf.cast(direction(part.shape, number), part.dtype) for number, part in enumerate(sources)
            ]
            slopes = record.gradient(sources, targets, along) if sources else [None] * len(targets)
        arrays = [
            None if slope is None else np.asarray(tf.convert_to_tensor(slope), float) for slope in slopes
        ]
        at_inputs = dict(zip(leaves, arrays, strict=False))
        at_weights = dict(zip(weights, arrays[len(leaves) :], strict=True))
        return arrived(at_inputs, at_weights, _CUT_BY)

    return backward


# ---------------------------------------------------------------------------------- layers


@dataclass
class _Kept:
    """A layer that serves all cases of its configuration."""

    learner: Any
    around: dict[str, Any]
    layer: Any
    called: bool = False


_kept: dict[tuple, _Kept] = {}


def built(
    learner: Callable,
    config: Mapping[str, Any],
    first_call: Callable[[Any], Any],
    make: Callable[[], Any] | None = None,
) -> Any:
    """A learner's layer of this configuration, with its variables made by a first call.

    Making variables takes Keras longer than all else here, and the check sets every one of them for each case. So
    a layer serves all cases of its configuration, until anything that is defined around it is defined anew.

    Args:
        make: makes the layer, or a tuple of several; None: ``learner(**config)``. ``first_call`` is handed the same.
    """
    key = (id(learner), *sorted(config.items()))
    around = _definitions_around(learner)
    kept = _kept.get(key)
    if kept is None or kept.learner is not learner or kept.around != around:
        layer = learner(**config) if make is None else make()
        if len(_kept) >= 500:
            _kept.clear()
            _filled.clear()
        kept = _kept[key] = _Kept(learner, around, layer)
        for each in layer if isinstance(layer, tuple) else (layer,):
            _filled.pop(id(each), None)
    if not kept.called:
        with built_as_it_goes():
            first_call(kept.layer)
        kept.called = True
    return kept.layer


_filled: dict[int, Mapping[str, np.ndarray]] = {}


def fill(layer: Any, weights: Mapping[str, np.ndarray], kind: Callable) -> None:
    """Sets the weights of a layer that ``built`` gave, unless it has them from the run before."""
    from course_utils.models import keras_translator

    has = _filled.pop(id(layer), {})
    if has.keys() != weights.keys() or any(not np.array_equal(has[name], weights[name]) for name in has):
        keras_translator.set_weights(layer, weights, kind)
    _filled[id(layer)] = weights


@contextlib.contextmanager
def built_as_it_goes() -> Iterator[None]:
    """Lets a layer's first call make its variables on the way.

    Keras would first trace a layer without a ``build`` of its own, and each such layer inside of it once more. That takes
    several times as long and ends in the same variables.
    """
    import keras

    inside = sys.modules.get(keras.Layer.__module__)  # Keras has no public switch for it
    asks = getattr(inside, "might_have_unbuilt_state", None)
    if asks is None:
        yield
        return
    inside.might_have_unbuilt_state = lambda layer: False
    try:
        yield
    finally:
        inside.might_have_unbuilt_state = asks


def _definitions_around(learner: Callable) -> dict[str, Any]:
    """The functions and classes of the notebook (or module) that a learner's class or function stands in."""
    code = [learner, *(vars(learner).values() if isinstance(learner, type) else ())]
    names = next((part.__globals__ for part in code if isinstance(part, FunctionType)), {})
    return {name: value for name, value in names.items() if isinstance(value, FunctionType | type)}
