"""Disks that are full, gradebooks that are held, and processes that are killed at random: grading survives it."""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import nbformat
import psutil
import pytest
from classroom import START, KernelFree, hand_in_class, new_course, with_gradebook
from nbgrader.api import Gradebook as NbgraderGradebook
from project import ROOT
from test_pool import gone, until

from grader.book import file as gradebook_file
from grader.course import make_private
from grader.errors import GraderError
from grader.grade import autograde as grading
from grader.grade.resume import Again
from grader.grade.work import Record
from grader.handout.demo import hand_in, made_up_class
from grader.reference.lab import Lab, is_solution
from grader.run.notebook import PlainRunner

SIZE = 4


@pytest.fixture
def lab(tmp_path) -> Lab:
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    hand_in_class(lab, SIZE)
    return lab


@pytest.fixture
def runner(tmp_path) -> KernelFree:
    return KernelFree(tmp_path / "runs")


def graded(lab: Lab, runner, again: Again = Again.CHANGED, jobs=None) -> dict[str, Record]:
    records = grading.autograde(lab, grading.submissions(lab), runner, 5, again=again, jobs=jobs)
    return {record.student: record for record in records}


def scores(lab: Lab) -> dict[str, float]:
    """What nbgrader reads in the gradebook."""
    with NbgraderGradebook(lab.course.nbgrader_config().CourseDirectory.db_url) as book:
        return {entry.student.id: entry.score for entry in book.assignment_submissions(lab.name)}


def unsound(lab: Lab) -> list[str]:
    """Whatever is wrong with what grading has left: the database, its rows, the files."""
    found = []
    with sqlite3.connect(lab.course.gradebook) as book:  # for writing, or it could not undo what was cut off
        found += [row[0] for row in book.execute("PRAGMA integrity_check") if row[0] != "ok"]
        pages = "SELECT n.id FROM submitted_notebook n JOIN submitted_assignment s ON n.assignment_id = s.id"
        for table in ("grade", "comment"):
            rows = book.execute(
                f"SELECT (SELECT COUNT(*) FROM {table} WHERE notebook_id = p.id) FROM ({pages}) p"
            )
            found += [f"{count} rows in {table}" for (count,) in rows if count != 1]
        entered = {row[0] for row in book.execute("SELECT student_id FROM submitted_assignment")}
        marked = {row[0] for row in book.execute("SELECT student FROM transformer_labs_graded")}
    found += [f"{student} is marked and not entered" for student in marked - entered]
    for student in entered:
        file = lab.course.autograded / student / lab.name / lab.notebook_name
        try:
            nbformat.validate(nbformat.read(file, as_version=4))
        except Exception as error:
            found.append(f"{file}: {error}")
    return found


def scratch_files(lab: Lab) -> list[Path]:
    return [path for path in lab.course.grading.rglob(".*") if path.name not in (".", "..")]


def goes_on(lab: Lab, runner: KernelFree, done: int) -> None:
    """After a fault: what was entered is sound and stays, and the next run does the rest."""
    assert unsound(lab) == []
    assert scratch_files(lab) == []
    assert len(scores(lab)) == done
    after = graded(lab, runner)
    assert sum(record.kept for record in after.values()) == done
    assert scores(lab) == {student: pytest.approx(record.score) for student, record in after.items()}
    assert len(after) == SIZE


# ---------------------------------------------------------------------------------- programs that are elsewhere


