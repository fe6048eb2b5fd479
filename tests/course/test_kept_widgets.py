"""Widgets that JupyterLab leaves out when it saves a notebook that has not run again stay in the file."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from project import ROOT

NODE = shutil.which("node")
EXTENSION = ROOT / "course_utils/lab_style/transformer-labs"
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
JUPYTERLAB = """
import { readFileSync as read } from 'node:fs';
const { script, shown, before, saved } = JSON.parse(read('given.json')), metadata = { ...before };
globalThis.window = {};
globalThis.document = { currentScript: { src: 'http://a/static/in_jupyterlab.js' } };
eval(read(script, 'utf-8'));
const outputs = { length: shown.length, get: (at) => ({ data: shown[at] }) };
const model = {
  cells: [{}, { outputs }], getMetadata: (name) => metadata[name], setMetadata(name, value) { metadata[name] = value; },
};
const INotebookTracker = {}, opened = [];
const extension = window._JUPYTERLAB['transformer-labs'];
extension.init({ '@jupyterlab/notebook': { '4.0.0': { get: async () => () => ({ INotebookTracker }) } } });
const { default: plugin, __esModule } = (await extension.get('./extension'))();
if (!__esModule || !plugin.autoStart || plugin.requires[0] !== INotebookTracker) throw plugin;
plugin.activate({}, { widgetAdded: { connect: (open) => opened.push(open) } });
opened.forEach((open) => open({}, { context: { model }, sessionContext: { kernelChanged: { connect() {} } } }));
for (const [name, value] of saved) model.setMetadata(name, value);
console.log(JSON.stringify(metadata));
"""
"""As much of JupyterLab as the extension uses."""


@pytest.fixture
def save(tmp_path: Path):
    """Opens a notebook that shows widgets and has the state of some, writes metadata, and returns what is in the notebook then."""
    if NODE is None:
        pytest.skip("Node.js is not installed (Debian: nodejs)")

    def run(shown: Sequence[str], before: dict[str, Any], saved: dict[str, Any]) -> dict[str, Any]:
        outputs = [{"text/plain": ""}, *({VIEW: {"model_id": name}} for name in shown)]
        given = {"script": str(EXTENSION / "static/in_jupyterlab.js"), "shown": outputs, "before": before,
                 "saved": [*saved.items()]}  # fmt: skip
        (tmp_path / "given.json").write_text(json.dumps(given))
        (tmp_path / "run.mjs").write_text(JUPYTERLAB)
        done = subprocess.run([NODE, "run.mjs"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def widgets(*names: str) -> dict[str, Any]:
    """The state of some widgets, each with a layout of its own, as it stands in a notebook's metadata."""
    state = {name: {"state": {"layout": f"IPY_MODEL_{name}-layout"}} for name in names}
    state |= {f"{name}-layout": {"state": {}} for name in names}
    return {"widgets": {STATE: {"version_major": 2, "version_minor": 0, "state": state}}}


def state_in(metadata: dict[str, Any]) -> dict[str, Any]:
    return metadata["widgets"][STATE]["state"]


def test_what_is_still_shown_is_kept_with_all_that_it_is_made_of(save) -> None:
    assert save(["one", "two"], widgets("one", "two"), widgets()) == widgets("one", "two")
    assert save(["one"], widgets("one", "gone"), widgets()) == widgets("one")


def test_what_has_run_again_has_its_new_state_beside_what_has_not(save) -> None:
    again = widgets("one", "new")
    state_in(again)["one"]["state"]["asked"] = 1
    kept = state_in(save(["one", "new", "two"], widgets("one", "two"), again))
    assert kept.keys() == {"one", "one-layout", "new", "new-layout", "two", "two-layout"}
    assert kept["one"]["state"]["asked"] == 1


@pytest.mark.parametrize("before", ({}, {"widgets": {}}, widgets("other")))
def test_where_there_is_nothing_to_keep_what_is_saved_stays_as_it_is(save, before) -> None:
    assert save(["one"], before, widgets()) == widgets()


def test_other_metadata_is_written_as_it_is(save) -> None:
    assert save([], {}, {"kernelspec": {"name": "python3"}}) == {"kernelspec": {"name": "python3"}}


def test_what_the_extension_says_of_itself_is_what_it_has() -> None:
    about = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    assert about["name"] == EXTENSION.name
    assert (EXTENSION / about["jupyterlab"]["_build"]["load"]).is_file()
