"""Stories, paragraphs and SQuAD files: the answers are right, and stand where they are said to stand."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_utils.data import questions
from course_utils.data.paragraphs import FILES, load_paragraphs, read_marks
from course_utils.data.questions import BadRow, QuestionExample, Span, load_squad, split_by_document
from course_utils.data.stories import SEEN_NAMES, SENTENCES, UNSEEN_NAMES, make_stories, sentence_spans

# ---------------------------------------------------------------------------------- stories

MOVED = re.compile(r"(\w+) \w+ to the ([a-z ]+)\.")
HANDLED = re.compile(
    r"(\w+) (?:(took|picked up|grabbed|got)|dropped|put down|left|discarded) the (\w+)(?: there)?\."
)


def retold(sentences: list[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Where each person is, and where each object was, one place after another, as the sentences alone say it."""
    people: dict[str, str] = {}
    carried: dict[str, set[str]] = defaultdict(set)
    places: dict[str, list[str]] = defaultdict(list)
    for sentence in sentences:
        if moved := MOVED.fullmatch(sentence):
            person, place = moved.groups()
            assert people.get(person) != place, "nobody goes to where they are"
            people[person] = place
            for thing in carried[person]:
                places[thing].append(place)
        else:
            person, takes, thing = HANDLED.fullmatch(sentence).groups()
            if takes:
                assert all(thing not in held for held in carried.values()), "it is in somebody's hands"
                carried[person].add(thing)
            else:
                carried[person].discard(thing)
            if person in people and places[thing][-1:] != [people[person]]:
                assert not (takes and places[thing]), "it is elsewhere"
                places[thing].append(people[person])
    return people, places


def followed(question: str, sentences: list[str]) -> str:
    """The answer to a question, as it follows from the sentences alone."""
    people, places = retold(sentences)
    if asked := re.fullmatch(r"Where is the (\w+)\?", question):
        return places[asked[1]][-1]
    if asked := re.fullmatch(r"Where was the (\w+) before the ([a-z ]+)\?", question):
        visited = places[asked[1]]
        assert visited.count(asked[2]) == 1, "it is clear which visit is meant"
        return visited[visited.index(asked[2]) - 1]
    return people[re.fullmatch(r"Where is (\w+)\?", question)[1]]


def told(story: QuestionExample) -> list[str]:
    return [story.context[start:end] for start, end in sentence_spans(story)]


tasks = st.sampled_from([1, 2, 3])
names = st.sampled_from([SEEN_NAMES, UNSEEN_NAMES])
lengths = st.tuples(st.integers(3, 12), st.integers(0, 12)).map(lambda pair: (pair[0], sum(pair)))


@settings(deadline=None)
@given(tasks, st.integers(), lengths | st.none(), names)
def test_a_storys_answer_follows_from_its_text_and_from_the_supporting_sentences_alone(
    task, seed, sentences, names
):
    for story in make_stories(task, 20, seed, sentences, names):
        lines = told(story)
        (answer,) = story.answer_texts
        assert " ".join(lines) == story.context
        assert (
            len(lines) in range(*(sentences or SENTENCES[task]))
            or len(lines) == (sentences or SENTENCES[task])[1]
        )
        assert followed(story.question, lines) == answer
        assert followed(story.question, [lines[number] for number in story.support]) == answer
        assert list(story.support) == sorted(set(story.support)) and len(story.support) == task


@settings(deadline=None)
@given(st.integers(), names)
def test_an_objects_last_taking_or_leaving_supports_where_it_is(seed, names):
    for story in make_stories(2, 20, seed, names=names):
        handled = [HANDLED.fullmatch(line) for line in told(story)]
        thing = story.question.removeprefix("Where is the ").rstrip("?")
        assert max(n for n, found in enumerate(handled) if found and found[3] == thing) in story.support


@settings(deadline=None)
@given(tasks, st.integers(), names)
def test_the_answer_is_marked_in_a_supporting_sentence_that_says_who_went_there(task, seed, names):
    for story in make_stories(task, 5, seed, names=names):
        (answer,) = story.answers
        spans = sentence_spans(story)
        (number,) = [
            n for n in story.support if spans[n].start <= answer.start and answer.end <= spans[n].end
        ]
        place = MOVED.fullmatch(told(story)[number])
        assert spans[number].start + place.start(2) == answer.start
        assert spans[number].start + place.end(2) == answer.end


