"""What byte-pair encoding needs around lab 12's exercises: the order of the bytes, words to count in, and a fast tokenizer.

Tokens are ``bytes``. Their numbers begin with the 256 single bytes in the order of GPT-2 (Radford et al. 2019), so that ties
are broken as the package ``tokenizers`` breaks them; each merge adds one more. :class:`BytePairs` encodes with that package.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from tokenizers.pre_tokenizers import PreTokenizer

Pair = tuple[bytes, bytes]

PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""How GPT-2 cuts a text before anything is merged: a word takes the space before it along."""

SINGLE = tuple(
    bytes([byte])
    for byte in (*range(33, 127), *range(161, 173), *range(174, 256), *range(33), *range(127, 161), 173)
)
"""The single bytes in GPT-2's order: those that print come first."""


def split_words(text: str) -> list[str]:
    """The pieces in which GPT-2 merges; together they are the text."""
    return [piece for piece, _ in _splitter().pre_tokenize_str(text)]


@functools.cache
def _splitter() -> PreTokenizer:
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    return Split(Regex(PATTERN), behavior="isolated")


def count_words(texts: Iterable[str]) -> dict[tuple[bytes, ...], int]:
    """Each different word of the texts as a tuple of single bytes, and how often it occurs."""
    counts = Counter(word for text in texts for word in split_words(text))
    return {single_bytes(word): count for word, count in counts.items()}


def single_bytes(word: str) -> tuple[bytes, ...]:
    """A word's bytes in UTF-8, one by one."""
    return tuple(bytes([byte]) for byte in word.encode())


def vocabulary_of(merges: Sequence[Pair]) -> list[bytes]:
    """All tokens, in the order of their numbers."""
    return [*SINGLE, *(left + right for left, right in merges)]


@functools.cache
def _letters() -> dict[int, str]:
    """A letter for each byte, as GPT-2 writes tokens: a space is "Ġ"."""
    printed = [token[0] for token in SINGLE[:188]]
    return {byte: chr(byte) for byte in printed} | {
        token[0]: chr(256 + place) for place, token in enumerate(SINGLE[188:])
    }


def printed(token: bytes) -> str:
    """A token as GPT-2 and ``tokenizers`` write it."""
    return "".join(_letters()[byte] for byte in token)


def unprinted(letters: str) -> bytes:
    """The token that is written so."""
    bytes_of = {letter: byte for byte, letter in _letters().items()}
    return bytes(bytes_of[letter] for letter in letters)


def _tokenizer(model: object) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, pre_tokenizers

    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            _splitter(),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def library_merges(texts: Iterable[str], count: int) -> list[Pair]:
    """The first merges that the package ``tokenizers`` learns from texts, at most ``count``."""
    from tokenizers import models, pre_tokenizers, trainers

    tokenizer = _tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=len(SINGLE) + count,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return merges_of(tokenizer)


def merges_of(tokenizer: Tokenizer) -> list[Pair]:
    """The merges of a byte-level tokenizer, in order."""
    found = json.loads(tokenizer.to_str())["model"]["merges"]
    return [(unprinted(left), unprinted(right)) for left, right in found]


class BytePairs:
    """A tokenizer made from merges, fast.

    Attributes:
        merges: in the order in which they were learned.
        vocabulary: the tokens in the order of their ids.
    """

    def __init__(self, merges: Iterable[Pair]) -> None:
        from tokenizers import models

        self.merges = [tuple(pair) for pair in merges]
        self.vocabulary = vocabulary_of(self.merges)
        numbers = {printed(token): number for number, token in enumerate(self.vocabulary)}
        pairs = [(printed(left), printed(right)) for left, right in self.merges]
        self._tokenizer = _tokenizer(models.BPE(numbers, pairs))

    def __len__(self) -> int:
        return len(self.vocabulary)

    def encode(self, text: str) -> list[int]:
        """The ids of a text's tokens."""
        return self._tokenizer.encode(text).ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids. Numbers that are not ids are left out; bytes that are no UTF-8 become U+FFFD."""
        known = [self.vocabulary[number] for number in ids if 0 <= number < len(self)]
        return b"".join(known).decode(errors="replace")
