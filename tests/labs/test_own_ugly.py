"""Files as no reader likes them: nothing in them is read wrongly in silence, and no error of a library comes through.

Each is read rightly, and a note says what was taken; or it is refused with what is wrong, where, and what to do.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from typing import Any

import numpy as np
import pytest

from course_utils.data.own import groups_that_split, three_parts
from course_utils.data.own_file import FileProblem, cure, read_file
from course_utils.models.own_models import LONGEST, _windows
from course_utils.models.pretrained import load_tokenizer

C, E, Q = "classification", "entities", "questions"
AB = [("hello", "a"), ("world", "b")]
ADA = "Ada met Bob"
MAY = "It rained in May."


def lines(*rows: Any) -> str:
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def studio(*annotations: Any, **more: Any) -> dict[str, Any]:
    """A task of Label Studio."""
    return {"data": {"text": ADA}, "annotations": [*annotations], **more}


def found(*places: tuple[int, int]) -> dict[str, Any]:
    return {"result": [{"value": {"start": start, "end": end, "labels": ["PER"]}} for start, end in places]}


def squad(paragraphs: Any) -> str:
    return json.dumps({"data": [{"title": "rain", "paragraphs": paragraphs}]})


GOOD = "".join(f"Das ist Text {number} über Grüße,{'ab'[number % 2]}\n" for number in range(30))
ASKED = {"context": MAY, "question": "When?", "answers": [{"text": "May", "answer_start": 13}]}
PER = [[0, 3, "PER"]]
BOTH = [[0, 3, "PER"], [8, 11, "PER"]]

# file -> its content, the task, what is read (texts with labels or spans; answers with places), and a part of what is said
READ: dict[str, tuple[str | bytes, str, Any, str]] = {
    # encodings
    "one-bad-byte.csv": (f"text,label\n{GOOD}".encode() + b"kaputt\xff,a\n", C, 31, r"UTF-8, but byte [\d,]+ \(0xFF, in line 32: “kaputt�,a”\)"),
    "cut-off.csv": (f"text,label\n{GOOD}".encode() + b"Gr\xc3", C, 31, "0xC3, in line 32.*Was the file cut off"),
    "turkish-or-icelandic.csv": ("text,label\nŞu kutu kırık,a\n".encode("cp1254"), C, [("Þu kutu kýrýk", "a")], r"In cp1254 it would be “Şu kutu kırık,a”"),
    "read-as-mac.csv": ("text,label\nGr√º√üe,a\n", C, 1, "saved in the wrong encoding: it has “Gr√º√üe,a”"),
    "read-as-latin.csv": ("text,label\n" + "привет".encode().decode("latin-1") + ",a\n", C, 1, "saved in the wrong encoding"),
    "halves.csv": (b"text,label\n\xed\xa0\xbd\xed\xb8\x80,a\n", C, [("😀", "a")], "CESU-8"),
    "lost.csv": ("text,label\nGr��e,a\n", C, 1, "Characters were lost before .* line 2"),
    # CSV
    "blank-groups.csv": ("text,label,author\nhello,a,\nworld,b,\n", C, AB, "'author' is empty in every row"),
    "blank-label-and-another.csv": ("text,label,category\nhello,,a\nworld,,b\n", C, AB, "'category' as label"),
    "header-again.csv": ("text,label\nhello,a\ntext,label\nworld,b\n", C, AB, "header stands there again, and was skipped: line 3"),
    "header-again-with-a-mark.csv": ("text,label\nhello,a\n\ufefftext,label\nworld,b\n", C, AB, "skipped: line 3"),
    "mark-in-the-middle.csv": ("text,label\nhello,a\n\ufeffworld,b\n", C, AB, ""),
    "rows-above.csv": ("Export,,\nDate,2024-01-01,\n\ntext,label,agent\nhello,a,bob\nworld,b,eve\n", C, AB, "header seems to be line 4"),
    "title-above-any-names.csv": ("Feedback in May\n\nNr;Wortlaut;Urteil\n1;hello you there;a\n2;so long, world;b\n3;hi you there;a\n", C, 3, "header seems to be line 3.*“Feedback in May”"),
    "form.csv": ("Timestamp,Address,In your own words?,Grade\n" + "".join(f"2026/11/{n} 9:00:00 AM GMT+1,ada.lovelace{n}@mail.example,I liked it {n},{'ab'[n % 2]}\n" for n in range(10, 16)), C, 6, "'In your own words\\?' as text"),
    "customers.csv": ("text,label,Kundennr.\n" + "".join(f"text {n},{'ab'[n % 2]},K{n % 6}\n" for n in range(12)), C, 12, "Perhaps 'Kundennr.' says which rows do: read_file.FILE, TASK, columns=.\"Kundennr.\": \"group\""),
    "page.csv": ("text,label\n<p>It was &quot;fine&quot;</p>,a\nhello,b\n", C, 2, r"Texts with HTML, such as '&quot;': 1 of 2 \(line 2\)"),
    "each-line-in-quotes.csv": ('"text,label"\n"hello,a"\n"world,b"\n', C, AB, "Each line stood in quotation marks"),
    "spaces-around-commas.csv": ('"text" , "label"\n"a, b" , "x"\n"c" , "y"\n', C, [("a, b", "x"), ("c", "y")], "Spaces around commas"),
    "carets.csv": ("text^label\nhello^a\nworld^b\n", C, AB, "carets"),
    "markdown.md": ("| text | label |\n|------|:-----:|\n| hello | a |\n| world | b |\n", C, AB, "a table drawn with bars"),
    "mysql.txt": ("+------+-------+\n| text | label |\n+------+-------+\n| hello | a |\n| world | b |\n+---+---+\n", C, AB, "a table drawn with bars"),
    "quotes-over-rows.tsv": ('text\tlabel\n"a\tx\nb"\ty\n', C, [('"a', "x"), ('b"', "y")], "those in line 2 would make one row of several"),
    "quotes-over-rows.csv": ('text,label\n"a,x\nb",y\n', C, [("a,x\nb", "y")], "goes on to line 3, and each of these lines looks like a row"),
    "no-name.csv": ("text,\nhello,a\nworld,b\nhi,a\nhey,b\nho,a\nyo,b\n", C, 6, "'column 2' as label"),
    "ids-and-words.csv": ("document,sentence_text,gold\n" + "1,hello there you,a\n2,so long,b\n" * 3, C, [("hello there you", "a"), ("so long", "b")] * 3, "'document' as group"),
    "two-header-lines.csv": ("Text,Klasse\n(frei),(a oder b)\nhello,a\nworld,b\nhi,a\nhey,b\n", C, 5, r"Labels of a single row: '\(a oder b\)' \(line 2\)"),
    "labels-first.txt": ("hello __label__a\nworld __label__b\n", C, AB, "fastText"),
    # labels
    "nothing.csv": ("text,label\na,NA\nb,nan\nc,None\nd,\\N\ne,x\n", C, 5, r"Label 'NA', in 1 row \(line 2\), may stand for nothing(.|\n)*'nan'(.|\n)*'None'(.|\n)*N', in 1 row"),
    "nothing-as-text.csv": ("text,label\nNULL,a\nb,b\n", C, 2, "Text 'NULL', in 1 row"),
    "zero-width.csv": ("text,label\nx,a\ny,a\u200b\n", C, 2, r"may be the same: 'a', 'a\\u200b'"),
    "composed.csv": ("text,label\nx,café\ny,cafe\u0301\n", C, 2, r"may be the same: 'café', 'cafe\\u0301'"),
    "cyrillic-letter.csv": ("text,label\nx,spаm\ny,spam\n", C, 2, r"may be the same: 'sp\\u0430m', 'spam'"),
    "floats-and-integers.csv": ("text,label\nx,1\ny,1.0\n", C, 2, "may be the same: '1', '1.0'"),
    "truth-and-numbers.jsonl": (lines({"text": "x", "label": True}, {"text": "y", "label": 1}), C, 2, "may be the same: 'True', '1'"),
    "hyphens.csv": ("text,label\nx,not-spam\ny,not_spam\n", C, 2, "may be the same: 'not-spam', 'not_spam'"),
    "spaces-at-the-ends.csv": ("text,label\nhello,a \nworld,b\n", C, AB, "Labels with spaces at their ends, in 1 row: the spaces were left out"),
    "several-in-one.csv": ("text,label\nx,27\ny,3\nz,\"27,3\"\n", C, 3, "several in one: '27,3'"),
    "one-class.csv": ("text,label\nx,a\ny,a\n", C, 2, "All rows have the label 'a'"),
    "the-wrong-way-round.csv": (f"text,label\nok,{'the parcel came late ' * 3}\nbad,{'and it was broken ' * 3}\n", C, 2, "the wrong way round"),
    "many-digits.jsonl": (f'{{"text": "a", "label": {"9" * 5000}}}\n', C, [("a", "9" * 5000)], ""),
    "groups-that-may-be-one.csv": ("text,label,user\nx,a,Bob\ny,b,bob \nz,b,Bob\n", C, 3, "Groups that may be the same: 'Bob', 'bob '"),
    "name-of-a-label.jsonl": (lines({"text": "hello", "label": {"id": 1, "name": "a"}}, {"text": "world", "label": [{"label": "b", "score": 0.9}]}), C, AB, ""),
    "ones.jsonl": (lines({"text": "hello", "label": [0, 1, 0]}, {"text": "world", "label": [1, 0, 0]}, {"text": "both", "label": [1, 1, 0]}), C, [("hello", "1"), ("world", "0"), ("both", ["0", "1"])], "lists of 0 and 1"),
    "as-on-a-page.csv": ("text,label\nx,R&amp;D\ny,R&D\n", C, 2, "may be the same: 'R&amp;D', 'R&D'"),
    "odd-line-ends.txt": ("__label__a he\u2028llo\n__label__b world\n", C, [("he\u2028llo", "a"), ("world", "b")], ""),
    # JSON
    "parts.json": (json.dumps({"train": [{"text": "hello", "label": "a"}], "test": [{"text": "world", "label": "b"}]}), C, AB, "Taken: 'train', 'test'"),
    "rows-without-names.json": (json.dumps([["text", "label"], *AB]), C, AB, ""),
    "by-row.json": (json.dumps({"0": {"text": "hello", "label": "a"}, "1": {"text": "world", "label": "b"}}), C, AB, ""),
    "by-label.json": ('{"pos": ["I love it", "good"], "neg": ["bad"]}', C, [("I love it", "pos"), ("good", "pos"), ("bad", "neg")], "as a label, and the list after it as texts: 'pos', 'neg'"),
    "by-text.json": ('{"I love it": "pos", "I hate it": "neg"}', C, [("I love it", "pos"), ("I hate it", "neg")], "as a text"),
    "rows-beside-others.json": (json.dumps({"info": [{"author": "me"}], "rows": [{"text": text, "label": label} for text, label in AB]}), C, AB, "Taken: 'rows'. Not used: 'info'"),
    "described.json": (json.dumps({"description": "mine", "rows": [{"text": text, "label": label} for text, label in AB]}), C, AB, "Not used: 'description'"),
    "inside-each-other.json": (json.dumps([{"review": {"text": text}, "meta": {"label": label}} for text, label in AB]), C, AB, ""),
    "json-in-json.jsonl": ('"{\\"text\\": \\"hello\\", \\"label\\": \\"a\\"}"\n"{\\"text\\": \\"world\\", \\"label\\": \\"b\\"}"', C, AB, ""),
    "parts-by-column.json": (json.dumps({"train": {"text": ["hello"], "label": ["a"]}, "test": {"text": ["world"], "label": ["b"]}}), C, AB, ""),
    "one-list-after-another.json": (json.dumps([{"text": "hello", "label": "a"}]) + "\n" + json.dumps([{"text": "world", "label": "b"}]), C, AB, ""),
    "pairs-of-words.json": (json.dumps([[["Ada", "B-PER"], ["met", "O"]], [["Bob", "B-PER"]]]), E, [("Ada met", PER), ("Bob", PER)], ""),
    "mentions-with-places.csv": ("text,start,end,type,author\nAda met Bob,0,3,PER,x\nAda met Bob,8.0,11.0,PER,x\nnobody,,,,y\n", E, [(ADA, BOTH), ("nobody", [])], "an entity in each row; 3 rows became 2 texts(.|\\n)*'author' as group"),
    "tokens-by-column.json": (json.dumps({"tokens": [ADA.split()], "ner_tags": [["B-PER", "O", "B-PER"]]}), E, [(ADA, BOTH)], ""),
    # tools
    "prodigy-rejected.jsonl": (lines({"text": "a", "label": "SPAM", "answer": "accept"}, {"text": "b", "label": "SPAM", "answer": "reject"}, {"text": "c", "label": "SPAM", "answer": "ignore"}), C, [("a", "SPAM")], r"Left out: 2 of 3 rows; the answer was reject \(1\), the answer was ignore \(1\)"),
    "prodigy-choice.jsonl": (lines(*({"text": text, "options": [{"id": label}, {"id": "c"}], "accept": [label], "answer": "accept"} for text, label in AB)), C, AB, ""),
    "label-studio-cancelled.json": (json.dumps([studio({"was_cancelled": True, "result": []}, found((0, 3)))]), E, [(ADA, PER)], ""),
    "label-studio-predicted.json": (json.dumps([studio(found((0, 3))), studio(predictions=[found((8, 11))])]), E, [(ADA, PER)], r"only predictions of a model \(1\)"),
    "label-studio-unfinished.json": (json.dumps([studio(found((0, 3))), studio()]), E, [(ADA, PER)], "annotations are missing"),
    "label-studio-two-people.json": (json.dumps([studio(found((0, 3)), found((8, 11)))]), E, [(ADA, PER)], "1 task with several annotations, one was taken"),
    "label-studio-other-key.json": (json.dumps([{"data": {"utterance": ADA}, "annotations": [found((0, 3))]}]), E, [(ADA, PER)], ""),
    "label-studio-two-labels.json": (json.dumps([studio({"result": [{"value": {"start": 0, "end": 3, "labels": ["PER", "ORG"]}}]})]), E, [(ADA, [[0, 3, "PER"], [0, 3, "ORG"]])], ""),
    "label-studio-choice.json": (json.dumps([{"data": {"text": text}, "annotations": [{"result": [{"value": {"choices": label}}]}]} for text, label in [("hello", "good"), ("world", "bad")]]), C, [("hello", "good"), ("world", "bad")], ""),
    "offset-and-length.jsonl": (lines({"text": ADA, "entities": [{"offset": 0, "length": 3, "category": "PER"}]}), E, [(ADA, PER)], ""),
    "label-studio-choices.csv": ('text,sentiment\nhello,"{""choices"": [""a""]}"\nworld,b\n', C, AB, ""),
    "dataturks.jsonl": (lines({"content": ADA, "annotation": [{"label": ["PER"], "points": [{"start": 0, "end": 2, "text": "Ada"}]}]}), E, [(ADA, PER)], "ends of spans are inclusive"),
    "spacy-annotator.json": (json.dumps({"classes": ["PER"], "annotations": [[ADA, {"entities": PER}], None]}), E, [(ADA, PER)], "1 row of null skipped"),
    "spacy-cats.jsonl": (lines({"text": "hello", "cats": {"a": 1, "b": 0}}, {"text": "world", "cats": {"a": 0, "b": 1}}), C, AB, ""),
    "rasa.json": (json.dumps({"rasa_nlu_data": {"common_examples": [{"text": ADA, "intent": "x", "entities": [{"start": 0, "end": 3, "value": "Ada", "entity": "PER"}]}], "regex_features": []}}), E, [(ADA, PER)], ""),
    "lists-of-parts.jsonl": (lines({"text": ADA, "spans": {"start": [0, 8], "end": [3, 11], "label": ["PER", "PER"]}}), E, [(ADA, BOTH)], ""),
    "by-name.jsonl": (lines({"text": ADA, "entities": {"PER": [[0, 3], [8, 11]]}}), E, [(ADA, BOTH)], ""),
    "conversation.jsonl": (lines(*({"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": label}]} for text, label in AB)), C, AB, ""),
    # words and tags
    "words-by-sentence.csv": ("sentence_id,words,labels\n0,Ada,B-PER\n0,met,O\n1,Bob,B-PER\n", E, [("Ada met", PER), ("Bob", PER)], "a word in each row"),
    "sentences-of-documents.csv": ("doc_id,sent_id,word,tag\n1,1,Ada,B-PER\n1,1,met,O\n2,1,Bob,B-PER\n", E, [("Ada met", PER), ("Bob", PER)], "'sent_id' says where"),
    "blank-lines.txt": ("word\ttag\nAda\tB-PER\nmet\tO\n\nBob\tB-PER\n", E, [("Ada met", PER), ("Bob", PER)], "by blank lines"),
    "header.conll": ("word tag\nAda B-PER\nmet O\n", E, [("Ada met", PER)], ""),
    "remarks.conll": ("# newdoc\nAda B-PER\nmet O\n", E, [("Ada met", PER)], "1 line with remarks"),
    "small-letters.conll": ("Ada b-per\nmet o\n", E, [("Ada met", [[0, 3, "per"]])], ""),
    "colons.txt": ("Ada B:PER\nmet O\n", E, [("Ada met", PER)], "CoNLL"),
    "bare-tags.conll": ("Ada B\nLovelace I\nmet O\n", E, [("Ada Lovelace met", [[0, 12, "entity"]])], "B or I without a name"),
    "hyphen-in-a-name.txt": ("Ada B-person-name\nmet O\n", E, [("Ada met", [[0, 3, "person-name"]])], "CoNLL"),
    "names-only.txt": ("Ada\tPER\nmet\tO\n\nBob\tPER\n", E, [("Ada met", PER), ("Bob", PER)], "CoNLL"),
    "semicolons.csv": ("Ada;B-PER\nmet;O\n;\nBob;B-PER\n", E, [("Ada met", PER), ("Bob", PER)], "CoNLL"),
    "germeval.tsv": ("#\thttp://x [2009]\n1\tAda\tB-PER\tO\n2\tmet\tO\tO\n\n#\tx\n1\tBob\tB-PER\tO\n", E, [("Ada met", PER), ("Bob", PER)], "column 2 as words, column 3 as tags"),
    "conllu.conllu": ("# text = Ada met\n1\tAda\tAda\tPROPN\t_\t_\t2\tnsubj\t_\tNE=B-PER\n2\tmet\tmeet\tVERB\t_\t_\t0\troot\t_\t_\n\n", E, [("Ada met", PER)], "CoNLL-U"),
    "hard-space.conll": ("Ada\xa0Lovelace B-PER\nmet O\n", E, [("Ada\xa0Lovelace met", [[0, 12, "PER"]])], ""),
    "tags-beside-a-text.csv": ("text,labels\nAda met,B-PER O\nBob,B-PER\n", E, [("Ada met", PER), ("Bob", PER)], ""),
    "one-long-text.conll": ("".join(f"w{number} {'O' if number else 'B-PER'}\n" for number in range(300)), E, 1, "No empty line separates sentences"),
    "no-tag-in-a-row.csv": ("sent,word,tag\n1,Ada,B-PER\n1,met,\n", E, [("Ada met", PER)], "1 word without a tag"),
    "parts-of-speech-first.csv": ("sent,word,tag,ner\n1,Ada,NNP,B-PER\n1,met,VBD,O\n", E, [("Ada met", PER)], ""),
    "parts-of-speech-last.conll": ("Ada B-PER NNP\nmet O VBD\n", E, [("Ada met", PER)], "column 2 as tags"),
    # spans
    "nothing-in-spans.jsonl": (lines({"text": ADA, "spans": PER}, {"text": ADA}), E, [(ADA, PER), (ADA, [])], "1 row with nothing in 'spans'"),
    "inclusive.jsonl": (lines({"text": ADA, "spans": [[0, 2, "PER"], [8, 10, "PER"]]}), E, 1, r"middle of a word: 2 of 2, such as 'Ad' \(line 1\). Are the ends inclusive"),
    "from-one.jsonl": (lines({"text": ADA, "spans": [[5, 8, "V"]]}), E, 1, "Do places count from 1"),
    "with-emoji.jsonl": (lines({"text": "😀 Ada met Bob", "spans": [[3, 6, "PER"]]}), E, 1, "emoji as two characters"),
    "with-spaces.jsonl": (lines({"text": ADA, "spans": [[0, 4, "PER"]]}), E, 1, "spaces at their ends: 1 of 1"),
    "other-text.jsonl": (lines({"text": ADA, "spans": [{"start": 4, "end": 7, "label": "PER", "text": "Bob"}]}), E, 1, r"another text than stands there for 1 span \(line 1: 'met', not 'Bob'\)"),
    "names-that-may-be-one.jsonl": (lines({"text": ADA, "spans": [[0, 3, "PER"], [8, 11, "per"]]}), E, 1, "may be the same: 'PER', 'per'"),
    "no-spans.jsonl": (lines({"text": ADA, "spans": []}), E, 1, "No row has a span"),
    # questions
    "several-answers.jsonl": (lines({"context": MAY, "question": "When?", "answers": ["May", "in May"]}), Q, [("May", 13)], "1 question with several different answers, the first"),
    "one-context.jsonl": (lines(ASKED, {**ASKED, "question": "In which month?"}), Q, [("May", 13)] * 2, "Several questions have one context, and each is a group"),
    "list-of-articles.json": (json.dumps([{"title": "rain", "paragraphs": [{"context": MAY, "qas": [{"question": "When?", "answers": ASKED["answers"]}]}]}]), Q, [("May", 13)], "'title' as group"),
    "paragraphs-only.json": (json.dumps({"data": [{"context": MAY, "qas": [{"question": "When?", "answers": ASKED["answers"]}]}]}), Q, [("May", 13)], ""),
    "number-as-answer.jsonl": (lines({"context": "In 1999 it rained", "question": "When?", "answer": 1999}), Q, [("1999", 3)], "looked up"),
    "value-as-answer.jsonl": (lines({"context": MAY, "question": "When?", "answer": {"value": "May"}}), Q, [("May", 13)], "looked up"),
    "space-before-an-answer.csv": ("context,question,answer\nIt rained in May.,When?, May\n", Q, [("May", 13)], "looked up"),
    "long-question.jsonl": (lines({**ASKED, "question": "why " * 195}), Q, [("May", 13)], "1 question of more than 100 words.*first 128"),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_an_ugly_file_is_read_rightly_and_what_was_taken_is_said(tmp_path, name):
    content, task, rows, said = READ[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    file = read_file(tmp_path / name, task)
    first, second = {C: ("text", "label"), E: ("text", "spans"), Q: ("answer", "start")}[task]
    read = [(row.get(first), row.get(second)) for row in file.rows]
    assert (len(read) if isinstance(rows, int) else read) == rows
    assert re.search(said, str(file), re.DOTALL)
    assert len(file.places) == len(read)


REFUSED: dict[str, tuple[str | bytes, str, str]] = {
    # encodings
    "polish.csv": ("text,label\nPaczka przyszła za późno,a\n".encode("cp1250"), C, r'line 2: .*“Paczka przyszła za późno,a” in cp1250.*encoding="cp1250"'),
    "hungarian.csv": ("text,label\nŐrült tűz a kerítésen,a\n".encode("cp1250"), C, 'encoding="cp1250"'),
    "turkish.csv": ("text,label\nGüneş iyi değil,a\n".encode("cp1254"), C, r'“Güneş iyi değil,a” in cp1254.*encoding="cp1254"'),
    "lithuanian.csv": ("text,label\nDėžė sulūžo šiandien,a\n".encode("cp1257"), C, 'encoding="cp1257"'),
    "koi8.csv": ("text,label\nпосылка опоздала,a\n".encode("koi8_r"), C, '“посылка опоздала,a” in koi8_r.*encoding="koi8_r"'),
    "greek.csv": ("text,label\nτο δέμα ήρθε αργά,a\n".encode("cp1253"), C, 'encoding="cp1253"'),
    "japanese.csv": ("text,label\n荷物が遅れました,a\n".encode("shift_jis"), C, 'encoding="shift_jis"'),
    "chinese.csv": ("text,label\n包裹来得太晚了,a\n".encode("gb18030"), C, 'encoding="gb18030"'),
    "two-encodings.csv": (f"text,label\n{GOOD}".encode() + GOOD.encode("cp1252"), C, "some lines are in UTF-8, and 30 are not, first at byte .* line 32"),
    "zero.csv": (b"text,label\na\x00b,x\n", C, "line 2 has a zero byte"),
    # CSV
    "two-labels.csv": ("text,label,label\na,x,1\nb,y,2\n", C, "line 1: two columns are called 'label', the 2. and the 3."),
    "curly.csv": ("text,label\n“one, two”,x\n", C, "straight ones"),
    "space.txt": ("text label\nhello pos\n", C, "one column only, and it is called “text label”"),
    "no-text.csv": ("label,n\na,1\nb,2\n", C, r'"COLUMN WITH THE TEXT": "text"'),
    "many-labels.csv": ("text,toxic,obscene\nyou fool,1,0\nhi there,0,1\nbye,0,0\n", C, "For label, 'toxic', 'obscene' look possible"),
    "mentions.csv": ("text,entity,type\nAda met Bob,Ada,PER\nAda met Bob,Bob,PER\n", E, "where each entity stands in it"),
    "places-in-words.csv": ("text,start,end,label\nAda met Bob,first,third,PER\n", E, "line 2: 'start' and 'end' must be whole numbers"),
    "wide-word.conll": ("Ada B-PER\nNew York B-LOC\n", E, "line 2: there are 3 columns, and 2 in the lines before"),
    "nothing-sound.csv": ("text,label\nhello,\nworld,\n", C, r"no row can be used, of 2. Row 1 \(line 2\), column label: it is empty"),
    # forms
    "brat.ann": ("T1\tPER 0 3\tAda\nT2\tPER 8 11\tBob\n", E, r"brat's .ann.*\.txt beside it"),
    "webanno.tsv": ("#FORMAT=WebAnno TSV 3.3\n\n#Text=Ada\n1-1\t0-3\tAda\tPER\n", E, "WebAnno"),
    "inline.txt": ("[Ada](PER) met [Bob](PER)\n", E, "inline annotation"),
    "inline-tags.txt": ("<PER>Ada</PER> met Bob\n", E, "inline annotation"),
    "weka.arff": ("@relation x\n@attribute text string\n@data\n'hello',a\n", C, "ARFF"),
    "rows.toml": ('[[rows]]\ntext = "a"\nlabel = "b"\n', C, "TOML"),
    "rows.yaml": ("- text: hello\n  label: a\n", C, "YAML"),
    "rows.js": ('var data = [{"text": "a", "label": "x"}];', C, "JavaScript. Delete what stands before the first bracket"),
    "grammar.conllu": ("1\tAda\tAda\tPROPN\t_\t_\t2\tnsubj\t_\t_\n", E, "CoNLL-U.*no entities"),
    "data.db": (b"SQLite format 3\x00", C, "a data base"),
    "frame.pkl": (b"\x80\x04\x95", C, "a pickle"),
    "notebook.ipynb": ('{"cells": [], "nbformat": 4}', C, "is a notebook"),
    "no-tags.conll": ("Ada NNP\nmet VBD\n", E, "no column has tags, such as B-PER and O; the first line has Ada, NNP"),
    # JSON
    "empty.json": ("{}", C, "an object without rows"),
    "null.json": ("null", C, "nothing"),
    "deep.json": ("[" * 100_000, C, "nested too deeply"),
    "deep.jsonl": ("[" * 100_000, C, "nested too deeply"),
    "last-comma.json": ('[\n{"text": "a", "label": "x"},\n]', C, r"line 3: this is not JSON. Remove the last comma, the one before \]"),
    "last-comma-of-a-row.jsonl": ('{"text": "a", "label": "x"}\n{"text": "a", "label": "x",}\n', C, "line 2: .*Remove the last comma, the one before }"),
    "python.json": ("[{'text': 'a', 'label': 'x'}]", C, "double quotation marks"),
    "remark.json": ('[\n// mine\n{"text": "a", "label": "x"}]', C, "line 2: .*no remarks"),
    "semicolon.json": ('[{"text": "a", "label": "x"}];', C, "Delete the semicolon"),
    "line-break.json": ('[{"text": "a\nb", "label": "x"}]', C, r"line 1: .*written as \\n"),
    "path.json": (r'[{"text": "C:\data", "label": "x"}]', C, r"backslash in a text is written twice"),
    "one-name-twice.jsonl": ('{"text": "a", "label": "x"}\n{"text": "b", "label": "x", "label": "y"}\n', C, "line 2: 'label' stands twice in one object"),
    "unequal.json": ('{"text": ["a", "b"], "label": ["x"]}', C, r"columns are not equally long \('text' 2, 'label' 1\)"),
    # tools
    "predictions-only.json": (json.dumps([studio(predictions=[found((0, 3))])]), E, "no row of 1 is left: there are only predictions"),
    "annotations-of-text.json": (json.dumps([studio("x")]), E, "element 1: the annotations of a task are objects"),
    "no-paragraphs.json": (squad(None), Q, "article 1: 'paragraphs' must be a list of objects.*null"),
    "paragraphs-of-text.json": (squad(["abc"]), Q, "article 1: 'paragraphs' must be a list of objects.*a text"),
    "paragraphs-as-object.json": (squad({"context": "x"}), Q, "article 1: 'paragraphs' must be a list of objects.*an object"),
    "questions-of-text.json": (squad([{"context": MAY, "qas": ["When?"]}]), Q, "article 1, paragraph 1: 'qas' must be a list of objects"),
    "numpy.csv": ("context,question,answers\nIt rained in May.,When?,\"{'text': array(['May'], dtype=object), 'answer_start': array([13])}\"\n", Q, "row 1 .*as NumPy shows it.*to_json"),
    "numpy-tokens.csv": ("tokens,ner_tags\n\"['Ada' 'met']\",\"['B-PER' 'O']\"\n", E, "as NumPy shows it"),
    "numbers-as-tags.csv": ("tokens,ner_tags\nAda met,1 0\n", E, "'1' is a number, and the file does not say which tag"),
    "many-turns.jsonl": (lines({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "a"}] * 2}), C, "no column that is known as text or label; it has 'messages'"),
    # tasks
    "questions.json": (squad([{"context": MAY, "qas": [{"question": "When?", "answers": ASKED["answers"]}]}]), C, r'read_file\(FILE, "questions"\)'),
    "words.conll": ("Ada B-PER\nmet O\n", C, r'read_file\(FILE, "entities"\)'),
    "spans.jsonl": (lines({"text": ADA, "label": PER}), C, r'is a span: was read_file\(FILE, "entities"\) meant'),
    "not-in-the-context.csv": ("context,question,answer\nIt rained in May.,When?,June\n", Q, "'June' does not stand in the context"),
    "other-letters.csv": ("context,question,answer\nIt rained in May.,When?,may\n", Q, "'may' does not stand in the context.*There stands 'May'"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_ugly_file_is_refused_with_what_is_wrong_and_what_to_do(tmp_path, name):
    content, task, said = REFUSED[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileProblem, match=f"(?s){said}") as refused:
        read_file(tmp_path / name, task)
    assert str(refused.value).startswith(name) and "as its form says" not in str(refused.value)


# ---------------------------------------------------------------------------------- workbooks


def workbook(*rows: list[Any], more: str = "") -> bytes:
    """An .xlsx whose first column that is a date has style 1; a bool, a number or a text for every other cell."""

    def cell(value: Any, place: str) -> str:
        if isinstance(value, bool):
            return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
        if isinstance(value, int | float):
            style = 1 if value > 40_000 else 0
            return f'<c r="{place}" s="{style}"><v>{value}</v></c>'
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>' if value else ""

    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    rel = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    body = "".join(
        f'<row r="{line}">'
        + "".join(cell(value, f"{column}{line}") for column, value in zip("ABCDE", row, strict=False))
        + "</row>"
        for line, row in enumerate(rows, 1)
        if row
    )
    parts = {
        "xl/workbook.xml": f'<workbook {main} {rel}><sheets><sheet name="Tickets" sheetId="1" r:id="rId1"/>{more}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<R><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></R>',
        "xl/styles.xml": f'<styleSheet {main}><numFmts><numFmt numFmtId="170" formatCode="dd/mm/yyyy"/></numFmts>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs></styleSheet>',
        "xl/worksheets/sheet1.xml": f"<worksheet {main}><sheetData>{body}</sheetData></worksheet>",
    }
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as packed:
        for name, text in parts.items():
            packed.writestr(name, text)
    return data.getvalue()


def test_a_workbook_is_read_with_its_dates_numbers_and_truths(tmp_path):
    other = '<sheet name="Notes" sheetId="2" r:id="rId2"/>'
    (tmp_path / "rows.xlsx").write_bytes(
        workbook(
            ["Tickets of May"], [], ["Text", "Class", "user", "late"],
            ["hel_x006C_o", 1, 45_000, True], [], ["world", 2.0, 45_000.5, False], more=other,
        )
    )  # fmt: skip
    file = read_file(tmp_path / "rows.xlsx", C)
    assert file.rows == [
        {"group": "2023-03-15", "text": "hello", "label": "1"},
        {"group": "2023-03-15 12:00:00", "text": "world", "label": "2"},
    ]
    assert file.places == ["line 4", "line 6"]
    for said in (
        "first sheet of a workbook, 'Tickets'. Not read: Notes",
        "header seems to be line 3",
        "1 empty line skipped",
    ):
        assert said in str(file)
    assert read_file(tmp_path / "rows.xlsx", C, {"late": "label"}).rows[0]["label"] == "TRUE"


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("content.xml", r"an OpenDocument sheet \(.ods\), and only .xlsx is read"),
        ("word/document.xml", "a Word document"),
        ("data.csv", "a zip archive without a sheet in it. Unpack it"),
    ],
)
def test_what_is_no_workbook_is_called_what_it_is(tmp_path, inside, said):
    with zipfile.ZipFile(tmp_path / "rows.xlsx", "w") as packed:
        packed.writestr(inside, "x")
    with pytest.raises(FileProblem, match=said):
        read_file(tmp_path / "rows.xlsx", C)
    (tmp_path / "half.xlsx").write_bytes(workbook(["text", "label"], ["a", "b"])[:300])
    with pytest.raises(FileProblem, match="half.xlsx cannot be read as an .xlsx"):
        read_file(tmp_path / "half.xlsx", C)


# ---------------------------------------------------------------------------------- after the reader


def test_columns_that_are_said_are_not_said_twice(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,c\nhello there,x,y\nso long,y,x\n")
    with pytest.raises(FileProblem, match=r"columns= gives label two columns"):
        read_file(tmp_path / "rows.csv", C, {"a": "text", "b": "label", "c": "label"})


def test_half_of_a_character_is_a_fault_of_its_row(tmp_path, labs):
    (tmp_path / "rows.jsonl").write_text('{"text": "a \\ud83d", "label": "x"}\n{"text": "b", "label": "y"}\n')
    file = read_file(tmp_path / "rows.jsonl", C)
    assert labs["13_your_own_dataset"].reference["validate_rows"](file.rows, C) == [(1, "text")]
    assert "half of a character" in cure(file.rows[0], "text", C) and "line 1" in str(file)


def test_one_group_is_one_group_however_its_number_is_written(tmp_path):
    users = [{"text": f"{user}", "label": "a", "user": user} for user in (1, 1.0, "1.0")]
    (tmp_path / "rows.jsonl").write_text(lines(*users))
    assert [row["group"] for row in read_file(tmp_path / "rows.jsonl", C).rows] == ["1"] * 3


def test_an_error_that_nobody_has_thought_of_names_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("course_utils.data.own_file.from_text", lambda *_: 1 / 0)
    (tmp_path / "rows.csv").write_text("text,label\nhello,a\n")
    with pytest.raises(FileProblem, match=r"rows.csv is not as its form says .*ZeroDivisionError"):
        read_file(tmp_path / "rows.csv", C)


def test_no_rows_are_refused_where_they_are_split():
    with pytest.raises(FileProblem, match="No row is left to split"):
        groups_that_split([])


@pytest.mark.parametrize("words", [150, 185, 195, 260, 2000])
def test_a_question_of_any_length_leaves_room_for_its_context(words):
    row = {"context": "in May it rained " * 40, "question": "why " * words, "answer": "May", "start": 3}
    windows = _windows(load_tokenizer(), Q, row)
    places = [place for window in windows for place in window["places"] if place]
    assert max(len(window["input_ids"]) for window in windows) <= LONGEST
    assert min(places)[0] == 0 and max(places)[1] == len(row["context"].rstrip())


def test_a_rare_class_stops_no_split_by_chance_and_is_named_where_no_split_can_be(labs):
    split = labs["13_your_own_dataset"].reference["split_by_group"]
    labels = ["y"] * 37 + ["x"] * 3
    rows = [str(row) for row in range(40)]
    for seed in range(40):
        groups = [str(row) for row in np.random.default_rng(seed).integers(0, 12, 40)]
        for each in (groups, rows):
            parts = three_parts(each, labels, split, seed)
            assert len({labels[row] for row in parts["pool"]}) == 2
    with pytest.raises(FileProblem, match=r"three groups at least.*'x' has 1 row\. Find more rows"):
        three_parts(rows, ["y"] * 39 + ["x"], split)
