"""The class list by LTI, against a platform that is as strict as the standards let it be, and against worse ones."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import pytest
from classroom import new_course, with_gradebook, without_gradebook
from fake_canvas import Clock, Reply
from fake_lti import ASSISTANT, NRPS, ROLE, TEACHER, FakePlatform, member, needs_lti, pem, register
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from grader.book.gradebook import Gradebook
from grader.cli import app
from grader.course import Course
from grader.people import server
from grader.people.roster import Person

pytestmark = needs_lti


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return new_course(tmp_path_factory.mktemp("course"))


@pytest.fixture
def there(course, monkeypatch) -> Iterator[FakePlatform]:
    with_gradebook(course)
    fake = FakePlatform(
        [
            member("u1", "Jane", "Doe", email="jane@x.edu", lis_person_sourcedid="jdoe"),
            member("u2", "Zoë", "van Dyk", email="zoe@x.edu"),
            member("u3", "Tea", "Cher", TEACHER, email="tea@x.edu"),
            member("u4", "Tom", "Roe", ASSISTANT, "http://purl.imsglobal.org/vocab/lis/v2/institution/person#Student"),
            member("U5", "Ai", "Ota", "Learner", ext_user_username="aota"),
            member("u6", "Go", "Ne", status="Inactive"),
            member("u7", "De", "Leted", status="Deleted"),
            member("u8", "Student", "Test", f"{ROLE}#Learner", "http://purl.imsglobal.org/vocab/lti/system/person#TestUser"),
        ]
    )  # fmt: skip
    monkeypatch.chdir(course.root)
    monkeypatch.setattr(server, "time", Clock())
    with fake.serving() as fake.url:
        register(course.grading, fake.url)
        yield fake
    without_gradebook(course)


def take(there: FakePlatform, *more: str) -> tuple[int, str]:
    return there.what_is_said(CliRunner().invoke(app, ["roster", "lti", *more]))


def refused(there: FakePlatform, *more: str) -> str:
    status, said = take(there, *more)
    assert status == 1 and len(said) < 2000 and said.endswith((".", "?")), said
    return said


def roster(course: Course) -> dict[str, Person]:
    with Gradebook.open(course) as gradebook:
        return gradebook.roster()


CLASS = {
    "jdoe": Person("jdoe", "Jane", "Doe", "jane@x.edu"),
    "zoe@x.edu": Person("zoe@x.edu", "Zoë", "van Dyk", "zoe@x.edu"),
    "aota": Person("aota", "Ai", "Ota"),
}


def test_learners_are_shown_first_and_entered_if_one_wants_it_and_nobody_else_is(there, course):
    status, said = take(there)
    assert status == 0 and "3 learners on the platform: 3 new" in said and "Nothing has changed" in said
    assert roster(course) == {}
    for who in ("Tea Cher (Instructor)", "Tom Roe (Instructor, TeachingAssistant)", "Student Test (no role)"):
        assert who in said
    assert "Go Ne, De Leted. The platform no longer counts them" in said
    assert take(there, "--enter")[0] == 0 and roster(course) == CLASS
    assert "0 new, 0 changed" in take(there, "--enter")[1]
    pages = [each for each in there.requests if "/services/members" in each]
    assert len(pages) == 12 and pages[1].endswith("?Page=1")  # the address of a page keeps its capitals


def test_who_is_on_the_roster_keeps_the_id_and_is_known_afterwards_whatever_changes_there(there, course):
    with Gradebook.open(course) as gradebook:
        gradebook.enter_people(
            [Person("jane", "J.", "Doe", "jane@x.edu", "Monday", "1001"), Person("gone", "Go", "Ne")]
        )
    said = take(there, "--enter")[1]
    assert "jdoe is jane" in said and "not in the platform's list: gone" in said
    assert roster(course)["jane"] == Person("jane", "Jane", "Doe", "jane@x.edu", "Monday", "1001")
    there.members[0] |= {"email": "jane@new.edu", "lis_person_sourcedid": "doe-new", "family_name": "Roe"}
    assert take(there, "--enter")[0] == 0
    assert roster(course)["jane"].email == "jane@new.edu" and "doe-new" not in roster(course)
    there.members[0]["status"] = "Inactive"
    assert "Left out: Jane Doe (jane here), Go Ne" in take(there, "--enter")[1]
    assert "jane" in roster(course)


def test_only_a_name_that_is_the_same_is_asked_about(there, course):
    with Gradebook.open(course) as gradebook:
        gradebook.enter_people([Person("o7", "Ai", "Ota")])
    assert "--same-names" in refused(there, "--enter") and roster(course).keys() == {"o7"}
    assert take(there, "--enter", "--same-names")[0] == 0 and roster(course).keys() == {
        "o7",
        "jdoe",
        "zoe@x.edu",
    }
    assert take(there, "--enter")[0] == 0  # who it is on the platform is known now


def test_an_id_is_one_student_s_and_goes_with_a_merge_and_a_removal(there, course):
    take(there, "--enter")
    with Gradebook.open(course) as gradebook:
        platform = there.url
        assert gradebook.lti_users(platform) == {"jdoe": "u1", "zoe@x.edu": "u2", "aota": "U5"}
        gradebook.merge("zoe@x.edu", "zoe", [])
        gradebook.note_lti_users(platform, {"jane": "u1"})
        gradebook.remove_people(["aota"])
        assert gradebook.lti_users(platform) == {"jane": "u1", "zoe": "u2"}
        assert gradebook.lti_users("https://elsewhere.example") == {}


def test_a_platform_that_shows_no_names_gives_ids(there, course):
    there.members = [{"user_id": "0ad8-44", "roles": ["Learner"]}, {"user_id": "5", "roles": ["Learner"]}]
    assert take(there, "--enter")[0] == 0 and roster(course).keys() == {"0ad8-44", "5"}


def test_a_token_that_expires_in_the_middle_is_renewed(there, course):
    there.lifetime = 1
    assert take(there, "--enter")[0] == 0 and roster(course) == CLASS
    assert len(there.tokens) == 4
    there.lifetime = 0
    assert "this tool may not use the service (contextmembership.readonly)" in refused(there)


def test_what_the_platform_has_not_granted_is_said(there, course):
    there.granted.discard(NRPS)
    assert "does not let this tool use the service" in refused(there, "--enter")
    assert roster(course) == {}


def test_a_key_that_the_platform_does_not_know_is_said(there, course):
    file = course.grading / "lti-key.pem"
    file.write_text(pem("somebody"))
    said = refused(there)
    assert "gives no token" in said and "--public-key" in said and "secret" not in said
    register(course.grading, there.url, client_id="other")
    assert "Compare `client_id`" in refused(there)


def test_the_public_key_is_shown_and_the_private_one_is_not(there):
    status, said = take(there, "--public-key")
    (shown,) = json.loads(said)["keys"]
    assert status == 0 and shown["kty"] == "RSA" and {"n", "e", "kid", "alg", "use"} == shown.keys() - {"kty"}
    assert there.requests == []


# ---------------------------------------------------------------------------------- answers that are not a platform's


def first(place: str, *replies: Reply) -> object:
    """A lie: the answers at one place, in turn, the last for ever."""
    left = list(replies)
    return lambda where, reply: (left.pop(0) if len(left) > 1 else left[0]) if where == place else reply


def says(members: object) -> Reply:
    return 200, {}, json.dumps({"id": "x", "members": members})


@pytest.mark.parametrize(
    ("place", "reply", "said"),
    [
        ("POST token", (200, {}, "{}"), "gives no usable token"),
        ("POST token", (200, {}, '{"access_token": "a\\nb", "token_type": "Bearer"}'), "gives no usable token"),
        ("POST token", (200, {}, '{"access_token": "a", "token_type": "mac"}'), "gives no usable token"),
        ("POST token", (200, {}, "<html>Log in</html>"), "not the JSON"),
        ("POST token", (302, {"Location": "http://localhost:9/steal"}, ""), "status 302"),
        ("POST token", (500, {}, ""), "fails with status 500"),
        ("POST token", (429, {"Retry-After": "31536000"}, ""), "wants 31536000 s without requests"),
        ("GET members", (401, {}, ""), "may not use the service"),
        ("GET members", (403, {}, '{"error": "\\u001b[2J"}'), "may not use the service"),
        ("GET members", (404, {}, ""), "there is no such course or column"),
        ("GET members", (429, {}, ""), "is throttling requests"),
        ("GET members", (429, {"Retry-After": "31536000"}, ""), "longer than this waits"),
        ("GET members", (500, {}, ""), "fails with status 500"),
        ("GET members", (302, {"Location": "http://localhost:9/steal"}, ""), "status 302"),
        ("GET members", (200, {"Link": '<http://localhost:9/x>; rel="next"'}, '{"members": []}'), "another address"),
        ("GET members", (200, {"Link": '<?>; rel="next"'}, '{"members": []}'), "does not end"),
        ("GET members", (200, {}, itertools.repeat(b"[" + b" " * 65536)), "more than 8 MB"),
        ("GET members", (200, {}, "[]"), "not the JSON"),
        ("GET members", (200, {}, '{"members": NaN}'), "not the JSON"),
        ("GET members", (200, {}, "{}"), "it lists no members"),
        ("GET members", says({"u1": 1}), "it lists no members"),
        ("GET members", says([7]), "not an object"),
        ("GET members", says([]), "lists no learners"),
        ("GET members", says([{"user_id": "1"}]), "as what a member is"),
        ("GET members", says([{"user_id": "1", "roles": [1]}]), "as what a member is"),
        ("GET members", says([{"roles": ["Learner"]}]), "one of the members has no usable id"),
        ("GET members", says([{"user_id": "a\x1b", "roles": ["Learner"]}]), "no usable id"),
        ("GET members", says([{"user_id": "a" * 256, "roles": ["Learner"]}]), "no usable id"),
        ("GET members", says([{"user_id": "1", "roles": ["Learner"], "status": "Here"}]), "is active"),
        ("GET members", says([{"user_id": "1", "roles": ["Learner"]}, {"user_id": "1", "roles": []}]), "twice, and differently"),
        ("GET members", says([{"user_id": n, "roles": ["Learner"], "email": "a@x"} for n in "12"]), "contradicts itself"),
    ],
)  # fmt: skip
def test_what_no_platform_would_say_is_one_sentence_and_changes_nothing(there, course, place, reply, said):
    there.lie = first(place, reply)
    assert said in refused(there, "--enter")
    assert roster(course) == {} and not any("steal" in each for each in there.requests)


def test_a_list_that_does_not_end_is_given_up(there, monkeypatch):
    monkeypatch.setattr(server, "PAGES", 20)
    pages = itertools.count()

    def another(place: str, reply: Reply) -> Reply:
        more = {"Link": f'<{there.url}/services/members?p={next(pages)}>; rel="next"'}
        return (200, more, '{"members": []}') if place == "GET members" else reply

    there.lie = another
    assert "page 20 continues at" in refused(there)


def test_a_name_with_the_token_in_it_is_shown_without(there, course):
    there.lie = lambda place, reply: (
        says([member("u1", f"J {'secret-token-1'}\x1b[2J", "Doe")]) if place == "GET members" else reply
    )
    assert take(there, "--enter")[0] == 0
    assert "secret-token" not in str(roster(course)) and "\x1b" not in str(roster(course))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.just("Learner"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["user_id", "roles", "status", "email", "name", "given_name", "ext_user_username"]), JSON
)
def test_whatever_a_member_is_it_is_read_or_refused_in_a_sentence(there, name, value):
    there.lie = lambda place, reply: (
        says([member("u1", "Jane", "Doe") | {name: value}]) if place == "GET members" else reply
    )
    status, _ = take(there)
    assert status == 0 or refused(there)
