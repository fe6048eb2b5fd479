"""``check("module.name")``: the one call in every check cell.

In a learner's notebook it tries the object called ``name`` on the exercise's cases, and compares with ``expected.npz``. It shows a report with the
hints that are open so far. If something is not right yet, it raises :class:`CheckFailed`, which nbgrader's *Validate* sees. When a notebook is
graded (``TRANSFORMER_LABS_SEED`` is
set), it publishes the outcomes at that seed and judges nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import inspect
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from course_utils import labs, progress, start_page
from course_utils.checking.bypass import Use, as_cell, uses_of
from course_utils.checking.comparison import (
    Verdict,
    compare,
    earlier_first,
    explained,
    follow_through,
    is_about_names,
    not_run,
)
from course_utils.checking.exercise import PUBLIC_SEED, Exercise, Inputs, exercises_of, find_exercise
from course_utils.checking.expected import FILE_NAME, Expected, load_expected, load_hints
from course_utils.checking.given import Given, exactly, given_earlier
from course_utils.checking.hints import shown
from course_utils.checking.names import Cell, defining_cell, names_without_value, reached_from, why_undefined
from course_utils.checking.outcome import OUTCOME_MIME, Outcome, encode
from course_utils.checking.report import Report
from course_utils.checking.unattended import try_in_notebook
from course_utils.display import QUIET, inline
from course_utils.display import publish as _display
from course_utils.quiet import without_startup_messages

SEED_VARIABLE = "TRANSFORMER_LABS_SEED"

brought_back: list[str] = []
"""The cells that `course_utils.continue_here` has run in this session in the learner's place, as if these had been run."""


class CheckFailed(Exception):
    """Raised after the report; displayed as one line, because the report has already said the rest."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


def _load_quietly_what_keras_will() -> None:
    """Setting Keras's seed sets TensorFlow's, too, whatever the backend, and loads it for that. Its greeting would stand under the check."""
    if "keras" in sys.modules and "tensorflow" not in sys.modules:
        with without_startup_messages(), contextlib.suppress(Exception):
            importlib.import_module("tensorflow")


def _switch_gradients_on() -> None:
    """In PyTorch. A layer that switches them off in its ``forward`` leaves the kernel without any: then nothing can be trained there,
    and right code would be refused."""
    if torch := sys.modules.get("torch"):
        torch.set_grad_enabled(True)


_BEGAN_IN = Path.cwd()


def _lab_folder() -> Path:
    """The folder of the notebook, also after one of its cells has gone to another (``os.chdir``)."""
    here = Path.cwd()
    return _BEGAN_IN if not (here / FILE_NAME).exists() and (_BEGAN_IN / FILE_NAME).exists() else here


def check(key: str) -> None:
    """Checks the exercise ``key`` (``"self_attention.causal_mask"``) in the notebook that calls this. One that is not on the core path
    and not written yet gets a line in grey, so that *Run All* and *Validate* pass without it.

    Raises:
        CheckFailed: something is not right yet; the report shown before says what.
        LookupError: no such exercise, or ``expected.npz`` is missing or of another version.
    """
    exercise = find_exercise(key)
    namespace = sys._getframe(1).f_globals
    _load_quietly_what_keras_will()
    _switch_gradients_on()
    seed = os.environ.get(SEED_VARIABLE)
    defined = exercise.name in namespace
    outcomes = (
        try_in_notebook(exercise, key, namespace[exercise.name], int(seed or PUBLIC_SEED), namespace)
        if defined
        else not_run(exercise, "undefined")
    )
    _switch_gradients_on()
    if seed is not None:
        _display({OUTCOME_MIME: {"exercise": key, "seed": int(seed), "cases": encode(outcomes)}})
        return
    bypass = _bypass(key, namespace.get(exercise.name), exercise.name, namespace)
    expected = load_expected(_lab_folder() / FILE_NAME, key, exercise)
    verdict = compare(exercise, outcomes, expected, bypass)
    if _is_unwritten(exercise, outcomes) and (said := _can_wait(key)):
        _display({"text/plain": said, "text/html": f'<div style="{QUIET}">{inline(said)}</div>'})
        return
    _tried[key] = namespace.get(exercise.name), verdict.correct
    if is_about_names(verdict):
        verdict = explained(verdict, _why_undefined(key, exercise.name, outcomes, history(namespace)))
    if not verdict.correct and not verdict.problem:
        verdict = follow_through(verdict, _given(key, exercise, outcomes, expected, bypass, namespace))
    entry, tally = progress.load().get(key), ""
    if not verdict.problem:  # an untouched stub does not count as an attempt
        entry = progress.record(key, verdict.score, _digest_of_own(exercise.name, namespace))
        start_page.refresh(_lab_folder().parent)
        if verdict.correct or not entry["solved"]:
            tally = progress.tally(entry)
    advice = _earlier_first(key, exercise, verdict, namespace) if defined else _AFTER_A_RESTART
    report = Report(verdict, key, advice=advice, tally=tally)
    _display({"text/plain": repr(report), "text/html": report._repr_html_()})
    if not verdict.correct:
        if defined and not verdict.given and (hints := load_hints(_lab_folder() / FILE_NAME, key)):
            attempts, solved = (entry["attempts"], entry["solved"]) if entry else (0, False)
            text = shown(hints, attempts, bool(solved), verdict)
            _display({"text/plain": re.sub("</?(details|summary)( open)?>", "", text), "text/markdown": text})
        raise CheckFailed(verdict.summary)


def _is_unwritten(exercise: Exercise, outcomes: Sequence[Outcome]) -> bool:
    """Whether the exercise's own lines are still to be written; not if it only calls an earlier one that is."""
    return all(
        outcome.problem is not None
        and outcome.problem.kind == "stub"
        and re.split(r"\W", outcome.problem.where)[0] not in exercise.uses
        for outcome in outcomes
    )


