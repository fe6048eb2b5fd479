"""Lab 04: sinusoidal, learned and rotary positions, in NumPy and PyTorch.

All sizes of a case differ from each other (batch, heads, positions, features, rows of a table), so that no
mistake hides behind two axes of equal length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.cases.properties import normal, together
from course_utils.cases.torch_modules import REMEMBERS, differ, run_module, sent_back
from course_utils.checking.exercise import Case, Exercise, Inputs, Outputs, Run

if TYPE_CHECKING:
    from torch import nn

FLOAT32 = 1e-4
"""What sines and cosines of large angles may be off, so that nobody loses by computing in float32."""

# ---------------------------------------------------------------------------------- get_angles


def _even(rng: np.random.Generator, low: int, high: int, *others: int) -> int:
    """An even number from low to high that is none of the others."""
    return int(rng.choice([number for number in range(low, high + 1, 2) if number not in others]))


_WHOLE_POWERS = 8
"""With so many features the powers of 10000 are 10, 100 and 1000, so code that rounds them to whole numbers would be right."""


def _from_zero(few: int, many: int, low: int, high: int):
    """All features of so many positions, counted from 0."""

    def inputs(rng: np.random.Generator) -> Inputs:
        count = int(rng.integers(few, many + 1))
        d_model = _even(rng, low, high, count, _WHOLE_POWERS)
        return {
            "positions": np.arange(count)[:, None], "features": np.arange(d_model)[None, :], "d_model": d_model
        }  # fmt: skip

    return inputs


def _from_elsewhere(rng: np.random.Generator) -> Inputs:
    d_model = _even(rng, 6, 14, _WHOLE_POWERS)
    positions = rng.permutation(np.arange(2, 90))[:3]
    return {"positions": positions[:, None], "features": np.arange(d_model)[None, :], "d_model": d_model}


def _some_features(rng: np.random.Generator) -> Inputs:
    d_model = _even(rng, 10, 18)
    odd, even = 3 + 2 * rng.integers(d_model // 2 - 1), 4 + 2 * rng.integers(d_model // 2 - 2)
    positions = rng.permutation(np.arange(1, 40))[:4]
    return {"positions": positions[:, None], "features": np.array([[odd, 0, even]]), "d_model": d_model}


def _drawn_grid(rng: np.random.Generator) -> Inputs:
    positions, features = rng.integers(100, 2000, 5), rng.permutation(12)[:7]
    features[0] = 11  # one of the slowest pair and one of the fastest are always among them
    features[1:3] = 0, 7
    return {"positions": positions[:, None], "features": features[None, :], "d_model": 12}


def _single(rng: np.random.Generator) -> Inputs:
    return {
        "positions": rng.integers(7, 90, (1, 1)),
        "features": np.array([[3]]),
        "d_model": _even(rng, 10, 16),
    }


def pairs_share_an_angle(inputs: Inputs, outputs: Outputs) -> np.ndarray | None:
    """Features 2i and 2i + 1 have the same angle at every position."""
    features, angles = inputs["features"][0], outputs["angles"]
    couples = [
        (a, b)
        for a, even in enumerate(features)
        for b, odd in enumerate(features)
        if even % 2 == 0 and odd == even + 1
    ]
    return np.array([np.isclose(angles[:, a], angles[:, b]) for a, b in couples]) if couples else None


get_angles = Exercise(
    name="get_angles",
    returns=("angles",),
    cases=(
        Case("positions counted from 0, and all features", _from_zero(8, 60, 10, 40)),
        Case("positions that do not begin at 0", _from_elsewhere),
        Case(
            "some of the features, in another order; then one feature of one position",
            together(_some_features, _single),
        ),
        Case(
            "far positions and 7 of 12 features; then all of 200 or more",
            together(_drawn_grid, _from_zero(3, 9, 200, 260)),
        ),
    ),
    properties=(pairs_share_an_angle,),
    rtol=2e-5,  # tells 10000 from 10001, and takes float32
)

# ---------------------------------------------------------------------------------- positional_encoding


def _table(shortest: int, longest: int, low: int, high: int):
    def inputs(rng: np.random.Generator) -> Inputs:
        max_len = int(rng.integers(shortest, longest + 1))
        return {"max_len": max_len, "d_model": _even(rng, low, high, max_len)}

    return inputs


def _short_long_and_wide(rng: np.random.Generator) -> list[Inputs]:
    """A width that no other case has, except for a single position: code that keeps a table for each width or length
    needs another one here."""
    short = _table(3, 9, 46, 68)(rng)  # wider than even the longer one is long
    longer = {**short, "max_len": short["max_len"] + int(rng.integers(4, 12))}
    return [short, longer, {**short, "d_model": short["d_model"] + _even(rng, 4, 12)}]


def every_pair_is_on_the_unit_circle(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The squares of features 2i and 2i + 1 sum to 1 at every position."""
    encoding = outputs["encoding"]
    return np.isclose(encoding[:, 0::2] ** 2 + encoding[:, 1::2] ** 2, 1, atol=1e-4)


