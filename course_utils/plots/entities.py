"""Entities in colour, and figures about how they are found: learning curves, scores, confusions, errors, a box to try out.

Colour never stands alone: each entity carries its label, and plain text has [entity|label].
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from course_utils.data.entities import Entity
from course_utils.display import TEXT, publish, table
from course_utils.plots import show_live

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Item = TypeVar("Item")

# Light enough for dark text on them; after Paul Tol's scheme for readers who confuse colours.
_TINTS = (
    "#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33", "#cfcf70", "#dddddd", "#cc99bb",
)  # fmt: skip
_DARK, _WARM, _GREEN, _GREY = "#440154", "#d95f02", "#21918c", "#5b6b7b"  # told apart by colour-blind readers

# ---------------------------------------------------------------------------------- entities in a text


def _in_order(entities: Iterable[Entity]) -> list[Entity]:
    """Sorted by position; of overlapping ones, only the first can be shown."""
    shown: list[Entity] = []
    for entity in sorted(map(Entity._make, entities)):
        if not shown or shown[-1].end <= entity.start:
            shown.append(entity)
    return shown


def tints(labels: Iterable[str]) -> dict[str, str]:
    """A colour for each label, the same ones for the same labels."""
    return {label: _TINTS[i % len(_TINTS)] for i, label in enumerate(dict.fromkeys(labels))}


def entities_html(text: str, entities: Iterable[Entity], colours: Mapping[str, str]) -> str:
    """The text with each entity in its label's colour, followed by the label in small letters."""
    parts, at = [], 0
    for start, end, label in _in_order(entities):
        parts.append(escape(text[at:start]))
        parts.append(
            f'<mark style="background:{colours.get(label, _TINTS[-2])};color:#111;border-radius:4px;padding:.1em .25em">'
            f'{escape(text[start:end])}<span style="font-size:.7em;font-weight:600;margin-left:.4em">'
            f"{escape(label)}</span></mark>"
        )
        at = end
    parts.append(escape(text[at:]))
    return f'<div style="{TEXT};white-space:pre-wrap;line-height:1.75">{"".join(parts)}</div>'


def entities_text(text: str, entities: Iterable[Entity]) -> str:
    """The text with each entity as [entity|label]."""
    parts, at = [], 0
    for start, end, label in _in_order(entities):
        parts += [text[at:start], f"[{text[start:end]}|{label}]"]
        at = end
    return "".join([*parts, text[at:]])


def show_entities(text: str, entities: Iterable[Entity], labels: Sequence[str], title: str = "") -> None:
    """Shows a text with its entities marked.

    Args:
        labels: all labels there are, so that a label has the same colour in every text.
        title: shown above.
    """
    entities = list(entities)
    head = f'<p style="{TEXT}"><b>{escape(title)}</b></p>' if title else ""
    publish(
        {
            "text/html": head + entities_html(text, entities, tints(labels)),
            "text/plain": (f"{title}\n" if title else "") + entities_text(text, entities),
        }
    )


# ---------------------------------------------------------------------------------- while it trains


class Progress:
    """A bar over all steps of a training, which several calls of a training function share.

    >>> bar = Progress(6, "training")
    >>> for batch in bar([1, 2, 3]):
    ...     pass

    Attributes:
        seconds: time spent between the steps so far; time outside a loop over the bar does not count.
        note: shown after the bar.
    """

    def __init__(self, steps: int, name: str) -> None:
        self.steps, self.name = steps, name
        self.done, self.seconds, self.note = 0, 0.0, ""
        self._shown, self._handle = 0.0, None
        try:
            from IPython.core.getipython import get_ipython
            from IPython.display import display
        except ImportError:
            return
        if hasattr(get_ipython(), "kernel"):
            self._handle = display({"text/plain": self.line()}, raw=True, display_id=True)

    def __call__(self, batches: Iterable[Item]) -> Iterator[Item]:
        began = time.perf_counter()
        before = self.seconds
        for batch in batches:
            yield batch
            self.done += 1
            self.seconds = before + time.perf_counter() - began
            self._show()

    def close(self) -> None:
        """Shows the final state of the bar. A file or pipe gets only this line."""
        if self._handle is None:
            print(self.line(), flush=True)
        else:
            self._handle.update({"text/plain": self.line()}, raw=True)

    def line(self) -> str:
        """The bar as it is now."""
        from tqdm import tqdm

        return tqdm.format_meter(
            self.done, self.steps, self.seconds, ncols=100, prefix=self.name, unit="step", postfix=self.note,
            bar_format="{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} steps [{elapsed}{postfix}]",
        )  # fmt: skip

    def _show(self) -> None:
        now = time.monotonic()
        if self._handle is not None and now - self._shown >= 0.5:
            self._shown = now
            self._handle.update({"text/plain": self.line()}, raw=True)


