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
# # Lab 04: positional encoding
#
# *The dog bites the man.* That is not news. *The man bites the dog.* That is. Only the order differs, and attention cannot see
# it. So a Transformer needs something that says where each word is. You write three kinds of such **positions**: the waves of the original
# paper, a learned table, and today's rotations.
#
# **You need** labs 00 and 02, sine and cosine, and a little PyTorch.
#
# <details><summary>What you can do after this lab, and its exercises</summary>
#
# **After this lab you can**
#
# - show with numbers that attention treats a sentence as a bag of words;
# - compute the sinusoidal encoding, and say why its wavelengths grow geometrically;
# - prove, and check, that a shift of positions is a rotation of their encodings;
# - add positions to properly scaled words, and say why adding is enough;
# - write learned and rotary positions, and say what each can do with sentences longer than those in training.
#
# | # | exercise | difficulty | importance | minutes | points |
# |---|---|---|---|---|---|
# | 1 | `get_angles` | ●●○○○ | ●●●●○ | 8 | 3 |
# | 2 | `positional_encoding` | ●●○○○ | ●●●●● | 10 | 4 |
# | 3 | `shift_matrix` | ●●●●○ | ●●●○○ | 15 | 4 |
# | 4 | `embed_tokens` | ●●○○○ | ●●●●● | 8 | 3 |
# | 5 | `LearnedPositionalEmbedding` | ●●○○○ | ●●●●○ | 8 | 3 |
# | 6 | `rotary_embedding` | ●●●○○ | ●●●●● | 15 | 4 |
#
# Before some results a question asks what you expect. Choose first, then run the cell. Nothing is recorded, and a wrong guess costs nothing.
# </details>
#
# **Time:** about 115 minutes; the computer needs {measured_seconds} seconds.
#
# **The core path** is sections 1, 2, 5, 6 and 8, about 55 minutes, plus 8 minutes for the review quiz. The rest is *optional*. A break comes before section 5.
#
# The next cell takes your own attention from lab 02 if it passes its check.

# %%
import numpy as np
import torch
from torch import nn

from course_utils import inputs_of
from course_utils.yours import scaled_dot_product_attention

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# You are here: at the entrance.

# %% tags=["skip-grading"]
from course_utils.plots.whole import show_transformer

show_transformer("positional_encoding")

# %% [markdown]
# At the end a small network says whether *a* comes before *b*, with positions and without:

# %% tags=["skip-grading"]
from course_utils.display import show_table

show_table(["positions", "right, of 4,000 sentences"],
           [["none", "50.00%"], ["sinusoidal", "100.00%"], ["learned", "100.00%"]],
           "Kept from section 8, where you train these networks yourself")

# %% [markdown]
# ## 1. Attention cannot see order
#
# Here is attention at work on both sentences. Each word is a vector of random numbers, and the projections are random, too. The cell prints
# the output of attention for every word.

# %% tags=["skip-grading"]
from course_utils.widgets.predict import measured, predict

predict("positional_encoding.the_dog")

# %% tags=["skip-grading"]
from course_utils.plots.attention import numbers

rng = np.random.default_rng(0)
vectors = {word: rng.standard_normal(6) for word in ("the", "dog", "bites", "man")}
w_query, w_key, w_value = (rng.standard_normal((6, size)) / 2 for size in (4, 4, 3))


def look_around(x: np.ndarray) -> np.ndarray:
    """Self-attention of one sentence, with the projections above."""
    return scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value)[0]


old_news, news = (["the", "dog", "bites", "the", "man"],
                  ["the", "man", "bites", "the", "dog"])
outputs = [look_around(np.array([vectors[word] for word in sentence]))
           for sentence in (old_news, news)]
for sentence, output in zip((old_news, news), outputs, strict=True):
    numbers(" ".join(sentence), sentence, output)
measured("positional_encoding.the_dog",
         shown=np.allclose(outputs[0][1], outputs[1][4]))  # the row of dog

# %% [markdown]
# Look at the row of *dog* in both tables. The dog that bites and the dog that is bitten have the same output, to the last digit printed. The
# two words *the* have the same output as well, although one belongs to the dog and one to the man.
#
# The reason is simple. An output is a sum over all words, $\sum_j w_{ij}\, v_j$, and the order of its terms does not change a sum.
# Shuffle the words, and the outputs are shuffled in the same way. This is called **permutation equivariance**. Without a mask, more layers do not
# help: if the outputs of one layer are merely shuffled, so are the inputs of the next.
#
# Is that true only of random numbers? Take a real encoder, with weights that were trained on more than a billion pairs of
# sentences. Its vector for a sentence is the average of its outputs. It knows positions: it adds a learned table. Set this table to zero
# and try again.

# %% tags=["skip-grading"]
predict("positional_encoding.no_table")

# %% tags=["skip-grading"]
from course_utils.display import show_table
from course_utils.models.pretrained import load_tokenizer, new_encoder

tokenizer, encoder = load_tokenizer(), new_encoder().eval()
table_of_positions = encoder.embeddings.position_embeddings.weight
learned_table = table_of_positions.detach().numpy().copy()  # for section 6


@torch.no_grad()
def sentence_vector(sentence: str) -> torch.Tensor:
    return encoder(
        **tokenizer(sentence, return_tensors="pt")
    ).last_hidden_state[0].mean(dim=0)


def compare() -> list[str]:
    """How alike the vectors of the two sentences are, and their largest difference."""
    one, other = (sentence_vector(" ".join(sentence)) for sentence in (old_news, news))
    alike = torch.cosine_similarity(one, other, dim=0).item()
    return [f"{alike:.4f}", f"{(one - other).abs().max():.1e}"]


rows = [["with its positions", *compare()]]
with torch.no_grad():
    table_of_positions.zero_()
rows.append(["without its positions", *compare()])
show_table(["the encoder", "cosine similarity", "largest difference"], rows)
measured("positional_encoding.no_table", shown=rows[0][1] < rows[1][1] == "1.0000")

# %% [markdown]
# Without positions the two vectors are identical, up to the rounding of float32. Everything that a trained six-layer model knows about
# order comes in through that one table. (Even with it, the two are very similar: 0.97. Section 8 trains a small network for order alone. It
# tells such twins apart.)
#
# **Discuss with a neighbour,** or write two sentences. For which tasks is a bag of words good enough? Think of spam, of the topic of an article, of
# translation, of the word *not*. And what would you add to a word to say where it is? Note your idea down and compare it with the next section.
#
# A note for later: all this is about attention in which every word sees every other. With a **causal** mask it is different, as section 8 shows.

# %% [markdown]
# ## 2. What should a position look like?
#
# Every position gets its own vector, which is added to the word at that position. Which vector? Three ideas come to mind.
#
# - **The number itself:** 0, 1, 2, 3, ... It grows without limit. If the features of a word are about as large as 1, then at position 500 the
#   position is 500 times as large as the word.
# - **The share of the sentence:** position / length. It stays between 0 and 1. But the third word of five and the third word of fifty get
#   quite different values. And the size of one step depends on the length of the sentence.
# - **Binary digits:** bounded, different for every position, and the same in every sentence. Look at them:

# %%
for pos in range(9):
    print(f"position {pos}: {pos:04b}")

# %% [markdown]
# Read the columns. The last digit changes at every step, the one before it at every second step, then every fourth, every eighth.
# Each column has its own period, and the periods grow **geometrically**: 1, 2, 4, 8. So a few columns can tell many positions apart: ten columns
# are enough for 1024. The decimal system does the same with 1, 10, 100.
#
# Digits have one flaw: they jump. From 7 to 8, four digits change at once; from 8 to 9, only one. We want neighbours to be alike. So replace
# each digit with a wave, which goes up and down *smoothly* at its own pace. That is the encoding of Vaswani et
# al. ([2017](https://arxiv.org/abs/1706.03762), section 3.5):
#
# $$PE_{(pos,\,2i)} = \sin\!\left(\frac{pos}{10000^{2i/d_{model}}}\right) \qquad
# PE_{(pos,\,2i+1)} = \cos\!\left(\frac{pos}{10000^{2i/d_{model}}}\right)$$
#
# The index $i$ counts **pairs** of features: 0 and 1 are pair 0, 2 and 3 are pair 1, and so on. Both features of a pair have the
# same angle; one is its sine, the other its cosine. By hand, for $d_{model} = 4$, which has two pairs:

