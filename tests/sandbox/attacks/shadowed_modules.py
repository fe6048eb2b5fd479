"""Modules of the names that the check needs lie in the work folder."""

EXTRA = [
    """
import os, sys
for name in ("numpy", "json", "base64", "sitecustomize", "usercustomize", "conftest", "ipykernel", "zmq", "course_utils"):
    os.makedirs(f"{name}", exist_ok=True)
    for path in (f"{name}.py", f"{name}/__init__.py"):
        with open(path, "w") as file:
            file.write("def check(key): print('hijacked', key)\\nprint('shadowed')\\n")
sys.path[:0] = [os.getcwd(), ""]
for name in [name for name in sys.modules if name.partition(".")[0] == "course_utils"]:
    del sys.modules[name]
import course_utils
print("TRIED", course_utils.__file__.startswith(os.getcwd()))
"""
]
PROBE = "TRIED True"


def failed(result):
    assert result.executed.payloads == {}


def submit(notebook, folder):
    for name in ("numpy.py", "sitecustomize.py", "conftest.py", "expected.npz"):
        (folder / name).write_text("print('shadowed')")
    (folder / "course_utils").mkdir()
    (folder / "course_utils" / "__init__.py").write_text("print('shadowed')")
