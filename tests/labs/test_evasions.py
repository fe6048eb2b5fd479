"""No ready-made function or class earns an exercise's points in disguise: the reader of the source or the witness at work finds it.

The other way round, no right solution is accused, and watching costs little.
"""

from __future__ import annotations

import linecache
import sys
import types
from collections.abc import Iterator

import numpy as np
import pytest
from project import LABS

from course_utils.checking import outcome as outcomes_module
from course_utils.checking.bypass import uses_of
from course_utils.checking.comparison import Verdict, compare
from course_utils.checking.exercise import PUBLIC_SEED, Case, Exercise, find_exercise
from course_utils.checking.expected import FILE_NAME, Expected, load_expected
from course_utils.checking.outcome import decode, encode, try_exercise
from course_utils.checking.ready_made import names_of, works_of
from course_utils.checking.witness import Seen, watching

EVASIONS = {
    ("start_here.softmax", "tensor method"): """
import torch
def softmax(scores, axis=-1):
    return torch.as_tensor(scores, dtype=torch.float64).softmax(axis).numpy()
""",
    ("start_here.softmax", "scipy log_softmax"): """
import numpy as np
from scipy.special import log_softmax
def softmax(scores, axis=-1):
    return np.exp(log_softmax(scores, axis=axis))
""",
    ("start_here.softmax", "scipy logsumexp"): """
import numpy as np
from scipy.special import logsumexp
def softmax(scores, axis=-1):
    return np.exp(scores - logsumexp(scores, axis=axis, keepdims=True))
""",
    ("start_here.softmax", "softmin"): """
import torch
import torch.nn.functional as F
def softmax(scores, axis=-1):
    return F.softmin(-torch.as_tensor(scores, dtype=torch.float64), dim=axis).numpy()
""",
    ("start_here.softmax", "sklearn"): """
import numpy as np
from sklearn.utils.extmath import softmax as ready
def softmax(scores, axis=-1):
    x = np.moveaxis(np.asarray(scores, float), axis, -1)
    return np.moveaxis(ready(x.reshape(-1, x.shape[-1])).reshape(x.shape), -1, axis)
""",
    ("start_here.softmax", "Categorical"): """
import torch
def softmax(scores, axis=-1):
    x = torch.as_tensor(scores, dtype=torch.float64).movedim(axis, -1)
    return torch.distributions.Categorical(logits=x).probs.movedim(-1, axis).numpy()
""",
    ("start_here.softmax", "private path of a declared name"): """
from scipy.special._logsumexp import softmax as s
def softmax(scores, axis=-1):
    return s(scores, axis=axis)
""",
    ("start_here.softmax", "__getattribute__"): """
import scipy.special
def softmax(scores, axis=-1):
    return scipy.special.__getattribute__('softmax')(scores, axis=axis)
""",
    ("start_here.softmax", "object.__getattribute__"): """
import scipy.special
def softmax(scores, axis=-1):
    return object.__getattribute__(scipy.special, 'softmax')(scores, axis=axis)
""",
    ("start_here.softmax", "computed getattr"): """
import scipy.special
def softmax(scores, axis=-1):
    return getattr(scipy.special, 'soft' + 'max')(scores, axis=axis)
""",
    ("start_here.softmax", "exec"): """
def softmax(scores, axis=-1):
    names = {}
    exec('from scipy.special import soft' + 'max as s', names)
    return names['s'](scores, axis=axis)
""",
    ("start_here.softmax", "methodcaller"): """
import operator, torch
def softmax(scores, axis=-1):
    return operator.methodcaller('softmax', axis)(torch.as_tensor(scores, dtype=torch.float64)).numpy()
""",
    ("start_here.softmax", "log_softmax method"): """
import torch
def softmax(scores, axis=-1):
    return torch.tensor(scores, dtype=torch.float64).log_softmax(axis).exp().numpy()
""",
    ("start_here.softmax", "logsumexp method"): """
import torch
def softmax(scores, axis=-1):
    x = torch.tensor(scores, dtype=torch.float64)
    return (x - x.logsumexp(axis, keepdim=True)).exp().numpy()
""",
    ("start_here.softmax", "aten op"): """
import torch
def softmax(scores, axis=-1):
    x = torch.tensor(scores, dtype=torch.float64)
    return torch.ops.aten._softmax.default(x, axis, False).numpy()
""",
    ("start_here.softmax", "torch._softmax"): """
import torch
def softmax(scores, axis=-1):
    return torch._softmax(torch.tensor(scores, dtype=torch.float64), axis, False).numpy()
""",
    ("start_here.softmax", "gradient of logsumexp"): """
import torch
def softmax(scores, axis=-1):
    x = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
    torch.logsumexp(x, axis).sum().backward()
    return x.grad.numpy()
""",
    ("start_here.softmax", "gradient of cross entropy"): """
import torch
def softmax(scores, axis=-1):
    x = torch.tensor(scores, dtype=torch.float64).movedim(axis, -1)
    flat = x.reshape(-1, x.shape[-1]).clone().requires_grad_()
    y = torch.zeros(len(flat), dtype=torch.long)
    torch.nn.functional.cross_entropy(flat, y, reduction='sum').backward()
    g = flat.grad.clone(); g[:, 0] += 1
    return g.reshape(x.shape).movedim(-1, axis).numpy()
""",
    ("start_here.softmax", "attention with an identity"): """
import torch, torch.nn.functional as F
def softmax(scores, axis=-1):
    x = torch.tensor(scores, dtype=torch.float64).movedim(axis, -1)
    n = x.shape[-1]
    e = torch.eye(n, dtype=x.dtype)
    q = x.reshape(-1, n)
    return F.scaled_dot_product_attention(q, e, e, scale=1.0).reshape(x.shape).movedim(-1, axis).numpy()
""",
    ("start_here.softmax", "traced"): """
import torch
def last(t):
    return t.softmax(-1)
last.__module__ = __name__
fast = torch.jit.trace(last, torch.ones(2, dtype=torch.float64))
def softmax(scores, axis=-1):
    return fast(torch.tensor(scores, dtype=torch.float64).movedim(axis, -1)).movedim(-1, axis).numpy()
""",
    ("start_here.softmax", "partial"): """
import functools, torch
ready = functools.partial(torch.softmax)
def softmax(scores, axis=-1):
    return ready(torch.tensor(scores, dtype=torch.float64), axis).numpy()
""",
    ("start_here.softmax", "module"): """
import torch
def softmax(scores, axis=-1):
    layers = [getattr(torch.nn, 'Softm' + 'ax')(axis)]
    return torch.nn.Sequential(*layers)(torch.tensor(scores, dtype=torch.float64)).numpy()
""",
    ("start_here.softmax", "LogSoftmax"): """
import torch
def softmax(scores, axis=-1):
    return torch.nn.LogSoftmax(axis)(torch.tensor(scores, dtype=torch.float64)).exp().numpy()
""",
    ("start_here.softmax", "Tensor in a dict"): """
import torch
TOOLS = {'f': torch.Tensor.softmax}
def softmax(scores, axis=-1):
    return TOOLS['f'](torch.tensor(scores, dtype=torch.float64), axis).numpy()
""",
    ("start_here.softmax", "globals"): """
from scipy.special import *
from scipy.special import softmax as zz
def softmax(scores, axis=-1):
    return globals()['z' + 'z'](scores, axis=axis)
""",
    ("start_here.softmax", "keras backend"): """
import keras
def softmax(scores, axis=-1):
    import numpy as np
    return np.array(keras.src.backend.nn.softmax(keras.ops.convert_to_tensor(np.asarray(scores, float)), axis=axis))
""",
    ("start_here.softmax", "tf raw op"): """
import tensorflow as tf, numpy as np
def softmax(scores, axis=-1):
    x = np.moveaxis(np.asarray(scores, float), axis, -1)
    return np.moveaxis(tf.raw_ops.Softmax(logits=tf.constant(x)).numpy(), -1, axis)
""",
    ("start_here.softmax", "tf logsumexp"): """
import tensorflow as tf
def softmax(scores, axis=-1):
    x = tf.constant(scores, tf.float64)
    return tf.exp(x - tf.reduce_logsumexp(x, axis=axis, keepdims=True)).numpy()
""",
    ("start_here.softmax", "course module, computed"): """
import course_utils
import importlib
def softmax(scores, axis=-1):
    return vars(importlib.import_module('course_utils.' + 'maths'))['softmax'](scores, axis)
""",
    ("self_attention.scaled_dot_product_attention", "sdpa by computed name"): """
import torch
def scaled_dot_product_attention(query, key, value, mask=None):
    t = [torch.tensor(x) for x in (query, key, value)]
    m = None if mask is None else torch.tensor(mask)
    f = getattr(torch._C._nn, 'scaled_dot_product_' + 'attention')
    out = f(*t, attn_mask=m)
    eye = torch.eye(t[1].shape[-2], dtype=t[0].dtype).expand(*t[1].shape[:-2], -1, -1)
    return out.numpy(), f(t[0], t[1], eye, attn_mask=m).numpy()
""",
    ("self_attention.attend_one_word", "course sdpa, exec"): """
import numpy as np
import importlib
def attend_one_word(x, position, w_query, w_key, w_value):
    f = getattr(importlib.import_module('course_utils.' + 'maths'), 'scaled_dot_product_' + 'attention')
    r = f(x[[position]] @ w_query, x @ w_key, x @ w_value)
    return (r[0][0], r[1][0])
""",
    ("transformer_pytorch.layer_norm", "method of module"): """
import torch
def layer_norm(x, gamma, beta, eps=1e-6):
    f = getattr(torch, 'native_layer' + '_norm')
    return f(x, [x.shape[-1]], gamma, beta, eps)[0]
""",
    ("transformer_pytorch.layer_norm", "group norm"): """
import torch
def layer_norm(x, gamma, beta, eps=1e-6):
    y = torch.nn.functional.group_norm(x.reshape(-1, x.shape[-1]), 1, eps=eps)
    return y.reshape(x.shape) * gamma + beta
""",
    ("transformer_pytorch.layer_norm", "batch norm"): """
import torch
def layer_norm(x, gamma, beta, eps=1e-6):
    y = torch.batch_norm(x.reshape(-1, x.shape[-1]).T, None, None, None, None, True, 0.1, eps, False).T
    return y.reshape(x.shape) * gamma + beta
""",
    ("transformer_pytorch.layer_norm", "rms of the centred"): """
import torch
def layer_norm(x, gamma, beta, eps=1e-6):
    return torch.rms_norm(x - x.mean(-1, keepdim=True), [x.shape[-1]], eps=eps) * gamma + beta
""",
    ("language_model_and_summarizer.rms_norm", "functional by getattr"): """
import torch
def rms_norm(x, weight, eps=1e-5):
    f = getattr(torch.nn.functional, 'rms_' + 'norm')
    return f(x, (x.shape[-1],), weight, eps)
""",
    ("language_model_and_summarizer.masked_loss", "nll"): """
import torch
def masked_loss(logits, targets, ignore_id=-100):
    lp = torch.log_softmax(logits, -1)
    return torch.ops.aten.nll_loss_nd(lp.reshape(-1, lp.shape[-1]), targets.reshape(-1), None, 1, ignore_id)
""",
    ("start_here.softmax", "pipeline softmax"): """
import numpy as np
def softmax(scores, axis=-1):
    from transformers.pipelines.text_classification import softmax as s
    return np.moveaxis(s(np.moveaxis(scores, axis, -1)), -1, axis)
""",
}
"""(exercise, what is tried) -> a cell that lets something ready-made do the work."""

