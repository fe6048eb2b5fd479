"""Runs the lab's notebook up to its comparison, with three splits, and prints what the prose and docs/data-own.md say.

    .venv/bin/python solutions/13_your_own_dataset/measure.py [--splits 0 1 2] [--labels 96 198 1000] [--leaks] [--keep]

With --leaks, it trains nothing, and compares a split by group with one at random. With --keep, what split 0 gives with 96
labels goes to course_utils/data/own_logits.json, which the notebook loads where RUN_TRAINING is False.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from course_utils.data.own import LOGITS, load_unlabelled, three_parts
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
        wanted = cell.metadata.get("nbgrader", {}).get("solution") or cell.source.startswith("def perfect(")
        if cell.cell_type == "code" and not checked_exercise(cell) and (wanted or not skipped):
            exec(compile(cell.source, cell.id, "exec"), namespace)
    return namespace


def measure(made: dict[str, Any], seed: int, labels: int) -> dict[str, dict[str, Any]]:
    """Prints the comparison for one split and number of labels, and returns what the two trained encoders gave: the logits
    of the validation and the test texts, and the seconds for training and predicting.
    """
    texts, y, names = made["texts"], made["y"], made["names"]
    split = three_parts(made["groups"], [names[label] for label in y], made["split_by_group"], seed)
    test, validation, pool = split["test"], split["validation"], split["pool"]
    chosen = np.random.default_rng(seed).permutation(pool)[:labels]
    if seed == 0:
        chosen = made["orders"][0][:labels]  # as in the notebook
    began = time.perf_counter()
    used = {part: made["embed_sorted"](made["new_encoder"](), [texts[row] for row in rows])
            for part, rows in {"chosen": chosen, "validation": validation, "test": test}.items()}  # fmt: skip
    head = linear_head(used["chosen"], y[chosen], len(names))
    kept = {"frozen": {part: head(used[part]) for part in ("validation", "test")}}
    seconds = {"frozen": time.perf_counter() - began}
    for name, lora in {"LoRA": True, "fine-tuned": False}.items():
        began = time.perf_counter()
        model = made["trained"]([texts[row] for row in chosen], y[chosen], lora, seed=seed)
        kept[name] = {
            part: made["logits_of"](model, [texts[row] for row in rows])
            for part, rows in {"validation": validation, "test": test}.items()
        }
        seconds[name] = time.perf_counter() - began
    words = made["tfidf"](np.array(texts, dtype=object)[chosen], y[chosen])(
        np.array(texts, dtype=object)[test]
    )
    right = {name: logits["test"].argmax(axis=1) == y[test] for name, logits in kept.items()}
    right["TF-IDF"] = words == y[test]
    draws = np.random.default_rng(0).integers(0, len(test), (2000, len(test)))
    for name, each in right.items():
        low, high = made["bootstrap_interval"](each, right["frozen"], draws)
        gained = each.mean() - right["frozen"].mean()
        line = (
            f"split {seed}, {labels:4} labels, {name:10} accuracy {each.mean():.3f}, "
            f"minus frozen {gained:+.3f} ({low:+.3f} to {high:+.3f})"
        )
        if name in kept:
            best = made["best_temperature"](
                kept[name]["validation"], y[validation], np.exp(np.linspace(-1.5, 2, 141))
            )
            before, after = (
                made["calibration_error"](softmax(kept[name]["test"] / heat), y[test]) for heat in (1.0, best)
            )
            low, high = made["perfect"](softmax(kept[name]["test"] / best))
            line += (
                f", calibration error {before:.3f}, temperature {best:.2f}: {after:.3f} "
                f"(a perfect model has {low:.3f} to {high:.3f}), {seconds[name]:.0f} s"
            )
        print(line, flush=True)
    return {name: {**kept[name], "seconds": round(seconds[name])} for name in ("LoRA", "fine-tuned")}


def leaks(made: dict[str, Any], seed: int) -> None:
    """Prints what the frozen encoder with 400 labels gets on the validation rows of a split by group, and of one at random."""
    names, y = made["names"], made["y"]
    accuracy = []
    for groups in (made["groups"], [str(number) for number in range(len(y))]):
        split = three_parts(groups, [names[label] for label in y], made["split_by_group"], seed)
        some, others = split["pool"][:400], split["validation"]
        vectors = made["embed_sorted"](
            made["new_encoder"](), [made["texts"][row] for row in np.concatenate([some, others])]
        )
        head = linear_head(vectors[: len(some)], y[some], len(names))
        accuracy.append((head(vectors[len(some) :]).argmax(axis=1) == y[others]).mean())
    by_group, at_random = accuracy
    print(
        f"split {seed}: by group {by_group:.3f}, at random {at_random:.3f}, {at_random - by_group:+.3f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--labels", type=int, nargs="+", default=[IN_NOTEBOOK])
    parser.add_argument("--leaks", action="store_true")
    parser.add_argument("--keep", action="store_true")
    asked = parser.parse_args()
    made = notebook()
    if asked.leaks:
        for split in asked.splits:
            leaks(made, split)
        return
    pool, embed = made["pool"], made["embed_sorted"]
    head = linear_head(made["vectors"][pool], made["y"][pool], len(made["names"]))
    print("".join(map(str, head(embed(made["new_encoder"](), load_unlabelled())).argmax(axis=1))), flush=True)
    for split in asked.splits:
        for labels in asked.labels:
            gave = measure(made, split, labels)
            if asked.keep and (split, labels) == (0, IN_NOTEBOOK):
                keep(gave)


def keep(gave: dict[str, dict[str, Any]]) -> None:
    """Writes what the notebook shows where nothing is trained."""
    rounded = {
        name: {
            part: found if part == "seconds" else np.round(found.astype(float), 3).tolist()
            for part, found in parts.items()
        }
        for name, parts in gave.items()
    }
    LOGITS.write_text(json.dumps(rounded) + "\n", "utf-8")


if __name__ == "__main__":
    main()
