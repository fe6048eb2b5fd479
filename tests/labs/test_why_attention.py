"""Lab 01: its reference computes what torch and Keras compute, its numbers are those of a search and a count, and
what its text claims about the trained translator, the word vectors and the gradients holds."""

from __future__ import annotations

import contextlib
import io
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from project import drawn

from course_utils import plots
from course_utils.maths import softmax
from course_utils.plots import drawing, recurrent, sequences
from grader.handout.demo import solved
from grader.reference.lab import checked_exercise

LAB = "01_why_attention"
KINDS = ("self-attention", "recurrent", "convolutional", "dilated")


@pytest.fixture(scope="module")
def reference(labs) -> SimpleNamespace:
    lab = labs[LAB]
    return SimpleNamespace(
        **{exercise.name: lab.reference[exercise.name] for exercise in lab.exercises.values()}
    )


# ---------------------------------------------------------------------------------- parity


def test_rnn_forward_equals_torchs_layer_with_its_weights(reference, rng):
    import torch

    layer = torch.nn.RNN(3, 4, batch_first=True, dtype=torch.float64)
    x, state = rng.standard_normal((2, 6, 3)), rng.standard_normal((2, 4))
    with torch.no_grad():
        theirs, _ = layer(torch.tensor(x), torch.tensor(state)[None])
    w_input, w_hidden, *biases = (parameter.detach().numpy() for parameter in layer.parameters())
    ours = reference.rnn_forward(x, w_input.T, w_hidden.T, sum(biases), state)
    np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-12)


@pytest.mark.slow
def test_additive_scores_of_projected_words_equal_keras_layer(reference, keras, rng):
    query, key = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 5, 6))
    w_query, w_key, v = (rng.standard_normal(shape) for shape in [(4, 7), (6, 7), (7,)])
    layer = keras.layers.AdditiveAttention(use_scale=True, dtype="float64")
    asked, offered = query @ w_query, key @ w_key
    layer.build([asked.shape, offered.shape, offered.shape])
    layer.set_weights([v])
    _, theirs = layer([asked, offered, offered], return_attention_scores=True)
    ours = softmax(reference.additive_scores(query, key, w_query, w_key, v))
    np.testing.assert_allclose(ours, keras.ops.convert_to_numpy(theirs), atol=1e-6)


def test_general_scores_equal_torchs_bilinear_layer(reference, rng):
    import torch

    query, key, w = (rng.standard_normal(shape) for shape in [(4, 3), (6, 5), (3, 5)])
    pairs = [(q, k) for q in query for k in key]
    theirs = torch.nn.functional.bilinear(
        *(torch.tensor(np.array(side)) for side in zip(*pairs, strict=True)), torch.tensor(w)[None]
    )
    np.testing.assert_allclose(
        reference.dot_product_scores(query, key, w), theirs.numpy().reshape(4, 6), atol=1e-12
    )


def test_attend_equals_torchs_attention_without_its_scaling(reference, rng):
    import torch

    query, key, value = (rng.standard_normal(shape) for shape in [(2, 4, 3), (2, 6, 3), (2, 6, 5)])
    theirs = torch.nn.functional.scaled_dot_product_attention(
        *(torch.tensor(array) for array in (query, key, value)), scale=1.0
    )
    np.testing.assert_allclose(reference.attend(query, key, value)[0], theirs.numpy(), atol=1e-12)


def test_reweight_equals_torchs_attention_of_a_sentence_to_itself(reference, rng):
    import torch

    x = rng.standard_normal((2, 5, 3))
    tensor = torch.tensor(x)
    theirs = torch.nn.functional.scaled_dot_product_attention(tensor, tensor, tensor, scale=1.0)
    np.testing.assert_allclose(reference.reweight(x)[0], theirs.numpy(), atol=1e-12)


# ---------------------------------------------------------------------------------- what the lab says


def test_attention_lies_between_the_mean_and_the_maximum(reference, rng):
    x = rng.standard_normal((7, 1))
    nothing, _ = reference.attend(np.zeros((1, 1)), x, x)
    sharp, _ = reference.attend(np.full((1, 1), 1e6), x, x)
    np.testing.assert_allclose([nothing.item(), sharp.item()], [x.mean(), x.max()], atol=1e-9)


