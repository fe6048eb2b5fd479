"""How fast a class is graded: this course's grader beside nbgrader's own, in one run, on one machine.

``make bench-grading`` prints the tables; ``--help`` lists what can be changed. The same honest class is graded by ``nbgrader
autograde`` with nbgrader's own steps (one ordinary kernel a notebook, one after the other) and by ``grader autograde`` with its
sandbox. Whole commands with all their starting up alternate. Then growing classes, and one
with endless loops in it, by ``grader autograde`` alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbgrader.api import Gradebook as NbgraderGradebook
from rich.console import Console
from rich.table import Table

from course_utils.checking.check import SEED_VARIABLE
from course_utils.checking.expected import FILE_NAME
from grader.author.build import build
from grader.book.gradebook import Gradebook
from grader.book.state import marker_of
from grader.course import Course
from grader.handout.demo import hand_in, solved
from grader.reference.lab import SETTINGS, Lab, runs_in_grading

ROOT = Path(__file__).resolve().parents[1]
LAB = "02_self_attention"
console = Console(width=None if sys.stdout.isatty() else 130)


# ---------------------------------------------------------------------------------- courses


def new_course(folder: Path, imports: str = "") -> Lab:
    """A course with one lab, whose set-up cell also imports what is asked for."""
    shutil.copyfile(ROOT / "nbgrader_config.py", folder / "nbgrader_config.py")
    shutil.copytree(ROOT / "solutions" / LAB, folder / "solutions" / LAB)
    settings = folder / "solutions" / LAB / SETTINGS
    alone = re.sub(r"^needs = .*$", "needs = []", settings.read_text("utf-8"), flags=re.MULTILINE)
    settings.write_text(alone, "utf-8")
    source = folder / "solutions" / LAB / f"{LAB}.py"
    text = source.read_text("utf-8")
    source.write_text(text.replace("import numpy as np", f"import numpy as np\n{imports}", 1), "utf-8")
    course = Course(folder)
    build(course, [LAB], say=lambda _: None)
    return Lab.load(course, LAB)


def copied_course(folder: Path, name: str) -> Lab:
    """A course with one lab, as it is."""
    shutil.copyfile(ROOT / "nbgrader_config.py", folder / "nbgrader_config.py")
    for part in ("solutions", "notebooks"):
        shutil.copytree(ROOT / part / name, folder / part / name)
    return Lab.load(Course(folder), name)


def hand_in_class(lab: Lab, size: int) -> None:
    """An honest class: everybody has the solution, and ``expected.npz`` beside it as the exchange would."""
    notebook = json.dumps(solved(lab)).encode()
    for number in range(size):
        folder = hand_in(lab.course, lab, f"student{number:04d}", notebook)
        shutil.copyfile(lab.release_folder / FILE_NAME, folder / FILE_NAME)
    with Gradebook.open(lab.course) as gradebook:
        gradebook.register(lab)


def hand_in_loops(lab: Lab, size: int, count: int) -> list[str]:
    """Gives some of a class, evenly spread over it, an endless loop, each in another exercise (also spread). Returns which."""
    functions = [name for name, text in lab.solution_texts.items() if text.startswith("def ")]
    chosen = [functions[number * (len(functions) - 1) // max(1, count - 1)] for number in range(count)]
    for number, name in enumerate(chosen):
        endless = f"def {name}(*args, **kwargs):\n    while True:\n        pass"
        notebook = json.dumps(solved(lab, {name: endless})).encode()
        hand_in(lab.course, lab, f"student{(2 * number + 1) * size // (2 * count):04d}", notebook)
    return chosen


def forget_grades(lab: Lab) -> None:
    """Starts a new gradebook on purpose: what noted that there was one goes, too."""
    lab.course.gradebook.unlink()
    marker_of(lab.course).unlink()
    shutil.rmtree(lab.course.autograded, ignore_errors=True)
    with Gradebook.open(lab.course) as gradebook:
        gradebook.register(lab)


def scores(lab: Lab) -> list[float]:
    with NbgraderGradebook(lab.course.nbgrader_config().CourseDirectory.db_url) as book:
        return sorted(row["score"] for row in book.submission_dicts(LAB))


# ---------------------------------------------------------------------------------- commands


@dataclass
class Run:
    """One command's cost: seconds, and the most memory (bytes, resident) that a process of each kind held. And what it said."""

    seconds: float
    memory: dict[str, int] = field(default_factory=dict)
    said: str = ""


