"""Widgets: light to import, quiet without a page, readable without a widget, and asking nobody else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from project import drawn

from course_utils import widgets
from course_utils.maths import softmax
from course_utils.models.translator import LibraryTranslator, load_weights
from course_utils.plots.attention import word_picker
from course_utils.plots.roles import ROLES
from course_utils.quiz import as_html, read_questions
from course_utils.widgets import Widget, plain, predict, type_french, what_comes_next
from course_utils.widgets.controls import MissingControl, find_the_control
from course_utils.widgets.decoding import SENTENCES, DecodingLoop, translated
from course_utils.widgets.panels import Control, Panels
from course_utils.widgets.stepper import AttentionStepper
from course_utils.widgets.word_moves import Plane, Word, WordMoves
from course_utils.widgets.zoom import LEVELS, Zoom

WORDS = ["the", "cat", "<sat>"]
FOLDER = Path(widgets.__file__).parent
GROUNDS = ("#ffffff", "#212121")  # JupyterLab's, light and dark


def stepper(**options) -> AttentionStepper:
    rng = np.random.default_rng(0)
    return AttentionStepper(
        WORDS, *(rng.standard_normal(shape) for shape in [(3, 4), (3, 4), (3, 2)]), **options
    )


QUESTIONS = """
## Is this asked at the end?

- [x] Yes.
  It has no name.
- [ ] No.
  It has no name, so it is no prediction.

## [moved] What happens to the `outputs`?

- [ ] They stay.
  Each one belongs to its word.
- [x] They move along.
  Attention does not know the order.
