"""Makes the readers that come with the course, and the learning curves, by lab 10's own cells and its reference solution.

.venv/bin/python solutions/10_question_answering_pytorch/train_weights.py            # all of it, one after the other.
.venv/bin/python solutions/10_question_answering_pytorch/train_weights.py prose      # only this one, from the stories' reader as it is saved.
.venv/bin/python solutions/10_question_answering_pytorch/train_weights.py curves     # only the three runs on stories, whose weights are not kept
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
from pathlib import Path
from typing import Any

from course_utils.models.shipped_readers import FILES, HISTORY, load_reader, save_reader
from course_utils.training import History
from grader.course import Course
from grader.reference.lab import Lab, checked_exercise

ROOT = Path(__file__).parents[2]
DEFINE = (  # what the cells contain that training needs, besides the solutions
    "import re\n", "import SEEN_NAMES", "tokenizer = load_tokenizer()", "import load_paragraphs", "def features_of(", "STEPS, ",
    "class Reader(", "def ask(", "def train(", "def shipped(", "def prose_windows(",
)  # fmt: skip
STORIES = {1: 110, 2: 120, 3: 130}
"""Seed of the head's first weights -> seed of the stories. The reader that comes with the course has the first."""


def defined() -> dict[str, Any]:
    """The names that the notebook has when a training is about to begin."""
    names: dict[str, Any] = {"__name__": "lab_10"}
    left = set(DEFINE)
    for cell in Lab.load(Course(ROOT), Path(__file__).parent.name).source().cells:
        if cell.cell_type != "code" or checked_exercise(cell):
            continue
        found = {part for part in DEFINE if part in cell.source}
        if found or "### BEGIN SOLUTION" in cell.source:
            left -= found
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(cell.source, f"<{cell.id}>", "exec"), names)
    if left:
        raise SystemExit(f"The lab has no cell any more with {sorted(left)}.")
    return names


def trained_on_stories(names: dict[str, Any], seed: int) -> tuple[Any, History]:
    """A reader of stories, and how it was trained."""
    names["torch"].manual_seed(seed)
    model, make = names["Reader"](), names["make_stories"]
    windows = names["features_of"](make(1, names["STEPS"] * names["BATCH_SIZE"], seed=STORIES[seed]))
    return model, names["train"](model, windows, "stories", make(1, 60, seed=800))


def keep_curves(names: dict[str, Any]) -> None:
    """Trains with each of the seeds and writes the losses, and exact match on validation, to the course's folder."""
    runs = []
    for seed in STORIES:
        _, history = trained_on_stories(names, seed)
        exact = [[each.step, round(each.score, 4)] for each in history.evaluations]
        losses = [round(loss, 4) for loss in history.losses]
        runs.append({"name": f"seed {seed}", "losses": losses, "exact": exact})
    HISTORY.write_text(f"{json.dumps(runs)}\n", "utf-8")


def measure(names: dict[str, Any], name: str, model: Any) -> str:
    """Scores on what the reader was not trained on; it always answers."""
    if name == "stories":
        sets = {
            "known names": names["make_stories"](1, 150, seed=900),
            "unseen names": names["make_stories"](1, 150, seed=901, names=names["UNSEEN_NAMES"]),
        }
    else:
        sets = {"development": names["load_paragraphs"]("development")}
    found = [
        f"{title}: {names['score'](names['said_texts'](examples, names['ask'](model, examples)), examples)}"
        for title, examples in sets.items()
    ]
    return "; ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("readers", nargs="*", help="which: stories, prose, curves; all if none is named")
    asked = parser.parse_args().readers or [*FILES, "curves"]
    names = defined()
    torch = names["torch"]
    for name in [name for name in FILES if name in asked]:
        if name == "stories":
            model, history = trained_on_stories(names, 1)
        else:
            torch.manual_seed(1)
            model, windows = (
                names["shipped"]("stories"),
                names["prose_windows"](names["load_paragraphs"]("training")),
            )
            validation = names["load_paragraphs"]("development")[::4]
            history = names["train"](model, windows, name, validation, 1000, passes=names["PASSES"])
        print(f"{name}: {history.seconds[-1]:.0f} s; {measure(names, name, model)}", flush=True)
        file = save_reader(name, {key: value.numpy() for key, value in model.state_dict().items()})
        model.load_state_dict({key: torch.from_numpy(array) for key, array in load_reader(name).items()})
        print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB; as saved: {measure(names, name, model)}")
    if "curves" in asked:
        keep_curves(names)


if __name__ == "__main__":
    main()
