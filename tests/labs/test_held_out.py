"""Validation chooses, the test set is opened for the result: where labs 07 to 13 name a test set in their code, section by section.

Every section that does so stands in ``USES`` with what it does there, in the lab's order. So a new use, a use that is gone and a use
before the result are found, and so is a second section that compares models on the same test set.
"""

from __future__ import annotations

import ast
import re

import pytest
from project import LABS, ROOT

MADE = "makes the split, or says how large it is"
SPLITS = "compares two splits with one model, and chooses nothing"
UNLEARNED = (
    "asks what has learned nothing: labels counted, a model before its training, a trip there and back"
)
SHOWN = "shows a few texts and what a model writes about them, without a score"
RESULT = "the result: the models that were chosen before, and baselines"
CONTROL = "a control of the result"
READ = "reads single texts or mistakes after the result, or shows that another way gives the same"

BEFORE = {MADE, SPLITS, UNLEARNED, SHOWN}
"""What a lab may do with a test set before its first result."""

# lab -> what its code calls a test set; heading -> (what is done there, with which test set)
USES: dict[str, tuple[set[str], dict[str, tuple[str, str]]]] = {
    "07": (
        {"test"},
        {
            "Exercise 2: `split_by_group`": (MADE, "texts"),
            "The test, once": (RESULT, "texts"),
            "9. Which dance is it? Notes instead of words": (RESULT, "the other book"),
        },
    ),
    "08": (
        {"test"},
        {
            "1. A decoder alone": (MADE, "names"),
            "Exercise 6: `NGramModel`": (RESULT, "names"),
            "One model, many tasks": (READ, "names"),
            "6. A summary is a continuation": (MADE, "news"),
            "Exercise 8: `summary_features`": (SHOWN, "news"),
            "Exercise 9: `rouge_l`": (RESULT, "news"),
        },
    ),
    "09": (
        {"test", "tests", "test_rows", "unseen_templates"},
        {
            "An honest split": (MADE, "layouts"),
            "Sentences that are not résumés": (RESULT, "sentences by hand"),
            "The test, once": (RESULT, "layouts"),
            "15. With a network: news, and a model of full size": (RESULT, "news"),
        },
    ),
    "10": (
        {"test", "tests"},
        {
            "6. The payoff: stories": (RESULT, "stories"),
            "What it gets wrong": (READ, "stories"),
            "7. The payoff: prose": (MADE, "prose"),
            "The test, once": (RESULT, "prose"),
        },
    ),
    "11": (
        {"tests"},
        {
            "The test, once": (RESULT, "stories"),
        },
    ),
    "12": (
        {"test", "tests", "test_pairs"},
        {
            "5. Every task is text": (MADE, "tasks"),
            "6. One model, seven tasks": (RESULT, "tasks"),
            "Does a reason help?": (READ, "tasks"),
            "Find the missing control": (CONTROL, "tasks"),
            "Exercise 7: `as_text`, and exercise 8: `from_text`": (READ, "tasks"),
            "Exercise 10: `select_pairs`": (MADE, "summaries"),
            "The test, once": (RESULT, "summaries"),
        },
    ),
    "13": (
        {"test", "test_rows", "second test"},
        {
            "Exercise 3: `split_by_group`": (MADE, "texts"),
            "Exercise 4: `embed`": (SPLITS, "texts"),
            "Exercise 10: `model_card`": (RESULT, "other texts, a model trained by the library"),
            "8. Entities and questions, from your file to a card": (RESULT, "entities and questions"),
            "The test, once": (RESULT, "texts"),
        },
    ),
}


def named(source: str, names: set[str]) -> list[str]:
    """The headings under which code cells name a test set, each once, in order. The learner's own functions do not count: what is
    called *test* there is an argument."""
    found, heading = [], ""
    for cell in re.split(r"^# %%", source, flags=re.M)[1:]:
        kind, _, body = cell.partition("\n")
        if "[markdown]" in kind:
            headings = re.findall(r"^# #+ (.+?)(?: \(optional\))?$", body, re.M)
            heading = headings[-1] if headings else heading
        elif "### BEGIN SOLUTION" not in body and names.intersection(words(body)):
            found.append(heading)
    return list(dict.fromkeys(found))


def words(code: str) -> set[str]:
    """What may name a test set: variables, attributes and keys."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.Constant(value=str(word)):
                found.add(word)
    return found


@pytest.mark.parametrize("number", USES)
def test_a_test_set_is_named_only_where_this_is_known(number: str):
    lab = next(lab for lab in LABS if lab.startswith(number))
    names, sections = USES[number]
    source = (ROOT / "solutions" / lab / f"{lab}.py").read_text("utf-8")
    assert named(source, names) == list(sections)


@pytest.mark.parametrize("number", USES)
def test_before_its_result_a_test_set_is_only_made_and_then_has_one_result(number: str):
    seen: dict[str, list[str]] = {}
    for what, which in USES[number][1].values():
        seen.setdefault(which, []).append(what)
    for which, uses in seen.items():
        first = uses.index(RESULT)
        early = set(uses[:first]) - BEFORE
        assert not early, f"{which}: {early}"
        assert uses.count(RESULT) == 1, which


def test_a_test_set_that_chooses_is_found():
    cells = (
        '# %% [markdown]\n# ## 1. Choose\n# %%\nbest = max(models, key=lambda one: one.score(data["test"]))\n'
    )
    assert named(cells, {"test"}) == ["1. Choose"]
    own = "# %% [markdown]\n# ## 1. Choose\n# %%\ndef parts(test):\n    ### BEGIN SOLUTION\n    return test\n"
    assert named(own, {"test"}) == []
