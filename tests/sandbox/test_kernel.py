"""The sandbox's kernel is started in another way than IPython's, but behaves like it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from grader.run.notebook import SandboxRunner
from grader.run.states import GRADED

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("bwrap"), reason="the sandbox needs Linux and bubblewrap"
)

RUNNER = SandboxRunner(modules=("json",), cell_seconds=20)


def outputs(*sources: str, runner: SandboxRunner = RUNNER, folder: Path | None = None) -> list[str]:
    """What each cell wrote, or the traceback of its error."""
    cells = [new_code_cell(source, id=f"c{number}") for number, source in enumerate(sources)]
    executed = runner.run(new_notebook(cells=cells), 31, folder)
    assert executed.state == GRADED, executed.notes
    return [
        "".join(
            output.get("text") or "\n".join(output.get("traceback", ())) for output in cell.outputs
        ).strip()
        for cell in executed.notebook.cells
    ]


def test_a_cell_that_waits_is_not_overtaken():
    assert outputs(
        "import asyncio\ndone = []",
        "await asyncio.sleep(0.2)\ndone.append(1)\nprint(done)",
        "done.append(2)\nprint(done)",
    ) == ["", "[1]", "[1, 2]"]


def test_all_that_is_written_is_in_its_cell_and_in_order():
    lines = "\n".join(f"line {number}" for number in range(200))
    from_thread = (
        "import threading\nt = threading.Thread(target=print, args=('thread',)); t.start(); t.join()"
    )
    found = outputs(
        "for number in range(200): print(f'line {number}')",
        from_thread,
        "import time\nprint('early')\ntime.sleep(0.5)\nprint('late')",
        "import sys\nprint('end', end='')",
    )
    assert found == [lines, "thread", "early\nlate", "end"]


def test_a_child_can_write_even_if_another_thread_was_writing_when_it_was_forked():
    [code] = outputs(
        """
import os, sys, threading
held, done = threading.Event(), threading.Event()
def hold():
    with sys.stdout._handing_over:
        held.set()
        done.wait()
threading.Thread(target=hold).start()
held.wait()
if (child := os.fork()) == 0:
    sys.stdout.flush()
    os._exit(7)
status = os.waitpid(child, 0)[1]
done.set()
print(os.waitstatus_to_exitcode(status))
"""
    )
    assert code == "7"


def test_a_cell_is_translated_once_and_a_repeated_one_again():
    count = "def count(lines):\n    seen.append(lines)\n    return lines"
    found = outputs(
        f"seen = []\n{count}\nget_ipython().input_transformers_cleanup.append(count)",
        "print(len(seen))",
        "print(len(seen))",
        "await __import__('asyncio').sleep(0)",
        "await __import__('asyncio').sleep(0)",
        "print(len(seen))",
        "%%capture text\nprint('magic')",
        "print(text.stdout)",
    )
    assert found == ["", "1", "2", "", "", "5", "", "magic"]


def test_the_main_thread_is_like_any_other():
    [found] = outputs(
        """
import signal, threading
signal.signal(signal.SIGUSR1, lambda *_: print("heard"))
signal.raise_signal(signal.SIGUSR1)
print(threading.current_thread() is threading.main_thread(), threading.main_thread().name, threading.stack_size())
"""
    )
    assert found == "heard\nTrue MainThread 0"


def test_errors_name_the_cell_and_the_line():
    [_, found] = outputs("1 + 1", "def fail():\n    return [][1]\nfail()")
    assert "IndexError" in found and "Cell" in found and "In[2]" in found and "line 2" in found


def test_what_modules_set_when_they_are_imported_holds_in_every_kernel(tmp_path):
    (tmp_path / "set_precision.py").write_text("import decimal\ndecimal.getcontext().prec = 5\n")
    runner = SandboxRunner(modules=("set_precision",))
    for _ in range(2):
        assert outputs(
            "import decimal\nprint(decimal.getcontext().prec)", runner=runner, folder=tmp_path
        ) == ["5"]


def test_there_is_no_debugger_but_it_can_be_imported():
    found = outputs(
        "print(hasattr(get_ipython().kernel, 'debugger'))",
        "import importlib.util\nprint(importlib.util.find_spec('debugpy') is not None)",
    )
    assert found == ["False", "True"]
