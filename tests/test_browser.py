"""The labs in a real browser: JupyterLab as `make lab` starts it, driven by Chromium as a learner would.

Screenshots go to the folder named by TRANSFORMER_LABS_SCREENSHOTS, if it is set, to be looked at.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import TimeoutError, sync_playwright
from project import ROOT

from grader.handout.demo import solved

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None, reason="Chromium is not installed: scripts/setup_browser.sh says how"
    ),
]


MADE_WIDGETS = (
    """import numpy as np
from course_utils.widgets.training import watch_it_learn

kept = {0: np.full((2, 2), 0.5), 10: np.array([[0.7, 0.3], [0.4, 0.6]]), 20: np.eye(2)}
watch_it_learn(["one", "two"], ["eins", "zwei"], kept)""",
    """from course_utils.widgets.alignment import type_and_align


def backwards(sentence):
    words = sentence.split()
    return words, words[::-1], np.eye(len(words))[::-1]


type_and_align(backwards, ["le chat noir"])""",
    """from types import SimpleNamespace

from course_utils.widgets.word_moves import Word, word_moves


def read(sentence):  # bank is near whatever else is in the sentence
    tokens = sentence.lower().split()
    about = [3.0 * ("river" in tokens), 3.0 * ("money" in tokens), len(tokens) / 10, 1.0]
    return SimpleNamespace(tokens=tokens, hidden=np.array([[about] * len(tokens)]))


senses = {"water": ["the river bank", "a bank at the river"], "cash": ["the money bank", "money in the bank"]}
word_moves(read, {"bank": Word(senses, ["my river bank", "my money bank"])})""",
    """from course_utils.widgets.predict import measured, predict

predict("self_attention.shuffled")""",
    """from course_utils.plots.attention import temperature_widget

temperature_widget(np.array([1.0, 0.0]), ["one", "two"])""",
    """from course_utils.widgets.clocks import clocks

clocks(np.arange(41)[:, None] * np.array([1.0, 0.1]), offset=4)""",
    """from course_utils.widgets.head_columns import head_columns

head_columns(["one", "two"], np.eye(2), *[np.eye(2)] * 4, num_heads=2, features=["a", "b"])""",
    """from course_utils.widgets.zoom import zoom

zoom()""",
    """from course_utils.widgets.decoding import decoding_loop

decoding_loop()""",
    """from course_utils.widgets.type_french import type_french

