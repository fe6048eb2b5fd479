"""The README.md of the package: what it can do, what is in it and whose, and what is missing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from course_utils import progress
from course_utils.portfolio.figures import Figure
from course_utils.portfolio.homes import PACKAGE, may_publish
from course_utils.portfolio.modules import Module
from course_utils.portfolio.pieces import Work
from course_utils.portfolio_commands import COMMANDS, shell_words


def readme_text(
    work: Work,
    made: Mapping[str, Module],
    commands: Mapping[str, Mapping],
    licence: str,
    figures: Sequence[Figure] = (),
) -> str:
    """The text of README.md.

    Args:
        made: the modules by name.
        commands: see :func:`~course_utils.portfolio.texts.commands_of`.
        licence: one of ``LICENCES``.
        figures: the pictures to show, which lie in the folder ``figures``.
    """
    scores = progress.load()
    lines = [
        *_head(work),
        *_what_it_can_do(work, commands),
        *_what_it_shows(figures),
        *_what_is_in_it(made, scores),
        *_whose_it_is(made),
        *_what_is_missing(work, scores),
        *_tests_and_licence(licence),
    ]
    return "\n".join(lines)


def _head(work: Work) -> list[str]:
    count = sum(len(lab.exercises) for lab in work.labs)
    lines = ["# My Transformer", ""]
    if not may_publish():
        lines += [
            "> **Please do not publish this folder.** My instructors ask for that, because it has answers to exercises "
            "that others still have before them. Keep it to yourself, or in a private repository.",
            "",
        ]
    lines += [
        f"I wrote this code in the course Transformer labs: {len(work.pieces)} of its {count} exercises, each of which passes the course's "
        "check. Signatures and docstrings came with the exercises, and so did the lines of a function that were not left to write.",
        "",
    ]
    return lines


def _what_it_can_do(work: Work, commands: Mapping[str, Mapping]) -> list[str]:
    lines = ["## What it can do", ""]
    for name, whose in commands.items():
        example = shell_words(COMMANDS[name].example)
        lines += [f"    python -m {PACKAGE} {name} {example}", ""]
        lines += [
            f"{_sentence(COMMANDS[name].says)}. Mine: {', '.join(whose['yours'])}. "
            + (
                f"The course's: {', '.join(f'`{each}`' for each in whose['course'])}, and what loads the weights."
                if whose["course"]
                else "The course's: what loads the weights."
            ),
            "",
        ]
    for name in COMMANDS:
        if name not in commands:
            lacking = [key.partition(".")[2] for key in COMMANDS[name].needs if key not in work.pieces]
            lines += [
                f"Not yet: `{name}`, which {COMMANDS[name].says}. It needs {', '.join(f'`{each}`' for each in lacking)}.",
                "",
            ]
    lines += [
        "The weights are the course's and come with its package, so these commands run in the course's environment.",
        "",
    ]
    return lines


def _what_it_shows(figures: Sequence[Figure]) -> list[str]:
    lines = (
        ["## What it shows", "", "From my notebooks, as they were when I saved them:", ""] if figures else []
    )
    for figure in figures:
        alt = re.sub(r"([\\[\]])", r"\\\1", figure.alt)
        lines += [f"![{alt}](figures/{figure.file})", "", f"Lab {figure.lab.number}, {figure.lab.title}", ""]
    return lines


def _what_is_in_it(made: Mapping[str, Module], scores: Mapping[str, Mapping]) -> list[str]:
    lines = [
        "## What is in it",
        "",
        "| module | what I wrote | lab | solved with |",
        "|---|---|---|---|",
    ]
    for module in made.values():
        names = ", ".join(f"`{key.partition('.')[2]}`" for key in module.keys)
        tries = sum(scores.get(key, {}).get("attempts", 0) for key in module.keys)
        solved = f"{tries} {'attempt' if tries == 1 else 'attempts'}" if tries else ""
        lines.append(
            f"| `{PACKAGE}.{module.name}` | {names} | {module.lab.number} {module.lab.title} | {solved} |"
        )
    helpers = [
        f"`{name}` in `{PACKAGE}.{module.name}`" for module in made.values() for name in module.helpers
    ]
    if helpers:
        lines += [
            "",
            f"Helpers from the same notebooks, mine or the course's, which no check tries on their own: {', '.join(helpers)}.",
        ]
    return lines


def _whose_it_is(made: Mapping[str, Module]) -> list[str]:
    lines: list[str] = []
    course = sorted({each for module in made.values() for each in module.course})
    if course:
        lines += [
            "",
            "## What is the course's",
            "",
            "These are imported from the course's package and marked `# the course's` where they are:",
            "",
            *(f"- `{each}`" for each in course),
            "",
            "So are `tests/`, `__main__.py`, and all weights. The course does not publish its package on PyPI, so pip cannot install it from there: "
            "modules that import it run in the course's environment.",
        ]
    own = {f"`{name}` in `{PACKAGE}.{module.name}`" for module in made.values() for name in module.own}
    if own:
        lines += [
            "",
            f"Where the labs import the course's version of something I had built, this package uses mine: {', '.join(sorted(own))}.",
        ]
    return lines


def _what_is_missing(work: Work, scores: Mapping[str, Mapping]) -> list[str]:
    lines: list[str] = []
    if work.missing:
        lines += ["", "## What is missing", "", "| exercise | lab | why | best score |", "|---|---|---|---|"]
        for lab in work.labs:
            for key in (
                f"{lab.slug}.{name}" for name in lab.exercises if f"{lab.slug}.{name}" in work.missing
            ):
                best = scores.get(key, {}).get("best")
                score = "" if best is None else f"{int(100 * best)} %"
                why = work.missing[key].replace("|", r"\|").replace("\n", " ")
                lines.append(f"| `{key.partition('.')[2]}` | {lab.number} {lab.title} | {why} | {score} |")
    return lines


def _tests_and_licence(licence: str) -> list[str]:
    return [
        "",
        "## Tests",
        "",
        "    pip install --no-deps .",
        "    pytest",
        "",
        "They are the course's checks, at the seed that learners see: the same cases, properties and expected arrays as in the notebooks.",
        "",
        "## Licence",
        "",
        "None yet: without one, others may read this code but not use it."
        if licence == "none"
        else f"{licence}, see `LICENSE`.",
        "Signatures, docstrings, given lines and tests are the course's, under the terms in `LICENSE-course`.",
        "",
    ]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
