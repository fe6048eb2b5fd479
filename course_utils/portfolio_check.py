"""What a check says of a definition that is in a module, not in a notebook: for the package of one's own, and for its tests.

``python -m course_utils.portfolio_check FOLDER`` checks the exercises named in a line of JSON on its standard input, and
prints what is wrong with each: in a process of its own, because it runs the learner's code.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from course_utils import exercises
from course_utils.checking.bypass import uses_of
from course_utils.checking.comparison import compare
from course_utils.checking.exercise import PUBLIC_SEED, exercises_of, find_exercise
from course_utils.checking.expected import FILE_NAME, load_expected
from course_utils.checking.outcome import try_exercise

NOT_CODE = "its answers are graded, not its code"
"""What is said of an exercise with goals: it asks for predictions, and has no place in a package."""


def fault_of(key: str, value: Any, namespace: dict[str, Any], folder: Path, sources: Sequence[str]) -> str:
    """What the exercise's check at the public seed says against a value; empty if everything holds.

    Args:
        key: the exercise, ``"self_attention.causal_mask"``.
        value: what the learner defined.
        namespace: the globals of its definition.
        folder: where the lab's ``expected.npz`` is.
        sources: the texts in which something ready-made would be seen.

    Raises:
        LookupError: no such exercise, or ``expected.npz`` is missing or of another version.
    """
    exercise = find_exercise(key)
    others = exercises_of(key.partition(".")[0]).values()
    outcomes = try_exercise(exercise, key, value, PUBLIC_SEED, namespace)
    expected = load_expected(folder / FILE_NAME, key, exercise)
    verdict = compare(exercise, outcomes, expected, uses_of(exercise, others, sources))
    return "" if verdict.correct else verdict.summary


def fault_in_module(key: str, module: str, folder: Path, sources: Sequence[str] = ()) -> str:
    """The same for what a module defines under the exercise's name.

    Args:
        folder: has the lab's ``exercises.py`` and ``expected.npz``.
        sources: by default the module's own text.
    """
    slug, _, _ = key.partition(".")
    exercises.load(slug, folder / exercises.FILE_NAME)
    if find_exercise(key).goals:
        return NOT_CODE
    try:
        loaded = importlib.import_module(module)
        value = getattr(loaded, find_exercise(key).name)
    except (Exception, SystemExit) as error:  # the learner's code runs when it is imported
        return f"{module} cannot be imported: {type(error).__name__}: {error}"
    texts = sources or [Path(loaded.__file__).read_text("utf-8")]
    return fault_of(key, value, vars(loaded), folder, texts)


def main() -> None:
    """Checks what standard input asks for; what the learner's code prints goes nowhere."""
    asked = json.loads(sys.stdin.read())
    sys.path.insert(0, sys.argv[1])
    said = {}
    for key, module in asked["modules"].items():
        with contextlib.redirect_stdout(io.StringIO()):
            said[key] = fault_in_module(key, module, Path(asked["folder"]), asked["sources"])
        print(json.dumps({key: said[key]}), flush=True)  # what comes after it may end the process


if __name__ == "__main__":
    main()
