"""What is said while a class is graded: honestly, with the second runs, and without a terminal every half minute."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator

import pytest
from rich.console import Console

from grader.grade.autograde import SecondRuns
from grader.grade.work import Record
from grader.run.states import GRADED, TIMED_OUT
from grader.show import progress_bar
from grader.show.progress_bar import Progress

RIGHT, LATE = Record("anna", GRADED, 20.0, 20.0), Record("ben", TIMED_OUT, 0.0, 20.0)
KEPT = Record("cleo", GRADED, 20.0, 20.0, kept=True)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


class Written(io.StringIO):
    """Text, and whether a line has come."""

    def __init__(self) -> None:
        super().__init__()
        self.came = threading.Event()

    def write(self, text: str) -> int:
        count = super().write(text)
        self.came.set()
        return count


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def written() -> Written:
    return Written()


def of(total: int, written: Written, clock: Clock, terminal: bool = False) -> Progress:
    return Progress("Grading 02", total, Console(file=written, force_terminal=terminal, width=200), clock)


def test_the_time_left_is_told_from_those_that_are_done(clock, written):
    progress = of(10, written, clock)
    assert progress.line() == "Grading 02: 0 of 10 done; no telling yet how long it takes."

    def records() -> Iterator[Record]:
        for _ in range(4):
            clock.seconds += 10
            yield RIGHT

    for _ in progress.watched(records()):
        pass
    assert progress.line() == "Grading 02: 4 of 10 done; 4 graded; about 1:00 left."
    clock.seconds += 15
    assert progress.line() == "Grading 02: 4 of 10 done; 4 graded; about 0:45 left."
    clock.seconds += 30
    assert progress.left() == "waiting for some that take longer"


def test_the_time_of_second_runs_is_part_of_it(clock, written):
    progress = of(5, written, clock)

    def records() -> Iterator[Record]:
        for _ in range(3):
            clock.seconds += 1
            yield RIGHT
        progress.tell(SecondRuns(1, 49.0))
        assert "1 to be run once more" in progress.line()
        progress.tell(SecondRuns(2, 98.0))
        assert progress.left() == "about 1:38 left"
        progress.tell(SecondRuns(2, 98.0, 2))
        assert progress.left() == "about 0:49 left"
        clock.seconds += 40
        assert progress.left() == "about 0:09 left"
        clock.seconds += 40
        assert progress.left() == "longer than expected"
        progress.tell(SecondRuns(1, 49.0, 2))
        yield LATE
        progress.tell(SecondRuns(0, 0.0, 2))
        yield LATE

    assert len(list(progress.watched(records()))) == 5
    said = written.getvalue()
    assert said.count("2 ran out of time or memory") == 1 and "for at most 10 minutes in all" in said
    assert said.endswith("Grading 02: 5 of 5 done now: 3 graded, 2 timed out.\n")


def test_those_that_there_was_no_time_for_are_named(clock, written):
    progress = of(5, written, clock)
    progress.tell(SecondRuns(2, 900.0, 1))
    progress.tell(SecondRuns(0, 0.0, 1, ("anna", "b[o]b")))
    assert (
        "no time was left to run these once more: anna, b[o]b. Their first results count"
        in written.getvalue()
    )


def test_without_a_terminal_there_is_a_line_again_and_again(clock, written, monkeypatch):
    assert progress_bar.LINE_SECONDS == 30
    monkeypatch.setattr(progress_bar, "LINE_SECONDS", 0.001)
    progress = of(3, written, clock)

    def records() -> Iterator[Record]:
        yield KEPT
        yield RIGHT
        written.came.clear()
        assert written.came.wait(60)
        yield RIGHT

    assert len(list(progress.watched(records()))) == 3
    assert "Grading 02: 1 of 2 done; 1 graded; " in written.getvalue()
    assert (
        "Grading 02: 2 of 3 done now: 2 graded.\nGrading 02: 1 already graded and unchanged"
        in written.getvalue()
    )


def test_a_terminal_shows_a_bar_with_the_same_words_and_no_lines(clock, written, monkeypatch):
    monkeypatch.setattr(progress_bar, "LINE_SECONDS", 0.001)
    progress = of(2, written, clock, terminal=True)
    for _ in progress.watched([RIGHT, LATE]):
        clock.seconds += 1
    assert "2/2" in written.getvalue() and "1 graded, 1 timed out" in written.getvalue()
    assert " done; " not in written.getvalue()


def test_pages_are_counted_in_the_same_way(clock, written):
    progress = of(3, written, clock)
    assert list(progress.counted("abc")) == ["a", "b", "c"]
    assert progress.line().startswith("Grading 02: 3 of 3 done;") and written.getvalue() == ""
