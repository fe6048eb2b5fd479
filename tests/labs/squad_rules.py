"""Crafted cases of how SQuAD's official evaluation script scores an answer, version 2.0 (Rajpurkar et al. 2018).

The rules, as published with the data set:

- A text is normalised: lower case; then the 32 ASCII punctuation characters are deleted, not replaced by a space;
  then the words "a", "an" and "the" are dropped; then white space is collapsed and stripped.
- Exact match is 1 if prediction and gold answer are equal once normalised, otherwise 0.
- F1 is the harmonic mean of precision and recall over the words of both, a repeated word counted as often as it is
  in both. If either has no word left, F1 is 1 if both have none, otherwise 0.
- Of several gold answers the best counts, for each measure by itself.
- Gold answers of which nothing is left once normalised are dropped. A question without a gold answer counts as one
  whose only gold answer is the empty text, and the empty text is how a system says that there is no answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Normalised:
    """``normal`` is what is left of ``text``; ``rule`` says why."""

    rule: str
    text: str
    normal: str


@dataclass(frozen=True)
class Scored:
    """What ``prediction`` earns against ``gold``: ``exact`` match and ``f1``; ``rule`` says why."""

    rule: str
    prediction: str
    gold: tuple[str, ...]
    exact: int
    f1: Fraction


NORMALISED = (
    Normalised("nothing to do", "kitchen", "kitchen"),
    Normalised("upper case becomes lower case", "Marie CURIE", "marie curie"),
    Normalised("also outside ASCII", "ÉCOLE Über", "école über"),
    Normalised("the article in front is dropped", "the kitchen", "kitchen"),
    Normalised(
        "every article is dropped, wherever it stands", "a cat and an owl in the hat", "cat and owl in hat"
    ),
    Normalised("an article in upper case is one, too", "The Hague", "hague"),
    Normalised("no article within a word", "another theatre", "another theatre"),
    Normalised("nothing is left of articles alone", "The a AN", ""),
    Normalised("the full stop at the end is deleted", "in 1869.", "in 1869"),
    Normalised("punctuation is deleted, and leaves no space", "U.S.A.", "usa"),
    Normalised("also the hyphen: two words become one", "long-term memory", "longterm memory"),
    Normalised("the comma of a large number", "299,792,458", "299792458"),
    Normalised("the decimal point, so that 3.5 looks like 35", "3.5 days", "35 days"),
    Normalised("signs of currency and per cent in ASCII", "$5 (95%)", "5 95"),
    Normalised("the apostrophe", "Rosa's", "rosas"),
    Normalised("all 32 characters", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", ""),
    Normalised(
        "punctuation goes first: after it, the article is part of a word", "the-kitchen", "thekitchen"
    ),
    Normalised("or the article is set free", "(the) kitchen, 'a' garden", "kitchen garden"),
    Normalised(
        "the dash and the quotation marks of print are not ASCII, and stay", "1969–1972 “a”", "1969–1972 “ ”"
    ),
    Normalised("white space of any kind and length becomes one space", " two \t\n  words ", "two words"),
    Normalised("also the no-break space", "1869\u00a0was", "1869 was"),
    Normalised("a space that is left by an article goes, too", "in the  garden", "in garden"),
    Normalised("the empty text", "", ""),
)

SCORED = (
    Scored("the same text", "kitchen", ("kitchen",), 1, Fraction(1)),
    Scored("another text", "kitchen", ("garden",), 0, Fraction(0)),
    Scored("case, article and full stop make no difference", "The Kitchen.", ("kitchen",), 1, Fraction(1)),
    Scored("nor does the gold answer's article", "kitchen", ("the kitchen",), 1, Fraction(1)),
    Scored("nor white space", "train\n  station", ("train station",), 1, Fraction(1)),
    Scored("one word too many: precision 1/2, recall 1", "big kitchen", ("kitchen",), 0, Fraction(2, 3)),
    Scored("one word missing: precision 1, recall 1/2", "station", ("train station",), 0, Fraction(2, 3)),
    Scored("an article too many costs nothing", "in the the garden", ("in garden",), 1, Fraction(1)),
    Scored("half of the words shared", "police station", ("train station",), 0, Fraction(1, 2)),
    Scored("precision 2/3, recall 2/4", "the first two layers", ("two layers of ten",), 0, Fraction(4, 7)),
    Scored("the order does not matter to F1", "Crick and Watson", ("Watson and Crick",), 0, Fraction(1)),
    Scored(
        "a word that comes twice counts once if the gold has it once", "two two", ("two",), 0, Fraction(2, 3)
    ),
    Scored("and twice if both have it twice", "two by two", ("two and two",), 0, Fraction(2, 3)),
    Scored("words must be equal, not alike", "metres", ("metre",), 0, Fraction(0)),
    Scored("a digit is not its word", "6", ("six",), 0, Fraction(0)),
    Scored("a part of a word is no word", "Nobel", ("Nobelprize",), 0, Fraction(0)),
    Scored("hyphens join: one word against two", "forget-gate", ("forget gate",), 0, Fraction(0)),
    Scored("commas within a number make no difference", "1,642 metres", ("1642 metres",), 1, Fraction(1)),
    Scored(
        "nor does a decimal point, which is a fault of the rule", "35 days", ("3.5 days",), 1, Fraction(1)
    ),
    Scored(
        "a whole sentence that holds the answer: precision 1/6",
        "Mary went back to the kitchen today",
        ("kitchen",),
        0,
        Fraction(2, 7),
    ),
    Scored("of several gold answers the best counts", "Crick", ("Watson and Crick", "Crick"), 1, Fraction(1)),
    Scored("their order does not matter", "Crick", ("Crick", "Watson and Crick"), 1, Fraction(1)),
    Scored("no exact match, the best F1", "in July 1949", ("1949", "July 1949", "summer"), 0, Fraction(4, 5)),
    Scored("the best is not the union", "train kitchen", ("train station", "old kitchen"), 0, Fraction(1, 2)),
    Scored("the best of each measure, here of two gold answers", "a b c", ("b c", "c b"), 1, Fraction(1)),
    Scored("no answer, and none is given", "", (), 1, Fraction(1)),
    Scored("no answer, but one is given", "kitchen", (), 0, Fraction(0)),
    Scored("an answer, but none is given", "", ("kitchen",), 0, Fraction(0)),
    Scored("no answer, and nothing is left of what is given", "The.", (), 1, Fraction(1)),
    Scored("an answer, but nothing is left of what is given", "the", ("the kitchen",), 0, Fraction(0)),
    Scored(
        "a gold answer of which nothing is left is dropped", "kitchen", ("the", "kitchen"), 1, Fraction(1)
    ),
    Scored("so it does not reward the empty text", "", ("the", "kitchen"), 0, Fraction(0)),
    Scored("if it is the only one, there is no answer", "", ("a",), 1, Fraction(1)),
    Scored("and a text earns nothing then", "kitchen", ("...",), 0, Fraction(0)),
)
