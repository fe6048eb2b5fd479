"""One small change in a learner's own text, of the kinds that teach something about the line that is changed.

The text stays as the learner wrote it but for the changed piece of one line, so that a question can name its number. A change is kept only
if Python reads the new text as exactly the change that was meant.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_TEXT = 20_000
"""Characters; a longer text is not read."""

_AXES = {0: "1", 1: "0", -1: "-2", -2: "-1"}
_OF_AXES = {
    "softmax", "log_softmax", "sum", "mean", "max", "min", "argmax", "argmin", "cumsum", "concatenate", "cat", "stack", "var", "std",
}  # fmt: skip
"""Calls whose second argument is an axis."""
_SINGLE = {"exp", "sqrt", "log", "softmax", "relu", "gelu", "tanh", "sigmoid", "abs", "norm", "dropout"}
"""Calls that leave their argument's shape alone, so that it can stand in their place."""
_PAIRS = [
    ("max", "min"), ("sum", "mean"), ("sin", "cos"), ("triu", "tril"), ("argmax", "argmin"), ("any", "all"),
    ("minimum", "maximum"), ("zeros", "ones"), ("zeros_like", "ones_like"),
]  # fmt: skip
_RELATED = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
_FAMILIES = [
    ("query", "key", "value"), ("queries", "keys", "values"), ("q", "k", "v"), ("start", "end"), ("starts", "ends"), ("source", "target"),
    ("precision", "recall"), ("gamma", "beta"), ("rows", "columns"),
]  # fmt: skip
_COMPARED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
_SIGNS = {ast.Add: "-", ast.Sub: "+", ast.BitAnd: "|", ast.BitOr: "&"}
_HARMLESS_DECORATORS = {"no_grad", "inference_mode", "staticmethod", "dataclass"}
"""Any other may keep what it decorates somewhere, as Keras does, where a changed version must not get to."""


@dataclass(frozen=True)
class Change:
    """A definition with one change.

    Attributes:
        line: number of the changed line, as in its cell.
        old, new: the line as it is and as it would be, without indentation; ``new`` is empty where it is left out.
        source: the whole definition.
    """

    kind: str
    line: int
    old: str
    new: str
    source: str


def definition_of(name: str, texts: Iterable[str]) -> str:
    """The last text that defines a function or class of this name at its top level, as it was written; empty if none does.

    What stands above it in its cell is blank lines here, so that lines have the numbers that they have in the cell.

    Args:
        texts: cells in the order in which they were run.
    """
    pattern = re.compile(rf"^(?:async\s+def|def|class)\s+{re.escape(name)}\b", re.MULTILINE)
    for text in reversed(list(texts)):
        if len(text) > MAX_TEXT or not pattern.search(text):
            continue
        tree = _parsed(text)
        for node in reversed(tree.body if tree else []):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                return "\n" * (first - 1) + "\n".join(text.split("\n")[first - 1 : node.end_lineno])
    return ""


def changes(source: str) -> list[Change]:
    """Every change of a definition, from its top to its end; none where it cannot be changed safely."""
    tree = _parsed(source) if len(source) <= MAX_TEXT else None
    if tree is None or len(tree.body) != 1 or not _is_harmless(tree.body[0]):
        return []
    lines, names = source.split("\n"), (_names(tree), _attributes(tree))
    found: dict[str, Change] = {}
    for spot in _spots(tree):
        node = spot.node
        if node.lineno != node.end_lineno:
            continue
        for kind, text in _replacements(spot, lines, *names):
            change = _changed(tree, spot, lines, kind, text)
            if change and change.source != source:
                found.setdefault(change.source, change)
    return sorted(found.values(), key=lambda each: each.line)


