"""What stands in the package beside the modules: tests and their data, what makes it installable, its commands, the licence."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from course_utils import exercises
from course_utils.checking.expected import FILE_NAME as EXPECTED
from course_utils.checking.expected import Expected, load_outcomes, save_expected
from course_utils.portfolio.figures import Figure
from course_utils.portfolio.homes import COURSE, PACKAGE, may_publish
from course_utils.portfolio.modules import Module
from course_utils.portfolio.pieces import Work
from course_utils.portfolio.readme import readme_text
from course_utils.portfolio_commands import COMMANDS, PARTS_FILE

LICENCES = ("MIT", "Apache-2.0", "none")


def texts_of(
    work: Work, made: Mapping[str, Module], licence: str, author: str, figures: Sequence[Figure]
) -> dict[str, str]:
    """File -> its text, of all that stands beside the modules.

    Args:
        made: the modules by name.
        licence: one of ``LICENCES``.
        author: the name in the licence.
        figures: the pictures that README.md shows.
    """
    commands = commands_of(work, made)
    homes = {key: module.name for module in made.values() for key in module.keys}
    texts = {
        f"{PACKAGE}/{PARTS_FILE}": json.dumps({"modules": homes, "commands": commands}, indent=1) + "\n",
        f"{PACKAGE}/__main__.py": _MAIN,
        "tests/test_checks.py": _tests(work, made),
        "README.md": readme_text(work, made, commands, licence, figures),
        "pyproject.toml": _pyproject(made, licence, author, may_publish()),
        "LICENSE-course": (COURSE / "LICENSE").read_text("utf-8"),
        ".gitignore": "__pycache__/\n.pytest_cache/\nbuild/\n*.egg-info/\n",
    }
    if licence != "none":
        texts["LICENSE"] = _licence_text(licence, author)
    return texts


def commands_of(work: Work, made: Mapping[str, Module]) -> dict[str, dict[str, list[str]]]:
    """The commands whose parts are all there -> whose code they run: ``yours`` and ``course``."""
    found = {}
    for name, command in COMMANDS.items():
        if not all(key in work.pieces for key in command.needs):
            continue
        seen, reached = set(command.needs), list(command.needs)
        theirs: dict[str, None] = {}
        for key in reached:  # grows
            piece = work.pieces[key]
            statements = {other.definition: k for k, other in work.pieces.items() if other.lab == piece.lab}
            imported = {each.imported: next(iter(each.binds)) for each in piece.statements if each.imported}
            own = {
                local: its
                for module in made.values()
                if module.lab == piece.lab
                for local, its in module.own.items()
            }
            others = [statements[each] for each in piece.statements if each in statements]
            others += [own[local] for local in imported.values() if local in own]
            theirs |= {
                full.rpartition(".")[2]: None
                for full, local in imported.items()
                if full.startswith("course_utils.") and local not in own
            }
            for other in others:
                if other not in seen:
                    seen.add(other)
                    reached.append(other)
        labels = [
            f"`{key.partition('.')[2]}` (lab {work.pieces[key].lab.number})"
            for key in work.pieces
            if key in seen
        ]
        found[name] = {"yours": labels, "course": list(theirs)}
    return found


def _tests(work: Work, made: Mapping[str, Module]) -> str:
    checks = {key: f"{PACKAGE}.{module.name}" for module in made.values() for key in module.keys}
    lines = "\n".join(f'    "{key}": "{module}",' for key, module in checks.items())
    return f'''"""The course's checks of what is in this package, at the seed that learners see. They need the course's own package.

What is tried is in checks/*/exercises.py, what must come out in checks/*/expected.npz. The course wrote these.
"""

import os
from pathlib import Path

import pytest

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.pop("TRANSFORMER_LABS_SEED", None)

from course_utils.portfolio_check import fault_in_module  # noqa: E402

CHECKS = {{
{lines}
}}


@pytest.mark.parametrize("exercise, module", CHECKS.items(), ids=list(CHECKS))
def test_it_passes_the_check_of_its_exercise(exercise, module):
    folder = Path(__file__).parent / "checks" / exercise.partition(".")[0]
    assert not fault_in_module(exercise, module, folder)
'''


def write_checks(folder: Path, work: Work) -> None:
    """What is tried and what comes out: no misconceptions, no hints, no other exercise's arrays."""
    for lab in work.labs:
        its = [key for key, piece in work.pieces.items() if piece.lab == lab]
        if not its:
            continue
        (folder / lab.slug).mkdir(parents=True)
        shutil.copy(lab.folder / exercises.FILE_NAME, folder / lab.slug)
        known, _ = load_outcomes(lab.folder / EXPECTED)
        expected = {key: Expected((), known[key].reference) for key in its}
        save_expected(folder / lab.slug / EXPECTED, expected, {})


_DISTRIBUTIONS = ("numpy", "torch", "keras", "tensorflow", "transformers")


def _pyproject(made: Mapping[str, Module], licence: str, author: str, may_publish: bool) -> str:
    texts = "\n".join(line for module in made.values() for line in module.imports)
    used = [name for name in _DISTRIBUTIONS if re.search(rf"^(?:import|from) {name}\b", texts, re.MULTILINE)]
    lines = [
        "[build-system]",
        'requires = ["setuptools>=77"]',
        'build-backend = "setuptools.build_meta"',
        "",
        "[project]",
        'name = "my-transformer"',
        'version = "0.1.0"',
        'description = "A Transformer of my own, from attention to a trained translator"',
        'readme = "README.md"',
        'requires-python = ">=3.11"',
        f"dependencies = {json.dumps(used)}",
    ]
    if author:
        lines.append(f"authors = [{{ name = {json.dumps(author, ensure_ascii=False)} }}]")
    if licence != "none":
        lines += [f'license = "{licence}"', 'license-files = ["LICENSE", "LICENSE-course"]']
    if not may_publish:
        lines.append('classifiers = ["Private :: Do Not Upload"]')
    lines += [
        "",
        "[project.optional-dependencies]",
        'test = ["pytest"]',
        "",
        "[tool.setuptools]",
        f'packages = ["{PACKAGE}"]',
        "",
        "[tool.setuptools.package-data]",
        f'{PACKAGE} = ["{PARTS_FILE}"]',
        "",
        "[tool.pytest.ini_options]",
        'testpaths = ["tests"]',
        "",
    ]
    return "\n".join(lines)


_MAIN = f'''"""``python -m {PACKAGE}``: what this code can do, with weights that come with the course. The course wrote this file."""

import os
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

try:
    from course_utils.portfolio_commands import main
except ModuleNotFoundError as error:
    sys.exit(f"The weights come with the course, whose package is not installed here ({{error.name}}). Run this in the course's environment.")

if __name__ == "__main__":
    sys.exit(main("{PACKAGE}", sys.argv[1:]))
'''


def _licence_text(licence: str, author: str) -> str:
    course = (COURSE / "LICENSE").read_text("utf-8")
    if licence == "MIT":
        return re.sub(
            r"^Copyright .*$",
            f"Copyright (c) {date.today().year} {author}",
            course,
            count=1,
            flags=re.MULTILINE,
        )
    return (Path(__file__).resolve().parents[1] / "licences" / "Apache-2.0.txt").read_text("utf-8")
