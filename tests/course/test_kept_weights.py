"""Weights that a long cell trained: kept in the learner's folder, and loaded again into what the notebook makes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from course_utils import kept_weights
from course_utils.checking.check import digest
from course_utils.kept_weights import bring_back, folder_of, keep, keep_what_trains

TRAIN = "train(model)"
CELLS = [(1, "SIZE = 3"), (4, "model = Small(SIZE)"), (7, TRAIN)]
AGAIN = "`model` has the weights again that cell 7 gave it."


class Small(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.layer = nn.Linear(size, size)


@pytest.fixture(autouse=True)
def nothing_waits():
    kept_weights._pending.clear()
    kept_weights._kept_for.clear()


def trained(**more) -> dict:
    return {"Small": Small, "SIZE": 3, "model": Small(3).eval(), "train": print, **more}


class Session:
    """A kernel: its names, and how long each cell takes."""

    def __init__(self, monkeypatch, **names) -> None:
        self.user_ns, self.now, self.done = names, 0.0, {}
        monkeypatch.setattr(kept_weights.time, "monotonic", lambda: self.now)
        self.events = SimpleNamespace(register=lambda name, do: self.done.setdefault(name, []).append(do))

    def run(self, source: str, seconds: float = 1, success: bool = True, work=lambda names: None) -> None:
        info = SimpleNamespace(raw_cell=source)
        for do in self.done.get("pre_run_cell", ()):
            do(info)
        self.now += seconds
        work(self.user_ns)
        for do in self.done.get("post_run_cell", ()):
            do(SimpleNamespace(success=success, info=info))


def other_weights(names: dict) -> None:
    with torch.no_grad():
        names["model"].layer.weight += 1


def files() -> list[str]:
    return sorted(file.name for file in folder_of("lab").glob("*"))


def test_what_a_cell_trained_is_loaded_into_the_model_that_the_notebook_makes():
    yesterday, today = trained(other=Small(3)), {"Small": Small, "SIZE": 3}
    keep("lab", TRAIN, yesterday, {})
    assert files() == [f"model.{digest(TRAIN)}.pt"]  # of `other` the cell says nothing
    assert [*bring_back("lab", CELLS, today)] == [AGAIN]
    assert torch.equal(today["model"].layer.weight, yesterday["model"].layer.weight)
    assert not today["model"].training


def test_a_model_that_cannot_be_made_here_gets_its_weights_when_the_cell_that_makes_it_has_run(
    monkeypatch, capsys
):
    yesterday = trained()
    keep("lab", TRAIN, yesterday, {})
    session = Session(monkeypatch)  # a fresh kernel, without the class
    (said,) = bring_back("lab", CELLS, session.user_ns)
    assert "run cell 4 again" in said and "model" not in session.user_ns
    keep_what_trains("lab", session)
    session.run("x = 1")
    assert capsys.readouterr().out == ""
    session.run(CELLS[1][1], work=lambda names: names.update(model=Small(3)))
    assert "`model` has the weights again" in capsys.readouterr().out
    assert torch.equal(session.user_ns["model"].layer.weight, yesterday["model"].layer.weight)


def test_a_model_of_another_form_is_left_as_it_is():
    keep("lab", TRAIN, trained(), {})
    model = Small(4)
    before = model.layer.weight.clone()
    (said,) = bring_back("lab", CELLS, {"model": model})
    assert "are kept" in said and torch.equal(model.layer.weight, before)


@pytest.mark.parametrize("content", [b"", b"no weights"])
def test_a_damaged_file_stops_nothing(content):
    keep("lab", TRAIN, trained(), {})
    next(folder_of("lab").iterdir()).write_bytes(content)
    today = {"Small": Small, "SIZE": 3}
    (said,) = bring_back("lab", CELLS, today)
    assert "are kept" in said and "model" not in today  # untrained, it would be taken for the trained one


def test_weights_of_another_training_are_never_taken_for_these():
    keep("lab", "train(model, steps=9)", trained(), {})
    assert [*bring_back("lab", CELLS, {"Small": Small, "SIZE": 3})] == []
    assert [*bring_back("lab", CELLS[:2], {"Small": Small, "SIZE": 3})] == []


def test_of_two_trainings_of_one_name_the_last_in_the_notebook_counts():
    first, second = trained(), trained()
    keep("lab", TRAIN, first, {})
    keep("lab", "train(model) # more", second, {})
    today = {"Small": Small, "SIZE": 3}
    (said,) = bring_back("lab", [*CELLS, (9, "train(model) # more")], today)
    assert "cell 9 gave it" in said
    assert torch.equal(today["model"].layer.weight, second["model"].layer.weight)


def test_a_model_that_is_made_by_training_is_never_trained_again():
    cells = [(2, "model = train_for_hours(Small(SIZE))")]
    keep("lab", cells[0][1], trained(), {})
    today = {"Small": Small, "SIZE": 3, "train_for_hours": lambda _: pytest.fail("it was called")}
    (said,) = bring_back("lab", cells, today)
    assert "it cannot be made without cell 2, which trains it again" in said


def test_keras_models_are_kept_as_well():
    keras = pytest.importorskip("keras")
    made = lambda: keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(2)])  # noqa: E731
    yesterday, today = {"model": made()}, {"model": made()}
    keep("lab", "model.fit(x)", yesterday, {})
    (said,) = bring_back("lab", [(3, "model = made()"), (5, "model.fit(x)")], today)
    assert "cell 5 gave it" in said
    assert (yesterday["model"].get_weights()[0] == today["model"].get_weights()[0]).all()


def test_a_keras_model_without_variables_gets_its_weights_once_it_has_been_called(monkeypatch, capsys):
    keras = pytest.importorskip("keras")
    import numpy as np

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2)

        def call(self, x):
            return self.dense(x)

    x, yesterday = np.ones((1, 3), "float32"), Net()
    yesterday(x)
    keep("lab", "model.fit(x)", {"model": yesterday}, {})
    session = Session(monkeypatch)
    [*bring_back("lab", [(3, "model = Net()"), (5, "model.fit(x)")], session.user_ns)]
    keep_what_trains("lab", session)
    session.run("model = Net()", work=lambda names: names.update(model=Net()))
    assert capsys.readouterr().out == ""
    session.run("model(x)", work=lambda names: names["model"](x))
    assert "has the weights again" in capsys.readouterr().out
    assert np.allclose(session.user_ns["model"](x), yesterday(x))


def test_only_long_cells_that_end_well_and_change_a_model_are_kept(monkeypatch):
    session = Session(monkeypatch, **trained())
    for _ in range(2):  # a second time adds nothing
        keep_what_trains("lab", session)
    assert {name: len(each) for name, each in session.done.items()} == {"pre_run_cell": 1, "post_run_cell": 1}
    session.run(TRAIN, 1, work=other_weights)
    session.run(TRAIN, 100, success=False, work=other_weights)
    session.run("evaluate(model)", 100)
    assert files() == []
    session.run(TRAIN, 100, work=other_weights)
    assert files() == [f"model.{digest(TRAIN)}.pt"]


def test_a_model_that_is_too_large_is_not_kept_and_a_half_written_file_replaces_nothing(monkeypatch):
    keep("lab", TRAIN, trained(), {})
    file = folder_of("lab") / f"model.{digest(TRAIN)}.pt"
    before = file.read_bytes()
    file.with_name(f"new-{file.name}").write_bytes(b"half")
    monkeypatch.setattr(kept_weights, "MOST_BYTES", 10)
    keep("lab", TRAIN, trained(), {})
    assert file.read_bytes() == before


def test_in_all_there_is_a_bound_and_the_oldest_go_first(monkeypatch):
    for steps in range(4):
        keep("lab", f"train(model, {steps})", trained(), {})
        size = max(each.stat().st_size for each in folder_of("lab").iterdir())
        monkeypatch.setattr(kept_weights, "MOST_IN_ALL", 2 * size)
    assert files() == sorted(f"model.{digest(f'train(model, {steps})')}.pt" for steps in (2, 3))


@pytest.mark.slow
def test_the_translator_of_lab_05_gets_its_weights_back_when_its_cell_has_run(labs, monkeypatch, capsys):
    """With the lab's own cells: the model takes names that only long cells make."""
    cells = [
        cell.source for cell in labs["05_transformer_pytorch"].source().cells if cell.cell_type == "code"
    ]
    places = [number for number, text in enumerate(cells) if "model" in kept_weights._stored(text)]
    train = next(number for number, text in enumerate(cells) if number >= places[0] and "train(model" in text)
    yesterday = trained()
    keep("lab", cells[train], yesterday, {})
    session = Session(monkeypatch)
    sources = [*enumerate(cells[: train + 1])]
    (said,) = bring_back("lab", sources, session.user_ns)
    assert f"run cell {max(place for place in places if place <= train)} again" in said
    keep_what_trains("lab", session)
    session.run(cells[places[0]], work=lambda names: names.update(model=Small(3)))
    assert torch.equal(session.user_ns["model"].layer.weight, yesterday["model"].layer.weight)
