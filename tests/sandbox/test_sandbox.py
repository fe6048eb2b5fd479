"""The sandbox itself: what a kernel sees, what it may use, what is left of it, and what happens when it breaks."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import platform
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil
import pytest
from nbformat.v4 import new_code_cell, new_notebook

import course_utils
from course_utils.checking.check import SEED_VARIABLE
from grader.errors import GraderError
from grader.run import kernels
from grader.run.notebook import PlainRunner, SandboxRunner, imported_modules
from grader.run.states import CRASHED, GRADED, OUT_OF_MEMORY, TIMED_OUT, Executed
from grader.sandbox import container, preloaded
from grader.sandbox.preloaded import Limits, NoKernel, Preloaded, SandboxLost, Setting, borrow, give_back

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("bwrap"), reason="the sandbox needs Linux and bubblewrap"
)
only_root = pytest.mark.skipif(getattr(os, "getuid", int)() != 0, reason="is about grading as root")
only_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of calls are those of x86_64")

SEED = 31
MODULES = ("json", "multiprocessing", "socket", "mmap")
RUNNER = SandboxRunner(modules=MODULES, cell_seconds=20)
MIB = 2**20
_shown = (Path(sys.prefix), Path(course_utils.__file__))
IN_TMP = sorted({path.parts[2] for path in _shown if path.is_relative_to("/tmp")})  # a clone there is shown


def notebook(*sources: str):
    return new_notebook(cells=[new_code_cell(source, id=f"c{i}") for i, source in enumerate(sources)])


def run(*sources: str, runner: SandboxRunner = RUNNER, folder: Path | None = None) -> Executed:
    return runner.run(notebook(*sources), SEED, folder)


def printed(executed: Executed) -> list[str]:
    """What each cell wrote, or the kind of error that it ended in."""
    return [
        "".join(output.get("text") or output.get("ename", "") for output in cell.outputs).strip()
        for cell in executed.notebook.cells
    ]


def found(source: str, **options):
    """The value that the code's ``result`` has in a kernel."""
    executed = run(f"{source}\nimport json; print(json.dumps(result))", **options)
    assert executed.state == GRADED, executed.notes
    return json.loads(printed(executed)[0])


def limited(**limits) -> SandboxRunner:
    return SandboxRunner(modules=MODULES, cell_seconds=20, limits=Limits(**limits))


def family(process: Preloaded) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def the_idle_one(runner: SandboxRunner = RUNNER, folder: Path | None = None) -> Preloaded:
    """The preloaded process that the next run takes."""
    process = borrow(Setting(runner.modules, folder, runner.hidden))
    process.wait_until_ready()
    give_back(process)
    return process


def python_of(process: Preloaded) -> psutil.Process:
    """The preloaded process proper, within its container."""
    return next(each for each in family(process) if each.name() != "bwrap")


# ---------------------------------------------------------------------------------- what a kernel sees

SURVEY = """
import ctypes, os, resource, socket, subprocess, threading

def contents(path):
    with open(path) as file:
        return file.read()

def outcome(number, *arguments):
    ctypes.set_errno(0)
    code = ctypes.CDLL(None, use_errno=True).syscall(number, *arguments)
    return "done" if code >= 0 else os.strerror(ctypes.get_errno())

def writable(folder):
    try:
        open(os.path.join(folder, "try"), "w").close()
        os.remove(os.path.join(folder, "try"))
        return True
    except OSError:
        return False

def may_open(kind):
    try:
        socket.socket(kind, socket.SOCK_STREAM).close()
        return True
    except OSError as error:
        return error.errno not in (97, 1)

def sockets():
    for name in os.listdir("/proc/self/fd"):
        try:
            with socket.socket(fileno=os.dup(int(name))) as each:
                yield [each.family, each.type & 15]
        except OSError:
            pass

threads = [contents(f"/proc/self/task/{name}/status").splitlines() for name in os.listdir("/proc/self/task")]
places = [line.split()[4] for line in contents("/proc/self/mountinfo").splitlines()]
links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
shown = {path: sorted(os.listdir(path)) for path in ("/", "/etc", "/run", "/home", "/home/learner", "/tmp", "/dev/shm", "/dev")}
result = {
    "me": [os.getpid(), os.getuid(), os.getgroups()],
    "environment": dict(os.environ),
    "files": sorted({os.readlink(link) for link in links if os.path.islink(link)}),
    "sockets": list(sockets()),
    "threads": [dict(line.split(":\\t") for line in each if line.startswith(("Cap", "NoNew", "Seccomp:"))) for each in threads],
    "writable": sorted({place for place in [*places, *map("/".__add__, shown["/"])] if writable(place)}),
    "shown": shown,
    "processes": [name for name in os.listdir("/proc") if name.isdigit()],
    "families": [kind for kind in range(46) if may_open(kind)],
    "interfaces": [name for _, name in socket.if_nameindex()],
    "namespaces": contents("/proc/sys/user/max_user_namespaces").strip(),
    "names": [contents("/etc/hosts"), subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()],
    "children": subprocess.run("echo a; cat /proc/self/status | grep -E 'CapEff|Seccomp:'", shell=True, capture_output=True, text=True).stdout,
    "limits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")},
    "work": os.getcwd(),
    "oom": contents("/proc/self/oom_score_adj").strip(),
}
"""