def lines_shown(source: str, around: Iterable[int], most: int = 24) -> list[tuple[int, str]]:
    """The numbered lines of a definition that a reader needs: the functions around these lines, or all if they are few. Docstrings and comments on
    a line of their own are left out.
    """
    tree, lines = _parsed(source), source.split("\n")
    if tree is None:
        return list(enumerate(lines, 1))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    hidden = {number for number, line in enumerate(lines, 1) if re.match(r"\s*(#.*)?$", line)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and _is_docstring(node.body[0]):
            hidden |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    shown = set(range(1, len(lines) + 1)) - hidden
    if len(shown) > most:
        wanted = set(around)
        inner = [
            min(
                (each for each in functions if each.lineno <= number <= each.end_lineno),
                key=lambda each: each.end_lineno - each.lineno,
                default=None,
            )
            for number in wanted
        ]
        shown &= {tree.body[0].lineno}.union(
            *(range(each.lineno, each.end_lineno + 1) for each in inner if each), wanted
        )
    return [(number, lines[number - 1]) for number in sorted(shown)]


# ---------------------------------------------------------------------------------- where


@dataclass(frozen=True)
class _Spot:
    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None

    @property
    def is_alone(self) -> bool:
        """Whether it is the only statement of a block, which cannot be left out."""
        return self.index is not None and len(getattr(self.parent, self.field)) == 1

    def put(self, new: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, new)
        else:
            getattr(self.parent, self.field)[self.index] = new


_GIVEN = {"annotation", "returns", "decorator_list", "type_params", "args", "bases", "items"}


def _spots(parent: ast.AST) -> Iterator[_Spot]:
    """What a learner wrote of a definition: no signature, no annotation, no docstring, nothing that only says something."""
    for field, value in ast.iter_fields(parent):
        if field in _GIVEN and not isinstance(parent, ast.Call):
            continue
        for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(node, ast.AST) and not _says_something_only(node):
                if hasattr(node, "lineno"):
                    yield _Spot(node, parent, field, index)
                yield from _spots(node)


def _is_docstring(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def _says_something_only(node: ast.AST) -> bool:
    match node:
        case ast.Assert() | ast.Raise():
            return True
        case ast.If(body=body, orelse=[]):
            return all(map(_says_something_only, body))
        case ast.Expr(value=ast.Call(func=ast.Name(id="print") | ast.Attribute(attr="warn" | "__init__"))):
            return True
    return _is_docstring(node)


def _is_harmless(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        return False
    made = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return all(_name(each) in _HARMLESS_DECORATORS for each in made)


# ---------------------------------------------------------------------------------- what


def _replacements(
    spot: _Spot, lines: list[str], names: set[str], attributes: set[str]
) -> Iterator[tuple[str, str]]:
    """What may stand in a node's place: the kind of the change, and a text; an empty text leaves a statement out.

    Args:
        names, attributes: those of the definition.
    """

    def text(node: ast.AST) -> str:
        return _piece(lines, node)

    filled = {"empty", "empty_like"} & (names | attributes)  # else an array has whatever was in memory
    match spot.node:
        case ast.keyword(arg="axis" | "dim", value=value) if (number := _whole(value)) in _AXES:
            yield "axis", f"{spot.node.arg}={_AXES[number]}"
        case ast.keyword(arg="keepdims" | "keepdim", value=ast.Constant(value=True)):
            yield "keepdims", f"{spot.node.arg}=False"
        case ast.keyword(arg="k" | "diagonal", value=ast.Constant(value=0 | 1 as number)):
            yield "off by one", f"{spot.node.arg}={1 - number}"
        case ast.BinOp():
            yield from _of_operation(spot.node, lines)
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
            yield "negation", text(operand)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float(value))) if value >= 1e4:
            yield "number", "0.0"
        case ast.UnaryOp(op=ast.USub(), operand=ast.Name() | ast.Call() | ast.Attribute() as operand):
            yield "negation", text(operand)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
            yield "comparison", f"{text(left)} {_COMPARED[type(op)]} {text(right)}"
        case ast.Call():
            yield from _of_call(spot.node, lines)
        case ast.Attribute(value=value, attr="T" | "mT", ctx=ast.Load()):
            yield "transpose left out", text(value)
        case ast.Name() if isinstance(spot.parent, ast.Tuple | ast.Return) and _starts_with_return(
            lines, spot.node
        ):
            return  # `return weights, weights` teaches nothing
        case ast.Name(id=name, ctx=ast.Load()) if spot.field != "func":
            yield from (("another variable", other) for other in _relatives(name, names))
        case ast.Attribute(value=value, attr=name, ctx=ast.Load()) if isinstance(value, ast.Name):
            yield from (
                ("another variable", f"{text(value)}.{other}") for other in _relatives(name, attributes)
            )
        case ast.Slice(lower=lower, upper=upper, step=None) if (_whole(lower) is None) != (
            _whole(upper) is None
        ) and _name(getattr(spot.parent, "value", spot.parent)) != "shape":
            yield "slice", ":"
        case ast.AugAssign() | ast.Assign(targets=[ast.Subscript()]) if not spot.is_alone and not filled:
            yield "line left out", ""
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
            name in _names(value) and not spot.is_alone
        ):
            yield "line left out", ""


