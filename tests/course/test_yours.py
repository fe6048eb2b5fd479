"""What a later lab gets of an earlier one: the learner's own if it passes its check, else the course's, and a line that says which."""

from __future__ import annotations

import ast
import importlib
import json
import shutil

import numpy as np
import pytest
import torch

from course_utils import yours
from course_utils.checking.bypass import uses_of
from course_utils.checking.cells import parsed
from course_utils.checking.check import SEED_VARIABLE
from course_utils.checking.names import reached_from
from course_utils.checking.ready_made import YOURS
from course_utils.maths import softmax
from course_utils.models.torch_attention import MultiHeadAttention, sinusoidal_positions
from course_utils.portfolio_check import fault_of
from course_utils.yours import OFFERS, fitted, tried_out
from grader.catalogue import Entry, run_cell
from grader.handout.demo import solved
from grader.handout.needed import files_for_learners
from grader.reference.lab import Lab, checked_exercise, runs_in_grading

WHERE = {
    "softmax": "00_start_here",
    "scaled_dot_product_attention": "02_self_attention",
    "MultiHeadAttention": "03_multi_head_attention",
    "sinusoidal_positions": "04_positional_encoding",
    "positional_encoding": "04_positional_encoding",
    "rouge_l": "08_language_model_and_summarizer",
    "LoRALinear": "13_your_own_dataset",
}


@pytest.fixture
def learner(labs, tmp_path, monkeypatch):
    """Puts a lab's notebook with these texts beside the one that the learner works in."""
    here = tmp_path / "12_text_to_text"
    shutil.copytree(labs["12_text_to_text"].release_folder, here)
    monkeypatch.chdir(here)
    monkeypatch.syspath_prepend("")
    monkeypatch.setattr(yours, "_last", {})

    def puts(name: str, **texts: str):
        lab = labs[name]
        there = tmp_path / name
        shutil.copytree(lab.release_folder, there, ignore=shutil.ignore_patterns("*.ipynb"))
        (there / lab.notebook_name).write_text(json.dumps(solved(lab, texts)), "utf-8")
        return there / lab.notebook_name

    return puts


def imports_from_yours(lab: Lab) -> list[str]:
    """The lines of a released lab that get what its learner built earlier, each with its names."""
    return [
        ast.unparse(node)
        for cell in lab.release().cells
        if cell.cell_type == "code" and "course_utils.yours" in cell.source
        for node in parsed(cell.source)
        if isinstance(node, ast.ImportFrom) and node.module == "course_utils.yours"
    ]


def test_every_lab_gets_what_was_built_earlier_from_here(labs):
    later = {name[:2]: "; ".join(lines) for name, lab in labs.items() if (lines := imports_from_yours(lab))}
    assert later == {
        "01": "from course_utils.yours import softmax",
        "02": "from course_utils.yours import softmax",
        "03": "from course_utils.yours import scaled_dot_product_attention, softmax",
        "04": "from course_utils.yours import scaled_dot_product_attention",
        "05": "from course_utils.yours import MultiHeadAttention, sinusoidal_positions",
        "06": "from course_utils.yours import positional_encoding",
        "08": "from course_utils.yours import MultiHeadAttention",
        "12": "from course_utils.yours import MultiHeadAttention; from course_utils.yours import LoRALinear, rouge_l",
        "13": "from course_utils.yours import softmax",
    }
    courses = {tuple(offer.course.rsplit(".", 1)) for offer in OFFERS.values()}
    for name, lab in labs.items():
        for cell in lab.release().cells:
            if cell.cell_type == "code":
                taken = {
                    (node.module, each.name)
                    for statement in parsed(cell.source)
                    for node in ast.walk(statement)
                    if isinstance(node, ast.ImportFrom)
                    for each in node.names
                }
                assert not taken & courses, (name, cell.id)


def with_mark(lab: Lab, name: str) -> str:
    """The reference of an exercise that can be told from the course's own."""
    return f'{lab.solution_texts[name]}\n\n{name}.built_by = "me"'


