"""The rules of written French that the translation grammar needs: elision, contraction, agreement, conjugation.

The grammar writes plain words one after the other ("ne a pas visité la Italie"); :func:`surface` turns them into French
("n'a pas visité l'Italie"). A word's gender is given where the word is declared.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

Gender = Literal["m", "f"]

ASPIRATED = frozenset({"hamster", "hamsters", "hongrie"})
"""Words of the grammar whose h blocks elision ("le hamster"); before every other h it is as if there were none."""

ELIDED = frozenset({"le", "la", "je", "me", "ne", "de", "que"})
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


def begins_with_vowel(word: str) -> bool:
    """Whether a word begins with a vowel sound, so that the word before it is elided or changes its form."""
    word = word.lower()
    first = unicodedata.normalize("NFD", word)[0]  # é -> e
    return word not in ASPIRATED and (first in "aeiouhœ" or word == "y")


def surface(text: str) -> str:
    """Words as written next to each other: "de le" -> "du", "la Italie" -> "l'Italie", "que elle" -> "qu'elle"."""
    words, written = [*text.split(), "."], ""
    while len(words) > 1:
        word, following, *_ = words
        elidable = following in ELIDED and begins_with_vowel(words[2])  # "de le arbre": "de l'arbre"
        if (word, following) in CONTRACTED and not elidable:
            written += CONTRACTED[word, following] + " "
            del words[:2]
            continue
        elided = word in ELIDED and begins_with_vowel(following)
        written += word[:-1] + "'" if elided else word + " "
        del words[0]
    return written.rstrip()


def plural_of(noun: str) -> str:
    """The plural of a noun: oiseau -> oiseaux, cheval -> chevaux, maison -> maisons."""
    if noun.endswith("al"):
        return noun[:-1] + "ux"
    return noun + ("x" if noun.endswith("eau") else "s")


def agreed(participle: str, gender: Gender, plural: bool) -> str:
    """A regular participle or adjective in a gender and number: allé, allée, allés, allées; malade, malades."""
    ending = "e" if gender == "f" and not participle.endswith("e") else ""
    return participle + ending + ("s" if plural else "")


@dataclass(frozen=True)
class Forms:
    """The four forms of an adjective, and, if there is one, the masculine form before a vowel (bel oiseau)."""

    masculine: str
    feminine: str
    masculine_plural: str
    feminine_plural: str
    before_vowel: str = ""

    def of(self, gender: Gender, plural: bool) -> str:
        """The form that agrees with a noun, wherever the noun is."""
        if plural:
            return self.feminine_plural if gender == "f" else self.masculine_plural
        return self.feminine if gender == "f" else self.masculine

    def before(self, noun: str, gender: Gender, plural: bool) -> str:
        """The form before ``noun``: un beau livre, un bel oiseau, une belle horloge."""
        if self.before_vowel and gender == "m" and not plural and begins_with_vowel(noun):
            return self.before_vowel
        return self.of(gender, plural)


def regular(masculine: str, feminine: str = "") -> Forms:
    """An adjective whose plurals add -s, unless the masculine ends in -s or -x."""
    feminine = feminine or agreed(masculine, "f", False)
    masculine_plural = masculine if masculine.endswith(("s", "x")) else masculine + "s"
    return Forms(masculine, feminine, masculine_plural, feminine + "s")


@dataclass(frozen=True)
class FrenchVerb:
    """A verb's forms. Persons are counted 0 (je), 1 (il, elle), 2 (nous), 3 (ils, elles).

    Attributes:
        present: one form for each of the four persons.
        future: what the endings -ai, -a, -ons, -ont are added to.
        with_etre: its passé composé takes être, so that the participle agrees with the subject.
    """

    infinitive: str
    present: tuple[str, str, str, str]
    future: str
    participle: str
    with_etre: bool = False

    def future_of(self, person: int) -> str:
        """Futur simple: visiterai, visitera, visiterons, visiteront."""
        return self.future + ("ai", "a", "ons", "ont")[person]


def first_group(infinitive: str, stressed: str = "", with_etre: bool = False) -> FrenchVerb:
    """A verb in -er. ``stressed`` is its stem before a silent ending and in the future, if that differs: achète."""
    stem = infinitive.removesuffix("er")
    stressed = stressed or stem
    present = (stressed + "e", stressed + "e", stem + "ons", stressed + "ent")
    return FrenchVerb(infinitive, present, stressed + "er", stem + "é", with_etre)
