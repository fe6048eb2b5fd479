"""Asks SmolLM2 for the entities of the sentences by hand, and keeps what it wrote; see docs/data-entities.md.

.venv/bin/python solutions/09_named_entity_recognition/ask_language_model.py

writes course_utils/data/sentences_asked.json. The development half chooses how many examples it sees; the test half is asked
once.
It takes about ten minutes of one core.
"""

from __future__ import annotations

import json
import random
import time
from collections import defaultdict

import torch

from course_utils.data.sentences_by_hand import ASKED, Sentence, entities_said, sentences_by_hand
from course_utils.evaluation import span_f1
from course_utils.models import smollm
from course_utils.models.smollm_lines import lines_after

SHOWN = (4, 8, 16)
"""Numbers of examples that are tried."""

LONGEST = 64


def answer(one: Sentence) -> str:
    """A sentence's entities as one line."""
    names = defaultdict(list)
    for start, end, label in one.entities:
        names[label].append(one.text[start:end])
    return "; ".join(f"{label}: {', '.join(each)}" for label, each in names.items()) or "nothing"


def prompt(examples: list[Sentence]) -> str:
    """The task, the examples, and the beginning of the next question."""
    task = "Copy every person, place, organisation and date out of the sentence.\n\n"
    return task + "".join(f"Sentence: {one.text}\nFound: {answer(one)}\n\n" for one in examples) + "Sentence:"


def main() -> None:
    development, test = (list(sentences_by_hand(part)) for part in ("development", "test"))
    order = random.Random(0).sample(development, len(development))
    asked = order[max(SHOWN) :]  # the same for all, and never an example
    model = smollm.library_model(dict(smollm.read_weights()))
    tokenizer = smollm.load_tokenizer()

    def said(shown: int, sentences: list[Sentence]) -> dict[str, str]:
        texts = [one.text for one in sentences]
        lines = lines_after(
            model, tokenizer, prompt(order[:shown]), [f" {text}" for text in texts], "\nFound:", LONGEST
        )
        return dict(zip(texts, lines, strict=True))

    tried = {}
    for shown in SHOWN:
        lines = said(shown, asked)
        found = [entities_said(text, line) for text, line in lines.items()]
        tried[shown] = span_f1([list(one.entities) for one in asked], found).score
        print(f"{shown} examples: F1 {tried[shown]:.3f} on development", flush=True)
    best = max(tried, key=tried.__getitem__)
    began = time.perf_counter()
    lines = said(best, test)
    kept = {
        "development": {str(shown): round(score, 3) for shown, score in tried.items()},
        "shown": best,
        "seconds": round(time.perf_counter() - began),
        "test": lines,
    }
    ASKED.write_text(json.dumps(kept, indent=0, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
