"""Files that nobody's grading will tell of: refused when a lab's work was last collected, and in no student's folder.

The grader remembers them until work of the lab is collected again. People who seem to have handed in nothing can be found among
them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from grader.course import make_private
from grader.errors import GraderError
from grader.files import put, state_in
from grader.reference.lab import Lab

Refused = tuple[str, str]
"""A file, as it is shown, and why it was refused."""


def remember(lab: Lab, files: Sequence[Refused]) -> None:
    """Takes the place of what was remembered before.

    Raises:
        GraderError: it cannot be written.
    """
    file = _file(lab)
    try:
        if not files:
            file.unlink(missing_ok=True)
            return
        make_private(file.parent)
        put(file, json.dumps(files).encode())
    except OSError as error:
        raise GraderError(f"{file} cannot be written: {error.strerror}.") from None


def refused(lab: Lab) -> list[Refused]:
    """What is remembered; nothing, if its file is damaged."""
    with suppress(OSError, ValueError):
        return [(name, why) for name, why in state_in(_file(lab), [(str, str)])]
    return []


def _file(lab: Lab) -> Path:
    return lab.course.grading / "refused" / f"{lab.name}.json"
