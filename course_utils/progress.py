"""What a learner has solved so far, kept in one small JSON file of their own, without a server."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

PROGRESS_VARIABLE = "TRANSFORMER_LABS_PROGRESS"


def _file() -> Path:
    return Path(os.environ.get(PROGRESS_VARIABLE) or Path.home() / ".transformer-labs" / "progress.json")


def load() -> dict[str, dict]:
    """Exercise key -> ``{"best": 0..1, "attempts": n, "first": time, "solved": time or None}``; empty if unreadable."""
    try:
        entries = json.loads(_file().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return entries if isinstance(entries, dict) else {}


def best_scores() -> dict[str, float]:
    """Exercise key -> best share of its checks that held at once."""
    return {key: entry.get("best", 0.0) for key, entry in load().items()}


def record(key: str, score: float) -> None:
    """Notes an attempt. A check never fails because its progress cannot be written."""
    entries = load()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    entry = entries.setdefault(key, {"best": 0.0, "attempts": 0, "first": now, "solved": None})
    entry["attempts"] += 1
    entry["best"] = max(entry["best"], score)
    if score == 1 and entry["solved"] is None:
        entry["solved"] = now
    target = _file()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = target.with_suffix(".new")
        scratch.write_text(json.dumps(entries, indent=1), "utf-8")
        scratch.replace(target)  # a reader never sees half a file
    except OSError:
        return
