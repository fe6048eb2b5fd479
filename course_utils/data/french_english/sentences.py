"""Draws sentences: who, does what, where and when. Everything else follows from the choices.

Which sentence comes up how often is set here, so that each word is seen often enough to be learned.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from course_utils.data.french_english import lexicon
from course_utils.data.french_english.clauses import Clause, Negation, Tense
from course_utils.data.french_english.french import surface
from course_utils.data.french_english.lexicon import Adjective, Noun, Verb
from course_utils.data.french_english.names import Place, languages, months, places, weekdays
from course_utils.data.french_english.phrases import (
    NAMES,
    NOTHING,
    PRONOUNS,
    Phrase,
    Subject,
    adjective_held_out,
    both,
    noun_phrase,
)
from course_utils.data.pairs import Pair, Pairing
from course_utils.data.words import THIN_SPACE, word_tokens

T = TypeVar("T")

EVENT: Mapping[Tense, int] = {
    "present": 5,
    "past": 5,
    "future": 5,
    "near": 2,
    "recent": 1,
    "want": 2,
    "can": 2,
}
STATE: Mapping[Tense, int] = {"present": 2, "past": 1, "future": 2}
"""How often each tense is drawn for a verb that tells of an event, and of a state."""

PRONOUN_WEIGHTS = dict(zip(PRONOUNS, (3, 1, 1, 3, 1), strict=True))
"""More of je and nous, because no other subject uses their verb forms."""

PLACE_VERBS: Mapping[Verb, str] = {
    lexicon.VISIT: "thing",
    lexicon.LOVE: "thing",
    lexicon.DISCOVER: "thing",
    lexicon.GO: "at",
    lexicon.ARRIVE: "at",
    lexicon.LIVE: "at",
    lexicon.COME: "origin",
}
"""Verbs that go with a place, and which form of it they take: visite le Canada, va au Canada, vient du Canada."""

THING_VERBS = (lexicon.BUY, lexicon.SELL, lexicon.LOOK_FOR, lexicon.SEE, lexicon.HAVE, lexicon.LOVE)
OBJECT_PRONOUNS = (
    Phrase("me", "me"),
    Phrase("nous", "us"),
    Phrase("le", "him"),
    Phrase("la", "her"),
    Phrase("les", "them"),
)
ADVERBS = (Phrase("souvent", "often"), Phrase("parfois", "sometimes"), Phrase("rarement", "rarely"))
TRANSPORT = (
    Phrase("en train", "by train"),
    Phrase("en avion", "by plane"),
    Phrase("en voiture", "by car"),
    Phrase("en bateau", "by boat"),
)
SEASONS = (
    ("le été", "summer"),
    ("le automne", "autumn"),
    ("le hiver", "winter"),
    ("le printemps", "spring"),
)
PERIODS = (("la année", "year"), ("la semaine", "week"), ("le mois", "month"))
DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""Of each month. No year is said, so that February 29 is a date too."""

MAX_WORDS = 14
"""Longer sentences, in tokens of either language, are left out."""


def place_held_out(verb: Verb, place: Place) -> frozenset[Pairing]:
    """The pairing, if no training sentence may have this verb with this place: one in nine is held out."""
    number = list(PLACE_VERBS).index(verb) + places().index(place)
    return frozenset([(verb.french.infinitive, place.french)] if number % 9 == 4 else [])


