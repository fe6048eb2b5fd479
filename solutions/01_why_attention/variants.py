"""Correct versions of lab 01's exercises in other styles, as different learners would write them."""

# Each one is handed in alone, in place of the reference: what it needs besides np and softmax is imported
# or defined inside.

import numpy as np

from course_utils.maths import softmax
from grader.catalogue import variant

# ---------------------------------------------------------------------------------- rnn_forward


@variant("rnn_forward")
def rnn_with_an_array_of_results(x, w_input, w_hidden, bias, state=None):
    """Projects all words beforehand, and writes each state into its place."""
    *lead, seq_len, _ = x.shape
    d_hidden = len(bias)
    now = np.zeros((*lead, d_hidden)) if state is None else np.array(state, dtype=float)
    drive = np.einsum("...sd,dh->...sh", x, w_input) + bias
    states = np.zeros((*lead, seq_len, d_hidden))
    for t in range(seq_len):
        now = np.tanh(drive[..., t, :] + np.einsum("...h,hg->...g", now, w_hidden))
        states[..., t, :] = now
    return states


@variant("rnn_forward")
def rnn_by_loops(x, w_input, w_hidden, bias, state=None):
    """One number after the other, with Python's own tanh."""
    import math

    states = np.empty((*x.shape[:-1], bias.shape[0]))
    for sentence in np.ndindex(*x.shape[:-2]):
        before = [0.0] * len(bias) if state is None else [float(number) for number in state[sentence]]
        for t in range(x.shape[-2]):
            after = []
            for unit in range(len(bias)):
                total = float(bias[unit])
                for feature in range(x.shape[-1]):
                    total += float(x[sentence][t, feature]) * float(w_input[feature, unit])
                for other in range(len(bias)):
                    total += before[other] * float(w_hidden[other, unit])
                after.append(math.tanh(total))
            states[sentence][t] = before = after
    return states


@variant("rnn_forward")
def rnn_in_single_precision(x, w_input, w_hidden, bias, state=None):
    """Calculates in float32, with the words in front while it reads."""
    words = np.moveaxis(np.asarray(x, np.float32), -2, 0)
    inner, recurrent, shift = (np.asarray(part, np.float32) for part in (w_input, w_hidden, bias))
    hidden = np.float32(0) if state is None else np.asarray(state, np.float32) @ recurrent
    result = []
    for word in words:
        activation = np.tanh(word @ inner + hidden + shift)
        result.append(activation)
        hidden = activation @ recurrent
    return np.moveaxis(np.array(result), 0, -2)


@variant("rnn_forward")
def rnn_with_one_stacked_matrix(x, w_input, w_hidden, bias, state=None):
    """Sets word and state side by side, and multiplies them with one matrix."""
    both = np.concatenate([w_input, w_hidden])
    if state is None:
        state = np.zeros((*x.shape[:-2], len(w_hidden)))
    states = [state]
    for t in range(x.shape[-2]):
        joined = np.concatenate([x[..., t, :], states[-1]], axis=-1)
        states.append(np.tanh(joined @ both + bias))
    return np.stack(states[1:], axis=-2)


@variant("rnn_forward")
def rnn_by_torch(x, w_input, w_hidden, bias, state=None):
    """The same steps with PyTorch's tensors."""
    import torch

    words, inner, recurrent, shift = (
        torch.from_numpy(np.ascontiguousarray(part)) for part in (x, w_input, w_hidden, bias)
    )
    hidden = torch.zeros(*x.shape[:-2], len(bias), dtype=words.dtype)
    if state is not None:
        hidden = torch.from_numpy(np.array(state))
    out = []
    for word in words.unbind(-2):
        hidden = torch.tanh(word @ inner + hidden @ recurrent + shift)
        out.append(hidden)
    return torch.stack(out, -2)


# ---------------------------------------------------------------------------------- additive_scores


@variant("additive_scores")
def additive_by_newaxis(query, key, w_query, w_key, v):
    """Broadcasts queries against keys with new axes."""
    q, k = query @ w_query, key @ w_key
    return np.tanh(q[..., :, np.newaxis, :] + k[..., np.newaxis, :, :]) @ v


@variant("additive_scores")
def additive_by_einsum(query, key, w_query, w_key, v):
    """Uses einsum for the projections and for the last dot product."""
    q = np.einsum("...qi,ia->...qa", query, w_query)
    k = np.einsum("...ki,ia->...ka", key, w_key)
    together = np.expand_dims(q, -2) + np.expand_dims(k, -3)
    return np.einsum("...qka,a->...qk", np.tanh(together), v)