def test_the_first_mention_of_the_place_is_often_not_the_answers():
    for task in SENTENCES:
        stories = make_stories(task, 300, 0)
        wrong = sum(story.context.find(story.answer_texts[0]) != story.answers[0].start for story in stories)
        assert wrong > 60


def test_the_same_arguments_make_the_same_stories_and_more_begin_with_fewer():
    assert make_stories(2, 8, 5) == make_stories(2, 12, 5)[:8]
    assert make_stories(2, 8, 5) != make_stories(2, 8, 6)


def test_stories_of_different_seeds_are_different():
    train = {(story.context, story.question) for story in make_stories(1, 500, 0)}
    assert not train & {(story.context, story.question) for story in make_stories(1, 500, 1)}


def test_no_word_of_an_unseen_name_is_part_of_a_seen_one():
    def words(names) -> Counter:
        return Counter(" ".join(names.people + names.places + names.objects).split())

    assert not words(SEEN_NAMES).keys() & words(UNSEEN_NAMES).keys()


def test_no_name_occurs_twice():
    for names in (SEEN_NAMES, UNSEEN_NAMES):
        everything = names.people + names.places + names.objects
        assert len(set(everything)) == len(everything)


@pytest.mark.parametrize(
    ("task", "sentences", "said"),
    [(4, (5, 8), "no task 4"), (3, (2, 8), "at least 3"), (1, (8, 5), "8 to 5"), (1, (0, 5), "at least 1")],
)
def test_stories_that_cannot_be_told_are_refused(task, sentences, said):
    with pytest.raises(ValueError, match=said):
        make_stories(task, 1, 0, sentences)


# ---------------------------------------------------------------------------------- paragraphs

PARTS = {part: load_paragraphs(part) for part in FILES}
PROSE = [example for part in PARTS.values() for example in part]
DOCUMENTS = [document for file in FILES.values() for document in json.loads(file.read_text(encoding="utf-8"))]
CONTEXTS = {example.document: example.context for example in PROSE}


def word_count(text: str) -> int:
    return len(text.split())


def test_there_are_enough_paragraphs_questions_unanswerable_ones_and_long_contexts():
    lengths = [word_count(context) for context in CONTEXTS.values()]
    assert sum(60 <= length <= 200 for length in lengths) >= 40
    assert sum(250 <= length <= 400 for length in lengths) >= 6
    assert all(60 <= length <= 400 for length in lengths)
    assert len(PROSE) >= 240
    assert sum(not example.answers for example in PROSE) >= 30
    assert sum(len(text.split()) > 1 for example in PROSE for text in example.answer_texts) >= 200
    assert [len({example.document for example in part}) for part in PARTS.values()] == [62, 50, 50]
    assert [len(part) for part in PARTS.values()] == [531, 262, 276]
    assert all(sum(not example.answers for example in part) >= 50 for part in PARTS.values())


def test_no_text_is_in_two_parts_and_a_part_that_does_not_exist_is_named():
    documents = [{example.document for example in part} for part in PARTS.values()]
    assert len(set.union(*documents)) == sum(map(len, documents))
    with pytest.raises(ValueError, match="no part 'dev'.*training, development, test"):
        load_paragraphs("dev")


def test_searching_for_the_answers_words_finds_the_wrong_place_for_many_questions():
    wrong = [
        example
        for example in PROSE
        if example.answers and example.context.find(example.answer_texts[0]) != example.answers[0].start
    ]
    assert len(wrong) >= 40


def test_every_answer_is_what_stands_between_its_marks_in_the_file():
    def plain(marked: str) -> str:
        return re.sub(r"\{\d+:|\}", "", marked)

    examples = iter(PROSE)
    for document in DOCUMENTS:
        marked = " ".join(document["text"])
        for asked in document["questions"]:
            example = next(examples)
            assert (example.question, example.context) == (asked["question"], plain(marked))
            for mark, span in zip(asked["answers"], example.answers, strict=True):
                before, after = marked.split(f"{{{mark}:")
                depth, end = 1, 0
                while depth:
                    depth += {"{": 1, "}": -1}.get(after[end], 0)
                    end += 1
                assert span == (len(plain(before)), len(plain(before)) + len(plain(after[: end - 1])))
    assert next(examples, None) is None


