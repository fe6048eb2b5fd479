"""The course as web pages: the map, every lab without its solutions, and the guides; for any static host.

Sphinx makes the pages, and everything that they need lies among them: nothing is fetched from another place.
"""

from __future__ import annotations

import hashlib
import html
import importlib.util
import io
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping
from contextlib import redirect_stderr
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbformat import NotebookNode

import course_utils
from course_utils.labs import LabInfo, core_part
from course_utils.progress import PROGRESS_VARIABLE
from grader.author.secret_lines import leaks_of_all
from grader.course import Course, CourseError
from grader.handout import lite, live
from grader.handout.colab import address
from grader.handout.demo import solved
from grader.handout.lab_pages import public_page, with_note
from grader.handout.needed import files_for_learners, lock_for_learners
from grader.reference.lab import Lab

FILES = Path(__file__).parent / "site_files"
_MATHJAX = "tex-svg.js"  # one file with all that it needs, glyphs included
_FIRST_GUIDES = ("instructors", "collecting", "grading-details", "writing-a-lab", "design")
_CELL_SECONDS = 900

Say = Callable[[str], None]


def build_site(
    course: Course,
    out: Path,
    run: Collection[str],
    colab: str | None = None,
    say: Say = print,
    pyodide: Path | None = None,
) -> Path:
    """Makes the site, and puts it in place of an earlier one only if nothing is wrong with it.

    Args:
        out: the folder of the site.
        run: the labs that are executed if no earlier run of the same lab is at hand; others have no results then.
        colab: the GitHub repository of the learners' course, ``OWNER/NAME``: each lab's page links to the lab in Colab.
        pyodide: a folder with a Pyodide distribution, from which the labs that run in a browser get their Python; without it, from Pyodide's network.

    Returns:
        the start page.

    Raises:
        CourseError: a lab is unknown or fails, a link leads nowhere, a page shows part of a solution, or the folder
            contains something else.
    """
    see_that_it_may_be_replaced(out, ".buildinfo", "a site")
    labs = [Lab.load(course, name) for name in course.labs()]
    for name in run:
        Lab.load(course, name)
    cache = course.build / "executed"
    results = {lab.name: results_of(lab, cache, lab.name in run, say) for lab in labs}
    with tempfile.TemporaryDirectory() as scratch:
        source, built = Path(scratch, "source"), Path(scratch, "html")
        place = lite.place_of(course.root)
        in_browser = [lab for lab in labs if lab.name in lite.LABS] if place else []
        write_source(course, labs, results, source, colab, in_browser, "" if pyodide else lite.HOST)
        say("Sphinx makes the pages ...")
        run_sphinx(source, built, Path(scratch, "doctrees"))
        live.write_pages([lab.info for lab in labs], built)
        if faults := leaks(labs, built):
            raise CourseError(
                "Not published, because pages would show parts of solutions:\n" + "\n".join(faults[:20])
            )
        if place and in_browser:
            say("JupyterLite is made ...")
            lite.write_lite(in_browser, built, place, pyodide, results)
        else:
            say(
                "No lab can be tried in the browser: `scripts/setup_extra.sh lite` installs what makes JupyterLite."
            )
        try:
            if out.exists():
                shutil.rmtree(out)
            shutil.copytree(built, out)
        except OSError as error:
            raise CourseError(
                f"{out} cannot be written: {error.strerror}. Choose another folder with --out."
            ) from None
    if without := [name for name, result in results.items() if result is None]:
        say(f"Without results, because they were not run: {', '.join(without)}.")
    return out / "index.html"


# ---------------------------------------------------------------------------------- results


def results_of(lab: Lab, cache: Path, run: bool, say: Say) -> NotebookNode | None:
    """The solved notebook after it has run: from an earlier run of the same lab, else from a new one; None without either."""
    file, wanted = cache / f"{lab.name}.ipynb", fingerprint(lab)
    if file.is_file():
        kept = nbformat.read(file, as_version=4)
        if kept.metadata.get("fingerprint") == wanted:
            return kept
    if not run:
        return None
    say(f"{lab.name} runs, solved (about {lab.seconds or '?'} s on two cores) ...")
    notebook = execute(lab)
    notebook.metadata["fingerprint"] = wanted
    cache.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, file)
    return notebook