_OF_KERAS = ("keras backend", "tf raw op", "tf logsumexp")


def evasions() -> Iterator:
    for key, name in EVASIONS:
        marks = [pytest.mark.slow] if name in _OF_KERAS else []
        yield pytest.param(key, name, marks=marks, id=name)


def run(source: str, name: str) -> dict:
    """The names that a cell defines, with its lines where a traceback finds them."""
    file = f"<cell: {name}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    namespace: dict = {"__name__": "__main__"}
    exec(compile(source, file, "exec"), namespace)
    return namespace


def judged(labs, key: str, source: str, name: str = "") -> tuple[Verdict, Verdict]:
    """The verdict on a cell as it is, and if nobody had looked at how it works."""
    exercise = find_exercise(key)
    namespace = run(source, name or key)
    outcomes = try_exercise(exercise, key, namespace[exercise.name], PUBLIC_SEED, namespace)
    (lab,) = (lab for lab in labs.values() if lab.slug == key.partition(".")[0])
    expected = load_expected(lab.release_folder / FILE_NAME, key, exercise)
    uses = uses_of(exercise, lab.exercises.values(), [source])
    unseen = [type(each)(each.runs, each.problem, each.changed_inputs) for each in outcomes]
    return compare(exercise, outcomes, expected, uses), compare(exercise, unseen, expected)


