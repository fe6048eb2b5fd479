"""Notebooks run by the workers of a Dask cluster, which are real processes here, on this machine's loopback."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from classroom import ATTENTION, START, KernelFree, hand_in_class, new_course, with_gradebook
from distributed import Client
from nbgrader.api import Gradebook as NbgraderGradebook
from project import ROOT
from test_pool import until

from grader.errors import GraderError
from grader.grade import autograde as grading
from grader.grade.cluster import Cluster, data_files
from grader.grade.resume import Again
from grader.grade.work import Record
from grader.handout.demo import hand_in, solved
from grader.reference.lab import Lab

pytestmark = pytest.mark.slow


WITHOUT_GRADER = """
import sys

class Finder:
    @staticmethod
    def find_spec(name, *_):
        if name.partition(".")[0] == "grader":
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Finder)
"""


@dataclass
class Dask:
    """Processes of a cluster. They know nothing of a course, and where the grader's code is only if told."""

    folder: Path
    processes: list[subprocess.Popen] = field(default_factory=list)

    @property
    def address(self) -> str:
        return json.loads((self.folder / "scheduler.json").read_text())["address"]

    def start(self, kind: str, *arguments: str, grader: bool) -> psutil.Process:
        without = self.folder / "without"
        without.mkdir(exist_ok=True)
        (without / "sitecustomize.py").write_text(WITHOUT_GRADER)  # Python imports it at its start
        path = [ROOT, ROOT / "tests"] if grader else [without]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, path)),
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
        }
        command = [
            sys.executable,
            "-m",
            f"distributed.cli.dask_{kind}",
            "--host",
            "127.0.0.1",
            "--no-dashboard",
        ]
        command += ["--scheduler-file", str(self.folder / "scheduler.json"), *arguments]
        with (self.folder / f"{kind}.log").open("a") as log:
            process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)
        self.processes.append(process)
        return psutil.Process(process.pid)

    def start_scheduler(self) -> None:
        """Return once its address can be read: the file is there a moment before its text."""
        self.start("scheduler", "--port", "0", grader=False)
        file = self.folder / "scheduler.json"
        assert until(lambda: file.exists() and file.read_text().rstrip().endswith("}"), 60)

    def start_workers(self, number: int, grader: bool = True) -> psutil.Process:
        """The process that watches over them, as `dask worker` does."""
        arguments = ["--nthreads", "1", "--nworkers", str(number), "--local-directory", str(self.folder)]
        return self.start("worker", *arguments, grader=grader)

    def stop(self) -> None:
        family = [psutil.Process(process.pid) for process in self.processes if process.poll() is None]
        family += [child for process in family for child in process.children(recursive=True)]
        for process in family:
            if process.is_running():
                process.kill()
        for process in self.processes:
            process.wait()


@pytest.fixture
def dask(tmp_path_factory) -> Iterator[Dask]:
    """A scheduler, which needs no grader, and so far no worker."""
    cluster = Dask(tmp_path_factory.mktemp("dask"))
    try:
        cluster.start_scheduler()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def lab(tmp_path) -> Lab:
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    (lab.release_folder / "words.csv").write_text("a,b")
    hand_in_class(lab, 9)
    hand_in(lab.course, lab, "unreadable", b"{")
    return lab


def graded(lab: Lab, runner, cluster: str | None = None, again: Again = Again.ALL) -> dict[str, Record]:
    records = grading.autograde(lab, grading.submissions(lab), runner, 5, cluster=cluster, again=again)
    return {record.student: record for record in records}


def test_a_cluster_grades_as_this_machine_does_and_sees_the_lab_s_files_only(lab, dask):
    here, there = KernelFree(lab.course.root / "here"), KernelFree(dask.folder / "there")
    dask.start_workers(2)
    assert graded(lab, there, dask.address) == graded(lab, here)
    assert sorted(there.runs()) == sorted(here.runs())
    lines = [line.split() for line in there.log.read_text().splitlines()]
    assert {files for *_, files in lines} == {"exercises.py,lab.json,quiz.md,words.csv"}
    assert str(os.getpid()) not in {pid for *_, pid, _ in lines}
    with NbgraderGradebook(lab.course.nbgrader_config().CourseDirectory.db_url) as book:
        assert len(book.assignment_submissions(lab.name)) == 10


def test_a_worker_that_is_killed_costs_nothing(lab, dask):
    dask.start_workers(2)
    runner = KernelFree(dask.folder / "runs", nap=0.3)
    found = {}
    for record in grading.autograde(lab, grading.submissions(lab), runner, 5, cluster=dask.address):
        found[record.student] = record
        if len(found) == 3:
            pid = int(runner.log.read_text().split()[-2])
            os.kill(pid, signal.SIGKILL)
    assert found == graded(lab, KernelFree(lab.course.root / "here"))


