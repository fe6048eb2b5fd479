"""A verdict as learners see it: rich HTML in JupyterLab and on feedback pages, plain text elsewhere.

Every text that could come from learner code is escaped. Colours come from JupyterLab's theme if there
is one, so that the card is readable in the dark theme too; marks differ in shape, not only in colour.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from course_utils.checking.checks import NOT_ENOUGH, NOT_REACHED, CheckResult
from course_utils.checking.comparison import Verdict
from course_utils.checking.symptoms.cases import COUNTS_CASES
from course_utils.checking.wording import OWN_WORDS
from course_utils.display import BAD, GOOD, OPEN, inline

_STYLE = (
    "border:1px solid {line};border-left:6px solid {line};border-radius:6px;padding:.6em 1em;margin:.3em 0;"
    "max-width:56em;overflow-wrap:anywhere;line-height:1.45;color:var(--jp-content-font-color1,#1b1b1b);"
    "background:var(--jp-layout-color1,#fff);font-family:var(--jp-content-font-family,system-ui,sans-serif)"
)

MOST_WORDS = 120
"""At most this many words of a report are open, if that is possible."""

_NO_FORM = "skipped: your result does not have the right form, so there is nothing to test."
_NO_RESULT = "skipped: there is no result to test."
_WITHOUT_RESULT = re.compile(
    r"It was still computing |It did nothing for |[A-Za-z_]\w*(?:: | \(.* of its cell: |$)"
)
"""How the detail of a case begins that was stopped, or that raised an exception."""

_LATER = "Points depend on your predictions' score, which is known only after grading:"


class Report:
    """Shows a verdict in a notebook.

    What is wrong comes first. It is the first two kinds of difference (one, if the mistake is known), with the cases that differ in the same way
    folded. All others are one line. Checks that need an output of the right form are neither right nor wrong until there is
    one. What passes is one line.

    Args:
        key: the exercise as :func:`course_utils.inputs_of` wants it; empty: nothing is said about inputs.
        points: (earned, possible), in grading.
        tally: attempts and time, in a check.
    """

    def __init__(
        self,
        verdict: Verdict,
        key: str = "",
        points: tuple[float, float] | None = None,
        advice: str = "",
        tally: str = "",
    ) -> None:
        self.verdict = verdict
        self.key = key
        self.points = points
        self.advice = advice
        self.tally = tally

    def _headline(self) -> str:
        text = self.verdict.summary
        if self.points is None:
            return text
        earned, of = self.points
        held = any(check.passed and check.counts for check in self.verdict.checks)
        unearned = held and not (earned or self.verdict.bypass or self.verdict.given)
        why = ": properties earn points only if at least one case is right" if unearned else ""
        return f"{text} ({earned:g} of {of:g} points{why})"

    @property
    def _inputs(self) -> str:
        """The code that gives the inputs of the first case that fails; empty if none does."""
        failing = next((check for check in self.verdict.shown if not check.passed), None)
        if not self.key or self.verdict.problem or failing is None or not _of_a_case(failing):
            return ""
        number = f"[{failing.run[0] - 1}]" if failing.run else ""
        return f'from course_utils import inputs_of\ninputs_of("{self.key}", case={failing.case}){number}'

    def _first_to_read(
        self, failing: list[list[CheckResult]], most: int = 2
    ) -> tuple[list[list[CheckResult]], list[CheckResult]]:
        """The groups that are read at once, and the checks of all others: they follow from what is wrong in the former, mostly.

        Where the mistake is known, or may be, one example is enough. Properties are the last to look at: it is values that make them fail.
        """
        of_cases = [group for group in failing if _of_a_case(group[0])]
        known = self.verdict.recognised or self.verdict.possible
        shown = (of_cases or failing)[: 1 if known else most]
        return shown, [check for group in failing if group not in shown for check in group]

    @property
    def _next_step(self) -> str:
        """What to do; nothing where it is said already: by the hint of a mistake that is known, or above the inputs to try."""
        return "" if self.verdict.recognised or self._inputs else self.verdict.next_step

    @property
    def _before_inputs(self) -> str:
        return _INPUTS if self.points is None else _INPUTS_GRADED

    def __repr__(self) -> str:
        verdict = self.verdict
        lines = [f"{'[ok]' if verdict.correct else '[--]'} {self._headline()}"]
        if verdict.where:
            lines.append(f"     At {verdict.where}")
        for found in verdict.recognised:
            lines += [f"  {_certain(verdict)} {found.title}", f"     {found.hint}"]
        for words, hint in _hunches(verdict):
            lines += [f"  {words}", *([f"     {hint}"] if hint else [])]
        if not verdict.problem:
            failing, waiting, passed = _sorted(verdict.shown)
            first_to_read, more = self._first_to_read(failing)
            for first, *others in first_to_read:
                lines += [f"  not  {first.title}", f"         {_what_differs(first)}"]
                lines += [f"         {_likewise(others)}."] if others else []
            lines += [f"  not  {check.title}" for check in more]
            lines += [f"   -   {_number(waiting, 'check')} {_why_skipped(failing)}"] if waiting else []
            lines += [f"  ok   {_number(passed, 'check')}"] if passed else []
        if verdict.later:
            lines.append(f"  {_LATER}")
            lines += [f"     - {title}" for title in verdict.later]
        if self._next_step:
            lines.append(f"  Next: {self._next_step}")
        if self._inputs:
            lines += [f"  {self._before_inputs}", *(f"    {line}" for line in self._inputs.splitlines())]
        lines += [f"  {words}" for words in (self.advice, self.tally) if words]
        if verdict.printed:
            lines += ["  Your code printed:", *(f"    {line}" for line in verdict.printed.splitlines()[:20])]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """As much of it open as fits into :data:`MOST_WORDS`; the rest is folded."""
        for brevity in range(5):
            found = self._html(brevity)
            if _open_words(found) <= MOST_WORDS:
                break
        return found

    def _html(self, brevity: int) -> str:
        """
        Args:
            brevity: what is open. 0: all worth reading. 1: one kind of difference. 2: of that only the case's name, if the mistake
                is known. Else, of a possible cause, only what it is; goals are folded. 3: only the case's name, and one symptom, in
                any case. 4: the hint of one mistake only.
        """
        verdict = self.verdict
        undecided = verdict.problem or verdict.given
        colour = GOOD if verdict.correct else OPEN if undecided else BAD
        mark = "&#10003;" if verdict.correct else "&#9675;" if undecided else "&#10007;"
        parts = [
            f'<div role="group" aria-label="Check of {escape(verdict.exercise)}" style="{_STYLE.format(line=colour)}">',
            # A status is announced when it comes, not only when one gets there.
            f'<div role="status" style="font-weight:600"><span style="color:{colour}" aria-hidden="true">{mark}</span> '
            f"{inline(self._headline())}</div>",
        ]
        if verdict.where:
            parts.append(f"<div>At <code>{escape(verdict.where)}</code></div>")
        for place, found in enumerate(verdict.recognised):
            hint = f"<br>{inline(found.hint)}"
            if place and brevity > 3:
                hint = f'<details><summary style="cursor:pointer">Why</summary>{inline(found.hint)}</details>'
            parts.append(
                f'<div style="border-bottom:1px solid var(--jp-border-color2,#ddd);padding:.3em 0 .5em">'
                f"<b>{_certain(verdict)}</b> {inline(found.title)}{hint}</div>"
            )
        for place, (words, hint) in enumerate(_hunches(verdict)):
            more = f"<br>{inline(hint)}" if hint else ""
            if hint and brevity > 1:
                more = f'<details><summary style="cursor:pointer">Why</summary>{inline(hint)}</details>'
            said = f"{inline(words)}{more}"
            if place and not hint and brevity > 2:
                said = (
                    f'<details><summary style="cursor:pointer">What else stands out</summary>{said}</details>'
                )
            parts.append(f'<div style="padding:.2em 0">{said}</div>')
        if not verdict.problem:
            parts.append(self._checks_html(brevity))
        if verdict.later:
            items = "".join(f"<li>{inline(title)}</li>" for title in verdict.later)
            goals = f'<ul style="margin:.2em 0">{items}</ul>'
            if brevity > 1:
                parts.append(f'<details><summary style="cursor:pointer">{_LATER}</summary>{goals}</details>')
            else:
                parts.append(f"<div>{_LATER}{goals}</div>")
        if self._next_step:
            parts.append(f"<div><b>Next:</b> {inline(self._next_step)}</div>")
        if self._inputs:
            # one click selects all of it
            parts.append(
                f'<div>{self._before_inputs}<pre style="user-select:all;margin:.2em 0;padding:.3em .6em;white-space:pre-wrap;'
                f'background:var(--jp-layout-color2,#f3f3f3);color:inherit">{escape(self._inputs)}</pre></div>'
            )
        if self.advice:
            parts.append(f"<div>{inline(self.advice)}</div>")
        if self.tally:
            parts.append(f'<div style="opacity:.75">{escape(self.tally)}</div>')
        if verdict.printed:
            parts.append(
                f"<details><summary>Your code printed</summary><pre>{escape(verdict.printed)}</pre></details>"
            )
        return "".join([*parts, "</div>"])

    def _checks_html(self, brevity: int) -> str:
        """The list of checks: what failed, what was not tested, and what passed."""
        failing, waiting, passed = _sorted(self.verdict.shown)
        first_to_read, more = self._first_to_read(failing, 1 if brevity else 2)
        folded = brevity > (1 if self.verdict.recognised else 2)
        items = [
            _item(BAD, "&#10007;", "failed", inline(group[0].title), _details(group, folded))
            for group in first_to_read
        ]
        if more:
            summary = f"{_number(more, 'other check')} did not pass"
            items.append(_item(BAD, "&#10007;", "failed", _folded(summary, more, with_details=True)))
        if waiting:
            summary = f"{_number(waiting, 'check')} {_why_skipped(failing)}"
            items.append(_item(OPEN, "&#9675;", "not tested", _folded(summary, waiting)))
        if passed:
            summary = "What was checked" if self.verdict.correct else f"{_number(passed, 'check')} passed"
            items.append(_item(GOOD, "&#10003;", "passed", _folded(summary, passed)))
        return f'<ul style="list-style:none;padding-left:.2em;margin:.4em 0">{"".join(items)}</ul>'


def _certain(verdict: Verdict) -> str:
    """What is known of a misconception that is certain: what the code does. How it is written is not looked at."""
    if len(verdict.recognised) == 1:
        return "Your results are those of a well-known mistake:"
    return "In some cases, your results are those of a well-known mistake:"


def _hunches(verdict: Verdict) -> list[tuple[str, str]]:
    """What is said where no misconception is certain: (sentence, hint) of what stands out, and of what may be the cause.

    Beside a possible cause, the most telling symptom is enough, and none that only counts cases: the list of checks shows that.
    """
    symptoms = verdict.symptoms
    if verdict.possible:
        symptoms = [each for each in symptoms[:1] if each.name not in COUNTS_CASES]
    said = [(f"What stands out: {symptom.sentence}", "") for symptom in symptoms]
    return said + [(f"One possible cause: {each.title}", each.hint) for each in verdict.possible]


_VALUE = re.compile(r"[\[(][\d, ]*[\])]|[-+.\w]*\d[-+.\w]*|\bnan\b|\binf\b")
"""Shapes, places and numbers: what differs between cases that are wrong in the same way."""
_INPUTS = "Next: follow the inputs of the first case that fails through your code:"
_INPUTS_GRADED = (
    "Grading has numbers of its own and does not show them. The check in your notebook shows where values differ. Its inputs in "
    "the first case that fails here:"
)


def _of_a_case(check: CheckResult) -> bool:
    """Whether it fails for the inputs of one case. A goal that is missed has no such inputs to try."""
    return check.case is not None and check.detail != NOT_ENOUGH


def _sorted(
    checks: Iterable[CheckResult],
) -> tuple[list[list[CheckResult]], list[CheckResult], list[CheckResult]]:
    """What fails, the cases that differ in the same way together; what needs an output of the right form; what passes."""
    failing: dict[object, list[CheckResult]] = {}
    waiting, passed = [], []
    for check in checks:
        if check.passed:
            passed.append(check)
        elif check.detail == NOT_REACHED:
            waiting.append(check)
        else:  # every property and every goal says something of its own
            alike = (_VALUE.sub("#", check.detail),) if _of_a_case(check) else check.title
            failing.setdefault(alike, []).append(check)
    return list(failing.values()), waiting, passed


def _why_skipped(failing: list[list[CheckResult]]) -> str:
    """Why some checks were not tested: no case gave a result, or the results do not have the right form."""
    cases = [check for group in failing for check in group if _of_a_case(check)]
    nothing = cases and all(_WITHOUT_RESULT.match(check.detail) for check in cases)
    return _NO_RESULT if nothing else _NO_FORM


def _item(colour: str, mark: str, word: str, title: str, more: str = "") -> str:
    """A line of the list; ``title`` and ``more`` are HTML."""
    return (
        f'<li style="margin:.15em 0;display:flex;gap:.4em"><span style="color:{colour};font-weight:700" role="img" '
        f'aria-label="{word}">{mark}</span><div style="min-width:0">{title}{more}</div></li>'
    )


def _what_differs(check: CheckResult) -> str:
    """The detail, and for which of a case's inputs it comes up, where there are several."""
    detail = check.detail
    own = OWN_WORDS.match(detail)
    if own and "of its cell: " not in detail:  # no line of the learner's raised it
        detail = own[1].upper() + detail[own.end() :]
    return f"Inputs {check.run[0]} of {check.run[1]}: {detail}" if check.run else detail


