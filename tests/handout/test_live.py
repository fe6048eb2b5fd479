"""Pages that run without a kernel: their modules compute what PyTorch computes, and the pages work in a browser."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accessible import AXE, violations
from playwright.sync_api import Page, sync_playwright
from project import ROOT
from test_browser import CHROMIUM, FLAGS

from course_utils.data.batches import encode_batch
from course_utils.data.language_names import load_language_names
from course_utils.data.translation import translation_pairs
from course_utils.data.words import join_words, word_tokens
from course_utils.models.pretrained import read
from course_utils.models.small_decoders import load_decoder
from course_utils.models.text_to_text import Attention, TextToText, Writer
from course_utils.models.translator import LibraryTranslator
from course_utils.widgets import one_model, type_french, what_comes_next
from course_utils.widgets.in_page import rounded
from course_utils.widgets.stepper import AttentionStepper
from course_utils.widgets.word_moves import WordMoves
from grader.course import CourseError
from grader.handout import live

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None, reason="Node.js is not installed (Debian: nodejs); it runs the pages' modules here"
)
AS_CLOSE = 1e-4
MOST_BYTES = 3_000_000
SENTENCES = [pair.source for pair in translation_pairs(100, seed=37)]


def in_node(folder: Path, files: tuple[str, ...], model: live.Model, script: str, given: Any) -> Any:
    """What a script says (`said`) that has a page's module (`page`), its model (`about`, `bytes`) and some data (`given`)."""
    folder.joinpath("page.mjs").write_text(live.module(*files), "utf-8")
    folder.joinpath("numbers").write_bytes(model.numbers)
    folder.joinpath("about.json").write_text(json.dumps(dict(model.about)), "utf-8")
    folder.joinpath("given.json").write_text(json.dumps(given), "utf-8")
    folder.joinpath("run.mjs").write_text(
        "import * as page from './page.mjs';\nimport { readFileSync as read } from 'node:fs';\n"
        "const about = JSON.parse(read('about.json')), given = JSON.parse(read('given.json'));\n"
        f"const bytes = new Uint8Array(read('numbers'));\nlet said;\n{script}\nconsole.log(JSON.stringify(said));\n",
        "utf-8",
    )
    assert NODE is not None
    done = subprocess.run([NODE, "run.mjs"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Models this small take longer with several threads, and several times as long where other processes compute, too."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def french(tmp_path_factory) -> list[dict[str, Any]]:
    """For each sentence: ids, logits while writing greedily, where the last layer looked, the sentences of both searches."""
    if NODE is None:
        pytest.skip("Node.js is not installed (Debian: nodejs)")
    script = """
const translator = new page.Translator(about, bytes);
said = given.map((text, number) => {
  const { ids } = translator.encode(text), memory = translator.read(ids), steps = [...translator.greedy(ids)];
  let state = translator.begin();
  const rows = [1, ...steps.map(({ id }) => id)].slice(0, -1).map((id) => {
    const next = translator.step(memory, state, id);
    state = next.state;
    return [...next.logits];
  });
  return { ids, rows, words: steps.map(({ id }) => id), looks: steps.map(({ looks }) => looks),
    text: translator.decode(steps.map(({ id }) => id)), beam: number < 20 ? translator.beam(ids) : null };
});"""
    folder = tmp_path_factory.mktemp("french")
    files = ("arithmetic", "encoder_decoder", "words", "translator")
    return in_node(folder, files, live.translator(), script, SENTENCES)


@pytest.mark.slow
@needs_node
def test_the_page_s_translator_has_pytorch_s_logits_attention_and_translations(french):
    translator = LibraryTranslator.shipped()
    source = translator.checkpoint.source_vocabulary
    for sentence, found in zip(SENTENCES, french, strict=True):
        assert found["ids"] == source.encode(sentence)
        with torch.inference_mode():
            logits, looks = translator.model(
                torch.from_numpy(encode_batch([sentence], source)), torch.tensor([[1, *found["words"][:-1]]])
            )
        assert np.abs(np.array(found["rows"]) - logits[0].numpy()).max() < AS_CLOSE
        theirs = np.stack([layer[0].numpy() for layer in looks]).transpose(2, 0, 1, 3)
        assert np.abs(np.array(found["looks"]) - theirs).max() < AS_CLOSE
        assert found["text"] == translator(sentence)[0]


@needs_node
def test_a_notebook_s_page_computes_with_the_numbers_rounded_to_8_bits(tmp_path):
    made = type_french.widget_of()
    model = live.Model(made.about, made.numbers)
    script = """
const translator = new page.Translator(about, bytes);
said = given.map((text) => {
  const steps = [...translator.greedy(translator.encode(text).ids)];
  return { looks: steps.map(({ looks }) => looks), text: translator.decode(steps.map(({ id }) => id)) };
});"""
    files = tuple(name.removesuffix(".js") for name in type_french.FILES[:-2])  # without what draws
    found = in_node(tmp_path, files, model, script, SENTENCES[:20])
    shipped = LibraryTranslator.shipped().checkpoint
    twin = LibraryTranslator(replace(shipped, state=rounded(shipped.state)[2]))
    for sentence, page in zip(SENTENCES[:20], found, strict=True):
        said, alignment = twin(sentence)
        assert page["text"] == said
        assert np.abs(np.array(page["looks"]).transpose(1, 2, 0, 3) - alignment.weights).max() < AS_CLOSE
    sixteen = sum(array.size * 2 for array in shipped.state.values())
    assert len(made.numbers) < 0.52 * sixteen


@pytest.mark.slow
def test_8_bits_translate_as_16_do():
    """As docs/site.md says; 500 sentences were compared for it."""
    shipped = LibraryTranslator.shipped()
    eighths = LibraryTranslator(replace(shipped.checkpoint, state=rounded(shipped.checkpoint.state)[2]))
    for sentence in SENTENCES:
        (said, looks), (said_then, looks_then) = shipped(sentence), eighths(sentence)
        assert said == said_then
        assert np.abs(looks.weights - looks_then.weights).max() < 0.03


@pytest.mark.slow
@needs_node
def test_the_page_s_beam_is_the_lab_s(french, labs):
    beam_search = labs["05_transformer_pytorch"].reference["beam_search"]
    translator = LibraryTranslator.shipped()
    for sentence, found in list(zip(SENTENCES, french, strict=True))[:20]:
        given = torch.from_numpy(encode_batch([sentence], translator.checkpoint.source_vocabulary))
        with torch.inference_mode():
            ids, score = beam_search(translator.model, given, beam_size=4, max_len=24)
        best = found["beam"][0]
        assert [word for word in best["words"] if word != 2] == ids.tolist()
        assert best["score"] == pytest.approx(float(score), abs=AS_CLOSE)


@needs_node
def test_the_page_cuts_and_joins_words_as_the_labs_do(tmp_path):
    odd = [
        "Est-ce que l’Afrique est belle ?", "Aujourd'hui, Jane's «sœur» n'a pas 3,14 ou 1.000 € !", "",
        "  qu'il   y ait\u00a0: l'été — (États-Unis)…", "don't we'll L'EAU jusqu'à d'", "e\u0301te\u0301 12.5.3a _x' 'y' -a-",
    ]  # fmt: skip
    given = [*odd, *SENTENCES, *(pair.target for pair in translation_pairs(50, seed=1))]
    script = "said = given.map((text) => { const words = page.wordTokens(text); return [words, page.joinWords(words)]; });"
    found = in_node(tmp_path, ("words",), live.Model({}, b""), script, given)
    for text, (words, joined) in zip(given, found, strict=True):
        assert words == word_tokens(text), text
        assert joined == join_words(word_tokens(text)), text


# Texts that a byte-pair encoding could cut differently: blanks of all kinds, marks on letters, numbers of all scripts, no letters at all.
ODD = [
    "", " ", "a\u0085b\ufeffc\u200bd", "  two\t\ttabs \r\n", "I'm, they'll, L'EAU, it'S", "é e\u0301 ﬁ Ⅷ ½ ²³ ٣ 一二", "👩‍👩‍👧 \U0001f600", "\x00\x7f\xad\u2028",
]  # fmt: skip


def of_any_letters(count: int) -> list[str]:
    """Random texts: every plane of Unicode, and blanks, apostrophes and plain letters between them; no halves of surrogates."""
    chance = random.Random(36)
    ranges = [
        (0, 0x80),
        (0x80, 0x300),
        (0x300, 0x3000),
        (0x3000, 0xD800),
        (0xE000, 0x10000),
        (0x10000, 0x110000),
    ]
    plain = [*" \n'stremdlv", "\u00a0", "\u3000", "\ufeff", " jane", "'ll"]
    return [
        "".join(
            chance.choice(plain) if chance.random() < 0.5 else chr(chance.randrange(*chance.choice(ranges)))
            for _ in range(chance.randrange(1, 40))
        )
        for _ in range(count)
    ]


@needs_node
@pytest.mark.slow
def test_the_page_cuts_any_text_into_the_course_s_byte_pairs_and_puts_it_together_again(tmp_path):
    tokens, chance = Writer.shipped().tokens, random.Random(37)
    texts = [
        *ODD,
        *of_any_letters(3_000),
        *(one for task in one_model.TASKS for one in task.examples),
        *SENTENCES,
    ]
    # What a model might write: any ids, halves of letters and numbers that are none among them.
    written = [[chance.randrange(len(tokens) + 2) for _ in range(12)] for _ in range(500)]
    script = """
const tokens = new page.BytePairs(about);
said = { ids: given.texts.map((text) => tokens.encode(text)), back: given.texts.map((text) => tokens.decode(tokens.encode(text))),
  written: given.written.map((ids) => tokens.decode(ids)) };"""
    found = in_node(
        tmp_path, ("byte_pairs",), live.text_to_text(), script, {"texts": texts, "written": written}
    )
    assert found["back"] == texts
    assert found["written"] == [tokens.decode(ids) for ids in written]
    for text, ids in zip(texts, found["ids"], strict=True):
        assert ids == tokens.encode(text), ascii(text)


@pytest.mark.slow
@needs_node
def test_the_page_s_model_for_one_model_has_pytorch_s_logits_attention_and_answers(tmp_path):
    writer = Writer.shipped()
    texts = [one.source for data in one_model.examples_of_tasks().values() for one in data.test[:20]]
    texts += ["summarise: anything", "Jane", "headline: zvonko"]  # no task's
    script = """
const model = new page.TextToText(about, bytes);
said = given.map((text) => {
  const ids = model.tokens.encode(text), memory = model.read(ids), steps = [...model.greedy(ids)];
  let state = model.begin();
  const rows = [model.first, ...steps.map(({ id }) => id)].slice(0, -1).map((id) => {
    const next = model.step(memory, state, id);
    state = next.state;
    return [...next.logits];
  });
  return { rows, words: steps.map(({ id }) => id), looks: steps.map(({ looks }) => looks), text: model.tokens.decode(steps.map(({ id }) => id)) };
});"""
    files = ("arithmetic", "encoder_decoder", "byte_pairs", "text_to_text")
    found = in_node(tmp_path, files, live.text_to_text(), script, texts)
    assert len(texts) > 100
    for text, answer, one in zip(texts, writer.write(texts), found, strict=True):
        said = torch.tensor([[writer.pad_id, *one["words"][:-1]]])
        looks = []
        with torch.inference_mode(), recorded(writer.model, looks):
            logits = writer.model(writer.padded([writer.tokens.encode(text)]), said)
        assert np.abs(np.array(one["rows"]) - logits[0].numpy()).max() < AS_CLOSE, text
        assert np.abs(np.array(one["looks"]) - np.stack(looks).transpose(2, 0, 1, 3)).max() < AS_CLOSE, text
        assert one["text"] == answer


@pytest.mark.slow
def test_8_bits_answer_almost_as_16_do():
    """As docs/site.md says; 700 texts were compared for it."""
    texts = [one.source for data in one_model.examples_of_tasks().values() for one in data.test[:20]]
    shipped, eighths = Writer.shipped(), Writer.shipped()
    _, _, now = rounded(one_model.state())
    eighths.model.load_state_dict({name: torch.from_numpy(array) for name, array in now.items()})
    answers = zip(shipped.write(texts), eighths.write(texts), strict=True)
    assert sum(one == other for one, other in answers) > 0.95 * len(texts)


@contextmanager
def recorded(model: TextToText, looks: list[np.ndarray]) -> Iterator[None]:
    """Writes down the weights of each decoder layer's cross-attention: (heads, target, source)."""

    def record(attention: Attention, inputs: tuple) -> None:
        queries, (keys, _), *_ = inputs
        weights = (queries @ keys.transpose(-2, -1) / queries.shape[-1] ** 0.5).softmax(-1)
        looks.append(weights[0].numpy())

    hooks = [layer.cross.register_forward_pre_hook(record) for layer in model.decoder]
    yield
    for hook in hooks:
        hook.remove()


CAUTIONS = {
    **{f"{prefix}{text}": [] for prefix, text in (
        ("translate French to English: ", live.LOOP_SENTENCES[2]), ("headline: ", "sifo visited rima on monday ."), ("language: ", "o'neill"),
        ("verb: ", "the old keys near the cabinet still"), ("", "the old keys near the cabinet still"), ("", "at 3:30 it rained"))},
    "": ["Type a text"], "verb:": ["Type a text"], "  headline:   ": ["Type a text"],
    "summarise: the old keys": ["never shown the prefix “summarise:”"], "translate English to French: Jane": ["never shown the prefix"],
    "Translate french to  English: Jane": ["always written “translate French to English:”"], "headline:sifo visited rima": ["always written “headline:”"],
    "translate French to English: Jane visite Mars et Vénus": ["has “Mars”, “Vénus”. The"], "verb: the purple keys": ["has “purple”. The"],
    "headline: sifo, a painter": ["small letters"], "headline: Sifo visited rima": ["small letters"],
    "summarise: " + 40 * "word ": ["never shown", "has 41 words"],
}  # fmt: skip


@needs_node
def test_the_page_cautions_where_a_text_is_unlike_the_training_and_only_there(tmp_path):
    script = "said = given.map((text) => page.cautions(text.trim(), about));"
    model = live.text_to_text()
    data = one_model.examples_of_tasks()
    like_training = [one.source for task in data.values() for one in task.train[:200]]
    given = [*CAUTIONS, *like_training]
    found = in_node(tmp_path, ("page", "words", "one_model"), model, script, given)
    for (text, expected), cautions in zip(CAUTIONS.items(), found, strict=False):
        assert len(cautions) == len(expected), text
        assert all(part in caution for part, caution in zip(expected, cautions, strict=True)), cautions
    assert not any(found[len(CAUTIONS) :])


def test_what_the_page_says_of_the_tasks_is_what_was_measured():
    text = (ROOT / "docs/data-text-to-text.md").read_text("utf-8")
    for task in one_model.TASKS:
        measured, prefixes = re.findall(rf"^\| {task.name} \| (\d.*) \|$", text, re.M)
        assert re.match(r"\d+", measured)[0] == str(task.right)
        assert prefixes == f"{task.bare} | {task.other}"
    assert f" {one_model.TASKS[1].other} of 100 articles" in " ".join(one_model.LIMITS)
    for score in re.findall(r"\.\d{3}", " ".join(one_model.LIMITS)):
        assert f"| {score} |" in text


SPELL = """
const speller = new page.Speller(about, bytes);
const logits = given.rows.map((row) => {
  let state = { length: 0, blocks: [] };
  return row.slice(0, -1).map((id) => {
    const next = speller.step(state, id);
    state = next.state;
    return [...next.logits];
  });
});
said = { logits, shares: given.settings.map((each) => logits[0].map((row) => page.sampling(row, each))),
  drawn: given.chances.map((chance) => page.drawn([0, 0.25, 0, 0.5, 0.25, 0], chance)) };"""


@pytest.fixture(scope="module")
def spelled(labs, tmp_path_factory) -> tuple[list[list[int]], dict[str, Any], Any]:
    """Rows of ids; for each the page's logits, and for the first one its probabilities at some settings; lab 08's solution."""
    if NODE is None:
        pytest.skip("Node.js is not installed (Debian: nodejs)")
    model, reference = live.speller(), labs["08_language_model_and_summarizer"].reference
    number = {token: place for place, token in enumerate(model.about["tokens"])}
    rows = [
        [number[token] for token in (one.language, *one.name, "<end>")]
        for one in random.Random(37).sample(load_language_names(), 100)
    ]
    given = {
        "rows": rows,
        "settings": [settings for settings, _ in SETTINGS],
        "chances": [0, 0.24, 0.26, 0.74, 0.76, 1],
    }
    folder = tmp_path_factory.mktemp("names")
    return rows, in_node(folder, ("arithmetic", "speller"), model, SPELL, given), reference


SETTINGS = [
    ({}, {}), ({"temperature": 0.5}, {"temperature": 0.5}), ({"topK": 5}, {"top_k": 5}), ({"topP": 0.8}, {"top_p": 0.8}),
    ({"temperature": 1.7, "topK": 9, "topP": 0.6}, {"temperature": 1.7, "top_k": 9, "top_p": 0.6}),
]  # fmt: skip


@needs_node
def test_the_page_s_speller_has_pytorch_s_logits_for_100_names_and_spells_as_well(spelled):
    rows, found, reference = spelled
    model = reference["GPT"](len(live.speller().about["tokens"]), 18, 96, 4, 3)
    model.load_state_dict(load_decoder("names", model.state_dict()))
    nats, count = 0.0, 0
    with torch.inference_mode():
        for row, logits in zip(rows, found["logits"], strict=True):
            theirs = model.eval()(torch.tensor([row[:-1]]))[0]
            assert np.abs(np.array(logits) - theirs.numpy()).max() < AS_CLOSE
            chosen = torch.tensor(logits).log_softmax(-1).gather(-1, torch.tensor(row[1:])[:, None])
            nats, count = nats - float(chosen.sum()), count + len(chosen)
    assert (
        nats / count < 2.3
    )  # 4.5 would be a blind guess: the tokens are in the order that the model has learned


@needs_node
def test_names_are_spelled_with_8_bits_almost_as_with_16(spelled, tmp_path):
    rows, found, _ = spelled
    made = what_comes_next.widget()
    model = live.Model(made.about, made.numbers)
    given = {"rows": rows, "settings": [], "chances": []}
    eighths = in_node(tmp_path, ("arithmetic", "speller"), model, SPELL, given)["logits"]
    nats = [0.0, 0.0]
    for row, *both in zip(rows, found["logits"], eighths, strict=True):
        shares = [torch.tensor(logits).softmax(-1) for logits in both]
        assert (shares[0] - shares[1]).abs().max() < 0.05
        for which, each in enumerate(shares):
            nats[which] -= float(each.gather(-1, torch.tensor(row[1:])[:, None]).log().sum())
    assert abs(nats[0] - nats[1]) < 0.002 * nats[0]


@needs_node
def test_the_page_s_sliders_do_what_the_lab_s_exercise_does(spelled):
    _, found, reference = spelled
    for (_, settings), shares in zip(SETTINGS, found["shares"], strict=True):
        theirs = reference["sampling_probabilities"](
            torch.tensor(found["logits"][0], dtype=torch.float64), **settings
        )
        assert np.abs(np.array(shares) - theirs.numpy()).max() < AS_CLOSE
        assert (np.array(shares) > 0).tolist() == (theirs > 0).tolist()
    assert found["drawn"] == [1, 1, 3, 3, 4, 4]


@needs_node
def test_the_page_s_own_numbers_go_through_attention_as_the_course_s_do_and_survive_in_an_address(tmp_path):
    rng = np.random.default_rng(0)
    words = ["a", "b c", "d"]
    given = {"words": words} | {
        name: rng.standard_normal((3, 2)).round(2).tolist() for name in ("query", "key", "value")
    }
    script = """
said = [page.attentionOf(given), page.fromText(page.asText(given)), ["", "a,1", "a,1,2,3,4,5,x/b,1,2,3,4,5,6", "a,1,2,3,4,5,100/b,1,2,3,4,5,6"].map((text) => page.fromText(text) ?? null)];
"""
    found, again, refused = in_node(
        tmp_path, ("page", "arithmetic", "widget", "own_numbers"), live.own_numbers(), script, given
    )
    expected = AttentionStepper(words, *(np.array(given[name]) for name in ("query", "key", "value")))
    for name in ("scores", "scaled", "weights", "output"):
        assert np.abs(np.array(found[name]) - getattr(expected, name)).max() < 1e-6, name
    assert again == given and refused == [None] * 4


@needs_node
def test_a_page_reads_its_numbers_from_text(tmp_path):
    numbers = bytes(8) + np.random.default_rng(0).bytes(20_000) + b"ab"
    text = live.as_text(numbers)
    assert "<" not in text and len(text) < 1.26 * len(numbers)
    found = in_node(tmp_path, ("page",), live.Model({}, b""), "said = [...page.fromText85(given)];", text)
    assert bytes(found) == numbers + bytes(2)


def test_the_loop_s_scenes_are_what_the_translator_does():
    translator = LibraryTranslator.shipped()
    for scene in live.decoding_loop().about["sentences"]:
        said, alignment = translator(scene["text"])
        assert join_words([step["word"] for step in scene["steps"]][:-1]) == said
        for step, looks in zip(scene["steps"], alignment.mean(), strict=True):
            assert step["likeliest"][0][0] == step["word"]  # greedy
            assert np.abs(np.array(step["looks"]) - looks).max() < AS_CLOSE


def test_the_encoder_s_pages_have_its_attention_and_a_course_without_it_is_told_so(
    labs, tmp_path, monkeypatch
):
    sentences = live.heads_of_encoder().about["sentences"]
    assert len(sentences) == 10 and all(each["cut"] == 0 for each in sentences)
    reading = read(sentences[3]["sentence"])
    assert np.abs(np.array(sentences[3]["thousandths"]) / 1000 - reading.attention).max() <= 0.0005

    def missing():
        raise RuntimeError("The pretrained encoder is not installed.")

    pages = [replace(page, model=missing) for page in live.PAGES if page.name == "heads"]
    monkeypatch.setattr(live, "PAGES", pages)
    with pytest.raises(CourseError, match="The page “Head browser” cannot be made. The pretrained encoder"):
        live.write_pages([lab.info for lab in labs.values()], tmp_path)


@pytest.mark.slow
def test_a_word_moves_where_the_encoder_puts_it_and_the_page_says_so():
    def vectors(word: str, sentences: list[str]) -> np.ndarray:
        readings = [read(sentence) for sentence in sentences]
        found = [reading.hidden[-1][list(reading.tokens).index(word)] for reading in readings]
        return np.array([vector / np.linalg.norm(vector) for vector in found])

    about = live.words_that_move().about
    in_the_lab = WordMoves(read).data()["words"]
    nearest = {}
    for word, shown in about["start"]["words"].items():
        for name in ("senses", "bare"):  # more sentences leave the lab's plane as it is
            assert shown[name] == in_the_lab[word][name]
        middles = [vectors(word, sense["sentences"]).mean(axis=0) for sense in shown["senses"]]
        middles = np.array([middle / np.linalg.norm(middle) for middle in middles])
        moved = vectors(word, [each["sentence"] for each in shown["moved"]])
        cosines = np.array([list(each["close"].values()) for each in shown["moved"]])
        assert np.abs(moved @ middles.T - cosines).max() < 0.0051
        nearest |= {each["sentence"]: each["nearest"] for each in shown["moved"]}
        if word == "station":
            assert np.ptp(cosines[-2:], axis=1).max() < 0.03  # "nearly equal"
        if word == "it":
            (tired, wide), animal = cosines[:2], list(shown["moved"][0]["close"]).index("the animal")
            assert wide[animal] < tired[animal] and wide[1 - animal] > tired[1 - animal]
    assert nearest["The train to the radio station was late."] == "radio"
    assert nearest["The date is at eight."] == "fruit"
    assert nearest["I will see you on Monday."] == "with the eyes"
    assert nearest["I see the doctor in the garden."] == "visit"
    assert {nearest[each["sentence"]] for each in about["start"]["words"]["it"]["moved"]} == {"the animal"}
    assert about["look"].keys() == about["start"]["words"].keys()


def test_numbers_that_16_bits_cannot_hold_are_refused():
    with pytest.raises(ValueError, match="a is not exact in 16 bits"):
        live.packed({"a": np.array([0.1], np.float32)})


# ---------------------------------------------------------------------------------- pages


@pytest.fixture(scope="module")
def pages(labs, tmp_path_factory) -> Path:
    """The folder with the pages that run."""
    site = tmp_path_factory.mktemp("site")
    live.write_pages([lab.info for lab in labs.values()], site)
    return site / live.FOLDER


def test_each_page_is_one_file_of_at_most_3_mb_that_a_landing_page_leads_to(pages):
    landing = pages.joinpath("index.html").read_text("utf-8")
    assert {path.name for path in pages.iterdir()} == {
        "index.html",
        *(f"{page.name}.html" for page in live.PAGES),
    }
    for page in live.PAGES:
        file = pages / f"{page.name}.html"
        assert file.stat().st_size <= MOST_BYTES
        assert f'href="{file.name}"' in landing and page.lead in landing
        still = file.read_text("utf-8").partition('<script type="application/json"')[0]
        assert re.search(r'role="img" aria-label="[^"]{40,}|<img [^>]*alt="[^"]{40,}', still), page.name


def test_a_lab_s_page_leads_to_its_pages_below_the_cells_that_show_the_same(labs):
    for page in live.PAGES:
        release = labs[page.lab].release()
        cells = live.with_links(release, page.lab).cells
        (place,) = (at for at, cell in enumerate(cells) if cell.id == f"live-{page.name}")
        assert f'<a href="../live/{page.name}.html">{page.title}</a>. {page.lead}' in cells[place].source
        before = next(cell for cell in reversed(cells[:place]) if not cell.id.startswith("live-"))
        assert page.after in before.source
        assert [cell for cell in cells if not cell.id.startswith("live-")] == release.cells


def test_a_course_without_the_models_labs_has_no_such_pages(labs, tmp_path):
    some = [lab.info for name, lab in labs.items() if name.startswith("00")]
    live.write_pages(some, tmp_path)
    assert list(tmp_path.iterdir()) == [] and live.links(some) == ""


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: scripts/setup_browser.sh says how")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def opened(browser, pages):
    """Opens a page from the disk; afterwards nothing may have failed, nor been asked of another machine."""
    contexts, faults = [], []

    def opens(name: str, fragment: str = "", **options: Any) -> Page:
        context = browser.new_context(
            **{"viewport": {"width": 1400, "height": 900}, "reduced_motion": "reduce"} | options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "request", lambda request: None if request.url.startswith("file:") else faults.append(request.url)
        )
        page.goto((pages / f"{name}.html").as_uri() + fragment)
        return page

    yield opens
    for context in contexts:
        context.close()
    assert faults == []


@pytest.mark.slow
def test_a_sentence_is_translated_as_one_types_and_its_address_brings_it_back(opened):
    page = opened("type-french")
    page.get_by_label("A French sentence").fill("Paul n'aime plus la vieille voiture rouge")
    page.get_by_role("row", name="greedy").filter(has_text="Paul no longer loves the old red car").wait_for()
    again = opened("type-french", page.url.partition(".html")[2])
    again.get_by_role("row", name="greedy").filter(has_text="Paul no longer loves the old red car").wait_for()
    assert (
        again.get_by_label("A French sentence").input_value() == "Paul n'aime plus la vieille voiture rouge"
    )
    page.get_by_label("A French sentence").fill("Jane visite Mars")
    page.get_by_text("The model was never shown “Mars”").wait_for()
    page.get_by_label("A French sentence").fill("Jane " * 33)
    page.get_by_text("reads at most 32: shorten it").wait_for()


@pytest.mark.slow
def test_words_are_reached_by_keys_and_say_where_the_model_looked(opened):
    page = opened("type-french")
    page.get_by_role("row", name="greedy").wait_for()
    words = page.get_by_role("list", name="English words").get_by_role("button")
    assert words.all_inner_texts() == ["Jane", "visits", "Africa", "in", "September", "<eos>"]
    words.nth(4).focus()
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    assert words.nth(1).evaluate("word => word === document.activeElement")
    page.get_by_text("Before it wrote “visits”, it looked at visite").wait_for()
    whole = page.locator(".french b").all_inner_texts()
    page.get_by_label("Attention of").select_option("layer 1, head 1")
    assert page.locator(".french b").all_inner_texts() != whole


@pytest.mark.slow
def test_words_come_one_by_one_unless_the_reader_wants_no_motion(opened):
    """The next word waits for a timer, and timers stand still here."""
    for motion, count in (("no-preference", 1), ("reduce", 6)):
        page = opened("index", reduced_motion=motion)
        page.add_init_script("window.setTimeout = () => 0")
        page.goto(page.url.replace("index.html", "type-french.html"))
        page.locator("#live[data-live]").wait_for()
        assert page.get_by_role("list", name="English words").get_by_role("button").count() == count


@pytest.mark.slow
def test_a_prefix_is_picked_the_answer_is_reached_by_keys_and_the_address_keeps_both(opened):
    page = opened("one-model")
    field, rows = page.get_by_label("A prefix and a text"), page.locator(".answers tbody tr")
    assert page.locator(".answer").inner_text() == "Jane visits Africa in September"
    assert rows.count() == len(one_model.TASKS) + 1
    page.get_by_role("button", name="headline:", exact=True).focus()
    page.keyboard.press("Enter")
    assert field.input_value() == "headline: Jane visite l'Afrique en septembre"
    assert page.get_by_role("button", name="headline:", exact=True).get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="kobena").click()
    page.locator(".answer", has_text="kobena repairs bridge in tamuri").wait_for()
    pieces = page.get_by_role("list", name="What it writes").get_by_role("button")
    assert pieces.last.inner_text() == "<end>"
    pieces.nth(pieces.count() - 2).focus()
    page.keyboard.press("ArrowRight")
    page.get_by_text("Before it wrote “<end>”, it looked at").wait_for()
    whole = page.get_by_role("list", name="What it reads").inner_text()
    page.get_by_label("Attention of").select_option("layer 1, head 1")
    assert page.get_by_role("list", name="What it reads").inner_text() != whole
    again = opened("one-model", page.url.partition(".html")[2])
    again.locator(".answer", has_text="kobena repairs bridge in tamuri").wait_for()
    assert (
        again.get_by_label("A prefix and a text").input_value()
        == f"headline: {one_model.TASKS[1].examples[0]}"
    )
    field.fill("summarise: Jane visite l'Afrique")
    page.get_by_text("never shown the prefix “summarise:”").wait_for()
    field.fill("verb:\n")
    page.get_by_text("Type a text behind the prefix").wait_for()
    assert pieces.count() == rows.count() == 0
    field.fill("verb: " + 90 * "ж")
    page.get_by_text("reads at most 100: shorten it").wait_for()


@pytest.mark.slow
def test_sliders_move_the_distribution_by_keys_and_the_address_keeps_them(opened):
    page = opened("what-comes-next")
    page.get_by_text("92 of 92 tokens can be drawn").wait_for()
    likeliest = page.get_by_role("row").nth(1).locator("td").nth(1)
    before = likeliest.inner_text()
    page.get_by_label("Top-k").focus()
    page.keyboard.press("Home")
    page.get_by_text("1 of 92 tokens can be drawn").wait_for()
    assert before != "100\u00a0%" and likeliest.inner_text() == "100\u00a0%"
    page.get_by_role("button", name="Draw a letter").click()
    assert len(page.get_by_label("The name so far").input_value()) == 3
    again = opened("what-comes-next", page.url.partition(".html")[2])
    again.get_by_text("1 of 92 tokens can be drawn").wait_for()
    assert (
        again.get_by_label("The name so far").input_value()
        == page.get_by_label("The name so far").input_value()
    )
    page.get_by_role("button", name="Reset the settings").click()
    page.get_by_text("92 of 92 tokens can be drawn").wait_for()
    page.get_by_label("The name so far").fill("ma~")
    page.get_by_text("The model knows no “~”").wait_for()
    page.get_by_role("button", name="Draw ten names").click()
    assert page.get_by_role("list", name="Names drawn").get_by_role("listitem").count() == 10


@pytest.mark.slow
def test_another_sentence_shows_its_heads_and_its_address_brings_it_back(opened):
    page = opened("heads")
    page.get_by_label("A sentence").select_option("He took his money to the bank.")
    page.get_by_role("img", name="Left: layer 3, head 8").get_by_text("money", exact=True).first.wait_for()
    page.get_by_role("gridcell", name="layer 3, head 8").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_text("Left: layer 4, head 8").wait_for()
    again = opened("heads", page.url.partition(".html")[2])
    assert (
        again.get_by_label("A sentence").locator("option:checked").inner_text()
        == "He took his money to the bank."
    )


@pytest.mark.slow
def test_a_sentence_moves_the_word_by_keys_and_its_address_brings_it_back(opened):
    words = live.words_that_move().about["start"]["words"]
    page = opened("a-word-moves", "#no%20such%20sentence")
    assert page.get_by_role("textbox").count() == 0  # nobody is there to read another sentence
    page.get_by_role("radio", name="station", exact=True).focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.get_by_text("Look at what is wide, icy or busy").wait_for()
    page.keyboard.press("Tab")
    ends, arrow = [], page.locator("svg .appears line")
    for moved in words["it"]["moved"]:
        close = ", ".join(f"{name} {cosine:.2f}" for name, cosine in moved["close"].items())
        page.get_by_role(
            "img", name=f"{moved['sentence']}”: it is closest to “{moved['nearest']}”"
        ).wait_for()
        page.get_by_text(f"Cosine with the middle of each sense: {close}.").wait_for()
        ends.append([float(arrow.get_attribute(name) or "nan") for name in ("x2", "y2")])
        page.keyboard.press("ArrowDown")
    for axis, direction in ((0, 1), (1, -1)):  # the arrow's end follows the vector
        there = [moved["at"][axis] for moved in words["it"]["moved"]]
        assert np.corrcoef(there, [end[axis] for end in ends])[0, 1] == pytest.approx(direction)
    page.keyboard.press("ArrowUp")  # from the first one around to the last
    again = opened("a-word-moves", page.url.partition(".html")[2])
    assert again.get_by_role("radio", name="it", exact=True).is_checked()
    assert again.get_by_role("radio", name=words["it"]["moved"][-1]["sentence"]).is_checked()


@pytest.mark.slow
def test_typed_numbers_are_what_the_stepper_draws_and_the_address_keeps_them(opened):
    page = opened("your-numbers")
    page.get_by_label("query of word 1, number 1").fill("3")
    page.get_by_role("textbox", name="word 1").fill("Zoe")
    page.get_by_role("button", name="Next ▶").focus()
    for _ in range(2):
        page.keyboard.press("Enter")
    page.get_by_text("For “Zoe”: 3.00·2.00 + 0.00·0.00 = 6.00.").wait_for()
    page.get_by_label("key of word 1, number 1").fill("1")  # the step stays
    page.get_by_text("For “Zoe”: 3.00·1.00 + 0.00·0.00 = 3.00.").wait_for()
    page.get_by_label("key of word 1, number 1").fill("1000")
    page.get_by_text("Each number lies between").wait_for()
    page.get_by_role("button", name="Add a word").click()
    assert page.evaluate("document.activeElement.value") == "new"
    page.get_by_role("button", name="Remove word 2").click()
    again = opened("your-numbers", page.url.partition(".html")[2])
    names = [field.input_value() for field in again.get_by_role("textbox").all()]
    assert names == ["Zoe", "Africa", "new"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, label, chosen, there, count",
    [
        ("embedding-to-heads", "Follow the word", "septembre", "Head 0 looks most at", 7),
        ("decoding-loop", "Translate", live.LOOP_SENTENCES[1], "Likeliest next: no", 11),
    ],
)
@pytest.mark.parametrize("width", [1400, 400])
def test_a_story_follows_the_scroll_and_the_keys_and_its_address_keeps_the_scene(
    opened, name, label, chosen, there, count, width
):
    page = opened(name, viewport={"width": width, "height": 800})
    page.get_by_label(label).select_option(chosen)
    scenes = page.locator(".scenes section")
    assert scenes.count() == count
    page.get_by_role("button", name="Next").focus()
    for _ in range(2):
        page.keyboard.press("Enter")
    page.get_by_role("img", name=there).wait_for()
    assert page.locator(".scenes .now h2").inner_text().startswith("3. ")
    top, stays = scenes.nth(2).locator("h2").bounding_box(), page.locator(".beside").bounding_box()
    assert (
        top and stays and (width > 800 or top["y"] >= stays["y"] + stays["height"])
    )  # not below the picture
    assert top["y"] < 600
    again = opened(name, page.url.partition(".html")[2], viewport={"width": width, "height": 800})
    again.get_by_role("img", name=there).wait_for()
    again.mouse.move(200, 700)
    again.mouse.wheel(0, 20_000)
    again.get_by_text(f"{count} of {count}: ").wait_for()


@pytest.mark.slow
@pytest.mark.parametrize("name", [page.name for page in live.PAGES])
def test_a_page_that_cannot_run_keeps_its_still_picture(browser, pages, tmp_path, name):
    text = pages.joinpath(f"{name}.html").read_text("utf-8")
    tmp_path.joinpath("page.html").write_text(
        text.replace("function html(", "function no_html(", 1)
        if "courseWidget" not in text
        else text.replace("courseWidget.render(", "courseWidget.nothing("),
        "utf-8",
    )
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_load_state()
    assert page.get_by_role("img").first.is_visible() and not page.locator("#live[data-live]").count()
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["index", *(page.name for page in live.PAGES)])
@pytest.mark.parametrize("width, theme", [(1400, "light"), (400, "dark")])
def test_pages_follow_the_theme_fit_a_phone_and_are_accessible(opened, name, width, theme):
    page = opened(name, viewport={"width": width, "height": 800}, color_scheme=theme)
    assert page.locator("html").get_attribute("data-theme") == theme
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if AXE is None:
        pytest.skip(
            "all but accessibility was looked at: `scripts/setup_extra.sh axe` installs what does that"
        )
    if name == "type-french":
        page.get_by_role("row", name="greedy").wait_for()
    if name == "one-model":
        page.get_by_role("row", name="no prefix").last.wait_for()
    assert violations(page) == []
