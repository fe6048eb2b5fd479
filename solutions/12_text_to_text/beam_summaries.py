"""Searches for lab 12's summaries with a beam and keeps every summary that a length penalty could choose; see docs/data-text-to-text.md.

.venv/bin/python solutions/12_text_to_text/beam_summaries.py

writes course_utils/data/summaries_beam.json: SmolLM2, few-shot, on fifty of the development pairs. It keeps what it has searched, so a run that was
stopped goes on where it was.
"""

from __future__ import annotations

import json
import random
import time

import torch
from transformers import DynamicCache
from write_summaries import inside

from course_utils.data.summaries import BEAM, WRITTEN, Hypothesis, held_out, load_summaries
from course_utils.models import smollm
from course_utils.models.smollm_lines import AT_ONCE, LONGEST, behind

WIDTH, ASKED = 4, 50


@torch.no_grad()
def searched(model, tokenizer, read: DynamicCache, texts: list[str], suffix: str) -> list[list[Hypothesis]]:
    """For each text what a beam of ``WIDTH`` finds behind ``text + suffix``, after a prefix that has been ``read``.

    All hypotheses that are still running are equally long, so no length penalty changes their order. A hypothesis that has ended is
    kept unless one that is at least as long is as likely: that one is better at every penalty. The end, a line break, counts in the length.
    """
    ids, mask, positions, past = behind(read, [tokenizer.encode(text + suffix).ids for text in texts])
    count = len(texts)
    logits = model(
        ids, attention_mask=mask, position_ids=positions, past_key_values=past, logits_to_keep=1
    ).logits
    past.batch_repeat_interleave(WIDTH)
    logits = logits[:, -1].repeat_interleave(WIDTH, 0)  # (texts * beam, vocabulary)
    mask, positions = mask.repeat_interleave(WIDTH, 0), positions[:, -1:].repeat_interleave(WIDTH, 0)
    totals = torch.full((count, WIDTH), -torch.inf)
    totals[:, 0] = 0.0  # at first all hypotheses of a text are the same
    said: list[list[list[int]]] = [[[] for _ in range(WIDTH)] for _ in texts]
    found: list[list[Hypothesis]] = [[] for _ in texts]
    for length in range(1, LONGEST + 1):
        every = totals[..., None] + torch.log_softmax(logits, -1).unflatten(0, (count, WIDTH))
        best, places = every.flatten(1).topk(2 * WIDTH)  # (texts, 2 * beam)
        parents, tokens = places // logits.shape[-1], places % logits.shape[-1]
        kept: list[tuple[int, int]] = []
        for number in range(count):
            running: list[tuple[float, int, int]] = []
            for rank, (total, parent, token) in enumerate(
                zip(best[number].tolist(), parents[number].tolist(), tokens[number].tolist(), strict=True)
            ):
                before = said[number][parent]
                if token == smollm.end_id() or "\n" in tokenizer.decode([token]):
                    if rank < WIDTH:
                        found[number].append(
                            Hypothesis(tokenizer.decode(before).strip(), length, round(total, 4))
                        )
                elif len(running) < WIDTH:
                    running.append((total, parent, token))
            said[number] = [[*said[number][parent], token] for _, parent, token in running]
            totals[number] = torch.tensor([total for total, _, _ in running])
            kept += [(number * WIDTH + parent, token) for _, parent, token in running]
        past.reorder_cache(torch.tensor([place for place, _ in kept]))
        mask = torch.cat([mask, torch.ones(len(kept), 1, dtype=torch.long)], 1)
        positions = positions + 1
        logits = model(
            torch.tensor([[token] for _, token in kept]),
            attention_mask=mask,
            position_ids=positions,
            past_key_values=past,
        ).logits[:, -1]
    return [undominated(hypotheses) for hypotheses in found]


def undominated(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Those that the best choice could be at some penalty, the shortest first."""
    left: list[Hypothesis] = []
    for one in sorted(hypotheses, key=lambda one: (-one.tokens, -one.log_prob)):
        if not left or one.log_prob > left[-1].log_prob:
            left.append(one)
    return left[::-1]


def main() -> None:
    data = json.loads(WRITTEN.read_text("utf-8"))
    shown = "".join(
        f"Description: {pair['text']}\nSummary: {pair['summary']}\n\n" for pair in data["examples"]
    )
    pairs, test = load_summaries(), held_out("test")
    known = {pair.text for pair in pairs if inside(pair, test)}
    other = {pair.text: None for pair in pairs if inside(pair, held_out("development"))}
    asked = random.Random(0).sample([text for text in other if text not in known], ASKED)
    model, tokenizer = smollm.library_model(dict(smollm.read_weights())), smollm.load_tokenizer()
    with torch.no_grad():
        prefix = torch.tensor([tokenizer.encode(f"{shown}Description:").ids])
        read = model(prefix, use_cache=True).past_key_values
    found = json.loads(BEAM.read_text("utf-8")) if BEAM.is_file() else {}
    began = time.monotonic()
    left = [text for text in asked if text not in found]
    for place in range(0, len(left), AT_ONCE):
        some = left[place : place + AT_ONCE]
        answers = searched(model, tokenizer, read, [f" {text}" for text in some], "\nSummary:")
        found |= dict(zip(some, answers, strict=True))
        BEAM.write_text(json.dumps(found, indent=0) + "\n", "utf-8")
        print(f"{len(found)}, {time.monotonic() - began:.0f} s; {answers[-1]}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
