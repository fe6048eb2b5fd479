"""The layout of a course folder, for this tool and for nbgrader."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import GraderError, see_whether_it_was_ctrl_c
from grader.files import content_of

if TYPE_CHECKING:
    from traitlets.config import Config


class CourseError(GraderError):
    """Something is wrong with the course: with a lab, its build, its solution, its seeds or its gradebook."""


_OWN = (
    "solutions", "notebooks", "grader", "course_utils", "docs", "tests", "scripts", "deploy", "benchmarks",
)  # fmt: skip
COURSE_ID = "transformer-labs"
"""nbgrader's name of this course, unless the instructor's configuration has another."""


@dataclass(frozen=True)
class Course:
    """A course's root folder. Asking for a path creates nothing."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> Course:
        """The course that contains ``start`` (default: the current folder). Anything in a course's ``grading/`` was
        handed in, so it is never taken for a course, whatever it looks like.

        Raises:
            CourseError: no folder above it has both ``solutions/`` and ``notebooks/``.
        """
        start = (start or Path.cwd()).resolve()
        found = [
            cls(folder)
            for folder in (start, *start.parents)
            if (folder / "solutions").is_dir() and (folder / "nbgrader_config.py").is_file()
        ]
        for course in found:
            if not any(course.root.is_relative_to(other.grading) for other in found):
                return course
        raise CourseError(
            f"{start} is not inside a course folder. Change to the project's root and try again."
        )

    @property
    def solutions(self) -> Path:
        return self.root / "solutions"

    @property
    def notebooks(self) -> Path:
        return self.root / "notebooks"

    @property
    def build(self) -> Path:
        return self.root / ".build"

    @property
    def grading(self) -> Path:
        return self.root / "grading"

    @property
    def submitted(self) -> Path:
        return self.grading / "submitted"

    @property
    def autograded(self) -> Path:
        return self.grading / "autograded"

    @property
    def feedback(self) -> Path:
        return self.grading / "feedback"

    @property
    def gradebook(self) -> Path:
        return self.grading / "gradebook.db"

    def owns(self, place: Path) -> bool:
        """Whether a file is the course's own: its sources, and what grading keeps. Beside them, there may be tables, pages and zips
        in the course's folder, in ``grading/`` and ``grading/reports/``, and folders that somebody has made.
        """
        place = place.resolve()
        for folder, within in ((self.grading, ("grading",)), (self.root, ())):  # the first may be a link
            if place.is_relative_to(folder.resolve()):
                parts = (*within, *place.relative_to(folder.resolve()).parts)
                break
        else:
            return False
        made = place.suffix in (".csv", ".html", ".zip")
        if parts[:1] == ("grading",):
            return parts[1:2] not in (("reports",), ("viva",)) if len(parts) > 2 else not made
        if len(parts) < 2:
            return not made and place.exists()
        return parts[0].startswith(".") or parts[0] in _OWN

    def labs(self) -> list[str]:
        """Folder names of all labs, in order."""
        return sorted(
            folder.name for folder in self.solutions.iterdir() if (folder / f"{folder.name}.py").is_file()
        )

    def lab_named(self, text: str) -> str:
        """The folder name of the lab that somebody means who types it, its number, or a part of it that no other lab has.

        Raises:
            CourseError: there is no such lab, or there are several; the message names those that may be meant.
        """
        labs = self.labs()
        if text in labs:
            return text
        wanted = text.strip().strip("/").casefold().replace("-", "_")
        found = [name for name in labs if wanted in _short(name)]
        found = found or [name for name in labs if wanted and wanted in name]
        if len(found) == 1:
            return found[0]
        if found:
            raise CourseError(
                f"{text!r} may be several labs: {', '.join(found)}. Give the number, or more of the name."
            )
        words = {word: name for name in labs for word in (name, name.partition("_")[2])}
        near = dict.fromkeys(words[each] for each in get_close_matches(wanted, words, 3))
        told = f"Did you mean {' or '.join(near)}?" if near else f"Labs: {', '.join(labs)}."
        raise CourseError(f"There is no lab {text!r} in {self.solutions}. {told}")

    def nbgrader_config(self) -> Config:
        """nbgrader's configuration for this course."""
        from traitlets.config import Config

        config = Config()
        config.CourseDirectory.course_id = COURSE_ID
        config.CourseDirectory.root = str(self.root)
        config.CourseDirectory.source_directory = ".build/source"
        config.CourseDirectory.release_directory = "notebooks"
        config.CourseDirectory.submitted_directory = "grading/submitted"
        config.CourseDirectory.autograded_directory = "grading/autograded"
        config.CourseDirectory.feedback_directory = "grading/feedback"
        config.CourseDirectory.db_url = f"sqlite:///{self.gradebook}"
        config.Autograde.sanitize_preprocessors = ["grader.plugins.steps.RunAndJudge"]
        config.Autograde.autograde_preprocessors = [
            "grader.plugins.steps.SaveGrades",
            "nbgrader.preprocessors.AssignLatePenalties",
        ]
        config.GenerateFeedback.preprocessors = ["grader.show.feedback.Grades"]
        config.GenerateFeedback.exporter_class = "grader.show.feedback_page.FeedbackPage"
        config.ExchangeFactory.release_feedback = "grader.plugins.exchange.ReleaseFeedback"
        config.ClearSolutions.code_stub = {"python": STUB}
        return config

    def configuration(self) -> Config:
        """nbgrader's configuration, including what the instructor has added to it.

        Raises:
            CourseError: the file with these additions cannot be executed.
        """
        file = self.root / "nbgrader_config.py"
        if not file.is_file():
            return self.nbgrader_config()

        from traitlets.config import PyFileConfigLoader

        try:
            return PyFileConfigLoader(file.name, path=str(self.root)).load_config()
        except BaseException as error:
            see_whether_it_was_ctrl_c(error)
            raise CourseError(
                f"{file} cannot be used: {type(error).__name__}: {error}. Fix it, then run the same command again."
            ) from error

    def course_id(self) -> str:
        """nbgrader's name of this course, also in the exchange: ``c.CourseDirectory.course_id``.

        Raises:
            CourseError: the file with the instructor's configuration cannot be executed.
        """
        named = self.configuration().CourseDirectory
        return named.course_id if "course_id" in named else COURSE_ID


