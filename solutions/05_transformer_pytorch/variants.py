"""Correct versions of lab 05's exercises in other styles, as different learners would write them."""

# Each one is handed in alone, in place of the reference. Besides what the set-up cell imports, a version may use the
# exercises above it under their own names; in this file the plain versions below stand in for them. All else is
# imported or defined inside.

import math

import numpy as np
import torch
from torch import nn

from course_utils.models.torch_attention import MultiHeadAttention, sinusoidal_positions
from grader.catalogue import variant

# ---------------------------------------------------------------------------------- the exercises above, plainly


class FeedForward(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        return self.linear2(self.linear1(x).relu())


class _Layer(nn.Module):
    """What the layers of encoder and decoder share."""

    def __init__(self, width, heads, inner, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, norms=2):
        super().__init__()
        self.self_attention = MultiHeadAttention(width, heads)
        self.feed_forward = FeedForward(width, inner)
        for number in range(1, norms + 1):
            setattr(self, f"norm{number}", nn.LayerNorm(width, eps=layernorm_eps))
        self.dropout, self.norm_first = nn.Dropout(dropout_rate), norm_first

    def wrap(self, x, norm, sublayer):
        """Returns the new x, and all else that the sub-layer gives."""
        out, *rest = sublayer(norm(x) if self.norm_first else x)
        x = x + self.dropout(out)
        return x if self.norm_first else norm(x), *rest


class EncoderLayer(_Layer):
    def forward(self, x, mask=None):
        x, _ = self.wrap(x, self.norm1, lambda y: self.self_attention(y, y, y, mask))
        return self.wrap(x, self.norm2, lambda y: [self.feed_forward(y)])[0]


class DecoderLayer(_Layer):
    def __init__(self, width, heads, *rest, **more):
        super().__init__(width, heads, *rest, **more, norms=3)
        self.cross_attention = MultiHeadAttention(width, heads)

    def forward(self, x, memory, target_mask=None, source_mask=None):
        x, own = self.wrap(x, self.norm1, lambda y: self.self_attention(y, y, y, target_mask))
        x, cross = self.wrap(x, self.norm2, lambda y: self.cross_attention(y, memory, memory, source_mask))
        return self.wrap(x, self.norm3, lambda y: [self.feed_forward(y)])[0], own, cross


class _Stack(nn.Module):
    """What encoder and decoder share."""

    def __init__(self, layer, count, width, heads, inner, words, max_len, rate=0.1, eps=1e-6, norm_first=False):
        super().__init__()
        self.embedding, self.dropout = nn.Embedding(words, width), nn.Dropout(rate)
        self.register_buffer("positions", sinusoidal_positions(max_len, width), persistent=False)
        self.layers = nn.ModuleList(layer(width, heads, inner, rate, eps, norm_first) for _ in range(count))
        self.norm = nn.LayerNorm(width, eps=eps) if norm_first else nn.Identity()

    def embed(self, ids):
        return self.dropout(
            self.embedding(ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: ids.size(1)]
        )


class Encoder(_Stack):
    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        sizes = (num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len)
        super().__init__(EncoderLayer, *sizes, dropout_rate, layernorm_eps, norm_first)

    def forward(self, source_ids, mask=None):
        x = self.embed(source_ids)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class Decoder(_Stack):
    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        sizes = (num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len)
        super().__init__(DecoderLayer, *sizes, dropout_rate, layernorm_eps, norm_first)

    def forward(self, target_ids, memory, target_mask=None, source_mask=None):
        x, looks = self.embed(target_ids), []
        for layer in self.layers:
            x, _, look = layer(x, memory, target_mask, source_mask)
            looks.append(look)
        return self.norm(x), looks


def make_masks(source_ids, target_ids, pad_id=0):
    size = target_ids.size(1)
    triangle = torch.ones(size, size, dtype=torch.bool).tril()
    return (source_ids != pad_id)[:, None, None], (target_ids != pad_id)[:, None, None] & triangle


def shift_right(labels, bos_id=1):
    return torch.cat([torch.full_like(labels[:, :1], bos_id), labels[:, :-1]], dim=1)


def label_smoothed_loss(logits, labels, smoothing=0.1, pad_id=0):
    log_p, share = logits.log_softmax(-1), smoothing / (logits.size(-1) - 2)
    q = torch.full_like(log_p, share).scatter(-1, labels[..., None], 1 - smoothing)
    q[..., pad_id] = 0
    real = labels != pad_id
    return -((q * log_p).sum(-1) * real).sum() / real.sum()


# ---------------------------------------------------------------------------------- layer_norm


@variant("layer_norm")
def norm_by_var_mean(x, gamma, beta, eps=1e-6):
    """Both statistics from one call, and rsqrt."""
    variance, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
    return torch.addcmul(beta, gamma, (x - mean) * torch.rsqrt(variance + eps))


@variant("layer_norm")
def norm_by_squares_in_double_precision(x, gamma, beta, eps=1e-6):
    """The mean of the squares minus the square of the mean, in float64."""
    wide = x.double()
    mean = wide.mean(-1, keepdim=True)
    variance = (wide * wide).mean(-1, keepdim=True) - mean * mean
    return (gamma * (wide - mean) / torch.sqrt(variance.clamp(min=0) + eps) + beta).to(x.dtype)


@variant("layer_norm")
def norm_by_a_centring_matrix(x, gamma, beta, eps=1e-6):
    """A matrix that subtracts the mean, and einsum for the squares, in float64."""
    d = x.shape[-1]
    centring = torch.eye(d, dtype=torch.float64) - 1 / d
    centred = x.double() @ centring
    variance = torch.einsum("...i,...i->...", centred, centred) / d
    return (centred / (variance + eps).sqrt().unsqueeze(-1) * gamma + beta).float()


@variant("layer_norm")
def norm_word_by_word(x, gamma, beta, eps=1e-6):
    """A loop over all words, with their lengths."""
    words = []
    for word in x.reshape(-1, x.shape[-1]):
        away = word - word.sum() / len(word)
        variance = torch.linalg.vector_norm(away) ** 2 / len(word)
        words.append(away / (variance + eps) ** 0.5)
    return torch.stack(words).view(x.shape) * gamma + beta


# ---------------------------------------------------------------------------------- FeedForward


@variant("FeedForward")
class NetworkWithClamp(nn.Module):
    """clamp instead of ReLU."""

    def __init__(self, embedding_dim, fully_connected_dim):
        super().__init__()
        self.linear1 = nn.Linear(embedding_dim, fully_connected_dim)
        self.linear2 = nn.Linear(fully_connected_dim, embedding_dim)

    def forward(self, x):
        hidden = torch.clamp(self.linear1(x), min=0.0)
        return self.linear2(hidden)


@variant("FeedForward")
class NetworkOfNamedParts(nn.Sequential):
    """Is itself a sequence, of three named parts."""

    def __init__(self, embedding_dim: int, fully_connected_dim: int) -> None:
        from collections import OrderedDict

        super().__init__(
            OrderedDict(
                linear1=nn.Linear(embedding_dim, fully_connected_dim),
                relu=nn.ReLU(),
                linear2=nn.Linear(fully_connected_dim, embedding_dim),
            )
        )

    def forward(self, x):
        return super().forward(x)


@variant("FeedForward")
class NetworkOfOwnParameters(nn.Module):
    """Linear layers of its own, made of two parameters each."""

    def __init__(self, embedding_dim, fully_connected_dim):
        super().__init__()

        class Affine(nn.Module):
            def __init__(self, wide, narrow):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(narrow, wide) / math.sqrt(wide))
                self.bias = nn.Parameter(torch.zeros(narrow))

            def forward(self, x):
                return torch.einsum("...i,oi->...o", x, self.weight) + self.bias

        self.linear2 = Affine(fully_connected_dim, embedding_dim)
        self.linear1 = Affine(embedding_dim, fully_connected_dim)

    def forward(self, x):
        x = self.linear1(x)
        return self.linear2(x * (x > 0))


