"""An executed notebook and its verdicts -> the graded notebook that instructors and learners get to see.

The output of learner code is shown as text and pictures only. No markup, script or widget from a submission ever reaches the browser of somebody
who opens the feedback or formgrader.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_markdown_cell

from course_utils.checking.comparison import Verdict, without_secrets
from course_utils.checking.report import Report
from grader.grade.judge import advice
from grader.receive.pictures import OURS
from grader.reference.lab import Lab, checked_exercise, copy_of, is_added, nbgrader_of

RESULT_CELL = "grading-result"
"""The id of the cell at the top of a graded notebook that says how grading went."""
FACTS = "course"
"""The name under which a check cell's output carries what the feedback page's overview says about it, and what only instructors may
know: ``wrong``, the details of what fails, with values."""

MAX_TEXT = 10_000
MAX_OUTPUT_TEXT = 200_000
MAX_OUTPUT_PICTURES = 8 * 2**20
MAX_SOURCE = 20_000
MAX_SOURCES = 300_000
_MANY_BLANK_LINES = re.compile(r"(?:[ \t]*\n){21,}")


def points_of(cell: NotebookNode) -> float:
    return float(nbgrader_of(cell).get("points", 0))


def earned(verdict: Verdict, points: float, share: float = 1.0) -> float:
    """The points for a verdict, rounded to hundredths. They are full if every check holds, or if every check that can hold given
    a mistake in an earlier exercise does and the course gives all points for that.

    Args:
        share: of the points, for what is right given a mistake in an earlier exercise.
    """
    score = max(verdict.score, share * verdict.given.score) if verdict.given else verdict.score
    return points if verdict.correct else min(round(points * score, 2), points)


def with_results(
    lab: Lab,
    executed: NotebookNode,
    release: NotebookNode,
    verdicts: Mapping[str, Verdict],
    state: str,
    notes: Sequence[str],
    share: float = 1.0,
) -> NotebookNode:
    """A copy of an executed notebook as instructors and learners get to see it.

    Each check cell shows its report. Its plain text is the number of points, because that is where nbgrader
    reads them from, so that its formgrader and its own autograding steps agree with ours.

    Args:
        share: see :func:`earned`.
    """
    notebook = copy_of(executed)
    released = {nbgrader_of(cell).get("grade_id"): cell.source for cell in release.cells}
    own = {cell.id: cell.source for cell in release.cells}
    bounds = _Bounds(lambda text: without_places(text, lab))
    for cell in notebook.cells:
        if cell.source != own.get(cell.id):
            cell.source = bounds.readable(cell.source)
        if key := checked_exercise(cell):
            first = advice(lab, key, verdicts, executed)
            cell.outputs = [_report(lab, key, verdicts[key], points_of(cell), share, first)]
        elif cell.cell_type == "code":
            cell.outputs = bounds.harmless(cell.outputs)
        elif is_added(cell) or (
            nbgrader_of(cell).get("solution") and cell.source != released.get(nbgrader_of(cell)["grade_id"])
        ):
            cell.source = inert_markdown(cell.source, cell.get("attachments", {}))
    lines = [f"**State of this submission: {state}.**", *(f"- {inert_markdown(note)}" for note in notes)]
    notebook.cells.insert(0, new_markdown_cell("\n\n".join([lines[0], "\n".join(lines[1:])]), id=RESULT_CELL))
    return notebook


def _report(lab: Lab, key: str, verdict: Verdict, points: float, share: float, first: str) -> NotebookNode:
    got = earned(verdict, points, share)
    report = Report(without_secrets(verdict), key, points=(got, points), advice=first)
    data = {"text/html": without_places(report._repr_html_(), lab), "text/plain": repr(float(got))}
    facts = {
        "summary": verdict.summary,
        "misconceptions": [found.title for found in verdict.recognised],
        "wrong": [without_places(check.detail, lab) for check in verdict.shown if not check.passed],
    }
    return _output("execute_result", data=data, execution_count=1, metadata={FACTS: facts})


def _output(kind: str, **fields: Any) -> NotebookNode:
    """An output of a cell. nbformat's own function checks each against its schema, which takes longer than all the rest."""
    return from_dict({"output_type": kind, **fields})