@pytest.mark.parametrize(
    "number",
    [
        # their checks are the first here to make a PyTorch layer, for which PyTorch imports its compiler, or a Keras tensor
        pytest.param(number, marks=[pytest.mark.slow] if number in ("05", "06", "08", "12") else [])
        for number in ("01", "02", "03", "04", "05", "06", "08", "12", "13")
    ],
)
def test_a_later_lab_gets_one_s_own_and_in_grading_the_course_s(labs, learner, capsys, monkeypatch, number):
    lines = imports_from_yours(next(lab for name, lab in labs.items() if name.startswith(number)))
    for name in {WHERE[each.name] for line in lines for each in ast.parse(line).body[0].names}:
        lab = labs[name]
        own = [each.key.partition(".")[2] for each in OFFERS.values() if each.key in lab.exercises]
        learner(name, **{exercise: with_mark(lab, exercise) for exercise in own})
    found: dict = {}
    exec("\n".join(lines), found)
    names = [name for name in found if name in OFFERS]
    assert names and all(found[name].built_by == "me" for name in names)
    assert capsys.readouterr().out.splitlines() == [said_of_one_s_own(name) for name in names]
    monkeypatch.setenv(SEED_VARIABLE, "7")
    exec("\n".join(lines), found)
    for name in names:
        module, _, its_name = OFFERS[name].course.rpartition(".")
        assert found[name] is getattr(importlib.import_module(module), its_name)


def said_of_one_s_own(name: str) -> str:
    module, _, its_name = OFFERS[name].course.rpartition(".")
    return f"{name}: your {OFFERS[name].called}, from lab {WHERE[name][:2]}. The course's: from {module} import {its_name}"


def test_there_is_a_place_for_each_of_them(labs):
    assert set(WHERE) == set(OFFERS)
    for name, offer in OFFERS.items():
        assert offer.key in labs[WHERE[name]].exercises


@pytest.mark.parametrize(
    "text, why",
    [
        ("def softmax(scores, axis=-1):\n    return scores", "because yours does not pass its check yet (lab 00)"),
        ("def softmax(scores, axis=-1):\n    # YOUR CODE HERE\n    raise NotImplementedError", "because yours is not written yet (lab 00)"),
        ("import not_here_at_all\n\n@not_here_at_all.fast\ndef softmax(scores, axis=-1):\n    return scores", "because yours stops with ModuleNotFoundError (lab 00)"),
        ("def softmaks(scores):\n    pass", "because yours is not written yet (lab 00)"),
        ("from course_utils.yours import softmax", "because yours is not written yet (lab 00)"),
        ("from course_utils.yours import softmax as ready\n\ndef softmax(scores, axis=-1):\n    return ready(scores, axis)", "because yours does not pass its check yet (lab 00)"),
        ("def softmax(scores, axis=-1):\n    print(scores.shape)\n    e = np.exp(scores - scores.max(axis, keepdims=True))\n    return e / e.sum(axis, keepdims=True)", "because yours passes its check, but it prints something whenever it is called (lab 00)"),
    ],
)  # fmt: skip
def test_the_course_s_is_used_where_it_does_not_pass_and_a_line_says_why(learner, capsys, text, why):
    learner("00_start_here", softmax=text)
    assert yours.softmax is softmax
    assert capsys.readouterr().out == f"softmax: the course's softmax, {why}\n"


