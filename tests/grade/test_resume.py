"""Grading that is interrupted or repeated: nothing is graded twice, nothing is lost, nothing out of date is kept."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from classroom import ATTENTION, START, KernelFree, hand_in_class, nbgrader, new_course, with_gradebook
from nbgrader.api import Gradebook as NbgraderGradebook
from nbgrader.apps import NbGraderAPI
from project import ROOT
from sqlalchemy import text
from typer.testing import CliRunner

from grader import imports
from grader.book.gradebook import Gradebook
from grader.cli import app
from grader.course import Course
from grader.errors import GraderError
from grader.files import SECRET
from grader.grade import autograde as grading
from grader.grade import resume
from grader.grade.resume import Again, fingerprint_of_lab, modules_of
from grader.grade.work import Record
from grader.handout.demo import hand_in, solved
from grader.reference.lab import Lab
from grader.run.notebook import SandboxRunner

SIZE = 4


@pytest.fixture
def lab(tmp_path) -> Lab:
    """A lab with four submissions."""
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    hand_in_class(lab, SIZE)
    return lab


@pytest.fixture
def runner(tmp_path) -> KernelFree:
    return KernelFree(tmp_path / "runs")


def graded(lab: Lab, runner, again: Again = Again.CHANGED, seed: int = 5, jobs=None) -> dict[str, Record]:
    records = grading.autograde(lab, grading.submissions(lab), runner, seed, again=again, jobs=jobs)
    return {record.student: record for record in records}


def again_done(lab: Lab, runner, again: Again = Again.CHANGED, **other) -> list[str]:
    """Who is graded again, and that the others are kept as they were."""
    before = len(runner.runs())
    records = graded(lab, runner, again, **other)
    done = sorted(student for student, record in records.items() if not record.kept)
    ran = sorted(runner.runs()[before:])
    assert set(ran) <= set(done) and len(ran) == len(set(ran))
    return done


def everybody(lab: Lab) -> list[str]:
    return sorted(folder.parent.name for folder in grading.submissions(lab))


def book_of(lab: Lab) -> NbgraderGradebook:
    return NbgraderGradebook(lab.course.nbgrader_config().CourseDirectory.db_url)


# ---------------------------------------------------------------------------------- what is kept


def test_a_second_run_grades_nothing_and_tells_the_same(lab, runner):
    first = graded(lab, runner)
    assert sorted(runner.runs()) == everybody(lab)
    assert {record.score for record in first.values()} > {0, 5}
    assert any(record.recognised for record in first.values())
    second = graded(lab, runner)
    assert len(runner.runs()) == SIZE
    assert second == {student: replace(record, kept=True) for student, record in first.items()}


def test_force_grades_everything_again(lab, runner):
    graded(lab, runner)
    assert again_done(lab, runner, Again.ALL) == everybody(lab)


def a_cell_more(lab: Lab) -> None:
    path = lab.course.submitted / "s01" / lab.name / lab.notebook_name
    notebook = nbformat.read(path, 4)
    notebook.cells.append(nbformat.v4.new_code_cell("more = 1"))
    nbformat.write(notebook, path)


def another_time(lab: Lab) -> None:
    (lab.course.submitted / "s01" / lab.name / "timestamp.txt").write_text("2030-01-16 12:00:00 UTC")


def another_secret(lab: Lab) -> None:
    (lab.course.submitted / "s01" / lab.name / SECRET).write_text("0123456789abcdef")


def another_name(lab: Lab) -> None:
    folder = lab.course.submitted / "s01" / lab.name
    (folder / lab.notebook_name).rename(folder / "mine.ipynb")


def nothing_there(lab: Lab) -> None:
    (lab.course.submitted / "s01" / lab.name / lab.notebook_name).unlink()


def a_link(lab: Lab) -> None:
    path = lab.course.submitted / "s01" / lab.name / lab.notebook_name
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def graded_notebook_lost(lab: Lab) -> None:
    (lab.course.autograded / "s01" / lab.name / lab.notebook_name).unlink()


def graded_notebook_changed(lab: Lab) -> None:
    with (lab.course.autograded / "s01" / lab.name / lab.notebook_name).open("a") as file:
        file.write(" ")


def removed_from_the_gradebook(lab: Lab) -> None:
    with book_of(lab) as book:
        book.remove_submission(lab.name, "s01")


def removed_and_entered_by_others(lab: Lab) -> None:
    with book_of(lab) as book:
        book.remove_submission(lab.name, "s01")
        book.add_submission(lab.name, "s01")


def scored_by_others(lab: Lab) -> None:
    with book_of(lab) as book:
        grade = book.find_grade("check_softmax", lab.slug, lab.name, "s01")
        grade.auto_score += 1
        book.db.commit()


CHANGES = [a_cell_more, another_time, another_secret, another_name, nothing_there, a_link]
LOSSES = [
    graded_notebook_lost,
    graded_notebook_changed,
    removed_from_the_gradebook,
    removed_and_entered_by_others,
    scored_by_others,
]


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # nbgrader's own
@pytest.mark.parametrize("change", [*CHANGES, *LOSSES])
@pytest.mark.parametrize("again", [Again.CHANGED, pytest.param(Again.NEW, marks=pytest.mark.slow)])
def test_only_what_changed_is_graded_again(lab, runner, change, again):
    graded(lab, runner)
    change(lab)
    assert again_done(lab, runner, again) == ["s01"]
    assert again_done(lab, runner, again) == []


def test_what_a_human_enters_changes_nothing(lab, runner):
    graded(lab, runner)
    with book_of(lab) as book:
        grade = book.find_grade("check_softmax", lab.slug, lab.name, "s01")
        grade.manual_score, grade.extra_credit = 2, 1
        book.db.commit()
    assert again_done(lab, runner) == []


def another_release(lab: Lab) -> None:
    path = lab.release_folder / lab.notebook_name
    path.write_text(path.read_text().replace("softmax", "soft-max", 1))


def another_hint(lab: Lab) -> None:
    with (lab.folder / "misconceptions.py").open("a") as file:
        file.write("# changed\n")


def another_solution(lab: Lab) -> None:
    """On its text, misconceptions may be slips."""
    path = lab.folder / f"{lab.name}.py"
    text = path.read_text()
    assert "np.exp(shifted)" in text
    path.write_text(text.replace("np.exp(shifted)", "np.exp(+shifted)"))


def a_data_file(lab: Lab) -> None:
    (lab.release_folder / "words.csv").write_text("a,b")


@pytest.mark.parametrize(
    "change",
    [
        another_hint,
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in (another_release, another_solution, a_data_file)
        ),
    ],
)
def test_a_changed_lab_is_graded_again_unless_only_what_is_new_was_asked_for(lab, runner, change):
    graded(lab, runner)
    change(lab)
    changed = Lab.load(lab.course, lab.name)
    assert again_done(changed, runner, Again.NEW) == []
    assert again_done(changed, runner) == everybody(lab)
    assert again_done(changed, runner) == []


def test_another_seed_or_limit_is_graded_again(lab, runner):
    graded(lab, runner)
    assert again_done(lab, runner, seed=6) == everybody(lab)
    assert again_done(lab, replace(runner, notebook_seconds=61), seed=6) == everybody(lab)
    assert again_done(lab, runner, Again.NEW) == []


@pytest.fixture
def code(tmp_path, monkeypatch) -> Path:
    """A copy of the project's code, in whose place it is looked at."""
    for name in ("course_utils", "grader"):
        shutil.copytree(ROOT / name, tmp_path / "code" / name, ignore=shutil.ignore_patterns("__pycache__"))
        monkeypatch.setitem(imports.PACKAGES, name, tmp_path / "code" / name)
    return tmp_path / "code"


