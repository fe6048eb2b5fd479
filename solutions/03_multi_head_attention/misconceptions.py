"""Wrong ways to write lab 03's exercises. Each must lose points and be recognised as itself."""

import numpy as np
import torch
from torch import nn

from course_utils.maths import scaled_dot_product_attention
from grader.catalogue import misconception, slip

# ---------------------------------------------------------------------------------- multi_head_attention_loop

slip("multi_head_attention_loop", "loop_without_w_output",
     "The concatenated heads are returned without being multiplied by w_output.",
     "The heads stand side by side now, but nothing has mixed them: what one head found cannot meet what "
     "another found. The paper's formula ends in a fourth matrix, and so does the list of arguments.",
     ("axis=-1) @ w_output", "axis=-1)"))

slip("multi_head_attention_loop", "loop_with_one_head_again_and_again",
     "Every head is the same as the first one.",
     "All your heads are the same head, that of the first columns of the matrices. Each head has to move on to the "
     "next block of columns, and what it finds has to be kept.",
     ("slice(head * d_k, head * d_k + d_k),\n"
      "                           slice(head * d_v, head * d_v + d_v)", "slice(d_k), slice(d_v)"))

slip("multi_head_attention_loop", "loop_over_interleaved_columns",
     "Head i takes every num_heads-th column, starting with column i.",
     "You deal the columns out like cards: with n heads, head 0 gets every n-th column. In this course (and "
     "in the libraries) a head owns a *block* of neighbouring columns: the first d_k belong to head 0, the "
     "next d_k to head 1.",
     ("slice(head * d_k, head * d_k + d_k),\n"
      "                           slice(head * d_v, head * d_v + d_v)",
      "slice(head, None, num_heads), slice(head, None, num_heads)"))

slip("multi_head_attention_loop", "loop_with_value_from_key",
     "The values that are averaged come from the key's matrix.",
     "The values need the value's matrix, but yours come from the key's: each word then hands over what it "
     "is found by, not what it has to say.",
     ("value = memory @ w_value[:, own_values]", "value = key"))

slip("multi_head_attention_loop", "loop_without_memory",
     "Keys and values come from x: memory is never looked at.",
     "Keys and values have to come from `memory`; yours come from x, so memory is never looked at. (In "
     "self-attention both are the same sentence, so the mistake does not show.)",
     ("memory @ w_", "x @ w_", 2))

slip("multi_head_attention_loop", "loop_with_heads_summed",
     "What is multiplied by w_output is only as wide as a single head.",
     "The heads belong side by side: num_heads rows of d_v numbers become one row of num_heads × d_v. Are yours added "
     "up, or joined along another axis, or is it only one of them? Look at the shape before the product.",
     ("np.concatenate(outputs, axis=-1)", "np.add.reduce(outputs)"))

slip("multi_head_attention_loop", "loop_without_mask", "The mask has no effect.",
     "Your heads look at words that the mask should hide. Every head has to obey it.",
     ("(query, key, value, mask)", "(query, key, value)"))

slip("multi_head_attention_loop", "loop_with_heads_before_batch",
     "The weights have the axis of the heads in front of the batch.",
     "For one sentence it works, but with a batch your weights have the heads first and the sentences "
     "second. Where does the docstring want the axis of the heads, counted from the right?",
     ("np.stack(weights_of_heads, axis=-3)", "np.stack(weights_of_heads)"))

slip("multi_head_attention_loop", "loop_with_weights_averaged", "The weights are averaged over the heads.",
     "The average over the heads hides what each of them does differently, and that is the point of having "
     "several. (`torch.nn.MultiheadAttention` averages unless you tell it not to.)",
     ("np.stack(weights_of_heads, axis=-3)", "np.mean(weights_of_heads, axis=0)"))


# ---------------------------------------------------------------------------------- split_heads

slip("split_heads", "split_by_reshape_alone",
     "The numbers are reshaped but keep their order, which mixes words and heads.",
     "The shape is right, but the numbers are in the wrong places. `reshape` keeps the numbers in the order "
     "they have in memory, word after word, so head 0 gets whole words. First cut each word's row into "
     "heads, and only then swap two axes.",
     ("*x.shape[:-1], num_heads,", "*x.shape[:-2], num_heads, x.shape[-2],"),
     ("np.swapaxes(by_word, -3, -2)", "by_word"))

