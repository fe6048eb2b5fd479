"""Correct versions of lab 08's exercises in other styles, as different learners would write them."""

# Each one is handed in alone, in place of the reference. Besides what the set-up cell imports, a version may use the
# exercises above it under their own names; in this file the plain versions below stand in for them. All else is
# imported or defined inside.

import math
from collections import Counter

import numpy as np
import torch
from torch import nn

from course_utils.models.rotary import rotate
from course_utils.models.torch_attention import MultiHeadAttention
from grader.catalogue import variant

# ---------------------------------------------------------------------------------- the exercises above, plainly


class DecoderBlock(nn.Module):
    def __init__(self, embedding_dim, num_heads, dropout_rate=0.0):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(embedding_dim), nn.LayerNorm(embedding_dim)
        self.attention = MultiHeadAttention(embedding_dim, num_heads)
        self.expand = nn.Linear(embedding_dim, 4 * embedding_dim)
        self.contract = nn.Linear(4 * embedding_dim, embedding_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x):
        y = self.norm1(x)
        seen = torch.arange(x.size(1)) <= torch.arange(x.size(1))[:, None]
        x = x + self.dropout(self.attention(y, y, y, seen)[0])
        return x + self.dropout(self.contract(nn.GELU()(self.expand(self.norm2(x)))))


def grouped_query_attention(query, key, value, mask=None):
    batch, _, q_len, size = query.shape
    grouped = query.reshape(batch, key.size(1), -1, q_len, size)
    scores = torch.einsum("bgrqd,bgkd->bgrqk", grouped, key) * size**-0.5
    if mask is not None:
        scores = torch.where(mask, scores, -1e30)
    return torch.einsum("bgrqk,bgkd->bgrqd", scores.softmax(-1), value).reshape(query.shape)


# ---------------------------------------------------------------------------------- shift_targets


@variant("shift_targets")
def shift_by_where(ids, pad_id=0, ignore_id=-100):
    """Chooses with torch.where."""
    following = ids[:, 1:]
    return ids[:, :-1], torch.where(following == pad_id, ignore_id, following)


@variant("shift_targets")
def shift_row_by_row(rows, pad=0, ignore=-100):
    """Python lists, with other names for the parameters."""
    inputs, targets = [], []
    for row in rows.tolist():
        inputs.append(row[:-1])
        targets.append([ignore if word == pad else word for word in row[1:]])
    return torch.tensor(inputs), torch.tensor(targets)


@variant("shift_targets")
def shift_by_narrow_and_masked_fill(ids, pad_id=0, ignore_id=-100):
    """narrow and masked_fill."""
    size = ids.size(1) - 1
    targets = ids.narrow(1, 1, size)
    return ids.narrow(1, 0, size), targets.masked_fill(targets.eq(pad_id), ignore_id)


# ---------------------------------------------------------------------------------- masked_loss


@variant("masked_loss")
def loss_by_logsumexp(logits, targets, ignore_id=-100):
    """The logarithm of the sum minus the right token's logit, weighted with the mask."""
    real = (targets != ignore_id).float()
    safe = torch.where(targets == ignore_id, 0, targets)
    right = torch.take_along_dim(logits, safe[..., None], dim=-1).squeeze(-1)
    costs = (torch.logsumexp(logits, dim=-1) - right) * real
    return costs.sum() / max(real.sum().item(), 1.0)


@variant("masked_loss")
def loss_place_by_place(logits, targets, ignore_id=-100):
    """Two loops, in float64."""
    total, number = 0 * logits.double().sum(), 0
    for rows, row in zip(logits.double(), targets.tolist(), strict=True):
        for scores, target in zip(rows, row, strict=True):
            if target != ignore_id:
                total = total - scores.log_softmax(0)[target]
                number += 1
    return (total / max(number, 1)).float()


@variant("masked_loss")
def loss_by_one_hot(logits, targets, ignore_id=-100):
    """Flattened, with one-hot rows, which are all zeros where nothing counts."""
    flat, wanted = logits.flatten(0, -2), targets.flatten()
    chosen = wanted != ignore_id
    if not chosen.any():
        return logits.sum() * 0.0
    hot = nn.functional.one_hot(wanted[chosen], flat.shape[-1]).to(flat.dtype)
    shifted = flat[chosen] - flat[chosen].max(dim=-1, keepdim=True).values
    logs = shifted - shifted.exp().sum(dim=-1, keepdim=True).log()
    return (-(hot * logs).sum(dim=-1)).mean()


