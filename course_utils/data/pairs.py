"""Sentences with their translations: read from a file, and split into training, validation and test."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from course_utils.data.words import normalise

Pairing = tuple[str, str]

MAX_FAULTS = 10
"""How many bad lines of a file an error lists."""


@dataclass(frozen=True)
class Pair:
    """A sentence and its translation.

    Attributes:
        held_out: for generated sentences, the words in it that no training sentence may have together, such as
            ("vert", "vélo"); see :mod:`course_utils.data.translation`. It takes no part in comparing pairs.
    """

    source: str
    target: str
    held_out: frozenset[Pairing] = field(default=frozenset(), compare=False, repr=False)


@dataclass(frozen=True)
class Splits:
    """Pairs for training, validation and test. No source or target is in two of them.

    Attributes:
        test: sentences that are new, but made of words that training may have seen together.
        unseen_pairings: sentences with words that do not appear together in any of the other three.
    """

    train: tuple[Pair, ...]
    validation: tuple[Pair, ...]
    test: tuple[Pair, ...]
    unseen_pairings: tuple[Pair, ...]


class PairsFileError(ValueError):
    """A file of sentence pairs cannot be used; the message says why, and in which lines."""


def split_pairs(pairs: Sequence[Pair], validation: int, test: int, seed: int) -> Splits:
    """Distributes pairs at random so that no source or target is in two parts.

    Pairs with a source or a target in common (one date in two spellings, several translations of a sentence) stay
    together. Those with a held-out pairing of words make up ``unseen_pairings``. The first of the others is the first of
    ``test``.

    Args:
        validation, test: how many pairs these parts have; a few more if some must stay together.

    Raises:
        ValueError: that leaves none for training.
    """
    groups: list[list[Pair]] = []
    unseen: list[Pair] = []
    for group in _connected(pairs):
        if any(pair.held_out for pair in group):
            unseen += group
        else:
            groups.append(group)
    first, rest = groups[:1], groups[1:]
    random.Random(seed).shuffle(rest)
    waiting = iter([*first, *rest])
    parts: list[list[Pair]] = []
    for size in (test, validation, len(pairs)):
        part: list[Pair] = []
        while len(part) < size and (group := next(waiting, None)):
            part += group
        parts.append(part)
    if not parts[2]:
        raise ValueError(
            f"{len(pairs)} pairs are not enough for {test} test pairs, {validation} validation pairs and any training "
            "pairs. Ask for smaller parts or supply more pairs."
        )
    return Splits(
        train=tuple(parts[2]), validation=tuple(parts[1]), test=tuple(parts[0]), unseen_pairings=tuple(unseen)
    )


def _connected(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Pairs in groups, so that two groups have no source and no target in common; in order of first appearance."""
    parent = list(range(len(pairs)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = index = parent[parent[index]]
        return index

    first_with: dict[tuple[str, str], int] = {}
    for index, pair in enumerate(pairs):
        for key in (("source", pair.source), ("target", pair.target)):
            one, other = sorted((root(index), root(first_with.setdefault(key, index))))
            parent[other] = one  # the earliest pair represents its group
    groups: dict[int, list[Pair]] = {}
    for index, pair in enumerate(pairs):
        groups.setdefault(root(index), []).append(pair)
    return list(groups.values())


def read_pairs(path: Path | str, source_column: int = 0, target_column: int = 1) -> list[Pair]:
    """Real sentence pairs from a UTF-8 file with one pair per line and tabs between columns.

    Empty lines and repeated pairs are left out; other columns (numbers, licences) are ignored. Texts are normalised as
    :func:`course_utils.data.words.normalise` says.

    Args:
        source_column, target_column: counted from 0. The files of manythings.org/anki have English in 0 and the
            other language in 1; those of tatoeba.org have numbers in 0 and 2.

    Raises:
        PairsFileError: there is no such file, there are no pairs in it, or some lines are not pairs. The first such
            lines are listed, each with what is wrong.
    """
    path = Path(path)
    try:
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise PairsFileError(f"{path} cannot be read: {error.strerror}.") from None
    pairs: dict[Pair, None] = {}
    faults = []
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode("utf-8")
            if text.strip():
                pairs[_parsed(text, source_column, target_column)] = None
        except UnicodeDecodeError as error:
            faults.append(
                f"line {number}: byte {error.start + 1} is not UTF-8; save the file in that encoding"
            )
        except ValueError as error:
            faults.append(f"line {number}: {error}")
    if faults:
        more = len(faults) - MAX_FAULTS
        listed = "\n  ".join([*faults[:MAX_FAULTS], *([f"and {more} more"] if more > 0 else [])])
        raise PairsFileError(f"{path} has lines that are not sentence pairs. Fix or remove them:\n  {listed}")
    if not pairs:
        raise PairsFileError(f"{path} contains no pairs. Write one per line: sentence, tab, translation.")
    return list(pairs)


def _parsed(line: str, source_column: int, target_column: int) -> Pair:
    columns = line.rstrip("\r").split("\t")
    needed = max(source_column, target_column) + 1
    if len(columns) < needed:
        found = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
        raise ValueError(f"{found} where {needed} are needed; put a tab between sentence and translation")
    source, target = (normalise(columns[column]) for column in (source_column, target_column))
    for name, text in (("sentence", source), ("translation", target)):
        if not text:
            raise ValueError(f"the {name} is empty")
    return Pair(source, target)
