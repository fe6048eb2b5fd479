"""Trained weights survive the kernel: after a cell that took long, the models that it changed are written to a file each, in the learner's own folder.

:mod:`course_utils.continue_here` turns this on, and loads the files on another day. A file belongs to the very text of the cell that trained: weights
of another training are never taken for these. Nothing leaves the machine, nothing is handed in.
"""

from __future__ import annotations

import ast
import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from course_utils.checking.cells import parsed
from course_utils.checking.check import digest
from course_utils.checking.names import free_names
from course_utils.checking.time_limit import TooSlow, time_limit
from course_utils.progress import progress_file

LONG = 15.0
"""Seconds after which a cell is one that nobody wants to run again."""

MOST_BYTES, MOST_IN_ALL = 120 * 2**20, 300 * 2**20
"""Larger models are not kept; and of all labs together, the oldest files go first."""

_ENDINGS = {"torch": ".pt", "keras": ".weights.h5"}
_SCRATCH = "new-"
_kept_for: set[int] = set()
_pending: dict[str, tuple[str, Path]] = {}
"""Name of a model that the notebook has still to make -> its kind and its file."""


def folder_of(slug: str) -> Path:
    """Where a lab's weights are."""
    return progress_file().parent / "weights" / slug


def keep_what_trains(slug: str, shell: Any) -> None:
    """From now on keeps the weights of whatever a long cell of this session changes, and loads what waits for a model as soon as a cell
    has made it. Once is enough for a session.

    Args:
        shell: IPython's; None where there is none.
    """
    if shell is None or id(shell) in _kept_for:
        return
    _kept_for.add(id(shell))
    began: dict[str, Any] = {"at": time.monotonic(), "sums": {}}

    def before(info: Any) -> None:
        names = _named(getattr(info, "raw_cell", None) or "")
        began["sums"] = {name: _sum_of(shell.user_ns.get(name)) for name in names}
        began["at"] = time.monotonic()

    def after(result: Any) -> None:
        if not result.success:
            return
        source, was_long = result.info.raw_cell, time.monotonic() - began["at"] >= LONG
        _load_what_waits({} if was_long else shell.user_ns)
        if was_long:
            keep(slug, source, shell.user_ns, began["sums"])

    shell.events.register("pre_run_cell", before)
    shell.events.register("post_run_cell", after)


