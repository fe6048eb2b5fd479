"""``quiz("self_attention")``: the review questions at the end of a lab, with a reason for every option.

A lab's questions are in ``quiz.md`` beside its notebook. Where widgets are drawn, a quiz consists of buttons;
elsewhere the same output shows the questions with folded answers. Nothing is recorded: a quiz is for the
learner alone.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from course_utils import labs
from course_utils.display import BAD, CARD, GOOD, TEXT, inline

FILE_NAME = "quiz.md"


@dataclass(frozen=True)
class Option:
    """One answer, and why it is right or wrong."""

    text: str
    right: bool
    why: str


@dataclass(frozen=True)
class Question:
    """A question with its options; exactly one is right.

    Raises:
        ValueError: none or several are right, or an option lacks its reason.
    """

    text: str
    options: tuple[Option, ...]
    name: str = ""
    """Only a prediction has one: see :mod:`course_utils.widgets.predict`."""
    code: str = ""
    """Code that it is about, shown below it."""

    def __post_init__(self) -> None:
        if sum(option.right for option in self.options) != 1:
            raise ValueError(f"Exactly one option of a question is right; look at: {self.text}")
        if unexplained := [option.text for option in self.options if not option.why.strip()]:
            raise ValueError(f"The option {unexplained[0]!r} does not say why; look at: {self.text}")


def quiz(lab: str) -> None:
    """Shows the review questions of a lab.

    Args:
        lab: the lab's name without its number, e.g. ``"self_attention"``.

    Raises:
        LookupError: there is no such lab, or it has no questions.
    """
    questions = [question for question in questions_of(lab) if not question.name]
    show(questions)


def show(questions: Sequence[Question]) -> None:
    """Shows questions with buttons where widgets are drawn, and with folded answers elsewhere."""
    from course_utils.widgets.questions import Questions

    Questions(questions).show()


def questions_of(lab: str) -> tuple[Question, ...]:
    """The questions of a lab, in order; those with a name are predictions and stand in the notebook, not in the quiz.

    Raises:
        LookupError: there is no such lab, or it has no questions.
    """
    info = labs.find(lab)
    try:
        questions = read_questions((info.folder / FILE_NAME).read_text("utf-8")) if info else ()
    except (OSError, ValueError):
        questions = ()
    if not questions:
        raise LookupError(
            f"There are no review questions for {lab!r}: no {FILE_NAME} lies beside its notebook."
        )
    return questions


def read_questions(text: str) -> tuple[Question, ...]:
    """Questions from Markdown: a heading for each, below it a list of its answers, each with its reason::

        ## What is the softmax taken over?

        - [x] Over the keys.
          Each query shares out its attention.
        - [ ] Over the queries.
          Then a query could end up with none.

    A heading ``## [shuffled] What happens to the outputs?`` has a name: it is a prediction.

    Raises:
        ValueError: the message begins with the number of the faulty line and a colon.
    """
    questions: list[
        tuple[int, str, str, list[list[str]]]
    ] = []  # line, name, text, answers: mark, text, reason
    for number, line in enumerate(text.splitlines(), 1):
        if heading := re.match(r"## (?:\[(\w+)\] )?(.+)", line):
            questions.append((number, heading[1] or "", heading[2].strip(), []))
        elif answer := re.match(r"- \[([ x])\] (.+)", line):
            if not questions:
                raise ValueError(
                    f"{number}: an answer comes before the first question; a question begins with '## '."
                )
            questions[-1][3].append([answer[1], answer[2].strip(), ""])
        elif line.startswith("  ") and line.strip() and questions and questions[-1][3]:
            answer = questions[-1][3][-1]
            answer[2] = f"{answer[2]} {line.strip()}".strip()
        elif line.strip() and not line.startswith("# "):
            raise ValueError(
                f"{number}: this is not a question ('## ...'), an answer ('- [x] ...' or '- [ ] ...') or a reason (two blanks, then "
                "the text)."
            )
    found = []
    for number, name, asked, answers in questions:
        try:
            found.append(
                Question(asked, tuple(Option(text, mark == "x", why) for mark, text, why in answers), name)
            )
        except ValueError as error:
            raise ValueError(f"{number}: {error}") from None
    return tuple(found)


# ---------------------------------------------------------------------------------- where no widgets are drawn


def as_html(questions: Sequence[Question]) -> str:
    """The quiz as a page without a kernel shows it: the answers are in a folded part of each question."""
    items = []
    for question in questions:
        options = "".join(f"<li>{inline(option.text)}</li>" for option in question.options)
        answers = "".join(
            f"<li><b>{_mark(option)} {letter}</b> {inline(option.why)}</li>"
            for letter, option in zip(string.ascii_uppercase, question.options, strict=False)
        )
        items.append(
            f'<li style="margin:.7em 0"><b>{inline(question.text)}</b>{_code(question)}'
            f'<ol style="list-style-type:upper-alpha;margin:.2em 0">{options}</ol>'
            f'<details><summary style="cursor:pointer">Show the answer</summary>'
            f'<ul style="list-style:none;padding-left:1em;margin:.2em 0">{answers}</ul></details></li>'
        )
    return f'<div style="{CARD}"><ol style="padding-left:1.4em;margin:0">{"".join(items)}</ol></div>'


def as_text(questions: Sequence[Question]) -> str:
    """The quiz in plain text: first all questions, then all answers."""
    asked, answered = [], ["Answers"]
    for number, question in enumerate(questions, 1):
        asked.append(f"{number}. {question.text}")
        asked += [f"   {line}" for line in question.code.splitlines()]
        for letter, option in zip(string.ascii_uppercase, question.options, strict=False):
            asked.append(f"   {letter}. {option.text}")
            answered.append(f"{number}{letter}. {'Right' if option.right else 'Wrong'}: {option.why}")
        asked.append("")
    return "\n".join([*asked, *answered])


def _code(question: Question) -> str:
    if not question.code:
        return ""
    style = "overflow-x:auto;margin:.4em 0;padding:.4em .7em;line-height:1.35;font-size:.92em;background:var(--jp-layout-color2,#f3f5f7)"
    return f'<pre tabindex="0" style="{TEXT};font-family:monospace;{style}">{escape(question.code)}</pre>'


def _mark(option: Option) -> str:
    """A mark that can be told apart by its shape; its colour is only an addition."""
    return f'<span style="color:{GOOD}">✓</span>' if option.right else f'<span style="color:{BAD}">✗</span>'
