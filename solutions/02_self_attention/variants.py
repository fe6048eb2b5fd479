"""Correct versions of lab 02's exercises in other styles, as different learners would write them."""

# Each one is handed in alone, in place of the reference: what it needs besides np and softmax is imported
# or defined inside.

import numpy as np

from course_utils.maths import softmax
from grader.catalogue import variant

# ---------------------------------------------------------------------------------- project_qkv


@variant("project_qkv")
def project_by_at_sign(x, w_query, w_key, w_value):
    """Three matrix products in one line."""
    return x @ w_query, x @ w_key, x @ w_value


@variant("project_qkv")
def project_by_einsum(x, w_query, w_key, w_value):
    """Uses np.einsum with an ellipsis for the leading axes."""
    query = np.einsum("...sd,dk->...sk", x, w_query)
    key = np.einsum("...sd,dk->...sk", x, w_key)
    value = np.einsum("...sd,dv->...sv", x, w_value)
    return query, key, value


@variant("project_qkv")
def project_by_loops(x, w_query, w_key, w_value):
    """Pure Python loops over every number."""

    def product(weights):
        d_model, width = weights.shape
        result = np.zeros((*x.shape[:-1], width))
        for place in np.ndindex(*x.shape[:-1]):
            for column in range(width):
                total = 0.0
                for d in range(d_model):
                    total += float(x[place][d]) * float(weights[d][column])
                result[place][column] = total
        return result

    return product(w_query), product(w_key), product(w_value)


@variant("project_qkv")
def project_by_one_product(x, w_query, w_key, w_value):
    """Joins the three weights to one matrix, multiplies once and splits the result."""
    d_k = w_query.shape[1]
    together = np.matmul(x, np.concatenate([w_query, w_key, w_value], axis=1))
    query, key, value = np.split(together, [d_k, d_k + w_key.shape[1]], axis=-1)
    return query, key, value


@variant("project_qkv")
def project_by_tensordot(x, w_query, w_key, w_value):
    """Uses np.tensordot and returns a list."""
    return [np.tensordot(x, w, axes=([-1], [0])) for w in (w_query, w_key, w_value)]


@variant("project_qkv")
def project_flattened(x, w_query, w_key, w_value):
    """Flattens all words to one table, multiplies, and restores the leading axes."""
    table = x.reshape(-1, x.shape[-1])
    q = np.dot(table, w_query).reshape(*x.shape[:-1], -1)
    k = np.dot(table, w_key).reshape(*x.shape[:-1], -1)
    v = np.dot(table, w_value).reshape(*x.shape[:-1], -1)
    return q, k, v


@variant("project_qkv")
def project_transposed(x, w_query, w_key, w_value):
    """Writes words as columns, as books do: the weights' transpose times x's transpose."""
    columns = np.swapaxes(x, -1, -2)
    return (
        np.swapaxes(np.matmul(w_query.T, columns), -1, -2),
        np.swapaxes(np.matmul(w_key.T, columns), -1, -2),
        np.swapaxes(np.matmul(w_value.T, columns), -1, -2),
    )


@variant("project_qkv")
def project_by_broadcasting(x, w_query, w_key, w_value):
    """Multiplies elementwise with one more axis and sums d_model away."""
    x = np.expand_dims(x, -1)
    return tuple((x * w).sum(axis=-2) for w in (w_query, w_key, w_value))


@variant("project_qkv")
def project_by_recursion(x, w_query, w_key, w_value):
    """Recurses over the leading axes until one word is left."""

    def descend(part):
        if part.ndim == 1:
            return part @ w_query, part @ w_key, part @ w_value
        triples = [descend(smaller) for smaller in part]
        return tuple(np.array(column) for column in zip(*triples, strict=True))

    return descend(x)


@variant("project_qkv")
def project_in_float32(x, w_query, w_key, w_value):
    """Computes in float32 and returns float32."""
    f = np.float32
    x = x.astype(f)
    return x @ w_query.astype(f), x @ w_key.astype(f), x @ w_value.astype(f)


@variant("project_qkv")
def project_that_talks(x, w_query, w_key, w_value):
    """Prints all shapes, issues a warning, and has local names that say nothing."""
    import warnings

    print("x", x.shape, "W_Q", w_query.shape, "W_K", w_key.shape, "W_V", w_value.shape)
    warnings.warn("did I mix up the order of these?", UserWarning, stacklevel=2)
    foo = np.apply_along_axis(lambda word: word @ w_query, -1, x)
    foo2 = np.apply_along_axis(lambda word: word @ w_key, -1, x)
    foo2_final = np.apply_along_axis(lambda word: word @ w_value, -1, x)
    print(foo, foo2, foo2_final)
    return foo, foo2, foo2_final


@variant("project_qkv")
def project_by_torch_linear(x, w_query, w_key, w_value):
    """Uses torch's linear, which wants transposed weights, and returns torch tensors."""
    import torch

    def linear(weights):
        return torch.nn.functional.linear(torch.tensor(x), torch.tensor(weights).T)

    return linear(w_query), linear(w_key), linear(w_value)


# ---------------------------------------------------------------------------------- attend_one_word


@variant("attend_one_word")
def one_word_with_the_given_softmax(x, position, w_query, w_key, w_value):
    """Vector arithmetic, step by step, with the softmax that is given."""
    q = x[position] @ w_query
    keys = x @ w_key
    values = x @ w_value
    scores = keys @ q / np.sqrt(q.shape[0])
    weights = softmax(scores)
    return weights @ values, weights


@variant("attend_one_word")
def one_word_by_loops(x, position, w_query, w_key, w_value):
    """Pure Python lists and loops, made arrays at the end."""
    import math

    def times(vector, matrix):
        result = []
        for column in range(len(matrix[0])):
            result.append(sum(vector[row] * matrix[row][column] for row in range(len(vector))))
        return result

    words, wq, wk, wv = x.tolist(), w_query.tolist(), w_key.tolist(), w_value.tolist()
    query = times(words[position], wq)
    scores = []
    for word in words:
        key = times(word, wk)
        dot = 0
        for a, b in zip(query, key, strict=True):
            dot = dot + a * b
        scores.append(dot / math.sqrt(len(query)))
    exps = [math.exp(score - max(scores)) for score in scores]
    weights = [e / sum(exps) for e in exps]
    output = [0.0] * len(wv[0])
    for weight, word in zip(weights, words, strict=True):
        for i, number in enumerate(times(word, wv)):
            output[i] += weight * number
    return np.array(output), np.array(weights)


