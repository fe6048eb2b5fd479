"""``from course_utils.yours import MultiHeadAttention``: the learner's own, if it passes its check, else the course's.

A lab that builds on an earlier one imports it from here, and reads in one line which of the two it got. While work is graded it is
always the course's, because a grade depends on that lab's work alone.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import linecache
import os
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from course_utils import exercises, labs
from course_utils.checking.check import SEED_VARIABLE
from course_utils.checking.exercise import find_exercise
from course_utils.portfolio_check import fault_of
from course_utils.portfolio_source import Unreadable, in_order, read_notebook


def _mask_for_all_heads(theirs: type) -> type:
    """Lab 03's attention takes masks without an axis for the heads; labs 05 and 08 give it masks with one, of length 1."""

    class MultiHeadAttention(theirs):
        def forward(self, query, key, value, mask=None):
            if mask is not None and mask.dim() == 4:
                if mask.size(1) != 1:
                    raise ValueError(
                        f"This mask has {mask.size(1)} heads of its own, {tuple(mask.shape)}. Your attention of lab 03 has one mask "
                        "for all heads: an axis of length 1 at their place."
                    )
                mask = mask.squeeze(1)
            return super().forward(query, key, value, mask)

    MultiHeadAttention.__doc__ = theirs.__doc__
    return MultiHeadAttention


def _as_tensor(theirs: Callable) -> Callable:
    """Lab 04's table of positions is an array; later labs take a tensor of float32."""

    def sinusoidal_positions(max_len: int, d_model: int):
        import torch

        return torch.as_tensor(theirs(max_len, d_model), dtype=torch.float32)

    return sinusoidal_positions


def _as_keras_tensor(theirs: Callable) -> Callable:
    def positional_encoding(max_len: int, embedding_dim: int):
        from keras import ops

        return ops.convert_to_tensor(theirs(max_len, embedding_dim), dtype="float32")

    return positional_encoding


@dataclass(frozen=True)
class Offer:
    """Something that learners build in one lab and use in later ones.

    Attributes:
        key: its exercise.
        called: what the line says it is.
        course: the full dotted name of the course's own.
        fit: makes the learner's take what later labs give it; None if it does.
    """

    key: str
    called: str
    course: str
    fit: Callable[[Any], Any] | None = None


OFFERS = {
    "softmax": Offer("start_here.softmax", "softmax", "course_utils.maths.softmax"),
    "scaled_dot_product_attention": Offer(
        "self_attention.scaled_dot_product_attention",
        "scaled dot-product attention",
        "course_utils.maths.scaled_dot_product_attention",
    ),
    "MultiHeadAttention": Offer(
        "multi_head_attention.MultiHeadAttention",
        "multi-head attention",
        "course_utils.models.torch_attention.MultiHeadAttention",
        _mask_for_all_heads,
    ),
    "sinusoidal_positions": Offer(
        "positional_encoding.positional_encoding",
        "table of positions",
        "course_utils.models.torch_attention.sinusoidal_positions",
        _as_tensor,
    ),
    "positional_encoding": Offer(
        "positional_encoding.positional_encoding",
        "table of positions",
        "course_utils.models.keras_translator.positional_encoding",
        _as_keras_tensor,
    ),
}
"""What can be imported from here."""


def fitted(name: str, theirs: Any) -> Any:
    """A learner's own, so that it takes what later labs give it."""
    fit = OFFERS[name].fit
    return fit(theirs) if fit else theirs


def __getattr__(name: str) -> Any:
    if name not in OFFERS:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"course_utils.yours has no {name!r}; it has: {', '.join(OFFERS)}")
    offer = OFFERS[name]
    theirs, why = (None, "as always in grading") if SEED_VARIABLE in os.environ else _found(offer)
    if not why:
        print(f"{name}: your {offer.called}, from lab {labs.find(offer.key.partition('.')[0]).number}")
        return fitted(name, theirs)
    print(f"{name}: the course's {offer.called}, {why}")
    module, _, its_name = offer.course.rpartition(".")
    return getattr(importlib.import_module(module), its_name)


def _found(offer: Offer) -> tuple[Any, str]:
    """The learner's own, and an empty text; or why it is not used."""
    slug, _, name = offer.key.partition(".")
    lab = labs.find(slug)
    if lab is None:
        return None, "because the lab in which you build it is not here"
    where = f"lab {lab.number}"
    try:
        notebook = read_notebook(lab.folder / f"{slug}.ipynb")
    except Unreadable as error:
        return None, f"because your notebook of {where} cannot be used: {error}"
    limit = notebook.limit(offer.key)
    definition = notebook.definition(name, limit)
    if definition is None or definition.is_unwritten:
        return None, f"because yours is not written yet ({where})"
    module = ModuleType(f"yours_{slug}_{name}")
    text = in_order(notebook.needed(definition, limit))
    file = f"<your {name}, from {where}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    try:
        exercises.load(slug, lab.folder / exercises.FILE_NAME)
        find_exercise(offer.key)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, file, "exec", dont_inherit=True), vars(module))
            theirs = getattr(module, name)
            fault = fault_of(offer.key, theirs, vars(module), lab.folder, notebook.sources)
    except (Exception, SystemExit) as error:  # the learner's code runs here, as in their own notebook
        return None, f"because yours stops with {type(error).__name__} ({where})"
    return theirs, f"because yours does not pass its check yet ({where})" if fault else ""
