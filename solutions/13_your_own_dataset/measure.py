"""Runs the lab's notebook up to its comparison, with three splits, and prints what the prose and docs/data-own.md say.

    .venv/bin/python solutions/13_your_own_dataset/measure.py [--splits 0 1 2] [--labels 96 198 1000] [--keep]

With --keep, what split 0 gives with 96 labels goes to course_utils/data/own_logits.json, which the notebook loads where RUN_TRAINING is
False. All that is printed is about the validation texts: models are never compared on the test.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from course_utils.data.own import LOGITS, three_parts
from course_utils.evaluation import accuracy, interval, paired
from course_utils.maths import softmax
from course_utils.models.own_models import linear_head
from grader.course import Course
from grader.reference.lab import Lab, checked_exercise

ROOT = Path(__file__).resolve().parents[2]

IN_NOTEBOOK = 96  # labels, of split 0


def notebook() -> dict[str, Any]:
    """What the notebook defines before it trains an encoder, and the exercises that come after."""
    namespace: dict[str, Any] = {"__name__": "measured"}
    skipped = False
    for cell in Lab.load(Course(ROOT), "13_your_own_dataset").source().cells:
        skipped = skipped or "RUN_TRAINING, LABELS" in cell.source
        wanted = cell.metadata.get("nbgrader", {}).get("solution") or "def perfect(" in cell.source
        if cell.cell_type == "code" and not checked_exercise(cell) and (wanted or not skipped):
            exec(compile(cell.source, cell.id, "exec"), namespace)
    return namespace


def measure(made: dict[str, Any], seed: int, labels: int, keep: bool = False) -> None:
    """Prints the comparison for one split and number of labels, on its validation texts.

    keep: whether what the two trained encoders gave, on validation and on the test, goes to the file that the notebook loads.
    """
    texts, y, names = made["texts"], made["y"], made["names"]
    split = three_parts(made["groups"], [names[label] for label in y], made["split_by_group"], seed)
    validation = split["validation"]
    whose = [made["groups"][row] for row in validation]
    chosen = np.random.default_rng(seed).permutation(split["pool"])[:labels]
    if seed == 0:
        chosen = made["orders"][0][:labels]  # as in the notebook
    began = time.perf_counter()
    if seed == 0:  # to the last digit: a logistic regression notices other rounding
        used = {"chosen": made["vectors"][chosen], "validation": made["vectors"][validation]}
    else:
        used = {part: made["embed_sorted"](made["new_encoder"](), [texts[row] for row in rows])
                for part, rows in {"chosen": chosen, "validation": validation}.items()}  # fmt: skip
    logits = {"frozen": linear_head(used["chosen"], y[chosen], len(names))(used["validation"])}
    seconds, gave = {"frozen": time.perf_counter() - began}, {}
    for name, lora in {"LoRA": True, "fine-tuned": False}.items():
        began = time.perf_counter()
        model = made["trained"]([texts[row] for row in chosen], y[chosen], lora, seed=seed)
        logits[name] = made["logits_of"](model, [texts[row] for row in validation])
        seconds[name] = time.perf_counter() - began
        if keep:
            gave[name] = {
                "validation": np.round(logits[name].astype(float), 3).tolist(),
                "test": np.round(
                    made["logits_of"](model, [texts[row] for row in split["test"]]).astype(float), 3
                ).tolist(),
                "seconds": round(seconds[name]),
            }
    words = np.array(texts, dtype=object)
    right = {name: accuracy(each.argmax(axis=1) == y[validation]) for name, each in logits.items()}
    right["TF-IDF"] = accuracy(made["tfidf"](words[chosen], y[chosen])(words[validation]) == y[validation])
    for name, each in right.items():
        gained = paired(each, right["frozen"], whose)
        line = (
            f"split {seed}, {labels:4} labels, {name:10} accuracy {each.score:.3f} ({interval(each, whose)}), "
            f"minus frozen {gained.value:+.3f} ({gained}), {gained.verdict}"
        )
        if name in logits:
            line += calibration(made, logits[name], y[validation], whose) + f", {seconds[name]:.0f} s"
        print(line, flush=True)
    if gave:
        LOGITS.write_text(json.dumps(gave) + "\n", "utf-8")


def calibration(made: dict[str, Any], logits: np.ndarray, true: np.ndarray, whose: list[str]) -> str:
    """The error as trained, and with the temperatures that the halves choose for each other, as in the notebook."""
    half = np.unique(whose, return_inverse=True)[1] % 2 == 0
    heat = np.ones((len(true), 1))
    for part in (half, ~half):
        heat[part] = made["best_temperature"](logits[~part], true[~part], np.exp(np.linspace(-1.5, 2, 141)))
    said = []
    for each in (logits, logits / heat):
        shares = softmax(each)
        low, high = made["perfect"](shares)
        said.append(f"{made['calibration_error'](shares, true):.3f} (perfect {low:.3f} to {high:.3f})")
    return f", calibration error {said[0]}, temperatures {np.unique(heat).round(2)}: {said[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--labels", type=int, nargs="+", default=[IN_NOTEBOOK])
    parser.add_argument("--keep", action="store_true")
    asked = parser.parse_args()
    made = notebook()
    for split in asked.splits:
        for labels in asked.labels:
            measure(made, split, labels, asked.keep and (split, labels) == (0, IN_NOTEBOOK))


if __name__ == "__main__":
    main()