def fingerprint(lab: Lab) -> str:
    """Changes with whatever a lab's results depend on: its solved text, the course's code that it uses, the packages that learners need."""
    root = lab.course.root
    digest = hashlib.sha256(lock_for_learners((root / "requirements.txt").read_text("utf-8")).encode())
    for cell in solved(lab).cells:
        digest.update(f"{cell.cell_type} {cell.id}\n{cell.source}\0".encode())
    for name in files_for_learners(lab):
        digest.update(str(name).encode() + b"\0" + (root / name).read_bytes())
    for path in sorted(lab.release_folder.iterdir()):
        if path.is_file() and path.suffix != ".ipynb":
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def execute(lab: Lab) -> NotebookNode:
    """The solved notebook, run from top to bottom in an ordinary kernel, in a folder of its own.

    Raises:
        CourseError: a cell fails, or takes more than a quarter of an hour.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellControlSignal, CellTimeoutError, DeadKernelError

    notebook = solved(lab)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / lab.name
        shutil.copytree(lab.release_folder, folder, ignore=shutil.ignore_patterns("*.ipynb", ".*"))
        manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=str(Path(scratch) / "kernel"))
        client = NotebookClient(notebook, km=manager, timeout=_CELL_SECONDS)
        begun: list[str] = []
        client.on_cell_start = lambda cell, cell_index: begun.append(cell.id)
        client.resources = {"metadata": {"path": str(folder)}}
        try:
            client.execute(
                cleanup_kc=True, env={**os.environ, PROGRESS_VARIABLE: str(Path(scratch) / "progress.json")}
            )
        except CellTimeoutError:
            raise CourseError(
                f"{lab.name}: cell {begun[-1]!r} of the solved notebook has not ended after {_CELL_SECONDS} seconds. "
                f"If other programs keep this machine busy, try again when they are done."
            ) from None
        except (CellControlSignal, DeadKernelError) as error:
            last = str(error).strip().splitlines()[-1]
            raise CourseError(
                f"{lab.name}: the solved notebook fails: {last}. Correct the lab, then try again."
            ) from None
    return notebook


# ---------------------------------------------------------------------------------- what Sphinx reads


def write_source(
    course: Course,
    labs: list[Lab],
    results: Mapping[str, NotebookNode | None],
    source: Path,
    colab: str | None = None,
    in_browser: Collection[Lab] = (),
    host: str = "",
) -> None:
    """Writes all pages as Sphinx reads them: notebooks and Markdown.

    Args:
        in_browser: the labs that open in JupyterLite.
        host: from where these get their Python, if not from the site.
    """
    shutil.copytree(course.root / "docs", source / "docs")
    for guide in (source / "docs").glob("*.md"):  # the labs' pages lie beside docs/, not in notebooks/
        guide.write_text(guide.read_text("utf-8").replace("](../notebooks/", "](../"), "utf-8")
    for lab in labs:
        result = results[lab.name]
        try:
            page = live.with_links(public_page(lab.release(), result), lab.name)
        except CourseError as error:
            raise CourseError(f"{lab.name}: {error}") from None
        (source / lab.name).mkdir()
        link = address(colab, lab) if colab else None
        lite_link = f"../{lite.address(lab)}" if lab in in_browser else None
        page = with_note(page, lab.info.number, result is not None, link, lite_link, host)
        nbformat.write(page, source / lab.name / lab.notebook_name)
    guides = sorted(path.stem for path in (course.root / "docs").glob("*.md"))
    guides = [
        *(name for name in _FIRST_GUIDES if name in guides),
        *(name for name in guides if name not in _FIRST_GUIDES),
    ]
    readme = (course.root / "README.md").read_text("utf-8")
    begin = lite.address(labs[0]) if labs and labs[0] in in_browser else None
    (source / "index.md").write_text(start_page(readme, labs, guides, begin), "utf-8")
    write_static(source / "_static")


def write_static(folder: Path) -> None:
    """Writes what all pages share: their look, and MathJax.

    Raises:
        CourseError: the packages that make the pages are missing.
    """
    shutil.copytree(FILES, folder)
    shutil.copy(_mathjax(), folder / _MATHJAX)


def _mathjax() -> Path:
    package = importlib.util.find_spec("sphinx-mathjax-offline")
    if package is None or package.origin is None:
        raise CourseError(
            "The packages that make the site are missing. Run `make environment`, then try again."
        )
    return Path(package.origin).parent / "static" / "mathjax" / _MATHJAX


def start_page(readme: str, labs: list[Lab], guides: list[str], lite_link: str | None = None) -> str:
    """The landing page: what the course is, its map, and what one can do at the end. Text and picture are the README's.

    Args:
        guides: names of the pages in docs/, in order.
        lite_link: where the first lab opens in JupyterLite, if it does.
    """
    infos = [lab.info for lab in labs]
    what = re.match(r"# .*?(?=\n## )", readme, re.DOTALL)
    text, picture, rest = (what[0] if what else "# Transformer labs").partition("\n![")
    lines = [text, ""]
    if infos:
        here = f' <a href="{lite_link}">Solve it in your browser</a>' if lite_link else ""
        lines += [
            f'<p class="course-begin"><a href="{_address(infos[0])}">Begin with lab {infos[0].number}</a>{here}</p>',
            "",
        ]
    lines += [live.links(infos), "", picture + rest, ""]
    parts = dict.fromkeys(info.part for info in infos)
    lines += ["## The map", ""]
    for part in parts:
        cards = "".join(_card(info) for info in infos if info.part == part)
        lines += [f"### {part}", "", f'<div class="course-map">{cards}</div>', ""]
    lines += ["## What you can do at the end", "", ":::{container} course-ends", ""]
    for lab in labs:
        lines += [
            f"**[{lab.info.number} {lab.info.title}]({lab.name}/{lab.notebook_name})**",
            "",
            ends(lab),
            "",
        ]
    lines += [":::", ""]
    start = re.search(r"^## Start\n.*?(?=^## )", readme, re.DOTALL | re.MULTILINE)
    lines += [start[0] if start else "", ""]
    for part in parts:
        pages = [f"{info.name}/{info.slug}" for info in infos if info.part == part]
        lines += [_contents(part, pages)]
    lines += [_contents("Guides", [f"docs/{name}" for name in guides])]
    return "\n".join(lines)


def ends(lab: Lab) -> str:
    """The list on a lab's first page below "After this lab you can"."""
    found = re.search(r"\*\*After this lab you can\*\*\n\n((?:.+\n)+)", lab.release().cells[0].source + "\n")
    return found[1] if found else ""


