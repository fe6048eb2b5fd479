"""A subject and its verb in a tense, affirmed, negated or asked, put into words in both languages at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from course_utils.data.french_english import lexicon
from course_utils.data.french_english.french import agreed
from course_utils.data.french_english.lexicon import Verb
from course_utils.data.french_english.phrases import NOTHING, Phrase, Subject

Tense = Literal["present", "past", "future", "near", "recent", "want", "can"]
"""visite, a visité, visitera, va visiter, vient de visiter, veut visiter, peut visiter. The past of être: était."""

Negation = Literal["pas", "jamais", "plus"]

NEGATIONS: dict[Negation, str] = {"pas": "not", "jamais": "never", "plus": "no longer"}
WANT = ("veux", "veut", "voulons", "veulent")
CAN = ("peux", "peut", "pouvons", "peuvent")
WAS = ("étais", "était", "étions", "étaient")
BE_ENGLISH = {"present": ("am", "is", "are", "are"), "past": ("was", "was", "were", "were")}


@dataclass(frozen=True)
class Clause:
    """A sentence without its time, initial capital and final punctuation mark. Its phrases may contain extra spaces.

    Attributes:
        complement: what follows the verb.
        negation: "ne ... pas" and so on; None if it is affirmative.
        adverb: for an affirmative clause in the present: souvent, often.
        pronoun: an object that French puts before the verb: les, them.
    """

    subject: Subject
    verb: Verb
    tense: Tense
    complement: Phrase
    negation: Negation | None = None
    adverb: Phrase = NOTHING
    pronoun: Phrase = NOTHING

    def statement(self) -> Phrase:
        """Jane ne visite pas l'Afrique: Jane does not visit Africa."""
        auxiliary, main = self._english_verb(supported=self.negation == "pas")
        inserted = NEGATIONS[self.negation] if self.negation else self.adverb.english
        auxiliary = f"{auxiliary} {inserted}".replace("can not", "cannot")
        return self._phrase(f"{self.subject.phrase.english} {auxiliary} {main}")

    def question(self) -> Phrase:
        """What follows "est-ce que": Jane visite l'Afrique: does Jane visit Africa."""
        auxiliary, main = self._english_verb(supported=True)
        return self._phrase(f"{auxiliary} {self.subject.phrase.english} {main}")

    def _phrase(self, english: str) -> Phrase:
        finite, rest = self._french_verb()
        if rest:  # a pronoun precedes the verb whose object it is: "va les chercher" but "les cherche"
            rest = f"{self.pronoun.french} {rest}"
        else:
            finite = f"{self.pronoun.french} {finite}"
        if self.negation:
            finite = f"ne {finite} {self.negation}"
        french = f"{self.subject.phrase.french} {finite} {self.adverb.french} {rest}"
        return Phrase(french, f"{english} {self.pronoun.english}") + self.complement

    def _french_verb(self) -> tuple[str, str]:
        """The part that agrees with the subject, and the participle or infinitive after it."""
        subject, person, verb = self.subject, self.subject.person, self.verb.french
        match self.tense:
            case "present":
                return verb.present[person], ""
            case "past" if self.verb is lexicon.BE:
                return WAS[person], ""
            case "past" if verb.with_etre:
                participle = agreed(verb.participle, subject.gender, subject.plural)
                return lexicon.BE.french.present[person], participle
            case "past":
                return lexicon.HAVE.french.present[person], verb.participle
            case "future":
                return verb.future_of(person), ""
            case "near":
                return lexicon.GO.french.present[person], verb.infinitive
            case "recent":
                return lexicon.COME.french.present[person], f"de {verb.infinitive}"
            case "want":
                return WANT[person], verb.infinitive
            case "can":
                return CAN[person], verb.infinitive

    def _english_verb(self, supported: bool) -> tuple[str, str]:
        """An auxiliary, if there is one, and the verb; ``supported``: there has to be one, "do" if no other."""
        person, verb = self.subject.person, self.verb.english
        third = person == 1
        do, have = ("does", "has") if third else ("do", "have")
        base = f"{verb.base} {verb.particle}"
        match self.tense:
            case "present" | "past" if self.verb is lexicon.BE:
                return BE_ENGLISH[self.tense][person], ""
            case "present" if supported:
                return do, base
            case "present":
                return "", f"{verb.third if third else verb.base} {verb.particle}"
            case "past" if supported:
                return "did", base
            case "past" if self.negation:
                return have, f"{verb.participle} {verb.particle}"
            case "past":
                return "", f"{verb.past} {verb.particle}"
            case "future":
                return "will", base
            case "near":
                return BE_ENGLISH["present"][person], f"going to {base}"
            case "recent":
                return have, f"just {verb.participle} {verb.particle}"
            case "want" if supported:
                return do, f"want to {base}"
            case "want":
                return "", f"{'wants' if third else 'want'} to {base}"
            case "can":
                return "can", base