@pytest.fixture(scope="module")
def survey() -> dict:
    """What one kernel says of the place it is in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET_TOKEN", "of-whoever-grades")
        patch.setenv("PYTHONPATH", "/somewhere")
        return found(SURVEY)


def test_a_kernel_is_an_ordinary_user_and_alone(survey):
    assert survey["me"] == [1, 1000, []] or survey["me"][:2] == [1, 1000]
    assert survey["processes"] == ["1"]
    assert survey["names"] == ["127.0.0.1 localhost\n", "learner"]


def test_the_environment_of_whoever_grades_stays_out(survey):
    environment = survey["environment"]
    assert environment[SEED_VARIABLE] == str(SEED)
    assert "of-whoever-grades" not in str(environment) and "/somewhere" not in str(environment)
    assert environment["HOME"] == "/home/learner" and environment["PYTHONHASHSEED"] == "0"
    assert {environment[f"{name}_NUM_THREADS"] for name in ("OMP", "OPENBLAS", "MKL")} == {"1"}


def test_no_file_and_no_control_socket_is_inherited(survey):
    assert [name for name in survey["files"] if name.startswith("/")] == ["/dev/null"]
    assert survey["sockets"] and socket.SOCK_SEQPACKET not in [kind for _, kind in survey["sockets"]]


def test_every_thread_has_given_up_all_rights(survey):
    assert len(survey["threads"]) > 3
    for thread in survey["threads"]:
        assert {int(value, 16) for name, value in thread.items() if name.startswith("Cap")} == {0}
        assert (thread["NoNewPrivs"], thread["Seccomp"]) == ("1", "2")
    assert survey["children"].split() == ["a", "CapEff:", "0" * 16, "Seccomp:", "2"]


def test_only_folders_of_its_own_can_be_written_to_and_they_are_empty(survey):
    assert survey["writable"] == ["/dev/shm", "/home/learner", "/tmp"]
    assert survey["shown"]["/home/learner"] == ["work"] and survey["work"] == "/home/learner/work"
    assert survey["shown"]["/tmp"] == IN_TMP and survey["shown"]["/dev/shm"] == []
    above = Path(sys.prefix).parts[:3]  # an environment may lie in somebody's home folder
    homes = {"learner", *above[2:]} if above[:2] == ("/", "home") else {"learner"}
    assert survey["shown"]["/run"] == ["sockets"] and set(survey["shown"]["/home"]) == homes


def test_of_the_machine_next_to_nothing_is_shown(survey):
    assert "sys" not in survey["shown"]["/"]
    assert set(survey["shown"]["/etc"]) <= {"passwd", "group", "hosts", *container._SETTINGS}
    devices = {"null", "zero", "full", "random", "urandom", "tty", "pts", "ptmx", "shm", "core", "fd"}
    assert set(survey["shown"]["/dev"]) <= devices | {"stdin", "stdout", "stderr", "console"}


def test_there_is_no_network_and_no_way_round_it(survey):
    assert set(survey["families"]) <= {1, 2, 10, 16}  # not vsock (40), which knows no network namespaces
    assert survey["interfaces"] == ["lo"]
    assert "OSError" in printed(run("import socket; socket.create_connection(('127.0.0.1', 9), 2)"))[0]


def test_limits_are_set_and_hard(survey):
    limits, most = survey["limits"], Limits()
    assert limits["RLIMIT_NPROC"] == [most.processes] * 2 and limits["RLIMIT_FSIZE"] == [most.disk] * 2
    assert limits["RLIMIT_NOFILE"] == [most.files] * 2 and limits["RLIMIT_CPU"] == [most.cpu_seconds] * 2
    assert limits["RLIMIT_MEMLOCK"] == limits["RLIMIT_MSGQUEUE"] == limits["RLIMIT_CORE"] == [0, 0]
    assert most.memory < limits["RLIMIT_DATA"][1] < 2 * most.memory
    assert survey["namespaces"] == "0" and survey["oom"] == "1000"


@only_x86
def test_calls_that_no_notebook_needs_are_refused():
    numbers = {
        "ptrace": (101, 0, 0, 0, 0), "mount": (165, 0, 0, 0, 0, 0), "umount2": (166, b"/tmp", 2),
        "unshare user": (272, 0x10000000), "unshare time": (272, 0x80), "setns": (308, 0, 0),
        "clone user": (56, 0x10000011, 0, 0, 0, 0), "clone mounts": (56, 0x00020011, 0, 0, 0, 0),
        "chroot": (161, b"/tmp"), "keyctl": (250, 0, 0, 0, 0, 0), "add_key": (248, 0, 0, 0, 0, 0),
        "bpf": (321, 0, 0, 0), "io_uring_setup": (425, 1, 0), "userfaultfd": (323, 0),
        "perf_event_open": (298, 0, 0, -1, -1, 0), "process_vm_readv": (310, 1, 0, 0, 0, 0, 0),
        "memfd_create": (319, b"x", 0), "shmget": (29, 0, 4096, 0o1600), "msgget": (68, 0, 0o1600),
        "semget": (64, 0, 1, 0o1600), "open_by_handle_at": (304, 0, 0, 0), "pidfd_getfd": (438, 0, 0, 0),
        "modify_ldt": (154, 0, 0, 0), "mmap shared": (9, 0, 4096, 3, 0x21, -1, 0), "move_mount": (429, 0, 0, 0, 0, 0),
        "fsopen": (430, b"tmpfs", 0), "open_tree": (428, -100, b"/", 1), "open_tree_attr": (467, -100, b"/", 1, 0, 0),
    }  # fmt: skip
    setup = SURVEY.partition("def writable")[0]
    answers = found(f"{setup}\nresult = {{name: outcome(*call) for name, call in {numbers!r}.items()}}")
    assert set(answers.values()) == {"Operation not permitted"}, answers
    clone3 = found(f"{setup}\nresult = outcome(435, 0, 0)")
    assert clone3 == "Function not implemented"  # so that the C library falls back to clone


@only_x86
def test_calls_of_other_architectures_end_the_caller():
    x32 = "import ctypes, os\nif os.fork() == 0: ctypes.CDLL(None).syscall(0x40000000 + 39); os._exit(0)\n"
    assert found(f"{x32}result = os.waitstatus_to_exitcode(os.wait()[1])") == -signal.SIGSYS


def test_what_notebooks_do_need_still_works():
    source = """
