"""What comes next? A trained decoder of names in the page: the likeliest letters before and after temperature, top-k and nucleus, without a kernel."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from course_utils.data.language_names import LANGUAGES, load_language_names
from course_utils.display import TEXT, a_table
from course_utils.models.small_decoders import file_of
from course_utils.widgets.in_page import InPage, rounded

FILES = ("percent.js", "arithmetic.js", "speller.js", "next_letter.js")
"""Of the ES module of *What comes next?*, in order."""

_TOLD = "These are the numbers of the decoder that ships with the course, rounded to 8 bits each."
_LISTED = 5


def shipped() -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Lab 08's decoder of names: its arrays, and what the page has to know besides.

    Raises:
        ValueError: the names have other letters than the model has learned.
    """
    from safetensors.numpy import load_file

    letters = sorted({letter for one in load_language_names() for letter in one.name})
    tokens = ["<pad>", "<end>", *LANGUAGES, *letters]  # as lab 08 numbers them
    state = load_file(file_of("names"))
    rows, width = state["token_embedding.weight"].shape
    if rows != len(tokens):
        raise ValueError(
            f"The shipped decoder of names knows {rows} tokens, and the names have {len(tokens)}."
        )
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("blocks."))
    config = {"embedding_dim": width, "num_heads": 4, "num_layers": layers}
    return state, {"config": config, "tokens": tokens, "languages": [*LANGUAGES]}


def followers(language: str, start: str) -> list[tuple[str, float]]:
    """Which letters follow a beginning in the list of a language's names, counted: the most frequent ones with their shares."""
    following = Counter(
        (one.name + "$")[len(start)]
        for one in load_language_names()
        if one.language == language and one.name.startswith(start)
    )
    return [
        ("the end" if letter == "$" else letter, count / following.total())
        for letter, count in following.most_common(_LISTED)
    ]


def widget() -> InPage:
    """The widget, with the shipped decoder."""
    state, about = shipped()
    tensors, numbers, _ = rounded(state)
    html, text = a_table(
        ["next letter", "share"], ([letter, f"{share:.0%}"] for letter, share in followers("Italian", "ma"))
    )
    counted = "What follows “ma” in the Italian names of the course, counted:"
    still = f'<div style="{TEXT}"><p>{counted}</p>{html}<p>{_TOLD} In a notebook that draws widgets, it answers here.</p></div>'
    alt = f"What comes next? The likeliest letters of a name, before and after temperature, top-k and nucleus. {_TOLD}\n{counted}\n{text}"
    return InPage(FILES, {**about, "tensors": tensors}, numbers, _TOLD, still, alt)


def what_comes_next() -> None:
    """Shows the widget."""
    widget().show()
