"""A gradebook that is damaged, emptied, exchanged or aged is noticed, and nothing that was in it is lost."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from classroom import (
    START,
    KernelFree,
    book_of,
    hand_in_class,
    nbgrader,
    new_course,
    with_gradebook,
    without_gradebook,
)
from typer.testing import CliRunner

from grader.book import backups as gradebook_backups
from grader.book.backups import NEWEST, Backup, backups, folder_of, restore, surplus
from grader.book.gradebook import Gradebook
from grader.book.state import marker_of
from grader.by_hand import running
from grader.by_hand.week import Step, returned
from grader.cli import app
from grader.course import Course, make_private
from grader.errors import GraderError
from grader.grade import autograde as grading
from grader.people.roster import Person
from grader.receive import refused
from grader.reference.lab import Lab

SIZE = 3


@pytest.fixture
def course(tmp_path) -> Course:
    """A course in which somebody is on the roster, and has more time."""
    course = made(tmp_path / "course")
    enter(course, "ada")
    return course


def made(root: Path) -> Course:
    root.mkdir()
    return with_gradebook(new_course(root))


def enter(course: Course, student: str) -> None:
    with Gradebook.open(course) as gradebook:
        gradebook.enter_people([Person(student)])


def on_roster(course: Course) -> list[str]:
    with Gradebook.open(course) as gradebook:
        return list(gradebook.roster())


def command(course: Course, monkeypatch, *arguments: str):
    monkeypatch.chdir(course.root)
    return CliRunner().invoke(app, list(arguments))


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def halved(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def shortened(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 4096)


def zeroed(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def removed(file: Path) -> None:
    file.unlink()


COMMANDS = (
    ("autograde", START, "--sandbox", "none"),
    ("roster",),
    ("export",),
    ("requests",),
    ("collect", START, "work"),
    ("restore",),
    ("doctor", "--course"),
)


def torn(file: Path) -> None:
    """Pages in its middle are lost, which opening it does not tell."""
    with file.open("r+b") as opened:
        opened.seek(40 * 4096)
        opened.write(bytes(10 * 4096))


@pytest.mark.parametrize("damaged", [emptied, halved, shortened, zeroed, removed, torn])
def test_a_damaged_gradebook_stops_every_command_with_what_to_do(course, monkeypatch, damaged):
    hand_in_class(Lab.load(course, START), 1)
    (course.submitted / "s00" / START / "start_here.ipynb").rename(course.root / "start_here_s00.ipynb")
    (course.root / "work").mkdir()
    (course.root / "start_here_s00.ipynb").rename(course.root / "work" / "s00_start_here.ipynb")
    damaged(course.gradebook)
    for arguments in COMMANDS:
        told = command(course, monkeypatch, *arguments)
        said = " ".join(told.output.split())
        assert told.exit_code == 1 and isinstance(told.exception, SystemExit), (arguments, told.exception)
        assert str(course.gradebook) in said and "`grader restore NAME`" in said, (arguments, said)
        assert "Traceback" not in told.output
    newest = backups(course)[0]
    assert newest.name in command(course, monkeypatch, "restore").output
    put_back = command(course, monkeypatch, "restore", newest.name)
    assert put_back.exit_code == 0 and "1 name on the roster" in put_back.output, put_back.output
    assert on_roster(course) == ["ada"]


def test_an_empty_file_is_told_even_where_nothing_is_known_of_an_earlier_one(course):
    marker_of(course).unlink()
    emptied(course.gradebook)
    with pytest.raises(GraderError, match=r"gradebook\.db is empty"):
        on_roster(course)


def test_an_older_one_a_copy_that_went_its_own_way_and_another_course_s_are_told_apart(course, tmp_path):
    older = course.gradebook.read_bytes()
    enter(course, "ben")
    newer = course.gradebook.read_bytes()
    course.gradebook.write_bytes(older)
    with pytest.raises(
        GraderError, match=r"is older than .* it has .*, 1 name on the roster.* it had .*, 2 names"
    ):
        on_roster(course)
    twin = Course(shutil.copytree(course.root, tmp_path / "twin"))
    marker_of(twin).unlink()
    for student in ("carl", "dora", "emil"):
        enter(twin, student)
    course.gradebook.write_bytes(twin.gradebook.read_bytes())
    with pytest.raises(GraderError, match="a copy that went its own way"):
        on_roster(course)
    (tmp_path / "other").mkdir()
    other = new_course(tmp_path / "other")
    enter(other, "zoe")
    course.gradebook.write_bytes(other.gradebook.read_bytes())
    with pytest.raises(GraderError, match="is another course's"):
        on_roster(course)
    course.gradebook.write_bytes(newer)
    assert on_roster(course) == ["ada", "ben"]


def test_what_nbgrader_and_database_tools_do_is_never_taken_for_another_gradebook(course):
    with book_of(course) as book:  # as formgrader does
        book.update_or_create_student("ada", first_name="Ada")
        book.update_or_create_assignment(START, duedate="2030-01-01")
    assert nbgrader(course, "db", "student", "add", "ben").returncode == 0
    with closing(sqlite3.connect(course.gradebook)) as db:
        db.execute("VACUUM")
    assert on_roster(course) == ["ada"]
    with (
        closing(sqlite3.connect(course.gradebook)) as db,
        closing(sqlite3.connect(course.root / "new")) as new,
    ):
        new.executescript("\n".join(db.iterdump()))
    (course.root / "new").replace(course.gradebook)
    assert on_roster(course) == ["ada"]
    os.utime(course.gradebook, (0, 0))
    moved = Course(course.root.rename(course.root.with_name("moved")))
    enter(moved, "carl")
    assert on_roster(moved) == ["ada", "carl"]


def test_points_that_formgrader_gave_before_the_last_command_count_as_known(course, tmp_path):
    lab = Lab.load(course, START)
    hand_in_class(lab, 1)
    list(grading.autograde(lab, grading.submissions(lab), KernelFree(tmp_path / "runs"), 5))
    older = course.gradebook.read_bytes()
    with book_of(course) as book:
        book.find_submission(START, "s00").notebooks[0].grades[0].manual_score = 1
        book.db.commit()
    on_roster(course)  # only reads, and finds it changed
    with_points = course.gradebook.read_bytes()
    course.gradebook.write_bytes(older)
    with pytest.raises(GraderError, match="0 marks by hand.* it had .*, 1 mark by hand"):
        on_roster(course)
    course.gradebook.write_bytes(with_points)
    on_roster(course)


def test_a_gradebook_that_is_made_is_told_and_has_one_backup(tmp_path, capsys):
    course = Course(tmp_path)
    with Gradebook.open(course):
        pass
    assert f"a gradebook was made: {course.gradebook}" in capsys.readouterr().err
    assert len(backups(course)) == 1 and backups(course)[0].contents()
    with Gradebook.open(course):
        pass
    assert capsys.readouterr().err == ""


def test_a_command_that_changes_nothing_writes_nothing(course):
    files = (course.gradebook, marker_of(course), folder_of(course))
    before = [file.stat().st_mtime_ns for file in files]
    assert on_roster(course) == ["ada"]
    assert [file.stat().st_mtime_ns for file in files] == before


def test_a_new_gradebook_is_begun_when_both_files_are_gone_and_the_backups_of_the_old_one_are_named(
    course, capsys
):
    newest = backups(course)[0]
    assert capsys.readouterr().err == ""
    without_gradebook(course)
    assert on_roster(course) == []
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"grader restore {newest.name}" in said
    assert on_roster(course) == [] and capsys.readouterr().err == ""


def folder(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.mkdir()


def pipe(file: Path) -> None:
    file.unlink(missing_ok=True)
    os.mkfifo(file)


def text(content: str) -> Callable[[Path], None]:
    return lambda file: (file.write_text(content), None)[1]


NOTED = {"submissions": 0, "by_hand": 0, "requests": 0, "on_roster": 1, "changed": "", "first": "a", "last": "b", "logged": 1}  # fmt: skip
PLANNED = {"old": "a", "new": "b", "labs": [], "dropped": {}, "removed": [], "moves": [], "both": []}
NO_STATE = [folder, pipe, *map(text, ("", "\0", "[1]", '{"a": []}', "[" * 100_000))]
OF_THEIR_OWN = {
    "gradebook.json": [
        text(json.dumps({"file": [1, 2], "contents": {**NOTED, **wrong}}))
        for wrong in ({"submissions": "many"}, {"changed": 7}, {"last": []}, {"logged": None}, {"last": "\ud800"})
    ],
    "merge.json": [
        text(json.dumps({**PLANNED, **wrong}))
        for wrong in ({"old": 5}, {"labs": "01"}, {"dropped": []}, {"moves": [["a"]]}, {"moves": [["\0", "b"]]})
    ],
    "seeds.json": [text(json.dumps({START: "5"})), text(json.dumps({START: True}))],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "wrong"), [(name, wrong) for name, own in OF_THEIR_OWN.items() for wrong in [*NO_STATE, *own]]
)
def test_whatever_is_in_the_place_of_a_file_of_state_is_told_in_a_sentence(course, monkeypatch, name, wrong):
    hand_in_class(Lab.load(course, START), 1)
    place = course.grading / name
    wrong(place)
    if name == "gradebook.json":  # whether it looks like the one that was noted is asked first
        os.utime(course.gradebook)
    for arguments in [("autograde", START, "--sandbox", "none")] if name == "seeds.json" else COMMANDS[1:3]:
        told = command(course, monkeypatch, *arguments)
        said = " ".join(told.output.split())
        assert told.exit_code == 1 and isinstance(told.exception, SystemExit), (arguments, told.exception)
        assert str(place) in said and ("remove" in said or "delete" in said or "Make the file" in said), said


@pytest.mark.parametrize("wrong", NO_STATE)
def test_what_only_saves_time_or_tells_is_left_out_if_it_is_damaged(course, wrong):
    lab = Lab.load(course, START)
    refused.remember(lab, [("a", "b")])
    make_private(course.grading / "week")
    running.write(course, running.Run(START, Step.GRADE, "", "now", outcome="done"))
    assert refused.refused(lab) == [("a", "b")] and running.last(course).lab == START
    wrong(course.grading / "refused" / f"{START}.json")
    wrong(course.grading / "week" / "run.json")
    wrong(course.grading / "week" / f"{START}-returned.txt")
    pipe(course.grading / "week" / "lock")
    assert refused.refused(lab) == [] and running.last(course) is None
    assert isinstance(returned(lab), str)


def test_any_gradebook_can_be_put_in_place_and_the_one_before_it_stays(course, monkeypatch, tmp_path):
    older = tmp_path / "from my own backup.db"
    shutil.copy(course.gradebook, older)
    enter(course, "ben")
    told = command(course, monkeypatch, "restore", str(older))
    assert told.exit_code == 0 and "What was there is kept" in told.output, told.output
    assert on_roster(course) == ["ada"]
    with Gradebook.open(course) as gradebook:
        last = gradebook.changes()[-1]
    assert (last.what, last.after) == ("gradebook", f"the backup {older.name}") and last.who != "unknown"
    (aside,) = (each for each in backups(course) if each.aside)
    assert aside.name in command(course, monkeypatch, "doctor", "--course").output
    restore(course, aside.name)
    assert on_roster(course) == ["ada", "ben"]
    shutil.copy(older, course.gradebook)  # by hand, and it is meant
    with pytest.raises(GraderError, match="is older"):
        on_roster(course)
    assert command(course, monkeypatch, "restore", "grading/gradebook.db").exit_code == 0
    assert on_roster(course) == ["ada"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("nothing", None, "no backup 'nothing'"),
        ("empty.db", b"", "is not a gradebook"),
        ("text.db", b"not a database" * 100, "text.db is not a gradebook. Nothing has changed."),
    ],
)
def test_what_is_no_gradebook_is_not_put_in_place(course, monkeypatch, name, content, words):
    if content is not None:
        (course.root / name).write_bytes(content)
    before = course.gradebook.read_bytes()
    told = command(course, monkeypatch, "restore", name)
    assert told.exit_code == 1 and words in told.output and "Traceback" not in told.output
    assert course.gradebook.read_bytes() == before and on_roster(course) == ["ada"]


def test_a_stop_while_a_gradebook_is_put_in_place_loses_nothing_and_is_told(course, monkeypatch):
    enter(course, "ben")
    name = backups(course)[0].name
    monkeypatch.setattr(gradebook_backups, "remember", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        restore(course, name)
    monkeypatch.undo()
    with pytest.raises(GraderError, match="is missing"):
        on_roster(course)
    restore(course, name)
    assert on_roster(course) == ["ada", "ben"]


def test_few_backups_are_kept_the_older_the_fewer(tmp_path):
    now = datetime(2027, 1, 1, tzinfo=UTC)
    made: list[Backup] = []
    for hour in range(24 * 120):  # a term with a change in every hour
        file = tmp_path / f"{hour}.db"
        file.write_bytes(b"x")
        when = now + timedelta(hours=hour)
        made.insert(0, Backup(file, when, aside=hour == 5))
        drop = {each.file for each in surplus(made, when)}
        made = [each for each in made if each.file not in drop]
    assert len(made) <= NEWEST + 20
    ages = [when - each.made for each in made]
    assert sum(age < timedelta(hours=NEWEST) for age in ages) == NEWEST
    assert max(age for age, each in zip(ages, made, strict=True) if not each.aside) > timedelta(days=30)
    assert any(each.aside for each in made)  # what was replaced is never removed


def test_backups_are_bounded_in_size_and_a_large_gradebook_is_not_copied_all_the_time(course, monkeypatch):
    size = course.gradebook.stat().st_size
    monkeypatch.setattr(gradebook_backups, "MOST_BYTES", 4 * size)
    for number in range(8):
        enter(course, f"s{number}")
    assert 2 <= len(backups(course)) <= 4
    monkeypatch.setattr(gradebook_backups, "LARGE", 1000)
    before = backups(course)
    enter(course, "last")
    assert backups(course) == before


def test_a_disk_that_is_almost_full_gets_no_backup(course, monkeypatch):
    before = backups(course)
    monkeypatch.setattr(
        gradebook_backups.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 1000)
    )
    enter(course, "ben")
    assert backups(course) == before and on_roster(course) == ["ada", "ben"]


# ---------------------------------------------------------------------------------- 40 moments


@dataclass
class Moment:
    """What lies where the gradebook should be, from then on.

    Attributes:
        told: whether it must be told; otherwise the next command may also go on with everything.
        during: whether it may also happen while a command is at work. Who puts changes of SQLite's other way of writing beside a gradebook
            that is in use makes them a part of it.
    """

    name: str
    happens: Callable[[], None]
    told: bool = True
    during: bool = True


def journal_of(file: Path, folder: Path) -> bytes:
    """A journal that asks SQLite to undo a change of everything in this file."""
    copy = shutil.copy(file, folder / "changed.db")
    with closing(sqlite3.connect(copy, isolation_level=None)) as db:
        db.execute("PRAGMA cache_size = 1")
        db.execute("BEGIN")
        for table in ("transformer_labs_roster", "transformer_labs_state", "student"):
            key = next(row[1] for row in db.execute(f"PRAGMA table_info({table})"))
            db.execute(f"UPDATE {table} SET {key} = {key} || hex(zeroblob(3000))")
        found = Path(f"{copy}-journal").read_bytes()
        db.execute("ROLLBACK")
    assert len(found) > 4096
    return found


def wal_of(file: Path, folder: Path) -> bytes:
    """The changes that lie beside this file in SQLite's other way of writing."""
    copy = shutil.copy(file, folder / "ahead.db")
    with closing(sqlite3.connect(copy)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("DELETE FROM transformer_labs_roster")
        db.commit()
        return Path(f"{copy}-wal").read_bytes()


def content_of(course: Course) -> dict[str, list[tuple]]:
    """Everything that a gradebook says, but for the states it was in."""
    with closing(sqlite3.connect(course.gradebook)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        kept = [name for name in names if not name.startswith("sqlite_") and name != "transformer_labs_state"]
        return {name: sorted(db.execute(f"SELECT * FROM {name}").fetchall(), key=repr) for name in kept}


@pytest.mark.slow
def test_whatever_happens_to_the_file_at_40_moments_is_told_and_nothing_is_lost(tmp_path):
    """Between commands and in the middle of grading, which the same command finishes afterwards."""
    chance = random.Random(7)
    course = made(tmp_path / "course")
    lab = Lab.load(course, START)
    hand_in_class(lab, SIZE)
    runner = KernelFree(tmp_path / "runs")
    other = made(tmp_path / "other")
    enter(other, "zoe")
    book = course.gradebook
    journal, wal = (book.with_name(f"{book.name}-{ending}") for ending in ("journal", "wal"))
    earlier: list[bytes] = []
    journals: list[bytes] = []
    wals: list[bytes] = []
    moments = [
        Moment("emptied", lambda: emptied(book)),
        Moment("halved", lambda: halved(book)),
        Moment("shortened", lambda: shortened(book)),
        Moment("zeroed", lambda: zeroed(book)),
        Moment("removed", lambda: removed(book)),
        Moment("aged", lambda: book.write_bytes(chance.choice(earlier))),
        Moment("another course's", lambda: book.write_bytes(other.gradebook.read_bytes())),
        Moment("an older journal beside it", lambda: journal.write_bytes(chance.choice(journals[:-1]))),
        Moment("older changes beside it", lambda: wal.write_bytes(chance.choice(wals[:-1])), during=False),
        Moment("a journal that is none beside it", lambda: journal.write_bytes(b"\0" * 9000), told=False),
    ]
    enter(course, "ada")
    for number in range(40):
        earlier.append(book.read_bytes())
        journals.append(journal_of(book, tmp_path))
        wals.append(wal_of(book, tmp_path))
        moment = moments[number % len(moments)]
        during = moment.during and number // len(moments) % 2 == 1
        with Gradebook.open(course) as gradebook:
            gradebook.enter_people([Person(f"p{number}")])
            gradebook.register(lab)
            gradebook.extend(lab, "ada", timedelta(days=number + 1))
        with book_of(course) as formgrader:
            formgrader.update_or_create_assignment(START, duedate=f"2030-01-01 00:{number:02}")
        on_roster(course)  # the last command that everything went well in
        before = content_of(course)
        told = False
        try:
            if during:
                stream = grading.autograde(lab, grading.submissions(lab), runner, 5)
                next(stream)
                moment.happens()
                list(stream)
            else:
                moment.happens()
            on_roster(course)
        except GraderError as error:
            told = True
            assert str(book) in str(error) or "journal" in str(error) or "wal" in str(error), moment.name
        assert told or not moment.told, (number, moment.name)
        if told and not usable(course):
            restore(course, backups(course)[0].name)
        list(grading.autograde(lab, grading.submissions(lab), runner, 5))
        after = content_of(course)
        for table in ("transformer_labs_roster", "transformer_labs_extension", "assignment", "student"):
            assert set(before[table]) <= set(after[table]), (number, moment.name, table)
        assert len(after["transformer_labs_graded"]) == SIZE
        assert len(after["transformer_labs_log"]) >= len(before["transformer_labs_log"])


def usable(course: Course) -> bool:
    try:
        on_roster(course)
    except GraderError:
        return False
    return True
