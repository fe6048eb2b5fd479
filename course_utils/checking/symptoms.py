"""What can be said about a wrong output without knowing why it is wrong: sentences that are true by construction.

A sentence is about every case that fails, or it names the cases that it is about. It moves no point. Everything here
is a pure function of the outcomes and of what is expected; texts that come from learners' code are never repeated.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from course_utils.checking.checks import difference
from course_utils.checking.exercise import Exercise, Inputs
from course_utils.checking.expected import Expected
from course_utils.checking.outcome import Outcome, Problem
from course_utils.checking.wording import in_one_form


@dataclass(frozen=True)
class Symptom:
    """Something that stands out in a wrong output: its name, and a sentence in Markdown."""

    name: str
    sentence: str


_LARGE = 2**18
"""Arrays with more values than that are not looked at, unless what is expected is large too."""

MOST = 2
"""At most this many symptoms are reported."""


def symptoms_of(exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected) -> tuple[Symptom, ...]:
    """What stands out in a wrong output, the most telling first; empty if every value is right, or if nothing does."""
    failing = [
        index
        for index, (outcome, reference) in enumerate(zip(outcomes, expected.reference, strict=True))
        if difference(exercise, outcome, reference, form_only=bool(exercise.goals))
    ]
    if not failing:
        return ()
    with np.errstate(all="ignore"):
        what = _problems(exercise, outcomes, failing)
        changed = _changed(outcomes)
        if not exercise.goals:
            what += _values(exercise, outcomes, expected, failing, beside_problems=bool(what))
            what = what or _gradients(exercise, outcomes, expected, failing)
        where = _cases(exercise, outcomes, expected, failing)
    if len(failing) < len(outcomes):
        what = [_in_those_that_fail(each, len(failing)) for each in what]
    return tuple([*what, *changed, *where][:MOST])


def _in_those_that_fail(symptom: Symptom, count: int) -> Symptom:
    """A symptom of the cases that fail, beside others that are right: "everywhere" is not to be taken for all of them."""
    if "everywhere" not in symptom.sentence or symptom.sentence.startswith(("In ", "Where ")):
        return symptom
    scope = "In the case that fails" if count == 1 else "In the cases that fail"
    return Symptom(symptom.name, f"{scope}: {symptom.sentence}")


def _changed(outcomes: Sequence[Outcome]) -> list[Symptom]:
    names = dict.fromkeys(name for outcome in outcomes for name in outcome.changed_inputs)
    if len(names) != 1:
        return []
    return [
        Symptom(
            "an input changed",
            "An input is changed in place, so everything computed from it afterwards sees the changed values.",
        )
    ]


# ---------------------------------------------------------------------------------- problems


UNKNOWN_NAME = "unknown name"

_HELP = (
    ("none", r"\(type\).*returned None|is None; expected", "The result is None where a value is expected."),
    ("truth of an array", r"truth value of an array|[Tt]he truth value of|Boolean value of Tensor|`tf\.Tensor` as a Python `bool`|using a `tf\.Tensor` as",
     "An array is used as a condition (`if`, `and`, `or`, `not`). It has many values: which one should decide? To ask whether an argument was passed, compare it with `None`."),
    ("tuple for an array", r"must be Tensor, not tuple|'tuple' object has no attribute|not tuple$|tuple indices must be|unsupported operand.*tuple|can only concatenate tuple",
     "A tuple is used where an array is needed. Does something that you call return several values? Unpack them."),
    ("none used", r"'NoneType' object|must be Tensor, not NoneType|unsupported operand.*NoneType|NoneType\b",
     "None is used as if it were a value. Is it an argument or an entry of a list that may be None, or the result of a function without a `return`?"),
    (
        "another form",
        r"WrongForm(?!.*(no parameter|is no label))|it returned an? |; expected (u?int|float|bool)\d*\b",
        "What it returns does not have the form, or the kind of number, that the docstring promises.",
    ),
    ("kinds of numbers", r"expected (m1 and m2|scalar type|all tensors).*(dtype|[Ff]loat|Double|Long|Half)|same dtype|expected to be a (float|double|int|int32|int64|bool)|but (is|got) a? ?(float|double|int32|int64|bool|complex)|^(?!.*TensorSpec).*(int32.*int64|int64.*int32)|Cannot (safely )?cast|dtype.*(cast|mismatch)|not supported for the input types|[Cc]ould not be safely coerced|numpy boolean (subtract|negative)|ufunc '\w+' not supported",
     "Two incompatible number types are combined (int32 and int64, float and integer, or a boolean in a calculation). Convert one of them."),
    (
        "whole number needed",
        r"cannot be interpreted as an integer|indices must be integers|only integer|expected an integer|must be integers? or|int\(\), but got float",
        "A whole number is needed, but this is a float. `/` always gives a float; `//` divides whole numbers.",
    ),
    (
        "options by position",
        r"[Oo]nly input tensors may be passed as positional",
        "A Keras layer takes only tensors by position. Pass options, such as `training`, by name.",
    ),
    (UNKNOWN_NAME, r"NameError|UnboundLocalError", "This name is not defined at that point: it is misspelt, or only set in another branch."),
    ("unexpected argument", r"unexpected keyword argument|got multiple values|takes (from )?\d+.*positional|missing \d+ required",
     "A function is called with arguments that it does not take. Compare the call with the function's signature; the exercise's own signature must stay as it is."),
    ("attribute", r"AttributeError", "The object has no such attribute. Is it misspelt, from another library, or never set in the constructor?"),
    ("random", r"two different outputs", "The same input gives two different outputs. Either something is random, such as dropout that is always on or a layer that is made anew in every call, or a call leaves something behind: a changed input, or a result that is kept."),
    ("no gradient", r"[Nn]o gradients? (reach|provided)", "No gradient gets back to some or all of what is to be trained. Does everything on the way to the output stay a tensor, and on the tape if there is one?"),
    ("configuration", r"configuration that get_config gives lacks", "The configuration lacks something that is needed to make the same again. What does Keras's own hold, and what did the constructor get?"),
    ("weights", r"WrongModule|WrongLayer|WrongWeights|no parameter|its parameters are|has no weight|there is a weight|its weights have the shapes|has \d+ weights; expected", "The parts do not have the names, shapes or number of weights that the docstring asks for."),
    ("key", r"KeyError", "A dict is asked for a key that it does not have."),
    ("division by zero", r"ZeroDivisionError", "There is a division by 0. What should the result be when there is nothing to count?"),
    ("mask as an index", r"boolean index did not match|shape of the mask .* does not match",
     "A mask that is used as an index must have exactly the shape of what it picks from. The condition of `where` is broadcast; an index is not."),
    ("index", r"IndexError|out of (range|bounds)|too many indices", "An index reaches beyond the end of an axis or a list, or there are more indices than axes."),
    ("unpacking", r"values to unpack", "The number of values does not match the number of names that they are unpacked into. Is the number of axes (or of values) always the same?"),
    ("order in memory", r"view size is not compatible",
     "`view` needs the numbers in memory in the order of the axes, and after a transpose they no longer are. `reshape` copies them if it must."),
    ("shapes", r"broadcast|[Ss]hapes?\b|size of tensor|target size|size \d|sizes of tensors|dimension|matmul|mat1 and mat2|[Aa]xis|axes",
     "Somewhere the shapes do not match. Print the shapes before the line that fails, and write down what each axis stands for."),
    ("in place", r"in-?place|read-only", "Something that must stay as it is gets changed in place. Make a new array instead."),
    ("empty", r"empty|zero-size", "Something is empty, and the code does not expect that. What should the result be then?"),
)  # fmt: skip


_FORM_ELSEWHERE = (
    "It runs, but what it makes or returns does not have the shape that is needed where it is used. The message says which "
    "shapes meet: which of them is yours?"
)

_SAYS_ITSELF = {UNKNOWN_NAME, "order in memory"}


def may_be_one_mistake(problem: Problem, other: Problem) -> bool:
    """Whether two exceptions may come from the same mistake. Some say what the mistake is: such a one comes from no other."""
    complaints = {complaint_of(problem), complaint_of(other)}
    return len(complaints) == 1 or not complaints & _SAYS_ITSELF


def _problems(exercise: Exercise, outcomes: Sequence[Outcome], failing: Sequence[int]) -> list[Symptom]:
    """What the problems of the failing cases have in common, in words of the course."""
    helps: dict[str, tuple[str, list[int]]] = {}
    for index in failing:
        if (problem := outcomes[index].problem) and (found := _help_with(problem)):
            helps.setdefault(found[0], (found[1], []))[1].append(index)
    if not helps:
        return []
    name, (text, cases) = max(helps.items(), key=lambda each: len(each[1][1]))
    scope = "" if len(cases) == len(failing) else f"{_share(exercise, cases)}: "
    return [Symptom(name, scope + text)]


def _share(exercise: Exercise, cases: Sequence[int]) -> str:
    return (
        f"In {_titles(exercise, cases)}"
        if len(cases) == 1
        else f"In {len(cases)} of {len(exercise.cases)} cases"
    )


def _help_with(problem: Problem) -> tuple[str, str] | None:
    if problem.kind == "slow":
        return "slow", "It takes too long. Does every loop end?"
    if problem.kind == "type" and "None" not in problem.message:
        return "type", "It returns something that does not have the form the docstring promises."
    if problem.message.startswith("AssertionError") and ": assert " in problem.where:  # the learner's own
        return (
            "assertion",
            "An `assert` fails, and that raises an AssertionError. If the docstring names another error, `raise` that one.",
        )
    message = f"({problem.kind}) {in_one_form(problem.message)}"
    found = next(((name, text) for name, pattern, text in _HELP if re.search(pattern, message)), None)
    if found and found[0] == "shapes" and not problem.where:  # no line of the learner's raised it
        return "shapes", _FORM_ELSEWHERE
    return found


def complaint_of(problem: Problem) -> str:
    """What a problem is about: the name of its symptom, or else the kind of the exception."""
    found = _help_with(problem)
    return found[0] if found else in_one_form(problem.message).partition(":")[0]


# ---------------------------------------------------------------------------------- values


class _Pair(NamedTuple):
    """An array that differs from the expected one, and what belongs to it."""

    case: int
    got: np.ndarray
    wanted: np.ndarray
    same: Callable[[Any, Any], bool]
    wrong: np.ndarray | None  # where it differs; None if the shapes do
    inputs: Mapping[str, Any]
    others: Mapping[str, np.ndarray]  # what is expected under other names


def _values(
    exercise: Exercise,
    outcomes: Sequence[Outcome],
    expected: Expected,
    failing: Sequence[int],
    beside_problems: bool,
) -> list[Symptom]:
    pairs = _wrong_pairs(exercise, outcomes, expected, failing)
    several = len(exercise.returns) > 1
    found: dict[tuple[str, str], list[str]] = {}  # (name, sentence) -> of which outputs
    for output, wrong in pairs.items():
        best = _common(wrong)
        if best is None or best[0] in _VAGUE:  # perhaps the first case tells more than what all cases share
            first = [pair for pair in wrong if pair.case == wrong[0].case]
            looks = [look for look in _TELLING if look is not _plain_factor or _evidence(first) > 1]
            if len(first) < len(wrong) and (telling := _common(first, looks)):
                best = telling[0], f"In {_titles(exercise, [first[0].case])}: {telling[1]}"
        elif (
            several
            and not beside_problems
            and len(cases := sorted({pair.case for pair in wrong})) < len(failing)
        ):
            best = (
                best[0],
                f"{_share(exercise, cases)}: {best[1]}",
            )  # in the others that fail, this output is right
        if best is not None:
            found.setdefault(best, []).append(output)
    symptoms = []
    scope = "Where there is a result: " if beside_problems else ""
    for (name, sentence), names in found.items():
        text = sentence.replace("{it}", " and ".join(f"`{each}`" for each in names))
        symptoms.append(Symptom(name, scope + (_plural(text) if len(names) > 1 else text)))
    right = [name for name in exercise.returns if name not in pairs]
    if several and right and len(pairs) and not beside_problems and len(symptoms) < MOST:
        are = "is" if len(right) == 1 else "are"
        symptoms.append(
            Symptom("only one output", f"{_listed(right)} {are} right; only {_listed(list(pairs))} differ{'s' if len(pairs) == 1 else ''}.")
        )  # fmt: skip
    return symptoms


def _gradients(
    exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected, failing: Sequence[int]
) -> list[Symptom]:
    """That only what comes back differs, if every value is right."""
    differ: dict[str, None] = {}
    for case in failing:
        runs, right = outcomes[case].runs, expected.reference[case].runs
        if not exercise.cases[case].reaches or not runs or len(runs) != len(right):
            return []
        for got, wanted in zip(runs, right, strict=True):
            names = [
                name
                for name in wanted
                if name not in got
                or got[name].shape != wanted[name].shape
                or not _close(exercise, got[name], wanted[name]).all()
            ]
            differ |= dict.fromkeys(names)
    if not differ or not set(differ).isdisjoint(exercise.returns):
        return []
    text = (
        f"The values are right, but {_listed(list(differ))} {'is' if len(differ) == 1 else 'are'} not: part of the way back "
        "is cut off, or leads through something else."
    )
    return [Symptom("gradient", text)]


def _plural(text: str) -> str:
    """A sentence about one output, said of several."""
    for one, many in (
        ("` is ", "` are "),
        ("` has ", "` have "),
        ("` holds ", "` hold "),
        ("` differs ", "` differ "),
        ("` lacks ", "` lack "),
    ):
        text = text.replace(one, many)
    return (
        text.replace("it differs", "they differ")
        .replace("wherever it is", "wherever they are")
        .replace("and is right", "and are right")
    )


def _listed(names: Sequence[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


def _wrong_pairs(
    exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected, failing: Sequence[int]
) -> dict[str, list[_Pair]]:
    """Output -> its arrays that differ from the expected ones, in the order of the cases."""

    def same(got: Any, wanted: Any) -> bool:
        return np.shape(got) == np.shape(wanted) and bool(_close(exercise, got, wanted).all())

    found: dict[str, list[_Pair]] = {}
    for case in failing:
        outcome, reference = outcomes[case], expected.reference[case]
        if outcome.problem or not len(outcome.runs) == len(reference.runs) == len(expected.inputs[case]):
            continue
        for got, wanted, inputs in zip(outcome.runs, reference.runs, expected.inputs[case], strict=True):
            if set(got) != set(wanted):
                continue
            flat = dict(_flat(inputs))
            for name, array in wanted.items():
                if got[name].size > max(4 * array.size, _LARGE):
                    continue
                alike = got[name].shape == array.shape and (got[name].dtype.kind == "b") == (
                    array.dtype.kind == "b"
                )
                wrong = ~_close(exercise, got[name], array) if alike else None
                if wrong is None or wrong.any():
                    others = {other: each for other, each in wanted.items() if other != name}
                    found.setdefault(name, []).append(
                        _Pair(case, got[name], array, same, wrong, flat, others)
                    )
    return {name: found[name] for name in exercise.returns if name in found}


def _close(exercise: Exercise, got: Any, wanted: Any) -> np.ndarray:
    got, wanted = np.asarray(got), np.asarray(wanted)
    if "f" in (got.dtype.kind, wanted.dtype.kind):
        return np.isclose(
            got.astype(float), wanted.astype(float), rtol=exercise.rtol, atol=exercise.atol, equal_nan=True
        )
    return np.asarray(got == wanted)


def _flat(inputs: Inputs) -> Iterator[tuple[str, Any]]:
    """The inputs by the last part of their name, those inside dicts too."""
    for name, value in inputs.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        elif isinstance(name, str):
            yield name, value


_Found = tuple[str, str]
"""The name of a symptom, and its sentence about ``{it}``."""

_Look = Callable[[_Pair], Iterable[_Found]]
"""What may be said about an array, the most telling first."""


def _common(pairs: Sequence[_Pair], looks: Sequence[_Look] | None = None) -> _Found | None:
    """The most telling symptom that all of these arrays share."""
    found = _first_shared(pairs, looks or _LOOKS)
    if looks or (found and found[0] not in _VAGUE):
        return found
    return _factor_of_its_own(pairs) or found


def _first_shared(pairs: Sequence[_Pair], looks: Sequence[_Look]) -> _Found | None:
    for look in looks:
        shared = _seen(look, pairs[0])
        for pair in pairs[1:]:
            if not shared:
                break
            here = _seen(look, pair)
            shared = [each for each in shared if each in here]
        if shared and (look not in _NEEDS_EVIDENCE or _evidence(pairs) >= 3):
            return shared[0]
    return None


def _seen(look: _Look, pair: _Pair) -> list[_Found]:
    try:
        return list(look(pair))
    except (ValueError, TypeError, IndexError, OverflowError):  # shapes or kinds that it is not made for
        return []


def _evidence(pairs: Sequence[_Pair]) -> int:
    """How many different numbers, other than 0, are expected: of a single one, anything may be said."""
    return len(np.unique(np.concatenate([pair.wanted[pair.wanted != 0].astype(float) for pair in pairs])))


def _axis(axis: int) -> str:
    """An axis counted from the end, in words."""
    return {-1: "the last axis", -2: "the last axis but one"}.get(axis, f"axis {axis}")


def _another_kind(pair: _Pair) -> Iterator[_Found]:
    got, wanted = pair.got, pair.wanted
    if got.shape != wanted.shape or (got.dtype.kind == "b") == (wanted.dtype.kind == "b"):
        return
    if wanted.dtype.kind != "b":
        yield "booleans for numbers", "{it} holds booleans where numbers are expected."
        return
    as_wanted = got.astype(bool)
    if pair.same(as_wanted, wanted):
        yield (
            "numbers for booleans",
            "{it} holds numbers where booleans are expected; as booleans they would be right.",
        )
    if pair.same(~as_wanted, wanted):
        yield "numbers for booleans", "{it} holds numbers where booleans are expected, and they are inverted."
    yield "numbers for booleans", "{it} holds numbers where booleans are expected."


def _axis_of_one(pair: _Pair) -> Iterator[_Found]:
    got, wanted = pair.got, pair.wanted
    if got.shape == wanted.shape or got.size != wanted.size:
        return
    if [size for size in got.shape if size != 1] != [size for size in wanted.shape if size != 1]:
        return
    name, words = "axis of one elsewhere", "has its axis of length 1 in another place"
    many = "axes" if abs(got.ndim - wanted.ndim) > 1 else "an axis"
    if got.ndim > wanted.ndim:
        name, words = "axis kept", f"has {many} of length 1 too many"
    elif got.ndim < wanted.ndim:
        name, words = "axis dropped", f"lacks {many} of length 1"
    if (got.dtype == bool) == (wanted.dtype == bool) and pair.same(got.reshape(wanted.shape), wanted):
        yield name, f"{{it}} {words}, and is right apart from that."
    yield name, f"{{it}} {words}."


def _transposed(pair: _Pair) -> Iterator[_Found]:
    got, wanted = pair.got, pair.wanted
    if not 2 <= got.ndim <= 5 or got.ndim != wanted.ndim or sorted(got.shape) != sorted(wanted.shape):
        return
    swaps = list(itertools.combinations(range(-wanted.ndim, 0), 2))
    for one, other in reversed(swaps):
        if pair.same(got, np.swapaxes(wanted, one, other)):
            which = "its last two axes" if (one, other) == (-2, -1) else f"its axes {one} and {other}"
            yield "transposed", f"{{it}} has {which} exchanged, and is right apart from that."
    for order in itertools.permutations(range(wanted.ndim)):
        if pair.same(got, wanted.transpose(order)):
            yield (
                "axes in another order",
                "{it} has its axes in another order, and is right apart from that.",
            )
    return


def _too_short_or_long(pair: _Pair) -> Iterator[_Found]:
    got, wanted = pair.got, pair.wanted
    if got.ndim != wanted.ndim or got.shape == wanted.shape:
        return
    differ = [axis for axis in range(-got.ndim, 0) if got.shape[axis] != wanted.shape[axis]]
    if len(differ) != 1:
        return
    (axis,) = differ
    by = got.shape[axis] - wanted.shape[axis]
    long, short = (got, wanted) if by > 0 else (wanted, got)
    count, along = abs(by), f" along {_axis(axis)}" if got.ndim > 1 else ""
    size = short.shape[axis]
    head = np.take(long, range(size), axis)
    tail = np.take(long, range(long.shape[axis] - size, long.shape[axis]), axis)
    for end, part in (("last", head), ("first", tail)):
        if size and pair.same(short, part):
            for what in ([f"the {end} entry"] if count == 1 else [f"the {end} {count} entries"]) + [
                f"some entries at the {'end' if end == 'last' else 'beginning'}"
            ]:
                if by > 0:
                    yield f"{end} added", f"{{it}} is too long{along}: without {what} it would be right."
                else:
                    yield (
                        f"{end} missing",
                        f"{{it}} is too short{along}: {what} of what is expected {'are' if 'entries' in what else 'is'} missing, the rest is right.",
                    )
    name = "too long" if by > 0 else "too short"
    yield name, f"{{it}} is {name} by {count}{along}."
    yield name, f"{{it}} is {name}{along}."


_SUMMARIES = (("sum", np.sum), ("mean", np.mean), ("maximum", np.max), ("product", np.prod))


def _summarised(pair: _Pair) -> Iterator[_Found]:
    """An axis is gone, or there is one that should be gone."""
    got, wanted = pair.got, pair.wanted
    small, large = (got, wanted) if got.ndim < wanted.ndim else (wanted, got)
    if large.ndim - small.ndim != 1 or large.size == 0:
        return
    for axis in range(-large.ndim, 0):
        if np.delete(large.shape, axis).tolist() != list(small.shape):
            continue
        ways = [(name, how(large, axis=axis)) for name, how in _SUMMARIES if large.dtype.kind != "b"]
        ways += [("first entry", np.take(large, 0, axis)), ("last entry", np.take(large, -1, axis))]
        fitting = [name for name, result in ways if pair.same(small, result)]
        if len(fitting) != 1:  # if all entries along the axis are equal, several fit
            continue
        if small is got:
            yield (
                "axis gone",
                f"{{it}} is the {fitting[0]} of what is expected, over {_axis(axis)}, which should stay.",
            )
        else:
            yield (
                "axis left",
                f"{{it}} has one axis too many: the {fitting[0]} over {_axis(axis)} would be right.",
            )
    yield (
        ("axis gone", "{it} has one axis too few.")
        if small is got
        else ("axis left", "{it} has one axis too many.")
    )


def _same_numbers_in_another_shape(pair: _Pair) -> Iterator[_Found]:
    got, wanted = pair.got, pair.wanted
    if got.shape == wanted.shape or got.size != wanted.size or got.size < 2:
        return
    if pair.same(got.ravel(), wanted.ravel()):
        yield "another shape", "{it} has the right numbers in the right order, but in another shape."
    elif _same_set(pair):
        yield "another shape", "{it} has the right numbers, but in another shape and another order."
    yield "another shape", "{it} has another shape than expected, with as many numbers."


def _not_a_number(pair: _Pair) -> Iterator[_Found]:
    got, wanted = pair.got, pair.wanted
    if got.dtype.kind != "f" or got.shape != wanted.shape:
        return
    bad = ~np.isfinite(got) & np.isfinite(wanted.astype(float))
    if not bad.any():
        return
    what = "NaN" if np.isnan(got[bad]).all() else "infinite"
    if what == "NaN" or np.isinf(got[bad]).all():
        if bad.all():
            yield "nan", f"{{it}} is {what} everywhere."
        elif pair.wrong is not None and not (pair.wrong & ~bad).any():
            yield "nan", f"{{it}} is {what} in some places, and right everywhere else."
        yield (
            "nan",
            f"{{it}} is {what} in some or all places: look for a division by 0, a logarithm of 0, or exp() of something large.",
        )
    yield (
        "nan",
        "{it} is not finite everywhere: look for a division by 0, a logarithm of 0, or exp() of something large.",
    )


def _constant(pair: _Pair) -> Iterator[_Found]:
    got, wanted = pair.got, pair.wanted
    if (
        got.shape != wanted.shape
        or got.size < 2
        or not (got == got.flat[0]).all()
        or (wanted == wanted.flat[0]).all()
    ):
        return
    if got.dtype.kind == "b":
        yield f"all {got.flat[0]}", f"{{it}} is {bool(got.flat[0])} everywhere."
    elif got.flat[0] == 0:
        yield "all zeros", "{it} is 0 everywhere."
    yield "constant", "{it} holds one and the same value everywhere."


def _opposite(pair: _Pair) -> Iterator[_Found]:
    got, wanted = pair.got, pair.wanted
    if got.shape != wanted.shape:
        return
    if got.dtype.kind == "b":
        if got.size > 1 and wanted.dtype.kind == "b" and (got == ~wanted).all():
            yield "inverted", "{it} is inverted: True where False is expected, and the other way round."
    elif pair.same(got.astype(float), -wanted.astype(float)):
        yield "negated", "{it} has the wrong sign everywhere, and is right apart from that."


def _another_output(pair: _Pair) -> Iterator[_Found]:
    for name, other in pair.others.items():
        if other.size > 1 and pair.same(pair.got, other):
            yield "another output", f"{{it}} is what `{name}` should be."
    return


def _an_input(pair: _Pair) -> Iterator[_Found]:
    if pair.got.size < 2 or (pair.got == pair.got.flat[0]).all():
        return
    for name, value in pair.inputs.items():
        array = _as_array(value)
        if (
            array is not None
            and (array.dtype.kind == "b") == (pair.got.dtype.kind == "b")
            and pair.same(pair.got, array)
        ):
            yield "an input", f"{{it}} is the input `{name}`, unchanged."
    return


def _plus_an_input(pair: _Pair) -> Iterator[_Found]:
    """What is got differs from what is expected by an input, such as a bias, everywhere."""
    got, wanted = _numbers(pair)
    off, near = got - wanted, {"rtol": 1e-3, "atol": 1e-5 * max(1.0, np.abs(wanted).max())}
    for name, value in pair.inputs.items():
        array = _as_array(value)
        if array is None or array.dtype.kind != "f" or not 1 <= array.ndim <= got.ndim:
            continue
        if len(np.unique(array[array != 0])) < 2 or array.shape != got.shape[got.ndim - array.ndim :]:
            continue
        if np.allclose(off, array, **near):
            yield (
                "an input too often",
                f"{{it}} is what is expected plus `{name}`: it is added one time too many.",
            )
        if np.allclose(off, -array, **near):
            yield (
                "an input left out",
                f"{{it}} is what is expected minus `{name}`: it is left out once.",
            )
    return


def _as_array(value: Any) -> np.ndarray | None:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, np.ndarray) and value.dtype.kind in "bifu":
        return value
    return None


def _numbers(pair: _Pair) -> tuple[np.ndarray, np.ndarray]:
    """Both arrays as floats.

    Raises:
        ValueError: their shapes differ, they hold booleans, or something that is not finite.
    """
    got, wanted = pair.got, pair.wanted
    if got.shape != wanted.shape or "b" in (got.dtype.kind, wanted.dtype.kind) or not got.size:
        raise ValueError
    got, wanted = got.astype(float), wanted.astype(float)
    if not (np.isfinite(got).all() and np.isfinite(wanted).all()):
        raise ValueError
    return got, wanted


def _factor_in(pair: _Pair) -> float | None:
    """What the expected numbers are multiplied by, if it is one number."""
    got, wanted = _numbers(pair)
    size = float((wanted * wanted).sum())
    factor = float((got * wanted).sum()) / size if size else 0.0
    largest = np.abs(wanted).max()
    if (
        not factor
        or not np.isfinite(factor)
        or not np.allclose(got, factor * wanted, rtol=1e-3, atol=1e-4 * abs(factor) * largest)
    ):
        return None
    return factor


def _factor(pair: _Pair) -> Iterator[_Found]:
    factor = _factor_in(pair)
    if factor is None or math.isclose(factor, 1, rel_tol=5e-3):  # it would be called "1 times"
        return
    yield "factor", f"{{it}} is {_number(factor)} times what is expected."


def _plain_factor(pair: _Pair) -> Iterator[_Found]:
    """Of a single number: only what cannot be chance."""
    factor = _factor_in(pair)
    plain = (2, 3, 4, 10, 100, 0.5, 0.1, 0.01)
    if factor is None or not any(math.isclose(factor, each, rel_tol=1e-4) for each in plain):
        return
    yield "factor", f"{{it}} is {_number(factor)} times what is expected."


def _offset(pair: _Pair) -> Iterator[_Found]:
    got, wanted = _numbers(pair)
    off = got - wanted
    middle = float(np.median(off))
    if not np.allclose(off, middle, rtol=1e-3, atol=1e-5 * max(1.0, np.abs(wanted).max())):
        return
    whole = abs(middle - round(middle)) < 1e-4
    if wanted.size < 3 and not whole:
        return
    yield (
        "offset",
        f"{{it}} is {'larger' if middle > 0 else 'smaller'} than expected by {_number(abs(middle))} everywhere.",
    )


def _one_minus(pair: _Pair) -> Iterator[_Found]:
    got, wanted = _numbers(pair)
    if got.size > 1 and pair.same(got, 1 - wanted):  # a single number is 1 minus another by chance: 0 for 1
        yield "one minus", "{it} is 1 minus what is expected."
    return


def _factor_of_rows(pair: _Pair) -> Iterator[_Found]:
    got, wanted = _numbers(pair)
    if got.ndim > 1 and _factor_in(pair) is None:  # one factor for all rows is none of their own
        if _is_scaled_along(got, wanted, -1):
            yield (
                "factor of rows",
                "Each row of {it} is proportional to the expected one, with a factor of its own.",
            )
        if _is_scaled_along(got, wanted, tuple(range(got.ndim - 1))):
            yield (
                "factor of columns",
                "Each column of {it} is proportional to the expected one, with a factor of its own.",
            )


def _is_scaled_along(got: np.ndarray, wanted: np.ndarray, axes: int | tuple[int, ...]) -> bool:
    size = (wanted * wanted).sum(axes, keepdims=True)
    if got.size < 3 * size.size or size.size < 2 or not _varies_along(wanted, axes):
        return False
    factor = np.divide((got * wanted).sum(axes, keepdims=True), size, out=np.zeros_like(size), where=size > 0)
    return bool(factor.all() and np.allclose(got, factor * wanted, rtol=1e-3, atol=1e-4 * np.abs(got).max()))


def _varies_along(wanted: np.ndarray, axes: int | tuple[int, ...]) -> bool:
    """Whether the numbers of some row or column differ: of equal ones, any others are a multiple."""
    return not np.allclose(wanted, wanted.mean(axes, keepdims=True), rtol=1e-3, atol=0)


def _offset_of_rows(pair: _Pair) -> Iterator[_Found]:
    got, wanted = _numbers(pair)
    off, near = got - wanted, {"rtol": 1e-3, "atol": 1e-5 * max(1.0, np.abs(wanted).max())}
    if (
        got.ndim
        and got.shape[-1] > 2
        and np.allclose(off, off[..., :1], **near)
        and _varies_along(wanted, -1)
    ):
        yield "offset of rows", "Each row of {it} is off by one number, the same for the whole row."
    if (
        got.ndim > 1
        and off.size > 2 * off.shape[-1]
        and np.allclose(off, off.reshape(-1, off.shape[-1])[0], **near)
        and _varies_along(wanted, tuple(range(got.ndim - 1)))
    ):
        yield "offset of columns", "Each column of {it} is off by one number, the same for the whole column."


_FUNCTIONS = (
    ("the exponential", np.exp),
    ("the logarithm", np.log),
    ("the square root", np.sqrt),
    ("the square", np.square),
    ("the reciprocal", np.reciprocal),
    ("the absolute value", np.abs),
    ("the base-2 logarithm", np.log2),
    ("the hyperbolic tangent", np.tanh),
)
_FUNCTIONS_OF_A_ROW = (  # of a single number they say nothing: its log-softmax is 0, whatever it is
    ("a softmax", lambda x: _softmax(x)),
    (
        "the log-softmax",
        lambda x: (
            x - x.max(-1, keepdims=True) - np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True))
        ),
    ),
    ("the cumulative sum", lambda x: np.cumsum(x, -1)),
)
_LEFT_OUT = (
    ("The hyperbolic tangent", np.tanh),
    ("The positive part, max(0, x),", lambda x: np.maximum(x, 0)),
    ("A sigmoid", lambda x: 1 / (1 + np.exp(-x))),
)
_LEFT_OUT_OF_A_ROW = (
    ("A softmax over the last axis", lambda x: _softmax(x)),
    ("The cumulative sum", lambda x: np.cumsum(x, -1)),
)


def _function_of_it(pair: _Pair) -> Iterator[_Found]:
    got, wanted = _numbers(pair)
    rows = wanted.ndim > 0 and wanted.shape[-1] > 1
    for name, function in (*_FUNCTIONS, *(_FUNCTIONS_OF_A_ROW if rows else ())):
        if _equals(got, function(wanted)) and not _equals(wanted, function(wanted)):
            yield "function of it", f"{{it}} is {name} of what is expected."
    for name, function in (*_LEFT_OUT, *(_LEFT_OUT_OF_A_ROW if rows else ())):
        if _equals(function(got), wanted) and not _equals(got, function(got)):
            yield "function left out", f"{name} of {{it}} would be right."


def _shares_of_multiple(pair: _Pair) -> Iterator[_Found]:
    """Both are shares that sum to 1, and what is got is what a softmax gives if the right scores are multiplied by a number.

    That is so for powers of another base than e, and for scores that are divided by the root of something else than d_k.
    """
    got, wanted = _numbers(pair)
    if not got.ndim or (got < 0).any() or (wanted < 0).any():
        return
    for axis in range(-1, -got.ndim - 1, -1):
        there = wanted > 0
        sums = (got.sum(axis), wanted.sum(axis))
        if not all(np.isclose(each, there.any(axis), rtol=0, atol=1e-4).all() for each in sums):
            continue
        compared = there & (got > 0) & (there.sum(axis, keepdims=True) > 1)
        if (
            compared.sum() - compared.any(axis).sum() < 3
        ):  # of two shares in a row, any others are such a multiple
            continue
        logs = (np.log(each, out=np.zeros_like(each), where=compared) for each in (got, wanted))
        count = np.maximum(compared.sum(axis, keepdims=True), 1)
        off, right = (np.where(compared, each - each.sum(axis, keepdims=True) / count, 0.0) for each in logs)
        if not (size := float((right * right).sum())):
            continue
        factor = float((off * right).sum()) / size
        powers = np.power(wanted, factor, out=np.zeros_like(wanted), where=there)
        again = powers / np.maximum(powers.sum(axis, keepdims=True), 1e-300)
        if abs(factor) < 1e-3 or not np.allclose(got, again, rtol=1e-3, atol=1e-6):
            continue
        base = next((name for name, number in _BASES if math.isclose(factor, number, rel_tol=1e-3)), "")
        as_if = f": as if powers of {base} were taken instead of powers of e" if base else ""
        yield (
            "shares of a multiple",
            f"{{it}} is what a softmax gives if the right scores are multiplied by {_number(factor)}{as_if}.",
        )
        yield (
            "shares of a multiple",
            "{it} is what a softmax gives if the right scores are multiplied by a number, which is another one in other "
            "cases. Are the scores to be scaled, and if so, by which size?",
        )


_BASES = (("2", math.log(2)), ("10", math.log(10)))


def _equals(got: np.ndarray, wanted: np.ndarray) -> bool:
    return bool(
        np.isfinite(wanted).all() and np.allclose(got, wanted, rtol=1e-3, atol=1e-6 * np.abs(wanted).max())
    )


def _softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def _rounded(pair: _Pair) -> Iterator[_Found]:
    got, wanted = pair.got, pair.wanted
    if got.shape != wanted.shape or "b" in (got.dtype.kind, wanted.dtype.kind):
        return
    got, wanted = got.astype(float), wanted.astype(float)
    for name, rounded in (("down", np.floor), ("up", np.ceil), ("to the nearest whole number", np.round)):
        if (got != rounded(got)).any() and pair.same(rounded(got), wanted):
            yield "not rounded", f"{{it}} would be right if it were rounded {name}."
        if (
            (wanted != rounded(wanted)).any()
            and rounded(wanted).any()  # all zeros are no sign of rounding
            and pair.same(got, rounded(wanted))
        ):
            yield "rounded", f"{{it}} is what is expected, rounded {name}."
    return


def _shifted(pair: _Pair) -> Iterator[_Found]:
    got, wanted = pair.got, pair.wanted
    if got.shape != wanted.shape:
        return
    for axis in range(-1, -got.ndim - 1, -1):
        if got.shape[axis] < 3:
            continue
        all_but_first = np.delete(got, 0, axis), np.delete(wanted, 0, axis)
        all_but_last = np.delete(got, -1, axis), np.delete(wanted, -1, axis)
        along = f" along {_axis(axis)}" if got.ndim > 1 else ""
        if (wanted == np.take(wanted, [0], axis)).all():
            continue
        if pair.same(all_but_first[0], all_but_last[1]):
            yield "shifted", f"{{it}} is shifted by one place{along}: everything comes one place too late."
        if pair.same(all_but_last[0], all_but_first[1]):
            yield "shifted", f"{{it}} is shifted by one place{along}: everything comes one place too early."
    return


def _reordered(pair: _Pair) -> Iterator[_Found]:
    got, wanted = pair.got, pair.wanted
    if got.shape != wanted.shape or got.dtype.kind == "b":
        return
    for axis in range(-got.ndim, 0):
        if got.shape[axis] > 1 and pair.same(got, np.flip(wanted, axis)):
            along = f" along {_axis(axis)}" if got.ndim > 1 else ""
            yield "reversed", f"{{it}} is in reverse order{along}."
    for axis in range(-got.ndim, 0):
        if got.ndim < 2 or not 1 < got.shape[axis] <= 64:
            continue
        rows, others = np.moveaxis(got, axis, 0), np.moveaxis(wanted, axis, 0)
        left = list(range(len(others)))
        for row in rows:
            match = next((at for at in left if pair.same(row, others[at])), None)
            if match is None:
                break
            left.remove(match)
        else:
            where = {-1: "columns", -2: "rows"}.get(axis, f"entries along axis {axis}")
            yield "another order", f"The {where} of {{it}} are right, but in another order."
    return


def _same_set(pair: _Pair) -> bool:
    got, wanted = np.sort(pair.got, axis=None), np.sort(pair.wanted, axis=None)
    return pair.got.dtype.kind != "b" and len(np.unique(wanted)) > 2 and pair.same(got, wanted)


def _other_places(pair: _Pair) -> Iterator[_Found]:
    if pair.got.shape != pair.wanted.shape or not _same_set(pair):
        return
    yield "other places", "{it} has the right numbers, but in the wrong places."


def _all_rows_alike(pair: _Pair) -> Iterator[_Found]:
    got, wanted = pair.got, pair.wanted
    if got.shape != wanted.shape or got.ndim < 2 or got.dtype.kind == "b":
        return
    for axis in range(-got.ndim, 0):
        first = np.take(got, [0], axis)
        if (
            got.shape[axis] > 1
            and np.allclose(got, first)
            and not np.allclose(wanted, np.take(wanted, [0], axis))
        ):
            where = "rows" if axis == -2 else "columns" if axis == -1 else f"entries along {_axis(axis)}"
            yield "all alike", f"All {where} of {{it}} are the same, which they should not be."
    return


def _where_a_mask_is(pair: _Pair) -> Iterator[_Found]:
    """All that is wrong stands where a mask blocks, or where it allows."""
    wrong = pair.wrong
    if wrong is None or not wrong.any() or wrong.all():
        return
    for name, blocked in _blocked(pair):
        try:
            here = np.broadcast_to(blocked, wrong.shape)
        except ValueError:
            continue
        if here.all() or not here.any():
            continue
        if not (wrong & ~here).any():
            yield "blocked places", f"{{it}} is wrong only where {name}, and right everywhere else."
        if not (wrong & here).any():
            yield "places that are not blocked", f"{{it}} is right where {name}, and wrong only elsewhere."
    return


def _blocked(pair: _Pair) -> Iterator[tuple[str, np.ndarray]]:
    """(words, where) of the masks and the padding among the inputs, in every way that they may be laid on the output."""
    for name, value in pair.inputs.items():
        array = _as_array(value)
        if array is None or not array.ndim or array.size > 2**16:
            continue
        if array.dtype.kind == "b":
            words, where = f"`{name}` is False", ~array
        elif array.dtype.kind in "iu" and "mask" in name and np.isin(array, (0, 1)).all():
            words, where = f"`{name}` is 0", array == 0
        elif array.dtype.kind in "iu" and re.search(r"ids|labels|targets?|tokens|source|sequence", name):
            padding = pair.inputs.get("pad_id", 0)
            if not isinstance(padding, int | np.integer):
                continue
            ignored = -100 if (array == -100).any() else padding
            words = (
                f"`{name}` is {'-100' if ignored == -100 else 'padding' if 'pad_id' in pair.inputs else '0'}"
            )
            where = array == ignored
        else:
            continue
        yield words, where
        if where.ndim < pair.got.ndim:
            yield words, where.reshape(*where.shape, *[1] * (pair.got.ndim - where.ndim))


def _places(pair: _Pair) -> Iterator[_Found]:
    """All that is wrong stands at one end of an axis, or all that is right does."""
    wrong = pair.wrong
    if wrong is None or wrong.ndim == 0 or not wrong.any():
        return
    for axis in range(-wrong.ndim, 0):
        length = wrong.shape[axis]
        if length < 2:
            continue
        others = tuple(each for each in range(wrong.ndim) if each != axis % wrong.ndim)
        any_wrong = wrong.any(axis=others)
        where = (
            "entry" if wrong.ndim == 1 else {-1: "column", -2: "row"}.get(axis, f"entry along axis {axis}")
        )
        if any_wrong[0] and not any_wrong[1:].any():
            yield "only the first wrong", f"{{it}} is wrong only in the first {where}."
        if any_wrong[-1] and not any_wrong[:-1].any():
            yield "only the last wrong", f"{{it}} is wrong only in the last {where}."
        if length > 2 and not any_wrong[0] and any_wrong[1:].all():
            yield "only the first right", f"{{it}} is right in the first {where}, and wrong in all others."
        if length > 2 and not any_wrong[-1] and any_wrong[:-1].all():
            yield "only the last right", f"{{it}} is right in the last {where}, and wrong in all others."
        if length > 5 and not any_wrong[::2].any() and any_wrong[1::2].all():
            yield (
                "every second wrong",
                f"In {{it}}, every second {where} is right, and those in between are wrong.",
            )
        if length > 5 and not any_wrong[1::2].any() and any_wrong[::2].all():
            yield (
                "every second wrong",
                f"In {{it}}, every second {where} is right, beginning with the second, and those in between are wrong.",
            )
    if wrong.ndim >= 2 and 2 < wrong.shape[-2] == wrong.shape[-1]:
        rows, columns = wrong.shape[-2:]
        on = np.eye(rows, columns, dtype=bool)
        above = ~np.tri(rows, columns, dtype=bool)
        for place, words in (
            (on, "on the diagonal"),
            (above, "above the diagonal"),
            (~above & ~on, "below the diagonal"),
        ):
            if not (wrong & ~place).any():
                yield "diagonal", f"{{it}} is wrong only {words}."
    return


def _where_zeros_belong(pair: _Pair) -> Iterator[_Found]:
    wrong = pair.wrong
    if wrong is None or pair.wanted.dtype.kind == "b" or not wrong.any() or wrong.all():
        return
    zero = pair.wanted == 0
    if not (wrong & ~zero).any():
        yield "zeros expected", "{it} is wrong only where 0 is expected."
    if pair.got.dtype.kind != "b" and (pair.got[wrong] == 0).all():
        yield "zeros instead", "{it} is 0 wherever it is wrong."
    negative = pair.wanted < 0
    # Some checks write -1 where None is expected.
    if (pair.wanted < -1).any() and not (wrong & ~negative).any():
        yield "negative expected", "{it} is wrong only where a negative number is expected."
    return


def _too_many_or_few(pair: _Pair) -> Iterator[_Found]:
    got, wanted = pair.got, pair.wanted
    if pair.wrong is None or got.dtype.kind != "b" or wanted.dtype.kind != "b":
        return
    if not (wanted & ~got).any():
        yield (
            "too many True",
            "{it} is True in places that should be False; nothing that should be True is missing.",
        )
    if not (got & ~wanted).any():
        yield (
            "too few True",
            "{it} is False in places that should be True; nothing is True that should be False.",
        )
    return


def _off_by_one(pair: _Pair) -> Iterator[_Found]:
    got, wanted = _numbers(pair)
    if (wanted != np.round(wanted)).any() or (got != np.round(got)).any():
        return
    off = got[pair.wrong] - wanted[pair.wrong]
    if (off == off[0]).all() and abs(off[0]) <= 2:
        how = "large" if off[0] > 0 else "small"
        yield "off by one", f"{{it}} is too {how} by {int(abs(off[0]))} wherever it is wrong."
    return


def _nearly(pair: _Pair) -> Iterator[_Found]:
    got, wanted = _numbers(pair)
    size = np.abs(wanted)
    scale = np.maximum(size, 0.1 * size.max())
    if not size.max() or wanted.dtype.kind != "f" or (np.abs(got - wanted) > 0.02 * scale).any():
        return
    if (wanted == np.round(wanted)).all():
        return
    yield (
        "nearly right",
        (
            "{it} is nearly right: it differs by less than 2 % everywhere. Look for something small: a constant such as eps, n or n - 1, a rounding."
        ),
    )


def _one_sided(pair: _Pair) -> Iterator[_Found]:
    got, wanted = _numbers(pair)
    off = (got - wanted)[pair.wrong]
    if (off > 0).all():
        yield "too large", "{it} is too large wherever it is wrong."
    if (off < 0).all():
        yield "too small", "{it} is too small wherever it is wrong."
    return


def _factor_of_its_own(pairs: Sequence[_Pair]) -> _Found | None:
    """Every array is a multiple of the expected one, but they are not all the same multiple."""
    try:
        factors = [_factor_in(pair) for pair in pairs]
    except ValueError:
        return None
    if len(pairs) < 2 or None in factors or any(_evidence([pair]) < 3 for pair in pairs):
        return None
    return "factor that varies", (
        "{it} is a multiple of what is expected, but not always the same one: "
        f"{', '.join(map(_number, factors[:3]))}{' ...' if len(factors) > 3 else ''} times. Which size does that depend on?"
    )


_TELLING = (
    _another_kind, _axis_of_one, _another_output, _transposed, _too_short_or_long, _summarised, _same_numbers_in_another_shape,
    _constant, _opposite, _an_input, _plus_an_input, _plain_factor, _one_minus, _function_of_it, _shares_of_multiple, _rounded, _shifted, _reordered, _other_places,
    _not_a_number,
)  # fmt: skip
"""What is worth saying even of a single case; from the most telling to the least."""

_LOOKS = (
    *_TELLING[:-2], _factor, _offset, *_TELLING[-2:-1], _where_a_mask_is, _places, _factor_of_rows, _offset_of_rows, _all_rows_alike,
    *_TELLING[-1:], _where_zeros_belong, _too_many_or_few, _off_by_one, _nearly, _one_sided,
)  # fmt: skip

OF_SIZE = frozenset(
    (
        *("factor", "factor that varies", "factor of rows", "factor of columns", "shares of a multiple"),
        *("offset", "offset of rows", "offset of columns", "off by one"),
        *("too large", "too small", "nearly right", "zeros expected", "negative expected"),
    )
)
"""Symptoms that reveal how large the expected values are."""

_VAGUE = {"too large", "too small"}
"""Symptoms that say less than almost any other."""

_NEEDS_EVIDENCE = {
    _factor,
    _rounded,
    _offset,
    _function_of_it,
    _factor_of_rows,
    _offset_of_rows,
    _shifted,
    _an_input,
    _one_sided,
}


def _number(value: float) -> str:
    return f"{value:.3g}"


# ---------------------------------------------------------------------------------- cases


def _cases(
    exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected, failing: Sequence[int]
) -> list[Symptom]:
    """What the failing cases share, and no other case does."""
    everything = range(len(exercise.cases))
    right = [index for index in everything if index not in failing]
    if not right:
        forms = (
            difference(exercise, *pair, form_only=True)
            for pair in zip(outcomes, expected.reference, strict=True)
        )
        if any(forms):
            return []
        return [Symptom("the form is right", "Every shape is right, but no case is, not even the simplest: the mistake is in the calculation itself.")]  # fmt: skip
    if len(failing) > 1 and len(right) > 1 and (shared := _shared(expected, failing)):
        return [Symptom("cases that share something", shared)]
    if len(failing) == 1:
        return [Symptom("one case", "Right in every case but one.")]
    if len(right) == 1:
        return [Symptom("one case right", f"Right in one case only: {_titles(exercise, right)}.")]
    if len(failing) == 2:
        return [Symptom("two cases", "Right in every case but two.")]
    before = max((index for index in right if index < failing[0]), default=right[0])
    return [Symptom("two to compare", f"{_titles(exercise, [before])} is right, and the first case below is not: {_unlike(expected, before, failing[0])}.")]  # fmt: skip


def _unlike(expected: Expected, right: int, wrong: int) -> str:
    """What distinguishes the inputs of a case that is wrong from those of one that is right."""
    here, there = (
        dict.fromkeys(
            feature
            for run in expected.inputs[case]
            for name, value in _flat(run)
            for feature in _features(name, value)
        )
        for case in (wrong, right)
    )
    if only := [feature for feature in here if feature not in there]:
        return f"only there, {min(only, key=_rank)}"
    if only := [feature for feature in there if feature not in here]:
        return f"not there, {min(only, key=_rank)}"
    if len(expected.inputs[wrong]) != len(expected.inputs[right]):
        return f"there, your code is called {len(expected.inputs[wrong])} times"
    flat = [dict(_flat(expected.inputs[case][0])) for case in (wrong, right)]
    for name, value in flat[0].items():
        sizes = [np.shape(array) for each in flat if (array := _as_array(each.get(name))) is not None]
        if len(sizes) == 2 and sizes[0] != sizes[1]:
            return f"there, `{name}` has shape {sizes[0]} instead of {sizes[1]}"
        if (
            isinstance(value, bool | int | float | str)
            and value != flat[1].get(name)
            and len(str(value)) < 20
        ):
            return f"there, `{name}` is {value!r} instead of {flat[1].get(name)!r}"
    return "their inputs are of the same form, so look at the values"


def _shared(expected: Expected, failing: Sequence[int]) -> str:
    features: dict[str, set[int]] = {}
    names = dict.fromkeys(name for runs in expected.inputs for run in runs for name, _ in _flat(run))
    for case, runs in enumerate(expected.inputs):
        for run in runs:
            flat = dict(_flat(run))
            for name in names:
                for feature in _features(name, flat.get(name)):
                    features.setdefault(feature, set()).add(case)
    wanted = set(failing)
    found = [feature for feature, cases in features.items() if cases == wanted]
    if found:
        return f"Wrong exactly in the cases in which {min(found, key=_rank)}."
    everything = set(range(len(expected.inputs)))
    found = [feature for feature, cases in features.items() if everything - cases == wanted]
    return f"Right exactly in the cases in which {min(found, key=_rank)}." if found else ""


def _rank(feature: str) -> tuple[bool, bool]:
    return "axes" in feature, "mask" not in feature


def _features(name: str, value: Any) -> Iterator[str]:
    """What may be said about an input, in words."""
    if value is None:
        yield f"`{name}` is not given"
        return
    array = _as_array(value)
    if array is not None:
        yield f"`{name}` is given"
        yield f"`{name}` has {array.ndim} {'axis' if array.ndim == 1 else 'axes'}"
        if array.dtype.kind == "b" and array.ndim and not array.any(axis=-1).all():
            yield f"a row of `{name}` is False everywhere"
    elif isinstance(value, bool):
        yield f"`{name}` is {value}"
    elif isinstance(value, int | float):
        yield f"`{name}` is given"
        if value in (0, 1):
            yield f"`{name}` is {value:g}"
    elif isinstance(value, list | tuple | set | str):
        yield f"`{name}` is given"
        if not len(value):
            yield f"`{name}` is empty"


def _titles(exercise: Exercise, cases: Sequence[int]) -> str:
    titles = [f"“{exercise.cases[index].title}”" for index in cases]
    more = f" and {len(titles) - 2} more" if len(titles) > 3 else ""
    shown = titles[:2] if more else titles
    return (", " if more or len(shown) > 2 else " and ").join(shown) + more
