"""Lab 08: a language model from scratch, the parts of a modern one, and what measures them.

Ids and weights are drawn at random, and sizes all differ. A check constructs the learner's module with small sizes and sets every
parameter by its name; functions are handed their weights. Attention with a cache is fed a sequence in pieces, each with the cache
that the learner's own function has returned before. No check loads a pretrained model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from course_utils.cases.attention import READY_MADE
from course_utils.cases.properties import f32, normal, random_mask, together
from course_utils.cases.torch_modules import (
    WrongParameters,
    a_function,
    call_with_tensors,
    differ,
    one_thread,
    sent_back,
    set_parameters,
    tensors,
)
from course_utils.cases.translation import padding_changes_no_loss
from course_utils.checking.exercise import Case, Exercise, Inputs, Outputs, Run, call_function

WIDTH, INNER, WORDS, MAX_LEN = 20, 80, 17, 11
IGNORED = -100

# ---------------------------------------------------------------------------------- shift_targets


def _rows(lengths: tuple[int, ...], columns: int, **marks: int) -> Callable[[np.random.Generator], Inputs]:
    """``marks``: pad_id and ignore_id; without them the usual ones are left to the learner's function."""
    pad_id = marks.get("pad_id", 0)

    def inputs(rng: np.random.Generator) -> Inputs:
        ids = rng.integers(1, 40, (len(lengths), columns))
        ids[ids == pad_id] = 40
        ids[0, :2] = (0, 0) if pad_id else 1  # ordinary words here
        real = np.arange(columns) < rng.permutation(lengths)[:, None]
        return {"ids": np.where(real, ids, pad_id), **marks}

    return inputs


def _large_ids(rng: np.random.Generator) -> Inputs:
    """As of a vocabulary of tens of thousands."""
    inputs = _rows((6, 4), 6)(rng)
    return {"ids": inputs["ids"] * int(rng.integers(1000, 1200))}


def _call_shift(learner: Callable, inputs: Inputs) -> Any:
    return _whole_numbers(call_with_tensors(learner, inputs))


def _whole_numbers(found: Any) -> Any:
    """A pair of inputs and targets, if both hold whole numbers: no embedding and no loss looks anything up by a float."""
    if isinstance(found, tuple | list) and len(found) == 2:
        for name, part in zip(("inputs", "targets"), found, strict=True):
            if np.asarray(part).dtype.kind == "f":
                raise TypeError(f"the {name} are floats; tokens are whole numbers.")
    return found