def test_an_answer_begins_and_ends_with_a_word():
    for example in PROSE:
        for start, end in example.answers:
            assert re.fullmatch(r"\w(.*\w)?", example.context[start:end]), example.id
            assert not re.search(r"\w$", example.context[:start]), example.id
            assert not re.match(r"\w", example.context[end:]), example.id


def test_every_mark_is_the_answer_to_a_question():
    for document in DOCUMENTS:
        _, spans = read_marks(" ".join(document["text"]))
        assert set(spans) == {mark for asked in document["questions"] for mark in asked["answers"]}


def test_text_and_questions_are_tidy():
    assert len({example.id for example in PROSE}) == len(PROSE)
    assert len({(example.document, example.question) for example in PROSE}) == len(PROSE)
    for document in DOCUMENTS:
        assert all(re.search(r"[.?!]$", sentence.rstrip('}"')) for sentence in document["text"]), document[
            "id"
        ]
    for text in [*CONTEXTS.values(), *(example.question for example in PROSE)]:
        assert text == " ".join(text.split())
    assert all(example.question[0].isupper() and example.question[-1] == "?" for example in PROSE)


@pytest.mark.parametrize(
    ("marked", "said"),
    [
        ("one {1:two", "Mark 1 is not closed"),
        ("one} two", "Not a mark, after 'one': '}'"),
        ("one {two} three", "Not a mark, after 'one ': '{two'"),
        ("{1:one} {1:two}", "two marks 1"),
    ],
)
def test_a_wrong_mark_is_named(marked, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        read_marks(marked)


def test_marks_may_lie_within_each_other():
    assert read_marks("{1:one {2:two} or} three") == ("one two or three", {1: Span(0, 10), 2: Span(4, 7)})


# ---------------------------------------------------------------------------------- splits and types


def example_of(document: str, number: int) -> QuestionExample:
    return QuestionExample("Some text.", "What?", (Span(0, 4),), f"{document}-{number}", document)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), unique=True),
    st.floats(0.01, 0.99),
    st.integers(),
)
def test_a_split_keeps_every_example_and_each_document_on_one_side(rows, held_out, seed):
    examples = [example_of(str(document), number) for document, number in rows]
    if len({example.document for example in examples}) < 2:
        with pytest.raises(ValueError, match="At least two documents"):
            split_by_document(examples, held_out, seed)
        return
    train, test = split_by_document(examples, held_out, seed)
    assert train and test
    assert sorted(train + test, key=examples.index) == examples
    assert not {example.document for example in train} & {example.document for example in test}
    mirrored, _ = split_by_document(examples[::-1], held_out, seed)
    assert mirrored[::-1] == train


@pytest.mark.parametrize("held_out", [0, 1, -0.5])
def test_a_share_that_leaves_one_side_empty_is_refused(held_out):
    with pytest.raises(ValueError, match="a share between 0 and 1"):
        split_by_document([example_of("a", 1), example_of("b", 1)], held_out)


@pytest.mark.parametrize("span", [Span(2, 2), Span(3, 2), Span(-1, 2), Span(0, 11)])
def test_an_answer_outside_its_context_is_refused(span):
    with pytest.raises(ValueError, match="is not in the context"):
        QuestionExample("Some text.", "What?", (span,), "1", "a")


# ---------------------------------------------------------------------------------- files in SQuAD's format

CONTEXT = "Markov counted letters in 1913. Shannon did so in 1948, and again in 1951."


def asked(identity: object = "q1", start: object = 26, text: object = "1913", **more) -> dict:
    return {
        "id": identity,
        "question": "When did Markov count letters?",
        "answers": [{"text": text, "answer_start": start}],
        **more,
    }


def squad(*entries: object, context: object = CONTEXT, title: object = "Letters") -> dict:
    return {
        "version": "v2.0",
        "data": [{"title": title, "paragraphs": [{"context": context, "qas": list(entries)}]}],
    }


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("squad") / "set.json"


def loaded(file: Path, value: object) -> tuple[list[QuestionExample], list[BadRow]]:
    file.write_text(json.dumps(value))
    return load_squad(file)


