"""The attention stepper: one word's query, the keys, scores, softmax, and the sum of the weighted values; then all words at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from course_utils import maths
from course_utils.plots.drawing import as_image, as_svg, note
from course_utils.plots.roles import KEY, OUTPUT, QUERY, VALUE, WEIGHT, Role, bar, shape
from course_utils.widgets import Widget, plain


class AttentionStepper(Widget):
    """Attention of one word in six steps, and of all words as matrices.

    Args:
        words: n words.
        query, key: (n, d_k), as the learner's projection gives them.
        value: (n, d_v).
        weights, output: (n, n) and (n, d_v) as the learner's own attention gives them. Without them the picture
            computes both itself.
        word: the position of the word that is shown first.
        all_words: whether the matrices are shown first.

    Raises:
        ValueError: the shapes do not fit each other, or a number is NaN or infinite.
    """

    module = "attention_stepper.js"

    def __init__(
        self,
        words: Sequence[str],
        query: np.ndarray,
        key: np.ndarray,
        value: np.ndarray,
        weights: np.ndarray | None = None,
        output: np.ndarray | None = None,
        word: int = 0,
        all_words: bool = False,
    ) -> None:
        count = len(words)
        self.words, self.word, self.all_words = list(words), word, all_words
        self.query, self.key, self.value = (np.asarray(each, dtype=float) for each in (query, key, value))
        if self.query.shape != self.key.shape or not len(self.query) == len(self.value) == count:
            raise ValueError(
                f"{count} words need as many queries, keys and values, one in each row; the shapes here are "
                f"{self.query.shape}, {self.key.shape} and {self.value.shape}."
            )
        given = {"weights": (weights, (count, count)), "output": (output, self.value.shape)}
        for name, (array, shape_wanted) in given.items():
            if array is not None and np.shape(array) != shape_wanted:
                raise ValueError(f"{name} has shape {np.shape(array)}; {count} words need {shape_wanted}.")
        self.scores = np.einsum("id,jd->ij", self.query, self.key)
        self.scaled = self.scores / self.query.shape[1] ** 0.5
        self.weights = maths.softmax(self.scaled) if weights is None else np.asarray(weights, dtype=float)
        self.output = (
            np.einsum("ij,jd->id", self.weights, self.value)
            if output is None
            else np.asarray(output, dtype=float)
        )

    def data(self) -> dict[str, Any]:
        arrays = ("query", "key", "value", "scores", "scaled", "weights", "output")
        return {
            "words": self.words,
            "word": self.word,
            "all": self.all_words,
            **{name: plain(getattr(self, name)) for name in arrays},
        }

    def still(self) -> str:
        """All steps of one word at once, a row for each word that it looks at; or the matrix of weights."""
        if self.all_words:
            return self._still_matrices()
        word, top, row_height = self.words[self.word], 104, 30
        parts = [
            note(24, 30, f"{word} asks:"),
            *_vector(QUERY, 150, 30, self.query[self.word]),
            *_head(KEY, 150, "key"),
            *_head(KEY, 330, "q · k / √d_k"),
            *_head(WEIGHT, 470, "weight"),
            *_head(VALUE, 620, "value"),
        ]
        most = max(1e-9, float(np.abs(self.scaled).max()))
        for row, other in enumerate(self.words):
            y = top + row_height * row
            score, weight = float(self.scaled[self.word, row]), float(self.weights[self.word, row])
            parts += [
                note(24, y, other),
                *_vector(KEY, 150, y, self.key[row]),
                bar(KEY, 330, y, 70 * score / most),
                note(338 + max(0.0, 70 * score / most), y, f"{score:.2f}"),
                bar(WEIGHT, 470, y, 80 * weight),
                note(478 + 80 * weight, y, f"{weight:.2f}"),
                *_vector(VALUE, 620, y, self.value[row]),
            ]
        y = top + row_height * len(self.words) + 10
        parts += [
            note(596, y, "sum of weight × value", "end"),
            *_vector(OUTPUT, 620, y, self.output[self.word]),
        ]
        return as_image(as_svg(800, y + 30, parts, self.alt()), self.alt())

    def _still_matrices(self) -> str:
        """The weights as a table, and beside them the outputs."""
        cell, top, left = 78, 66, 120
        parts = [*_head(WEIGHT, left, "weights: row looks at column", 24)]
        outputs = left + cell * len(self.words) + 30
        parts += _head(OUTPUT, outputs, "output", 24)
        for column, word in enumerate(self.words):
            parts.append(note(left + cell * column + cell / 2, 50, word, "middle", quiet=True))
        for row, word in enumerate(self.words):
            y = top + 32 * row + 14
            parts.append(note(24, y, word))
            for column, weight in enumerate(self.weights[row]):
                x = left + cell * column
                parts += [
                    f'<rect x="{x}" y="{y - 14}" width="{cell - 3}" height="28" rx="3" '
                    f'style="fill:{WEIGHT.colour};fill-opacity:{0.05 + 0.45 * float(weight):.2f}"/>',
                    note(x + cell / 2, y, f"{weight:.2f}", "middle"),
                ]
            parts += _vector(OUTPUT, outputs, y, self.output[row])
        height = top + 32 * len(self.words) + 16
        return as_image(as_svg(outputs + 130, height, parts, self.alt()), self.alt())

    def alt(self) -> str:
        def listed(row: np.ndarray) -> str:
            return ", ".join(f"{word} {number:.2f}" for word, number in zip(self.words, row, strict=True))

        at = self.word
        if self.all_words:
            rows = zip(self.words, self.weights, strict=True)
            return "\n".join(
                [
                    "Attention of all words at once. A row shows what one word looks at, in shares of 1.",
                    *(f"{word} looks at: {listed(row)}." for word, row in rows),
                    *(
                        f"Output of {word}: {_spaced(row)}."
                        for word, row in zip(self.words, self.output, strict=True)
                    ),
                ]
            )
        return "\n".join(
            [
                f"Attention of the word {self.words[at]}, step by step.",
                f"Its query: {_spaced(self.query[at])}.",
                f"Its dot products with all keys: {listed(self.scores[at])}.",
                f"Divided by the square root of {self.query.shape[1]}: {listed(self.scaled[at])}.",
                f"Weights after the softmax: {listed(self.weights[at])}.",
                f"The sum of the weighted values: {_spaced(self.output[at])}.",
            ]
        )


def attention_stepper(
    words: Sequence[str],
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    weights: np.ndarray | None = None,
    output: np.ndarray | None = None,
    word: int = 0,
    all_words: bool = False,
) -> None:
    """Shows an :class:`AttentionStepper`."""
    AttentionStepper(words, query, key, value, weights, output, word, all_words).show()


def _spaced(vector: np.ndarray) -> str:
    return "  ".join(f"{entry:.2f}" for entry in vector)


def _vector(role: Role, x: float, y: float, vector: np.ndarray) -> list[str]:
    return [shape(role, x, y), note(x + 14, y, _spaced(vector))]


def _head(role: Role, x: float, words: str, y: float = 74) -> list[str]:
    return [shape(role, x, y, 5), note(x + 14, y, words, quiet=True)]
