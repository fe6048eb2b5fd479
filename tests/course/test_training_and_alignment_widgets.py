"""The widgets of lab 01: weights kept during a training, and a translation with its alignment."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from project import drawn

from course_utils.widgets.alignment import TypeAndAlign
from course_utils.widgets.training import WatchItLearn

ROWS, COLUMNS = ["white", "house"], ["la", "maison", "blanche"]
UNIFORM, SHARP = np.full((2, 3), 1 / 3), np.array([[0.0, 0.1, 0.9], [0.0, 1.0, 0.0]])


def texts_of(html: str) -> str:
    return " ".join(drawn(html).itertext())


def backwards(text: str) -> tuple[list[str], list[str], np.ndarray]:
    words = text.split()
    if "zug" in words:
        raise ValueError("zug is not French")
    return words, words[::-1], np.eye(len(words))[::-1]


def test_the_kept_steps_are_shown_in_order_with_how_sharp_they_are():
    data = WatchItLearn(ROWS, COLUMNS, {1000: SHARP, 0: UNIFORM, 20: (UNIFORM + SHARP) / 2}).data()
    assert data["steps"] == [0, 20, 1000]
    assert data["largest"] == [0.333, 0.642, 0.95]
    assert data["weights"][-1] == [[0.0, 0.1, 0.9], [0.0, 1.0, 0.0]]
    json.dumps(data, allow_nan=False)


def test_the_still_picture_has_the_first_step_one_in_between_and_the_last():
    kept = {0: UNIFORM, 20: 0.9 * UNIFORM + 0.1 * SHARP, 40: (UNIFORM + SHARP) / 2, 1000: SHARP}
    shown = texts_of(WatchItLearn(ROWS, COLUMNS, kept).still())
    assert re.findall(r"step [\d,]+", shown) == ["step 0", "step 40", "step 1,000"]
    assert "blanche" in shown and "white" in shown


def test_the_text_says_where_each_word_looks_at_the_end():
    alt = WatchItLearn(ROWS, COLUMNS, {0: UNIFORM, 1000: SHARP}).alt()
    assert "white at blanche (0.90), house at maison (1.00)" in alt
    assert "0.33 on average" in alt and "0.95" in alt


@pytest.mark.parametrize(
    ("kept", "message"),
    [({0: UNIFORM}, "Two steps"), ({0: UNIFORM, 20: UNIFORM.T}, r"step 20 have shape \(3, 2\)")],
)
def test_what_cannot_be_watched_is_refused(kept, message):
    with pytest.raises(ValueError, match=message):
        WatchItLearn(ROWS, COLUMNS, kept)


def test_all_examples_are_in_the_page_so_that_they_work_without_a_kernel():
    data = TypeAndAlign(backwards, ["le chat", "la rue vide"]).data()
    assert [example["target"] for example in data["examples"]] == [["chat", "le"], ["vide", "rue", "la"]]
    assert data["shown"] == data["examples"][0]


def test_the_kernel_translates_what_is_typed_and_says_what_it_cannot():
    live = TypeAndAlign(backwards, ["le chat"]).live()
    live.asked = {"text": "le pont vert"}
    assert live.data["shown"]["target"] == ["vert", "pont", "le"] and live.error == ""
    live.asked = {"text": "le zug"}
    assert live.error == "zug is not French" and live.data["shown"]["text"] == "le pont vert"


def test_the_still_picture_and_the_text_show_the_alignment():
    widget = TypeAndAlign(backwards, ["le chat"])
    assert texts_of(widget.still()).split().count("chat") == 2
    assert "le chat: chat ← chat (1.00), le ← le (1.00)." in widget.alt()
