"""A small made-up class: the kinds of submissions that a course sees in a term. Tests hand them in, too.

:func:`solved` and the functions after it build submissions the way learners (and their mishaps) do: they take the
release and put texts into its solution cells.
"""

from __future__ import annotations

import ast
import builtins
import copy
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from nbformat import NotebookNode

from grader.author.build import build
from grader.catalogue import Entry
from grader.course import Course, make_private
from grader.errors import GraderError
from grader.files import TIMESTAMP
from grader.grade import autograde as grading
from grader.reference.lab import Lab, is_solution, nbgrader_of
from grader.run.notebook import PlainRunner, SandboxRunner
from grader.show.class_report import write_report
from grader.show.export import export
from grader.show.feedback import generate_feedback
from grader.show.pages import default_page

HANDED_IN = "2030-01-15 12:00:00 UTC"


# ---------------------------------------------------------------------------------- submissions


def solved(lab: Lab, texts: Mapping[str, str] | None = None) -> NotebookNode:
    """The release with the reference's solutions, or with other ``texts`` for some exercises."""
    return with_texts(lab.release(), lab.solution_texts | dict(texts or {}))


def with_texts(notebook: NotebookNode, texts: Mapping[str, str]) -> NotebookNode:
    """The notebook with other texts in its solution cells (exercise name -> text)."""
    notebook = copy.deepcopy(notebook)
    for cell in notebook.cells:
        if is_solution(cell):
            cell.source = texts.get(nbgrader_of(cell)["grade_id"], cell.source)
    return notebook


def noisy(text: str, name: str) -> str:
    """The same code, but it prints, warns and writes to stderr when it is defined and, if it is a function, whenever
    it is called.
    """
    return f"""import sys
import warnings

{text}

def with_noise(function):
    def call(*args, **kwargs):
        print("called with", len(args) + len(kwargs), "arguments")
        warnings.warn("is this right?")
        print("hm", file=sys.stderr)
        return function(*args, **kwargs)
    return call


if not isinstance({name}, type):  # a class has to stay one
    {name} = with_noise({name})
warnings.warn("defined")
print("defined", file=sys.stderr)
"""


def without_cells(notebook: NotebookNode, *grade_ids: str) -> NotebookNode:
    """The notebook after somebody deleted these cells."""
    notebook = copy.deepcopy(notebook)
    notebook.cells = [cell for cell in notebook.cells if nbgrader_of(cell).get("grade_id") not in grade_ids]
    return notebook


def duplicated(notebook: NotebookNode, stubs: NotebookNode) -> NotebookNode:
    """Each solution cell three times: as handed out, solved, and as handed out again."""
    notebook = copy.deepcopy(notebook)
    released = {cell.id: cell for cell in stubs.cells}
    cells = []
    for cell in notebook.cells:
        cells += [released[cell.id], cell, released[cell.id]] if is_solution(cell) else [cell]
    notebook.cells = copy.deepcopy(cells)
    return notebook


def retyped(notebook: NotebookNode) -> NotebookNode:
    """Solution cells turned into markdown (a slip of the M key)."""
    notebook = copy.deepcopy(notebook)
    for cell in notebook.cells:
        if is_solution(cell):
            cell.cell_type = "markdown"
            del cell["outputs"], cell["execution_count"]
    return notebook


def without_metadata(notebook: NotebookNode) -> NotebookNode:
    """What is left after a trip through another editor: no metadata, no ids."""
    notebook = copy.deepcopy(notebook)
    notebook.nbformat_minor = 4
    for cell in notebook.cells:
        cell.metadata.clear()
        del cell["id"]
    return notebook


def hand_in(course: Course, lab: Lab, student: str, notebook: NotebookNode | bytes) -> Path:
    """Puts a submission where ``grader collect`` would put it. Damaged notebooks are written as they are."""
    folder = course.submitted / student / lab.name
    make_private(folder)
    data = notebook if isinstance(notebook, bytes) else json.dumps(notebook).encode()
    (folder / lab.notebook_name).write_bytes(data)
    (folder / TIMESTAMP).write_text(HANDED_IN)
    return folder


# ---------------------------------------------------------------------------------- the class


def made_up_class(lab: Lab) -> Iterator[tuple[str, NotebookNode | bytes]]:
    """The students of the demonstration, and what they hand in."""
    perfect, stubs = solved(lab), lab.release()
    names = [exercise.name for exercise in lab.exercises.values()]
    texts = lab.solution_texts
    yield "perfect", perfect
    yield "untouched", stubs
    for number, entry in enumerate(_a_few(lab.misconceptions), 1):
        yield f"mistake-{number}", solved(lab, {entry.exercise: entry.source})
    for style in ("einsum", "loop"):
        yield f"own-way-{style}", solved(lab, other_ways(lab, partial(_in_style, style)))
    yield "prints-and-warns", solved(lab, {name: noisy(texts[name], name) for name in names})
    yield "deleted-cells", without_cells(perfect, names[-1], f"check_{names[0]}")
    yield "duplicated-cells", duplicated(perfect, stubs)
    yield "retyped-cells", retyped(perfect)
    yield "lost-metadata", without_metadata(perfect)
    yield "endless-cell", solved(lab, {names[-1]: f"{texts[names[-1]]}\n\nwhile True:\n    pass"})
    yield "kills-kernel", solved(lab, {names[-1]: "import os\n\nos._exit(1)"})
    yield "corrupt-file", json.dumps(perfect).encode()[:-1000]


