"""What a learner's code did on one case, as plain arrays, and how these are obtained and sent.

:func:`try_case` is the only place where learner code is called. It runs in the learner's process, which
produces arrays and never judges them. :func:`encode` and :func:`decode` carry them to the process that judges, as bytes, dtype
and shape. Nothing is pickled, so decoding cannot run anything.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import io
import math
import sys
import traceback
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from course_utils.checking.bypass import judged_elsewhere
from course_utils.checking.chance import fixed
from course_utils.checking.exercise import Case, Exercise, Inputs, NoGradient, exercises_of
from course_utils.checking.time_limit import TooSlow, time_limit
from course_utils.checking.witness import MAX_LINE, MAX_NAME, Seen, watching
from course_utils.checking.wording import reason_in_a_graph

OUTCOME_MIME = "application/vnd.transformer-labs.outcome+json"
"""MIME type of the bundle that a check cell publishes when a notebook is graded."""

MAX_ARRAY_BYTES = 16 * 2**20
MAX_TEXT = 2_000
MOST_RUNS = 16
_DTYPES = {
    f"{kind}{size}" for kind, sizes in {"i": "1248", "u": "1248", "f": "248"}.items() for size in sizes
}
_DTYPES.add("b1")


@dataclass(frozen=True)
class Problem:
    """Why a case has no output: ``kind`` is one of KINDS, ``where`` quotes the learner's own line, ``run`` is the number of the run
    that it came up in, counted from 0. It is the same problem in whichever run it came up.
    """

    kind: str
    message: str
    where: str = ""
    run: int = field(default=0, compare=False)

    KINDS = ("undefined", "stub", "type", "gradient", "exception", "slow", "missing")


@dataclass(frozen=True)
class Outcome:
    """Arrays of each run by name, or the problem that prevented them.

    ``ready_made`` is what :mod:`course_utils.checking.witness` saw at work of what the exercise does not want.
    """

    runs: tuple[dict[str, np.ndarray], ...] = ()
    problem: Problem | None = None
    changed_inputs: tuple[str, ...] = ()
    printed: str = field(default="", compare=False)
    ready_made: tuple[Seen, ...] = field(default=(), compare=False)


def try_case(
    exercise: Exercise, case: Case, key: str, learner: Any, seed: int, namespace: Any = None
) -> Outcome:
    """Calls the learner's object on every run of a case. Never raises for what learner code does.

    Args:
        key: the exercise's full key, which seeds the case's random stream.
        namespace: globals of the notebook, to find the learner's own line in a traceback.
    """
    printed = io.StringIO()

    def failed(kind: str, message: str, where: str = "") -> Outcome:
        return Outcome(
            problem=Problem(kind, message, where, len(runs)), printed=printed.getvalue()[:MAX_TEXT]
        )

    runs: list[dict[str, np.ndarray]] = []

    all_inputs = case.runs(key, seed)
    watched = watching(
        exercise.bypasses, namespace, _judged_elsewhere(exercise, key), closely=case is exercise.cases[0]
    )
    handed_over = [copy.deepcopy(dict(inputs)) for inputs in all_inputs]
    try:
        with (
            _quiet(printed),
            fixed(seed, key, case.title),
            watched as witness,
            time_limit(exercise.seconds),
        ):
            for inputs, before in zip(handed_over, all_inputs, strict=True):
                arrays = _named_arrays(exercise.call(learner, inputs), exercise)
                runs.append(arrays | _gradients(exercise, case, learner, before))
    except _WrongType as error:
        return failed("type", str(error))
    except NoGradient as error:
        return failed("gradient", str(error))
    except TooSlow as error:
        return failed("slow", str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, asyncio.CancelledError and the like, too
        problem = _problem_of(error, namespace)
        return failed(problem.kind, problem.message, problem.where)
    changed = dict.fromkeys(
        name
        for before, after in zip(all_inputs, handed_over, strict=True)
        for name, value in before.items()
        if not _same(value, after.get(name))
    )
    return Outcome(
        tuple(runs),
        changed_inputs=tuple(changed),
        printed=printed.getvalue()[:MAX_TEXT],
        ready_made=witness.seen,
    )


def _judged_elsewhere(exercise: Exercise, key: str) -> frozenset[str]:
    if not exercise.bypasses or not exercise.uses:
        return frozenset()
    try:
        return judged_elsewhere(exercise, exercises_of(key.partition(".")[0]).values())
    except LookupError:  # an exercise of no lab
        return frozenset()


def _gradients(exercise: Exercise, case: Case, learner: Any, inputs: Inputs) -> dict[str, np.ndarray]:
    """What arrives where the case says that gradients arrive; nothing if it says nothing of them."""
    if not case.reaches:
        return {}
    found = exercise.backward(learner, copy.deepcopy(dict(inputs)), case.reaches)
    return {name: _array(value, name) for name, value in found.items()}


def try_exercise(
    exercise: Exercise, key: str, learner: Any, seed: int, namespace: Any = None
) -> list[Outcome]:
    """One outcome per case. Stops early if no further case can do better (untouched stub, too slow)."""
    outcomes: list[Outcome] = []
    for case in exercise.cases:
        if outcomes and (problem := outcomes[-1].problem) and problem.kind in ("stub", "slow"):
            outcomes.append(Outcome(problem=problem))
            continue
        outcomes.append(try_case(exercise, case, key, learner, seed, namespace))
    return outcomes


# ---------------------------------------------------------------------------------- from values to arrays


class _WrongType(Exception):
    pass


def _named_arrays(value: Any, exercise: Exercise) -> dict[str, np.ndarray]:
    names = exercise.returns
    if value is None:
        what = f"`{names[0]}`" if len(names) == 1 else ", ".join(f"`{name}`" for name in names)
        raise _WrongType(
            f"It returned None; expected {what}. Does every branch of the code end in a `return` with a value?"
        )
    if exercise.as_dict:
        if not isinstance(value, Mapping):
            raise _WrongType(
                f"It returned one {type(value).__name__}; expected a dict with the keys {', '.join(names)}."
            )
        missing = [name for name in names if name not in value]
        if missing:
            raise _WrongType(
                f"The returned dict has no key {missing[0]!r}; expected keys: {', '.join(names)}."
            )
        return {name: _array(value[name], name) for name in names}
    if len(names) == 1:
        if isinstance(value, tuple) and len(value) > 1:
            raise _WrongType(f"It returned {len(value)} values; expected just `{names[0]}`.")
        return {names[0]: _array(value, names[0])}
    if not isinstance(value, (tuple, list)) or len(value) != len(names):
        got = (
            f"{len(value)} value{'s' * (len(value) != 1)}"
            if isinstance(value, (tuple, list))
            else f"one {type(value).__name__}"
        )
        raise _WrongType(f"It returned {got}; expected {len(names)}: ({', '.join(names)}).")
    return {name: _array(part, name) for name, part in zip(names, value, strict=True)}


def _array(value: Any, name: str) -> np.ndarray:
    """A copy of what came back, as a plain array. Values are kept as they are; other forms of them are refused in a sentence."""
    if value is None:
        raise _WrongType(f"`{name}` is None; expected an array of numbers.")
    if isinstance(value, (list, tuple)):
        raise _WrongType(f"`{name}` is a Python {type(value).__name__}; make it an array with np.array(...).")
    try:
        array = np.array(
            _in_memory(value, name)
        )  # of the base class: later changes by the learner do not affect it
    except (_WrongType, TooSlow, KeyboardInterrupt):
        raise
    except BaseException:  # of an object of the learner's own, say
        raise _WrongType(
            f"`{name}` is of type {type(value).__name__}, and no array of numbers can be made of it."
        ) from None
    if array.dtype.name in _SHORT_FLOATS:
        array = array.astype(np.float32)  # which has all of their values
    elif array.dtype.kind == "f" and array.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            array = array.astype(np.float64)
    if array.dtype.str[1:] not in _DTYPES:
        raise _WrongType(
            f"`{name}` {_NOT_NUMBERS.get(array.dtype.kind, f'is an array of {array.dtype}')}; expected numbers or booleans."
        )
    if array.nbytes > MAX_ARRAY_BYTES:
        raise _WrongType(f"`{name}` has shape {array.shape}: far larger than anything expected here.")
    return array


_SHORT_FLOATS = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e3m4")
_NOT_NUMBERS = {
    "O": "holds Python objects, such as rows of different lengths",
    "c": "holds complex numbers",
    "U": "holds texts",
    "S": "holds texts",
    "M": "holds dates",
    "m": "holds times",
}
"""What an array holds, by the kind of its dtype."""


def _in_memory(value: Any, name: str) -> Any:
    """A value as NumPy takes it: off the graph and the device, and with the values that it shows."""
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.getmaskarray(value).any():
            raise _WrongType(
                f"`{name}` is a masked array, and some of its places are masked: fill them with `.filled(...)`."
            )
        return value.data
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise _WrongType(f"`{name}` is a whole number of more than 64 bits.")
    if isinstance(value, (np.ndarray, np.generic, bool, int, float)):
        return value
    torch = sys.modules.get("torch")
    if torch and isinstance(value, getattr(torch, "Tensor", ())):
        return _of_torch(torch, value, name)
    if not hasattr(
        value, "numpy"
    ):  # TensorFlow's tensors and Keras's variables have it; symbolic ones do not
        raise _WrongType(f"`{name}` is of type {type(value).__name__}; expected an array of numbers.")
    found = value.numpy()
    if not isinstance(found, (np.ndarray, np.generic, bool, int, float)):
        raise _WrongType(f"`{name}` is of type {type(value).__name__}; expected an array of numbers.")
    return found


def _of_torch(torch: Any, value: Any, name: str) -> np.ndarray:
    if value.is_nested or value.layout != torch.strided:
        kind = "nested" if value.is_nested else "sparse" if "sparse" in str(value.layout) else "mkldnn"
        cure = "" if value.is_nested else ": return it as `.to_dense()`"
        raise _WrongType(f"`{name}` is a {kind} tensor; expected an ordinary (dense) one{cure}.")
    if value.is_quantized:
        raise _WrongType(
            f"`{name}` is a quantised tensor; expected ordinary numbers: return it as `.dequantize()`."
        )
    if value.is_meta:
        raise _WrongType(f"`{name}` is on the device `meta`, where tensors have a shape but no values.")
    value = value.detach().cpu().resolve_conj().resolve_neg()
    if str(value.dtype).removeprefix("torch.") in _SHORT_FLOATS:
        value = value.float()
    return value.numpy()


def _same(before: Any, after: Any) -> bool:
    """Whether learner code has left ``after``, its copy of an input, equal to ``before``. Never raises.

    Lists, tuples, dicts and sets are compared to any depth. Arrays and tensors are the same if dtype, shape and values are, and
    numbers if type and value are. NaN equals NaN. The order in a dict does not matter. For any other
    object (a tokenizer, a scripted model, a generator) only the type counts: using such an object may change
    its internal state, and that is not a mistake.
    """
    try:
        return _unchanged(before, after)
    except Exception:  # a tensor whose memory is gone, say
        return False


def _unchanged(before: Any, after: Any) -> bool:
    """Like :func:`_same`, but may raise.

    ``after`` is not asked anything until its type is known to be that of ``before``, which belongs to the check. So an
    object of a learner's that claims to be equal to everything is never asked. It goes no deeper than ``before`` does.
    """
    if type(after) is not type(before):
        return False
    if isinstance(before, (type(None), bool, int, float, complex, str, bytes)):
        return before == after or (before != before and after != after)
    if isinstance(before, (list, tuple)):
        return len(before) == len(after) and all(map(_unchanged, before, after))
    if isinstance(before, dict):
        return _unchanged_in_any_order(before.items(), after.items())
    if isinstance(before, (set, frozenset)):
        return _unchanged_in_any_order(before, after)
    if hasattr(before, "shape") and hasattr(before, "dtype"):  # of NumPy, PyTorch, TensorFlow
        if before.shape != after.shape or before.dtype != after.dtype:
            return False
        return bool(np.asarray((before == after) | ((before != before) & (after != after))).all())
    return True


def _unchanged_in_any_order(before: Collection, after: Collection) -> bool:
    """The same for a collection without an order. Nothing is looked up by a learner's key: that would run its ``__eq__``."""
    return len(before) == len(after) and (
        all(map(_unchanged, before, after))
        or all(any(_unchanged(one, other) for other in after) for one in before)
    )


