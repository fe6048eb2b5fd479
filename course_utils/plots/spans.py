"""Pictures of answers in their text: heat strips over tokens, a gallery of failures, and a box to ask in."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from course_utils.display import BAD, GOOD, TEXT, publish
from course_utils.plots import show_live

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from course_utils.data.questions import QuestionExample

_SHADE = "33,102,172"  # blue; the theme's own text stays readable on a light shade of it


def show_strips(
    tokens: Sequence[str], strips: Mapping[str, np.ndarray], span: tuple[int, int] | None = None
) -> None:
    """Shows a text once for each strip, every token shaded by its probability.

    Args:
        tokens: the text's pieces; those that begin with ## are written without a space before them.
        strips: name of a strip, such as "start" -> a probability for each token.
        span: first and last token of the chosen span, which is framed.

    Raises:
        ValueError: a strip does not have one number for each token.
    """
    for name, values in strips.items():
        if len(values) != len(tokens):
            raise ValueError(f"The strip {name!r} has {len(values)} numbers for {len(tokens)} tokens.")
    rows = "".join(
        f'<tr style="background:none"><td style="text-align:right;vertical-align:top;padding:.3em .8em">'
        f'<b>{escape(name)}</b></td><td style="text-align:left;line-height:2;white-space:normal">'
        f"{_strip(tokens, values, span)}</td></tr>"
        for name, values in strips.items()
    )
    html = f'<div style="{TEXT};max-width:60em"><table style="border:none">{rows}</table></div>'
    said = "\n".join(_strip_text(name, tokens, values) for name, values in strips.items())
    publish({"text/html": html, "text/plain": said})


def _strip(tokens: Sequence[str], values: np.ndarray, span: tuple[int, int] | None) -> str:
    parts = []
    for place, (token, value) in enumerate(zip(tokens, values, strict=True)):
        space, word = ("", token[2:]) if token.startswith("##") else (" ", token)
        style = f"background:rgba({_SHADE},{0.75 * float(value):.3f});padding:.15em .1em;border-radius:3px"
        if span and span[0] <= place <= span[1]:
            style += ";outline:2px solid currentColor;font-weight:700"
        number = f"<sub>{value:.2f}</sub>" if value >= 0.05 else ""
        parts.append(f'{space}<span style="{style}" title="{value:.3f}">{escape(word)}{number}</span>')
    return "".join(parts)


def _strip_text(name: str, tokens: Sequence[str], values: np.ndarray) -> str:
    best = np.argsort(-np.asarray(values))[:4]
    return f"{name}: " + ", ".join(f"{tokens[place]} (token {place}) {values[place]:.2f}" for place in best)


# ---------------------------------------------------------------------------------- failures


@dataclass(frozen=True)
class Answered:
    """What a reader answered: start and end in characters (0, 0: no answer), and how sure it was."""

    start: int
    end: int
    margin: float


def answer_gallery(
    examples: Sequence[QuestionExample], answers: Sequence[Answered], limit: int = 4, title: str = "questions"
) -> None:
    """Shows questions that were answered with a wrong place, with both answers marked in the text: the first of each document before others.

    The right answer is green and in [brackets]; the reader's answer is orange, underlined, and in {braces}.

    Args:
        limit: how many to show.
        title: what to call them in the headline.
    """
    wrong = [
        (example, said)
        for example, said in zip(examples, answers, strict=True)
        if (said.start, said.end) not in (list(example.answers) or [(0, 0)])
    ]
    headline = f"{len(wrong)} of {len(examples)} {title} are answered with the wrong part of the text" + (
        f"; {limit} of them:" if len(wrong) > limit else (":" if wrong else ".")
    )
    first: dict[str, tuple[QuestionExample, Answered]] = {}
    for pair in wrong:
        first.setdefault(pair[0].document, pair)
    others = [pair for pair in wrong if first[pair[0].document] is not pair]
    blocks, lines = [], [headline]
    for example, said in [*first.values(), *others][:limit]:
        marked = _marked(example, said)
        word = "" if said.end else " <i>(the reader found no answer)</i>"
        blocks.append(
            f'<p style="margin:.9em 0 .2em"><b>{escape(example.question)}</b>{word}</p>'
            f'<div style="line-height:1.5">{_html(marked)}</div>'
        )
        lines.append(f"{example.question}\n    {''.join(text for _, text in marked)}")
    publish(
        {
            "text/html": f'<div style="{TEXT};max-width:60em"><p>{escape(headline)}</p>{"".join(blocks)}</div>',
            "text/plain": "\n".join(lines),
        }
    )


def _marked(example: QuestionExample, said: Answered) -> list[tuple[str, str]]:
    """The text in pieces: (kind, piece), where kind is "", "right", "said" or "both". Long parts in between are shortened."""
    spans = [(span.start, span.end, "right") for span in example.answers]
    if said.end:
        spans.append((said.start, said.end, "said"))
    cuts = sorted({0, len(example.context), *(place for span in spans for place in span[:2])})
    pieces = []
    for begin, end in itertools.pairwise(cuts):
        kinds = {kind for start, stop, kind in spans if start <= begin and end <= stop}
        text = example.context[begin:end]
        if len(kinds) == 2:
            pieces.append(("both", f"[{{{text}}}]"))
        elif kinds:
            (kind,) = kinds
            pieces.append((kind, f"[{text}]" if kind == "right" else f"{{{text}}}"))
        else:
            if len(text) > 320:
                text = f"{text[:150].rpartition(' ')[0]} … {text[-150:].partition(' ')[2]}"
            pieces.append(("", text))
    return pieces


_STYLE = {
    "right": f"border:2px solid {GOOD};border-radius:3px",
    "said": f"border-bottom:3px double {BAD}",
    "both": f"border:2px solid {GOOD};border-bottom:3px double {BAD}",
}


def _html(pieces: Sequence[tuple[str, str]]) -> str:
    return "".join(
        f'<span style="{_STYLE[kind]}">{escape(text)}</span>' if kind else escape(text)
        for kind, text in pieces
    )


# ---------------------------------------------------------------------------------- results as bars


def score_bars(table: Mapping[str, Mapping[str, float]], title: str) -> Figure:
    """Exact match of several readers on several sets: one group of bars per set, one bar per reader, with its number.

    Args:
        table: name of a set -> name of a reader -> share from 0 to 1; the same readers in each set.

    Raises:
        NotImplementedError: the table is empty, as before the exercises are solved.
    """
    from matplotlib.figure import Figure

    if not table:
        raise NotImplementedError("There are no scores to draw yet: the cell that measures them has not run.")
    readers = list(next(iter(table.values())))
    colours = ("#21918c", "#b8860b", "#7a7a7a", "#440154")
    height = 0.8 / len(readers)
    figure = Figure(figsize=(7.6, 1.1 + 0.33 * len(readers) * len(table)), layout="constrained")
    axes = figure.subplots()
    for number, (reader, colour) in enumerate(zip(readers, colours, strict=False)):
        places = np.arange(len(table)) + (number - (len(readers) - 1) / 2) * height
        bars = axes.barh(places, [row[reader] for row in table.values()], height, color=colour, label=reader)
        axes.bar_label(bars, [f"{row[reader]:.0%}" for row in table.values()], padding=3, fontsize=8)
    axes.set_yticks(range(len(table)), list(table))
    axes.invert_yaxis()
    axes.set(title=title, xlabel="exact match", xlim=(0, 1.12))
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


# ---------------------------------------------------------------------------------- a box to ask in

MAX_CHARACTERS = 4_000


def question_box(answer: Callable[[str, str], Answered], examples: Sequence[tuple[str, str]]) -> None:
    """Shows two fields, a text and a question, and where in the text the answer is; without a kernel, examples.

    Args:
        answer: (question, context) -> the reader's answer.
        examples: pairs (question, context); the first one is shown in the fields.
    """

    def found(question: str, context: str) -> tuple[str, Answered | None]:
        if not question.strip() or not context.strip():
            return "Type a text and a question.", None
        if len(context) > MAX_CHARACTERS:
            return f"That is too long: a text may have {MAX_CHARACTERS} characters.", None
        said = answer(question, context)
        if not said.end:
            return f"No answer in this text (margin {said.margin:.1f}).", said
        return f"{context[said.start : said.end]} (margin {said.margin:.1f})", said

    def html(question: str, context: str) -> str:
        text, said = found(question, context)
        if said is None or not said.end:
            body = escape(context)
        else:
            inside = escape(context[said.start : said.end])
            body = (
                f"{escape(context[: said.start])}"
                f"<mark style='font-weight:700;margin:0 2px;outline:2px solid'>{inside}</mark>"
                f"{escape(context[said.end :])}"
            )
        return (
            f'<div style="{TEXT};max-width:60em" aria-live="polite"><p style="font-size:115%;margin:.4em 0">'
            f"→ {escape(text)}</p><p style='line-height:1.5'>{body}</p></div>"
        )

    def block(question: str, context: str) -> str:
        return f'<p style="margin:.8em 0 0"><b>{escape(question)}</b></p>{html(question, context)}'

    import ipywidgets

    wide = ipywidgets.Layout(width="95%")
    tall = ipywidgets.Layout(width="95%", height="8em")
    text = ipywidgets.Textarea(value=examples[0][1], description="text", continuous_update=False, layout=tall)
    asked = ipywidgets.Text(
        value=examples[0][0], description="question", continuous_update=False, layout=wide
    )
    choice = ipywidgets.ToggleButtons(  # no drop-down list: JupyterLab uses the up and down keys itself
        options=[(question, number) for number, (question, _) in enumerate(examples)],
        description="examples",
        style={"button_width": "auto"},
    )
    result = ipywidgets.HTML(html(*examples[0]))

    def show(_: object = None) -> None:
        result.value = html(asked.value, text.value)

    def choose(change: Mapping) -> None:
        question, context = examples[change["new"]]
        text.value, asked.value = context, question

    text.observe(show, names="value")
    asked.observe(show, names="value")
    choice.observe(choose, names="value")
    show_live(
        ipywidgets.VBox([choice, text, asked, result]),
        html=f'<div style="{TEXT}">{"".join(block(*example) for example in examples)}</div>',
        text="\n".join(f"{question}\n  -> {found(question, context)[0]}" for question, context in examples),
    )
