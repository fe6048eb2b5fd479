"""A learner's feedback page: a single file that needs no network, scripts or external fonts.

It replaces nbgrader's own page (``GenerateFeedback.exporter_class``), whether the feedback is made with `grader feedback`,
formgrader's button or nbgrader's command.
"""

from __future__ import annotations

import base64
import functools
import io
import re
from collections.abc import Mapping, Sequence
from html import escape, unescape
from typing import Any

import jinja2
from nbconvert.exporters import Exporter
from nbconvert.exporters.exporter import ResourcesDict
from nbconvert.filters import ansi2html
from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from pygments.formatters import HtmlFormatter
from traitlets import default

from course_utils.display import inline
from grader.book.requests import exercise_name
from grader.grade.results import FACTS
from grader.receive.regrade import blank, file_name
from grader.reference.lab import checked_exercise, file_in, is_added, nbgrader_of
from grader.show.check_statistics import passes

MAX_FORMULAS = 400
"""How many formulas are drawn of a cell of the course's, and of everything that others wrote on a page."""
MAX_FORMULA = 400
_CELLS_KEPT = 256
_SIZE = 12
_REWRITTEN = {r"\operatorname*": r"\operatorname", r"\tfrac": r"\frac", r"\texttt": r"\mathtt", r"\le": r"\leq",
              r"\ne": r"\neq", r"\big": ""}  # fmt: skip
