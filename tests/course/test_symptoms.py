"""What is said about a wrong output is true, whatever the output is."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.expected import Expected
from course_utils.checking.outcome import Outcome, Problem
from course_utils.checking.symptoms import forms, functions, places, values
from course_utils.checking.symptoms.cases import titles_of
from course_utils.checking.symptoms.exceptions import complaint_of
from course_utils.checking.symptoms.find import MOST, symptoms_of
from course_utils.checking.symptoms.looks import LOOKS

RNG = np.random.default_rng(3)


def judged(got: list, wanted: list, inputs: list[dict] | None = None, names: tuple[str, ...] = ("y",)):
    """The symptoms of one output, case by case; a list of arrays for several names."""
    cases = tuple(Case(f"case {i}", lambda rng: {}) for i in range(len(got)))
    exercise = Exercise("answer", names, cases)

    def outcome(value) -> Outcome:
        if isinstance(value, Problem):
            return Outcome(problem=value)
        values = value if len(names) > 1 else [value]
        return Outcome((dict(zip(names, map(np.asarray, values), strict=True)),))

    given = tuple([run] for run in inputs or [{} for _ in got])
    return symptoms_of(
        exercise, [outcome(each) for each in got], Expected(given, tuple(map(outcome, wanted)))
    )


def names_of(*arguments, **named) -> list[str]:
    return [each.name for each in judged(*arguments, **named)]


def test_every_look_stands_once_in_the_table_of_looks():
    written = [
        function
        for module in (forms, functions, places, values)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and not name.startswith("_")
        and inspect.get_annotations(function) == {"pair": "Pair", "return": "Iterator[Found]"}
    ]
    assert len(written) > 30
    assert sorted(map(repr, written)) == sorted(repr(look.see) for look in LOOKS)


TABLES = [RNG.normal(size=(3, 5)), RNG.normal(size=(2, 4, 6))]


@pytest.mark.parametrize(
    "name, wrongly",
    [
        ("all zeros", np.zeros_like),
        ("constant", lambda x: np.full_like(x, 3.0)),
        ("transposed", lambda x: np.swapaxes(x, -1, -2)),
        ("factor", lambda x: 0.37 * x),
        ("offset", lambda x: x + 1.5),
        ("negated", lambda x: -x),
        ("one minus", lambda x: 1 - x),
        ("shifted", lambda x: np.concatenate([np.zeros_like(x[..., :1]), x[..., :-1]], -1)),
        ("shifted", lambda x: np.roll(x, -1, -2) + np.eye(1, x.shape[-2], x.shape[-2] - 1).T),
        ("reversed", lambda x: x[..., ::-1]),
        ("another order", lambda x: x[..., [1, 0, *range(2, x.shape[-1])]]),
        ("other places", lambda x: np.random.default_rng(0).permutation(x.ravel()).reshape(x.shape)),
        ("function of it", np.exp),
        ("function left out", lambda x: np.arctanh(x) if np.abs(x).max() < 1 else np.arctanh(np.clip(x, -0.9, 0.9)) * 0 + x * np.nan),
        ("factor of rows", lambda x: x * np.arange(2, x.shape[-2] + 2)[:, None]),
        ("factor of columns", lambda x: x * np.arange(2, x.shape[-1] + 2)),
        ("offset of rows", lambda x: x + np.arange(1, x.shape[-2] + 1)[:, None] ** 2),
        ("last missing", lambda x: x[..., :-1]),
        ("first missing", lambda x: x[..., 1:, :]),
        ("last added", lambda x: np.concatenate([x, x[..., :1]], -1)),
        ("axis kept", lambda x: x[..., None]),
        ("axis gone", lambda x: x.mean(-1)),
        ("another shape", lambda x: x.reshape(-1)),
        ("only the first wrong", lambda x: np.concatenate([x[..., :1, :] ** 2 + 9, x[..., 1:, :]], -2)),
        ("only the last wrong", lambda x: np.concatenate([x[..., :-1], x[..., -1:] ** 2 + 9], -1)),
        ("nan", lambda x: np.where(x > 0, np.nan, x)),
        ("nearly right", lambda x: x * (1 + 0.01 * np.sin(np.arange(x.size).reshape(x.shape)))),
        ("all alike", lambda x: x.mean(-2, keepdims=True) + np.zeros_like(x)),
    ],
)  # fmt: skip
def test_each_symptom_is_seen(name, wrongly):
    tables = [np.tanh(table) for table in TABLES] if name == "function left out" else TABLES
    assert name in names_of([wrongly(table) for table in tables], tables)


def test_masks_have_symptoms_of_their_own():
    wanted = [np.tri(4, dtype=bool), np.tri(6, dtype=bool)]
    assert names_of([~mask for mask in wanted], wanted)[0] == "inverted"
    assert names_of([mask.T for mask in wanted], wanted)[0] == "transposed"
    assert names_of([mask.astype(float) for mask in wanted], wanted)[0] == "numbers for booleans"
    assert names_of([np.ones_like(mask) for mask in wanted], wanted)[0] == "all True"
    assert names_of([mask & ~np.eye(len(mask), dtype=bool) for mask in wanted], wanted)[0] == "diagonal"


def test_a_title_that_leans_on_the_one_before_it_is_not_quoted_alone():
    titles = ("pre-norm", "the same, post-norm", "once more, longer")
    exercise = Exercise("f", ("y",), tuple(Case(title, lambda rng: {}) for title in titles))
    assert titles_of(exercise, [0, 1]) == "“pre-norm” and the case after “pre-norm”"
    assert titles_of(exercise, [2]) == "the case after the case after “pre-norm”"


def test_the_entries_of_a_list_are_its_first_axis():
    layers = [RNG.normal(size=(3, 2, 4, 5, 6)) for _ in range(2)]
    (said, *_) = judged([each[::-1] for each in layers], layers)
    assert said.sentence == "`y` is in reverse order along the first axis."


def test_of_the_entries_of_a_list_the_axis_is_named_in_words():
    layers = RNG.normal(size=(3, 2, 4, 5, 6))
    wrong = layers.copy()
    wrong[-1] += np.sin(9 * layers[-1])
    (said, *_) = judged([wrong], [layers])
    assert said.sentence == "`y` is wrong only in the last entry along the first axis."


def test_a_single_row_has_no_rows_that_are_off():
    rows = [RNG.normal(size=5), RNG.normal(size=4)]
    assert "offset of rows" not in names_of([rows[0] + 0.3, rows[1] + 0.7], rows)


def test_an_input_and_another_output_are_named():
    tables = [RNG.normal(size=(3, 5)), RNG.normal(size=(2, 5))]
    (said,) = judged(tables, [table**2 for table in tables], inputs=[{"x": table} for table in tables])[:1]
    assert said.sentence == "`y` is the input `x`, unchanged."
    pairs = [(table, table**2) for table in tables]
    swapped = judged([pair[::-1] for pair in pairs], pairs, names=("a", "b"))
    assert [each.sentence for each in swapped] == ["`a` is what `b` should be.", "`b` is what `a` should be."]


def shares(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis, keepdims=True))
    return exponentials / exponentials.sum(axis, keepdims=True)


def test_shares_of_scores_that_were_scaled_in_another_way_are_recognised():
    wanted = [shares(table) for table in TABLES]
    (base_two, *_) = judged([shares(table * np.log(2)) for table in TABLES], wanted)
    assert base_two.name == "shares of a multiple"
    assert "multiplied by 0.693: as if powers of 2 were taken instead of powers of e" in base_two.sentence
    (halved, *_) = judged([shares(table / 2) for table in TABLES], wanted)
    assert halved.sentence == "`y` is what a softmax gives if the right scores are multiplied by 0.5."
    (by_sizes, *_) = judged([shares(table / len(table)) for table in TABLES], wanted)
    assert "differs from case to case" in by_sizes.sentence and "0.3" not in by_sizes.sentence
    along = [shares(table, axis=0) for table in TABLES]  # the axis is that of what is expected
    assert names_of([shares(2 * table, axis=0) for table in TABLES], along)[0] == "shares of a multiple"
    blocked = np.array([[True, False, True, True, True]] * 3)
    masked = [np.where(blocked, table, -1e9) for table in TABLES[:1]]
    assert names_of([shares(2 * masked[0])] * 2, [shares(masked[0])] * 2)[0] == "shares of a multiple"


def test_shares_of_other_scores_are_not_taken_for_a_multiple():
    wanted = [shares(table) for table in TABLES]
    for wrong in (
        [shares(table + RNG.normal(size=table.shape)) for table in TABLES],
        [shares(table**2) for table in TABLES],
        [shares(2 * table) * 0.9 for table in TABLES],
        [shares(np.zeros_like(table)) for table in TABLES],
    ):
        assert "shares of a multiple" not in names_of(wrong, wanted)
    pairs = [shares(RNG.normal(size=(1, 2))) for _ in range(2)]  # of two shares, any others are a multiple
    assert "shares of a multiple" not in names_of([shares(RNG.normal(size=(1, 2))) for _ in range(2)], pairs)


def test_an_input_that_is_added_twice_or_not_at_all_is_named():
    biases = [RNG.normal(size=table.shape[-1]) for table in TABLES]
    inputs = [{"weights": {"out.bias": bias}, "other": bias[::-1]} for bias in biases]
    twice = [table + bias for table, bias in zip(TABLES, biases, strict=True)]
    (said, *_) = judged(twice, TABLES, inputs=inputs)
    assert (
        said.sentence == "`y` is what is expected plus `out.bias`, as if that were added one time too many."
    )
    (said, *_) = judged(TABLES, twice, inputs=inputs)
    assert said.sentence == "`y` is what is expected minus `out.bias`, as if that were left out once."
    zeros = [{"bias": np.zeros_like(bias)} for bias in biases]  # says nothing, whatever is wrong
    assert not {"an input too often", "an input left out"} & set(names_of(twice, TABLES, inputs=zeros))


def test_a_log_softmax_is_named_beside_a_symptom_that_says_less():
    logs = [np.log(shares(table)) for table in TABLES]
    assert judged(logs, TABLES)[0].sentence == "`y` is the log-softmax of what is expected."
    first_only = [logs[0], TABLES[1] - np.abs(RNG.normal(size=TABLES[1].shape)) - 0.1]  # all too small
    assert (
        judged(first_only, TABLES)[0].sentence == "In “case 0”: `y` is the log-softmax of what is expected."
    )


def test_where_a_mask_blocks_is_seen():
    wanted = [RNG.normal(size=(2, 3, 4)) for _ in range(2)]
    masks = [np.array([[[True, False, True, True]]] * 2), np.array([[[True, True, False, False]]] * 2)]
    wrong = [np.where(mask, table, 7.0) for mask, table in zip(masks, wanted, strict=True)]
    (first, *_) = judged(wrong, wanted, inputs=[{"mask": mask} for mask in masks])
    assert first.sentence == "`y` is wrong only where `mask` is False, and right everywhere else."


def test_to_be_right_where_a_mask_leaves_nothing_is_not_worth_saying():
    mask = np.array([[True, True, False], [True, False, False]])
    wanted = [np.where(mask, RNG.normal(size=(2, 3)), 0) for _ in range(2)]
    wrong = [np.where(mask, RNG.normal(size=(2, 3)), 0) for _ in range(2)]
    assert "places that are not blocked" not in names_of(wrong, wanted, inputs=[{"mask": mask}] * 2)
    beside = [np.where(mask, each, 7) for each in (*wanted, *wrong)]
    assert "places that are not blocked" in names_of(beside[2:], beside[:2], inputs=[{"mask": mask}] * 2)


def test_where_inputs_are_changed_nothing_is_said_of_how_many_cases_are_right():
    right, wrong = {"y": np.arange(4.0) ** 2}, {"y": np.array([5.0, 1, 7, 2])}
    exercise = Exercise("f", ("y",), tuple(Case(f"case {i}", lambda rng: {}) for i in range(4)))
    expected = Expected(tuple([{"x": 1}] for _ in range(4)), (Outcome((right,)),) * 4)
    for changed, told in (((), True), (("x",), False), (("x", "z"), False)):
        outcomes = [
            *[Outcome((right,), changed_inputs=changed)] * 3,
            Outcome((wrong,), changed_inputs=changed),
        ]
        said = [each.name for each in symptoms_of(exercise, outcomes, expected)]
        assert ("one case" in said) == told and ("an input changed" in said) != told


def test_what_failing_cases_share_is_said():
    right, wrong = np.arange(4.0) ** 2, np.array([5.0, 1, 7, 2])
    inputs = [{"mask": None}, {"mask": np.ones(2, bool)}, {"mask": None}, {"mask": np.ones(3, bool)}]
    said = judged([right, wrong, right, wrong], [right] * 4, inputs=inputs)
    assert said[-1].sentence == "Wrong exactly in the cases in which `mask` is given."
    said = judged([right, right, right, wrong], [right] * 4, inputs=inputs)
    assert said[-1].sentence == "Right in every case but one."


def test_a_weight_that_is_not_there_is_no_reason_as_learners_do_not_see_its_name():
    right, wrong = np.arange(4.0) ** 2, np.array([5.0, 1, 7, 2])
    inputs = [{"weights": {"norm.weight": np.ones(2)}}, {"weights": {}}] * 2
    assert not any("norm" in each.sentence for each in judged([right, wrong] * 2, [right] * 4, inputs=inputs))


def test_what_is_the_same_in_each_place_is_not_said_to_be_shifted():
    row = RNG.normal(size=(1, 4))
    rows = np.repeat(row, 3, axis=0)
    nearly = rows + 1e-7 * RNG.normal(size=rows.shape)  # as rounding leaves it
    assert "shifted" not in names_of([np.concatenate([row + 1, rows[1:]])], [nearly])


def test_of_whole_numbers_0_may_be_what_a_check_has_filled_up_and_minus_1_none():
    wanted = RNG.integers(3, 50, size=(3, 7))
    got = wanted * (np.arange(7) < [[3], [5], [6]])
    said = judged([got] * 3, [wanted] * 3)
    assert "`y` is 0, or ends too early, wherever it is wrong." in [each.sentence for each in said]
    (said, *_) = judged([np.zeros_like(wanted)], [wanted])
    assert said.sentence == "`y` is 0 everywhere, or empty."
    both = judged([(got, got)] * 3, [(wanted, wanted)] * 3, names=("y", "z"))
    assert "`y` and `z` are 0, or end too early, wherever they are wrong." in [each.sentence for each in both]
    one_short = np.array([3, 1, 4, -1, -1])
    assert "function left out" not in names_of([one_short] * 3, [np.maximum(one_short, 0)] * 3)


def test_what_two_cases_to_compare_differ_in_is_stated():
    right, wrong = np.arange(4.0) ** 2, np.array([5.0, 1, 7, 2])
    for inputs, words in (
        ([{"a": None, "b": 1.5}, {"a": 2, "b": 2.5}], "`a` is given"),
        ([{"a": 2}, {"a": None}], "`a` is not given"),
        ([{"x": np.ones(3)}, {"x": np.ones((4, 1))}], "`x` has 2 axes"),
        ([{"x": 5}, {"x": 0}], "`x` is 0"),
    ):
        others = [{**inputs[1], "z": 2}, {"z": 3}, {"z": 4}, {"z": 5}]  # the first two are wrong, too
        got = [right, wrong, wrong, wrong, right, right]
        said = judged(got, [right] * 6, inputs=[*inputs, *others])
        assert said[-1].name == "two to compare" and "?" not in said[-1].sentence
        assert said[-1].sentence == f"What sets the first case below apart from all that are right: {words}."


def test_a_size_or_a_number_alone_is_no_reason():
    """Every case has its own: to name them would only send somebody there."""
    right, wrong = np.arange(4.0) ** 2, np.array([5.0, 1, 7, 2])
    for one, other in (({"x": np.ones(3)}, {"x": np.ones(4)}), ({"x": 5}, {"x": 7})):
        said = judged([right, *[wrong] * 3, right, right], [right] * 6, inputs=[one, *[other] * 3, one, one])
        assert said[-1].sentence == "Right in 3 of 6 cases, such as “case 0”."


def test_what_the_few_right_cases_share_is_said_only_if_they_are_many():
    """With a dropout of 1, say, most of a function is hidden, and so are its mistakes."""
    right, wrong = np.arange(4.0) ** 2, np.array([5.0, 1, 7, 2])
    hidden, usual = {"rate": 0.5, "training": True}, {"rate": 0.5}
    for many, words in (
        (1, "Right in 2 of 6 cases, such as “case 0”."),
        (3, "In all cases that are right, `training` is True. In the first case below, that is not so."),
    ):
        inputs = [hidden, usual, usual, usual, hidden, *[hidden] * many]
        got = [right, *[wrong] * 4, *[right] * many]
        assert judged(got, [right] * len(got), inputs=inputs)[-1].sentence.endswith(words)


def test_what_the_first_wrong_case_has_alone_is_said_only_if_the_right_ones_are_many():
    """Where a dropout of 1 hides everything, that the rate is 0 elsewhere is no reason."""
    right, wrong = np.arange(4.0) ** 2, np.array([5.0, 1, 7, 2])
    inputs = [{"rate": 0.0}, {"rate": 1.0}, {"rate": 0.0}, {"rate": 0.5}, {"rate": 0.0}, {"rate": 1.0}]
    said = judged([wrong, right, wrong, wrong, wrong, right], [right] * 6, inputs=inputs)
    assert said[-1].sentence == "Right in 2 of 6 cases, such as “case 1”."


def runs_of(inputs: list[list[dict]], got: list[list], wanted: list[list]) -> list[str]:
    """What is said of cases that run the code several times."""
    exercise = Exercise("f", ("y",), tuple(Case(f"case {i}", lambda rng: {}) for i in range(len(inputs))))

    def outcome(runs) -> Outcome:
        return runs if isinstance(runs, Outcome) else Outcome(tuple({"y": np.asarray(run)} for run in runs))

    given = tuple(inputs)
    found = symptoms_of(exercise, [*map(outcome, got)], Expected(given, tuple(map(outcome, wanted))))
    return [each.sentence for each in found]


def test_what_the_wrong_runs_of_failing_cases_lack_is_no_reason():
    """Each failing case has a run with a mask, but it is the other one that is wrong."""
    right, wrong = np.arange(4.0) ** 2, np.array([5.0, 1, 7, 2])
    mask, none = {"mask": np.ones(2, bool)}, {"mask": None}
    inputs = [[none, none], [mask, none], [none, none], [mask, none]]
    wanted = [[right, right]] * 4
    in_masked, in_others = (
        [[right, right], pair, [right, right], pair] for pair in ([wrong, right], [right, wrong])
    )
    assert runs_of(inputs, in_masked, wanted)[-1] == "Wrong exactly in the cases in which `mask` is given."
    assert runs_of(inputs, in_others, wanted)[-1] == "Right in every case but two."


def test_what_the_right_cases_share_by_chance_is_no_reason():
    """Other runs, without it, are right as well."""
    right, wrong = np.arange(4.0) ** 2, np.array([5.0, 1, 7, 2])
    two, three = {"x": np.ones((2, 2))}, {"x": np.ones((1, 2, 2))}
    wanted = [[right, right]] * 5
    got = [[right, right], [right, right], *[[right, wrong]] * 3]
    chance = [[two, three], [two, three], *[[three, three]] * 3]
    assert runs_of(chance, got, wanted)[-1].startswith("Right in 2 of 5 cases")
    axes = [[two, two], [two, two], *[[three, three]] * 3]
    got = [[right, right], [right, right], *[[wrong, wrong]] * 3]
    assert runs_of(axes, got, wanted)[-1] == "Wrong exactly in the cases in which `x` has 3 axes."


def test_where_a_check_says_what_is_wrong_the_cases_in_which_it_looks_are_no_reason():
    """It calls twice in evaluation mode only, say."""
    right = np.arange(4.0) ** 2
    inputs = [{"training": False}, {"training": False}, {"training": True}, {"training": True}]
    for message, where, told in (
        ("TypeError: two calls return the same list.", "", False),
        ("WrongForm: `layers` is a list.", "", False),
        ("TypeError: unsupported operand", "f, line 2 of its cell: return x + y", True),
    ):
        problem = Problem("exception", message, where)
        said = judged([problem, problem, right, right], [right] * 4, inputs=inputs)
        assert any("in which" in each.sentence for each in said) == told, message
        three = judged([problem, problem, problem, right, right], [right] * 5, inputs=[*inputs[:1], *inputs])
        assert any("in which" in each.sentence for each in three) == told and (told or not three), message


def test_a_row_of_a_mask_is_a_reason_only_for_what_is_wrong_in_that_row():
    wanted = RNG.normal(size=(3, 4))
    empty, gap = np.array([[1, 1], [0, 0], [1, 1]], bool), np.array([[1, 1], [0, 0], [0, 1]], bool)
    full = np.ones((3, 2), bool)
    inputs = [{"mask": each} for each in (full, empty, full, gap)]
    wrong = [wanted + np.array([[0.0], [each == 1], [0.0]]) * 9 for each in (0, 1, 0, 1)]
    said = judged(wrong, [wanted] * 4, inputs=inputs)
    assert said[-1].sentence == "Wrong exactly in the cases in which a row of `mask` is False everywhere."
    inputs = [{"mask": each} for each in (full, gap, full, gap)]
    wrong = [wanted + np.array([[0.0], [0.0], [each]]) * 9 for each in (0, 1, 0, 1)]
    said = judged(wrong, [wanted] * 4, inputs=inputs)
    assert said[-1].sentence == "Wrong exactly in the cases in which a row of `mask` has True after False."


def test_more_axes_than_two_are_a_reason_however_many():
    right, wrong = np.arange(4.0) ** 2, np.array([5.0, 1, 7, 2])
    inputs = [{"x": np.ones((2,) * axes)} for axes in (2, 3, 4, 2)]
    said = judged([right, wrong, wrong, right], [right] * 4, inputs=inputs)
    assert said[-1].sentence == "Wrong exactly in the cases in which `x` has more than 2 axes."


def test_of_inputs_that_are_given_together_none_is_singled_out():
    right, wrong = np.arange(4.0) ** 2, np.array([5.0, 1, 7, 2])
    both, none = {"first_mask": np.ones(2), "mask": np.ones(2)}, {"first_mask": None, "mask": None}
    said = judged([right, wrong, right, wrong], [right] * 4, inputs=[both, none] * 2)
    assert said[-1].sentence == "Wrong exactly in the cases in which `first_mask` and `mask` are not given."


def test_what_another_case_that_is_right_has_too_is_no_difference():
    right, wrong = np.arange(4.0) ** 2, np.array([5.0, 1, 7, 2])
    shapes = [(2, 3, 5), (2, 4), (2, 5), (2, 6), (3, 4), (3, 6)]
    inputs = [{"x": np.ones(shape)} for shape in shapes]
    got = [right, wrong, wrong, wrong, right, right]
    said = judged(got, [right] * 6, inputs=inputs)
    # not that it has two axes, and no shape that only one of them has
    assert said[-1].sentence == "Right in 3 of 6 cases, such as “case 0”."
    inputs[1]["x"] = np.full((2, 4), 1000.0)
    said = judged(got, [right] * 6, inputs=inputs)
    assert "larger than 100" not in said[-1].sentence  # two of the three that are wrong have no such numbers
    inputs[2]["x"] = np.full((2, 5), 1000.0)
    said = judged(got, [right] * 6, inputs=inputs)
    assert said[-1].sentence.endswith("that are right: `x` has numbers with an absolute value above 100.")


def test_where_few_values_are_wrong_the_calculation_is_not_blamed():
    wanted = np.arange(20.0) ** 2
    few, many = wanted.copy(), wanted + np.sin(wanted)
    few[[3, 11]] = [5, 900]
    (*_, said) = judged([few, few], [wanted] * 2)
    assert said.sentence == (
        "Every case fails, but most values are right: 18 of 20 in the first one. So what is special about the others?"
    )
    assert judged([many, many], [wanted] * 2)[-1].name == "the form is right"
    assert judged([few[:4], few[:4]], [wanted[:4]] * 2)[-1].name == "the form is right"  # too few to tell


def test_what_an_input_is_nearly_too_is_not_called_nearly_right():
    wanted = RNG.normal(size=(3, 4)) + 5
    got, before = wanted * 1.004, wanted * 0.999
    assert "nearly right" in names_of([got] * 2, [wanted] * 2)
    assert "nearly right" not in names_of([got] * 2, [wanted] * 2, inputs=[{"weights": before}] * 2)
    nested = [{"given": {"weights": before}}] * 2
    assert "nearly right" not in names_of([got] * 2, [wanted] * 2, inputs=nested)


def test_weights_after_a_step_are_nearly_right_only_if_the_step_is():
    before = 20 * RNG.normal(size=(3, 40))
    step = RNG.normal(size=(3, 40))
    inputs = [{"weights": before}] * 2
    for factor, is_nearly in ((1.01, True), (0.5, False)):
        found = names_of([before + factor * step] * 2, [before + step] * 2, inputs=inputs)
        assert ("nearly right" in found) == is_nearly, factor


def test_ids_are_names_and_so_never_too_large():
    wanted = np.array([[3, 9, 4], [7, 5, 8]])
    got = wanted + np.array([[0, 5, 2], [11, 0, 3]])
    assert "too large" in names_of([got] * 2, [wanted] * 2, names=("y",))
    for output in ("ids", "decoder_ids", "labels"):
        both = (output, "loss")
        found = judged([[got, 1.0]] * 2, [[wanted, 1.0]] * 2, names=both)
        assert "too large" not in [each.name for each in found]


def test_one_place_that_is_twice_another_is_no_factor():
    assert "factor" not in names_of([np.array(2)], [np.array(4)])
    assert "factor" in names_of([np.array(2.0)], [np.array(4.0)])


def test_nothing_is_said_to_be_off_by_0():
    wanted = np.array([1e5, 2.3, 3.7, -4.1])
    got = wanted.copy()
    got[1] += 0.1
    assert "offset" not in names_of([got] * 2, [wanted] * 2)


def test_of_a_single_yes_or_no_it_is_said_which_is_right():
    (said, *_) = judged([np.array(True)] * 2, [np.array(False)] * 2)
    assert said.sentence == "`y` should be False."
    assert "true or false" not in names_of(
        [np.array(True), np.array(False)], [np.array(False), np.array(True)]
    )


def test_of_many_outputs_the_shorter_list_is_told():
    outputs = [f"y{number}" for number in range(6)]

    def said_of(wrong):
        right = [np.arange(4.0) ** 2] * 6
        got = [
            array + np.sin(array) + 1 if name in wrong else array
            for name, array in zip(outputs, right, strict=True)
        ]
        found = judged([got] * 2, [right] * 2, names=tuple(outputs))
        return [each.sentence for each in found if each.name == "only one output"]

    assert said_of(outputs[:1]) == ["Only `y0` differs; everything else is right."]
    assert said_of(outputs[:4]) == ["Only `y4` and `y5` are right; everything else differs."]


@pytest.mark.parametrize("raised", [False, True])
def test_the_inputs_that_are_compared_are_those_that_are_wrong(raised):
    right, wrong = ({"y": np.array(number)} for number in (1.0, 5.0))
    shapes = [[(3,)], [(3,), (4, 1)], [(4, 1)], *[[(5,)]] * 3]
    given = tuple([{"x": np.ones(shape)} for shape in runs] for runs in shapes)
    reference = tuple(Outcome((right,) * len(runs)) for runs in shapes)
    second = Outcome(problem=Problem("exception", "E", run=1)) if raised else Outcome((right, wrong))
    outcomes = [reference[0], second, *[Outcome((wrong,))] * 2, *reference[4:]]
    exercise = Exercise("f", ("y",), tuple(Case(f"case {i}", lambda rng: {}) for i in range(6)))
    said = [each.sentence for each in symptoms_of(exercise, outcomes, Expected(given, reference))]
    assert any("that are right: `x` has 2 axes." in sentence for sentence in said)


def test_a_coincidence_is_no_symptom():
    """Of one or two different numbers, some way of rounding gives the right ones in every other case."""
    wanted = [np.array([1, 0, 1]), np.array([0, 1, 1])]
    got = [np.array([0.3, 0.0, 0.9]), np.array([0.0, 0.5, 0.1])]
    assert "not rounded" not in names_of(got, wanted)
    counts = [np.array([3, 1, 7]), np.array([2, 5, 4])]
    assert "not rounded" in names_of([each - 0.4 for each in counts], counts)


def test_everywhere_is_said_of_the_cases_that_fail_only():
    right = [RNG.normal(size=(2, 3)) for _ in range(3)]
    said = judged([right[0], right[1], right[2] * np.nan], right)
    assert [each.sentence for each in said] == [
        "In the case that fails: `y` is NaN everywhere.",
        "Right in every case but one.",
    ]
    (first, *_) = judged([each * np.nan for each in right], right)
    assert first.sentence == "`y` is NaN everywhere."


def test_said_of_two_outputs_only_they_are_plural():
    mask = np.array([[True, False, True, True]] * 3)
    right = RNG.normal(size=(3, 4))
    got = np.where(mask, right, 7.0)
    said = judged([(got, 2 * got)], [(right, 2 * right)], [{"mask": mask}], names=("y", "z"))
    assert "`y` and `z` are wrong only where `mask` is False, and right everywhere else." in [
        each.sentence for each in said
    ]


def test_settings_of_a_check_which_learners_never_see_are_not_named():
    wanted = [RNG.normal(size=3) for _ in range(4)]
    got = [wanted[0] + 1, wanted[1] + 1, *wanted[2:]]
    for name, named in (("training", True), ("mode afterwards counts", False)):
        inputs = [{name: True}, {name: True}, {name: False}, {name: False}]
        said = " ".join(each.sentence for each in judged(got, wanted, inputs))
        assert (f"`{name}` is True" in said) == named


def test_a_sentence_about_some_cases_only_says_which():
    tables = [TABLES[0], TABLES[1] ** 2]
    (said, *_) = judged([tables[0].T, tables[1] + tables[1] ** 2], tables)
    assert said.sentence.startswith("In “case 0”: ")


def test_a_rounding_is_seen_and_shares_that_are_nearly_certain_are_none():
    shares = [np.array([0.7165, 0.1153, 0.1012, 0.067]), np.array([0.511, 0.222, 0.267])]
    (said, *_) = judged([np.round(each, 2) for each in shares], shares)
    assert said.sentence == "`y` is what is expected, rounded to 2 digits after the point."
    (said, *_) = judged([np.round(each, 1).astype(np.float32) for each in shares[1:]], shares[1:])
    assert said.sentence == "`y` is what is expected, rounded to one digit after the point."
    certain = [np.array([1.0, 0, 0, 0]), np.array([1.0, 0, 0])]
    assert "rounded" not in names_of(certain, shares)


def test_what_is_nearly_right_in_some_cases_only_has_other_causes_than_what_is_so_in_all():
    wanted = [RNG.normal(size=(3, 5)) + 9 for _ in range(3)]
    got = [each * (1 + 0.01 * np.sin(np.arange(15).reshape(3, 5))) for each in wanted]
    assert judged(got, wanted)[0].sentence == (
        "`y` is nearly right: it differs by less than 2 % everywhere. That may be a small constant, such as eps or n - 1 for n, or "
        "a rounding."
    )
    (said, *_) = judged([*got[:1], *wanted[1:]], wanted)
    assert "In other cases it is right. Perhaps digits get lost" in said.sentence
    four = [*wanted, wanted[0]]
    (said, *_) = judged([got[0], wanted[1] * -3, *four[2:]], four)
    assert (
        said.sentence.startswith("In “case 0”: `y` is nearly right") and "In other cases" not in said.sentence
    )
    raised = Problem("exception", "ValueError: x")
    assert "In other cases it is right" not in judged([got[0], raised, raised], wanted)[0].sentence
    single = [np.array(2.5), np.array(3.7)]
    (said, *_) = judged([single[0] * 1.01, single[1] * 0.99], single)
    assert said.sentence == "`y` is nearly right: it differs by less than 2 %."


def test_another_eps_is_nearly_right_in_most_places():
    """In rows that hardly vary, the difference is large."""
    wanted = [RNG.normal(size=(6, 5)) + 9 for _ in range(2)]
    got = [each * (1 + 0.01 * np.sin(np.arange(30).reshape(6, 5))) for each in wanted]
    for each in got:
        each[2, 3] *= 5
    (said, *_) = judged(got, wanted)
    assert said.sentence.startswith("`y` is nearly right in most places: there it differs by less than 2 %.")
    for each in got:
        each[1:4] *= 5
    assert "nearly right" not in names_of(got, wanted)


def test_what_a_check_looks_at_beside_the_outputs_is_no_output_that_is_right():
    tables = [RNG.normal(size=(3, 4)) for _ in range(2)]
    wrong = [table + np.sin(5 * table) for table in tables]

    def said_of(names, got, wanted):
        found = judged(got, wanted, names=names)
        return [each.sentence for each in found if each.name == "only one output"]

    names = ("y", "same in training")
    assert said_of(names, [(each, True) for each in wrong], [(each, True) for each in tables]) == []
    (said,) = said_of(names, [(each, False) for each in tables], [(each, True) for each in tables])
    assert said == "`y` is right; only `same in training` differs."
    names = ("y", "z", "called in time")
    got, wanted = [(a, b, True) for a, b in zip(wrong, tables, strict=True)], [(a, a, True) for a in tables]
    wanted = [(a, b, True) for a, b in zip(tables, tables, strict=True)]
    assert said_of(names, got, wanted) == ["`z` is right; only `y` differs."]
    names = ("losses", "weight first")
    assert said_of(names, [(w, t) for w, t in zip(wrong, tables, strict=True)], [(t, t) for t in tables]) == [
        "`weight first` is right; only `losses` differs."
    ]


def test_a_length_that_is_wrong_in_few_cases_is_not_said_beside_what_is_wrong_in_all():
    ids = np.array([3, 9, 4, 7])
    got = [[1.0 + number, ids] for number in range(5)]
    wanted = [[1.5 + number**2, ids] for number in range(5)]
    got[2][1] = ids[:2] + 1
    assert "too short" not in names_of(got, wanted, names=("score", "ids"))
    for each in got:
        each[1] = ids[:2] + 1
    assert "too short" in names_of(got, wanted, names=("score", "ids"))


def test_that_only_one_row_is_right_is_not_said_of_a_single_array():
    table = RNG.normal(size=(4, 5))
    got = table + np.sin(table) * np.array([[1.0], [2], [3], [0]])
    assert "only the last right" not in names_of([got, table], [table, table])
    assert "only the last right" in names_of([got, got], [table, table])
    losses = np.array([2.5, 2.25, 1.75])
    assert "only the first right" in names_of([losses + np.array([0, 0.5, 0.125]), losses], [losses, losses])


def test_where_gradients_alone_differ_no_single_cause_is_named():
    case = Case("case 0", lambda rng: {}, reaches=("x",))
    exercise = Exercise("f", ("y",), (case,), backward=lambda *arguments: {})
    right = {"y": np.ones(2), "gradient at x": np.array(3.0)}
    expected = Expected(([{"x": 0}],), (Outcome((right,)),))
    (said, *_) = symptoms_of(exercise, [Outcome(({**right, "gradient at x": np.array(2.0)},))], expected)
    assert said.name == "gradient" and said.sentence.count("?") == 2 and "dropout" in said.sentence


@pytest.mark.parametrize(
    "message, name",
    [
        (
            "ValueError: The truth value of an array with more than one element is ambiguous.",
            "truth of an array",
        ),
        (
            "TypeError: linear(): argument 'input' (position 1) must be Tensor, not tuple",
            "tuple for an array",
        ),
        ("ValueError: operands could not be broadcast together with shapes (3,4) (3,)", "shapes"),
        ("NameError: name 'q' is not defined", "unknown name"),
        ("ValueError: Only input tensors may be passed as positional arguments.", "options by position"),
        ("TypeError: 'float' object cannot be interpreted as an integer", "whole number needed"),
        ("TypeError: slice indices must be integers or None", "whole number needed"),
        ("TypeError: list indices must be integers or slices, not float", "whole number needed"),
        ("TypeError: list indices must be integers or slices, not str", "name for a place"),
        (
            "IndexError: boolean index did not match indexed array along axis 1; size of axis is 4 but size of "
            "corresponding boolean axis is 1",
            "mask as an index",
        ),
        (
            "IndexError: The shape of the mask [1, 6] at index 0 does not match the shape of the indexed tensor "
            "[4, 6] at index 0",
            "mask as an index",
        ),
        (
            "RuntimeError: view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
            "order in memory",
        ),
        ("OverflowError: Python integer 300 out of bounds for uint8", "too large for its type"),
        ("OverflowError: Python int too large to convert to C long", "too large for its type"),
        ("OverflowError: math range error", "overflow"),
        ("OverflowError: (34, 'Numerical result out of range')", "overflow"),
    ],
)
def test_exceptions_are_put_in_the_words_of_the_course(message, name):
    (said,) = judged([Problem("exception", message)] * 2, [np.ones(2)] * 2)
    assert said.name == name
    some, *_ = judged([Problem("exception", message), np.zeros(2)], [np.ones(2)] * 2)
    assert some.sentence.startswith("In “case 0”: ")


def test_what_a_few_numbers_show_by_chance_is_not_said():
    bags = np.zeros((4, 9))
    more = bags.copy()
    more[0, 5], more[1, 3] = 1, 1  # of a table whose rows and columns count different things
    assert "diagonal" not in names_of([more], [bags])
    scores = np.array([0.5, 0.25, 1.0, 0.75])
    assert "every second wrong" not in names_of([scores + np.array([1, 0, 0.5, 0])], [scores])
    longer = np.arange(1.0, 9.0) ** 0.5
    assert "every second wrong" in names_of([longer + np.tile([1.0, 0], 4) * longer**2], [longer])
    shares = np.array([0.1, 0.3, 0.4, 0.2])
    assert "rounded" not in names_of([np.zeros(4)], [shares])
    assert "rounded" in names_of([np.round(9 * shares)], [9 * shares])
    places = np.array([4, -1, 2, -1])  # where there is none, a check writes -1
    assert "negative expected" not in names_of([np.maximum(places, 0)], [places])
    assert "negative expected" in names_of([np.maximum(100 * places, 7)], [100 * places])


def test_a_factor_of_one_number_is_not_said_if_another_case_has_another():
    assert "factor" in names_of([0.5, 0.3], [1.0, 0.6])
    assert "factor" not in names_of([0.5, 0.7], [1.0, 0.6])


@pytest.mark.parametrize(
    "message, name",
    [
        ("WrongModule: Two calls with the same input give two different outputs, so it is random.", "random"),
        ("WrongModule: No gradient reaches `w_query.weight`.", "no gradient"),
        ("ValueError: No gradients provided for any variable.", "no gradient"),
        ("WrongModule: `w_query` has no bias.", "weights"),
        ("TypeError: the layer has 2 weights; expected 1: token_embeddings.", "weights"),
        (
            "TypeError: its weights have the shapes [(5, 2)]; expected a kernel (5, 2) and a bias (2,).",
            "weights",
        ),
        ("WrongLayer: the configuration that get_config gives lacks dtype.", "configuration"),
        ("WrongLayer: get_config gives the same dict at every call.", "one dict for all"),
        (
            "WrongLayer: the models share one configuration: get_config of the first gives num_layers=3.",
            "shared configuration",
        ),
        (
            "WrongLayer: the configuration that get_config gives has another max_len than the model was made with.",
            "another configuration",
        ),
        (
            "WrongLayer: the model that was made again is named a; its configuration says b.",
            "another configuration",
        ),
        ("WrongWeights: kernel has shape (20, 20), which cannot hold one of shape (28, 20).", "weights"),
        ("WrongForm: `labels` is of torch.float32; expected a tensor of whole numbers.", "another form"),
        ("WrongForm: there is no parameter `classifier.bias`; it has: classifier.weight.", "weights"),
        ("TypeError: a batch has ids of int32 and labels of int64; expected int32 for both.", "another form"),
    ],
)
def test_what_is_wrong_with_a_module_is_told_apart(message, name):
    assert complaint_of(Problem("exception", message)) == name


def test_what_a_check_says_itself_is_not_said_once_more_in_general():
    ones = [np.ones(2)] * 2
    for message in (
        "WrongModule: `w_query` has no bias.",
        "TypeError: it returned a tensor of torch.float64; expected torch.float32, as it gets.",
        "ValueError: `self.table` has shape (1, 7, 6); for max_len 7 and d_model 6 it must be (7, 6).",
        "WrongForm: `requires_grad` of a parameter is not what it was before.",
        "WrongModule: Two calls with the same input give two different outputs. Is there dropout?",
    ):
        assert judged([Problem("exception", message)] * 2, ones) == ()
        (said,) = judged([Problem("exception", message), ones[0]], ones)
        assert said.name == "one case"
    cut = "no gradient reaches the weight `w_key.bias`: `detach` or a way through NumPy cuts it off."
    assert judged([Problem("gradient", cut)] * 2, ones) == ()
    named = [Problem("exception", "WrongLayer: get_config gives the same dict at every call.")] * 2
    assert names_of(named, ones) == ["one dict for all"]  # that says more


def test_a_label_that_there_is_not_is_no_other_form():
    problem = Problem("exception", "WrongForm: 'Co' is no label here; the labels are PER, LOC.")
    assert "another form" not in names_of([problem] * 2, [np.ones(2)] * 2)


def test_axes_of_length_one_are_counted_and_rightness_apart_from_them_is_not_said_of_another_kind_of_numbers():
    mask = RNG.random((3, 5)) < 0.5
    for got, words in (
        (mask[None], "has an axis of length 1 too many, and is right apart from that."),
        (mask[None, None], "has axes of length 1 too many, and is right apart from that."),
        (mask[None, None] * 1.0, "has axes of length 1 too many."),
    ):
        assert [each.sentence for each in judged([got], [mask])] == [f"`y` {words}"]
    longer = [(np.r_[table, table], np.r_[table, table]) for table in TABLES[:1]]
    (said, *_) = judged(longer, [(TABLES[0], TABLES[0])], names=("y", "z"))
    assert said.sentence.endswith("without the last 3 entries they would be right.")
    two = [(TABLES[0], TABLES[0] + 1)]
    (said,) = judged(two, [tuple(part[None, None] for part in two[0])], names=("y", "z"))
    assert said.sentence == "`y` and `z` lack axes of length 1, and are right apart from that."


def test_a_kind_of_tensor_that_names_two_kinds_of_numbers_is_not_called_two_that_meet():
    ragged = (
        "TypeError: `padded_batch` is only supported for datasets that produce tensor elements but type spec of elements in the "
        "input dataset is not a subclass of TensorSpec: `RaggedTensorSpec(TensorShape([None]), tf.int32, 0, tf.int64)`."
    )
    meet = "TypeError: Tensors in list passed to 'values' of 'ConcatV2' Op have types [int32, int64] that don't all match."
    assert (
        names_of([Problem("exception", ragged)] * 2, [np.ones(2)] * 2) == []
    )  # nor shapes that do not match
    assert "kinds of numbers" in names_of([Problem("exception", meet)] * 2, [np.ones(2)] * 2)


def test_shapes_that_meet_outside_of_the_learner_s_code_are_not_looked_for_in_it():
    message = "ValueError: target and output must have the same rank: target.shape=(3,), output.shape=(3, 5)"
    own, outside = (
        Problem("exception", message, "loss, line 3 of its cell: return a @ b"),
        Problem("exception", message),
    )
    (inside,), (elsewhere,) = (judged([each] * 2, [np.ones(2)] * 2) for each in (own, outside))
    assert "before the line that fails" in inside.sentence
    assert "before the line that fails" not in elsewhere.sentence
    assert "its result does not have the shape" in elsewhere.sentence


def test_an_assertion_of_the_learner_is_told_from_one_about_the_answer():
    own = Problem("exception", "AssertionError: too long", "forward, line 9 of its cell: assert n <= 5")
    about = Problem("exception", "AssertionError: no ValueError was raised")
    assert names_of([own] * 2, [np.ones(2)] * 2)[0] == "assertion"
    assert "assertion" not in names_of([about] * 2, [np.ones(2)] * 2)


@pytest.mark.parametrize(
    ("message", "where", "name"),
    [
        (
            "IndexError: too long",
            "forward, line 9 of its cell: raise IndexError('too long')",
            "own exception",
        ),
        ("IndexError: index 9 is out of bounds", "forward, line 9 of its cell: return x[9]", "index"),
        ("ValueError: Unknown variable: <Variable path=scale, shape=()>", "", "unknown variable"),
        (
            "TypeError: Using a symbolic `tf.Tensor` as a Python `bool` is not allowed.",
            "",
            "truth in a graph",
        ),
        ("ValueError: The truth value of an array with more than one element", "", "truth of an array"),
        (
            "ValueError: Could not automatically infer the output shape\n\nNone values not supported.",
            "",
            "unknown size",
        ),
        ("AttributeError: 'SymbolicTensor' object has no attribute 'item'", "", "value in a graph"),
        (
            "NotImplementedError: Could not infer the output shape.\n\nCannot convert a symbolic tf.Tensor (x:0) to a numpy array.",
            "mean, line 3 of its cell: states = np.asarray(states)",
            "value in a graph",
        ),
        (
            "WrongForm: after a call in evaluation mode the encoder is in training mode, so its own dropout would always act.",
            "",
            "left changed",
        ),
        ("WrongForm: it is a list; expected a torch.nn.Module.", "", "another form"),
        ("WrongForm: there is a parameter too many: `dense.weight`. Only `encoder` has some.", "", "weights"),
        ("WrongForm: `classifier.weight` has shape (5, 384); expected (5, 8).", "", "weights"),
        ("`table` cannot be trained: its `requires_grad` is False.", "", "no gradient"),
        (
            "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
            "",
            "no way back",
        ),
    ],
)
def test_what_an_exception_is_about(message, where, name):
    assert complaint_of(Problem("exception", message, where)) == name


def test_no_function_is_seen_where_it_changes_nothing():
    shares = [np.array([[0.2, 0.3, 0.5], [0.1, 0.6, 0.3]])]
    found = names_of([shares[0] * 0.9995], shares)  # not the absolute value of it, and not "1 times"
    assert found[0] == "nearly right" and "factor" not in found
    tiny = [np.array([4.0, 5.0, 7.0]) * 1e-7]
    assert "function of it" not in names_of([tiny[0] * [1, 0.5, 0.6]], tiny)
    assert "function of it" not in names_of(
        [np.array(0.0)] * 3, [np.array(0.5), np.array(0.25), np.array(0.75)]
    )
    counts = [np.array(1), np.array(1), np.array(1)]
    assert "function left out" not in names_of([np.array(3), np.array(4), np.array(2)], counts)
    assert "function left out" not in names_of([np.array([[7.0], [8.0]])], [np.array([[1.0], [1.0]])])


def test_no_way_over_an_axis_is_named_where_several_fit():
    shares = np.full((2, 2, 3), 0.5)
    (said, *_) = judged([shares[0]], [shares])
    assert said.sentence == "`y` has one axis too few."
    (said, *_) = judged([shares], [shares[0]])
    assert said.sentence == "`y` has one axis too many."


def test_columns_that_are_constant_have_no_factor_and_no_offset_of_their_own():
    wanted = np.tile([1.0, 2.0, 4.0, 7.0], (5, 1))
    said = names_of([np.tile([3.0, 1.0, 9.0, 2.0], (5, 1))], [wanted])
    assert not {"factor of columns", "offset of columns"} & set(said)
    assert not {"factor of rows", "offset of rows"} & set(names_of([wanted.T[:, ::-1] ** 2 + 5], [wanted.T]))


def test_one_factor_in_each_case_is_no_factor_of_each_row():
    by_columns = [table / np.sqrt(table.shape[-1]) for table in TABLES]
    (said, *_) = judged(by_columns, TABLES)
    assert said.name == "factor that varies" and "the factor varies: 0.447, 0.408 times" in said.sentence
    batches = [RNG.normal(size=(2, 3, 4)), RNG.normal(size=(3, 5, 6)), RNG.normal(size=(2, 2, 8))]
    halves = [batch / heads for batch, heads in zip(batches, (2, 4, 2), strict=True)]
    assert "0.5, 0.25, 0.5 times" in judged(halves, batches)[0].sentence
    positive = [np.abs(table) for table in TABLES]  # that all of it is too small says less
    assert names_of([table / table.shape[-1] for table in positive], positive)[0] == "factor that varies"
    four = [*batches, batches[0]]
    said = judged(
        [batch * factor for batch, factor in zip(four, (0.7766, 0.777, 0.7774, 0.5), strict=True)], four
    )
    assert "0.777, 0.5 times" in said[0].sentence
    rows = TABLES[0] * np.array([[2], [3], [4]])  # of these cases, one has a factor for each row
    assert not {"factor of rows", "factor that varies"} & set(names_of([rows, 3 * TABLES[1]], TABLES))


def test_a_right_output_has_no_symptoms():
    assert judged(TABLES, TABLES) == ()


ARRAYS = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.bool_, np.uint8]),
    hnp.array_shapes(min_dims=0, max_dims=3, max_side=4),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(ARRAYS, ARRAYS, ARRAYS), min_size=1, max_size=3))
def test_no_output_raises_and_little_is_said(triples):
    got, wanted, inputs = zip(*triples, strict=True)
    said = judged(list(got), list(wanted), inputs=[{"x": each, "mask": each, "n": 1} for each in inputs])
    assert len(said) <= MOST and all("{" not in each.sentence for each in said)


@settings(max_examples=100, deadline=None)
@given(
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=3, max_side=4), elements=st.integers(-3, 3)),
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=3, max_side=4), elements=st.integers(-3, 3)),
)
def test_what_is_said_of_small_tables_is_true(got, wanted):
    """The sentences with a simple meaning, checked in another way, on arrays in which luck is common."""
    same = got.shape == wanted.shape
    true = {
        "all zeros": lambda: not got.any(),
        "negated": lambda: same and (got == -wanted).all(),
        "one minus": lambda: same and (got == 1 - wanted).all(),
        "offset": lambda: same and len(np.unique(got - wanted)) == 1,
        "off by one": lambda: same and len(np.unique((got - wanted)[got != wanted])) == 1,
        "other places": lambda: sorted(got.ravel()) == sorted(wanted.ravel()),
        "another order": lambda: sorted(got.ravel()) == sorted(wanted.ravel()),
        "reversed": lambda: any(np.array_equal(got, np.flip(wanted, axis)) for axis in range(got.ndim)),
        "only the last wrong": lambda: any(np.array_equal(np.delete(got, -1, k), np.delete(wanted, -1, k)) for k in range(got.ndim)),
        "only the first wrong": lambda: any(np.array_equal(np.delete(got, 0, k), np.delete(wanted, 0, k)) for k in range(got.ndim)),
        "zeros expected": lambda: not wanted[got != wanted].any(),
        "zeros instead": lambda: not got[got != wanted].any(),
        "too large": lambda: (got >= wanted).all(),
        "too small": lambda: (got <= wanted).all(),
        "last missing": lambda: any(got.shape[k] < wanted.shape[k] and np.array_equal(got, np.take(wanted, range(got.shape[k]), k)) for k in range(got.ndim)),
    }  # fmt: skip
    for name in names_of([got], [wanted]):
        assert true.get(name, lambda: True)(), name


def test_a_symptom_of_one_output_names_the_cases_in_which_that_output_is_wrong():
    """In the second case only the other output is wrong: "y is 2 times what is expected" would not be true of it."""
    y, other = RNG.normal(size=(3, 4)), RNG.normal(size=(2, 5))
    found = judged([[2 * y, other], [y, other + 1]], [[y, other], [y, other]], names=("y", "other"))
    assert {each.sentence for each in found if each.name in ("factor", "offset")} == {
        "In “case 0”: `y` is 2 times what is expected.",
        "In “case 1”: `other` is larger than expected by 1 everywhere.",
    }


def test_an_argument_that_is_missing_is_not_one_too_many():
    problem = Problem("exception", "TypeError: layer_cost() missing 1 required positional argument: 'kernel'")
    exercise = Exercise("f", ("y",), (Case("case 0", lambda rng: {}),))
    expected = Expected(([{"x": 0}],), (Outcome(({"y": np.array(1.0)},)),))
    (said, *_) = symptoms_of(exercise, [Outcome(problem=problem)], expected)
    assert said.name == "missing argument" and "without an argument that it needs" in said.sentence
