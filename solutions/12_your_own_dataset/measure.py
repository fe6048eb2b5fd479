"""Runs the lab's notebook up to its comparison, with three splits, prints what the prose says, and keeps one split's logits.

    .venv/bin/python solutions/12_your_own_dataset/measure.py [SEED ...]

writes course_utils/data/own_logits.json, which the notebook loads where RUN_TRAINING is False.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from course_utils.data.own import LOGITS, load_unlabelled
from course_utils.maths import softmax
from grader.course import Course
from grader.lab import Lab, checked_exercise

ROOT = Path(__file__).resolve().parents[2]

SEEDS, LABELS = tuple(map(int, sys.argv[1:])) or (0, 1, 2), 96


def notebook() -> dict[str, Any]:
    """What the notebook defines before it trains an encoder, and the exercises that come after."""
    namespace: dict[str, Any] = {"__name__": "measured"}
    skipped = False
    for cell in Lab.load(Course(ROOT), "12_your_own_dataset").source().cells:
        skipped = skipped or "RUN_TRAINING, LABELS" in cell.source
        solution = cell.metadata.get("nbgrader", {}).get("solution")
        if cell.cell_type == "code" and not checked_exercise(cell) and (solution or not skipped):
            exec(compile(cell.source, cell.id, "exec"), namespace)
    return namespace


def measure(made: dict[str, Any], seed: int) -> dict[str, dict[str, np.ndarray]]:
    """Prints the comparison for one split, and returns the logits of the two encoders that were trained."""
    texts, y, names = made["texts"], made["y"], made["names"]
    split = made["parts"](made["groups"], [names[label] for label in y], seed)
    test, validation, pool = split["test"], split["validation"], split["pool"]
    chosen = made["balanced"](y, np.random.default_rng(seed).permutation(pool))[:LABELS]
    if seed == 0:
        chosen = made["orders"][0][:LABELS]  # as in the notebook
    used = {part: made["embed_sorted"](made["new_encoder"](), [texts[row] for row in rows])
            for part, rows in {"chosen": chosen, "validation": validation, "test": test}.items()}  # fmt: skip
    regression = made["LogisticRegression"](max_iter=1000).fit(used["chosen"], y[chosen])
    kept = {"frozen": {part: regression.decision_function(used[part]) for part in ("validation", "test")}}
    for name, lora in {"LoRA": True, "fine-tuned": False}.items():
        began = time.perf_counter()
        model = made["trained"]([texts[row] for row in chosen], y[chosen], lora, seed=seed)
        kept[name] = {
            part: made["logits_of"](model, [texts[row] for row in rows])
            for part, rows in {"validation": validation, "test": test}.items()
        }
        print(f"    {name}: {time.perf_counter() - began:.0f} seconds", flush=True)
    words = made["tfidf"](np.array(texts, dtype=object)[chosen], y[chosen])(
        np.array(texts, dtype=object)[test]
    )
    right = {name: logits["test"].argmax(axis=1) == y[test] for name, logits in kept.items()}
    right["TF-IDF"] = words == y[test]
    draws = np.random.default_rng(0).integers(0, len(test), (2000, len(test)))
    for name, each in right.items():
        low, high = made["bootstrap_interval"](each, right["frozen"], draws)
        line = f"seed {seed} {name:11} accuracy {each.mean():.3f}, minus frozen {low:+.3f} to {high:+.3f}"
        if name in kept:
            best = made["best_temperature"](
                kept[name]["validation"], y[validation], np.exp(np.linspace(-1.5, 2, 141))
            )
            before, after = (
                made["calibration_error"](softmax(kept[name]["test"] / heat), y[test]) for heat in (1.0, best)
            )
            line += f", calibration error {before:.3f}, temperature {best:.2f}: {after:.3f}"
        print(line, flush=True)
    return kept


def main() -> None:
    made = notebook()
    digits = made["LogisticRegression"](max_iter=1000).fit(
        made["vectors"][made["pool"]], made["y"][made["pool"]]
    )
    print("".join(map(str, digits.predict(made["embed_sorted"](made["new_encoder"](), load_unlabelled())))))
    for seed in SEEDS:
        kept = measure(made, seed)
        if seed == 0:
            rounded = {
                name: {part: np.round(rows.astype(float), 2).tolist() for part, rows in kept[name].items()}
                for name in ("LoRA", "fine-tuned")
            }
            LOGITS.write_text(json.dumps(rounded) + "\n", "utf-8")


if __name__ == "__main__":
    main()
