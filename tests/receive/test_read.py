"""Any bytes -> plain cells, or why not."""

from __future__ import annotations

import json
import os

import pytest
from nbformat import NotebookNode
from small_lab import SOLUTIONS, cell, release, solved

from grader.files import REASON_FILE, find_notebook, printable
from grader.receive.read import MAX_ATTACHMENTS, MAX_CELLS, read_submission
from grader.receive.rebuild import rebuild


def bytes_of(notebook: NotebookNode) -> bytes:
    return json.dumps(notebook).encode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b" \n\t", "only white space"),
        (b"\xef\xbb\xbf", "empty"),
        (b"\x00" * 5000, "zero bytes"),
        (b"PK\x03\x04...", "zip archive"),
        (b"\x1f\x8b\x08", "compressed archive"),
        (b"%PDF-1.7", "PDF"),
        (b" \n<!DOCTYPE html><html>", "web page"),
        (b"<html>", "web page"),
        (b'\xff\xfe{"cells": [', "UTF-16, but cannot be read as such"),
        (b'{"cells": ["', "cut off"),
        (b'{"cells": {"0": {}}}', "no cells: what should be the list"),
        (b"[" * 2_000_000, "too many pieces"),
        (b'{"cells": [' + b"0," * 6_000_000, "too many pieces"),
        (b'{"a":' * 900_000, "nested too deeply"),
        (b'{"cells": [{"source": "' + b"x" * 10_000_001 + b'"}]}', "million characters of text"),
        (b"hello", "not valid JSON (line 1"),
        (b'{"cells": [', "not valid JSON"),
        (b"[1, 2]", "not a notebook"),
        (b'{"name": "x"}', "not a notebook"),
        (b'{"cells": []}', "no cells"),
        (b'{"cells": 3, "nbformat": 4}', "no cells"),
        (b'{"cells": [1, null, "x"]}', "no cells"),
        (b'{"worksheets": [1, {}]}', "no cells"),
        (b'{"worksheets": 3}', "no cells"),
        (
            b'{\n<<<<<<< HEAD\n"cells": []\n=======\n"cells": [1]\n>>>>>>> theirs\n}',
            "merge conflict (line 2)",
        ),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"cells": ' + b"1" * 10_000 + b"}", "no cells: what should be the list"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not valid JSON"),
        (json.dumps({"cells": [{}] * (MAX_CELLS + 1)}).encode(), "cells; more than"),
    ],
)
def test_what_is_no_notebook_is_unreadable_with_the_reason(data, words):
    result = read_submission(data)
    assert words in result.problem
    assert result.cells == ()


def test_a_file_beyond_the_size_limit_is_unreadable(monkeypatch, tmp_path):
    monkeypatch.setattr("grader.receive.read.MAX_BYTES", 1000)
    path = tmp_path / "big.ipynb"
    path.write_bytes(b" " * 2000)
    assert "larger than" in read_submission(path).problem


def test_a_missing_file_a_folder_and_a_link_are_unreadable(tmp_path):
    (tmp_path / "folder.ipynb").mkdir()
    (tmp_path / "real.ipynb").write_bytes(bytes_of(release()))
    (tmp_path / "link.ipynb").symlink_to(tmp_path / "real.ipynb")
    assert "There is no none.ipynb" in read_submission(tmp_path / "none.ipynb").problem
    assert "is not a file" in read_submission(tmp_path / "folder.ipynb").problem
    assert "symbolic link" in read_submission(tmp_path / "link.ipynb").problem
    assert read_submission(tmp_path / "real.ipynb").problem == ""


def test_links_pipes_and_devices_are_neither_followed_nor_waited_for(tmp_path):
    student, elsewhere = tmp_path / "submitted" / "anna", tmp_path / "elsewhere" / "lab"
    student.mkdir(parents=True)
    elsewhere.mkdir(parents=True)
    (elsewhere / "small.ipynb").write_bytes(bytes_of(release()))
    (student / "lab").symlink_to(elsewhere)
    (student.parent / "ben").symlink_to(elsewhere.parent)
    os.mkfifo(student / "small.ipynb")
    for name in ("anna", "ben"):
        path, _ = find_notebook(student.parent / name / "lab", "small.ipynb")
        assert "folder is a symbolic link" in read_submission(path).problem
    assert "is not a file" in read_submission(student / "small.ipynb").problem
    (student / "loop.ipynb").symlink_to(student / "loop.ipynb")
    assert "symbolic link" in read_submission(student / "loop.ipynb").problem
    (student / "zero.ipynb").symlink_to("/dev/zero")
    assert "symbolic link" in read_submission(student / "zero.ipynb").problem


def test_why_it_was_not_collected_is_the_problem_of_an_empty_submission(tmp_path):
    (tmp_path / REASON_FILE).write_text("It was \u202eencrypted.\n")
    assert read_submission(tmp_path / "small.ipynb").problem == "It was \ufffdencrypted."
    (tmp_path / "small.ipynb").write_bytes(bytes_of(release()))
    assert read_submission(tmp_path / "small.ipynb").problem == ""


