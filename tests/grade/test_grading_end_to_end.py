"""From handed-in files to gradebook, graded notebooks, feedback and exports, with nbgrader's own tools on top."""

from __future__ import annotations

import csv
import json
import os
import shutil
import zipfile

import nbformat
import pytest
from classroom import ATTENTION, START, book_of, nbgrader, new_course
from nbformat.v4 import new_code_cell
from nbgrader.apps import NbGraderAPI
from nbgrader.utils import determine_grade, is_grade
from project import LABS, turn_of
from sqlalchemy import text
from typer.testing import CliRunner

from grader.cli import app
from grader.commands.week import table_of
from grader.course import Course, CourseError
from grader.files import SECRET
from grader.grade import autograde as grading
from grader.grade.results import RESULT_CELL
from grader.handout.demo import (
    any_runner,
    duplicated,
    hand_in,
    made_up_class,
    noisy,
    retyped,
    run_demo,
    solved,
    with_texts,
    without_cells,
    without_metadata,
)
from grader.reference.lab import Lab, checked_exercise, nbgrader_of
from grader.run.notebook import PlainRunner
from grader.run.states import Executed
from grader.show.feedback import generate_feedback


@pytest.fixture
def course(tmp_path) -> Course:
    """A course of its own, with the real labs and an empty grading folder."""
    return new_course(tmp_path)


def graded(lab: Lab, runner=None, seed: int = 5) -> dict[str, grading.Record]:
    """Grades everything handed in; student -> record."""
    records = grading.autograde(lab, grading.submissions(lab), runner or PlainRunner(), seed)
    return {record.student: record for record in records}


def command(course: Course, monkeypatch, *arguments: str):
    monkeypatch.chdir(course.root)
    return CliRunner().invoke(app, arguments)


class Canned:
    """A runner that runs nothing: check cells publish what it was given. For tests of what comes after."""

    notebook_seconds = 60

    def __init__(self, payloads=None) -> None:
        self.payloads = payloads or {}

    def warm_up(self, folder=None) -> None:
        pass

    def run(self, notebook, seed, folder=None) -> Executed:
        return Executed(notebook, "graded", self.payloads)


# ---------------------------------------------------------------------------------- a class


@pytest.fixture(scope="module")
def attention_class(tmp_path_factory) -> tuple[Lab, dict[str, grading.Record]]:
    """A class of lab 02, graded once for the tests below."""
    course = new_course(tmp_path_factory.mktemp("course"))
    lab = Lab.load(course, ATTENTION)
    perfect, stubs, texts = solved(lab), lab.release(), lab.solution_texts
    mask = next(iter(lab.misconceptions["self_attention.causal_mask"]))
    scaling = next(
        entry
        for entry in lab.misconceptions["self_attention.scaled_dot_product_attention"]
        if "scaling" in entry.name
    )
    noise = {name: noisy(text_, name) for name, text_ in texts.items()}
    vandal = solved(lab)
    vandal.cells.insert(0, new_code_cell("<script>alert('in the source')</script>"))
    vandal.cells.insert(
        1, new_code_cell("from IPython.display import HTML\nHTML('<script>alert(1)</script>')")
    )
    handed_in = {
        "perfect": perfect,
        "untouched": stubs,
        "two mistakes": solved(
            lab, {"causal_mask": mask.source, "scaled_dot_product_attention": scaling.source}
        ),
        "noisy": with_texts(stubs, noise),
        "deleted": without_cells(perfect, "cross_attention", "check_project_qkv"),
        "duplicated": duplicated(perfect, stubs),
        "retyped": retyped(perfect),
        "bare": without_metadata(perfect),
        "exits": solved(lab, {"padding_mask": "import os\nos._exit(1)"}),
        "corrupt": json.dumps(perfect).encode()[:-500],
        "empty": b"",
        "of another lab": solved(Lab.load(course, START)),
        "vandal": vandal,
    }
    for student, notebook in handed_in.items():
        hand_in(course, lab, student, notebook)
    return lab, graded(lab)


