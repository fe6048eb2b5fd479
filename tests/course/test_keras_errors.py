"""Errors of Keras's and TensorFlow's, as a learner reads them."""

from __future__ import annotations

import pytest

from course_utils.cases.keras_layers import plain_errors

IN_A_CALL = "Exception encountered when calling Reader.call().\n\n\x1b[1m{}\x1b[0m\n\nArguments received by Reader.call():\n  • x"


@pytest.mark.parametrize("kind", [ValueError, TypeError, KeyError])
def test_what_keras_wraps_around_an_error_is_left_out(kind):
    with pytest.raises(kind) as caught, plain_errors():
        raise kind(IN_A_CALL.format("allowed"))
    assert caught.value.args == ("allowed",)


@pytest.mark.parametrize("error", [ValueError("two axes"), KeyError("allowed"), KeyError(3), KeyError()])
def test_an_error_in_plain_words_stays_as_it_is(error):
    with pytest.raises(type(error)) as caught, plain_errors():
        raise error
    assert caught.value.args == error.args