@variant("FeedForward")
class NetworkInDoublePrecision(nn.Module):
    """Writes out x W + b in float64, word by word in one long list."""

    def __init__(self, embedding_dim, fully_connected_dim):
        super().__init__()
        self.linear1, self.linear2 = (
            nn.Linear(embedding_dim, fully_connected_dim),
            nn.Linear(fully_connected_dim, embedding_dim),
        )

    def forward(self, x):
        rows = x.flatten(0, -2).double()
        for number, layer in enumerate((self.linear1, self.linear2)):
            rows = torch.addmm(layer.bias.double(), rows, layer.weight.double().T)
            if number == 0:
                rows = torch.where(rows > 0, rows, 0.0)
        return rows.to(x.dtype).view(*x.shape)


# ---------------------------------------------------------------------------------- EncoderLayer


@variant("EncoderLayer")
class LayerOfWrappedSublayers(nn.Module):
    """One method for add & norm, which both sub-layers share."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def add_and_norm(self, x, norm, sublayer):
        if self.norm_first:
            return x + self.dropout(sublayer(norm(x)))
        return norm(x + self.dropout(sublayer(x)))

    def forward(self, x, mask=None):
        x = self.add_and_norm(x, self.norm1, lambda y: self.self_attention(y, y, y, mask)[0])
        return self.add_and_norm(x, self.norm2, self.feed_forward)


@variant("EncoderLayer")
class LayerWithFunctionalDropout(nn.Module):
    """No module for the dropout, a sequence for the network, and two forwards."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        from collections import OrderedDict

        linear1 = nn.Linear(embedding_dim, fully_connected_dim)
        linear2 = nn.Linear(fully_connected_dim, embedding_dim)
        self.self_attention = MultiHeadAttention(d_model=embedding_dim, num_heads=num_heads, bias=True)
        self.feed_forward = nn.Sequential(OrderedDict(linear1=linear1, relu=nn.ReLU(), linear2=linear2))
        self.norm1, self.norm2 = (nn.LayerNorm(embedding_dim, eps=layernorm_eps) for _ in range(2))
        self.p, self.forward_of_kind = dropout_rate, self.pre_norm if norm_first else self.post_norm

    def drop(self, x):
        return nn.functional.dropout(x, self.p, training=self.training)

    def post_norm(self, x, mask):
        attended, _ = self.self_attention(x, x, x, mask=mask)
        middle = self.norm1(x + self.drop(attended))
        return self.norm2(middle + self.drop(self.feed_forward(middle)))

    def pre_norm(self, x, mask):
        normal = self.norm1(x)
        middle = x + self.drop(self.self_attention(normal, normal, normal, mask=mask)[0])
        return middle + self.drop(self.feed_forward(self.norm2(middle)))

    def forward(self, x, mask=None):
        return self.forward_of_kind(x, mask)


@variant("EncoderLayer")
class LayerInALoop(nn.Module):
    """A loop over pairs of LayerNorm and sub-layer, and a dropout for each of them."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.norm_first = bool(norm_first)
        self.dropout1, self.dropout2 = nn.Dropout(p=dropout_rate), nn.Dropout(p=dropout_rate)
        self.norm1 = nn.LayerNorm([embedding_dim], eps=layernorm_eps)
        self.norm2 = nn.LayerNorm([embedding_dim], eps=layernorm_eps)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)

    def forward(self, x, mask=None):
        parts = [(self.norm1, self.self_attention, self.dropout1), (self.norm2, self.feed_forward, self.dropout2)]
        for norm, sublayer, dropout in parts:
            before = norm(x) if self.norm_first else x
            if isinstance(sublayer, MultiHeadAttention):
                result = sublayer(before, before, before, mask)[0]
            else:
                result = sublayer(before)
            x = torch.add(x, dropout(result))
            if not self.norm_first:
                x = norm(x)
        return x


@variant("EncoderLayer")
class LayerInDoublePrecision(nn.Module):
    """Its own attention with minus infinity, its own LayerNorm, in float64."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.self_attention = nn.ModuleDict(
            {f"w_{role}": nn.Linear(embedding_dim, embedding_dim) for role in ("query", "key", "value", "output")}
        )
        self.feed_forward = nn.ModuleDict(
            {
                "linear1": nn.Linear(embedding_dim, fully_connected_dim),
                "linear2": nn.Linear(fully_connected_dim, embedding_dim),
            }
        )
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.heads, self.rate, self.first = num_heads, dropout_rate, norm_first

    def linear(self, layer, x):
        return x @ layer.weight.double().mT + layer.bias.double()

    def normalise(self, norm, x):
        variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
        return (x - mean) / (variance + norm.eps).sqrt() * norm.weight.double() + norm.bias.double()

    def attend(self, x, mask):
        q, k, v = (
            self.linear(self.self_attention[f"w_{role}"], x).unflatten(-1, (self.heads, -1))
            for role in ("query", "key", "value")
        )
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask, scores, -torch.inf)
        found = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1).nan_to_num(0.0), v)
        return self.linear(self.self_attention["w_output"], found.flatten(-2))

    def think(self, x, mask):
        inner = self.linear(self.feed_forward["linear1"], x)
        return self.linear(self.feed_forward["linear2"], torch.relu(inner))

    def forward(self, x, mask=None):
        kind, x = x.dtype, x.double()
        for norm, sublayer in ((self.norm1, self.attend), (self.norm2, self.think)):
            given = sublayer(self.normalise(norm, x) if self.first else x, mask)
            if self.training:
                given = nn.functional.dropout(given, self.rate)
            x = x + given
            x = x if self.first else self.normalise(norm, x)
        return x.to(kind)