@pytest.mark.slow
def test_every_submission_ends_in_its_state_with_what_could_be_graded_graded(attention_class):
    _, records = attention_class
    full = records["perfect"].max_score
    states = {student: (record.state, record.score) for student, record in records.items()}
    for student in ("perfect", "noisy", "duplicated", "retyped", "bare", "vandal"):
        assert states[student] == ("graded", full)
    assert states["untouched"] == ("graded", 0)
    assert states["deleted"] == ("incomplete", full - 2)
    assert states["of another lab"] == ("incomplete", 0)
    assert states["exits"][0] == "crashed" and 0 < states["exits"][1] < full
    assert states["corrupt"] == states["empty"] == ("unreadable", 0)


@pytest.mark.slow
def test_mistakes_are_recognised_and_only_where_they_are(attention_class):
    lab, records = attention_class
    recognised = " ".join(records["two mistakes"].recognised)
    assert lab.misconceptions["self_attention.causal_mask"][0].name in recognised
    assert "scaling" in recognised
    for student in ("perfect", "untouched", "noisy", "bare", "corrupt"):
        assert not records[student].recognised


@pytest.mark.slow
def test_gradebook_notebooks_and_nbgrader_s_own_rules_agree(attention_class):
    lab, records = attention_class
    with book_of(lab.course) as book:
        for student, record in records.items():
            assert book.find_submission(lab.name, student).score == pytest.approx(record.score)
            assert book.find_submission(lab.name, student).max_score == record.max_score
            path = lab.course.autograded / student / lab.name / lab.notebook_name
            notebook = nbformat.read(path, as_version=4)
            nbformat.validate(notebook)
            assert sum(
                determine_grade(cell)[0] for cell in notebook.cells if is_grade(cell)
            ) == pytest.approx(record.score)
        assert book.find_submission(lab.name, "perfect").timestamp.year == 2030
        assert not any(submission.needs_manual_grade for submission in book.assignment_submissions(lab.name))


@pytest.mark.slow
def test_graded_notebooks_hold_one_report_a_check_and_no_markup_of_learners(attention_class):
    lab, records = attention_class
    for student in records:
        path = lab.course.autograded / student / lab.name / lab.notebook_name
        cells = nbformat.read(path, as_version=4).cells
        assert cells[0].id == RESULT_CELL and records[student].state in cells[0].source
        for cell in cells:
            for output in cell.get("outputs", []):
                data = output.get("data", {})
                assert set(data) <= {"text/plain", "text/html", "image/png", "image/jpeg"}
                assert ("text/html" in data) == bool(checked_exercise(cell))
            if checked_exercise(cell):
                assert len(cell.outputs) == 1


@pytest.mark.slow
def test_feedback_shows_state_reports_and_hints_and_runs_no_script_of_learners(attention_class):
    lab, records = attention_class
    assert generate_feedback(lab).pages == len(records)

    def page(student: str) -> str:
        return (lab.course.feedback / student / lab.name / f"{lab.slug}.html").read_text()

    assert "all" in page("perfect") and "(2 of 2 points)" in page("perfect")
    assert "Your results are those of a well-known mistake:" in page("two mistakes")
    assert "right with a working" in page("two mistakes")
    assert "State of this submission: unreadable" in page("corrupt")
    assert "not valid JSON" in page("corrupt")
    assert "missing, restored" in page("deleted")
    assert "alert(" in page("vandal") and "<script>alert" not in page("vandal")


@pytest.mark.slow
def test_nbgrader_s_own_export_and_feedback_work_on_the_result(attention_class):
    lab, records = attention_class
    exported = nbgrader(lab.course, "export", "--to", "out.csv")
    assert exported.returncode == 0, exported.stderr
    with (lab.course.root / "out.csv").open() as file:
        rows = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert rows == {student: pytest.approx(record.score) for student, record in records.items()}

    shutil.rmtree(lab.course.feedback, ignore_errors=True)
    made = nbgrader(lab.course, "generate_feedback", lab.name, "--student", "perfect")
    assert made.returncode == 0, made.stderr
    assert (lab.course.feedback / "perfect" / lab.name / f"{lab.slug}.html").is_file()


