"""Metadata that would skip the check, raise its points, or make it no check at all."""

CELLS = {"softmax": "softmax = None"}
EXTRA = ["print('TRIED')"]


def submit(notebook, folder):
    import json

    for cell in notebook.cells:
        cell.metadata["tags"] = ["skip-execution", "skip-grading", "remove-cell", "raises-exception"]
        if cell.metadata.get("nbgrader", {}).get("grade"):
            cell.metadata["nbgrader"] |= {
                "points": 1e9,
                "grade": False,
                "solution": True,
                "schema_version": 99,
                "task": True,
            }
            cell.outputs = [
                {
                    "output_type": "execute_result",
                    "data": {"text/plain": "5.0"},
                    "metadata": {},
                    "execution_count": 1,
                }
            ]
    notebook.metadata["transformer_labs"] = {"seed": 1, "state": "graded"}
    notebook.metadata["kernelspec"] = {"name": "bash", "display_name": "Bash", "language": "bash"}
    notebook.metadata["nbgrader"] = {"max_score": 1e9}
    (folder / "start_here.ipynb").write_text(json.dumps(notebook))


def failed(result):
    check = next(c for c in result.notebook.cells if c.metadata.get("nbgrader", {}).get("grade"))
    assert check.metadata["nbgrader"]["points"] == 5 and "tags" not in check.metadata
    assert result.record.max_score == 5
