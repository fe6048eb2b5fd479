"""A full disk is named in one sentence, whichever of the instructor's commands finds it."""

from __future__ import annotations

import errno
import os

import pytest
from classroom import START, new_course, with_gradebook
from typer.testing import CliRunner

from grader.cli import app


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return with_gradebook(new_course(tmp_path_factory.mktemp("course")))


@pytest.mark.parametrize(
    "arguments",
    [
        ["export", "--format", "csv", "--out", "grades.csv"],
        ["log", "--csv", "log.csv"],
        ["requests", "--csv", "requests.csv"],
        ["gradescope", START, "--out", "lab.zip"],
        ["publish", "learners"],
        ["new", "14_mine"],
    ],
    ids=" ".join,
)
def test_a_command_that_finds_the_disk_full_says_so(course, monkeypatch, arguments):
    """Everything that opens a file to write, or makes a folder, finds the disk full."""
    monkeypatch.chdir(course.root)
    original = os.open

    def full(path, flags, *more, **settings):
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return original(path, flags, *more, **settings)

    def no_folder(path, *more, **settings):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    def opened(file, mode="r", *more, _open=open, **settings):
        if set(mode) & set("wax+"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
        return _open(file, mode, *more, **settings)

    monkeypatch.setattr(os, "open", full)
    monkeypatch.setattr(os, "mkdir", no_folder)
    monkeypatch.setattr("io.open", opened)
    monkeypatch.setattr("builtins.open", opened)
    told = CliRunner().invoke(app, arguments)
    assert told.exit_code == 1, (told.output, told.exception)
    assert "No space left on device" in told.output and "Traceback" not in told.output
