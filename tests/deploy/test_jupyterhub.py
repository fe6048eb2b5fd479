"""A class on a real hub: real users of this machine, who log in with passwords (PAM), then fetch and submit over HTTP.

The set-up script runs with ``--settings-only``: installing both environments takes minutes and 8 GB. Instead, learners' and
instructors' environments are made of the packages that the project has, for the system's Python, which every user can run;
learners' has no ``grader`` and no ``solutions``. The hub's own programs come from ``TRANSFORMER_HUB`` (default:
``/opt/transformer-hub``); if there are none, ``deploy/jupyterhub/programs.sh`` installs them, from the package indexes.
"""

from __future__ import annotations

import contextlib
import html
import json
import os
import re
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest
import requests
import websocket
from classroom import START, new_course
from nbgrader.api import Gradebook as NbgraderGradebook
from playwright.sync_api import Browser, FrameLocator, Locator, Page, sync_playwright
from project import ROOT
from test_browser import CHROMIUM, FLAGS, keep_picture

from grader.course import Course
from grader.handout.demo import solved
from grader.reference.lab import Lab

PROGRAMS = Path(os.environ.get("TRANSFORMER_HUB", "/opt/transformer-hub"))
PYTHON = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
DEPLOY = ROOT / "deploy/jupyterhub"
COURSE_ID, OTHER_ID = "transformer-labs", "nlp-evening"
SYSTEM_S_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # the scripts' own
HUB_S_UMASK = "077"  # jupyterhub_config.py sets it, and the terminals of the service have it


def _missing() -> str | None:
    if os.geteuid() != 0:
        return "needs root: it makes users"
    if Path("/run/systemd/system").is_dir():
        return "this machine runs systemd: setup.sh would install the hub as one of its services"
    if not shutil.which("node", path=SYSTEM_S_PATH) or not shutil.which("npm", path=SYSTEM_S_PATH):
        return "needs node and npm, for the hub's proxy"
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed"
    if not Path(PYTHON).exists():
        return f"needs {PYTHON}: an interpreter that all users can run"
    return None


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(_missing()), reason=_missing() or ""),
]


