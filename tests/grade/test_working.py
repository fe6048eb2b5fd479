"""Where an earlier exercise is wrong, later ones are checked with a working one: it earns what is deserved and shows no reference."""

from __future__ import annotations

import csv
import json
import re
import shutil
import string
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from classroom import ATTENTION, KernelFree, book_of, new_course, with_gradebook
from nbformat.v4 import new_code_cell

from course_utils.checking.exercise import exercises_of
from course_utils.checking.outcome import encode, try_exercise
from grader.course import Course
from grader.grade import autograde as grading
from grader.grade.results import without_places
from grader.grade.resume import Again
from grader.grade.work import Grading
from grader.grade.working import _reference_of, with_working
from grader.handout.demo import hand_in, solved
from grader.reference.follow import FollowThrough
from grader.reference.lab import Lab, checked_exercise
from grader.run.notebook import PlainRunner, SandboxRunner
from grader.run.states import ONE_AT_A_TIME, Executed
from grader.show.class_report import write_report
from grader.show.feedback import generate_feedback

SEED = 31
ATTEND, CAUSAL, CROSS = "scaled_dot_product_attention", "causal_self_attention", "cross_attention"
POSITIONS = "04_positional_encoding"


@pytest.fixture(scope="module")
def stage(tmp_path_factory) -> Course:
    return with_gradebook(new_course(tmp_path_factory.mktemp("course")))


@pytest.fixture(scope="module")
def lab(stage) -> Lab:
    return Lab.load(stage, ATTENTION)


@pytest.fixture(scope="module")
def positions(stage) -> Lab:
    return Lab.load(stage, POSITIONS)


@cache
def expected(lab: Lab):
    return lab.expected(SEED)


def graded(lab: Lab, runner, **texts: str):
    """The one submission that differs from the solved notebook by these cells, graded."""
    folder = hand_in(lab.course, lab, "anna", solved(lab, texts))
    work = Grading(lab.course, lab.name, SEED, runner)
    try:
        return work.alone(expected(lab), folder)
    finally:
        work.close()


def points(found) -> dict[str, float]:
    return {cell.removeprefix("check_"): given for cell, given in found.points.of_cells.items()}


def lost(lab: Lab, found) -> set[str]:
    """The exercises without full points."""
    full = lab.points_of_cells
    return {name for name, given in points(found).items() if given < full[f"check_{name}"]}


@pytest.mark.parametrize(
    "text",
    [
        f"def {ATTEND}(query, key, value, mask=None):\n    raise ValueError('I do not know')",
        f"def {ATTEND}(query, key, value, mask=None):\n    query @ key.T",
        f"def {ATTEND}(query, key, value, mask=None):\n    return query[..., :1], key",
        f"def {ATTEND}(query, key, value, mask=None)\n    return query, key",
        f"my_attention = {ATTEND} = None\ndel {ATTEND}",
    ],
    ids=["raises", "None", "another form", "not Python", "undefined"],
)
def test_what_is_right_with_a_working_earlier_one_earns_its_points(lab, tmp_path, text):
    runner = KernelFree(tmp_path / "log")
    found = graded(lab, runner, **{ATTEND: text})
    assert lost(lab, found) == {ATTEND}
    assert set(found.record.given) == {f"{CAUSAL}: working {ATTEND}", f"{CROSS}: working {ATTEND}"}
    assert f"{CROSS}: right with a working `{ATTEND}`. Fix your `{ATTEND}` first." in found.notebook.decode()
    assert len(runner.runs()) == 2


def test_a_wrong_answer_that_nobody_knows_takes_no_more_points_than_none(lab, tmp_path):
    runner = KernelFree(tmp_path / "log")
    right = lab.solution_texts[ATTEND].replace(f"def {ATTEND}(", "def almost(")
    nearly = f"{right}\n\n\ndef {ATTEND}(*given, **named):\n    return tuple(0.99 * each for each in almost(*given, **named))"
    found = graded(lab, runner, **{ATTEND: nearly})
    assert lost(lab, found) == {ATTEND}
    assert set(found.record.given) == {f"{CAUSAL}: working {ATTEND}", f"{CROSS}: working {ATTEND}"}
    assert len(runner.runs()) == 2


@pytest.mark.parametrize("name", ["causal_diagonal_blocked", "future_marked_true"])
def test_a_known_mistake_that_the_later_exercise_could_have_made_costs_points_once(lab, tmp_path, name):
    (mistake,) = [each for each in lab.misconceptions[f"{lab.slug}.causal_mask"] if each.name == name]
    found = graded(lab, KernelFree(tmp_path / "log"), causal_mask=mistake.source)
    assert lost(lab, found) == {"causal_mask"} and found.record.given == (f"{CAUSAL}: working causal_mask",)


