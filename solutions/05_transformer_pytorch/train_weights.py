"""Makes the weights that come with the course, by lab 05's own cells and its reference solution; see docs/translation.md.

.venv/bin/python solutions/05_transformer_pytorch/train_weights.py            # trains, saves, measures
.venv/bin/python solutions/05_transformer_pytorch/train_weights.py --seeds 1 2 3    # only measures, a run a seed
"""

from __future__ import annotations

import argparse
import contextlib
import io
from pathlib import Path
from typing import Any

from course_utils.models.translator import SHIPPED, load_weights, save_weights
from course_utils.training import corpus_bleu, exact_match
from grader.course import Course
from grader.reference.lab import Lab, checked_exercise

ROOT = Path(__file__).parents[2]


def prepared() -> dict[str, Any]:
    """The names that the notebook has when its training is about to begin."""
    names: dict[str, Any] = {"__name__": "lab_05"}
    for cell in Lab.load(Course(ROOT), "05_transformer_pytorch").source().cells:
        if cell.cell_type == "code" and not checked_exercise(cell):
            if "if RUN_TRAINING:" in cell.source:
                return names
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(cell.source, f"<{cell.id}>", "exec"), names)
    raise SystemExit("The lab has no cell that begins the training with `if RUN_TRAINING:`.")


def measure(names: dict[str, Any], model: Any) -> str:
    """Exact match and BLEU on both test sets."""
    splits, found = names["splits"], []
    for title, pairs in (("new sentences", splits.test), ("unseen pairings", splits.unseen_pairings)):
        written = names["translate_all"](model, [pair.source for pair in pairs])
        wanted = [pair.target for pair in pairs]
        found.append(
            f"{title} ({len(pairs)}): exact {exact_match(written, wanted):.2%}, BLEU {corpus_bleu(written, wanted):.2f}"
        )
    return "; ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[], help="measure runs with these seeds; save nothing"
    )
    arguments = parser.parse_args()
    names = prepared()
    torch, config = names["torch"], names["CONFIG"]
    for seed in arguments.seeds or [0]:
        torch.manual_seed(seed)
        model = names["Transformer"](**config)
        history = names["train"](model, f"seed {seed}", steps=names["STEPS"])
        print(f"seed {seed}: {history.seconds[-1]:.0f} s; {measure(names, model)}", flush=True)
    if not arguments.seeds:
        vocabularies = names["french"], names["english"]
        save_weights(model.state_dict(), SHIPPED, config, *vocabularies, half=True)
        model.load_state_dict(load_weights().tensors())
        print(
            f"{SHIPPED.relative_to(ROOT)}: {SHIPPED.stat().st_size / 1e6:.1f} MB; as saved: {measure(names, model)}"
        )


if __name__ == "__main__":
    main()
