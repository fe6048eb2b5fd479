# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 03: multi-head attention
#
# In *Jane visite l'Afrique en septembre*, *visite* wants to know **who** and **when**. In lab 02 both questions shared one row of weights: what *Jane* gained,
# *septembre* lost. **Multi-head attention** gives each its own.
#
# **You need** lab 02 and a little PyTorch.
#
# <details><summary>What you can do after this lab, and its exercises</summary>
#
# **After this lab you can**
#
# - say what a head is, and what it is not;
# - turn a loop over heads into one computation, with `reshape` and a swap of axes, and say why `reshape` alone goes wrong;
# - explain what $W^O$ is for;
# - count the parameters of multi-head attention, and say when extra heads cost nothing;
# - write it as a PyTorch module that agrees with PyTorch's, Keras's and a pretrained encoder's own;
# - measure what a head looks at before you give it a name.
#
# | # | exercise | difficulty | importance | minutes | points |
# |---|---|---|---|---|---|
# | 1 | `multi_head_attention_loop` | ●●●○○ | ●●●●○ | 12 | 4 |
# | 2 | `split_heads` | ●●○○○ | ●●●●● | 8 | 3 |
# | 3 | `merge_heads` | ●●○○○ | ●●●●○ | 4 | 2 |
# | 4 | `multi_head_attention` | ●●●○○ | ●●●●● | 10 | 4 |
# | 5 | `MultiHeadAttention` | ●●●●○ | ●●●●● | 20 | 6 |
# | 6 | `count_parameters` | ●●○○○ | ●●●○○ | 5 | 2 |
#
# Before some results a question asks what you expect. Choose first, then run the cell. Nothing is recorded, and a wrong guess makes the result stick.
# </details>
#
# **Time:** about 125 minutes, in three sittings; the computer needs {measured_seconds} seconds.
#
# **The core path** is sections 1 to 4, about 53 minutes, plus 8 minutes for the review quiz.
#
# The next cell takes your own attention and softmax if they pass their checks.

# %%
import numpy as np
import torch
from torch import nn

from course_utils import inputs_of
from course_utils.yours import scaled_dot_product_attention, softmax

np.set_printoptions(precision=3, suppress=True)
torch.set_num_threads(1)  # matrices as small as these gain nothing from a second core

# %% [markdown]
# You are here:

# %% tags=["skip-grading"]
from course_utils.plots.whole import show_transformer

show_transformer("multi_head_attention")

# %% [markdown]
# This is where you are going: 72 heads on real text. Each row is a word that looks, each column a word that is looked at. Click on some pictures. Then type *The
# keys to the old cabinet are on the table.* Which heads link *are* to *keys*, and which to *cabinet*?

# %% tags=["skip-grading"]
from course_utils.models.pretrained import read
from course_utils.widgets.heads import head_browser

head_browser(read, "The cat sat on the mat because the mat was warm.",
             heads=((3, 10), (1, 3)))

# %% [markdown]
# ## 1. One attention has one portion to share out
#
# Jane's sentence again, with the numbers of lab 02: four features with names, and matrices made by hand. A query has an entry for each
# of the questions *who?*, *what happens?* and *when?*; a key says which of them a word can answer. $W^V$ is new: a word now passes on its *person*,
# its *action* and its *time*.

# %% tags=["skip-grading"]
from course_utils.widgets.predict import measured, predict

predict("multi_head_attention.two_answers")

# %%
from course_utils.plots.attention import numbers

words = ["Jane", "visite", "l'Afrique", "en", "septembre"]
features = ["person", "action", "place", "time"]
jane = np.array([[1.0, 0.1, 0.0, 0.0],   # Jane
                 [0.1, 1.0, 0.1, 0.0],   # visite
                 [0.0, 0.1, 1.0, 0.1],   # l'Afrique
                 [0.0, 0.0, 0.2, 0.3],   # en
                 [0.0, 0.0, 0.1, 1.0]])  # septembre
questions = ["who?", "what?", "when?"]
w_query = np.array([[0.0, 2.0, 0.5],   # what a person asks
                    [2.0, 0.5, 2.0],   # what an action asks
                    [0.5, 3.0, 2.0],   # what a place asks
                    [0.0, 2.0, 0.0]])  # what a time asks
w_key = np.array([[2.0, 0.0, 0.0],     # a person answers: who?
                  [0.0, 2.0, 0.0],     # an action answers: what happens?
                  [0.0, 0.0, 0.0],     # a place answers none of the three
                  [0.0, 0.0, 2.0]])    # a time answers: when?
w_value = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])

query, key, value = jane @ w_query, jane @ w_key, jane @ w_value
found, weights = scaled_dot_product_attention(query, key, value)
numbers("weights of one attention (each row is a word that looks)",
        words, weights, words)
numbers("what each word finds", words, found, ["person", "action", "time"])

# %% tags=["skip-grading"]
measured("multi_head_attention.two_answers", shown=weights[1, [0, 4]].min() < 0.5)

# %% [markdown]
# Look at the row of *visite*. It has found *Jane* (0.36) and *septembre* (0.41), so it got 0.37 of a person and 0.43 of a time. No choice of matrices
# can give both of them a *weight* of 0.9: a row sums to 1. (What it *finds* could be made larger, with larger values. Then everything in the row
# gets larger, including the 0.16 of an action.) If both answers are of the same kind, two digits for example, only their mix is left. How much of two answers can
# still be read from a mix? An experiment can tell: section 7.
#
# ## 2. A head for each question
#
# Now cut `query`, `key` and `value` into columns. Column 0 is the question *who?*, and only that. Give each column its own softmax:

# %%
for column, question in enumerate(questions):
    # d_k is 1 here, and its root too
    shares = softmax(np.outer(query[:, column], key[:, column]))
    numbers(f"{question} (each row is a word that looks)", words, shares, words)
    print(f"visite finds {shares[1] @ value[:, column]:.2f}")

# %% [markdown]
# The row of *visite* has become three rows. *who?* gives *Jane* 0.93, and *when?* gives *septembre* 0.92: both at once. The same numbers went in.
# The three questions are no longer added up before the softmax. (Is that the reason, or is it only that the scores are no longer divided by √3? *Find
# the missing control*, below, shows which.)
#
# A small attention like this is called a **head**. If a word does not ask a head's question, its row in that head is nearly flat: see *septembre* in
# the head *who?*.
#
# If you know convolutional networks, you have met this idea: a head is to attention what a **filter** is to a convolution. A layer has many of
# them side by side. Each sees the same input with weights of its own, so one can respond to vertical edges and another to green, or here one to *who?* and
# another to *when?*. Nobody assigns these jobs; training does. And what they find is put side by side and mixed. One thing differs: a filter looks at fixed
# places, such as the pixel to the left. A head works out from the words **where** to look, be it next door or twenty words away.
#
# **Discuss with a neighbour,** or write two sentences. In *The keys to the old cabinet are on the table*, which words does *are* need, and for what?
# And in *Elle est arrivée hier, la lettre*? Which heads would you give a translator? Then ask the head browser at the top about **gender**: *The king told the queen that
# she was late.* Does any head link *she* to the *queen*? (With 72 heads to choose from, some head will fit any one sentence.)
#
# In general a head has $d_k$ columns of $W^Q$ and $W^K$, and $d_v$ columns of $W^V$: its own projections, into its own small space. With $W_i^Q$ for
# the columns of head $i$, and $x$ the words that ask and $m$ the words that answer (Vaswani et al. 2017, section 3.2.2):
#
# $$\mathrm{head}_i = \mathrm{Attention}(x\,W_i^Q,\; m\,W_i^K,\; m\,W_i^V)$$
# $$\mathrm{MultiHead}(x, m) = \mathrm{Concat}(\mathrm{head}_1, \ldots, \mathrm{head}_h)\,W^O$$
#
# `Concat` puts the heads side by side: a row of `num_heads` × `d_v` numbers for each word. The fourth matrix, $W^O$, mixes them and brings the row
# back to `d_model` numbers.
#
# Follow one word through it. This example has two heads of two columns: *who does what?* and *when and where?* Choose a step, then a head: you see which
# columns of $W^Q$ and which rows of $W^O$ belong to it.

# %% tags=["skip-grading"]
from course_utils.widgets.head_columns import head_columns

head_columns(
    words, jane,
    # queries: who? what? | when? where?
    w_query=np.array([[0, 3, 1, 1], [3, 1, 3, 3], [1, 3, 3, 0], [0, 3, 0, 1]]),
    w_key=np.array([[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 2], [0, 0, 2, 0]]),
    # values: person, action | time, place; and back to where they belong
    w_value=np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]),
    w_output=np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]),
    num_heads=2, features=features, word=1,
)

# %% [markdown]
# ### Exercise 1: `multi_head_attention_loop`
#
# Write exactly this, head by head. The matrices contain all heads: the first $d_k$ columns of `w_query` belong to head 0, the next $d_k$ to
# head 1, and so on; `w_key` and `w_value` likewise. As in lab 02's cross-attention, `x` asks and `memory` answers; in self-attention both are
# the same words. (If you left those sections of lab 02 for later: `x` gives the queries, `memory` the keys and the values.)
#
# Attention itself is a building block now: the set-up cell has `scaled_dot_product_attention`, yours or ours. Your task is
# the rest, so PyTorch's or Keras's ready-made multi-head attention earns no points in this lab.

