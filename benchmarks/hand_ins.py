"""How long learners wait for their feedback while ``grader watch`` is at work: from the end of a hand-in to the page in the exchange.

``make bench-watch`` prints it for a class of 51, of whom one hands in ten times and one an endless loop; ``--minutes 0`` hands in everything at
once. The watch runs as a command, in the sandbox, and submissions arrive as nbgrader writes them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from grading import LAB, console, copied_course
from nbgrader.utils import notebook_hash

from grader.files import SECRET, TIMESTAMP
from grader.grade.autograde import usable_cores
from grader.handout.demo import solved
from grader.reference.lab import Lab, is_solution

LONGEST_SECONDS = 900
"""How long to wait for the pages after the last hand-in."""


def works(lab: Lab, people: int, again: int) -> list[tuple[str, bytes]]:
    """Who hands in what: everybody once, with one mistake each, but for the first, who does so many times, and the second, whose code never ends."""
    mistakes = [entries[0] for entries in lab.misconceptions.values() if entries]
    found = []
    for number in range(people + again - 1):
        student = f"s{max(0, number - again + 1):02}"
        wrong = mistakes[number % len(mistakes)]
        texts = {wrong.exercise: wrong.source}
        if student == "s01":
            name = next(name for name, text in lab.solution_texts.items() if text.startswith("def "))
            texts = {name: f"def {name}(*args, **kwargs):\n    while True:\n        pass"}
        notebook = solved(lab, texts)
        next(cell for cell in notebook.cells if is_solution(cell)).source += f"\n# {number}"
        found.append((student, json.dumps(notebook).encode()))
    return found


def submit(inbound: Path, lab: Lab, student: str, notebook: bytes) -> str:
    """Hands in, and returns the secret under which the feedback will be."""
    stamp, secret = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S.%f} UTC", secrets.token_hex(64)
    folder = inbound / f"{student}+{lab.name}+{stamp}+{secrets.token_urlsafe(9)}"
    folder.mkdir()
    (folder / lab.notebook_name).write_bytes(notebook)
    (folder / TIMESTAMP).write_text(stamp)
    (folder / SECRET).write_text(secret)
    return secret


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=51)
    parser.add_argument("--again", type=int, default=10, help="how often the first of them hands in")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--jobs", type=int, default=usable_cores())
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root, exchange = Path(scratch, "course"), Path(scratch, "exchange")
        inbound = exchange / "transformer-labs" / "inbound"
        for folder in (root, inbound):
            folder.mkdir(parents=True)
        for folder in (exchange, inbound):
            folder.chmod(0o1777)
        lab = copied_course(root, LAB)
        with (root / "nbgrader_config.py").open("a") as file:
            file.write(f"\nget_config().Exchange.root = {str(exchange)!r}\n")
        command = [
            sys.executable,
            "-m",
            "grader",
            "watch",
            LAB,
            "--shared-account",
            "--jobs",
            str(given.jobs),
        ]
        watch = subprocess.Popen(command, cwd=root, start_new_session=True)
        waited, endless, kept, never = measure(lab, inbound, given)
        os.killpg(watch.pid, signal.SIGINT)
        watch.wait()
    console.print(
        f"{len(waited) + 1 + kept + never} hand-ins of {given.people} people in {given.minutes:g} minutes, {given.jobs} processes: "
        f"{len(waited) + 1} graded, {kept} kept as over the bound, {never} replaced by a later one before their turn.\n"
        f"Seconds from hand-in to feedback: median {statistics.median(waited):.0f}, worst {max(waited):.0f}, of the endless loop {endless:.0f}; "
        f"within a minute: {sum(each <= 60 for each in waited)} of {len(waited)}."
    )


def measure(lab: Lab, inbound: Path, given: argparse.Namespace) -> tuple[list[float], float, int, int]:
    """Seconds until each page was there, and that of the endless loop; how many pages say that work is kept; and how many hand-ins have
    no page.
    """
    chance = random.Random(1)
    todo = works(lab, given.people, given.again)
    chance.shuffle(todo)
    times = sorted(chance.uniform(0, 60 * given.minutes) for _ in todo)
    began, waiting, found, endless = time.monotonic(), {}, {}, ""
    while time.monotonic() - began < 60 * given.minutes + LONGEST_SECONDS:
        now = time.monotonic() - began
        while times and times[0] <= now:
            student, notebook = todo.pop()
            name = notebook_hash(secret=submit(inbound, lab, student, notebook), notebook_id=lab.slug)
            waiting[name] = time.monotonic()
            endless = name if student == "s01" else endless
            times.pop(0)
        for name, when in waiting.items():
            page = inbound.parent / "feedback" / f"{name}.html"
            if (
                name not in found
                and page.exists()
                and "has not been graded yet" not in page.read_text("utf-8")
            ):
                found[name] = time.monotonic() - when
        # the first of them gets no page for what is over the bound, or was replaced
        if not times and len(found) >= given.people and endless in found and now > 60 * given.minutes + 60:
            break
        time.sleep(0.5)
    kept = sum(
        (inbound.parent / "feedback" / f"{name}.html").exists() for name in waiting.keys() - found.keys()
    )
    long = found.pop(endless, math.inf)
    return list(found.values()), long, kept, len(waiting) - len(found) - 1 - kept


if __name__ == "__main__":
    main()
