"""The package of one's own: what goes in, what is left out and said, and that it installs, passes its tests and runs."""

from __future__ import annotations

import ast
import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from matplotlib.figure import Figure
from PIL import Image
from project import LABS, ROOT

from course_utils import labs as labs_here
from course_utils import plots, portfolio
from course_utils.portfolio import homes, make
from course_utils.portfolio.figures import figures_of
from course_utils.portfolio.folder import MARKER, Refused
from course_utils.portfolio.homes import MODULES, PACKAGE
from course_utils.portfolio.modules import modules_of
from course_utils.portfolio.pieces import gather
from course_utils.portfolio_commands import COMMANDS
from grader.handout.demo import duplicated, other_ways, retyped, solved, without_metadata
from grader.reference.lab import Lab

FIRST = ("00_start_here", "02_self_attention")  # NumPy only: their checks take a second


def bench(folder: Path, labs: dict[str, Lab], notebooks: dict) -> Path:
    """A folder of labs with these notebooks, as a learner has it."""
    for name, notebook in notebooks.items():
        there = folder / name
        shutil.copytree(
            labs[name].release_folder, there, ignore=shutil.ignore_patterns("*.ipynb", "__pycache__")
        )
        (there / labs[name].notebook_name).write_text(json.dumps(notebook), "utf-8")
    return folder


def first_labs(folder: Path, labs: dict[str, Lab], **texts: str) -> Path:
    """The first labs, solved; in lab 02 with other texts for some exercises."""
    notebooks = {"00_start_here": solved(labs["00_start_here"])}
    notebooks["02_self_attention"] = solved(labs["02_self_attention"], texts)
    return bench(folder, labs, notebooks)


def quiet(line: str) -> None:
    pass


