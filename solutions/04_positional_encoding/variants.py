"""Correct versions of lab 04's exercises in other styles, as different learners would write them."""

# Each one is handed in alone, in place of the reference: what it needs besides np, torch and nn is imported
# or defined inside.

import numpy as np
import torch
from torch import nn

from grader.catalogue import variant

# ---------------------------------------------------------------------------------- get_angles


@variant("get_angles")
def angles_by_rates(positions, features, d_model):
    """Multiplies with a rate for each feature, made with a negative power."""
    rates = np.power(10000.0, -(features - features % 2) / np.float64(d_model))
    return positions * rates


@variant("get_angles")
def angles_by_exp_and_log(positions, features, d_model):
    """The power as exp of a logarithm, as many libraries have it."""
    exponent = 2 * np.floor(features / 2) * (-np.log(10000.0) / d_model)
    return positions * np.exp(exponent)


@variant("get_angles")
def angles_by_loops(positions, features, d_model):
    """Each angle by itself, with Python's numbers."""
    table = []
    for (pos,) in positions.tolist():
        row = []
        for k in features[0].tolist():
            i = int(k) // 2
            row.append(pos / (10000 ** ((2 * i) / d_model)))
        table.append(row)
    return np.array(table)


@variant("get_angles")
def angles_by_outer(positions, features, d_model):
    """An outer product of two vectors, in float32."""
    pairs = np.right_shift(features.ravel(), 1).astype(np.float32)
    slow = np.float32(10000) ** (pairs * np.float32(2 / d_model))
    return np.outer(positions.ravel().astype(np.float32), 1 / slow)


# ---------------------------------------------------------------------------------- positional_encoding