slip("split_heads", "split_not_transposed", "The axis of the words comes before that of the heads.",
     "You cut each word's row into heads, and that is half the work. But attention works on the last two "
     "axes, and there you have heads and d_k: the words have to move next to d_k.",
     ("np.swapaxes(by_word, -3, -2)", "by_word"))

slip("split_heads", "split_like_cards",
     "The features are dealt out in turn: head i gets features i, i + num_heads, and so on.",
     "You deal the features out like cards, one to each head in turn. A head owns a *block* of neighbouring "
     "features: the first d_k belong to head 0.",
     ("num_heads, x.shape[-1] // num_heads)", "x.shape[-1] // num_heads, num_heads)"),
     ("np.swapaxes(by_word, -3, -2)", "np.moveaxis(by_word, -1, -3)"))

slip("split_heads", "split_with_heads_in_front", "The axis of the heads comes first, before the batch.",
     "For one sentence it works, but with a batch the heads come before the sentences. Everything that comes "
     "before the words should stay in front, so count the axes from the right.",
     ("np.swapaxes(by_word, -3, -2)", "np.moveaxis(by_word, -2, 0)"))

slip("split_heads", "split_with_number_and_size_exchanged", "num_heads is used as the size of a head.",
     "You made as many heads of size num_heads as fit. It is the other way round: there are num_heads heads, "
     "and their size follows from that.",
     ("num_heads, x.shape[-1] // num_heads)", "x.shape[-1] // num_heads, num_heads)"))

slip("split_heads", "split_with_features_before_words", "Words and features are swapped within each head.",
     "You swap one time too many: within a head, each *row* is a word, and its d_k features run along the "
     "last axis. (The key is transposed later, when the scores are computed.)",
     ("np.swapaxes(by_word, -3, -2)", "np.moveaxis(by_word, -3, -1)"))


@misconception(
    "split_heads",
    "You give each head some of the *words*. But every head should look at all words: what is shared out among the heads is the features of each word.",
)
def split_along_words(x, num_heads):
    """The words are shared out among the heads, not the features."""
    return np.stack(np.split(x, num_heads, axis=-2), axis=-3)


slip("split_heads", "split_three_axes_only", "It works for a batch (three axes) only.",
     "A batch works, but a single sentence does not, because you unpack exactly three sizes. The sizes that "
     "you need are the last two, `shape[-2]` and `shape[-1]`, whatever comes before them.",
     ("    by_word =",
      "    batch, seq_len, width = x.shape\n"
      "    by_word ="))


# ---------------------------------------------------------------------------------- merge_heads

slip("merge_heads", "merge_by_reshape_alone",
     "The numbers are reshaped but keep their order, which mixes words and heads.",
     "The shape is right, but the numbers are in the wrong places: `reshape` reads them in the order they "
     "have in memory, head after head, so a row holds several words of one head. Move the words in front of "
     "the heads first.",
     ("by_word.reshape(", "heads.reshape("))

slip("merge_heads", "merge_without_joining",
     "The axes of words and heads are swapped, but the last two of the result are not joined.",
     "You swap words and heads, and that is half the work. Now each word has a small table of heads; it "
     "should be one long row.",
     ("by_word.reshape(*by_word.shape[:-2], by_word.shape[-2] * by_word.shape[-1])", "by_word"))

slip("merge_heads", "merge_feature_by_feature", "Within a row, the heads alternate feature by feature.",
     "Your rows go feature by feature: the first feature of all heads, then the second of all heads. \"Side "
     "by side\" means head by head: all d_v features of head 0, then all those of head 1.",
     ("np.swapaxes(heads, -3, -2)", "np.moveaxis(heads, -3, -1)"))

slip("merge_heads", "merge_by_averaging", "The heads are averaged instead of set side by side.",
     "An average (or a sum) throws away the differences between the heads. Side by side, everything is kept, "
     "and W^O decides what to make of it.",
     ("by_word.reshape(*by_word.shape[:-2], by_word.shape[-2] * by_word.shape[-1])", "heads.mean(axis=-3)"))

slip("merge_heads", "merge_below_each_other",
     "The heads are set one below the other, along the axis of the words.",
     "You put the heads one below the other, so the sentence gets longer. They belong next to each other: "
     "the same number of words, but longer rows.",
     ("by_word.reshape(", "heads.reshape("),
     ("*by_word.shape[:-2], by_word.shape[-2] * by_word.shape[-1]", "*heads.shape[:-3], -1, heads.shape[-1]"))