import multiprocessing, socket, subprocess, sys, tempfile, threading
def square(x): return x * x
with multiprocessing.get_context("fork").Pool(2) as pool: squares = pool.map(square, [1, 2])
shared = multiprocessing.Value("i", 4)
heard = []; thread = threading.Thread(target=heard.append, args=(5,)); thread.start(); thread.join()
a, b = socket.socketpair(); a.send(b"6")
with tempfile.TemporaryFile() as file: file.write(b"7")
code = subprocess.run([sys.executable, "-c", "import numpy; print(8)"], capture_output=True, text=True)
result = [squares, shared.value, heard, b.recv(1).decode(), code.stdout.strip()]
"""
    assert found(source) == [[1, 4], 4, [5], "6", "8"]


def test_nothing_of_the_course_is_in_sight_but_what_labs_need(course):
    root = str(course.root)
    looked = found(f"""
import os
def look(path): return sorted(os.listdir(path)) if os.path.isdir(path) else None
result = [look({root!r}), look({root!r} + "/grader"), look({root!r} + "/grader/sandbox"), look({root!r} + "/solutions")]
""")
    utilities = Path(course_utils.__file__).parent
    assert set(looked[0]) <= {utilities.name, "grader", *Path(sys.prefix).relative_to(root).parts[:1]}
    assert looked[1:] == [["sandbox"], ["inside"], None]


def test_hidden_folders_stay_so_wherever_they_lie():
    folder = Path(os.__file__).parent / "json"
    runner = SandboxRunner(hidden=(folder,))
    source = f"import os; result = [os.listdir({str(folder)!r}), os.access({str(folder)!r}, os.W_OK)]"
    # a kernel needs that folder, so its preloaded process does not come up; the folder is the reason
    with pytest.raises(GraderError, match="json"):
        found(source, runner=runner)
    folder = Path(os.__file__).parent / "turtledemo"
    if not folder.is_dir():
        pytest.skip("this Python has no turtledemo")
    source = f"import os; result = [os.listdir({str(folder)!r}), os.access({str(folder)!r}, os.W_OK)]"
    assert found(source, runner=SandboxRunner(modules=MODULES, hidden=(folder,))) == [[], False]


# ---------------------------------------------------------------------------------- data


@pytest.fixture
def release(tmp_path) -> Path:
    """A lab's release folder, under a name with a space."""
    folder = tmp_path / "a lab"
    (folder / "images").mkdir(parents=True)
    for name in ("data.csv", "lab.ipynb", "expected.npz", ".hidden", "images/a.txt"):
        (folder / name).write_text("as handed out")
    for path in (tmp_path, folder, folder / "images"):
        path.chmod(0o755)
    return folder


def test_data_are_copies_that_may_be_changed(release):
    change = "import os; open('data.csv', 'w').write('x'); os.remove('images/a.txt'); print(open('data.csv').read())"
    look = "result = [sorted(os.listdir()), open('data.csv').read(), os.access('/lab/data.csv', os.W_OK)]"
    assert printed(run(change, folder=release)) == ["x"]
    for _ in range(2):
        assert found(f"import os; {look}", folder=release) == [["data.csv", "images"], "as handed out", False]
    assert (release / "data.csv").read_text() == "as handed out"
    assert (release / "images/a.txt").exists()


@only_root
def test_files_that_only_root_may_read_are_named_instead_of_failing_every_submission(release):
    (release / "data.csv").chmod(0o600)
    with pytest.raises(GraderError, match="data.csv.*chmod"):
        run("1", folder=release)


# ---------------------------------------------------------------------------------- nothing survives

LITTER = """
import os, socket, subprocess, time
for folder in ("/tmp", "/dev/shm", "/home/learner", "."):
    open(os.path.join(folder, "litter"), "w").write("x")
listening = socket.socket(socket.AF_UNIX); listening.bind("\\0litter"); listening.listen()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: time.sleep(600)
    os._exit(0)
subprocess.Popen(["sleep", "600"], start_new_session=True)
import json; json.litter = True
print("littered")
"""
LOOK = """
import json, os, socket
def connects():
    try: socket.socket(socket.AF_UNIX).connect("\\0litter"); return True
    except OSError: return False
result = [[os.path.exists(os.path.join(f, "litter")) for f in ("/tmp", "/dev/shm", "/home/learner", ".")],
          connects(), len([n for n in os.listdir("/proc") if n.isdigit()]), hasattr(json, "litter")]
"""


