"""Files as people have them: each is read as what it means, or refused in one sentence that says where, what and what to do."""

from __future__ import annotations

import io
import json
import zipfile
from collections import Counter
from typing import Any

import numpy as np
import pytest

from course_utils.data.language import language_of
from course_utils.data.own import COLUMNS, default_rows, groups_that_split, three_parts, write_rows
from course_utils.data.own_file import FileProblem, OwnFile, cure, read_file

TWO = [{"text": "Größe passt nicht", "label": "ware"}, {"text": "kam zu spät", "label": "versand"}]
NAME = [{"text": "Ada met Bob", "spans": [[0, 3, "PER"], [8, 11, "PER"]]}]
ASKED = [{"context": "It rained in May.", "question": "When?", "answer": "May", "start": 13}]


def table(delimiter: str = ",", header: str = "text,label", end: str = "\n") -> str:
    lines = [header, *(f"{row['text']},{row['label']}" for row in TWO)]
    return end.join(line.replace(",", delimiter) for line in lines) + end


def lines(*rows: Any) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


TEXT = "Ada met Bob"
READ = {  # file -> its bytes, the task, the rows, and a part of what is said about it
    "commas.csv": (table(), "classification", TWO, "commas"),
    "semicolons.csv": (table(";"), "classification", TWO, "semicolons"),
    "tabs.tsv": (table("\t"), "classification", TWO, "tabs"),
    "bars.txt": (table("|"), "classification", TWO, "vertical bars"),
    "said.csv": ("sep=;\n" + table(";"), "classification", TWO, "semicolons"),
    "windows.csv": (table(";").encode("cp1252"), "classification", TWO, "“Größe passt nicht;ware”"),
    "wide.csv": (table("\t").encode("utf-16"), "classification", TWO, "UTF-16"),
    "wide-without-a-mark.csv": (table("\t").encode("utf-16-le"), "classification", TWO, "UTF-16-LE"),
    "cubic-metres.csv": ("text,label\n5 cm³ für mich,a\n".encode("cp1252"), "classification", [{"text": "5 cm³ für mich", "label": "a"}], "Windows-1252"),
    "mark.csv": (table(end="\r\n").encode("utf-8-sig"), "classification", TWO, "commas"),
    "old-mac.csv": (table(end="\r"), "classification", TWO, "commas"),
    "blank-last-line.csv": (table() + "\n", "classification", TWO, "1 empty line skipped"),
    "empty-rows-of-a-sheet.csv": (table(";") + ";\n;\n", "classification", TWO, "2 empty lines skipped"),
    "empty-columns-of-a-sheet.csv": (table(";").replace("\n", ";;\n"), "classification", TWO, "semicolons"),
    "other-names.csv": (table(header="Sentence,Category"), "classification", TWO, "'Category' as label"),
    "german.csv": (table(";", "Nachricht,Kategorie"), "classification", TWO, "'Nachricht' as text"),
    "unknown-names.csv": (
        table(header="was,wohin") + "passt wieder nicht richtig,ware\nnoch immer nicht gekommen,versand\n" * 3,
        "classification",
        [*TWO, *[{"text": "passt wieder nicht richtig", "label": "ware"},
                 {"text": "noch immer nicht gekommen", "label": "versand"}] * 3],
        "Guessed from its values: 'was' as text, 'wohin' as label",
    ),
    "no-header.csv": (
        "passt mir gut,ware\nkam zu spät,versand\nkam zu früh,versand\npasst nicht,ware\nist zu eng,ware\nist zu weit,ware\n",
        "classification",
        [{"text": "passt mir gut", "label": "ware"}, {"text": "kam zu spät", "label": "versand"},
         {"text": "kam zu früh", "label": "versand"}, {"text": "passt nicht", "label": "ware"},
         {"text": "ist zu eng", "label": "ware"}, {"text": "ist zu weit", "label": "ware"}],
        "no header",
    ),
    "links.tsv": ("ham\tsee [here](http://x.y) my friend\nspam\tlet x = [1]\nham\tno, thanks a lot\nspam\twin <b>now</b>\n", "classification",
                  [{"text": "see [here](http://x.y) my friend", "label": "ham"}, {"text": "let x = [1]", "label": "spam"},
                   {"text": "no, thanks a lot", "label": "ham"}, {"text": "win <b>now</b>", "label": "spam"}], "no header"),
    "quoted.csv": ('text,label\n"a, b ""c""\nd",x\n', "classification", [{"text": 'a, b "c"\nd', "label": "x"}], "commas"),
    "quotes-that-mean-nothing.tsv": ('text\tlabel\n"Hm, he said\tx\n', "classification", [{"text": '"Hm, he said', "label": "x"}], "tabs"),
    "a-line-break-in-quotes.tsv": ('text\tlabel\n"a\nb"\ty\n', "classification", [{"text": "a\nb", "label": "y"}], "tabs"),
    "numbers-as-labels.jsonl": (
        lines({"text": "a", "label": 1}, {"text": "b", "label": 0}), "classification",
        [{"text": "a", "label": "1"}, {"text": "b", "label": "0"}], "labels are numbers",
    ),
    "floats-as-labels.csv": ("text,label\na,1.0\nb,0.0\n", "classification", [{"text": "a", "label": "1"}, {"text": "b", "label": "0"}], "commas"),
    "truth-as-labels.json": (
        json.dumps([{"text": "a", "label": True}, {"text": "b", "label": False}]), "classification",
        [{"text": "a", "label": "True"}, {"text": "b", "label": "False"}], "JSON",
    ),
    "array.json": (json.dumps(TWO, indent=2), "classification", TWO, "Form: JSON."),
    "array-in-the-wrong-ending.csv": (json.dumps(TWO), "classification", TWO, "Form: JSON."),
    "split.json": (json.dumps({"columns": ["text", "label"], "index": [0, 1], "data": [[*row.values()] for row in TWO]}), "classification", TWO, "JSON"),
    "over-several-lines.jsonl": ("\n".join(json.dumps(row, indent=1) for row in TWO), "classification", TWO, "JSON Lines"),
    "commas-after-lines.jsonl": (",\n".join(json.dumps(row) for row in TWO), "classification", TWO, "JSON Lines"),
    "fasttext.txt": ("\n".join(f"__label__{row['label']} {row['text']}" for row in TWO), "classification", TWO, "fastText"),
    "remark.csv": ("# exported in May\n" + table(), "classification", TWO, "Line 1 is a remark"),
    "backslashes.csv": ('text,label\n"a, b \\"c\\"",x\n', "classification", [{"text": 'a, b "c"', "label": "x"}], "commas"),
    "lines.json": (lines(*TWO) + b"\n\n", "classification", TWO, "JSON Lines"),
    "columns.json": (json.dumps({"text": [row["text"] for row in TWO], "label": [row["label"] for row in TWO]}), "classification", TWO, "JSON"),
    "pandas.json": (
        json.dumps({key: {str(place): row[key] for place, row in enumerate(TWO)} for key in TWO[0]}), "classification", TWO, "JSON",
    ),
    "parts.json": (json.dumps({"train": TWO[:1], "test": TWO[1:]}), "classification", TWO, "JSON"),
    "server-of-hugging-face.json": (
        json.dumps({"features": [], "rows": [{"row_idx": place, "row": row, "truncated_cells": []} for place, row in enumerate(TWO)]}),
        "classification", TWO, "JSON",
    ),
    "names-beside-numbers.jsonl": (
        lines(*({**row, "label": place, "label_text": row["label"]} for place, row in enumerate(TWO))),
        "classification", TWO, "'label_text' as label",
    ),
    "doccano-classes.jsonl": (lines(*({"id": 1, "data": row["text"], "label": [row["label"]]} for row in TWO)), "classification", TWO, "'data' as text"),
    "spacy-classes.json": (json.dumps([[row["text"], {"cats": {row["label"]: 1.0, "other": 0.0}}] for row in TWO]), "classification", TWO, "JSON"),
    "label-studio-classes.json": (
        json.dumps([{"id": 1, "data": {"text": row["text"]}, "annotations": [{"result": [{"value": {"choices": [row["label"]]}}]}]} for row in TWO]),
        "classification", TWO, "JSON",
    ),
    "doccano-spans.jsonl": (lines({"id": 1, "text": TEXT, "label": NAME[0]["spans"]}), "entities", NAME, "'label' as spans"),
    "doccano-entities.jsonl": (
        lines({"text": TEXT, "entities": [{"id": 1, "label": "PER", "start_offset": start, "end_offset": end} for start, end, _ in NAME[0]["spans"]],
               "relations": []}),
        "entities", NAME, "'relations'",
    ),
    "prodigy.jsonl": (lines({"text": TEXT, "spans": [{"start": 0, "end": 3, "label": "PER"}, {"start": 8, "end": 11, "label": "PER"}]}), "entities", NAME, ""),
    "label-studio-spans.json": (
        json.dumps([{"data": {"text": TEXT}, "annotations": [{"result": [
            {"value": {"start": start, "end": end, "text": "x", "labels": [label]}} for start, end, label in NAME[0]["spans"]]}]}]),
        "entities", NAME, "",
    ),
    "spacy.json": (json.dumps([[TEXT, {"entities": NAME[0]["spans"]}]]), "entities", NAME, ""),
    "spans-as-python.csv": (f"text,spans\n{TEXT},\"[(0, 3, 'PER'), (8, 11, 'PER')]\"\n", "entities", NAME, ""),
    "spans-in-semicolons.csv": (f"text;spans\n{TEXT};{json.dumps(NAME[0]['spans'])}\n", "entities", NAME, "semicolons"),
    "nested.jsonl": (lines({"text": TEXT, "spans": [[0, 11, "PAIR"], [0, 3, "PER"]]}), "entities", [{"text": TEXT, "spans": [[0, 11, "PAIR"], [0, 3, "PER"]]}], ""),
    "no-entities.csv": ("text;spans\nnobody;\n", "entities", [{"text": "nobody", "spans": []}], ""),
    "hugging-face-tags.jsonl": (lines({"tokens": TEXT.split(), "ner_tags": ["B-PER", "O", "B-PER"]}), "entities", NAME, "'tokens' as tokens"),
    "words.conll": ("Ada NNP B-PER\nmet VBD O\nBob NNP B-PER\n\nIt PRP O\n", "entities", [*NAME, {"text": "It", "spans": []}], "CoNLL"),
    "a-word-in-each-row.csv": (
        "Sentence #,Word,POS,Tag\nSentence: 1,Ada,NNP,B-PER\n,met,VBD,O\n,Bob,NNP,B-PER\nSentence: 2,It,PRP,O\n", "entities",
        [*NAME, {"text": "It", "spans": []}], "a word in each row; 'Sentence #'",
    ),
    "sentences-by-number.tsv": ("sent_id\ttoken\tner\n1\tAda\tB-PER\n1\tmet\tO\n1\tBob\tB-PER\n2\tIt\tO\n", "entities",
                                [*NAME, {"text": "It", "spans": []}], "'sent_id'"),
    "a-space-as-a-word.csv": ("tokens,ner_tags\n\"['Ada', ' ', 'met']\",\"['B-PER', 'O', 'O']\"\n", "entities", [{"text": "Ada   met", "spans": [[0, 3, "PER"]]}], "'tokens' as tokens"),
    "hash-as-word.conll": ("# O\nAda B-PER\n", "entities", [{"text": "# Ada", "spans": [[2, 5, "PER"]]}], "CoNLL"),
    "words.txt": ("Ada B-PER\nmet O\nBob B-PER\n\nIt O\n", "entities", [*NAME, {"text": "It", "spans": []}], "CoNLL"),
    "long-names.conll": ("Ada B-PER\nLovelace I-PER\nand O\nYork I-LOC\n", "entities",
                         [{"text": "Ada Lovelace and York", "spans": [[0, 12, "PER"], [17, 21, "LOC"]]}], "CoNLL"),
    "squad.json": (
        json.dumps({"version": "v2.0", "data": [{"title": "rain", "paragraphs": [{"context": ASKED[0]["context"], "qas": [
            {"id": "1", "question": "When?", "answers": [{"text": "May", "answer_start": 13}], "is_impossible": False},
            {"id": "2", "question": "Why?", "answers": [], "is_impossible": True}]}]}]}),
        "questions", ASKED, "1 question without an answer",
    ),
    "hugging-face-squad.jsonl": (
        lines({"id": "1", "title": "rain", "context": ASKED[0]["context"], "question": "When?", "answers": {"text": ["May"], "answer_start": [13]}}),
        "questions", ASKED, "'title' as group",
    ),
    "answers-without-a-place.csv": ("passage;query;answer\nIt rained in May.;When?;May\n", "questions", ASKED, "was looked up"),
    "places-as-text.jsonl": (lines({**ASKED[0], "start": "13"}), "questions", ASKED, ""),
}  # fmt: skip


