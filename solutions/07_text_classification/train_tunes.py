"""Trains lab 07's encoder on tunes with three seeds, by the lab's own cells, and keeps the accuracies; see docs/data-documentation.md.

.venv/bin/python solutions/07_text_classification/train_tunes.py

writes course_utils/data/tunes_seeds.json. Beside the encoder of the lab there are three that get less. One gets the notes of
each tune shuffled, in training and when it is asked; one only their lengths; one only the first 64. It takes about eight minutes.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

from course_utils.data.tunes import SEEDS, load_tunes, split_word
from grader.course import Course
from grader.reference.lab import Lab

WHAT_IT_GETS: dict[str, dict[str, Any]] = {
    "notes": {},
    "notes, shuffled": {"shuffle": True},
    "lengths only": {"half": "lengths"},
    "first 64 notes": {},
}


def cells() -> dict[str, Any]:
    """The names of the lab's cells that split the tunes and make the encoder."""
    lab = Lab.load(Course(Path(__file__).parents[2]), Path(__file__).parent.name)
    names: dict[str, Any] = {**lab.reference, "Counter": Counter, "keras": keras, "np": np}
    names |= {
        "tunes": load_tunes(),
        "split_word": split_word,
        "DANCES": ["hornpipe", "jig", "reel"],
        "TASKS": {},
    }
    for cell in lab.source().cells:
        if cell.cell_type == "code" and any(
            text in cell.source
            for text in ("def vocabulary_of(", "tune_parts = {", "def as_text(", "def dance_encoder(")
        ):
            exec(compile(cell.source, "<lab 07>", "exec"), names)
    return names


def main() -> None:
    """Trains and writes: what the encoder gets -> part -> the accuracies of the seeds 0, 1 and 2."""
    names = cells()
    found: dict[str, dict[str, list[float]]] = {}
    for what, options in WHAT_IT_GETS.items():
        found[what] = {"validation": [], "test": []}
        if what == "first 64 notes":
            names["MOST_NOTES"] = 64
        for seed in (0, 1, 2):
            says = names["dance_encoder"](seed=seed, **options)
            for part, scores in found[what].items():
                texts = [
                    names["as_text"](tune.notes, options.get("half", "notes"))
                    for tune in names["tune_parts"][part]
                ]
                if "shuffle" in options:
                    rng = np.random.default_rng(seed)
                    texts = [" ".join(rng.permutation(text.split())) for text in texts]
                scores.append(round(float(np.mean(says(texts).argmax(axis=1) == names["dance_of"][part])), 4))
            print(what, seed, {part: scores[-1] for part, scores in found[what].items()}, flush=True)
    SEEDS.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
