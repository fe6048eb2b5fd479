"""Why a name has no value where an exercise needs it: read from a notebook's cells, of which nothing is run.

The commonest trouble of notebooks is a name without a value. It is defined in a later cell, in a cell that is not Python, under a magic after which
names are gone, after an import that fails, or nowhere. The check, the doctor and grading say the same sentence about it.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from course_utils.checking.cells import MAX_PARSED, MAX_TOTAL, parsed
from course_utils.checking.outcome import Outcome
from course_utils.checking.scopes import bound_names, local_names

MOST = 2
"""At most this many names are reported."""

ALWAYS = frozenset(dir(builtins)) | frozenset(
    [
        "__name__",
        "__file__",
        "__doc__",
        "__class__",
        "get_ipython",
        "display",
        "In",
        "Out",
        "exit",
        "quit",
        "_",
        "__",
        "___",
        "_i",
        "_ii",
        "_iii",
        "_dh",
    ]
)
_CANNOT_TELL = re.compile(
    r"import[ \t]*\*|\bglobals\(|\bexec\(|\blocals\(|^[ \t]*%+(?:run|pylab|load|store|macro)\b", re.MULTILINE
)
"""Where one of these is, names may come from elsewhere."""

_FROM_MAGICS = re.compile(r"^[ \t]*(\w[\w, \t]*?)[ \t]*=[ \t]*[%!]|^[ \t]*%%capture[ \t]+(\w+)", re.MULTILINE)
_LOSING = re.compile(r"\s*%%(?!(?:capture|prun|time)\b)(\w+)")
_DEFINED = re.compile(
    r"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]*)?=(?!=)", re.MULTILINE
)
_ODD = re.compile(r"\(U\+([0-9A-F]{4,6})\)|character U\+([0-9A-F]{4,6})")


@dataclass(frozen=True)
class Cell:
    """A code cell.

    Attributes:
        place: what a sentence calls it, such as ``cell 36``.
        runs: whether it is run when the notebook is graded.
    """

    place: str
    source: str
    runs: bool = True


def why_undefined(
    exercise: str,
    before: Sequence[Cell],
    after: Sequence[Cell],
    named: Collection[str] | None = None,
    beside: Collection[str] = (),
) -> list[str]:
    """Sentences about the names that an exercise needs and that have no value when it is checked; the exercise's own first.

    Args:
        before: the cells above its check, from the top.
        after: the cells below it.
        named: the names that were without a value when it was checked. None: it was not.
        beside: modules whose files lie beside the notebook.
    """
    notebook = _Notebook(before, after, beside)
    if exercise not in notebook.defined:
        return [notebook.why(exercise, "")]
    found = []
    for name, place in notebook.needed(exercise):
        if (
            name not in notebook.defined
            and (named is None or name in named)
            and (why := notebook.why(name, place))
        ):
            found.append(why)
    return found[:MOST]


def names_without_value(outcomes: Iterable[Outcome]) -> set[str]:
    """The names that exceptions say have no value."""
    messages = (outcome.problem.message for outcome in outcomes if outcome.problem)
    return {name for message in messages for name in re.findall(r"name '(\w+)' is not defined", message)}


def reached_from(name: str, sources: Iterable[str]) -> set[str]:
    """The names that the definition of a name mentions, and those that the definitions of these mention in turn."""
    notebook = _Notebook([Cell("", source) for source in sources], ())
    return {other for other, _ in notebook.needed(name)}


def defining_cell(name: str, cells: Sequence[Cell]) -> Cell | None:
    """The last cell that defines a name; None if none does."""
    defining = (cell for cell in reversed(cells) if name in set(bound_names(parsed(cell.source))))
    return next(defining, None)


def odd_character(fault: str) -> str:
    """What a syntax error says in other words, if a character is its reason that looks like another; else an empty text."""
    if not (found := _ODD.search(fault)):
        return ""
    character = chr(int(found[1] or found[2], 16))
    if character in "“”„‟«»‘’‚‛":
        return f"the quotation mark {character} is not one that Python knows; type \" or ' instead"
    name = unicodedata.name(character, "a character without a name").lower()
    if character.isprintable() and not character.isspace():
        return f"{character} ({name}) is not a character that Python knows; type it again"
    return f"there is an invisible character ({name}), which Python does not know; delete it, or type a space"


@dataclass
class _Definition:
    place: str
    mentions: set[str] = field(default_factory=set)


class _Notebook:
    def __init__(self, before: Sequence[Cell], after: Sequence[Cell], beside: Collection[str] = ()) -> None:
        self.after = after
        self.beside = beside
        self.defined: dict[str, _Definition] = {}
        self.faulty: dict[
            str, tuple[str, str]
        ] = {}  # a name -> its cell, and why nothing of that cell is run
        self.tells = True
        total = 0
        for cell in before:
            total += len(cell.source)
            if not cell.runs:
                for name in _defined_somehow(cell.source):
                    self.faulty[name] = cell.place, "which is not run when the notebook is graded"
            elif len(cell.source) > MAX_PARSED or total > MAX_TOTAL:
                self.tells = False
            else:
                self._run(cell)

    def _run(self, cell: Cell) -> None:
        self.tells = self.tells and not _CANNOT_TELL.search(cell.source)
        if magic := _LOSING.match(cell.source):
            why = f"under `%%{magic[1]}`, where names are lost when the cell ends: remove that line"
            self._does_not_define(cell, why, _defined_somehow(cell.source))
            return
        for found in _FROM_MAGICS.finditer(cell.source):
            for name in re.findall(r"\w+", found[1] or found[2]):
                self.defined[name] = _Definition(cell.place)
        statements = parsed(cell.source)
        if not statements and (fault := fault_of(cell.source)):
            self._does_not_define(cell, f"which is not valid Python ({fault})", _defined_somehow(cell.source))
            return
        for number, statement in enumerate(statements):
            if (missing := _missing_module(statement)) and missing not in self.beside:
                rest = {name for each in statements[number:] for name in bound_names([each])}
                why = f"which stops at the import of `{missing}`: that package is not installed here"
                self._does_not_define(cell, why, rest)
                return
            mentions = set(free_names([statement]))
            plain = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            for name in {*bound_names([statement]), *_declared_global(statement)}:
                old = self.defined.get(name)
                links = mentions if plain or not old else mentions | old.mentions
                self.defined[name] = _Definition(cell.place, links)
                self.faulty.pop(name, None)

    def _does_not_define(self, cell: Cell, why: str, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.defined:
                self.faulty[name] = cell.place, why

    def needed(self, name: str) -> Iterator[tuple[str, str]]:
        """The names that a definition reaches, nearest first, and the cell that mentions each."""
        seen, reached = {name}, [name]
        for each in reached:  # grows
            if definition := self.defined.get(each):
                for other in sorted(definition.mentions - seen - ALWAYS):
                    seen.add(other)
                    reached.append(other)
                    yield other, definition.place

    def why(self, name: str, used: str) -> str:
        """A sentence about a name without a value; empty if it may have one after all."""
        if name in self.faulty:
            place, why = self.faulty[name]
            return f"`{name}` is defined in {place}, {why}."
        later = [cell for cell in self.after if cell.runs and len(cell.source) <= MAX_PARSED]
        if cell := defining_cell(name, later):
            needed = f"used in {used}" if used else "checked before that"
            return f"`{name}` is defined in {cell.place} and {needed}: move it up, because cells are graded from top to bottom."
        if not self.tells:
            return ""
        if not used:
            return f"No cell defines `{name}`. Is it misspelt, or was its cell deleted?"
        return f"`{name}` is used in {used}, and no cell defines it: it is misspelt, or its cell is gone."


def fault_of(source: str) -> str:
    """Why Python cannot read a cell, in words for people; empty if it is not known."""
    try:
        ast.parse(source)
    except SyntaxError as error:
        text = "".join(filter(str.isprintable, error.msg or ""))[:100]
        return f"line {error.lineno or 1}: {odd_character(text) or text}"
    except (ValueError, RecursionError, MemoryError):
        pass
    return ""


def _defined_somehow(source: str) -> set[str]:
    """The names that a cell's text seems to define, whether or not it is Python."""
    return {found[1] or found[2] for found in _DEFINED.finditer(source[:MAX_PARSED])}


