"""First names and surnames of 20 languages, for lab 08: what a small language model learns to spell.

The lists are those of the package Faker (MIT licence), which is part of the environment; docs/data-language-model.md says what
they are and what they are not.
"""

from __future__ import annotations

import importlib
import random
from typing import NamedTuple

LANGUAGES = {
    "Croatian": ("hr_HR",),
    "Czech": ("cs_CZ",),
    "Danish": ("da_DK",),
    "Dutch": ("nl_NL",),
    "English": ("en_US",),
    "Estonian": ("et_EE",),
    "Finnish": ("fi_FI",),
    "French": ("fr_FR", "fr_BE"),
    "German": ("de_DE",),
    "Icelandic": ("is_IS",),
    "Indonesian": ("id_ID",),
    "Irish": ("ga_IE",),
    "Italian": ("it_IT",),
    "Romanian": ("ro_RO",),
    "Slovak": ("sk_SK",),
    "Slovenian": ("sl_SI",),
    "Spanish": ("es_ES",),
    "Swedish": ("sv_SE",),
    "Turkish": ("tr_TR",),
    "Zulu": ("zu_ZA",),
}
"""Name of a language -> Faker's lists for it."""

MOST = 1_000
"""Names of one language."""

LONGEST = 15
"""Letters of a name."""

_LISTS = ("first_names", "first_names_female", "first_names_male", "last_names")


class LanguageName(NamedTuple):
    """A name, and the language whose list it is from."""

    name: str
    language: str


def load_language_names() -> list[LanguageName]:
    """About 17,000 names in small letters, language by language, each once in its language; always the same ones."""
    found = []
    for language, places in LANGUAGES.items():
        names = sorted({name.lower() for place in places for name in _listed(place) if _usable(name)})
        chosen = random.Random(f"names/{language}").sample(names, min(MOST, len(names)))
        found += [LanguageName(name, language) for name in chosen]
    return found


def _listed(place: str) -> list[str]:
    provider = importlib.import_module(f"faker.providers.person.{place}").Provider
    lists = [getattr(provider, name, ()) for name in _LISTS]
    return [name for each in lists if not isinstance(each, property) for name in each]


def _usable(name: str) -> bool:
    """One word of three letters or more, in the Latin script."""
    return (
        3 <= len(name) <= LONGEST and name.isalpha() and all(ord(letter) < 0x250 for letter in name.lower())
    )