type_french()""",
    'measured("self_attention.shuffled")',
)
"""Cells with the widgets of labs 01 to 05, those of 01 to 04 on small made data."""


@pytest.fixture(scope="module")
def jupyterlab(tmp_path_factory, labs):
    """A running JupyterLab over a copy of the labs, each unsolved and solved; yields its address."""
    root = tmp_path_factory.mktemp("learner")
    for lab in labs.values():
        folder = root / lab.name
        shutil.copytree(lab.release_folder, folder, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
        nbformat.write(solved(lab), folder / "solved.ipynb")
    wrong = nbformat.read(root / "02_self_attention" / "solved.ipynb", as_version=4)
    for cell in wrong.cells:
        cell.source = cell.source.replace(" / np.sqrt(key.shape[-1])", "")
    nbformat.write(wrong, root / "02_self_attention" / "wrong.ipynb")
    heads = nbformat.v4.new_code_cell(
        "from course_utils.models.pretrained import read\nfrom course_utils.widgets.heads import head_browser\n\n"
        'head_browser(read, "The cat sat on the mat because the mat was warm.")'
    )
    nbformat.write(nbformat.v4.new_notebook(cells=[heads], metadata=wrong.metadata), root / "heads.ipynb")
    stepper = nbformat.v4.new_code_cell(
        "import numpy as np\nfrom course_utils.widgets.stepper import attention_stepper\n\n"
        "x = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 3.0]])\n"
        'attention_stepper(["one", "two", "three"], x, x, x)'
    )
    figure = nbformat.v4.new_code_cell(
        "from course_utils.plots import show_figure\nfrom course_utils.plots.attention import word_bars\n\n"
        'show_figure(word_bars(["one", "two"], [0.3, 0.7], "Shares"), alt="Two bars.")'
    )
    nbformat.write(
        nbformat.v4.new_notebook(cells=[stepper, figure], metadata=wrong.metadata), root / "stepper.ipynb"
    )
    writer = nbformat.v4.new_code_cell(
        "from course_utils.plots.language import writer_box\n\n\n"
        "def likeliest_next(text):  # stands in for a language model: it counts the words\n"
        "    return [(f' {len(text.split()) + more}', 0.5 / 2**more) for more in range(5)]\n\n\n"
        "writer_box(likeliest_next, 'The train')"
    )
    looks = nbformat.v4.new_code_cell(
        "from types import SimpleNamespace\n\nimport numpy as np\n\n"
        "from course_utils.plots.language import causal_heads\n\n\n"
        "def read(sentence):  # the first head looks at the word itself, the second one at the first word\n"
        "    words = sentence.split()\n"
        "    first = np.eye(len(words))[np.zeros(len(words), int)]\n"
        "    return SimpleNamespace(tokens=words, attention=np.array([[np.eye(len(words)), first]]))\n\n\n"
        "causal_heads(read, 'Mary gave the book', layer=1, head=1)"
    )
    nbformat.write(
        nbformat.v4.new_notebook(cells=[writer, looks], metadata=wrong.metadata), root / "writer.ipynb"
    )
    nbformat.write(
        nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in MADE_WIDGETS], metadata=wrong.metadata
        ),
        root / "widgets.ipynb",
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "TRANSFORMER_LABS_PROGRESS": str(root / ".progress.json"),
        "JUPYTER_CONFIG_DIR": str(root / ".jupyter"),
        "JUPYTERLAB_SETTINGS_DIR": str(root / ".settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(root / ".workspaces"),
    }
    course = tmp_path_factory.mktemp("course")
    (course / ".venv").symlink_to(sys.prefix)  # the script looks for it beside itself
    shutil.copytree(ROOT / "scripts", course / "scripts")
    (course / "course_utils").symlink_to(ROOT / "course_utils")
    command = [course / "scripts/open_jupyter.sh", "--no-browser", f"--ServerApp.port={port}",
               f"--ServerApp.root_dir={root}", "--IdentityProvider.token=", "--ServerApp.password="]  # fmt: skip
    with (root / ".log").open("w") as log:
        server = subprocess.Popen(command, env=environment, cwd=root, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_until_up(f"http://127.0.0.1:{port}/api", server, root / ".log")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(20)


def wait_until_up(address: str, server: subprocess.Popen, log: Path) -> None:
    for _ in range(300):
        try:
            with urllib.request.urlopen(address, timeout=2) as answer:
                json.load(answer)
                return
        except OSError:
            assert server.poll() is None, log.read_text()
            time.sleep(0.2)  # the server has no other way to say that it listens
    raise AssertionError(log.read_text())


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(300_000)
    yield page
    page.close()


def open_notebook(page, address: str, path: str) -> None:
    page.goto(f"{address}/lab/tree/{path}?reset")
    page.locator(".jp-Notebook").wait_for()
    page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").first.wait_for()
    for _ in range(
        600
    ):  # it says so before there is a kernel, too; run then, JupyterLab asks for one, or does nothing
        if any(joined(session, path) for session in page.request.get(f"{address}/api/sessions").json()):
            return
        page.wait_for_timeout(200)
    raise AssertionError(f"{path} has got no kernel")


def joined(session: dict, path: str) -> bool:
    kernel = session.get("kernel") or {}
    return (
        session["path"] == path
        and kernel.get("execution_state") == "idle"
        and kernel.get("connections", 0) > 0
    )


def run_all(page) -> None:
    busy = page.locator(".jp-Notebook-ExecutionIndicator[data-status=busy]").first
    for _ in range(30):  # JupyterLab drops what it is told to run in the moment in which it joins the kernel
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name=re.compile("^Run All Cells")).click()
        with contextlib.suppress(TimeoutError):
            busy.wait_for(timeout=10_000)
            break
    page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").first.wait_for(timeout=240_000)


def choose_theme(page, name: str) -> None:
    """JupyterLab's own theme "Light" or "Dark"."""
    page.get_by_role("menuitem", name="Settings", exact=True).click()
    page.locator(".lm-Menu-item", has_text=re.compile("^Theme$")).hover()
    page.locator(".lm-Menu-item", has_text=re.compile(f"^JupyterLab {name}$")).click()
    page.locator(f"body[data-jp-theme-light={str(name == 'Light').lower()}]").wait_for(state="attached")


