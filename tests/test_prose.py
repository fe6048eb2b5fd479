"""Plain English: what learners, instructors and authors read is free of phrases that have to be read twice, and its sentences are short.

A phrase on the list has a plain word in its place, in pages and in what the code says: help, messages, docstrings and comments. Long sentences may
not become more: where one is added, another goes. A message has none.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from project import LABS, ROOT

PHRASES = {
    r"whoever": "the person who, anyone who, those who",
    r"(?<!there )(?:is|are|was|were) (?-i:none)(?! of)": "there is no ..., or say what is missing",
    r"mend(?:s|ed|ing)?": "fix",
    r"(?:is|are) told(?! apart)": "see, learn, is shown",
    r"bears?(?! in mind)": "handle, allow",
    r"as the last time": "same as last time",
    r"once too (?:rarely|often)": "left out once, added once too many times",
    r"pass(?:ed|es) over": "skip",
    r"who is (?:not )?named loses": "a reader you leave out loses",
    r"if that is not seen by itself": "if it is not recognised",
    r"decide[sd]? anew": "change the decision",
    r"through the code only": "in another branch",
}
"""Phrase -> what to say instead."""

IN_CODE = {
    r"^So (?:many|long)": "at most this many, this long",
    r"holds? (?:more than|nothing but|names|too many|NaN|something else|requests|all labs)": "contain",
}
"""The same, for what only code says. The words of a page may have another sense."""

NO_PROSE = ("course_utils/data/", "course_utils/models/reader.py")
"""Texts that labs are made of, and words that belong to a story."""

BOUND = {
    *(
        "course_utils/checking/exercise.py",
        "course_utils/checking/outcome.py",
        "course_utils/checking/checks.py",
    ),
    *("course_utils/checking/rounding.py", "course_utils/cases/reading.py", "grader/author/legal.py"),
}
"""Records of long runs depend on these files, word by word where a text stands after a constant: they are reworded when a run is due."""

LONGEST = 30
"""Words that a sentence may have."""

MESSAGES = {"solutions": 7, "grader": 4, "course_utils": 3, "benchmarks": 1, "deploy": 1}
"""How many texts in code may be longer, or have more passive verbs: programs, lists of words, and messages that labs' records depend on. No docstring may."""

PASSIVES = 2
"""Passive verbs that a sentence may have: in a chain of them nobody does anything."""

_PARTICIPLE = (
    r"\w+ed|known|made|given|shown|seen|done|taken|written|drawn|chosen|told|held|kept|found|read|put|set|built|run|begun|broken|sent|left|lost"
    r"|meant|paid|cut|hidden|split|thrown|understood|bought|caught|taught|learnt|led"
)
PASSIVE = re.compile(
    rf"\b(?:is|are|was|were|be|been|being)\s+(?:\w+ly\s+|not\s+|also\s+|never\s+|then\s+|only\s+)*(?:{_PARTICIPLE})\b"
)

EASY = 60
"""Reading ease by Flesch's formula, from 0 to 100: 60 is plain English (Flesch 1948)."""

PAGES = sorted(
    page
    for folder in (ROOT, ROOT / "docs", ROOT / "deploy/jupyterhub", *(ROOT / "solutions").glob("[0-9]*"))
    for page in folder.glob("*.md")
)


def _of_notebook(source: str) -> str:
    """The Markdown cells of a lab's source."""
    cells = re.split(r"^# %%", source, flags=re.MULTILINE)
    texts = (cell.splitlines()[1:] for cell in cells if cell.lstrip().startswith("[markdown]"))
    return "\n\n".join("\n".join(line[2:] for line in lines if line.startswith("#")) for lines in texts)


def _plain(markdown: str) -> str:
    """Markdown without code, formulas, tables, comments and addresses."""
    for pattern, instead in (
        (r"```.*?```|<!--.*?-->|\$\$.*?\$\$", " "),
        (r"^(?: {4}|\t|\||#).*$", ""),
        (r"<[^>\n]+>", " "),
        (r"!\[[^\]]*\]\([^)]*\)", " "),
        (r"\[([^\]]*)\]\([^)]*\)", r"\1"),
        (r"`[^`\n]*`|\$[^$\n]*\$", "Code"),
    ):
        markdown = re.sub(pattern, instead, markdown, flags=re.DOTALL if ".*?" in pattern else re.MULTILINE)
    return markdown


def _sentences(markdown: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+[.)])\s", _plain(markdown)):
        for sentence in re.split(r"(?<=[.!?:])\**\s+(?=[A-Z*\"(])", " ".join(block.split())):
            if re.search("[a-z]", sentence):
                yield sentence


def _syllables(word: str) -> int:
    groups = len(re.findall("[aeiouy]+", word.lower()))
    silent = word.lower().endswith("e") and not word.lower().endswith("le") and groups > 1
    return max(groups - silent, 1)


