"""Pages that run without a kernel: each is one file with a model's numbers and one ES module in it, so it also opens from a disk.

The models are the course's own, from the weights that it ships; the modules compute in plain JavaScript. :func:`write_pages` puts the pages
among those of the site.
"""

from __future__ import annotations

import base64
import functools
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np

from course_utils.data.language_names import LANGUAGES, load_language_names
from course_utils.data.translation import JANE
from course_utils.labs import LabInfo
from course_utils.models.small_decoders import file_of

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
    vocabularies = {
        f"{side}_tokens": vocabulary.tokens(range(len(vocabulary)))
        for side, vocabulary in (("source", found.source_vocabulary), ("target", found.target_vocabulary))
    }
    return packed(found.state, config=dict(found.config), **vocabularies)


def speller() -> Model:
    """Lab 08's decoder of names.

    Raises:
        ValueError: the names have other letters than the model has learned.
    """
    from safetensors.numpy import load_file

    letters = sorted({letter for one in load_language_names() for letter in one.name})
    tokens = ["<pad>", "<end>", *LANGUAGES, *letters]  # as lab 08 numbers them
    state = load_file(file_of("names"))
    rows, width = state["token_embedding.weight"].shape
    if rows != len(tokens):
        raise ValueError(
            f"The shipped decoder of names knows {rows} tokens, and the names have {len(tokens)}."
        )
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("blocks."))
    config = {"embedding_dim": width, "num_heads": 4, "num_layers": layers}
    return packed(state, config=config, tokens=tokens, languages=[*LANGUAGES])


def module(*names: str) -> str:
    """One ES module of several files, in order; it exports what they export."""
    return "\n".join((FILES / f"{name}.js").read_text("utf-8") for name in names)


@dataclass(frozen=True)
class Page:
    """A page that runs.

    Attributes:
        name: of its file, without ``.html``.
        lead: what one will understand, one sentence.
        lab: the lab whose model it is. A course without this lab has no such page.
        files: the files of its module, in order.
        model: makes its model.
        still: makes what it shows where the module does not run, as HTML.
    """

    name: str
    title: str
    lead: str
    lab: str
    files: Sequence[str]
    model: Callable[[], Model]
    still: Callable[[], str]


PAGES = (
    Page(
        "type-french",
        "Type French",
        "Watch a small Transformer translate your sentence, and see which French words it looks at for each English word.",
        "05_transformer_pytorch",
        ("page", "arithmetic", "translator", "type_french"),
        translator,
        lambda: alignment_picture(example()),
    ),
    Page(
        "what-comes-next",
        "What comes next?",
        "Move temperature, top-k and nucleus, and see how they change what a language model writes: here names in 20 languages, letter by letter.",
        "08_language_model_and_summarizer",
        ("page", "arithmetic", "speller", "next_letter"),
        speller,
        lambda: followers_picture("Italian", "ma"),
    ),
)


def write_pages(labs: Sequence[LabInfo], site: Path) -> None:
    """Writes the pages and the one that leads to them, for the labs that a course has.

    Args:
        labs: the course's labs.
        site: the folder of the site.
    """
    addresses = {lab.name: lab for lab in labs}
    pages = [page for page in PAGES if page.lab in addresses]
    if not pages:
        return
    folder = site / FOLDER
    folder.mkdir()
    for page in pages:
        model, lab = page.model(), addresses[page.lab]
        text = _template().render(
            title=page.title,
            lead=page.lead,
            css=(FILES / "page.css").read_text("utf-8"),
            still=page.still(),
            lab={"title": f"{lab.number} {lab.title}", "address": f"{lab.name}/{lab.slug}.html"},
            about=json.dumps(dict(model.about), ensure_ascii=False).replace("<", "\\u003c"),
            numbers=base64.b64encode(model.numbers).decode("ascii"),
            module=module(*page.files),
        )
        (folder / f"{page.name}.html").write_text(text, "utf-8")
    landing = _template().render(
        title="Models in your browser",
        lead="Trained Transformers of this course, small enough to run in this page. Nothing is installed, and what you type stays on your device.",
        css=(FILES / "page.css").read_text("utf-8"),
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
    return f'<svg class="words" role="img" aria-label="{says}" viewBox="60 0 390 {height}">{french}{"".join(english)}</svg>'


def followers_picture(language: str, start: str) -> str:
    """Which letters follow a beginning in the list of a language's names, counted: bars, as an SVG with a text in place of it."""
    following = Counter(
        (one.name + "$")[len(start)]
        for one in load_language_names()
        if one.language == language and one.name.startswith(start)
    )
    shares = [
        ("the end" if letter == "$" else letter, count / following.total())
        for letter, count in following.most_common(5)
    ]
    bars = "".join(
        f'<text x="130" y="{34 * at + 17}" text-anchor="end">{escape(letter)}</text>'
        f'<rect x="140" y="{34 * at + 8}" width="{300 * share:.0f}" height="18"/>'
        f'<text x="{148 + 300 * share:.0f}" y="{34 * at + 17}">{share:.0%}</text>'
        for at, (letter, share) in enumerate(shares)
    )
    listed = ", ".join(f"{letter} {share:.0%}" for letter, share in shares)
    says = escape(f"What follows “{start}” in the {language} names of this course: {listed}.", quote=True)
    return f'<svg class="words" role="img" aria-label="{says}" viewBox="60 0 390 170">{bars}</svg>'
