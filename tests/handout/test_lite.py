"""JupyterLite beside the pages: what goes into it, and that it opens."""

from __future__ import annotations

import contextlib
import copy
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import nbformat
import pytest
from classroom import START
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import Locator, Page, TimeoutError, sync_playwright
from project import ROOT
from test_browser import CHROMIUM, FLAGS, keep_picture, scroll_to

from course_utils.progress import PROGRESS_VARIABLE
from grader.course import CourseError
from grader.handout import lite
from grader.handout.demo import solved
from grader.handout.lab_pages import with_note
from grader.reference.lab import checked_exercise

PLACE = lite.place_of(ROOT)
needs_lite = pytest.mark.skipif(
    PLACE is None,
    reason="the extra `lite` of pyproject.toml is not installed: `scripts/setup_extra.sh lite` does that where the package index has it",
)


def test_a_wheel_has_its_files_and_says_what_it_needs_and_equal_files_make_equal_wheels(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        file = lite.write_wheel(
            tmp_path / folder, "some_thing", "1.2", {"some_thing/__init__.py": b"told = 5\n"}, ["numpy"]
        )
    assert file.read_bytes() == (tmp_path / "one" / file.name).read_bytes()
    found = metadata.PathDistribution(zipfile.Path(file, "some_thing-1.2.dist-info/"))
    assert found.requires == ["numpy"] and found.version == "1.2"
    ran = subprocess.run(
        [sys.executable, "-c", "import some_thing; print(some_thing.told)"],
        env={"PYTHONPATH": str(file)},
        capture_output=True,
        text=True,
    )
    assert ran.stdout == "5\n", ran.stderr


def test_packages_that_are_compiled_here_go_along_as_the_python_they_were_made_of(tmp_path):
    file = lite.repacked(metadata.distribution("psygnal"), tmp_path)
    script = "import psygnal; s = psygnal.SignalInstance((int,)); got = []; s.connect(got.append); s.emit(3); print(psygnal.__file__, got)"
    ran = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": str(file)}, capture_output=True, text=True
    )
    assert str(file) in ran.stdout and "[3]" in ran.stdout, ran.stderr


def test_what_uses_pytorch_or_what_came_of_it_is_a_sentence_and_the_rest_stays():
    cells = [
        new_code_cell("import numpy as np\nimport torch"),
        new_code_cell("def f(x: torch.Tensor):\n    return x\n\nn = 1", id="f"),
        new_code_cell("def g(x):\n    n = 2\n    return np.sum(x) + n"),  # a name of its own
        new_code_cell('from course_utils import check\n\ncheck("lab.f")'),
        new_code_cell('check("lab.g")\nn = 3'),
        new_code_cell("print(n)"),
        new_code_cell("def h():\n    from course_utils.models.pretrained import read\n    return read"),
        new_code_cell("h()"),
        new_code_cell("%matplotlib inline"),
    ]
    found = [*lite.without_torch(cells)]
    assert [each.source for each in found if each.cell_type == "code"] == [
        "import numpy as np",
        "def g(x):\n    n = 2\n    return np.sum(x) + n",
        "from course_utils import check",
        'check("lab.g")\nn = 3',
        "print(n)",
        "%matplotlib inline",
    ]
    told = [each for each in found if each.cell_type == "markdown"]
    assert len(told) == 4 and all(each.metadata.tags == ["needs-torch"] for each in told)
    assert "**Not in the browser:**" in told[0].source and "def f(x: torch.Tensor)" in told[0].source
    assert told[-1].source.startswith("**Not in the browser** either.")  # two in a row


def test_what_a_cell_shows_elsewhere_stands_folded_in_its_place_as_a_text_cell_may_hold_it(labs, monkeypatch):
    cells = [
        new_code_cell("import torch\n\nprint(torch.ones(1))", id="one"),
        new_code_cell("torch.ones(2)", id="two"),
    ]
    ran = copy.deepcopy(cells)
    ran[0].outputs = [
        new_output("stream", name="stdout", text="1 < 2\n\nend"),
        new_output("display_data", data={"text/html": "<b>a\n\n\nb</b>", "text/plain": "a b"}),
        new_output("stream", name="stderr", text="a warning"),
    ]
    lab = labs[START]
    monkeypatch.setattr(type(lab), "release", lambda lab: new_notebook(cells=copy.deepcopy(cells)))
    notebook = lite.for_the_browser(lab, lab.release(), new_notebook(cells=ran))
    first, second = (each.source for each in notebook.cells if each.metadata.get("tags") == ["needs-torch"])
    shown = first.partition("What it shows, with the course's own solutions</summary>\n\n")[2]
    assert shown == "<pre>1 &lt; 2\nend</pre>\n<b>a\nb</b>\n\n\n</details>"
    assert "What it shows" not in second


def test_no_link_leads_to_what_is_not_in_the_browser(labs):
    names = []
    for name in lite.LABS:
        cells = lite.for_the_browser(labs[name], labs[name].release()).cells
        names += re.findall(r"\]\(\.\./([^)/]+)", "".join(each.source for each in cells))
        assert "The map of the course" in cells[0].source
    assert names and set(names) <= set(lite.LABS)


