"""Finds uses of the ready-made thing that an exercise asks learners to build, in a notebook's source.

Code is read, never run: names are resolved through imports and aliases in the syntax tree, and only what
the exercise's own definition reaches counts. So a comparison with the ready-made thing in another cell, or
its name in a comment or a string, does not count as a use. The source may be hostile: anything that cannot be
parsed is left out, the work grows in proportion to the text, and nothing here recurses into nested code.

It finds what a learner writes in good faith, and the most obvious ways around that (``getattr``, ``vars``,
``attrgetter``, ``sys.modules`` and ``import_module`` with a name in quotes), but not every disguise: it does not
follow names that are put together while the code runs (``exec``, ``getattr`` with a computed name), and knows no methods of what code
returns. For these there is a second witness (:mod:`course_utils.checking.witness`). Files that the code imports are
followed if a cell writes them with ``%%writefile``, which is also how files beside the notebook are passed on (:func:`as_cell`).
"""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
import unicodedata
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from course_utils.checking.exercise import Exercise
from course_utils.checking.ready_made import names_of

MAX_PARSED = 20_000
"""A cell with more characters than this is not parsed (Python 3.11 takes 10 GB for 200,000 of `import a.a.a...`)."""

MAX_TOTAL = 500_000
"""If all cells together have more characters than this, the older ones are not parsed."""

MAX_LINE = 100
"""How many characters of a line are quoted."""

_SAME = (  # a name that begins with the first can also be written with the second
    ("keras.", "tensorflow.keras."),
    ("keras.", "keras.src."),
    ("torch.nn.", "torch.nn.modules."),
    ("torch.nn.", "torch.nn.modules.activation."),
    ("torch.nn.", "torch.nn.modules.normalization."),
    ("torch.nn.", "torch.nn.modules.sparse."),
    ("torch.nn.", "torch.nn.modules.transformer."),
    ("torch.nn.functional.", "torch._C._nn."),
    ("torch.nn.functional.", "torch.ops.aten."),
    ("torch.", "torch.ops.aten."),
    ("torch.", "torch._VF."),
)
_IMPORT, _MODULES, _GETTER = "importlib.import_module", "sys.modules", "operator.attrgetter"
_TABLE = ".__dict__"  # of a module's names
_BY_NAME = (
    "import_module",
    "__import__",
    "getattr",
    "attrgetter",
    "modules",
    "vars",
    "__dict__",
    "__getattribute__",
)
"""If the text gets something by its name in quotes, it contains one of these words."""

_MOST_FILES = 20
"""At most this many modules are followed; of others, only the text is searched."""

_MOST_STARRED = 200_000
"""At most this many names are bound by ``from helpers import *``, all of them together."""

_LONGEST_CHAIN = 40  # steps from an expression to the name it stands for; a dotted name has a few


@dataclass(frozen=True)
class Use:
    """A use of something ready-made: its full ``name``, and the line of its cell (from 1) where it is; 0 if that is not known."""

    name: str
    line: int
    text: str


def as_cell(name: str, text: str) -> str:
    """How a Python file is passed on among the sources: as the cell that would write it."""
    return f"%%writefile {name}\n{text}"


def uses_of(
    exercise: Exercise, others: Iterable[Exercise], sources: Sequence[str], name: str | None = None
) -> tuple[Use, ...]:
    """What :func:`find_bypass` finds for an exercise of a lab; nothing if it declares no bypasses.

    An earlier exercise that this one ``uses`` and that declares the same bypasses is not searched: it is judged on its
    own, so that one ready-made call costs the points of one exercise only.

    Args:
        others: the exercises of the lab.
        sources: the code cells that ran, oldest first.
        name: the name of the definition, if it differs from the exercise's.
    """
    if not exercise.bypasses:
        return ()
    judged = judged_elsewhere(exercise, others)
    return find_bypass(sources, exercise.name if name is None else name, exercise.bypasses, judged)


def judged_elsewhere(exercise: Exercise, others: Iterable[Exercise]) -> frozenset[str]:
    """The earlier exercises of a lab that this one ``uses`` and that declare the same bypasses."""
    return frozenset(
        other.name
        for other in others
        if other.name in exercise.uses and set(exercise.bypasses) <= set(other.bypasses)
    )


