"""Feedback for a class: only what changed is made again, one page's trouble stays its own, and every way gives the same page."""

from __future__ import annotations

import errno
import os
import re
import shutil
import zipfile
from pathlib import Path

import pytest
from classroom import ATTENTION, KernelFree, book_of, hand_in_class, new_course, with_gradebook
from nbgrader.converters import GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import event

from grader.book.gradebook import Gradebook
from grader.book.points import Points
from grader.book.readings import Readings
from grader.errors import GraderError
from grader.files import TIMESTAMP
from grader.grade.autograde import autograde
from grader.people.roster import Person
from grader.reference.lab import Lab
from grader.show import feedback as feedback_module
from grader.show.export import write_feedback_zip
from grader.show.feedback import Feedback, generate_feedback

SIZE = 6


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Lab:
    root = tmp_path_factory.mktemp("course")
    lab = Lab.load(with_gradebook(new_course(root)), ATTENTION)
    assert len(list(autograde(lab, hand_in_class(lab, SIZE), KernelFree(root / "log"), seed=5))) == SIZE
    return lab


@pytest.fixture
def lab(graded, tmp_path) -> Lab:
    """A graded class of one's own."""
    shutil.copytree(graded.course.root, tmp_path / "course")
    return Lab.load(type(graded.course)(tmp_path / "course"), graded.name)


def page(lab: Lab, student: str):
    return lab.course.feedback / student / lab.name / f"{lab.slug}.html"


def comment(lab: Lab, student: str, text: str) -> None:
    with book_of(lab.course) as book:
        book.find_submission_notebook(lab.slug, lab.name, student).comments[0].manual_comment = text
        book.db.commit()


def made(lab: Lab, jobs: int = 1) -> list[str]:
    """Whose pages are made."""
    seen: list[str] = []

    def watch(students, total):
        seen.extend(students)
        assert len(seen) == total
        return seen

    assert generate_feedback(lab, jobs, watch) == Feedback(SIZE, len(seen))
    return sorted(seen)


def test_only_pages_whose_inputs_changed_or_that_are_not_as_they_were_are_made_again(lab):
    assert made(lab) == [f"s{number:02}" for number in range(SIZE)]
    before = {path: path.stat().st_mtime_ns for path in lab.course.feedback.rglob("*.html")}
    assert made(lab) == []
    assert {path: path.stat().st_mtime_ns for path in before} == before

    comment(lab, "s00", "Well explained")
    with book_of(lab.course) as book:
        book.find_submission_notebook(lab.slug, lab.name, "s01").grades[0].manual_score = 1.5
        book.db.commit()
    page(lab, "s02").unlink()
    page(lab, "s03").write_text("edited")
    graded_notebook = lab.course.autograded / "s04" / lab.name / lab.notebook_name
    graded_notebook.write_text(graded_notebook.read_text().replace("# s04", "# new"))
    assert made(lab) == ["s00", "s01", "s02", "s03", "s04"]
    assert "Well explained" in page(lab, "s00").read_text()
    assert "Points given by hand" in page(lab, "s01").read_text()
    assert "# new" in page(lab, "s04").read_text() and "edited" not in page(lab, "s03").read_text()
    assert made(lab) == []


def test_a_page_says_whose_it_is_and_is_made_again_when_the_roster_says_it_otherwise(lab):
    generate_feedback(lab)
    assert re.search(r"</h1>\s*<p[^>]*>s01</p>", page(lab, "s01").read_text())
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("s01", "Zoë", "<b>Müller", "z@example.org", "Monday")])
    assert made(lab) == ["s01"]
    assert '<p class="soft">Zoë &lt;b&gt;Müller (s01)</p>' in page(lab, "s01").read_text()
    with Gradebook.open(lab.course) as gradebook:  # what no page shows makes none again
        gradebook.enter_people([Person("s01", "Zoë", "<b>Müller", "other@example.org", "Tuesday")])
    assert made(lab) == []


def test_a_change_of_the_code_makes_all_pages_again(lab, monkeypatch):
    generate_feedback(lab)
    monkeypatch.setattr(feedback_module, "version", lambda modules: "another")
    assert len(made(lab)) == SIZE


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_named_and_not_a_log(lab, monkeypatch, number):
    original = Path.write_text

    def full(path: Path, *arguments) -> int:
        if path.name.endswith(".html.new"):
            raise OSError(number, os.strerror(number), str(path))
        return original(path, *arguments)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(
        GraderError, match=rf"{os.strerror(number)}\. Make sure that the disk has room"
    ) as caught:
        generate_feedback(lab)
    assert "log" not in str(caught.value)
    monkeypatch.undo()
    assert len(made(lab)) == SIZE