# ---------------------------------------------------------------------------------- DecoderBlock


@variant("DecoderBlock")
class BlockPlaceByPlace(nn.Module):
    """No mask at all: each place in turn attends to the slice that ends with it. The network is written as products."""

    def __init__(self, embedding_dim, num_heads, dropout_rate=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(embedding_dim, num_heads)
        self.expand = nn.Linear(embedding_dim, 4 * embedding_dim)
        self.contract = nn.Linear(4 * embedding_dim, embedding_dim)
        for name in ("norm1", "norm2"):
            self.add_module(name, nn.LayerNorm(embedding_dim))
        self.dropout_rate = dropout_rate

    def thinned(self, update):
        return nn.functional.dropout(update, self.dropout_rate, self.training)

    def forward(self, x):
        read, heard = self.norm1(x), []
        for end in range(1, x.size(1) + 1):
            so_far = read[:, :end]
            heard.append(self.attention(so_far[:, -1:], so_far, so_far)[0])
        x = x + self.thinned(torch.cat(heard, dim=1))
        inner = torch.einsum("bld,hd->blh", self.norm2(x), self.expand.weight) + self.expand.bias
        inner = inner * torch.distributions.Normal(0, 1).cdf(inner)
        return x + self.thinned(torch.einsum("blh,dh->bld", inner, self.contract.weight) + self.contract.bias)


@variant("DecoderBlock")
class BlockWithModules(nn.Module):
    """A buffer for the mask, which grows when it is too small, and sub-layers as methods."""

    def __init__(self, embedding_dim, num_heads, dropout_rate=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(embedding_dim)
        self.norm2 = nn.LayerNorm(embedding_dim)
        self.attention = MultiHeadAttention(embedding_dim, num_heads)
        self.expand = nn.Linear(embedding_dim, embedding_dim * 4)
        self.contract = nn.Linear(embedding_dim * 4, embedding_dim)
        self.dropout = nn.Dropout(p=dropout_rate)
        self.register_buffer("triangle", torch.tril(torch.ones(64, 64)).bool(), persistent=False)

    def look(self, x):
        n = x.size(-2)
        if n > len(self.triangle):
            self.triangle = torch.tril(torch.ones(2 * n, 2 * n)).bool()
        return self.dropout(self.attention(x, x, x, self.triangle[:n, :n])[0])

    def think(self, x):
        hidden = self.expand(x)
        return self.dropout(self.contract(hidden * 0.5 * (1 + torch.erf(hidden / math.sqrt(2)))))

    def forward(self, x):
        x = x + self.look(self.norm1(x))
        return x + self.think(self.norm2(x))


@variant("DecoderBlock")
class BlockWithBatchMask(DecoderBlock):
    """A mask with axes for batch and heads, and functional dropout."""

    def forward(self, x):
        batch, length, _ = x.shape
        late = torch.triu(torch.ones(length, length), diagonal=1) > 0
        mask = (~late).expand(batch, 1, length, length)
        copy = nn.functional.layer_norm(x, x.shape[-1:], self.norm1.weight, self.norm1.bias)
        out, _weights = self.attention(query=copy, key=copy, value=copy, mask=mask)
        x = nn.functional.dropout(out, self.dropout.p, self.training) + x
        out = self.contract(nn.functional.gelu(self.expand(self.norm2(x)), approximate="none"))
        return nn.functional.dropout(out, self.dropout.p, self.training) + x


# ---------------------------------------------------------------------------------- GPT


@variant("GPT")
class GptWithATiedLayer(nn.Module):
    """The output is a linear layer whose weight is the embedding's."""

    def __init__(self, vocabulary_size, max_len, embedding_dim, num_heads, num_layers, dropout_rate=0.0):
        super().__init__()
        self.head = nn.Linear(embedding_dim, vocabulary_size, bias=False)
        self.token_embedding = nn.Embedding(vocabulary_size, embedding_dim)
        self.token_embedding.weight = self.head.weight
        self.position_embedding = nn.Embedding(max_len, embedding_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.blocks = nn.ModuleList([DecoderBlock(embedding_dim, num_heads, dropout_rate) for _ in range(num_layers)])
        self.norm = nn.LayerNorm(embedding_dim)

    def forward(self, ids):
        x = self.token_embedding(ids) + self.position_embedding.weight[: ids.size(1)]
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


@variant("GPT")
class GptInSequence(nn.Module):
    """The blocks in an nn.Sequential, the logits by nn.functional.linear."""

    def __init__(self, vocabulary_size, max_len, embedding_dim, num_heads, num_layers, dropout_rate=0.0):
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary_size, embedding_dim)
        self.position_embedding = nn.Embedding(max_len, embedding_dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.blocks = nn.Sequential(*(DecoderBlock(embedding_dim, num_heads, dropout_rate) for _ in range(num_layers)))
        self.norm = nn.LayerNorm(embedding_dim)

    def forward(self, ids):
        places = torch.arange(ids.shape[-1]).expand_as(ids)
        x = self.blocks(self.dropout(self.position_embedding(places) + self.token_embedding(ids)))
        return nn.functional.linear(self.norm(x), self.token_embedding.weight)


@variant("GPT")
class GptByEinsum(GptInSequence):
    """Logits by einsum, embeddings by nn.functional."""

    def forward(self, ids):
        table = self.token_embedding.weight
        x = nn.functional.embedding(ids, table) + self.position_embedding.weight.narrow(0, 0, ids.size(1))
        x = self.dropout(x)
        for number in range(len(self.blocks)):
            x = self.blocks[number](x)
        return torch.einsum("bld,vd->blv", self.norm(x), table)


# ---------------------------------------------------------------------------------- perplexity


@variant("perplexity")
def perplexity_by_numpy(losses, counts, characters):
    """NumPy's weighted mean, and log2."""
    mean = np.average(losses, weights=counts)
    return np.exp(mean), mean * np.sum(counts) * np.log2(np.e) / characters


@variant("perplexity")
def perplexity_by_product(losses, counts, characters):
    """The product of the batches' perplexities, each to the power of its share."""
    every = sum(counts)
    product = math.prod(math.exp(loss) ** (count / every) for loss, count in zip(losses, counts, strict=True))
    return product, every * math.log2(product) / characters


@variant("perplexity")
def perplexity_by_places(losses, sizes, text_length):
    """A loop over places, other names."""
    total, tokens = 0.0, 0
    for place in range(len(losses)):
        total += losses[place] * sizes[place]
        tokens += sizes[place]
    return math.e ** (total / tokens), total / text_length / 0.6931471805599453


# ---------------------------------------------------------------------------------- NGramModel


@variant("NGramModel")
class NGramsByRecursion:
    """The formula as a recursion over contexts; counts in two dictionaries."""

    def __init__(self, sequences, n, vocabulary_size, strength):
        self.n, self.size, self.strength = n, vocabulary_size, strength
        self.pairs, self.totals = Counter(), Counter()
        for row in sequences:
            for end in range(len(row)):
                for start in range(max(0, end - n + 1), end + 1):
                    self.pairs[tuple(row[start : end + 1])] += 1
                    self.totals[tuple(row[start:end])] += 1

    def share(self, token, context):
        shorter = self.share(token, context[1:]) if context else 1 / self.size
        number = self.pairs[(*context, token)]
        return (number + self.strength * shorter) / (self.totals[context] + self.strength)

    def probabilities(self, context):
        last = tuple(context[max(0, len(context) - self.n + 1) :])
        return np.array([self.share(token, last) for token in range(self.size)])


@variant("NGramModel")
class NGramsAsArrays:
    """A row of counts for each context."""

    def __init__(self, sequences, n, vocabulary_size, strength):
        from collections import defaultdict

        self.longest, self.words, self.weight = n - 1, vocabulary_size, strength
        self.table = defaultdict(lambda: np.zeros(vocabulary_size))
        for row in sequences:
            for size in range(n):
                for start in range(len(row) - size):
                    self.table[tuple(row[start : start + size])][row[start + size]] += 1

    def probabilities(self, context):
        shares = np.ones(self.words) / self.words
        context = list(context)
        for size in range(self.longest + 1):
            if size > len(context):
                break
            key = tuple(context[len(context) - size :])
            if key in self.table:
                row = self.table[key]
                shares = (row + self.weight * shares) / (row.sum() + self.weight)
        return shares


@variant("NGramModel")
class NGramsBySearch:
    """Counts only when asked, by going through all rows; returns a list."""

    def __init__(self, sequences, n, vocabulary_size, strength):
        self.rows, self.n, self.v, self.s = [list(row) for row in sequences], n, vocabulary_size, strength

    def probabilities(self, context):
        shares = [1 / self.v] * self.v
        for size in range(self.n):
            if size > len(context):
                return shares
            tail = list(context)[-size:] if size else []
            after = [row[i + size] for row in self.rows for i in range(len(row) - size) if row[i : i + size] == tail]
            shares = [(after.count(w) + self.s * shares[w]) / (len(after) + self.s) for w in range(self.v)]
        return shares


# ---------------------------------------------------------------------------------- sampling_probabilities


@variant("sampling_probabilities")
def sampling_by_ranks(logits, temperature=1.0, top_k=None, top_p=None):
    """Ranks of all tokens decide what is kept."""
    scaled = logits / temperature
    ranks = scaled.argsort(dim=-1, descending=True).argsort(dim=-1)
    keep = torch.ones_like(ranks, dtype=torch.bool) if top_k is None else ranks < top_k
    shares = torch.where(keep, scaled, torch.tensor(-float("inf"))).softmax(dim=-1)
    if top_p is None:
        return shares
    sums = shares.sort(dim=-1, descending=True).values.cumsum(dim=-1)
    needed = (sums < top_p).sum(dim=-1, keepdim=True) + 1
    shares = shares * (ranks < needed)
    return shares / shares.sum(dim=-1, keepdim=True)


@variant("sampling_probabilities")
def sampling_row_by_row(logits, temperature=1.0, top_k=None, top_p=None):
    """NumPy, one row after the other, with a loop that fills the nucleus."""
    rows = logits.numpy().astype(np.float64).reshape(-1, logits.shape[-1]) / temperature
    found = np.zeros(rows.shape)
    for row, out in zip(rows, found, strict=True):
        order = np.argsort(-row)[: top_k or len(row)]
        weights = np.exp(row[order] - row.max())
        weights /= weights.sum()
        total = 0.0
        for token, weight in zip(order, weights, strict=True):
            out[token] = weight
            total += weight
            if top_p is not None and total >= top_p:
                break
        out /= total
    return torch.from_numpy(found.reshape(logits.shape))


@variant("sampling_probabilities")
def sampling_by_cut_values(logits, temperature=1.0, top_k=None, top_p=None):
    """A lowest kept probability for each row; renormalised after each step."""
    shares = torch.softmax(logits / temperature, -1)
    if top_k is not None:
        least = torch.sort(shares, dim=-1).values[..., -top_k].unsqueeze(-1)
        shares = torch.where(shares >= least, shares, 0.0)
        shares = shares / shares.sum(-1, keepdim=True)
    if top_p is not None:
        high = torch.sort(shares, dim=-1, descending=True).values
        inside = torch.cumsum(high, -1) - high < top_p
        least = torch.where(inside, high, 2.0).amin(-1, keepdim=True)
        shares = torch.where(shares >= least, shares, 0.0)
        shares = shares / shares.sum(-1, keepdim=True)
    return shares


@variant("sampling_probabilities")
def sampling_by_shifting_the_cut(logits, temperature=1.0, top_k=None, top_p=None):
    """Running sums of sorted logits' probabilities; what is cut moves one place to the right, so the token that reaches top_p stays."""
    scaled = logits / temperature
    if top_k is not None:
        scaled = torch.where(scaled < torch.topk(scaled, top_k).values[..., [-1]], -torch.inf, scaled)
    if top_p is not None:
        high, order = torch.sort(scaled, descending=True)
        cut = high.softmax(-1).cumsum(-1) >= top_p
        cut = torch.cat([torch.zeros_like(cut[..., :1]), cut[..., :-1]], dim=-1)
        scaled = scaled.masked_fill(cut.scatter(-1, order, cut), -torch.inf)
    return scaled.softmax(dim=-1)


# ---------------------------------------------------------------------------------- summary_features


@variant("summary_features")
def features_by_shifting(article_ids, summary_ids, sep_id, eos_id, max_len, ignore_id=-100):
    """The whole row first, then shifted and masked, as arrays."""
    article = list(article_ids)
    while len(article) + 1 + len(summary_ids) > max_len:
        article.pop()
    whole = np.array([*article, sep_id, *summary_ids, eos_id])
    targets = whole[1:].copy()
    targets[: len(article)] = ignore_id
    return whole[:-1].tolist(), targets.tolist()


@variant("summary_features")
def features_with_a_mask(article_ids, summary_ids, sep_id, eos_id, max_len, ignore_id=-100):
    """A flag for each token: whether it should be learned."""
    article = article_ids[: max_len - 1 - len(summary_ids)]
    flagged = [(word, False) for word in [*article, sep_id]] + [(word, True) for word in [*summary_ids, eos_id]]
    inputs = [word for word, _ in flagged[:-1]]
    return inputs, [word if learned else ignore_id for word, learned in flagged[1:]]


@variant("summary_features")
def features_as_tensors(article, summary, sep, eos, most, ignored=-100):
    """Tensors, joined; other names."""
    kept = torch.tensor(article, dtype=torch.long)[: most - len(summary) - 1]
    words = torch.tensor(summary, dtype=torch.long)
    inputs = torch.cat([kept, torch.tensor([sep]), words])
    targets = torch.cat([torch.full_like(kept, ignored), words, torch.tensor([eos])])
    return inputs.tolist(), targets.tolist()


# ---------------------------------------------------------------------------------- rouge_l


@variant("rouge_l")
def rouge_by_recursion(candidate, reference):
    """A recursion that remembers its results."""
    from functools import cache

    @cache
    def length(i, j):
        if i == len(candidate) or j == len(reference):
            return 0
        if candidate[i] == reference[j]:
            return 1 + length(i + 1, j + 1)
        return max(length(i + 1, j), length(i, j + 1))

    common = length(0, 0)
    if not common:
        return 0, 0, 0
    return common / len(candidate), common / len(reference), 2 * common / (len(candidate) + len(reference))


@variant("rouge_l")
def rouge_with_one_row(candidate, reference):
    """Only the last row of the table is kept."""
    row = np.zeros(len(reference) + 1, dtype=int)
    for word in candidate:
        above = row.copy()
        for place, other in enumerate(reference, 1):
            row[place] = above[place - 1] + 1 if word == other else max(above[place], row[place - 1])
    common = int(row[-1])
    precision = common / max(len(candidate), 1)
    recall = common / max(len(reference), 1)
    f1 = 0.0 if common == 0 else 2 / (1 / precision + 1 / recall)
    return precision, recall, f1


@variant("rouge_l")
def rouge_by_increasing_places(candidate, reference):
    """The longest rising sequence of matching places."""
    from bisect import bisect_left

    ends = []
    for word in candidate:
        for place in reversed([i for i, other in enumerate(reference) if other == word]):
            spot = bisect_left(ends, place)
            ends[spot : spot + 1] = [place]
    common = len(ends)
    if common == 0:
        return (0.0, 0.0, 0.0)
    p, r = common / len(candidate), common / len(reference)
    return (p, r, 2 * p * r / (p + r))


# ---------------------------------------------------------------------------------- rms_norm


@variant("rms_norm")
def rms_by_division(x, weight, eps=1e-5):
    """A square root and a division, with pow."""
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


@variant("rms_norm")
def rms_by_einsum(x, weight, eps=1e-5):
    """einsum, in float64."""
    wide = x.double()
    mean = torch.einsum("...i,...i->...", wide, wide) / x.shape[-1]
    return (wide * (mean + eps).pow(-0.5).unsqueeze(-1) * weight).float()


@variant("rms_norm")
def rms_word_by_word(values, gamma, eps=1e-5):
    """A loop over all words."""
    rows = []
    for row in values.reshape(-1, values.shape[-1]):
        size = sum(number**2 for number in row) / len(row) + eps
        rows.append(gamma * row / size**0.5)
    return torch.stack(rows).reshape(values.shape)


# ---------------------------------------------------------------------------------- swiglu


@variant("swiglu")
def swiglu_by_functions(x, w_gate, w_up, w_down):
    """nn.functional's linear and silu."""
    linear = nn.functional.linear
    return linear(nn.functional.silu(linear(x, w_gate)) * linear(x, w_up), w_down)


@variant("swiglu")
def swiglu_by_one_product(x, w_gate, w_up, w_down):
    """Both products at once, then split."""
    both = x @ torch.cat([w_gate, w_up]).T
    gate, up = both.chunk(2, dim=-1)
    return torch.einsum("...h,fh->...f", gate * torch.exp(-torch.logaddexp(torch.zeros(()), -gate)) * up, w_down)


@variant("swiglu")
def swiglu_in_float64(x, w_gate, w_up, w_down):
    """float64, einsum, and tanh for the sigmoid."""
    x, gate, up, down = (each.double() for each in (x, w_gate, w_up, w_down))
    opened = torch.einsum("...f,hf->...h", x, gate)
    return (opened * (0.5 + 0.5 * torch.tanh(opened / 2)) * (x @ up.T)) @ down.T


# ---------------------------------------------------------------------------------- grouped_query_attention


@variant("grouped_query_attention")
def groups_as_an_axis(query, key, value, mask=None):
    """An axis for the groups instead of repeated keys; broadcasting does the rest."""
    kv_heads = key.shape[1]
    split = query.unflatten(1, (kv_heads, -1))  # (batch, kv_heads, group, q_len, head_dim)
    scores = split @ key.unsqueeze(2).transpose(-1, -2) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.tensor(-1e9))
    return (torch.softmax(scores, dim=-1) @ value.unsqueeze(2)).flatten(1, 2)


@variant("grouped_query_attention")
def head_by_head(query, key, value, mask=None):
    """A loop over the query heads."""
    heads, found = query.size(1), []
    for head in range(heads):
        other = head * key.size(1) // heads
        scores = query[:, head] @ key[:, other].mT / query.size(-1) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), torch.finfo(scores.dtype).min)
        found.append(scores.softmax(-1) @ value[:, other])
    return torch.stack(found, dim=1)


