"""Legal inputs beyond the cases: small changes of what these make, as far as all right code agrees."""

from __future__ import annotations

import copy
import itertools
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from course_utils.checking.exercise import Case, Exercise
from grader.author.legal import LegalInputs, changed


class Place(NamedTuple):
    start: int
    words: list


SHAPES = hnp.array_shapes(max_dims=3, max_side=4)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-100, 100),
    st.floats(-100, 100),
    st.text("abc .é", max_size=6),
    hnp.arrays(np.float64, SHAPES, elements=st.floats(-10, 10)),
    hnp.arrays(np.int64, SHAPES, elements=st.integers(-9, 9)),
    hnp.arrays(bool, SHAPES),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
        st.builds(Place, st.integers(0, 9), st.lists(st.text("ab", max_size=2), max_size=2)),
    ),
    max_leaves=6,
)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.sampled_from("xyz"), VALUES, min_size=1, max_size=3), st.integers(0, 2**32))
def test_a_change_keeps_the_names_and_kinds_of_the_inputs_and_leaves_the_old_ones_alone(inputs, seed):
    before = copy.deepcopy(inputs)
    words, new = changed(inputs, np.random.default_rng(seed))
    assert words and set(new) <= set(inputs) and repr(inputs) == repr(before)
    kinds = [
        {type(each).__name__.removesuffix("64").rstrip("_") for each in (old, new[name])}
        for name, old in inputs.items()
        if name in new
    ]
    assert all(len(kind) == 1 or kind == {"int", "float"} for kind in kinds), kinds
    again = changed(inputs, np.random.default_rng(seed))
    assert repr(again) == repr((words, new))


def legal_inputs(*right, **inputs) -> list[dict]:
    """What is legal where all of these agree."""
    case = Case("a case", lambda rng: {**inputs, "drawn": float(rng.random())})
    exercise = Exercise("answer", ("result",), (case,))
    found = itertools.islice(LegalInputs(exercise, "lab.answer", list(right)), 120)
    return [legal.case.runs("lab.answer", 0)[0] for legal in found]


def test_sizes_ties_and_extremes_come_up():
    found = legal_inputs(lambda x, y, drawn: float(len(x)), x=np.arange(3.0), y=np.arange(4.0))
    assert {len(each["x"]) for each in found} >= {1, 3, 4}
    assert any(len(each["x"]) == len(each["y"]) for each in found)
    assert any(len({*each["x"]}) < len(each["x"]) for each in found)
    assert max(np.abs(each["x"]).max() for each in found) >= 1e3
    assert len({each["drawn"] for each in found}) > 25  # the case at many seeds


@pytest.mark.parametrize("text", ["Two words", "one"])
def test_texts_are_normalised_in_every_way_that_must_make_a_difference(text):
    found = {each["text"] for each in legal_inputs(lambda text, drawn: 1.0, text=text)}
    assert {text.upper(), text.lower(), f" {text} ", ""} <= found


def test_where_right_code_disagrees_or_raises_nothing_is_promised():
    def one(n, drawn):
        return float(n)

    def other(n, drawn):
        return float(abs(n))

    def third(n, drawn):
        return n / bool(n)

    assert min(each["n"] for each in legal_inputs(one, n=3)) < 0
    assert min(each["n"] for each in legal_inputs(one, other, n=3)) == 0
    assert min(each["n"] for each in legal_inputs(third, one, other, n=3)) == 1


def test_what_has_a_default_is_left_to_it():
    def of_course(x, rate=0.5, *, drawn):
        return x * rate

    assert {"rate" in each for each in legal_inputs(of_course, x=2.0, rate=3.0)} == {True, False}


def test_the_same_inputs_come_in_the_same_order_each_time():
    def titles() -> list[str]:
        case = Case("a case", lambda rng: {"x": rng.normal(size=3)})
        legal = LegalInputs(Exercise("answer", ("result",), (case,)), "lab.answer", [lambda x: x])
        first = [str(each) for each in itertools.islice(legal, 20)]
        assert first == [str(each) for each in itertools.islice(legal, 20)]
        return first

    assert titles() == titles()
