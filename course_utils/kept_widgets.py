"""Widgets stay in a notebook that is saved before its cells have run again.

JupyterLab writes the widgets of the running kernel into the file, and no others: open a notebook, save it, and the next time every
picture that has not been made again is an error. So the server that saves a notebook keeps those whose output is still there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jupyter_server.serverapp import ServerApp

_STATE = "application/vnd.jupyter.widget-state+json"
_VIEW = "application/vnd.jupyter.widget-view+json"
_PART = re.compile(r'"IPY_MODEL_([^"]+)"')
"""How a widget names another that it is made of, such as its layout."""


def keep_widgets(notebook: dict[str, Any], before: Mapping[str, Any]) -> None:
    """Adds to ``notebook`` the widgets that its outputs show, that it has no state of, and that it had one of ``before``."""
    wanted = [
        output["data"][_VIEW]["model_id"]
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if _VIEW in output.get("data", {})
    ]
    known = _states(notebook)
    if all(name in known for name in wanted):
        return
    kept, earlier = {}, _states(before)
    while wanted:
        name = wanted.pop()
        if name in earlier and name not in known and name not in kept:
            kept[name] = earlier[name]
            wanted += _PART.findall(json.dumps(earlier[name]))
    if kept:
        saved = before["metadata"]["widgets"][_STATE]
        notebook["metadata"]["widgets"] = {_STATE: {**saved, "state": {**known, **kept}}}


def _states(notebook: Mapping[str, Any]) -> dict[str, Any]:
    return notebook["metadata"].get("widgets", {}).get(_STATE, {}).get("state", {})


def _before_saving(model: dict[str, Any], path: str, contents_manager: Any, **_: Any) -> None:
    if model.get("type") != "notebook" or not model.get("content"):
        return
    file = Path(contents_manager._get_os_path(path))  # the method that reads it may be one that is awaited
    if file.is_file():
        keep_widgets(model["content"], json.loads(file.read_text("utf-8")))


def _load_jupyter_server_extension(server: ServerApp) -> None:
    """Nothing yet: Jupytext, loaded later, puts another contents manager in place of the one that is there now."""


async def _start_jupyter_server_extension(server: ServerApp) -> None:
    server.contents_manager.register_pre_save_hook(_before_saving)


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]