def command(lab: Lab, *arguments: str) -> Run:
    """Runs a command in the course.

    Raises:
        SystemExit: it fails; what it said is shown.
    """
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            cwd=lab.course.root,
            env=environment,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        memory = _watch(process)
        if process.wait():
            said.seek(0)
            raise SystemExit(f"{' '.join(arguments)} failed:\n{said.read()[-3000:]}")
        seconds = time.perf_counter() - began
        said.seek(0)
        return Run(seconds, memory, said.read())


def _watch(process: subprocess.Popen) -> dict[str, int]:
    """Looks at the memory of a command's processes until it ends."""
    most: dict[str, int] = {}
    ended = threading.Event()
    threading.Thread(target=lambda: (process.wait(), ended.set()), daemon=True).start()
    while not ended.wait(0.25):
        with contextlib.suppress(psutil.Error):
            main = psutil.Process(process.pid)
            for each, kind in [
                (main, "main"),
                *((child, "others") for child in main.children(recursive=True)),
            ]:
                with contextlib.suppress(psutil.Error):
                    most[kind] = max(most.get(kind, 0), each.memory_info().rss)
    return most


def ours(lab: Lab, jobs: int) -> Run:
    forget_grades(lab)
    return command(lab, "grader.cli", "autograde", lab.name, "--jobs", str(jobs))


def stock(lab: Lab) -> Run:
    """With nbgrader's own steps: its defaults, for a course that does not name others."""
    forget_grades(lab)
    config = lab.course.root / "nbgrader_config.py"
    kept = config.read_text()
    config.write_text(
        kept + '\nfor name in ("sanitize_preprocessors", "autograde_preprocessors"):\n'
        "    del get_config().Autograde[name]\n"
    )
    try:
        return command(lab, "nbgrader", "autograde", LAB)
    finally:
        config.write_text(kept)


# ---------------------------------------------------------------------------------- the limit


def cells_of(notebook: NotebookNode) -> list[str]:
    return [cell.source for cell in notebook.cells if runs_in_grading(cell) and cell.source.strip()]


def in_one_process(lab: Lab, repeats: int) -> float:
    """Seconds that the graded cells take in one warm process: ``exec``, one after the other, and nothing else."""
    program = """
import contextlib, io, json, sys, time
import course_utils.checking.check as check
check._display = json.dumps  # there is no Jupyter to publish to
cells, repeats = json.load(sys.stdin)
for turn in range(repeats + 1):
    if turn == 1:  # the first was for warming up
        began = time.perf_counter()
    namespace = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in cells:
            exec(compile(cell, "cell", "exec"), namespace)
print((time.perf_counter() - began) / repeats)
"""
    said = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps([cells_of(solved(lab)), repeats]),
        env=_one_thread(),
        capture_output=True,
        text=True,
        check=True,
    )
    return float(said.stdout)


def in_one_kernel(lab: Lab, repeats: int) -> float:
    """Seconds that the graded cells take in one warm, unprotected Jupyter kernel, driven by nbclient."""
    notebook = solved(lab)
    notebook.cells = [cell for cell in notebook.cells if runs_in_grading(cell) and cell.source.strip()]
    with tempfile.TemporaryDirectory() as folder, _environment(_one_thread()):
        client = NotebookClient(notebook, resources={"metadata": {"path": folder}})
        with client.setup_kernel():
            for turn in range(repeats + 1):
                if turn == 1:
                    began = time.perf_counter()
                for number, cell in enumerate(notebook.cells):
                    client.execute_cell(cell, number)
            return (time.perf_counter() - began) / repeats


def _one_thread() -> dict[str, str]:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
    return os.environ | dict.fromkeys(names, "1") | {SEED_VARIABLE: "1", "TF_CPP_MIN_LOG_LEVEL": "3"}


@contextlib.contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


# ---------------------------------------------------------------------------------- tables


