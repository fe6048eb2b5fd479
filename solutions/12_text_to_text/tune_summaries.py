"""Tunes SmolLM2 on lab 12's training pairs and lets it summarise the same two hundred texts; see docs/data-text-to-text.md.

.venv/bin/python solutions/12_text_to_text/tune_summaries.py

adds what it wrote to course_utils/data/summaries_written.json, under "tuned" (it is given the name and the text), "tuned, name only" and
"tuned, text only". Each is an adapter of its own (LoRA, Hu et al. 2022, by peft), trained in the same way. The one of "tuned" is written to
course_utils/weights/summariser.safetensors; its answers are those from before it is rounded to 8 bits.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from write_summaries import keep, parts

from course_utils.data.summaries import WRITTEN, Pair, load_summaries
from course_utils.models import smollm
from course_utils.models.smollm_lines import lines_after
from course_utils.models.summariser import (
    ALPHA,
    LAYERS,
    PREFIX,
    RANK,
    SUFFIX,
    Factors,
    request,
    summary_loss,
    write_adapter,
)

EPOCHS, BATCH, RATE = 2, 8, 5e-4
SEED = 0

WAYS: dict[str, Callable[[Pair], str]] = {
    "tuned, name only": lambda pair: f" {pair.name}",
    "tuned": lambda pair: request(pair.name, pair.text),
    "tuned, text only": lambda pair: f"\nDescription: {pair.text}",
}
"""What the model is given between "Name:" and "Summary:"."""


def tuned(way: Callable[[Pair], str], training: list[Pair], development: list[Pair]) -> Any:
    """peft's model of SmolLM2 with a trained adapter. Only the summary and its end count in the loss."""
    torch.manual_seed(SEED)
    model = get_peft_model(
        smollm.library_model(dict(smollm.read_weights())),
        LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=[*LAYERS]),
    )
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=RATE, weight_decay=0.0)
    steps = EPOCHS * (len(training) // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 10) * (1 - step / steps)
    )
    began, step = time.monotonic(), 0
    for epoch in range(EPOCHS):
        model.train()
        mixed = random.Random(epoch).sample(training, len(training))
        for place in range(0, len(mixed) - BATCH + 1, BATCH):
            with torch.autocast("cpu", torch.bfloat16):
                loss = summary_loss(model, mixed[place : place + BATCH], way)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            schedule.step()
            step += 1
            if step % 20 == 0:
                print(f"{step}/{steps}: loss {loss.item():.2f}, {time.monotonic() - began:.0f} s", flush=True)
        model.eval()
        with torch.no_grad():
            losses = [
                summary_loss(model, development[place : place + BATCH], way).item()
                for place in range(0, len(development), BATCH)
            ]
        print(f"epoch {epoch + 1}: development loss {np.mean(losses):.3f}", flush=True)
    return model


def factors_of(model: Any) -> Factors:
    """What was trained of a model of peft."""
    return {
        name: (layer.lora_A["default"].weight, layer.lora_B["default"].weight)
        for name, layer in model.base_model.model.named_modules()
        if name.rpartition(".")[2] in LAYERS
    }


def main() -> None:
    training, chosen, test = parts(load_summaries())
    known = {pair.text: pair for pair in [*chosen, *test]}
    print(len(training), "for training,", len(chosen), "for development")
    for name, way in WAYS.items():
        data = json.loads(WRITTEN.read_text("utf-8"))
        asked = [known[row["text"]] for row in data["written"]]
        model, tokenizer = tuned(way, training, chosen), smollm.load_tokenizer()
        if name == "tuned":
            write_adapter(factors_of(model))
        merged = model.merge_and_unload()
        answers = lines_after(merged, tokenizer, PREFIX, [way(pair) for pair in asked], SUFFIX)
        for row, answer in zip(data["written"], answers, strict=True):
            row[name] = answer
        keep(data)


if __name__ == "__main__":
    main()
