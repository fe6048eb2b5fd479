"""Wrong ways to write lab 01's exercises. Each must lose points and be recognised as itself."""

import numpy as np

from course_utils.maths import softmax
from grader.catalogue import misconception, slip

# ---------------------------------------------------------------------------------- rnn_forward
# Each one repeats the whole loop, so that it can be handed in as it is.

slip("rnn_forward", "state_not_carried", "The new state is not passed on to the next step.",
     "Every step starts from the first state again, so nothing is remembered: each state depends only on its "
     "own word. What does the next step need to see?",
     ("        state = np.tanh", "        new = np.tanh"), ("states.append(state)", "states.append(new)"))

slip("rnn_forward", "hidden_weights_transposed",
     "The state's matrix is transposed, or multiplies from the wrong side.",
     "A state is a row vector, so it goes on the left of its matrix, and the matrix stays as it is. "
     "(Books that write vectors as columns have W·h; there the matrix is the other way round.)",
     ("state @ w_hidden", "state @ w_hidden.T"))

slip("rnn_forward", "no_tanh", "The states do not go through a tanh.",
     "Without the tanh, the network is linear. Many steps in a row then do no more than one matrix could, "
     "and the states can grow without limit.",
     ("np.tanh(x[", "(x["))

slip("rnn_forward", "sigmoid_for_tanh", "A sigmoid is used instead of the tanh.",
     "A sigmoid gives numbers between 0 and 1, which suits gates. This network's state goes through a tanh, "
     "which gives numbers between -1 and 1.",
     ("np.tanh(x[..., step, :] @ w_input + state @ w_hidden + bias)",
      "1 / (1 + np.exp(-(x[..., step, :] @ w_input + state @ w_hidden + bias)))"))

slip("rnn_forward", "tanh_overflows",
     "For large numbers, on either side of 0, an exponential overflows, and the states become NaN.",
     "If you write tanh with exponentials, the tanh of 900 is infinity divided by infinity. That is NaN, but "
     "the right value is nearly 1. NumPy's own tanh is right for large numbers, too.",
     ("        state = np.tanh(x[..., step, :] @ w_input + state @ w_hidden + bias)",
      "        before = x[..., step, :] @ w_input + state @ w_hidden + bias\n"
      "        up, down = np.exp(before), np.exp(-before)\n"
      "        state = (up - down) / (up + down)"))

slip("rnn_forward", "state_added_outside_the_tanh", "The old state's part is added outside the tanh.",
     "Only the word's part goes through your tanh; the old state is added outside. Look at the formula: what "
     "stands inside the brackets?",
     (" + state @ w_hidden + bias)", " + bias) + state @ w_hidden"))

slip("rnn_forward", "bias_forgotten", "The bias has no effect.",
     "Three things are added up inside the tanh. Only two of them reach yours.",
     ("state @ w_hidden + bias", "state @ w_hidden"))

slip("rnn_forward", "bias_twice", "The bias counts twice.",
     "PyTorch's RNN has two biases, one for the word and one for the state. Here there is only one. How "
     "often do you add it in a step?",
     ("state @ w_hidden + bias", "state @ w_hidden + bias + bias"))

slip("rnn_forward", "first_state_ignored",
     "The first state that is given has no effect: the network always starts from zeros.",
     "The caller may pass in a state, for example the one left by the previous sentence. Yours always starts "
     "from zeros.",
     ("    if state is None:\n"
      "        state =",
      "    state ="))

slip("rnn_forward", "stored_before_the_step",
     "Every state is one step late: the one before the first word is there, and the last one is missing.",
     "Your states are those *before* each word. The first one is the state before the sentence, and the last "
     "word has no effect at all. When do you store a state, and which states do you return?",
     ("state = np.tanh(x[..., step, :] @ w_input + state @ w_hidden + bias)\n"
      "        states.append(state)",
      "states.append(state)\n"
      "        state = np.tanh(x[..., step, :] @ w_input + state @ w_hidden + bias)"))

slip("rnn_forward", "last_state_only", "Only the last state is returned.",
     "You return only the last state. Attention will need the state after *every* word, so collect them all.",
     ("np.stack(states, axis=-2)", "state"))


@misconception(
    "rnn_forward",
    "You loop over the first axis. In a batch, that axis counts the sentences, so one sentence's state flows "
    "into the next sentence. The words are always on the second-to-last axis.",
)
def loop_over_the_first_axis(x, w_input, w_hidden, bias, state=None):
    """The loop runs over the first axis, which is the batch where there is one."""
    state = np.zeros(len(bias)) if state is None else state
    states = []
    for word in x:
        state = np.tanh(word @ w_input + state @ w_hidden + bias)
        states.append(state)
    return np.stack(states, axis=-2)