# ---------------------------------------------------------------------------------- Encoder


@variant("Encoder")
class EncoderInTheOrdinaryWay(nn.Module):
    """A list comprehension for the layers, and a slice of the positions."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()
        self.layers = nn.ModuleList(
            [
                EncoderLayer(
                    embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
                )
                for _ in range(num_layers)
            ]
        )

    def forward(self, source_ids, mask=None):
        batch, length = source_ids.shape
        x = self.embedding(source_ids) * self.embedding.weight.shape[1] ** 0.5
        x += self.positions[:length].unsqueeze(0).expand(batch, -1, -1)
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


@variant("Encoder")
class EncoderOfCopies(nn.Module):
    """Deep copies of a layer in an nn.Sequential, which reduce walks through; positions looked up like words."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        from copy import deepcopy

        first = EncoderLayer(
            embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        )
        self.layers = nn.Sequential(*(deepcopy(first) for _ in range(num_layers)))
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        nn.init.normal_(self.embedding.weight, std=1 / math.sqrt(embedding_dim))
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout_rate = dropout_rate
        if norm_first:
            self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps)

    def forward(self, source_ids, mask=None):
        from functools import reduce

        places = torch.arange(source_ids.shape[-1]).expand_as(source_ids)
        scaled = self.embedding.weight * math.sqrt(self.embedding.embedding_dim)
        x = nn.functional.embedding(source_ids, scaled) + nn.functional.embedding(places, self.positions)
        x = nn.functional.dropout(x, p=self.dropout_rate, training=self.training)
        x = reduce(lambda y, layer: layer(y, mask=mask), self.layers, x)
        return self.norm(x) if hasattr(self, "norm") else x


@variant("Encoder")
class EncoderWithADictOfLayers(nn.Module):
    """Layers in a dict, numbered; scales with a stored factor, and looks words up with one-hot vectors."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.positions = sinusoidal_positions(max_len, embedding_dim)  # no device to move to, so a plain attribute
        self.dropout = nn.Dropout(dropout_rate)
        self.scale = math.sqrt(embedding_dim)
        self.norm_first = norm_first
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else None
        self.layers = nn.ModuleDict()
        for i in range(num_layers):
            self.layers[str(i)] = EncoderLayer(
                embedding_dim, num_heads, fully_connected_dim,
                dropout_rate=dropout_rate, layernorm_eps=layernorm_eps, norm_first=norm_first,
            )

    def forward(self, source_ids, mask=None):
        one_hot = nn.functional.one_hot(source_ids, self.embedding.num_embeddings).float()
        x = one_hot @ self.embedding.weight * self.scale
        x = torch.stack([x[:, i] + self.positions[i] for i in range(source_ids.shape[1])], dim=1)
        x = self.dropout(x)
        for i in range(len(self.layers)):
            x = self.layers[str(i)](x, mask)
        if self.norm_first:
            x = self.norm(x)
        return x


@variant("Encoder")
class EncoderWithItsOwnLayers(nn.Module):
    """Defines its layer inside, adds the layers one by one, and sums in float64 before the first of them."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
                self.feed_forward = nn.Module()
                self.feed_forward.linear1 = nn.Linear(embedding_dim, fully_connected_dim)
                self.feed_forward.linear2 = nn.Linear(fully_connected_dim, embedding_dim)
                self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
                self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
                self.drop = nn.Dropout(dropout_rate)

            def network(self, y):
                return self.feed_forward.linear2(self.feed_forward.linear1(y).clamp(min=0))

            def forward(self, y, mask):
                if norm_first:
                    n = self.norm1(y)
                    y = y + self.drop(self.self_attention(n, n, n, mask)[0])
                    return y + self.drop(self.network(self.norm2(y)))
                y = self.norm1(y + self.drop(self.self_attention(y, y, y, mask)[0]))
                return self.norm2(y + self.drop(self.network(y)))

        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim))
        self.dropout = nn.Dropout(dropout_rate)
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else (lambda y: y)
        self.layers = nn.ModuleList()
        while len(self.layers) < num_layers:
            self.layers.append(Block())

    def forward(self, source_ids, mask=None):
        x = self.embedding(source_ids).double()
        x = torch.add(self.positions.double().narrow(0, 0, x.size(1)), x, alpha=x.size(2) ** 0.5)
        x = self.dropout(x.float())
        for block in iter(self.layers):
            x = block(x, mask)
        return self.norm(x)


# ---------------------------------------------------------------------------------- DecoderLayer


@variant("DecoderLayer")
class DecoderLayerWithAClosure(nn.Module):
    """A function inside forward wraps each sub-layer; the weights fall out at the side."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        weights = []

        def look(attention, y, keys, mask):
            out, found = attention(y, keys, keys, mask)
            weights.append(found)
            return out

        for norm, sublayer in (
            (self.norm1, lambda y: look(self.self_attention, y, y, target_mask)),
            (self.norm2, lambda y: look(self.cross_attention, y, memory, source_mask)),
            (self.norm3, self.feed_forward),
        ):
            if self.norm_first:
                x = x + self.dropout(sublayer(norm(x)))
            else:
                x = norm(x + self.dropout(sublayer(x)))
        return x, *weights


@variant("DecoderLayer")
class DecoderLayerWrittenOut(nn.Module):
    """Line after line, with functional dropout and early returns."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        for name in ("self_attention", "cross_attention"):
            self.add_module(name, MultiHeadAttention(embedding_dim, num_heads))
        for i in (1, 2, 3):
            self.register_module(f"norm{i}", nn.LayerNorm(embedding_dim, eps=layernorm_eps))
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.rate, self.norm_first = dropout_rate, norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        drop = nn.functional.dropout
        p, training = self.rate, self.training
        if self.norm_first:
            y = self.norm1(x)
            y, first = self.self_attention(query=y, key=y, value=y, mask=target_mask)
            x = x + drop(y, p, training)
            y, second = self.cross_attention(query=self.norm2(x), key=memory, value=memory, mask=source_mask)
            x = x + drop(y, p, training)
            y = self.feed_forward(self.norm3(x))
            return x + drop(y, p, training), first, second
        y, first = self.self_attention(query=x, key=x, value=x, mask=target_mask)
        x = self.norm1(x + drop(y, p, training))
        y, second = self.cross_attention(query=x, key=memory, value=memory, mask=source_mask)
        x = self.norm2(x + drop(y, p, training))
        return self.norm3(x + drop(self.feed_forward(x), p, training)), first, second


