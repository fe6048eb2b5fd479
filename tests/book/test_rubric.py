"""The rubric of an answer is the table that learners see above it."""

from __future__ import annotations

import nbformat

from grader.book.rubric import RubricItem, questions


def written(name: str, points: float) -> nbformat.NotebookNode:
    managed = {"grade": True, "solution": True, "grade_id": name, "points": points}
    return nbformat.v4.new_markdown_cell("Write here.", metadata={"nbgrader": managed})


def notebook(*cells) -> nbformat.NotebookNode:
    made = [nbformat.v4.new_markdown_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    return nbformat.v4.new_notebook(cells=made)


def test_the_last_table_of_points_above_an_answer_is_its_rubric():
    table = (
        "| Points | what |\n|---|---|\n| 1 | Names `x` and *y*. |\n| 0.5 | Gives $a$. |\n| ... | and so on |"
    )
    other = "| size | points |\n|---|---|\n| 1 | 2 |"
    found = questions(
        notebook(
            "| points | old |\n|---|---|\n| 9 | no |", table, other, written("why", 1.5), written("next", 2)
        )
    )
    assert list(found) == ["why", "next"]
    assert found["why"].items == (RubricItem(1.0, "Names `x` and *y*."), RubricItem(0.5, "Gives $a$."))
    assert found["why"].points == 1.5 and "old" in found["why"].prompt
    assert found["next"].items == () and found["next"].prompt == ""


def test_cells_that_the_checks_grade_are_no_questions(labs):
    found = {name: questions(lab.release()) for name, lab in labs.items()}
    assert [name for name, asked in found.items() if asked] == ["13_your_own_dataset"]
    (report,) = found["13_your_own_dataset"].values()
    assert [item.points for item in report.items] == [1, 1, 1, 1] and report.points == 4