slip("merge_heads", "merge_with_batch_exchanged",
     "The first two axes are swapped: with a batch these are not heads and words, so sentences get mixed.",
     "In a batch you swap the wrong two axes, so the rows mix sentences. Count from the right: it is words and "
     "heads that have to change places.",
     ("by_word.reshape(", "np.swapaxes(heads, 0, 1).reshape("))

slip("merge_heads", "merge_four_axes_only", "It works for a batch (four axes) only.",
     "A batch works, but a single sentence does not, because you rely on exactly four axes. Count the axes "
     "from the right, `-3` and `-2`, and leave whatever comes before them as it is.",
     ("    by_word =",
      "    batch, num_heads, seq_len, d_v = heads.shape\n"
      "    by_word ="))


# ---------------------------------------------------------------------------------- multi_head_attention


def split_heads(x, num_heads):
    """The right one: in a submission it is the learner's own, defined earlier in the notebook."""
    return np.stack(np.split(x, num_heads, axis=-1), axis=-3)


def merge_heads(heads):
    """The right one, as above."""
    return np.concatenate([heads[..., i, :, :] for i in range(heads.shape[-3])], axis=-1)


slip("multi_head_attention", "mask_of_the_batch_laid_on_the_heads",
     "The mask's batch axis is matched with the heads.",
     "The scores have an axis for the heads, just before q_len and k_len. Does the mask have one there, "
     "too? Without it, its batch axis lands on the heads: an error if the sizes differ, silently wrong if they are "
     "equal. An axis of length 1 is enough.",
     ("    if mask is not None:\n"
      "        mask = mask[..., np.newaxis, :, :]\n",
      ""))

slip("multi_head_attention", "heads_split_by_reshape_alone",
     "The heads are split by reshaping alone, which mixes words and heads.",
     "You split the heads by reshaping alone: the shape is right, but the numbers are in the wrong places "
     "(see the figure in section 3). Use your `split_heads`, which has passed its check.",
     ("    query = split_heads(",
      "    def split_heads(given, heads):\n"
      "        return given.reshape(*given.shape[:-2], heads, given.shape[-2], given.shape[-1] // heads)\n"
      "\n"
      "    query = split_heads("))

slip("multi_head_attention", "heads_merged_by_reshape_alone",
     "The heads are merged by reshaping alone, which mixes words and heads.",
     "You split correctly, but the merging is wrong: `reshape` alone reads head after head, so a word's row "
     "gets several words of one head. Swap words and heads back before you join the heads.",
     ("merge_heads(attended)", "attended.reshape(*x.shape[:-1], -1)"))

slip("multi_head_attention", "without_w_output",
     "The merged heads are returned without being multiplied by w_output.",
     "What you return are the merged heads. The fourth matrix, which mixes what they found, has no part in it.",
     ("merge_heads(attended) @ w_output", "merge_heads(attended)"))

slip("multi_head_attention", "value_from_key", "The values that are averaged come from the key's matrix.",
     "Keys need the key's matrix, and values need the value's. What your weights sum up was made with the key's.",
     ("memory @ w_value", "memory @ w_key"))

slip("multi_head_attention", "scaled_by_the_whole_width",
     "The scores are divided by the square root of num_heads × d_k instead of d_k.",
     "Each head's scores are dot products of d_k numbers. You divide by the root of the *whole* width, "
     "num_heads × d_k, as if the heads had not been split, so the weights get too flat. Which length does a "
     "head's dot product run over?",
     ("(query, key, value, mask)", "(query / num_heads**0.5, key, value, mask)"))

slip("multi_head_attention", "scaled_by_the_number_of_heads",
     "The scores are divided by the square root of the number of heads.",
     "The number of heads says nothing about how large a dot product gets. What matters is how many products "
     "it sums up: the size of a head.",
     ("(query, key, value, mask)", "(query * (query.shape[-1] / num_heads) ** 0.5, key, value, mask)"))


@misconception(
    "multi_head_attention",
    "You compute a single attention over the whole width: one row of weights for each query, not one for "
    "each head. The split has to happen *before* the softmax.",
)
def never_split(x, memory, w_query, w_key, w_value, w_output, num_heads, mask=None):
    """There is a single attention over the whole width instead of one for each head."""
    out, weights = scaled_dot_product_attention(x @ w_query, memory @ w_key, memory @ w_value, mask)
    return out @ w_output, weights