REFUSED = {
    "softmax_by_pairwise_differences": "it goes wrong with blocked scores, a billion below the others or minus infinity",
    "softmax_in_decimals": "it raises InvalidOperation with blocked scores, a billion below the others or minus infinity",
    "softmax_that_talks": "it prints something whenever it is called",
    "attention_by_loops": "it is too slow with a sentence of 128 words",
    "attention_that_talks": "it prints something whenever it is called",
}
"""Correct versions that later labs do not use, and what the line says of them."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=[pytest.mark.slow]
            if name in ("MultiHeadAttention", "positional_encoding", "LoRALinear")
            else [],
        )
        for name in OFFERS
    ],
)
def test_each_correct_version_is_of_use_to_later_labs_or_a_line_says_why_not(labs, name):
    found = {each.name: tried_out(name, each.value)[1] for each in versions_of(labs, name)}
    assert {each: why for each, why in found.items() if why} == {
        each: REFUSED[each] for each in found if each in REFUSED
    }


def versions_of(labs, name: str) -> list[Entry]:
    return labs[WHERE[name]].variants[OFFERS[name].key]


LATER = (
    ("softmax", "01_why_attention"),
    ("softmax", "02_self_attention"),
    ("scaled_dot_product_attention", "03_multi_head_attention"),
    ("MultiHeadAttention", "05_transformer_pytorch"),
    ("MultiHeadAttention", "08_language_model_and_summarizer"),
    ("sinusoidal_positions", "05_transformer_pytorch"),
)
"""What a later lab's exercises call: in 04, 12 and 13 only other cells do. (In 06 they take minutes, and all tables are made one and the same there.)"""


@pytest.mark.slow
@pytest.mark.parametrize("name, later", LATER)
def test_who_solves_a_later_lab_with_such_a_version_passes_its_checks(labs, monkeypatch, name, later):
    lab = labs[later]
    cells = [
        each.source for each in solved(lab).cells if runs_in_grading(each) and not checked_exercise(each)
    ]
    for version in versions_of(labs, name):
        helped, why = tried_out(name, version.value)
        if why:
            continue
        monkeypatch.setattr(yours, name, fitted(name, version.value, helped), raising=False)
        names: dict = {"__name__": "__main__"}
        for number, cell in enumerate(cells):
            run_cell(cell, f"<cell {number} with {version.name}>", names)
        calling = [each for each in lab.exercises if name in reached_from(each.partition(".")[2], cells)]
        assert calling
        for key in calling:
            own = names[key.partition(".")[2]]
            assert not fault_of(key, own, names, lab.release_folder, cells), (version.name, key)


@pytest.mark.slow
def test_lab_05_can_put_pytorchs_own_attention_and_rotary_positions_into_each_version(labs):
    cells = [
        each.source
        for each in labs["05_transformer_pytorch"].release().cells
        if "class FusedAttention" in each.source or "class RotaryAttention" in each.source
    ]
    for version in versions_of(labs, "MultiHeadAttention"):
        made = fitted("MultiHeadAttention", version.value)
        names = {"MultiHeadAttention": made, "nn": torch.nn, "torch": torch}
        for cell in cells:
            exec(cell, names)
        layer, x = made(12, 3), torch.randn(2, 5, 12)
        mixed = layer(x, x, x)[0]
        torch.testing.assert_close(names["fused_copy"](layer)(x, x, x)[0], mixed)
        torch.testing.assert_close(layer(x.flip(1), x.flip(1), x.flip(1))[0].flip(1), mixed)
        layer.__class__ = names["RotaryAttention"]
        turned = layer(x, x, x)[0]
        assert not torch.allclose(layer(x.flip(1), x.flip(1), x.flip(1))[0].flip(1), turned, atol=1e-3), (
            version.name
        )


def test_a_lab_that_is_opened_alone_gets_the_course_s(learner, capsys):
    assert yours.softmax is softmax
    assert (
        capsys.readouterr().out
        == "softmax: the course's softmax, because the lab in which you build it is not beside this one\n"
    )


def test_what_has_passed_is_checked_again_only_when_it_has_changed(labs, learner, capsys, monkeypatch):
    notebook = learner("00_start_here")
    found = yours.softmax
    assert yours.softmax is found  # isinstance() needs one class
    monkeypatch.setattr(yours, "fault_of", lambda *given: pytest.fail("checked again"))
    monkeypatch.setattr(yours, "_last", {})
    assert yours.softmax is not softmax  # in another session
    other = labs["00_start_here"].solution_texts["softmax"].replace("exp", "exp2")
    notebook.write_text(json.dumps(solved(labs["00_start_here"], {"softmax": other})))
    monkeypatch.setattr(yours, "fault_of", fault_of)
    assert yours.softmax is softmax
    assert capsys.readouterr().out.endswith("because yours does not pass its check yet (lab 00)\n")


