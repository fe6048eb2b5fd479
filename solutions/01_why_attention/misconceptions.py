"""Wrong ways to write lab 01's exercises. Each must lose points and be recognised as itself."""

import numpy as np

from course_utils.maths import softmax
from grader.author.catalogue import misconception

# ---------------------------------------------------------------------------------- rnn_forward
# Each one repeats the whole loop, so that it can be handed in as it is.


@misconception(
    "rnn_forward",
    "Every step begins again from the first state, so nothing is remembered: each state depends on its own word only. What must "
    "the next step get to see?",
)
def state_not_carried(x, w_input, w_hidden, bias, state=None):
    """The new state is not handed to the next step."""
    first = np.zeros((*x.shape[:-2], len(bias))) if state is None else state
    return np.tanh(x @ w_input + (first @ w_hidden)[..., None, :] + bias)


@misconception(
    "rnn_forward",
    "A state is a row, so it meets the *rows* of its matrix: it stands on the left, and the matrix is not turned. (Books that write vectors as "
    "columns have W·h; there the matrix is the other way round.)",
)
def hidden_weights_transposed(x, w_input, w_hidden, bias, state=None):
    """The state is multiplied by the transposed matrix."""
    state = np.zeros((*x.shape[:-2], len(bias))) if state is None else state
    states = []
    for t in range(x.shape[-2]):
        state = np.tanh(x[..., t, :] @ w_input + state @ w_hidden.T + bias)
        states.append(state)
    return np.stack(states, -2)


@misconception(
    "rnn_forward",
    "Without the tanh the network is linear: many steps are then just one matrix, and the states can grow beyond all bounds.",
)
def no_tanh(x, w_input, w_hidden, bias, state=None):
    """The tanh is missing."""
    state = np.zeros((*x.shape[:-2], len(bias))) if state is None else state
    states = []
    for t in range(x.shape[-2]):
        state = x[..., t, :] @ w_input + state @ w_hidden + bias
        states.append(state)
    return np.stack(states, -2)


@misconception(
    "rnn_forward",
    "A sigmoid gives numbers from 0 to 1; gates use it. The state of this network goes through a tanh, from -1 to 1.",
)
def sigmoid_for_tanh(x, w_input, w_hidden, bias, state=None):
    """A sigmoid stands in place of the tanh."""
    state = np.zeros((*x.shape[:-2], len(bias))) if state is None else state
    states = []
    for t in range(x.shape[-2]):
        state = 1 / (1 + np.exp(-(x[..., t, :] @ w_input + state @ w_hidden + bias)))
        states.append(state)
    return np.stack(states, -2)


@misconception(
    "rnn_forward",
    "Only the word's part goes through your tanh, and the old state is added outside. Look at the formula: what stands inside the brackets?",
)
def state_added_outside_the_tanh(x, w_input, w_hidden, bias, state=None):
    """The old state's part is added outside the tanh."""
    state = np.zeros((*x.shape[:-2], len(bias))) if state is None else state
    states = []
    for t in range(x.shape[-2]):
        state = np.tanh(x[..., t, :] @ w_input + bias) + state @ w_hidden
        states.append(state)
    return np.stack(states, -2)


@misconception("rnn_forward", "Three things are added up inside the tanh. You use two of them.")
def bias_forgotten(x, w_input, w_hidden, bias, state=None):
    """The bias is not added."""
    state = np.zeros((*x.shape[:-2], len(bias))) if state is None else state
    states = []
    for t in range(x.shape[-2]):
        state = np.tanh(x[..., t, :] @ w_input + state @ w_hidden)
        states.append(state)
    return np.stack(states, -2)


@misconception(
    "rnn_forward",
    "The caller may bring a state along, for example that of the sentence before. Yours always begins with zeros.",
)
def first_state_ignored(x, w_input, w_hidden, bias, state=None):
    """The given first state is ignored: it always begins with zeros."""
    state = np.zeros((*x.shape[:-2], len(bias)))
    states = []
    for t in range(x.shape[-2]):
        state = np.tanh(x[..., t, :] @ w_input + state @ w_hidden + bias)
        states.append(state)
    return np.stack(states, -2)