def a_position_does_not_know_the_length(runs: list[Run]) -> np.ndarray:
    """The longer table begins with the shorter one: a position's encoding does not depend on max_len."""
    short, long = runs[0][1]["encoding"], runs[1][1]["encoding"]
    return np.isclose(long[: len(short)], short, atol=1e-4)


positional_encoding = Exercise(
    name="positional_encoding",
    returns=("encoding",),
    uses=("get_angles",),
    cases=(
        Case("a small table", _table(4, 20, 4, 40)),
        Case(
            "one position only, position 0; then two features, a single pair",
            together(_table(1, 1, 4, 400), _table(4, 90, 2, 2)),
        ),
        Case(
            "a long table; then a wide one; then two features of more than 5,000 positions",
            together(_table(130, 160, 10, 40), _table(3, 9, 200, 260), _table(5050, 5200, 2, 2)),
        ),
        Case(
            "a table, then a longer one, then one with more features",
            _short_long_and_wide,
            a_position_does_not_know_the_length,
        ),
    ),
    properties=(every_pair_is_on_the_unit_circle,),
    bypasses=(  # there for later labs
        "course_utils.models.torch_attention.sinusoidal_positions",
        "course_utils.models.keras_translator.positional_encoding",
    ),
    atol=FLOAT32,
)

# ---------------------------------------------------------------------------------- shift_matrix


def _shift(least: int, most: int, low: int, high: int):
    return lambda rng: {"offset": int(rng.integers(least, most + 1)), "d_model": _even(rng, low, high)}


def _two_steps_and_their_sum(rng: np.random.Generator) -> list[Inputs]:
    first, second, d_model = int(rng.integers(2, 9)), int(rng.integers(10, 19)), _even(rng, 4, 10)
    return [{"offset": offset, "d_model": d_model} for offset in (first, second, first + second)]


def rotations_compose(runs: list[Run]) -> np.ndarray:
    """A shift by a after a shift by b is a shift by a + b."""
    by_a, by_b, by_both = (outputs["matrix"] for _, outputs in runs)
    return np.isclose(by_a @ by_b, by_both, atol=1e-4)


