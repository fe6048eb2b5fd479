"""Teams: who hands in a lab together with whom, from which lab on.

It matters only when work is collected (:mod:`grader.receive.team`), so a change changes nothing that is graded. What a team has handed in stays one piece of
work (:mod:`grader.book.together`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.dialects.sqlite import insert

from grader.book import log
from grader.book.database import Database
from grader.book.tables import ROSTER, TEAMS
from grader.people.team_names import ALONE


@dataclass(frozen=True)
class Moves:
    """What has become of a list of teams.

    Attributes:
        moved: students of whom anything has changed.
        collected: lab -> those concerned of whom work is collected there. Unless the labs were named, nothing has changed in it for them.
    """

    moved: tuple[str, ...]
    collected: Mapping[str, tuple[str, ...]]


class Teams(Database):
    """Who is in which team."""

    def teams(self, lab: str) -> dict[str, str]:
        """Student -> team in a lab, of all on the roster who are in one."""
        listed = select(ROSTER.c.student)
        with self.reading() as db:
            on_roster = set(db.execute(listed).scalars())
            found = {student: _team_in(runs, lab) for student, runs in _history(db).items()}
        return {student: team for student, team in found.items() if team and student in on_roster}

    def team_names(self) -> set[str]:
        """What all teams of the course are called, in whatever lab they are one."""
        with self.reading() as db:
            return set(db.execute(select(TEAMS.c.team).where(TEAMS.c.team != "")).scalars())

    def enter_teams(
        self, wanted: Mapping[str, str], labs: Sequence[str] | None = None, why: str = ""
    ) -> Moves:
        """Puts people into teams, all of them or nobody.

        Args:
            wanted: student -> team; empty: none.
            labs: in which; None: in all but those in which work of somebody concerned is collected.
            why: the reason, for the log.
        """
        everything = self.course.labs()
        collected: dict[str, set[str]] = defaultdict(set)
        with self.transaction() as db:
            log.give_reason(db, why)
            history = _history(db)
            new: dict[str, dict[str, str]] = defaultdict(dict)
            for lab in everything if labs is None else labs:
                before = {student: _team_in(history.get(student, {}), lab) for student in {*history, *wanted}}
                was, will_be = _members(before), _members({**before, **wanted})
                there = {folder.parent.name for folder in self.course.submitted.glob(f"*/{lab}")}
                for student in (each for each in wanted if before[each] != wanted[each]):
                    concerned = {student} | was[before[student]] | will_be[wanted[student]]
                    collected[lab] |= concerned & there
                    if labs is not None or not concerned & there:
                        new[student][lab] = wanted[student]
            for student, changed in new.items():
                _rewrite(db, student, history.get(student, {}), changed, everything)
        told = {lab: tuple(sorted(who)) for lab, who in collected.items() if who}
        return Moves(tuple(sorted(new)), told)


def _history(db: Connection) -> dict[str, dict[str, str]]:
    """Student -> lab -> the team from there on."""
    found: dict[str, dict[str, str]] = {}
    for row in db.execute(select(TEAMS).order_by(TEAMS.c.since)):
        found.setdefault(row.student, {})[row.since] = row.team
    return found


def _team_in(runs: Mapping[str, str], lab: str) -> str:
    return runs[max(since)] if (since := [each for each in runs if each <= lab]) else ""


def _members(teams: Mapping[str, str]) -> Mapping[str, set[str]]:
    """Team -> its members; none of what is no team."""
    found: dict[str, set[str]] = defaultdict(set)
    for student, team in teams.items():
        if team:
            found[team].add(student)
    return found


def _rewrite(
    db: Connection, student: str, runs: Mapping[str, str], changed: Mapping[str, str], labs: Sequence[str]
) -> None:
    """Enters a student's teams anew, and a line in the log for labs that follow each other."""
    before = {lab: _team_in(runs, lab) for lab in labs}
    after = {**before, **changed}
    starts = [
        (lab, after[lab])
        for last, lab in zip(("", *labs), labs, strict=False)
        if after[lab] != after.get(last, "")
    ]
    db.execute(delete(TEAMS).filter_by(student=student))
    if starts:
        rows = [{"student": student, "since": lab, "team": team} for lab, team in starts]
        db.execute(insert(TEAMS), rows)
    for (was, will_be), group in groupby(labs, key=lambda lab: (before[lab], after[lab])):
        if was != will_be:
            run = list(group)
            span = "in this lab only" if len(run) == 1 else f"until {run[-1]}"
            span = "from this lab on" if run[-1] == labs[-1] else span
            log.note_team(db, student, run[0], was or ALONE, f"{will_be or ALONE}, {span}")


def leave(db: Connection, students: Collection[str], labs: Sequence[str]) -> None:
    """Takes people out of all their teams."""
    history = _history(db)
    for student in students:
        if student in history:
            _rewrite(db, student, history[student], dict.fromkeys(labs, ""), labs)


def merge(db: Connection, old: str, new: str) -> None:
    """Gives the teams of one id to another that has none."""
    if not db.execute(select(TEAMS).filter_by(student=new)).first():
        db.execute(update(TEAMS).filter_by(student=old).values(student=new))
    db.execute(delete(TEAMS).filter_by(student=old))