def compare(title: str, imports: str, size: int, rounds: int, jobs: int) -> Table:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        lab = new_course(Path(folder), imports)
        hand_in_class(lab, size)
        theirs, own = [], []
        for turn in range(rounds):
            console.log(f"{title}: nbgrader, round {turn + 1}")
            theirs.append(stock(lab).seconds)
            expected = scores(lab)
            console.log(f"{title}: grader, round {turn + 1}")
            own.append(ours(lab, jobs).seconds)
            if scores(lab) != expected:
                raise SystemExit(f"{title}: the scores differ: {set(expected)} and {set(scores(lab))}")
        console.log(f"{title}: grader on four times the class")
        hand_in_class(lab, 4 * size)
        larger = ours(lab, jobs).seconds
        console.log(f"{title}: the same cells in one process")
        bare, kernel = in_one_process(lab, 20), in_one_kernel(lab, 5)
    stock_each, own_each = min(theirs) / size, min(own) / size
    marginal = max(larger - min(own), 1e-9) / (3 * size)
    table = Table(title=f"{title}: {size} submissions, all scores equal", title_justify="left")
    for column in ("", "s a submission", "nbgrader / this", "this / one process", "this / one kernel"):
        table.add_column(column, justify="left" if not column else "right")

    def row(name: str, each: float) -> None:
        ratios = (f"{stock_each / each:.1f}", f"{each / bare:.2f}", f"{each / kernel:.2f}")
        table.add_row(name, f"{each:.3f}", *ratios)

    row("nbgrader autograde", stock_each)
    row(f"grader autograde, sandbox, {jobs} jobs", own_each)
    row(f"grader autograde, sandbox, {jobs} jobs, 4 x the class", larger / (4 * size))
    row("  each further submission", marginal)
    row("limit: same cells, exec in one warm process", bare)
    row("limit: same cells, nbclient on one warm kernel", kernel)
    return table


def grow(sizes: list[int], jobs: int, name: str) -> Table:
    table = Table(title=f"Growing class, {name}, {jobs} jobs", title_justify="left")
    for column in (
        "submissions",
        "s",
        "ms a submission",
        "MiB, writing process",
        "MiB, largest other process",
    ):
        table.add_column(column, justify="right")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        lab = copied_course(Path(folder), name)
        for size in sizes:
            console.log(f"growing class: {size}")
            hand_in_class(lab, size)
            run = ours(lab, jobs)
            memory = [f"{run.memory.get(kind, 0) / 2**20:.0f}" for kind in ("main", "others")]
            table.add_row(str(size), f"{run.seconds:.1f}", f"{1000 * run.seconds / size:.0f}", *memory)
    return table


def with_loops(size: int, count: int, jobs: int, name: str) -> Table:
    """An honest class, the same with endless loops in it, and what the loops cost by themselves."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        lab = copied_course(Path(folder), name)
        hand_in_class(lab, size)
        console.log(f"{size} without a loop")
        honest = ours(lab, jobs)
        chosen = hand_in_loops(lab, size, count)
        console.log(f"{size} with endless loops in {', '.join(chosen)}")
        endless = ours(lab, jobs)
        again = re.findall(r": (\d+) ran out of time or memory", endless.said)
    title = f"Class with endless loops, {name}, {jobs} jobs"
    table = Table(title=title, title_justify="left")
    for column in ("submissions", "endless", "run once more", "s", "this / without a loop"):
        table.add_column(column, justify="right")
    for loops, repeated, run in ((0, "0", honest), (count, again[0] if again else "0", endless)):
        ratio = f"{run.seconds / honest.seconds:.2f}"
        table.add_row(str(size), str(loops), repeated, f"{run.seconds:.1f}", ratio)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=40, help="submissions of the compared classes")
    parser.add_argument("--rounds", type=int, default=1, help="how often the two alternate; the best counts")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--grow", type=int, nargs="*", default=[125, 250, 500, 1000], help="sizes of the growing class"
    )
    parser.add_argument("--lab", default=LAB, help="of the growing class")
    parser.add_argument(
        "--loops",
        type=int,
        nargs=2,
        default=[300, 3],
        help="size of the class with endless loops, and how many",
    )
    parser.add_argument("--only", choices=("numpy", "tensorflow", "grow", "loops"))
    chosen = parser.parse_args()
    tables = []
    if chosen.only in (None, "numpy"):
        tables.append(compare("NumPy lab", "", chosen.size, chosen.rounds, chosen.jobs))
    if chosen.only in (None, "tensorflow"):
        imports = "import tensorflow as tf"
        tables.append(compare("TensorFlow lab", imports, chosen.size, chosen.rounds, chosen.jobs))
    if chosen.only in (None, "grow"):
        tables.append(grow(chosen.grow, chosen.jobs, chosen.lab))
    if chosen.only in (None, "loops"):
        tables.append(with_loops(*chosen.loops, chosen.jobs, chosen.lab))
    for table in tables:
        console.print(table)


if __name__ == "__main__":
    main()
