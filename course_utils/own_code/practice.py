"""``practice("self_attention")``: questions about the learner's own code, in the notebook, after a lab.

They are made anew at every call, in the look of the quiz, of those exercises that pass their checks. Only the learner's own code is
run, in the learner's own kernel, and nothing is recorded or graded.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_utils.checking.check import history
from course_utils.checking.comparison import compare
from course_utils.checking.exercise import PUBLIC_SEED, Exercise, exercises_of
from course_utils.checking.expected import FILE_NAME, load_expected
from course_utils.checking.unattended import try_in_notebook
from course_utils.display import QUIET, inline, publish
from course_utils.own_code.button import Say, show_button
from course_utils.quiz import show

if TYPE_CHECKING:  # every check imports this module, and those are needed only to practise
    from ipywidgets import DOMWidget

    from course_utils.own_code.questions import Asked
    from course_utils.quiz import Question

QUESTIONS = 6
_SECONDS, _EXERCISE_SECONDS = 20.0, 6.0
"""CPU time for all questions of a notebook, and for one exercise."""
_ON_A_SHEET = 3
"""Exercises: the code of more would not fit beside their questions."""


def practice(lab: str, questions: int = QUESTIONS, button: bool = False) -> None:
    """Shows questions about your own code of a lab: run it when its exercises pass. Call it again for other questions.

    Args:
        lab: the lab's name without its number, e.g. ``"self_attention"``.
        questions: how many at most.
        button: whether to wait until somebody presses a button.

    Raises:
        LookupError: there is no such lab.
    """
    namespace = sys._getframe(1).f_globals
    exercises_of(lab)
    if button:
        show_button(
            "Ask me about my code",
            lambda say: _below_the_button(lab, questions, namespace, say),
            "in the notebook, this button asks questions about the code that you wrote.",
        )
        return
    asked, why_none = _questions(lab, questions, namespace)
    if asked:
        show(asked)
    else:
        publish({"text/plain": why_none, "text/html": f'<div style="{QUIET}">{inline(why_none)}</div>'})


def _below_the_button(lab: str, questions: int, namespace: dict[str, Any], say: Say) -> DOMWidget | None:
    asked, why_none = _questions(lab, questions, namespace)
    if asked:
        from course_utils.widgets.questions import Questions

        return Questions(asked).live()
    say(why_none)
    return None


def _questions(lab: str, questions: int, namespace: dict[str, Any]) -> tuple[list[Question], str]:
    """Questions about a notebook's code, or a sentence that says why there are none."""
    from course_utils.own_code.questions import chosen

    exercises = exercises_of(lab)
    passing = {name for name, each in exercises.items() if _passes(f"{lab}.{name}", each, namespace)}
    asked = list(questions_about(lab, namespace, history(namespace), random.Random(), passing))
    if taken := chosen(asked, questions):
        return [each.question for each in taken], ""
    if passing:
        return (
            [],
            "Your exercises that pass are too short for questions like these. Solve another one, run its check, and try again.",
        )
    return [], "None of your exercises passes yet. Solve one, run its check, and then come back to this cell."


def questions_about(
    lab: str,
    namespace: dict[str, Any],
    texts: Sequence[str],
    chance: random.Random,
    among: Collection[str] | None = None,
    seconds: float = _SECONDS,
) -> Iterator[Asked]:
    """Questions about the definitions of a notebook, as far as time allows.

    Args:
        namespace: what the notebook has defined.
        texts: its cells, in the order in which they ran.
        among: names of exercises; None: all that are defined.
        seconds: of CPU time, for all of them.
    """
    from course_utils.own_code.changes import definition_of
    from course_utils.own_code.questions import ask_about

    exercises = [
        each
        for name, each in exercises_of(lab).items()
        if (among is None or name in among) and not each.goals
    ]
    chance.shuffle(exercises)
    end = time.process_time() + seconds
    for exercise in exercises:
        left = end - time.process_time()
        source = definition_of(exercise.name, texts)
        if left < 0.5 or not source:
            continue
        until = time.process_time() + min(left, _EXERCISE_SECONDS)
        yield from ask_about(exercise, f"{lab}.{exercise.name}", source, namespace, until, chance)


def _passes(key: str, exercise: Exercise, namespace: dict[str, Any]) -> bool:
    if exercise.name not in namespace or exercise.goals:
        return False
    with contextlib.suppress(LookupError):
        outcomes = try_in_notebook(exercise, key, namespace[exercise.name], PUBLIC_SEED, namespace)
        return compare(exercise, outcomes, load_expected(Path.cwd() / FILE_NAME, key, exercise)).correct
    return False


# ---------------------------------------------------------------------------------- for an instructor's sheet


def as_data(asked: Asked) -> dict[str, Any]:
    """A question in a form that JSON has."""
    question = asked.question
    return {
        "exercise": asked.exercise,
        "difficulty": asked.difficulty,
        "lines": list(asked.lines),
        "text": question.text,
        "code": question.code,
        "options": [[option.text, option.right, option.why] for option in question.options],
    }


def print_questions(lab: str, texts: Sequence[str], count: int, seed: int, seconds: float) -> None:
    """Prints questions about the notebook that calls this, as one line of JSON: ``grader viva`` reads it."""
    from course_utils.own_code.questions import chosen

    namespace = sys._getframe(1).f_globals
    by_exercise: dict[str, list[Asked]] = {}
    for each in questions_about(lab, namespace, texts, random.Random(seed), seconds=seconds):
        by_exercise.setdefault(each.exercise, []).append(each)
    most = sorted(by_exercise.values(), key=lambda each: -len({one.kind for one in each}))[:_ON_A_SHEET]
    print(json.dumps([as_data(each) for each in chosen([one for each in most for one in each], count)]))
