"""Widgets that JupyterLab leaves out when it saves a notebook that has not run again stay in the file."""

from __future__ import annotations

import asyncio
import copy
import json
from types import SimpleNamespace

import nbformat
import pytest
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager, LargeFileManager

from course_utils.kept_widgets import (
    _jupyter_server_extension_points,
    _start_jupyter_server_extension,
    keep_widgets,
)

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"


def notebook(shown: list[str], states: list[str] | None) -> dict:
    """A notebook that shows widgets, and has the state of some, each with a layout of its own."""
    cells = [
        nbformat.v4.new_code_cell(
            "show()",
            outputs=[nbformat.v4.new_output("display_data", {VIEW: {"model_id": name}, "text/plain": name})],
        )
        for name in shown
    ]
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("Look."), *cells])
    if states is not None:
        each = {}
        for name in states:
            each[name] = {"model_name": "AnyModel", "state": {"layout": f"IPY_MODEL_{name}-layout"}}
            each[f"{name}-layout"] = {"model_name": "LayoutModel", "state": {}}
        made.metadata["widgets"] = {STATE: {"version_major": 2, "version_minor": 0, "state": each}}
    return json.loads(nbformat.writes(made))


def states(of: dict) -> set[str]:
    return set(of["metadata"].get("widgets", {}).get(STATE, {}).get("state", {}))


@pytest.mark.parametrize("left", ([], None))
def test_what_is_still_shown_is_kept_with_all_that_it_is_made_of(left: list[str] | None) -> None:
    now = notebook(["one", "two"], left)
    keep_widgets(now, notebook(["one", "two"], ["one", "two"]))
    assert states(now) == {"one", "one-layout", "two", "two-layout"}
    nbformat.validate(now)


def test_what_has_run_again_has_its_new_state_and_what_is_gone_is_not_kept() -> None:
    before = notebook(["one", "two", "gone"], ["one", "two", "gone"])
    now = notebook(["one", "new"], ["new"])
    now["metadata"]["widgets"][STATE]["state"]["one"] = {"state": {"asked": 1}}
    keep_widgets(now, before)
    assert states(now) == {"one", "new", "new-layout"}
    assert now["metadata"]["widgets"][STATE]["state"]["one"] == {"state": {"asked": 1}}


@pytest.mark.parametrize(
    "before", (notebook([], None), notebook(["one"], []), notebook(["other"], ["other"]))
)
def test_a_file_that_has_nothing_to_keep_changes_nothing(before: dict) -> None:
    now = notebook(["one"], [])
    whole = copy.deepcopy(now)
    keep_widgets(now, before)
    assert now == whole


@pytest.mark.parametrize("manager", (LargeFileManager, AsyncLargeFileManager))
def test_the_server_keeps_them_whatever_else_lies_there(tmp_path, manager) -> None:
    contents = manager(root_dir=str(tmp_path))
    (point,) = _jupyter_server_extension_points()
    assert point == {"module": _start_jupyter_server_extension.__module__}
    asyncio.run(_start_jupyter_server_extension(SimpleNamespace(contents_manager=contents)))

    def save(path: str, **model) -> None:
        done = contents.save(model, path)
        asyncio.run(done) if asyncio.iscoroutine(done) else None

    save("a.ipynb", type="notebook", content=notebook(["one"], ["one"]))
    save("a.ipynb", type="notebook", content=notebook(["one"], []))
    assert states(json.loads((tmp_path / "a.ipynb").read_text("utf-8"))) == {"one", "one-layout"}
    save("b.txt", type="file", format="text", content="words")
    assert (tmp_path / "b.txt").read_text("utf-8") == "words"
    (tmp_path / "c.ipynb").write_text("no notebook", "utf-8")  # nothing is lost by a file that cannot be read
    save("c.ipynb", type="notebook", content=notebook(["one"], ["one"]))
    assert states(json.loads((tmp_path / "c.ipynb").read_text("utf-8"))) == {"one", "one-layout"}
