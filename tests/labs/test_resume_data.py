"""The made-up résumés: every entity is exactly where it is said to be, and held-out words and layouts are held out."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections import Counter
from itertools import combinations, pairwise
from string import Formatter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_utils.data import resumes
from course_utils.data.entities import Entity, EntityExample
from course_utils.data.resume_templates import TEMPLATES
from course_utils.data.resume_words import words
from course_utils.data.resumes import (
    DEVELOPMENT,
    HELD_OUT,
    LABEL_OF_FIELD,
    LABELS,
    annotated_by_hand,
    make_resumes,
    resume_splits,
)

seeds = st.integers(0, 10**6)
any_template = st.sampled_from(sorted(TEMPLATES))


@st.composite
def any_resume(draw):
    return make_resumes(1, draw(seeds), templates=[draw(any_template)], reserved=draw(st.booleans()))[0]


@pytest.fixture(scope="module")
def splits():
    return resume_splits(development=DEVELOPMENT)


def values(examples, *labels: str) -> set[str]:
    return {
        example.text[e.start : e.end] for example in examples for e in example.entities if e.label in labels
    }


# ---------------------------------------------------------------------------------- exact places


@settings(deadline=None)
@given(seeds, any_template, st.booleans())
def test_the_text_at_each_entity_is_what_the_generator_wrote_there(seed, template, reserved):
    rng = random.Random(seed)
    facts = resumes._facts(rng, words(reserved=reserved))
    resume = resumes._written(template, facts, rng)
    written = {label: set() for label in LABELS}
    for field, label in LABEL_OF_FIELD.items():
        value = facts[field]
        written[label] |= {text.upper() for text in ([value] if isinstance(value, str) else value)}
    assert resume.entities
    for start, end, label in resume.entities:
        assert resume.text[start:end].upper() in written[label]


@settings(deadline=None)
@given(any_resume())
def test_entities_stand_in_order_and_apart_and_begin_and_end_where_words_do(resume):
    assert all(first.end <= second.start for first, second in pairwise(resume.entities))
    for start, end, _ in resume.entities:
        assert resume.text[start:end] == resume.text[start:end].strip() != ""
        assert not (resume.text[:start][-1:].isalnum() and resume.text[start].isalnum())
        assert not (resume.text[end - 1].isalnum() and resume.text[end:][:1].isalnum())


@settings(deadline=None)
@given(any_resume())
def test_a_name_is_marked_every_time_it_is_written(resume):
    marked = {(e.start, e.end) for e in resume.entities if e.label == "Name"}
    assert marked
    for name in values([resume], "Name"):
        assert {place.span() for place in re.finditer(rf"\b{re.escape(name)}(?!\w)", resume.text)} <= marked


def test_the_same_arguments_make_the_same_resumes_and_another_seed_makes_others():
    assert make_resumes(8, 3) == make_resumes(20, 3)[:8]
    assert not set(make_resumes(8, 3)) & set(make_resumes(8, 4))


def test_importing_the_data_loads_neither_a_framework_nor_faker():
    modules = "course_utils, course_utils.data.resumes, course_utils.data.entities, course_utils.models.keras_encoder"
    heavy = "{'torch', 'tensorflow', 'keras', 'transformers', 'faker'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", f"import sys, {modules}; sys.exit(bool({heavy}))"])
    assert done.returncode == 0


def test_the_resumes_have_what_makes_real_ones_hard(splits):
    everything = [resume for part in vars(splits).values() for resume in part]
    labels = Counter(e.label for resume in everything for e in resume.entities)
    assert set(labels) == set(LABELS)
    assert min(labels.values()) > 500
    assert sum(resume.text.count("\n") >= 4 for resume in everything) > 0.9 * len(everything)
    assert any(re.search(r"\w[,/;]\w", resume.text) for resume in everything)  # punctuation stuck to words
    skills = values(everything, "Skills")
    assert sum(" " in skill for skill in skills) > len(skills) / 2
    repeated = [resume for resume in everything if Counter(e.label for e in resume.entities)["Name"] > 1]
    assert len(repeated) > 0.1 * len(everything)
    # A search for an entity's text would find another place first: a city within a college's name, for example.
    astray = [
        r for r in everything if any(r.text.find(r.text[e.start : e.end]) != e.start for e in r.entities)
    ]
    assert len(astray) > 0.3 * len(everything)


def test_no_address_and_no_number_can_belong_to_anybody(splits):
    everything = [resume for part in vars(splits).values() for resume in part]
    reserved = re.compile(r"@([\w-]+\.)*(example|example\.(com|net|org))$")
    assert all(reserved.search(address) for address in values(everything, "Email"))
    for resume in everything:
        assert "@gmail" not in resume.text


# ---------------------------------------------------------------------------------- splits


def test_no_text_and_no_person_is_in_two_sets(splits):
    parts = list(vars(splits).values())
    assert len({resume.text for part in parts for resume in part}) == sum(map(len, parts))
    for one, other in combinations(parts, 2):
        assert len(values(one, "Email") & values(other, "Email")) <= 0.02 * len(
            one
        )  # common names meet by chance


def test_held_out_templates_are_in_one_set_only(splits):
    assert {resume.template for resume in splits.unseen_templates} == set(HELD_OUT)
    assert {resume.template for resume in splits.development} == set(DEVELOPMENT)
    for part in (splits.train, splits.validation, splits.unseen_documents):
        assert {resume.template for resume in part} == set(TEMPLATES) - {*HELD_OUT, *DEVELOPMENT}
    assert not resume_splits(train=1).development


def test_people_employers_colleges_and_places_of_unseen_documents_occur_in_no_training_text(splits):
    for label in ("Name", "Companies worked at", "College", "Location", "Email"):
        for part in (splits.unseen_documents, splits.development, splits.unseen_templates):
            found = values(part, label)
            new = found - values(splits.train + splits.validation, label)
            # Some companies are but three letters, which two people may draw.
            assert len(new) > (0.85 if label == "Companies worked at" else 0.99) * len(found), label
    assert not values(splits.unseen_documents, "Skills") & values(splits.train, "Skills")


@pytest.mark.parametrize("held_out", [(), tuple(TEMPLATES), ("no such template",)])
def test_a_split_that_leaves_a_side_empty_is_refused_with_the_names_there_are(held_out):
    with pytest.raises(ValueError, match="classic, form"):
        resume_splits(held_out=held_out)
    with pytest.raises(ValueError, match="classic, form"):
        resume_splits(development=held_out or HELD_OUT[:1])


def test_no_two_templates_have_a_line_in_common_but_for_lone_fields_and_headings_of_a_word():
    def lines(template):
        """Every line with a number's fields made equal: "{role}, {company} ({dates})"."""
        texts = [text or "" for block in template for text in ([block] if isinstance(block, str) else block)]
        plain = (
            literal + (f"{{{field.rstrip('1234')}}}" if field else "")
            for literal, field, *_ in Formatter().parse("\n".join(texts))
        )
        return {line.casefold() for line in "".join(plain).split("\n") if len(re.findall(r"\w+", line)) > 1}

    assert len(TEMPLATES) >= 12
    assert len(HELD_OUT) >= 4
    for one, other in combinations(TEMPLATES, 2):
        assert not lines(TEMPLATES[one]) & lines(TEMPLATES[other]), (one, other)


