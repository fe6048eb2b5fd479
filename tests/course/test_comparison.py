"""The comparison: pure functions from outcomes to a verdict."""

from __future__ import annotations

import contextlib
import copy
import json
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from course_utils.checking.comparison import Verdict, compare, not_run
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.expected import Expected, Misconception
from course_utils.checking.outcome import Outcome, Problem, decode, encode, try_exercise
from course_utils.checking.report import Report


def sums_to_one(inputs, outputs):
    """The result sums to 1."""
    return np.isclose(outputs["result"].sum(), 1)


def exercise_of(n_cases: int = 1, properties=()) -> Exercise:
    cases = tuple(Case(f"case {index}", lambda rng: {"x": 0}) for index in range(n_cases))
    return Exercise("answer", ("result",), cases, properties)


def outcome(array) -> Outcome:
    return Outcome(({"result": np.asarray(array)},))


def expected(*references, known=()) -> Expected:
    return Expected(tuple([{"x": 0}] for _ in references), tuple(map(outcome, references)), dict(known))


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


def test_numbers_are_not_accepted_as_booleans():
    assert "integers; expected booleans" in verdict_of([1, 0], [True, False]).checks[0].detail


def test_of_whole_numbers_too_the_largest_difference_is_shown_in_full():
    detail = verdict_of([1, 3, 1234567], [1, 2, 1234667]).checks[0].detail
    assert detail == "2 of 3 values differ, most at `result[2]`: got 1234567, expected 1234667."
    assert "got 0, expected 255" in verdict_of(np.zeros(2, "u1"), np.full(2, 255, "u1")).checks[0].detail


def test_the_largest_difference_is_shown_with_both_numbers():
    detail = verdict_of([1.0, 9.0, 100.5], [1.0, 3.0, 100.0]).checks[0].detail
    assert detail == "2 of 3 values differ, most at `result[1]`: got 9, expected 3."
    assert verdict_of(2.0, 1.0).checks[0].detail == "`result` differs: got 2, expected 1."


def test_of_an_exception_nothing_is_told_beyond_its_message_where_its_line_is_not_known():
    raised = Outcome(problem=Problem("exception", "ValueError: no"))
    assert verdict_of(raised, [1.0]).checks[0].detail == "ValueError: no"


def letters_in(numbers: np.ndarray) -> str:
    return "".join(map(chr, numbers.tolist()))


def lines_in(table: np.ndarray) -> list[str]:
    return [letters_in(row[row > 0]) for row in table]


def told_of_texts(got, wanted, shown) -> str:
    exercise = replace(exercise_of(), shown={"result": shown})
    return compare(exercise, [outcome(got)], expected(wanted)).checks[0].detail


def codes(*lines: str) -> np.ndarray:
    longest = max(map(len, lines))
    return np.array([[*map(ord, line), *[0] * (longest - len(line))] for line in lines])


def test_numbers_that_stand_for_texts_are_shown_as_texts():
    assert (
        told_of_texts(codes("nine")[0], codes("nin")[0], letters_in) == "`result` is 'nine'; expected 'nin'."
    )
    assert (
        told_of_texts(codes("one", "two", "six"), codes("one", "too", "sit"), lines_in)
        == "`result[1]` is 'two'; expected 'too'."
    )
    assert (
        told_of_texts(codes("one"), codes("one", "two"), lines_in)
        == "`result` is ['one']; expected ['one', 'two']."
    )
    assert told_of_texts(codes("one")[0], codes("one")[0], letters_in) == ""


def test_of_a_long_text_the_part_that_differs_is_shown():
    before, after = "a" * 500, "b" * 500
    detail = told_of_texts(codes(f"{before}x{after}")[0], codes(f"{before}y{after}")[0], letters_in)
    assert detail == f"`result` is …{'a' * 20}x{'b' * 39}…; expected …{'a' * 20}y{'b' * 39}…."


@pytest.mark.parametrize("got", [np.array([-1, 2**40]), np.array([0.5, 2.0]), np.array([[True], [False]])])
def test_numbers_that_stand_for_no_text_are_shown_as_numbers(got):
    assert "` is " not in told_of_texts(got, codes("ab")[0], letters_in) != ""


