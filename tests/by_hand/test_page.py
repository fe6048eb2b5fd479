"""The page for written answers as a browser and others see it: a real Jupyter server, as `make instructor` starts it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
import requests
from classroom import START, book_of, gradebook_undone
from playwright.sync_api import sync_playwright
from serving import CHROMIUM, NAMED_USERS, TOKEN, as_user, fits_everywhere, logged_in, running, save
from written import answer_of, graded, written_lab

from grader.book.answers import DECISION, FIRST, SECOND
from grader.book.gradebook import Gradebook
from grader.book.readings import Readings, Settings
from grader.reference.lab import Lab

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def kept_lab(tmp_path_factory) -> Lab:
    return written_lab(tmp_path_factory.mktemp("course"), 6)


@pytest.fixture
def lab(kept_lab) -> Iterator[Lab]:
    """The class, with three readers who read everything twice; what a test enters is undone."""
    with gradebook_undone(kept_lab.course):
        with Gradebook.open(kept_lab.course) as gradebook:
            Readings(gradebook, kept_lab).deal(Settings(("ana", "ben", "cem"), second=1.0))
        yield kept_lab


@pytest.fixture(scope="module")
def server(kept_lab, tmp_path_factory) -> Iterator[str]:
    with running(kept_lab.course, tmp_path_factory.mktemp("server")) as address:
        yield f"{address}/by-hand/{START}"


@pytest.fixture
def somebody(server) -> requests.Session:
    return logged_in(server)


def works_of(lab: Lab):
    with Gradebook.open(lab.course) as gradebook:
        return Readings(gradebook, lab).works()


def page_of(lab: Lab, reader: str, role: str = FIRST) -> str:
    return next(page for page, work in sorted(works_of(lab).items()) if work.tasks[role].reader == reader)


def tree_of(lab: Lab, student: str, folder: str) -> dict[Path, bytes]:
    """What a folder of the course has of a student."""
    files = (getattr(lab.course, folder) / student).rglob("*")
    return {file: file.read_bytes() for file in files if file.is_file()}


def points_of(lab: Lab, page: str) -> float | None:
    return works_of(lab)[page].answers[0].points


def test_nobody_gets_in_without_jupyter_s_log_in_and_a_forged_form_enters_nothing(lab, server, somebody):
    address = f"{server}/ana/{page_of(lab, 'ana')}"
    for page in (server, f"{server}/ana", f"{server}/ana/next", address, f"{server}/differences"):
        stranger = requests.get(page, allow_redirects=False)
        assert stranger.status_code == 302 and "/login" in stranger.headers["Location"]
    assert requests.post(address, data={"points-why": "1"}, allow_redirects=False).status_code in (302, 403)
    forged = somebody.post(
        address, data={"points-why": "1", "seen-why": ""}, headers={"Origin": "https://evil.example"}
    )
    assert forged.status_code in (403, 404) and points_of(lab, page_of(lab, "ana")) is None
    assert somebody.post(address, data={"points-why": "1", "seen-why": ""}).status_code == 403


def test_an_answer_is_read_without_a_name_and_the_points_are_where_formgrader_finds_them(
    lab, server, somebody
):
    opened = somebody.get(f"{server}/ana/next")
    page = opened.url.rpartition("/")[2]
    student = works_of(lab)[page].student
    assert student not in opened.text and "Student" not in opened.text and "Doe" not in opened.text
    assert f"Answer of number {int(student[1:])}" in opened.text
    assert "<b>bold" not in opened.text and 'href="javascript' not in opened.text
    policy = opened.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'self'" in policy
    assert "It names the <em>sum</em>." in opened.text

    saved = save(
        somebody,
        opened.url,
        **{"item-why": "0", "points-why": "1.5", "comment-why": "<i>Half</i> of it.", "keep-why": "1"},
    )
    assert saved.url.rpartition("/")[2] not in (page, "next")  # the next one
    assert "&lt;i&gt;Half&lt;/i&gt; of it." in saved.text and "<i>Half" not in saved.text
    answer = works_of(lab)[page].answers[0]
    assert (answer.points, answer.comment, answer.marks[FIRST].items) == (1.5, "<i>Half</i> of it.", (0,))
    root = server.partition("/by-hand")[0]
    assert somebody.get(f"{root}/formgrader/submissions/{page}/").ok
    (grade,) = (
        each
        for each in somebody.get(f"{root}/formgrader/api/grades", params={"submission_id": page}).json()
        if each["name"] == "why"
    )
    assert (grade["manual_score"], grade["needs_manual_grade"]) == (1.5, False)
    with Gradebook.open(lab.course) as gradebook:
        assert {change.who for change in gradebook.changes(START, student)} == {"ana"}


def test_pages_are_called_as_the_lab_and_a_reader_without_answers_is_told_so(lab, server, somebody):
    title = f"Lab 00: {lab.settings['title']}"
    for path in ("", "/ana", "/ana/next", "/differences"):
        heading = re.search(r"<h1>(.*)</h1>", somebody.get(f"{server}{path}").text)[1]
        assert unescape(heading).startswith(title) and START not in heading
    assert f">{title}</a>" in unescape(somebody.get(server.removesuffix(f"/{START}")).text)
    stranger = somebody.get(f"{server}/nix")
    assert stranger.status_code == 409 and "Readers: ana, ben, cem." in stranger.text
    with Gradebook.open(lab.course) as gradebook:
        Readings(gradebook, lab).deal(Settings(("ana", *(f"r{number}" for number in range(9)))))
    idle = next(text for n in range(9) if "given out to" in (text := somebody.get(f"{server}/r{n}").text))
    assert "Everything is read" not in idle


def test_ticked_lines_are_points_where_none_are_written(lab, server, somebody):
    page = page_of(lab, "ana")
    save(somebody, f"{server}/ana/{page}", **{"item-why": "1", "points-why": ""})
    assert points_of(lab, page) == 2


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"points-why": "3.5"}, "points are a number from 0 to 3, not '3.5'"),
        ({"points-why": "-1"}, "points are a number from 0 to 3"),
        ({"points-why": "nan"}, "points are a number from 0 to 3"),
        ({"points-why": "<b>"}, "points are a number from 0 to 3"),
        ({"points-why": ""}, "Give points for why: 0 if it earns nothing."),
        ({"points-why": "1", "comment-why": "x" * 20_001}, "longer than 20000 characters"),
        ({"points-why": "", "item-why": "7"}, "Give points for why"),
    ],
)
def test_what_cannot_be_entered_is_said_and_nothing_typed_is_lost(lab, server, somebody, fields, words):
    page = page_of(lab, "ana")
    told = save(somebody, f"{server}/ana/{page}", **{"comment-why": "Typed at length."} | fields)
    assert words in unescape(told.text) and fields.get("comment-why", "Typed at length.") in told.text
    assert points_of(lab, page) is None


def test_two_people_do_not_read_the_same_answer_at_once(lab, server, somebody):
    other = logged_in(server)
    page = page_of(lab, "ana")
    address = f"{server}/ana/{page}"
    form = other.get(address).text
    told = somebody.get(address)
    assert told.status_code == 409 and "Somebody has opened this submission as ana" in told.text
    token = re.search(r'name="_xsrf" value="([^"]+)"', somebody.get(f"{server}/ben/next").text)[1]
    told = somebody.post(
        address, data={"_xsrf": token, "points-why": "2", "seen-why": "", "comment-why": "Kept."}
    )
    assert "Nothing was saved" in told.text and "Kept." in told.text and points_of(lab, page) is None
    assert "Somebody" not in form and save(other, address, **{"points-why": "1"}).ok
    assert points_of(lab, page) == 1
    assert somebody.get(address).ok  # it is open to others again


def sent(session: requests.Session, page: requests.Response, **fields: str) -> requests.Response:
    """Sends the form of a page that is open already."""
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page.text))
    return session.post(page.url, data={**hidden, **fields})


def test_a_reader_opens_in_another_browser_what_she_left_open_in_the_first_and_nothing_is_lost(
    lab, server, somebody
):
    other, page = logged_in(server), page_of(lab, "ana")
    address = f"{server}/ana/{page}"
    left = other.get(address)
    told = somebody.get(address)
    assert told.status_code == 409 and "30 more minutes" in told.text and "UTC" not in told.text
    assert somebody.post(address, data={"here": "1"}).status_code == 403  # no forged form
    opened = sent(somebody, told, here="1")
    assert opened.ok and 'name="points-why"' in opened.text
    late = sent(other, left, **{"points-why": "1", "comment-why": "Typed there."})
    assert "Nothing was saved" in late.text and "Typed there." in late.text and points_of(lab, page) is None
    back = sent(other, late, **{"points-why": "1", "comment-why": "Typed there.", "here": "1"})
    assert "Typed there." in back.text and 'value="1"' in back.text and "Nothing was saved" not in back.text
    assert points_of(lab, page) is None
    assert (
        sent(other, back, **{"points-why": "1", "comment-why": "Typed there."}).ok
        and points_of(lab, page) == 1
    )


def test_the_list_says_why_no_next_answer_opens(lab, server, somebody):
    other = logged_in(server)
    for role in (FIRST, SECOND):
        for page, work in works_of(lab).items():
            if work.tasks[role].reader == "ana":
                assert other.get(f"{server}/ana/{page}").ok
    told = somebody.get(f"{server}/ana/next").text
    assert "Everything that is left is open in another window" in told and "Grade the next one" not in told
    assert "open in another window for 30 more minutes" in told
    assert "Grade the next one" in other.get(f"{server}/ana").text


def test_points_from_formgrader_since_the_form_was_opened_are_not_overwritten(lab, server, somebody):
    page = page_of(lab, "ana")
    address = f"{server}/ana/{page}"
    hidden = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', somebody.get(address).text))
    with book_of(lab.course) as book:
        book.find_grade("why", lab.slug, START, works_of(lab)[page].student).manual_score = 0.25
        book.db.commit()
    told = somebody.post(address, data={**hidden, "points-why": "3", "comment-why": "Kept."})
    assert "Somebody has given 0.25 points" in told.text and "Kept." in told.text
    assert points_of(lab, page) == 0.25


def test_a_second_reader_sees_nothing_of_the_first_and_differences_are_decided(lab, server, somebody):
    page = page_of(lab, "ana")
    second = works_of(lab)[page].tasks[SECOND].reader
    assert somebody.get(f"{server}/differences/{page}").status_code == 409
    save(
        somebody,
        f"{server}/ana/{page}",
        **{"item-why": "0", "points-why": "2.75", "comment-why": "The first says."},
    )
    blind = somebody.get(f"{server}/{second}/{page}").text
    assert "2.75" not in blind and "The first says." not in blind and " checked>" not in blind
    assert "formgrader" not in blind  # which shows everybody's points
    assert "2.75" not in somebody.get(f"{server}/{second}").text
    save(
        somebody,
        f"{server}/{second}/{page}",
        **{"item-why": "1", "points-why": "2", "comment-why": "The second says."},
    )
    answer = works_of(lab)[page].answers[0]
    assert (answer.points, answer.comment) == (2.75, "The first says.")  # it is for the comparison only
    shown = unescape(somebody.get(f"{server}/differences").text)
    assert (
        "ana: 2.75" in shown
        and f"{second}: 2" in shown
        and "<b>open</b>" in shown
        and "Cohen's kappa" in shown
    )
    form = somebody.get(f"{server}/differences/{page}").text
    assert "The first says." in form and "The second says." in form
    address = f"{server}/differences/{page}"
    assert "Say who decides." in save(somebody, address, **{"points-why": "2.5"}).text
    assert points_of(lab, page) == 2.75
    save(somebody, address, **{"points-why": "2.5", "comment-why": "Both are right.", "decider": "the lead"})
    answer = works_of(lab)[page].answers[0]
    assert (answer.points, answer.comment) == (2.5, "Both are right.")
    assert "2.5 (the lead)" in somebody.get(f"{server}/differences").text


def test_a_second_reader_is_asked_again_about_another_text_and_told_so(lab, server, somebody):
    page = page_of(lab, "ana")
    work = works_of(lab)[page]
    second, told = work.tasks[SECOND].reader, "Another answer was handed in since you read it"
    address = f"{server}/{second}/{page}"
    save(somebody, address, **{"points-why": "2"})
    assert works_of(lab)[page].state(SECOND) == "done" and told not in somebody.get(address).text
    before = [tree_of(lab, work.student, folder) for folder in ("submitted", "autograded")]
    answer_of(lab, work.student, "Another text.")
    graded(lab)
    assert works_of(lab)[page].state(SECOND) == "again" and told in somebody.get(address).text
    save(somebody, f"{server}/ana/{page}", **{"points-why": "1"})
    save(somebody, address, **{"points-why": "3"})
    assert works_of(lab)[page].state(SECOND) == "done"
    decide = f"{server}/differences/{page}"
    assert "Another answer was handed in" not in somebody.get(decide).text
    answer_of(lab, work.student, "A third text.")
    graded(lab)
    assert "Another answer was handed in since it was read" in somebody.get(decide).text
    for files in before:
        for file, data in files.items():
            file.write_bytes(data)


def test_comments_of_others_can_be_used_and_removed(lab, server, somebody):
    save(somebody, f"{server}/ana/next", **{"points-why": "1", "comment-why": "One.\nTwo.", "keep-why": "1"})
    other = logged_in(server)
    address = f"{server}/ben/{page_of(lab, 'ben')}"
    form = other.get(address).text
    assert 'data-remark="One.\nTwo."' in form
    number = re.search(r'name="forget" value="(\d+)"', form)[1]
    told = save(other, address, **{"forget": number, "comment-why": "Being typed."})
    assert 'data-remark="' not in told.text and "Being typed." in told.text
    assert points_of(lab, page_of(lab, "ben")) is None


@pytest.mark.parametrize("number", ["99999999999999999999", "9" * 5000, "nan"])
@pytest.mark.parametrize("field", ["item-why", "points-why", "forget", "seen-why"])
def test_no_number_that_a_form_sends_makes_the_page_fail(lab, server, somebody, field, number):
    page = page_of(lab, "ana")
    for address in (f"{server}/ana/{page}", f"{server}/differences/{page}"):
        if "differences" in address:
            second = works_of(lab)[page].tasks[SECOND].reader
            save(somebody, f"{server}/ana/{page}", **{"points-why": "1"})
            save(somebody, f"{server}/{second}/{page}", **{"points-why": "2"})
        assert save(somebody, address, **{"points-why": "", field: number}).status_code in (200, 400, 409)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("../02_self_attention", "has no answers that people grade"),
        ("../99_nothing", "There is no lab '99_nothing'"),
        ("ana/0123456789abcdef", "has no submission '0123456789abcdef'"),
        ("zoe/{page}", "is not in the queue of zoe any more"),
    ],
)
def test_an_address_that_leads_nowhere_is_answered_in_a_sentence(lab, server, somebody, place, words):
    address = f"{server.rpartition('/')[0]}/{place[3:]}" if place.startswith("..") else f"{server}/{place}"
    told = somebody.get(address.format(page=page_of(lab, "ana")))
    assert told.status_code == 409 and words in unescape(told.text) and "Traceback" not in told.text


@pytest.mark.parametrize("reader", ["ana\nb", "a\0b", "a?b#c", "../..", "//evil.example", "€"])
def test_whatever_name_an_address_has_it_leads_on_to_that_name(lab, server, somebody, reader):
    part = quote(reader, safe="")
    led = somebody.get(f"{server}/{part}/next", allow_redirects=False)
    assert (led.status_code, led.headers.get("Location")) == (302, f"/by-hand/{START}/{part}")


def test_where_a_hub_knows_who_asks_nobody_reads_in_another_s_name(lab, tmp_path):
    page = page_of(lab, "ana")
    second = works_of(lab)[page].tasks[SECOND].reader
    with running(lab.course, tmp_path, NAMED_USERS, JUPYTERHUB_SERVICE_PREFIX="/services/x/") as address:
        place = f"{address}/by-hand/{START}"

        told = as_user("ben").get(f"{place}/ana")
        assert told.status_code == 409 and "you are logged in as ben" in told.text
        assert as_user("ben").get(f"{place}/ana/{page}").status_code == 409
        assert as_user("lead").get(place).ok
        save(as_user("ana"), f"{place}/ana/{page}", **{"points-why": "1"})
        save(as_user(second), f"{place}/{second}/{page}", **{"points-why": "3"})
        save(as_user("lead"), f"{place}/differences/{page}", **{"points-why": "2", "decider": "ana"})
        marks = works_of(lab)[page].answers[0].marks
        assert {role: mark.reader for role, mark in marks.items()} == {
            FIRST: "ana",
            SECOND: second,
            DECISION: "lead",
        }
        assert points_of(lab, page) == 2


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: scripts/setup_browser.sh says how")
def test_in_a_browser_lines_add_up_comments_are_put_in_and_nothing_is_wider_than_the_window(lab, server):
    """With TRANSFORMER_LABS_SCREENSHOTS, pictures are kept there."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = chromium.new_page(viewport={"width": 1400, "height": 900})
        faults = []
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(f"{server}?token={TOKEN}")
        page.get_by_role("link", name="ana", exact=True).click()
        page.get_by_role("link", name="Grade the next one").click()
        points, comment = page.get_by_label("Points"), page.get_by_label("Comment for the student")
        page.get_by_label("It names the sum").check()
        assert points.input_value() == "1"
        page.get_by_label("It says why").check()
        assert points.input_value() == "3"
        page.get_by_label("It names the sum").uncheck()
        assert points.input_value() == "2"
        comment.fill("Name the sum.")
        page.get_by_label("Keep this comment").check()
        first = page.url
        points.press("Enter")
        page.wait_for_url(lambda url: url != first)
        comment.fill("Good.")
        page.get_by_role("button", name="Name the sum.").click()
        assert comment.input_value() == "Good.\nName the sum."
        form = page.url
        for place, name in (
            (server.rpartition("/")[0], "labs"),
            (server, "readers"),
            (f"{server}/ana", "queue"),
            (form, "form"),
            (f"{server}/differences", "differences"),
        ):
            fits_everywhere(page, place, f"by-hand-{name}", narrow=390)
        chromium.close()
    assert works_of(lab)[first.rpartition("/")[2]].answers[0].points == 2
    assert not faults
