"""A class on a real hub: real users of this machine, who log in with passwords (PAM), then fetch and submit over HTTP.

The set-up script runs with ``--settings-only``: installing both environments takes minutes and 8 GB. Instead, learners' and
instructors' environments are made of the packages that the project has, for the system's Python, which every user can run;
learners' has no ``grader`` and no ``solutions``. The sandbox
sees no such environment, so nothing is graded here. The hub's own programs come from ``TRANSFORMER_HUB`` (default:
``/opt/transformer-hub``), where ``deploy/jupyterhub/environments.sh`` puts them.
"""

from __future__ import annotations

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
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
import requests
from classroom import START, new_course
from project import ROOT

from grader.course import Course
from grader.demo import solved
from grader.lab import Lab

PROGRAMS = Path(os.environ.get("TRANSFORMER_HUB", "/opt/transformer-hub"))
PYTHON = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
DEPLOY = ROOT / "deploy/jupyterhub"
COURSE_ID = "transformer-labs"


def _missing() -> str | None:
    if os.geteuid() != 0:
        return "needs root: it makes users"
    if not shutil.which("node"):
        return "needs node, for the hub's proxy"
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed"
    if not (PROGRAMS / "hub/bin/jupyterhub").exists() or not (PROGRAMS / "node").is_dir():
        return f"no hub is installed in {PROGRAMS}: run deploy/jupyterhub/environments.sh, or set TRANSFORMER_HUB"
    if not Path(PYTHON).exists():
        return f"needs {PYTHON}: an interpreter that all users can run"
    return None


pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
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


def environment_of(folder: Path, *paths: Path) -> Path:
    """An environment with the project's packages, and the course's code in ``paths``."""
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", folder], check=True)
    site = next(folder.glob("lib/python3.*/site-packages"))
    packages = Path(nbformat.__file__).parents[1]
    hub_packages = next(PROGRAMS.glob("hub/lib/python3.*/site-packages"))
    # A folder named in a .pth file is searched, but its own .pth files, which link the grader, are not read.
    site.joinpath("course.pth").write_text("".join(f"{path}\n" for path in (*paths, packages, hub_packages)))
    program = folder / "bin/alembic"  # nbgrader calls it to make a gradebook
    program.write_text(f"#!{folder}/bin/python\nfrom alembic.config import main\n\nmain()\n")
    program.chmod(0o755)
    shutil.rmtree(folder / "share", ignore_errors=True)
    (folder / "share").symlink_to(Path(sys.prefix) / "share")
    shutil.copytree(Path(sys.prefix) / "etc", folder / "etc", symlinks=True)
    return folder


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
    token: str

    @classmethod
    def logged_in(cls, hub: str, name: str, password: str) -> Person:
        browser = requests.Session()
        page = browser.get(f"{hub}/hub/login", timeout=30)
        xsrf = re.search(r'name="_xsrf" value="([^"]+)"', page.text).group(1)
        form = {"username": name, "password": password, "_xsrf": xsrf}
        browser.post(f"{hub}/hub/login?next=/hub/home", data=form, timeout=60)
        home = browser.get(f"{hub}/hub/home", timeout=30)
        assert home.url.endswith("/hub/home"), f"{name} cannot log in"
        assert home.headers["Content-Security-Policy"] == "frame-ancestors 'self'"
        answer = browser.post(
            f"{hub}/hub/api/users/{name}/tokens",
            headers={
                "X-XSRFToken": browser.cookies.get("_xsrf", path="/hub/"),
                "Referer": f"{hub}/hub/token",
            },
            timeout=30,
        )
        assert answer.status_code == 201, answer.text
        return cls(hub, name, answer.json()["token"])

    def ask(self, method: str, path: str, **settings) -> requests.Response:
        headers = {"Authorization": f"token {self.token}"}
        return requests.request(method, f"{self.hub}{path}", headers=headers, timeout=120, **settings)

    def start_server(self) -> None:
        answer = self.ask("POST", f"/hub/api/users/{self.name}/server")
        assert answer.status_code in (201, 202), answer.text
        for _ in range(240):
            if self.ask("GET", f"/hub/api/users/{self.name}").json()["servers"].get("", {}).get("ready"):
                return
            time.sleep(0.5)
        raise AssertionError(f"the server of {self.name} does not start")

    def assignments(self) -> list[dict]:
        answer = self.ask("GET", f"/user/{self.name}/assignments", params={"course_id": COURSE_ID}).json()
        assert answer["success"], answer
        return answer["value"]

    def press(self, button: str) -> list[dict]:
        """What the buttons of the Assignment List do."""
        answer = self.ask(
            "POST",
            f"/user/{self.name}/assignments/{button}",
            params={"course_id": COURSE_ID, "assignment_id": START},
        )
        assert answer.status_code == 200, answer.text
        assert answer.json()["success"], answer.json()
        return answer.json()["value"]


