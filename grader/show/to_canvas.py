"""Grades, feedback pages and marks for lateness to Canvas: what it does not have, and sending it.

Nothing is sent by :func:`differences`, and :func:`send` sends only what that has found and then reads the grades back. The
gradebook notes what was sent. So a grade that somebody entered in Canvas is not taken for ours, and no page goes there twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from grader.book.gradebook import Gradebook
from grader.book.sent import Sent
from grader.book.statuses import Kind
from grader.book.tables import NO_RESPONSE
from grader.errors import GraderError
from grader.left_out import LeftOut
from grader.people.canvas import BATCH, Assignment, Canvas, Entry, NotAllEntered
from grader.people.students import number_in_id
from grader.reference.lab import Lab
from grader.show.class_facts import names_of_cells
from grader.show.export import see_that_nobody_shares
from grader.show.pages import title_of
from grader.show.wanted import WAITING, Wanted, the_same, why_it_stays


@dataclass(frozen=True)
class Difference:
    """What Canvas does not have of a student.

    Attributes:
        name: what Canvas calls the student.
        number: Canvas's number of the student.
        before: the points that Canvas has, before its own deductions for lateness; None if it has none.
        after: the score in the gradebook; None if this student is excused.
        grade: whether the grade is another one there.
        late: seconds after the student's deadline, if it is not late in Canvas; else None.
        page: a feedback page that Canvas does not have; else None.
        words: what people who have read the work say on that page, a line for each exercise.
    """

    student: str
    name: str
    number: str
    before: float | None
    after: float | None
    grade: bool = True
    late: float | None = None
    page: Path | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Differences:
    """What Canvas does not have right about a lab.

    Attributes:
        title: the assignment's name in Canvas.
        found: sorted by student.
        same: student -> the grade that it has already; None: excused.
        of: the points that are 100 %, if grades have to be sent in per cent.
        notes: about those who are left out.
    """

    title: str
    found: tuple[Difference, ...]
    same: Mapping[str, float | None]
    of: float | None
    notes: tuple[str, ...]


def differences(
    lab: Lab,
    canvas: Canvas,
    among: Collection[str] | None = None,
    replacing: bool = False,
    feedback: bool = False,
) -> Differences:
    """What Canvas does not have right about a lab.

    Args:
        among: only these students; None: everybody.
        replacing: also grades that somebody else entered in Canvas.
        feedback: also feedback pages, as they are.

    Raises:
        GraderError: nothing has been graded, two students have the same number, Canvas's assignment does not count points as the lab
            does, or Canvas cannot be asked.
    """
    here = _Here(lab, canvas, among)
    assignment = canvas.assignment()
    _see_that_it_counts_as(assignment, lab.name, here.points)
    entries, left = canvas.submissions(), LeftOut()
    apart = _of_one_group_and_not_alike(canvas, assignment, here, entries)
    found: list[Difference] = []
    same: dict[str, float | None] = {}
    for student, after in here.wanted.items():
        entry = entries.get(here.numbers[student])
        if entry is None:
            left.add("Canvas does not have them in this assignment", student)
            continue
        if student in here.waiting and here.stand[student].seen:
            left.add(WAITING, student)
            continue
        if there := _has(entry, after):
            same[student] = after
        differs = not there and _may_be_sent(here, student, entry, student in apart, replacing, left)
        page = _page_to_send(lab, here, student, left) if feedback and here.stand[student].seen else None
        unmarked = after is not None and entry.late is None and student not in apart
        mark = here.late.get(student) if unmarked else None
        if differs or page or mark:
            found.append(
                Difference(
                    student,
                    entry.name,
                    here.numbers[student],
                    entry.points,
                    after,
                    differs,
                    mark,
                    page,
                    here.words(student) if page else (),
                )
            )
    notes = [*left.sentences()]
    if any(each.late for each in found) and canvas.deducts_for_lateness():
        found = [replace(each, late=None) for each in found]
        found = [each for each in found if each.grade or each.page]
        notes.append(
            "Nobody is marked as late in Canvas, because its late policy would take points off once more. Switch it off there to have the marks."
        )
    if found and assignment.hidden:
        notes.append(
            "Learners see what is sent only when somebody posts it in Canvas, because grades of this assignment are posted manually."
        )
    return Differences(
        assignment.name,
        tuple(found),
        same,
        here.points if assignment.kind in ("letter_grade", "gpa_scale") else None,
        (*here.notes(), *notes),
    )


class _Here(Wanted):
    """What the gradebook has of a lab.

    Attributes:
        numbers: student -> Canvas's number.
    """

    def __init__(self, lab: Lab, canvas: Canvas, among: Collection[str] | None) -> None:
        """
        Raises:
            GraderError: nothing has been graded, or two students have the same number.
        """
        super().__init__(lab, canvas.place, among)
        known = {
            student: self.people[student].canvas if student in self.people else "" for student in self.wanted
        }
        self.numbers = {student: number or number_in_id(student) for student, number in known.items()}
        see_that_nobody_shares("Canvas", self.numbers)
        self._names, self._of = names_of_cells(lab), {each.student: each for each in self.results}

    def words(self, student: str) -> tuple[str, ...]:
        """What people who have read a student's work say about it, a line for each exercise."""
        found = self._of[student]
        return tuple(
            f"{self._names.get(cell, cell)}: {comment}"
            for cell, comment in found.comments.items()
            if comment.strip() and comment != NO_RESPONSE and cell not in found.waiting
        )