def test_a_case_in_which_an_input_was_changed_does_not_count_and_the_rest_keeps_its_points():
    right, right_with_changes = (
        outcome([0.5, 0.5]),
        Outcome(({"result": np.ones(2) / 2},), changed_inputs=("x",)),
    )

    def judged(*got) -> Verdict:
        exercise = exercise_of(3, properties=(sums_to_one,))
        return compare(exercise, got, expected(*[[0.5, 0.5]] * 3))

    verdict = judged(right, right_with_changes, right)
    assert verdict.score == 3 / 4 and not verdict.correct  # of three cases and a property
    assert [check.counts for check in verdict.checks] == [True, True, True, True, False]
    assert verdict.checks[1].detail == "The values are right, but `x` was changed in place."
    assert verdict.checks[-1].detail == "`x` was changed in place; work on a copy of it."
    assert judged(*[right_with_changes] * 3).score == 1 / 4  # the values are right, so the property counts


def test_to_leave_the_inputs_unchanged_earns_nothing_by_itself():
    assert verdict_of([0.1, 0.9], [0.9, 0.1]).score == 0
    half = compare(exercise_of(2), [outcome([1.0]), outcome([2.0])], expected([1.0], [3.0]))
    assert half.score == 1 / 2


def test_properties_alone_earn_nothing():
    verdict = verdict_of([0.5, 0.5], [0.1, 0.9], properties=(sums_to_one,))
    assert verdict.passed == 2  # the property and the untouched inputs
    assert verdict.score == 0


def test_a_property_that_is_broken_says_for_which_case():
    verdict = verdict_of([0.5, 0.4], [0.1, 0.9], properties=(sums_to_one,))
    assert verdict.checks[1].title == "The result sums to 1."
    assert verdict.checks[1].detail == "It does not hold for: case 0"


def steps_up(inputs, outputs):
    """Every number is larger than the one before it."""
    return outputs["result"][1:] - outputs["result"][:-1] > 0


def names_a_word(inputs, outputs):
    """Every number is a place in the sentence."""
    return [len(["a", "b", "c"][place]) == 1 for place in outputs["result"]]


@pytest.mark.parametrize(
    "got, kind",
    [([True, False, True], "booleans; expected floats"), ([True, True, False], "booleans; expected")],
)
def test_numbers_of_another_kind_are_named_and_no_property_looks_at_them(got, kind):
    verdict = verdict_of(got, [0.5, 1.5, 2.5], properties=(steps_up,))
    assert f"`result` holds {kind}" in verdict.checks[0].detail
    assert verdict.checks[1].detail.startswith("Skipped")


@pytest.mark.parametrize("got", [[0.5, 1.0, 2.0], [np.nan, 1, 2], [np.inf, 1, 2], [2.0**63, 1, 2]])
def test_floats_that_are_no_whole_numbers_are_no_indices_for_a_property(got):
    verdict = verdict_of(got, [0, 1, 2], properties=(names_a_word,))
    assert verdict.score == 0 and verdict.checks[1].detail.startswith("Skipped")


@pytest.mark.parametrize("dtype", ["f2", "f8", "i1", ">i4", "u1", "u8"])
def test_whole_numbers_are_right_in_any_dtype_that_holds_them(dtype):
    assert verdict_of(np.array([0, 1, 2], dtype), [0, 1, 2], properties=(names_a_word, steps_up)).correct
    assert verdict_of(np.array([0, 1, 2], dtype), [0.0, 1.0, 2.0], properties=(steps_up,)).correct


def test_unsigned_numbers_do_not_overflow_in_a_property():
    assert not verdict_of(np.array([2, 1, 0], "u1"), [0.0, 1.0, 2.0], properties=(steps_up,)).checks[1].passed


def test_a_property_that_raises_does_not_hold_and_says_why_and_where():
    verdict = verdict_of([0, 1, 7], [0, 1, 2], properties=(names_a_word,))
    assert not verdict.checks[1].passed
    assert verdict.checks[1].detail == (
        "It cannot be checked with this output (IndexError: list index out of range) for: case 0"
    )