# ---------------------------------------------------------------------------------- additive_scores

slip("additive_scores", "additive_without_tanh", "The sums of query and key do not go through a tanh.",
     "Without the tanh, the score is a number that depends on the query plus a number that depends on the "
     "key. The first is the same along the whole row, so the softmax ignores it, and every query gets the "
     "same weights.",
     ("np.tanh(asked", "(asked"))

slip("additive_scores", "tanh_before_the_sum",
     "The tanh is applied to query and key separately, before they are added.",
     "You apply the tanh to query and key separately, and add them only afterwards. So they never meet "
     "inside it, and the query's part drops out in the softmax. Add first.",
     ("np.tanh(asked[..., :, np.newaxis, :] + offered[..., np.newaxis, :, :])",
      "np.tanh(asked)[..., :, np.newaxis, :] + np.tanh(offered)[..., np.newaxis, :, :]"))

slip("additive_scores", "tanh_of_the_score",
     "The tanh is applied to the finished score instead of to the features.",
     "The tanh belongs to the features of each pair, before `v` adds them up. Yours squeezes the finished "
     "score between -1 and 1.",
     ("np.tanh(asked", "(asked"), ("return pairs @ v", "return np.tanh(pairs @ v)"))

slip("additive_scores", "multiplied_instead_of_added", "Query and key are multiplied instead of added.",
     "This kind of attention is called additive because query and key are *added*. Multiplying them feature "
     "by feature is the idea of the next exercise.",
     ("] + offered[", "] * offered["))

slip("additive_scores", "features_summed_without_v", "The features are summed without being weighted by v.",
     "You add up the features as if they all counted the same. The vector `v` says how much each of them "
     "counts.",
     ("pairs @ v", "pairs.sum(-1)"))

slip("additive_scores", "additive_rows_are_keys", "The scores have a row for each key instead of each query.",
     "Rows and columns are exchanged. There must be a row for each query and a column for each key. Which of "
     "your steps decides which comes first?",
     ("asked[..., :, np.newaxis, :] + offered[..., np.newaxis, :, :]",
      "asked[..., np.newaxis, :, :] + offered[..., :, np.newaxis, :]"))

slip("additive_scores", "additive_with_softmax",
     "The weights are returned instead of the scores: there is one softmax too many.",
     "You go one step too far: the softmax comes later. This function returns the scores themselves, which "
     "may be negative and do not have to sum to 1.",
     ("pairs @ v", "softmax(pairs @ v)"))

slip("additive_scores", "axes_counted_from_the_front",
     "The new axes are counted from the front, so it works for a single sentence only.",
     "You count the new axes from the front, so they land on the batch. Count from the back: `...` stands "
     "for all the leading axes.",
     ("asked[..., :, np.newaxis, :] + offered[..., np.newaxis, :, :]",
      "asked[:, np.newaxis] + offered[np.newaxis, :]"))

slip("additive_scores", "paired_off",
     "Queries and keys are added without a new axis, as if they came in pairs.",
     "Query 0 is added to key 0, query 1 to key 1, and so on, and the two lengths do not even match. But "
     "*each* query has to be compared with *every* key. That takes one more axis.",
     ("asked[..., :, np.newaxis, :] + offered[..., np.newaxis, :, :]", "asked + offered"))

slip("additive_scores", "additive_scaled",
     "The scores are divided by the square root of the number of features.",
     "This function does not divide. The scaling by a square root belongs to the *dot product* of lab 02. "
     "Here the tanh already keeps the features small.",
     ("pairs @ v", "pairs @ v / np.sqrt(len(v))"))


# ---------------------------------------------------------------------------------- dot_product_scores

slip("dot_product_scores", "dot_key_not_transposed", "The key is not transposed, so the shapes do not fit.",
     "(q_len, d) times (k_len, d) does not fit, because the inner sizes must be equal. Transpose one of the "
     "two, so that the product runs over the features.",
     ("query @ np.swapaxes(key, -1, -2)", "query @ key"))

slip("dot_product_scores", "dot_all_axes_transposed",
     "With a batch, the key's axes end up in the wrong order, so it works for one sentence only.",
     "A batch of keys (2, 5, 3) has to become (2, 3, 5): the last two axes change places, and the batch "
     "stays in front. What does yours become? (`.T` reverses *all* axes. In a batch, axis numbers counted "
     "from the front mean other axes.)",
     ("query @ np.swapaxes(key, -1, -2)", "query @ key.T"))

