"""Mixes four tasks of very different sizes at three temperatures, with as many steps each, for lab 12; see docs/data-text-to-text.md.

.venv/bin/python solutions/12_text_to_text/mix_tasks.py

writes course_utils/data/mixtures.json, in about forty minutes of one core. The model is lab 12's at half its width. It keeps what it has measured,
so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import torch
from train_weights import half_width, train

from course_utils.data.mixtures import FILE, SIZES
from course_utils.data.tasks import answer, load_tasks
from course_utils.models.text_to_text import Writer
from grader.course import Course
from grader.reference.lab import Lab

TEMPERATURES = {"T = 1": 1.0, "T = 2": 2.0, "equal": float("inf")}
SEEDS = (0, 1, 2)
STEPS = 2_500


def main() -> None:
    torch.set_num_threads(1)
    mixture = Lab.load(Course(Path(__file__).parents[2]), "12_text_to_text").reference["mixture"]
    data, tokens = load_tasks(), Writer.shipped().tokens
    rows = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else []
    done = {(row["mixed"], row["seed"]) for row in rows}
    for seed in SEEDS:
        some = {name: random.Random(seed).sample(data[name].train, size) for name, size in SIZES.items()}
        for mixed, temperature in TEMPERATURES.items():
            if (mixed, seed) in done:
                continue
            began = time.perf_counter()
            torch.manual_seed(seed)
            writer = half_width(tokens)
            train(writer, some, mixture(SIZES, temperature), STEPS, seed)
            right = {}
            for name in SIZES:
                said = writer.write([one.source for one in data[name].test])
                right[name] = sum(
                    answer(name, text) == answer(name, one.target)
                    for text, one in zip(said, data[name].test, strict=True)
                )
            rows.append({"mixed": mixed, "seed": seed, "right": right})
            FILE.write_text("[" + ",\n".join(map(json.dumps, rows)) + "]\n", "utf-8")
            print(rows[-1], f"{time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
