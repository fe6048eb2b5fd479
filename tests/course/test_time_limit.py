"""The limit of a case: computing counts, waiting for a turn does not, and no import is cut off."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest

from course_utils.checking import time_limit as limits
from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.outcome import try_exercise
from course_utils.checking.time_limit import TooSlow, time_limit

SECONDS = 0.5


def compute(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.fixture
def module(tmp_path, monkeypatch) -> Callable[[str, str], str]:
    """Writes a module that can be imported, and forgets it at the end."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name: str, text: str) -> str:
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.setitem(sys.modules, name, None)
        del sys.modules[name]
        return name

    return write


def test_code_that_computes_too_long_is_stopped():
    with pytest.raises(TooSlow, match="still computing after 0.5 seconds"), time_limit(SECONDS):
        compute(60)


def test_code_that_sleeps_far_too_long_is_stopped():
    """In a process of its own: other tests leave threads and children here, which may be at work while it sleeps."""
    code = (
        "import time\n"
        "from course_utils.checking.time_limit import TooSlow, time_limit\n"
        "try:\n"
        f"    with time_limit({SECONDS}):\n"
        "        time.sleep(60)\n"
        "except TooSlow as error:\n"
        "    print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told == "It did nothing for 1.5 seconds and was stopped.\n"


def test_a_nap_longer_than_the_limit_costs_nothing():
    with time_limit(SECONDS):
        time.sleep(1.2 * SECONDS)


def test_code_that_catches_everything_is_stopped_again():
    caught = []
    with pytest.raises(TooSlow), time_limit(SECONDS):
        while True:
            try:
                compute(60)
            except BaseException:
                caught.append(1)
                if len(caught) == 3:
                    raise


def test_a_process_that_seldom_gets_its_turn_is_not_idle(monkeypatch):
    """However long the clock says that it took: between two looks it has computed a little."""
    used = iter(np.arange(0, 10, 0.004))
    monkeypatch.setattr(limits.time, "process_time", lambda: float(next(used)))
    clock = limits._Clock(SECONDS, within=sys._getframe())
    for _ in range(100):  # 20 seconds by the clock, 0.4 of computing
        clock.look(0, sys._getframe())
    assert clock.idle == 0


@pytest.mark.parametrize("slowly", ["compute(4 * 0.5)", "time.sleep(4 * 0.5)"])
def test_an_import_may_take_its_time_and_is_never_cut_off(module, slowly):
    text = f"import time\nfrom test_time_limit import compute\n{slowly}\nwhole = True"
    name = module("slow_package", text)
    with time_limit(SECONDS):
        imported = __import__(name)
    assert imported.whole


def test_after_an_import_the_count_begins_anew(module):
    name = module("slow_package", "from test_time_limit import compute\ncompute(0.7)")
    with time_limit(SECONDS):
        __import__(name)
        compute(0.5 * SECONDS)
    with pytest.raises(TooSlow), time_limit(SECONDS):
        __import__(name)
        compute(60)


def test_code_that_is_run_by_an_import_is_limited_too(module):
    """The import that a check itself runs in is none of the learner's."""
    text = "from test_time_limit import compute, time_limit\nwith time_limit(0.5):\n    compute(60)"
    with pytest.raises(TooSlow):
        __import__(module("checks_while_imported", text))


def test_a_case_that_imports_for_longer_than_its_limit_is_right(module):
    """A package that sleeps while it is imported, as on a cold disk."""
    module("slow_package", "import time\ntime.sleep(4 * 0.5)")

    def double(x):
        import slow_package  # noqa: F401

        return 2 * x

    cases = tuple(Case(title, lambda rng: {"x": rng.normal(size=3)}) for title in ("one", "another"))
    exercise = Exercise("double", ("doubled",), cases, seconds=SECONDS)
    outcomes = try_exercise(exercise, "small.double", double, seed=1)
    assert [outcome.problem for outcome in outcomes] == [None, None]


def test_the_limit_of_a_case_is_that_of_all_its_runs():
    case = Case("three runs", lambda rng: [{"x": rng.normal(size=3)}] * 3)
    exercise = Exercise("slow", ("x",), (case,), seconds=SECONDS)

    def slow(x):
        compute(0.6 * SECONDS)
        return x

    (outcome,) = try_exercise(exercise, "small.slow", slow, seed=1)
    assert outcome.problem.kind == "slow"


def test_a_limit_that_strikes_while_it_is_turned_off_is_turned_off_all_the_same(monkeypatch):
    strikes = iter([TooSlow("late")])
    turn_off = signal.setitimer

    def setitimer(*arguments):
        if arguments[1:] == (0,) and (late := next(strikes, None)):
            raise late
        return turn_off(*arguments)

    monkeypatch.setattr(limits.signal, "setitimer", setitimer)
    with time_limit(SECONDS):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_a_handler_that_was_there_is_there_again():
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        with time_limit(SECONDS):
            pass
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
