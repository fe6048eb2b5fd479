"""How everything around grading grows with the class: collect, feedback, reports and exports, in time, memory and disk.

``make bench-class`` prints the table; ``--help`` lists what can be changed. A few submissions are really graded; the class is made of copies
of them, each with its own first line, in the gradebook under its own name. Then each command runs as a user would run it.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import nbformat
from grading import LAB, Run, command, new_course
from nbformat import NotebookNode
from rich.console import Console
from rich.table import Table

from grader.book.gradebook import Gradebook
from grader.book.points import points_in
from grader.files import TIMESTAMP
from grader.grade.autograde import autograde, choose_runner, class_seed, usable_cores
from grader.handout.demo import hand_in, solved
from grader.receive.handed_in import digest_of
from grader.reference.lab import Lab, is_solution

console = Console(width=None if sys.stdout.isatty() else 130)
COMMANDS = {
    "collect": ("collect", LAB, "class.zip"),
    "feedback, all pages": ("feedback", LAB),
    "feedback, nothing to do": ("feedback", LAB),
    "feedback, one page, and the zip": ("feedback", LAB, "--zip", "feedback.zip"),
    "report": ("report", LAB),
    "term": ("term",),
    "similar": ("similar", LAB),
    "export, CSV": ("export", "--out", "grades.csv"),
    "export, Canvas": ("export", "--format", "canvas", "--out", "canvas.csv"),
}


def models(lab: Lab) -> list[NotebookNode]:
    """Submissions of which the class is made: without mistakes, untouched, and with one misconception each."""
    mistakes = [entries[0] for entries in lab.misconceptions.values() if entries]
    return [solved(lab), lab.release(), *(solved(lab, {each.exercise: each.source}) for each in mistakes)]


_AUTHOR = b"name-of-the-student"


def to_sign(notebook: NotebookNode) -> bytes:
    """The notebook with a place for its author's name in the first solution."""
    cell = next(cell for cell in notebook.cells if is_solution(cell))
    cell.source = f"# {_AUTHOR.decode()}\n{cell.source}"
    return nbformat.writes(notebook).encode()


def make_class(lab: Lab, size: int) -> None:
    """Hands in and grades a class: a few submissions really, the others as copies of what came out."""
    course, chosen = lab.course, models(lab)
    names = [f"model{number:02d}" for number in range(len(chosen))]
    folders = [hand_in(course, lab, name, each) for name, each in zip(names, chosen, strict=True)]
    records = autograde(lab, folders, choose_runner(lab), class_seed(lab), jobs=usable_cores())
    if any(record.score is None for record in records):
        raise SystemExit("The submissions that the class is made of could not be graded.")
    graded = [
        nbformat.read(course.autograded / name / lab.name / lab.notebook_name, as_version=4) for name in names
    ]
    with Gradebook.open(course) as gradebook, zipfile.ZipFile(course.root / "class.zip", "w") as archive:
        markers = gradebook.markers(lab)
        points = [points_in(notebook, None) for notebook in graded]
        forms = [(to_sign(before), to_sign(after)) for before, after in zip(chosen, graded, strict=True)]
        for number in range(size - len(names)):
            student, model = f"student{number:05d}", number % len(names)
            work, data = (form.replace(_AUTHOR, student.encode()) for form in forms[model])
            archive.writestr(f"{student}_{lab.notebook_name}", work, zipfile.ZIP_DEFLATED, 1)
            target = course.autograded / student / lab.name
            target.mkdir(parents=True)
            (target / lab.notebook_name).write_bytes(data)
            shutil.copyfile(folders[0] / TIMESTAMP, target / TIMESTAMP)
            gradebook.write(
                lab, student, points[model], replace(markers[names[model]], notebook=digest_of(data))
            )


def disk(folder: Path) -> int:
    """Bytes in a folder's files, in whole blocks as the disk counts them."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def measure(size: int) -> tuple[dict[str, Run], dict[str, int]]:
    """What each command costs with a class of this size, and the bytes on disk afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        lab = new_course(Path(folder))
        make_class(lab, size)
        runs = {}
        for name, arguments in COMMANDS.items():
            console.log(f"{size} submissions: {name}")
            if "one page" in name:
                (lab.course.feedback / "model00" / lab.name / f"{lab.slug}.html").unlink()
            runs[name] = command(lab, "grader.cli", *arguments)
        course = lab.course
        places = {"submitted": course.submitted, "graded": course.autograded, "feedback": course.feedback}
        used = {name: disk(place) for name, place in places.items()}
        used["gradebook"] = course.gradebook.stat().st_size
        used["feedback.zip"] = (course.root / "feedback.zip").stat().st_size
        return runs, used


def tables(sizes: Sequence[int], ahead: int) -> list[Table]:
    """A row for each command: seconds and memory by size, and what one submission more costs compared with the size before.

    A ratio of 1 means that the cost per further submission is the same in larger classes. The last column goes on in a straight line.
    """
    found = [measure(size) for size in sizes]
    steps = list(itertools.pairwise(sizes))

    def table(title: str, rows: dict[str, list[float]], digits: int) -> Table:
        made = Table(title=title, title_justify="left")
        made.add_column("")
        columns = [f"{size:,}" for size in sizes]
        columns += [f"{low:,}–{high:,}, each further, relative" for low, high in steps[1:]]
        for column in (*columns, f"{ahead:,}, expected"):
            made.add_column(column, justify="right")
        for name, values in rows.items():
            each = [(values[i + 1] - values[i]) / (high - low) for i, (low, high) in enumerate(steps)]
            ratios = [
                f"{now / before:.2f}" if before > 0 else "-" for before, now in itertools.pairwise(each)
            ]
            expected = values[-1] + each[-1] * (ahead - sizes[-1])
            made.add_row(
                name, *(f"{value:.{digits}f}" for value in values), *ratios, f"{expected:.{digits}f}"
            )
        return made

    seconds = {name: [runs[name].seconds for runs, _ in found] for name in COMMANDS}
    memory = {name: [sum(runs[name].memory.values()) / 2**20 for runs, _ in found] for name in COMMANDS}
    used = {name: [place[name] / 2**20 for _, place in found] for name in found[0][1]}
    return [
        table(f"Seconds ({usable_cores()} cores)", seconds, 1),
        table("MiB of memory: the command, and the largest of its other processes", memory, 0),
        table("MiB on disk afterwards", used, 1),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 500, 2000], help="at least two")
    parser.add_argument("--ahead", type=int, default=10_000, help="the size that is only calculated")
    chosen = parser.parse_args()
    if len(chosen.sizes) < 2 or min(chosen.sizes) < 20 or sorted(set(chosen.sizes)) != chosen.sizes:
        parser.error("--sizes: give at least two, from 20, in ascending order")
    for table in tables(chosen.sizes, chosen.ahead):
        console.print(table)


if __name__ == "__main__":
    main()
