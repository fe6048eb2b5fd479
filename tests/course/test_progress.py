"""Progress: what is kept of a learner's attempts, and the overview over all labs."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from project import ROOT

from course_utils import progress, yours
from course_utils.labs import LabInfo, all_labs
from course_utils.progress import LabProgress, as_html, as_text, tally
from course_utils.start_page import go_on


def progress_of(name: str, title: str, exercises: dict[str, dict]) -> LabProgress:
    return LabProgress(LabInfo(name, title, "Part", "things", (), 20, tuple(exercises)), exercises)


LABS = [
    progress_of("00_start", "Start", {"one": {"best": 1.0, "attempts": 1}}),
    progress_of("02_more", "More & more", {"two": {"best": 0.999, "attempts": 3}, "three": {}}),
]


def here() -> list[LabProgress]:
    return progress.progress_of(all_labs())


def test_an_attempt_keeps_the_best_score():
    progress.record("lab.exercise", 0.75)
    progress.record("lab.exercise", 0.25)
    entry = progress.load()["lab.exercise"]
    assert (entry["best"], entry["attempts"], entry["solved"]) == (0.75, 2, None)


def test_what_shows_progress_cannot_make_a_check_fail(monkeypatch):
    told = []
    monkeypatch.setitem(progress.watchers, "a drawing that fails", lambda: 1 / 0)
    monkeypatch.setitem(progress.watchers, "the next one", lambda: told.append(progress.best_scores()))
    progress.record("lab.exercise", 1.0)
    assert told == [{"lab.exercise": 1.0}]


def test_once_solved_further_runs_are_no_attempts_and_lose_nothing():
    for score in (0.5, 1.0, 0.0, 1.0):
        progress.record("lab.exercise", score)
    entry = progress.load()["lab.exercise"]
    assert (entry["best"], entry["attempts"]) == (1.0, 2) and entry["solved"]


# ---------------------------------------------------------------------------------- made elsewhere

TIMES = st.sampled_from(
    ["2026-01-01T10:00:00+00:00", "2026-01-02T10:00:00+00:00", "2026-01-03T10:00:00+00:00"]
)
ENTRIES = st.fixed_dictionaries(
    {"best": st.sampled_from([0.0, 0.5, 1.0]), "attempts": st.integers(0, 9), "solved": st.none() | TIMES},
    optional={"first": TIMES, "last": TIMES, "code": st.sampled_from("ab")},
)
FILES = st.dictionaries(st.sampled_from(["lab.one", "lab.two", "lab.three"]), ENTRIES)


@given(FILES, FILES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_progress_made_elsewhere_is_added_loses_nothing_and_is_added_once(
    own_progress, tmp_path, ours, theirs
):
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(json.dumps(theirs))
    own_progress.write_text(json.dumps(ours))
    new = {key for key, entry in theirs.items() if entry["solved"] and not ours.get(key, {}).get("solved")}
    assert progress.take_in(elsewhere) == (len(theirs), len(new))
    found = progress.load()
    assert found.keys() == ours.keys() | theirs.keys()
    for key, entry in found.items():
        both = [each[key] for each in (ours, theirs) if key in each]
        assert entry["best"] == max(each["best"] for each in both)
        assert entry["attempts"] == max(each["attempts"] for each in both)
        assert entry["solved"] == min((each["solved"] for each in both if each["solved"]), default=None)
    assert progress.take_in(elsewhere) == (len(theirs), 0) and progress.load() == found
    own_progress.write_text(json.dumps(theirs))
    elsewhere.write_text(json.dumps(ours))
    progress.take_in(elsewhere)
    same = {
        name: {key: entry.get(name) for key, entry in found.items()}
        for name in ("best", "solved", "first", "last")
    }
    assert same == {name: {key: entry.get(name) for key, entry in progress.load().items()} for name in same}


@pytest.mark.parametrize("content", [None, b"", b"[]", b"{", b'{"lab.one": {"best": 2}}', b"\xff"])
def test_what_is_no_progress_is_refused_in_one_sentence_and_changes_nothing(own_progress, tmp_path, content):
    progress.record("lab.one", 0.5)
    before, file = own_progress.read_bytes(), tmp_path / "progress.json"
    if content is not None:
        file.write_bytes(content)
    told = subprocess.run(
        [sys.executable, "-m", "course_utils", "progress", file], capture_output=True, text=True, cwd=ROOT
    )
    assert (
        (told.returncode, told.stdout) == (1, "")
        and told.stderr.count("\n") == 1
        and str(file) in told.stderr
    )
    assert own_progress.read_bytes() == before


def test_the_command_says_what_it_has_added(own_progress, tmp_path):
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(
        json.dumps({"lab.one": {"best": 1.0, "attempts": 1, "solved": "2026-01-01T10:00:00+00:00"}})
    )
    told = subprocess.run(
        [sys.executable, "-m", "course_utils", "progress", elsewhere],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert told.stdout == "Added. Exercises in the file: 1. Solved here for the first time: 1.\n"
    assert progress.best_scores() == {"lab.one": 1.0}


@pytest.mark.parametrize(
    "minutes, words",
    [
        (0, "less than a minute"),
        (1, "1 minute"),
        (89, "89 minutes"),
        (90, "2 hours"),
        (35 * 60, "35 hours"),
        (36 * 60, "2 days"),
    ],
)
def test_the_time_to_solve_is_from_the_first_attempt_to_the_one_that_solved_it(minutes, words):
    first = datetime(2026, 1, 1, tzinfo=UTC)
    solved, last = first + timedelta(minutes=minutes), first + timedelta(days=99)
    entry = {
        "attempts": 2,
        "best": 1,
        "first": first.isoformat(),
        "solved": solved.isoformat(),
        "last": last.isoformat(),
    }
    assert tally(entry) == f"Solved at attempt 2, {words} after the first."
    assert tally(entry | {"attempts": 1}) == "Solved at the first attempt."
    assert "some time" in tally(entry | {"first": None})


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"start_here.softmax": 3}', '{"start_here.softmax": {"best": "x"}}']
)
def test_a_damaged_file_is_an_empty_one(own_progress, text):
    own_progress.write_text(text)
    assert progress.load() == {} and here()[0].solved == 0


ENTRY = {"best": 0.5, "attempts": 2, "first": None, "last": None, "solved": None}
"""As the course writes it, but for the times."""

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*ENTRY, "x"]), inner, max_size=5),
    max_leaves=8,
)  # fmt: skip
nearly_entries = st.fixed_dictionaries({}, optional=dict.fromkeys(ENTRY, json_values))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=200),
        st.dictionaries(st.sampled_from(["start_here.softmax", "x"]), nearly_entries | json_values).map(
            lambda value: json.dumps(value).encode()
        ),
        json_values.map(lambda value: json.dumps(value).encode()),
    )
)
def test_whatever_is_in_the_file_an_attempt_is_recorded_and_what_was_not_sound_is_kept(own_progress, data):
    for old in own_progress.parent.iterdir():
        old.unlink()
    own_progress.write_bytes(data)
    sound = progress.load()
    entry = progress.record("start_here.softmax", 1.0)
    assert progress.tally(entry) and progress.load() == {**sound, "start_here.softmax": entry}
    go_on(here())
    assert as_text(here()) and as_html(here())
    aside = [file.read_bytes() for file in own_progress.parent.glob("*.damaged*")]
    try:
        damaged = json.loads(data) != sound
    except (ValueError, RecursionError):
        damaged = True
    assert aside == ([data] if damaged else [])


@pytest.mark.parametrize("solved", ["null", "3", "[]"])
def test_no_entry_of_a_damaged_file_makes_a_check_fail(own_progress, capsys, solved):
    own_progress.write_text(
        f'{{"start_here.softmax": {{"best": 0, "attempts": 1, "last": 3, "solved": {solved}}}}}'
    )
    assert progress.record("start_here.softmax", 0.5)["attempts"] == 1
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and "progress.damaged.json" in said
    progress.record("start_here.softmax", 0.5)
    assert capsys.readouterr().out == ""


def _folder(path):
    path.mkdir()
    (path / "file").write_text("mine")


def _pipe(path):
    os.mkfifo(path)


@pytest.mark.parametrize(
    "make",
    [
        _folder,
        _pipe,
        lambda path: path.write_bytes(b"[" * 10**6),
        lambda path: path.write_bytes(b'{"x": ' + b"9" * 10**6 + b"}"),
        lambda path: path.write_bytes(b" " * 2**23),
        lambda path: path.write_text("\ud800", "utf-8", "surrogatepass"),
        lambda path: path.symlink_to(path),
    ],
    ids=["folder", "pipe", "deep", "long number", "large", "half a character", "link to itself"],
)  # fmt: skip
def test_whatever_is_in_the_place_of_the_file_is_put_aside(own_progress, capsys, make):
    make(own_progress)
    before = own_progress.lstat().st_ino
    assert progress.load() == {}
    entry = progress.record("start_here.softmax", 1.0)
    assert "could not be read" in capsys.readouterr().out
    assert progress.load() == {"start_here.softmax": entry}
    assert [file.lstat().st_ino for file in own_progress.parent.glob("*.damaged*")] == [before]


@pytest.mark.parametrize("name", ["progress.new", ".progress.json.new", ".yours.new"])
@pytest.mark.parametrize("make", [_folder, _pipe, lambda path: path.symlink_to("mine")])
def test_whatever_is_beside_the_file_stays_as_it_is(own_progress, make, name):
    """A fixed name for what is being written would wait for a pipe, or write through a link."""
    own_progress.with_name("mine").write_text("thesis")
    make(own_progress.with_name(name))
    entry = progress.record("start_here.softmax", 1.0)
    yours._remember("softmax", {"of": "x", "helped": False})
    assert progress.load() == {"start_here.softmax": entry} and not own_progress.is_symlink()
    assert yours._passed() == {"softmax": {"of": "x", "helped": False}}
    assert own_progress.with_name("mine").read_text() == "thesis"
    assert {file.name for file in own_progress.parent.iterdir()} == {
        "mine",
        name,
        own_progress.name,
        ".yours.json",
    }


def test_a_write_that_fails_leaves_nothing_behind(own_progress, monkeypatch):
    progress.record("start_here.softmax", 0.5)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(progress.os, "replace", full)
    progress.record("start_here.softmax", 1.0)
    assert [file.name for file in own_progress.parent.iterdir()] == [own_progress.name]


@pytest.mark.parametrize("make", [_folder, _pipe])
def test_what_has_passed_before_is_not_waited_for(own_progress, make):
    make(own_progress.with_name(".yours.json"))
    assert yours._passed() == {}


def test_each_damaged_file_is_kept(own_progress):
    for text in ("{", "[", '"'):
        own_progress.write_text(text)
        progress.record("start_here.softmax", 1.0)
    assert sorted(file.read_text() for file in own_progress.parent.glob("*.damaged*")) == ['"', "[", "{"]


def test_what_cannot_be_put_aside_is_left_alone(own_progress, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_LABS_PROGRESS", "/dev/null")
    assert progress.record("start_here.softmax", 1.0)["best"] == 1
    assert Path("/dev/null").is_char_device()


def test_a_file_of_an_older_course_does_no_harm(own_progress):
    own_progress.write_text(json.dumps({"gone.exercise": {"best": 1, "attempts": 1}}))
    assert sum(lab.solved for lab in here()) == 0


def test_the_overview_has_every_lab_with_exercises_in_the_courses_order(labs):
    shown = here()
    assert [shown_lab.lab.name for shown_lab in shown] == list(labs)
    assert [list(lab.exercises) for lab in shown] == [
        [key.partition(".")[2] for key in lab.exercises] for lab in labs.values()
    ]


def test_every_lab_has_a_title_and_its_minutes():
    assert all(lab.title[0].isupper() and lab.minutes for lab in all_labs())


def test_a_solved_exercise_appears_in_the_overview(capsys):
    progress.record("start_here.softmax", 1.0)
    progress.overview()
    shown = capsys.readouterr().out
    minutes = all_labs()[0].minutes
    assert f"00 Start here: 1 of 1 solved, {minutes} minutes" in shown and "solved, 1 attempt\n" in shown


@pytest.mark.parametrize("page", [as_text, as_html])
def test_bars_are_said_in_words_too(page):
    shown = page(LABS)
    for words in ("solved, 1 attempt", "3 attempts", "not started", "1 of 3 exercises solved."):
        assert words in shown


@pytest.mark.parametrize("page", [as_text, as_html])
def test_what_is_nearly_solved_is_not_rounded_to_solved(page):
    assert "best 99 %" in page(LABS) and "100 %" not in page(LABS)


def test_text_bars_are_full_only_when_solved():
    lines = as_text(LABS).splitlines()
    assert "[##########]" in lines[1] and "[#########.]" in lines[3] and "[..........]" in lines[4]


def test_only_labs_in_work_are_unfolded():
    done, tried, new = {"best": 1, "attempts": 1}, {"best": 0.5, "attempts": 1}, {}
    labs = [
        progress_of(f"0{n}_lab", "Lab", entries)
        for n, entries in enumerate([{"a": done}, {"b": tried, "c": new}, {"d": new}])
    ]
    folded = re.findall(r"<details[^>]*?( open)?>.*?<code>(\w)</code>", as_html(labs))
    assert folded == [("", "a"), (" open", "b"), ("", "d")]
    assert re.findall(r"^  (\w)", as_text(labs), re.MULTILINE) == ["a", "b", "c"]


def test_html_is_escaped():
    assert "More &amp; more" in as_html(LABS)
