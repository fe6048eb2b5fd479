"""Collects the sentences of labs 07 and 13: the first sentence of docstrings from ten packages of the course's environment.

    .venv/bin/python scripts/collect_documentation.py

writes course_utils/data/documentation.json. The sources are parsed, never imported. Whole modules are drawn, because
the lab splits by module. Run it again only to change the data: other versions of the packages give other sentences.
docs/data-documentation.md says what is taken and what is left out.

There are two parts: what is drawn first is lab 13's default set, too.
"""

from __future__ import annotations

import ast
import json
import random
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

LIBRARIES = {  # the name in the data: the package's folder
    "matplotlib": "matplotlib",
    "networkx": "networkx",
    "numpy": "numpy",
    "scikit-learn": "sklearn",
    "scipy": "scipy",
    "sqlalchemy": "sqlalchemy",
    "sympy": "sympy",
    "tensorflow": "tensorflow",
    "torch": "torch",
    "transformers": "transformers",
}
NAMES = (
    r"matplotlib|pyplot|plt|mpl|networkx|nx|numpy|np|scikit-learn|scikits?|sklearn|scipy|sqlalchemy|sympy|tensorflow"
    r"|tf|keras|pytorch|libtorch|torch|transformers|hugging ?face|hf"
)
MASK = "___"
LEFT_OUT = re.compile(
    r"/(tests?|testing|_vendor|_vendored_packages|externals|third_party|_lib|_pytest)/|/(test_|gen_)|_test\.py"
)
SENTENCES = {"first": 700, "more": 150}  # the parts, and how many sentences of each library
PER_MODULE, WORDS = 30, (5, 30)
ROOT = Path(__file__).parents[1]
TARGET = ROOT / "course_utils" / "data" / "documentation.json"


def first_sentence(docstring: str) -> str:
    """The first sentence of a docstring in plain words, with the names of libraries masked."""
    paragraph = " ".join(re.split(r"\n\s*\n", docstring.strip())[0].split())
    sentence = re.split(r"(?<=[a-z)\]`0-9][.!?]) (?=[A-Z`])", paragraph)[0]
    sentence = re.sub(r":[\w:]+:`~?\.?([^`<]*?)\s*(?:<[^`]*>)?`", r"\1", sentence)  # a role: its text
    sentence = re.sub(r"[`*]+", "", sentence)
    sentence = re.sub(rf"(?<![a-z0-9])({NAMES})(?![a-z0-9])", MASK, sentence, flags=re.IGNORECASE)
    return sentence.strip()


def usable(sentence: str) -> bool:
    """Whether it is a sentence in English, and not a signature, a rule, or a stub."""
    words = sentence.split()
    letters = sum(character.isalpha() or character == " " for character in sentence)
    return (
        WORDS[0] <= len(words) <= WORDS[1]
        and sentence.isascii()
        and letters > 0.8 * len(sentence)
        and sentence[0].isupper()
        and "http" not in sentence
        and not re.search(r">>>|::|\bTODO\b|[Cc]opyright|[Ll]icen[sc]e", sentence)
    )


def modules_of(library: str) -> list[tuple[str, Path]]:
    """(module, file) for each module of a library that is not a test and not somebody else's, in random order."""
    root = Path(find_spec(LIBRARIES[library]).submodule_search_locations[0])
    found = []
    for file in sorted(root.rglob("*.py")):
        relative = file.relative_to(root.parent)
        if not LEFT_OUT.search(f"/{relative}"):
            found.append((".".join(relative.with_suffix("").parts).removesuffix(".__init__"), file))
    random.Random(f"documentation/{library}").shuffle(found)
    return found


def sentences(file: Path) -> Iterator[str]:
    """The usable first sentences of a module's docstrings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(file.read_text("utf-8", errors="replace"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            sentence = first_sentence(ast.get_docstring(node) or "")
            if sentence and usable(sentence):
                yield sentence


def drawn(library: str) -> dict[str, dict[str, list[str]]]:
    """Part -> module -> sentences: modules in random order until there are enough sentences; of a long module, some. None is
    there twice."""
    chance = random.Random(f"sentences/{library}")
    modules = iter(modules_of(library))
    seen: set[str] = set()
    chosen: dict[str, dict[str, list[str]]] = {}
    for part, room in SENTENCES.items():
        chosen[part] = {}
        while room:
            module, file = next(modules, (None, None))
            if file is None:
                raise SystemExit(
                    f"{library} has {room} sentences too few for the part {part!r}. Ask for fewer in SENTENCES."
                )
            new = {sentence.lower(): sentence for sentence in sentences(file) if sentence.lower() not in seen}
            seen.update(new)
            if new:
                chosen[part][module] = chance.sample(list(new.values()), min(len(new), PER_MODULE, room))
                room -= len(chosen[part][module])
    return chosen


def collect() -> dict[str, dict[str, dict[str, list[str]]]]:
    """Part -> library -> module -> sentences, without those that stand in two libraries."""
    found = {library: drawn(library) for library in LIBRARIES}
    times = Counter(
        text.lower()
        for parts in found.values()
        for modules in parts.values()
        for lines in modules.values()
        for text in lines
    )
    data: dict[str, dict[str, dict[str, list[str]]]] = {part: {} for part in SENTENCES}
    for library, parts in found.items():
        for part, modules in parts.items():
            kept = {
                module: [text for text in lines if times[text.lower()] == 1]
                for module, lines in modules.items()
            }
            data[part][library] = {module: lines for module, lines in kept.items() if lines}
    return data


if __name__ == "__main__":
    data = collect()
    TARGET.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", "utf-8")
    for part, libraries in data.items():
        for library, modules in libraries.items():
            count = sum(map(len, modules.values()))
            print(f"{part:5} {library:14} {count:5} sentences in {len(modules):4} modules")
