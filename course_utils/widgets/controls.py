"""Find the missing control: a claim with its numbers, and four experiments of which one answers the objection to it.

The claim, the experiments and what each of them can tell stand in a lab's ``quiz.md``, as a question with a name; right is the one that was
missing. The notebook gives the claim's numbers, and a function for each experiment, in the same order::

    find_the_control(
        "why_attention.company", ["", "probes found"], [["`reweight`", "5 of 5"]],
        [other_order, plain_average, other_probes, word_alone],
    )

Each function returns rows for the same table. All of them run when the cell does, so a saved notebook can show every choice without a
kernel. Nothing is recorded, and nothing stops *Run All*: an experiment that fails says so in its place.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any

from course_utils.display import CARD, a_table, inline, plain
from course_utils.quiz import Option
from course_utils.widgets import Widget
from course_utils.widgets.predict import find

Rows = Sequence[Sequence[str]]
"""Rows of a table, as texts; the first of each says what it is."""

_RIGHT, _OTHER = "This is the control that was missing.", "This does not answer the objection."


class MissingControl(Widget):
    """A claim with its numbers, and what each of the possible controls gives beside them.

    Args:
        key: "lab.name", e.g. ``"why_attention.company"``.
        head: the titles of the columns.
        rows: the numbers that the claim rests on.
        experiments: one for each option of the question, in its order; each returns rows with the same columns.

    Raises:
        LookupError: the lab has no such question.
        ValueError: there are more or fewer experiments than options.
    """

    module = "controls.js"

    def __init__(
        self, key: str, head: Sequence[str], rows: Rows, experiments: Sequence[Callable[[], Rows]]
    ) -> None:
        self.question = find(key)
        self.tables = [a_table(head, rows)]
        """The claim's numbers, and these with what each experiment gives: HTML and plain text."""
        if len(experiments) != len(self.question.options):
            raise ValueError(
                f"{key} has {len(self.question.options)} options and {len(experiments)} experiments: give one for each, in the same "
                "order."
            )
        for experiment in experiments:
            self.tables.append(a_table(head, [*rows, *_run(experiment, len(head))]))

    def data(self) -> dict[str, Any]:
        return {
            "claim": inline(self.question.text),
            "table": self.tables[0][0],
            "options": [
                {
                    "text": inline(option.text),
                    "right": option.right,
                    "verdict": _verdict(option),
                    "why": inline(option.why),
                    "table": html,
                }
                for option, (html, _) in self._with_tables()
            ],
        }

    def still(self) -> str:
        items = "".join(
            f"<li>{inline(option.text)}<details><summary style='cursor:pointer'>Show what it gives</summary>{html}"
            f"<div><b>{_verdict(option)}</b> {inline(option.why)}</div></details></li>"
            for option, (html, _) in self._with_tables()
        )
        return (
            f'<div style="{CARD}"><b>Find the missing control.</b> {inline(self.question.text)}{self.tables[0][0]}'
            f'<ol style="list-style-type:upper-alpha;margin:.2em 0">{items}</ol></div>'
        )

    def alt(self) -> str:
        asked = [f"Find the missing control. {plain(self.question.text)}", self.tables[0][1]]
        answered = ["What they give"]
        for letter, (option, (_, text)) in zip(string.ascii_uppercase, self._with_tables(), strict=False):
            asked.append(f"   {letter}. {plain(option.text)}")
            answered += [
                "",
                f"{letter}. {plain(option.text)}",
                text,
                f"{_verdict(option)} {plain(option.why)}",
            ]
        return "\n".join([*asked, "", *answered])

    def _with_tables(self) -> list[tuple[Option, tuple[str, str]]]:
        return list(zip(self.question.options, self.tables[1:], strict=True))


def find_the_control(
    key: str, head: Sequence[str], rows: Rows, experiments: Sequence[Callable[[], Rows]]
) -> None:
    """Shows a claim with four possible controls. A reader who chooses one sees what it gives beside the claim's numbers, and what that
    shows. The arguments are those of :class:`MissingControl`, and so is what is raised."""
    MissingControl(key, head, rows, experiments).show()


def _verdict(option: Option) -> str:
    return _RIGHT if option.right else _OTHER


def _run(experiment: Callable[[], Rows], columns: int) -> Rows:
    """What an experiment gives. It may call what the learner wrote, so the table says what goes wrong."""
    try:
        return experiment()
    except Exception as error:
        said = f"it could not run: {type(error).__name__}: {error}"
        return [[said, *[""] * (columns - 1)]]
