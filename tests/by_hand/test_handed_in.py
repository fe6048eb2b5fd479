"""From what is handed in to what people see: each piece is in the graded notebook, on the feedback page and, if it is not used, named at collect."""

from __future__ import annotations

import base64
import io
import json
import shutil
from pathlib import Path

import nbformat
import pytest
from classroom import START, KernelFree, new_course
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell
from nbgrader.utils import compute_checksum
from PIL import Image
from written import written_lab

from grader.book.gradebook import Gradebook
from grader.book.readings import Readings
from grader.by_hand.page import _handed_in
from grader.by_hand.web import template_of
from grader.grade import autograde as grading
from grader.handout.demo import solved
from grader.receive.collect import NEW, REPLACED, UNCHANGED, collect
from grader.receive.handed_in import fingerprint_of_submission
from grader.reference.lab import Lab, is_solution
from grader.run.notebook import SandboxRunner
from grader.show.feedback import generate_feedback

PLOT = "attachment:plot.png"


def png() -> str:
    file = io.BytesIO()
    Image.new("RGB", (8, 4), "red").save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


@pytest.fixture(scope="module")
def kept_lab(tmp_path_factory) -> Lab:
    lab = written_lab(tmp_path_factory.mktemp("course"), 1)
    release = lab.release()
    release.cells[-1].metadata.nbgrader["checksum"] = compute_checksum(release.cells[-1])  # as in a build
    nbformat.write(release, lab.release_folder / lab.notebook_name)
    return Lab.load(lab.course, lab.name)


@pytest.fixture
def lab(kept_lab) -> Lab:
    """Lab 00 with a written answer ``why``. Nothing was handed in."""
    for name in ("submitted", "autograded", "feedback", "pages", "earlier"):
        shutil.rmtree(kept_lab.course.grading / name, ignore_errors=True)
    return kept_lab


def notebook(lab: Lab, *, why: str = "YOUR ANSWER", extra=(), at: int | None = None) -> nbformat.NotebookNode:
    """A solved notebook with other cells: at the end, unless a place is given."""
    made = lab.release()
    texts = {cell.id: cell.source for cell in solved(lab).cells if is_solution(cell)}
    for cell in made.cells:
        cell.source = why if cell.id == "why" else texts.get(cell.id, cell.source)
    made.cells[len(made.cells) if at is None else at : 0] = list(extra)
    return made


def hand_in(lab: Lab, student: str, made: nbformat.NotebookNode, **files: str | bytes) -> Path:
    """Puts it into a folder to collect from, with files beside it (two underscores stand for a dot)."""
    source = lab.course.root.parent / f"{lab.course.root.name}-source"
    folder = source / student
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / lab.notebook_name).write_text(json.dumps(made))
    for name, data in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return source


def graded(lab: Lab, source: Path) -> dict[str, tuple[str, str, str]]:
    """Student -> what collect said, the text of the graded notebook, the feedback page."""
    said = {row.student: row.why for row in collect(lab, source, confirm=lambda said, doubts: None)}
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(lab.course.root / "runs"), 5))
    generate_feedback(lab)
    shutil.rmtree(source)
    found = {}
    for student, told in said.items():
        path = lab.course.autograded / student / lab.name / lab.notebook_name
        text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
        page = (lab.course.feedback / student / lab.name / f"{lab.slug}.html").read_text()
        found[student] = told, text, page
    return found


def waiting(lab: Lab) -> set[str]:
    """Students whose answer waits for a reader."""
    with Gradebook.open(lab.course) as gradebook:
        works = Readings(gradebook, lab).works().values()
    return {work.student for work in works if any(answer.points is None for answer in work.answers)} - {"s00"}


def by_hand(lab: Lab, student: str) -> str:
    """The part of the page for readers that shows what a student wrote."""
    with Gradebook.open(lab.course) as gradebook:
        (work,) = (each for each in Readings(gradebook, lab).works().values() if each.student == student)
    cells, files = _handed_in(lab, work)
    show = template_of("page.html").environment.filters["answer"]
    return "\n".join([*(show(cell) for cell in cells.values()), *(text for file in files for text in file)])


