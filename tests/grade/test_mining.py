"""What graded feedback says cannot be handed in as an answer: nothing in it depends on the expected values but which checks hold."""

from __future__ import annotations

import re

import nbformat
import numpy as np
import pytest
from classroom import START, KernelFree, new_course, with_gradebook

from course_utils.checking.checks import CheckResult, without_values
from course_utils.checking.comparison import Verdict, compare, without_secrets
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.expected import Expected
from course_utils.checking.outcome import try_exercise
from course_utils.checking.report import Report
from grader.grade import autograde as grading
from grader.grade.results import FACTS
from grader.handout.demo import hand_in, solved
from grader.reference.lab import Lab, checked_exercise

SECRET = 20_301_115
LOSS = Exercise(
    "loss",
    ("loss",),
    tuple(Case(f"{n} numbers", lambda rng, n=n: {"x": rng.normal(size=n)}) for n in (3, 4, 5, 6, 7)),
)


def loss(x):
    return float((x**2).sum())


def expected_of(exercise: Exercise, reference, seed: int) -> Expected:
    inputs = tuple(tuple(case.runs("none.f", seed)) for case in exercise.cases)
    return Expected(inputs, tuple(try_exercise(exercise, "none.f", reference, seed)))


def graded(exercise: Exercise, attempt, expected: Expected, seed: int = SECRET) -> tuple[float, str]:
    """The score of a hand-in, and all that its learner reads."""
    verdict = compare(exercise, try_exercise(exercise, "none.f", attempt, seed), expected)
    report = Report(without_secrets(verdict), "none.f", points=(verdict.score, 1.0))
    return verdict.score, f"{report!r}\n{report._repr_html_()}"


class Miner:
    """Answers by the number of its call, with what earlier feedback has said."""

    def __init__(self, known: dict[int, float]) -> None:
        self.known, self.calls = known, 0

    def __call__(self, x):
        self.calls += 1
        return self.known.get(self.calls, 1e6 + self.calls)


def learned(text: str, known: dict[int, float]) -> dict[int, float]:
    """What a page tells: for each case that fails, the number that is expected, or one that follows from a factor or an offset."""
    found = dict(known)
    for number, case in enumerate(LOSS.cases, start=1):
        for pattern in (r"expected ([-+.\de]+\d)", r"by ([-+.\de]+\d)", r"([-+.\de]+\d) times"):
            if told := re.search(rf"{case.title}[^✗]*?{pattern}", text):
                found.setdefault(number, float(told[1]))
    return found


def test_an_answer_by_the_number_of_the_call_learns_nothing_in_three_hand_ins():
    expected = expected_of(LOSS, loss, SECRET)
    known: dict[int, float] = {}
    scores, pages = [], []
    for _ in range(3):
        score, page = graded(LOSS, Miner(known), expected)
        known = learned(page, known)
        scores.append(score)
        pages.append(page)
    assert scores == [0, 0, 0] and known == {}
    assert len(set(pages)) == 1
    whole = repr(compare(LOSS, try_exercise(LOSS, "none.f", Miner({}), SECRET), expected))
    assert "got 1e+06, expected" in whole  # what instructors may know


FORMS = {
    "numbers": lambda rng: rng.normal(size=()),
    "rows": lambda rng: rng.normal(size=(2, 3)) + 0.1,
    "counts": lambda rng: rng.integers(3, 900, size=(4,)),
    "one count": lambda rng: rng.integers(3, 900, size=()),
    "shares": lambda rng: rng.dirichlet(np.ones(4), size=3),
}
ATTEMPTS = {
    "zeros": lambda y: np.zeros_like(y),
    "a large number": lambda y: np.full_like(y, 1_000_000),
    "a small number": lambda y: np.full_like(y, -1_000_000),
    "NaN": lambda y: np.full(y.shape, np.nan),
    "different numbers": lambda y: np.arange(y.size).reshape(y.shape) + 2000,
    "another shape": lambda y: np.zeros((*y.shape, 2)),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
def test_feedback_is_the_same_whatever_values_are_expected(form, attempt):
    exercise = Exercise(
        "f",
        ("y",),
        tuple(Case(f"case {n}", lambda rng: {"seed": int(rng.integers(2**31))}) for n in range(3)),
    )
    pages = set()
    for secret in range(8):

        def reference(seed, secret=secret):
            return form(np.random.default_rng([seed, secret]))

        score, page = graded(
            exercise, lambda seed: attempt(reference(seed)), expected_of(exercise, reference, 1), 1
        )
        assert score == 0
        pages.add(page)
    assert len(pages) == 1


@pytest.mark.parametrize(
    "detail",
    [
        "`y` differs: got 1e+06, expected 2.3711.",
        "`y[1, 2]` differs: got nan, expected -inf.",
        "3 of 6 values differ, most at `y[0]`: got True, expected False.",
        "`y` is 'a`; expected b'; expected 'c\\nd'.",
        "`y[1][0]` is …'a'; expected …'b'.",
    ],
)
def test_no_value_is_left_in_a_detail(detail):
    assert without_values(CheckResult("t", False, detail)).detail == "`y` has other values than expected."


@pytest.mark.parametrize(
    "detail",
    ["", "`y` has shape (2,); expected (3,).", "`y` contains NaN (not a number), first at [0].", "ValueError: got 1, expected 2"],
)  # fmt: skip
def test_other_details_stay(detail):
    assert without_values(CheckResult("t", False, detail)).detail == detail


def test_what_holds_given_an_earlier_mistake_is_told_without_values_too():
    from course_utils.checking.given import Given

    check = CheckResult("t", False, "`y` differs: got 1, expected 2.")
    told = without_secrets(Verdict("f", (check,), given=Given(("e",), (check,), 0.5)))
    assert "expected 2" not in Report(told, "none.f", points=(0.5, 1.0))._repr_html_()


def test_a_graded_notebook_shows_no_expected_value_and_keeps_it_for_instructors(tmp_path):
    course = with_gradebook(new_course(tmp_path))
    lab = Lab.load(course, START)
    wrong = "def softmax(scores, axis=-1):\n    return 0.125 + 0 * np.asarray(scores, float)\n"
    folder = hand_in(course, lab, "ann", solved(lab, {"softmax": wrong}))
    list(grading.autograde(lab, [folder], KernelFree(tmp_path / "log"), grading.class_seed(lab), jobs=1))
    notebook = nbformat.read(course.autograded / "ann" / lab.name / lab.notebook_name, as_version=4)
    (cell,) = (cell for cell in notebook.cells if checked_exercise(cell) == "start_here.softmax")
    shown, kept = cell.outputs[0].data["text/html"], cell.outputs[0].metadata[FACTS]["wrong"]
    assert "has other values than expected" in shown and "The check in your notebook shows" in shown
    assert not re.search(r"expected \S*\d", shown)
    assert any("got 0.125, expected" in detail for detail in kept)