slip("dot_product_scores", "general_ignored", "The matrix w has no effect.",
     "You are given a matrix, but it does not reach the scores. It stands between query and key, and brings "
     "the query to the key's length.",
     ("    if w is not None:\n"
      "        query = query @ w\n",
      ""))

slip("dot_product_scores", "general_turned_round",
     "The matrix w is transposed, or multiplies the wrong side.",
     "The matrix has a row for each feature of the *query* and a column for each feature of the *key*. You "
     "use it the other way round. Write the three shapes side by side: the inner sizes must be equal.",
     ("query = query @ w", "query = query @ w.T"))

slip("dot_product_scores", "dot_scaled",
     "The scores are divided by the square root of the number of features.",
     "This is right in lab 02, but too early here. Luong's scores are not scaled, and the docstring asks for "
     "unscaled scores.",
     ("query @ np.swapaxes(key, -1, -2)", "query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])"))

slip("dot_product_scores", "cosine", "The lengths of the vectors are divided out, which gives cosines.",
     "You divide by the lengths, which gives a cosine. In a dot product the lengths count: a query twice as "
     "long gets scores twice as large.",
     ("    return query @",
      "    query = query / np.linalg.norm(query, axis=-1, keepdims=True)\n"
      "    key = key / np.linalg.norm(key, axis=-1, keepdims=True)\n"
      "    return query @"))

slip("dot_product_scores", "dot_with_softmax",
     "The weights are returned instead of the scores: there is one softmax too many.",
     "You go one step too far: the softmax comes in the next exercise. Scores may be negative and do not "
     "have to sum to 1.",
     ("query @ np.swapaxes(key, -1, -2)", "softmax(query @ np.swapaxes(key, -1, -2))"))

slip("dot_product_scores", "dot_rows_are_keys", "The scores have a row for each key instead of each query.",
     "Rows and columns are exchanged. There must be a row for each query and a column for each key. Which of "
     "the two gives your result its rows?",
     ("query @ np.swapaxes(key, -1, -2)", "key @ np.swapaxes(query, -1, -2)"))

slip("dot_product_scores", "dot_entry_by_entry",
     "Queries and keys are multiplied entry by entry, as if they came in pairs.",
     "`*` multiplies entry by entry: query 0 with key 0, and so on. But every query has to be compared with "
     "every key. That takes a matrix product.",
     ("query @ np.swapaxes(key, -1, -2)", "(query * key).sum(-1)"))


# ---------------------------------------------------------------------------------- attend

slip("attend", "shared_out_over_queries", "The softmax runs over the queries instead of the keys.",
     "Each *query* shares out its attention over the keys, so each row of the weights should sum to 1. In "
     "yours, each column does. Which axis of the scores counts the keys?",
     ("dot_product_scores(query, key))", "dot_product_scores(query, key), axis=-2)"))

slip("attend", "scores_as_weights", "The scores are used as weights, without a softmax.",
     "The scores say how well a key fits, but they are not shares: they can be negative, and do not sum to "
     "1. One step is missing.",
     ("softmax(dot_product_scores(query, key))", "dot_product_scores(query, key)"))

slip("attend", "context_from_scores", "The context is computed with the scores instead of the weights.",
     "Your weights are right, but you compute the context with the raw scores. Weight the values by the "
     "result of the softmax.",
     ("weights @ value", "dot_product_scores(query, key) @ value"))

slip("attend", "divided_by_the_sum", "The scores are divided by their sum, without exp.",
     "Dividing scores by their sum does not turn them into shares: some scores are negative, and the sum can "
     "be close to 0. The softmax takes exp first.",
     ("softmax(dot_product_scores(query, key))",
      "dot_product_scores(query, key)\n"
      "    weights = weights / weights.sum(-1, keepdims=True)"))

slip("attend", "attend_scaled", "The scores are divided by the square root of the number of features.",
     "This is right in lab 02, but too early here. The scores of this lab are not scaled.",
     ("dot_product_scores(query, key)", "dot_product_scores(query, key) / np.sqrt(key.shape[-1])"))

slip("attend", "keys_averaged", "The keys are averaged instead of the values.",
     "A word is found by its key. What it passes on once it has been found is a different argument.",
     ("weights @ value", "weights @ key"))

slip("attend", "best_key_only", "Each query takes only the value of its best key.",
     "You take the value of the best key and drop the rest: that is a hard look-up. Attention is a soft "
     "look-up, in which every value has a share. (A hard choice also has no gradient that training could "
     "use.)",
     ("softmax(dot_product_scores(query, key))",
      "dot_product_scores(query, key)\n"
      "    weights = (weights == weights.max(-1, keepdims=True)).astype(float)"))