def _can_wait(key: str) -> str:
    """What to say of an exercise that is not written yet, if it is not on the lab's core path; else nothing."""
    slug, _, name = key.partition(".")
    until = lab.waits.get(name) if (lab := labs.find(slug)) else None
    if not until:
        return ""
    standing = "is optional" if until == "optional" else f"can wait until lab {until}, which needs it"
    return f"Not written yet: `{name}` {standing}. You can go on without it."


_AFTER_A_RESTART = (
    "If the kernel was restarted, run all cells above first: menu Run, Run All Above Selected Cell."
)


def report_on(key: str, attempt: Any) -> Report:
    """The report on an attempt, whatever it is called. Nothing is recorded, and nothing is raised.

    Args:
        key: the exercise, ``"self_attention.causal_mask"``.
        attempt: a function (or class, or value) to try in place of the exercise's own.
    """
    exercise = find_exercise(key)
    namespace = sys._getframe(1).f_globals
    outcomes = try_in_notebook(exercise, key, attempt, PUBLIC_SEED, namespace)
    bypass = _bypass(key, attempt, getattr(attempt, "__name__", ""), namespace)
    return Report(
        compare(exercise, outcomes, load_expected(_lab_folder() / FILE_NAME, key, exercise), bypass), key
    )


def inputs_of(key: str, case: int = 0) -> Inputs | list[Inputs]:
    """The public inputs of one case, to try your own code on.

    Args:
        key: the exercise, ``"self_attention.causal_mask"``.
        case: its number, counted from 0 in the order of the report.

    Returns:
        A dict of keyword arguments; a list of them if the case runs your code several times. The report says which of them differ
        first.
    """
    exercise = find_exercise(key)
    if not 0 <= case < len(exercise.cases):
        raise LookupError(f"{key} has cases 0 to {len(exercise.cases) - 1}; there is no case {case}.")
    runs = exercise.cases[case].runs(key, PUBLIC_SEED)
    return runs[0] if len(runs) == 1 else runs


def _bypass(key: str, attempt: Any, name: str, namespace: Mapping[str, Any]) -> tuple[Use, ...]:
    """The ready-made things that an attempt uses, according to the cells that have run, or else to its own source."""
    cells = history(namespace)
    sources = [*_files_imported(), *cells] if cells else _source_of(attempt)
    return uses_of(find_exercise(key), exercises_of(key.partition(".")[0]).values(), sources, name)


def _files_imported() -> list[str]:
    """The learner's own files that were imported, as :func:`~course_utils.checking.bypass.find_bypass` expects them."""
    here, found = os.getcwd(), []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file == os.path.join(here, f"{name}.py"):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                found.append(as_cell(f"{name}.py", Path(file).read_text("utf-8")))
    return found


def _given(
    key: str,
    exercise: Exercise,
    outcomes: Sequence[Outcome],
    expected: Expected,
    bypass: tuple[Use, ...],
    namespace: Mapping[str, Any],
) -> Given | None:
    """What holds given a mistake in an earlier exercise of this notebook.

    It tries the earlier one as it is defined now, because the learner may have fixed it since its own check. That takes time, so
    it is done only if these outcomes are those that follow from one of its misconceptions.
    """
    for (earlier, misconception), substituted in expected.given.items():
        given = given_earlier(exercise, outcomes, expected, (earlier,), substituted, bypass)
        if given and earlier in namespace:
            its_key = f"{key.partition('.')[0]}.{earlier}"
            its = find_exercise(its_key)
            tried = try_in_notebook(its, its_key, namespace[earlier], PUBLIC_SEED, namespace)
            known = exactly(its, tried, load_expected(_lab_folder() / FILE_NAME, its_key, its))
            if misconception in [each.name for each in known]:
                return given
    return None


