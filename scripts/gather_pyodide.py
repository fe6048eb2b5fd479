"""Gathers a Pyodide distribution with NumPy and Matplotlib where only a package index can be reached, into .build/pyodide.

    .venv/bin/python scripts/gather_pyodide.py

Pyodide itself is on its own network. The wheel of Open WebUI, a web application, brings a copy of it with these packages. What
JupyterLite's kernel needs besides is pure Python. It comes from the index, in the versions of Pyodide's list. Nothing of Open WebUI itself is kept.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from hashlib import sha256
from pathlib import Path

from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / ".build" / "pyodide"
BRINGS_IT = "open-webui==0.12.4"
INSIDE = "open_webui/frontend/pyodide/"
NEEDED = ("ipython", "jedi", "micropip", "packaging", "pyodide-http", "numpy", "matplotlib")
"""What the kernel and the course import; what these need goes along."""


def download(requirement: str, folder: Path) -> Path:
    """The wheel of one package, for any Python.

    Raises:
        CalledProcessError: the index does not have it.
    """
    before = set(folder.iterdir())
    command = (
        *("-m", "pip", "download", "--quiet", "--no-input", "--no-deps", "--only-binary", ":all:"),
        *("--ignore-requires-python", "--dest", str(folder), requirement),
    )
    subprocess.run([sys.executable, *command], check=True)
    (wheel,) = set(folder.iterdir()) - before
    return wheel


def closure(packages: dict[str, dict]) -> list[str]:
    """The names of all that is needed, in Pyodide's list."""
    found, waiting = [], [*NEEDED]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name not in found:
            found.append(name)
            waiting += packages[name]["depends"]
    return sorted(found)


def gather(scratch: Path) -> None:
    """Fills the folder.

    Raises:
        CalledProcessError: the index lacks something.
    """
    with zipfile.ZipFile(download(BRINGS_IT, scratch)) as wheel:
        inside = {name.removeprefix(INSIDE): name for name in wheel.namelist() if name.startswith(INSIDE)}
        lock = json.loads(wheel.read(inside["pyodide-lock.json"]))
        made = scratch / "pyodide"
        made.mkdir()
        for name, full in inside.items():
            if not name.endswith((".whl", ".map", ".html", ".d.ts")) and name:
                (made / name).write_bytes(wheel.read(full))
        kept = closure(lock["packages"])
        for name in kept:
            package = lock["packages"][name]
            if package["file_name"] in inside:
                (made / package["file_name"]).write_bytes(wheel.read(inside[package["file_name"]]))
            else:
                found = download(f"{package['name']}=={package['version']}", scratch)
                shutil.move(found, made)
                package["file_name"] = found.name
                package["sha256"] = sha256((made / found.name).read_bytes()).hexdigest()
    lock["packages"] = {name: lock["packages"][name] for name in kept}
    (made / "pyodide-lock.json").write_text(json.dumps(lock), "utf-8")
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.parent.mkdir(exist_ok=True)
    shutil.move(made, PLACE)


def main() -> None:
    if PLACE.is_dir():
        return
    with tempfile.TemporaryDirectory() as scratch:
        try:
            gather(Path(scratch))
        except subprocess.CalledProcessError:
            print("No Pyodide in .build/pyodide: the package index does not have all of it.")


if __name__ == "__main__":
    main()
