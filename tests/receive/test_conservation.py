"""Nothing that is handed in disappears: a word put anywhere into a submission is found in the graded notebook or in a note."""

from __future__ import annotations

import base64
import copy
import io
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from nbformat import NotebookNode
from PIL import Image
from small_lab import release, solved

from grader.course import Course
from grader.receive.beside import sort_out
from grader.receive.read import read_submission
from grader.receive.rebuild import rebuild
from grader.reference.lab import Lab


def png() -> str:
    file = io.BytesIO()
    Image.new("RGB", (3, 2), "red").save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


_NOWHERE = Path("/nowhere")
PNG = png()
words = st.text("bcdfghjkmpqrtvwxz", min_size=8, max_size=12)
kinds = st.sampled_from(["code", "markdown", "raw", "heading"])
TEXTS = [
    "{}",
    "# {}",
    "I think *{}*.\n\nBecause.",
    "x = '{}'",
    "def double(x):\n    return {}",
    "<b>{}</b>",
    "![{}](data:image/png;base64," + PNG + ")",
    '![](data:image/png;base64,AAAA "{}")',
    "<img alt='{}' src=\"data:image/jpeg;base64," + PNG + '">',
    "![{}](data:image/svg+xml;base64,PHN2Zy8+)",
    "![a](attachment:{}.png)",
    "```python\ndef half(x):\n    return '{}'\n```",
]
FILES = [
    "{}.csv",
    "{}.py",
    "numpy-{}.py",
    "src/{}.py",
    "{}.ipynb",
    "{}.zip",
    "{} (1).py",
    "é{}.py",
    "data.{}",
]


def cell(kind: str, text: str) -> dict:
    return {"cell_type": kind, "source": text, "metadata": {}}


@st.composite
def submissions(draw) -> tuple[str, NotebookNode, dict[str, bytes]]:
    """A word, a notebook, and files beside it. The word is in one place of them, of whatever was damaged."""
    word = draw(words)
    notebook = draw(st.sampled_from([release(), solved()]))
    notebook = copy.deepcopy(notebook)
    cells, files = notebook.cells, {}
    for _ in range(draw(st.integers(0, 3))):
        match draw(st.sampled_from(["gone", "nameless", "twice", "other kind"])):
            case "gone":
                cells.pop(draw(st.integers(0, len(cells) - 1)))
            case "nameless":
                each = draw(st.sampled_from(cells))
                each["metadata"] = {}
                each.pop("id", None)
            case "twice":
                cells.append(copy.deepcopy(draw(st.sampled_from(cells))))
            case "other kind":
                draw(st.sampled_from(cells))["cell_type"] = draw(kinds)
    if draw(st.booleans()):
        cells[:] = draw(st.permutations(cells))
    mine = draw(st.sampled_from(cells))
    text = draw(st.sampled_from(TEXTS)).format(word)
    match draw(st.sampled_from(["new", "into", "instead", "copy", "attached", "metadata", "beside"])):
        case "new":
            cells.insert(draw(st.integers(0, len(cells))), cell(draw(kinds), text))
        case "into":
            lines = mine["source"].split("\n")
            lines.insert(draw(st.integers(0, len(lines))), text)
            mine["source"] = "\n".join(lines)
        case "instead":
            mine["source"] = text
        case "copy":
            cells.append(copy.deepcopy(mine))
            cells[-1]["source"] += f"\n{text}"
        case "attached":
            kind = draw(st.sampled_from(["image/png", "image/jpeg", "image/svg+xml", "text/html", word]))
            name = draw(st.sampled_from(["{}.png", "a {}.png", "{}"])).format(word)
            mine["attachments"] = {name: {kind: draw(st.sampled_from([PNG, "AAAA", "no picture", 3]))}}
            mine["source"] += draw(st.sampled_from(["", f"\n![](attachment:{name.replace(' ', '%20')})"]))
        case "metadata":
            place = draw(st.sampled_from([notebook, mine]))["metadata"]
            place |= draw(
                st.sampled_from([{"title": word}, {"name": f"a {word}"}, {"authors": [{"name": word}]}])
            )
        case "beside":
            name = draw(st.sampled_from(FILES)).format(word)
            files[name] = b"x = 1"
            cells.append(cell("code", draw(st.sampled_from(["", f"import {word}", "import this"]))))
    return word, notebook, files


@given(submissions())
def test_a_word_anywhere_in_a_submission_is_shown_or_named(submission):
    word, notebook, files = submission
    read = read_submission(json.dumps(notebook).encode())
    lab = Lab(Course(_NOWHERE), "01_small")
    parts = [(tuple(name.split("/")), lambda data=data: data) for name, data in files.items()]
    beside = sort_out(lab, parts).used_by(read.cells)
    rebuilt = rebuild(release(), read.cells, beside.modules)
    shown = [each.source for each in rebuilt.notebook.cells]
    assert word in "\n".join([*shown, *read.notes, *rebuilt.notes, *beside.sentences()])