@pytest.mark.slow
def test_formgrader_finds_every_submission_autograded_with_its_score(attention_class, monkeypatch, tmp_path):
    lab, records = attention_class
    monkeypatch.setenv("HOME", str(tmp_path))
    found = NbGraderAPI(config=lab.course.nbgrader_config()).get_submissions(lab.name)
    assert {entry["student"]: entry["score"] for entry in found} == {
        student: pytest.approx(record.score) for student, record in records.items()
    }
    assert all(entry["autograded"] and entry["submitted"] for entry in found)


@pytest.mark.slow
def test_grading_twice_with_the_same_or_another_seed_gives_the_same(attention_class):
    lab, records = attention_class
    folders = [
        lab.course.submitted / student / lab.name for student in ("two mistakes", "deleted", "perfect")
    ]
    again = grading.autograde(lab, folders, PlainRunner(), seed=5)
    assert all(record == records[record.student] for record in again)
    for record in grading.autograde(lab, folders, PlainRunner(), seed=77):
        first = records[record.student]
        assert (record.state, record.score, record.notes) == (first.state, first.score, first.notes)
        assert record.recognised == first.recognised


# ---------------------------------------------------------------------------------- the gradebook


@pytest.mark.slow
def test_regrading_replaces_automatic_scores_and_keeps_what_a_human_entered(course):
    lab = Lab.load(course, START)
    hand_in(course, lab, "ada", lab.release())
    assert graded(lab, Canned())["ada"].score == 0
    with book_of(course) as book:
        grade = book.find_grade("check_softmax", lab.slug, lab.name, "ada")
        comment = book.find_comment("softmax", lab.slug, lab.name, "ada")
        assert (grade.auto_score, grade.needs_manual_grade) == (0, False)
        assert comment.auto_comment == "No response."
        grade.manual_score, grade.extra_credit, comment.manual_comment = 3, 1, "See me."
        book.db.commit()

    hand_in(course, lab, "ada", solved(lab))
    assert graded(lab, PlainRunner())["ada"].score > 0
    with book_of(course) as book:
        grade = book.find_grade("check_softmax", lab.slug, lab.name, "ada")
        comment = book.find_comment("softmax", lab.slug, lab.name, "ada")
        assert grade.auto_score == grade.max_score
        assert (grade.manual_score, grade.extra_credit, grade.needs_manual_grade) == (3, 1, True)
        assert (comment.comment, comment.auto_comment) == ("See me.", None)


@pytest.mark.slow
def test_a_submission_that_cannot_be_entered_leaves_no_trace_and_the_next_is_graded(course, monkeypatch):
    lab = Lab.load(course, START)
    for student in ("ada", "ben", "eve"):
        hand_in(course, lab, student, lab.release())

    class Breaking(Canned):
        def run(self, notebook, seed, folder=None):
            if breaking.pop(0):
                raise RuntimeError("no kernel today")
            return super().run(notebook, seed, folder)

    breaking = [False, True, False]
    records = graded(lab, Breaking())
    assert [record.score for record in records.values()] == [0, None, 0]
    assert "no kernel today" in records["ben"].notes[0]
    with book_of(course) as book:
        assert sorted(entry.student.id for entry in book.assignment_submissions(lab.name)) == ["ada", "eve"]


@pytest.mark.slow
def test_one_submission_is_one_transaction(course, monkeypatch):
    lab = Lab.load(course, START)
    hand_in(course, lab, "ada", lab.release())
    monkeypatch.setattr(
        "grader.book.scores._enter_comments", lambda *_: 1 / 0
    )  # fails after the grades are set
    assert graded(lab, Canned())["ada"].score is None
    with book_of(course) as book:
        assert book.assignment_submissions(lab.name) == []
        assert book.students == []


@pytest.mark.slow
def test_the_gradebook_is_sound_after_a_class(course):
    lab = Lab.load(course, START)
    for student in ("ada", "ben"):
        hand_in(course, lab, student, b"{}" if student == "ben" else lab.release())
    graded(lab, Canned())
    graded(lab, Canned())
    with book_of(course) as book:
        assert book.db.execute(text("PRAGMA integrity_check")).scalar() == "ok"
        for table, rows in {
            "submitted_assignment": 2,
            "submitted_notebook": 2,
            "grade": 2,
            "comment": 2,
        }.items():
            assert book.db.execute(text(f"SELECT COUNT(*) FROM {table}")).scalar() == rows


