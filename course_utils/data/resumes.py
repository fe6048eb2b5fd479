"""Made-up résumés with their entities: exact, unlimited, and about nobody real.

Each résumé is one template filled with one person's facts. The position of every entity is known because the text is
written piece by piece; nothing is searched for. :func:`resume_splits` gives the sets for training and testing,
:func:`annotated_by_hand` the same entities as a hurried annotator would mark them. docs/data-entities.md says
what these résumés are, and what they are not.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from string import Formatter

from course_utils.data.entities import Entity, EntityExample
from course_utils.data.resume_templates import TEMPLATES
from course_utils.data.resume_words import LEGAL_FORMS, SECTORS, Trade, Words, words

LABELS = (
    "Name",
    "Email",
    "Designation",
    "Companies worked at",
    "College",
    "Degree",
    "Graduation year",
    "Location",
    "Skills",
    "Years of experience",
)

THIS_YEAR = 2025
"""The year in which all résumés are written: the data must not depend on the clock."""

LABEL_OF_FIELD = {
    "name": "Name",
    "name_reversed": "Name",
    "email": "Email",
    "role": "Designation",
    "role1": "Designation",
    "role2": "Designation",
    "company1": "Companies worked at",
    "company2": "Companies worked at",
    "company3": "Companies worked at",
    "college1": "College",
    "college2": "College",
    "degree1": "Degree",
    "degree2": "Degree",
    "year1": "Graduation year",
    "year2": "Graduation year",
    "place": "Location",
    "place1": "Location",
    "place2": "Location",
    "college_place": "Location",
    "skills": "Skills",
    "skill1": "Skills",
    "skill2": "Skills",
    "skill3": "Skills",
    "skill4": "Skills",
    "experience": "Years of experience",
}
"""The fields of a template that are entities. The others are distractors: dates, phone numbers."""


@dataclass(frozen=True)
class Resume(EntityExample):
    """A résumé: its entities are exact, in the order of the text, and do not overlap.

    Attributes:
        template: name of the layout, a key of :data:`course_utils.data.resume_templates.TEMPLATES`.
    """

    template: str


def make_resumes(
    count: int, seed: int = 0, *, templates: Sequence[str] = tuple(TEMPLATES), reserved: bool = False
) -> tuple[Resume, ...]:
    """Résumés of made-up people; the same arguments give the same ones.

    Args:
        count: how many; the templates take turns.
        seed: another seed, other people.
        templates: names of the templates to use.
        reserved: whether to use the words kept for testing; see :mod:`course_utils.data.resume_words`.
    """
    resumes = []
    for i in range(count):
        rng = random.Random(f"résumé {seed} {i} {reserved}")
        template = templates[i % len(templates)]
        resumes.append(_written(template, _facts(rng, words(reserved=reserved)), rng))
    return tuple(resumes)


# ---------------------------------------------------------------------------------- sets for training and testing

HELD_OUT = tuple(TEMPLATES)[4::5]
"""The templates kept for testing by default: every fifth."""

DEVELOPMENT = tuple(name for name in TEMPLATES if name not in HELD_OUT)[5::6]
"""The templates that lab 09 keeps out of training to choose and to read errors on: every sixth of the others."""

TEST_SIZE = 160


@dataclass(frozen=True)
class ResumeSplits:
    """Résumés to train on, and sets to measure on, of increasing difficulty.

    Attributes:
        train: layouts and words as in ``validation``.
        validation: different people, but the same layouts and vocabulary. For choices made during training.
        unseen_documents: the same layouts; people, employers, colleges, places and skills use the reserved words.
        development: layouts kept out of training, and reserved words. For choices, and for reading errors. Empty if no layouts are.
        unseen_templates: other held-out layouts, and reserved words. For the test.
    """

    train: tuple[Resume, ...]
    validation: tuple[Resume, ...]
    unseen_documents: tuple[Resume, ...]
    development: tuple[Resume, ...]
    unseen_templates: tuple[Resume, ...]


def resume_splits(
    train: int = 600, held_out: Sequence[str] = HELD_OUT, seed: int = 0, development: Sequence[str] = ()
) -> ResumeSplits:
    """The résumés of the lab, split by template and by document; no text is in two of the sets.

    Args:
        train: how many to train on.
        held_out: names of the templates that occur in ``unseen_templates`` only.
        seed: another seed, other people.
        development: names of the templates that occur in ``development`` only.

    Raises:
        ValueError: a name in ``held_out`` or ``development`` is not a template or is in both, or no template is left on one side.
    """
    kept = [*held_out, *development]
    seen = [name for name in TEMPLATES if name not in kept]
    if not held_out or not seen or not set(kept) <= set(TEMPLATES) or len(set(kept)) < len(kept):
        raise ValueError(f"Hold out some, not all, of these templates: {', '.join(TEMPLATES)}.")
    return ResumeSplits(
        train=make_resumes(train, seed, templates=seen),
        validation=make_resumes(TEST_SIZE, seed + 1, templates=seen),
        unseen_documents=make_resumes(TEST_SIZE, seed, templates=seen, reserved=True),
        development=make_resumes(
            TEST_SIZE if development else 0, seed + 2, templates=development, reserved=True
        ),
        unseen_templates=make_resumes(TEST_SIZE, seed + 1, templates=held_out, reserved=True),
    )


# ---------------------------------------------------------------------------------- annotation by hand


def annotated_by_hand(resume: Resume, seed: int = 0) -> EntityExample:
    """The same text with its entities marked as a hurried annotator would: each once or twice, in any order.

    Some spans include white space around an entity or consist only of white space; some entities are marked
    again, whole or in part, or together with a piece of what follows. Two steps recover exactly
    ``resume.entities``:

    1. White space at both ends of a span is cut off, and what is then empty goes.
    2. Of spans that overlap, the longest stays; of equally long ones, the one that begins first. What overlaps a
       span that stays goes. (spaCy's ``filter_spans`` does the same.)
    """
    rng = random.Random(f"by hand {seed} {resume.text}")
    spans = []
    for entity in resume.entities:
        spans.append(_loose(entity, resume.text, rng))
        if rng.random() < 0.1:
            spans.append(_loose(entity, resume.text, rng))
        pieces = _shorter_spans(entity, resume.text)
        if pieces and rng.random() < 0.2:
            label = entity.label if rng.random() < 0.5 else rng.choice(LABELS)
            spans.append(_loose(Entity(*rng.choice(pieces), label), resume.text, rng))
    blanks = [place.span() for place in re.finditer(r"\s+", resume.text)]
    if rng.random() < 0.3:
        spans.append(Entity(*rng.choice(blanks), rng.choice(LABELS)))
    rng.shuffle(spans)
    return EntityExample(resume.text, tuple(spans))


def _loose(entity: Entity, text: str, rng: random.Random) -> Entity:
    """The entity, with some of the white space around it."""
    before = len(text[: entity.start]) - len(text[: entity.start].rstrip())
    after = len(text[entity.end :]) - len(text[entity.end :].lstrip())
    return entity._replace(
        start=entity.start - (rng.randint(0, before) if rng.random() < 0.2 else 0),
        end=entity.end + (rng.randint(0, after) if rng.random() < 0.4 else 0),
    )


def _shorter_spans(entity: Entity, text: str) -> list[tuple[int, int]]:
    """Spans that overlap the entity, end where words end, and are shorter than it, so that it wins over them."""
    words = [place.span() for place in re.finditer(r"\w+", text)]
    starts = [start for start, _ in words if entity.start <= start < entity.end]
    ends = [end for _, end in words if entity.start < end]
    length = entity.end - entity.start
    return [(start, end) for start in starts for end in ends if start < end < start + length]


# ---------------------------------------------------------------------------------- facts


def _facts(rng: random.Random, words: Words) -> dict[str, str | list[str]]:
    """The facts about one person: field of a template -> text, or a list of texts."""
    trade = rng.choice(words.trades)
    firsts, lasts = rng.choice(words.people)
    first, last = rng.choice(firsts), rng.choice(lasts)
    match rng.choices(("plain", "initial", "double"), (75, 15, 10))[0]:
        case "initial":
            given, family = f"{first} {rng.choice('ABCDEFGHJKLMNPRSTVW')}.", last
        case "double":
            given, family = first, f"{last}{rng.choice(('-', ' '))}{rng.choice(lasts)}"
        case _:
            given, family = first, last

    finished = rng.randint(1996, THIS_YEAR - 3)  # the last degree; then comes work
    moved = rng.randint(finished, THIS_YEAR - 1)
    began = rng.randint(finished - 1, moved - 1)
    places = [
        f"{city}, {region}" if rng.random() < 0.4 else city for city, region in rng.sample(words.cities, 4)
    ]
    roles = [_role(rng, trade) for _ in range(3)]
    skills = _skills(rng, trade, words)
    named = rng.randint(4, 7)
    dash = rng.choice((" - ", "-", " – ", "–", " to "))
    form = rng.choice(("{}", "{}", "{}", "Jan {}", "June {}", "03/{}", "Sept. {}"))
    companies = [_company(rng, words) for _ in range(3)]
    return {
        "name": f"{given} {family}",
        "name_reversed": f"{family}, {given}",
        "email": _email(rng, first, family, words),
        "phone": _phone(rng),
        "url": f"www.example.{rng.choice(('com', 'org', 'net'))}/{_ascii(first)}{_ascii(family)}",
        "street": f"{rng.randint(1, 180)} {rng.choice(words.people[0][1])} {rng.choice(('Street', 'Road', 'Avenue', 'Lane'))}",
        "place": places[0],
        "place1": rng.choice((places[0].partition(",")[0], places[1])),
        "place2": places[2],
        "college_place": places[3],
        "role": rng.choice(roles[:2]),
        "role1": roles[0],
        "role2": roles[2],
        "company1": companies[0],
        "company2": companies[1],
        "company3": companies[2],
        "dates1": form.format(moved) + dash + rng.choice(("present", "now", "today", "current")),
        "dates2": form.format(began) + dash + form.format(moved),
        "since1": str(moved),
        "from2": str(began),
        "duration": f"{rng.randint(1, 9)} yrs {rng.randint(2, 11)} mos",
        "college1": _college(rng, words),
        "college2": _college(rng, words),
        "degree1": _degree(rng, trade),
        "degree2": _degree(rng, trade),
        "begin1": str(finished - rng.randint(2, 5)),
        "year1": str(finished),
        "year2": str(finished + rng.randint(2, 3)),
        "experience": _experience(rng, THIS_YEAR - began),
        "skills": skills[:named],
        **{f"skill{i}": skill for i, skill in enumerate(skills[named : named + 4], 1)},
        **{f"duty{i}": _duty(rng, duty) for i, duty in enumerate(rng.sample(words.duties, 2), 1)},
        "languages": ", ".join(
            rng.sample(("English", "Hindi", "Spanish", "French", "German", "Swahili", "Urdu"), 2)
        ),
        "hobby": " and ".join(rng.sample(words.hobbies, 2)),
        "item": str(rng.randint(1, 12)),
        "is": rng.choice((": ", ": ", " : ", ":\t", " - ", " = ")),
        "sep": rng.choice((" | ", " • ", " · ", ", ", " / ", "; ")),
        "bullet": rng.choice(("- ", "• ", "* ", "+ ", "– ")),
    }


def _role(rng: random.Random, trade: Trade) -> str:
    role = rng.choice(trade.roles)
    ranks = ("{}", "Senior {}", "Junior {}", "Lead {}", "Deputy {}", "Principal {}", "{} II", "{} Intern")
    return rng.choices(ranks, (56, 13, 9, 5, 4, 5, 4, 4))[0].format(role)


def _skills(rng: random.Random, trade: Trade, words: Words) -> list[str]:
    """Twelve skills, most of them from the trade."""
    skills = rng.sample(trade.skills, min(9, len(trade.skills)))
    skills += rng.sample(words.general_skills, 2)
    foreign = sorted({skill for other in words.trades for skill in other.skills} - set(skills))
    skills += rng.sample(foreign, 12 - len(skills))
    rng.shuffle(skills)
    return skills


def _company(rng: random.Random, words: Words) -> str:
    brand, sector, legal = rng.choice(words.brands), rng.choice(SECTORS), rng.choice(LEGAL_FORMS)
    lasts = rng.choice(words.people)[1]
    city = rng.choice(words.cities)[0]
    letters = "".join(rng.sample("ABCDEGHIKLMNOPRSTUVWZ", 3))
    return rng.choice(
        (
            brand,
            f"{brand} {sector}",
            f"{brand} {sector} {legal}",
            f"{brand} {legal}",
            f"{rng.choice(lasts)} {sector}",
            f"{rng.choice(lasts)} & {rng.choice(lasts)}",
            f"{rng.choice(lasts)} {rng.choice(('Brothers', '& Sons', 'and Partners'))} {legal}",
            f"{city} {rng.choice(('General Hospital', 'City Council', 'Savings Bank', 'Airport', 'Water Board'))}",
            f"{rng.choice(('Bank', 'Port', 'Museum', 'City', 'Theatre'))} of {city}",
            f"{letters} {sector}",
            letters,
        )
    )


def _college(rng: random.Random, words: Words) -> str:
    city, last = rng.choice(words.cities)[0], rng.choice(rng.choice(words.people)[1])
    return rng.choice(
        (
            f"University of {city}",
            f"{city} University",
            f"{city} State University",
            f"Technical University of {city}",
            f"{city} Institute of Technology",
            f"{city} College of {rng.choice(('Engineering', 'Commerce', 'Arts', 'Science', 'Education'))}",
            f"{last} College",
            f"{last} Memorial University",
            f"{last} School of {rng.choice(('Business', 'Management', 'Design', 'Medicine', 'Economics'))}",
            f"{city} Polytechnic",
            f"Université de {city}",
            f"National Academy of {city}",
            f"St. {rng.choice(rng.choice(words.people)[0])}'s College",
        )
    )


def _degree(rng: random.Random, trade: Trade) -> str:
    subject = rng.choice(trade.subjects)
    return rng.choice(
        (
            f"B.Sc. in {subject}",
            f"BSc {subject}",
            f"BSc (Hons) {subject}",
            f"Bachelor of Science in {subject}",
            f"Bachelor of Arts, {subject}",
            f"Bachelor's degree in {subject}",
            f"B.A. {subject}",
            f"B.Tech in {subject}",
            f"M.Sc. {subject}",
            f"MSc in {subject}",
            f"Master of Science in {subject}",
            f"Master of {subject}",
            f"M.Tech ({subject})",
            "MBA",
            f"MBA in {subject}",
            f"PhD in {subject}",
            f"Ph.D. {subject}",
            f"Diploma in {subject}",
            f"Associate Degree in {subject}",
            "B.Com",
            f"Postgraduate Certificate in {subject}",
        )
    )


def _experience(rng: random.Random, years: int) -> str:
    """A number of years and its unit; the words around it ("over", "of experience") do not belong to it."""
    unit = "year" if years == 1 else "years"
    small = (
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
    )
    spelled = [f"{number} {unit}" for number in small[years - 1 : years]]
    return rng.choice([f"{years} {unit}", *spelled, f"{years}+ years", f"{years}.5 years", f"{years} yrs"])


def _email(rng: random.Random, first: str, last: str, words: Words) -> str:
    """An address in a domain that nobody can own (RFC 2606)."""
    first, last = _ascii(first), _ascii(last)
    user = rng.choice(
        (
            f"{first}.{last}",
            f"{first[0]}.{last}",
            f"{first}{last}",
            f"{last}.{first}",
            f"{first}_{last}",
            f"{first}{rng.randint(10, 99)}",
            f"{first[0]}{last}{rng.randint(1970, 2003)}",
            f"{last}{rng.randint(1, 9)}",
            f"{first}-{last}",
        )
    )
    ending = rng.choice(("com", "org", "net"))
    word = rng.choice((_ascii(rng.choice(words.brands)), "mail", "post", "inbox", last))
    return f"{user}@{rng.choice((f'example.{ending}', f'{word}.example.{ending}', f'{word}.example'))}"


def _ascii(name: str) -> str:
    """A name as written in addresses: lower-case letters of the English alphabet."""
    plain = unicodedata.normalize("NFKD", name.translate(str.maketrans("łŁøØıß", "lLoOis"))).lower()
    return "".join(letter for letter in plain if letter.isascii() and letter.isalpha())


def _phone(rng: random.Random) -> str:
    """A number from the ranges reserved for films and books."""
    two, three = f"{rng.randint(0, 99):02}", f"{rng.randint(0, 999):03}"
    return rng.choice(
        (
            f"+1 202-555-01{two}",
            f"(415) 555-01{two}",
            f"212.555.01{two}",
            f"+44 20 7946 0{three}",
            f"07700 900{three}",
            f"+33 1 99 00 {two} {two}",
            f"030 23125 {three}",
        )
    )


def _duty(rng: random.Random, duty: str) -> str:
    return duty.format(n=rng.randint(2, 60), y=rng.randint(2008, THIS_YEAR - 1))


# ---------------------------------------------------------------------------------- text


def _written(template: str, facts: dict[str, str | list[str]], rng: random.Random) -> Resume:
    """The template with the facts in it."""
    list_separator = rng.choice((", ", ", ", ",", "; ", " | ", " • ", " · "))
    chosen = [rng.choice(block) if isinstance(block, tuple) else block for block in TEMPLATES[template]]
    lines = [line for line in chosen if line is not None]
    match rng.choices(("as they are", "none", "double"), (60, 20, 20))[0]:
        case "none":
            lines = [line for line in lines if line]
        case "double":
            lines = [line if line else "\n" for line in lines]

    text, entities = "", []
    for literal, field, separator, conversion in Formatter().parse("\n".join(lines)):
        text += literal
        if field is None:
            continue
        value = facts[field]
        for i, item in enumerate([value] if isinstance(value, str) else value):
            text += (separator or list_separator) if i else ""
            item = item.upper() if conversion == "u" else item
            if field in LABEL_OF_FIELD:
                entities.append(Entity(len(text), len(text) + len(item), LABEL_OF_FIELD[field]))
            text += item
    return Resume(text, tuple(entities), template)
