"""A request's file, whatever a learner, an editor or a mail program has made of it."""

from __future__ import annotations

import pytest
from classroom import START, new_course
from hypothesis import assume, given
from hypothesis import strategies as st

from grader.book.requests import Asked
from grader.book.results import Submission
from grader.course import Course
from grader.files import Unreadable
from grader.receive.regrade import MAX_FILE, MAX_WORDS, Desk, blank, is_request, legible
from grader.receive.sources import Offer

CODE = "0123456789abcdef" * 2
FORM = blank(START, "softmax", CODE)
PLAIN = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]) | st.just(" "), min_size=1)


class Book:
    """A gradebook with one submission, anna's."""

    def submissions(self) -> dict[str, Submission]:
        return {CODE: Submission("anna", START)}


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> Desk:
    return Desk(new_course(tmp_path_factory.mktemp("course")), Book())


def read(desk: Desk, data: str | bytes, student: str = "") -> Asked:
    data = data.encode() if isinstance(data, str) else data
    return desk.read(Offer(("anna", "regrade.txt"), lambda: data), student)


@given(PLAIN, st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]), st.sampled_from(["\n", "\r\n"]))
def test_words_come_through_every_editor(desk, words, encoding, newline):
    text = f"{FORM}{words}".replace("\n", newline)
    assume(words.strip(" -"))
    asked = read(desk, text.encode(encoding))
    assert (asked.student, asked.lab, asked.cell, asked.submission) == ("anna", START, "check_softmax", CODE)
    assert asked.words == words.strip() and asked.file == "anna/regrade.txt"


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_refused_or_safe_to_show(desk, data, with_form):
    try:
        words = read(desk, FORM.encode() + data if with_form else data).words
    except Unreadable as error:
        assert str(error).isprintable()
    else:
        assert with_form and words and legible(words) == words


@pytest.mark.parametrize(
    "text",
    [
        f"> Lab: {START}\n> Exercise: softmax\n> Submission: {CODE}\n>\nIt is right.",  # quoted in a mail
        f"submission: {CODE.upper()}\nEXERCISE : `Softmax`\nIt is right.",  # as little as is needed
        f"{FORM}It is right.\n" + "\n" * 50,
        f"It is right.\n{FORM}",
    ],
)
def test_what_mail_and_haste_leave_of_the_form_is_enough(desk, text):
    assert read(desk, text).words.lstrip("> \n") == "It is right."
    assert read(desk, text).cell == "check_softmax"


def test_a_second_line_that_looks_like_the_form_is_the_learner_s(desk):
    assert read(desk, f"{FORM}Exercise: the second case\nis unfair").words.startswith("Exercise: the second")


def test_text_from_old_windows_is_read(desk):
    assert read(desk, f"{FORM}Größe stimmt".encode("cp1252")).words == "Größe stimmt"


def test_what_could_disturb_a_terminal_or_hide_text_is_replaced_and_what_joins_letters_stays(desk):
    words = read(desk, f"{FORM}a\x1b[31m\x07\u202eb \u200dc\u200c\td").words
    assert words == "a\ufffd[31m\ufffd\ufffdb \u200dc\u200c   d"


def test_long_words_are_cut_and_it_is_said(desk):
    words = read(desk, FORM + "é" * (MAX_WORDS + 7)).words
    assert words.startswith("é" * MAX_WORDS) and words.endswith("[7 more characters were left out]")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (FORM, "no words of its own"),
        (FORM.replace(CODE, "anna"), "the code from the feedback page"),
        (FORM.replace(CODE, "f" * 32) + "Why?", "knows no submission"),
        (FORM.replace("softmax", "softmix") + "Why?", f"names none of {START}: softmax"),
        (f"{FORM}{'x' * MAX_FILE}", "more than 64 KiB"),
        (b"PK\x03\x04" + FORM.encode(), "not plain text"),
        (b"{\\rtf1 " + FORM.encode(), "not plain text"),
        (f"{FORM}Why?".encode("utf-16-le"), "not plain text"),  # without the mark that says so
        (b"", "the code from the feedback page"),
        (
            b"<!DOCTYPE html>\n<html>" + b"x" * MAX_FILE,
            r"web page, .* the small text file .* \(regrade-<exercise>.txt\)",
        ),
    ],
)
def test_what_is_no_request_is_told_with_what_to_do(desk, data, words):
    with pytest.raises(Unreadable, match=words):
        read(desk, data)


def test_it_is_the_code_that_says_whose_it_is(desk):
    assert read(desk, f"{FORM}Why?", "Anna").student == "anna"
    with pytest.raises(Unreadable, match="about anna's work, but mallory handed it in"):
        read(desk, f"{FORM}Why?", "mallory")


def test_without_a_gradebook_nobody_can_ask(tmp_path):
    with (
        Desk.opened(Course(tmp_path)) as desk,
        pytest.raises(Unreadable, match="knows no submission"),
    ):
        read(desk, f"{FORM}Why?")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("regrade-softmax.txt", True),
        ("Regrade-softmax (1).txt", True),
        ("regrade-softmax.txt.txt", True),
        ("regrade.docx", True),  # to be told what is wrong with it
        ("doejane_12345_67890_regrade-softmax-1.txt", True),
        ("Jane Doe_123_assignsubmission_file_regrade-softmax.txt", True),
        ("start_here.ipynb", False),
        ("regrade-me.ipynb", False),
        ("anna_regrade.ipynb.txt", False),
        ("upgrade-softmax.txt", False),
        ("timestamp.txt", False),
    ],
)
def test_requests_are_known_by_their_names(name, expected):
    assert is_request(Offer((name,), bytes)) == expected