def lengths_and_angles_are_kept(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The matrix is orthogonal: its columns have length 1 and stand at right angles to each other."""
    matrix = outputs["matrix"]
    return np.isclose(matrix.T @ matrix, np.eye(inputs["d_model"]), atol=1e-4)


def pairs_are_kept_apart(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Outside the 2 by 2 blocks on the diagonal, one block for each pair, every entry is 0."""
    pair = np.arange(inputs["d_model"]) // 2
    return (pair[:, None] == pair) | np.isclose(outputs["matrix"], 0, atol=1e-6)


shift_matrix = Exercise(
    name="shift_matrix",
    returns=("matrix",),
    uses=("get_angles",),
    cases=(
        Case(
            "one step ahead, a few steps, many steps",
            together(_shift(1, 1, 4, 40), _shift(2, 9, 6, 60), _shift(24, 90, 8, 40)),
        ),
        Case("a few steps back: the offset is negative", _shift(-9, -2, 6, 60)),
        Case(
            "offset 0, which moves nothing, then some steps ahead",
            together(_shift(0, 0, 4, 8), _shift(2, 19, 6, 40)),
        ),
        Case("two offsets and their sum", _two_steps_and_their_sum, rotations_compose),
    ),
    properties=(lengths_and_angles_are_kept, pairs_are_kept_apart),
    atol=FLOAT32,
)

# ---------------------------------------------------------------------------------- embed_tokens


def _tokens(*shape: int, vocab_size: int, d_model: int):
    """Ids that no position of the sentence has: a mix-up of the two never looks right."""
    return lambda rng: {
        "token_ids": rng.integers(shape[-1], vocab_size, shape),
        "table": normal(rng, vocab_size, d_model, scale=0.5),
    }


def _with_id_0(rng: np.random.Generator) -> Inputs:
    inputs = _tokens(3, 4, vocab_size=13, d_model=10)(rng)
    inputs["token_ids"][0, -1] = 0  # padding elsewhere, here a token like any other
    return inputs


def _long_sentence(rng: np.random.Generator) -> Inputs:
    """Longer than the 512 or 1,000 tokens for which many a model has made its positions once and for all."""
    return {"token_ids": rng.integers(0, 4, 1200), "table": normal(rng, 4, 2, scale=0.5)}


def _zero_table(rng: np.random.Generator) -> Inputs:
    seq_len = int(rng.integers(5, 30))
    table = np.zeros((seq_len + 4, _even(rng, 4, 40, seq_len, seq_len + 4)))
    return {"token_ids": rng.integers(seq_len, seq_len + 4, (2, seq_len)), "table": table}


embed_tokens = Exercise(
    name="embed_tokens",
    returns=("x",),
    uses=("positional_encoding",),
    cases=(
        Case(
            "one sentence: 5 tokens of 6 features; 8 tokens of 6 and 10",
            together(
                *(
                    _tokens(length, vocab_size=15, d_model=width)
                    for length, width in ((5, 6), (8, 6), (8, 10))
                )
            ),
        ),
        Case("a batch of 3 sentences of 4 tokens; one token has the id 0", _with_id_0),
        Case(
            "two leading axes, (2, 3, 7); 1,200 tokens; a single token",
            together(
                _tokens(2, 3, 7, vocab_size=15, d_model=4),
                _long_sentence,
                _tokens(1, 1, vocab_size=9, d_model=6),
            ),
        ),
        Case("a table of zeros: what is left is the positions", _zero_table),
    ),
)

# ---------------------------------------------------------------------------------- LearnedPositionalEmbedding


def _sentences(batch: int, seq_len: int, d_model: int, max_len: int):
    return lambda rng: {
        "x": normal(rng, batch, seq_len, d_model).astype(np.float32),
        "table": normal(rng, max_len, d_model).astype(np.float32),
    }


def _after_another(earlier: int, *sizes: int):
    """The second call of a module, after one with so many tokens."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = _sentences(*sizes)(rng)
        batch, _, d_model, _ = sizes
        return {**made, "x of an earlier call": normal(rng, batch, earlier, d_model).astype(np.float32)}

    return inputs


def _made(learner: Any, table: Any) -> tuple[nn.Module, nn.Parameter]:
    """The module with this table, and its parameter.

    Raises:
        TypeError, ValueError: it is not built as its docstring says.
    """
    import torch
    from torch import nn

    max_len, d_model = table.shape
    module = learner(max_len, d_model)
    if not isinstance(module, nn.Module):
        raise TypeError("the class is no nn.Module: write `class LearnedPositionalEmbedding(nn.Module)`.")
    own = getattr(module, "table", None)
    weights = own.weight if isinstance(own, nn.Embedding) else own
    if not isinstance(weights, nn.Parameter):
        raise TypeError(
            f"`self.table` is {_called(own)}. It must be an nn.Parameter or an nn.Embedding: "
            "nothing else is found by an optimizer and saved with the model."
        )
    if tuple(weights.shape) != (max_len, d_model):
        raise ValueError(
            f"`self.table` has shape {tuple(weights.shape)}; for max_len {max_len} and d_model {d_model} "
            f"it must be ({max_len}, {d_model})."
        )
    if extra := [name for name, parameter in module.named_parameters() if parameter is not weights]:
        raise ValueError(f"There is a parameter too many: `{extra[0]}`. All that is learned is the table.")
    with torch.no_grad():
        weights.copy_(torch.as_tensor(table))
    return module, weights


def _try_learned(learner: Any, inputs: Inputs) -> dict[str, Any]:
    """Makes the module, fills its table, and calls it; with an x of an earlier call, after a call with that."""
    import torch

    module, weights = _made(learner, inputs["table"])
    if "x of an earlier call" in inputs:
        run_module(module.eval(), {"x": torch.from_numpy(inputs["x of an earlier call"])})
    x = torch.from_numpy(inputs["x"])  # shares its memory: a change in place is seen
    outputs, refused = [], []
    for training, given in ((False, x.clone()), (True, x)):
        try:
            outputs.append(run_module(module.train(training), {"x": given}))
        except ValueError as error:
            if x.shape[1] <= len(weights):
                raise
            if not str(error).strip():
                raise TypeError(
                    "the ValueError for too many tokens has no text: it must say what is wrong."
                ) from None
            refused.append(training)
    if len(refused) == 2:
        return {"refused": True, "output": np.zeros(x.shape)}
    if refused:
        raise TypeError(
            f"too many tokens are refused in {'training' if refused[0] else 'evaluation'} mode only; it must not depend on the mode."
        )
    before, output = outputs
    if output is None:
        raise TypeError("`forward` returned None: is the `return` line there, and is it reached?")
    if not isinstance(output, torch.Tensor):
        raise TypeError(f"`forward` returned a {type(output).__name__}; it must return a tensor like x.")
    if differ(before, output):
        raise TypeError(REMEMBERS)
    return {"refused": False, "output": output}


def _train_through(learner: Any, given: Mapping[str, Any]) -> tuple[Any, dict[str, nn.Parameter]]:
    module, weights = _made(learner, given["table"])
    return run_module(module.train(), {"x": given["x"]}), {"table": weights}


def _called(thing: Any) -> str:
    if thing is None:
        return "missing"
    return (
        f"a plain {type(thing).__name__}" if type(thing).__name__ == "Tensor" else f"a {type(thing).__name__}"
    )


def all_sentences_get_the_same_rows(inputs: Inputs, outputs: Outputs) -> np.ndarray | None:
    """What is added depends on the position only: it is the same for every sentence of the batch."""
    if outputs["refused"]:
        return None
    added = outputs["output"] - inputs["x"]
    return np.isclose(added, added[:1], atol=1e-4)


learned_positional_embedding = Exercise(
    name="LearnedPositionalEmbedding",
    returns=("refused", "output"),
    call=_try_learned,
    backward=sent_back(_train_through),
    cases=(
        Case("3 sentences of 4 tokens, a table for 7 positions", _sentences(3, 4, 6, 7)),
        Case(
            "5 tokens with a table of 5; a single token; calls of other lengths",
            together(
                _sentences(2, 5, 8, 5),
                _sentences(1, 1, 3, 6),
                _after_another(3, 2, 5, 4, 7),
                _after_another(5, 2, 3, 4, 7),
            ),
        ),
        Case(
            "a table for 5 positions: 4 tokens fit, but 6 are refused with a ValueError",
            together(_sentences(2, 4, 3, 5), _sentences(2, 6, 8, 5)),  # more tokens than features, and fewer
        ),
        Case("gradients reach x and the table", _sentences(3, 4, 6, 7), reaches=("x", "weights")),
    ),
    properties=(all_sentences_get_the_same_rows,),
)

# ---------------------------------------------------------------------------------- rotary_embedding


def _vectors(*shape: int, positions: str = ""):
    def inputs(rng: np.random.Generator) -> Inputs:
        made: dict[str, Any] = {"x": normal(rng, *shape)}
        if positions == "drawn at random":
            made["positions"] = rng.integers(5, 90, shape[-2])
        elif positions == "far apart":
            made["positions"] = np.append(rng.integers(-60, 0), rng.integers(600, 1500, shape[-2] - 1))
        elif positions == "very far":
            made["positions"] = rng.integers(4100, 8000, shape[-2])
        elif positions == "all 0":
            made["positions"] = np.zeros(shape[-2], dtype=int)
        return made

    return inputs


def _whole_numbers(rng: np.random.Generator) -> Inputs:
    return {"x": rng.integers(-5, 6, (4, 6))}


def _both_moved(rng: np.random.Generator) -> list[Inputs]:
    """Queries and keys at some positions, then both a few positions later."""
    query, key = normal(rng, 2, 4, 6), normal(rng, 2, 5, 6)
    at, to, offset = rng.integers(0, 20, 4), rng.integers(0, 20, 5), int(rng.integers(20, 40))
    return [
        {"x": query, "positions": at},
        {"x": key, "positions": to},
        {"x": query, "positions": at + offset},
        {"x": key, "positions": to + offset},
    ]


def only_the_distance_counts(runs: list[Run]) -> np.ndarray:
    """Moving queries and keys by the same offset changes no score."""
    query, key, later_query, later_key = (outputs["rotated"] for _, outputs in runs)
    scores, later = query @ key.swapaxes(-1, -2), later_query @ later_key.swapaxes(-1, -2)
    return np.isclose(scores, later, atol=1e-3)


def pairs_keep_their_length(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Each pair (2i, 2i + 1) is turned, not stretched: the sum of its squares stays the same."""
    before, after = (
        array[..., 0::2] ** 2 + array[..., 1::2] ** 2 for array in (inputs["x"], outputs["rotated"])
    )
    return np.isclose(before, after, rtol=1e-3, atol=1e-4)


rotary_embedding = Exercise(
    name="rotary_embedding",
    returns=("rotated",),
    uses=("get_angles",),
    cases=(
        Case(
            "5 vectors with 6 features, at positions 0 to 4; then with 200",
            together(_vectors(5, 6), _vectors(5, 200)),
        ),
        Case(
            "a batch, (3, 7, 8); batch and heads, (2, 3, 5, 10)",
            together(_vectors(3, 7, 8), _vectors(2, 3, 5, 10), _vectors(2, 3, 3, 4)),
        ),
        Case(
            "random positions: below 0, above 600 and above 4,000; a single vector",
            together(
                _vectors(4, 6, positions="drawn at random"),
                _vectors(3, 5, 8, positions="drawn at random"),
                _vectors(1, 1, 6, positions="drawn at random"),
                _vectors(4, 6, positions="far apart"),
                _vectors(3, 4, positions="very far"),  # two pairs: their angles are near enough in float32
            ),
        ),
        Case(
            "everything at position 0, where nothing turns, then elsewhere",
            together(_vectors(2, 3, 4, positions="all 0"), _vectors(2, 3, 4, positions="drawn at random")),
        ),
        Case("vectors of whole numbers", _whole_numbers),
        Case("queries and keys, then both moved by the same offset", _both_moved, only_the_distance_counts),
    ),
    properties=(pairs_keep_their_length,),
    atol=FLOAT32,
)