@variant("grouped_query_attention")
def by_index_and_einsum(query, key, value, mask=None):
    """An index that says which key head belongs to which query head; einsum; exp and sum by hand."""
    owner = torch.arange(query.shape[1]) // (query.shape[1] // key.shape[1])
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key[:, owner]) / math.sqrt(key.shape[3])
    allowed = torch.ones_like(scores) if mask is None else mask.to(scores.dtype).expand_as(scores)
    highest = scores.masked_fill(allowed == 0, -torch.inf).amax(-1, keepdim=True)
    weights = torch.exp(torch.minimum(scores - highest, torch.zeros(()))) * allowed
    return torch.einsum("bhqk,bhkd->bhqd", weights / weights.sum(-1, keepdim=True), value[:, owner])


# ---------------------------------------------------------------------------------- attend_with_cache


@variant("attend_with_cache")
def cache_by_positions(query, key, value, cache=None, rotary_base=10_000.0):
    """The mask from comparing positions; an empty cache for none."""
    if cache is None:
        cache = (key[:, :, :0], value[:, :, :0])
    old_keys, old_values = cache
    start = old_keys.size(-2)
    keys = torch.cat((old_keys, rotate(key, start, rotary_base)), -2)
    values = torch.cat((old_values, value), -2)
    own = torch.arange(start, keys.size(-2))
    seen = torch.arange(keys.size(-2)) <= own[:, None]
    return grouped_query_attention(rotate(query, start, rotary_base), keys, values, seen), (keys, values)


