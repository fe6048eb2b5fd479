"""What the build adds to every lab, so that no author has to. It is a sentence about language models on the first page, and a closing part with
questions about the learner's own code and a package of it.
"""

from __future__ import annotations

from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

import grader

POLICY = Path(grader.__file__).parent / "handout" / "for_assistants.md"
"""The course's policy on language models, which learners get as ``AGENTS.md``."""

POLICY_HEADING = "## On the first page of every lab"
"""In the policy: the paragraph below this heading stands on every first page. Without the heading, no page has one."""

CLOSING_HEADING = "## What you built is yours"

_BEFORE = "## Going further"

_CLOSING = """\
{heading}

Two buttons, and nothing here is graded. The first asks about *your* code: what would change if one line were different? It finds the answers
by running your code with that change. The second makes a package of everything that you have solved in this course so far, with its tests. Save
this notebook before you press it."""

_QUESTIONS = """\
from course_utils import practice

practice("{slug}", button=True)"""

_PACKAGE = """\
from course_utils import portfolio

portfolio.button()"""


def policy_sentence(policy: Path = POLICY) -> str:
    """What the first page of every lab says about language models; empty if the policy has no such part."""
    _, _, rest = policy.read_text("utf-8").partition(f"{POLICY_HEADING}\n")
    return " ".join(rest.partition("\n## ")[0].split())


def add_parts(notebook: NotebookNode, slug: str, tags: list[str]) -> None:
    """Adds the sentence and the closing part to a lab, in place.

    Args:
        slug: the lab's name without its number.
        tags: of the cells of the closing part, which grading must not run.
    """
    if sentence := policy_sentence():
        notebook.cells[0].source += f"\n\n{sentence}"
    places = [place for place, cell in enumerate(notebook.cells) if cell.source.startswith(_BEFORE)]
    if not places:  # the build refuses a lab without this section
        return
    notebook.cells[places[0] : places[0]] = [
        new_markdown_cell(_CLOSING.format(heading=CLOSING_HEADING)),
        *(
            new_code_cell(source, metadata={"tags": list(tags)})
            for source in (_QUESTIONS.format(slug=slug), _PACKAGE)
        ),
    ]