@variant("DecoderLayer")
class DecoderLayerInDoublePrecision(nn.Module):
    """Attention by bmm over heads in the batch, with -1e9, in float64; three dropouts."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()

        def four():
            roles = ("query", "key", "value", "output")
            return nn.ModuleDict({f"w_{role}": nn.Linear(embedding_dim, embedding_dim) for role in roles})

        self.self_attention, self.cross_attention = four(), four()
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(embedding_dim, eps=layernorm_eps) for _ in range(3))
        self.dropouts = nn.ModuleList(nn.Dropout(dropout_rate) for _ in range(3))
        self.num_heads, self.norm_first = num_heads, norm_first

    def attend(self, matrices, asking, asked, mask):
        batch, q_len, width = asking.shape
        k_len, h = asked.shape[1], self.num_heads

        def heads(name, x):
            projected = matrices[name](x).double().view(batch, -1, h, width // h)
            return projected.transpose(1, 2).reshape(batch * h, -1, width // h)

        q, k, v = heads("w_query", asking), heads("w_key", asked), heads("w_value", asked)
        scores = torch.bmm(q, k.transpose(1, 2)).div(math.sqrt(width // h)).view(batch, h, q_len, k_len)
        if mask is not None:
            scores = scores - 1e9 * (~mask).double()
        weights = torch.softmax(scores, dim=3)
        together = torch.bmm(weights.view(batch * h, q_len, k_len), v).view(batch, h, q_len, -1)
        together = together.transpose(1, 2).reshape(batch, q_len, width)
        return matrices["w_output"](together.float()), weights.float()

    def forward(self, x, memory, target_mask=None, source_mask=None):
        pre, (drop1, drop2, drop3) = self.norm_first, self.dropouts
        y = self.norm1(x) if pre else x
        out, self_weights = self.attend(self.self_attention, y, y, target_mask)
        x = x + drop1(out) if pre else self.norm1(x + drop1(out))
        y = self.norm2(x) if pre else x
        out, cross_weights = self.attend(self.cross_attention, y, memory, source_mask)
        x = x + drop2(out) if pre else self.norm2(x + drop2(out))
        y = self.norm3(x) if pre else x
        x = x + drop3(self.feed_forward(y)) if pre else self.norm3(x + drop3(self.feed_forward(y)))
        return x, self_weights, cross_weights


@variant("DecoderLayer")
class DecoderLayerOfConnections(nn.Module):
    """A residual connection as a module that borrows its LayerNorm."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()

        class Connection(nn.Module):
            def __init__(self, norm):
                super().__init__()
                self.borrowed = [norm]  # in a list: its parameters belong to the layer
                self.dropout = nn.Dropout(dropout_rate)

            def forward(self, x, sublayer, *arguments):
                norm = self.borrowed[0]
                result = sublayer(norm(x) if norm_first else x, *arguments)
                out, extra = result if isinstance(result, tuple) else (result, None)
                out = x + self.dropout(out)
                return (out if norm_first else norm(out)), extra

        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.connections = nn.ModuleList(Connection(norm) for norm in (self.norm1, self.norm2, self.norm3))

    def forward(self, x, memory, target_mask=None, source_mask=None):
        one, two, three = self.connections
        x, self_weights = one(x, lambda y, mask: self.self_attention(y, y, y, mask), target_mask)
        x, cross_weights = two(x, self.cross_attention, memory, memory, source_mask)
        x, _ = three(x, self.feed_forward)
        return x, self_weights, cross_weights


# ---------------------------------------------------------------------------------- Decoder


@variant("Decoder")
class DecoderInTheOrdinaryWay(nn.Module):
    """A loop and a list that grows."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(target_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.layers = nn.ModuleList([DecoderLayer(*sizes) for _ in range(num_layers)])

    def forward(self, target_ids, memory, target_mask=None, source_mask=None):
        x = self.embedding(target_ids) * math.sqrt(memory.shape[-1]) + self.positions[: target_ids.shape[1]]
        x = self.dropout(x)
        cross_attention = []
        for layer in self.layers:
            x, _, weights = layer(x, memory, target_mask, source_mask)
            cross_attention.append(weights)
        return self.norm(x), cross_attention


@variant("Decoder")
class DecoderThatCallsItself(nn.Module):
    """Recursion over the layers; one-hot vectors for the words, and a tuple of weights."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(target_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.rate = dropout_rate
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else None
        self.layers = nn.Sequential()
        for i in range(num_layers):
            layer = DecoderLayer(
                embedding_dim, num_heads, fully_connected_dim,
                dropout_rate=dropout_rate, layernorm_eps=layernorm_eps, norm_first=norm_first,
            )
            self.layers.add_module(str(i), layer)

    def climb(self, i, x, *rest):
        if i == len(self.layers):
            return x, ()
        x, _, here = self.layers[i](x, *rest)
        x, above = self.climb(i + 1, x, *rest)
        return x, (here, *above)

    def forward(self, target_ids, memory, target_mask=None, source_mask=None):
        words = torch.nn.functional.one_hot(target_ids, self.embedding.num_embeddings).to(memory.dtype)
        x = torch.einsum("btv,ve->bte", words, self.embedding.weight) * self.embedding.embedding_dim**0.5
        x = x + self.positions.index_select(0, torch.arange(x.shape[1]))
        x = torch.dropout(x, self.rate, self.training)
        x, weights = self.climb(0, x, memory, target_mask, source_mask)
        return (x if self.norm is None else self.norm(x)), list(weights)