def _of_operation(node: ast.BinOp, lines: list[str]) -> Iterator[tuple[str, str]]:
    """What may stand in the place of a sum, a product and the like."""
    left, op, right = node.left, node.op, node.right
    if isinstance(op, ast.Div | ast.Sub | ast.Pow | ast.Add | ast.Mult) and not isinstance(
        left, ast.Constant
    ):
        yield "part left out", _piece(lines, left)
    if isinstance(op, ast.Add) and not isinstance(right, ast.Constant):
        yield "part left out", _piece(lines, right)
    counted = isinstance(right, ast.Constant)  # `n - 1` for `n + 1` is a slip and no idea
    if type(op) in _SIGNS and not counted and (between := _between(lines, left, right)):
        sign = "+" if isinstance(op, ast.Sub) else "-" if isinstance(op, ast.Add) else _SIGNS[type(op)]
        old = next(each for each in "+-&|" if each in between)
        yield (
            "sign",
            f"{_text_from(lines, node, left)}{between.replace(old, sign, 1)}{_text_to(lines, right, node)}",
        )


def _of_call(node: ast.Call, lines: list[str]) -> Iterator[tuple[str, str]]:
    """What may stand in the place of a call."""
    func, args, keywords = node.func, node.args, node.keywords
    name, rest = _name(func), [_piece(lines, each) for each in [*args, *keywords]]
    if name in _RELATED and isinstance(func, ast.Attribute):
        yield (
            "related function",
            f"{_piece(lines, func)[: -len(name)]}{_RELATED[name]}({', '.join(rest)})",
        )
    if name == "where" and len(args) == 3:
        yield "branches swapped", f"{_piece(lines, func)}({rest[0]}, {rest[2]}, {rest[1]})"
    if name in _OF_AXES and len(args) == 2 and (number := _whole(args[1])) in _AXES:
        yield "axis", f"{_piece(lines, func)}({rest[0]}, {', '.join([_AXES[number], *rest[2:]])})"
    if name in ("triu", "tril") and len(args) == 2 and _whole(args[1]) in (0, 1):
        yield "off by one", f"{_piece(lines, func)}({rest[0]}, {1 - _whole(args[1])})"
    if name in _SINGLE and args and not isinstance(args[0], ast.Starred):
        yield "step left out", rest[0]
    if name in ("swapaxes", "transpose", "permute") and len(args) >= 2 and _is_method(func):
        yield "transpose left out", _piece(lines, func.value)
    if name == "range" and len(args) == 1 and isinstance(args[0], ast.Name):
        yield "off by one", f"range({rest[0]} - 1)"
    if name == "range" and len(args) == 2 and _whole(args[0]) in (0, 1):
        yield "off by one", f"range({1 - _whole(args[0])}, {rest[1]})"


def _text_from(lines: list[str], outer: ast.AST, inner: ast.AST) -> str:
    """The text from the beginning of a node to the end of one in it."""
    return _cut(lines[outer.lineno - 1], outer.col_offset, inner.end_col_offset)


def _text_to(lines: list[str], inner: ast.AST, outer: ast.AST) -> str:
    """The text from the beginning of a node to the end of the one around it."""
    return _cut(lines[outer.lineno - 1], inner.col_offset, outer.end_col_offset)