"""


class Doubling(Widget):
    """The smallest widget that answers."""

    module = "attention_stepper.js"

    def data(self):
        return {"number": 1}

    def still(self):
        return stepper().still()

    def alt(self):
        return "A number."

    def answer(self, asked):
        if asked["number"] < 0:
            raise ValueError("Only numbers from 0 on.")
        return {"number": 2 * asked["number"]}


@pytest.fixture
def published(monkeypatch) -> list[dict]:
    bundles: list[dict] = []
    monkeypatch.setattr(widgets, "publish", lambda bundle, metadata=None: bundles.append(bundle))
    monkeypatch.setattr(widgets, "in_notebook", lambda: True)
    return bundles


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("role", ROLES.values(), ids=lambda role: role.name)
@pytest.mark.parametrize("ground", GROUNDS)
def test_a_role_stands_out_on_both_grounds(role, ground):
    darker, lighter = sorted([luminance(role.colour), luminance(ground)])
    assert (lighter + 0.05) / (darker + 0.05) >= 3


def test_roles_differ_in_more_than_their_colour():
    for feature in ("letter", "marker", "path"):
        assert len({getattr(role, feature) for role in ROLES.values()}) == len(ROLES)


def test_importing_widgets_does_not_import_anywidget():
    code = "import sys, course_utils.widgets.stepper; print('anywidget' in sys.modules, 'ipywidgets' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False False"


def test_a_widget_is_shown_with_its_still_picture_and_its_text(published):
    stepper().show()
    (bundle,) = published
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"]
    texts = "".join(drawn(bundle["text/html"]).itertext())
    assert "<sat>" in texts and "√d_k" in texts
    assert bundle["text/plain"].startswith("Attention of the word the, step by step.")
    assert "script" not in bundle["text/html"] and "onclick" not in bundle["text/html"]


def test_the_page_gets_all_it_needs_to_draw_without_a_kernel():
    live = stepper().live()
    state = live.get_state()
    json.dumps(state["data"], allow_nan=False)
    assert state["data"]["words"] == WORDS and set(state["roles"]) == set(ROLES)
    assert "function draw(" in state["_esm"] and "export default" in state["_esm"]


def test_no_widget_asks_another_machine():
    for path in FOLDER.rglob("*.js"):
        source = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(
            r"https?:|\bfetch\(|XMLHttpRequest|^\s*import\b|import\(|WebSocket", source, re.M
        ), path
    for path in FOLDER.rglob("*.css"):
        assert not re.search(r"url\(|@import", path.read_text("utf-8")), path


def test_every_module_belongs_to_a_widget():
    sources = "".join(path.read_text("utf-8") for path in FOLDER.glob("*.py"))
    for path in FOLDER.rglob("*.js"):
        assert f'"{path.name}"' in sources


def test_the_kernel_answers_what_the_page_asks():
    live = Doubling().live()
    live.asked = {"number": 4}
    assert live.data["number"] == 8 and live.error == ""
    live.asked = {"number": -1}
    assert live.data["number"] == 8 and live.error == "Only numbers from 0 on."
    live.asked = {"number": 0}
    assert live.data["number"] == 0 and live.error == ""


def test_the_page_hears_of_an_answer_that_is_the_same_as_before():
    live, heard = Doubling().live(), []
    live.asked = {"number": 4, "time": 1}
    live.observe(heard.append, names=["data", "error"])
    live.asked = {"number": 4, "time": 2}
    assert len(heard) == 1
    live.asked = {"number": -1, "time": 3}
    live.asked = {"number": -1, "time": 4}
    said = "Only numbers from 0 on."
    assert [change["new"] for change in heard[1:]] == [said, "", said]


def test_a_widget_prints_nothing_to_stderr_where_nobody_draws_it():
    code = (
        "import numpy as np; from course_utils.widgets.stepper import attention_stepper, AttentionStepper as S\n"
        "x = np.eye(2); attention_stepper(['a', 'b'], x, x, x); S(['a', 'b'], x, x, x).live()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "" and done.stdout.startswith("Attention of the word a")


def test_numbers_that_a_page_cannot_read_are_refused():
    with pytest.raises(ValueError, match="NaN or infinite"):
        plain(np.array([1.0, np.nan]))


def test_the_stepper_computes_what_it_is_not_given():
    shown = stepper()
    expected = softmax(shown.query @ shown.key.T / 2)
    np.testing.assert_allclose(shown.weights, expected)
    np.testing.assert_allclose(shown.output, expected @ shown.value)


def test_the_stepper_shows_the_learners_own_numbers():
    own = np.full((3, 3), 1 / 3), np.zeros((3, 2))
    data = stepper(weights=own[0], output=own[1]).data()
    assert data["weights"] == plain(own[0]) and data["output"] == plain(own[1])


@pytest.mark.parametrize("wrong", [{"weights": np.ones((3, 2))}, {"output": np.ones((2, 2))}])
def test_the_stepper_refuses_shapes_that_do_not_fit(wrong):
    with pytest.raises(ValueError, match="3 words need"):
        stepper(**wrong)


@pytest.fixture
def predictions(monkeypatch, published):
    monkeypatch.setattr(predict, "questions_of", lambda lab: read_questions(QUESTIONS))
    monkeypatch.setattr(predict, "publish", published.append)
    monkeypatch.setattr(predict, "_chosen", {})
    return published


def test_a_prediction_shows_its_choices_and_gives_no_reason_away(predictions):
    predict.predict("some_lab.moved")
    (bundle,) = predictions
    shown = json.dumps(
        [bundle["text/html"], bundle["text/plain"], predict.Prediction("some_lab.moved").data()]
    )
    assert "They move along." in shown and "<code>outputs</code>" in shown
    assert "does not know the order" not in shown and "belongs to its word" not in shown


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (
            None,
            [
                "Measured: B: They move along.",
                "Attention does not know the order.",
            ],
        ),
        (
            0,
            [
                "You predicted A: They stay.",
                "Each one belongs to its word.",
                "Measured: B: They move along.",
                "Attention does not know the order.",
            ],
        ),
        (
            1,
            [
                "You predicted B: They move along.",
                "Measured: B: They move along.",
                "Attention does not know the order.",
            ],
        ),
    ],
)
def test_below_the_result_stand_what_was_predicted_and_the_answer(predictions, chosen, expected):
    if chosen is not None:
        predict.Prediction("some_lab.moved").live().asked = {"chosen": chosen}
    predict.measured("some_lab.moved")
    assert predictions[-1]["text/plain"].splitlines() == expected


def test_an_answer_that_the_numbers_do_not_show_is_not_called_measured(predictions):
    predict.measured("some_lab.moved", shown=False)
    said = predictions[-1]["text/plain"]
    assert "Your numbers do not show it this time. Usual: B: They move along." in said
    assert "Measured" not in said


def found_one() -> list[list[str]]:
    return [["without `it`", "1 of 5"]]


def finds_nothing() -> list[list[str]]:
    raise ValueError("5 < 6")


def test_each_control_shows_what_it_gives_beside_the_claim_and_what_that_can_tell(predictions):
    rows = [["with it", "5 of 5"]]
    control = MissingControl("some_lab.moved", ["", "found"], rows, [found_one, finds_nothing])
    data = control.data()
    assert "5 of 5" in data["table"] and "1 of 5" not in data["table"]
    first, second = data["options"]
    assert "5 of 5" in first["table"] and "1 of 5" in first["table"] and "<code>it</code>" in first["table"]
    assert [option["verdict"] for option in (first, second)] == [
        "This does not answer the objection.",
        "This is the control that was missing.",
    ]
    for shown in (control.still(), control.alt()):
        for told in (
            "1 of 5",
            "They move along.",
            "Attention does not know the order.",
            "the control that was missing",
        ):
            assert told in shown


def test_a_control_that_fails_says_so_in_its_place_and_stops_nothing(predictions):
    find_the_control("some_lab.moved", ["", "found"], [["with it", "5"]], [found_one, finds_nothing])
    assert "it could not run: ValueError: 5 < 6" in predictions[-1]["text/plain"]
    assert "it could not run: ValueError: 5 &lt; 6" in predictions[-1]["text/html"]


def test_a_claim_needs_a_control_for_each_option(predictions):
    with pytest.raises(ValueError, match="2 options and 1 experiments"):
        MissingControl("some_lab.moved", ["", "found"], [], [found_one])


def test_an_unknown_prediction_is_named(predictions):
    with pytest.raises(LookupError, match="no prediction 'some_lab.other'"):
        predict.predict("some_lab.other")


def test_a_named_question_is_no_part_of_the_quiz(monkeypatch):
    module = sys.modules["course_utils.quiz"]
    monkeypatch.setattr(module, "questions_of", lambda lab: read_questions(QUESTIONS))
    shown: list[str] = []
    monkeypatch.setattr(Widget, "show", lambda self: shown.append(self.still()))
    module.quiz("some_lab")
    assert shown == [as_html(read_questions(QUESTIONS)[:1])]


SENSES = {
    "left": ("bank north west", "bank west", "west bank"),
    "right": ("bank north east", "bank east", "east bank"),
}


def read(sentence: str) -> SimpleNamespace:
    """An encoder in which each word takes part in the meaning of all others."""
    directions = {
        "west": [3.0, 0, 0, 1],
        "east": [-3.0, 0, 0, 1],
        "north": [0, 1.0, 0, 0],
        "bank": [0, 0, 2.0, 0],
    }
    tokens = sentence.lower().split()
    together = np.sum([directions.get(token, [0, 0, 0, 1.0]) for token in tokens], axis=0)
    return SimpleNamespace(tokens=tuple(tokens), hidden=np.tile(together, (7, len(tokens), 1)))


def test_a_word_goes_to_the_sense_that_its_sentence_gives_it():
    plane = Plane("bank", read, SENSES)
    west, east = plane.moved("the west bank"), plane.moved("the east bank")
    assert (west["nearest"], east["nearest"]) == ("left", "right")
    assert west["close"]["left"] > west["close"]["right"]
    apart = np.array(west["at"]) - east["at"]
    assert abs(apart[0]) > abs(apart[1])  # the first axis is what tells the senses apart
    np.testing.assert_allclose(plane.axes @ plane.axes.T, np.eye(2), atol=1e-9)


def test_three_senses_span_the_plane():
    plane = Plane("bank", read, {**SENSES, "up": ("bank north", "north bank north")})
    middles = np.array([points.mean(axis=0) for points in plane.points.values()])
    back = plane.place(middles) @ plane.axes + plane.origin
    np.testing.assert_allclose(back - back.mean(axis=0), middles - middles.mean(axis=0), atol=1e-9)


def test_a_typed_sentence_moves_the_word_and_the_plane_stays(published):
    moves = WordMoves(read, {"bank": Word(SENSES, ("bank west",))})
    moves.show()
    live = moves.live()
    before = live.data["words"]["bank"]
    live.asked = {"word": "bank", "sentence": "  the EAST   bank "}
    after = live.data["words"]["bank"]
    assert [each["sentence"] for each in after["moved"]] == ["bank west", "the EAST bank"]
    assert after["senses"] == before["senses"] and after["bare"] == before["bare"]
    live.asked = {"word": "bank", "sentence": "the east side"}
    assert "does not occur in this sentence" in live.error
    assert "bank west" in "".join(drawn(published[0]["text/html"]).itertext())
    assert "bank in “bank west”: left 1.00" in published[0]["text/plain"]


def test_panels_hold_every_choice_and_begin_where_they_are_told_to():
    controls = [Control("word", ["a", "b"]), Control("d_k", ["1", "2", "4"], start=2, slider=True)]
    panels = Panels(controls, lambda word, size: f"<b>{word} {size}</b>", still="<i>some</i>", alt="some")
    data = panels.data()
    assert data["panels"] == {f"{w},{d}": f"<b>{w} {d}</b>" for w in range(2) for d in range(3)}
    assert [(each["start"], each["slider"]) for each in data["controls"]] == [(0, False), (2, True)]
    json.dumps(data, allow_nan=False)
    assert (panels.still(), panels.alt()) == ("<i>some</i>", "some")


def test_a_word_that_looks_like_a_tag_stays_text(monkeypatch):
    shown = []
    monkeypatch.setattr(Panels, "show", lambda self: shown.append(self))
    word_picker(["<b>", "two"], {"none": np.eye(2)})
    (picker,) = shown
    assert all("<b>" not in panel and "&lt;b&gt;" in panel for panel in picker.panels.values())
    assert "<b>" not in picker.still()


def test_the_decoding_loop_writes_what_the_translator_writes_and_leaves_chance_as_it_was(published):
    import torch

    before = torch.random.get_rng_state()
    written, vocabulary = translated(SENTENCES)
    assert torch.equal(torch.random.get_rng_state(), before)
    translator = LibraryTranslator.shipped()
    for text, sentence in zip(SENTENCES, written, strict=True):
        said = [vocabulary[int(step.best[0])] for step in sentence.steps]
        assert [*said[:-1], " ".join(said[:-1])] == [*translator(text)[0].split(), translator(text)[0]]
        assert said[-1] == "<eos>" and sentence.steps[-1].written == ("<bos>", *said[:-1])
        for step in sentence.steps:
            assert len(step.logits) == len(vocabulary)
            assert step.looks.sum() == pytest.approx(1) and step.shares.sum() == pytest.approx(1)
    loop = DecodingLoop(written, vocabulary)
    loop.show()
    (bundle,) = published
    shown = "".join(drawn(bundle["text/html"]).itertext())
    assert "<bos> Jane visits Africa" in shown and "<bos> Jane -> visits: logit" in bundle["text/plain"]
    first = loop.data()["sentences"][0]["steps"][0]
    assert len(first["likeliest"]) == 10 and first["likeliest"][0][0] == vocabulary[first["best"]] == "Jane"


def test_type_french_has_the_learner_s_own_numbers_if_the_page_computes_what_their_model_does(published):
    import torch
    from torch import nn

    shipped = load_weights()
    words = shipped.source_vocabulary, shipped.target_vocabulary

    class Own(nn.Module):
        """Lab 05's names, and the twin inside, which does not count as part of it."""

        def __init__(self, state, factor=1.0):
            super().__init__()
            self.factor = factor
            self.inside = [LibraryTranslator(replace(shipped, state=state)).model]
            self.own = state

        def state_dict(self, *arguments, **options):
            return {name: torch.from_numpy(array) for name, array in self.own.items()}

        def forward(self, source_ids, target_ids):
            logits, looks = self.inside[0](source_ids, target_ids)
            return self.factor * logits, looks

    other = {name: 1.01 * array for name, array in shipped.state.items()}
    made = type_french.widget_of(Own(other), *words)
    assert "the numbers of your model" in made.told
    assert made.numbers == type_french.rounded(other)[1] != type_french.widget_of().numbers
    model = Own(other).train()
    assert type_french.why_not(model, *words, shipped) == "" and model.training
    for given, why in {
        (None, None, None): "there is no model yet",
        (nn.Linear(2, 2), *words): "other parameters",
        (Own(other, factor=2.0), *words): "computes something else",
        (Own(other), *words[::-1]): "knows other words",
    }.items():
        told = type_french.widget_of(*given).told
        assert "that ships with the course" in told and why in told
    before = torch.random.get_rng_state()
    type_french.type_french()
    assert torch.equal(torch.random.get_rng_state(), before)
    (bundle,) = published
    shown = bundle["text/html"]
    assert "Jane visits Africa in September" in shown and "there is no model yet" in shown
    assert "  -> Jane visits Africa in September\nJane      <- Jane" in bundle["text/plain"]


def test_what_comes_next_counts_in_its_place_where_widgets_are_not_drawn(published):
    what_comes_next.what_comes_next()
    (bundle,) = published
    likeliest, share = what_comes_next.followers("Italian", "ma")[0]
    assert f"{likeliest}" in bundle["text/html"] and f"{share:.0%}" in bundle["text/plain"]
    assert "function nextLetter(" in what_comes_next.widget().source()


def test_each_level_of_the_zoom_opens_a_box_that_the_level_before_has(published):
    for number, level in enumerate(LEVELS):
        boxes = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', "".join(level.parts))
        places = [tuple(map(float, each)) for each in boxes]
        assert (level.opens is None) == (number == len(LEVELS) - 1)
        if level.opens:
            left, top, wide = level.opens
            assert any(x == left and y == top for x, y, _ in places), level.name
            assert any(x + across == left + wide and y == top for x, y, across in places), level.name
    Zoom().show()
    assert all(
        level.said in published[0]["text/plain"] and level.said in published[0]["text/html"]
        for level in LEVELS
    )
