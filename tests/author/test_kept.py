"""What is committed does not depend on who builds it: a build keeps every array that is the same but for rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from course_utils.checking import outcome as judging
from course_utils.checking.expected import FILE_NAME
from grader.author.build import BuildError, build
from grader.author.new import new_lab
from grader.course import Course

SLIP = """
slip("double", "too_often", "A number is taken two and a half times.", "Two and a half times a number is more than twice. Try both with 5.", ("np.multiply(x, 2)", "np.multiply(x, 2.5)"))
"""


@pytest.fixture
def tiny(tmp_path) -> Path:
    """A course with one tiny lab, which is built; returns the lab's source folder."""
    (tmp_path / "solutions").mkdir()
    (tmp_path / "notebooks").mkdir()
    folder = new_lab(Course(tmp_path), "00_tiny")
    with (folder / "misconceptions.py").open("a") as file:
        file.write(SLIP)
    built(folder)
    return folder


@pytest.fixture
def processor(monkeypatch) -> Callable[[int], None]:
    """Changes the processor: from then on, other last digits come out of every computation."""
    here = judging.try_exercise

    def change(number: int) -> None:
        rng = np.random.default_rng(number)

        def rounded(array: np.ndarray) -> np.ndarray:
            return array * (1 + 3e-7 * rng.uniform(-1, 1, array.shape)) if array.dtype.kind == "f" else array

        def there(*arguments):
            return [
                replace(
                    outcome,
                    runs=tuple({name: rounded(array) for name, array in run.items()} for run in outcome.runs),
                )
                for outcome in here(*arguments)
            ]

        monkeypatch.setattr(judging, "try_exercise", there)

    return change


def built(folder: Path, check: bool = False) -> Path:
    build(course := Course(folder.parents[1]), [], check=check, say=lambda line: None)
    return course.notebooks / folder.name


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), "utf-8")


def arrays(release: Path) -> dict[str, bytes]:
    with np.load(release / FILE_NAME, allow_pickle=False) as file:
        return {name: file[name].tobytes() for name in file.files}


def test_every_processor_builds_the_same_files_and_finds_nothing_to_refuse(tiny, processor):
    first = {path.name: path.read_bytes() for path in built(tiny).iterdir()}
    for number in range(3):
        processor(number)
        built(tiny, check=True)
        assert {path.name: path.read_bytes() for path in built(tiny).iterdir()} == first


def test_the_processors_of_these_tests_do_compute_other_numbers(tiny, processor):
    release = tiny.parents[1] / "notebooks" / tiny.name
    first = arrays(release)
    (release / FILE_NAME).unlink()
    processor(0)
    again = arrays(built(tiny))
    assert again.keys() == first.keys() and again != first


def test_a_changed_sentence_of_the_notebook_leaves_the_expected_values_as_they_are(tiny, processor):
    release = tiny.parents[1] / "notebooks" / tiny.name
    first, notebook = (release / FILE_NAME).read_bytes(), (release / "tiny.ipynb").read_bytes()
    edit(tiny / "00_tiny.py", "# A worked example with real numbers", "# An example with real numbers")
    processor(0)
    built(tiny)
    assert (release / FILE_NAME).read_bytes() == first and (release / "tiny.ipynb").read_bytes() != notebook


def test_a_changed_misconception_changes_its_own_arrays_and_no_other(tiny, processor):
    release = tiny.parents[1] / "notebooks" / tiny.name
    first = arrays(release)
    edit(tiny / "misconceptions.py", '"np.multiply(x, 2.5)"', '"np.multiply(x, 2.51)"')
    processor(0)
    with pytest.raises(BuildError, match=f"{FILE_NAME} is not what its source gives"):
        built(tiny, check=True)
    again = arrays(built(tiny))
    changed = {name for name in first if first[name] != again[name]}
    assert again.keys() == first.keys()
    assert changed == {name for name in first if "/too_often/" in name} != set()


def test_a_changed_hint_changes_no_array(tiny, processor):
    release = tiny.parents[1] / "notebooks" / tiny.name
    first = arrays(release)
    edit(tiny / "misconceptions.py", "is more than twice", "is clearly more than twice")
    processor(0)
    again = arrays(built(tiny))
    assert {name for name in first if first[name] != again[name]} == {"index"}


def test_a_damaged_file_is_made_anew(tiny):
    release = tiny.parents[1] / "notebooks" / tiny.name
    first = (release / FILE_NAME).read_bytes()
    (release / FILE_NAME).write_bytes(first[: len(first) // 2])
    with pytest.raises(BuildError, match=f"{FILE_NAME} is not what its source gives"):
        built(tiny, check=True)
    assert (built(tiny) / FILE_NAME).read_bytes() == first