def test_what_kills_every_worker_has_crashed_and_costs_no_other(lab, dask):
    hand_in(lab.course, lab, "eve", solved(lab, {"softmax": "# eve\nimport os\nos._exit(1)"}))
    dask.start_workers(2)
    runner = KernelFree(dask.folder / "runs", nap=0.1)
    found = graded(lab, runner, dask.address)
    eve = found.pop("eve")
    assert (eve.state, eve.score) == ("crashed", 0)
    assert runner.runs().count("eve") == 4  # twice among others, twice alone
    (lab.course.submitted / "eve" / lab.name / lab.notebook_name).unlink()
    alone = graded(lab, KernelFree(lab.course.root / "here"))
    del alone["eve"]
    assert found == alone


def test_without_a_scheduler_it_is_said_how_to_start_one(lab):
    with pytest.raises(GraderError, match="no Dask scheduler at tcp://127.0.0.1:9 .*dask scheduler"):
        graded(lab, KernelFree(lab.course.root / "runs"), "tcp://127.0.0.1:9")


@pytest.mark.parametrize("address", ["nowhere", "foo://host:1", ""])
def test_what_is_no_address_is_told_at_once_and_in_one_sentence(lab, address, monkeypatch):
    unraisable: list = []
    monkeypatch.setattr("sys.unraisablehook", unraisable.append)
    began = time.monotonic()
    with pytest.raises(GraderError, match=f"no Dask scheduler at '{address}': .* such as tcp://host:8786"):
        graded(lab, KernelFree(lab.course.root / "runs"), address)
    gc.collect()
    assert not unraisable and time.monotonic() - began < 10


def test_without_workers_it_is_said_how_to_start_some(lab, dask, monkeypatch):
    monkeypatch.setattr("grader.grade.cluster.NO_WORKER_SECONDS", 1)
    with pytest.raises(GraderError, match=rf"dask worker {dask.address} --nthreads 1"):
        graded(lab, KernelFree(lab.course.root / "runs"), dask.address)


def test_a_worker_with_another_version_is_refused(lab, dask, monkeypatch):
    dask.start_workers(1)
    monkeypatch.setattr("grader.grade.cluster.version", lambda _: "0.0.1+other")
    with pytest.raises(GraderError, match=r"The worker tcp://127\.0\.0\.1.*; here: 0\.0\.1\+other"):
        graded(lab, KernelFree(dask.folder / "runs"), dask.address)


def test_a_worker_without_the_grader_is_named(lab, dask):
    dask.start_workers(1, grader=False)
    with pytest.raises(GraderError, match=r"A worker .* \(there: none, No module named 'grader'"):
        graded(lab, KernelFree(dask.folder / "runs"), dask.address)


def test_a_lost_scheduler_is_said_and_the_next_run_goes_on(lab, dask):
    dask.start_workers(2)
    runner = KernelFree(dask.folder / "runs", nap=0.5)
    stream = grading.autograde(
        lab, grading.submissions(lab), runner, 5, cluster=dask.address, again=Again.CHANGED
    )
    done = {next(stream).student for _ in range(3)}
    dask.stop()
    with pytest.raises(GraderError, match="connection to the Dask scheduler .* was lost"):
        done |= {record.student for record in stream}
    after = graded(lab, KernelFree(lab.course.root / "here"), again=Again.CHANGED)
    assert {student for student, record in after.items() if record.kept} == done
    assert len(after) == 10


def test_a_connection_that_cannot_even_be_closed_hides_nothing(lab, dask, monkeypatch):
    dask.start_workers(1)
    close = Client.close

    def fails(self, *args, **kwargs):
        close(self, *args, **kwargs)
        raise RuntimeError("Cannot change state of expiring Timeout")  # what Dask's own clean-up may say

    monkeypatch.setattr(Client, "close", fails)
    with pytest.raises(GraderError, match="what went wrong"), Cluster(dask.address, None):
        raise GraderError("what went wrong")


def test_only_data_files_travel(tmp_path):
    for name in ("data.csv", "more/data.csv", "lab.ipynb", "expected.npz", ".hidden", ".git/config"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert data_files(tmp_path) == {"data.csv": b"data.csv", "more/data.csv": b"more/data.csv"}


def test_a_second_run_with_a_working_earlier_exercise_is_sent_to_a_worker_too(dask, tmp_path):
    lab = Lab.load(with_gradebook(new_course(tmp_path)), ATTENTION)
    raising = "def scaled_dot_product_attention(*args, **kwargs):\n    raise ValueError"
    hand_in(lab.course, lab, "raising", solved(lab, {"scaled_dot_product_attention": raising}))
    hand_in(lab.course, lab, "perfect", solved(lab))
    dask.start_workers(1)
    runner = KernelFree(tmp_path / "log")
    found = graded(lab, runner, dask.address)
    assert len(runner.runs()) == 3
    assert len(found["raising"].given) == 2 and found["perfect"].score == lab.points
    assert graded(lab, runner) == found
