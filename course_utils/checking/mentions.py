"""What a definition in a notebook mentions, of the names that are looked for: a graph of definitions and files, followed from one of them.

Names are resolved through imports and aliases in the syntax tree. The work grows in proportion to the text, and nothing here recurses
into nested code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from course_utils.checking.cells import parsed_with_lines
from course_utils.checking.scopes import (
    Mention,
    Node,
    Scope,
    bound_names,
    flat,
    local_names,
    owner_of,
    parts_of,
)

MAX_LINE = 100
"""How many characters of a line are quoted."""

_IMPORT, _MODULES, _GETTER = "importlib.import_module", "sys.modules", "operator.attrgetter"

_TABLE = ".__dict__"  # of a module's names

_MOST_STARRED = 200_000
"""At most this many names are bound by ``from helpers import *``, all of them together."""

_LONGEST_CHAIN = 40  # steps from an expression to the name it stands for; a dotted name has a few


class Graph:
    """The cells in order -> a graph of what mentions what -> what a name reaches of the spellings that are looked for."""

    def __init__(
        self, spellings: set[str], judged: frozenset[str], files: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self.spellings = spellings
        self.judged = judged
        self.files = files or {}
        self.modules: dict[str, dict[str, Node]] = {}  # those that were imported -> their names
        self.whole: dict[str, Node] = {}  # each of them -> everything in it
        self.stars = _MOST_STARRED
        parts = [full.split(".") for full in (*spellings, _IMPORT, _MODULES, _GETTER)]
        self.on_the_way = {".".join(names[:n]) for names in parts for n in range(1, len(names) + 1)}
        self.env: dict[str, Node] = {}

    def run_cell(self, source: str) -> None:
        """Follows a cell, after those before it."""
        statements, lines = parsed_with_lines(source)
        self._run(statements, Scope(lines, self.env))

    def _module(self, name: str) -> dict[str, Node]:
        """What the names of a file's module stand for."""
        if name not in self.modules:
            env = self.modules[name] = {}  # first: files may import each other
            whole = self.whole[name] = Node()
            for text in self.files[name]:
                statements, lines = parsed_with_lines(text)
                self._run(statements, Scope(lines, env))
            whole.links += env.values()
        return self.modules[name]

    def mentions_reached_from(self, name: str) -> tuple[Mention, ...]:
        """Nearest first, one of each name."""
        found: dict[str, Mention] = {}
        start = self.env.get(name)
        reached, seen = [start] if start else [], {id(start)}
        for node in reached:  # grows
            if node.later:
                self._enter(node, *node.later)
            for mention in node.mentions:
                found.setdefault(mention.name, mention)
            for link in node.links:
                if id(link) not in seen:
                    seen.add(id(link))
                    reached.append(link)
        return tuple(found.values())

    # -- statements

    def _run(self, statements: Sequence[ast.stmt], scope: Scope, whole: Node | None = None) -> None:
        """Follows statements in order.

        Args:
            whole: the function or class that they are the body of. None: each statement stands alone.
        """
        work = [(statement, scope, whole, False) for statement in reversed(statements)]
        while work:
            statement, scope, whole, maybe = work.pop()
            node = whole or Node()
            blocks: list[Sequence[ast.stmt]] = []  # blocks that may or may not run
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    made = Node(later=(statement, scope))
                    self._read([*statement.decorator_list, *_defaults(statement.args)], scope, made)
                    node.links.append(made)
                    scope.bind(statement.name, made, maybe)
                case ast.ClassDef():
                    made = Node()
                    keywords = [keyword.value for keyword in statement.keywords]
                    self._read([*statement.decorator_list, *statement.bases, *keywords], scope, made)
                    node.links.append(made)
                    scope.bind(statement.name, made, maybe)
                    inside = Scope(scope.lines, {}, scope, is_class=True)
                    work += [(inner, inside, made, False) for inner in reversed(statement.body)]
                case ast.Import() | ast.ImportFrom():
                    for name, path in self._imported(statement):
                        made = Node(self._relevant({path}))
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
                            scope.bind(handler.name, Node(), True)
                    handled = [handler.body for handler in statement.handlers]
                    blocks = [statement.body, *handled, statement.orelse, statement.finalbody]
                case ast.Match():
                    self._read([statement.subject], scope, node)
                    for case in statement.cases:
                        for name in bound_names([case.pattern]):
                            scope.bind(name, Node(links=[node]), True)
                        self._read([case.guard] if case.guard else [], scope, node)
                    blocks = [case.body for case in statement.cases]
                case ast.Delete():
                    for target in statement.targets:
                        if isinstance(target, ast.Name):
                            scope.bind(target.id, Node(), maybe)
                case ast.Raise() if whole is None and not maybe:
                    return  # the rest of the cell does not run
                case _:
                    self._read(
                        [part for part in parts_of(statement) if isinstance(part, ast.expr)], scope, node
                    )
            work += [(inner, scope, whole, True) for block in reversed(blocks) for inner in reversed(block)]

    def _assign(
        self,
        targets: Sequence[ast.expr],
        value: ast.expr,
        scope: Scope,
        node: Node,
        maybe: bool,
        each: bool = False,
    ) -> None:
        """Binds the targets of an assignment; with ``each`` (the target of a loop), to the elements of the value."""
        pairs, bound = [(target, value) for target in targets], []
        read: dict[tuple[int, bool], Node] = {}  # several targets may share a value
        while pairs:
            target, value = pairs.pop()
            if values := [] if each else _matching(target, value):
                pairs += zip(target.elts, values, strict=True)
                continue
            whole = not each and not isinstance(target, ast.Tuple | ast.List)
            if not (made := read.get((id(value), whole))):
                made = read[id(value), whole] = Node(self._resolve(value, scope) if whole else frozenset())
                self._read([value], scope, made)
                node.links.append(made)
            for part in flat([target]):
                if isinstance(getattr(part, "ctx", None), ast.Store):
                    match part:
                        case ast.Name():
                            bound.append((part.id, made, maybe))
                        case ast.Attribute() | ast.Subscript():  # what is put into an object belongs to it
                            bound += [(owner, made, True) for owner in owner_of(part)]
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
        node: Node,
        function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        around: Scope,
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
                scope.env[parameter.arg] = Node(self._resolve(default, around))
        if isinstance(function, ast.Lambda):
            self._read([function.body], scope, node)
        else:
            self._run(body, scope, node)

    # -- expressions

    def _read(self, expressions: Iterable[ast.AST], scope: Scope, node: Node) -> None:
        """Notes what expressions mention."""
        work = [(expression, scope) for expression in reversed(list(expressions))]
        while work:
            expression, scope = work.pop()
            parts = list(parts_of(expression))
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
                    node.links.append(Node(later=(expression, scope)))
                    parts = _defaults(expression.args)
                case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                    loops = expression.generators
                    inside = Scope(
                        scope.lines, {}, scope, frozenset(bound_names([loop.target for loop in loops]))
                    )
                    work += [(part, inside) for part in parts if not isinstance(part, ast.comprehension)]
                    work += [(part, inside) for loop in loops for part in loop.ifs]
                    work += [(loop.iter, inside) for loop in loops[1:]]
                    parts = [loops[0].iter]
                case ast.NamedExpr():
                    made = Node(self._resolve(expression.value, scope), links=[node])
                    scope.bind(expression.target.id, made)
                    parts = [expression.value]
            work += [(part, scope) for part in reversed(parts)]

    def _resolve(self, expression: ast.expr, scope: Scope, steps: int = _LONGEST_CHAIN) -> frozenset[str]:
        """The dotted names that an expression may stand for, as far as they can lead to what is looked for."""
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

    def _item(self, table: ast.expr, name: str, scope: Scope, steps: int) -> frozenset[str]:
        """What a module's table of names, or Python's table of modules, contains under a name."""
        tables = self._resolve(table, scope, steps - 1)
        found = {path.removesuffix(_TABLE) + f".{name}" for path in tables if path.endswith(_TABLE)}
        return self._relevant(found | ({name} if _MODULES in tables else set()))

    def _attribute(self, owner: ast.expr, name: str, scope: Scope, steps: int) -> frozenset[str]:
        return self._relevant({f"{path}.{name}" for path in self._resolve(owner, scope, steps - 1)})

    def _relevant(self, paths: set[str]) -> frozenset[str]:
        found = {path for path in paths if path.removesuffix(_TABLE) in self.on_the_way}
        for path in paths - found:
            if path.removesuffix(_TABLE) in self.files:
                found.add(path)
            elif node := self._in_file(path):
                found |= {path, *node.paths}
        return frozenset(found)

    def _in_file(self, path: str) -> Node | None:
        """What a name in a file of the learner's stands for: the path is ``<module>.<name>``."""
        module, _, name = path.partition(".")
        return self._module(module).get(name) if module in self.files else None

    def _note(self, paths: frozenset[str], place: ast.expr | ast.stmt, scope: Scope, node: Node) -> bool:
        """Notes what is looked for among the paths, and what of a file is mentioned. Returns whether either was found."""
        inside = [made for path in sorted(paths) if (made := self._in_file(path))]
        for module in sorted({path.removesuffix(_TABLE) for path in paths} & self.files.keys()):
            self._module(module)
            inside.append(self.whole[module])
        node.links += inside
        found = sorted(paths & self.spellings)
        for path in found:
            if path not in (mention.name for mention in node.mentions):
                line = scope.lines[place.lineno - 1] if place.lineno <= len(scope.lines) else ""
                text = "".join(filter(str.isprintable, line.strip()[:MAX_LINE]))
                node.mentions.append(Mention(path, place.lineno, text))
        return bool(found or inside)


def _defaults(parameters: ast.arguments) -> list[ast.expr]:
    return [*parameters.defaults, *(default for default in parameters.kw_defaults if default)]


def _calls(expression: ast.expr, builtin: str, scope: Scope) -> bool:
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