slip("attend", "context_and_weights_swapped", "Context and weights are exchanged.",
     "The caller tells the results apart only by the order in which you return them. Compare the order in "
     "the docstring with yours.",
     ("return context, weights", "return weights, context"))

slip("attend", "exp_overflows", "For large scores an exponential overflows or becomes 0.",
     "exp of a score near 1000 is too large for a float, and infinity divided by infinity is NaN. Near -1000 "
     "it is 0, and 0 divided by 0 is NaN, too. The course's `softmax` avoids that. If you write your own, "
     "first subtract the largest score of each row.",
     ("softmax(dot_product_scores(query, key))",
      "np.exp(dot_product_scores(query, key))\n"
      "    weights = weights / weights.sum(-1, keepdims=True)"))

slip("attend", "one_portion_for_all",
     "The softmax runs over the whole table of a sentence instead of each row.",
     "All queries of a sentence share one portion of attention: the whole table sums to 1. Every query "
     "should have its own portion.",
     ("softmax(dot_product_scores(query, key))",
      "dot_product_scores(query, key)\n"
      "    weights = softmax(weights.reshape(*weights.shape[:-2], -1)).reshape(weights.shape)"))


# ---------------------------------------------------------------------------------- reweight


@misconception(
    "reweight",
    "The products are not yet shares: they can be negative and do not sum to 1. What turns scores into shares?",
)
def products_as_weights(x):
    """The dot products are used as weights, without a softmax."""
    weights = x @ np.swapaxes(x, -1, -2)
    return weights @ x, weights


@misconception(
    "reweight",
    "The table of products is symmetric, so this is easy to miss: in yours, each column sums to 1. Word i "
    "shares out *its* attention over all j, and that is row i.",
)
def reweight_along_the_columns(x):
    """Each column of the weights sums to 1 instead of each row."""
    weights = softmax(x @ np.swapaxes(x, -1, -2), axis=-2)
    return weights @ x, weights


@misconception(
    "reweight",
    "You should average the words that word i looks at, x_j, each with its weight. (If you multiply the "
    "weights by x_i instead, x_i itself comes out again, because the weights sum to 1.)",
)
def weighs_itself(x):
    """Every word stays as it was: y is x."""
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
    "You compare features with features, in a table of shape (d, d). Words are rows, so the table you need "
    "has a row and a column for each *word*.",
)
def features_compared(x):
    """Features are compared with features instead of words with words."""
    weights = softmax(np.swapaxes(x, -1, -2) @ x)
    return x @ weights, weights


@misconception(
    "reweight",
    "You divide by the lengths of the words, which gives cosines. The formula has plain dot products, so a "
    "long vector counts more.",
)
def cosines_compared(x):
    """Cosines are used instead of dot products."""
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
    "Adding the word to the average is a residual connection. Transformers have one around their attention (lab 05), but this formula has none.",
)
def residual_added(x):
    """The word itself is added to the average."""
    weights = softmax(x @ np.swapaxes(x, -1, -2))
    return x + weights @ x, weights


@misconception(
    "reweight",
    "You give every word an equal share, which is the mean. How much word j counts for word i should depend "
    "on their dot product.",
)
def plain_mean(x):
    """Every word gets the same weight."""
    weights = np.full((*x.shape[:-1], x.shape[-2]), 1 / x.shape[-2])
    return weights @ x, weights


# ---------------------------------------------------------------------------------- layer_cost

slip("layer_cost", "operations_exchanged",
     "The operations of self-attention and of the recurrent layer are swapped.",
     "You have confused the two. Self-attention compares every *position* with every other by a dot product. "
     "A recurrent layer multiplies by a *matrix* at each position.",
     ("return n * n * d,", "return n * d * d,"), ("return n * d * d,", "return n * n * d,"))

slip("layer_cost", "averaging_counted",
     "The operations of self-attention are twice as many as asked for, as if the averaging counted, too.",
     "Your number would be right for both products of self-attention, comparing and averaging. The docstring "
     "leaves out the second one, because O() ignores constant factors.",
     ("return n * n * d,", "return 2 * n * n * d,"))

slip("layer_cost", "kernel_forgotten",
     "The kernel's width is missing from the operations of the convolutions.",
     "A convolution of width 3 has three matrices, one for each place it sees. It multiplies by all of them "
     "at each position, but you count only one.",
     ("kernel * n * d * d", "n * d * d", 2))

