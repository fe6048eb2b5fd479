"""Right given an earlier mistake: it earns points where it is deserved, nothing where it is not, and says the same everywhere."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from classroom import ATTENTION, KernelFree, book_of, new_course, with_gradebook
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from course_utils.checking import expected as expecting
from course_utils.checking.check import CheckFailed
from course_utils.checking.comparison import compare, follow_through
from course_utils.checking.exercise import PUBLIC_SEED, Case, Exercise
from course_utils.checking.expected import FILE_NAME, Expected, load_expected, sketch
from course_utils.checking.given import all_earlier, exactly, given_earlier
from course_utils.checking.outcome import Outcome, Problem, encode
from grader.book.gradebook import Gradebook
from grader.course import Course, CourseError
from grader.grade import autograde as grading
from grader.grade.judge import advice, judge
from grader.grade.results import earned
from grader.grade.resume import Again
from grader.grade.work import Grading
from grader.handout.demo import hand_in, solved
from grader.reference.follow import FollowThrough, Substitutions, _reaching
from grader.reference.lab import Lab
from grader.reference.lessons import TRIED, Mistake, mistakes_of
from grader.show.class_report import write_report
from grader.show.feedback import generate_feedback

SEED, ANOTHER = 20_240, 7
ATTEND, CROSS = "self_attention.scaled_dot_product_attention", "self_attention.cross_attention"
CAUSAL, MASK = "self_attention.causal_self_attention", "self_attention.causal_mask"
WORDS = "correct, given the mistake in your `scaled_dot_product_attention`. Fix `scaled_dot_product_attention` first."

IN_HTML = WORDS.replace("`scaled_dot_product_attention`", "<code>scaled_dot_product_attention</code>")

# ---------------------------------------------------------------------------------- small exercises


def is_positive(inputs, outputs):
    """Every number is positive."""
    return outputs["y"] > 0


def is_small(inputs, outputs):
    """Every number is small."""
    return np.abs(outputs["y"]) < 100


def _x(rng):
    return {"x": rng.standard_normal(3)}


LATER = Exercise(
    "later", ("y",), (Case("one", _x), Case("two", _x)), properties=(is_positive, is_small), uses=("earlier",)
)
values = st.lists(st.floats(-50, 50, width=32), min_size=3, max_size=3).map(np.array)
pairs = st.tuples(values, values)


def outcomes_of(*arrays, changed=()) -> tuple[Outcome, ...]:
    return tuple(Outcome(({"y": array},), changed_inputs=changed) for array in arrays)


def small_expected(arrays) -> Expected:
    return Expected(([{"x": np.zeros(3)}],) * 2, outcomes_of(*arrays))


@settings(deadline=None)
@given(right=pairs, wrong=pairs, handed_in=pairs, share=st.floats(0, 1), points=st.floats(0, 20))
def test_points_follow_only_from_equal_values_and_are_never_fewer(right, wrong, handed_in, share, points):
    expected, substituted = small_expected(right), outcomes_of(*wrong)
    for arrays in (handed_in, wrong, (wrong[0], handed_in[1]), right):
        plain = compare(LATER, outcomes_of(*arrays), expected)
        found = given_earlier(LATER, outcomes_of(*arrays), expected, ["earlier"], substituted)
        verdict = follow_through(plain, found)
        equal = all(np.isclose(a, b, rtol=1e-4, atol=1e-5).all() for a, b in zip(arrays, wrong, strict=True))
        assert (found is not None) == equal
        assert earned(plain, points) <= earned(verdict, points, share) <= points
        if found and arrays is wrong:
            assert found.score == 1  # what the mistake itself breaks does not count
            assert all(check.passed for check in found.checks)
            assert earned(verdict, points) == pytest.approx(points, abs=0.0051)  # rounded to hundredths


def test_a_property_that_the_mistake_breaks_does_not_count_but_others_do():
    expected = small_expected([np.ones(3)] * 2)
    negative = outcomes_of(-np.ones(3), -np.ones(3))
    found = given_earlier(LATER, negative, expected, ["earlier"], negative)
    assert found.score == 1
    assert "Every number is positive." not in [check.title for check in found.checks]
    changing = outcomes_of(-np.ones(3), -np.ones(3), changed=("x",))
    found = given_earlier(LATER, changing, expected, ["earlier"], negative)
    assert found.score == 2 / 4  # its two cases do not count, its two properties do
    assert (
        found.summary == "every value is correct, given the mistake in your `earlier`. Fix `earlier` first."
    )


def test_nothing_follows_from_ready_made_work_or_from_exceptions():
    expected, wrong = small_expected([np.ones(3)] * 2), outcomes_of(np.zeros(3), np.zeros(3))
    raising = (Outcome(problem=Problem("exception", "ValueError: no")),) * 2
    assert given_earlier(LATER, wrong, expected, ["earlier"], wrong, bypass=("something",)) is None
    assert given_earlier(LATER, raising, expected, ["earlier"], raising) is None
    assert exactly(LATER, raising, expected) == ()


def test_earlier_exercises_are_found_through_chains():
    names = {"a": (), "b": ("a",), "c": ("b",), "d": ("c", "elsewhere"), "e": ()}
    exercises = {name: Exercise(name, ("y",), (), uses=uses) for name, uses in names.items()}
    assert all_earlier(exercises["d"], exercises) == ("a", "b", "c")
    assert all_earlier(exercises["e"], exercises) == ()


def test_what_reaches_a_mistake_is_defined_again_and_nothing_else():
    cell = "n = f(1)\n\ndef g(x):\n    return f(x)\n\n@once\ndef h(x):\n    return g(x)\n\ndef other(x):\n    return x\n"
    found, names = _reaching(cell, {"f"})
    assert names == {"g", "h"}
    assert "n = f(1)" not in found and "other" not in found and "@once\ndef h" in found
    assert _reaching(cell, {"unknown"}) == ("", set())


# ---------------------------------------------------------------------------------- a lab


@pytest.fixture(scope="module")
def lab(labs) -> Lab:
    return labs[ATTENTION]


@pytest.fixture(scope="module")
def expected(lab):
    return {seed: lab.expected(seed) for seed in (SEED, ANOTHER)}


def source(lab: Lab, key: str, name: str) -> str:
    return next(entry.source for entry in lab.misconceptions[key] if entry.name == name)


def payloads_of(lab: Lab, tmp_path, seed: int, **texts) -> tuple:
    """What a submission with these texts publishes, after its own code has run, and its notebook."""
    notebook = solved(lab, texts)
    return KernelFree(tmp_path / "log").run(notebook, seed).payloads, notebook


def judged(lab, expected, tmp_path, seed=SEED, **texts):
    payloads, notebook = payloads_of(lab, tmp_path, seed, **texts)
    return judge(lab, expected[seed], payloads, notebook, Substitutions(lab, seed, expected[seed]))


@pytest.mark.parametrize("seed", [SEED, ANOTHER])
@pytest.mark.parametrize("name", ["no_scaling", "softmax_over_queries"])
def test_later_work_is_right_given_the_mistake(lab, expected, tmp_path, seed, name):
    verdicts = judged(lab, expected, tmp_path, seed, scaled_dot_product_attention=source(lab, ATTEND, name))
    assert [found.name for found in verdicts[ATTEND].recognised] == [name]
    for key in (CROSS, CAUSAL):
        verdict = verdicts[key]
        assert not verdict.correct and verdict.summary == f"{key.partition('.')[2]}: {WORDS}"
        assert verdict.recognised == () and verdict.next_step == ""
        assert earned(verdict, 5) == 5 and earned(verdict, 5, 0.5) == max(2.5, round(5 * verdict.score, 2))
        assert advice(lab, key, verdicts, solved(lab)) == ""
    assert all(verdict.correct for key, verdict in verdicts.items() if key not in (ATTEND, CROSS, CAUSAL))


def test_two_mistakes_at_once(lab, expected, tmp_path):
    verdicts = judged(
        lab,
        expected,
        tmp_path,
        scaled_dot_product_attention=source(lab, ATTEND, "no_scaling"),
        causal_mask=source(lab, MASK, "sees_one_ahead"),
    )
    assert verdicts[CAUSAL].given.earlier == ("scaled_dot_product_attention", "causal_mask")
    assert "given the mistakes in your" in verdicts[CAUSAL].summary
    assert verdicts[CROSS].given.earlier == ("scaled_dot_product_attention",)


def test_a_further_mistake_earns_what_it_did_before(lab, expected, tmp_path):
    texts = {
        "scaled_dot_product_attention": source(lab, ATTEND, "no_scaling"),
        "cross_attention": source(lab, CROSS, "values_not_projected"),
    }
    verdicts = judged(lab, expected, tmp_path, **texts)
    assert verdicts[CROSS].given is None
    payloads, notebook = payloads_of(lab, tmp_path, SEED, **texts)
    plain = judge(lab, expected[SEED], payloads, notebook)
    assert verdicts[CROSS] == plain[CROSS]


def test_an_unknown_mistake_gives_nothing(lab, expected, tmp_path):
    unknown = lab.solution_texts["scaled_dot_product_attention"] + (
        "\n\n_right = scaled_dot_product_attention\n\ndef scaled_dot_product_attention(query, key, value, mask=None):\n"
        "    output, weights = _right(query, key, value, mask)\n    return 3.5 * output, weights\n"
    )
    verdicts = judged(lab, expected, tmp_path, scaled_dot_product_attention=unknown)
    assert not verdicts[ATTEND].correct
    assert verdicts[CROSS].given is None and verdicts[CAUSAL].given is None


def test_no_answer_without_work_or_with_a_known_mistake_is_right_given_any(lab, expected):
    substitutions = Substitutions(lab, SEED, expected[SEED])
    seen = 0
    for key in (CROSS, CAUSAL):
        exercise, wanted = lab.exercises[key], expected[SEED][key]
        zeros = outcomes_like(wanted.reference, 0)
        for substituted in substitutions.of_single_pieces(key).values():
            seen += 1
            for wrong in (zeros, wanted.reference, *wanted.misconceptions.values()):
                assert given_earlier(exercise, wrong, wanted, ["earlier"], substituted) is None
    assert seen > 30


def test_each_combination_is_computed_once(lab, expected, tmp_path, monkeypatch):
    computed = []
    original = Substitutions._computed
    monkeypatch.setattr(
        Substitutions, "_computed", lambda *args: computed.append(args[1:]) or original(*args)
    )
    kept: dict = {}
    payloads, notebook = payloads_of(
        lab, tmp_path, SEED, scaled_dot_product_attention=source(lab, ATTEND, "no_scaling")
    )
    for _ in range(3):
        judge(lab, expected[SEED], payloads, notebook, Substitutions(lab, SEED, expected[SEED], _kept=kept))
    assert len(computed) == 2  # for the two exercises that use it
    right, notebook = payloads_of(lab, tmp_path, SEED)
    judge(lab, expected[SEED], right, notebook, Substitutions(lab, SEED, expected[SEED], _kept=kept))
    assert len(computed) == 2


def test_forged_outcomes_of_earlier_exercises_never_raise_and_give_at_most_the_points(
    lab, expected, tmp_path
):
    payloads, notebook = payloads_of(lab, tmp_path, SEED)
    for outcomes in expected[SEED][ATTEND].misconceptions.values():
        forged = payloads | {ATTEND: json.loads(json.dumps(encode(list(outcomes))))}
        verdicts = judge(lab, expected[SEED], forged, notebook, Substitutions(lab, SEED, expected[SEED]))
        assert verdicts[CROSS].correct and verdicts[CROSS].given is None  # it is right anyway


# ---------------------------------------------------------------------------------- mistakes that only mutants are

BLOCKED_SCORES_ARE_0 = """
def scaled_dot_product_attention(query, key, value, mask=None):
    allowed = np.array(True) if mask is None else mask
    scores = allowed * np.einsum("...qd,...kd->...qk", query, key) / query.shape[-1] ** 0.5
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    weights = allowed * exponentials / exponentials.sum(-1, keepdims=True)
    return np.einsum("...qk,...kv->...qv", weights, value), weights