@misconception(
    "multi_head_attention",
    "When heads are folded into the batch axis, they must be unfolded in the same order. Yours go in "
    "sentence by sentence and come out head by head, so outputs land in the wrong sentences. It is simpler "
    "to leave batch and heads as two separate axes: attention handles both.",
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


slip("multi_head_attention", "memory_never_looked_at",
     "Keys and values come from x: memory is never looked at.",
     "Keys and values have to come from `memory`; yours come from x, so memory is never looked at. In "
     "self-attention this mistake does not show.",
     ("memory @ w_", "x @ w_", 2))

slip("multi_head_attention", "mask_never_used", "The mask has no effect.",
     "Words that the mask should hide are looked at. Does it reach the attention?",
     ("(query, key, value, mask)", "(query, key, value)"))


@misconception(
    "multi_head_attention",
    "You cut each word's *embedding* into pieces and give each head one piece. But every head should see all "
    "features of a word: project first, with the whole matrix, and then split the result.",
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
    "Layers that are created in `forward` get new random weights at every call, so nothing can train them. "
    "Create them once, in `__init__`, and only use them in `forward`.",
)
class LinearMadeInForward(nn.Module):
    """The linear layers are created in forward instead of in __init__."""

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


slip("MultiHeadAttention", "LinearMadeAnewInForward",
     "The layers of __init__ exist, but forward makes new ones at every call.",
     "The same input gives a different output each time. If `forward` makes layers of its own, they are fresh and "
     "random at every call, and training has no effect. (If it uses those of `__init__`, look for dropout that is always on.)",
     ("self.w_query(query), self.w_key(key), self.w_value(value)",
      "(nn.Linear(query.shape[-1], query.shape[-1])(x) for x in (query, key, value))"))


@misconception(
    "MultiHeadAttention",
    "A layer of yours has the size of one head. A head's projection reads *all* d_model features of a word; only "
    "what comes out is small. All heads together are one layer from d_model to d_model.",
)
class EmbeddingCutIntoPieces(nn.Module):
    """At least one of the layers is of d_k by d_k instead of d_model by d_model."""

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


slip("MultiHeadAttention", "BiasIgnored", "There is a bias although `bias` is False.",
     "`bias` does not reach every layer: nn.Linear has a bias unless you tell it otherwise.",
     (", bias=bias", "", 4))

slip("MultiHeadAttention", "ViewWithoutTranspose",
     "The heads are split by reshaping alone, which mixes words and heads.",
     "A `view` or `reshape` to (batch, num_heads, length, d_k) has the right shape, but the numbers are in the "
     "wrong places: it reads them word after word. First cut each word's row into heads, then swap the axes "
     "of words and heads.",
     ("x.reshape(*x.shape[:2], self.num_heads, self.d_k).transpose(1, 2)",
      "x.view(len(x), self.num_heads, x.shape[1], self.d_k)"))

slip("MultiHeadAttention", "MergedWithoutTranspose",
     "The heads are merged by reshaping alone, which mixes words and heads.",
     "You split correctly, but the merging is wrong: before the heads are joined, words and heads have to "
     "swap places again. (PyTorch's advice to add `.contiguous()` to a `view` does not do that: it is about "
     "memory, not about order.)",
     ("(weights @ v).transpose(1, 2)", "(weights @ v)"))

slip("MultiHeadAttention", "AttendsAmongHeads",
     "The heads of a word attend to each other, instead of words to words.",
     "The last two axes of your queries and keys are heads and d_k, so your attention compares the *heads* of "
     "one word with each other. Words should look at words: bring them to the second-to-last axis.",
     ("self.d_k).transpose(1, 2)", "self.d_k)"),
     ("shares if mask is None else shares.masked_fill(~mask, 0.0)", "shares"),
     ("(weights @ v).transpose(1, 2)", "(weights @ v)"))

slip("MultiHeadAttention", "ValueFromKey", "The values are computed from `key`; `value` has no effect.",
     "You project the argument `key` to get the values, not the argument `value`. In self-attention both are "
     "the same sentence, so the mistake does not show; here they differ.",
     ("self.w_value(value)", "self.w_value(key)"))

slip("MultiHeadAttention", "SelfAttentionOnly",
     "Keys and values are computed from `query`: the other two arguments have no effect.",
     "Your module looks only at `query`: keys and values come from it, too. So it can do nothing but "
     "self-attention; in lab 05 the decoder must be able to look at the encoder's words.",
     ("self.w_key(key), self.w_value(value)", "self.w_key(query), self.w_value(query)"))

slip("MultiHeadAttention", "NotScaled",
     "The scores go into the softmax without being divided by the square root of d_k.",
     "The dot product of two vectors with d_k entries gets larger with d_k, and the softmax saturates. Which step of scaled "
     "dot-product attention comes before the softmax?",
     (" / self.d_k**0.5", ""))

slip("MultiHeadAttention", "DividedByDk", "The scores end up divided by d_k, not by its square root.",
     "d_k is the right quantity, but the spread of a sum of d_k products grows with its square root. Divide by that, "
     "and only once.",
     ("self.d_k**0.5", "self.d_k"))

slip("MultiHeadAttention", "ScaledByDModel",
     "The scores are divided by the square root of d_model instead of d_k.",
     "A head's dot product runs over d_k numbers, not over d_model, so you divide by too much and the "
     "weights get too flat. With a single head the two are the same.",
     ("self.d_k**0.5", "query.shape[-1] ** 0.5"))

slip("MultiHeadAttention", "ScaledByNumberOfHeads",
     "The scores are divided by the square root of the number of heads.",
     "The number of heads says nothing about how large a dot product gets; the number of products it sums up "
     "does. That is the size of a head, d_k.",
     ("self.d_k**0.5", "self.num_heads**0.5"))

slip("MultiHeadAttention", "SoftmaxOverHeads", "The softmax runs over the heads instead of the keys.",
     "Each query shares out its attention over the *keys*, the last axis of the scores. Your weights sum to "
     "1 along a different axis. (`dim=1` was right for a table; here axis 1 counts the heads.)",
     ("softmax(dim=-1)", "softmax(dim=1)"))

slip("MultiHeadAttention", "MaskInverted", "The mask is read the wrong way round: allowed keys are blocked.",
     "In this course True means *may attend*. `torch.nn.MultiheadAttention` uses True for *blocked*, and "
     "`masked_fill` fills where its mask is True: check which places you fill.",
     ("~mask", "mask", 2))

slip("MultiHeadAttention", "MaskLaidOnTheHeads",
     "The mask's batch axis is matched with the heads.",
     "The scores have an axis for the heads, just before q_len and k_len. Does the mask have one there, "
     "too? Without it, its batch axis lands on the heads: an error if the sizes differ, silently wrong if they are "
     "equal. `unsqueeze` makes an axis of length 1.",
     ("            mask = mask[..., None, :, :]\n", ""))

slip("MultiHeadAttention", "MaskWithoutEffect",
     "The mask has no effect.",
     "`masked_fill` and `torch.where` return a new tensor and leave the old one as it is. Do you keep what "
     "they return, is it what goes into the softmax, and are the blocked scores far below the others?",
     ("scores = scores.masked_fill", "scores.masked_fill"),
     ("shares if mask is None else shares.masked_fill(~mask, 0.0)", "shares"))

slip("MultiHeadAttention", "NanOnBlockedRow", "A query whose keys are all blocked turns into NaN.",
     "If a query may look at nothing, all its scores are -inf, and their softmax is NaN, which spreads "
     "through every later layer. The docstring says what such a row should give.",
     ("-1e9", "-torch.inf"), ("shares if mask is None else shares.masked_fill(~mask, 0.0)", "shares"))

slip("MultiHeadAttention", "UniformOnBlockedRow",
     "A query whose keys are all blocked shares its attention equally among them.",
     "With every key at the same very low score the softmax gives equal shares: a query that may "
     "look at nothing gets the average of everything. The docstring says what such a row should give.",
     ("shares if mask is None else shares.masked_fill(~mask, 0.0)", "shares"))

slip("MultiHeadAttention", "OutputLayerNeverUsed", "The merged heads are returned without going through w_output.",
     "`w_output` is made but has no part in the output: the heads leave the module unmixed. In a Transformer this "
     "would raise no error, since the shapes fit; the heads would just never be mixed within this layer.",
     ("self.w_output(merged)", "merged"))

slip("MultiHeadAttention", "GradientCutOff",
     "No gradient gets back through the attention: NumPy, `detach` or `no_grad` cuts it off.",
     "The numbers are right, but what lies before the attention cannot be trained. Compute with PyTorch's own "
     "softmax and products, on tensors that keep their gradient history.",
     ("(weights @ v).transpose", "torch.from_numpy((weights @ v).detach().numpy()).transpose"),
     ("return output, weights", "return output, weights.detach()"))

slip("MultiHeadAttention", "NoGradient",
     "The output is computed without gradients, so neither the module nor anything before it can be trained.",
     "The numbers are right, but there is no way back from them. `no_grad` and `detach` are for results that nothing is "
     "trained through; when this module is trained, gradients must get back through every step to its weights and inputs.",
     ("        return output, weights", "        return output.detach(), weights"))

slip("MultiHeadAttention", "BlockedNotLowEnough",
     "A blocked score is not low enough: some scores that are allowed are lower, and then get no weight.",
     "The number that you put into blocked places must lie far below every score that is allowed. How low can a score be if "
     "the vectors are very long? Take a number that no score comes near, or minus infinity.",
     ("-1e9", "-1e4"))

slip("MultiHeadAttention", "WeightsAveraged", "The weights are averaged over the heads.",
     "The average over the heads hides what each of them does differently. The docstring asks for the "
     "weights of each head; `torch.nn.MultiheadAttention` averages unless you tell it not to.",
     ("return output, weights", "return output, weights.mean(1)"))


# ---------------------------------------------------------------------------------- count_parameters

slip("count_parameters", "w_output_not_counted", "W^O is not counted.",
     "There are more than three matrices: a fourth one mixes the outputs of the heads.",
     (" + num_heads * d_v * d_model", ""), ("sum(widths) + d_model if", "sum(widths) if"))

slip("count_parameters", "biases_not_counted", "The biases are never counted.",
     "Each of the four layers also has a bias, if `bias` says so: one number for each feature that comes "
     "out of it.",
     (" + (sum(widths) + d_model if bias else 0)", ""))

slip("count_parameters", "biases_always_counted", "The biases are counted, whatever `bias` says.",
     "You count biases even where there are none: `bias` says whether there are any.",
     (" if bias else 0", ""))

slip("count_parameters", "one_head_counted", "Only one head is counted.",
     "You count only one head. Every head has its own columns of the three matrices and its own rows of W^O.",
     ("[num_heads * d_k, num_heads * d_k, num_heads * d_v]", "[d_k, d_k, d_v]"),
     ("num_heads * d_v * d_model", "d_v * d_model"))

slip("count_parameters", "heads_of_full_size", "Every head is given matrices of d_model × d_model.",
     "You give every head matrices of d_model × d_model. A head is small: it maps d_model numbers to d_k "
     "(queries and keys) or d_v (values).",
     ("[num_heads * d_k, num_heads * d_k, num_heads * d_v]", "[num_heads * d_model] * 3"),
     ("num_heads * d_v * d_model", "num_heads * d_model * d_model"),
     ("+ d_model if", "+ num_heads * d_model if"))

slip("count_parameters", "four_squares", "Every matrix is assumed to be d_model × d_model.",
     "That is the usual case, in which num_heads × d_k and num_heads × d_v are just d_model. Here the sizes "
     "are arguments, and they do not have to fit together that way.",
     ("[num_heads * d_k, num_heads * d_k, num_heads * d_v]", "[d_model] * 3"),
     ("num_heads * d_v * d_model", "d_model * d_model"))

slip("count_parameters", "values_counted_with_d_k", "The values are assumed to be as long as the keys.",
     "Values have a size of their own, d_v, which also decides how much W^O reads. You count both with d_k.",
     ("num_heads * d_v", "num_heads * d_k", 2))

slip("count_parameters", "output_bias_of_its_input_s_size",
     "The bias of W^O is counted with the size of its input.",
     "A bias has a number for each feature that comes *out* of a layer. What comes out of W^O has d_model "
     "features; num_heads × d_v is what goes in.",
     ("+ d_model if", "+ num_heads * d_v if"))

slip("count_parameters", "w_output_for_every_head", "A whole W^O is counted for every head.",
     "There is one W^O for all heads together, with num_heads × d_v rows. You count it once for every head.",
     ("num_heads * d_v * d_model", "num_heads * num_heads * d_v * d_model"))

slip("count_parameters", "output_bias_forgotten", "The biases of the three matrices are counted, but not that of W^O.",
     "W^O is a linear layer like the other three, and with bias=True it has a bias too.",
     ("(sum(widths) + d_model if", "(sum(widths) if"))

slip("count_parameters", "only_the_output_bias", "Only d_model biases are counted, as many as W^O has.",
     "With bias=True each of the four layers has a bias, the layers of queries, keys and values too.",
     ("(sum(widths) + d_model if", "(d_model if"))

slip("count_parameters", "four_biases_of_d_model", "Each of the four biases is taken to be as long as d_model.",
     "A bias has a number for each feature that comes *out* of its layer. Only one of the four layers gives d_model features.",
     ("(sum(widths) + d_model if", "(4 * d_model if"))
