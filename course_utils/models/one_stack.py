"""A Transformer of one stack, for lab 12: an encoder if every place sees all places, a decoder if it sees only those before it."""

from __future__ import annotations

import torch
from torch import nn

from course_utils.models.text_to_text import Layer


class Stack(nn.Module):
    """Layers without cross-attention over one table of embeddings.

    Args:
        vocabulary_size: ids, the special ones included.
        embedding_dim, num_heads, num_layers: as in the encoder-decoder of this course, whose layers these are.
    """

    def __init__(self, vocabulary_size: int, embedding_dim: int, num_heads: int, num_layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, embedding_dim)
        nn.init.normal_(self.embedding.weight, std=embedding_dim**-0.5)
        self.layers = nn.ModuleList(Layer(embedding_dim, num_heads, False) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """(batch, len) and a mask that broadcasts to (batch, 1, len, len) -> (batch, len, width)."""
        x = self.embedding(ids) * self.embedding.embedding_dim**0.5
        for layer in self.layers:
            x, _ = layer(x, mask)
        return self.norm(x)