"""
"""No misconception is that, but the reference is, with 0 in the place of -1e9."""

WRONG_LATER = {
    "another mistake": ("w_query, memory @ w_key, memory @ w_value", "w_query, memory @ w_key, memory @ w_value * 1.5"),
    "a known mistake": ("x @ w_query", "x @ w_query * np.sqrt(w_query.shape[-1])"),
    "noise": ("memory @ w_value", "memory @ w_value + np.random.default_rng(0).normal(size=w_value.shape[-1])"),
    "a bit off": ("memory @ w_value", "memory @ w_value + 1e-3"),
}  # fmt: skip
CROSSING = """
def cross_attention(x, memory, w_query, w_key, w_value, memory_mask=None):
    return scaled_dot_product_attention(x @ w_query, memory @ w_key, memory @ w_value, memory_mask)
"""


@pytest.fixture(scope="module")
def small_mistakes(lab):
    """An exercise -> the small mistakes in its reference, at a seed."""

    @cache
    def at(seed: int):
        return Grading(lab.course, lab.name, seed, runner=None).mistakes

    return at


@pytest.fixture
def judged_with(lab, expected, tmp_path, small_mistakes):
    """The verdicts on a submission if small mistakes are known, too."""

    def judging(seed=SEED, mistakes=None, **texts):
        payloads, notebook = payloads_of(lab, tmp_path, seed, **texts)
        substitutions = Substitutions(lab, seed, expected[seed], mistakes or small_mistakes(seed))
        return judge(lab, expected[seed], payloads, notebook, substitutions)

    return judging


@pytest.mark.parametrize("seed", [SEED, ANOTHER])
def test_later_work_is_right_given_a_mistake_that_only_a_mutant_is(
    lab, expected, tmp_path, judged_with, seed
):
    texts = {"scaled_dot_product_attention": BLOCKED_SCORES_ARE_0, "cross_attention": CROSSING}
    without = judged(lab, expected, tmp_path, seed, **texts)
    verdicts = judged_with(seed, **texts)
    assert not verdicts[ATTEND].correct and verdicts[ATTEND].recognised == ()
    for key in (CROSS, CAUSAL):
        assert without[key].given is None and earned(without[key], 5) < 5
        assert verdicts[key].summary == f"{key.partition('.')[2]}: {WORDS}" and earned(verdicts[key], 5) == 5
        assert not verdicts[key].correct and earned(verdicts[key], 5, share=0) == earned(without[key], 5)
    others = [key for key in verdicts if key not in (CROSS, CAUSAL)]
    assert {key: verdicts[key] for key in others} == {key: without[key] for key in others}


@pytest.mark.parametrize("name", WRONG_LATER)
def test_later_work_with_a_mistake_of_its_own_earns_what_it_did_before(
    lab, expected, tmp_path, judged_with, name
):
    old, new = WRONG_LATER[name]
    assert old in CROSSING
    texts = {
        "scaled_dot_product_attention": BLOCKED_SCORES_ARE_0,
        "cross_attention": CROSSING.replace(old, new),
    }
    verdict = judged_with(**texts)[CROSS]
    assert verdict.given is None
    assert verdict == judged(lab, expected, tmp_path, **texts)[CROSS]


@pytest.mark.parametrize(
    "noise",
    ["1 + 0.01 * weights", "np.random.default_rng(int(1e6 * abs(weights.sum()))).random(weights.shape)"],
    ids=["a bit more", "chance"],
)
def test_nothing_follows_from_noise(judged_with, noise):
    text = BLOCKED_SCORES_ARE_0.replace("    return", f"    weights = {noise}\n    return")
    verdicts = judged_with(scaled_dot_product_attention=text, cross_attention=CROSSING)
    assert not verdicts[ATTEND].correct and verdicts[CROSS].given is None and verdicts[CAUSAL].given is None


def test_a_mistake_in_the_later_exercise_alone_is_none_that_follows(judged_with):
    inside = BLOCKED_SCORES_ARE_0.replace("def scaled", "def _scaled")
    verdicts = judged_with(cross_attention=inside + CROSSING.replace("return scaled", "return _scaled"))
    assert verdicts[ATTEND].correct and not verdicts[CROSS].correct and verdicts[CROSS].given is None


def test_a_mutant_and_a_misconception_at_once(lab, judged_with):
    verdicts = judged_with(
        scaled_dot_product_attention=BLOCKED_SCORES_ARE_0, causal_mask=source(lab, MASK, "sees_one_ahead")
    )
    assert verdicts[CAUSAL].given.earlier == ("scaled_dot_product_attention", "causal_mask")
    assert verdicts[CROSS].given.earlier == ("scaled_dot_product_attention",)


def test_a_few_values_of_a_mutant_do_not_make_it_one(
    lab, expected, tmp_path, judged_with, small_mistakes, monkeypatch
):
    """In ``expected.npz``, of each array only a few values are known. For points, all of them must agree."""
    monkeypatch.setattr(expecting, "SKETCHED", 4)
    scope = dict(lab.reference)
    exec(BLOCKED_SCORES_ARE_0, scope)
    exact = lab.outcomes(ATTEND, scope["scaled_dot_product_attention"], SEED)
    size = exact[0].runs[0]["output"].size
    hidden = min(set(range(size)) - set(np.random.default_rng(size).choice(size, 4, replace=False)))
    moved = {name: array.copy() for name, array in exact[0].runs[0].items()}
    moved["output"].flat[hidden] += 1
    forged = [replace(exact[0], runs=(moved,)), *exact[1:]]
    assert str(sketch(forged)) == str(sketch(exact)) and str(forged) != str(exact)

    texts = {"scaled_dot_product_attention": BLOCKED_SCORES_ARE_0, "cross_attention": CROSSING}
    payloads, notebook = payloads_of(lab, tmp_path, SEED, **texts)
    substitutions = Substitutions(lab, SEED, expected[SEED], small_mistakes(SEED))
    for outcomes, follows in ((exact, True), (forged, False)):
        published = payloads | {ATTEND: json.loads(json.dumps(encode(list(outcomes))))}
        verdict = judge(lab, expected[SEED], published, notebook, substitutions)[CROSS]
        assert bool(verdict.given) == follows


def test_a_mistake_that_gives_something_else_at_the_next_try_is_none(lab, judged_with, small_mistakes):
    def unsteady(key):
        return [_Unsteady(**_fields(each)) for each in small_mistakes(SEED)(key)]

    texts = {"scaled_dot_product_attention": BLOCKED_SCORES_ARE_0, "cross_attention": CROSSING}
    assert judged_with(**texts)[CROSS].given
    assert judged_with(mistakes=unsteady, **texts)[CROSS].given is None


class _Unsteady(Mistake):
    @property
    def again(self):
        return tuple(
            replace(
                outcome, runs=tuple({name: array + 1 for name, array in run.items()} for run in outcome.runs)
            )
            for outcome in self.outcomes
        )


def _fields(mistake: Mistake) -> dict:
    return {name: getattr(mistake, name) for name in mistake.__dataclass_fields__}


def test_no_small_mistake_makes_an_answer_without_work_or_with_a_known_mistake_right(
    lab, expected, small_mistakes
):
    substitutions = Substitutions(lab, SEED, expected[SEED], small_mistakes(SEED))
    names = {exercise.name: exercise for exercise in lab.exercises.values()}
    refused = earning = 0
    for key in (CROSS, CAUSAL):
        exercise, wanted = lab.exercises[key], expected[SEED][key]
        zeros = outcomes_like(wanted.reference, 0)
        for earlier in all_earlier(exercise, names):
            for mistake in small_mistakes(SEED)(f"{lab.slug}.{earlier}"):
                substituted = substitutions.outcomes(key, frozenset([(earlier, mistake.name)]))
                refused, earning = refused + (not substituted), earning + bool(substituted)
                for wrong in (zeros, wanted.reference, *wanted.misconceptions.values()):
                    if substituted:
                        assert given_earlier(exercise, wrong, wanted, [earlier], substituted) is None
    assert refused > 10 and earning > 1


def outcomes_like(outcomes, number) -> list[Outcome]:
    return [
        Outcome(
            tuple({name: np.full_like(array, number) for name, array in run.items()} for run in outcome.runs)
        )
        for outcome in outcomes
    ]


def test_small_mistakes_are_asked_for_only_where_they_can_matter_and_are_tried_once(
    lab, expected, tmp_path, monkeypatch
):
    asked, tried = [], []
    grading = Grading(lab.course, lab.name, SEED, runner=None)
    original = Mistake._tried
    monkeypatch.setattr(Mistake, "_tried", lambda self: tried.append(self.name) or original(self))

    def mistakes(key):
        asked.append(key)
        return grading.mistakes(key)

    kept: dict = {}

    def judging(**texts):
        payloads, notebook = payloads_of(lab, tmp_path, SEED, **texts)
        judge(
            lab, expected[SEED], payloads, notebook, Substitutions(lab, SEED, expected[SEED], mistakes, kept)
        )

    judging()
    judging(cross_attention=CROSSING.replace("x @", "2 * x @"))  # what it uses is right
    judging(scaled_dot_product_attention=source(lab, ATTEND, "no_scaling"))  # a misconception is that
    judging(scaled_dot_product_attention="def scaled_dot_product_attention(*_): raise ValueError")
    assert asked == [] and tried == []
    for _ in range(3):
        judging(scaled_dot_product_attention=BLOCKED_SCORES_ARE_0, cross_attention=CROSSING)
    assert set(asked) == {ATTEND}
    assert len(tried) <= 2 * TRIED and len(tried) == len(set(tried)) + 1  # the one that it is, a second time
    assert (
        len([pieces for key, pieces in kept if ("scaled_dot_product_attention", "no_scaling") not in pieces])
        == 2
    )


def test_there_are_no_small_mistakes_of_work_with_goals(labs):
    for lab in labs.values():
        for key, exercise in lab.exercises.items():
            if exercise.goals:
                assert list(mistakes_of(lab, key)) == []


# ---------------------------------------------------------------------------------- the notebook


@pytest.fixture
def session(lab, monkeypatch):
    """A learner's session in the lab's folder: run code, and check an exercise; what the check shows is returned."""
    monkeypatch.chdir(lab.release_folder)
    namespace = {**lab.reference}

    def run(code: str) -> None:
        exec(code, namespace)

    return run


def test_the_notebook_says_the_same(lab, session, capsys):
    run = session
    run(source(lab, ATTEND, "no_scaling"))
    run(lab.solution_texts["cross_attention"])
    with pytest.raises(CheckFailed, match="correct, given the mistake in your"):
        run(f"from course_utils import check\ncheck({CROSS!r})")
    shown = capsys.readouterr().out
    assert f"[--] cross_attention: {WORDS}" in shown
    assert "this mistake does" not in shown and "Hint" not in shown and "  not  " not in shown


def test_the_notebook_looks_at_the_earlier_exercise_as_it_is_now(lab, session, capsys):
    run = session
    run(source(lab, ATTEND, "no_scaling").replace("def scaled_dot_product_attention", "def as_it_was"))
    run(lab.solution_texts["cross_attention"].replace("scaled_dot_product_attention(", "as_it_was("))
    with pytest.raises(CheckFailed, match="checks passed"):  # the earlier one is right now
        run(f"from course_utils import check\ncheck({CROSS!r})")
    assert "correct, given" not in capsys.readouterr().out


def test_what_learners_get_is_what_the_build_computes(lab):
    known = lab.expected(PUBLIC_SEED)
    substitutions = Substitutions(lab, PUBLIC_SEED, known)
    for key in (CROSS, CAUSAL):
        exercise = lab.exercises[key]
        loaded = load_expected(lab.release_folder / FILE_NAME, key, exercise).given
        wanted = substitutions.of_single_pieces(key)
        assert set(loaded) == set(wanted) and loaded
        for piece, outcomes in wanted.items():
            assert given_earlier(exercise, outcomes, known[key], ["earlier"], loaded[piece])


# ---------------------------------------------------------------------------------- a class


@pytest.fixture
def stage(tmp_path) -> Course:
    """A course of its own, to grade in."""
    return with_gradebook(new_course(tmp_path))


def set_share(stage, share) -> None:
    file = stage.root / "nbgrader_config.py"
    lines = [line for line in file.read_text().splitlines() if "FollowThrough" not in line]
    file.write_text("\n".join([*lines, f"get_config().FollowThrough.share = {share}", ""]))


def graded(lab: Lab, runner, seed=SEED):
    records = grading.autograde(lab, grading.submissions(lab), runner, seed, again=Again.CHANGED)
    return {record.student: record for record in records}


@pytest.mark.slow
def test_a_class_from_submission_to_report(stage, tmp_path):
    lab = Lab.load(stage, ATTENTION)
    scaling, runner = source(lab, ATTEND, "no_scaling"), KernelFree(tmp_path / "log")
    hand_in(stage, lab, "perfect", solved(lab))
    hand_in(stage, lab, "scaling", solved(lab, {"scaled_dot_product_attention": scaling}))
    ready_made = (
        "import torch\n\ndef cross_attention(x, memory, w_query, w_key, w_value, memory_mask=None):\n"
        "    torch.nn.functional.scaled_dot_product_attention\n"
        "    return scaled_dot_product_attention(x @ w_query, memory @ w_key, memory @ w_value, memory_mask)\n"
    )
    hand_in(
        stage,
        lab,
        "ready-made",
        solved(lab, {"scaled_dot_product_attention": scaling, "cross_attention": ready_made}),
    )
    first = graded(lab, runner)
    assert first["perfect"].score == lab.points and first["perfect"].given == ()
    assert first["scaling"].given == tuple(
        f"{name}: scaled_dot_product_attention" for name in ("causal_self_attention", "cross_attention")
    )
    assert first["ready-made"].given == ("causal_self_attention: scaled_dot_product_attention",)
    points = lab.points_of_cells
    with book_of(stage) as book:
        lost = lab.points - first["scaling"].score
        own = book.find_grade("check_scaled_dot_product_attention", lab.slug, lab.name, "scaling").auto_score
        assert (
            lost == pytest.approx(points["check_scaled_dot_product_attention"] - own, abs=0.01) and lost > 0
        )
        assert book.find_grade("check_cross_attention", lab.slug, lab.name, "ready-made").auto_score == 0

    generate_feedback(lab)
    page = (stage.feedback / "scaling" / lab.name / f"{lab.slug}.html").read_text("utf-8")
    assert page.count(IN_HTML) >= 4
    report, table = write_report(lab)
    assert "3 answers of 2 learners: right given an earlier mistake." in report.read_text("utf-8")
    assert 'data-of="right given an earlier mistake">2<' in report.read_text("utf-8")
    rows = {row["student"]: row for row in csv.DictReader(table.open())}
    column = "right given an earlier mistake"
    assert rows["ready-made"][column] == "causal_self_attention (given scaled_dot_product_attention)"
    assert rows["perfect"][column] == ""

    again = graded(lab, runner)
    assert all(record.kept for record in again.values())
    assert again["scaling"].given == first["scaling"].given
    scores = {1.0: first["scaling"].score}
    for share in (0.5, 0, 1.0):
        set_share(stage, share)
        changed = graded(lab, runner)
        if share != 1.0:
            scores[share] = changed["scaling"].score
        assert not any(record.kept for record in changed.values())
        assert changed["perfect"].score == lab.points
    assert changed["scaling"].score == scores[1.0]
    assert scores[0] < scores[0.5] < scores[1.0]


@pytest.mark.slow
def test_in_a_class_a_mistake_that_only_a_mutant_is_counts_once_and_is_told(stage, tmp_path):
    lab = Lab.load(stage, ATTENTION)
    mistake = {"scaled_dot_product_attention": BLOCKED_SCORES_ARE_0, "cross_attention": CROSSING}
    hand_in(stage, lab, "perfect", solved(lab))
    hand_in(stage, lab, "right-later", solved(lab, mistake))
    set_share(stage, 0)
    before = points_of(stage, lab, graded(lab, KernelFree(tmp_path / "log")))
    set_share(stage, 1.0)
    records = graded(lab, KernelFree(tmp_path / "log"))
    after = points_of(stage, lab, records)

    points = lab.points_of_cells
    later = {
        f"check_{name}": points[f"check_{name}"] for name in ("cross_attention", "causal_self_attention")
    }
    assert after["perfect"] == before["perfect"] == points
    assert after["right-later"] == before["right-later"] | later
    assert all(
        before["right-later"][cell] < points[cell] for cell in (*later, "check_scaled_dot_product_attention")
    )
    assert records["right-later"].recognised == ()
    assert records["right-later"].given == tuple(
        f"{name}: scaled_dot_product_attention" for name in ("causal_self_attention", "cross_attention")
    )

    generate_feedback(lab)
    page = (stage.feedback / "right-later" / lab.name / f"{lab.slug}.html").read_text("utf-8")
    assert IN_HTML in page
    assert all(record.kept for record in graded(lab, KernelFree(tmp_path / "log")).values())


def points_of(stage, lab: Lab, records) -> dict[str, dict[str, float]]:
    """Student -> graded cell -> its points in the gradebook."""
    with book_of(stage) as book:
        return {
            student: {
                cell: book.find_grade(cell, lab.slug, lab.name, student).auto_score
                for cell in lab.points_of_cells
            }
            for student in records
        }


@pytest.mark.parametrize("share", [-0.1, 1.5, "'all'", "None"])
def test_a_share_that_is_none_is_refused_before_anything_is_graded(stage, tmp_path, share):
    lab = Lab.load(stage, ATTENTION)
    hand_in(stage, lab, "anna", solved(lab))
    set_share(stage, share)
    with pytest.raises(CourseError, match=r"FollowThrough\.share must be a number from 0 to 1"):
        graded(lab, KernelFree(tmp_path / "log"))
    assert not (tmp_path / "log").exists()
    set_share(stage, 0.25)
    assert FollowThrough.share_of(stage) == 0.25


def test_a_trivial_mistake_that_is_known_makes_no_trivial_work_right(stage, tmp_path):
    lab = Lab.load(stage, ATTENTION)
    zeros = (
        "def scaled_dot_product_attention(query, key, value, mask=None):\n"
        "    shape = query.shape[:-1]\n"
        "    return np.zeros((*shape, value.shape[-1])), np.zeros((*shape, key.shape[-2]))\n"
    )
    with (lab.folder / "misconceptions.py").open("a") as file:
        file.write(
            "\n\nimport numpy as np\nfrom grader.catalogue import misconception\n\n\n"
            '@misconception("scaled_dot_product_attention", "Nothing is computed: look at the formula above once more.")\n'
            + zeros.replace("def scaled_dot_product_attention", "def nothing").replace(
                "    shape", '    """Nothing is computed."""\n    shape', 1
            )
        )
    lazy = (
        "def cross_attention(x, memory, w_query, w_key, w_value, memory_mask=None):\n"
        "    return np.zeros((*x.shape[:-1], w_value.shape[-1])), np.zeros((*x.shape[:-1], memory.shape[-2]))\n"
    )
    runner = KernelFree(tmp_path / "log")
    hand_in(stage, lab, "lazy", solved(lab, {"scaled_dot_product_attention": zeros, "cross_attention": lazy}))
    hand_in(stage, lab, "honest", solved(lab, {"scaled_dot_product_attention": zeros}))
    found = graded(lab, runner)
    for student, right in (
        ("lazy", ["causal_self_attention"]),
        ("honest", ["causal_self_attention", "cross_attention"]),
    ):
        assert "scaled_dot_product_attention: nothing" in found[student].recognised
        assert found[student].given == tuple(
            f"{name}: working scaled_dot_product_attention" for name in right
        )
        with book_of(stage) as book:
            for name in ("scaled_dot_product_attention", "cross_attention", "causal_self_attention"):
                score = book.find_grade(f"check_{name}", lab.slug, lab.name, student).auto_score
                assert (score > 0) == (name in right)


def test_a_gradebook_of_an_earlier_version_is_brought_up_to_date(stage, tmp_path):
    lab = Lab.load(stage, ATTENTION)
    hand_in(stage, lab, "anna", solved(lab))
    graded(lab, KernelFree(tmp_path / "log"))
    with book_of(stage) as book, book.engine.begin() as connection:
        connection.execute(text("ALTER TABLE transformer_labs_graded DROP COLUMN given"))
    with Gradebook.open(stage) as gradebook:
        marker = gradebook.markers(lab)["anna"]
        assert marker.given == () and marker.score == lab.points
    assert graded(lab, KernelFree(tmp_path / "log"))["anna"].kept
