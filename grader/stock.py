"""What nbgrader's own ``autograde`` (and formgrader's button) does on this course: it stops.

It would run learners' code as whoever starts it, without asking. ``grader autograde`` grades the same
gradebook, and runs nothing unprotected unless it is told to.
"""

from __future__ import annotations

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor


class UseGraderAutograde(NbGraderPreprocessor):
    """The first and only step of nbgrader's autograding here."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """
        Raises:
            RuntimeError: always; the message says what to run instead.
        """
        raise RuntimeError(
            "nbgrader's own autograde is switched off in this course, because it runs learners' code without "
            f"any protection. Run `grader autograde {resources['nbgrader']['assignment']}` instead."
        )