@variant("attend_one_word")
def one_word_by_einsum(x, position, w_query, w_key, w_value):
    """Three einsums straight from x, without keys or values ever being named."""
    scores = np.einsum("d,dk,sm,mk->s", x[position], w_query, x, w_key) * w_query.shape[-1] ** -0.5
    weights = np.exp(scores - scores.max())
    weights = weights / weights.sum()
    return np.einsum("s,sd,dv->v", weights, x, w_value), weights


@variant("attend_one_word")
def one_word_out_of_the_whole_table(x, position, w_query, w_key, w_value):
    """Computes attention for every word and picks the row that is asked for."""
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    table = query @ key.T / np.sqrt(key.shape[-1])
    table = np.exp(table - table.max(axis=1, keepdims=True))
    table = table / table.sum(axis=1, keepdims=True)
    return (table @ value)[position], table[position]


@variant("attend_one_word")
def one_word_in_another_order(x, position, w_query, w_key, w_value):
    """Uses associativity: moves the query to the words' space, and projects only the mixed word."""
    asked = w_key @ (w_query.T @ x[position])
    scores = x @ asked / w_key.shape[1] ** 0.5
    weights = np.exp(scores - np.logaddexp.reduce(scores))
    mixed_word = weights @ x
    return mixed_word @ w_value, weights


@variant("attend_one_word")
def one_word_in_one_pass(x, position, w_query, w_key, w_value):
    """Goes through the words once, with a running maximum, total and output."""
    query = np.dot(x[position], w_query)
    top, total, output, parts = -np.inf, 0.0, np.zeros(w_value.shape[1]), []
    for word in x:
        score = np.dot(query, np.dot(word, w_key)) / np.sqrt(query.size)
        new_top = max(top, score)
        shrink, e = np.exp(top - new_top), np.exp(score - new_top)
        total = total * shrink + e
        output = output * shrink + e * np.dot(word, w_value)
        parts.append(score)
        top = new_top
    return output / total, np.exp(np.array(parts) - top) / total


@variant("attend_one_word")
def one_word_as_rows_of_a_table(x, position, w_query, w_key, w_value):
    """Keeps the word as a table of one row and drops that axis at the end."""
    q = x[[position], :] @ w_query
    scores = np.matmul(q, np.transpose(x @ w_key)) / np.sqrt(q.shape[-1])
    weights = softmax(scores, axis=1)
    return (weights @ (x @ w_value)).squeeze(axis=0), weights.squeeze(0)


@variant("attend_one_word")
def one_word_in_float32(x, position, w_query, w_key, w_value):
    """Computes in float32, and divides the query instead of the scores."""
    x, w_query, w_key, w_value = (np.asarray(a, dtype="float32") for a in (x, w_query, w_key, w_value))
    query = x[position] @ w_query / np.float32(np.sqrt(w_query.shape[1]))
    scores = (x @ w_key).dot(query)
    e = np.exp(scores - scores.max())
    weights = e / e.sum()
    return (weights[:, None] * (x @ w_value)).sum(axis=0), weights


@variant("attend_one_word")
def one_word_that_talks(x, position, w_query, w_key, w_value):
    """Prints what every word gets, warns, and has local names that say nothing."""
    import warnings

    who = np.zeros(len(x))
    who[position] = 1  # a one-hot row picks the word
    blub = (who @ x) @ w_query
    print("query of word", position, "is", blub)
    list = []
    for dings in x @ w_key:
        list.append((blub * dings).sum() / np.sqrt(len(blub)))
    warnings.warn(f"largest score {np.max(list)}", UserWarning, stacklevel=2)
    oha = np.exp(np.array(list) - np.max(list))
    oha = oha / oha.sum()
    print("shares:", oha)
    return np.average(x @ w_value, axis=0, weights=oha), oha


@variant("attend_one_word")
def one_word_of_torch(x, position, w_query, w_key, w_value):
    """Uses torch.softmax and torch.mv, and returns torch tensors."""
    import torch

    x, w_query, w_key, w_value = (torch.tensor(array) for array in (x, w_query, w_key, w_value))
    scores = torch.mv(x @ w_key, x[position] @ w_query) / w_query.shape[1] ** 0.5
    weights = torch.softmax(scores, dim=0)
    return weights @ (x @ w_value), weights


# ------------------------------------------------------------------------ scaled_dot_product_attention


