"""Lab 12's model: a small encoder-decoder that reads a prefix and a text and writes a text, and its weights in a file.

The layers are those of lab 05 in today's form: pre-norm, rotary positions (lab 04), and one table of embeddings for what is
read, what is written, and the logits. The decoder keeps its keys and values, as lab 08 does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from course_utils.data.byte_pairs import BytePairs, printed, unprinted
from course_utils.models import in_8_bits
from course_utils.models.rotary import rotate

SHIPPED = Path(__file__).parents[1] / "weights" / "text_to_text.safetensors"
"""The weights that come with the course; docs/data-text-to-text.md says how they were made."""

UNFINISHED = SHIPPED.with_name("text_to_text_unfinished.safetensors")
"""The same model early in the same training, in 8 bits: lab 12 trains it on."""

CONFIG = {"embedding_dim": 128, "num_heads": 4, "num_layers": 2}

Cache = tuple[torch.Tensor, torch.Tensor]


class Attention(nn.Module):
    """Multi-head attention (lab 03) over keys and values that may have been kept."""

    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        for role in ("query", "key", "value", "output"):
            self.add_module(f"w_{role}", nn.Linear(width, width, bias=False))

    def heads(self, layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
        """(batch, len, width) -> (batch, heads, len, head size)."""
        parts = layer(x).unflatten(-1, (self.num_heads, -1))
        return parts.transpose(1, 2)  # (batch, heads, len, head size)

    def forward(
        self, queries: torch.Tensor, kept: Cache, mask: torch.Tensor | None, causal: bool = False
    ) -> torch.Tensor:
        """queries: (batch, heads, len, head size); kept: keys and values; mask: True = may attend."""
        mixed = nn.functional.scaled_dot_product_attention(queries, *kept, attn_mask=mask, is_causal=causal)
        return self.w_output(mixed.transpose(1, 2).flatten(-2))  # (batch, len, width)


class Layer(nn.Module):
    """Self-attention with rotary positions, in the decoder cross-attention, and a feed-forward network; pre-norm."""

    def __init__(self, width: int, num_heads: int, crossed: bool) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 + crossed))
        self.attention = Attention(width, num_heads)
        self.cross = Attention(width, num_heads) if crossed else None
        self.feed_forward = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def remembered(self, memory: torch.Tensor) -> Cache:
        """The keys and values of cross-attention, computed once for a text that was read; another module computes them itself."""
        if not isinstance(self.cross, Attention):
            return memory, memory
        return self.cross.heads(self.cross.w_key, memory), self.cross.heads(self.cross.w_value, memory)

    def forward(
        self,
        x: torch.Tensor,
        mask: torch.Tensor | None,
        memory: Cache | None = None,
        memory_mask: torch.Tensor | None = None,
        past: Cache | None = None,
    ) -> tuple[torch.Tensor, Cache]:
        """(batch, len, width) -> the same, and the keys and values of self-attention so far.

        Without ``memory`` every place sees all places that ``mask`` allows; with it, the places before it.
        """
        normed, first = self.norms[0](x), 0 if past is None else past[0].shape[2]
        query = rotate(self.attention.heads(self.attention.w_query, normed), first)
        key = rotate(self.attention.heads(self.attention.w_key, normed), first)
        value = self.attention.heads(self.attention.w_value, normed)
        if past is not None:
            key, value = torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)
        x = x + self.attention(query, (key, value), mask, causal=memory is not None and x.shape[1] > 1)
        if memory is not None:
            asked = self.norms[1](x)
            if isinstance(self.cross, Attention):
                x = x + self.cross(self.cross.heads(self.cross.w_query, asked), memory, memory_mask)
            else:
                x = x + self.cross(asked, *memory, memory_mask)[0]
        return x + self.feed_forward(self.norms[-1](x)), (key, value)


class TextToText(nn.Module):
    """An encoder-decoder over one vocabulary.

    Args:
        vocabulary_size: ids, the two special ones included.
        pad_id: stands behind short texts, and in front of what the decoder reads (as in T5).
        embedding_dim, num_heads, num_layers: num_layers in the encoder, and as many in the decoder.
    """

    def __init__(
        self, vocabulary_size: int, pad_id: int, embedding_dim: int, num_heads: int, num_layers: int
    ) -> None:
        super().__init__()
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocabulary_size, embedding_dim)
        nn.init.normal_(self.embedding.weight, std=embedding_dim**-0.5)
        self.encoder = nn.ModuleList(Layer(embedding_dim, num_heads, False) for _ in range(num_layers))
        self.decoder = nn.ModuleList(Layer(embedding_dim, num_heads, True) for _ in range(num_layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(embedding_dim), nn.LayerNorm(embedding_dim)

    def attend_with(self, made: Callable[..., nn.Module]) -> None:
        """From now on the decoder attends to what was read with other modules, which get its weights.

        Args:
            made: a class like lab 03's ``MultiHeadAttention``.
        """
        for layer in self.decoder:
            other = made(self.embedding.embedding_dim, layer.attention.num_heads, bias=False)
            other.load_state_dict(layer.cross.state_dict())
            layer.cross = other

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        return self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)

    def read(self, source_ids: torch.Tensor) -> tuple[list[Cache], torch.Tensor]:
        """What the decoder needs of a text: keys and values of each layer, and which places are no padding."""
        real = (source_ids != self.pad_id)[:, None, None, :]  # (batch, 1, 1, len)
        x = self.embed(source_ids)
        for layer in self.encoder:
            x, _ = layer(x, real)
        memory = self.encoder_norm(x)
        return [layer.remembered(memory) for layer in self.decoder], real

    def continued(
        self,
        ids: torch.Tensor,
        memory: list[Cache],
        real: torch.Tensor,
        past: Sequence[Cache | None] | None = None,
    ) -> tuple[torch.Tensor, list[Cache]]:
        """Logits at each place, and the cache for the places after them."""
        x, kept = self.embed(ids), []
        for layer, remembered, before in zip(
            self.decoder, memory, past or [None] * len(self.decoder), strict=True
        ):
            x, cache = layer(x, None, remembered, real, before)
            kept.append(cache)
        scale = self.embedding.embedding_dim**-0.5
        return self.decoder_norm(x) @ self.embedding.weight.T * scale * math.sqrt(scale**-1), kept

    def forward(self, source_ids: torch.Tensor, decoder_ids: torch.Tensor) -> torch.Tensor:
        """(batch, source_len), (batch, target_len) -> logits (batch, target_len, vocabulary)."""
        return self.continued(decoder_ids, *self.read(source_ids))[0]


class Writer:
    """A model with its tokenizer: text in, text out.

    Attributes:
        model, tokens: the parts.
        pad_id, end_id: the two ids behind those of the tokens.
    """

    def __init__(self, tokens: BytePairs, model: TextToText | None = None) -> None:
        self.tokens, self.pad_id, self.end_id = tokens, len(tokens), len(tokens) + 1
        self.model = model or TextToText(len(tokens) + 2, self.pad_id, **CONFIG)

    @torch.inference_mode()
    def write(self, sources: Sequence[str], longest: int = 100, at_once: int = 100) -> list[str]:
        """The likeliest next token again and again, for all texts of a batch at once."""
        self.model.eval()
        return [
            text
            for start in range(0, len(sources), at_once)
            for text in self._write(sources[start : start + at_once], longest)
        ]

    def _write(self, sources: Sequence[str], longest: int) -> list[str]:
        memory, real = self.model.read(self.padded([self.tokens.encode(text) for text in sources]))
        ids, past, said = torch.full((len(sources), 1), self.pad_id), None, []
        over = torch.zeros(len(sources), dtype=torch.bool)
        while len(said) < longest and not over.all():
            logits, past = self.model.continued(ids, memory, real, past)
            ids = logits[:, -1:].argmax(-1).masked_fill(over[:, None], self.end_id)  # (batch, 1)
            over |= ids[:, 0] == self.end_id
            said.append(ids)
        return [self.tokens.decode(row) for row in torch.cat(said, 1).tolist()]

    def padded(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """Rows of ids as one tensor, padded behind."""
        width = max(len(row) for row in rows)
        return torch.tensor([[*row, *[self.pad_id] * (width - len(row))] for row in rows])

    def save(self, path: Path = SHIPPED, eight_bits: bool = False) -> None:
        """Weights in 16 bits, or tables of weights in 8, and the tokenizer's merges."""
        from safetensors.numpy import save_file

        arrays = {name: value.detach().numpy() for name, value in self.model.state_dict().items()}
        merges = [[printed(left), printed(right)] for left, right in self.tokens.merges]
        about = {"merges": json.dumps(merges, ensure_ascii=False)}
        if eight_bits:
            in_8_bits.write(path, arrays, about)
        else:
            save_file({name: array.astype(np.float16) for name, array in arrays.items()}, path, about)

    @classmethod
    def shipped(cls, path: Path = SHIPPED) -> Writer:
        """A model with weights that come with the course, and their tokenizer.

        Args:
            path: :data:`SHIPPED`, or :data:`UNFINISHED`.

        Raises:
            FileNotFoundError: the file with the weights is missing.
        """
        if not path.is_file():
            raise FileNotFoundError(
                f"There are no weights at {path}. Copy the course's folder again, or train them."
            )
        arrays, about = in_8_bits.read(path)
        merges = json.loads(about["merges"])
        writer = cls(BytePairs((unprinted(left), unprinted(right)) for left, right in merges))
        writer.model.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
        return writer