def test_names_are_shown_without_what_could_mislead_or_fill_the_screen():
    assert printable("a\x1b[31m\u202eb\nc") == "a\ufffd[31m\ufffdb\ufffdc"
    assert printable("x" * 1000) == "x" * 99 + "…"


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "cp1252", "latin-1"],
)
def test_a_notebook_is_read_in_whatever_encoding_it_was_saved(encoding):
    notebook = solved()
    cell(notebook, "why").source = "Weil es übrig bleibt."
    result = read_submission(json.dumps(notebook, ensure_ascii=False).encode(encoding))
    assert "Weil es übrig bleibt." in [each.text for each in result.cells]
    assert bool(result.notes) == (not encoding.startswith("utf-8"))


def one_cell(**values) -> dict:
    return {"nbformat": 4, "cells": [{"cell_type": "code", "source": "x = 1", **values}]}


@pytest.mark.parametrize(
    ("notebook", "note"),
    [
        (
            one_cell(source="a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n"),
            "Cell 1 of the file: an unresolved merge",
        ),
        (one_cell(source="x = 1 # \u202e"), "direction of the text"),
        (one_cell(source=17), "something else"),
        (one_cell(source=["x", {}]), "something else"),
        (one_cell(attachments={"a.png": {}}), "the file 'a.png' attached to it has no content"),
        (
            one_cell(attachments={"a.png": {"text/html": "x", "image/png": "A"}}),
            "of 'a.png' attached to it, only image/png was looked at",
        ),
        (
            one_cell(attachments={f"{n}.png": {"image/png": "A"} for n in range(MAX_ATTACHMENTS + 1)}),
            f"of its attached files, only {MAX_ATTACHMENTS} were looked at",
        ),
        ({"cells": [1, {"source": "x"}, None]}, "Cells 1, 3 of the file: no cell of a notebook"),
        (one_cell() | {"nbformat": 99}, "in format 99"),
        (one_cell() | {"nbformat": 5}, "in format 5"),
    ],
)
def test_what_is_odd_but_can_be_read_is_noted(notebook, note):
    result = read_submission(json.dumps(notebook).encode())
    assert result.problem == "" and len(result.notes) == 1
    assert note in result.notes[0]


def test_names_that_are_there_twice_are_noted_and_the_last_counts():
    data = b'{"cells": [{"cell_type": "code", "source": "first", "source": "last"}], "nbformat": 4}'
    result = read_submission(data)
    assert [each.text for each in result.cells] == ["last"]
    assert result.notes == ("The file gives 'source' twice in one place; the last one counts.",)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", "-1e-999", "1" * 10_000, "1" * 10_000 + ".5"])
def test_numbers_that_no_notebook_has_do_no_harm(number):
    data = json.dumps(solved()).replace('"nbformat_minor"', f'"x": {number}, "nbformat_minor"').encode()
    assert read_submission(data) == read_submission(bytes_of(solved()))


@pytest.mark.parametrize(
    ("version", "old"),
    [
        (
            1,
            {
                "cells": [
                    {"cell_type": "code", "code": SOLUTIONS["double"]},
                    {"cell_type": "text", "text": "A"},
                ]
            },
        ),
        (2, {"worksheets": [{"cells": [{"cell_type": "code", "input": SOLUTIONS["double"]}]}]}),
    ],
)
def test_still_older_formats_are_read_with_a_note(version, old):
    read = read_submission(json.dumps({"nbformat": version, **old}).encode())
    assert f"in format {version}" in read.notes[0]
    assert cell(rebuild(release(), read.cells).notebook, "double").source == SOLUTIONS["double"]


def test_format_3_notebooks_with_worksheets_are_read():
    old = {
        "nbformat": 3,
        "worksheets": [
            {"cells": [{"cell_type": "code", "input": [SOLUTIONS["double"]], "language": "python"}]}
        ],
    }
    result = rebuild(release(), read_submission(json.dumps(old).encode()).cells)
    assert cell(result.notebook, "double").source == SOLUTIONS["double"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (["a\n", "b"], "a\nb"),
        (["a\n", None, 3, "b"], "a\nb"),
        (None, ""),
        (17, ""),
        ({"a": 1}, ""),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\ud800x", "\ufffdx"),
    ],
)
def test_a_source_of_any_kind_becomes_text(source, text):
    data = json.dumps({"cells": [{"cell_type": "code", "source": source}]}).encode()
    assert read_submission(data).cells[0].text == text


def test_the_only_notebook_under_another_name_is_taken_with_a_note(tmp_path):
    (tmp_path / "small (1).ipynb").write_text("{}")
    path, notes = find_notebook(tmp_path, "small.ipynb")
    assert path.name == "small (1).ipynb"
    assert "small (1).ipynb" in notes[0]
    (tmp_path / "copy.ipynb").write_text("{}")
    path, notes = find_notebook(tmp_path, "small.ipynb")
    assert path == tmp_path / "small.ipynb"
    assert notes[0].startswith("Several notebooks were handed in ('copy.ipynb', 'small (1).ipynb')")
