"""A course with two labs, an exchange, and sources to collect from."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from classroom import with_gradebook
from project import ROOT

from grader.course import Course
from grader.files import SECRET, find_notebook
from grader.receive.collect import REFUSED, Collected
from grader.reference.lab import Lab

LAB, OTHER = "02_self_attention", "00_start_here"
FILE = "self_attention.ipynb"


def notebook(text: str = "x = 1") -> bytes:
    cell = {"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": None}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}).encode()


def course_with_two_labs(root: Path) -> Course:
    """Their sources only, and no gradebook."""
    for lab in (LAB, OTHER):
        shutil.copytree(ROOT / "solutions" / lab, root / "solutions" / lab)
    shutil.copyfile(ROOT / "nbgrader_config.py", root / "nbgrader_config.py")
    return Course(root)


def exchange_for(course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An exchange's folder of submissions, set up in the course's own configuration."""
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path / "config"))
    exchange = tmp_path / "exchange"
    folder = exchange / "transformer-labs" / "inbound"
    folder.mkdir(parents=True)
    for place in (exchange, folder):
        place.chmod(0o1777)
    with_gradebook(course)
    with (course.root / "nbgrader_config.py").open("a") as file:
        file.write(f"\nget_config().Exchange.root = {str(exchange)!r}\n")
    return folder


def submit(inbound: Path, student: str, stamp: str, text: str, secret: str = "") -> Path:
    folder = inbound / f"{student}+{LAB}+{stamp}+abc"
    folder.mkdir()
    (folder / FILE).write_bytes(notebook(text))
    (folder / "timestamp.txt").write_text(stamp)
    (folder / "diary.txt").write_text("private")
    if secret:
        (folder / SECRET).write_text(secret)
    return folder


def folder_of(lab: Lab, files: dict[str, bytes]) -> Path:
    source = lab.course.root.parent / "source"
    shutil.rmtree(source, ignore_errors=True)
    for name, data in files.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return source


def zip_of(lab: Lab, files: dict[str | zipfile.ZipInfo, bytes], name: str = "submissions.zip") -> Path:
    path = lab.course.root.parent / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in files.items():
            archive.writestr(member, data)
    return path


def taken(lab: Lab) -> dict[str, bytes]:
    """Student -> the notebook that grading will find."""
    found = {}
    for folder in lab.course.submitted.glob(f"*/{lab.name}"):
        path, _ = find_notebook(folder, lab.notebook_name)
        if path.exists():
            found[folder.parent.name] = path.read_bytes()
    return found


def outcomes(rows: Iterable[Collected]) -> dict[str, str]:
    return {row.student: row.outcome for row in rows}


def why(rows: list[Collected], student: str = "") -> str:
    (row,) = [row for row in rows if row.student == student]
    assert row.outcome == REFUSED
    return row.why
