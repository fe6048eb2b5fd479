"""What a sentence is about: people, things and times, put into words in both languages at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from course_utils.data.french_english import english, french, lexicon
from course_utils.data.french_english.french import Gender
from course_utils.data.french_english.lexicon import Adjective, Determiner, Noun
from course_utils.data.pairs import Pairing


@dataclass(frozen=True)
class Phrase:
    """The same in both languages, before French elision, and the pairings in it that are held out of training."""

    french: str = ""
    english: str = ""
    held_out: frozenset[Pairing] = frozenset()

    def __add__(self, other: Phrase) -> Phrase:
        return Phrase(
            f"{self.french} {other.french}".strip(),
            f"{self.english} {other.english}".strip(),
            self.held_out | other.held_out,
        )


NOTHING = Phrase()


@dataclass(frozen=True)
class Subject:
    """Who or what does something.

    Attributes:
        person: 0 for je, 1 for il, elle and one noun, 2 for nous, 3 for ils and several.
        gender: what participles and adjectives agree with; None for je, which does not tell.
    """

    phrase: Phrase
    person: int
    gender: Gender | None

    @property
    def plural(self) -> bool:
        return self.person >= 2


PRONOUNS = (
    Subject(Phrase("je", "I"), 0, None),
    Subject(Phrase("il", "he"), 1, "m"),
    Subject(Phrase("elle", "she"), 1, "f"),
    Subject(Phrase("nous", "we"), 2, "m"),
    Subject(Phrase("ils", "they"), 3, "m"),
)


NAMES = (
    *(Subject(Phrase(name, name), 1, "f") for name in ("Jane", "Anne", "Emma", "Léa")),
    *(Subject(Phrase(name, name), 1, "m") for name in ("Paul", "Omar", "Victor")),
)


def both(first: Subject, second: Subject) -> Subject:
    """Two together; they are masculine unless both are feminine: Jane et Paul."""
    gender = "f" if first.gender == second.gender == "f" else "m"
    return Subject(first.phrase + Phrase("et", "and") + second.phrase, 3, gender)


def noun_phrase(
    noun: Noun,
    determiner: Determiner,
    plural: bool = False,
    adjectives: Sequence[Adjective] = (),
    owner: Subject | None = None,
    negated: bool = False,
) -> Subject:
    """A noun with what belongs to it: un bel arbre, mes vieux amis, la petite voiture rouge de Paul.

    Args:
        adjectives: in the order of English.
        owner: whose it is. The determiner is then the definite article, in whose place English has 's.
        negated: it is the object of a negated verb, so that the indefinite article becomes "de" (pas de voiture).
    """
    form = french.plural_of(noun.french) if plural else noun.french
    before = [
        adjective.forms.before(form, noun.gender, plural) for adjective in adjectives if adjective.first
    ]
    after = [adjective.forms.of(noun.gender, plural) for adjective in adjectives if not adjective.first]
    words = [*before, form, *after]
    indefinite = determiner is lexicon.INDEFINITE
    if indefinite and (negated or (plural and before)):  # pas de maison; de belles maisons
        words.insert(0, "de")
    else:
        words.insert(0, determiner.before(words[0], noun.gender, plural))

    form = english.plural_of(noun.english) if plural else noun.english
    translated = " ".join([*(adjective.english for adjective in adjectives), form])
    if owner:
        words += ["de", owner.phrase.french]
        translated = f"{owner.phrase.english}'s {translated}"
    elif indefinite and not plural:
        translated = english.with_article(translated)
    elif indefinite:
        translated = f"any {translated}" if negated else translated
    else:
        translated = f"{determiner.english_plural if plural else determiner.english} {translated}"

    held_out = frozenset().union(*(adjective_held_out(adjective, noun) for adjective in adjectives))
    return Subject(Phrase(" ".join(words), translated, held_out), 3 if plural else 1, noun.gender)


def adjective_held_out(adjective: Adjective, noun: Noun) -> frozenset[Pairing]:
    """The pairing, if no training sentence may have this adjective with this noun: about one in eight is held out."""
    if noun not in lexicon.THINGS:
        return frozenset()
    number = lexicon.THINGS[0].adjectives.index(adjective) + lexicon.THINGS.index(noun)
    return frozenset([(adjective.forms.masculine, noun.french)] if number % 8 == 5 else [])