@misconception(
    "rnn_forward",
    "Your states are those *before* each word: the first is the one before the sentence begins, and the last word has no effect at all. "
    "In which order do computing and storing come?",
)
def stored_before_the_step(x, w_input, w_hidden, bias, state=None):
    """Each state is stored before its word is read: all are one step late."""
    state = np.zeros((*x.shape[:-2], len(bias))) if state is None else state
    states = []
    for t in range(x.shape[-2]):
        states.append(state)
        state = np.tanh(x[..., t, :] @ w_input + state @ w_hidden + bias)
    return np.stack(states, -2)


@misconception(
    "rnn_forward",
    "You give back one state, the last. Attention will need the states after *every* word: collect them.",
)
def last_state_only(x, w_input, w_hidden, bias, state=None):
    """Only the last state comes back."""
    state = np.zeros((*x.shape[:-2], len(bias))) if state is None else state
    for t in range(x.shape[-2]):
        state = np.tanh(x[..., t, :] @ w_input + state @ w_hidden + bias)
    return state


@misconception(
    "rnn_forward",
    "You walk along the first axis. In a batch that is the sentences, so that one sentence's states flow into the next. The words are the "
    "second-to-last axis, whatever stands in front.",
)
def loop_over_the_first_axis(x, w_input, w_hidden, bias, state=None):
    """The loop runs over the first axis, which is the batch where there is one."""
    state = np.zeros(len(bias)) if state is None else state
    states = []
    for word in x:
        state = np.tanh(word @ w_input + state @ w_hidden + bias)
        states.append(state)
    return np.array(states)


# ---------------------------------------------------------------------------------- additive_scores


@misconception(
    "additive_scores",
    "Without the tanh the score is a number of the query plus a number of the key. The first is the same for the whole row, and the softmax "
    "does not see it: every query would get the same weights.",
)
def additive_without_tanh(query, key, w_query, w_key, v):
    """The tanh is missing."""
    pairs = (query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :]
    return pairs @ v


@misconception(
    "additive_scores",
    "Query and key go through the tanh one by one, and are added afterwards. So they never meet inside it, and the softmax drops the query's "
    "part. Add first.",
)
def tanh_before_the_sum(query, key, w_query, w_key, v):
    """The tanh is taken of query and key separately, before they are added."""
    pairs = np.tanh(query @ w_query)[..., :, None, :] + np.tanh(key @ w_key)[..., None, :, :]
    return pairs @ v


@misconception(
    "additive_scores",
    "The tanh belongs to the features of each pair, before `v` adds them up. Yours squeezes the finished score between -1 and 1.",
)
def tanh_of_the_score(query, key, w_query, w_key, v):
    """The tanh is taken of the finished score instead of the features."""
    pairs = (query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :]
    return np.tanh(pairs @ v)


@misconception(
    "additive_scores",
    "This kind is called additive because query and key are *added*. Multiplying them feature by feature is the idea of the next exercise.",
)
def multiplied_instead_of_added(query, key, w_query, w_key, v):
    """Query and key are multiplied instead of added."""
    pairs = (query @ w_query)[..., :, None, :] * (key @ w_key)[..., None, :, :]
    return np.tanh(pairs) @ v


@misconception(
    "additive_scores",
    "The features are added up as if all counted the same. The vector `v` says how much each of them counts.",
)
def features_summed_without_v(query, key, w_query, w_key, v):
    """The features are summed without being weighed by v."""
    pairs = (query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :]
    return np.tanh(pairs).sum(-1)


@misconception(
    "additive_scores",
    "Rows and columns are exchanged: there must be a row for each query and a column for each key. Look at where you put the two new axes.",
)
def additive_rows_are_keys(query, key, w_query, w_key, v):
    """The scores have a row for each key instead of each query."""
    pairs = (query @ w_query)[..., None, :, :] + (key @ w_key)[..., :, None, :]
    return np.tanh(pairs) @ v


@misconception(
    "additive_scores",
    "You go one step too far: the softmax comes later. Here the scores themselves are asked for, which may be negative and need not sum to 1.",
)
def additive_with_softmax(query, key, w_query, w_key, v):
    """The weights come back instead of the scores: a softmax too many."""
    pairs = np.tanh((query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :])
    return softmax(pairs @ v)


@misconception(
    "additive_scores",
    "The new axes are counted from the front, so they hit the batch. Count from the back: `...` stands for all axes in front.",
)
def axes_counted_from_the_front(query, key, w_query, w_key, v):
    """The new axes are counted from the front, so it works for a single sentence only."""
    asked, offered = query @ w_query, key @ w_key
    return np.tanh(asked[:, None] + offered[None, :]) @ v