def _address(info: LabInfo) -> str:
    return f"{info.name}/{info.slug}.html"


def _card(info: LabInfo) -> str:
    needs = f" · after {', '.join(info.needs)}" if info.needs else ""
    count = len(info.exercises)
    return (
        f'<a href="{_address(info)}"><b>{info.number} {html.escape(info.title)}</b>'
        f'<span class="builds">{html.escape(info.builds)}</span>'
        f'<span class="effort">{info.minutes} minutes{core_part(info.core_minutes)} · {count} exercise{"s" * (count != 1)}{needs}</span></a>'
    )


def _contents(caption: str, pages: list[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


# ---------------------------------------------------------------------------------- pages

_SETTINGS = {
    "project": "Transformer labs",
    "html_title": "Transformer labs",
    "author": "The Transformer Labs authors",
    "copyright": "The Transformer Labs authors",
    "language": "en",
    "extensions": ["myst_nb", "sphinx.ext.mathjax", "sphinx.ext.githubpages"],
    "nb_execution_mode": "off",  # results come from the solved notebooks
    "myst_enable_extensions": ["dollarmath", "amsmath", "colon_fence"],
    "myst_dmath_double_inline": True,
    "myst_heading_anchors": 4,
    "highlight_language": "none",  # of indented blocks in guides; cells have their own
    "mathjax_path": _MATHJAX,
    # A lab has dozens of formulas: Tab passes by those that fit (widgets.js). Their menu, with what is for screen readers, stays.
    "mathjax3_config": {"options": {"menuOptions": {"settings": {"inTabOrder": False}}}},
    "html_theme": "sphinx_book_theme",
    "html_theme_options": {
        "use_download_button": False,
        "use_fullscreen_button": False,
        "show_toc_level": 2,
        "home_page_in_toc": True,
        "navbar_persistent": [],  # the search field stands beside the contents already
    },
    "html_context": {"default_mode": "auto"},
    "html_favicon": str(FILES / "favicon.svg"),
    "html_css_files": ["style.css"],
    "html_js_files": [("widgets.js", {"defer": "defer"})],  # a module could not be read from a disk
    "html_copy_source": False,
    "html_show_sourcelink": False,
    "html_show_copyright": False,
    "html_last_updated_fmt": None,
}


_UNUSED = ("*.map", "*.mo", "*.po", "*webpack-macros.html")
"""Files that themes bring along and no page uses."""


def see_that_it_may_be_replaced(out: Path, mark: str, what: str) -> None:
    """
    Args:
        mark: the file that a folder has which was made here.

    Raises:
        CourseError: something else is in the place of a folder that is to be made, or nothing can be put there.
    """
    if os.path.lexists(out) and not out.is_dir():
        raise CourseError(f"{out} is no folder. Choose another one with --out.")
    if out.is_dir() and any(out.iterdir()) and not (out / mark).is_file():
        raise CourseError(f"{out} contains something other than {what}. Choose another folder with --out.")
    above = next(folder for folder in out.absolute().parents if os.path.lexists(folder))
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise CourseError(
            f"{out} cannot be made: {above} is no folder that can be written to. Choose another folder with --out."
        )


def run_sphinx(source: Path, built: Path, scratch: Path) -> None:
    """Makes the pages.

    Raises:
        CourseError: Sphinx warns of anything, such as a link that leads nowhere.
    """
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    warnings = io.StringIO()
    settings = {**_SETTINGS, "html_static_path": [str(source / "_static")]}
    with redirect_stderr(warnings), patch_docutils(), docutils_namespace():
        app = Sphinx(
            source, None, built, scratch, "html", settings, status=None, warning=warnings, freshenv=True
        )
        app.build(force_all=True)
    lines = [line for line in warnings.getvalue().splitlines() if line.strip()]
    if app.statuscode or any("WARNING" in line or "ERROR" in line for line in lines):
        shown = "\n".join(lines[:20]).replace(f"{source}{os.sep}", "")
        raise CourseError(f"Not published: correct what Sphinx reports, then try again.\n{shown}")
    for pattern in _UNUSED:
        for path in built.rglob(pattern):
            path.unlink()
    for path in built.rglob("*.html"):
        path.write_text(accessible(path.read_text("utf-8")), "utf-8")


_CORNER = re.compile(r"<th(?: [^>]*)?>(?:<p></p>|\s)*</th>")
"""The empty corner of a table, which heads nothing."""
_SIDEBAR = '<div id="pst-primary-sidebar"'
_BUTTON = re.compile(r'<button (?![^>]*aria-label)(?=[^>]*\btitle="([^"]*)")')


def accessible(page: str) -> str:
    """A page of the theme with what it lacks. Its list of pages is a landmark, its buttons keep a name while a tooltip has their title, and no
    empty cell is the head of a column."""
    page = page.replace(_SIDEBAR, f'{_SIDEBAR} role="navigation" aria-label="Course"')
    return _CORNER.sub("<td></td>", _BUTTON.sub(r'<button aria-label="\1" ', page))


# ---------------------------------------------------------------------------------- what must not be there


def leaks(labs: list[Lab], built: Path) -> list[str]:
    """Lines of solutions and misconceptions in the pages, and names from them in the search index: one sentence each.

    What the releases themselves show to everybody is no secret.
    """
    faults = leaks_of_all(labs, built)
    index = (built / "searchindex.js").read_text("utf-8").lower()
    terms = set(re.findall(r"\w+", index))
    faults += [
        f"searchindex.js has the name {name} from a solution of {lab}"
        for lab, names in names_only_in_solutions(labs).items()
        for name in sorted(names)
        if name.lower() in terms
    ]
    return faults


def names_only_in_solutions(labs: list[Lab]) -> dict[str, set[str]]:
    """Lab -> names with an underscore, which no sentence contains, that stand in its solutions and in no text for learners."""
    pattern = re.compile(r"\b[A-Za-z]\w*_\w+\b")
    known = {name for lab in labs for cell in lab.release().cells for name in pattern.findall(cell.source)}
    for path in Path(course_utils.__file__).parent.rglob("*.py"):
        known |= set(pattern.findall(path.read_text("utf-8")))
    known = {name.lower() for name in known}
    return {
        lab.name: {
            name
            for text in lab.solution_texts.values()
            for name in pattern.findall(text)
            if name.lower() not in known
        }
        for lab in labs
    }