def test_nothing_of_a_submission_is_there_for_the_next_one():
    process = the_idle_one()
    before = {each.pid for each in family(process)}
    assert printed(run(LITTER)) == ["littered"]
    assert found(LOOK) == [[False] * 4, False, 1, False]
    assert the_idle_one() is process  # it was the same one all the time
    assert {each.pid for each in family(process)} == before
    assert list(process.sockets.iterdir()) == []


def test_a_preloaded_process_that_is_not_as_it_was_is_replaced():
    process = the_idle_one()
    process.start_kernel(_connection(process), {}, Limits())
    process._send({"do": "signal", "number": signal.SIGSTOP})  # a kernel that does not listen ends as well
    process.stop_kernel()
    process.start_kernel(_connection(process), {}, Limits())
    assert process._ask({"do": "check"}) == {"clean": False}
    process.stop_kernel()


def _connection(process: Preloaded) -> dict:
    ports = {
        f"{name}_port": n for n, name in enumerate(("shell", "iopub", "stdin", "control", "hb"), start=1)
    }
    names = {"transport": "ipc", "ip": str(process.sockets / "k"), "signature_scheme": "hmac-sha256"}
    return {**ports, **names, "key": "a key", "kernel_name": "sandbox"}


@pytest.mark.slow
def test_many_kernels_in_a_row_leave_nothing_behind():
    def state() -> tuple[int, ...]:
        gc.collect()  # sockets that are nobody's any more, from here and from earlier tests
        process = the_idle_one()
        inside, here = python_of(process), psutil.Process()
        return (
            inside.num_fds(),
            inside.num_threads(),
            len(family(process)),
            here.num_fds(),
            here.num_threads(),
        )

    def memory() -> int:
        return python_of(the_idle_one()).memory_info().rss + psutil.Process().memory_info().rss

    def settled() -> tuple[int, ...]:
        """The state once it has been the same for a second: ZeroMQ closes sockets, those of earlier tests too, when it has the time."""
        seen = [state()]
        while len(seen) < 10 or (len(seen) < 300 and len(set(seen[-10:])) > 1):
            time.sleep(0.1)
            seen.append(state())
        return seen[-1]

    for _ in range(10):
        run("1")
    before, memory_before, first = settled(), memory(), the_idle_one()
    for number in range(60):
        run(("print(1)", "import os; os._exit(3)", LITTER)[number % 3])
    assert the_idle_one() is first
    after = settled()
    assert after[:3] == before[:3] and after[4] <= before[4] + 1
    assert abs(after[3] - before[3]) < 10
    assert memory() - memory_before < 40 * MIB


# ---------------------------------------------------------------------------------- limits


def test_a_cell_that_takes_too_long_is_stopped():
    executed = run(
        "import time; time.sleep(60)", "print(2)", runner=SandboxRunner(modules=MODULES, cell_seconds=1)
    )
    assert executed.state == TIMED_OUT and printed(executed)[1] == "2"


def test_cpu_time_of_a_cell_counts_for_all_its_processes():
    source = "import os\nfor _ in range(2): os.fork()\nwhile True: pass"
    runner = SandboxRunner(modules=MODULES, cell_seconds=1)
    executed = run("while False: pass", source, "print(3)", runner=runner)
    assert executed.state == TIMED_OUT and printed(executed)[2] == "3"


IN_SHORT_LIVED_CHILDREN = """
import ctypes, os, signal, time
def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
def in_children():
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if os.fork() == 0: compute(0.01); os._exit(0)
        try: os.wait()
        except ChildProcessError: pass
class Action(ctypes.Structure):
    _fields_ = [("handler", ctypes.c_void_p), ("mask", ctypes.c_char * 128), ("flags", ctypes.c_int), ("restorer", ctypes.c_void_p)]
def forget(flags=0, handler=0): ctypes.CDLL(None).sigaction(17, ctypes.byref(Action(handler, b"", flags, 0)), None)
def in_a_child(forget):
    if os.fork() == 0: os.setsid(); forget(); in_children(); os._exit(0)
    os.wait()
"""
WAYS_TO_FORGET = {
    "ignored": "signal.signal(signal.SIGCHLD, signal.SIG_IGN); in_children()",
    "no waiting": "forget(flags=2); in_children()",
    "ignored by a daemon": "in_a_child(lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))",
    "no waiting, by a daemon": "in_a_child(lambda: forget(flags=2))",
    "by a handler that is never called": "in_a_child(lambda: forget(2, ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p).value))",
    "orphans": "import threading\nwhile True:\n    if os.fork() == 0:\n        if os.fork() == 0: compute(0.01)\n        os._exit(0)\n    os.wait()\n    try: os.waitpid(-1, os.WNOHANG)\n    except OSError: pass",
    "vfork": "import subprocess, sys\nwhile True: subprocess.run(['sh', '-c', 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'])",
}


@only_x86
@pytest.mark.parametrize("way", WAYS_TO_FORGET)
def test_cpu_time_counts_even_of_children_that_the_system_is_told_to_forget(way):
    runner = SandboxRunner(modules=MODULES, cell_seconds=0.5)
    source = f"{IN_SHORT_LIVED_CHILDREN}\n{WAYS_TO_FORGET[way]}"
    executed = run(source, "print(3)", runner=runner)
    assert (executed.state, printed(executed)[1]) == (TIMED_OUT, "3")


