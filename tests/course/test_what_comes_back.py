"""Whatever learners' code returns is taken as it is or refused in one plain sentence; the checker itself never fails over it."""

from __future__ import annotations

import collections
import contextlib
import datetime
import decimal
import fractions
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from course_utils.cases.forms import only
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.outcome import Outcome, decode, encode, try_exercise

ONE = Exercise("f", ("y",), (Case("one", lambda rng: {"x": 1}),))
TWO = Exercise("f", ("low", "high"), (Case("one", lambda rng: {"x": 1}),))


def returned(value, exercise: Exercise = ONE) -> Outcome:
    return try_exercise(exercise, "none.f", lambda x: value, 1)[0]


class Strange:
    """Of the learner's own, and broken in every way."""

    shape, dtype = "a shape", "a dtype"

    def numpy(self):
        raise RuntimeError("broken")


class Array(np.ndarray):
    pass


X = torch.tensor([[0.5, -2.0], [1.0, 3.0]])
COMPLEX = torch.tensor([1 + 2j, 3 - 4j])
with warnings.catch_warnings():  # what is rare is in beta, or deprecated
    warnings.simplefilter("ignore")
    SPARSE, ROWS = X.to_sparse(), X.to_sparse_csr()
    QUANTISED = torch.quantize_per_tensor(X, 0.1, 0, torch.quint8)
    NESTED = torch.nested.nested_tensor([X, X[:1]])

ACCEPTED = {
    "float": (0.5, 0.5),
    "a truth value": (True, True),
    "a number of NumPy": (np.float32(0.5), 0.5),
    "half precision": (np.float16([0.5]), [0.5]),
    "long double": (np.longdouble([0.5]), [0.5]),
    "big-endian": (np.array([0.5], ">f8"), [0.5]),
    "a matrix": (np.matrix([[1, 2]]), [[1, 2]]),
    "a subclass": (np.array([1.0]).view(Array), [1.0]),
    "a masked array without masked places": (np.ma.array([1.0, 2.0]), [1.0, 2.0]),
    "a read-only view": (np.broadcast_to(1.0, (2,)), [1.0, 1.0]),
    "bfloat16": (X.bfloat16(), X.tolist()),
    "half of torch": (X.half(), X.tolist()),
    "a short float": (X.to(torch.float8_e5m2), X.tolist()),
    "with a gradient": ((X * 1).requires_grad_(), X.tolist()),
    "on a graph": (torch.nn.Parameter(X) * 2, (2 * X).tolist()),
    "the imaginary part of a conjugate": (COMPLEX.conj().imag, [-2, 4]),
    "a parameter": (torch.nn.Parameter(X), X.tolist()),
    "a transposed view": (X.T, X.T.tolist()),
}

REFUSED = {
    "None": (None, "returned None; expected `y`"),
    "a list": ([[1.0]], "is a Python list"),
    "complex": (np.array([1j]), "complex"),
    "complex of torch": (COMPLEX, "complex"),
    "conjugate": (COMPLEX.conj(), "complex"),
    "masked": (np.ma.array([1.0, 2.0], mask=[True, False]), "masked"),
    "sparse": (SPARSE, "sparse"),
    "compressed rows": (ROWS, "sparse"),
    "quantised": (QUANTISED, "quantised"),
    "without values": (X.to("meta"), "meta"),
    "nested": (NESTED, "nested"),
    "objects": (
        np.array([[1], [1, 2]], dtype=object),
        "holds Python objects, such as rows of different lengths",
    ),
    "texts": (np.array(["a"]), "holds texts; expected numbers or booleans."),
    "bytes": (np.array([b"1"]), "holds texts"),
    "a text": ("a", "of type str"),
    "dates": (np.array(["2026-01-01"], "M8[D]"), "holds dates"),
    "times": (np.zeros(2, "m8[s]"), "holds times"),
    "records": (np.zeros(2, "f8,i4"), "is an array of [('f0', '<f8'), ('f1', '<i4')]"),
    "a generator": ((x for x in [1.0]), "of type generator"),
    "a set": ({1.0}, "of type set"),
    "a function": (len, "of type builtin_function_or_method"),
    "a class": (Strange, "no array of numbers"),
    "broken": (Strange(), "no array of numbers"),
    "a frame": (pd.DataFrame({"a": [1.0]}), "of type DataFrame"),
    "a column": (pd.Series([1.0]), "of type Series"),
    "a large number": (10**30, "more than 64 bits"),
    "a fraction": (fractions.Fraction(1, 2), "of type Fraction"),
    "a decimal": (decimal.Decimal(1), "of type Decimal"),
    "a time": (datetime.date(2026, 1, 1), "of type date"),
    "huge": (np.broadcast_to(0.0, (10_000, 10_000)), "far larger"),
}


