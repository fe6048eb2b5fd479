"""Only what passes its check goes in: tried as it stands in the package, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from course_utils.checking.bypass import as_cell
from course_utils.portfolio.homes import COURSE, PACKAGE
from course_utils.portfolio.modules import Module, modules_of, text_in, write_modules
from course_utils.portfolio.pieces import Work
from course_utils.portfolio_check import NOT_CODE

FAILS = "it does not pass its check yet"

_SECONDS = 900
"""The checks of one lab may take this long."""


def keep_what_passes(work: Work, said: Callable[[str], None]) -> dict[str, Module]:
    """The modules of what passes its check, as it stands in them. What does not is left out of ``work``."""
    refused: frozenset[str] = frozenset()
    known: dict[str, tuple[str, dict[str, str]]] = {}  # lab -> the text that was checked, what was said of it
    while True:
        made = modules_of(work, refused)
        failed: dict[str, str] = {}
        for lab in work.labs:
            its = {name: module for name, module in made.items() if module.lab == lab}
            if not its:
                continue
            text = json.dumps([module.text for module in its.values()])
            if known.get(lab.slug, ("", {}))[0] != text:
                count = sum(len(module.keys) for module in its.values())
                said(f"Lab {lab.number}: checking {count} of your exercises ...")
                faults = _faults(work, made, its)
                if any(faults.values()) and any(module.own for module in its.values()):
                    others = modules_of(work, refused | {lab.slug})
                    again = _faults(work, others, {name: others[name] for name in its if name in others})
                    if sum(map(bool, again.values())) < sum(map(bool, faults.values())):
                        refused |= {lab.slug}
                        faults = again
                known[lab.slug] = text, faults
            failed |= {
                key: fault for key, fault in known[lab.slug][1].items() if fault and key in work.pieces
            }
        if not failed:
            return modules_of(work, refused)
        for key in [key for key in work.pieces if key in failed]:  # in the order of the course
            if key in work.pieces:  # else it calls one that failed
                fault = failed[key]
                work.leave_out(key, fault if fault == NOT_CODE else f"{FAILS}: {fault}")


def _faults(work: Work, made: Mapping[str, Module], its: Mapping[str, Module]) -> dict[str, str]:
    """What the checks say about the exercises in some modules of one lab, tried in a process of their own."""
    keys = {key: f"{PACKAGE}.{name}" for name, module in its.items() for key in module.keys}
    piece = work.pieces[next(iter(keys))]
    sources = list(piece.notebook.sources)
    sources += [
        as_cell(file.name, text_in(file)) for module in its.values() for file in module.files.values()
    ]
    asked = json.dumps({"modules": keys, "folder": str(piece.lab.folder.resolve()), "sources": sources})
    with tempfile.TemporaryDirectory() as scratch:
        write_modules(Path(scratch) / PACKAGE, made)
        environment = {name: value for name, value in os.environ.items() if name != "TRANSFORMER_LABS_SEED"}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(COURSE), os.environ.get("PYTHONPATH")]))
        environment |= {
            "KERAS_BACKEND": "tensorflow",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, "-m", "course_utils.portfolio_check", scratch]
        try:
            printed = subprocess.run(
                command,
                input=asked,
                text=True,
                capture_output=True,
                cwd=scratch,
                env=environment,
                timeout=_SECONDS,
            ).stdout
            why = "its process came to an end before it was checked"
        except subprocess.TimeoutExpired as error:
            printed = (error.stdout or b"").decode("utf-8", "replace")
            why = "its check takes too long"
    found = dict.fromkeys(keys, why)
    for line in printed.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:  # what the learner's code wrote to the descriptor itself
            continue
        if isinstance(entry, dict):
            found |= {key: fault for key, fault in entry.items() if key in found and isinstance(fault, str)}
    return found