def test_several_earlier_ones_are_replaced_at_once_also_where_one_calls_another(positions, tmp_path):
    lab, runner = positions, KernelFree(tmp_path / "log")
    broken = "def get_angles(*args, **kwargs):\n    raise ValueError('no')"
    found = graded(lab, runner, get_angles=broken)
    assert lost(lab, found) == {"get_angles"}  # `embed_tokens` calls `positional_encoding`, which calls it
    assert "embed_tokens: working get_angles, positional_encoding" in found.record.given
    also = "def positional_encoding(*args, **kwargs):\n    raise NotImplementedError"
    found = graded(lab, runner, get_angles=broken, positional_encoding=also)
    assert lost(lab, found) == {"get_angles", "positional_encoding"}
    assert len(runner.runs()) == 4


def test_what_is_wrong_itself_earns_no_more_than_before(lab, tmp_path, monkeypatch):
    runner = KernelFree(tmp_path / "log")
    broken = f"def {ATTEND}(query, key, value, mask=None):\n    if mask is not None:\n        raise ValueError\n    return query, key"
    own = lab.solution_texts[CROSS].replace("w_query", "(2 * w_query)").replace("(2 * w_query),", "w_query,")
    assert own != lab.solution_texts[CROSS]
    with_run = graded(lab, runner, **{ATTEND: broken, CROSS: own})
    assert len(runner.runs()) == 2
    monkeypatch.setattr(FollowThrough, "share_of", lambda course: 0.0)
    without = graded(lab, runner, **{ATTEND: broken, CROSS: own})
    assert len(runner.runs()) == 3  # nothing could be earned by a second run
    assert with_run.record.given == (f"{CAUSAL}: working {ATTEND}",) and without.record.given == ()
    assert points(with_run) == points(without) | {CAUSAL: 2.0}
    assert points(without)[CAUSAL] == 0


def test_nothing_is_run_twice_without_need(lab, tmp_path):
    runner = KernelFree(tmp_path / "log")
    released = {
        cell.metadata["nbgrader"]["grade_id"]: cell.source
        for cell in lab.release().cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    }
    raising = "def {}(*args, **kwargs):\n    raise ValueError"
    for texts in (
        {},
        {CROSS: raising.format(CROSS)},  # nobody calls it
        {"padding_mask": raising.format("padding_mask")},
        {ATTEND: raising.format(ATTEND), CAUSAL: released[CAUSAL], CROSS: released[CROSS]},
        {
            ATTEND: lab.misconceptions[f"{lab.slug}.{ATTEND}"][0].source
        },  # what the later ones give with it is known
    ):
        before = len(runner.runs())
        graded(lab, runner, **texts)
        assert len(runner.runs()) == before + 1, texts


def test_a_second_run_has_no_reference_before_it_is_needed(positions, tmp_path):
    """Each reference comes after the learner's own answer to that exercise is checked, and only with those before it."""
    lab, seen = positions, []

    class Seeing(KernelFree):
        def run(self, notebook, seed, folder=None) -> Executed:
            seen.append(notebook)
            return super().run(notebook, seed, folder)

    broken = "def get_angles(*args, **kwargs):\n    raise ValueError('no')"
    graded(lab, Seeing(tmp_path / "log"), get_angles=broken)
    first, second = seen
    assert ONE_AT_A_TIME not in first.metadata and second.metadata[ONE_AT_A_TIME]
    assert not any("__working__" in cell.source for cell in first.cells)
    checked: list[str] = []
    references = 0
    for cell in second.cells:
        if key := checked_exercise(cell):
            checked.append(key.partition(".")[2])
        elif "__working__" in cell.source:
            references += 1
            texts = {name for name, text in lab.solution_texts.items() if repr(text) in cell.source}
            assert texts <= {"get_angles", *checked}
    assert references == 2 and checked[0] == "positional_encoding" and "get_angles" not in checked


def test_what_else_a_reference_s_cell_defines_is_there_only_if_the_learner_s_does_not(labs):
    """`f1` of lab 10 calls `normalise`, which the cell of `exact_match` defines."""
    lab = labs["10_question_answering_pytorch"]
    code = _reference_of(lab, f"{lab.slug}.exact_match")
    for own in ({}, {"normalise": "their own"}):
        names = {"re": re, "string": string, "__name__": "__main__", **own}
        before = set(names)
        exec(code, names)
        assert set(names) - before - {"__builtins__"} == {"exact_match", "normalise"} - set(own)
        assert names["exact_match"]("The sea.", ["sea"]) and (not own or names["normalise"] == "their own")


