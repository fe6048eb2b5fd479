"""Written answers of a class are given out, read, compared and settled; the gradebook has what counts."""

from __future__ import annotations

import csv
import re
import shutil
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime

import nbformat
import pytest
from classroom import START, KernelFree, book_of, gradebook_undone
from nbgrader.converters import GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from rich.console import ConsoleDimensions
from typer.testing import CliRunner
from written import answer_of, graded, mark, written_lab

from grader.book.answers import DECISION, FIRST, SECOND
from grader.book.gradebook import Gradebook
from grader.book.points import digest
from grader.book.readings import HELD, Readings, Settings
from grader.by_hand.agreement import pairs
from grader.cli import app
from grader.commands.terminal import console
from grader.errors import GraderError
from grader.grade import autograde as grading
from grader.grade.resume import Again
from grader.handout.demo import hand_in as submit
from grader.people.roster import Person
from grader.plugins.steps import SaveGrades
from grader.reference.lab import Lab
from grader.show.export import export
from grader.show.feedback import generate_feedback

NOON = datetime(2027, 1, 31, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def kept_lab(tmp_path_factory):
    return written_lab(tmp_path_factory.mktemp("course"), 12)


@pytest.fixture
def lab(kept_lab, monkeypatch):
    """The class, and nothing given out or graded by hand; what a test does to the gradebook is undone."""
    monkeypatch.chdir(kept_lab.course.root)
    monkeypatch.setattr(console, "size", ConsoleDimensions(300, 50))  # so that no cell of a table is cut
    with gradebook_undone(kept_lab.course):
        yield kept_lab


@contextmanager
def readings_of(lab: Lab, now: datetime = NOON):
    with Gradebook.open(lab.course) as gradebook:
        yield Readings(gradebook, lab, lambda: now)


def queue(*options: str) -> str:
    done = CliRunner().invoke(app, ["queue", START, *options])
    assert not done.exception or isinstance(done.exception, SystemExit), done.exception
    return done.output


def given(lab: Lab, role: str = FIRST) -> dict[str, str]:
    with readings_of(lab) as readings:
        return {
            work.student: work.tasks[role].reader for work in readings.works().values() if role in work.tasks
        }


def page_of(lab: Lab, student: str) -> str:
    with readings_of(lab) as readings:
        return next(page for page, work in readings.works().items() if work.student == student)


def read(
    lab: Lab, student: str, reader: str, points: float, role: str = FIRST, seen: float | None = None, **said
):
    with readings_of(lab) as readings:
        page = page_of(lab, student)
        if role != DECISION:
            readings.hold(page, role, reader)
        readings.read(page, role, reader, mark(reader, points, **said), {"why": seen})


def test_answers_are_given_out_by_section_and_the_next_call_gives_out_only_what_is_new(lab):
    assert "In nobody's queue: 12" in queue()
    said = queue("--readers", "ben, ana", "--by-section")
    assert "12 new, 0 moved, 0 to be read twice" in said and f"/by-hand/{START}" in said
    before = given(lab)
    assert Counter(before.values()) == {"ana": 6, "ben": 6}
    assert len({before[f"s{n:02}"] for n in range(0, 12, 2)}) == 1
    assert "Given out: 0 new, 0 moved" in queue("--readers", "ana,ben")
    assert given(lab) == before
    assert "0 new, 4 moved" in queue("--readers", "ana,ben,cem")
    assert Counter(given(lab).values()) == {"ana": 4, "ben": 4, "cem": 4}
    read(lab, next(student for student, reader in given(lab).items() if reader == "cem"), "cem", 1)
    assert "0 new, 3 moved" in queue("--readers", "ana,ben")
    assert Counter(given(lab).values())["cem"] == 1


def test_what_was_given_out_before_is_said_to_stay_where_it_is(lab):
    assert "stay" not in queue("--readers", "ana,ben", "--no-by-section")
    before = given(lab)
    told = "12 had been given out before and stay. What comes is given out"
    assert f"{told} by section." in queue("--by-section")
    assert f"{told} without regard to sections." in queue("--no-by-section")
    assert "stay" not in queue("--readers", "ana,ben") and given(lab) == before


def test_a_section_limits_what_is_shown_and_nothing_else(lab, tmp_path):
    queue("--readers", "ana,ben", "--second", "100%")
    table, first, second = tmp_path / "t.csv", given(lab), given(lab, SECOND)
    for student in ("s00", "s01"):  # Mon and Tue
        read(lab, student, first[student], 0)
        read(lab, student, second[student], 3, SECOND)
    queue("--section", "mon", "--csv", str(table))
    total = list(csv.DictReader(table.open()))[-1]
    assert (total["Given"], total["Done"]) == ("6", "1")
    queue("--section", "Tue", "--reader", "ana", "--csv", str(table))
    mine = {
        page_of(lab, each)[:8] for each in first if int(each[1:]) % 2 and "ana" in (first[each], second[each])
    }
    assert {row["Submission"] for row in csv.DictReader(table.open())} == mine
    queue("--section", "Tue", "--agreement", "--csv", str(table))
    assert [row["Submission"] for row in csv.DictReader(table.open())] == [page_of(lab, "s01")[:8]]
    for options in (("--readers", "ana"), ("--by-section",), ("--release",)):
        assert "--section limits what is shown" in queue("--section", "Tue", *options)
    assert "There is no section 'Wed'" in queue("--section", "Wed")


def test_before_anything_is_graded_nothing_is_given_out_or_kept(lab):
    with book_of(lab.course) as book:
        for submission in book.assignment_submissions(START):
            book.remove_submission(START, submission.student.id)
    assert "Run `grader autograde" in queue("--readers", "ana,ben")
    with readings_of(lab) as readings:
        assert readings.settings() == Settings()


def test_progress_and_lists_name_no_student_until_they_are_released(lab, tmp_path):
    queue("--readers", "ana,ben", "--second", "25%")
    mine = sorted(student for student, reader in given(lab).items() if reader == "ana")
    second = given(lab, SECOND)
    assert len(second) == 3
    alone = next(student for student in mine if student not in second)
    read(lab, alone, "ana", 2.5)
    table = tmp_path / "table.csv"
    queue("--csv", str(table))
    rows = list(csv.DictReader(table.open()))
    assert [(row["Reader"], row["Given"], row["Done"], row["Open"]) for row in rows] == [
        ("ana", "6", "1", "5"),
        ("ben", "6", "0", "6"),
        ("all", "12", "1", "11"),
    ]
    assert rows[-1]["Second readings"] == "3"
    said = queue("--reader", "ana", "--csv", str(table))
    assert not any(student in said + table.read_text() for student in given(lab))
    row = next(row for row in csv.DictReader(table.open()) if row["State"] == "done")
    page = page_of(lab, alone)
    assert row["In formgrader"] == f"/formgrader/submissions/{page}/" and row["Points"] == "2.5"
    assert f"To grade: /by-hand/{START}/ana" in said
    assert "no longer anonymous: 1\n" in queue("--release")
    said = queue("--reader", "ana")
    assert alone in said and not any(student in said for student in given(lab) if student != alone)


def test_points_and_comment_are_where_formgrader_keeps_them_and_outlast_grading(lab):
    queue("--readers", "ana,ben")
    read(lab, "s00", given(lab)["s00"], 2, comment="Why positive?")
    with book_of(lab.course) as book:
        grade = book.find_grade("why", lab.slug, START, "s00")
        assert (grade.manual_score, grade.needs_manual_grade) == (2, False)
        assert book.find_comment("why", lab.slug, START, "s00").manual_comment == "Why positive?"
    with Gradebook.open(lab.course) as gradebook:
        change = gradebook.changes(START, "s00")[0]
        assert change.who == given(lab)["s00"] and change.after == "2"
    answer_of(lab, "s00", "Another answer.")
    graded(lab)
    with readings_of(lab) as readings:
        work = readings.work(page_of(lab, "s00"))
        assert work.state(FIRST) == "again" and work.answers[0].points == 2
        assert work.answers[0].comment == "Why positive?"
    read(lab, "s00", given(lab)["s00"], 3, seen=2)
    with readings_of(lab) as readings:
        assert readings.work(page_of(lab, "s00")).state(FIRST) == "done"


def test_what_formgrader_enters_counts_as_read(lab):
    queue("--readers", "ana,ben", "--second", "100%")
    with book_of(lab.course) as book:
        grade = book.find_grade("why", lab.slug, START, "s03")
        grade.manual_score, grade.needs_manual_grade = 1, False
        book.db.commit()
    read(lab, "s03", given(lab, SECOND)["s03"], 3, SECOND)
    with readings_of(lab) as readings:
        (pair,) = pairs(readings.works())
    assert (pair.first.reader, pair.first.points, pair.first.items) == (given(lab)["s03"], 1, None)
    assert pair.points_differ and pair.other_items == []


def test_an_answer_that_somebody_has_open_is_closed_to_others_for_a_while(lab):
    queue("--readers", "ana,ben")
    page = page_of(lab, "s00")
    with readings_of(lab) as readings:
        assert readings.hold(page, FIRST, "here").holder == "here"
        assert readings.hold(page, FIRST, "there").holder == "here"
        with pytest.raises(GraderError, match="Somebody else is reading"):
            readings.read(page, FIRST, "there", mark("ana", 1), {"why": None})
        assert readings.work(page).answers[0].points is None
        readings.deal(Settings(("cem",)))
        assert readings.work(page).tasks[FIRST].reader in ("ana", "ben")  # not while it is open
    with readings_of(lab, NOON + HELD) as readings:
        assert readings.hold(page, FIRST, "there").holder == "there"
        readings.read(page, FIRST, "there", mark("ana", 1), {"why": None})
        assert not readings.work(page).tasks[FIRST].held(NOON + HELD)
    with readings_of(lab, NOON + 3 * HELD) as readings:
        assert readings.hold(page, FIRST, "here").holder == "here"
    with readings_of(lab) as readings, pytest.raises(GraderError, match="not in anybody's queue"):
        readings.hold("nothing", FIRST, "here")


def test_the_second_reading_is_blind_and_a_decision_settles_what_differs(lab, tmp_path):
    queue("--readers", "ana,ben,cem", "--second", "100%")
    first, second = given(lab), given(lab, SECOND)
    assert all(first[student] != second[student] for student in first)
    for number, student in enumerate(sorted(first)):
        read(lab, student, first[student], number % 4, items=(0,), comment="first's")
        points = 3 if number == 0 else number % 4
        read(
            lab,
            student,
            second[student],
            points,
            SECOND,
            items=(0, 1) if number < 2 else (0,),
            comment="second's",
        )
    with book_of(lab.course) as book:  # the second reading changes nothing that counts
        assert book.find_grade("why", lab.slug, START, "s00").manual_score == 0
        assert book.find_comment("why", lab.slug, START, "s00").manual_comment == "first's"
    table = tmp_path / "table.csv"
    said = queue("--agreement", "--csv", str(table))
    assert "Answers read twice: 12" in said and "92%" in said and "points (quadratic weights)" in said
    figures = {row["What"]: row for row in csv.DictReader((tmp_path / "table-agreement.csv").open())}
    points = figures["points (quadratic weights)"]
    assert (points["Read twice"], points["The same"]) == ("12", "92%") and float(points["Cohen's kappa"]) < 1
    assert len(figures) == 3  # the points and two lines of the rubric
    rows = {row["Submission"]: row for row in csv.DictReader(table.open())}
    pages = [page_of(lab, student) for student in ("s00", "s01")]
    assert rows.keys() == {page[:8] for page in pages}
    differs, items = (rows[page[:8]] for page in pages)
    assert (differs["First points"], differs["Second points"], differs["Decision"]) == ("0", "3", "open")
    assert items["Decision"] == ""  # the same points
    assert items["Only one gives"].startswith(f"{second['s01']}: It says why the numbers are positive")
    assert not any(student in said for student in first)

    assert "no longer anonymous: 11\n" in queue("--release")
    read(lab, "s00", "lead", 1.5, DECISION, seen=0, answer="of the old text")
    with book_of(lab.course) as book:
        assert book.find_grade("why", lab.slug, START, "s00").manual_score == 1.5
    queue("--agreement", "--csv", str(table))
    row = next(row for row in csv.DictReader(table.open()) if row["Submission"] == pages[0][:8])
    assert (row["First points"], row["Second points"], row["Decision"]) == ("0", "3", "1.5 (lead)")
    assert "no longer anonymous: 12\n" in queue("--release")

    answer_of(lab, "s00", "Handed in again.")  # whoever reads it again confirms or replaces the decision
    graded(lab)
    read(lab, "s00", first["s00"], 2, seen=1.5, answer="of the new text")
    with readings_of(lab) as readings:
        marks = readings.work(pages[0]).answers[0].marks
        assert marks[FIRST].points == 2 and readings.work(pages[0]).answers[0].points == 2


def test_readers_who_agree_are_said_to(lab, tmp_path):
    queue("--readers", "ana,ben", "--second", "100%")
    read(lab, "s00", given(lab)["s00"], 1)
    read(lab, "s00", given(lab, SECOND)["s00"], 1, SECOND)
    assert "\nDifferences: none\n" in queue("--agreement")


def test_differences_are_legible_in_a_terminal_of_80_columns(lab, monkeypatch):
    queue("--readers", "ana,ben", "--second", "100%")
    first, second = given(lab)["s00"], given(lab, SECOND)["s00"]
    read(lab, "s00", first, 0.25)
    read(lab, "s00", second, 3, SECOND, items=(0, 1))
    monkeypatch.setattr(console, "size", ConsoleDimensions(80, 50))
    lines = [line for line in queue("--agreement").splitlines() if line[:1] in ("│", "┃")]
    assert max(map(len, lines)) <= 80
    page = page_of(lab, "s00")[:8]
    for words in (f"{first}: 0.25", f"{second}: 3", "It names the *sum*.", "why the numbers", page, "open"):
        assert any(words in line for line in lines), words


def test_grading_again_says_how_many_answers_are_still_to_be_read(lab):
    def to_read(again: Again) -> dict[str, int]:
        runner = KernelFree(lab.course.root / "runs")
        found = grading.autograde(lab, grading.submissions(lab), runner, 5, again=again)
        return {record.student: record.by_hand for record in found}

    everybody = to_read(Again.CHANGED)
    assert set(everybody.values()) == {1}
    with Gradebook.open(lab.course) as gradebook:
        readings = Readings(gradebook, lab)
        readings.deal(Settings(("ana",)))
        page, work = min(readings.works().items())
        readings.read(page, FIRST, "ana", mark("ana", 2), {"why": None})
    for again in (Again.CHANGED, Again.ALL):
        assert to_read(again) == {**everybody, work.student: 0}
    answer_of(lab, work.student, "Another answer.")
    assert to_read(Again.CHANGED) == everybody  # it is to be looked at again


@pytest.mark.slow
def test_both_readers_are_asked_again_when_another_text_is_handed_in_and_only_then(lab):
    queue("--readers", "ana,ben", "--second", "100%")
    readers = {FIRST: given(lab)["s00"], SECOND: given(lab, SECOND)["s00"]}

    def states() -> list[str]:
        with readings_of(lab) as readings:
            work = readings.work(page_of(lab, "s00"))
            return [work.state(role) for role in readers]

    def hand_in(text: str) -> None:
        answer_of(lab, "s00", text)
        graded(lab)

    hand_in("The first text.")
    for role, reader in readers.items():
        read(lab, "s00", reader, 2, role, answer=digest("The first text."))
    assert states() == ["done", "done"]
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(lab.course.root / "runs"), 6))
    assert states() == ["done", "done"]  # graded anew, and the text is the same
    other_cells = lab.release()
    for cell in other_cells.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "why":
            cell.source = "The first text."
    submit(lab.course, lab, "s00", other_cells)  # the code is another one, the answer is not
    graded(lab)
    assert states() == ["done", "done"]
    hand_in("The second text.")
    assert states() == ["again", "again"]
    assert "no longer anonymous: 0\n" in queue("--release")
    read(lab, "s00", readers[FIRST], 3, seen=2, answer=digest("The second text."))
    assert states() == ["done", "again"] and "no longer anonymous: 0\n" in queue("--release")
    read(lab, "s00", readers[SECOND], 3, SECOND, answer=digest("The second text."))
    assert states() == ["done", "done"] and "no longer anonymous: 1\n" in queue("--release")
    hand_in("The third text.")
    graded(lab)
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(lab.course.root / "runs"), 7))
    assert states() == ["again", "again"]  # until it has been read, however often it is graded


