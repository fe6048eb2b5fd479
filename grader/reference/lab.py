"""One lab as the instructor's side sees it: its source, its reference, its catalogue, its expected outcomes.

What reads notebooks and tries exercises is imported where that is done: most commands know labs, and many need nothing of them but their names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.catalogue import Entry, cannot_be_imported, load_entries, run_cell, stand_ins_of
from grader.core_path import mark, pieces
from grader.course import Course, CourseError, text_of
from grader.errors import see_whether_it_was_ctrl_c
from grader.files import toml_of

if TYPE_CHECKING:
    import numpy as np
    from nbformat import NotebookNode

    from course_utils.checking.exercise import Exercise
    from course_utils.checking.expected import Expected
    from course_utils.checking.names import Cell
    from course_utils.checking.outcome import Outcome
    from course_utils.labs import LabInfo

SKIP_TAG = "skip-grading"
"""Tag of cells that are not run when a notebook is graded: training, plots, timings, widgets."""

ADDED_TAG = "added"
"""Tag of cells of a rebuilt submission that the learner added."""

FILE_TAG = "handed-in-file"
"""Tag of a cell of a rebuilt submission that stands for a file: its first line is IPython's ``%%writefile`` with the file's name."""

GO_ON_CELL = "continue-here"
"""Id of the cell that brings back what a learner had; each lab gets it from :meth:`Lab.source`."""

SETTINGS = "lab.toml"
"""In a lab's source folder: what the map of the course shows, and how long the notebook runs."""

MISCONCEPTIONS = "misconceptions.py"
VARIANTS = "variants.py"
"""In a lab's source folder: what learners get wrong, and other ways to be right; see :mod:`grader.catalogue`."""

HIDDEN = "hidden.json"
"""In a lab's source folder: what the goals of its exercises are measured against, name -> list. It is never released."""

SECONDS = "{measured_seconds}"
"""On a lab's first page: the placeholder for the seconds that its solved notebook takes."""

_KINDS = {"title": str, "part": str, "builds": str, "needs": list, "minutes": int}

_MAY_BE_THERE = {"core_minutes", "measured_seconds", "promises"}

_IN_WORDS = {str: "a text", list: "a list of lab numbers", int: "a whole number"}

REGION = re.compile(
    r"^([ \t]*)### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION[ \t]*$", re.DOTALL | re.MULTILINE
)
"""The part of a solution cell of the source that learners have to write: its indentation, and its text."""

_MARK = re.compile(r"^[ \t]*### (BEGIN|END) SOLUTION[ \t]*(\n|\Z)", re.MULTILINE)
_CHECK = re.compile(r"""^check\(["']([\w.]+)["']\)$""", re.MULTILINE)


def nbgrader_of(cell: NotebookNode) -> dict[str, Any]:
    """A cell's nbgrader metadata, empty if it has none."""
    return cell.metadata.get("nbgrader", {})


def copy_of(notebook: NotebookNode) -> NotebookNode:
    """A copy whose cells can be replaced and given other texts and outputs. Their metadata must not be changed: they are shared."""
    from nbformat import NotebookNode

    copied = NotebookNode(notebook)
    copied.metadata = NotebookNode(notebook.metadata)
    copied.cells = [NotebookNode(cell) for cell in notebook.cells]
    return copied


def is_solution(cell: NotebookNode) -> bool:
    return cell.cell_type == "code" and bool(nbgrader_of(cell).get("solution"))


def checked_exercise(cell: NotebookNode) -> str | None:
    """The key that a check cell checks, e.g. ``"self_attention.causal_mask"``; None for other cells."""
    if cell.cell_type != "code" or not nbgrader_of(cell).get("grade"):
        return None
    found = _CHECK.search(cell.source)
    return found.group(1) if found else None


def is_learners(cell: NotebookNode) -> bool:
    """Whether a learner wrote a code cell of a rebuilt submission."""
    return is_solution(cell) or is_added(cell)


def is_added(cell: NotebookNode) -> bool:
    """Whether a cell of a rebuilt submission is none of the lab's."""
    return ADDED_TAG in cell.metadata.get("tags", [])


