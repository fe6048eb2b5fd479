"""Running one notebook: what comes back, what does not, and what a bad cell costs."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import psutil
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from course_utils.checking.outcome import OUTCOME_MIME, decode
from grader.handout.demo import solved
from grader.run import notebook as notebook_module
from grader.run.kernels import scrubbed_environment
from grader.run.notebook import PlainRunner, SandboxRunner
from grader.run.states import CRASHED, GRADED, OUT_OF_MEMORY, TIMED_OUT, Executed

SEED = 31
KEY = "start_here.softmax"


def notebook(*sources: str, tags: dict[int, list[str]] | None = None):
    """Cells with these texts; one that calls check is a check cell."""
    cells = []
    for index, source in enumerate(sources):
        metadata = {"tags": (tags or {}).get(index, [])}
        if "check(" in source:
            metadata["nbgrader"] = {
                "grade": True,
                "solution": False,
                "grade_id": f"check{index}",
                "points": 1,
            }
        cells.append(new_code_cell(source, id=f"cell{index}", metadata=metadata))
    return new_notebook(cells=cells)


def printed(executed: Executed) -> list[str]:
    """What each cell wrote to stdout, or the kind of error that it ended in."""
    return [
        "".join(output.get("text") or output.get("ename", "") for output in cell.outputs)
        for cell in executed.notebook.cells
    ]


# ---------------------------------------------------------------------------------- what comes back


@pytest.mark.slow
def test_a_check_cell_s_outcomes_come_back_and_the_notebook_is_not_changed(labs):
    lab = labs["00_start_here"]
    handed_in = solved(lab)
    before = solved(lab)
    executed = PlainRunner().run(handed_in, SEED, lab.release_folder)
    assert handed_in == before
    assert (executed.state, executed.notes) == (GRADED, ())
    assert set(executed.payloads) == {KEY}
    assert len(decode(executed.payloads[KEY], len(lab.exercises[KEY].cases))) == len(lab.exercises[KEY].cases)


FORGER = f"""
def publish(exercise, seed, cases):
    from IPython.display import publish_display_data
    publish_display_data({{"{OUTCOME_MIME}": {{"exercise": exercise, "seed": seed, "cases": cases}}}})

def softmax(scores, axis=-1):
    publish("{KEY}", 2017, "of another seed")
    publish("self_attention.causal_mask", {SEED}, "of another exercise")
    publish(["{KEY}"], {{}}, "malformed")
    from IPython.display import publish_display_data
    publish_display_data({{"{OUTCOME_MIME}": "malformed"}})
    kernel = get_ipython().kernel
    for content in ({{}}, {{"data": 3}}, {{"data": {{}}, "metadata": 4}}, {{"name": "stdout"}}):
        for kind in ("display_data", "stream", "error", "execute_result", "no_such_kind"):
            kernel.session.send(kernel.iopub_socket, kind, content=content, parent=kernel.get_parent())
    return scores