slip("layer_cost", "one_number_a_feature",
     "The convolutions are counted with d instead of d² multiplications per place.",
     "You multiply each feature by one number (a *depthwise* convolution). Here each of a position's d new "
     "features is computed from all d old ones. That takes a (d, d) matrix.",
     ("kernel * n * d * d", "kernel * n * d", 2))

slip("layer_cost", "attention_takes_logarithmic_steps",
     "Self-attention gets a path that grows like the logarithm of n.",
     "The logarithm belongs to the dilated convolutions. In self-attention, every output reads every input "
     "directly. How many steps is that?",
     ("n * n * d, 1, 1", "n * n * d, 1, max(1, int(np.ceil(np.log2(n))))"))

slip("layer_cost", "recurrent_in_one_step", "The recurrent layer gets a single sequential step.",
     "A recurrent layer cannot compute state 5 before state 4. Each position has to wait for the one before "
     "it.",
     ("d * d, n, n", "d * d, 1, n"))

slip("layer_cost", "gaps_counted",
     "The path of the recurrent layer is n - 1 instead of n.",
     "n - 1 is the number of gaps between the states. The docstring counts the states themselves, including "
     "the first and the last. In the figure, the path begins at the input below the first state.",
     ("d * d, n, n", "d * d, n, n - 1"))

slip("layer_cost", "convolution_sees_everything",
     "Convolutions get a path of 1, as if one layer saw the whole sequence.",
     "One convolutional layer sees only a few neighbours. How many layers must you stack before the last "
     "position has heard from the first?",
     ("max(1, -(-(n - 1) // (kernel - 1)))", "1"), ("d * d, 1, layers", "d * d, 1, 1"))

slip("layer_cost", "reaches_a_whole_kernel_back",
     "The path of ordinary convolutions is n / kernel, rounded up.",
     "A kernel of width 3 sees its own position and *two* before it, so each layer reaches two places "
     "further back. The first of n positions is n - 1 places away. Count both in the figure.",
     ("max(1, -(-(n - 1) // (kernel - 1)))", "-(-n // kernel)"))

slip("layer_cost", "rounded_down", "The number of layers is rounded down.",
     "You round down, so the stack ends just before it reaches the first word. If you need two and a half "
     "layers, you need three.",
     ("-(-(n - 1) // (kernel - 1))", "(n - 1) // (kernel - 1)"),
     ("while kernel**layers < n", "while kernel ** (layers + 1) <= n"))

slip("layer_cost", "dilated_like_ordinary", "The dilated stack gets the path of the ordinary one.",
     "In a dilated stack, the gaps get wider from layer to layer. So each layer lets the stack see several "
     "times as far as before, not just a few places further.",
     ("d * d, 1, layers", "d * d, 1, max(1, -(-(n - 1) // (kernel - 1)))"))

slip("layer_cost", "one_layer_too_many",
     "The dilated stack is one layer too tall at exact powers of the kernel.",
     "At exact powers of the kernel, you ask for one layer too many. Three layers of width 3 see 27 "
     "positions, which is enough for n = 27.",
     ("kernel**layers < n", "kernel**layers <= n"))

slip("layer_cost", "no_layer_for_one_position", "For a single position the path of the convolutions is 0.",
     "For a single position, you return 0 layers. There is always at least one, as the docstring says.",
     ("max(1, -(-(n - 1) // (kernel - 1)))", "-(-(n - 1) // (kernel - 1))"), ("layers = 1", "layers = 0"))

slip("layer_cost", "key_error_for_unknown_kinds", "An unknown kind raises KeyError.",
     "A dictionary raises KeyError when you ask it for a key it does not have. The docstring promises a "
     "ValueError that names the kind, so check the kind first.",
     ('raise ValueError(f"unknown kind of layer: {kind!r}")', "raise KeyError(kind)"))

slip("layer_cost", "unknown_kind_not_named", "The ValueError does not name the unknown kind.",
     "You refuse the unknown kind, as you should. The message must also say which kind it was, or its reader has to search for it.",
     ('raise ValueError(f"unknown kind of layer: {kind!r}")', 'raise ValueError("unknown kind of layer")'))

slip("layer_cost", "unknown_kinds_accepted", "An unknown kind gets an answer instead of a ValueError.",
     "What happens to a kind that does not exist? Does your last branch catch all other kinds? Then a typing "
     "mistake gives wrong numbers, and nobody notices. The docstring promises a ValueError.",
     ('raise ValueError(f"unknown kind of layer: {kind!r}")', 'return layer_cost("dilated", n, d, kernel)'))