def run_as(user: str, *command: str | Path, **settings) -> subprocess.CompletedProcess:
    """Runs a command as a user of this machine, with nothing of our environment."""
    home = f"/home/{user}"
    environment = {"HOME": home, "PATH": "/usr/bin:/bin", "USER": user} | settings.pop("env", {})
    return subprocess.run(
        [shutil.which("runuser") or "/usr/sbin/runuser", "-u", user, "--", *map(str, command)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        **({"cwd": "/"} | settings),
    )


def link(source: str, target: str) -> None:
    """Gives a file a second name; on another disk, a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def environment_of(folder: Path, hub: Path, *paths: Path, complete: bool = False) -> Path:
    """An environment with the project's packages, and the course's code in ``paths``.

    Args:
        hub: the hub's environment, which has what its users' servers need, too.
        complete: whether the packages lie in it, as the sandbox needs them, instead of being named there.
    """
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", folder], check=True)
    site = next(folder.glob("lib/python3.*/site-packages"))
    packages = Path(nbformat.__file__).parents[1]
    if complete:
        # "include" holds headers of C: nearly half of all files, which take long to remove again.
        ignored = shutil.ignore_patterns("*.pth", "__editable__*", "__pycache__", "include")
        shutil.copytree(packages, site, ignore=ignored, copy_function=link, dirs_exist_ok=True)
    hub_packages = next(hub.glob("lib/python3.*/site-packages"))
    # A folder named in a .pth file is searched, but its own .pth files, which link the grader, are not read.
    site.joinpath("course.pth").write_text("".join(f"{path}\n" for path in (*paths, packages, hub_packages)))
    program = folder / "bin/alembic"  # nbgrader calls it to make a gradebook
    program.write_text(f"#!{folder}/bin/python\nfrom alembic.config import main\n\nmain()\n")
    program.chmod(0o755)
    shutil.rmtree(folder / "share", ignore_errors=True)
    (folder / "share").symlink_to(Path(sys.prefix) / "share")
    shutil.copytree(Path(sys.prefix) / "etc", folder / "etc", symlinks=True)
    return folder


def project_in(root: Path, hub: Path, complete: bool = False) -> Course:
    """A copy of the project, for one course."""
    root.mkdir()
    course = new_course(root)
    for folder in ("course_utils", "grader"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    # Outside, because setup.sh gives the whole project to the grading account, and these files have other names, too.
    environment = environment_of(root.with_name(f"{root.name}-environment"), hub, root, complete=complete)
    (root / ".venv").symlink_to(environment)
    return course


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@dataclass
class Person:
    """Somebody who has logged in to the hub with the browser's form, and then uses a token of their own."""

    hub: str
    name: str
    password: str
    token: str
    browser: requests.Session

    @classmethod
    def logged_in(cls, hub: str, name: str, password: str) -> Person:
        browser = requests.Session()
        page = browser.get(f"{hub}/hub/login", timeout=30)
        xsrf = re.search(r'name="_xsrf" value="([^"]+)"', page.text).group(1)
        form = {"username": name, "password": password, "_xsrf": xsrf}
        browser.post(f"{hub}/hub/login?next=/hub/home", data=form, timeout=60)
        home = browser.get(f"{hub}/hub/home", timeout=30)
        assert home.url.endswith("/hub/home"), f"{name} cannot log in"
        assert "frame-ancestors 'none'" in home.headers["Content-Security-Policy"]
        answer = browser.post(
            f"{hub}/hub/api/users/{name}/tokens",
            headers={
                "X-XSRFToken": browser.cookies.get("_xsrf", path="/hub/"),
                "Referer": f"{hub}/hub/token",
            },
            timeout=30,
        )
        assert answer.status_code == 201, answer.text
        return cls(hub, name, password, answer.json()["token"], browser)

    def ask(self, method: str, path: str, **settings) -> requests.Response:
        headers = {"Authorization": f"token {self.token}"}
        return requests.request(method, f"{self.hub}{path}", headers=headers, timeout=120, **settings)

    def groups(self) -> set[str]:
        return set(self.ask("GET", "/hub/api/user").json()["groups"])

    def start_server(self) -> None:
        answer = self.ask("POST", f"/hub/api/users/{self.name}/server")
        assert answer.status_code in (201, 202), answer.text
        self.wait_for_server(True)

    def stop_server(self) -> None:
        assert self.ask("DELETE", f"/hub/api/users/{self.name}/server").status_code in (202, 204)
        self.wait_for_server(False)

    def wait_for_server(self, ready: bool) -> None:
        for _ in range(240):
            servers = self.ask("GET", f"/hub/api/users/{self.name}").json()["servers"]
            if servers.get("", {}).get("ready") if ready else not servers:
                return
            time.sleep(0.5)
        raise AssertionError(f"the server of {self.name} does not {'start' if ready else 'stop'}")

    def open_formgrader(self) -> requests.Response:
        """Formgrader's first page, once the course's service is up."""
        for _ in range(120):
            page = self.ask("GET", f"/services/{COURSE_ID}/formgrader/manage_assignments")
            if page.status_code != 503:
                break
            time.sleep(0.5)
        return page

    def courses(self) -> list[str]:
        return self.ask("GET", f"/user/{self.name}/courses").json()["value"]

    def assignments(self, course_id: str = COURSE_ID) -> list[dict]:
        answer = self.ask("GET", f"/user/{self.name}/assignments", params={"course_id": course_id}).json()
        assert answer["success"], answer
        return answer["value"]

    def press(self, button: str, course_id: str = COURSE_ID) -> list[dict]:
        """What the buttons of the Assignment List do."""
        answer = self.ask(
            "POST",
            f"/user/{self.name}/assignments/{button}",
            params={"course_id": course_id, "assignment_id": START},
        )
        assert answer.status_code == 200, answer.text
        assert answer.json()["success"], answer.json()
        return answer.json()["value"]

    def hand_in(self, notebook: dict, course_id: str = COURSE_ID) -> None:
        """Fetches lab 00, puts ``notebook`` in the place of what was fetched, and submits it."""
        assert [each["status"] for each in self.assignments(course_id)] == ["released"]
        self.press("fetch", course_id)
        (fetched,) = Path(f"/home/{self.name}/{course_id}/{START}").glob("*.ipynb")
        fetched.write_text(json.dumps(notebook))
        self.press("submit", course_id)

    def open_kernel(self, server: str = "") -> websocket.WebSocket:
        """The connection over which JupyterLab talks to a new kernel, of the person's own server or of another one."""
        server = server or f"/user/{self.name}"
        answer = self.ask("POST", f"{server}/api/kernels")
        assert answer.status_code == 201, answer.text
        address = f"{self.hub}{server}/api/kernels/{answer.json()['id']}/channels"
        header = [f"Authorization: token {self.token}"]
        return websocket.create_connection(address.replace("http", "ws", 1), header=header, timeout=120)


def printed(kernel: websocket.WebSocket, code: str) -> str:
    """What a kernel prints first."""
    header = {"msg_id": "1", "msg_type": "execute_request", "username": "", "session": "s", "version": "5.3"}
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}}
    message = {"header": header | {"date": ""}, "parent_header": {}, "metadata": {}, "channel": "shell"}
    kernel.send(json.dumps(message | {"content": content | {"allow_stdin": False}, "buffers": []}))
    while True:
        reply = json.loads(kernel.recv())
        if reply["msg_type"] == "stream":
            return reply["content"]["text"]


