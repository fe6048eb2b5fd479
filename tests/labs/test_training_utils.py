"""The training loop, the scores, the curves, and files of weights, which labs 05 and 06 share."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sacrebleu

from course_utils import plots
from course_utils.data.vocabulary import Vocabulary
from course_utils.models.translator import WeightsMismatch, load_weights, save_weights
from course_utils.plots import training as training_plots
from course_utils.plots.training import failure_gallery, learning_curves
from course_utils.training import Evaluation, History, corpus_bleu, exact_match, fit

# ---------------------------------------------------------------------------------- fit


def endless():
    number = 0
    while True:
        number += 1
        yield number


def test_fit_takes_the_given_number_of_steps_and_keeps_every_loss():
    history = fit(lambda batch, number: batch / number, endless(), steps=7, name="run")
    assert history.losses == [1.0] * 7 and history.steps == 7 and history.name == "run"
    assert len(history.seconds) == 7 and sorted(history.seconds) == history.seconds


def test_fit_counts_steps_from_one():
    numbers = []
    fit(lambda batch, number: numbers.append(number) or 0.0, endless(), steps=3)
    assert numbers == [1, 2, 3]


def test_fit_begins_no_step_once_its_seconds_are_over():
    assert fit(lambda batch, number: 0.0, endless(), seconds=0).steps == 1


def test_fit_ends_with_its_batches():
    assert fit(lambda batch, number: 0.0, range(4), steps=100).steps == 4


def test_fit_evaluates_as_often_as_asked_and_once_at_the_end():
    scores = iter([0.25, 0.5, 0.75])
    history = fit(
        lambda batch, number: 0.0, endless(), steps=8, evaluate=lambda: next(scores), evaluate_every=3
    )
    assert [(found.step, found.score) for found in history.evaluations] == [(3, 0.25), (6, 0.5), (8, 0.75)]


def test_fit_does_not_evaluate_twice_after_the_last_step():
    history = fit(lambda batch, number: 0.0, endless(), steps=6, evaluate=lambda: 1.0, evaluate_every=3)
    assert [found.step for found in history.evaluations] == [3, 6]


def test_fit_without_a_budget_says_what_is_missing():
    with pytest.raises(ValueError, match="steps=.* or seconds="):
        fit(lambda batch, number: 0.0, endless())


def test_fit_writes_one_line_to_stdout_and_nothing_to_stderr(capsys):
    fit(lambda batch, number: 0.5, endless(), steps=20, evaluate=lambda: 0.875, name="short run")
    said = capsys.readouterr()
    assert said.err == "" and said.out.count("\n") == 1
    assert "short run" in said.out and "20/20" in said.out
    assert "loss 0.500" in said.out and "exact match 87.5%" in said.out


# ---------------------------------------------------------------------------------- scores


def test_exact_match_is_the_share_of_equal_sentences():
    assert exact_match(["a b", "c", "d"], ["a b", "C", "d"]) == pytest.approx(2 / 3)


def test_corpus_bleu_is_sacrebleus():
    written = ["Jane visits Africa in September", "The black dog runs home very quickly"]
    wanted = ["Jane visits Africa in May", "The black dog runs home very quickly"]
    assert corpus_bleu(written, wanted) == pytest.approx(sacrebleu.corpus_bleu(written, [wanted]).score)
    assert 0 < corpus_bleu(written, wanted) < corpus_bleu(wanted, wanted) == pytest.approx(100)


@pytest.mark.parametrize("measure", [exact_match, corpus_bleu])
@pytest.mark.parametrize("pairs", [([], []), (["a"], ["a", "b"])])
def test_scores_of_nothing_or_of_unequal_numbers_are_refused(measure, pairs):
    with pytest.raises(ValueError, match="predictions for"):
        measure(*pairs)


# ---------------------------------------------------------------------------------- curves and failures


def a_history(name: str) -> History:
    losses = [3 / step for step in range(1, 61)]
    evaluations = [Evaluation(30, 3.0, 0.4), Evaluation(60, 6.0, 0.9)]
    return History(name, losses, [step / 10 for step in range(1, 61)], evaluations)


@pytest.mark.parametrize("by, last", [("seconds", 6.0), ("steps", 60)])
def test_curves_of_several_runs_share_one_figure(by, last):
    left, right = learning_curves([a_history("one"), a_history("other")], by=by).axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["one", "other"]
    assert right.lines[0].get_xdata()[-1] == last and list(right.lines[0].get_ydata()) == [0.4, 0.9]


def test_runs_that_were_never_evaluated_have_their_loss_alone():
    without = History("without", [3.0, 2.0], [0.1, 0.2])
    assert len(learning_curves([without]).axes) == 1
    _, right = learning_curves([without, a_history("with")]).axes
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["with"]


def test_curves_of_a_run_shorter_than_the_smoothing_can_be_drawn():
    assert learning_curves([History("short", [2.0, 1.0], [0.1, 0.2])])


def test_curves_by_something_else_are_refused():
    with pytest.raises(ValueError, match="seconds or steps"):
        learning_curves([a_history("one")], by="epochs")


@pytest.fixture
def published(monkeypatch) -> list[dict[str, str]]:
    bundles: list[dict[str, str]] = []
    for module in (plots, training_plots):
        monkeypatch.setattr(module, "publish", bundles.append)
    return bundles


def test_the_gallery_marks_what_is_missing_and_what_stands_there_instead(published):
    failure_gallery(["Le chien <noir>", "Oui"], ["The black dog", "Yes"], ["The dog sleeps", "Yes"])
    (bundle,) = published
    assert "[-black-]" in bundle["text/plain"] and "{+sleeps+}" in bundle["text/plain"]
    assert "<del" in bundle["text/html"] and "<ins" in bundle["text/html"]
    assert "&lt;noir&gt;" in bundle["text/html"] and "Oui" not in bundle["text/html"]
    assert bundle["text/plain"].startswith("1 differ")


def test_the_gallery_shows_no_more_than_its_limit_but_counts_all(published):
    failure_gallery(["a"] * 5, ["b"] * 5, ["c"] * 5, limit=2)
    assert published[0]["text/plain"].count("[-b-]") == 2 and "5 differ" in published[0]["text/plain"]


def test_a_gallery_without_failures_says_so(published):
    failure_gallery(["Oui"], ["Yes"], ["Yes"])
    assert published == [{"text/plain": "No translation differs from its reference."}]


# ---------------------------------------------------------------------------------- files of weights

CONFIG = {"num_layers": 1, "embedding_dim": 4, "norm_first": False}
FRENCH, ENGLISH = Vocabulary(["chat", "été", "l'"]), Vocabulary(["cat", "summer"])


def some_state(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        "encoder.embedding.weight": rng.standard_normal((7, 4)).astype(np.float32),
        "final_linear.bias": rng.standard_normal(6).astype(np.float32),
    }


@pytest.fixture
def state() -> dict[str, np.ndarray]:
    return some_state(np.random.default_rng(0))


@pytest.fixture
def path(tmp_path, state):
    file = tmp_path / "weights.safetensors"
    save_weights(state, file, CONFIG, FRENCH, ENGLISH)
    return file


def test_weights_come_back_as_they_were_saved(path, state):
    found = load_weights(path, expected=state, vocabularies=(FRENCH, ENGLISH))
    assert set(found.state) == set(state) and found.config == CONFIG
    assert all(np.array_equal(found.state[name], array) for name, array in state.items())
    assert found.source_vocabulary.encode("l'été") == FRENCH.encode("l'été")
    assert found.target_vocabulary.decode([4, 5]) == "cat summer"


def test_weights_may_be_torch_tensors(tmp_path, state):
    import torch

    tensors = {name: torch.from_numpy(array).requires_grad_() for name, array in state.items()}
    save_weights(tensors, tmp_path / "t", CONFIG, FRENCH, ENGLISH)
    back = load_weights(tmp_path / "t", expected=tensors).tensors()
    assert all(torch.equal(back[name], tensor) for name, tensor in tensors.items())


def test_half_precision_halves_the_file_and_comes_back_in_single(tmp_path, state):
    state["large"] = np.random.default_rng(1).standard_normal((100, 100)).astype(np.float32)
    sizes = {}
    for half in (False, True):
        save_weights(state, tmp_path / str(half), CONFIG, FRENCH, ENGLISH, half=half)
        sizes[half] = (tmp_path / str(half)).stat().st_size
    assert sizes[True] < 0.6 * sizes[False]
    found = load_weights(tmp_path / "True").state["large"]
    assert found.dtype == np.float32 and np.allclose(found, state["large"], atol=2e-3)


def test_other_names_are_refused_by_name(path, state):
    more = {**state, "encoder.layers.1.norm1.weight": np.zeros(4)}
    with pytest.raises(WeightsMismatch, match=r"the file does not have: encoder\.layers\.1\.norm1\.weight"):
        load_weights(path, expected=more)
    del state["final_linear.bias"]
    with pytest.raises(WeightsMismatch, match=r"the model does not have: final_linear\.bias"):
        load_weights(path, expected=state)


def test_other_shapes_are_refused_with_both_shapes_and_the_file_s_configuration(path, state):
    state["final_linear.bias"] = np.zeros(8)
    with pytest.raises(
        WeightsMismatch, match=r"shape \(6,\) in the file and \(8,\) in the model.*num_layers"
    ):
        load_weights(path, expected=state)


@pytest.mark.parametrize(
    "vocabulary, words",
    [
        (Vocabulary(["chat", "été"]), "7 entries there and 6 here"),
        (Vocabulary(["chien", "été", "l'"]), "id 4 means 'chat' there and 'chien' here"),
    ],
)
def test_another_vocabulary_is_refused_and_the_difference_named(path, vocabulary, words):
    with pytest.raises(WeightsMismatch, match=words):
        load_weights(path, vocabularies=(vocabulary, ENGLISH))


@pytest.mark.parametrize("content", [b"", b"no weights", b"\xff" * 1000])
def test_a_damaged_file_is_refused(tmp_path, content):
    file = tmp_path / "damaged"
    file.write_bytes(content)
    with pytest.raises(WeightsMismatch, match="damaged"):
        load_weights(file)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(WeightsMismatch, match="no weights at"):
        load_weights(tmp_path / "nowhere")


def test_another_model_s_safetensors_are_refused(tmp_path, state):
    from safetensors.numpy import save_file

    save_file(state, tmp_path / "other", {"config": json.dumps(CONFIG)})
    with pytest.raises(WeightsMismatch, match="weights that are not a translator's"):
        load_weights(tmp_path / "other")


def test_saving_leaves_no_unfinished_file(path):
    assert [file.name for file in path.parent.iterdir()] == [path.name]
