"""Progress while a class is being graded or pages are made: a bar in a terminal, one line at the end elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from grader.grade.work import Record

T = TypeVar("T")


def watched(records: Iterable[Record], title: str, total: int, console: Console) -> Iterator[Record]:
    """Passes the records on and counts them. Those that were kept are counted separately, because they need no work."""
    states: Counter[str] = Counter()
    kept = 0
    with _bar(console, TextColumn("{task.fields[states]}")) as progress:
        task = progress.add_task(escape(title), total=total, states="")
        for record in records:
            if record.kept:
                kept += 1
                progress.update(task, total=total - kept)
            else:
                states[record.state] += 1
                progress.update(task, advance=1, states=_listed(states))
            yield record
    if states:
        console.print(f"{title}: {states.total()} of {total} done now: {_listed(states)}.", soft_wrap=True)
    if kept:
        console.print(
            f"{title}: {kept} already graded and unchanged; --force grades them again.", soft_wrap=True
        )


def counted(things: Iterable[T], title: str, total: int, console: Console) -> Iterator[T]:
    """Passes things on and counts them."""
    with _bar(console) as progress:
        yield from progress.track(things, total, description=escape(title))


def _bar(console: Console, *more: ProgressColumn) -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        *more,
    )
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _listed(states: Counter[str]) -> str:
    return ", ".join(f"{count} {state}" for state, count in states.most_common())
