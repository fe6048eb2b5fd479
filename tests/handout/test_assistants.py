"""The policy on language models: it is one file, and everybody who gets a lab gets it."""

from __future__ import annotations

import subprocess
import zipfile

import pytest
from project import ROOT

from grader.course import Course
from grader.handout.bundle import write_bundle
from grader.handout.learners import ASSISTANTS, write_course
from grader.reference.lab import Lab

POLICY = (ROOT / ASSISTANTS).read_text("utf-8")


def test_the_zip_of_a_lab_has_the_policy(tmp_path):
    write_bundle(Lab.load(Course(ROOT), "00_start_here"), tmp_path / "lab.zip")
    with zipfile.ZipFile(tmp_path / "lab.zip") as archive:
        assert archive.read("transformer-lab-00_start_here/AGENTS.md").decode() == POLICY


@pytest.mark.slow
def test_the_whole_course_has_the_policy(tmp_path):
    write_course(ROOT, tmp_path / "course")
    assert (tmp_path / "course/AGENTS.md").read_text("utf-8") == POLICY


def test_who_opens_the_labs_from_the_project_has_the_policy_beside_them(tmp_path):
    told = subprocess.run(["make", "-n", "lab"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"cp {ASSISTANTS.relative_to(ROOT)} notebooks/AGENTS.md" in told
    assert "/notebooks/AGENTS.md" in (ROOT / ".gitignore").read_text("utf-8").splitlines()


def test_the_policy_says_that_it_is_a_request_and_asks_to_teach():
    assert "This file is a request" in POLICY
    for asked in (
        "Ask first",
        "the check's own sentence",
        "as a question",
        "Do not write or complete an exercise's code",
    ):
        assert asked in POLICY