# %% nbgrader={"grade": false, "grade_id": "multi_head_attention_loop", "locked": false, "schema_version": 3, "solution": true, "task": false}
def multi_head_attention_loop(
    x: np.ndarray,
    memory: np.ndarray,
    w_query: np.ndarray,
    w_key: np.ndarray,
    w_value: np.ndarray,
    w_output: np.ndarray,
    num_heads: int,
    mask: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Multi-head attention, one head after the other (Vaswani et al. 2017, section
    3.2.2).

    Args:
        x: the words that ask, (..., q_len, d_model): one sentence, or a batch.
        memory: the words that answer, (..., k_len, d_model).
        w_query, w_key: (d_model, num_heads * d_k); head i has columns i * d_k to
            (i + 1) * d_k - 1.
        w_value: (d_model, num_heads * d_v); head i has columns i * d_v to
            (i + 1) * d_v - 1.
        w_output: (num_heads * d_v, d_model).
        num_heads: number of heads.
        mask: booleans that broadcast to (..., q_len, k_len), the same for all heads;
            True = may attend.

    Returns:
        output (..., q_len, d_model) and weights (..., num_heads, q_len, k_len). A query
        that may look at nothing gets weights 0, and so output 0.
    """
    outputs, weights_of_heads = [], []
    for head in range(num_heads):
        # 1. Query, key and value of this head, computed with its columns of the
        # matrices.
        ### BEGIN SOLUTION
        d_k, d_v = w_query.shape[1] // num_heads, w_value.shape[1] // num_heads
        own, own_values = (slice(head * d_k, head * d_k + d_k),
                           slice(head * d_v, head * d_v + d_v))
        query = x @ w_query[:, own]
        key = memory @ w_key[:, own]
        value = memory @ w_value[:, own_values]
        ### END SOLUTION
        # 2. Its attention. Add output and weights to the two lists.
        ### BEGIN SOLUTION
        attended, shares = scaled_dot_product_attention(query, key, value, mask)
        outputs.append(attended)
        weights_of_heads.append(shares)
        ### END SOLUTION
    # 3. The heads side by side, mixed by w_output (..., q_len, d_model).
    ### BEGIN SOLUTION
    output = np.concatenate(outputs, axis=-1) @ w_output
    ### END SOLUTION
    # 4. The weights of all heads in one array (..., num_heads, q_len, k_len).
    ### BEGIN SOLUTION
    weights = np.stack(weights_of_heads, axis=-3)
    ### END SOLUTION
    return output, weights

# %% [markdown]
# <details><summary>Hint 1: how many columns does a head have?</summary>
#
# `w_query` has `num_heads` × `d_k` columns, and you know `num_heads`. Divide whole numbers with `//`. Do not rely on `d_k` and `d_v` being equal.
# </details>
# <details><summary>Hint 2: some columns of a matrix</summary>
#
# `matrix[:, start:stop]` takes all rows, and the columns from `start` up to, but not including, `stop`.
# </details>
# <details><summary>Hint 3: side by side, or stacked?</summary>
#
# `np.concatenate` joins arrays along an existing axis: rows get longer. `np.stack` adds a new axis. For the weights: the new axis is
# the third from the right, whether there is a batch or not.
# </details>
# <details><summary>Hint 4: one case fails and I cannot see why</summary>
#
# `case = inputs_of("multi_head_attention.multi_head_attention_loop", case=1)` gives you its inputs. Call your function with `**case` and print shapes along
# the way.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_multi_head_attention_loop", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("multi_head_attention.multi_head_attention_loop")

# %% [markdown]
# Here is Jane's sentence with your function and three heads. $W^O$ is made by hand, too: it sends what each head found to the feature where it
# belongs.

# %%
w_output = np.array([[1.0, 0.0, 0.0, 0.0],   # what "who?" found goes to: person
                     [0.0, 1.0, 0.0, 0.0],   # what "what?" found: action
                     [0.0, 0.0, 0.0, 1.0]])  # what "when?" found: time
output, by_head = multi_head_attention_loop(jane, jane, w_query, w_key, w_value,
                                            w_output, num_heads=3)
sharper = softmax(query @ key.T) @ value  # one attention, not divided by √3
numbers("l'Afrique, before and after",
        ["x", "three heads", "one attention", "one attention, not divided"],
        np.stack([jane[2], output[2], found[2] @ w_output, sharper[2] @ w_output]),
        features)

# %% tags=["skip-grading"]
from course_utils.plots import show_figure
from course_utils.plots.attention import heatmaps_side_by_side

show_figure(
    heatmaps_side_by_side(dict(zip(questions, by_head, strict=True)), words, words),
    alt="Three heat maps of 5 by 5 weights. In the head who?, visite looks at Jane; in "
    "the head what?, nearly every word looks at visite; in the head when?, visite and "
    "l'Afrique look at septembre.",
)

# %% [markdown]
# *l'Afrique* came in as a place and little else. Its three heads found an action (0.99) and a time (0.93). With one attention these were 0.71 and
# 0.20 (section 1). If its scores are not divided by √3 either, they are 0.89 and 0.10. One row of weights has to serve both questions. (Lab 05
# adds the word's own vector to what its heads found, so the place is not lost.)
#
# ### Find the missing control
#
# The claim: *visite* reaches both of its answers because each question has a head of its own. Somebody objects: "A head divides its scores by
# √1, your one attention by √3. Larger scores make a sharper softmax. That is all."

# %% tags=["skip-grading"]
from course_utils.widgets.controls import find_the_control


def three_heads(sentence: list[str], asks: str, value: np.ndarray = w_value) -> list:
    """Weights that a word gives in the heads who? and when?, and what it finds."""
    x = np.array([jane[words.index(word)] for word in sentence])
    found, by_head = multi_head_attention_loop(x, x, w_query, w_key, value,
                                               w_output, num_heads=3)
    row, who, when = (sentence.index(word) for word in (asks, "Jane", "septembre"))
    return [f"three heads, {asks}", f"{by_head[0, row, who]:.2f}",
            f"{by_head[2, row, when]:.2f}",
            *(f"{number:.2f}" for number in found[row, [0, 3]])]


def one_attention(factor: float, name: str) -> list[str]:
    """The same of one attention whose scores are multiplied by a factor."""
    shares = softmax(factor * query @ key.T)
    person, _, moment = shares[1] @ value
    return [name, f"{shares[1, 0]:.2f}", f"{shares[1, 4]:.2f}",
            f"{person:.2f}", f"{moment:.2f}"]


find_the_control(
    "multi_head_attention.both_at_once",
    ["", "weight of Jane", "of septembre", "finds person", "finds time"],
    [one_attention(1 / 3**0.5, "one attention, visite"), three_heads(words, "visite")],
    [lambda: [three_heads(words[::-1], "visite")],
     lambda: [three_heads(words, "visite", 2 * w_value)],
     lambda: [one_attention(1, "one attention, not divided"),
              one_attention(3, "one attention, times 3")],
     lambda: [three_heads(words, "l'Afrique")]],
)

# %% [markdown]
# ### What the output matrix does
#
# Set all rows of $W^O$ except those of one head to zero, and only that head has an effect. Do this for each head in turn, and add up the results:

# %%
parts = []
for head in range(3):
    only_this = np.zeros_like(w_output)
    only_this[head] = w_output[head]  # d_v is 1: one row per head
    parts.append(multi_head_attention_loop(jane, jane, w_query, w_key, w_value,
                                           only_this, num_heads=3)[0])
of_visite = np.array([*(part[1] for part in parts), sum(parts)[1]])
numbers("visite", [*(f"head {question} alone" for question in questions), "the sum"],
        of_visite, features)
print("equal to all heads at once:", np.allclose(sum(parts), output))

# %% [markdown]
# So multi-head attention is a *sum* over heads, each with its own rows of $W^O$. Here each head writes to its own feature. A learned $W^O$ lets every head
# write to every feature: this combines what different heads found.
#
# ### Does a head see only a piece of the word? (optional)
#
# "The heads cut the embedding into pieces, one for each head." You can read that in many places, but it is not what you wrote. The words are
# *projected* first, and each column of $W^Q$ reads **every** feature of a word. To test it, change feature 0 of one word, and see which heads notice.

# %% tags=["skip-grading"]
predict("multi_head_attention.pieces")

# %%
rng = np.random.default_rng(0)
x = rng.standard_normal((5, 8))
random_weights = [rng.standard_normal(shape) / 3
                  for shape in [(8, 12), (8, 12), (8, 12), (12, 8)]]
changed = x.copy()
changed[2, 0] += 1
_, before = multi_head_attention_loop(x, x, *random_weights, num_heads=4)
_, after = multi_head_attention_loop(changed, changed, *random_weights, num_heads=4)
print("largest change of a weight in each of the 4 heads:",
      np.abs(after - before).max(axis=(1, 2)))

# %% tags=["skip-grading"]
measured("multi_head_attention.pieces",
         shown=(np.abs(after - before).max(axis=(1, 2)) > 0).all())

# %% [markdown]
# All four heads notice. If the embedding had been cut up (features 0 and 1 for the first head), three of the four numbers would be 0.
#
# Note also that the heads need not fit into `d_model`: here 4 heads of 3 features make 12 columns, and `d_model` is 8. Making `num_heads` × `d_k`
# equal to `d_model` is a choice (a good one: section 6).
#
# ## 3. From a loop to one product
#
# With heads of three columns, your loop projects with `w_query[:, :3]`, then with `w_query[:, 3:6]`, and so on. But `x @ w_query` does all of that in one product: the heads' queries are then side
# by side in each word's row. The rest is bookkeeping: giving the heads their own axis.
#
# Attention works on the last two axes and leaves the leading ones alone (lab 02). So the axis of the heads must come **before** words and features:
# (..., num_heads, seq_len, d_k). Then one call handles all heads of all sentences.
#
# Three words *a*, *b*, *c* have six features each, and there are two heads. Would `reshape` alone do it?

# %% tags=["skip-grading"]
predict("multi_head_attention.reshape_alone")

# %% [markdown]
# This picture is your target, with one colour per head:

# %% tags=["skip-grading"]
from course_utils.plots.heads import split_figure

show_figure(
    split_figure(seq_len=3, num_heads=2, d_k=3),
    alt="A table of three words with six features each. Split: head 0 has the first "
    "three features of all words, head 1 the last three. Below, a reshape alone: head "
    "0 has all of word a and half of word b.",
)
first = np.arange(18).reshape(2, 3, 3)[0]  # 0 to 5 are word a, 6 to 11 word b
measured("multi_head_attention.reshape_alone",
         shown=(first.ravel() == np.arange(9)).all())

# %% [markdown]
# The last row is the most common mistake in this lab. `reshape` never moves a number: it reads the table straight through, word after word, and cuts it into new
# rows. The shape comes out right, no error is raised, and head 0 holds *a0 … a5* and half of *b*. A model built this way even trains; nothing warns you.
#
# ### Exercise 2: `split_heads`
#
# There are two steps. Cut each word's row into heads, in place: (..., seq_len, num_heads, d_k). Then swap the axes of words and heads.

# %% nbgrader={"grade": false, "grade_id": "split_heads", "locked": false, "schema_version": 3, "solution": true, "task": false}
def split_heads(x: np.ndarray, num_heads: int) -> np.ndarray:
    """Gives the heads their own axis.

    Args:
        x: projected words, (..., seq_len, num_heads * d_k); any number of leading axes,
            even none.
        num_heads: number of heads.

    Returns:
        (..., num_heads, seq_len, d_k). Head i has features i * d_k to (i + 1) * d_k - 1
        of every word.
    """
    # 1. Each word's row cut into heads, (..., seq_len, num_heads, d_k).
    ### BEGIN SOLUTION
    by_word = x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads)
    ### END SOLUTION
    # 2. Heads before words.
    ### BEGIN SOLUTION
    return np.swapaxes(by_word, -3, -2)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: reshape with any number of leading axes</summary>
#
# `x.shape[:-1]` is the shape without its last axis. `*` unpacks it among other arguments: with x of shape (2, 5, 6), `(*x.shape[:-1], 3, 2)` is (2, 5, 3, 2).
# </details>
# <details><summary>Hint 2: swap two axes, whatever comes before them</summary>
#
# `np.swapaxes(array, a, b)` swaps two axes. If you count axes from the right, with minus signs, their numbers do not depend on the batch.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_split_heads", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("multi_head_attention.split_heads")

# %% [markdown]
# ### Exercise 3: `merge_heads`
#
# This is the way back: it puts what the heads found side by side again in each word's row. The steps are the same two in reverse order.

# %% nbgrader={"grade": false, "grade_id": "merge_heads", "locked": false, "schema_version": 3, "solution": true, "task": false}
def merge_heads(heads: np.ndarray) -> np.ndarray:
    """Puts the heads side by side: undoes `split_heads`.

    Args:
        heads: (..., num_heads, seq_len, d_v); any number of leading axes, even none.

    Returns:
        (..., seq_len, num_heads * d_v): in each word's row, all of head 0, then all of
        head 1, and so on.
    """
    ### BEGIN SOLUTION
    by_word = np.swapaxes(heads, -3, -2)
    return by_word.reshape(*by_word.shape[:-2], by_word.shape[-2] * by_word.shape[-1])
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint: the shape is right, but the check still fails</summary>
#
# Then you have probably used `reshape` alone. It joins neighbouring axes. Which two must be neighbours before you join them?
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_merge_heads", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("multi_head_attention.merge_heads")

# %% [markdown]
# Here is the round trip with numbers that you can follow: the tens digit is the word, the units digit the feature.

# %%
table = np.array([[10, 11, 12, 13, 14, 15],
                  [20, 21, 22, 23, 24, 25],
                  [30, 31, 32, 33, 34, 35]])
split = split_heads(table, num_heads=2)
print("head 0", *split[0], "head 1", *split[1], sep="\n")
print("merged:", merge_heads(split), sep="\n")
print("as it was:", np.array_equal(merge_heads(split), table))

# %% [markdown]
# ## 4. All heads at once
#
# ### Exercise 4: `multi_head_attention`
#
# Project with the whole matrices, split, attend once, merge, mix. No loop is needed. (The check compares numbers and would accept a loop. The
# measurement below would reveal it.)
#
# One thing needs thought: the mask, which is True where a word may be looked at, and False at padding. It broadcasts to (..., q_len,
# k_len), and knows nothing of heads. But the scores are (..., num_heads, q_len, k_len). Broadcasting
# aligns axes **from the right**:
#
# | | | | | |
# |---|---|---|---|---|
# | scores | batch | num_heads | q_len | k_len |
# | a mask (batch, 1, k_len) as it is | | **batch** | 1 | k_len |
# | what you want | batch | **1** | 1 | k_len |
#
# As it is, the mask's batch axis lines up with the heads. Usually that raises an error. If there are as many sentences as heads, it does not: head 2
# of *every* sentence is masked as sentence 2 should be. The check has such a case.

# %% nbgrader={"grade": false, "grade_id": "multi_head_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def multi_head_attention(
    x: np.ndarray,
    memory: np.ndarray,
    w_query: np.ndarray,
    w_key: np.ndarray,
    w_value: np.ndarray,
    w_output: np.ndarray,
    num_heads: int,
    mask: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Multi-head attention, all heads at once. Gives what
    `multi_head_attention_loop` gives.

    Args:
        x: the words that ask, (..., q_len, d_model): one sentence, or a batch.
        memory: the words that answer, (..., k_len, d_model).
        w_query, w_key: (d_model, num_heads * d_k).
        w_value: (d_model, num_heads * d_v).
        w_output: (num_heads * d_v, d_model).
        num_heads: number of heads.
        mask: booleans that broadcast to (..., q_len, k_len), the same for all heads. It
            has two axes (q_len or 1, k_len), or the batch axes before these. True = may
            attend.

    Returns:
        output (..., q_len, d_model) and weights (..., num_heads, q_len, k_len). A query
        that may look at nothing gets weights 0, and so output 0.
    """
    # 1. Project, then split: (..., num_heads, seq_len, d_k or d_v).
    ### BEGIN SOLUTION
    query = split_heads(x @ w_query, num_heads)
    key = split_heads(memory @ w_key, num_heads)
    value = split_heads(memory @ w_value, num_heads)
    ### END SOLUTION
    # 2. An axis for the heads in the mask, if there is one.
    if mask is not None:
        ### BEGIN SOLUTION
        mask = mask[..., np.newaxis, :, :]
        ### END SOLUTION
    # 3. One attention for all heads; merge; mix.
    ### BEGIN SOLUTION
    attended, weights = scaled_dot_product_attention(query, key, value, mask)
    output = merge_heads(attended) @ w_output
    ### END SOLUTION
    return output, weights

# %% [markdown]
# <details><summary>Hint 1: where does the new axis of the mask go?</summary>
#
# Third from the right, before q_len and k_len, with length 1. `np.expand_dims` accepts a negative axis, too; `np.newaxis` in an index does the same.
# </details>
# <details><summary>Hint 2: which sizes does split_heads need?</summary>
#
# Only `num_heads`. It works out d_k itself, and d_v for the values: that is why you can call it for all three.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_multi_head_attention", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("multi_head_attention.multi_head_attention")

# %% [markdown]
# The heads are *equivalent* to a loop, but nobody computes them in one. And a single head is just the attention of lab 02 followed by $W^O$. Here
# are both claims, measured:

# %%
rng = np.random.default_rng(1)
x, memory = rng.standard_normal((2, 5, 8)), rng.standard_normal((2, 7, 8))
matrices = [rng.standard_normal(shape) / 3
            for shape in [(8, 12), (8, 12), (8, 12), (12, 8)]]
allowed = np.ones((2, 1, 7), dtype=bool)
allowed[1, :, 5:] = False  # the second sentence of memory has two words of padding
pairs = zip(multi_head_attention(x, memory, *matrices, 4, allowed),
            multi_head_attention_loop(x, memory, *matrices, 4, allowed), strict=True)
print("loop and parallel differ by at most",
      max(np.abs(one - other).max() for one, other in pairs))

one_head, _ = multi_head_attention(x, memory, *matrices, 1)
plain, _ = scaled_dot_product_attention(x @ matrices[0], memory @ matrices[1],
                                        memory @ matrices[2])
print("one head and plain attention differ by at most",
      np.abs(one_head - plain @ matrices[3]).max())

# %% [markdown]
# How much faster is it? That depends on the sizes and on the machine. Measure it on yours, but guess first:

# %% tags=["skip-grading"]
predict("multi_head_attention.faster")

# %% tags=["skip-grading"]
import time

from course_utils.display import show_table


def milliseconds(function, *arguments, repeats: int = 7) -> np.ndarray:
    """The fastest of some runs, the least disturbed one, and the one in the middle."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return 1000 * np.quantile(times, [0, 0.5])


rng, rows, loops, saved = np.random.default_rng(2), [], [], []
for words, d_model, heads in [(1, 16, 16), (8, 64, 16), (16, 256, 32), (128, 384, 12)]:
    x = rng.standard_normal((1, words, d_model))
    matrices = [rng.standard_normal((d_model, d_model)) / np.sqrt(d_model)
                for _ in range(4)]
    looped = milliseconds(multi_head_attention_loop, x, x, *matrices, heads)
    at_once = milliseconds(multi_head_attention, x, x, *matrices, heads)
    rows.append([f"{words}", f"{heads} of {d_model // heads}",
                 *(f"{best:.2f} ({middle:.2f})" for best, middle in (looped, at_once))])
    loops.append(looped)
    saved.append(looped / at_once)
show_table(["words", "heads", "loop, ms", "at once, ms"], rows)
print(f"hardly anything to compute takes {loops[0][0] / loops[1][0]:.0%} of the loop's "
      "time for 8 words")
measured("multi_head_attention.faster",
         shown=min(saved[1]) > 2 and max(saved[3]) < min(saved[1]) / 1.5)

# %% [markdown]
# Each time is the fastest of seven runs, with the one in the middle in brackets: if the two are far apart, your machine was busy with something else.
#
# The first row is a control. With one word and sixteen heads of a single number there is hardly anything to multiply, so its time is the cost of the
# loop itself. That is most of what the loop needs for 8 words. With a few large heads the products take most of the time, and they are the same
# products in either case. A GPU can do thousands of them at once, if it gets them at once. (This lab does not measure a GPU.)
#
# **A good place for a break.** This is the end of the core path. The second sitting is sections 5 and 6: the module for lab 05, and what heads cost.
# If you go on another day, run the cell at the top first, *Continue here*.
#
# ## 5. As a PyTorch module (before lab 05)
#
# So far you passed in the matrices. A module *owns* them, so that an optimizer can find and train them. Four `nn.Linear` hold them: `nn.Linear(d_in, d_out)` computes
# $x W^\top + b$ (it keeps its weight as (d_out, d_in)), and you call it like a function. As in the paper, $d_k = d_v = d_{model} / h$, so all
# four map `d_model` numbers to `d_model` numbers.
#
# The names change a little, to those that the libraries use. `forward(query, key, value)` gets the words *before* the projections: in self-attention the same sentence three
# times, in cross-attention the decoder's words as `query`, and the encoder's words as both `key` and `value`.
#
# ### Exercise 5: `MultiHeadAttention`
#
# The same computation with tensors; lab 05 builds its Transformer with this class. Create the layers in `__init__`, under the four names in the
# docstring: the check sets their weights by name. Use them in `forward`.
#
# `F.scaled_dot_product_attention` would be a fair building block for the output, but it does not return the weights, and you need them. So compute
# scores and softmax yourself; you may use PyTorch's `softmax`, `masked_fill` and `where`.
#
# **Which axes may a mask have?** The module and the functions above take (q_len, k_len) or (batch, q_len, k_len); an axis has length 1 where the mask is the same for all.
# The mask *never* has an axis for the heads: you add it. Other libraries have other rules, so always read the docstring. Lab 05's layers get masks that have the axis
# already, (batch, 1, q_len, k_len), and PyTorch's own layer takes True for *blocked*.

# %% nbgrader={"grade": false, "grade_id": "MultiHeadAttention", "locked": false, "schema_version": 3, "solution": true, "task": false}
class MultiHeadAttention(nn.Module):
    """Multi-head attention with d_k = d_v = d_model / num_heads (Vaswani et al. 2017,
    section 3.2.2).

    Submodules: w_query, w_key, w_value and w_output, each an nn.Linear from d_model to
    d_model. In the output of the first three, features 0 to d_k - 1 belong to head 0,
    the next d_k to head 1, and so on. There is no dropout.

    Args:
        d_model: features of a word, in and out.
        num_heads: number of heads, a divisor of d_model.
        bias: whether the four linear layers have biases.
    """

    def __init__(self, d_model: int, num_heads: int, bias: bool = True) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(
                f"{d_model} features cannot be divided evenly among {num_heads} heads"
            )
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        # The four linear layers, as attributes with the names above.
        ### BEGIN SOLUTION
        self.w_query = nn.Linear(d_model, d_model, bias=bias)
        self.w_key = nn.Linear(d_model, d_model, bias=bias)
        self.w_value = nn.Linear(d_model, d_model, bias=bias)
        self.w_output = nn.Linear(d_model, d_model, bias=bias)
        ### END SOLUTION

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Lets each query look at all keys, in every head.

        Args:
            query: (batch, q_len, d_model), not projected yet.
            key, value: (batch, k_len, d_model), not projected yet.
            mask: booleans that broadcast to (batch, q_len, k_len), with two or three
                axes, the same for all heads; True = may attend. None allows everything.

        Returns:
            output (batch, q_len, d_model) and weights (batch, num_heads, q_len, k_len).
            A blocked weight is exactly 0; a query that may look at nothing has weights
            0, and so its output is the bias of w_output. Gradients get back from the
            output to query, key, value and every weight.
        """
        # 1. Project, then split: three tensors (batch, num_heads, q_len or k_len, d_k).
        ### BEGIN SOLUTION
        projected = self.w_query(query), self.w_key(key), self.w_value(value)
        q, k, v = (x.reshape(*x.shape[:2], self.num_heads, self.d_k).transpose(1, 2)
                   for x in projected)
        ### END SOLUTION
        # 2. Scaled scores (batch, num_heads, q_len, k_len).
        ### BEGIN SOLUTION
        scores = q @ k.transpose(-1, -2) / self.d_k**0.5
        ### END SOLUTION
        # 3. Block what the mask does not allow. It has no axis for the heads yet.
        if mask is not None:
            ### BEGIN SOLUTION
            mask = mask[..., None, :, :]
            scores = scores.masked_fill(~mask, -1e9)
            ### END SOLUTION
        # 4. Shares; watch out for queries that may look at nothing.
        ### BEGIN SOLUTION
        shares = scores.softmax(dim=-1)
        weights = shares if mask is None else shares.masked_fill(~mask, 0.0)
        ### END SOLUTION
        # 5. Weighted sums, merged (batch, q_len, d_model) and mixed.
        ### BEGIN SOLUTION
        merged = (weights @ v).transpose(1, 2).reshape(query.shape)
        output = self.w_output(merged)
        ### END SOLUTION
        return output, weights

# %% [markdown]
# <details><summary>Hint 1: swapping two axes of a tensor</summary>
#
# `tensor.transpose(1, 2)` swaps axes 1 and 2, like NumPy's `swapaxes`. (NumPy's `transpose` takes the order of all axes; the two are easy to mix up.)
# The matrix product is `@` here, too.
# </details>
# <details><summary>Hint 2: view size is not compatible ... use reshape</summary>
#
# After a transpose the numbers in memory are no longer in the order of the axes. `view` insists on that order; `reshape` copies if it must.
# </details>
# <details><summary>Hint 3: masks</summary>
#
# `tensor.masked_fill(condition, number)` returns a new tensor with `number` wherever `condition` is True. So the condition is what is *blocked*:
# `~mask`. For the heads' axis, use `mask.unsqueeze(-3)` or an index with `None`.
# </details>
# <details><summary>Hint 4: it says that a parameter is missing</summary>
#
# `nn.Module` finds its parameters in its attributes: `self.w_query = nn.Linear(...)` in `__init__`. It does not find layers in a Python list, or layers created later.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_MultiHeadAttention", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("multi_head_attention.MultiHeadAttention")

# %% [markdown]
# ### The same as PyTorch's
#
# `nn.MultiheadAttention` stores the three input matrices as one, stacked on top of each other. Copy your weights into it, and compare. There are two
# traps: its masks use True for *blocked*, and it averages the weights over the heads unless told not to.

# %% tags=["skip-grading"]
torch.manual_seed(0)
ours = MultiHeadAttention(d_model=12, num_heads=3)
theirs = nn.MultiheadAttention(12, 3, batch_first=True)
inputs = [ours.w_query, ours.w_key, ours.w_value]
with torch.no_grad():
    theirs.in_proj_weight.copy_(torch.cat([layer.weight for layer in inputs]))
    theirs.in_proj_bias.copy_(torch.cat([layer.bias for layer in inputs]))
    theirs.out_proj.weight.copy_(ours.w_output.weight)
    theirs.out_proj.bias.copy_(ours.w_output.bias)

x, memory = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
# (batch, k_len): the second sentence is padded
real = torch.tensor([[True] * 7, [True] * 5 + [False] * 2])
with torch.no_grad():
    our_output, our_weights = ours(x, memory, memory, real[:, None, :])
    their_output, their_weights = theirs(
        x, memory, memory, key_padding_mask=~real, average_attn_weights=False
    )
print(f"outputs differ by at most {(our_output - their_output).abs().max():.1e}")
print(f"weights differ by at most {(our_weights - their_weights).abs().max():.1e}")
print("shape of the weights:", tuple(our_weights.shape))

# %% [markdown]
# ### The same as Keras's
#
# In Keras the heads are an axis of the weights: (d_model, num_heads, d_k). That is your matrix, with its columns cut into heads. Its `attention_mask`
# is (batch, q_len, k_len) with True = may attend, like yours.
#
# You will often see `layer(x, x)` or `layer(x, x, x)`. Why is the input given three times? Attention has three roles, and the layer cannot know which
# input plays which. In self-attention one sentence plays all three; in cross-attention the decoder's words ask, and the memory is both key and value, as below. Mind the
# order: it is `layer(query, value, key)`, and without a key, the value serves as key, too. (Keras can compute with PyTorch's tensors; lab
# 06 uses it with TensorFlow.) The collapsed cell
# copies the weights; look at the two differences.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
import os

os.environ["KERAS_BACKEND"] = "torch"  # before Keras is imported
import keras

layer = keras.layers.MultiHeadAttention(num_heads=3, key_dim=4)
layer.build((2, 5, 12), (2, 7, 12))
weights = []
for linear in (ours.w_query, ours.w_key, ours.w_value):
    weights += [linear.weight.T.reshape(12, 3, 4), linear.bias.reshape(3, 4)]
weights += [ours.w_output.weight.T.reshape(3, 4, 12), ours.w_output.bias]
layer.set_weights([array.detach().numpy() for array in weights])
with torch.no_grad():
    keras_output, keras_weights = layer(
        x.numpy(), memory.numpy(),
        attention_mask=real[:, None, :], return_attention_scores=True,
    )
print(f"outputs differ by at most {(our_output - keras_output).abs().max():.1e}")
print(f"weights differ by at most {(our_weights - keras_weights).abs().max():.1e}")

# %% [markdown]
# ## 6. What do more heads cost? (optional)
#
# ### Exercise 6: `count_parameters`
#
# Count the numbers that training may change: the entries of the four matrices and, with `bias`, one number for each output feature of each matrix. Here `d_k` and `d_v` are
# given and need not fit into `d_model`; the shapes are those of exercise 1.

# %% nbgrader={"grade": false, "grade_id": "count_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_parameters(
    d_model: int, num_heads: int, d_k: int, d_v: int, bias: bool = True
) -> int:
    """Number of parameters of multi-head attention.

    Args:
        d_model: features of a word, in and out.
        num_heads: number of heads.
        d_k: features of a head's queries and keys.
        d_v: features of a head's values.
        bias: whether each of the four maps also adds a bias, one number for each
            feature it outputs.

    Returns:
        The entries of W^Q, W^K, W^V and W^O, and of their biases if there are any.
    """
    ### BEGIN SOLUTION
    # what W^Q, W^K and W^V give
    widths = [num_heads * d_k, num_heads * d_k, num_heads * d_v]
    entries = sum(d_model * width for width in widths) + num_heads * d_v * d_model
    return entries + (sum(widths) + d_model if bias else 0)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint: matrix by matrix</summary>
