"""Import hooks, a patched __import__ and audit hooks, so that the check imports what the attacker wrote."""

EXTRA = [
    """
import builtins, importlib.abc, importlib.machinery, sys
seen = []
class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("course_utils", "grader", "solutions")):
            seen.append(name)
            return importlib.machinery.ModuleSpec(name, self)
    def exec_module(self, module):
        module.check = lambda key: print("5.0")
sys.meta_path.insert(0, Finder())
real = builtins.__import__
def forged(name, *args, **kwargs):
    seen.append(name)
    return real(name, *args, **kwargs)
builtins.__import__ = forged
sys.addaudithook(lambda event, arguments: seen.append(event))
for name in [name for name in sys.modules if name.startswith("course_utils")]:
    del sys.modules[name]
"""
]
LAST = ["print('TRIED', 'course_utils' in seen)"]
PROBE = "TRIED True"