@variant("attend_with_cache")
def cache_token_by_token(query, key, value, cache=None, rotary_base=10_000.0):
    """One new token after the other, for which no mask is needed; the cache as a list."""
    keys, values = ([], []) if cache is None else ([cache[0]], [cache[1]])
    place, found = (0 if cache is None else cache[0].shape[2]), []
    for new in range(query.shape[2]):
        keys.append(rotate(key[:, :, new : new + 1], place, base=rotary_base))
        values.append(value[:, :, new : new + 1])
        asked = rotate(query[:, :, new : new + 1], place, base=rotary_base)
        found.append(grouped_query_attention(asked, torch.cat(keys, dim=2), torch.cat(values, dim=2)))
        place += 1
    return torch.cat(found, dim=2), [torch.cat(keys, dim=2), torch.cat(values, dim=2)]


@variant("attend_with_cache")
def cache_with_two_masks(q, k, v, cache=None, base=10_000.0):
    """A block of ones for the past beside a triangle for the new tokens."""
    past = cache[0].shape[-2] if cache else 0
    q, k = (rotate(each, first=past, base=base) for each in (q, k))
    new = q.shape[-2]
    mask = torch.cat([torch.ones(new, past), torch.tril(torch.ones(new, new))], dim=1).bool()
    if cache:
        k, v = torch.cat([cache[0], k], dim=-2), torch.cat([cache[1], v], dim=-2)
    return grouped_query_attention(q, k, v, mask=mask), (k, v)
