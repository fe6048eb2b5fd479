"""A grade depends on the learner's code and the secret seed alone: not on what else the machine does, on chance, on order, or on who grades."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import nbformat
import pytest
from classroom import ATTENTION, START, new_course, with_gradebook
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook
from project import ALONE
from test_cluster import Dask

from course_utils.checking.expected import Expected
from course_utils.checking.outcome import Outcome, Problem
from grader.book.gradebook import Gradebook
from grader.course import Course
from grader.errors import GraderError
from grader.grade import autograde as grading
from grader.grade.resume import Again
from grader.grade.work import Record
from grader.handout.demo import hand_in, solved
from grader.reference.lab import Lab, is_solution, nbgrader_of
from grader.run import machine
from grader.run.notebook import SandboxRunner
from grader.run.states import GRADED, TIMED_OUT, Executed, Runner

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]

SEED = 20_301_115
BUSY = 16
"""Processes that keep the machine busy, each in a session of its own: the scheduler shares processors among sessions."""

FRAMEWORK = re.compile(r"\b(torch|tensorflow|keras|tf)\b")


@contextlib.contextmanager
def busy_machine(processes: int = BUSY) -> Iterator[None]:
    code = "while True: pass"
    running = [
        subprocess.Popen([sys.executable, "-c", code], start_new_session=True) for _ in range(processes)
    ]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def forget_files() -> None:
    """Lets the system read all files from the disk again, where it may be told to."""
    with contextlib.suppress(OSError):
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("3")


def grades(lab: Lab, folders: list[Path], **how) -> dict[str, tuple]:
    """Student -> how it ended, what was recognised and noted, and the points of each cell."""
    runner = how.pop("runner", None) or grading.choose_runner(lab)
    records = list(grading.autograde(lab, folders, runner, SEED, again=Again.ALL, **how))
    return {
        record.student: (
            record.state,
            record.score,
            record.recognised,
            record.notes,
            points_of(lab, record),
        )
        for record in records
    }


def points_of(lab: Lab, record: Record) -> dict[str, str]:
    """Cell -> the text of its result, in the graded notebook that was written."""
    file = lab.course.autograded / record.student / lab.name / lab.notebook_name
    cells = nbformat.read(file, as_version=4).cells
    return {
        nbgrader_of(cell)["grade_id"]: str(cell.get("outputs", []))
        for cell in cells
        if nbgrader_of(cell).get("grade")
    }


# ---------------------------------------------------------------------------------- the machine

SLOW_PACKAGE = "slow_to_load.py"
SLOWLY = """
spent = []
def {name}(*args, **kwargs):
    import time
    import slow_to_load
    if not spent:
        spent.append(1)
        end = time.process_time() + 6
        while time.process_time() < end:
            pass
    return {name}_at_once(*args, **kwargs)
