"""A budget of late days: how many days of it somebody's late work spends. It depends only on when the work was handed in and on the course's rule
for lateness, so it can be computed again at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Work:
    """Somebody's work for a lab. ``late``: by how much, after everything else that gives more time."""

    lab: str
    deadline: datetime
    late: timedelta


def spent(works: Iterable[Work], budget: int, deducted: Callable[[timedelta], float]) -> dict[str, int]:
    """Lab -> days that the work spends, of all works that spend any.

    The lab whose deadline was first comes first, whatever was handed in or graded first. Each spends the fewest days with which the least is deducted
    that can be had with the days left: none where nothing would be deducted, and none where they would not help.

    Args:
        budget: days for all labs together.
        deducted: what the course's rule takes off for being so late.
    """
    found = {}
    for work in sorted(works, key=lambda work: (work.deadline, work.lab)):
        if not work.late or not budget:
            continue
        costs = [deducted(max(work.late - days * DAY, timedelta())) for days in range(budget + 1)]
        if days := costs.index(min(costs)):
            found[work.lab] = days
            budget -= days
    return found