def without_group(file: OwnFile) -> list[dict[str, Any]]:
    return [{column: value for column, value in row.items() if column != "group"} for row in file.rows]


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_as_what_it_means(tmp_path, labs, name):
    content, task, rows, said = READ[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    file = read_file(tmp_path / name, task)
    assert without_group(file) == rows
    assert said in str(file)
    assert len(file.places) == len(rows)
    assert labs["13_your_own_dataset"].reference["validate_rows"](file.rows, task) == []


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("data.csv", table())
    return file.getvalue()


ZIP = _zip()
REFUSED = {  # file -> its bytes, the task, and what the sentence says
    "nothing.csv": (b"", "classification", "has no rows"),
    "header-only.csv": (b"text,label\n", "classification", "has no rows"),
    "one-column.csv": (b"hello\nworld\n", "classification", "line 1: there is one column only"),
    "unknown.csv": (b"a,b,c\n1,2,3\n", "classification", r"no column that is known as text or label; it has 'a', 'b', 'c'.*columns="),
    "comma-in-a-text.csv": (b"text,label\nfine,x\none, two,x\n", "classification", "line 3: there are 3 cells, and the header has 2.*quotation marks"),
    "open-quote.csv": (b'text,label\nfine,x\n"never closed,x\nmore,x\n', "classification", 'line 3: a quotation mark is not closed.*write it twice: ""'),
    "cyrillic.csv": ("text,label\nпосылка опоздала,x\n".encode("cp1251"), "classification", "line 2: the encoding is not known.*cp1251"),
    "cut-off.jsonl": (b'{"text": "a", "label": "x"}\n{"text": "b", "lab\n', "classification", "line 2: this is not JSON.*complete"),
    "comma-missing.json": (b'[\n{"text": "a", "label": "x"}\n{"text": "b"}\n]', "classification", "line 3: this is not JSON.*commas"),
    "numbers.json": (b"[1, 2]", "classification", "element 1: this is a number; a row is an object"),
    "sheet.xls": (b"\xd0\xcf\x11\xe0rest", "classification", "an old Excel or Word file, or one with a password. Save it as “CSV UTF-8”"),
    "print.csv": (b"%PDF-1.7", "classification", "is a PDF"),
    "page.csv": (b"<!DOCTYPE html><html></html>", "classification", "a web page"),
    "table.xls": (b"<table>\n<tr><td>text</td></tr></table>", "classification", "a web page or XML"),
    "packed.zip": (ZIP, "classification", "a zip archive without a sheet in it. Unpack it"),
    "python.jsonl": (b"{'text': 'a', 'label': 'x'}\n", "classification", "line 1: this is not JSON.*double quotation marks"),
    "words-without-sentences.csv": (b"word,tag\nAda,B-PER\n", "entities", "no column that says to which sentence it belongs"),
    "packed.csv": (b"\x1f\x8b\x08\x00", "classification", "compressed"),
    "damaged.parquet": (b"PAR1 nothing PAR1", "classification", "a damaged Parquet file"),
    "spans-as-words.csv": (b"text,spans\nAda met Bob,Ada\n", "entities", r"row 1 \(line 2\), column spans: this is 'Ada'; expected a list of spans"),
    "span-without-an-end.jsonl": (lines({"text": TEXT, "spans": [{"start": 0, "label": "PER"}]}), "entities", r"row 1 \(line 1\), column spans: .* is no span"),
    "tags-as-numbers.jsonl": (lines({"tokens": ["Ada"], "ner_tags": [1]}), "entities", "row 1 .*column ner_tags: 1 is a number.*B-PER"),
    "a-tag-too-few.jsonl": (lines({"tokens": ["Ada", "met"], "ner_tags": ["O"]}), "entities", "a tag for every word"),
    "no-tag.conll": (b"Ada B-PER\nmet\n", "entities", "line 2: “met” has no tag"),
    "no-answers.jsonl": (lines({"context": "a", "question": "b", "answers": []}), "questions", "none of the 1 rows has an answer"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_cannot_be_read_is_refused_with_place_and_cure(tmp_path, name):
    content, task, said = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileProblem, match=said) as refused:
        read_file(tmp_path / name, task)
    assert name in str(refused.value)
    assert refused.value._render_traceback_() == [f"FileProblem: {refused.value}"]


def test_a_file_that_is_not_there_is_refused_with_the_folder_that_was_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        FileProblem, match=r"tickets.csv cannot be read: No such file.*of this notebook is .*"
    ):
        read_file("tickets.csv", "classification")


def test_a_label_that_is_no_number_is_missing(tmp_path, labs):
    (tmp_path / "nan.jsonl").write_text('{"text": "a", "label": NaN}\n{"text": "b", "label": 1}\n')
    rows = read_file(tmp_path / "nan.jsonl", "classification").rows
    assert labs["13_your_own_dataset"].reference["validate_rows"](rows, "classification") == [(1, "label")]


def test_columns_and_encoding_can_be_said(tmp_path):
    (tmp_path / "rows.csv").write_bytes("о чём;куда\nпосылка опоздала;x\n".encode("cp1251"))
    file = read_file(tmp_path / "rows.csv", "classification", {"о чём": "text", "куда": "label"}, "cp1251")
    assert without_group(file) == [{"text": "посылка опоздала", "label": "x"}]
    with pytest.raises(FileProblem, match="no column 'a'; it has 'о чём', 'куда'"):
        read_file(tmp_path / "rows.csv", "classification", {"a": "text"}, "cp1251")
    with pytest.raises(FileProblem, match="no encoding 'cp9999'"):
        read_file(tmp_path / "rows.csv", "classification", None, "cp9999")


@pytest.mark.parametrize("task", COLUMNS)
@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_a_default_set_is_read_as_it_was_written(tmp_path, task, ending):
    rows = default_rows(task)[:50]
    write_rows(tmp_path / f"rows{ending}", rows)
    assert read_file(tmp_path / f"rows{ending}", task).rows == rows


def test_parquet_and_saved_data_sets_bring_the_names_of_their_classes(tmp_path):
    import datasets

    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["versand", "ware"])}
    )
    made = datasets.Dataset.from_dict(
        {"text": [row["text"] for row in TWO], "label": [1, 0]}, features=features
    )
    made.to_parquet(tmp_path / "rows.parquet")
    made.save_to_disk(tmp_path / "folder")
    for path in (tmp_path / "rows.parquet", tmp_path / "folder"):
        assert without_group(read_file(path, "classification")) == TWO
    tags = datasets.Features(
        {
            "tokens": datasets.List(datasets.Value("string")),
            "ner_tags": datasets.List(datasets.ClassLabel(names=["O", "B-PER"])),
        }
    )
    datasets.Dataset.from_dict({"tokens": [TEXT.split()], "ner_tags": [[1, 0, 1]]}, features=tags).to_parquet(
        tmp_path / "tags.parquet"
    )
    assert without_group(read_file(tmp_path / "tags.parquet", "entities")) == NAME
    with pytest.raises(FileProblem, match="is a folder, and no data set"):
        (tmp_path / "empty").mkdir()
        read_file(tmp_path / "empty", "classification")


