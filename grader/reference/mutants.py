"""Mutants of a solution: copies of its text with one small mistake in each, of the kinds that people make.

:mod:`grader.author.mutate` runs them and sees which of them the checks let pass.
"""

from __future__ import annotations

import ast
import difflib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from grader.reference.lab import Lab, is_solution, learners_lines, nbgrader_of


@dataclass(frozen=True)
class Mutant:
    """A solution with one mistake in it.

    Attributes:
        kind: what was done, in a few words.
        old, new: the lines that differ, as Python writes them out, without their indentation.
        source: the whole text.
        place: counts from 1 at the top where the text can be changed so at several places, because the same lines stand at each;
            else it is None.
    """

    kind: str
    old: str
    new: str
    source: str
    place: int | None = None


def mutants_of(lab: Lab, name: str) -> list[Mutant]:
    """Every mutant of an exercise's reference, in what learners write of it."""
    marked = next(
        cell.source
        for cell in lab.source().cells
        if nbgrader_of(cell).get("grade_id") == name and is_solution(cell)
    )
    return mutants(lab.solution_texts[name], learners_lines(marked))


def mutants(source: str, lines: set[int] | None = None) -> list[Mutant]:
    """Every mutant of a text, each change once.

    Args:
        lines: the lines that may be changed; None: all. Signatures, annotations, decorators and docstrings are never changed.
    """
    tree = ast.parse(source)
    plain = ast.unparse(tree)
    found: dict[str, Mutant] = {}
    spots = list(_spots(tree, lines))
    for changes in [
        *map(_changes, spots),
        _ignored_arguments(tree, lines),
        *map(_too_much_or_too_little, spots),
        _other_defaults(tree),
        _left_in_evaluation_mode(tree, lines),
        _cut_gradients(tree, lines),
    ]:
        for kind, change in changes:
            undo = change()
            try:
                text = ast.unparse(ast.fix_missing_locations(tree))
                with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
                    compile(text, "<mutant>", "exec")
            except (SyntaxError, ValueError, RecursionError):
                text = plain
            undo()
            if text != plain and text not in found:
                found[text] = Mutant(kind, *_difference(plain, text), text)
    return _with_places(list(found.values()))


def _with_places(found: list[Mutant]) -> list[Mutant]:
    places = Counter((mutant.old, mutant.new) for mutant in found)
    seen: Counter[tuple[str, str]] = Counter()
    with_places = []
    for mutant in found:  # from the top of the text to its end
        change = mutant.old, mutant.new
        seen[change] += 1
        with_places.append(replace(mutant, place=seen[change]) if places[change] > 1 else mutant)
    return with_places


def _difference(before: str, after: str) -> tuple[str, str]:
    old, new = before.splitlines(), after.splitlines()
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    changed = [block for block in blocks if block[0] != "equal"]
    gone = [line.strip() for _, start, end, _, _ in changed for line in old[start:end]]
    come = [line.strip() for _, _, _, start, end in changed for line in new[start:end]]
    return " ⏎ ".join(gone), " ⏎ ".join(come)


# ---------------------------------------------------------------------------------- where


@dataclass(frozen=True)
class _Spot:
    """A node and the place that it is in.

    Attributes:
        function: the innermost function around it.
    """

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    function: ast.FunctionDef | None

    def put(self, new: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, new)
        else:
            getattr(self.parent, self.field)[self.index] = new


_NOT_LEARNERS = {"annotation", "returns", "decorator_list", "type_params", "args", "bases", "items"}
"""Fields of functions, classes, assignments and with statements that the course gives, or that are no part of the result."""


def _spots(tree: ast.AST, lines: set[int] | None) -> Iterator[_Spot]:
    def walk(parent: ast.AST, function: ast.FunctionDef | None) -> Iterator[_Spot]:
        for field, value in ast.iter_fields(parent):
            if field in _NOT_LEARNERS and not isinstance(parent, ast.Call):
                continue
            for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if not isinstance(node, ast.AST) or _says_something_only(node):
                    continue
                if isinstance(node, ast.keyword) and node.arg in _NO_RESULT:
                    continue
                number = getattr(node, "lineno", None)
                if number is not None and (lines is None or number in lines):
                    yield _Spot(node, parent, field, index, function)
                yield from walk(node, node if isinstance(node, ast.FunctionDef) else function)

    yield from walk(tree, None)


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _says_something_only(node: ast.AST) -> bool:
    """Docstrings, assertions, errors that are raised, prints and warnings: no check is about these."""
    match node:
        case ast.Assert() | ast.Raise():
            return True
        case ast.If(body=body, orelse=[]):
            return all(map(_says_something_only, body))
        case ast.Expr(value=ast.Call(func=ast.Name(id="print") | ast.Attribute(attr="warn"))):
            return True
    return _is_docstring(node)