#
# Write the four shapes down, as in the docstring of exercise 1. A matrix (a, b) has a × b entries, and its bias b.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_count_parameters", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("multi_head_attention.count_parameters")

# %% [markdown]
# Now answer the question. Take $d_{model} = 512$, as the paper does, and more and more heads. On the left each head gets its share of the width, $d_k = d_v = 512 / h$,
# and the number is compared with what your module really has. On the right each head keeps 64 features.

# %% tags=["skip-grading"]
from course_utils.display import show_table

rows = []
for heads in [1, 2, 4, 8, 16, 32]:
    share = 512 // heads
    module = MultiHeadAttention(d_model=512, num_heads=heads)
    really = sum(parameter.numel() for parameter in module.parameters())
    by_formula = count_parameters(512, heads, share, share)
    of_64 = count_parameters(512, heads, 64, 64)
    rows.append([f"{heads}", f"{by_formula:,}", f"{really:,}", f"{of_64:,}"])
show_table(["heads", "shared width: formula", "your module", "64 each: formula"], rows)

# %% [markdown]
# With a shared width the number of heads does not matter: the four matrices are the same, they are only *read* in more pieces. Heads are free because
# each of them gets smaller. If they keep their size, they cost what you would expect. (At 8 heads the two columns meet: that is the paper's choice.)
#
# **A good place for a break.** The third sitting, sections 7 to 11, asks for no code: you find out whether heads help, and look into a real encoder.
# If you go on another day, run the cell at the top first, *Continue here*.
#
# ## 7. Do they help? One question or two (optional)
#
# Something that is free may still be useless. Here is a test with the telephone books of lab 02, of six (name, digit) pairs each. Now the query asks
# for **two** names at once, and the model must give both digits in the right order. The models have the same number of parameters in their attention,
# by exercise 6. Only `num_heads` differs. The collapsed cell makes the books; look only at the one that it prints.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
NAMES, DIGITS, PAIRS = 12, 10, 6
# positions of a name, its digit, a second name
FIRST, DIGIT, SECOND = slice(0, 12), slice(12, 22), slice(22, 34)
D_MODEL = 36  # two features stay unused, so that it has many divisors


