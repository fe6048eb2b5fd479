"""Wrong ways to write lab 02's exercises. Each must lose points and be recognised as itself."""

import numpy as np

from course_utils.maths import softmax
from grader.author.catalogue import misconception

# ---------------------------------------------------------------------------------- project_qkv

ORDER_HINT = (
    "The names in the return line decide what the caller takes for what. Compare the order in the docstring "
    "with the order you return."
)


@misconception("project_qkv", ORDER_HINT)
def key_and_query_swapped(x, w_query, w_key, w_value):
    """Query and key are returned in each other's place."""
    return x @ w_key, x @ w_query, x @ w_value


@misconception(
    "project_qkv",
    "Keys and values come from the same words, but through matrices of their own: the key is what a word is "
    "found by, the value is what it has to say. Which matrix makes your value?",
)
def value_from_key_weights(x, w_query, w_key, w_value):
    """The value is made with the key's matrix."""
    return x @ w_query, x @ w_key, x @ w_key


@misconception(
    "project_qkv",
    "The value is not the word's vector itself but a projection of it, like query and key. (In the toy without "
    "learned weights all three are the word itself; here there are three matrices.)",
)
def value_not_projected(x, w_query, w_key, w_value):
    """The value is x itself, not projected."""
    return x @ w_query, x @ w_key, x


@misconception(
    "project_qkv",
    "In this course vectors are rows: x has shape (..., seq_len, d_model), and d_model meets the *first* axis of a "
    "matrix of shape (d_model, d_k). Write the two shapes side by side: the inner sizes must be equal.",
)
def weights_transposed(x, w_query, w_key, w_value):
    """The matrices are transposed before they are multiplied."""
    return x @ w_query.T, x @ w_key.T, x @ w_value.T


@misconception(
    "project_qkv",
    "Your result has no room for a batch. The matrix product over the last two axes leaves any leading axes alone, "
    "so nothing needs to be unpacked or reshaped.",
)
def single_sentence_only(x, w_query, w_key, w_value):
    """It works for one sentence only, not for a batch."""
    seq_len, d_model = x.shape
    return x @ w_query, x @ w_key, x @ w_value


# ---------------------------------------------------------------------------------- attend_one_word


@misconception(
    "attend_one_word",
    "Step 4 is missing: a dot product of two vectors of length d_k grows with d_k. Look up what the scores are divided by.",
)
def one_word_unscaled(x, position, w_query, w_key, w_value):
    """The scores are not divided by the square root of d_k."""
    query, keys, values = x[position] @ w_query, x @ w_key, x @ w_value
    weights = softmax(keys @ query)
    return weights @ values, weights


@misconception(
    "attend_one_word",
    "d_k is the length of a key, so the scale is its *square root*: the spread of a sum of d_k products grows with √d_k.",
)
def one_word_divided_by_d_k(x, position, w_query, w_key, w_value):
    """The scores are divided by d_k instead of its square root."""
    query, keys, values = x[position] @ w_query, x @ w_key, x @ w_value
    weights = softmax(keys @ query / keys.shape[-1])
    return weights @ values, weights


@misconception(
    "attend_one_word",
    "d_k is the length of the query and key vectors, after the projection; d_model is the length of a word's vector "
    "before it. Which of the two lengths does the dot product run over?",
)
def one_word_scaled_by_d_model(x, position, w_query, w_key, w_value):
    """The scores are divided by the square root of d_model instead of d_k."""
    query, keys, values = x[position] @ w_query, x @ w_key, x @ w_value
    weights = softmax(keys @ query / np.sqrt(x.shape[-1]))
    return weights @ values, weights


@misconception(
    "attend_one_word",
    "The scale must not depend on how many words there are. The dot product runs over the entries of one query and one key: how many are these?",
)
def one_word_scaled_by_seq_len(x, position, w_query, w_key, w_value):
    """The scores are divided by the square root of the number of words."""
    query, keys, values = x[position] @ w_query, x @ w_key, x @ w_value
    weights = softmax(keys @ query / np.sqrt(len(x)))
    return weights @ values, weights


