"""What the stubs of labs 07 and 08 promise is looked at by their checks: the defaults, what is forbidden, and edges that no misconception has.

The catalogue proves that mistakes with a name are found. Here are kinds of mistakes that need none, because the check's own words say enough.
"""

from __future__ import annotations

import inspect
from functools import cache
from types import FunctionType
from typing import Any

import pytest
import torch

from course_utils.checking.comparison import compare
from course_utils.checking.exercise import PUBLIC_SEED
from course_utils.checking.expected import Expected
from grader.catalogue import run_cell
from grader.reference.lab import Lab

TEXTS, WRITER = "07_text_classification", "08_language_model_and_summarizer"
ENTITIES, OWN = "09_named_entity_recognition", "13_your_own_dataset"

SEEDS = (PUBLIC_SEED, 1, 5)


def scores(lab: Lab, name: str, learner: Any) -> list[float]:
    """What an implementation earns at each seed."""
    key = f"{lab.slug}.{name}"
    return [
        compare(lab.exercises[key], lab.outcomes(key, learner, seed), wanted(lab, key, seed)).score
        for seed in SEEDS
    ]


@cache
def wanted(lab: Lab, key: str, seed: int) -> Expected:
    exercise = lab.exercises[key]
    inputs = tuple(case.runs(key, seed) for case in exercise.cases)
    return Expected(inputs, lab.outcomes(key, lab.reference[exercise.name], seed))


def changed(lab: Lab, name: str, old: str, new: str) -> Any:
    """The reference with one piece of its text replaced."""
    text, names = lab.solution_texts[name], dict(lab.reference)
    assert text.count(old) == 1, f"{name}: {old!r} is there {text.count(old)} times"
    run_cell(text.replace(old, new), f"<{name}, {new}>", names)
    return names[name]


# ---------------------------------------------------------------------------------- defaults

ANOTHER = {
    "pad_id": 1, "ignore_id": -1, "temperature": 0.7, "top_k": 4, "top_p": 0.9, "eps": 1e-6, "rotary_base": 1e5,
    "threshold": 1_000, "bins": 15, "dropout_rate": 0.1, "num_heads": 2, "learning_rate": 3e-4, "use_positions": False,
}  # fmt: skip
"""What somebody might take for the usual value of an argument, and is not. (None and sizes are left out: they show in all else.)"""


def defaults() -> list:
    """Exercise, argument: all arguments in :data:`ANOTHER` that an exercise has."""
    slow = [pytest.mark.slow]  # Keras makes the variables of each layer anew
    return [
        *((WRITER, name, argument) for name, *arguments in (
            ("shift_targets", "pad_id", "ignore_id"), ("masked_loss", "ignore_id"), ("DecoderBlock", "dropout_rate"),
            ("GPT", "dropout_rate"), ("sampling_probabilities", "temperature", "top_k", "top_p"),
            ("summary_features", "ignore_id"), ("rms_norm", "eps"), ("attend_with_cache", "rotary_base"),
        ) for argument in arguments),
        (TEXTS, "samples_per_length", "threshold"),
        (TEXTS, "calibration_error", "bins"),
        pytest.param(TEXTS, "PositionalEmbedding", "use_positions", marks=slow),
        *(pytest.param(TEXTS, "build_classifier", argument, marks=slow)
          for argument in ("dropout_rate", "num_heads", "learning_rate", "use_positions")),
    ]  # fmt: skip


@pytest.mark.parametrize("lab, name, argument", defaults())
def test_another_default_loses_points(labs, lab, name, argument):
    learner = changed_default(labs[lab].reference[name], argument)
    assert max(scores(labs[lab], name, learner)) < 1


def changed_default(learner: Any, argument: str) -> Any:
    """A function, or a class whose constructor is meant, with another default of one argument."""
    own = learner.__init__ if isinstance(learner, type) else learner
    usual = {
        name: each.default
        for name, each in inspect.signature(own).parameters.items()
        if each.default is not each.empty
    }
    assert usual[argument] != ANOTHER[argument]
    usual[argument] = ANOTHER[argument]
    other = FunctionType(own.__code__, own.__globals__, own.__name__, tuple(usual.values()), own.__closure__)
    if not isinstance(learner, type):
        return other
    return type(learner.__name__, (learner,), {"__init__": other, "__module__": learner.__module__})


def test_every_default_that_may_be_another_one_is_tried(labs):
    tried = {tuple(getattr(each, "values", each)) for each in defaults()}
    for lab in (TEXTS, WRITER):
        for exercise in labs[lab].exercises.values():
            learner = labs[lab].reference[exercise.name]
            own = learner.__init__ if isinstance(learner, type) else learner
            for argument in inspect.signature(own).parameters.values():
                if argument.default is not argument.empty and argument.name in ANOTHER:
                    assert (lab, exercise.name, argument.name) in tried


# ---------------------------------------------------------------------------------- what is forbidden


@pytest.mark.parametrize("name", [TEXTS, WRITER])
def test_what_an_exercise_forbids_is_told_in_its_cell(labs, name):
    for exercise in labs[name].exercises.values():
        if exercise.bypasses:
            told = [full.rpartition(".")[2] for full in exercise.bypasses]
            assert any(f"{each}`" in labs[name].solution_texts[exercise.name] for each in told), exercise.name


# ---------------------------------------------------------------------------------- edges


