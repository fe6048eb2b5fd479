"""Calls a learner's PyTorch code: tensors from arrays, parameters set by name, one thread, an optimizer whose weights decay."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.cases.forms import only
from course_utils.cases.gradients import WEIGHTS, arrived, direction, no_gradient, outputs_in
from course_utils.checking.exercise import Backward, Inputs, NoGradient, call_function

if TYPE_CHECKING:
    from torch import nn


def tensors(inputs: Inputs) -> dict[str, Any]:
    """The inputs with every array as a torch tensor on the same memory, so that a change in place is seen."""
    import torch

    return {
        name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
        for name, value in inputs.items()
    }


def call_with_tensors(learner: Callable, inputs: Inputs) -> Any:
    """Calls a function from torch tensors to torch tensors, by keyword, or in order if parameters were renamed."""
    import torch

    with one_thread():
        return only(torch.Tensor, call_function(learner, tensors(inputs)))


def call_and_leave_gradients_on(learner: Callable, inputs: Inputs) -> Any:
    """Calls a function as `call_function` does, where gradients are recorded.

    Raises:
        TypeError: it has switched them off for what comes after it.
    """
    import torch

    with torch.enable_grad():
        found = call_function(learner, inputs)
        if torch.is_grad_enabled():
            return found
    raise TypeError(
        "afterwards gradients are switched off for everything, and nothing can be trained any more. "
        "`with torch.no_grad():` switches them off for the lines inside of it only."
    )


class WrongParameters(ValueError):
    """A module's parameters are not those that its docstring asks for."""


def set_parameters(module: nn.Module, weights: Mapping[str, np.ndarray]) -> None:
    """Sets every parameter of a module.

    Args:
        module: a learner's, just constructed.
        weights: name -> array, for all of its parameters.

    Raises:
        WrongParameters: it is no module, or a parameter is missing, has another shape, or is one too many.
    """
    import torch

    if not isinstance(module, torch.nn.Module):
        raise WrongParameters(f"it is a {type(module).__name__}; expected a torch.nn.Module.")
    found = dict(module.named_parameters(remove_duplicate=False))
    for name, array in weights.items():
        if name not in found:
            raise WrongParameters(
                f"there is no parameter `{name}`. It has: {', '.join(sorted(found)) or 'none'}. A part of a module "
                "must be an attribute (self.name = ...) and a module itself; several of them go into an nn.ModuleList."
            )
        if tuple(found[name].shape) != array.shape:
            raise WrongParameters(f"`{name}` has shape {tuple(found[name].shape)}; expected {array.shape}.")
    if more := sorted(set(found) - set(weights)):
        if twins := [name for name in weights if found[name] is found[more[0]]]:
            raise WrongParameters(
                f"`{more[0]}` is `{twins[0]}` under a second name, so saved weights would hold it twice and those that come "
                "with the course could not be loaded. Keep each layer in one attribute."
            )
        raise WrongParameters(
            f"there is a parameter too many: `{more[0]}`. The docstring names those that belong."
        )
    with torch.no_grad():
        for name, array in weights.items():
            found[name].copy_(torch.from_numpy(array))


def built(learner: Callable[..., nn.Module], inputs: Inputs) -> nn.Module:
    """A learner's module: constructed with ``config``, its ``weights`` set, in training or evaluation mode."""
    module = learner(**inputs["config"])
    set_parameters(module, inputs["weights"])
    return module.train(inputs.get("training", False))


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """For tensors this small, sharing the work between threads costs far more than it saves."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


# ---------------------------------------------------------------------------------- gradients

_CUT_BY = "`detach`, `no_grad` or a way through NumPy"


def a_function(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """For :func:`sent_back`: the learner's function is called."""
    return call_function(learner, given), {}


