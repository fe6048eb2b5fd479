"""Makes the weights that come with the course, by lab 08's own cells and its reference solution; see docs/data-language-model.md.

.venv/bin/python solutions/08_language_model_and_summarizer/train_weights.py            # trains, saves, measures
.venv/bin/python solutions/08_language_model_and_summarizer/train_weights.py --seeds 1 2 3    # only measures, a run a seed
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import time
from pathlib import Path
from typing import Any

from course_utils.models.small_decoders import file_of, save_decoder
from grader.course import Course
from grader.reference.lab import Lab, checked_exercise

ROOT = Path(__file__).parents[2]
LAB = "08_language_model_and_summarizer"
LAST = "headlines of articles whose names were never seen"
"""In the last cell that is run: what comes after it needs no trained model."""
FIGURES = re.compile(
    r"^(?:new names|gain over counting|headlines of articles|.*among the first three).*$", re.MULTILINE
)


def trained(seed: int) -> tuple[dict[str, Any], str]:
    """The notebook's names after both models have been trained, and what its cells have printed."""
    names: dict[str, Any] = {"__name__": "lab_08"}
    printed = io.StringIO()
    for cell in Lab.load(Course(ROOT), LAB).source().cells:
        if cell.cell_type == "code" and not checked_exercise(cell):
            source = cell.source.replace("torch.manual_seed(0)", f"torch.manual_seed({seed})")
            source = source.replace("chance = random.Random(0)", f"chance = random.Random({seed})")
            with contextlib.redirect_stdout(printed):
                exec(compile(source, f"<{cell.id}>", "exec"), names)
            if LAST in cell.source:
                return names, printed.getvalue()
    raise SystemExit(f"The lab has no cell that prints {LAST!r}.")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[], help="measure runs with these seeds; save nothing"
    )
    arguments = parser.parse_args()
    for seed in arguments.seeds or [0]:
        began = time.perf_counter()
        names, printed = trained(seed)
        print(
            f"seed {seed}: {time.perf_counter() - began:.0f} s, {time.process_time():.0f} CPU s so far",
            flush=True,
        )
        print("\n".join(FIGURES.findall(printed)), flush=True)
    if not arguments.seeds:
        for name, model in {"names": names["speller"], "news": names["editor"]}.items():
            save_decoder(name, model.state_dict())
            print(f"{file_of(name).relative_to(ROOT)}: {file_of(name).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
