"""Reads two collections of dance tunes in ABC and keeps their notes for lab 07; see docs/data-documentation.md.

.venv/bin/python solutions/07_text_classification/collect_tunes.py FOLDER

writes course_utils/data/tunes.json. FOLDER has the folders ryansMammoth and oneills1850, as in the folder `corpus` of the Python package
music21. Of each tune only facts are taken: title, book, dance and notes.
"""

from __future__ import annotations

import json
import re
import string
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

from course_utils.data.tunes import FILE, read_abc, split_word

BOOKS = {"ryansMammoth": "Ryan", "oneills1850": "O'Neill"}

DANCES = {
    "reel": "reel",
    "hornpipe": "hornpipe",
    "jig": "jig",
    "double jig": "jig",
}  # enough of them in both books

SECTIONS = {
    "jig": range(701, 1116),
    "reel": range(1176, 1556),
    "hornpipe": range(1556, 1776),
}
"""O'Neill's book is ordered by dances. Many of its tunes have no dance in the file; their number says which section they are in."""

SHORTEST = 24
"""Notes of the shortest tune."""

GRAM, SHARED = 8, 0.2
"""Two tunes are near copies if the shorter one shares a fifth of its runs of eight steps from note to note."""


def tunes_in(folder: Path) -> Iterator[tuple[int, str, str, str]]:
    """(number, title, dance, ABC) of each tune in the files; an unknown dance is empty."""
    for path in sorted(folder.glob("*.abc")):
        for abc in re.split(r"(?m)^(?=X:)", path.read_bytes().decode("latin-1").replace("\r", "")):
            if abc.startswith("X:"):
                number, title, dance = (
                    found[1].strip() if (found := re.search(rf"(?m)^{field}:(.*)$", abc)) else ""
                    for field in "XTR"
                )
                yield int(re.sub(r"\D", "", number) or 0), _plain(title), dance.lower(), abc


def _plain(title: str) -> str:
    """A title without the dance behind it, without colons inside words, and not in capitals."""
    title = re.sub(r"\s*-+\s*(reel|jig|hornpipe)\W*$", "", title.replace(":", ""), flags=re.IGNORECASE)
    title = re.sub(r"\s+", " ", title).strip(' ."')
    return string.capwords(title) if title.isupper() else title


def _key(title: str) -> str:
    """What is compared of two titles."""
    return re.sub(r"\W", "", re.sub(r"\b(the|a|reel|jig|hornpipe|setting|1st|2nd|3rd)\b", "", title.lower()))


def runs(notes: str) -> set[tuple[int, ...]]:
    """A tune's runs of steps from note to note. Keynote and lengths play no part."""
    heights = [int(step) for step, _ in map(split_word, notes.split()) if step != "z"]
    steps = [after - before for before, after in pairwise(heights)]
    return {tuple(steps[start : start + GRAM]) for start in range(len(steps) - GRAM + 1)}


def families(titles: list[str], notes: list[str]) -> list[int]:
    """A number for each tune, the same for near copies, for copies of copies, and for tunes with the same title."""
    of_tune = [*map(runs, notes)]
    with_run: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for tune, its in enumerate(of_tune):
        for run in its:
            with_run[run].append(tune)
    common = Counter(pair for tunes in with_run.values() for pair in combinations(tunes, 2))
    first = list(range(len(notes)))

    def root(tune: int) -> int:
        while first[tune] != tune:
            tune = first[tune]
        return tune

    def join(one: int, other: int) -> None:
        one, other = sorted((root(one), root(other)))
        first[other] = one

    for (one, other), count in common.items():
        if count >= SHARED * min(len(of_tune[one]), len(of_tune[other])):
            join(one, other)
    named: dict[str, int] = {}
    for tune, title in enumerate(titles):
        if key := _key(title):
            join(tune, named.setdefault(key, tune))
    return [root(tune) for tune in range(len(notes))]


def main(folder: Path) -> None:
    """Reads, says what is left out, and writes the file."""
    read: list[tuple[str, str, str, str]] = []
    for name, book in BOOKS.items():
        skipped: Counter[str] = Counter()
        agree: Counter[bool] = Counter()
        for number, title, dance, abc in tunes_in(folder / name):
            section = next((each for each, numbers in SECTIONS.items() if number in numbers), "")
            section = section if book == "O'Neill" else ""
            if section and dance in DANCES:
                agree[DANCES[dance] == section] += 1
            known = DANCES.get(dance, "") if dance else section
            if not known:
                skipped[f"dance: {dance or 'unknown'}"] += 1
                continue
            try:
                notes = read_abc(abc)
            except ValueError as error:
                skipped[str(error)] += 1
                continue
            if len(notes.split()) < SHORTEST:
                skipped["too short"] += 1
            else:
                read.append((title, book, known, notes))
        print(f"{book}: skipped {dict(skipped)}; the section is the dance: {dict(agree)}")
    family_of = families([title for title, *_ in read], [notes for *_, notes in read])
    print(Counter((book, dance) for _, book, dance, _ in read))
    data: dict[str, dict[str, list[list[Any]]]] = {
        book: {dance: [] for dance in sorted(SECTIONS)} for book in BOOKS.values()
    }
    for (title, book, dance, notes), family in zip(read, family_of, strict=True):
        data[book][dance].append([title, family, notes])
    lines = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("],[", "],\n[")
    FILE.write_text(lines + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