@pytest.mark.parametrize(
    "lab, name, old, new",
    [
        (WRITER, "shift_targets", "ids[:, 1:].clone()", "ids[:, 1:].float()"),
        (WRITER, "shift_targets", "return inputs, targets", "return inputs.squeeze(), targets.squeeze()"),
        (WRITER, "masked_loss", "targets != ignore_id", "(targets != ignore_id) & (targets != 0)"),
        (WRITER, "DecoderBlock", "x = x + self.dropout(attended)", "x = x + self.dropout(attended.detach())"),
        (WRITER, "DecoderBlock", "        # 1. Who", "        self.eval()\n        # 1. Who"),
        (WRITER, "GPT", "self.position_embedding(places)", "self.position_embedding(places).detach()"),
        (WRITER, "NGramModel", "for row in sequences:", "for row in (row for row in sequences if len(row) >= n):"),
        (WRITER, "sampling_probabilities", "if top_k is not None:", "if top_k is not None and top_k > 1:"),
        (WRITER, "summary_features", "return inputs, targets", "return inputs, [float(each) for each in targets]"),
        (WRITER, "rouge_l", "if word == other:", "if word in other:"),
        (WRITER, "rouge_l", "if word == other:", "if word.strip('.,') == other.strip('.,'):"),
        (WRITER, "rms_norm", "rsqrt(mean_square + eps)", "rsqrt(mean_square + eps).detach()"),
        (WRITER, "swiglu", "gate = x @ w_gate.T", "gate = x @ (w_gate if len(w_gate) == x.shape[-1] else w_gate.T)"),
        (WRITER, "grouped_query_attention", "(~mask,", "(~mask[None, None, : len(query[0, 0]), : len(key[0, 0])],"),
        (WRITER, "grouped_query_attention", "key.repeat_interleave", "key.detach().repeat_interleave"),
        (TEXTS, "samples_per_length", "    mean_length =", "    texts = list(set(texts))\n    mean_length ="),
        (TEXTS, "split_by_group", "share * len(groups):", "round(share * len(groups)):"),
        (TEXTS, "split_by_group", "group in chosen for group", "any(map(group.startswith, chosen)) for group"),
        (TEXTS, "bag_of_ngrams", "text.split()", "[word.strip('.') for word in text.split()]"),
        (TEXTS, "bag_of_ngrams", "text.split()", "[word for word in text.split() if not word.isdigit()]"),
        (TEXTS, "split_by_group", "group in chosen for group", "group.strip() in {each.strip() for each in chosen} for group"),
        (TEXTS, "bag_of_ngrams", "text.split()", "text.strip('.').split()"),
        (TEXTS, "masked_mean", "return ops.mean(states, axis=1)", "return ops.mean(ops.stop_gradient(states), axis=1)"),
        (TEXTS, "best_epoch", "loss < losses[best - 1]", "abs(loss) < abs(losses[best - 1])"),
        (TEXTS, "best_epoch", "epoch - best >= patience", "epoch - best >= max(patience, 2)"),
        (TEXTS, "calibration_error", "return float(error)", "return round(float(error), 2)"),
        (ENTITIES, "align_labels", "<= start < span.end)", "<= start < span.end and span.end - span.start > 1)"),
        (ENTITIES, "encode_batch", "in batch.items()}", "in batch.items() for lists in [[each[:512] for each in lists]]}"),
        (ENTITIES, "clean_entities", "return sorted(", "return sorted(span._replace(label=span.label.strip()) for span in "),
        (ENTITIES, "train_epoch", "losses.append(loss.item())", "losses.append(loss.item()); batch['input_ids'].zero_()"),
        (ENTITIES, "train_epoch", "losses.append(loss.item())", "losses.append(loss.item()); del batch['labels']"),
        (OWN, "find_leaks", "return np.array(first)", "return np.array(first, dtype=float)"),
        (OWN, "validate_rows", "+ len(answer)] != answer", "+ len(answer)].strip() != answer.strip()"),
        (OWN, "find_leaks", "text.lower().split()", "dict.fromkeys(text.lower().split())"),
        (OWN, "split_by_group", "[group in chosen for group", "[group.lower() in {each.lower() for each in chosen} for group"),
        (OWN, "embed", 'real = batch["attention_mask"]', 'real = (batch["input_ids"] != 0)'),
        (OWN, "LoRALinear", "        return layer", "        self.up.data.zero_()\n        return layer"),
        (OWN, "LoRALinear", "copy_(self.base.weight +", "copy_(vars(self).setdefault('kept', self.base.weight.clone()) +"),
        (OWN, "bootstrap_interval", "return float(low),", "return max(float(low), 0.0),"),
        (OWN, "calibration_error", "(confidence), bins)", "(confidence), min(bins, len(labels) // 2))"),
        (OWN, "model_card", 'f"{key}: {facts[key]}"', 'f"{key}:{facts[key]}"'),
        (OWN, "model_card", 'f"{key}: {facts[key]}"', 'f"{key}: {facts[key]}".lower()'),
        (OWN, "model_card", "{facts['accuracy']:.3f}", "{int(facts['accuracy'] * 1000) / 1000:.3f}"),
        (OWN, "model_card", "{facts['training_texts']}", "{facts['training_texts']:,}"),
    ],
)  # fmt: skip
def test_an_edge_that_is_got_wrong_loses_points_at_every_seed(labs, lab, name, old, new):
    assert max(scores(labs[lab], name, changed(labs[lab], name, old, new))) < 1


def test_a_limit_that_is_reached_exactly_keeps_no_further_token(labs):
    """[.5, .3, .2] at .5, in whatever way the docstring's words are followed."""
    sampling = labs[WRITER].reference["sampling_probabilities"]
    key = f"{labs[WRITER].slug}.sampling_probabilities"
    case = next(each for each in labs[WRITER].exercises[key].cases if "exactly" in each.title)
    for seed in range(20):
        inputs = case.runs(key, seed)[-1]
        for logits in (inputs["logits"], inputs["logits"].astype(float)):
            kept = sampling(torch.from_numpy(logits), top_p=inputs["top_p"]) > 0
            assert kept.sum() == 1