def test_cells_that_run_for_long_do_not_hold_up_a_later_lab(learner, capsys, monkeypatch):
    monkeypatch.setattr(yours, "MOST_SECONDS", 0.3)
    learner("00_start_here", softmax="def forever():\n    while True:\n        pass\n\nlimit = forever()\n\ndef softmax(scores, axis=-1):\n    return limit")  # fmt: skip
    assert yours.softmax is softmax
    assert (
        "because the cells that yours needs take longer than 0.3 seconds (lab 00)" in capsys.readouterr().out
    )


@pytest.mark.slow
def test_where_only_the_files_of_a_lab_are_handed_out_the_course_s_own_are_among_them(labs):
    for name, lab in labs.items():
        for line in imports_from_yours(lab):
            files = {path.with_suffix("").as_posix().replace("/", ".") for path in files_for_learners(lab)}
            for each in ast.parse(line).body[0].names:
                assert OFFERS[each.name].course.rpartition(".")[0] in files, name


def test_a_notebook_that_cannot_be_read_is_no_reason_to_stop(learner, capsys):
    learner("00_start_here").write_text("{")
    assert yours.softmax is softmax
    assert "cannot be used: it is not a notebook that can be read" in capsys.readouterr().out


def test_in_grading_it_is_the_course_s_whatever_lies_beside_it(learner, capsys, monkeypatch):
    learner("00_start_here", softmax="raise SystemExit")
    monkeypatch.setenv(SEED_VARIABLE, "7")
    from course_utils.yours import softmax as found

    assert found is softmax
    assert capsys.readouterr().out == "softmax: the course's softmax, as always in grading\n"


def test_a_name_that_is_not_offered_is_refused_with_those_that_are():
    with pytest.raises(ImportError):
        from course_utils.yours import Transformer  # noqa: F401
    with pytest.raises(AttributeError, match="it has: softmax, "):
        yours.Transformer  # noqa: B018


def test_one_s_own_attention_takes_the_masks_of_later_labs(labs):
    theirs = labs["03_multi_head_attention"].reference["MultiHeadAttention"]
    torch.manual_seed(0)
    ours, own = MultiHeadAttention(6, 2), fitted("MultiHeadAttention", theirs)(6, 2)
    own.load_state_dict(ours.state_dict())
    x, mask = torch.randn(3, 5, 6), torch.rand(3, 1, 5, 5) > 0.4
    for allowed in (None, mask, mask[:, 0], mask[:, :, :1], mask[0, 0]):
        for found, wanted in zip(own(x, x, x, allowed), ours(x, x, x, allowed), strict=True):
            torch.testing.assert_close(found, wanted)
    with pytest.raises(ValueError, match="one mask for all heads"):
        own(x, x, x, torch.ones(3, 2, 5, 5, dtype=torch.bool))


def test_one_s_own_positions_are_what_later_labs_take(labs):
    theirs = labs["04_positional_encoding"].reference["positional_encoding"]
    found = fitted("sinusoidal_positions", theirs)(7, 6)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, sinusoidal_positions(7, 6))


@pytest.mark.slow  # it imports TensorFlow
def test_one_s_own_positions_are_what_the_labs_in_keras_take(labs):
    from course_utils.models.keras_translator import positional_encoding

    theirs = labs["04_positional_encoding"].reference["positional_encoding"]
    in_keras = fitted("positional_encoding", theirs)(7, 6)
    np.testing.assert_allclose(in_keras, positional_encoding(7, 6), atol=1e-6)
    assert in_keras.dtype == positional_encoding(7, 6).dtype


def test_no_exercise_is_solved_by_importing_what_it_asks_for(labs):
    assert {offer.course: f"course_utils.yours.{name}" for name, offer in OFFERS.items()} == YOURS
    for name, offer in OFFERS.items():
        lab = next(lab for lab in labs.values() if lab.slug == offer.key.partition(".")[0])
        exercise = lab.exercises[offer.key]
        cell = f"from course_utils.yours import {name} as {exercise.name}"
        assert uses_of(exercise, lab.exercises.values(), [cell]), name