@misconception(
    "additive_scores",
    "Query 0 is added to key 0, query 1 to key 1, and so on, which does not even fit. *Each* query is compared with *every* key: that takes one more axis.",
)
def paired_off(query, key, w_query, w_key, v):
    """Queries and keys are added without a new axis, as if they came in pairs."""
    return np.tanh(query @ w_query + key @ w_key) @ v


@misconception(
    "additive_scores",
    "Nothing is divided here. The scaling by a square root belongs to the *dot product* of lab 02; the tanh keeps these features small by itself.",
)
def additive_scaled(query, key, w_query, w_key, v):
    """The scores are divided by the square root of the number of features."""
    pairs = np.tanh((query @ w_query)[..., :, None, :] + (key @ w_key)[..., None, :, :])
    return pairs @ v / np.sqrt(len(v))


# ---------------------------------------------------------------------------------- dot_product_scores


@misconception(
    "dot_product_scores",
    "(q_len, d) times (k_len, d) does not fit: the inner sizes must be equal. One of the two has to be turned so that the product runs "
    "over the features.",
)
def dot_key_not_transposed(query, key, w=None):
    """The key is not transposed, so the shapes do not fit."""
    return (query if w is None else query @ w) @ key


@misconception(
    "dot_product_scores",
    "`.T` reverses *all* axes: a batch of keys (2, 5, 3) becomes (3, 5, 2). Only the last two are to be exchanged; the batch stays in front.",
)
def dot_all_axes_transposed(query, key, w=None):
    """The key's `.T` also moves the batch axis, so it works for one sentence only."""
    return (query if w is None else query @ w) @ key.T


@misconception(
    "dot_product_scores",
    "A matrix is given and you do not use it. It stands between query and key, and brings the query to the key's length.",
)
def general_ignored(query, key, w=None):
    """The matrix w is not used."""
    return query @ np.swapaxes(key, -1, -2)


@misconception(
    "dot_product_scores",
    "The matrix has a row for each feature of the *query* and a column for each feature of the *key*. You use it the other way round. Write the "
    "three shapes side by side: inner sizes must be equal.",
)
def general_turned_round(query, key, w=None):
    """The matrix w is transposed, or multiplies the wrong side."""
    return (query if w is None else query @ w.T) @ np.swapaxes(key, -1, -2)


@misconception(
    "dot_product_scores",
    "Right in lab 02, too early here: Luong's scores are not scaled, and the docstring asks for them as they are.",
)
def dot_scaled(query, key, w=None):
    """The scores are divided by the square root of the number of features."""
    query = query if w is None else query @ w
    return query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])


@misconception(
    "dot_product_scores",
    "You divide by the lengths, which makes it a cosine. A dot product keeps the lengths: a query twice as long has scores twice as large.",
)
def cosine(query, key, w=None):
    """The vectors are divided by their lengths first: it is the cosine."""
    query = query if w is None else query @ w
    query = query / np.linalg.norm(query, axis=-1, keepdims=True)
    return query @ np.swapaxes(key / np.linalg.norm(key, axis=-1, keepdims=True), -1, -2)


@misconception(
    "dot_product_scores",
    "You go one step too far: the softmax comes in the next exercise. Scores may be negative and need not sum to 1.",
)
def dot_with_softmax(query, key, w=None):
    """The weights come back instead of the scores: a softmax too many."""
    return softmax((query if w is None else query @ w) @ np.swapaxes(key, -1, -2))


@misconception(
    "dot_product_scores",
    "Rows and columns are exchanged: there must be a row for each query and a column for each key. Which of the two stands on the left?",
)
def dot_rows_are_keys(query, key, w=None):
    """The scores have a row for each key instead of each query."""
    return key @ np.swapaxes(query if w is None else query @ w, -1, -2)


@misconception(
    "dot_product_scores",
    "`*` multiplies entry by entry, query 0 with key 0 and so on. Every query is to be compared with every key: that is a matrix product.",
)
def dot_entry_by_entry(query, key, w=None):
    """Queries and keys are multiplied entry by entry, as if they came in pairs."""
    return ((query if w is None else query @ w) * key).sum(-1)


# ---------------------------------------------------------------------------------- attend


