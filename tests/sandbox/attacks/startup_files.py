"""Start-up files for the next kernel: IPython's, Python's, the shell's."""

CODE = """
import os, pathlib, site, sys
import IPython
for folder in (IPython.paths.get_ipython_dir() + "/profile_default/startup", "/tmp/ipython/profile_default/startup",
               os.path.expanduser("~/.ipython/profile_default/startup"), os.path.expanduser("~/.config/matplotlib"),
               site.getusersitepackages(), "/tmp/matplotlib", os.path.expanduser("~/.jupyter")):
    os.makedirs(folder, exist_ok=True)
    for name in ("00.py", "evil.pth", "usercustomize.py", "ipython_kernel_config.py", "matplotlibrc"):
        pathlib.Path(folder, name).write_text("import builtins; builtins.infected = True")
os.environ["PYTHONSTARTUP"] = os.environ["PYTHONPATH"] = "/tmp/ipython"
pathlib.Path(os.path.expanduser("~/.bashrc")).write_text("echo infected")
"""
EXTRA = ["import builtins\nprint('REACHED' if hasattr(builtins, 'infected') else 'TRIED')", CODE]
SECOND_EXTRA = EXTRA
POINTS = "all"
