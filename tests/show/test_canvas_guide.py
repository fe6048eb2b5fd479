"""Every command of docs/canvas.md, as it is written there, from the class list to the grades, against a server that stands for Canvas."""

from __future__ import annotations

import json
import re
import shlex
import zipfile
from urllib.parse import urlsplit

from classroom import START, KernelFree, new_course, with_gradebook
from fake_canvas import PATH, SECRET, Clock, FakeCanvas, Reply, ToRead, serving
from project import ROOT
from typer.testing import CliRunner

from grader.book.gradebook import Gradebook
from grader.cli import app
from grader.grade import autograde as grading
from grader.handout.demo import solved
from grader.people import canvas, server
from grader.people.canvas import TOKEN
from grader.reference.lab import Lab

HERE, THERE = "02_self_attention", "https://canvas.example.edu"


def commands() -> list[list[str]]:
    """What is typed after ``.venv/bin/grader``."""
    text = (ROOT / "docs" / "canvas.md").read_text("utf-8")
    return [shlex.split(line) for line in re.findall(r"^ +\.venv/bin/grader (.+)$", text, re.MULTILINE)]


def test_the_guide_s_commands_take_a_lab_from_the_class_list_to_the_grades(tmp_path, monkeypatch):
    lab = Lab.load(with_gradebook(new_course(tmp_path)), START)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(TOKEN, SECRET)
    for each in (canvas, server):
        monkeypatch.setattr(each, "time", Clock())
    people = ("Doe, Jane", "Roe, Ali", "Poe, Zoë")
    with zipfile.ZipFile("submissions.zip", "w") as packed:
        for number, name in enumerate(people[:2], 1):
            who = re.sub(r"\W", "", name.casefold())
            packed.writestr(f"{who}_{number}_99{number}_{lab.notebook_name}", json.dumps(solved(lab)))
    enrolled = [{"type": "StudentEnrollment", "course_section_id": 7, "enrollment_state": "active"}]
    about = ToRead(
        {
            "/courses/12/sections": [{"id": 7, "name": "Monday"}],
            "/courses/12/users": [
                {"id": number, "sortable_name": name, "login_id": f"s{number}", "enrollments": enrolled}
                for number, name in enumerate(people, 1)
            ],
            f"{PATH.removeprefix('/api/v1')}/overrides": [],
        }
    )
    grades = FakeCanvas(lab.points, scores=dict.fromkeys((1, 2, 3)), excused={3})
    grades.about = {"published": True, "due_at": "2026-11-02T22:59:00Z"}

    def answer(method: str, target: str, token: str | None, form: str) -> Reply:
        known = urlsplit(target).path.removeprefix("/api/v1") in about.says
        return (about if known else grades).answer(method, target, token, form)

    said = []
    with serving(answer) as url:
        grades.url = about.url = url
        for words in commands():
            typed = [each.replace(THERE, url).replace(HERE, START) for each in words]
            if typed[0] == "autograde":  # as the command does, without kernels
                list(grading.autograde(lab, grading.submissions(lab), KernelFree(tmp_path / "runs"), 5))
                continue
            done = CliRunner().invoke(app, typed)
            assert done.exit_code == 0, (words, done.output)
            said.append(" ".join(done.output.split()))
    assert "3 in Canvas: 3 new" in said[0] and "The assignment in Canvas: “Start”." in said[2]
    assert grades.scores == {1: lab.points, 2: lab.points, 3: None} and len(grades.comments) == 2
    assert "Entered in Canvas and read back: 2. Feedback pages sent: 2." in said[-1]
    with Gradebook.open(lab.course) as gradebook:
        assert gradebook.people().keys() == {"s1", "s2", "s3"} and gradebook.deadline(lab)
        assert [(each.student, str(each)) for each in gradebook.statuses(START)] == [("s3", "excused")]


def test_the_guide_quotes_what_is_said():
    table = (ROOT / "docs" / "canvas.md").read_text("utf-8").split("## What it may say")[1]
    code = "".join(
        (ROOT / "grader" / name).read_text("utf-8")
        for name in ("people/canvas.py", "people/server.py", "show/to_canvas.py")
    )
    quoted = [
        part
        for row in re.findall(r"^\| (\*.+?) \|", table, re.MULTILINE)
        for part in re.findall(r"\*(.+?)\*", row)
    ]
    assert len(quoted) > 12
    for part in quoted:
        words = re.sub(r"\d+", "N", part).removesuffix(" N")
        known = re.sub(r"\{[^{}]*\}", "N", code)
        assert all(each.strip(" ,") in known for each in words.split("…")), part
