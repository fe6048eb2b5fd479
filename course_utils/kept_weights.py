"""Trained weights survive the kernel: after a cell that took long, the models that it names are written to a file each, in the learner's own folder.

:mod:`course_utils.continue_here` turns this on, and loads the files into the same models on another day. Nothing leaves the machine, nothing is handed in.
"""

from __future__ import annotations

import ast
import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from course_utils.checking.cells import parsed
from course_utils.checking.names import free_names
from course_utils.checking.time_limit import TooSlow, time_limit
from course_utils.progress import progress_file

LONG = 15.0
"""Seconds after which a cell is one that nobody wants to run again."""

MOST_BYTES = 120 * 2**20
"""Larger models are not kept."""

_ENDINGS = {"torch": ".pt", "keras": ".weights.h5"}
_kept_for: set[int] = set()


def folder_of(slug: str) -> Path:
    """Where a lab's weights are."""
    return progress_file().parent / "weights" / slug


def keep_what_trains(slug: str, shell: Any) -> None:
    """From now on keeps the weights of whatever a long cell of this session names. Once is enough for a session.

    Args:
        shell: IPython's; None where there is none.
    """
    if shell is None or id(shell) in _kept_for:
        return
    _kept_for.add(id(shell))
    begun = [time.monotonic()]
    shell.events.register("pre_run_cell", lambda info: begun.__setitem__(0, time.monotonic()))

    def after(result: Any) -> None:
        if result.success and time.monotonic() - begun[0] >= LONG:
            keep(slug, result.info.raw_cell, shell.user_ns)

    shell.events.register("post_run_cell", after)


def keep(slug: str, source: str, namespace: Mapping[str, Any]) -> None:
    """Writes the weights of the models that a cell names. What cannot be written is left out: no cell fails because of it."""
    for name in sorted({*free_names(parsed(source)), *_stored(source)}):
        value = namespace.get(name)
        if not (kind := _kind_of(value)):
            continue
        with contextlib.suppress(Exception):
            file = folder_of(slug) / f"{name}{_ENDINGS[kind]}"
            file.parent.mkdir(parents=True, exist_ok=True)
            scratch = file.with_name(f"new-{file.name}")
            if kind == "keras":
                if value.count_params() * 4 <= MOST_BYTES:
                    value.save_weights(scratch)
            else:
                import torch

                state = value.state_dict()
                if sum(each.numel() * each.element_size() for each in state.values()) <= MOST_BYTES:
                    torch.save({"state": state, "training": value.training}, scratch)
            scratch.replace(file)


def bring_back(slug: str, sources: Sequence[tuple[int, str]], namespace: dict[str, Any]) -> Iterator[str]:
    """Loads what is kept into the models of the same names, and yields a sentence about each.

    Args:
        sources: number and text of each cell above the place to go on: a model that is not there yet is made as they make it.
    """
    for file in sorted(folder_of(slug).glob("*")) if folder_of(slug).is_dir() else ():
        kind = next((each for each, ending in _ENDINGS.items() if file.name.endswith(ending)), "")
        if not kind or file.name.startswith("new-"):
            continue
        name = file.name.removesuffix(_ENDINGS[kind])
        place = next((number for number, text in reversed(sources) if name in _stored(text)), None)
        if place is None:
            continue
        made = _kind_of(namespace.get(name)) != kind and _make(name, sources, namespace)
        try:
            if _kind_of(namespace.get(name)) != kind:
                raise LookupError
            _load(kind, namespace[name], file)
        except Exception:
            if made:  # without its weights it would be taken for the trained one
                del namespace[name]
            yield f"The weights that `{name}` had are not loaded, because it cannot be made in the same form here: run cell {place} again."
        else:
            yield f"`{name}` has the weights again that it had when you trained it."


def _kind_of(value: Any) -> str:
    """``"torch"`` or ``"keras"``, if a value is a model of one of them; nothing is imported to find out."""
    for base in type(value).__mro__:
        if base.__name__ == "Module" and base.__module__.startswith("torch.nn"):
            return "torch"
        if base.__name__ == "Model" and base.__module__.startswith("keras."):
            return "keras"
    return ""


def _load(kind: str, model: Any, file: Path) -> None:
    if kind == "keras":
        model.load_weights(file)
        return
    import torch

    found = torch.load(file, weights_only=True)
    model.load_state_dict(found["state"])
    model.train(found["training"])


def _stored(source: str) -> set[str]:
    """The names that a cell gives a value to, outside of functions and classes."""
    return {
        target.id for node in _assignments(source) for target in node.targets if isinstance(target, ast.Name)
    }


def _assignments(source: str) -> Iterator[ast.Assign]:
    left: list[ast.AST] = [*parsed(source)]
    while left:
        node = left.pop(0)
        if isinstance(node, ast.Assign):
            yield node
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            left += ast.iter_child_nodes(node)


def _make(name: str, sources: Sequence[tuple[int, str]], namespace: dict[str, Any]) -> bool:
    """Makes a model as the notebook does, where that is a call of a class: ``model = Transformer(**CONFIG)``. Returns whether that was done."""
    for _, text in reversed(sources):
        for node in _assignments(text):
            if not (isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)):
                continue
            if not any(isinstance(each, ast.Name) and each.id == name for each in node.targets):
                continue
            if not isinstance(namespace.get(node.value.func.id), type):
                continue
            with contextlib.suppress(Exception, SystemExit, TooSlow), time_limit(LONG):
                exec(compile(ast.Module([node], []), f"<{name}, made again>", "exec"), namespace)
                return True
    return False
