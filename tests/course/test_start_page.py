"""The page that JupyterLab opens first: what it tells, where it leads, and that it is never in the way."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from project import LABS, ROOT

from course_utils import progress, start_page
from course_utils.checking.exercise import exercises_of
from course_utils.labs import LabInfo, core_part, labs_in
from course_utils.progress import LabProgress
from course_utils.start_page import as_markdown, card, go_on, stops, way_to


@pytest.fixture
def notebooks(tmp_path) -> Path:
    for lab in labs_in(ROOT / "notebooks"):
        folder = tmp_path / "notebooks" / lab.name
        folder.mkdir(parents=True)
        (folder / f"{lab.slug}.ipynb").touch()
        (folder / "lab.json").write_text(lab.as_json(), "utf-8")
    return tmp_path / "notebooks"


def page_of(notebooks: Path) -> str:
    return start_page.write(notebooks).read_text("utf-8")


def solve(slug: str, *names: str, score: float = 1.0) -> None:
    for name in names or exercises_of(slug):
        progress.record(f"{slug}.{name}", score)


def test_every_lab_is_on_it_with_what_one_builds_and_a_link_that_leads_there(notebooks):
    page = page_of(notebooks)
    found = labs_in(notebooks)
    assert [lab.name for lab in found] == LABS
    for lab in found:
        assert f"({lab.name}/{lab.slug}.ipynb) | {lab.builds} | {', '.join(lab.needs)} | " in page
        assert f" | {lab.minutes}{core_part(lab.core_minutes)} | " in page
    for link in re.findall(r"\]\(([^)]+\.ipynb)\)", page):
        assert (notebooks / link).is_file()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 5}', '{"needs": 3, "exercises": []}'])
def test_a_lab_whose_file_is_damaged_is_left_out(notebooks, text):
    (notebooks / LABS[0] / "lab.json").write_text(text)
    assert [stop.lab.name for stop in stops(notebooks)] == LABS[1:]


def test_a_newcomer_begins_with_lab_00(notebooks):
    assert "## Begin with [00 Start here](00_start_here/start_here.ipynb): `softmax`" in page_of(notebooks)


def test_one_goes_on_where_one_was_last(notebooks):
    solve("start_here")
    first, second, third = list(exercises_of("self_attention"))[:3]
    solve("self_attention", first)
    solve("self_attention", second, score=0.5)
    assert (
        f"## Continue with [02 Self-attention](02_self_attention/self_attention.ipynb): `{second}`"
        in page_of(notebooks)
    )
    solve("self_attention", second)
    assert f"`{third}`" in page_of(notebooks).partition("![")[0]


def test_after_a_lab_comes_the_next_that_is_not_finished(notebooks):
    solve("why_attention")
    solve("self_attention")
    following = go_on(stops(notebooks))
    assert following[0].lab.slug == "multi_head_attention"


def test_with_everything_solved_it_says_so(notebooks):
    for name in LABS:
        solve(name.partition("_")[2])
    assert "You have solved every exercise" in page_of(notebooks)


def test_it_outlives_a_progress_file_that_is_damaged(notebooks, own_progress):
    own_progress.write_text("{")
    assert "Begin with" in page_of(notebooks)


def test_a_check_brings_it_up_to_date_where_it_is(notebooks, monkeypatch):
    page_of(notebooks)
    solve("start_here")
    start_page.refresh(notebooks)
    assert "Continue with" in (notebooks / "START.md").read_text("utf-8")


def test_a_check_writes_none_where_none_was(notebooks):
    start_page.refresh(notebooks)
    assert not (notebooks / "START.md").exists()


def test_it_is_left_alone_if_nothing_changed(notebooks):
    page_of(notebooks)
    before = (notebooks / "START.md").stat().st_mtime_ns
    page_of(notebooks)
    assert (notebooks / "START.md").stat().st_mtime_ns == before


def test_a_folder_without_labs_has_a_page_too(tmp_path):
    page = page_of(tmp_path)
    assert "There are no labs here yet" in page and "0 of 0" in page and "every exercise" not in page


def test_on_a_hub_it_says_where_labs_are_fetched(notebooks, monkeypatch):
    assert "Assignment List" not in page_of(notebooks)
    monkeypatch.setenv("JUPYTERHUB_USER", "anna")
    assert "Nbgrader > Assignment List" in page_of(notebooks)


def test_each_card_of_the_map_leads_to_its_lab_and_is_told_in_words(notebooks):
    solve("start_here")
    page = page_of(notebooks)
    cards = re.findall(r"\[!\[([^\]]+)\]\(data:image/svg\+xml;base64,([^)]+)\)\]\(([^)]+)\)", page)
    assert [link for *_, link in cards] == [
        f"{stop.lab.name}/{stop.lab.slug}.ipynb" for stop in stops(notebooks)
    ]
    for alt, picture, _ in cards:
        words = "".join(ElementTree.fromstring(base64.b64decode(picture)).itertext())
        assert alt.split()[0] in words and alt.endswith("you are here") == ("you are here" in words)
    assert cards[0][0] == "00 Start here: 1 of 1 solved"
    assert sum("you are here" in alt for alt, *_ in cards) == 1


@given(st.text(min_size=1, max_size=60), st.integers(0, 6), st.integers(1, 6))
def test_the_map_is_well_formed_whatever_a_lab_is_called(title, solved, count):
    title = "".join(char for char in title if char.isprintable())
    entries = {f"e{n}": {"best": 1 if n < solved else 0.5, "attempts": 1} for n in range(count)}
    lab = LabInfo("03_x", title, "Part", "things", ("02",), 5, tuple(entries))
    stop = LabProgress(lab, entries)
    for arrow in (True, False):
        ElementTree.fromstring(card(stop, arrow, here=True))
    assert as_markdown([stop]).count("](03_x/x.ipynb)") >= 1


def test_it_is_written_without_a_word(notebooks):
    solve("start_here", score=0.5)
    command = [sys.executable, "-m", "course_utils", str(notebooks)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""
    assert "0 of 1, 1 in part" in (notebooks / "START.md").read_text("utf-8")


def test_make_lab_opens_it():
    makefile = (ROOT / "Makefile").read_text()
    assert "-m course_utils notebooks" in makefile and "/lab/tree/START.md" in makefile
    assert "/notebooks/START.md" in (ROOT / ".gitignore").read_text()


def test_what_is_optional_comes_last_and_what_a_lab_needs_comes_before_it(notebooks):
    found = stops(notebooks)
    order, best = [], {"best": 1, "attempts": 1}
    while following := go_on(found):
        stop, name = following
        order.append((stop.lab.number, name))
        stop.exercises[name] = best
    waits = {(stop.lab.number, name): until for stop in found for name, until in stop.lab.waits.items()}
    assert sorted(order) == sorted((stop.lab.number, name) for stop in found for name in stop.exercises)
    core = len(order) - sum(until == "optional" for until in waits.values())
    assert all(waits.get(step) != "optional" for step in order[:core])
    for step, until in waits.items():
        if until != "optional":
            first = order.index(next(each for each in order if each[0] == until))
            assert order.index(step) < first
            assert order.index(step) > order.index(next(each for each in order if each[0] == "04"))


def test_the_shortest_way_to_a_lab_is_all_that_it_needs_in_order_and_nothing_else(notebooks):
    known = labs_in(notebooks)
    ways = {lab.number: way_to(lab, known) for lab in known}
    assert ways["00"] == [] and ways["02"] == ["00"] and "01" not in ways["05"]
    for lab in known:
        assert set(lab.needs) <= set(ways[lab.number])
        assert ways[lab.number] == sorted(
            {*lab.needs, *(each for needed in lab.needs for each in ways[needed])}
        )
    minutes = sum(lab.core_minutes or lab.minutes for lab in known if lab.number in ways["05"])
    row = next(line for line in page_of(notebooks).splitlines() if line.startswith("| [05 "))
    assert f"| {', '.join(ways['05'])} ({minutes}\N{NO-BREAK SPACE}min) |" in row


def test_a_way_over_labs_that_are_not_here_or_go_in_a_circle_ends(notebooks):
    first, second, third = labs_in(notebooks)[:3]
    assert way_to(replace(first, needs=("77",)), []) == ["77"]
    circle = [replace(second, needs=(third.number,)), replace(third, needs=(second.number,))]
    assert way_to(replace(first, needs=(second.number,)), circle) == [second.number, third.number]


def test_the_map_says_where_the_core_of_a_lab_is_done(notebooks):
    waits = next(lab for lab in labs_in(notebooks) if lab.slug == "why_attention").waits
    assert waits
    solve("why_attention", *(name for name in exercises_of("why_attention") if name not in waits))
    row = next(line for line in page_of(notebooks).splitlines() if line.startswith("| [01 "))
    assert row.endswith(", core done |")
    (stop,) = (stop for stop in stops(notebooks) if stop.lab.slug == "why_attention")
    assert "core done" in card(stop, arrow=True, here=False)
    solve("why_attention")
    assert "core done" not in page_of(notebooks)