# %%
import math

from course_utils.plots.attention import numbers

waves = []
for pos in range(4):
    fast = pos / 10000 ** (0 / 4)  # pair 0: 2i = 0
    slow = pos / 10000 ** (2 / 4)  # pair 1: 2i = 2
    waves.append([fast, math.sin(fast), math.cos(fast),
                  slow, math.sin(slow), math.cos(slow)])
columns = ["angle of pair 0", "its sine", "its cosine",
           "angle of pair 1", "its sine", "its cosine"]
numbers("", [f"position {pos}" for pos in range(4)], np.array(waves), columns, digits=3)

# %% [markdown]
# The first pair moves fast, the second hardly at all: it takes hundreds of positions to go round once. Position 0 is always 0, 1, 0, 1,
# ..., whatever the size.
#
# ### Exercise 1: `get_angles`
#
# First compute only the angles. The positions are a column and the features a row, so broadcasting makes a table with one angle for each
# position and feature. The number of a *feature* is called $k$ here. The formula needs the number of its *pair*, $i$.
#
# | feature k | 0 | 1 | 2 | 3 | 4 | 5 | ... |
# |---|---|---|---|---|---|---|---|
# | pair i | 0 | 0 | 1 | 1 | 2 | 2 | ... |

# %% nbgrader={"grade": false, "grade_id": "get_angles", "locked": false, "schema_version": 3, "solution": true, "task": false}
def get_angles(positions: np.ndarray, features: np.ndarray, d_model: int) -> np.ndarray:
    """The angle of each feature at each position (Vaswani et al. 2017, section 3.5).

    Feature k belongs to pair i = k // 2, and its angle at position pos is
    pos / 10000^(2i / d_model), in radians.

    Args:
        positions: positions as a column, counted from 0, (n_positions, 1).
        features: features k as a row, counted from 0, (1, n_features): all of them or
            some, in any order.
        d_model: number of features of the whole encoding (n_features may be smaller).

    Returns:
        Angles, (n_positions, n_features).
    """
    # 1. The pair that each feature belongs to, (1, n_features).
    ### BEGIN SOLUTION
    pairs = features // 2
    ### END SOLUTION
    # 2. The angles.
    ### BEGIN SOLUTION
    angles = positions / 10000 ** (2 * pairs / d_model)
    ### END SOLUTION
    return angles

# %% [markdown]
# <details><summary>Hint 1: from k to i</summary>
#
# Features 0 and 1 both belong to pair 0. Python has a division that rounds down, and it works entry by entry on arrays.
# </details>
# <details><summary>Hint 2: powers</summary>
#
# `a ** b` is a power. It is computed before any division or multiplication next to it: put the whole exponent in parentheses.
# </details>
# <details><summary>Hint 3: I keep getting angles that are nearly 0 from the third feature on</summary>
#
# Then the exponent is too large. It must be between 0 and 1 for every feature. What divides it?
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_get_angles", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("positional_encoding.get_angles")

# %% [markdown]
# Here are your angles for eight features. Each column is a clock that runs at its own speed; the two columns of a pair share a speed.

# %% tags=["skip-grading"]
print(get_angles(np.arange(5)[:, None], np.arange(8)[None, :], 8))

# %% [markdown]
# ### Exercise 2: `positional_encoding`
#
# Now the waves. Even features are the sine of their angle, odd features the cosine. They **alternate**, as in the paper's equations; some
# libraries (tensor2tensor, Marian) put all sines first and then all cosines, which is the same up to the order of the features.
#
# Throughout the lab $d_{model}$ is even, so that every sine has its cosine. The `if` at the beginning, which is given, makes sure of that.

# %% nbgrader={"grade": false, "grade_id": "positional_encoding", "locked": false, "schema_version": 3, "solution": true, "task": false}
def positional_encoding(max_len: int, d_model: int) -> np.ndarray:
    """The sinusoidal encoding of positions 0 to max_len - 1 (Vaswani et al. 2017,
    section 3.5).

    Args:
        max_len: number of positions, at least 1.
        d_model: number of features, even.

    Returns:
        Floats, (max_len, d_model), one row per position. Feature 2i is the sine and
        feature 2i + 1 the cosine of the angle of pair i.
    """
    if d_model % 2:
        raise ValueError(
            f"d_model must be even, so that every sine has its cosine; it is {d_model}."
        )
    # 1. The angle of every feature at every position, (max_len, d_model).
    ### BEGIN SOLUTION
    angles = get_angles(np.arange(max_len)[:, np.newaxis],
                        np.arange(d_model)[np.newaxis, :], d_model)
    ### END SOLUTION
    # 2. Sines and cosines, alternating.
    ### BEGIN SOLUTION
    encoding = np.empty((max_len, d_model))
    encoding[:, 0::2] = np.sin(angles[:, 0::2])
    encoding[:, 1::2] = np.cos(angles[:, 1::2])
    ### END SOLUTION
    return encoding

# %% [markdown]
# <details><summary>Hint 1: a column and a row from an arange</summary>
#
# `np.arange(n)` has shape (n,). Indexed with `[:, np.newaxis]` it becomes a column, with `[np.newaxis, :]` a row.
# </details>
# <details><summary>Hint 2: every second column</summary>
#
# A slice has a start, a stop and a *step*. In `table[rows, columns]` the slice after the comma chooses columns. `np.where` with a condition
# on the feature's number also works.
# </details>
# <details><summary>Hint 3: I keep getting cosines that are never below 0.5</summary>
#
# Then you are taking the cosine of a sine: the array was overwritten before the cosines were computed.
# </details>
# <details><summary>Hint 4: I keep getting a table that is right in the first row only</summary>
#
# At position 0 every angle is 0, so the first row is right whatever the angles are. `get_angles` asks for the numbers of *features*. Did you
# give it the numbers of pairs?
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_positional_encoding", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("positional_encoding.positional_encoding")

# %% tags=["skip-grading"]
from course_utils.plots import show_figure
from course_utils.plots.positions import encoding_and_waves

show_figure(
    encoding_and_waves(positional_encoding(64, 32), features=[0, 1, 6, 12, 20]),
    alt="Left: a table of colours, 64 positions by 32 features: the first features "
    "change at every step, the last ones stay the same. Right: features 0 and 1 are "
    "fast waves a quarter of a wave apart; 6 and 12 are slower; 20 hardly rises over "
    "64 positions.",
)

# %% [markdown]
# In the left panel you see the binary counter again, made smooth, with fast columns on the left and slow ones on the right. The right panel
# shows some of its columns as waves.
#
# Another picture is worth remembering. The sine and cosine of the same angle are a point on a circle: the tip of a **clock hand**. Position
# 0 is twelve o'clock, and each pair is a clock with its own speed. Move the slider, and read the position from the clocks: the fast one is
# a second hand, the slow ones are for minutes and hours.

# %% tags=["skip-grading"]
from course_utils.widgets.clocks import clocks

clocks(get_angles(np.arange(61)[:, None], np.arange(8)[None, :], 8)[:, ::2])

# %% [markdown]
# ## 3. Why are the wavelengths geometric? (optional)
#
# Pair $i$ is back where it was after $2\pi \cdot 10000^{2i/d_{model}}$ positions. This is its **wavelength**. From one pair to the next it grows by
# the same factor. Here are yours, for $d_{model} = 512$ as in the paper:

# %% tags=["skip-grading"]
from course_utils.plots.positions import wavelengths

# radians per position
per_step = get_angles(np.array([[1]]), np.arange(512)[None, :], 512)[0, ::2]
lengths = 2 * np.pi / per_step
print("first wavelengths:", lengths[:4], " each",
      f"{lengths[1] / lengths[0]:.4f} times the one before")
print(f"last wavelength:   {lengths[-1]:.0f} positions; "
      f"10000 * 2 pi would be {10000 * 2 * np.pi:.0f}")
show_figure(
    wavelengths({"geometric (the paper)": lengths,
                 "equal steps": np.linspace(lengths[0], lengths[-1], 256)}),
    alt="On a logarithmic scale the paper's wavelengths are a straight line from 6 to "
    "about 60000; wavelengths in equal steps are nearly all above 1000.",
)