@misconception(
    "attend",
    "Each *query* shares out its attention over the keys, so each row of the weights sums to 1. Yours sums to 1 along the columns. Which axis of "
    "the scores counts the keys?",
)
def shared_out_over_queries(query, key, value):
    """The softmax runs over the queries instead of the keys."""
    weights = softmax(query @ np.swapaxes(key, -1, -2), axis=-2)
    return weights @ value, weights


@misconception(
    "attend",
    "The scores say how well a key fits, but they are not shares: they can be negative, and do not sum to 1. One step is missing.",
)
def scores_as_weights(query, key, value):
    """The scores are used as weights, without a softmax."""
    weights = query @ np.swapaxes(key, -1, -2)
    return weights @ value, weights


@misconception(
    "attend",
    "Your weights are right, but the context is made with the raw scores. What is averaged must be weighed by what came out of the softmax.",
)
def context_from_scores(query, key, value):
    """The context is made with the scores instead of the weights."""
    scores = query @ np.swapaxes(key, -1, -2)
    return scores @ value, softmax(scores)


@misconception(
    "attend",
    "Dividing scores by their sum does not make shares: some scores are negative, and the sum can be close to 0. The softmax takes exp first.",
)
def divided_by_the_sum(query, key, value):
    """The scores are divided by their sum, without exp."""
    scores = query @ np.swapaxes(key, -1, -2)
    weights = scores / scores.sum(-1, keepdims=True)
    return weights @ value, weights


@misconception(
    "attend",
    "Right in lab 02, too early here: the scores of this lab are not scaled.",
)
def attend_scaled(query, key, value):
    """The scores are divided by the square root of the number of features."""
    weights = softmax(query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1]))
    return weights @ value, weights


@misconception(
    "attend",
    "The keys are what something is found by. What is handed over, once it is found, is another argument.",
)
def keys_averaged(query, key, value):
    """The keys are averaged instead of the values."""
    weights = softmax(query @ np.swapaxes(key, -1, -2))
    return weights @ key, weights


@misconception(
    "attend",
    "Your query takes the best value and drops the rest: a hard look-up. Attention is the soft one, in which every value has its share. (And which one is "
    "the largest has no gradient.)",
)
def best_key_only(query, key, value):
    """Each query takes only the value of its best key."""
    scores = query @ np.swapaxes(key, -1, -2)
    weights = (scores == scores.max(-1, keepdims=True)).astype(float)
    return weights @ value, weights


@misconception(
    "attend",
    "The names in the return line decide what the caller takes for what. Compare the order in the docstring with the order you return.",
)
def context_and_weights_swapped(query, key, value):
    """Context and weights are returned in each other's place."""
    weights = softmax(query @ np.swapaxes(key, -1, -2))
    return weights, weights @ value


@misconception(
    "attend",
    "exp of a score in the hundreds is more than a float can hold: infinity divided by infinity is NaN. The course's `softmax` takes care of that; "
    "one of your own has to subtract the largest score first.",
)
def exp_overflows(query, key, value):
    """The softmax of one's own does not subtract the largest score, and overflows."""
    powers = np.exp(query @ np.swapaxes(key, -1, -2))
    weights = powers / powers.sum(-1, keepdims=True)
    return weights @ value, weights


@misconception(
    "attend",
    "All queries of a sentence share one single portion of attention here: the whole table sums to 1. Every query has a portion of its own.",
)
def one_portion_for_all(query, key, value):
    """The softmax runs over the whole table of a sentence instead of each row."""
    scores = query @ np.swapaxes(key, -1, -2)
    weights = softmax(scores.reshape(*scores.shape[:-2], -1)).reshape(scores.shape)
    return weights @ value, weights


# ---------------------------------------------------------------------------------- reweight


@misconception(
    "reweight",
    "The products are not shares yet: they can be negative and do not sum to 1. What turns scores into shares?",
)
def products_as_weights(x):
    """The dot products are used as weights, without a softmax."""
    weights = x @ np.swapaxes(x, -1, -2)
    return weights @ x, weights


@misconception(
    "reweight",
    "The table of products is symmetric, so it is easy to miss: yours sums to 1 along the columns. Word i shares out *its* attention over all j: "
    "that is row i.",
)
def reweight_along_the_columns(x):
    """The softmax runs over i instead of j."""
    weights = softmax(x @ np.swapaxes(x, -1, -2), axis=-2)
    return weights @ x, weights