def test_a_relation_that_raises_does_not_hold_and_says_why_and_where():
    def names_the_same_word(runs):
        """Both runs name the same word."""
        return ["a", "b"][runs[0][1]["result"].item()] == "a"

    two = {"result": np.array(2)}
    exercise = Exercise("answer", ("result",), (Case("twice", lambda rng: [{}, {}], names_the_same_word),))
    reference = Outcome(({"result": np.array(0)},) * 2)
    verdict = compare(exercise, [Outcome((two, two))], Expected(([{}, {}],), (reference,)))
    assert verdict.checks[1].detail.startswith("It cannot be checked with this output (IndexError")
    assert verdict.score == 0


def test_an_output_beside_a_problem_is_refused_and_stops_no_comparison():
    both = Outcome(({"result": np.ones(2)},), Problem("exception", "ValueError"))
    with pytest.raises(ValueError, match="both a problem and an output"):
        decode(encode([both]), 1)
    assert possible([both], [[1.0]], [misconception("known", raises("ValueError"))]) == ["known"]


@pytest.mark.parametrize("run", [-1, 16, True, "1", None])
def test_a_problem_comes_from_one_of_the_runs_that_a_case_may_have(run):
    entry = {"runs": [], "problem": ["slow", "", "", run], "changed_inputs": []}
    with pytest.raises(ValueError, match="number of a run"):
        decode([entry], 1)


def test_of_a_case_with_several_inputs_it_is_said_which_differ_first():
    def halved(x):
        if x < 0:
            raise ValueError("below 0")
        return np.array(x / 2 if x < 4 else 0.0)

    given = ([{"x": 1.0}], [{"x": 2.0}, {"x": 4.0}, {"x": 6.0}], [{"x": 3.0}, {"x": -1.0}])
    cases = tuple(
        Case(title, lambda rng, runs=runs: runs)
        for title, runs in zip(("one", "three", "two"), given, strict=True)
    )
    exercise = Exercise("halve", ("result",), cases)
    right = [Outcome(tuple({"result": np.array(run["x"] / 2)} for run in runs)) for runs in given]
    found = decode(encode(try_exercise(exercise, "lab.halve", halved, 1)), 3)
    verdict = compare(exercise, found, Expected(given, tuple(right)))
    assert [check.run for check in verdict.checks if check.case is not None] == [None, (2, 3), (2, 2)]
    assert found[2].problem == Problem("exception", "ValueError: below 0")  # in whichever run it came up


def test_no_output_is_not_right_even_where_the_reference_has_none():
    nothing = Expected(([{}],), (raises("MemoryError"),))
    assert compare(exercise_of(), [Outcome()], nothing).score == 0


def test_text_that_no_file_can_hold_is_replaced_on_arrival():
    name = {"runs": [{"\ud800": ["b1", [], "AA=="]}], "problem": None, "changed_inputs": ["\udc80"]}
    problem = {"runs": [], "problem": ["exception", "\ud83d", "\ude00", 0], "changed_inputs": []}
    outcomes = decode([name, problem], 2)
    assert outcomes[0].changed_inputs == ("?",) and [*outcomes[0].runs[0]] == ["?"]
    assert outcomes[1].problem == Problem("exception", "?", "?")


def misconception(name: str, *arrays) -> tuple[Misconception, tuple[Outcome, ...]]:
    outcomes = tuple(array if isinstance(array, Outcome) else outcome(array) for array in arrays)
    return Misconception(name, f"{name} title.", f"{name} hint."), outcomes


def verdict_on(got: list, references: list, known: list) -> Verdict:
    outcomes = [array if isinstance(array, Outcome) else outcome(array) for array in got]
    return compare(exercise_of(len(got)), outcomes, expected(*references, known=known))


def recognised(got: list, references: list, known: list) -> list[str]:
    return [each.name for each in verdict_on(got, references, known).recognised]


def possible(got: list, references: list, known: list) -> list[str]:
    """The possible causes; no misconception may be certain."""
    verdict = verdict_on(got, references, known)
    assert verdict.recognised == ()
    return [each.name for each in verdict.possible]


def test_where_only_one_of_two_mistakes_can_be_seen_alone_none_is_certain():
    known = [misconception("everywhere", [2.0], [3.0]), misconception("second", [1.0], [9.0])]
    assert recognised([[2.0], [4.0]], [[1.0], [1.0]], known) == []
    contradicted = [misconception("first", [2.0], [1.0]), misconception("second", [1.0], [9.0])]
    assert recognised([[2.0], [4.0]], [[1.0], [1.0]], contradicted) == []


