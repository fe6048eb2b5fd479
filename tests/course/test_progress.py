"""Progress: what is kept of a learner's attempts, and the overview over all labs."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from course_utils import progress
from course_utils.labs import LabInfo, all_labs
from course_utils.progress import LabProgress, as_html, as_text, tally


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
    assert tally(entry) == f"Solved with attempt 2, {words} after the first."
    assert tally(entry | {"attempts": 1}) == "Solved with attempt 1."
    assert "some time" in tally(entry | {"first": None})


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"start_here.softmax": 3}', '{"start_here.softmax": {"best": "x"}}']
)
def test_a_damaged_file_is_an_empty_one(own_progress, text):
    own_progress.write_text(text)
    assert progress.load() == {} and here()[0].solved == 0


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
