"""Mathematics that the labs after the warm-up use ready-made."""

from __future__ import annotations

import numpy as np


def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    """Softmax via logarithms: exp(score - log Σ exp(scores)); large scores cannot overflow.

    Args:
        scores: array of any shape.
        axis: the axis along which the results sum to 1.

    Returns:
        Array of the same shape.
    """
    scores = np.asarray(scores)
    return np.exp(scores - np.expand_dims(np.logaddexp.reduce(scores, axis=axis), axis))


def scaled_dot_product_attention(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Attention as lab 02 builds it (Vaswani et al. 2017, equation 1).

    Args:
        query: (..., q_len, d_k).
        key: (..., k_len, d_k).
        value: (..., k_len, d_v).
        mask: booleans that broadcast to (..., q_len, k_len); True = may attend. None allows everything.

    Returns:
        output (..., q_len, d_v) and weights (..., q_len, k_len). A row whose keys are all blocked gets weights 0
        and output 0.
    """
    fits = np.matmul(query, np.moveaxis(key, -1, -2)) * np.shape(key)[-1] ** -0.5
    if mask is None:
        shares = softmax(fits)
    else:  # a blocked key far below the lowest score of all gets a share of exactly 0
        floor = fits.min() - 1e9
        shares = softmax(np.where(mask, fits, floor)) * mask
    return np.matmul(shares, value), shares
