"""Weights that a long cell trained: kept in the learner's folder, and loaded again into what the notebook makes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from course_utils import kept_weights
from course_utils.kept_weights import bring_back, folder_of, keep, keep_what_trains

CELLS = [(1, "SIZE = 3"), (4, "model = Small(SIZE)"), (7, "train(model)")]


class Small(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.layer = nn.Linear(size, size)


def trained(**more) -> dict:
    return {"Small": Small, "SIZE": 3, "model": Small(3).eval(), "train": print, **more}


def test_what_a_cell_trained_is_loaded_into_the_model_that_the_notebook_makes(tmp_path):
    yesterday, today = trained(other=Small(3)), {"Small": Small, "SIZE": 3}
    keep("lab", "train(model)", yesterday)
    assert [file.name for file in folder_of("lab").iterdir()] == [
        "model.pt"
    ]  # of `other` the cell says nothing
    assert [*bring_back("lab", CELLS, today)] == [
        "`model` has the weights again that it had when you trained it."
    ]
    assert torch.equal(today["model"].layer.weight, yesterday["model"].layer.weight)
    assert not today["model"].training


def test_a_model_of_another_form_says_which_cell_to_run_and_is_not_left_there_untrained():
    keep("lab", "train(model)", trained())
    today = {"Small": Small, "SIZE": 4}
    (said,) = bring_back("lab", CELLS, today)
    assert "run cell 4 again" in said and "model" not in today


@pytest.mark.parametrize("content", [b"", b"no weights"])
def test_a_damaged_file_stops_nothing(content):
    keep("lab", "train(model)", trained())
    (folder_of("lab") / "model.pt").write_bytes(content)
    (said,) = bring_back("lab", CELLS, {"Small": Small, "SIZE": 3})
    assert "are not loaded" in said


def test_a_model_that_the_notebook_does_not_name_above_the_place_to_go_on_stays_where_it_is():
    keep("lab", "train(model)", trained())
    assert [*bring_back("lab", CELLS[:1], {})] == []


def test_a_model_that_is_made_by_training_is_never_trained_again():
    keep("lab", "train(model)", trained())
    cells = [(2, "model = train_for_hours(Small(SIZE))")]
    today = {"Small": Small, "SIZE": 3, "train_for_hours": lambda _: pytest.fail("it was called")}
    (said,) = bring_back("lab", cells, today)
    assert "run cell 2 again" in said


def test_keras_models_are_kept_as_well():
    keras = pytest.importorskip("keras")
    made = lambda: keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(2)])  # noqa: E731
    yesterday, today = {"model": made()}, {"model": made()}
    keep("lab", "model.fit(x)", yesterday)
    assert [*bring_back("lab", [(3, "model = made()")], today)] == [
        "`model` has the weights again that it had when you trained it."
    ]
    assert (yesterday["model"].get_weights()[0] == today["model"].get_weights()[0]).all()


def test_only_long_cells_that_end_well_are_kept_and_a_model_that_is_too_large_is_not(monkeypatch):
    events: dict = {}
    shell = SimpleNamespace(
        events=SimpleNamespace(register=lambda name, do: events.setdefault(name, []).append(do)),
        user_ns=trained(),
    )
    now = [0.0]
    monkeypatch.setattr(kept_weights.time, "monotonic", lambda: now[0])
    for _ in range(2):  # a second time adds nothing
        keep_what_trains("lab", shell)
    assert {name: len(each) for name, each in events.items()} == {"pre_run_cell": 1, "post_run_cell": 1}

    def run(seconds: float, success: bool = True) -> bool:
        events["pre_run_cell"][0](None)
        now[0] += seconds
        events["post_run_cell"][0](
            SimpleNamespace(success=success, info=SimpleNamespace(raw_cell="train(model)"))
        )
        return folder_of("lab").is_dir() and any(folder_of("lab").iterdir())

    assert not run(1) and not run(100, success=False)
    with monkeypatch.context() as small:
        small.setattr(kept_weights, "MOST_BYTES", 10)
        assert not run(100)
    assert run(100)
