"""Asks SmolLM2 for the library of the validation texts of lab 13's default set, and keeps what it said; see docs/data-own.md.

.venv/bin/python solutions/13_your_own_dataset/ask_language_model.py

writes course_utils/data/own_asked.json. It has the same 96 labels as the lab's other models. Some of these texts are shown to
it. The rest chooses how many and says, without their labels, what it usually answers. It takes about five minutes of one core.
"""

from __future__ import annotations

import json
import random
import time

import numpy as np
import torch
from measure import IN_NOTEBOOK, notebook

from course_utils.data.documentation import fingerprint
from course_utils.data.own import ASKED
from course_utils.models import smollm
from course_utils.models.smollm_lines import shares_after

SHOWN = (1, 2, 4)
"""Numbers of examples of each library that are tried."""


def main() -> None:
    made = notebook()
    names, y, texts = made["names"], made["y"], made["texts"]
    chosen, validation = made["orders"][0][:IN_NOTEBOOK], made["validation"]
    model, tokenizer = smollm.library_model(dict(smollm.read_weights())), smollm.load_tokenizer()
    of_each = [[row for row in chosen if y[row] == number][: max(SHOWN)] for number in range(len(names))]
    examples = {row for rows in of_each for row in rows}
    others = [row for row in chosen if row not in examples]

    def shares(shown: int, rows: list[int]) -> np.ndarray:
        read = [row for each in of_each for row in each[:shown]]
        random.Random(0).shuffle(read)
        prompt = f"Which library is described: {', '.join(names)}?\n\n" + "".join(
            f"Sentence: {texts[row]}\nLibrary: {names[y[row]]}\n\n" for row in read
        )
        asked = [f" {texts[row]}" for row in rows]
        return shares_after(model, tokenizer, f"{prompt}Sentence:", asked, "\nLibrary:", list(names)).numpy()

    tried, usual = {}, {}
    for shown in SHOWN:
        found = shares(shown, others)
        usual[shown] = found.mean(axis=0)
        plain, tried[shown] = (
            float(np.mean(each.argmax(axis=1) == y[others])) for each in (found, found - usual[shown])
        )
        print(f"{shown} of each, {len(others)} others: {plain:.3f}, corrected {tried[shown]:.3f}", flush=True)
    best = max(tried, key=tried.__getitem__)
    began = time.monotonic()
    said = (shares(best, list(validation)) - usual[best]).argmax(axis=1)
    kept = {
        "about": fingerprint([texts[row] for row in validation]),
        "shown": best * len(names),
        "seconds": round(time.monotonic() - began, 1),
        "said": [names[number] for number in said],
    }
    ASKED.write_text(json.dumps(kept) + "\n", "utf-8")
    print(f"{best} of each: validation {np.mean(said == y[validation]):.3f}, {kept['seconds']} seconds")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
