"""What check cells published -> verdicts. The only place where a grade is decided.

It reads arrays and nothing else: it never imports, unpickles, evaluates or formats with anything that a
submission wrote, and the process it runs in never runs learner code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from course_utils.comparison import Expected, Verdict, compare, earlier_first, not_run
from course_utils.exercise import Exercise
from course_utils.outcome import Outcome, decode
from grader.lab import Lab


def judge(lab: Lab, expected: Mapping[str, Expected], payloads: Mapping[str, Any]) -> dict[str, Verdict]:
    """A verdict for every exercise of the lab.

    Args:
        expected: from ``lab.expected(seed)``, at the seed that the payloads were made with.
        payloads: from :class:`grader.run.Executed`. Missing or malformed: the exercise was not checked.
    """
    return {
        key: compare(exercise, read_outcomes(exercise, payloads.get(key)), expected[key])
        for key, exercise in lab.exercises.items()
    }


def read_outcomes(exercise: Exercise, payload: Any) -> list[Outcome]:
    """Outcomes from an untrusted payload; of an unreadable one, that the check did not run to its end."""
    try:
        return decode(payload, len(exercise.cases))
    except ValueError:
        return not_run(exercise, "missing")


def advice(lab: Lab, key: str, verdicts: Mapping[str, Verdict]) -> str:
    """Points to an earlier exercise of the lab that has to be mended first, or is empty."""
    correct = [other.partition(".")[2] for other, verdict in verdicts.items() if verdict.correct]
    return earlier_first(lab.exercises[key], verdicts[key], correct)
