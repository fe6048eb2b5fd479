"""Lab 13: a tokenizer by hand, and tasks as text.

Words, merges, texts and examples are drawn at random, so that no answer can be copied. A list of merges is as byte-pair
encoding learns one: each token is made once, of tokens that were there before. Tokens and texts come back as numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from course_utils.cases.properties import together
from course_utils.checking.exercise import Case, Exercise, Inputs, Outputs, call_function

LETTERS = "abcdefgh"
LONGEST = 24
"""Bytes that a token may have here."""

Maker = Callable[[np.random.Generator], Inputs]


class WrongForm(TypeError):
    """What came back is not what the docstring asks for; the message says what to change."""


def _form(found: Any, kind: type | tuple[type, ...], name: str) -> Any:
    if found is not None and not isinstance(found, kind):
        raise WrongForm(f"it returned a {type(found).__name__}; expected {name}.")
    return found


def _token(token: Any) -> list[int]:
    """A token's bytes in a row of fixed width.

    Raises:
        WrongForm: it is no ``bytes``.
    """
    if not isinstance(token, bytes):
        raise WrongForm(f"{token!r} is a {type(token).__name__}; a token is bytes, as b'a'.")
    return [*token[:LONGEST], *[-1] * (LONGEST - len(token))]


def _text(text: str) -> np.ndarray:
    return np.array([ord(letter) for letter in text], dtype=np.int64)


def _whole(numbers: Any) -> np.ndarray:
    """A list of whole numbers.

    Raises:
        WrongForm: something else is in it.
    """
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise WrongForm(f"{number!r} is a {type(number).__name__}; ids are whole numbers.")
    return np.array([int(number) for number in numbers], dtype=np.int64)


# ---------------------------------------------------------------------------------- pair_counts


def _drawn_word(rng: np.random.Generator, letters: str, least: int, most: int) -> str:
    return "".join(rng.choice(list(letters), int(rng.integers(least, most + 1))))


def _words(number: int, letters: str, least: int, most: int) -> Maker:
    """Different words of single bytes."""

    def inputs(rng: np.random.Generator) -> Inputs:
        twice = _drawn_word(rng, letters, 2, 2) * 2  # its first pair stands in it twice
        words = {tuple(letter.encode() for letter in twice): int(rng.integers(2, 60))}
        while len(words) < number:
            word = _drawn_word(rng, letters, least, most)
            words[tuple(letter.encode() for letter in word)] = int(rng.integers(2, 60))
        return {"words": words}

    return inputs


def _longer_tokens(rng: np.random.Generator) -> Inputs:
    """Words of tokens of one to three bytes, in which the same letters may be cut in two ways."""
    tokens = [b"a", b"b", b"c", b"ab", b"bc", b"abc", "é".encode()]
    words: dict[tuple[bytes, ...], int] = {(b"a", b"bc"): int(rng.integers(2, 90)), (b"ab", b"c") * 2: 3}
    while len(words) < 12:
        chosen = rng.integers(0, len(tokens), int(rng.integers(2, 6)))
        words[tuple(tokens[place] for place in chosen)] = int(rng.integers(2, 60))
    return {"words": words}


def _repeated(rng: np.random.Generator) -> Inputs:
    lengths = rng.choice(np.arange(3, 9), 3, replace=False)
    return {
        "words": {
            (letter,) * int(length): int(rng.integers(2, 60))
            for letter, length in zip((b"a", b"b", b"c"), lengths, strict=True)
        }
    }


def _single_tokens(rng: np.random.Generator) -> Inputs:
    found = dict(_words(4, LETTERS, 3, 6)(rng)["words"])
    return {"words": {(b"a",): int(rng.integers(2, 60)), **found, (b"hello",): int(rng.integers(2, 60))}}


def _call_counts(learner: Callable, inputs: Inputs) -> dict[str, Any]:
    found = _form(call_function(learner, inputs), Mapping, "a dict: (token, token) -> number")
    if found is None:
        return {"pairs": None, "counts": None}
    for pair in found:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise WrongForm(f"{pair!r} is a key; expected a tuple of two tokens.")
    rows = sorted(([*_token(left), *_token(right)], int(count)) for (left, right), count in found.items())
    return {
        "pairs": np.array([row for row, _ in rows], dtype=np.int64).reshape(-1, 2, LONGEST),
        "counts": np.array([count for _, count in rows], dtype=np.int64),
    }


def every_neighbour_is_counted(inputs: Inputs, outputs: Outputs) -> bool:
    """The counts add up to the number of neighbouring tokens in the text."""
    return outputs["counts"].sum() == sum(count * (len(word) - 1) for word, count in inputs["words"].items())


pair_counts = Exercise(
    name="pair_counts",
    returns=("pairs", "counts"),
    call=_call_counts,
    cases=(
        Case("20 words of single letters", _words(20, LETTERS, 2, 7)),
        Case("tokens of several bytes; the same letters are cut in two ways", _longer_tokens),
        Case("words that repeat one letter", _repeated),
        Case("words of a single token among others", _single_tokens),
    ),
    properties=(every_neighbour_is_counted,),
)

# ---------------------------------------------------------------------------------- merge


def _occurring(rng: np.random.Generator) -> Inputs:
    """A word of a few letters in which the pair stands several times, and once the other way round."""
    word = "abc" + _drawn_word(rng, "ac", 3, 7) + "cbabc" + _drawn_word(rng, "ac", 2, 5) + "cab"
    return {"word": tuple(letter.encode() for letter in word), "pair": (b"a", b"b")}


def _in_a_row(rng: np.random.Generator) -> Inputs:
    runs = [*rng.permutation([int(rng.choice([2, 4, 6])), 1]), int(rng.choice([3, 5, 7]))]
    letters = b"x".join(b"a" * int(run) for run in runs)
    return {"word": tuple(bytes([letter]) for letter in letters), "pair": (b"a", b"a")}


def _not_there(rng: np.random.Generator) -> Inputs:
    word = _drawn_word(rng, "bcd", 5, 9)
    return {"word": tuple(letter.encode() for letter in word), "pair": (b"b", b"a")}


def _cut_otherwise(rng: np.random.Generator) -> Inputs:
    """The letters of the pair also stand there as other tokens."""
    parts = [(b"a", b"b", b"c", b"ab", b"c"), (b"a", b"bc"), (b"abc",), (b"ab", b"c")]
    order = rng.permutation(len(parts))
    return {"word": (*(token for place in order for token in parts[place]), b"ab"), "pair": (b"ab", b"c")}


def _at_the_ends(rng: np.random.Generator) -> Inputs:
    middle = [letter.encode() for letter in _drawn_word(rng, "cd", 2, 6)]
    return {"word": (b"a", b"b", *middle, b"a", b"b"), "pair": (b"a", b"b")}


def _one_token(rng: np.random.Generator) -> Inputs:
    return {"word": (_drawn_word(rng, LETTERS, 2, 6).encode(),), "pair": (b"a", b"b")}


def _call_merge(learner: Callable, inputs: Inputs) -> dict[str, Any]:
    found = _form(
        call_function(learner, inputs), tuple, "a tuple of tokens, because a word is the key of a dict"
    )
    if found is None:
        return {"tokens": None}
    return {"tokens": np.array([_token(token) for token in found], dtype=np.int64).reshape(-1, LONGEST)}


def the_bytes_stay(inputs: Inputs, outputs: Outputs) -> bool:
    """The tokens, put together, are the same bytes as before."""
    together_ = outputs["tokens"][outputs["tokens"] >= 0]
    return together_.tolist() == list(b"".join(inputs["word"]))


merge = Exercise(
    name="merge",
    returns=("tokens",),
    call=_call_merge,
    cases=(
        Case("the pair stands in a word several times", _occurring),
        Case("the pair is twice the same token, in rows of an odd and an even number", _in_a_row),
        Case("the same letters are there as other tokens", _cut_otherwise),
        Case("the pair begins and ends the word; then a word without it", together(_at_the_ends, _not_there)),
        Case("a word of one token; then a longer one", together(_one_token, _occurring)),
    ),
    properties=(the_bytes_stay,),
)

# ---------------------------------------------------------------------------------- encode, decode


def _merges(rng: np.random.Generator, letters: str, number: int) -> list[tuple[bytes, bytes]]:
    """Merges as they are learned: no token is made twice, and its parts are there before it. The second is made of the first."""
    known = [bytes([byte]) for byte in dict.fromkeys(letters.encode())]
    first, second, third = (known[int(place)] for place in rng.integers(0, len(known), 3))
    found = [(first, second), (first + second, third)]
    known += [left + right for left, right in found]
    while len(found) < number:
        left, right = (known[int(place)] for place in rng.integers(0, len(known), 2))
        if left + right not in known and len(left + right) <= 4:
            found.append((left, right))
            known.append(left + right)
    return found


def _sentence(letters: str, words: int, merges: int, extra: Callable = lambda found: found) -> Maker:
    """The token of the second merge is one of the words."""

    def inputs(rng: np.random.Generator) -> Inputs:
        found = _merges(rng, letters, merges)
        text = [_drawn_word(rng, letters, 3, 9) for _ in range(words)]
        text.insert(int(rng.integers(1, words)), b"".join(found[1]).decode())
        return {"text": " ".join(text), "merges": extra(found)}

    return inputs


def _word_ends(found: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Merges with a space, too: in front of a letter, where it stands, and behind one, where it never does."""
    return [
        *((letter.encode(), b" ") for letter in "ab"),
        *((b" ", letter.encode()) for letter in "ab"),
        *found,
    ]


