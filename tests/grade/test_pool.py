"""Worker processes: what they get, what their death costs, and that none is left over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import forkserver
from pathlib import Path

import psutil
import pytest
from made_up_work import Deeds
from project import ROOT

from grader.errors import GraderError
from grader.grade import pool
from grader.grade.pool import Lost, Pool

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="fork")


def until(condition: Callable[[], bool], seconds: float = 30) -> bool:
    """Whether the condition comes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def answers(work: Deeds, tasks, processes: int = 2, seconds: float = 60, shared=None) -> dict:
    pool.prepare(["grader.grade.pool"])
    with Pool(work, processes, seconds) as workers:
        return dict(workers.map(shared, tasks))


def test_every_task_is_answered_by_other_processes(tmp_path):
    tasks = [("nap", 0.01 * number) for number in range(12)]
    found = answers(Deeds(tmp_path), tasks, processes=3)
    assert set(found) == set(tasks)
    assert 1 < len(set(found.values())) <= 3
    assert os.getpid() not in found.values()


def test_workers_are_opened_and_closed_once_each(tmp_path):
    pids = set(answers(Deeds(tmp_path), [("nap", 0.05 + 0.001 * number) for number in range(8)]).values())
    left = {path.name for path in tmp_path.iterdir()}
    assert left >= {f"{what}-{pid}" for pid in pids for what in ("opened", "closed")}
    assert all(gone(pid) for pid in pids)


def test_what_is_shared_reaches_every_worker(tmp_path):
    shared = {"large": bytes(2_000_000)}
    assert answers(Deeds(tmp_path), [("shared", number) for number in range(6)], shared=shared) == {
        ("shared", number): shared for number in range(6)
    }


def test_tasks_are_taken_and_answers_kept_no_sooner_than_needed(tmp_path):
    taken = given = most = 0

    def tasks() -> Iterator[tuple[str, int]]:
        nonlocal taken
        for number in range(60):
            taken += 1
            yield "big", 100_000 + number

    pool.prepare(["grader.grade.pool"])
    with Pool(Deeds(tmp_path), 2, 60) as workers:
        for _ in workers.map(None, tasks()):
            most = max(most, taken - given)
            given += 1
    assert given == 60
    assert (
        most <= 5
    )  # with two workers: two running, two answers that came meanwhile, and the one being given out


def test_workers_know_the_environment_and_folder_of_now_and_nothing_of_the_main_program(
    tmp_path, monkeypatch
):
    pool.prepare(["grader.grade.pool"])  # the fork server has an earlier environment
    monkeypatch.setenv("SET_LATER", "yes")
    found = answers(Deeds(tmp_path), [("environment", "SET_LATER"), ("has_imported", "pytest")])
    assert found == {("environment", "SET_LATER"): "yes", ("has_imported", "pytest"): False}


# ---------------------------------------------------------------------------------- deaths


def test_a_task_whose_worker_dies_is_tried_once_more(tmp_path):
    tasks = [("pid", 1), ("die_once", "a"), ("pid", 2), ("die_once", "b"), ("pid", 3)]
    found = answers(Deeds(tmp_path), tasks)
    assert set(found) == set(tasks)
    assert found["die_once", "a"] == "a on the second try"
    assert found["die_once", "b"] == "b on the second try"


@pytest.mark.parametrize("processes", [1, 3])
def test_a_task_that_no_worker_survives_is_given_up_and_costs_no_other(tmp_path, processes):
    tasks = [("pid", 1), ("die", 1), ("pid", 2), ("die", 2), ("pid", 3), ("die", 3), ("pid", 4)]
    found = answers(Deeds(tmp_path), tasks, processes)
    assert set(found) == set(tasks)
    for task, answer in found.items():
        assert answer == Lost("died") if task[0] == "die" else isinstance(answer, int)


@pytest.mark.slow
@pytest.mark.parametrize("deed", ["nap", "stop"])
def test_a_worker_that_does_not_answer_is_killed(tmp_path, deed):
    found = answers(Deeds(tmp_path), [(deed, 600), ("pid", 1), ("pid", 2)], seconds=1)
    assert found[deed, 600] == Lost("did not answer within 1 seconds")
    assert isinstance(found["pid", 1], int) and isinstance(found["pid", 2], int)


