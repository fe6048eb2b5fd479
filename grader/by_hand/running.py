"""A step of the week in a process of its own, which the page starts, watches and stops; one at a time for a course.

The process holds a lock while it works, so what is said of it is true however it ends: by itself, with Jupyter's server, or with the machine. It goes on when the
server ends, and a server that is started later finds it. What it says lies in ``grading/week/run.json``.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from grader.by_hand.week import FOLDER, Step
from grader.course import Course, make_private
from grader.errors import GraderError
from grader.files import at_once, put, state_in

DONE, FAILED, STOPPED, CUT_OFF = "done", "failed", "stopped", "cut off"
"""How a step may end. *Stopped* is what somebody has asked for; *cut off* is everything that ends a process before it can say so."""
TITLES = {
    Step.COLLECT: "Collecting",
    Step.GRADE: "Grading",
    Step.FEEDBACK: "Making feedback for",
    Step.RETURN: "Returning the feedback on",
    Step.COMPARE: "Comparing",
}


@dataclass(frozen=True)
class Run:
    """How far a step is, or how it ended.

    Attributes:
        who: started it; empty if nobody vouches for a name.
        began, ended: UTC, as text; ``ended`` is empty while it runs.
        line: how far it is, as a sentence.
        outcome: empty while it runs.
        told: sentences about what was done.
        exceptions: who or what somebody has to look at, and why.
        process: its id, which is also that of its group; 0 until it has begun.
    """

    lab: str
    step: Step
    who: str
    began: str
    line: str = ""
    done: int = 0
    total: int = 0
    ended: str = ""
    outcome: str = ""
    told: tuple[str, ...] = ()
    exceptions: tuple[tuple[str, str], ...] = ()
    process: int = 0

    @property
    def title(self) -> str:
        return f"{TITLES[self.step]} {self.lab}"


_RUN = {
    **dict.fromkeys(("lab", "step", "who", "began", "line", "ended", "outcome"), str),
    **dict.fromkeys(("done", "total", "process"), int),
    **{"told": [str], "exceptions": [(str, str)]},
}


def now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}"


def _folder(course: Course) -> Path:
    return course.grading / FOLDER


def log_of(course: Course) -> Path:
    """What the process has written that it should not: faults in the grader itself."""
    return _folder(course) / "run.log"


def write(course: Course, run: Run) -> None:
    """Says how far a step is."""
    put(_folder(course) / "run.json", json.dumps(asdict(run)).encode())


def last(course: Course) -> Run | None:
    """The step that is at work, or the last one that was; None if there was none yet."""
    at_work = _at_work(course)  # before it is read: what ends in between has said how
    try:
        found = state_in(_folder(course) / "run.json", _RUN)
        pairs = tuple((what, why) for what, why in found["exceptions"])
        run = Run(**{**found, "step": Step(found["step"]), "told": tuple(found["told"]), "exceptions": pairs})
    except (OSError, ValueError):
        return None
    if run.outcome or at_work:
        return run
    why = "It was ended before it could finish. What it had done is kept; the same step goes on from there."
    return replace(run, outcome=CUT_OFF, told=(why,))


def _at_work(course: Course) -> bool:
    try:
        with open(_folder(course) / "lock", "a", opener=at_once) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def start(course: Course, lab: str, step: Step, who: str = "", source: str = "") -> None:
    """Starts a step, unless one is at work.

    Args:
        who: starts it, for the gradebook's log; empty: the user of this process.
        source: a folder or zip to collect from; empty: the exchange.

    Raises:
        GraderError: another one is at work, or nothing can be written.
    """
    try:
        make_private(_folder(course))
        with (
            open(_folder(course) / "lock", "a", opener=at_once) as lock,
            open(log_of(course), "w", opener=at_once) as log,
        ):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            write(course, Run(lab, step, who, now(), "It begins."))
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "grader.by_hand",
                    str(course.root),
                    str(lock.fileno()),
                    lab,
                    step,
                    who,
                    source,
                ],
                cwd=course.root,
                env={**os.environ, **({"JUPYTERHUB_USER": who} if who else {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=[lock.fileno()],  # the lock is the process's from now on
                start_new_session=True,  # Ctrl-C in the server's terminal is not meant for it
            )
    except BlockingIOError:
        run = last(course)
        raise GraderError(
            f"One step at a time: {run.title if run else 'another one'} is at work. Wait until it has finished, or stop it."
        ) from None
    except OSError as error:
        raise GraderError(f"{_folder(course)} cannot be written to: {error.strerror}.") from None
    threading.Thread(target=process.wait, daemon=True).start()


def stop(course: Course) -> None:
    """Stops the step that is at work, as Ctrl-C in a terminal stops its command.

    Raises:
        GraderError: none is at work, or it has not begun yet.
    """
    run = last(course)
    if run is None or run.outcome:
        raise GraderError("Nothing is at work, so there is nothing to stop.")
    if not run.process:
        raise GraderError("It is only just beginning. Stop it in a few seconds.")
    with suppress(ProcessLookupError):
        os.killpg(run.process, signal.SIGINT)