@pytest.mark.parametrize("kernel", [2, 3, 4, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_path_lengths_are_those_that_a_search_through_the_wiring_finds(reference, kind, kernel):
    for n in range(1, 60):
        steps = len(sequences.way_through(kind, n, kernel)) - 1
        assert reference.layer_cost(kind, n, 8, kernel)[2] == steps, n


def test_path_lengths_are_right_at_exact_powers_where_a_logarithm_in_floats_is_not(reference):
    assert reference.layer_cost("dilated", 125, 4, 5)[2] == 3  # math.log(125, 5) is a hair above 3
    assert reference.layer_cost("dilated", 126, 4, 5)[2] == 4


@pytest.mark.parametrize("kind", KINDS)
def test_operations_are_those_that_a_counter_in_the_innermost_loop_finds(reference, kind):
    n, d, kernel = 5, 3, 2
    counted = 0
    for _position in range(n):
        if kind == "self-attention":
            counted += sum(1 for _key in range(n) for _feature in range(d))
        else:
            matrices = 1 if kind == "recurrent" else kernel
            counted += sum(1 for _matrix in range(matrices) for _in in range(d) for _out in range(d))
    assert reference.layer_cost(kind, n, d, kernel)[0] == counted


def test_an_unknown_kind_is_refused_by_name(reference):
    with pytest.raises(ValueError, match="pooling"):
        reference.layer_cost("pooling", 4, 8)


@pytest.mark.slow
def test_station_looks_most_at_train_after_itself_and_its_meaning_follows_the_sentence(reference):
    from course_utils.models.pretrained import load_encoder, load_tokenizer

    tokenizer = load_tokenizer()
    table = load_encoder().embeddings.word_embeddings.weight.detach().numpy()

    def vector(word: str) -> np.ndarray:
        return table[tokenizer.convert_tokens_to_ids(word)]

    words = ["the", "train", "left", "the", "station", "on", "time"]
    x = np.array([vector(word) for word in words])
    _, weights = reference.reweight(x)
    assert [words[place] for place in np.argsort(-weights[4])[:2]] == ["station", "train"]


# ---------------------------------------------------------------------------------- the figures


@pytest.mark.parametrize(
    "draw",
    [
        lambda: sequences.gradient_over_distance({"a": np.logspace(0, -20, 30), "b": np.ones(30)}),
        lambda: sequences.accuracy_by_length([3, 7, 11], {"a": [1, 0.5, 0], "b": [1, 1, 0.2]}, 7),
        lambda: sequences.times_against_length(
            [16, 32], {"a": [1.0, 2.0], "b": [0.5, 4.0]}, {"n": np.array([1.0, 2.0])}, 24.0
        ),
        lambda: sequences.times_against_length([16, 32], {"a": [1.0, 2.0]}, {}, None),
        lambda: sequences.costs_against_length([8, 16], {"a": np.array([[8, 1, 1], [32, 1, 1]])}, 12),
        lambda: sequences.weights_in_panels(["a", "b"], {"mean": np.array([0.5, 0.5])}),
        lambda: sequences.ways_figure(KINDS, 10),
        lambda: sequences.ways_figure(KINDS, 1),
    ],
    ids=["gradient", "accuracy", "times", "times without crossing", "costs", "panels", "ways", "ways of 1"],
)  # fmt: skip
def test_each_figure_can_be_drawn(draw, published):
    figure = draw()
    assert isinstance(figure, Figure)
    plots.show_figure(figure, alt="One of them.")
    assert published


def test_the_shortest_way_goes_from_the_first_input_to_the_last_output():
    for kind in KINDS:
        way = sequences.way_through(kind, 10)
        assert way[0] == (0, 0) and way[-1][0] == 9
        assert all(below in sequences.read_by(kind, above, 10) for below, above in itertools.pairwise(way))


def test_an_unknown_kind_of_wiring_is_refused_by_name():
    with pytest.raises(ValueError, match="pooling"):
        sequences.read_by("pooling", (3, 1), 5)


@pytest.mark.parametrize("looking_back", [False, True])
def test_the_encoder_decoder_is_drawn_with_and_without_attention(looking_back, monkeypatch):
    bundles: list[dict] = []
    monkeypatch.setattr(drawing, "publish", bundles.append)
    recurrent.encoder_decoder(looking_back)
    (bundle,) = bundles
    words = "".join(drawn(bundle["text/html"]).itertext())
    assert ("one" in words and "vector" in words) is not looking_back
    assert ("context" in words and "0.85" in words) is looking_back
    assert "encoder" in bundle["text/plain"]


def test_the_line_of_time_goes_forward_and_is_told_in_words(monkeypatch):
    bundles: list[dict] = []
    monkeypatch.setattr(drawing, "publish", bundles.append)
    recurrent.time_line()
    years = [int(text) for text in drawn(bundles[0]["text/html"]).itertext() if text.isdigit()]
    assert years == sorted(years) and len(years) > 5
    assert all(name in bundles[0]["text/plain"] for name in ("Reformer", "Mamba", "Vaswani"))


def explained(sentence: str, word: str) -> tuple[list[str], np.ndarray, str]:
    words = sentence.split()
    if word not in words:
        raise ValueError(f"`{word}` is not there.")
    return words, np.full(len(words), 1 / len(words)), "A remark with <b>."


def test_the_sentence_explorer_shows_every_example_where_there_is_no_kernel(published):
    sequences.sentence_explorer(explained, [("one two", "two"), ("three <four", "three")])
    (bundle,) = published
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"].count("looks at") == bundle["text/html"].count("looks at") == 2
    assert "three &lt;four" in bundle["text/html"] and "<b>" not in bundle["text/html"]


def test_the_sentence_explorer_follows_what_is_typed_and_says_what_it_cannot_look_at(monkeypatch):
    shown = []
    monkeypatch.setattr(sequences, "show_live", lambda widget, html, text: shown.append(widget))
    sequences.sentence_explorer(explained, [("one two", "two")])
    sentence, word, picture = shown[0].children
    sentence.value = "five six"
    assert "is not there" in picture.value
    word.value = "six"
    assert "six" in picture.value and "50.0%" in picture.value


# ---------------------------------------------------------------------------------- the whole story


@pytest.fixture(scope="module")
def story(labs, its_turn) -> dict:
    """The names of the solved notebook after all cells but the checks, figures drawn and forgotten. It takes minutes: every sixth day."""
    its_turn(4, 6)  # on another day than the notebook itself
    namespace: dict = {"__name__": "story"}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in solved(labs[LAB]).cells:
            if cell.cell_type == "code" and checked_exercise(cell) is None:
                exec(compile(cell.source, cell.id, "exec"), namespace)
    return namespace


@pytest.mark.slow
def test_the_translator_that_looks_back_keeps_what_one_vector_loses(story):
    four_phrases = 3
    assert story["accuracy"]["one vector"][0] > 0.95
    assert story["accuracy"]["one vector"][four_phrases] < 0.5
    assert story["accuracy"]["looking back"][four_phrases] > 0.9


@pytest.mark.slow
def test_the_same_vector_holds_more_after_more_practice_and_a_wider_one_does_not(story):
    one, roomy, patient = (np.array(story["accuracy"][name]) for name in
                           ("one vector", "one vector, twice the room", "one vector, twice the practice"))  # fmt: skip
    assert patient[3] > one[3] + 0.2 > roomy[3] + 0.1


@pytest.mark.slow
def test_it_is_the_choice_among_the_states_that_helps_and_not_that_there_are_many(story):
    one, average, looking = (np.array(story["accuracy"][name]) for name in
                             ("one vector", "plain average", "looking back"))  # fmt: skip
    assert np.abs(average - one)[3:].max() < 0.15 and (looking[3:5] > average[3:5] + 0.5).all()


@pytest.mark.slow
def test_the_trained_alignment_is_the_known_one_and_that_of_the_learner_s_functions(story):
    content = story["content"]
    assert (story["looked_at"] == story["partner"])[:, content].mean() > 0.9
    assert np.abs(story["alignment"].sum(axis=-1) - 1).max() < 1e-5


@pytest.mark.slow
def test_gradients_fade_in_recurrent_layers_more_slowly_with_gates_and_not_at_all_in_attention(story):
    fade = {name: norms[99] / norms[1] for name, norms in story["norms"].items()}
    assert fade["RNN"] < fade["GRU"] < 1e-10 and fade["LSTM"] < 1e-10
    assert 1e-5 < fade["LSTM, forget gates open"] < 0.1
    assert fade["RNN, weights × 3.5"] > 10
    assert 0.2 < fade["attention"] < 5


@pytest.mark.slow
def test_each_probe_is_nearest_to_station_in_its_own_sentence_and_a_plain_average_finds_as_many(story):
    assert (story["probes"] @ story["stations"].T).argmax(axis=1).tolist() == [0, 1, 2, 3, 4]
    (_, many, lead), attention = *story["plain_average"](), story["found"]("", list(story["stations"]))
    assert many == attention[1] == "5 of 5" and float(lead) > float(attention[2])
    for control, count in [
        ("backwards", "5 of 5"),
        ("other_probes", "5 of 5"),
        ("without_sentence", "0 of 5"),
    ]:
        assert story[control]()[0][1] == count


@pytest.mark.slow
def test_what_the_predictions_call_right_is_what_is_measured(story):
    one, looking = story["accuracy"]["one vector"], story["accuracy"]["looking back"]
    assert one[4] < 0.15  # room: almost none at 19 words
    assert looking[5] < looking[4]  # sixth: worse than on 19
    rnn = story["norms"]["RNN"]
    assert (rnn[99] / rnn[1]) ** (1 / 98) < 0.5  # fading
    at_the_end = story["kept"][1000]
    assert story["line"][at_the_end[story["meant"].index("white")].argmax()] == "blanche"  # partner


@pytest.mark.slow
def test_the_kept_weights_go_from_uniform_to_sharp(story):
    largest = [weights.max(axis=1).mean() for weights in story["kept"].values()]
    assert largest[0] < 2 / len(story["line"]) and largest[-1] > 3 * largest[0]


@pytest.mark.slow
def test_it_treats_both_nouns_alike_until_layers_have_learned_where_to_look(story):
    tired_animal, tired_street, wide_animal, wide_street = (
        [float(cell) for cell in row[1:]] for row in story["rows_of_it"]
    )
    assert abs(tired_animal[0] - wide_animal[0]) < 0.01 and abs(tired_street[0] - wide_street[0]) < 0.01
    assert tired_animal[-1] > tired_animal[1] + 0.3 and wide_animal[-1] > wide_animal[1] + 0.3
    assert wide_animal[-1] < tired_animal[-1] and wide_street[-1] > tired_street[-1]