class Writer:
    """Writes sentences by drawing from ``rng``: the same state gives the same sentences."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.months, self.weekdays, self.languages = months(), weekdays(), languages()
        self.kinds: Mapping[Callable[[], Pair], int] = {
            self.going_about: 10,
            self.dealing: 7,
            self.giving: 2,
            self.pointing: 2,
            self.speaking: 3,
            self.describing: 3,
            self.feeling: 2,
            self.comparing: 1,
            self.existing: 2,
        }

    def pair(self) -> Pair:
        """A sentence and its translation."""
        while True:
            pair = self.drawn(self.kinds)()
            if max(len(word_tokens(text)) for text in (pair.source, pair.target)) <= MAX_WORDS:
                return pair

    def drawn(self, weights: Mapping[T, int]) -> T:
        """One of the keys, each with a probability given by its weight."""
        return self.rng.choices(list(weights), list(weights.values()))[0]

    def happens(self, probability: float) -> bool:
        return self.rng.random() < probability

    # Kinds of sentences.

    def going_about(self) -> Pair:
        """Jane visite l'Afrique en septembre. Paul va au Canada en train."""
        verb, place = self.rng.choice(list(PLACE_VERBS)), self.rng.choice(places())
        form = getattr(place, PLACE_VERBS[verb])
        complement = Phrase(form, place.english, place_held_out(verb, place))
        clause = self.clause(verb, complement)
        if verb in (lexicon.GO, lexicon.COME) and self.happens(0.2):
            clause = replace(clause, complement=complement + self.rng.choice(TRANSPORT))
        elif verb is lexicon.VISIT and self.happens(0.2):
            companion = self.other_than(clause.subject)
            clause = replace(clause, complement=complement + Phrase("avec", "with") + companion.phrase)
        return self.sentence(clause)

    def dealing(self) -> Pair:
        """Omar n'achète pas de voiture rouge. Le professeur cherche le vieux livre de Jane."""
        verb = self.rng.choice(THING_VERBS)
        clause = self.clause(verb)
        indefinite = verb is not lexicon.LOVE and self.happens(0.6)  # one loves this horse, not some horse
        thing = self.thing(indefinite=indefinite, negated=clause.negation is not None)
        return self.sentence(replace(clause, complement=thing.phrase))

    def giving(self) -> Pair:
        """Anne donne un livre aux enfants."""
        clause = self.clause(lexicon.GIVE)
        thing = self.thing(indefinite=self.happens(0.6), negated=clause.negation is not None)
        receiver = self.other_than(clause.subject).phrase
        return self.sentence(replace(clause, complement=thing.phrase + Phrase("à", "to") + receiver))

    def pointing(self) -> Pair:
        """Paul les cherche. Nous n'allons pas la voir."""
        verb = self.rng.choice((lexicon.LOOK_FOR, lexicon.SEE, lexicon.LOVE))
        tenses = dict(STATE if verb.lasting else EVENT)
        tenses.pop(
            "past"
        )  # the participle would agree with an object whose gender "nous" and "les" do not tell
        tenses.pop("recent", None)  # "de les chercher" is no "des"
        clause = self.clause(verb, tenses=tenses)
        pronouns = OBJECT_PRONOUNS
        if clause.subject.person in (0, 2):  # not "je me", "nous me"
            pronouns = tuple(pronoun for pronoun in pronouns if pronoun.french not in ("me", "nous"))
        if verb is lexicon.LOVE:  # "l'aime" would be him and her
            pronouns = tuple(pronoun for pronoun in pronouns if pronoun.french not in ("le", "la"))
        return self.sentence(replace(clause, pronoun=self.rng.choice(pronouns)))

    def speaking(self) -> Pair:
        """Jane parle italien. Jane apprend l'italien."""
        french, english = self.rng.choice(self.languages)
        verb, article = self.rng.choice(((lexicon.SPEAK, ""), (lexicon.LEARN, "le")))
        return self.sentence(self.clause(verb, Phrase(f"{article} {french}", english)))

    def describing(self) -> Pair:
        """La voiture de Paul est vieille."""
        noun = self.rng.choice(lexicon.THINGS)
        adjective = self.rng.choice(noun.adjectives)
        subject = self.thing(noun=noun)
        form = adjective.forms.of(subject.gender, subject.plural)
        quality = Phrase(form, adjective.english, adjective_held_out(adjective, noun))
        return self.sentence(self.clause(lexicon.BE, quality, subject=subject))

    def feeling(self) -> Pair:
        """Anne et Emma étaient très fatiguées hier."""
        subject = self.subject(gendered=True)
        adjective = self.rng.choice(lexicon.MOODS)
        mood = Phrase(adjective.forms.of(subject.gender, subject.plural), adjective.english)
        if self.happens(0.3):
            mood = Phrase("très", "very") + mood
        return self.sentence(self.clause(lexicon.BE, mood, subject=subject), timed=True)

    def comparing(self) -> Pair:
        """Jane est plus grande que Paul."""
        subject = self.person()
        adjective = self.rng.choice(lexicon.COMPARED)
        form = adjective.forms.of(subject.gender, subject.plural)
        than = Phrase(f"plus {form} que", f"{adjective.english} than") + self.other_than(subject).phrase
        return self.sentence(Clause(subject, lexicon.BE, self.drawn(STATE), than))

    def existing(self) -> Pair:
        """Il n'y a pas de belles maisons au Canada."""
        place, negated = self.rng.choice(places()), self.happens(0.25)
        thing = self.thing(indefinite=True, negated=negated)
        rest = thing.phrase + Phrase(place.at, f"in {place.english}")
        verb = "are" if thing.plural else "is"
        if negated:
            return finished(Phrase("il ne y a pas", f"there {verb} not") + rest)
        if self.happens(0.3):
            return finished(Phrase("est-ce que il y a", f"{verb} there") + rest, question=True)
        return finished(Phrase("il y a", f"there {verb}") + rest)

    # What sentences are made of.

    def clause(
        self,
        verb: Verb,
        complement: Phrase = NOTHING,
        tenses: Mapping[Tense, int] | None = None,
        subject: Subject | None = None,
    ) -> Clause:
        """Somebody with this verb, in some tense, affirmed or negated; what is not given is drawn."""
        subject = subject or self.subject()
        tenses = dict(tenses or (STATE if verb.lasting else EVENT))
        if verb.french.with_etre and subject.gender is None:
            tenses.pop("past")  # "je suis allé" or "allée"?
        if verb is lexicon.COME:
            tenses.pop("recent")  # "vient de venir"
        tense = self.drawn(tenses)
        negations: dict[Negation | None, int] = {None: 13, "pas": 4}
        if verb is not lexicon.BE:
            negations["jamais"] = 1
            if tense in ("present", "future", "want", "can"):
                negations["plus"] = 1
        negation = None if tense == "recent" else self.drawn(negations)
        adverb = NOTHING
        if tense == "present" and negation is None and not verb.lasting and self.happens(0.2):
            adverb = self.rng.choice(ADVERBS)
        return Clause(subject, verb, tense, complement, negation, adverb)

    def sentence(self, clause: Clause, timed: bool = False) -> Pair:
        """The clause as a statement, a question or what somebody thinks, and some of these with a time.

        Args:
            timed: a time goes with it although its verb tells of a state.
        """
        timed = timed or not clause.verb.lasting
        if clause.negation in ("jamais", "plus") or clause.tense == "recent":
            timed = False
        time = self.time(clause) if timed and self.happens(0.6) else None
        # Nobody asks what he does himself, and the place of an adverb in a question is a matter of taste.
        may_ask = clause.subject.person != 0 and clause.negation is None and not clause.adverb.french
        if may_ask and self.happens(0.2):
            return self.asked(clause, time)
        statement = clause.statement()
        if time is None:
            return finished(self.reported(statement) if self.happens(0.12) else statement)
        # Weekdays without an article do not come first: seven capitalised words would hardly ever be seen.
        if time.french.split()[0] not in dict(self.weekdays) and self.happens(0.25):
            return finished(Phrase(f"{time.french},", f"{time.english},") + statement)
        return finished(statement + time)

    def asked(self, clause: Clause, time: Phrase | None) -> Pair:
        """Est-ce que Jane visite l'Afrique en septembre ? Quand est-ce que Jane visite l'Afrique ?"""
        questions = {Phrase("est-ce que"): 4, Phrase("pourquoi est-ce que", "why"): 1}
        if time is None and not clause.verb.lasting:
            questions[Phrase("quand est-ce que", "when")] = 2
        return finished(self.drawn(questions) + clause.question() + (time or NOTHING), question=True)

    def reported(self, statement: Phrase) -> Phrase:
        """Paul pense que Jane visite l'Afrique."""
        speaker = self.rng.choice((*PRONOUNS, *NAMES))
        verb = self.rng.choice((lexicon.THINK, lexicon.SAY))
        return Clause(speaker, verb, "present", Phrase("que", "that") + statement).statement()

    def subject(self, gendered: bool = False) -> Subject:
        """Who does something; ``gendered``: somebody whose gender French shows."""
        if self.happens(0.15):
            return both(*self.rng.sample(NAMES, 2))
        if self.happens(0.4):
            weights = PRONOUN_WEIGHTS.items()
            return self.drawn(
                {pronoun: weight for pronoun, weight in weights if pronoun.gender or not gendered}
            )
        return self.person()

    def person(self, singular: bool = False) -> Subject:
        """Somebody with a name, or people: Jane, la petite fille, mes amis."""
        if self.happens(0.4):
            return self.rng.choice(NAMES)
        noun = self.rng.choice(lexicon.PEOPLE)
        determiners = [
            determiner for determiner in lexicon.SPECIFIC if noun.owned in (None, determiner.possessive)
        ]
        adjectives = [self.rng.choice(noun.adjectives)] if self.happens(0.3) else []
        plural = not singular and self.happens(0.35)
        return noun_phrase(noun, self.rng.choice(determiners), plural, adjectives)

    def other_than(self, subject: Subject) -> Subject:
        """Somebody else."""
        other = self.person()
        while other.phrase.french in subject.phrase.french:
            other = self.person()
        return other

    def thing(self, noun: Noun | None = None, indefinite: bool = False, negated: bool = False) -> Subject:
        """Une petite voiture rouge, le livre de Jane, ces oiseaux; if the noun is given, without an adjective.

        Args:
            indefinite: with un, une or des.
            negated: it will be the object of a negated verb.
        """
        plural = self.happens(0.35)
        adjectives = []
        if noun is None:
            noun = self.rng.choice(lexicon.THINGS)
            adjectives = self.adjectives(noun)
        if indefinite:
            return noun_phrase(noun, lexicon.INDEFINITE, plural, adjectives, negated=negated)
        if self.happens(0.3):
            owner = self.person(singular=True)
            return noun_phrase(noun, lexicon.DEFINITE, plural, adjectives, owner)
        return noun_phrase(noun, self.rng.choice(lexicon.SPECIFIC), plural, adjectives)

    def adjectives(self, noun: Noun) -> list[Adjective]:
        """None, one, or one before the French noun and one after it."""
        drawn = self.rng.sample(noun.adjectives, self.drawn({0: 3, 1: 5, 2: 3}))
        if len({adjective.first for adjective in drawn}) < len(drawn):
            return drawn[:1]
        return sorted(drawn, key=lambda adjective: not adjective.first)

    def time(self, clause: Clause) -> Phrase:
        """When: in the tense's past or future, again and again, or in some month."""
        kinds = {self.season: 5}
        if clause.tense == "present":
            if not clause.verb.lasting and not clause.adverb.french:
                kinds[self.every] = 4
        elif clause.tense == "past":
            kinds |= {self.last: 3, self.date: 3}
        else:
            kinds |= {self.next: 3, self.date: 3}
        return self.drawn(kinds)()

    def season(self) -> Phrase:
        """En septembre, en été, au printemps."""
        french, english = self.rng.choice(self.months if self.happens(0.7) else SEASONS)
        noun = french.split()[-1]
        preposition = "au" if noun == "printemps" else "en"
        return Phrase(f"{preposition} {noun}", f"in {english}")

    def every(self) -> Phrase:
        """Chaque lundi, chaque année, chaque été."""
        french, english = self.rng.choice(self.rng.choice((self.weekdays, PERIODS, SEASONS)))
        return Phrase(f"chaque {french.split()[-1]}", f"every {english}")

    def last(self) -> Phrase:
        """Hier, lundi dernier, l'année dernière, en septembre dernier."""
        if self.happens(0.2):
            return Phrase("hier", "yesterday")
        return self.relative("dernier", "dernière", "last")

    def next(self) -> Phrase:
        """Demain, lundi prochain, l'année prochaine, en septembre prochain."""
        if self.happens(0.2):
            return Phrase("demain", "tomorrow")
        return self.relative("prochain", "prochaine", "next")

    def relative(self, masculine: str, feminine: str, english: str) -> Phrase:
        """A weekday, month, period or season with an adjective that agrees with it."""
        in_months = [(f"en {french}", name) for french, name in self.months]
        when, name = self.rng.choice(self.rng.choice((self.weekdays, in_months, PERIODS, SEASONS)))
        return Phrase(f"{when} {feminine if when.startswith('la ') else masculine}", f"{english} {name}")

    def date(self) -> Phrase:
        """Le 3 mars, le lundi 1er mars."""
        month = self.rng.randrange(12)
        day = self.rng.randint(1, DAYS[month])
        french, english = self.months[month]
        when = Phrase(f"{'1er' if day == 1 else day} {french}", f"{english} {day}")
        if self.happens(0.4):
            french, english = self.rng.choice(self.weekdays)
            when = Phrase(french, f"{english},") + when
        return Phrase("le", "on") + when


def finished(words: Phrase, question: bool = False) -> Pair:
    """The pair that the words make: elided, with an initial capital and a question mark at the end of a question."""
    source, target = surface(words.french), " ".join(words.english.split())
    if question:
        source, target = f"{source}{THIN_SPACE}?", f"{target}?"
    return Pair(source[0].upper() + source[1:], target[0].upper() + target[1:], words.held_out)
