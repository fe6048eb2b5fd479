"""Writes the sentences whose labels learners hand in, and the labels, which only instructors have.

The sentences are from modules that documentation.json does not draw on, in six of its libraries: its first part is drawn
before them, and the rest of it passes them over. They are masked and
chosen as scripts/collect_documentation.py does it. Learners get course_utils/data/unlabelled.json, the sentences in
random order. The labels stay here, in hidden.json, and so does the module of each sentence.

    .venv/bin/python solutions/12_your_own_dataset/collect_unlabelled.py
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from collect_documentation import modules_of, sentences

from course_utils.data.documentation import load_documentation
from course_utils.data.own import LIBRARIES

EACH, PER_MODULE = 50, 6


def drawn(library: str, known_modules: set[str], known_texts: set[str]) -> list[tuple[str, str]]:
    """(sentence, module) from modules that nobody has seen, at most a few of each."""
    chance = random.Random(f"unlabelled/{library}")
    found: list[tuple[str, str]] = []
    for module, file in modules_of(library):
        if module in known_modules:
            continue
        new = sorted({text for text in sentences(file) if text.lower() not in known_texts})
        chosen = chance.sample(new, min(len(new), PER_MODULE, EACH - len(found)))
        known_texts |= {text.lower() for text in chosen}
        found += [(text, module) for text in chosen]
        if len(found) == EACH:
            break
    return found


def main() -> None:
    documented = load_documentation(first_part=True)
    modules, texts = {one.module for one in documented}, {one.text.lower() for one in documented}
    rows = [(*row, library) for library in LIBRARIES for row in drawn(library, modules, texts)]
    random.Random("unlabelled").shuffle(rows)
    target = ROOT / "course_utils/data/unlabelled.json"
    target.write_text(json.dumps([text for text, _, _ in rows], indent=1) + "\n", "utf-8")
    hidden = {"label": [library for _, _, library in rows], "module": [module for _, module, _ in rows]}
    Path(__file__).with_name("hidden.json").write_text(json.dumps(hidden, indent=1) + "\n", "utf-8")
    for library in LIBRARIES:
        print(f"{library:14} {sum(row[2] == library for row in rows):4} sentences")


if __name__ == "__main__":
    main()