@pytest.mark.slow
def test_a_lab_whose_cells_changed_after_grading_is_refused_with_what_to_do(course):
    lab = Lab.load(course, START)
    hand_in(course, lab, "ada", lab.release())
    graded(lab, Canned())
    path = lab.release_folder / lab.notebook_name
    release = lab.release()
    nbgrader_of(next(cell for cell in release.cells if checked_exercise(cell)))["grade_id"] = "check_other"
    nbformat.write(release, path)
    with pytest.raises(CourseError, match="has other cells than when"):
        graded(lab, Canned())


def test_a_gradebook_that_is_none_is_named(course):
    lab = Lab.load(course, START)
    hand_in(course, lab, "ada", lab.release())
    course.gradebook.write_text("not a database")
    with pytest.raises(CourseError, match=r"gradebook\.db cannot be used: it is damaged.*backup") as told:
        graded(lab, Canned())
    assert "is safe" not in str(told.value)


@pytest.mark.slow
def test_a_timestamp_that_is_none_is_left_out(course):
    lab = Lab.load(course, START)
    folder = hand_in(course, lab, "ada", lab.release())
    (folder / "timestamp.txt").write_text("yesterday, I think")
    assert graded(lab, Canned())["ada"].state == "graded"
    assert not (course.autograded / "ada" / lab.name / "timestamp.txt").exists()


