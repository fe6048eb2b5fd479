"""Pictures in written text: drawn anew, bounded, and never anything but PNG and JPEG."""

from __future__ import annotations

import base64
import io
import struct
import zlib

import pytest
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from grader.grade.results import inert_markdown
from grader.receive.pictures import (
    LONGEST_SIDE,
    MAX_PICTURES,
    Album,
    Attachment,
    draw_anew,
)
from grader.show.feedback_page import Markdown


def picture(form: str = "PNG", size: tuple[int, int] = (8, 4), **how) -> str:
    file = io.BytesIO()
    Image.new("RGB", size, "red").save(file, form, **how)
    return base64.b64encode(file.getvalue()).decode()


def shown(text: str, *attachments: Attachment) -> tuple[NotebookNode, list[str]]:
    """The cell that a text becomes, and what is said about it."""
    album = Album()
    cell = new_markdown_cell(album.place(text, attachments), id="why")
    album.attach(cell)
    problems = draw_anew(new_notebook(cells=[cell]))
    return cell, [*album.problems, *problems]


def drawn(cell: NotebookNode) -> dict[str, Image.Image]:
    found = {}
    for name, files in cell.get("attachments", {}).items():
        ((kind, data),) = files.items()
        found[name] = Image.open(io.BytesIO(base64.b64decode(data)))
        assert kind == f"image/{found[name].format.lower()}"
    return found


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
@pytest.mark.parametrize(
    "text",
    [
        "Before ![a plot](attachment:my%20plot.png) after",
        "Before <img src='attachment:my%20plot.png' width=300> after",
        "Before ![a plot]({}) after",
        'Before <img alt="a plot" src="{}"/> after',
        'Before ![a plot]({} "title") after',
        "Before [![a plot]({})](https://example.org) after",
        "Before\n\n[ref]: {}\n\nafter",
    ],
)
def test_pictures_are_shown_wherever_they_are_kept(form, text):
    data = picture(form)
    attached = [Attachment("my plot.png", f"image/{form.lower()}", data)] if "attachment:" in text else []
    cell, problems = shown(text.format(f"data:image/{form.lower()};base64,{data}"), *attached)
    assert problems == []
    ((name, image),) = drawn(cell).items()
    assert (image.format, image.size) == (form, (8, 4))
    assert f"](attachment:{name})" in cell.source and data not in cell.source
    assert cell.source.startswith("Before") and cell.source.rstrip("()").endswith("after")
    page = Markdown(trusted=False)(inert_markdown(cell.source, cell.attachments), cell.attachments)
    assert page.count("<img ") == 1 and f'src="data:image/{form.lower()};base64,' in page


def test_what_is_attached_and_not_referred_to_is_shown_at_the_end():
    cell, problems = shown("My answer.", Attachment("plot.png", "image/png", picture()))
    assert cell.source == "My answer.\n\n![plot.png](attachment:picture-1)" and problems == []


def test_a_picture_that_is_referred_to_twice_is_kept_once():
    cell, _ = shown("![a](attachment:p) ![b](attachment:p)", Attachment("p", "image/png", picture()))
    assert list(cell.attachments) == ["picture-1"] and cell.source.count("attachment:picture-1") == 2


def test_pictures_are_made_anew_without_what_was_hidden_in_them():
    text = PngInfo()
    text.add_text("Comment", "secret words")
    data = picture(pnginfo=text)
    raw = base64.b64decode(data) + b"<script>alert(1)</script>"
    cell, _ = shown("", Attachment("p", "image/png", base64.b64encode(raw).decode()))
    kept = base64.b64decode(cell.attachments["picture-1"]["image/png"])
    assert b"secret" in raw and b"secret" not in kept and b"script" not in kept


def test_what_claims_to_be_a_png_and_is_a_jpeg_is_called_what_it_is():
    cell, _ = shown("", Attachment("p", "image/png", picture("JPEG")))
    assert list(cell.attachments["picture-1"]) == ["image/jpeg"]


