"""JupyterLite beside the pages: labs that need only NumPy and Matplotlib, in the reader's browser, with nothing installed.

The page, the notebooks and the course's code come from the site. Python itself, NumPy and Matplotlib are Pyodide's: they come from its network
when a notebook is opened, or from the site's own folder, if its publisher has downloaded them.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import symtable
import sys
import tempfile
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from grader.author.secret_lines import leaks_of_all
from grader.course import CourseError
from grader.handout.lab_pages import without_widgets
from grader.handout.needed import files_for_learners
from grader.reference.lab import Lab

LABS = ("00_start_here", "01_why_attention", "02_self_attention", "04_positional_encoding")
FOLDER = "lite"
"""Where it lies in the site."""
HOST = "cdn.jsdelivr.net"
"""Pyodide's network, where JupyterLite's kernel looks by default."""

_APP = "lab"
_EXTENSIONS = ("anywidget", "@jupyter-widgets/jupyterlab-manager")
_STYLE = "course_utils/lab_style/transformer-labs"
_SETTINGS = {"@jupyter-widgets/jupyterlab-manager:plugin": {"saveState": True}}
"""Widgets are saved with their notebook; otherwise reopening it would show errors in their place."""

_KERNEL = Path("share", "jupyter", "labextensions", "@jupyterlite", "pyodide-kernel-extension")
_WIDGETS = ("anywidget", "comm", "ipywidgets", "jupyterlab-widgets", "psygnal", "typing-extensions")
"""Pure Python that neither Pyodide nor the kernel brings: it goes along, as installed here."""

_NAME, _VERSION = "transformer_labs", "0"
_NEEDS = ("numpy", "matplotlib", "anywidget", "ipywidgets")
_SECONDS = 300

NOTE = """\
**You are in JupyterLite: Python runs in your browser.** Run the next cell first. It fetches NumPy and Matplotlib, which takes a moment the first time. If
the brackets beside it are still empty after a minute, run it again.

- What you change is kept in this browser only. *File*, *Download* takes the notebook along; in the course on your own computer, put it into `notebooks/{lab}/`.
- Your progress is in `progress.json`, at the top of the list of files: right-click it and choose *Download*. In the folder of the course on your own computer,
  `.venv/bin/python -m course_utils progress progress.json` adds it to yours.
- If a cell never ends, *Kernel*, *Interrupt* does not help here. Press *Kernel*, *Restart Kernel*, then run the cells again from the top. (The limit of time that checks
  have elsewhere needs a clock that WebAssembly lacks.)
- There is no PyTorch, SciPy or scikit-learn here. Where the lab uses one of them, a sentence stands in the place of the cell, with what the cell shows on a computer
  that has them."""
_WHY = "**Not in the browser:** this cell uses PyTorch, SciPy or scikit-learn, or what came of them. In the course on your own computer it runs. Go on with the next one."
_AGAIN = "**Not in the browser** either."
_INSTEAD = """\
{why}

<details><summary>The cell</summary>

```python
{source}
```

</details>{shown}"""
_SHOWN = """

<details><summary>What it shows, with the course's own solutions</summary>

{html}

</details>"""
_NOT_HERE = ("torch", "tensorflow", "keras", "transformers", "scipy", "sklearn", "course_utils.models")
"""What only runs with packages that Pyodide lacks, or that would take a reader longer to load than the labs are worth."""
_OUT = re.compile(r"\[([^\]]+)\]\(\.\./([^)/]+)[^)]*\)")
"""A link out of a lab's folder. In the browser there are no other labs than these, and no map."""
_INSTALL = """\
%pip install -q transformer-labs
import os
from pathlib import Path
os.environ["TRANSFORMER_LABS_PROGRESS"] = str(Path.cwd().parent / "progress.json")"""


def address(lab: Lab) -> str:
    """Where a lab opens, relative to the site."""
    return f"{FOLDER}/{_APP}/index.html?path={lab.name}/{lab.notebook_name}"


def place_of(root: Path) -> Path | None:
    """The folder with JupyterLite's builder: the environment's own (an empty path), or ``.build/lite``. None where there is none."""
    if importlib.util.find_spec("jupyterlite_core"):
        return Path(sys.prefix)
    found = root / ".build" / "lite"
    return found if (found / "jupyterlite_core").is_dir() else None


