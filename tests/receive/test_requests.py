"""Requests to look again, from the feedback page to the decision on it. Asking never changes anybody's work, points or time."""

from __future__ import annotations

import csv
import html
import json
import os
import pwd
import re
import shutil
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote

import pytest
from classroom import ATTENTION, START, KernelFree, hand_in_class, new_course, with_gradebook
from collecting import folder_of, zip_of
from rich.console import ConsoleDimensions
from typer.testing import CliRunner

from grader.book import log
from grader.book.gradebook import Gradebook
from grader.book.requests import MAX_REQUESTS, Request
from grader.book.results import Result
from grader.cli import app
from grader.commands.terminal import console
from grader.files import SECRET, TIMESTAMP
from grader.grade import autograde as grading
from grader.handout.demo import solved
from grader.people.roster import Person
from grader.receive.collect import ASKED, NEW, REFUSED, REPLACED, UNCHANGED, Collected, collect
from grader.reference.lab import Lab
from grader.show.feedback import generate_feedback

ME = pwd.getpwuid(os.getuid()).pw_name
EXERCISE, CELL = "softmax", "check_softmax"
PEOPLE = [Person("s00", "Ada", "Berg", section="Monday"), Person("s01", "Ben", "Costa", section="Tuesday")]


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Lab:
    """A class of three: s00's work is right, s01's is untouched, s02's is wrong. All have their feedback."""
    lab = Lab.load(with_gradebook(new_course(tmp_path_factory.mktemp("course"))), START)
    hand_in_class(lab, 3)
    grade(lab)
    generate_feedback(lab)
    return lab


@pytest.fixture
def lab(graded, tmp_path, monkeypatch) -> Lab:
    """A graded class of one's own, in the current folder."""
    monkeypatch.setattr(console, "size", ConsoleDimensions(300, 50))  # so that no cell of a table is cut
    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)
    shutil.copytree(graded.course.root, tmp_path / "course")
    monkeypatch.chdir(tmp_path / "course")
    return Lab.load(type(graded.course)(tmp_path / "course"), START)


def grade(lab: Lab, again: grading.Again = grading.Again.CHANGED) -> None:
    runner = KernelFree(lab.course.root / "runs")
    assert all(
        record.score is not None
        for record in grading.autograde(lab, grading.submissions(lab), runner, 5, again=again)
    )


def page(lab: Lab, student: str) -> str:
    return (lab.course.feedback / student / START / "start_here.html").read_text()


def form(lab: Lab, student: str) -> str:
    """The ready-made file that a learner's page offers."""
    found = re.findall(r'download="([^"]+)" href="data:text/plain;charset=utf-8,([^"]*)"', page(lab, student))
    assert [name for name, _ in found] == [f"regrade-{EXERCISE}.txt"]
    return unquote(html.unescape(found[0][1]))


def asking(lab: Lab, student: str, words: str = "It is right, look: e^0 = 1.") -> dict[str, bytes]:
    return {f"regrade-{EXERCISE}.txt": f"{form(lab, student)}\n{words}\n".encode()}


def run(*arguments: str, fails: bool = False) -> str:
    told = CliRunner().invoke(app, ["requests", *arguments])
    assert told.exit_code == int(fails), told.output
    return told.output


@pytest.mark.parametrize("number", ["0", "7", "99999999999999999999", str(2**63), "9" * 4000])
def test_a_number_that_no_request_has_is_answered_in_a_sentence(lab, number):
    for arguments in (("show", number), ("decide", number, "--keep", "--reason", "As it was.")):
        assert f"There is no request {number}" in run(*arguments, fails=True)


def flat(output: str) -> str:
    """What a table says, without its lines."""
    return " ".join(re.sub("[│┃]", " ", output).split())


def ask(lab: Lab, student: str, words: str = "It is right, look: e^0 = 1.") -> None:
    file = lab.course.root.parent / f"{student}.txt"
    file.write_bytes(asking(lab, student, words)[f"regrade-{EXERCISE}.txt"])
    run("add", str(file))


def requests(lab: Lab) -> list[Request]:
    with Gradebook.open(lab.course) as gradebook:
        return gradebook.requests()


