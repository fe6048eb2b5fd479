"""No array can stop the judge, in any exercise of any lab, and nothing that is wrong takes full marks.

What a lab's reference and mistakes give is read from its release, so nothing is computed here.
"""

from __future__ import annotations

import copy
import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from project import LABS, ROOT

from course_utils.checking.comparison import Verdict, compare
from course_utils.checking.exercise import Exercise, exercises_of
from course_utils.checking.expected import FILE_NAME, Expected, load_expected
from course_utils.checking.outcome import Outcome, Problem, decode, encode
from course_utils.checking.report import Report
from grader.grade.judge import read_outcomes

EXERCISES: dict[str, tuple[str, Exercise]] = {
    f"{slug}.{name}": (lab, exercise)
    for lab in LABS
    for slug in [lab.partition("_")[2]]
    for name, exercise in exercises_of(slug).items()
}
ALL_IN_THE_FULL_PROOF = [
    pytest.param(key, marks=() if lab in LABS[:4] else pytest.mark.slow)
    for key, (lab, _) in EXERCISES.items()
]

DTYPES = [
    "b1",
    *(f"i{size}" for size in (1, 2, 4, 8)),
    *(f"u{size}" for size in (1, 2, 4, 8)),
    "f2",
    "f4",
    "f8",
]
"""All that the wire carries; in memory each may have either byte order."""


@cache
def expected_of(key: str) -> Expected:
    lab, exercise = EXERCISES[key]
    return load_expected(ROOT / "notebooks" / lab / FILE_NAME, key, exercise)


def judged(key: str, outcomes) -> Verdict:
    """The verdict, after what must be true of every verdict: it can be shown, and no wrong array took full marks."""
    exercise, expected = EXERCISES[key][1], expected_of(key)
    verdict = compare(exercise, outcomes, expected)
    assert 0 <= verdict.score <= 1
    assert (repr(Report(verdict)) + Report(verdict)._repr_html_()).encode("utf-8")
    if verdict.score == 1 and not exercise.goals:  # where there are goals, other values may be right, too
        assert all(is_right(exercise, *pair) for pair in zip(outcomes, expected.reference, strict=True)), (
            "full marks for wrong arrays"
        )
    return verdict


def is_right(exercise: Exercise, outcome: Outcome, reference: Outcome) -> bool:
    """Written apart from the judge's own comparison; twice as tolerant, as it calculates more precisely."""
    if outcome.problem or [set(run) for run in outcome.runs] != [set(run) for run in reference.runs]:
        return False
    pairs = [
        (run[name], wanted[name])
        for run, wanted in zip(outcome.runs, reference.runs, strict=True)
        for name in wanted
    ]
    return all(
        got.shape == wanted.shape
        and (got.dtype.kind == "b") == (wanted.dtype.kind == "b")
        and np.allclose(
            got.astype(float), wanted.astype(float), 2 * exercise.rtol, 2 * exercise.atol, equal_nan=True
        )
        for got, wanted in pairs
    )


def with_arrays(outcomes, change) -> list[Outcome]:
    """The outcomes with every array changed."""
    with np.errstate(all="ignore"):
        return [
            Outcome(tuple({name: change(array) for name, array in run.items()} for run in outcome.runs))
            for outcome in outcomes
        ]


