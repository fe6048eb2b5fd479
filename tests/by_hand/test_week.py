"""The week as the page shows it: figures, next steps, whom an assistant sees, steps in a process of their own, and a notebook without names."""

from __future__ import annotations

import base64
import fcntl
import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime

import pytest
from classroom import START, gradebook_undone
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin
from typer.testing import CliRunner
from written import answer_of, written_lab

from grader.book import log
from grader.book.gradebook import Gradebook
from grader.book.readings import Readings, Settings
from grader.book.requests import Asked
from grader.book.statuses import Status, understood
from grader.by_hand import rights, running, steps
from grader.by_hand.blind import LEFT_OUT, notebook_for_readers, without_names
from grader.by_hand.extending import extend
from grader.by_hand.rights import Refused, Rights, rights_of
from grader.by_hand.running import CUT_OFF, DONE, FAILED, Run
from grader.by_hand.week import Step, note_returned, requests_for, waiting_in_exchange, week
from grader.cli import app
from grader.course import Course
from grader.errors import GraderError
from grader.people.roster import Person
from grader.receive.figures import figures_of
from grader.reference.lab import Lab
from grader.show.feedback import generate_feedback
from grader.show.standing import Standing
from grader.show.term import write_term

LEAD = Rights()
ANA = Rights("ana", ("Mon",))
IDLE = Rights("cem", ())


@pytest.fixture(scope="module")
def kept_lab(tmp_path_factory) -> Lab:
    """Six students of two sections whose work is graded, and two on the roster who have handed in nothing."""
    lab = written_lab(tmp_path_factory.mktemp("course"), 6)
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people(Person(f"late{n}", f"Late{n}", section=("Mon", "Tue")[n]) for n in range(2))
    return lab


@pytest.fixture
def lab(kept_lab, monkeypatch):
    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)
    grading = kept_lab.course.grading
    with gradebook_undone(kept_lab.course):
        yield kept_lab
    for name in ("week", "feedback", "pages", "reports"):
        shutil.rmtree(grading / name, ignore_errors=True)
    (grading / "assistants.toml").unlink(missing_ok=True)


def row_of(lab: Lab, rights: Rights = LEAD):
    return next(row for row in week(lab.course, rights) if row.name == lab.name)


def decided(lab: Lab, student: str, what: str) -> None:
    kind, amount = understood(what)
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_statuses([Status(student, lab.name, kind, amount, "a reason")])


def ask(lab: Lab, student: str, cell: str = "why") -> int:
    with Gradebook.open(lab.course) as gradebook:
        submission = gradebook.submissions_of(student)[lab.name]
        when = datetime.now(UTC).replace(tzinfo=None)
        asked = Asked(
            submission, student, lab.name, cell, f"Please look again, says {student}.", "f.txt", when
        )
        return gradebook.ask(asked)[0]


# ---------------------------------------------------------------------------------- figures


def test_graded_excused_zero_and_not_handed_in_are_told_apart_and_agree_with_the_page_about_the_term(lab):
    decided(lab, "s00", "excused")
    decided(lab, "s01", "zero")
    decided(lab, "late0", "excused")
    row = row_of(lab)
    told = [
        row.count(each) for each in (Standing.GRADED, Standing.EXCUSED, Standing.ZERO, Standing.NOT_HANDED_IN)
    ]
    assert told == [4, 2, 1, 1]
    assert (row.handed_in, row.count(Standing.COLLECTED), row.anew, row.to_read) == (6, 0, 0, 6)
    page, *_ = write_term(lab.course)
    (line,) = re.findall(r"<tr><td>Lab 00.*?</tr>", page.read_text(), re.DOTALL)
    figures = dict(re.findall(r'<td class="n" data-of="([^"]+)">(\d*)</td>', line))
    of_page = ("graded", "excused", "zero", "not handed in")
    assert [figures[each] for each in of_page] == ["4", "2", "1", "1"]
    assert sum(row.stand.values()) == 8  # everybody is in one column