def write_lite(
    labs: Sequence[Lab],
    site: Path,
    place: Path,
    pyodide: Path | None = None,
    results: Mapping[str, nbformat.NotebookNode | None] = MappingProxyType({}),
) -> None:
    """Writes it into the site.

    Args:
        labs: the labs to bring, see :data:`LABS`.
        place: from :func:`place_of`.
        pyodide: an unpacked Pyodide distribution, which is copied into the site; without it, browsers ask Pyodide's network.
        results: by name of the lab, the solved notebook after it has run: what it shows stands where a cell cannot run in the browser.

    Raises:
        CourseError: it cannot be built, what learners get would show part of a solution, or the folder has no Pyodide in it.
    """
    if pyodide is not None and not (pyodide / "pyodide.mjs").is_file():
        raise CourseError(
            f"{pyodide} has no pyodide.mjs. Unpack a Pyodide distribution, and name that folder."
        )
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch)
        root = labs[0].course.root
        wheels = _bring(labs, source, results)
        if faults := leaks_of_all(
            [*labs], source
        ):  # before other people's code joins it, which has nothing of the course
            raise CourseError(
                "Not published, because JupyterLite would show parts of solutions:\n" + "\n".join(faults)
            )
        for name in _WIDGETS:
            repacked(metadata.distribution(name), wheels)
        if pyodide:
            shutil.copytree(pyodide, source / "static" / "pyodide")  # where the builder looks
        extensions = source / "extensions"
        shutil.copytree(place / _KERNEL, extensions / "@jupyterlite" / _KERNEL.name)
        for name in _EXTENSIONS:
            shutil.copytree(Path(sys.prefix, "share", "jupyter", "labextensions", name), extensions / name)
        shutil.copytree(root / _STYLE, extensions / Path(_STYLE).name)
        _build(source, wheels, extensions, site, place)


def _bring(labs: Sequence[Lab], source: Path, results: Mapping[str, nbformat.NotebookNode | None]) -> Path:
    """Puts what learners get of the labs where JupyterLite's builder looks. Returns the folder of wheels, with one of what the labs need."""
    root, needed = labs[0].course.root, set()
    for lab in labs:
        clutter = shutil.ignore_patterns("*.ipynb", "__pycache__", ".*")
        shutil.copytree(lab.release_folder, source / "files" / lab.name, ignore=clutter)
        notebook = for_the_browser(lab, lab.release(), results.get(lab.name))
        nbformat.write(notebook, source / "files" / lab.name / lab.notebook_name)
        needed |= {name for name in files_for_learners(lab) if "weights" not in name.parts}
    wheels = source / "wheels"
    wheels.mkdir()
    contents = {str(name): (root / name).read_bytes() for name in sorted(needed)}
    write_wheel(wheels, _NAME, _VERSION, contents, _NEEDS)
    return wheels


def _build(source: Path, wheels: Path, extensions: Path, site: Path, place: Path) -> None:
    """Has JupyterLite's builder make the pages.

    Raises:
        CourseError: it does not.
    """
    how = {
        "LiteBuildConfig": {
            "apps": [_APP],
            "contents": ["files"],
            "no_sourcemaps": True,
            "no_unused_shared_packages": True,
            "ignore_sys_prefix": ["federated_extensions"],
            "output_dir": str(site / FOLDER),
        },
        "FederatedExtensionAddon": {"extra_labextensions_path": [str(extensions)]},
        "PipliteAddon": {"piplite_urls": sorted(map(str, wheels.iterdir()))},
    }
    (source / "jupyter_lite_config.json").write_text(json.dumps(how))
    (source / "overrides.json").write_text(json.dumps(_SETTINGS))
    done = subprocess.run(
        [sys.executable, "-m", "jupyterlite_core.app", "build"],
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(place)} if place != Path(sys.prefix) else None,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )
    if done.returncode or not (site / FOLDER / _APP / "index.html").is_file():
        raise CourseError(f"JupyterLite could not be built:\n{(done.stdout + done.stderr)[-2000:]}")


def for_the_browser(
    lab: Lab, notebook: nbformat.NotebookNode, executed: nbformat.NotebookNode | None = None
) -> nbformat.NotebookNode:
    """A lab's notebook with two cells in front, which its browser's Python needs, and without what that lacks, or links to what is not there.

    Args:
        executed: the solved notebook after it has run.
    """
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _OUT.sub(lambda link: link[0] if link[2] in LABS else link[1], cell.source)
    page = without_widgets(lab.release(), executed) if executed is not None else notebook
    shown = {cell.id: "".join(map(_as_html, cell.get("outputs", []))) for cell in page.cells}
    notebook.cells = [*without_torch(notebook.cells, shown)]
    notebook.cells[1:1] = [
        new_markdown_cell(NOTE.format(lab=lab.name), id="in-the-browser"),
        new_code_cell(_INSTALL, id="install"),
    ]
    notebook.metadata["kernelspec"] = {
        "display_name": "Python (Pyodide)",
        "language": "python",
        "name": "python",
    }
    return notebook


