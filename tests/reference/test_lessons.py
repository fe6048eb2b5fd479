"""Small mistakes in a reference explain outputs that no misconception does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from course_utils.checking.comparison import compare
from course_utils.checking.diagnosis import diagnose, same_everywhere
from course_utils.checking.exercise import PUBLIC_SEED, Case, Exercise
from course_utils.checking.expected import FILE_NAME, Expected, Lesson, load_expected, save_expected, sketch
from course_utils.checking.outcome import Outcome
from grader.author.kept import keep
from grader.catalogue import run_cell
from grader.reference import lessons
from grader.reference.lessons import KEPT, lessons_of
from grader.reference.mutants import Mutant, mutants

KEY = "start_here.softmax"


@pytest.fixture(scope="module")
def taught(labs) -> Expected:
    lab = labs["00_start_here"]
    expected = lab.expected(PUBLIC_SEED)[KEY]
    return replace(expected, lessons=lessons_of(lab, KEY, expected))


def test_lessons_differ_from_what_is_right_from_the_misconceptions_and_from_each_other(labs, taught):
    exercise = labs["00_start_here"].exercises[KEY]
    assert 0 < len(taught.lessons) <= KEPT
    drawn = [sketch(taught.reference), *map(sketch, taught.misconceptions.values())]
    for lesson in taught.lessons:
        assert not any(same_everywhere(exercise, lesson.outcomes, other) for other in drawn)
        drawn.append(lesson.outcomes)


def test_a_mistake_that_no_misconception_explains_is_told_its_kind(labs, taught):
    lab = labs["00_start_here"]
    exercise, told = lab.exercises[KEY], []
    for mutant in mutants(lab.solution_texts["softmax"]):
        scope = dict(lab.reference)
        run_cell(mutant.source, "<mutant>", scope)
        verdict = compare(exercise, lab.outcomes(KEY, scope["softmax"], PUBLIC_SEED), taught)
        said = [each for each in verdict.symptoms if each.name.startswith("like ")]
        assert not said or not (verdict.correct or verdict.recognised)
        told += [(mutant.kind, each.sentence) for each in said]
    assert len(told) >= len(taught.lessons)
    assert all(sentence.startswith("Your output is what a right solution gives if ") for _, sentence in told)
    assert not any("`" in sentence for _, sentence in told)


def test_lessons_come_back_from_the_file_as_they_were(labs, taught, tmp_path):
    exercise, path = labs["00_start_here"].exercises[KEY], tmp_path / "expected.npz"
    save_expected(path, {KEY: taught}, {})
    again = load_expected(path, KEY, exercise)
    assert [each[:2] for each in again.lessons] == [each[:2] for each in taught.lessons]
    for ours, theirs in zip(taught.lessons, again.lessons, strict=True):
        assert same_everywhere(exercise, ours.outcomes, theirs.outcomes)


def test_a_lesson_or_two_may_be_other_on_another_machine_but_nothing_else(labs, taught, tmp_path):
    """Which mutants teach something can hang on the last digit of a number, and that differs between processors."""

    def differs(**changed) -> bool:
        built, committed = tmp_path / "built.npz", tmp_path / FILE_NAME
        save_expected(committed, {KEY: long}, {})
        save_expected(built, {KEY: replace(long, **changed)}, {})
        keep(built, committed, labs["00_start_here"].exercises)
        return built.read_bytes() != committed.read_bytes()

    def other(lesson: Lesson) -> Lesson:
        moved = [{name: array + 1 for name, array in run.items()} for run in lesson.outcomes[0].runs]
        return lesson._replace(
            outcomes=(replace(lesson.outcomes[0], runs=tuple(moved)), *lesson.outcomes[1:])
        )

    lessons_ = [
        taught.lessons[0]._replace(sentence=f"A slip, number {number}.") for number in range(20)
    ]  # as many as a lab has
    long = replace(taught, lessons=tuple(lessons_))
    assert not differs()
    assert not differs(lessons=(other(lessons_[0]), *lessons_[1:]))
    assert not differs(lessons=tuple(lessons_[1:]))
    assert differs(lessons=tuple(map(other, lessons_)))
    assert differs(lessons=tuple(lessons_[:10]))
    assert differs(lessons=tuple(each._replace(kind="sign") for each in lessons_))
    first, *rest = taught.misconceptions.items()
    assert differs(misconceptions={first[0]: other(Lesson("", "", first[1])).outcomes, **dict(rest)})
    assert differs(reference=other(Lesson("", "", taught.reference)).outcomes)


def test_an_output_that_is_the_same_number_everywhere_or_a_yes_or_no_has_no_lesson():
    """Too many mistakes give it: a mask that is never True, a check that always fails."""
    exercise = Exercise("answer", ("y",), (Case("a", dict), Case("b", dict)))

    def outcomes(*arrays) -> tuple[Outcome, ...]:
        return tuple(Outcome(({"y": np.array(array)},)) for array in arrays)

    def told(*arrays) -> list[str]:
        lesson = Lesson("sign", "A sign is missing.", sketch(outcomes(*arrays)))
        expected = Expected(([{}], [{}]), outcomes([1, 0, 4], [2, 5, 3]), lessons=(lesson,))
        return [each.name for each in diagnose(exercise, outcomes(*arrays), expected).symptoms]

    assert "like sign" in told([-1, 0, -4], [-2, -5, -3])
    assert "like sign" not in told([0, 0, 0], [0, 0, 0])
    assert "like sign" not in told(True, False)


def test_what_rounding_leaves_beside_a_yes_or_no_is_no_difference():
    exercise = Exercise("answer", ("y", "begins well"), (Case("a", dict),))

    def outcome(y: float, well: bool) -> tuple[Outcome, ...]:
        return (Outcome(({"y": np.array([y, 2.0]), "begins well": np.array(well)},)),)

    wrong = outcome(1 + 1e-9, False)
    lesson = Lesson("part", "A part is missing.", sketch(wrong))
    expected = Expected(([{}],), outcome(1, True), lessons=(lesson,))
    assert "like part" not in [each.name for each in diagnose(exercise, wrong, expected).symptoms]


def test_lessons_are_for_notebooks_only(labs):
    assert labs["00_start_here"].expected(1)[KEY].lessons == ()


@pytest.mark.parametrize(
    "end",
    ["return np.full(scores.shape, softmax.calls)", "raise ValueError(f'call {softmax.calls}')"],
    ids=["numbers", "the words of an exception"],
)
def test_what_is_different_each_time_is_no_lesson(labs, monkeypatch, end):
    """Chance is the same at each try, but what a layer keeps from one call to the next is not."""
    steady = "def softmax(scores, axis=-1): return np.full(scores.shape, 0.3)"
    counting = f"""def softmax(scores, axis=-1):
        softmax.calls = getattr(softmax, "calls", 0) + 1
        if scores.ndim == 1:
            return scores + 0.1
        {end}"""
    found = [("constant", Mutant("another number", "", "", text)) for text in (counting, steady)]
    monkeypatch.setattr(lessons, "_mutants_of", lambda *_: found)
    expected = labs["00_start_here"].expected(PUBLIC_SEED)[KEY]
    (kept,) = lessons_of(labs["00_start_here"], KEY, expected)
    assert all(np.allclose(run[name], 0.3) for each in kept.outcomes for run in each.runs for name in run)


def test_a_solution_may_define_a_dataclass_as_in_a_notebook(labs):
    text = "from dataclasses import dataclass\n\n@dataclass\nclass Pair:\n    left: int\n    right: int = 0\n"
    scope = dict(labs["00_start_here"].reference)
    run_cell(text, "<solution>", scope)
    assert scope["Pair"](1).right == 0


@pytest.mark.parametrize(
    "kind, old, new, told",
    [
        ("sign or negation left out", "d = query.shape[-1]", "d = query.shape[1]", "axis"),
        ("sign or negation left out", "p = p.gather(-1, ids)", "p = p.gather(1, ids)", "axis"),
        ("sign or negation left out", "last = ids[-1]", "last = ids[1]", "slice"),
        ("sign or negation left out", "y = f(-x[-1])", "y = f(x[-1])", "sign"),
        ("sign or negation left out", "y = x.masked_fill(~mask, 0)", "y = x.masked_fill(mask, 0)", "sign"),
        ("off by one", "y = x.sum(axis=0)", "y = x.sum(axis=1)", "axis"),
        ("off by one", "for i in range(n):", "for i in range(n + 1):", "off by one"),
    ],
)
def test_a_number_that_counts_from_the_end_is_no_sign(kind, old, new, told):
    assert lessons._kind_of(Mutant(kind, old, new, new)) == told
