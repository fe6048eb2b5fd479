"""A real Jupyter server over a course, as `make instructor` starts it, and people who are logged in to it."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests
from accessible import AXE, violations
from playwright.sync_api import Page
from project import ROOT

from grader.course import Course

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
TOKEN = "a-token"
NAMED_USERS = """
from jupyter_server.auth import IdentityProvider, User

class Named(IdentityProvider):
    '''As a hub does it: the server knows the name of whoever asks.'''
    def get_user(self, handler):
        return User(handler.request.headers.get("X-User", "lead"))

c.ServerApp.identity_provider_class = Named
"""


@contextmanager
def running(course: Course, folder: Path, config: str = "", **environment: str) -> Iterator[str]:
    """A server over the course, with the options that ``make instructor`` gives."""
    (folder / "config").mkdir()
    (folder / "config" / "jupyter_server_config.py").write_text(config)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = re.search(
        r"^instructor:.*\n.* (--ServerApp\.jpserver_extensions=\S+)", (ROOT / "Makefile").read_text(), re.M
    )
    command = [sys.executable, "-m", "jupyter_server", "--allow-root", "--no-browser", f"--ServerApp.port={port}",
               f"--ServerApp.root_dir={course.root}", f"--IdentityProvider.token={TOKEN}", options[1]]  # fmt: skip
    environment = {
        **os.environ,
        **environment,
        "HOME": str(folder),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
    }
    address = f"http://127.0.0.1:{port}"
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=course.root, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            for _ in range(300):
                try:
                    requests.get(f"{address}/api", timeout=5)
                    break
                except requests.ConnectionError:
                    assert server.poll() is None, (folder / "log").read_text()
                    time.sleep(0.2)  # the server has no other way to say that it listens
            yield address
        finally:
            server.terminate()
            server.wait(20)


def logged_in(server: str) -> requests.Session:
    session = requests.Session()
    assert session.get(server, params={"token": TOKEN}).ok
    return session


def as_user(name: str) -> requests.Session:
    """Somebody whose name a hub vouches for."""
    session = requests.Session()
    session.headers["X-User"] = name
    session.params = {"token": TOKEN}
    return session


def save(session: requests.Session, address: str, **fields) -> requests.Response:
    """Opens a form and sends it with some of its fields changed."""
    page = session.get(address)
    assert page.ok, page.text
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page.text))
    return session.post(page.url, data={**hidden, **fields})


def fits_everywhere(page: Page, address: str, name: str, narrow: int) -> None:
    """A page is no wider than its window, in both themes, on a desk and on a phone, and axe finds nothing wrong.

    Args:
        name: of its pictures, which are kept if somebody asks for them.
        narrow: pixels of the phone.
    """
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width in (1400, narrow):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(address)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, width)
            if AXE and (theme == "light") == (width == 1400):
                assert violations(page) == [], (name, theme, width)
            if folder := os.environ.get("TRANSFORMER_LABS_SCREENSHOTS"):
                page.screenshot(path=Path(folder) / f"{name}-{theme}-{width}.png", full_page=True)