def extremes(dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """All that is odd about a kind of number, over and over again."""
    if dtype.kind == "b":
        odd = [True, False]
    elif dtype.kind == "f":
        largest, least = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal
        odd = [np.nan, 0, np.inf, largest, -0.0, 1, -np.inf, -largest, least, 0.5, -1]
    else:
        odd = [np.iinfo(dtype).max, 0, 1, np.iinfo(dtype).min]
    return np.resize(np.array(odd, dtype), shape)


def same_values(array: np.ndarray, other: np.ndarray) -> bool:
    return (array.dtype.kind == "b") == (other.dtype.kind == "b") and np.array_equal(
        array.astype(float), other.astype(float), equal_nan=True
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("key", ALL_IN_THE_FULL_PROOF)
def test_arrays_of_every_dtype_are_judged_and_right_values_are_right_in_each(key):
    reference = expected_of(key).reference
    for number, name in enumerate(DTYPES):
        dtype = np.dtype(
            f"{'<>'[number % 2]}{name}"
        )  # i1 i4 u1 u4 f2 f8 are big-endian, where they have an end
        cast = with_arrays(reference, lambda array, dtype=dtype: array.astype(dtype))
        verdict = judged(key, cast)
        nothing_lost = all(
            same_values(run[name], other[name])
            for outcome, was in zip(cast, reference, strict=True)
            for run, other in zip(outcome.runs, was.runs, strict=True)
            for name in other
        )
        if nothing_lost:
            assert verdict.correct, (dtype, verdict.checks)
    for dtype in (np.dtype("?"), np.dtype(">i8"), np.dtype("<u8"), np.dtype("<f2"), np.dtype(">f8")):
        judged(key, with_arrays(reference, lambda array, dtype=dtype: extremes(dtype, array.shape)))
    for odd in (np.nan, 2**62):
        judged(key, with_arrays(reference, lambda array, odd=odd: np.full(array.shape, odd)))


@pytest.mark.parametrize("key", ALL_IN_THE_FULL_PROOF)
def test_arrays_of_another_form_are_judged_and_earn_nothing(key):
    reference = expected_of(key).reference
    forms = [
        lambda array: array[None],
        lambda array: np.zeros((0,) * (array.ndim + 1)),
        lambda array: np.zeros((1,) if array.ndim == 0 else ()),
    ]
    for form in forms:
        assert judged(key, with_arrays(reference, form)).score == 0
    runs = [outcome.runs for outcome in reference]
    other_runs = [
        [Outcome(())] * len(runs),
        [Outcome(case[:-1]) for case in runs],
        [Outcome((*case, case[0])) for case in runs],
        [Outcome(tuple({f"{name}?": array for name, array in run.items()} for run in case)) for case in runs],
        [Outcome(tuple({**run, "more": np.ones(3)} for run in case)) for case in runs],
        [Outcome(tuple({} for run in case)) for case in runs],
    ]
    for outcomes in other_runs:
        assert judged(key, outcomes).score == 0


# ---------------------------------------------------------------------------------- whatever comes

texts = st.sampled_from(
    [
        "",
        "IndexError",
        "ValueError: operands could not be broadcast together with shapes (2,3) () (4,) ",
        "size ٣",
    ]
) | st.text(max_size=20)
problems = st.builds(Problem, st.sampled_from(Problem.KINDS), texts, texts)
arrays = st.sampled_from([*DTYPES, *(f">{name}" for name in DTYPES)]).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
)


@st.composite
def one_outcome(draw, key: str, index: int) -> Outcome:
    """What the reference or a mistake gives in one case, with some of it replaced."""
    expected = expected_of(key)
    sources = [expected.reference, *expected.misconceptions.values()]
    source = draw(st.sampled_from(sources))[index]
    changed = tuple(draw(st.lists(texts, max_size=2)))
    if source.problem or draw(st.integers(0, 4)) == 0:
        return Outcome(problem=source.problem if draw(st.booleans()) and source.problem else draw(problems))
    runs = [dict(run) for run in source.runs]
    for _ in range(draw(st.integers(0, 2))):
        run, name = draw(st.sampled_from(runs)), draw(st.sampled_from([*source.runs[0]]))
        dtype = np.dtype(draw(st.sampled_from(DTYPES)))
        like = source.runs[0][name]
        run[name] = draw(
            arrays | st.just(extremes(dtype, like.shape)) | st.just(like.astype(dtype.newbyteorder(">")))
        )
    return Outcome(tuple(runs), changed_inputs=changed)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of casts in this test
@settings(max_examples=120, deadline=None)
@given(data=st.data())
@pytest.mark.slow
def test_whatever_outcomes_come_they_are_judged_and_on_the_wire_no_otherwise(data):
    key = data.draw(st.sampled_from([*EXERCISES]))
    exercise = EXERCISES[key][1]
    outcomes = [data.draw(one_outcome(key, index)) for index in range(len(exercise.cases))]
    here = judged(key, outcomes)
    carried = read_outcomes(exercise, json.loads(json.dumps(encode(outcomes))))
    there = judged(key, carried)
    assert [check.passed for check in here.checks] == [check.passed for check in there.checks]
    assert here.score == there.score


FEW = (
    "why_attention.additive_scores",
    "transformer_pytorch.beam_search",
    "named_entity_recognition.clean_entities",
    "question_answering_pytorch.make_features",
    "question_answering_tensorflow.best_spans",
)

packed = st.tuples(
    st.sampled_from([*DTYPES, "O", "O8", "V8", "c16", "f16", "<f8", "f8,f8", ""]),
    st.lists(st.sampled_from([0, 1, 2, 3, 2**31 - 1]), max_size=4) | st.just([1] * 16),
    st.sampled_from(
        ["", "AA==", "/w==", "AAAAAAAA+H8=", "AAAAAAAA8H8=", "//////////8=", "é", "A", "====", "\ud800"]
    ),
).map(list)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_bundle_that_was_tampered_with_is_read_or_counts_as_not_run_and_is_judged(data):
    key = data.draw(st.sampled_from(FEW))
    exercise = EXERCISES[key][1]
    payload = copy.deepcopy(json.loads(json.dumps(encode(list(expected_of(key).reference)))))
    for _ in range(data.draw(st.integers(1, 3))):
        case = data.draw(st.sampled_from(payload))
        what = data.draw(st.sampled_from(["array", "name", "runs", "problem", "changed"]))
        if what == "array" and case["runs"]:
            run = case["runs"][0]
            run[data.draw(st.sampled_from([*run]))] = data.draw(packed)
        elif what == "name" and case["runs"]:
            case["runs"][0]["\ud800" * data.draw(st.integers(1, 200))] = data.draw(packed)
        elif what == "runs":
            case["runs"] = case["runs"] * data.draw(st.integers(0, 17))
        elif what == "problem":
            case["problem"] = [data.draw(st.sampled_from(Problem.KINDS)), "\udc80" * 3, "\ud800"]
            case["runs"] = case["runs"] if data.draw(st.booleans()) else []
        else:
            case["changed_inputs"] = ["\ud800"]
    judged(key, read_outcomes(exercise, payload))


# ---------------------------------------------------------------------------------- what never gets so far


@pytest.mark.parametrize(
    "dtype", ["O", "O8", "V8", "c8", "c16", "f16", "U2", "S8", "M8", "m8", "<f8", "f8,f8", "b8"]
)
def test_the_wire_carries_no_dtype_but_numbers_and_booleans(dtype):
    packed = [dtype, [1], "AAAAAAAAAAA="]
    with pytest.raises(ValueError, match="unknown dtype"):
        decode([{"runs": [{"result": packed}], "problem": None, "changed_inputs": []}], 1)