def test_one_page_that_cannot_be_made_does_not_stop_the_others(lab):
    generate_feedback(lab)
    notebook = lab.course.autograded / "s01" / lab.name / lab.notebook_name
    kept = notebook.read_bytes()
    notebook.write_bytes(kept[:-100])
    comment(lab, "s02", "Fine")
    with pytest.raises(GraderError, match="could be made for s01; all other"):
        generate_feedback(lab)
    assert not page(lab, "s01").exists()  # it would show what is no longer so
    assert "Fine" in page(lab, "s02").read_text()
    assert "JSON" in (lab.course.grading / "feedback.log").read_text()
    notebook.write_bytes(kept)
    assert made(lab) == ["s01"]


def test_a_submission_that_the_gradebook_does_not_know_is_named(lab):
    other = lab.course.autograded / "ghost" / lab.name
    shutil.copytree(lab.course.autograded / "s00" / lab.name, other)
    with pytest.raises(GraderError, match="ghost"):
        generate_feedback(lab)
    assert len(list(lab.course.feedback.rglob("*.html"))) == SIZE


def test_what_was_made_before_an_interruption_stays(lab):
    def interrupted(students, _):
        for number, student in enumerate(students):
            if number == 2:
                raise KeyboardInterrupt
            yield student

    with pytest.raises(KeyboardInterrupt):
        generate_feedback(lab, watch=interrupted)
    assert made(lab) == ["s03", "s04", "s05"]  # the third was there when the key was pressed


def test_a_damaged_file_of_notes_costs_time_only(lab):
    generate_feedback(lab)
    notes = lab.course.grading / "pages" / f"{lab.name}.jsonl"
    lines = notes.read_text().splitlines()
    notes.write_text(
        "\n".join(["[[], 1, 2]", "\ud83d".encode("utf-16", "replace").hex(), *lines[1:-1], lines[-1][:20]])
    )
    assert made(lab) == ["s00", "s05"]
    assert made(lab) == []
    assert len(notes.read_text().splitlines()) == SIZE


def test_several_processes_make_the_same_pages_as_one_and_as_nbgrader(lab, monkeypatch):
    comment(lab, "s02", "See **me**, please: $x^2$")
    with book_of(lab.course) as book:
        book.find_submission_notebook(lab.slug, lab.name, "s01").late_submission_penalty = 2.0
        book.db.commit()

    def pages() -> dict[str, bytes]:
        files = [*lab.course.feedback.rglob("*.html"), *lab.course.feedback.rglob(TIMESTAMP)]
        return {str(file.relative_to(lab.course.feedback)): file.read_bytes() for file in files}

    generate_feedback(lab)
    alone = pages()
    shutil.rmtree(lab.course.feedback)
    monkeypatch.setattr(feedback_module, "_FEW", 2)
    assert len(made(lab, jobs=2)) == SIZE
    assert pages() == alone and len(alone) == 2 * SIZE
    shutil.rmtree(lab.course.feedback)
    config = lab.course.nbgrader_config()
    config.CourseDirectory.assignment_id = lab.name
    GenerateFeedback(coursedir=CourseDirectory(config=config), config=config).start()
    assert pages() == alone


def test_the_zip_is_the_same_every_time_and_whole_or_not_there(lab, tmp_path, monkeypatch):
    generate_feedback(lab)
    first, second = tmp_path / "1.zip", tmp_path / "2.zip"
    assert write_feedback_zip(lab, first) == SIZE
    for path in lab.course.feedback.rglob("*.html"):
        path.touch()
    write_feedback_zip(lab, second)
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        assert archive.read(f"s00/{lab.slug}.html") == page(lab, "s00").read_bytes()

    page(lab, "s05").unlink()
    page(lab, "s05").mkdir()
    with pytest.raises(GraderError, match="cannot be"):
        write_feedback_zip(lab, second)
    assert first.read_bytes() == second.read_bytes() and len(list(tmp_path.glob("*.zip*"))) == 2


def test_what_nbgrader_s_command_reads_for_a_student_does_not_grow_with_the_class(lab):
    """Counted in steps of SQLite's virtual machine, because a clock says more about what else the machine is doing."""

    def steps() -> int:
        taken = 0

        def count() -> None:
            nonlocal taken
            taken += 1

        def watch(connection, cursor, *_: object) -> None:
            cursor.connection.set_progress_handler(count, 1)

        with Gradebook.open(lab.course) as gradebook:
            readings = Readings(gradebook, lab)
            event.listen(gradebook.engine, "before_cursor_execute", watch)
            (found,) = gradebook.results(lab, ["s00"])
            readings.lines("s00")
            assert found.student == "s00"
        return taken

    few = steps()
    with Gradebook.open(lab.course) as gradebook:
        marker = gradebook.results(lab, ["s00"])[0].marker
        cells = dict.fromkeys(lab.points_of_cells, 1.0)
        for number in range(120):
            gradebook.write(lab, f"more{number:03}", Points(cells, frozenset(), None, {}), marker)
    assert steps() < 1.2 * few