def _problem_of(error: BaseException, namespace: Any) -> Problem:
    # what a stub raises; a library that cannot do something says what
    where, unfinished = "", isinstance(error, NotImplementedError) and not error.args
    trace = error.__traceback__
    for (frame, line), entry in zip(traceback.walk_tb(trace), traceback.extract_tb(trace), strict=True):
        if namespace is not None and frame.f_globals is namespace:  # the innermost line of the learner's own
            where = f"{frame.f_code.co_qualname}, line {line} of its cell: {entry.line}"[:MAX_TEXT]
    if unfinished:
        return Problem("stub", "A part has not been written yet.", where)
    try:
        text = reason_in_a_graph(str(error))[:MAX_TEXT]
    except Exception:  # even its text may come from the learner's code
        text = ""
    return Problem("exception", f"{type(error).__name__}: {text}" if text else type(error).__name__, where)


# ---------------------------------------------------------------------------------- quiet calls


@contextlib.contextmanager
def _quiet(printed: io.StringIO) -> Iterator[None]:
    """Keeps printed text for the report, and drops warnings: neither may ever cost a point."""
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


# ---------------------------------------------------------------------------------- over the wire


def encode(outcomes: list[Outcome]) -> list[dict]:
    """JSON-ready form of an exercise's outcomes."""
    return [
        {
            "runs": [{name: _pack(array) for name, array in run.items()} for run in outcome.runs],
            "problem": outcome.problem
            and [outcome.problem.kind, outcome.problem.message, outcome.problem.where, outcome.problem.run],
            "changed_inputs": list(outcome.changed_inputs),
        }
        | _packed(outcome.ready_made)
        for outcome in outcomes
    ]