@misconception(
    "attend_one_word",
    "The scores say how well each word fits, but they are not shares yet: they can be negative and do not sum to 1. "
    "One step lies between the scaled scores and the weighted sum.",
)
def one_word_without_softmax(x, position, w_query, w_key, w_value):
    """The scores themselves are used as weights, without a softmax."""
    query, keys, values = x[position] @ w_query, x @ w_key, x @ w_value
    weights = keys @ query / np.sqrt(keys.shape[-1])
    return weights @ values, weights


@misconception(
    "attend_one_word",
    "You have the right word, but the wrong one of its vectors. What a word wants to know and what it is found by are two vectors, made by "
    "two matrices. Which one asks?",
)
def one_word_asks_with_its_key(x, position, w_query, w_key, w_value):
    """The word asks with its key instead of its query."""
    keys, values = x @ w_key, x @ w_value
    weights = softmax(keys @ keys[position] / np.sqrt(keys.shape[-1]))
    return weights @ values, weights


@misconception(
    "attend_one_word",
    "The weights were found by comparing query and keys; what they weigh is another thing. What does a word hand over "
    "once it has been found?",
)
def one_word_sums_words(x, position, w_query, w_key, w_value):
    """The weights sum up the words themselves instead of their values."""
    query, keys = x[position] @ w_query, x @ w_key
    weights = softmax(keys @ query / np.sqrt(keys.shape[-1]))
    return weights @ x, weights


@misconception(
    "attend_one_word",
    "Positions are counted from 0: word 0 is the first. `x[position]` needs no correction.",
)
def one_word_counted_from_one(x, position, w_query, w_key, w_value):
    """The word before `position` is taken, as if positions were counted from 1."""
    query, keys, values = x[position - 1] @ w_query, x @ w_key, x @ w_value
    weights = softmax(keys @ query / np.sqrt(keys.shape[-1]))
    return weights @ values, weights


# ---------------------------------------------------------------------------------- scaled_dot_product_attention
# Each one repeats the whole computation, so that it can be handed in as it is.


