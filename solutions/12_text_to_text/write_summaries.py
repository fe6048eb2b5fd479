"""Lets SmolLM2 summarise a hundred of lab 12's development descriptions and a hundred of its test, in two ways; see docs/data-text-to-text.md.

OMP_NUM_THREADS=1 .venv/bin/python solutions/12_text_to_text/write_summaries.py

writes course_utils/data/summaries_written.json and keeps what was judged there, as long as the texts are the same. It takes about
seven minutes of one core.
"""

from __future__ import annotations

import json
import random

import torch

from course_utils.data.summaries import WRITTEN, Pair, held_out, load_summaries
from course_utils.models import smollm
from course_utils.models.smollm_lines import lines_after
from course_utils.models.summariser import zero_shot

ITEMS = 100
EXAMPLES = 3


def inside(pair: Pair, names: set[str]) -> bool:
    """Whether the pair's module, or a package around it, is one of these."""
    return any(f"{pair.module}.".startswith(f"{name}.") for name in names)


def parts(pairs: list[Pair]) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Training, development and test: those of the lab's `select_pairs`, in another order."""
    held: dict[str, dict[str, Pair]] = {}
    for name in ("test", "development"):
        names, part = held_out(name), held.setdefault(name, {})
        for pair in pairs:
            if inside(pair, names):
                part.setdefault(pair.text, pair)
        summaries = {pair.summary for pair in part.values()}
        first = {pair.text: pair for pair in reversed(pairs) if not inside(pair, names)}
        pairs = [pair for pair in first.values() if pair.text not in part and pair.summary not in summaries]
    return pairs[::-1], list(held["development"].values()), list(held["test"].values())


def main() -> None:
    pairs = load_summaries()
    _, development, test = parts(pairs)
    asked = [pair.text for part in (test, development) for pair in random.Random(0).sample(part, ITEMS)]
    apart = held_out("test") | held_out("development")
    short = [pair for pair in pairs if not inside(pair, apart) and len(pair.text.split()) < 40]
    shown = random.Random(0).sample(short, EXAMPLES)
    examples = "".join(f"Description: {pair.text}\nSummary: {pair.summary}\n\n" for pair in shown)

    model = smollm.library_model(dict(smollm.read_weights()))
    tokenizer = smollm.load_tokenizer()
    found = {
        "zero-shot": zero_shot(model, asked, say=print),
        "few-shot": lines_after(
            model, tokenizer, f"{examples}Description:", [f" {text}" for text in asked], "\nSummary:"
        ),
    }
    old = json.loads(WRITTEN.read_text("utf-8")) if WRITTEN.is_file() else {"written": [], "judged": {}}
    before = {row["text"]: row for row in old["written"]}
    rows = [
        before.get(text, {}) | {"text": text} | {way: answers[place] for way, answers in found.items()}
        for place, text in enumerate(asked)
    ]
    keep({"examples": [pair._asdict() for pair in shown], "written": rows, "judged": old["judged"]})


def keep(data: dict) -> None:
    """Writes everything down, without the judgements of texts that are not the same any more."""
    for way, judged in data["judged"].items():
        same = {(row["text"], row.get(way)) for row in data["written"]}
        data["judged"][way] = [one for one in judged if (one["text"], one["written"]) in same]
    WRITTEN.write_text(json.dumps(data, indent=0) + "\n", "utf-8")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
