"""Calls a learner's PyTorch code: tensors from arrays, parameters set by name, one thread, an optimizer without memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.cases.forms import only
from course_utils.checking.exercise import Inputs, call_function

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


class PlainDescent:
    """What an optimizer is at least: w ← w - lr · gradient. (PyTorch's own takes a second to import.)"""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float) -> None:
        self.defaults = {"lr": lr}  # which groups that are already there do not read
        self.param_groups = [{"params": list(parameters), "lr": lr}]

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
                    if parameter.grad is not None:
                        parameter -= group["lr"] * parameter.grad
        return loss
