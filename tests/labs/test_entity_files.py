"""Files of annotated texts: three formats come out the same, and every row that cannot be used is reported."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_utils.data.entities import MAX_BAD_ROWS, Entity, EntityExample, load_entities

TEXT = "Jane Doe, nurse in New York"
FOUND = [EntityExample(TEXT, (Entity(0, 8, "PER"), Entity(19, 27, "LOC")))]

BIO = """-DOCSTART- -X- -X- O

Jane NNP B-NP B-PER
Doe, NNP I-NP I-PER
nurse NN I-NP O
in IN B-PP O
New NNP B-NP B-LOC
York NNP I-NP I-LOC
"""
IOB1 = BIO.replace(" B-", " I-")
DOCCANO = json.dumps({"id": 7, "text": TEXT, "label": [[0, 8, "PER"], [19, 27, "LOC"]]})
DOCCANO_WITH_RELATIONS = json.dumps(
    {
        "text": TEXT,
        "entities": [
            {"id": 1, "start_offset": 0, "end_offset": 8, "label": "PER"},
            {"id": 2, "start_offset": 19, "end_offset": 27, "label": "LOC"},
        ],
        "relations": [],
    }
)
DATATURKS = json.dumps(
    {
        "content": TEXT,
        "annotation": [
            {"label": ["PER"], "points": [{"start": 0, "end": 7, "text": "Jane Doe"}]},
            {"label": "LOC", "points": [{"start": 19, "end": 26, "text": "New York"}]},
        ],
        "extras": None,
    }
)


@pytest.fixture
def load(tmp_path):
    def load(content: str | bytes):
        path = tmp_path / "annotated.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load_entities(path)

    return load


def reasons(result) -> list[tuple[str, str]]:
    return [(bad.row, bad.reason) for bad in result[1]]


# ---------------------------------------------------------------------------------- what is read


@pytest.mark.parametrize("content", [DOCCANO, DOCCANO_WITH_RELATIONS, DATATURKS])
def test_the_json_lines_of_both_tools_give_the_same_example(load, content):
    assert load(content) == (FOUND, [])


@pytest.mark.parametrize("content", [BIO, IOB1])
def test_columns_give_texts_with_offsets_in_either_scheme(load, content):
    (example,), bad = load(content)
    assert not bad
    assert example.text == TEXT
    assert [(TEXT[e.start : e.end], e.label) for e in example.entities] == [
        ("Jane Doe,", "PER"),
        ("New York", "LOC"),
    ]


@pytest.mark.parametrize(
    "change", [("\n", "\r\n"), (" ", "\t"), ("-DOCSTART", "\ufeff-DOCSTART"), ("nurse", "\nnurse")]
)
def test_line_ends_tabs_and_a_byte_order_mark_are_no_problem(load, change):
    examples, bad = load(BIO.replace(*change))
    assert not bad
    assert [e.label for example in examples for e in example.entities] == ["PER", "LOC"]


def test_neighbours_of_one_type_are_told_apart_in_either_scheme(load):
    for lines in ("Ann B-PER\nBob B-PER\nWu I-PER", "Ann I-PER\nBob B-PER\nWu I-PER"):
        (example,), _ = load(lines)
        assert example.entities == (Entity(0, 3, "PER"), Entity(4, 10, "PER"))


def test_spans_stay_as_they_were_annotated(load):
    row = {"text": TEXT, "label": [[9, 15, "JOB"], [0, 8, "PER"], [0, 4, "PER"]]}
    assert load(json.dumps(row))[0][0].entities == (
        Entity(9, 15, "JOB"),
        Entity(0, 8, "PER"),
        Entity(0, 4, "PER"),
    )


@pytest.mark.parametrize("content", [{"text": TEXT, "label": []}, {"content": TEXT, "annotation": None}])
def test_a_text_without_entities_is_an_example_too(load, content):
    assert load(json.dumps(content)) == ([EntityExample(TEXT, ())], [])


# ---------------------------------------------------------------------------------- what is reported


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("7", "expected an object {...}, but this is 7"),
        ('{"title": "CV"}', 'neither "text"'),
        ('{"text": " ", "label": []}', "\"text\" must be a text, but is ' '"),
        ('{"text": "\\ud800", "label": []}', "half a character"),
        ('{"text": "CV"}', 'neither "label" nor "entities"'),
        ('{"text": "CV", "label": {}}', '"label" must be a list, but is an object'),
        ('{"text": "CV", "label": [[0, 2]]}', "[start, end, label], and holds a list of 2"),
        (
            '{"text": "CV", "label": [[0, 3, "A"]]}',
            "'A' goes from character 0 to 3 of a text of 2 characters",
        ),
        ('{"text": "CV", "label": [[1, 1, "A"]]}', "'A' goes from character 1 to 1"),
        ('{"text": "CV", "label": [[true, 2, "A"]]}', "whole numbers, but are True and 2"),
        ('{"text": "CV", "label": [[0, 1.5, "A"]]}', "whole numbers, but are 0 and 1.5"),
        ('{"text": "CV", "label": [[0, 2, null]]}', "a label must be a text, but is missing"),
        ('{"text": "CV", "entities": [{"start_offset": 0}]}', "a label must be a text"),
        (
            '{"content": "CV", "annotation": [{"label": [], "points": [{"start": 0, "end": 1}]}]}',
            'no "label"',
        ),
        ('{"content": "CV", "annotation": [{"label": ["A"]}]}', '"points" must be a list, but is missing'),
        ('{"content": "CV", "annotation": [{"label": ["A"], "points": [3]}]}', '"points" must hold objects'),
    ],
)
def test_a_row_that_cannot_be_used_is_reported_and_the_others_are_kept(load, row, reason):
    examples, bad = load(f"{DOCCANO}\n{row}\n\n{DOCCANO}\n")
    assert examples == FOUND * 2
    assert bad[0].file == "annotated.txt"
    assert bad[0].row == "line 2"
    assert reason in bad[0].reason
    assert len(bad) == 1


def test_an_end_that_was_counted_otherwise_is_noticed_by_the_quotation(load):
    result = load(DOCCANO + "\n" + DATATURKS.replace('"end": 7', '"end": 8'))
    assert reasons(result) == [
        (
            "line 2",
            "'PER' is 'Jane Doe' according to its quotation, but 'Jane Doe,' according to its position",
        )
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("York", "expected a token and its tag, but found 'York'"),
        ("York E-LOC", "the tag 'E-LOC' is neither O nor B-... nor I-..."),
        ("York LOC", "the tag 'LOC' is neither"),
        ("York I-PER", "I-PER begins an entity, where this file has B-PER elsewhere"),
    ],
)
def test_a_sentence_with_a_wrong_line_is_reported_by_that_line(load, line, reason):
    examples, bad = load(BIO + f"\nin O\n{line}\n\nBob B-PER\n")
    assert [example.text for example in examples] == [TEXT, "Bob"]
    assert [report.row for report in bad] == ["line 11"]
    assert reason in bad[0].reason


def test_bytes_that_are_no_text_cost_their_row_only(load):
    examples, bad = load(DOCCANO.encode() + b"\n\xff\xfe{}\n")
    assert examples == FOUND
    assert "not UTF-8 text" in str(bad[0])


def test_of_many_bad_rows_the_first_are_listed_and_the_rest_are_counted(load):
    _, bad = load(DOCCANO + "\n{" * 500)
    assert len(bad) == MAX_BAD_ROWS + 1
    assert bad[-1].reason == f"{500 - MAX_BAD_ROWS} more cannot be used"


@pytest.mark.parametrize(
    "content", ["", " \n\n", "{\n", "[]", "-DOCSTART- O\n\n", "just a letter\nto somebody"]
)
def test_a_file_without_anything_usable_is_an_error_that_says_why(load, content):
    with pytest.raises(ValueError, match=r"No text of annotated\.txt can be used\. \w"):
        load(content)


def test_a_file_that_is_not_there_is_an_error_with_its_path(tmp_path):
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(ValueError, match="Is the path .* right"):
            load_entities(path)


# ---------------------------------------------------------------------------------- whatever comes


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def damaged_rows(draw) -> bytes:
    """Rows of all formats after mishaps to their bytes, or with any value in place of one of theirs."""
    rows = []
    for row in draw(
        st.lists(st.sampled_from([BIO, IOB1, DOCCANO, DOCCANO_WITH_RELATIONS, DATATURKS]), max_size=4)
    ):
        if row.startswith("{") and draw(st.booleans()):
            changed = json.loads(row)
            place, key = changed, draw(st.sampled_from(sorted(changed)))
            while isinstance(place[key], (list, dict)) and place[key] and draw(st.booleans()):
                place = place[key]
                key = draw(st.sampled_from(range(len(place)) if isinstance(place, list) else sorted(place)))
            place[key] = draw(json_values)
            row = json.dumps(changed)
        data = row.encode()
        if draw(st.booleans()):
            at = draw(st.integers(0, len(data)))
            data = data[:at] + draw(st.binary(max_size=6)) + data[at + draw(st.integers(0, 6)) :]
        rows.append(data)
    return b"\n".join(rows)


@settings(deadline=None)
@given(damaged_rows() | st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_whatever_a_file_holds_it_is_read_or_refused_with_a_message(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("files") / "annotated.txt"
    path.write_bytes(content)
    try:
        examples, bad = load_entities(path)
    except ValueError as error:
        assert "annotated.txt" in str(error)
        assert not isinstance(error, UnicodeError)
        return
    for example in examples:
        assert example.text.strip()
        example.text.encode()
        for start, end, label in example.entities:
            assert 0 <= start < end <= len(example.text)
            assert label.strip()
    if content.lstrip().startswith((b"{", b"[")):
        rows = sum(bool(line.strip()) for line in content.split(b"\n"))
        assert len(examples) + len(bad) == rows  # nothing is lost