def test_two_pairs_that_explain_the_same_are_not_certain():
    known = [
        misconception("first", [2.0], [1.0]),
        misconception("second", [1.0], [2.0]),
        misconception("other", [1.0], [2.0 + 1e-7]),
    ]
    assert set(possible([[2.0], [2.0]], [[1.0], [1.0]], known)) <= {"first", "second", "other"}


def test_a_cause_of_most_failing_cases_is_possible_unless_it_breaks_a_right_one():
    wanted, got = [[1.0]] * 4, [[2.0], [3.0], [7.0], [1.0]]
    assert possible(got, wanted, [misconception("most", [2.0], [3.0], [4.0], [1.0])]) == ["most"]
    assert possible(got, wanted, [misconception("breaks", [2.0], [3.0], [4.0], [5.0])]) == []
    assert possible(got, wanted, [misconception("one", [2.0], [8.0], [4.0], [1.0])]) == []


def test_misconceptions_that_give_the_same_cannot_be_told_apart():
    known = [misconception("one", [2.0]), misconception("another", [2.0])]
    assert possible([[2.0]], [[1.0]], known) == ["one", "another"]


VALUES = st.lists(st.integers(0, 2), min_size=3, max_size=3)


@given(got=VALUES, reference=VALUES, known=st.lists(VALUES, max_size=4))
def test_a_certain_name_explains_every_case(got, reference, known):
    """One misconception gives the same everywhere; of two, each gives the same wherever it is wrong alone."""
    catalogue = [
        misconception(f"m{at}", *([float(value)] for value in values)) for at, values in enumerate(known)
    ]
    found = recognised([[float(v)] for v in got], [[float(v)] for v in reference], catalogue)
    named = [known[int(name[1:])] for name in found]
    if len(named) == 1:
        assert named[0] == got != reference
    for case in range(3) if named else ():
        wrongly = {values[case] for values in named if values[case] != reference[case]}
        if not wrongly:
            assert got[case] == reference[case]
        elif len(named) == 1 or sum(values[case] != reference[case] for values in named) == 1:
            assert got[case] in wrongly


RAISES = Outcome(problem=Problem("exception", "ValueError: not enough values (got 2)"))


def test_output_equal_to_a_known_mistake_is_named():
    assert recognised(
        [[2.0], [3.0]],
        [[1.0], [3.0]],
        [misconception("other", [7.0], [3.0]), misconception("doubled", [2.0], [3.0])],
    ) == ["doubled"]


def test_correct_output_is_never_given_a_name():
    assert recognised([[1.0]], [[1.0]], [misconception("doubled", [2.0])]) == []


def test_unknown_wrong_output_is_not_given_a_false_name():
    assert recognised([[5.0], [3.0]], [[1.0], [3.0]], [misconception("doubled", [2.0], [6.0])]) == []


def test_two_mistakes_at_once_are_both_named():
    known = [misconception("first", [2.0], [1.0]), misconception("second", [1.0], [2.0])]
    assert recognised([[2.0], [2.0]], [[1.0], [1.0]], known) == ["first", "second"]


def test_of_two_nearly_equal_mistakes_the_closer_is_named():
    known = [misconception("zero", [0.0]), misconception("tiny", [1e-9])]
    assert recognised([[1e-9]], [[1.0]], known) == ["tiny"]


def test_a_mistake_is_recognised_where_large_numbers_that_cancel_out_leave_another_processor_s_rounding():
    rng = np.random.default_rng(5)
    mistaken = (60 * rng.standard_normal((3, 7, 17))).astype(np.float32)
    mistaken[0, 0, :5] = 1e-7
    elsewhere = mistaken + (2e-5 * rng.uniform(0.9, 1, mistaken.shape)).astype(np.float32)
    known = [misconception("early", mistaken)]
    assert recognised([elsewhere], [np.ones_like(mistaken)], known) == ["early"]
    assert recognised([mistaken + 0.1], [np.ones_like(mistaken)], known) == []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("lost", [np.nan, [np.nan, np.nan]])
def test_mistakes_that_end_in_nan_alone_are_told_apart_without_a_warning(lost):
    known = [misconception("lost", lost, [1.0]), misconception("lost and near", lost, [1.0 + 1e-9])]
    assert recognised([lost, [1.0 + 1e-9]], [np.ones_like(lost), [2.0]], known) == ["lost and near"]