def results(lab: Lab) -> dict[str, Result]:
    with Gradebook.open(lab.course) as gradebook:
        return {each.student: each for each in gradebook.results(lab)}


def work(lab: Lab) -> dict[Path, bytes]:
    """Everything that was collected and graded."""
    places = (lab.course.submitted, lab.course.autograded, lab.course.grading / "earlier")
    return {path: path.read_bytes() for place in places for path in place.rglob("*") if path.is_file()}


# ---------------------------------------------------------------------------------- asked, decided, told


def test_a_request_is_listed_shown_decided_and_told_to_the_learner(lab):
    before, scores = work(lab), results(lab)
    ask(lab, "s02")
    assert work(lab) == before
    assert {each.student: each.points for each in results(lab).values()} == {
        student: each.points for student, each in scores.items()
    }
    listed = flat(run(START))
    assert "1 request, 1 open" in listed and "softmax" in listed and "It is right" in listed
    shown = run("show", "1")
    answer = (lab.course.autograded / "s02" / START / "start_here.ipynb").read_text()
    assert "# s02" in shown and "# s02" in answer  # the first line of this learner's code
    assert "checks passed" in shown and f"#{CELL}" in shown and "It is right, look" in shown

    assert generate_feedback(lab).made == 1
    assert "You asked for another look" in page(lab, "s02") and "Nobody has decided" in page(lab, "s02")
    assert "asked for another look" not in page(lab, "s01")

    had = scores["s02"].points[CELL]
    said = run("decide", "1", "--points", "4.25", "--reason", "**True**: the text was unclear.")
    assert f"Request 1 of s02 is decided: 4.25 instead of {had:g} points." in said
    assert results(lab)["s02"].points[CELL] == 4.25
    assert generate_feedback(lab).made == 1
    told = page(lab, "s02")
    assert f"Decision: 4.25 instead of {had:g} points." in told and "<strong>True</strong>" in told
    assert "Points given by hand" in told and "Nobody has decided" not in told
    assert "decided" in run("show", "1") and "0 open" in run()
    with Gradebook.open(lab.course) as gradebook:
        lines = [(each.who, each.student, each.item, each.what, each.after) for each in gradebook.changes()]
    assert sorted(lines) == sorted([
        (ME, "s02", CELL, log.POINTS, "4.25"),
        (ME, "s02", CELL, log.DECISION, "4.25 points: **True**: the text was unclear."),
    ])  # fmt: skip

    grade(lab, grading.Again.ALL)
    assert results(lab)["s02"].points[CELL] == 4.25


def test_a_decision_to_keep_the_points_changes_no_points(lab):
    ask(lab, "s02")
    before = results(lab)["s02"]
    run("decide", "1", "--keep", "--reason", "The second case has two equal numbers.")
    after = results(lab)["s02"]
    assert (after.points, after.penalty) == (before.points, before.penalty)
    generate_feedback(lab)
    assert "Decision: the points stay." in page(lab, "s02") and "two equal numbers" in page(lab, "s02")
    assert "Points given by hand" not in page(lab, "s02")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["1", "--reason", "So."], "either --points X or --keep"),
        (["1", "--keep", "--points", "1", "--reason", "So."], "either --points X or --keep"),
        (["1", "--keep", "--reason", " \n"], "write something"),
        (["1", "--keep", "--reason", "x" * 6000], "at most 5,000 characters"),
        (["1", "--points", "99", "--reason", "So."], "so it cannot get 99"),
        (["1", "--points", "0", "--reason", "So."], "a request must not cost any"),
        (["1", "--points", "-1", "--reason", "So."], "so it cannot get -1"),
        (["1", "--points", "nan", "--reason", "So."], "so it cannot get nan"),
        (["7", "--keep", "--reason", "So."], "There is no request 7"),
    ],
)
def test_what_cannot_be_decided_is_told_and_changes_nothing(lab, arguments, words):
    ask(lab, "s02")
    before = results(lab)
    assert words in run("decide", *arguments, fails=True)
    assert results(lab) == before and not requests(lab)[0].decided