def test_groups_are_taken_as_texts_and_their_absence_is_said(tmp_path):
    (tmp_path / "rows.jsonl").write_bytes(lines({"user": 7, **TWO[0]}, {"user": 7, **TWO[1]}))
    assert [row["group"] for row in read_file(tmp_path / "rows.jsonl", "classification").rows] == ["7", "7"]
    (tmp_path / "rows.jsonl").write_bytes(lines(*TWO))
    file = read_file(tmp_path / "rows.jsonl", "classification")
    assert [row["group"] for row in file.rows] == ["1", "2"] and "no column with groups" in str(file)


def test_labels_that_may_be_the_same_and_labels_that_are_no_classes_are_said(tmp_path):
    (tmp_path / "rows.csv").write_text("text,label\na,spam\nb,Spam\nc,spam \n")
    assert "Labels that may be the same: 'spam', 'Spam'" in str(
        read_file(tmp_path / "rows.csv", "classification")
    )
    (tmp_path / "rows.csv").write_text(
        "text,label\n" + "".join(f"a{number},{number}x\n" for number in range(40))
    )
    assert "40 different labels in 40 rows" in str(read_file(tmp_path / "rows.csv", "classification"))


@pytest.mark.parametrize(
    ("task", "row", "column", "said"),
    [
        ("classification", {"text": " ", "label": "x"}, "text", "it is empty; fill it in"),
        ("classification", {"text": "a"}, "label", "it is empty"),
        ("classification", {"text": "a", "label": ["x", "y"]}, "label", "it has 2 labels; keep one"),
        ("classification", {"text": "a", "label": 4}, "label", "'4' is a number, and the others are texts"),
        ("entities", {"text": "Ada", "spans": [[0, 3, "A"], [2, 9, "B"]]}, "spans", r"\[2, 9, 'B'\] does not fit a text of 3 characters"),
        ("questions", {"context": "in May", "answer": "May", "start": 4}, "start", "does not stand at 4; write 3"),
        ("questions", {"context": "in May", "answer": "may", "start": 3}, "start", "does not stand in the context; copy it"),
    ],
)  # fmt: skip
def test_every_fault_has_a_cure(task, row, column, said):
    import re

    assert re.search(said, cure(row, column, task))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The parcel came late and the box was damaged, I want my money back.", "en"),
        ("Das Paket kam zu spät und die Schachtel war kaputt, ich will mein Geld zurück.", "de"),
        ("Le colis est arrivé en retard et la boîte était cassée, je veux mon argent.", "fr"),
        ("El paquete llegó tarde y la caja estaba rota, no es lo que pedí.", "es"),
        ("Paczka przyszła za późno i nie jest to co zamówiłem.", "pl"),
        ("Посылка пришла поздно, и коробка сломана.", "ru"),
        ("荷物が遅れて届きました。", "ja"),
        ("包裹来得太晚了。", "zh"),
        ("tensor shape error", "und"),
        ("", "und"),
    ],
)
def test_the_language_of_texts_is_noticed(text, code):
    assert language_of([text]) == code