def test_nbgrader_s_own_step_asks_again_only_where_the_answer_is_another_one(lab):
    queue("--readers", "ana,ben")

    def step(text: str) -> None:
        answer_of(lab, "s00", text)
        notebook = nbformat.read(lab.course.submitted / "s00" / START / lab.notebook_name, as_version=4)
        config = lab.course.nbgrader_config()
        names = {"notebook": lab.slug, "assignment": START, "student": "s00"}
        names["db_url"] = config.CourseDirectory.db_url
        SaveGrades(config=config).preprocess(notebook, {"nbgrader": names})

    def state() -> str:
        with readings_of(lab) as readings:
            return readings.work(page_of(lab, "s00")).state(FIRST)

    step("One text.")
    assert state() == "open"
    read(lab, "s00", given(lab)["s00"], 2)
    step("One text.")
    assert state() == "done"
    step("Another text.")
    assert state() == "again"
    step("Another text.")
    assert state() == "again"
    read(lab, "s00", given(lab)["s00"], 2, seen=2)
    step("Another text.")
    graded(lab)
    assert state() == "done"


def test_readings_of_two_texts_are_not_compared(lab):
    queue("--readers", "ana,ben", "--second", "100%")
    read(lab, "s00", given(lab, SECOND)["s00"], 3, SECOND, answer="old")
    read(lab, "s00", given(lab)["s00"], 0, answer="new")
    with readings_of(lab) as readings:
        assert pairs(readings.works()) == [] and not readings.work(page_of(lab, "s00")).undecided()