def test_two_assistants_do_not_decide_the_same_request_by_accident(lab, monkeypatch):
    ask(lab, "s02")
    had = requests(lab)[0].before
    monkeypatch.setenv("JUPYTERHUB_USER", "first")
    run("decide", "1", "--points", "5", "--reason", "Nearly right.")
    monkeypatch.setenv("JUPYTERHUB_USER", "second")
    told = run("decide", "1", "--keep", "--reason", "Wrong.", fails=True)
    assert "has been decided by first (5 instead of" in told and "--again" in told
    told = run("decide", "1", "--keep", "--again", "--reason", "Wrong.", fails=True)
    assert "not clear which points stay" in told
    run("decide", "1", "--points", "4", "--again", "--reason", "Right.")
    (request,) = requests(lab)
    assert (request.decided_by, request.points, request.reason) == ("second", 4, "Right.")
    assert request.before == results(lab)["s02"].marker.score and had is None
    assert results(lab)["s02"].points[CELL] == 4


def test_the_penalty_for_late_work_follows_the_points(lab):
    with (lab.course.root / "nbgrader_config.py").open("a") as file:
        file.write('get_config().AssignLatePenalties.plugin_class = "grader.plugins.late.PenaltyPerDay"\n')
    with Gradebook.open(lab.course) as gradebook:
        gradebook.set_deadline(lab, datetime(2030, 1, 14, 12))
        gradebook.enter_lateness(lab)
    ask(lab, "s02")
    run("decide", "1", "--points", "4", "--reason", "Right.")
    assert results(lab)["s02"].penalty == pytest.approx(0.4)


def test_a_decision_stays_undone_if_the_penalty_cannot_follow(lab, monkeypatch):
    def broken(*_: object) -> None:
        raise OverflowError

    ask(lab, "s02")
    with Gradebook.open(lab.course) as gradebook:
        monkeypatch.setattr(type(gradebook), "enter_lateness", broken)
        with pytest.raises(OverflowError):
            gradebook.decide(1, 4.0, "Right.")
        assert not gradebook.request(1).decided
    assert results(lab)["s02"].points[CELL] != 4


def test_a_list_of_one_section_and_a_table_of_everything(lab):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people(PEOPLE)
    ask(lab, "s01", "=cmd() [red]me[/red], and \x1b[2J")
    ask(lab, "s02")
    listed = run("--section", "tuesday", "--csv", "list.csv")
    assert "1 request, 1 open" in listed and "\x1b" not in listed
    (row,) = csv.DictReader((lab.course.root / "list.csv").open(newline=""))
    assert (row["Student"], row["Name"], row["Exercise"], row["State"]) == (
        "s01",
        "Ben Costa",
        EXERCISE,
        "open",
    )
    assert datetime.fromisoformat(row["Asked (UTC)"]) <= datetime.now(UTC).replace(tzinfo=None)
    assert row["Request"] == "'=cmd() [red]me[/red], and \ufffd[2J"
    run("decide", "1", "--keep", "--reason", "No.")
    run("--csv", "list.csv")
    row = next(
        row for row in csv.DictReader((lab.course.root / "list.csv").open(newline="")) if row["No."] == "1"
    )
    assert (row["Decision"], row["Reason"], row["By"]) == ("the points stay", "No.", ME)
    assert re.findall(r"^│ (\d+)", run(), re.M) == ["1", "2"]  # open last
    assert "There is no section" in run("--section", "Friday", fails=True)


def test_the_pages_about_a_class_and_a_term_count_the_open_ones(lab):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people(PEOPLE)
    ask(lab, "s01")
    ask(lab, "s02")
    run("decide", "2", "--keep", "--reason", "No.")
    for command, lists in (("report", f"grader requests {START}"), ("term", "grader requests")):
        for section, suffix, said in (
            (None, "", lists),
            ("Tuesday", "-Tuesday", f"{lists} --section Tuesday"),
        ):
            options = [
                *([START] if command == "report" else []),
                *(["--section", section] if section else []),
            ]
            assert CliRunner().invoke(app, [command, *options]).exit_code == 0
            name = START if command == "report" else command
            told = (lab.course.grading / "reports" / f"{name}{suffix}.html").read_text()
            assert "1 open request to look again" in told and f"<code>{said}</code>" in told
    assert CliRunner().invoke(app, ["report", START, "--section", "Monday"]).exit_code == 0
    assert "open request" not in (lab.course.grading / "reports" / f"{START}-Monday.html").read_text()


