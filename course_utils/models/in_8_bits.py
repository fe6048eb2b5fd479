"""Trained numbers in files of half the size of 16 bits: 8 bits for each number of a table, and a scale for each of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

MOST = 127
"""Of what a signed byte holds."""

_SCALES = ".scales"


def rounded(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) -> a scale for each row, (rows, 1) in 16 bits, and whole numbers from -127 to 127 in the table's shape."""
    scales = (np.abs(table).max(axis=1, keepdims=True) / MOST).astype("<f2")
    parts = np.round(table / np.maximum(scales.astype(np.float32), 1e-12)).clip(-MOST, MOST)
    return scales, parts.astype(np.int8)


def write(path: Path, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Writes a safetensors file: tables in 8 bits, all else in 16."""
    from safetensors.numpy import save_file

    found = {}
    for name, array in arrays.items():
        if array.ndim == 2:
            found[name + _SCALES], found[name] = rounded(array)
        else:
            found[name] = array.astype(np.float16)
    # save_file takes the bytes as they lie in memory: those of a transposed table would be in another order
    save_file({name: np.ascontiguousarray(array) for name, array in found.items()}, path, dict(metadata))


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays of a safetensors file as float32, whether they are in 8 bits or in 16, and its metadata."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        found = {name: file.get_tensor(name).astype(np.float32) for name in sorted(file.keys())}
        metadata = file.metadata()
    names = [name for name in found if not name.endswith(_SCALES)]
    return {name: found[name] * found.get(name + _SCALES, np.float32(1)) for name in names}, metadata
