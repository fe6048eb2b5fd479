"""Calls a learner's TensorFlow code: tensors from arrays, and errors in few words."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np


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
        text = re.sub(r"\x1b\[\d+m", "", str(error))
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