def inert_markdown(text: str, pictures: Collection[str] = ()) -> str:
    """Markdown without working HTML and links: an invisible character keeps them from being recognised.

    nbgrader renders markdown with raw HTML and with links of any kind, ``javascript:`` included.

    Args:
        pictures: names of those that the grader itself has put into the cell; they stay.
    """
    parts, end = [], 0
    for found in OURS.finditer(text):
        if found["name"] in pictures:
            parts += [_inert(text[end : found.start()]), found[0]]
            end = found.end()
    return "".join([*parts, _inert(text[end:])])


def _inert(text: str) -> str:
    text = re.sub(r"<(?=[A-Za-z/!?])", "<\u200b", text)
    return re.sub(r"\](?=[(\[:])", "]\u2060", text)


_UP_TO_A_PACKAGE = re.compile(
    r"(?<![\w./~-])(?:~|[A-Za-z]:)?(?:[/\\][\w.@+ -]{1,100}){1,30}[/\\](?=(?:site-packages|python3\.\d+|course_utils)[/\\])"
)


def without_places(text: str, lab: Lab) -> str:
    """A text without the folders of the machine that graded: a traceback names files, and nobody else has them there."""
    text = _UP_TO_A_PACKAGE.sub("", text)
    for folder in (lab.course.root, Path.home()):
        if len(folder.parts) > 1:
            text = re.sub(rf"{re.escape(str(folder))}(?=[/\\\s'\":,)]|$)[/\\]?", "", text)
    return text


# ---------------------------------------------------------------------------------- learners' outputs

_PICTURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}


class _Bounds:
    """What is left of a notebook's allowance for outputs."""

    def __init__(self, cleaned: Callable[[str], str] = str) -> None:
        self.cleaned = cleaned
        self.text = MAX_OUTPUT_TEXT
        self.pictures = MAX_OUTPUT_PICTURES
        self.sources = MAX_SOURCES

    def readable(self, source: str) -> str:
        """A learner's own text, cut to what a page can show: the time for highlighting grows faster than the text."""
        source = _MANY_BLANK_LINES.sub("\n" * 20, source)
        limit = min(MAX_SOURCE, max(self.sources, 0))
        self.sources -= min(len(source), limit)
        if len(source) <= limit:
            return source
        return f"{source[:limit]}\n# ... {len(source) - limit} more characters are in the submission"

    def harmless(self, outputs: Sequence[Mapping[str, Any]]) -> list[NotebookNode]:
        """Text and pictures of a cell's outputs, as long as the allowance lasts."""
        kept = (self._harmless(output) for output in outputs)
        return [output for output in kept if output is not None]

    def _harmless(self, output: Mapping[str, Any]) -> NotebookNode | None:
        kind = output.get("output_type")
        if kind == "stream":
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            text = self._bounded(output.get("text"))
            return _output("stream", name=name, text=text) if text else None
        if kind == "error":
            trace = output.get("traceback")
            lines = [self._bounded(line) for line in trace] if isinstance(trace, list) else []
            name, value = self._bounded(output.get("ename")), self._bounded(output.get("evalue"))
            return _output("error", ename=name, evalue=value, traceback=[line for line in lines if line])
        data = output.get("data")
        if kind not in ("display_data", "execute_result") or not isinstance(data, Mapping):
            return None
        shown = {mime: picture for mime in _PICTURES if (picture := self._picture(mime, data.get(mime)))}
        if text := self._bounded(data.get("text/plain")):
            shown["text/plain"] = text
        return _output("display_data", data=shown, metadata={}) if shown else None

    def _bounded(self, text: Any) -> str:
        if isinstance(text, list):
            text = "".join(part for part in text if isinstance(part, str))
        if not isinstance(text, str) or self.text <= 0:
            return ""
        limit = min(MAX_TEXT, self.text)
        self.text -= min(len(text), limit)
        text, left_out = re.sub("[\ud800-\udfff]", "\ufffd", text[:limit]), len(text) - limit
        text = self.cleaned(text)
        return text if left_out <= 0 else f"{text}\n... {left_out} more characters left out"

    def _picture(self, mime: str, data: Any) -> str | None:
        if not isinstance(data, str) or len(data) > self.pictures:
            return None
        try:
            raw = base64.b64decode(re.sub(r"\s", "", data), validate=True)
        except (binascii.Error, ValueError):
            return None
        if not raw.startswith(_PICTURES[mime]):
            return None
        self.pictures -= len(data)
        return base64.b64encode(raw).decode("ascii")
