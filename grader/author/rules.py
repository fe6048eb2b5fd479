"""What every lab must have, besides being judged correctly: each missing thing is one sentence, with file and line."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from markdown_it import MarkdownIt
from nbformat import NotebookNode

from course_utils.checking.exercise import PUBLIC_SEED
from course_utils.checking.expected import Hint
from course_utils.exercises import FILE_NAME as EXERCISES
from course_utils.quiz import FILE_NAME as QUIZ
from course_utils.quiz import Question, read_questions
from grader.author.training import promises
from grader.book.rubric import questions
from grader.core_path import END, pieces
from grader.course import CourseError, text_of
from grader.errors import place_of
from grader.reference.built_parts import CLOSING_HEADING, policy_sentence
from grader.reference.lab import (
    HIDDEN,
    MISCONCEPTIONS,
    REGION,
    SECONDS,
    SETTINGS,
    SKIP_TAG,
    VARIANTS,
    Lab,
    checked_exercise,
    is_solution,
    line_of,
    nbgrader_of,
)
from grader.reference.teaching_notes import read_notes

PARTS = ("**After this lab you can**", "**Time:**", END, "## Review quiz", "quiz(", "## Going further")
"""What a learner finds in every lab, once each, in this order."""

WORDS_A_MINUTE = 200
"""How fast such a text is read."""
SITTING = 60
"""Minutes after which learners need a place to stop, on the core path and if they do everything."""
BREAK = "**A good place for a break.**"
"""How a text begins that names such a place."""
MAX_SECONDS = 240
MAX_LINES = 30
MAX_COLUMNS = 88
"""Of code. A longer line has to be scrolled sideways in a window of 900 pixels."""
MIN_VARIANTS = 3
MIN_HINT = 20
"""A hint with no more characters than this is too short."""
MIN_MISCONCEPTION_HINT = 40
MIN_SECRET = 12
"""A piece of a solution with this many characters or more must not occur in a hint."""

_SENTENCE = re.compile(r"[^a-z][^\n]*\.(\n.*)?", re.DOTALL)
ROW = re.compile(r"^\| *\d+ *\| *`(\w+)` *\|(?:[^|\n]*\|){2} *(\d+) *\| *(\d+) *\|$", re.MULTILINE)


def faults(lab: Lab, source: NotebookNode, hints: Mapping[str, Sequence[Hint]]) -> list[str]:
    """What is missing in a lab, or not as it is in every other lab.

    Args:
        source: from :meth:`grader.reference.lab.Lab.source`.
        hints: exercise -> the hints that were taken out of it, in order.
    """
    return [
        *_settings(lab),
        *_exercises(lab),
        *_inputs(lab),
        *_first_page(lab, source),
        *_order(lab, source),
        *_cells(lab, source),
        *_rubrics(lab, source),
        *_hints(lab, hints),
        *_quiz(lab),
        *_catalogue(lab, source),
        *_teaching(lab),
    ]


def _teaching(lab: Lab) -> Iterator[str]:
    """Notes for teachers are optional; those that are there are complete."""
    try:
        read_notes(lab)
    except CourseError as error:
        yield str(error)


def _settings(lab: Lab) -> Iterator[str]:
    number = lab.name.partition("_")[0]
    if not re.fullmatch(r"\d\d", number):
        yield f"{lab.at(SETTINGS)}: the folder's name must begin with two digits and an underscore, as in 14_my_lab."
    for needed in lab.settings["needs"]:
        if not isinstance(needed, str) or not any(
            name.startswith(f"{needed}_") for name in lab.course.labs()
        ):
            yield f'{lab.at(SETTINGS, "needs")}: it needs lab {needed!r}, which the course does not have. Write the two digits of each lab that comes before: needs = ["02"].'


def _exercises(lab: Lab) -> Iterator[str]:
    tree = ast.parse(text_of(lab.folder / EXERCISES))
    if not ast.get_docstring(tree):
        yield f"{lab.at(EXERCISES)}: it needs a docstring that says how the lab's exercises are tried."
    for exercise in lab.exercises.values():
        place = lab.at(EXERCISES, f'"{exercise.name}"')
        if exercise.goals and not lab.hidden:
            yield f"{place}: the goals of {exercise.name} are measured against {HIDDEN}, which the lab does not have."
        functions = [
            *exercise.properties,
            *exercise.goals,
            *(case.relation for case in exercise.cases if case.relation),
        ]
        for function in functions:
            name = getattr(function, "__name__", type(function).__name__)
            if not hasattr(function, "__name__") or not _SENTENCE.fullmatch((function.__doc__ or "").strip()):
                yield f"{place}: the property {name} of {exercise.name} needs a docstring with a sentence: learners read it as its title."
        titles = [case.title for case in exercise.cases]
        if not all(map(str.strip, titles)):
            yield f"{place}: a case of {exercise.name} has no title: learners read it in the report."
        for title in sorted({title for title in titles if titles.count(title) > 1}):
            yield f"{place}: {exercise.name} has two cases with the title {title!r}."


def _inputs(lab: Lab) -> Iterator[str]:
    for key, exercise in lab.exercises.items():
        for case in exercise.cases:
            place = lab.at(EXERCISES, case.title)
            try:
                runs = case.runs(key, PUBLIC_SEED)
            except Exception as error:
                yield f"{place_of(error, lab.folder / EXERCISES)}: the case {case.title!r} of {exercise.name} cannot make its inputs: {type(error).__name__}: {error}"
                continue
            for inputs in runs:
                if not isinstance(inputs, Mapping) or not all(isinstance(name, str) for name in inputs):
                    yield (
                        f"{place}: the case {case.title!r} of {exercise.name} gives {type(inputs).__name__}; it must give a dict of "
                        "keyword arguments, or a list of such dicts."
                    )


def _first_page(lab: Lab, source: NotebookNode) -> Iterator[str]:
    page, number = source.cells[0].source, lab.name.partition("_")[0]
    heading = page.splitlines()[0] if page else ""
    if not heading.startswith(f"# Lab {number}: "):
        yield f"{lab.at_cell(heading)}: the first cell must begin with the heading '# Lab {number}: ...'."
    if SECONDS in page:
        yield (
            f"{lab.at_cell(SECONDS)}: there is nothing to put in place of {SECONDS}: {SETTINGS} has no measured_seconds. "
            f"Guess it, build, and let `make timings` measure it."
        )
    elif lab.seconds is None or f"needs {lab.seconds} seconds" not in " ".join(page.split()):
        yield f"{lab.at_cell('**Time:**')}: the first cell must say 'the computer needs {SECONDS} seconds'."
    promises(lab)  # reports an entry that is not as it should be, with its line
    if (lab.seconds or 0) >= MAX_SECONDS:
        yield f"{lab.at(SETTINGS, 'measured_seconds')}: the notebook runs for {lab.seconds} seconds; a lab has {MAX_SECONDS}."
    if f"about {lab.settings['minutes']} minutes" not in " ".join(page.split()):
        yield f"{lab.at_cell('**Time:**')}: the first cell must say 'about {lab.settings['minutes']} minutes', as {SETTINGS} does."
    yield from _core_path(lab, source)
    yield from _sittings(lab, source)
    rows = [(name, float(points)) for name, _, points in ROW.findall(page)]
    writing = sum(int(minutes) for _, minutes, _ in ROW.findall(page))
    reading = round(_words(source.cells, lab.folder / QUIZ) / WORDS_A_MINUTE)
    if lab.settings["minutes"] < writing + reading:
        yield (
            f"{lab.at(SETTINGS, 'minutes')}: {lab.settings['minutes']} minutes are promised. The exercises' own take {writing}, and "
            f"reading takes {reading}, at {WORDS_A_MINUTE} words a minute."
        )
    wanted = [
        (key.partition(".")[2], float(nbgrader_of(cell).get("points") or 0))
        for cell in source.cells
        if (key := checked_exercise(cell))
    ]
    if rows != wanted:
        table = ", ".join(f"{name} {points:g}" for name, points in wanted)
        yield (
            f"{lab.at_cell('| # |')}: the first cell's table must have a row for each exercise, in order, with the points of its check. "
            f"A row is '| 1 | `name` | difficulty | importance | minutes | points |'; the points are: {table}."
        )


def _core_path(lab: Lab, source: NotebookNode) -> Iterator[str]:
    core, sections = _core(source)
    promised = lab.settings.get("core_minutes")
    if not sections:
        if promised is not None:
            yield (
                f"{lab.at(SETTINGS, 'core_minutes')}: no heading says '(optional)' or '(before lab ...)', so all of the lab is the core path."
            )
        return
    page = source.cells[0].source
    done = {nbgrader_of(cell).get("grade_id") for cell in core}
    needed = sum(int(minutes) for name, minutes, _ in ROW.findall(page) if name in done)
    needed += round(_words(core) / WORDS_A_MINUTE)
    said = f"about {promised} minutes, plus {round(_words([], lab.folder / QUIZ) / WORDS_A_MINUTE)} minutes for the review quiz"
    if not isinstance(promised, int) or promised < needed:
        yield (
            f"{lab.at(SETTINGS, 'minutes')}: without what can wait ({', '.join(sections)}) the lab takes {needed} minutes; "
            f"`core_minutes` must be a whole number, at least that."
        )
    elif said not in " ".join(page.partition("**The core path**")[2].split()):
        yield f"{lab.at_cell('**Time:**')}: the first cell must say '**The core path** is ..., {said}'."
    ids = {cell.id for cell in core}
    later = set().union(*(_names(cell)[0] for cell in source.cells if cell.id not in ids))
    known = set(dir(builtins))
    for cell in core:
        stored, loaded = _names(cell)
        for name in sorted((loaded - stored - known) & later):
            yield (
                f"{lab.at_cell(cell.source.splitlines()[0])}: this cell is on the core path and needs the name {name!r}, which only a section "
                f"that can wait defines: {', '.join(sections)}."
            )
        known |= stored


def _sittings(lab: Lab, source: NotebookNode) -> Iterator[str]:
    takes = {name: int(minutes) for name, minutes, _ in ROW.findall(source.cells[0].source)}
    found = list(pieces(source))
    for path, walked in {
        "the core path": [piece for piece in found if not piece.section],
        "the whole lab": found,
    }.items():
        minutes, begins = 0.0, ""
        for piece in walked:
            if BREAK in piece.text or not begins:
                minutes, begins = 0.0, piece.text.strip().partition("\n")[0]
            minutes += takes.get(nbgrader_of(piece.cell).get("grade_id"), 0)
            minutes += _words([NotebookNode(piece.cell, source=piece.text)]) / WORDS_A_MINUTE
            if round(minutes) > SITTING:
                yield (
                    f"{lab.at_cell(begins)}: from here, {path} goes on for more than {SITTING} minutes. Begin a section before that with "
                    f"{BREAK!r}, and say in the first cell which sittings there are."
                )
                return


def _core(source: NotebookNode) -> tuple[list[NotebookNode], list[str]]:
    """The cells of the core path, and the headings of the sections that can wait."""
    found = list(pieces(source))
    cells = [NotebookNode(piece.cell, source=piece.text) for piece in found if not piece.section]
    return cells, list(dict.fromkeys(piece.section for piece in found if piece.section))


def _names(cell: NotebookNode) -> tuple[set[str], set[str]]:
    """The names that a cell of code gives a value to, and those whose value it takes."""
    stored, loaded = set(), set()
    for node in ast.walk(ast.parse(cell.source)) if cell.cell_type == "code" else ():
        match node:
            case ast.Name():
                (loaded if isinstance(node.ctx, ast.Load) else stored).add(node.id)
            case ast.FunctionDef() | ast.ClassDef():
                stored.add(node.name)
            case ast.arg():
                stored.add(node.arg)
            case ast.alias():
                stored.add((node.asname or node.name).partition(".")[0])
    return stored, loaded


def _words(cells: Sequence[NotebookNode], quiz: Path | None = None) -> int:
    """How many words a learner reads who opens no hint: texts without the addresses of links, given code that is not folded, and a quiz.
    (The docstring of a stub is read while the exercise is solved. What the build adds to every lab is read once.)
    """
    texts = [
        cell.source.replace(policy_sentence(), "")
        for cell in cells
        if not (
            cell.source.startswith(CLOSING_HEADING)
            or (
                cell.cell_type == "code"
                and (
                    nbgrader_of(cell).get("grade_id") or cell.metadata.get("jupyter", {}).get("source_hidden")
                )
            )
        )
    ]
    texts += [text_of(quiz)] if quiz and quiz.exists() else []
    words = re.sub(r"<details>.*?</details>|(?<=\])\(https?:[^\s)]*\)", "", "\n".join(texts), flags=re.DOTALL)
    return len(re.findall(r"[^\W\d_]{2,}", words))


def _order(lab: Lab, source: NotebookNode) -> Iterator[str]:
    text = "\n".join(cell.source for cell in source.cells)
    for part in PARTS:
        if text.count(part) != 1:
            yield f"{lab.at_cell(part)}: {part!r} must be there once; it is there {text.count(part)} times."
    places = [text.find(part) for part in PARTS]
    if -1 not in places and places != sorted(places):
        first = next(n for n in range(1, len(places)) if places[n] < places[n - 1])
        yield f"{lab.at_cell(PARTS[first])}: {PARTS[first]!r} must come after {PARTS[first - 1]!r}."
    end = text.partition(PARTS[-1])[2]
    if "Validate" not in end and "Next: " not in end:
        yield f"{lab.at_cell(PARTS[-1])}: the last section must name the next lab ('Next: ...') or nbgrader's Validate."
    managed = [cell for cell in source.cells if nbgrader_of(cell).get("grade_id")]
    for cell in managed:
        grade_id, points = nbgrader_of(cell)["grade_id"], nbgrader_of(cell).get("points")
        if nbgrader_of(cell).get("grade") and not (isinstance(points, int | float) and points > 0):
            yield f"{lab.at_cell(grade_id)}: the check cell {grade_id!r} has no points."
    ids = [nbgrader_of(cell)["grade_id"] for cell in managed if cell.cell_type == "code"]
    for solution, check in zip(ids[::2], [*ids[1::2], ""], strict=False):
        if check != f"check_{solution}":
            yield (
                f"{lab.at_cell(solution)}: the cell {solution!r} must be followed by its check, with the grade_id "
                f"'check_{solution}'."
            )
            break
    if not any("show_figure(" in cell.source or "show_live(" in cell.source for cell in source.cells):
        yield f"{lab.at_cell('# %%')}: the lab has no figure: draw its mechanism with show_figure(figure, alt=...)."


def _cells(lab: Lab, source: NotebookNode) -> Iterator[str]:
    read = MarkdownIt("commonmark").enable("table")
    for cell in source.cells:
        first = cell.source.splitlines()[0] if cell.source else ""
        if cell.cell_type == "markdown":
            if found := re.search(r"^#+ .*\$.*", cell.source, re.MULTILINE):
                yield f"{lab.at_cell(found[0])}: a heading must not contain formulas: the table of contents shows them as TeX."
            page = read.render(re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", "formula", cell.source, flags=re.DOTALL))
            shown = re.sub("<[^>]*>", "", re.sub("<code>.*?</code>", "", page, flags=re.DOTALL))
            for line in shown.splitlines():
                if re.search(r"\*\S|\S\*|`|\]\(", line):
                    yield f"{lab.at_cell(first)}: a mark of Markdown is left when this is shown: {line.strip()}"
        if cell.cell_type != "code":
            continue
        for line in cell.source.splitlines():
            if len(line) > MAX_COLUMNS:
                yield f"{lab.at_cell(line)}: a line of code of {len(line)} characters; the limit is {MAX_COLUMNS}."
        if "show_" in cell.source and not is_solution(cell):
            if SKIP_TAG not in cell.metadata.get("tags", []):
                yield f"{lab.at_cell(first)}: a cell that shows something needs the tag {SKIP_TAG!r}."
            if cell.source.count("show_figure(") != cell.source.count("alt="):
                yield f"{lab.at_cell('show_figure(')}: every show_figure needs alt='...', the figure in words."
        if is_solution(cell):
            continue
        try:
            tree = ast.parse(re.sub(r"^\s*[%!].*$", "", cell.source, flags=re.MULTILINE))
        except SyntaxError as error:
            yield f"{lab.at_cell(first)}: this cell is not valid Python: {error.msg}."
            continue
        prose = sum(len((ast.get_docstring(node, clean=False) or "").splitlines()) for node in ast.walk(tree)
                    if isinstance(node, ast.FunctionDef | ast.ClassDef))  # fmt: skip
        if (lines := len(cell.source.splitlines()) - prose) > MAX_LINES:
            yield f"{lab.at_cell(first)}: a cell of {lines} lines of code is more than a learner reads; the limit is {MAX_LINES}."


def _rubrics(lab: Lab, source: NotebookNode) -> Iterator[str]:
    for question in questions(source).values():
        items = sum(item.points for item in question.items)
        if question.items and abs(items - question.points) > 1e-9:
            place = lab.at_cell(f'"grade_id": "{question.cell}"')
            yield f"{place}: the table of points above {question.cell} adds up to {items:g}, but the cell has {question.points:g} points."


def _hints(lab: Lab, hints: Mapping[str, Sequence[Hint]]) -> Iterator[str]:
    for key, exercise in lab.exercises.items():
        if not hints.get(key):
            yield (
                f"{lab.at_cell(f'check_{exercise.name}')}: {exercise.name} needs a hint before its check: "
                "<details><summary>Hint 1: ...</summary>, a blank line, the text, </details>."
            )
        for hint in hints.get(key, []):
            if len(hint.text) <= MIN_HINT:
                yield f"{lab.at_cell(hint.title)}: the hint {hint.title!r} of {exercise.name} is too short to help."


def _quiz(lab: Lab) -> Iterator[str]:
    file = lab.folder / QUIZ
    if not file.exists():
        yield f"{lab.at(SETTINGS)}: the lab has no {QUIZ} with its review questions."
        return
    relative = file.relative_to(lab.course.root)
    try:
        questions = read_questions(text_of(file))
    except ValueError as error:
        yield f"{relative}:{error}"
        return
    if not any(not question.name for question in questions):
        yield f"{relative}:1: there is no question; one begins with '## '."
    places = {[option.right for option in question.options].index(True) for question in questions}
    if len(questions) > 1 and len(places) == 1:
        yield f"{relative}:1: the right answer of every question is in the same place, number {places.pop() + 1}: move some."
    for question in questions:
        texts = [option.text for option in question.options]
        if len(set(texts)) < len(texts):
            yield f"{relative}:{line_of(file, question.text)}: two answers are the same."
    yield from _predictions(lab, [question for question in questions if question.name])


def _predictions(lab: Lab, questions: list[Question]) -> Iterator[str]:
    """Each question with a name is a prediction, asked in the notebook and answered after it, or a claim whose control is to be found;
    nothing else is."""
    file = lab.folder / QUIZ
    relative = file.relative_to(lab.course.root)
    code = "\n".join(cell.source for cell in lab.source().cells if cell.cell_type == "code")
    called = re.findall(r"^\s*(predict|measured|find_the_control)\(\s*\"([^\"]*)\"[,)]", code, re.M)
    for question in questions:
        found = [name for name, key in called if key == f"{lab.slug}.{question.name}"]
        if found not in (["predict", "measured"], ["find_the_control"]):
            yield (
                f"{relative}:{line_of(file, question.text)}: the notebook must call "
                f'predict("{lab.slug}.{question.name}") once and measured(...) once, below it, or find_the_control(...) once.'
            )
    known = {f"{lab.slug}.{question.name}" for question in questions}
    for name, key in called:
        if key not in known:
            yield f"{lab.at_cell(key)}: {name}({key!r}): {QUIZ} has no heading '## [...]' of this name."


def _secret(lab: Lab, source: NotebookNode) -> set[str]:
    """Lines of the solutions, and the right-hand sides of assignments in them, that the release does not show."""
    given, lines = [], []
    for cell in source.cells:
        given.append(REGION.sub("", cell.source) if is_solution(cell) else cell.source)
        lines += [line for region in REGION.finditer(cell.source) for line in region[2].splitlines()]
    parts = {part.strip() for line in lines for part in (line, line.partition(" = ")[2])}
    shown = "\n".join(given)
    return {part for part in parts if len(part) >= MIN_SECRET and part not in shown}


def _catalogue(lab: Lab, source: NotebookNode) -> Iterator[str]:
    secret = _secret(lab, source)
    for key, exercise in lab.exercises.items():
        count = len(lab.variants.get(key, []))
        if count < MIN_VARIANTS:
            yield (
                f"{lab.at(VARIANTS)}: {exercise.name} needs {MIN_VARIANTS} correct variants in other styles; it has {count}."
            )
        entries = lab.misconceptions.get(key, [])
        if not entries:
            yield f"{lab.at(MISCONCEPTIONS)}: {exercise.name} needs a misconception: what do learners get wrong?"
        for entry in entries:
            place = lab.at(MISCONCEPTIONS, entry.line)
            if not entry.title.endswith("."):
                yield f"{place}: the title of {entry.name} must be a sentence that ends in a full stop."
            if len(entry.hint) <= MIN_MISCONCEPTION_HINT:
                yield f"{place}: the hint of {entry.name} is too short to explain anything."
            if "`return" in entry.hint or any(part in entry.hint for part in secret):
                yield f"{place}: the hint of {entry.name} gives the code."
