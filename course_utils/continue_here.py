"""``continue_here("self_attention")``: what a learner had before the kernel was closed, in seconds, and where to go on.

It reads the notebook as it was last saved, from the top to the first unsolved exercise of the core path. It runs the course's own cells that
grading runs. Of all others it runs imports, functions, classes, constants, and the values that other cells need
(:mod:`course_utils.needed_values`).
So nothing trains, draws or measures. Weights that were trained come from :mod:`course_utils.kept_weights`.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import json
import linecache
import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from course_utils import kept_weights, labs, needed_values, progress
from course_utils.checking.cells import parsed
from course_utils.checking.check import SEED_VARIABLE, brought_back, defining, digest
from course_utils.checking.names import free_names
from course_utils.checking.scopes import bound_names
from course_utils.checking.time_limit import TooSlow, time_limit
from course_utils.checking.unattended import unattended
from course_utils.display import QUIET, TEXT, inline, plain, publish
from course_utils.labs import LabInfo
from course_utils.needed_values import changed_by
from course_utils.portfolio_check import fault_of
from course_utils.portfolio_source import Unreadable, read_notebook
from course_utils.quiet import without_startup_messages

GIVEN = "transformer_labs_given"
"""In the metadata of the cell that calls this: digest of each cell that may be run as a whole. ``grader build`` writes it."""

MOST_SECONDS = 20.0
"""CPU time that one cell may take. What takes longer is left out, and named."""

_NOTHING = "Nothing was restored:  "
_INSTEAD = "Or run the cells from the top, as far as you were."


def continue_here(slug: str) -> None:
    """Brings back what the notebook had, and says what, and where to go on. It does nothing where nobody sits at the notebook: while it is
    graded or validated, cells have to do without.

    Args:
        slug: the lab, ``"self_attention"``.
    """
    if SEED_VARIABLE in os.environ or not _somebody_is_there():
        return
    said = _bring_back(slug, sys._getframe(1).f_globals)
    kept_weights.keep_what_trains(slug, _shell())
    style = QUIET if len(said) == 1 else TEXT
    publish(
        {
            "text/plain": "\n".join(plain(line) for line in said),
            "text/html": f'<div style="{style}">{"<br>".join(inline(line) for line in said)}</div>',
        }
    )


def _somebody_is_there() -> bool:
    """Whether the person who runs this cell could answer a question: a notebook's window can, what validates or converts notebooks cannot."""
    return bool(getattr(getattr(_shell(), "kernel", None), "_allow_stdin", True))


def _shell() -> Any:
    """IPython's shell; None where there is none."""
    from IPython.core.getipython import get_ipython

    return get_ipython()


@dataclass
class _Session:
    """What is known when the cells have been run.

    Attributes:
        solved: the exercises that pass their checks, in order.
        open: the others, each with its section; of the core path at most one, because it ends there.
        left_out: sentences about cells that were not run to their end.
        weights: sentences about the weights that were kept.
        missing: numbers of cells that give what the cells from here on need, and that were not run.
    """

    solved: list[str] = field(default_factory=list)
    open: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)


def _bring_back(slug: str, namespace: dict[str, Any]) -> list[str]:
    """Runs what is to be run, and returns what to say of it."""
    lab = labs.find(slug)
    if lab is None:
        return [f"{_NOTHING}the lab's file `lab.json` is not beside this notebook. {_INSTEAD}"]
    if there := [name for name in lab.exercises if name in namespace]:
        return [
            f"{_NOTHING}this kernel has `{there[0]}` already. If you want to go on from the saved notebook, restart the kernel first "
            "(menu *Kernel*), then run this cell."
        ]
    if "google.colab" in sys.modules:
        return [f"{_NOTHING}in Colab, the notebook is not a file that can be read here. {_INSTEAD}"]
    file = _notebook_file(slug, namespace)
    try:
        cells = _cells_of(file)
    except Unreadable as error:
        return [f"{_NOTHING}`{file.name}` could not be read: {error}. {_INSTEAD}"]
    if not any(_check_in(cell, slug) for cell in cells):
        return [f"{_NOTHING}`{file.name}` has none of this lab's checks. {_INSTEAD}"]
    saved = datetime.fromtimestamp(file.stat().st_mtime)
    return _in_words(lab, _run(lab, cells, namespace), f"`{file.name}`", saved)


