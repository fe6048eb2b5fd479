"""Figures in the dark theme: colours by computation, and the figure as it was afterwards."""

from __future__ import annotations

import io
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex, to_rgb, to_rgba
from matplotlib.figure import Figure

from course_utils.plots.attention import attention_heatmap, growth_with_d_k, heatmaps_side_by_side, word_bars
from course_utils.plots.meanings import judged_side_by_side
from course_utils.plots.roles import ROLES, WEIGHT
from course_utils.plots.softmax import bars_at_temperatures, exponential_curve
from course_utils.plots.themes import DARK, PAPER, contrast, dark, for_the_dark

SCORES, WORDS = np.array([2.0, 1.0, 0.0, -1.0]), ["a", "b", "c", "d"]
SHARES = np.array([0.64, 0.24, 0.09, 0.03])
D_KS = [1, 4, 16]
FIGURES = {
    "curve": lambda: exponential_curve(SCORES, WORDS),
    "bars": lambda: bars_at_temperatures({1.0: SHARES, 2.0: SHARES}, WORDS),
    "word bars": lambda: word_bars(WORDS, SHARES, "Looks at"),
    "growth": lambda: growth_with_d_k(D_KS, np.sqrt(D_KS), np.ones(3), {"one": SHARES[:3], "two": np.ones(3)}),
}  # fmt: skip
whole = st.integers(0, 255)
colours = st.builds("#{:02x}{:02x}{:02x}".format, whole, whole, whole)


def drawn(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="rgba", dpi=60)
    return file.getvalue()


def test_no_single_colour_is_legible_on_both_grounds():
    """The reason for two pictures: the product of a colour's two contrasts is that of the grounds, at most."""
    assert contrast(PAPER, DARK) < 4.5**2


@pytest.mark.parametrize(
    "one, other, ratio", [("#000", "#fff", 21), ("#fff", "#fff", 1), ("#777", "#fff", 4.48)]
)
def test_the_contrast_is_that_of_the_guidelines(one, other, ratio):
    assert contrast(one, other) == pytest.approx(ratio, abs=0.005)


@given(colours, st.booleans())
def test_what_stands_out_on_white_stands_out_in_the_dark(colour, text):
    wanted = 4.5 if text else 3
    if contrast(colour, PAPER) >= wanted:
        assert contrast(for_the_dark(colour, text), DARK) >= wanted


@given(st.integers(0, 255))
def test_greys_have_the_contrast_that_they_have_on_white(level):
    grey = f"#{level:02x}{level:02x}{level:02x}"
    found = contrast(for_the_dark(grey), DARK)
    assert found == pytest.approx(min(contrast(grey, PAPER), 13), rel=0.05)


def test_white_is_the_ground_and_the_roles_of_attention_stay():
    assert to_hex(for_the_dark("white")) == DARK
    for role in ROLES.values():
        assert for_the_dark(role.colour) == role.colour
        assert min(contrast(role.colour, ground) for ground in (PAPER, DARK)) >= 3
    assert for_the_dark("none") == "none" and to_rgba(for_the_dark((0, 0, 0, 0.5)))[3] == 0.5


@pytest.mark.parametrize("name", FIGURES)
def test_text_lines_and_shapes_of_a_figure_can_be_seen_in_the_dark_and_it_is_unchanged_afterwards(name):
    figure = FIGURES[name]()
    before = drawn(figure)
    with dark(figure):
        assert drawn(figure) != before
        for axes in figure.axes:
            labels = [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
            labels += [*axes.get_xticklabels(), *axes.get_yticklabels()]
            labels += axes.get_legend().get_texts() if axes.get_legend() else []
            assert min(contrast(label.get_color(), DARK) for label in labels) >= 4.5
            shapes = [line.get_color() for line in axes.lines] + [bar.get_facecolor() for bar in axes.patches]
            shapes += [axes.spines["left"].get_edgecolor()]
            assert min(contrast(colour, DARK) for colour in shapes) >= 3
    assert drawn(figure) == before


def test_words_on_a_mask_and_its_colours_stay():
    figure = heatmaps_side_by_side({"a mask": np.eye(3, dtype=bool)}, ["a", "b", "c"], ["x", "y", "z"])
    drawn(figure)
    (axes,) = figure.axes
    before = [text.get_color() for text in axes.texts]
    with dark(figure):
        assert [text.get_color() for text in axes.texts] == before
        assert contrast(axes.title.get_color(), DARK) >= 4.5
        assert axes.images[0].get_cmap().name == "viridis"


@pytest.mark.parametrize("ground", [PAPER, DARK])
@pytest.mark.parametrize("weight", [0.0, 0.3, 0.6, 1.0])
def test_a_weight_is_a_shade_of_its_role_and_its_number_can_be_read_on_either_ground(weight, ground):
    figure = attention_heatmap(np.full((2, 2), weight), ["a", "b"], ["x", "y"])
    drawn(figure)
    (axes,) = figure.axes
    *rgb, alpha = axes.images[0].cmap(weight)
    np.testing.assert_allclose(rgb, to_rgb(WEIGHT.colour))
    behind = alpha * np.array(rgb) + (1 - alpha) * np.array(to_rgb(ground))
    with dark(figure) if ground == DARK else nullcontext():
        assert all(contrast(text.get_color(), behind) >= 4.5 for text in axes.texts)


def test_the_ground_behind_a_text_and_a_colour_map_are_known():
    class Judgement:
        similarities, found, senses = np.eye(3), 0.5, 0.5

    figure = judged_side_by_side({"an encoder": Judgement()})
    drawn(figure)
    before = drawn(figure)  # its layout moves a little in the first drawing
    label = next(
        text for axes in figure.findobj() for text in getattr(axes, "texts", ()) if text.get_bbox_patch()
    )
    with dark(figure):
        assert to_hex(label.get_bbox_patch().get_facecolor()) == DARK
    assert drawn(figure) == before
    points = Figure().subplots().scatter([0, 1], [0, 1], c=[0.0, 1.0], cmap="viridis")
    drawn(points.figure)
    coloured = points.get_facecolor().copy()
    with dark(points.figure):
        np.testing.assert_array_equal(points.get_facecolor(), coloured)