def file_in(cell: NotebookNode) -> tuple[str, str] | None:
    """Name and text of the file that a cell of a rebuilt submission stands for; None for other cells."""
    if FILE_TAG not in cell.metadata.get("tags", []):
        return None
    first, _, text = cell.source.partition("\n")
    return first.removeprefix("%%writefile "), text


def runs_in_grading(cell: NotebookNode) -> bool:
    return cell.cell_type == "code" and SKIP_TAG not in cell.metadata.get("tags", [])


def without_marks(text: str) -> str:
    """A solution cell's text without the lines that mark its regions."""
    return _MARK.sub("", text)


def code_before_check(notebook: NotebookNode, key: str) -> list[str]:
    """The code cells that have run by the time an exercise is checked: the check calls what they define."""
    sources = []
    for cell in notebook.cells:
        if checked_exercise(cell) == key:
            break
        if runs_in_grading(cell):
            sources.append(cell.source)
    return sources


def around_check(
    notebook: NotebookNode, key: str, places: Mapping[str, str]
) -> tuple[list[Cell], list[Cell]]:
    """The code cells above an exercise's check and below it.

    Args:
        places: from :func:`places_of`.
    """
    from course_utils.checking.names import Cell

    above: list[Cell] = []
    below: list[Cell] = []
    found = above
    for cell in notebook.cells:
        if checked_exercise(cell) == key:
            found = below
        elif cell.cell_type == "code" and checked_exercise(cell) is None:
            place = places.get(cell.id, f"cell `{cell.id}`")
            found.append(Cell(place, cell.source, runs_in_grading(cell)))
    return above, below


def places_of(notebook: NotebookNode, texts: Sequence[str]) -> dict[str, str]:
    """Cell id -> what people call the cell: by its number in what was handed in, text cells included.

    Args:
        notebook: the rebuilt one.
        texts: of the cells that were handed in, in their order.
    """
    numbers = {text.strip(): number for number, text in enumerate(texts, start=1)}
    code = (cell for cell in notebook.cells if cell.cell_type == "code")
    return {cell.id: f"cell {numbers[text]}" for cell in code if (text := cell.source.strip()) in numbers}


def learners_lines(marked: str) -> set[int]:
    """The numbers of the lines between the marks, in the text without the marks."""
    found, number, inside = set(), 0, False
    for line in marked.splitlines():
        if mark := _MARK.match(line):
            inside = mark[1] == "BEGIN"
        else:
            number += 1
            if inside:
                found.add(number)
    return found


def line_of(file: Path, text: str) -> int:
    """The number of the first line of a file that contains a text; 1 if none does."""
    lines = text_of(file).splitlines()
    return next((number for number, line in enumerate(lines, 1) if text in line), 1)