def environment(**more: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    return own | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"} | more


# ---------------------------------------------------------------------------------- what is declared


def test_a_lab_that_names_its_modules_names_them_for_every_exercise_and_no_module_has_two_labs(labs):
    its = {
        lab.slug: {exercise.name for exercise in lab.exercises.values() if not exercise.goals}
        for lab in labs.values()
    }
    declared = {
        slug: [name for _, names in parts.values() for name in names.split()]
        for slug, parts in MODULES.items()
    }
    assert {slug: set(names) for slug, names in declared.items()} == {slug: its[slug] for slug in declared}
    assert all(len(names) == len(set(names)) for names in declared.values())
    modules = [module for parts in MODULES.values() for module in parts]
    assert len(modules) == len(set(modules))


def test_the_commands_need_exercises_that_there_are(labs):
    keys = {key for lab in labs.values() for key in lab.exercises}
    assert {key for command in COMMANDS.values() for key in command.needs} <= keys


# ---------------------------------------------------------------------------------- pictures


def shown(alt: str, monkeypatch) -> dict:
    """The output of ``show_figure`` in a notebook."""
    published: list[dict] = []
    monkeypatch.setattr(plots, "publish", published.append)
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([1, 2])
    plots.show_figure(figure, alt=alt)
    return {"output_type": "display_data", "metadata": {}, "data": published[0]}


def output(**data: object) -> dict:
    return {"output_type": "display_data", "metadata": {}, "data": data}


def below(notebook, exercise: str, outputs: object) -> None:
    """Puts outputs into the cell after an exercise's check."""
    checks = [
        place for place, cell in enumerate(notebook.cells) if cell.source.rstrip().endswith(f'.{exercise}")')
    ]
    cell = next(each for each in notebook.cells[checks[0] + 1 :] if each.cell_type == "code")
    cell["outputs"] = outputs


def test_the_readme_shows_the_last_picture_of_each_lab_that_belongs_to_what_went_in(
    labs, tmp_path, monkeypatch
):
    first, second = (
        solved(labs["00_start_here"]),
        solved(labs["02_self_attention"], {"causal_mask": "causal_mask = None"}),
    )
    last = shown('Weights of [a] "cat"\nand a dog', monkeypatch)
    below(first, "softmax", [shown("earlier", monkeypatch), last, {"output_type": "stream", "text": "x"}])
    below(second, "causal_mask", [shown("of something that did not go in", monkeypatch)])
    notebooks = bench(tmp_path / "labs", labs, {"00_start_here": first, "02_self_attention": second})
    make(notebooks, tmp_path / "out", said=quiet)
    assert [path.name for path in (tmp_path / "out" / "figures").iterdir()] == ["00.webp"]
    with Image.open(tmp_path / "out" / "figures" / "00.webp") as picture:
        assert picture.width > picture.height
    text = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert '![Weights of \\[a\\] "cat" and a dog](figures/00.webp)\n\nLab 00, Start here\n' in text


@pytest.mark.parametrize(
    "outputs",
    [
        None, 7, "text", [None, 3, {}, {"data": 1}, {"data": {"text/html": 5, "image/png": {}}}],
        [output(**{"image/png": "not base64"}), output(**{"image/png": base64.b64encode(b"GIF89a").decode()})],
        [output(**{"image/png": base64.b64encode(b"\x89PNG" + bytes(2**20)).decode()})],
        [output(**{"text/html": '<img alt="x" src="data:image/webp;base64,AAAA" class="figure-1">'})],
        [output(**{"text/html": '<img alt="x" src="https://example.org/x.webp" class="figure-1">'})],
    ],
)  # fmt: skip
def test_what_is_no_picture_is_left_out(labs, tmp_path, outputs):
    notebook = solved(labs["00_start_here"])
    below(notebook, "softmax", outputs)
    found = gather(labs_here.labs_in(bench(tmp_path, labs, {"00_start_here": notebook})))
    assert found.pieces and figures_of(found) == []


# ---------------------------------------------------------------------------------- nothing yet


def test_from_untouched_notebooks_it_says_what_to_do_first_and_makes_nothing(labs, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(
        Refused, match=r"no exercise is solved\. Begin with lab 00, Start here: .*`softmax`"
    ) as refused:
        make(ROOT / "notebooks", out, said=quiet)
    assert not out.exists()
    assert "YOUR CODE" not in str(refused.value)


def test_the_command_says_it_without_a_traceback(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-m", "course_utils", "portfolio", "--notebooks", str(tmp_path)],
        cwd=tmp_path, env=environment(), text=True, capture_output=True,
    )  # fmt: skip
    assert ran.returncode == 1 and ran.stderr.startswith("There are no labs in ") and not ran.stdout


def test_where_nothing_passes_nothing_is_made(labs, tmp_path):
    notebook = solved(labs["00_start_here"], {"softmax": "def softmax(scores, axis=-1):\n    return scores"})
    with pytest.raises(Refused, match="nothing passes its check. Begin with `softmax` in lab 00"):
        make(bench(tmp_path / "labs", labs, {"00_start_here": notebook}), tmp_path / "out", said=quiet)
    assert not (tmp_path / "out").exists()


def test_the_button_at_the_end_of_a_lab_says_what_it_did_or_why_not(labs, tmp_path, monkeypatch):
    shown: list = []
    monkeypatch.setattr("course_utils.plots.show_live", lambda widget, html, text: shown.append(widget))
    folder = first_labs(tmp_path / "labs", labs)
    monkeypatch.chdir(folder / "02_self_attention")
    portfolio.button()
    button, said, _ = shown[0].children
    assert not (folder / PACKAGE).exists()  # Run All makes nothing
    monkeypatch.setattr(portfolio, "keep_what_passes", lambda work, said: modules_of(work))
    button.click()
    assert (folder / PACKAGE / "README.md").is_file()
    assert "9 of 9 exercises: your own code" in said.value
    (folder / PACKAGE / MARKER).unlink()
    button.click()
    assert "this command did not make it" in said.value


# ---------------------------------------------------------------------------------- what goes in


def test_what_passes_goes_in_as_it_is_written_and_what_does_not_is_left_out_with_what_calls_it(
    labs, tmp_path
):
    lab = labs["02_self_attention"]
    wrong = lab.misconceptions["self_attention.causal_mask"][0]
    own = '# Mine: all at once.\ndef combine_masks(*masks):\n    """Where all allow it."""\n    return _all(masks)'
    notebooks = first_labs(tmp_path / "labs", labs, causal_mask=wrong.source, combine_masks=own)
    file = notebooks / lab.name / lab.notebook_name
    notebook = nbformat.read(file, 4)
    helper = "import functools\n\n\ndef _all(masks):\n    given = [mask for mask in masks if mask is not None]\n    return functools.reduce(np.logical_and, given) if given else None"
    notebook.cells.insert(2, nbformat.v4.new_code_cell(helper))
    nbformat.write(notebook, file)
    out = tmp_path / "out"
    work = make(notebooks, out, "MIT", "Ada Example", quiet)
    assert set(work.missing) == {"self_attention.causal_mask", "self_attention.causal_self_attention"}
    assert work.missing["self_attention.causal_mask"].startswith("it does not pass its check yet: ")
    assert (
        work.missing["self_attention.causal_self_attention"]
        == "it calls `causal_mask`, which is not in the package"
    )
    masks = (out / PACKAGE / "masks.py").read_text()
    assert (
        own in masks
        and "no check tries it on its own.\ndef _all(masks):" in masks
        and "import functools" in masks
    )
    assert "causal_mask" not in masks
    attention = (out / PACKAGE / "attention.py").read_text()
    assert f"from {PACKAGE}.softmax import softmax" in attention and "course_utils" not in attention
    readme = (out / "README.md").read_text()
    assert (
        "7 of its 9 exercises" in readme
        and "| `causal_mask` | 02 Self-attention | it does not pass" in readme
    )
    assert (
        "Ada Example" in (out / "LICENSE").read_text()
        and "Transformer Labs authors" in (out / "LICENSE-course").read_text()
    )
    everything = "\n".join(path.read_text("utf-8", "replace") for path in out.rglob("*") if path.is_file())
    hints = [entry.hint for entries in lab.misconceptions.values() for entry in entries]
    assert not [hint for hint in hints if hint[:40] in everything]
    import numpy as np

    with np.load(out / "tests/checks/self_attention/expected.npz") as arrays:
        index = json.loads(arrays["index"].tobytes())
    assert "self_attention.causal_mask" not in index
    assert not [
        entry for entry in index.values() if entry["misconceptions"] or entry["hints"] or entry["lessons"]
    ]


def test_without_the_learner_s_own_the_course_s_is_imported_and_marked(labs, tmp_path):
    notebooks = bench(tmp_path / "labs", labs, {"02_self_attention": solved(labs["02_self_attention"])})
    made = modules_of(gather(labs_here.labs_in(notebooks)))
    assert "from course_utils.maths import softmax  # the course's" in made["attention"].text
    assert "course_utils.maths.softmax" in made["attention"].course


def test_the_last_definition_above_the_check_counts_and_later_changes_of_it_too(labs, tmp_path):
    text = (
        "def padding_mask(token_ids, pad_id=0):\n    return 'an older one'\n\n"
        "def padding_mask(token_ids, pad_id=0):\n    return token_ids != pad_id\n\n"
        "padding_mask = _named(padding_mask)\npadding_mask.told = LIMIT\nLIMIT = 3"
    )
    notebooks = first_labs(tmp_path / "labs", labs, padding_mask=text)
    file = notebooks / "02_self_attention" / "self_attention.ipynb"
    notebook = nbformat.read(file, 4)
    notebook.cells.insert(1, nbformat.v4.new_code_cell("def _named(f):\n    return f\n\nLIMIT = 2"))
    notebook.cells.append(nbformat.v4.new_code_cell("def padding_mask(token_ids):\n    return 'played with'"))
    nbformat.write(notebook, file)
    masks = modules_of(gather(labs_here.labs_in(notebooks)))["masks"].text
    assert "played with" not in masks and "an older one" not in masks
    assert (
        masks.index("def _named") < masks.index("token_ids != pad_id") < masks.index("= _named(padding_mask)")
    )
    assert masks.index("LIMIT = 2") < masks.index("padding_mask.told = LIMIT")


def test_modules_that_would_need_each_other_become_one(labs, tmp_path):
    text = "def shared(x):\n    return x\n\ndef project_qkv(x, w_query, w_key, w_value):\n    return shared(x) @ w_query, x @ w_key, x @ w_value"
    mask = "def padding_mask(token_ids, pad_id=0):\n    return shared(token_ids) != pad_id"
    notebooks = first_labs(tmp_path / "labs", labs, project_qkv=text, padding_mask=mask)
    made = modules_of(gather(labs_here.labs_in(notebooks)))
    assert list(made) == ["softmax", "self_attention"]
    ast.parse(made["self_attention"].text)


def test_a_file_of_one_s_own_goes_in_with_what_imports_it(labs, tmp_path):
    text = "from mine import not_equal\n\ndef padding_mask(token_ids, pad_id=0):\n    return not_equal(token_ids, pad_id)[..., None, :]"
    notebooks = first_labs(tmp_path / "labs", labs, padding_mask=text)
    own = "def not_equal(one, other):\n    return one != other\n"
    (notebooks / "02_self_attention" / "mine.py").write_text(own)
    work = make(notebooks, tmp_path / "out", said=quiet)
    assert "self_attention.padding_mask" in work.pieces
    assert (tmp_path / "out" / PACKAGE / "mine.py").read_text() == own


DAMAGES = {
    "without metadata": (without_metadata, 8),
    "cells twice": (lambda notebook: duplicated(notebook, notebook), 8),
    "cells made markdown": (retyped, 0),
}


@pytest.mark.parametrize("damage, count", DAMAGES.values(), ids=DAMAGES)
def test_what_is_there_of_a_damaged_notebook_is_found(labs, tmp_path, damage, count):
    lab = labs["02_self_attention"]
    notebooks = bench(tmp_path, labs, {lab.name: damage(solved(lab))})
    assert len(gather(labs_here.labs_in(notebooks)).pieces) == count


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b'{"cells": 3}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"cells": [1, null, {"cell_type": "code", "source": [3]}]}',
    ],
)
def test_a_file_that_is_no_notebook_is_named_and_stops_nothing(labs, tmp_path, text):
    notebooks = first_labs(tmp_path, labs)
    (notebooks / "02_self_attention" / "self_attention.ipynb").write_bytes(text)
    work = gather(labs_here.labs_in(notebooks))
    assert list(work.pieces) == ["start_here.softmax"]
    assert set(work.missing.values()) <= {
        "its notebook: it is not a notebook that can be read",
        "no cell of the notebook defines it",
    }