def _may_be_sent(
    here: _Here, student: str, entry: Entry, apart: bool, replacing: bool, left: LeftOut
) -> bool:
    """Whether a grade that Canvas does not have may be sent; if not, notes why.

    Args:
        apart: the student's group has not all the same grade.
    """
    after = here.wanted[student]
    if apart:
        left.add(
            "Canvas gives all of a group one grade and one lateness, and here theirs differ, or not all have one. To send them, choose *Assign Grades to Each Student "
            "Individually* there",
            student,
        )
    elif after is None and (student, Kind.EXCUSED) in here.taken:
        left.add("Their excuse came from Canvas, which has it no longer; see `grader status canvas`", student)
    elif why := _why_it_stays(entry, here.sent.get(student, Sent()), replacing):
        shown = (
            ""
            if entry.points is None or entry.excused
            else f" ({entry.points:g} there, {_shown(after)} here)"
        )
        left.add(why, student + shown)
    else:
        return True
    return False


def _page_to_send(lab: Lab, here: _Here, student: str, left: LeftOut) -> Path | None:
    """A student's feedback page if there is one that was not sent yet."""
    page = lab.course.feedback / student / lab.name / f"{lab.slug}.html"
    if not page.is_file():
        left.add(f"They have no feedback page: run `grader feedback {lab.name}`", student)
        return None
    return None if _digest(page.read_bytes()) == here.sent.get(student, Sent()).page else page


def _of_one_group_and_not_alike(
    canvas: Canvas, assignment: Assignment, here: _Here, entries: Mapping[str, Entry]
) -> set[str]:
    """Students who would get a grade that is not theirs, or give others one, because Canvas enters a grade for all of a group."""
    found: set[str] = set()
    whose = {number: student for student, number in here.numbers.items()}
    for members in canvas.groups(assignment.groups).values() if assignment.groups else ():
        together = [whose.get(number) for number in members if number in entries]
        alike = {(here.wanted[student], here.late.get(student)) if student else () for student in together}
        if len(alike) > 1:
            found.update(student for student in together if student)
    return found


def _has(entry: Entry, wanted: float | None) -> bool:
    """Whether Canvas has a grade; None: excused."""
    if entry.excused or wanted is None:
        return entry.excused and wanted is None
    return the_same(entry.points, wanted)


def _why_it_stays(entry: Entry, sent: Sent, replacing: bool) -> str:
    """Why another grade in Canvas is left alone; empty if it was sent from here, or there is none. An excuse is never replaced."""
    if entry.excused:
        return "" if sent.excused else "Canvas has them as excused"
    return why_it_stays("Somebody entered or changed these grades in Canvas", entry.points, sent, replacing)


def _shown(grade: float | None) -> str:
    return "excused" if grade is None else f"{grade:g}"


