"""What stands in ``grading/lti.toml``: whatever is missing or wrong is said with the file, the key and a cure."""

from __future__ import annotations

import importlib.util
import json

import pytest
from fake_lti import CLIENT, needs_lti, pem, register

from grader.course import Course
from grader.errors import GraderError
from grader.people import lti
from grader.people.lti import read_registration
from grader.people.server import address_of

HOST = "https://moodle.example.edu"
SECRET = pem().splitlines()[1:-1] if importlib.util.find_spec("pylti1p3") else []


@pytest.fixture
def course(tmp_path) -> Course:
    (tmp_path / "grading").mkdir()
    return Course(tmp_path)


def why(course: Course) -> str:
    with pytest.raises(GraderError) as error:
        read_registration(course)
    assert not [line for line in SECRET if line in str(error.value)]
    return str(error.value)


@needs_lti
def test_a_registration_is_read_and_does_not_show_its_key(course):
    register(course.grading, HOST)
    found = read_registration(course)
    assert found.issuer == HOST and found.client_id == CLIENT and found.key == pem()
    assert found.audience == found.token_url == f"{HOST}/token"
    assert SECRET[0] not in repr(found) and "d" not in found.public()
    register(course.grading, HOST, audience="https://api.example.edu/oauth", members_url="")
    assert read_registration(course).audience == "https://api.example.edu/oauth"


@needs_lti
@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"issuer": ""}, "`issuer` is missing"),
        ({"client_id": ""}, "`client_id` is missing"),
        ({"token_url": ""}, "`token_url` is missing"),
        ({"private_key": ""}, "`private_key` is missing"),
        ({"client_id": "a\x1b[2J"}, "`client_id` is no text"),
        ({"client_id": "a" * 2001}, "`client_id` is no text"),
        (
            {"token_url": "http://moodle.example.edu/token"},
            "`token_url` is no address that begins with https://",
        ),
        ({"members_url": "moodle.example.edu"}, "`members_url` is no address"),
        ({"lineitems_url": "https://me:pw@x.edu/"}, "`lineitems_url` is no address"),
        ({"lineitem_url": "https://x.edu"}, "`lineitem_url` is no setting; there are issuer, client_id"),
        ({"private_key": "elsewhere.pem"}, "elsewhere.pem, which cannot be read (FileNotFoundError)"),
        ({"private_key": "."}, "which is no file"),
        ({"private_key": "lti.toml"}, "which others may open: run `chmod 600"),
    ],
)
def test_what_is_wrong_is_said_with_file_key_and_cure(course, other, says):
    file = register(course.grading, HOST, **other)
    assert (found := why(course)).startswith(f"{file}: ") and says in found and "docs/lti.md" in found


@needs_lti
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o777])
def test_a_key_that_others_may_open_is_refused(course, mode):
    register(course.grading, HOST)
    (course.grading / "lti-key.pem").chmod(mode)
    assert "others may open: run `chmod 600" in why(course)


@needs_lti
def test_only_a_private_rsa_key_of_some_length_is_one(course):
    from jwcrypto.jwk import JWK

    register(course.grading, HOST)
    file = course.grading / "lti-key.pem"
    short, curve = JWK.generate(kty="RSA", size=1024), JWK.generate(kty="EC", crv="P-256")
    locked = JWK.generate(kty="RSA", size=2048).export_to_pem(private_key=True, password=b"x").decode()
    for text, says in (
        (short.export_to_pem(private_key=True, password=None).decode(), "no RSA key of 2048 bits"),
        (curve.export_to_pem(private_key=True, password=None).decode(), "no RSA key of 2048 bits"),
        (locked, "without a password"),
        ("-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----\n", "no RSA key"),
        (short.export_to_pem().decode(), "no private key in PEM"),
        ("é", "cannot be read"),
        ("", "no private key in PEM"),
    ):
        file.write_text(text, "utf-8")
        assert says in why(course), text


def test_a_file_that_is_missing_or_no_toml_is_said(course):
    assert "There is no" in (found := why(course)) and "docs/lti.md has one to copy" in found
    (course.grading / "lti.toml").write_text("issuer = ")
    assert "cannot be read" in why(course)
    (course.grading / "lti.toml").write_text("x = " + "[" * 5000)
    assert "cannot be read: it is nested too deeply" in why(course)
    (course.grading / "lti.toml").write_text("\ufeffclient_id = 7")
    assert "`issuer` is missing" in why(course)
    (course.grading / "lti.toml").write_bytes(b"\xff\xfe")
    assert "cannot be read" in why(course)
    (course.grading / "lti.toml").write_text("client_id = 7")
    assert "`issuer` is missing" in why(course)


def test_without_the_library_the_command_says_what_to_install(course, monkeypatch):
    said = {"issuer": HOST, "client_id": "x", "token_url": HOST, "private_key": "key.pem"}
    (course.grading / "lti.toml").write_text(
        "".join(f"{name} = {json.dumps(value)}\n" for name, value in said.items())
    )
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "`scripts/setup_extra.sh lti` installs it" in why(course)


@needs_lti
def test_an_address_that_the_course_does_not_have_is_asked_for_when_it_is_needed(course):
    file = register(course.grading, HOST, members_url="", lineitems_url="")
    platform = lti.Platform(read_registration(course))
    for ask in (platform.members, lambda: platform.column("00_start_here")):
        with pytest.raises(GraderError, match="_url` is missing. docs/lti.md") as error:
            ask()
        assert str(file) in str(error.value)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://x.edu/a?b", "https://x.edu"),
        ("https://x.edu:8443/a", "https://x.edu:8443"),
        ("http://127.0.0.1:9/a", "http://127.0.0.1:9"),
        ("http://x.edu", ""),
        ("https://me:pw@x.edu", ""),
        ("https://x.edu:port", ""),
        ("https://[", ""),
        ("", ""),
    ],
)
def test_an_address_is_one_with_https_or_of_this_machine(url, address):
    assert address_of(url) == address
