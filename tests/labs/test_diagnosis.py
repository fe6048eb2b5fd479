"""Mistakes written in other styles than the catalogue's are still recognised: it is the output that counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from course_utils.checking.comparison import Verdict, compare
from course_utils.checking.exercise import PUBLIC_SEED
from course_utils.checking.expected import FILE_NAME, load_expected
from course_utils.checking.outcome import Outcome
from course_utils.maths import softmax

ATTENTION = """
def scaled_dot_product_attention(query, key, value, mask=None):
    import math
    d = query.shape[-1]
    logits = np.einsum("...qd,...kd->...qk", query.astype(np.float64), key, optimize=True){scale}
    if mask is not None:
        {mask}
    e = np.exp(logits - logits.max({axis}, keepdims=True))
    w = e / e.sum({axis}, keepdims=True)
    {after}
    return np.einsum("...qk,...kv->...qv", {weighed}, value, optimize=True), w
"""
RIGHT = {
    "scale": " * d ** -0.5",
    "mask": "logits = logits + np.where(mask, 0, -1e30)",
    "axis": "-1",
    "after": "w = w if mask is None else w * mask",
    "weighed": "w",
}

WRITTEN_DIFFERENTLY = {
    "no_scaling": {"scale": ""},
    "divided_by_d_k": {"scale": " / d"},
    "multiplied_by_root_d_k": {"scale": " * math.sqrt(d)"},
    "scaled_by_key_length": {"scale": " / math.sqrt(key.shape[-2])"},
    "scaled_by_number_of_queries": {"scale": " / math.sqrt(query.shape[-2])"},
    "softmax_over_queries": {"axis": "-2"},
    "output_from_raw_scores": {"weighed": "logits if mask is None else np.where(mask, logits, -1e9)"},
    "mask_ignored": {"mask": "np.where(mask, logits, -1e30)", "after": "pass"},
    "mask_inverted": {
        "mask": "logits = logits - 1e30 * mask",
        "after": "w = w if mask is None else w * ~mask",
    },
    "mask_added_raw": {"mask": "logits = logits + mask", "after": "pass"},
    "mask_multiplied_after_softmax": {"mask": "pass"},
    "scores_multiplied_by_mask": {"mask": "logits = logits * mask", "after": "pass"},
    "uniform_on_blocked_row": {"mask": "logits = np.where(mask, logits, -1e30)", "after": "pass"},
    "nan_on_blocked_row": {"mask": "logits = np.where(mask, logits, -np.inf)", "after": "pass"},
}

OTHERS = {
    (
        "start_here.softmax",
        "no_max_subtraction",
    ): "def softmax(s, axis=-1): return np.exp(s) / np.exp(s).sum(axis, keepdims=True)",
    (
        "start_here.softmax",
        "no_axis",
    ): "def softmax(scores, axis=-1):\n    e = np.exp(scores - scores.max())\n    return e / e.sum()",
    ("start_here.softmax", "one_dimensional_only"): (
        "def softmax(scores, axis=-1):\n    e = [np.exp(float(s) - float(max(scores))) for s in scores]\n    return np.array(e) / sum(e)"
    ),
    (
        "self_attention.causal_mask",
        "anti_causal",
    ): "def causal_mask(n): return np.arange(n)[:, None] <= np.arange(n)",
    (
        "self_attention.causal_mask",
        "causal_diagonal_blocked",
    ): "def causal_mask(n): return np.arange(n)[:, None] > np.arange(n)",
    (
        "self_attention.padding_mask",
        "padding_on_query_axis",
    ): "def padding_mask(ids, pad_id=0): return np.expand_dims(ids != pad_id, -1)",
    ("self_attention.combine_masks", "either_allows"): (
        "def combine_masks(a, b):\n    if a is None or b is None: return b if a is None else a\n    return np.logical_or(a, b)"
    ),
}


POSSIBLE = {"one_dimensional_only"}
"""Of these, another style raises other exceptions: they are possible causes, and no more."""
UNNAMED = {"output_from_raw_scores"}
"""Another style of these blocks with another number, which shows in what comes out: nothing is named."""


def verdict_on(labs, key: str, source: str) -> Verdict:
    lab = next(lab for lab in labs.values() if key in lab.exercises)
    name = key.partition(".")[2]
    namespace = {**lab.reference, "softmax": softmax}
    exec(source, namespace)
    outcomes = lab.outcomes(key, namespace[name], PUBLIC_SEED)
    exercise = lab.exercises[key]
    return compare(exercise, outcomes, load_expected(lab.release_folder / FILE_NAME, key, exercise))


def diagnosed(labs, key: str, source: str) -> list[str]:
    """The misconceptions that are certain, and, with a question mark, those that are possible."""
    verdict = verdict_on(labs, key, source)
    return [each.name for each in verdict.recognised] + [f"{each.name}?" for each in verdict.possible]


def expected_of(name: str) -> list[str]:
    return [] if name in UNNAMED else [f"{name}?" if name in POSSIBLE else name]


def test_the_code_that_is_mutated_here_is_right_to_begin_with(labs):
    lab, key = labs["02_self_attention"], "self_attention.scaled_dot_product_attention"
    namespace = {"np": np}
    exec(ATTENTION.format(**RIGHT), namespace)
    outcomes = lab.outcomes(key, namespace["scaled_dot_product_attention"], PUBLIC_SEED)
    assert compare(lab.exercises[key], outcomes, lab.expected(PUBLIC_SEED)[key]).correct


@pytest.mark.parametrize("name", WRITTEN_DIFFERENTLY)
def test_a_mistake_in_another_style_of_attention_is_recognised(labs, name):
    source = ATTENTION.format(**{**RIGHT, **WRITTEN_DIFFERENTLY[name]})
    assert diagnosed(labs, "self_attention.scaled_dot_product_attention", source) == expected_of(name)


@pytest.mark.parametrize("key, name", OTHERS)
def test_a_mistake_in_another_style_is_recognised(labs, key, name):
    assert diagnosed(labs, key, OTHERS[key, name]) == expected_of(name)


def test_of_two_mistakes_at_once_the_one_that_is_seen_alone_is_possible(labs):
    source = ATTENTION.format(**{**RIGHT, "mask": "pass", "after": "pass", "scale": ""})
    found = diagnosed(labs, "self_attention.scaled_dot_product_attention", source)
    assert set(found) <= {"no_scaling?", "mask_ignored?"}


WEIGHTS_AVERAGED = """
def multi_head_attention(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    query, key, value = (split_heads(a @ w, num_heads) for a, w in ((x, w_query), (memory, w_key), (memory, w_value)))
    mask = mask if mask is None else mask[..., None, :, :]
    attended, weights = scaled_dot_product_attention(query, key, value, mask)
    return merge_heads(attended) @ w_output, weights.mean(axis=-3)
"""
DROPOUT_IN_FORWARD = """
class EncoderLayer(EncoderLayer):
    def forward(self, x, mask=None):
        dropout = nn.Dropout(0.1)
        if self.norm_first:
            normed = self.norm1(x)
            x = x + dropout(self.self_attention(normed, normed, normed, mask)[0])
            return x + dropout(self.feed_forward(self.norm2(x)))
        x = self.norm1(x + dropout(self.self_attention(x, x, x, mask)[0]))
        return self.norm2(x + dropout(self.feed_forward(x)))
"""
SURE_OF_WHATEVER_IT_SAYS = """
def best_temperature(logits, labels, candidates):
    def loss(temperature):
        return -torch.log_softmax(torch.tensor(logits / temperature), dim=1).amax(dim=1).mean().item()
    return float(min(candidates, key=loss))
"""
ZERO_IS_MISSING = """
def validate_rows(rows, task):
    faults = []
    for number, row in enumerate(rows, start=1):
        known = {column: value for column, value in row.items() if value}
        wrong = [
            column for column, kind in COLUMNS[task].items()
            if not isinstance(known.get(column), kind) or not str(known[column]).strip()
        ]
        if not wrong and task == "entities":
            size = len(row["text"])
            wrong += ["spans"] * any(not 0 <= first < end <= size for first, end, _ in row["spans"])
        if not wrong and task == "questions":
            start, answer = row["start"], row["answer"]
            wrong += ["start"] * (start < 0 or not row["context"][start:].startswith(answer))
        faults += [(number, column) for column in wrong]
    return faults
"""
NONE_TAKEN_FOR_TRUE = """
def combine_masks(first, second):
    return np.logical_and(*(True if mask is None else mask for mask in (first, second)))
"""
REFUSED_BY_AN_ASSERTION = """
class LearnedPositionalEmbedding(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(max_len, d_model))

    def forward(self, x):
        assert x.shape[1] <= len(self.table), "too long"
        return x + self.table[: x.shape[1]]
"""


@pytest.mark.parametrize(
    "key, source",
    [
        ("self_attention.combine_masks", NONE_TAKEN_FOR_TRUE),
        ("positional_encoding.LearnedPositionalEmbedding", REFUSED_BY_AN_ASSERTION),
        ("multi_head_attention.multi_head_attention", WEIGHTS_AVERAGED),
        ("transformer_pytorch.EncoderLayer", DROPOUT_IN_FORWARD),
        ("your_own_dataset.best_temperature", SURE_OF_WHATEVER_IT_SAYS),
    ],
)
def test_mistakes_that_resemble_known_ones_in_some_cases_get_no_name_but_a_sentence(labs, key, source):
    verdict = verdict_on(labs, key, source)
    assert not verdict.correct and verdict.recognised == () and verdict.possible == ()
    details = [check.detail for check in verdict.checks if check.case is not None and check.detail]
    assert verdict.symptoms or "two different outputs" in details[0]  # which a check explains itself


NOTHING_COUNTS = """
def masked_loss(logits, targets, ignore_id=-100):
    counts = targets != ignore_id
    if not counts.any():
        return torch.zeros(())
    return -logits[counts].log_softmax(-1).gather(-1, targets[counts][:, None]).mean()
"""


def test_where_gradients_are_missing_for_one_input_only_the_name_says_no_more(labs):
    key = "language_model_and_summarizer.masked_loss"
    assert diagnosed(labs, key, NOTHING_COUNTS) == ["constant_for_nothing"]
    everywhere = NOTHING_COUNTS.replace("logits[counts]", "logits.detach()[counts]")
    assert diagnosed(labs, key, everywhere) == ["no_gradient"]


def test_a_start_of_0_that_counts_as_missing_is_known(labs):
    assert diagnosed(labs, "your_own_dataset.validate_rows", ZERO_IS_MISSING) == ["nothing_taken_for_missing"]


def test_a_mistake_that_is_not_in_the_catalogue_gets_no_name(labs):
    source = ATTENTION.format(**{**RIGHT, "scale": " * 0.123"})
    assert diagnosed(labs, "self_attention.scaled_dot_product_attention", source) == []


@pytest.mark.parametrize(
    "key, old, new",
    [
        ("self_attention.scaled_dot_product_attention", "@ value", "@ (value / np.sqrt(value.shape[-1]))"),
        ("multi_head_attention.multi_head_attention", "@ w_output", "@ w_output / num_heads"),
    ],
)  # fmt: skip
def test_an_output_that_is_off_by_one_factor_in_each_case_is_told_so(labs, key, old, new):
    lab = next(lab for lab in labs.values() if key in lab.exercises)
    right = lab.solution_texts[key.partition(".")[2]]
    assert old in right
    verdict = verdict_on(labs, key, right.replace(old, new))
    (said,) = [each.sentence for each in verdict.symptoms if each.name == "factor that varies"]
    assert said.startswith("`output` is a multiple of what is expected, but the factor varies:")


def at_other_shapes(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """What code would give that raises the same exceptions about arrays of other sizes."""

    def larger(found: re.Match) -> str:
        return str(int(found.group()) + 1)

    return [
        replace(
            outcome, problem=replace(outcome.problem, message=re.sub(r"\d+", larger, outcome.problem.message))
        )
        for outcome in outcomes
    ]


@pytest.mark.slow
def test_a_mistake_that_raises_in_every_case_is_recognised_at_its_own_shapes_only(labs):
    tried = []
    for lab in labs.values():
        for key, exercise in lab.exercises.items():
            expected = load_expected(lab.release_folder / FILE_NAME, key, exercise)
            for misconception, wrongly in expected.misconceptions.items():
                problems = [outcome.problem for outcome in wrongly]
                if all(
                    problem and re.search(r"shapes? .*\d|size \d", problem.message) for problem in problems
                ):
                    verdict = compare(exercise, wrongly, expected)
                    found = (*verdict.recognised, *verdict.possible)
                    assert misconception.name in [each.name for each in found]
                    elsewhere = compare(exercise, at_other_shapes(wrongly), expected)
                    assert elsewhere.recognised == elsewhere.possible == ()
                    tried.append(misconception.name)
    assert len(tried) > 5
