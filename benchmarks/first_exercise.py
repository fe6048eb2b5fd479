"""From a link to the first solved exercise, in a browser that has seen nothing of the site (cold) and again on another day (warm): seconds and megabytes.

    .venv/bin/grader site --quick --pyodide .build/pyodide && .venv/bin/python benchmarks/first_exercise.py site

The seconds are those of the machine: nobody reads, and the solution is typed at once. The megabytes are what a server sends that compresses nothing;
in brackets what is left of them where it compresses with gzip.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import http.server
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from playwright.sync_api import Locator, Page, sync_playwright

from grader.course import Course
from grader.reference.lab import Lab

LAB, EXERCISE = "00_start_here", "softmax"


class Counting(http.server.SimpleHTTPRequestHandler):
    """Files of a folder. What a browser has already, it asks about each time, as it does on another day, and gets 304."""

    sent: ClassVar[list[bytes]] = []

    def log_message(self, *arguments: object) -> None:
        """Says nothing."""

    def end_headers(self) -> None:
        """Has the browser ask."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def copyfile(self, source, outputfile) -> None:
        """Sends a file."""
        content = source.read()
        Counting.sent.append(content)
        outputfile.write(content)


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of a server of the site."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Counting, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


class Visit:
    """Seconds since the link was followed, and what had been sent since then, at some moments."""

    def __init__(self) -> None:
        self.begin, self.first, self.moments = time.monotonic(), len(Counting.sent), []

    def note(self, moment: str) -> None:
        """Writes down a moment."""
        self.moments.append((moment, time.monotonic() - self.begin, len(Counting.sent)))

    def tell(self) -> None:
        """Prints the moments. To compress takes time, so it is done afterwards."""
        for moment, seconds, count in self.moments:
            sent = Counting.sent[self.first : count]
            plain, zipped = (sum(map(size, sent)) / 1e6 for size in (len, _zipped))
            print(f"  {moment:36}{seconds:6.1f} s{plain:7.1f} MB  ({zipped:.1f} MB)", flush=True)


@functools.cache
def _zipped(content: bytes) -> int:
    return len(gzip.compress(content, 6))


def visit(folder: Path, chromium: str, address: str, lab: Lab, types: bool) -> None:
    """One visit, from the lab's page on the site to the solved exercise.

    Args:
        folder: what the browser keeps from one visit to the next.
        types: whether the solution has to be typed; on the second visit it is there.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            str(folder),
            executable_path=chromium,
            args=["--no-sandbox"],
            viewport={"width": 1280, "height": 900},
        )
        page = browser.new_page()
        page.set_default_timeout(300_000)
        page.goto(f"{address}/{lab.name}/{lab.slug}.html")
        now = Visit()
        page.get_by_role("link", name="try it here").click()
        page.get_by_role("heading", name="Lab 00: start here").wait_for()
        now.note("the notebook can be read")
        install = cell(page, "%pip install")
        install.locator(".cm-content").click()
        page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']").first.wait_for()
        now.note("Python is there")
        if types:
            run(page, cell(page, "def softmax("), lab.solution_texts[EXERCISE])
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name=re.compile("^Run All Cells")).click()
        check = cell(page, f'check("start_here.{EXERCISE}")')
        passed = page.get_by_text(re.compile(rf"{EXERCISE}: all \d+ checks passed"))
        until(page, check, passed)
        now.note("the first exercise is solved")
        page.get_by_role("menuitem", name="File", exact=True).click()
        page.get_by_role("menuitem", name=re.compile("^Save Notebook$|^Save Notebook Ctrl")).click()
        page.locator("#jp-main-dock-panel .lm-TabBar-tab.jp-mod-dirty").wait_for(state="detached")
        browser.close()
    now.tell()


def cell(page: Page, sign: str) -> Locator:
    """The first code cell with a text in it; JupyterLab draws only what is near, so it is scrolled to."""
    found, panel = page.locator(".jp-CodeCell", has_text=sign).first, page.locator(".jp-WindowedPanel-outer")
    panel.evaluate("element => element.scrollTo(0, 0)")
    while not found.count():
        panel.evaluate("element => element.scrollBy(0, 400)")
        page.wait_for_timeout(100)
    found.scroll_into_view_if_needed()
    return found


def run(page: Page, place: Locator, text: str) -> None:
    """Types another text into a cell."""
    typed = place.locator(".cm-content")
    typed.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)
    assert typed.inner_text().split() == text.split()


def until(page: Page, near: Locator, wanted: Locator) -> None:
    """Waits for a text near a cell, wherever JupyterLab has scrolled to."""
    for _ in range(3000):
        if wanted.count() and wanted.first.is_visible():
            return
        if near.count():
            near.evaluate("element => element.scrollIntoView({ block: 'center' })")
        page.wait_for_timeout(100)
    raise AssertionError(f"{wanted} does not come.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("site", type=Path, help="a site with JupyterLite and Pyodide in it")
    parser.add_argument("--chromium", default="/usr/bin/chromium", help="the browser (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=3, help="how many browsers (default: %(default)s)")
    options = parser.parse_args()
    lab = Lab.load(Course.find(), LAB)
    with served(options.site) as address:
        for turn in range(1, options.turns + 1):
            with tempfile.TemporaryDirectory(prefix="bench-") as kept:
                for title, types in (("cold", True), ("warm", False)):
                    print(f"browser {turn}, {title}", flush=True)
                    visit(Path(kept), options.chromium, address, lab, types)


if __name__ == "__main__":
    main()
