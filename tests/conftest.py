"""Fixtures that all tests share. No test touches the home folder or the course's own grading folder."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

from absl import logging as absl_logging
from hypothesis import HealthCheck, settings
from project import LABS, ROOT, turn_of

from course_utils import plots
from grader.author import training
from grader.course import Course
from grader.reference.lab import Lab

# On a busy machine an example takes long to make and to run, and nothing is wrong.
settings.register_profile("course", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("course")

# TensorFlow's logging closes, when logging is set up anew, what was stderr when it was imported: pytest's, here.
absl_logging.get_absl_handler().python_handler.setStream(sys.__stderr__)


@pytest.fixture(autouse=True)
def own_progress(tmp_path_factory, monkeypatch) -> Path:
    """Progress of a test goes to a file of its own."""
    path = tmp_path_factory.mktemp("progress") / "progress.json"
    monkeypatch.setenv("TRANSFORMER_LABS_PROGRESS", str(path))
    return path


@pytest.fixture(scope="session", autouse=True)
def nbgrader_asks_alembic_once() -> Iterator[None]:
    """For each new gradebook nbgrader starts a process that takes seconds and always says the same."""
    import nbgrader.api  # after the grader, which keeps what it imports small

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nbgrader.api, "get_alembic_version", cache(nbgrader.api.get_alembic_version))
        yield


@pytest.fixture(autouse=True)
def nothing_ends_idle_processes_later() -> Iterator[None]:
    """nbgrader's step ends preloaded processes when it has had no work for a while; that would be in the middle of another test."""
    yield
    if steps := sys.modules.get("grader.plugins.steps"):
        steps._idle.begin()


@pytest.fixture(scope="session")
def course() -> Course:
    return Course(ROOT)


@pytest.fixture(scope="session")
def labs(course) -> dict[str, Lab]:
    return {name: Lab.load(course, name) for name in LABS}


@pytest.fixture(params=range(3))
def rng(request) -> np.random.Generator:
    return np.random.default_rng(request.param)


@pytest.fixture
def published(monkeypatch) -> list[dict]:
    """What figures publish, by MIME type."""
    bundles: list[dict] = []
    monkeypatch.setattr(plots, "publish", bundles.append)
    return bundles


@pytest.fixture
def keras() -> ModuleType:
    """Keras on TensorFlow, which takes seconds to import."""
    import keras

    assert keras.backend.backend() == "tensorflow"
    return keras


@pytest.fixture(scope="session")
def its_turn(request) -> Callable[[int, int], None]:
    """Skips the rest of a test that takes turns with others from day to day, unless it is its day: told its place, how many there are, and
    for how many days each has its turn.
    """

    def unless(place: int, count: int, days: int = 1) -> None:
        if not request.config.getoption("--every-lab") and place != turn_of(count, days):
            pytest.skip(
                "it takes turns from day to day, and it is another's day; --every-lab runs everything"
            )

    return unless


# ---------------------------------------------------------------------------------- what runs when

_LONGEST = (
    "test_all_builds.py",
    "test_jupyterhub.py",
    "test_browser.py",
    "test_grading_end_to_end.py",
    "test_attacks.py",
    "test_portfolio.py",
    "test_faults.py",
    "test_notebooks.py",
    "test_resume.py",
    "test_site.py",
    "test_elsewhere.py",
    "test_mutate.py",
    "test_why_attention.py",
    "test_lite.py",
    "test_own_data.py",
    "test_sandbox.py",
    "test_live.py",
    "test_continue_here.py",
    "test_transformer_twins.py",
    "test_cluster.py",
    "test_transformer_tensorflow.py",
    "test_learners.py",
    "test_grades_stay.py",
    "test_language_model.py",
    "test_follow_through.py",
    "test_ready_made.py",
    "test_promises.py",
    "test_question_answering.py",
)
"""Files that take minutes, the longest first. A process runs whole files, so one that begins late would leave the others waiting."""

# ---------------------------------------------------------------------------------- how long labs run

_measured = pytest.StashKey[dict[str, float]]()


def pytest_addoption(parser):
    parser.addoption(
        "--write-timings",
        action="store_true",
        help="write down how long labs ran, and what their trained networks scored",
    )
    parser.addoption("--all", action="store_true", help="the full proof: slow tests, too")
    parser.addoption(
        "--every-lab",
        action="store_true",
        help="what takes turns from day to day, all of it: long trainings, notebooks of other correct solutions, classes on a busy machine",
    )
    parser.addoption(
        "--images",
        action="store_true",
        help="build and run the container images: a quarter of an hour; needs root, buildah, podman, runc and debootstrap",
    )


def pytest_ignore_collect(collection_path: Path, config) -> bool | None:
    """Where only tests that run alone are asked for, most files need not be read."""
    if config.option.markexpr == "alone" and collection_path.match("test_*.py"):
        return "mark.alone" not in collection_path.read_text("utf-8") or None
    return None


def pytest_collection_modifyitems(config, items):
    places = {name: place for place, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))
    if config.getoption("--all"):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if not item.get_closest_marker("slow")]


@pytest.fixture
def trained(request, labs) -> Callable[[str, dict[str, float]], None]:
    """Told what a lab's solved notebook printed of what it promises."""

    def keep(name: str, scores: dict[str, float]) -> None:
        if scores and request.config.getoption("--write-timings"):
            training.keep_record(labs[name], scores)

    return keep


@pytest.fixture
def timings(request) -> Callable[[str, float], None]:
    """Told how many seconds a lab's solved notebook took."""
    measured = request.config.stash.setdefault(_measured, {})
    return measured.__setitem__


def pytest_terminal_summary(terminalreporter, config):
    terminalreporter.section("what the time went to, in seconds")
    reports = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport)
    ]
    spent, tests = Counter(), Counter()
    for report in reports:
        spent[report.nodeid.partition("::")[0]] += report.duration
        tests[report.nodeid] += report.duration
    shown = [(name, seconds) for name, seconds in spent.most_common() if seconds >= 10]
    for name, seconds in shown:
        terminalreporter.line(f"{seconds:6.0f}  {name}")
    rest = spent.total() - sum(seconds for _, seconds in shown)
    terminalreporter.line(f"{rest:6.0f}  {len(spent) - len(shown)} other files")
    terminalreporter.section("the tests that took longest, in seconds")
    for name, seconds in tests.most_common(60):
        if seconds >= 10:
            terminalreporter.line(f"{seconds:6.0f}  {name.removeprefix('tests/')}")
    measured = config.stash.get(_measured, {})
    if not measured:
        return
    terminalreporter.section("seconds of each solved notebook from end to end")
    for name, seconds in measured.items():
        terminalreporter.line(
            f"{name}: {seconds:.0f} here, {Lab.load(Course(ROOT), name).seconds} on its first page"
        )
    if config.getoption("--write-timings"):
        for name, seconds in measured.items():
            Lab.load(Course(ROOT), name).keep_seconds(max(1, round(seconds)))
