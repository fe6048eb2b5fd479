"""Lab 12: a tokenizer by hand, and tasks as text.

Words, merges, texts and examples are drawn at random, so that no answer can be copied. A list of merges is as byte-pair
encoding learns one: each token is made once, of tokens that were there before. Tokens and texts come back as numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from course_utils.cases.properties import together
from course_utils.checking.exercise import Case, Exercise, Inputs, Outputs, Run, call_function
from course_utils.data.summaries import Pair

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


def _tokens_in(rows: np.ndarray) -> tuple[bytes, ...]:
    """What `_token` has made numbers of."""
    return tuple(bytes(row[row >= 0].tolist()) for row in rows)


def _numbered(text: str) -> np.ndarray:
    return np.array([ord(letter) for letter in text], dtype=np.int64)


def _text_in(numbers: np.ndarray) -> str:
    return "".join(map(chr, numbers.tolist()))


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
    """Words of tokens of one to three bytes, in which the same letters may be cut in two ways; one has a capital, and stands there once."""
    tokens = [b"a", b"b", b"c", b"ab", b"bc", b"abc", "é".encode()]
    words: dict[tuple[bytes, ...], int] = {
        (b"a", b"bc"): int(rng.integers(2, 90)),
        (b"ab", b"c"): int(rng.integers(2, 90)),
        (b"ab", b"c") * 2: 3,
        (b"A", b"bc"): 1,
        (b" ", b"a"): int(rng.integers(2, 90)),  # white space, and half a letter, are tokens, too
        (b"\xc3", b"\xa9"): int(rng.integers(2, 90)),
    }
    while len(words) < 15:
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
    """The letters of the pair also stand there as other tokens, in capitals, and at the beginning of a longer token."""
    parts = [
        (b"a", b"b", b"c", b"ab", b"c"),
        (b"a", b"bc"),
        (b"abc",),
        (b"ab", b"c"),
        (b"AB", b"c"),
        (b"ab", b"cd"),
        (b" ", b"ab", b"c"),  # whatever might be put between tokens to tell them apart is a token itself
        (b"\n", b"\\", b"n"),
        (b"\0", b"|", b"\xff"),
    ]
    middle = (token for place in rng.permutation(len(parts)) for token in parts[place])
    return {"word": (b"abc", *middle, b"ab"), "pair": (b"ab", b"c")}


def _at_the_ends(rng: np.random.Generator) -> Inputs:
    middle = [letter.encode() for letter in _drawn_word(rng, "cd", 2, 6)]
    return {"word": (b"a", b"b", *middle, b"a", b"b"), "pair": (b"a", b"b")}


def _nothing_else(rng: np.random.Generator) -> Inputs:
    pair = tuple(letter.encode() for letter in rng.choice(list(LETTERS), 2))
    return {"word": pair, "pair": pair}


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
    shown={"tokens": _tokens_in},
    call=_call_merge,
    cases=(
        Case("the pair stands in a word several times", _occurring),
        Case("twice the same token as the pair, in odd and even rows", _in_a_row),
        Case("the same letters are there as other tokens", _cut_otherwise),
        Case("the pair begins and ends the word; then a word without it", together(_at_the_ends, _not_there)),
        Case(
            "a word of one token, one that is the pair, then a longer one",
            together(_one_token, _nothing_else, _occurring),
        ),
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
        "text": _drawn_word(rng, "xyz", 4, 9) + ", " + _drawn_word(rng, "XYZ", 2, 4) + "!",
        "merges": [(b"a", b"b")],
    }


def _nothing_tidied(rng: np.random.Generator) -> Inputs:
    """A word that comes twice, white space at both ends, a line end of two characters, and a letter with its accent behind it."""
    word = _drawn_word(rng, "ab", 3, 6)
    text = f" {word} e\u0301\r\n{word} {word.upper()} {word}\t{word}\N{NO-BREAK SPACE}\u2019\0\ufeff\u200d  "
    return {"text": text, "merges": _merges(rng, "ab", 4)}


def _tiny_texts(rng: np.random.Generator) -> list[Inputs]:
    """White space, one letter, no merges at all, a digit behind a letter, which is another word, and merges of digits and marks."""
    a, b = rng.permutation(list(LETTERS))[:2].tolist()
    merges = [(a.encode(), b.encode()), (a.encode(), b"1"), (b"1", b"2"), (b".", b".")]
    texts = (("  ", merges), (a, merges), (f"{a}{b}", []), (f"{a}1", merges), (f"{a}12 ...", merges))
    return [{"text": text, "merges": known} for text, known in texts]


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
            "white space; one letter; no merges; digits and marks",
            _tiny_texts,
        ),
        Case(
            "nothing to merge; an empty text; a repeated word in white space; twelve words",
            together(_nothing_to_merge, _empty, _nothing_tidied, _sentence("abc", 12, 9)),
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


def _other_merges(rng: np.random.Generator) -> list[Inputs]:
    inputs = _ids("abcdef", 12, 8)(rng)
    inputs["ids"][int(rng.integers(12))] = 256 + int(rng.integers(8))  # one merge at least
    return [inputs, {**inputs, "merges": _merges(rng, "ghijkl", 8)}]


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


def _easily_lost(rng: np.random.Generator) -> Inputs:
    """A mark of byte order, the id 0, marks and spaces that somebody might tidy up, and letters that look the same. Then a tab,
    a line end of two characters, a zero, and two bytes one after the other that are no text.
    """
    from course_utils.data.byte_pairs import SINGLE

    marks = "! . a  b \u0120 e\u0301 \ufb01"
    text = "\ufeff".encode() + _drawn_word(rng, "abc", 3, 6).encode() + marks.encode() + b"\t\r\n\0\xff\xff "
    return {"ids": [SINGLE.index(bytes([byte])) for byte in text], "merges": _merges(rng, "abc", 2)}


def _a_letter_of_one_token(rng: np.random.Generator) -> Inputs:
    """Both bytes of a letter are in one token."""
    first, second = str(rng.choice(list("éàèçôü"))).encode()
    return {"ids": [256, *_ids("abc", 4, 1)(rng)["ids"][:3]], "merges": [(bytes([first]), bytes([second]))]}


def _no_ids(rng: np.random.Generator) -> Inputs:
    return {"ids": [], "merges": _merges(rng, LETTERS, 3)}


def _call_decode(learner: Callable, inputs: Inputs) -> dict[str, Any]:
    found = _form(call_function(learner, inputs), str, "a str")
    return {"text": None if found is None else _numbered(found)}


decode = Exercise(
    name="decode",
    returns=("text",),
    shown={"text": _text_in},
    call=_call_decode,
    bypasses=("course_utils.data.byte_pairs.BytePairs", "tokenizers.Tokenizer"),
    cases=(
        Case("12 ids, single letters and merges; then the same ids with other merges", _other_merges),
        Case("letters of several bytes, each byte a token of its own", _split_letters),
        Case("bytes that are not text: an incomplete letter", _broken_off),
        Case(
            "no ids; bytes that no screen shows; two that are no text; 20 ids",
            together(_no_ids, _easily_lost, _ids("abc", 20, 6), _a_letter_of_one_token),
        ),
    ),
)

# ---------------------------------------------------------------------------------- teacher_forcing_batch


def _rows(lengths: tuple[int, ...], pad_id: int) -> Maker:
    """Rows of ids in a drawn order of lengths, the longest neither first nor last, each with an end id, which is the one below ``pad_id``."""

    def inputs(rng: np.random.Generator) -> Inputs:
        order = rng.permutation(lengths).tolist()
        order.insert(1, order.pop(order.index(max(order))))
        rows = [[*(int(one) for one in rng.integers(1, pad_id - 1, length)), pad_id - 1] for length in order]
        rows[0][0] = 0 if len(rows[0]) > 1 else rows[0][0]  # an id like any other
        longest = max(rows, key=len)
        longest[2] = longest[1]  # an id may follow itself
        return {"rows": rows, "pad_id": pad_id}

    return inputs


def _padded_with_the_end(rng: np.random.Generator) -> Inputs:
    """The id of padding is that of the end, as in GPT-2: only a row's length tells which is which."""
    made = _rows((4, 2, 6), 30)(rng)
    return {**made, "pad_id": 29}


