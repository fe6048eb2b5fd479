"""Lab 07's two data sets: real sentences that are what they are said to be, and made ones in which only order helps."""

from __future__ import annotations

import importlib.util
import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from course_utils.data.agreement import NOUNS, PREPOSITIONS, RELATIVES, Unfinished, make_unfinished
from course_utils.data.documentation import FILE, load_asked, load_documentation, plain_words
from course_utils.data.tunes import load_tune_seeds, load_tunes, read_abc

ROOT = Path(__file__).parents[2]


def script():
    spec = importlib.util.spec_from_file_location("collect", ROOT / "scripts" / "collect_documentation.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------------------------- documentation


def test_there_are_ten_libraries_with_nearly_equally_many_sentences():
    counts = Counter(one.library for one in load_documentation())
    assert len(counts) == 10 and counts.total() >= 8_000
    assert min(counts.values()) > 830 and max(counts.values()) <= 850


def test_the_first_part_has_modules_of_its_own_in_every_library():
    first, every = load_documentation(first_part=True), load_documentation()
    modules = {one.module for one in first}
    assert tuple(one for one in every if one.module in modules) == first
    counts = Counter(one.library for one in first)
    assert len(counts) == 10 and min(counts.values()) > 650 and max(counts.values()) <= 700


def test_no_sentence_is_there_twice_or_in_two_libraries():
    texts = [one.text.lower() for one in load_documentation()]
    assert len(set(texts)) == len(texts)


def test_no_sentence_names_a_library():
    collect = script()
    named = re.compile(rf"(?<![a-z0-9])({collect.NAMES})(?![a-z0-9])", re.IGNORECASE)
    assert not [one.text for one in load_documentation() if named.search(one.text)]


def test_every_sentence_is_usable_and_stands_in_a_module_of_its_library():
    collect = script()
    for one in load_documentation():
        assert collect.usable(one.text), one.text
        assert one.module.partition(".")[0] == collect.LIBRARIES[one.library]


def test_the_file_is_small_and_written_as_the_script_writes_it():
    text = FILE.read_text("utf-8")
    assert len(text) < 2**20
    assert text == json.dumps(json.loads(text), indent=1, sort_keys=True) + "\n"


def test_notice_names_every_library():
    notice = (ROOT / "NOTICE").read_text("utf-8").lower()
    for library in {one.library for one in load_documentation()}:
        assert {"torch": "pytorch"}.get(library, library) in notice


@pytest.mark.parametrize(
    ("docstring", "sentence"),
    [
        ("Return the sum.\n\nMore.", "Return the sum."),
        ("Make a NumPy array. It is new.", "Make a ___ array."),
        ("Call `np.sum` on an array.", "Call ___.sum on an array."),
        ("Return a :class:`~matplotlib.figure.Figure` of it.", "Return a ___.figure.Figure of it."),
        ("Lines\n    that go on.", "Lines that go on."),
        ("Plan an input, e.g. a file.", "Plan an input, e.g. a file."),
        ("Transform with transformers_like names.", "Transform with ____like names."),
    ],
)
def test_the_first_sentence_is_taken_in_plain_words(docstring, sentence):
    assert script().first_sentence(docstring) == sentence


def test_plain_words_have_no_marks_and_no_capitals():
    assert plain_words("Don't use ___.sum() (yet)!") == "don't use ___ sum yet"


def test_kept_answers_are_about_the_lab_s_validation_texts_and_about_no_others(labs):
    lab = labs["07_text_classification"]
    names = {**lab.reference, "NamedTuple": NamedTuple, "np": np, "plain_words": plain_words}
    names |= {"documented": load_documentation(), "unfinished": make_unfinished(100, seed=0)}
    for text in ("def parted(", "TASKS = {"):
        (cell,) = (cell for cell in lab.source().cells if text in cell.source and cell.cell_type == "code")
        exec(cell.source, names)
    texts = names["library"].texts["validation"]
    for name, asked in load_asked(texts).items():
        assert len(asked.said) == len(texts) and set(asked.said) <= set(names["libraries"]), name
    with pytest.raises(ValueError, match="about other texts"):
        load_asked(texts[::-1])


# ---------------------------------------------------------------------------------- agreement

NUMBER = {**{noun: 0 for noun in NOUNS}, **{f"{noun}s": 1 for noun in NOUNS}}


def numbers_of(text: str) -> list[int]:
    """The numbers of a sentence's nouns, in order."""
    return [NUMBER[word] for word in text.split() if word in NUMBER]


def first_noun(text: str) -> int:
    return next(place for place, word in enumerate(text.split()) if word in NUMBER)


@pytest.fixture(scope="module")
def sentences() -> list[Unfinished]:
    return make_unfinished(6_000, seed=3)


def test_what_is_said_about_a_sentence_follows_from_its_text(sentences):
    for one in sentences:
        numbers = numbers_of(one.text)
        assert len(numbers) == 4 and sum(numbers) == 2
        assert one.plural == numbers[0]
        assert one.distance == len(one.text.split()) - first_noun(one.text)


def test_sentences_differ_and_depend_on_the_seed_alone(sentences):
    assert len({one.text for one in sentences}) == len(sentences)
    assert make_unfinished(50, seed=3) == sentences[:50]
    assert not {one.text for one in make_unfinished(500, seed=4)} & {one.text for one in sentences}


def share_of_plurals(sentences: list[Unfinished], key) -> dict:
    """How often the subject is a plural, for each value of ``key`` that at least 200 sentences have."""
    found = defaultdict(list)
    for one in sentences:
        found[key(one)].append(one.plural)
    return {value: np.mean(marks) for value, marks in found.items() if len(marks) >= 200}


@pytest.mark.parametrize(
    "key",
    [
        lambda one: 0,
        lambda one: numbers_of(one.text)[-1],
        lambda one: one.text.split()[-1],
        lambda one: len(one.text.split()),
        lambda one: one.distance,
        lambda one: first_noun(one.text),
    ],
    ids=["at all", "last noun", "adverb", "length", "distance", "place of the subject"],
)
def test_nothing_but_the_first_noun_says_whether_the_verb_is_a_plural(sentences, key):
    shares = share_of_plurals(sentences, key)
    assert shares and all(abs(share - 0.5) < 0.1 for share in shares.values()), shares


def test_what_follows_a_noun_does_not_say_whether_it_is_the_subject(sentences):
    follows = [Counter(), Counter(), Counter()]
    for one in sentences:
        words = one.text.split()
        places = [place for place, word in enumerate(words) if word in NUMBER]
        for place, counter in zip(places[:3], follows, strict=True):
            counter[words[place + 1]] += 1
    for word in {name.split()[0] for name in (*PREPOSITIONS, *RELATIVES)}:
        shares = [counter[word] / counter.total() for counter in follows]
        assert max(shares) - min(shares) < 0.05, (word, shares)


def test_for_each_sentence_there_is_one_of_the_other_number_with_the_same_words(sentences):
    """The subject changes places with a noun of the other number."""
    for one in sentences[:300]:
        words = one.text.split()
        first = first_noun(one.text)
        other = next(
            place for place in range(first, len(words)) if NUMBER.get(words[place]) == 1 - one.plural
        )
        words[first], words[other] = words[other], words[first]
        assert sorted(words) == sorted(one.text.split())
        assert numbers_of(" ".join(words))[0] != one.plural


# ---------------------------------------------------------------------------------- tunes


@pytest.mark.parametrize(
    ("abc", "notes"),
    [
        ("K:G\nG2 B d | g4", "0:2 2 4 7:4"),
        ("CDEc", "0 1 2 7"),
        ("K:D\nD A, d' z", "0 -3 14 z"),
        ("K:Am\n^A_B =c e", "0 1 2 4"),
        ("CDE F/G/", "0 1 2 3:1/2 4:1/2"),
        ("CD EF A>B c<d", "0 1 2 3 5:3/2 6:1/2 7:1/2 8:3/2"),
        ("CDEF (3GAB", "0 1 2 3 4:2/3 5:2/3 6:2/3"),
        ("CDEF G-|G A-B", "0 1 2 3 4:2 5 6"),
        ("CDEF [GBd]2 {a}G", "0 1 2 3 4:2 4"),
        ('X:1\nT:A B\nM:6/8\nL:1/8\nK:C\n|:"G7"~C.D!trill!E|\\\nTF:|% AAA\nG:|\n', "0 1 2 3 4"),
    ],
)
def test_notes_of_a_tune_become_words(abc, notes):
    assert read_abc(abc) == notes


@pytest.mark.parametrize(
    ("abc", "message"),
    [
        ("K:D\n|:|", "no notes"),
        ("K:D\nABc\nK:G\nABc", "K: in the middle"),
        ("K:D\nABc [L:1/4] ABc", "L: in the middle"),
    ],
)
def test_a_tune_that_cannot_be_read_says_why(abc, message):
    with pytest.raises(ValueError, match=message):
        read_abc(abc)


def test_another_key_gives_the_same_words():
    assert read_abc("K:G\nG2BAGF") == read_abc("K:D\nD2FEDC")


def test_the_tunes_are_notes_and_nothing_else():
    tunes = load_tunes()
    assert {(tune.book, tune.dance) for tune in tunes} == {
        (book, dance) for book in ("Ryan", "O'Neill") for dance in ("hornpipe", "jig", "reel")
    }
    for tune in tunes:
        assert re.fullmatch(r"(-?\d+|z)(:\d+(/\d+)?)?( (-?\d+|z)(:\d+(/\d+)?)?){23,}", tune.notes), tune.title


def test_copies_of_a_tune_are_one_family():
    family = {(tune.book, tune.title): tune.family for tune in load_tunes()}
    assert family["Ryan", "Soldiers' Joy"] == family["O'Neill", "The Soldier's Joy"]
    notes: dict[str, set[str]] = defaultdict(set)
    for tune in load_tunes():
        notes[tune.notes].add(tune.family)
    assert all(len(families) == 1 for families in notes.values())


def test_the_seeds_of_the_encoder_of_tunes_are_three():
    for parts in load_tune_seeds().values():
        assert all(len(scores) == 3 for scores in parts.values())
