"""Makes the readers that come with the course, by lab 10's own cells and its reference solution.

.venv/bin/python solutions/10_question_answering_pytorch/train_weights.py            # both, one after the other
.venv/bin/python solutions/10_question_answering_pytorch/train_weights.py prose      # only this one, from the stories' reader as it is saved
"""

from __future__ import annotations

import argparse
import contextlib
import io
from pathlib import Path
from typing import Any

from course_utils.models.shipped_readers import FILES, load_reader, save_reader
from grader.course import Course
from grader.reference.lab import Lab, checked_exercise

ROOT = Path(__file__).parents[2]
DEFINE = (  # what the cells contain that training needs, besides the solutions
    "import re\n", "import SEEN_NAMES", "tokenizer = load_tokenizer()", "import load_paragraphs", "def features_of(", "STEPS, ",
    "class Reader(", "def ask(", "def train(", "def shipped(", "def prose_windows(",
)  # fmt: skip


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
    parser.add_argument("readers", nargs="*", help="which: stories, prose; both if none is named")
    asked = parser.parse_args().readers or list(FILES)
    names = defined()
    torch, make, features = names["torch"], names["make_stories"], names["features_of"]
    for name in [name for name in FILES if name in asked]:
        torch.manual_seed(1)
        if name == "stories":
            model, windows = (
                names["Reader"](),
                features(make(1, names["STEPS"] * names["BATCH_SIZE"], seed=110)),
            )
            history = names["train"](model, windows, name, make(1, 60, seed=800), 100)
        else:
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


if __name__ == "__main__":
    main()