def _a_few(catalogue: Mapping[str, list[Entry]], count: int = 5) -> list[Entry]:
    """Misconceptions of as many exercises as possible: the first of each, then the second of each, ..."""
    longest = max(map(len, catalogue.values()), default=0)
    entries = (found[turn] for turn in range(longest) for found in catalogue.values() if turn < len(found))
    return [entry for entry, _ in zip(entries, range(count), strict=False)]


def _in_style(style: str, variants: list[Entry]) -> Entry:
    """The variant of that style, or the first."""
    return next((entry for entry in variants if style in entry.name), variants[0])


def other_ways(lab: Lab, choose: Callable[[list[Entry]], Entry]) -> dict[str, str]:
    """Exercise name -> the text of a correct variant, chosen from those that run in a notebook.

    An exercise whose own cell has a helper that others may call stays as it is in the solution.
    """
    defined = set(dir(builtins))
    for cell in lab.release().cells:
        if cell.cell_type == "code":
            defined |= _bound(ast.parse(cell.source))
    chosen = {}
    for key, entries in lab.variants.items():
        name = key.partition(".")[2]
        own = ast.parse(lab.solution_texts[name]).body
        if sum(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in own) > 1:
            continue
        if alone := [entry for entry in entries if _stands_alone(ast.parse(entry.source), defined)]:
            chosen[name] = choose(alone).source
    return chosen


def _stands_alone(tree: ast.Module, defined: set[str]) -> bool:
    """Whether a variant needs only what the notebook defines: not its file's helpers, nor the class that it replaces."""
    heads = [base for node in tree.body if isinstance(node, ast.ClassDef) for base in node.bases]
    own = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    if own & {node.id for base in heads for node in ast.walk(base) if isinstance(node, ast.Name)}:
        return False
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return used <= defined | _bound(tree)


def _bound(tree: ast.AST) -> set[str]:
    """The names that a text gives to something, at any depth."""
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.alias(name=name, asname=asname):
                names.add(asname or name.partition(".")[0])
    return names


def run_demo(
    course: Course,
    labs: list[str],
    say: Callable[[str], None],
    show: Callable[[str, list[grading.Record]], None],
) -> None:
    """Releases the labs in ``.demo/``, hands in the class's work, grades it, makes feedback, and shows the results.

    Args:
        say: is called with a line about what is going on.
        show: is called with a lab's name and the records of its class.
    """
    root = course.root / ".demo"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(course.solutions, root / "solutions", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(course.root / "nbgrader_config.py", root / "nbgrader_config.py")
    stage = Course(root)
    labs = labs or stage.labs()
    build(stage, labs, say=say)
    for name in labs:
        lab = Lab.load(stage, name)
        folders = [hand_in(stage, lab, student, notebook) for student, notebook in made_up_class(lab)]
        say(f"{name}: grading {len(folders)} submissions ...")
        runner = replace(any_runner(lab), cell_seconds=8)  # one submission of this class never ends
        jobs = grading.usable_cores()
        records = list(grading.autograde(lab, folders, runner, grading.class_seed(lab), jobs=jobs))
        order = {folder.parent.name: place for place, folder in enumerate(folders)}
        records.sort(key=lambda record: order[record.student])
        generate_feedback(lab)
        write_report(lab)
        show(name, records)
    export(stage, [], "csv", root / "grades.csv")
    say(f"Scores: {root / 'grades.csv'}\nGradebook: {stage.gradebook}")
    for name in labs:
        example = _worth_a_look(Lab.load(stage, name))
        say(
            f"{name}, open in a browser:\n  report:   {default_page(stage, name).as_uri()}\n  feedback: {example.as_uri()}"
        )


def _worth_a_look(lab: Lab) -> Path:
    """A feedback page of the made-up class: of a mistake that is recognised, if the lab knows one."""
    pages = sorted(lab.course.feedback.glob(f"*/{lab.name}/{lab.slug}.html"))
    return next((page for page in pages if page.parts[-3].startswith("mistake-")), pages[0])


def any_runner(lab: Lab) -> SandboxRunner | PlainRunner:
    """The sandbox if it is available. We wrote this class's code ourselves, so it is harmless without one."""
    try:
        return grading.choose_runner(lab)
    except GraderError:
        return grading.choose_runner(lab, "none")
