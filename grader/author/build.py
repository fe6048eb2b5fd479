"""From ``solutions/`` to ``notebooks/``: nbgrader's release of each lab, checked before it is published.

A lab is refused if a solution would leak, if a stub is not its solution minus the blanks, if the reference or a
correct variant does not earn full points or uses what its exercise asks learners to build, if a misconception is not
caught or is taken for another one, if an answer without any work earns points, or if nothing fails a check that earns some. The checks are
run at the public seed and at others, as in grading.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import logging
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import SaveCells
from traitlets.config import Config

from course_utils.checking.bypass import uses_of
from course_utils.checking.checks import NOT_REACHED, checks_of, score_of
from course_utils.checking.comparison import compare
from course_utils.checking.exercise import PUBLIC_SEED, Exercise
from course_utils.checking.expected import FILE_NAME, Expected, Hint, for_learners, save_expected
from course_utils.checking.outcome import Outcome, try_exercise
from course_utils.exercises import FILE_NAME as EXERCISES
from course_utils.labs import INFO_NAME, core_part
from course_utils.portfolio.homes import PACKAGE
from course_utils.quiz import FILE_NAME as QUIZ
from grader.author import rules
from grader.author.kept import keep, without_rounding
from grader.author.leaks import Secrets, files_in
from grader.book.counting import EVERYTHING, tell
from grader.catalogue import run_cell
from grader.course import STUB, Course, CourseError, make_private
from grader.reference.effortless import FOR_NOTHING, answers_for_nothing
from grader.reference.follow import Substitutions
from grader.reference.lab import REGION, Lab, checked_exercise, code_before_check, is_solution, nbgrader_of
from grader.reference.lessons import lessons_of
from grader.reference.mutants import mutants_of

SEEDS = (PUBLIC_SEED, 1, 2)
"""The seeds at which the reference, the variants and the misconceptions are tried."""

_MUTANT_SECONDS = 2.0
"""CPU time that one case of a mutant may take."""

_TELLING_TOKENS = 8
"""A line of a misconception is a secret if it has at least this many tokens: prose may name a shorter mistake."""

_HINT = re.compile(r"<details>\s*<summary>Hint\b[ \d]*:?(.*?)</summary>(.*?)</details>\n*", re.DOTALL)


class BuildError(CourseError):
    """A lab is refused. The message lists every reason."""


def build(course: Course, labs: list[str], check: bool = False, say: Callable[[str], None] = print) -> None:
    """Builds the labs (all, if none is named) into ``notebooks/``; with ``check``, only compares.

    Raises:
        BuildError: a lab is refused, or (``check``) the committed notebooks differ from what the sources produce.
    """
    faults: list[str] = []
    done: list[str] = []
    for name in labs or course.labs():
        lab = Lab.load(course, name)
        with tempfile.TemporaryDirectory() as scratch:
            try:
                built = build_lab(lab, Path(scratch))
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


def build_lab(lab: Lab, scratch: Path) -> Path:
    """Builds one lab in a scratch folder and returns the folder that learners would get.

    Raises:
        BuildError: the lab is refused.
    """
    source = lab.source()
    hints = take_hints(source)
    _refuse_if(_source_faults(lab, source))
    _refuse_if(rules.faults(lab, source, hints))
    expected = {seed: lab.expected(seed) for seed in SEEDS}
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
    _refuse_if([*stub_faults(source, release), *leaks(lab, source, built)])
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


# ---------------------------------------------------------------------------------- reasons to refuse


def _refuse_if(faults: list[str]) -> None:
    if faults:
        raise BuildError("\n".join(faults))


def _source_faults(lab: Lab, source: NotebookNode) -> list[str]:
    faults = []
    solutions = [cell for cell in source.cells if is_solution(cell)]
    defined = {nbgrader_of(cell)["grade_id"] for cell in solutions}
    checked = [key for cell in source.cells if (key := checked_exercise(cell))]
    for cell in solutions:
        if not REGION.search(cell.source):
            faults.append(f"solution cell {cell.id!r} has no ### BEGIN SOLUTION ... ### END SOLUTION region.")
    for key, exercise in lab.exercises.items():
        if checked.count(key) != 1:
            faults.append(f"{key} is checked by {checked.count(key)} cells; it needs exactly one check cell.")
        if exercise.name not in defined:
            faults.append(f"{key} has no solution cell with grade_id {exercise.name!r}.")
    faults += [
        f"a check cell names {key}, which is not an exercise." for key in set(checked) - set(lab.exercises)
    ]
    if any(cell.get("outputs") for cell in source.cells):
        faults.append("the source contains outputs.")
    return faults


def catalogue_faults(lab: Lab, expected_at: Mapping[int, dict[str, Expected]]) -> list[str]:
    """What is wrong with the reference, the variants and the misconceptions: each must be judged as what it is.

    Args:
        expected_at: seed -> exercise -> what is expected; the first seed is the public one.
    """
    faults = []
    passed_at: dict[tuple[str, str, str], set[int]] = {}  # exercise, misconception, title of a check -> seeds
    for seed, everything in expected_at.items():
        for key, expected in everything.items():
            exercise = lab.exercises[key]
            verdict = compare(exercise, expected.reference, expected)
            if not verdict.correct:
                failing = next(check for check in verdict.checks if not check.passed)
                faults.append(f"{key}: the reference fails at seed {seed}: {failing.title} {failing.detail}")
            for entry in lab.variants.get(key, []):
                verdict = compare(exercise, lab.outcomes(key, entry.value, seed), expected)
                if not verdict.correct:
                    failing = next(check for check in verdict.checks if not check.passed)
                    faults.append(
                        f"{key}: the correct variant {entry.name} fails at seed {seed}: {failing.title} {failing.detail}"
                    )
            for misconception, wrongly in expected.misconceptions.items():
                verdict = compare(exercise, wrongly, expected)
                name = misconception.name
                found = [each.name for each in (*verdict.recognised, *verdict.possible)]
                for check in verdict.checks:
                    seeds = passed_at.setdefault((key, name, check.title), set())
                    if check.passed:
                        seeds.add(seed)
                if verdict.score == 1:
                    faults.append(f"{key}: the misconception {name} is not caught at seed {seed}.")
                elif found != [name]:
                    faults.append(f"{key}: the misconception {name} is taken for {found} at seed {seed}.")
    for (key, name, title), seeds in passed_at.items():
        if seeds and (others := set(expected_at) - seeds):
            some = f"passes {title!r} at {_few(seeds)} only"
            if len(others) < len(seeds):
                some = f"fails {title!r} at {_few(others)} only"
            faults.append(
                f"{key}: the misconception {name} {some}: its score would depend on chance. Choose inputs that show it every time."
            )
    return faults


def _few(seeds: set[int]) -> str:
    return f"seed{'s' * (len(seeds) > 1)} {' and '.join(map(str, sorted(seeds)))}"


def point_faults(lab: Lab, expected: dict[str, Expected]) -> list[str]:
    """Checks that earn points and say nothing: neither a misconception nor a mutant of the reference fails them.

    A property or relation that was not tested, because an output had another form, did not fail. A mutant has to be found only for what no
    misconception fails, so a few are run, in most labs none.

    Args:
        expected: what is expected at the public seed.
    """
    faults = []
    for key, each in expected.items():
        exercise = lab.exercises[key]
        if any(outcome.problem for outcome in each.reference):
            continue  # catalogue_faults says so
        left = [check.counts for check in checks_of(exercise, each.reference, each)]
        for wrongly in itertools.chain(each.misconceptions.values(), _wrong_outcomes(lab, exercise, key)):
            for at, check in enumerate(checks_of(exercise, wrongly, each)):
                left[at] &= check.passed or check.detail == NOT_REACHED
            if not any(left):
                break
        faults += [
            f"{key}: nothing fails the check {check.title!r}: no misconception, and no small mistake in the reference. So any "
            "output of the right form would earn its points. Write down the misconception that it is there to find, or delete it."
            for check, is_left in zip(checks_of(exercise, each.reference, each), left, strict=True)
            if is_left
        ]
    return faults


def _wrong_outcomes(lab: Lab, exercise: Exercise, key: str) -> Iterator[list[Outcome]]:
    """What the mutants of an exercise's reference give at the public seed."""
    quick = replace(exercise, seconds=min(_MUTANT_SECONDS, exercise.seconds))
    for mutant in mutants_of(lab, exercise.name):
        scope = dict(lab.reference)
        try:
            run_cell(mutant.source, f"<mutant of {exercise.name}>", scope)
        except Exception:
            continue
        with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
            outcomes = try_exercise(quick, key, scope.get(exercise.name), PUBLIC_SEED)
        yield outcomes


