"""A figure about what an encoder takes to mean the same: see :mod:`course_utils.data.meanings`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from course_utils.data.meanings import Judged


def judged_side_by_side(judged: Mapping[str, Judged]) -> Figure:
    """Above: how alike any two sentences are, a panel for each encoder. Below: how many senses each tells apart.

    Args:
        judged: name of an encoder -> what :func:`course_utils.data.meanings.judge` says about it.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 5.6), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1.35, 1))
    panels = above.subplots(1, len(judged), sharey=True, squeeze=False)[0]
    for axes, (name, result) in zip(panels, judged.items(), strict=True):
        picture = axes.imshow(result.similarities, cmap="cividis", vmin=-0.1, vmax=1)
        axes.set_title(f"{name}\npartners: {result.found:.0%}", fontsize=9.5)
        axes.set(xticks=[], yticks=[], xlabel="partner")
    panels[0].set_ylabel("sentence")
    above.colorbar(picture, ax=panels, label="cosine similarity", shrink=0.75)

    axes = below.subplots()
    places, shares = np.arange(len(judged)), [result.senses for result in judged.values()]
    bars = axes.barh(places, shares, color="#31688e", height=0.7)
    axes.bar_label(
        bars, [f"{share:.0%}" for share in shares], padding=3, fontsize=9.5, backgroundcolor="white"
    )
    axes.axvline(0.5, color="#7a7a7a", linestyle="--", linewidth=1)
    axes.text(0.5, -0.75, " a coin", fontsize=9, color="#555555")
    axes.set_yticks(places, list(judged), fontsize=9.5)
    axes.set(
        xlim=(0, 1), ylim=(len(judged) - 0.4, -1.1), xlabel="words with two meanings: right sense preferred"
    )
    axes.spines[["top", "right"]].set_visible(False)
    return figure