def targets_are_the_words_after(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Where the target is not ignored, it is the input of the next place, or the last word of the row."""
    targets, following = outputs["targets"], inputs["ids"][:, 1:]
    return (targets == following) | (targets == inputs.get("ignore_id", IGNORED))


shift_targets = Exercise(
    name="shift_targets",
    returns=("inputs", "targets"),
    call=_call_shift,
    cases=(
        Case(
            "4 rows of 7 words, unpadded; a row of two, unpadded and padded",
            together(_rows((7, 7, 7, 7), 7), _rows((2,), 2), _rows((2,), 4)),
        ),
        Case(
            "default arguments; columns and a row of padding only; ids in the thousands",
            together(_rows((8, 5, 3), 8), _rows((6, 3, 4, 2, 0), 9), _large_ids),
        ),
        Case(
            "padding is 5, 0 is a word, what does not count is -1",
            _rows((9, 6, 4, 7), 9, pad_id=5, ignore_id=-1),
        ),
    ),
    properties=(targets_are_the_words_after,),
)

# ---------------------------------------------------------------------------------- masked_loss


def _scored(
    batch: int,
    columns: int,
    words: int,
    counted: float = 1.0,
    scale: float = 2.0,
    ignore_id: int | None = None,
    last_word: bool = True,
) -> Callable[[np.random.Generator], Inputs]:
    """``ignore_id``: None leaves the usual one to the learner's function. ``last_word``: whether the last word of the vocabulary
    may be a target. Where several places count, word 0 is one of the targets.
    """
    mark = IGNORED if ignore_id is None else ignore_id

    def inputs(rng: np.random.Generator) -> Inputs:
        targets = rng.integers(0, words if last_word else words - 1, (batch, columns))
        kept = np.full((batch, columns), counted == 1)
        if 0 < counted < 1:  # from all but one down to a single place, so that no two rows weigh the same
            numbers = rng.permutation(np.linspace(columns - 1, 1, batch).round().astype(int))
            kept = rng.permuted(np.arange(columns) < numbers[:, None], axis=1)
        if kept.sum() > 1:
            targets[tuple(np.argwhere(kept)[0])] = 0
        return {
            "logits": f32(normal(rng, batch, columns, words, scale=scale)),
            "targets": np.where(kept, targets, mark),
            **({} if ignore_id is None else {"ignore_id": ignore_id}),
        }

    return inputs


def _one_row_silent(rng: np.random.Generator) -> Inputs:
    inputs = _scored(4, 5, 7, counted=0.8)(rng)
    inputs["targets"][int(rng.integers(4))] = IGNORED
    return inputs


def _more_ignored(rng: np.random.Generator) -> list[Inputs]:
    inputs = _scored(3, 5, 7, counted=0.8)(rng)
    more = {
        "logits": np.concatenate([inputs["logits"], f32(normal(rng, 3, 4, 7))], axis=1),
        "targets": np.concatenate([inputs["targets"], np.full((3, 4), IGNORED)], axis=1),
    }
    return [inputs, {**inputs, **more}]


masked_loss = Exercise(
    name="masked_loss",
    returns=("loss",),
    call=call_with_tensors,
    backward=sent_back(a_function),
    cases=(
        Case(
            "3 rows of 6 words: everything counts; then 4 rows of one word",
            together(_scored(3, 6, 8), _scored(4, 1, 7)),
        ),
        Case(
            "different numbers of words count in 4 rows; then none in one row",
            together(_scored(4, 6, 9, counted=0.8), _one_row_silent),
        ),
        Case(
            "the mark is -1, then 2, then 99, which is no word",
            together(
                _scored(2, 8, 5, counted=0.7, ignore_id=-1),
                _scored(3, 7, 6, counted=0.7, ignore_id=2),
                _scored(2, 6, 8, counted=0.7, ignore_id=99),
            ),
        ),
        Case(
            "logits of several hundred; of tens of thousands",
            together(
                _scored(3, 4, 6, counted=0.9, scale=300.0), _scored(3, 5, 7, counted=0.9, scale=30_000.0)
            ),
        ),
        Case(
            "nothing counts: the loss is 0; then something does, then a single place",
            together(
                _scored(2, 5, 6, counted=0.0),
                _scored(2, 5, 6, counted=0.6),
                _scored(1, 2, 7, counted=0.5, last_word=False),
            ),
        ),
        Case("four more columns that do not count", _more_ignored, padding_changes_no_loss),
        Case(
            "gradients reach the logits; they are 0 if nothing counts",
            together(_scored(3, 5, 8, counted=0.7), _scored(2, 5, 6, counted=0.0)),
            reaches=("logits",),
        ),
    ),
    bypasses=(
        "torch.nn.functional.cross_entropy",
        "torch.nn.CrossEntropyLoss",
        "torch.nn.functional.nll_loss",
        "torch.nn.NLLLoss",
    ),
)

# ---------------------------------------------------------------------------------- DecoderBlock


def _linear(rng: np.random.Generator, name: str, rows: int, columns: int) -> dict[str, np.ndarray]:
    return {
        f"{name}.weight": f32(normal(rng, rows, columns, scale=1.5 * columns**-0.5)),
        f"{name}.bias": f32(normal(rng, rows, scale=0.3)),
    }


def _norm(rng: np.random.Generator, name: str) -> dict[str, np.ndarray]:
    return {
        f"{name}.weight": f32(rng.uniform(0.4, 1.6, WIDTH)),
        f"{name}.bias": f32(normal(rng, WIDTH, scale=0.5)),
    }


def _block_weights(rng: np.random.Generator, prefix: str = "") -> dict[str, np.ndarray]:
    weights = _norm(rng, f"{prefix}norm1") | _norm(rng, f"{prefix}norm2")
    for role in ("query", "key", "value", "output"):
        weights |= _linear(rng, f"{prefix}attention.w_{role}", WIDTH, WIDTH)
    weights |= _linear(rng, f"{prefix}expand", INNER, WIDTH)
    return weights | _linear(rng, f"{prefix}contract", WIDTH, INNER)


def _rate(rate: float | None) -> dict[str, float]:
    """A module's dropout rate; None leaves the usual one to the learner's module."""
    return {} if rate is None else {"dropout_rate": rate}


def _block(batch: int, columns: int, heads: int, rate: float | None = 0.0, training: bool = False):
    def inputs(rng: np.random.Generator) -> Inputs:
        return {
            "config": {"embedding_dim": WIDTH, "num_heads": heads, **_rate(rate)},
            "weights": _block_weights(rng),
            "x": f32(normal(rng, batch, columns, WIDTH)),
            "training": training,
        }

    return inputs


def _long_row(rng: np.random.Generator) -> Inputs:
    inputs = _block(1, 130, 4)(rng)
    inputs["x"][0, 1] = 0
    return inputs


def _later_words_changed(rng: np.random.Generator) -> list[Inputs]:
    inputs = _block(3, 6, 4)(rng)
    x = inputs["x"].copy()
    x[:, 4:] = f32(normal(rng, 3, 2, WIDTH))
    return [inputs, {**inputs, "x": x}]


def past_is_untouched(runs: list[Run]) -> np.ndarray:
    """Changing words 4 and 5 changes no output at words 0 to 3."""
    (_, one), (_, two) = runs
    (name,) = one
    return np.isclose(one[name][:, :4], two[name][:, :4], atol=1e-4)


def _set_all(module: Any, weights: Mapping[str, np.ndarray]) -> None:
    """Sets every parameter. A further name for one and the same parameter (tied weights) is no further parameter."""
    import torch

    if not isinstance(module, torch.nn.Module):
        raise WrongParameters(f"it is a {type(module).__name__}; expected a torch.nn.Module.")
    found = dict(module.named_parameters(remove_duplicate=False))
    known = {id(found[name]) for name in weights if name in found}
    tied = {name for name in found if name not in weights and id(found[name]) in known}
    table = weights.get("token_embedding.weight")
    for name in found.keys() - weights.keys() - tied:
        if table is not None and tuple(found[name].shape) == table.shape:
            raise WrongParameters(
                f"`{name}` is a parameter of its own, as large as `token_embedding.weight`, so the weights are not tied. Both places "
                "must use one and the same parameter."
            )
    for name in tied:
        owner, _, attribute = name.rpartition(".")
        part = module.get_submodule(owner)
        weights = {
            **weights,
            name: weights[next(each for each in weights if found.get(each) is getattr(part, attribute))],
        }
    set_parameters(module, weights)


def _call_module(name: str) -> Callable[[Callable, Inputs], Any]:
    def call(learner: Callable, inputs: Inputs) -> Any:
        import torch

        with torch.no_grad(), one_thread():
            module = learner(**inputs["config"])
            _set_all(module, inputs["weights"])
            given = tensors(inputs)[name]
            module.eval()(given[:, :1].clone())  # what one call leaves behind must not change the next
            found = module.train(inputs["training"])(given)
        if any(part.training != inputs["training"] for part in module.modules()):
            raise TypeError(
                "a call switches the module between training and evaluation mode. Leave that to the code that trains it."
            )
        return found

    return call


def _run_module(name: str) -> Callable[[Callable, Mapping[str, Any]], tuple[Any, dict[str, Any]]]:
    """What ``sent_back`` sends gradients through."""

    def run(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        module = learner(**given["config"])
        _set_all(module, given["weights"])
        found = dict(module.named_parameters(remove_duplicate=False))
        return module.train(given["training"])(given[name]), {each: found[each] for each in given["weights"]}

    return run


def _one_branch(muted: str):
    """A dropout rate between 0 and 1, and only one of the two branches gives something, because the end of the other is 0."""

    def inputs(rng: np.random.Generator) -> Inputs:
        drawn = _block(6, 9, 4, rate=float(rng.uniform(0.3, 0.6)), training=True)(rng)
        for part in ("weight", "bias"):
            drawn["weights"][f"{muted}.{part}"] = 0 * drawn["weights"][f"{muted}.{part}"]
        return drawn

    return inputs


def _call_block(learner: Callable, inputs: Inputs) -> Any:
    """The output; of more than a thousand words, that at the last ones. At a dropout rate between 0 and 1, a comparison with
    the output in evaluation mode. It says how many times as large the numbers are that a branch adds, where something is left
    of them, and for which share that is so. It also says whether the share of those of which nothing is left is near the rate.
    """
    x = inputs["x"].copy()
    found = _call_module("x")(learner, inputs)
    if x.shape[1] > 1000 and getattr(found, "shape", None) == x.shape:
        return found[:, -9:]
    rate = inputs["config"].get("dropout_rate", 0)
    if not 0 < rate < 1 or getattr(found, "shape", None) != x.shape:
        return found
    whole = _call_module("x")(learner, {**inputs, "x": x.copy(), "training": False})
    left = ((found - x) / (whole - x)).numpy()
    gone = np.isclose(left, 0, atol=1e-3)
    kept = np.median(left[~gone]) if not gone.all() else 0.0
    return np.array(
        [kept, np.isclose(left[~gone], kept, rtol=1e-2).mean().round(1), abs(gone.mean() - rate) < 0.12],
        dtype=float,
    )


decoder_block = Exercise(
    name="DecoderBlock",
    returns=("output",),
    call=_call_block,
    backward=sent_back(_run_module("x")),
    bypasses=(
        "torch.nn.TransformerEncoderLayer",
        "torch.nn.TransformerDecoderLayer",
        "torch.nn.TransformerEncoder",
    ),
    cases=(
        Case("3 rows of 7 words, 4 heads", _block(3, 7, 4)),
        Case(
            "5 heads; rows of 9, 130, 1,100 words and one; a word of zeros",
            together(_block(2, 9, 5), _long_row, _block(1, 1100, 2), _block(3, 1, 2)),
        ),
        Case("evaluation mode: even dropout_rate=1 drops nothing", _block(4, 5, 2, rate=1.0)),
        Case(
            "dropout: rate 1 in training leaves x; in evaluation; the default",
            together(
                _block(2, 6, 4, rate=1.0, training=True),
                _block(2, 6, 4, rate=1.0),
                _block(2, 5, 4, rate=None, training=True),
            ),
        ),
        Case(
            "dropout_rate between 0 and 1: what attention adds, then what the network adds",
            together(_one_branch("contract"), _one_branch("attention.w_output")),
        ),
        Case("the last two of 6 words changed", _later_words_changed, past_is_untouched),
        Case("gradients reach x and every weight", _block(2, 6, 4, training=True), reaches=("x", "weights")),
    ),
)

# ---------------------------------------------------------------------------------- GPT


def _gpt(
    batch: int, columns: int, layers: int, rate: float | None = 0.0, training: bool = False, heads: int = 4
):
    def inputs(rng: np.random.Generator) -> Inputs:
        weights = {
            "token_embedding.weight": f32(normal(rng, WORDS, WIDTH)),
            "position_embedding.weight": f32(normal(rng, MAX_LEN, WIDTH)),
            **_norm(rng, "norm"),
        }
        for number in range(layers):
            weights |= _block_weights(rng, f"blocks.{number}.")
        return {
            "config": {
                "vocabulary_size": WORDS,
                "max_len": MAX_LEN,
                "embedding_dim": WIDTH,
                "num_heads": heads,
                "num_layers": layers,
                **_rate(rate),
            },
            "weights": weights,
            "ids": rng.integers(0, WORDS, (batch, columns)),
            "training": training,
        }

    return inputs


def _long_row_of_ids(rng: np.random.Generator) -> Inputs:
    """A row of more than a thousand words, and a few more positions than words."""
    inputs = _gpt(1, 1100, 1)(rng)
    inputs["weights"]["position_embedding.weight"] = f32(normal(rng, 1103, WIDTH))
    return {**inputs, "config": {**inputs["config"], "max_len": 1103}}


def _partly_dropped(rng: np.random.Generator) -> Inputs:
    """A dropout rate between 0 and 1, blocks that add nothing, and so many words that the logits tell what the norm gives."""
    inputs = _gpt(6, 9, 1, rate=float(rng.uniform(0.3, 0.6)), training=True)(rng)
    words, weights = WIDTH + 5, inputs["weights"]
    for name in ("attention.w_output", "contract"):
        for part in ("weight", "bias"):
            weights[f"blocks.0.{name}.{part}"] *= 0
    weights["token_embedding.weight"] = f32(normal(rng, words, WIDTH))
    config = {**inputs["config"], "vocabulary_size": words}
    return {**inputs, "config": config, "ids": rng.integers(0, words, (6, 9))}


def _call_gpt(learner: Callable, inputs: Inputs) -> Any:
    """The logits; of more than a thousand words, those of the last ones. At a dropout rate between 0 and 1 they are traced back
    to what came into the norm. That is the share of the numbers that are 0, or else the sum of token and position times one
    factor a word. The last result says whether the share of zeros is near the rate.
    """
    found = _call_module("ids")(learner, inputs)
    weights, config = inputs["weights"], inputs["config"]
    rate, words = config.get("dropout_rate", 0), config["vocabulary_size"]
    if inputs["ids"].shape[1] > 1000 and getattr(found, "shape", None) == (*inputs["ids"].shape, words):
        return found[:, -9:]
    if not 0 < rate < 1 or getattr(found, "shape", None) != (*inputs["ids"].shape, words):
        return found
    table = weights["token_embedding.weight"].astype(float)
    sums = table[inputs["ids"]] + weights["position_embedding.weight"][: inputs["ids"].shape[1]]
    normed = (found.numpy() @ np.linalg.pinv(table).T - weights["norm.bias"]) / weights["norm.weight"]
    equal = np.isclose(normed[..., :, None], normed[..., None, :], atol=1e-3).sum(axis=-1)
    zero = np.take_along_axis(normed, equal.argmax(axis=-1)[..., None], axis=-1)  # what the norm makes of 0
    gone = np.isclose(normed, zero, atol=1e-3)
    factors = np.where(gone, np.nan, (normed - zero) / sums)
    alike = np.isclose(factors, np.nanmedian(factors, axis=-1, keepdims=True), rtol=2e-2)
    return np.array([(gone | alike).mean().round(1), abs(gone.mean() - rate) < 0.12], dtype=float)


gpt = Exercise(
    name="GPT",
    returns=("logits",),
    call=_call_gpt,
    backward=sent_back(_run_module("ids")),
    uses=("DecoderBlock",),
    bypasses=(
        "torch.nn.TransformerEncoder",
        "torch.nn.TransformerDecoder",
        "transformers.GPT2LMHeadModel",
        "transformers.GPT2Model",
    ),
    cases=(
        Case("3 rows of 7 words, 2 blocks", _gpt(3, 7, 2)),
        Case("2 rows of 11 words at 11 positions; 3 blocks of 2 heads", _gpt(2, 11, 3, heads=2)),
        Case(
            "1 block of 5 heads: 4 rows of 5 words; one row; 1,100 words",
            together(_gpt(4, 5, 1, heads=5), _gpt(1, 6, 2), _long_row_of_ids),
        ),
        Case(
            "dropout: rate 1 in training, in evaluation; the default; a rate below 1",
            together(
                _gpt(2, 6, 2, rate=1.0, training=True),
                _gpt(2, 6, 1, rate=1.0),
                _gpt(2, 5, 2, rate=None, training=True),
                _partly_dropped,
            ),
        ),
        Case("gradients reach every weight", _gpt(2, 7, 2, training=True), reaches=("weights",)),
    ),
)

# ---------------------------------------------------------------------------------- perplexity


def _batches(count: int, spread: float, least: float = 0.3):
    def inputs(rng: np.random.Generator) -> Inputs:
        counts = [int(number) for number in rng.integers(3, 60, count)]
        losses = [float(loss) for loss in rng.uniform(least, least + spread, count)]
        if count > 1:  # the mean of the batches is not the mean of the words
            order = np.roll(
                np.argsort(losses), 1
            )  # in no order, so that it would be seen if a list was sorted in place
            losses = [losses[place] for place in order]
            counts = np.roll(sorted(counts, reverse=True), 1).tolist()
        characters = int(sum(counts) * rng.uniform(1.8, 4.5))
        return {"losses": losses, "counts": counts, "characters": characters}

    return inputs


def _equal_sizes(rng: np.random.Generator) -> Inputs:
    size = int(rng.integers(8, 30))
    return {
        "losses": rng.uniform([0.5, 2, 5], [1, 4, 7]).tolist(),
        "counts": [size, size, 1],
        "characters": int(rng.integers(size, 2 * size)),
    }


def _nothing_counted(rng: np.random.Generator) -> Inputs:
    """In one batch nothing counted; the loss of such a batch is 0."""
    inputs = _batches(4, 2.0)(rng)
    inputs["losses"][1], inputs["counts"][1] = 0.0, 0
    return inputs


perplexity = Exercise(
    name="perplexity",
    returns=("perplexity", "bits"),
    rtol=1e-4,
    cases=(
        Case("three batches of different sizes", _batches(3, 2.0)),
        Case("one batch, then eight", together(_batches(1, 1.0), _batches(8, 4.0))),
        Case(
            "a model that is nearly sure; one that knows little; one nearly always wrong",
            together(_batches(4, 0.1, 0.02), _batches(5, 2, 5), _batches(3, 2, 24)),
        ),
        Case(
            "equal batches and one of a single word; one where no word counts",
            together(_equal_sizes, _nothing_counted),
        ),
    ),
)

# ---------------------------------------------------------------------------------- NGramModel


def _counted(n: int, words: int, rows: int, longest: int = 12, strength: tuple[float, float] = (0.7, 4.0)):
    def inputs(rng: np.random.Generator) -> Inputs:
        follows = (
            0.7 * rng.dirichlet(np.full(words, 0.3), size=words) + 0.3 / words
        )  # no word only follows itself
        sequences = []
        for _ in range(rows):
            row = [int(rng.integers(words))]
            length = int(rng.integers(n + 3, longest))
            while len(row) < length:
                row.append(int(rng.choice(words, p=follows[row[-1]])))
            sequences.append(row)
        sequences += sequences[:2]  # a sequence that comes twice counts twice
        sequences += [
            rng.integers(0, words, size).tolist() for size in range(n + 1)
        ]  # short ones, and an empty one
        contexts = [row[: int(rng.integers(1, len(row)))] for row in sequences[:4]]
        contexts += [row[: n + 1] for row in sequences[4:10]]  # longer than what counts
        contexts += [rng.integers(0, words, int(size)).tolist() for size in rng.integers(1, n + 3, 4)]
        contexts += [[], [words - 1, *sequences[0][:2]], [words], [sequences[0][0], words]]
        return {
            "sequences": sequences,
            "n": n,
            "vocabulary_size": words + 1,  # the last word is never seen
            "strength": float(rng.uniform(*strength)),
            "contexts": contexts,
        }

    return inputs


def _nothing_to_count(rng: np.random.Generator) -> Inputs:
    """Only empty lists: every word is equally likely."""
    words = int(rng.integers(3, 30))
    contexts = [[], [int(rng.integers(words))], rng.integers(0, words, 4).tolist()]
    return {
        "sequences": [[] for _ in range(int(rng.integers(1, 4)))],
        "n": 3,
        "vocabulary_size": words,
        "strength": float(rng.uniform(0.7, 4.0)),
        "contexts": contexts,
    }


def _call_ngrams(learner: Callable, inputs: Inputs) -> Any:
    given = dict(inputs)
    contexts = given.pop("contexts")
    model = learner(**given)
    found = [np.asarray(model.probabilities(context), dtype=float) for context in contexts]
    for row in found:
        if row.shape != (inputs["vocabulary_size"],):
            raise TypeError(
                f"`probabilities` gave the shape {row.shape}; expected ({inputs['vocabulary_size']},)."
            )
    return np.stack(found)


def rows_sum_to_one(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """After every context the probabilities sum to 1."""
    (found,) = outputs.values()
    return np.isclose(found.sum(axis=-1), 1, atol=1e-4)


def nothing_is_impossible(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Every word has a probability above 0 after every context."""
    return outputs["probabilities"] > 0


ngram_model = Exercise(
    name="NGramModel",
    returns=("probabilities",),
    call=_call_ngrams,
    rtol=1e-4,
    cases=(
        Case("pairs (n = 2), 6 words", _counted(2, 6, 12)),
        Case("three in a row (n = 3), 8 words, `strength` below 1", _counted(3, 8, 20, strength=(0.1, 0.5))),
        Case("up to five in a row (n = 5), 3 words", _counted(5, 3, 15, longest=14)),
        Case(
            "single words (n = 1), then pairs; then all lists are empty",
            together(_counted(1, 7, 6), _counted(2, 7, 9), _nothing_to_count),
        ),
    ),
    properties=(rows_sum_to_one, nothing_is_impossible),
)

# ---------------------------------------------------------------------------------- sampling_probabilities


def _drawn_from(
    *lead: int,
    words: int,
    scale: float = 2.0,
    shift: float = 0.0,
    apart: float = 0.0,
    **settings: tuple[float, float],
):
    """Logits whose probabilities are not near any limit, and the settings, each drawn between two bounds; the others are left to
    the learner's function. The rows lie ``apart`` from each other, and no two logits of a row are equal, even far from 0."""

    def inputs(rng: np.random.Generator) -> Inputs:
        while True:
            given: dict[str, Any] = {
                name: int(rng.integers(low, high + 1)) if name == "top_k" else float(rng.uniform(low, high))
                for name, (low, high) in settings.items()
            }
            logits = f32(normal(rng, *lead, words, scale=scale))
            rows = np.arange(logits[..., 0].size).reshape(*logits.shape[:-1], 1)
            moved = f32(logits + shift - apart * rows)
            different = (np.diff(np.sort(moved, axis=-1), axis=-1) > 0).all()
            if different and _telling(
                logits / given.get("temperature", 1.0), given.get("top_k"), given.get("top_p")
            ):
                return {"logits": moved, **given}

    return inputs


def _exactly_top_p(rng: np.random.Generator) -> Inputs:
    """The likeliest word alone has exactly top_p, a half: with shares in sixteenths, which every float can hold. The logits of all others
    are one step lower than that, so that no way of rounding leaves it below top_p."""
    shares = np.array([(8, 7, 1), (8, 6, 2), (8, 5, 3)][int(rng.integers(3))])
    logits = f32(np.log(shares / 8))
    logits[1:] = np.nextafter(logits[1:], f32(-9))
    return {"logits": rng.permutation(logits), "top_p": 0.5}


def _all_needed(*lead: int, words: int, top_p: float):
    """Words that are nearly equally likely, so that the sum without the last of them is below top_p."""

    def inputs(rng: np.random.Generator) -> Inputs:
        return {"logits": f32(normal(rng, *lead, words, scale=0.2)), "top_p": top_p}

    return inputs


def _telling(scaled: np.ndarray, top_k: int | None, top_p: float | None) -> bool:
    """Whether no row is left empty by the usual mistakes, none is near a limit, and both limits, the order and the sum make a difference."""
    falling = -np.sort(-scaled.reshape(-1, scaled.shape[-1]).astype(float), axis=-1)
    if top_k is not None:
        if top_k > 1 and (falling[:, 0] < falling[:, top_k - 1].max() + 0.05).any():
            return False
        falling = falling[:, :top_k]
    shares = np.exp(falling - falling.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    if top_p is None:
        return True
    sums = shares.cumsum(axis=-1)
    if (np.abs(sums - top_p) < 5e-3).any() or (sums[:, 0] > top_p).any():
        return False
    if top_k is not None and not ((sums[:, -2] < top_p).any() and (sums[:, -3] > top_p).any()):
        return False
    rows = scaled.reshape(-1, scaled.shape[-1])
    weights = np.exp(rows - rows.max(axis=-1, keepdims=True)) * (rows >= falling[:, -1:])
    weights /= weights.sum(axis=-1, keepdims=True)
    before = weights.cumsum(axis=-1) - weights  # in the vocabulary, which is not the order that counts
    kept = (sums - shares < top_p).sum(axis=-1)
    unsorted = np.count_nonzero(weights * (before < top_p), axis=-1)
    by_themselves = np.maximum(
        (shares >= 1 - top_p).sum(axis=-1), 1
    )  # each word compared with a limit of its own
    return bool((kept != unsorted).any() and (kept != by_themselves).any())


def _one_is_enough(rng: np.random.Generator) -> Inputs:
    """The likeliest word alone has more than ``top_p``."""
    return {"logits": f32(normal(rng, 3, 8)), "top_p": 0.02}


def at_most_top_k(inputs: Inputs, outputs: Outputs) -> np.ndarray | None:
    """No more than top_k words can be drawn."""
    if "top_k" not in inputs:
        return None
    return (outputs["probabilities"] > 0).sum(axis=-1) <= inputs["top_k"]


def each_row_sums_to_one(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The probabilities of a row sum to 1."""
    return np.isclose(outputs["probabilities"].sum(axis=-1), 1, atol=1e-4)


sampling_probabilities = Exercise(
    name="sampling_probabilities",
    returns=("probabilities",),
    call=call_with_tensors,
    cases=(
        Case(
            "temperatures far below and above 1, a little below and above; logits alone",
            together(
                _drawn_from(3, words=9, temperature=(0.002, 0.004), scale=0.006),
                _drawn_from(3, words=9, temperature=(4.0, 8.0), scale=8.0),
                _drawn_from(3, words=9, temperature=(0.3, 0.8)),
                _drawn_from(3, words=9, temperature=(1.3, 2.5)),
                _drawn_from(4, words=9),
            ),
        ),
        Case(
            "top-k; then one word is kept, then as many as there are",
            together(
                _drawn_from(4, words=12, top_k=(3, 6)),
                _drawn_from(words=7, top_k=(1, 1)),
                _drawn_from(1, words=6, top_k=(6, 6)),
            ),
        ),
        Case(
            "top-k: 2 rows of 3 places; logits far above 0; far below 0",
            together(
                _drawn_from(2, 3, words=10, top_k=(3, 5), temperature=(0.6, 0.9)),
                _drawn_from(2, words=8, top_k=(3, 5), shift=20_000.0, apart=300.0),
                _drawn_from(2, words=8, top_k=(3, 3), shift=-12_000.0, apart=300.0),
            ),
        ),
        Case(
            "nucleus; then the likeliest word alone has exactly `top_p`",
            together(_drawn_from(5, words=11, top_p=(0.5, 0.85), scale=1.5), _exactly_top_p),
        ),
        Case(
            "nucleus with a temperature, then nearly all words, then all",
            together(
                _drawn_from(2, 4, words=8, top_p=(0.55, 0.85), temperature=(1.3, 2.0)),
                _drawn_from(3, words=8, top_p=(0.92, 0.98)),
                _all_needed(2, words=6, top_p=0.96),
                _one_is_enough,
            ),
        ),
        Case(
            "all three at once",
            _drawn_from(2, 5, words=13, top_k=(4, 6), top_p=(0.8, 0.95), temperature=(1.2, 1.8)),
        ),
    ),
    properties=(each_row_sums_to_one, at_most_top_k),
)

# ---------------------------------------------------------------------------------- summary_features


def _pair(article: tuple[int, int], summary: tuple[int, int], room: int, ignore_id: int | None = None):
    """``room``: max_len is what the whole needs plus this; below 0, the article has to be cut. ``ignore_id``: None leaves the usual
    one to the learner's function. The word 0 is one like any other."""

    def inputs(rng: np.random.Generator) -> Inputs:
        sep_id, eos_id = (1 + rng.choice(9, 2, replace=False)).tolist()
        article_ids = rng.integers(10, 90, int(rng.integers(*article))).tolist()
        length = int(rng.integers(*summary))
        summary_ids = [0, *rng.integers(10, 90, length).tolist()]
        summary_ids[1:3] = [*article_ids[:1], 0]  # a word of the article, and one that comes twice
        summary_ids = summary_ids[:length]
        return {
            "article_ids": article_ids,
            "summary_ids": summary_ids,
            "sep_id": sep_id,
            "eos_id": eos_id,
            "max_len": len(article_ids) + len(summary_ids) + 1 + room,
            **({} if ignore_id is None else {"ignore_id": ignore_id}),
        }

    return inputs


def _call_features(learner: Callable, inputs: Inputs) -> dict[str, np.ndarray]:
    found = call_function(learner, inputs)
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise TypeError("it must return a pair: the inputs and the targets.")
    for name, part in zip(("inputs", "targets"), found, strict=True):
        if not isinstance(part, list):
            raise TypeError(
                f"the {name} are a {type(part).__name__}; expected a list, to which padding can be added."
            )
    ids, targets = map(np.asarray, _whole_numbers(found))
    if ids.ndim != 1 or targets.ndim != 1:
        raise TypeError(f"inputs and targets must be flat; they have {ids.ndim} and {targets.ndim} axes.")
    return {"inputs": ids, "targets": targets}


def whole_summary_is_learned(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """The targets that count are the summary and its end, all of it."""
    counted = [int(word) for word in outputs["targets"] if word != inputs.get("ignore_id", IGNORED)]
    return np.array(counted == [*inputs["summary_ids"], inputs["eos_id"]])


summary_features = Exercise(
    name="summary_features",
    returns=("inputs", "targets"),
    call=_call_features,
    cases=(
        Case("there is room for everything; `ignore_id` is not passed", _pair((6, 10), (3, 6), 4)),
        Case(
            "exact fit; no room for the article; summaries of one word, none; empty article",
            together(
                _pair((7, 12), (2, 5), 0),
                _pair((7, 8), (2, 5), -7),
                _pair((6, 9), (1, 2), -2),
                _pair((6, 9), (0, 1), -2),
                _pair((0, 1), (3, 6), 3),
            ),
        ),
        Case(
            "the article is too long, by some words and by one",
            together(_pair((10, 15), (3, 6), -4), _pair((7, 12), (2, 5), -1)),
        ),
        Case(
            "the article is too long, and what does not count is marked -1", _pair((12, 16), (4, 7), -6, -1)
        ),
    ),
    properties=(whole_summary_is_learned,),
)

# ---------------------------------------------------------------------------------- rouge_l


def _texts(common: tuple[int, int], few_words: bool = False):
    """Two texts with words in the same order, and others around them.

    One word stands at the beginning of the candidate and at the end of the reference: it is in both, but fits no order. Another one
    ends the candidate, after a word that the reference does not have: no run of neighbours has everything, nor do all words but the last.
    """

    def inputs(rng: np.random.Generator) -> Inputs:
        names = rng.permutation(list("abcdefghijklmnopqrstuvwxyz")).tolist()
        crossing, alone, last, *names = names
        count = int(rng.integers(*common))
        core = rng.choice(names[:4], count).tolist() if few_words else names[:count]
        of_candidate, of_reference = int(rng.integers(2, 9)), int(rng.integers(2, 9))
        if of_reference == of_candidate + 1:
            of_reference += 1  # else the texts would be equally long
        others = (names[:4], names[:4]) if few_words else (names[12:17], names[17:])
        bodies = [_mixed(rng, core, *more) for more in zip(others, (of_candidate, of_reference), strict=True)]
        return {"candidate": [crossing, *bodies[0], alone, last], "reference": [*bodies[1], last, crossing]}

    return inputs


def _mixed(rng: np.random.Generator, core: list[str], others: list[str], count: int) -> list[str]:
    """The words of ``core``, with others between them and after them."""
    text = list(core)
    words = rng.choice(others, count).tolist()
    words[-1] = words[0]  # a word that comes twice
    for word in words:
        text.insert(int(rng.integers(1, len(text) + 1)), word)
    return text


def _nothing_common(rng: np.random.Generator) -> Inputs:
    return {
        "candidate": rng.choice(list("abc"), int(rng.integers(2, 6))).tolist(),
        "reference": rng.choice(list("xyz"), int(rng.integers(2, 6))).tolist(),
    }


_NEARLY_EQUAL = (
    ("Bath", "bath"),
    ("end.", "end"),
    ("résumé", "resume"),
    ("towns", "town"),
    ("don't", "dont"),
    ("1,000", "1000"),
    ("new", "news"),
    ("re-open", "reopen"),
    ("national", "nationality"),
    ("Zoë", "Zoe\u0308"),  # look the same
)


def _nearly_equal(rng: np.random.Generator) -> Inputs:
    """Pairs of words that are nearly the same stand at the same places, mixed with words, numbers and marks that are the same. One of these
    comes first and one last, so that no run has them all.
    """
    pairs = rng.permutation(np.array(_NEARLY_EQUAL))
    words = ["the", "in", "Rome", "3", "2026", "-", "?", "café", *"abcdefghijklmnop"]
    same = rng.permutation(words)[: int(rng.integers(5, 25))]
    turned = [pair[:: int(rng.choice([1, -1]))] for pair in pairs]
    both = np.repeat(same[:, None], 2, axis=1)
    rows = [
        both[1].tolist(),
        *rng.permutation(np.concatenate([turned, both[2:]])).tolist(),
        both[0].tolist(),
    ]
    more = rng.choice(["far", "off"], int(rng.integers(1, 20))).tolist()
    return {"candidate": [one for one, _ in rows] + more, "reference": [other for _, other in rows]}


def _empty(rng: np.random.Generator) -> Inputs:
    return {"candidate": [], "reference": rng.choice(list("xyz"), int(rng.integers(2, 6))).tolist()}


def _one_word(rng: np.random.Generator) -> Inputs:
    """A candidate and a reference of one word, the same."""
    word = str(rng.choice(list("xyz")))
    return {"candidate": [word], "reference": [word]}


def _only_the_first(rng: np.random.Generator) -> Inputs:
    """The first words are the same, and no others."""
    return {
        "candidate": ["one", *rng.choice(list("abc"), 3)],
        "reference": ["one", *rng.choice(list("xyz"), 5)],
    }


def _other_order(rng: np.random.Generator) -> Inputs:
    """The same words, one of which is a full stop, in two orders."""
    one, two, three = rng.permutation(list("abcxyz"))[:3].tolist()
    return {"candidate": [two, one, ".", three], "reference": [one, two, three, "."]}


def _swapped(rng: np.random.Generator) -> list[Inputs]:
    inputs = _texts((3, 10))(rng)
    return [inputs, {"candidate": inputs["reference"], "reference": inputs["candidate"]}]


def precision_and_recall_change_places(runs: list[Run]) -> np.ndarray:
    """With candidate and reference exchanged, precision and recall are exchanged, and F1 is the same."""
    (_, one), (_, two) = runs
    return np.isclose(
        [one["precision"], one["recall"], one["f1"]], [two["recall"], two["precision"], two["f1"]], atol=1e-4
    )


rouge_l = Exercise(
    name="rouge_l",
    returns=("precision", "recall", "f1"),
    rtol=1e-4,
    cases=(
        Case(
            "two pairs of texts with some words in the same order", together(_texts((3, 10)), _texts((3, 10)))
        ),
        Case(
            "two pairs of long texts of few different words",
            together(_texts((8, 13), True), _texts((8, 13), True)),
        ),
        Case(
            "nothing in common; no candidate; one word; the first in common; another order",
            together(
                _nothing_common,
                _empty,
                _one_word,
                _only_the_first,
                _other_order,
                _texts((3, 9)),
                _texts((110, 130), few_words=True),
            ),
        ),
        Case("candidate and reference exchanged", _swapped, precision_and_recall_change_places),
        Case(
            "nearly equal words, such as `Bath` and `bath`, `end.` and `end`: they differ",
            _nearly_equal,
        ),
    ),
    bypasses=("course_utils.data.summaries.rouge_l",),
)

# ---------------------------------------------------------------------------------- rms_norm


def _rows_of(*shape: int, scale: float = 2.0, shift: float = 1.5, eps: float | None = None):
    """``eps``: None leaves the usual one to the learner's function. One of the weights is below 0."""

    def inputs(rng: np.random.Generator) -> Inputs:
        weight = rng.uniform(0.4, 1.6, shape[-1])
        weight[int(rng.integers(shape[-1]))] *= -1
        return {
            "x": f32(normal(rng, *shape, scale=scale) + shift),
            "weight": f32(weight),
            **({} if eps is None else {"eps": eps}),
        }

    return inputs


def _zeros(rng: np.random.Generator) -> Inputs:
    inputs = _rows_of(3, 4, 6, eps=1e-2)(rng)
    inputs["x"][1] = 0
    return inputs


def rows_have_the_length_of_one(inputs: Inputs, outputs: Outputs) -> np.ndarray | None:
    """Without the weight, the mean of a row's squares is 1."""
    if (np.square(inputs["x"]).mean(axis=-1) < 1e-2).any():
        return None  # eps has its share there
    return np.isclose(np.square(outputs["output"] / inputs["weight"]).mean(axis=-1), 1, atol=1e-3)


rms_norm = Exercise(
    name="rms_norm",
    returns=("output",),
    call=call_with_tensors,
    cases=(
        Case("one row of words: (5, 6)", _rows_of(5, 6)),
        Case(
            "shapes (3, 4, 8), (7,) and (1, 1, 6); as many words as features",
            together(
                _rows_of(3, 4, 8, shift=-0.7), _rows_of(7), _rows_of(1, 1, 6), _rows_of(5, 5, scale=100.0)
            ),
        ),
        Case(
            "rows of very small numbers: eps counts; it is not passed",
            _rows_of(2, 5, 7, scale=3e-3, shift=0.0),
        ),
        Case("some rows are all zeros; another eps", _zeros),
        Case(
            "gradients reach x and the weight, with rows of zeros, too",
            together(_rows_of(3, 5, 6), _zeros),
            reaches=("x", "weight"),
        ),
    ),
    backward=sent_back(a_function),
    properties=(rows_have_the_length_of_one,),
    bypasses=(
        "torch.nn.RMSNorm",
        "torch.nn.functional.rms_norm",
        "torch.rms_norm",
        "keras.layers.RMSNormalization",
        "keras.ops.rms_normalization",
        "transformers.models.llama.modeling_llama.LlamaRMSNorm",
    ),
)

# ---------------------------------------------------------------------------------- swiglu


def _gated(*lead: int, width: int, inner: int, scale: float = 1.5):
    def inputs(rng: np.random.Generator) -> Inputs:
        return {
            "x": f32(normal(rng, *lead, width, scale=scale)),
            "w_gate": f32(normal(rng, inner, width, scale=1.4 * width**-0.5)),
            "w_up": f32(normal(rng, inner, width, scale=1.4 * width**-0.5)),
            "w_down": f32(normal(rng, width, inner, scale=inner**-0.5)),
        }

    return inputs


def _large_gates(times: float) -> Callable[[np.random.Generator], Inputs]:
    """Half of the gates are above 100 ``times`` so much, half as far below 0. All that is added up is above 0: nothing cancels out."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = _gated(4, width=6, inner=8)(rng)
        signs = rng.permutation(np.repeat([1, -1], 4))[:, None]
        return {
            "x": f32(rng.uniform(1, 2, made["x"].shape)),
            "w_gate": f32(times * signs * rng.uniform(20, 50, made["w_gate"].shape)),
            "w_up": np.abs(made["w_up"]),
            "w_down": np.abs(made["w_down"]),
        }

    return inputs


def _closed_gates(rng: np.random.Generator) -> list[Inputs]:
    inputs = _gated(2, 4, width=6, inner=9)(rng)
    return [inputs, {**inputs, "w_up": 2 * inputs["w_up"]}]


def output_grows_with_up(runs: list[Run]) -> np.ndarray:
    """Twice the weights of `w_up` give twice the output: no bend lies on that path."""
    return np.isclose(2 * runs[0][1]["output"], runs[1][1]["output"], atol=1e-3)


swiglu = Exercise(
    name="swiglu",
    returns=("output",),
    call=call_with_tensors,
    cases=(
        Case("one row of words: (5, 6)", _gated(5, width=6, inner=10)),
        Case(
            "(3, 4, 8); one word; as many hidden values as features; large, huge gates",
            together(
                _gated(3, 4, width=8, inner=11),
                _gated(width=7, inner=9),
                _gated(4, width=6, inner=6, scale=2.5),
                _large_gates(1),
                _large_gates(200),
            ),
        ),
        Case("once more with twice the weights `w_up`", _closed_gates, output_grows_with_up),
        Case(
            "gradients reach x and all weights, with gates of a hundred and more, too",
            together(_gated(3, width=6, inner=8), _large_gates(1)),
            reaches=("x", "w_gate", "w_up", "w_down"),
        ),
    ),
    backward=sent_back(a_function),
)

# ---------------------------------------------------------------------------------- grouped_query_attention


def _grouped(
    heads: int,
    kv_heads: int,
    q_len: int,
    k_len: int,
    d_k: int,
    d_v: int,
    masked: bool = True,
    scale: float = 1.0,
    batch: int = 2,
):
    def inputs(rng: np.random.Generator) -> Inputs:
        return {
            "query": f32(normal(rng, batch, heads, q_len, d_k, scale=scale)),
            "key": f32(normal(rng, batch, kv_heads, k_len, d_k)),
            "value": f32(normal(rng, batch, kv_heads, k_len, d_v)),
            **({"mask": random_mask(rng, q_len, k_len)} if masked else {}),
        }

    return inputs


def _one_mask_row_for_all(rng: np.random.Generator) -> Inputs:
    return {**_grouped(4, 2, 3, 6, 4, 5)(rng), "mask": random_mask(rng, 1, 6)}


def _a_mask_of_one_axis(rng: np.random.Generator) -> Inputs:
    return {**_grouped(3, 3, 4, 7, 6, 5)(rng), "mask": random_mask(rng, 7)}


def _far_below_0(rng: np.random.Generator) -> Inputs:
    """All scores are far below 0, and further apart than any rounding. The first query may not attend to the key with the highest."""
    inputs = _grouped(4, 2, 5, 6, 8, 3)(rng)
    away, steps = f32(rng.uniform(1, 2, 8)), rng.permutation(6)
    inputs["query"] = inputs["query"] * f32(0.01) + away
    inputs["key"] = np.zeros_like(inputs["key"]) - f32(8_000 * (steps[:, None] + 1)) * away
    inputs["mask"][0] = steps > 0
    return inputs


def _one_group_changed(rng: np.random.Generator) -> list[Inputs]:
    inputs = _grouped(6, 2, 4, 5, 8, 7, masked=False)(rng)
    changed = {name: inputs[name].copy() for name in ("key", "value")}
    for array in changed.values():
        array[:, 1] = f32(normal(rng, 2, *array.shape[2:]))
    return [inputs, {**inputs, **changed}]


def other_group_is_untouched(runs: list[Run]) -> np.ndarray:
    """Other keys and values in the second group change nothing in the query heads of the first."""
    return np.isclose(runs[0][1]["output"][:, :3], runs[1][1]["output"][:, :3], atol=1e-4)


grouped_query_attention = Exercise(
    name="grouped_query_attention",
    returns=("output",),
    call=call_with_tensors,
    cases=(
        Case(
            "9 query heads share 3 key heads; one query, batch of one",
            together(_grouped(9, 3, 5, 7, 4, 6), _grouped(4, 2, 1, 6, 4, 5, batch=1)),
        ),
        Case(
            "4 query heads, 2 key heads: without and with mask; scores far from 0",
            together(
                _grouped(4, 2, 6, 5, 8, 3, masked=False),
                _grouped(4, 2, 5, 5, 8, 3, masked=False),  # as many queries as keys: not causal
                _grouped(4, 2, 5, 5, 8, 3),
                _grouped(4, 2, 5, 6, 8, 3, masked=False, scale=80.0),
                _grouped(4, 2, 5, 6, 8, 3, scale=200.0),
                _far_below_0,
            ),
        ),
        Case(
            "5 query heads, one key head; one mask row, with two axes and one",
            together(_grouped(5, 1, 3, 6, 4, 7), _one_mask_row_for_all, _a_mask_of_one_axis),
        ),
        Case("other keys and values in one of two groups", _one_group_changed, other_group_is_untouched),
        Case(
            "gradients reach query, key and value",
            _grouped(6, 3, 4, 7, 8, 5),
            reaches=("query", "key", "value"),
        ),
    ),
    backward=sent_back(a_function),
    bypasses=(*READY_MADE, "transformers.models.llama.modeling_llama.eager_attention_forward"),
)

# ---------------------------------------------------------------------------------- attend_with_cache


def _in_pieces(
    pieces: tuple[int, ...], heads: int, kv_heads: int, width: int, base: float | None = None, batch: int = 2
):
    """``base``: None leaves the usual one to the learner's function."""

    def inputs(rng: np.random.Generator) -> Inputs:
        length = sum(pieces)
        return {
            "query": f32(normal(rng, batch, heads, length, width, scale=1.5)),
            "key": f32(normal(rng, batch, kv_heads, length, width, scale=1.5)),
            "value": f32(normal(rng, batch, kv_heads, length, width)),
            "pieces": list(pieces),
            **({} if base is None else {"rotary_base": base}),
        }

    return inputs


def _once_and_in_pieces(rng: np.random.Generator) -> list[Inputs]:
    inputs = _in_pieces((3, 1, 2), 6, 2, 8)(rng)
    return [{**inputs, "pieces": [6]}, inputs]


def pieces_make_no_difference(runs: list[Run]) -> np.ndarray:
    """In pieces, with the cache, comes out what comes out at once."""
    return np.isclose(runs[0][1]["output"], runs[1][1]["output"], atol=1e-4)


def _call_cache(learner: Callable, inputs: Inputs) -> dict[str, Any]:
    """All pieces one after the other; of more than a thousand words, what belongs to the last ones."""
    import torch

    given = tensors(inputs)
    base = {name: value for name, value in inputs.items() if name == "rotary_base"}
    cache, start, found = None, 0, []
    with torch.no_grad(), one_thread():
        for size in inputs["pieces"]:
            piece = {name: given[name][:, :, start : start + size] for name in ("query", "key", "value")}
            if cache is not None or base:  # otherwise no cache is passed
                piece["cache"] = cache
            result = call_function(learner, {**piece, **base})
            if (
                not isinstance(result, tuple)
                or len(result) != 2
                or not isinstance(result[1], tuple | list)
                or len(result[1]) != 2
            ):
                raise TypeError(
                    "it must return a pair: the output, and the cache, which is a pair of keys and values."
                )
            if differ(result, call_function(learner, {**piece, **base})):
                raise TypeError(
                    "called twice with the same query, key, value and cache, it gives two different results. The cache that is "
                    "handed over must stay as it is, and nothing else may be kept from one call to the next."
                )
            output, cache = result
            found.append(output)
            start += size
        results = {"output": torch.cat(found, dim=2), "keys": cache[0], "values": cache[1]}
    if start > 1000 and all(part.ndim == 4 and part.shape[2] == start for part in results.values()):
        return {name: part[:, :, -9:] for name, part in results.items()}
    return results


def _run_last_piece(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What ``sent_back`` sends gradients through: the last piece, with the cache of those before it, if there are any."""
    import torch

    start, more = sum(given["pieces"][:-1]), {}
    parts = {name: given[name] for name in ("query", "key", "value")}
    if start:
        with torch.no_grad():
            _, cache = call_function(learner, {name: part[:, :, :start] for name, part in parts.items()})
        more = {"cache": tuple(part.detach() for part in cache)}
    return call_function(learner, {**{name: part[:, :, start:] for name, part in parts.items()}, **more}), {}


attend_with_cache = Exercise(
    name="attend_with_cache",
    returns=("output", "keys", "values"),
    call=_call_cache,
    uses=("grouped_query_attention",),
    cases=(
        Case(
            "7 words without a cache; 20 words, then one more; 1,100, one more",
            together(
                _in_pieces((7,), 4, 2, 6),
                _in_pieces((20, 1), 4, 2, 6, batch=1),
                _in_pieces((1100, 1), 2, 1, 2, batch=1),
            ),
        ),
        Case("5 words, then one after the other", _in_pieces((5, 1, 1, 1), 6, 3, 4)),
        Case("3 words, then 4, then 2; another base for the angles", _in_pieces((3, 4, 2), 4, 1, 8, 500.0)),
        Case("6 words at once, then in pieces", _once_and_in_pieces, pieces_make_no_difference),
        Case(
            "gradients reach query, key and value, without a cache and with one",
            together(_in_pieces((5,), 4, 2, 6), _in_pieces((3, 2), 4, 2, 6)),
            reaches=("query", "key", "value"),
        ),
    ),
    backward=sent_back(_run_last_piece),
)