def version_of(lab: Lab) -> str:
    return resume.version.__wrapped__(modules_of(lab))  # not what it was before


def changed(file: Path) -> None:
    with file.open("ab") as opened:
        opened.write(b"\n")


TRANSLATION, QUESTIONS = "05_transformer_pytorch", "11_question_answering_tensorflow"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, files",
    [
        (
            ATTENTION,
            [
                *(f"course_utils/checking/{name}.py" for name in ("checks", "comparison", "bypass")),
                *("course_utils/cases/attention.py", "course_utils/cases/properties.py"),
                "course_utils/checking/report.py",  # what it says stands in the graded notebook
                *("grader/book/points.py", "grader/grade/judge.py", "grader/grade/results.py"),
                *("grader/files.py", "grader/receive/read.py", "grader/receive/rebuild.py"),
                *(
                    "grader/run/notebook.py",
                    "grader/sandbox/preloaded.py",
                    "grader/sandbox/inside/lockdown.py",
                ),
            ],
        ),
        (TRANSLATION, ["course_utils/data/vocabulary.py", "course_utils/weights/translator.safetensors"]),
        (
            QUESTIONS,  # with what it shares with labs 05 and 10, and what is imported inside functions
            ["course_utils/cases/keras_layers.py", "course_utils/data/questions.py"],
        ),
    ],
)
def test_a_grade_depends_on_the_engine_and_on_the_lab_s_own_code(lab, code, name, files):
    lab = Lab.load(lab.course, name)
    before = {version_of(lab)}
    for number, file in enumerate(files, start=2):
        changed(code / file)
        before.add(version_of(lab))
        assert len(before) == number, file