@variant("Decoder")
class DecoderWithHooks(nn.Module):
    """Hooks on the layers note what each of them looked at."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(target_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(num_layers))
        self.noted = []
        for layer in self.layers:
            layer.register_forward_hook(lambda module, given, result: self.noted.append(result[2]))

    def forward(self, target_ids, memory, target_mask=None, source_mask=None):
        self.noted = []
        x = math.sqrt(self.embedding.embedding_dim) * self.embedding(target_ids).double()
        x = self.dropout((x + self.positions[None, : target_ids.size(1), :].double()).float())
        for i in range(len(self.layers)):
            x = self.layers[i](x, memory, target_mask=target_mask, source_mask=source_mask)[0]
        return self.norm(x), self.noted


@variant("Decoder")
class DecoderWithItsOwnLayers(nn.Module):
    """Its layers are dicts of parts, and their calculation stands in one function here."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()

        def parts():
            found = nn.ModuleDict()
            for name in ("self_attention", "cross_attention"):
                found[name] = MultiHeadAttention(embedding_dim, num_heads)
            linear1 = nn.Linear(embedding_dim, fully_connected_dim)
            linear2 = nn.Linear(fully_connected_dim, embedding_dim)
            found["feed_forward"] = nn.ModuleDict({"linear1": linear1, "linear2": linear2})
            for i in range(3):
                found[f"norm{i + 1}"] = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
            return found

        self.embedding = nn.Embedding(target_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        self.layers = nn.ModuleList([parts() for _ in range(num_layers)])
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()
        self.norm_first = norm_first

    def add(self, x, norm, sublayer):
        """The sub-layer's result onto x, and the LayerNorm where it belongs."""
        result = sublayer(norm(x)) if self.norm_first else sublayer(x)
        total = x + self.dropout(result)
        return total if self.norm_first else norm(total)

    def forward(self, target_ids, memory, target_mask=None, source_mask=None):
        looks = []

        def cross(part, y):
            y, weights = part(y, memory, memory, source_mask)
            looks.append(weights)
            return y

        def network(part, y):
            return part["linear2"](nn.functional.relu(part["linear1"](y)))

        scaled = self.embedding(target_ids).mul(self.positions.size(1) ** 0.5)
        x = self.dropout(scaled.add(self.positions[: scaled.size(1)]))
        for layer in self.layers:
            x = self.add(x, layer["norm1"], lambda y, a=layer["self_attention"]: a(y, y, y, target_mask)[0])
            x = self.add(x, layer["norm2"], lambda y, a=layer["cross_attention"]: cross(a, y))
            x = self.add(x, layer["norm3"], lambda y, part=layer["feed_forward"]: network(part, y))
        return self.norm(x), looks


# ---------------------------------------------------------------------------------- make_masks


@variant("make_masks")
def masks_by_comparing_places(source_ids, target_ids, pad_id=0):
    """Two arange, a row and a column, with unsqueeze."""
    source_mask = source_ids.ne(pad_id).unsqueeze(1).unsqueeze(2)
    place = torch.arange(target_ids.size(-1))
    past = place.unsqueeze(0) <= place.unsqueeze(1)
    return source_mask, torch.logical_and(target_ids.ne(pad_id)[:, None, None, :], past[None, None])


@variant("make_masks")
def masks_number_by_number(source_ids, target_ids, pad_id=0):
    """Loops over batch, rows and columns."""
    batch, s, t = source_ids.shape[0], source_ids.shape[1], target_ids.shape[1]
    source_mask = torch.zeros((batch, 1, 1, s), dtype=torch.bool)
    target_mask = torch.zeros((batch, 1, t, t), dtype=torch.bool)
    for b in range(batch):
        for j in range(s):
            source_mask[b, 0, 0, j] = source_ids[b, j].item() != pad_id
        for i in range(t):
            for j in range(i + 1):
                target_mask[b, 0, i, j] = target_ids[b, j].item() != pad_id
    return source_mask, target_mask


@variant("make_masks")
def masks_from_lengths(source_ids, target_ids, pad_id=0):
    """Counts the words, since padding is at the end, and takes the smaller of two limits."""

    def lengths(ids):
        return torch.count_nonzero(ids - pad_id, dim=1).view(-1, 1, 1, 1)

    columns = torch.arange(max(source_ids.size(1), target_ids.size(1)))
    t = target_ids.size(1)
    row_limit = torch.minimum(torch.arange(1, t + 1).view(1, 1, t, 1), lengths(target_ids))
    return columns[: source_ids.size(1)] < lengths(source_ids), columns[:t] < row_limit


@variant("make_masks")
def masks_in_numpy(source_ids, target_ids, pad_id=0):
    """NumPy's upper triangle, blocked, turned over at the end."""
    source, target = np.asarray(source_ids), np.asarray(target_ids)
    future = np.triu(np.ones((target.shape[1],) * 2), k=1).astype(bool)
    blocked = future[None] | (target == pad_id)[:, None, :]
    return torch.tensor(source != pad_id)[:, None, None], torch.tensor(~blocked).unsqueeze(1)


# ---------------------------------------------------------------------------------- Transformer


@variant("Transformer")
class TransformerWithMasksInside(nn.Module):
    """Makes its masks itself, and calls everything by keyword."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        same = {"max_len": max_len, "dropout_rate": dropout_rate}
        same |= {"layernorm_eps": layernorm_eps, "norm_first": norm_first}
        sizes = (num_layers, embedding_dim, num_heads, fully_connected_dim)
        self.encoder = Encoder(*sizes, source_vocab_size=source_vocab_size, **same)
        self.decoder = Decoder(*sizes, target_vocab_size=target_vocab_size, **same)
        self.final_linear = nn.Linear(embedding_dim, target_vocab_size)

    def forward(self, source_ids, target_ids):
        source_mask = (source_ids != 0).reshape(len(source_ids), 1, 1, -1)
        place = torch.arange(target_ids.shape[1])
        target_mask = (target_ids > 0)[:, None, None, :] & (place[:, None] >= place)[None, None]
        memory = self.encoder(source_ids, mask=source_mask)
        states, looks = self.decoder(target_ids, memory, target_mask=target_mask, source_mask=source_mask)
        return self.final_linear(states), looks


@variant("Transformer")
class TransformerInSmallMethods(nn.Module):
    """encode and decode as methods, and the last layer by einsum in float64."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        before = (num_layers, embedding_dim, num_heads, fully_connected_dim)
        behind = (max_len, dropout_rate, layernorm_eps, norm_first)
        self.final_linear = nn.Linear(embedding_dim, target_vocab_size, bias=True)
        self.decoder = Decoder(*before, target_vocab_size, *behind)
        self.encoder = Encoder(*before, source_vocab_size, *behind)

    def encode(self, source_ids, source_mask):
        return self.encoder(source_ids, source_mask)

    def decode(self, target_ids, memory, target_mask, source_mask):
        x, looks = self.decoder(target_ids, memory, target_mask, source_mask)
        logits = torch.einsum("bte,ve->btv", x.double(), self.final_linear.weight.double())
        return (logits + self.final_linear.bias.double()).float(), looks

    def forward(self, source_ids, target_ids):
        source_mask, target_mask = make_masks(source_ids, target_ids)
        memory = self.encode(source_ids, source_mask)
        return self.decode(target_ids, memory, target_mask, source_mask)


@variant("Transformer")
class TransformerInOneClass(nn.Module):
    """One class: the parts are dicts under the right names, and one function runs both stacks."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()

        def layer(attentions):
            parts = {name: MultiHeadAttention(embedding_dim, num_heads) for name in attentions}
            parts["feed_forward"] = FeedForward(embedding_dim, fully_connected_dim)
            for i in range(len(attentions) + 1):
                parts[f"norm{i + 1}"] = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
            return nn.ModuleDict(parts)

        def stack(vocab_size, *attentions):
            parts = {
                "embedding": nn.Embedding(vocab_size, embedding_dim),
                "layers": nn.ModuleList(layer(attentions) for _ in range(num_layers)),
            }
            if norm_first:
                parts["norm"] = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
            return nn.ModuleDict(parts)

        self.encoder = stack(source_vocab_size, "self_attention")
        self.decoder = stack(target_vocab_size, "self_attention", "cross_attention")
        self.final_linear = nn.Linear(embedding_dim, target_vocab_size)
        self.dropout, self.norm_first = nn.Dropout(dropout_rate), norm_first
        self.register_buffer("waves", sinusoidal_positions(max_len, embedding_dim), persistent=False)

    def run(self, parts, ids, mask, memory=None, memory_mask=None):
        x = self.waves[: ids.shape[1]] + self.waves.shape[1] ** 0.5 * parts["embedding"](ids)
        x, looks = self.dropout(x), []
        for layer in parts["layers"]:
            steps = ["self_attention", "feed_forward"]
            if memory is not None:
                steps.insert(1, "cross_attention")
            for i, name in enumerate(steps):
                norm = layer[f"norm{i + 1}"]
                y = norm(x) if self.norm_first else x
                if name == "self_attention":
                    y, _ = layer[name](y, y, y, mask)
                elif name == "cross_attention":
                    y, look = layer[name](y, memory, memory, memory_mask)
                    looks.append(look)
                else:
                    y = layer[name](y)
                x = x + self.dropout(y)
                x = x if self.norm_first else norm(x)
        return (parts["norm"](x) if self.norm_first else x), looks

    def forward(self, source_ids, target_ids):
        real = source_ids[:, None, None, :] != 0
        size = target_ids.shape[1]
        past = torch.tril(torch.ones((size, size), dtype=torch.long)) == 1
        memory, _ = self.run(self.encoder, source_ids, real)
        x, looks = self.run(self.decoder, target_ids, past & (target_ids[:, None, None, :] != 0), memory, real)
        return self.final_linear(x), looks


@variant("Transformer")
class TransformerSentenceBySentence(nn.Module):
    """Cuts the source's padding off, and runs one sentence after the other."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.encoder = Encoder(
            num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size,
            max_len, dropout_rate, layernorm_eps, norm_first,
        )
        self.decoder = Decoder(
            num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size,
            max_len, dropout_rate, layernorm_eps, norm_first,
        )
        self.final_linear = nn.Linear(embedding_dim, target_vocab_size)

    def forward(self, source_ids, target_ids):
        logits, looks = [], []
        for source, target in zip(source_ids, target_ids, strict=True):
            words = source[source != 0][None]
            causal = torch.ones(len(target), len(target)).tril().bool()
            mask = causal[None, None] & (target != 0)
            x, found = self.decoder(target[None], self.encoder(words), mask)
            missing = len(source) - words.shape[1]
            looks.append([nn.functional.pad(weights, (0, missing)) for weights in found])
            logits.append(self.final_linear(x))
        return torch.cat(logits), [torch.cat(weights) for weights in zip(*looks, strict=True)]


