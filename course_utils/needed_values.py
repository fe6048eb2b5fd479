"""What *Continue here* brings back of cells that it does not run as a whole: data that such a cell has loaded, split or counted, and that other
cells use. Of each cell only the statements run that give these names their values, and none that trains.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from course_utils.checking.cells import parsed
from course_utils.checking.names import ALWAYS, free_names
from course_utils.checking.scopes import bound_names
from course_utils.checking.time_limit import TooSlow, time_limit
from course_utils.kept_weights import kind_of

MOST_SECONDS, MOST_IN_ALL = 20.0, 60.0
"""CPU time that one statement may take, and after which no other is begun."""

_TRAINS = frozenset(
    ("backward", "fit", "step", "train_step", "train_on_batch", "apply_gradients", "perf_counter")
)
"""What a statement calls that trains, or takes the time of something."""


@dataclass(eq=False)
class _Statement:
    """A statement of a cell.

    Attributes:
        sets: names that it gives a value to.
        changes: names whose values it may change, as a loop does that fills a list.
    """

    cell: int
    node: ast.stmt
    sets: frozenset[str]
    changes: frozenset[str]
    needs: frozenset[str] = field(init=False)
    is_used: bool = False

    def __post_init__(self) -> None:
        read = frozenset(free_names([self.node])) - ALWAYS
        # rows = cleaned(rows) needs what rows was before
        again = isinstance(self.node, ast.Assign) and isinstance(self.node.value, ast.Call)
        self.needs = read if again else read - self.sets


def bring_back(cells: Sequence[tuple[int, str]], others: Sequence[str], namespace: dict[str, Any]) -> None:
    """Runs what gives a value to names that some cell uses and that have none.

    Args:
        cells: number and text of each cell above the place to go on.
        others: the texts of all cells.
    """
    statements = [*_statements(cells)]
    wanted = _used(others) - ALWAYS - namespace.keys()
    _mark(wanted, statements, namespace)
    ends = time.process_time() + MOST_IN_ALL
    there, trained = dict(namespace), set[str]()
    for one in statements:
        trains = _trains(one.node, namespace)
        trained |= one.needs if trains else set()
        if one.is_used and (trains or time.process_time() > ends or not _run(one, namespace)):
            own = {name for other in statements if other.cell == one.cell for name in other.sets}
            for name in (
                one.sets | one.changes & own
            ) - there.keys():  # what its cell has only half made is not kept
                namespace.pop(name, None)
    # a cell may use a name for something else than a later one, from which the value came back already
    namespace.update({name: there[name] for one in statements for name in one.sets & there.keys()})
    # without its weights, a model would be taken for the trained one
    for name in wanted & trained & namespace.keys():
        if kind_of(namespace[name]):
            del namespace[name]


def still_missing(
    cells: Sequence[tuple[int, str]], below: Sequence[str], namespace: Mapping[str, Any]
) -> list[int]:
    """The numbers of the cells above the place to go on that give what cells below it use, and that has no value now."""
    wanted = _used(below) - ALWAYS - namespace.keys()
    there = set().union(*(bound_names(parsed(text)) for text in below)) if below else set()
    last: dict[str, int] = {name: number for number, text in cells for name in bound_names(parsed(text))}
    return sorted({last[name] for name in wanted - there if name in last})


def _used(cells: Sequence[str]) -> set[str]:
    """Names that a cell uses and does not set itself."""
    read = [parsed(text) for text in cells]
    return {name for statements in read for name in {*free_names(statements)} - {*bound_names(statements)}}


def _statements(cells: Sequence[tuple[int, str]]) -> Iterator[_Statement]:
    for number, text in cells:
        for node in parsed(text):
            yield _Statement(number, node, frozenset(bound_names([node])), frozenset(changed_by(node)))


def changed_by(node: ast.stmt) -> Iterator[str]:
    """Names that a statement assigns a part of, calls, or calls a method of."""
    for part in ast.walk(node):
        if isinstance(part, ast.Subscript | ast.Attribute) and isinstance(part.ctx, ast.Store):
            yield from _base(part.value)
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            yield from _base(part.func.value)
        elif isinstance(part, ast.AugAssign):
            yield from _base(part.target)
        elif isinstance(part, ast.Call):  # a Keras model has no weights before it is called
            yield from _base(part.func)


def _base(node: ast.expr) -> Iterator[str]:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _mark(wanted: Collection[str], statements: Sequence[_Statement], namespace: Mapping[str, Any]) -> None:
    """Marks the last statements that set these names, those of the same cells that go on to change them, and what they need in turn."""
    waiting = [(name, len(statements)) for name in wanted]
    while waiting:
        name, before = waiting.pop()
        at = next((n for n in reversed(range(before)) if name in statements[n].sets), None)
        if at is None:
            continue
        # set several times in its cell, or set once and then filled: all of that
        cell = statements[at].cell
        for n in range(before):
            one = statements[n]
            if (
                one.cell == cell
                and not one.is_used
                and name in one.sets | (one.changes if n > at else frozenset())
            ):
                one.is_used = True
                own = {each for other in statements[:n] if other.cell == cell for each in other.sets}
                waiting += [(each, n) for each in one.needs if each in own or each not in namespace]


def _trains(node: ast.stmt, namespace: Mapping[str, Any]) -> bool:
    """Whether a statement, or a function of the notebook that it calls, trains or takes the time of something."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id == "RUN_TRAINING":
            return True
        if isinstance(part, ast.Call):
            called = part.func.attr if isinstance(part.func, ast.Attribute) else getattr(part.func, "id", "")
            code = getattr(namespace.get(called), "__code__", None)
            if called in _TRAINS or called.startswith("train") or (code and _TRAINS & {*code.co_names}):
                return True
    return False


def _run(one: _Statement, namespace: dict[str, Any]) -> bool:
    """Runs a statement, and says whether it came to its end."""
    file = f"<cell {one.cell}, brought back>"
    try:
        with time_limit(MOST_SECONDS):
            exec(compile(ast.Module([one.node], []), file, "exec", dont_inherit=True), namespace)
    except (Exception, SystemExit, TooSlow):  # the learner's code runs, as in their own notebook
        return False
    return True