def test_handlers_for_children_that_end_work():
    """multiprocessing's fork server and shells have them. In the kernel itself, which has threads, one is only said to be installed."""
    source = """
import multiprocessing, os, signal, subprocess, sys, time
def heard_in_a_child():
    reading, writing = os.pipe()
    if os.fork() == 0:
        signal.signal(signal.SIGCHLD, lambda *_: os.write(writing, b"heard"))
        if os.fork() == 0: os._exit(0)
        os.wait(); os._exit(0)
    os.wait(); os.close(writing)
    return os.read(reading, 10).decode()
signal.signal(signal.SIGCHLD, lambda *_: None)
process = multiprocessing.get_context("forkserver").Process(target=print)
process.start(); process.join()
said = subprocess.run(["sh", "-c", "sleep 0.01 & wait; echo done"], capture_output=True, text=True).stdout.strip()
result = [process.exitcode, said, heard_in_a_child()]
"""
    assert found(source) == [0, "done", "heard"]


@only_x86
def test_where_nobody_can_be_asked_no_child_is_forgotten_either():
    """Before Linux 5.5, and in a container whose manager already listens."""
    source = f"""
import os, signal, sys
sys.path.insert(0, {str(container.INSIDE)!r})
import lockdown
lockdown._SECCOMP_CALL["x86_64"] = 9999  # there is no such call
lockdown._call("prctl", 38, 1, 0, 0, 0)
assert lockdown._forbid_calls() is None
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
child = os.fork()
if child == 0: os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.stdout == "7\n", done.stderr


@pytest.mark.slow
def test_cpu_time_is_limited_by_the_system_too():
    executed = run("while True: pass", "print(2)", runner=limited(cpu_seconds=2))
    assert executed.state == TIMED_OUT and printed(executed)[1] == "2"


FILL = """
import os, time
def fill(size):
    block = bytearray(size)
    for at in range(0, size, 4096): block[at] = 1
    return block
"""
GREEDY = {
    "forks": f"{FILL}\nfor _ in range(12):\n    if os.fork() == 0: fill(60 << 20); time.sleep(9); os._exit(0)\ntime.sleep(9)",
    "programs": """
import subprocess, sys, time
code = "x = bytearray(30 << 20)\\nfor at in range(0, len(x), 4096): x[at] = 1\\nimport time; time.sleep(9)"
for _ in range(12): subprocess.Popen([sys.executable, "-S", "-c", code])
time.sleep(9)
""",
    "page tables": """
import ctypes
libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
start = libc.mmap(None, 1 << 40, 1, 0x4022, -1, 0)
libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(1 << 40), 15)
for at in range(1 << 19): ctypes.c_char.from_address(start + (at << 21)).value
""",
    "sockets": """
import os, socket, time
def fill():
    kept = []
    while len(kept) < 200:
        kept.append(socket.socketpair())
        for end in kept[-1]:
            end.setblocking(False)
            try:
                while True: end.send(bytes(65536))
            except BlockingIOError: pass
    time.sleep(9)
for _ in range(4):
    if os.fork() == 0: fill()
time.sleep(9)
""",
}  # fmt: skip


@pytest.mark.parametrize("way", GREEDY)
def test_memory_is_limited_whichever_way_it_is_taken(way):
    executed = run(GREEDY[way], "print(2)", runner=limited(memory=200 * MIB))
    assert executed.state == OUT_OF_MEMORY and printed(executed)[1] == "2"


def test_memory_of_one_process_ends_in_an_exception():
    assert printed(run("x = bytearray(400 << 20)", "print(2)", runner=limited(memory=200 * MIB))) == [
        "MemoryError",
        "2",
    ]


def test_memory_that_forks_share_counts_once():
    source = f"""{FILL}
block = fill(90 << 20)
children = []
for _ in range(5):
    if (pid := os.fork()) == 0: time.sleep(1); os._exit(0)
    children.append(pid)
result = [os.waitpid(pid, 0)[1] for pid in children]
"""
    assert found(source, runner=limited(memory=400 * MIB)) == [0] * 5


@pytest.mark.slow
def test_three_quarters_of_the_memory_are_there_to_be_used():
    runner = SandboxRunner(modules=("numpy", "torch"), cell_seconds=30)
    source = "import numpy as np\nx = np.ones((1536 << 20) // 8)\nprint(x.shape)"
    assert run(source, runner=runner).state == GRADED


@pytest.mark.slow
def test_memory_is_watched_however_many_cells_there_are():
    start = f"{FILL}\nfor _ in range(8):\n    if os.fork() == 0: fill(60 << 20); time.sleep(30); os._exit(0)"
    assert run(start, *["1"] * 200, runner=limited(memory=200 * MIB)).state == OUT_OF_MEMORY


def test_processes_files_and_disk_are_limited():
    processes = "import os, time\nn = 0\ntry:\n    while n < 99:\n        if os.fork() == 0: time.sleep(9); os._exit(0)\n        n += 1\nexcept OSError: pass\nprint(10 < n < 40)"
    files = "kept = []\ntry:\n    while len(kept) < 999: kept.append(open('/dev/null'))\nexcept OSError: pass\nn = len(kept); kept.clear(); print(10 < n < 200)"
    one = "try: open('/tmp/a', 'wb').write(bytes(9 << 20))\nexcept OSError: print('refused')"
    many = "try:\n    for n in range(9): open(f'/dev/shm/{n}', 'wb').write(bytes(2 << 20))\nexcept OSError: print('refused')"
    executed = run(processes, files, one, many, runner=limited(processes=40, files=200, disk=8 * MIB))
    assert executed.state == GRADED
    assert printed(executed) == ["True", "True", "refused", "refused"]


def test_output_is_limited():
    runner = SandboxRunner(modules=MODULES, output_bytes=1000)
    executed = run("print('x' * 600)", "print('y' * 600)", "print('z' * 100)", runner=runner)
    assert [len(text) for text in printed(executed)] == [600, 0, 0] and executed.state == GRADED


FLOOD = """
import os, select, socket, struct, time
time.sleep(0.5)
for number in range(5, 200):
    try: each = socket.socket(fileno=os.dup(number))
    except OSError: continue
    try: peer, name = each.getpeername(), each.getsockname()
    except OSError: continue
    if str(name).endswith("k-2"): to = each