def keep(slug: str, source: str, namespace: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """Writes the weights of the models that a cell names and has changed. What cannot be written is left out: no cell fails because of it.

    Args:
        before: name of a model -> :func:`_sum_of` before the cell ran.
    """
    for name in sorted(_named(source)):
        value = namespace.get(name)
        kind = kind_of(value)
        if not kind:
            continue
        with contextlib.suppress(Exception):
            now = _sum_of(value)
            if now is None or now == before.get(name):
                continue
            _pending.pop(name, None)  # trained anew
            file = folder_of(slug) / f"{name}.{digest(source)}{_ENDINGS[kind]}"
            file.parent.mkdir(parents=True, exist_ok=True)
            scratch = file.with_name(f"{_SCRATCH}{file.name}")
            scratch.unlink(missing_ok=True)
            _save(kind, value, scratch)
            scratch.replace(file)
            _drop_the_oldest(file)


def bring_back(slug: str, sources: Sequence[tuple[int, str]], namespace: dict[str, Any]) -> Iterator[str]:
    """Loads what is kept of the trainings in these cells, and yields a sentence about each model.

    Args:
        sources: number and text of each cell above the place to go on: a model that is not there yet is made as they make it.
    """
    _pending.clear()
    for name, kind, file, place in _of_these(slug, sources):
        above = [each for each in sources if each[0] <= place]
        made = kind_of(namespace.get(name)) != kind and _make(name, above, namespace)
        try:
            if kind_of(namespace.get(name)) != kind:
                raise LookupError
            _load(kind, namespace[name], file)
        except Exception:
            if made:  # without its weights it would be taken for the trained one
                del namespace[name]
            maker = next((number for number, text in reversed(above) if name in _stored(text)), place)
            if maker == place:  # to run it is to train again
                yield f"The weights of `{name}` are kept, but it cannot be made without cell {place}, which trains it again."
                continue
            _pending[name] = kind, file
            yield f"The weights of `{name}` are kept: they are loaded as soon as you run cell {maker} again."
        else:
            yield f"`{name}` has the weights again that cell {place} gave it."


def _of_these(slug: str, sources: Sequence[tuple[int, str]]) -> list[tuple[str, str, Path, int]]:
    """Name, kind, file and cell of each training that is kept; of several of one name, the last in the notebook."""
    places = {digest(text): number for number, text in sources}
    found: dict[str, tuple[str, str, Path, int]] = {}
    for file in sorted(folder_of(slug).glob("*")) if folder_of(slug).is_dir() else ():
        kind = next((each for each, ending in _ENDINGS.items() if file.name.endswith(ending)), "")
        name, _, cell = file.name.removesuffix(_ENDINGS.get(kind, "")).partition(".")
        place = places.get(cell)
        if kind and place is not None and (name not in found or found[name][3] < place):
            found[name] = name, kind, file, place
    return [found[name] for name in sorted(found)]


def _load_what_waits(namespace: Mapping[str, Any]) -> None:
    """Loads weights into models that have been made by now. A Keras model may have no variables before it is called: it waits on."""
    for name, (kind, file) in [*_pending.items()]:
        if kind_of(namespace.get(name)) == kind:
            with contextlib.suppress(Exception):
                _load(kind, namespace[name], file)
                del _pending[name]
                print(f"`{name}` has the weights again that were kept.")


def kind_of(value: Any) -> str:
    """``"torch"`` or ``"keras"``, if a value is a model of one of them; nothing is imported to find out."""
    for base in type(value).__mro__:
        if base.__name__ == "Module" and base.__module__.startswith("torch.nn"):
            return "torch"
        if base.__name__ == "Model" and base.__module__.startswith("keras."):
            return "keras"
    return ""


def _sum_of(value: Any) -> Any:
    """What changes if a model's weights do; None for what is no model, or too large to be kept: this is asked before every cell."""
    with contextlib.suppress(Exception):
        kind = kind_of(value)
        if kind and _bytes_of(kind, value) > MOST_BYTES:
            return None
        match kind:
            case "torch":
                return tuple(float(each.double().abs().sum()) for each in value.state_dict().values())
            case "keras":
                return tuple(float(abs(each).sum(dtype=float)) for each in value.get_weights())
    return None


def _bytes_of(kind: str, model: Any) -> int:
    if kind == "keras":
        return model.count_params() * 4
    return sum(each.numel() * each.element_size() for each in model.state_dict().values())


def _save(kind: str, model: Any, file: Path) -> None:
    if kind == "keras":
        model.save_weights(file)
        return
    import torch

    torch.save({"state": model.state_dict(), "training": model.training}, file)


def _load(kind: str, model: Any, file: Path) -> None:
    """
    Raises:
        Exception: the file is damaged, or of a model of another form. The model is as it was.
    """
    if kind == "keras":
        model.load_weights(file)
        return
    import torch

    found, own = torch.load(file, weights_only=True), model.state_dict()
    if {name: each.shape for name, each in own.items()} != {
        name: each.shape for name, each in found["state"].items()
    }:
        raise LookupError(
            "the model has another form"
        )  # load_state_dict would copy what fits before it raises
    model.load_state_dict(found["state"])
    model.train(found["training"])


def _drop_the_oldest(newest: Path) -> None:
    """Deletes files of earlier trainings until there is room."""
    files = sorted(
        (each for each in newest.parents[1].glob("*/*") if each.is_file() and each != newest),
        key=lambda each: each.stat().st_mtime,
    )
    size = newest.stat().st_size + sum(each.stat().st_size for each in files)
    for each in files:
        if size <= MOST_IN_ALL:
            return
        size -= each.stat().st_size
        each.unlink()


def _named(source: str) -> set[str]:
    """The names that a cell uses or gives a value to."""
    return {*free_names(parsed(source)), *_stored(source)}


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
                code = compile(ast.Module([node], []), f"<{name}, made again>", "exec", dont_inherit=True)
                exec(code, namespace)
                return True
    return False