def test_a_lab_that_is_not_released_has_no_step(lab):
    other = next(row for row in week(lab.course, LEAD) if row.name != lab.name)
    assert not other.released and other.step is None and "grader release" in other.why


def test_the_next_step_is_what_is_left_to_do(lab):
    row = row_of(lab)
    assert (row.step, row.why) == (Step.FEEDBACK, "6 feedback pages to make")
    generate_feedback(lab)
    assert row_of(lab).step is Step.RETURN
    note_returned(lab)
    assert row_of(lab).step is None and row_of(lab).why == "6 to be read"
    decided(lab, "s00", "penalty 1")  # changes a page, though no notebook
    assert (row_of(lab).step, row_of(lab).why) == (Step.FEEDBACK, "1 feedback page to make")
    generate_feedback(lab)
    assert row_of(lab).step is Step.RETURN
    file = lab.course.submitted / "s03" / lab.name / lab.notebook_name
    before = file.read_bytes()
    answer_of(lab, "s03", "Another text.")
    row = row_of(lab)
    assert (row.step, row.anew, row.why) == (Step.GRADE, 1, "1 to grade")
    file.write_bytes(before)
    assert row_of(lab).anew == 0


def test_work_in_the_exchange_that_is_newer_than_what_was_collected_waits(lab, tmp_path, monkeypatch):
    inbound = tmp_path / "inbound"
    monkeypatch.setattr("grader.by_hand.week.inbound_of", lambda course: inbound)
    assert waiting_in_exchange(lab.course) == {}  # there is none
    for name in ("s00", "s01"):
        (inbound / f"{name}+{START}+2099-10-01 10:00:00 UTC+x").mkdir(parents=True)
    (inbound / "no submission").mkdir()
    assert waiting_in_exchange(lab.course) == {START: 2}
    stamp = lab.course.submitted / "s00" / START / "timestamp.txt"
    before = stamp.read_bytes()
    stamp.write_text("2099-10-01 10:00:00 UTC")
    assert row_of(lab).step is Step.COLLECT and row_of(lab).why == "1 in the exchange"
    stamp.write_bytes(before)


# ---------------------------------------------------------------------------------- who sees what


def test_an_assistant_s_figures_are_those_of_their_sections_and_of_their_queue(lab):
    with Gradebook.open(lab.course) as gradebook:
        Readings(gradebook, lab).deal(Settings(("ana", "cem")))
        queues = [each.tasks["first"].reader for each in Readings(gradebook, lab).works().values()]
    mine, idle = row_of(lab, ANA), row_of(lab, IDLE)
    assert (mine.handed_in, mine.count(Standing.NOT_HANDED_IN)) == (3, 1)
    assert mine.to_read == queues.count("ana") and idle.to_read == queues.count("cem")
    assert not idle.handed_in and not sum(idle.stand.values())
    assert mine.step is None


def test_an_assistant_sees_requests_of_their_sections_and_nameless_those_of_their_queue(lab):
    with Gradebook.open(lab.course) as gradebook:
        Readings(gradebook, lab).deal(Settings(("cem",)))
    monday, tuesday, check = ask(lab, "s00"), ask(lab, "s01"), ask(lab, "s01", "check_softmax")

    def seen(rights):
        with Gradebook.open(lab.course) as gradebook:
            return {
                each.request.number: bool(each.page) for each in requests_for(gradebook, lab.course, rights)
            }

    assert seen(LEAD) == {monday: False, tuesday: False, check: False}
    assert seen(ANA) == {monday: False}
    assert seen(IDLE) == {monday: True, tuesday: True}  # all of the queue, and no check in it
    assert seen(Rights("eva", ())) == {}