"""


def class_of(lab: Lab, size: int) -> dict[str, Mapping[str, str]]:
    """Student -> the texts of the exercises that are not the reference's: all correct variants that use a framework, spread over
    as few whole notebooks as it takes; then the usual mistakes.
    """
    variants = {
        key.partition(".")[2]: [entry.source for entry in entries if FRAMEWORK.search(entry.source)]
        for key, entries in lab.variants.items()
    }
    most = max(map(len, variants.values()))
    students: dict[str, Mapping[str, str]] = {
        f"right{number}": {name: texts[number % len(texts)] for name, texts in variants.items() if texts}
        for number in range(most)
    }
    mistakes = [entry for entries in lab.misconceptions.values() for entry in entries]
    spread = mistakes[:: max(1, len(mistakes) // max(1, size - most))]
    for number, entry in enumerate(spread[: max(0, size - most)]):
        students[f"wrong{number}"] = {entry.exercise: entry.source}
    return dict(list(students.items())[:size])


def hand_in_slow_ones(lab: Lab, name: str) -> list[Path]:
    """Right, but slow: a package that sleeps while it is imported, and six seconds of computing in the first case."""
    notebook = solved(lab)
    place, cell = next(
        (at, cell) for at, cell in enumerate(notebook.cells) if nbgrader_of(cell).get("grade_id") == name
    )
    assert is_solution(cell)
    cell.source += f"\n\n{name}_at_once = {name}\n{SLOWLY.format(name=name)}"
    package = f"%%writefile {SLOW_PACKAGE}\nimport time\ntime.sleep(11)"
    notebook.cells.insert(place, new_code_cell(package))
    return [hand_in(lab.course, lab, "slow", notebook)]


CLASS = {
    ATTENTION: 17,
    "03_multi_head_attention": 12,
    "05_transformer_pytorch": 8,
    "06_transformer_tensorflow": 2,
}


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return with_gradebook(new_course(tmp_path_factory.mktemp("busy")))


@pytest.mark.alone
@pytest.mark.parametrize("name", CLASS)
def test_a_class_gets_the_same_grades_beside_sixteen_busy_processes(
    course, monkeypatch, request, its_turn, name
):
    its_turn(ALONE.index("a class"), len(ALONE))
    if name != ATTENTION and not request.config.getoption("--every-lab"):
        pytest.skip("it takes minutes; --every-lab grades the classes of the other labs, too")
    monkeypatch.setattr(Lab, "expected", cache(Lab.expected))  # the same for both, and slow on a busy machine
    lab = Lab.load(course, name)
    size = CLASS[name] if request.config.getoption("--every-lab") else CLASS[name] // 2
    folders = [
        hand_in(course, lab, student, solved(lab, texts)) for student, texts in class_of(lab, size).items()
    ]
    if name == ATTENTION:
        folders += hand_in_slow_ones(lab, "combine_masks")
    idle = grades(lab, folders, jobs=2)
    for student, (state, score, _, notes, _) in idle.items():
        if not student.startswith("wrong"):
            assert (state, score, notes) == (GRADED, lab.points, ()), student
    with busy_machine():
        forget_files()
        assert grades(lab, folders, jobs=2) == idle


def test_the_class_on_busy_machines_has_forty(course):
    assert sum(CLASS.values()) + 1 == 40
    for name, size in CLASS.items():
        assert len(class_of(Lab.load(course, name), size)) == size


@pytest.mark.alone
def test_a_lab_is_released_and_checked_beside_sixteen_busy_processes(tmp_path, its_turn):
    its_turn(ALONE.index("a release"), len(ALONE))
    course = with_gradebook(new_course(tmp_path))
    with busy_machine():
        for command in (["build", "--check", ATTENTION], ["release", ATTENTION]):
            forget_files()
            done = subprocess.run(
                [sys.executable, "-m", "grader.cli", *command],
                cwd=course.root,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stdout + done.stderr


# ---------------------------------------------------------------------------------- time that ran out


@pytest.mark.parametrize("undisturbed", [False, True])
def test_a_submission_in_which_time_ran_out_is_run_once_more_and_last_unless_nothing_disturbed_it(
    tmp_path, monkeypatch, undisturbed
):
    monkeypatch.setattr(machine.Watch, "undisturbed", lambda *_: undisturbed)
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    right = lab.solution_texts["softmax"]
    endless = "def softmax(scores, axis=-1):\n    while True:\n        pass"
    texts = {"a-endless": endless, "honest0": right, "honest1": right, "honest2": right}
    folders = [
        hand_in(lab.course, lab, student, solved(lab, {"softmax": f"# {student}\n{text}"}))
        for student, text in texts.items()
    ]
    running = Counted(grading.choose_runner(lab))
    records = list(grading.autograde(lab, folders, running, SEED))
    everybody = list(texts)
    last = everybody if undisturbed else [*everybody[1:], "a-endless"]
    assert [record.student for record in records] == last
    assert running.whose == (everybody if undisturbed else [*everybody, "a-endless"])
    endless = next(record for record in records if record.student == "a-endless")
    assert (endless.state, endless.score) == (GRADED, 0)


def test_a_busy_machine_puts_in_doubt_what_went_over_a_limit():
    """Sixteen processes leave next to nothing of a processor."""
    runner = dataclasses.replace(SandboxRunner(modules=("json",)), cell_seconds=1)
    with busy_machine():
        busy = runner.run(new_notebook(cells=[new_code_cell("while True: pass")]), SEED)
    assert (busy.state, busy.in_doubt) == (TIMED_OUT, True)


def test_the_second_result_counts(tmp_path):
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    folders = [hand_in(lab.course, lab, "anna", solved(lab))]
    unlucky = Counted(grading.choose_runner(lab), states=[TIMED_OUT, GRADED])
    (record,) = grading.autograde(lab, folders, unlucky, SEED)
    assert (record.state, record.score) == (GRADED, lab.points)
    twice = Counted(grading.choose_runner(lab), states=[TIMED_OUT, TIMED_OUT])
    (record,) = grading.autograde(lab, folders, twice, SEED, again=Again.ALL)
    assert record.state == TIMED_OUT and len(twice.whose) == 2


class Counted:
    """A runner that remembers whose notebooks it ran, and can say that they ended otherwise.

    The first line of a notebook's first solution names the student.
    """

    notebook_seconds = 600.0

    def __init__(self, runner: Runner, states: Sequence[str] = ()) -> None:
        self.runner, self.states, self.whose = runner, list(states), []

    def warm_up(self, folder: Path | None = None) -> None:
        self.runner.warm_up(folder)

    def run(self, notebook: NotebookNode, seed: int, folder: Path | None = None) -> Executed:
        first = next(cell for cell in notebook.cells if is_solution(cell))
        self.whose.append(first.source.partition("\n")[0].removeprefix("# "))
        executed = self.runner.run(notebook, seed, folder)
        if not self.states:
            return executed
        return dataclasses.replace(executed, state=self.states.pop(0), undisturbed=False)


def test_nothing_is_graded_where_the_solution_itself_fails(tmp_path, monkeypatch):
    """On a machine without memory, say: everybody would lose those points."""
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    folders = [hand_in(lab.course, lab, "anna", solved(lab))]
    slow = Outcome(problem=Problem("slow", "It was still computing after 10 seconds and was stopped."))

    def expected(lab: Lab, seed: int, found=Lab.expected) -> dict[str, Expected]:
        return {
            key: dataclasses.replace(each, reference=(slow,) * len(each.reference))
            for key, each in found(lab, seed).items()
        }

    monkeypatch.setattr(Lab, "expected", expected)
    with pytest.raises(GraderError, match=r"solution of start_here.softmax fails .* still computing"):
        grades(lab, folders)
    with Gradebook.open(lab.course) as gradebook:
        assert not gradebook.markers(lab)


# ---------------------------------------------------------------------------------- chance and order

DRAWS = {
    "python": ("import random", "random.random()"),
    "numpy": ("", "np.random.rand()"),
    "generator": ("", "np.random.default_rng().random()"),
    "torch": ("import torch", "float(torch.rand(()))"),
    "hashes": ("", "hash('attention') % 1000 / 1000"),
    "earlier": ("chance = np.random.rand()", "chance"),
}


def hand_in_gamblers(lab: Lab) -> list[Path]:
    """Students whose code is right or wrong by a number that it draws: each exercise anew."""
    folders = []
    for student, (before, draw) in DRAWS.items():
        texts = {
            name: f"{before}\n\ndef {name}(*args, **kwargs):\n    drawn = {draw}\n"
            f"    right = right_{name}(*args, **kwargs)\n"
            f"    return right if drawn < 0.7 else None"
            for name in ("causal_mask", "combine_masks", "padding_mask", "scaled_dot_product_attention")
        }
        notebook = solved(lab)
        for cell in notebook.cells:
            if is_solution(cell) and (name := nbgrader_of(cell)["grade_id"]) in texts:
                cell.source += f"\n\nright_{name} = {name}\n{texts[name]}"
        folders.append(hand_in(lab.course, lab, student, notebook))
    return folders


def test_chance_order_and_who_grades_change_no_grade(tmp_path, tmp_path_factory):
    lab = Lab.load(with_gradebook(new_course(tmp_path)), ATTENTION)
    folders = hand_in_gamblers(lab)
    one = grades(lab, folders, jobs=1)
    assert len({str(result) for result in one.values()}) > 1  # it is a gamble
    assert any(0 < score < lab.points for _, score, *_ in one.values())
    assert grades(lab, folders[::-1], jobs=2) == one
    cluster = Dask(tmp_path_factory.mktemp("dask"))
    try:
        cluster.start_scheduler()
        cluster.start_workers(2)
        assert grades(lab, folders, cluster=cluster.address) == one
    finally:
        cluster.stop()
