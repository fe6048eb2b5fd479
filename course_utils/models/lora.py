"""The course's own low-rank adapter of a linear layer (Hu et al. 2021): lab 13 asks for one, and lab 12 puts it into SmolLM2."""

from __future__ import annotations

import torch
from torch import nn


class LoRALinear(nn.Module):
    """A linear layer, frozen, and a correction of low rank beside it (equation 3 of the paper).

    Args:
        base: the layer to correct; its own numbers are no longer trained.
        rank: r.
        alpha: the correction is multiplied by alpha / r.

    Attributes:
        base: the layer.
        down: (r, in_features), normal numbers divided by the root of in_features at the start.
        up: (out_features, r), zeros at the start.
    """

    def __init__(self, base: nn.Linear, rank: int = 8, alpha: float = 16) -> None:
        super().__init__()
        self.base, self.factor = base.requires_grad_(False), alpha / rank
        self.down = nn.Parameter(torch.randn(rank, base.in_features) * base.in_features**-0.5)
        self.up = nn.Parameter(base.weight.new_zeros(base.out_features, rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., in_features) -> (..., out_features)."""
        narrow = nn.functional.linear(x, self.down)  # (..., r)
        return self.base(x) + self.factor * nn.functional.linear(narrow, self.up)

    def merged(self) -> nn.Linear:
        """An ordinary layer that gives the same. The base stays as it is."""
        layer = nn.Linear(self.base.in_features, self.base.out_features, bias=self.base.bias is not None)
        layer.load_state_dict(self.base.state_dict())
        with torch.no_grad():
            layer.weight += self.factor * self.up @ self.down
        return layer