# ---------------------------------------------------------------------------------- what

_Change = Callable[[], Callable[[], None]]
"""Makes the change, and returns what takes it back."""


def _changes(spot: _Spot) -> Iterator[tuple[str, _Change]]:
    """What may go wrong at a node."""
    for kind, new in _replacements(spot):
        yield kind, _replacing(spot, new)
    for kind, owner, name, value in _attributes(spot):
        yield kind, _setting(owner, name, value)


def _replacing(spot: _Spot, new: ast.AST) -> _Change:
    def change() -> Callable[[], None]:
        spot.put(new)
        return lambda: spot.put(spot.node)

    return change


def _setting(owner: ast.AST, name: str, value: object) -> _Change:
    def change() -> Callable[[], None]:
        before = getattr(owner, name)
        setattr(owner, name, value)
        return lambda: setattr(owner, name, before)

    return change


_COMPARED = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq, ast.GtE, ast.LtE), ast.NotEq: (ast.Eq, ast.Gt, ast.Lt), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip

_COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult, ast.MatMult: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip

_CONFUSED = [
    ("min", "max"), ("max", "mean"), ("argmin", "argmax"), ("minimum", "maximum"), ("any", "all"), ("sum", "mean"), ("zeros", "ones"),
    ("zeros_like", "ones_like"), ("triu", "tril"), ("sin", "cos"), ("floor", "ceil"), ("round", "floor"), ("append", "extend"),
    ("softmax", "log_softmax"), ("exp", "log"), ("var", "std"), ("startswith", "endswith"), ("find", "rfind"),
    ("strip", "lstrip"), ("logical_and", "logical_or"), ("add", "multiply"), ("amin", "amax"), ("concatenate", "stack"),
    ("cat", "stack"), ("repeat", "tile"), ("relu", "gelu"), ("tanh", "sigmoid"), ("train", "eval"), ("split", "rsplit"),
]  # fmt: skip
_CONVERSIONS = {
    "asarray",
    "ascontiguousarray",
    "astype",
    "clone",
    "contiguous",
    "copy",
    "detach",
    "float",
    "list",
    "numpy",
    "tolist",
}
_SYMMETRIC = {
    "swapaxes",
    "transpose",
    "maximum",
    "minimum",
    "isclose",
    "array_equal",
    "logical_and",
    "logical_or",
    "equal",
}
_IN_PLACE = {ast.Add: "__iadd__", ast.Sub: "__isub__", ast.Mult: "__imul__", ast.Div: "__itruediv__"}
_COPIES = {"array", "clone", "copy", "deepcopy", "dict", "list", "set"}
_WHOLE = {"int", "int32", "int64", "intp", "long"}
_NO_RESULT = {"copy", "device", "encoding", "name", "optimize", "strict"}
"""Keywords that change nothing in what comes back."""
_TINY, _HUGE = 1e-5, 1e4
"""A number beyond these stands for "almost nothing" or "very much", and ten times as much stands for the same."""

_OTHERS = {
    name: [each for pair in _CONFUSED if name in pair for each in pair if each != name]
    for name in sum(_CONFUSED, ())
}


