"""Rotary positions as lab 04 builds them, in PyTorch: neighbouring features form a pair."""

from __future__ import annotations

import torch


def rotate(x: torch.Tensor, first: int = 0, base: float = 10_000.0) -> torch.Tensor:
    """Turns each pair of features by the angle of its position (Su et al. 2021, equation 34).

    Args:
        x: queries or keys, (..., seq_len, head_dim), at the positions first, first + 1, ...
        first: position of the first one.
        base: the angle of pair i is position / base^(2i / head_dim).

    Returns:
        The shape of x; x itself stays as it is.

    Raises:
        TypeError: x is no tensor.
    """
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"x is a {type(x).__name__}; expected a torch.Tensor.")
    width = x.shape[-1]
    speeds = 1.0 / base ** (torch.arange(0, width, 2, dtype=torch.float32) / width)
    places = torch.arange(first, first + x.shape[-2], dtype=torch.float32)
    turns = places[:, None] * speeds  # (seq_len, head_dim / 2)
    cos, sin = turns.cos(), turns.sin()  # (seq_len, head_dim / 2)
    left, right = x[..., 0::2], x[..., 1::2]  # (..., seq_len, head_dim / 2)
    return torch.stack((left * cos - right * sin, left * sin + right * cos), dim=-1).flatten(-2)
