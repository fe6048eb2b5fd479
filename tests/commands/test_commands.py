"""The commands of ``grader``: loaded when called, explained as the guides do, and content with a lab's short name."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from classroom import new_course, with_gradebook
from project import ROOT
from rich.console import Console
from typer.main import get_command, get_group
from typer.testing import CliRunner

from grader.book.rubric import questions as questions_in
from grader.cli import COMMANDS, app
from grader.commands import week
from grader.course import Course, CourseError
from grader.errors import GraderError
from grader.grade.autograde import alone
from grader.grade.work import Record
from grader.reference.lab import Lab

HEAVY = (
    "jupytext",
    "matplotlib",
    "nbconvert",
    "nbformat",
    "nbgrader",
    "numpy",
    "sqlalchemy",
    "tensorflow",
    "torch",
)
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def help_of(*words: str) -> str:
    done = CliRunner().invoke(app, [*words, "--help"])
    assert done.exit_code == 0, done.output
    return done.output


def test_help_imports_nothing_that_only_a_command_needs():
    """Neither the list of all commands nor the help of one: what is imported to show it is all that is imported."""
    modules = ", ".join(
        sorted({f"grader.commands.{each[0]}" for all_ in COMMANDS.values() for each in all_.values()})
    )
    code = f"import sys, grader.cli, {modules}; print([name for name in {HEAVY} if name in sys.modules])"
    seen = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert seen.stdout == "[]\n"


def test_every_command_of_a_module_is_in_the_list_of_commands_and_the_other_way_round():
    listed: dict[str, set[str]] = {}
    for commands in COMMANDS.values():
        for name, (module, _) in commands.items():
            listed.setdefault(module, set()).add(name)
    modules = {file.stem for file in (ROOT / "grader/commands").glob("*.py")}
    assert {*listed} == modules - {"__init__", "help", "terminal"}
    for module, names in listed.items():
        assert {*get_group(importlib.import_module(f"grader.commands.{module}").app).commands} == names


def test_help_shows_no_types():
    for commands in COMMANDS.values():
        for name in commands:
            assert not re.search(r"<\w+>|[<≤]=|╭", help_of(name)), name


def all_commands() -> list[str]:
    """Names of all commands, those of groups with their group's."""
    found = []
    for commands in COMMANDS.values():
        for name, (module, _) in commands.items():
            own = get_group(importlib.import_module(f"grader.commands.{module}").app).commands[name]
            found += [name, *(f"{name} {part}" for part in getattr(own, "commands", {}))]
    return found


def written_in(text: str) -> list[str]:
    """The calls of ``grader`` that stand alone on a line of a guide or of help, without comments."""
    lines = re.findall(r"^ +(?:\.venv/bin/)?grader ([a-z].+)$", text, re.M)
    return [re.sub(r"\s+#.*", "", line) for line in lines]


def parsed(call: str) -> None:
    """Reads a call as the command would, without carrying it out."""
    command, words = get_command(app), shlex.split(call)
    context = command.make_context("grader", list(words), resilient_parsing=False)
    while context._protected_args:
        rest = [*context._protected_args, *context.args]
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda file: file.name)
def test_what_a_guide_says_to_type_is_understood(guide, monkeypatch):
    monkeypatch.chdir(ROOT)
    for call in written_in(guide.read_text("utf-8")):
        if not re.search(r"\b(LAB|NN_slug|14_\w+)\b", call):  # labs that are not there
            parsed(call)


def test_help_gives_examples_that_are_understood(monkeypatch):
    monkeypatch.chdir(ROOT)
    for name in all_commands():
        examples = [call for call in written_in(help_of(*name.split())) if call.startswith(name)]
        assert examples, name
        for call in examples:
            if "14_my_lab" not in call:
                parsed(call)


def test_the_lab_in_the_examples_of_the_queue_has_answers_that_people_grade(course):
    for call in written_in(help_of("queue")):
        assert questions_in(Lab.load(course, course.lab_named(call.split()[1])).release()), call