def test_questions_of_both_versions_are_read(file):
    second = asked("q2", 50, "1948", is_impossible=False)
    none = asked(
        "q3", answers=[], is_impossible=True, plausible_answers=[{"text": "1951", "answer_start": 69}]
    )
    examples, bad_rows = loaded(file, squad(asked(), second, none))
    assert not bad_rows
    assert [example.answer_texts for example in examples] == [("1913",), ("1948",), ()]
    assert [example.id for example in examples] == ["q1", "q2", "q3"]
    assert {example.document for example in examples} == {"Letters"}


def test_several_annotators_answers_are_kept_once_each(file):
    answers = [{"text": "1913", "answer_start": 26}, {"text": "in 1913", "answer_start": 23}]
    (example,), _ = loaded(file, squad(asked(answers=[answers[0], answers[1], answers[0]])))
    assert example.answers == (Span(26, 30), Span(23, 30))


def test_articles_without_a_title_are_different_documents_and_a_number_may_be_an_id(file):
    first, second = squad(asked(1), title="")["data"] + squad(asked(2), title="")["data"]
    del second["title"]
    examples, _ = loaded(file, {"data": [first, second]})
    assert [(example.id, example.document) for example in examples] == [
        ("1", "article 0"),
        ("2", "article 1"),
    ]


def test_a_byte_order_mark_and_characters_outside_the_basic_plane_are_read(file):
    value = squad(asked(start=28), context=f"😀 {CONTEXT}")
    file.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8-sig")
    (example,), _ = load_squad(file)
    assert example.answer_texts == ("1913",)


BAD_ENTRIES = {
    "the answer '1913' is not at character 25": asked("q2", start=25),
    "the answer '1913' is not at character -48": asked("q2", start=-48),
    "the answer '1913' is not at character 9999": asked("q2", start=9999),
    "the answer '1951.!' is not at character 69": asked("q2", start=69, text="1951.!"),
    'its "answer_start" is a text instead of a whole number': asked("q2", start="26"),
    'its "answer_start" is a number with a fraction instead of a whole number': asked("q2", start=26.0),
    'its "answer_start" is true or false instead of a whole number': asked("q2", start=True),
    'its "text" is empty': asked("q2", text=" "),
    'it has no "text"': asked("q2", answers=[{"answer_start": 26}]),
    'there is a text where an object with "text" should be': asked("q2", answers=["1913"]),
    "it has no answer, but is not marked as impossible to answer": asked("q2", answers=[]),
    "it is marked as impossible to answer, but has an answer": asked("q2", is_impossible=True),
    'its "is_impossible" is a text instead of true or false': asked("q2", is_impossible="no"),
    'its "question" is empty': asked("q2", question=""),
    'its "question" contains half of a surrogate pair, which is not a character': asked(
        "q2", question="\ud800?"
    ),
    "an earlier question has the same id": asked("q1"),
}


@pytest.mark.parametrize("reason", BAD_ENTRIES)
def test_a_bad_question_is_reported_with_file_row_and_reason_and_the_others_are_read(file, reason):
    entry = BAD_ENTRIES[reason]
    examples, bad_rows = loaded(file, squad(asked(), entry, asked("q3")))
    assert [example.id for example in examples] == ["q1", "q3"]
    assert bad_rows == [BadRow("set.json", f"data[0].paragraphs[0].qas[1] (id {entry['id']})", reason)]
    assert str(bad_rows[0]) == f"set.json: {bad_rows[0].row}: {reason}"


@pytest.mark.parametrize(
    ("entry", "row", "reason"),
    [
        (squad(asked("q2"), context="")["data"][0], "data[1].paragraphs[0]", 'its "context" is empty'),
        (squad(asked("q2"), context=None)["data"][0], "data[1].paragraphs[0]", 'it has no "context"'),
        (squad(asked(None))["data"][0], "data[1].paragraphs[0].qas[0]", 'it has no "id"'),
        (squad(asked("q2"), title=7)["data"][0], "data[1]", 'its "title" is a whole number instead of a text'),
        ({"title": "x", "paragraphs": {}}, "data[1]", 'its "paragraphs" is an object instead of a list'),
        ({"title": "x", "paragraphs": [[]]}, "data[1].paragraphs[0]", 'there is a list where an object with "context" should be'),
        (None, "data[1]", 'there is null where an object with "title" should be'),
    ],
)  # fmt: skip
def test_a_bad_article_or_paragraph_is_reported_once(file, entry, row, reason):
    examples, bad_rows = loaded(file, {"data": [*squad(asked())["data"], entry]})
    assert len(examples) == 1
    assert bad_rows == [BadRow("set.json", row, reason)]


