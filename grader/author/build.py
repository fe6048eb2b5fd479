"""From ``solutions/`` to ``notebooks/``: nbgrader's release of each lab, checked before it is published.

A lab is refused if a solution would leak, or if a stub is not its solution minus the blanks. It is refused if the reference or a correct variant
loses points, or uses what its exercise asks learners to build. It is refused if a misconception passes or gets another one's name, if an answer
without any work earns points, or if nothing fails a check that earns some. The checks are
run at the public seed and at others, as in grading.
"""

from __future__ import annotations

import io
import itertools
import logging
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import SaveCells
from traitlets.config import Config

from course_utils.checking.exercise import PUBLIC_SEED
from course_utils.checking.expected import FILE_NAME, Hint, for_learners, save_expected
from course_utils.exercises import FILE_NAME as EXERCISES
from course_utils.labs import INFO_NAME, core_part
from course_utils.portfolio.homes import PACKAGE
from course_utils.quiz import FILE_NAME as QUIZ
from grader.author import rules
from grader.author.faults import (
    SEEDS,
    answer_faults,
    bypass_faults,
    catalogue_faults,
    point_faults,
    source_faults,
    stub_faults,
)
from grader.author.kept import keep, without_rounding
from grader.author.secret_lines import leaks
from grader.book.counting import EVERYTHING, tell
from grader.course import Course, CourseError, make_private
from grader.reference.follow import Substitutions
from grader.reference.lab import Lab, checked_exercise
from grader.reference.lessons import lessons_of

_HINT = re.compile(r"<details>\s*<summary>Hint\b[ \d]*:?(.*?)</summary>(.*?)</details>\n*", re.DOTALL)


class BuildError(CourseError):
    """A lab is refused. The message lists every reason."""


def build(
    course: Course,
    labs: list[str],
    check: bool = False,
    seeds: Sequence[int] = SEEDS,
    say: Callable[[str], None] = print,
) -> None:
    """Builds the labs (all, if none is named) into ``notebooks/``; with ``check``, only compares.

    Args:
        seeds: at which reference, variants and misconceptions are judged; the public one is among them.

    Raises:
        BuildError: a lab is refused, or (``check``) the committed notebooks differ from what the sources produce.
    """
    faults: list[str] = []
    done: list[str] = []
    for name in labs or course.labs():
        lab = Lab.load(course, name)
        with tempfile.TemporaryDirectory() as scratch:
            try:
                built = build_lab(lab, Path(scratch), seeds)
                keep(built / FILE_NAME, lab.release_folder / FILE_NAME, lab.exercises)
                if check:
                    faults += [f"{name}: {fault}" for fault in differences(built, lab.release_folder)]
                else:
                    if kept := _keep_work(lab):
                        say(f"{name}: the notebook there had been worked in; it is kept as {kept}")
                    _replace(built, lab.release_folder)
                    done.append(name)
                say(f"{name}: {'checked' if check else 'built'}, {_census(lab)}")
            except CourseError as error:
                faults += [f"{name}: {line}" for line in str(error).splitlines()]
    _link_neighbours(course, done, say)
    if fault := bring_readme_up_to_date(course, check):
        faults.append(fault)
    if check and (stray := _stray_folders(course)):
        faults.append(f"notebooks/ has folders without a source: {', '.join(stray)}")
    if faults:
        raise BuildError("\n".join(faults))


def _link_neighbours(course: Course, built: list[str], say: Callable[[str], None]) -> None:
    """Lets the labs before and after those that were built lead to them. Nothing else of these depends on their neighbours."""
    names = course.labs()
    beside = [names[max(place - 1, 0) : place + 2] for place, name in enumerate(names) if name in built]
    for name in dict.fromkeys(itertools.chain(*beside)):
        if name not in built and Lab(course, name).link_again():
            say(f"{name}: its links lead to the labs beside it again. Commit notebooks/{name}, too.")


