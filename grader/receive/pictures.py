"""Pictures in learners' written text -> PNG and JPEG files that the grader has made anew, bounded in number, pixels and bytes.

They come as attachments of a cell or as ``data:`` addresses in its text. :class:`Album` gives them names of its own, and looks
at none of them. Nothing of a file itself reaches its readers: :func:`draw_anew` decodes and encodes each. Other
kinds (SVG can carry scripts) are never shown.
"""

from __future__ import annotations

import base64
import binascii
import io
import re
import warnings
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote

from nbformat import NotebookNode

from grader.files import printable

MAX_PICTURES = 12
"""Of one submission; the others are named."""
MAX_RAW = 15 * 2**20
"""The most bytes of a picture's file."""
MAX_PIXELS, MAX_PIXELS_ALL = 25_000_000, 80_000_000
"""Of one picture, as its header says, before anything of it is decoded; and of a submission's pictures together."""
LONGEST_SIDE = 1600
"""Pixels. Larger pictures are made smaller."""
_HEAVY = 400_000
"""A PNG with more bytes is a photo: as a JPEG it takes a tenth."""

KINDS = {"image/png": "PNG", "image/jpeg": "JPEG"}
_DATA = r"data:(?:image/[\w.+-]{1,40})(?:;[\w.=-]{1,40}){0,3};base64,[A-Za-z0-9+/=]*+"
_ATTACHED = r"attachment:[^)\s>\"']{1,500}"
_INLINE = re.compile(
    rf"!\[(?P<alt>[^\[\]\n]{{0,500}})\]\(\s{{0,5}}<?(?P<url>{_DATA}|{_ATTACHED})>?(?P<title>\s[^)\n]{{0,500}})?\)"
)
_TAG = re.compile(
    rf"<img\b(?P<before>[^<>]{{0,1000}}?)\bsrc\s{{0,3}}=\s{{0,3}}[\"']?(?P<url>{_DATA}|{_ATTACHED})[\"']?(?P<after>[^<>]{{0,1000}})>",
    re.IGNORECASE,
)
_BARE = re.compile(_DATA)
OURS = re.compile(r"!\[(?P<alt>[^\[\]\n]{0,700})\]\(attachment:(?P<name>picture-\d+)\)")
"""How a text refers to a picture that was put into its cell here."""


class Attachment(NamedTuple):
    """A file inside a cell: its name, the kind that it claims to be, and its content in base 64."""

    name: str
    kind: str
    data: str


class Album:
    """Takes the pictures out of learners' text and gives them names.

    Attributes:
        problems: what is said about pictures that are not shown.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._taken: dict[str, Attachment] = {}

    def place(self, text: str, attachments: Sequence[Attachment] = ()) -> str:
        """The text, with references to attachments that are called ``picture-1``, ``picture-2`` and so on. What is attached and not
        referred to follows at the end.
        """
        attached = {each.name: each for each in attachments}
        keys: dict[str, str] = {}  # so that what is referred to twice is taken once

        def reference(url: str, words: str) -> str:
            if url.startswith("data:"):
                head, _, data = url.partition(",")
                picture = Attachment("", head[5:].partition(";")[0].lower(), data)
            else:
                name = url.removeprefix("attachment:")
                picture = attached.get(name) or attached.get(unquote(name))
                if not picture:
                    return f"(picture {_plain(f'{words} {name}')}: it is not in the notebook)"
                words = f"{words} {picture.name}" if picture.name not in words else words
            if url not in keys:
                keys[url] = self._take(picture)
            rest.pop(picture.name, None)
            words = _plain(words)
            return f"![{words}](attachment:{keys[url]})" if keys[url] else f"(picture {words}: not shown)"

        rest = dict(attached)
        text = _INLINE.sub(lambda at: reference(at["url"], f"{at['alt']} {at['title'] or ''}"), text)
        text = _TAG.sub(lambda at: reference(at["url"], f"{at['before']} {at['after']}"), text)
        text = _BARE.sub(lambda at: reference(at[0], ""), text)
        return "\n\n".join([text, *(reference(f"attachment:{name}", "") for name in list(rest))])

    def _take(self, picture: Attachment) -> str:
        """The name that a picture gets; empty if it is not shown."""
        name = _plain(picture.name)
        what = f"The picture {name!r}" if name else "A picture"
        if picture.kind not in KINDS:
            kind = printable(picture.kind, 40) or "of no kind"
            self.problems.append(f"{what} ({kind}) is not shown: only PNG and JPEG are.")
            return ""
        if len(self._taken) >= MAX_PICTURES:
            self.problems.append(f"{what} is not shown: {MAX_PICTURES} others are.")
            return ""
        key = f"picture-{len(self._taken) + 1}"
        self._taken[key] = picture
        return key

    def attach(self, cell: NotebookNode) -> None:
        """Puts the pictures that a cell's text refers to into the cell, as they were handed in."""
        names = [found["name"] for found in OURS.finditer(cell.source)]
        found = {name: self._taken[name] for name in names if name in self._taken}
        if found:
            cell.attachments = NotebookNode(
                {name: NotebookNode({each.kind: each.data}) for name, each in found.items()}
            )


