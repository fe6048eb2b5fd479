"""A lab as a public page: the notebook that learners get, with the results that the solved notebook gave.

Every text comes from the release, so no cell can show a solution; of the solved notebook only outputs are taken, and
those of solution cells are dropped.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from html import escape
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output

from course_utils.start_page import FILE_NAME as START_PAGE
from grader.course import CourseError
from grader.reference.lab import checked_exercise, is_solution

WIDGET = "application/vnd.jupyter.widget-view+json"
_STATE = "application/vnd.jupyter.widget-state+json"

_WITH_RESULTS = (
    "You are reading lab {number} of the course. Its results come from a solved copy; cells with `YOUR CODE HERE` are yours to "
    "write. [The start page](../index.md) says how to get the lab itself."
)
_WITHOUT_RESULTS = (
    "You are reading lab {number} of the course, without its results: they were not computed for this copy. Cells with "
    "`YOUR CODE HERE` are yours to write. [The start page](../index.md) says how to get the lab itself."
)
_IN_COLAB = " Or [open it in Colab]({link}), where you need nothing but a browser."
_IN_LITE = (
    ' Or <a href="{link}">try it here</a>: Python runs in your browser, and nothing is installed.{fetched}'
)
_FETCHED = " Your browser fetches Python from {host} then."
_STILL = "In the notebook this answers you. Here you see how it begins."


def public_page(release: NotebookNode, executed: NotebookNode | None = None) -> NotebookNode:
    """The page of a lab.

    Args:
        release: the notebook that learners get.
        executed: the solved notebook after it has run, cell by cell the same; None gives a page without results.

    Raises:
        CourseError: the notebooks do not belong together, a cell failed, or a check did not pass.
    """
    page = copy.deepcopy(release)
    if executed is not None and [cell.id for cell in executed.cells] != [cell.id for cell in page.cells]:
        raise CourseError(
            "The executed notebook has other cells than the release. Run `grader build`, then try again."
        )
    widgets = _widgets(executed) if executed is not None else {}
    for place, cell in enumerate(page.cells):
        if cell.cell_type != "code":
            cell.source = cell.source.replace(f"](../{START_PAGE})", "](../index.md)")
            cell.metadata = NotebookNode()
            continue
        ran = executed.cells[place].outputs if executed is not None else []
        if failed := next((each for each in ran if each.output_type == "error"), None):
            raise CourseError(
                f"Cell {cell.id!r} of the solved notebook fails: {failed.ename}: {failed.evalue}. Correct the lab, then try again."
            )
        key = checked_exercise(cell)
        cell.execution_count = None
        if is_solution(cell):
            cell.outputs, tag = [], ["yours"]
        elif key is not None:
            cell.outputs, tag = ([_passed(key, ran)] if executed is not None else []), ["check"]
        else:
            cell.outputs, tag = _joined([shown for each in ran if (shown := _shown(each, widgets))]), []
        if cell.metadata.get("jupyter", {}).get("source_hidden"):  # it is folded in the notebook, too
            tag = [*tag, "hide-input"]
        cell.metadata = NotebookNode(tags=tag)
    page.metadata = NotebookNode(kernelspec=page.metadata.get("kernelspec", NotebookNode()))
    return page


def without_widgets(release: NotebookNode, executed: NotebookNode) -> NotebookNode:
    """The page of a lab with still pictures in the place of widgets, for where no script brings them to life."""
    still = copy.deepcopy(executed)
    still.metadata.pop("widgets", None)
    return public_page(release, still)


def with_note(
    page: NotebookNode,
    number: str,
    results: bool,
    colab: str | None = None,
    lite: str | None = None,
    host: str = "",
) -> NotebookNode:
    """The page with a sentence below its heading that says what the reader sees.

    Args:
        colab: where the lab opens in Colab, if it does.
        lite: where it opens in the site's own JupyterLite, if it does.
        host: from where that gets its Python, if not from the site.
    """
    heading, _, rest = page.cells[0].source.partition("\n")
    text = (_WITH_RESULTS if results else _WITHOUT_RESULTS).format(number=number)
    text += _IN_COLAB.format(link=colab) if colab else ""
    text += _IN_LITE.format(link=lite, fetched=_FETCHED.format(host=host) if host else "") if lite else ""
    first = new_markdown_cell(f"{heading}\n\n:::{{note}}\n{text}\n:::\n{rest}", id=page.cells[0].id)
    page.cells = [first, *page.cells[1:]]
    return page


def _passed(key: str, outputs: list[NotebookNode]) -> NotebookNode:
    """The first line of a check's report, which names no value: enough to see that the exercise can be solved."""
    texts = [each.get("data", {}).get("text/plain", "") for each in outputs]
    line = next((text.splitlines()[0] for text in texts if text), "")
    if not line.startswith("[ok]"):
        raise CourseError(
            f"The check {key} does not pass in the solved notebook: {line or 'it shows nothing'}. "
            "Run `grader build`, then try again."
        )
    text = line.removeprefix("[ok]").strip()
    html = f'<p class="course-passed"><span aria-hidden="true">✓</span> {escape(text)}</p>'
    return new_output("display_data", data={"text/html": html, "text/plain": text})


def _widgets(notebook: NotebookNode) -> Mapping[str, Any]:
    """Model id -> the saved state of a widget."""
    return notebook.metadata.get("widgets", {}).get(_STATE, {}).get("state", {})


def _shown(output: NotebookNode, widgets: Mapping[str, Any]) -> NotebookNode | None:
    """An output of a given cell as the page shows it; None if it is for nobody's eyes."""
    if output.output_type == "stream":
        return None if output.name == "stderr" else copy.deepcopy(output)
    data = dict(output.data)
    if view := data.pop(WIDGET, None):
        model = widgets.get(view["model_id"], {})
        still = data.get("text/html") or f"<pre>{escape(data.get('text/plain', ''))}</pre>"
        if model.get("model_module") == "anywidget":
            data["text/html"] = live_widget(model["state"], still)
        elif "<details" in still:  # the review questions: their answers unfold by themselves
            data["text/html"] = still
        else:
            data["text/html"] = f'{still}<p class="course-still">{_STILL}</p>'
    return new_output("display_data", data=data)


def _joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Outputs in which what was printed in one go is one output: kernels send it in pieces."""
    joined: list[NotebookNode] = []
    for each in outputs:
        if joined and each.output_type == joined[-1].output_type == "stream":
            joined[-1].text += each.text
        else:
            joined.append(each)
    return joined


def live_widget(state: Mapping[str, Any], still: str) -> str:
    """HTML of a widget that ``site_files/widgets.js`` brings to life; until then, and without scripts, its still picture.

    Args:
        state: the widget's saved state, with its module and its data.
        still: HTML of the still picture.
    """
    kept = {name: value for name, value in state.items() if name in ("_esm", "_css", "data", "alt", "roles")}
    text = json.dumps(kept | {"asked": {}, "error": ""}, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("<", "\\u003c")  # so that no text in it can end the element
    return (
        f'<div class="course-widget"><div>{still}</div><script type="application/json">{text}</script></div>'
    )