_LIST = re.compile(r"(<!-- labs: grader build writes this list -->\n).*?(<!-- end of labs -->)", re.DOTALL)


def bring_readme_up_to_date(course: Course, check: bool = False) -> str:
    """Writes the list of labs into README.md, between its two marks. With ``check``, only says whether the list differs."""
    file = course.root / "README.md"
    if not file.is_file():
        return ""
    rows = ["| lab | what you build | minutes |", "|---|---|---|"]
    for name in course.labs():
        settings, slug = Lab.load(course, name).settings, name.partition("_")[2]
        link = f"[{name[:2]} {settings['title']}](notebooks/{name}/{slug}.ipynb)"
        minutes = f"{settings['minutes']}{core_part(settings.get('core_minutes'))}"
        rows.append(f"| {link} | {settings['builds']} | {minutes} |")
    old = file.read_text("utf-8")
    new = _LIST.sub(lambda marks: marks[1] + "\n".join(rows) + "\n" + marks[2], old)
    if new == old:
        return ""
    if check:
        return "README.md: its list of labs is not what their lab.toml say. Run `grader build`."
    file.write_text(new, "utf-8")
    return ""


def build_lab(lab: Lab, scratch: Path, seeds: Sequence[int] = SEEDS) -> Path:
    """Builds one lab in a scratch folder and returns the folder that learners would get.

    Raises:
        BuildError: the lab is refused.
    """
    source = lab.source()
    hints = take_hints(source)
    _refuse_if(source_faults(lab, source))
    _refuse_if(rules.faults(lab, source, hints))
    expected = {seed: lab.expected(seed) for seed in seeds}
    _refuse_if([*catalogue_faults(lab, expected), *bypass_faults(lab, source), *answer_faults(lab, expected)])
    _refuse_if(point_faults(lab, expected[PUBLIC_SEED]))

    source_folder = lab.course.build / "source" / lab.name
    shutil.rmtree(source_folder, ignore_errors=True)
    make_private(source_folder)
    nbformat.write(source, source_folder / lab.notebook_name)
    substitutions = Substitutions(lab, PUBLIC_SEED, expected[PUBLIC_SEED])
    public = {
        key: without_rounding(
            lab.exercises[key],
            replace(
                for_learners(lab.exercises[key], each),
                lessons=lessons_of(lab, key, each),
                given=substitutions.of_single_pieces(key),
            ),
        )
        for key, each in expected[PUBLIC_SEED].items()
    }
    save_expected(source_folder / FILE_NAME, public, hints)
    for name in (EXERCISES, QUIZ):
        shutil.copyfile(lab.folder / name, source_folder / name)
    (source_folder / INFO_NAME).write_text(lab.info.as_json(), "utf-8")

    config = lab.course.nbgrader_config()
    config.CourseDirectory.root = str(scratch)
    shutil.copytree(source_folder, scratch / ".build" / "source" / lab.name)
    generate_assignment(config, lab.name)
    built = scratch / "notebooks" / lab.name
    notebook_path = built / lab.notebook_name
    release = nbformat.read(notebook_path, as_version=4)
    for cell in release.cells:
        _tidy(cell)
    nbformat.write(release, notebook_path)
    _refuse_if([*stub_faults(lab, source, release), *leaks(lab, source, built)])
    return built


def take_hints(source: NotebookNode) -> dict[str, list[Hint]]:
    """Takes the folded hints out of a notebook: exercise -> the hints that were before its check cell, in order.

    Learners get them from the check, one after another, so the release must not show them. A cell that contained
    nothing else is removed.
    """
    hints: dict[str, list[Hint]] = {}
    waiting: list[Hint] = []
    for cell in source.cells:
        if cell.cell_type == "markdown":
            waiting += [Hint(title.strip(), text.strip()) for title, text in _HINT.findall(cell.source)]
            cell.source = _HINT.sub("", cell.source).rstrip("\n")
        elif key := checked_exercise(cell):
            hints[key], waiting = waiting, []
    source.cells = [cell for cell in source.cells if cell.source or cell.cell_type != "markdown"]
    return hints


