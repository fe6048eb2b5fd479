"""The whole Transformer as one drawing, on top of the labs that build it: what is yours already, and what comes now.

After Vaswani et al. 2017, figure 1. The drawing fills in while exercises are solved.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import NamedTuple

from course_utils import progress
from course_utils.display import publish
from course_utils.plots.drawing import arrow, as_image, as_svg, box, note, scrolling


class Part(NamedTuple):
    """A box of the drawing: where it is, what it says, and the exercises that make it the learner's own."""

    x: int
    y: int
    height: int
    text: str
    exercises: tuple[str, ...]


_ATTENTION = ("self_attention.scaled_dot_product_attention", "multi_head_attention.MultiHeadAttention")
_MASKED = ("self_attention.causal_mask", *_ATTENTION)
_EMBEDDING, _PLACES = ("positional_encoding.embed_tokens",), ("positional_encoding.positional_encoding",)
_LEFT, _RIGHT, _WIDTH, _WHOLE = 60, 340, 190, 620


def _parts(framework: str) -> dict[str, Part]:
    """The drawing's parts.

    Args:
        framework: "pytorch" or "tensorflow": in which of the two the blocks around attention are written.
    """

    def of(*names: str) -> tuple[str, ...]:
        return tuple(f"transformer_{framework}.{name}" for name in names)

    network = of("FeedForward" if framework == "pytorch" else "FullyConnected")
    return {
        "embedding": Part(_LEFT, 520, 30, "embedding", _EMBEDDING),
        "places": Part(_LEFT, 474, 30, "+ positions", _PLACES),
        "attention": Part(_LEFT, 394, 44, "multi-head\nself-attention", _ATTENTION),
        "norm": Part(_LEFT, 352, 26, "add & norm", of("EncoderLayer")),
        "network": Part(_LEFT, 290, 30, "feed-forward", network),
        "norm after": Part(_LEFT, 248, 26, "add & norm", of("EncoderLayer")),
        "target embedding": Part(_RIGHT, 520, 30, "embedding", _EMBEDDING),
        "target places": Part(_RIGHT, 474, 30, "+ positions", _PLACES),
        "masked attention": Part(_RIGHT, 394, 44, "masked multi-head\nself-attention", _MASKED),
        "first norm": Part(_RIGHT, 352, 26, "add & norm", of("DecoderLayer")),
        "cross-attention": Part(
            _RIGHT, 276, 44, "multi-head\ncross-attention", ("self_attention.cross_attention", *_ATTENTION)
        ),
        "second norm": Part(_RIGHT, 234, 26, "add & norm", of("DecoderLayer")),
        "target network": Part(_RIGHT, 172, 30, "feed-forward", network),
        "third norm": Part(_RIGHT, 130, 26, "add & norm", of("DecoderLayer")),
        "words": Part(_RIGHT, 60, 30, "linear, softmax", of("Transformer")),
    }


def drawing(lab: str, solved: Mapping[str, float]) -> tuple[str, str]:
    """The drawing as SVG, and what it shows in words.

    Args:
        lab: the lab that the learner is in, by its slug: "self_attention".
        solved: "lab.exercise" -> best score so far, 1 if it is solved.
    """
    parts = _parts("tensorflow" if lab == "transformer_tensorflow" else "pytorch")
    done = {name for name, part in parts.items() if all(solved.get(key) == 1 for key in part.exercises)}
    now = {
        name
        for name, part in parts.items()
        if name not in done and any(key.startswith(f"{lab}.") for key in part.exercises)
    }
    boxes = [
        box(part.x, part.y, _WIDTH, part.height, part.text, marked=name in now, done=name in done)
        for name, part in parts.items()
    ]
    left, right = _LEFT + _WIDTH / 2, _RIGHT + _WIDTH / 2
    frames = [
        box(_LEFT - 26, 232, _WIDTH + 52, 222, "", dashed=True),
        box(_RIGHT - 26, 114, _WIDTH + 52, 340, "", dashed=True),
        note(_LEFT - 30, 343, "N ×", "end"),
        note(_RIGHT + _WIDTH + 32, 284, "N ×"),
    ]

    def up(x: float, *steps: tuple[int, int]) -> list[str]:
        return [arrow((x, begin), (x, end)) for begin, end in steps]

    def past(x: int, enters: int, leaves: int) -> str:
        """The way around a sub-layer, to the sum."""
        return arrow((x + _WIDTH / 2, enters), (x - 14, enters), (x - 14, leaves), (x, leaves))

    arrows = [
        *up(left, (572, 550), (520, 504), (474, 438), (394, 378), (352, 320), (290, 274)),
        *up(
            right,
            (572, 550),
            (520, 504),
            (474, 438),
            (394, 378),
            (352, 320),
            (276, 260),
            (234, 202),
            (172, 156),
            (130, 90),
            (60, 40),
        ),
        *(past(_LEFT, *way) for way in ((462, 365), (336, 261))),
        *(past(_RIGHT, *way) for way in ((462, 365), (336, 247), (218, 143))),
        arrow((left, 248), (left, 216), (_RIGHT - 44, 216), (_RIGHT - 44, 298), (_RIGHT, 298)),
    ]
    words = [
        note(left, 584, "the sentence to translate", "middle"),
        note(right, 584, "the translation so far", "middle"),
        note(right, 28, "its next word", "middle"),
        note(_LEFT - 26, 20, "ENCODER left, DECODER right", quiet=True),
        note(_LEFT - 26, 44, "thick frame: you build it in this lab", quiet=True),
        note(_LEFT - 26, 64, "✓ and tint: already your own", quiet=True),
        note(_LEFT - 26, 84, "thin frame: another lab", quiet=True),
    ]

    def listed(names: set[str]) -> str:
        return (
            ", ".join(
                dict.fromkeys(part.text.replace("\n", " ") for name, part in parts.items() if name in names)
            )
            or "nothing yet"
        )

    alt = (
        "The Transformer of Vaswani et al. 2017. Encoder: embedding, positions, then N layers of self-attention and a feed-forward network. "
        "Decoder: the same with masked self-attention, and with cross-attention to the encoder's output; then a linear layer with softmax "
        f"gives the next word. You build in this lab: {listed(now)}. Already yours: {listed(done)}."
    )
    return as_svg(_WHOLE, 600, [*frames, *arrows, *boxes, *words], alt), alt


def show_transformer(lab: str) -> None:
    """Shows the drawing, and shows it anew whenever an exercise is checked.

    Args:
        lab: the lab's slug.
    """

    def bundle() -> dict[str, str]:
        svg, alt = drawing(lab, progress.best_scores())
        return {"text/html": scrolling(as_image(svg, alt), _WHOLE), "text/plain": alt}

    try:
        from IPython.core.getipython import get_ipython
        from IPython.display import display, update_display
    except ImportError:
        shell = None
    else:
        shell = get_ipython()
    if not hasattr(shell, "kernel"):
        publish(bundle())
        return
    place = uuid.uuid4().hex
    display(bundle(), raw=True, display_id=place)
    progress.watchers[f"drawing of {lab}"] = lambda: update_display(bundle(), raw=True, display_id=place)
