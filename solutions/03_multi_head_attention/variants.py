"""Correct versions of lab 03's exercises in other styles, as different learners would write them."""

# Each one is handed in alone, in place of the reference: what it needs besides np, torch, nn, softmax and
# scaled_dot_product_attention is imported or defined inside.

import numpy as np
import torch
from torch import nn

from course_utils.maths import scaled_dot_product_attention, softmax
from grader.catalogue import variant

# ---------------------------------------------------------------------------------- multi_head_attention_loop


@variant("multi_head_attention_loop")
def loop_with_cut_matrices(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """Cuts the matrices into equal parts beforehand."""
    cut = [np.split(matrix, num_heads, axis=1) for matrix in (w_query, w_key, w_value)]
    heads = [
        scaled_dot_product_attention(x @ q, memory @ k, memory @ v, mask)
        for q, k, v in zip(*cut, strict=True)
    ]
    found, weights = zip(*heads, strict=True)
    return np.concatenate(found, -1) @ w_output, np.stack(weights, -3)


@variant("multi_head_attention_loop")
def loop_that_adds_up_heads(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """Every head through its own rows of the output matrix, and the sum of them."""
    d_k, d_v = w_query.shape[1] // num_heads, w_value.shape[1] // num_heads
    output, weights = 0, []
    for i in range(num_heads):
        q = np.einsum("...qm,mk->...qk", x, w_query[:, i * d_k : (i + 1) * d_k])
        k = np.einsum("...sm,mk->...sk", memory, w_key[:, i * d_k : (i + 1) * d_k])
        v = np.einsum("...sm,mv->...sv", memory, w_value[:, i * d_v : (i + 1) * d_v])
        context, shares = scaled_dot_product_attention(q, k, v, mask)
        output = output + context @ w_output[i * d_v : (i + 1) * d_v]
        weights.append(shares[..., None, :, :])
    return output, np.concatenate(weights, axis=-3)


@variant("multi_head_attention_loop")
def loop_with_its_own_attention(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """Projects once, takes columns of the result, and writes the attention out with minus infinity."""
    Q, K, V = x @ w_query, memory @ w_key, memory @ w_value
    width, width_v = Q.shape[-1] // num_heads, V.shape[-1] // num_heads
    rows = np.broadcast_shapes(x.shape[:-2], memory.shape[:-2])
    weights = np.zeros((*rows, num_heads, x.shape[-2], memory.shape[-2]))
    side_by_side = np.zeros((*rows, x.shape[-2], V.shape[-1]))
    for h in range(num_heads):
        q, k = (part[..., h * width : (h + 1) * width] for part in (Q, K))
        scores = q @ k.swapaxes(-1, -2) / width**0.5
        if mask is not None:
            scores = np.where(mask, scores, -np.inf)
        top = np.max(scores, axis=-1, keepdims=True)
        exps = np.exp(scores - np.where(np.isfinite(top), top, 0))
        total = exps.sum(-1, keepdims=True)
        share = np.divide(exps, total, out=np.zeros_like(exps), where=total > 0)
        weights[..., h, :, :] = share
        columns = slice(h * width_v, (h + 1) * width_v)
        side_by_side[..., columns] = share @ V[..., columns]
    return side_by_side @ w_output, weights


@variant("multi_head_attention_loop")
def loop_in_single_precision(words, other, wq, wk, wv, wo, h, allowed=None):
    """Calculates in float32, with other names, and joins transposed pieces."""
    words, other, wq, wk, wv, wo = (np.float32(each) for each in (words, other, wq, wk, wv, wo))
    matrices = [w.reshape(w.shape[0], h, -1).transpose(1, 0, 2) for w in (wq, wk, wv)]
    pieces, maps = [], []
    for a, b, c in zip(*matrices, strict=True):
        piece, heat = scaled_dot_product_attention(words @ a, other @ b, other @ c, allowed)
        pieces.append(piece)
        maps.append(heat)
    return np.dot(np.concatenate(pieces, axis=-1), wo), np.moveaxis(np.array(maps), 0, -3)


# ---------------------------------------------------------------------------------- split_heads


@variant("split_heads")
def split_by_moveaxis(x, num_heads):
    """Cuts each row, and moves the axis of the heads."""
    *lead, width = x.shape
    return np.moveaxis(x.reshape(*lead, num_heads, width // num_heads), -2, -3)


@variant("split_heads")
def split_by_slices(x, num_heads):
    """Stacks slices of columns."""
    d = x.shape[-1] // num_heads
    return np.stack([x[..., i * d : i * d + d] for i in range(num_heads)], axis=-3)


@variant("split_heads")
def split_by_np_split(x, num_heads):
    """np.split, and a new axis in front of the words."""
    return np.concatenate([part[..., None, :, :] for part in np.split(x, num_heads, axis=-1)], axis=-3)


@variant("split_heads")
def split_number_by_number(x, num_heads):
    """Copies one number after the other."""
    seq_len, d_k = x.shape[-2], x.shape[-1] // num_heads
    heads = np.empty((*x.shape[:-2], num_heads, seq_len, d_k), dtype=x.dtype)
    for place in np.ndindex(*heads.shape):
        *lead, head, word, feature = place
        heads[place] = x[(*lead, word, head * d_k + feature)]
    return heads


@variant("split_heads")
def split_by_torch(x, num_heads):
    """PyTorch's unflatten and transpose."""
    import torch

    return torch.as_tensor(np.array(x)).unflatten(-1, (num_heads, -1)).transpose(-3, -2)


# ---------------------------------------------------------------------------------- merge_heads


@variant("merge_heads")
def merge_by_moveaxis(heads):
    """Moves the heads behind the words, then joins the last two axes."""
    moved = np.moveaxis(heads, -3, -2)
    return moved.reshape((*moved.shape[:-2], -1))


@variant("merge_heads")
def merge_by_concatenate(heads):
    """Joins head after head along the features."""
    return np.concatenate([heads[..., i, :, :] for i in range(heads.shape[-3])], axis=-1)


@variant("merge_heads")
def merge_number_by_number(heads):
    """Copies one number after the other."""
    *lead, count, seq_len, d_v = heads.shape
    merged = np.zeros((*lead, seq_len, count * d_v))
    for place in np.ndindex(*lead):
        for word in range(seq_len):
            row = []
            for head in range(count):
                row.extend(heads[place][head, word].tolist())
            merged[place][word] = row
    return merged


@variant("merge_heads")
def merge_by_einsum(heads):
    """einsum for the exchange of axes."""
    exchanged = np.einsum("...hsd->...shd", heads)
    return np.reshape(exchanged, (*exchanged.shape[:-2], heads.shape[-3] * heads.shape[-1]))


# ---------------------------------------------------------------------------------- multi_head_attention


@variant("multi_head_attention")
def heads_at_once_by_einsum(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """Matrices with an axis for the heads, and einsum throughout."""
    q, k, v = (w.reshape(w.shape[0], num_heads, -1) for w in (w_query, w_key, w_value))
    queries = np.einsum("...qm,mhd->...hqd", x, q)
    keys = np.einsum("...km,mhd->...hkd", memory, k)
    values = np.einsum("...km,mhd->...hkd", memory, v)
    if mask is not None:
        mask = np.expand_dims(mask, -3)
    context, weights = scaled_dot_product_attention(queries, keys, values, mask)
    out = w_output.reshape(num_heads, -1, w_output.shape[1])
    return np.einsum("...hqd,hdm->...qm", context, out), weights


@variant("multi_head_attention")
def heads_at_once_with_broadcast_matrices(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """Words with an axis of length 1 against a stack of small matrices; the heads are added up."""

    def stack(matrix):
        return np.stack(np.split(matrix, num_heads, axis=-1))

    ask, answer = x[..., None, :, :], memory[..., None, :, :]
    allowed = None if mask is None else mask[..., None, :, :]
    found, weights = scaled_dot_product_attention(
        ask @ stack(w_query), answer @ stack(w_key), answer @ stack(w_value), allowed
    )
    return (found @ np.stack(np.split(w_output, num_heads, axis=0))).sum(axis=-3), weights


@variant("multi_head_attention")
def heads_at_once_with_a_full_mask(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """Copies the mask for each head, and writes the attention out."""
    lead, q_len, k_len = x.shape[:-2], x.shape[-2], memory.shape[-2]

    def split(projected):
        return projected.reshape(*projected.shape[:-1], num_heads, -1).swapaxes(-2, -3)

    q, k, v = split(x @ w_query), split(memory @ w_key), split(memory @ w_value)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        full = np.broadcast_to(mask, (*lead, q_len, k_len))
        full = np.stack([full] * num_heads, axis=-3)
        scores[~full] = -1e9
        weights = softmax(scores, axis=-1)
        weights[~full] = 0
    else:
        weights = softmax(scores)
    context = (weights @ v).swapaxes(-2, -3)
    return context.reshape(*lead, q_len, -1) @ w_output, weights


@variant("multi_head_attention")
def heads_at_once_by_torch(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """PyTorch's tensors in single precision."""
    import torch

    x, memory, w_query, w_key, w_value, w_output = (
        torch.tensor(each, dtype=torch.float32) for each in (x, memory, w_query, w_key, w_value, w_output)
    )
    q = (x @ w_query).unflatten(-1, (num_heads, -1)).transpose(-2, -3)
    k = (memory @ w_key).unflatten(-1, (num_heads, -1)).transpose(-2, -3)
    v = (memory @ w_value).unflatten(-1, (num_heads, -1)).transpose(-2, -3)
    weights = q @ k.mT * q.shape[-1] ** -0.5
    if mask is not None:
        blocked = ~torch.tensor(mask).unsqueeze(-3)
        weights = weights.masked_fill(blocked, -torch.inf).softmax(-1).nan_to_num(0.0)
    else:
        weights = weights.softmax(-1)
    return (weights @ v).transpose(-2, -3).flatten(-2) @ w_output, weights


# ---------------------------------------------------------------------------------- MultiHeadAttention


@variant("MultiHeadAttention")
class AttentionByEinsum(nn.Module):
    """einsum for scores and sums; minus infinity, and NaN turned to 0."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.heads = num_heads
        for name in ("w_query", "w_key", "w_value", "w_output"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=bias))

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.heads, -1))
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(-3).logical_not(), float("-inf"))
        weights = torch.nan_to_num(torch.softmax(scores, dim=-1), nan=0.0)
        return self.w_output(torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2)), weights


@variant("MultiHeadAttention")
class AttentionInALoop(nn.Module):
    """Head after head, with chunks of the projections."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads = num_heads
        self.w_query = nn.Linear(d_model, d_model, bias)
        self.w_key = nn.Linear(d_model, d_model, bias)
        self.w_value = nn.Linear(d_model, d_model, bias)
        self.w_output = nn.Linear(d_model, d_model, bias)

    def forward(self, query, key, value, mask=None):
        chunks = [
            layer(x).chunk(self.num_heads, dim=-1)
            for layer, x in zip((self.w_query, self.w_key, self.w_value), (query, key, value), strict=True)
        ]
        outs, maps = [], []
        for q, k, v in zip(*chunks, strict=True):
            score = torch.bmm(q, k.transpose(1, 2)) / q.size(-1) ** 0.5
            if mask is not None:
                score = torch.where(mask, score, torch.tensor(-1e9))
            share = score.softmax(-1)
            if mask is not None:
                share = share * mask
            outs.append(torch.bmm(share, v))
            maps.append(share)
        return self.w_output(torch.cat(outs, dim=-1)), torch.stack(maps, dim=1)


@variant("MultiHeadAttention")
class AttentionWithBatchedHeads(nn.Module):
    """Heads folded into the batch for bmm, and views after contiguous()."""

    def __init__(self, d_model: int, num_heads: int, bias: bool = True):
        super().__init__()
        assert d_model % num_heads == 0
        self.d_head, self.n_head, self.d_model = d_model // num_heads, num_heads, d_model
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def fold(self, x):
        batch, length, _ = x.shape
        x = x.view(batch, length, self.n_head, self.d_head).permute(0, 2, 1, 3).contiguous()
        return x.view(batch * self.n_head, length, self.d_head)

    def forward(self, query, key, value, mask=None):
        batch, q_len, k_len = query.shape[0], query.shape[1], key.shape[1]
        q, k, v = self.fold(self.w_query(query)), self.fold(self.w_key(key)), self.fold(self.w_value(value))
        scores = torch.baddbmm(torch.zeros(1, 1, 1), q, k.mT, alpha=self.d_head**-0.5)
        weights = scores.view(batch, self.n_head, q_len, k_len)
        if mask is not None:
            allowed = mask.expand(batch, q_len, k_len)[:, None].expand_as(weights)
            weights = weights + torch.zeros_like(weights).masked_fill(~allowed, -1e9)
        weights = torch.nn.functional.softmax(weights, dim=-1)
        if mask is not None:
            weights = weights.where(allowed, 0.0)
        mixed = weights.view(-1, q_len, k_len) @ v
        mixed = mixed.view(batch, self.n_head, q_len, self.d_head).transpose(1, 2).contiguous()
        return self.w_output(mixed.view(batch, q_len, self.d_model)), weights


@variant("MultiHeadAttention")
class AttentionInDoublePrecision(nn.Module):
    """Blocks by a product with the exponentials, in double precision."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.h = num_heads
        self.w_query = nn.Linear(d_model, d_model, bias=bias)
        self.w_key = nn.Linear(d_model, d_model, bias=bias)
        self.w_value = nn.Linear(d_model, d_model, bias=bias)
        self.w_output = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, q, k, v, mask=None):
        q, k, v = (
            linear(x).double().view(x.size(0), x.size(1), self.h, -1).transpose(1, 2)
            for linear, x in ((self.w_query, q), (self.w_key, k), (self.w_value, v))
        )
        logits = q.matmul(k.transpose(2, 3)) / q.size(3) ** 0.5
        allowed = torch.ones_like(logits) if mask is None else mask.unsqueeze(-3).double()
        top = (logits - 1e9 * (1 - allowed)).amax(-1, keepdim=True)
        exps = (logits - top).clamp(max=0).exp() * allowed
        weights = exps / exps.sum(-1, keepdim=True).clamp(min=1e-30)
        output = (weights @ v).transpose(1, 2).flatten(2)
        return self.w_output(output.float()), weights.float()


# ---------------------------------------------------------------------------------- count_parameters


@variant("count_parameters")
def count_matrix_by_matrix(d_model, num_heads, d_k, d_v, bias=True):
    """The four maps one after the other."""
    wide, wide_v = num_heads * d_k, num_heads * d_v
    total = d_model * wide  # query
    total += d_model * wide  # key
    total += d_model * wide_v  # value
    total += wide_v * d_model  # output
    if bias:
        total += wide + wide + wide_v + d_model
    return total


@variant("count_parameters")
def count_by_the_library(d_model, num_heads, d_k, d_v, bias=True):
    """Makes the four layers and asks them."""
    from torch import nn

    sizes = [(d_model, num_heads * d_k)] * 2 + [(d_model, num_heads * d_v), (num_heads * d_v, d_model)]
    return sum(p.numel() for a, b in sizes for p in nn.Linear(a, b, bias=bias).parameters())


@variant("count_parameters")
def count_head_by_head(d_model, num_heads, d_k, d_v, bias=True):
    """What a head costs, times the heads, and the output's bias."""
    extra = int(bias)
    one = 2 * d_k * (d_model + extra) + d_v * (d_model + extra) + d_v * d_model
    return num_heads * one + extra * d_model


@variant("count_parameters")
def count_by_shapes(d_model, num_heads, d_k, d_v, bias=True):
    """Products of shapes, with NumPy."""
    shapes = np.array(
        [
            [d_model, d_k * num_heads],
            [d_model, d_k * num_heads],
            [d_model, d_v * num_heads],
            [d_v * num_heads, d_model],
        ]
    )
    return shapes.prod(axis=1).sum() + (shapes[:, 1].sum() if bias else 0)
