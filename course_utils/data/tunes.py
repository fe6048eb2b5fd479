"""Dance tunes for lab 07: notes of two old books as words, and a reader of ABC, the notation in which tunes are typed.

``collect_tunes.py`` beside lab 07's source wrote tunes.json; docs/data-documentation.md says what is in it.
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("tunes.json")

SEEDS = Path(__file__).with_name("tunes_seeds.json")
"""What three trainings of lab 07's encoder reached; ``train_tunes.py`` beside the lab's source wrote it."""

_LETTERS = "CDEFGAB"

_FIELD = re.compile(r"^\s*([A-Za-z]):(?![|:])(.*)$")
"""A line about the tune (title, key, metre), not `G:|`, which is a note before a repeat."""

_NO_NOTES = re.compile(r'%.*|"[^"]*"|![^!\s]*!|\{[^}]*\}|\[[A-Za-z]:[^]]*\]', re.MULTILINE)
"""Comments, words above the notes, marks for the player, grace notes, fields inside a line."""

_PART = re.compile(
    r"\[(?P<chord>[_^=]*[A-Ga-g][,']*)(?P<within>\d*/*\d*)[^]]*\](?P<behind>\d*/*\d*)"
    r"|(?P<note>[_^=]*[A-Ga-gz][,']*)(?P<length>\d*/*\d*)"
    r"|\((?P<tuplet>[2-9])|(?P<dotted>[<>]+)|(?P<tie>-)"
)

_IN_TUPLET = {2: Fraction(3, 2), 3: Fraction(2, 3), 4: Fraction(3, 4), 5: Fraction(2, 5), 6: Fraction(1, 3)}


class Tune(NamedTuple):
    """A tune of a book, its notes as words (:func:`read_abc`). Tunes that are near copies are one family."""

    title: str
    book: str
    dance: str
    family: str
    notes: str


@functools.cache
def load_tunes() -> tuple[Tune, ...]:
    """The tunes by book and dance: Ryan's Mammoth Collection (Boston 1883), then O'Neill's Music of Ireland (Chicago 1903)."""
    data = json.loads(FILE.read_text("utf-8"))
    return tuple(
        Tune(title, book, dance, str(family), notes)
        for book, dances in data.items()
        for dance, tunes in dances.items()
        for title, family, notes in tunes
    )


def load_tune_seeds() -> dict[str, dict[str, list[float]]]:
    """What the encoder gets -> "validation" or "test" -> its accuracies after trainings with the seeds 0, 1 and 2."""
    return json.loads(SEEDS.read_text("utf-8"))


def read_abc(abc: str) -> str:
    """The notes of a tune as words: `4` is the fifth letter of the scale, four steps above the keynote, and `4:2` is the same note, twice as
    long; `z` is a rest.

    Steps count letters from the keynote of `K:` (from C if there is none), so a tune in another key has the same words; sharps and flats are
    left out. Lengths are relative to the one that is written most often. Bar lines, metre, repeats, grace notes, slurs and marks are
    skipped; of a chord only the first note counts. Tied notes are one.

    Args:
        abc: lines of ABC, with or without a header: `K:G` and then, say, `G2 B d>e (3fed`.

    Raises:
        ValueError: there are no notes, or the key, the unit of length or the voice changes in the middle.
    """
    body, keynote = [], 0
    for line in abc.splitlines():
        if (field := _FIELD.match(line)) is None:
            body.append(line)
        elif field[1] in "KLV" and any(map(str.strip, body)):
            raise ValueError(f"The tune has a {field[1]}: in the middle; write the two parts as two tunes.")
        elif field[1] == "K" and field[2].strip()[:1] in (*_LETTERS,):
            keynote = _LETTERS.index(field[2].strip()[0])
    text = "\n".join(body)
    if change := re.search(r"\[[KLV]:", text):
        raise ValueError(f"The tune has a {change[0]} in the middle; write the two parts as two tunes.")
    steps: list[str] = []
    lengths: list[Fraction] = []
    written: Counter[Fraction] = Counter()
    left, factor, after, tied = 0, Fraction(1), Fraction(1), False
    for part in _PART.finditer(_NO_NOTES.sub("", text)):
        if part["tuplet"]:
            left = int(part["tuplet"])
            factor = _IN_TUPLET.get(left, Fraction(1))
        elif part["dotted"]:  # a>b: the first gets half of the second; a<b the other way round
            short = Fraction(1, 2 ** len(part["dotted"]))
            before, after = (2 - short, short) if part["dotted"][0] == ">" else (short, 2 - short)
            if lengths:
                lengths[-1] *= before
        elif part["tie"]:
            tied = True
        else:
            name = (part["chord"] or part["note"]).lstrip("_^=")
            size = _size(part["within"]) * _size(part["behind"]) if part["chord"] else _size(part["length"])
            written[size] += 1
            length, after = size * after, Fraction(1)
            if left:
                length, left = length * factor, left - 1
            step = "z" if name[0] == "z" else str(_height(name) - keynote)
            if tied and steps and steps[-1] == step:
                lengths[-1] += length
            else:
                steps.append(step)
                lengths.append(length)
            tied = False
    if not steps:
        raise ValueError("There are no notes in this text. Notes are the letters A to G and a to g.")
    ((unit, _),) = written.most_common(1)
    return " ".join(
        step if length == unit else f"{step}:{length / unit}"
        for step, length in zip(steps, lengths, strict=True)
    )


def split_word(word: str) -> tuple[str, str]:
    """The step and the length of a note's word: `4:3/2` -> `4` and `3/2`; `4` -> `4` and `1`."""
    step, _, length = word.partition(":")
    return step, length or "1"


def _size(text: str | None) -> Fraction:
    """ABC's lengths: `3` -> 3, `/` -> 1/2, `//` -> 1/4, `3/2` -> 3/2."""
    above, slashes, below = re.fullmatch(r"(\d*)(/*)(\d*)", text or "").groups()
    return Fraction(int(above or 1), int(below) if below else 2 ** len(slashes))


def _height(name: str) -> int:
    """Letters above C: `C` is 0, `c` is 7, `C,` is -7."""
    return _LETTERS.index(name[0].upper()) + 7 * (name[0].islower() + name.count("'") - name.count(","))
