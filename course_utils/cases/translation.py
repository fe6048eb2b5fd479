"""What the checks of the Transformer share in both frameworks: sizes, sentences, masks, weights, and what must hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from course_utils.cases.properties import f32, normal
from course_utils.checking.exercise import Inputs, Outputs, Run

PAD, BOS, EOS = 0, 1, 2

BATCH, LAYERS, HEADS, WIDTH, INNER = 3, 2, 4, 20, 28  # WIDTH = embedding_dim, INNER = fully_connected_dim

SOURCE_LEN, TARGET_LEN, SOURCE_WORDS, TARGET_WORDS = 7, 6, 17, 13


def linear(rng: np.random.Generator, name: str, rows: int, columns: int) -> dict[str, np.ndarray]:
    return {
        f"{name}.weight": f32(normal(rng, rows, columns, scale=columns**-0.5)),
        f"{name}.bias": f32(normal(rng, rows, scale=0.3)),
    }


def norm(rng: np.random.Generator, name: str) -> dict[str, np.ndarray]:
    """γ and β far enough from 1 and 0, and from those of any other LayerNorm, to tell them apart."""
    return {
        f"{name}.weight": f32(rng.uniform(0.4, 1.6, WIDTH)),
        f"{name}.bias": f32(normal(rng, WIDTH, scale=0.5)),
    }


def feed_forward_weights(rng: np.random.Generator, name: str) -> dict[str, np.ndarray]:
    return {
        **linear(rng, f"{name}.linear1", INNER, WIDTH),
        **linear(rng, f"{name}.linear2", WIDTH, INNER),
    }


LENGTHS = np.array(
    [4, 7, 5]
)  # of the source sentences, of at most SOURCE_LEN; padded first, so that a mask of the first alone is not like none

TARGET_LENGTHS = np.array([3, 6, 4])  # of the target sentences, of at most TARGET_LEN


def real_words(lengths: np.ndarray, longest: int) -> np.ndarray:
    """True at the words of each sentence, (batch, longest)."""
    return np.arange(longest) < lengths[:, None]


def target_mask() -> np.ndarray:
    """(batch, 1, tgt_len, tgt_len): the words up to each position that are no padding."""
    return real_words(TARGET_LENGTHS, TARGET_LEN)[:, None, None, :] & np.tri(TARGET_LEN, dtype=bool)


Make = Callable[[np.random.Generator], Inputs]

DEFAULTS = ("dropout_rate", "layernorm_eps", "norm_first")
"""What a layer or a stack may be made without."""


def without_options(make: Make) -> Make:
    """The same inputs for a layer that is made, and called, with every default: not in training, where that is one."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = make(rng)
        config = {name: value for name, value in made["config"].items() if name not in DEFAULTS}
        said = {name: value for name, value in made.items() if name != "training" or value}
        return {**said, "config": config}

    return inputs


def with_a_word_of_zeros(make: Make) -> Make:
    """One word of x is all zeros, and a word like any other."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = make(rng)
        made["x"][0, 2] = 0
        return made

    return inputs


def with_longer_tables(make: Make) -> Make:
    """Both tables of ids end with columns of nothing but padding."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = make(rng)
        tables = {name: np.pad(made[name], ((0, 0), (0, 2))) for name in ("source_ids", "target_ids")}
        return {**made, **tables}

    return inputs


def trained(make: Make) -> Make:
    """The same inputs in training, where gradients are needed, with a dropout that drops nothing."""

    def inputs(rng: np.random.Generator) -> Inputs:
        made = make(rng)
        return {**made, "config": {**made["config"], "dropout_rate": 0.0}, "training": True}

    return inputs


LAYER = {"embedding_dim": WIDTH, "num_heads": HEADS, "fully_connected_dim": INNER}


def padding_changes_no_real_word(runs: list[Run]) -> np.ndarray:
    """Two more words of padding do not change the output of any real word."""
    return np.isclose(runs[0][1]["output"], runs[1][1]["output"][:, :SOURCE_LEN], atol=1e-4)


def past_is_untouched(runs: list[Run]) -> np.ndarray:
    """Changing target words 4 and 5 changes no output at words 0 to 3."""
    return np.isclose(runs[0][1]["output"][:, :4], runs[1][1]["output"][:, :4], atol=1e-4)


def source_padding_changes_nothing(runs: list[Run]) -> np.ndarray:
    """Two more columns of padding in the source change no logits."""
    return np.isclose(runs[0][1]["logits"], runs[1][1]["logits"], atol=1e-4)


def future_words_change_nothing(runs: list[Run]) -> np.ndarray:
    """Changing target words 4 and 5 changes no logits at words 0 to 3."""
    return np.isclose(runs[0][1]["logits"][:, :4], runs[1][1]["logits"][:, :4], atol=1e-4)


def padding_changes_no_loss(runs: list[Run]) -> np.ndarray:
    """Four more columns of padding do not change the loss."""
    return np.isclose(runs[0][1]["loss"], runs[1][1]["loss"], atol=1e-4)


def stops_when_all_have_ended(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Once every sentence has ended, the model is not asked again."""
    return outputs["stopped in time"]