def scroll_to(page, grade_id: str) -> None:
    """Scrolls the cell after the one whose text is given into view. The notebook draws only what is near, and on a busy machine late: it is
    read from its beginning again.
    """
    notebook = page.locator(".jp-WindowedPanel-outer")
    for step in range(400):
        found = page.locator(".jp-CodeCell", has_text=grade_id)
        if found.count():
            found.first.scroll_into_view_if_needed()
            return
        notebook.evaluate(
            "(element, again) => element.scrollTo(0, again ? 0 : element.scrollTop + 700)", step % 80 == 79
        )
        page.wait_for_timeout(100)
    raise AssertionError(f"no cell with {grade_id}")


def saved(page, address: str, path: str) -> dict:
    """Saves the open notebook when all of it has run, and returns what the server has: all of that, too."""
    for _ in range(150):  # idle is a kernel between two cells, too, and half a file one that is being written
        page.keyboard.press("Control+s")
        page.wait_for_timeout(2000)
        answer = page.request.get(f"{address}/api/contents/{path}")
        if answer.ok and is_whole(notebook := answer.json()["content"]):
            return notebook
    raise AssertionError(answer.text())


def save_again(page, address: str, path: str) -> None:
    """Saves the open notebook as it is; unlike the keys, the menu does so wherever the focus is."""
    url = f"{address}/api/contents/{path}?content=0"
    before = page.request.get(url).json()["last_modified"]
    page.get_by_role("menuitem", name="File", exact=True).click()
    page.get_by_role("menuitem", name=re.compile("^Save Notebook$|^Save Notebook Ctrl")).click()
    for _ in range(100):
        page.wait_for_timeout(200)
        if page.request.get(url).json()["last_modified"] != before:
            return
    raise AssertionError(f"{path} was not saved")


def is_whole(notebook: dict) -> bool:
    """Whether every cell has run and every widget that is shown has its state in the file."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code" and cell["source"].strip()]
    views = [
        output["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]
        for cell in cells
        for output in cell["outputs"]
        if "application/vnd.jupyter.widget-view+json" in output.get("data", {})
    ]
    states = notebook["metadata"].get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {})
    return all(cell["execution_count"] for cell in cells) and set(views) <= set(states.get("state", {}))


def end_kernels(page, address: str) -> None:
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "_xsrf")
    for session in page.request.get(f"{address}/api/sessions").json():
        url = f"{address}/api/sessions/{session['id']}"
        assert page.request.delete(url, headers={"X-XSRFToken": token}).ok


def keep_picture(page, name: str) -> None:
    if folder := os.environ.get("TRANSFORMER_LABS_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.wait_for_timeout(500)  # the notebook draws what scrolls into view a moment later
        page.screenshot(path=Path(folder) / f"{name}.png")


def validate(page) -> str:
    """Presses nbgrader's Validate button and returns what its dialog says."""
    page.get_by_role("button", name="Validate").first.click()
    dialog = page.locator(".jp-Dialog-content")
    dialog.wait_for(timeout=240_000)
    while "Validat" in (text := dialog.last.inner_text()) and "..." in text:
        page.wait_for_timeout(200)
    return text


def test_the_start_page_opens_with_its_first_lines(jupyterlab, page):
    open_notebook(page, jupyterlab, "00_start_here/start_here.ipynb")
    page.get_by_role("heading", name=re.compile("Lab 00")).wait_for()
    keep_picture(page, "start")


def test_prose_keeps_its_width_in_a_wide_window_and_code_and_tables_do_not(jupyterlab, page):
    page.set_viewport_size({"width": 1900, "height": 900})
    open_notebook(page, jupyterlab, "02_self_attention/self_attention.ipynb")
    prose = page.locator(".jp-MarkdownOutput p").first
    page.wait_for_function(
        "element => element.getBoundingClientRect().width < 700", arg=prose.element_handle()
    )
    left = prose.bounding_box()["x"]
    assert abs(page.locator(".jp-MarkdownOutput table").first.bounding_box()["x"] - left) < 2
    assert page.locator(".jp-CodeCell .jp-InputArea-editor").first.bounding_box()["width"] > 1000
    keep_picture(page, "wide")
    page.set_viewport_size({"width": 900, "height": 900})
    page.wait_for_function(
        "element => element.getBoundingClientRect().right < 880", arg=prose.element_handle()
    )