def test_what_a_second_run_says_beside_the_values_is_told_to_nobody(lab, tmp_path):
    work = Grading(lab.course, lab.name, SEED, KernelFree(tmp_path / "log"))
    raising = f"def {ATTEND}(*args, **kwargs):\n    raise ValueError"
    prepared = work.prepare(hand_in(lab.course, lab, "anna", solved(lab, {ATTEND: raising})))
    judged = work.judged(prepared, work.runner.run(prepared.notebook, SEED), expected(lab))
    key = f"{lab.slug}.{CROSS}"
    exercise = exercises_of(lab.slug)[CROSS]
    right = try_exercise(exercise, key, lab.reference[CROSS], SEED)
    told = [replace(outcome, changed_inputs=("def the_reference",)) for outcome in right]
    verdict = with_working(lab, judged.second_run, {key: encode(told)}, judged.verdicts, expected(lab))[key]
    assert verdict.given and 0 < verdict.given.score < 1
    assert "def the_reference" not in repr(verdict)
    assert (
        verdict.summary
        == f"{CROSS}: every value is right with a working `{ATTEND}`. Fix your `{ATTEND}` first."
    )
    for forged in ({}, {key: None}, {key: encode(right)[:1]}, {key: [{"runs": "def the_reference"}]}):
        verdicts = with_working(lab, judged.second_run, forged, judged.verdicts, expected(lab))
        assert verdicts == judged.verdicts


SMUGGLER = """
import gc, linecache, pathlib, sys
def what_is_here():
    texts = ["".join(entry[2]) for name, entry in linecache.cache.items() if "as it should be" in name]
    texts += [text for text in get_ipython().user_ns.get("In", []) if "__working__" in text]
    found = [text for text in texts if {word!r} in text]
    return found[-1] if found else ""

def {name}(*args, **kwargs):
    found = what_is_here()
    print("SMUGGLED", found)
    pathlib.Path.home().joinpath("note").write_text(found or "nothing")
    get_ipython().run_cell("print('SMUGGLED', what_is_here())")
    raise ValueError("SMUGGLED " + (found or "nothing"))
"""


def test_a_reference_that_is_found_in_a_second_run_gets_nowhere(lab):
    """The learner's code can read it, but nothing that it does with it comes out."""
    word = "scores"
    assert word in lab.solution_texts[ATTEND]
    raising = f"def {ATTEND}(*args, **kwargs):\n    raise ValueError"
    spying = {CAUSAL: SMUGGLER.format(word=word, name=CAUSAL), ATTEND: raising}
    heard = []

    class Heard(SandboxRunner):
        def run(self, notebook, seed, folder=None) -> Executed:
            heard.append(super().run(notebook, seed, folder))
            return heard[-1]

    sandbox = SandboxRunner.for_lab(lab)
    found = graded(lab, Heard(modules=sandbox.modules, hidden=sandbox.hidden), **spying)
    first, second = (json.dumps([each.notebook, each.payloads]) for each in heard)
    line = next(line.strip() for line in lab.solution_texts[ATTEND].splitlines() if "scores =" in line)
    assert "SMUGGLED" in first and line not in first
    assert line in second  # so the spy does work
    text = found.notebook.decode()
    assert "SMUGGLED" in text and line not in text and line not in repr(found.record)
    assert lost(lab, found) == {ATTEND, CAUSAL}  # and the others are still judged
    assert found.record.given == (f"{CROSS}: working {ATTEND}",)


THIEF = """
import linecache
def positional_encoding(*args, **kwargs):
    for name, entry in list(linecache.cache.items()):
        if "as it should be" in name and "def positional_encoding" in "".join(entry[2]):
            names = dict(globals())
            exec("".join(entry[2]), names)
            return names["positional_encoding"](*args, **kwargs)
    return get_angles(*args, **kwargs)
"""


def test_nobody_gets_an_answer_of_their_own_from_a_reference(positions):
    lab = positions
    broken = "def get_angles(*args, **kwargs):\n    raise ValueError('no')"
    found = graded(lab, SandboxRunner.for_lab(lab), get_angles=broken, positional_encoding=THIEF)
    assert lost(lab, found) == {"get_angles", "positional_encoding"}
    assert points(found)["positional_encoding"] == 0
    assert "embed_tokens: working get_angles, positional_encoding" in found.record.given


def test_without_a_sandbox_no_reference_is_put_where_untrusted_code_runs(lab, tmp_path):
    raising = f"def {ATTEND}(*args, **kwargs):\n    raise ValueError"
    prepared_by = Grading(lab.course, lab.name, SEED, KernelFree(tmp_path / "log"))
    prepared = prepared_by.prepare(hand_in(lab.course, lab, "anna", solved(lab, {ATTEND: raising})))
    executed = prepared_by.runner.run(prepared.notebook, SEED)
    for runner, runs in ((PlainRunner(user="nobody"), False), (PlainRunner(), True)):
        judged = Grading(lab.course, lab.name, SEED, runner).judged(prepared, executed, expected(lab))
        assert (judged.second_run is not None) == runs


