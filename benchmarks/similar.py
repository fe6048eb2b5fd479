"""How the search for submissions that are alike grows with the class.

    python benchmarks/similar.py [--lab LAB] [--sizes 75,150,300,600]

In these made-up classes everybody writes every exercise as one of the lab's correct variants, changed in a few places by chance
as the lab's mutants are. So some share much, and all share little. One in thirty copies somebody and gives everything other
names. It prints the CPU seconds to read and to compare, the most memory (MiB, resident), and how many pairs are shown. Its last
number: how many of the copies are among the first pairs, as many as there are copies.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from grader.course import Course
from grader.grade.autograde import submissions
from grader.handout.demo import hand_in, solved
from grader.reference.lab import Lab
from grader.show.similar import Reader, compare

ROOT = Path(__file__).resolve().parents[1]
CHANGES = (
    (r"\+", "-"),
    (r"axis=-1", "axis=1"),
    (r"\b1\b", "2"),
    (r"==", "!="),
    (r"\*", "+"),
    (r"\bnp\.sum\b", "np.mean"),
)


def hand_in_class(lab: Lab, size: int) -> set[tuple[str, str]]:
    """Hands in a class's work. Returns the pairs of original and copy."""
    chance, works, copies = random.Random(size), [], set()
    choices = {found[0].exercise: [entry.source for entry in found] for found in lab.variants.values()}
    for number in range(size):
        if number and number % 30 == 0:
            origin = number - chance.randint(1, 29)
            texts = {name: renamed(text) for name, text in works[origin].items()}
            copies.add((f"s{origin:05}", f"s{number:05}"))
        else:
            texts = {name: changed(chance.choice(found), chance) for name, found in choices.items()}
        works.append(texts)
        hand_in(lab.course, lab, f"s{number:05}", solved(lab, texts))
    return copies


def changed(text: str, chance: random.Random) -> str:
    """The code with about a third of some operators and numbers replaced."""
    for old, new in CHANGES:
        text = re.sub(old, lambda found, new=new: new if chance.random() < 0.3 else found[0], text)
    return text


def renamed(text: str) -> str:
    """The code with other names for what it assigns, and with comments."""
    for name in set(re.findall(r"^\s+(\w+) = ", text, re.MULTILINE)):
        text = re.sub(rf"(?<![.\w]){name}\b(?!=[^=])", f"{name}_of_mine", text)
    return re.sub(r"$", "  # mine", text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lab", default="02_self_attention")
    parser.add_argument("--sizes", default="75,150,300,600")
    arguments = parser.parse_args()
    table = Table(title=arguments.lab, title_justify="left")
    for name in (
        "submissions",
        "read, CPU s",
        "compare, CPU s",
        "ms a submission",
        "MiB",
        "pairs",
        "copies first",
    ):
        table.add_column(name, justify="right")
    for size in map(int, arguments.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            for part in ("solutions", "notebooks"):
                shutil.copytree(ROOT / part / arguments.lab, Path(folder) / part / arguments.lab)
            lab = Lab.load(Course(Path(folder)), arguments.lab)
            copies = hand_in_class(lab, size)
            reader = Reader(lab)
            began = time.process_time()
            works = [work for each in submissions(lab) if (work := reader.read(each))]
            read = time.process_time()
            pairs, _ = compare(works)
            ended = time.process_time()
        first = {(pair.works[0].student, pair.works[1].student) for pair in pairs[: len(copies)]}
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        table.add_row(
            f"{size}",
            f"{read - began:.2f}",
            f"{ended - read:.2f}",
            f"{1000 * (ended - began) / size:.1f}",
            f"{memory:.0f}",
            f"{len(pairs)}",
            f"{len(copies & first)} of {len(copies)}",
        )
    Console(width=None if sys.stdout.isatty() else 110).print(table)


if __name__ == "__main__":
    main()
