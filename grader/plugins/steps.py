"""What nbgrader's own ``autograde`` (and formgrader's button) does in this course: the same as ours, only slower.

:class:`RunAndJudge` replaces nbgrader's steps that sanitise and execute a notebook. So learner code never runs
outside the sandbox, however the grading is started, and the grades are the same.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping
from pathlib import Path

import nbformat
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades

from course_utils.checking.expected import Expected
from grader.book.gradebook import Gradebook
from grader.book.points import points_in
from grader.course import Course
from grader.grade.autograde import choose_runner, class_seed
from grader.grade.work import Graded, Grading
from grader.reference.lab import Lab
from grader.sandbox.preloaded import close_all

_IDLE_SECONDS = 120
"""How long a preloaded process waits for another notebook, so that a server that has graded once does not keep it for ever."""


class RunAndJudge(NbGraderPreprocessor):
    """Turns a submission into a notebook with results, in the same way as ``grader autograde``.

    :class:`SaveGrades`, which runs next, reads the scores from that notebook.
    """

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Grades what was handed in; ``nb`` is the notebook as nbgrader read it, and is not needed.

        Raises:
            GraderError: the sandbox cannot be set up, or the lab is not built; the message says what to do.
            RuntimeError: the grader itself failed.
        """
        course = Course(Path(self.config.CourseDirectory.root))
        names = resources["nbgrader"]
        grading, expected = _grading(course, names["assignment"])
        folder = course.submitted / names["student"] / names["assignment"]
        _idle.begin()
        try:
            graded = grading.alone(expected, folder)
        finally:
            _idle.end()
        if isinstance(graded, Graded):
            return nbformat.reads(graded.notebook.decode(), as_version=4), resources
        raise graded if isinstance(graded, Exception) else RuntimeError(graded.notes[-1])


class SaveGrades(SaveAutoGrades):
    """nbgrader's step, which people are asked to look again after, but only at written answers that are others than before."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        course = Course(Path(self.config.CourseDirectory.root))
        names = resources["nbgrader"]
        lab = Lab(course, names["assignment"])
        written = points_in(nb, None).written
        with Gradebook.open(course) as gradebook, gradebook.with_answers(lab, names["student"], written):
            return super().preprocess(nb, resources)


@functools.lru_cache(maxsize=1)
def _grading(course: Course, name: str) -> tuple[Grading, Mapping[str, Expected]]:
    lab = Lab.load(course, name)
    grading = Grading(course, name, class_seed(lab), choose_runner(lab))
    return grading, grading.expected()


class _Idle:
    """Ends the preloaded process when no notebook has come for a while."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def begin(self) -> None:
        if self._timer:
            self._timer.cancel()

    def end(self) -> None:
        self._timer = threading.Timer(_IDLE_SECONDS, close_all)
        self._timer.daemon = True
        self._timer.start()


_idle = _Idle()