def _notebook_file(slug: str, namespace: Mapping[str, Any]) -> Path:
    """The file of the notebook that runs this, as JupyterLab's server or VS Code names it; else the one with the lab's name."""
    named = Path(os.environ.get("JPY_SESSION_NAME") or str(namespace.get("__vsc_ipynb_file__") or ""))
    return named if named.suffix == ".ipynb" and named.is_file() else Path(f"{slug}.ipynb")


# ---------------------------------------------------------------------------------- running


def _run(lab: LabInfo, cells: Sequence[Mapping[str, Any]], namespace: dict[str, Any]) -> _Session:
    session, section, sources = _Session(), "", {}
    given = {each for cell in cells for each in _given_in(cell)}
    with _quietly():
        for number, cell in enumerate(cells, start=1):
            source = _source_of(cell)
            if cell.get("cell_type") == "markdown":
                section = ([section, *re.findall(r"^## +(.+?) *$", source, re.MULTILINE)])[-1]
            if cell.get("cell_type") != "code" or not source.strip() or GIVEN in _metadata_of(cell):
                continue
            name = _check_in(cell, lab.slug)
            sources[number] = source
            whole = not name and digest(source) in given
            session.left_out += _run_cell(number, source, whole, lab.exercises, namespace)
            if name in lab.exercises:
                if _is_right(lab, name, [*sources.values()], namespace):
                    session.solved.append(name)
                else:
                    session.open[name] = section
                    if name not in lab.waits:
                        break
        texts = [
            _source_of(cell)
            for cell in cells
            if cell.get("cell_type") == "code" and GIVEN not in _metadata_of(cell)
        ]
        needed_values.bring_back([*sources.items()], texts, namespace)
        session.weights += kept_weights.bring_back(lab.slug, [*sources.items()], namespace)
        session.missing += needed_values.still_missing([*sources.items()], texts[len(sources) :], namespace)
    brought_back[:] = sources.values()
    return session


def _run_cell(
    number: int, source: str, whole: bool, exercises: Collection[str], namespace: dict[str, Any]
) -> Iterator[str]:
    """Runs a cell, or what is light of it. Yields a sentence if it was not run to its end though it should have been."""
    file = f"<cell {number}, brought back>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    statements = parsed(source)
    for node in statements if whole else _light(statements, exercises):
        try:
            with time_limit(MOST_SECONDS):
                # not under this module's own `from __future__`
                exec(compile(ast.Module([node], []), file, "exec", dont_inherit=True), namespace)
        except (Exception, SystemExit, TooSlow) as error:  # the learner's code runs, as in their own notebook
            if whole and not isinstance(error, NotImplementedError):
                why = "takes too long" if isinstance(error, TooSlow) else f"stops with {type(error).__name__}"
                yield f"Cell {number} was left out, because it {why}."
            if whole:
                return


def _light(statements: Sequence[ast.stmt], exercises: Collection[str]) -> list[ast.stmt]:
    """The statements of a cell that only give something a name, without those whose value the rest of the cell goes on to change. Where the
    cell solves an exercise, also the values that its functions need: ``FAR = float("-inf")``.
    """
    heavy = [node for node in statements if not _is_light(node)]
    changed = {*bound_names(heavy)}.union(*map(changed_by, heavy))
    needed: set[str] = set()
    if {*bound_names(statements)} & {*exercises}:
        definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        needed = {*free_names([node for node in statements if isinstance(node, definitions)])}
    values = (ast.Assign, ast.AnnAssign)
    return [
        node
        for node in statements
        if (isinstance(node, values) and needed & {*bound_names([node])})
        or (_is_light(node) and not (isinstance(node, values) and changed & {*bound_names([node])}))
    ]