@variant("scaled_dot_product_attention")
def attention_with_minus_infinity(query, key, value, mask=None):
    """Masks with -inf and takes care of rows whose maximum is -inf."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    top = np.where(np.isneginf(top), 0, top)
    exponentials = np.exp(scores - top)
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0, 1, total)
    return weights @ value, weights


@variant("scaled_dot_product_attention")
def attention_with_minus_a_billion(query, key, value, mask=None):
    """Uses einsum, masks with -1e9 and multiplies the mask in again after the given softmax."""
    scores = np.einsum("...qd,...kd->...qk", query, key) / np.sqrt(key.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    weights = softmax(scores)
    if mask is not None:
        weights = weights * mask
    return np.einsum("...qk,...kv->...qv", weights, value), weights


@variant("scaled_dot_product_attention")
def attention_repaired_with_nan_to_num(query, key, value, mask=None):
    """Adds a bias of 0 and -inf, and turns the NaN of a fully blocked row into 0."""
    d_k = query.shape[-1]
    bias = 0.0 if mask is None else np.where(mask, 0.0, float("-inf"))
    scores = np.matmul(query, np.moveaxis(key, -1, -2)) / d_k**0.5 + bias
    with np.errstate(invalid="ignore"):
        weights = np.nan_to_num(softmax(scores, axis=-1), nan=0.0)
    return np.matmul(weights, value), weights


@variant("scaled_dot_product_attention")
def attention_by_loops(query, key, value, mask=None):
    """Pure Python loops over batch, queries, keys and numbers, leaving blocked keys out."""
    import math

    lead, n_queries, d_k = query.shape[:-2], query.shape[-2], query.shape[-1]
    n_keys, d_v = value.shape[-2:]
    if mask is None:
        mask = np.ones((n_queries, n_keys), dtype=bool)
    mask = np.broadcast_to(mask, (*lead, n_queries, n_keys))
    output = np.zeros((*lead, n_queries, d_v))
    weights = np.zeros((*lead, n_queries, n_keys))
    for b in np.ndindex(*lead):
        for i in range(n_queries):
            scores = {}
            for j in range(n_keys):
                if not mask[b][i, j]:
                    continue
                scores[j] = sum(query[b][i, d] * key[b][j, d] for d in range(d_k)) / math.sqrt(d_k)
            if len(scores) == 0:
                continue
            top = max(scores.values())
            total = sum(math.exp(score - top) for score in scores.values())
            for j, score in scores.items():
                weights[b][i, j] = math.exp(score - top) / total
                for c in range(d_v):
                    output[b][i, c] += weights[b][i, j] * value[b][j, c]
    return output, weights


@variant("scaled_dot_product_attention")
def attention_by_recursion(query, key, value, mask=None):
    """Recurses over the leading axes until two tables are left."""

    def descend(q, k, v, m):
        if q.ndim > 2:
            pairs = [descend(*parts) for parts in zip(q, k, v, m, strict=True)]
            return np.stack([pair[0] for pair in pairs]), np.stack([pair[1] for pair in pairs])
        table = np.full((len(q), len(k)), -np.inf)
        table[m] = (q @ k.T)[m] / np.sqrt(q.shape[1])
        w = np.zeros_like(table)
        alive = m.any(axis=1)
        e = np.exp(table[alive] - table[alive].max(axis=1, keepdims=True))
        w[alive] = e / e.sum(axis=1, keepdims=True)
        return w @ v, w

    shape = (*query.shape[:-1], key.shape[-2])
    return descend(query, key, value, np.broadcast_to(True if mask is None else mask, shape))


@variant("scaled_dot_product_attention")
def attention_with_masked_arrays(query, key, value, mask=None):
    """Uses numpy.ma, whose sums and maxima leave masked numbers out."""
    scores = query @ key.swapaxes(-2, -1) / np.sqrt(query.shape[-1])
    hidden = np.zeros(scores.shape, dtype=bool) if mask is None else ~np.broadcast_to(mask, scores.shape)
    scores = np.ma.array(scores, mask=hidden)
    e = np.ma.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = (e / e.sum(axis=-1, keepdims=True)).filled(0.0)
    return weights @ value, weights


@variant("scaled_dot_product_attention")
def attention_with_where_arguments(query, key, value, mask=None):
    """Gives the mask to the ufuncs' `where` arguments."""
    scores = np.matmul(query, key.swapaxes(-1, -2))
    scores = np.divide(scores, np.sqrt(key.shape[-1]))
    allowed = np.broadcast_to(np.True_ if mask is None else mask, scores.shape)
    largest = np.max(scores, axis=-1, keepdims=True, where=allowed, initial=-np.inf)
    exps = np.zeros_like(scores)
    np.exp(np.subtract(scores, largest), out=exps, where=allowed)
    sums = np.sum(exps, axis=-1, keepdims=True, where=allowed)
    weights = np.divide(exps, sums, out=np.zeros_like(exps), where=sums > 0)
    return np.matmul(weights, value), weights


@variant("scaled_dot_product_attention")
def attention_in_one_pass_over_the_keys(query, key, value, mask=None):
    """Goes through the keys once, with running maximum, total and output, as fast kernels do."""
    n_keys = key.shape[-2]
    shape = (*query.shape[:-1], n_keys)
    allowed = np.ones(shape, bool) if mask is None else np.broadcast_to(mask, shape)
    top = np.full(query.shape[:-1], -1e300)
    total = np.zeros(query.shape[:-1])
    output = np.zeros((*query.shape[:-1], value.shape[-1]))
    seen = []
    for j in range(n_keys):
        score = (query * key[..., j : j + 1, :]).sum(-1) / np.sqrt(query.shape[-1])
        new_top = np.where(allowed[..., j], np.maximum(top, score), top)
        shrink = np.exp(top - new_top)
        e = np.where(allowed[..., j], np.exp(np.minimum(score - new_top, 0)), 0)
        total = total * shrink + e
        output = output * shrink[..., None] + e[..., None] * value[..., j : j + 1, :]
        seen.append(score)
        top = new_top
    total = np.where(total > 0, total, 1)[..., None]
    differences = np.minimum(np.stack(seen, axis=-1) - top[..., None], 0)
    return output / total, np.where(allowed, np.exp(differences), 0) / total


@variant("scaled_dot_product_attention")
def attention_in_logarithms(query, key, value, mask=None):
    """Works in logarithms: exp(score - log of the sum), with np.logaddexp."""
    k_transposed = np.moveaxis(key, -2, -1)
    log_scores = (query @ k_transposed) * (1 / np.sqrt(query.shape[-1]))
    if mask is not None:
        log_scores = log_scores + np.log(mask, where=mask, out=np.full(mask.shape, -np.inf))
    log_total = np.logaddexp.reduce(log_scores, axis=-1, keepdims=True)
    log_total[log_total == -np.inf] = 0
    weights = np.exp(log_scores - log_total)
    return weights @ value, weights


@variant("scaled_dot_product_attention")
def attention_row_by_row(query, key, value, mask=None):
    """Writes attention of one query over the keys it may see, and vectorizes it by a signature."""

    def one_query(q, keys, values, allowed):
        weights = np.zeros(len(keys))
        if allowed.any():
            weights[allowed] = softmax(keys[allowed] @ q / np.sqrt(len(q)))
        return weights @ values, weights

    mask = np.ones(key.shape[-2], bool) if mask is None else mask
    every_query = np.vectorize(one_query, signature="(d),(k,d),(k,v),(k)->(v),(k)")
    return every_query(query, key[..., None, :, :], value[..., None, :, :], mask)


