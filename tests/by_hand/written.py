"""A lab with a written answer, and a class that has answered."""

from __future__ import annotations

import nbformat
from classroom import START, KernelFree, new_course, with_gradebook

from grader.book.answers import Mark
from grader.book.gradebook import Gradebook
from grader.grade import autograde as grading
from grader.handout.demo import hand_in, solved
from grader.people.roster import Person
from grader.reference.lab import Lab

SECTIONS = ("Mon", "Tue")
TABLE = """### Why?

Answer in two sentences.

| points | what the answer does |
|---|---|
| 1 | It names the *sum*. |
| 2 | It says why the numbers are positive: $e^x > 0$. |"""


def written_lab(root, size: int) -> Lab:
    """Lab 00 with an answer ``why`` of 3 points that students s00, s01, ... have given, graded by the checks, in two sections."""
    lab = Lab.load(with_gradebook(new_course(root)), START)
    release = lab.release()
    answer = {"grade": True, "solution": True, "locked": False, "task": False, "schema_version": 3}
    answer |= {"grade_id": "why", "points": 3.0, "cell_type": "markdown"}
    release.cells += [
        nbformat.v4.new_markdown_cell(TABLE, id="question"),
        nbformat.v4.new_markdown_cell("YOUR ANSWER", metadata={"nbgrader": answer}, id="why"),
    ]
    nbformat.write(release, lab.release_folder / lab.notebook_name)
    lab = Lab.load(lab.course, START)
    for number in range(size):
        answer_of(lab, f"s{number:02}", f"Answer of number {number}: <b>bold</b> [x](javascript:alert(1))")
    people = [Person(f"s{n:02}", f"Student{n}", "Doe", section=SECTIONS[n % 2]) for n in range(size)]
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people(people)
    graded(lab)
    return lab


def answer_of(lab: Lab, student: str, text: str) -> None:
    notebook = lab.release()
    texts = {
        cell.metadata.nbgrader.grade_id: cell.source
        for cell in solved(lab).cells
        if "nbgrader" in cell.metadata
    }
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = text if name == "why" else texts.get(name, cell.source)
    hand_in(lab.course, lab, student, notebook)


def graded(lab: Lab) -> None:
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(lab.course.root / "runs"), 5))


def mark(
    reader: str, points: float, items: tuple[int, ...] = (), comment: str = "", answer: str = ""
) -> dict[str, Mark]:
    return {"why": Mark(reader, points, items, comment, answer)}
