"""Later exercises once more, with the reference in the place of earlier ones that are wrong.

Of a later answer that calls an earlier one which raises, is undefined or is wrong in a way that nobody knows, a run like that says
little. So the notebook is run a second time in which only the earlier names stand for the
reference. Of this run nothing is kept but whether the later checks hold: docs/sandbox.md says why that is enough.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from course_utils.checking.comparison import Verdict, follow_through
from course_utils.checking.expected import Expected
from course_utils.checking.given import all_earlier, given_earlier
from grader.grade.judge import read_outcomes
from grader.reference.follow import defined_in, names_in
from grader.reference.lab import Lab, checked_exercise, copy_of, is_solution, nbgrader_of, runs_in_grading
from grader.run.states import ONE_AT_A_TIME, STOPPED, Executed

_FAILS = "This fails, even with a working {names}."

_PUT = """\
def __working__(texts, others, here):
    import linecache
    names = dict(here)
    for file, text in texts:
        linecache.cache[file] = len(text), None, text.splitlines(True), file
        exec(compile(text, file, "exec", dont_inherit=True), names)
    here.update((other, names[other]) for other in others if other not in here)
    return names[{name!r}]
{name} = __working__({texts!r}, {others!r}, globals())
del __working__
"""
"""A cell that lets a name stand for its reference. What the reference needs is executed in a copy of the notebook's names. What else
its cell defines (a helper, say, that a later exercise calls, too) is there only if the learner's own cell does not define it."""


@dataclass(frozen=True)
class SecondRun:
    """What is to be run once more.

    Attributes:
        notebook: with the references in it. It must never be kept, nor anything that its cells put out.
        working: a later exercise -> the earlier ones in whose place the reference stands when it is checked.
    """

    notebook: NotebookNode
    working: Mapping[str, tuple[str, ...]]


def second_run(
    lab: Lab,
    notebook: NotebookNode,
    release: NotebookNode,
    executed: Executed,
    verdicts: Mapping[str, Verdict],
) -> SecondRun | None:
    """The run that may still earn points for later exercises; None if no exercise needs one.

    Args:
        notebook: the rebuilt one.
        executed: its first run. Cells that had to be stopped there are not run again.
        verdicts: on the first run. An exercise that is right given known mistakes in earlier ones needs no other.
    """
    untouched = _untouched(notebook, release)
    by_name = {exercise.name: exercise for exercise in lab.exercises.values()}
    wrong = {
        exercise.name
        for key, exercise in lab.exercises.items()
        if not (verdicts[key].correct or verdicts[key].bypass or exercise.goals)
    }
    working = {}
    for key, exercise in lab.exercises.items():
        verdict = verdicts[key]
        earlier = tuple(name for name in all_earlier(exercise, by_name) if name in wrong)
        if earlier and not (
            verdict.correct or verdict.given or verdict.bypass or exercise.goals or exercise.name in untouched
        ):
            working[key] = earlier
    if not working:
        return None
    stopped = {cell.id for cell in executed.notebook.cells if _was_stopped(cell)}
    return SecondRun(_with_references(lab, notebook, working, stopped), working)


def with_working(
    lab: Lab,
    run: SecondRun,
    payloads: Mapping[str, Any],
    verdicts: Mapping[str, Verdict],
    expected: Mapping[str, Expected],
) -> dict[str, Verdict]:
    """The verdicts, with what the second run has shown. No exercise loses anything by it.

    A check that still fails says so and no more: whatever a detail would tell comes from a process that could read a reference.
    """
    found = dict(verdicts)
    for key, names in run.working.items():
        exercise = lab.exercises[key]
        outcomes = read_outcomes(exercise, payloads.get(key))
        given = given_earlier(exercise, outcomes, expected[key], names, expected[key].reference)
        if given:
            fails = _FAILS.format(names=" and ".join(f"`{name}`" for name in names))
            checks = tuple(check if check.passed else replace(check, detail=fails) for check in given.checks)
            found[key] = follow_through(verdicts[key], replace(given, checks=checks, working=True))
    return found


def _untouched(notebook: NotebookNode, release: NotebookNode) -> set[str]:
    """The exercises whose solution cells are as they were handed out."""
    released = {cell.id: cell.source for cell in release.cells}
    return {
        nbgrader_of(cell)["grade_id"]
        for cell in notebook.cells
        if is_solution(cell) and cell.source == released.get(cell.id)
    }


def _with_references(
    lab: Lab, rebuilt: NotebookNode, working: Mapping[str, tuple[str, ...]], stopped: Collection[str]
) -> NotebookNode:
    """The notebook up to the last later check. In the place of an earlier exercise's check, or after it if that is needed, its name
    is put to its reference. So no reference is there before the learner's own answer to that exercise has been checked.
    """
    replaced = {f"{lab.slug}.{name}" for names in working.values() for name in names}
    notebook = copy_of(rebuilt)
    notebook.metadata[ONE_AT_A_TIME] = True  # a cell that waits could be read by the one that runs
    left, cells = set(working), []
    for cell in notebook.cells:
        if not left:
            break
        if not runs_in_grading(cell) or cell.id in stopped:
            continue
        key = checked_exercise(cell)
        if not key or key in left:
            cells.append(cell)
        if key in replaced:
            cells.append(new_code_cell(_reference_of(lab, key), id=f"working-{len(cells)}"))
        left.discard(key)
    notebook.cells = cells
    return notebook


def _was_stopped(cell: NotebookNode) -> bool:
    return any(output.get("ename") == STOPPED for output in cell.get("outputs", ()))


def _reference_of(lab: Lab, key: str) -> str:
    """A cell that puts an exercise's name to its reference, together with those of the exercises before it that this one calls."""
    name = lab.exercises[key].name
    before = list(lab.solution_texts)[: list(lab.solution_texts).index(name)]
    needed, left = {name}, [name]
    while left:
        more = names_in(lab.solution_texts[left.pop()]) & set(before) - needed
        needed |= more
        left += more
    texts = [
        (f"<{lab.name}: {each}, as it should be>", text)
        for each, text in lab.solution_texts.items()
        if each in needed
    ]
    others = sorted(defined_in(lab.solution_texts[name]) - set(lab.solution_texts))
    return _PUT.format(name=name, texts=texts, others=others)