def find_bypass(
    sources: Sequence[str], name: str, bypasses: Sequence[str], judged: Collection[str] = ()
) -> tuple[Use, ...]:
    """The first use of each ready-made thing that the last definition of ``name`` reaches. Never raises.

    It reaches its own lines, those of every function, class and variable of the notebook that it mentions, and
    those that these mention in turn. Annotations and ``isinstance`` do not count as uses.

    Args:
        sources: the notebook's code cells, oldest first; with or without IPython's magics.
        bypasses: full dotted names, such as ``torch.nn.MultiheadAttention``; other names under which the
            libraries offer the same thing, and what does the same work, count as well.
        judged: names of the notebook that are not searched.
    """
    spellings = {same for full in names_of(bypasses) for same in _spellings(full)}
    if not _mentioned(spellings, sources):
        return ()
    cells, others = _newest(sources)
    files: dict[str, list[str]] = {}  # module -> its text, as often as it is written
    code = []
    for cell in cells:
        if not (file := _file_written(cell)):
            code.append(cell)
        elif file[0] in files or len(files) < _MOST_FILES:
            files.setdefault(file[0], []).append(file[1])
        else:
            others.append(file[1])
    notebook = _Notebook(spellings, frozenset(judged), files)
    for cell in code:
        notebook.run_cell(cell)
    return notebook.uses_reached_from(name) or tuple(_mentions(bypasses, others))


def _mentioned(spellings: Collection[str], cells: Sequence[str]) -> bool:
    """Whether a use is possible at all. For almost every honest notebook this makes the full analysis unnecessary.

    The names of the library and of the ready-made thing must occur in the text, normalised as Python does it
    (NFKC), unless they are in a string, where they may be written with escapes.
    """
    text = unicodedata.normalize("NFKC", "\n".join(cells))
    if any(word in text for word in _BY_NAME):
        return True
    names = ((full.partition(".")[0], full.rpartition(".")[2]) for full in spellings)
    return any(library in text and thing in text for library, thing in names)


def _spellings(full: str) -> Iterator[str]:
    yield full
    for usual, other in _SAME:
        if full.startswith(usual):
            yield other + full.removeprefix(usual)


def _newest(sources: Sequence[str]) -> tuple[list[str], list[str]]:
    """The latest cells, up to the limits for parsing, and the others; both oldest first."""
    kept, others, total = [], [], 0
    for source in reversed(sources):
        total += len(source)
        (kept if len(source) <= MAX_PARSED and total <= MAX_TOTAL else others).append(source)
    return kept[::-1], others[::-1]


def _mentions(bypasses: Sequence[str], cells: Sequence[str]) -> Iterator[Use]:
    """Lines that name something ready-made, in cells too long to be parsed, so that padding a cell hides nothing."""
    for full in bypasses:
        for cell in cells:
            lines = enumerate(cell.split("\n"), start=1)
            named = ((at, line) for at, line in lines if full.rpartition(".")[2] in line.partition("#")[0])
            yield from (Use(full, at, line.strip()[:MAX_LINE]) for at, line in itertools.islice(named, 1))


# ---------------------------------------------------------------------------------- cells


def parsed(source: str) -> Sequence[ast.stmt]:
    """A cell's statements; none if it is not Python."""
    return _parsed(source)[0]


def _parsed(source: str) -> tuple[Sequence[ast.stmt], list[str]]:
    """A cell's statements, with the line numbers of the cell, and its lines. Text that is not Python has no statements.

    Neither has a cell with a syntax error, because IPython runs nothing of it.
    """
    tree = _tree(source)
    if tree and (body := _body_of_cell_magic(tree)) is not None:
        source = "\n" + body
        tree = _tree(source)
    return (tree.body if tree else []), source.split("\n")


_WRITES = re.compile(r"\s*%%(?:writefile|file)[ \t]+(?:-a[ \t]+)?[\"']?(?:\./)?(\w+)\.py[\"']?[ \t]*\n")