def bypass_faults(lab: Lab, source: NotebookNode) -> list[str]:
    """Where the reference or a correct variant uses something ready-made that its exercise declares."""
    faults = []
    exercises = lab.exercises.values()
    for key, exercise in lab.exercises.items():
        cells = code_before_check(source, key)
        variants = {f"the correct variant {entry.name}": entry.source for entry in lab.variants.get(key, [])}
        for who, text in {"the reference": "", **variants}.items():
            for use in uses_of(exercise, exercises, [*cells, text]):
                faults.append(
                    f"{key}: {who} uses {use.name}, which the exercise declares as a bypass: {use.text}"
                )
    return faults


def answer_faults(lab: Lab, expected_at: Mapping[int, dict[str, Expected]]) -> list[str]:
    """Where an answer without any work earns points: one copied from another seed, a constant, or an input.

    Args:
        expected_at: seed -> exercise -> what is expected; the first seed is the public one.
    """
    faults = []
    public, *others = expected_at
    for key, exercise in lab.exercises.items():
        at = {seed: replace(everything[key], misconceptions={}) for seed, everything in expected_at.items()}
        if any(outcome.problem for expected in at.values() for outcome in expected.reference):
            continue  # catalogue_faults says so
        for seed in others:
            if exercise.goals:  # judged by what only instructors have: there is nothing to copy
                continue
            copied = checks_of(exercise, at[public].reference, at[seed])
            faults += [
                f"{key}: the case {check.title!r} has the same answer at seed {seed} as at the public one, so an "
                "answer that is copied from the notebook would be right in grading. Draw its inputs (numbers, sizes, "
                "rates) from the generator, in wide enough ranges."
                for check in copied
                if check.passed and check.case is not None
            ]
        earned: dict[str, str] = {}
        for seed, elsewhere in zip(at, [*others, public], strict=True):
            for answer, outcomes in answers_for_nothing(lab, key, seed, at[seed], at[elsewhere]):
                checks = checks_of(exercise, outcomes, at[seed])
                if (score := score_of(checks)) > FOR_NOTHING:
                    right = (check.title for check in checks if check.passed and check.case is not None)
                    earned.setdefault(
                        answer,
                        f"{key}: {answer} earns {score:.0%} at seed {seed}, because it is right in: "
                        f"{'; '.join(right)}. Let such a case return a list of inputs, one of which has a different answer.",
                    )
        faults += earned.values()
    return faults