def test_large_pictures_are_made_smaller_and_photos_become_jpegs():
    noise = Image.effect_noise((2 * LONGEST_SIDE, 400), 100).convert("RGB")
    file = io.BytesIO()
    noise.save(file, "PNG", compress_level=1)
    cell, problems = shown("", Attachment("p", "image/png", base64.b64encode(file.getvalue()).decode()))
    (image,) = drawn(cell).values()
    assert problems == [] and image.size == (LONGEST_SIDE, 200) and image.format == "JPEG"


def bomb(width: int, height: int) -> str:
    """A PNG of a few bytes whose header says that it has this many pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes(10_000_000), 9)
    raw = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return base64.b64encode(raw).decode()


SVG = base64.b64encode(b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>').decode()


@pytest.mark.parametrize(
    ("kind", "data", "why"),
    [
        ("image/png", bomb(100_000, 100_000), "pixels"),
        ("image/png", bomb(12_000, 12_000), "pixels"),
        ("image/png", bomb(2**31 - 1, 2**31 - 1), "not shown"),
        ("image/png", "AAAA" * 6_000_000, "larger than"),
        ("image/png", "no picture", "damaged"),
        ("image/png", picture()[:60], "damaged"),
        ("image/png", SVG, "damaged"),
        ("image/jpeg", picture("GIF"), "damaged"),
        ("image/svg+xml", SVG, "only PNG and JPEG"),
        ("text/html", SVG, "only PNG and JPEG"),
    ],
)
def test_what_may_not_be_shown_is_named(kind, data, why):
    cell, problems = shown("See ![it](attachment:plot.x).", Attachment("plot.x", kind, data))
    assert "attachments" not in cell
    assert cell.source == "See (picture it plot.x: not shown)."
    (problem,) = problems
    assert "plot.x" in problem and why in problem


def test_the_pictures_of_a_submission_are_bounded_together(monkeypatch):
    album = Album()
    many = [picture(size=(n, 1)) for n in range(1, MAX_PICTURES + 2)]
    text = album.place(" ".join(f"![p](data:image/png;base64,{each})" for each in many))
    assert text.count("attachment:picture-") == MAX_PICTURES
    assert album.problems == [f"A picture is not shown: {MAX_PICTURES} others are."]
    monkeypatch.setattr("grader.receive.pictures.MAX_PIXELS_ALL", 3 * 32)
    _, problems = shown(
        " ".join(
            f"![p](data:image/png;base64,{each})" for each in [picture(size=(8, 4 + n)) for n in range(3)]
        )
    )
    assert ["together" in problem for problem in problems] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "![x](attachment:picture-1)",
        "![x](attachment:other.png)",
        "[x](attachment:picture-1) <script>alert(1)</script>",
        "![x](javascript:alert(1)) <img src=x onerror=alert(1)>",
        "[![a](data:image/png;base64,{})](javascript:alert(1))",
        "![a](data:image/png;base64,{})<img src=x onerror=alert(1)>",
        "<img src='data:image/png;base64,{}' onerror='alert(1)'>",
        "![](x)](data:image/png;base64,{})",
    ],
)
def test_no_text_becomes_a_script_or_an_address_whatever_stands_near_a_picture(text):
    cell, _ = shown(text.replace("{}", picture()))
    source = inert_markdown(cell.source, cell.get("attachments", {}))
    for trusted in (True, False):  # as formgrader shows it, and as our own pages do
        page = BeautifulSoup(Markdown(trusted)(source, cell.get("attachments")), "html.parser")
        assert {tag.name for tag in page.find_all()} <= {"p", "img", "a", "br"}
        for tag in page.find_all():
            assert set(tag.attrs) <= {"src", "alt", "href"}
            assert tag.get("src", "data:").startswith("data:") and not tag.has_attr("href")