def _file_written(source: str) -> tuple[str, str] | None:
    """The module that a cell writes, and its text; None for other cells."""
    if found := _WRITES.match(source):
        return found[1], source[found.end() :]
    if "run_cell_magic" in source and (tree := _tree(source)):
        match tree.body:
            case [
                ast.Expr(
                    ast.Call(
                        ast.Attribute(attr="run_cell_magic"),
                        [
                            ast.Constant("writefile" | "file"),
                            ast.Constant(str() as line),
                            ast.Constant(str() as body),
                        ],
                    )
                )
            ] if found := _WRITES.match(f"%%writefile {line}\n"):
                return found[1], body
    return None


def _tree(source: str) -> ast.Module | None:
    """The syntax tree of Python with or without magics."""
    texts = (make() for make in (lambda: source, lambda: _plain(source), lambda: _plain(source, indent="")))
    for text in texts:
        try:
            with warnings.catch_warnings():  # about odd escapes and the like, in code that is not ours
                warnings.simplefilter("ignore")
                return ast.parse(text)
        except SyntaxError:
            continue
        except (ValueError, RecursionError, MemoryError):  # the latter two: absurdly nested
            break
    return None


_PYTHON_MAGICS = ("capture", "prun", "time")  # cell magics that run the cell as usual
_CELL_MAGIC = re.compile(r"\s*%%(\w*).*")
_MAGIC_LINE = r"(?:[%!?].*|[\w.%]+\?\??[ \t]*|\w[\w, \t]*+=[ \t]*+[%!].*)"


def _plain(source: str, indent: str = r"[ \t]*+") -> str:
    """A cell without its magics, which are whole lines. A stricter ``indent`` takes fewer lines for magics."""
    lines = textwrap.dedent(source).split("\n")
    first = next((index for index, line in enumerate(lines) if line.strip()), 0)
    if found := _CELL_MAGIC.fullmatch(lines[first]):
        if found.group(1) not in _PYTHON_MAGICS:
            return ""
        lines[first] = ""
    magic = re.compile(f"({indent}){_MAGIC_LINE}")
    return "\n".join(f"{found.group(1)}pass" if (found := magic.fullmatch(line)) else line for line in lines)


def _body_of_cell_magic(tree: ast.Module) -> str | None:
    """The body of a cell that IPython's history keeps as ``get_ipython().run_cell_magic('time', '', body)``."""
    match tree.body:
        case [
            ast.Expr(
                ast.Call(
                    ast.Attribute(attr="run_cell_magic"),
                    [ast.Constant(magic), ast.Constant(), ast.Constant(str() as body)],
                )
            )
        ] if magic in _PYTHON_MAGICS:
            return body
    return None


# ---------------------------------------------------------------------------------- names


@dataclass(eq=False)
class _Node:
    """What a name stands for, or a piece of code.

    Attributes:
        paths: dotted names of libraries that it may stand for, as far as they can lead to a bypass.
        uses: uses in the code itself.
        links: what the code mentions.
        later: a function whose body is read only if it is reached, and the scope in which it is defined.
    """

    paths: frozenset[str] = frozenset()
    uses: list[Use] = field(default_factory=list)
    links: list[_Node] = field(default_factory=list)
    later: tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, _Scope] | None = None


@dataclass(eq=False)
class _Scope:
    """Where names are bound.

    Attributes:
        lines: of the cell.
        env: what each name stands for now.
        outer: where names that are not bound here are looked up.
        own: the names that are local to a function or comprehension. None: a module or class, which binds
            whatever is assigned there.
    """

    lines: list[str]
    env: dict[str, _Node]
    outer: _Scope | None = None
    own: frozenset[str] | None = None
    is_class: bool = False

    def find(self, name: str) -> _Node | None:
        scope: _Scope | None = self
        while scope:
            if name in scope.env or (scope.own is not None and name in scope.own):
                return scope.env.get(name)
            scope = scope.outer
        return None

    def bind(self, name: str, node: _Node, maybe: bool = False) -> None:
        """Lets a name stand for something; with ``maybe``, also for what it stood for."""
        scope = self
        while scope.own is not None and name not in scope.own and scope.outer:
            scope, maybe = scope.outer, True  # global, nonlocal, or := in a comprehension
        old = scope.env.get(name) if maybe else None
        scope.env[name] = _Node(old.paths | node.paths, links=[old, node]) if old else node

    def inner(self, own: Iterable[str]) -> _Scope:
        """The scope of a function defined here: it does not see the names of a class around it."""
        outer = self
        while outer.is_class and outer.outer:
            outer = outer.outer
        return _Scope(self.lines, {}, outer, frozenset(own))


