"""Dates as people write them in several languages, with the same dates in ISO 8601.

Written by Babel from Unicode's CLDR, read character by character: "mercredi 3 mars 2021" -> "2021-03-03". Numeric dates such
as 3/4/21 are left out, because they mean different days in different countries.
"""

from __future__ import annotations

import datetime
import random

from babel.dates import format_date

from course_utils.data.pairs import Pair

LOCALES = ("en_US", "en_GB", "fr_FR", "de_DE", "es_ES", "it_IT")
FORMATS = ("full", "long", "medium")
FIRST, LAST = datetime.date(1950, 1, 1), datetime.date(2049, 12, 31)

MAX_PAIRS = 100_000


def date_pairs(count: int, seed: int) -> list[Pair]:
    """Different written dates of 1950 to 2049, in random order, with their ISO dates.

    The same day may appear in several spellings; :func:`~course_utils.data.pairs.split_pairs` keeps these together.

    Args:
        count: from 1 to 100,000.
        seed: the same seed gives the same pairs, and a longer list begins like a shorter one.

    Raises:
        ValueError: ``count`` is not in that range.
    """
    if not 1 <= count <= MAX_PAIRS:
        raise ValueError(f"There can be 1 to {MAX_PAIRS:,} pairs, not {count:,}.")
    rng = random.Random(seed)
    pairs: dict[Pair, None] = {}
    while len(pairs) < count:
        day = FIRST + datetime.timedelta(rng.randint(0, (LAST - FIRST).days))
        written = format_date(day, rng.choice(FORMATS), locale=rng.choice(LOCALES))
        pairs[Pair(" ".join(written.split()), day.isoformat())] = (
            None  # CLDR also has spaces that are not U+0020
        )
    return list(pairs)