def decode(payload: Any, n_cases: int) -> list[Outcome]:
    """Reads what :func:`encode` wrote. Nothing about it is trusted.

    Raises:
        ValueError: something is not exactly in the form that ``encode`` writes.
    """
    if not isinstance(payload, list) or len(payload) != n_cases:
        raise ValueError("not one outcome a case")
    return [_decode_one(entry) for entry in payload]


def _decode_one(entry: Any) -> Outcome:
    if not isinstance(entry, dict) or set(entry) - {"ready_made"} != {"runs", "problem", "changed_inputs"}:
        raise ValueError("an outcome has other fields")
    runs, problem, changed = entry["runs"], entry["problem"], entry["changed_inputs"]
    if not isinstance(runs, list) or len(runs) > MOST_RUNS:
        raise ValueError("runs are not a short list")
    if not all(isinstance(run, dict) and len(run) <= 16 for run in runs):
        raise ValueError("runs are not short dicts")
    if (
        not isinstance(changed, list)
        or not all(isinstance(name, str) for name in changed)
        or len(changed) > 64
    ):
        raise ValueError("changed_inputs are not names")
    if problem is not None:
        if (
            not isinstance(problem, list)
            or [type(part) for part in problem] != [str, str, str, int]
            or not 0 <= problem[3] < MOST_RUNS
        ):
            raise ValueError("a problem is not three texts and the number of a run")
        if problem[0] not in Problem.KINDS:
            raise ValueError("unknown kind of problem")
        if runs:
            raise ValueError("a case has both a problem and an output")
        problem = Problem(problem[0], _text(problem[1], MAX_TEXT), _text(problem[2], MAX_TEXT), problem[3])
    arrays = tuple({_text(name, 100): _unpack(packed) for name, packed in run.items()} for run in runs)
    return Outcome(
        arrays,
        problem,
        tuple(_text(name, 100) for name in changed),
        ready_made=_seen(entry.get("ready_made", [])),
    )