def raises(message: str) -> Outcome:
    return Outcome(problem=Problem("exception", message))


@pytest.mark.parametrize(
    "message, same",
    [
        ("ValueError: of shapes (2,3) and (3,)", "ValueError: of shapes (2,3) and (3,)"),
        ("TypeError: <Layer at 0x7f3a>, shape (2, 3)", "TypeError: <Layer at 0x55bc91>, shape (2, 3)"),
        ("ValueError: in line 3: bad axis", "ValueError: in line 17: bad axis"),
        ("ValueError: in /tmp/ipykernel_8/1234.py: shape", "ValueError: in /tmp/ipykernel_9/567.py: shape"),
        ("ValueError: dense_12 has no such shape", "ValueError: dense_7 has no such shape"),
        ("ValueError: 0.25 is no probability", "ValueError: 0.75 is no probability"),
        (
            "AssertionError: accepted; it returned (264600, 1, 2)",
            "AssertionError: accepted; it returned (0, 0)",
        ),
    ],
)
def test_the_same_exception_is_the_same_mistake_whatever_depends_on_the_process_or_the_style(message, same):
    assert recognised(
        [raises(same), [2.0]], [[1.0], [1.0]], [misconception("known", raises(message), [2.0])]
    ) == ["known"]


@pytest.mark.parametrize(
    "message, other",
    [
        ("ValueError: operands of shapes (3,4) (3,) ", "ValueError: operands of shapes (3,4) (4,) "),
        ("ValueError: operands of shapes (3,4) (3,) ", "ValueError: operands of shapes (2,3,4) (3,) "),
        ("RuntimeError: Incompatible shapes: [3,6] vs. [3,7]", "RuntimeError: Incompatible shapes: [3,6] vs. [1,7]"),
        ("ValueError: matmul: (size 6 is different from 3)", "ValueError: matmul: (size 5 is different from 3)"),
        ("RuntimeError: shapes (12x7 and 6x5)", "RuntimeError: shapes (12x7 and 6x4)"),
        ("ValueError: not enough values to unpack (expected 4, got 3)", "ValueError: not enough values to unpack (expected 4, got 2)"),
        ("WrongModule: `w.weight` has shape (4, 4).", "WrongModule: `w.weight` has shape (4, 12)."),
        ("ValueError: shapes (3,4) (3,) ", "RuntimeError: the size of tensor a (4) must match tensor b (7)"),
    ],
)  # fmt: skip
def test_an_exception_about_other_shapes_is_another_mistake(message, other):
    known = [misconception("known", raises(message), [1.0])]
    assert recognised([raises(other), [1.0]], [[1.0], [1.0]], known) == []


def test_of_two_operands_either_may_come_first_in_an_exception():
    known = [misconception("known", raises("ValueError: shapes (2,1,7) (2,3,5,7) ()"), [1.0])]
    other = raises("ValueError: operands could not be broadcast together with shapes (2,3,5,7) (2,1,7) ")
    assert possible([other, [1.0]], [[1.0], [1.0]], known) == ["known"]


def test_another_exception_in_just_the_same_cases_is_a_possible_cause():
    other = raises("TypeError: only 0-dimensional arrays")
    known = [misconception("one_dimensional", [1.0], RAISES, RAISES)]
    assert possible([[1.0], other, other], [[1.0]] * 3, known) == ["one_dimensional"]


def test_one_case_is_too_few_for_an_exception_about_something_else():
    known = [misconception("one_dimensional", [1.0], RAISES)]
    assert possible([[1.0], raises("TypeError: only 0-dimensional arrays")], [[1.0]] * 2, known) == []
    assert possible([[1.0], raises("ValueError: no such value")], [[1.0]] * 2, known) == ["one_dimensional"]


@pytest.mark.parametrize(
    "message",
    [
        "NameError: name 'q' is not defined",
        "RuntimeError: view size is not compatible with input tensor's size and stride (at least one dimension "
        "spans across two contiguous subspaces). Use .reshape(...) instead.",
    ],
)
def test_no_other_mistake_is_looked_for_behind_an_exception_that_says_what_the_mistake_is(message):
    known = [misconception("known", [1.0], RAISES)]
    assert possible([[1.0], raises(message)], [[1.0], [1.0]], known) == []
    known = [misconception("known", [1.0], raises(f"{message} Again."))]
    assert possible([[1.0], raises(message)], [[1.0], [1.0]], known) == ["known"]