@variant("scaled_dot_product_attention")
def attention_of_pairwise_differences(query, key, value, mask=None):
    """Uses 1 / sum_j exp(s_j - s_i) over the allowed j, and no maximum."""
    scores = np.einsum("...id,...jd->...ij", query, key) / np.sqrt(query.shape[-1])
    allowed = np.ones_like(scores) if mask is None else np.broadcast_to(mask, scores.shape).astype(float)
    with np.errstate(over="ignore", divide="ignore"):
        powers = np.exp(np.minimum(scores[..., None, :] - scores[..., :, None], 700))
        weights = allowed / np.maximum((powers * allowed[..., None, :]).sum(-1), 1e-300)
    weights = np.where(allowed > 0, weights, 0.0)
    return np.einsum("...ij,...jv->...iv", weights, value), weights


@variant("scaled_dot_product_attention")
def attention_with_float32_weights(query, key, value, mask=None):
    """Scores in float64, then everything in float32."""
    scores = np.matmul(query, np.swapaxes(key, -2, -1)) / np.sqrt(query.shape[-1])
    allowed = True if mask is None else mask
    scores = scores - scores.max(axis=-1, keepdims=True, where=allowed, initial=-1e30)
    if mask is not None:
        scores = np.where(mask, scores, -1e30)
    e = np.exp(scores.astype(np.float32))
    if mask is not None:
        e = e * mask.astype(np.float32)
    weights = e / (e.sum(axis=-1, keepdims=True) + np.float32(1e-30))
    return weights @ value.astype(np.float32), weights


@variant("scaled_dot_product_attention")
def attention_in_float32(query, key, value, mask=None):
    """Computes everything in float32."""
    query, key, value = (np.asarray(array, np.float32) for array in (query, key, value))
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(np.float32(query.shape[-1]))
    if mask is not None:
        scores = np.where(mask, scores, np.float32(-np.inf))
    top = scores.max(axis=-1, keepdims=True)
    e = np.exp(scores - np.where(np.isfinite(top), top, np.float32(0)))
    total = e.sum(axis=-1, keepdims=True)
    weights = e / np.where(total > 0, total, np.float32(1))
    return weights @ value, weights


@variant("scaled_dot_product_attention")
def attention_that_talks(query, key, value, mask=None):
    """Prints every step, warns, and lets NaN come up before it repairs it."""
    import warnings

    print("query", query.shape, "key", key.shape, "value", value.shape)
    axes = [*range(key.ndim - 2), key.ndim - 1, key.ndim - 2]
    print("transposing the keys by", axes)
    Quatsch = query @ key.transpose(axes) / np.sqrt(query.shape[-1])
    print("scores\n", Quatsch)
    if mask is not None:
        print("mask\n", mask.astype(int))
        Quatsch[~np.broadcast_to(mask, Quatsch.shape)] = -np.inf
    Kram = np.exp(Quatsch - np.max(Quatsch, axis=-1, keepdims=True))
    Kram = Kram / np.sum(Kram, axis=-1, keepdims=True)
    if np.isnan(Kram).any():
        warnings.warn("there are NaN, replacing them", RuntimeWarning, stacklevel=2)
        Kram = np.where(np.isnan(Kram), 0, Kram)
    print("weights\n", Kram)
    return np.dot(Kram, value) if value.ndim == 2 else np.matmul(Kram, value), Kram


@variant("scaled_dot_product_attention")
def attention_by_an_inner_class(query, key, value, mask=None):
    """Defines a class inside, with one method a step."""
    from dataclasses import dataclass

    @dataclass
    class Attention:
        d_k: int
        minus: float = -1e9

        def scores(self, q, k):
            return np.tensordot(q, k, axes=(-1, -1)) / self.d_k**0.5

        def weights(self, s, allowed):
            top = np.where(allowed, s, self.minus).max(axis=-1, keepdims=True)
            e = np.exp(s - top, where=allowed, out=0 * s)
            return e / np.maximum(e.sum(axis=-1, keepdims=True), np.finfo(float).tiny)

        def __call__(self, q, k, v, allowed):
            w = self.weights(self.scores(q, k), allowed)
            return w @ v, w

    attend = Attention(query.shape[-1])
    lead = query.shape[:-2]
    mask = np.broadcast_to(True if mask is None else mask, (*query.shape[:-1], key.shape[-2]))
    pairs = [attend(query[b], key[b], value[b], mask[b]) for b in np.ndindex(*lead)]
    outputs, weights = zip(*pairs, strict=True)
    return np.reshape(outputs, (*lead, *outputs[0].shape)), np.reshape(weights, (*lead, *weights[0].shape))


@variant("scaled_dot_product_attention")
def attention_of_torch(query, key, value, mask=None):
    """Written with torch: einsum, the mask's logarithm as a bias, and logsumexp in place of a softmax."""
    import torch

    query, key, value = torch.tensor(query), torch.tensor(key), torch.tensor(value)
    scores = torch.einsum("...qd,...kd->...qk", query, key) * key.shape[-1] ** -0.5
    if mask is not None:
        scores = scores + torch.tensor(mask, dtype=scores.dtype).log()
    weights = torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True)).nan_to_num()
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


@variant("scaled_dot_product_attention")
def attention_with_masked_fill(query, key, value, mask=None):
    """Written with torch: masked_fill, softmax, and masked_fill again."""
    import torch

    query, key, value = map(torch.from_numpy, (query, key, value))
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        blocked = ~torch.from_numpy(mask)
        weights = scores.masked_fill(blocked, -1e9).softmax(dim=-1).masked_fill(blocked, 0.0)
    return weights @ value, weights


# ---------------------------------------------------------------------------------- padding_mask


@variant("padding_mask")
def padding_by_comparison(token_ids, pad_id=0):
    """Compares and adds the axis by indexing."""
    return (token_ids != pad_id)[..., None, :]


@variant("padding_mask")
def padding_by_ufuncs(token_ids, pad_id=0):
    """Uses np.equal, np.logical_not and np.expand_dims."""
    return np.expand_dims(np.logical_not(np.equal(token_ids, pad_id)), axis=-2)


