"""From far away to a single head: the Transformer as a black box, opened level by level.

Each level shows what is inside a box of the level before. The sizes are those of lab 05's translator and of Jane's sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from course_utils.display import TEXT
from course_utils.plots.drawing import arrow, as_image, as_svg, box, note
from course_utils.plots.roles import KEY, OUTPUT, QUERY, VALUE, WEIGHT, Role, shape
from course_utils.widgets import Widget

_WIDTH, _HEIGHT = 440, 340
_LEFT, _RIGHT, _BOX = 10, 260, 170  # of encoder and decoder, and how wide both are
_TOKENS, _MODEL, _HEADS, _LAYERS = 7, 128, 4, 2  # lab 05's CONFIG
_SIZE = _MODEL // _HEADS


@dataclass(frozen=True)
class Level:
    """One picture.

    Attributes:
        name: what is seen, in two or three words.
        said: what to look at, in a few sentences.
        parts: of the drawing.
        opens: left, top and width of what the next level shows; none at the last one.
    """

    name: str
    said: str
    parts: Sequence[str]
    opens: tuple[float, float, float] | None = None


class Zoom(Widget):
    """The levels, one at a time: the next one grows out of the box that it opens."""

    module = "zoom.js"

    def data(self) -> dict[str, Any]:
        levels = [
            {
                "name": level.name,
                "said": level.said,
                "drawing": "".join(level.parts),
                "opens": list(level.opens or ()),
            }
            for level in LEVELS
        ]
        return {"levels": levels, "width": _WIDTH, "height": _HEIGHT}

    def still(self) -> str:
        """All levels, side by side where there is room."""
        pictures = "".join(
            f'<div style="flex:1 1 min(400px,100%);max-width:{_WIDTH}px"><div><b>{number}. {level.name}.</b> {level.said}</div>'
            f"{as_image(as_svg(_WIDTH, _HEIGHT, list(level.parts), level.name), level.said)}</div>"
            for number, level in enumerate(LEVELS, 1)
        )
        return f'<div style="{TEXT};display:flex;flex-wrap:wrap;gap:1em 2em;line-height:1.4">{pictures}</div>'

    def alt(self) -> str:
        lines = (f"{number}. {level.name}: {level.said}" for number, level in enumerate(LEVELS, 1))
        return "\n".join(["From a black box to a single head.", *lines])


def zoom() -> None:
    """Shows :class:`Zoom`."""
    Zoom().show()


def _middle(x: float, y: float, words: str, quiet: bool = False) -> str:
    return note(x, y, words, "middle", quiet)


def _up(x: float, *steps: tuple[float, float]) -> list[str]:
    return [arrow((x, begin), (x, end)) for begin, end in steps]


_IN, _OUT = _LEFT + _BOX / 2, _RIGHT + _BOX / 2
"""The middles of encoder and decoder."""


def _ends() -> list[str]:
    """What goes into the two halves, and what comes out."""
    return [
        _middle(_IN, 314, "Jane visite l'Afrique"),
        _middle(_IN, 330, "en septembre"),
        _middle(_OUT, 314, "written so far:"),
        _middle(_OUT, 330, "<bos> Jane visits"),
        _middle(_OUT, 14, "Africa"),
    ]


def _black_box() -> Level:
    centre = _WIDTH / 2
    parts = [
        _middle(centre, 322, "Jane visite l'Afrique en septembre"),
        *_up(centre, (308, 236), (120, 48)),
        box(120, 120, 200, 116, "Transformer", marked=True),
        _middle(centre, 30, "Jane visits Africa in September"),
    ]
    said = "From far away there is a box: French goes in, English comes out."
    return Level("black box", said, parts, (120, 120, 200))


def _two_halves() -> Level:
    parts = [
        *_ends(),
        *_up(_IN, (302, 224)),
        *_up(_OUT, (302, 224), (124, 26)),
        box(_LEFT, 124, _BOX, 100, "encoder", marked=True),
        box(_RIGHT, 124, _BOX, 100, "decoder", marked=True),
        arrow((_LEFT + _BOX, 174), (_RIGHT, 174)),
        _middle(_WIDTH / 2, 110, f"memory ({_TOKENS}, {_MODEL})"),
    ]
    said = (
        "The encoder reads the French sentence once. The decoder reads its result, the memory, and what it has written so far, and says "
        "the next word."
    )
    return Level("two halves", said, parts, (_LEFT, 124, _RIGHT + _BOX - _LEFT))


def _stacks() -> Level:
    rows = [(248, "embedding + positions"), (188, "layer 1"), (128, "layer 2")]
    parts = _ends()
    for left, kind in ((_LEFT, "encoder"), (_RIGHT, "decoder")):
        for y, words in rows:
            inner = words.startswith("layer")
            parts.append(box(left, y, _BOX, 34, f"{kind} {words}" if inner else words, marked=inner))
    parts += [
        box(_RIGHT, 54, _BOX, 34, "linear, softmax"),
        *_up(_IN, (302, 282), (248, 222), (188, 162)),
        *_up(_OUT, (302, 282), (248, 222), (188, 162), (128, 88), (54, 26)),
        arrow((_IN, 128), (_IN, 108), (220, 108), (220, 145), (_RIGHT, 145)),
        arrow((220, 145), (220, 205), (_RIGHT, 205)),
        _middle(_IN, 96, "memory"),
    ]
    said = (
        f"Each half is a stack of {_LAYERS} layers (6 in the paper) that are built alike and have weights of their own. Every layer of the "
        "decoder gets the memory, and it is the memory of the last encoder layer."
    )
    return Level("stacks", said, parts, (_LEFT, 188, _RIGHT + _BOX - _LEFT))


def _layer() -> Level:
    parts = [
        _middle(_IN, 314, "from the layer below"),
        _middle(_OUT, 314, "from the layer below"),
        *_up(_IN, (304, 282), (242, 234), (212, 176), (142, 134), (112, 88)),
        *_up(_OUT, (304, 282), (242, 234), (212, 190), (150, 142), (120, 104), (70, 62), (40, 22)),
        box(_LEFT, 242, _BOX, 40, "self-attention", marked=True),
        box(_LEFT, 212, _BOX, 22, "add & norm"),
        box(_LEFT, 142, _BOX, 34, "feed-forward"),
        box(_LEFT, 112, _BOX, 22, "add & norm"),
        box(_RIGHT, 242, _BOX, 40, "masked self-attention"),
        box(_RIGHT, 212, _BOX, 22, "add & norm"),
        box(_RIGHT, 150, _BOX, 40, "cross-attention"),
        box(_RIGHT, 120, _BOX, 22, "add & norm"),
        box(_RIGHT, 70, _BOX, 34, "feed-forward"),
        box(_RIGHT, 40, _BOX, 22, "add & norm"),
        arrow((190, 170), (_RIGHT, 170)),
        _middle(_WIDTH / 2, 156, "memory"),
        _middle(_IN, 76, "to the layer above"),
        _middle(_OUT, 12, "to the layer above"),
    ]
    said = (
        "An encoder layer has two sub-layers: words look at each other, then each word goes through a small network. A decoder layer has a "
        "third one between them, which looks at the memory. There is an add & norm around each sub-layer."
    )
    return Level("a layer", said, parts, (_LEFT, 242, _BOX))


def _attention() -> Level:
    wide, apart = 90, 10
    lefts = [24 + head * (wide + apart) for head in range(_HEADS)]
    middles = [left + wide / 2 for left in lefts]
    centre = (lefts[0] + lefts[-1] + wide) / 2
    parts = [
        _middle(centre, 326, f"{_TOKENS} words, each {_MODEL} numbers"),
        arrow((centre, 316), (centre, 300)),
        arrow((middles[0], 300), (middles[-1], 300)),
    ]
    for head, (left, x) in enumerate(zip(lefts, middles, strict=True)):
        parts += [
            *_up(x, (300, 276)),
            box(left, 216, wide, 60, f"head {head}", marked=head == 0),
            *_up(x, (216, 172)),
            box(left, 146, wide, 26, f"{_SIZE} numbers"),
        ]
    parts += [
        f'<rect x="18" y="140" width="{lefts[-1] + wide - 12}" height="38" rx="6" style="fill:none;stroke:{OUTPUT.colour};stroke-width:2"/>',
        note(24, 128, "side by side"),
        *_up(centre, (140, 96)),
        box(centre - 50, 62, 100, 34, "W^O"),
        *_up(centre, (62, 30)),
        _middle(centre, 18, f"{_TOKENS} words, each {_MODEL} numbers"),
    ]
    said = (
        f"An attention is {_HEADS} heads. Each reads all {_MODEL} numbers of every word, and finds {_SIZE} for each. Side by side these are "
        f"{_MODEL} again, and W^O mixes them."
    )
    return Level("attention", said, parts, (lefts[0], 216, wide))


def _head() -> Level:
    def labelled(role: Role, x: float, y: float, words: str) -> list[str]:
        return [shape(role, x - 52, y), note(x - 40, y, words)]

    xs = (80, 220, 360)
    parts = [
        _middle(220, 328, f"{_TOKENS} words, each {_MODEL} numbers"),
        arrow((220, 318), (220, 304)),
        arrow((xs[0], 304), (xs[-1], 304)),
    ]
    for x, role, letter in zip(xs, (QUERY, KEY, VALUE), "QKV", strict=True):
        parts += [
            *_up(x, (304, 286), (262, 246)),
            box(x - 40, 262, 80, 24, f"W^{letter}"),
            *labelled(role, x, 232, f"{letter} ({_TOKENS}, {_SIZE})"),
        ]
    parts += [
        arrow((80, 220), (80, 188)),
        arrow((220, 220), (220, 188)),
        box(50, 158, 200, 30, f"Q Kᵀ / √{_SIZE}   ({_TOKENS}, {_TOKENS})"),
        *_up(150, (158, 136)),
        box(50, 106, 200, 30, "softmax, row by row"),
        *_up(150, (106, 84)),
        *labelled(WEIGHT, 150, 70, f"weights ({_TOKENS}, {_TOKENS})"),
        arrow((360, 220), (360, 70), (330, 70)),
        box(290, 54, 40, 32, "×"),
        arrow((256, 70), (290, 70)),
        *_up(310, (54, 32)),
        *labelled(OUTPUT, 310, 18, f"output ({_TOKENS}, {_SIZE})"),
    ]
    said = (
        f"Inside a head is lab 02: queries meet keys, the softmax makes {_TOKENS} shares of each row, and they weigh the values. "
        "There is nothing further inside."
    )
    return Level("a head", said, parts)


LEVELS = (_black_box(), _two_halves(), _stacks(), _layer(), _attention(), _head())