def generate_assignment(config: Config, assignment: str) -> None:
    """nbgrader's own release step without its gradebook, because a build grades nobody.

    Raises:
        BuildError: nbgrader refuses the lab; its log is the message.
    """
    config.GenerateAssignment.no_database = True
    config.GenerateAssignment.preprocessors = [
        step for step in GenerateAssignment.preprocessors.default() if step is not SaveCells
    ]
    config.GenerateAssignment.force = True
    config.CourseDirectory.assignment_id = assignment
    converter = GenerateAssignment(coursedir=CourseDirectory(config=config), config=config)
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    converter.log.addHandler(handler)
    try:
        converter.start()
    except NbGraderException:
        raise BuildError(f"nbgrader cannot make the release:\n{log.getvalue()}") from None
    finally:
        converter.log.removeHandler(handler)


def _refuse_if(faults: list[str]) -> None:
    if faults:
        raise BuildError("\n".join(faults))


# ---------------------------------------------------------------------------------- files


def differences(built: Path, committed: Path) -> list[str]:
    """How the committed lab differs from what its source produces."""
    names = {path.name for folder in (built, committed) if folder.is_dir() for path in folder.iterdir()}
    faults = []
    for name in sorted(names - {".ipynb_checkpoints"}):
        new, old = built / name, committed / name
        if not old.is_file() or not new.is_file():
            faults.append(
                f"{name} is {'missing' if not old.is_file() else 'not made by its source'}. Run `grader build`."
            )
        elif new.read_bytes() != old.read_bytes() and not _differ_in_what_counts(new, old):
            faults.append(f"{name} is not what its source gives. Run `grader build` and commit the result.")
    return faults


def _differ_in_what_counts(built: Path, committed: Path) -> bool:
    """Whether nothing is different but that a release has said on the first page what counts."""
    if built.suffix != ".ipynb":
        return False
    try:
        released = nbformat.read(committed, as_version=4)
    except Exception:  # whatever it is, it is no notebook
        return False
    return tell(released, EVERYTHING) == nbformat.read(built, as_version=4)


def _keep_work(lab: Lab) -> Path | None:
    """Sets aside a copy of a notebook in ``notebooks/`` that somebody has worked in, before the build replaces it."""
    path = lab.release_folder / lab.notebook_name
    try:
        cells = nbformat.read(path, as_version=4).cells
        worked_in = any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
    except FileNotFoundError:
        return None
    except Exception:  # no longer a notebook; whatever it is, it is somebody's work
        worked_in = True
    if not worked_in:
        return None
    folder = lab.course.root / ".replaced" / lab.name
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{lab.slug}-{len(list(folder.iterdir())) + 1}.ipynb"
    shutil.copyfile(path, kept)
    return kept


def _replace(built: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for old in target.iterdir():
        if old.name != ".ipynb_checkpoints" and not (built / old.name).exists():
            old.unlink()
    for path in built.iterdir():
        shutil.copyfile(path, target / path.name)


def _stray_folders(course: Course) -> list[str]:
    return sorted(
        folder.name
        for folder in course.notebooks.iterdir()
        if folder.is_dir()
        and folder.name not in (*course.labs(), PACKAGE)
        and not folder.name.startswith(".")
    )


def _tidy(cell: NotebookNode) -> None:
    """Removes what nbgrader adds to cells that it does not manage."""
    cell.metadata.pop("lines_to_next_cell", None)


def _census(lab: Lab) -> str:
    counts = {
        "exercise": len(lab.exercises),
        "misconception": sum(map(len, lab.misconceptions.values())),
        "correct variant": sum(map(len, lab.variants.values())),
    }
    return ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items())