def test_code_that_raises_everywhere_is_not_given_a_false_name():
    other = Outcome(problem=Problem("exception", "NameError: name 'q' is not defined"))
    assert recognised([other, other], [[1.0], [1.0]], [misconception("known", RAISES, RAISES)]) == []


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
    known = {Misconception("m", "It uses `a < b`.", "Look at <b> and `x[0]`."): (outcome([2.0]),)}
    html = Report(compare(exercise, [outcome([2.0])], expected([1.0], known=known)))._repr_html_()
    assert "<code>a &lt; b</code>" in html and "<code>x[0]</code>" in html and "&lt;b&gt;" in html


def test_the_report_leads_with_the_misconception_in_html_and_in_text():
    exercise = exercise_of(1)
    verdict = compare(exercise, [outcome([2.0])], expected([1.0], known=[misconception("doubled", [2.0])]))
    for shown in (repr(Report(verdict)), Report(verdict)._repr_html_()):
        assert shown.index("doubled title.") < shown.index("doubled hint.") < shown.index("case 0")


def test_the_report_says_why_checks_that_hold_may_earn_nothing():
    wrong = verdict_of([0.5, 0.5], [0.1, 0.9], properties=(sums_to_one,))
    assert (
        "2 of 3 checks passed. (0 of 4 points: properties earn points only if at least one case is right)"
        in repr(Report(wrong, points=(0, 4)))
    )
    right = verdict_of([0.1, 0.9], [0.1, 0.9], properties=(sums_to_one,))
    assert "all 3 checks passed. (4 of 4 points)" in repr(Report(right, points=(4, 4)))


# ---------------------------------------------------------------------------------- inputs left unchanged


class Place(NamedTuple):
    start: int
    words: list


class EqualToEverything:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash("a")


class Hostile(EqualToEverything):
    def __eq__(self, other):
        raise SystemExit

    __hash__ = EqualToEverything.__hash__


def changed_by(learner, value) -> tuple[str, ...]:
    """The inputs that are said to be changed once ``learner(value)`` has had its copy of the value."""
    case = Case("a case", lambda rng: {"value": value})

    def and_answers(value):
        learner(value)
        return 0

    (outcome,) = try_exercise(Exercise("answer", ("result",), (case,)), "lab.answer", and_answers, 1)
    assert outcome.problem is None
    return outcome.changed_inputs


@pytest.mark.parametrize(
    "value, change",
    [
        ([3, 1, 2], lambda v: v.sort()),
        ([1, 2], lambda v: v.__setitem__(0, 7)),
        ([1, 2], lambda v: v.__setitem__(0, 1.0)),
        ([0.5, 1.5], lambda v: v.__setitem__(1, float("nan"))),
        (["a"], lambda v: v.__setitem__(0, "b")),
        ([None], lambda v: v.__setitem__(0, 0)),
        ([[1], [2]], lambda v: v[1].append(3)),
        ({"a": 1}, lambda v: v.update(a=2)),
        ({"a": 1}, lambda v: v.update(b=2)),
        ({"a": None}, lambda v: v.pop("a")),
        ({"a": {"b": [1]}}, lambda v: v["a"]["b"].clear()),
        ({1, 2}, lambda v: v.add(3)),
        ({1, 2}, lambda v: (v.remove(1), v.add(3))),
        ((1, [2]), lambda v: v[1].append(3)),
        (Place(0, ["a"]), lambda v: v.words.append("b")),
        ({Place(0, ()): 1}, lambda v: v.update({Place(0, ()): 2})),
        ([np.zeros(3)], lambda v: v[0].fill(1)),
        (np.zeros((2, 3)), lambda v: setattr(v, "shape", (3, 2))),
        (np.zeros(3), lambda v: setattr(v, "dtype", np.dtype("i8"))),
        ([1, 2], lambda v: v.__setitem__(0, EqualToEverything())),
        ([1, 2], lambda v: v.__setitem__(0, Hostile())),
        ([1, 2], lambda v: v.__setitem__(0, v)),
        ({"a": 1}, lambda v: (v.pop("a"), v.update({EqualToEverything(): 1}))),
        ({"a": 1}, lambda v: (v.pop("a"), v.update({Hostile(): 1}))),
        ({"a"}, lambda v: (v.clear(), v.add(EqualToEverything()))),
        ({"a"}, lambda v: (v.clear(), v.add(Hostile()))),
    ],
)
def test_a_change_in_place_is_seen_wherever_it_is(value, change):
    before = copy.deepcopy(value)
    assert changed_by(change, value) == ("value",)
    assert isinstance(value, np.ndarray | list) or value == before  # the check's own is as it was