def _call_batch(learner: Callable, inputs: Inputs) -> Any:
    real = _real(inputs)  # before the rows may be changed
    found = call_function(learner, inputs)
    if not isinstance(found, tuple | list) or len(found) != 3 or any(part is None for part in found):
        return found
    decoder_ids, labels, counted = map(np.asarray, found)
    for name, part in (("decoder_ids", decoder_ids), ("labels", labels)):
        if part.dtype.kind == "f":
            raise WrongForm(f"{name} are floats; ids are whole numbers.")
    if counted.dtype.kind != "b":
        raise WrongForm("`counted` holds numbers; expected booleans.")
    if decoder_ids.shape == real.shape:  # what the decoder reads behind the end never counts
        return np.where(real, decoder_ids, inputs["pad_id"]), labels, counted
    return found


def _real(inputs: Inputs) -> np.ndarray:
    lengths = np.array([len(row) for row in inputs["rows"]])
    return np.arange(lengths.max()) < lengths[:, None]


def labels_come_one_later(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """At each place but the first, as long as the sentence goes on, the decoder reads the label of the place before."""
    same = outputs["decoder_ids"][:, 1:] == outputs["labels"][:, :-1]
    return same | ~_real(inputs)[:, 1:]


teacher_forcing_batch = Exercise(
    name="teacher_forcing_batch",
    returns=("decoder_ids", "labels", "counted"),
    call=_call_batch,
    cases=(
        Case("three targets of different lengths", _rows((5, 2, 7), 40)),
        Case("targets of equal length, so there is no padding", _rows((4, 4), 31)),
        Case(
            "one target; four, ids in the thousands; only the end; end as padding",
            together(_rows((3,), 25), _rows((1, 6, 3, 2), 5700), _rows((0, 4, 3), 33), _padded_with_the_end),
        ),
    ),
    properties=(labels_come_one_later,),
)

# ---------------------------------------------------------------------------------- mixture


def _sizes(number: int, **limits: float) -> Maker:
    """Sizes of tasks that differ up to a hundredfold. A limit lies between the two largest ones."""

    def inputs(rng: np.random.Generator) -> Inputs:
        sizes = np.sort((10 ** rng.uniform(2, 4, number)).astype(int))[::-1] + np.arange(number, 0, -1)
        sizes[0] *= 3
        given = dict(limits)
        if "limit" in given:
            given["limit"] = int(sizes[1] * rng.uniform(1.2, 1.8))
        order = rng.permutation(number)
        return {"sizes": {f"task {place}": int(sizes[place]) for place in order}, **given}

    return inputs


def _millions(rng: np.random.Generator) -> Inputs:
    made = _sizes(4)(rng)
    return {"sizes": {name: 3_000 * size for name, size in made["sizes"].items()}}


def _equally_many(rng: np.random.Generator) -> Inputs:
    one, other = rng.integers(200, 900, 2).tolist()
    return {"sizes": {"first": one, "second": other + 1000, "third": one}, "temperature": 2.0}


def _one_task(rng: np.random.Generator) -> Inputs:
    return {"sizes": {"alone": int(rng.integers(5, 500))}}


def _low_limit(rng: np.random.Generator) -> Inputs:
    made = _sizes(5)(rng)
    return {**made, "limit": int(sorted(made["sizes"].values())[2] * 1.1)}


def _lowest_limit(rng: np.random.Generator) -> Inputs:
    """All tasks exceed it, so that they are equal."""
    made = _sizes(3)(rng)
    return {**made, "limit": int(min(made["sizes"].values()) * rng.uniform(0.3, 0.8))}


def _largest_by_far(rng: np.random.Generator) -> Inputs:
    """Even the root of the largest size exceeds the limit, so that it matters which comes first."""
    made = _sizes(4, temperature=2.0, limit=0)(rng)
    largest = max(made["sizes"], key=made["sizes"].get)
    made["sizes"][largest] = int((made["limit"] * rng.uniform(1.5, 3)) ** 2)
    return made


def _call_mixture(learner: Callable, inputs: Inputs) -> dict[str, Any]:
    tasks = list(inputs["sizes"])  # before the dict may be changed
    found = _form(call_function(learner, inputs), Mapping, "a dict: name of a task -> its share")
    if found is None:
        return {"shares": None}
    if set(found) != set(tasks):
        raise WrongForm(f"it has the keys {sorted(found)}; expected the names of the tasks.")
    return {"shares": np.array([float(found[name]) for name in tasks])}


def shares_add_up(inputs: Inputs, outputs: Outputs) -> bool:
    """The shares add up to 1."""
    return bool(np.isclose(outputs["shares"].sum(), 1))


mixture = Exercise(
    name="mixture",
    returns=("shares",),
    call=_call_mixture,
    cases=(
        Case(
            "in proportion to the sizes; sizes in the millions; a single task",
            together(_sizes(4), _millions, _one_task),
        ),
        Case(
            "temperature 2.5; then two tasks of equal size",
            together(_sizes(3, temperature=2.5), _equally_many),
        ),
        Case(
            "a limit only the largest task exceeds; limits several or all exceed",
            together(_sizes(5, limit=0), _low_limit, _lowest_limit),
        ),
        Case("a limit, and temperature 2", _largest_by_far),
    ),
    properties=(shares_add_up,),
)

# ---------------------------------------------------------------------------------- as_text, from_text


def _values(low: float, high: float, number: int) -> Maker:
    """Similarities that are not in the middle between two steps. They are asked for one by one."""

    def inputs(rng: np.random.Generator) -> Inputs:
        steps = rng.integers(round(low * 5), round(high * 5) + 1, number)
        return {"similarity": (steps / 5 + rng.uniform(-0.08, 0.08, number)).round(4).tolist()}

    return inputs


def _outside(rng: np.random.Generator) -> Inputs:
    found = [*rng.uniform(-3, -0.6, 2), *rng.uniform(-0.45, -0.15, 2), -0.05]
    found += [*rng.uniform(5.2, 9, 2), *(rng.integers(3, 22, 5) / 5)]
    found += [0.0, 5.0]
    return {"similarity": [*(float(one) for one in rng.permutation(found)), int(rng.integers(1, 5))]}


def _hardly_nearer(rng: np.random.Generator) -> Inputs:
    """A little nearer to one step than to the next. Rounded to two decimals, they would lie in the middle."""
    steps = rng.integers(1, 24, 6) / 5
    away = rng.choice([-1, 1], 6) * rng.uniform(0.0955, 0.099, 6)
    return {"similarity": (steps + away).round(4).tolist()}


def _call_as_text(learner: Callable, inputs: Inputs) -> dict[str, Any]:
    found = [_form(call_function(learner, {"similarity": one}), str, "a str") for one in inputs["similarity"]]
    return {"texts": None if None in found else _numbered("\n".join(found))}


as_text = Exercise(
    name="as_text",
    returns=("texts",),
    shown={"texts": lambda numbers: _text_in(numbers).split("\n")},
    call=_call_as_text,
    cases=(
        Case("8 numbers from 0 to 5", _values(0.2, 5, 8)),
        Case(
            "12 numbers from 1 to 4; then 6 that lie nearly in the middle",
            together(_values(1, 4, 12), _hardly_nearer),
        ),
        Case("numbers below 0 and above 5 among others", _outside),
    ),
)


def _written(kind: str) -> Maker:
    def inputs(rng: np.random.Generator) -> Inputs:
        good = [
            "0.0",
            "5.0",
            f"0.{rng.integers(1, 10)}",
            *(f"{one / 5:.1f}" for one in rng.integers(0, 26, 4)),
        ]
        extra = {
            "spaces": [
                f" {rng.integers(0, 50) / 10:.1f}\n",
                f"\n{rng.integers(0, 50) / 10:.1f}",
                f"{rng.integers(0, 5)} ",
                *(f"{rng.integers(0, 4)}.{digits}" for digits in (25, 75, 13, 468)),
            ],
            "words": [
                "yes",
                "",
                f"{rng.integers(1, 5)} .4",
                f"{rng.integers(1, 5)}.2 of 5",
                f"{rng.integers(1, 5)}.4\nyes",
                f"yes\n{rng.integers(1, 5)}.2",
                f"{rng.integers(1, 5)}\n.4",
                f"{rng.integers(1, 5)},2",
                f"{rng.integers(1, 5)}.4.",
                f'"{rng.integers(1, 5)}.4"',
                f"{rng.integers(1, 5)}%",
                "True",
                "true",
                "10/4",
            ],
            "range": ["5.04", "-0.04", f"{rng.uniform(5.1, 9):.1f}", f"-{rng.uniform(0.1, 3):.1f}", "17"],
            "numbers": ["nan", "inf", "-inf"],
        }[kind]
        return {"text": [str(one) for one in rng.permutation([*good, *extra])]}

    return inputs


def _call_from_text(learner: Callable, inputs: Inputs) -> dict[str, Any]:
    found = [call_function(learner, {"text": one}) for one in inputs["text"]]
    for number in found:
        _form(number, (float, int, np.floating), "a float")
    return {"numbers": None if None in found else np.array(found, dtype=np.float64)}


from_text = Exercise(
    name="from_text",
    returns=("numbers",),
    call=_call_from_text,
    cases=(
        Case("numbers with spaces or a line end around them", _written("spaces")),
        Case("texts that are no number", _written("words")),
        Case("numbers below 0 and above 5", _written("range")),
        Case("texts that Python reads as infinite or as no number", _written("numbers")),
    ),
)

# ---------------------------------------------------------------------------------- span_corruption


def _spans(
    words: int, lengths: tuple[int, ...], first: bool = False, last: bool = False, different: int = 87
) -> Maker:
    """Spans of these lengths in a drawn order, with at least one token between two. ``first``, ``last``: one begins or ends the text.
    ``different``: how many ids a text is drawn from.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        order = [int(length) for length in rng.permutation(lengths)]
        gaps = np.ones(len(order) + 1, dtype=int)
        gaps[0], gaps[-1] = not first, not last
        free = np.flatnonzero([not first, *[True] * (len(order) - 1), not last])
        for place in rng.choice(free, words - sum(order) - int(gaps.sum())):
            gaps[place] += 1
        spans, place = [], 0
        for gap, length in zip(gaps[:-1], order, strict=True):
            begin = place + int(gap)
            spans.append((begin, begin + length))
            place = begin + length
        return {
            "ids": rng.integers(0, different, words).tolist(),
            "spans": spans,
            "first_sentinel": int(rng.integers(100, 200)),
        }

    return inputs


def _no_spans(rng: np.random.Generator) -> Inputs:
    return {**_spans(6, (1,))(rng), "spans": []}


def _call_spans(learner: Callable, inputs: Inputs) -> Any:
    found = call_function(learner, inputs)
    if isinstance(found, tuple | list) and len(found) == 2 and all(part is not None for part in found):
        return tuple(_whole(_form(part, (list, tuple), "two lists of ids")) for part in found)
    return found


def nothing_is_lost(inputs: Inputs, outputs: Outputs) -> bool:
    """Source and target together have the ids of the text, each as often as the text, and sentinels."""
    both = np.concatenate([outputs["source"], outputs["target"]])
    return sorted(both[both < inputs["first_sentinel"]].tolist()) == sorted(inputs["ids"])


span_corruption = Exercise(
    name="span_corruption",
    returns=("source", "target"),
    call=_call_spans,
    cases=(
        Case("one span; then none", together(_spans(9, (3,)), _no_spans)),
        Case(
            "three spans of different lengths; then five, in a text of few different ids",
            together(_spans(16, (1, 2, 4)), _spans(40, (1, 2, 3, 1, 2), different=4)),
        ),
        Case("a span begins the text, and another one ends it", _spans(14, (2, 3, 2), first=True, last=True)),
    ),
    properties=(nothing_is_lost,),
)

# ---------------------------------------------------------------------------------- select_pairs


def _names(rng: np.random.Generator, number: int) -> list[str]:
    """Different names, none of which begins another one."""
    found: dict[str, None] = {}
    while len(found) < number:
        found[_drawn_word(rng, LETTERS, 4, 4)] = None
    return list(found)


def _pairs(rng: np.random.Generator, modules: list[str]) -> list[Pair]:
    """A pair of each module, in a drawn order, each with a text and a summary of its own."""
    names = _names(rng, 3 * len(modules))
    return [
        Pair(modules[place], *(names[3 * number + part] for part in range(3)))
        for number, place in enumerate(rng.permutation(len(modules)).tolist())
    ]


def _modules(rng: np.random.Generator) -> Inputs:
    """Modules, a package with all that is in it, and names that only begin like these, stand inside others, or are of the package above."""
    a, b, c, d, e = _names(rng, 5)
    modules = [
        a,
        f"{a}.{d}",
        f"{a}.{e}",
        f"{a}.{d}.{e}",
        f"{a}.{d}s",
        b,
        f"{b}.{d}.{c}",
        f"{b}x",
        f"{b}_{d}.{e}",
    ]
    modules += [f"{c}.{b}", f"{c}.{d}", f"{c}.{a}.{d}", c, f"{a}.{d}", f"{c}.{d}", f"{b}.{e}"]
    # far below what is held out, beside it, and with another character for the full stop
    modules += [
        f"{c}.{e}.{a}",
        f"{c}.{e}.{a}.{d}",
        f"{c}.{e}",
        f"{c}.{e}.{d}",
        f"{a}.{d}.{e}.{b}.{c}",
        f"{a}x{d}",
    ]
    pairs = _pairs(rng, modules)
    pairs.append(Pair(a, d, "called like what is held out", "It is not."))
    pairs.append(Pair(c, b, "called like a module that is held out", "Nor is it."))
    return {"pairs": pairs, "held_out": {f"{a}.{d}", b, f"{c}.{e}.{a}"}}


def _twice(*what: str) -> Maker:
    """Pairs that are there again. ``what``: "text" or "summary" of a test pair in training, "test" or "training": a text twice there."""

    def inputs(rng: np.random.Generator) -> Inputs:
        held, free, other = _names(rng, 3)
        pairs = _pairs(rng, [f"{held}.{other}"] * 8 + [f"{free}.{other}"] * 9)
        test = [place for place, pair in enumerate(pairs) if pair.module.startswith(held)]
        training = [place for place, pair in enumerate(pairs) if pair.module.startswith(free)]
        test, training = rng.permutation(test).tolist(), rng.permutation(training).tolist()

        def same(place: int, as_place: int, part: str) -> None:
            pairs[place] = pairs[place]._replace(**{part: getattr(pairs[as_place], part)})

        if "text" in what:
            same(training[0], test[0], "text")
            same(training[1], test[1], "text")
        if "summary" in what:
            same(training[2], min(test), "summary")
            same(training[8], max(test), "summary")
        if "test" in what:
            first, second = sorted(test[3:5])
            same(second, first, "text")
            same(test[5], first, "summary")  # another text: both stay
            if "summary" not in what:  # of the one that is left out, so that it is no summary of the test
                same(training[7], second, "summary")
        if "text" not in what:  # the two that are the same are of different modules
            for place, module in ((test[3], held), (training[3], free)):
                pairs[place] = pairs[place]._replace(module=module)
        if "training" in what:
            same(training[3], training[4], "text")
            same(training[5], training[6], "summary")
        if (
            "summary" in what and "training" in what
        ):  # the first has a summary of the test, so the second one stays
            first, second = sorted(training[6:8])
            same(first, test[2], "summary")
            same(second, first, "text")
        return {"pairs": pairs, "held_out": {held}}

    return inputs


def _alike(rng: np.random.Generator) -> Inputs:
    """Texts, summaries and modules that differ from those of the test by a capital or a space, so that they are others. Also a
    text that is a summary of the test, and the other way round, and texts that are part of another one.
    """
    held, free, other = _names(rng, 3)
    pairs = _pairs(rng, [f"{held}.{other}"] * 4 + [f"{free}.{other}"] * 6)
    test = [pair for pair in pairs if pair.module.startswith(held)]
    training = [pair for pair in pairs if pair.module.startswith(free)]
    more = [
        training[0]._replace(text=test[0].text.capitalize()),
        training[1]._replace(text=f" {test[1].text}"),
        training[2]._replace(summary=test[2].summary.capitalize()),
        training[3]._replace(summary=f"{test[3].summary} "),
        training[4]._replace(text=training[5].text.upper()),
        training[5],
        training[5]._replace(name="turned", text=test[1].summary, summary=test[1].text),
        test[0]._replace(name="again", text=f"{test[0].text} "),
        test[1]._replace(module=f"{held.upper()}.{other}", text="Upper", summary="Upper."),
        test[2]._replace(module=f" {held}.{other}", text="Space", summary="Space."),
        training[0]._replace(name="copied", text=test[3].text),
        training[1]._replace(name="part of one in the test", text=test[0].text[:-1], summary="Part."),
    ]
    texts, summaries = (
        ("A caf\u00e9 here.", "A cafe\u0301 here.", "A caf\u00e9  here."),
        ("Sum.", "Sum", "sum."),
    )
    more += [
        pair._replace(name=f"near {number}", text=text, summary=summary)
        for number, (pair, text, summary) in enumerate(
            zip((test[0], training[0], training[1]), texts, summaries, strict=True)
        )
    ]
    every = [*test, *more]
    mixed = [every[place] for place in rng.permutation(len(every))]
    last = [
        test[0]._replace(name="capitals", text=test[0].text.upper()),
        test[1]._replace(name="part of another", text=test[1].text[:-1], summary="Part of it."),
    ]
    return {"pairs": [*mixed, *last], "held_out": {held}}


def _call_select(learner: Callable, inputs: Inputs) -> Any:
    """Places in the list of all pairs, in rows of equal length."""
    place_of = {pair: place for place, pair in enumerate(inputs["pairs"])}  # before the list may be changed
    found = call_function(learner, inputs)
    if not isinstance(found, tuple | list) or len(found) != 2 or any(part is None for part in found):
        return found
    for part in found:
        for pair in _form(part, (list, tuple), "two lists of pairs"):
            if not isinstance(pair, tuple) or pair not in place_of:
                raise WrongForm(f"{str(pair)[:60]!r} is none of the pairs; expected two lists of pairs.")
    rows = [[place_of[pair] for pair in part] for part in found]
    return tuple(np.array(row + [-1] * (len(place_of) - len(row)), dtype=np.int64) for row in rows)


def nothing_of_the_test_is_in_training(inputs: Inputs, outputs: Outputs) -> bool:
    """No text and no summary of the test is in training, and no module."""
    training, test = (
        [inputs["pairs"][place] for place in outputs[part] if 0 <= place < len(inputs["pairs"])]
        for part in ("training", "test")
    )
    return bool(test) and not any(
        {getattr(pair, part) for pair in training} & {getattr(pair, part) for pair in test}
        for part in ("module", "text", "summary")
    )


select_pairs = Exercise(
    name="select_pairs",
    returns=("training", "test"),
    call=_call_select,
    cases=(
        Case("modules and a package that are held out, among names that look like theirs", _modules),
        Case("a text or a summary of the test is also in training", _twice("text", "summary")),
        Case(
            "texts twice in training, twice in the test; a test summary in training",
            _twice("test", "training"),
        ),
        Case(
            "texts, summaries, modules that differ in a capital, space, mark or accent",
            _alike,
        ),
        Case("a text or a summary occurs again, in both ways", _twice("text", "summary", "test", "training")),
    ),
    properties=(nothing_of_the_test_is_in_training,),
)

# ---------------------------------------------------------------------------------- rouge_n


def _two_texts(n: int) -> Maker:
    """Texts that share a run which one of them has more often, one that both have twice, and one whose words are in reverse order in the other."""

    def inputs(rng: np.random.Generator) -> Inputs:
        names = _names(rng, 3 * n + 6)
        often, twice, turned = (names[n * number : n * (number + 1)] for number in range(3))
        ours, theirs = names[-6:-3], names[-3:]
        candidate = (
            [often] * 3
            + [twice] * 2
            + [turned]
            + [[str(rng.choice(ours))] for _ in range(int(rng.integers(4, 20)))]
        )
        reference = [often] + [twice] * 2 + [turned[::-1]]
        reference += [[str(rng.choice(theirs))] for _ in range(int(rng.integers(7, 25)))]
        made = {"candidate": _joined(rng, candidate), "reference": _joined(rng, reference), "n": n}
        if len(made["candidate"]) == len(made["reference"]):  # precision, recall and F1 would be the same
            made["reference"].append(str(rng.choice(theirs)))
        return made

    return inputs


def _joined(rng: np.random.Generator, parts: list[list[str]]) -> list[str]:
    return [word for place in rng.permutation(len(parts)) for word in parts[place]]


def _too_short(rng: np.random.Generator) -> list[Inputs]:
    """One text, or both, have fewer words than a run has."""
    few = rng.choice(list("abc"), 2).tolist()
    many = few + rng.choice(list("abcde"), int(rng.integers(4, 8))).tolist()
    texts = ((few, many), (many, few), (few, few), ([], many), ([], []), (many[:3], many[:3]))
    return [{"candidate": one, "reference": other, "n": 3} for one, other in texts]


def _of_one_word(rng: np.random.Generator) -> list[Inputs]:
    """Texts of a single word, which is a run if runs have one word."""
    a, b = rng.permutation(list("abcdefgh"))[:2].tolist()
    texts = (([a], [a]), ([a], [b, a]), ([b, a], [a]))
    return [{"candidate": one, "reference": other, "n": 1} for one, other in texts]


def _nothing_shared(rng: np.random.Generator) -> Inputs:
    """The same words, and no run of two in common."""
    a, b, c, d = rng.permutation(list("abcdefgh"))[:4].tolist()
    return {"candidate": [a, b, c, d], "reference": [d, c, b, a], "n": 2}


def _nearly_equal(rng: np.random.Generator) -> Inputs:
    """Words that differ in a capital, a mark, an accent or an ending, and two that make one and the same word when put together."""
    here, there = _names(rng, 2)
    candidate, reference = [here, there, "end.", "The", there], [here, there, "end", "the", there, here]
    for said, wanted in (("sums", "sum"), ("caf\u00e9", "cafe"), ("re-use", "reuse"), ("e\u0301", "\u00e9")):
        candidate += ["-", here, said]
        reference += ["-", here, wanted]
    return {"candidate": [*candidate, "a", "bc"], "reference": ["ab", "c", *reference], "n": 2}


def _exchanged(rng: np.random.Generator) -> list[Inputs]:
    inputs = _two_texts(2)(rng)
    return [inputs, {**inputs, "candidate": inputs["reference"], "reference": inputs["candidate"]}]


def precision_and_recall_change_places(runs: list[Run]) -> np.ndarray:
    """With candidate and reference exchanged, precision and recall are exchanged, and F1 is the same."""
    (_, one), (_, two) = runs
    return np.isclose(
        [one["precision"], one["recall"], one["f1"]], [two["recall"], two["precision"], two["f1"]], atol=1e-6
    )


rouge_n = Exercise(
    name="rouge_n",
    returns=("precision", "recall", "f1"),
    bypasses=("rouge_score.rouge_scorer.RougeScorer",),
    cases=(
        Case("single words, in two pairs of texts", together(_two_texts(1), _two_texts(1))),
        Case("runs of two words, in two pairs of texts", together(_two_texts(2), _two_texts(2))),
        Case("runs of three words, in two pairs of texts", together(_two_texts(3), _two_texts(3))),
        Case(
            "no common run; nearly equal words; texts shorter than runs, or as long",
            lambda rng: [
                _nothing_shared(rng),
                _nearly_equal(rng),
                *_too_short(rng),
                *_of_one_word(rng),
                _two_texts(4)(rng),
            ],
        ),
        Case("candidate and reference exchanged", _exchanged, precision_and_recall_change_places),
    ),
)

# ---------------------------------------------------------------------------------- length_penalty


def _hypotheses(number: int, low: float, high: float, longest: int = 40) -> Maker:
    """Sums of log-probabilities, from -0.5 to -3 a token, of hypotheses of different lengths; the first has one token. ``low``, ``high``: of alpha."""

    def inputs(rng: np.random.Generator) -> Inputs:
        lengths = np.array([1, *rng.choice(np.arange(2, longest + 1), number - 1, replace=False)])
        return {
            "totals": -lengths * rng.uniform(0.5, 3, number),
            "lengths": lengths,
            "alpha": float(rng.uniform(low, high)),
        }

    return inputs


def _alone(rng: np.random.Generator) -> Inputs:
    return {
        "totals": -rng.uniform(5, 20, 1),
        "lengths": rng.integers(4, 30, 1),
        "alpha": float(rng.uniform(0.4, 0.9)),
    }


def _equally_long(rng: np.random.Generator) -> Inputs:
    made = _hypotheses(5, 0.4, 0.9)(rng)
    made["lengths"][2] = made["lengths"][4]
    return made


def _usual_penalty(rng: np.random.Generator) -> Inputs:
    """With an alpha of 1, the penalty is not yet the mean over the words."""
    return {**_hypotheses(5, 0, 1)(rng), "alpha": 1.0}


def _no_penalty(rng: np.random.Generator) -> Inputs:
    return {**_hypotheses(5, 0, 1)(rng), "alpha": 0.0}


def _as_likely(rng: np.random.Generator) -> Inputs:
    """Hypotheses of growing lengths with the same sum."""
    lengths = np.sort(rng.choice(np.arange(1, 30), 6, replace=False))
    return {
        "totals": np.full(6, -rng.uniform(4, 20)),
        "lengths": lengths,
        "alpha": float(rng.uniform(0.3, 1.5)),
    }


def longer_ones_of_a_sum_score_higher(inputs: Inputs, outputs: Outputs) -> bool:
    """Of two hypotheses with the same sum, the longer one scores higher, unless alpha is 0."""
    totals, lengths, scores = inputs["totals"], inputs["lengths"], outputs["scores"]
    same = (totals[:, None] == totals) & (lengths[:, None] < lengths)
    return inputs["alpha"] == 0 or bool((scores[:, None] < scores)[same].all())


length_penalty = Exercise(
    name="length_penalty",
    returns=("scores",),
    cases=(
        Case("seven hypotheses, alpha between 0.5 and 0.9", _hypotheses(7, 0.5, 0.9)),
        Case(
            "alpha above 1; then a hypothesis alone; then two of the same length",
            together(_hypotheses(4, 1.2, 2.0), _alone, _equally_long, _usual_penalty),
        ),
        Case("six hypotheses with the same sum", _as_likely),
        Case("alpha is 0; then another one", together(_no_penalty, _hypotheses(9, 0.2, 0.6))),
    ),
    properties=(longer_ones_of_a_sum_score_higher,),
)