def reading_ease(sentences: list[str]) -> float:
    """Flesch's formula: 100 is very easy, 0 very hard."""
    words = [word for sentence in sentences for word in re.findall(r"[A-Za-z][\w'’-]*", sentence)]
    return 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * sum(map(_syllables, words)) / len(words)


def _text(place: Path) -> str:
    text = place.read_text("utf-8")
    return _of_notebook(text) if place.suffix == ".py" else text


TEXTS = [*PAGES, *(ROOT / "solutions" / name / f"{name}.py" for name in LABS)]


@pytest.mark.parametrize("place", TEXTS, ids=lambda place: str(place.relative_to(ROOT)))
def test_no_phrase_has_to_be_read_twice(place):
    text = _plain(_text(place))
    found = [
        f"{match[0]!r} in ...{' '.join(text[max(0, match.start() - 50) : match.end() + 30].split())}... ({instead})"
        for phrase, instead in PHRASES.items()
        for match in re.finditer(rf"\b{phrase}\b", text, re.IGNORECASE)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("place", TEXTS, ids=lambda place: str(place.relative_to(ROOT)))
def test_no_sentence_is_a_chain_of_passives(place):
    chains = [sentence for sentence in _sentences(_text(place)) if len(PASSIVE.findall(sentence)) > PASSIVES]
    assert not chains, "\n".join(chains)


FOLDERS = ("grader", "course_utils", "solutions", "deploy", "scripts", "benchmarks")


@cache
def _code(folder: str) -> dict[str, ast.Module]:
    """The Python files of a folder that are prose in part. The notebooks' sources are looked at as pages."""
    return {
        name: ast.parse(file.read_text("utf-8"))
        for file in sorted((ROOT / folder).rglob("*.py"))
        if not (name := file.relative_to(ROOT).as_posix()).startswith(NO_PROSE) and file.stem not in LABS
    }


def _said(tree: ast.Module) -> Iterator[tuple[int, str, bool]]:
    """Every text of a Python file, with its line and whether it stands alone, as docstrings do. In a text that is put together, a word stands for
    each part that only running the code gives.
    """
    alone, parts = set(), set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant() as text):
                alone.add(text)
            case ast.JoinedStr():
                parts |= {*ast.walk(node)} - {node}
                words = (each.value if isinstance(each, ast.Constant) else "Code" for each in node.values)
                yield node.lineno, "".join(words), False
            case ast.Constant(value=str(text)) if node not in parts:
                yield node.lineno, text, node in alone


COPIED = "exercises.py"
"""What builds copy beside the notebooks: its comments are reworded when the lab is built for another reason."""


def _comments(file: Path) -> Iterator[tuple[int, str]]:
    if file.name == COPIED:
        return
    with file.open("rb") as opened:
        for token in tokenize.tokenize(opened.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string.lstrip("# ")


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_text_in_the_code_has_to_be_read_twice(folder):
    found = []
    for name, tree in _code(folder).items():
        texts = [*_comments(ROOT / name)]
        if name not in BOUND:
            texts += [(line, text) for line, text, _ in _said(tree)]
        found += [
            f"{name}:{line}: {match[0]!r} ({instead})"
            for line, text in texts
            for phrase, instead in (PHRASES | IN_CODE).items()
            for match in re.finditer(rf"(?<!\w){phrase}\b", text, re.IGNORECASE)
        ]
    assert not found, "\n".join(found)


def _sentences_of_code(text: str) -> Iterator[str]:
    """The sentences of a docstring or message: each argument, attribute and error is told for itself."""
    text = re.sub(r"^ *(?:\.venv/bin/|grader |make |--\w).*$", "\n", text, flags=re.MULTILINE)  # commands
    text = re.sub(r"\n\s*(?=\w[\w, *`.|]*: |>>> |\.\.\. )", "\n\n", text)
    return _sentences("\n".join(line.strip() for line in text.split("\n")))


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_the_code_says_is_short(folder):
    long: dict[bool, list[str]] = {True: [], False: []}
    for name, tree in _code(folder).items():
        for line, text, alone in _said(tree):
            long[alone] += [
                f"{name}:{line}: {sentence}"
                for sentence in _sentences_of_code(text)
                if len(sentence.split()) > LONGEST or len(PASSIVE.findall(sentence)) > PASSIVES
            ]
    assert len(long[False]) <= MESSAGES.get(folder, 0), "\n".join(long[False])
    assert not long[True], "\n".join(long[True])


@pytest.mark.parametrize("place", TEXTS, ids=lambda place: str(place.relative_to(ROOT)))
def test_sentences_are_short_and_easy_to_read(place):
    sentences = list(_sentences(_text(place)))
    long = [sentence for sentence in sentences if len(sentence.split()) > LONGEST]
    assert not long, "\n".join(long)
    if len(sentences) >= 20:
        assert reading_ease(sentences) >= EASY
