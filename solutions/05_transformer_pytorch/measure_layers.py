"""Measures what lab 05 says about the number of layers, by the lab's own cells and its reference solution; see docs/translation.md.

.venv/bin/python solutions/05_transformer_pytorch/measure_layers.py          # every rival, three seeds: 18 short trainings
.venv/bin/python solutions/05_transformer_pytorch/measure_layers.py 2 wide   # only those whose name begins like this
"""

from __future__ import annotations

import contextlib
import io
import sys
import time

from train_weights import prepared

STEPS = 400
WIDE = 176
"""Width at which one layer in each half has as many parameters as two layers of width 128."""

RIVALS: dict[str, tuple[dict[str, int], int]] = {
    "2 layers": ({"num_layers": 2}, STEPS),
    "1 layer": ({"num_layers": 1}, STEPS),
    "4 layers": ({"num_layers": 4}, STEPS),
    "1 layer, twice the steps": ({"num_layers": 1}, 2 * STEPS),
    "4 layers, half the steps": ({"num_layers": 4}, STEPS // 2),
    "wide: 1 layer with the parameters of 2": (
        {"num_layers": 1, "embedding_dim": WIDE, "fully_connected_dim": 4 * WIDE},
        STEPS,
    ),
}
"""Name -> what differs from the lab's model, and how many steps it is trained for. Twice the steps with half the layers is about the
same work."""


def main(wanted: list[str]) -> None:
    names = prepared()
    torch, splits, score = names["torch"], names["splits"], names["score"]
    torch.set_num_threads(1)
    for name, (sizes, steps) in RIVALS.items():
        if wanted and not name.startswith(tuple(wanted)):
            continue
        for seed in range(3):
            torch.manual_seed(seed)
            model = names["Transformer"](**names["CONFIG"] | sizes)
            began = time.process_time()
            with contextlib.redirect_stdout(io.StringIO()):
                names["train"](model, name, evaluate=False, steps=steps)
            seconds = time.process_time() - began
            found = [score(model, pairs) for pairs in (splits.test, splits.unseen_pairings[:500])]
            print(
                f"{name}, seed {seed}: {names['parameters'](model):,} parameters, {seconds:.0f} s of processor time, "
                f"new sentences {found[0]:.1%}, words that never met {found[1]:.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