part = memoryview(b"\\x03" + struct.pack(">Q", 8 << 20) + bytes(8 << 20))  # a part, with more to come
while True:
    at = 0
    while at < len(part):
        select.select([], [to], [])
        try: at += to.send(part[at:at + (1 << 20)])
        except BlockingIOError: pass
"""


@pytest.mark.alone  # how much has come before it is stopped depends on who gets a turn first
def test_a_message_without_end_does_not_fill_the_grader_s_memory(monkeypatch):
    monkeypatch.setattr(kernels, "FLOOD", 200 * MIB)
    before = psutil.Process().memory_info().rss
    executed = run(FLOOD, "print(2)")
    assert executed.state == OUT_OF_MEMORY and printed(executed)[1] == "2"
    assert psutil.Process().memory_info().rss - before < 2000 * MIB


# ---------------------------------------------------------------------------------- ends of a kernel


def test_a_kernel_cannot_be_killed_from_within_but_can_end():
    signals = "import os\nfor number in (9, 15, 19): os.kill(os.getpid(), number)\nprint('alive')"
    ends = ("import os; os._exit(3)", "import os; os.abort()", "import ctypes; ctypes.string_at(0)")
    executed = run(signals, *ends, "print(5)")
    assert executed.state == CRASHED and len(executed.notes) == 3
    assert [printed(executed)[0], printed(executed)[4]] == ["alive", "5"]


def test_it_is_the_same_in_a_warm_and_in_a_cold_process():
    source = """