class _Notebook:
    """The cells in order -> a graph of what mentions what -> the uses that a name reaches."""

    def __init__(
        self, spellings: set[str], judged: frozenset[str], files: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self.spellings = spellings
        self.judged = judged
        self.files = files or {}
        self.modules: dict[str, dict[str, _Node]] = {}  # those that were imported -> their names
        self.whole: dict[str, _Node] = {}  # each of them -> everything in it
        self.stars = _MOST_STARRED
        parts = [full.split(".") for full in (*spellings, _IMPORT, _MODULES, _GETTER)]
        self.on_the_way = {".".join(names[:n]) for names in parts for n in range(1, len(names) + 1)}
        self.env: dict[str, _Node] = {}

    def run_cell(self, source: str) -> None:
        statements, lines = _parsed(source)
        self._run(statements, _Scope(lines, self.env))

    def _module(self, name: str) -> dict[str, _Node]:
        """What the names of a file's module stand for."""
        if name not in self.modules:
            env = self.modules[name] = {}  # first: files may import each other
            whole = self.whole[name] = _Node()
            for text in self.files[name]:
                statements, lines = _parsed(text)
                self._run(statements, _Scope(lines, env))
            whole.links += env.values()
        return self.modules[name]

    def uses_reached_from(self, name: str) -> tuple[Use, ...]:
        """Nearest first, one of each name."""
        found: dict[str, Use] = {}
        start = self.env.get(name)
        reached, seen = [start] if start else [], {id(start)}
        for node in reached:  # grows
            if node.later:
                self._enter(node, *node.later)
            for use in node.uses:
                found.setdefault(use.name, use)
            for link in node.links:
                if id(link) not in seen:
                    seen.add(id(link))
                    reached.append(link)
        return tuple(found.values())

    # -- statements

    def _run(self, statements: Sequence[ast.stmt], scope: _Scope, whole: _Node | None = None) -> None:
        """Follows statements in order.

        Args:
            whole: the function or class that they are the body of. None: each statement stands alone.
        """
        work = [(statement, scope, whole, False) for statement in reversed(statements)]
        while work:
            statement, scope, whole, maybe = work.pop()
            node = whole or _Node()
            blocks: list[Sequence[ast.stmt]] = []  # blocks that may or may not run
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    made = _Node(later=(statement, scope))
                    self._read([*statement.decorator_list, *_defaults(statement.args)], scope, made)
                    node.links.append(made)
                    scope.bind(statement.name, made, maybe)
                case ast.ClassDef():
                    made = _Node()
                    keywords = [keyword.value for keyword in statement.keywords]
                    self._read([*statement.decorator_list, *statement.bases, *keywords], scope, made)
                    node.links.append(made)
                    scope.bind(statement.name, made, maybe)
                    inside = _Scope(scope.lines, {}, scope, is_class=True)
                    work += [(inner, inside, made, False) for inner in reversed(statement.body)]
                case ast.Import() | ast.ImportFrom():
                    for name, path in self._imported(statement):
                        made = _Node(self._relevant({path}))
                        if path not in self.files:  # the whole of a file is reached where it is mentioned
                            self._note(made.paths, statement, scope, made)
                        scope.bind(name, made, maybe)
                case ast.Assign():
                    self._assign(statement.targets, statement.value, scope, node, maybe)
                case ast.AnnAssign():
                    if statement.value:
                        self._assign([statement.target], statement.value, scope, node, maybe)
                case ast.AugAssign():
                    self._assign([statement.target], statement.value, scope, node, True)
                case ast.For() | ast.AsyncFor():
                    self._assign([statement.target], statement.iter, scope, node, maybe, each=True)
                    blocks = [statement.body, statement.orelse]
                case ast.With() | ast.AsyncWith():
                    for item in statement.items:
                        if item.optional_vars:
                            self._assign(
                                [item.optional_vars], item.context_expr, scope, node, maybe, each=True
                            )
                        else:
                            self._read([item.context_expr], scope, node)
                    work += [(inner, scope, whole, maybe) for inner in reversed(statement.body)]
                case ast.If() | ast.While():
                    self._read([statement.test], scope, node)
                    blocks = [statement.body, statement.orelse]
                case ast.Try() | ast.TryStar():
                    for handler in statement.handlers:
                        if handler.name:
                            scope.bind(handler.name, _Node(), True)
                    handled = [handler.body for handler in statement.handlers]
                    blocks = [statement.body, *handled, statement.orelse, statement.finalbody]
                case ast.Match():
                    self._read([statement.subject], scope, node)
                    for case in statement.cases:
                        for name in bound_names([case.pattern]):
                            scope.bind(name, _Node(links=[node]), True)
                        self._read([case.guard] if case.guard else [], scope, node)
                    blocks = [case.body for case in statement.cases]
                case ast.Delete():
                    for target in statement.targets:
                        if isinstance(target, ast.Name):
                            scope.bind(target.id, _Node(), maybe)
                case ast.Raise() if whole is None and not maybe:
                    return  # the rest of the cell does not run
                case _:
                    self._read(
                        [part for part in _parts(statement) if isinstance(part, ast.expr)], scope, node
                    )
            work += [(inner, scope, whole, True) for block in reversed(blocks) for inner in reversed(block)]

    def _assign(
        self,
        targets: Sequence[ast.expr],
        value: ast.expr,
        scope: _Scope,
        node: _Node,
        maybe: bool,
        each: bool = False,
    ) -> None:
        """Binds the targets of an assignment; with ``each`` (the target of a loop), to the elements of the value."""
        pairs, bound = [(target, value) for target in targets], []
        read: dict[tuple[int, bool], _Node] = {}  # several targets may share a value
        while pairs:
            target, value = pairs.pop()
            if values := [] if each else _matching(target, value):
                pairs += zip(target.elts, values, strict=True)
                continue
            whole = not each and not isinstance(target, ast.Tuple | ast.List)
            if not (made := read.get((id(value), whole))):
                made = read[id(value), whole] = _Node(self._resolve(value, scope) if whole else frozenset())
                self._read([value], scope, made)
                node.links.append(made)
            for part in _flat([target]):
                if isinstance(getattr(part, "ctx", None), ast.Store):
                    match part:
                        case ast.Name():
                            bound.append((part.id, made, maybe))
                        case ast.Attribute() | ast.Subscript():  # what is put into an object belongs to it
                            bound += [(owner, made, True) for owner in _owner(part)]
        for name, made, perhaps in bound:
            scope.bind(name, made, perhaps)

    def _imported(self, statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
        """The names that an import binds, and what they stand for."""
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0],) * 2
            return
        start = "." if statement.level else f"{statement.module}."  # ".": of a package, which no file here is
        for alias in statement.names:
            if alias.name != "*":
                yield alias.asname or alias.name, start + alias.name
                continue
            if start[:-1] in self.files and self.stars > 0:
                names = list(self._module(start[:-1]))
                self.stars -= len(names)
                yield from ((name, start + name) for name in names)
            for path in self.on_the_way:
                if path.startswith(start) and "." not in path.removeprefix(start):
                    yield path.removeprefix(start), path

    # -- functions

    def _enter(
        self,
        node: _Node,
        function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        around: _Scope,
    ) -> None:
        """Reads the body of a function that is reached, with the final values of the names around it."""
        node.later = None
        parameters = function.args
        names = [*parameters.posonlyargs, *parameters.args]
        given = [
            *zip(reversed(names), reversed(parameters.defaults), strict=False),
            *zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True),
        ]
        every = [*names, *parameters.kwonlyargs, parameters.vararg, parameters.kwarg]
        own = {parameter.arg for parameter in every if parameter}
        body = [] if isinstance(function, ast.Lambda) else function.body
        scope = around.inner(own | local_names(body))
        for parameter, default in given:
            if default:
                scope.env[parameter.arg] = _Node(self._resolve(default, around))
        if isinstance(function, ast.Lambda):
            self._read([function.body], scope, node)
        else:
            self._run(body, scope, node)

    # -- expressions

    def _read(self, expressions: Iterable[ast.AST], scope: _Scope, node: _Node) -> None:
        """Notes what expressions use and mention."""
        work = [(expression, scope) for expression in reversed(list(expressions))]
        while work:
            expression, scope = work.pop()
            parts = list(_parts(expression))
            match expression:
                case ast.Name():
                    meant = scope.find(expression.id)
                    if expression.id in self.judged and meant is self.env.get(expression.id):
                        continue
                    if meant:
                        self._note(meant.paths, expression, scope, node)
                        node.links.append(meant)
                case ast.Attribute() | ast.Call() | ast.Subscript():
                    if self._note(self._resolve(expression, scope), expression, scope, node):
                        continue
                    if _calls(expression, "isinstance", scope) or _calls(expression, "issubclass", scope):
                        parts = expression.args[:1]
                case ast.Lambda():
                    node.links.append(_Node(later=(expression, scope)))
                    parts = _defaults(expression.args)
                case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                    loops = expression.generators
                    inside = _Scope(
                        scope.lines, {}, scope, frozenset(bound_names([loop.target for loop in loops]))
                    )
                    work += [(part, inside) for part in parts if not isinstance(part, ast.comprehension)]
                    work += [(part, inside) for loop in loops for part in loop.ifs]
                    work += [(loop.iter, inside) for loop in loops[1:]]
                    parts = [loops[0].iter]
                case ast.NamedExpr():
                    made = _Node(self._resolve(expression.value, scope), links=[node])
                    scope.bind(expression.target.id, made)
                    parts = [expression.value]
            work += [(part, scope) for part in reversed(parts)]

    def _resolve(self, expression: ast.expr, scope: _Scope, steps: int = _LONGEST_CHAIN) -> frozenset[str]:
        """The dotted names that an expression may stand for, as far as they can lead to a bypass."""
        if not steps:
            return frozenset()
        match expression:
            case ast.Name():
                found = scope.find(expression.id)
                return found.paths if found else frozenset()
            case ast.Attribute():
                return self._attribute(expression.value, expression.attr, scope, steps)
            case ast.NamedExpr():
                return self._resolve(expression.value, scope, steps - 1)
            case ast.IfExp():
                both = (expression.body, expression.orelse)
                return frozenset().union(*(self._resolve(part, scope, steps - 1) for part in both))
            case ast.BoolOp():
                return frozenset().union(
                    *(self._resolve(part, scope, steps - 1) for part in expression.values)
                )
            case ast.Call(args=[owner, ast.Constant(str() as name), *_]) if _calls(
                expression, "getattr", scope
            ):
                return self._attribute(owner, name, scope, steps)
            case ast.Call(
                func=ast.Attribute(value=owner, attr="__getattribute__"), args=[ast.Constant(str() as name)]
            ):
                return self._attribute(owner, name, scope, steps)
            case ast.Call(
                func=ast.Attribute(attr="__getattribute__"), args=[owner, ast.Constant(str() as name)]
            ):
                return self._attribute(owner, name, scope, steps)
            case ast.Call(args=[owner]) if _calls(expression, "vars", scope):
                return self._attribute(owner, _TABLE[1:], scope, steps)
            case ast.Subscript(value=table, slice=ast.Constant(str() as name)):
                return self._item(table, name, scope, steps)
            case ast.Call(
                func=ast.Attribute(value=table, attr="get"), args=[ast.Constant(str() as name), *_]
            ):
                return self._item(table, name, scope, steps)
            case ast.Call(args=[ast.Constant(str() as name), *_]):
                if _calls(expression, "__import__", scope):
                    return self._relevant({name, name.split(".")[0]})
                called = self._resolve(expression.func, scope, steps - 1)
                if _GETTER in called:
                    names = [part.value for part in expression.args if isinstance(part, ast.Constant)]
                    return frozenset(f"{_GETTER} {name}" for name in names)
                if _IMPORT in called:
                    return self._relevant({name})
            case ast.Call(func=getter, args=[owner]):
                wanted = {
                    path.removeprefix(f"{_GETTER} ")
                    for path in self._resolve(getter, scope, steps - 1)
                    if path.startswith(f"{_GETTER} ")
                }
                owners = self._resolve(owner, scope, steps - 1) if wanted else ()
                return self._relevant({f"{path}.{name}" for path in owners for name in wanted})
        return frozenset()

    def _item(self, table: ast.expr, name: str, scope: _Scope, steps: int) -> frozenset[str]:
        """What a module's table of names, or Python's table of modules, contains under a name."""
        tables = self._resolve(table, scope, steps - 1)
        found = {path.removesuffix(_TABLE) + f".{name}" for path in tables if path.endswith(_TABLE)}
        return self._relevant(found | ({name} if _MODULES in tables else set()))

    def _attribute(self, owner: ast.expr, name: str, scope: _Scope, steps: int) -> frozenset[str]:
        return self._relevant({f"{path}.{name}" for path in self._resolve(owner, scope, steps - 1)})

    def _relevant(self, paths: set[str]) -> frozenset[str]:
        found = {path for path in paths if path.removesuffix(_TABLE) in self.on_the_way}
        for path in paths - found:
            if path.removesuffix(_TABLE) in self.files:
                found.add(path)
            elif node := self._in_file(path):
                found |= {path, *node.paths}
        return frozenset(found)

    def _in_file(self, path: str) -> _Node | None:
        """What a name in a file of the learner's stands for: the path is ``<module>.<name>``."""
        module, _, name = path.partition(".")
        return self._module(module).get(name) if module in self.files else None

    def _note(self, paths: frozenset[str], place: ast.expr | ast.stmt, scope: _Scope, node: _Node) -> bool:
        """Notes a use if one of the paths is a bypass, and what of a file is mentioned. Returns whether either was found."""
        inside = [made for path in sorted(paths) if (made := self._in_file(path))]
        for module in sorted({path.removesuffix(_TABLE) for path in paths} & self.files.keys()):
            self._module(module)
            inside.append(self.whole[module])
        node.links += inside
        found = sorted(paths & self.spellings)
        for path in found:
            if path not in (use.name for use in node.uses):
                line = scope.lines[place.lineno - 1] if place.lineno <= len(scope.lines) else ""
                text = "".join(filter(str.isprintable, line.strip()[:MAX_LINE]))
                node.uses.append(Use(path, place.lineno, text))
        return bool(found or inside)