def history(namespace: Mapping[str, Any]) -> list[str]:
    """IPython's history of a session: every cell that ran, magics already turned into Python, after those that were brought back. Elsewhere there is none."""
    history = namespace.get("In")
    if not isinstance(history, list) or not all(isinstance(cell, str) for cell in history):
        return []
    return [*brought_back, *history]


def digest(source: str) -> str:
    """A short fingerprint of a cell's text."""
    return hashlib.sha256(source.strip().encode()).hexdigest()[:12]


def defining(name: str, sources: Sequence[str]) -> str:
    """The text of the last cell that defines a name; empty if none does."""
    cell = defining_cell(name, [Cell("", source) for source in sources])
    return cell.source if cell else ""


def _digest_of_own(name: str, namespace: Mapping[str, Any]) -> str:
    source = defining(name, history(namespace))
    return digest(source) if source else ""


def _source_of(attempt: Any) -> list[str]:
    try:
        return [inspect.getsource(attempt)]
    except (OSError, TypeError):  # it has no source, or is a value
        return []


_tried: dict[str, tuple[Any, bool]] = {}
"""Exercise key -> what was checked last in this session, and whether it was right."""


def _earlier_first(key: str, exercise: Exercise, verdict: Verdict, namespace: Mapping[str, Any]) -> str:
    """What to fix first: an earlier exercise that this one calls, and that is wrong as it is defined now."""
    if verdict.correct or not exercise.uses:
        return ""
    module = key.partition(".")[0]
    useless = set()

    def is_wrong(name: str) -> bool:
        its_key = f"{module}.{name}"
        its = find_exercise(its_key)
        attempt, right = _tried.get(its_key, (None, False))
        if name in namespace and attempt is namespace[name] and right:
            return False
        outcomes = (
            try_in_notebook(its, its_key, namespace[name], PUBLIC_SEED, namespace)
            if name in namespace
            else not_run(its, "undefined")
        )
        if any(outcome.problem for outcome in outcomes):
            useless.add(name)
        return not compare(its, outcomes, load_expected(_lab_folder() / FILE_NAME, its_key, its)).correct

    sources = history(namespace) or _source_of(namespace.get(exercise.name))
    said = earlier_first(exercise, verdict, reached_from(exercise.name, sources), is_wrong)
    if useless:
        (name,) = useless
        said += f" In grading, what is right with a working `{name}` may still earn points."
    return said


_MOST_BYTES = 20 * 2**20
"""A longer notebook is not read."""


def _why_undefined(key: str, name: str, outcomes: Sequence[Outcome], ran: Sequence[str]) -> list[str]:
    """What the notebook's file, as it was last saved, says about names without a value; nothing if it is not found.

    Args:
        ran: the cells that were run in this session.
    """
    named = names_without_value(outcomes)
    for file in (os.environ.get("JPY_SESSION_NAME", ""), f"{key.partition('.')[0]}.ipynb"):
        above, below = _cells_around(key, Path(file))
        if below is not None:
            found = why_undefined(name, above, below, named)
            cells = ((each, defining_cell(each, above)) for each in (sorted(named) or [name]))
            return found or [
                f"`{each}` is defined in {cell.place}, which ended with an error: read the message below it."
                if defining(each, ran)
                else f"`{each}` is defined in {cell.place}, which has not been run: run it first."
                for each, cell in cells
                if cell
            ]
    return []


def _cells_around(key: str, file: Path) -> tuple[list[Cell], list[Cell] | None]:
    """The code cells above and below an exercise's check in a notebook's file; None where it has no such check."""
    above: list[Cell] = []
    below: list[Cell] | None = None
    try:
        if file.suffix != ".ipynb" or not file.is_file() or file.stat().st_size > _MOST_BYTES:
            return above, below
        cells = json.loads(file.read_text("utf-8"))["cells"]
        texts = [("".join(cell["source"]), cell["cell_type"] == "code") for cell in cells]
    except (OSError, ValueError, KeyError, TypeError):
        return above, below
    for number, (text, is_code) in enumerate(texts, start=1):
        if is_code and re.search(rf"""^check\(["']{re.escape(key)}["']\)""", text, re.MULTILINE):
            below = []
        elif is_code:
            (above if below is None else below).append(Cell(f"cell {number}", text))
    return above, below