import os, sys
result = [hash("a"), sys.flags.hash_randomization, os.environ["OMP_NUM_THREADS"], os.getcwd(), "torch" in sys.modules]
"""
    warm, cold = found(source), found(source, runner=SandboxRunner())
    assert warm == cold and warm[4] is False


def test_only_what_the_release_imports_is_imported_beforehand(labs):
    lab = labs["01_numpy_attention"] if "01_numpy_attention" in labs else next(iter(labs.values()))
    modules = imported_modules(lab)
    assert "course_utils.checking.check" in modules and f"course_utils.exercises.{lab.slug}" in modules
    runner = SandboxRunner.for_lab(lab)
    assert runner.modules == modules
    assert {lab.course.solutions, lab.course.grading, lab.course.build} <= set(runner.hidden)


# ---------------------------------------------------------------------------------- it breaks


class Breaker:
    """Does something to the preloaded process some time after a kernel has started, so many times."""

    def __init__(self, monkeypatch, number: int, times: int, seconds: float = 0.3) -> None:
        self.broken: list[int] = []
        start = Preloaded.start_kernel

        def broken_start(process: Preloaded, *arguments: object) -> None:
            start(process, *arguments)
            if len(self.broken) < times:
                self.broken.append(process.pid)
                target = python_of(process)

                def break_it() -> None:
                    with contextlib.suppress(psutil.NoSuchProcess):  # the run may be over by then
                        target.send_signal(number)

                threading.Timer(seconds, break_it).start()

        monkeypatch.setattr(Preloaded, "start_kernel", broken_start)


SLOW = ("print(1)", "import time; time.sleep(1.2); print(2)", "print(3)")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
def test_a_broken_preloaded_process_is_replaced_and_the_notebook_run_once_more(monkeypatch, number):
    monkeypatch.setattr(preloaded, "_ANSWER_SECONDS", 2)
    breaker = Breaker(monkeypatch, number, times=1)
    began = time.monotonic()
    executed = run(*SLOW)
    assert len(breaker.broken) == 1
    assert (executed.state, executed.notes, printed(executed)) == (GRADED, (), ["1", "2", "3"])
    assert time.monotonic() - began < 30
    assert breaker.broken[0] != the_idle_one().pid and not psutil.pid_exists(breaker.broken[0])


def test_a_submission_whose_processes_die_twice_has_crashed_until_it_is_tried_again(monkeypatch):
    breaker = Breaker(monkeypatch, signal.SIGKILL, times=9)
    executed = run(*SLOW)
    assert len(breaker.broken) == 2
    assert executed.state == CRASHED and executed.lost and "twice" in executed.notes[0]
    assert [cell.source for cell in executed.notebook.cells] == list(SLOW)
    assert printed(run("print(1)", runner=SandboxRunner(modules=("json",)))) in (["1"], [""])


def test_one_that_died_while_it_waited_is_replaced_unnoticed():
    process = the_idle_one()
    python_of(process).kill()
    psutil.Process(process.pid).wait(10)
    assert printed(run("print(1)")) == ["1"]
    assert the_idle_one() is not process and not process.sockets.exists()


def test_a_file_that_is_replaced_outside_costs_no_preloaded_process(tmp_path):
    (tmp_path / "words.csv").write_text("old")
    read = "print(open('words.csv').read())"
    assert printed(run(read, folder=tmp_path)) == ["old"]
    process = the_idle_one(folder=tmp_path)
    (tmp_path / "new").write_text("new")
    (tmp_path / "new").replace(tmp_path / "words.csv")
    assert printed(run(read, folder=tmp_path)) == ["old"]  # whoever started it keeps what they started with
    assert the_idle_one(folder=tmp_path) is process


def test_a_machine_on_which_no_kernel_starts_is_not_a_learner_s_fault():
    with pytest.raises(GraderError, match="No kernel could be started.*memory"):
        run("1", runner=limited(processes=2))


def test_a_preloaded_process_that_takes_nothing_does_not_hold_up_the_grader(monkeypatch):
    monkeypatch.setattr(preloaded, "_ANSWER_SECONDS", 1)
    process = Preloaded(Setting())
    process.wait_until_ready()
    python_of(process).suspend()
    began = time.monotonic()
    with pytest.raises(SandboxLost):
        for _ in range(10_000):
            process.allow(1, 1)
    assert time.monotonic() - began < 10
    process.close()
    assert not psutil.pid_exists(process.pid) and not process.sockets.exists()


def test_a_kernel_that_is_gone_can_be_given_time_and_signals():
    process = the_idle_one()
    process.start_kernel(_connection(process), {}, Limits())
    process.signal(signal.SIGKILL)
    process.allow(1, 1)
    process.signal(signal.SIGINT)
    deadline = time.monotonic() + 10
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() == -signal.SIGKILL
    process.stop_kernel()


def test_several_containers_in_one_process_do_not_meet():
    first, second = Preloaded(Setting(MODULES)), Preloaded(Setting(MODULES))
    try:
        for each in (first, second):
            each.start_kernel(_connection(each), {}, Limits())
        first.stop_kernel()
        assert second.poll() is None and first.sockets != second.sockets
        second.stop_kernel()
    finally:
        first.close()
        second.close()


@pytest.mark.alone
def test_an_interrupt_while_modules_are_imported_goes_through_at_once():
    timer = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
    began = time.monotonic()
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a background job is started without it
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            run("1", runner=SandboxRunner(modules=("torch", "matplotlib.pyplot")))
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 10


def test_the_container_ends_with_the_grader(tmp_path):
    source = """
import os, sys
from grader.sandbox.preloaded import Preloaded, Setting
process = Preloaded(Setting()); process.wait_until_ready()
print(process.pid, process.sockets, flush=True)
os.kill(os.getpid(), 9)
"""
    environment = {name: value for name, value in os.environ.items() if name != "HOME"} | {
        "TMPDIR": str(tmp_path)
    }
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, env=environment, cwd="/"
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    pid = int(done.stdout.split()[0])
    deadline = time.monotonic() + 10
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not psutil.pid_exists(pid)


# ---------------------------------------------------------------------------------- machines that are unlike others


def test_a_long_temporary_folder_is_no_hindrance(tmp_path, monkeypatch):
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    assert printed(run("print(1)", runner=SandboxRunner())) == ["1"]
    assert list(folder.iterdir()) == []


def test_a_sandbox_that_is_killed_while_it_starts_is_called_that(monkeypatch):
    """Between its start and the numbers of its users: nothing is said about namespaces, and the run can go on."""

    class Killed(subprocess.Popen):
        def __init__(self, *given, **how):
            super().__init__(*given, **how)
            sockets = [number for number in how["pass_fds"] if stat.S_ISSOCK(os.fstat(number).st_mode)]
            # as a child does that had just begun, and outlives it
            self.held = [os.fdopen(os.dup(number), "rb") for number in sockets]
            self.kill()

    monkeypatch.setattr(container.subprocess, "Popen", Killed)
    with pytest.raises(NoKernel, match="was killed while it started"):
        Preloaded(Setting()).wait_until_ready()


def test_without_room_for_temporary_files_it_says_so(monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(GraderError, match="No space left.*TMPDIR"):
        Preloaded(Setting())


def test_a_python_that_was_called_by_a_path_with_dots_is_no_hindrance(tmp_path):
    """Its prefix has the dots, too."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "environment").symlink_to(sys.prefix)
    python = tmp_path / "deep" / ".." / "environment" / "bin" / Path(sys.executable).name
    assert ".." in python.parts and python.exists()
    done = subprocess.run([python, "-c", IN_A_NAMESPACE], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip().isdigit(), done.stdout + done.stderr


def test_high_file_descriptors_are_no_hindrance():
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] < 2000:
        pytest.skip("only few files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[1], 4096), before[1]))
    kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    try:
        process = Preloaded(Setting())
        try:
            process.start_kernel(_connection(process), {}, Limits())
            process.stop_kernel()
        finally:
            process.close()
    finally:
        for each in kept:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _fake_bubblewrap(tmp_path: Path, monkeypatch, script: str) -> None:
    program = tmp_path / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


def _folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("tl-*"))