def test_an_unsolved_check_says_kindly_that_there_is_a_part_to_write(jupyterlab, page):
    open_notebook(page, jupyterlab, "02_self_attention/self_attention.ipynb")
    run_all(page)
    scroll_to(page, 'check("self_attention.project_qkv")')  # Run All stops there
    page.get_by_text(
        "part of it is not written yet. Replace the lines marked YOUR CODE HERE"
    ).first.wait_for()
    text = page.get_by_text("is the matrix product").first
    assert not text.is_visible()
    hint = page.get_by_text("Hint 1 of 1: how do I multiply matrices in NumPy?").first
    for _ in range(5):  # when Run All stops, JupyterLab goes to the cell, and takes the focus along
        hint.focus()
        page.keyboard.press("Enter")
        with contextlib.suppress(TimeoutError):
            text.wait_for(timeout=5_000)
            break
    assert text.is_visible()
    keep_picture(page, "unsolved")


def test_the_solved_lab_runs_from_top_to_bottom_without_an_error_or_a_warning(jupyterlab, page):
    open_notebook(page, jupyterlab, "02_self_attention/solved.ipynb")
    run_all(page)
    for exercise in ("project_qkv", "scaled_dot_product_attention", "cross_attention"):
        scroll_to(page, f'check("self_attention.{exercise}")')
        page.get_by_text(re.compile(rf"{exercise}: all \d+ checks passed\.")).first.wait_for()
        keep_picture(page, f"solved_{exercise}")
    for cell in saved(page, jupyterlab, "02_self_attention/solved.ipynb")["cells"]:
        for output in cell.get("outputs", []):
            assert output["output_type"] != "error", output
            assert output.get("name") != "stderr", output
    scroll_to(page, "word_picker(")
    page.locator(".tl-widget", has_text="attends to").get_by_role("radio", name="l'Afrique").click()
    page.get_by_text("“l'Afrique” attends to").first.wait_for()
    keep_picture(page, "word_picker")
    scroll_to(page, "quiz(")
    keep_picture(page, "quiz")
    for name in ("reopened", "reopened_after_saving"):
        end_kernels(page, jupyterlab)
        answers_without_a_kernel(page, jupyterlab, "02_self_attention/solved.ipynb")
        assert not page.get_by_text("Error displaying widget").count()
        keep_picture(page, name)
        save_again(page, jupyterlab, "02_self_attention/solved.ipynb")  # JupyterLab leaves widgets out now


def answers_without_a_kernel(page, address: str, path: str) -> None:
    """Opens a notebook of lab 02, in which nothing has run since, and asks one of its widgets. A busy JupyterLab may draw no
    saved widget until it is opened again.
    """
    picked = page.locator(".tl-widget", has_text="attends to").get_by_role("radio", name="visite")
    answer = page.get_by_text("“visite” attends to").first
    for _ in range(3):
        open_notebook(page, address, path)
        for _ in range(2):  # outputs above may still appear, and push both out of what is drawn
            scroll_to(page, "word_picker(")
            with contextlib.suppress(TimeoutError):
                picked.click(timeout=20_000)
                answer.wait_for(timeout=20_000)
                return
    raise AssertionError(
        page.locator(".jp-CodeCell", has_text="word_picker(").locator(".jp-OutputArea").inner_html()
    )