@misconception(
    "scaled_dot_product_attention",
    "The dot product of two vectors with d_k entries spreads like √d_k. Without dividing by that, the softmax saturates: "
    "nearly all weight falls on one key, and its gradient vanishes. Equation 1 of Vaswani et al. has one more term than you use.",
)
def no_scaling(query, key, value, mask=None):
    """The scores are not divided by the square root of d_k."""
    scores = query @ np.swapaxes(key, -1, -2)
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9))
    weights = weights if mask is None else np.where(mask, weights, 0)
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "Close: d_k is the right quantity, but the *spread* (standard deviation) of a sum of d_k independent products is its "
    "square root.",
)
def divided_by_d_k(query, key, value, mask=None):
    """The scores are divided by d_k instead of its square root."""
    scores = query @ np.swapaxes(key, -1, -2) / query.shape[-1]
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9))
    weights = weights if mask is None else np.where(mask, weights, 0)
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "The scores are already too large and must shrink; you make them grow. Check the direction of the scaling.",
)
def multiplied_by_root_d_k(query, key, value, mask=None):
    """The scores are multiplied by the square root of d_k instead of divided."""
    scores = query @ np.swapaxes(key, -1, -2) * np.sqrt(query.shape[-1])
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9))
    weights = weights if mask is None else np.where(mask, weights, 0)
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "The scale must not depend on how long the sentence is. The dot product runs over the *last* axis of query and key: "
    "the length of that axis is what counts.",
)
def scaled_by_key_length(query, key, value, mask=None):
    """The scores are divided by the square root of the number of keys."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-2])
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9))
    weights = weights if mask is None else np.where(mask, weights, 0)
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "You take the size of the query's second-to-last axis (how many queries there are); `len(query)` and `query.shape[0]` "
    "go wrong in a similar way. d_k is how *long* each query is: the last axis.",
)
def scaled_by_number_of_queries(query, key, value, mask=None):
    """The scores are divided by the square root of the number of queries."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-2])
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9))
    weights = weights if mask is None else np.where(mask, weights, 0)
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "(q_len, d_k) times (k_len, d_k) does not fit: the inner sizes must be equal. One of the two has to be turned so that "
    "the product runs over d_k.",
)
def key_not_transposed(query, key, value, mask=None):
    """The key is not transposed, so the shapes do not fit."""
    scores = query @ key / np.sqrt(query.shape[-1])
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9))
    weights = weights if mask is None else np.where(mask, weights, 0)
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "`.T` reverses *all* axes: a batch of keys (2, 6, 3) becomes (3, 6, 2). Only the last two axes are to be exchanged; the "
    "batch stays in front.",
)
def all_axes_transposed(query, key, value, mask=None):
    """The key's `.T` also moves the batch axis, so it works for one sentence only."""
    scores = query @ key.T / np.sqrt(query.shape[-1])
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9))
    weights = weights if mask is None else np.where(mask, weights, 0)
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "Each *query* shares out its attention over the keys, so each row of the weights sums to 1. Yours sums to 1 along the "
    "columns. Which axis of the scores counts the keys?",
)
def softmax_over_queries(query, key, value, mask=None):
    """The softmax runs over the queries instead of the keys."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9), axis=-2)
    weights = weights if mask is None else np.where(mask, weights, 0)
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "exp() makes the scores positive but not into shares: the rows do not sum to 1 yet. The softmax has a denominator.",
)
def exp_without_denominator(query, key, value, mask=None):
    """The weights are exp(scores), never divided by their sum."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = np.exp(scores if mask is None else np.where(mask, scores, -1e9))
    weights = weights if mask is None else np.where(mask, weights, 0)
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "Your weights are right, but the output is made with something else: the raw scores. The weighted sum of the values "
    "needs the result of the softmax.",
)
def output_from_raw_scores(query, key, value, mask=None):
    """The output is the scores times the values, not the weights times the values."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9))
    weights = weights if mask is None else np.where(mask, weights, 0)
    return scores @ value, weights


@misconception("scaled_dot_product_attention", ORDER_HINT)
def weights_and_output_swapped(query, key, value, mask=None):
    """Weights and output are returned in each other's place."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9))
    weights = weights if mask is None else np.where(mask, weights, 0)
    return weights, weights @ value


