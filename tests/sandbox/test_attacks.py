"""Hostile submissions, graded for real: intake, sandbox, judge, graded notebook. Then an honest one, by the same runner.

Each file in attacks/ is one attack; see its README. Attack code is given to the sandboxed runner only.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import os
import re
import shutil
import socket
import tempfile
import threading
import time
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import nbformat
import psutil
import pytest
from classroom import ATTENTION, START, new_course, without_gradebook
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from grader.course import Course
from grader.errors import GraderError
from grader.grade.autograde import autograde
from grader.grade.work import Graded, Grading, Record
from grader.handout.demo import hand_in, solved, with_texts
from grader.reference.lab import Lab
from grader.run.notebook import SandboxRunner
from grader.run.states import Executed
from grader.sandbox.preloaded import Limits, Setting, borrow, close_all, give_back
from grader.show.feedback import generate_feedback

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]

ATTACKS = Path(__file__).parent / "attacks"
SEED = 20_301_115
MIB = 2**20
LIMITS = {"memory": 300 * MIB, "disk": 48 * MIB, "processes": 128, "files": 256}
GRADER_MAY_GROW = 500 * MIB
"""By how much an attack may make the grading process grow for a while; messages of 32 MiB are allowed."""

PRELUDE = '''\
import contextlib, ctypes, errno, os, sys, time

def begin():
    """Says that the attack is on (TRIED), and waits until that is heard: the system may end it the next moment."""
    print("TRIED", flush=True)
    time.sleep(0.5)

def attempt(what, deed):
    """Says whether a deed was done (REACHED) or refused (TRIED)."""
    try:
        print("REACHED", what, repr(deed())[:3000], flush=True)
    except BaseException as error:
        print("TRIED", what, "-", type(error).__name__, error, flush=True)

def call(number, *arguments):
    """A system call, by its number on x86_64."""
    arguments = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
'''

HONEST = """\
def softmax(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
"""

WIRE = '''\
import asyncio, gc, json, time, uuid, zmq
kernel = get_ipython().kernel
app = kernel.parent

def waiting(seconds=0.5):
    """Takes requests away that have been sent ahead: (identities, message)."""
    kinds = (zmq.ROUTER, zmq.PAIR)
    sockets = [o for o in gc.get_objects() if type(o) is zmq.Socket and not o.closed and o.type in kinds]
    found, end = [], time.monotonic() + seconds
    running = kernel.get_parent()["header"]["msg_id"]
    for task in asyncio.all_tasks():  # what has been read, and waits for its turn
        held = task.get_coro().cr_frame.f_locals if task.get_coro().cr_frame else {}
        parts = held.get("msg") or (held.get("args") or [None])[-1]  # the second before its first step
        if isinstance(parts, list):
            identities, rest = kernel.session.feed_identities([bytes(part.bytes) for part in parts])
            message = {"header": json.loads(rest[1]), "content": json.loads(rest[4])}
            if message["header"]["msg_id"] != running:
                task.cancel()
                if all(message != other for _, other in found):
                    found.append((identities, message))
    while time.monotonic() < end:
        for each in sockets:
            with contextlib.suppress(zmq.ZMQError):
                parts = each.recv_multipart(zmq.NOBLOCK)
                if b"<IDS|MSG>" in parts:
                    identities, rest = kernel.session.feed_identities(parts)
                    found.append((identities, kernel.session.deserialize(rest)))
        time.sleep(0.01)
    return found

def publish(kind, content, parent=None):
    """Sends a message on iopub, as if it came from the cell of a request."""
    kernel.session.send(kernel.iopub_socket, kind, content=content, parent=parent or kernel.get_parent())

def raw(*frames):
    """Sends frames on iopub, as they are."""
    app.iopub_thread.schedule(lambda: app.iopub_thread.socket.send_multipart(frames, copy=False))

def signed(header, parent, metadata, content):
    """The frames of a message, signed as the kernel's are."""
    parts = [header, parent, metadata, content]
    return [b"topic", b"<IDS|MSG>", kernel.session.sign(parts), *parts]

def header(kind):
    return json.dumps({"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": "", "username": "",
                       "date": "2030-01-15T12:00:00Z", "version": "5.3"}).encode()

def me():
    return json.dumps(kernel.get_parent()["header"], default=str).encode()

def reply(identities, parent, content=None):
    """Sends an execute_reply on the shell channel."""
    content = content or {"status": "ok", "execution_count": 1, "user_expressions": {}, "payload": []}
    kernel.session.send(app.shell_socket, "execute_reply", content, parent=parent, ident=identities)

def bundle(cases, key="start_here.softmax", seed=@SEED@):
    return {"data": {"application/vnd.transformer-labs.outcome+json": {"exercise": key, "seed": seed,
            "cases": cases}}, "metadata": {}, "transient": {}}
'''


# ---------------------------------------------------------------------------------- attacks


@dataclass(frozen=True)
class Attack:
    """A file of attacks/."""

    name: str
    title: str
    module: types.ModuleType

    def get(self, name: str, default: object) -> object:
        return getattr(self.module, name, default)


def attacks() -> Iterator[Attack]:
    for path in sorted(ATTACKS.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"attack_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield Attack(path.stem, module.__doc__.strip().splitlines()[0].rstrip("."), module)


ALL = list(attacks())


def parameters(chosen: list[Attack]) -> list:
    def marks(attack: Attack) -> list:
        reason = attack.get("SUCCEEDS", "")
        return [pytest.mark.xfail(strict=True, reason=reason)] if reason else []

    return [
        pytest.param(attack, id=f"{attack.name}: {attack.title}", marks=marks(attack)) for attack in chosen
    ]


@dataclass(frozen=True)
class Result:
    """What became of an attack.

    Attributes:
        text: all that the submission put out, as the grader received it.
        grew: bytes that the grading process was larger by, at most.
    """

    record: Record
    graded: Graded
    notebook: NotebookNode
    executed: Executed | None
    text: str
    seconds: float
    grew: int

    def score_of(self, exercise: str) -> float:
        return self.graded.points.of_cells[f"check_{exercise}"]

    def outputs(self) -> list[NotebookNode]:
        return [output for cell in self.notebook.cells for output in cell.get("outputs", [])]


# ---------------------------------------------------------------------------------- the stage


@dataclass
class Watched:
    """A runner that remembers what it gave."""

    runner: SandboxRunner
    executed: Executed | None = None

    @property
    def notebook_seconds(self) -> float:
        return self.runner.notebook_seconds

    def warm_up(self, folder: Path | None = None) -> None:
        self.runner.warm_up(folder)

    def run(self, notebook: NotebookNode, seed: int, folder: Path | None = None) -> Executed:
        self.executed = self.runner.run(notebook, seed, folder)
        return self.executed


class Listeners:
    """Whoever waits outside for a word from inside. ``heard`` is empty as long as none came."""

    def __init__(self, folder: Path) -> None:
        self.heard: list[str] = []
        self.abstract = f"attacks-{os.getpid()}"
        self.file = folder / "listening"
        streams = {
            "tcp": (socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0)),
            "udp": (socket.AF_INET, socket.SOCK_DGRAM, ("0.0.0.0", 0)),
            "abstract": (socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.abstract}"),
            "unix": (socket.AF_UNIX, socket.SOCK_STREAM, str(self.file)),
        }
        with contextlib.suppress(OSError, AttributeError):  # not every machine has it
            family, anybody = socket.AF_VSOCK, (socket.VMADDR_CID_ANY, socket.VMADDR_PORT_ANY)
            socket.socket(family, socket.SOCK_STREAM).close()
            streams["vsock"] = (family, socket.SOCK_STREAM, anybody)
        self.sockets = {}
        for name, (family, kind, address) in streams.items():
            self.sockets[name] = listening = socket.socket(family, kind)
            listening.bind(address)
            if kind == socket.SOCK_STREAM:
                listening.listen()
            threading.Thread(target=self._wait, args=(name, listening), daemon=True).start()

    def port(self, name: str) -> int:
        return self.sockets[name].getsockname()[1] if name in self.sockets else 0

    def _wait(self, name: str, listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                if listening.type == socket.SOCK_STREAM:
                    listening.accept()[0].close()
                else:
                    listening.recv(100)
                self.heard.append(name)

    def close(self) -> None:
        for listening in self.sockets.values():
            listening.close()


@dataclass(eq=False)
class Stage:
    """A course with secrets in and around it, and all that attacks must not reach."""

    course: Course
    home: Path
    temporary: Path
    listeners: Listeners
    canaries: dict[str, str]
    words: dict[str, str]
    watched_files: list[Path]
    runners: dict[str, SandboxRunner] = field(default_factory=dict)

    @cache  # noqa: B019
    def lab(self, name: str) -> Lab:
        return Lab.load(self.course, name)

    @cache  # noqa: B019
    def expected(self, name: str):
        return self.lab(name).expected(SEED)

    @cache  # noqa: B019
    def begin(self, lab: Lab) -> None:
        """An honest submission comes first. Later ones come after each attack."""
        assert_honest(self, lab)

    def runner(self, lab: Lab) -> SandboxRunner:
        limits = Limits(**LIMITS)
        return dataclasses.replace(
            SandboxRunner.for_lab(lab),
            cell_seconds=3,
            notebook_seconds=20,
            restarts=3,
            output_bytes=MIB,
            limits=limits,
        )

    def filled(self, code: str, marker: str) -> str:
        """Attack code with the places of everything worth attacking, which no real attacker knows."""
        for word, value in {**self.words, "MARKER": marker}.items():
            code = code.replace(f"@{word}@", value)
        assert not re.search(r"@[A-Z]+@", code), code
        return code

    def pid_of_preloaded(self, lab: Lab) -> int:
        runner = self.runner(lab)
        preloaded = borrow(Setting(runner.modules, lab.release_folder, runner.hidden))
        preloaded.wait_until_ready()  # so that all of its processes are there
        give_back(preloaded)
        return preloaded.pid

    def snapshot(self) -> dict[str, object]:
        """All that must stay as it is. Folders that attacks hand in to are left out."""
        found: dict[str, object] = {}
        for root in (self.course.root, self.home, self.temporary):
            for path in root.rglob("*"):
                if path.is_relative_to(self.course.submitted):
                    continue
                if path.parent == self.temporary and path.name.startswith("tl-"):  # a container's sockets
                    continue
                state = path.lstat()
                if not path.parent.name.startswith("tl-"):
                    found[str(path)] = (state.st_size, state.st_mtime_ns, state.st_mode)
        for path in self.watched_files:
            found[str(path)] = path.read_text() if path.is_file() else None
        return found


@pytest.fixture(scope="module")
def stage(tmp_path_factory) -> Iterator[Stage]:
    root = tmp_path_factory.mktemp("attacked")
    temporary = Path(tempfile.mkdtemp(prefix="a", dir="/tmp"))  # short: sockets lie in it
    course_root, home = root / "course", root / "home"
    course_root.mkdir()
    home.mkdir()
    course = new_course(course_root)
    names = ("environment", "home", "solutions", "seeds", "gradebook", "other", "tmp", "shm")
    canaries = {name: f"CANARY-{name}-{os.urandom(8).hex()}" for name in names}
    (home / "secret.txt").write_text(canaries["home"])
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_rsa").write_text(canaries["home"])
    for lab in (START, ATTENTION):
        with (course.solutions / lab / "variants.py").open("a") as file:
            file.write(f"\n# {canaries['solutions']}\n")
    course.grading.mkdir()
    (course.grading / "seeds.json").write_text(json.dumps({"canary": canaries["seeds"]}))
    (course.grading / "gradebook.db").write_text(canaries["gradebook"])
    other = with_texts(
        Lab.load(course, START).release(), {"softmax": f"softmax = None  # {canaries['other']}"}
    )
    hand_in(course, Lab.load(course, START), "other", other)
    in_tmp = Path("/tmp") / f"attacks-{os.getpid()}"
    in_shm = Path("/dev/shm") / f"attacks-{os.getpid()}"
    in_tmp.write_text(canaries["tmp"])
    in_shm.write_text(canaries["shm"])
    listeners = Listeners(temporary)
    words = {
        "COURSE": str(course.root),
        "HOME": str(home),
        "TMP": str(in_tmp),
        "SHM": str(in_shm),
        "TCP": str(listeners.port("tcp")),
        "UDP": str(listeners.port("udp")),
        "VSOCK": str(listeners.port("vsock")),
        "ABSTRACT": listeners.abstract,
        "SOCKET": str(listeners.file),
        "GRADER": str(os.getpid()),
        "SEED": str(SEED),
        "HONEST": HONEST,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("GRADER_TOKEN", canaries["environment"])
        patch.setattr(tempfile, "tempdir", str(temporary))
        yield Stage(course, home, temporary, listeners, canaries, words, [in_tmp, in_shm])
        close_all()
    listeners.close()
    for path in (in_tmp, in_shm):
        path.unlink()
    shutil.rmtree(temporary)


# ---------------------------------------------------------------------------------- grading


@contextlib.contextmanager
def measured() -> Iterator[list[int]]:
    """By how many bytes this process was larger than at the start, at most."""
    me, grown, done = psutil.Process(), [0], threading.Event()
    before = me.memory_info().rss

    def look() -> None:
        while not done.wait(0.02):
            grown[0] = max(grown[0], me.memory_info().rss - before)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield grown
    finally:
        done.set()
        thread.join()


def prepared(stage: Stage, attack: Attack, prefix: str = "") -> Path:
    """The attack's submission, handed in. ``prefix`` of names: of a second submission of the same attacker."""
    lab = stage.lab(attack.get("LAB", START))
    marker = f"marker-{attack.name}"
    texts = {name: stage.filled(code, marker) for name, code in attack.get(f"{prefix}CELLS", {}).items()}
    notebook = solved(lab, texts)
    first = [PRELUDE, *([WIRE] if attack.get("WIRE", False) else []), *attack.get(f"{prefix}EXTRA", [])]
    notebook.cells[0:0] = [new_code_cell(stage.filled(code, marker)) for code in first]
    notebook.cells += [new_code_cell(stage.filled(code, marker)) for code in attack.get(f"{prefix}LAST", [])]
    for cell in notebook.cells:
        cell.pop("id", None) if cell not in lab.release().cells else None
    folder = stage.course.submitted / student_of(attack, prefix) / lab.name
    shutil.rmtree(folder, ignore_errors=True)
    hand_in(stage.course, lab, student_of(attack, prefix), notebook)
    if submit := attack.get("submit", None):
        submit(notebook, folder)
    return folder


def student_of(attack: Attack, prefix: str = "") -> str:
    return f"{attack.name}_{prefix}".strip("_").lower().replace("_", "-")


def grade(stage: Stage, attack: Attack, folder: Path) -> Result:
    lab = stage.lab(attack.get("LAB", START))
    own = attack.get("RUNNER", {})
    runner = stage.runner(lab)
    limits = dataclasses.replace(runner.limits, **attack.get("LIMITS", {}))
    watched = Watched(dataclasses.replace(runner, limits=limits, **own))
    grading = Grading(stage.course, lab.name, SEED, watched)
    expected = stage.expected(lab.name)
    began = time.monotonic()
    with measured() as grown:
        answer = grading(expected, folder)
    seconds = time.monotonic() - began
    if isinstance(answer, GraderError):
        raise answer
    assert isinstance(answer, Graded), f"the grader itself failed: {answer.notes}"
    notebook = nbformat.reads(answer.notebook.decode(), as_version=4)
    cells = watched.executed.notebook.cells if watched.executed else []
    text = "\n".join(shown(output) for cell in cells for output in cell.get("outputs", []))
    return Result(answer.record, answer, notebook, watched.executed, text, seconds, grown[0])


def shown(output: NotebookNode) -> str:
    """All texts of an output, in one."""
    if output.output_type == "stream":
        return output.text if isinstance(output.text, str) else repr(output.text)[:100_000]
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"[:100_000]
    return str(output.get("data", {}).get("text/plain", ""))[:100_000]


def leaks(stage: Stage, *texts: str) -> list[str]:
    return [name for name, canary in stage.canaries.items() if any(canary in text for text in texts)]


def inside() -> dict[int, str]:
    """The processes in the sandbox, which a learner's never leaves: of each its number and what can be said of it."""
    found = {}
    here = os.readlink("/proc/self/ns/pid")
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
            try:
                if (
                    os.readlink(f"/proc/{child.pid}/ns/pid") == here
                ):  # bubblewrap itself, or a test's own helper
                    continue
            except PermissionError:  # no process of ours has less rights than we have
                pass
            if child.status() != psutil.STATUS_ZOMBIE:
                found[child.pid] = f"{child} of {child.ppid()}: {child.cmdline()}"
    return found


def wait_for(condition, seconds: float = 60) -> bool:
    """Processes of a namespace end a moment after its first one."""
    until = time.monotonic() + seconds
    while not (held := condition()) and time.monotonic() < until:
        time.sleep(0.02)
    return held


@pytest.mark.parametrize("attack", parameters(ALL))
def test_attack(stage, attack, caplog):
    lab = stage.lab(attack.get("LAB", START))
    everything = max_score(lab)
    labs = [stage.lab(START), stage.lab(ATTENTION)]  # both are there, so that each could reach the other
    for each in labs:
        stage.pid_of_preloaded(each)
    stage.begin(lab)
    serving, there = {each: stage.pid_of_preloaded(each) for each in labs}, inside()
    assert len(there) >= len(labs), there  # or nobody would be missed, or found, afterwards
    folder = prepared(stage, attack)
    before = stage.snapshot()
    stage.listeners.heard.clear()

    results = [grade(stage, attack, folder)]
    if attack.get("SECOND_CELLS", None) or attack.get("SECOND_EXTRA", None):
        results.append(grade(stage, attack, prepared(stage, attack, "SECOND_")))

    if os.environ.get("SHOW"):
        print(
            "\n".join(
                f"SHOW {each.seconds:.1f}s {each.grew / MIB:.0f}MiB {each.record}\n{each.text[:2500]}"
                for each in results
            )
        )
    wanted = attack.get("POINTS", 0)
    states = attack.get("STATE", "graded")
    result = results[0]
    assert result.record.state in ((states,) if isinstance(states, str) else states), explained(result)
    scores = wanted if isinstance(wanted, tuple) else (everything if wanted == "all" else wanted,)
    assert result.record.score in scores, explained(result)
    for number, each in enumerate(results):
        assert not leaks(stage, str(each.executed), each.graded.notebook.decode(), str(each.record))
        assert attack.get("REACHED", "REACHED") not in each.text, explained(each)
        if probe := attack.get("PROBE", "TRIED") if number == 0 else "TRIED":
            assert probe in each.text, f"the attack did not get to where it attacks. {explained(each)}"
        assert each.grew < attack.get("GRADER_MAY_GROW", GRADER_MAY_GROW), f"{each.grew / MIB:.0f} MiB"
        assert each.seconds < attack.get("SECONDS", 75)
        nbformat.validate(each.notebook)
    if failed := attack.get("failed", None):
        failed(*results)

    assert_honest(stage, lab)
    after = stage.snapshot()
    assert after == before, sorted(map(str, set(after.items()) ^ set(before.items())))[:10]
    assert stage.listeners.heard == []
    assert not found_with(f"marker-{attack.name}")
    wanted_lost = {lab} if attack.get("REPLACED", False) else set()
    if (
        lost(stage, serving) != wanted_lost
    ):  # perhaps the machine's doing: whoever breaks a process breaks it again
        serving, there = {each: stage.pid_of_preloaded(each) for each in labs}, inside()
        grade(stage, attack, prepared(stage, attack))
        assert lost(stage, serving) == wanted_lost, caplog.text
    if not attack.get("REPLACED", False):
        # Fewer is no harm: what an earlier test left behind ends whenever Python collects it.
        assert wait_for(lambda: inside().keys() <= there.keys()), (inside(), there)


def lost(stage: Stage, serving: dict[Lab, int]) -> set[Lab]:
    """The labs whose preloaded process is no longer the one that it was."""
    return {lab for lab, pid in serving.items() if stage.pid_of_preloaded(lab) != pid}


def max_score(lab: Lab) -> float:
    return sum(cell.metadata.get("nbgrader", {}).get("points", 0) for cell in lab.release().cells)


def explained(result: Result) -> str:
    return f"{result.record}\n{result.text[:3000]}"


def assert_honest(stage: Stage, lab: Lab) -> None:
    """An honest submission gets full marks, in the same run."""
    folder = hand_in(stage.course, lab, "honest", solved(lab))
    answer = Grading(stage.course, lab.name, SEED, stage.runner(lab))(stage.expected(lab.name), folder)
    assert isinstance(answer, Graded), answer
    record = answer.record
    assert (record.state, record.score, record.notes) == ("graded", record.max_score, ()), record
    assert not leaks(stage, answer.notebook.decode())


def found_with(marker: str) -> list[str]:
    """Files of the host's temporary folders, and processes, that bear an attack's name."""
    files = [
        entry.path
        for folder in ("/tmp", "/dev/shm", "/var/tmp", "/dev/mqueue", str(Path.home()))
        if os.path.isdir(folder)
        for entry in os.scandir(folder)
        if marker in entry.name
    ]
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if marker in " ".join(process.cmdline()) or marker in str(process.environ()):
                files.append(str(process))
    return files


def test_there_are_many_attacks_and_each_says_what_it_is():
    titles = [attack.title for attack in ALL]
    assert len(titles) >= 65 and len(set(titles)) == len(titles)
    assert all(len(title) < 130 for title in titles)


# ---------------------------------------------------------------------------------- feedback pages


@pytest.fixture(scope="module")
def pages(stage) -> dict[str, Path]:
    """Feedback on all attacks that are meant for whoever reads it, made by nbgrader: attack -> page."""
    kept = stage.course.gradebook.read_bytes()
    without_gradebook(stage.course)
    chosen = [attack for attack in ALL if attack.get("FEEDBACK", False)]
    try:
        return made_pages(stage, chosen)
    finally:
        cleared(stage, kept)


def made_pages(stage: Stage, chosen: list[Attack]) -> dict[str, Path]:
    """Grades attacks as `grader autograde` does, then makes feedback as `grader feedback` does."""
    lab = stage.lab(START)
    folders = [prepared(stage, attack) for attack in chosen]
    records = list(autograde(lab, folders, stage.runner(lab), SEED))
    assert len(records) == len(chosen) and all(record.score is not None for record in records)
    assert generate_feedback(lab).pages == len(chosen)
    target = stage.course.root / "pages"
    shutil.copytree(stage.course.feedback, target, dirs_exist_ok=True)
    found = {page.parents[1].name: page for page in target.rglob("*.html")}
    return {attack.title: found[student_of(attack)] for attack in chosen}


def cleared(stage: Stage, gradebook: bytes) -> None:
    """Everything as it was before, but for the pages."""
    for folder in (stage.course.autograded, stage.course.feedback):
        shutil.rmtree(folder, ignore_errors=True)
    for left in stage.course.grading.iterdir():
        if left.is_file() and left.name != "seeds.json":
            left.unlink()
    stage.course.gradebook.write_bytes(gradebook)


def test_feedback_pages_hold_no_secret_and_no_script(stage, pages):
    for page in pages.values():
        text = page.read_text()
        assert not leaks(stage, text)
        assert "<script" not in text.lower()


@pytest.mark.parametrize(
    "attack", parameters([attack for attack in ALL if attack.get("SLOW_TO_SHOW", False)])
)
def test_no_submission_keeps_the_feedback_of_a_class_from_being_made(stage, attack):
    kept = stage.course.gradebook.read_bytes()
    without_gradebook(stage.course)
    began = time.process_time()
    try:
        made_pages(stage, [attack])
        assert time.process_time() - began < 8
    finally:
        cleared(stage, kept)


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: scripts/setup_browser.sh says how")
def test_no_script_of_a_submission_runs_in_the_browser_that_shows_its_feedback(pages):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = chromium.new_page()
        page.route(re.compile("^https?:"), lambda route: (asked.append(route.request.url), route.abort()))
        page.on("dialog", lambda dialog: (opened.append(dialog.message), dialog.dismiss()))
        for title, path in pages.items():
            asked: list[str] = []
            opened: list[str] = []
            page.goto(path.as_uri())
            page.wait_for_timeout(300)
            for link in page.locator("a:visible").all()[:50]:
                target = (link.get_attribute("href") or "").strip().lower()
                assert not target.startswith(("javascript:", "data:", "vbscript:")), (title, target)
            assert page.evaluate("window.attacked") is None, title
            assert opened == [], title
            assert not [url for url in asked if "attacker" in url], (title, asked)
            live = "iframe, object, embed, form, input, button, base, meta[http-equiv=refresh], svg, link[href*=attacker]"
            assert page.locator(live).count() == 0, (
                title,
                page.locator(live).first.evaluate("e => e.outerHTML"),
            )
            handlers = "[...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => a.name.startsWith('on'))).length"
            assert page.evaluate(handlers) == 0, title
        chromium.close()