@pytest.mark.parametrize("key, name", evasions())
def test_work_done_by_something_ready_made_earns_nothing(labs, key, name):
    verdict, unseen = judged(labs, key, EVASIONS[key, name].strip("\n"), name)
    assert unseen.score > 0.5  # it would have earned points
    assert verdict.score == 0 and verdict.bypass
    assert "does the work" in verdict.summary


def test_the_report_names_the_call_and_the_line(labs):
    source = EVASIONS["start_here.softmax", "tensor method"].strip("\n")
    verdict, _ = judged(labs, "start_here.softmax", source)
    (use,) = verdict.bypass
    assert (use.name, use.line) == ("torch.Tensor.softmax", 3)
    assert use.text == source.splitlines()[2].strip()
    (check,) = (check for check in verdict.checks if not check.passed)
    assert "It uses `torch.Tensor.softmax` in line 3 of its cell" in check.detail


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name > "04" else []) for name in LABS]
)
def test_no_right_solution_is_accused(labs, name):
    lab = labs[name]
    for key, exercise in lab.exercises.items():
        if not exercise.bypasses:
            continue
        known = [("the reference", lab.reference[exercise.name])]
        known += [(each.name, each.value) for each in lab.variants.get(exercise.name, ())]
        for who, attempt in known:
            outcomes = try_exercise(exercise, key, attempt, PUBLIC_SEED, lab.reference)
            assert not [seen for outcome in outcomes for seen in outcome.ready_made], (key, who)