publish("{KEY}", {SEED}, "of another cell")
"""


@pytest.mark.slow
def test_only_the_own_check_cell_s_outcomes_at_the_right_seed_are_taken(labs):
    cases = labs["00_start_here"].exercises[KEY].cases
    check = f'from course_utils import check\n\ncheck("{KEY}")'
    executed = PlainRunner().run(notebook(FORGER, check, f'publish("{KEY}", {SEED}, "later")'), SEED)
    assert set(executed.payloads) == {KEY}
    assert len(decode(executed.payloads[KEY], len(cases))) == len(cases)
    assert OUTCOME_MIME not in str([cell.outputs for cell in executed.notebook.cells])


@pytest.mark.slow
def test_cells_tagged_for_it_are_not_run_and_an_error_stops_nothing():
    cells = notebook("print(1)", "print(2)", "1 / 0", "input()", "print(5)", tags={1: ["skip-grading"]})
    executed = PlainRunner().run(cells, SEED)
    assert printed(executed) == ["1\n", "", "ZeroDivisionError", "StdinNotImplementedError", "5\n"]
    assert executed.state == GRADED


@pytest.mark.slow
def test_output_beyond_the_limit_is_dropped():
    cells = notebook(
        "for _ in range(300): print('x' * 10_000)", "from ipywidgets import IntSlider\nIntSlider()"
    )
    executed = PlainRunner(output_bytes=100_000).run(cells, SEED)
    assert len(str(executed.notebook)) < 150_000
    assert executed.state == GRADED


# ---------------------------------------------------------------------------------- what learner code sees


@pytest.mark.slow
def test_learner_code_runs_in_a_private_folder_with_the_lab_s_data_and_nothing_of_the_course(
    tmp_path, monkeypatch
):
    for name in ("data.csv", "lab.ipynb", "expected.npz", ".hidden"):
        (tmp_path / name).write_text("x")
    monkeypatch.setenv("SECRET_TOKEN", "42")
    look = "import os, pathlib\nhere = pathlib.Path.cwd()\n"
    executed = PlainRunner().run(
        notebook(
            f"{look}print(sorted(os.listdir()), here == pathlib.Path.home() / 'work')",
            "print('SECRET_TOKEN' in os.environ, os.environ['TRANSFORMER_LABS_SEED'])",
            "print(here)\n(here / 'left').write_text('behind');",
        ),
        SEED,
        tmp_path,
    )
    *texts, folder = printed(executed)
    assert texts == ["['data.csv'] True\n", f"False {SEED}\n"]
    assert not Path(folder.strip()).exists()
    assert not (tmp_path / "left").exists()


def test_the_environment_of_whoever_grades_is_left_out(tmp_path):
    given = {"PATH": "/bin", "HOME": "/home/me", "AWS_SECRET": "1", "PYTHONPATH": "/x", "JUPYTER_TOKEN": "2"}
    kept = scrubbed_environment(given, tmp_path, SEED)
    assert kept["PATH"] == "/bin"
    assert kept["HOME"] == str(tmp_path)
    assert not {"AWS_SECRET", "PYTHONPATH", "JUPYTER_TOKEN"} & set(kept)


# ---------------------------------------------------------------------------------- what a bad cell costs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bad", "state"),
    [
        ("while True: pass", TIMED_OUT),
        ("import time\ntry:\n    time.sleep(99)\nexcept BaseException:\n    time.sleep(99)", TIMED_OUT),
        ("import os\nos._exit(0)", CRASHED),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", CRASHED),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", OUT_OF_MEMORY),
    ],
)
def test_a_cell_that_hangs_or_kills_the_kernel_costs_only_itself(bad, state):
    executed = PlainRunner(cell_seconds=1).run(notebook("x = 1", "print(x)", bad, "x += 1", "print(x)"), SEED)
    assert printed(executed) == ["", "1\n", "Stopped", "", "2\n"]
    assert executed.state == state
    assert "`cell2`" in executed.notes[0]


@pytest.mark.slow
def test_the_first_cell_is_not_charged_for_what_readies_the_kernel(monkeypatch):
    slow = "import time\nend = time.process_time() + 3\nwhile time.process_time() < end: pass\n"
    monkeypatch.setattr(notebook_module, "_FIX_CHANCE", slow + notebook_module._FIX_CHANCE)
    executed = PlainRunner(cell_seconds=1).run(notebook("x = 1", "print(x)"), SEED)
    assert printed(executed) == ["", "1\n"]
    assert executed.state == GRADED


@pytest.mark.slow
def test_fresh_kernels_are_limited_and_the_rest_is_left():
    cells = notebook(*["import os\nos._exit(1)"] * 4, "print(1)")
    executed = PlainRunner(restarts=1).run(cells, SEED)
    assert printed(executed) == ["Stopped", "Stopped", "", "", ""]
    assert executed.state == CRASHED
    assert "rest was not run" in executed.notes[-1]


@pytest.mark.slow
def test_the_time_of_a_whole_notebook_is_limited():
    cells = notebook(*["import time\ntime.sleep(1)"] * 5)
    executed = PlainRunner(notebook_seconds=2).run(cells, SEED)
    assert executed.state == TIMED_OUT
    assert "rest was not run" in executed.notes[-1]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="process groups")
def test_processes_that_a_notebook_starts_end_with_it():
    start = "import subprocess\nprint(subprocess.Popen(['sleep', '300']).pid)"
    (pid,) = printed(PlainRunner().run(notebook(start), SEED))
    assert not psutil.pid_exists(int(pid)) or psutil.Process(int(pid)).status() == psutil.STATUS_ZOMBIE


@pytest.mark.slow
def test_nothing_is_left_in_the_temporary_folder(monkeypatch):
    own = tempfile.mkdtemp(dir="/tmp")  # short: sockets lie in it
    monkeypatch.setattr(tempfile, "tempdir", own)
    try:
        PlainRunner().run(notebook("open('x', 'w').write('x')"), SEED)
        assert os.listdir(own) == []
    finally:
        shutil.rmtree(own)


@pytest.mark.slow
def test_a_cell_that_came_with_the_lab_is_not_said_to_be_the_learner_s():
    cells = notebook("while True: pass", "while True: pass", tags={1: ["added"]})
    executed = PlainRunner(cell_seconds=1).run(cells, SEED)
    came_with_the_lab, learners = executed.notes
    stopped = "was stopped because it took too long: at most 1 seconds of computing or 1 of waiting."
    assert came_with_the_lab.startswith(f"Cell `cell0`, which came with the lab, {stopped}")
    assert learners.startswith(f"Cell `cell1` {stopped}")


@pytest.mark.slow
def test_a_cell_of_the_lab_that_shows_what_was_too_slow_for_its_check_is_stopped_early(monkeypatch):
    monkeypatch.setattr(notebook_module, "_SHOWING_SECONDS", 0.5)
    check = f"""
from IPython.display import publish_display_data
def check(key):
    slow = [{{"problem": ["slow", "It was still computing."]}}]
    publish_display_data({{"{OUTCOME_MIME}": {{"exercise": key, "seed": {SEED}, "cases": slow}}}})
"""
    compute = "import time\nend = time.process_time() + 3\nwhile time.process_time() < end: pass\nprint('{0}')  # {0}"
    names = ("softmax", "softmax_of_rows", "softmax")
    cells = notebook(check, f'check("{KEY}")', *map(compute.format, names), tags={0: ["added"], 4: ["added"]})
    executed = PlainRunner(cell_seconds=20).run(cells, SEED)
    assert printed(executed) == ["", "", "Stopped", "softmax_of_rows\n", "softmax\n"]
    (note,) = executed.notes
    assert (
        "`cell2`, which came with the lab, was stopped" in note and "at most 0.5 seconds of computing" in note
    )


@pytest.mark.slow
def test_a_notebook_may_import_a_file_that_it_has_written():
    cells = notebook("%%writefile helper.py\nseven = 7", "from helper import seven\nprint(seven)")
    for runner in (PlainRunner(), SandboxRunner(modules=("json",))):
        assert printed(runner.run(cells, SEED))[1] == "7\n", runner
