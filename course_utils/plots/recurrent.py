"""Drawings of lab 01: the encoder-decoder with one vector and with attention, and what came after it."""

from __future__ import annotations

from course_utils.plots.drawing import arrow, box, note, show_drawing
from course_utils.plots.roles import KEY, QUERY, VALUE, WEIGHT, bar, legend, shape

_FRENCH, _ENGLISH = ("le", "chat", "noir"), ("the", "black", "cat")
_LEFT, _RIGHT, _STEP = 40, 500, 116  # the encoder's and the decoder's first box, and from box to box
_WIDTH, _HEIGHT = 84, 40
_ASKING = 1  # the word that the decoder is about to write: "black"
_WEIGHTS = (0.05, 0.1, 0.85)


def encoder_decoder(looking_back: bool = False) -> None:
    """Shows how *le chat noir* becomes *the black cat*: through one vector, or by looking back.

    Args:
        looking_back: whether the decoder sees all states of the encoder, by attention; it is drawn for the word
            *black*, with weights that are made up.
    """
    top = 190 if looking_back else 100
    parts = [
        *_chain(_LEFT, top, "encoder: reads", _FRENCH, "h"),
        *_chain(_RIGHT, top, "decoder: writes", ("<start>", *_ENGLISH[:2]), "s"),
    ]
    for place, word in enumerate(_ENGLISH):
        x = _RIGHT + _STEP * place + _WIDTH / 2
        parts += [arrow((x, top), (x, 36)), note(x, 22, word, "middle")]
    if looking_back:
        parts += _attention(top)
        alt = (
            "An encoder reads le, chat, noir into three states h1, h2, h3. Before a decoder writes black, its state s2 "
            "is the query. It is compared with the three encoder states, which are keys and values. The weights are "
            "0.05, 0.10 and 0.85: most goes to noir. The weighted average is the context, from which black is written."
        )
    else:
        end, middle = _LEFT + 2 * _STEP + _WIDTH, (_LEFT + 2 * _STEP + _WIDTH + _RIGHT) / 2
        parts += [
            arrow((end, top + _HEIGHT / 2), (middle - 32, top + _HEIGHT / 2)),
            box(middle - 32, top - 8, 64, 56, "one\nvector", marked=True),
            arrow((middle + 32, top + _HEIGHT / 2), (_RIGHT, top + _HEIGHT / 2)),
            note(middle, top - 24, "all that gets through", "middle", quiet=True),
        ]
        alt = (
            "An encoder reads le, chat, noir, one state after the other. Its last state becomes one vector, a "
            "narrow passage in the middle. From that vector alone a decoder writes the, black, cat, one after the other."
        )
    show_drawing(860, top + 116, parts, alt)


def _chain(left: float, top: float, name: str, words: tuple[str, ...], letter: str) -> list[str]:
    """States from left to right, each fed by a word below it and by the state before it."""
    parts = [note(left, top + 104, name, quiet=True)]
    for place, word in enumerate(words):
        x = left + _STEP * place
        parts += [
            box(x, top, _WIDTH, _HEIGHT, f"{letter}{'₁₂₃'[place]}"),
            note(x + _WIDTH / 2, top + 78, word, "middle"),
            arrow((x + _WIDTH / 2, top + 68), (x + _WIDTH / 2, top + _HEIGHT)),
        ]
        if place:
            parts.append(arrow((x - _STEP + _WIDTH, top + 20), (x, top + 20)))
    return parts


def _attention(top: float) -> list[str]:
    """From the decoder's state to the encoder's states and back, for one word."""
    asks, context_x, context_y = _RIGHT + _STEP * _ASKING, 400, 92
    parts = [
        shape(QUERY, asks + 12, top + 12, 5),
        box(context_x, context_y - 18, 84, 36, "context", marked=True),
        arrow((context_x + 84, context_y), (asks + _WIDTH / 2 - 3, context_y)),
        note(_RIGHT - 10, top - 42, "s₂ asks all states", "end", quiet=True),
        *legend(_LEFT, 22, (QUERY, KEY, VALUE, WEIGHT)),
    ]
    for place, weight in enumerate(_WEIGHTS):
        x = _LEFT + _STEP * place
        parts += [
            arrow(
                (asks + 12, top), (asks + 12, top - 56), (x + 12, top - 56), (x + 12, top - 2), dashed=True
            ),
            shape(KEY, x + 12, top + 12, 5),
            shape(VALUE, x + _WIDTH - 12, top + 12, 5),
            bar(WEIGHT, x + 18, top - 20, 44 * weight),
            note(x + 18, top - 38, f"{weight:.2f}"),
            f'<line x1="{x + _WIDTH - 12}" y1="{top - 1}" x2="{context_x}" y2="{context_y}" '
            f'style="stroke:{VALUE.colour};stroke-width:{0.8 + 6 * weight:.1f};stroke-opacity:.75"/>',
        ]
    return parts


_EVENTS = (
    ("1990", "recurrent networks", "Elman", False),
    ("1997", "LSTM: gates", "Hochreiter and Schmidhuber", False),
    ("2014", "encoder-decoder, GRU", "Sutskever et al.; Cho et al.", False),
    ("2015", "attention: looking back", "Bahdanau et al.; Luong et al.", True),
    ("2017", "Transformer: nothing but attention", "Vaswani et al.", True),
    ("2018", "BERT and GPT: one model, many tasks", "Devlin et al.; Radford et al.", True),
    ("2020", "Reformer, Longformer: look at a few keys only", "Kitaev et al.; Beltagy et al.", True),
    ("2020", "linear attention: “Transformers are RNNs”", "Katharopoulos et al.", False),
    ("2022", "FlashAttention: all keys, but less memory traffic", "Dao et al.", True),
    ("2023", "RWKV, Mamba: recurrence again, trained in parallel", "Peng et al.; Gu and Dao", False),
    ("2024", "Jamba: layers of both kinds in one model", "Lieber et al.", True),
)


def time_line() -> None:
    """Shows where attention came from and what came after: recurrence on the left of the line, attention on the right."""
    middle, row = 430, 38
    parts = [
        note(middle - 34, 18, "a state is carried on", "end", quiet=True),
        note(middle + 34, 18, "every word is looked at", quiet=True),
    ]
    bottom = 40 + row * len(_EVENTS)
    parts.append(arrow((middle, 34), (middle, bottom + 8)))
    for number, (year, what, who, attends) in enumerate(_EVENTS):
        y = 54 + row * number
        side, anchor = (1, "start") if attends else (-1, "end")
        parts += [
            box(middle - 24, y - 11, 48, 22, year),
            note(middle + side * 34, y - 8, what, anchor),
            note(middle + side * 34, y + 8, who, anchor, quiet=True),
        ]
    told = "; ".join(f"{year} {what} ({who})" for year, what, who, _ in _EVENTS)
    show_drawing(860, bottom + 16, parts, f"A line of time, from recurrence to attention and back: {told}.")