def test_the_list_of_assistants_counts_only_where_a_hub_knows_who_somebody_is(lab):
    (lab.course.grading / "assistants.toml").write_text('ana = ["Mon"]\n"b@x" = []\n')
    assert rights_of(lab.course, "").instructor and rights_of(lab.course, "iris").instructor
    assert rights_of(lab.course, "ana").sections == ("Mon",) and rights_of(lab.course, "b@x").sections == ()
    (lab.course.grading / "assistants.toml").write_text(
        '\ufeffana = ["Mon"]\n'
    )  # as some editors begin a file
    assert rights_of(lab.course, "ana").sections == ("Mon",)
    with pytest.raises(Refused, match="for instructors"):
        rights_of(lab.course, "ana").see_that_it_is_an_instructor()


@pytest.mark.parametrize(
    "text", ["ana = [", "ana = 'Mon'", "ana = [1]", "ana.b = []", "ana = " + "[" * 5000, b"\xff"]
)
def test_a_list_that_cannot_be_read_lets_nobody_in(lab, text):
    (lab.course.grading / "assistants.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    for who in ("", "ana", "iris"):
        with pytest.raises(GraderError, match=r"assistants\.toml"):
            rights_of(lab.course, who)


def test_a_change_of_the_list_of_assistants_is_logged_once_and_without_the_list_nobody_becomes_an_instructor(
    lab, monkeypatch
):
    monkeypatch.setattr(rights, "_noticed", {})
    monkeypatch.chdir(lab.course.root)
    listed = lab.course.grading / "assistants.toml"

    def logged() -> list[tuple[str, ...]]:
        with Gradebook.open(lab.course) as gradebook:
            return [
                (each.who, each.item, each.before, each.after)
                for each in gradebook.changes()
                if each.what == log.ASSISTANT
            ]

    rights.notice_changes(lab.course)
    assert logged() == []
    listed.write_text('ana = ["Mon"]\ncem = []\n')
    with log.acting("iris"):
        for _ in range(2):
            rights.notice_changes(lab.course)
    begun = [
        ("noticed by iris", "ana", "", "section Mon"),
        ("noticed by iris", "cem", "", "without a section"),
    ]
    assert logged() == begun
    listed.write_text('ana = ["Mon", "Tue"\n')  # cannot be read: that is said elsewhere
    rights.notice_changes(lab.course)
    listed.write_text('ana = ["Mon", "Tue"]\n')
    monkeypatch.setattr(rights, "_noticed", {})  # another process
    shown = CliRunner().invoke(app, ["log"])
    assert shown.exit_code == 0 and "ana: assistant" in " ".join(shown.output.split()), shown.output
    me = log.user_and_program()[0]
    changed = [(f"noticed by {me}", "ana", "section Mon", "section Mon, Tue")]
    assert logged() == [*begun, *changed, (f"noticed by {me}", "cem", "without a section", "")]
    for lost in (listed.unlink, lambda: listed.write_text("\n")):
        lost()
        rights.notice_changes(lab.course)
        for who in ("ana", "cem", "iris"):
            with pytest.raises(
                GraderError, match=r"assistants\.toml is (missing|empty), but ana was on this list.*# none"
            ):
                rights_of(lab.course, who)
    listed.write_text("# none\n")
    rights.notice_changes(lab.course)
    assert rights_of(lab.course, "ana").instructor
    listed.unlink()
    assert rights_of(lab.course, "ana").instructor
    assert logged()[-1] == (f"noticed by {me}", "ana", "section Mon, Tue", "")


def test_a_section_that_is_not_there_is_said(lab):
    with pytest.raises(GraderError, match="There is no section 'Fri'"):
        week(lab.course, Rights("ana", ("Fri",)))


# ---------------------------------------------------------------------------------- what is entered


def test_who_acts_through_a_server_is_in_the_log(lab):
    number = ask(lab, "s00")
    with log.acting("ana"), Gradebook.open(lab.course) as gradebook:
        extend(gradebook, lab, "s00", 2, "ill")
        gradebook.decide(number, None, "It stays.")
    with Gradebook.open(lab.course) as gradebook:
        lines = {change.what: change.who for change in gradebook.changes(lab.name, "s00")}
        assert lines[log.EXTENSION] == lines[log.DECISION] == "ana"
        assert gradebook.request(number).decided_by == "ana"
        extend(gradebook, lab, "s01", 2, "ill")
        assert gradebook.changes(lab.name, "s01")[-1].who != "ana"


@pytest.mark.parametrize(
    ("student", "days", "words"),
    [
        ("nobody", 2, "not on the roster"),
        (" ", 2, "STUDENT is empty"),
        ("s00", float("nan"), "number of days"),
        ("s00", float("inf"), "number of days"),
        ("s00", -1, "number of days"),
        ("s00", 5000, "number of days"),
        ("s01", 2, "in no section"),
    ],
)
def test_an_extension_that_is_refused_changes_nothing(lab, student, days, words):
    with Gradebook.open(lab.course) as gradebook:
        among = ANA.students(gradebook.roster().values())
        with pytest.raises(GraderError, match=words):
            extend(gradebook, lab, student, days, "why", lambda one: ANA.see_that_it_is_theirs(one, among))
        assert gradebook.extensions(lab) == {}


def test_a_slip_in_an_id_tells_an_assistant_nothing_about_other_sections(lab):
    with Gradebook.open(lab.course) as gradebook:
        among = ANA.students(gradebook.roster().values())
        assert "s02" in among and "s01" not in among
        with pytest.raises(GraderError, match="not on the roster") as refused:
            extend(gradebook, lab, "s0", 2, "why", lambda one: ANA.see_that_it_is_theirs(one, among))
    assert re.search(r"Did you mean s\d\d", str(refused.value))
    assert not re.search("s01|s03|s05", str(refused.value))


# ---------------------------------------------------------------------------------- steps


def ended(course: Course) -> Run:
    """The last step, once its process has let go of the lock."""
    with (course.grading / "week" / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    return running.last(course)


def test_a_step_runs_in_a_process_of_its_own_says_what_it_did_and_whom_to_look_at(lab, tmp_path):
    (tmp_path / "s00").mkdir()
    file = lab.course.submitted / "s00" / START / lab.notebook_name
    shutil.copyfile(file, tmp_path / "s00" / lab.notebook_name)
    (tmp_path / "s00" / "notes.doc").write_text("")
    running.start(lab.course, START, Step.COLLECT, "iris", str(tmp_path))
    with pytest.raises(GraderError, match="One step at a time: Collecting 00_start_here is at work"):
        running.start(lab.course, START, Step.GRADE)
    run = ended(lab.course)
    assert (run.outcome, run.who, run.step) == (DONE, "iris", Step.COLLECT), run
    assert run.told == ("unchanged: 1",) and run.ended
    ((whose, why),) = run.exceptions
    assert whose == "s00" and "notes.doc" in why
    with pytest.raises(GraderError, match="nothing to stop"):
        running.stop(lab.course)


def test_a_step_counts_what_it_does_and_says_what_went_wrong(lab):
    working = steps.Working(lab, Run(lab.name, Step.FEEDBACK, "", running.now()))
    running._folder(lab.course).mkdir()
    working.work("")
    run = running.last(lab.course)
    assert (run.done, run.total) == (6, 6) and "6 of 6 done" in run.line
    assert working.told == ["6 pages, 6 of them new or changed."] and not working.exceptions
    running.start(lab.course, "02_self_attention", Step.FEEDBACK)
    run = ended(lab.course)
    assert run.outcome == FAILED and "no graded submissions" in run.told[-1]


def test_pages_that_cannot_go_through_the_exchange_are_packed_and_not_called_returned(
    lab, tmp_path, monkeypatch
):
    monkeypatch.setattr("grader.receive.exchange.exchange_of", lambda course: tmp_path)
    monkeypatch.setattr("grader.show.returning._release", lambda *_: None)
    (tmp_path / lab.course.course_id()).mkdir()
    generate_feedback(lab)
    for name in ("timestamp.txt", "submission_secret.txt"):
        (lab.course.feedback / "s00" / lab.name / name).write_text("x")
    working = steps.Working(lab, Run(lab.name, Step.RETURN, "", running.now()))
    running._folder(lab.course).mkdir()
    working.work("")
    packed = lab.course.grading / "reports" / f"{lab.name}-feedback.zip"
    assert working.told == [
        "Pages returned through nbgrader's exchange: 1.",
        "The others did not hand in through the exchange, so they could not fetch a page there."
        f" Pages to upload: 5, in {packed}",
    ]
    with zipfile.ZipFile(packed) as archive:
        assert len(archive.namelist()) == 5 and "s00" not in str(archive.namelist())
    for name in ("timestamp.txt", "submission_secret.txt"):
        (lab.course.feedback / "s00" / lab.name / name).unlink()


def test_stopping_is_ctrl_c_to_the_whole_group_and_what_cannot_say_so_was_cut_off(lab):
    folder = running._folder(lab.course)
    folder.mkdir()
    waits = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); print('.', flush=True); signal.pause()"
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        running.write(lab.course, Run(START, Step.GRADE, "", running.now()))
        with pytest.raises(GraderError, match="only just beginning"):
            running.stop(lab.course)
        process = subprocess.Popen(
            [sys.executable, "-c", waits],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=[lock.fileno()],
        )
    running.write(lab.course, Run(START, Step.GRADE, "", running.now(), process=process.pid))
    process.stdout.read(1)
    assert running.last(lab.course).outcome == ""
    running.stop(lab.course)
    _, told = process.communicate()
    assert b"KeyboardInterrupt" in told
    run = running.last(lab.course)
    assert run.outcome == CUT_OFF and "goes on from there" in run.told[0]


def test_ctrl_c_in_a_step_is_told_as_a_stop(lab, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(steps.Working, "work", stopped)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    running._folder(lab.course).mkdir()
    with (running._folder(lab.course) / "lock").open("a") as lock:
        steps.main(str(lab.course.root), str(lock.fileno()), START, "autograde", "", "")
    run = running.last(lab.course)
    assert run.outcome == "stopped" and run.process == os.getpid()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"step": "fly"}', '{"exceptions": [1]}'])
def test_a_damaged_note_about_the_last_step_is_as_good_as_none(lab, text):
    running._folder(lab.course).mkdir()
    (running._folder(lab.course) / "run.json").write_text(text)
    assert running.last(lab.course) is None


# ---------------------------------------------------------------------------------- without names


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_shows_a_name_that_the_course_knows(before, after):
    person = Person("s01_abc", "Zoë", "O'Brien-Łukasz", "zoe@uni.edu")
    for name in (
        "Zoë",
        "o'brien-łukasz",
        "S01_ABC",
        "s01 abc",
        "zoe@uni.edu",
        "Zoë O'Brien-Łukasz",
        "O'Brien-Łukasz, Zoë",
    ):
        shown = without_names(f"{before} {name} {after}", person)
        assert name not in shown.replace(before, "", 1).replace(after, "", 1) or name in before + after
        assert LEFT_OUT in shown


def test_home_folders_have_names_too_and_parts_of_words_stay():
    person = Person("al", "Al", "Ng")
    assert without_names("/home/ngal/x C:\\Users\\Al Ng /Users/al/y", person).count(LEFT_OUT) >= 3
    assert without_names("The signal and the value", person) == "The signal and the value"
    assert without_names("x" * 5, Person("")) == "xxxxx"


def png(comment: str) -> str:
    file, about = io.BytesIO(), PngImagePlugin.PngInfo()
    about.add_text("Author", comment)
    Image.new("RGB", (8, 4), "red").save(file, "PNG", pnginfo=about)
    return base64.b64encode(file.getvalue()).decode()


def handed_in_with(lab: Lab, student: str, outputs) -> None:
    """Puts these outputs into every code cell of what somebody has handed in."""
    file = lab.course.submitted / student / lab.name / lab.notebook_name
    notebook = json.loads(file.read_text())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = outputs
    file.write_text(json.dumps(notebook))


def test_a_reader_sees_the_figures_of_cells_that_grading_does_not_run_drawn_anew_and_without_names(lab):
    file = lab.course.submitted / "s04" / lab.name / lab.notebook_name
    before = file.read_bytes()
    outputs = [
        {
            "output_type": "display_data",
            "data": {"image/png": png("Student4 Doe"), "text/html": "<script>alert(1)</script>"},
        },
        {
            "output_type": "stream",
            "name": "stdout",
            "text": ["accuracy of Student4: 0.9 ", "in /home/student4/x"],
        },
    ]
    handed_in_with(lab, "s04", outputs)
    person = Person("s04", "Student4", "Doe")
    cells = notebook_for_readers(lab, "s04", person)
    file.write_bytes(before)
    skipped = [cell for cell in cells if cell.handed_in]
    assert skipped and len(skipped) < len([cell for cell in cells if cell.kind == "code"])
    for cell in skipped:
        picture, words = cell.outputs
        assert words.text == f"accuracy of {LEFT_OUT}: 0.9 in /home/{LEFT_OUT}/x"
        raw = base64.b64decode(picture.picture.removeprefix("data:image/png;base64,"))
        assert Image.open(io.BytesIO(raw)).size == (8, 4) and b"Doe" not in raw
    everything = repr(cells)
    assert "Student4" not in everything and "alert(1)</script>" not in everything
    assert "Answer of number 4" in everything and "<b>bold</b>" not in everything
    assert "accuracy of Student4" in repr(notebook_for_readers_of(lab, "s04", outputs))


def notebook_for_readers_of(lab, student, outputs):
    """The same where the name may be seen."""
    file = lab.course.submitted / student / lab.name / lab.notebook_name
    before = file.read_bytes()
    handed_in_with(lab, student, outputs)
    cells = notebook_for_readers(lab, student, None)
    file.write_bytes(before)
    return cells


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
kinds = st.sampled_from(["stream", "error", "display_data", "execute_result", "x"])
hostile = (
    st.fixed_dictionaries(
        {"output_type": kinds | json_values},
        optional={name: json_values for name in ("text", "data", "ename", "evalue")},
    )
    | json_values
)
data = st.dictionaries(st.sampled_from(["image/png", "image/jpeg", "text/plain", "text/html"]), json_values)


@given(
    st.lists(
        hostile | st.builds(lambda found: {"output_type": "display_data", "data": found}, data), max_size=5
    )
)
def test_no_output_that_anybody_hands_in_makes_the_page_fail(tmp_path_factory, outputs):
    file = tmp_path_factory.mktemp("nb") / "x.ipynb"
    file.write_text(
        json.dumps({"cells": [{"cell_type": "code", "source": "1", "outputs": outputs}], "nbformat": 4})
    )
    for cell in figures_of(file):
        assert all(each.text or each.picture.startswith("data:image/") for each in cell.outputs)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"cells": 3}', '{"cells": [1, {"cell_type": "code", "outputs": 5}]}']
)
def test_a_file_without_figures_shows_none(tmp_path, text):
    (tmp_path / "x.ipynb").write_text(text)
    assert figures_of(tmp_path / "x.ipynb") == []


def test_nothing_is_shown_beyond_what_a_page_can_hold(tmp_path):
    outputs = [{"output_type": "stream", "text": "x" * 50_000}] * 49
    cell = {"cell_type": "code", "source": "1", "outputs": outputs}
    (tmp_path / "x.ipynb").write_text(json.dumps({"cells": [cell, cell], "nbformat": 4}))
    assert sum(len(each.text) for cell in figures_of(tmp_path / "x.ipynb") for each in cell.outputs) < 210_000