def test_a_grade_does_not_depend_on_other_labs_or_on_what_comes_after_grading(lab, code):
    lab = Lab.load(lab.course, ATTENTION)
    before = version_of(lab)
    others = [path for path in (code / "course_utils/cases").glob("*.py") if path.stem[0] != "_"]
    others = [path for path in others if path.stem not in ("attention", "properties")]
    assert len(others) > 3
    names = (
        "author/build",
        "receive/collect",
        "receive/names",
        "grade/autograde",
        "book/gradebook",
        "book/scores",
        "grade/pool",
    )
    names += ("show/class_report", "show/export", "show/feedback", "show/feedback_page", "handout/gradescope")
    others += [code / "grader" / f"{name}.py" for name in (*names, "plugins/late", "cli")]
    others += (code / "grader/show").glob("*.html")
    others += [
        code / "course_utils/models/translator.py",
        code / "course_utils/weights/translator.safetensors",
    ]
    for path in others:
        assert path.is_file(), path
        changed(path)
    (code / "course_utils/cases/tomorrow.py").write_text('"""For a lab of the future."""\n')
    assert version_of(lab) == before


def test_a_new_lab_regrades_nothing_and_another_rule_for_points_everything(lab, runner, code):
    graded(lab, runner)
    (code / "course_utils/cases/tomorrow.py").write_text('"""For a lab of the future."""\n')
    resume.version.cache_clear()
    assert again_done(lab, runner) == []
    changed(code / "grader/book/points.py")
    resume.version.cache_clear()
    assert again_done(lab, runner) == everybody(lab)
    resume.version.cache_clear()


def test_where_the_course_lies_is_no_part_of_it(lab, tmp_path):
    before = fingerprint_of_lab(lab, 5, SandboxRunner.for_lab(lab))
    elsewhere = shutil.copytree(lab.course.root, tmp_path / "elsewhere")
    moved = Lab.load(Course(elsewhere), lab.name)
    assert fingerprint_of_lab(moved, 5, SandboxRunner.for_lab(moved)) == before


def test_variants_and_hidden_files_are_no_part_of_it(lab, runner):
    before = fingerprint_of_lab(lab, 5, runner)
    (lab.folder / "variants.py").write_text("")
    (lab.release_folder / ".ipynb_checkpoints").mkdir()
    (lab.release_folder / ".ipynb_checkpoints" / "x.ipynb").write_text("")
    assert fingerprint_of_lab(lab, 5, runner) == before


def test_new_students_are_graded_and_the_others_kept(lab, runner):
    graded(lab, runner)
    hand_in(lab.course, lab, "zoe", b"")
    assert again_done(lab, runner) == ["zoe"]
    assert again_done(lab, runner) == []


@pytest.mark.slow
def test_what_no_worker_survives_is_entered_with_nothing_and_tried_again(lab, runner):
    hand_in(lab.course, lab, "eve", solved(lab, {"softmax": "# eve\nimport os\nos._exit(1)"}))
    records = graded(lab, runner, jobs=2)
    assert records["eve"].state == "crashed" and records["eve"].score == 0
    assert "died twice on this submission" in records["eve"].notes[0]
    assert runner.runs().count("eve") == 2
    assert len(runner.runs()) == SIZE + 2
    with book_of(lab) as book:
        assert book.find_submission(lab.name, "eve").score == 0
        assert not book.find_submission(lab.name, "eve").needs_manual_grade
    page = lab.course.autograded / "eve" / lab.name / lab.notebook_name
    assert "State of this submission: crashed" in page.read_text()
    records = graded(lab, runner, jobs=2)
    assert [student for student, record in records.items() if not record.kept] == ["eve"]


