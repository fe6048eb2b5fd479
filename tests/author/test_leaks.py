"""A planted line of a solution is found in every form and every kind of file that is handed out, and nothing else is."""

from __future__ import annotations

import base64
import bz2
import gzip
import html
import io
import json
import re
import tarfile
import textwrap
import zipfile
import zlib
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from pygments import highlight
from pygments.formatters import HtmlFormatter, SvgFormatter, TerminalFormatter
from pygments.lexers import PythonLexer
from safetensors.numpy import save

from grader.author.leaks import Secrets
from grader.author.secret_lines import telling_lines

LINES = [
    "scores = keys @ query / np.sqrt(query.size)",
    "while start < end and text[start].isspace():",
    'row = {"name": table["first"] + "\\n", "count": i<n and j>m}',
    "return np.where(mask, scores, -1e9).sum(axis=-1)",
]
PUBLIC = "keys = x @ w_key\nvalues = x @ w_value\n"


def coloured(formatter) -> Callable[[str], str]:
    return lambda line: highlight(f"{PUBLIC}{line}\n", PythonLexer(), formatter)


def traceback_of(line: str) -> str:
    return f"<ipython-input-3-0a> in f(x)\n      1 {PUBLIC[:16]}\n----> 2     {line}\n      3     z\n\nNameError: z"


def notebook(*cells) -> str:
    return nbformat.writes(new_notebook(cells=list(cells)))


