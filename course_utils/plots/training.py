"""Figures and tables about training runs: learning curves, and what a translator gets wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from course_utils.display import TEXT, publish, table
from course_utils.training import History

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#440154", "#d95f02", "#21918c", "#5b6b7b")  # told apart by colour-blind readers
_MARKERS = ("o", "s", "^", "D")


def learning_curves(histories: Sequence[History], by: str = "seconds", smooth: int = 25) -> Figure:
    """Left: the loss. Right: the evaluations (if there are any). Of one or several runs.

    Args:
        histories: each with a name, at most four.
        by: the horizontal axis: "seconds" of training or "steps".
        smooth: the loss is shown as a running mean over this many steps.

    Raises:
        ValueError: ``by`` is something else.
    """
    from matplotlib.figure import Figure

    if by not in ("seconds", "steps"):
        raise ValueError(f"The horizontal axis shows seconds or steps, not {by!r}.")
    evaluated = any(history.evaluations for history in histories)
    figure = Figure(figsize=(9.5 if evaluated else 6, 3.5), layout="constrained")
    panels = list(figure.subplots(1, 1 + evaluated, squeeze=False)[0])
    unit = "seconds of training" if by == "seconds" else "steps"
    panels[0].set(xlabel=unit, ylabel=f"loss (mean of {smooth} steps)", title="Loss in training")
    if evaluated:
        panels[1].set(
            xlabel=unit,
            ylabel="share of exact matches",
            title="Exact match on validation",
            ylim=(-0.02, 1.02),
        )
    for history, colour, marker in zip(histories, _COLOURS, _MARKERS, strict=False):
        window = min(smooth, history.steps)
        means = np.convolve(history.losses, np.full(window, 1 / window), mode="valid")
        place = history.seconds if by == "seconds" else np.arange(1, history.steps + 1)
        panels[0].plot(place[window - 1 :], means, color=colour, label=history.name)
        panels[0].plot(place[-1], means[-1], marker, color=colour)
        scores = [found.score for found in history.evaluations]
        at = [found.seconds if by == "seconds" else found.step for found in history.evaluations]
        if scores:
            panels[1].plot(at, scores, marker=marker, color=colour, label=history.name)
    for axes in panels:
        axes.legend(frameon=False)
        axes.set_xlim(left=0)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def failure_gallery(
    sources: Iterable[str], references: Iterable[str], predictions: Iterable[str], limit: int = 8
) -> None:
    """Shows the first translations that differ from their reference, with the words that differ marked.

    Missing words are struck through, the words written instead are underlined; plain text has [-missing-] and {+instead+}.

    Args:
        limit: how many to show.
    """
    triples = zip(sources, references, predictions, strict=True)
    wrong = [triple for triple in triples if triple[1] != triple[2]]
    shown = wrong[:limit]
    if not wrong:
        publish({"text/plain": "No translation differs from its reference."})
        return
    headline = f"{len(wrong)} differ from their reference" + (
        f"; the first {limit}:" if len(wrong) > limit else ":"
    )
    rows = [("<b>French</b>", "<b>expected → written</b>")]
    rows += [(escape(source), _marked(right, wrote)) for source, right, wrote in shown]
    text = "\n".join(f"{source}\n    {_marked_text(right, wrote)}" for source, right, wrote in shown)
    html = f'<div style="{TEXT}"><p>{escape(headline)}</p>{table(rows)}</div>'
    publish({"text/html": html, "text/plain": f"{headline}\n{text}"})


def _changes(right: str, wrote: str) -> list[tuple[str, str, str]]:
    """(kind, words of the reference, words that were written) from left to right."""
    a, b = right.split(), wrote.split()
    pieces = SequenceMatcher(a=a, b=b, autojunk=False).get_opcodes()
    return [(kind, " ".join(a[i:j]), " ".join(b[k:m])) for kind, i, j, k, m in pieces]


def _marked(right: str, wrote: str) -> str:
    parts = []
    for kind, old, new in _changes(right, wrote):
        if kind == "equal":
            parts.append(escape(old))
            continue
        if old:
            parts.append(f'<del style="opacity:.75">{escape(old)}</del>')
        if new:
            parts.append(f'<ins style="font-weight:600">{escape(new)}</ins>')
    return " ".join(parts)


def _marked_text(right: str, wrote: str) -> str:
    parts = []
    for kind, old, new in _changes(right, wrote):
        if kind == "equal":
            parts.append(old)
            continue
        parts += [f"[-{old}-]"] * bool(old) + [f"{{+{new}+}}"] * bool(new)
    return " ".join(parts)