@pytest.mark.parametrize("value, expected", ACCEPTED.values(), ids=ACCEPTED)
def test_these_forms_of_numbers_are_taken_as_they_are(value, expected):
    outcome = returned(value)
    assert outcome.problem is None
    assert np.array_equal(outcome.runs[0]["y"], expected)
    assert type(outcome.runs[0]["y"]) is np.ndarray
    assert decode(encode([outcome]), 1)[0].runs[0]["y"].tolist() == np.array(expected).tolist()


@pytest.mark.parametrize("value, words", REFUSED.values(), ids=REFUSED)
def test_other_forms_are_refused_in_a_sentence(value, words):
    problem = returned(value).problem
    assert problem.kind == "type" and words in problem.message
    assert len(problem.message.split()) < 40


@pytest.mark.slow
def test_forms_of_tensorflow_and_keras_are_taken_or_refused():
    import keras
    import tensorflow as tf

    for value in (
        tf.constant([0.5]),
        tf.Variable([0.5]),
        tf.constant([0.5], tf.bfloat16),
        keras.Variable([0.5]),
    ):
        assert returned(value).runs[0]["y"].tolist() == [0.5]
    assert "Python objects" in returned(tf.ragged.constant([[1], [1, 2]])).problem.message
    for value in (tf.sparse.from_dense([[1, 0]]), keras.Input((2,)), tf.constant(["a"])):
        assert returned(value).problem.kind == "type"

    @tf.function
    def symbolic(x):
        assert returned(x).problem.kind == "type"
        return x

    symbolic(tf.constant([1.0]))


def _of_every_kind() -> list[torch.Tensor]:
    """A tensor of each of PyTorch's dtypes that can be made on this machine."""
    kinds = sorted((kind for kind in vars(torch).values() if isinstance(kind, torch.dtype)), key=str)
    made = []
    for kind in kinds:
        with contextlib.suppress(Exception):
            made.append(torch.zeros(2).to(kind))
    assert len(made) > 15
    return made


_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st_numpy.arrays(st_numpy.scalar_dtypes(), st_numpy.array_shapes(min_dims=0, max_dims=3, max_side=3)),
    st.sampled_from([each for each, _ in (*ACCEPTED.values(), *REFUSED.values())]),
    st.sampled_from(_of_every_kind()),
)  # fmt: skip
_ANYTHING = st.recursive(
    _LEAVES,
    lambda parts: st.one_of(
        st.lists(parts, max_size=3),
        st.lists(parts, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from(("low", "high", "y", 1)), parts, max_size=3),
        st.lists(parts, max_size=3).map(collections.deque),
    ),
    max_leaves=5,
)


@settings(max_examples=200, deadline=None)
@given(_ANYTHING)
def test_nothing_that_comes_back_makes_the_checker_fail(value):
    for exercise in (ONE, TWO):
        outcome = returned(value, exercise)
        assert outcome.problem is None or outcome.problem.kind == "type"
        assert decode(encode([outcome]), 1)[0].problem == outcome.problem


def test_a_list_is_called_a_list_and_not_what_is_in_it():
    with pytest.raises(TypeError, match="it returned a list where a torch.Tensor is expected"):
        only(torch.Tensor, ([1, 2], X))
    with pytest.raises(TypeError, match="it returned an int where"):
        only(torch.Tensor, 1)
    assert only(torch.Tensor, ([X], None)) == ([X], None)
