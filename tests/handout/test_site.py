"""The web pages: what a lab's page shows and hides, what is refused, and the pages themselves in a browser."""

from __future__ import annotations

import copy
import functools
import http.server
import json
import re
import shutil
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import numpy as np
import pytest
import yaml
from accessible import AXE, needs_axe, violations
from classroom import ATTENTION, START, new_course
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from playwright.sync_api import sync_playwright
from project import LABS, ROOT
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from test_browser import CHROMIUM, FLAGS

from course_utils.widgets.stepper import AttentionStepper
from grader.author.secret_lines import secret_lines
from grader.course import CourseError
from grader.handout import colab, lite, site
from grader.handout.demo import solved
from grader.handout.lab_pages import WIDGET, live_widget, public_page, with_note
from grader.reference.lab import Lab, checked_exercise, is_solution

PASSED = new_output(
    "display_data", data={"text/plain": "[ok] softmax: all 5 checks passed.\n  Solved at attempt 3."}
)
FIGURE = new_output(
    "display_data", data={"text/html": '<img alt="A curve." src="data:,">', "text/plain": "A curve."}
)


@pytest.fixture
def lab(labs) -> Lab:
    return labs[START]


@pytest.fixture
def ran(lab):
    """The solved notebook as if it had run: every solution cell prints, every given one shows a figure."""
    notebook = solved(lab)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            printed = new_output("stream", name="stdout", text="the reference's words\n")
            outputs = [PASSED] if checked_exercise(cell) else [printed] if is_solution(cell) else [FIGURE]
            cell.outputs = copy.deepcopy(outputs)
    return notebook


def test_a_cell_that_takes_too_long_is_named_with_its_seconds(lab, ran, monkeypatch):
    """What nbclient says of it ends with a line of dashes."""
    slow = next(cell for cell in ran.cells if cell.cell_type == "code")
    slow.source = "import time; time.sleep(60)"
    monkeypatch.setattr(site, "solved", lambda lab: ran)
    monkeypatch.setattr(site, "_CELL_SECONDS", 1)
    with pytest.raises(CourseError, match=f"cell '{slow.id}' .* has not ended after 1 seconds.*try again"):
        site.execute(lab)


def given(notebook):
    """The first code cell that is neither a solution nor a check."""
    return next(
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and not is_solution(cell) and not checked_exercise(cell)
    )


def test_a_page_has_the_release_s_texts_and_the_given_cells_outputs(lab, ran):
    release = lab.release()
    page = public_page(release, ran)
    for shown, released in zip(page.cells, release.cells, strict=True):
        assert shown.source.replace("](../index.md)", "](../START.md)") == released.source
        if is_solution(released):
            assert (
                shown.outputs == [] and "YOUR CODE HERE" in shown.source and shown.metadata.tags == ["yours"]
            )
        elif checked_exercise(released):
            (output,) = shown.outputs
            assert output.data["text/plain"] == "softmax: all 5 checks passed."
            assert "attempt" not in output.data["text/html"]
        elif released.cell_type == "code":
            assert [output.data for output in shown.outputs] == [FIGURE.data]
    assert "the reference's words" not in json.dumps(page)


def test_what_the_theme_lacks_for_screen_readers_is_added():
    page = '<div id="pst-primary-sidebar" class="x"><button class="a" title="Toggle"><button title="b" aria-label="c"><th class="head"><p></p></th><th>n</th>'
    assert site.accessible(page) == (
        '<div id="pst-primary-sidebar" role="navigation" aria-label="Course" class="x"><button aria-label="Toggle" class="a" title="Toggle">'
        '<button title="b" aria-label="c"><td></td><th>n</th>'
    )


def test_without_a_run_a_page_has_no_outputs(lab):
    assert not any(cell.get("outputs") for cell in public_page(lab.release()).cells)


def test_what_is_folded_in_the_notebook_is_folded_on_the_page(labs):
    folded = []
    for lab in labs.values():
        release = lab.release()
        for shown, released in zip(public_page(release).cells, release.cells, strict=True):
            if released.cell_type == "code":
                hidden = released.metadata.get("jupyter", {}).get("source_hidden", False)
                assert ("hide-input" in shown.metadata.tags) == hidden
                folded += [released.id] if hidden else []
    assert folded


