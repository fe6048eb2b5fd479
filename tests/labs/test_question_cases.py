"""What the cases of labs 10 and 11 tell apart: every default, texts as they were given, indices from other numbers, equally good spans."""

from __future__ import annotations

import inspect
import unicodedata
from types import FunctionType

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_utils.cases.reading import PieceTokenizer, first_of_equals, index, new_words, written
from course_utils.checking.comparison import compare
from course_utils.checking.exercise import PUBLIC_SEED
from course_utils.checking.expected import FILE_NAME, load_expected

TORCH, TENSORFLOW = "10_question_answering_pytorch", "11_question_answering_tensorflow"

OTHER = {  # instead of a default: a value that somebody else's code may have
    "cls_id": 1,
    "sep_id": 2,
    "pad_id": 3,
    "max_norm": 5.0,
    "max_length": 128,
    "overlap": 32,
    "max_answer_length": 15,
    "threshold": 0.25,
}


def with_default(function: FunctionType, name: str, value: object) -> FunctionType:
    """The same function with another value for one of its defaults."""
    having = [
        each for each in inspect.signature(function).parameters.values() if each.default is not each.empty
    ]
    defaults = tuple(value if each.name == name else each.default for each in having)
    return FunctionType(
        function.__code__, function.__globals__, function.__name__, defaults, function.__closure__
    )


def losing_nothing(lab) -> list[str]:
    """Parameters whose defaults could have another value, and no check would notice."""
    found = []
    for key, exercise in lab.exercises.items():
        reference = lab.reference[exercise.name]
        if not isinstance(reference, FunctionType):
            continue
        expected = load_expected(lab.release_folder / FILE_NAME, key, exercise)
        for name, parameter in inspect.signature(reference).parameters.items():
            if parameter.default is not parameter.empty:
                changed = with_default(reference, name, OTHER[name])
                assert OTHER[name] != parameter.default
                if compare(exercise, lab.outcomes(key, changed, PUBLIC_SEED), expected).correct:
                    found.append(f"{exercise.name}: {name}")
    return found


@pytest.mark.parametrize("name", [TORCH, pytest.param(TENSORFLOW, marks=pytest.mark.slow)])
def test_another_value_for_a_default_loses_points(labs, name):
    assert losing_nothing(labs[name]) == []


CHANGES = {
    "lower case": str.lower,
    **{form: lambda text, form=form: unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC")},
    "ASCII": lambda text: unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_text_that_is_changed_before_it_is_tokenised_has_other_tokens(change):
    tokenize = PieceTokenizer()
    for seed in range(20):
        words = written(new_words(np.random.default_rng(seed), 2))
        assert tokenize(change(" ".join(words))) != tokenize(" ".join(words))


@pytest.mark.parametrize("number", [3, True, np.int32(3), np.array(3), torch.tensor(3)], ids=repr)
def test_whole_numbers_of_any_type_are_indices(number):
    assert index(number, "first") in (1, 3)


@pytest.mark.parametrize("number", [3.0, np.float64(3), torch.tensor(3.0), "3", np.array([3, 4])], ids=repr)
def test_what_a_list_cannot_be_indexed_with_is_refused_by_name(number):
    with pytest.raises(TypeError, match="first is .*; expected a whole number"):
        index(number, "first")


@given(st.data(), st.integers(1, 9), st.integers(1, 9))
def test_of_equally_good_spans_any_is_taken_for_the_first_and_no_other_is(data, length, longest):
    few = st.lists(st.integers(-1, 1), min_size=length, max_size=length)
    start, end = (np.array(data.draw(few), np.float32) for _ in range(2))
    inside = np.array(data.draw(st.lists(st.booleans(), min_size=length, max_size=length)))
    possible = [
        (i, j) for i in range(length) for j in range(i, min(i + longest, length)) if inside[i] and inside[j]
    ]
    for i in range(-1, length + 1):
        for j in range(-1, length + 1):
            taken_for = first_of_equals(start, end, inside, longest, i, j)
            if (i, j) in possible:
                assert taken_for == next(
                    pair for pair in possible if start[pair[0]] + end[pair[1]] == start[i] + end[j]
                )
            else:
                assert taken_for == (i, j)