def draw_anew(notebook: NotebookNode) -> list[str]:
    """Replaces the pictures in a rebuilt notebook's cells by those that learners and graders may see. One that cannot be drawn is
    taken out of its text. Returns sentences about these.
    """
    problems: list[str] = []
    left = MAX_PIXELS_ALL
    for cell in notebook.cells:
        if not cell.get("attachments"):
            continue
        drawn: dict[str, NotebookNode] = {}
        refused: dict[str, str] = {}
        for name, files in cell.attachments.items():
            ((_, data),) = files.items()
            try:
                kind, encoded, pixels = anew(data, left)
            except Refused as error:
                refused[name] = str(error)
            else:
                left -= pixels
                drawn[name] = NotebookNode({kind: base64.b64encode(encoded).decode("ascii")})
        for at in OURS.finditer(cell.source):
            if why := refused.get(at["name"]):
                problems.append(f"Cell `{cell.id}`: the picture {at['alt'].strip()!r} is not shown: {why}")
        cell.source = OURS.sub(
            lambda at, kept=drawn: at[0] if at["name"] in kept else f"(picture {at['alt']}: not shown)",
            cell.source,
        )
        del cell["attachments"]
        if drawn:
            cell.attachments = NotebookNode(drawn)
    return problems


class Refused(Exception):
    """A picture that is not shown, and why."""


def anew(data: str, pixels_left: int) -> tuple[str, bytes, int]:
    """The new kind and content of a picture that was handed in, and how many pixels it had.

    Raises:
        Refused: it is no picture, or larger than it may be.
    """
    from PIL import Image, ImageOps  # no submission without pictures needs it

    if len(data) > MAX_RAW * 4 // 3:
        raise Refused(f"it is larger than {MAX_RAW // 2**20} MiB.")
    try:
        raw = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        raise Refused("it is damaged.") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(raw), formats=("PNG", "JPEG")) as picture:
                size = picture.width * picture.height
                if size > MAX_PIXELS:
                    raise Refused(f"it has more than {MAX_PIXELS // 10**6} million pixels.")
                if size > pixels_left:
                    raise Refused("the pictures together have too many pixels.")
                kind = "image/png" if picture.format == "PNG" else "image/jpeg"
                if kind == "image/jpeg":
                    picture.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
                mode = "RGB" if kind == "image/jpeg" else "RGBA"
                # colours before size if they are numbers of a palette; else the other way round, which is faster
                drawn = picture if picture.mode in ("L", "RGB", "RGBA") else picture.convert(mode)
                drawn.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
                drawn = ImageOps.exif_transpose(drawn).convert(mode)
    except Refused:
        raise
    except Image.DecompressionBombError:
        raise Refused(f"it has more than {MAX_PIXELS // 10**6} million pixels.") from None
    except Exception:  # a parser of hostile files fails in many ways
        raise Refused("it is damaged, or not a PNG or JPEG.") from None
    if kind == "image/png":
        encoded = _saved(drawn, "PNG")
        if len(encoded) <= _HEAVY:
            return kind, encoded, size
        white = Image.new("RGBA", drawn.size, "white")
        drawn = Image.alpha_composite(white, drawn).convert("RGB")
    return "image/jpeg", _saved(drawn, "JPEG"), size


def _saved(picture, form: str) -> bytes:
    file = io.BytesIO()
    picture.info.clear()  # comments, places, colour profiles
    picture.save(file, form, **({"quality": 80} if form == "JPEG" else {}))
    return file.getvalue()


def _plain(words: str) -> str:
    """Words from a submission that may stand in a picture's alternative text: nothing that Markdown or HTML could take for its own."""
    return " ".join(re.sub(r"[\[\]()<>`$*_\\\"'!&|#]", " ", printable(words, 300)).split())
