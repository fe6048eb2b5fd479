"""Markup in the name of the notebook's file, which the notes quote."""

FEEDBACK = True
POINTS = "all"
EXTRA = ["print('TRIED')"]


def submit(notebook, folder):
    name = "<img src=x onerror=window.attacked=1>[x](javascript:window.attacked=1)`<b onclick=window.attacked=1>`.ipynb"
    (folder / "start_here.ipynb").rename(folder / name)


def failed(result):
    assert "handed in as" in result.record.notes[0]
    assert "<img" not in result.notebook.cells[0].source