def _accents(rng: np.random.Generator) -> Inputs:
    """Letters of two to four bytes. The end of "à" is merged with "é", as in the last two letters."""
    letters = rng.permutation(list("éèçàé😀ab"))
    text = "".join(letters) + " " + "".join(rng.permutation(list("éàééa"))) + "àé"
    merges = [("é".encode()[:1], "é".encode()[1:]), (b"b", b"a"), ("à".encode()[1:], "é".encode())]
    return {"text": text, "merges": merges}


def _nothing_to_merge(rng: np.random.Generator) -> Inputs:
    return {
        "text": _drawn_word(rng, "xyz", 4, 9) + ", " + _drawn_word(rng, "XYZ", 2, 4),
        "merges": [(b"a", b"b")],
    }


def _empty(rng: np.random.Generator) -> Inputs:
    return {"text": "", "merges": _merges(rng, LETTERS, 3)}


def _call_encode(learner: Callable, inputs: Inputs) -> dict[str, Any]:
    found = _form(call_function(learner, inputs), list, "a list of ids")
    return {"ids": None if found is None else _whole(found)}


def the_tokens_are_the_text(inputs: Inputs, outputs: Outputs) -> bool:
    """The tokens, put together, are the bytes of the text."""
    from course_utils.data.byte_pairs import vocabulary_of

    vocabulary = vocabulary_of(inputs["merges"])
    return b"".join(vocabulary[number] for number in outputs["ids"]) == inputs["text"].encode()


