"""When work has to be handed in, who has more time, and what lateness costs. It follows from deadlines and extensions, decisions about students
(:mod:`grader.book.statuses`), and the rules of the term (:mod:`grader.book.rules`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Row, Update, bindparam, delete, select, update
from sqlalchemy.dialects.sqlite import insert

from grader.book import late_days, lateness, log, rules, statuses
from grader.book.results import Results, late_by
from grader.book.rules import Rules
from grader.book.sent import note_taken
from grader.book.statuses import Kind, Status
from grader.book.tables import ASSIGNMENT, EXTENSIONS, MORE_TIME, PAGE, SUBMISSION
from grader.errors import GraderError
from grader.reference.lab import Lab

if TYPE_CHECKING:
    from nbgrader.preprocessors import AssignLatePenalties


class Deadlines(Results):
    """How much time everybody has, and what lateness costs."""

    def set_deadline(self, lab: Lab, deadline: datetime | None, why: str = "") -> None:
        """Sets when a lab has to be handed in (UTC); None: at any time.

        Args:
            why: the reason, for the log.
        """
        if lab.name not in self.deadlines():
            self._book.update_or_create_assignment(lab.name)
        with self.transaction() as db:
            log.give_reason(db, why)
            db.execute(update(ASSIGNMENT).where(ASSIGNMENT.c.name == lab.name).values(duedate=deadline))

    def deadline(self, lab: Lab) -> datetime | None:
        """When a lab has to be handed in (UTC); None: at any time."""
        query = select(ASSIGNMENT.c.duedate).where(ASSIGNMENT.c.name == lab.name)
        with self.reading() as connection:
            return connection.execute(query).scalar_one_or_none()

    def deadlines(self) -> dict[str, datetime | None]:
        """Lab -> when it has to be handed in (UTC), of all labs that are in the gradebook; None: at any time."""
        with self.reading() as connection:
            return {row.name: row.duedate for row in connection.execute(select(ASSIGNMENT))}

    def extend(self, lab: Lab, student: str, extension: timedelta, why: str = "") -> None:
        """Gives a student more time for a lab than the others have; an extension of zero withdraws it."""
        with self.transaction() as db:
            log.give_reason(db, why)
            _extend(db, lab.name, student, extension)
            note_taken(db, Status(student, lab.name, Kind.EXTENSION))

    def all_extensions(self) -> dict[tuple[str, str], timedelta]:
        """(Student, name of a lab) -> how much more time this student was given for that lab."""
        with self.reading() as connection:
            return {
                (row.student, row.assignment): timedelta(seconds=row.seconds)
                for row in connection.execute(select(EXTENSIONS))
            }

    def extensions(self, lab: Lab) -> dict[str, timedelta]:
        """Student -> how much more time this student was given for a lab."""
        return {student: more for (student, name), more in self.all_extensions().items() if name == lab.name}

    def times(self, lab: Lab) -> dict[str, timedelta]:
        """Student -> how much more time this student has for a lab, by an extension or an accommodation, before late days."""
        given, the_rules = self.extensions(lab), self.rules()
        for each in self.statuses(""):
            more = the_rules.more_time(each)
            given[each.student] = max(given.get(each.student, timedelta()), more)
        return given

    def decide_lateness(
        self, lab: Lab, days: float, students: Collection[str] = (), why: str = ""
    ) -> list[str]:
        """Decides how late work is that is only marked as late. Returns whose it was.

        Args:
            days: after the student's own deadline; 0: it is not late.
            students: only theirs, also where it has been decided before; empty: all that has not.
            why: the reason, for the log.

        Raises:
            GraderError: there is no deadline, nothing to decide, this is no number of days, or a file cannot be written.
        """
        if not days >= 0:  # nan
            raise GraderError("How late work is, is a number of days, such as 1; 0: it is not late.")
        chosen, deadline, more = lateness.to_decide(lab, students), self.deadline(lab), self.times(lab)
        if deadline is None:
            raise GraderError(
                f"{lab.name} has no deadline to be late for. Set it first: grader release {lab.name} --due '2027-01-31 18:00 Europe/Berlin'"
            )
        for student in chosen:
            due = deadline + more.get(student, timedelta())
            when, was = due + timedelta(days=days), lateness.decided_time(lab, student)
            with self.transaction() as db:  # one for each, so that the log has what is in the folders
                log.give_reason(db, why)
                if was != when:
                    log.note_lateness(db, student, lab.name, _days_late(was, due), _days_late(when, due))
                lateness.settle(lab, {student: when})
        return chosen

    def statuses(self, lab: str | None = None, among: Collection[str] | None = None) -> list[Status]:
        """What was decided about students beside points, sorted by student.

        Args:
            lab: only what is about this one alone; empty: only what is about all labs.
            among: only of these students; None: of everybody.
        """
        with self.reading() as connection:
            return statuses.statuses_in(connection, lab, among)

    def late_days(self) -> dict[tuple[str, str], int]:
        """(student, lab) -> late days that are spent there."""
        query = select(MORE_TIME).where(MORE_TIME.c.late_days > 0)
        with self.reading() as connection:
            return {(row.student, row.assignment): row.late_days for row in connection.execute(query)}

    def enter_statuses(
        self,
        given: Sequence[Status],
        due: tuple[Lab, datetime, str] | None = None,
        withdrawn: Sequence[Status] = (),
        place: str = "",
    ) -> None:
        """Enters statuses and extensions, all of them or none, and brings lateness up to date.

        Args:
            due: also the deadline of a lab that is in the gradebook (UTC), and why.
            withdrawn: these are taken back, for the reason that each has.
            place: the address of the assignment in Canvas that says all this; empty: somebody enters it here.

        Raises:
            GraderError: more late days would be spent than there are, or the course spends them automatically.
        """
        the_rules = self.rules()
        with self.transaction() as db:
            if due:
                lab, when, why = due
                log.give_reason(db, why)
                db.execute(update(ASSIGNMENT).where(ASSIGNMENT.c.name == lab.name).values(duedate=when))
            for each in given:
                log.give_reason(db, each.reason)
                if each.kind is Kind.EXTENSION:
                    _extend(db, each.lab, each.student, each.time)
                else:
                    statuses.enter(db, each)
                note_taken(db, each, place)
            for each in withdrawn:
                _withdraw(db, each)
            _see_that_late_days_suffice(the_rules, statuses.statuses_in(db))
            self._enter_lateness_after((*given, *withdrawn))
            if due:
                self.enter_lateness(due[0])

    def too_many_late_days(self, given: Iterable[Status]) -> dict[str, str]:
        """Student -> why these statuses cannot be entered, for late days."""
        will_be = {(each.student, each.lab, each.kind): each for each in (*self.statuses(), *given)}
        return _too_many_late_days(self.rules(), will_be.values())

    def withdraw_status(self, status: Status) -> bool:
        """Takes a status or an extension back, with the reason of ``status``. Returns whether there was one."""
        with self.transaction() as db:
            there = _withdraw(db, status)
            self._enter_lateness_after([status])
        return there

    def _enter_lateness_after(self, changed: Iterable[Status]) -> None:
        """Brings lateness up to date where these statuses may have changed it."""
        about = {each.lab for each in changed if each.kind in (Kind.TIME, Kind.LATE_DAYS, Kind.EXTENSION)}
        for name in self.course.labs() if "" in about else sorted(about):
            self.enter_lateness(Lab.load(self.course, name))

    def enter_rules(self, text: str, file: str, why: str) -> None:
        """Checks and enters the rules of the term, and brings lateness up to date.

        Raises:
            GraderError: they say something that no rule says. Nothing has changed.
        """
        new = rules.parsed(text, self.course.lab_named, self.course.labs(), file)
        with self.transaction() as db:
            _see_that_late_days_suffice(new, statuses.statuses_in(db))
            log.give_reason(db, why)
            rules.enter(db, text)
            for name in self.course.labs():
                self.enter_lateness(Lab.load(self.course, name))

    def enter_lateness(self, lab: Lab) -> None:
        """Brings extensions and late penalties of all graded submissions up to date, by the course's rule for lateness.

        The rule is a plugin of nbgrader's, as ``nbgrader_config.py`` names and configures it; without one, nothing is
        deducted. Where late days are spent automatically, other labs may change with this one.
        """
        from nbgrader.preprocessors import AssignLatePenalties

        rule = AssignLatePenalties(config=self.course.configuration())
        rule.init_plugin()
        with self.transaction() as db:
            log.give_reason(db, "")  # what it was given for is not about everybody whose penalty changes
            others = self._enter_times(rule) - {lab.name}
            for each in (
                lab,
                *(Lab.load(self.course, name) for name in sorted(others & {*self.course.labs()})),
            ):
                self._enter_penalties(each, rule)

    def _enter_penalties(self, lab: Lab, rule: AssignLatePenalties) -> None:
        page = (
            update(PAGE)
            .where(PAGE.c.id == bindparam("page"))
            .values(late_submission_penalty=bindparam("off"))
        )
        pages = select(SUBMISSION.c.student_id, PAGE.c.id).join(PAGE, PAGE.c.assignment_id == SUBMISSION.c.id)
        pages = pages.join(ASSIGNMENT, ASSIGNMENT.c.id == SUBMISSION.c.assignment_id)
        with self.transaction() as db:
            page_of = dict(db.execute(pages.where(ASSIGNMENT.c.name == lab.name)).all())
        changes = []
        for result in self.results(lab):
            off, full = None, result.earned
            if result.late:
                off = rule.plugin_inst.late_submission_penalty(
                    result.student, full, result.late.total_seconds()
                )
            off = None if off is None else min(max(float(off), 0.0), full)
            if (off or 0.0) != result.penalty:
                changes.append({"page": page_of[result.student], "off": off})
        if changes:
            with self.transaction() as db:
                db.execute(page, changes)

    def _enter_times(self, rule: AssignLatePenalties) -> set[str]:
        """Enters in all submissions how much more time somebody has: by an extension that was given before there was a submission, by an
        accommodation, and by late days. Returns the labs in which anything has changed.
        """
        the_rules = self.rules()
        query = select(
            SUBMISSION.c.id, SUBMISSION.c.student_id, SUBMISSION.c.timestamp, SUBMISSION.c.extension,
            ASSIGNMENT.c.name, ASSIGNMENT.c.duedate,
        ).join(ASSIGNMENT, ASSIGNMENT.c.id == SUBMISSION.c.assignment_id)  # fmt: skip
        changed = set()
        with self.transaction() as db:
            given = {
                (row.student, row.assignment): timedelta(seconds=row.seconds)
                for row in db.execute(select(EXTENSIONS))
            }
            noted = {(row.student, row.assignment): row.late_days for row in db.execute(select(MORE_TIME))}
            decided = statuses.statuses_in(db)
            factors = {each.student: the_rules.more_time(each) for each in decided if each.kind is Kind.TIME}
            asked = {
                (each.student, each.lab): int(each.amount) for each in decided if each.kind is Kind.LATE_DAYS
            }
            rows: dict[str, list[Row]] = {}
            for row in db.execute(query):
                rows.setdefault(row.student_id, []).append(row)
            for student, own in rows.items():
                factor = factors.get(student, timedelta())
                more = {row.name: max(given.get((student, row.name), timedelta()), factor) for row in own}
                days = (
                    {row.name: asked.get((student, row.name), 0) for row in own}
                    if the_rules.on_request
                    else _late_days(own, more, the_rules.late_days, rule)
                )
                for row in own:
                    key, spent = (student, row.name), days.get(row.name, 0)
                    wanted = more[row.name] + timedelta(days=spent)
                    is_ours = key in noted or key in given
                    if (wanted or is_ours) and wanted != (row.extension or timedelta()):
                        new = update(SUBMISSION).where(SUBMISSION.c.id == row.id)
                        db.execute(new.values(extension=wanted or None))
                        changed.add(row.name)
                    needed = spent if spent or student in factors else None
                    if needed != noted.get(key):
                        _note_late_days(db, *key, needed)
        return changed


def _late_days(
    own: Sequence[Row], more: Mapping[str, timedelta], budget: int, rule: AssignLatePenalties
) -> dict[str, int]:
    """Lab -> late days that are spent automatically on one student's submissions, of which there is at least one.

    Args:
        more: lab -> more time that this student has anyway.
    """
    student = own[0].student_id

    def deducted(late: timedelta) -> float:
        if not late:
            return 0.0
        return rule.plugin_inst.late_submission_penalty(student, 100.0, late.total_seconds()) or 0.0

    works = (
        late_days.Work(row.name, row.duedate, late_by({**row._mapping, "extension": more[row.name]}))
        for row in own
        if row.duedate is not None
    )
    return late_days.spent(works, budget, deducted)


def _days_late(when: datetime | None, due: datetime) -> str:
    return "" if when is None else f"{(when - due) / timedelta(days=1):.10g} d"


def _note_late_days(db: Connection, student: str, lab: str, days: int | None) -> None:
    """Notes late days that are spent, in place of what was noted; None: nothing has to be noted."""
    key = {"student": student, "assignment": lab}
    db.execute(delete(MORE_TIME).filter_by(**key))
    if days is not None:
        db.execute(insert(MORE_TIME).values(**key, late_days=days))


def _extended(lab: str, student: str, extension: timedelta | None) -> Update:
    of_lab = select(ASSIGNMENT.c.id).where(ASSIGNMENT.c.name == lab).scalar_subquery()
    mine = (SUBMISSION.c.student_id == student) & (SUBMISSION.c.assignment_id == of_lab)
    return update(SUBMISSION).where(mine).values(extension=extension)


def _extend(db: Connection, lab: str, student: str, extension: timedelta) -> None:
    key = {"student": student, "assignment": lab}
    add = insert(EXTENSIONS).values(**key, seconds=extension.total_seconds())
    db.execute(_extended(lab, student, extension or None))  # first, or the log would take it for a copy
    if extension:
        changes = {"seconds": add.excluded.seconds}
        db.execute(add.on_conflict_do_update(index_elements=list(key), set_=changes))
    else:
        db.execute(delete(EXTENSIONS).filter_by(**key))


def _withdraw(db: Connection, status: Status) -> bool:
    """Takes a status or an extension back. Returns whether there was one."""
    log.give_reason(db, status.reason)
    note_taken(db, status)
    if status.kind is not Kind.EXTENSION:
        return statuses.withdraw(db, status)
    key = {"student": status.student, "assignment": status.lab}
    there = db.execute(select(EXTENSIONS).filter_by(**key)).first() is not None
    _extend(db, status.lab, status.student, timedelta())
    return there


def _too_many_late_days(the_rules: Rules, all_: Iterable[Status]) -> dict[str, str]:
    """Student -> why the late days that are entered cannot be, as a sentence."""
    total: dict[str, int] = {}
    for each in all_:
        if each.kind is Kind.LATE_DAYS:
            total[each.student] = total.get(each.student, 0) + int(each.amount)
    if not the_rules.on_request:
        why = "late days are entered only where the rules of the term say spend = 'on request'."
        return {student: f"{student}: {why}" for student in sorted(total)}
    return {
        student: f"{student} would spend {days} late days, and there are {the_rules.late_days} for the term."
        for student, days in sorted(total.items())
        if days > the_rules.late_days
    }


def _see_that_late_days_suffice(the_rules: Rules, all_: Iterable[Status]) -> None:
    """
    Raises:
        GraderError: more late days are entered than there are for somebody, or they are spent automatically.
    """
    for why in _too_many_late_days(the_rules, all_).values():
        raise GraderError(f"{why} Nothing has changed.")
