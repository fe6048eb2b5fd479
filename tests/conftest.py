"""Fixtures that all tests share. No test touches the home folder or the course's own grading folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

from grader.course import Course
from grader.lab import Lab

ROOT = Path(__file__).parents[1]
LABS = Course(ROOT).labs()


@pytest.fixture(autouse=True)
def own_progress(tmp_path_factory, monkeypatch) -> Path:
    """Progress of a test goes to a file of its own."""
    path = tmp_path_factory.mktemp("progress") / "progress.json"
    monkeypatch.setenv("TRANSFORMER_LABS_PROGRESS", str(path))
    return path


@pytest.fixture(scope="session")
def course() -> Course:
    return Course(ROOT)


@pytest.fixture(scope="session")
def labs(course) -> dict[str, Lab]:
    return {name: Lab.load(course, name) for name in LABS}