def test_a_gradebook_is_made_without_the_environment_s_programs_on_the_path(tmp_path, monkeypatch):
    course = new_course(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert not shutil.which("alembic"), "this machine has one of its own"
    with gradebook_file.opened(course) as book:
        assert book.nbgrader_s.students == []


def test_nbgrader_s_own_commands_find_the_environment_s_programs_too(tmp_path):
    course = new_course(tmp_path)
    make_private(course.grading)
    command = [Path(sys.executable).with_name("nbgrader"), "db", "student", "add", "ada"]
    done = subprocess.run(
        command, cwd=course.root, env={**os.environ, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(course.gradebook) as book:
        assert book.execute("SELECT id FROM student").fetchall() == [("ada",)]


# ---------------------------------------------------------------------------------- disks and locks


@pytest.mark.parametrize("jobs", [None, 2])
@pytest.mark.parametrize(
    ("what", "number"), [("full", errno.ENOSPC), ("read-only", errno.EROFS), ("forbidden", errno.EACCES)]
)
def test_a_graded_notebook_that_cannot_be_written_stops_the_run(lab, runner, monkeypatch, what, number, jobs):
    original, calls = os.fsync, []

    def fails(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 4:  # two files a submission, so in the middle of the second
            raise OSError(number, os.strerror(number))
        original(descriptor)

    with monkeypatch.context() as patched, pytest.raises(GraderError) as error:
        patched.setattr("os.fsync", fails)
        graded(lab, runner, jobs=jobs)
    assert os.strerror(number) in str(error.value)
    assert re.search(
        r"graded notebook of s0\d cannot be written .*run the same command again", str(error.value)
    )
    goes_on(lab, runner, 1)


def test_a_student_s_folder_that_is_none_stops_the_run(lab, runner):
    lab.course.autograded.mkdir()
    (lab.course.autograded / "s01").write_text("in the way")
    with pytest.raises(GraderError, match="graded notebook of s01 cannot be written"):
        graded(lab, runner)
    (lab.course.autograded / "s01").unlink()
    goes_on(lab, runner, 1)


def test_a_gradebook_that_another_program_holds_is_said_to_be_held(lab, runner, monkeypatch):
    monkeypatch.setattr("grader.book.file.BUSY_SECONDS", 0.2)
    stream = grading.autograde(lab, grading.submissions(lab), runner, 5, again=Again.CHANGED)
    next(stream)
    with sqlite3.connect(lab.course.gradebook) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(GraderError, match=r"database is locked\. Another program is using it: close"):
            list(stream)
        other.rollback()
    other.close()
    goes_on(lab, runner, 1)


def test_a_gradebook_that_is_held_for_a_moment_is_waited_for(lab, runner):
    holder = "import sqlite3, sys, time; db = sqlite3.connect(sys.argv[1]); db.execute('BEGIN EXCLUSIVE');"
    holder += "print(flush=True); time.sleep(1)"
    stream = grading.autograde(lab, grading.submissions(lab), runner, 5)
    next(stream)
    command = [sys.executable, "-c", holder, str(lab.course.gradebook)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        assert len(list(stream)) == SIZE - 1
    assert unsound(lab) == []


def test_a_gradebook_that_grows_beyond_the_disk_is_left_as_it_was(lab, runner, monkeypatch):
    """SQLite's own message for a full disk, by its own limit of pages."""
    stream = grading.autograde(lab, grading.submissions(lab), runner, 5, again=Again.CHANGED)
    next(stream)
    from grader.book import scores

    original = scores._page

    def without_room(db, *arguments):
        db.exec_driver_sql("PRAGMA max_page_count = 1")
        db.exec_driver_sql("CREATE TABLE filler AS SELECT randomblob(100000)")
        return original(db, *arguments)

    with monkeypatch.context() as patched, pytest.raises(GraderError) as error:
        patched.setattr("grader.book.scores._page", without_room)
        list(stream)
    assert "full. The disk is full: free some space" in str(error.value)
    goes_on(lab, runner, 1)


PROGRAM = """
import sys
from pathlib import Path
from classroom import START, KernelFree
from grader import cli
from grader.grade import autograde
log = Path(sys.argv[1])
autograde.choose_runner = lambda *_, **__: KernelFree(log)
cli.app(["autograde", START, "--jobs", "2"])
"""


def in_namespace(script: str, *arguments: str | Path) -> subprocess.CompletedProcess:
    """A shell script in which mounts are one's own, also for somebody who is not root."""
    probe = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True)
    if probe.returncode:
        pytest.skip(f"no mounts of one's own here: {probe.stderr.decode().strip()}")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    command = ["unshare", "-rm", "sh", "-ec", script, "sh", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


needs_unshare = pytest.mark.skipif(not shutil.which("unshare"), reason="unshare (util-linux) is not there")


@needs_unshare
@pytest.mark.slow
@pytest.mark.parametrize("room", [40, 80, 120, 160, 200])
def test_a_disk_that_is_really_full_stops_the_run_cleanly_wherever_it_gets_full(lab, runner, tmp_path, room):
    """Room for so many KiB beside an empty gradebook: for files of some 30 KiB, and the gradebook's growth."""
    script = """
    disk=$1/disk; mkdir $disk
    mount -t tmpfs -o size=$(( $2 + $(stat -c %s $1/grading/gradebook.db) / 1024 ))k none $disk
    cp -r $1/grading/gradebook.db $disk
    mkdir $disk/submitted; mount --bind $1/grading/submitted $disk/submitted; mount --rbind $disk $1/grading
    cd $1; "$3" $1/program.py $1/runs || echo status $?
    rm -rf $1/left; mkdir $1/left; cp -r $1/grading/. $1/left
    """
    (tmp_path / "program.py").write_text(PROGRAM)
    done = in_namespace(script, tmp_path, str(room), sys.executable)
    assert "status 1" in done.stdout, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert re.search(r"grader: .*(No space left on device|disk is full)", done.stderr), done.stderr
    assert "run the same command again" in done.stderr
    shutil.rmtree(lab.course.grading)
    (tmp_path / "left").rename(lab.course.grading)
    assert unsound(lab) == [] and scratch_files(lab) == []
    assert len(scores(lab)) < SIZE
    after = graded(lab, runner)
    assert len(after) == SIZE
    assert scores(lab) == {student: pytest.approx(record.score) for student, record in after.items()}


@needs_unshare
@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("grading", "cannot be (written|used).*(Read-only|writable)"),
        ("grading/autograded", "graded notebook of s0. cannot be written .*Read-only"),
        (
            "grading/gradebook.db",
            r"gradebook\.db cannot be used: attempt to write a readonly database.*writable",
        ),
    ],
)
def test_what_is_read_only_is_named(lab, runner, tmp_path, what, words):
    """Also to root, whom permissions do not stop."""
    (lab.course.autograded).mkdir()
    grading.class_seed(lab)
    script = """
    mount --bind $1/$2 $1/$2; mount -o remount,ro,bind $1/$2
    cd $1; "$3" $1/program.py $1/runs
    """
    (tmp_path / "program.py").write_text(PROGRAM)
    done = in_namespace(script, tmp_path, what, sys.executable)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert re.search(rf"grader: .*{words}", done.stderr), done.stderr
    goes_on(lab, runner, 0)


# ---------------------------------------------------------------------------------- the same for everybody


def mixed_class(lab: Lab) -> None:
    for student, notebook in made_up_class(lab):
        hand_in(lab.course, lab, student, notebook)


@pytest.mark.slow
def test_the_number_of_workers_and_the_order_change_nothing(tmp_path):
    found = []
    for jobs, order in ((1, 1), (3, -1)):
        (tmp_path / str(jobs)).mkdir()
        lab = Lab.load(with_gradebook(new_course(tmp_path / str(jobs))), START)
        mixed_class(lab)
        folders = grading.submissions(lab)[::order]
        records = list(grading.autograde(lab, folders, PlainRunner(cell_seconds=4), 5, jobs=jobs))
        found.append({record.student: record for record in records})
        assert len(records) == len(folders)
        assert scores(lab) == {record.student: pytest.approx(record.score) for record in records}
    assert found[0] == found[1]
    assert {record.state for record in found[0].values()} == {
        "graded",
        "incomplete",
        "timed out",
        "crashed",
        "unreadable",
    }
    assert any(record.recognised for record in found[0].values())


# ---------------------------------------------------------------------------------- killed at random

# how many processes of each kind are killed, whatever the machine's speed: only when, and which one, is chance
KILLS = {"worker": 7, "preloaded": 7, "helper": 3, "run": 3}
KERNEL_KILLS = {"kernel": 10}
STUDENTS = 8

GRADER = "from grader.cli import app; app()"


@dataclass(frozen=True)
class Target:
    kind: str
    process: psutil.Process


def targets(run: psutil.Process) -> list[Target]:
    """The processes of a run by kind: the run itself, its helpers, its workers, their preloaded processes in their
    containers, and kernels outside of the sandbox."""
    found = [Target("run", run)]
    try:
        family = run.children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    for process in family:
        try:
            words = " ".join(process.cmdline())
            parent = process.parent()
            if process.name() == "bwrap" or (parent is not None and parent.name() == "bwrap"):
                found.append(Target("preloaded", process))  # or the container around it
            elif "ipykernel" in words:
                if (
                    time.time() - process.create_time() > 1
                ):  # one that dies at its start is not the learner's loss
                    found.append(Target("kernel", process))
            elif "multiprocessing" in words:
                # a worker is a fork of the fork server, and so has its command line
                is_worker = parent is not None and "forkserver" in " ".join(parent.cmdline())
                found.append(Target("worker" if is_worker else "helper", process))
        except psutil.Error:
            continue
    return found


def kill_one(run: psutil.Process, left: Counter[str], chance: random.Random) -> None:
    """Kills a process of a kind of which some are left to kill, if there is one now, and counts it."""
    kind = chance.choice(list(left.elements()))
    possible = [target.process for target in targets(run) if target.kind == kind]
    try:
        if possible:
            chance.choice(possible).kill()
            left[kind] -= 1
    except psutil.NoSuchProcess:
        pass


def start_grading(lab: Lab, *arguments: str) -> subprocess.Popen:
    """In the sandbox, unless the arguments say otherwise."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "300"}
    return subprocess.Popen(
        [sys.executable, "-c", GRADER, "autograde", START, "--jobs", "2", *arguments],
        cwd=lab.course.root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")
def test_processes_killed_at_random_points_lose_nothing_and_leave_nothing(tmp_path):
    """Kills runs, workers, preloaded processes, kernels in the sandbox, and the processes that start them."""
    chance = random.Random(20300115)
    lab, undisturbed = graded_in_peace(tmp_path)
    left = Counter(KILLS)
    while left.total():
        shutil.rmtree(lab.course.autograded)
        with_gradebook(lab.course)
        while not disturbed(lab, left, chance):
            assert unsound(lab) == []
        last = start_grading(lab)  # what two workers died on is tried again
        said = last.communicate(timeout=900)[0]
        assert last.returncode == 0, said
        assert scores(lab) == undisturbed
        assert unsound(lab) == [] and scratch_files(lab) == []


@pytest.mark.slow
def test_a_kernel_that_is_killed_costs_its_own_submission_only(tmp_path):
    """It cannot be told from one that took too much memory, so it is the learner's loss, and is said."""
    chance = random.Random(20300116)
    unprotected = ("--sandbox", "none")
    lab, undisturbed = graded_in_peace(tmp_path, *unprotected)
    left = Counter(KERNEL_KILLS)
    while left.total():
        before = left.total()
        shutil.rmtree(lab.course.autograded)
        with_gradebook(lab.course)
        assert disturbed(lab, left, chance, *unprotected)
        assert unsound(lab) == []
        found = scores(lab)
        with sqlite3.connect(lab.course.gradebook) as book:
            states = dict(book.execute("SELECT student, state FROM transformer_labs_graded"))
        whole = {student for student, state in states.items() if state == "graded"}
        assert set(states.values()) <= {"graded", "out of memory", "crashed"}
        assert STUDENTS - len(whole) <= before - left.total()
        assert {s: found[s] for s in whole} == {s: undisturbed[s] for s in whole}
    assert disturbed(lab, left, chance, "--force", *unprotected)
    assert scores(lab) == undisturbed


def graded_in_peace(root: Path, *arguments: str) -> tuple[Lab, dict[str, float]]:
    lab = Lab.load(with_gradebook(new_course(root)), START)
    for folder in hand_in_class(lab, STUDENTS):
        takes_longer(folder / lab.notebook_name)
    said = start_grading(lab, *arguments).communicate(timeout=900)[0]
    assert "8 of 8 done now: 8 graded" in said
    return lab, scores(lab)


def takes_longer(file: Path) -> None:
    """So that the processes that run it are there for somewhat longer than it takes to start them."""
    notebook = nbformat.read(file, as_version=4)
    next(cell for cell in notebook.cells if is_solution(cell)).source += "\nimport time\ntime.sleep(0.7)"
    nbformat.write(notebook, file)


def disturbed(lab: Lab, left: Counter[str], chance: random.Random, *arguments: str) -> bool:
    """Grades the lab while processes are killed, as many of each kind as are left. Whether it came to its end; in
    any case no process is left of it.
    """
    run = start_grading(lab, *arguments)
    process = psutil.Process(run.pid)
    family: set[psutil.Process] = set()
    early = chance.random() < 0.2  # some right away, most when notebooks are run
    while run.poll() is None:
        time.sleep(chance.uniform(0.02, 0.5))
        found = targets(process)
        family |= {target.process for target in found}
        running = {"preloaded", "kernel"} & {each.kind for each in found}
        # now and then nothing is killed, so that some of it gets done
        if left.total() and (early or running) and chance.random() < 0.6:
            kill_one(process, left, chance)
    said = run.communicate(timeout=600)[0]
    # a kernel that is killed before it ever answered, or twice in a row while it starts, is nobody's loss: the run
    # stops with a message, and the next one grades that submission
    stopped = "did not answer" in said or "was killed while it started" in said
    assert run.returncode in (0, -signal.SIGKILL) or stopped, said
    assert until(lambda: all(gone(member.pid) for member in family)), (family, said)
    return run.returncode >= 0
