"""Exceptions in words of the course: what kind of mistake their words speak of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from course_utils.checking.exercise import Exercise
from course_utils.checking.outcome import Outcome, Problem
from course_utils.checking.symptoms.cases import share_of
from course_utils.checking.symptoms.symptom import Symptom
from course_utils.checking.wording import in_one_form, said_by_a_check

UNKNOWN_NAME = "unknown name"


class _Complaint(NamedTuple):
    """A kind of exception.

    Attributes:
        pattern: what its words are recognised by.
        text: what is said of it.
        says_itself: whether it says what the mistake is, so that no other exception comes from the same one.
        elsewhere: what is said if no line of the learner's raised it; empty: the same.
    """

    name: str
    pattern: str
    text: str
    says_itself: bool = False
    elsewhere: str = ""


_COMPLAINTS = (
    _Complaint("none", r"\(type\).*returned None|is None; expected", "The result is None where a value is expected."),
    _Complaint("truth in a graph", r"`tf\.Tensor` as a Python `bool`|using a `tf\.Tensor` as",
     "A tensor is used as a condition (`if`, `and`, `min`, ...). While a graph is made, its value is not known. `ops.where`, `ops.minimum` and `ops.maximum` work there."),
    _Complaint("truth of an array", r"truth value of an array|[Tt]he truth value of|Boolean value of Tensor",
     "An array is used as a condition (`if`, `and`, `or`, `not`). It has many values: which one should decide? To ask whether an argument was passed, compare it with `None`."),
    _Complaint("tuple for an array", r"must be Tensor, not tuple|'tuple' object has no attribute|not tuple$|tuple indices must be|unsupported operand.*tuple|can only concatenate tuple",
     "A tuple is used where something else is needed. Does something that you call return several values? Unpack them."),
    _Complaint("none used", r"'NoneType' object|must be Tensor, not NoneType|unsupported operand.*NoneType|NoneType\b",
     "None is used as if it were a value. Is it an argument or an entry of a list that may be None, or the result of a function without a `return`?"),
    _Complaint("left changed", r"after (a|the) call\b.*\bmode\b|afterwards gradients are|other keys afterwards|requires_grad` of a parameter|is another layer after the call",
     "It changes something that it must leave unchanged. The message says what."),
    _Complaint("unknown size", r"None values not supported|Attempt to convert a value \(None\)|unsupported operand.*Tensor.*NoneType|Cannot convert '?None",
     "In a graph, the length of an axis may be unknown: then it is None in `x.shape`. `ops.shape(x)` always gives it."),
    _Complaint("value in a graph", r"'SymbolicTensor'|SymbolicTensor.* is not supported|KerasTensor.* (cannot|has no)|symbolic tf\.Tensor .*to a numpy array",
     "While a graph is made, a tensor has no value yet, so `float`, `int`, `.numpy()` and NumPy's functions cannot read it. `ops.cast` converts it to another number type."),
    _Complaint(
        "another form",
        r"WrongForm(?!.*(no parameter|a parameter too many|` has shape|is no label))|it returned an? |; expected (u?int|float|bool)\d*\b",
        "What it returns does not have the form, or the kind of number, that the docstring promises.",
    ),
    _Complaint("kinds of numbers", r"expected (m1 and m2|scalar type|all tensors).*(dtype|[Ff]loat|Double|Long|Half)|same dtype|expected to be a (float|double|int|int32|int64|bool)|but (is|got) a? ?(float|double|int32|int64|bool|complex)|^(?!.*TensorSpec).*(int32.*int64|int64.*int32)|Cannot (safely )?cast|dtype.*(cast|mismatch)|not supported for the input types|[Cc]ould not be safely coerced|numpy boolean (subtract|negative)|ufunc '\w+' not supported",
     "Two incompatible number types are combined (int32 and int64, float and integer, or a boolean in a calculation). Convert one of them."),
    _Complaint(
        "whole number needed",
        r"cannot be interpreted as an integer|^(?!.*not str$).*must be integers? or|^(?!.*not str$).*indices must be integers|only integer|expected an integer|int\(\), but got float",
        "A whole number is needed, but this is a float. `/` always gives a float; `//` divides whole numbers.",
    ),
    _Complaint(
        "options by position",
        r"[Oo]nly input tensors may be passed as positional",
        "A Keras layer takes only tensors by position. Pass options, such as `training`, by name.",
    ),
    _Complaint(UNKNOWN_NAME, r"NameError|UnboundLocalError", "This name is not defined at that point: it is misspelt, or only set in another branch.",
     says_itself=True),
    _Complaint("unexpected argument", r"unexpected keyword argument|got multiple values|takes (from )?\d+.*positional",
     "A function is called with arguments that it does not take. Compare the call with the function's signature; the exercise's own signature must stay as it is."),
    _Complaint("missing argument", r"missing \d+ required",
     "A function is called without an argument that it needs. If it is yours: does its first line still have the exercise's defaults?"),
    _Complaint("attribute", r"AttributeError", "The object has no such attribute. Is it misspelt, from another library, or never set in the constructor?"),
    _Complaint("random", r"two different outputs",
     "The same input gives two different outputs. Something may be random, such as dropout that is always on or a layer that is created again in every call. Or a call leaves "
     "something behind, such as a changed input or a result that is kept. Or something acts in one mode only, training or evaluation."),
    _Complaint("no way back", r"does not require grad and does not have a grad_fn",
     "The loss is not connected to the weights, so nothing can be trained. Somewhere the chain of gradients was cut: by `detach`, `no_grad`, `.item()`, NumPy, or a new `torch.tensor(...)`."),
    _Complaint("no gradient", r"[Nn]o gradients? (reach|provided)|cannot be trained: its", "No gradient reaches some of what is to be trained, or all of it. Does the output depend on it? And does everything on the way there stay a tensor?"),
    _Complaint("configuration", r"configuration that get_config gives lacks", "The configuration lacks something that is needed to create the same object again. What does Keras's own configuration contain, and what did the constructor get?"),
    _Complaint("one dict for all", r"get_config gives the same dict", "Every call of `get_config` gives the same dict. If somebody changes it, it is changed for everybody, and the next model may lack something."),
    _Complaint("shared configuration", r"models share one configuration", "Several models share one configuration, such as one that is kept in the class. Each model has its own."),
    _Complaint("another configuration", r"configuration that get_config gives has|gives a configuration in which|its configuration says", "A model and its configuration differ. Compare what the constructor got with what `get_config` gives, entry by entry."),
    _Complaint("weights", r"WrongModule|WrongLayer|WrongWeights|no parameter|a parameter too many|WrongForm.*` has shape|its parameters are|has no weight|there is a weight|its weights have the shapes|has \d+ weights; expected", "The parts do not have the names, shapes or number of weights that the docstring asks for."),
    _Complaint("name for a place", r"list indices must be integers or slices, not str",
     "A list is indexed with a string, as if it were a dict. Index a list with whole numbers, counted from 0."),
    _Complaint("key", r"KeyError", "A dict is asked for a key that it does not have."),
    _Complaint("division by zero", r"ZeroDivisionError", "There is a division by 0. What should the result be when there is nothing to count?"),
    _Complaint("mask as an index", r"boolean index did not match|shape of the mask .* does not match",
     "A mask that is used as an index must have exactly the shape of what it picks from. The condition of `where` is broadcast; an index is not."),
    _Complaint("too large for its type", r"out of bounds for u?int|int(eger)? too large|too large to convert",
     "A number is too large, or too small, for the type that has to hold it: uint8, for example, ends at 255. Use a wider type."),
    _Complaint("overflow", r"OverflowError|math range error",
     "A result is larger than the largest float, about 1.8e308. This happens with `exp` of a number above 709, or with a large power."),
    _Complaint("index", r"IndexError|out of (range|bounds)|too many indices", "An index reaches beyond the end of an axis or a list, or there are more indices than axes."),
    _Complaint("unpacking", r"values to unpack", "The number of values does not match the number of names that they are unpacked into. Is the number of axes (or of values) always the same?"),
    _Complaint("order in memory", r"view size is not compatible",
     "`view` needs the numbers to lie in memory in the order of the axes. After a transpose they no longer do. `reshape` copies them if it must.",
     says_itself=True),
    _Complaint("unknown variable", r"Unknown variable", "The optimizer is given a variable that it did not get when it was built. Are these the variables that are to be trained, and no others?"),
    _Complaint("a parameter's shape", r"size mismatch for", "A parameter does not have the shape that it should have. The message names it, with both shapes."),
    _Complaint("one form of input only", r"Invalid input shape|is incompatible with the layer", "A layer takes inputs of one shape only: a fixed length, or a fixed number of axes. Does it have to work for others, too?"),
    _Complaint("shapes", r"broadcast|\b[Ss]hapes?\b|size of tensor|target size|size \d|sizes of tensors|dimension|matmul|mat1 and mat2|[Aa]xis|axes",
     "Somewhere the shapes do not match. Print the shapes before the line that fails, and write down what each axis stands for.",
     elsewhere="It runs, but its result does not have the shape that is needed where it is used. The message names the shapes."),
    _Complaint("in place", r"in-?place|read-only", "Something that must stay as it is gets changed in place. Make a new one instead."),
    _Complaint("empty", r"empty|zero-size", "Something is empty, and the code does not expect that. What should the result be then?"),
)  # fmt: skip
"""All kinds. The first whose pattern fits is meant."""

_SAYS_ITSELF = {each.name for each in _COMPLAINTS if each.says_itself}


def may_be_one_mistake(problem: Problem, other: Problem) -> bool:
    """Whether two exceptions may come from the same mistake. Some say what the mistake is: such a one comes from no other."""
    complaints = {complaint_of(problem), complaint_of(other)}
    return len(complaints) == 1 or not complaints & _SAYS_ITSELF


def complaint_of(problem: Problem) -> str:
    """What a problem is about: the name of its symptom, or else the kind of the exception."""
    found = _help_with(problem)
    return found[0] if found else in_one_form(problem.message).partition(":")[0]


def about_exceptions(
    exercise: Exercise, outcomes: Sequence[Outcome], failing: Sequence[int]
) -> list[Symptom]:
    """What the exceptions of the failing cases have in common, in words of the course."""
    helps: dict[str, tuple[str, list[int]]] = {}
    for index in failing:
        if (
            (problem := outcomes[index].problem)
            and (found := _help_with(problem))
            and not _is_said(problem, found[0])
        ):
            helps.setdefault(found[0], (found[1], []))[1].append(index)
    if not helps:
        return []
    name, (text, cases) = max(helps.items(), key=lambda each: len(each[1][1]))
    scope = "" if len(cases) == len(failing) else f"{share_of(exercise, cases)}: "
    return [Symptom(name, scope + text)]


_SAID_BY_CHECKS = ("another form", "weights", "left changed", "shapes", "random")
"""Kinds of which a check's own words say more: what it has found, and where."""


def _is_said(problem: Problem, name: str) -> bool:
    if problem.kind == "gradient":
        return True
    return name in _SAID_BY_CHECKS and said_by_a_check(problem.message, problem.where)


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
    if ": raise " in problem.where and problem.kind == "exception":  # the learner's own, too
        return (
            "own exception",
            "Your own `raise` stops it. Should it, with these inputs? And is it the exception that the docstring names?",
        )
    message = f"({problem.kind}) {in_one_form(problem.message)}"
    found = next((each for each in _COMPLAINTS if re.search(each.pattern, message)), None)
    if found is None:
        return None
    raised_elsewhere = not problem.where  # no line of the learner's raised it
    return found.name, (raised_elsewhere and found.elsewhere) or found.text