def stub_faults(source: NotebookNode, release: NotebookNode) -> list[str]:
    """Solution cells whose released text is not the source with each region replaced by the stub."""
    released = {cell.id: cell.source for cell in release.cells}
    faults = []
    for cell in source.cells:
        if is_solution(cell):
            wanted = REGION.sub(lambda region: _indented(STUB, region.group(1)), cell.source)
            if released.get(cell.id) != wanted:
                faults.append(f"the stub of {cell.id!r} is not its solution minus the blanks.")
    return faults


def leaks(lab: Lab, source: NotebookNode, built: Path) -> list[str]:
    """Lines of solutions or misconceptions that learners would find in the lab or in ``course_utils``."""
    secrets = Secrets(secret_lines(lab, source))
    found: dict[tuple[str, str], str] = {}
    for place, content in _learner_texts(built):
        for shown in secrets.shown_by(content):
            found.setdefault(shown, place)  # a notebook's cells come before the whole file
    return [f"{place} shows a line of {owner}: {line}" for (line, owner), place in found.items()]


def leaks_of_all(labs: list[Lab], folder: Path) -> list[str]:
    """Lines of any lab's solutions or misconceptions in a folder. What the releases themselves show to everybody is no secret."""
    secret: dict[str, str] = {}
    for lab in labs:
        lines = secret_lines(lab, lab.source())
        secret |= {line: f"{owner} ({lab.name})" for line, owner in lines.items()}
    secrets = Secrets(secret, public="\n".join(cell.source for lab in labs for cell in lab.release().cells))
    return [
        f"{path.relative_to(folder)} shows a line of {owner}: {line}"
        for path, content in files_in(folder)
        for line, owner in secrets.shown_by(content)
    ]


def secret_lines(lab: Lab, source: NotebookNode) -> dict[str, str]:
    """Telling line of a solution or a misconception -> whose it is."""
    secret: dict[str, str] = {}
    for cell in source.cells:
        if is_solution(cell):
            for region in REGION.finditer(cell.source):
                secret |= {line: f"the solution of {cell.id}" for line in telling_lines(region.group(2))}
    given = set(
        telling_lines("\n".join(REGION.sub("", cell.source) for cell in source.cells if is_solution(cell)))
    )
    for key, entries in lab.misconceptions.items():
        for entry in entries:
            lines = [
                line
                for line in telling_lines(entry.source)
                if line not in given and len(re.findall(r"\w+|[^\w\s]", line)) >= _TELLING_TOKENS
            ]
            secret |= {
                line: f"the misconception {entry.name} of {key}" for line in lines if line not in secret
            }
    return secret


def telling_lines(text: str) -> list[str]:
    """Lines of code that are long enough to give something away, without comments, bare strings, signatures and the like."""
    lines = (re.sub(r"\s+", " ", line.split("#")[0]).strip() for line in text.splitlines())
    return [
        line
        for line in lines
        if len(line) >= 20
        and not re.match(r"(def|class|import|from|return \w+$|if \w+ is (not )?None:$|[\"'])", line)
    ]


def _learner_texts(built: Path) -> Iterator[tuple[str, str | bytes]]:
    for path, content in files_in(built):
        if path.suffix == ".ipynb":
            for cell in nbformat.read(path, as_version=4).cells:
                yield f"cell {cell.id!r}", cell.source
                yield f"an output of cell {cell.id!r}", json.dumps(cell.get("outputs", []))
        yield path.name, content
    for path in sorted(
        (Path(__file__).parents[2] / "course_utils").rglob("*.py")
    ):  # caches come and go while others import
        yield f"course_utils/{path.name}", path.read_bytes()


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


def _indented(text: str, indent: str) -> str:
    return "\n".join(indent + line for line in text.splitlines())


def _census(lab: Lab) -> str:
    counts = {
        "exercise": len(lab.exercises),
        "misconception": sum(map(len, lab.misconceptions.values())),
        "correct variant": sum(map(len, lab.variants.values())),
    }
    return ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items())
