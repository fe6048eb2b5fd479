"""Real text for lab 12: what the documentation of eleven packages says about a function or class at length, and the line above it.

summaries.json has the pairs and the modules that are held out, summaries_written.json what SmolLM2 wrote about two hundred of them and which
of these texts say something false, summaries_beam.json what it would write by other length penalties. docs/data-text-to-text.md says how
they were made, NOTICE under which licences.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("summaries.json")
WRITTEN = Path(__file__).with_name("summaries_written.json")
BEAM = Path(__file__).with_name("summaries_beam.json")


class Pair(NamedTuple):
    """A description, the one-line summary that its authors gave it, and whose it is."""

    module: str
    name: str
    text: str
    summary: str


class Judged(NamedTuple):
    """A text that SmolLM2 wrote about a description, whether somebody found it true, and why not."""

    text: str
    written: str
    true: bool
    why: str


class Hypothesis(NamedTuple):
    """A text that ended in a beam search, its tokens (the end is one of them), and the sum of their log-probabilities."""

    text: str
    tokens: int
    log_prob: float


@functools.cache
def _read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def load_summaries() -> list[Pair]:
    """All pairs, by module. They are not split yet, and some texts are there twice."""
    return [Pair(**pair) for pair in _read(FILE)["pairs"]]


def held_out(part: str) -> set[str]:
    """The modules and packages of a part.

    Args:
        part: "test" or "development".
    """
    return set(_read(FILE)["held out"][part])


def load_written() -> dict[str, dict[str, str]]:
    """What SmolLM2-135M-Instruct wrote: the way in which it was asked -> description -> summary. A hundred descriptions are of the
    development part, a hundred of the test.

    The ways are "zero-shot", "few-shot", and of models that were tuned "tuned" (given name and text), "tuned, text only" and
    "tuned, name only".
    """
    rows = _read(WRITTEN)["written"]
    return {way: {row["text"]: row[way] for row in rows} for way in rows[0] if way != "text"}


def load_hypotheses() -> dict[str, list[Hypothesis]]:
    """Description -> what SmolLM2, few-shot, wrote about it in a beam of four, the shortest first: all that some length penalty could
    choose. Fifty descriptions of the development part.
    """
    return {text: [Hypothesis(*one) for one in found] for text, found in _read(BEAM).items()}


def load_judged(way: str = "zero-shot") -> list[Judged]:
    """Thirty of these, read by the author of the lab.

    Args:
        way: "zero-shot" or "tuned".
    """
    return [Judged(**one) for one in _read(WRITTEN)["judged"][way]]


def words(text: str) -> list[str]:
    """A text's words in small letters, by the rule that is usual for ROUGE: runs of letters and digits."""
    return re.findall(r"[a-z0-9]+", text.lower())


def rouge_l(candidate: Sequence[str], reference: Sequence[str]) -> tuple[float, float, float]:
    """ROUGE-L of two texts (Lin 2004, section 3): by their longest common subsequence. Lab 08 asks for it.

    Args:
        candidate: the words of what was written, perhaps none.
        reference: the words of what was wanted, at least one.

    Returns:
        precision, recall and F1, from 0 to 1.
    """
    row = [0] * (len(reference) + 1)
    for word in candidate:
        before, row = row, [0]
        for place, other in enumerate(reference):
            row.append(before[place] + 1 if word == other else max(before[place + 1], row[place]))
    common, lengths = row[-1], (len(candidate), len(reference))
    return common / max(lengths[0], 1), common / lengths[1], 2 * common / sum(lengths)


def words_of_name(name: str) -> list[str]:
    """The words that a name is made of: those of "sum_of_squares", and of "SumOfSquares"."""
    return words(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " "))


def sentences(text: str) -> list[str]:
    """A text's sentences: each ends with a mark, and the next one begins with a capital letter."""
    return re.split(r"(?<=[.!?]) (?=[A-Z])", text)
