"""What running a notebook results in, what it may use, and what all runners have in common.

The process that runs learner code shares nothing with the one that grades: it only returns outputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from nbformat import NotebookNode


GRADED, TIMED_OUT, CRASHED, OUT_OF_MEMORY = "graded", "timed out", "crashed", "out of memory"
INCOMPLETE, UNREADABLE = "incomplete", "unreadable"
"""What else a graded submission may be: some of its cells had to be restored, or nothing could be run."""
CUT_SHORT = frozenset({TIMED_OUT, CRASHED, OUT_OF_MEMORY})
"""Of a submission in one of these states, some cells were not run to their end."""

STOPPED = "Stopped"
"""The name of the error that a cell shows that had to be stopped."""

ENDINGS = {
    TIMED_OUT: "was stopped because it took too long",
    CRASHED: "crashed the kernel",
    OUT_OF_MEMORY: "was stopped because it used more memory than one submission may",
}
"""What a note says of the cell in which it happened, whose id it names first."""

ONE_AT_A_TIME = "transformer_labs_one_at_a_time"
"""In a notebook's own metadata: no cell is sent to the kernel before the one before it has ended."""


@dataclass(frozen=True)
class Executed:
    """The results of running a notebook.

    Attributes:
        notebook: a copy with raw outputs, which are bounded in size, but must not be shown as they are.
        state: graded, timed out, crashed, or out of memory.
        payloads: exercise key -> the cases that its own check cell published at the right seed. Untrusted.
        notes: sentences about cells that had to be stopped.
        lost: whether the run says nothing about the submission, so that another run may end better.
        undisturbed: whether it had the processor and the memory that it needed (:class:`grader.run.machine.Watch`).
        seconds: how long it took by the clock.
    """

    notebook: NotebookNode
    state: str
    payloads: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    lost: bool = False
    undisturbed: bool = False
    seconds: float = 0.0

    @property
    def in_doubt(self) -> bool:
        """Whether another run may end otherwise. Where memory ran out, it may have been short because of other processes. Where
        time ran out, the limit is one of CPU time, which an undisturbed run has used up by itself: it would do so again.
        """
        out_of_time = self.state == TIMED_OUT or any(map(says_slow, self.payloads.values()))
        return self.state == OUT_OF_MEMORY or (out_of_time and not self.undisturbed)


def says_slow(payload: Any) -> bool:
    """Whether a case of an exercise was stopped because it took too long."""
    cases = payload if isinstance(payload, list) else []
    problems = (case.get("problem") for case in cases if isinstance(case, dict))
    return any(isinstance(problem, list) and problem[:1] == ["slow"] for problem in problems)


def stopped_in_words(name: str, seconds: float) -> str:
    """A note that an exercise's check was stopped in its first case; :func:`stopped_exercises` reads it."""
    return f"The check of `{name}` was stopped after {seconds:g} s. Does every loop end?"


def stopped_exercises(notes: Iterable[str]) -> list[str]:
    """The exercises whose checks, by the notes, were stopped because they took too long."""
    return [
        found[1] for note in notes if (found := re.match(r"The check of `(\w+)` was stopped after ", note))
    ]


def cells_that_ended(notes: Iterable[str]) -> list[str]:
    """The ids of the cells in which, by the notes of a run, it was cut short."""
    ended = re.compile(rf"Cell `([^`]+)`[^`]* (?:{'|'.join(map(re.escape, ENDINGS.values()))})")
    return [found[1] for note in notes for found in ended.finditer(note)]


class Runner(Protocol):
    """Runs a rebuilt notebook. Learner code reaches neither the caller's process nor its files.

    Attributes:
        notebook_seconds: the most seconds that a notebook may take by the clock, including replays.
    """

    notebook_seconds: float

    def warm_up(self, folder: Path | None = None) -> None:
        """Starts whatever takes long before the first notebook can run, without waiting for it."""
        ...

    def run(self, notebook: NotebookNode, seed: int, folder: Path | None = None) -> Executed:
        """
        Args:
            notebook: from :func:`grader.receive.rebuild.rebuild`; it is not changed.
            seed: what the check cells draw their cases with.
            folder: the lab's release, whose data files the notebook may read.
        """
        ...


@dataclass(frozen=True)
class Limited:
    """The limits that both kinds of runner have.

    If a cell runs too long or takes the kernel down, only that cell is lost: a fresh kernel replays the cells
    before it, and goes on after it.

    Limits count the time that a cell uses, because a grade must not depend on what else the machine is doing.

    Args:
        cell_seconds: how long one cell may compute (CPU time, all its processes together), and how long it may
            sleep. A check cell gets the time that its cases may take on top of this.
        notebook_seconds: how long all cells together may take by the clock, including replays. This is far more
            than any notebook needs, because it is the only limit that a busy machine brings closer.
        restarts: how often a fresh kernel is started before the rest is given up.
        output_bytes: how much output is kept; more is dropped.
    """

    cell_seconds: float = 30
    notebook_seconds: float = 3600
    restarts: int = 5
    output_bytes: int = 16 * 2**20