# ---------------------------------------------------------------------------------- shift_right


@variant("shift_right")
def shifted_by_roll(labels, bos_id=1):
    """Rolls a copy, then writes BOS into the first column."""
    shifted = labels.roll(1, dims=1)
    shifted[:, 0] = bos_id
    return shifted


@variant("shift_right")
def shifted_by_pad(labels, bos_id=1):
    """Pads one column on the left and takes one away on the right."""
    return torch.nn.functional.pad(labels, (1, -1), value=bos_id)


@variant("shift_right")
def shifted_into_a_new_tensor(labels, bos_id=1):
    """A tensor full of BOS, into which the labels are copied."""
    decoder_input = labels.new_full(labels.shape, bos_id)
    decoder_input[:, 1:] = labels[:, :-1]
    return decoder_input


@variant("shift_right")
def shifted_as_lists(labels, bos_id=1):
    """Python's lists, row by row."""
    return torch.tensor([[bos_id, *row][: len(row)] for row in labels.tolist()], dtype=labels.dtype)


@variant("shift_right")
def shifted_by_hstack(labels, bos_id=1):
    """A column of BOS from ones, beside the labels."""
    column = bos_id * torch.ones(labels.shape[0], 1, dtype=labels.dtype, device=labels.device)
    return torch.hstack([column, labels])[:, : labels.shape[1]]


# ---------------------------------------------------------------------------------- label_smoothed_loss


@variant("label_smoothed_loss")
def loss_in_two_terms(logits, labels, smoothing=0.1, pad_id=0):
    """The label's term, and the sum of all log-probabilities without two of them."""
    log_p = torch.log_softmax(logits, dim=-1)
    right = log_p.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    others = log_p.sum(dim=-1) - right - log_p[..., pad_id]
    losses = -(1 - smoothing) * right - smoothing / (logits.shape[-1] - 2) * others
    return losses[labels != pad_id].mean()


@variant("label_smoothed_loss")
def loss_by_cross_entropy_with_distributions(logits, labels, smoothing=0.1, pad_id=0):
    """PyTorch's cross-entropy with wanted probabilities, for the real positions only."""
    from torch.nn import functional as F

    real = labels != pad_id
    classes, few = logits.size(-1), labels[real]
    wanted = F.one_hot(few, classes).to(logits.dtype)
    others = 1 - wanted
    others[:, pad_id] = 0
    wanted = (1 - smoothing) * wanted + smoothing * others / others.sum(-1, keepdim=True)
    return F.cross_entropy(logits[real], wanted, reduction="mean")


@variant("label_smoothed_loss")
def loss_by_divergence(logits, labels, smoothing=0.1, pad_id=0):
    """Kullback-Leibler divergence plus the entropy of what is wanted."""
    count = logits.shape[-1]
    wanted = torch.full(logits.shape, smoothing / (count - 2), dtype=logits.dtype)
    wanted = wanted.scatter(-1, labels[..., None], 1 - smoothing)
    wanted = wanted.index_fill(-1, torch.tensor([pad_id]), 0.0)
    apart = nn.functional.kl_div(logits.log_softmax(-1), wanted, reduction="none").sum(-1)
    losses = apart - torch.xlogy(wanted, wanted).sum(-1)
    real = (labels != pad_id).float()
    return torch.dot(losses.flatten(), real.flatten()) / real.sum()


@variant("label_smoothed_loss")
def loss_position_by_position(logits, labels, smoothing=0.1, pad_id=0):
    """Loops over sentences, positions and classes."""
    total, count = logits.new_zeros(()), 0
    V = logits.shape[2]
    for b in range(labels.shape[0]):
        for t in range(labels.shape[1]):
            y = int(labels[b, t])
            if y == pad_id:
                continue
            z = logits[b, t] - logits[b, t].max()
            log_p = z - torch.log(torch.exp(z).sum())
            for c in range(V):
                if c == pad_id:
                    continue
                total = total - log_p[c] * ((1 - smoothing) if c == y else smoothing / (V - 2))
            count += 1
    return total / count