def telephone_books(
    count: int, source: torch.Generator, noise: float = 0.0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The two names asked for (count, 1, D_MODEL), the pairs (count, PAIRS, D_MODEL),
    the two digits (count, 2). Noise is added to the digits as the pairs show them."""
    one_hot = nn.functional.one_hot
    names = torch.rand(count, NAMES, generator=source).argsort(1)[:, :PAIRS]
    digits = torch.randint(DIGITS, (count, PAIRS), generator=source)
    asked = torch.rand(count, PAIRS, generator=source).argsort(1)[:, :2]
    pairs, question = torch.zeros(count, PAIRS, D_MODEL), torch.zeros(count, 1, D_MODEL)
    pairs[..., FIRST], pairs[..., DIGIT] = (one_hot(names, NAMES),
                                            one_hot(digits, DIGITS))
    pairs[..., DIGIT] += noise * torch.randn(count, PAIRS, DIGITS, generator=source)
    both = one_hot(names.gather(1, asked), NAMES)
    question[:, 0, FIRST], question[:, 0, SECOND] = both[:, 0], both[:, 1]
    return question, pairs, digits.gather(1, asked)


def in_words(question: torch.Tensor, pairs: torch.Tensor) -> tuple[str, list[str]]:
    """One question and its book, in words."""
    book = [f"{row[FIRST].argmax()}: {row[DIGIT].argmax()}" for row in pairs]
    return (f"asks {question[0, FIRST].argmax()} "
            f"and {question[0, SECOND].argmax()}"), book


question, pairs, digits = telephone_books(1, torch.Generator().manual_seed(3))
print(*in_words(question[0], pairs[0]), "right answer:", digits[0].tolist())

# %% tags=["skip-grading"]
predict("multi_head_attention.two_names")

# %% tags=["skip-grading"]
from course_utils.display import show_table

LINEAR = 0  # a reader without a hidden layer


def train(
    num_heads: int, hidden: int, noise: float, seed: int, steps: int = 400
) -> tuple[nn.Module, nn.Module]:
    """Your attention, and a reader of its output that names two digits, trained."""
    torch.manual_seed(seed)
    source = torch.Generator().manual_seed(seed + 1)
    attention = MultiHeadAttention(D_MODEL, num_heads)
    reader = nn.Linear(D_MODEL, 2 * DIGITS)
    if hidden:
        reader = nn.Sequential(nn.Linear(D_MODEL, hidden), nn.ReLU(),
                               nn.Linear(hidden, 2 * DIGITS))
    optimizer = torch.optim.Adam([*attention.parameters(), *reader.parameters()],
                                 lr=0.01)
    for _ in range(steps):
        question, pairs, digits = telephone_books(128, source, noise)
        output, _ = attention(question, pairs, pairs)
        # (2 * count, DIGITS): first and second digit in turn
        logits = reader(output).view(-1, DIGITS)
        loss = nn.functional.cross_entropy(logits, digits.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return attention, reader

# %% tags=["skip-grading"]
@torch.no_grad()
def both_right(attention: nn.Module, reader: nn.Module, noise: float) -> float:
    """Share of 2,000 books, never seen, for which both digits are right."""
    question, pairs, digits = telephone_books(
        2000, torch.Generator().manual_seed(99), noise)
    output, _ = attention(question, pairs, pairs)
    found = reader(output).view(-1, 2, DIGITS).argmax(-1)  # (count, 2)
    return (found == digits).all(dim=1).float().mean().item()


trained, scores = {}, {}


def three_seeds(num_heads: int, hidden: int, noise: float, steps: int = 400) -> str:
    """The least and the greatest share of three trainings."""
    setting = num_heads, hidden, noise
    scores[setting] = []
    for seed in range(3):
        trained[setting] = train(num_heads, hidden, noise, seed, steps)
        scores[setting].append(both_right(*trained[setting], noise))
    ends = (f"{end(scores[setting]):.0%}" for end in (min, max))
    return " to ".join(dict.fromkeys(ends))  # one number if both are the same


rows = [[f"{heads}", three_seeds(heads, LINEAR, 0.0), three_seeds(heads, 128, 0.0)]
        for heads in [1, 2]]
show_table(["heads", "linear reader", "reader with a hidden layer"], rows,
           "Both digits right, three training runs each")
measured("multi_head_attention.two_names",
         shown=max(scores[1, LINEAR, 0.0]) < 0.5 and min(scores[1, 128, 0.0]) > 0.9)
one_head, two_heads = trained[1, 128, 0.0][0], trained[2, LINEAR, 0.0][0]

# %% [markdown]
# Read by one linear layer, one head gets both digits right about one time in five, and two heads always do. That looks like proof
# that a second head is needed. It is not, as the right column shows: give the one head a reader with a hidden layer, and it is always right, too.
#
# How? One head passes on *one* mix of values. But it may lean: much weight on the first name, little on the second. The mix then has a large digit and a small
# one, and a reader that is not linear can take them apart. Here are the weights, for one book and two names asked for:

# %% tags=["skip-grading"]
question, pairs, _ = telephone_books(1, torch.Generator().manual_seed(2))
asked, book = in_words(question[0], pairs[0])
with torch.no_grad():
    _, alone = one_head(question, pairs, pairs)  # (1, 1, 1, PAIRS)
    _, two = two_heads(question, pairs, pairs)  # (1, 2, 1, PAIRS)
show_figure(
    heatmaps_side_by_side(
        {
            "the one head": alone[0, 0].numpy(),
            "head 0 of two": two[0, 0].numpy(),
            "head 1 of two": two[0, 1].numpy(),
        },
        [asked],
        book,
    ),
    alt="Three rows of weights over the six pairs of a book. The one head gives most "
    "of its attention to one of the two names asked for and some to the other; with "
    "two heads, each looks at one of the names.",
)

# %% [markdown]
# So what is a second head good for? The digits in these books were perfectly clean, and in a clean mix even a small share can be read. Real
# vectors are not like that: a word's vector carries many things at once, and for every question the others are noise. Print the books a little less
# clearly, and try again. To be fair to the one head, it also gets a better chance: a reader four times as wide, and four times as many steps.

# %% tags=["skip-grading"]
NOISE = 0.2  # standard deviation; a digit itself is a 1 among zeros
rows = [[f"{heads}", three_seeds(heads, LINEAR, NOISE), three_seeds(heads, 128, NOISE)]
        for heads in [1, 2]]
rows[0].append(three_seeds(1, 512, NOISE, steps=1600))
rows[1].append("not needed")
show_table(["heads", "linear reader", "reader with a hidden layer",
            "4 times as wide, 4 times the steps"], rows,
           "Both digits right in noisy books, three training runs each")

# %% [markdown]
# Now the readers cannot make up for the second head. But perhaps a better one could? Ask the best one possible. It need not learn: it knows the weights and the
# noise, tries all 100 pairs of digits, and takes the likeliest. For the one head, try many ways to lean. The lean may be fixed. It may
# also depend on the digits, since a key is made from the same vector as its value. Then each digit pulls more or less, and the reader knows how much.

# %% tags=["skip-grading"]
def best_reader(lean, seed: int, count: int = 2000) -> float:
    """Share of noisy books for which the likeliest two digits are right.

    lean: digits (n, 2) -> (n, num_heads, 2), what each head gives to the two names."""
    rng, one_hot = np.random.default_rng(seed), np.eye(DIGITS)
    digits = rng.integers(DIGITS, size=(count, 2))
    shown = one_hot[digits] + NOISE * rng.standard_normal((count, 2, DIGITS))
    passed_on = lean(digits) @ shown  # (count, num_heads, DIGITS)
    every = np.stack(np.mgrid[:DIGITS, :DIGITS], -1).reshape(-1, 2)  # (100, 2)
    apart = ((passed_on[:, None] - lean(every) @ one_hot[every]) ** 2).sum(3)
    spread = (lean(every) ** 2).sum(2)  # of the noise that a head passes on
    unlikely = apart / (NOISE**2 * spread) + DIGITS * np.log(spread)
    return (every[unlikely.sum(2).argmin(1)] == digits).all(1).mean()


def leaning(share: float, pull: np.ndarray):
    """One head that gives this share to the first name, or more, or less, as the two
    digits pull, (DIGITS,)."""
    def lean(digits: np.ndarray) -> np.ndarray:
        odds = share / (1 - share) * np.exp(pull[digits[:, 0]] - pull[digits[:, 1]])
        first = odds / (1 + odds)
        return np.stack([first, 1 - first], -1)[:, None]
    return lean

# %% tags=["skip-grading"]
draw, leans = np.random.default_rng(3), np.arange(0.5, 1, 0.05)
pulls = [strength * draw.standard_normal(DIGITS) for strength in [0.2, 0.5, 1, 2] * 3]
ways = {
    "1, a fixed lean": [leaning(share, np.zeros(DIGITS)) for share in leans],
    "1, a lean that depends on the digits": [leaning(share, pull) for share in leans
                                             for pull in pulls],
    "2": [lambda digits: np.tile(np.eye(2), (len(digits), 1, 1))],
}
rows = []
for heads, tried in ways.items():
    best = [max(best_reader(way, seed) for way in tried) for seed in range(3)]
    rows.append([heads, str(len(tried)), f"{min(best):.0%} to {max(best):.0%}"])
show_table(["heads", "ways tried", "the best reader of the best way"], rows,
           "Both digits right in noisy books, three times 2,000 books")

# %% [markdown]
# With one head and a fixed lean, not even the best possible reader gets more than about three quarters of these books right. What is lost in the mix stays lost. A lean that
# depends on the digits does not help, in 120 ways that were drawn at random. Two heads pass on two rows,
# each with its digit at full size, and even their linear reader is nearly always right. **Here a second head is needed, whatever reads it.**
#
# That is the honest version of "more heads see more". A head is not needed for each question. But each head is a channel of its own, and
# two answers that share one noisy channel are harder to read. Nobody told the two heads to take one question each: training did that.
#
# ## 8. Your module inside a real encoder (optional)
#
# MiniLM ([Wang et al. 2020](https://arxiv.org/abs/2002.10957)) is a pretrained encoder with 6 layers of 12 heads. It was trained on a great deal of
# real text, and is already on your disk. Take the attention weights of one of its layers and put them into **your** module.

# %% tags=["skip-grading"]
from course_utils.models.pretrained import (
    attention_weights, load_encoder, load_tokenizer, read,
)


def with_learned_weights(
    layer: int, kind: type[nn.Module] = MultiHeadAttention
) -> nn.Module:
    """Your module, or another kind of it, with the weights of one layer, 1 to 6, of the
    pretrained encoder."""
    module = kind(d_model=384, num_heads=12)
    learned = attention_weights(layer)
    with torch.no_grad():
        for name in ("query", "key", "value", "output"):
            linear = getattr(module, f"w_{name}")
            # nn.Linear keeps (out, in)
            linear.weight.copy_(torch.from_numpy(learned[f"w_{name}"]).T)
            linear.bias.copy_(torch.from_numpy(learned[f"b_{name}"]))
    return module


mine = {layer: with_learned_weights(layer) for layer in range(1, 7)}
print("parameters of one layer's attention:",
      f"{sum(p.numel() for p in mine[1].parameters()):,}")

# %% [markdown]
# Now two sentences of different lengths go through the encoder, as a padded batch. At each layer we record what enters and leaves the encoder's
# attention, give your module the same words and the same padding mask, and compare. You need not open the collapsed cell; look at the differences.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
batch = load_tokenizer()(
    ["Jane visits Africa in September.",
     "The doctor told the nurse that the doctor would be late."],
    padding=True, return_tensors="pt",
)
encoder = load_encoder()
theirs = {}
hooks = [
    block.attention.output.dense.register_forward_hook(
        lambda _, inputs, output, layer=layer: theirs.update({layer: output})
    )
    for layer, block in enumerate(encoder.encoder.layer, start=1)
]
with torch.no_grad():
    seen = encoder(**batch, output_hidden_states=True, output_attentions=True)
for hook in hooks:
    hook.remove()

real, rows = batch["attention_mask"].bool(), []  # real (2, seq_len): False at padding
for layer in range(1, 7):
    words_in = seen.hidden_states[layer - 1]
    with torch.no_grad():
        output, weights = mine[layer](words_in, words_in, words_in, real[:, None, :])
    apart = ((output - theirs[layer]).abs().max(),
             (weights - seen.attentions[layer - 1]).abs().max())
    rows.append([f"{layer}", *(f"{largest:.1e}" for largest in apart)])
show_table(["layer", "outputs", "weights"], rows,
           "Largest difference between your module and the encoder's")

# %% [markdown]
# All six layers agree, to the accuracy of float32. What you wrote is the attention of a real model; nothing is missing.
#
# ## 9. What do its heads look at? (optional)
#
# We gave our three heads names: *who?*, *what?*, *when?* The encoder's 72 heads have no names. It is tempting to look at one picture and invent one,
# but measure first. Clark et al. (2019, [*What does BERT look at?*](https://arxiv.org/abs/1906.04341), section 3) found heads that look at the
# previous token, at the next one, or nearly always at a special token. Hardly any look at the token itself. How much of its attention does each head here give to each of these, on average over a few
# sentences?
#
# [CLS] and [SEP] are markers that the encoder adds at the beginning and at the end. A share is averaged over the words that *have* such a partner, so
# a head's shares need not sum to 1.

# %% tags=["skip-grading"]
predict("multi_head_attention.where")

# %% tags=["skip-grading"]
from course_utils.display import show_table
from course_utils.plots.heads import mean_patterns, pattern_grid, strongest

sentences = [
    "Jane visits Africa in September.",
    "The cat sat on the mat because the mat was warm.",
    "Paris is the capital of France, and Rome is the capital of Italy.",
    "She gave him the book that he had wanted to read for years.",
    "When the rain stopped, the children ran out of the old house.",
    "The doctor told the nurse that the doctor would be late.",
    "Our train left the station on time, but it arrived two hours late.",
    "He bought bread, cheese and apples, and she bought bread too.",
]
readings = [read(sentence) for sentence in sentences]
shares = mean_patterns(readings)
rows = []
for name, share in shares.items():
    layer, head = strongest(share)
    rows.append([name, f"{layer}, {head}",
                 f"{share[layer - 1, head - 1]:.2f}", f"{share.mean():.2f}"])
show_table(
    ["looks at", "most in layer, head", "its share", "mean of all heads"],
    rows,
    "If all tokens got the same: "
    f"{np.mean([1 / len(reading.tokens) for reading in readings]):.2f}",
)
measured("multi_head_attention.where",
         shown=max(shares, key=lambda name: shares[name].mean()) == "[CLS]")

# %% tags=["skip-grading"]
show_figure(
    pattern_grid(shares),
    alt="Six panels of 6 layers by 12 heads. Previous token: one head of layer 1 has "
    "everything. Next token and same word: a few heads. Itself and [SEP]: faint "
    "everywhere. [CLS]: strong from layer 2 on.",
)

# %% [markdown]
# Notice three things.
#
# **Some heads have a job.** Layer 1, head 3 looks at the previous token, and at nothing else. (In the panel [CLS] it has 0.09: that is the first word, whose
# previous token is [CLS].) Layer 2, head 9 mostly looks at the next one. Two or
# three heads find a word's other mention.
#
# **Most have none that we could name.** Dark panels do not mean that a head is useless; they mean that none of our six names fits.
#
# **From layer 2 on, a large part of all attention goes to [CLS].** In BERT, Clark et al. saw the same at [SEP], and asked whether it is a way of
# doing nothing. A row must sum to 1, so a head that finds nothing has to put its attention *somewhere*. If so, the value at that place should
# be short, because a weight is multiplied by a value. How long are the values at [CLS], compared with those of the words? Your module computes them:

# %% tags=["skip-grading"]
rows = []
for layer in range(1, 7):
    to_cls, lengths = [], []
    for reading in readings:
        words_in = torch.from_numpy(reading.hidden[layer - 1])
        # (12, seq_len, 32)
        values = split_heads(mine[layer].w_value(words_in).detach().numpy(), 12)
        norms = np.linalg.norm(values, axis=-1)
        lengths.append(norms[:, 0] / norms[:, 1:-1].mean(axis=1))
        to_cls.append(reading.attention[layer - 1, :, 1:-1, 0].mean())
    low, middle, high = np.quantile(np.mean(lengths, axis=0), [0, 0.5, 1])
    rows.append([f"{layer}", f"{np.mean(to_cls):.2f}",
                 f"{low:.2f}", f"{middle:.2f}", f"{high:.2f}"])
show_table(
    ["layer", "attention to [CLS]", "shortest value", "middle", "longest value"],
    rows,
    "Length of the value at [CLS] relative to a word's: the 12 heads of each layer",
)

# %% [markdown]
# In layers 2 to 6 the values at [CLS] are short: at most a fifth of a word's, and mostly a few hundredths. (The one exception, in layer 4, is head
# 12. Find it in the panel [CLS] above: it is the dark one. It does not look there.) So a head can put half of its attention on [CLS]
# and get next to nothing from it. Pictures of *weights* alone would mislead you (Kobayashi et al. 2020, [*Attention is not only a weight*](https://arxiv.org/abs/2004.10102)).
#
# ### Short range, long range
#
# Leave [CLS] and [SEP] out, let what remains of each row sum to 1 again, and ask how far a head looks, in words:

# %% tags=["skip-grading"]
def reach(attention: np.ndarray) -> np.ndarray:
    """Mean distance, in tokens, between a word and those that it looks at,
    (layers, heads)."""
    among_words = attention[..., 1:-1, 1:-1]
    among_words = among_words / among_words.sum(axis=-1, keepdims=True)
    places = np.arange(among_words.shape[-1])
    return (
        among_words * np.abs(places[:, np.newaxis] - places)
    ).sum(axis=-1).mean(axis=-1)


far = np.mean([reach(reading.attention) for reading in readings], axis=0)  # (6, 12)
even = np.mean([reach(np.ones((1, 1, n, n)))
                for n in (len(reading.tokens) for reading in readings)])
show_table(
    ["layer", "head that looks nearest",
     "mean of 12 heads", "head that looks farthest"],
    [
        [f"{layer}", f"{each.min():.1f} (head {each.argmin() + 1})",
         f"{each.mean():.1f}", f"{each.max():.1f} (head {each.argmax() + 1})"]
        for layer, each in enumerate(far, start=1)
    ],
    "Mean distance in tokens; if a word looked at all words alike, "
    f"it would be {even:.1f}",
)

# %% [markdown]
# Near and far live side by side. Layers 1 to 3 each have a head whose words look next door, about one token away, as a small filter does. Other
# heads of the same layers look all over the sentence. In layer 6 no head looks near: the distances are about what equal shares would give. Sentences of a dozen words cannot show much of
# the long range, so try long ones below.
#
# ### Heads by kind
#
# Do heads specialise by kind of knowledge as well: sounds, word forms, grammar, meaning? In part. Voita et al. (2019, [*Analyzing multi-head
# self-attention*](https://arxiv.org/abs/1905.09418)) could remove most heads of a translator; those that it needed looked at neighbours, grammatical links or rare
# words. Tenney et al. (2019, [*BERT rediscovers the classical NLP pipeline*](https://arxiv.org/abs/1905.05950)) found parts of speech in
# lower layers than grammar, and grammar in lower ones
# than meaning. That is an order of layers, not a label for each head. You cannot find sounds here: this encoder has only ever read text.
#
# Grammar you can test yourself. In forty sentences, three pairs of words are marked by hand:
#
# - a determiner and its noun: in *an old cabinet*, *an* and *cabinet*;
# - a verb and the noun that is its subject: in *the keys to an old cabinet were missing*, *were* and *keys*;
# - a pronoun and the name that it stands for: in *Mary told Peter that she was tired*, *she* and *Mary*.
#
# Each sentence has a woman's name and a man's, and in half of them the pronoun stands for the name that comes first. A head is right if the determiner, verb or
# pronoun gives more attention to its partner than to any other token. ([CLS], [SEP] and the word itself do not count.) Choose the best of the 72 heads on twenty
# sentences. Then test this one head on the other twenty.
#
# Two rivals get the same test. One always takes the token a fixed number of places away: the number that fits the first twenty best. The other shows what
# luck can do. In each sentence a random word counts as the partner, and the best of the 72 heads for these is chosen. The table has the mean of 1,000 such draws.

# %% tags=["skip-grading"]
from course_utils.data.word_pairs import TO_CHOOSE, TO_TEST, places

to_choose, to_test = ([(marked, read(marked.sentence)) for marked in twenty]
                      for twenty in (TO_CHOOSE, TO_TEST))
draw = np.random.default_rng(0)


def looked_up(twenty: list, relation: str) -> dict[str, np.ndarray]:
    """Of 20 sentences, as steps from a pair's first word: what it looks at most in each
    head (20, 72), its partner (20,), the other name (20,), random words (1000, 20)."""
    steps = {"most": [], "partner": [], "other name": [], "random": []}
    for marked, reading in twenty:
        word, partner = places(reading.tokens, *getattr(marked, relation))
        given = reading.attention[:, :, word].copy()
        given[..., [0, word, -1]] = 0  # [CLS], the word itself, [SEP]
        steps["most"].append(given.argmax(axis=-1).ravel() - word)
        steps["partner"].append(partner - word)
        steps["other name"].append(places(reading.tokens, marked.other)[0] - word)
        others = np.delete(np.arange(1, len(reading.tokens) - 1), word - 1)
        steps["random"].append(draw.choice(others, 1000) - word)
    return {name: np.array(each).T if name == "random" else np.array(each)
            for name, each in steps.items()}


def hits(most: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """In how many sentences each head looks at what is wanted, (72,) or (1000, 72)."""
    return (most == wanted[..., np.newaxis]).sum(axis=-2)


# %% tags=["skip-grading"]
columns = {"determiner": "determiner → noun", "verb": "verb → subject",
           "pronoun": "pronoun → name"}
cells = []
for relation in columns:
    both = [looked_up(twenty, relation) for twenty in (to_choose, to_test)]
    found, new_found = (hits(each["most"], each["partner"]) for each in both)
    chosen = found.argmax()
    wrong, new_wrong = (hits(each["most"], each["other name"])[chosen] for each in both)
    steps, new_steps = (each["partner"] for each in both)
    distances, counts = np.unique(steps, return_counts=True)
    step = distances[counts.argmax()]
    luck, new_luck = (hits(each["most"], each["random"]) for each in both)
    new_luck = new_luck[np.arange(1000), luck.argmax(axis=1)]
    layer, head = strongest(found.reshape(6, 12))
    cells.append([f"{layer}, {head}",
                  f"{found[chosen]}, then {new_found[chosen]}",
                  f"{wrong}, then {new_wrong}",
                  f"{counts.max()}, then {(new_steps == step).sum()} ({step:+})",
                  f"{luck.max(axis=1).mean():.1f}, then {new_luck.mean():.1f}"])
names = ["layer and head chosen", "right: this head", "this head takes the other name",
         "right: best fixed step", "right: best head, random words"]
even = [sum(1 / (len(reading.tokens) - 3) for _, reading in twenty)
        for twenty in (to_choose, to_test)]
show_table(["", *columns.values()], list(zip(names, *cells, strict=True)),
           "Of the 20 sentences used for choosing, then of 20 others; "
           f"a word picked at random: {even[0]:.1f}, then {even[1]:.1f}")

# %% [markdown]
# **Determiner → noun: the head passes.** It found 19 of the 20 nouns, and in new sentences 15. The next word is the noun in only 8 sentences, both
# times. In the other 12, at least one adjective comes in between, and the head often gets past it.
#
# **Verb → subject: the head fails.** It found 11 subjects, and the best fixed step only 5. In new sentences it found 4, no more than the fixed step
# with its 6. Nothing about the head has changed. It was chosen because it fitted the first twenty, and part of such a fit is luck. The last row shows
# luck alone: on average, the best of 72 heads "finds" the random word in 4.3 of the first twenty sentences. In new ones it finds 1.3, no more than
# picking a word at random.
#
# **Pronoun → name: the head passes.** It found 17 names, and in new sentences 19. It never took the sentence's other name. (Always taking the first of
# the two would be right in 10.) But the two names differ in gender. So the head may match *she* with any woman's name, without telling who is meant.
# And it is the very head that failed on the verbs: one test does not tell you all that a head does.
#
# Twenty sentences are few. Chance alone can move a count by three or four, so do not read much into 15 after 19, or into 4 beside 6.
#
# **Try it.** Does a noun look for its determiner, a subject for its verb, a name for its pronoun? In `looked_up`, swap `word` and `partner` where
# they get their values, and run both cells again. Which heads pass now?
#
# ### The head browser
#
# Your turn. The small pictures are all 72 heads, a row for each layer; in each, a row is a word that looks, and a column a word that is looked at.
# Two of them are drawn large beside each other. Type a sentence and press Enter; choose heads; hide the markers; and multiply the weights by the length of the
# values, which **your** module computes. Some things to try:
#
# - Hide [CLS] and [SEP]. Which heads that looked alike turn out to have jobs?
# - The head of the previous token: does it still do its job if you type nonsense? If you shuffle the words?
# - A sentence in which a word comes twice. Which head finds the other mention?
# - **Number and gender:** take the heads that you found for *keys* and for the *queen* in sections 1 and 2, and test them on five more sentences. Clark et al. (2019, section 4)
#   found heads in BERT for determiners, for objects and for coreference (two words for the same person or thing).
# - *She poured water from the bottle into the cup until it was full.* Does any head link *it* to the *cup*? And if you replace *full* with *empty*, to
#   the *bottle*?

# %% tags=["skip-grading"]
from course_utils.widgets.heads import head_browser


def value_lengths(reading) -> np.ndarray:
    """The length of each token's value in each head, (6, 12, seq_len), computed by your
    modules."""
    lengths = []
    for layer in range(1, 7):
        values = mine[layer].w_value(
            torch.from_numpy(reading.hidden[layer - 1])
        ).detach().numpy()
        lengths.append(np.linalg.norm(split_heads(values, 12), axis=-1))
    return np.array(lengths)


head_browser(
    read, "The cat sat on the mat because the mat was warm.",
    heads=((3, 10), (1, 3)), value_lengths=value_lengths,
)

# %% [markdown]
# ## 10. Break it (optional)
#
# Your modules fit into a real encoder, so you can break them and see what happens to the encoder. This one was trained so that sentences
# with the same meaning get vectors that point the same way. The cell below runs it with **your** attention in all six layers. (Lab 05 is about the
# parts around the attention.)

# %% tags=["skip-grading"]
from course_utils.data.meanings import PARAPHRASES, SENSES, judge


@torch.no_grad()
def sentence_vectors(sentences: list[str], attentions: list[nn.Module]) -> np.ndarray:
    """The encoder's vectors of sentences, (n, 384), with these six modules as its
    attention."""
    batch = load_tokenizer()(list(sentences), padding=True, return_tensors="pt")
    real = batch["attention_mask"].bool()  # (n, seq_len): False at padding
    x = encoder.embeddings(batch["input_ids"])
    for block, attention in zip(encoder.encoder.layer, attentions, strict=True):
        attended, _ = attention(x, x, x, real[:, None, :])
        x = block.attention.output.LayerNorm(x + attended)
        x = block.output(block.intermediate(x), x)  # a feed-forward network
    total = (x * real[..., None]).sum(dim=1)
    return (total / real.sum(dim=1, keepdim=True)).numpy()


whole = list(mine.values())
print("a pair:   ", *PARAPHRASES[0], sep="\n  ")
print("a word with two meanings:", *SENSES[3], sep="\n  ")

# %% [markdown]
# There are two tests. **Partners:** 12 pairs of sentences that say the same thing in different words. Is each of the 24 sentences most similar to its own partner?
# **Senses:** 40 words with two meanings. *He runs a small company* shares the word *runs* with *He runs a mile every morning*. It should still be
# more similar to *He is the manager of a little firm*.
#
# And these are the ways to break it. For two of them it is enough to change weights. Making every query $\sqrt{d_k}$ times as long undoes the division
# by $\sqrt{d_k}$, and a head whose rows of $W^O$ are 0 has no effect on the output. The third, a softmax over the *queries*, needs a little trick: let
# the keys ask. Each key then shares out its attention among the queries. You need not open the collapsed cell that does all this.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
class SoftmaxOverQueries(MultiHeadAttention):
    """Your attention, except that the weights of each key, not of each query, sum
    to 1."""
    def forward(self, query, key, value, mask):
        self.w_query, self.w_key = self.w_key, self.w_query
        _, shares = super().forward(key, query, query, mask)  # (..., k_len, q_len)
        self.w_query, self.w_key = self.w_key, self.w_query
        heads = (self.w_value(value) * mask.mT).unflatten(-1,
                                                          (self.num_heads, self.d_k))
        return self.w_output(
            torch.einsum("bhkq,bkhd->bqhd", shares, heads).flatten(2)), shares.mT


def not_divided(module: nn.Module) -> None:
    module.w_query.weight *= module.d_k**0.5
    module.w_query.bias *= module.d_k**0.5


def silenced(module: nn.Module, *heads: int) -> None:
    """Heads, counted from 1, whose output W^O does not read."""
    for head in heads:
        module.w_output.weight[:, (head - 1) * module.d_k : head * module.d_k] = 0

layers = range(1, 7)
without_division, one_off, none = ([with_learned_weights(layer) for layer in layers]
                                   for _ in range(3))
over_queries = [with_learned_weights(layer, SoftmaxOverQueries) for layer in layers]
with torch.no_grad():
    silenced(one_off[0], 3)  # the head of the previous token, in layer 1
    for module in without_division:
        not_divided(module)
    for module in none:
        silenced(module, *range(1, 13))

# %% tags=["skip-grading"]
predict("multi_head_attention.broken")

# %% tags=["skip-grading"]
from functools import partial

from course_utils.plots.meanings import judged_side_by_side

broken = {
    "as it is": whole,
    "no √d_k": without_division,
    "softmax over queries": over_queries,
    "one head off": one_off,
    "no attention": none,
}
judged = {name: judge(partial(sentence_vectors, attentions=modules))
          for name, modules in broken.items()}
show_table(
    ["attention", "partners found", "senses right", "margin"],
    [[name, f"{one.found:.0%}", f"{one.senses:.0%}", f"{one.margin:.2f}"]
     for name, one in judged.items()],
    "The margin: cosine with the same meaning minus cosine with the same word, "
    "on average",
)
show_figure(
    judged_side_by_side(judged),
    alt="Above, five tables of 12 by 12 similarities. All have a bright diagonal; with "
    "the softmax over queries and without attention everything else is bright, too. "
    "Below, bars: most senses are right as it is; with the softmax over queries and "
    "without attention it is no better than a coin.",
)
measured("multi_head_attention.broken",
         shown=min(one.found for one in judged.values()) > 0.95)

# %% [markdown]
# Surprised? **Every** version finds the partners, even the one without any attention at all. The pairs differ in topic, and the words alone give a
# topic away: *doctor* is like *physician* before any word has looked at another. A test that a bag of words passes says nothing about attention.
#
# The test of the senses does. Is *runs* about a firm or about a mile? Only the words around it know, and attention is the only place in the encoder where
# words meet. With the softmax over the queries, or without attention, the encoder might as well toss a coin. Look at the tables, too: off the
# diagonal they get bright. Sentences that have nothing to do with each other become alike.
#
# Two results are mild. Without $\sqrt{d_k}$ the weights are sharper than in training. Three words fewer are right, which could be chance, and the margin falls from 0.14 to 0.12.
# In lab 02 you saw what
# the division is really for: it keeps the softmax from saturating while the network **learns**. This one has learned already. And one head of 72 is hardly missed,
# even one with a clear job. Michel et al. ([2019](https://arxiv.org/abs/1905.10650)) measured the same in a translator and in BERT: taken away one at a time, most
# heads change next to nothing.
#
# There are only 40 words, and chance alone can make a difference of three words. The margin is the steadier number.
#
# **Discuss with a neighbour,** or write two sentences. Your colleague has written attention with an error, swapped it into a pretrained
# encoder, and reports: "All 24 partners found, so it works." What do you answer? Which test would you ask for?

# %% [markdown]
# ## 11. Two layers learn to copy (optional)
#
# A head that looks at the previous token does not seem like much. What is it good for? Here is a task that needs it. Some letters come up in random order, 6 to 12 of
# them, and then again and again in the same order: *q f a k z m q f a k z m q f ...* Which letter is next? You look for the last time that you saw the current
# letter, and say what came **after** it. Elhage et al. ([2021](https://transformer-circuits.pub/2021/framework/index.html)) and Olsson et
# al. (2022, [*In-context learning and induction
# heads*](https://arxiv.org/abs/2209.11895)) call a head that does this an **induction head**, and found such heads in all models of more than one layer that they studied.
#
# The network is as small as can be: letters and places, then layers of nothing but **your** attention, with a causal mask. (Lab 04 is about the places.)

# %% tags=["skip-grading"]
class Copier(nn.Module):
    """Layers of your attention, each added to what enters it: letters (batch, n) ->
    scores of the next letter."""

    def __init__(self, layers: int, d_model: int = 64, num_heads: int = 2) -> None:
        super().__init__()
        self.letters, self.places = nn.Embedding(26, d_model), nn.Embedding(24, d_model)
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(layers + 1))
        self.layers = nn.ModuleList(MultiHeadAttention(d_model, num_heads)
                                    for _ in range(layers))
        self.answer = nn.Linear(d_model, 26)

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        n, looks = ids.shape[1], []
        x = self.letters(ids) + self.places(torch.arange(n))
        # every letter sees itself and those before it
        past = torch.ones(n, n, dtype=torch.bool).tril()
        for norm, layer in zip(self.norms, self.layers, strict=False):
            normed = norm(x)
            found, weights = layer(normed, normed, normed, past)
            x = x + found
            looks.append(weights)
        return self.answer(self.norms[-1](x)), looks


def repeated_letters(
    count: int, source: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences of 24 letters (count, 24), and how many letters each repeats,
    (count, 1)."""
    fresh = torch.randint(26, (count, 24), generator=source)
    period = torch.randint(6, 13, (count, 1), generator=source)
    return fresh.gather(1, torch.arange(24) % period), period


# %% tags=["skip-grading"]
predict("multi_head_attention.copying")

# %% tags=["skip-grading"]
def copier(layers: int, seed: int, steps: int = 500, **sizes: int) -> nn.Module:
    """Trained to say the next letter wherever the letters so far determine it."""
    torch.manual_seed(seed)
    model, source = Copier(layers, **sizes), torch.Generator().manual_seed(seed + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for _ in range(steps):
        ids, period = repeated_letters(32, source)
        known = torch.arange(1, 24) > period  # the first repeated letter may be any
        logits, _ = model(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits[known], ids[:, 1:][known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


# %% tags=["skip-grading"]
ids, period = repeated_letters(500, torch.Generator().manual_seed(2))  # never seen
known = torch.arange(1, 24) > period
larger = {"steps": 1000, "d_model": 128, "num_heads": 4}
kinds = {"1": (1, {}), "1, twice as wide, twice the steps": (1, larger), "2": (2, {})}
said, right = {}, {}
for kind, (layers, sizes) in kinds.items():
    copiers = [copier(layers, seed, **sizes) for seed in range(3)]
    with torch.no_grad():
        said[kind] = [model(ids[:, :-1]) for model in copiers]
    right[kind] = [(logits.argmax(-1) == ids[:, 1:])[known].float().mean()
                   for logits, _ in said[kind]]
show_table(["layers", "next letter right"],
           [[kind, f"{min(three):.0%} to {max(three):.0%}"]
            for kind, three in right.items()], "Three training runs each")
best_of_one = max(max(three) for kind, three in right.items() if kind != "2")
measured("multi_head_attention.copying",
         shown=best_of_one < 0.75 and min(right["2"]) > 0.9)
looks = said["2"][0][1]  # of the first of the three with two layers

# %% [markdown]
# One layer does not get there. With more numbers than the two layers together and twice as many steps it gets further, but only to between 60 and 70 %. To
# find *what came after*, it would have to look for a place whose **previous** letter is the current one,
# and no place knows its previous letter yet. (A single layer needs a far larger network for this: [Sanford, Hsu and Telgarsky
# 2024](https://arxiv.org/abs/2408.14332).) Two layers can. How do they share the work? Measure, for each head, how much it looks at the
# previous letter, and how
# much at the letters that came after earlier occurrences of the current one. The encoder of section 8 gets the same test, with random words said twice:

# %% tags=["skip-grading"]
# (500, 23): where the letters repeat
current, repeats = ids[:, :-1], torch.arange(23) >= period
# the letter before each place
before = torch.nn.functional.pad(current[:, :-1], (1, 0), value=-1)
asked = {
    "previous letter":
        torch.ones(23, 23, dtype=torch.bool).tril(-1).triu(-1).expand(500, 23, 23),
    "after the same letter": current[:, :, None] == before[:, None, :],
}
rows = []
for layer, weights in enumerate(looks, start=1):  # (500, 2, 23, 23)
    shares = [(weights * wanted[:, None]).sum(-1).mT[repeats].mean(0)
              for wanted in asked.values()]
    for head, each in enumerate(zip(*shares, strict=True), start=1):
        rows.append([f"yours: layer {layer}, head {head}",
                     *(f"{share:.2f}" for share in each)])

# (6, 12, 18, 18)
twice = read("house river music garden window paper doctor bread " * 2).attention
second = np.arange(10, 17)  # the words of the second round but for its first
found = np.stack([twice[..., second, second - back].mean(-1) for back in (1, 7)])
for job, share in zip(asked, found, strict=True):
    layer, head = strongest(share)
    both = found[:, layer - 1, head - 1]
    rows.append([f"MiniLM: layer {layer}, head {head}, its best at: {job}",
                 *(f"{each:.2f}" for each in both)])
even = (1 / torch.arange(1, 24)).expand(500, -1)[repeats].mean()
show_table(["head", *asked], rows,
           "Share of attention; an even look at the past gives "
           f"{even:.2f} to the previous letter")

# %% [markdown]
# See the two jobs in one sequence, in which six letters come again and again. Each row is a letter that asks, each column one that it may look at. The head that
# looks at the letter before has a stripe beside the diagonal. An induction head has one
# five places back: the same letter was six places back, so the one after it is five places back.

# %% tags=["skip-grading"]
def of_best(weights: torch.Tensor, wanted: torch.Tensor) -> np.ndarray:
    """The weights of the head that gives most to the wanted places, of one sequence."""
    best = (weights * wanted[:, None]).sum((0, 2, 3)).argmax()
    return weights[one, best, :13, :13].numpy()


# a sequence of six different letters
different = torch.tensor([len(set(row[:6])) == 6 for row in ids.tolist()])
one = int(((period[:, 0] == 6) & different).nonzero()[0])
letters = [chr(ord("a") + letter) for letter in ids[one, :13].tolist()]
previous, induction = (of_best(weights, wanted) for weights, wanted
                       in zip(looks, asked.values(), strict=True))
show_figure(
    heatmaps_side_by_side(
        {"layer 1: the letter before": previous,
         "layer 2: what came after the same letter": induction},
        letters, letters),
    alt="Two heat maps of 13 letters by 13. Left, the brightest cells are just below "
    "the diagonal. Right, from the seventh letter on, they form a stripe five letters "
    "below the diagonal.",
)

# %% [markdown]
# Layer 2 contains induction heads: most of their attention goes to what followed the current letter before. Layer 1 looks at the neighbourhood. One
# of its heads gives the previous letter several times as much attention as equal shares would. So each place carries a trace of the letter before
# it. That is all that layer 2
# needs. Nobody asked for a tidy division of labour, and it is not as tidy as a drawing of it: the other head, and the blend of both, do their part.
#
# MiniLM has the cleanest previous-token head that you could wish for, but no induction head. It never had to say which word comes next. It was trained to imitate the
# attention of a larger encoder (Wang et al. 2020), then to compare sentences, and it sees them whole. That is a likely reason, but one model cannot prove it: it differs from a language model in more than its task.
#
# **Discuss with a neighbour,** or write two sentences. Why can a language model with induction heads correctly spell a name that it has never
# seen in training, if the name occurred earlier in the text?

# %% [markdown]
# ## Common mistakes, by their symptom
#
# | what you see | likely cause |
# |---|---|
# | `NameError: name 'np' is not defined` | the kernel was restarted; run the cells above first (menu Run, Run All Above Selected Cell) |
# | right shapes, wrong numbers | `reshape` or `view` without swapping words and heads, on the way in or out |
# | right for a single head only | the scale: √d_model instead of √d_k; or heads added instead of put side by side |
# | all heads show the same picture | every head uses the first block of columns |
# | weights of shape (batch, q_len, k_len) | averaged over the heads, or never split |
# | weights of shape (batch, seq_len, num_heads, num_heads) | words and heads not swapped: heads look at heads |
# | an error with masks, but only for some batch sizes | no axis for the heads in the mask |
# | right in self-attention, wrong in cross-attention | the value comes from the key, or all three from `query` |
# | a different output at every call | an `nn.Linear` created in `forward` |
# | the loss does not move, `parameters()` is empty | layers in a plain list, or created in `forward` |
# | `view size is not compatible with input tensor's size and stride` | `view` after a transpose: use `reshape` |
# | everything is inverted | True = blocked, as in `nn.MultiheadAttention` |

# %% [markdown]
# ## Review quiz

# %% tags=["skip-grading"]
from course_utils import quiz

quiz("multi_head_attention")

# %% [markdown]
# ## Going further
#
# - **Which heads are needed?** Michel et al. (2019, [*Are sixteen heads really better than one?*](https://arxiv.org/abs/1905.10650)) remove heads after training, and many are hardly
#   missed. Try it: set the columns of `w_output.weight` that read one head to 0, and measure how far the output moves.
# - **Fewer keys than queries.** A language model keeps all keys and values in memory while it writes. Multi-query ([Shazeer 2019](https://arxiv.org/abs/1911.02150)) and grouped-query
#   attention ([Ainslie et al. 2023](https://arxiv.org/abs/2305.13245)) let several heads share them. Which of your four shapes change?
# - **A bias that does nothing.** Set the bias of `w_key` to any numbers: neither output nor weights change. Why? (Write a score as a sum, and look
#   for what all keys have in common.)
# - **Rank.** A head's scores are $x\,W_i^Q (W_i^K)^\top m^\top$. The matrix in the middle is $d_{model} \times d_{model}$, but its rank is at most
#   $d_k$. That is the price of free heads: each can compare words in only a few ways (Bhojanapalli et al. 2020, [*Low-rank bottleneck in multi-head
#   attention models*](https://arxiv.org/abs/2002.07028)).
# - **Order.** The head of the previous token can only work because something tells the encoder where each token is. Lab 04 shows what.
# - Vaswani et al. (2017), [*Attention is all you need*](https://arxiv.org/abs/1706.03762), section 3.2.2, is one page. You can now follow all of it.
#
# Save the notebook. If your course uses nbgrader, press **Validate**, then submit it.
