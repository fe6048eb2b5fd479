"""Wrong ways to write lab 03's exercises. Each must lose points and be recognised as itself."""

import numpy as np
import torch
from torch import nn

from course_utils.maths import scaled_dot_product_attention
from grader.author.catalogue import misconception

# ---------------------------------------------------------------------------------- multi_head_attention_loop


@misconception(
    "multi_head_attention_loop",
    "The heads stand side by side now, but nothing has mixed them: what one head found cannot meet what another found. "
    "The paper's formula ends in a fourth matrix, and so does the list of arguments.",
)
def loop_without_w_output(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """The heads are concatenated but not multiplied by w_output."""
    d_k, d_v = w_query.shape[-1] // num_heads, w_value.shape[-1] // num_heads
    outputs, weights = [], []
    for i in range(num_heads):
        of_k, of_v = slice(i * d_k, (i + 1) * d_k), slice(i * d_v, (i + 1) * d_v)
        o, w = scaled_dot_product_attention(
            x @ w_query[:, of_k], memory @ w_key[:, of_k], memory @ w_value[:, of_v], mask
        )
        outputs.append(o)
        weights.append(w)
    return np.concatenate(outputs, axis=-1), np.stack(weights, axis=-3)


@misconception(
    "multi_head_attention_loop",
    "All your heads are the same head: each uses the first columns of the matrices. The block of columns has to move on with the head.",
)
def loop_with_one_head_again_and_again(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """Every head uses the first head's columns."""
    d_k, d_v = w_query.shape[-1] // num_heads, w_value.shape[-1] // num_heads
    outputs, weights = [], []
    for _ in range(num_heads):
        o, w = scaled_dot_product_attention(
            x @ w_query[:, :d_k], memory @ w_key[:, :d_k], memory @ w_value[:, :d_v], mask
        )
        outputs.append(o)
        weights.append(w)
    return np.concatenate(outputs, axis=-1) @ w_output, np.stack(weights, axis=-3)


@misconception(
    "multi_head_attention_loop",
    "You deal the columns out like cards: head 0 gets every n-th one. In this course (and in the libraries) a head owns a *block* of "
    "neighbouring columns: the first d_k belong to head 0, the next d_k to head 1.",
)
def loop_over_interleaved_columns(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """Head i takes every num_heads-th column, beginning with column i."""
    outputs, weights = [], []
    for i in range(num_heads):
        o, w = scaled_dot_product_attention(
            x @ w_query[:, i::num_heads],
            memory @ w_key[:, i::num_heads],
            memory @ w_value[:, i::num_heads],
            mask,
        )
        outputs.append(o)
        weights.append(w)
    return np.concatenate(outputs, axis=-1) @ w_output, np.stack(weights, axis=-3)


@misconception(
    "multi_head_attention_loop",
    "Values are made with the value's matrix. Yours come from the key's: a word is then handed over as what it is found by, not as what it has to say.",
)
def loop_with_value_from_key(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """The values are made with the key's matrix."""
    d_k = w_query.shape[-1] // num_heads
    outputs, weights = [], []
    for i in range(num_heads):
        of_k = slice(i * d_k, (i + 1) * d_k)
        key = memory @ w_key[:, of_k]
        o, w = scaled_dot_product_attention(x @ w_query[:, of_k], key, key, mask)
        outputs.append(o)
        weights.append(w)
    return np.concatenate(outputs, axis=-1) @ w_output, np.stack(weights, axis=-3)


@misconception(
    "multi_head_attention_loop",
    "Keys and values have to come from `memory`; yours come from x, so memory is never looked at. (In self-attention both are the same "
    "sentence, and the mistake does not show.)",
)
def loop_without_memory(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """Keys and values come from x: memory is never looked at."""
    d_k, d_v = w_query.shape[-1] // num_heads, w_value.shape[-1] // num_heads
    outputs, weights = [], []
    for i in range(num_heads):
        of_k, of_v = slice(i * d_k, (i + 1) * d_k), slice(i * d_v, (i + 1) * d_v)
        o, w = scaled_dot_product_attention(
            x @ w_query[:, of_k], x @ w_key[:, of_k], x @ w_value[:, of_v], mask
        )
        outputs.append(o)
        weights.append(w)
    return np.concatenate(outputs, axis=-1) @ w_output, np.stack(weights, axis=-3)


@misconception(
    "multi_head_attention_loop",
    "The heads are added up, so what each of them found is lost in the sum. They belong side by side: num_heads rows of d_v numbers become one "
    "row of num_heads × d_v.",
)
def loop_with_heads_summed(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """The heads are summed instead of concatenated."""
    d_k, d_v = w_query.shape[-1] // num_heads, w_value.shape[-1] // num_heads
    outputs, weights = [], []
    for i in range(num_heads):
        of_k, of_v = slice(i * d_k, (i + 1) * d_k), slice(i * d_v, (i + 1) * d_v)
        o, w = scaled_dot_product_attention(
            x @ w_query[:, of_k], memory @ w_key[:, of_k], memory @ w_value[:, of_v], mask
        )
        outputs.append(o)
        weights.append(w)
    return np.add.reduce(outputs) @ w_output, np.stack(weights, axis=-3)


@misconception(
    "multi_head_attention_loop",
    "The mask does not reach the heads: words are looked at that should be hidden. Every head has to keep to it.",
)
def loop_without_mask(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """The mask is never used."""
    d_k, d_v = w_query.shape[-1] // num_heads, w_value.shape[-1] // num_heads
    outputs, weights = [], []
    for i in range(num_heads):
        of_k, of_v = slice(i * d_k, (i + 1) * d_k), slice(i * d_v, (i + 1) * d_v)
        o, w = scaled_dot_product_attention(
            x @ w_query[:, of_k], memory @ w_key[:, of_k], memory @ w_value[:, of_v]
        )
        outputs.append(o)
        weights.append(w)
    return np.concatenate(outputs, axis=-1) @ w_output, np.stack(weights, axis=-3)


@misconception(
    "multi_head_attention_loop",
    "For one sentence all is well; with a batch your weights have the heads first and the sentences second. Where does the docstring want "
    "the axis of the heads, counted from the right?",
)
def loop_with_heads_before_batch(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """The weights have the axis of the heads in front of the batch."""
    d_k, d_v = w_query.shape[-1] // num_heads, w_value.shape[-1] // num_heads
    outputs, weights = [], []
    for i in range(num_heads):
        of_k, of_v = slice(i * d_k, (i + 1) * d_k), slice(i * d_v, (i + 1) * d_v)
        o, w = scaled_dot_product_attention(
            x @ w_query[:, of_k], memory @ w_key[:, of_k], memory @ w_value[:, of_v], mask
        )
        outputs.append(o)
        weights.append(w)
    return np.concatenate(outputs, axis=-1) @ w_output, np.stack(weights)


@misconception(
    "multi_head_attention_loop",
    "The average over the heads hides what they do differently, and that is what they are there for. (`torch.nn.MultiheadAttention` averages unless it is told not to.)",
)
def loop_with_weights_averaged(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """The weights are averaged over the heads."""
    d_k, d_v = w_query.shape[-1] // num_heads, w_value.shape[-1] // num_heads
    outputs, weights = [], []
    for i in range(num_heads):
        of_k, of_v = slice(i * d_k, (i + 1) * d_k), slice(i * d_v, (i + 1) * d_v)
        o, w = scaled_dot_product_attention(
            x @ w_query[:, of_k], memory @ w_key[:, of_k], memory @ w_value[:, of_v], mask
        )
        outputs.append(o)
        weights.append(w)
    return np.concatenate(outputs, axis=-1) @ w_output, np.mean(weights, axis=0)


# ---------------------------------------------------------------------------------- split_heads


@misconception(
    "split_heads",
    "The shape is right, the numbers are in the wrong places. `reshape` never moves a number in memory: it reads on, word after word, so "
    "head 0 gets whole words. First cut each word's row into heads, where it lies; then exchange two axes.",
)
def split_by_reshape_alone(x, num_heads):
    """A reshape straight to the final shape, which mixes words and heads."""
    *lead, seq_len, width = x.shape
    return x.reshape(*lead, num_heads, seq_len, width // num_heads)


@misconception(
    "split_heads",
    "Each word's row is cut into heads, which is the first half. But attention works on the last two axes, and there you have heads and d_k: the words "
    "must come to stand beside d_k.",
)
def split_not_transposed(x, num_heads):
    """The axes of words and heads are not exchanged."""
    *lead, seq_len, width = x.shape
    return x.reshape(*lead, seq_len, num_heads, width // num_heads)


@misconception(
    "split_heads",
    "You deal the features out like cards, one to each head in turn. A head owns a *block* of neighbouring features: the first d_k belong to head 0.",
)
def split_like_cards(x, num_heads):
    """The features are dealt out in turn: head i gets features i, i + num_heads, and so on."""
    return np.stack([x[..., i::num_heads] for i in range(num_heads)], axis=-3)


@misconception(
    "split_heads",
    "For one sentence all is well; with a batch the heads stand in front of the sentences. Everything that is in front of the words stays in "
    "front, so count the axes from the right.",
)
def split_with_heads_in_front(x, num_heads):
    """The axis of the heads comes first, before the batch."""
    *lead, seq_len, width = x.shape
    return np.moveaxis(x.reshape(*lead, seq_len, num_heads, width // num_heads), -2, 0)


@misconception(
    "split_heads",
    "You made heads of size num_heads, as many as fit. It is the other way round: there are num_heads of them, and their size follows.",
)
def split_with_number_and_size_exchanged(x, num_heads):
    """num_heads is taken for the size of a head."""
    *lead, seq_len, width = x.shape
    return x.reshape(*lead, seq_len, width // num_heads, num_heads).swapaxes(-2, -3)


@misconception(
    "split_heads",
    "One exchange too many: within a head each *row* is a word, and its d_k features run along the last axis. (The transposed key belongs "
    "to the scores, later.)",
)
def split_with_features_before_words(x, num_heads):
    """Words and features are exchanged within each head."""
    *lead, seq_len, width = x.shape
    return np.moveaxis(x.reshape(*lead, seq_len, num_heads, width // num_heads), -3, -1)


@misconception(
    "split_heads",
    "You give each head some of the *words*. But each head is to look at all words: what is shared out are the features of each word.",
)
def split_along_words(x, num_heads):
    """The words are shared out among the heads, not the features."""
    return np.stack(np.split(x, num_heads, axis=-2), axis=-3)


@misconception(
    "split_heads",
    "A batch works, a single sentence does not: you unpack exactly three sizes. The sizes that you need are the last two, `shape[-2]` and "
    "`shape[-1]`, whatever stands in front.",
)
def split_three_axes_only(x, num_heads):
    """It works for a batch (three axes) only."""
    batch, seq_len, width = x.shape
    return x.reshape(batch, seq_len, num_heads, width // num_heads).transpose(0, 2, 1, 3)


# ---------------------------------------------------------------------------------- merge_heads


@misconception(
    "merge_heads",
    "The shape is right, the numbers are in the wrong places: `reshape` reads on in memory, head after head, so a row holds several words of one head. "
    "Bring the words in front of the heads first.",
)
def merge_by_reshape_alone(heads):
    """A reshape straight to the final shape, which mixes words and heads."""
    *lead, num_heads, seq_len, d_v = heads.shape
    return heads.reshape(*lead, seq_len, num_heads * d_v)


@misconception(
    "merge_heads",
    "Words and heads are exchanged, which is the first half. Now each word has a small table of heads; it should be one long row.",
)
def merge_without_joining(heads):
    """The axes are exchanged, but the last two are not joined to one."""
    return np.swapaxes(heads, -2, -3)


@misconception(
    "merge_heads",
    "Your rows go feature by feature: the first feature of all heads, then the second of all heads. Side by side means head by head: all d_v "
    "features of head 0, then all of head 1.",
)
def merge_feature_by_feature(heads):
    """Within a row the heads alternate, feature by feature."""
    *lead, num_heads, seq_len, d_v = heads.shape
    return np.moveaxis(heads, -3, -1).reshape(*lead, seq_len, num_heads * d_v)


@misconception(
    "merge_heads",
    "An average (or a sum) throws away what the heads found differently. Side by side keeps everything; what to make of it is left to W^O.",
)
def merge_by_averaging(heads):
    """The heads are averaged instead of set side by side."""
    return heads.mean(axis=-3)


@misconception(
    "merge_heads",
    "You put the heads one below the other, so the sentence gets longer. They belong beside each other: the same words, longer rows.",
)
def merge_below_each_other(heads):
    """The heads are set one below the other, along the axis of the words."""
    *lead, num_heads, seq_len, d_v = heads.shape
    return heads.reshape(*lead, num_heads * seq_len, d_v)


@misconception(
    "merge_heads",
    "The wrong two axes: you exchange what stands in front of the heads (the batch) with the heads, so that the rows mix sentences. Count from the right: "
    "it is words and heads that change places.",
)
def merge_with_batch_exchanged(heads):
    """The batch and the heads are exchanged instead of the heads and the words, so sentences get mixed."""
    *lead, num_heads, seq_len, d_v = heads.shape
    return np.swapaxes(heads, 0, 1).reshape(*lead, seq_len, num_heads * d_v)


@misconception(
    "merge_heads",
    "A batch works, a single sentence does not: you count on exactly four axes. Count them from the right, `-3` and `-2`, and whatever stands in front stays.",
)
def merge_four_axes_only(heads):
    """It works for a batch (four axes) only."""
    batch, num_heads, seq_len, d_v = heads.shape
    return heads.transpose(0, 2, 1, 3).reshape(batch, seq_len, num_heads * d_v)


# ---------------------------------------------------------------------------------- multi_head_attention


def split_heads(x, num_heads):
    """The right one: in a submission it is the learner's own, defined earlier in the notebook."""
    return np.stack(np.split(x, num_heads, axis=-1), axis=-3)


def merge_heads(heads):
    """The right one, as above."""
    return np.concatenate([heads[..., i, :, :] for i in range(heads.shape[-3])], axis=-1)


@misconception(
    "multi_head_attention",
    "The mask has no axis for the heads; the scores have one, in front of q_len and k_len. Lined up from the right, the mask's batch axis lands on the heads: an error "
    "where the sizes differ, and silently wrong where they are equal. Give the mask an axis of length 1 where the heads are.",
)
def mask_of_the_batch_laid_on_the_heads(
    x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None
):
    """The mask gets no axis for the heads, so its batch axis is laid on the heads."""
    q, k, v = (split_heads(a, num_heads) for a in (x @ w_query, memory @ w_key, memory @ w_value))
    out, weights = scaled_dot_product_attention(q, k, v, mask)
    return merge_heads(out) @ w_output, weights


@misconception(
    "multi_head_attention",
    "The heads are split by a `reshape` alone: right shape, numbers in the wrong places (figure in section 3). Use your `split_heads`, "
    "which has passed its check.",
)
def heads_split_by_reshape_alone(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """The heads are split by reshape, without exchanging axes."""
    q, k, v = x @ w_query, memory @ w_key, memory @ w_value
    q, k, v = (
        a.reshape(*a.shape[:-2], num_heads, a.shape[-2], a.shape[-1] // num_heads) for a in (q, k, v)
    )
    allowed = None if mask is None else np.expand_dims(mask, -3)
    out, weights = scaled_dot_product_attention(q, k, v, allowed)
    return merge_heads(out) @ w_output, weights


@misconception(
    "multi_head_attention",
    "Splitting is right, merging is not: a `reshape` alone reads on head after head, and a word's row gets several words of one head. Words and heads have to change "
    "places again before the heads are joined.",
)
def heads_merged_by_reshape_alone(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """The heads are merged by reshape, without exchanging axes back."""
    q, k, v = (split_heads(a, num_heads) for a in (x @ w_query, memory @ w_key, memory @ w_value))
    allowed = None if mask is None else np.expand_dims(mask, -3)
    out, weights = scaled_dot_product_attention(q, k, v, allowed)
    return out.reshape(*x.shape[:-1], -1) @ w_output, weights


@misconception(
    "multi_head_attention",
    "The heads are merged, and there it stops. The fourth matrix, which mixes what they found, is not used.",
)
def without_w_output(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """The merged heads are not multiplied by w_output."""
    q, k, v = (split_heads(a, num_heads) for a in (x @ w_query, memory @ w_key, memory @ w_value))
    allowed = None if mask is None else np.expand_dims(mask, -3)
    out, weights = scaled_dot_product_attention(q, k, v, allowed)
    return merge_heads(out), weights


@misconception(
    "multi_head_attention",
    "Values are made with the value's matrix, keys with the key's. Yours are both made with the key's.",
)
def value_from_key(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """The values are made with the key's matrix."""
    q, k = split_heads(x @ w_query, num_heads), split_heads(memory @ w_key, num_heads)
    allowed = None if mask is None else np.expand_dims(mask, -3)
    out, weights = scaled_dot_product_attention(q, k, k, allowed)
    return merge_heads(out) @ w_output, weights


@misconception(
    "multi_head_attention",
    "Each head's scores are dot products of d_k numbers. You divide by the root of the *whole* width, num_heads × d_k, as if the heads had not been split: the weights get too flat. "
    "Which length does a head's dot product run over?",
)
def scaled_by_the_whole_width(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """The scores are divided by the square root of num_heads × d_k instead of d_k."""
    q, k, v = (split_heads(a, num_heads) for a in (x @ w_query, memory @ w_key, memory @ w_value))
    allowed = None if mask is None else np.expand_dims(mask, -3)
    out, weights = scaled_dot_product_attention(q / num_heads**0.5, k, v, allowed)
    return merge_heads(out) @ w_output, weights


@misconception(
    "multi_head_attention",
    "The number of heads says nothing about how large a dot product gets. What counts is how many products are summed up in it: the size of a head.",
)
def scaled_by_the_number_of_heads(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """The scores are divided by the square root of the number of heads."""
    q, k, v = (split_heads(a, num_heads) for a in (x @ w_query, memory @ w_key, memory @ w_value))
    allowed = None if mask is None else np.expand_dims(mask, -3)
    out, weights = scaled_dot_product_attention(q * (q.shape[-1] / num_heads) ** 0.5, k, v, allowed)
    return merge_heads(out) @ w_output, weights


@misconception(
    "multi_head_attention",
    "There is a single attention here, over the whole width: one row of weights for each query, not one for each head. The split has to happen "
    "*before* the softmax.",
)
def never_split(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """The heads are never split: it is one attention over the whole width."""
    out, weights = scaled_dot_product_attention(x @ w_query, memory @ w_key, memory @ w_value, mask)
    return out @ w_output, weights


@misconception(
    "multi_head_attention",
    "When heads are folded into the batch axis, they must come out the way they went in. Yours go in sentence by sentence and come out head by head, so outputs "
    "land in the wrong sentences. Simpler: leave batch and heads as two axes, attention does not mind.",
)
def folded_in_by_sentence_out_by_head(
    x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None
):
    """Batch and heads are joined sentence by sentence but taken apart head by head."""
    q, k, v = (split_heads(a, num_heads) for a in (x @ w_query, memory @ w_key, memory @ w_value))
    allowed = None if mask is None else np.broadcast_to(np.expand_dims(mask, -3), (*q.shape[:-1], k.shape[-2]))
    flat = [None if a is None else a.reshape(-1, *a.shape[-2:]) for a in (q, k, v, allowed)]
    out, weights = scaled_dot_product_attention(*flat)
    out, weights = (np.stack(np.split(a, num_heads), axis=1) for a in (out, weights))
    return merge_heads(out.reshape(*q.shape[:-1], -1)) @ w_output, weights.reshape(*q.shape[:-1], -1)


@misconception(
    "multi_head_attention",
    "Keys and values have to come from `memory`; yours come from x, so memory is never looked at. In self-attention the mistake does not show.",
)
def memory_never_looked_at(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """Keys and values come from x: memory is never looked at."""
    q, k, v = (split_heads(a, num_heads) for a in (x @ w_query, x @ w_key, x @ w_value))
    allowed = None if mask is None else np.expand_dims(mask, -3)
    out, weights = scaled_dot_product_attention(q, k, v, allowed)
    return merge_heads(out) @ w_output, weights


@misconception(
    "multi_head_attention",
    "The mask does not reach the attention: words are looked at that should be hidden.",
)
def mask_never_used(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """The mask is never used."""
    q, k, v = (split_heads(a, num_heads) for a in (x @ w_query, memory @ w_key, memory @ w_value))
    out, weights = scaled_dot_product_attention(q, k, v)
    return merge_heads(out) @ w_output, weights


@misconception(
    "multi_head_attention",
    "You cut the *words* into pieces and give each head a piece. A head is to see every feature of a word: project first, with the whole matrix, and split what comes out.",
)
def embedding_cut_into_pieces(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """Each head gets a slice of the embedding, projected with a corner of the matrices."""
    pieces, seen = split_heads(x, num_heads), split_heads(memory, num_heads)
    q, k, v = (
        np.stack(
            [
                given[..., i, :, :] @ np.split(np.split(w, num_heads, axis=1)[i], num_heads)[i]
                for i in range(num_heads)
            ],
            axis=-3,
        )
        for given, w in ((pieces, w_query), (seen, w_key), (seen, w_value))
    )
    allowed = None if mask is None else np.expand_dims(mask, -3)
    out, weights = scaled_dot_product_attention(q, k, v, allowed)
    return merge_heads(out) @ w_output, weights


# ---------------------------------------------------------------------------------- MultiHeadAttention
# Each is complete, so that it can be handed in as it is.


@misconception(
    "MultiHeadAttention",
    "Layers that are made in `forward` get new random weights at every call, and nothing can train them. `__init__` makes them, once; `forward` uses them.",
)
class LinearMadeInForward(nn.Module):
    """The linear layers are made in forward instead of __init__."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.d_model, self.num_heads, self.bias = d_model, num_heads, bias

    def forward(self, query, key, value, mask=None):
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(self.d_model, self.d_model, bias=self.bias) for _ in range(4)
        )
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask.unsqueeze(-3), scores, -1e9)
        weights = torch.softmax(scores, -1)
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights


@misconception(
    "MultiHeadAttention",
    "`__init__` makes the four layers, but `forward` does not use them: it makes fresh, random ones. So the same input gives another output each time, and "
    "training has no effect.",
)
class LinearMadeAnewInForward(nn.Module):
    """The layers of __init__ are there, but forward makes new ones at every call."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.d_model, self.num_heads = d_model, num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            nn.Linear(self.d_model, self.d_model)(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for x in (query, key, value)
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask.unsqueeze(-3), scores, -1e9)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask.unsqueeze(-3)
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights


@misconception(
    "MultiHeadAttention",
    "Each of your layers has the size of one head. A head's projection reads *all* d_model features of a word; only what comes out is small. All heads together are one "
    "layer from d_model to d_model.",
)
class EmbeddingCutIntoPieces(nn.Module):
    """The embedding is cut into pieces, and each piece is projected: layers of d_k by d_k."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value = (nn.Linear(d_k, d_k, bias=bias) for _ in range(3))
        self.w_output = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2))
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask.unsqueeze(-3), scores, -1e9)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask.unsqueeze(-3)
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights


@misconception(
    "MultiHeadAttention",
    "`bias` never reaches the layers: nn.Linear has a bias unless it is told otherwise.",
)
class BiasIgnored(nn.Module):
    """The layers have biases whatever `bias` says."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask.unsqueeze(-3), scores, -1e9)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask.unsqueeze(-3)
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights


@misconception(
    "MultiHeadAttention",
    "`view` to (batch, num_heads, length, d_k) has the right shape and the wrong numbers: it reads on, word after word. Cut each word's row where it lies, then "
    "exchange the axes of words and heads.",
)
class ViewWithoutTranspose(nn.Module):
    """The heads are split by a view alone, which mixes words and heads."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).view(len(x), self.num_heads, x.shape[1], -1)
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask.unsqueeze(-3), scores, -1e9)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask.unsqueeze(-3)
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights


@misconception(
    "MultiHeadAttention",
    "The way in is right, the way out is not: before the heads are joined, words and heads have to change places again. (PyTorch's advice to add "
    "`.contiguous()` to a `view` does not do that: it is about memory, not about order.)",
)
class MergedWithoutTranspose(nn.Module):
    """The heads are merged by a reshape alone, without exchanging the axes back."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask.unsqueeze(-3), scores, -1e9)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask.unsqueeze(-3)
        return self.w_output((weights @ v).contiguous().view(query.shape)), weights


@misconception(
    "MultiHeadAttention",
    "Without a transpose the last two axes are heads and d_k, so your attention compares the *heads* of one word with each other. Words should look at words: "
    "bring them to the second-to-last axis.",
)
class AttendsAmongHeads(nn.Module):
    """Words and heads are never exchanged, so the heads of a word attend to each other."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1))
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask.unsqueeze(-3), scores, -1e9)
        weights = torch.softmax(scores, -1)
        return self.w_output((weights @ v).flatten(2)), weights


@misconception(
    "MultiHeadAttention",
    "The value is projected from the key that came in, not from the value. In self-attention both are the same sentence and nothing shows; here they differ.",
)
class ValueFromKey(nn.Module):
    """The values are made from `key`; `value` is never used."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, key))
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask.unsqueeze(-3), scores, -1e9)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask.unsqueeze(-3)
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights


@misconception(
    "MultiHeadAttention",
    "Your module looks only at `query`: keys and values come from it, too. That is self-attention for good; in lab 05 the decoder must be able to look at the encoder's words.",
)
class SelfAttentionOnly(nn.Module):
    """Keys and values are made from `query`: the other two arguments are never used."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(query).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer in (self.w_query, self.w_key, self.w_value)
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask.unsqueeze(-3), scores, -1e9)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask.unsqueeze(-3)
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights


@misconception(
    "MultiHeadAttention",
    "A head's dot product runs over d_k numbers, not over d_model: you divide by too much, and the weights get too flat. With a single head the two are the same.",
)
class ScaledByDModel(nn.Module):
    """The scores are divided by the square root of d_model instead of d_k."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = q @ k.transpose(2, 3) / query.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask.unsqueeze(-3), scores, -1e9)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask.unsqueeze(-3)
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights


@misconception(
    "MultiHeadAttention",
    "The number of heads says nothing about how large a dot product gets; the number of products in it does. That is the size of a head, d_k.",
)
class ScaledByNumberOfHeads(nn.Module):
    """The scores are divided by the square root of the number of heads."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = q @ k.transpose(2, 3) / self.num_heads**0.5
        if mask is not None:
            scores = torch.where(mask.unsqueeze(-3), scores, -1e9)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask.unsqueeze(-3)
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights


@misconception(
    "MultiHeadAttention",
    "Each query shares out its attention over the *keys*, the last axis of the scores. Yours sums to 1 along another one. (`dim=1` was right for a table; here axis 1 counts the heads.)",
)
class SoftmaxOverHeads(nn.Module):
    """The softmax runs over the heads (dim=1) instead of the keys."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask.unsqueeze(-3), scores, -1e9)
        weights = torch.softmax(scores, 1)
        if mask is not None:
            weights = weights * mask.unsqueeze(-3)
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights


@misconception(
    "MultiHeadAttention",
    "In this course True means *may attend*. `torch.nn.MultiheadAttention` uses True for *blocked*, and `masked_fill` fills where its mask is True: check which places you fill.",
)
class MaskInverted(nn.Module):
    """The mask is read the wrong way round: allowed keys are blocked."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask.unsqueeze(-3), -1e9, scores)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * ~mask.unsqueeze(-3)
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights


@misconception(
    "MultiHeadAttention",
    "The mask has no axis for the heads, the scores have. Lined up from the right, the mask's batch axis lands on the heads: an error, or, with as many sentences as heads, "
    "silently wrong. `unsqueeze` makes an axis of length 1.",
)
class MaskLaidOnTheHeads(nn.Module):
    """The mask gets no axis for the heads, so its batch axis is laid on the heads."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights


@misconception(
    "MultiHeadAttention",
    "`masked_fill` and `torch.where` return a new tensor and leave the old one as it is. Is what they return kept, and is it what the softmax gets?",
)
class MaskWithoutEffect(nn.Module):
    """The mask has no effect: its result is thrown away, or it is never used."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores.masked_fill(~mask.unsqueeze(-3), -1e9)
        weights = torch.softmax(scores, -1)
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights


@misconception(
    "MultiHeadAttention",
    "A query that may look at nothing has only -inf to share out, and that gives NaN, which spreads through every later layer. Read in the docstring what such a row is to give.",
)
class NanOnBlockedRow(nn.Module):
    """A query with every key blocked turns into NaN."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-3), -torch.inf)
        weights = torch.softmax(scores, -1)
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights


@misconception(
    "MultiHeadAttention",
    "With every key at the same -1e9 the softmax sees equal scores and shares equally: a query that may look at nothing takes the average of everything. Read in the docstring "
    "what such a row is to give.",
)
class UniformOnBlockedRow(nn.Module):
    """A query with every key blocked shares its attention equally among the blocked keys."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-3), -1e9)
        weights = torch.softmax(scores, -1)
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights


@misconception(
    "MultiHeadAttention",
    "`w_output` is made but never used: the heads leave the module unmixed. In a Transformer nothing would fail, as the shapes fit; the heads would just never meet.",
)
class OutputLayerNeverUsed(nn.Module):
    """The heads are merged, but w_output is not applied."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask.unsqueeze(-3), scores, -1e9)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask.unsqueeze(-3)
        return (weights @ v).transpose(1, 2).flatten(2), weights


@misconception(
    "MultiHeadAttention",
    "The numbers are right and still nothing can be trained: on the way through NumPy (or `detach`, or `no_grad`) the gradient is lost. Use PyTorch's own softmax and products.",
)
class GradientCutOff(nn.Module):
    """The attention goes through NumPy, so no gradient gets back."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2).detach().numpy()
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        allowed = None if mask is None else mask.unsqueeze(-3).numpy()
        out, weights = scaled_dot_product_attention(q, k, v, allowed)
        merged = torch.from_numpy(out).transpose(1, 2).flatten(2)
        return self.w_output(merged), torch.from_numpy(weights)


@misconception(
    "MultiHeadAttention",
    "The average over the heads hides what they do differently. The docstring asks for the weights of each head; `torch.nn.MultiheadAttention` averages unless it is told not to.",
)
class WeightsAveraged(nn.Module):
    """The weights are averaged over the heads."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, x in ((self.w_query, query), (self.w_key, key), (self.w_value, value))
        )
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask.unsqueeze(-3), scores, -1e9)
        weights = torch.softmax(scores, -1)
        if mask is not None:
            weights = weights * mask.unsqueeze(-3)
        return self.w_output((weights @ v).transpose(1, 2).flatten(2)), weights.mean(1)


# ---------------------------------------------------------------------------------- count_parameters


@misconception(
    "count_parameters",
    "Three matrices are not all: the heads' outputs are mixed by a fourth one.",
)
def w_output_not_counted(d_model, num_heads, d_k, d_v, bias=True):
    """W^O is not counted."""
    width = num_heads * (2 * d_k + d_v)
    return d_model * width + bias * width


@misconception(
    "count_parameters",
    "Each of the four layers also has a bias, if `bias` says so: one number for each feature that comes out of it.",
)
def biases_not_counted(d_model, num_heads, d_k, d_v, bias=True):
    """The biases are never counted."""
    return 2 * d_model * num_heads * (d_k + d_v)


@misconception("count_parameters", "You count biases also where there are none: `bias` says whether there are.")
def biases_always_counted(d_model, num_heads, d_k, d_v, bias=True):
    """The biases are counted whatever `bias` says."""
    return 2 * d_model * num_heads * (d_k + d_v) + num_heads * (2 * d_k + d_v) + d_model


@misconception(
    "count_parameters",
    "That is one head. Every head has its own columns of the three matrices and its own rows of W^O.",
)
def one_head_counted(d_model, num_heads, d_k, d_v, bias=True):
    """Only one head is counted."""
    return 2 * d_model * (d_k + d_v) + bias * (2 * d_k + d_v + d_model)


@misconception(
    "count_parameters",
    "You give every head matrices of d_model × d_model. A head is small: it maps d_model numbers to d_k (queries and keys) or d_v (values).",
)
def heads_of_full_size(d_model, num_heads, d_k, d_v, bias=True):
    """Every head is given matrices of d_model × d_model."""
    return num_heads * (4 * d_model**2 + bias * 4 * d_model)


@misconception(
    "count_parameters",
    "That is the usual case, in which num_heads × d_k and num_heads × d_v are just d_model. Here the sizes are given, and they need not fit together that way.",
)
def four_squares(d_model, num_heads, d_k, d_v, bias=True):
    """Every matrix is taken to be d_model × d_model."""
    return 4 * d_model**2 + bias * 4 * d_model


@misconception(
    "count_parameters",
    "Values have a size of their own, d_v, and so has what W^O reads. You count them with d_k.",
)
def values_counted_with_d_k(d_model, num_heads, d_k, d_v, bias=True):
    """The values are taken to be as long as the keys."""
    width = num_heads * d_k
    return 4 * d_model * width + bias * (3 * width + d_model)


@misconception(
    "count_parameters",
    "A bias has a number for each feature that comes *out* of a layer. What comes out of W^O has d_model features; num_heads × d_v is what goes in.",
)
def output_bias_of_its_input_s_size(d_model, num_heads, d_k, d_v, bias=True):
    """The bias of W^O is counted with the size of its input."""
    return 2 * d_model * num_heads * (d_k + d_v) + bias * 2 * num_heads * (d_k + d_v)


@misconception(
    "count_parameters",
    "There is one W^O for all heads together, with num_heads × d_v rows. You count it once for every head.",
)
def w_output_for_every_head(d_model, num_heads, d_k, d_v, bias=True):
    """A whole W^O is counted for every head."""
    width = num_heads * (2 * d_k + d_v)
    return d_model * width + num_heads * num_heads * d_v * d_model + bias * (width + d_model)
