"""Imports without a greeting: what TensorFlow says about the processor while it starts would stand under a learner's cell."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def without_startup_messages() -> Iterator[None]:
    """Turns stderr away, also for libraries that write to it past Python, while something is imported.

    An error is raised as usual.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stderr.flush()
    with contextlib.ExitStack() as stack:
        try:
            kept = os.dup(2)
        except OSError:  # there is no stderr
            kept = None
        if kept is not None:
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, 2)
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), 2)
        yield