@dataclass
class Hub:
    """The hub's process, which can be started again."""

    prefix: Path
    url: str
    environment: dict[str, str]
    log: Path
    process: subprocess.Popen | None = None

    def start(self) -> None:
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [self.prefix / "hub/bin/jupyterhub", "-f", self.prefix / "jupyterhub_config.py"],
                cwd=self.prefix / "state",
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
                # Ignored where the tests run in the background, and then each server waits for a second signal.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            )
        for _ in range(600):
            with contextlib.suppress(requests.ConnectionError):
                if requests.get(f"{self.url}/hub/health", timeout=5).ok:
                    return
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.5)
        raise AssertionError(self.log.read_text())

    def stop(self) -> bool:
        """Stops the hub, which stops its proxy, services and servers; returns whether it did so without being killed."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            self.process.kill()
        with contextlib.suppress(OSError):  # a hub that has failed leaves its proxy behind
            os.kill(int((self.prefix / "state/proxy.pid").read_text()), signal.SIGTERM)
        return self.process.wait() >= 0


@dataclass
class Deployment:
    base: Path
    hub: Hub
    course: Course
    other: Course
    names: dict[str, str]
    people: dict[str, Person]

    @property
    def exchange(self) -> Path:
        return self.base / "exchange"

    @property
    def inbound(self) -> Path:
        return self.exchange / COURSE_ID / "inbound"

    def submission_of(self, who: str) -> Path:
        name = self.people[who].name
        mine = (path for path in self.inbound.iterdir() if path.name.startswith(f"{name}+"))
        return next(path for path in mine if path.owner() == name)  # not what somebody forged

    def grader(self, module: str, *arguments: str, course: Course | None = None) -> str:
        """A course's own account runs a command of the project, as an instructor does in the service's terminal."""
        course = course or self.course
        python = course.root / ".venv/bin/python"
        command = shlex.join(map(str, (python, "-P", "-m", module, *arguments)))
        done = run_as(
            course.root.owner(),
            *("sh", "-c", f"umask {HUB_S_UMASK} && exec {command}"),
            cwd=course.root,
            env={"PATH": f"{python.parent}:/usr/bin:/bin"},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


def set_up(
    base: Path,
    course_id: str,
    instructors: list[str],
    learners: list[str],
    *before: str,
    subdomains: str = "",
) -> str:
    """Runs setup.sh, after the command ``before``, if any; returns what it says. Folders are given relative to ``base``."""
    listed = base / f"{course_id}.txt"
    listed.write_text("# who takes part\n" + "".join(f"{name}  # a row\n" for name in learners))
    command = [
        *before,
        DEPLOY / "setup.sh",
        "--settings-only",
        "--prefix",
        "prefix",
        "--exchange",
        "exchange",
    ]
    command += ["--course", course_id, "--id", course_id, "--instructors", ",".join(instructors)]
    command += ["--learners", listed.name, *(["--subdomains", subdomains] if subdomains else [])]
    done = subprocess.run(list(map(str, command)), cwd=base, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def base(its_turn) -> Iterator[Path]:
    """A folder that learners can pass through. pytest closes its own folders, again whenever it starts anywhere.

    Every other day: all of this takes minutes, and on the other days other Pythons have their turn.
    """
    its_turn(1, 2)
    with tempfile.TemporaryDirectory(prefix="hubtest-") as folder:
        os.chmod(folder, 0o711)
        yield Path(folder)


def indexes_answer() -> bool:
    """Whether packages of Python and npm can be had."""
    asked = (
        [sys.executable, "-m", "pip", "index", "versions", "--retries", "0", "jupyterhub"],
        ["npm", "view", "--fetch-retries=0", "configurable-http-proxy", "name"],
    )
    with contextlib.suppress(subprocess.TimeoutExpired):
        return all(not subprocess.run(each, capture_output=True, timeout=120).returncode for each in asked)
    return False


@pytest.fixture(scope="module")
def programs(base) -> Path:
    """Where the hub and its proxy are."""
    if (PROGRAMS / "hub/bin/jupyterhub").exists() and (PROGRAMS / "node").is_dir():
        return PROGRAMS
    if subprocess.run([PYTHON, "-c", "import ensurepip"], capture_output=True).returncode:
        pytest.skip(f"needs {Path(PYTHON).name}-venv, to install a hub")
    if not indexes_answer():
        pytest.skip(f"no hub is installed in {PROGRAMS}, and no package index can be reached to install one")
    made = base / "programs"
    done = subprocess.run([DEPLOY / "programs.sh", made, PYTHON], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return made


@pytest.fixture(scope="module")
def deployment(base, programs) -> Iterator[Deployment]:
    """Two courses. Anna, ben, cleo and dora learn in the first one, ben also in the other; iris and omar teach in both."""
    accounts = [f"grader-{COURSE_ID}", f"grader-{OTHER_ID}"]
    for account in accounts:
        if subprocess.run(["id", account], capture_output=True).returncode == 0:
            pytest.skip(f"this machine has an account {account}: a hub's accounts are not touched")
    mark = secrets.token_hex(3)  # names that nobody on this machine has
    names = {who: f"hubtest-{mark}-{who}" for who in ("anna", "ben", "cleo", "dora", "iris", "omar")}
    anna, ben, cleo, dora, *teaching = names.values()
    prefix = base / "prefix"
    learner = prefix / "learner"
    learner.mkdir(parents=True)
    for each in ("hub", "node"):
        (prefix / each).symlink_to(programs / each)
    course = project_in(base / COURSE_ID, programs / "hub", complete=True)
    other = project_in(base / OTHER_ID, programs / "hub")
    shutil.copytree(
        ROOT / "course_utils", learner / "course_utils", ignore=shutil.ignore_patterns("__pycache__")
    )
    environment_of(learner / ".venv", programs / "hub", learner)
    ports = free_ports(3)
    url = f"http://127.0.0.1:{ports[0]}"
    settings = {
        "TRANSFORMER_HUB_URL": url,
        "TRANSFORMER_HUB_API_URL": f"http://127.0.0.1:{ports[1]}",
        "TRANSFORMER_PROXY_API_URL": f"http://127.0.0.1:{ports[2]}",
    }
    hub = Hub(prefix, url, os.environ | settings, base / "hub.log")
    try:
        said = set_up(base, COURSE_ID, teaching, [anna, ben, cleo, dora])
        assert "7 new" in said and "the sandbox" not in said, said
        assert "Not started" in said and "Started" not in said and "listens" not in said, said
        assert "0 new" in set_up(
            base, COURSE_ID, teaching, [anna, ben, cleo, dora]
        )  # again, it changes nothing
        assert "1 new" in set_up(base, OTHER_ID, teaching, [ben])
        passwords = dict(line.split() for line in (prefix / "state/passwords").read_text().splitlines())
        hub.start()
        people = {who: Person.logged_in(url, name, passwords[name]) for who, name in names.items()}
        yield Deployment(base, hub, course, other, names, people)
    finally:
        if hub.process:
            hub.stop()
            print(hub.log.read_text())  # pytest shows it if something failed
        for course_id in (OTHER_ID, COURSE_ID):
            remove = [DEPLOY / "remove.sh", "--prefix", prefix, "--id", course_id, "--accounts"]
            done = subprocess.run(list(map(str, remove)), capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
        left = [name for name in (*names.values(), *accounts) if Path(f"/home/{name}").exists()]
        assert not left, f"these accounts were not removed: {left}"


@pytest.fixture(scope="module")
def handed_in(deployment) -> Deployment:
    """Lab 00 is released; anna solved it and submitted it, ben submitted it with a mistake; both in their own servers."""
    lab = Lab.load(deployment.course, START)
    deployment.grader("grader.cli", "release", START)
    deployment.grader("nbgrader", "release_assignment", START)
    mistake = next(iter(lab.misconceptions["start_here.softmax"]))
    for who, notebook in (("anna", solved(lab)), ("ben", solved(lab, {"softmax": mistake.source}))):
        person = deployment.people[who]
        opened = (
            'c.ServerApp.tornado_settings = {"headers": {"Content-Security-Policy": "frame-ancestors *"}}'
        )
        file = "~/.jupyter/jupyter_server_config.py"  # it must not change what the hub's users are served
        run_as(person.name, "sh", "-c", f"mkdir ~/.jupyter && echo {shlex.quote(opened)} >{file}")
        person.start_server()
        person.hand_in(notebook)
    return deployment


def test_learners_servers_have_the_course_and_no_grader(handed_in):
    python = handed_in.course.root.parent / "prefix/learner/.venv/bin/python"
    anna = handed_in.people["anna"]
    assert run_as(anna.name, python, "-c", "import course_utils, nbgrader").returncode == 0
    refused = run_as(anna.name, python, "-c", "import grader")
    assert "No module named 'grader'" in refused.stderr
    assert anna.ask("GET", f"/user/{anna.name}/formgrader").status_code == 404
    lab = anna.ask("GET", f"/user/{anna.name}/lab")
    assert lab.status_code == 200 and "frame-ancestors 'self'" in lab.headers["Content-Security-Policy"]
    page = json.loads(re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', lab.text, re.S).group(1))
    disabled = {str(rule) for rule in page["disabledExtensions"]}
    assert {"@jupyter/nbgrader:formgrader", "@jupyter/nbgrader:create-assignment"} <= disabled


def test_one_learner_cannot_enter_the_server_home_or_project_of_another(handed_in):
    anna, ben, root = handed_in.people["anna"], handed_in.people["ben"], handed_in.course.root
    assert anna.ask("GET", f"/user/{ben.name}/api/contents").status_code in (403, 404)
    assert anna.ask("GET", f"/services/{COURSE_ID}/formgrader").status_code == 403
    for place in (
        f"/home/{ben.name}",
        root,
        root / "solutions",
        root / "grading",
        root.parent / "prefix/state",
    ):
        assert "Permission denied" in run_as(anna.name, "ls", place).stderr, place
    for file in ("grading/seeds.json", "nbgrader_config.py"):  # whoever knows a name is kept out, too
        assert "Permission denied" in run_as(anna.name, "cat", root / file).stderr, file


def test_nobody_lists_submissions_and_whoever_knows_the_name_of_one_can_do_nothing_with_it(handed_in):
    ben, inbound, theirs = handed_in.people["ben"].name, handed_in.inbound, handed_in.submission_of("anna")
    notebook = next(theirs.glob("*.ipynb"))
    before = sorted(path.name for path in inbound.iterdir())
    files = {path.name: path.read_bytes() for path in theirs.iterdir()}
    known = inbound / theirs.name.rpartition("+")[0]
    search = f"cat {shlex.quote(str(known))}*/*.ipynb"
    assert subprocess.run(["bash", "-c", search], capture_output=True).returncode == 0  # root finds it so
    attacks = [("ls", inbound), ("bash", "-c", search), ("ls", theirs)]
    attacks += [("cat", path) for path in theirs.iterdir()]
    attacks += [
        ("cp", "/etc/hostname", path) for path in (notebook, theirs / "timestamp.txt", theirs / "new")
    ]
    attacks += [("mv", notebook, theirs / "x"), ("rm", "-rf", theirs), ("chmod", "777", theirs)]
    attacks += [("mv", theirs, inbound / "x"), ("mv", inbound, inbound.parent / "y")]
    attacks += [("mv", inbound.parent, handed_in.exchange / "z")]
    for attack in attacks:
        failed = run_as(ben, *attack)
        assert failed.returncode != 0 and not failed.stdout, attack
    assert sorted(path.name for path in inbound.iterdir()) == before
    assert {path.name: path.read_bytes() for path in theirs.iterdir()} == files


def test_a_submission_belongs_to_its_learner_and_the_graders_group(handed_in):
    anna, account = handed_in.people["anna"].name, f"grader-{COURSE_ID}"
    theirs = handed_in.submission_of("anna")
    for path in (theirs, *theirs.iterdir()):
        assert (path.owner(), path.group()) == (anna, account), path
        assert path.stat().st_mode & 0o007 == 0, path
    assert run_as(anna, "wc", *theirs.iterdir()).returncode == 0
    assert run_as(account, "cp", "-r", theirs, f"/home/{account}/copy").returncode == 0


LISTENER = """
import sys
import time
from pathlib import Path