def test_a_change_of_a_tensor_in_place_is_seen():
    torch = pytest.importorskip("torch")
    for value in ([torch.zeros(3)], {"w": torch.tensor([1.0, torch.nan], dtype=torch.bfloat16)}):
        assert changed_by(lambda v: None, value) == ()
        assert changed_by(lambda v: (v[0] if isinstance(v, list) else v["w"]).add_(1), value) == ("value",)
        assert changed_by(lambda v: (v[0] if isinstance(v, list) else v["w"]).resize_(0), value) == ("value",)


@pytest.mark.slow  # TensorFlow takes seconds to import
def test_a_change_of_a_tensorflow_variable_is_seen():
    tf = pytest.importorskip("tensorflow")
    value = [tf.Variable([1.0, float("nan")]), tf.constant([1, 2])]
    assert changed_by(lambda v: None, value) == ()
    assert changed_by(lambda v: v[0].assign([2.0, float("nan")]), value) == ("value",)
    assert changed_by(lambda v: v.__setitem__(1, v[1] + 1), value) == ("value",)


leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
    | hnp.arrays(st.sampled_from([np.float32, np.int64, np.bool_, "U2", "c16"]), hnp.array_shapes(min_dims=0, max_dims=2, min_side=0))
    | st.sets(st.integers() | st.tuples(st.text(max_size=2)), max_size=3)
    | st.builds(Place, st.integers(), st.just([]))
    | st.builds(object)
)  # fmt: skip
nested = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(st.text(max_size=2), inner)
    ),
    max_leaves=10,
)


@given(nested)
def test_inputs_that_are_only_looked_at_are_never_said_to_be_changed(value):
    assert changed_by(repr, value) == ()


@given(nested, st.data())
def test_any_item_that_is_put_in_or_taken_out_is_seen(value, data):
    value = [value]

    def change(copied):
        place = copied
        while True:
            places = place.values() if isinstance(place, dict) else place
            deeper = [inner for inner in places if isinstance(inner, list | dict)]
            if not deeper or data.draw(st.booleans()):
                break
            place = data.draw(st.sampled_from(deeper))
        if isinstance(place, dict):
            place.update({"a new key": None}) if data.draw(st.booleans()) or not place else place.popitem()
        else:
            place.append(None) if data.draw(st.booleans()) or not place else place.pop()

    assert changed_by(change, value) == ("value",)


def test_keys_put_back_in_another_order_are_no_change():
    assert changed_by(lambda v: v.update(a=v.pop("a")), {"a": [1], "b": [2]}) == ()


def test_what_an_object_of_the_course_s_own_counts_while_it_is_used_is_no_change():
    class Tokenizer:
        calls = 0

        def __call__(self):
            self.calls += 1

    assert changed_by(lambda v: v(), Tokenizer()) == ()
    assert changed_by(next, iter([1, 2])) == ()


def test_what_a_check_says_of_a_result_does_not_look_like_an_error_of_the_learner_s_code():
    def told(message: str, where: str = "") -> str:
        verdict = verdict_of(Outcome(problem=Problem("exception", message, where)), [1.0])
        return repr(Report(verdict, "lab.answer"))

    said = told("TypeError: it returned 26.5, a float; expected three whole numbers.")
    assert "It returned 26.5, a float; expected three whole numbers." in said and "TypeError" not in said
    for message, where in (
        ("TypeError: it returned 2", "answer, line 3 of its cell: raise TypeError('it returned 2')"),
        ("TypeError: unsupported operand type(s)", ""),
    ):
        assert message in told(message, where)