@dataclass
class Deployment:
    url: str
    course: Course
    exchange: Path
    people: dict[str, Person]

    @property
    def inbound(self) -> Path:
        return self.exchange / COURSE_ID / "inbound"

    def grader(self, module: str, *arguments: str) -> str:
        """The course's own account runs a command of the project, as an instructor does in the service's terminal."""
        python = self.course.root / ".venv/bin/python"
        done = run_as(
            f"grader-{COURSE_ID}",
            *(python, "-P", "-m", module, *arguments),
            cwd=self.course.root,
            env={"PATH": f"{python.parent}:/usr/bin:/bin"},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def names() -> Iterator[list[str]]:
    """Names of two learners and an instructor that no user of this machine has."""
    mark = secrets.token_hex(3)
    yield [f"hubtest-{mark}-{who}" for who in ("anna", "ben", "iris")]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory, names) -> Iterator[Deployment]:
    if subprocess.run(["id", f"grader-{COURSE_ID}"], capture_output=True).returncode == 0:
        pytest.skip("this machine has a hub with this course: its accounts are not touched")
    base = tmp_path_factory.mktemp("hub")
    for folder in (base, *base.parents):  # pytest closes its folders; learners must pass through them
        if folder.is_relative_to("/tmp") and folder != Path("/tmp"):
            folder.chmod(0o711)
    prefix, exchange, root = base / "prefix", base / "exchange", base / "course"
    prefix.mkdir()
    root.mkdir()
    new_course(root)
    for folder in ("course_utils", "grader"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for programs in ("hub", "node"):
        (prefix / programs).symlink_to(PROGRAMS / programs)
    learner = prefix / "learner"
    learner.mkdir()
    shutil.copytree(
        ROOT / "course_utils", learner / "course_utils", ignore=shutil.ignore_patterns("__pycache__")
    )
    environment_of(learner / ".venv", learner)
    environment_of(root / ".venv", root)
    anna, ben, iris = names
    learners = base / "learners.txt"
    learners.write_text(f"{anna}\n{ben}  # second row\n")
    command = [
        DEPLOY / "setup.sh",
        "--settings-only",
        "--course",
        root,
        "--instructors",
        iris,
        "--learners",
        learners,
    ]
    command += ["--prefix", prefix, "--exchange", exchange]
    ports = free_ports(4)
    server = None
    try:
        for _ in range(2):  # running it again changes nothing
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
        assert "0 new" in done.stdout
        passwords = dict(line.split() for line in (prefix / "state/passwords").read_text().splitlines())
        url = f"http://127.0.0.1:{ports[0]}"
        settings = os.environ | {
            "TRANSFORMER_HUB_URL": url,
            "TRANSFORMER_HUB_API_URL": f"http://127.0.0.1:{ports[1]}",
            "TRANSFORMER_PROXY_API_URL": f"http://127.0.0.1:{ports[2]}",
            "TRANSFORMER_SERVICE_PORT": str(ports[3]),
        }
        with (base / "hub.log").open("w") as log:
            server = subprocess.Popen(
                [PROGRAMS / "hub/bin/jupyterhub", "-f", prefix / "jupyterhub_config.py"],
                cwd=prefix / "state",
                env=settings,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        for _ in range(120):
            try:
                if requests.get(f"{url}/hub/health", timeout=5).ok:
                    break
            except requests.ConnectionError:
                pass
            assert server.poll() is None, (base / "hub.log").read_text()
            time.sleep(0.5)
        people = {}
        for name, short in zip(names, ("anna", "ben", "iris"), strict=True):
            people[short] = Person.logged_in(url, name, passwords[name])
        yield Deployment(url, Course(root), exchange, people)
    finally:
        if server is not None:
            server.send_signal(signal.SIGTERM)  # the hub stops its proxy, services and servers
            try:
                server.wait(timeout=30)
            except subprocess.TimeoutExpired:
                server.kill()
        remove = [DEPLOY / "remove.sh", "--prefix", prefix, "--id", COURSE_ID, "--accounts"]
        done = subprocess.run(list(map(str, remove)), capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        left = [name for name in (*names, f"grader-{COURSE_ID}") if Path(f"/home/{name}").exists()]
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
        person.start_server()
        assert [each["status"] for each in person.assignments()] == ["released"]
        person.press("fetch")
        fetched = Path(f"/home/{person.name}/{START}/{lab.notebook_name}")
        if not fetched.exists():
            fetched = next(Path(f"/home/{person.name}").rglob(lab.notebook_name))
        fetched.write_text(json.dumps(notebook))
        person.press("submit")
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
    places = [f"/home/{ben.name}", root, root / "solutions", root / "grading", root.parent / "prefix/state"]
    for place in places:
        assert "Permission denied" in run_as(anna.name, "ls", place).stderr, place
    seen = run_as(anna.name, "cat", root / "grading/seeds.json")
    assert "Permission denied" in seen.stderr


def test_nobody_lists_or_reads_another_s_submission(handed_in):
    ben, inbound = handed_in.people["ben"].name, handed_in.inbound
    theirs = next(path for path in inbound.iterdir() if path.name.startswith(handed_in.people["anna"].name))
    listed = run_as(ben, "ls", inbound)
    assert listed.returncode != 0 and not listed.stdout
    # The end of the name is random. It is all that keeps ben out: nbgrader makes the folder itself 0777.
    notebook = next(theirs.glob("*.ipynb"))
    known = inbound / theirs.name.rpartition("+")[0]
    search = f"cat {shlex.quote(str(known))}*/*.ipynb"
    assert subprocess.run(["bash", "-c", search], capture_output=True).returncode == 0  # root finds it so
    for command in (("bash", "-c", search), ("cat", known / notebook.name)):
        read = run_as(ben, *command)
        assert read.returncode != 0 and not read.stdout


def test_what_was_submitted_is_collected_and_a_forged_submission_is_refused(handed_in):
    anna, ben = handed_in.people["anna"], handed_in.people["ben"]
    real = next(path for path in handed_in.inbound.iterdir() if path.name.startswith(anna.name))
    _, lab, stamp = real.name.split("+")[:3]
    forged = handed_in.inbound / f"{anna.name}+{lab}+{stamp.replace('20', '21', 1)}"
    assert run_as(ben.name, "cp", "-r", f"/home/{ben.name}/{START}", forged).returncode == 0

    said = handed_in.grader("grader.cli", "collect", START)
    assert "claims to be" in " ".join(said.split())
    collected = {path.parent.parent.name for path in handed_in.course.submitted.glob(f"*/{START}/*.ipynb")}
    assert {anna.name, ben.name} <= collected


def test_an_instructor_opens_formgrader_in_the_course_s_service(handed_in):
    iris = handed_in.people["iris"]
    for _ in range(120):
        page = iris.ask("GET", f"/services/{COURSE_ID}/formgrader/manage_assignments")
        if page.status_code != 503:
            break
        time.sleep(0.5)
    assert page.status_code == 200 and "formgrade" in page.text.lower(), page.text[:500]
    labs = iris.ask("GET", f"/services/{COURSE_ID}/formgrader/api/assignments").json()
    assert START in {each["name"] for each in labs}


@pytest.mark.xfail(
    strict=True, reason="nbgrader makes a submission's folder 0777: who knows its name can empty it"
)
def test_whoever_learns_the_name_of_a_submission_cannot_change_it(handed_in):
    ben, inbound = handed_in.people["ben"].name, handed_in.inbound
    theirs = next(path for path in inbound.iterdir() if path.name.startswith(handed_in.people["anna"].name))
    notebook = next(theirs.glob("*.ipynb"))
    before = sorted(path.name for path in inbound.iterdir())
    for attack in (
        ("mv", theirs, inbound / "x"),
        ("rm", "-rf", theirs),
        ("mv", inbound, inbound.parent / "y"),
    ):
        assert run_as(ben, *attack).returncode != 0
    assert run_as(ben, "mv", inbound.parent, handed_in.exchange / "z").returncode != 0
    assert sorted(path.name for path in inbound.iterdir()) == before and notebook.exists()
