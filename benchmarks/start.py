"""What commands cost before they do anything: seconds of a processor, as multiples of a Python that does nothing, all in one run.

``make bench-start`` prints the table. Commands take turns, and the least of each counts: whatever else a machine does only adds to it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from grading import LAB, copied_course

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "grader --help": ["-m", "grader", "--help"],
    "grader roster --help": ["-m", "grader", "roster", "--help"],
    "grader roster": ["-m", "grader", "roster"],
    "grader collect --help": ["-m", "grader", "collect", "--help"],
}


def seconds(arguments: list[str], folder: Path) -> float:
    """Processor time of one Python, with all that it starts."""
    before = getrusage(RUSAGE_CHILDREN)  # os.times() knows hundredths of a second only
    subprocess.run([sys.executable, *arguments], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=5, help="so often each (default: %(default)s)")
    turns = parser.parse_args().turns
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        folder = Path(place)
        copied_course(folder, LAB)
        (folder / "students.csv").write_text("id,name\nada,Ada Byron\n", "utf-8")
        subprocess.run(
            [sys.executable, "-m", "grader", "roster", "import", "students.csv"], cwd=folder, check=True
        )
        found = {name: [] for name in COMMANDS}
        for _ in range(turns):
            for name, arguments in COMMANDS.items():
                found[name].append(seconds(arguments, folder))
    nothing = min(found["python -c pass"])
    for name, took in found.items():
        print(f"{name:22} {min(took):6.2f} s  {min(took) / nothing:5.1f} times a Python that does nothing")


if __name__ == "__main__":
    main()
