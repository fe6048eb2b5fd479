"""A learner's feedback is returned as soon as it is there: the page is made as `grader feedback` makes it, and goes back through nbgrader's
exchange as `nbgrader release_feedback` brings it there.
"""

from __future__ import annotations

import glob
import shutil
from datetime import datetime
from html import escape

from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError, ExchangeFactory

from grader.course import make_private
from grader.errors import GraderError
from grader.files import SECRET, TIMESTAMP
from grader.receive.exchange import nbgrader_app
from grader.reference.lab import Lab
from grader.show.feedback import generate_feedback
from grader.show.pages import title_of

KEPT = "grading/kept"
"""Where pages lie, below the course, that say that work is kept and not graded yet."""


def return_feedback(lab: Lab, student: str, exchange: bool) -> None:
    """Makes a student's feedback page, unless it is there as it would be made again.

    Args:
        exchange: it also goes back through nbgrader's exchange, to the submission that was graded.

    Raises:
        GraderError: it cannot be made or returned at the moment.
    """
    generate_feedback(lab, among=[student])
    if exchange:
        _release(lab, student, "grading/feedback")
    shutil.rmtree(lab.course.root / KEPT / student / lab.name, ignore_errors=True)


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
    text = _PAGE.format(
        title=escape(title_of(lab)),
        student=escape(student),
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


def _release(lab: Lab, student: str, folder: str) -> None:
    """What `nbgrader release_feedback` does, for one student and without its messages.

    Raises:
        GraderError: the exchange cannot be used.
    """
    app = nbgrader_app(lab.course)
    coursedir = CourseDirectory(parent=app)
    coursedir.feedback_directory = folder
    coursedir.assignment_id, coursedir.student_id = lab.name, glob.escape(student)
    try:
        ExchangeFactory(parent=app).ReleaseFeedback(
            coursedir=coursedir, authenticator=Authenticator(parent=app), parent=app
        ).start()
    except (ExchangeError, OSError) as error:
        raise GraderError(f"nbgrader's exchange cannot be used: {error}.") from None


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: kept</title>
<style>
  :root {{ color-scheme: light dark; --ink: #1b1b1b; --soft: #55636f; --paper: #fff; --card: #f5f7f9; }}
  @media (prefers-color-scheme: dark) {{ :root {{ --ink: #e8eaed; --soft: #a9b4bf; --paper: #16191d; --card: #20252b; }} }}
  body {{ color: var(--ink); background: var(--paper); font: 16px/1.55 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1.2rem; overflow-wrap: break-word; }}
  h1 {{ margin: 0; font-size: 1.7rem; line-height: 1.25; }} header {{ background: var(--card); border-radius: 8px; padding: 1rem 1.2rem; margin-bottom: 1.5rem; }}
  .soft {{ color: var(--soft); font-size: .92rem; margin: .3rem 0 0; }} .first {{ font-size: 1.15rem; font-weight: 600; }}
</style>
</head>
<body>
<header><h1>{title}</h1><p class="soft">{student}, handed in on {when}</p></header>
<main>
<p class="first">Your work has arrived and is kept. It has not been graded yet.</p>
<p>Work in this lab is graded as soon as you hand it in, but at most {times} in 24 hours. You have reached that limit.</p>
<p>This version will be graded after {free}, unless you hand in a newer one before then. You need not hand it in again. Look again after that time: its feedback will have taken the place of this page.</p>
<p>Your last version is the one that counts, whether or not the earlier ones were graded.</p>
</main>
</body>
</html>
"""
