"""The classifiers of lab 07 as they come with the course, for those who do not want to wait.

They are Keras's own files of weights, rewritten in 16 bits and compressed. Keras finds weights by the names of the layers' attributes,
so they fit every solution that has the parts that the lab asks for. ``train_weights.py`` beside lab 07's source makes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import keras

FOLDER = Path(__file__).parents[1] / "weights"
RUNS = FOLDER / "classifiers.json"
SEEDS = FOLDER / "classifier_seeds.json"
FILES = {
    "which library, bidirectional LSTM": "classifier_library_lstm.weights.h5",
    "which library, encoder, no positions": "classifier_library_bag.weights.h5",
    "which library, encoder, positions": "classifier_library_encoder.weights.h5",
    "which library, after the last epoch": "classifier_library_last.weights.h5",
    "is or are, bidirectional LSTM": "classifier_agreement_lstm.weights.h5",
    "is or are, encoder, no positions": "classifier_agreement_bag.weights.h5",
    "is or are, encoder, positions": "classifier_agreement_encoder.weights.h5",
}  # whole names: a bundle is made by them


def load_seeds() -> dict[str, list[float]]:
    """ "task, model" -> its accuracies on validation after trainings with the seeds 0, 1 and 2, measured by ``train_weights.py --seeds``."""
    return json.loads(SEEDS.read_text("utf-8"))


def save_classifier(
    name: str, model: keras.Model, history: Mapping[str, list[float]], seconds: float
) -> Path:
    """Writes a model's weights to the course's folder, and how they were trained.

    Args:
        name: one of ``FILES``.
        model: a trained model.
        history: what ``fit`` recorded after each epoch.
        seconds: how long training and testing took.
    """
    import h5py
    import keras

    path = FOLDER / FILES[name]
    model.compile(
        keras.optimizers.Adam(), model.loss, metrics=["accuracy"]
    )  # a new optimizer remembers nothing
    model.save_weights(path)
    arrays: dict[str, np.ndarray] = {}
    groups: dict[str, dict[str, Any]] = {}

    def collect(key: str, each: Any) -> None:
        if isinstance(each, h5py.Dataset):
            arrays[key] = each[()]
        else:
            groups[key] = dict(each.attrs)

    with h5py.File(path) as file:
        file.visititems(collect)
    with h5py.File(path, "w") as file:
        for key, attributes in groups.items():
            file.require_group(key).attrs.update(attributes)
        for key, array in arrays.items():
            small = array.astype(np.float16) if array.ndim else array
            file.create_dataset(key, data=small, **({"compression": "gzip"} if array.ndim else {}))
    runs = json.loads(RUNS.read_text("utf-8")) if RUNS.is_file() else {}
    runs[name] = {
        "seconds": round(seconds, 1),
        "history": {key: [round(float(value), 4) for value in values] for key, values in history.items()},
    }
    RUNS.write_text(json.dumps(runs, indent=1, sort_keys=True) + "\n", "utf-8")
    return path


def load_classifier(name: str, model: keras.Model) -> tuple[dict[str, list[float]], float]:
    """Gives a model the weights that come with the course.

    Args:
        name: one of ``FILES``.
        model: as the lab makes it, called once, so that it has weights.

    Returns:
        history: what ``fit`` recorded after each epoch when the weights were made.
        seconds: how long that took.

    Raises:
        ValueError: there is no such classifier, or the model has other parts or sizes.
    """
    if name not in FILES:
        raise ValueError(f"No classifier {name!r} comes with the course; choose one of {', '.join(FILES)}.")
    try:
        model.load_weights(FOLDER / FILES[name])
    except (ValueError, KeyError) as error:
        raise ValueError(
            f"The weights in {FILES[name]} do not fit your model. Check that its parts have the names and sizes that the lab asks "
            "for, or train it."
        ) from error
    model.optimizer.build(
        model.trainable_variables
    )  # as after training: Keras saves it with the model, and warns if parts are missing
    run = json.loads(RUNS.read_text("utf-8"))[name]
    return run["history"], run["seconds"]