@pytest.mark.slow
def test_a_lab_goes_through_the_exchange_and_its_feedback_comes_back(course, monkeypatch, tmp_path):
    """Released, fetched, submitted, collected, graded, and handed back, also to whom nothing could be graded;
    what came another way stays out of it."""
    lab = Lab.load(course, START)
    exchange = tmp_path / "exchange"
    exchange.mkdir()
    exchange.chmod(0o777)
    setting = f"\nget_config().Exchange.root = {str(exchange)!r}\n"
    with (course.root / "nbgrader_config.py").open("a") as file:
        file.write(setting)
    learners = {name: tmp_path / name for name in ("ada", "bob")}

    def learner(name: str, command_: str) -> None:
        home = learners[name]
        home.mkdir(exist_ok=True)
        (home / "nbgrader_config.py").write_text(
            f"{setting}get_config().CourseDirectory.course_id = 'transformer-labs'\n"
        )
        # somebody else on a server has another name there
        done = nbgrader(Course(home), command_, lab.name, f"--CourseDirectory.student_id={name}")
        assert done.returncode == 0, done.stderr

    def instructor(*arguments: str) -> str:
        done = nbgrader(course, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert command(course, monkeypatch, "release", lab.name).exit_code == 0
    instructor("release_assignment", lab.name)
    for name, text_ in {"ada": nbformat.writes(solved(lab)), "bob": "{ this is no notebook"}.items():
        learner(name, "fetch_assignment")
        assert (learners[name] / lab.name / lab.notebook_name).is_file()
        (learners[name] / lab.name / lab.notebook_name).write_text(text_)
        learner(name, "submit")
    # both are one user of this machine
    assert command(course, monkeypatch, "collect", lab.name, "--shared-account").exit_code == 0
    secret = (course.submitted / "ada" / lab.name / SECRET).read_text()
    hand_in(course, lab, "by mail", lab.release())
    states = {name: record.state for name, record in graded(lab).items()}
    assert states == {"ada": "graded", "bob": "unreadable", "by mail": "graded"}
    pages = tmp_path / "pages.zip"
    assert command(course, monkeypatch, "feedback", lab.name, "--zip", str(pages)).exit_code == 0
    for page in course.feedback.rglob("*.html"):
        page.chmod(0o600)  # as a JupyterHub's umask makes them
    said = instructor("release_feedback", lab.name)
    assert "by mail" in said
    released = list((exchange / "transformer-labs" / "feedback").glob("*.html"))
    assert len(released) == 2 and all(page.stat().st_mode & 0o044 == 0o044 for page in released)
    fetched = {}
    for name, home in learners.items():
        learner(name, "fetch_feedback")
        (page,) = (home / lab.name / "feedback").rglob("*.html")
        fetched[name] = page.read_text()
        assert sorted(os.listdir(page.parent)) == [page.name]
        assert fetched[name] == (course.feedback / name / lab.name / f"{lab.slug}.html").read_text()
    assert "unreadable" in fetched["bob"] and "unreadable" not in fetched["ada"]
    with zipfile.ZipFile(pages) as archive:
        assert not any(secret in archive.read(member).decode() for member in archive.namelist())
        assert not any(SECRET in member for member in archive.namelist())

    # handed in another way after that: the feedback is no longer that of what went through the exchange
    mended = tmp_path / "by-mail"
    mended.mkdir()
    (mended / f"ada_{lab.notebook_name}").write_text(nbformat.writes(lab.release()))
    assert command(course, monkeypatch, "collect", lab.name, str(mended)).exit_code == 0
    graded(lab)
    assert sorted(os.listdir(course.autograded / "ada" / lab.name)) == [lab.notebook_name]
    assert secret in (course.grading / "earlier" / "ada" / lab.name / "1" / SECRET).read_text()


@pytest.mark.slow
def test_written_answers_wait_for_a_human_and_unreadable_ones_do_not(course):
    lab = Lab.load(course, START)
    path = lab.release_folder / lab.notebook_name
    release = lab.release()
    answer = {"grade": True, "solution": True, "locked": False, "task": False, "schema_version": 3}
    answer |= {"grade_id": "why", "points": 3.0, "cell_type": "markdown"}
    release.cells.append(
        nbformat.v4.new_markdown_cell("YOUR ANSWER", metadata={"nbgrader": answer}, id="why")
    )
    nbformat.write(release, path)

    answered = lab.release()
    answered.cells[-1].source = "<b>Because</b> [x](javascript:alert(1))"
    hand_in(course, lab, "ada", answered)
    hand_in(course, lab, "ben", b"")
    records = graded(lab, Canned())
    assert (records["ada"].by_hand, records["ben"].by_hand) == (1, 0)
    with book_of(course) as book:
        assert book.find_grade("why", lab.slug, lab.name, "ada").needs_manual_grade
        assert not book.find_grade("why", lab.slug, lab.name, "ben").needs_manual_grade
    generate_feedback(lab)
    page = (course.feedback / "ada" / lab.name / f"{lab.slug}.html").read_text()
    assert "Because" in page
    assert "3 more to be graded by your instructor" in page
    assert (
        "to be graded by your instructor"
        not in (course.feedback / "ben" / lab.name / f"{lab.slug}.html").read_text()
    )
    assert "<b>Because" not in page and 'href="javascript' not in page


@pytest.mark.slow
@pytest.mark.parametrize("name", LABS)
def test_a_notebook_of_other_correct_solutions_earns_everything_and_so_does_one_full_of_noise(
    course, name, request, its_turn
):
    """One by one, variants are tried with the reference's other parts. Learners have their own of each. Two labs each day."""
    its_turn((LABS.index(name) + 3) % 7, 7)  # not on the days on which its build is tried
    lab = Lab.load(course, name)
    reference = lab.solution_texts
    for turn in range(3) if request.config.getoption("--every-lab") else [turn_of(3, days=3)]:
        chosen = [entries[turn % len(entries)] for entries in lab.variants.values()]
        # below the reference's, which defines helpers that later exercises may use
        mixed = {entry.exercise: f"{reference[entry.exercise]}\n\n\n{entry.source}" for entry in chosen}
        hand_in(course, lab, f"mixed-{turn}", solved(lab, mixed))
    noise = {exercise: noisy(text_, exercise) for exercise, text_ in reference.items()}
    hand_in(course, lab, "noisy", solved(lab, noise))
    records = grading.autograde(lab, grading.submissions(lab), any_runner(lab), 5, jobs=2)
    written = [nbgrader_of(cell) for cell in lab.release().cells if cell.cell_type == "markdown"]
    automatic = lab.points - sum(
        cell["points"] for cell in written if cell.get("grade")
    )  # the rest is given by hand
    lost = {record.student: record for record in records if record.score != automatic}
    assert not lost


# ---------------------------------------------------------------------------------- the command line


def test_without_a_sandbox_grading_is_refused_until_that_is_said_to_be_meant(course, monkeypatch, tmp_path):
    lab = Lab.load(course, START)
    hand_in(course, lab, "ada", lab.release())
    unknown = command(course, monkeypatch, "autograde", START, "--sandbox", "bwrap")
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = command(course, monkeypatch, "autograde", START)
    for result in (unknown, missing):
        assert result.exit_code == 1
        assert "--sandbox none" in result.output
    assert "apt-get install bubblewrap" in missing.output
    assert not course.gradebook.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["autograde", "99_nothing", "--sandbox", "none"], "There is no lab '99_nothing'"),
        (["autograde", START, "--sandbox", "none"], "There is no submission in"),
        (["autograde", START, "--sandbox", "none", "--student", "nobody"], "nobody"),
        (["feedback", START], "Run `grader autograde 00_start_here` first"),
    ],
)
def test_what_users_get_wrong_is_answered_in_one_message_without_a_traceback(
    course, monkeypatch, arguments, words
):
    result = command(course, monkeypatch, *arguments)
    assert result.exit_code == 1
    assert words in result.output
    assert "Traceback" not in result.output


