"""The loop around a training step, and scores for translators. Both work with PyTorch and with Keras.

A lab writes the step (forward, loss, backward, update) and an evaluation; :func:`fit` calls them, shows the progress,
and keeps what the learning curves need.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

_WINDOW = 50  # the loss shown is the mean of this many steps
_REFRESH = 0.5  # seconds between two updates of the bar
_COLUMNS = 100


@dataclass(frozen=True)
class Evaluation:
    """The result of an evaluation: after how many steps and seconds of training, and its score (0 to 1)."""

    step: int
    seconds: float
    score: float


@dataclass
class History:
    """What happened in a training run.

    Attributes:
        name: the run's name.
        losses: the loss of each step, in order.
        seconds: seconds of training until the end of each step; evaluations are not counted.
        evaluations: in order.
    """

    name: str = ""
    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    evaluations: list[Evaluation] = field(default_factory=list)

    @property
    def steps(self) -> int:
        return len(self.losses)


def fit(
    step: Callable[[Any, int], Any],
    batches: Iterable[Any],
    *,
    steps: int | None = None,
    seconds: float | None = None,
    evaluate: Callable[[], float] | None = None,
    evaluate_every: int | None = None,
    name: str = "training",
) -> History:
    """Takes training steps until the budget is used up, with a progress bar.

    Args:
        step: ``step(batch, number)`` trains on one batch and returns its loss; ``number`` counts from 1.
        batches: may be endless; if they run out, training ends.
        steps: the most steps to take.
        seconds: no step begins after this many seconds of training. Evaluations do not count.
        evaluate: returns a score from 0 to 1, such as the share of exact matches.
        evaluate_every: number of steps between two evaluations; there is always one at the end.
        name: shown in front of the bar.

    Raises:
        ValueError: neither ``steps`` nor ``seconds`` is given.
    """
    if steps is None and seconds is None:
        raise ValueError("Training needs a budget: steps=... or seconds=... (or both).")
    history = History(name)
    bar = _Bar(name, steps, seconds)
    spent = 0.0

    def look() -> None:
        if evaluate is not None:
            history.evaluations.append(Evaluation(history.steps, spent, float(evaluate())))

    for number, batch in enumerate(batches, 1):
        began = time.perf_counter()
        loss = float(step(batch, number))
        spent += time.perf_counter() - began
        history.losses.append(loss)
        history.seconds.append(spent)
        over = (steps is not None and number >= steps) or (seconds is not None and spent >= seconds)
        if evaluate_every and not over and number % evaluate_every == 0:
            look()
        bar.show(history)
        if over:
            break
    look()
    bar.show(history, last=True)
    return history


class _Bar:
    """One line about a run: rewritten in place on a terminal, replaced as one output in a notebook."""

    def __init__(self, name: str, steps: int | None, seconds: float | None) -> None:
        self.name, self.steps, self.seconds = name, steps, seconds
        self.last_shown = 0.0
        self.handle = _notebook_output()

    def show(self, history: History, last: bool = False) -> None:
        now = time.monotonic()
        if not last and now - self.last_shown < _REFRESH:
            return
        self.last_shown = now
        line = self._line(history, last)
        if self.handle is not None:
            self.handle.update({"text/plain": line}, raw=True)
        elif sys.stdout.isatty() or last:  # a file or pipe gets only the final line
            print(f"\r{line}", end="\n" if last else "", flush=True)

    def _line(self, history: History, last: bool) -> str:
        from tqdm import tqdm

        spent = history.seconds[-1] if history.seconds else 0.0
        recent = history.losses[-_WINDOW:]
        facts = [f"loss {sum(recent) / len(recent):.3f}" if recent else "no step"]
        if history.evaluations:
            facts.append(f"exact match {history.evaluations[-1].score:.1%}")
        if self.steps is not None:
            done, total = history.steps, history.steps if last else self.steps
        else:
            done, total = min(round(spent), round(self.seconds)), round(self.seconds)
        unit = "step" if self.steps is not None else "s"
        return tqdm.format_meter(
            done,
            total,
            spent,
            ncols=_COLUMNS,
            prefix=self.name,
            unit=unit,
            postfix=", ".join(facts),
            bar_format="{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} "
            + unit
            + " [{elapsed}{postfix}]",
        )


def _notebook_output() -> Any:
    """An output of the running cell that can be replaced; None outside a notebook."""
    try:
        from IPython.core.getipython import get_ipython
        from IPython.display import display
    except ImportError:
        return None
    shell = get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return display({"text/plain": ""}, raw=True, display_id=True)


# ---------------------------------------------------------------------------------- how well it translates


def exact_match(predictions: Sequence[str], references: Sequence[str]) -> float:
    """The share of predictions that equal their reference, letter by letter (0 to 1).

    Raises:
        ValueError: there are none, or not as many predictions as references.
    """
    _same_number(predictions, references)
    return sum(map(str.__eq__, predictions, references)) / len(references)


def corpus_bleu(predictions: Sequence[str], references: Sequence[str]) -> float:
    """BLEU of all predictions together (Papineni et al. 2002), from 0 to 100, as sacrebleu computes it.

    Raises:
        ValueError: there are none, or not as many predictions as references.
    """
    _same_number(predictions, references)
    from sacrebleu.metrics import BLEU

    return BLEU().corpus_score(list(predictions), [list(references)]).score


def _same_number(predictions: Sequence[str], references: Sequence[str]) -> None:
    if len(predictions) != len(references) or not references:
        raise ValueError(f"There are {len(predictions)} predictions for {len(references)} references.")