WITHOUT = """
import json, sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "tensorflow", "keras", "transformers", "scipy", "sklearn"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
namespace = {"__name__": "__main__"}
for number, source in enumerate(json.load(open("cells.json"))):
    try:
        exec(compile(source, f"cell {number}", "exec"), namespace)
    except Exception as error:
        raise SystemExit(f"{source} => {type(error).__name__}: {error}")
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", lite.LABS)
def test_the_solved_lab_for_the_browser_runs_where_nothing_can_be_imported_that_pyodide_lacks(
    labs, tmp_path, name
):
    lab = labs[name]
    shutil.copytree(lab.release_folder, tmp_path / name)
    cells = [each for each in lite.without_torch(solved(lab).cells) if each.cell_type == "code"]
    (tmp_path / name / "cells.json").write_text(json.dumps([each.source for each in cells]))
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        cwd=tmp_path / name,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            PROGRESS_VARIABLE: str(tmp_path / "progress.json"),
            "MPLBACKEND": "agg",
        },
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout.count("[ok] ") == sum(checked_exercise(each) is not None for each in cells)


def test_the_labs_for_the_browser_exist_and_their_pages_lead_there(labs):
    for name in lite.LABS:
        lab = labs[name]
        page = with_note(lab.release(), lab.info.number, False, None, f"../{lite.address(lab)}")
        assert (
            f'<a href="../lite/lab/index.html?path={name}/{lab.notebook_name}">try it here</a>'
            in page.cells[0].source
        )
        assert lite.HOST not in page.cells[0].source
        asks = with_note(lab.release(), lab.info.number, False, None, f"../{lite.address(lab)}", lite.HOST)
        assert "Your browser fetches Python from cdn.jsdelivr.net then." in asks.cells[0].source


def test_a_folder_without_pyodide_is_refused(labs, tmp_path):
    with pytest.raises(CourseError, match=r"has no pyodide\.mjs\. Unpack a Pyodide distribution"):
        lite.write_lite([labs[START]], tmp_path, tmp_path, pyodide=tmp_path)


PYODIDE = ROOT / ".build" / "pyodide"
in_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed: scripts/setup_browser.sh says how"
)
needs_pyodide = pytest.mark.skipif(
    not PYODIDE.is_dir(),
    reason="there is no Pyodide with NumPy: `scripts/gather_pyodide.py` gathers one where the package index has all of it",
)


@pytest.fixture(scope="module")
def built(labs, tmp_path_factory) -> Path:
    """A folder with JupyterLite in it, and a Pyodide, or one that is only a name."""
    site, pyodide = tmp_path_factory.mktemp("site"), PYODIDE
    if not pyodide.is_dir():
        pyodide = tmp_path_factory.mktemp("distribution") / "pyodide"
        pyodide.mkdir()
        for name in ("pyodide.mjs", "pyodide-lock.json"):
            (pyodide / name).write_text("{}")
    assert PLACE is not None
    lite.write_lite([labs[name] for name in lite.LABS], site, PLACE, pyodide)
    return site


@pytest.fixture
def visit(built) -> Iterator[tuple[Page, str, list[str]]]:
    """A page of a browser, the address of the site, and a list of all that the browser asks for."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=built))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        page.set_default_timeout(600_000)
        yield page, f"http://127.0.0.1:{server.server_port}", asked
        browser.close()
    server.shutdown()


@needs_lite
@pytest.mark.slow
def test_jupyterlite_has_the_labs_and_the_course_without_weights(built, labs):
    for name in lite.LABS:
        here = {path.name for path in labs[name].release_folder.iterdir() if path.is_file()}
        assert {path.name for path in (built / "lite" / "files" / name).iterdir()} == here
    (wheel,) = (built / "lite" / "pypi").glob("transformer_labs-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "course_utils/checking/check.py" in names and not any(
        "weights/" in name or "grader" in name for name in names
    )
    assert wheel.stat().st_size < 600_000
    assert not list((built / "lite").rglob("*.map"))


@needs_lite
@pytest.mark.slow
@in_chromium
def test_a_lab_opens_in_jupyterlite_and_with_pyodide_in_the_site_nobody_else_is_asked(visit, labs):
    page, address, asked = visit
    with page.context.expect_event("request", lambda request: request.url.endswith("pyodide.mjs")):
        page.goto(f"{address}/{lite.address(labs[START])}")
    page.get_by_role("heading", name="Lab 00: start here").wait_for()
    page.get_by_role("strong").filter(has_text="You are in JupyterLite").wait_for()
    assert f"{address}/lite/static/pyodide/pyodide.mjs" in asked
    assert nobody_else(address, asked)


def nobody_else(address: str, asked: list[str]) -> bool:
    """Whether nothing came from elsewhere."""
    return all(url.startswith((address, "data:", "blob:")) for url in asked)


