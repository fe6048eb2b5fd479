"""A word moves: where a pretrained encoder puts a word with several meanings, alone and in a sentence.

The plane of a word is fixed by sentences in which its sense is clear, so that arrows of different sentences can be
compared. Vectors are the encoder's last layer (see :mod:`course_utils.models.pretrained`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple, Protocol

import numpy as np

from course_utils.plots.drawing import INK, as_image, as_svg, note
from course_utils.plots.roles import OUTPUT, VALUE, shape
from course_utils.widgets import Widget, plain


class Read(Protocol):
    """What an encoder makes of a sentence: see :class:`course_utils.models.pretrained.Reading`."""

    tokens: Sequence[str]
    hidden: np.ndarray


class Word(NamedTuple):
    """A word with several meanings: sentences in which each is clear, and sentences to begin with."""

    senses: Mapping[str, Sequence[str]]
    examples: Sequence[str]


WORDS = {
    "station": Word(
        {
            "trains": (
                "The train stops at the station.",
                "She waits on the platform of the station.",
                "The station has ten tracks and a ticket office.",
                "Passengers leave the station for the city.",
            ),
            "radio": (
                "The radio station plays jazz all night.",
                "A local station broadcasts the news.",
                "Listeners call the station to hear a song.",
                "He turned on his favourite rock station.",
            ),
        },
        (
            "Our train left the station on time.",
            "The station interviewed the singer on air.",
            "I met her at the station.",
        ),
    ),
    "date": Word(
        {
            "day": (
                "What is the date of the exam?",
                "Please write the date at the top of the letter.",
                "The date of the meeting is May fifth.",
            ),
            "romance": (
                "She went on a date with her neighbour.",
                "Their first date was a romantic dinner.",
                "He asked her out on a date.",
            ),
            "fruit": (
                "The date is a sweet fruit of the palm.",
                "He ate a dried date with nuts.",
                "Add a chopped date to the cake.",
            ),
        },
        (
            "The contract must show the date.",
            "He was nervous before his date.",
            "The camel driver gave me a date to eat.",
        ),
    ),
    "see": Word(
        {
            "with the eyes": (
                "I can see the mountain from my window.",
                "We see a bird in the tree.",
                "You can see stars at night.",
            ),
            "understand": (
                "I see what you mean.",
                "Now I see why the proof works.",
                "Do you see the point of the argument?",
            ),
            "visit": (
                "You should see a doctor.",
                "She will see a lawyer tomorrow.",
                "He is going to see a dentist.",
            ),
        },
        (
            "From here you see the sea.",
            "I see your problem.",
            "You have to see a specialist about your knee.",
        ),
    ),
    "it": Word(
        {
            "the animal": (
                "The dog did not eat because it was sick.",
                "The cat slept because it was tired.",
                "The horse stopped because it was thirsty.",
                "The bird sang because it was happy.",
            ),
            "the street": (
                "The road was closed because it was flooded.",
                "We avoided the street because it was too narrow.",
                "The highway was built because it was needed.",
                "They repaired the road because it was broken.",
            ),
        },
        (
            "The animal did not cross the street because it was too tired.",
            "The animal did not cross the street because it was too wide.",
        ),
    ),
}
"""The last pair is that of Uszkoreit 2017 (Google's announcement of the Transformer), after Winograd's schemas."""


class Plane:
    """The plane of one word.

    Args:
        word: in small letters, one word piece of the encoder.
        read: a function that reads a sentence with the encoder.
        senses: name of a sense -> sentences that have it.
    """

    def __init__(self, word: str, read: Callable[[str], Read], senses: Mapping[str, Sequence[str]]) -> None:
        self.word, self.read, self.senses = word, read, senses
        self.points = {
            name: np.array([self.vector(each) for each in sentences]) for name, sentences in senses.items()
        }
        middles = {name: points.mean(axis=0) for name, points in self.points.items()}
        self.middles = {name: middle / np.linalg.norm(middle) for name, middle in middles.items()}
        everything = np.concatenate(list(self.points.values()))
        self.origin = everything.mean(axis=0)
        # First what tells the senses apart; if two senses leave a direction free, what varies most within them.
        between = np.array(list(middles.values())) - self.origin
        count = min(2, len(between) - 1)
        axes = np.linalg.svd(between, full_matrices=False)[2][:count]
        within = (everything - self.origin) - (everything - self.origin) @ axes.T @ axes
        axes = np.concatenate([axes, np.linalg.svd(within, full_matrices=False)[2][: 2 - count]])
        self.axes = axes * np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])[:, None]
        self.bare = self.place(self.vector(word))

    def vector(self, sentence: str) -> np.ndarray:
        """The word's vector of length 1 in a sentence (384,); where it stands several times, the first.

        Raises:
            ValueError: the word does not stand in the sentence.
        """
        reading = self.read(sentence)
        if self.word not in reading.tokens:
            raise ValueError(f"The word “{self.word}” does not occur in this sentence. Write one with it.")
        found = reading.hidden[-1][list(reading.tokens).index(self.word)]
        return found / np.linalg.norm(found)

    def place(self, vector: np.ndarray) -> np.ndarray:
        """Where vectors (..., 384) are in the plane, (..., 2)."""
        return (vector - self.origin) @ self.axes.T

    def moved(self, sentence: str) -> dict[str, Any]:
        """Where the word goes in a sentence, and its cosine with the middle of each sense."""
        vector = self.vector(sentence)
        close = {name: round(float(vector @ middle), 2) for name, middle in self.middles.items()}
        return {
            "sentence": sentence,
            "at": plain(self.place(vector)),
            "close": close,
            "nearest": max(close, key=close.get),
        }


class WordMoves(Widget):
    """The planes of some words, with an arrow for each sentence.

    Args:
        read: a function that reads a sentence with the encoder.
        words: as in WORDS.
    """

    module = "word_moves.js"

    def __init__(self, read: Callable[[str], Read], words: Mapping[str, Word] = WORDS) -> None:
        self.planes = {name: Plane(name, read, word.senses) for name, word in words.items()}
        self.moved = {
            name: [self.planes[name].moved(each) for each in word.examples] for name, word in words.items()
        }

    def data(self) -> dict[str, Any]:
        return {
            "words": {
                name: {
                    "senses": [
                        {
                            "name": sense,
                            "points": plain(plane.place(points)),
                            "sentences": list(plane.senses[sense]),
                        }
                        for sense, points in plane.points.items()
                    ],
                    "bare": plain(plane.bare),
                    "moved": self.moved[name],
                }
                for name, plane in self.planes.items()
            }
        }

    def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        word, sentence = str(asked["word"]), " ".join(str(asked["sentence"]).split())
        found = self.planes[word].moved(sentence)
        earlier = [each for each in self.moved[word] if each["sentence"] != sentence]
        self.moved[word] = [*earlier[-5:], found]  # as many as can be told apart
        return self.data()

    def still(self) -> str:
        """The first word with all its arrows."""
        name, shown = next(iter(self.data()["words"].items()))
        every = np.array(
            [
                shown["bare"],
                *(p for s in shown["senses"] for p in s["points"]),
                *(m["at"] for m in shown["moved"]),
            ]
        )
        low, span = every.min(axis=0), np.ptp(every, axis=0)

        def place(point: Sequence[float]) -> tuple[float, float]:
            x, y = (np.array(point) - low) / span
            return round(60 + 580 * float(x), 1), round(290 - 250 * float(y), 1)

        parts = []
        for mark, sense in zip("+×□", shown["senses"], strict=False):
            parts += [note(*place(point), mark, "middle", quiet=True) for point in sense["points"]]
            parts.append(_bold(*place(np.mean(sense["points"], axis=0)), sense["name"]))
        x, y = place(shown["bare"])
        for number, moved in enumerate(shown["moved"], 1):
            to_x, to_y = place(moved["at"])
            parts.append(
                f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" style="stroke:{OUTPUT.colour};stroke-width:2"/>'
            )
            parts += [shape(OUTPUT, to_x, to_y), note(to_x + 10, to_y - 10, str(number))]
            parts.append(note(24, 312 + 20 * number, f"{number}  {moved['sentence']}"))
        parts += [shape(VALUE, x, y), note(x, y - 16, f"{name} alone", "middle")]
        height = 330 + 20 * len(shown["moved"])
        return as_image(as_svg(720, height, parts, self.alt()), self.alt())

    def alt(self) -> str:
        lines = [
            "A word moves to its meaning in the sentence that it is in; cosine with the middle of each sense."
        ]
        for name, moves in self.moved.items():
            for moved in moves:
                close = ", ".join(f"{sense} {cosine:.2f}" for sense, cosine in moved["close"].items())
                lines.append(f"{name} in “{moved['sentence']}”: {close}; closest to {moved['nearest']}.")
        return "\n".join(lines)


def word_moves(read: Callable[[str], Read], words: Mapping[str, Word] = WORDS) -> None:
    """Shows :class:`WordMoves`."""
    WordMoves(read, words).show()


def _bold(x: float, y: float, words: str) -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="middle" dominant-baseline="central" '
        f'style="fill:{INK};font:700 14px system-ui,sans-serif">{escape(words)}</text>'
    )
