"""What an exercise is: a name to define, cases to try it on, and properties its output must have.

Everything here is data plus small pure functions, and it is public: learners may read exactly what is
checked. A new lab writes ``exercises.py`` out of the three names
:class:`Exercise`, :class:`Case` and *property* (a plain function whose docstring is the sentence that
learners read).
"""

from __future__ import annotations

import importlib
import inspect
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

PUBLIC_SEED = 2017
"""The seed of the cases that learners see. Grading uses a secret seed."""

Inputs = Mapping[str, Any]
Outputs = Mapping[str, np.ndarray]
Run = tuple[Inputs, Outputs]

Property = Callable[[Inputs, Outputs], "np.ndarray | bool | None"]
"""``property(inputs, outputs)``: True where it holds, None where it does not apply. Docstring = title."""

Relation = Callable[[Sequence[Run]], "np.ndarray | bool"]
"""``relation(runs)``: True where it holds between the runs of one case. Docstring = title."""

Goal = Callable[[Inputs, Outputs, Mapping[str, np.ndarray]], "np.ndarray | bool"]
"""``goal(inputs, outputs, hidden)``: True if the output reaches it. Docstring = title."""

Backward = Callable[[Any, Inputs, Sequence[str]], Mapping[str, Any]]
"""``backward(learner, inputs, reaches)``: sends gradients back; name -> number or array that tells what arrived."""


class NoGradient(Exception):
    """Gradients do not arrive where an exercise promises them. The message says where, and what may cut them off."""


@dataclass(frozen=True)
class Case:
    """One case that an exercise is tried on.

    Args:
        title: what is special about it, as learners read it.
        inputs: makes the keyword arguments from a random generator. A list of them means several runs
            of the learner's code, to be compared with each other by ``relation``.
        relation: what must hold between the runs, for example "changing a blocked key changes nothing".
        reaches: names of inputs that gradients must reach when they are sent back through what was returned; ``"weights"``
            stands for every weight of a module or layer. The exercise's ``backward`` sends them.
    """

    title: str
    inputs: Callable[[np.random.Generator], Inputs | list[Inputs]]
    relation: Relation | None = None
    reaches: tuple[str, ...] = ()

    def runs(self, exercise: str, seed: int) -> list[Inputs]:
        """The inputs of each run at ``seed``. Every case has a random stream of its own."""
        stream = zlib.crc32(f"{exercise}/{self.title}".encode())
        inputs = self.inputs(np.random.default_rng([seed, stream]))
        return inputs if isinstance(inputs, list) else [inputs]


def call_function(learner: Callable, inputs: Inputs) -> Any:
    """The usual way to try a learner's function: by keyword, or in order if parameters were renamed.

    Raises:
        TypeError: the parameters that have no default stand in another order than the inputs.
    """
    try:
        signature = inspect.signature(learner)
        signature.bind(**inputs)
    except (TypeError, ValueError):  # ValueError: a built-in without a signature
        return learner(*inputs.values())
    theirs = [
        name
        for name, each in signature.parameters.items()
        if name in inputs and each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
    ]
    promised = [name for name in inputs if name in theirs]
    if theirs != promised:
        raise TypeError(
            f"the parameters are ({', '.join(theirs)}), but the lab's own line has ({', '.join(promised)}): code that calls the "
            "function by position depends on that order"
        )
    return learner(**inputs)


def call_for_dict(learner: Callable, inputs: Inputs) -> dict[str, Any]:
    """Like :func:`call_function`, for a function whose docstring promises a dict."""
    return call_function(learner, inputs)


def take_value(learner: Any, inputs: Inputs) -> Any:
    """For exercises whose answer is a value (an array, a tuple) and not a function."""
    return learner


