"""A text field: French goes in, English comes out, with the words that the model looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

from course_utils.data.words import word_tokens
from course_utils.display import TEXT
from course_utils.plots import show_live
from course_utils.plots.alignment import Alignment, alignment_html, strongest_links

if TYPE_CHECKING:
    from course_utils.data.vocabulary import Vocabulary

Translate = Callable[[str], "tuple[str, Alignment | None]"]


def unknown_words(text: str, vocabulary: Vocabulary) -> list[str]:
    """The words and punctuation marks of a text that a word vocabulary lacks, each once."""
    ids = vocabulary.encode(text)
    return list(
        dict.fromkeys(
            word for word, number in zip(word_tokens(text), ids, strict=False) if number == vocabulary.unk_id
        )
    )


def translate_box(
    translate: Translate, examples: Sequence[str], vocabulary: Vocabulary | None = None, max_tokens: int = 30
) -> None:
    """Shows a text field that translates what is typed; without a kernel, a few examples.

    Args:
        translate: text -> (translation, alignment or None).
        examples: French sentences; the first one is shown in the field.
        vocabulary: the source's: sentences with words that it lacks get a friendly message instead of a guess.
        max_tokens: longer sentences get a message, too.
    """

    def answer(text: str) -> tuple[str, Alignment | None]:
        """What to show (a translation or a message), and the alignment if there is one."""
        if not text.strip():
            return "Type a French sentence.", None
        if vocabulary is not None and (unknown := unknown_words(text, vocabulary)):
            return (
                f"The model has never seen {', '.join(f'“{word}”' for word in unknown)}: it knows {len(vocabulary)} words "
                "and punctuation marks, and it distinguishes capitals. Try another word.",
                None,
            )
        if len(word_tokens(text)) >= max_tokens:
            return (
                f"That is too long: a sentence may have {max_tokens - 1} words and punctuation marks.",
                None,
            )
        return translate(text)

    def html(text: str) -> str:
        said, alignment = answer(text)
        picture = "" if alignment is None else alignment_html(alignment)
        return (
            f'<div style="{TEXT}"><p style="font-size:115%;margin:.4em 0">{escape(said)}</p>{picture}</div>'
        )

    def block(text: str) -> str:
        return f'<p style="margin:.8em 0 0">{escape(text)}</p>{html(text)}'

    def plain(text: str) -> str:
        said, alignment = answer(text)
        return f"{text}\n  -> {said}" + (
            "" if alignment is None else "\n" + _indented(strongest_links(alignment))
        )

    import ipywidgets

    field = ipywidgets.Text(
        value=examples[0],
        description="French",
        continuous_update=False,
        layout=ipywidgets.Layout(width="95%"),
    )
    choice = ipywidgets.ToggleButtons(  # no drop-down list: JupyterLab uses the up and down keys itself
        options=list(examples),
        description="examples",
        style={"button_width": "auto"},
    )
    result = ipywidgets.HTML(html(examples[0]))
    field.observe(lambda change: setattr(result, "value", html(change["new"])), names="value")
    choice.observe(lambda change: setattr(field, "value", change["new"]), names="value")
    show_live(
        ipywidgets.VBox([field, choice, result]),
        html=f'<div style="{TEXT}">{"".join(map(block, examples))}</div>',
        text="\n".join(map(plain, examples)),
    )


def _indented(text: str) -> str:
    return "\n".join(f"     {line}" for line in text.splitlines())