def test_points_for_an_answer_that_was_replaced_are_not_the_new_one_s_and_no_file_has_a_score_for_it(
    lab, tmp_path
):
    queue("--readers", "ana")
    answer_of(lab, "s00", "The first text.")
    graded(lab)
    for student in ("s00", "s01"):
        read(lab, student, "ana", 2, comment="Only for the first text.", answer=digest("The first text."))
    answer_of(lab, "s00", "The second text.")
    graded(lab)
    generate_feedback(lab)
    with Gradebook.open(lab.course) as gradebook:
        results = {each.student: each for each in gradebook.results(lab)}
        gradebook.enter_people(Person(each, each, canvas=each[1:]) for each in results)
    assert results["s00"].points["why"] is None and results["s01"].points["why"] == 2
    assert results["s00"].earned == results["s01"].earned - 2
    page = (lab.course.feedback / "s00" / lab.name / f"{lab.slug}.html").read_text()
    assert "Only for the first text." not in page and "3 more to be graded" in page
    told = export(lab.course, [lab.name], "canvas", tmp_path / "canvas.csv")
    waiting = len(results) - 1  # nobody has read the others yet
    assert (
        f"{START}: written answers wait to be graded. Students: {waiting}. They have no score in this file."
        in told
    )
    rows = {row[0].strip(", "): row for row in csv.reader((tmp_path / "canvas.csv").open())}
    assert rows["s00"][-1] == "" and float(rows["s01"][-1]) == results["s01"].score
    told = export(lab.course, [], "csv", tmp_path / "all.csv")
    assert any(f"Students: {waiting}. Their scores here are without those points." in each for each in told)
    rows = {row["student_id"]: row for row in csv.DictReader((tmp_path / "all.csv").open())}
    assert float(rows["s00"]["score"]) == results["s00"].earned
    assert rows["s00"]["state"] == "graded (answers wait to be graded by hand)"
    assert rows["s01"]["state"] == "graded"


