"""Grading on hand-in: whose turn it is, how often, and what becomes of hand-ins when anything goes wrong."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import nbformat
import pytest
from classroom import START, KernelFree, new_course, with_gradebook
from hypothesis import given
from hypothesis import strategies as st
from nbgrader.utils import notebook_hash

from grader.book.attempts import Attempt
from grader.book.gradebook import Gradebook
from grader.errors import GraderError
from grader.files import SECRET
from grader.grade import autograde as grading
from grader.grade.watch import DAY, HandIn, Queue, Watch, place_of
from grader.handout.demo import solved
from grader.receive import exchange, sources
from grader.reference.lab import Lab, is_solution
from grader.show.returning import KEPT, return_feedback, say_kept

NOON = datetime(2030, 1, 31, 12)
HOUR = timedelta(hours=1)


# ---------------------------------------------------------------------------------- whose turn it is


def names(queue: Queue, now: datetime = NOON) -> list[str]:
    """Who is graded, one after the other, if nothing else arrives."""
    found = []
    while hand_in := queue.take(now):
        found.append(hand_in.handed_in)
    return found


def test_ten_hand_ins_of_one_person_keep_nobody_waiting_for_more_than_one():
    queue = Queue(per_day=20)
    for number in range(10):
        queue.put(HandIn("anna", f"anna {number}", NOON))
        queue.put(HandIn(f"s{number}", f"s{number}", NOON))
    assert names(queue) == ["anna 9", *(f"s{number}" for number in range(10))]


def test_what_comes_after_a_person_s_turn_goes_to_the_end():
    queue = Queue(per_day=20)
    for student in ("anna", "ben"):
        queue.put(HandIn(student, student, NOON))
    assert queue.take(NOON).student == "anna"
    queue.put(HandIn("anna", "another", NOON))
    assert names(queue) == ["ben", "another"]


ARRIVALS = st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans()), max_size=80)


@given(ARRIVALS, st.integers(1, 4))
def test_whatever_arrives_when_nobody_is_passed_twice_and_nobody_gets_more_than_the_bound(arrivals, per_day):
    queue, passed, waiting, taken = Queue(per_day), {}, {}, {}
    for number, (student, takes) in enumerate(arrivals):
        queue.put(HandIn(student, str(number), NOON))
        waiting.setdefault(student, number)
        if takes and (hand_in := queue.take(NOON)):
            mine = hand_in.student
            assert hand_in.handed_in == str(
                max(n for n, (who, _) in enumerate(arrivals[: number + 1]) if who == mine)
            )
            taken[mine] = taken.get(mine, 0) + 1
            for other in waiting.keys() - {mine}:
                if taken.get(other, 0) < per_day:
                    passed[other, mine] = passed.get((other, mine), 0) + 1
                    assert passed[other, mine] == 1 and waiting[mine] < waiting[other]
            del waiting[mine]
            passed = {pair: count for pair, count in passed.items() if pair[0] != mine}
    assert all(count <= per_day for count in taken.values())
    names(queue)
    assert {each.student for each, _ in queue.held(NOON)} == {
        student for student in waiting if taken.get(student, 0) == per_day
    }


# ---------------------------------------------------------------------------------- how often


def used(*hours_ago: float) -> Queue:
    queue = Queue(per_day=2)
    queue.attempts["anna"] = [Attempt(NOON - each * HOUR, str(each)) for each in hours_ago]
    return queue


@pytest.mark.parametrize(
    ("hours_ago", "free"),
    [((), None), ((3,), None), ((30, 3), None), ((23, 3), NOON + HOUR), ((30, 20, 3), NOON + 4 * HOUR)],
)
def test_more_than_the_bound_within_24_hours_waits(hours_ago, free):
    queue = used(*hours_ago)
    queue.put(HandIn("anna", "new", NOON))
    assert queue.free_from(HandIn("anna", "new", NOON), NOON) == free
    assert names(queue) == ([] if free else ["new"])
    if free:
        assert names(queue, free) == ["new"]


def test_the_last_hand_in_before_the_deadline_is_graded_when_it_has_passed():
    queue = used(3, 2)
    in_time = HandIn("anna", "new", NOON, due=NOON + HOUR)
    assert queue.free_from(in_time, NOON) == NOON + HOUR
    assert queue.free_from(in_time, NOON + HOUR) is None
    late = HandIn("anna", "new", NOON + 2 * HOUR, due=NOON + HOUR)
    assert queue.free_from(late, NOON + 2 * HOUR) == NOON - 3 * HOUR + DAY


def test_an_attempt_that_was_broken_off_is_begun_again_and_is_the_same_attempt():
    queue = used(3, 2)
    queue.put(HandIn("anna", "2", NOON))
    assert names(queue) == ["2"] and len(queue.attempts["anna"]) == 2


# ---------------------------------------------------------------------------------- a lab that is watched


class Clock:
    """A clock that moves on when somebody waits."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds)

    def read(self) -> float:
        return self.seconds

    def pause(self, seconds: float) -> None:
        self.seconds += 5 * seconds  # more than between two looks


