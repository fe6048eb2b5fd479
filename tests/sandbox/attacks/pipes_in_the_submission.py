"""The notebook and its time stamp are pipes that nobody ever writes to."""

STATE = "unreadable"
PROBE = None
SECONDS = 15


def submit(notebook, folder):
    import os

    for name in ("start_here.ipynb", "timestamp.txt", "not-collected.txt"):
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
