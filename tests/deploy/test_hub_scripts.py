"""The hub's scripts, as far as they can be tried without a hub: what setup.sh refuses, and the backup."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import signal
import sqlite3
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from project import ROOT

DEPLOY = ROOT / "deploy/jupyterhub"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, as the script does")
LISTS = {"learners": "hubtest-a-learner", "instructors": "hubtest-an-instructor"}


def snapshot(*folders: Path) -> dict[Path, tuple[int, int, int]]:
    """Mode, owner and time of change of everything in these folders."""
    paths = (path for folder in folders for path in (folder, *folder.rglob("*")))
    return {path: (path.stat().st_mode, path.stat().st_uid, path.stat().st_ctime_ns) for path in paths}


@pytest.fixture
def project(tmp_path) -> Path:
    """What setup.sh takes for a course's project, in a folder that all accounts can pass through."""
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(0o711)
    root = tmp_path / "course"
    (root / "solutions").mkdir(parents=True)
    (root / "nbgrader_config.py").touch()
    return root


def refused(project: Path, *options: str, **lists: str) -> str:
    """Why setup.sh refuses these options and lists. It must have changed nothing."""
    lists = LISTS | lists
    folder = project.parent
    (folder / "learners.txt").write_text(f"{lists['learners']}\n")
    command = [DEPLOY / "setup.sh", "--settings-only", "--course", project]
    command += ["--instructors", lists["instructors"], "--learners", folder / "learners.txt"]
    command += ["--prefix", folder / "prefix", "--exchange", folder / "exchange", *options]
    homes = {Path(each.pw_dir) for each in pwd.getpwall() if Path(each.pw_dir).is_dir()}
    before = Path("/etc/passwd").read_bytes(), snapshot(folder), {home: home.stat().st_mode for home in homes}
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    after = Path("/etc/passwd").read_bytes(), snapshot(folder), {home: home.stat().st_mode for home in homes}
    assert before == after
    return done.stderr


@as_root
@pytest.mark.parametrize("which", LISTS)
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("root", "is an account of the system itself"),
        ("bin", "is an account of the system itself"),
        ("nobody", "is an account of the system itself"),
        ("grader-nlp", "begins with grader-"),
        ("Anna", "cannot be a login name"),
        ("-r", "cannot be a login name"),
    ],
)
def test_a_name_that_is_no_person_s_is_refused_before_anything_changes(project, name, why, which):
    said = refused(project, **{which: name})
    assert f"'{name}' (" in said and why in said


@as_root
@pytest.mark.parametrize(
    "address",
    [
        "http://hub.example.org",
        "hub.example.org",
        "https://hub.example.org/x",
        "https://Hub.example.org",
        "https://a b",
    ],
)
def test_an_address_that_cannot_have_subdomains_is_refused_before_anything_changes(project, address):
    assert f"the address '{address}' cannot have subdomains" in refused(project, "--subdomains", address)


@as_root
def test_an_account_whose_home_is_another_s_is_refused_before_anything_changes(project):
    name = f"hubtest-{secrets.token_hex(3)}"
    subprocess.run(["useradd", "--no-create-home", "--home-dir", project, name], check=True)
    try:
        assert f"'{name}' (" in (said := refused(project, learners=name)) and "no home of its own" in said
    finally:
        subprocess.run(["userdel", name], check=True, capture_output=True)


@pytest.fixture
def graded(tmp_path) -> Path:
    """A project in whose gradebook are a few thousand rows."""
    root = tmp_path / "course"
    (root / "grading/submitted/anna").mkdir(parents=True)
    (root / "grading/seeds.json").write_text('{"00_start_here": 4711}')
    (root / "grading/submitted/anna/lab.ipynb").write_bytes(os.urandom(20_000_000))
    (root / "grading/gradebook.json").write_text("what it was")
    (root / "grading/backups").mkdir()
    for name in ("2026-11-26_14-30-00-000000.db", "replaced-2026-11-26_14-30-00-000000.db"):
        (root / "grading/backups" / name).write_text("a copy")
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").symlink_to(sys.executable)
    with contextlib.closing(sqlite3.connect(root / "grading/gradebook.db")) as book, book:
        book.execute("CREATE TABLE points (first INTEGER, second INTEGER)")
        book.executemany("INSERT INTO points VALUES (?, ?)", ((number, -number) for number in range(5000)))
    return root


