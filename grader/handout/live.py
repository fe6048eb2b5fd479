"""Pages that run without a kernel: each is one file with a model's numbers and one ES module in it, so it also opens from a disk.

The models are the course's own, from the weights that it ships; the modules compute in plain JavaScript. :func:`write_pages` puts the pages
among those of the site.
"""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from course_utils import widgets
from course_utils.data.translation import JANE
from course_utils.labs import LabInfo
from course_utils.widgets import Widget, one_model, plain, type_french, what_comes_next
from course_utils.widgets.head_columns import HeadColumns
from course_utils.widgets.heads import HeadBrowser
from course_utils.widgets.in_page import PAGES as SHARED
from course_utils.widgets.in_page import STYLE
from course_utils.widgets.stepper import AttentionStepper
from course_utils.widgets.word_moves import WORDS, WordMoves
from grader.course import CourseError

if TYPE_CHECKING:
    from course_utils.plots.alignment import Alignment

FILES = Path(__file__).parent / "live_files"
FOLDER = "live"
"""Where the pages lie in the site."""

_SEEN = 0.02  # smaller weights are not drawn


@dataclass(frozen=True)
class Model:
    """A model as a page carries it.

    Attributes:
        about: what its module needs to know: configuration, vocabularies, and ``tensors``, the names and sizes of its arrays in order.
        numbers: the arrays, one after another, 16 bits a number.
    """

    about: Mapping[str, Any]
    numbers: bytes


def packed(state: Mapping[str, np.ndarray], **about: Any) -> Model:
    """A model from its arrays, which have to be exact in 16 bits: the shipped ones are.

    Raises:
        ValueError: an array is not.
    """
    halves = {name: np.asarray(array).astype("<f2") for name, array in state.items()}
    for name, half in halves.items():
        if not np.array_equal(half.astype(np.float32), state[name]):
            raise ValueError(f"{name} is not exact in 16 bits.")
    about["tensors"] = [[name, half.size] for name, half in halves.items()]
    return Model(about, b"".join(half.tobytes() for half in halves.values()))


def translator() -> Model:
    """Lab 05's translator."""
    from course_utils.models.translator import load_weights

    found = load_weights()
    return packed(found.state, **type_french.about(found))


def speller() -> Model:
    """Lab 08's decoder of names."""
    state, about = what_comes_next.shipped()
    return packed(state, **about)


def text_to_text() -> Model:
    """Lab 12's model for seven tasks, its byte pairs, and which words its training texts have."""
    return packed(one_model.state(), **one_model.about())


ENCODER_SENTENCES = (
    "The cat sat on the mat because the mat was warm.",
    "The animal did not cross the street because it was too tired.",
    "The animal did not cross the street because it was too wide.",
    "She sat on the bank of the river.",
    "He took his money to the bank.",
    "Jane visits Africa in September.",
    "The keys to the old cabinet are on the table.",
    "What the doctor said surprised the nurse.",
    "If it rains tomorrow, the match will be cancelled.",
    "The chef who won the prize opened a restaurant in Lyon.",
)


@functools.cache
def _browsers() -> list[HeadBrowser]:
    """The encoder's heads on each of the sentences.

    Raises:
        RuntimeError: the encoder is not installed.
    """
    from course_utils.models.pretrained import read

    return [HeadBrowser(read, sentence, heads=((3, 8), (2, 3))) for sentence in ENCODER_SENTENCES]


def _for_a_widget(made: Widget, **about: Any) -> Model:
    """What a page needs that brings a widget of the course along, and no numbers of a model."""
    state = made.live()
    return Model({"alt": state.alt, "roles": state.roles, **about}, b"")


def heads_of_encoder() -> Model:
    """What each head of the pretrained encoder looks at, in thousandths."""
    return _for_a_widget(_browsers()[0], sentences=[browser.data() for browser in _browsers()])


@dataclass(frozen=True)
class Moves:
    """What the page says of a word besides the lab's sentences.

    Attributes:
        sentences: more of them, because a page cannot read a new one.
        look: what to look at, in words.
    """

    sentences: tuple[str, ...]
    look: str


