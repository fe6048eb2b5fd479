"""The exercises of each lab, by the lab's name: ``course_utils.exercises.self_attention``.

They lie beside the lab's notebook, in ``exercises.py``; this package finds them there (:func:`course_utils.labs.find`).
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType

from course_utils import labs

FILE_NAME = "exercises.py"


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, slug = fullname.rpartition(".")
        if package != __name__ or not (lab := labs.find(slug)):
            return None
        file = lab.folder / FILE_NAME
        return importlib.util.spec_from_file_location(fullname, file) if file.is_file() else None


sys.meta_path.append(_Finder())


def load(slug: str, file: Path) -> ModuleType:
    """The exercises in this file, from now on as ``course_utils.exercises.<slug>``.

    Raises:
        Exception: whatever the file raises when it is imported.
    """
    name = f"{__name__}.{slug}"
    known = sys.modules.get(name)
    if known is not None and known.__file__ == str(file):
        return known
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