def backed_up(course: Path) -> Path:
    """The archive that backup.sh writes, and nothing else."""
    folder = course.parent / "backups"
    done = subprocess.run([DEPLOY / "backup.sh", course, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (archive,) = folder.iterdir()
    return archive


def restored(archive: Path, root: Path) -> dict[tuple[int, int], int]:
    """What an archive's gradebook holds, which must be whole, once the archive is unpacked in ``root``."""
    root.mkdir()
    with tarfile.open(archive) as files:
        files.extractall(root, filter="data")
    assert sorted(path.name for path in (root / "grading").glob("gradebook*")) == [
        "gradebook.db",
        "gradebook.json",
    ]
    assert [path.name[:8] for path in (root / "grading/backups").iterdir()] == ["replaced"]
    with contextlib.closing(sqlite3.connect(root / "grading/gradebook.db")) as book:
        assert book.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return dict(book.execute("SELECT first, second FROM points").fetchall())


GRADING = """
import sqlite3
import sys

book = sqlite3.connect(sys.argv[1], timeout=60)
for number in range(5000, 10**9):
    with book:  # a pair is written in two steps, so that half of one is seen
        book.execute("INSERT INTO points VALUES (?, 0)", (number,))
        book.execute("UPDATE points SET second = ? WHERE first = ?", (-number, number))
    print(number, flush=True)
"""


@pytest.fixture
def somebody_grades(graded) -> Iterator[None]:
    """Meanwhile the gradebook, a submission's file and the list of files change all the time."""
    stop = threading.Event()

    def change_files() -> None:
        number = 0
        with (graded / "grading/submitted/anna/lab.ipynb").open("ab") as file:
            while not stop.wait(0.001):
                file.write(b"x")
                file.flush()
                number += 1
                (graded / f"grading/submitted/{number}").touch()
                (graded / f"grading/submitted/{number - 50}").unlink(missing_ok=True)

    files = threading.Thread(target=change_files)
    command = [sys.executable, "-c", GRADING, graded / "grading/gradebook.db"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as grading:
        files.start()
        assert grading.stdout.readline() == "5000\n"
        threading.Thread(target=grading.stdout.read, daemon=True).start()  # the pipe must not fill
        yield
        stop.set()
        files.join()
        assert grading.poll() is None, "grading has ended before the backup"
        grading.kill()


def test_a_backup_while_somebody_grades_is_whole(graded, somebody_grades, tmp_path):
    points = restored(backed_up(graded), tmp_path / "again")
    assert len(points) > 5000 and all(second == -first for first, second in points.items())
    assert list(points) == list(range(len(points)))
    assert (tmp_path / "again/grading/seeds.json").read_text() == '{"00_start_here": 4711}'
    copied = (tmp_path / "again/grading/submitted/anna/lab.ipynb").read_bytes()[:20_000_000]
    assert copied == (graded / "grading/submitted/anna/lab.ipynb").read_bytes()[:20_000_000]


KILLED = """
import os
import signal
import sqlite3
import sys

book = sqlite3.connect(sys.argv[1])
book.execute("PRAGMA cache_size = 1")  # so that it writes before the end of the transaction
book.execute("UPDATE points SET second = 0")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_backup_undoes_what_a_killed_program_has_half_written(graded, tmp_path):
    book = graded / "grading/gradebook.db"
    whole = book.read_bytes()
    assert subprocess.run([sys.executable, "-c", KILLED, book]).returncode == -signal.SIGKILL
    assert book.read_bytes() != whole and book.with_name("gradebook.db-journal").exists()
    points = restored(backed_up(graded), tmp_path / "again")
    assert points == {number: -number for number in range(5000)}


def test_a_backup_for_which_there_is_no_room_leaves_nothing_behind(graded, tmp_path):
    command = [
        "bash",
        "-c",
        'ulimit -f 5000 && exec "$@"',
        "",
        DEPLOY / "backup.sh",
        graded,
        tmp_path / "backups",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "Stopped: " in done.stderr
    assert list((tmp_path / "backups").iterdir()) == []


def test_a_damaged_gradebook_is_said_and_not_kept_as_a_backup(graded, tmp_path):
    with (graded / "grading/gradebook.db").open("r+b") as book:
        book.seek(8192)
        book.write(b"\xff" * 8192)
    done = subprocess.run(
        [DEPLOY / "backup.sh", graded, tmp_path / "backups"], capture_output=True, text=True
    )
    assert done.returncode == 1 and "cannot be backed up" in done.stderr
    assert list((tmp_path / "backups").iterdir()) == []
