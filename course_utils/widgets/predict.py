"""Predict, then measure: a question with choices before a cell, and after it what was chosen beside what is right.

The questions are those with a name in a lab's ``quiz.md``. Nothing is recorded, and no choice is right or wrong
before the measurement::

    predict("self_attention.shuffled")     # the question
    measured("self_attention.shuffled")    # below the result: what you said, and the answer

Where the result depends on the machine or on chance, the cell says whether its own numbers show the answer::

    measured("why_attention.clock", shown=meeting > 128)
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

from course_utils.display import CARD, inline, plain, publish
from course_utils.quiz import FILE_NAME, Question, questions_of
from course_utils.widgets import Widget

_chosen: dict[str, int] = {}  # "lab.name" -> the option that was chosen last, in this kernel


class Prediction(Widget):
    """A question with its choices.

    Args:
        key: "lab.name", e.g. ``"self_attention.shuffled"``.

    Raises:
        LookupError: the lab has no such question.
    """

    module = "predict.js"

    def __init__(self, key: str) -> None:
        self.key, self.question = key, find(key)

    def data(self) -> dict[str, Any]:
        return {
            "question": inline(self.question.text),
            "options": [inline(option.text) for option in self.question.options],
            "chosen": _chosen.get(self.key, -1),
        }

    def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        _chosen[self.key] = int(asked["chosen"])
        return self.data()

    def still(self) -> str:
        options = "".join(f"<li>{inline(option.text)}</li>" for option in self.question.options)
        return (
            f'<div style="{CARD}"><b>Predict first.</b> {inline(self.question.text)}'
            f'<ol style="list-style-type:upper-alpha;margin:.2em 0">{options}</ol></div>'
        )

    def alt(self) -> str:
        options = zip(string.ascii_uppercase, self.question.options, strict=False)
        listed = [f"   {letter}. {plain(option.text)}" for letter, option in options]
        return "\n".join([f"Predict first. {plain(self.question.text)}", *listed])


def predict(key: str) -> None:
    """Shows the question; its choices are buttons."""
    Prediction(key).show()


def measured(key: str, shown: bool = True) -> None:
    """Shows what was chosen, and the right answer with its reason. Call it below the result.

    Args:
        shown: whether the numbers just measured show that answer. If they do not, it is given as what is usual, and not as measured.

    Raises:
        LookupError: the lab has no such question.
    """
    question = find(key)
    options = list(zip(string.ascii_uppercase, question.options, strict=False))
    letter, right = next((letter, option) for letter, option in options if option.right)
    said = reason = ""  # nothing is known of a prediction from before the kernel was started
    if key in _chosen:
        your_letter, yours = options[_chosen[key]]
        said = f"You predicted {your_letter}: {yours.text}"
        reason = "" if yours.right else yours.why
    verdict = "Measured" if shown else "Your numbers do not show it this time. Usual"
    parts = [said, reason, f"{verdict}: {letter}: {right.text}", right.why]
    sentences = [part for part in parts if part]
    publish(
        {
            "text/html": f'<div style="{CARD}">'
            + "".join(f"<div>{inline(part)}</div>" for part in sentences)
            + "</div>",
            "text/plain": "\n".join(map(plain, sentences)),
        }
    )


def find(key: str) -> Question:
    """The prediction of this name.

    Raises:
        LookupError: the lab has no such question.
    """
    lab, _, name = key.partition(".")
    for question in questions_of(lab):
        if name and question.name == name:
            return question
    raise LookupError(f"There is no prediction {key!r}: {FILE_NAME} has no heading '## [{name}] ...'.")
