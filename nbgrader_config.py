"""nbgrader's configuration, so that formgrader and the nbgrader commands work on this course."""

from pathlib import Path

from grader.book.file import own_programs_first
from grader.book.log import sign_sessions
from grader.course import Course

get_config().merge(Course(Path(__file__).resolve().parent).nbgrader_config())  # noqa: F821 (given by traitlets)
own_programs_first()  # a gradebook that has yet to be made needs them
sign_sessions()  # so that `grader log` says who changed something in formgrader