@variant("label_smoothed_loss")
def loss_in_double_precision(logits, labels, smoothing=0.1, pad_id=0):
    """logsumexp in float64, a table of wanted rows, one for each label, and a sum by einsum."""
    logits = logits.double()
    log_p = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    V = logits.shape[-1]
    table = torch.eye(V, dtype=torch.float64) * (1 - smoothing - smoothing / (V - 2)) + smoothing / (V - 2)
    table[:, pad_id] = 0  # no share for padding
    table[pad_id, :] = 0  # and a label that is padding wants nothing
    return -torch.einsum("btv,btv->", table[labels], log_p) / (labels != pad_id).sum()


@variant("label_smoothed_loss")
def loss_with_ignore_index(logits, labels, smoothing=0.1, pad_id=0):
    """nll_loss, which leaves padding out by itself, and a mean over classes where the pad column is cut out."""
    log_p = nn.functional.log_softmax(logits, dim=-1).flatten(0, 1)
    flat = labels.flatten()
    nll = nn.functional.nll_loss(log_p, flat, ignore_index=pad_id, reduction="sum")
    words = torch.cat([log_p[:, :pad_id], log_p[:, pad_id + 1 :]], dim=1)
    all_words = -words[flat != pad_id].sum()
    each = smoothing / (words.shape[1] - 1)
    return ((1 - smoothing) * nll + each * (all_words - nll)) / flat.ne(pad_id).sum()


# ---------------------------------------------------------------------------------- warmup_schedule


@variant("warmup_schedule")
def rate_with_a_branch(step, d_model, warmup_steps, factor=1.0):
    """Asks on which side of the peak the step is."""
    peak = factor / math.sqrt(d_model * warmup_steps)
    if step < warmup_steps:
        return peak * step / warmup_steps
    return peak * math.sqrt(warmup_steps / step)


@variant("warmup_schedule")
def rate_by_numpy(step, d_model, warmup_steps, factor=1.0):
    """NumPy's minimum and powers."""
    step, warmup_steps = np.float64(step), np.float64(warmup_steps)
    return factor * np.power(float(d_model), -0.5) * np.minimum(step**-0.5, step * warmup_steps**-1.5)


@variant("warmup_schedule")
def rate_by_logarithms(step, d_model, warmup_steps, factor=1.0):
    """Compares logarithms."""
    log = math.log
    return factor * math.exp(min(-log(step) / 2, log(step) - 1.5 * log(warmup_steps)) - log(d_model) / 2)


@variant("warmup_schedule")
def rate_by_torch(step, d_model, warmup_steps, factor=1.0):
    """A tensor of both terms, in float64."""
    terms = torch.tensor([1 / math.sqrt(step), step / warmup_steps**1.5], dtype=torch.float64)
    return float(terms.min() / d_model**0.5) * factor


# ---------------------------------------------------------------------------------- train_step


@variant("train_step")
def step_with_a_closure(model, optimizer, source_ids, labels, learning_rate, smoothing=0.1):
    """A closure, as for optimizers that ask for the loss themselves."""
    model.train()
    for group in optimizer.param_groups:
        group.update(lr=learning_rate)

    def closure():
        optimizer.zero_grad()
        logits, _ = model(source_ids, shift_right(labels))
        loss = label_smoothed_loss(logits, labels, smoothing)
        loss.backward()
        return loss

    loss = closure()
    optimizer.step()
    return float(loss)


@variant("train_step")
def step_with_gradients_by_hand(model, optimizer, source_ids, labels, learning_rate, smoothing=0.1):
    """Asks autograd for the gradients, and hangs them on the parameters itself."""
    model.train(True)
    for i in range(len(optimizer.param_groups)):
        optimizer.param_groups[i]["lr"] = learning_rate
    decoder_input = torch.cat([torch.ones_like(labels[:, :1]), labels[:, :-1]], dim=-1)
    loss = label_smoothed_loss(model(source_ids, decoder_input)[0], labels, smoothing=smoothing)
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    for weight, gradient in zip(weights, torch.autograd.grad(loss, weights, allow_unused=True), strict=True):
        weight.grad = gradient
    optimizer.step()
    return loss.detach().numpy().item()


