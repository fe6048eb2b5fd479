"""What of a submission's outputs and answers may be shown, and in which form."""

from __future__ import annotations

import base64
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbconvert.filters import markdown2html

from grader.grade.results import MAX_OUTPUT_TEXT, MAX_TEXT, _Bounds, inert_markdown

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n....").decode()


def shown(*outputs) -> list[dict]:
    return [dict(output) for output in _Bounds().harmless(outputs)]


def display(**data) -> dict:
    return {
        "output_type": "display_data",
        "data": {name.replace("_", "/"): value for name, value in data.items()},
    }


def test_text_and_pictures_are_kept():
    assert shown(display(text_plain="x", image_png=PNG))[0]["data"] == {"text/plain": "x", "image/png": PNG}
    assert shown({"output_type": "stream", "name": "stderr", "text": "hm"})[0]["text"] == "hm"


@pytest.mark.parametrize(
    "mime",
    [
        "text/html",
        "text/markdown",
        "text/latex",
        "application/javascript",
        "application/pdf",
        "application/json",
        "application/vnd.jupyter.widget-view+json",
        "image/svg+xml",
    ],
)
def test_markup_scripts_and_widgets_are_dropped(mime):
    bad = {"output_type": "display_data", "data": {mime: "<script>alert(1)</script>"}}
    assert shown(bad) == []
    bad["data"]["text/plain"] = "figure"
    assert shown(bad)[0]["data"] == {"text/plain": "figure"}


@pytest.mark.parametrize(
    "data", ['"><script>', base64.b64encode(b"<svg>").decode(), PNG + '"', 3, None, ["x"]]
)
def test_a_picture_that_is_none_is_dropped(data):
    assert shown(display(image_png=data)) == []


def test_metadata_of_outputs_is_dropped():
    output = display(image_png=PNG) | {"metadata": {"image/png": {"width": "1 onload=alert(1)"}}}
    assert shown(output)[0]["metadata"] == {}


def test_long_outputs_are_cut_and_the_whole_notebook_has_a_limit():
    stream = {"output_type": "stream", "name": "stdout", "text": "x" * (MAX_TEXT + 500)}
    texts = [output["text"] for output in shown(*[stream] * 100)]
    assert texts[0].endswith("500 more characters left out")
    assert sum(map(len, texts)) < MAX_OUTPUT_TEXT * 1.1


@pytest.mark.parametrize(
    "output", [{}, {"output_type": "stream", "text": 3}, {"output_type": "error"}, display()]
)
def test_malformed_outputs_do_no_harm(output):
    shown(output)


class _Elements(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs


HARMLESS = """p em strong code pre ul ol li h1 h2 h3 h4 h5 h6 hr br dl dt dd blockquote del div span
    table thead tbody tr td th a"""
PIECES = r"""<script> </p> <img src=x onerror=alert(1)> [a](javascript:alert(1)) ![a](data:text/html,x) [a] [a]:
    (b) <javascript:alert(1)> <!-- <? < > ] [ ( ) : ` ``` ```mermaid [^1] [^1]: $ \ | - * http://a.b
    &#106;avascript: javascript: &lt;b&gt; x"""
SPACES = ["# ", "> ", "\n", "\n\n", " ", "    "]


@settings(deadline=None)
@given(st.lists(st.sampled_from([*PIECES.split(), *SPACES]) | st.text(max_size=5), max_size=12))
def test_a_written_answer_holds_no_live_markup_and_no_links_but_plain_addresses(parts):
    html = _Elements(markdown2html(inert_markdown("".join(parts))))
    assert html.tags <= set(HARMLESS.split())
    assert {name for name, _ in html.attributes} <= {"href", "class", "id", "style"}
    links = [value for name, value in html.attributes if name == "href"]
    assert all(link.startswith(("http://", "https://", "#")) for link in links)
    assert {value for name, value in html.attributes if name == "style"} <= {
        f"text-align:{side}" for side in ("left", "right", "center")
    }


def test_a_written_answer_reads_as_before():
    assert (
        inert_markdown("if $a<b$ then *x* [see] (1) `a < b`") == "if $a<\u200bb$ then *x* [see] (1) `a < b`"
    )