def test_what_the_sandbox_lost_is_tried_again_and_then_kept(lab, runner, monkeypatch):
    run, losing = KernelFree.run, ["s01"]

    def sometimes_lost(self, notebook, *arguments):
        executed = run(self, notebook, *arguments)
        return replace(executed, payloads={}, lost=True) if self.runs()[-1] in losing else executed

    monkeypatch.setattr(KernelFree, "run", sometimes_lost)
    graded(lab, runner)
    assert again_done(lab, runner) == ["s01"]
    losing.clear()
    assert again_done(lab, runner) == ["s01"]
    assert again_done(lab, runner) == []


# ---------------------------------------------------------------------------------- interrupted


def test_a_run_that_is_left_in_the_middle_is_gone_on_with(lab, runner):
    stream = grading.autograde(lab, grading.submissions(lab), runner, 5, again=Again.CHANGED)
    done = [next(stream).student, next(stream).student]
    stream.close()
    assert again_done(lab, runner) == sorted(set(everybody(lab)) - set(done))
    assert sorted(runner.runs()) == everybody(lab)


@pytest.mark.parametrize(
    "point",
    [
        "grader.grade.autograde._write_notebook",
        "grader.book.scores._page",
        "grader.book.scores._enter_scores",
        "grader.book.scores._enter_comments",
        "grader.book.scores._remember",
    ],
)
@pytest.mark.parametrize("late", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["before", "after"])
def test_an_end_between_any_two_steps_leaves_all_or_nothing(lab, runner, monkeypatch, point, late):
    whole = graded(lab, runner)
    shutil.rmtree(lab.course.grading / "autograded")
    with_gradebook(lab.course)

    module, name = point.rsplit(".", 1)
    original = getattr(sys.modules[module], name)
    calls = 0

    def stops(*arguments):
        nonlocal calls
        calls += 1
        if calls < 2:
            return original(*arguments)
        if late:
            original(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(point, stops)
        graded(lab, runner)
    with book_of(lab) as book:
        assert [entry.student.id for entry in book.assignment_submissions(lab.name)] == ["s00"]
    after = graded(lab, runner)
    assert [student for student, record in after.items() if record.kept] == ["s00"]
    assert {s: replace(record, kept=False) for s, record in after.items()} == whole


def test_only_one_can_grade_at_a_time(lab, runner):
    stream = grading.autograde(lab, grading.submissions(lab), runner, 5)
    next(stream)
    with pytest.raises(GraderError, match="Another `grader autograde` is at work"):
        graded(lab, runner)
    stream.close()
    assert len(graded(lab, runner)) == SIZE


# ---------------------------------------------------------------------------------- nbgrader


@pytest.mark.slow
def test_nbgrader_s_own_tools_work_beside_the_markers(lab, runner, monkeypatch, tmp_path):
    first = graded(lab, runner)
    for arguments in (["db", "upgrade"], ["export", "--to", "out.csv"], ["db", "student", "list"]):
        done = nbgrader(lab.course, *arguments)
        assert done.returncode == 0, done.stderr
    assert all(student in (lab.course.root / "out.csv").read_text() for student in first)
    assert again_done(lab, runner) == []  # an upgrade leaves the markers alone

    monkeypatch.setenv("HOME", str(tmp_path))
    found = NbGraderAPI(config=lab.course.nbgrader_config()).get_submissions(lab.name)
    assert {entry["student"]: entry["score"] for entry in found} == {
        student: pytest.approx(record.score) for student, record in first.items()
    }

    done = nbgrader(lab.course, "db", "student", "remove", "s01", "--force")
    assert done.returncode == 0, done.stderr
    assert again_done(lab, runner) == ["s01"]
    done = nbgrader(lab.course, "db", "assignment", "remove", lab.name, "--force")
    assert done.returncode == 0, done.stderr
    assert again_done(lab, runner) == everybody(lab)


def test_a_gradebook_made_without_markers_gets_them(lab, runner):
    graded(lab, runner)
    with book_of(lab) as book:
        book.db.execute(text("DROP TABLE transformer_labs_graded"))
        book.db.commit()
    assert again_done(lab, runner) == everybody(lab)
    assert again_done(lab, runner) == []


# ---------------------------------------------------------------------------------- the command


@pytest.fixture
def command(lab, runner, monkeypatch):
    """``grader autograde`` with the runner without kernels."""
    monkeypatch.setattr(grading, "choose_runner", lambda *_, **__: runner)
    monkeypatch.chdir(lab.course.root)
    return lambda *arguments: CliRunner().invoke(app, ["autograde", START, "--jobs", "2", *arguments])


@pytest.mark.slow
def test_the_command_says_what_it_did_and_what_it_left(command, lab):
    first = command()
    assert first.exit_code == 0, first.output
    assert f"Grading {START}: 4 of 4 done now: 4 graded." in first.output
    hand_in(lab.course, lab, "zoe", b"")
    second = command()
    assert f"Grading {START}: 1 of 5 done now: 1 unreadable." in second.output
    assert "4 already graded and unchanged; --force grades them again." in second.output
    rows = re.findall(r"^. (s0\d|zoe)\b.*?([\d.]+) / 5", second.output, re.MULTILINE)
    assert [student for student, _ in rows] == [*everybody(lab)]
    assert rows[0][1] == "5"
    assert "5 of 5 done now" in command("--force").output
    another_hint(lab)
    assert "done now" not in command("--only-new").output
    assert command("--only-new", "--force").exit_code == 1


@pytest.mark.slow
def test_in_a_pipe_there_are_no_control_characters(command):
    output = command().output
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", output)
    assert output.count("Grading") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment", ["Connection.execute", "RootTransaction._do_commit", "RootTransaction._close_impl"]
)
def test_ctrl_c_in_the_middle_of_a_transaction_stops_the_run_and_loses_nothing(
    lab, runner, monkeypatch, moment
):
    """SQLAlchemy makes an AssertionError of it."""
    write, came = Gradebook.write, []

    def interrupted(*arguments):
        def profile(frame, event, argument):
            if event == "call" and frame.f_code.co_qualname == moment:
                came.append(frame)
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

        sys.setprofile(profile)
        write(*arguments)

    monkeypatch.setattr(Gradebook, "write", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            graded(lab, runner)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(came) == 1
    monkeypatch.setattr(Gradebook, "write", write)
    assert set(graded(lab, runner)) == set(everybody(lab))
    assert again_done(lab, runner) == []


PROGRAM = f"""
import signal, sys
from pathlib import Path
from classroom import KernelFree
from grader import cli
from grader.grade import autograde
from grader.show import progress_bar
progress_bar.LINE_SECONDS = 3600  # a busy machine takes longer than half a minute, and what is said then is tested elsewhere
autograde.choose_runner = lambda *_, **__: KernelFree(Path("runs"), nap=0.2)
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if the suite runs in the background
    cli.app(["autograde", "{START}", "--jobs", "2"])
"""


@pytest.mark.slow
def test_ctrl_c_says_so_and_keeps_what_is_entered(lab):
    hand_in_class(lab, 12)
    program = lab.course.root / "program.py"
    program.write_text(PROGRAM)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}

    def run() -> subprocess.Popen:
        arguments = {"cwd": lab.course.root, "env": environment, "text": True, "start_new_session": True}
        return subprocess.Popen(
            [sys.executable, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **arguments
        )

    first = run()
    written = lab.course.autograded

    def three_are_written() -> bool:
        return len(list(written.glob(f"*/{START}/{lab.notebook_name}"))) >= 3

    while first.poll() is None and not three_are_written():  # by no clock: a busy machine starts slowly
        time.sleep(0.02)
    assert three_are_written()
    os.killpg(first.pid, signal.SIGINT)
    out, err = first.communicate(timeout=60)
    assert (first.returncode, out) == (130, "")
    assert err == "grader: stopped. Grades already entered are kept; the same command continues from there.\n"

    second = run()
    out, err = second.communicate(timeout=120)
    assert (second.returncode, err) == (0, "")
    kept = int(re.search(r"(\d+) already graded and unchanged", out).group(1))
    assert 2 <= kept < 12  # the third file may have been written, and not yet entered
    assert f"{12 - kept} of 12 done now" in out
    runs = KernelFree(lab.course.root / "runs").runs()
    assert set(runs) == set(everybody(lab))
    assert len(runs) <= 12 + 5  # two were running, others had answered and were not yet entered