def training_curves(
    losses: Sequence[float], scores: Mapping[str, Sequence[tuple[int, float]]], smooth: int = 8
) -> Figure:
    """Left: the loss of each step. Right: entity-level F1.

    Args:
        losses: of each step, in order.
        scores: name of a set -> (step, F1) at each evaluation; at most three sets.
        smooth: the loss is also shown as a running mean over this many steps.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    steps = np.arange(1, len(losses) + 1)
    window = min(smooth, len(losses))
    left.plot(steps, losses, color=_GREY, alpha=0.45, linewidth=1, label="each batch")
    left.plot(
        steps[window - 1 :],
        np.convolve(losses, np.full(window, 1 / window), mode="valid"),
        color=_DARK,
        label=f"mean of {window} batches",
    )
    left.set(xlabel="step", ylabel="loss", title="Loss in training", ylim=(0, None))
    for (name, found), colour, marker in zip(scores.items(), (_DARK, _WARM, _GREEN), "os^", strict=False):
        right.plot(*np.array(found).T, marker=marker, color=colour, label=name)
    right.set(xlabel="step", ylabel="entity-level F1", title="F1 during training", ylim=(-0.02, 1.02))
    for axes in (left, right):
        axes.set_xlim(left=0)
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


# ---------------------------------------------------------------------------------- how well it finds them


def f1_by_label(scores: Mapping[str, Mapping[str, Sequence[float]]], labels: Sequence[str]) -> Figure:
    """Bars: the F1 of each label, for several finders.

    Args:
        scores: name of a finder -> label -> (precision, recall, F1); at most three finders.
        labels: which labels to show, from the top.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 1.2 + 0.5 * len(labels)), layout="constrained")
    axes = figure.subplots()
    height = 0.8 / len(scores)
    styles = ((_DARK, ""), (_WARM, "//"), (_GREEN, ".."))
    for number, ((name, found), (colour, hatch)) in enumerate(zip(scores.items(), styles, strict=False)):
        values = [found[label][2] if label in found else 0.0 for label in labels]
        places = np.arange(len(labels)) + (number - (len(scores) - 1) / 2) * height
        bars = axes.barh(places, values, height, color=colour, hatch=hatch, edgecolor="white", label=name)
        axes.bar_label(bars, [f"{value:.2f}" for value in values], padding=3, fontsize=8)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set(xlim=(0, 1.12), xlabel="entity-level F1")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 1.12), ncols=len(scores))
    axes.spines[["top", "right"]].set_visible(False)
    return figure


MISSED, INVENTED = "missed", "no entity"


def _best_overlap(entity: Entity, others: Iterable[Entity]) -> Entity | None:
    """The one that shares the most characters with the entity."""
    shared = [(min(entity.end, other.end) - max(entity.start, other.start), other) for other in others]
    best = max(shared, default=(0, None), key=lambda pair: pair[0])
    return best[1] if best[0] > 0 else None


def confusion(
    gold: Sequence[Iterable[Entity]], predicted: Sequence[Iterable[Entity]], labels: Sequence[str]
) -> np.ndarray:
    """What happens to the entities of each label, counted.

    Returns:
        (n + 1, n + 1) for n labels. Entry (i, j): how many entities of label i were found with label j, at least in
        part. The last column counts missed entities; the last row, entities found where there are none.
    """
    counts = np.zeros((len(labels) + 1, len(labels) + 1), dtype=int)
    place = {label: i for i, label in enumerate(labels)}
    for truth, found in zip(gold, predicted, strict=True):
        truth, found = list(truth), list(found)
        for entity in truth:
            best = _best_overlap(entity, found)
            counts[place[entity.label], place[best.label] if best else -1] += 1
        for entity in found:
            if _best_overlap(entity, truth) is None:
                counts[-1, place[entity.label]] += 1
    return counts


