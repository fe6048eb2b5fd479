"""The files that say what the course is made of agree with each other, and the code is in order."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata

import nbformat
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from project import ROOT

from grader.imports import imported

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())
LOCK = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line[:1] != "#"]

CUDA = ("nvidia", "cuda", "triton")  # what PyTorch's usual build brings along is no part of the lock

ELSEWHERE = {"axe", "hub", "lite", "lti", "wasm"}
"""Extras that are installed into a place of their own, if at all."""

DECLARED = {
    extra: [*map(Requirement, texts)]
    for extra, texts in {
        "": PYPROJECT["project"]["dependencies"],
        **PYPROJECT["project"]["optional-dependencies"],
    }.items()
}
"""Extra -> what it asks for; what learners need is under the empty name."""

DIRECT = [each for extra, found in DECLARED.items() if extra not in ELSEWHERE for each in found]


def pins(lines: list[str]) -> dict[str, str]:
    """Package name (in its canonical spelling) to pinned version."""
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


def conda_pip_lines() -> list[str]:
    return next(entry["pip"] for entry in CONDA["dependencies"] if isinstance(entry, dict))


def test_every_line_of_requirements_pins_one_exact_version() -> None:
    assert [line for line in LOCK if not re.fullmatch(r"[\w.-]+==[\w.!]+", line)] == []


def test_weights_that_come_as_packages_are_pinned_and_are_no_part_of_the_lock() -> None:
    lines = [line for line in (ROOT / "requirements-weights.txt").read_text().splitlines() if line[:1] != "#"]
    assert lines and not set(pins(lines)) & set(pins(LOCK))


def test_requirements_are_sorted_and_name_each_package_once() -> None:
    assert sorted(LOCK, key=str.upper) == LOCK
    assert len(pins(LOCK)) == len(LOCK)


@pytest.mark.parametrize("requirement", DIRECT, ids=str)
def test_a_direct_dependency_is_pinned_within_its_range(requirement: Requirement) -> None:
    assert requirement.specifier, "no range"
    assert requirement.specifier.contains(pins(LOCK)[canonicalize_name(requirement.name)])


def test_the_conda_environment_pins_the_direct_dependencies_as_requirements_do() -> None:
    locked = pins(LOCK)
    names = [canonicalize_name(requirement.name) for requirement in DIRECT]
    assert pins([line for line in conda_pip_lines() if "==" in line]) == {
        name: locked[name] for name in names
    }


IMPORTED_BY = {
    "course_utils": {""},
    "notebooks": {""},
    "solutions": {"", "grade"},  # also holds what only a build needs: other correct ways, collected data
    "grader": {"", "grade", "site", "cluster", "lti"},
    "benchmarks": set(DECLARED),
    "tests": set(DECLARED),
}
"""Folder -> the extras in which what it imports may be declared. (`deploy/` has environments of its own.)"""


def imported_by(folder: str) -> dict[str, set[str]]:
    """Distribution -> the files of a folder that import a module of it, wherever in the text."""
    own = {path.stem for place in (folder, "deploy", "scripts") for path in (ROOT / place).rglob("*.py")}
    own |= {*IMPORTED_BY, "slow_package"}  # which a test writes
    of_module, found = metadata.packages_distributions(), {}
    for path in (ROOT / folder).rglob("*"):
        if path.suffix not in (".py", ".ipynb") or any(
            part.startswith(".") for part in path.parts[len(ROOT.parts) :]
        ):
            continue
        if path.suffix == ".py":
            sources = [path.read_text("utf-8")]
        else:
            sources = [
                cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"
            ]
        for module in {name.partition(".")[0] for text in sources for name in imported(text)}:
            if module not in sys.stdlib_module_names and module not in own:
                distribution = of_module.get(module, [module])[0]
                found.setdefault(canonicalize_name(distribution), set()).add(str(path.relative_to(ROOT)))
    return found


@pytest.mark.parametrize("folder", IMPORTED_BY)
def test_whatever_is_imported_is_declared_where_it_is_needed(folder: str) -> None:
    """What another package happens to bring along today need not be there tomorrow."""
    declared = {canonicalize_name(each.name) for extra in IMPORTED_BY[folder] for each in DECLARED[extra]}
    found = imported_by(folder)
    assert len(found) > 2
    assert {name: sorted(files)[:3] for name, files in found.items() if name not in declared} == {}


def test_what_comes_from_elsewhere_is_no_part_of_the_lock() -> None:
    names = {canonicalize_name(each.name) for extra in ELSEWHERE for each in DECLARED[extra]}
    assert names and not names & set(pins(LOCK))


def test_the_hub_that_is_tested_is_the_one_that_is_installed() -> None:
    folder = ROOT / "deploy/jupyterhub"
    text = (folder / "requirements.txt").read_text() + (folder / "programs.sh").read_text()
    for requirement in DECLARED["hub"]:
        (version,) = re.findall(rf"(?<!\S){re.escape(requirement.name)}==([\w.]+)", text)
        assert requirement.specifier.contains(version)


def test_the_conda_environment_is_constrained_by_requirements_and_holds_the_course() -> None:
    assert [line for line in conda_pip_lines() if "==" not in line] == ["-c requirements.txt", "-e ."]
    assert CONDA["name"] == PYPROJECT["project"]["name"]


def test_every_file_names_the_same_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = [each for each in headings if each != "Unreleased"]
    assert headings in (released, ["Unreleased", *released])
    assert released[0] == f"{cited['version']}, {cited['date-released']}"
    assert cited["version"] == PYPROJECT["project"]["version"]


def test_a_change_of_the_first_number_says_what_to_do_in_the_middle_of_a_term() -> None:
    _, *entries = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    changes = [each for each in entries if re.match(r"\d+\.0\.0,", each)]
    assert changes
    for entry in changes:
        heading, _, text = entry.partition("\n")
        assert text.lstrip().startswith("### In the middle of a term\n- "), heading


def test_every_file_names_the_same_python() -> None:
    python = next(str(entry) for entry in CONDA["dependencies"] if str(entry).startswith("python"))
    text = PYPROJECT["project"]["requires-python"]
    assert python == f"python{text}"
    allowed = SpecifierSet(text)
    assert [minor for minor in range(8, 20) if allowed.contains(f"3.{minor}.1")] == [11, 12, 13]
    assert PYPROJECT["tool"]["ruff"]["target-version"] == "py311"
    script = (ROOT / "scripts/setup_environment.sh").read_text()
    assert "needs Python 3.11, 3.12 or 3.13" in script and 'minors="13 12 11"' in script
    assert 'pythons="3.13 3.12 3.11"' in (ROOT / "grader/handout/gradescope.py").read_text()
    for page in ("README.md", "grader/handout/bundle.py", "docs/grading-details.md"):
        assert "Python 3.11, 3.12 or 3.13" in " ".join((ROOT / page).read_text().split()), page
    assert f'"{text}"' in (ROOT / "course_utils/environment.py").read_text()


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]], ids=" ".join)
def test_ruff_has_nothing_to_say(command: list[str]) -> None:
    ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", "--output-format=concise", "."]
    run = subprocess.run(ruff, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_make_alone_lists_every_target_with_a_description() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([a-z-]+):", makefile, re.M)
    assert targets == re.findall(r"^\.PHONY: (.+)$", makefile, re.M)
    # Without the variables of a `make` that runs this test: they would turn into its options.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    listed = subprocess.run(
        ["make"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert re.findall(r"^  make ([\w-]+) +\S.*$", listed, re.M) == targets


@pytest.mark.parametrize(
    "script", ["scripts/setup_environment.sh", "scripts/setup_browser.sh", "scripts/run_tests.sh", ".ci/run"]
)
def test_a_script_is_executable_and_bash_can_read_it(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    subprocess.run(["bash", "-n", ROOT / script], check=True)


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_lock_holds_for_every_python_from_its_first_release_on(python: str) -> None:
    """Debian 12 and Ubuntu 22.04 come with early patch releases of 3.11."""
    locked, wrong = pins(LOCK), []
    marks = {"python_version": python, "python_full_version": f"{python}.0", "extra": ""}
    for package in metadata.distributions():
        name = package.metadata["Name"]
        if canonicalize_name(name) not in locked:
            continue
        if (wanted := package.metadata.get("Requires-Python")) and f"{python}.0" not in SpecifierSet(wanted):
            wrong.append(f"{name} {package.version} needs Python {wanted}")
        for needed in map(Requirement, package.requires or []):
            here = not needed.marker or needed.marker.evaluate(marks)
            if here and canonicalize_name(needed.name) not in locked and not needed.name.startswith(CUDA):
                wrong.append(f"{name} needs {needed}")
    assert not wrong
