"""The words of the grammar in both languages: adjectives, nouns, determiners, verbs.

They are chosen so that a sentence has exactly one translation, in both directions. That rules out "tu" and "vous" (both
"you"), "son" ("his" and "her"), "elles" ("they" like "ils"), "lire" ("we read" is present and past).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from course_utils.data.french_english.english import EnglishVerb, verb
from course_utils.data.french_english.french import (
    Forms,
    FrenchVerb,
    Gender,
    begins_with_vowel,
    first_group,
    regular,
)


@dataclass(frozen=True)
class Adjective:
    """An adjective of both languages.

    Attributes:
        first: whether it comes before the French noun (une petite voiture), as few do; most come after it.
    """

    forms: Forms
    english: str
    first: bool = False


@dataclass(frozen=True)
class Noun:
    """A noun of both languages.

    Attributes:
        adjectives: those that go well with it.
        owned: True if it needs a possessive ("ma sœur"), False if it must not have one ("la fille" is the girl,
            "ma fille" my daughter), None if both are right.
    """

    french: str
    english: str
    gender: Gender
    adjectives: tuple[Adjective, ...]
    owned: bool | None = None


@dataclass(frozen=True)
class Determiner:
    """An article, possessive or demonstrative. The forms ``..._vowel`` are used before a vowel: cet arbre, mon horloge."""

    masculine: str
    feminine: str
    plural: str
    english: str
    english_plural: str
    masculine_vowel: str = ""
    feminine_vowel: str = ""
    possessive: bool = False

    def before(self, word: str, gender: Gender, plural: bool) -> str:
        """The form that agrees with a noun, before ``word``, which is the noun or an adjective."""
        if plural:
            return self.plural
        vowel_form = self.feminine_vowel if gender == "f" else self.masculine_vowel
        if vowel_form and begins_with_vowel(word):
            return vowel_form
        return self.feminine if gender == "f" else self.masculine


@dataclass(frozen=True)
class Verb:
    """A verb of both languages.

    Attributes:
        lasting: it tells of a state, which does not go well with "yesterday", "often" or "has just".
    """

    french: FrenchVerb
    english: EnglishVerb
    lasting: bool = False


SMALL = Adjective(regular("petit"), "small", first=True)
LITTLE = replace(SMALL, english="little")  # of people
BIG = Adjective(regular("grand"), "big", first=True)
OLD = Adjective(Forms("vieux", "vieille", "vieux", "vieilles", "vieil"), "old", first=True)
NEW = Adjective(Forms("nouveau", "nouvelle", "nouveaux", "nouvelles", "nouvel"), "new", first=True)
BEAUTIFUL = Adjective(Forms("beau", "belle", "beaux", "belles", "bel"), "beautiful", first=True)
YOUNG = Adjective(regular("jeune"), "young", first=True)
RED = Adjective(regular("rouge"), "red")
GREEN = Adjective(regular("vert"), "green")
BLACK = Adjective(regular("noir"), "black")
WHITE = Adjective(regular("blanc", "blanche"), "white")
FRENCH = Adjective(regular("français"), "French")
ITALIAN = Adjective(regular("italien", "italienne"), "Italian")

HAPPY = Adjective(regular("heureux", "heureuse"), "happy")
TIRED = Adjective(regular("fatigué"), "tired")
ILL = Adjective(regular("malade"), "ill")
MOODS = (HAPPY, TIRED, ILL)
"""How somebody is: "Jane est fatiguée". They come only after the verb."""

COMPARED = (
    replace(BIG, english="taller"),
    replace(SMALL, english="shorter"),
    replace(YOUNG, english="younger"),
    replace(OLD, english="older"),
)
"""What people are compared by: "plus grande que" is "taller than"."""

_ANY = (SMALL, BIG, OLD, NEW, BEAUTIFUL)
_COLOURED = (*_ANY, RED, GREEN, BLACK, WHITE)
_MADE = (*_COLOURED, FRENCH, ITALIAN)
_ANIMAL = (SMALL, BIG, OLD, BEAUTIFUL, BLACK, WHITE)

THINGS = (
    Noun("voiture", "car", "f", _MADE),
    Noun("vélo", "bike", "m", _MADE),
    Noun("robe", "dress", "f", _MADE),
    Noun("livre", "book", "m", _MADE),
    Noun("ordinateur", "computer", "m", _MADE),
    Noun("horloge", "clock", "f", _MADE),
    Noun("maison", "house", "f", _COLOURED),
    Noun("chien", "dog", "m", _ANIMAL),
    Noun("hamster", "hamster", "m", _ANIMAL),
    Noun("oiseau", "bird", "m", _ANIMAL),
    Noun("cheval", "horse", "m", _ANIMAL),
)
PEOPLE = (
    Noun("fille", "girl", "f", (LITTLE, YOUNG), owned=False),
    Noun("femme", "woman", "f", (YOUNG, OLD), owned=False),
    Noun("homme", "man", "m", (YOUNG, OLD), owned=False),
    Noun("enfant", "child", "m", (LITTLE,), owned=False),
    Noun("professeur", "teacher", "m", (YOUNG, OLD, NEW)),
    Noun("ami", "friend", "m", (OLD, NEW), owned=True),
    Noun("sœur", "sister", "f", (LITTLE,), owned=True),
    Noun("frère", "brother", "m", (LITTLE,), owned=True),
)

DEFINITE = Determiner("le", "la", "les", "the", "the")
INDEFINITE = Determiner("un", "une", "des", "a", "")
THIS = Determiner("ce", "cette", "ces", "this", "these", masculine_vowel="cet")
MY = Determiner("mon", "ma", "mes", "my", "my", feminine_vowel="mon", possessive=True)
OUR = Determiner("notre", "notre", "nos", "our", "our", possessive=True)
THEIR = Determiner("leur", "leur", "leurs", "their", "their", possessive=True)
SPECIFIC = (DEFINITE, THIS, MY, OUR, THEIR)

BE = Verb(
    FrenchVerb("être", ("suis", "est", "sommes", "sont"), "ser", "été"),
    EnglishVerb("be", "is", "was", "been"),
    lasting=True,
)
VISIT = Verb(first_group("visiter"), verb("visit"))
LOVE = Verb(first_group("aimer"), verb("love"), lasting=True)
DISCOVER = Verb(
    FrenchVerb("découvrir", ("découvre", "découvre", "découvrons", "découvrent"), "découvrir", "découvert"),
    verb("discover"),
)
GO = Verb(
    FrenchVerb("aller", ("vais", "va", "allons", "vont"), "ir", "allé", with_etre=True),
    EnglishVerb("go", "goes", "went", "gone", "to"),
)
ARRIVE = Verb(first_group("arriver", with_etre=True), verb("arrive", particle="in"))
LIVE = Verb(first_group("habiter"), verb("live", particle="in"), lasting=True)
COME = Verb(
    FrenchVerb("venir", ("viens", "vient", "venons", "viennent"), "viendr", "venu", with_etre=True),
    verb("come", "came", "come", particle="from"),
)

BUY = Verb(first_group("acheter", "achèt"), verb("buy", "bought"))
SELL = Verb(
    FrenchVerb("vendre", ("vends", "vend", "vendons", "vendent"), "vendr", "vendu"), verb("sell", "sold")
)
LOOK_FOR = Verb(first_group("chercher"), verb("look", particle="for"))
SEE = Verb(FrenchVerb("voir", ("vois", "voit", "voyons", "voient"), "verr", "vu"), verb("see", "saw", "seen"))
GIVE = Verb(first_group("donner"), verb("give", "gave", "given"))
HAVE = Verb(
    FrenchVerb("avoir", ("ai", "a", "avons", "ont"), "aur", "eu"),
    EnglishVerb("have", "has", "had", "had"),
    lasting=True,
)
SPEAK = Verb(first_group("parler"), verb("speak", "spoke", "spoken"))
LEARN = Verb(
    FrenchVerb("apprendre", ("apprends", "apprend", "apprenons", "apprennent"), "apprendr", "appris"),
    verb("learn"),
)
THINK = Verb(first_group("penser"), verb("think", "thought"))
SAY = Verb(FrenchVerb("dire", ("dis", "dit", "disons", "disent"), "dir", "dit"), verb("say", "said"))
