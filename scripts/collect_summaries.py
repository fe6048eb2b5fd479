"""Collects the real summaries of lab 12: what a docstring says at length, and the one line above it, from eleven packages.

    .venv/bin/python scripts/collect_summaries.py

writes course_utils/data/summaries.json. The sources are parsed, never imported. Run it again only to change the data. Other
versions of the packages give other texts, and SmolLM2 has to write about them anew. docs/data-text-to-text.md says what is
taken and what is left out.
"""

from __future__ import annotations

import ast
import inspect
import json
import random
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from collect_documentation import LEFT_OUT

PACKAGES = {  # the name in the data: the package's folder
    "keras": "keras",
    "matplotlib": "matplotlib",
    "networkx": "networkx",
    "numpy": "numpy",
    "pandas": "pandas",
    "scikit-learn": "sklearn",
    "scipy": "scipy",
    "sqlalchemy": "sqlalchemy",
    "sympy": "sympy",
    "torch": "torch",
    "transformers": "transformers",
}
WHOLE = ("networkx", "sqlalchemy")  # no pair of these is for training: half of the test
FOR_TRAINING, HELD_OUT = 110, {"test": 150, "development": 300}
PER_MODULE = 10
SUMMARY_WORDS, TEXT_WORDS = (4, 30), (25, 90)
ROOT = Path(__file__).parents[1]
TARGET = ROOT / "course_utils" / "data" / "summaries.json"

HEADING = re.compile(
    r"^(?:Args?|Arguments|Parameters|Returns?|Raises|Yields|Examples?|Notes?|References|See Also|Attributes|Shape|Inputs?"
    r"|Warnings?|Call arguments|Usage|Explanation|Keyword [A-Za-z]+)\b[^.]{0,20}(?::|\n[-=~]{3,}|$)|^:\w+|^\.\. "
)
CODE = re.compile(r">>>|::|\\|\$|http|[{}=<>|]|\^|___|---|===|\bTODO\b|[Dd]eprecated")


def plain(paragraph: str) -> str:
    """A paragraph in one line, with the text of roles and without back quotes and stars."""
    text = " ".join(paragraph.split())
    text = re.sub(r":[\w:]+:`~?\.?([^`<]*?)\s*(?:<[^`]*>)?`", r"\1", text)
    return re.sub(r"[`*]+", "", text).strip()


def cut(text: str, most: int) -> str:
    """The first sentences of a text, as many as fit into ``most`` words."""
    kept, words = [], 0
    for sentence in re.split(r"(?<=[a-z0-9)\]][.!?]) (?=[A-Z])", text):
        words += len(sentence.split())
        if words > most:
            break
        kept.append(sentence)
    return " ".join(kept)


def described(name: str, documentation: str) -> tuple[str, str] | None:
    """The description and the summary of a docstring; None where one of them is not prose, or too short."""
    parts = re.split(r"\n\s*\n", inspect.cleandoc(documentation))
    if parts[0].startswith(f"{name}("):
        del parts[0]  # the signature
    if not parts:
        return None
    summary, prose = plain(parts[0]), []
    for part in parts[1:]:
        if HEADING.search(part.strip()):
            break
        if re.match(r"\s|[-*\d]", part) or CODE.search(plain(part)):  # a list, a table, a formula, code
            continue
        whole = re.split(r"\n\s*(?:Args|Arguments|Parameters|Returns|Raises)\b[^\n.]{0,9}\n", part)
        if not whole[0].rstrip().endswith(":"):  # what follows is a list
            prose.append(plain(whole[0]))
        if len(whole) > 1:
            break
    text = cut(" ".join(prose), TEXT_WORDS[1])
    fits = SUMMARY_WORDS[0] <= len(summary.split()) <= SUMMARY_WORDS[1] and len(text.split()) >= TEXT_WORDS[0]
    if not fits or not (summary + text).isascii() or CODE.search(summary):
        return None
    if not summary.endswith(".") or re.search(r"[a-z]\. [A-Z]", summary) or summary in text:
        return None  # two sentences, or none
    return text, summary


def public(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The name and the docstring of each public function, class and method."""
    for node in ast.iter_child_nodes(tree):
        defined = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if defined and not node.name.startswith("_"):
            yield node.name, ast.get_docstring(node, clean=False) or ""
            if isinstance(node, ast.ClassDef):
                yield from public(node)


def pairs_of(folder: str) -> Iterator[dict[str, str]]:
    """All pairs of a package, module by module."""
    root = Path(find_spec(folder).submodule_search_locations[0])
    for file in sorted(root.rglob("*.py")):
        relative = file.relative_to(root.parent)
        if LEFT_OUT.search(f"/{relative}"):
            continue
        module = ".".join(relative.with_suffix("").parts).removesuffix(".__init__")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(file.read_text("utf-8", errors="replace"))
        for name, documentation in public(tree):
            found = described(name, documentation)
            if found:
                yield {"module": module, "name": name, "text": found[0], "summary": found[1]}


def collect() -> dict[str, object]:
    """The modules that are held out, by part, and all pairs. Of a long module there are some."""
    chance = random.Random("summaries")
    modules: dict[str, list[dict[str, str]]] = {}
    for folder in PACKAGES.values():
        for pair in pairs_of(folder):
            modules.setdefault(pair["module"], []).append(pair)
    for name, pairs in modules.items():
        modules[name] = chance.sample(pairs, min(len(pairs), PER_MODULE))
    names = list(modules)
    chance.shuffle(names)
    whole = [PACKAGES[name] for name in WHOLE]
    held: dict[str, list[str]] = {"test": list(whole), "development": []}
    left = dict(HELD_OUT)
    kept: list[dict[str, str]] = []
    room = {
        package: HELD_OUT["test"] // len(whole) if package in whole else FOR_TRAINING
        for package in PACKAGES.values()
    }
    for name in names:
        package = name.partition(".")[0]
        part = None if package in whole else next((part for part in left if left[part] > 0), None)
        pairs = modules[name]
        if part:
            held[part].append(name)
            pairs = pairs[: left[part]]
            left[part] -= len(pairs)
        else:
            pairs = pairs[: room[package]]
            room[package] -= len(pairs)
        kept += pairs
    return {
        "held out": {part: sorted(these) for part, these in held.items()},
        "pairs": sorted(kept, key=lambda pair: (pair["module"], pair["name"])),
    }


if __name__ == "__main__":
    data = collect()
    TARGET.write_text(json.dumps(data, indent=0) + "\n", "utf-8")
    print(f"{TARGET.stat().st_size:,} bytes")
    for package, count in Counter(pair["module"].partition(".")[0] for pair in data["pairs"]).items():
        print(f"{package:14} {count:5} pairs")
