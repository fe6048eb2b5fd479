"""Which language texts are in, from their letters and their commonest words: enough to notice that an encoder was not made for them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from itertools import islice

COMMON = {
    "en": "the and of to is in that for with was on are this it you not be from as at have my",
    "de": "der die und das ist nicht ein eine zu mit den von auf ich sie wir im für war dem des auch",
    "fr": "le la les et est des une dans pas pour que qui du je nous sur un au avec ce il mon",
    "es": "el los las y es una por con para que no del se mi está muy un en lo su pero más",
    "it": "il di che è una per non con del della sono ho mi si gli un la e in ma alla più",
    "pt": "o os as e é uma para com não do da em que um mais muito no na se meu foi ao",
    "nl": "de het een en van is niet dat op te ik voor met zijn er maar in mijn was aan ook",
    "sv": "och det att är en som på inte jag för med av den till har om ett var min men",
    "da": "og det er ikke jeg til en at på for med som den har af et var min men der",
    "pl": "i w nie na się jest to z do że jak za co po mnie już dla od ale był moje",
    "cs": "a v se je na to že s z do jsem ale pro jak za po už tak byl když",
    "tr": "bir ve bu da de için çok ile ne ama var gibi daha mi ben olarak kadar o",
    "fi": "ja on ei se että oli hän mutta kun niin en ole myös tai joka minun",
    "hu": "a az és nem hogy egy is van de meg ez volt csak már mint nagyon",
    "ro": "și de la în cu nu este pe o un că mai din pentru care am fost sunt",
    "id": "yang dan di ini itu untuk dengan tidak dari saya ke pada ada akan sudah",
}  # fmt: skip
"""Language -> words that are in most of its texts."""

SCRIPTS = {
    "CYRILLIC": "ru", "GREEK": "el", "ARABIC": "ar", "HEBREW": "he", "HIRAGANA": "ja", "KATAKANA": "ja", "HANGUL": "ko",
    "DEVANAGARI": "hi", "THAI": "th", "CJK": "zh", "ARMENIAN": "hy", "GEORGIAN": "ka", "BENGALI": "bn", "TAMIL": "ta",
}  # fmt: skip
"""The first word of a letter's Unicode name -> the language that most of its texts are in."""

ENOUGH = 4
"""So many different common words must be there: "met" alone is Dutch for "with", and what Ada did when she saw Bob."""

UNKNOWN = "und"
"""What a model card says where nobody knows: "undetermined" in ISO 639."""


def language_of(texts: Iterable[str]) -> str:
    """The code of the language that most of the texts are in, or :data:`UNKNOWN` where that cannot be told.

    Only common words of sixteen languages and the scripts of some more are known; of neighbours, such as Danish and Norwegian, it may
    name the other.
    """
    text = " ".join(islice(texts, 500)).lower()[:100_000]
    letters = [letter for letter in text[:20_000] if letter.isalpha()]
    scripts = Counter(unicodedata.name(letter, "?").split()[0].partition("-")[0] for letter in letters)
    latin = scripts.pop("LATIN", 0)
    if scripts and scripts.total() > latin:
        if scripts["HIRAGANA"] + scripts["KATAKANA"] > 0.1 * scripts.total():
            return "ja"
        if re.search("[іїєґ]", text) and scripts.most_common(1)[0][0] == "CYRILLIC":
            return "uk"
        return SCRIPTS.get(scripts.most_common(1)[0][0], UNKNOWN)
    words = re.findall(r"[^\W\d_]+", text)
    counts = Counter(words)
    known = {code: set(common.split()) & counts.keys() for code, common in COMMON.items()}
    shares = {code: sum(counts[word] for word in found) / max(len(words), 1) for code, found in known.items()}
    (best, most), (_, second) = Counter(shares).most_common(2)
    sure = len(known[best]) >= ENOUGH and most > 0.08 and most > 1.15 * second
    return best if sure else UNKNOWN