def test_what_is_printed_in_one_go_is_one_output_although_kernels_send_it_in_pieces(lab, ran):
    one, two = (new_output("stream", name="stdout", text=f"{word}\n") for word in ("one", "two"))
    given(ran).outputs = copy.deepcopy([one, two, FIGURE, one])
    for _ in range(2):  # the run itself stays as it is
        shown = given(public_page(lab.release(), ran)).outputs
        assert [each.get("text") for each in shown] == ["one\ntwo\n", None, "one\n"]


def test_what_goes_to_stderr_is_not_shown(lab, ran):
    given(ran).outputs = [new_output("stream", name="stderr", text="/home/someone: a warning"), FIGURE]
    page = public_page(lab.release(), ran)
    assert [output.output_type for output in given(page).outputs] == ["display_data"]


def broken_cell(notebook):
    given(notebook).outputs = [new_output("error", ename="ValueError", evalue="too wide", traceback=[])]


def failing_check(notebook):
    cell = next(cell for cell in notebook.cells if checked_exercise(cell))
    cell.outputs = [new_output("display_data", data={"text/plain": "[--] softmax: 1 of 5 checks passed."})]


def other_cells(notebook):
    del notebook.cells[-1]


@pytest.mark.parametrize(
    "damage, words",
    [(broken_cell, "ValueError: too wide"), (failing_check, "does not pass"), (other_cells, "other cells")],
)
def test_a_run_that_is_not_as_it_should_be_is_refused(lab, ran, damage, words):
    damage(ran)
    with pytest.raises(CourseError, match=words):
        public_page(lab.release(), ran)


def with_widget(ran, module: str, still: str, **state):
    given(ran).outputs = [
        new_output(
            "display_data", data={WIDGET: {"model_id": "m"}, "text/html": still, "text/plain": "plain"}
        )
    ]
    model = {"model_module": module, "state": state}
    ran.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {"m": model}}}


