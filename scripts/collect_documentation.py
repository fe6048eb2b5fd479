"""Collects lab 07's sentences: the first sentence of docstrings from ten packages of the course's environment.

    .venv/bin/python scripts/collect_documentation.py

writes course_utils/data/documentation.json. The sources are parsed, never imported. Whole modules are drawn, because
the lab splits by module. Run it again only to change the data: other versions of the packages give other sentences.
docs/data-documentation.md says what is taken and what is left out.
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
SENTENCES, PER_MODULE, WORDS = 700, 30, (5, 30)
TARGET = Path(__file__).parents[1] / "course_utils" / "data" / "documentation.json"


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


def drawn(library: str) -> dict[str, list[str]]:
    """Modules in random order until there are enough sentences; of a long module, some. None is there twice."""
    chance = random.Random(f"sentences/{library}")
    chosen: dict[str, list[str]] = {}
    seen: set[str] = set()
    for module, file in modules_of(library):
        room = SENTENCES - sum(map(len, chosen.values()))
        if room <= 0:
            break
        new = {sentence.lower(): sentence for sentence in sentences(file) if sentence.lower() not in seen}
        seen.update(new)
        if new:
            chosen[module] = chance.sample(list(new.values()), min(len(new), PER_MODULE, room))
    return chosen


def collect() -> dict[str, dict[str, list[str]]]:
    """Library -> module -> sentences, without those that stand in two libraries."""
    found = {library: drawn(library) for library in LIBRARIES}
    libraries_of = Counter(
        text.lower() for modules in found.values() for lines in modules.values() for text in lines
    )
    data = {}
    for library, modules in found.items():
        kept = {
            module: [text for text in lines if libraries_of[text.lower()] == 1]
            for module, lines in modules.items()
        }
        data[library] = {module: lines for module, lines in sorted(kept.items()) if lines}
    return data


if __name__ == "__main__":
    data = collect()
    TARGET.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", "utf-8")
    for library, modules in data.items():
        print(f"{library:14} {sum(map(len, modules.values())):5} sentences in {len(modules):4} modules")