def _replacements(spot: _Spot) -> Iterator[tuple[str, ast.AST]]:
    match spot.node:
        case ast.Constant(value=bool(value)):
            yield "the other truth value", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "off by one", ast.Constant(value + 1)
            yield "off by one", ast.Constant(value - 1)
            if value not in (0, 1):
                yield "another number", ast.Constant(0)
        case ast.Constant(value=float(value)):
            if not value or _TINY < abs(value) < _HUGE:
                yield "another number", ast.Constant(value * 10 if value else 1.0)
            yield "another number", ast.Constant(0.0)
            if value:
                yield "another sign", ast.Constant(-value)
        case ast.Constant(value=str(value)) if value and _is_data(spot):
            yield "another text", ast.Constant("")
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert(), operand=operand):
            yield "sign or negation left out", operand
        case ast.BinOp(left=left, op=op, right=right):
            yield "an operand left out", left
            yield "an operand left out", right
            if isinstance(op, ast.Sub | ast.Div | ast.FloorDiv | ast.MatMult | ast.Pow | ast.Mod):
                yield "operands swapped", ast.BinOp(right, op, left)
            if type(op) in _IN_PLACE and isinstance(left, ast.Name) and left.id in _inputs(spot.function):
                in_place = ast.Attribute(left, _IN_PLACE[type(op)], ast.Load())
                yield "an input changed in place", ast.Call(in_place, [right], [])
        case ast.BoolOp(values=values):
            for at in range(len(values)):
                rest = [*values[:at], *values[at + 1 :]]
                yield (
                    "a condition left out",
                    rest[0] if len(rest) == 1 else ast.BoolOp(spot.node.op, rest),
                )
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            yield "truth instead of None", left
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            yield "truth instead of None", ast.UnaryOp(ast.Not(), left)
        case ast.Call(func=func, args=args):
            yield from _special_calls(spot, spot.node)
            if _name_of(func) in _CONVERSIONS:
                return
            if isinstance(func, ast.Attribute) and not _is_module(func.value):
                yield "a call left out", func.value
            for arg in args[:2]:
                if not isinstance(arg, ast.Starred):
                    yield "a call left out", arg
        case ast.Tuple(elts=elements, ctx=ast.Load()) if isinstance(spot.parent, ast.Return):
            for at in range(len(elements) - 1):
                swapped = [*elements[:at], elements[at + 1], elements[at], *elements[at + 2 :]]
                yield "returned values swapped", ast.Tuple(swapped, ast.Load())
        case ast.Name(id="training", ctx=ast.Load()) | ast.Attribute(attr="training", ctx=ast.Load()):
            yield "a training flag fixed", ast.Constant(True)
            yield "a training flag fixed", ast.Constant(False)
        case ast.Name(id=name, ctx=ast.Load()):
            if name in _WHOLE and spot.field != "func":
                yield "another dtype", ast.Name("float", ast.Load())
            for other in _neighbours(name, spot.function):
                yield "another variable", ast.Name(other, ast.Load())
        case ast.Subscript(value=value, ctx=ast.Load()):
            yield "an index left out", value
        case ast.Attribute(value=value, attr="T" | "mT", ctx=ast.Load()):
            yield "a transpose left out", value
        case ast.Attribute(value=value, attr=name, ctx=ast.Load()) if name in _WHOLE and _is_module(value):
            yield "another dtype", ast.Attribute(value, "float32", ast.Load())
        case ast.AugAssign(target=target, value=value):
            yield "a statement left out", ast.Pass()
            yield "replaced instead of added to", ast.Assign([target], value)
        case ast.Return() if spot.function is not None and spot.node is not spot.function.body[-1]:
            yield "a statement left out", ast.Pass()
        case ast.Assign() | ast.Expr() | ast.If() | ast.For() | ast.Break() | ast.Continue():
            yield "a statement left out", ast.Pass()
    if isinstance(spot.node, ast.expr):
        yield from _by_place(spot, spot.node)


