"""nbgrader's feedback for a lab: one page per graded notebook."""

from __future__ import annotations

from nbgrader.converters import GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import capture_log

from grader.course import make_private
from grader.errors import GraderError
from grader.lab import Lab


def generate_feedback(lab: Lab) -> int:
    """nbgrader's HTML feedback for every graded submission of a lab. Returns how many there are.

    Raises:
        GraderError: nothing has been graded, or nbgrader fails; the message says why.
    """
    graded = list(lab.course.autograded.glob(f"*/{lab.name}/{lab.notebook_name}"))
    if not graded:
        raise GraderError(f"{lab.name} has no graded submissions. Run `grader autograde {lab.name}` first.")
    make_private(lab.course.feedback)
    config = lab.course.nbgrader_config()
    config.CourseDirectory.assignment_id = lab.name
    config.GenerateFeedback.force = True
    result = capture_log(GenerateFeedback(coursedir=CourseDirectory(config=config), config=config))
    if not result["success"]:
        log = lab.course.grading / "feedback.log"
        log.write_text(result.get("log") or result["error"], "utf-8")
        raise GraderError(
            f"nbgrader could not make all the feedback for {lab.name}. {log} says what went wrong."
        )
    return len(graded)