def _as_html(output: nbformat.NotebookNode) -> str:
    """An output as a text cell may hold it: with no blank line, which would end its HTML."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    html = data.get("text/html") or f"<pre>{escape(data.get('text/plain', ''))}</pre>"
    return re.sub(r"\n\s*\n", "\n", html) + "\n"


def without_torch(
    cells: Iterable[nbformat.NotebookNode], shown: Mapping[str, str] = MappingProxyType({})
) -> Iterator[nbformat.NotebookNode]:
    """The cells that run without PyTorch, SciPy and scikit-learn, and for each other one a sentence, tagged ``needs-torch``, that has its code folded.

    A cell needs one of them if it imports it, uses a name that only such cells define, or checks such an exercise. Imports that need none are kept, for
    the cells that follow.

    Args:
        shown: a cell's id -> HTML of what it puts out elsewhere; folded, too, because a question may come before it.
    """
    lost: set[str] = set()
    again = False
    for cell in cells:
        try:
            body = ast.parse(cell.source).body if cell.cell_type == "code" else []
        except SyntaxError:  # a line for IPython: nothing of PyTorch
            body = []
        missing = [each for each in body if _is_missing(each)]
        others = [each for each in body if each not in missing]
        lost |= _names(missing)[0]
        bound, used = _names(others)
        if not used & (lost - bound) and not any(
            _is_missing(node) for each in others for node in ast.walk(each)
        ):
            lost -= bound
            if missing:
                cell.source = "\n".join(map(ast.unparse, others))
            if cell.source:
                again = False
                yield cell
            continue
        imports = [each for each in others if isinstance(each, ast.Import | ast.ImportFrom)]
        lost = (lost | bound) - _names(imports)[0]
        html = shown.get(cell.id, "")
        why, again = _AGAIN if again else _WHY, True
        text = _INSTEAD.format(why=why, source=cell.source, shown=_SHOWN.format(html=html) if html else "")
        yield new_markdown_cell(text, id=f"{cell.id[:54]}-not-here", metadata={"tags": ["needs-torch"]})
        if imports:
            yield new_code_cell("\n".join(map(ast.unparse, imports)), id=cell.id)


def _is_missing(node: ast.AST) -> bool:
    """Whether it imports what Pyodide lacks."""
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
    return any(f"{name}.".startswith(f"{missing}.") for name in names for missing in _NOT_HERE)


def _names(statements: Sequence[ast.stmt]) -> tuple[set[str], set[str]]:
    """What statements of a cell give a value to, and what they need from elsewhere; a check needs its exercise."""
    top = symtable.symtable("\n".join(map(ast.unparse, statements)), "cell", "exec")
    bound = {each.get_name() for each in top.get_symbols() if each.is_assigned() or each.is_imported()}
    used = {each.get_name() for each in top.get_symbols() if each.is_referenced()}
    waiting = top.get_children()
    while waiting:
        inner = waiting.pop()
        used |= {each.get_name() for each in inner.get_symbols() if each.is_global() and each.is_referenced()}
        waiting += inner.get_children()
    texts = [node.value for each in statements for node in ast.walk(each) if isinstance(node, ast.Constant)]
    return bound, used | {text.partition(".")[2] for text in texts if isinstance(text, str)}


def write_wheel(
    folder: Path, name: str, version: str, files: Mapping[str, bytes], needs: Iterable[str] = ()
) -> Path:
    """Writes a wheel of pure Python: an archive of the files, and what says what it is (the format is PyPA's "binary distribution format")."""
    info = f"{name}-{version}.dist-info"
    required = "".join(f"Requires-Dist: {each}\n" for each in needs)
    python = "Requires-Python: >=3.11\n"  # Pyodide's is newer than what the frameworks run on elsewhere
    whole = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{python}{required}".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: transformer-labs\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{path},sha256={urlsafe_b64encode(sha256(content).digest()).rstrip(b'=').decode()},{len(content)}\n"
        for path, content in whole.items()
    )
    file = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in {**whole, f"{info}/RECORD": f"{record}{info}/RECORD,,\n".encode()}.items():
            archive.writestr(
                zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED
            )  # no time: equal files, equal wheels
    return file


def repacked(distribution: metadata.Distribution, folder: Path) -> Path:
    """An installed package as a wheel of pure Python again. Compiled parts are left out: psygnal has its Python beside them."""
    name = distribution.name.replace("-", "_")
    files = {
        str(path): Path(str(path.locate())).read_bytes()
        for path in distribution.files or ()
        if path.suffix != ".so"
        and not {"..", "__pycache__"} & {*path.parts}
        and not path.parts[0].endswith(".dist-info")
    }
    needs = [
        each for each in distribution.requires or () if canonicalize_name(Requirement(each).name) in _WIDGETS
    ]
    return write_wheel(folder, name, distribution.version, files, needs)
