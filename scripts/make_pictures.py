"""Makes every picture in docs/images anew, but rooms.svg, which is drawn by hand.

    .venv/bin/python scripts/make_pictures.py            # all of them, a few minutes
    .venv/bin/python scripts/make_pictures.py check      # only check.png

Run it after a change of what they show, then look at each. Chromium draws them, from the same code that learners and instructors run.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Page, sync_playwright

from course_utils import start_page
from course_utils.checking.exercise import exercises_of, sentence
from course_utils.progress import PROGRESS_VARIABLE, progress_file
from course_utils.widgets.stepper import AttentionStepper
from grader.catalogue import run_cell
from grader.course import Course
from grader.handout.demo import solved
from grader.handout.lab_pages import live_widget
from grader.reference.lab import Lab, checked_exercise, runs_in_grading

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
LAB = "02_self_attention"
EXERCISE = "self_attention.scaled_dot_product_attention"
MISTAKE = "no_scaling"
"""The misconception that the picture of a check shows: ``grader build`` refuses a lab in which it is not recognised."""

SHOWN = "Shown"
"""The name of the note in each PNG: see :func:`fingerprint`."""

Draw = Callable[[Page, Path], None]
"""Draws one picture, with an empty folder to work in."""


def map_text(scratch: Path) -> str:
    """The map of the course, before anything is solved."""
    shutil.copytree(ROOT / "notebooks", scratch / "labs", ignore=shutil.ignore_patterns("*.npz", ".*"))
    text = start_page.write(scratch / "labs").read_text("utf-8")
    return text.replace(str(progress_file()), "~/.transformer-labs/progress.json")  # where a learner has it


def fingerprint(text: str) -> str:
    """What a picture notes of the text that it shows: a test says when the picture is of another one."""
    return hashlib.sha256(text.encode()).hexdigest()


def checks_text() -> str:
    """The titles of all checks of the lab that the pictures of a check, a report and a feedback page show: as many as these count."""
    exercises = exercises_of(LAB.partition("_")[2])
    return "\n".join(
        f"{name}: {title}"
        for name, each in exercises.items()
        for title in (*(case.title for case in each.cases), *map(sentence, each.properties))
    )


def _save(png: bytes, name: str, text: str) -> None:
    note = PngInfo()
    note.add_text(SHOWN, fingerprint(text))
    with Image.open(io.BytesIO(png)) as picture:
        picture.save(IMAGES / name, pnginfo=note, optimize=True)


def start(page: Page, scratch: Path) -> None:
    """The map of the course, before anything is solved."""
    text = map_text(scratch)
    _open(page, new_notebook(cells=[new_markdown_cell(text)]), scratch, 970, 1290)
    _save(page.screenshot(full_page=True), "start.png", text)


def check(page: Page, scratch: Path) -> None:
    """A check that recognises a misconception, as the notebook shows it."""
    lab = Lab.load(Course(ROOT), LAB)
    shutil.copytree(lab.release_folder, scratch / "lab")
    entry = next(each for each in lab.misconceptions[EXERCISE] if each.name == MISTAKE)
    notebook = solved(lab, {EXERCISE.partition(".")[2]: entry.source})
    last = next(place for place, cell in enumerate(notebook.cells) if checked_exercise(cell) == EXERCISE)
    notebook.cells = [cell for cell in notebook.cells[: last + 1] if runs_in_grading(cell)]
    NotebookClient(notebook, resources={"metadata": {"path": scratch / "lab"}}, allow_errors=True).execute()
    notebook.cells = notebook.cells[-1:]
    _open(page, notebook, scratch, 950, 800)
    _save(page.locator(".jp-Cell").last.screenshot(), "check.png", checks_text())


def attention(page: Page, scratch: Path) -> None:
    """Lab 02's picture of attention, step by step, as a film."""
    lab = Lab.load(Course(ROOT), LAB)
    names: dict = {"__name__": "__main__"}
    for cell in lab.source().cells:
        if "\nattention_stepper(words" in cell.source:
            break
        if runs_in_grading(cell) and checked_exercise(cell) is None:
            run_cell(cell.source, f"<{cell.id}>", names)
    widget = AttentionStepper(*(names[each] for each in ("words", "query", "key", "value")), word=1)
    body = live_widget(widget.live().get_state(), widget.still())
    script = (ROOT / "grader" / "handout" / "site_files" / "widgets.js").read_text("utf-8")
    file = scratch / "widget.html"
    file.write_text(
        f'<!doctype html><meta charset="utf-8"><body style="margin:0;background:#fff">{body}<script type="module">{script}</script>',
        "utf-8",
    )
    page.set_viewport_size({"width": 860, "height": 596})
    page.goto(file.as_uri())
    page.wait_for_selector("[data-live=true]")
    frames = []
    following = page.get_by_role("button", name="Next")
    while True:
        page.mouse.move(859, 595)
        page.evaluate("Promise.all(document.getAnimations().map((each) => each.finished))")
        frames.append(Image.open(io.BytesIO(page.screenshot())).convert("P", palette=Image.Palette.ADAPTIVE))
        if following.is_disabled():
            break
        following.click()
    times = [2200] * (len(frames) - 1) + [4400]
    frames[0].save(
        IMAGES / "attention.gif",
        save_all=True,
        append_images=frames[1:],
        duration=times,
        loop=0,
        optimize=True,
    )


def classroom(page: Page, scratch: Path) -> None:
    """The report of a made-up class, and one feedback page of it."""
    made = subprocess.run(
        [sys.executable, "-m", "grader", "demo", LAB], cwd=ROOT, text=True, capture_output=True, check=True
    ).stdout
    pages = {
        name.strip(": "): address
        for name, _, address in (line.strip().partition(" ") for line in made.splitlines())
        if name in ("report:", "feedback:")
    }
    for name, (width, height) in {"report": (1000, 1230), "feedback": (960, 705)}.items():
        page.set_viewport_size({"width": width, "height": height})
        page.goto(pages[name].strip())
        _save(page.screenshot(), f"{name}.png", checks_text())


PICTURES: dict[str, Draw] = {
    "start": start,
    "check": check,
    "attention": attention,
    "classroom": classroom,
}
"""What can be asked for by name; ``classroom`` makes report.png and feedback.png."""


def _open(page: Page, notebook: NotebookNode, scratch: Path, width: int, height: int) -> None:
    """Opens a notebook as JupyterLab's own styles show it."""
    nbformat.validate(notebook)
    html, _ = HTMLExporter(template_name="lab").from_notebook_node(notebook)
    (scratch / "page.html").write_text(html, "utf-8")
    page.set_viewport_size({"width": width, "height": height})
    page.goto((scratch / "page.html").as_uri(), wait_until="domcontentloaded")


def main(names: list[str]) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for name in names or PICTURES:
            with tempfile.TemporaryDirectory() as scratch:
                os.environ[PROGRESS_VARIABLE] = str(Path(scratch) / "progress.json")
                page = browser.new_page()
                page.route("http*://**", lambda route: route.abort())  # nothing is fetched
                PICTURES[name](page, Path(scratch))
                page.close()
                print(f"{name}: done")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
