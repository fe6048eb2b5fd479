"""Sentences become words, numbers and batches, and come back as they were."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_utils.data.batches import batches, encode_batch
from course_utils.data.dates import date_pairs
from course_utils.data.translation import translation_pairs
from course_utils.data.vocabulary import SPECIAL, SubwordVocabulary, Vocabulary, VocabularyFileError
from course_utils.data.words import join_words, normalise, word_tokens

PAIRS = translation_pairs(2000, seed=8)
TEXTS = [text for pair in PAIRS for text in (pair.source, pair.target)]
WORDS = Vocabulary.from_texts(pair.source for pair in PAIRS)
ENGLISH = Vocabulary.from_texts(pair.target for pair in PAIRS)
CHARACTERS = Vocabulary.from_texts((pair.source for pair in date_pairs(500, seed=8)), unit="character")
PIECES = SubwordVocabulary.from_texts((pair.source for pair in PAIRS), size=400)
ALL = pytest.mark.parametrize(
    "vocabulary", [WORDS, CHARACTERS, PIECES], ids=["words", "characters", "pieces"]
)

# What makes tokens hard to put together again, among other text.
MARKS = ["?", " !", ".", ",", "(", ")", "«", "»", "-", "'", "’", " ", "\u202f", "\u00a0"]
FRAGMENTS = [
    "l'",
    "d'",
    "qu'",
    "'s",
    "'ll",
    "aujourd'hui",
    "Jane's",
    "don't",
    "1,000",
    "3.14",
    "États-Unis",
    "e\u0301",
]
fragments = st.sampled_from(MARKS + FRAGMENTS)
texts = st.lists(fragments | st.text(max_size=4), max_size=12).map("".join)


# Words


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Jane visite l'Afrique en septembre", ["Jane", "visite", "l'", "Afrique", "en", "septembre"]),
        ("J'ai vu qu'elle n'aime pas ça.", ["J'", "ai", "vu", "qu'", "elle", "n'", "aime", "pas", "ça", "."]),
        ("Est-ce qu’il va aux États-Unis ?", ["Est-ce", "qu'", "il", "va", "aux", "États-Unis", "\u202f?"]),
        ("Aujourd'hui, le 1er mai", ["Aujourd'hui", ",", "le", "1er", "mai"]),
        ("Jane's car isn't red (yet)!", ["Jane", "'s", "car", "isn't", "red", "(", "yet", ")", "!"]),
        ("It costs 1,250.50 now", ["It", "costs", "1,250.50", "now"]),
        ("", []),
    ],
)
def test_words_and_marks_are_taken_apart(text, tokens):
    assert word_tokens(text) == tokens
    assert join_words(tokens) == normalise(text)


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=30)
def test_joined_words_of_a_made_sentence_are_the_sentence(seed):
    for pair in translation_pairs(20, seed):
        for text in (pair.source, pair.target):
            assert join_words(word_tokens(text)) == text == normalise(text)


@given(texts)
def test_nothing_but_spaces_is_lost_or_added(text):
    letters = "".join(normalise(text).split())
    assert "".join("".join(word_tokens(text)).split()) == letters


@given(texts)
def test_what_was_joined_is_taken_apart_into_the_same_words(text):
    tokens = word_tokens(text)
    assert word_tokens(join_words(tokens)) == tokens


@given(texts)
def test_normalised_text_stays_as_it_is(text):
    assert normalise(normalise(text)) == normalise(text)


# Vocabularies


@ALL
def test_the_first_four_ids_are_the_special_tokens(vocabulary):
    ids = (vocabulary.pad_id, vocabulary.bos_id, vocabulary.eos_id, vocabulary.unk_id)
    assert ids == (0, 1, 2, 3)
    assert vocabulary.tokens(ids) == list(SPECIAL)


@pytest.mark.parametrize("vocabulary", [WORDS, PIECES])
def test_a_decoded_sentence_is_what_was_encoded(vocabulary):
    for pair in PAIRS:
        ids = vocabulary.encode(pair.source)
        assert ids[-1] == vocabulary.eos_id
        assert max(ids) < len(vocabulary)
        assert vocabulary.decode(ids) == pair.source


def test_a_decoded_date_is_what_was_encoded():
    for pair in date_pairs(200, seed=9):
        ids = CHARACTERS.encode(pair.source)
        assert len(ids) == len(pair.source) + 1
        assert CHARACTERS.decode(ids) == pair.source


@ALL
def test_decoding_stops_at_the_end_and_skips_padding_and_begin(vocabulary):
    text = "9 mai"
    ids = vocabulary.encode(text)
    assert vocabulary.decode(np.array([vocabulary.bos_id, *ids, *ids, 0, 0])) == vocabulary.decode(ids)
    assert vocabulary.decode([]) == ""


def test_a_word_never_seen_is_unknown_but_can_be_spelled_in_pieces():
    assert WORDS.tokens(WORDS.encode("Jane visite Romana")) == ["Jane", "visite", "<unk>", "<eos>"]
    assert PIECES.decode(PIECES.encode("Jane visite Romana")) == "Jane visite Romana"
    assert PIECES.tokens(PIECES.encode("漢"))[-2:] == ["<unk>", "<eos>"]


def test_a_piece_does_not_reach_across_an_apostrophe_or_a_mark():
    assert PIECES.tokens(PIECES.encode("l'Afrique\u202f?"))[0] == "▁l'"
    assert all("'" not in token[:-1] for token in PIECES.tokens(range(len(PIECES))))
    assert all(token in ("?", "\u202f?") for token in PIECES.tokens(range(len(PIECES))) if "?" in token)


@ALL
@pytest.mark.parametrize("number", [-1, 100_000])
def test_an_id_that_does_not_exist_is_refused(vocabulary, number):
    with pytest.raises(IndexError, match=f"no token with the id {number}; the vocabulary has ids 0 to"):
        vocabulary.decode([number])


def test_frequent_words_come_first_and_rare_ones_can_be_left_out():
    counted = Vocabulary.from_texts(["b a", "c b", "a b"])
    assert counted.tokens(range(4, 7)) == ["b", "a", "c"]
    small = Vocabulary.from_texts(["b a", "c b", "a b"], max_size=6)
    assert (len(small), small.decode(small.encode("a b c"))) == (6, "a b <unk>")


def test_a_word_that_is_there_twice_or_special_is_refused():
    with pytest.raises(ValueError, match="these are repeated: a"):
        Vocabulary(["a", "b", "a"])
    with pytest.raises(ValueError, match="these are repeated: <pad>"):
        Vocabulary(["<pad>"])


@ALL
def test_a_saved_vocabulary_is_loaded_as_it_was(vocabulary, tmp_path):
    vocabulary.save(tmp_path / "vocabulary.json")
    loaded = type(vocabulary).load(tmp_path / "vocabulary.json")
    numbers = range(len(vocabulary))
    assert len(loaded) == len(vocabulary)
    assert loaded.tokens(numbers) == vocabulary.tokens(numbers)
    assert loaded.encode("l'Asie 3") == vocabulary.encode("l'Asie 3")
    assert loaded.decode(loaded.encode("l'Asie 3")) == vocabulary.decode(vocabulary.encode("l'Asie 3"))


@pytest.mark.parametrize("kind", [Vocabulary, SubwordVocabulary])
@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"[]", b"{}", b"3", b"\xff", b'{"model": {}}'),
        *(
            b'{"unit": "word", "tokens": [1]}',
            b'{"unit": "word", "tokens": 1}',
            b'{"unit": "line", "tokens": []}',
        ),
        b'{"unit": "word", "tokens": ["a", "a"]}',
    ],
)
def test_a_file_with_something_else_in_it_is_refused(kind, content, tmp_path):
    path = tmp_path / "vocabulary.json"
    path.write_bytes(content)
    with pytest.raises(VocabularyFileError, match=r"vocabulary.json is not a "):
        kind.load(path)
    with pytest.raises(VocabularyFileError, match=r"missing.json cannot be read: No such file"):
        kind.load(tmp_path / "missing.json")


def test_pieces_of_another_tokenizer_are_refused(tmp_path):
    PIECES.save(tmp_path / "pieces.json")
    content = json.loads((tmp_path / "pieces.json").read_text(encoding="utf-8"))
    content["model"]["vocab"]["<pad>"], content["model"]["vocab"]["<bos>"] = 1, 0
    content["added_tokens"] = []
    (tmp_path / "pieces.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(VocabularyFileError, match="special tokens <pad>, <bos>, <eos>, <unk>"):
        SubwordVocabulary.load(tmp_path / "pieces.json")


def test_the_same_texts_give_the_same_vocabulary():
    again = SubwordVocabulary.from_texts((pair.source for pair in PAIRS), size=400)
    assert again.tokens(range(400)) == PIECES.tokens(range(400))
    assert Vocabulary.from_texts(pair.source for pair in PAIRS[::-1]).tokens(
        range(len(WORDS))
    ) == WORDS.tokens(range(len(WORDS)))


# Batches


def test_batches_hold_each_pair_once_with_its_own_translation():
    found = [
        (WORDS.decode(source), ENGLISH.decode(target))
        for batch in batches(PAIRS, WORDS, ENGLISH, batch_size=64, seed=0)
        for source, target in zip(*batch, strict=True)
    ]
    assert sorted(found) == sorted((pair.source, pair.target) for pair in PAIRS)


def test_rows_end_in_eos_and_only_the_longest_is_without_padding():
    for source, target in batches(PAIRS, WORDS, ENGLISH, batch_size=64, seed=0):
        for ids in (source, target):
            assert ids.dtype == np.int64
            lengths = (ids == WORDS.eos_id).argmax(axis=1) + 1
            assert lengths.max() == ids.shape[1]
            assert ((np.arange(ids.shape[1]) < lengths[:, None]) == (ids != WORDS.pad_id)).all()
            assert (ids != WORDS.bos_id).all()


def test_all_batches_but_one_are_full():
    sizes = [len(batch.source) for batch in batches(PAIRS[:999], WORDS, ENGLISH, batch_size=50, seed=1)]
    assert sorted(sizes) == [49] + [50] * 19


def test_sentences_of_about_one_length_come_together_so_that_less_than_a_tenth_is_padding():
    together = batches(PAIRS, WORDS, ENGLISH, batch_size=64, seed=0)
    assert sum((batch.target == 0).sum() for batch in together) < 0.1 * sum(
        batch.target.size for batch in together
    )


def test_the_order_depends_on_the_seed_only():
    def order(seed):
        return [batch.source.tolist() for batch in batches(PAIRS, WORDS, ENGLISH, batch_size=64, seed=seed)]

    assert order(3) == order(3) != order(4)


def test_a_batch_of_no_pairs_is_refused_and_no_pairs_give_no_batches():
    with pytest.raises(ValueError, match="A batch has at least one pair, not 0"):
        batches(PAIRS, WORDS, ENGLISH, batch_size=0, seed=0)
    assert batches([], WORDS, ENGLISH, batch_size=8, seed=0) == []


def test_sentences_to_translate_are_padded_in_their_order():
    ids = encode_batch(["Jane visite l'Afrique", "Paul"], WORDS)
    assert ids.shape == (2, 5)
    assert [WORDS.decode(row) for row in ids] == ["Jane visite l'Afrique", "Paul"]
    assert encode_batch([], WORDS).shape == (0, 0)
