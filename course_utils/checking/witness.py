"""Watches, while a case runs, which operations do the work: the second witness for ready-made things.

The first one reads the source (:mod:`course_utils.checking.bypass`) and cannot see what only the running code knows: that
``torch.as_tensor(scores).softmax(-1)`` is a method of a tensor. Here PyTorch is asked for every call that it handles, and Python for
calls of some of its functions; what :mod:`course_utils.checking.ready_made` lists is counted, with the learner's own
line. It watches from within the learner's process, so code that sets out to deceive it can. The judge counts what it reports as one testimony of
two, and an empty report proves nothing.
"""

from __future__ import annotations

import contextlib
import inspect
import linecache
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import FrameType, FunctionType, ModuleType
from typing import Any

from course_utils.checking.ready_made import works_of

MAX_NAME = 100
MAX_LINE = 100
"""How many characters of a name and of a line are kept."""

_WORKING = (
    "__init__",
    "__call__",
    "forward",
    "call",
    "fit",
    "transform",
    "fit_transform",
    "split",
    "from_pretrained",
)
"""The methods of a class that count as a use of it, if it defines them itself."""


@dataclass(frozen=True)
class Seen:
    """A ready-made thing that did work while a case ran.

    Attributes:
        name: what was called first.
        count: how often this or something that does the same was called.
        line: the learner's own line, in its cell; 0 if it is not known.
    """

    name: str
    count: int
    line: int = 0
    text: str = ""


class Witness:
    """What has been seen so far; :func:`watching` lets it see.

    Args:
        namespace: globals of the notebook, to find the learner's own line.
        judged: names of the notebook that are judged on their own: what they call is not counted here.

    Attributes:
        inside: whether a call that has been noted is still at work.
    """

    def __init__(self, namespace: Any, judged: Collection[str]) -> None:
        self.namespace = namespace
        self.judged = judged
        self._first: dict[int, Seen] = {}
        self._counts: dict[int, int] = {}
        self.inside = False

    @property
    def seen(self) -> tuple[Seen, ...]:
        """One of each work, in the order in which they were first seen."""
        return tuple(
            Seen(first.name, self._counts[work], first.line, first.text)
            for work, first in self._first.items()
        )

    def note(self, work: int, name: str, caller: FrameType | None) -> None:
        """Counts a call.

        Args:
            work: the number of what it does; of each, the first call is described.
            caller: the frame from which it came.
        """
        if self.inside:
            return
        own = None
        while caller is not None:
            if caller.f_globals is self.namespace:
                if caller.f_code.co_qualname.partition(".")[0] in self.judged:
                    return
                own = own or caller
            caller = caller.f_back
        self._counts[work] = self._counts.get(work, 0) + 1
        if work not in self._first:
            line = own.f_lineno if own else 0
            text = linecache.getline(own.f_code.co_filename, line).strip() if own else ""
            text = "".join(filter(str.isprintable, text[:MAX_LINE]))
            self._first[work] = Seen(name[:MAX_NAME], 0, line, text)


@contextlib.contextmanager
def watching(
    bypasses: tuple[str, ...], namespace: Any, judged: Collection[str] = (), closely: bool = False
) -> Iterator[Witness]:
    """Lets a witness see what runs inside the ``with`` block. It sees nothing if there is nothing to watch for.

    No name stands for anything else meanwhile, and afterwards all is as it was.

    Args:
        bypasses: an exercise's.
        closely: also what PyTorch runs below the calls from Python (in compiled code, say), which doubles the time. Once an exercise
            is enough for that.
    """
    witness = Witness(namespace, judged)
    with contextlib.ExitStack() as stack:
        if bypasses:
            works = works_of(bypasses)
            operations = {name: number for number, work in enumerate(works) for name in work.operations}
            torch = sys.modules.get("torch")
            if operations and hasattr(torch, "nn"):  # imported, and to its end
                for mode in _modes()[: 2 if closely else 1]:
                    stack.enter_context(mode(operations, witness))
            functions = _watched(bypasses, len(sys.modules))
            stack.callback(lambda: [function.stop() for function in functions])
            for function in functions:
                function.start(witness)
        yield witness


