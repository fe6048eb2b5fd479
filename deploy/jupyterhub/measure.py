"""measure.py NUMBER...: how long learners' servers take to start, so many at once, and how much memory they need; with ``--lab``, also at work.

Run it as root, with the hub's Python, on a hub that runs and that nobody uses at the moment. It stops the servers of the learners that it takes,
who are the first on the courses' lists:

    sudo /opt/transformer-hub/hub/bin/python deploy/jupyterhub/measure.py 1 5 10
    sudo /opt/transformer-hub/hub/bin/python deploy/jupyterhub/measure.py 10 30 --lab 05_transformer_pytorch --notebook solved.ipynb

At work: all at once fetch the lab, start a kernel, run the notebook up to its first check, and submit. This submits work in the learners' names, so
use a hub that is made for it. Memory is what Linux calls PSS: pages that processes share are divided among them. The last line is the kernel of one learner
after what lab 05 imports.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pwd
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import requests
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

_KERNEL = """
from pathlib import Path
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
imports = '''
import math
import numpy
import torch
from course_utils import inputs_of
from course_utils.models.torch_attention import MultiHeadAttention
from course_utils.plots.whole import show_transformer
'''
assert client.execute_interactive(imports, timeout=600)["content"]["status"] == "ok"
print(Path(f"/proc/{manager.provisioner.pid}/smaps_rollup").read_text())
manager.shutdown_kernel(now=True)
"""


class Learner:
    """Somebody on the hub, with a token that is valid until :meth:`leave`."""

    def __init__(self, prefix: Path, hub: str, name: str) -> None:
        command = [prefix / "hub/bin/jupyterhub", "token", "-f", prefix / "jupyterhub_config.py", name]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=prefix / "state")
        if done.returncode:
            sys.exit(f"The hub in {prefix} gives no token for {name}: {done.stderr.strip()[-300:]}")
        self.name, self.hub, self.address = name, hub, f"{hub}/hub/api"
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"token {done.stdout.split()[-1]}"
        self.home = Path(pwd.getpwnam(name).pw_dir)

    def _ask(self, method: str, path: str) -> requests.Response:
        answer = self.session.request(method, f"{self.address}{path}", timeout=120)
        answer.raise_for_status()
        return answer

    def _server(self) -> dict | None:
        return self._ask("GET", f"/users/{self.name}").json()["servers"].get("")

    def start(self) -> float:
        """Seconds from the wish for a server until the hub says that it is ready."""
        begun = time.monotonic()
        self._ask("POST", f"/users/{self.name}/server")
        while not (self._server() or {}).get("ready"):
            if time.monotonic() - begun > 600:
                sys.exit(f"The server of {self.name} does not start: see the hub's log.")
            time.sleep(0.25)
        return time.monotonic() - begun

    def fetch(self, course: str, lab: str, notebook: Path | None) -> None:
        """Gets a lab as the Assignment List does, unless it is there, and puts ``notebook``, if any, in the place of its own."""
        folder = self.home / course / lab
        if not folder.exists():
            self._press("fetch", course, lab)
        if notebook:
            next(folder.glob("*.ipynb")).write_bytes(notebook.read_bytes())

    def check(self, course: str, lab: str) -> float | None:
        """Seconds from the opening of a lab's notebook until its first check has reported; None if the kernel does not answer."""
        begun = time.monotonic()
        file = next((self.home / course / lab).glob("*.ipynb"))
        cells = [
            "".join(cell["source"])
            for cell in json.loads(file.read_text("utf-8"))["cells"]
            if cell["cell_type"] == "code"
        ]
        first = next(number for number, cell in enumerate(cells) if "\ncheck(" in f"\n{cell}")
        path = str(file.relative_to(self.home))
        session = {"path": path, "name": path, "type": "notebook", "kernel": {"name": "python3"}}
        answer = self.session.post(f"{self.hub}/user/{self.name}/api/sessions", json=session, timeout=600)
        answer.raise_for_status()
        try:
            asyncio.run(self._run(answer.json()["kernel"]["id"], cells[: first + 1]))
        except (HTTPClientError, ConnectionError, TimeoutError):
            return None
        return time.monotonic() - begun

    async def _run(self, kernel: str, cells: list[str]) -> None:
        address = f"{self.hub}/user/{self.name}/api/kernels/{kernel}/channels".replace("http", "ws", 1)
        headers = {"Authorization": self.session.headers["Authorization"]}
        connection = await websocket_connect(
            HTTPRequest(address, headers=headers, connect_timeout=600, request_timeout=600),
            max_message_size=2**28,
        )
        for number, cell in enumerate(cells):
            header = {
                "msg_id": f"m{number}",
                "msg_type": "execute_request",
                "username": "",
                "session": "s",
                "date": "",
                "version": "5.3",
            }
            content = {
                "code": cell,
                "silent": False,
                "store_history": True,
                "user_expressions": {},
                "allow_stdin": False,
                "stop_on_error": False,
            }
            message = {
                "header": header,
                "parent_header": {},
                "metadata": {},
                "content": content,
                "channel": "shell",
                "buffers": [],
            }
            await connection.write_message(json.dumps(message))
            while True:
                if (said := await asyncio.wait_for(connection.read_message(), 300)) is None:
                    raise ConnectionError
                if isinstance(said, bytes):  # a widget's
                    continue
                reply = json.loads(said)
                if (
                    reply["msg_type"] == "execute_reply"
                    and reply["parent_header"].get("msg_id") == f"m{number}"
                ):
                    if reply["content"]["status"] != "ok":
                        sys.exit(
                            f"Cell {number} of {self.name}'s notebook fails: {reply['content'].get('evalue')}"
                        )
                    break
        connection.close()

    def submit(self, course: str, lab: str) -> float:
        """Seconds until a lab is submitted."""
        begun = time.monotonic()
        self._press("submit", course, lab)
        return time.monotonic() - begun

    def _press(self, button: str, course: str, lab: str) -> None:
        """What a button of the Assignment List does."""
        answer = self.session.post(
            f"{self.hub}/user/{self.name}/assignments/{button}",
            params={"course_id": course, "assignment_id": lab},
            timeout=600,
        )
        answer.raise_for_status()
        if not answer.json()["success"]:
            sys.exit(f"{self.name} cannot {button} {lab}: {answer.json().get('value')}")

    def stop(self) -> None:
        if self._server():
            self._ask("DELETE", f"/users/{self.name}/server")
        while self._server():
            time.sleep(0.5)

    def leave(self) -> None:
        self.stop()
        token = self._ask("GET", "/user").json()["token_id"]
        self._ask("DELETE", f"/users/{self.name}/tokens/{token}")

    def memory(self) -> float:
        """MB of all processes of this user together."""
        number, total = pwd.getpwnam(self.name).pw_uid, 0.0
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if process.stat().st_uid == number:
                    total += pss((process / "smaps_rollup").read_text())
            except OSError:  # it has ended
                continue
        return total