@variant("positional_encoding")
def encoding_by_where(max_len, d_model):
    """Chooses between sine and cosine by the feature's number."""
    k = np.arange(d_model)
    angles = np.arange(max_len)[:, None] * 10000.0 ** (-2 * (k // 2) / d_model)
    return np.where(k % 2 == 0, np.sin(angles), np.cos(angles))


@variant("positional_encoding")
def encoding_by_loops(max_len, d_model):
    """Fills in one number after the other."""
    import math

    table = [[0.0] * d_model for _ in range(max_len)]
    for pos in range(max_len):
        for i in range(0, d_model, 2):
            angle = pos / 10000 ** (i / d_model)
            table[pos][i] = math.sin(angle)
            table[pos][i + 1] = math.cos(angle)
    return np.array(table)


@variant("positional_encoding")
def encoding_by_stacking_pairs(max_len, d_model):
    """Sines and cosines as an axis of their own, folded into the features."""
    rates = 1 / 10000 ** (np.arange(0, d_model, 2) / d_model)
    angles = np.einsum("p,i->pi", np.arange(max_len), rates)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(max_len, d_model)


@variant("positional_encoding")
def encoding_by_a_phase(max_len, d_model):
    """A cosine is a sine that is a quarter of a turn ahead."""
    k = np.arange(d_model)
    angles = np.arange(max_len).reshape(-1, 1) / np.power(10000, 2 * (k // 2) / d_model)
    return np.sin(angles + (k % 2) * np.pi / 2)


@variant("positional_encoding")
def encoding_by_torch(max_len, d_model):
    """PyTorch's tensors in float32, as in its own tutorial."""
    import torch

    position = torch.arange(max_len).unsqueeze(1)
    division = torch.exp(torch.arange(0, d_model, 2) * (-np.log(10000.0) / d_model))
    pe = torch.zeros(max_len, d_model)
    pe[:, 0::2] = torch.sin(position * division)
    pe[:, 1::2] = torch.cos(position * division)
    return pe


# ---------------------------------------------------------------------------------- shift_matrix


@variant("shift_matrix")
def shift_block_by_block(offset, d_model):
    """Writes the block of each pair in a loop."""
    M = np.zeros((d_model, d_model))
    for i in range(d_model // 2):
        b = offset / 10000 ** (2 * i / d_model)
        c, s = np.cos(b), np.sin(b)
        M[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[c, s], [-s, c]]
    return M


@variant("shift_matrix")
def shift_by_diagonals(offset, d_model):
    """A main diagonal of cosines, and two beside it of sines with gaps."""
    b = offset * 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    sines = np.zeros(d_model - 1)
    sines[::2] = np.sin(b)
    return np.diag(np.repeat(np.cos(b), 2)) + np.diag(sines, 1) - np.diag(sines, -1)


@variant("shift_matrix")
def shift_by_torch_blocks(offset, d_model):
    """A list of blocks, put on the diagonal by PyTorch."""
    import torch

    blocks = []
    for feature in range(0, d_model, 2):
        b = torch.tensor(offset / 10000 ** (feature / d_model), dtype=torch.float64)
        blocks.append(torch.stack([b.cos(), b.sin(), -b.sin(), b.cos()]).reshape(2, 2))
    return torch.block_diag(*blocks).numpy()


@variant("shift_matrix")
def shift_by_solving(offset, d_model):
    """Finds the matrix from the encodings of two neighbours of each pair, without any formula for it."""
    rates = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    shift = np.zeros((d_model, d_model))
    for i, rate in enumerate(rates):
        places = np.array([0, np.pi / 2])  # two hands at right angles say it all
        now = np.array([np.sin(places), np.cos(places)])
        later = np.array([np.sin(places + offset * rate), np.cos(places + offset * rate)])
        shift[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = later @ np.linalg.inv(now)
    return shift


# ---------------------------------------------------------------------------------- embed_tokens


@variant("embed_tokens")
def embed_by_take(token_ids, table):
    """np.take, and the encoding written out."""
    d_model = table.shape[1]
    x = np.take(table, token_ids, axis=0) * d_model**0.5
    angles = np.arange(token_ids.shape[-1])[:, None] / 10000 ** (np.arange(d_model) // 2 * 2 / d_model)
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return x + angles


@variant("embed_tokens")
def embed_by_one_hot(token_ids, table):
    """A product with one-hot rows."""
    vocabulary, d_model = table.shape
    one_hot = (np.asarray(token_ids)[..., None] == np.arange(vocabulary)).astype(float)
    words = np.sqrt(d_model) * (one_hot @ table)
    k = np.arange(d_model)
    angle = np.arange(words.shape[-2])[:, None] / 10000 ** ((k - k % 2) / d_model)
    return words + np.where(k % 2, np.cos(angle), np.sin(angle))


@variant("embed_tokens")
def embed_by_loops(token_ids, table):
    """Token after token."""
    import math

    d_model = table.shape[-1]
    out = np.zeros((*token_ids.shape, d_model))
    for place in np.ndindex(*token_ids.shape):
        for k in range(d_model):
            angle = place[-1] / 10000 ** (2 * (k // 2) / d_model)
            wave = math.cos(angle) if k % 2 else math.sin(angle)
            out[place][k] = math.sqrt(d_model) * table[token_ids[place], k] + wave
    return out


@variant("embed_tokens")
def embed_by_torch(token_ids, table):
    """PyTorch's embedding function, in float32."""
    import torch

    weights = torch.tensor(table, dtype=torch.float32)
    x = torch.nn.functional.embedding(torch.tensor(token_ids), weights) * weights.shape[1] ** 0.5
    rate = torch.exp(torch.arange(0, x.shape[-1], 2) * (-np.log(10000.0) / x.shape[-1]))
    turned = torch.arange(x.shape[-2])[:, None] * rate
    return x + torch.stack([turned.sin(), turned.cos()], dim=-1).flatten(-2)


# ---------------------------------------------------------------------------------- LearnedPositionalEmbedding


@variant("LearnedPositionalEmbedding")
class PositionsFromAnEmbedding(nn.Module):
    """nn.Embedding, asked for row numbers."""

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        self.max_len = max_len
        self.table = nn.Embedding(max_len, d_model)

    def forward(self, x):
        if x.size(1) > self.max_len:
            raise ValueError(f"at most {self.max_len} tokens, please, not {x.size(1)}")
        return x + self.table(torch.arange(x.size(1), device=x.device))


@variant("LearnedPositionalEmbedding")
class PositionsWithABatchAxis(nn.Module):
    """A parameter, looked up by an index for every sentence of the batch."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.normal_(self.table, std=0.02)

    def forward(self, x):
        batch, seq_len, _ = x.shape
        if not seq_len <= len(self.table):
            raise ValueError("sequence too long for the table of positions")
        rows = torch.arange(seq_len).expand(batch, seq_len)
        return torch.add(x, self.table[rows])


@variant("LearnedPositionalEmbedding")
class PositionsOneByOne(nn.Module):
    """Adds row after row in a loop, out of an embedding's weight."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Embedding(num_embeddings=max_len, embedding_dim=d_model)

    def forward(self, tokens):
        if tokens.shape[-2] > self.table.num_embeddings:
            raise ValueError(f"{tokens.shape[-2]} > {self.table.num_embeddings}")
        steps = [step + self.table.weight[p] for p, step in enumerate(tokens.unbind(1))]
        return torch.stack(steps, dim=1)


@variant("LearnedPositionalEmbedding")
class PositionsByNarrow(nn.Module):
    """Starts from zeros, and narrows the table to the sentence's length."""

    def __init__(self, max_len, d_model):
        nn.Module.__init__(self)
        self.register_parameter("table", nn.Parameter(torch.zeros((max_len, d_model))))

    def forward(self, x):
        if x.shape[1] > self.table.size(0):
            raise ValueError("The table is too short.")
        result = x.clone()
        result += self.table.narrow(0, 0, x.shape[1]).unsqueeze(0)
        return result


# ---------------------------------------------------------------------------------- rotary_embedding


@variant("rotary_embedding")
def rotary_by_complex_numbers(x, positions=None):
    """A pair is a complex number, and a turn a product."""
    if positions is None:
        positions = range(x.shape[-2])
    d_k = x.shape[-1]
    rates = 10000.0 ** (-np.arange(0, d_k, 2) / d_k)
    turn = np.exp(1j * np.multiply.outer(np.array(positions), rates))
    z = (x[..., ::2] + 1j * x[..., 1::2]) * turn
    return np.stack([z.real, z.imag], axis=-1).reshape(x.shape)


@variant("rotary_embedding")
def rotary_by_swapped_neighbours(x, positions=None):
    """cos times x, plus sin times the pairs with their entries exchanged and the sign of one changed."""
    seq_len, d_k = x.shape[-2:]
    where = np.arange(seq_len) if positions is None else np.asarray(positions)
    angle = np.repeat(where[:, None] / 10000 ** (np.arange(0, d_k, 2) / d_k), 2, axis=1)
    other = np.stack([-x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)
    return x * np.cos(angle) + other * np.sin(angle)


@variant("rotary_embedding")
def rotary_by_loops(x, positions=None):
    """Pair after pair with Python's sine and cosine."""
    import math

    out = np.array(x, dtype=float)
    d_k = x.shape[-1]
    for place in np.ndindex(*x.shape[:-1]):
        pos = place[-1] if positions is None else int(positions[place[-1]])
        for i in range(d_k // 2):
            a = pos / 10000 ** (2 * i / d_k)
            u, v = x[place][2 * i], x[place][2 * i + 1]
            out[place][2 * i] = u * math.cos(a) - v * math.sin(a)
            out[place][2 * i + 1] = u * math.sin(a) + v * math.cos(a)
    return out


@variant("rotary_embedding")
def rotary_by_matrices(x, positions=None):
    """A 2 by 2 matrix for each position and pair, by einsum."""
    positions = np.arange(x.shape[-2]) if positions is None else positions
    d_k = x.shape[-1]
    a = positions[:, None] / 10000 ** (np.arange(0, d_k, 2) / d_k)
    turns = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])  # (2, 2, seq_len, pairs)
    pairs = x.reshape(*x.shape[:-1], d_k // 2, 2)
    return np.einsum("ijsp,...spj->...spi", turns, pairs).reshape(x.shape)


@variant("rotary_embedding")
def rotary_by_torch(x, positions=None):
    """PyTorch's complex numbers, in single precision."""
    import torch

    tensor = torch.tensor(x, dtype=torch.float32)
    positions = torch.arange(tensor.shape[-2]) if positions is None else torch.as_tensor(positions)
    rate = 1.0 / (10000 ** (torch.arange(0, tensor.shape[-1], 2).float() / tensor.shape[-1]))
    turn = torch.polar(torch.ones(len(positions), len(rate)), torch.outer(positions.float(), rate))
    pairs = torch.view_as_complex(tensor.reshape(*tensor.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(pairs * turn).flatten(-2).numpy()
