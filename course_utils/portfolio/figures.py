"""The learner's own figures: of each lab, the last one that its saved notebook shows below the check of an exercise in the package."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any

from course_utils.labs import LabInfo
from course_utils.portfolio.pieces import Work

_MOST_BYTES = 2**20
"""A larger one is left out: all of them together should suit a repository."""
_CHECK = re.compile(r"""^check\(["']([\w.]+)["']\)""", re.MULTILINE)
_SHOWN = re.compile(r'<img alt="([^"]*)" src="data:image/webp;base64,([A-Za-z0-9+/=]+)"[^>]* class="figure-')
"""What :func:`course_utils.plots.show_figure` puts into a notebook."""
_KINDS = {"webp": (b"RIFF", b"WEBP"), "png": (b"\x89PNG", b"")}


@dataclass(frozen=True)
class Figure:
    """A picture for the package.

    Attributes:
        file: its name in the folder ``figures``.
        alt: what it shows.
    """

    lab: LabInfo
    file: str
    alt: str
    data: bytes


def figures_of(work: Work) -> list[Figure]:
    """At most one of each lab, in the order of the course. Nothing is run; a notebook without outputs has none."""
    return [found[-1] for lab in work.labs if (found := list(_figures_in(lab, work)))]


def _figures_in(lab: LabInfo, work: Work) -> Iterator[Figure]:
    keys = [key for key in work.pieces if work.pieces[key].lab == lab]
    if not keys:
        return
    checked = False
    for cell in json.loads((lab.folder / f"{lab.slug}.ipynb").read_text("utf-8"))["cells"]:
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        if found := _CHECK.findall(_text(cell.get("source"))):
            checked = found[-1] in keys
        outputs = cell.get("outputs")
        for output in outputs if checked and isinstance(outputs, list) else []:
            for kind, alt, text in _pictures(output):
                if data := _decoded(kind, text):
                    yield Figure(lab, f"{lab.number}.{kind}", " ".join(alt.split()), data)


def _pictures(output: Any) -> Iterator[tuple[str, str, str]]:
    """Kind, description and base64 text of the pictures of an output."""
    data = output.get("data") if isinstance(output, dict) else None
    if not isinstance(data, dict):
        return
    for alt, text in _SHOWN.findall(_text(data.get("text/html"))):
        yield "webp", unescape(alt), text
    if png := _text(data.get("image/png")):
        yield "png", "A picture of my own", png


def _text(value: Any) -> str:
    """A text of a notebook, which may be a list of lines, or anything else if somebody has damaged it."""
    lines = value if isinstance(value, list) else [value]
    return "".join(line for line in lines if isinstance(line, str))


def _decoded(kind: str, text: str) -> bytes:
    """The picture; empty if it is too large, or not a picture."""
    if len(text) > _MOST_BYTES * 4 // 3:
        return b""
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return b""
    begins, then = _KINDS[kind]
    return data if data.startswith(begins) and data[8:12].startswith(then) else b""