# ---------------------------------------------------------------------------------- annotation by hand


def cleaned(example: EntityExample) -> tuple[Entity, ...]:
    """The documented rule: trim, drop what is empty, and of spans that overlap keep the longest, then the first."""
    trimmed = []
    for start, end, label in example.entities:
        while start < end and example.text[start].isspace():
            start += 1
        while start < end and example.text[end - 1].isspace():
            end -= 1
        if start < end:
            trimmed.append(Entity(start, end, label))
    kept: list[Entity] = []
    for span in sorted(trimmed, key=lambda span: (span.start - span.end, span.start)):
        if not any(span.start < other.end and other.start < span.end for other in kept):
            kept.append(span)
    return tuple(sorted(kept))


@settings(deadline=None)
@given(any_resume(), seeds)
def test_cleaning_leads_back_from_annotation_by_hand_to_the_truth(resume, seed):
    assert cleaned(annotated_by_hand(resume, seed)) == resume.entities


def test_annotation_by_hand_has_every_fault_that_is_to_be_cleaned(splits):
    marked = [annotated_by_hand(resume) for resume in splits.train]
    spans = [(example.text[e.start : e.end], e) for example in marked for e in example.entities]
    assert sum(text != text.strip() for text, _ in spans) > 0.1 * len(spans)
    assert sum(not text.strip() for text, _ in spans) > 50
    assert sum(len(set(e.entities)) < len(e.entities) for e in marked) > 50
    overlaps = Counter(
        one.label == other.label
        for example in marked
        for one, other in combinations(example.entities, 2)
        if one.start < other.end and other.start < one.end
    )
    assert overlaps[True] > 100
    assert overlaps[False] > 100
    assert annotated_by_hand(splits.train[0]) == annotated_by_hand(splits.train[0])


@pytest.mark.slow
def test_every_process_makes_the_same_resumes():
    code = "import hashlib; from course_utils.data.resumes import resume_splits as s; print(hashlib.md5(repr(s()).encode()).hexdigest())"
    made = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(made) == 1 and made != {""}
