"""Work that should not have been collected, such as another lab's -> as if nobody had handed it in. Nothing is deleted.

The gradebook is changed first, in one transaction, then folders are moved aside. If that is interrupted, the same command goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grader.book.gradebook import Gradebook
from grader.course import make_private
from grader.errors import GraderError
from grader.grade.autograde import alone
from grader.people.roster import Roster
from grader.reference.lab import Lab


def meant(lab: Lab, texts: Sequence[str]) -> list[str]:
    """The ids of whom somebody means by ids, addresses or names. Of people who are not on the roster, everybody counts of whom there is anything.

    Raises:
        GraderError: nobody is meant, or several people may be.
    """
    with Gradebook.open(lab.course) as gradebook:
        roster, known = Roster(gradebook.roster().values()), {*gradebook.students()}
    for place in _places(lab):
        known |= {folder.parent.name for folder in place.glob(f"*/{lab.name}")}
    return list(dict.fromkeys(roster.known(each, known) for each in texts))


def uncollect(lab: Lab, students: Sequence[str], why: str) -> list[Path]:
    """Takes what students handed in for a lab out of the course: the work, its grades and its feedback.

    Returns: the folders in which the work now lies, one for each student.

    Raises:
        GraderError: there is no work of one of them, and nothing has changed; or it was interrupted.
    """
    with alone(lab.course):
        with Gradebook.open(lab.course) as gradebook:
            graded = {student for student in students if lab.name in gradebook.submissions_of(student)}
            if missing := [each for each in students if each not in graded and not _folders(lab, each)]:
                raise GraderError(
                    f"There is no work for {lab.name} of {', '.join(missing)}. Nothing has changed. `grader roster` shows who has handed in what."
                )
            gradebook.take_out(lab, students, why)
        try:
            return [aside for student in students if (aside := _move_aside(lab, student)).exists()]
        except OSError as error:
            left = ", ".join(student for student in students if _folders(lab, student))
            raise GraderError(
                f"It was interrupted: {error.filename or lab.course.grading}: {error.strerror}. Nothing is lost. Fix this, then run the command again "
                f"for {left}."
            ) from None


def _folders(lab: Lab, student: str) -> list[Path]:
    """A student's folders of a lab; none for a text that is no id, such as a path."""
    ours = [place for place in _places(lab) if student in {folder.name for folder in place.glob("*")}]
    for place in ours:
        if (place / student).is_symlink():
            raise GraderError(f"{place / student} is a link, where a folder should be. Move it away.")
    return [place / student / lab.name for place in ours if (place / student / lab.name).exists()]


def _places(lab: Lab) -> tuple[Path, ...]:
    return lab.course.submitted, lab.course.autograded, lab.course.feedback


def _move_aside(lab: Lab, student: str) -> Path:
    earlier = lab.course.grading / "earlier" / student / lab.name
    number = 1
    while (aside := earlier / str(number)).exists():
        number += 1
    for folder in _folders(lab, student):
        make_private(aside)
        folder.rename(aside / folder.parent.parent.name)
        if not any(folder.parent.iterdir()):
            folder.parent.rmdir()
    return aside
