"""The page that JupyterLab opens first: the map of the course, how far you are, and where to go on.

It is a Markdown file, so links open in JupyterLab; ``make lab`` writes it, and every check brings it up to date.
"""

from __future__ import annotations

import base64
import contextlib
import os
import textwrap
from collections.abc import Sequence
from html import escape
from pathlib import Path

from course_utils import progress
from course_utils.labs import LabInfo, core_part, labs_in
from course_utils.progress import LabProgress, progress_file

FILE_NAME = "START.md"


def stops(notebooks: Path) -> list[LabProgress]:
    """The labs that are in a folder of notebooks, in order, and how far each is."""
    return progress.progress_of(labs_in(notebooks))


def go_on(found: Sequence[LabProgress]) -> tuple[LabProgress, str] | None:
    """The lab and the exercise to go on with: in the lab of the last attempt, else in the one that comes next. What can wait comes
    when it is needed, and what is optional when everything else is solved.
    """
    for steps in (_core_steps(found), [(stop, name) for stop in found for name in stop.exercises]):
        tried = [
            (entry.get("last") or entry.get("first") or "", place)
            for place, (stop, name) in enumerate(steps)
            if (entry := stop.exercises[name]).get("attempts")
        ]
        last = steps[max(tried)[1]][0] if tried else None
        start = next((place for place, (stop, _) in enumerate(steps) if stop is last), 0)
        for stop, name in (*steps[start:], *steps[:start]):
            if stop.exercises[name].get("best", 0) != 1:
                return stop, name
    return None


def _core_steps(found: Sequence[LabProgress]) -> list[tuple[LabProgress, str]]:
    """The exercises of the core path in order; those that can wait for a lab stand right before it."""
    steps, waiting = [], []
    for stop in found:
        steps += [(earlier, name) for earlier, name, until in waiting if until == stop.lab.number]
        waiting += [(stop, name, until) for name, until in stop.lab.waits.items() if name in stop.exercises]
        steps += [(stop, name) for name in stop.exercises if name not in stop.lab.waits]
    numbers = {stop.lab.number for stop in found}
    return steps + [
        (stop, name) for stop, name, until in waiting if until != "optional" and until not in numbers
    ]


def way_to(lab: LabInfo, known: Sequence[LabInfo]) -> list[str]:
    """The numbers of the labs to do before one, in order: those that it needs, those that these need, and so on."""
    needs = {each.number: each.needs for each in known}
    found: set[str] = set()
    left = [*lab.needs]
    while left:
        if (number := left.pop()) not in found:
            found.add(number)
            left += needs.get(number, ())
    return sorted(found)


def write(notebooks: Path) -> Path:
    """Writes the page into the folder of the labs, and returns its path."""
    page = notebooks / FILE_NAME
    text = as_markdown(stops(notebooks))
    if not page.is_file() or page.read_text("utf-8") != text:
        page.write_text(text, "utf-8")
    return page


def refresh(notebooks: Path) -> None:
    """Brings the page up to date if there is one. A check never fails because this cannot be done."""
    with contextlib.suppress(Exception):
        if (notebooks / FILE_NAME).is_file():
            write(notebooks)


def as_markdown(found: Sequence[LabProgress]) -> str:
    """The page's text."""
    solved = sum(stop.solved for stop in found)
    count = sum(len(stop.exercises) for stop in found)
    lines = ["# Transformer labs", ""]
    following = go_on(found)
    if not found:
        lines += ["**There are no labs here yet.**", ""]
    elif following is None:
        lines += [
            "**You have solved every exercise.** Well done. What is left: the sections *Going further*.",
            "",
        ]
    else:
        stop, name = following
        word = "Continue with" if solved or stop.exercises[name] else "Begin with"
        lines += [f"## {word} [{stop.lab.number} {stop.lab.title}]({_link(stop.lab)}): `{name}`", ""]
    if "JUPYTERHUB_USER" in os.environ:  # where labs are fetched one by one, as they are released
        lines += ["Labs that you do not see here: *Nbgrader > Assignment List*, then *Fetch*.", ""]
    lines += [
        f"{solved} of {count} exercises solved.",
        "",
        *course_map(found),
        "You need not do all labs. *The shortest way* to a lab names the labs whose core paths you need before it, and how many minutes these take together. A section "
        "marked *before lab 05* is needed for lab 05.",
        "",
        "| lab | what you build | needs | the shortest way | minutes | solved |",
        "|---|---|---|---|---|---|",
    ]
    known = {stop.lab.number: stop.lab for stop in found}
    for stop in found:
        lab = stop.lab
        done = f"{stop.solved} of {len(stop.exercises)}"
        if stop.core_done and stop.solved < len(stop.exercises):
            done += ", core done"
        if partly := sum(0 < entry.get("best", 0.0) < 1 for entry in stop.exercises.values()):
            done += f", {partly} in part"
        way = way_to(lab, [*known.values()])
        minutes = sum(known[each].core_minutes or known[each].minutes for each in way if each in known)
        told = f"{', '.join(way)} ({minutes}\N{NO-BREAK SPACE}min)" if minutes else ", ".join(way)
        lines.append(
            f"| [{lab.number} {lab.title}]({_link(lab)}) | {lab.builds} | {', '.join(lab.needs)} | {told} | {lab.minutes}{core_part(lab.core_minutes)} | {done} |"
        )
    lines += [
        "",
        "In each lab: read, run the cells with Shift+Enter, replace what says `YOUR CODE HERE`, and run the check below it, as often as you "
        f"like. Your code stays in your notebooks. Later labs read it from there and use it if it passes its check. Which exercises you have solved is noted in "
        f"`{_readable(progress_file())}`. Beside it are weights that you train, and a note of what later labs have tried. Nothing is sent anywhere. To see this page with your latest "
        "results, close it and open it again.",
        "",
    ]
    return "\n".join(lines)


