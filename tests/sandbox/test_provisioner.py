"""The sandbox behind Jupyter's own interfaces: nbclient, nbconvert, restart and interrupt."""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import psutil
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager, KernelManager
from jupyter_core.utils import run_sync
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbformat.v4 import new_code_cell, new_notebook

from course_utils.checking.check import SEED_VARIABLE
from grader.sandbox.preloaded import SandboxLost
from grader.sandbox.provisioner import NAME

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("bwrap"), reason="the sandbox needs Linux and bubblewrap"
)
WHERE = "import os; print(os.getcwd(), os.getpid())"
INSIDE = "/home/learner/work 1"


def specs(folder: Path, **config) -> KernelSpecManager:
    """A folder with one kernel spec, as ``jupyter kernelspec install`` would lay it down."""
    place = folder / "kernels" / "sandboxed"
    place.mkdir(parents=True, exist_ok=True)
    provisioner = {"provisioner_name": NAME, "config": config}
    spec = {"argv": ["python"], "language": "python", "display_name": "Sandboxed Python"}
    (place / "kernel.json").write_text(json.dumps({**spec, "metadata": {"kernel_provisioner": provisioner}}))
    return KernelSpecManager(kernel_dirs=[str(folder / "kernels")])


def kernel_manager(folder: Path, kind: type[KernelManager] = KernelManager, **config) -> KernelManager:
    return kind(kernel_name="sandboxed", kernel_spec_manager=specs(folder, **config))


@pytest.fixture
def nbclient(tmp_path) -> Iterator[Callable[..., NotebookClient]]:
    """Makes clients of notebooks with these sources. Their kernels end with the test: nbclient leaves that to whoever made them.

    So does what they leave behind. Python collects it at any time, and then logs tracebacks, for which it parses code: within
    ``ast.parse``, that is a SystemError about the depth of recursion (Python 3.11).
    """
    managers = []

    def client(*sources: str, timeout: int = 60) -> NotebookClient:
        managers.append(kernel_manager(tmp_path, AsyncKernelManager, modules=["json"]))
        return NotebookClient(notebook(*sources), km=managers[-1], timeout=timeout)

    yield client
    for manager in managers:
        if manager.has_kernel:
            run_sync(manager.shutdown_kernel)(now=True)
    managers.clear()
    gc.collect()


def notebook(*sources: str):
    return new_notebook(cells=[new_code_cell(source) for source in sources])


def printed(cell) -> str:
    return "".join(output.get("text", "") for output in cell.outputs).strip()


@pytest.fixture(params=[False, True], ids=["kept", "fresh"])
def kernel(request, tmp_path) -> Iterator[tuple[KernelManager, object]]:
    """A running kernel and a client of it, in a container that is kept for others or in one of its own."""
    manager = kernel_manager(tmp_path, modules=["json"], fresh=request.param)
    manager.start_kernel(env={SEED_VARIABLE: "7", "SECRET": "of whoever grades"})
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=30)
    yield manager, client
    client.stop_channels()
    if manager.has_kernel:
        manager.shutdown_kernel(now=True)


def said(client, code: str) -> str:
    heard = []

    def listen(message: dict) -> None:
        content = message["content"]
        heard.append(content.get("text") or content.get("ename") or "")

    client.execute_interactive(code, timeout=30, output_hook=listen)
    return "".join(heard).strip()


def test_nbclient_runs_a_notebook_in_the_sandbox(nbclient):
    executed = nbclient(WHERE, "print(2)").execute(cleanup_kc=True)
    assert [printed(cell) for cell in executed.cells] == [INSIDE, "2"]


def test_nbclient_sees_exceptions_and_dead_kernels(nbclient):
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        nbclient("1/0").execute(cleanup_kc=True)
    with pytest.raises(DeadKernelError):
        nbclient("import os; os._exit(3)").execute(cleanup_kc=True)


@pytest.mark.slow
def test_nbclient_s_time_limit_holds(nbclient):
    began = time.monotonic()
    with pytest.raises(Exception, match="timed out|Timeout"):
        nbclient("while True: pass", timeout=2).execute(cleanup_kc=True)
    assert time.monotonic() - began < 30


@pytest.mark.slow
def test_nbconvert_executes_in_the_sandbox(tmp_path):
    known = importlib.metadata.entry_points(group="jupyter_client.kernel_provisioners")
    if NAME not in {each.name for each in known}:
        pytest.skip("the course was installed before it had this entry point; install it again")
    specs(tmp_path)
    file = tmp_path / "nb.ipynb"
    nbformat.write(notebook(WHERE), file)
    arguments = [
        "--to",
        "notebook",
        "--execute",
        "--ExecutePreprocessor.kernel_name=sandboxed",
        "--output",
        "out",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "nbconvert", *arguments, str(file)],
        env=os.environ | {"JUPYTER_PATH": str(tmp_path), "IPYTHONDIR": str(tmp_path / "ipython")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert printed(nbformat.read(tmp_path / "out.ipynb", 4).cells[0]) == INSIDE


def test_of_the_environment_only_the_seed_gets_in(kernel):
    _, client = kernel
    assert (
        said(client, f"import os; print(os.environ['{SEED_VARIABLE}'], os.environ.get('SECRET'))") == "7 None"
    )


def test_an_interrupt_ends_the_cell_and_not_the_kernel(kernel):
    manager, client = kernel
    timer = threading.Timer(0.7, run_sync(manager.provisioner.send_signal), [signal.SIGINT])
    timer.start()
    assert "KeyboardInterrupt" in said(client, "import time; x = 5; time.sleep(20)")
    assert said(client, "print(x)") == "5"


def test_a_restart_forgets_everything_and_keeps_its_clients(kernel):
    manager, client = kernel
    assert said(client, "x = 5; open('/tmp/litter', 'w').close(); print(x)") == "5"
    manager.restart_kernel(now=True)
    client.wait_for_ready(timeout=30)
    assert said(client, "import os; print('x' in dir(), os.path.exists('/tmp/litter'))") == "False False"


def test_a_shutdown_leaves_nothing(kernel):
    manager, _ = kernel
    process, connection_file = manager.provisioner.preloaded, Path(manager.connection_file)
    fresh = manager.provisioner.fresh
    assert manager.is_alive() and connection_file.exists()
    manager.shutdown_kernel()
    assert not manager.is_alive() and not manager.has_kernel
    assert not connection_file.exists()
    if fresh:
        assert not psutil.pid_exists(process.pid) and not process.sockets.exists()
    else:
        assert process.alive and list(process.sockets.iterdir()) == []


def test_a_kernel_that_ends_is_noticed(kernel):
    manager, client = kernel
    client.execute("import os; os._exit(3)")
    deadline = time.monotonic() + 10
    while manager.is_alive() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert run_sync(manager.provisioner.poll)() == 3 and run_sync(manager.provisioner.wait)() == 3
    assert manager.provisioner.cause == ""


def test_a_lost_container_is_noticed_and_reported(tmp_path):
    manager = kernel_manager(tmp_path, fresh=True)
    manager.start_kernel()
    process = manager.provisioner.preloaded
    psutil.Process(process.pid).kill()
    deadline = time.monotonic() + 10
    while manager.is_alive() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert manager.provisioner.cause == "sandbox"
    with pytest.raises(SandboxLost):
        manager.shutdown_kernel(now=True)
    assert not process.sockets.exists()
