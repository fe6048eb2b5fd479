"""Questions with a reason for every answer, as buttons: the review quiz, and practice on one's own code.

All that a choice shows is in the page, so the questions answer in a saved notebook and on the site, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from course_utils.display import BAD, GOOD, inline
from course_utils.quiz import Question, as_html, as_text
from course_utils.widgets import Widget


class Questions(Widget):
    """Questions one below the other; the first choice for each is counted.

    Args:
        questions: in order.
    """

    module = "questions.js"

    def __init__(self, questions: Sequence[Question]) -> None:
        self.questions = questions

    def data(self) -> dict[str, Any]:
        return {
            "right": GOOD,
            "wrong": BAD,
            "questions": [
                {
                    "text": inline(question.text),
                    "code": question.code,
                    "options": [
                        {"text": inline(option.text), "right": option.right, "why": inline(option.why)}
                        for option in question.options
                    ],
                }
                for question in self.questions
            ],
        }

    def still(self) -> str:
        """The questions with folded answers."""
        return as_html(self.questions)

    def alt(self) -> str:
        return f"Questions, with a reason for every answer.\n\n{as_text(self.questions)}"