def test_a_building_block_is_welcome_where_only_the_whole_is_not(labs):
    source = """
import torch
def scaled_dot_product_attention(query, key, value, mask=None):
    query, key, value = (torch.tensor(each) for each in (query, key, value))
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~torch.tensor(mask), -1e9)
    weights = scores.softmax(-1)
    return (weights @ value).numpy(), weights.numpy()
""".strip("\n")
    verdict, _ = judged(labs, "self_attention.scaled_dot_product_attention", source)
    assert not verdict.bypass and verdict.score > 0.5


def test_what_an_earlier_exercise_calls_costs_only_that_one():
    source = (
        "import torch\ndef earlier(x):\n    return x.softmax(-1)\ndef later(x):\n    return earlier(x) * 2"
    )
    namespace = run(source, "earlier")
    import torch

    with watching(("torch.softmax",), namespace, {"earlier"}) as witness:
        namespace["later"](torch.ones(3))
    assert witness.seen == ()
    with watching(("torch.softmax",), namespace) as witness:
        namespace["later"](torch.ones(3))
        namespace["later"](torch.ones(3))
    assert witness.seen == (Seen("torch.Tensor.softmax", 2, 3, "return x.softmax(-1)"),)


def test_watching_leaves_everything_as_it_was():
    import scipy.special
    import torch

    function = scipy.special.softmax
    code, attributes = function.__code__, dict(vars(function))
    with pytest.raises(ZeroDivisionError), watching(("scipy.special.softmax",), {}, closely=True) as witness:
        assert np.allclose(function([1.0, 1.0], axis=0), 0.5)
        assert torch.ones(2).softmax(0).tolist() == [0.5, 0.5]
        raise ZeroDivisionError
    assert [seen.count for seen in witness.seen] == [2]
    assert function.__code__ is code and vars(function) == attributes
    function([1.0])
    torch.ones(2).softmax(0)
    assert [seen.count for seen in witness.seen] == [2]


def test_nothing_is_imported_to_be_watched(monkeypatch):
    stranger = types.ModuleType("stranger")
    stranger.__getattr__ = lambda name: pytest.fail(f"asked for {name}")
    monkeypatch.setitem(sys.modules, "stranger", stranger)
    with watching(("stranger.part.softmax", "nowhere.at_all.softmax"), {}) as witness:
        pass
    assert witness.seen == ()


def test_nothing_is_watched_where_nothing_is_declared(monkeypatch):
    exercise = Exercise("f", ("y",), (Case("one", lambda rng: {"x": rng.normal(size=3)}),))
    monkeypatch.setattr("course_utils.checking.witness._watched", lambda *_: pytest.fail("watched"))
    (outcome,) = try_exercise(exercise, "none.f", lambda x: x, 1)
    assert outcome.ready_made == ()


def test_what_was_seen_travels_as_data_and_counts_in_the_judges_process():
    exercise = Exercise(
        "f", ("y",), (Case("one", lambda rng: {"x": rng.normal(size=3)}),), bypasses=("torch.softmax",)
    )
    (outcome,) = try_exercise(exercise, "none.f", lambda x: x, 1)
    payload = encode([outcome])
    payload[0]["ready_made"] = [["torch.softmax", 3, 0, ""]]
    (arrived,) = decode(payload, 1)
    assert arrived.ready_made == (Seen("torch.softmax", 3),)
    inputs = (tuple(exercise.cases[0].runs("none.f", 1)),)
    expected = Expected(inputs, (outcome,))
    assert compare(exercise, [outcome], expected).correct
    verdict = compare(exercise, [arrived], expected)
    assert verdict.score == 0
    assert "(seen while the cases ran)" in verdict.checks[-1].detail


@pytest.mark.parametrize(
    "seen",
    [None, {}, [[]], [["name", "1", 0, ""]], [["name", 1, -1, ""]], [["name", True, 0, ""]], [[1, 1, 1, ""]], [["n", 1, 0, ""]] * 65],
)  # fmt: skip
def test_a_forged_report_of_what_was_seen_is_refused(seen):
    payload = encode([outcomes_module.Outcome()])
    payload[0]["ready_made"] = seen
    with pytest.raises(ValueError):
        decode(payload, 1)


def test_the_declared_names_come_first_and_bring_those_that_do_the_same():
    names = names_of(("keras.ops.softmax", "scipy.stats.bootstrap"))
    assert names[:2] == ("keras.ops.softmax", "scipy.stats.bootstrap")
    assert "scipy.special.log_softmax" in names
    assert len(set(names)) == len(names)
    assert len(works_of(("keras.ops.softmax", "scipy.stats.bootstrap"))) == 2