def test_every_piece_of_a_submission_reaches_people(lab):
    attached = new_markdown_cell(f"See ![the plot]({PLOT})")
    attached["attachments"] = {"plot.png": {"image/png": png()}}
    released = lab.release()
    nested = notebook(lab)
    nested.cells[0].source += "\n\nwordintitle <script>alert(1)</script>"
    hand_in(lab, "title", nested)
    hand_in(lab, "below", notebook(lab, extra=[new_markdown_cell("wordbelow <img src=x onerror=alert(1)>")]))
    hand_in(lab, "raw", notebook(lab, extra=[new_raw_cell("wordraw")], at=0))
    hand_in(lab, "first", notebook(lab, extra=[new_markdown_cell("# wordfirst")], at=0))
    hand_in(lab, "code", notebook(lab, extra=[new_code_cell("wordcode = 1")], at=1))
    hand_in(lab, "picture", notebook(lab, extra=[attached]))
    hand_in(lab, "both", notebook(lab, why="My wordown answer.", extra=[new_markdown_cell("And wordmore.")]))
    importing = notebook(lab, why="Mine.", extra=[new_code_cell("import wordhelpers, numpy")], at=1)
    beside = {"wordhelpers__py": "x = 'wordinside'", "numpy__py": "evil = 1", "wordtable__csv": "1,2"}
    source = hand_in(lab, "beside", importing, **beside, other__ipynb="{}")
    found = graded(lab, source)

    for student, word in {
        "title": "wordintitle",
        "below": "wordbelow",
        "raw": "wordraw",
        "first": "wordfirst",
        "code": "wordcode",
        "both": "wordmore",
        "beside": "wordinside",
    }.items():
        said, text, page = found[student]
        assert word in text and word in page, student
        assert "<script>alert" not in page and "<img src=x" not in page
    assert waiting(lab) == {"below", "picture", "both", "beside"}
    assert "wordbelow" in by_hand(lab, "below") and "<img" not in by_hand(lab, "below")
    assert "wordown" in by_hand(lab, "both") and "wordmore" in by_hand(lab, "both")
    assert 'src="data:image/png;base64,' in by_hand(lab, "picture")
    assert 'src="data:image/png;base64,' in found["picture"][2]
    title = released.cells[0].source.partition("\n")[0].removeprefix("# ")
    assert f'<h1 id="top">{title}</h1>' in found["first"][2]

    said, text, page = found["beside"]
    assert "Taken with it: wordhelpers.py." in said
    assert "numpy.py (it has the name of an installed package)" in said
    for shown in (said, text, page):
        assert "wordtable.csv" in shown and "numpy.py" in shown and "other.ipynb" in shown
    assert "evil" not in text and "wordhelpers.py" in page and "wordinside" in by_hand(lab, "beside")


def test_an_answer_with_another_picture_is_another_answer(lab):
    prints = []
    for colour in ("red", "blue"):
        made = notebook(lab, why=f"![p]({PLOT})")
        file = io.BytesIO()
        Image.new("RGB", (8, 4), colour).save(file, "PNG")
        made.cells[-1]["attachments"] = {
            "plot.png": {"image/png": base64.b64encode(file.getvalue()).decode()}
        }
        graded(lab, hand_in(lab, "ann", made))
        with Gradebook.open(lab.course) as gradebook:
            works = Readings(gradebook, lab).works().values()
        (work,) = (each for each in works if each.student == "ann")
        prints.append(work.answers[0].text)
    assert prints[0] != prints[1]


def test_files_are_work_that_is_kept_replaced_and_graded_again(lab):
    made = notebook(lab, extra=[new_code_cell("import helpers")], at=1)

    def collected(**files: str) -> tuple[str, str]:
        source = hand_in(lab, "ann", made, **files)
        (row,) = collect(lab, source, confirm=lambda said, doubts: None)
        return row.outcome, fingerprint_of_submission(lab, lab.course.submitted / "ann" / lab.name)

    first = collected(helpers__py="x = 1")
    again = collected(helpers__py="x = 1")
    noted = collected(helpers__py="x = 1", table__csv="1")
    other = collected(helpers__py="x = 2")
    gone = collected()
    assert [outcome for outcome, _ in (first, again, noted, other, gone)] == [
        NEW, UNCHANGED, UNCHANGED, REPLACED, REPLACED,
    ]  # fmt: skip
    assert first[1] == again[1] and len({first[1], noted[1], other[1], gone[1]}) == 4
    earlier = lab.course.grading / "earlier" / "ann" / lab.name
    assert [(earlier / number / "helpers.py").read_text() for number in "12"] == ["x = 1", "x = 2"]
    assert not (lab.course.submitted / "ann" / lab.name / "helpers.py").exists()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_a_solution_in_a_file_beside_the_notebook_is_graded_after_a_crash_too(tmp_path):
    lab = Lab.load(new_course(tmp_path), START)
    made = solved(lab)
    cell = next(cell for cell in made.cells if is_solution(cell))
    files = {"helpers.py": f"import numpy as np\nfrom tools import *\n{cell.source}", "tools.py": "né = 1"}
    cell.source = "from helpers import softmax"
    made.cells.insert(0, new_code_cell("import os\nos._exit(1)"))
    folder = lab.course.submitted / "ann" / lab.name
    folder.mkdir(parents=True)
    (folder / lab.notebook_name).write_text(json.dumps(made))
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    (record,) = grading.autograde(lab, grading.submissions(lab), SandboxRunner.for_lab(lab), 5)
    assert record.score == record.max_score and record.state == "crashed"