def test_the_feedback_page_shows_which_lines_of_the_rubric_count(lab):
    queue("--readers", "ana,ben", "--second", "100%")
    generate_feedback(lab)

    def pages() -> dict[str, bytes]:
        return {path.parts[-3]: path.read_bytes() for path in lab.course.feedback.rglob("*.html")}

    def rubric(student: str) -> list[str]:
        found = re.search(
            r'<table class="rubric">.*?</table>(\n<p class="soft">.*?</p>)?', told(student), re.S
        )
        text = re.sub(r"<thead>.*?</thead>|<[^>]+>", " ", found[0]) if found else ""
        return [" ".join(line.split()) for line in text.splitlines() if line.strip()]

    def told(student: str) -> str:
        return pages()[student].decode()

    before, first, second = pages(), given(lab), given(lab, SECOND)
    assert not any(map(rubric, before))
    read(lab, "s00", first["s00"], 1, items=(0,), comment="Why are they **positive**?")
    read(lab, "s01", first["s01"], 1.5, items=(0,))
    read(lab, "s02", first["s02"], 2)  # typed, and no line ticked: which ones it earns is not known
    read(lab, "s03", first["s03"], 0)
    read(lab, "s04", first["s04"], 1, items=(0,))
    read(lab, "s04", second["s04"], 3, SECOND, items=(0, 1), comment="for the comparison")
    with book_of(lab.course) as book:
        grade = book.find_grade("why", lab.slug, START, "s05")
        grade.manual_score, grade.needs_manual_grade = 1, False  # as formgrader enters it
        book.db.commit()
    assert generate_feedback(lab).made == 6
    assert rubric("s00")[0].startswith("✓ 1 / 1 It names the sum")
    assert (
        rubric("s00")[1].startswith("✗ 0 / 2 It says why the numbers are positive")
        and len(rubric("s00")) == 2
    )
    assert "Why are they <strong>positive</strong>?" in told("s00")
    assert not re.search(rf"\b{first['s00']}\b", told("s00"))
    assert "1 of 3 points" in told("s00")
    assert rubric("s01")[2] == "The points given differ from the sum of these lines."
    assert rubric("s02") == [] and rubric("s05") == [] and pages()["s06"] == before["s06"]
    assert [line[0] for line in rubric("s03")] == ["✗", "✗"]
    assert [line[0] for line in rubric("s04")] == ["✓", "✗"] and "for the comparison" not in told("s04")

    read(lab, "s04", "lead", 3, DECISION, seen=1, items=(0, 1))
    assert generate_feedback(lab).made == 1 and [line[0] for line in rubric("s04")] == ["✓", "✓"]
    alone = pages()
    config = lab.course.nbgrader_config()
    config.CourseDirectory.assignment_id = lab.name
    shutil.rmtree(lab.course.feedback)
    GenerateFeedback(coursedir=CourseDirectory(config=config), config=config).start()
    assert pages() == alone  # nbgrader's command, and formgrader's button, make the same

    read(lab, "s00", first["s00"], 1, seen=1, items=(0,), answer=digest("Another text."))
    assert rubric("s00") and generate_feedback(lab).made == 1
    assert rubric("s00") == []  # the lines are about another answer than the one that is there