class Class:
    """A lab that learners hand in to through the exchange. All of them are one user of this machine."""

    def __init__(self, lab: Lab, inbound: Path, runner: KernelFree) -> None:
        self.lab, self.inbound, self.runner = lab, inbound, runner
        self.clock, self.lines, self.count = Clock(), [], 0

    def submits(self, student: str, notebook: nbformat.NotebookNode | bytes | None = None) -> str:
        """Hands in as nbgrader does. Returns the submission's secret."""
        self.count += 1
        notebook = solved(self.lab) if notebook is None else notebook
        if not isinstance(notebook, bytes):
            cell = next(cell for cell in notebook.cells if is_solution(cell))
            cell.source = f"# {student}-{self.count}\n{cell.source}"
            notebook = json.dumps(notebook).encode()
        stamp, secret = f"{self.clock.now():%Y-%m-%d %H:%M:%S}.{self.count:06} UTC", f"{self.count:0128}"
        folder = self.inbound / f"{student}+{self.lab.name}+{stamp}+{self.count}"
        folder.mkdir()
        (folder / self.lab.notebook_name).write_bytes(notebook)
        (folder / "timestamp.txt").write_text(stamp)
        (folder / SECRET).write_text(secret)
        return secret

    def watch(self, rounds: int = 3, per_day: int = 5, jobs: int | None = None, **other) -> list[str]:
        """Starts a watch that looks a few times. Returns what it has said."""

        def tell_kept(hand_in: HandIn, free: datetime) -> None:
            say_kept(self.lab, hand_in.student, hand_in.when, free, hand_in.due, per_day, exchange=True)

        before = len(self.lines)
        how = {
            "give_back": lambda student: return_feedback(self.lab, student, exchange=True),
            "tell_kept": tell_kept,
            "say": self.lines.append,
            "now": self.clock.now,
            "clock": self.clock.read,
            "pause": self.clock.pause,
        }
        place = place_of(self.lab, None, shared_account=True)
        watch = Watch(self.lab, self.runner, 5, place, Queue(per_day), jobs, **how | other)
        watch.go_on(iter(range(rounds)))
        return [line.partition("  ")[2] for line in self.lines[before:]]

    def page(self, secret: str) -> str:
        """What the learner fetches for a submission; empty if there is nothing."""
        name = notebook_hash(secret=secret, notebook_id=self.lab.slug)
        file = self.inbound.parent / "feedback" / f"{name}.html"
        return file.read_text("utf-8") if file.exists() else ""

    def scores(self) -> dict[str, float]:
        with Gradebook.open(self.lab.course) as gradebook:
            return {result.student: result.score for result in gradebook.results(self.lab)}


@pytest.fixture
def watched(tmp_path, monkeypatch) -> Class:
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_CONFIG_PATH"):
        monkeypatch.setenv(name, str(tmp_path / "config"))
    (tmp_path / "course").mkdir()
    course = with_gradebook(new_course(tmp_path / "course"))
    inbound = tmp_path / "exchange" / "transformer-labs" / "inbound"
    inbound.mkdir(parents=True)
    for place in (inbound.parents[1], inbound):
        place.chmod(0o1777)
    with (course.root / "nbgrader_config.py").open("a") as file:
        file.write(f"\nget_config().Exchange.root = {str(inbound.parents[1])!r}\n")
    return Class(Lab.load(course, START), inbound, KernelFree(tmp_path / "runs"))


def test_what_arrives_is_graded_and_its_feedback_is_where_the_learner_fetches_it(watched):
    ann, ben = watched.submits("ann"), watched.submits("ben", watched.lab.release())
    said = watched.watch()
    assert len(said) == 2 and "ann: graded, 36 of 36" in said[0] and said[0].endswith("feedback returned")
    assert f"{watched.lab.points:g} of {watched.lab.points:g} points" in watched.page(ann).replace("\n", " ")
    assert "0 of" in watched.page(ben)