# ---------------------------------------------------------------------------------- the folder


def test_a_folder_that_it_did_not_make_is_never_touched(labs, tmp_path):
    notebooks = first_labs(tmp_path / "labs", labs)
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("my only copy")
    link = tmp_path / "link"
    link.symlink_to(out)
    for target in (out, link, out / "thesis.txt"):
        with pytest.raises(Refused, match="this command did not make it"):
            make(notebooks, target, said=quiet)
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]


def test_made_again_it_keeps_what_somebody_added_or_changed(labs, tmp_path):
    notebooks, out = (
        bench(tmp_path / "labs", labs, {"00_start_here": solved(labs["00_start_here"])}),
        tmp_path / "out",
    )
    make(notebooks, out, said=quiet)
    (out / "figure.txt").write_text("mine")
    (out / "README.md").write_text("my words")
    said = []
    make(notebooks, out, said=said.append)
    assert "You have changed README.md: yours is kept as README.md.before." in said
    assert (out / "README.md.before").read_text() == "my words" and "My Transformer" in (
        out / "README.md"
    ).read_text()
    assert (out / "figure.txt").read_text() == "mine"
    assert not list(out.rglob("*.py.before"))


def test_nothing_outside_of_the_folder_is_touched_whatever_its_marker_says(labs, tmp_path):
    notebooks, out = (
        bench(tmp_path / "labs", labs, {"00_start_here": solved(labs["00_start_here"])}),
        tmp_path / "out",
    )
    make(notebooks, out, said=quiet)
    (tmp_path / "elsewhere").write_text("not ours")
    marker = (out / MARKER).read_text()
    (out / MARKER).write_text(marker.replace('"files": {', '"files": {"../elsewhere": "", '))
    with pytest.raises(Refused, match="would lie outside"):
        make(notebooks, out, said=quiet)
    (out / MARKER).write_text(marker)
    (tmp_path / "theirs").mkdir()
    shutil.move(out / "tests", tmp_path / "theirs")
    (out / "tests").symlink_to(tmp_path / "theirs" / "tests")
    with pytest.raises(Refused, match="because of a link"):
        make(notebooks, out, said=quiet)
    assert (tmp_path / "elsewhere").read_text() == "not ours"
    assert (tmp_path / "theirs" / "tests" / "test_checks.py").is_file()