@dataclass(frozen=True)
class Exercise:
    """What learners define under ``name``, and everything that is checked about it.

    Args:
        name: the name that the notebook's solution cell defines.
        returns: names of the arrays that come back. One name: the value itself; several names: a tuple
            in that order. A dict with these keys comes back if, and only if, the annotation of ``call`` says so.
        cases: what it is tried on; each is compared with the reference's values.
        properties: what must hold for the output of every run.
        call: how the learner's object is called with a run's inputs. A module's or layer's exercise
            constructs it here and sets its weights, so that no check depends on a framework's seed. A call that gathers the
            arrays in a dict, or whose learners are asked for one, is annotated ``-> dict[...]``.
        backward: how gradients are sent back through the learner's object, for the cases that say what they reach. What arrives
            is compared with the reference's like any other array (:mod:`course_utils.cases.gradients`).
        uses: names of earlier exercises of the lab that this one calls.
        bypasses: full dotted names of ready-made things that would do the work, such as
            ``torch.nn.MultiheadAttention`` if learners are to build it. Code that uses one earns nothing, whatever
            it computes; see :mod:`course_utils.checking.bypass` for what counts as a use.
        seconds: CPU time that one case may take, all its runs together. Imports do not count.
        goals: for work that has no single right answer, such as predictions: what the output must reach, measured against
            ``hidden``, which only instructors have (``hidden.json`` in the lab's source). The reference's values then
            do not matter, only their form, and in grading each goal earns the same. A learner's own check sees the
            form and names the goals.
        shown: output -> how its array is turned back into what learners know, such as a text, for a report to show it. An array
            that nothing can be made of is shown as numbers.
        rtol, atol: how close a float must come to the reference (wide enough for float32).
    """

    name: str
    returns: tuple[str, ...]
    cases: tuple[Case, ...]
    properties: tuple[Property, ...] = ()
    call: Callable[[Any, Inputs], Any] = call_function
    backward: Backward | None = None
    uses: tuple[str, ...] = ()
    bypasses: tuple[str, ...] = ()
    goals: tuple[Goal, ...] = ()
    seconds: float = 10.0
    shown: Mapping[str, Callable[[np.ndarray], Any]] = field(default_factory=dict, hash=False)
    rtol: float = 1e-4
    atol: float = 1e-5

    def __post_init__(self) -> None:
        if self.backward is None and (untold := [case.title for case in self.cases if case.reaches]):
            raise ValueError(
                f"{self.name}: the case {untold[0]!r} says what gradients reach, but the exercise does not say how they are "
                "sent back. Give it `backward`."
            )
        for full in self.bypasses:
            if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)+", full):
                raise ValueError(
                    f"{self.name}: {full!r} is not a full dotted name. Declare bypasses as a tuple of names such "
                    "as 'torch.nn.MultiheadAttention', from the package on."
                )

    @property
    def as_dict(self) -> bool:
        """Whether the arrays come back in a dict. Where they do not, whoever unpacks a learner's dict gets its keys."""
        found = getattr(self.call, "__annotations__", {}).get("return", "")
        return (found if isinstance(found, str) else inspect.formatannotation(found)).startswith("dict")


def sentence(function: Callable) -> str:
    """The first line of a docstring: a property's or relation's title."""
    return (function.__doc__ or function.__name__).strip().splitlines()[0]


def exercises_of(module: str) -> dict[str, Exercise]:
    """All exercises of a lab by name, in the order they are written.

    Raises:
        LookupError: there is no such lab in the places where labs are looked for (:func:`course_utils.labs.find`).
    """
    try:
        found = importlib.import_module(f"course_utils.exercises.{module}")
    except ModuleNotFoundError as error:
        if error.name != f"course_utils.exercises.{module}":
            raise
        raise LookupError(
            f"The exercises of the lab {module!r} are not here: there is no folder of that name with an exercises.py beside this "
            "notebook or among the course's notebooks."
        ) from None
    return {value.name: value for value in vars(found).values() if isinstance(value, Exercise)}


def find_exercise(key: str) -> Exercise:
    """The exercise ``"module.name"``, for example ``"self_attention.causal_mask"``.

    Raises:
        LookupError: there is no such lab, or no such exercise in it; the message lists the exercises that exist.
    """
    module, _, name = key.partition(".")
    exercises = exercises_of(module)
    if name not in exercises:
        raise LookupError(f"There is no exercise {name!r} in {module!r}; it has: {', '.join(exercises)}.")
    return exercises[name]
