"""Which submissions are run once more, when, how many at a time, and what becomes of those that there is no time for."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
from classroom import START, KernelFree, new_course, with_gradebook
from nbformat import NotebookNode

from grader.grade import autograde as grading
from grader.grade.autograde import SecondRuns
from grader.grade.resume import Again
from grader.grade.work import Graded, Record
from grader.handout.demo import hand_in, solved
from grader.reference.lab import Lab, is_solution
from grader.run import machine
from grader.run.states import CRASHED, GRADED, OUT_OF_MEMORY, TIMED_OUT, Executed

SLOW = [{"problem": ["slow", "It was still computing after 10 seconds and was stopped."]}]
GIB = 2**30


# ---------------------------------------------------------------------------------- which


@pytest.mark.parametrize(
    ("state", "payload", "undisturbed", "in_doubt"),
    [
        (GRADED, [], False, False),
        (CRASHED, [], False, False),
        (TIMED_OUT, [], True, False),
        (GRADED, SLOW, True, False),
        (TIMED_OUT, [], False, True),
        (GRADED, SLOW, False, True),
        (OUT_OF_MEMORY, [], False, True),
        (OUT_OF_MEMORY, [], True, True),
    ],
)
def test_only_what_may_end_otherwise_is_in_doubt(state, payload, undisturbed, in_doubt):
    executed = Executed(NotebookNode(), state, {"a.b": payload}, undisturbed=undisturbed)
    assert executed.in_doubt is in_doubt


@pytest.fixture
def system(tmp_path, monkeypatch) -> SimpleNamespace:
    """What the system says of itself, as files that a test may change."""
    files = SimpleNamespace(pressure=tmp_path / "memory", counts=tmp_path / "vmstat")
    monkeypatch.setattr(machine, "_PRESSURE", files.pressure)
    monkeypatch.setattr(machine, "_COUNTS", files.counts)
    says(files)
    return files


def says(
    files: SimpleNamespace, stalled: float = 5, kills: int = 1, swapped: int = 7, stalls: int = 2
) -> None:
    lines = (
        f"{kind} avg10=0.00 avg60=0.00 avg300=0.00 total={stalled * 1e6:.0f}\n" for kind in ("some", "full")
    )
    files.pressure.write_text("".join(lines))
    files.counts.write_text(f"pswpin {swapped}\nallocstall_normal {stalls}\noom_kill {kills}\n")


def watching(seconds: float) -> machine.Watch:
    watch = machine.Watch()
    watch._began -= seconds
    return watch


def test_a_run_that_had_a_processor_and_memory_was_not_disturbed(system):
    watch = watching(100)
    assert watch.undisturbed(99) and watch.undisturbed(30)
    says(system, stalled=5.5)
    assert watch.undisturbed(99)


@pytest.mark.parametrize("change", [{"stalled": 8}, {"kills": 2}])
def test_a_run_during_which_memory_was_short_was_disturbed(system, change):
    watch = watching(100)
    says(system, **change)
    assert not watch.undisturbed(99)


@pytest.mark.parametrize("change", [{"swapped": 8}, {"stalls": 3}, {"kills": 2}])
def test_where_nobody_counts_the_time_lost_the_times_that_memory_was_short_are_counted(system, change):
    system.pressure.unlink()
    watch = watching(100)
    assert watch.undisturbed(99)
    says(system, **change)
    system.pressure.unlink()
    assert not watch.undisturbed(99)


def test_a_run_that_waited_or_slept_for_most_of_its_time_was_disturbed(system):
    assert not watching(100).undisturbed(20)


def test_where_nothing_is_known_of_the_machine_a_run_counts_as_disturbed(system):
    system.counts.unlink()
    assert not watching(100).undisturbed(99)
    says(system)
    watch = watching(100)
    system.counts.unlink()
    assert not watch.undisturbed(99)


# ---------------------------------------------------------------------------------- how many at a time


@pytest.mark.parametrize(
    ("busy", "mine", "free", "fit"),
    [
        ([2, 3, 1, 5], {0, 1, 2, 3}, 100, 4),
        ([2, 99, 1, 60], {0, 1, 2, 3}, 100, 2),
        ([2, 3, 1, 5], {1, 3}, 100, 2),
        ([2, 3, 1, 5], {0, 1, 2, 3}, 5, 2),
        ([99, 99], {0, 1}, 1, 1),
        ([1] * 64, set(range(64)), 1000, 8),
    ],
)
def test_as_many_fit_as_there_are_idle_cores_and_as_have_memory(monkeypatch, tmp_path, busy, mine, free, fit):
    monkeypatch.setattr(machine.psutil, "cpu_percent", lambda *_, **__: busy)
    monkeypatch.setattr(machine.psutil, "virtual_memory", lambda: SimpleNamespace(available=free * GIB))
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: mine, raising=False)
    monkeypatch.setattr(machine, "_CONTAINER", tmp_path)
    assert machine.room(8, 2 * GIB) == fit


def test_the_memory_of_a_container_counts_if_it_is_less(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_CONTAINER", tmp_path)
    all_of_it = machine._free_memory()
    (tmp_path / "memory.current").write_text("1000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert machine._free_memory() == pytest.approx(all_of_it, rel=0.5)
    (tmp_path / "memory.max").write_text("5000\n")
    assert machine._free_memory() == 4000


class Workforce:
    """Remembers which submissions it got together. Those in ``doubtful`` are in doubt, and take so many seconds."""

    def __init__(self, doubtful: Mapping[str, float]) -> None:
        self.doubtful, self.groups = doubtful, []

    def map(self, shared: object, tasks: Iterable[Path]) -> Iterator[tuple[Path, Graded]]:
        self.groups.append([task.parent.name for task in tasks])
        for name in self.groups[-1]:
            record = Record(name, TIMED_OUT, 0.0, 20.0)
            seconds = self.doubtful.get(name, 0.0)
            yield (
                Path(name, START),
                Graded(record, "f", b"", None, None, None, name in self.doubtful, seconds),
            )


def answers(
    monkeypatch, workforce: Workforce, names: str, beside: int = 1, seconds: float = 600
) -> tuple[dict, list]:
    monkeypatch.setattr(grading, "_side_by_side", lambda *_: beside)
    monkeypatch.setattr(grading, "SECOND_RUNS_SECONDS", seconds)
    told: list[SecondRuns] = []
    only = grading.Grading(None, START, 5, None)
    found = grading._answers(only, workforce, {}, [Path(name, START) for name in names], told.append)
    return {path.parent.name: answer for path, answer in found}, told


def test_second_runs_come_last_the_shortest_first_and_side_by_side(monkeypatch):
    workforce = Workforce({"a": 40, "c": 20, "d": 30})
    found, told = answers(monkeypatch, workforce, "abcde", beside=2)
    assert workforce.groups == [["a", "b", "c", "d", "e"], ["c", "d"], ["a"]]
    assert list(found) == ["b", "e", "c", "d", "a"]
    assert not any(answer.record.notes for answer in found.values())
    assert told == [
        *(SecondRuns(1, 40), SecondRuns(2, 60), SecondRuns(3, 90)),
        *(SecondRuns(3, 90, 2), SecondRuns(2, 70, 2), SecondRuns(1, 40, 2)),
        *(SecondRuns(1, 40, 1), SecondRuns(0, 0, 1)),
    ]


def test_those_that_there_is_no_time_for_are_named_and_graded_anew_the_next_time(monkeypatch):
    workforce = Workforce({"a": 400, "b": 7, "c": 700})
    found, told = answers(monkeypatch, workforce, "abc")
    assert workforce.groups == [["a", "b", "c"], ["b"], ["a"]]
    assert not found["a"].record.notes and found["a"].handed_in
    (note,) = found["c"].record.notes
    assert "at most 10 minutes a class" in note and "--student c " in note
    assert not found["c"].handed_in
    assert [each.given_up for each in told if each.given_up] == [("c",)] and told[-1].given_up


def test_one_second_run_is_always_made(monkeypatch):
    workforce = Workforce({"a": 4000, "b": 5000})
    found, _ = answers(monkeypatch, workforce, "ab")
    assert workforce.groups == [["a", "b"], ["a"]]
    assert not found["a"].record.notes and found["b"].record.notes


def test_where_others_may_arrive_none_is_made_that_takes_long(monkeypatch):
    monkeypatch.setattr(grading, "_side_by_side", lambda *_: 1)
    workforce = Workforce({"a": 4000, "b": 50})
    only = grading.Grading(None, START, 5, None)
    folders = iter([Path(name, START) for name in "ab"])
    found = dict(grading._answers(only, workforce, {}, folders, lambda _: None, on_hand_in=True))
    assert workforce.groups == [["a", "b"], ["b"]]
    assert [bool(answer.record.notes) for answer in found.values()] == [False, True]
    assert "at most 2 minutes" in found[Path("a", START)].record.notes[0]


# ---------------------------------------------------------------------------------- in a course


@dataclasses.dataclass(frozen=True)
class Doubtful(KernelFree):
    """Says of every run that it ran out of memory, and took this long."""

    takes: float = 0

    def run(self, notebook: NotebookNode, seed: int, folder: Path | None = None) -> Executed:
        executed = super().run(notebook, seed, folder)
        return dataclasses.replace(executed, state=OUT_OF_MEMORY, seconds=self.takes)


def test_what_was_not_run_once_more_is_entered_and_graded_anew_by_the_next_command(tmp_path):
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    for name in ("anna", "ben"):
        notebook = solved(lab)
        first = next(cell for cell in notebook.cells if is_solution(cell))
        first.source = f"# {name}\n{first.source}"
        hand_in(lab.course, lab, name, notebook)
    runner = Doubtful(tmp_path / "runs", takes=2 * grading.SECOND_RUNS_SECONDS)

    def graded() -> dict[str, Record]:
        found = grading.autograde(lab, grading.submissions(lab), runner, 5, again=Again.CHANGED)
        return {record.student: record for record in found}

    first = graded()
    assert runner.runs() == ["anna", "ben", "anna"]
    assert first["ben"].score == lab.points and re.search("not run once more", first["ben"].notes[-1])
    second = graded()
    assert second["anna"].kept and not second["ben"].kept and not second["ben"].notes
    assert runner.runs() == ["anna", "ben", "anna", "ben", "ben"]