@pytest.mark.parametrize(
    "message",
    [
        "bwrap: No permissions to create new namespace, likely because the kernel does not allow it.",
        "bwrap: setting up uid map: Permission denied",
        "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
    ],
)
def test_a_bubblewrap_that_is_refused_is_quoted_with_what_helps(tmp_path, monkeypatch, message):
    _fake_bubblewrap(tmp_path, monkeypatch, f"echo '{message}' >&2; exit 1")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(GraderError) as caught:
        SandboxRunner().run(notebook("1"), SEED)
    text = str(caught.value)
    assert message in text and "sysctl" in text and "--sandbox none" in text
    assert not _folders()


IN_A_NAMESPACE = """
from nbformat.v4 import new_code_cell, new_notebook
from grader.errors import GraderError
from grader.run.notebook import SandboxRunner
try:
    executed = SandboxRunner().run(new_notebook(cells=[new_code_cell("import os; print(os.getuid())")]), 1)
    print(executed.notebook.cells[0].outputs[0].text)
except GraderError as error:
    print(error)
"""


def _as_root_of_a_namespace(before: str) -> str:
    """What the above prints where root is the only user there is, as in some containers."""
    if subprocess.run(["unshare", "-Ur", "true"], capture_output=True).returncode:
        pytest.skip("no user namespaces, or no unshare")
    script = f'{before} exec "$0" -c "$1"'
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", script, sys.executable, IN_A_NAMESPACE],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.skipif(
    getattr(os, "getuid", int)() == 0, reason="the only user of a namespace is an ordinary one outside"
)
def test_root_may_be_the_only_user_there_is():
    assert _as_root_of_a_namespace("") == "1000"


@pytest.mark.slow
def test_a_machine_without_user_namespaces_is_told_apart():
    text = _as_root_of_a_namespace("echo 0 > /proc/sys/user/max_user_namespaces;")
    assert "bwrap: " in text and "max_user_namespaces" in text and "sysctl" in text


def test_a_preloaded_process_that_fails_by_itself_is_not_taken_for_bubblewrap(monkeypatch):
    monkeypatch.setattr(container, "INSIDE", Path(json.__file__).parent)  # a folder that is no program
    with pytest.raises(GraderError) as caught:
        SandboxRunner().run(notebook("1"), SEED)
    assert "sysctl" not in str(caught.value) and "__main__" in str(caught.value)


def test_one_that_is_killed_while_it_starts_is_lost_and_leaves_nothing():
    process = Preloaded(Setting(("torch",)))
    timer = threading.Timer(0.7, lambda: python_of(process).kill())
    timer.start()
    with pytest.raises(NoKernel, match="killed while it started"):
        process.wait_until_ready()
    assert not process.alive and not process.sockets.exists()


def test_without_bubblewrap_it_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    before = _folders()
    with pytest.raises(GraderError, match="apt-get install bubblewrap.*--sandbox none"):
        SandboxRunner().run(notebook("1"), SEED)
    assert _folders() == before
    assert PlainRunner().run(notebook("print(1)"), SEED).state == GRADED


def test_no_kernel_is_a_kind_of_loss():
    assert issubclass(NoKernel, SandboxLost)


@pytest.mark.slow
def test_a_course_and_its_environment_may_lie_in_tmp(monkeypatch):
    """As in a fresh clone there. What is shown stays where it is; all else in /tmp is hidden."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        shown, other = Path(place) / "with a space", Path(place) / "other"
        shutil.copytree(container.INSIDE, shown)
        other.mkdir()
        for folder in (place, shown, *shown.iterdir()):
            Path(folder).chmod(0o755)
        monkeypatch.setattr(container, "INSIDE", shown)
        look = f"import os; result = [os.listdir({place!r}), os.path.isfile({str(shown / '__main__.py')!r}), sorted(os.listdir('/tmp'))]"
        runner = SandboxRunner(modules=("json", "this"), cell_seconds=20)  # not an idle one of other tests
        assert found(look, runner=runner) == [["with a space"], True, sorted([*IN_TMP, Path(place).name])]
        write = (
            f"import os\ntry: open({str(shown / 'x')!r}, 'w')\nexcept OSError as error: result = error.errno"
        )
        assert found(write, runner=runner) == 30  # read-only, as anywhere
        preloaded.close_all()


def test_a_module_of_the_lab_s_own_that_cannot_be_imported_stops_grading():
    """Or everybody would silently get 0 points."""
    with pytest.raises(
        GraderError, match=r"no_such_module, which the lab imports, .*No module named.*make environment"
    ):
        run("1", runner=SandboxRunner(modules=("json", "no_such_module")))


@pytest.mark.slow
@pytest.mark.parametrize(
    "long",
    [
        "print('x' * 34_000_000)",
        "print(list(range(5_000_000)))",
        "from IPython.display import HTML\ndisplay(HTML('x' * 34_000_000))",
        "raise ValueError('x' * 40_000_000)",
        "raise ValueError(',' * 400_000)",
    ],
)
def test_an_output_too_long_to_be_sent_costs_only_itself(long):
    executed = run("x = 1", long, "print(x)")
    assert executed.state == GRADED and printed(executed)[2] == "1"
    assert executed.notes == ()