@variant("padding_mask")
def padding_by_loops(token_ids, pad_id=0):
    """Pure Python loops over sentences and tokens."""
    *lead, seq_len = token_ids.shape
    mask = np.empty((*lead, 1, seq_len), dtype=bool)
    for sentence in np.ndindex(*lead):
        for position in range(seq_len):
            if token_ids[sentence][position] == pad_id:
                mask[sentence][0][position] = False
            else:
                mask[sentence][0][position] = True
    return mask


@variant("padding_mask")
def padding_by_recursion(token_ids, pad_id=0):
    """Recurses over nested lists down to a list of numbers."""

    def descend(part):
        if isinstance(part[0], list):
            return [descend(smaller) for smaller in part]
        return [[token != pad_id for token in part]]

    return np.array(descend(token_ids.tolist()))


@variant("padding_mask")
def padding_filled_in(token_ids, pad_id=0):
    """Starts with all True and writes False at the indices of the padding."""
    mask = np.ones(token_ids.shape, dtype=np.bool_)
    mask[np.nonzero(token_ids == pad_id)] = False
    return mask.reshape(*token_ids.shape[:-1], 1, token_ids.shape[-1])


@variant("padding_mask")
def padding_by_difference(token_ids, pad_id=0):
    """Casts the difference to the padding's id to bool."""
    zero_where_padded = np.asarray(token_ids) - pad_id
    return np.stack([zero_where_padded.astype(bool)], axis=-2)


@variant("padding_mask")
def padding_by_isin(token_ids, pad_id=0):
    """Uses np.isin and np.where, prints, warns, and has local names that say nothing."""
    import warnings

    warnings.warn("is 0 really the padding?", UserWarning, stacklevel=2)
    hm = np.isin(token_ids, [pad_id])
    print(f"{hm.sum()} of {hm.size} tokens are padding", token_ids)
    aha = np.where(hm, False, True)
    return np.moveaxis(aha[np.newaxis], 0, -2)


@variant("padding_mask")
def padding_of_torch(token_ids, pad_id=0):
    """Uses torch's ne and unsqueeze, and returns a torch tensor."""
    import torch

    return torch.as_tensor(token_ids).ne(pad_id).unsqueeze(-2)


# ---------------------------------------------------------------------------------- causal_mask


@variant("causal_mask")
def causal_by_tril(seq_len):
    """Takes the lower triangle of ones."""
    return np.tril(np.ones((seq_len, seq_len), dtype=bool))


@variant("causal_mask")
def causal_by_triu(seq_len):
    """Negates what lies strictly above the diagonal."""
    return ~np.triu(np.ones((seq_len, seq_len)), k=1).astype(bool)


@variant("causal_mask")
def causal_by_comparing_positions(seq_len):
    """Compares a column of positions with a row of positions."""
    position = np.arange(seq_len)
    return position[:, np.newaxis] >= position


@variant("causal_mask")
def causal_by_outer(seq_len):
    """Adds positions and negated positions with np.add.outer."""
    return np.add.outer(np.arange(seq_len), -np.arange(seq_len)) >= 0


@variant("causal_mask")
def causal_by_loops(seq_len):
    """Two Python loops over an array of False."""
    mask = np.zeros((seq_len, seq_len), dtype=bool)
    for i in range(seq_len):
        for j in range(seq_len):
            if j <= i:
                mask[i][j] = True
    return mask


@variant("causal_mask")
def causal_by_comprehension(seq_len):
    """Glues a list of True to a list of False in every row."""
    return np.array([[True] * (i + 1) + [False] * (seq_len - i - 1) for i in range(seq_len)])


@variant("causal_mask")
def causal_by_running_sum(seq_len):
    """Sums the identity down its columns: once seen, always seen."""
    return np.cumsum(np.eye(seq_len), axis=0) > 0


@variant("causal_mask")
def causal_by_recursion(seq_len):
    """Grows the mask of one word less by a column of False and a row of True."""

    def grow(n):
        if n == 1:
            return np.array([[True]])
        return np.block([[grow(n - 1), np.zeros((n - 1, 1), bool)], [np.ones((1, n), bool)]])

    return grow(seq_len)


@variant("causal_mask")
def causal_by_indices(seq_len):
    """Writes True at np.tril_indices, prints and warns, and has local names that say nothing."""
    import warnings

    matrix2 = np.full([seq_len] * 2, False)
    stuff = np.tril_indices(seq_len)
    print("rows", stuff[0], "columns", stuff[1])
    matrix2[stuff] = True
    if seq_len == 1:
        warnings.warn("only one word?!", UserWarning, stacklevel=2)
    print(matrix2)
    return matrix2


@variant("causal_mask")
def causal_by_fromfunction(seq_len):
    """Gives a rule for row and column to np.fromfunction."""

    def may_see(row, column):
        return np.logical_not(column > row)

    return np.fromfunction(may_see, (seq_len, seq_len), dtype=int)


@variant("causal_mask")
def causal_of_torch(seq_len):
    """Uses torch.tril and returns a torch tensor."""
    import torch

    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril()


# ---------------------------------------------------------------------------------- combine_masks


@variant("combine_masks")
def combine_by_ampersand(first, second):
    """Returns early for None, and otherwise uses &."""
    if first is None:
        return second
    if second is None:
        return first
    return first & second


@variant("combine_masks")
def combine_by_logical_and(first, second):
    """A chain of conditional expressions with np.logical_and at its end."""
    return second if first is None else first if second is None else np.logical_and(first, second)


@variant("combine_masks")
def combine_by_product(first, second):
    """Multiplies zeros and ones, and compares with 1."""
    if first is None or second is None:
        return first if second is None else second
    return first.astype(int) * second.astype(int) == 1


@variant("combine_masks")
def combine_by_de_morgan(first, second):
    """Blocks what either of them blocks, and negates."""
    if second is None:
        return first
    elif first is None:
        return second
    else:
        blocked = np.logical_or(~first, ~second)
        return ~blocked


