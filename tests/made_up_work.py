"""Work for pools that does on purpose what grading should never do. Imported by worker processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Deeds:
    """A task is the name of a method, and what that is given.

    Args:
        notes: a folder where workers leave a file at their start and their end.
        trouble: what goes wrong at the start of a worker: "raises", "dies" or nothing.
    """

    notes: Path
    trouble: str = ""

    def open(self) -> None:
        if self.trouble == "raises":
            raise RuntimeError("no sandbox here")
        if self.trouble == "dies":
            os._exit(3)
        (self.notes / f"opened-{os.getpid()}").touch()

    def close(self) -> None:
        (self.notes / f"closed-{os.getpid()}").touch()

    def __call__(self, shared: Any, task: tuple[str, Any]) -> Any:
        name, value = task
        return getattr(self, name)(value) if name != "shared" else shared

    def pid(self, _: Any) -> int:
        return os.getpid()

    def big(self, size: int) -> bytes:
        return bytes(size)

    def environment(self, name: str) -> str | None:
        return os.environ.get(name)

    def has_imported(self, name: str) -> bool:
        return name in sys.modules

    def nap(self, seconds: float) -> int:
        time.sleep(seconds)
        return os.getpid()

    def die(self, _: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def die_once(self, name: str) -> str:
        first = self.notes / name
        if not first.exists():
            first.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return f"{name} on the second try"

    def stop(self, _: Any) -> None:
        """Does nothing more, not even when asked to end."""
        os.kill(os.getpid(), signal.SIGSTOP)

    def hang_with_child(self, name: str) -> None:
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        (self.notes / f"{name}.writing").write_text(f"{os.getpid()} {child.pid} {os.environ['TMPDIR']}")
        (self.notes / f"{name}.writing").rename(self.notes / name)
        time.sleep(600)