@pytest.mark.slow
def test_the_commands_from_release_to_export(course, monkeypatch):
    released = command(course, monkeypatch, "release", START)
    assert released.exit_code == 0, released.output
    assert "start_here.ipynb" in released.output
    lab = Lab.load(course, START)
    hand_in(course, lab, "ada", solved(lab))
    hand_in(course, lab, "ben", b"")
    result = command(course, monkeypatch, "autograde", START, "--sandbox", "none")
    assert result.exit_code == 0, result.output
    assert "ada" in result.output and "unreadable" in result.output
    assert "2 feedback pages" in command(course, monkeypatch, "feedback", START).output
    assert command(course, monkeypatch, "export", "--out", "grades.csv").exit_code == 0
    assert "ada" in (course.root / "grades.csv").read_text()


@pytest.mark.slow
def test_the_demonstration_shows_every_kind_of_submission(course):
    shown: dict[str, list[grading.Record]] = {}
    said: list[str] = []
    run_demo(course, [START], say=said.append, show=shown.__setitem__)
    records = {record.student: record for record in shown[START]}
    assert list(records) == [student for student, _ in made_up_class(Lab.load(course, START))]
    assert {record.state for record in records.values()} == {
        "graded",
        "incomplete",
        "timed out",
        "crashed",
        "unreadable",
    }
    for student in (
        "own-way-einsum",
        "own-way-loop",
        "prints-and-warns",
        "duplicated-cells",
        "retyped-cells",
    ):
        assert records[student].score == records["perfect"].max_score
    for student, record in records.items():
        assert bool(record.recognised) == student.startswith("mistake-")
    assert (course.root / ".demo" / "grades.csv").is_file()


def test_the_demonstration_s_own_ways_need_nothing_that_the_notebook_does_not_define(course):
    import torch

    ways = dict(made_up_class(Lab.load(course, "08_language_model_and_summarizer")))
    for student in ("own-way-einsum", "own-way-loop"):
        assert [cell.source for cell in ways[student].cells] != [
            cell.source for cell in ways["perfect"].cells
        ]
        names = {}
        for cell in ways[student].cells:
            tags = cell.metadata.get("tags", ())
            if cell.cell_type == "code" and not checked_exercise(cell) and "skip-grading" not in tags:
                exec(cell.source, names)
        logits = names["GPT"](9, 8, 8, 2, 1)(torch.zeros((1, 3), dtype=torch.long))
        assert logits.shape == (1, 3, 9)


def test_the_table_shows_what_learners_wrote_as_it_is():
    record = grading.Record("[red]x[/]", "graded", None, 5, by_hand=2, notes=("[b]note[/b]",))
    columns = [next(iter(column.cells)) for column in table_of("lab", [record]).columns]
    assert columns == [
        r"\[red]x\[/]",
        "graded",
        "- / 5",
        "",
        "Written answers to grade by hand: 2.\n\\[b]note\\[/b]",
    ]