# ---------------------------------------------------------------------------------- an honest split


def test_groups_that_cannot_make_three_parts_are_split_row_by_row_and_it_is_said():
    assert groups_that_split(list("abcdefabcdef")) == (list("abcdefabcdef"), "")
    for groups, why in [(["a"] * 9, "all rows are of one group, 'a'"), (["a", "b", "c"] * 3, "only 3 groups"),
                        (["a"] * 20 + list("bcdef"), "the group 'a' has 20 of 25 rows")]:  # fmt: skip
        split, said = groups_that_split(groups)
        assert len(set(split)) == len(groups)
        assert why in said and "new group" in said


@pytest.mark.parametrize("count", [60, 400, 4000])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.97, 0.02, 0.01), [0.02] * 50])
def test_three_parts_have_every_row_at_most_once_and_no_group_twice(labs, count, shares):
    rng = np.random.default_rng(count)
    groups = [str(group) for group in rng.integers(0, count // 4, count)]
    labels = [f"class {label}" for label in rng.choice(len(shares), count, p=np.array(shares) / sum(shares))]
    parts = three_parts(groups, labels, labs["13_your_own_dataset"].reference["split_by_group"])
    rows = np.concatenate([*parts.values()])
    assert len(set(rows.tolist())) == len(rows)
    met = Counter(group for numbers in parts.values() for group in {groups[row] for row in numbers})
    assert max(met.values()) == 1
    assert len(parts["test"]) >= min(300, count // 10)
    assert ("second test" in parts) == (count == 4000)


def test_a_class_that_is_rare_keeps_its_share_in_the_test(labs):
    labels = ["rare" if number % 50 == 0 else "often" for number in range(5000)]
    groups = [str(number) for number in range(5000)]
    in_test = labs["13_your_own_dataset"].reference["split_by_group"](groups, labels, groups, 0.2)
    assert Counter(np.array(labels)[in_test].tolist()) == {"often": 980, "rare": 20}


def test_the_pool_is_drawn_as_labels_are_drawn_in_life(labs):
    """At random: its first rows have the classes in their own shares, not in turns."""
    labels = ["often"] * 3600 + ["rare"] * 400
    parts = three_parts(
        [str(row) for row in range(4000)], labels, labs["13_your_own_dataset"].reference["split_by_group"]
    )
    first = [labels[row] for row in parts["pool"][:96]]
    assert 0 < first.count("rare") < 25


def test_rows_that_cannot_be_split_are_refused_with_their_numbers(labs):
    split = labs["13_your_own_dataset"].reference["split_by_group"]
    for labels in (["x"] * 40, ["x", "y"]):
        with pytest.raises(ValueError, match=r"do not make three parts.*(It takes|Find) more rows"):
            three_parts([str(row) for row in range(len(labels))], labels, split)


def test_large_files_are_validated_and_split_in_one_pass_over_their_rows(labs):
    """Counted, not timed: how often a label is looked at does not grow with the number of groups."""
    looked = Counter()

    class Label(str):
        def __hash__(self):
            looked["hashes"] += 1
            return str.__hash__(self)

    reference = labs["13_your_own_dataset"].reference["split_by_group"]
    groups = [str(row) for row in range(2000)]
    reference(groups, [Label(f"{row % 3}") for row in range(2000)], groups, 0.2)
    assert looked["hashes"] < 20 * 2000