@pytest.mark.parametrize(
    "call",
    [
        "roster import FILE",
        "roster teams FILE",
        "status import FILE",
        "grades --rules FILE --because x",
        "requests add FILE",
        "doctor FILE --lab 00",
        "restore FILE",
        "collect 00 FILE",
        "export 00 --format moodle --worksheet FILE",
    ],
)
@pytest.mark.parametrize("file", ["pipe", "/dev/zero", "folder", "missing"])
def test_whatever_a_person_names_for_a_file_is_answered_at_once(tmp_path, monkeypatch, call, file):
    course = with_gradebook(new_course(tmp_path))
    monkeypatch.chdir(course.root)
    os.mkfifo("pipe")
    Path("folder").mkdir()
    told = CliRunner().invoke(app, shlex.split(call.replace("FILE", file)))
    said = " ".join(told.output.split())
    assert isinstance(told.exception, SystemExit | None), (told.exception, said)
    assert told.exit_code or call.split()[0] in ("requests", "collect", "doctor"), said
    assert file in said or "no" in said.lower(), said


@pytest.mark.parametrize(
    "typed",
    [
        "02",
        "2",
        "self_attention",
        "self-attention",
        "Self_Attention",
        "02_self_attention",
        "02_self_attention/",
    ],
)
def test_a_number_or_a_name_is_enough_for_a_lab(course, typed):
    assert course.lab_named(typed) == "02_self_attention"


def test_the_numbers_and_names_of_all_labs_are_understood(course):
    for lab in course.labs():
        number, _, name = lab.partition("_")
        assert course.lab_named(number) == course.lab_named(name) == lab


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            "question_answering",
            r"several labs: 10_question_answering_pytorch, 11_question_answering_tensorflow",
        ),
        ("02_self_atention", r"no lab .* Did you mean 02_self_attention"),
        ("mulit_head_attention", r"Did you mean 03_multi_head_attention"),
        ("99", r"no lab '99' .* Labs: 00_start_here, 01"),
        ("", r"no lab ''"),
    ],
)
def test_a_lab_that_is_not_clear_is_refused_with_those_that_may_be_meant(course, typed, said):
    with pytest.raises(CourseError, match=said):
        course.lab_named(typed)


def test_two_labs_of_one_number_are_told_apart_by_their_names(tmp_path):
    for name in ("13_left", "13_right"):
        (tmp_path / "solutions" / name).mkdir(parents=True)
        (tmp_path / "solutions" / name / f"{name}.py").touch()
    with pytest.raises(CourseError, match="13_left, 13_right"):
        Course(tmp_path).lab_named("13")
    assert Course(tmp_path).lab_named("left") == "13_left"


def test_a_command_says_which_lab_it_understood(monkeypatch):
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(app, ["doctor", str(ROOT / "README.md"), "--lab", "attention"])
    assert done.exit_code == 1 and "may be several labs" in done.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["requests", "show", "abc"], "'NO': a whole number is needed, such as 3."),
        (["extend", "00", "anna", "--days", "soon"], "'--days': a number is needed, such as 2.5."),
        (["extend", "00", "anna", "--days", "-1"], "'--days': it has to be 0 or more."),
        (["extend", "00", "anna", "--days", "5000"], "'--days': it has to be 3650 or less."),
        (["autograde", "00", "--jobs", "0"], "'--jobs': it has to be 1 or more."),
        (["build", "00", "--seeds", "x"], "'--seeds': a whole number is needed, such as 3."),
    ],
)
def test_a_number_that_is_none_is_told_in_plain_words(monkeypatch, command, said):
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2 and said in done.stderr and "Input should" not in done.stderr, done.stderr