@misconception(
    "scaled_dot_product_attention",
    "1e-9 is a tiny positive number, close to 0: a score of 0 is quite an ordinary one. To get no weight after the softmax a "
    "score must be hugely *negative*. Mind the two signs.",
)
def tiny_instead_of_huge(query, key, value, mask=None):
    """Blocked scores are set to 1e-9 instead of -1e9."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = softmax(scores if mask is None else np.where(mask, scores, 1e-9))
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "Without a mask everything is right; with one nothing changes. `np.where(...)` and `masked_fill` do not change the "
    "array they are given: they return a new one. Is the result kept, and is it what the softmax gets?",
)
def mask_ignored(query, key, value, mask=None):
    """The mask has no effect: its result is thrown away, or it is never used."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = softmax(scores)
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "In this course True means *may attend* (as in PyTorch's scaled_dot_product_attention). Other texts use 1 for *blocked*, "
    "which turns everything round. Which places do you overwrite?",
)
def mask_inverted(query, key, value, mask=None):
    """The mask is read the wrong way round: allowed keys are blocked."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = softmax(scores if mask is None else np.where(mask, -1e9, scores))
    weights = weights if mask is None else np.where(mask, 0, weights)
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "Adding a boolean adds 1 or 0: it nudges the allowed scores and blocks nothing. A mask that is *added* must first be "
    "turned into 0 for allowed and a hugely negative number for blocked.",
)
def mask_added_raw(query, key, value, mask=None):
    """The mask itself (True = 1) is added to the scores."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = softmax(scores if mask is None else scores + mask)
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "After the softmax the row is already shared out, and the blocked keys had their part. Setting it to 0 leaves the rest "
    "summing to less than 1. Block *before* the softmax, so that the allowed keys share everything.",
)
def mask_multiplied_after_softmax(query, key, value, mask=None):
    """The weights are multiplied by the mask after the softmax, and do not sum to 1 any more."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = softmax(scores) if mask is None else softmax(scores) * mask
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "The huge negative number belongs to the *scores*. Added to the weights, after the softmax, it is just a huge negative "
    "weight. Move the mask one step earlier.",
)
def mask_added_after_softmax(query, key, value, mask=None):
    """The huge negative number is added to the weights after the softmax, instead of to the scores."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = softmax(scores)
    weights = weights if mask is None else weights + np.where(mask, 0, -1e9)
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "Multiplying by the mask makes a blocked score 0, and exp(0) is 1: that key still gets weight, often more than others. "
    "What score leads to a weight of 0?",
)
def scores_multiplied_by_mask(query, key, value, mask=None):
    """The scores are multiplied by the mask, which makes blocked scores 0, not impossible."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = softmax(scores if mask is None else scores * mask)
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "Every query may have allowed keys of its own: the mask has a row for each. You use its first row for all of them.",
)
def first_mask_row_for_all(query, key, value, mask=None):
    """Only the mask's first row is used, for every query."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    mask = None if mask is None else np.broadcast_to(mask[..., :1, :], scores.shape)
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9))
    weights = weights if mask is None else np.where(mask, weights, 0)
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "For one sentence all is well. With more axes it fails: the sizes you need are the last ones, `shape[-1]` and `shape[-2]`, "
    "whatever stands in front; and the matrix product already works on the last two axes.",
)
def two_dimensional_only(query, key, value, mask=None):
    """It works for a single sentence only: a batch does not fit."""
    q_len, d_k = query.shape
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(d_k)
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9))
    weights = weights if mask is None else np.where(mask, weights, 0)
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "A row whose keys are all blocked has nothing to share out: -inf minus -inf, or 0 divided by 0, is NaN, and one NaN spreads through "
    "all later layers. Read in the docstring what such a row is to give, and set it.",
)
def nan_on_blocked_row(query, key, value, mask=None):
    """A row with every key blocked turns into NaN."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = softmax(scores if mask is None else np.where(mask, scores, -np.inf))
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "With every key at the same -1e9 the softmax sees equal scores and gives equal shares: a word that may attend to nothing "
    "takes the average of everything. Read in the docstring what such a row is to give.",
)
def uniform_on_blocked_row(query, key, value, mask=None):
    """A row with every key blocked shares its attention equally among the blocked keys."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9))
    return weights @ value, weights


