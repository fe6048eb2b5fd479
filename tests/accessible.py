"""What axe-core finds wrong with a page in a browser."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from playwright.sync_api import Page
from project import ROOT


def _script() -> Path | None:
    found = importlib.util.find_spec("axe_playwright_python")
    folders = [Path(found.origin).parent] if found and found.origin else []
    folders.append(ROOT / ".build" / "axe" / "axe_playwright_python")
    return next((file for folder in folders if (file := folder / "axe.min.js").is_file()), None)


AXE = _script()
needs_axe = pytest.mark.skipif(
    AXE is None,
    reason="the extra `axe` of pyproject.toml is not installed: `scripts/setup_extra.sh axe` does that where the package index has it",
)


SETTLED = """Promise.race([
  Promise.allSettled(document.getAnimations().map((each) => each.finished)), new Promise((go) => setTimeout(go, 3000))])"""


def violations(page: Page) -> list[str]:
    """Each violation of any severity, with the rule, how severe it is, and where."""
    assert AXE is not None
    page.evaluate(AXE.read_text("utf-8"))
    page.evaluate(SETTLED)  # what has just been unfolded fades in, and is faint till then
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{rule['id']} ({rule['impact']}): {node['html'][:150]}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