@variant("combine_masks")
def combine_by_loops(first, second):
    """Broadcasts, then goes through all places in a Python loop."""
    if first is None:
        return second
    if second is None:
        return first
    both = np.broadcast(first, second)
    result = []
    for a, b in both:
        result.append(bool(a) and bool(b))
    return np.array(result).reshape(both.shape)


@variant("combine_masks")
def combine_by_reduction(first, second):
    """Filters None out and reduces what is left, for any number of masks."""
    from functools import reduce

    masks = [mask for mask in (first, second) if mask is not None]
    return reduce(np.minimum, masks) if masks else None


@variant("combine_masks")
def combine_by_where(first, second):
    """Fills an absent mask with ones and chooses by np.where; prints, warns, says nothing by its names."""
    import warnings

    if first is second is None:
        return None
    one = np.ones_like(second) if first is None else first
    other = np.ones_like(first) if second is None else second
    print("combining", one.shape, "with", other.shape)
    if one.shape != other.shape:
        warnings.warn("shapes differ, hoping for broadcasting", UserWarning, stacklevel=2)
    xxx = np.where(one, other, False)
    print(xxx)
    return xxx


@variant("combine_masks")
def combine_by_all(first, second):
    """Stacks the broadcast masks and asks np.all."""
    present = list(filter(lambda mask: mask is not None, [first, second]))
    if not present:
        return None
    return np.all(np.stack(np.broadcast_arrays(*present)), axis=0)


@variant("combine_masks")
def combine_of_torch(first, second):
    """Uses torch.logical_and, and returns a torch tensor."""
    import torch

    first, second = (None if mask is None else torch.tensor(mask) for mask in (first, second))
    if first is not None and second is not None:
        return torch.logical_and(first, second)
    return first if first is not None else second


# ---------------------------------------------------------------------------------- causal_self_attention


@variant("causal_self_attention")
def causal_attention_with_minus_infinity(x, w_query, w_key, w_value, token_mask=None):
    """All steps in one function, masking with -inf."""
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    n = x.shape[-2]
    allowed = np.tril(np.ones((n, n), dtype=bool))
    if token_mask is not None:
        allowed = allowed & token_mask
    scores = np.where(allowed, query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1]), -np.inf)
    top = np.maximum(scores.max(axis=-1, keepdims=True), -1e30)
    e = np.exp(scores - top)
    weights = e / np.maximum(e.sum(axis=-1, keepdims=True), 1e-30)
    return weights @ value, weights


@variant("causal_self_attention")
def causal_attention_by_einsum(x, w_query, w_key, w_value, token_mask=None):
    """Uses einsum, a penalty of -1e9, the given softmax, and multiplies the mask in again."""
    q = np.einsum("...sd,dk->...sk", x, w_query)
    k = np.einsum("...sd,dk->...sk", x, w_key)
    v = np.einsum("...sd,dv->...sv", x, w_value)
    scores = np.einsum("...ik,...jk->...ij", q, k) * q.shape[-1] ** -0.5
    positions = np.arange(x.shape[-2])
    allowed = np.greater_equal.outer(positions, positions) * (1 if token_mask is None else token_mask)
    weights = softmax(scores - 1e9 * (1 - allowed)) * allowed
    return np.einsum("...ij,...jv->...iv", weights, v), weights


@variant("causal_self_attention")
def causal_attention_by_loops(x, w_query, w_key, w_value, token_mask=None):
    """Python loops over sentences and words; a word simply never looks at later ones."""
    import math

    lead, n = x.shape[:-2], x.shape[-2]
    output = np.zeros((*lead, n, w_value.shape[1]))
    weights = np.zeros((*lead, n, n))
    real = None if token_mask is None else np.broadcast_to(token_mask, (*lead, 1, n))
    for b in np.ndindex(*lead):
        words = x[b]
        for i in range(n):
            visible = [j for j in range(i + 1) if real is None or real[b][0, j]]
            if not visible:
                continue
            query = words[i] @ w_query
            scores = [float(query @ (words[j] @ w_key)) / math.sqrt(len(query)) for j in visible]
            exps = [math.exp(s - max(scores)) for s in scores]
            for j, e in zip(visible, exps, strict=True):
                weights[b][i, j] = e / sum(exps)
                output[b][i] += weights[b][i, j] * (words[j] @ w_value)
    return output, weights


@variant("causal_self_attention")
def causal_attention_over_growing_prefixes(x, w_query, w_key, w_value, token_mask=None):
    """Attends from each position to the slice before it, as in generation with a cache of keys."""
    n = x.shape[-2]
    real = np.ones(n, bool) if token_mask is None else token_mask[..., 0, :]
    real = np.broadcast_to(real, x.shape[:-1])
    cached_keys, cached_values, outputs, rows = [], [], [], []
    for i in range(n):
        word = x[..., i, :]
        query = word @ w_query
        cached_keys.append(word @ w_key)
        cached_values.append(word @ w_value)
        keys, values = np.stack(cached_keys, axis=-2), np.stack(cached_values, axis=-2)
        scores = (keys @ query[..., None])[..., 0] / np.sqrt(query.shape[-1])
        scores = np.where(real[..., : i + 1], scores, -1e9)
        e = np.exp(scores - scores.max(axis=-1, keepdims=True)) * real[..., : i + 1]
        total = e.sum(axis=-1, keepdims=True)
        weights = np.divide(e, total, out=np.zeros_like(e), where=total != 0)
        outputs.append((weights[..., None, :] @ values)[..., 0, :])
        rows.append(np.concatenate([weights, np.zeros((*weights.shape[:-1], n - i - 1))], axis=-1))
    return np.stack(outputs, axis=-2), np.stack(rows, axis=-2)


@variant("causal_self_attention")
def causal_attention_with_masked_arrays(x, w_query, w_key, w_value, token_mask=None):
    """Uses numpy.ma, with what is blocked masked out."""
    n = x.shape[-2]
    scores = (x @ w_query) @ (x @ w_key).swapaxes(-1, -2) / np.sqrt(w_key.shape[-1])
    blocked = np.triu(np.ones((n, n), dtype=bool), 1)
    if token_mask is not None:
        blocked = blocked | ~token_mask
    scores = np.ma.masked_where(np.broadcast_to(blocked, scores.shape), scores)
    e = np.ma.exp(scores - np.ma.max(scores, axis=-1, keepdims=True))
    weights = np.ma.filled(e / np.ma.sum(e, axis=-1, keepdims=True), 0)
    return weights @ (x @ w_value), weights


