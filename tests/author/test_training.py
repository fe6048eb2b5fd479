"""What a lab promises of its trained network, and the record that proves it."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import LABS

import course_utils
from grader.author import training
from grader.author.new import new_lab
from grader.course import Course, CourseError
from grader.reference.lab import Lab

PROMISE = """
[[promises]]
of = "new sentences, exact match in %"
line = '^new sentences +([\\d.]+)%'
least = 95
"""
CELL = '# %% tags=["skip-grading"]\nfrom matplotlib'


@pytest.fixture
def lab(tmp_path) -> Lab:
    """A small lab that promises one score, in a course of its own."""
    for name in ("solutions", "notebooks"):
        (tmp_path / name).mkdir()
    (tmp_path / "requirements.txt").write_text("ruff==0.17.5\ntorch==2.13.0\n")
    folder = new_lab(Course(tmp_path), "00_tiny")
    edit(folder / "lab.toml", "", PROMISE, at_the_end=True)
    edit(
        folder / "00_tiny.py",
        CELL,
        f"# %%\nfrom course_utils import plots\nfrom course_utils.models import translator\n\n{CELL}",
    )
    return Lab(Course(tmp_path), "00_tiny")


def edit(file: Path, old: str, new: str, at_the_end: bool = False) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text + new if at_the_end else text.replace(old, new))


def again(lab: Lab) -> Lab:
    """The lab as it lies there now."""
    return Lab(lab.course, lab.name)


@pytest.mark.parametrize("name", LABS)
def test_every_lab_has_kept_its_promises_as_it_is_now(labs, name):
    assert training.complaints(labs[name]) == []


def test_what_the_notebook_printed_is_kept_and_proves_the_promise(lab):
    scores = training.figures(lab, "training ...\nnew sentences   97.5% of 400\n")
    assert scores == {"new sentences, exact match in %": 97.5}
    assert "is missing" in training.complaints(lab)[0]
    training.keep_record(lab, scores)
    assert training.complaints(lab) == []


def test_a_broken_promise_is_named(lab):
    training.keep_record(lab, {"new sentences, exact match in %": 94.9})
    assert training.complaints(lab) == ["00_tiny: new sentences, exact match in %: 94.9, and 95 is promised."]


def test_a_score_that_was_not_printed_is_named(lab):
    with pytest.raises(CourseError, match="does not print 'new sentences, exact match in %'"):
        training.figures(lab, "nothing\n")


PICTURE = """# %% tags=["skip-grading", "picture"]
from course_utils.widgets.zoom import zoom

zoom()

"""


def test_a_picture_has_no_part_in_the_training_unless_its_cell_does_more(lab):
    before = training.fingerprint(lab)
    file = lab.folder / "00_tiny.py"
    edit(file, CELL, PICTURE + CELL)
    assert training.fingerprint(again(lab)) == before
    edit(file, "zoom()", "zoom()\ntorch = zoom")
    assert training.fingerprint(again(lab)) != before


@pytest.mark.parametrize("text", ["", "[1]", '{"fingerprint": "a"}'])
def test_a_record_that_cannot_be_read_is_no_proof(lab, text):
    (lab.folder / "training.json").write_text(text)
    assert "cannot be read" in training.complaints(lab)[0]


@pytest.mark.parametrize(
    "change, why",
    [
        ("least = 95", "a promise has"),
        ("([\\d.]+)", "needs one group"),
        ("^new", "a promise has"),
    ],
)
def test_a_promise_that_says_too_little_is_refused_with_its_line(lab, change, why):
    edit(lab.folder / "lab.toml", change, {"^new": "(new"}.get(change, ""))
    with pytest.raises(CourseError, match=rf"lab\.toml:\d+: .*{why}|{why}"):
        training.promises(again(lab))


@pytest.fixture
def before(lab) -> str:
    return training.fingerprint(lab)


def test_other_words_need_no_new_training(lab, before):
    edit(lab.folder / "00_tiny.py", "# ## 1. Twice as much", "# ## 1. Two times as much")
    edit(lab.folder / "00_tiny.py", "from matplotlib", "# a comment\nfrom matplotlib")
    edit(
        lab.folder / "00_tiny.py", "from course_utils import check", "from course_utils import check  # here"
    )
    edit(lab.course.root / "requirements.txt", "ruff==0.17.5", "# the lock\nruff==0.18.0")
    assert training.fingerprint(again(lab)) == before


@pytest.mark.parametrize(
    "file, old, new",
    [
        ("solutions/00_tiny/00_tiny.py", "np.multiply(x, 2)", "np.multiply(2, x)"),
        ("requirements.txt", "2.13.0", "2.13.1"),
    ],
)
def test_other_code_or_another_package_needs_it(lab, before, file, old, new):
    edit(lab.course.root / file, old, new)
    assert training.fingerprint(again(lab)) != before


COURSE_UTILS = Path(course_utils.__file__).parent


@pytest.mark.parametrize(
    "file, old, new, counts",
    [
        ("models/translator.py", b'"""', b'"""In other words: ', False),
        ("models/translator.py", b"\nimport ", b"\nANOTHER = 1\nimport ", True),
        ("weights/translator.safetensors", b"weight", b"WEIGHT", True),
        ("plots/__init__.py", b"\nimport ", b"\nANOTHER = 1\nimport ", False),
    ],
)
def test_the_course_s_own_code_counts_where_it_has_a_part(
    lab, before, monkeypatch, tmp_path, file, old, new, counts
):
    path, changed = COURSE_UTILS / file, tmp_path / "changed"
    changed.write_bytes(path.read_bytes().replace(old, new, 1))
    assert changed.read_bytes() != path.read_bytes()
    met = []

    def found_elsewhere(found):
        def find(wanted):
            files = found(wanted)
            met.extend(each for each in files.values() if each == path)
            return {name: changed if each == path else each for name, each in files.items()}

        return find

    for name in ("reached", "data_of"):
        monkeypatch.setattr(training, name, found_elsewhere(getattr(training, name)))
    assert (training.fingerprint(again(lab)) != before) == counts
    assert met
