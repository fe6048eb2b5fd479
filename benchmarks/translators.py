"""Trains lab 01's five translators from several draws of first weights and sentences: whether its comparison is luck.

    python benchmarks/translators.py [DRAW ...]

The code is the lab's own. A draw needs one to two minutes; the notebook trains draw 0, and the lab's table has draws 0, 1 and 2.
"""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import torch

from grader.course import Course
from grader.reference.lab import Lab

NEEDED = (
    "def one_core", "NOUNS =", "class Translator(", "def train(", "def translate(", "class LookingTranslator(", "class AveragingTranslator("
)  # fmt: skip
"""What the cells define that are run; what follows a definition in its cell and trains is left out."""


def definitions() -> dict:
    """What the lab defines to make, train and try its translators."""
    names: dict = {"np": np, "torch": torch}
    for cell in Lab.load(Course(Path(__file__).resolve().parents[1]), "01_why_attention").source().cells:
        if cell.cell_type == "code" and any(needed in cell.source for needed in NEEDED):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(cell.source.partition("\ntorch.manual_seed(0)")[0], names)
    return names


def main(draws: list[int]) -> None:
    names = definitions()
    translators = {
        "one vector": (names["Translator"], 1000),
        "... twice the room": (lambda: names["Translator"](width=128), 1000),
        "... twice the practice": (names["Translator"], 2000),
        "plain average": (names["AveragingTranslator"], 1000),
        "looking back": (names["LookingTranslator"], 1000),
    }
    drawn = np.random.default_rng
    for draw in draws:
        for name, (make, steps) in translators.items():
            torch.manual_seed(draw)
            model = make()
            # The lab's training draws its sentences with the seed 0; other seeds are those of the test sentences.
            with (
                mock.patch("numpy.random.default_rng", lambda seed, draw=draw: drawn(seed or 1000 * draw)),
                contextlib.redirect_stdout(io.StringIO()),
            ):
                names["train"](model, steps=steps)
            right = "  ".join(f"{names['right'](model, phrases):5.0%}" for phrases in range(1, 7))
            print(f"draw {draw}  {name:25}{right}", flush=True)


if __name__ == "__main__":
    main([int(draw) for draw in sys.argv[1:]] or [0, 1, 2])
