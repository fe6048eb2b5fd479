"""How a translation is written: the decoder reads what is there, gives every word a number, and one word is chosen; then again.

The numbers are those of the translator that comes with the course, so the picture needs nothing of the learner's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils import maths
from course_utils.plots.drawing import INK, QUIET, as_image, as_svg, note, scrolling
from course_utils.plots.roles import OUTPUT, bar
from course_utils.widgets import Widget, plain

SENTENCES = ("Jane visite l'Afrique en septembre", "Omar achète une voiture rouge")
_LISTED = 10


@dataclass(frozen=True)
class Step:
    """One time around the loop.

    Attributes:
        written: the words that the decoder reads, from <bos> on.
        looks: (source words,) how the last layer's heads look at the source, on average, from the last word on.
        logits: (words of the vocabulary,) for the word after the last one.
    """

    written: tuple[str, ...]
    looks: np.ndarray
    logits: np.ndarray

    @property
    def shares(self) -> np.ndarray:
        """The logits after the softmax."""
        return maths.softmax(self.logits)

    @property
    def best(self) -> np.ndarray:
        """The ids of the likeliest words, the likeliest first."""
        return np.argsort(-self.logits, kind="stable")[:_LISTED]


@dataclass(frozen=True)
class Written:
    """A sentence and how it was translated."""

    source: tuple[str, ...]
    steps: tuple[Step, ...]


def translated(texts: Sequence[str]) -> tuple[list[Written], list[str]]:
    """How the shipped translator writes the translations of these texts, and its English vocabulary.

    Nothing is drawn from PyTorch's generator: a notebook that shows the picture trains as one that does not.
    """
    import torch

    from course_utils.data.batches import encode_batch
    from course_utils.models.translator import LibraryTranslator

    with torch.random.fork_rng(devices=[]):  # a new module draws weights before it gets the trained ones
        translator = LibraryTranslator.shipped()
    source, target = translator.checkpoint.source_vocabulary, translator.checkpoint.target_vocabulary
    found = []
    for text in texts:
        given = encode_batch([text], source)
        ids, steps = [target.bos_id], []
        while ids[-1] != target.eos_id and len(steps) < translator.max_len:
            with torch.inference_mode():
                logits, looks = translator.model(torch.from_numpy(given), torch.tensor([ids]))
            step = Step(
                tuple(target.tokens(ids)),
                looks[-1][0, :, -1].mean(dim=0).numpy(),
                logits[0, -1].numpy().astype(float),
            )
            steps.append(step)
            ids.append(int(step.best[0]))
        found.append(Written(tuple(source.tokens(given[0])), tuple(steps)))
    return found, target.tokens(range(len(target)))


class DecodingLoop(Widget):
    """The loop, word by word: read, a number for each word, shares, the chosen word, and again.

    Args:
        sentences: one or more, with their steps.
        vocabulary: the words that the logits are for.
    """

    module = "decoding.js"

    def __init__(self, sentences: Sequence[Written], vocabulary: Sequence[str]) -> None:
        self.sentences, self.vocabulary = list(sentences), list(vocabulary)

    def _likeliest(self, step: Step) -> list[tuple[str, float, float]]:
        """Word, logit and share of the likeliest words."""
        shares = step.shares
        return [(self.vocabulary[each], float(step.logits[each]), float(shares[each])) for each in step.best]

    def data(self) -> dict[str, Any]:
        return {
            "sentences": [
                {
                    "source": list(sentence.source),
                    "steps": [
                        {
                            "written": list(step.written),
                            "looks": plain(step.looks, 2),
                            "logits": plain(step.logits, 1),
                            "best": int(step.best[0]),
                            "likeliest": [
                                [word, round(logit, 2), round(share, 4)]
                                for word, logit, share in self._likeliest(step)
                            ],
                        }
                        for step in sentence.steps
                    ],
                }
                for sentence in self.sentences
            ]
        }

    def still(self) -> str:
        """The first sentence: what is read, and the three likeliest words, a row for each time around the loop; then all numbers of the first time."""
        sentence = self.sentences[0]
        width, row, parts = 800, 34, []
        heads = ((16, "the decoder reads"), (310, "likeliest next word"), (540, "and after it"))
        parts += [note(x, 22, words, quiet=True) for x, words in heads]
        for number, step in enumerate(sentence.steps):
            y = 54 + row * number
            (word, _, share), *others = self._likeliest(step)[:3]
            parts += [
                note(16, y, " ".join(step.written)),
                bar(OUTPUT, 310, y, 100 * share),
                note(318 + 100 * share, y, f"{share:.2f}  {word}"),
                note(540, y, ", ".join(f"{other} {part:.4f}" for other, _, part in others), quiet=True),
            ]
        y = 54 + row * len(sentence.steps) + 22
        first = sentence.steps[0]
        count = len(self.vocabulary)
        for name, numbers, height in (("logits", first.logits, 50), ("after the softmax", first.shares, 50)):
            parts.append(
                note(
                    16, y, f"{name}: {count} numbers, for what follows {' '.join(first.written)}", quiet=True
                )
            )
            parts += _spectrum(16, y + 70, numbers, width - 32, height)
            y += 140
        picture = as_svg(width, round(y), parts, self.alt())
        return scrolling(as_image(picture, self.alt()), width)

    def alt(self) -> str:
        lines = []
        for sentence in self.sentences:
            lines.append(f"How “{' '.join(sentence.source[:-1])}” is translated, word by word.")
            for step in sentence.steps:
                (word, logit, share), *others = self._likeliest(step)[:3]
                rest = ", ".join(f"{other} {part:.4f}" for other, _, part in others)
                lines.append(
                    f"{' '.join(step.written)} -> {word}: logit {logit:.1f}, share {share:.2f}; then {rest}"
                )
        return "\n".join(lines)


def decoding_loop() -> None:
    """Shows :class:`DecodingLoop` for :data:`SENTENCES`."""
    DecodingLoop(*translated(SENTENCES)).show()


def _spectrum(left: float, zero: float, numbers: np.ndarray, width: float, height: float) -> list[str]:
    """A thin bar for each number, up or down from a line; the largest one is in colour."""
    most, thin = float(np.abs(numbers).max()), width / len(numbers)
    best = int(np.argmax(numbers))
    parts = [
        f'<line x1="{left}" x2="{left + width}" y1="{zero}" y2="{zero}" style="stroke:{QUIET};stroke-width:1"/>'
    ]
    for place, number in enumerate(numbers):
        tall = height * float(number) / most
        colour = OUTPUT.colour if place == best else INK
        parts.append(
            f'<rect x="{left + place * thin:.1f}" y="{zero - max(tall, 0):.1f}" width="{thin * 0.8:.1f}" height="{abs(tall):.1f}" '
            f'style="fill:{colour}"/>'
        )
    return parts