def test_what_a_lab_takes_from_yours_is_one_s_own_or_plainly_the_course_s(labs, tmp_path):
    text = "from course_utils.yours import softmax as shares\n\ndef attend_one_word(*given):\n    return shares(given)"
    notebooks = first_labs(tmp_path / "labs", labs, attend_one_word=text)
    attention = modules_of(gather(labs_here.labs_in(notebooks)))["attention"].text
    assert f"from {PACKAGE}.softmax import softmax as shares" in attention
    shutil.rmtree(notebooks / "00_start_here")
    attention = modules_of(gather(labs_here.labs_in(notebooks)))["attention"].text
    assert "from course_utils.maths import softmax as shares  # the course's" in attention


def test_mit_asks_for_a_name_and_apache_brings_its_text(labs, tmp_path):
    notebooks = bench(tmp_path / "labs", labs, {"00_start_here": solved(labs["00_start_here"])})
    with pytest.raises(Refused, match="--author"):
        make(notebooks, tmp_path / "out", "MIT", " ", quiet)
    make(notebooks, tmp_path / "out", "Apache-2.0", "Ada", quiet)
    assert "Version 2.0, January 2004" in (tmp_path / "out" / "LICENSE").read_text()


def test_an_instructor_can_forbid_publishing_by_one_setting(labs, tmp_path, monkeypatch):
    notebooks = bench(tmp_path / "labs", labs, {"00_start_here": solved(labs["00_start_here"])})
    make(notebooks, tmp_path / "allowed", said=quiet)
    assert "do not publish" not in (tmp_path / "allowed" / "README.md").read_text()
    course = tmp_path / "course"
    course.mkdir()
    settings = (ROOT / "pyproject.toml").read_text()
    (course / "pyproject.toml").write_text(settings.replace("publish = true", "publish = false"))
    monkeypatch.setattr(homes, "COURSE", course)
    make(notebooks, tmp_path / "forbidden", said=quiet)
    assert "Please do not publish this folder." in (tmp_path / "forbidden" / "README.md").read_text()
    assert "Private :: Do Not Upload" in (tmp_path / "forbidden" / "pyproject.toml").read_text()