# %% [markdown]
# (The paper says that they run from $2\pi$ to $10000 \cdot 2\pi$. The last pair stops one step short of that, as the cell prints.)
#
# What is this good for? Measure it. Take 32 pairs and 1000 positions, and ask three questions about several choices of 32 frequencies:
#
# - How far apart are **neighbours**? If they are nearly equal, *dog bites* looks like *bites dog*.
# - How far apart are the **two positions that are hardest to tell apart**? If they coincide, nothing can tell these two places apart.
# - Is **near** near, and **far** far? The distance between two encodings should grow with the distance between the words. The cell ranks both
#   distances and computes the correlation of the ranks. It is 1 if the two orders agree, and near 0 if they are unrelated.
#
# The geometric choice has four simple rivals and a strong one, **chance**: two kinds of random frequencies, 200 draws of each. (All encodings
# are scaled to length 1 here. The distance between two of them depends only on how many steps apart they are; section 4 says why.)

# %% tags=["skip-grading"]
from course_utils.plots.positions import distance_over_steps

steps, pairs = np.arange(1, 1000), 32


def distances(speeds: np.ndarray) -> np.ndarray:
    """Between two encodings that are 1, 2, ... 999 steps apart (999,)."""
    turned = np.exp(1j * steps[:, None] * speeds)  # (999, pairs)
    return np.sqrt((np.abs(turned - 1) ** 2).mean(axis=1))


def three_measures(speeds: np.ndarray) -> list[float]:
    apart = distances(speeds)
    in_order = np.corrcoef(apart.argsort().argsort(), steps)[0, 1]
    return [apart[0], apart.min(), in_order]

# %% tags=["skip-grading"]
choices = {
    "all fast": np.linspace(1, 0.5, pairs),
    "all slow": np.linspace(0.002, 0.001, pairs),
    "equal steps of frequency": np.linspace(1, 0.001, pairs),
    "equal steps of wavelength": 1 / np.linspace(1, 1000, pairs),
    "geometric": 1000.0 ** -np.linspace(0, 1, pairs),
}
rng = np.random.default_rng(0)
by_chance = {
    "random frequencies": rng.uniform(0, np.pi, (200, pairs)),
    "random, all scales alike": 10 ** rng.uniform(-3, 0, (200, pairs)),
}
rows = [[name, *(f"{value:.2f}" for value in three_measures(speeds))]
        for name, speeds in choices.items()]
for name, sets in by_chance.items():
    low, high = np.percentile([three_measures(each) for each in sets], [5, 95], axis=0)
    rows.append([name, *(f"{least:.2f} to {most:.2f}"
                         for least, most in zip(low, high, strict=True))])
show_table(["choice", "neighbours", "hardest two", "near is near"], rows)

# %% tags=["skip-grading"]
show_figure(
    distance_over_steps({
        "geometric": distances(choices["geometric"]),
        "random frequencies": distances(by_chance["random frequencies"][0]),
        "equal steps of wavelength":
            distances(choices["equal steps of wavelength"]),
    }),
    alt="Distance between two encodings over the number of steps between them. With "
    "random frequencies it jumps to its final height at the first step and stays "
    "there. With equal steps of wavelength it stays low for a hundred steps, then "
    "climbs. The geometric choice climbs with every factor of ten.",
)

# %% [markdown]
# *Random frequencies* (next to last row) tell positions apart **better** than the geometric choice. They fail in the last column. The flat curve shows
# why: one step and five hundred steps are about equally far. Slow waves alone have a perfect order, but hardly tell neighbours apart.
#
# The geometric choice has something of everything. It has as many waves for ones as for tens and for hundreds of positions, and its curve climbs with
# every factor of ten. Is it the only choice that does? No: see the last row. Random waves that give every scale the same chance do about as
# well, some better and some worse. The geometric progression is a tidy way to have **all scales**.
#
# ## 4. A step is a rotation (optional)
#
# How alike are two positions? Take the dot product of their rows. Each pair contributes
#
# $$\sin a \sin b + \cos a \cos b = \cos(a - b),$$
#
# and $a - b$ is the frequency times the *difference* of the positions. So $PE_p \cdot PE_q = \sum_i \cos(\omega_i\,(p - q))$:
# where the two are does not matter, only how far apart they are.

# %% tags=["skip-grading"]
predict("positional_encoding.before_after")

# %% tags=["skip-grading"]
from course_utils.plots.positions import similarity_and_distance

encoding = positional_encoding(100, 64)
similarity = encoding @ encoding.T
pairs = (10, 13), (40, 43), (96, 99), (43, 40)
show_table(["positions", "dot product"],
           [[f"{p} and {q}", f"{similarity[p, q]:.6f}"] for p, q in pairs])
same = all(np.allclose(np.diag(similarity, k), similarity[0, k]) for k in range(100))
print("the same along every diagonal:", same)
show_figure(
    similarity_and_distance(similarity, starts=[10, 45, 80], title="PE(p) · PE(q)"),
    alt="Left: the table of dot products is bright on the diagonal and constant along "
    "each parallel to it. Right: the curves of positions 10, 45 and 80 over the "
    "distance coincide exactly, symmetric, highest at distance 0.",
)
measured("positional_encoding.before_after",
         shown=np.ptp([similarity[p, q] for p, q in pairs]) < 1e-9)

# %% [markdown]
# Notice two things. The three curves on the right are identical: **only the distance counts**. And they are symmetric: the dot product of
# (40, 43) is the same as that of (43, 40). On its own it does not tell *before* from *after*. (Some notes say it does.) For that, there
# must be a matrix between the two vectors.
#
# Which matrix? Go $k$ steps on. The angle of a pair grows from $a$ to $a + b$, with $b = \omega k$, and school mathematics says
#
# $$\sin(a + b) = \sin a \cos b + \cos a \sin b \qquad \cos(a + b) = \cos a \cos b - \sin a \sin b .$$
#
# The new sine and cosine are **linear** in the old ones, and the coefficients depend only on $b$: on the offset, not on the position. Every
# clock hand turns by a fixed angle. So there is one matrix $M_k$ with $PE_{pos+k} = M_k\,PE_{pos}$ for
# **every** position. Turn the clocks by hand: choose an offset, then move the position. The hands go round; the angle between the two hands
# of a clock stays the same.

# %% tags=["skip-grading"]
clocks(get_angles(np.arange(61)[:, None], np.arange(8)[None, :], 8)[:, ::2], offset=4)

# %% [markdown]
# ### Exercise 3: `shift_matrix`
#
# Build $M_k$. Each column belongs to a feature of $PE_{pos}$, and each row to a feature of $PE_{pos+k}$. A pair depends only on itself, so
# all entries outside the 2 × 2 blocks on the diagonal are 0. For one pair, from $(\sin a, \cos a)$ to
# $(\sin(a+b), \cos(a+b))$, the block can be read off the two equations above. Write it on paper first. (In textbooks the cosine usually
# comes first, and the minus is in the other corner.)

# %% nbgrader={"grade": false, "grade_id": "shift_matrix", "locked": false, "schema_version": 3, "solution": true, "task": false}
def shift_matrix(offset: int, d_model: int) -> np.ndarray:
    """The matrix M with PE(pos + offset) = M @ PE(pos) for every position.

    PE(pos) is a row of `positional_encoding`, taken as a column vector: sine first in
    every pair. M does not depend on pos; it is orthogonal and block-diagonal, with one
    2 by 2 block per pair (Vaswani et al. 2017, section 3.5).

    Args:
        offset: how many positions further on; may be negative or 0.
        d_model: number of features, even.

    Returns:
        Floats, (d_model, d_model).
    """
    # 1. The angle that each pair turns by, (d_model / 2,).
    ### BEGIN SOLUTION
    turns = get_angles(np.array([[offset]]), np.arange(d_model)[np.newaxis, ::2],
                       d_model)[0]
    ### END SOLUTION
    # 2. The blocks in their places; zeros elsewhere.
    ### BEGIN SOLUTION
    matrix = np.zeros((d_model, d_model))
    sine, cosine = np.arange(0, d_model, 2), np.arange(1, d_model, 2)
    matrix[sine, sine] = matrix[cosine, cosine] = np.cos(turns)
    matrix[sine, cosine] = np.sin(turns)
    matrix[cosine, sine] = -np.sin(turns)
    ### END SOLUTION
    return matrix