def _special_calls(spot: _Spot, call: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    """What goes wrong with some calls only."""
    name, args = _name_of(call.func), call.args
    if name in ("sorted", "reversed") and args and _is_input(args[0], spot.function):
        method = ast.Attribute(args[0], "sort" if name == "sorted" else "reverse", ast.Load())
        both = ast.Tuple([ast.Call(method, [], call.keywords), args[0]], ast.Load())
        yield "an input changed in place", ast.Subscript(both, ast.Constant(1), ast.Load())
    original = args[0] if args else getattr(call.func, "value", None)
    if name in _COPIES and original is not None and isinstance(spot.parent, ast.Assign) and _is_changed(spot):
        yield "a copy left out", original
    if name in ("max", "amax") and {each.arg for each in call.keywords} & {"keepdims", "keepdim"}:
        whole = args[0] if isinstance(call.func, ast.Name) or _is_module(call.func.value) else call.func.value
        first = ast.Tuple([ast.Constant(...), ast.Slice(upper=ast.Constant(1))], ast.Load())
        yield "the first instead of the largest", ast.Subscript(whole, first, ast.Load())
    if _is_of_self(call.func) and call.keywords and call.keywords[0].arg not in (None, "training"):
        yield (
            "an argument by position",
            ast.Call(call.func, [*args, call.keywords[0].value], call.keywords[1:]),
        )
    if _is_of_self(call.func) and args and not isinstance(args[0], ast.Starred):
        if len(args) == 1 and "drop" not in name:
            yield "a layer used twice", ast.Call(call.func, [call], call.keywords)
        dropout = next((each for each in _attributes_of_self(spot.function) if "drop" in each), None)
        if dropout is not None and "drop" not in name and not isinstance(spot.parent, ast.Assign | ast.Expr):
            again = ast.Attribute(ast.Name("self", ast.Load()), dropout, ast.Load())
            yield "dropout once more", ast.Call(again, [call], [])


def _by_place(spot: _Spot, node: ast.expr) -> Iterator[tuple[str, ast.AST]]:
    """What goes wrong with an expression because of where it stands."""
    match spot.parent, spot.field:
        case ((ast.For() | ast.comprehension()), "iter"):
            as_list = ast.Call(ast.Name("list", ast.Load()), [node], [])
            every_but_last = ast.Slice(upper=ast.UnaryOp(ast.USub(), ast.Constant(1)))
            yield "a loop one short", ast.Subscript(as_list, every_but_last, ast.Load())
            every_but_first = ast.Slice(lower=ast.Constant(1))
            yield "a loop that begins late", ast.Subscript(as_list, every_but_first, ast.Load())
        case ast.comprehension(), "ifs":
            yield "a condition left out", ast.Constant(True)
        case (ast.Slice(), "lower" | "upper") | (ast.Subscript(), "slice") if not _is_number(node):
            if isinstance(spot.parent, ast.Slice) or isinstance(node, ast.Name):
                yield "off by one", ast.BinOp(node, ast.Add(), ast.Constant(1))
                yield "off by one", ast.BinOp(node, ast.Sub(), ast.Constant(1))


def _in_another_order(spot: _Spot) -> Iterator[tuple[str, list[ast.expr]]]:
    """The elements of a list or tuple, with one left out or two of them swapped."""
    node, parent = spot.node, spot.parent
    match node:
        case ast.List(elts=elements, ctx=ast.Load()) if len(elements) > 1:
            less, order = "an element left out", "elements swapped"
        case ast.Tuple(elts=elements, ctx=ast.Load()) if isinstance(parent, ast.Lambda):
            less, order = "a part of a sort key left out", "another sort key"
        case ast.Tuple(elts=elements, ctx=ast.Load()) if isinstance(parent, ast.Call | ast.Subscript):
            less, order = None, "elements swapped"
        case ast.Tuple(elts=elements, ctx=ast.Store()) if isinstance(
            getattr(parent, "value", None), ast.Call
        ):
            less, order = None, "returned values swapped"
        case _:
            return
    for at in range(len(elements)):
        if less:
            yield less, [*elements[:at], *elements[at + 1 :]]
        if at and not _mean_all_axes(elements[at - 1 : at + 1]):
            yield order, [*elements[: at - 1], elements[at], elements[at - 1], *elements[at + 1 :]]


def _attributes(spot: _Spot) -> Iterator[tuple[str, ast.AST, str, object]]:
    node = spot.node
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                for other in _COMPARED.get(type(op), ()):
                    yield "another comparison", node, "ops", [*ops[:at], other(), *ops[at + 1 :]]
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in _COMPUTED:
            yield "another operation", node, "op", _COMPUTED[type(op)]()
        case ast.BoolOp(op=op):
            yield "and for or", node, "op", ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.If() | ast.IfExp() | ast.While():
            yield "a branch never taken", node, "test", ast.Constant(False)
            if not isinstance(node, ast.While):
                yield "a branch always taken", node, "test", ast.Constant(True)
        case ast.Slice():
            for side in ("lower", "upper", "step"):
                if getattr(node, side) is not None:
                    yield "a bound left out", node, side, None
        case ast.Call(args=args, keywords=keywords):
            for at in range(len(keywords)):
                if keywords[at].arg not in {*_NO_RESULT, "requires_grad"} and not _is_dtype_of_floats(
                    keywords[at]
                ):
                    yield "an argument left out", node, "keywords", [*keywords[:at], *keywords[at + 1 :]]
            for at in range(0 if _name_of(node.func)[:1].isupper() else 1, len(args)):
                yield "an argument left out", node, "args", [*args[:at], *args[at + 1 :]]
            for at in range(len(args) - 1 if _name_of(node.func) not in _SYMMETRIC else 0):
                swapped = [*args[:at], args[at + 1], args[at], *args[at + 2 :]]
                yield "arguments swapped", node, "args", swapped
        case ast.Name(id=name):
            for other in _OTHERS.get(name, ()) if spot.field == "func" else ():
                yield "a related function", node, "id", other
        case ast.Attribute(attr=name):
            for other in _OTHERS.get(name, ()):
                yield "a related function", node, "attr", other
            if _is_of_self(node) and isinstance(node.ctx, ast.Load):
                for other in _other_attributes(name, spot.function):
                    yield "another attribute", node, "attr", other
    for kind, elements in _in_another_order(spot):
        yield kind, node, "elts", elements
    if isinstance(node, ast.For | ast.While) and not isinstance(
        node.body[-1], ast.Break | ast.Continue | ast.Return
    ):
        yield "a loop ended after its first round", node, "body", [*node.body, ast.Break()]


def _ignored_arguments(tree: ast.AST, lines: set[int] | None) -> Iterator[tuple[str, _Change]]:
    """Arguments that keep their defaults, whatever is passed."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            body = function.body
            at = next((at for at, each in enumerate(body) if lines is None or each.lineno in lines), None)
            if at is not None:
                at += _is_docstring(body[at])
                for name, default in _defaults(function):
                    fixed = ast.Assign([ast.Name(name, ast.Store())], default)
                    yield "an argument ignored", _setting(function, "body", [*body[:at], fixed, *body[at:]])


def _defaults(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    yield from (
        (argument.arg, default)
        for argument, default in zip(
            plain[len(plain) - len(arguments.defaults) :], arguments.defaults, strict=True
        )
    )
    yield from (
        (argument.arg, default)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is not None
    )


# ---------------------------------------------------------------------------------- what no output of one call may show

CUT = "the gradient cut"
"""A mistake only where an exercise says what gradients reach."""
LEFT = "a module left in evaluation mode"
"""No output of a single call shows it."""

_OF_TEXTS = {
    "lower",
    "upper",
    "casefold",
    "strip",
    "split",
    "splitlines",
    "startswith",
    "endswith",
    "replace",
    "find",
    "join",
}
_FAR_BELOW = -100.0
"""Taken for "below everything", which it is not."""


def _too_much_or_too_little(spot: _Spot) -> Iterator[tuple[str, _Change]]:
    """Casts left out, texts normalised once more, and a number that is not low enough."""
    for kind, new in _too_much(spot):
        yield kind, _replacing(spot, new)


def _too_much(spot: _Spot) -> Iterator[tuple[str, ast.AST]]:
    match spot.node:
        case ast.Call(func=ast.Attribute(value=value, attr="astype" | "float")) if not _is_module(value):
            yield "a cast left out", value
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value="-inf")]):
            yield "a number that is not low enough", ast.Constant(_FAR_BELOW)
        case ast.Call(func=ast.Name(id="float"), args=[arg]):
            yield "a cast left out", arg
        case ast.UnaryOp(op=ast.USub(), operand=ast.Attribute(attr="inf")):
            yield "a number that is not low enough", ast.Constant(_FAR_BELOW)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float(value))) if value >= _HUGE:
            yield "a number that is not low enough", ast.Constant(_FAR_BELOW)
        case ast.Attribute(value=ast.Call(func=func), attr="min") if _name_of(func) == "finfo":
            yield "a number that is not low enough", ast.Constant(_FAR_BELOW)
        case ast.Call(func=ast.Attribute(value=value, attr="join") as func, args=[arg]):
            in_order = ast.Call(ast.Name("sorted", ast.Load()), [arg], [])
            yield "normalised once more", ast.Call(func, [in_order], [])
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=args, keywords=keywords):
            if name in _OF_TEXTS and not _is_module(value):
                for method in sorted({"lower", "strip"} - {name}):
                    again = ast.Attribute(_called(value, method), name, ast.Load())
                    yield "normalised once more", ast.Call(again, args, keywords)
                if name == "split":
                    yield "normalised once more", ast.Call(ast.Name("sorted", ast.Load()), [spot.node], [])
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()] as ops, comparators=[right]):
            if _is_about_texts(spot.function) and not {type(left), type(right)} & {ast.Constant, ast.BinOp}:
                both = _called(left, "lower"), _called(right, "lower")
                yield "normalised once more", ast.Compare(both[0], ops, [both[1]])
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()] as ops, comparators=right):
            if _is_about_texts(spot.function) and not isinstance(left, ast.Constant):
                yield "normalised once more", ast.Compare(_called(left, "lower"), ops, right)
        case ast.Subscript(value=value, slice=ast.Name() as key, ctx=ast.Load()):
            if _is_about_texts(spot.function):
                yield "normalised once more", ast.Subscript(value, _called(key, "lower"), ast.Load())


def _called(value: ast.expr, method: str) -> ast.Call:
    return ast.Call(ast.Attribute(value, method, ast.Load()), [], [])


def _is_about_texts(function: ast.FunctionDef | None) -> bool:
    return function is not None and (
        "str" in ast.unparse(function.args)
        or any(isinstance(node, ast.Attribute) and node.attr in _OF_TEXTS for node in ast.walk(function))
    )


def _other_defaults(tree: ast.AST) -> Iterator[tuple[str, _Change]]:
    """Defaults of arguments: the course gives them, and a case must tell each."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for field in ("defaults", "kw_defaults"):
                values = getattr(function.args, field)
                for at, default in enumerate(values):
                    match default:
                        case ast.Constant(value=bool(value)):
                            new = not value
                        case ast.Constant(value=int(value)):
                            new = value + 1
                        case ast.Constant(value=float(value)):
                            new = value * 10 if value else 1.0
                        case _:
                            continue
                    changed = [*values[:at], ast.Constant(new), *values[at + 1 :]]
                    yield "another default", _setting(function.args, field, changed)


def _left_in_evaluation_mode(tree: ast.AST, lines: set[int] | None) -> Iterator[tuple[str, _Change]]:
    """A model that was handed over, and that the function trains or asks for its mode, is in evaluation mode when it has ended."""
    for function in _functions_of(tree, lines) if _uses(tree, "torch", "nn") else ():
        if isinstance(function.body[-1], ast.Return):
            for name in sorted(_inputs(function) & _models(function)):
                left = ast.Expr(_called(ast.Name(name, ast.Load()), "eval"))
                yield LEFT, _setting(function, "body", [*function.body[:-1], left, function.body[-1]])


def _models(function: ast.FunctionDef) -> set[str]:
    """The names whose mode or parameters the function uses, but whose ``eval`` it does not call."""
    used = [
        (node.value.id, node.attr)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    ]
    put_there = {name for name, attribute in used if attribute == "eval"}
    return {name for name, attribute in used if attribute in ("train", "parameters", "training")} - put_there


def _cut_gradients(tree: ast.AST, lines: set[int] | None) -> Iterator[tuple[str, _Change]]:
    """No gradient comes through what a function returns, or through one of its arguments."""
    if _uses(tree, "torch", "nn"):

        def cut(value: ast.expr) -> ast.expr:
            return _called(value, "detach")
    elif _uses(tree, "keras", "ops", "tf", "layers"):
        module = "tf" if _uses(tree, "tf") else "ops" if _uses(tree, "ops") else "keras.ops"
        stop = ast.parse(f"{module}.stop_gradient", mode="eval").body

        def cut(value: ast.expr) -> ast.expr:
            return ast.Call(stop, [value], [])
    else:
        return
    for function in _functions_of(tree, lines):
        last = function.body[-1]
        if isinstance(last, ast.Return) and last.value is not None:
            if isinstance(last.value, ast.Tuple):
                for at, part in enumerate(last.value.elts):
                    parts = [*last.value.elts[:at], cut(part), *last.value.elts[at + 1 :]]
                    yield CUT, _setting(last.value, "elts", parts)
            else:
                yield CUT, _setting(last, "value", cut(last.value))
        at = 1 if _is_docstring(function.body[0]) else 0
        for name in sorted(_inputs(function) - {"self"}):
            alone = ast.Assign([ast.Name(name, ast.Store())], cut(ast.Name(name, ast.Load())))
            yield CUT, _setting(function, "body", [*function.body[:at], alone, *function.body[at:]])


def _functions_of(tree: ast.AST, lines: set[int] | None) -> list[ast.FunctionDef]:
    """The functions of which a learner writes something."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [each for each in functions if lines is None or any(part.lineno in lines for part in each.body)]


def _uses(tree: ast.AST, *modules: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id in modules for node in ast.walk(tree))


def _neighbours(name: str, function: ast.FunctionDef | None) -> list[str]:
    """The variables of the function that were introduced just before and just after one of them."""
    if function is None:
        return []
    arguments = function.args
    names = [each.arg for each in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    names += [
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    known = [each for each in dict.fromkeys(names) if each != "self"]
    if name not in known:
        return []
    at = known.index(name)
    return [*known[max(0, at - 1) : at], *known[at + 1 : at + 2]]


def _other_attributes(name: str, function: ast.FunctionDef | None) -> list[str]:
    """The attributes of ``self`` that the function uses before and after one of them."""
    known = _attributes_of_self(function)
    if name not in known:
        return []
    at = known.index(name)
    return [*known[max(0, at - 1) : at], *known[at + 1 : at + 2]]


def _attributes_of_self(function: ast.FunctionDef | None) -> list[str]:
    nodes = ast.walk(function) if function is not None else ()
    return list(dict.fromkeys(node.attr for node in nodes if _is_of_self(node)))


def _is_of_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _inputs(function: ast.FunctionDef | None) -> set[str]:
    """The arguments of the function whose names never get another value (at most the same array again)."""
    if function is None:
        return set()
    arguments = function.args
    names = {each.arg for each in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.discard(node.id)
    for node in ast.walk(function):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=func, args=[ast.Name(id=of), *_])
            ):
                if name == of and _name_of(func) in ("asarray", "as_tensor"):
                    names.add(name)
    return names


def _is_input(node: ast.expr, function: ast.FunctionDef | None) -> bool:
    return isinstance(node, ast.Name) and node.id in _inputs(function)


def _is_changed(spot: _Spot) -> bool:
    """Whether the function changes what is assigned here, by an index or by one of its methods."""
    match spot.parent:
        case ast.Assign(targets=[ast.Name(id=name)]) if spot.function is not None:
            for node in ast.walk(spot.function):
                match node:
                    case ast.Subscript(value=ast.Name(id=other), ctx=ast.Store() | ast.Del()) if (
                        other == name
                    ):
                        return True
                    case ast.AugAssign(target=ast.Name(id=other)) if other == name:
                        return True
                    case ast.Call(func=ast.Attribute(value=ast.Name(id=other), attr=method)) if other == name:
                        if method in _CHANGING or method.endswith("_"):
                            return True
    return False


_CHANGING = {"add", "append", "extend", "insert", "pop", "remove", "reverse", "setdefault", "sort", "update"}


def _is_data(spot: _Spot) -> bool:
    """Whether a text is part of what is computed: no key, no part of a longer text."""
    match spot.parent:
        case ast.JoinedStr() | ast.FormattedValue() | ast.Subscript():
            return False
        case ast.Dict():
            return spot.field != "keys"
    return True


def _mean_all_axes(indices: list[ast.expr]) -> bool:
    """Whether these are ``...`` and ``:``, which mean the same in either order."""
    return {ast.unparse(each) for each in indices} == {"...", ":"}


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
    )


def _is_dtype_of_floats(keyword: ast.keyword) -> bool:
    return keyword.arg == "dtype" and _name_of(keyword.value) not in {*_WHOLE, "bool"}


_MODULES = {
    "np",
    "torch",
    "tf",
    "keras",
    "ops",
    "math",
    "nn",
    "F",
    "re",
    "random",
    "functional",
    "layers",
    "unicodedata",
}


def _name_of(function: ast.expr) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


def _is_module(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in _MODULES