@misconception(
    "reweight",
    "You give every weight to the word itself again: the weights of a row sum to 1, so x_i times their sum is x_i. What is averaged are the *other* "
    "words, x_j.",
)
def weighs_itself(x):
    """The sum runs over w_ij x_i instead of w_ij x_j: every word stays as it was."""
    weights = softmax(x @ np.swapaxes(x, -1, -2))
    return weights.sum(-1, keepdims=True) * x, weights


@misconception(
    "reweight",
    "The sum runs over *all* words j, and i is one of them. Nothing in the formula leaves the word itself out.",
)
def word_itself_left_out(x):
    """A word does not look at itself."""
    products = x @ np.swapaxes(x, -1, -2)
    weights = softmax(np.where(np.eye(x.shape[-2], dtype=bool), -1e9, products))
    return weights @ x, weights


@misconception(
    "reweight",
    "You compare features with features, in a table of (d, d). Words are rows: the table that is asked for has a row and a column for each *word*.",
)
def features_compared(x):
    """Features are compared with features instead of words with words."""
    weights = softmax(np.swapaxes(x, -1, -2) @ x)
    return x @ weights, weights


@misconception(
    "reweight",
    "You divide the words by their lengths before you compare them: those are cosines. The formula has plain dot products, in which a long vector counts more.",
)
def cosines_compared(x):
    """Cosines stand in place of the dot products."""
    unit = x / np.linalg.norm(x, axis=-1, keepdims=True)
    weights = softmax(unit @ np.swapaxes(unit, -1, -2))
    return weights @ x, weights


@misconception("reweight", "The formula of this lab has no square root in it. The scaling comes in lab 02.")
def reweight_scaled(x):
    """The products are divided by the square root of the number of features."""
    weights = softmax(x @ np.swapaxes(x, -1, -2) / np.sqrt(x.shape[-1]))
    return weights @ x, weights


@misconception(
    "reweight",
    "Adding the word to the average is a residual connection. Transformers have one around their attention (lab 05), and this formula does not.",
)
def residual_added(x):
    """The word itself is added to the average."""
    weights = softmax(x @ np.swapaxes(x, -1, -2))
    return x + weights @ x, weights


@misconception(
    "reweight",
    "Equal shares for all: that is the mean. How much word j counts for word i depends on their product.",
)
def plain_mean(x):
    """Every word gets the same weight."""
    weights = np.full((*x.shape[:-1], x.shape[-2]), 1 / x.shape[-2])
    return weights @ x, weights


# ---------------------------------------------------------------------------------- layer_cost


@misconception(
    "layer_cost",
    "The two are exchanged. Self-attention compares *positions*, each with each, by a dot product. A recurrent layer has a *matrix* to go through at each position.",
)
def operations_exchanged(kind, n, d, kernel=3):
    """The operations of self-attention and of the recurrent layer are exchanged."""
    if kind == "self-attention":
        return n * d**2, 1, 1
    if kind == "recurrent":
        return n**2 * d, n, n
    if kind == "convolutional":
        return kernel * n * d**2, 1, max(1, int(np.ceil((n - 1) / (kernel - 1))))
    if kind == "dilated":
        return kernel * n * d**2, 1, next(depth for depth in range(1, n + 1) if kernel**depth >= n)
    raise ValueError(f"{kind} is none of them")


@misconception(
    "layer_cost",
    "Both products of self-attention are counted, comparing and averaging. That is the whole truth, but not what the docstring asks for: it leaves the second one out, as O() does.",
)
def averaging_counted(kind, n, d, kernel=3):
    """The averaging of self-attention is counted as well."""
    if kind == "self-attention":
        return 2 * n**2 * d, 1, 1
    if kind == "recurrent":
        return n * d**2, n, n
    if kind == "convolutional":
        return kernel * n * d**2, 1, max(1, int(np.ceil((n - 1) / (kernel - 1))))
    if kind == "dilated":
        return kernel * n * d**2, 1, next(depth for depth in range(1, n + 1) if kernel**depth >= n)
    raise ValueError(f"{kind} is none of them")


@misconception(
    "layer_cost",
    "A convolution of width 3 has three matrices, one for each place it sees, and multiplies by all of them at each position. You count one.",
)
def kernel_forgotten(kind, n, d, kernel=3):
    """The kernel's width is missing from the operations of the convolutions."""
    if kind == "self-attention":
        return n**2 * d, 1, 1
    if kind == "recurrent":
        return n * d**2, n, n
    if kind == "convolutional":
        return n * d**2, 1, max(1, int(np.ceil((n - 1) / (kernel - 1))))
    if kind == "dilated":
        return n * d**2, 1, next(depth for depth in range(1, n + 1) if kernel**depth >= n)
    raise ValueError(f"{kind} is none of them")


