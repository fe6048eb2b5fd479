"""A kernel's messages -> the outputs of its cells, and the cases that checks publish. Learner code can send any message."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbformat import NotebookNode

from course_utils.checking.outcome import OUTCOME_MIME
from grader.reference.lab import checked_exercise

_log = logging.getLogger(__name__)

_SHOWN = ("stream", "display_data", "execute_result", "error", "update_display_data")
_OUTPUT_BYTES = 200  # what an empty output counts as
_TRACE_LINES = 200


@dataclass
class Kept:
    """The parts of its kernels' messages that a run keeps."""

    seed: int
    bytes_left: int
    payloads: dict[str, Any] = field(default_factory=dict)

    def take(self, message: Mapping[str, Any], key: str | None) -> bool:
        """Whether the message may go on to the notebook's outputs. ``key``: the exercise that its cell checks, while that
        cell runs.
        """
        kind, content = message["msg_type"], message["content"]
        if kind == "display_data" and OUTCOME_MIME in content["data"]:
            bundle = content["data"][OUTCOME_MIME]
            if key and (bundle["exercise"], bundle["seed"]) == (key, self.seed):
                self.payloads[key] = bundle["cases"]
            return False
        if kind in _SHOWN:
            self.bytes_left -= _OUTPUT_BYTES + _size(content)
            return self.bytes_left >= 0
        return kind in ("status", "clear_output")


def _size(value: Any) -> int:
    """Roughly the bytes of a JSON value."""
    if isinstance(value, str):
        return 8 + len(value)
    if isinstance(value, Mapping):
        return 64 + sum(_size(name) + _size(part) for name, part in value.items())
    return 64 + sum(map(_size, value)) if isinstance(value, list) else 8


def _output(kind: str, content: Mapping[str, Any]) -> NotebookNode:
    """A cell's output, with nothing but text: nobody here needs anything else that a message may contain.

    nbformat's own way validates against a schema, which takes minutes for what a hostile kernel can send.

    Raises:
        ValueError, TypeError, KeyError: the protocol does not allow it.
    """
    if kind == "stream":
        name = "stderr" if content["name"] == "stderr" else "stdout"
        return NotebookNode(output_type=kind, name=name, text=[_text(content["text"])])
    if kind == "error":
        trace = [_text(line) for line in content["traceback"][:_TRACE_LINES]]
        return NotebookNode(
            output_type=kind, ename=_text(content["ename"]), evalue=_text(content["evalue"]), traceback=trace
        )
    output = NotebookNode(output_type=kind, metadata=NotebookNode(), data=_texts(content["data"]))
    if kind == "execute_result":
        output.execution_count = int(content["execution_count"])
    return output


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _texts(data: Any) -> NotebookNode:
    return NotebookNode({_text(mime): value for mime, value in data.items() if isinstance(value, str)})


class Outputs:
    """Puts messages into the cells that they belong to, as a notebook would show them."""

    def __init__(self, notebook: NotebookNode, kept: Kept) -> None:
        self.notebook = notebook
        self.kept = kept
        self.begun: set[str] = set()
        self.idle: set[str] = set()
        self._cleared_by_next: set[int] = set()
        self._displays: dict[str, list[NotebookNode]] = {}

    def take(self, message: Mapping[str, Any], parent: str, index: int) -> None:
        """Puts an iopub message in its place. One that the protocol does not allow is dropped."""
        try:
            running = parent in self.begun and parent not in self.idle
            if self.kept.take(message, checked_exercise(self.notebook.cells[index]) if running else None):
                self._put(message, parent, index)
        except Exception as error:
            _log.warning("cell %d sent a malformed message: %r", index, error)

    def _put(self, message: Mapping[str, Any], parent: str, index: int) -> None:
        kind, content = message["msg_type"], message["content"]
        outputs = self.notebook.cells[index].outputs
        if kind == "status":
            if content["execution_state"] == "busy":
                self.begun.add(parent)
            elif content["execution_state"] == "idle":
                self.idle.add(parent)
        elif kind == "clear_output" and content.get("wait"):
            self._cleared_by_next.add(index)
        elif kind == "clear_output":
            outputs.clear()
        elif kind == "update_display_data":
            for shown in self._displays.get(content["transient"]["display_id"], ()):
                shown.data = _texts(content["data"])
        else:
            if index in self._cleared_by_next:
                self._cleared_by_next.remove(index)
                outputs.clear()
            self._append(outputs, _output(kind, content), content.get("transient") or {})

    def _append(
        self, outputs: list[NotebookNode], output: NotebookNode, transient: Mapping[str, Any]
    ) -> None:
        last = outputs[-1] if outputs else None
        if output.output_type == "stream" and last and last.get("name") == output.name:
            last.text += output.text
            return
        outputs.append(output)
        if name := transient.get("display_id"):
            self._displays.setdefault(_text(name), []).append(output)

    def finish(self) -> None:
        """Joins the pieces of streams. Doing that at every piece would take too long if there are very many."""
        for cell in self.notebook.cells:
            for output in cell.get("outputs", ()):
                if output.output_type == "stream":
                    output.text = "".join(output.text)
