"""The course's own multi-head attention and sinusoidal positions in PyTorch: labs 03 and 04, ready-made.

Lab 05 builds its Transformer from these two. ``MultiHeadAttention`` is called like lab 03's exercise and has its
parameter names; besides masks that are the same for all heads, it accepts masks with an axis for the heads.
"""

from __future__ import annotations

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    """Multi-head attention (Vaswani et al. 2017, section 3.2.2) over batches of sequences.

    Its parameters are those of four ``nn.Linear`` layers of size (d_model, d_model): ``w_query``, ``w_key``,
    ``w_value`` and ``w_output``.

    Args:
        d_model: width of the inputs and of the output.
        num_heads: number of heads; must divide ``d_model``. A head has the size d_model // num_heads.
        bias: whether the four layers have biases.

    Raises:
        ValueError: ``num_heads`` does not divide ``d_model``.
    """

    def __init__(self, d_model: int, num_heads: int, bias: bool = True) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"A width of {d_model} cannot be divided equally among {num_heads} heads.")
        self.num_heads = num_heads
        for role in ("query", "key", "value", "output"):
            self.add_module(f"w_{role}", nn.Linear(d_model, d_model, bias=bias))

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Attends with all heads at once.

        Args:
            query: (batch, q_len, d_model).
            key, value: (batch, k_len, d_model).
            mask: booleans, True = may attend, that broadcast to (batch, heads, q_len, k_len); with fewer than four
                axes, to (batch, q_len, k_len), the same for all heads. None allows all.

        Returns:
            output (batch, q_len, d_model); weights (batch, heads, q_len, k_len). A blocked weight is exactly 0,
            and a query with every key blocked has weights 0.
        """
        queries, keys, values = (
            layer(words).unflatten(-1, (self.num_heads, -1)).movedim(-2, -3)  # (batch, heads, len, head size)
            for layer, words in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        fits = torch.matmul(queries / math.sqrt(queries.size(-1)), keys.mT)  # (batch, heads, q_len, k_len)
        if mask is None:
            shares = fits.softmax(-1)
        else:
            mask = mask.unsqueeze(1) if mask.dim() == 3 else mask  # (batch, 1, q_len, k_len)
            lowest = torch.finfo(fits.dtype).min
            shares = fits.masked_fill(mask.logical_not(), lowest).softmax(-1) * mask
        together = torch.matmul(shares, values).movedim(-3, -2).flatten(-2)  # (batch, q_len, d_model)
        return self.w_output(together), shares


def sinusoidal_positions(max_len: int, d_model: int) -> torch.Tensor:
    """The fixed positional encoding of Vaswani et al. 2017, section 3.5: sines at even indices, cosines at odd ones.

    Args:
        max_len: number of positions, counted from 0.
        d_model: width, an even number.

    Returns:
        (max_len, d_model), float32.
    """
    wavelengths = 10_000.0 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    turns = torch.arange(max_len, dtype=torch.float64).unsqueeze(-1) / wavelengths  # (max_len, d_model / 2)
    return torch.stack((turns.sin(), turns.cos()), dim=-1).flatten(-2).float()