def test_the_course_s_widgets_keep_their_data_and_their_still_picture(lab, ran):
    state = {
        "_esm": "export default {}",
        "_css": "p > b {}",
        "data": {"words": ["</script>"]},
        "layout": "IPY_1",
    }
    with_widget(ran, "anywidget", "<img alt='still'>", **state)
    (output,) = given(public_page(lab.release(), ran)).outputs
    assert WIDGET not in output.data
    found = re.fullmatch(
        r'<div class="course-widget"><div>(.*)</div><script type="application/json">(.*)</script></div>',
        output.data["text/html"],
    )
    assert found[1] == "<img alt='still'>" and "<" not in found[2]
    kept = json.loads(found[2])
    assert kept["data"] == state["data"] and kept["_esm"] == state["_esm"] and "layout" not in kept


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: scripts/setup_browser.sh says how")
def test_a_widget_answers_from_a_disk_and_without_a_module_keeps_its_still_picture(tmp_path):
    x = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 3.0]])
    state = AttentionStepper(["one", "two", "three"], x, x, x).live().get_state()
    broken = live_widget(state | {"_esm": "this is no module"}, "<p>the broken one's picture</p>")
    script = (site.FILES / "widgets.js").read_text("utf-8")
    (tmp_path / "page.html").write_text(
        f"<!doctype html><meta charset=utf-8>{live_widget(state, '<p>a picture</p>')}{broken}<script>{script}</script>",
        "utf-8",
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        page.get_by_text("Step 1 of 6").wait_for()
        page.get_by_role("button", name="Next").click()
        page.get_by_text("Step 2 of 6").wait_for()
        assert not page.get_by_text("a picture", exact=True).is_visible()
        assert page.get_by_text("the broken one's picture").is_visible()
        browser.close()


@pytest.mark.parametrize("still, noted", [("<p>d_k = 1</p>", True), ("<details>Answers</details>", False)])
def test_other_widgets_are_stills_and_say_so_unless_they_unfold(lab, ran, still, noted):
    with_widget(ran, "@jupyter-widgets/controls", still)
    (output,) = given(public_page(lab.release(), ran)).outputs
    assert output.data["text/html"].startswith(still)
    assert ("In the notebook this answers you" in output.data["text/html"]) == noted


# ---------------------------------------------------------------------------------- leaks


def pages_with(folder: Path, text: str, index: str = "") -> Path:
    """A site of one page that shows a text as code."""
    folder.mkdir(exist_ok=True)
    (folder / "page.html").write_text(highlight(text, PythonLexer(), HtmlFormatter(full=True)), "utf-8")
    (folder / "searchindex.js").write_text(
        f'Search.setIndex({{"terms": {{"attend": 1, "{index}": 2}}}})', "utf-8"
    )
    return folder


@pytest.mark.parametrize("name", ["00_start_here", "02_self_attention"])
def test_every_line_of_a_solution_is_found_in_a_page_though_it_is_coloured(labs, name, tmp_path):
    lab = labs[name]
    shown = "".join("".join(cell.source for cell in lab.release().cells).split())
    secret = [line for line in secret_lines(lab, lab.source()) if "".join(line.split()) not in shown]
    assert len(secret) > 15
    faults = site.leaks([lab], pages_with(tmp_path / "site", "\n".join(secret)))
    assert {fault.partition(": ")[2] for fault in faults} == set(secret)


def test_a_line_is_found_in_whatever_kind_of_file_a_site_has(labs, tmp_path):
    """tests/author/test_leaks.py has the forms that a line may take."""
    line, folder = "exponentials = np.exp(shifted)", pages_with(tmp_path / "site", "x = 1")
    kinds = [
        ".html",
        ".js",
        ".json",
        ".txt",
        ".ipynb",
        ".md",
        ".xml",
        ".svg",
        ".css",
        ".csv",
        ".inv",
        ".map",
        ".py",
        "",
    ]
    for kind in kinds:
        folder.joinpath(f"more{kind}").write_text(f"In [3]: {line}; y = 2")
    faults = site.leaks([labs[START]], folder)
    assert {fault.split()[0] for fault in faults} == {f"more{kind}" for kind in kinds}


def test_what_a_release_shows_is_no_leak(labs, tmp_path):
    lab = labs["02_self_attention"]
    text = "\n".join(cell.source for cell in lab.release().cells)
    assert site.leaks([lab], pages_with(tmp_path / "site", text)) == []


@pytest.mark.slow
def test_a_name_that_only_a_solution_has_is_found_in_the_search_index(labs, tmp_path):
    found = {
        name: min(names)
        for name, lab in labs.items()
        if (names := site.names_only_in_solutions([lab])[lab.name])
    }
    assert found
    for name, secret in list(found.items())[:3]:
        (fault,) = site.leaks([labs[name]], pages_with(tmp_path / "site", "x = 1", secret.lower()))
        assert fault == f"searchindex.js has the name {secret} from a solution of {name}"


# ---------------------------------------------------------------------------------- the whole


def test_a_run_is_kept_until_the_lab_changes(lab, ran, tmp_path, monkeypatch):
    runs = []
    monkeypatch.setattr(site, "execute", lambda lab: runs.append(lab.name) or ran)
    said = []
    assert site.results_of(lab, tmp_path, run=False, say=said.append) is None
    for _ in range(2):
        kept = site.results_of(lab, tmp_path, run=True, say=said.append)
    assert [cell.source for cell in kept.cells] == [cell.source for cell in ran.cells]
    assert runs == [lab.name] and len(said) == 1
    monkeypatch.setattr(site, "fingerprint", lambda lab: "changed")
    assert site.results_of(lab, tmp_path, run=False, say=said.append) is None


def test_a_folder_with_something_else_is_left_alone(course, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(CourseError, match="Choose another folder with --out"):
        site.build_site(course, tmp_path, run=[])
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_unknown_lab_is_named_before_anything_runs(course, tmp_path):
    with pytest.raises(CourseError, match="no lab '99_none'"):
        site.build_site(course, tmp_path / "site", run=["99_none"])
    assert not (tmp_path / "site").exists()


def test_the_start_page_leads_to_every_lab_and_guide_and_says_what_one_can_do(labs):
    page = site.start_page((ROOT / "README.md").read_text("utf-8"), [*labs.values()], ["instructors"])
    for lab in labs.values():
        assert f'href="{lab.name}/{lab.slug}.html"' in page and f"\n{lab.name}/{lab.slug}\n" in page
        assert site.ends(lab).count("\n- ") >= 2 and site.ends(lab) in page
    assert "\ndocs/instructors\n" in page and "make lab" in page and "Solve it in your browser" not in page
    page = site.start_page("# Course", [*labs.values()], [], lite.address(labs[START]))
    assert f'<a href="{lite.address(labs[START])}">Solve it in your browser</a>' in page


def test_sphinx_s_warnings_refuse_the_pages(tmp_path):
    (tmp_path / "source" / "_static").mkdir(parents=True)
    (tmp_path / "source" / "index.md").write_text("# Start\n\n[nowhere](missing.md)\n")
    with pytest.raises(CourseError, match=r"index\.md:3: WARNING: .*missing\.md"):
        site.run_sphinx(tmp_path / "source", tmp_path / "html", tmp_path / "scratch")


def test_what_a_cell_prints_stays_between_the_pictures_it_belongs_to(tmp_path):
    printed = [new_output("stream", name="stdout", text=f"{name}:\n") for name in ("first", "second")]
    cell = new_code_cell("show()", outputs=[printed[0], FIGURE, printed[1], FIGURE])
    source = tmp_path / "source"
    (source / "_static").mkdir(parents=True)
    notebook = new_notebook(cells=[new_markdown_cell("# Page"), cell])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, source / "index.ipynb")
    site.run_sphinx(source, tmp_path / "html", tmp_path / "scratch")
    page = (tmp_path / "html" / "index.html").read_text("utf-8")
    first, second = (page.index(f"{name}:") for name in ("first", "second"))
    assert first < page.index("A curve.") < second < page.rindex("A curve.")


def test_the_workflow_publishes_what_make_site_writes_and_packages_never_run_where_it_may():
    workflow = yaml.safe_load((ROOT / ".github/workflows/site.yml").read_text("utf-8"))
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    (upload,) = [step for step in build["steps"] if "upload-pages-artifact" in step.get("uses", "")]
    assert upload["with"]["path"] == "site"
    assert any(step.get("run", "").startswith("make site") for step in build["steps"])
    assert workflow["permissions"] == {} and build["permissions"] == {"contents": "read"}
    assert publish["needs"] == "build" and publish["permissions"] == {"pages": "write", "id-token": "write"}
    assert not any("run" in step for step in publish["steps"])


def test_a_page_links_to_its_lab_in_colab_where_the_learners_repository_is_known(labs):
    lab = labs[START]
    link = colab.address("ada/labs", lab)
    assert (
        link
        == "https://colab.research.google.com/github/ada/labs/blob/main/notebooks/00_start_here/start_here.ipynb"
    )
    with_link, without = (
        with_note(lab.release(), "00", False, each).cells[0].source for each in (link, None)
    )
    assert f"]({link})" in with_link and link not in without


class Links(HTMLParser):
    """What a page points to and what it loads, and the names that links may point to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.to, self.loaded, self.names, self.unnamed = [], [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.names |= {found.get("id"), found.get("name")}
        if tag == "a" and found.get("href"):
            self.to.append(found["href"])
        elif tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(found["href"])
        elif found.get("src"):
            self.loaded.append(found["src"])
        if tag == "img" and not found.get("alt"):
            self.unnamed.append(found.get("src", "")[:80])


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The site of the real labs, of which the first has run."""
    root = tmp_path_factory.mktemp("course")
    course = new_course(root)
    for name in ("README.md", "requirements.txt"):
        shutil.copy(ROOT / name, root / name)
    for name in ("docs", "course_utils"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    return site.build_site(course, root / "site", run=[START], say=lambda line: None).parent


@pytest.mark.slow
def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(pages, labs):
    found = {path: Links(path.read_text("utf-8")) for path in pages.rglob("*.html")}
    assert {pages / lab.name / f"{lab.slug}.html" for lab in labs.values()} < set(found)
    assert pages / "docs" / "instructors.html" in found
    for path, links in found.items():
        assert links.unnamed == [], path
        for target in [*links.to, *links.loaded]:
            parts = urlsplit(target)
            if parts.scheme in ("http", "https", "mailto", "data"):
                assert target in links.to or parts.scheme == "data", (path, target)
                continue
            assert not parts.netloc, (path, target)
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert file.is_file(), (path, target)
            if parts.fragment and file in found:
                assert unquote(parts.fragment) in found[file].names, (path, target)


@pytest.mark.slow
def test_a_lab_s_page_shows_stubs_passed_checks_and_figures(pages, labs):
    lab = labs[START]
    text = (pages / lab.name / f"{lab.slug}.html").read_text("utf-8")
    assert "YOUR CODE HERE" in text and "checks passed." in text and "<img" in text
    assert not (pages / "_sources").exists() or not any((pages / "_sources").rglob("*.*"))


@pytest.fixture(scope="module")
def address(pages):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=pages))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