def _readable(path: Path) -> str:
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)


def _link(lab: LabInfo) -> str:
    return f"{lab.name}/{lab.slug}.ipynb"


# ---------------------------------------------------------------------------------- the map

_WIDTH, _HEIGHT, _GAP = 158, 88, 22


def course_map(found: Sequence[LabProgress]) -> list[str]:
    """Lines of Markdown: a row of cards for each part of the course, each card an image that links to its lab."""
    following = go_on(found)
    lines = []
    for title in dict.fromkeys(stop.lab.part for stop in found):
        row = [stop for stop in found if stop.lab.part == title]
        cards = [_linked(stop, stop is not row[0], following and following[0] == stop) for stop in row]
        lines += [f"**{title}**", "", " ".join(cards), ""]
    return lines


def _linked(stop: LabProgress, arrow: bool, here: bool | None) -> str:
    alt = f"{stop.lab.number} {stop.lab.title}: {stop.solved} of {len(stop.exercises)} solved"
    if here:
        alt += ", you are here"
    data = base64.b64encode(card(stop, arrow, bool(here)).encode()).decode()
    return f"[![{alt}](data:image/svg+xml;base64,{data})]({_link(stop.lab)})"


def card(stop: LabProgress, arrow: bool, here: bool) -> str:
    """A lab as SVG: a light card, readable on any theme.

    Args:
        arrow: whether an arrow leads to it, from the card before.
        here: whether the learner goes on with this lab.
    """
    done = stop.share == 1
    edge, wide = ("#1b7f5c", 2) if done else ("#c2410c", 2.5) if here else ("#b9c4cf", 1.2)
    x, y, middle = (_GAP if arrow else 0) + 2, 2, _HEIGHT / 2 + 2
    width, height, bar = x + _WIDTH + 2, _HEIGHT + 4, _WIDTH - 82
    count = "solved" if done else "core done" if stop.core_done else f"{stop.solved} of {len(stop.exercises)}"
    title = "".join(
        f'<text x="{x + 11}" y="{y + 41 + 15 * line}" font-size="12.5" fill="#22303d">{escape(text)}</text>'
        for line, text in enumerate(textwrap.wrap(stop.lab.title, 21)[:2])
    )
    lead = (
        f'<path d="M2 {middle}h{_GAP - 6}m-5 -4l5 4l-5 4" fill="none" stroke="#7b8a99" stroke-width="1.6"/>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif">{lead if arrow else ""}'
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="9" fill="#fff" stroke="{edge}" stroke-width="{wide}"/>'
        f'<text x="{x + 11}" y="{y + 22}" font-size="14" font-weight="700" fill="#22303d">{escape(stop.lab.number)}'
        f"{' ✓' if done else ' · you are here' if here else ''}</text>"
        f"{title}"
        f'<rect x="{x + 11}" y="{y + 67}" width="{bar}" height="8" rx="4" fill="#dbe3ea"/>'
        f'<rect x="{x + 11}" y="{y + 67}" width="{bar * stop.share:.1f}" height="8" rx="4" fill="#3b8bbd"/>'
        f'<text x="{x + bar + 17}" y="{y + 75}" font-size="11" fill="#4a5a6a">{count}</text></svg>'
    )
