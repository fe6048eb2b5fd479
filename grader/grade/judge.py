"""What check cells published -> verdicts. The only place where a grade is decided.

It reads arrays, and it parses the cells to find what an exercise must not call. It never imports, unpickles,
evaluates or formats with anything that a submission wrote, and learner code never runs in this process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbformat import NotebookNode

from course_utils.checking.bypass import uses_of
from course_utils.checking.comparison import Expected, Verdict, compare, earlier_first, not_run
from course_utils.checking.exercise import Exercise
from course_utils.checking.outcome import Outcome, decode
from grader.lab import Lab, code_before_check


def judge(
    lab: Lab, expected: Mapping[str, Expected], payloads: Mapping[str, Any], notebook: NotebookNode
) -> dict[str, Verdict]:
    """A verdict for every exercise of the lab.

    Args:
        expected: from ``lab.expected(seed)``, at the seed that the payloads were made with.
        payloads: from :class:`grader.run.states.Executed`. If one is missing or malformed, the exercise was not checked.
        notebook: the rebuilt notebook that was run. Its text is only parsed.
    """
    return {
        key: compare(
            exercise,
            read_outcomes(exercise, payloads.get(key)),
            expected[key],
            uses_of(exercise, lab.exercises.values(), code_before_check(notebook, key)),
        )
        for key, exercise in lab.exercises.items()
    }


def read_outcomes(exercise: Exercise, payload: Any) -> list[Outcome]:
    """Outcomes from an untrusted payload; if it is unreadable, outcomes saying that the check did not run to its end."""
    try:
        return decode(payload, len(exercise.cases))
    except ValueError:
        return not_run(exercise, "missing")


def advice(lab: Lab, key: str, verdicts: Mapping[str, Verdict]) -> str:
    """Points to an earlier exercise of the lab that has to be fixed first; empty if there is none."""
    correct = [other.partition(".")[2] for other, verdict in verdicts.items() if verdict.correct]
    return earlier_first(lab.exercises[key], verdicts[key], correct)
