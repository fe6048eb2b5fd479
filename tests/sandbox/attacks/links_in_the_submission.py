"""The notebook is a link to another student's, and its folder holds links to everything else."""

STATE = "unreadable"
PROBE = None


def submit(notebook, folder):
    course = folder.parents[3]
    (folder / "start_here.ipynb").unlink()
    (folder / "start_here.ipynb").symlink_to(
        course / "grading/submitted/other/00_start_here/start_here.ipynb"
    )
    (folder / "timestamp.txt").unlink()
    (folder / "timestamp.txt").symlink_to(course / "grading/seeds.json")
    (folder / "submission_secret.txt").symlink_to(course / "grading/seeds.json")
    (folder / "not-collected.txt").symlink_to(course / "grading/gradebook.db")
    (folder / "data").symlink_to("/")
    (folder / "loop").symlink_to(folder)


def failed(result):
    assert any("symbolic link" in note for note in result.record.notes)
    assert result.graded.timestamp is None
    assert result.graded.secret is None
