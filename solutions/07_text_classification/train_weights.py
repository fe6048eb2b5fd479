"""Makes the weights that come with the course, by lab 07's own cells and its reference solution.

.venv/bin/python solutions/07_text_classification/train_weights.py
.venv/bin/python solutions/07_text_classification/train_weights.py --seeds   # accuracies of three seeds, no weights
"""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from course_utils.models.shipped_classifiers import FILES, FOLDER, SEEDS, save_classifier
from course_utils.widgets import predict
from grader.course import Course
from grader.reference.lab import Lab, checked_exercise

LAST = 'judge, _ = measure("is or are"'
"""In the last cell that is run: what comes after it trains nothing."""


def lab_cells(last: str) -> Iterator[str]:
    """The lab's code cells with the reference solution, without the checks, up to the one in which `last` stands."""
    predict.predict = predict.measured = lambda key: None  # the questions are there once the lab is built
    for cell in Lab.load(Course(Path(__file__).parents[2]), Path(__file__).parent.name).source().cells:
        if cell.cell_type == "code" and not checked_exercise(cell):
            yield cell.source
            if last in cell.source:
                return


def main(seeds: bool) -> None:
    """Trains what the lab trains, and keeps the weights.

    Args:
        seeds: train each model with three seeds and keep the accuracies on validation instead.
    """
    names: dict[str, Any] = {"__name__": "lab_07"}
    saved: set[str] = set()
    accuracies: dict[str, list[float]] = {}

    def saving(trained, model, data, name, epochs, **options):
        began = time.monotonic()
        history, elsewhere = trained(model, data, name, epochs, **options)
        if name in FILES:
            losses = model.evaluate(data["validation"], verbose=0, return_dict=True)
            save_classifier(name, model, history, time.monotonic() - began)
            saved.add(name)
            print(f"=== {name}: {losses}, {(FOLDER / FILES[name]).stat().st_size / 1e6:.1f} MB", flush=True)
        return history, elsewhere

    def with_seeds(measure, task, model, make, epochs):
        found = []
        for seed in (2, 1, 0):  # the lab goes on with the last one
            result = measure(task, model, make, epochs, seed)
            found.insert(0, round(names["results"][task][model][0], 4))
        accuracies[f"{task}, {model}"] = found
        return result

    for source in lab_cells(LAST):
        exec(compile(source, "<lab 07>", "exec"), names)
        if seeds and "def measure(" in source:
            names["measure"] = functools.partial(with_seeds, names["measure"])
        if not seeds and "def trained(" in source:
            names["trained"] = functools.partial(saving, names["trained"])
    if seeds:
        SEEDS.write_text(json.dumps(accuracies, indent=1) + "\n", "utf-8")
    elif left := FILES.keys() - saved:
        raise SystemExit(f"The lab does not train these any more: {', '.join(sorted(left))}.")


if __name__ == "__main__":
    main(seeds="--seeds" in sys.argv[1:])