_METADATA = re.compile(rb"<metadata>.*?</metadata>\s*", re.DOTALL)
_LEADS_SOMEWHERE = re.compile(r"#|[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_COMMAND = re.compile(r"\\[A-Za-z]+\*?")
_ALIGNED = re.compile(r"\s*\\begin\{aligned\}(.*)\\end\{aligned\}\s*", re.DOTALL)


class FeedbackPage(Exporter):
    """An executed, graded notebook as its author will see it."""

    @default("file_extension")
    def _file_extension_default(self) -> str:
        return ".html"

    def from_notebook_node(
        self, nb: NotebookNode, resources: ResourcesDict | None = None, **kw: Any
    ) -> tuple[str, ResourcesDict]:
        """The page of a notebook. nbgrader's preprocessors put scores and comments into it first."""
        notebook, resources = super().from_notebook_node(nb, resources, **kw)
        return as_html(notebook, resources["nbgrader"]), resources


_UNREAD = "unreadable"  # the state, as grader.grade.work calls it; with its imports, pages would depend on how work is graded


def as_html(notebook: NotebookNode, facts: dict[str, Any]) -> str:
    """The page.

    Args:
        notebook: with scores and comments in its cells' metadata.
        facts: of the submission ``score``, ``max_score``, ``late_penalty`` and ``submission`` (its id in the gradebook).
            ``marked_late`` says who marks it as late, if nobody knows by how much. ``notebook`` and ``assignment`` are its
            names, and ``whose`` says whose it is.
    """
    rows = [row for cell in notebook.cells if (row := _row(cell))]
    if notebook.metadata.get("transformer_labs", {}).get("state") == _UNREAD:
        for row in rows:
            row["summary"] = row["summary"] and "not checked, because the file could not be read."
    title = _title(notebook) or facts["notebook"]
    page = _template().render(
        comment=Markdown(trusted=False),
        cells=notebook.cells,
        rows=rows,
        requests=_requests(rows, facts),
        waiting=sum(row["points"] for row in rows if row["mark"] == "waiting"),
        title=title,
        facts=facts,
        grader_of=nbgrader_of,
        exercise_of=checked_exercise,
        is_added=is_added,
        file_in=file_in,
    )
    return _CORNER.sub(r"<td\1></td>", _BOX.sub(_reachable, page))


_CORNER = re.compile(r"<th( style=\"[^\"]*\")?></th>")
"""The empty corner of a table, which heads nothing."""
_BOX = re.compile(r"<pre>(.*?)</pre>", re.DOTALL)
_NARROW = 40
"""Characters of a line that fit on a phone."""


def _reachable(box: re.Match[str]) -> str:
    """Code or output that may have to be scrolled sideways can be reached by keyboard; what always fits is no place to stop at."""
    lines = unescape(re.sub(r"<[^>]*>", "", box[1])).splitlines()
    return f'<pre tabindex="0">{box[1]}</pre>' if any(len(line) > _NARROW for line in lines) else box[0]


@functools.cache
def _template() -> jinja2.Template:
    """The page's template, made once: with its styles and filters it takes as long as the rest of a page."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("grader", "show"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    code = Highlight2HTML(pygments_lexer="ipython3")
    environment.filters |= {
        # most cells are the course's own, and the same on everybody's page
        "markdown": functools.lru_cache(maxsize=_CELLS_KEPT)(lambda source: Markdown(trusted=True)(source)),
        "code": functools.lru_cache(maxsize=_CELLS_KEPT)(lambda source: code(source)),
        "ansi": ansi2html,
        "inline": inline,
    }
    for name, style in {"light": "vs", "dark": "github-dark"}.items():
        environment.globals[name] = HtmlFormatter(style=style).get_style_defs(".highlight")
    return environment.get_template("feedback.html")


def _title(notebook: NotebookNode) -> str:
    """The lab's title, removed from the notebook: the page begins with it."""
    for cell in notebook.cells:
        if (
            cell.cell_type == "markdown"
            and not is_added(cell)
            and (found := re.match(r"# (.+)\n*", cell.source))
        ):
            cell.source = cell.source[found.end() :]
            return found[1]
    return ""


def _row(cell: NotebookNode) -> dict[str, Any] | None:
    """What the overview says about a graded cell."""
    meta = nbgrader_of(cell)
    if not meta.get("grade"):
        return None
    outputs = cell.get("outputs") or [{}]
    told = outputs[0].get("metadata", {}).get(FACTS, {})
    given = outputs[0].get("data", {}).get("text/plain")
    score, points = float(meta.get("score") or 0), float(meta["points"])
    return {
        "id": meta["grade_id"],
        "name": exercise_name(cell),
        "score": score,
        "points": points,
        "mark": "waiting" if meta.get("waiting") else _mark(score, points),
        "counts": meta.get("counts", ""),
        "summary": told.get("summary", "").partition(": ")[2],  # its exercise is next to it
        "misconceptions": told.get("misconceptions", []),
        "by_hand": given is not None and abs(score - float(given)) > 0.005,
    }


def _requests(rows: Sequence[dict[str, Any]], facts: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Graded cell -> name and text of the file that asks for another look at it, where more points are possible."""
    return {
        row["id"]: (
            file_name(row["name"]),
            blank(facts["assignment"], row["name"], facts["submission"]),
        )
        for row in rows
        if row["mark"] in ("some", "none")
    }


def _mark(score: float, points: float) -> str:
    if passes(score, points):
        return "all"
    return "some" if score else "none"


# ---------------------------------------------------------------------------------- text and formulas


class Markdown:
    """Markdown to HTML, formulas as pictures. Only the course's own text may contain HTML."""

    def __init__(self, trusted: bool) -> None:
        self._renderer = _Renderer(
            escape=not trusted, allow_harmful_protocols=False, exclude_anchor_links=True
        )
        self._markdown = MarkdownWithMath(renderer=self._renderer)

    def __call__(self, source: str, attachments: Mapping[str, Mapping[str, str]] | None = None) -> str:
        self._renderer.attachments = attachments or {}
        return self._markdown.render(source)


class _Renderer(IPythonRenderer):
    formulas = 0

    def link(self, text: str, url: str, title: str | None = None) -> str:
        # what a lab has beside it, the map of the course and other labs, is not where the page will lie
        return super().link(text, url, title) if _LEADS_SOMEWHERE.match(url) else text

    def image(self, text: str, url: str, title: str | None = None) -> str:
        if url.startswith("attachment:") and url.removeprefix("attachment:") not in self.attachments:
            return escape(text)
        return super().image(text, url, title)

    def inline_math(self, body: str) -> str:
        return self._typeset(body)

    def block_math(self, body: str) -> str:
        found = _ALIGNED.fullmatch(body)
        lines = found[1].replace("&", "").split(r"\\") if found else [body]
        return f'<span class="formula">{"<br>".join(self._typeset(line.strip()) for line in lines)}</span>'

    def latex_environment(self, name: str, body: str) -> str:
        return self.block_math(f"\\begin{{{name}}}{body}\\end{{{name}}}")

    def _typeset(self, tex: str) -> str:
        self.formulas += 1
        picture = typeset(tex) if self.formulas <= MAX_FORMULAS else None
        return picture or f"<code>{escape(tex)}</code>"


@functools.lru_cache(maxsize=1000)
def typeset(tex: str) -> str | None:
    """A formula as a picture aligned with the surrounding text; None if it cannot be drawn."""
    if len(tex) > MAX_FORMULA:
        return None
    from matplotlib import rc_context  # takes half a second, and no other command needs it
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import math_to_image

    drawn = _COMMAND.sub(lambda found: _REWRITTEN.get(found[0], found[0]), tex.replace("\n", " "))
    file = io.BytesIO()
    try:
        with rc_context({"savefig.transparent": True}):  # on any theme's background
            depth = math_to_image(
                f"${drawn.strip()}$",
                file,
                FontProperties(size=_SIZE, math_fontfamily="cm"),
                dpi=72,
                format="svg",
            )
    except (ValueError, RuntimeError, RecursionError):
        return None
    picture = _METADATA.sub(b"", file.getvalue())  # it says when the picture was drawn
    height = re.search(rb'<svg[^>]* height="([\d.]+)pt"', picture)
    if not height:
        return None
    data = base64.b64encode(picture).decode("ascii")
    style = f"height:{float(height[1]) / _SIZE:.2f}em;vertical-align:{-depth / _SIZE:.2f}em"
    return f'<img class="maths" style="{style}" alt="{escape(tex)}" src="data:image/svg+xml;base64,{data}">'