@variant("causal_self_attention")
def causal_attention_by_recursion(x, w_query, w_key, w_value, token_mask=None):
    """Recurses over the leading axes, with a nested function for one sentence."""

    def one_sentence(words, real):
        scores = words @ w_query @ w_key.T @ words.T / np.sqrt(w_query.shape[1])
        may = np.tri(len(words), dtype=bool) & real
        log_total = np.logaddexp.reduce(np.where(may, scores, -np.inf), axis=1, keepdims=True)
        weights = np.where(may, np.exp(np.where(may, scores - log_total, 0)), 0)
        return weights @ words @ w_value, weights

    def descend(words, real):
        if words.ndim == 2:
            return one_sentence(words, real)
        outputs, weights = zip(*map(descend, words, real), strict=True)
        return np.array(outputs), np.array(weights)

    real = np.True_ if token_mask is None else token_mask
    return descend(x, np.broadcast_to(real, (*x.shape[:-2], 1, x.shape[-2])))


@variant("causal_self_attention")
def causal_attention_in_float32(x, w_query, w_key, w_value, token_mask=None):
    """Computes in float32 with an inner class."""

    class Head:
        def __init__(self, *weights):
            self.w_q, self.w_k, self.w_v = (w.astype(np.float32) for w in weights)

        def __call__(self, words, real):
            q, k, v = words @ self.w_q, words @ self.w_k, words @ self.w_v
            s = q @ np.moveaxis(k, -1, -2) / np.float32(q.shape[-1] ** 0.5)
            steps = np.arange(words.shape[-2])
            ok = np.broadcast_to((steps <= steps[:, None]) & real, s.shape)
            top = s.max(axis=-1, keepdims=True, where=ok, initial=s.min())
            e = np.where(ok, np.exp(np.where(ok, s - top, 0)), np.float32(0))
            w = e / np.maximum(e.sum(axis=-1, keepdims=True), np.finfo(np.float32).tiny)
            return w @ v, w

    head = Head(w_query, w_key, w_value)
    return head(np.float32(x), True if token_mask is None else token_mask)


@variant("causal_self_attention")
def causal_attention_that_talks(x, w_query, w_key, w_value, token_mask=None):
    """Prints every step, warns, and has local names that say nothing."""
    import warnings

    a, b, c = (np.tensordot(x, thing, 1) for thing in (w_query, w_key, w_value))
    print("shapes", a.shape, b.shape, c.shape)
    d = a @ b.swapaxes(-1, -2) / np.sqrt(a.shape[-1])
    e = np.triu(np.full(d.shape, -np.inf), k=1)
    print("future:\n", e)
    if token_mask is None:
        warnings.warn("no mask given, all tokens count", UserWarning, stacklevel=2)
    else:
        e = np.where(token_mask, e, -np.inf)
    f = np.nan_to_num(softmax(d + e))
    print("weights:\n", f.round(2))
    return np.matmul(f, c), f


@variant("causal_self_attention")
def causal_attention_of_torch(x, w_query, w_key, w_value, token_mask=None):
    """Written with torch: tril, masked_fill and softmax."""
    import torch

    x, w_query, w_key, w_value = (torch.tensor(array) for array in (x, w_query, w_key, w_value))
    scores = (x @ w_query) @ (x @ w_key).mT / w_key.shape[-1] ** 0.5
    allowed = torch.ones_like(scores, dtype=torch.bool).tril()
    if token_mask is not None:
        allowed &= torch.tensor(token_mask)
    weights = scores.masked_fill(~allowed, -torch.inf).softmax(dim=-1).nan_to_num()
    return weights @ (x @ w_value), weights


# ---------------------------------------------------------------------------------- cross_attention


@variant("cross_attention")
def cross_with_minus_infinity(x, memory, w_query, w_key, w_value, memory_mask=None):
    """All steps in one function, masking with -inf."""
    q = np.matmul(x, w_query)
    k = np.matmul(memory, w_key)
    v = np.matmul(memory, w_value)
    scores = np.matmul(q, np.swapaxes(k, -2, -1)) / np.sqrt(k.shape[-1])
    if memory_mask is not None:
        scores = np.where(memory_mask, scores, -np.inf)
    biggest = np.max(scores, axis=-1, keepdims=True)
    biggest[~np.isfinite(biggest)] = 0
    e = np.exp(scores - biggest)
    weights = e / (e.sum(axis=-1, keepdims=True) + (e.sum(axis=-1, keepdims=True) == 0))
    return np.matmul(weights, v), weights


@variant("cross_attention")
def cross_by_einsum(x, memory, w_query, w_key, w_value, memory_mask=None):
    """One einsum for the scores and one for the output, straight from the words."""
    scores = np.einsum("...qd,dk,ek,...me->...qm", x, w_query, w_key, memory)
    scores = scores / np.sqrt(w_query.shape[1])
    if memory_mask is None:
        weights = softmax(scores)
    else:
        weights = softmax(np.where(memory_mask, scores, -1e9)) * memory_mask
    return np.einsum("...qm,...md,dv->...qv", weights, memory, w_value), weights


@variant("cross_attention")
def cross_by_loops(x, memory, w_query, w_key, w_value, memory_mask=None):
    """Python loops over sentences, words and words of memory."""
    import math

    lead, n_words, n_memory = x.shape[:-2], x.shape[-2], memory.shape[-2]
    output = np.zeros((*lead, n_words, w_value.shape[1]))
    weights = np.zeros((*lead, n_words, n_memory))
    if memory_mask is not None:
        memory_mask = np.broadcast_to(memory_mask, (*lead, n_words, n_memory))
    for b in np.ndindex(*lead):
        keys = [m @ w_key for m in memory[b]]
        values = [m @ w_value for m in memory[b]]
        for i in range(n_words):
            query = x[b][i] @ w_query
            dots = [sum(s * t for s, t in zip(query, key, strict=True)) for key in keys]
            scores = [dot / math.sqrt(len(query)) for dot in dots]
            seen = [j for j in range(n_memory) if memory_mask is None or memory_mask[b][i][j]]
            biggest = max((scores[j] for j in seen), default=0)
            total = sum(math.exp(scores[j] - biggest) for j in seen)
            for j in seen:
                weights[b][i][j] = math.exp(scores[j] - biggest) / total
                output[b][i] += weights[b][i][j] * values[j]
    return output, weights