def a_module(*names: str) -> Callable[[Callable, Mapping[str, Any]], tuple[Any, dict[str, Any]]]:
    """For :func:`sent_back`: the learner's module is :func:`built` and run on the named inputs."""

    def run(learner: Callable, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        module = built(learner, given)
        taken = {name: value for name, value in given.items() if name in names}
        return run_module(module, taken), dict(module.named_parameters())

    return run


def differ(found: Any, again: Any) -> bool:
    """Whether two calls returned different tensors, or not as many. What is no tensor is left to the report."""
    import torch

    one, other = (
        [part for part in outputs_in(value) if isinstance(part, torch.Tensor)] for value in (found, again)
    )
    return len(one) != len(other) or any(
        a.shape != b.shape or not torch.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
        for a, b in zip(one, other, strict=True)
    )


REMEMBERS = (
    "two calls with the same input give two different outputs. Does a call leave something behind that the next one finds, such as a "
    "counter, a list that grows, or a changed mask?"
)


def run_module(module: nn.Module, given: Mapping[str, Any]) -> Any:
    """A module's output, by keyword, or in order if parameters were renamed.

    Raises:
        TypeError: afterwards it, or a part of it, is in another mode than before, or is another part.
    """
    before = {name: (part, part.training) for name, part in module.named_modules()}
    try:
        inspect.signature(module.forward).bind(**given)
    except TypeError:  # renamed parameters; the forward of an nn.Sequential
        found = module(*given.values())
    else:
        found = module(**given)
    for name, part in module.named_modules():
        was, mode_was = before.get(name, (part, part.training))
        if part is not was:
            raise TypeError(
                f"`{name}` is another layer after the call than before it, with new weights. Make it once, in `__init__`: what is made "
                "anew in every call never learns anything."
            )
        if part.training != mode_was:
            mode = "training" if part.training else "evaluation"
            raise TypeError(
                f"after the call {f'`{name}`' if name else 'the module'} is in {mode} mode, and before it was not: only the "
                "caller decides on that, with train() and eval()."
            )
    return found


def sent_back(
    run: Callable[[Callable, Mapping[str, Any]], tuple[Any, Mapping[str, Any]]], outputs: int | None = 1
) -> Backward:
    """How an exercise's gradients are sent back.

    Args:
        run: calls the learner's object with tensors, and gives what it returned and its parameters by name: :func:`a_function`,
            :func:`a_module`, or a lab's own.
        outputs: so many of what is returned, from the first on, are trained through; None: all of it.
    """

    def backward(learner: Callable, inputs: Inputs, reaches: Sequence[str]) -> dict[str, np.ndarray]:
        import torch

        given = tensors(inputs)
        with torch.enable_grad(), one_thread():
            leaves = {name: given[name].requires_grad_() for name in reaches if name != WEIGHTS}
            # what is handed over is no leaf, so that changing it in place is no error
            given |= {name: leaf.clone() for name, leaf in leaves.items()}
            try:
                found, parameters = run(learner, given)
            except RuntimeError as error:
                if "numpy() on Tensor that requires grad" not in str(error):
                    raise
                raise no_gradient([*leaves], [WEIGHTS] * (WEIGHTS in reaches), 1, _CUT_BY) from None
            weights = dict(parameters) if WEIGHTS in reaches else {}
            if frozen := [name for name, weight in weights.items() if not weight.requires_grad]:
                raise NoGradient(f"`{frozen[0]}` cannot be trained: its `requires_grad` is False.")
            sources = [
                part
                for part in outputs_in(found, outputs)
                if isinstance(part, torch.Tensor) and part.requires_grad
            ]
            targets = [*leaves.values(), *weights.values()]
            slopes = [None] * len(targets)
            if sources:
                along = [
                    torch.from_numpy(np.asarray(direction(part.shape, number))).to(part.dtype)
                    for number, part in enumerate(sources)
                ]
                try:
                    slopes = torch.autograd.grad(sources, targets, along, allow_unused=True)
                except RuntimeError as error:
                    if "modified by an inplace operation" not in str(error):
                        raise
                    raise NoGradient(
                        "no gradient gets back: a tensor that it is computed from was changed in place afterwards. "
                        "Make a new tensor instead."
                    ) from None
        arrays = [None if slope is None else slope.to_dense().double().numpy() for slope in slopes]
        at_inputs = dict(zip(leaves, arrays, strict=False))
        at_weights = dict(zip(weights, arrays[len(leaves) :], strict=True))
        return arrived(at_inputs, at_weights, _CUT_BY)

    return backward


class DescentWithDecay:
    """w ← (w - lr · gradient) · (1 - 0.1 · lr). So it is seen if something else than the optimizer changes the weights.

    A weight that has no gradient, or none but zeros, stays as it is: how the two come about is the learner's choice.
    (PyTorch's own optimizers take a second to import.)
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float) -> None:
        self.defaults = {"lr": lr}  # which groups that are already there do not read
        self.param_groups = [{"params": list(parameters), "lr": lr}]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"the optimizer of this check has no `{name}`. It has `param_groups`, `zero_grad()` and `step()`"
        )

    def zero_grad(self, set_to_none: bool = True) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        import torch

        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None and parameter.grad.any():
                        parameter -= group["lr"] * parameter.grad
                        parameter *= 1 - 0.1 * group["lr"]
        return loss