def _digest(page: bytes) -> str:
    return hashlib.blake2b(page, digest_size=32).hexdigest()


def _see_that_it_counts_as(assignment: Assignment, name: str, points: float) -> None:
    """
    Raises:
        GraderError: Canvas's assignment does not count points as the lab does.
    """
    if not assignment.published:
        raise GraderError(
            f"In Canvas, {assignment.name!r} is not published, so it takes no grades. Publish it there, then run the same command again."
        )
    if assignment.points is None or abs(assignment.points - points) > 0.001:
        most = "no" if assignment.points is None else f"{assignment.points:g}"
        raise GraderError(
            f"In Canvas, {assignment.name!r} has {most} points, but {name} has {points:g}. Is it the right assignment? If so, set its points in Canvas to {points:g}."
        )
    if assignment.kind in ("pass_fail", "not_graded"):
        raise GraderError(
            f"In Canvas, {assignment.name!r} is not graded in points. Choose *Points* under *Display Grade as*."
        )


def send(lab: Lab, canvas: Canvas, differences: Differences) -> list[str]:
    """Enters grades in Canvas and reads them back, then sends feedback pages and marks for lateness. Returns the students whose grades are not there.

    Raises:
        GraderError: Canvas cannot be reached, refuses or fails; it says what may have been entered by then.
    """
    with Gradebook.open(lab.course) as gradebook:
        sent = gradebook.sent(lab, canvas.place)

        def note(there: Mapping[str, float | None]) -> None:
            """Notes the grades that Canvas has of students."""
            now = {
                student: replace(sent.get(student, Sent()), score=score, excused=score is None)
                for student, score in there.items()
            }
            gradebook.note_sent(
                lab, canvas.place, {who: each for who, each in now.items() if sent.get(who) != each}
            )
            sent.update(now)

        note(differences.same)
        missing = _send_grades(canvas, differences, note)
        rest = [each for each in differences.found if each.page or each.late]
        for count, each in enumerate(rest):
            try:
                content = each.page.read_bytes() if each.page else b""
                file = (f"{lab.name}.html", content) if each.page else None
                text = f"Feedback on “{title_of(lab)}”: download the page and open it in a browser."
                canvas.comment(each.number, "\n\n".join([text, *each.words]), file, each.late)
            except GraderError as error:
                raise GraderError(
                    f"{error} This was at {each.student}. Grades are entered; of {len(rest)} feedback pages and marks for lateness, {count} are in Canvas, and this one may be. The "
                    "same command sends the rest."
                ) from None
            if each.page:
                sent[each.student] = replace(sent.get(each.student, Sent()), page=_digest(content))
                gradebook.note_sent(lab, canvas.place, {each.student: sent[each.student]})
    return missing


def _send_grades(
    canvas: Canvas, differences: Differences, note: Callable[[Mapping[str, float | None]], None]
) -> list[str]:
    """Enters grades in Canvas, some at a time, and notes those that are there then. Returns the students whose grades are not.

    Raises:
        GraderError: Canvas cannot be reached, refuses or fails. What is known to be there is noted.
    """
    found = [each for each in differences.found if each.grade]
    missing = {each.student: each for each in found}

    def read_back(sent: Sequence[Difference]) -> None:
        entries = canvas.submissions()
        there = {
            each.student: each.after
            for each in sent
            if (entry := entries.get(each.number)) and _has(entry, each.after)
        }
        note(there)
        for student in there:
            del missing[student]

    problem: GraderError | None = None
    for start in range(0, len(found), BATCH):
        batch = found[start : start + BATCH]
        try:
            canvas.enter({each.number: each.after for each in batch}, differences.of)
            read_back(batch)
        except GraderError as error:
            problem = error
            with suppress(GraderError):
                read_back(batch)
            if not isinstance(error, NotAllEntered):
                break
    if problem:
        raise GraderError(
            f"{problem} Of these {len(found)} grades, {len(found) - len(missing)} are known to be in Canvas; others may have been entered by then. Without --send, "
            "the same command lists what is missing; with --send it sends that."
        )
    return [*missing]
