"""The made sentences are right French and right English, and say the same.

What is right is written down here anew, as tables and regular expressions; nothing is asked of the grammar's own rules.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass

import pytest

from course_utils.data.french_english.french import surface
from course_utils.data.french_english.names import months, places, weekdays
from course_utils.data.pairs import split_pairs
from course_utils.data.translation import JANE, MAX_PAIRS, translation_pairs
from course_utils.data.words import word_tokens

PAIRS = translation_pairs(9_000, seed=5)
FRENCH = [pair.source for pair in PAIRS]
ENGLISH = [pair.target for pair in PAIRS]
SPLITS = split_pairs(PAIRS, validation=500, test=500, seed=5)

NAMES = {"Jane": "f", "Anne": "f", "Emma": "f", "Léa": "f", "Paul": "m", "Omar": "m", "Victor": "m"}
NAME = "|".join(NAMES)

# Nouns: singular, plural, gender; English singular and plural.
NOUNS = [
    ("voiture", "voitures", "f", "car", "cars"),
    ("vélo", "vélos", "m", "bike", "bikes"),
    ("robe", "robes", "f", "dress", "dresses"),
    ("livre", "livres", "m", "book", "books"),
    ("ordinateur", "ordinateurs", "m", "computer", "computers"),
    ("horloge", "horloges", "f", "clock", "clocks"),
    ("maison", "maisons", "f", "house", "houses"),
    ("chien", "chiens", "m", "dog", "dogs"),
    ("hamster", "hamsters", "m", "hamster", "hamsters"),
    ("oiseau", "oiseaux", "m", "bird", "birds"),
    ("cheval", "chevaux", "m", "horse", "horses"),
    ("fille", "filles", "f", "girl", "girls"),
    ("femme", "femmes", "f", "woman", "women"),
    ("homme", "hommes", "m", "man", "men"),
    ("enfant", "enfants", "m", "child", "children"),
    ("professeur", "professeurs", "m", "teacher", "teachers"),
    ("ami", "amis", "m", "friend", "friends"),
    ("sœur", "sœurs", "f", "sister", "sisters"),
    ("frère", "frères", "m", "brother", "brothers"),
]
NOUN = {
    form: (gender, plural)
    for singular, plural_form, gender, *_ in NOUNS
    for form, plural in ((singular, False), (plural_form, True))
}

# Adjectives: masculine, feminine, their plurals, the masculine before a vowel; English.
ADJECTIVES = [
    ("petit", "petite", "petits", "petites", None, "small little shorter"),
    ("grand", "grande", "grands", "grandes", None, "big taller"),
    ("vieux", "vieille", "vieux", "vieilles", "vieil", "old older"),
    ("nouveau", "nouvelle", "nouveaux", "nouvelles", "nouvel", "new"),
    ("beau", "belle", "beaux", "belles", "bel", "beautiful"),
    ("jeune", "jeune", "jeunes", "jeunes", None, "young younger"),
    ("rouge", "rouge", "rouges", "rouges", None, "red"),
    ("vert", "verte", "verts", "vertes", None, "green"),
    ("noir", "noire", "noirs", "noires", None, "black"),
    ("blanc", "blanche", "blancs", "blanches", None, "white"),
    ("français", "française", "français", "françaises", None, "French"),
    ("italien", "italienne", "italiens", "italiennes", None, "Italian"),
    ("heureux", "heureuse", "heureux", "heureuses", None, "happy"),
    ("fatigué", "fatiguée", "fatigués", "fatiguées", None, "tired"),
    ("malade", "malade", "malades", "malades", None, "ill"),
]
ADJECTIVE: dict[str, set[tuple[str, bool]]] = defaultdict(set)
LEMMA = {}
for masculine, feminine, masculine_plural, feminine_plural, before_vowel, _ in ADJECTIVES:
    ADJECTIVE[masculine].add(("m", False))
    ADJECTIVE[feminine].add(("f", False))
    ADJECTIVE[masculine_plural].add(("m", True))
    ADJECTIVE[feminine_plural].add(("f", True))
    if before_vowel:
        ADJECTIVE[before_vowel].add(("m", False))
    for form in (masculine, feminine, masculine_plural, feminine_plural, before_vowel):
        LEMMA[form] = masculine
PRECEDING = {"petit", "grand", "vieux", "nouveau", "beau", "jeune"}

# Determiners: which gender and number they may stand before ("mon" before a feminine only if it begins with a vowel).
MASCULINE, FEMININE = frozenset({("m", False)}), frozenset({("f", False)})
SINGULAR, PLURAL = MASCULINE | FEMININE, frozenset({("m", True), ("f", True)})
DETERMINER = {
    **dict.fromkeys(("le", "un", "ce", "cet", "du", "au"), MASCULINE),
    **dict.fromkeys(("la", "une", "cette", "ma"), FEMININE),
    **dict.fromkeys(("l'", "mon", "notre", "leur"), SINGULAR),
    **dict.fromkeys(("les", "des", "ces", "mes", "nos", "leurs", "aux"), PLURAL),
    **dict.fromkeys(("de", "d'"), SINGULAR | PLURAL),  # pas de voiture, pas de voitures
}

# What one visits, where one is, where one comes from.
PLACES = [
    ("l'Afrique", "en Afrique", "d'Afrique", "Africa"),
    ("l'Asie", "en Asie", "d'Asie", "Asia"),
    ("l'Europe", "en Europe", "d'Europe", "Europe"),
    ("l'Amérique du Sud", "en Amérique du Sud", "d'Amérique du Sud", "South America"),
    ("la France", "en France", "de France", "France"),
    ("la Suisse", "en Suisse", "de Suisse", "Switzerland"),
    ("la Belgique", "en Belgique", "de Belgique", "Belgium"),
    ("la Grèce", "en Grèce", "de Grèce", "Greece"),
    ("la Hongrie", "en Hongrie", "de Hongrie", "Hungary"),
    ("la Corée du Sud", "en Corée du Sud", "de Corée du Sud", "South Korea"),
    ("l'Italie", "en Italie", "d'Italie", "Italy"),
    ("l'Espagne", "en Espagne", "d'Espagne", "Spain"),
    ("l'Allemagne", "en Allemagne", "d'Allemagne", "Germany"),
    ("l'Inde", "en Inde", "d'Inde", "India"),
    ("l'Irlande", "en Irlande", "d'Irlande", "Ireland"),
    ("l'Égypte", "en Égypte", "d'Égypte", "Egypt"),
    ("le Canada", "au Canada", "du Canada", "Canada"),
    ("le Japon", "au Japon", "du Japon", "Japan"),
    ("le Brésil", "au Brésil", "du Brésil", "Brazil"),
    ("le Maroc", "au Maroc", "du Maroc", "Morocco"),
    ("le Mexique", "au Mexique", "du Mexique", "Mexico"),
    ("le Portugal", "au Portugal", "du Portugal", "Portugal"),
    ("l'Iran", "en Iran", "d'Iran", "Iran"),
    ("l'Irak", "en Irak", "d'Irak", "Iraq"),
    ("les États-Unis", "aux États-Unis", "des États-Unis", "the United States"),
    ("les Pays-Bas", "aux Pays-Bas", "des Pays-Bas", "the Netherlands"),
    ("Cuba", "à Cuba", "de Cuba", "Cuba"),
    ("Madagascar", "à Madagascar", "de Madagascar", "Madagascar"),
    ("Paris", "à Paris", "de Paris", "Paris"),
    ("Londres", "à Londres", "de Londres", "London"),
    ("Rome", "à Rome", "de Rome", "Rome"),
    ("Moscou", "à Moscou", "de Moscou", "Moscow"),
    ("Athènes", "à Athènes", "d'Athènes", "Athens"),
    ("Oslo", "à Oslo", "d'Oslo", "Oslo"),
    ("Tokyo", "à Tokyo", "de Tokyo", "Tokyo"),
    ("Le Caire", "au Caire", "du Caire", "Cairo"),
]
BARE = "|".join(at.split(" ", 1)[1] for _, at, _, _ in PLACES)

# Verbs of places by their forms, and which column of PLACES they take.
PLACE_VERBS = {
    "visiter": (r"visit(?:e|ons|ent|er\w*|é)", 0),
    "aimer": (r"aim(?:e|ons|ent|er\w*|é)", 0),
    "découvrir": (r"découv(?:re|rons|rent|rir\w*|ert)", 0),
    "aller": (r"(?:vais|va|vont|all(?:ons|er|ée?s?)|ir(?:ai|a|ons|ont))", 1),
    "arriver": (r"arriv(?:e|ons|ent|er\w*|ée?s?)", 1),
    "habiter": (r"habit(?:e|ons|ent|er\w*|é)", 1),
    "venir": (r"(?:viens|vient|viennent|ven(?:ons|ir|ue?s?)|viendr\w+)", 2),
}
PLACE_FORM = rf"(?:(?:le|la|les|Le|en|à|au|aux|de|du|des) |[ld]')?(?:{BARE})\b"

FORMS = "|".join(sorted(ADJECTIVE, key=len, reverse=True))
NOUN_FORMS = "|".join(sorted(NOUN, key=len, reverse=True))
NOUN_PHRASE = (
    rf"\b(?:(?:{'|'.join(word for word in DETERMINER if word.isalpha())}) |l'|d')"
    rf"(?:(?:{FORMS}) )?(?:{NOUN_FORMS})\b(?: (?:{FORMS})\b)?"
)
PARTS = re.compile(rf"(\w+'?) ?(?:({FORMS}) )?({NOUN_FORMS})\b(?: ({FORMS}))?", re.IGNORECASE)
SUBJECT = re.compile(
    rf"(?P<names>(?:{NAME})(?: et (?:{NAME}))?)\b|(?P<pronoun>j'|(?:je|ils?|elle|nous)\b)"
    rf"|(?P<noun>{NOUN_PHRASE})(?: (?:de |d')?(?:(?:{NAME})\b|{NOUN_PHRASE}))?",
    re.IGNORECASE,
)
VOWEL = r"(?:[aeiouéèêàâîôûœ]|h(?!amster|ongrie)|y\b)"


@dataclass(frozen=True)
class Parsed:
    """A French sentence taken apart.

    Attributes:
        person: je, il (also for elle and nouns), nous or ils.
        gender: of the subject; None for je.
        noun: the subject's noun, or "".
        verb: the finite verb.
        rest: what follows it, without pas, jamais and plus.
    """

    sentence: str
    person: str
    gender: str | None
    noun: str
    verb: str
    rest: str


def parsed(sentence: str) -> Parsed:
    text = re.sub(r"^[^,]*, ", "", sentence.removesuffix("\u202f?"))
    text = re.sub(r"^(?:(?:Quand|Pourquoi) )?est-ce qu(?:e |')", "", text, flags=re.IGNORECASE)
    text = re.sub(
        rf"^(?:j'|je|il|elle|nous|ils|{NAME}) (?:di|pens)\w+ qu(?:e |')", "", text, flags=re.IGNORECASE
    )
    found = SUBJECT.match(text)
    assert found, sentence
    noun = ""
    if found["names"]:
        genders = {NAMES[name] for name in found["names"].split(" et ")}
        person, gender = ("ils" if " et " in found["names"] else "il"), ("f" if genders == {"f"} else "m")
    elif found["pronoun"]:
        pronoun = found["pronoun"].lower()
        person = {"j'": "je", "elle": "il"}.get(pronoun, pronoun)
        gender = {"je": None, "j'": None, "elle": "f"}.get(pronoun, "m")
    else:
        noun = PARTS.match(found["noun"])[3].lower()
        gender, plural = NOUN[noun]
        person = "ils" if plural else "il"
    after = re.sub(r"^(?:ne |n')?(?:me |m'|nous |le |la |les |y )?", "", text[found.end() :].lstrip())
    verb, _, rest = after.partition(" ")
    return Parsed(sentence, person, gender, noun, verb, re.sub(r"^(?:pas|jamais|plus) (?!\w+ qu)", "", rest))


PARSED = [parsed(sentence) for sentence in FRENCH]


def noun_phrases(sentence: str) -> list[tuple[str, str, str, str]]:
    """Determiner, adjective before, noun and adjective after, in lower case; "" for what is not there."""
    found = re.findall(NOUN_PHRASE, sentence, re.IGNORECASE)
    return [tuple((part or "").lower() for part in PARTS.match(phrase).groups()) for phrase in found]


def matches(pattern: str, texts: list[str], flags: int = 0) -> list[str]:
    """The sentences that a pattern is found in, and what was found."""
    compiled = re.compile(pattern, flags)
    return [f"{found[0]!r} in {text!r}" for text in texts if (found := compiled.search(text))]


# French


@pytest.mark.parametrize(
    ("pattern", "rule"),
    [
        (r"\b(?:de|à) les?\b", "de and à contract with le and les"),
        (rf"\b(?:le|la|je|me|ne|de|que) {VOWEL}", "elision before a vowel"),
        (rf"\b(?:l|j|m|n|d|qu)'(?!{VOWEL})", "no elision before anything else"),
        (rf"\b(?:ce|ma|beau|nouveau) {VOWEL}(?!n\b)", "cet, mon, bel, nouvel before a vowel"),
        (r"\bvieux (?:oiseau|ordinateur|homme|ami|enfant)\b", "vieil before a vowel"),
        (rf"\b(?:cet|bel|nouvel|vieil) (?!{VOWEL})", "their other forms before a consonant"),
        (rf"\bmon (?!{VOWEL})(?:petite|vieille|belle|grande|nouvelle|voiture|robe|maison|sœur)", "ma"),
        (rf"\bdes (?:{FORMS}) (?:{NOUN_FORMS})", "de before an adjective that precedes a plural"),
        (r"\b(?:ne|n')(?!.* (?:pas|jamais|plus)\b)", "a negation has two parts"),
        (
            r"\b(?:pas|jamais) (?:une?|des (?!États|Pays))\b",
            "an indefinite article becomes de after a negation",
        ),
        (r"\b(?:année|semaine) (?:dernier|prochain)\b", "times agree"),
        (r"\b(?!année|semaine)\w+ (?:dernière|prochaine)\b", "times agree"),
        (r"\ben printemps|\bau (?:été|automne|hiver)", "au printemps, but en été"),
        (r"\ben (?:le|la|les|l')|\bà en\b|\bde (?:en|du|des)\b|\bdes (?:la|les)\b", "one preposition"),
        (r"[^\w' ,?\u202f-]|[ _]$|^ |  | ,|[^\u202f]\?|\u202f[^?]", "spaces and marks where they belong"),
        (r"\b(?:le|1er) (?:0|1 |3[2-9]|[4-9]\d)|[3-9]\d (?!\w)|(?:30|31) février|31 (?:avril|juin)", "days"),
    ],
)
def test_french_spelling_keeps_the_rule(pattern, rule):
    assert matches(pattern, FRENCH, re.IGNORECASE) == [], rule


def test_every_noun_has_a_determiner_and_adjectives_that_agree_and_stand_on_the_right_side():
    wrong = []
    for sentence in FRENCH:
        phrases = noun_phrases(sentence)
        words = re.sub(r"\ben voiture\b", "", sentence).lower()
        if len(phrases) != len(re.findall(rf"\b(?:{NOUN_FORMS})\b", words)):
            wrong.append(f"a noun without determiner: {sentence}")
        for determiner, before, noun, after in phrases:
            features = NOUN[noun]
            agree = all(features in ADJECTIVE[word] for word in (before, after) if word)
            mon = determiner == "mon" and features == ("f", False)
            if features not in DETERMINER[determiner] or not agree:
                wrong.append(f"{determiner} {before} {noun} {after}: {sentence}")
            if mon and not re.match(VOWEL, before or noun):
                wrong.append(f"mon for ma: {sentence}")
            if (before and LEMMA[before] not in PRECEDING) or (after and LEMMA[after] in PRECEDING):
                wrong.append(f"wrong side: {sentence}")
    assert wrong == []


def test_every_other_adjective_agrees_with_the_subject_of_its_sentence():
    wrong, checked = [], 0
    for sentence in PARSED:
        alone = re.sub(NOUN_PHRASE, "", sentence.rest, flags=re.IGNORECASE)
        alone = re.sub(r"(?:parl|appr)\w+ .*", "", f"{sentence.verb} {alone}")
        alone = re.sub(r"\b(?:français|italien)\b(?= .*avec)", "", alone)
        for word in re.findall(rf"\b(?:{FORMS})\b", alone):
            checked += 1
            if (sentence.gender, sentence.person in ("nous", "ils")) not in ADJECTIVE[word]:
                wrong.append(f"{word}: {sentence.sentence}")
            if not re.match("est|ét|so|se", sentence.verb):
                wrong.append(f"not after être: {sentence.sentence}")
    assert wrong == []
    assert checked > 1000


@pytest.mark.parametrize(
    ("person", "form"),
    [
        ("je", r"\w+(?:e|ai|ais|s|x)|ai"),
        ("il", r"(?!\w+(?:ent|ont)$)\w*[aetd]|vient"),
        ("nous", r"\w+ons|sommes"),
        ("ils", r"\w+ent|\w*ont"),
    ],
)
def test_the_verb_has_the_person_of_its_subject(person, form):
    verbs = {sentence.verb for sentence in PARSED if sentence.person == person}
    assert len(verbs) > 20
    assert {verb for verb in verbs if not re.fullmatch(form, verb)} == set()


def test_participles_agree_after_être_and_only_there():
    participles = r"(?:all|arriv)é|venu"
    wrong, checked = [], Counter()
    for sentence in PARSED:
        if found := re.match(rf"({participles})(e?)(s?)\b", sentence.rest):
            checked[found[2] + found[3]] += 1
            plural = sentence.person in ("nous", "ils")
            if (found[2] == "e", found[3] == "s") != (sentence.gender == "f", plural):
                wrong.append(sentence.sentence)
            if sentence.verb not in ("est", "sommes", "sont"):
                wrong.append(sentence.sentence)
        elif sentence.verb in ("ai", "a", "avons", "ont") and re.match(
            r"\w+(?:ée|és|ue|us|ert?s|ise)\b", sentence.rest
        ):
            wrong.append(sentence.sentence)
    assert wrong == []
    assert set(checked) == {"", "e", "s", "es"}


def test_the_forms_of_places_are_those_of_the_table():
    made = [
        (surface(place.thing), surface(place.at), surface(place.origin), place.english) for place in places()
    ]
    assert made == PLACES


@pytest.mark.parametrize("verb", PLACE_VERBS)
def test_a_place_has_the_form_that_the_verb_before_it_asks_for(verb):
    forms, column = PLACE_VERBS[verb]
    inserted = "(?: (?:pas|jamais|plus|souvent|parfois|rarement))?"
    pattern = re.compile(rf"\b{forms}{inserted} ({PLACE_FORM})")
    seen = {found[1] for text in FRENCH if (found := pattern.search(text))}
    assert seen <= {place[column] for place in PLACES}
    assert len(seen) > 25


def test_no_sentence_has_a_place_in_another_form():
    known = sorted({form for place in PLACES for form in place[:3]}, key=len, reverse=True)
    assert matches(rf"\b(?:{BARE})\b", [re.sub("|".join(known), "", text) for text in FRENCH]) == []


def test_the_time_fits_the_tense():
    past = re.compile(r"\b(?:hier|derni)", re.IGNORECASE)
    future = re.compile(r"\b(?:demain|prochain)", re.IGNORECASE)
    dated = re.compile(r"\ble (?:\w+di |dimanche )?\d", re.IGNORECASE)
    every = re.compile(r"\bchaque\b", re.IGNORECASE)
    for pair, sentence in zip(PAIRS, PARSED, strict=True):
        compound = sentence.verb in ("ai", "a", "avons", "ont", "est", "suis", "sommes", "sont")
        is_past = sentence.verb.startswith("ét") or (compound and not re.match("Are|Is|Am", pair.target))
        is_future = re.search(r"\b(?:will|going to|can|cannot|wants? to)\b", pair.target, re.IGNORECASE)
        text = pair.source
        assert not past.search(text) or is_past, text
        assert not future.search(text) or is_future, text
        assert not dated.search(text) or is_past or is_future, text
        assert not every.search(text) or not (is_past or is_future), text


# English

THIRD = "visits|loves|discovers|goes|arrives|lives|comes|buys|sells|looks|sees|gives|speaks|learns|wants|has|is|does"
OTHERS = "visit|love|discover|go|arrive|live|come|buy|sell|look|see|give|speak|learn|want|have|are|do|am|were"
SINGULAR_NOUNS = "|".join(noun[3] for noun in NOUNS)
PLURAL_NOUNS = "|".join(noun[4] for noun in NOUNS)
QUALITIES = "|".join(word for *_, translations in ADJECTIVES for word in translations.split())


@pytest.mark.parametrize(
    ("pattern", "rule"),
    [
        (r"\b[Aa] [aeiouAEIOU]", "an before a vowel"),
        (r"\b[Aa]n [^aeiouAEIOU]", "a before a consonant"),
        (rf"\b(?:an?|this) (?:(?:{QUALITIES}) )*(?:{PLURAL_NOUNS})\b", "a and this before one"),
        (rf"\bthese (?:(?:{QUALITIES}) )*(?:{SINGULAR_NOUNS})\b", "these before several"),
        (
            r"\b(?:does|did|do|will|can|cannot|to) (?:not |never )?(?:{THIRD})\b",
            "no -s after an auxiliary",
        ),
        (r"\b(?:january|march|april|june|july|august|september|october|november|december)\b", "months"),
        (r"\b(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b|\bi\b", "weekdays and I"),
        (r"^(?!.*\b(?i:have|has)\b).*\b(?:given|seen|spoken|gone)\b", "participles with have"),
        (r"\b(?:have|has) (?:just|never) (?:gave|saw|spoke|went|came)\b", "participles, not the past"),
        (r"(?:can|will) (?:not|no longer|never) to|can not", "cannot"),
        (r"^(?!.*(?:not|never|longer)\b).*\bany\b", "any after a negation"),
        (
            r"(?<!do )(?<!does )(?<!did )(?<!will )(?<!is )(?<!am )(?<!are )(?<!was )(?<!were )\bnot\b",
            "an auxiliary",
        ),
        (
            r"^(?!(?i:(?:why |when )?(?:do|does|did|will|can|is|are|was|were|have|has) )).*\?",
            "questions begin with one",
        ),
        (r"[^\w' ,?-]| $|^ |  | [,.?]", "spaces and marks where they belong"),
    ],
)
def test_english_keeps_the_rule(pattern, rule):
    assert matches(pattern, ENGLISH) == [], rule


def test_only_the_third_person_singular_has_an_s():
    finite = re.compile(rf"\b(?:(?P<third>{THIRD})|(?P<other>{OTHERS})|will|can|cannot|did)\b", re.IGNORECASE)
    wrong, checked = [], Counter()
    for pair, sentence in zip(PAIRS, PARSED, strict=True):
        text = re.sub(r"^\w+ (?:says?|thinks?) that ", "", pair.target)
        found = finite.search(text)
        if found and found.lastgroup and not text.startswith("There"):
            checked[found.lastgroup] += 1
            if (found.lastgroup == "third") != (sentence.person == "il") and not re.match("Are there", text):
                wrong.append(f"{found[0]}: {text}")
    assert wrong == []
    assert min(checked.values()) > 1000


# Both


# What corresponds to what, as patterns of whole tokens. Equally many of them are in a sentence and its translation.
WORDS = {
    **{singular: english for singular, _, _, english, _ in NOUNS},
    **{plural: english for _, plural, _, _, english in NOUNS},
    **{"|".join(filter(None, forms)): english.replace(" ", "|") for *forms, english in ADJECTIVES},
    **{name: name for name in NAMES},
    **{at.split()[1].lower(): english.split()[-1].lower() for _, at, _, english in PLACES if "Sud" not in at},
    "corée": "korea",
    "amérique": "america",
    "sud": "south",
    **{french: english.lower() for french, english in months() + weekdays()},
    **{str(day): str(day) for day in range(2, 32)},
    "1er": "1",
    "année": "year",
    "semaine": "week",
    "mois": "month",
    "été": "summer",
    "automne": "autumn",
    "hiver": "winter",
    "printemps": "spring",
    "chaque": "every",
    "derni.+": "last",
    "prochaine?": "next",
    "hier": "yesterday",
    "demain": "tomorrow",
    "souvent": "often",
    "parfois": "sometimes",
    "rarement": "rarely",
    "jamais": "never",
    "très": "very",
    "et": "and",
    "avec": "with",
    "train": "train",
    "avion": "plane",
    "bateau": "boat",
    "anglais": "english",
    "espagnol": "spanish",
    "allemand": "german",
    "quand": "when",
    "pourquoi": "why",
    "mon|ma|mes": "my",
    "notre|nos": "our",
    "leurs?": "their",
    "ce|cet|cette": "this",
    "ces": "these",
    "je|j'": "i",
    "il": "he|there",
    "elle": "she",
    "ils": "they",
    "me|m'": "me",
    "nous": "we|us",
    "visit.+": "visit.*",
    "aim.+": "love.*",
    "découv.+": "discover.*",
    "vais|va|vont|all(ons|er|ée?s?)|ir(ai|a|ons|ont)": "go|goes|going|went|gone",
    "arriv.+": "arrive.*",
    "habit.+": "live.*",
    "viens|vient|viennent|viendr.+|ven(ons|ir|ue?s?)": "comes?|came|just",
    "ach[eè]t.+": "buys?|bought",
    "vend(?!redi).*": "sells?|sold",
    "cherch.+": "look.*",
    "voir|voi[st]|voient|voyons|verr.+|vu": "sees?|saw|seen",
    "donn.+": "gives?|gave|given",
    "parl.+": "speaks?|spoke|spoken",
    "appr.+": "learn.*",
    "pens.+": "thinks?",
    "dis|dit|disons|disent": "says?",
    "veu.+|voulons": "wants?",
    "peu.+|pouvons": "can|cannot",
    "pas": "not|cannot",
}


def test_each_word_has_its_translation():
    def meanings(tokens: set[str], patterns: list[str]) -> dict[str, list[int]]:
        compiled = [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
        return {
            token: [number for number, pattern in enumerate(compiled) if pattern.fullmatch(token)]
            for token in tokens
        }

    tokens = [(word_tokens(pair.source), word_tokens(pair.target)) for pair in PAIRS]
    french = meanings({token for source, _ in tokens for token in source}, list(WORDS))
    english = meanings({token for _, target in tokens for token in target}, list(WORDS.values()))
    for source, target in tokens:
        said = Counter(number for token in source for number in french[token])
        translated = Counter(number for token in target for number in english[token])
        different = [list(WORDS.items())[number] for number in {*(said - translated), *(translated - said)}]
        assert different == [], (source, target)
    # Nothing but these small words of grammar goes unchecked.
    small = "le|la|l'|les|un|une|des|de|d'|du|au|aux|à|en|ne|n'|que|qu'|y|plus|est-ce|,|\u202f\\?"
    helpers = r"ai|a|avons|ont|au(rai|ra|rons|ront)|eu|suis|est|sommes|sont|ét.+|se(ra|rai|rons|ront)|avoir"
    left = {token for token, numbers in french.items() if not numbers}
    assert {token for token in left if not re.fullmatch(f"{small}|{helpers}", token, re.IGNORECASE)} == set()


def test_a_sentence_is_negated_or_asked_in_both_languages():
    for pair in PAIRS:
        negated = re.search(r"\b(?:ne |n')", pair.source)
        assert bool(negated) == bool(re.search(r"\b(?:not|cannot|never|no longer)\b", pair.target)), pair
        assert pair.source.endswith("\u202f?") == pair.target.endswith("?"), pair
        assert pair.source[0].isupper() and pair.target[0].isupper()


def test_every_sentence_has_one_translation_in_each_direction():
    many = translation_pairs(20_000, seed=6)
    assert len({pair.source for pair in many}) == len({pair.target for pair in many}) == len(many)


def test_the_sentence_of_the_labs_comes_first():
    assert PAIRS[0] == JANE
    assert (JANE.source, JANE.target) == (
        "Jane visite l'Afrique en septembre",
        "Jane visits Africa in September",
    )
    assert SPLITS.test[0] == JANE


def test_the_same_seed_gives_the_same_pairs_and_a_longer_list_begins_like_a_shorter_one():
    assert translation_pairs(300, seed=1) == translation_pairs(500, seed=1)[:300]
    assert translation_pairs(300, seed=1) != translation_pairs(300, seed=2)


@pytest.mark.parametrize("count", [0, -1, MAX_PAIRS + 1])
def test_a_count_out_of_range_is_refused(count):
    with pytest.raises(ValueError, match="There can be 1 to 100,000 pairs, not"):
        translation_pairs(count, seed=0)


def test_sentences_are_3_to_14_words_long_and_made_of_some_hundred_words():
    for texts, most in ((FRENCH, 470), (ENGLISH, 330)):
        tokens = [word_tokens(text) for text in texts]
        assert {len(words) for words in tokens} == set(range(3, 15))
        assert 300 < len({word for words in tokens for word in words}) < most


# Held-out pairings


def pairings(sentence: Parsed) -> set[tuple[str, str]]:
    """Adjective and noun, verb and place that a sentence has together, found without the grammar."""
    found = set()
    singular = {form: noun[0] for noun in NOUNS for form in noun[:2]}
    for _, before, noun, after in noun_phrases(sentence.sentence):
        found |= {(LEMMA[word], singular[noun]) for word in (before, after) if word}
    if sentence.noun:
        found |= {
            (LEMMA[word], singular[sentence.noun]) for word in re.findall(rf"^(?:{FORMS})\b", sentence.rest)
        }
    for verb, (forms, _) in PLACE_VERBS.items():
        text = f"{sentence.verb} {sentence.rest}"
        if match := re.search(rf"\b{forms}(?: (?:souvent|parfois|rarement))? {PLACE_FORM}", text):
            found.add((verb, re.search(rf"(?:{BARE})$", match[0])[0]))
    return found


def test_pairings_that_are_held_out_are_in_no_training_sentence():
    by_source = {sentence.sentence: pairings(sentence) for sentence in PARSED}
    unseen = set().union(*(pair.held_out for pair in SPLITS.unseen_pairings))
    seen = set().union(
        *(by_source[pair.source] for part in (SPLITS.train, SPLITS.validation, SPLITS.test) for pair in part)
    )
    assert unseen & seen == set()
    for pair in SPLITS.unseen_pairings:
        assert pair.held_out and pair.held_out <= by_source[pair.source], pair
    assert len(unseen) > 30
    # What is tested are pairings, and not words: each of these has been seen with most others.
    for word in {word for pairing in unseen for word in pairing}:
        partners = sum(word in pairing for pairing in seen)
        assert partners > 2 * sum(word in pairing for pairing in unseen), word


def test_every_word_of_the_test_sentences_is_in_the_training_sentences():
    for side in ("source", "target"):
        known = {word for pair in SPLITS.train for word in word_tokens(getattr(pair, side))}
        tested = {
            word for pair in SPLITS.test + SPLITS.unseen_pairings for word in word_tokens(getattr(pair, side))
        }
        assert tested <= known
