"""Lab 07's networks as they come with the course: they fit every right solution, and are told apart from what does not fit."""

from __future__ import annotations

import json

import numpy as np
import pytest

from course_utils.models import shipped_classifiers
from course_utils.models.shipped_classifiers import (
    FILES,
    FOLDER,
    RUNS,
    load_classifier,
    load_seeds,
    save_classifier,
)

LAB = "07_text_classification"


def built(model):
    model(np.ones((1, 3), "int32"))  # now it has weights
    return model


def vocabulary_size(name: str) -> int:
    """Of the table of words in the file."""
    import h5py

    with h5py.File(FOLDER / FILES[name]) as file:
        return file["layers/positional_embedding/token_embeddings/vars/0"].shape[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FILES if "encoder" in name or "last" in name])
def test_weights_fit_the_lab_s_model_and_say_how_they_were_made(labs, name):
    build_classifier = labs[LAB].reference["build_classifier"]
    classes, positions = 2 if name.startswith("is or are") else 10, "no positions" not in name
    model = built(build_classifier(vocabulary_size(name), 40, classes, use_positions=positions))
    before = model(np.arange(1, 9, dtype="int32")[None]).numpy()
    history, seconds = load_classifier(name, model)
    assert not np.allclose(before, model(np.arange(1, 9, dtype="int32")[None]).numpy())
    assert seconds > 0
    assert {"loss", "val_loss", "accuracy", "val_accuracy"} <= history.keys()
    assert history["val_accuracy"][-1] > 1.5 / classes or "no positions" in name


@pytest.mark.slow
def test_weights_of_another_size_are_refused_in_words(labs):
    model = built(labs[LAB].reference["build_classifier"](50, 40, 10))
    with pytest.raises(ValueError, match="do not fit your model"):
        load_classifier("which library, encoder, positions", model)


def test_a_classifier_that_does_not_come_with_the_course_is_named():
    with pytest.raises(ValueError, match="'poems'.*bidirectional LSTM"):
        load_classifier("poems", None)


def test_there_is_a_file_and_a_run_for_each():
    assert json.loads(RUNS.read_text("utf-8")).keys() == FILES.keys()
    assert all((FOLDER / name).stat().st_size < 3_000_000 for name in FILES.values())


@pytest.mark.slow
def test_what_is_saved_is_loaded_into_a_model_whose_parts_were_made_in_another_order(tmp_path, monkeypatch):
    import keras

    monkeypatch.setattr(shipped_classifiers, "FOLDER", tmp_path)
    monkeypatch.setattr(shipped_classifiers, "RUNS", tmp_path / "runs.json")

    def model(first: str, second: str):
        class Two(keras.layers.Layer):
            def __init__(self):
                super().__init__()
                for name in (first, second):
                    setattr(self, name, keras.layers.Dense(3))

            def call(self, x):
                return self.upper(self.lower(x))

        made = keras.Sequential([keras.Input((3,)), Two()])
        made.compile("adam", "mse")
        return made

    x, trained = np.random.default_rng(0).normal(size=(5, 3)).astype("float32"), model("lower", "upper")
    history = trained.fit(x, x, epochs=2, verbose=0).history
    path = save_classifier("is or are, encoder, positions", trained, history, 1.25)
    other = model("upper", "lower")
    assert load_classifier("is or are, encoder, positions", other) == (
        {"loss": [round(value, 4) for value in history["loss"]]},
        1.2,
    )
    assert np.allclose(other(x), trained(x), atol=1e-2)
    assert path.parent == tmp_path


def test_there_are_three_seeds_of_each_network_and_no_score_above_one():
    seeds = load_seeds()
    assert FILES.keys() - seeds.keys() == {"which library, after the last epoch"}
    assert all(len(each) == 3 and all(0 < score <= 1 for score in each) for each in seeds.values())
