"""Asks pretrained models for the library of lab 07's validation texts, and keeps their answers; see docs/data-documentation.md.

.venv/bin/python solutions/07_text_classification/ask_pretrained.py

writes course_utils/data/documentation_asked.json. MiniLM reads the texts and stays as it is; a logistic regression learns from the
training texts. Then it is fine-tuned on them, with lab 13's own code. SmolLM2 is shown some training texts of each library, and the
library is taken to which it gives more than it usually does. Other training texts choose how many it is shown, and say, without their
labels, what is usual. It takes about half an hour.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from train_weights import lab_cells

from course_utils.data.documentation import ASKED, fingerprint
from course_utils.models import smollm
from course_utils.models.own_models import linear_head
from course_utils.models.pretrained import load_tokenizer, new_encoder
from course_utils.models.smollm_lines import shares_after
from grader.course import Course
from grader.reference.lab import Lab

SHOWN = (1, 3)
"""Numbers of examples of each library that are tried."""

PASSES, TUNED_SEEDS = 3, (0, 1, 2)
"""For fine-tuning. What seed 0 says is kept; the others are printed, and so is the control."""

TRIED_ON = 150
"""Training texts on which they are tried."""


def minilm(task: Any) -> dict[str, Any]:
    """What the frozen encoder and a logistic regression say."""
    pieces, encoder = load_tokenizer(), new_encoder()
    embed = Lab.load(Course(Path(__file__).parents[2]), "13_your_own_dataset").reference["embed"]

    def vectors(texts: list[str]) -> np.ndarray:
        order = np.argsort([len(text) for text in texts])
        return embed(encoder, pieces, [texts[row] for row in order])[np.argsort(order)]

    began = time.monotonic()
    head = linear_head(vectors(task.texts["train"]), task.labels["train"], len(task.names))
    seconds = time.monotonic() - began
    said = head(vectors(task.texts["validation"])).argmax(axis=1)
    return {
        "said": [task.names[number] for number in said],
        "seconds": round(seconds, 1),
        "weights": sum(each.numel() for each in encoder.parameters()),
    }


def fine_tuned(task: Any, seed: int, pretrained: bool = True) -> dict[str, Any]:
    """What MiniLM says when all its layers have learned from the training texts: lab 13's model, loop and rates.

    Args:
        pretrained: otherwise it begins with random weights, and its embeddings learn, too: the control.
    """
    lab = Lab.load(Course(Path(__file__).parents[2]), "13_your_own_dataset")
    names = {"Any": Any, "nn": nn, "np": np, "torch": torch, "new_encoder": new_encoder}
    names |= {"tokenizer": load_tokenizer(), "names": task.names}
    for cell in lab.source().cells:
        if cell.cell_type == "code" and cell.source.startswith(("class Classifier(", "def trained(")):
            exec(compile(cell.source, "<lab 13>", "exec"), names)
    if not pretrained:
        names["new_encoder"] = lambda: type(new_encoder())(new_encoder().config)
        classifier = names["Classifier"]
        names["Classifier"] = lambda *given: classifier(*given).requires_grad_(True)
    began = time.monotonic()
    model = names["trained"](task.texts["train"], task.labels["train"], lora=False, epochs=PASSES, seed=seed)
    seconds = time.monotonic() - began
    said = names["logits_of"](model, task.texts["validation"]).argmax(axis=1)
    return {
        "said": [task.names[number] for number in said],
        "seconds": round(seconds, 1),
        "weights": sum(each.numel() for each in model.parameters()),
    }


def prompt(task: Any, rows: list[int]) -> str:
    """The task, the examples, and the beginning of the next question."""
    examples = "".join(
        f"Sentence: {task.texts['train'][row]}\nLibrary: {task.names[task.labels['train'][row]]}\n\n"
        for row in rows
    )
    return f"Which library is described: {', '.join(task.names)}?\n\n{examples}Sentence:"


def language_model(task: Any) -> tuple[str, dict[str, Any]]:
    """The name of the row and what SmolLM2 says, with the best number of examples."""
    model, tokenizer = smollm.library_model(dict(smollm.read_weights())), smollm.load_tokenizer()
    draw = random.Random(0)
    of_each = [
        draw.sample(np.flatnonzero(task.labels["train"] == number).tolist(), max(SHOWN))
        for number in range(len(task.names))
    ]
    examples = {row for rows in of_each for row in rows}
    others = draw.sample([row for row in range(len(task.labels["train"])) if row not in examples], TRIED_ON)

    def shares(shown: int, texts: list[str]) -> np.ndarray:
        rows = [row for each in of_each for row in each[:shown]]
        random.Random(0).shuffle(rows)
        return shares_after(
            model, tokenizer, prompt(task, rows), [f" {text}" for text in texts], "\nLibrary:", task.names
        ).numpy()

    tried, usual = {}, {}
    for shown in SHOWN:
        found = shares(shown, [task.texts["train"][row] for row in others])
        usual[shown] = found.mean(axis=0)
        plain, corrected = (
            np.mean(each.argmax(axis=1) == task.labels["train"][others])
            for each in (found, found - usual[shown])
        )
        tried[shown] = corrected
        print(f"{shown} of each library: accuracy {plain:.3f}, corrected {corrected:.3f}", flush=True)
    best = max(tried, key=tried.__getitem__)
    began = time.monotonic()
    said = (shares(best, task.texts["validation"]) - usual[best]).argmax(axis=1)
    return f"SmolLM2, shown {best * len(task.names)} examples", {
        "said": [task.names[number] for number in said],
        "seconds": round(time.monotonic() - began, 1),
        "weights": sum(each.numel() for each in model.parameters()),
    }


def main() -> None:
    names: dict[str, Any] = {"__name__": "lab_07"}
    for source in lab_cells("TASKS = {"):
        exec(compile(source, "<lab 07>", "exec"), names)
    task = names["TASKS"]["which library"]
    models, tuned = {"MiniLM, frozen": minilm(task)}, [fine_tuned(task, seed) for seed in TUNED_SEEDS]
    models["MiniLM, fine-tuned"] = tuned[0]
    name, answers = language_model(task)
    models[name] = answers
    others = {f"fine-tuned, seed {seed}": each for seed, each in zip(TUNED_SEEDS, tuned, strict=True)}
    others["not pretrained"] = fine_tuned(task, 0, pretrained=False)
    truth = [task.names[number] for number in task.labels["validation"]]
    for name, each in (models | others).items():
        accuracy = np.mean([one == other for one, other in zip(each["said"], truth, strict=True)])
        print(f"{name}: accuracy {accuracy:.3f}, {each['seconds']} seconds")
    kept = {"about": fingerprint(task.texts["validation"]), "models": models}
    ASKED.write_text(json.dumps(kept) + "\n", "utf-8")


if __name__ == "__main__":
    main()