def test_no_folder_is_made_outside_the_course_because_of_a_slip(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(app, ["gradescope", "00", "--out", str(tmp_path / "slip" / "x.zip")])
    assert done.exit_code == 1 and "there is no folder" in done.output and not (tmp_path / "slip").exists()


def test_a_folder_in_the_place_of_a_lock_is_named(tmp_path):
    course = Course(tmp_path)
    (course.grading / "autograde.lock").mkdir(parents=True)
    with (
        pytest.raises(GraderError, match=r"autograde\.lock is a folder, where a file should be"),
        alone(course),
    ):
        pass


def test_of_a_small_class_those_to_look_at_are_named_below_the_table(capsys, monkeypatch):
    monkeypatch.setattr(week, "console", Console(width=150))
    usual = [Record(f"s{number:03}", "graded", 7.5, 10) for number in range(20)]
    week.show("02_self_attention", [*usual, Record("odd", "graded", 9, 10, notes=("A cell was missing.",))])
    assert "To look at, because of their state or a note: odd." in capsys.readouterr().out
    week.show("02_self_attention", usual)
    assert "To look at" not in capsys.readouterr().out


def test_of_a_large_class_the_table_has_those_to_look_at_and_the_others_are_counted(capsys, monkeypatch):
    monkeypatch.setattr(week, "console", Console(width=150))
    usual = [Record(f"s{number:03}", "graded", 7.5, 10, by_hand=1, kept=number < 5) for number in range(60)]
    unusual = [
        Record("late", "timed out", 2, 10),
        Record("odd", "graded", 9, 10, notes=("A cell was missing.",)),
        Record("lost", "graded", None, 10),
    ]
    week.show("02_self_attention", [*usual, *unusual])
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("late", "odd", "A cell was missing.", "lost"))
    assert "s000" not in shown
    assert "63 submissions: 62 graded, 1 timed out." in shown
    assert "5 of them have not changed" in shown and "60 written answers wait" in shown
    week.show("02_self_attention", usual[:40])
    shown = capsys.readouterr().out
    assert "s000" in shown and "submissions:" not in shown


# ---------------------------------------------------------------------------------- commands that are carried out

STUDENTS = """id,name,email,section,team
anna,Anna Abt,anna@example.org,Monday,
ben,Ben Bo,ben@example.org,Tuesday,red
carl,Carl Cox,carl@example.org,Monday,
eva,Eva Doe,eva@example.org,Tuesday,red
zoe,Zoë van Dyk,zoe@example.org,Monday,
"""
NOT_HERE = re.compile(
    r"release |term|similar |collect |watch |viva |autograde|feedback|late |queue|requests (show|decide)|uncollect|export|gradescope|restore \S|roster (remove|merge)|doctor"
)
"""These need work that was handed in or graded, the sandbox, a platform, or a fault. Other tests carry them out."""


def block(text: str, pattern: str) -> str:
    """What stands in a guide where ``pattern`` has its group, without its indentation."""
    return textwrap.dedent(re.search(pattern, text, re.S | re.M)[1])


@pytest.mark.parametrize("name", ["instructors", "collecting", "grading-details", "term"])
def test_what_a_guide_says_to_type_runs_in_the_order_of_the_guide(tmp_path, monkeypatch, name):
    course = with_gradebook(new_course(tmp_path))
    monkeypatch.chdir(course.root)
    texts = {each: (ROOT / "docs" / f"{each}.md").read_text("utf-8") for each in (name, "term")}
    files = {
        "students.csv": STUDENTS,
        "teams.csv": "student,team\nanna,blue\ncarl,blue\n",
        "pairs.csv": "student,team\nanna,green\nzoe,green\n",
        "decisions.csv": block(texts["term"], r"^(    student,lab,status,reason\n.+?)\n\n"),
        "term.toml": block(texts["term"], r"^```toml\n(.+?)^```"),
    }
    for file, text in files.items():
        (course.root / file).write_text(text, "utf-8")
    calls = [call for call in written_in(texts[name]) if not NOT_HERE.match(call)]
    for call in dict.fromkeys(["roster import students.csv", *calls]):
        done = CliRunner().invoke(app, shlex.split(call))
        assert done.exit_code == 0, (call, done.output, done.exception)
