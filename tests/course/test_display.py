"""What the course puts on the page: figures with alt text, widgets with a fallback, a light package."""

from __future__ import annotations

import base64
import re

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
import pytest
from ipywidgets.widgets.widget import _instances
from matplotlib.figure import Figure

from course_utils import display, plots
from course_utils.display import a_table, inline, publish, show_table, table
from course_utils.plots.attention import numbers
from course_utils.plots.softmax import bars_at_temperatures, exponential_curve

SCORES = np.array([2.0, 1.0, 0.0, -1.0])
WORDS = ["a", "b", "c", "d"]


def _figure() -> Figure:
    figure = Figure(figsize=(3, 2))
    figure.subplots().plot([1, 2])
    return figure


def test_a_figure_is_an_html_image_with_its_alt_text(published):
    plots.show_figure(_figure(), alt='A line, "rising" & thin.')
    html = published[0]["text/html"]
    assert 'alt="A line, &quot;rising&quot; &amp; thin."' in html
    light, dark = (base64.b64decode(data) for data in re.findall(r"data:image/webp;base64,([\w+/=]+)", html))
    assert light[8:12] == dark[8:12] == b"WEBP" and light != dark
    assert "background:none!important" in html  # some pages put a light ground behind all pictures
    assert html.index("<style>") < html.index("content:url(") < html.index("</style>")


def test_the_plain_text_of_a_figure_is_its_alt_text(published):
    plots.show_figure(_figure(), alt="A rising line.")
    assert published[0]["text/plain"] == "A rising line."


def test_a_figure_is_as_wide_on_the_page_as_its_inches_say(published):
    plots.show_figure(_figure(), alt="A rising line.")
    assert 'width="240"' in published[0]["text/html"]


def test_a_wide_figure_scrolls_on_a_phone_instead_of_becoming_too_small_to_read(published):
    for inches in (3, 10):
        plots.show_figure(Figure(figsize=(inches, 2)), alt="Panels.")
    narrow, wide = (bundle["text/html"] for bundle in published)
    assert "overflow-x:auto" not in narrow
    assert "overflow-x:auto" in wide and "min-width:528px" in wide and 'tabindex="0"' in wide


def test_a_pyplot_figure_is_closed_so_that_it_is_not_shown_twice(published):
    figure, _ = plt.subplots()
    plots.show_figure(figure, alt="Nothing.")
    assert not plt.fignum_exists(figure.number)


def test_a_live_widget_carries_its_fallbacks_in_the_same_output(published):
    widget = ipywidgets.IntSlider()
    plots.show_live(widget, html="<b>seven</b>", text="seven")
    (bundle,) = published
    shown = _instances[bundle["application/vnd.jupyter.widget-view+json"]["model_id"]]
    assert shown.children[0] is widget and "run this cell again" in shown.children[1].value
    assert bundle["text/html"] == "<b>seven</b>" and bundle["text/plain"] == "seven"


def test_outside_a_notebook_the_plain_text_is_printed(capsys):
    publish({"text/html": "<b>seven</b>", "text/plain": "seven"})
    assert capsys.readouterr().out == "seven\n"


@pytest.mark.parametrize("figure", [
    exponential_curve(SCORES, WORDS),
    bars_at_temperatures({t: np.exp(SCORES / t) / np.exp(SCORES / t).sum() for t in (0.5, 1.0)}, WORDS),
])  # fmt: skip
def test_the_figures_of_lab_00_can_be_drawn(figure, published):
    plots.show_figure(figure, alt="One of them.")
    assert published


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("`a < b` and c < d", "<code>a &lt; b</code> and c &lt; d"),
        ("each *row* is one", "each <em>row</em> is one"),
        ("*l'Afrique* is", "<em>l&#x27;Afrique</em> is"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("f(*args, **kwargs)", "f(*args, **kwargs)"),
        ("`a * b` or `*c*`", "<code>a * b</code> or <code>*c*</code>"),
    ],
)
def test_backticks_are_code_stars_are_emphasis_and_all_else_is_text(text, html):
    assert inline(text) == html


def test_a_table_has_a_row_for_each_row():
    assert table([("a", "b"), ("c", "d")]).count("<tr") == 2


def test_a_table_has_a_heading_numbers_on_the_right_and_a_plain_form_in_columns(monkeypatch):
    published: list[dict] = []
    monkeypatch.setattr(display, "publish", published.append)
    show_table(["set", "F1"], [["`train` & more", "0.99"], ["unseen", "0.9"]], "Scores <of all>")
    bundle = published[-1]
    assert bundle["text/plain"].splitlines() == [
        "Scores <of all>",
        "set             F1",
        "train & more  0.99",
        "unseen         0.9",
    ]
    html = bundle["text/html"]
    assert "<th" in html and "<code>train</code> &amp; more" in html and "&lt;of all&gt;" in html
    assert html.count("text-align:right") == 3
    show_table(["", "F1"], [["train", "0.99"]])
    assert published[-1]["text/html"].count("<th") == 1  # a corner without a word is no heading


def test_an_interval_stays_on_one_line_and_a_sentence_does_not():
    html, _ = a_table(
        ["set", "95 % interval"],
        [["train", "0.87 to 0.95"], ["test", "1 of them, by which nobody is surprised"]],
    )
    assert [cell.count("nowrap") for cell in html.split("<td")[1:]] == [0, 1, 0, 0]


def test_a_column_of_words_is_set_left_even_where_one_of_them_is_a_number():
    rows = [["le", "[ 0.3 -1]", "gare, 1900", "True"], ["chat", "", "noir", "1.0"], ["et", "-2", "", "False"]]
    html, text = a_table(["word", "vector", "near", "same"], rows)
    assert html.count("text-align:right") == len(rows) + 1  # only the vectors
    assert text.splitlines() == [
        "word     vector  near        same",
        "le    [ 0.3 -1]  gare, 1900  True",
        "chat             noir        1.0",
        "et           -2              False",
    ]


def test_vectors_are_a_table_with_a_row_for_each_word(monkeypatch):
    published: list[dict] = []
    monkeypatch.setattr(display, "publish", published.append)
    numbers("keys", ["le", "chat"], np.array([[1.0, -0.25], [0.5, 2.0]]), ["who?", "when?"])
    numbers("", ["le"], np.array([[1.0, 0.123456]]), digits=4)
    assert [bundle["text/plain"].splitlines() for bundle in published] == [
        ["keys", "      who?  when?", "le    1.00  -0.25", "chat  0.50   2.00"],
        ["         0       1", "le  1.0000  0.1235"],
    ]