# ---------------------------------------------------------------------------------- the whole of it


def installed(out: Path, target: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index", "--target", target, out],
        check=True,
    )  # fmt: skip


def its_tests(out: Path, target: Path) -> str:
    """What pytest says of the installed package, in a process of its own."""
    both = os.pathsep.join([str(target), str(ROOT)])
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(out / "tests")],
        cwd=target, env=environment(PYTHONPATH=both), text=True, capture_output=True,
    )  # fmt: skip
    return ran.stdout


def says(target: Path, *arguments: str) -> tuple[str, str]:
    both = os.pathsep.join([str(target), str(ROOT)])
    ran = subprocess.run(
        [sys.executable, "-m", PACKAGE, *arguments],
        cwd=target, env=environment(PYTHONPATH=both), text=True, capture_output=True,
    )  # fmt: skip
    return ran.stdout.strip(), ran.stderr


@pytest.mark.slow
def test_it_installs_and_its_tests_fail_when_its_code_is_broken(labs, tmp_path):
    out, target = tmp_path / "out", tmp_path / "target"
    make(bench(tmp_path / "labs", labs, {"00_start_here": solved(labs["00_start_here"])}), out, said=quiet)
    installed(out, target)
    assert "1 passed" in its_tests(out, target)
    module = target / PACKAGE / "softmax.py"
    module.write_text(module.read_text() + "\nsoftmax = lambda scores, axis=-1: scores\n")
    assert "1 failed" in its_tests(out, target)


def mixture(lab: Lab, turn: int) -> dict[str, str]:
    """Exercise name -> a correct variant of it that runs in a notebook; another one at each turn."""
    return other_ways(lab, lambda variants: variants[turn % len(variants)])


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(4))  # the reference, and three mixtures of correct variants
def test_from_solved_labs_the_whole_package_is_made_installs_passes_and_answers(
    labs, tmp_path, turn, its_turn
):
    its_turn(3 * turn, 12)  # minutes: every third day
    notebooks = {name: solved(labs[name], mixture(labs[name], turn) if turn else {}) for name in LABS}
    out, target = tmp_path / "out", tmp_path / "target"
    work = make(bench(tmp_path / "labs", labs, notebooks), out, said=quiet)
    assert work.missing == {"your_own_dataset.predictions": "its answers are graded, not its code"}
    installed(out, target)
    assert f"{len(work.pieces)} passed" in its_tests(out, target)
    answer, whose = says(target, "translate", "Jane visite l'Afrique en septembre")
    assert answer == "Jane visits Africa in September"
    assert "MultiHeadAttention (lab 03)" in whose and "The course's: only the loading" in whose
    assert says(target, "continue", "The capital of France is")[0] == "The capital of France is Paris."
    found, _ = says(
        target,
        "tag",
        "Amara Okafor\nData analyst at Woods & Miller Ltd since 2019, based in Porto, Portugal.",
    )
    assert [line.split(None, 1) for line in found.splitlines()[:2]] == [
        ["Name", "Amara Okafor"],
        ["Designation", "Data analyst"],
    ]
    assert "Jane" in says(target, "answer", *COMMANDS["answer"].example)[0]
    assert says(target, "translate", "Zarathoustra parle")[1].endswith("with their capitals.\n")
