"""A verdict as learners see it: rich HTML in JupyterLab and on feedback pages, plain text elsewhere.

Every text that could come from learner code is escaped. Colours come from JupyterLab's theme if there
is one, so that the card is readable in the dark theme too; marks differ in shape, not only in colour.
"""

from __future__ import annotations

from html import escape

from course_utils.checking.comparison import CheckResult, Verdict
from course_utils.display import BAD, GOOD, OPEN, inline

_STYLE = (
    "border:1px solid {line};border-left:6px solid {line};border-radius:6px;padding:.6em 1em;margin:.3em 0;"
    "max-width:52em;line-height:1.45;color:var(--jp-content-font-color1,#1b1b1b);"
    "background:var(--jp-layout-color1,#fff);font-family:var(--jp-content-font-family,system-ui,sans-serif)"
)

_LATER = "What you hand in earns points by what it reaches. Only grading can tell:"


class Report:
    """Shows a verdict in a notebook.

    ``points`` (earned, possible) is given only in grading, ``tally`` (attempts and time) only in a check.
    """

    def __init__(
        self, verdict: Verdict, points: tuple[float, float] | None = None, advice: str = "", tally: str = ""
    ) -> None:
        self.verdict = verdict
        self.points = points
        self.advice = advice
        self.tally = tally

    def _headline(self) -> str:
        text = self.verdict.summary
        if self.points is None:
            return text
        earned, of = self.points
        unearned = self.verdict.passed and not earned and not self.verdict.bypass
        why = ": properties earn points only if at least one case is right" if unearned else ""
        return f"{text} ({earned:g} of {of:g} points{why})"

    def __repr__(self) -> str:
        verdict = self.verdict
        lines = [f"{'[ok]' if verdict.correct else '[--]'} {self._headline()}"]
        if verdict.where:
            lines.append(f"     At {verdict.where}")
        for found in verdict.recognised:
            lines += [f"  This looks like a common misconception: {found.title}", f"     {found.hint}"]
        if not verdict.problem:
            for check in verdict.checks:
                lines.append(f"  {'ok  ' if check.passed else 'not '} {check.title}")
                if check.detail:
                    lines.append(f"         {check.detail}")
        if verdict.later:
            lines.append(f"  {_LATER}")
            lines += [f"     - {title}" for title in verdict.later]
        if verdict.next_step and not verdict.recognised:
            lines.append(f"  Next: {verdict.next_step}")
        lines += [f"  {words}" for words in (self.advice, self.tally) if words]
        if verdict.printed:
            lines += ["  Your code printed:", *(f"    {line}" for line in verdict.printed.splitlines()[:20])]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        verdict = self.verdict
        colour = GOOD if verdict.correct else OPEN if verdict.problem else BAD
        mark = "&#10003;" if verdict.correct else "&#9675;" if verdict.problem else "&#10007;"
        parts = [
            f'<div role="group" aria-label="Check of {escape(verdict.exercise)}" style="{_STYLE.format(line=colour)}">',
            f'<div style="font-weight:600"><span style="color:{colour}" aria-hidden="true">{mark}</span> '
            f"{inline(self._headline())}</div>",
        ]
        if verdict.where:
            parts.append(f"<div>At <code>{escape(verdict.where)}</code></div>")
        for found in verdict.recognised:
            parts.append(
                f'<div style="border-bottom:1px solid var(--jp-border-color2,#ddd);padding:.3em 0 .5em">'
                f"<b>This looks like a common misconception:</b> {inline(found.title)}<br>{inline(found.hint)}</div>"
            )
        if not verdict.problem:
            items = "".join(map(_item, verdict.checks))
            parts.append(f'<ul style="list-style:none;padding-left:.2em;margin:.4em 0">{items}</ul>')
        if verdict.later:
            items = "".join(f"<li>{inline(title)}</li>" for title in verdict.later)
            parts.append(f'<div>{_LATER}<ul style="margin:.2em 0">{items}</ul></div>')
        if verdict.next_step and not verdict.recognised:
            parts.append(f"<div><b>Next:</b> {inline(verdict.next_step)}</div>")
        if self.advice:
            parts.append(f"<div>{inline(self.advice)}</div>")
        if self.tally:
            parts.append(f'<div style="opacity:.75">{escape(self.tally)}</div>')
        if verdict.printed:
            parts.append(
                f"<details><summary>Your code printed</summary><pre>{escape(verdict.printed)}</pre></details>"
            )
        return "".join([*parts, "</div>"])


def _item(check: CheckResult) -> str:
    colour, mark, word = (GOOD, "&#10003;", "passed") if check.passed else (BAD, "&#10007;", "failed")
    detail = f'<div style="margin-left:1.5em">{inline(check.detail)}</div>' if check.detail else ""
    return (
        f'<li style="margin:.15em 0"><span style="color:{colour};font-weight:700" aria-label="{word}">{mark}</span> '
        f"{inline(check.title)}{detail}</li>"
    )