@pytest.mark.slow
def test_an_overdue_worker_takes_what_it_started_and_its_files_along(tmp_path):
    answers(Deeds(tmp_path), [("hang_with_child", "first")], processes=1, seconds=1)
    worker, child, folder = (tmp_path / "first").read_text().split()
    assert gone(int(worker)) and gone(int(child))
    assert not Path(folder).exists() and not Path(folder).parent.exists()


def test_leaving_early_ends_what_is_running(tmp_path):
    pool.prepare(["grader.grade.pool"])
    with Pool(Deeds(tmp_path), 2, 60) as workers:
        next(workers.map(None, [("pid", 1), ("hang_with_child", "first")]))
        assert until((tmp_path / "first").exists)
    worker, child, folder = (tmp_path / "first").read_text().split()
    assert gone(int(worker)) and gone(int(child))
    assert not Path(folder).parent.exists()


def test_the_death_of_the_fork_server_stops_nothing(tmp_path):
    pool.prepare(["grader.grade.pool"])
    tasks = [("nap", 0.2 + number / 1000) for number in range(10)]
    with Pool(Deeds(tmp_path), 2, 60) as workers:
        found = {}
        for task, answer in workers.map(None, tasks):
            found[task] = answer
            if len(found) == 3:
                os.kill(forkserver._forkserver._forkserver_pid, signal.SIGKILL)
    assert set(found) == set(tasks)
    assert not any(isinstance(answer, Lost) for answer in found.values())


# ---------------------------------------------------------------------------------- starting


def test_a_worker_that_cannot_start_says_why(tmp_path):
    with pytest.raises(GraderError, match="RuntimeError: no sandbox here"):
        answers(Deeds(tmp_path, "raises"), [("pid", 1)])


def test_workers_that_die_at_their_start_are_given_up(tmp_path):
    with pytest.raises(GraderError, match="end before they are ready"):
        answers(Deeds(tmp_path, "dies"), [("pid", 1)])


def test_a_pool_can_be_used_from_any_thread(tmp_path):
    found = {}

    def use() -> None:
        found.update(answers(Deeds(tmp_path), [("nap", 0.1), ("pid", 2)]))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join(60)
    assert len(found) == 2


# ---------------------------------------------------------------------------------- the main process ends

PROGRAM = """
import signal, sys
from pathlib import Path
from made_up_work import Deeds
from grader.grade import pool
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if the suite runs in the background
print("imported", flush=True)
pool.prepare(["grader.grade.pool"])
with pool.Pool(Deeds(Path(sys.argv[1])), 2, 600) as workers:
    for task, answer in workers.map(None, [("pid", 1), ("hang_with_child", "first"), ("hang_with_child", "second")]):
        pass
"""


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_the_main_process_however_it_ends(tmp_path, way):
    program = tmp_path / "program.py"  # run as a file without a guard, as a user's own script may be
    program.write_text(PROGRAM)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    run = subprocess.Popen(
        [sys.executable, program, tmp_path],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert until(lambda: (tmp_path / "first").exists() and (tmp_path / "second").exists())
    family = psutil.Process(run.pid).children(recursive=True)
    folders = {Path((tmp_path / name).read_text().split()[2]) for name in ("first", "second")}
    if way == signal.SIGINT:
        os.killpg(run.pid, way)  # as the terminal does
    else:
        run.send_signal(way)
    out, err = run.communicate(timeout=60)  # which also waits for all who hold its output
    assert len(family) >= 6  # fork server, tracker, two workers, two children
    assert until(lambda: all(gone(process.pid) for process in family)), [p for p in family if not gone(p.pid)]
    assert until(lambda: not any(folder.exists() for folder in folders))
    assert out == "imported\n"
    assert err.count("Traceback") == (1 if way == signal.SIGINT else 0), err
    assert "made_up_work.py" not in err