MOVES = {
    "station": Moves(
        (
            "The train to the radio station was late.",
            "The news came from the station.",
            "The station is closed on Sundays.",
        ),
        "Look at the sentence that has both a train and a radio in it: where does the word go? The last two do not say "
        "which station is meant, and their two cosines are nearly equal.",
    ),
    "date": Moves(
        (
            "They set a date for the wedding.",
            "We have a date on Friday.",
            "The date is at eight.",
        ),
        "Look at the last sentence. No fruit is at eight, but the encoder puts the word closest to the fruit.",
    ),
    "see": Moves(
        (
            "Let me see.",
            "I will see you on Monday.",
            "I see the doctor in the garden.",
        ),
        "Look at the last two sentences. Someone who says that they will see you on Monday will visit you, and you can see a doctor in the "
        "garden without a visit. The encoder has it the other way round.",
    ),
    "it": Moves(
        (
            "The animal did not cross the street because it was icy.",
            "The cat did not cross the road because it was hungry.",
            "The horse did not cross the road because it was too busy.",
        ),
        "Look at what is wide, icy or busy: it is the street, and you know that at once. This small encoder leaves the word closer to "
        "the animal in every one of these sentences. But compare the cosines: “wide” moves it away from the animal, and towards the street.",
    ),
}


@functools.cache
def _word_moves() -> WordMoves:
    """Lab 02's words with several meanings, in more sentences.

    Raises:
        RuntimeError: the encoder is not installed.
    """
    from course_utils.models.pretrained import read

    words = {
        name: word._replace(examples=(*word.examples, *MOVES[name].sentences)) for name, word in WORDS.items()
    }
    return WordMoves(read, words)


def words_that_move() -> Model:
    """Where the pretrained encoder puts each word, alone and in sentences."""
    made = _word_moves()
    return _for_a_widget(made, start=made.data(), look={name: moves.look for name, moves in MOVES.items()})


@functools.cache
def _stepper() -> AttentionStepper:
    """Three words with queries, keys and values that one can follow in one's head."""
    query, key = (
        np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]),
        np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 2.0]]),
    )
    return AttentionStepper(
        ["Jane", "visits", "Africa"], query, key, np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    )


def own_numbers() -> Model:
    """Where the stepper begins, before somebody types numbers."""
    made = _stepper()
    start = {"words": made.words, **{name: plain(getattr(made, name)) for name in ("query", "key", "value")}}
    return _for_a_widget(made, start=start)


@functools.cache
def _head_columns() -> HeadColumns:
    """Lab 03's example of two heads: *who does what?* and *when and where?*"""
    x = [[1, 0.1, 0, 0], [0.1, 1, 0.1, 0], [0, 0.1, 1, 0.1], [0, 0, 0.2, 0.3], [0, 0, 0.1, 1]]
    matrices = {
        "w_query": [[0, 3, 1, 1], [3, 1, 3, 3], [1, 3, 3, 0], [0, 3, 0, 1]],
        "w_key": [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 2], [0, 0, 2, 0]],
        "w_value": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]],
        "w_output": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]],
    }
    return HeadColumns(
        JANE.source.split(),
        np.array(x, float),
        **{name: np.array(rows, float) for name, rows in matrices.items()},
        num_heads=2,
        features=["person", "action", "place", "time"],
        word=1,
    )


def embedding_to_heads() -> Model:
    """What each step of lab 03's example gives."""
    return Model(_head_columns().data(), b"")


LOOP_SENTENCES = (
    JANE.source,
    "Paul n'aime plus la vieille voiture rouge",
    "Est-ce que Victor aime la voiture de Jane ?",
)
_LIKELIEST = 5


def decoding_loop() -> Model:
    """How the shipped translator writes three sentences: for each word where it looked, and the likeliest with their probabilities."""
    import torch

    from course_utils.data.batches import encode_batch
    from course_utils.models.translator import LibraryTranslator

    found = LibraryTranslator.shipped()
    source, target = found.checkpoint.source_vocabulary, found.checkpoint.target_vocabulary
    numbers = {token: number for number, token in enumerate(target.tokens(range(len(target))))}
    sentences = []
    for text in LOOP_SENTENCES:
        _, alignment = found(text)
        said = [target.bos_id, *(numbers[word] for word in alignment.target)]
        with torch.inference_mode():
            scores, _ = found.model(torch.from_numpy(encode_batch([text], source)), torch.tensor([said[:-1]]))
        best = scores[0].softmax(-1).topk(_LIKELIEST)
        sentences.append(
            {
                "text": text,
                "source": list(alignment.source),
                "steps": [
                    {
                        "word": word,
                        "looks": plain(looks),
                        "likeliest": [*zip(target.tokens(ids), plain(shares), strict=True)],
                    }
                    for word, looks, ids, shares in zip(
                        alignment.target,
                        alignment.mean(),
                        best.indices.tolist(),
                        best.values.numpy(),
                        strict=True,
                    )
                ],
            }
        )
    return Model({"sentences": sentences, "known": len(target)}, b"")


