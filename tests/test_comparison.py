"""The comparison: pure functions from outcomes to a verdict."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from course_utils.comparison import Expected, KnownMistake, compare, not_run
from course_utils.exercise import Case, Exercise
from course_utils.outcome import Outcome, Problem, decode, encode
from course_utils.report import Report


def sums_to_one(inputs, outputs):
    """The result sums to 1."""
    return np.isclose(outputs["result"].sum(), 1)


def exercise_of(n_cases: int = 1, properties=()) -> Exercise:
    cases = tuple(Case(f"case {index}", lambda rng: {"x": 0}) for index in range(n_cases))
    return Exercise("answer", ("result",), cases, properties)


def outcome(array) -> Outcome:
    return Outcome(({"result": np.asarray(array)},))


def expected(*references, mistakes=()) -> Expected:
    return Expected(tuple([{"x": 0}] for _ in references), tuple(map(outcome, references)), tuple(mistakes))


def verdict_of(got, wanted, **more):
    return compare(exercise_of(**more), [got if isinstance(got, Outcome) else outcome(got)], expected(wanted))


numbers = hnp.arrays(
    np.float64,
    hnp.array_shapes(max_dims=3, max_side=4),
    elements=st.floats(-1e6, 1e6, allow_nan=False),
)
anything = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.bool_]),
    hnp.array_shapes(min_dims=0, max_dims=3, max_side=3),
)


@given(numbers)
def test_an_array_equals_itself(array):
    assert verdict_of(array, array).score == 1


@given(numbers)
def test_float32_of_the_right_values_is_right(array):
    assert verdict_of(array.astype(np.float32), array).score == 1


@given(numbers, st.floats(0.01, 100), st.data())
def test_a_visible_difference_anywhere_is_found_and_located(array, shift, data):
    index = tuple(data.draw(st.integers(0, size - 1)) for size in array.shape)
    got = array.copy()
    got[index] += shift + abs(array[index])
    verdict = verdict_of(got, array)
    assert verdict.score == 0
    assert f"[{', '.join(map(str, index))}]" in verdict.checks[0].detail


@given(anything, anything)
def test_any_two_arrays_can_be_compared_and_reported(got, wanted):
    verdict = verdict_of(got, wanted)
    assert 0 <= verdict.score <= 1
    assert repr(Report(verdict)) and Report(verdict)._repr_html_().endswith("</div>")


@given(anything)
def test_every_array_survives_the_wire(array):
    (received,) = decode(json.loads(json.dumps(encode([outcome(array)]))), 1)
    assert received.runs[0]["result"].dtype == array.dtype
    assert received.runs[0]["result"].shape == array.shape
    assert received.runs[0]["result"].tobytes() == array.tobytes()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["runs", "problem", "changed_inputs", "result", "x"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(json_values)
def test_a_malformed_bundle_is_refused_by_value_error_alone(payload):
    with contextlib.suppress(ValueError):
        decode(payload, 1)


@pytest.mark.parametrize(
    "packed",
    [
        ["f8", [2], "AAAA"],
        ["O8", [1], "AAAAAAAAAAA="],
        ["f8", [-1], ""],
        ["f8", [True], "AAAAAAAAAAA="],
        ["f8", [2**40], "AAAA"],
        ["f8", [1], "AAAAAAAAAAA=" * 1000],
        ["f8", [1], "é"],
        ["f8", [1]],
        "f8",
    ],
)
def test_an_array_that_is_not_what_it_says_is_refused(packed):
    with pytest.raises(ValueError):
        decode([{"runs": [{"result": packed}], "problem": None, "changed_inputs": []}], 1)


def test_both_shapes_are_shown_when_they_differ():
    assert "(2, 3)" in (detail := verdict_of(np.zeros((2, 3)), np.zeros((3, 2))).checks[0].detail)
    assert "(3, 2)" in detail


def test_nan_is_named_and_located():
    assert (
        verdict_of([1.0, np.nan], [1.0, 2.0]).checks[0].detail
        == "`result` contains NaN (not a number), first at [1]."
    )


def test_numbers_are_not_accepted_as_booleans():
    assert "integers; expected booleans" in verdict_of([1, 0], [True, False]).checks[0].detail


def test_the_largest_difference_is_shown_with_both_numbers():
    detail = verdict_of([1.0, 2.5, 9.0], [1.0, 2.0, 3.0]).checks[0].detail
    assert detail == "2 of 3 values differ; the most at `result[2]`: got 9, expected 3."


def test_a_changed_input_costs_its_check_but_not_the_values():
    got = Outcome(({"result": np.ones(2) / 2},), changed_inputs=("x",))
    verdict = verdict_of(got, np.ones(2) / 2)
    assert verdict.passed == 1 and not verdict.correct
    assert "`x` was changed in place" in verdict.checks[-1].detail


def test_properties_alone_earn_nothing():
    verdict = verdict_of([0.5, 0.5], [0.1, 0.9], properties=(sums_to_one,))
    assert verdict.passed == 2  # the property and the untouched inputs
    assert verdict.score == 0


def test_a_property_that_is_broken_says_for_which_case():
    verdict = verdict_of([0.5, 0.4], [0.1, 0.9], properties=(sums_to_one,))
    assert verdict.checks[1].title == "The result sums to 1."
    assert verdict.checks[1].detail == "It does not hold for: case 0"


def mistake(name: str, *arrays) -> KnownMistake:
    outcomes = tuple(array if isinstance(array, Outcome) else outcome(array) for array in arrays)
    return KnownMistake(name, f"{name} title.", f"{name} hint.", outcomes)


def diagnoses(got: list, references: list, mistakes: list) -> list[str]:
    outcomes = [array if isinstance(array, Outcome) else outcome(array) for array in got]
    verdict = compare(exercise_of(len(got)), outcomes, expected(*references, mistakes=mistakes))
    return [diagnosis.name for diagnosis in verdict.diagnoses]


RAISES = Outcome(problem=Problem("exception", "ValueError: not enough values (got 2)"))


def test_output_equal_to_a_known_mistake_is_named():
    assert diagnoses(
        [[2.0], [3.0]], [[1.0], [3.0]], [mistake("other", [7.0], [3.0]), mistake("doubled", [2.0], [3.0])]
    ) == ["doubled"]


def test_correct_output_is_never_diagnosed():
    assert diagnoses([[1.0]], [[1.0]], [mistake("doubled", [2.0])]) == []


def test_unknown_wrong_output_is_not_given_a_false_name():
    assert diagnoses([[5.0], [3.0]], [[1.0], [3.0]], [mistake("doubled", [2.0], [6.0])]) == []


def test_two_mistakes_at_once_are_both_named():
    known = [mistake("first", [2.0], [1.0]), mistake("second", [1.0], [2.0])]
    assert diagnoses([[2.0], [2.0]], [[1.0], [1.0]], known) == ["first", "second"]


def test_of_two_nearly_equal_mistakes_the_closer_is_named():
    known = [mistake("zero", [0.0]), mistake("tiny", [1e-9])]
    assert diagnoses([[1e-9]], [[1.0]], known) == ["tiny"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("lost", [np.nan, [np.nan, np.nan]])
def test_mistakes_that_end_in_nan_alone_are_told_apart_without_a_warning(lost):
    known = [mistake("lost", lost, [1.0]), mistake("lost and near", lost, [1.0 + 1e-9])]
    assert diagnoses([lost, [1.0 + 1e-9]], [np.ones_like(lost), [2.0]], known) == ["lost and near"]


def test_the_same_exception_at_other_shapes_is_the_same_mistake():
    other = Outcome(problem=Problem("exception", "ValueError: not enough values (got 17)"))
    assert diagnoses([other, [2.0]], [[1.0], [1.0]], [mistake("known", RAISES, [2.0])]) == ["known"]


def test_another_exception_in_just_the_same_cases_is_recognised():
    other = Outcome(problem=Problem("exception", "TypeError: only 0-dimensional arrays"))
    assert diagnoses([[1.0], other], [[1.0], [1.0]], [mistake("one_dimensional", [1.0], RAISES)]) == [
        "one_dimensional"
    ]


def test_code_that_raises_everywhere_is_not_given_a_false_name():
    other = Outcome(problem=Problem("exception", "NameError: name 'q' is not defined"))
    assert diagnoses([other, other], [[1.0], [1.0]], [mistake("known", RAISES, RAISES)]) == []


@pytest.mark.parametrize("kind", ["undefined", "stub", "missing"])
def test_an_exercise_that_could_not_run_says_why_in_one_sentence(kind):
    exercise = exercise_of(2)
    verdict = compare(exercise, not_run(exercise, kind), expected([1.0], [1.0]))
    assert verdict.score == 0 and verdict.problem and verdict.summary.startswith("answer: ")


def test_text_from_learners_is_escaped_in_the_report():
    got = Outcome(
        problem=Problem("exception", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>"),
        printed="<b>",
    )
    html = Report(verdict_of(got, [1.0]))._repr_html_()
    assert "<script" not in html and "<img" not in html and "<b>" not in html.split("Your code printed")[1]


def test_code_in_the_words_of_a_mistake_is_set_as_code_and_markup_is_not_markup():
    exercise = exercise_of(1)
    known = KnownMistake("m", "It uses `a < b`.", "Look at <b> and `x[0]`.", (outcome([2.0]),))
    html = Report(compare(exercise, [outcome([2.0])], expected([1.0], mistakes=[known])))._repr_html_()
    assert "<code>a &lt; b</code>" in html and "<code>x[0]</code>" in html and "&lt;b&gt;" in html


def test_the_report_leads_with_the_diagnosis_in_html_and_in_text():
    exercise = exercise_of(1)
    verdict = compare(exercise, [outcome([2.0])], expected([1.0], mistakes=[mistake("doubled", [2.0])]))
    for shown in (repr(Report(verdict)), Report(verdict)._repr_html_()):
        assert shown.index("doubled title.") < shown.index("doubled hint.") < shown.index("case 0")


def test_the_report_says_why_checks_that_hold_may_earn_nothing():
    wrong = verdict_of([0.5, 0.5], [0.1, 0.9], properties=(sums_to_one,))
    assert "2 of 3 checks hold. (0 of 4 points: properties earn points once a case is right)" in repr(
        Report(wrong, (0, 4))
    )
    right = verdict_of([0.1, 0.9], [0.1, 0.9], properties=(sums_to_one,))
    assert "all 3 checks hold. (4 of 4 points)" in repr(Report(right, (4, 4)))