def _between(lines: list[str], left: ast.AST, right: ast.AST) -> str:
    found = _cut(lines[left.end_lineno - 1], left.end_col_offset, right.col_offset)
    return found if re.fullmatch(r"[\s()]*[-+&|][\s()]*", found) else ""


def _is_method(func: ast.AST) -> bool:
    """Whether a call is of a value's own method, and not of a package's function."""
    return isinstance(func, ast.Attribute) and _name(func.value) not in ("np", "torch", "tf", "ops", "numpy")


def _starts_with_return(lines: list[str], node: ast.AST) -> bool:
    return lines[node.lineno - 1].lstrip().startswith("return")


def _relatives(name: str, names: set[str]) -> list[str]:
    """Names of the same family that the definition has, too: ``w_key`` for ``w_query``."""
    found = []
    words = re.split(r"(_)", name)
    for family in _FAMILIES:
        for at, word in enumerate(words):
            if word in family:
                others = ("".join([*words[:at], each, *words[at + 1 :]]) for each in family if each != word)
                found += [each for each in others if each in names]
    return found


def _changed(tree: ast.Module, spot: _Spot, lines: list[str], kind: str, text: str) -> Change | None:
    """The definition with a text in a node's place; None if it would not be read as just that."""
    node = spot.node
    meant = _meant(spot, text)
    if meant is None or _is_idle(spot, meant):
        return None
    spot.put(meant)
    wanted = ast.dump(tree)
    spot.put(node)
    number = node.lineno
    line = lines[number - 1]
    before, after = _cut(line, 0, node.col_offset), _cut(line, node.end_col_offset, None)
    forms = [
        before + each + after
        for each in ((text, f"({text})") if isinstance(node, ast.expr) else (text or "pass",))
    ]
    if before.endswith("(") and after.startswith(")"):  # they may have been there for what is gone
        forms.insert(0, before[:-1] + text + after[1:])
    for new in forms:
        source = "\n".join([*lines[: number - 1], new, *lines[number:]])
        read = _parsed(source)
        if read is not None and ast.dump(read) == wanted:
            return Change(kind, number, _code(line), "" if kind == "line left out" else _code(new), source)
    return None


def _is_idle(spot: _Spot, meant: ast.AST) -> bool:
    """Whether the change would give what nobody writes: `x = x`, `x < x`, `x - x`, `words[x:x]`."""
    match spot.parent:
        case ast.Assign(targets=[ast.Name(id=one)]):
            return isinstance(meant, ast.Name) and one == meant.id
        case ast.Compare(left=left, comparators=[right]) | ast.BinOp(left=left, right=right):
            pass
        case ast.Slice(lower=ast.AST() as left, upper=ast.AST() as right):
            pass
        case _:
            return False
    other = right if spot.node is left else left
    return ast.dump(other) == ast.dump(meant)


def _meant(spot: _Spot, text: str) -> ast.AST | None:
    if not text:
        return ast.Pass() if spot.index is not None else None
    try:
        match spot.node:
            case ast.keyword():
                return ast.parse(f"f({text})", mode="eval").body.keywords[0]
            case ast.Slice():
                return ast.parse(f"f[{text}]", mode="eval").body.slice
        return ast.parse(f"({text})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None


# ---------------------------------------------------------------------------------- texts


def _code(line: str) -> str:
    """A line without indentation and without the comment at its end."""
    return re.sub(r"\s+#[^'\"]*$", "", line.strip())


def _cut(line: str, start: int, end: int | None) -> str:
    """Python counts a node's place in bytes."""
    return line.encode()[start:end].decode()


def _piece(lines: list[str], node: ast.AST) -> str:
    return (
        _cut(lines[node.lineno - 1], node.col_offset, node.end_col_offset)
        if node.lineno == node.end_lineno
        else ""
    )


def _whole(node: ast.AST | None) -> int | None:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None


def _name(node: ast.AST) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _names(tree: ast.AST) -> set[str]:
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return named | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def _attributes(tree: ast.AST) -> set[str]:
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