def test_a_list_is_legible_in_a_terminal_of_80_columns(lab, monkeypatch):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people(PEOPLE)
    for student in ("s01", "s02"):
        ask(lab, student, "The mask is causal in my code, too. " * 8 + "That was the last word.")
    run("decide", "2", "--keep", "--reason", "A mask that blocks everything lets no word through.")
    monkeypatch.setattr(console, "size", ConsoleDimensions(80, 50))
    lines = run().splitlines()
    assert max(map(len, lines)) <= 80
    asked = f"{requests(lab)[0].asked:%Y-%m-%d}"
    for words in (START, EXERCISE, "Ben Costa (s01)", "open", "decided", asked, "my code, too. The mask is"):
        assert any(words in line for line in lines), words
    assert f"Decided by {ME}: the points stay: A mask that blocks everything lets no word" in flat(
        "\n".join(lines)
    )
    assert "That was the last word." not in flat("\n".join(lines))  # `show` has all of it
    assert all("softmax" not in line or "s02" not in line for line in lines)  # each in a line of its own


def test_work_that_was_handed_in_anew_is_said_to_be_so(lab):
    ask(lab, "s02")
    assert "handed in again" not in run("show", "1")
    collect(lab, folder_of(lab, {"s02/start_here.ipynb": json.dumps(solved(lab)).encode()}))
    grade(lab)
    assert "handed in again" in run("show", "1")
    shutil.rmtree(lab.course.autograded / "s02")
    assert "not in the gradebook any more" in run("show", "1")


# ---------------------------------------------------------------------------------- how it is handed in


def only(rows: list[Collected], student: str) -> Collected:
    (row,) = [row for row in rows if row.student == student]
    return row


@pytest.mark.parametrize("source_of", [folder_of, zip_of])
@pytest.mark.parametrize(
    "name",
    [
        "s02/regrade-softmax.txt",
        f"{START}/s02/regrade-softmax-1.txt",
        "s02/notes/Regrade-softmax (1).txt",
    ],
)
def test_a_submission_of_a_request_alone_leaves_the_work_as_it_is(lab, source_of, name):
    before, (data,) = work(lab), asking(lab, "s02").values()
    row = only(collect(lab, source_of(lab, {name: data, "s01/start_here.ipynb": b"{}"})), "s02")
    assert (row.outcome, row.why) == (ASKED, "Request 1 about softmax.")
    of_others = {path for path in before if "s01" in path.parts}
    assert {path: data for path, data in work(lab).items() if path in before and path not in of_others} == {
        path: data for path, data in before.items() if path not in of_others
    }
    assert [each.student for each in requests(lab)] == ["s02"]


def test_a_changed_notebook_beside_a_request_is_not_taken_and_without_one_it_is(lab):
    changed = {"s02/start_here.ipynb": json.dumps(solved(lab)).encode()}
    before = work(lab)
    asked = {f"s02/{name}": data for name, data in asking(lab, "s02").items()}
    row = only(collect(lab, folder_of(lab, changed | asked)), "s02")
    assert row.outcome == ASKED and "is another one than was collected, so it was not taken" in row.why
    assert work(lab) == before
    same = {"s02/start_here.ipynb": (lab.course.submitted / "s02" / START / "start_here.ipynb").read_bytes()}
    row = only(collect(lab, folder_of(lab, same | asked)), "s02")
    assert (row.outcome, row.why) == (ASKED, "Request 1 about softmax, which was here already.")
    assert only(collect(lab, folder_of(lab, changed)), "s02").outcome == REPLACED


def test_a_file_that_is_no_request_keeps_nobody_from_handing_in(lab):
    files = {"s02/start_here.ipynb": json.dumps(solved(lab)).encode(), "s02/regrade.txt": b"please!"}
    row = only(collect(lab, folder_of(lab, files)), "s02")
    assert row.outcome == REPLACED and "regrade.txt: It has no line" in row.why and not requests(lab)
    files = {f"s00/{name}": data for name, data in asking(lab, "s02").items()}
    row = only(collect(lab, folder_of(lab, files)), "s00")
    assert row.outcome == REFUSED and "about s02's work, but s00 handed it in" in row.why
    assert "What was collected before stays" in row.why and not requests(lab)


