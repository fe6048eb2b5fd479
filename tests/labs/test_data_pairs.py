"""Pairs are read from files with errors that say what to mend, split without overlap, and made of dates."""

from __future__ import annotations

import datetime
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_utils.data.dates import date_pairs
from course_utils.data.pairs import Pair, PairsFileError, read_pairs, split_pairs

few = st.integers(0, 12).map(str)
related_pairs = st.lists(st.builds(Pair, few, few), min_size=6, max_size=40, unique=True)


@pytest.fixture
def write(tmp_path):
    """Writes a file of pairs and gives its path."""

    def write_file(content: str | bytes):
        path = tmp_path / "pairs.tsv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


# Files


def test_a_file_has_one_pair_a_line_and_a_repeated_one_counts_once(write):
    path = write("Va !\tGo.\nL’été\tThe summer\n\nVa !\tGo.\n")
    assert read_pairs(path) == [Pair("Va\u202f!", "Go."), Pair("L'été", "The summer")]


def test_other_columns_a_mark_of_the_byte_order_and_windows_lines_do_no_harm(write):
    path = write("\ufeffGo.\tVa !\tCC-BY 2.0\r\nHi.\tSalut !\tCC-BY 2.0\r\n")
    assert read_pairs(path, source_column=1, target_column=0) == [
        Pair("Va\u202f!", "Go."),
        Pair("Salut\u202f!", "Hi."),
    ]


def test_a_line_ends_only_where_a_text_editor_ends_it(write):
    """Other characters at which Python's str.splitlines would break do not shift the numbers of lines."""
    path = write("un\x0bdeux\u2028trois\tone two three\nquatre\n")
    with pytest.raises(PairsFileError, match=r"line 2: 1 column"):
        read_pairs(path)


def test_every_bad_line_is_reported_with_its_number_and_reason(write):
    path = write(b"un\tone\ndeux\n\ttwo\ntrois\t \nquatre\tf\xffur\ncinq\tfive\n")
    with pytest.raises(PairsFileError) as error:
        read_pairs(path)
    assert str(error.value).splitlines() == [
        f"{path} has lines that are not sentence pairs. Fix or remove them:",
        "  line 2: 1 column where 2 are needed; put a tab between sentence and translation",
        "  line 3: the sentence is empty",
        "  line 4: the translation is empty",
        "  line 5: byte 9 is not UTF-8; save the file in that encoding",
    ]


def test_of_many_bad_lines_the_first_are_listed_and_the_rest_counted(write):
    with pytest.raises(PairsFileError) as error:
        read_pairs(write("no tab\n" * 5000))
    lines = str(error.value).splitlines()
    assert len(lines) == 12
    assert lines[-2:] == [
        "  line 10: 1 column where 2 are needed; put a tab between sentence and translation",
        "  and 4990 more",
    ]


@pytest.mark.parametrize("content", ["", "\n \n", "\ufeff"])
def test_a_file_without_pairs_is_an_error(write, content):
    with pytest.raises(PairsFileError, match=r"pairs.tsv contains no pairs\. Write one"):
        read_pairs(write(content))


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(PairsFileError, match=r"missing.tsv cannot be read: No such file"):
        read_pairs(tmp_path / "missing.tsv")
    with pytest.raises(PairsFileError, match="cannot be read: Is a directory"):
        read_pairs(tmp_path)


# Splits


@given(related_pairs, st.integers(0, 3))
def test_no_source_and_no_target_comes_into_two_parts(pairs, seed):
    try:
        splits = split_pairs(pairs, validation=1, test=1, seed=seed)
    except ValueError:  # too much of it is connected
        return
    parts = (splits.train, splits.validation, splits.test, splits.unseen_pairings)
    assert sorted(map(repr, pairs)) == sorted(repr(pair) for part in parts for pair in part)
    for side in ("source", "target"):
        sides = [{getattr(pair, side) for pair in part} for part in parts]
        assert sum(map(len, sides)) == len(set().union(*sides))


