"""``check_environment()``: is everything installed that the labs need, and if not, which command installs it?

Versions are read from the packages' own metadata, so that nothing heavy is imported, and compared with
what the course requires in ``pyproject.toml``.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from importlib import metadata
from pathlib import Path

from course_utils.display import BAD, CARD, GOOD, LINE, inline, publish, table

COURSE = "transformer-labs"
SHOWN = ("numpy", "matplotlib", "torch", "tensorflow", "ipywidgets", "jupyterlab", "nbgrader")
"""Packages that always get a line; the others get one only if something is wrong with them."""

ENOUGH_CORES = 2
ENOUGH_MEMORY_GB = 3.0
ENOUGH_DISK_GB = 1.0
_GB = 2**30


@dataclass(frozen=True)
class Finding:
    """One line of the table. ``needs`` and ``fix`` are shown only if it is not fine."""

    what: str
    found: str
    fine: bool = True
    needs: str = ""
    fix: str = ""


def check_environment() -> None:
    """Shows a table of what this machine has, and the commands that fix anything missing or too old."""
    here = machine(Path.cwd()) if sys.platform != "emscripten" else []  # a browser lends what it likes
    found = [python(), *packages(), *here]
    publish({"text/html": as_html(found), "text/plain": as_text(found)})


# ---------------------------------------------------------------------------------- what is there


def python() -> Finding:
    """The Python that runs this notebook."""
    version = platform.python_version()
    wanted = _course_metadata("Requires-Python") or ">=3.11,<3.14"
    return Finding(
        "Python",
        version,
        _fits(version, wanted),
        f"Python {wanted}",
        "In a terminal, in the course's folder: `make environment`, then `make lab`.",
    )


def packages(requirements: Iterable[str] | None = None) -> list[Finding]:
    """A finding for each package of the course, faulty ones first.

    Args:
        requirements: as in ``pyproject.toml``, e.g. ``["numpy~=2.4"]``; default: the course's own.
    """
    from packaging.requirements import Requirement

    if requirements is None:
        try:
            requirements = metadata.requires(COURSE) or []
        except metadata.PackageNotFoundError:
            return [_course_missing()]
    wanted = [Requirement(line) for line in requirements]
    found = [
        _package(req.name, str(req.specifier)) for req in wanted if not req.marker or req.marker.evaluate()
    ]
    faulty = [finding for finding in found if not finding.fine]
    shown = [finding for finding in found if finding.fine and finding.what in SHOWN]
    rest = [finding for finding in found if finding.fine and finding.what not in SHOWN]
    summary = [Finding(f"{len(rest)} smaller packages", "all installed")] if rest else []
    return [*faulty, *sorted(shown, key=lambda finding: SHOWN.index(finding.what)), *summary]


def _package(name: str, wanted: str) -> Finding:
    fix = f'`%pip install "{name}{wanted}"`'
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(name, "missing", False, f"{name} {wanted}", fix)
    return Finding(name, version, _fits(version, wanted), f"{name} {wanted}", fix)


def _course_missing() -> Finding:
    folder = Path(__file__).resolve().parents[1]
    fix = f'`%pip install --editable "{folder}"`'
    return Finding("the course's own code", "not installed", False, "to be installed with its packages", fix)


def _course_metadata(field: str) -> str | None:
    try:
        return metadata.metadata(COURSE)[field]
    except metadata.PackageNotFoundError:
        return None


def _fits(version: str, wanted: str) -> bool:
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(wanted).contains(version, prereleases=True)


def machine(folder: Path) -> list[Finding]:
    """Processor cores, free memory, and free disk space of ``folder``."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = free_memory()
    disk = shutil.disk_usage(folder).free
    return [
        Finding(
            "processor cores",
            str(cores),
            cores >= ENOUGH_CORES,
            f"{ENOUGH_CORES} for the times given in the labs",
            "You need not do anything: the labs will run, but those that train take up to twice as long.",
        ),
        Finding(
            "free memory",
            "unknown" if memory is None else f"{memory / _GB:.1f} GB",
            memory is None or memory >= ENOUGH_MEMORY_GB * _GB,
            f"{ENOUGH_MEMORY_GB:g} GB",
            "Shut down other notebooks: menu Kernel, *Shut Down All Kernels*. Then close other programs.",
        ),
        Finding(
            "free disk space",
            f"{disk / _GB:.1f} GB",
            disk >= ENOUGH_DISK_GB * _GB,
            f"{ENOUGH_DISK_GB:g} GB",
            "Delete what you no longer need; `%pip cache purge` removes pip's downloads.",
        ),
    ]


def free_memory(cgroup: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes that this process can still get: the machine's, or less if a container sets a limit."""
    try:
        import psutil  # comes with every notebook kernel
    except ImportError:
        return None
    available = psutil.virtual_memory().available
    try:
        limit, used = ((cgroup / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return min(available, max(int(limit) - int(used), 0))
    except (OSError, ValueError):  # no container, or "max": no limit
        return available


# ---------------------------------------------------------------------------------- as a page


def as_text(found: list[Finding]) -> str:
    """The table in plain text, followed by what to do."""
    width = max(len(finding.what) for finding in found)
    lines = [f"{'ok  ' if f.fine else 'not '} {f.what:<{width}}  {f.found}" for f in found]
    todo = [f for f in found if not f.fine]
    lines += ["", _summary(todo)]
    for finding in todo:
        lines += [
            f"  {finding.what}: {finding.found}, but the labs need {finding.needs}.",
            f"    {finding.fix}",
        ]
    return "\n".join([*lines, *([_AFTER_PIP] if _has_pip(todo) else [])])


def as_html(found: list[Finding]) -> str:
    """The table for JupyterLab and web pages, followed by what to do."""
    rows = table((_mark(f), escape(f.what), escape(f.found)) for f in found)
    todo = [f for f in found if not f.fine]
    advice = "".join(
        f"<li><b>{escape(f.what)}</b>: {escape(f.found)}, but the labs need {escape(f.needs)}."
        f"<br>{inline(f.fix)}</li>"
        for f in todo
    )
    after = f"<div>{inline(_AFTER_PIP)}</div>" if _has_pip(todo) else ""
    return (
        f'<div style="{CARD}">{rows}'
        f'<div style="{LINE};padding-top:.4em"><b>{_summary(todo)}</b>'
        f"{f'<ul>{advice}</ul>' if advice else ''}{after}</div></div>"
    )


_AFTER_PIP = (
    "Run each `%pip` line in a new cell of this notebook. Then restart the kernel (menu Kernel, "
    "*Restart Kernel*) and run this cell again."
)


def _has_pip(todo: list[Finding]) -> bool:
    return any("%pip install" in finding.fix for finding in todo)


def _summary(todo: list[Finding]) -> str:
    if not todo:
        return "Everything is in place. You can start."
    return f"{len(todo)} {'thing needs' if len(todo) == 1 else 'things need'} your attention:"


def _mark(finding: Finding) -> str:
    if finding.fine:
        return f'<span style="color:{GOOD};font-weight:700" role="img" aria-label="fine">✓</span>'
    return f'<span style="color:{BAD};font-weight:700" role="img" aria-label="needs attention">✗</span>'
