"""The folder that the package goes to: nothing in it is touched that this command did not make."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

MARKER = ".made-by-transformer-labs.json"
"""In a folder that this command made: the files it wrote, and their SHA-256."""


class Refused(Exception):
    """No package is made. The message says why, and what to do."""


def made_before(out: Path) -> dict[str, str]:
    """The files that were made in a folder, and their SHA-256; nothing if there is no such folder or it is empty.

    Raises:
        Refused: it is somebody else's.
    """
    if not os.path.lexists(out) or (out.is_dir() and not out.is_symlink() and not any(out.iterdir())):
        return {}
    try:
        known = json.loads((out / MARKER).read_text("utf-8"))["files"]
        if not out.is_symlink() and all(isinstance(each, str) for pair in known.items() for each in pair):
            return known
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    raise Refused(
        f"{out} is there already, and this command did not make it, so it is left as it is. Rename it, or choose another name: --out FOLDER."
    )


def put(new: Path, out: Path, before: Mapping[str, str], said: Callable[[str], None]) -> None:
    """Replaces what was made before. A file that somebody has changed since is kept beside the new one."""
    out.mkdir(parents=True, exist_ok=True)
    made = {path.relative_to(new).as_posix(): path for path in sorted(new.rglob("*")) if path.is_file()}
    digests = {name: _digest(path) for name, path in made.items()}
    for name in (*before, *made):
        if not (out / name).parent.resolve().is_relative_to(out.resolve()):
            raise Refused(
                f"{out / name} would lie outside of {out}, because of a link. Remove the link, or choose another name: --out FOLDER."
            )
    (out / MARKER).write_text(
        json.dumps({"files": digests}, indent=1) + "\n", "utf-8"
    )  # first: it may be cut short
    for name, digest in before.items():
        there = out / name
        if there.is_symlink() or not there.is_file():
            continue
        if _digest(there) in (digest, digests.get(name)):
            there.unlink()
        else:
            _keep(there, said)
    for name, path in made.items():
        there = out / name
        there.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(there):
            _keep(there, said)
        shutil.copyfile(path, there)


def _keep(there: Path, said: Callable[[str], None]) -> None:
    number = 1
    while os.path.lexists(
        kept := there.with_name(f"{there.name}.before{'' if number == 1 else f'-{number}'}")
    ):
        number += 1
    there.rename(kept)
    said(f"You have changed {there.name}: yours is kept as {kept.name}.")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
