"""Other processors, as far as this one can play them: settings that limit what numerical libraries use, each read when a library is loaded.

A row of settings is therefore a process of its own. Run as a program, this module judges a class of one lab in its process:
``python tests/processors.py LAB FILE`` writes the verdicts as JSON.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy._core._multiarray_umath import __cpu_features__ as FEATURES
from project import ROOT, turn_of

from course_utils.checking.comparison import compare
from course_utils.checking.exercise import PUBLIC_SEED
from course_utils.checking.expected import FILE_NAME, load_expected
from course_utils.checking.outcome import Outcome
from grader.course import Course
from grader.reference.lab import Lab
from grader.reference.lessons import mistakes_of

SLIPS = 3
"""A class has this many small mistakes in each reference, beside the lab's misconceptions."""


@dataclass(frozen=True)
class Row:
    """Settings of PyTorch, MKL, oneDNN, OpenBLAS, NumPy and TensorFlow.

    Attributes:
        needs: what the processor must have (a name of NumPy's), or nothing.
    """

    name: str
    threads: int
    torch: str
    mkl: str
    mkl_branch: str
    onednn: str
    openblas: str
    numpy_without: str
    tensorflow_onednn: int
    needs: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """This process's environment with the settings of the row."""
        threads = ("OMP", "MKL", "OPENBLAS", "TF_NUM_INTRAOP", "TF_NUM_INTEROP")
        return {
            **os.environ,
            **{
                f"{name}_{'THREADS' if name.startswith('TF') else 'NUM_THREADS'}": str(self.threads)
                for name in threads
            },
            "MKL_DYNAMIC": "FALSE",  # else there are no more threads than cores
            # threads that are done sleep; else they wait by computing, which takes longest where threads outnumber cores
            "OMP_WAIT_POLICY": "PASSIVE",
            "OPENBLAS_THREAD_TIMEOUT": "4",
            "ATEN_CPU_CAPABILITY": self.torch,
            "MKL_ENABLE_INSTRUCTIONS": self.mkl,
            "MKL_CBWR": self.mkl_branch,
            "ONEDNN_MAX_CPU_ISA": self.onednn,
            "OPENBLAS_CORETYPE": self.openblas,
            "NPY_DISABLE_CPU_FEATURES": self.numpy_without,
            "TF_ENABLE_ONEDNN_OPTS": str(self.tensorflow_onednn),
        }


_AVX512 = "X86_V4 AVX512_ICL AVX512_SPR"
_AVX2 = f"X86_V3 {_AVX512}"

ROWS = (
    Row("oldest", 1, "default", "SSE4_2", "COMPATIBLE", "SSE41", "Katmai", _AVX2, 0),
    Row("avx2", 2, "avx2", "AVX2", "AVX2", "AVX2", "Haswell", _AVX512, 1, "X86_V3"),
    Row("avx512", 4, "avx512", "AVX512", "AVX512", "AVX512_CORE", "SkylakeX", "", 1, "X86_V4"),
    Row("old, many threads", 4, "default", "AVX2", "AUTO", "AVX2", "Nehalem", _AVX512, 0, "X86_V3"),
    Row("mixed", 2, "avx2", "AVX2", "AUTO", "SSE41", "Sandybridge", _AVX2, 0, "X86_V3"),
)
"""Every value of a setting is in one of them, and neighbours differ in most."""


def in_turn(every: bool) -> list[Row]:
    """The rows that this processor can play: all, or the one whose day it is."""
    able = [row for row in ROWS if FEATURES.get(row.needs, not row.needs)]
    return able if every else [able[turn_of(len(able))]]


def in_row(row: Row, *command: str | Path) -> str:
    """Runs this Python with a row's settings, and returns what it said if it failed."""
    done = subprocess.run(
        [sys.executable, *command],
        env=row.environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout if done.returncode else ""


def verdicts(lab: Lab) -> dict[str, list[Any]]:
    """Who -> points, checks and names that a learner's check gives, for a class of references, variants and usual mistakes."""
    found = {}
    for key, exercise in lab.exercises.items():
        expected = load_expected(lab.release_folder / FILE_NAME, key, exercise)
        for who, outcomes in _class_of(lab, key):
            verdict = compare(exercise, outcomes, expected)
            found[f"{key}: {who}"] = [
                verdict.score,
                [check.passed for check in verdict.checks],
                *(
                    [each.name for each in said]
                    for said in (verdict.recognised, verdict.possible, verdict.symptoms)
                ),
            ]
    return found


def _class_of(lab: Lab, key: str) -> Iterator[tuple[str, tuple[Outcome, ...]]]:
    entries = [*lab.variants.get(key, ()), *lab.misconceptions.get(key, ())]
    things = {"the reference": lab.reference[lab.exercises[key].name]}
    things |= {entry.name: entry.value for entry in entries}
    for who, thing in things.items():
        yield who, lab.outcomes(key, thing, PUBLIC_SEED)
    for mistake in itertools.islice(mistakes_of(lab, key), SLIPS):
        yield mistake.name, mistake.outcomes


if __name__ == "__main__":
    name, file = sys.argv[1:]
    Path(file).write_text(json.dumps(verdicts(Lab.load(Course(ROOT), name))), "utf-8")
