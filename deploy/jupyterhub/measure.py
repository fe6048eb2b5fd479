"""measure.py NUMBER...: how long learners' servers take to start, so many at once, and how much memory they need.

Run it as root on a hub that runs and that nobody uses at the moment, with the hub's Python, because it stops the servers of the
learners that it takes (the first on the courses' lists):

    sudo /opt/transformer-hub/hub/bin/python deploy/jupyterhub/measure.py 1 5 10

Memory is what Linux calls PSS: pages that processes share are divided among them. The last line is the kernel of one learner
after what lab 05 imports.
"""

from __future__ import annotations

import argparse
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
        self.name, self.address = name, f"{hub}/hub/api"
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"token {done.stdout.split()[-1]}"

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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("numbers", type=int, nargs="+", metavar="NUMBER", help="of servers to start at once")
    parser.add_argument("--prefix", type=Path, default=Path("/opt/transformer-hub"), help="where the hub is")
    parser.add_argument("--hub", default="http://127.0.0.1:800", help="its address")
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
        for number in given.numbers:
            group = learners[:number]
            with ThreadPoolExecutor(number) as pool:
                list(pool.map(Learner.stop, group))
                seconds = list(pool.map(Learner.start, group))
            time.sleep(15)  # until they are at rest
            each = median(learner.memory() for learner in group)
            print(
                f"{number} at once: {median(seconds):.0f} s (the slowest {max(seconds):.0f} s), {each:.0f} MB each at rest"
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
