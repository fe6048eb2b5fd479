"""The drawing of the whole Transformer: every part leads to exercises that exist, and fills in as they are solved."""

from __future__ import annotations

import re
from html import unescape

import pytest

from course_utils import progress
from course_utils.checking.exercise import find_exercise
from course_utils.plots import whole

LABS = [
    "self_attention",
    "multi_head_attention",
    "positional_encoding",
    "transformer_pytorch",
    "transformer_tensorflow",
]


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow"])
def test_every_part_is_made_by_exercises_of_the_course(framework):
    for part in whole._parts(framework).values():
        assert part.exercises
        for key in part.exercises:
            assert find_exercise(key).name == key.partition(".")[2]


@pytest.mark.parametrize("lab", LABS)
def test_every_lab_that_shows_it_builds_a_part_of_it(lab):
    svg, alt = whole.drawing(lab, {})
    assert "nothing yet" not in alt.partition("Already")[0] and alt.endswith("Already yours: nothing yet.")
    assert svg.count("✓") == 1  # in the legend


def test_a_part_is_the_learner_s_own_when_all_its_exercises_are_solved():
    half = {"self_attention.scaled_dot_product_attention": 1.0}
    assert "Already yours: nothing yet." in whole.drawing("multi_head_attention", half)[1]
    both = {**half, "multi_head_attention.MultiHeadAttention": 1.0}
    svg, alt = whole.drawing("multi_head_attention", both)
    assert alt.endswith("Already yours: multi-head self-attention.") and "✓ multi-head" in svg
    everything = {key: 1.0 for part in whole._parts("pytorch").values() for key in part.exercises}
    svg, alt = whole.drawing("transformer_pytorch", everything)
    assert "You build in this lab: nothing yet." in alt and svg.count("✓") == len(whole._parts("pytorch")) + 1


def test_what_watches_progress_is_called_after_an_attempt(tmp_path, monkeypatch):
    monkeypatch.setenv(progress.PROGRESS_VARIABLE, str(tmp_path / "progress.json"))
    seen = []
    monkeypatch.setitem(progress.watchers, "test", lambda: seen.append(progress.best_scores()))
    progress.record("self_attention.causal_mask", 1.0)
    assert seen == [{"self_attention.causal_mask": 1.0}]


def test_the_drawing_follows_the_theme_and_has_words_for_who_cannot_see_it(capsys, monkeypatch):
    whole.show_transformer("self_attention")
    assert "You build in this lab: multi-head self-attention" in capsys.readouterr().out
    svg, alt = whole.drawing("self_attention", {})
    assert 'role="img"' in svg and alt.split(".")[0] in svg
    bundles = []
    monkeypatch.setattr(whole, "publish", bundles.append)
    whole.show_transformer("self_attention")
    assert "<svg" not in bundles[0]["text/html"], "JupyterLab removes it in notebooks that are not trusted"
    assert f'alt="{alt}"' in unescape(bundles[0]["text/html"])
    colours = set(re.findall(r"(?:fill|stroke):(#\w+)", svg))
    assert colours <= {
        whole.box(0, 0, 1, 1, "", marked=True).partition("stroke:")[2][:7]
    }  # all others come from the theme