@misconception(
    "layer_cost",
    "You multiply each feature by one number (a *depthwise* convolution). Here a position's d features become d new ones, each made of all the old: that is a (d, d) matrix.",
)
def one_number_a_feature(kind, n, d, kernel=3):
    """The convolutions are counted with d instead of d² multiplications a place."""
    if kind == "self-attention":
        return n**2 * d, 1, 1
    if kind == "recurrent":
        return n * d**2, n, n
    if kind == "convolutional":
        return kernel * n * d, 1, max(1, int(np.ceil((n - 1) / (kernel - 1))))
    if kind == "dilated":
        return kernel * n * d, 1, next(depth for depth in range(1, n + 1) if kernel**depth >= n)
    raise ValueError(f"{kind} is none of them")


@misconception(
    "layer_cost",
    "The logarithm belongs to the dilated convolutions. In self-attention every output reads every input directly: how many steps is that?",
)
def attention_takes_logarithmic_steps(kind, n, d, kernel=3):
    """Self-attention is given a path that grows like the logarithm of n."""
    if kind == "self-attention":
        return n**2 * d, 1, max(1, int(np.ceil(np.log2(n))))
    if kind == "recurrent":
        return n * d**2, n, n
    if kind == "convolutional":
        return kernel * n * d**2, 1, max(1, int(np.ceil((n - 1) / (kernel - 1))))
    if kind == "dilated":
        return kernel * n * d**2, 1, next(depth for depth in range(1, n + 1) if kernel**depth >= n)
    raise ValueError(f"{kind} is none of them")


@misconception(
    "layer_cost",
    "In a recurrent layer state 5 cannot be computed before state 4: the positions wait for each other, one after the other.",
)
def recurrent_in_one_step(kind, n, d, kernel=3):
    """The recurrent layer is said to need a single sequential step."""
    if kind == "self-attention":
        return n**2 * d, 1, 1
    if kind == "recurrent":
        return n * d**2, 1, n
    if kind == "convolutional":
        return kernel * n * d**2, 1, max(1, int(np.ceil((n - 1) / (kernel - 1))))
    if kind == "dilated":
        return kernel * n * d**2, 1, next(depth for depth in range(1, n + 1) if kernel**depth >= n)
    raise ValueError(f"{kind} is none of them")


@misconception(
    "layer_cost",
    "You count the gaps between the states; the docstring counts the states themselves, the first and the last included. In the figure the way begins at the input below the first state.",
)
def gaps_counted(kind, n, d, kernel=3):
    """The path of the recurrent layer is n - 1: the gaps are counted instead of the states."""
    if kind == "self-attention":
        return n**2 * d, 1, 1
    if kind == "recurrent":
        return n * d**2, n, n - 1
    if kind == "convolutional":
        return kernel * n * d**2, 1, max(1, int(np.ceil((n - 1) / (kernel - 1))))
    if kind == "dilated":
        return kernel * n * d**2, 1, next(depth for depth in range(1, n + 1) if kernel**depth >= n)
    raise ValueError(f"{kind} is none of them")


@misconception(
    "layer_cost",
    "One layer of convolution sees only a few neighbours. How many layers must stand on each other until the last position has heard of the first?",
)
def convolution_sees_everything(kind, n, d, kernel=3):
    """Convolutions are given a path of 1, as if one layer saw the whole sequence."""
    if kind == "self-attention":
        return n**2 * d, 1, 1
    if kind == "recurrent":
        return n * d**2, n, n
    if kind in ("convolutional", "dilated"):
        return kernel * n * d**2, 1, 1
    raise ValueError(f"{kind} is none of them")


@misconception(
    "layer_cost",
    "A kernel of width 3 sees its own position and *two* before it, so a layer reaches two places further back, and the first of n positions is n - 1 places away. "
    "Count both in the figure.",
)
def reaches_a_whole_kernel_back(kind, n, d, kernel=3):
    """The path of the convolutions is n / kernel: each layer is taken to reach `kernel` places back."""
    if kind == "self-attention":
        return n**2 * d, 1, 1
    if kind == "recurrent":
        return n * d**2, n, n
    if kind == "convolutional":
        return kernel * n * d**2, 1, int(np.ceil(n / kernel))
    if kind == "dilated":
        return kernel * n * d**2, 1, next(depth for depth in range(1, n + 1) if kernel**depth >= n)
    raise ValueError(f"{kind} is none of them")