def test_a_class_from_submission_to_report(lab, tmp_path):
    runner = KernelFree(tmp_path / "log")
    raising = f"def {ATTEND}(*args, **kwargs):\n    raise ValueError"
    shutil.rmtree(lab.course.submitted, ignore_errors=True)  # what other tests have handed in
    hand_in(lab.course, lab, "perfect", solved(lab))
    hand_in(lab.course, lab, "raising", solved(lab, {ATTEND: raising}))
    hand_in(lab.course, lab, "mask-too", solved(lab, {ATTEND: raising, "causal_mask": "causal_mask = None"}))

    def run():
        records = grading.autograde(lab, grading.submissions(lab), runner, SEED, again=Again.CHANGED)
        return {record.student: record for record in records}

    first = run()
    assert len(runner.runs()) == 5
    assert first["raising"].score == lab.points - lab.points_of_cells[f"check_{ATTEND}"]
    again = run()
    assert all(record.kept for record in again.values()) and len(runner.runs()) == 5
    assert again["mask-too"].given == first["mask-too"].given
    with book_of(lab.course) as book:
        assert book.find_grade(f"check_{CROSS}", lab.slug, lab.name, "raising").auto_score == 2

    generate_feedback(lab)
    page = (lab.course.feedback / "raising" / lab.name / f"{lab.slug}.html").read_text("utf-8")
    assert (
        page.count(f"right with a working <code>{ATTEND}</code>. Fix your <code>{ATTEND}</code> first.") >= 4
    )
    assert "__working__" not in page
    report, table = write_report(lab)
    text = report.read_text("utf-8")
    assert "4 answers of 2 learners: right with a working earlier exercise instead of their own." in text
    assert 'data-of="right with a working earlier exercise">2<' in text
    assert "right given an earlier mistake." not in text
    rows = {row["student"]: row for row in csv.DictReader(table.open())}
    assert rows["mask-too"]["right given an earlier mistake"] == (
        f"{CAUSAL} (with a working {ATTEND}, causal_mask); {CROSS} (with a working {ATTEND})"
    )


@pytest.mark.slow
def test_feedback_says_why_a_name_has_no_value_and_sends_nobody_to_a_kernel(lab):
    own = lab.solution_texts[ATTEND].replace("softmax(", "my_softmax(")
    notebook = solved(lab, {ATTEND: own, "padding_mask": "# later", "causal_mask": "%%timeit\nx = 1"})
    notebook.cells.append(new_code_cell("def my_softmax(x):\n    return x"))
    used = next(n for n, cell in enumerate(notebook.cells, 1) if "my_softmax(" in cell.source)
    work = Grading(lab.course, lab.name, SEED, SandboxRunner.for_lab(lab))
    try:
        text, untouched = (
            work(expected(lab), hand_in(lab.course, lab, "anna", each)).notebook.decode()
            for each in (notebook, lab.release())
        )
    finally:
        work.close()
    sentence = f"is defined in cell {len(notebook.cells)} and used in cell {used}: move it up, because cells are graded from top"
    assert f"<code>my_softmax</code> {sentence}" in text
    assert (
        "padding_mask: not defined. No cell defines `padding_mask`. Is it misspelt, or was its cell deleted?"
        in text
    )
    assert "Run the cell" not in text and "run both cells" not in text and "set on another way" not in text
    assert "part of it is not written yet: the lines marked YOUR CODE HERE." in untouched
    assert "Run the cell" not in untouched and "run both cells" not in untouched


def test_feedback_names_no_folder_of_the_machine_that_graded(lab):
    package = Path(np.__file__).parent
    told = f"File {package}/core.py, in {lab.course.root}/notebooks/x.csv, {Path.home()}/notes"
    assert without_places(told, lab) == "File site-packages/numpy/core.py, in notebooks/x.csv, notes"
    raising = f"def {ATTEND}(*args, **kwargs):\n    raise ValueError({told!r})"
    notebook = solved(lab, {ATTEND: raising})
    notebook.cells.insert(0, new_code_cell(f"print({told!r})"))
    found = Grading(lab.course, lab.name, SEED, SandboxRunner.for_lab(lab))
    try:
        graded = found(expected(lab), hand_in(lab.course, lab, "anna", notebook)).notebook.decode()
    finally:
        found.close()
    shown = [output for cell in json.loads(graded)["cells"] for output in cell.get("outputs", [])]
    assert str(package) not in json.dumps(shown) and str(lab.course.root) not in json.dumps(shown)
    assert json.dumps(shown).count("site-packages/numpy/core.py, in notebooks/x.csv") >= 2