@misconception(
    "scaled_dot_product_attention",
    "Where every key gets the same penalty, the differences between the scores stay, and the softmax sees only differences: the row is as if "
    "there were no mask. Read in the docstring what such a row is to give.",
)
def unmasked_on_blocked_row(query, key, value, mask=None):
    """A row with every key blocked has the weights that it would have without a mask."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = softmax(scores if mask is None else scores + np.where(mask, 0, -1e9))
    return weights @ value, weights


# ---------------------------------------------------------------------------------- masks


@misconception(
    "padding_mask",
    "In this course True means *may attend*, so True marks the real tokens. Yours marks the padding.",
)
def padding_marked_true(token_ids, pad_id=0):
    """True marks the padding instead of the real tokens."""
    return (token_ids == pad_id)[..., None, :]


@misconception(
    "padding_mask",
    "The mask is laid over scores of shape (..., q_len, k_len), and it is padded *keys* that nobody may look at. So the tokens "
    "belong on the last axis, and the new axis of length 1 in front of it.",
)
def padding_on_query_axis(token_ids, pad_id=0):
    """The tokens lie on the query axis: shape (..., seq_len, 1) instead of (..., 1, seq_len)."""
    return (token_ids != pad_id)[..., None]


@misconception(
    "padding_mask",
    "A mask of shape (batch, seq_len) does not line up with scores (batch, q_len, k_len): NumPy would take the batch axis for the "
    "queries. Give it an axis of length 1 where the queries are.",
)
def padding_without_query_axis(token_ids, pad_id=0):
    """There is no axis for the queries: the shape is that of token_ids."""
    return token_ids != pad_id


@misconception("padding_mask", "The id of the padding is an argument. It is 0 only by default.")
def padding_always_zero(token_ids, pad_id=0):
    """The padding id is taken to be 0, whatever `pad_id` says."""
    return (token_ids != 0)[..., None, :]


@misconception(
    "padding_mask",
    "Numbers 0 and 1 are not booleans: `~mask` of them is -1 and -2, and adding them to scores does something else than blocking. "
    "A comparison gives booleans directly.",
)
def padding_of_floats(token_ids, pad_id=0):
    """The mask holds the numbers 0 and 1 instead of booleans."""
    return np.where(token_ids == pad_id, 0.0, 1.0)[..., None, :]


@misconception(
    "causal_mask",
    "A word may look at itself: at position i it knows the words 0 to i, and i belongs to them. Otherwise the first word has nothing "
    "to look at. Check where your triangle begins.",
)
def causal_diagonal_blocked(seq_len):
    """The diagonal is blocked: no word may look at itself."""
    return np.tri(seq_len, k=-1, dtype=bool)


@misconception(
    "causal_mask",
    "Row i is the word that looks, column j the word looked at. Yours lets a word see what comes after it and hides what came before. "
    "Which triangle holds j ≤ i?",
)
def anti_causal(seq_len):
    """The mask is the other triangle: words see the future, not the past."""
    return np.triu(np.ones((seq_len, seq_len), dtype=bool))


@misconception(
    "causal_mask",
    "Your True marks the places to be *blocked* (as in older TensorFlow tutorials and in `torch.nn.MultiheadAttention`). In this course True means *may attend*.",
)
def future_marked_true(seq_len):
    """True marks the blocked future instead of what may be attended."""
    return np.triu(np.ones((seq_len, seq_len), dtype=bool), 1)


@misconception(
    "causal_mask",
    "Each word may see one word more than the word before it. Yours lets every word see one too many: itself *and* the next one.",
)
def sees_one_ahead(seq_len):
    """Every word also sees the next one."""
    return np.tri(seq_len, k=1, dtype=bool)


@misconception("causal_mask", "Numbers 0 and 1 are not booleans. Ask NumPy for an array of bool.")
def causal_of_floats(seq_len):
    """The mask holds the numbers 0 and 1 instead of booleans."""
    return np.tri(seq_len)


@misconception(
    "combine_masks",
    "The first mask is forgotten as soon as the second comes. A key may be attended only if *both* say so.",
)
def second_overwrites_first(first, second):
    """The second mask replaces the first."""
    return first if second is None else second


@misconception(
    "combine_masks",
    "With *or*, a key blocked by one mask is let in again by the other. True means may attend: both must allow it.",
)
def either_allows(first, second):
    """A key is allowed as soon as one of the masks allows it."""
    return first if second is None else second if first is None else first | second


@misconception(
    "combine_masks",
    "Adding or multiplying turns booleans into numbers, or makes 2 of 1 + 1. There is an operator for *both* on boolean arrays.",
)
def masks_added(first, second):
    """The masks are added as numbers."""
    return first if second is None else second if first is None else first.astype(int) + second.astype(int)


@misconception(
    "combine_masks",
    "Python's `and` wants one True or False from each side, and an array has many. NumPy has an operator that compares two boolean arrays "
    "entry by entry.",
)
def python_and(first, second):
    """The arrays are combined with Python's `and`, which wants a single True or False."""
    return first if second is None else second if first is None else first and second


@misconception(
    "combine_masks",
    "None stands for a mask that allows everything, so the other mask alone decides. NumPy cannot combine an array with None for you.",
)
def none_not_handled(first, second):
    """A mask that is None is not handled."""
    return first & second


# ---------------------------------------------------------------------------------- the kinds of attention