def confusion_figure(counts: np.ndarray, labels: Sequence[str]) -> Figure:
    """A heat map of :func:`confusion`: the shares of each row, with the counts."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, 7.0), layout="constrained")
    axes = figure.subplots()
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    shares[-1] = 0  # how often there is nothing and nothing is found is not known
    axes.imshow(shares, cmap="viridis", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(counts):
        if count:
            colour = "black" if shares[row, column] > 0.6 else "white"
            axes.text(column, row, str(count), ha="center", va="center", fontsize=8, color=colour)
    axes.set_xticks(range(len(labels) + 1), [*labels, MISSED], rotation=40, ha="right")
    axes.set_yticks(range(len(labels) + 1), [*labels, INVENTED])
    axes.set(xlabel="found as", ylabel="true label", title="What happens to the entities of each label")
    return figure


@dataclass(frozen=True)
class Failure:
    """One error: what kind, what should be there, what was found (None: nothing), and in which text."""

    kind: str
    text: str
    wanted: Entity | None
    found: Entity | None


KINDS_OF_FAILURE = ("wrong edges", "wrong label", "both wrong", "missed", "invented")


def failures(
    texts: Sequence[str], gold: Sequence[Iterable[Entity]], predicted: Sequence[Iterable[Entity]]
) -> list[Failure]:
    """All errors: entities that were not found exactly, and entities found where there are none."""
    errors = []
    for text, truth, found in zip(texts, gold, predicted, strict=True):
        truth, found = list(truth), list(found)
        for entity in truth:
            best = _best_overlap(entity, found)
            if best == entity:
                continue
            errors.append(Failure(_kind(entity, best), text, entity, best))
        errors += [Failure("invented", text, None, one) for one in found if _best_overlap(one, truth) is None]
    return errors


def _kind(wanted: Entity, found: Entity | None) -> str:
    """What is wrong with what was found for an entity."""
    if found is None:
        return "missed"
    if found.label == wanted.label:
        return "wrong edges"
    return "wrong label" if found[:2] == wanted[:2] else "both wrong"


def show_failures(errors: Sequence[Failure], each: int = 4) -> None:
    """Shows some errors of each kind, with the text around them, and how many there are of each kind.

    Args:
        each: how many of each kind; one of each pair of labels before any pair is repeated.
    """
    if not errors:
        publish({"text/plain": "No errors."})
        return
    counted = Counter(error.kind for error in errors)
    rows = [("<b>kind</b>", "<b>should be</b>", "<b>found</b>", "<b>where</b>")]
    lines = []
    for kind in KINDS_OF_FAILURE:
        for error in _various([error for error in errors if error.kind == kind], each):
            wanted, found = (_said(error.text, one) for one in (error.wanted, error.found))
            before, middle, after = _around(error)
            where = f"… {escape(before)}<b>{escape(middle)}</b>{escape(after)} …"
            rows.append((kind, escape(wanted), escape(found), where))
            lines.append(
                f"{kind}: should be {wanted}; found {found}\n    ... {before}>>{middle}<<{after} ..."
            )
    head = ", ".join(f"{counted[kind]} {kind}" for kind in KINDS_OF_FAILURE if counted[kind])
    html = (
        f'<div style="{TEXT}"><p>{len(errors)} errors: {escape(head)}. Some of them:</p>{table(rows)}</div>'
    )
    publish(
        {"text/html": html, "text/plain": f"{len(errors)} errors: {head}. Some of them:\n" + "\n".join(lines)}
    )


def _various(errors: Sequence[Failure], count: int) -> list[Failure]:
    """Some of the errors; first one of each pair of labels."""
    seen: Counter = Counter()
    ranked = []
    for number, error in enumerate(errors):
        pair = (error.wanted and error.wanted.label, error.found and error.found.label)
        ranked.append((seen[pair], number, error))
        seen[pair] += 1
    return [error for *_, error in sorted(ranked, key=lambda entry: entry[:2])[:count]]


def _said(text: str, entity: Entity | None) -> str:
    return "–" if entity is None else f"{' '.join(text[entity.start : entity.end].split())} · {entity.label}"


def _around(error: Failure, width: int = 28) -> tuple[str, str, str]:
    """The text before, in and after the place of an error; line breaks as ⏎."""
    spans = [one for one in (error.wanted, error.found) if one is not None]
    start, end = min(one.start for one in spans), max(one.end for one in spans)
    pieces = (error.text[max(0, start - width) : start], error.text[start:end], error.text[end : end + width])
    return tuple(piece.replace("\n", " ⏎ ").replace("\t", " ") for piece in pieces)


# ---------------------------------------------------------------------------------- a box to try


def entity_box(find: Callable[[str], Sequence[Entity]], text: str, labels: Sequence[str]) -> None:
    """A box for your own text; the entities found in it appear below when you leave the box.

    Args:
        find: finds the entities of a text.
        text: the initial content of the box.
        labels: all labels there are.
    """
    import ipywidgets

    colours = tints(labels)

    def found_in(written: str) -> str:
        return entities_html(written, find(written) if written.strip() else [], colours)

    first = list(find(text))
    box = ipywidgets.Textarea(
        value=text,
        continuous_update=False,
        layout=ipywidgets.Layout(width="95%", height="9em"),
        description="text",
    )
    button = ipywidgets.Button(description="Find the entities")
    picture = ipywidgets.HTML(entities_html(text, first, colours))

    def redraw(_: Any) -> None:
        picture.value = found_in(box.value)

    box.observe(redraw, names="value")
    button.on_click(redraw)
    show_live(
        ipywidgets.VBox([box, button, picture]),
        html=entities_html(text, first, colours),
        text=entities_text(text, first),
    )