def _short(lab: str) -> set[str]:
    """What a lab is called for short: its number, with or without a zero before it, and its name without the number."""
    number, _, slug = lab.partition("_")
    return {number, number.lstrip("0") or "0", slug}


def text_of(file: Path) -> str:
    """A text that an author of labs has written.

    Raises:
        FileNotFoundError: there is none.
        CourseError: it is not in UTF-8, or cannot be read. The message names the line.
    """
    try:
        data = content_of(file)
        at = data.find(b"\0")
        if at < 0:
            return data.decode("utf-8").replace("\r\n", "\n")
        what = "has a NUL character, which no text has. Remove it"
    except FileNotFoundError:
        raise
    except UnicodeDecodeError as error:
        at, what = error.start, "is not in UTF-8. Save the file in this encoding"
    except OSError as error:
        raise CourseError(f"{file} cannot be read: {error.strerror}.") from None
    raise CourseError(f"{file}:{data[:at].count(10) + 1}: it {what}.")


def make_private(folder: Path) -> None:
    """Makes a folder, and any missing folders above it, that nobody but their owner may enter.

    Existing folders stay as they are: ``grader doctor --course`` says which of them others can access.

    Raises:
        OSError: it cannot be made.
    """
    for missing in reversed([place for place in (folder, *folder.parents) if not place.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(exist_ok=True)  # says so if it is no folder


STUB = "# YOUR CODE HERE\nraise NotImplementedError"
"""What a learner finds in place of each blank."""