@variant("train_step")
def step_with_its_own_loss(model, optimizer, source_ids, labels, learning_rate, smoothing=0.1):
    """Shift and loss written here; clears the model's gradients, before and after."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    model.zero_grad(set_to_none=False)
    reads = labels.roll(1, 1)
    reads[:, 0] = 1
    output = model(source_ids, reads)
    log_p = output[0].log_softmax(-1)
    right = log_p.gather(-1, labels[..., None])[..., 0]
    rest = log_p[..., 1:].sum(-1) - right
    each = (1 - smoothing) * right + smoothing / (log_p.shape[-1] - 2) * rest
    loss = -each.masked_select(labels != 0).mean()
    loss.backward()
    optimizer.step()
    model.zero_grad()
    return loss.item()


@variant("train_step")
def step_after_the_forward_pass(model, optimizer, source_ids, labels, learning_rate, smoothing=0.1):
    """Sets the rate and clears the gradients late, just before they are needed."""
    if not model.training:
        model.train()
    with torch.enable_grad():
        logits = model(source_ids, shift_right(labels))[0]
        loss = label_smoothed_loss(logits, labels, smoothing)
    for weight in model.parameters():
        weight.grad = None
    torch.autograd.backward(loss)
    for group in optimizer.param_groups:
        group["lr"] = float(learning_rate)
    optimizer.step()
    print(f"loss {loss.item():.3f}, learning rate {learning_rate:.2e}")
    return round(loss.item(), 7)


# ---------------------------------------------------------------------------------- greedy_decode


@variant("greedy_decode")
@torch.no_grad()
def decode_a_list_of_columns(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """Collects columns, and stacks them anew at each step."""
    columns = [torch.full((source_ids.shape[0],), bos_id, dtype=torch.long)]
    running = torch.ones(source_ids.shape[0], dtype=torch.bool)
    while running.any() and len(columns) <= max_len:
        logits = model(source_ids, torch.stack(columns, dim=1))[0]
        word = logits.select(1, -1).max(dim=-1).indices
        running = running & (word != eos_id)
        columns.append(torch.where(running, word, pad_id))
    return torch.stack(columns, dim=1)[:, 1:]


@variant("greedy_decode")
def decode_sentence_by_sentence(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """One sentence after the other, as Python lists, filled up at the end."""
    sentences = []
    for i in range(len(source_ids)):
        words = []
        while len(words) < max_len:
            with torch.no_grad():
                logits, _ = model(source_ids[i : i + 1], torch.tensor([[bos_id, *words]]))
            best = logits[0, -1].argmax().item()
            if best == eos_id:
                break
            words.append(best)
        sentences.append(words)
    longest = max(map(len, sentences))
    return torch.tensor([words + [pad_id] * (longest - len(words)) for words in sentences], dtype=torch.long)


@variant("greedy_decode")
@torch.inference_mode()
def decode_and_cut_afterwards(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """Lets ended sentences talk on, and cuts behind their first EOS at the end."""
    ids = source_ids.new_full((source_ids.size(0), 1), bos_id)
    for _ in range(max_len):
        logits, _ = model(source_ids, ids)
        ids = torch.cat([ids, logits[:, -1].topk(1, dim=-1).indices], dim=1)
        if (ids == eos_id).any(dim=1).all():
            break
    written = ids[:, 1:]
    over = (written == eos_id).cumsum(dim=1) > 0
    return written.masked_fill(over, pad_id)


@variant("greedy_decode")
def decode_into_a_full_table(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """A table of max_len columns, made before and returned whole; only unfinished sentences are asked about."""
    table = torch.full((len(source_ids), max_len + 1), pad_id)
    table[:, 0] = bos_id
    open_rows = torch.arange(len(source_ids))
    for step in range(1, max_len + 1):
        if len(open_rows) == 0:
            break
        with torch.no_grad():
            logits, _ = model(source_ids[open_rows], table[open_rows, :step])
        words = logits[:, step - 1].softmax(dim=-1).argmax(dim=-1)
        going_on = words != eos_id
        open_rows, words = open_rows[going_on], words[going_on]
        table[open_rows, step] = words
    return table[:, 1:]


@variant("greedy_decode")
@torch.no_grad()
def decode_as_the_stub_says(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """A growing tensor and a mask of ended sentences."""
    target_ids = torch.full((len(source_ids), 1), bos_id)
    ended = torch.zeros(len(source_ids), dtype=torch.bool)
    for _ in range(max_len):
        word = torch.argmax(model(source_ids, target_ids)[0][:, -1, :], dim=-1)
        ended |= word == eos_id
        word[ended] = pad_id
        target_ids = torch.column_stack([target_ids, word])
        if bool(ended.all()):
            break
    return target_ids[:, 1:]


# ---------------------------------------------------------------------------------- beam_search


@variant("beam_search")
def beam_with_a_heap(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """heapq picks the best of all continuations, hypothesis by hypothesis."""
    import heapq

    def value(hypothesis):
        words, total = hypothesis
        return total / len(words) ** length_penalty

    beam = [((), 0.0)]
    for _ in range(max_len):
        candidates = []
        for words, total in beam:
            if words and words[-1] == eos_id:
                candidates.append((words, total))
                continue
            with torch.no_grad():
                logits = model(source_ids, torch.tensor([[bos_id, *words]]))[0]
            for word, log_p in enumerate(logits[0, -1].log_softmax(-1).tolist()):
                candidates.append(((*words, word), total + log_p))
        beam = heapq.nlargest(beam_size, candidates, key=value)
        if all(words[-1] == eos_id for words, _ in beam):
            break
    words, _ = beam[0]
    ids = words[:-1] if words[-1] == eos_id else words
    return torch.tensor(ids, dtype=torch.long), value(beam[0])


@variant("beam_search")
@torch.no_grad()
def beam_in_one_batch(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """Asks about all open hypotheses in one batch, and topk chooses among them."""
    ended: list[tuple[float, torch.Tensor]] = []  # score and words
    open_ids = torch.full((1, 1), bos_id)
    totals = torch.zeros(1, dtype=torch.float64)
    for step in range(1, max_len + 1):
        logits, _ = model(source_ids.expand(len(open_ids), -1), open_ids)
        log_p = logits[:, -1].double().log_softmax(-1)
        sums = (totals[:, None] + log_p).flatten()
        scores = torch.cat(
            [sums / step**length_penalty, torch.tensor([score for score, _ in ended], dtype=torch.float64)]
        )
        chosen = scores.topk(min(beam_size, len(scores))).indices
        still, sums_of_still, new_ended = [], [], []
        for place in chosen.tolist():
            if place >= len(sums):
                new_ended.append(ended[place - len(sums)])
                continue
            row, word = divmod(place, log_p.shape[1])
            words = torch.cat([open_ids[row], torch.tensor([word])])
            if word == eos_id:
                new_ended.append((scores[place].item(), words[1:-1]))
            else:
                still.append(words)
                sums_of_still.append(sums[place])
        ended = new_ended
        if not still:
            break
        open_ids, totals = torch.stack(still), torch.stack(sums_of_still)
    everything = list(ended)
    if still:
        scores = totals / step**length_penalty
        everything += [(score, words[1:]) for score, words in zip(scores.tolist(), open_ids, strict=True)]
    score, ids = max(everything, key=lambda one: one[0])
    return ids, score


@variant("beam_search")
def beam_of_objects(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """A small class for hypotheses, which sort themselves; only the best continuations of each are looked at."""
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Hypothesis:
        words: tuple = ()
        log_ps: tuple = ()

        @property
        def over(self):
            return eos_id in self.words

        @property
        def score(self):
            return math.fsum(self.log_ps) / max(len(self.words), 1) ** length_penalty

        def __lt__(self, other):
            return self.score > other.score  # the best one comes first

        def continued(self):
            if self.over:
                return [self]
            with torch.inference_mode():
                logits, _ = model(source_ids, torch.tensor([(bos_id, *self.words)]))
            log_p = torch.log_softmax(logits[0, -1], dim=0)
            best = torch.topk(log_p, min(beam_size, len(log_p)))
            return [
                Hypothesis((*self.words, word), (*self.log_ps, found))
                for found, word in zip(best.values.tolist(), best.indices.tolist(), strict=True)
            ]

    beam = [Hypothesis()]
    for _ in range(max_len):
        if all(one.over for one in beam):
            break
        beam = sorted(new for one in beam for new in one.continued())[:beam_size]
    best = beam[0]
    return torch.tensor([word for word in best.words if word != eos_id], dtype=torch.int64), best.score


@variant("beam_search")
@torch.no_grad()
def beam_in_numpy(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """NumPy's argsort over all scores of a step; a hypothesis that has ended has one continuation."""

    def step(beam, left):
        if left == 0 or all(words[-1:] == [eos_id] for words, _ in beam):
            return beam
        longer, totals = [], []
        for words, total in beam:
            if words[-1:] == [eos_id]:
                longer.append(words)
                totals.append(total)
            else:
                row = model(source_ids, torch.tensor([[bos_id, *words]]))[0][0, -1].numpy().astype(np.float64)
                row = row - row.max()
                row = row - np.log(np.exp(row).sum())
                longer += [[*words, word] for word in range(len(row))]
                totals += list(total + row)
        scores = np.array(totals) / np.array([len(words) for words in longer]) ** length_penalty
        best = np.argsort(-scores, kind="stable")[:beam_size]
        return step([(longer[i], totals[i]) for i in best], left - 1)

    words, total = step([([], 0.0)], max_len)[0]
    score = float(total / len(words) ** length_penalty)
    return torch.tensor([word for word in words if word != eos_id], dtype=torch.long), score