def test_the_keyboard_reaches_every_part_of_the_head_browser_and_works_there(jupyterlab, page):
    open_notebook(page, jupyterlab, "heads.ipynb")
    run_all(page)
    widget = page.locator(".tl-widget")
    left, right = (widget.get_by_text(re.compile(f"^{side}: layer")) for side in ("Left", "Right"))
    widget.get_by_role("button", name="previous token").focus()
    seen = []
    for _ in range(3):  # a control that is made anew when it is used loses the keyboard's place
        page.keyboard.press("Enter")
        seen.append((page.evaluate("document.activeElement.innerText"), left.inner_text()))
        page.keyboard.press("Tab")
    assert [name for name, _ in seen] == ["previous token", "next token", "itself"]
    assert len({text for _, text in seen}) == 3
    widget.locator("button[role=gridcell][tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("Enter")
    assert left.inner_text() == f"Left: {label}"
    widget.get_by_role("radio", name="right head").click()
    widget.get_by_role("gridcell", name="layer 1, head 5").click()
    assert right.inner_text() == "Right: layer 1, head 5" and left.inner_text() == f"Left: {label}"
    pictures = widget.locator("svg[tabindex='0']")
    pictures.first.focus()
    page.keyboard.press("ArrowDown")
    assert pictures.nth(1).get_attribute("aria-label").count("looks most at") == 1  # both show the same word
    page.keyboard.press("Escape")
    words = pictures.first.get_attribute("aria-label").count("looks most at")
    widget.get_by_role("button", name="Hide [CLS] and [SEP]").click()
    assert pictures.first.get_attribute("aria-label").count("looks most at") == words - 2
    widget.get_by_label("sentence").fill("Two words")
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelectorAll('.tl-widget svg')[0].textContent.includes('two')")
    assert pictures.first.get_attribute("aria-label").count("looks most at") == 2
    keep_picture(page, "heads")
    save_again(page, jupyterlab, "heads.ipynb")  # the keys would go to the widget
    end_kernels(page, jupyterlab)
    open_notebook(page, jupyterlab, "heads.ipynb")
    widget.get_by_label("sentence").fill("Two more words")
    page.keyboard.press("Enter")
    page.get_by_text("Only a running kernel can read another sentence: run this cell again.").wait_for()
    assert (
        pictures.first.get_attribute("aria-label").count("looks most at") == 4
    )  # of the picture that was saved
    widget.get_by_role("gridcell", name="layer 2, head 3").click()
    assert left.inner_text() == "Left: layer 2, head 3"
    link = "getComputedStyle(element.closest('.jupyter-widgets-disconnected'), '::before').display"
    assert widget.evaluate(f"element => {link}") == "none"  # JupyterLab's picture of a broken link
    keep_picture(page, "heads_without_kernel")


def test_a_widget_steps_by_keyboard_a_figure_follows_the_theme_and_no_other_machine_is_asked(
    jupyterlab, browser
):
    page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page.set_default_timeout(300_000)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_notebook(page, jupyterlab, "stepper.ipynb")
    run_all(page)
    widget = page.locator(".tl-widget")
    picture = widget.locator("svg[tabindex='0']")
    picture.focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    widget.get_by_text("Step 3 of 6: scores").wait_for()
    widget.get_by_text("2.00·2.00 + 0.00·0.00 = 4.00").wait_for()
    page.keyboard.press("ArrowDown")
    assert widget.get_by_role("radio", name="two").get_attribute("aria-checked") == "true"
    page.keyboard.press("End")
    widget.get_by_text("Step 6 of 6: sum").wait_for()
    moving = "element => element.getAnimations({subtree: true}).length"
    assert picture.evaluate(moving) == 0, "the reader wants no motion"
    page.emulate_media(reduced_motion="no-preference")
    # looked at at once: on a busy machine the motion is over before the next command gets there
    press = "element.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft', bubbles: true }))"
    assert picture.evaluate(f"element => {{ {press}; return ({moving})(element); }}") > 0
    ink = "element => getComputedStyle(element.querySelector('text')).fill"
    light = picture.evaluate(ink)
    figure = page.get_by_alt_text("Two bars.")
    shown = "element => getComputedStyle(element).content"
    assert figure.evaluate(shown) == "normal"
    keep_picture(page, "stepper_light")
    choose_theme(page, "Dark")
    page.wait_for_function(f"light => ({ink})(document.querySelector('.tl-widget svg')) !== light", arg=light)
    assert figure.evaluate(shown).startswith('url("data:image/webp')
    keep_picture(page, "stepper_dark")
    picture.focus()
    page.keyboard.press("Escape")  # back to the notebook
    assert page.evaluate("document.activeElement.classList.contains('jp-Cell')")
    saved(page, jupyterlab, "stepper.ipynb")
    end_kernels(page, jupyterlab)
    open_notebook(page, jupyterlab, "stepper.ipynb")  # what was saved is drawn, though nothing has run
    page.locator(".tl-widget").get_by_role("radio", name="all words at once").click()
    page.locator(".tl-widget").get_by_text("Step 1 of 5: Q and Kᵀ").wait_for()
    page.set_viewport_size({"width": 390, "height": 900})
    shrunk = "element => element.getBoundingClientRect().width / element.viewBox.baseVal.width"
    assert page.locator(".tl-widget svg[tabindex='0']").evaluate(shrunk) >= 0.65, "its text is too small"
    assert not [url for url in asked if not url.startswith((jupyterlab, "blob:", "data:"))]
    page.close()


def test_the_box_goes_on_with_a_text_and_the_picture_of_a_head_follows_by_keyboard(jupyterlab, page):
    open_notebook(page, jupyterlab, "writer.ipynb")
    run_all(page)
    typed = page.get_by_label("text", exact=True)
    assert typed.input_value() == "The train"
    page.get_by_role("button", name="␣2").wait_for()
    typed.fill("The train left")
    page.keyboard.press("Enter")
    page.get_by_text("The train left ...").wait_for()
    page.get_by_role("button", name="␣3").focus()
    page.keyboard.press("Enter")  # writes the token; then come the next five
    page.get_by_text("The train left 3 ...").wait_for()
    page.get_by_role("button", name="␣4").wait_for()
    assert typed.input_value() == "The train left 3"
    page.get_by_label("sentence").scroll_into_view_if_needed()
    keep_picture(page, "writer")
    page.get_by_label("sentence").fill("John had asked")
    page.keyboard.press("Enter")
    page.get_by_label("asked looks most at asked (1.00)").wait_for()
    page.get_by_role("slider").nth(1).focus()
    page.keyboard.press("ArrowRight")
    page.get_by_text("Layer 1, head 2: left looks at right.").wait_for()
    page.get_by_label("asked looks most at John (1.00)").scroll_into_view_if_needed()
    keep_picture(page, "head_of_a_decoder")
    ended = page.get_by_text("Only a running kernel can answer something new: run this cell again.")
    assert ended.count() == 2 and not ended.first.is_visible() and not ended.last.is_visible()
    save_again(page, jupyterlab, "writer.ipynb")
    end_kernels(page, jupyterlab)
    open_notebook(page, jupyterlab, "writer.ipynb")
    ended.first.wait_for()
    links = "all => all.map(each => getComputedStyle(each, '::before').display)"
    assert set(page.locator(".jupyter-widgets-disconnected").evaluate_all(links)) == {"none"}
    keep_picture(page, "writer_without_kernel")


def test_a_known_mistake_is_diagnosed_in_the_report_and_ends_in_one_line(jupyterlab, page):
    open_notebook(page, jupyterlab, "02_self_attention/wrong.ipynb")
    run_all(page)
    scroll_to(page, 'check("self_attention.scaled_dot_product_attention")')
    page.get_by_text("Your results are those of a well-known mistake:").first.wait_for()
    name = page.get_by_text(
        "The scores go into the softmax without being divided by the square root of d_k."
    ).first
    name.evaluate("element => element.closest('.jp-Cell').scrollIntoView()")
    keep_picture(page, "diagnosed")
    error = page.locator(".jp-RenderedText", has_text="CheckFailed").first.inner_text()
    assert re.fullmatch(
        r"CheckFailed: scaled_dot_product_attention: \d+ of \d+ checks passed\.", error.strip()
    )


def test_validate_reports_each_unsolved_exercise_in_one_line(jupyterlab, page):
    open_notebook(page, jupyterlab, "02_self_attention/self_attention.ipynb")
    text = validate(page)
    keep_picture(page, "validate_unsolved")
    assert "CheckFailed: project_qkv" in text and "Traceback" not in text
    assert "CheckFailed: causal_mask" not in text  # it can wait until lab 05


def test_validate_says_success_for_the_solved_lab(jupyterlab, page):
    open_notebook(page, jupyterlab, "02_self_attention/solved.ipynb")
    text = validate(page)
    keep_picture(page, "validate_solved")
    assert "Success" in text


def test_the_other_widgets_answer_the_keyboard_follow_the_theme_and_ask_no_other_machine(jupyterlab, browser):
    page = browser.new_page(viewport={"width": 1280, "height": 1400}, reduced_motion="reduce")
    page.set_default_timeout(300_000)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_notebook(page, jupyterlab, "widgets.ipynb")
    choose_theme(page, "Light")  # another test may have left the dark one
    run_all(page)
    page.get_by_text(re.compile("^Measured: ")).wait_for()
    widgets = (page.locator(".tl-widget").nth(at) for at in range(10))
    training, alignment, word, prediction, bars, hands, columns, levels, loop, french = widgets

    assert not training.get_by_role("button").count(), "the reader wants no motion"
    training.get_by_role("slider").focus()
    page.keyboard.press("End")
    training.get_by_text("Step 20 of 20: the largest weight of a row is 1.00").wait_for()
    page.keyboard.press("ArrowLeft")
    training.get_by_text("Step 10 of 20: the largest weight of a row is 0.65").wait_for()

    field = alignment.get_by_label("French sentence")
    field.fill("la maison")
    page.keyboard.press("Enter")
    alignment.get_by_text("la maison → maison la").wait_for()
    for _ in range(3):  # the button, the example, the first word of the translation
        page.keyboard.press("Tab")
    alignment.get_by_text("“maison” looked at maison (1.00).").wait_for()

    word.get_by_text("bank is closest to “water”").wait_for()
    word.get_by_role("radio", name="my river bank").focus()
    page.keyboard.press("ArrowDown")
    word.get_by_text("bank is closest to “cash”").wait_for()
    word.get_by_text("The sentences behind the marks").press("Enter")
    word.get_by_text("water: the river bank a bank at the river").wait_for()
    word.get_by_label("Your sentence:").fill("no such word")
    page.keyboard.press("Enter")
    word.get_by_text("does not occur in this sentence").wait_for()

    prediction.get_by_role("radio").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert prediction.locator("[aria-checked=true]").count() == 1
    page.locator(".jp-CodeCell").last.click()
    page.keyboard.press("Control+Enter")
    page.get_by_text("You predicted ").wait_for()

    bars.get_by_text("d_k = 4, scores divided by √d_k").wait_for()
    bars.get_by_role("slider", name="d_k").focus()
    page.keyboard.press("End")
    bars.get_by_text("d_k = 512, scores as they are").wait_for()
    hands.get_by_role("slider", name="position").focus()
    page.keyboard.press("End")
    hands.get_by_text("position 30, and (dashed) position 34").wait_for()
    hands.get_by_role("slider", name="offset").focus()
    page.keyboard.press("ArrowRight")
    hands.get_by_role("img", name="pair 1: turned by 0.500 rad").wait_for()

    columns.get_by_role("radio", name="1 columns").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    columns.get_by_role("radio", name="all").focus()
    page.keyboard.press("ArrowLeft")
    columns.get_by_text("It reads what head 1 found with row 1.").wait_for()

    levels.get_by_role("radio", name="1 black box").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    levels.get_by_text("Inside a head is lab 02").wait_for()
    loop.get_by_role("button", name="next").focus()
    for _ in range(3):
        page.keyboard.press("Enter")
    loop.get_by_text("The likeliest word, Jane, is appended.").wait_for()
    page.keyboard.press("Enter")
    loop.get_by_text("The decoder reads the 2 words so far").wait_for()
    french.get_by_label("A French sentence").fill("Paul aime la voiture rouge")
    page.keyboard.press("Enter")  # which the notebook would take
    french.get_by_role("row", name="greedy").filter(has_text="Paul loves the red car").wait_for()
    french.get_by_role("button", name="<eos>").focus()
    page.keyboard.press("ArrowUp")
    french.get_by_text("Before it wrote “car”, it looked at voiture").wait_for()
    french.get_by_label("Attention of").select_option("layer 1, head 1")

    ink = "element => getComputedStyle(element.querySelector('text')).fill"
    drawn = [each.locator("svg").first for each in (training, alignment, word, columns, levels, loop)]
    light = [picture.evaluate(ink) for picture in drawn]
    keep_picture(page, "widgets_light")
    choose_theme(page, "Dark")
    keep_picture(page, "widgets_dark")
    assert all(picture.evaluate(ink) != before for picture, before in zip(drawn, light, strict=True))
    save_again(page, jupyterlab, "widgets.ipynb")
    end_kernels(page, jupyterlab)
    open_notebook(page, jupyterlab, "widgets.ipynb")
    french.scroll_into_view_if_needed()
    french.get_by_label("A French sentence").fill("Jane visite la France")
    french.get_by_role("row", name="greedy").filter(has_text="Jane visits France").wait_for()
    keep_picture(page, "french_without_kernel")
    assert not [url for url in asked if not url.startswith((jupyterlab, "blob:", "data:"))]
    page.close()