import zmq

context, poller = zmq.Context(), zmq.Poller()
lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
ports = [int(line[1].split(":")[1], 16) for line in lines if line[3] == "0A" and line[7] == sys.argv[1]]
for port in ports:
    ear = context.socket(zmq.SUB)
    ear.connect(f"tcp://127.0.0.1:{port}")
    ear.subscribe(b"")
    poller.register(ear, zmq.POLLIN)
time.sleep(3)
print(len(ports), flush=True)
sys.stdin.readline()
print([ear.recv_multipart() for ear, _ in poller.poll(3000)])
"""


def test_nobody_hears_what_another_s_kernel_computes(handed_in):
    anna, ben = handed_in.people["anna"], handed_in.people["ben"]
    kernel = anna.open_kernel()
    assert printed(kernel, "print(6 * 7)") == "42\n"
    python = handed_in.course.root.parent / "prefix/learner/.venv/bin/python"
    number = Path(f"/home/{anna.name}").stat().st_uid
    command = ["runuser", "-u", ben.name, "--", python, "-c", LISTENER, number]
    with subprocess.Popen(
        list(map(str, command)), cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as listener:
        assert int(listener.stdout.readline()) >= 5  # the ports of anna's kernel
        assert printed(kernel, "print('sec' + 'ret')") == "secret\n"
        heard, _ = listener.communicate("go\n", timeout=60)
    kernel.close()
    assert heard == "[]\n"


def test_what_was_submitted_is_collected_and_a_forged_submission_is_refused(handed_in):
    anna, ben = handed_in.people["anna"], handed_in.people["ben"]
    real = handed_in.submission_of("anna")
    _, lab, stamp = real.name.split("+")[:3]
    forged = handed_in.inbound / f"{anna.name}+{lab}+{stamp.replace('20', '21', 1)}"
    assert run_as(ben.name, "cp", "-r", f"/home/{ben.name}/{COURSE_ID}/{START}", forged).returncode == 0

    said = handed_in.grader("grader.cli", "collect", START)
    assert "claims to be" in " ".join(said.split())
    collected = {path.parent.parent.name for path in handed_in.course.submitted.glob(f"*/{START}/*.ipynb")}
    assert {anna.name, ben.name} <= collected


def test_an_instructor_opens_formgrader_in_the_course_s_service(handed_in):
    iris = handed_in.people["iris"]
    page = iris.open_formgrader()
    assert page.status_code == 200 and "formgrade" in page.text.lower(), page.text[:500]
    labs = iris.ask("GET", f"/services/{COURSE_ID}/formgrader/api/assignments").json()
    assert START in {each["name"] for each in labs}


def test_the_service_listens_where_no_learner_can_take_its_place(handed_in):
    iris, anna, account = handed_in.people["iris"], handed_in.people["anna"], f"grader-{COURSE_ID}"
    assert iris.open_formgrader().status_code == 200
    kernel = iris.open_kernel(f"/services/{COURSE_ID}")  # a WebSocket passes, too
    assert printed(kernel, "import getpass; print(getpass.getuser())") == f"{account}\n"
    kernel.close()
    server = handed_in.base / "prefix/sockets" / COURSE_ID / "server"
    assert server.is_socket() and (server.owner(), server.stat().st_mode & 0o777) == (account, 0o600)
    assert (server.parent.owner(), server.parent.stat().st_mode & 0o777) == (account, 0o700)
    python = handed_in.base / "prefix/learner/.venv/bin/python"
    for action in ("connect", "bind"):
        code = f"import socket; socket.socket(socket.AF_UNIX).{action}({str(server)!r})"
        assert "PermissionError" in run_as(anna.name, python, "-c", code).stderr
    for attack in (
        ("rm", "-f", server),
        ("mv", server.parent, server.parent.with_name("x")),
        ("ls", server.parent),
    ):
        assert "Permission denied" in run_as(anna.name, *attack).stderr
    assert iris.open_formgrader().status_code == 200


def test_the_service_does_not_hang_up_before_the_hub_s_proxy_does(handed_in):
    """Else a form that is answered quickly may end with the page of a server that is down, although everything is done."""
    assert handed_in.people["iris"].open_formgrader().status_code == 200
    with closing(socket.socket(socket.AF_UNIX)) as proxy:
        proxy.connect(str(handed_in.base / "prefix/sockets" / COURSE_ID / "server"))  # root may
        proxy.settimeout(60)
        proxy.sendall(
            f"POST /services/{COURSE_ID}/week HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n"
            "Content-Length: 4\r\n\r\na=bc".encode()
        )
        assert proxy.recv(100).startswith(b"HTTP/1.1 4")
        proxy.settimeout(2)
        with pytest.raises(TimeoutError):  # and not the end, which is b""
            while proxy.recv(100_000):
                pass
            pytest.fail("the service has closed the connection")


def test_a_learner_lands_on_the_map_of_the_course(handed_in):
    anna, ben, iris = (handed_in.people[who] for who in ("anna", "ben", "iris"))
    landed = anna.browser.get(f"{anna.hub}/user/{anna.name}/", timeout=120)
    assert landed.status_code == 200 and urlsplit(landed.url).path.endswith(f"/lab/tree/{COURSE_ID}/START.md")
    page = Path(f"/home/{anna.name}/{COURSE_ID}/START.md")
    assert (page.owner(), page.stat().st_mode & 0o077) == (anna.name, 0)
    assert "Assignment List" in page.read_text("utf-8")  # written before anna had fetched anything
    for course_id in (COURSE_ID, OTHER_ID):
        assert Path(f"/home/{ben.name}/{course_id}/START.md").is_file()
    anna.stop_server()
    anna.start_server()
    assert "00 Start here" in page.read_text("utf-8")
    iris.start_server()
    landed = iris.browser.get(f"{iris.hub}/user/{iris.name}/", timeout=120)
    assert urlsplit(landed.url).path == f"/user/{iris.name}/lab"  # whoever learns in no course


def test_the_course_s_account_grades_in_the_sandbox_and_learners_fetch_their_own_feedback(handed_in):
    anna, ben, course = handed_in.people["anna"], handed_in.people["ben"], handed_in.course
    handed_in.grader("grader.cli", "collect", START)
    handed_in.grader("grader.cli", "autograde", START)
    with NbgraderGradebook(f"sqlite:///{course.gradebook}") as book:
        scores = {
            each.student.id: (each.score, each.max_score) for each in book.assignment_submissions(START)
        }
    partial = scores[ben.name][0]  # the cases that softmax has are lab 00's own business
    assert 0 < partial < 5 and scores == {anna.name: (5, 5), ben.name: (partial, 5)}
    handed_in.grader("grader.cli", "feedback", START)
    handed_in.grader("nbgrader", "release_feedback", START)
    mistake = next(iter(Lab.load(course, START).misconceptions["start_here.softmax"]))
    for person, score, misconceptions in ((anna, 5, 0), (ben, partial, 1)):
        person.press("fetch_feedback")
        (page,) = Path(f"/home/{person.name}/{COURSE_ID}/{START}/feedback").glob("*/*.html")
        text = html.unescape(re.sub(r"<[^>]*>", "", page.read_text("utf-8")))
        assert f"{score} of 5 points" in text
        assert text.count("Common misconception:") >= misconceptions
        assert (mistake.title in text) == bool(misconceptions)
    listed = run_as(ben.name, "ls", handed_in.exchange / COURSE_ID / "feedback")
    assert "Permission denied" in listed.stderr

    button = f"/services/{COURSE_ID}/formgrader/api/submission/{START}/{anna.name}/autograde"
    answer = handed_in.people["iris"].ask("POST", button).json()
    assert answer["success"], answer


def test_one_hub_serves_two_courses_that_share_learners_and_labs(handed_in):
    ben, other = handed_in.people["ben"], handed_in.other
    handed_in.grader("grader.cli", "release", START, course=other)
    handed_in.grader("nbgrader", "release_assignment", START, course=other)
    assert ben.courses() == sorted([COURSE_ID, OTHER_ID])
    assert handed_in.people["anna"].courses() == [COURSE_ID]
    work = Lab.load(other, START).release()
    ben.hand_in(work, OTHER_ID)
    handed_in.grader("grader.cli", "collect", START, course=other)
    collected = {path.parent.parent.name: path for path in other.submitted.glob(f"*/{START}/*.ipynb")}
    assert set(collected) == {ben.name}
    assert json.loads(collected[ben.name].read_text()) == work
    # One course's graders cannot read what was handed in to the other.
    denied = run_as(f"grader-{OTHER_ID}", "ls", handed_in.submission_of("ben"))
    assert "Permission denied" in denied.stderr


def test_two_instructors_comment_on_answers_at_the_same_time(handed_in):
    with NbgraderGradebook(f"sqlite:///{handed_in.course.gradebook}") as book:
        pages = [page.id for each in book.assignment_submissions(START) for page in each.notebooks]
    teachers = [handed_in.people[who] for who in ("iris", "omar")]
    api = f"/services/{COURSE_ID}/formgrader/api"

    def comments(page: str, teacher: Person) -> dict[str, str]:
        listed = teacher.ask("GET", f"{api}/comments", params={"submission_id": page}).json()
        return {each["id"]: each["manual_comment"] for each in listed}

    def comment_on(page: str, teacher: Person) -> None:
        for number in comments(page, teacher):
            said = {"manual_comment": f"{teacher.name} on {number}"}
            assert teacher.ask("PUT", f"{api}/comment/{number}", json=said).ok

    assert len(pages) == 2
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(comment_on, pages, teachers))
    for page, writer, reader in zip(pages, teachers, reversed(teachers), strict=True):
        seen = comments(page, reader)
        assert seen and seen == {number: f"{writer.name} on {number}" for number in seen}


def test_those_who_teach_see_the_week_and_start_its_steps_and_assistants_see_their_sections_only(handed_in):
    anna, iris, omar = (handed_in.people[who] for who in ("anna", "iris", "omar"))
    week = f"{handed_in.hub.url}/services/{COURSE_ID}/week"
    listed = handed_in.course.grading / "assistants.toml"
    listed.write_text(f"{omar.name} = []\n")
    try:
        assert anna.browser.get(week, timeout=60).status_code == 403
        page, own = (person.browser.get(week, timeout=60) for person in (iris, omar))
        assert page.ok and 'name="step"' in page.text, page.text
        assert own.ok and START in own.text and "<button" not in own.text, own.text
        for person, status in ((omar, 403), (iris, 200)):
            token = next(
                each.value
                for each in person.browser.cookies
                if each.name == "_xsrf" and COURSE_ID in each.path
            )
            form = {"_xsrf": token, "step": "feedback"}
            answer = person.browser.post(f"{week}/{START}/steps", data=form, timeout=60)
            assert answer.status_code == status, answer.text
        for _ in range(240):
            said = iris.browser.get(f"{week}/progress", timeout=60).json()
            if said["outcome"]:
                break
            time.sleep(0.5)
        assert said["outcome"] == "done", said
        assert omar.browser.get(f"{week}/progress", timeout=60).status_code == 403
    finally:
        listed.write_text("# none\n")  # without a list that was there, nobody is let in


def signed_in(chromium: Browser, person: Person, path: str) -> Page:
    """A browser's page, at the path that somebody wanted to see before the hub's form asked who it is."""
    page = chromium.new_context(ignore_https_errors=True, viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(180_000)
    page.goto(f"{person.hub}{path}")
    page.get_by_label("Username").fill(person.name)
    page.get_by_label("Password").fill(person.password)
    keep_picture(page, "hub_login")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("menuitem", name="Nbgrader", exact=True).wait_for()
    return page


def choose(page: Page, item: str) -> None:
    page.get_by_role("menuitem", name="Nbgrader", exact=True).click()
    page.locator(".lm-Menu-item", has_text=re.compile(f"^{item}$")).click()


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    # A page that a test puts in the place of a learner's is from no network; what it attacks is on this machine, which Chromium would forbid whatever
    # the origins.
    local = "LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets"
    flags = [*FLAGS, "--ignore-certificate-errors", f"--disable-features={local}"]
    with (
        sync_playwright() as playwright,
        closing(playwright.chromium.launch(executable_path=CHROMIUM, args=flags)) as chromium,
    ):
        yield chromium


def lists_of(page: Page) -> Locator:
    """The Assignment List, opened beside the map, which comes to the front as it opens."""
    page.get_by_role("heading", name="Transformer labs").wait_for()
    choose(page, "Assignment List")
    return page.locator("#nbgrader-assignment-list")


def fetch_and_solve(page: Page, person: Person, deployment: Deployment) -> Locator:
    lists = lists_of(page)
    lists.get_by_role("button", name="Fetch", exact=True).click()
    lists.get_by_role("button", name="Submit").wait_for()
    (fetched,) = Path(f"/home/{person.name}/{COURSE_ID}/{START}").glob("*.ipynb")
    fetched.write_text(json.dumps(solved(Lab.load(deployment.course, START))))
    return lists


def submit_and_read_feedback(page: Page, lists: Locator, deployment: Deployment) -> None:
    lists.get_by_role("button", name="Submit").click()
    lists.get_by_role("button", name="Fetch Feedback").wait_for()
    deployment.grader("grader.cli", "collect", START)
    deployment.grader("grader.cli", "autograde", START)
    deployment.grader("grader.cli", "feedback", START)
    deployment.grader("nbgrader", "release_feedback", START)
    lists.get_by_role("button", name="Fetch Feedback").click()
    lists.get_by_text("(view feedback)").click()
    page.locator(".jp-DirListing-item", has_text=".html").dblclick()
    page.frame_locator(".jp-HTMLViewer iframe").get_by_text("5 of 5 points").first.wait_for()


def formgrader_s_submissions(page: Page) -> FrameLocator:
    choose(page, "Formgrader")
    frame = page.frame_locator("iframe")
    frame.get_by_role("link", name=START).wait_for()
    keep_picture(page, "hub_formgrader")
    frame.locator("tr", has_text=START).locator("td.num-submissions a").click()
    return frame


without_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed: scripts/setup_browser.sh says how"
)


@without_chromium
def test_in_a_browser_a_learner_hands_in_and_an_instructor_opens_it_in_formgrader(handed_in):
    cleo, iris = handed_in.people["cleo"], handed_in.people["iris"]
    with browser() as chromium:
        page = signed_in(chromium, cleo, "/")
        lists = fetch_and_solve(page, cleo, handed_in)
        lists.get_by_role("button", name=START).click()
        lists.get_by_role("button", name="Validate").click()
        page.get_by_text("Success! Your notebook passes all the tests.").wait_for()
        keep_picture(page, "hub_validated")
        page.get_by_role("button", name="Ok", exact=True).click()
        submit_and_read_feedback(page, lists, handed_in)
        keep_picture(page, "hub_feedback")
        # The hub's own pages are in nobody's frame, so that nobody is led to press their buttons unawares.
        page.evaluate(
            "document.body.append(Object.assign(document.createElement('iframe'), {src: '/hub/home'}))"
        )
        page.wait_for_function("document.querySelector('iframe[src=\"/hub/home\"]').contentDocument === null")

        page = signed_in(chromium, iris, f"/services/{COURSE_ID}/lab")
        frame = formgrader_s_submissions(page)
        frame.locator("tr", has_text=cleo.name).get_by_text("5 / 5").wait_for()
        keep_picture(page, "hub_submissions")


TRICKS = """async ([service, hub]) => {
    const tried = {};
    const attempt = async (what, action) => {
        try { tried[what] = await action(); } catch { tried[what] = "refused"; }
    };
    const fetched = async (address) => (await fetch(address, {credentials: "include"})).status;
    const frame = document.body.appendChild(document.createElement("iframe"));
    frame.src = `${service}/week`;
    while (frame.contentDocument && !frame.contentDocument.title) await new Promise(requestAnimationFrame);
    await attempt("frame", () => frame.contentDocument.title);
    await attempt("service", () => fetched(`${service}/api/contents`));
    await attempt("hub", () => fetched(`${hub}/hub/api/user`));
    await attempt("socket", () => new Promise((done, refused) => {
        const socket = new WebSocket(`${service.replace("http", "ws")}/api/events/subscribe`);
        Object.assign(socket, {onopen: () => done("open"), onerror: refused});
    }));
    document.cookie = `_xsrf=mine; path=/; domain=${new URL(hub).hostname}`;
    document.body.appendChild(Object.assign(document.createElement("iframe"), {name: "other"}));
    const form = document.body.appendChild(document.createElement("form"));
    const action = `${service}/week/stop`;
    Object.assign(form, {method: "post", action, target: "other"});
    const token = frame.contentDocument?.querySelector("[name=_xsrf]").value ?? "mine";
    form.append(Object.assign(document.createElement("input"), {name: "_xsrf", value: token}));
    form.submit();
    return tried;
}"""


def tricks_of_a_page(page: Page, address: str, service: str, hub: str) -> dict[str, str | int]:
    """What a page at a learner's address can do at a course's service with the rights of an instructor who opens it."""
    page.route(address, lambda route: route.fulfill(body="<title>A game</title>", content_type="text/html"))
    page.goto(address)
    with page.expect_response(lambda answer: answer.request.method == "POST") as form:
        tried = page.evaluate(TRICKS, [service, hub])
    return tried | {"form": form.value.status}


@pytest.fixture
def own_origins(handed_in) -> Iterator[str]:
    """The hub with ``--subdomains``, behind a server with TLS; yields its address there, which Chromium finds on this machine."""
    names, base = handed_in.names, handed_in.base
    course = (
        base,
        COURSE_ID,
        [names["iris"], names["omar"]],
        [names[who] for who in ("anna", "ben", "cleo", "dora")],
    )
    front, front_s_own = free_ports(2)
    address, key, certificate = f"https://hub.localhost:{front}", base / "key.pem", base / "certificate.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=hub.localhost"]
    subprocess.run([*make, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    command = ["node", base / "prefix/node/node_modules/configurable-http-proxy/bin/configurable-http-proxy"]
    command += ["--ip=127.0.0.1", f"--port={front}", f"--api-port={front_s_own}", "--log-level=error"]
    command += [f"--ssl-key={key}", f"--ssl-cert={certificate}", f"--default-target={handed_in.hub.url}"]
    try:
        assert address in set_up(*course, subdomains=address)
        assert handed_in.hub.stop()
        handed_in.hub.start()
        with subprocess.Popen(list(map(str, command))) as server:
            for _ in range(600):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", front)):
                    break
                time.sleep(0.1)
            yield address
            server.terminate()
    finally:
        assert address not in set_up(*course, subdomains="none")
        handed_in.hub.stop()
        handed_in.hub.start()


@without_chromium
@pytest.mark.skipif(
    not shutil.which("openssl"), reason="openssl, which makes a certificate, is not installed"
)
def test_with_subdomains_everything_works_and_a_learner_s_page_cannot_act_as_an_instructor(
    handed_in, request
):
    anna, dora, iris = (handed_in.people[who] for who in ("anna", "dora", "iris"))
    with browser() as chromium:
        page = signed_in(chromium, iris, f"/services/{COURSE_ID}/lab")
        at_one_origin = tricks_of_a_page(
            page, f"{anna.hub}/user/{anna.name}/game", f"{iris.hub}/services/{COURSE_ID}", iris.hub
        )
    # 409: it is obeyed, but there is no step to stop
    assert at_one_origin == {"frame": "The week", "service": 403, "hub": 403, "socket": "open", "form": 409}

    hub = request.getfixturevalue("own_origins")
    host = hub.removeprefix("https://")
    service = f"https://{COURSE_ID}--service.{host}/services/{COURSE_ID}"
    own = f"https://{dora.name}.{host}/user/{dora.name}"
    dora, iris = replace(dora, hub=hub), replace(iris, hub=hub)
    with browser() as chromium:
        page = signed_in(chromium, dora, "/")
        assert page.url.startswith(own)
        lists = fetch_and_solve(page, dora, handed_in)
        notebook = page.context.new_page()
        notebook.goto(f"{own}/lab/tree/{COURSE_ID}/{START}/start_here.ipynb?reset")
        notebook.get_by_text("| Idle").wait_for()
        notebook.locator(".jp-CodeCell .cm-content").first.click()
        notebook.keyboard.press("Shift+Enter")
        notebook.get_by_text("[1]:").wait_for()
        keep_picture(notebook, "hub_subdomains_notebook")
        notebook.close()
        submit_and_read_feedback(page, lists, handed_in)

        page = signed_in(chromium, iris, f"/services/{COURSE_ID}/lab")
        assert page.url.startswith(f"{service}/lab")
        submissions = formgrader_s_submissions(page)
        row = submissions.locator("tr", has_text=dora.name)
        row.get_by_text("5 / 5").wait_for()
        row.locator("td.autograde a").click()
        submissions.get_by_text("Successfully autograded").wait_for()
        keep_picture(page, "hub_subdomains_autograded")
        for place, title in (("by-hand", "Answers to grade by hand"), ("week", "The week")):
            page.goto(f"{hub}/services/{COURSE_ID}/{place}")
            assert (page.url, page.title()) == (f"{service}/{place}", title)
        page.get_by_role("link", name="Lab 00: Start here").click()
        page.get_by_role("button", name="Make feedback").first.click()
        page.locator("#run b", has_text="Done").wait_for()  # its script asks how far the step is
        keep_picture(page, "hub_subdomains_week")
        tried = tricks_of_a_page(page, f"https://{anna.name}.{host}/user/{anna.name}/game", service, hub)
    refused = dict.fromkeys(("frame", "service", "hub", "socket"), "refused")
    assert tried == refused | {"form": 403}


def test_whoever_is_taken_off_a_list_is_refused_once_the_hub_has_started_again(deployment):
    anna, ben, iris, omar = (deployment.people[who] for who in ("anna", "ben", "iris", "omar"))
    url, cleo = deployment.hub.url, deployment.names["cleo"]
    assert iris.open_formgrader().status_code == 200
    service = f"{url}/services/{COURSE_ID}/formgrader/manage_assignments"
    assert iris.browser.get(service, timeout=60).status_code == 200
    # Ben leaves, iris becomes a learner, anna changes to the other course.
    set_up(deployment.base, COURSE_ID, [omar.name], [cleo, iris.name])
    set_up(deployment.base, OTHER_ID, [omar.name], [anna.name])
    assert deployment.hub.stop(), "what it leaves running would still have the old lists"
    deployment.hub.start()

    assert omar.open_formgrader().status_code == 200
    assert omar.groups() == {f"formgrade-{COURSE_ID}", f"formgrade-{OTHER_ID}"}
    assert iris.open_formgrader().status_code == 403
    assert iris.browser.get(service, timeout=60).status_code == 403
    assert iris.groups() == {f"nbgrader-{COURSE_ID}"}
    assert Person.logged_in(url, iris.name, iris.password).groups() == {f"nbgrader-{COURSE_ID}"}
    assert anna.groups() == {f"nbgrader-{OTHER_ID}"}
    assert ben.ask("GET", "/hub/api/user").status_code == 403
    assert "/hub/login" in ben.browser.get(f"{url}/hub/home", timeout=60).url
    with pytest.raises(AssertionError, match="cannot log in"):
        Person.logged_in(url, ben.name, ben.password)


def test_set_up_says_if_the_grading_account_cannot_have_a_sandbox(deployment):
    program = deployment.base / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    place = f'mount --bind {program} {shutil.which("bwrap")} && exec "$@"'
    people = [deployment.names["omar"]], [deployment.names["anna"]]
    said = set_up(deployment.base, OTHER_ID, *people, "unshare", "--mount", "sh", "-c", place, "sh")
    assert "Warning" in said and "uid map: Permission denied" in said
    assert "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" in said