@variant("additive_scores")
def additive_by_loops(query, key, w_query, w_key, v):
    """Every pair of a query and a key by itself."""
    scores = np.zeros((*query.shape[:-1], key.shape[-2]))
    for place in np.ndindex(*query.shape[:-2]):
        for i, asking in enumerate(query[place]):
            for j, answering in enumerate(key[place]):
                scores[place][i, j] = sum(v * np.tanh(asking.dot(w_query) + answering.dot(w_key)))
    return scores


@variant("additive_scores")
def additive_key_after_key(query, key, w_query, w_key, v):
    """One column of scores for each key, set side by side at the end."""
    projected = np.matmul(query, w_query)
    columns = []
    for j in range(key.shape[-2]):
        one = key[..., j : j + 1, :] @ w_key
        columns.append((np.tanh(projected + one) * v).sum(axis=-1))
    return np.stack(columns, axis=-1)


@variant("additive_scores")
def additive_in_single_precision(query, key, w_query, w_key, v):
    """Calculates in float32, over repeated copies."""
    q = np.repeat((query @ w_query).astype("float32")[..., None, :], key.shape[-2], axis=-2)
    k = (key @ w_key).astype("float32")[..., None, :, :]
    return np.dot(np.tanh(q + k), v.astype("float32"))


# ---------------------------------------------------------------------------------- dot_product_scores


@variant("dot_product_scores")
def dot_by_swapaxes(query, key, w=None):
    """Projects the query if there is a matrix, then multiplies with the transposed keys."""
    if w is not None:
        query = query @ w
    return query @ key.swapaxes(-1, -2)


@variant("dot_product_scores")
def dot_by_einsum(query, key, w=None):
    """One einsum for each of the two kinds."""
    if w is None:
        return np.einsum("...qd,...kd->...qk", query, key)
    return np.einsum("...qd,de,...ke->...qk", query, w, key)


@variant("dot_product_scores")
def dot_with_an_identity(query, key, w=None):
    """Takes the identity for the missing matrix, and projects the keys."""
    w = np.eye(query.shape[-1]) if w is None else w
    towards = key @ w.T
    return np.matmul(query, np.moveaxis(towards, -2, -1))


@variant("dot_product_scores")
def dot_by_loops(query, key, w=None):
    """Every pair by itself."""
    scores = np.empty(query.shape[:-1] + key.shape[-2:-1])
    for place in np.ndindex(*query.shape[:-2]):
        for i in range(query.shape[-2]):
            for j in range(key.shape[-2]):
                q = query[place][i] if w is None else query[place][i] @ w
                scores[place][i, j] = sum(float(a) * float(b) for a, b in zip(q, key[place][j], strict=True))
    return scores


# ---------------------------------------------------------------------------------- attend


@variant("attend")
def attend_with_its_own_softmax(query, key, value):
    """Writes the softmax out, with the maximum taken off."""
    scores = np.einsum("...qd,...kd->...qk", query, key)
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exps / exps.sum(axis=-1, keepdims=True)
    return np.einsum("...qk,...kv->...qv", weights, value), weights


@variant("attend")
def attend_with_moved_axes(query, key, value):
    """Scores with the keys' axes exchanged."""
    weights = softmax(query @ np.moveaxis(key, -1, -2), axis=-1)
    return weights @ value, weights


@variant("attend")
def attend_by_loops(query, key, value):
    """Query after query, value after value."""
    context = np.zeros((*query.shape[:-1], value.shape[-1]))
    weights = np.zeros((*query.shape[:-1], key.shape[-2]))
    for place in np.ndindex(*query.shape[:-2]):
        for i, q in enumerate(query[place]):
            fits = np.array([q @ k for k in key[place]])
            shares = np.exp(fits - max(fits))
            shares /= shares.sum()
            weights[place][i] = shares
            for share, v in zip(shares, value[place], strict=True):
                context[place][i] += share * v
    return context, weights


@variant("attend")
def attend_by_torch(query, key, value):
    """PyTorch's tensors and its softmax."""
    import torch

    q, k, v = (torch.tensor(np.asarray(part)) for part in (query, key, value))
    weights = (q @ k.mT).softmax(-1)
    return weights @ v, weights