def scaled_dot_product_attention(query, key, value, mask=None):
    """The right one: in a submission it is the learner's own, defined earlier in the notebook."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9))
    weights = weights if mask is None else np.where(mask, weights, 0)
    return weights @ value, weights


@misconception(
    "causal_self_attention",
    "Nothing hides the future: every word sees the whole sentence. The causal mask has to reach the attention.",
)
def no_causal_mask(x, w_query, w_key, w_value, token_mask=None):
    """The causal mask is missing: every word sees the whole sentence."""
    return scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value, token_mask)


@misconception(
    "causal_self_attention",
    "The causal mask is there, but `token_mask` never reaches the attention, so padding is looked at. Both masks have to hold at once: combine them.",
)
def padding_forgotten(x, w_query, w_key, w_value, token_mask=None):
    """The padding mask is not used: words attend to padding."""
    causal = np.tri(x.shape[-2], dtype=bool)
    return scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value, causal)


@misconception(
    "causal_self_attention",
    "When there is a padding mask, it replaces the causal one, and the future shows. Both have to hold at once: combine them.",
)
def padding_replaces_causal(x, w_query, w_key, w_value, token_mask=None):
    """The padding mask replaces the causal mask instead of joining it."""
    mask = np.tri(x.shape[-2], dtype=bool) if token_mask is None else token_mask
    return scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value, mask)


@misconception(
    "causal_self_attention",
    "Position i may look at positions 0 to i, itself included. Your words cannot look at themselves, and the first has nothing to look at.",
)
def causal_without_self(x, w_query, w_key, w_value, token_mask=None):
    """No word may look at itself: the diagonal of the causal mask is blocked."""
    causal = np.tri(x.shape[-2], k=-1, dtype=bool)
    return scaled_dot_product_attention(
        x @ w_query, x @ w_key, x @ w_value, causal if token_mask is None else causal & token_mask
    )


@misconception(
    "causal_self_attention",
    "Queries, keys and values are three *projections* of x. Without them every word mostly finds itself.",
)
def causal_without_projections(x, w_query, w_key, w_value, token_mask=None):
    """x itself is used as query and key, without projections."""
    causal = np.tri(x.shape[-2], dtype=bool)
    return scaled_dot_product_attention(
        x, x, x @ w_value, causal if token_mask is None else causal & token_mask
    )


@misconception(
    "cross_attention",
    "The roles are exchanged: the *decoder's* words x ask, and the encoder's memory answers. There must be one output for each word of x.",
)
def memory_asks(x, memory, w_query, w_key, w_value, memory_mask=None):
    """The memory asks and x answers: queries and keys come from the wrong sides."""
    return scaled_dot_product_attention(memory @ w_query, x @ w_key, x @ w_value)


@misconception(
    "cross_attention",
    "This is self-attention: x asks and x answers, so the source sentence is never looked at. Which of the three come from memory?",
)
def memory_ignored(x, memory, w_query, w_key, w_value, memory_mask=None):
    """Keys and values come from x: it is self-attention, memory is never looked at."""
    return scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value)


@misconception(
    "cross_attention",
    "The padding of the source sentence is attended to. The memory's mask has to reach the attention.",
)
def memory_mask_forgotten(x, memory, w_query, w_key, w_value, memory_mask=None):
    """The memory's padding mask is not used."""
    return scaled_dot_product_attention(x @ w_query, memory @ w_key, memory @ w_value)


@misconception(
    "cross_attention",
    "The source sentence is known from the beginning, all of it: nothing in memory is 'the future'. A causal mask belongs to the decoder's "
    "self-attention only.",
)
def causal_cross_attention(x, memory, w_query, w_key, w_value, memory_mask=None):
    """A causal mask is laid over the memory."""
    causal = np.tri(x.shape[-2], memory.shape[-2], dtype=bool)
    return scaled_dot_product_attention(
        x @ w_query, memory @ w_key, memory @ w_value, causal if memory_mask is None else causal & memory_mask
    )


@misconception(
    "cross_attention",
    "The keys are projected with the key's matrix and the values with the value's. What a word is found by and what it says are two "
    "things, though both come from memory.",
)
def values_not_projected(x, memory, w_query, w_key, w_value, memory_mask=None):
    """The values are the memory itself, not projected."""
    return scaled_dot_product_attention(x @ w_query, memory @ w_key, memory, memory_mask)