def _is_light(node: ast.stmt) -> bool:
    """Whether a statement only gives something a name: an import, a definition, or a constant."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return True
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = (ast.Name, ast.Tuple, ast.List, ast.expr_context)
    work = (ast.Call, ast.Await, ast.comprehension, ast.NamedExpr)
    return all(isinstance(part, names) for target in targets for part in ast.walk(target)) and not any(
        isinstance(part, work) for part in ast.walk(node.value)
    )


def _is_right(lab: LabInfo, name: str, sources: Sequence[str], namespace: dict[str, Any]) -> bool:
    """Whether an exercise passes its check. Where it has passed with this very text, it is not tried again."""
    if name not in namespace:
        return False
    key, own = f"{lab.slug}.{name}", defining(name, sources)
    known = namespace.keys() | vars(builtins).keys()
    if digest(own) == progress.load().get(key, {}).get("code") and {*free_names(parsed(own))} <= known:
        return True
    if "raise NotImplementedError" in own and "YOUR CODE HERE" in own:
        return False
    try:
        with unattended(namespace):
            return not fault_of(key, namespace[name], namespace, Path.cwd(), sources)
    except (Exception, SystemExit):
        return False


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Nothing that cells show is shown again, and none can wait for an answer."""
    from IPython.utils.capture import capture_output

    kernel = getattr(_shell(), "kernel", None)
    before = getattr(kernel, "_allow_stdin", None)
    if before is not None:
        kernel._allow_stdin = False
    try:
        with without_startup_messages(), capture_output():
            yield
    finally:
        if before is not None:
            kernel._allow_stdin = before


# ---------------------------------------------------------------------------------- reading cells


def _cells_of(file: Path) -> list[dict[str, Any]]:
    """All cells of a notebook's file.

    Raises:
        Unreadable: it is missing, too large, or no notebook.
    """
    read_notebook(file)
    return [cell if isinstance(cell, dict) else {} for cell in json.loads(file.read_bytes())["cells"]]


def _source_of(cell: Mapping[str, Any]) -> str:
    source = cell.get("source")
    lines = source if isinstance(source, list) else [source]
    return "".join(lines) if all(isinstance(line, str) for line in lines) else ""


def _metadata_of(cell: Mapping[str, Any]) -> Mapping[str, Any]:
    found = cell.get("metadata")
    return found if isinstance(found, dict) else {}


def _given_in(cell: Mapping[str, Any]) -> list[str]:
    found = _metadata_of(cell).get(GIVEN)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _check_in(cell: Mapping[str, Any], slug: str) -> str:
    """The exercise that a cell checks; empty if it checks none."""
    pattern = rf"""^check\(["']{re.escape(slug)}\.(\w+)["']\)"""
    found = re.search(pattern, _source_of(cell), re.MULTILINE) if cell.get("cell_type") == "code" else None
    return found[1] if found else ""


# ---------------------------------------------------------------------------------- what is said


def _in_words(lab: LabInfo, session: _Session, file: str, saved: datetime) -> list[str]:
    following = _go_on(lab, session)
    if not session.solved:
        begin = (
            f" Begin with `{following}`, in section {_title(session.open[following])}" if following else ""
        )
        return [
            f"Nothing to bring back yet: in {file}, as it was last saved, no exercise is solved.{begin}"
            " After a break, run this cell first."
        ]
    names = ", ".join(f"`{name}`" for name in session.solved)
    said = [
        f"Brought back from {file} as you saved it on {saved:%-d %B at %H:%M}: {names}, and the imports and data above.",
        f"Cells that train, draw or measure have not been run. {_what_is_missing(session.missing)}",
        *session.weights,
        *session.left_out,
    ]
    if following:
        kind = lab.waits.get(following, "")
        core = {"": "", "optional": " The core path is done; what is left is optional."}.get(
            kind, f" The core path is done; lab {kind} needs this one."
        )
        said.append(f"Go on with `{following}`, in section {_title(session.open[following])}{core}")
    else:
        said.append("Every exercise of this lab is solved.")
    return said


def _title(section: str) -> str:
    """A section's title at the end of a sentence."""
    return f"*{section}*" if section.endswith(("?", "!", ".")) else f"*{section}*."


def _what_is_missing(cells: Sequence[int]) -> str:
    if not cells:
        return "Run those again whose pictures you want to see."
    listed = (
        f"cell {cells[0]} gives"
        if len(cells) == 1
        else f"cells {', '.join(map(str, cells[:-1]))} and {cells[-1]} give"
    )
    return f"Cells from here on also use what {listed}: run {'it' if len(cells) == 1 else 'them'} before."


def _go_on(lab: LabInfo, session: _Session) -> str | None:
    """The first exercise that is not solved: of the core path, else one that another lab needs, else an optional one."""
    order = sorted(session.open, key=lambda name: [name in lab.waits, lab.waits.get(name) == "optional"])
    return order[0] if order else None