def test_the_row_of_a_question_with_an_endless_id_is_short(file):
    _, bad_rows = loaded(file, squad(asked(), asked("i" * 9999, start=0)))
    assert len(bad_rows[0].row) < 120


def test_bad_rows_beyond_the_limit_are_counted(file, monkeypatch):
    monkeypatch.setattr(questions, "MAX_BAD_ROWS", 3)
    _, bad_rows = loaded(file, squad(asked(), *[{}] * 10))
    assert len(bad_rows) == 4
    assert str(bad_rows[-1]) == "set.json: further rows: 7 more cannot be used"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "set.json is not JSON: Expecting value at line 1, column 1"),
        (b'{"data":\n [}', "set.json is not JSON: Expecting value at line 2, column 3"),
        (b"\xff\xfe", "set.json is not UTF-8 text: invalid start byte at byte 0"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"data": ' + b"1" * 10_000 + b"}", "too long a number"),
        (b"[]", 'set.json is not a file in SQuAD\'s format: there is a list where an object with "data"'),
        (b'{"data": {}}', 'its "data" is an object instead of a list'),
        (b'{"data": []}', "No question of set.json can be used. There is none in it."),
        (b'{"data": [3]}', "No question of set.json can be used. The first problem: data[0]: there is"),
    ],
)  # fmt: skip
def test_a_file_without_anything_usable_is_refused_with_the_reason(file, data, said):
    file.write_bytes(data)
    with pytest.raises(ValueError, match=re.escape(said)):
        load_squad(file)


def test_a_missing_or_too_large_file_is_refused(file, monkeypatch):
    with pytest.raises(ValueError, match="There is no file"):
        load_squad(file.with_name("absent.json"))
    with pytest.raises(ValueError, match="There is no file"):
        load_squad(file.parent)
    file.write_text(json.dumps(squad(asked())))
    monkeypatch.setattr(questions, "MAX_FILE_BYTES", 100)
    with pytest.raises(ValueError, match="files of up to 100 bytes are read"):
        load_squad(file)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def places_in(value: object) -> list[tuple]:
    """Every list or object within a JSON value, with each of its keys."""
    keys = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
    return [found for key in keys for found in [(value, key), *places_in(value[key])]]


@st.composite
def damaged_files(draw) -> dict:
    """A good file in which anything was replaced, removed or doubled, up to four times."""
    value = copy.deepcopy(
        squad(asked(), asked("q2", 50, "1948"), asked("q3", answers=[], is_impossible=True))
    )
    for _ in range(draw(st.integers(1, 4))):
        if not (places := places_in(value)):
            break
        holder, key = draw(st.sampled_from(places))
        match draw(st.sampled_from(["replace", "remove", "double"])):
            case "replace":
                holder[key] = draw(json_values)
            case "remove":
                del holder[key]
            case "double" if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
    return value


@settings(deadline=None)
@given(damaged_files() | json_values | st.fixed_dictionaries({"data": json_values}))
def test_whatever_json_holds_what_is_read_is_sound_and_all_else_is_reported(file, value):
    try:
        examples, bad_rows = loaded(file, value)
    except ValueError as error:
        assert "set.json" in str(error)
        return
    assert len({example.id for example in examples}) == len(examples)
    assert all(row.file == "set.json" and row.row and row.reason for row in bad_rows)
    said = {holder[key] for holder, key in places_in(value) if isinstance(holder[key], str)}
    for example in examples:
        assert {example.context, example.question, *example.answer_texts} <= said


@settings(deadline=None)
@given(st.binary(max_size=200) | st.tuples(st.integers(0, 400), st.binary(max_size=5)))
def test_any_bytes_are_read_or_refused_with_a_message(file, noise):
    data = json.dumps(squad(asked())).encode()
    if isinstance(noise, tuple):
        position, noise = noise
        noise = data[:position] + noise + data[position + len(noise) :]
    file.write_bytes(noise)
    try:
        load_squad(file)
    except ValueError as error:
        assert "set.json" in str(error)


# ---------------------------------------------------------------------------------- the table of scoring rules


def test_importing_the_data_loads_neither_framework():
    code = "import sys, course_utils.data.paragraphs, course_utils.data.stories; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "tensorflow", "keras", "transformers"} & set(run.stdout.split())