def run_all_and_see(page: Page, sign: str, wanted: Locator) -> None:
    """Presses *Run All Cells* until something stands near the cell with this in it. What is run before Python is there waits for it, except
    in the moment in which JupyterLab joins the kernel: it drops that.
    """
    for _ in range(8):
        # on a busy machine the menu may be closed again before it is chosen from
        with contextlib.suppress(TimeoutError):
            page.keyboard.press("Escape")  # a menu that is open already
            page.get_by_role("menuitem", name="Run", exact=True).click(timeout=60_000)
            page.get_by_role("menuitem", name=re.compile("^Run All Cells")).click(timeout=10_000)
        with contextlib.suppress(AssertionError):
            see(page, sign, wanted, 10)
            return
    raise AssertionError(f"nothing runs near {sign}")


def go_to(page: Page, sign: str) -> None:
    """Scrolls to the first cell with this in it, wherever the page is."""
    page.locator(".jp-WindowedPanel-outer").evaluate("element => element.scrollTo(0, 0)")
    scroll_to(page, sign)


def see(page: Page, sign: str, wanted: Locator, times: int = 60) -> None:
    """Waits for what stands near the cell with this in it. JupyterLab moves to cells that run, and draws only what is near: it is looked for again."""
    for _ in range(times):
        go_to(page, sign)
        with contextlib.suppress(TimeoutError):
            wanted.first.wait_for(timeout=10_000)
            return
    raise AssertionError(f"nothing of what was expected near {sign}")


def rewrite(page: Page, sign: str, text: str) -> None:
    """Types another text into the cell that has this in it, and runs it. A cell may lose the cursor when JupyterLab moves to another one that
    runs; what is typed then goes nowhere, so it is looked at before it is run.
    """
    typed = page.locator(".jp-CodeCell", has_text=sign).first.locator(".cm-content")
    for _ in range(20):
        go_to(page, sign)
        with contextlib.suppress(TimeoutError):
            typed.click(timeout=5_000)
            page.keyboard.press("Control+a")
            page.keyboard.insert_text(text)
            if typed.inner_text(timeout=5_000).split() == text.split():
                page.keyboard.press("Shift+Enter")
                return
    raise AssertionError(f"nothing can be typed into the cell with {sign}")


@needs_lite
@needs_pyodide
@pytest.mark.slow
@in_chromium
def test_the_first_exercise_is_solved_in_the_browser_and_a_mistake_named_on_the_way(visit, labs):
    page, address, asked = visit
    lab = labs[START]
    page.goto(f"{address}/{lite.address(lab)}")
    page.get_by_role("heading", name="Lab 00: start here").wait_for()
    check = 'check("start_here.softmax")'
    unwritten = "part of it is not written yet. Replace the lines marked YOUR CODE HERE"
    run_all_and_see(page, check, page.get_by_text(unwritten))
    mistake = next(each for each in lab.misconceptions["start_here.softmax"] if each.name == "axis_ignored")
    for text, said in (
        (mistake.source, mistake.title),
        (lab.solution_texts["softmax"], re.compile(r"softmax: all \d+ checks passed\.")),
    ):
        for _ in range(5):  # Shift+Enter may reach another cell, too
            rewrite(page, "def softmax(", text)
            rewrite(page, check, f"from course_utils import check\n\n{check}")
            with contextlib.suppress(AssertionError):
                see(page, check, page.get_by_text(said), 12)
                break
        else:
            raise AssertionError(f"nothing says {said}")
    keep_picture(page, "solved_in_the_browser")
    assert nobody_else(address, asked)


@needs_lite
@needs_pyodide
@pytest.mark.slow
@in_chromium
@pytest.mark.parametrize("name", lite.LABS)
def test_the_solved_lab_runs_in_the_browser(visit, built, labs, its_turn, name):
    its_turn(lite.LABS.index(name), len(lite.LABS))
    page, address, asked = visit
    lab = labs[name]
    notebook = lite.for_the_browser(lab, solved(lab))
    nbformat.write(notebook, built / "lite" / "files" / name / lab.notebook_name)
    page.goto(f"{address}/{lite.address(lab)}")
    page.locator(".jp-Notebook").wait_for()
    last = page.get_by_role("button", name="Make a package of my code")
    run_all_and_see(page, "portfolio.button()", last)  # so no earlier cell has failed
    for exercise in filter(None, map(checked_exercise, notebook.cells)):
        passed = re.compile(rf"\b{exercise.partition('.')[2]}: all \d+ checks passed\.")
        see(page, f'check("{exercise}")', page.get_by_text(passed))
    for _ in range(2):  # what has not run again stays in what is saved, too
        page.get_by_role("menuitem", name="File", exact=True).click()
        page.get_by_role("menuitem", name=re.compile("^Save Notebook$|^Save Notebook Ctrl")).click()
        page.locator("#jp-main-dock-panel .lm-TabBar-tab.jp-mod-dirty").wait_for(state="detached")
        page.reload()
        page.locator(".jp-Notebook").wait_for()
        see(page, "portfolio.button()", last)
    assert nobody_else(address, asked)
