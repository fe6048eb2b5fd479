"""Progress while a class is being graded or pages are made: a bar in a terminal, a line every half minute elsewhere, and one line
at the end. What is said of the time left includes the submissions that are run once more.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from grader.grade.autograde import SECOND_RUNS_SECONDS, SecondRuns
from grader.grade.work import Record

LINE_SECONDS = 30
"""Without a terminal, there is a line this often."""

_FEW_SECONDS = 5
T = TypeVar("T")


class Progress:
    """How far a class is, and how long the rest will take.

    Args:
        title: what is being done, and to what.
        total: of how many.
        now: a clock, in seconds.
    """

    def __init__(
        self, title: str, total: int, console: Console, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.title, self.total, self.console, self._now = title, total, console, now
        self._states: Counter[str] = Counter()
        self._done = 0
        self._began = self._last = self._told = now()
        self._seconds_each = 0.0
        self._second = SecondRuns(0, 0.0)
        self._draw = lambda: None

    def watched(self, records: Iterable[Record]) -> Iterator[Record]:
        """Passes the records on and counts them. Those that were kept are counted separately, because they need no work."""
        kept = 0
        with self._shown():
            for record in records:
                if record.kept:
                    kept += 1
                    self.total -= 1
                    self._draw()
                else:
                    self._states[record.state] += 1
                    self._count()
                yield record
        if self._done:
            self.console.print(
                f"{self.title}: {self._done} of {self.total + kept} done now: {self._listed()}.",
                soft_wrap=True,
            )
        if kept:
            self.console.print(
                f"{self.title}: {kept} already graded and unchanged; --force grades them again.",
                soft_wrap=True,
            )

    def counted(self, things: Iterable[T]) -> Iterator[T]:
        """Passes things on and counts them."""
        with self._shown():
            for thing in things:
                self._count()
                yield thing

    def tell(self, second: SecondRuns) -> None:
        """To be called whenever it changes what is to be run once more."""
        begins = second.side_by_side and not self._second.side_by_side
        if second.submissions > self._second.submissions:  # the first run of another has ended
            self._note_speed(self._done + second.submissions)
        self._second, self._told = second, self._now()
        if begins:
            self.console.print(
                f"{self.title}: {second.submissions} ran out of time or memory, perhaps because of what else the machine did. "
                f"They are run once more, for at most {SECOND_RUNS_SECONDS / 60:g} minutes in all.",
                soft_wrap=True,
            )
        if second.given_up:
            self.console.print(
                f"{self.title}: no time was left to run these once more: {escape(', '.join(second.given_up))}. Their first results count "
                "until the same command grades them again.",
                soft_wrap=True,
            )

    def _count(self) -> None:
        self._done += 1
        if not self._second.side_by_side:
            self._note_speed(self._done + self._second.submissions)
        self._draw()

    def _note_speed(self, finished: int) -> None:
        self._last = self._now()
        self._seconds_each = (self._last - self._began) / finished

    # -- what is said

    def line(self) -> str:
        """How far it is, as a sentence."""
        return f"{self.title}: {self._done} of {self.total} done; {self.rest()}."

    def rest(self) -> str:
        """How those ended that are done, what is run once more, and how long the rest takes."""
        again = f"{self._second.submissions} to be run once more" if self._second.submissions else ""
        return "; ".join(filter(None, (self._listed(), again, self.left())))

    def left(self) -> str:
        """How long the rest takes, as far as that can be known."""
        now, second = self._now(), self._second
        fresh = self.total - self._done - second.submissions
        if fresh and not self._seconds_each:
            return "no telling yet how long it takes"
        if fresh and now - self._last > _FEW_SECONDS + 3 * self._seconds_each:
            return "waiting for some that take longer"
        seconds = min(second.seconds / max(1, second.side_by_side), SECOND_RUNS_SECONDS)
        seconds += fresh * self._seconds_each
        seconds -= now - (self._last if fresh else self._told)
        if seconds < 0:
            return "nearly done" if not second.submissions else "longer than expected"
        return f"about {int(seconds // 60)}:{int(seconds % 60):02} left"

    def _listed(self) -> str:
        return ", ".join(f"{count} {state}" for state, count in self._states.most_common())

    @contextlib.contextmanager
    def _shown(self) -> Iterator[None]:
        if not self.console.is_terminal:
            with self._lines():
                yield
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Left(self))
        with Bar(*columns, console=self.console, transient=True) as bar:
            task = bar.add_task(escape(self.title), total=self.total)
            self._draw = lambda: bar.update(task, completed=self._done, total=self.total)
            yield

    @contextlib.contextmanager
    def _lines(self) -> Iterator[None]:
        ended = threading.Event()

        def write() -> None:
            while not ended.wait(LINE_SECONDS):
                self.console.print(self.line(), soft_wrap=True)

        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


class _Left(ProgressColumn):
    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress

    def render(self, task: Task) -> Text:
        return Text(self._progress.rest())