# %% [markdown]
# <details><summary>Hint 1: the angles</summary>
#
# Your `get_angles` knows the angle of each feature at a position. The angle that a pair turns by in `offset` steps is its angle
# at the "position" `offset`. You need one angle for each pair: ask for every second feature.
# </details>
# <details><summary>Hint 2: the blocks</summary>
#
# A loop over the pairs is fine. The block of pair i is in rows and columns 2i and 2i + 1. Its first row gives the new *sine*: how much of
# the old sine goes into it, and how much of the old cosine?
# </details>
# <details><summary>Hint 3: it goes backwards</summary>
#
# Then the minus is in the wrong corner. Which of the two addition formulas has it?
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_shift_matrix", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("positional_encoding.shift_matrix")

# %% [markdown]
# Does your matrix do what it promises with your encoding? Try one matrix for each offset, on all positions. And is it really a
# rotation? Then it is orthogonal, its determinant is 1 (a reflection has −1), and two shifts in a row are one shift by the sum.

# %% tags=["skip-grading"]
encoding, rows = positional_encoding(200, 64), []
for k in (1, 7, 50, -3):
    here, there = ((encoding[:150], encoding[k : 150 + k]) if k > 0
                   else (encoding[-k:150], encoding[: 150 + k]))
    # the rows are vectors: M PE(pos), all positions at once
    moved = here @ shift_matrix(k, 64).T
    rows.append([f"{k}", f"{len(here)}", f"{np.abs(moved - there).max():.1e}"])
show_table(["offset", "positions", "largest error"], rows)
three = shift_matrix(3, 64)
show_table(["is it a rotation?", ""], [
    ["orthogonal", f"{np.allclose(three.T @ three, np.eye(64))}"],
    ["determinant", f"{np.linalg.det(three):.6f}"],
    ["M(3) M(4) = M(7)",
     f"{np.allclose(three @ shift_matrix(4, 64), shift_matrix(7, 64))}"],
    ["back = transposed", f"{np.allclose(shift_matrix(-3, 64), three.T)}"],
])

# %% [markdown]
# What is it good for? The authors of the paper expected that the projections of attention can easily learn such a rotation. Then a head could
# look at "the word before". Here the rotation is put in by hand: the query is the position's encoding, turned one step **back**. The keys are
# the encodings as they are. The words themselves are left out.

# %% tags=["skip-grading"]
from course_utils.plots.attention import attention_heatmap

eight = ["the", "old", "dog", "bites", "the", "young", "man", "today"]
places = positional_encoding(len(eight), 64)
queries = 8 * places @ shift_matrix(-1, 64).T  # 8: the larger, the sharper
_, weights = scaled_dot_product_attention(queries, places, places)
show_figure(
    attention_heatmap(weights, eight, eight, "A head that looks at the word before"),
    alt="Heat map of 8 by 8 weights: every word from the second on gives most of its "
    "attention to the word before it.",
)

# %% [markdown]
# Trained models really do have such heads ([Voita et al. 2019](https://arxiv.org/abs/1905.09418) call them *positional heads*). And note the
# direction: this head tells *before* from *after*. The dot product alone cannot do that.

# %% [markdown]
# ## 5. Words and positions, added
#
# **A good place for a break.** You have the waves and what they can do. Next they meet the words. If you go on another day, run the cell at the top first, *Continue here*, and then the one with `look_around` in section 1.
#
# A word's vector comes from a table with a row for each word of the vocabulary. In translators such tables usually start with small entries, of size
# $1/\sqrt{d_{model}}$, so the length of a row is close to 1. (PyTorch's `nn.Embedding` starts with entries of size 1 unless you say otherwise.) How long is a row
# of the encoding? Think of its pairs of a sine and a cosine.

# %% tags=["skip-grading"]
predict("positional_encoding.longer_row")

# %% tags=["skip-grading"]
rng = np.random.default_rng(1)
table = rng.standard_normal((1000, 512)) / np.sqrt(512)
places = positional_encoding(60, 512)
lengths = [[np.linalg.norm(rows, axis=1).mean()]
           for rows in (table, places, table * 512**0.5)]
names = ["a word", "a position: the square root of 256", "a word times √512"]
numbers("", names, np.array(lengths), ["length"])
measured("positional_encoding.longer_row",
         shown=round(lengths[1][0] / lengths[0][0]) == 16)

# %% [markdown]
# Each of the $d_{model}/2$ pairs has length 1, so a row of the encoding has length $\sqrt{d_{model}/2}$. Here $d_{model}$ is 512: if the two were simply added, the
# position would be √256 = 16 times as long as the word. Vaswani et al. (2017, section 3.4) multiply the embeddings by $\sqrt{d_{model}}$. Then the word has
# length 22.6, and the position 16. (The paper gives no reason; the sizes above are the usual explanation. Do not confuse it with the $\sqrt{d_k}$ of
# attention, which *divides* the scores.)
#
# ### Exercise 4: `embed_tokens`
#
# $$x_{pos} = \sqrt{d_{model}}\; E_{token(pos)} + PE_{pos}$$
#
# The positions run along a *sentence*. In a batch every sentence gets the same positions. There may be several leading axes.

