"""A learner's feedback is returned as soon as it is there: the page is made as `grader feedback` makes it, and goes back through nbgrader's
exchange as `nbgrader release_feedback` brings it there.
"""

from __future__ import annotations

import glob
import shutil
from datetime import datetime

import jinja2
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError, ExchangeFactory

from grader.course import make_private
from grader.errors import GraderError
from grader.files import SECRET, TIMESTAMP, came_through_the_exchange
from grader.receive.exchange import nbgrader_app
from grader.reference.lab import Lab
from grader.show.feedback import generate_feedback
from grader.show.pages import title_of

KEPT = "grading/kept"
"""Where pages lie, below the course, that say that work is kept and not graded yet."""


def return_feedback(lab: Lab, student: str, exchange: bool) -> str:
    """Makes a student's feedback page, unless it is there as it would be made again, and says what became of it.

    Args:
        exchange: it also goes back through nbgrader's exchange, to the submission that was graded.

    Raises:
        GraderError: it cannot be made or returned at the moment.
    """
    generate_feedback(lab, among=[student])
    if exchange:
        _release(lab, student, "grading/feedback")
    shutil.rmtree(lab.course.root / KEPT / student / lab.name, ignore_errors=True)
    if exchange and came_through_the_exchange(lab.course.feedback / student / lab.name):
        return "feedback returned"
    return f"feedback page in {lab.course.feedback.relative_to(lab.course.root)}/{student}/{lab.name}, not returned yet"


def return_all(lab: Lab) -> tuple[list[str], list[str]]:
    """Feedback pages, as they are, go back through nbgrader's exchange.

    Returns:
        the students whose pages went there, and those who handed in another way, so that nobody could fetch them there.

    Raises:
        GraderError: the exchange cannot be used.
    """
    _release(lab, None, "grading/feedback")
    pages = sorted(lab.course.feedback.glob(f"*/{lab.name}/{lab.slug}.html"))
    there, others = [], []
    for page in pages:
        (there if came_through_the_exchange(page.parent) else others).append(page.parts[-3])
    return there, others


def say_kept(
    lab: Lab, student: str, when: datetime, free: datetime, due: datetime | None, per_day: int, exchange: bool
) -> None:
    """Makes a page that says that work is kept and not graded yet. When it is graded, its feedback takes the page's place.

    Args:
        when: it was handed in (UTC).
        free: it may be graded (UTC).
        due: the student's deadline (UTC); None: there is none.
        exchange: the page also goes through nbgrader's exchange, to the submission that it is about.

    Raises:
        GraderError: it cannot be written or returned at the moment.
    """
    environment = jinja2.Environment(loader=jinja2.PackageLoader("grader", "show"), autoescape=True)
    text = environment.get_template("kept.html").render(
        title=title_of(lab),
        student=student,
        when=f"{when:%Y-%m-%d, %H:%M} UTC",
        free=f"{free:%Y-%m-%d, %H:%M} UTC{' (the deadline)' if free == due else ''}",
        times="once" if per_day == 1 else f"{per_day} times",
    )
    target, source = lab.course.root / KEPT / student / lab.name, lab.course.submitted / student / lab.name
    try:
        make_private(target)
        (target / f"{lab.slug}.html").write_text(text, "utf-8")
        for name in (TIMESTAMP, SECRET):
            if (source / name).is_file():
                shutil.copyfile(source / name, target / name)
            else:
                (target / name).unlink(missing_ok=True)
    except OSError as error:
        raise GraderError(f"{target} cannot be written to: {error.strerror}.") from None
    if exchange:
        _release(lab, student, KEPT)


def _release(lab: Lab, student: str | None, folder: str) -> None:
    """What `nbgrader release_feedback` does, for one student or (None) for all, and without its messages.

    Raises:
        GraderError: the exchange cannot be used.
    """
    app = nbgrader_app(lab.course)
    coursedir = CourseDirectory(parent=app)
    coursedir.feedback_directory = folder
    coursedir.assignment_id = lab.name
    coursedir.student_id = "*" if student is None else glob.escape(student)
    try:
        ExchangeFactory(parent=app).ReleaseFeedback(
            coursedir=coursedir, authenticator=Authenticator(parent=app), parent=app
        ).start()
    except (ExchangeError, OSError) as error:
        raise GraderError(f"nbgrader's exchange cannot be used: {error}.") from None