def _details(group: list[CheckResult], folded: bool = False) -> str:
    first, *others = group
    if folded:
        return _folded("What differs", group, with_details=True)
    return f"<div>{inline(_what_differs(first))}</div>" + (
        _folded(_likewise(others), others, with_details=True) if others else ""
    )


def _open_words(report: str) -> int:
    """How many words of a report (HTML) are read without opening anything; code to copy does not count."""
    report = re.sub(r"<details>(<summary.*?</summary>).*?</details>", r"\1", report, flags=re.DOTALL)
    report = re.sub(r"<pre.*?</pre>", "", report, flags=re.DOTALL)
    return len(re.sub(r"<[^>]*>", " ", report).split())


def _folded(summary: str, checks: list[CheckResult], with_details: bool = False) -> str:
    items = (
        f"<li>{inline(check.title)}{f' {inline(_what_differs(check))}' if with_details else ''}</li>"
        for check in checks
    )
    return (
        f'<details><summary style="cursor:pointer">{escape(summary)}</summary>'
        f'<ul style="margin:.2em 0;padding-left:1.4em">{"".join(items)}</ul></details>'
    )


def _likewise(others: list[CheckResult]) -> str:
    return f"The same in {_number(others, 'other case')}"


def _number(checks: list[CheckResult], word: str) -> str:
    return f"{len(checks)} {word}{'s' if len(checks) > 1 else ''}"