# ---------------------------------------------------------------------------------- syntax


def _parts(tree: ast.AST) -> Iterator[ast.AST]:
    return ast.iter_child_nodes(tree)


def _defaults(parameters: ast.arguments) -> list[ast.expr]:
    return [*parameters.defaults, *(default for default in parameters.kw_defaults if default)]


def _calls(expression: ast.expr, builtin: str, scope: _Scope) -> bool:
    """Whether an expression calls the built-in function of this name."""
    match expression:
        case ast.Call(func=ast.Name(id=name)):
            return name == builtin and scope.find(name) is None
    return False


def _matching(target: ast.expr, value: ast.expr) -> list[ast.expr]:
    """The values of ``a, b = value, value``, one per target; none for other assignments."""
    if not isinstance(target, ast.Tuple | ast.List) or not isinstance(value, ast.Tuple | ast.List):
        return []
    starred = any(isinstance(element, ast.Starred) for element in (*target.elts, *value.elts))
    return [] if starred or len(target.elts) != len(value.elts) else value.elts


def _owner(target: ast.expr) -> list[str]:
    """The variable that is changed by an assignment to an attribute or item; none for other assignments."""
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
    return [target.id] if isinstance(target, ast.Name) else []


_CODE_OF_ITS_OWN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def local_names(body: Sequence[ast.stmt]) -> set[str]:
    """The names that a function's body binds, and that are therefore local to it."""
    elsewhere = {
        name for part in _flat(body) if isinstance(part, ast.Global | ast.Nonlocal) for name in part.names
    }
    return set(bound_names(body)) - elsewhere


def bound_names(parts: Iterable[ast.AST]) -> Iterator[str]:
    """The names that statements (or targets) bind where they stand."""
    for part in _flat(parts):
        match part:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name, asname=asname):
                yield asname or name.split(".")[0]
            case ast.ExceptHandler(name=str() as name):
                yield name
            case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
                yield name
            case ast.MatchMapping(rest=str() as name):
                yield name


def _flat(parts: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All parts and their parts, without the insides of functions, classes and comprehensions."""
    work = list(parts)
    while work:
        part = work.pop()
        yield part
        if isinstance(part, ast.comprehension):
            work += [part.iter, *part.ifs]  # its target is its own
        elif not isinstance(part, _CODE_OF_ITS_OWN):
            work += _parts(part)