SQUEEZED = """[...document.querySelectorAll("article :is(td, th)")]
  .filter((cell) => cell.clientWidth && cell.clientWidth < 40 && /\\p{L}{5}/u.test(cell.textContent)).map((cell) => cell.textContent)"""
"""Cells of tables in which a word stands a few letters to a line."""

ON_A_GROUND = """[...document.querySelectorAll("div.cell_output img")]
  .filter((each) => getComputedStyle(each).backgroundColor !== "rgba(0, 0, 0, 0)").map((each) => each.alt)"""
"""Pictures of cells that the theme puts on a ground of its own: a drawing's white lines would vanish on a light one."""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: scripts/setup_browser.sh says how")
@pytest.mark.parametrize("width, theme", [(1400, "light"), (390, "dark")])
def test_pages_fit_ask_nobody_else_and_can_be_searched(pages, address, width, theme, its_turn):
    its_turn(theme == "dark", 2)
    lab = f"{START}/start_here.html"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme).new_page()
        asked, errors = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        for name in sorted(str(path.relative_to(pages)) for path in pages.rglob("*.html")):
            page.goto(f"{address}/{name}")
            assert page.locator("html").get_attribute("data-theme") == theme
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            assert page.evaluate(SQUEEZED) == [], name
            assert page.evaluate(ON_A_GROUND) == [], name
            if AXE and name in (
                "index.html",
                lab,
                f"{ATTENTION}/self_attention.html",
                "docs/instructors.html",
                "search.html",
            ):
                assert violations(page) == [], name
        page.goto(f"{address}/{lab}")
        page.locator("article mjx-container svg").first.wait_for(state="attached")  # formulas are set
        assert not page.locator("mjx-container:not([display])[tabindex]").count(), "Tab stops at each"
        assert page.locator("mjx-container mjx-assistive-mml math").count()  # for screen readers
        page.goto(f"{address}/search.html?q=softmax")
        page.locator("#search-results li").first.wait_for()
        assert page.locator("#search-results li a[href*='start_here']").count()
        assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
        assert errors == []
        browser.close()


# The test above looks at those two each time; axe takes about half a minute for a page as long as a lab's.
IN_TURNS = [name for name in LABS if name not in (START, ATTENTION)]
DAYS = 6
"""After how many days each of them has been looked at in one theme."""


@needs_axe
@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: scripts/setup_browser.sh says how")
@pytest.mark.parametrize("width, theme", [(1400, "light"), (390, "dark")])
@pytest.mark.parametrize("name", IN_TURNS)
def test_a_lab_s_page_has_no_violation_with_everything_unfolded(pages, name, width, theme, its_turn):
    its_turn(IN_TURNS.index(name) % DAYS, DAYS)
    its_turn(theme == "dark", 2, days=DAYS)
    (file,) = (pages / name).glob("*.html")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
        )
        page.goto(file.as_uri())
        if page.locator("article .math").count():
            # Those in the list of headings, and in what is folded, may not be seen.
            page.locator("article mjx-container svg").first.wait_for(state="attached")
        page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
        assert violations(page) == []
        browser.close()
