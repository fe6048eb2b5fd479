"""The three shapes of a Transformer on the same tasks, for lab 12: an encoder, a decoder, and both; see docs/data-text-to-text.md.

Each is trained on one task at a time, with 700 steps of 48 examples and three seeds. Nothing is saved.

.venv/bin/python solutions/12_text_to_text/compare_shapes.py
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn
from train_weights import MERGES, SMOOTHING, text_loss, train

from course_utils.data.byte_pairs import BytePairs, library_merges
from course_utils.data.tasks import Example, TaskData, answer, load_tasks
from course_utils.models.one_stack import Stack
from course_utils.models.text_to_text import CONFIG, Writer

STEPS, SEEDS = 700, range(3)


def stack(tokens: BytePairs) -> Stack:
    """As many layers as the encoder-decoder has in its two halves."""
    return Stack(len(tokens) + 2, **{**CONFIG, "num_layers": 2 * CONFIG["num_layers"]})


class Classifier(Writer):
    """An encoder with a layer over classes: it cannot write, it can only choose among the targets of the training."""

    def __init__(self, tokens: BytePairs, targets: Sequence[str]) -> None:
        self.targets = sorted(set(targets))
        super().__init__(tokens, stack(tokens))
        self.model.classes = nn.Linear(CONFIG["embedding_dim"], len(self.targets))  # trained with the rest

    def logits(self, sources: Sequence[str]) -> torch.Tensor:
        ids = self.padded([self.tokens.encode(text) for text in sources])
        real = ids != self.pad_id
        x = self.model(ids, real[:, None, None, :])
        mean = (x * real[..., None]).sum(1) / real.sum(1, keepdim=True)  # (batch, width)
        return self.model.classes(mean)

    def loss(self, examples: Sequence[Example]) -> torch.Tensor:
        labels = torch.tensor([self.targets.index(one.target) for one in examples])
        return nn.functional.cross_entropy(
            self.logits([one.source for one in examples]), labels, label_smoothing=SMOOTHING
        )

    def _write(self, sources: Sequence[str], longest: int) -> list[str]:
        return [self.targets[number] for number in self.logits(sources).argmax(-1).tolist()]


class OneStack(Writer):
    """A decoder alone: source and target are one row, and only the target counts in the loss."""

    def __init__(self, tokens: BytePairs) -> None:
        super().__init__(tokens, stack(tokens))

    def logits(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        ids = self.padded(rows)
        x = self.model(ids, torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril())
        return x @ self.model.embedding.weight.T

    def loss(self, examples: Sequence[Example]) -> torch.Tensor:
        sources = [[*self.tokens.encode(one.source), self.pad_id] for one in examples]
        targets = [[*self.tokens.encode(one.target), self.end_id] for one in examples]
        rows = [source + target[:-1] for source, target in zip(sources, targets, strict=True)]
        labels = self.padded(
            [
                [self.pad_id] * (len(source) - 1) + target
                for source, target in zip(sources, targets, strict=True)
            ]
        )
        return nn.functional.cross_entropy(
            self.logits(rows).flatten(0, 1),
            labels.flatten(),
            ignore_index=self.pad_id,
            label_smoothing=SMOOTHING,
        )

    def _write(self, sources: Sequence[str], longest: int) -> list[str]:
        rows = [[*self.tokens.encode(text), self.pad_id] for text in sources]
        starts, over = [len(row) for row in rows], [False] * len(rows)
        for _ in range(longest):
            logits = self.logits(rows)
            for number, row in enumerate(rows):
                if not over[number]:
                    row.append(int(logits[number, len(row) - 1].argmax()))
                    over[number] = row[-1] == self.end_id
            if all(over):
                break
        return [self.tokens.decode(row[start:]) for row, start in zip(rows, starts, strict=True)]


def tasks() -> dict[str, TaskData]:
    """The answer of *acceptable* is "yes" or "no" here, without its reason, so that an encoder can choose it."""
    data = load_tasks()
    bare = (
        [Example(one.source, answer("acceptability", one.target)) for one in part]
        for part in data["acceptability"]
    )
    return {
        "acceptability": TaskData(*bare),
        **{name: data[name] for name in ("language", "translation")},
    }


def main() -> None:
    torch.set_num_threads(1)
    texts = [text for task in load_tasks().values() for one in task.train for text in one]
    tokens = BytePairs(library_merges(texts, MERGES))
    for name, data in tasks().items():
        shapes = {
            "encoder": lambda targets=[one.target for one in data.train]: Classifier(tokens, targets),
            "decoder": lambda: OneStack(tokens),
            "encoder and decoder": lambda: Writer(tokens),
        }
        if name == "translation":
            del shapes["encoder"]  # there is no set of answers to choose from
        for shape, made in shapes.items():
            found = []
            for seed in SEEDS:
                torch.manual_seed(seed)
                writer = made()
                loss_of = text_loss if shape == "encoder and decoder" else type(writer).loss
                train(writer, {name: data.train}, {name: 1.0}, STEPS, seed, loss_of=loss_of)
                said = writer.write([one.source for one in data.test])
                found.append(sum(map(str.__eq__, said, (one.target for one in data.test))))
            size = sum(each.numel() for each in writer.model.parameters())
            print(f"{name}, {shape} ({size:,} numbers): {found} of {len(data.test)}", flush=True)


if __name__ == "__main__":
    main()