@dataclass(frozen=True)
class Lab:
    """A lab's folder in ``solutions/``. Everything is read when it is first asked for, and then kept."""

    course: Course
    name: str

    @classmethod
    def load(cls, course: Course, name: str) -> Lab:
        """
        Raises:
            CourseError: there is no such lab; the message lists the labs that exist.
        """
        if name not in course.labs():
            raise CourseError(
                f"There is no lab {name!r} in {course.solutions}. Labs: {', '.join(course.labs())}."
            )
        return cls(course, name)

    @property
    def slug(self) -> str:
        return self.name.partition("_")[2]

    @property
    def folder(self) -> Path:
        return self.course.solutions / self.name

    @property
    def release_folder(self) -> Path:
        return self.course.notebooks / self.name

    def at(self, name: str, where: str | int = "") -> str:
        """``file:line`` in a file of the lab, relative to the course: where a text is, or the line itself. Line 1 if neither is there."""
        file = self.folder / name
        line = where if isinstance(where, int) else line_of(file, where) if file.is_file() else 1
        return f"{file.relative_to(self.course.root)}:{line or 1}"

    def at_cell(self, text: str) -> str:
        """The same in the source of its notebook."""
        return self.at(f"{self.name}.py", text)

    @property
    def notebook_name(self) -> str:
        return f"{self.slug}.ipynb"

    @property
    def handed_out_as(self) -> str:
        """The folder in the zip that learners get."""
        return f"transformer-lab-{self.name}"

    @cached_property
    def exercises(self) -> dict[str, Exercise]:
        """Key -> exercise, in the order of the lab.

        Raises:
            CourseError: ``exercises.py`` is missing, cannot be imported, or has no exercise.
        """
        from course_utils import exercises
        from course_utils.checking.exercise import exercises_of

        file = self.folder / exercises.FILE_NAME
        try:
            text_of(file)
        except FileNotFoundError:
            raise CourseError(
                f"{file} is missing: it says what is checked. `grader new` writes one to start from."
            ) from None
        try:
            exercises.load(self.slug, file)
        except BaseException as error:
            raise cannot_be_imported(error, file) from error
        found = exercises_of(self.slug)
        if not found:
            raise CourseError(f"{file}:1: there is no Exercise in it.")
        return {f"{self.slug}.{name}": exercise for name, exercise in found.items()}

    @cached_property
    def misconceptions(self) -> dict[str, list[Entry]]:
        return self._entries(MISCONCEPTIONS)

    @cached_property
    def variants(self) -> dict[str, list[Entry]]:
        return self._entries(VARIANTS)

    @property
    def stand_ins(self) -> Mapping[str, Any]:
        """Exercise name -> what takes its place, to save time, when slips of other exercises are run."""
        return stand_ins_of(self.folder / MISCONCEPTIONS) if self.misconceptions else {}

    def _entries(self, file_name: str) -> dict[str, list[Entry]]:
        entries = load_entries(self.folder / file_name, lambda: self.solution_texts, lambda: self.reference)
        for name, (first, *_) in entries.items():
            if f"{self.slug}.{name}" not in self.exercises:
                raise CourseError(
                    f"{self.folder / file_name}:{first.line} names an exercise that the lab does not have: {name}."
                )
        return {f"{self.slug}.{name}": found for name, found in entries.items()}

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What ``lab.toml`` says.

        Raises:
            CourseError: it is missing, is not TOML, or lacks something.
        """
        file = self.folder / SETTINGS
        try:
            values = toml_of(text_of(file))
        except FileNotFoundError:
            raise CourseError(
                f"{file} is missing: it names the lab. `grader new` writes one to start from."
            ) from None
        except ValueError as error:
            raise CourseError(f"{file} is not TOML: {error}") from None
        for name, kind in _KINDS.items():
            if not isinstance(values.get(name), kind) or values[name] == "":
                raise CourseError(f"{file}: it needs a line `{name} = ...` with {_IN_WORDS[kind]}.")
        if more := sorted(set(values) - {*_KINDS, *_MAY_BE_THERE}):
            raise CourseError(f"{file}:{line_of(file, more[0])}: there is no setting {more[0]!r}.")
        return values

    @property
    def info(self) -> LabInfo:
        """What the map of the course shows."""
        from course_utils.labs import LabInfo

        values = {name: self.settings[name] for name in _KINDS}
        names = tuple(exercise.name for exercise in self.exercises.values())
        waits = {
            key.partition(".")[2]: piece.until
            for piece in pieces(self.source())
            if piece.until and (key := checked_exercise(piece.cell))
        }
        derived = {"exercises": names, "core_minutes": self.settings.get("core_minutes"), "waits": waits}
        return LabInfo(self.name, **values | {"needs": tuple(values["needs"])} | derived)

    @property
    def seconds(self) -> int | None:
        """How long the whole solved notebook takes on two cores (`make timings` measures it); None if not yet known."""
        return self.settings.get("measured_seconds")

    def keep_seconds(self, seconds: int) -> None:
        """Writes into ``lab.toml`` how long the whole solved notebook took."""
        file = self.folder / SETTINGS
        text = re.sub(r"^measured_seconds = .*\n", "", file.read_text("utf-8"), flags=re.MULTILINE)
        text = re.sub(r"^(minutes = .*\n)", rf"\1measured_seconds = {seconds}\n", text, flags=re.MULTILINE)
        file.write_text(text, "utf-8")

    def as_written(self) -> NotebookNode:
        """A fresh copy of the notebook as its author wrote it, with solutions and without what the build adds."""
        import jupytext  # half a second, and few commands read a source

        notebook = jupytext.reads(text_of(self.folder / f"{self.name}.py"), {"extension": ".py"})
        notebook.metadata.pop("jupytext", None)
        notebook.nbformat_minor = 5
        return notebook

    def source(self) -> NotebookNode:
        """A fresh copy of the notebook with solutions. Cell ids are stable from build to build."""
        from grader.reference.built_parts import add_parts

        notebook = self.as_written()
        seen: dict[str, int] = {}
        heading = ""
        if self.seconds is not None:
            notebook.cells[0].source = notebook.cells[0].source.replace(SECONDS, str(self.seconds))
        self._link(notebook)
        add_parts(notebook, self.slug, [SKIP_TAG])
        for cell in notebook.cells:
            if cell.cell_type == "markdown" and (found := re.search(r"^#+ (.+)", cell.source, re.MULTILINE)):
                heading = re.sub(r"[^a-z0-9]+", "-", found.group(1).lower()).strip("-")[:40]
            base = nbgrader_of(cell).get("grade_id") or heading or "cell"
            seen[base] = seen.get(base, 0) + 1
            cell.id = base if seen[base] == 1 else f"{base}-{seen[base]}"
        mark(notebook)
        self._let_go_on(notebook)
        return notebook

    def _let_go_on(self, notebook: NotebookNode) -> None:
        """Adds the cell that brings back what a learner had, below the first text. It knows which cells it may run as a whole: the course's own
        that grading runs.
        """
        from nbformat.v4 import new_code_cell

        from course_utils.checking.check import digest
        from course_utils.continue_here import GIVEN

        given = [
            digest(cell.source)
            for cell in notebook.cells
            if runs_in_grading(cell) and not is_solution(cell) and not checked_exercise(cell)
        ]
        cell = new_code_cell(_GO_ON.format(slug=self.slug), id=GO_ON_CELL)
        cell.metadata |= {"tags": [SKIP_TAG], GIVEN: given}
        notebook.cells.insert(1, cell)

    def _link(self, notebook: NotebookNode) -> None:
        """Links the notebook, at its top and at its end, with the map of the course and with the labs before and after it."""
        top, end = self._links()
        first, last = notebook.cells[0], notebook.cells[-1]
        heading, _, rest = first.source.partition("\n")
        first.source = f"{heading}\n\n{top}\n{rest}"
        if last.cell_type == "markdown":
            last.source += f"\n\n{end}"

    def link_again(self) -> bool:
        """Writes into the release which labs are before and after it now, and changes nothing else of it. Returns whether that was another
        text, or false if the lab has not been built.
        """
        import nbformat

        try:
            release = self.release()
        except CourseError:
            return False
        before = [cell.source for cell in release.cells]
        for cell, old, new in zip(
            (release.cells[0], release.cells[-1]), _lines_with_links(), self._links(), strict=True
        ):
            cell.source = old.sub(lambda _, new=new: new, cell.source, count=1)
        changed = before != [cell.source for cell in release.cells]
        if changed:
            nbformat.write(release, self.release_folder / self.notebook_name)
        return changed

    def _links(self) -> tuple[str, str]:
        """The line at the top and the line at the end."""
        from course_utils.start_page import FILE_NAME as START_PAGE

        names = self.course.labs()
        place = names.index(self.name)
        back = _link_to(Lab(self.course, names[place - 1])) if place else None
        on = _link_to(Lab(self.course, names[place + 1])) if place + 1 < len(names) else None
        ways = [
            f"[The map of the course](../{START_PAGE})",
            *([f"back: {back}"] if back else []),
            *([f"on: {on}"] if on else []),
        ]
        end = f"Next: {on}. Or go back" if on else "This was the last lab. Go back"
        return " · ".join(ways), f"{end} to [the map of the course](../{START_PAGE})."

    def release(self) -> NotebookNode:
        """A fresh copy of the notebook that learners get.

        Raises:
            CourseError: it has not been built.
        """
        import nbformat

        path = self.release_folder / self.notebook_name
        if not path.is_file():
            raise CourseError(f"{path} does not exist. Run `grader build {self.name}` first.")
        return nbformat.read(path, as_version=4)

    @cached_property
    def points_of_cells(self) -> dict[str, float]:
        """Graded cell -> its points, in the order of the release.

        Raises:
            CourseError: the lab has not been built.
        """
        graded = (nbgrader_of(cell) for cell in self.release().cells if nbgrader_of(cell).get("grade"))
        return {cell["grade_id"]: float(cell["points"]) for cell in graded}

    @property
    def points(self) -> float:
        """What a perfect submission earns."""
        return sum(self.points_of_cells.values())

    @cached_property
    def solution_texts(self) -> dict[str, str]:
        """Exercise name -> the text of its solution cell, without the lines that mark the regions."""
        return {
            nbgrader_of(cell)["grade_id"]: without_marks(cell.source)
            for cell in self.source().cells
            if is_solution(cell)
        }

    @cached_property
    def reference(self) -> dict[str, Any]:
        """The namespace of the solved notebook after all cells that grading runs, except for check cells.

        Raises:
            CourseError: a cell fails; the message names it.
        """
        # Its name is a notebook's, because a dataclass looks up the module that it is in.
        namespace: dict[str, Any] = {"__name__": "__main__"}
        for cell in self.source().cells:
            if runs_in_grading(cell) and checked_exercise(cell) is None:
                file_name = f"<{self.name}: {cell.id}>"
                try:
                    run_cell(cell.source, file_name, namespace)
                except BaseException as error:
                    see_whether_it_was_ctrl_c(error)
                    raise CourseError(
                        f"{self.name}: cell {cell.id!r} of the solution fails outside a notebook: "
                        f"{type(error).__name__}: {error}. If grading does not need it, tag it {SKIP_TAG!r}."
                    ) from error
        return namespace

    @cached_property
    def hidden(self) -> dict[str, np.ndarray]:
        """What the goals of the lab's exercises are measured against; nothing if it has no such file.

        Raises:
            CourseError: it cannot be read.
        """
        import numpy as np

        file = self.folder / HIDDEN
        try:
            return {name: np.array(values) for name, values in json.loads(text_of(file)).items()}
        except FileNotFoundError:
            return {}
        except (ValueError, AttributeError) as error:
            raise CourseError(f"{file} is not a JSON object of lists: {error}") from None

    def outcomes(self, key: str, implementation: Any, seed: int) -> tuple[Outcome, ...]:
        """What an implementation of an exercise does on its cases at ``seed``."""
        from course_utils.checking.outcome import try_exercise

        return tuple(try_exercise(self.exercises[key], key, implementation, seed))

    def expected(self, seed: int) -> dict[str, Expected]:
        """What the reference and the misconceptions produce at ``seed``, for every exercise."""
        from course_utils.checking.expected import Expected, Misconception

        return {
            key: Expected(
                inputs=tuple(case.runs(key, seed) for case in exercise.cases),
                reference=self.outcomes(key, self.reference[exercise.name], seed),
                misconceptions={
                    Misconception(entry.name, entry.title, entry.hint): self.outcomes(key, entry.value, seed)
                    for entry in self.misconceptions.get(key, [])
                },
                hidden=self.hidden if exercise.goals else None,
            )
            for key, exercise in self.exercises.items()
        }


_GO_ON = """\
# Continue here: after a break, run this cell first.
from course_utils.continue_here import continue_here

continue_here("{slug}")"""
"""The cell that every lab has below its first text."""


@cache
def _lines_with_links() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """How the lines with links look in a release: the one at its top, and the one at its end."""
    from course_utils.start_page import FILE_NAME as START_PAGE

    top, end = (
        re.compile(rf"^{begin}\(\.\./{re.escape(START_PAGE)}\).*$", re.MULTILINE)
        for begin in (
            r"\[The map of the course\]",
            r"(?:Next: |This was the last lab\. ).*\[the map of the course\]",
        )
    )
    return top, end


def _link_to(lab: Lab) -> str:
    return f"[lab {lab.name.partition('_')[0]}: {lab.settings['title']}](../{lab.name}/{lab.notebook_name})"
