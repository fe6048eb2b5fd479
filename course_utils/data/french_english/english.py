"""The rules of written English that the translation grammar needs: a/an, plurals, and the forms of a verb."""

from __future__ import annotations

from dataclasses import dataclass

PLURALS = {"man": "men", "woman": "women", "child": "children"}


def with_article(words: str) -> str:
    """ "red car" -> "a red car", "old car" -> "an old car" (no word of the grammar begins like "hour" or "union")."""
    return ("an " if words[0].lower() in "aeiou" else "a ") + words


def plural_of(noun: str) -> str:
    """The plural of a noun: child -> children, dress -> dresses, car -> cars."""
    return PLURALS.get(noun) or noun + ("es" if noun.endswith("s") else "s")


@dataclass(frozen=True)
class EnglishVerb:
    """A verb's forms, and the word that follows it: look "for"."""

    base: str
    third: str
    past: str
    participle: str
    particle: str = ""


def verb(base: str, past: str = "", participle: str = "", particle: str = "") -> EnglishVerb:
    """A verb whose third person is regular, and also its past and participle where they are not given."""
    past = past or base + ("d" if base.endswith("e") else "ed")
    third = base + ("es" if base.endswith("o") else "s")
    return EnglishVerb(base, third, past, participle or past, particle)
