"""Lets SmolLM2 summarise a hundred of lab 12's test descriptions, in two ways; see docs/data-text-to-text.md.

OMP_NUM_THREADS=1 .venv/bin/python solutions/12_text_to_text/write_summaries.py

writes course_utils/data/summaries_written.json and keeps what was judged there, as long as the texts are the same. It takes about
five minutes of one core.
"""

from __future__ import annotations

import json
import random
import time

import torch
from transformers import DynamicCache

from course_utils.data.summaries import WRITTEN, Pair, held_out, load_summaries
from course_utils.models import smollm

ITEMS, AT_ONCE, LONGEST = 100, 10, 32
EXAMPLES = 3


def inside(pair: Pair, names: set[str]) -> bool:
    """Whether the pair's module, or a package around it, is one of these."""
    return any(f"{pair.module}.".startswith(f"{name}.") for name in names)


@torch.no_grad()
def written(model, tokenizer, prefix: str, texts: list[str], suffix: str) -> list[str]:
    """What follows ``prefix + text + suffix`` up to the end of the line: the likeliest token at each step.

    The prefix is read once for all texts.
    """
    read = model(torch.tensor([tokenizer.encode(prefix).ids]), use_cache=True).past_key_values
    found = []
    for place in range(0, len(texts), AT_ONCE):
        rows = [tokenizer.encode(text + suffix).ids for text in texts[place : place + AT_ONCE]]
        ids, mask, positions, past = behind(read, rows)
        said: list[list[int]] = [[] for _ in rows]
        for _ in range(LONGEST):
            logits = model(
                ids, attention_mask=mask, position_ids=positions, past_key_values=past, logits_to_keep=1
            ).logits[:, -1]
            ids = logits.argmax(dim=-1, keepdim=True)
            for row, token in zip(said, ids[:, 0].tolist(), strict=True):
                row.append(token)
            if all(finished(tokenizer, row) for row in said):
                break
            mask = torch.cat([mask, torch.ones(len(rows), 1, dtype=torch.long)], dim=1)
            positions = positions[:, -1:] + 1
        found += [first_line(tokenizer, row) for row in said]
        print(f"{time.process_time():5.0f} s of CPU: {found[-1]}", flush=True)
    return found


def behind(
    read: DynamicCache, rows: list[list[int]]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, DynamicCache]:
    """What a model needs to read rows behind a prefix that has been ``read``: ids padded in front, mask, positions, and a cache for each row."""
    widest, count = max(map(len, rows)), len(rows)
    ids = torch.tensor([[0] * (widest - len(row)) + row for row in rows])
    real = torch.tensor([[0] * (widest - len(row)) + [1] * len(row) for row in rows])
    mask = torch.cat([torch.ones(count, read.get_seq_length(), dtype=torch.long), real], dim=1)
    past = DynamicCache()
    for number, layer in enumerate(read.layers):
        past.update(layer.keys.repeat(count, 1, 1, 1), layer.values.repeat(count, 1, 1, 1), number)
    return ids, mask, (mask.cumsum(1) - 1)[:, -widest:], past


def finished(tokenizer, row: list[int]) -> bool:
    """Whether the model has ended its answer, or its first line."""
    return smollm.end_id() in row or "\n" in tokenizer.decode(row).lstrip()


def first_line(tokenizer, row: list[int]) -> str:
    """The first line of an answer, up to its end."""
    if smollm.end_id() in row:
        row = row[: row.index(smollm.end_id())]
    return tokenizer.decode(row).strip().partition("\n")[0].strip()


def main() -> None:
    pairs = load_summaries()
    test, development = held_out("test"), held_out("development")
    texts = list(dict.fromkeys(pair.text for pair in pairs if inside(pair, test)))
    asked = random.Random(0).sample(texts, ITEMS)
    short = [pair for pair in pairs if not inside(pair, test | development) and len(pair.text.split()) < 40]
    shown = random.Random(0).sample(short, EXAMPLES)
    examples = "".join(f"Description: {pair.text}\nSummary: {pair.summary}\n\n" for pair in shown)

    model = smollm.library_model(dict(smollm.read_weights()))
    tokenizer = smollm.load_tokenizer()
    before, after = smollm.chat("Summarize in one short sentence what the function does.\n\n@").split("@")
    found = {
        "zero-shot": written(model, tokenizer, before, asked, after),
        "few-shot": written(
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
