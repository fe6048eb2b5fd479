"""Where names are bound in Python code, and what they may stand for there."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Mention(NamedTuple):
    """Where something that is looked for is mentioned: its full ``name``, the line of its cell (from 1), and the text of that line."""

    name: str
    line: int
    text: str


@dataclass(eq=False)
class Node:
    """What a name stands for, or a piece of code.

    Attributes:
        paths: dotted names of libraries that it may stand for, as far as they can lead to what is looked for.
        mentions: what is looked for and mentioned in the code itself.
        links: what the code mentions.
        later: a function whose body counts only if something reaches it, and the scope in which it is defined.
    """

    paths: frozenset[str] = frozenset()
    mentions: list[Mention] = field(default_factory=list)
    links: list[Node] = field(default_factory=list)
    later: tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, Scope] | None = None


@dataclass(eq=False)
class Scope:
    """Where names are bound.

    Attributes:
        lines: of the cell.
        env: what each name stands for now.
        outer: where names that are not bound here are looked up.
        own: the names that are local to a function or comprehension. None: a module or class, which binds
            whatever is assigned there.
    """

    lines: list[str]
    env: dict[str, Node]
    outer: Scope | None = None
    own: frozenset[str] | None = None
    is_class: bool = False

    def find(self, name: str) -> Node | None:
        """What a name stands for here; None if that is not known."""
        scope: Scope | None = self
        while scope:
            if name in scope.env or (scope.own is not None and name in scope.own):
                return scope.env.get(name)
            scope = scope.outer
        return None

    def bind(self, name: str, node: Node, maybe: bool = False) -> None:
        """Lets a name stand for something; with ``maybe``, also for what it stood for."""
        scope = self
        while scope.own is not None and name not in scope.own and scope.outer:
            scope, maybe = scope.outer, True  # global, nonlocal, or := in a comprehension
        old = scope.env.get(name) if maybe else None
        scope.env[name] = Node(old.paths | node.paths, links=[old, node]) if old else node

    def inner(self, own: Iterable[str]) -> Scope:
        """The scope of a function defined here: it does not see the names of a class around it."""
        outer = self
        while outer.is_class and outer.outer:
            outer = outer.outer
        return Scope(self.lines, {}, outer, frozenset(own))


_CODE_OF_ITS_OWN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def local_names(body: Sequence[ast.stmt]) -> set[str]:
    """The names that a function's body binds, and that are therefore local to it."""
    elsewhere = {
        name for part in flat(body) if isinstance(part, ast.Global | ast.Nonlocal) for name in part.names
    }
    return set(bound_names(body)) - elsewhere


def bound_names(parts: Iterable[ast.AST]) -> Iterator[str]:
    """The names that statements (or targets) bind where they stand."""
    for part in flat(parts):
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


def flat(parts: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All parts and their parts, without the insides of functions, classes and comprehensions."""
    work = list(parts)
    while work:
        part = work.pop()
        yield part
        if isinstance(part, ast.comprehension):
            work += [part.iter, *part.ifs]  # its target is its own
        elif not isinstance(part, _CODE_OF_ITS_OWN):
            work += parts_of(part)


def parts_of(tree: ast.AST) -> Iterator[ast.AST]:
    """The direct parts of a piece of code."""
    return ast.iter_child_nodes(tree)


def owner_of(target: ast.expr) -> list[str]:
    """The variable that is changed by an assignment to an attribute or item; none for other assignments."""
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
    return [target.id] if isinstance(target, ast.Name) else []
