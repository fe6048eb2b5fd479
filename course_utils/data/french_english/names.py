"""Names that Unicode's CLDR knows in both languages, read through Babel: places, languages, months and weekdays.

CLDR knows neither the gender nor the article of a French place, so both are here: a rule (what ends in -e is feminine,
the rest masculine) and the exceptions to it among the places of the grammar.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from babel import Locale

from course_utils.data.french_english.french import begins_with_vowel

# Continents by their UN M.49 codes, countries by ISO 3166, in the spelling of CLDR.
TERRITORIES = (
    *("002", "142", "150", "005", "FR", "CH", "BE", "GR", "HU", "KR", "IT", "ES", "DE", "IN", "IE", "EG"),
    *("CA", "JP", "BR", "MA", "MX", "PT", "IR", "IQ", "US", "NL", "CU", "MG"),
)
# The cities that time zones are named after.
TIME_ZONES = (
    *("Europe/Paris", "Europe/London", "Europe/Rome", "Europe/Moscow", "Europe/Athens", "Europe/Oslo"),
    *("Asia/Tokyo", "Africa/Cairo"),
)
LANGUAGES = ("fr", "en", "it", "es", "de")

MASCULINE_IN_E = frozenset({"MX"})
PLURAL = frozenset({"US", "NL"})
WITHOUT_ARTICLE = frozenset({"CU", "MG"})
"""Islands that French treats like cities: à Cuba, de Cuba."""


@dataclass(frozen=True)
class Place:
    """A place in both languages.

    Attributes:
        french: its bare name: "Canada", "Italie", "États-Unis", "Paris".
        english: its name with the English article, if any: "Canada", "the United States".
        article: of the French name: "le", "la", "les", or "" for cities and some islands. "Le" is Cairo's, which is
            part of the name and so keeps its capital, except where à and de contract with it.
    """

    french: str
    english: str
    article: str

    @property
    def thing(self) -> str:
        """As the object of a visit (before elision): le Canada, la Italie, les États-Unis, Paris, Le Caire."""
        return f"{self.article} {self.french}".lstrip()

    @property
    def at(self) -> str:
        """Where somebody is or goes (before contraction): à le Canada, en Italie, en Iran, à les États-Unis, à Cuba."""
        return f"en {self.french}" if self._drops_article else self._after("à")

    @property
    def origin(self) -> str:
        """Where somebody comes from (before both): de le Canada, de Italie, de Iran, de les États-Unis, de Cuba."""
        return f"de {self.french}" if self._drops_article else self._after("de")

    @property
    def _drops_article(self) -> bool:
        return self.article == "la" or (self.article == "le" and begins_with_vowel(self.french))

    def _after(self, preposition: str) -> str:
        return f"{preposition} {self.article.lower()} {self.french}".replace("  ", " ")


@functools.cache
def places() -> tuple[Place, ...]:
    """All places of the grammar, in an order that does not change."""
    return tuple([*map(_territory, TERRITORIES), *map(_city, TIME_ZONES)])


def _territory(code: str) -> Place:
    french, english = (Locale(language).territories[code] for language in ("fr", "en"))
    if code in WITHOUT_ARTICLE:
        return Place(french, english, "")
    if code in PLURAL:
        return Place(french, f"the {english}", "les")
    # "Amérique du Sud": the noun is what has a gender.
    feminine = french.split()[0].endswith("e") and code not in MASCULINE_IN_E
    return Place(french, english, "la" if feminine else "le")


def _city(time_zone: str) -> Place:
    french, english = (_city_name(time_zone, Locale(language)) for language in ("fr", "en"))
    if french.startswith("Le "):
        return Place(french.removeprefix("Le "), english, "Le")
    return Place(french, english, "")


def _city_name(time_zone: str, locale: Locale) -> str:
    """CLDR lists a city only if its name differs from the one in the time zone's name."""
    return locale.time_zones.get(time_zone, {}).get("city", time_zone.partition("/")[2])


def months() -> list[tuple[str, str]]:
    """("septembre", "September") and the other months."""
    return _calendar("months", range(1, 13))


def weekdays() -> list[tuple[str, str]]:
    """("lundi", "Monday") and the other days."""
    return _calendar("days", range(7))


def _calendar(kind: str, numbers: range) -> list[tuple[str, str]]:
    french, english = (getattr(Locale(language), kind)["format"]["wide"] for language in ("fr", "en"))
    return [(french[number], english[number]) for number in numbers]


def languages() -> list[tuple[str, str]]:
    """("français", "French") and other languages."""
    return [(Locale("fr").languages[code], Locale("en").languages[code]) for code in LANGUAGES]