@misconception(
    "layer_cost",
    "You round down, and the stack ends just before it reaches the first word. Two layers and a half means three.",
)
def rounded_down(kind, n, d, kernel=3):
    """The number of layers is rounded down."""
    if kind == "self-attention":
        return n**2 * d, 1, 1
    if kind == "recurrent":
        return n * d**2, n, n
    if kind == "convolutional":
        return kernel * n * d**2, 1, max(1, (n - 1) // (kernel - 1))
    if kind == "dilated":
        return kernel * n * d**2, 1, max(1, int(np.log(n + 0.5) / np.log(kernel)))
    raise ValueError(f"{kind} is none of them")


@misconception(
    "layer_cost",
    "The gaps of a dilated stack widen from layer to layer, so each layer reaches several times as far as the one below, not just a few places further.",
)
def dilated_like_ordinary(kind, n, d, kernel=3):
    """The dilated stack is given the path of the ordinary one."""
    if kind == "self-attention":
        return n**2 * d, 1, 1
    if kind == "recurrent":
        return n * d**2, n, n
    if kind in ("convolutional", "dilated"):
        return kernel * n * d**2, 1, max(1, int(np.ceil((n - 1) / (kernel - 1))))
    raise ValueError(f"{kind} is none of them")


@misconception(
    "layer_cost",
    "At the exact powers of the kernel you ask for one layer too many: three layers of width 3 see 27 positions, and 27 are enough for 27.",
)
def one_layer_too_many(kind, n, d, kernel=3):
    """The dilated stack is one layer too tall at exact powers of the kernel."""
    if kind == "self-attention":
        return n**2 * d, 1, 1
    if kind == "recurrent":
        return n * d**2, n, n
    if kind == "convolutional":
        return kernel * n * d**2, 1, max(1, int(np.ceil((n - 1) / (kernel - 1))))
    if kind == "dilated":
        return kernel * n * d**2, 1, next(depth for depth in range(1, n + 2) if kernel**depth > n)
    raise ValueError(f"{kind} is none of them")


@misconception(
    "layer_cost",
    "For a single position your convolutions need no layer at all. There is always at least one: the docstring says so.",
)
def no_layer_for_one_position(kind, n, d, kernel=3):
    """For a single position the path of the convolutions is 0."""
    if kind == "self-attention":
        return n**2 * d, 1, 1
    if kind == "recurrent":
        return n * d**2, n, n
    if kind == "convolutional":
        return kernel * n * d**2, 1, int(np.ceil((n - 1) / (kernel - 1)))
    if kind == "dilated":
        return kernel * n * d**2, 1, next(depth for depth in range(0, n + 1) if kernel**depth >= n)
    raise ValueError(f"{kind} is none of them")


@misconception(
    "layer_cost",
    "A dictionary that is asked for a key it does not have raises KeyError. The docstring promises a ValueError that names the kind: look before you take.",
)
def key_error_for_unknown_kinds(kind, n, d, kernel=3):
    """An unknown kind raises KeyError."""
    width = {"self-attention": n * d, "recurrent": d * d, "convolutional": kernel * d * d, "dilated": kernel * d * d}
    stack = next(depth for depth in range(1, n + 1) if kernel**depth >= n)
    way = {"self-attention": 1, "recurrent": n, "convolutional": max(1, -(-(n - 1) // (kernel - 1))), "dilated": stack}
    return n * width[kind], n if kind == "recurrent" else 1, way[kind]


@misconception(
    "layer_cost",
    "The last branch catches whatever is left, also kinds that do not exist. A typing mistake would then give a wrong number without a word: the docstring promises a ValueError.",
)
def unknown_kinds_accepted(kind, n, d, kernel=3):
    """An unknown kind is treated like one of the four."""
    if kind == "self-attention":
        return n**2 * d, 1, 1
    if kind == "recurrent":
        return n * d**2, n, n
    if kind == "convolutional":
        return kernel * n * d**2, 1, max(1, int(np.ceil((n - 1) / (kernel - 1))))
    return kernel * n * d**2, 1, next(depth for depth in range(1, n + 1) if kernel**depth >= n)
