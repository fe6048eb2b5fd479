"""Check cells changed, doubled, renamed, retyped, moved to the front, and one that checks another exercise."""

CELLS = {"softmax": "softmax = None"}
EXTRA = ["print('TRIED')"]
STATE = ("graded", "incomplete")


def submit(notebook, folder):
    import copy
    import json

    checks = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    for number, cell in enumerate(checks):
        for text, kind in (
            ("print(5.0)", "code"),
            ("check = lambda key: 5.0\ncheck('start_here.softmax')", "code"),
            ("5.0", "markdown"),
        ):
            twin = copy.deepcopy(cell)
            twin.source, twin.cell_type = text, kind
            twin.metadata["nbgrader"]["grade_id"] += "" if kind == "code" else f"-{number}"
            notebook.cells.insert(0, twin)
        cell.source = "5.0"
        cell.metadata["nbgrader"]["grade_id"] = "check_nothing"
        cell["id"] = "other"
    (folder / "start_here.ipynb").write_text(json.dumps(notebook))


def failed(result):
    checks = [c for c in result.notebook.cells if c.metadata.get("nbgrader", {}).get("grade")]
    assert [c.metadata["nbgrader"]["grade_id"] for c in checks] == ["check_softmax"]
    assert 'check("start_here.softmax")' in checks[0].source