def test_remarks_are_kept_once_for_everybody_and_can_be_removed(lab):
    queue("--readers", "ana,ben")
    for student in ("s00", "s01"):
        with readings_of(lab) as readings:
            page = page_of(lab, student)
            readings.hold(page, FIRST, "here")
            readings.read(page, FIRST, "here", mark("ana", 1, comment="No example."), {"why": None}, ["why"])
    with readings_of(lab) as readings:
        ((number, text),) = readings.remarks()["why"].items()
        assert text == "No example."
        readings.forget(number)
        assert readings.remarks() == {}


def test_a_merge_of_two_ids_keeps_what_was_read(lab):
    queue("--readers", "ana,ben")
    answer_of(lab, "old id", "An answer under an old id.")
    graded(lab)
    queue("--readers", "ana,ben")
    read(lab, "old id", given(lab)["old id"], 2.5)
    reader, page = given(lab)["old id"], page_of(lab, "old id")
    gone = page_of(lab, "s00")
    done = CliRunner().invoke(app, ["roster", "merge", "old id", "s00", "--keep", "old id", "--yes"])
    assert done.exit_code == 0, done.output
    assert page_of(lab, "s00") == page and given(lab)["s00"] == reader and "old id" not in given(lab)
    with readings_of(lab) as readings:
        assert readings.work(page).answers[0].marks[FIRST].points == 2.5
    with Gradebook.open(lab.course) as gradebook, gradebook.engine.connect() as db:
        rows = db.exec_driver_sql("SELECT page FROM transformer_labs_task").scalars().all()
        assert page in rows and gone not in rows


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--readers", "ana,ana"), "names ana twice"),
        (("--readers", "ana,Ana"), "names ana twice"),
        (("--agreement",), "has been read by two people yet"),
        (("--readers", "a/b"), "'a/b' cannot be a reader's name"),
        (("--readers", "differences"), "cannot be a reader's name"),
        (("--readers", ""), "Name at least one reader"),
        (("--by-section",), "Name at least one reader"),
        (("--readers", "ana", "--second", "10%"), "needs at least two readers"),
        (("--readers", "ana,ben", "--second", "ten"), "percentage from 0% to 100%"),
        (("--readers", "ana,ben", "--second", "101%"), "percentage from 0% to 100%"),
        (("--reader", "zoe"), "'zoe' has nothing to read"),
        (("--reader", "ana", "--agreement"), "Do one thing at a time"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(lab, options, words):
    said = " ".join(queue(*options).split())
    assert words in said and "Traceback" not in said
    assert given(lab) == {}


def test_a_lab_without_written_answers_says_so(lab):
    done = CliRunner().invoke(app, ["queue", "02_self_attention"])
    assert done.exit_code == 1 and "no answers that people grade" in done.output
