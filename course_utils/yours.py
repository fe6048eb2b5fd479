"""``from course_utils.yours import MultiHeadAttention``: the learner's own, if it passes its check, else the course's.

A lab that builds on an earlier one imports it from here, and reads in one line which of the two it got. While work is graded it is
always the course's, because a grade depends on that lab's work alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import json
import linecache
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from course_utils import exercises, labs, yours_fit
from course_utils.checking.check import SEED_VARIABLE
from course_utils.checking.exercise import find_exercise
from course_utils.checking.expected import FILE_NAME as EXPECTED
from course_utils.checking.time_limit import TooSlow, time_limit
from course_utils.portfolio_check import fault_of
from course_utils.portfolio_source import Unreadable, in_order, read_notebook
from course_utils.progress import content_of, progress_file, put

MOST_SECONDS = 20.0
"""CPU time that the cells which define it may take."""


@dataclass(frozen=True)
class Offer:
    """Something that learners build in one lab and use in later ones.

    Attributes:
        key: its exercise.
        called: what the line says it is.
        course: the full dotted name of the course's own.
        uses: what later labs do with it. A version that cannot do this is not used.
        fit: makes the learner's take what later labs give it; None if it does.
        helps: does so for some versions. It is tried if one cannot be used as it is.
    """

    key: str
    called: str
    course: str
    uses: Mapping[str, yours_fit.Use]
    fit: Callable[[Any], Any] | None = None
    helps: Callable[[Any], Any] | None = None


OFFERS = {
    "softmax": Offer(
        "start_here.softmax",
        "softmax",
        "course_utils.maths.softmax",
        yours_fit.SOFTMAX,
        helps=yours_fit.arrays_only,
    ),
    "scaled_dot_product_attention": Offer(
        "self_attention.scaled_dot_product_attention",
        "scaled dot-product attention",
        "course_utils.maths.scaled_dot_product_attention",
        yours_fit.ATTENTION,
        helps=yours_fit.arrays_only,
    ),
    "MultiHeadAttention": Offer(
        "multi_head_attention.MultiHeadAttention",
        "multi-head attention",
        "course_utils.models.torch_attention.MultiHeadAttention",
        yours_fit.HEADS,
        fit=yours_fit.masks_of_later_labs,
    ),
    "sinusoidal_positions": Offer(
        "positional_encoding.positional_encoding",
        "table of positions",
        "course_utils.models.torch_attention.sinusoidal_positions",
        yours_fit.POSITIONS,
        fit=yours_fit.as_tensor,
    ),
    "positional_encoding": Offer(
        "positional_encoding.positional_encoding",
        "table of positions",
        "course_utils.models.keras_translator.positional_encoding",
        yours_fit.POSITIONS,
        fit=yours_fit.as_keras_tensor,
    ),
    "rouge_l": Offer(
        "language_model_and_summarizer.rouge_l",
        "ROUGE-L",
        "course_utils.data.summaries.rouge_l",
        yours_fit.ROUGE,
    ),
    "LoRALinear": Offer(
        "your_own_dataset.LoRALinear",
        "low-rank adapter",
        "course_utils.models.lora.LoRALinear",
        yours_fit.ADAPTER,
        fit=yours_fit.of_layers_without_a_bias,
    ),
}
"""What can be imported from here."""


def fitted(name: str, theirs: Any, helped: bool = False) -> Any:
    """A learner's own, so that it takes what later labs give it.

    Args:
        helped: whether it needs more help than every version does.
    """
    offer = OFFERS[name]
    fit = offer.helps if helped else offer.fit
    return fit(theirs) if fit else theirs


def tried_out(name: str, theirs: Any) -> tuple[bool, str]:
    """Whether a learner's own has to be helped to be of use to later labs, and what is wrong with it even then."""
    offer, ours = OFFERS[name], _the_course_s(name)
    fault = yours_fit.fault_in_use(fitted(name, theirs), ours, offer.uses)
    if fault and offer.helps and not yours_fit.fault_in_use(fitted(name, theirs, True), ours, offer.uses):
        return True, ""
    return False, fault


def _the_course_s(name: str) -> Any:
    module, _, its_name = OFFERS[name].course.rpartition(".")
    return getattr(importlib.import_module(module), its_name)