def as_text(numbers: bytes) -> str:
    """Bytes in Ascii85, which is shorter than base64, without the one letter of it that HTML could misread. Zeros fill the last group of four."""
    return base64.a85encode(numbers.ljust(-(-len(numbers) // 4) * 4, b"\0")).decode("ascii").replace("<", "v")


_EXPORT = "export default { render };"


def module(*names: str, widget: str = "") -> str:
    """One ES module of several files, in order; it exports what they export.

    Args:
        widget: a module of the course's widgets to bring along, as ``courseWidget``.
    """
    files = [next(f for f in (FILES / f"{name}.js", SHARED / f"{name}.js") if f.is_file()) for name in names]
    texts = [file.read_text("utf-8") for file in files]
    if widget:
        folder = Path(widgets.__file__).parent
        shared, own = (folder.joinpath(name).read_text("utf-8") for name in ("shared.js", widget))
        inner = f"{shared}\n{own}".replace(_EXPORT, "")
        texts.insert(0, f"const courseWidget = (() => {{\n{inner}\nreturn {{ render }};\n}})();")
    return "\n".join(texts)


@dataclass(frozen=True)
class Page:
    """A page that runs.

    Attributes:
        name: of its file, without ``.html``.
        lead: what one will understand, one sentence.
        lab: the lab whose model it is. A course without this lab has no such page.
        after: code of that lab's notebook; below the cell that has it, the lab's page leads here.
        files: the files of its module, in order.
        model: makes its model.
        still: makes what it shows where the module does not run, as HTML.
        widget: the module of the course's widget that it shows, if it does.
    """

    name: str
    title: str
    lead: str
    lab: str
    after: str
    files: Sequence[str]
    model: Callable[[], Model]
    still: Callable[[], str]
    widget: str = ""


PAGES = (
    Page(
        "type-french",
        "Type French",
        "Watch a small Transformer translate your sentence, and see which French words it looks at for each English word.",
        "05_transformer_pytorch",
        'type_french("model"',
        ("page", *(name.removesuffix(".js") for name in type_french.FILES)),
        translator,
        lambda: alignment_picture(example()),
    ),
    Page(
        "what-comes-next",
        "What comes next?",
        "Move temperature, top-k and nucleus, and see how they change what a language model writes: here names in 20 languages, letter by letter.",
        "08_language_model_and_summarizer",
        "what_comes_next()",
        ("page", *(name.removesuffix(".js") for name in what_comes_next.FILES)),
        speller,
        lambda: followers_picture("Italian", "ma"),
    ),
    Page(
        "one-model",
        "One model, seven tasks",
        "Write the task in front of your text, and see one small Transformer translate, write a headline or judge a verb, and where a prefix is not enough.",
        "12_text_to_text",
        "one_model()",
        ("page", *(name.removesuffix(".js") for name in one_model.FILES)),
        text_to_text,
        lambda: tasks_picture(),
    ),
    Page(
        "heads",
        "Head browser",
        "Choose one of ten sentences, and see what each of the 72 heads of a real encoder looks at.",
        "03_multi_head_attention",
        "value_lengths=value_lengths",
        ("page", "widget", "head_browser_page"),
        heads_of_encoder,
        lambda: _browsers()[0].still(),
        widget="head_browser.js",
    ),
    Page(
        "a-word-moves",
        "A word moves",
        "Choose a word with several meanings and a sentence, and see where a real encoder moves the word, and where it misses what is meant.",
        "02_self_attention",
        "word_moves(read)",
        ("page", "widget", "word_moves_page"),
        words_that_move,
        lambda: _word_moves().still(),
        widget="word_moves.js",
    ),
    Page(
        "your-numbers",
        "Attention on your own numbers",
        "Type queries, keys and values, and follow them through attention: scores, softmax, and the weighted sum.",
        "02_self_attention",
        "attention_stepper(words, query, key, value, word=1)",
        ("page", "arithmetic", "widget", "own_numbers"),
        own_numbers,
        lambda: _stepper().still(),
        widget="attention_stepper.js",
    ),
    Page(
        "embedding-to-heads",
        "From embedding to heads",
        "Scroll along with one word, and see how several heads share one matrix and still each read the whole word.",
        "03_multi_head_attention",
        "head_columns(",
        ("page", "percent", "story", "heads_story"),
        embedding_to_heads,
        lambda: _head_columns().still(),
    ),
    Page(
        "decoding-loop",
        "The decoding loop",
        "Scroll through a translation as it is written, and see why a decoder has to run once for each word.",
        "05_transformer_pytorch",
        "decoding_loop()",
        ("page", "percent", "story", "loop_story"),
        decoding_loop,
        lambda: alignment_picture(example()),
    ),
)


def write_pages(labs: Sequence[LabInfo], site: Path) -> None:
    """Writes the pages and the one that leads to them, for the labs that a course has.

    Args:
        labs: the course's labs.
        site: the folder of the site.

    Raises:
        CourseError: a model that a page needs is not installed.
    """
    addresses = {lab.name: lab for lab in labs}
    pages = [page for page in PAGES if page.lab in addresses]
    if not pages:
        return
    folder = site / FOLDER
    folder.mkdir()
    for page in pages:
        lab = addresses[page.lab]
        try:
            model = page.model()
        except RuntimeError as error:  # the encoder is a package of its own
            raise CourseError(f"The page “{page.title}” cannot be made. {error}") from None
        style = (SHARED / STYLE).read_text("utf-8")
        if page.widget:
            style += (Path(widgets.__file__).parent / "shared.css").read_text("utf-8")
        text = _template().render(
            title=page.title,
            lead=page.lead,
            css=style,
            still=page.still(),
            lab={"title": f"{lab.number} {lab.title}", "address": f"{lab.name}/{lab.slug}.html"},
            about=json.dumps(dict(model.about), ensure_ascii=False).replace("<", "\\u003c"),
            numbers=as_text(model.numbers),
            module=module(*page.files, widget=page.widget),
        )
        (folder / f"{page.name}.html").write_text(text, "utf-8")
    landing = _template().render(
        title="Models in your browser",
        lead="Trained Transformers of this course, small enough to run in this page. Nothing is installed, and what you type stays on your device.",
        css=(SHARED / STYLE).read_text("utf-8"),
        still=alignment_picture(example(), moving=True),
        below=_cards(pages, labs),
        landing=True,
    )
    (folder / "index.html").write_text(landing, "utf-8")


def links(labs: Sequence[LabInfo]) -> str:
    """What the site's start page says about the pages, as HTML; nothing if the course has no lab with such a page."""
    names = {lab.name for lab in labs}
    found = [page for page in PAGES if page.lab in names]
    if not found:
        return ""
    listed = " · ".join(f'<a href="{FOLDER}/{page.name}.html">{escape(page.title)}</a>' for page in found)
    return f'<p>Nothing to install: <a href="{FOLDER}/index.html">models in your browser</a> ({listed}).</p>'


def with_links(page: NotebookNode, lab: str) -> NotebookNode:
    """A lab's page that leads to the pages that run, each below the cell that shows the same."""
    cells = []
    for cell in page.cells:
        cells.append(cell)
        for found in PAGES:
            if found.lab == lab and cell.cell_type == "code" and found.after in cell.source:
                link = f'<a href="../{FOLDER}/{found.name}.html">{escape(found.title)}</a>'
                text = f"**On a page of its own:** {link}. {found.lead} It needs no kernel, and you can send it to others."
                cells.append(new_markdown_cell(text, id=f"live-{found.name}"))
    return NotebookNode({**page, "cells": cells})


def _cards(pages: Sequence[Page], labs: Sequence[LabInfo]) -> str:
    cards = "".join(
        f'<li><a href="{page.name}.html"><b>{escape(page.title)}</b><span>{escape(page.lead)}</span></a></li>'
        for page in pages
    )
    listed = "".join(
        f'<li><a href="../{lab.name}/{lab.slug}.html">{lab.number} {escape(lab.title)}</a></li>'
        for lab in labs
    )
    return f'<ul class="cards">{cards}</ul><h2>The labs in which you build them</h2><ul class="labs">{listed}</ul>'


def _template() -> jinja2.Template:
    return jinja2.Environment(autoescape=True).from_string((FILES / "page.html").read_text("utf-8"))


# ---------------------------------------------------------------------------------- pictures


@functools.cache
def example() -> Alignment:
    """How the shipped translator translates the course's sentence."""
    from course_utils.models.translator import LibraryTranslator

    return LibraryTranslator.shipped()(JANE.source)[1]


def alignment_picture(alignment: Alignment, moving: bool = False) -> str:
    """French words, English words and the attention between them, as an SVG with a text in place of it.

    Args:
        moving: the English words come one after another. A reader who wants no motion sees them all.
    """
    looked, row = alignment.mean(), 34
    height = row * max(len(alignment.source), len(alignment.target))

    def middle(place: int) -> float:
        return row * (place + 0.5)

    french = "".join(
        f'<text x="150" y="{middle(at)}" text-anchor="end">{escape(word)}</text>'
        for at, word in enumerate(alignment.source)
    )
    english = []
    for at, (word, weights) in enumerate(zip(alignment.target, looked, strict=True)):
        lines = "".join(
            f'<path d="M160 {middle(to)}C245 {middle(to)} 245 {middle(at)} 330 {middle(at)}" '
            f'style="stroke-width:{12 * weight:.1f}px;opacity:{0.15 + 0.85 * weight:.2f}"/>'
            for to, weight in enumerate(weights)
            if weight >= _SEEN
        )
        delay = f' class="comes" style="animation-delay:{0.1 + 0.5 * at:.1f}s"' if moving else ""
        english.append(f'<g{delay}>{lines}<text x="340" y="{middle(at)}">{escape(word)}</text></g>')
    pairs = "; ".join(
        f"{word} from {alignment.source[int(weights.argmax())]} ({weights.max():.0%})"
        for word, weights in zip(alignment.target, looked, strict=True)
    )
    says = escape(
        f"A translation, and the French word that each English word looked at most: {pairs}.", quote=True
    )
    return f'<svg class="words" role="img" aria-label="{says}" viewBox="50 0 400 {height}">{french}{"".join(english)}</svg>'


def followers_picture(language: str, start: str) -> str:
    """Which letters follow a beginning in the list of a language's names, counted: bars, as an SVG with a text in place of it."""
    shares = what_comes_next.followers(language, start)
    bars = "".join(
        f'<text x="130" y="{34 * at + 17}" text-anchor="end">{escape(letter)}</text>'
        f'<rect x="140" y="{34 * at + 8}" width="{300 * share:.0f}" height="18"/>'
        f'<text x="{148 + 300 * share:.0f}" y="{34 * at + 17}">{share:.0%}</text>'
        for at, (letter, share) in enumerate(shares)
    )
    listed = ", ".join(f"{letter} {share:.0%}" for letter, share in shares)
    says = escape(f"What follows “{start}” in the {language} names of this course: {listed}.", quote=True)
    return f'<svg class="words" role="img" aria-label="{says}" viewBox="60 0 390 170">{bars}</svg>'


def tasks_picture() -> str:
    """What lab 12's model makes of an example of each task, as HTML with a text in place of it."""
    from course_utils.data.tasks import PREFIXES

    sources = [(PREFIXES[task.name], task.examples[0]) for task in one_model.TASKS]
    answers = one_model.writer().write([prefix + text for prefix, text in sources])
    says = "; ".join(
        f"{prefix}{text} gives {answer}" for (prefix, text), answer in zip(sources, answers, strict=True)
    )
    rows = "".join(
        f"<p><span>{escape(prefix)}</span>{escape(text)}<br><b>{escape(answer)}</b></p>"
        for (prefix, text), answer in zip(sources, answers, strict=True)
    )
    label = escape(f"Seven texts with a prefix, and what one model writes: {says}.", quote=True)
    return f'<div class="tasks-still" role="img" aria-label="{label}">{rows}</div>'