# ---------------------------------------------------------------------------------- reweight


@variant("reweight")
def reweight_by_broadcasting(x):
    """Multiplies all pairs of words feature by feature, and adds up."""
    similar = (x[..., :, None, :] * x[..., None, :, :]).sum(-1)
    weights = softmax(similar)
    y = (weights[..., None] * x[..., None, :, :]).sum(-2)
    return y, weights


@variant("reweight")
def reweight_by_einsum(x):
    """Dot products and sums by einsum."""
    weights = softmax(np.einsum("...id,...jd->...ij", x, x), axis=-1)
    return np.einsum("...ij,...jd->...id", weights, x), weights


@variant("reweight")
def reweight_by_loops(x):
    """Word after word."""
    y, weights = np.zeros(x.shape), np.zeros((*x.shape[:-1], x.shape[-2]))
    for place in np.ndindex(*x.shape[:-2]):
        sentence = x[place]
        for i in range(len(sentence)):
            row = softmax(np.array([np.dot(sentence[i], other) for other in sentence]))
            weights[place][i] = row
            y[place][i] = sum(share * word for share, word in zip(row, sentence, strict=True))
    return y, weights


@variant("reweight")
def reweight_in_single_precision(words):
    """Calculates in float32, with another name for the argument."""
    words = words.astype(np.float32)
    similar = words @ np.swapaxes(words, -2, -1)
    shares = np.exp(similar - similar.max(-1)[..., None])
    shares /= shares.sum(-1)[..., None]
    return np.matmul(shares, words), shares


# ---------------------------------------------------------------------------------- layer_cost


@variant("layer_cost")
def cost_by_match(kind, n, d, kernel=3):
    """A match statement; the layers of a stack are counted one by one."""
    match kind:
        case "self-attention":
            return n**2 * d, 1, 1
        case "recurrent":
            return n * d**2, n, n
        case "convolutional" | "dilated":
            layers, reach = 1, kernel
            while reach < n:
                layers += 1
                reach = reach * kernel if kind == "dilated" else reach + kernel - 1
            return kernel * n * d**2, 1, layers
    raise ValueError(f"no such layer: {kind!r}")


@variant("layer_cost")
def cost_by_a_table(kind, n, d, kernel=3):
    """A dict of all four, with the stack's depth from a division that rounds up."""
    deep = 1
    while kernel**deep < n:
        deep += 1
    wide = max(1, -(-(n - 1) // (kernel - 1)))
    table = {
        "self-attention": (d * n * n, 1, 1),
        "recurrent": (n * d * d, n, n),
        "convolutional": (kernel * n * d * d, 1, wide),
        "dilated": (kernel * n * d * d, 1, deep),
    }
    if kind not in table:
        raise ValueError(f"I know {', '.join(table)}, but not {kind}.")
    return table[kind]


@variant("layer_cost")
def cost_by_measuring_how_far_a_layer_sees(kind, n, d, kernel=3):
    """Spreads what the last output sees, layer by layer."""
    if kind not in {"self-attention", "recurrent", "convolutional", "dilated"}:
        raise ValueError("unknown kind " + repr(kind))
    operations = n * n * d if kind == "self-attention" else n * d * d
    path = steps = 1
    if kind == "recurrent":
        path = steps = n
    elif kind != "self-attention":
        operations *= kernel
        seen, gap = {n - 1}, 1
        path = 0
        while path == 0 or min(seen) > 0:
            seen |= {place - gap * back for place in seen for back in range(kernel)}
            path += 1
            gap *= kernel if kind == "dilated" else 1
    return operations, steps, path


@variant("layer_cost")
def cost_with_whole_numbers_of_numpy(kind, n, d, kernel=3):
    """Rounds up with NumPy, and looks powers up in a list."""
    n, d, kernel = np.int64(n), np.int64(d), np.int64(kernel)
    if kind == "self-attention":
        return n * n * d, np.int64(1), np.int64(1)
    if kind == "recurrent":
        return n * d * d, n, n
    if kind == "convolutional":
        return kernel * n * d * d, 1, max(1, int(np.ceil((n - 1) / (kernel - 1))))
    if kind == "dilated":
        powers = [int(kernel) ** layers for layers in range(1, 64)]
        return kernel * n * d * d, 1, 1 + sum(power < n for power in powers)
    raise ValueError(f"kind must be one of four, not {kind!r}")