def test_a_request_about_another_lab_keeps_nobody_from_handing_in(lab):
    other = Lab.load(lab.course, ATTENTION)
    kept = b'{"cells": [], "nbformat": 4}'
    collect(other, folder_of(other, {"s02/self_attention.ipynb": kept}))
    files = asking(lab, "s02") | {"self_attention.ipynb": kept + b" "}
    row = only(collect(other, folder_of(other, {f"s02/{name}": data for name, data in files.items()})), "s02")
    assert (row.outcome, row.why) == (REPLACED, "Request 1 about softmax.")
    assert [(each.lab, each.student) for each in requests(lab)] == [(START, "s02")]


def test_a_first_submission_counts_even_with_a_request_beside_it(lab):
    shutil.rmtree(lab.course.submitted / "s02")
    files = asking(lab, "s02") | {"start_here.ipynb": json.dumps(solved(lab)).encode()}
    row = only(collect(lab, folder_of(lab, {f"s02/{name}": data for name, data in files.items()})), "s02")
    assert (row.outcome, row.why) == (NEW, "Request 1 about softmax.")


@pytest.fixture
def inbound(lab, tmp_path, monkeypatch) -> Path:
    """An exchange's folder of submissions; learners' accounts are not the system's here."""
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_CONFIG_PATH"):
        monkeypatch.setenv(name, str(tmp_path / "config"))
    folder = tmp_path / "exchange/transformer-labs/inbound"
    folder.mkdir(parents=True)
    with (lab.course.root / "nbgrader_config.py").open("a") as file:
        file.write(f"\nget_config().Exchange.root = {str(tmp_path / 'exchange')!r}\n")
    return folder


def submit(inbound: Path, student: str, stamp: str, files: dict[str, bytes]) -> None:
    folder = inbound / f"{student}+{START}+{stamp}+abc"
    folder.mkdir()
    for name, data in (files | {TIMESTAMP: stamp.encode(), SECRET: b"secret " + stamp.encode()}).items():
        (folder / name).write_bytes(data)


def test_handing_in_a_request_through_the_exchange_makes_no_work_late(lab, inbound):
    first, second, third = (f"2030-01-{day} 12:00:00 UTC" for day in (20, 22, 24))
    notebook = (lab.course.submitted / "s02" / START / "start_here.ipynb").read_bytes()
    submit(inbound, "s02", first, {"start_here.ipynb": notebook})
    assert only(collect(lab, shared_account=True), "s02").outcome == UNCHANGED
    before = work(lab)

    mended = json.dumps(solved(lab)).encode()  # what a learner has tried out since
    submit(inbound, "s02", second, asking(lab, "s02") | {"start_here.ipynb": mended})
    row = only(collect(lab, shared_account=True), "s02")
    assert row.outcome == UNCHANGED and row.why.startswith("Request 1 about softmax.")
    assert "was not taken" in row.why and work(lab) == before
    (request,) = requests(lab)
    assert request.asked == datetime(2030, 1, 22, 12) and "2030-01-22" in request.file

    submit(inbound, "s02", third, {"start_here.ipynb": mended})  # new work, without the request
    row = only(collect(lab, shared_account=True), "s02")
    assert row.outcome == REPLACED and "Request 1 about softmax, which was here already." in row.why
    assert (lab.course.submitted / "s02" / START / TIMESTAMP).read_text().startswith("2030-01-24")


def test_a_request_alone_in_the_exchange_changes_neither_the_time_nor_the_secret_of_the_work(lab, inbound):
    before = work(lab)
    submit(inbound, "s02", "2030-02-01 12:00:00 UTC", asking(lab, "s02"))
    row = only(collect(lab, shared_account=True), "s02")
    assert (row.outcome, row.why) == (ASKED, "Request 1 about softmax.")
    assert work(lab) == before