def archive(name: str, content: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr(name, content)
    return file.getvalue()


def commented(line: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        opened.writestr("a.py", PUBLIC)
        opened.comment = line.encode()
    return file.getvalue()


def arrays(**kept: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **kept)
    return file.getvalue()


def shown_as_html(line: str) -> str:
    return f"<pre>{html.escape(line)}</pre>"


def in_base64(text: str) -> str:
    return in_base64_of(text.encode())


FORMS: dict[str, Callable[[str], str | bytes]] = {
    "as it is": lambda line: f"{PUBLIC}    {line}\n",
    "with other spaces": lambda line: line.replace(" ", "  \t"),
    "without spaces round operators": lambda line: line.replace(" = ", "=").replace(" @ ", "@"),
    "with a comment behind it": lambda line: f"{line}  # the answer",
    "as a comment": lambda line: f"#   {line}",
    "in a traceback": traceback_of,
    "in a coloured traceback": lambda line: traceback_of(line).replace(" ", " \x1b[38;5;241m"),
    "in a coloured traceback in JSON": lambda line: json.dumps(traceback_of(line).replace(" ", " \x1b[0;32m")),
    "behind a prompt": lambda line: f">>> {PUBLIC[:16]}\n>>> {line}\n",
    "behind IPython's prompt": lambda line: f"In [12]: {line}\n    ...: ",
    "as the repr of lists of lines": lambda line: repr([*PUBLIC.splitlines(), line]),
    "as the repr of lines with their ends": lambda line: repr([f"{PUBLIC[:16]}\n", f"    {line}\n"]),
    "joined with semicolons": lambda line: f"x = 1; {line}; y = 2",
    "as one line of JSON": lambda line: json.dumps({"source": f"{PUBLIC}{line}\n{PUBLIC}"}),
    "as JSON in JSON": lambda line: json.dumps(json.dumps({"source": f"{PUBLIC}{line}\n{PUBLIC}"})),
    "as JSON with code points": lambda line: "".join(c if c.isalnum() else f"\\u{ord(c):04x}" for c in line),
    "as JavaScript with hexadecimals": lambda line: "".join(c if c.isalnum() else f"\\x{ord(c):02x}" for c in line),
    "broken over lines": lambda line: "\n".join(textwrap.wrap(line, 12)),
    "with line numbers": lambda line: f"  1 keys = x\n  2{line}\n  3 values\n",
    "as a difference": lambda line: f"- {PUBLIC[:16]}\n+    {line}\n",
    "quoted in Markdown": lambda line: f"> So `{line}` it is.",
    "in a table of Markdown": lambda line: f"| a | `{line}` |\n|---|---|",
    "escaped in Markdown": lambda line: "".join(f"\\{c}" if c in "_*[]<>" else c for c in line),
    "in HTML": shown_as_html,
    "in HTML, escaped twice": lambda line: html.escape(html.escape(line)),
    "in HTML, as numbers of characters": lambda line: "".join(f"&#{ord(c)};" for c in line),
    "in coloured HTML": coloured(HtmlFormatter(full=True)),
    "in coloured HTML with line numbers": coloured(HtmlFormatter(linenos="inline")),
    "in coloured HTML with a table of line numbers": coloured(HtmlFormatter(linenos="table")),
    "in an attribute": lambda line: f'<button data-copy="{html.escape(line)}">',
    "with hard spaces": lambda line: html.escape(line).replace(" ", "&nbsp;"),
    "with places to break": lambda line: html.escape(line).replace(".", ".<wbr>").replace("_", "\u200b_"),
    "as an SVG": coloured(SvgFormatter()),
    "as an SVG in base64 in a page": lambda line: f'<img src="data:image/svg+xml;base64,{in_base64(coloured(SvgFormatter())(line))}">',
    "as an SVG in the address of a picture": lambda line: f'<img src="data:image/svg+xml,{quote(shown_as_html(line))}">',
    "in colours of a terminal": coloured(TerminalFormatter()),
    "in an address": lambda line: f"https://example.org/?code={quote(line)}",
    "a notebook's source": lambda line: notebook(new_code_cell(f"{PUBLIC}{line}\n{PUBLIC}")),
    "a notebook's attachment": lambda line: notebook(
        new_markdown_cell("see", attachments={"a.svg": {"image/svg+xml": in_base64(shown_as_html(line))}})
    ),
    "a notebook's output": lambda line: notebook(
        new_code_cell("x", outputs=[new_output("stream", text=traceback_of(line))])
    ),
    "a notebook's output in HTML": lambda line: notebook(
        new_code_cell("x", outputs=[new_output("display_data", {"text/html": coloured(HtmlFormatter())(line)})])
    ),
    "a notebook in a notebook's metadata": lambda line: json.dumps({"metadata": {"old": notebook(new_code_cell(line))}}),
    "the state of a widget in a page": lambda line: f"<script>{json.dumps(shown_as_html(line)).replace('<', chr(92) + 'u003c')}</script>",
    "the comment of a zip": commented,
    "a file in a zip": lambda line: archive("a/b.py", f"{PUBLIC}{line}\n"),
    "a zip in a zip": lambda line: zipped_twice(line),
    "a gzip": lambda line: gzip.compress(f"{PUBLIC}{line}".encode()),
    "gzip in base64": lambda line: json.dumps({"cases": base64.b64encode(gzip.compress(line.encode())).decode()}),
    "arrays with an index": lambda line: arrays(
        index=np.frombuffer(json.dumps({"hint": line}).encode(), np.uint8), x=np.arange(9.0)
    ),
    "arrays of texts": lambda line: arrays(names=np.array([line, "x"]).astype("S")),
    "Sphinx's inventory": lambda line: b"# Sphinx inventory version 2\n# P\n# V\n# zlib\n" + zlib.compress(line.encode()),
    "UTF-16": lambda line: f"{PUBLIC}{line}".encode("utf-16"),
    "UTF-16 without its mark": lambda line: f"{PUBLIC}{line}".encode("utf-16-le"),
    "UTF-32": lambda line: line.encode("utf-32"),
    "an array of texts": lambda line: array(np.array([line, "x"])),
    "the metadata of weights": lambda line: save({"w": np.zeros(9, np.float32)}, {"note": line}),
    "weights that are characters": lambda line: save({"w": np.frombuffer(line.encode(), np.uint8)}),
    "arrays of texts, packed": lambda line: arrays(names=np.array([line, "x"])),
    "zlib": lambda line: zlib.compress(line.encode()),
    "zlib in base64": lambda line: in_base64_of(zlib.compress(f"{PUBLIC}{line}".encode())),
    "zlib in base64 for addresses": lambda line: base64.urlsafe_b64encode(zlib.compress(f"{PUBLIC}{line}".encode(), 0)).decode(),
    "as hexadecimal digits": lambda line: f'data = "{line.encode().hex()}"',
    "bz2 as hexadecimal digits": lambda line: bz2.compress(line.encode()).hex(),
    "bz2 in base64": lambda line: in_base64_of(bz2.compress(line.encode())),
    "a tar.bz2": lambda line: tar(line, "w:bz2"),
    "a tar.xz": lambda line: tar(line, "w:xz"),
    "as a form is sent": lambda line: f"https://example.org/?code={quote_plus(line)}",
    "as octal numbers": lambda line: "".join(c if c.isalnum() else f"\\{ord(c):03o}" for c in line),
    "as a list of tokens": lambda line: json.dumps(re.findall(r'"[^"]*"|\w+|[^\w\s]', line)),
    "in coloured HTML in Latin-1": lambda line: b"\xe9 " + coloured(HtmlFormatter())(line).encode(),
    "a packed text in a picture": lambda line: picture(line),
    "broken over lines behind prompts": lambda line: f">>> {broken(line)}".replace("\n", "\n... "),
    "broken over lines with line numbers": lambda line: f"12 {broken(line)}".replace("\n", "\n13 "),
    "broken over lines as a difference": lambda line: f"+{broken(line)}".replace("\n", "\n+"),
    "broken over lines, quoted": lambda line: f"> {broken(line)}".replace("\n", "\n> "),
    "broken over lines with a comment": lambda line: broken(line).replace("\n", "  # as before\n"),
    "broken over rows of a table": lambda line: f"<td>1</td><td>{html.escape(broken(line))}</td>".replace(
        "\n", "</td></tr><tr><td>2</td><td>"
    ),
    "a text in a picture": lambda line: b"\x89PNG\r\n\x1a\n\0\0tEXtSource\0" + line.encode() + b"\xff\xfe\0",
}  # fmt: skip


def array(texts: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, texts)
    return file.getvalue()


def tar(line: str, mode: str) -> bytes:
    file, told = io.BytesIO(), tarfile.TarInfo("a/b.py")
    data = f"{PUBLIC}{line}\n".encode()
    told.size = len(data)
    with tarfile.open(fileobj=file, mode=mode) as packed:
        packed.addfile(told, io.BytesIO(data))
    return file.getvalue()


def in_base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def picture(text: str) -> bytes:
    file, told = io.BytesIO(), PngInfo()
    told.add_text("code", text * 3, zip=True)
    Image.new("RGB", (2, 2)).save(file, "PNG", pnginfo=told)
    return file.getvalue()


def broken(line: str) -> str:
    """A line in two, at its first bracket, comma or operator."""
    place = re.search(r"[,(\[{]| \S ", line).end()
    return f"{line[:place]}\n{line[place:]}"


def zipped_twice(line: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        opened.writestr("inner.zip", archive("b.py", line))
    return file.getvalue()


@pytest.mark.parametrize("form", FORMS)
def test_a_planted_line_is_found(form):
    secrets = Secrets({line: "the solution" for line in LINES})
    missed = [line for line in LINES if (line, "the solution") not in secrets.shown_by(FORMS[form](line))]
    assert missed == []


@pytest.mark.parametrize("form", FORMS)
def test_another_line_in_the_same_form_is_none(form):
    secrets = Secrets({line: "the solution" for line in LINES})
    others = ["scores = keys @ query * np.sqrt(query.size)", "while start < end and text[end].isspace():"]
    assert [shown for other in others for shown in secrets.shown_by(FORMS[form](other))] == []


def test_what_is_public_is_no_secret():
    secrets = Secrets({line: "the solution" for line in LINES}, public=f"{PUBLIC}    {LINES[0]}\n")
    assert secrets.shown_by("\n".join(LINES)) == [(line, "the solution") for line in LINES[1:]]


PARTS = [
    "target_ids, memory, mask, source",
    'metrics=["accuracy", "loss"],',
    "self.layers = nn.ModuleList(",
    "+ self.positions[: source_ids.shape[1]])",
]


@pytest.mark.parametrize("part", PARTS)
def test_part_of_a_statement_counts_as_a_whole_line_only(part):
    secrets = Secrets({part: "the solution"})
    assert secrets.shown_by(f"call(self, {part} more)") == []
    assert (
        secrets.shown_by('call("target_ids", "memory", "mask", "source")') == []
    )  # names, not what has them
    around = ["x = f(", f"    {part}", ")"]
    lines, ended = "\n".join(around), [f"{each}\n" for each in around]
    for planted in (
        f"x\n    {part}\ny",
        f"----> 3     {part}\n",
        json.dumps(lines),
        f"<b>x</b>\n{part}\n",
        ">>> " + lines.replace("\n", "\n... "),
        "In [1]: " + lines.replace("\n", "\n   ...: "),
        "# " + lines.replace("\n", "\n# "),
        repr(around),
        repr(ended),
        json.dumps({"source": ended}),
        html.escape(lines).replace("\n", "<br>"),
        lines.replace("\n", "  # why\n"),
    ):
        assert secrets.shown_by(planted) == [(part, "the solution")], planted


STATEMENT = """x = self.dropout(scale * self.embedding(source_ids)  # (batch, seq_len, width)
                 + self.positions[: source_ids.shape[1]],
                 )"""
MANY_LINES = {
    "as it is": lambda text: text,
    "on one line": lambda text: " ".join(re.sub("#.*", "", text).split()).replace(", )", ")"),
    "behind prompts": lambda text: ">>> " + text.replace("\n", "\n... "),
    "behind IPython's prompts": lambda text: "In [1]: " + text.replace("\n", "\n   ...: "),
    "as comments": lambda text: "# " + text.replace("\n", "\n# "),
    "as a list of lines": lambda text: repr(text.splitlines()),
    "as a notebook's source": lambda text: json.dumps({"source": text.splitlines(keepends=True)}),
    "as HTML": lambda text: html.escape(text).replace("\n", "<br>&nbsp;"),
}


@pytest.mark.parametrize("form", MANY_LINES)
def test_a_statement_of_several_lines_is_found_as_one(form):
    lines = telling_lines(STATEMENT)
    whole = lines[-1]
    assert len(lines) == 3 and whole.startswith("x = self.dropout") and whole.endswith("]], )")
    assert (whole, "s") in Secrets(dict.fromkeys(lines, "s")).shown_by(MANY_LINES[form](STATEMENT))
    other = STATEMENT.replace("[: ", "[1 : ")
    assert (whole, "s") not in Secrets(dict.fromkeys(lines, "s")).shown_by(MANY_LINES[form](other))


def test_a_long_page_of_tokens_is_read_at_once():
    """Each gap of a statement can be tried in one way only."""
    line = "x = " + " + ".join(["weights[0]"] * 60)
    page = json.dumps(re.findall(r"\w+|[^\w\s]", line)[:-1] * 50)
    assert Secrets({f"{line} @ weights": "s"}).shown_by(page) == []


def test_a_packed_file_that_is_broken_stops_nothing():
    secrets, whole = Secrets({LINES[0]: "the solution"}), archive("b.py", f"{LINES[0]}\n" * 99)
    for broken in (whole[:-30], whole[:40], whole.replace(b"PK\1\2", b"PK\1\3"), b"PK\3\4", b"\x1f\x8b"):
        assert secrets.shown_by(broken) == []
    assert secrets.shown_by(gzip.compress(LINES[0].encode() * 99)[:-9]) == [(LINES[0], "the solution")]