# %% nbgrader={"grade": false, "grade_id": "embed_tokens", "locked": false, "schema_version": 3, "solution": true, "task": false}
def embed_tokens(token_ids: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Turns tokens into what the first layer of a Transformer gets.

    The token's row of the table, times the square root of d_model, plus the sinusoidal
    encoding of the token's position (Vaswani et al. 2017, sections 3.4 and 3.5).
    Positions are counted from 0 along the last axis of token_ids. The table itself
    stays as it is.

    Args:
        token_ids: integers, (..., seq_len).
        table: one row per token of the vocabulary, (vocab_size, d_model); d_model is
            even.

    Returns:
        Floats, (..., seq_len, d_model).
    """
    # 1. The words, scaled, (..., seq_len, d_model).
    ### BEGIN SOLUTION
    seq_len, d_model = token_ids.shape[-1], table.shape[-1]
    words = table[token_ids] * np.sqrt(d_model)
    ### END SOLUTION
    # 2. Plus their positions.
    ### BEGIN SOLUTION
    x = words + positional_encoding(seq_len, d_model)
    ### END SOLUTION
    return x

# %% [markdown]
# <details><summary>Hint 1: looking up many rows at once</summary>
#
# An array of integers can be used as an index: `table[ids]` has the shape of `ids`, with a row of the table in each place.
# </details>
# <details><summary>Hint 2: a batch does not fit</summary>
#
# `len(ids)` and `ids.shape[0]` count sentences when there is a batch. Which axis counts tokens, always? Broadcasting does the
# rest: (seq_len, d_model) is added to every sentence.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_embed_tokens", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("positional_encoding.embed_tokens")

# %% [markdown]
# Here are the dog and the man again, with the same random projections as in section 1, but with positions this time. Now every row differs.

# %% tags=["skip-grading"]
vocabulary = list(vectors)
# embed_tokens scales it back
vector_table = np.array([vectors[word] for word in vocabulary]) / np.sqrt(6)
for sentence in (old_news, news):
    ids = np.array([vocabulary.index(word) for word in sentence])
    numbers(" ".join(sentence), sentence, look_around(embed_tokens(ids, vector_table)))

# %% [markdown]
# ### Why is adding enough? (optional)
#
# Adding looks risky. Can word and position still be told apart afterwards? You could put the two side by side instead. But the first layer
# multiplies its input by a matrix. Side by side, word and position are multiplied by different rows of it:
#
# $$[\,word,\ position\,]\begin{bmatrix} W_1 \\ W_2 \end{bmatrix} = word\,W_1 + position\,W_2 .$$
#
# If they are added, both are multiplied by the same rows:
#
# $$(word + position)\,W = word\,W + position\,W .$$
#
# So putting them side by side is also adding, only with a second matrix. It costs more features in every layer. Adding costs room: both must
# be readable from the same $d_{model}$ numbers. Is there enough room? In many dimensions, unrelated vectors are nearly at right angles. The
# cell measures that, and then tries the simplest reader there is: **one** linear map that must
# tell, from the sum alone, which of 80 random words it is and which of 40 positions. It is fitted to half of all 3200
# combinations and tested on the other half.

# %% tags=["skip-grading"]
n_words, n_places = 80, 40
# all 3200 combinations
word_of, place_of = (grid.ravel() for grid in np.mgrid[:n_words, :n_places])
wanted = np.hstack([np.eye(n_words)[word_of], np.eye(n_places)[place_of]])
known = np.random.default_rng(2).random(len(wanted)) < 0.5

rows = []
for d_model in (32, 64, 128, 256):
    rng = np.random.default_rng(3)
    words = rng.standard_normal((n_words, d_model))
    waves = positional_encoding(n_places, d_model)
    by_chance = rng.standard_normal(waves.shape) / 2**0.5  # about as long as waves
    right = []
    for places in (waves, by_chance):
        # the ones: so that the map can add a constant
        sums = np.hstack([words[word_of] + places[place_of], np.ones((len(wanted), 1))])
        reader = np.linalg.lstsq(sums[known], wanted[known], rcond=None)[0]
        read = sums[~known] @ reader
        right += [read[:, :n_words].argmax(axis=1) == word_of[~known],
                  read[:, n_words:].argmax(axis=1) == place_of[~known]]
    lengths = np.outer(np.linalg.norm(words, axis=1), np.linalg.norm(waves, axis=1))
    rows.append([f"{d_model}", f"{np.abs(words @ waves.T / lengths).mean():.3f}",
                 *(f"{each.mean():.1%}" for each in right)])
show_table(["d_model", "|cosine| of word and wave", "word right", "position right",
            "word right, random rows", "position right, random rows"], rows)

# %% [markdown]
# With enough features, both can be read from the sum without a mistake, even in combinations that the reader has never seen. With few, the
# position suffers first. Is adding to blame? The last column says no: rows drawn at random, about as long as the waves, can be told apart
# with far fewer features. A likely reason is that the waves of neighbours are so similar, as they are meant to be (section 3). Real models
# have hundreds or thousands of features.

# %% [markdown]
# ## 6. Or let the model learn them
#
# Instead of choosing the vectors, you can learn them: a second table, with a row for each position, filled by gradient descent like
# any other parameter. GPT-2 and BERT do that. Vaswani et al. (2017, table 3, row E) tried both and found nearly identical
# results.
#
# What does it cost? The model gets `max_len · d_model` more parameters, and the table ends somewhere. Position `max_len` has no row, and a
# row that training never
# used is as random as at the start.
#
# ### Exercise 5: `LearnedPositionalEmbedding`
#
# Write a PyTorch module that adds the rows of its table. `nn.Embedding` and `nn.Parameter` are both fine; the check puts its own numbers
# into `self.table`. If a sequence is too long, do not cut it silently, and do not leave the error to PyTorch. Raise a `ValueError` that says
# what is wrong.

# %% nbgrader={"grade": false, "grade_id": "LearnedPositionalEmbedding", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LearnedPositionalEmbedding(nn.Module):
    """Adds a learned vector for each position: row p of the table to whatever is at
    position p.

    Args:
        max_len: number of positions that there are rows for.
        d_model: number of features.

    Attributes:
        table: the learned numbers, (max_len, d_model): an nn.Parameter of that shape,
            or an nn.Embedding(max_len, d_model). The initial values are up to you.
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Adds the first seq_len rows of the table to every sentence; x itself stays as
        it is. Gradients get back to x and to the table.

        Args:
            x: (batch, seq_len, d_model).

        Returns:
            (batch, seq_len, d_model).

        Raises:
            ValueError: seq_len is greater than max_len.
        """
        # 1. Refuse what is too long.
        ### BEGIN SOLUTION
        seq_len, max_len = x.shape[1], self.table.shape[0]
        if seq_len > max_len:
            raise ValueError(f"The sequence has {seq_len} positions, "
                             f"but the table only has {max_len} rows.")
        ### END SOLUTION
        # 2. Words and positions.
        ### BEGIN SOLUTION
        return x + self.table[:seq_len]
        ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: what makes a tensor a parameter?</summary>
#
# `nn.Parameter(tensor)`, set as an attribute of the module. Then `parameters()` finds it, the optimizer changes it, and
# `state_dict()` saves it. An `nn.Embedding` has such a parameter inside, its `weight`, and is called with row numbers
# (`torch.arange`).
# </details>
# <details><summary>Hint 2: which axis?</summary>
#
# In (batch, seq_len, d_model), positions are counted along axis 1. Older PyTorch tutorials put the sequence first; their
# `x.size(0)` is the batch here.
# </details>
# <details><summary>Hint 3: how does forward know max_len?</summary>
#
# From the table itself, or keep it as an attribute when the module is made.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_LearnedPositionalEmbedding", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("positional_encoding.LearnedPositionalEmbedding")

# %% [markdown]
# What does such a table look like once it is learned? Here is the table of the encoder from section 1: 512 positions with 384 features.
# It was trained without any formula for positions: nothing in it says that 7 comes after 6. The cell subtracts the average row, which all
# positions share. Then it shows the cosine similarity of any two of the first 128 positions:

# %% tags=["skip-grading"]
from course_utils.plots.positions import similarity_and_distance

print("parameters of the table:", learned_table.size)
different = learned_table[:128] - learned_table[:128].mean(axis=0)
different /= np.linalg.norm(different, axis=1, keepdims=True)
alike = different @ different.T
distances = (1, 2, 4, 8, 16, 32)
show_table(
    ["distance", *map(str, distances)],
    [["mean similarity", *(f"{np.diag(alike, k).mean():.2f}" for k in distances)]],
)
show_figure(
    similarity_and_distance(
        alike, starts=[30, 60, 90], title="A learned table",
        ylabel="cosine similarity", reach=30,
    ),
    alt="Left: bright diagonal with fainter stripes parallel to it. Right: the curves "
    "of positions 30, 60 and 90 fall steeply on both sides, with a few bumps, and are "
    "similar but not equal.",
)

# %% [markdown]
# You see the same bright diagonal, with stripes along it: neighbours are alike, and similarity depends *mostly* on the distance. The
# sinusoids have this by construction. Here gradient descent has found something like it, though less regular. The bumps even look like waves.

# %% [markdown]
# ### Break it: the wrong rows (optional)
#
# Does it matter *which* row a position gets, as long as all rows differ? Give the encoder its rows in a different order, the same for every
# sentence. Which sentences does it then consider similar? (The words stay where they are; only the rows of the table change places.) There
# are two tests, written for this course:
#
# - **Partners:** 12 pairs that say the same thing in different words. Is each of the 24 sentences most similar to its own partner?
# - **Senses:** 40 words with two meanings. *He runs a small company* should be more similar to *He is the manager of a little firm* than to *He runs a
#   mile every morning*.
#
# What do you expect?

# %% tags=["skip-grading"]
predict("positional_encoding.wrong_rows")

# %% tags=["skip-grading"]
from course_utils.data.meanings import judge
from course_utils.display import show_table
from course_utils.plots.meanings import judged_side_by_side


@torch.no_grad()
def sentence_vectors(sentences: list[str]) -> np.ndarray:
    """The encoder's vectors of sentences, (n, 384): the average of its outputs at
    their words."""
    batch = tokenizer(list(sentences), padding=True, return_tensors="pt")
    real = batch["attention_mask"][..., None]  # (n, seq_len, 1): 0 at padding
    return ((encoder(**batch).last_hidden_state * real).sum(dim=1)
            / real.sum(dim=1)).numpy()


rows, near = np.arange(len(learned_table)), 64  # more than any sentence here needs
tables = {
    "as trained": learned_table,
    "100 further on": learned_table[(rows + 100) % len(rows)],
    "shuffled": learned_table[np.random.default_rng(0).permutation(near)],
    "from back to front": learned_table[near - 1 :: -1],
    "the same row for all": np.repeat(learned_table.mean(axis=0, keepdims=True),
                                      len(rows), axis=0),
}
judged, twins_alike = {}, {}
for name, its_rows in tables.items():
    with torch.no_grad():
        table_of_positions[: len(its_rows)] = torch.tensor(its_rows.copy())
    judged[name] = judge(sentence_vectors)
    dog, man = sentence_vectors([" ".join(old_news), " ".join(news)])
    twins_alike[name] = dog @ man / np.linalg.norm(dog) / np.linalg.norm(man)

# %% tags=["skip-grading"]
show_table(
    ["rows", "partners found", "senses right", "margin",
     "dog bites man, man bites dog"],
    [
        [name, f"{one.found:.0%}", f"{one.senses:.0%}", f"{one.margin:z.2f}",
         f"{twins_alike[name]:.4f}"]
        for name, one in judged.items()
    ],
    "The margin: cosine with the same meaning minus cosine with the same word, "
    "on average",
)
show_figure(
    judged_side_by_side(judged),
    alt="Above, five tables of 12 by 12 similarities, all with a bright diagonal. "
    "Below, bars: most senses are right as trained and with rows from 100 further on; "
    "with shuffled or reversed rows it is little better than a coin.",
)
measured("positional_encoding.wrong_rows",
         shown=judged["shuffled"].found > 0.9 and judged["shuffled"].senses < 0.6)

# %% [markdown]
# Rows from 100 places further on are nearly as good as the right ones. All positions move together, so neighbours are still neighbours. That
# fits the picture above, where mostly the distance counts. If you shuffle the rows or reverse their order, the sense of a word is lost,
# though every position still has a row of its own. The wrong rows are no better than the same row for all. A likely reason, not tested here:
# the encoder's heads have learned what "next to" looks like in *this* table, and now they look in the wrong places.
#
# And the partners? All or nearly all are still found, even with the same row for all. So a bag of words is nearly enough for this test. The last
# column is another warning. Even with its own positions, the encoder treats *the dog bites the man* and *the man bites the dog* as nearly the same. (With 40 words, one word is 2.5 %. Do not read much into a difference of three words.)

# %% [markdown]
# ## 7. Turning instead of adding: rotary embeddings (optional)
#
# Often attention should depend on the *distance* between two words. Look at the score if positions are added: a query at position $m$, a key
# at position $n$, and no projections:
#
# $$(q + p_m) \cdot (k + p_n) = q \cdot k + q \cdot p_n + p_m \cdot k + p_m \cdot p_n .$$
#
# Only the last term is a function of the distance. The two in the middle depend on where in the text the words are. Su et al. (2021,
# [*RoFormer*](https://arxiv.org/abs/2104.09864)) do it differently. Leave the words alone, and in **every attention layer**, after the projections, *turn* the query by its
# position and the key by its own. With $R_m$ for the turn at position $m$:
#
# $$(R_m\,q) \cdot (R_n\,k) = q \cdot R_m^\top R_n\,k = q \cdot R_{n-m}\,k .$$
#
# You know the reason from exercise 3: turns compose, and the transpose turns back. What is left is the words and the distance between them.
# Values are not turned. Llama, Mistral, Qwen and Gemma use such *rotary embeddings*. Here it is by hand in two dimensions. Query and key both point along the
# first axis, and each is turned by one radian per position.

# %%
def turn(vector: list[float], angle: float) -> list[float]:
    """A vector in the plane, turned anticlockwise."""
    a, b = vector
    return [a * math.cos(angle) - b * math.sin(angle),
            a * math.sin(angle) + b * math.cos(angle)]


places, fits = ((0, 2), (5, 7), (40, 42), (5, 8)), []
for m, n in places:
    asks, answers = turn([1.0, 0.0], m), turn([1.0, 0.0], n)
    fits.append([asks[0] * answers[0] + asks[1] * answers[1], math.cos(n - m)])
names = [f"query at {m}, key at {n}" for m, n in places]
numbers("", names, np.array(fits), ["score", "cosine of the distance"], digits=3)

# %% [markdown]
# ### Exercise 6: `rotary_embedding`
#
# The same for $d_k$ features: $d_k/2$ pairs, each with the angle that it has in the sinusoidal encoding,
# $\theta = pos / 10000^{2i/d_k}$ for pair $i$ (Su et al. 2021, equations 14, 15 and 34):
#
# $$\begin{aligned} x'_{2i} &= x_{2i} \cos\theta - x_{2i+1} \sin\theta \\ x'_{2i+1} &= x_{2i} \sin\theta + x_{2i+1} \cos\theta \end{aligned}$$
#
# **Here neighbours form a pair**, features $2i$ and $2i+1$, as in the paper and in GPT-J. Llama's code in the transformers library pairs
# feature $i$ with feature $i + d_k/2$. The two conventions differ in the order of the features. Each is fine for a model that is trained with
# it, but neither works with the other's weights. If you mix them up, you get no error message.

# %% nbgrader={"grade": false, "grade_id": "rotary_embedding", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rotary_embedding(x: np.ndarray, positions: np.ndarray | None = None) -> np.ndarray:
    """Turns each pair of features (2i, 2i + 1) by the angle of its position.

    The angle of pair i at position pos is pos / 10000^(2i / d_k), in radians, and the
    turn is anticlockwise: the pair (1, 0) becomes (cos, sin) of the angle (Su et al.
    2021, equation 34). x itself stays as it is.

    Args:
        x: queries or keys, (..., seq_len, d_k), with d_k even. There may be any leading
            axes.
        positions: integers, (seq_len,), the same for all leading axes; None means 0, 1,
            ..., seq_len - 1.

    Returns:
        Floats of the shape of x.
    """
    if positions is None:
        positions = np.arange(x.shape[-2])
    # 1. The angle of each pair at each position, (seq_len, d_k / 2).
    ### BEGIN SOLUTION
    d_k = x.shape[-1]
    angles = get_angles(positions[:, np.newaxis], np.arange(d_k)[np.newaxis, ::2], d_k)
    cos, sin = np.cos(angles), np.sin(angles)
    ### END SOLUTION
    # 2. The pairs, turned, and back in their places.
    ### BEGIN SOLUTION
    first, second = x[..., 0::2], x[..., 1::2]
    rotated = np.empty(x.shape)
    rotated[..., 0::2] = first * cos - second * sin
    rotated[..., 1::2] = first * sin + second * cos
    ### END SOLUTION
    return rotated

# %% [markdown]
# <details><summary>Hint 1: shapes</summary>
#
# Angles of shape (seq_len, d_k / 2) broadcast against the first features of all pairs, (..., seq_len, d_k / 2), whatever axes come before.
# Three dots in an index mean all leading axes: `x[..., 0::2]`.
# </details>
# <details><summary>Hint 2: the lengths of my vectors change</summary>
#
# Both new features need both *old* ones. If you overwrite the first one and then use it for the second, you use its new value.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_rotary_embedding", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("positional_encoding.rotary_embedding")

# %% [markdown]
# Now move one query and one key through a text at a fixed distance. With rotary embeddings the score stays the same; with added encodings
# it depends on the place.

# %% tags=["skip-grading"]
rng = np.random.default_rng(3)
one_query, one_key = rng.standard_normal((2, 1, 64))
everywhere = positional_encoding(400, 64)
rows = []
for m in (0, 10, 100, 300):
    n = m + 4
    turned = (rotary_embedding(one_query, np.array([m]))
              @ rotary_embedding(one_key, np.array([n])).T)
    added = (one_query + everywhere[m]) @ (one_key + everywhere[n]).T
    rows.append([f"query at {m}, key at {n}",
                 f"{turned.item():.4f}", f"{added.item():.4f}"])
show_table(["", "turned", "added"], rows)

# %% tags=["skip-grading"]
copies = np.repeat(one_query, 60, axis=0)  # the same vector at 60 positions
turned_copies = rotary_embedding(copies)
show_figure(
    similarity_and_distance(turned_copies @ turned_copies.T, starts=[10, 30, 50],
                            title="Scores of one vector, turned"),
    alt="Left: a table that is constant along each diagonal. Right: the curves of "
    "positions 10, 30 and 50 over the distance coincide exactly.",
)
print("lengths kept:", np.allclose(np.linalg.norm(turned_copies, axis=1),
                                   np.linalg.norm(one_query)))

# %% [markdown]
# ### The same as everybody's
#
# GPT-J pairs neighbours as you do; Llama pairs halves. With the features reordered, your function gives Llama's numbers too. You need not open the
# collapsed cell; look at the differences.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
from transformers.models.gptj.modeling_gptj import (
    apply_rotary_pos_emb as turned_by_gptj,
)
from transformers.models.llama.modeling_llama import (
    apply_rotary_pos_emb as turned_by_llama,
)

rng = np.random.default_rng(4)
heads = rng.standard_normal((2, 3, 5, 8))  # (batch, heads, seq_len, d_k)
tensor, ours = torch.tensor(heads), rotary_embedding(heads)
angles = torch.tensor(
    get_angles(np.arange(5)[:, None], np.arange(8)[None, :], 8)[:, ::2]
)

theirs = turned_by_gptj(tensor.transpose(1, 2), angles.sin()[None],
                        angles.cos()[None]).transpose(1, 2)
rows = [["GPT-J's code", f"{np.abs(theirs.numpy() - ours).max():.1e}"]]

# first the first features of all pairs, then the second ones
to_halves = np.r_[0:8:2, 1:8:2]
both = torch.cat([angles, angles], dim=-1)[None]
theirs = turned_by_llama(tensor[..., to_halves], tensor[..., to_halves],
                         both.cos(), both.sin())[0]
rows.append(["Llama's code, features reordered",
             f"{np.abs(theirs.numpy() - ours[..., to_halves]).max():.1e}"])
theirs = turned_by_llama(tensor, tensor, both.cos(), both.sin())[0]
rows.append(["Llama's code, features as they are",
             f"{np.abs(theirs.numpy() - ours).max():.1e}"])
show_table(["largest difference from", ""], rows)

# %% [markdown]
# ## 8. The payoff: does *a* come before *b*?
#
# Take a sentence of random letters, with one *a* and one *b* among them. Which comes first? You see it at a glance. A network has to use the
# order, since every sentence contains both letters once.
#
# For testing, every sentence has a **twin**, in which *a* and *b* have changed places. The right answers for twins are opposite, so exactly
# half of all right answers are *yes*. A network that cannot see order must give both twins the same answer: one is right and one is wrong. So
# it gets exactly 50 %.

# %% tags=["skip-grading"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def letter_sentences(
    count: int, length: int, rng: np.random.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """ids (count, length) with one a (0) and one b (1) each; whether a comes first,
    (count,)."""
    ids = rng.integers(2, len(LETTERS), (count, length))
    places = rng.random((count, length)).argsort(axis=1)[:, :2]
    np.put_along_axis(ids, places, np.array([[0, 1]]), axis=1)
    return torch.tensor(ids), torch.tensor(places[:, 0] < places[:, 1])


def twins(ids: torch.Tensor) -> torch.Tensor:
    """The same sentences with a and b swapped."""
    return torch.where(ids < 2, 1 - ids, ids)


ids, a_first = letter_sentences(3, 12, np.random.default_rng(5))
rows = []
for sentence, twin, answer in zip(ids, twins(ids), a_first, strict=True):
    written, other = ("`" + "".join(LETTERS[i] for i in each) + "`"
                      for each in (sentence, twin))
    rows.append([written, "yes" if answer else "no", other, "no" if answer else "yes"])
show_table(["sentence", "a first?", "its twin", "a first?"], rows)

# %% [markdown]
# The network is small: an embedding, **one** attention layer, a small network at each position, and the average over the
# positions. The attention is PyTorch's; the positions are **yours**.

# %% tags=["skip-grading"]
class OrderClassifier(nn.Module):
    """One attention layer with a kind of positions; a positive output says that a
    comes first."""

    def __init__(self, kind: str, d_model: int = 32, max_len: int = 64):
        super().__init__()
        self.kind = kind
        self.embed = nn.Embedding(len(LETTERS), d_model)
        self.project = nn.Linear(d_model, 3 * d_model, bias=False)
        self.mix = nn.Linear(d_model, d_model)
        self.read = nn.Sequential(nn.Linear(d_model, 64), nn.ReLU(), nn.Linear(64, 1))
        if kind == "sinusoidal":
            self.sinusoids = torch.tensor(positional_encoding(max_len, d_model)).float()
        elif kind == "learned":
            self.learned = LearnedPositionalEmbedding(max_len, d_model)
            nn.init.normal_(next(self.learned.parameters()), std=0.7)  # like the sines

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x, length = self.embed(ids), ids.shape[1]
        if self.kind == "sinusoidal":
            x = x + self.sinusoids[:length]
        elif self.kind == "learned":
            x = self.learned(x)
        query, key, value = self.project(x).chunk(3, dim=-1)
        query, key = self.placed(query), self.placed(key)
        attend = nn.functional.scaled_dot_product_attention
        seen = attend(query, key, value, is_causal=self.kind == "causal mask only")
        return self.read(x + self.mix(seen)).mean(dim=1)[:, 0]

    def placed(self, vectors: torch.Tensor) -> torch.Tensor:
        """Queries or keys, (batch, length, d_model), with positions; none here."""
        return vectors

# %% [markdown]
# Train four networks in the same way on sentences of 12 letters, new ones in every step. The fourth has no positions at all, only a causal
# mask: every letter sees itself and those before it.

# %% tags=["skip-grading"]
import time

torch.set_num_threads(1)  # matrices as small as these gain nothing from a second core
KINDS = ["none", "sinusoidal", "learned", "causal mask only"]
TRAINED_LENGTH, SHOWN = 12, (0, 25, 50, 100, 200, 300)


def trained(kind: str, network: type = OrderClassifier, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    rng = np.random.default_rng(6 + seed)
    model = network(kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(SHOWN[-1] + 1):
        ids, a_first = letter_sentences(128, TRAINED_LENGTH, rng)
        loss = nn.functional.binary_cross_entropy_with_logits(model(ids),
                                                              a_first.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    rows.append([kind, *(f"{losses[step]:.3f}" for step in SHOWN)])
    return model


start, rows = time.perf_counter(), []
models = {kind: trained(kind) for kind in KINDS}
show_table(["loss at step", *map(str, SHOWN)], rows,
           f"All four took {time.perf_counter() - start:.0f} seconds")

# %% [markdown]
# The loss of *none* stays where guessing would put it, at $\ln 2 \approx 0.693$. Now test 2000 new sentences and their twins:

# %% tags=["skip-grading"]
@torch.no_grad()
def share_right(model: OrderClassifier, length: int, count: int = 2000) -> float:
    """Right answers on new sentences and their twins; batches keep long sentences
    within memory."""
    ids, a_first = letter_sentences(count, length, np.random.default_rng(1000 + length))
    ids, answers = torch.cat([ids, twins(ids)]), torch.cat([a_first, ~a_first])
    said = torch.cat([model(part) > 0 for part in ids.split(500)])
    return (said == answers).float().mean().item()


show_table(
    ["positions", f"right on new sentences of {TRAINED_LENGTH} letters"],
    [[kind, f"{share_right(model, TRAINED_LENGTH):.2%}"]
     for kind, model in models.items()],
)

# %% [markdown]
# Without positions the network gets exactly half of the answers right, as section 1 says it must, although it was trained as long as the others. With
# sinusoids or a learned table, the same network learns the task almost perfectly.
#
# And the last row? This network has no positions either, and yet it sees the order. With a causal mask, *b* can look at *a* only if *a* comes first. That is
# enough to answer. (Whether the network does it in this way was not tested.) "A Transformer cannot see order without positions" is
# true of encoders like the first network here. It is not true with a causal mask. Some language models are trained without any positions
# ([Haviv et al. 2022](https://arxiv.org/abs/2203.16634);
# [Kazemnejad et al. 2023](https://arxiv.org/abs/2305.19466)).
#
# ### Find the missing control
#
# The claim: without positions 50 %, with the sinusoids nearly 100 %, so it is the *waves* that show the network the order. Somebody objects:
# "Perhaps any rows would do, as long as each position has its own." (All four run at once. Three of them train networks, so the second cell takes a
# while.)

# %% tags=["skip-grading"]
from course_utils.widgets.controls import find_the_control


class RandomRows(OrderClassifier):
    """Sinusoids replaced by random rows of their length, which are never trained."""

    def __init__(self, kind: str):
        super().__init__("sinusoidal")
        self.sinusoids = torch.randn(self.sinusoids.shape) / 2**0.5


def right_of(kind: str, model: OrderClassifier, length: int = TRAINED_LENGTH) -> list:
    return [kind, f"{share_right(model, length):.1%}"]


# %% tags=["skip-grading"]
find_the_control(
    "positional_encoding.which_rows",
    ["positions", "right"],
    [right_of(kind, models[kind]) for kind in ("none", "sinusoidal")],
    [lambda: [right_of("none, another seed", trained("none", seed=1))],
     lambda: [right_of(f"random rows, seed {seed}",
                       trained("random rows", RandomRows, seed)) for seed in range(3)],
     lambda: [right_of("sinusoidal, 8 letters", models["sinusoidal"], 8)],
     lambda: [right_of(f"sinusoidal, seed {seed}", trained("sinusoidal", seed=seed))
              for seed in (1, 2)]],
)

# %% [markdown]
# So this task does not need waves: fixed random rows, one for each position, do as well. Two other things do set the waves apart: *near is
# near* (section 3), and a step is a rotation (section 4). This task tests neither.
#
# ### Longer than in training (optional)
#
# The sinusoids were chosen because "it may allow the model to extrapolate to sequence lengths longer than the ones encountered
# during training" (Vaswani et al. 2017, section 3.5). You often read that they *do*. Test it with networks that were trained on 12 letters
# only: the four from above, and a fifth with the rotary positions of section 7. Your rotary function is made for NumPy. But turning is
# linear, so it is enough to apply it once to unit vectors. The results form a matrix for each position, and PyTorch can use it.

# %% tags=["skip-grading"]
class RotaryClassifier(OrderClassifier):
    """The same network, with queries and keys turned by your function."""

    def placed(self, vectors: torch.Tensor) -> torch.Tensor:
        _, length, d_model = vectors.shape
        units = np.repeat(np.eye(d_model)[:, None], length, axis=1)  # everywhere
        turns = torch.tensor(rotary_embedding(units)).float()  # (s, length, d_model)
        return torch.einsum("bls,sld->bld", vectors, turns)


last = models.pop("causal mask only")
rows = []
models |= {"rotary": trained("rotary", RotaryClassifier), "causal mask only": last}
show_table(["loss at step", *map(str, SHOWN)], rows)

# %% tags=["skip-grading"]
predict("positional_encoding.longer")

# %% tags=["skip-grading"]
from course_utils.plots.positions import accuracy_by_length

lengths, others = [12, 16, 24, 32, 48, 64], {"rotary": RotaryClassifier}
accuracies = {}  # kind -> shares of three trainings (3, lengths)
for kind, model in models.items():
    again = [trained(kind, others.get(kind, OrderClassifier), seed) for seed in (1, 2)]
    accuracies[kind] = np.array([[share_right(each, length, count=1000)
                                  for length in lengths] for each in (model, *again)])
show_table(
    ["letters", *map(str, lengths)],
    [[kind, *(" to ".join(dict.fromkeys(f"{share:.0%}" for share in ends))
              for ends in zip(shares.min(0), shares.max(0), strict=True))]
     for kind, shares in accuracies.items()],
    "Right answers, three training runs each",
)
show_figure(
    accuracy_by_length(
        lengths, {kind: shares.mean(axis=0) for kind, shares in accuracies.items()},
        TRAINED_LENGTH),
    alt="Share of right answers for sentences of 12 to 64 letters. The network without "
    "positions stays at one half. Sinusoidal, learned and rotary begin near 100 % at "
    "12 letters and fall towards one half; rotary holds up longest of the three. The "
    "causal mask without positions holds up best.",
)
last = {kind: shares[:, -1] for kind, shares in accuracies.items()}
lowest = last.pop("causal mask only").min()
measured("positional_encoding.longer",
         shown=all(lowest > shares.max() for shares in last.values()))

# %% [markdown]
# Sinusoidal, learned and rotary positions all get worse, though not at the same pace. Why? Take the first training run of each and look more closely at 24 letters: where are *a* and *b*, and how far apart are they?
# In training there were positions 0 to 11, and so distances up to 11. The last column is for 48 letters: how often does a network say
# *yes*? About half of the time would be right.

# %% tags=["skip-grading"]
ids, a_first = letter_sentences(8000, 24, np.random.default_rng(7))
places = torch.stack([(ids == letter).int().argmax(dim=1) for letter in (0, 1)])
known, distance = (places < TRAINED_LENGTH).sum(dim=0), (places[0] - places[1]).abs()
groups = {
    "both positions known": known == 2,
    "one known": known == 1,
    "neither": known == 0,
    "distance up to 11": distance < TRAINED_LENGTH,
    "12 or more": distance >= TRAINED_LENGTH,
}
rows = []
for kind in ("sinusoidal", "learned", "rotary"):
    with torch.no_grad():
        right = (models[kind](ids) > 0) == a_first
        yes = models[kind](letter_sentences(2000, 48, np.random.default_rng(8))[0]) > 0
    shares = (right[group].float().mean() for group in groups.values())
    rows.append([kind, *(f"{share:.1%}" for share in shares),
                 f"{yes.float().mean():.1%}"])
show_table(["right answers", *groups, "48 letters: says yes"], rows)

# %% [markdown]
# - **Learned and sinusoidal:** if both letters are at positions known from training, nearly all answers are right. Beyond those, the learned
#   table still contains the random numbers it started with. The waves do continue, but this network
#   does not use them well: in the column *neither* it is right less often than a guess.
# - **Rotary:** only distances enter the scores. And yet even pairs at a distance known from training are often wrong. In long sentences this
#   network gives the same answer nearly every time (last column). A possible reason, not tested here: attention and the average are shared
#   among more letters than in training.
# - The **causal mask** alone does best on this task, in all three training runs.
#
# The numbers depend on the task, and on the seed, by ten points or more on long sentences. But one thing is true of all three training runs:
# positions that *can* be computed for any length do not make a network that works at any length. To make a language model read longer texts,
# people rescale the rotary angles and train on some long texts ([Chen et al. 2023](https://arxiv.org/abs/2306.15595), *position
# interpolation*).
#
# ## Common mistakes, by their symptom
#
# | what you see | likely cause |
# |---|---|
# | angles nearly 0 from the third feature on | exponent not divided by d_model, or parentheses missing |
# | even features right, odd ones slightly off | `/` instead of `//`: k / 2 instead of k // 2 |
# | the last waves are far too fast | base 1000, or the factor 2 missing in the exponent |
# | every second row looks wrong | sine and cosine alternate along the positions, not along the features |
# | row 0 is 1, 0, 1, 0 | sine and cosine swapped |
# | odd features are between 0.5 and 1 | the cosine of a sine: the angles were overwritten |
# | M moves the encoding backwards | the minus in the wrong corner |
# | right for one sentence, an error for a batch | `len(x)` or `shape[0]` used as the number of positions |
# | the model reads every sentence of a batch differently | positions taken from the place in the batch |
# | the positions do not train | a plain tensor, or `.detach()`, instead of an `nn.Parameter` |
# | `index out of range in self` | a sequence longer than the table |
# | loaded weights give nonsense, all shapes fit | pairs (2i, 2i+1) instead of (i, i + d_k/2), or the reverse |
# | no better than chance on anything that depends on order | positions forgotten, or added after the attention |
#
# ## Review quiz

# %% tags=["skip-grading"]
from course_utils import quiz

quiz("positional_encoding")

# %% [markdown]
# ## Going further
#
# - **Nothing but the distance.** Shaw et al. ([2018](https://arxiv.org/abs/1803.02155)) and T5 ([Raffel et al. 2020](https://arxiv.org/abs/1910.10683)) add a learned number for each distance to the
#   scores; ALiBi ([Press et al. 2022](https://arxiv.org/abs/2108.12409)) subtracts a fixed multiple of the distance. Try ALiBi on the order classifier: it needs one line, and
#   does not distinguish left from right. What does that do to "a before b"?
# - **Which wave does what?** Set half of the columns of `self.sinusoids` to zero, the fast or the slow ones, and train again.
#   Which half does this task need?
# - **Longer texts.** Divide the positions by 2 in the rotary classifier and test on 24 letters (position interpolation). Is it better at
#   once, or only after more training?
# - **Several heads.** Lab 03 gives each head its own subspace; rotary embeddings are then applied in each head, with
#   $d_k = d_{model} / heads$. Lab 05 puts your encoding under a whole Transformer.
# - Vaswani et al. (2017), [*Attention is all you need*](https://arxiv.org/abs/1706.03762), sections 3.4 and 3.5, and Su et al. (2021),
#   [*RoFormer*](https://arxiv.org/abs/2104.09864), section 3, are short, and you can now read them.
#
# Save the notebook. If your course uses nbgrader, press **Validate**, then submit it.
