"""Type French: a trained translator in the page. It translates what is typed there, word by word, and asks no kernel."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from course_utils.data.translation import JANE
from course_utils.data.vocabulary import Vocabulary
from course_utils.display import TEXT
from course_utils.models.translator import Checkpoint, LibraryTranslator, load_weights
from course_utils.plots.alignment import alignment_html, strongest_links
from course_utils.widgets.in_page import InPage, rounded

FILES = (
    "percent.js", "arithmetic.js", "encoder_decoder.js", "words.js", "translator.js", "looks.js", "type_french.js",
)  # fmt: skip
"""Of the ES module of *Type French*, in order."""

_YOURS = "These are the numbers of your model, rounded to 8 bits each."
_SHIPPED = (
    "These are the numbers of the translator that ships with the course, rounded to 8 bits each: {why}."
)
_CLOSE = 1e-3


def about(found: Checkpoint) -> dict[str, Any]:
    """What the page has to know of a translator besides its numbers."""
    vocabularies = {
        f"{side}_tokens": vocabulary.tokens(range(len(vocabulary)))
        for side, vocabulary in (("source", found.source_vocabulary), ("target", found.target_vocabulary))
    }
    return {"config": dict(found.config), **vocabularies}


def type_french(model: str = "model", source: str = "french", target: str = "english") -> None:
    """Shows the widget, with the numbers of the notebook's own model if it is one that the page can compute.

    Args:
        model: its name in the notebook.
        source, target: names of its vocabularies.
    """
    import torch
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    names = {} if shell is None else shell.user_ns
    with torch.random.fork_rng(devices=[]):  # a new module draws weights: what trains later must not notice
        widget_of(*(names.get(name) for name in (model, source, target))).show()


def widget_of(model: Any = None, source: Any = None, target: Any = None) -> InPage:
    """The widget for a model of lab 05 and its vocabularies; where they are not the page's, for the shipped translator."""
    shipped = load_weights()
    why = why_not(model, source, target, shipped)
    state = shipped.state
    if not why:
        state = {name: value.detach().cpu().numpy() for name, value in model.state_dict().items()}
    tensors, numbers, now = rounded({name: np.asarray(state[name]) for name in shipped.state})
    kept = Checkpoint(now, shipped.config, shipped.source_vocabulary, shipped.target_vocabulary)
    said, alignment = LibraryTranslator(kept)(JANE.source)
    told = _SHIPPED.format(why=why) if why else _YOURS
    still = (
        f'<div style="{TEXT}"><p>{escape(JANE.source)}</p><p style="font-size:115%">{escape(said)}</p>'
        f"{alignment_html(alignment)}<p>{told} In a notebook that draws widgets, you can type here.</p></div>"
    )
    alt = f"Type French, and see the translation and where the model looked. {told}\n{JANE.source}\n  -> {said}\n{strongest_links(alignment)}"
    return InPage(FILES, {**about(kept), "tensors": tensors}, numbers, told, still, alt)


def why_not(model: Any, source: Any, target: Any, shipped: Checkpoint) -> str:
    """Why a page of the shipped translator's kind does not compute what a model computes; empty if it does."""
    import torch

    if not isinstance(model, torch.nn.Module):
        return "there is no model yet"
    state = model.state_dict()
    if {name: tuple(value.shape) for name, value in state.items()} != {
        name: value.shape for name, value in shipped.state.items()
    }:
        return "yours has other parameters"
    for own, theirs in ((source, shipped.source_vocabulary), (target, shipped.target_vocabulary)):
        if not isinstance(own, Vocabulary) or _tokens(own) != _tokens(theirs):
            return "yours knows other words"
    given = torch.tensor([shipped.source_vocabulary.encode(JANE.source)])
    begun = torch.tensor([[1, *shipped.target_vocabulary.encode(JANE.target)[:-1]]])
    kept = Checkpoint(
        {name: value.detach().cpu().numpy() for name, value in state.items()},
        shipped.config, shipped.source_vocabulary, shipped.target_vocabulary,
    )  # fmt: skip
    training = model.training
    with torch.inference_mode():
        theirs, _ = LibraryTranslator(kept).model(given, begun)
        try:
            own, _ = model.eval()(given, begun)
            same = bool((own - theirs).abs().max() < _CLOSE)
        except Exception:
            same = False
        finally:
            model.train(training)
    return "" if same else "yours computes something else"


def _tokens(vocabulary: Vocabulary) -> list[str]:
    return vocabulary.tokens(range(len(vocabulary)))