@variant("cross_attention")
def cross_without_blocked_memory(x, memory, w_query, w_key, w_value, memory_mask=None):
    """Cuts blocked words out of each sentence's memory, and writes the weights back to their places."""
    lead = x.shape[:-2]
    weights = np.zeros((*x.shape[:-1], memory.shape[-2]))
    output = np.zeros((*x.shape[:-1], w_value.shape[-1]))
    for b in np.ndindex(*lead):
        real = slice(None) if memory_mask is None else np.flatnonzero(memory_mask[b][0])
        left = memory[b][real]
        if len(left):
            shares = softmax((x[b] @ w_query) @ (left @ w_key).T / np.sqrt(w_key.shape[1]), axis=-1)
            weights[b][:, real] = shares
            output[b] = shares @ left @ w_value
    return output, weights


@variant("cross_attention")
def cross_with_where_arguments(x, memory, w_query, w_key, w_value, memory_mask=None):
    """Gives the mask to the `where` arguments of max, exp and sum."""
    scores = x @ w_query @ np.moveaxis(memory @ w_key, -1, -2) / w_key.shape[-1] ** 0.5
    fine = np.ones_like(scores, dtype=bool)
    fine &= True if memory_mask is None else memory_mask
    top = scores.max(axis=-1, keepdims=True, where=fine, initial=scores.min())
    e = np.exp(scores - top, where=fine, out=np.zeros(scores.shape))
    total = e.sum(axis=-1, keepdims=True)
    weights = np.divide(e, total, where=total > 0, out=np.zeros(scores.shape))
    return weights @ (memory @ w_value), weights


@variant("cross_attention")
def cross_by_recursion(x, memory, w_query, w_key, w_value, memory_mask=None):
    """Recurses over the leading axes, then attends word by word."""

    def attend(word, keys, values, real):
        s = np.where(real, keys @ (word @ w_query) / np.sqrt(keys.shape[1]), -np.inf)
        if not real.any():
            return np.zeros(values.shape[1]), np.zeros(len(keys))
        p = np.exp(s - np.logaddexp.reduce(s))
        return p @ values, p

    def descend(words, mem, real):
        if words.ndim == 2:
            pairs = [attend(word, mem @ w_key, mem @ w_value, real[0]) for word in words]
        else:
            pairs = [descend(*three) for three in zip(words, mem, real, strict=True)]
        return tuple(np.stack(parts) for parts in zip(*pairs, strict=True))

    everything = np.ones((*memory.shape[:-2], 1, memory.shape[-2]), dtype=bool)
    return descend(x, memory, everything if memory_mask is None else everything & memory_mask)


@variant("cross_attention")
def cross_in_float32(x, memory, w_query, w_key, w_value, memory_mask=None):
    """Computes in float32 with nested helper functions."""

    def f32(*arrays):
        return [np.array(a, dtype=np.float32) for a in arrays]

    def probabilities(s, ok):
        s = np.where(ok, s, np.float32(-1e9))
        e = np.exp(s - s.max(-1, keepdims=True)) * ok
        return e / np.maximum(e.sum(-1, keepdims=True), np.float32(1e-20))

    x, memory, w_query, w_key, w_value = f32(x, memory, w_query, w_key, w_value)
    key = memory @ w_key
    scale = np.float32(1 / np.sqrt(key.shape[-1]))
    scores = x @ w_query @ key.swapaxes(-1, -2) * scale
    weights = probabilities(scores, True if memory_mask is None else memory_mask)
    return weights @ (memory @ w_value), weights


@variant("cross_attention")
def cross_that_talks(x, memory, w_query, w_key, w_value, memory_mask=None):
    """Prints every step, warns, has local names that say nothing, and returns a list."""
    import warnings

    decoder, encoder = x, memory
    print(f"{decoder.shape = }, {encoder.shape = }")
    if decoder.shape != encoder.shape:
        warnings.warn("decoder and encoder have other shapes", UserWarning, stacklevel=2)
    hui = np.apply_along_axis(w_query.T.dot, -1, decoder)
    pfui = np.apply_along_axis(w_key.T.dot, -1, encoder)
    tmp = (hui[..., :, None, :] * pfui[..., None, :, :]).sum(-1) / np.sqrt(hui.shape[-1])
    print("before the mask\n", tmp)
    if memory_mask is not None:
        tmp = tmp * memory_mask - 1e9 * (1 - memory_mask.astype(float))
        print("after the mask\n", tmp)
    tmp2 = np.exp(tmp - tmp.max(axis=-1, keepdims=True)) * (1.0 if memory_mask is None else memory_mask)
    tmp3 = tmp2.sum(axis=-1, keepdims=True)
    tmp4 = tmp2 / np.where(tmp3 == 0, 1, tmp3)
    return [tmp4 @ np.apply_along_axis(w_value.T.dot, -1, encoder), tmp4]


@variant("cross_attention")
def cross_of_torch(x, memory, w_query, w_key, w_value, memory_mask=None):
    """Written with torch: linear layers without bias, and softmax as a function."""
    import torch
    from torch.nn import functional

    def project(words, weights):
        return functional.linear(torch.tensor(words.copy()), torch.tensor(weights).T)

    query, key, value = project(x, w_query), project(memory, w_key), project(memory, w_value)
    scores = torch.matmul(query, key.transpose(-1, -2)) / key.size(-1) ** 0.5
    if memory_mask is not None:
        scores = scores.masked_fill(torch.tensor(memory_mask).logical_not(), float("-inf"))
    weights = functional.softmax(scores, dim=-1).nan_to_num()
    return torch.matmul(weights, value), weights