def test_a_zip_of_requests_is_read_whoever_packed_it(lab, tmp_path):
    archive = tmp_path / "requests.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for folder, student in (("Ben Costa_77_assignsubmission_file_", "s01"), ("mails", "s02")):
            (data,) = asking(lab, student).values()
            file.writestr(f"{folder}/regrade-softmax.txt", data)
        file.writestr("mails/regrade-other.txt", "please")
        file.writestr("mails/holiday.txt", "private")
    before = work(lab)
    said = flat(run("add", str(archive)))
    assert "holiday" not in said and "refused" in said and "It has no line “Submission:”" in said
    assert [(each.student, each.number) for each in requests(lab)] == [("s01", 1), ("s02", 2)]
    assert "It was here already" in flat(run("add", str(archive))) and len(requests(lab)) == 2
    assert work(lab) == before


def test_a_source_without_requests_is_told(lab, tmp_path):
    assert "does not exist" in run("add", "nothing.txt", fails=True)
    (tmp_path / "empty").mkdir()
    assert "has no request: their files are called regrade-" in run(
        "add", str(tmp_path / "empty"), fails=True
    )
    top = {f"{name}": data for name, data in asking(lab, "s02").items()}
    told = CliRunner().invoke(app, ["collect", START, str(folder_of(lab, top))])
    assert told.exit_code == 1 and "grader requests add" in told.output


# ---------------------------------------------------------------------------------- hostile, and long after


def test_what_anybody_writes_is_text_on_the_page(lab):
    ask(lab, "s02", "<script>alert(1)</script><img src=x onerror=alert(2)> {{ 7 * 7 }} \u202egnp.exe")
    run("decide", "1", "--keep", "--reason", "<script>alert(3)</script> [x](javascript:alert(4))")
    generate_feedback(lab)
    told = page(lab, "s02")
    assert "<script" not in told and "<img src=x" not in told and "\u202e" not in told
    assert "&lt;script&gt;alert(1)" in told and "{{ 7 * 7 }}" in told and 'href="javascript' not in told


def test_hundreds_of_requests_of_one_learner_stay_few(lab, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    (data,) = asking(lab, "s02", "Please, number 0").values()
    for number in range(200):
        (folder / f"regrade-{number}.txt").write_bytes(data.replace(b"number 0", b"number %d" % number))
    said = run("add", str(folder))
    assert len(requests(lab)) == MAX_REQUESTS and "already. Talk to them." in flat(said)
    assert f"{200 - MAX_REQUESTS - 20} more files were refused" in said and len(said) < 30_000
    rows = collect(lab, folder_of(lab, {f"s02/{path.name}": path.read_bytes() for path in folder.iterdir()}))
    assert only(rows, "s02").outcome == ASKED and len(only(rows, "s02").why) < 5000


def test_requests_move_along_when_two_ids_become_one(lab):
    ask(lab, "s02")
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("zoe", "Zoë", "van Dyk", section="Monday")])
        gradebook.extend(lab, "zoe", timedelta(days=1))
    assert CliRunner().invoke(app, ["roster", "merge", "s02", "zoe", "--yes"]).exit_code == 0
    assert "Zoë van Dyk (zoe)" in run("show", "1") and "# s02" in run("show", "1")
    assert "1 request, 1 open" in run("--section", "monday")
    run("decide", "1", "--points", "4", "--reason", "Right.")
    assert results(lab)["zoe"].points[CELL] == 4
    generate_feedback(lab)
    assert "Decision: 4 instead of" in page(lab, "zoe")
    run("add", str(lab.course.root.parent / "s02.txt"))  # the file from before is still theirs
    assert [(each.student, each.number) for each in requests(lab)] == [("zoe", 1)]


def test_a_request_about_work_that_does_not_count_any_more_can_only_be_answered(lab):
    ask(lab, "s02")
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people(PEOPLE)
    merged = CliRunner().invoke(app, ["roster", "merge", "s02", "s01", "--keep", "s01", "--yes"])
    assert merged.exit_code == 0, merged.output
    assert "not in the gradebook any more" in run("show", "1")
    assert "or decide with --keep" in run("decide", "1", "--points", "1", "--reason", "Yes.", fails=True)
    assert "the points stay" in run("decide", "1", "--keep", "--reason", "This work does not count.")
