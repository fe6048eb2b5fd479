"""What only a teacher knows of a lab: its ``teaching.md``, read and refused where it is not complete.

The teaching kit shows it; learners never get it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.course import CourseError, text_of
from grader.reference.lab import Lab

NOTES = "teaching.md"
MISTAKES, DISCUSSIONS, EXERCISES_OF_NOTES = 3, 3, 6
"""How many of each the notes have at least."""
_DISCUSS = re.compile(
    r"\*\*Discuss with a neighbour,\*\* or write two sentences\. (.*?)(?:\n\n|\Z)", re.DOTALL
)


@dataclass(frozen=True)
class Task:
    """A question of an examination, in Markdown.

    Attributes:
        source: what it was made of, in a word or two.
    """

    text: str
    solution: str
    points: int
    source: str


@dataclass(frozen=True)
class Mistake:
    """A misconception that many have.

    Attributes:
        ask: a question with which learners find it themselves.
        listen: the answer that shows that they have.
    """

    exercise: str
    name: str
    ask: str
    listen: str


@dataclass(frozen=True)
class Notes:
    """What only a teacher knows of a lab; each text is Markdown.

    Attributes:
        discussion: question -> model answer.
    """

    board: str
    short: str
    mistakes: tuple[Mistake, ...]
    discussion: Mapping[str, str]
    exam: tuple[Task, ...]


def read_notes(lab: Lab) -> Notes | None:
    """The notes in a lab's ``teaching.md``; None if it has none.

    Raises:
        CourseError: they are not complete; the message says where and what is missing.
    """
    path = lab.folder / NOTES
    if not path.exists():
        return None
    text, file = text_of(path), path.relative_to(lab.course.root)
    parts = {title: body for title, body, _ in _sections(text, "## ")}
    for wanted in ("On the board", "If time is short", "Mistakes", "Discussion", "Exam"):
        if not parts.get(wanted, "").strip():
            raise CourseError(f"{_place(file, text, f'## {wanted}')}: there is nothing under '## {wanted}'.")
    mistakes = tuple(_mistakes(lab, file, text, parts["Mistakes"]))
    if len(mistakes) < MISTAKES:
        raise CourseError(
            f"{_place(file, text, '## Mistakes')}: there are {len(mistakes)} mistakes; a lab has {MISTAKES}."
        )
    discussion = dict(_discussion(lab, file, text, parts["Discussion"]))
    exam = tuple(_exam(file, text, parts["Exam"]))
    if len(exam) < EXERCISES_OF_NOTES:
        raise CourseError(
            f"{_place(file, text, '## Exam')}: there are {len(exam)} questions; a lab has {EXERCISES_OF_NOTES}."
        )
    return Notes(parts["On the board"], parts["If time is short"], mistakes, discussion, exam)


def _sections(text: str, mark: str) -> Iterator[tuple[str, str, str]]:
    """Title, text and whole heading of each section of one level."""
    for title, body in re.findall(
        rf"^{mark}([^\n]+)\n(.*?)(?=^{mark}|\Z)", text, flags=re.MULTILINE | re.DOTALL
    ):
        yield title.strip(), body.strip(), f"{mark}{title}"


def _place(file: Path, text: str, heading: str) -> str:
    return f"{file}:{text[: max(text.find(heading), 0)].count(chr(10)) + 1}"


def _mistakes(lab: Lab, file: Path, text: str, part: str) -> Iterator[Mistake]:
    for title, body, heading in _sections(part, "### "):
        exercise, _, name = title.partition(".")
        entries = lab.misconceptions.get(f"{lab.slug}.{exercise}", [])
        if name not in {entry.name for entry in entries}:
            raise CourseError(
                f"{_place(file, text, heading)}: the lab's misconceptions.py has no {title!r}; "
                "a mistake is named `exercise.misconception`."
            )
        found = re.fullmatch(r"\*\*Ask:\*\* (.+?)\n+\*\*Listen for:\*\* (.+)", body, re.DOTALL)
        if not found:
            raise CourseError(
                f"{_place(file, text, heading)}: a mistake has a line '**Ask:** ...', then a line '**Listen for:** ...'."
            )
        yield Mistake(exercise, name, found[1], found[2])


def _discussion(lab: Lab, file: Path, text: str, part: str) -> Iterator[tuple[str, str]]:
    """All questions of the notebook that learners talk about, and those of the notes, with their answers."""
    answers = {title: body for title, body, _ in _sections(part, "### ")}
    asked = [" ".join(question.split()) for question in discussed(lab)]
    for question in asked:
        begins = next((title for title in answers if _plain(question).startswith(_plain(title))), None)
        if begins is None:
            raise CourseError(
                f"{_place(file, text, '## Discussion')}: the notebook's question {question[:50]!r} has no answer here. "
                "Its heading is the question's beginning."
            )
        yield question, answers.pop(begins)
    yield from answers.items()
    if len(asked) + len(answers) < DISCUSSIONS:
        raise CourseError(
            f"{_place(file, text, '## Discussion')}: there are {len(asked) + len(answers)} questions; a lab has {DISCUSSIONS}."
        )


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[*_`.…]", "", text).split()).casefold()


def discussed(lab: Lab) -> list[str]:
    """The questions in the notebook that learners talk about with a neighbour."""
    return [
        found
        for cell in lab.source().cells
        if cell.cell_type == "markdown"
        for found in _DISCUSS.findall(cell.source)
    ]


def _exam(file: Path, text: str, part: str) -> Iterator[Task]:
    for title, body, heading in _sections(part, "### "):
        material, _, solution = f"\n{body}\n".partition("\nSolution:\n")
        points = re.search(r"\nPoints: (\d+)\s*\Z", f"{solution.rstrip()}\n")
        if not solution.strip() or not points:
            raise CourseError(
                f"{_place(file, text, heading)}: a question of the examination has a line 'Solution:', the solution, and a "
                "last line 'Points: N'."
            )
        yield Task(
            f"{title}\n\n{material.strip()}".strip(),
            solution[: solution.rindex("Points:")].strip(),
            int(points[1]),
            "the teacher's notes",
        )