def _missing_module(statement: ast.stmt) -> str:
    """The package that an import needs and that is not installed; empty if there is none."""
    names = []
    if isinstance(statement, ast.Import):
        names = [alias.name for alias in statement.names]
    elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
        names = [statement.module]
    tops = (name.partition(".")[0] for name in names)
    return next((top for top in tops if not _is_installed(top)), "")


@cache
def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError, AttributeError):
        return True  # nobody can know


def _declared_global(statement: ast.stmt) -> set[str]:
    return {name for part in ast.walk(statement) if isinstance(part, ast.Global) for name in part.names}


def free_names(statements: Iterable[ast.AST]) -> Iterator[str]:
    """The names that statements look up outside themselves, also when what they define is called."""
    work: list[tuple[ast.AST, frozenset[str]]] = [(statement, frozenset()) for statement in statements]
    while work:
        part, local = work.pop()
        match part:
            case ast.Name(id=name, ctx=ast.Load()):
                if name not in local:
                    yield name
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                arguments = part.args
                body = [part.body] if isinstance(part, ast.Lambda) else part.body
                parameters = (each.arg for each in ast.walk(arguments) if isinstance(each, ast.arg))
                inside = local | {*parameters, *local_names(body)}
                work += [(each, inside) for each in body]
                outside = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
                outside += getattr(part, "decorator_list", [])
                work += [(each, local) for each in outside]
            case ast.ClassDef():
                inside = local | {*bound_names(part.body)}
                functions = (ast.FunctionDef, ast.AsyncFunctionDef)
                work += [(each, local if isinstance(each, functions) else inside) for each in part.body]
                work += [(each, local) for each in (*part.bases, *part.keywords, *part.decorator_list)]
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                inside = local | {*bound_names([each.target for each in part.generators])}
                work += [(each, inside) for each in ast.iter_child_nodes(part)]
            case ast.AnnAssign():
                work += [(each, local) for each in (part.target, part.value) if each]
            case _:
                work += [(each, local) for each in ast.iter_child_nodes(part)]