def test_parts_have_the_size_asked_for_and_depend_on_the_seed_only():
    pairs = [Pair(f"s{number}", f"t{number}") for number in range(100)]
    splits = split_pairs(pairs, validation=10, test=20, seed=0)
    assert (len(splits.train), len(splits.validation), len(splits.test)) == (70, 10, 20)
    assert splits == split_pairs(pairs, validation=10, test=20, seed=0)
    assert splits.train != split_pairs(pairs, validation=10, test=20, seed=1).train
    assert splits.test[0] == pairs[0]


def test_pairs_with_held_out_words_are_kept_apart_with_all_that_shares_a_sentence_with_them():
    strange = Pair("vélo vert", "green bike", frozenset({("vert", "vélo")}))
    pairs = [Pair("a", "b"), Pair("c", "d"), Pair("e", "f"), strange, Pair("bicyclette verte", "green bike")]
    splits = split_pairs(pairs, validation=1, test=1, seed=0)
    assert splits.unseen_pairings == tuple(pairs[3:])
    assert splits.test == (pairs[0],)


def test_parts_that_leave_nothing_to_train_with_are_refused():
    pairs = [Pair(str(number), str(number)) for number in range(10)]
    with pytest.raises(ValueError, match="10 pairs are not enough for 5 test pairs, 5 validation pairs"):
        split_pairs(pairs, validation=5, test=5, seed=0)


# Dates

DATES = date_pairs(3000, seed=4)


def test_a_written_date_has_one_meaning_and_it_is_a_real_day():
    assert len({pair.source for pair in DATES}) == len(DATES)
    assert all(1950 <= datetime.date.fromisoformat(pair.target).year <= 2049 for pair in DATES)


def test_a_written_date_tells_day_month_and_year():
    weekdays = {
        **dict.fromkeys(("Monday", "lundi", "Montag", "lunes", "lunedì"), 0),
        **dict.fromkeys(("Wednesday", "mercredi", "Mittwoch", "miércoles", "mercoledì"), 2),
        **dict.fromkeys(("Saturday", "samedi", "Samstag", "sábado", "sabato"), 5),
    }
    months = {
        **dict.fromkeys(("January", "janvier", "Januar", "enero", "gennaio"), 1),
        **dict.fromkeys(("August", "août", "agosto"), 8),
    }
    for pair in DATES:
        day = datetime.date.fromisoformat(pair.target)
        numbers = [int(number) for number in re.findall(r"\d+", pair.source)]
        assert day.year in numbers and day.day in numbers, pair
        words = re.findall(r"[^\W\d]+", pair.source)
        assert {weekdays.get(word, day.weekday()) for word in words} <= {day.weekday()}, pair
        assert {months.get(word, day.month) for word in words} <= {day.month}, pair


def test_dates_come_in_six_locales_and_with_plain_spaces():
    written = " ".join(pair.source for pair in DATES)
    for example in ("Mar ", "March ", "mars ", "März ", "marzo de ", "marzo "):
        assert example in written
    assert not re.search(r"[^\w., ]|  ", written)


def test_one_day_in_several_spellings_is_in_one_part_only():
    splits = split_pairs(date_pairs(9000, seed=0), validation=300, test=300, seed=0)
    assert not {pair.target for pair in splits.train} & {pair.target for pair in splits.test}
    assert splits.unseen_pairings == ()


def test_the_same_seed_gives_the_same_dates():
    assert DATES[:100] == date_pairs(100, seed=4)
    assert DATES[:100] != date_pairs(100, seed=3)
    with pytest.raises(ValueError, match="There can be 1 to 100,000 pairs, not 0"):
        date_pairs(0, seed=0)


# What is imported


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("course_utils", ["babel", "tokenizers", "torch", "tensorflow"]),
        ("course_utils.data.batches", ["babel", "tokenizers", "torch", "tensorflow"]),
        ("course_utils.data.translation", ["tokenizers", "torch", "tensorflow"]),
        ("course_utils.data.dates", ["tokenizers", "torch", "tensorflow"]),
    ],
)
def test_importing_stays_light(module, unwanted):
    code = f"import sys, {module}; print([name for name in {unwanted} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