def __getattr__(name: str) -> Any:
    if name not in OFFERS:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"course_utils.yours has no {name!r}; it has: {', '.join(OFFERS)}")
    offer = OFFERS[name]
    if SEED_VARIABLE in os.environ:
        found, why = None, "as always in grading"
    elif name in _being_looked_for:  # a definition of it that needs it
        found, why = None, "because yours imports itself"
    else:
        _being_looked_for.add(name)
        try:
            found, why = _found(name, offer)
        finally:
            _being_looked_for.remove(name)
    if found is None:
        print(f"{name}: the course's {offer.called}, {why}")
        return _the_course_s(name)
    lab = next(each for each in labs.beside() if each.slug == offer.key.partition(".")[0])
    module, _, its_name = offer.course.rpartition(".")
    print(
        f"{name}: your {offer.called}, from lab {lab.number}. The course's: from {module} import {its_name}"
    )
    return found


_being_looked_for: set[str] = set()
_last: dict[str, tuple[str, Any]] = {}
"""Name -> a digest of what it was made of, and what was made. To import it again gives the same class, which ``isinstance`` needs."""


def _found(name: str, offer: Offer) -> tuple[Any, str]:
    """What later labs get of the learner's own; or None, and why it is not used."""
    slug, _, exercise = offer.key.partition(".")
    lab = next((each for each in labs.beside() if each.slug == slug), None)
    if lab is None:
        return None, "because the lab in which you build it is not beside this one"
    where = f"lab {lab.number}"
    try:
        notebook = read_notebook(lab.folder / f"{slug}.ipynb")
    except Unreadable as error:
        return None, f"because your notebook of {where} cannot be used: {error}"
    limit = notebook.limit(offer.key)
    definition = notebook.definition(exercise, limit)
    if definition is None or definition.imported or definition.is_unwritten:
        return None, f"because yours is not written yet ({where})"
    text = in_order(notebook.needed(definition, limit))
    digest = _digest(name, text, lab.folder)
    if name in _last and _last[name][0] == digest:
        return _last[name][1], ""
    module = ModuleType(f"yours_{slug}_{exercise}")
    sys.modules[module.__name__] = module  # where dataclasses and pickle look for it
    file = f"<your {exercise}, from {where}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    try:
        exercises.load(slug, lab.folder / exercises.FILE_NAME)
        find_exercise(offer.key)
        with contextlib.redirect_stdout(io.StringIO()), time_limit(MOST_SECONDS):
            exec(compile(text, file, "exec", dont_inherit=True), vars(module))
        theirs = getattr(module, exercise)
        passed = _passed().get(name, {})
        if passed.get("of") != digest:
            if fault_of(offer.key, theirs, vars(module), lab.folder, notebook.sources):
                return None, f"because yours does not pass its check yet ({where})"
            helped, fault = tried_out(name, theirs)
            if fault:
                return None, f"because yours passes its check, but {fault} ({where})"
            passed = {"of": digest, "helped": helped}
            _remember(name, passed)
    except TooSlow:
        return None, f"because the cells that yours needs take longer than {MOST_SECONDS:g} seconds ({where})"
    except (Exception, SystemExit) as error:  # the learner's code runs here, as in their own notebook
        return None, f"because yours stops with {type(error).__name__} ({where})"
    found = fitted(name, theirs, passed["helped"])
    _last[name] = digest, found
    return found, ""


# ---------------------------------------------------------------------------------- what has passed before


def _digest(name: str, text: str, folder: Path) -> str:
    """Changes with whatever decides whether a version is used."""
    digest = hashlib.sha256(f"{name}\n{text}".encode())
    for file in (folder / exercises.FILE_NAME, folder / EXPECTED, Path(__file__), Path(yours_fit.__file__)):
        with contextlib.suppress(OSError):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _passed_file() -> Path:
    return progress_file().with_name(".yours.json")


def _passed() -> dict[str, dict]:
    """Name -> ``{"of": digest, "helped": bool}`` of the versions that passed when they were last tried. Empty if nobody knows."""
    try:
        found = json.loads(content_of(_passed_file()))
        return {name: each for name, each in found.items() if isinstance(each.get("helped"), bool)}
    except (OSError, ValueError, AttributeError, RuntimeError, RecursionError):
        return {}


def _remember(name: str, passed: Mapping[str, Any]) -> None:
    """A check takes seconds, and the first cell of a lab is run often. What cannot be written is tried again the next time."""
    with contextlib.suppress(OSError, RuntimeError):
        put(_passed_file(), json.dumps(_passed() | {name: passed}, indent=1))