@lru_cache(maxsize=8)
def _modes() -> tuple[type, type]:
    """Two of PyTorch's own ways to look at its work: at each call from Python, and at each operation that is dispatched."""
    from torch.overrides import TorchFunctionMode, resolve_name
    from torch.utils._python_dispatch import TorchDispatchMode

    class AtEachCall(TorchFunctionMode):
        def __init__(self, operations: Mapping[str, int], witness: Witness) -> None:
            super().__init__()
            self.operations, self.witness = operations, witness

        def __torch_function__(self, func, types, args=(), kwargs=None):
            name = getattr(func, "__name__", "").partition(".")[0]
            if (work := self.operations.get(name)) is None or self.witness.inside:
                return func(*args, **(kwargs or {}))
            self.witness.note(work, resolve_name(func) or f"torch.{name}", sys._getframe(1))
            self.witness.inside = True
            try:
                return func(*args, **(kwargs or {}))
            finally:
                self.witness.inside = False

    class AtEachOperation(TorchDispatchMode):
        def __init__(self, operations: Mapping[str, int], witness: Witness) -> None:
            super().__init__()
            self.operations, self.witness = operations, witness

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            name = func.overloadpacket.__name__
            if (work := self.operations.get(name)) is not None:
                self.witness.note(work, f"torch.ops.aten.{name}", sys._getframe(1))
            return func(*args, **(kwargs or {}))

    return AtEachCall, AtEachOperation


class _Watched:
    """A Python function that says when it is called, wherever its name has been imported to.

    It is given other code for that time, so nothing else becomes slower: a profiler would see every call there is.
    """

    def __init__(self, function: FunctionType, work: int, name: str) -> None:
        self.function, self.own = function, function.__code__
        self.witness: Witness | None = None
        self.signature = inspect.signature(function)  # Keras asks for those of methods
        original = FunctionType(
            self.own, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        original.__kwdefaults__ = function.__kwdefaults__

        def report(*args, **kwargs):
            if self.witness:
                self.witness.note(work, name, sys._getframe(2))
            return original(*args, **kwargs)

        constants = tuple(report if each is ... else each for each in _passes_on.__code__.co_consts)
        self.code = _passes_on.__code__.replace(co_consts=constants, co_freevars=self.own.co_freevars)

    def start(self, witness: Witness) -> None:
        if self.function.__code__ is self.own and "__signature__" not in vars(self.function):
            self.witness, self.function.__signature__ = witness, self.signature
            self.function.__code__ = self.code

    def stop(self) -> None:
        if self.witness:
            self.function.__code__ = self.own
            self.witness = None
            del self.function.__signature__


def _passes_on(*args, **kwargs):
    function = ...
    return function(*args, **kwargs)


@lru_cache(maxsize=32)
def _watched(bypasses: tuple[str, ...], _modules: int) -> tuple[_Watched, ...]:
    """The Python functions to watch.

    Args:
        _modules: how many modules are loaded; code can call only these.
    """
    found: dict[int, _Watched] = {}
    for number, work in enumerate(works_of(bypasses)):
        for name in (*sorted(work.declared_by), *sorted(work.names)):
            for function in _functions_of(_loaded(name)):
                if id(function) not in found:
                    found[id(function)] = _Watched(function, number, name)
    return tuple(found.values())


def _loaded(name: str) -> Any:
    """What a dotted name stands for, if that is loaded; None otherwise. Nothing is imported."""
    parts = name.split(".")
    at = next((at for at in range(len(parts) - 1, 0, -1) if ".".join(parts[:at]) in sys.modules), 0)
    value: Any = sys.modules.get(".".join(parts[:at])) if at else None
    for part in parts[at:]:
        # not getattr on a module: some import what they are asked for
        value = vars(value).get(part) if isinstance(value, ModuleType) else getattr(value, part, None)
    return value


def _functions_of(value: Any) -> Iterator[FunctionType]:
    """The function itself, or those of a class that count as a use of it; without what is wrapped around them."""
    methods = (vars(value).get(name) for name in _WORKING) if inspect.isclass(value) else (value,)
    for method in methods:
        with contextlib.suppress(ValueError):  # wrapped in a circle
            function = inspect.unwrap(getattr(method, "__func__", method))
            if isinstance(function, FunctionType):
                yield function