encode = Exercise(
    name="encode",
    returns=("ids",),
    call=_call_encode,
    uses=("merge",),
    bypasses=("course_utils.data.byte_pairs.BytePairs", "tokenizers.Tokenizer"),
    cases=(
        Case("six words, twelve merges", _sentence("abcd", 6, 12)),
        Case("merges that could reach over the end of a word", _sentence("abab", 9, 5, _word_ends)),
        Case("accents and an emoji", _accents),
        Case("two letters only, and merges of merges", _sentence("ab", 5, 9)),
        Case(
            "nothing to merge; then an empty text; then six words",
            together(_nothing_to_merge, _empty, _sentence("abc", 6, 7)),
        ),
    ),
    properties=(the_tokens_are_the_text,),
)


def _ids(letters: str, number: int, merges: int) -> Maker:
    def inputs(rng: np.random.Generator) -> Inputs:
        found = _merges(rng, letters, merges)
        small = [ord(letter) - 33 for letter in letters]  # the ids of letters that print, in GPT-2's order
        pool = np.array([*small, *range(256, 256 + merges)])
        return {"ids": [int(one) for one in rng.choice(pool, number)], "merges": found}

    return inputs


def _split_letters(rng: np.random.Generator) -> Inputs:
    """ "é" is two tokens: nothing can be made of one of them alone."""
    from course_utils.data.byte_pairs import SINGLE

    text = " " + _drawn_word(rng, "aéàb", 4, 8) + "é" + _drawn_word(rng, "aéç😀", 3, 6)
    return {"ids": [SINGLE.index(bytes([byte])) for byte in text.encode()], "merges": [(b"a", b"b")]}


def _broken_off(rng: np.random.Generator) -> Inputs:
    """The text ends in the middle of an emoji, and in front of it stands the end of another one."""
    from course_utils.data.byte_pairs import SINGLE

    half, whole = "😀".encode()[: int(rng.integers(2, 4))], _drawn_word(rng, "abc", 3, 6).encode()
    rest = "é".encode()[1:]
    return {
        "ids": [SINGLE.index(bytes([byte])) for byte in rest + whole + half],
        "merges": _merges(rng, "abc", 2),
    }


def _no_ids(rng: np.random.Generator) -> Inputs:
    return {"ids": [], "merges": _merges(rng, LETTERS, 3)}


def _call_decode(learner: Callable, inputs: Inputs) -> dict[str, Any]:
    found = _form(call_function(learner, inputs), str, "a str")
    return {"letters": None if found is None else _text(found)}


decode = Exercise(
    name="decode",
    returns=("letters",),
    call=_call_decode,
    bypasses=("course_utils.data.byte_pairs.BytePairs", "tokenizers.Tokenizer"),
    cases=(
        Case("12 ids, single letters and merges", _ids("abcdef", 12, 8)),
        Case("letters of several bytes, each byte a token of its own", _split_letters),
        Case("bytes that are no text: a letter that is broken off", _broken_off),
        Case("no ids at all; then 20", together(_no_ids, _ids("abc", 20, 6))),
    ),
)
