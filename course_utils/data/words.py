"""Sentences as lists of words and back, as needed by an encoder-decoder with one number for each word.

French words that are written together are separated ("l'Afrique" -> "l'", "Afrique"), and so are punctuation marks and
the English possessive. :func:`join_words` joins them again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

THIN_SPACE = "\u202f"
"""The narrow no-break space that French puts before ? ! ; : and inside « »."""

_ELISIONS = "c|d|j|l|m|n|s|t|qu|jusqu|lorsqu|puisqu|quoiqu"
_TOKEN = re.compile(
    rf"""
    \b(?:{_ELISIONS})'(?=\w)            # l' of l'Afrique, but not the d' of aujourd'hui
    | (?<=\w)'(?:s|m|re|ve|ll|d)\b      # 's of Jane's
    | \b\d+(?:[.,]\d+)+(?!\w)           # 3.14 and 1,000
    | \w(?:[\w-]*\w)?(?:'\w+)*?(?='(?:s|m|re|ve|ll|d)\b)    # Jane of Jane's
    | \w(?:[\w-]*\w)?(?:'\w+)*          # words, also États-Unis, aujourd'hui, don't
    | {THIN_SPACE}?[^\w\s]              # marks, each by itself, a French one with the space before it
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SPACED_MARK = re.compile(r"(?<=\S)\s+([?!;:»])")
_CLOSING = tuple(".,?!;:)]}»…%" + THIN_SPACE)
_OPENING = ("(", "[", "{")
_ELIDED = re.compile(rf"(?:{_ELISIONS})'", re.IGNORECASE)
_SUFFIX = re.compile(r"'(?:s|m|re|ve|ll|d)", re.IGNORECASE)


def normalise(text: str) -> str:
    """Text in one spelling: composed letters, straight apostrophes, single spaces, narrow spaces before French marks.

    "L’Afrique ?" with a curly apostrophe and any kind of space before the mark becomes "L'Afrique\u202f?".
    """
    text = unicodedata.normalize("NFC", text).replace("’", "'")
    text = " ".join(text.split())
    return _SPACED_MARK.sub(rf"{THIN_SPACE}\1", text)


def word_tokens(text: str) -> list[str]:
    """The words and punctuation marks of a sentence: "Jane n'aime pas l'Asie." -> Jane, n', aime, pas, l', Asie, "."."""
    return _TOKEN.findall(normalise(text))


def join_words(tokens: Iterable[str]) -> str:
    """The sentence that these words and marks make; undoes :func:`word_tokens`.

    Where the words alone do not decide, the rule is fixed: there is no space before "," and after "(", and there is
    one on both sides of a quotation mark or a dash.
    """
    text, glued = "", True
    for token in tokens:
        if not (glued or token.startswith(_CLOSING) or _SUFFIX.fullmatch(token)):
            text += " "
        text += token
        glued = token in _OPENING or bool(_ELIDED.fullmatch(token))
    return text