def _seen(entries: Any) -> tuple[Seen, ...]:
    if not isinstance(entries, list) or len(entries) > 64:
        raise ValueError("what was seen is not a short list")
    for entry in entries:
        if not isinstance(entry, list) or [type(part) for part in entry] != [str, int, int, str]:
            raise ValueError("something seen is not a name, a count, a line and its text")
        if not all(0 <= number < 2**31 for number in entry[1:3]):
            raise ValueError("a count or a line is out of range")
    return tuple(
        Seen(_text(name, MAX_NAME), count, line, _text(text, MAX_LINE)) for name, count, line, text in entries
    )


def _packed(ready_made: Sequence[Seen]) -> dict[str, list]:
    """What was seen, if anything was."""
    seen = [[each.name, each.count, each.line, each.text] for each in ready_made]
    return {"ready_made": seen} if seen else {}


def _text(text: str, size: int) -> str:
    """At most ``size`` characters that can be written to a file: JSON may contain half a surrogate pair, UTF-8 may not."""
    return text[:size].encode("utf-8", "replace").decode("utf-8")


def _pack(array: np.ndarray) -> list:
    little_endian = array.astype(array.dtype.newbyteorder("<"))
    data = base64.b64encode(little_endian.tobytes()).decode("ascii")
    return [array.dtype.str[1:], list(array.shape), data]


def _unpack(packed: Any) -> np.ndarray:
    if not isinstance(packed, list) or len(packed) != 3:
        raise ValueError("an array is not dtype, shape and data")
    dtype, shape, data = packed
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise ValueError("unknown dtype")
    if (
        not isinstance(shape, list)
        or len(shape) > 16
        or not all(type(n) is int and 0 <= n < 2**31 for n in shape)
    ):
        raise ValueError("a shape is not a short list of sizes")
    size = math.prod(shape) * int(dtype[1:])
    if not isinstance(data, str) or size > MAX_ARRAY_BYTES or len(data) > size * 4 // 3 + 4:
        raise ValueError("an array is too large")
    raw = base64.b64decode(data.encode("ascii", "strict"), validate=True)
    return np.frombuffer(raw, np.dtype("<" + dtype)).reshape(shape)  # ValueError where the sizes do not fit