def pss(rollup: str) -> float:
    """MB, from a process's ``smaps_rollup``."""
    return next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) / 1000


def available() -> float:
    """MB that the machine can still give."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")) / 1000


def spread(seconds: list[float]) -> str:
    """The median, and the slowest: of less than 10 seconds with a digit more."""
    middle, slowest = (f"{each:.{1 if each < 9.95 else 0}f} s" for each in (median(seconds), max(seconds)))
    return f"{middle} (the slowest {slowest})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("numbers", type=int, nargs="+", metavar="NUMBER", help="of servers to start at once")
    parser.add_argument("--prefix", type=Path, default=Path("/opt/transformer-hub"), help="where the hub is")
    parser.add_argument("--hub", default="http://127.0.0.1:800", help="its address")
    parser.add_argument(
        "--lab", default="", help="a lab that the first course has released: measure learners at work, too"
    )
    parser.add_argument(
        "--notebook", type=Path, help="what they have written, such as a solved notebook of the lab"
    )
    given = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("This reads other people's processes, so it needs root: run it with sudo.")
    listed = [json.loads(path.read_text("utf-8")) for path in sorted(given.prefix.glob("courses/*.json"))]
    names = list(dict.fromkeys(name for course in listed for name in course["learners"]))
    if len(names) < max(given.numbers):
        sys.exit(f"The hub in {given.prefix} has {len(names)} learners: choose no greater number.")
    try:
        requests.get(f"{given.hub}/hub/health", timeout=30).raise_for_status()
    except requests.RequestException as error:
        sys.exit(
            f"No hub answers at {given.hub} ({type(error).__name__}): start it, or name its address with --hub."
        )
    learners: list[Learner] = []
    try:
        for name in names[: max(given.numbers)]:
            learners.append(Learner(given.prefix, given.hub, name))
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the first server")
        course = listed[0]["id"]
        needed = 0.0  # MB of each of the last group
        for number in given.numbers:
            if (free := available()) < number * needed + 2000:
                print(
                    f"{number} at once: not tried, because they need about {number * needed:.0f} MB, and {free:.0f} MB are free"
                )
                continue
            group = learners[:number]
            with ThreadPoolExecutor(number) as pool:
                list(pool.map(Learner.stop, group))
                seconds = list(pool.map(Learner.start, group))
                time.sleep(15)  # until they are at rest
                each = needed = median(learner.memory() for learner in group)
                print(f"{number} at once: {spread(seconds)}, {each:.0f} MB each at rest", flush=True)
                if given.lab:
                    list(pool.map(lambda one: one.fetch(course, given.lab, given.notebook), group))
                    before = available()
                    checked = list(pool.map(lambda one: one.check(course, given.lab), group))
                    needed = median(learner.memory() for learner in group)
                    took = before - available()
                    submitted = list(pool.map(lambda one: one.submit(course, given.lab), group))
                    done = [each for each in checked if each is not None]
                    print(
                        f"  {given.lab}: first check of {len(done)} after {spread(done)}, submitted in {spread(submitted)}, {needed:.0f} MB each, "
                        f"{took / 1000:.1f} GB less free memory, load {os.getloadavg()[0]:.1f}",
                        flush=True,
                    )
            for learner in group:
                learner.stop()
        python = given.prefix / "learner/.venv/bin/python"
        account = pwd.getpwnam(names[0])
        done = subprocess.run(
            [python, "-c", _KERNEL],
            user=account.pw_uid,
            group=account.pw_gid,
            extra_groups=[],
            cwd=account.pw_dir,
            env={"HOME": account.pw_dir, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            sys.exit(f"A kernel in {python} fails: {done.stderr.strip()[-500:]}")
        print(f"a kernel with lab 05's imports: {pss(done.stdout):.0f} MB")
    finally:
        for learner in learners:
            learner.leave()


if __name__ == "__main__":
    main()
