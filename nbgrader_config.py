"""nbgrader's configuration, so that formgrader and the nbgrader commands work on this course."""

from pathlib import Path

from grader.course import Course
from grader.grade.log import sign_sessions
from grader.gradebook_file import own_programs_first

get_config().merge(Course(Path(__file__).resolve().parent).nbgrader_config())  # noqa: F821 (given by traitlets)
own_programs_first()  # a gradebook that has yet to be made needs them
sign_sessions()  # so that `grader log` says who changed something in formgrader
