"""Submitting in such a way that other learners cannot read it, as two users of this machine that nobody has."""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from project import ROOT
from traitlets.config import Config

sys.path.insert(0, str(ROOT / "deploy/jupyterhub/learner"))
from closed_exchange import Submit

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it acts as other users")
LEARNER, OTHER, GRADERS = 54_321, 54_322, 54_323


def as_user(number: int, do: Callable[[], object]) -> str:
    """Does something as a user with this number and a group of the same number; returns the error's name, if any."""

    def child(end) -> None:
        os.setgroups([])
        os.setgid(number)
        os.setuid(number)
        os.umask(0o022)
        try:
            do()
        except Exception as error:
            end.send(f"{type(error).__name__}: {error}")
        else:
            end.send("")

    ours, theirs = multiprocessing.get_context("fork").Pipe()
    process = multiprocessing.get_context("fork").Process(target=child, args=(theirs,))
    process.start()
    assert ours.poll(60)
    said = ours.recv()
    process.join()
    return said


@pytest.fixture
def exchange() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own is closed to others
        root = Path(folder)
        root.chmod(0o1777)
        inbound = root / "nlp" / "inbound"
        inbound.mkdir(parents=True)
        os.chown(inbound, GRADERS, GRADERS)
        inbound.chmod(0o3733)
        root.joinpath("nlp", "outbound", "lab").mkdir(parents=True)
        work = root / "home" / "lab"
        (work / "figures" / "more").mkdir(parents=True)
        for path in ("lab.ipynb", "figures/one.png", "figures/more/two.png"):
            (work / path).write_text(path)
        for path in (work.parent, *work.parent.rglob("*")):
            os.chown(path, LEARNER, LEARNER)
            path.chmod(0o777 if path.is_dir() else 0o666)
        yield root


def submit(exchange: Path) -> None:
    os.chdir(exchange / "home")
    config = Config()
    config.CourseDirectory.course_id, config.CourseDirectory.assignment_id = "nlp", "lab"
    config.CourseDirectory.student_id = "anna"
    config.Exchange.root = str(exchange)
    config.Exchange.assignment_dir = str(exchange / "home")
    config.Exchange.cache = str(exchange / "home" / "cache")
    Submit(
        coursedir=CourseDirectory(config=config), authenticator=Authenticator(config=config), config=config
    ).start()


def test_only_the_learner_and_the_graders_can_read_or_change_what_was_handed_in(exchange):
    assert as_user(LEARNER, lambda: submit(exchange)) == ""
    inbound = exchange / "nlp" / "inbound"
    (submission,) = inbound.iterdir()
    everything = [submission, *sorted(submission.rglob("*"))]
    names = [str(path.relative_to(submission)) for path in everything[1:]]
    assert names == [
        *("figures", "figures/more", "figures/more/two.png", "figures/one.png"),
        *("lab.ipynb", "submission_secret.txt", "timestamp.txt"),
    ]
    for path in everything:
        status = path.stat()
        assert (status.st_uid, status.st_gid) == (LEARNER, GRADERS), path
        assert status.st_mode & 0o777 == (0o770 if path.is_dir() else 0o660), path
    assert (submission / "figures/more/two.png").read_text() == "figures/more/two.png"
    (noted,) = (exchange / "home/cache/nlp").iterdir()
    assert (noted / "submission_secret.txt").read_text() == (submission / "submission_secret.txt").read_text()

    notebook = submission / "lab.ipynb"
    attacks: list[Callable[[], object]] = [
        notebook.read_text,
        lambda: notebook.write_text("x"),
        lambda: os.listdir(submission),
        lambda: os.listdir(inbound),
        lambda: (submission / "new").touch(),
        notebook.unlink,
        lambda: submission.rename(inbound / "x"),
        lambda: inbound.rename(exchange / "x"),
    ]
    for attack in attacks:
        assert as_user(OTHER, attack).startswith("PermissionError")
    assert as_user(GRADERS, notebook.read_text) == ""
    assert as_user(GRADERS, (submission / "figures/more/two.png").unlink) == ""


def test_the_graders_group_cannot_be_borrowed_from_their_folder(exchange):
    """A program in there that runs with its file's group could read everybody's submissions."""
    inbound = exchange / "nlp" / "inbound"

    def plant() -> None:
        os.umask(0)
        for name, mode in (("made", 0o2755), ("changed", 0o644), ("in-steps", 0o2644)):
            os.close(os.open(inbound / name, os.O_CREAT | os.O_WRONLY, mode))
            if name != "made":
                os.chmod(inbound / name, 0o2755)

    assert as_user(OTHER, plant) == ""
    assert len(list(inbound.iterdir())) == 3
    for path in inbound.iterdir():
        assert path.stat().st_gid != GRADERS or not path.stat().st_mode & 0o2000, path


def test_what_nobody_could_grade_is_refused_and_not_noted_as_handed_in(exchange):
    inbound = exchange / "nlp" / "inbound"
    inbound.chmod(0o1733)
    assert "setup.sh fixes it" in as_user(LEARNER, lambda: submit(exchange))
    assert not list(inbound.iterdir()) and not (exchange / "home/cache").exists()


def test_a_submission_that_breaks_off_leaves_nothing_behind(exchange, monkeypatch):
    copyfile = shutil.copyfile

    def full(source, target, **settings):
        if inbound in Path(target).parents and Path(target).name == "lab.ipynb":
            raise OSError(errno.ENOSPC, "No space left on device")
        return copyfile(source, target, **settings)

    inbound = exchange / "nlp" / "inbound"
    monkeypatch.setattr(shutil, "copyfile", full)
    assert "No space left" in as_user(LEARNER, lambda: submit(exchange))
    assert not list(inbound.iterdir())
    assert not (exchange / "home/cache").exists()
