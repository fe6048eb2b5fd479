"""The page about the week as a browser, assistants and others see it: a real Jupyter server, as `make instructor` starts it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from datetime import datetime
from html import unescape

import pytest
import requests
from classroom import START, gradebook_undone
from playwright.sync_api import expect, sync_playwright
from serving import CHROMIUM, NAMED_USERS, TOKEN, as_user, fits_everywhere, logged_in, running, save
from test_week import ask, decided, ended
from written import answer_of, written_lab

from grader.book import log
from grader.book.answers import FIRST
from grader.book.gradebook import Gradebook
from grader.book.readings import Readings, Settings
from grader.by_hand.running import DONE, last
from grader.reference.lab import Lab
from grader.show.similar import write_similar

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def kept_lab(tmp_path_factory) -> Lab:
    return written_lab(tmp_path_factory.mktemp("course"), 6)


@pytest.fixture
def lab(kept_lab) -> Iterator[Lab]:
    """A class of two sections, whose answers are read by cem and dan; what a test enters is undone."""
    with gradebook_undone(kept_lab.course):
        with Gradebook.open(kept_lab.course) as gradebook:
            Readings(gradebook, kept_lab).deal(Settings(("cem", "dan")))
        yield kept_lab
    for name in ("week", "feedback", "pages", "reports"):
        shutil.rmtree(kept_lab.course.grading / name, ignore_errors=True)


@pytest.fixture(scope="module")
def server(kept_lab, tmp_path_factory) -> Iterator[str]:
    with running(kept_lab.course, tmp_path_factory.mktemp("server")) as address:
        yield f"{address}/week"


@pytest.fixture(scope="module")
def hub(kept_lab, tmp_path_factory) -> Iterator[str]:
    """A server that knows names, and a list of assistants: ana has a section, cem only a queue."""
    (kept_lab.course.grading / "assistants.toml").write_text('ana = ["Mon"]\ncem = []\n')
    folder = tmp_path_factory.mktemp("hub")
    with running(kept_lab.course, folder, NAMED_USERS, JUPYTERHUB_SERVICE_PREFIX="/services/x/") as address:
        yield f"{address}/week"


@pytest.fixture
def somebody(server) -> requests.Session:
    return logged_in(server)


def form_of(page: str) -> dict[str, str]:
    return {"_xsrf": re.search(r'name="_xsrf" value="([^"]+)"', page)[1]}


POSTS = ("stop", f"{START}/steps", START, "requests/1")


def test_nobody_gets_in_without_jupyter_s_log_in_and_a_forged_form_does_nothing(lab, server, somebody):
    number = ask(lab, "s00")
    for place in ("", "/progress", f"/{START}", f"/{START}/similar", "/requests", f"/requests/{number}"):
        stranger = requests.get(f"{server}{place}", allow_redirects=False)
        assert stranger.status_code in (302, 403), place
    fields = {
        "step": "feedback",
        "student": "s00",
        "days": "2",
        "why": "ill",
        "decision": "keep",
        "reason": "no",
    }
    for place in POSTS:
        for session in (
            requests.Session(),
            somebody,
        ):  # the second one is logged in, and sends no token of the form
            address = f"{server}/{place}".replace("/1", f"/{number}")
            assert session.post(address, data=fields, allow_redirects=False).status_code in (302, 403)
            forged = session.post(
                address, data=fields, headers={"Origin": "https://evil.example"}, allow_redirects=False
            )
            assert forged.status_code in (302, 403, 404)
    with Gradebook.open(lab.course) as gradebook:
        assert not gradebook.extensions(lab) and not gradebook.request(number).decided
    assert last(lab.course) is None
    assert somebody.get(f"{server}/{START}/steps").status_code == 405  # a link starts nothing


def test_nothing_that_a_learner_or_a_file_says_runs_on_the_page(lab, server, somebody):
    evil = "<img src=x onerror=alert(1)>"
    with Gradebook.open(lab.course) as gradebook:
        person = gradebook.people()["s00"]
        gradebook.enter_people([type(person)("s00", evil, section="Mon")])
    write_similar(lab)
    table = lab.course.grading / "reports" / f"{START}-similar.csv"
    table.write_text(f"student,name,other student,other name\ns00,{evil},s01,{evil}\n")
    save(somebody, f"{server}/{START}", student="s00", days="2", why=evil)
    for place in ("", f"/{START}", "/requests"):
        shown = somebody.get(f"{server}{place}")
        assert shown.ok and "<img" not in shown.text
        policy = shown.headers["Content-Security-Policy"]
    assert (
        "default-src 'none'" in policy and "connect-src 'self'" in policy and "unsafe-inline'; img" in policy
    )
    assert "&lt;img" in somebody.get(f"{server}/{START}").text
    told = save(somebody, f"{server}/{START}", student="<script>nobody</script>", days="2", why="ill")
    assert "<script>nobody" not in told.text and "is not on the roster" in told.text


def test_an_address_names_a_lab_by_its_number_as_a_command_does(lab, server, somebody):
    with Gradebook.open(lab.course) as gradebook:
        Readings(gradebook, lab).deal(Settings(("cem",)))
    by_hand = server.replace("/week", "/by-hand")
    for place in (
        f"{server}/00",
        f"{server}/start_here",
        f"{by_hand}/00",
        f"{by_hand}/00/cem",
        f"{by_hand}/00/differences",
    ):
        assert somebody.get(place).status_code == 200, place
    opened = somebody.get(f"{by_hand}/00/cem/next")
    assert "/00/cem/" in opened.url and save(somebody, opened.url, **{"points-why": "1"}).ok
    fields = {"student": "s01", "days": "1", "why": "ill", **form_of(somebody.get(f"{server}/00").text)}
    assert "Saved" in somebody.post(f"{server}/00", data=fields).text
    unknown = somebody.get(f"{server}/77")
    assert unknown.status_code == 409 and "There is no lab" in unknown.text


def test_the_line_below_the_table_has_the_words_of_the_table(lab, server, somebody):
    file = lab.course.submitted / "s03" / lab.name / lab.notebook_name
    before = file.read_bytes()
    answer_of(lab, "s03", "Another text.")
    text = somebody.get(server).text
    file.write_bytes(before)
    assert (
        ">1 again<" in text
        and "“2 again”: two of the graded have handed in again" in text
        and "Anew" not in text
    )


def test_more_time_is_given_in_place_with_the_refusals_of_the_command(lab, server, somebody):
    address = f"{server}/{START}"
    told = save(somebody, address, student="Student0 Doe", days="2,5", why="ill")
    assert "Saved: 2.5 extra days for s00." in told.text
    for fields, words in (
        ({"student": "nobody", "days": "1", "why": "x"}, "is not on the roster"),
        *(
            ({"student": "s01", "days": days, "why": "x"}, "is not a number of days")
            for days in ("soon", "nan", "1_0", "١", "1e-320", "1e2", "0x10")
        ),
        ({"student": "s01", "days": "0.0001", "why": "x"}, "An extension is a number of days"),
        ({"student": "s01", "days": "1", "why": " "}, "Say why"),
        ({"student": "x" * 2000, "days": "1", "why": "x"}, "at most 1,000 characters"),
    ):
        assert words in unescape(save(somebody, address, **fields).text)
    with Gradebook.open(lab.course) as gradebook:
        assert {student: each.days for student, each in gradebook.extensions(lab).items()} == {"s00": 2}
        assert gradebook.changes(START, "s00")[-1].why == "ill"


def test_a_request_is_decided_in_place(lab, server, somebody):
    number, other = ask(lab, "s00", "check_softmax"), ask(lab, "s01", "check_softmax")
    assert "2 open" in somebody.get(server).text
    address = f"{server}/requests/{number}"
    for fields, words in (
        ({"decision": "keep", "reason": " "}, "Say why"),
        ({"decision": "points", "points": "many", "reason": "x"}, "is not a number of points"),
        ({"decision": "points", "points": "1_0", "reason": "x"}, "is not a number of points"),
        ({"decision": "points", "points": "9999", "reason": "x"}, "cannot get 9999"),
    ):
        told = save(somebody, address, **fields)
        assert words in unescape(told.text)
    save(somebody, address, decision="keep", reason="The mask is missing.")
    save(somebody, f"{server}/requests/{other}", decision="points", points="5", reason="You are right.")
    with Gradebook.open(lab.course) as gradebook:
        found = [gradebook.request(each) for each in (number, other)]
    assert [(each.points, each.reason) for each in found] == [
        (None, "The mask is missing."),
        (5.0, "You are right."),
    ]
    assert somebody.get(f"{server}/requests/99999999999").status_code == 409
    assert "open</b>" not in somebody.get(f"{server}/requests").text


def test_a_step_is_started_with_its_form_and_told_as_it_ends(lab, server, somebody):
    page = somebody.get(server).text
    assert "Make feedback" in page and "6 feedback pages to make" in page
    started = somebody.post(f"{server}/{START}/steps", data={**form_of(page), "step": "feedback"})
    assert started.ok
    run = ended(lab.course)
    assert (run.outcome, run.done) == (DONE, 6)
    told = somebody.get(server).text
    assert "6 pages, 6 of them new or changed." in told and "Return feedback" in told
    assert somebody.get(f"{server}/progress").json()["outcome"] == DONE
    for fields in ({"step": "rm"}, {}):
        assert somebody.post(f"{server}/{START}/steps", data={**form_of(page), **fields}).status_code == 409
    assert somebody.post(f"{server}/stop", data=form_of(page)).status_code == 409  # nothing is at work


def test_an_assistant_can_do_and_see_what_is_theirs_and_it_is_logged_as_theirs(lab, hub):
    monday, tuesday = ask(lab, "s00"), ask(lab, "s01")
    with Gradebook.open(lab.course) as gradebook:
        works = Readings(gradebook, lab).works().values()
        works = [work for work in works if work.student not in ("s00", "s01")]
        mine = next(work for work in works if work.tasks[FIRST].reader == "cem")
        theirs = next(work for work in works if work.tasks[FIRST].reader == "dan")
    asked, other = ask(lab, mine.student, "why"), ask(lab, theirs.student, "check_softmax")
    lead, ana, cem = as_user("lead"), as_user("ana"), as_user("cem")
    assert "Make feedback" in lead.get(hub).text
    for one in (ana, cem):
        page = one.get(hub)
        assert page.ok and "<button" not in page.text
        own = form_of(one.get(f"{hub}/requests/{monday if one is ana else asked}").text)
        assert one.post(f"{hub}/{START}/steps", data={**own, "step": "feedback"}).status_code == 403
        assert one.post(f"{hub}/stop", data=own).status_code == 403
        assert one.get(f"{hub}/progress").status_code == 403
    assert ana.get(f"{hub}/requests/{tuesday}").status_code == 403
    assert cem.get(f"{hub}/requests/{other}").status_code == 403
    nameless = cem.get(f"{hub}/requests/{asked}").text
    assert mine.student not in nameless and "Doe" not in nameless and "file:" not in nameless
    assert mine.student not in cem.get(f"{hub}/requests").text
    refused = ana.post(
        f"{hub}/{START}", data={**own_form(ana, hub), "student": "s01", "days": "2", "why": "ill"}
    )
    assert refused.status_code == 403 and "in no section of ana" in unescape(refused.text)
    assert "s01" not in re.sub(r"<p class=.fault.*?</p>", "", ana.get(f"{hub}/{START}").text)
    ana.post(f"{hub}/{START}", data={**own_form(ana, hub), "student": "s00", "days": "2", "why": "ill"})
    decide = {"decision": "keep", "reason": "It stays."}
    assert cem.post(f"{hub}/requests/{other}", data={**own, **decide}).status_code == 403
    assert save(ana, f"{hub}/requests/{monday}", **decide).ok
    assert save(cem, f"{hub}/requests/{asked}", **decide).ok
    with Gradebook.open(lab.course) as gradebook:
        assert gradebook.request(monday).decided_by == "ana"
        assert gradebook.request(asked).decided_by == "cem"
        assert set(gradebook.extensions(lab)) == {"s00"}
        (line,) = (each for each in gradebook.changes(START, "s00") if each.what == log.EXTENSION)
        assert line.who == "ana"


def own_form(session: requests.Session, hub: str) -> dict[str, str]:
    return form_of(session.get(f"{hub}/{START}").text)


def test_a_reader_opens_the_notebooks_of_the_own_queue_only(lab, hub):
    with Gradebook.open(lab.course) as gradebook:
        works = Readings(gradebook, lab).works()
    by_hand = hub.replace("/week", f"/by-hand/{START}")
    for page, work in works.items():
        reader = work.tasks[FIRST].reader
        opened = as_user(reader).get(f"{by_hand}/{reader}/{page}/notebook")
        assert opened.ok and work.student not in opened.text and "Doe" not in opened.text
        assert "<script" not in opened.text
        other = "dan" if reader == "cem" else "cem"
        assert as_user(other).get(f"{by_hand}/{reader}/{page}/notebook").status_code == 409
        assert as_user(other).get(f"{by_hand}/{other}/{page}/notebook").status_code == 409


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: scripts/setup_browser.sh says how")
def test_in_a_browser_a_step_is_run_by_keyboard_and_nothing_is_wider_than_the_window(lab, server):
    """With TRANSFORMER_LABS_SCREENSHOTS, pictures are kept there."""
    decided(lab, "s00", "excused")
    number = ask(lab, "s01", "check_softmax")
    with Gradebook.open(lab.course) as gradebook:
        gradebook.set_deadline(lab, datetime(2099, 10, 10, 16))
    write_similar(lab)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = chromium.new_page(viewport={"width": 1400, "height": 900})
        faults = []
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(f"{server}?token={TOKEN}")
        button = page.get_by_role("button", name=f"Make feedback: {START}")
        button.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=f"Making feedback for {START}")).to_be_visible()
        page.reload()  # it survives that
        expect(page.get_by_text("6 pages, 6 of them new or changed.")).to_be_visible(timeout=120_000)
        form = f"{server.replace('/week', '/by-hand')}/{START}/cem/next"
        page.goto(form)
        form = page.url
        save_button = page.get_by_role("button", name="Save and go on")
        expect(save_button).to_be_in_viewport()
        page.get_by_label("Comment for the student").fill("x\n" * 200)
        page.get_by_label("Comment for the student").evaluate("box => { box.style.height = '3000px' }")
        for place in (0, 10_000):
            page.evaluate(f"scrollTo(0, {place})")
            expect(save_button).to_be_in_viewport()
        page.get_by_label("Points").fill("1")
        page.keyboard.press("Control+Enter")
        page.wait_for_url(lambda url: url != form)
        for place, name in (
            (server, "week"),
            (f"{server}/{START}", "lab"),
            (f"{server}/requests", "requests"),
            (f"{server}/requests/{number}", "request"),
            (f"{form}/notebook", "notebook"),
        ):
            fits_everywhere(page, place, f"week-{name}", narrow=400)
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(server)
        lines = page.eval_on_selector_all(
            "td time span", "parts => parts.map(part => part.getClientRects().length)"
        )
        assert lines and set(lines) == {1}  # neither a date nor a time of day is broken
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        chromium.close()
    assert not faults
