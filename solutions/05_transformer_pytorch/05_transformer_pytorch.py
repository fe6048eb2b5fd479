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
# # Lab 05: the Transformer, in PyTorch
#
# *Jane visite l'Afrique en septembre.* Here you build the machine that translates it: the encoder-decoder **Transformer** of Vaswani et al.
# (2017), layer by layer. Then you train it, and it translates new sentences.
#
# **You need** labs 02 to 04 and the basics of PyTorch.
#
# <details><summary>What you can do after this lab, and its exercises</summary>
#
# **After this lab you can**
#
# - say what encoder and decoder do, and write every layer of both;
# - say what residual connections and LayerNorm are for, and show it with a measurement;
# - put three masks in the right places, and notice when one is missing;
# - train with teacher forcing, label smoothing and warm-up, and say what each of them does;
# - write translations with greedy search and with beam search, and measure how good they are;
# - say what happens if a mask, the shift or the positions are missing, because you have seen it;
# - use professional tools: devices, `DataLoader`, AdamW, fused attention, bfloat16.
#
# | # | exercise | difficulty | importance | minutes | points |
# |---|---|---|---|---|---|
# | 1 | `layer_norm` | ●●○○○ | ●●●○○ | 5 | 2 |
# | 2 | `FeedForward` | ●○○○○ | ●●●○○ | 3 | 2 |
# | 3 | `EncoderLayer` | ●●●○○ | ●●●●● | 10 | 5 |
# | 4 | `Encoder` | ●●○○○ | ●●●●○ | 6 | 3 |
# | 5 | `DecoderLayer` | ●●●○○ | ●●●●● | 8 | 5 |
# | 6 | `Decoder` | ●●○○○ | ●●●○○ | 4 | 2 |
# | 7 | `make_masks` | ●●●○○ | ●●●●● | 6 | 3 |
# | 8 | `Transformer` | ●●○○○ | ●●●●● | 5 | 3 |
# | 9 | `shift_right` | ●●○○○ | ●●●●● | 3 | 2 |
# | 10 | `label_smoothed_loss` | ●●●●○ | ●●●●○ | 10 | 4 |
# | 11 | `warmup_schedule` | ●○○○○ | ●●●○○ | 3 | 1 |
# | 12 | `train_step` | ●●○○○ | ●●●●● | 6 | 3 |
# | 13 | `greedy_decode` | ●●●○○ | ●●●●● | 8 | 4 |
# | 14 | `beam_search` | ●●●●● | ●●●○○ | 13 | 4 |
# </details>
#
# **Time:** about 150 minutes; the computer needs {measured_seconds} seconds.
#
# **The core path** is exercises 1 to 13 with sections 1 to 8 and 10, about 104 minutes, plus 7 minutes for the review quiz. Two sittings: *build*
# (sections 1 to 6, about 60 minutes), *train and use* (7, 8 and 10, about 44). The optional rest is a third.
#
# The next cell takes your own attention and positions if they pass their checks.

# %%
import math

import numpy as np
import torch
from torch import nn

from course_utils import inputs_of
from course_utils.yours import MultiHeadAttention, sinusoidal_positions

torch.set_printoptions(precision=3, sci_mode=False)

# %% [markdown]
# You build everything with a thick frame. Run the cell again after an exercise: the drawing fills in.

# %% tags=["skip-grading"]
from course_utils.plots.whole import show_transformer

show_transformer("transformer_pytorch")

# %% [markdown]
# This is what yours will do. Type French. The table shows which French word the model looked at before it wrote each English one:

# %% tags=["skip-grading"]
from course_utils.models.translator import LibraryTranslator
from course_utils.plots.translate import translate_box

finished = LibraryTranslator.shipped()  # PyTorch's layers, weights of the course
translate_box(finished, ["Jane visite l'Afrique en septembre",
                         "Ma sœur n'aime plus la voiture rouge de Paul"],
              vocabulary=finished.checkpoint.source_vocabulary)

# %% [markdown]
# ## Part 1: build
#
# ## 1. A translator in two halves
#
# If you translate word by word, you fail at once. *l'Afrique* is two French words and one English one; the adjective changes places (*une
# voiture rouge*, *a red car*); and *n'aime plus* becomes *no longer loves*. A translator has to read the whole
# sentence first. So the model has two halves:
#
# - The **encoder** reads the whole French sentence at once, and turns each word into a vector that reflects its context. These vectors are
#   called the **memory**.
# - The **decoder** writes the English sentence, one word at a time. Before each word it looks at what it has written so far, and
#   at the memory.
#
# Go closer, one step at a time, from the black box to a single head of attention:

# %% tags=["skip-grading", "picture"]
from course_utils.widgets.zoom import zoom

zoom()

# %% [markdown]
# Lab 01 did the same with recurrent networks. The difference is inside: there is no recurrence any more, only attention, and small networks
# that process each word separately. (It is not a convolutional network with attention added, as you sometimes read: there is no convolution
# in it. What the two have in common is that all positions are computed at once.)
#
# The data comes from a grammar that writes French and English together, so that every translation is right. Some words never appear
# together in training (a certain verb and a certain country, say): sentences that combine them are kept for the last test, in section 8.

# %% tags=["skip-grading"]
from course_utils.data.pairs import split_pairs
from course_utils.data.translation import translation_pairs
from course_utils.data.vocabulary import Vocabulary

sentences = translation_pairs(24_000, seed=5)
splits = split_pairs(sentences, validation=300, test=500, seed=5)
french = Vocabulary.from_texts(pair.source for pair in splits.train)
english = Vocabulary.from_texts(pair.target for pair in splits.train)
for pair in (*splits.test[:1], *splits.train[:6]):
    print(f"{pair.source}\n    {pair.target}")
print(f"\n{len(splits.train)} pairs for training,", end=" ")
print(f"{len(french)} French and {len(english)} English words and marks")
print(f"Jane's sentence is not among them: {splits.test[0] not in splits.train}")
jane = french.encode(splits.test[0].source)
print("ids:", jane, " tokens:", french.tokens(jane))

# %% [markdown]
# A sentence becomes a list of **ids**, one for each word or punctuation mark, with `<eos>` (end of sentence, id 2) at the end. Id 0 is
# padding, and id 1, `<bos>`, means *begin*: you will need it soon.
#
# A note on names before you start. Papers and libraries use different names for the same sizes. The classes here use those of a well-known
# online assignment, and so does lab 06:
#
# | here | paper | what it is |
# |---|---|---|
# | `num_layers` | $N$ | layers of the encoder, and of the decoder |
# | `embedding_dim` | $d_\mathrm{model}$ | width of every vector between the layers |
# | `num_heads` | $h$ | heads of each attention; a head has the size `embedding_dim // num_heads` |
# | `fully_connected_dim` | $d_{ff}$ | inner width of the feed-forward network |
#
# ## 2. Two small parts
#
# ### LayerNorm
#
# Layers add things up, and sums grow. **Layer normalisation** ([Ba et al. 2016](https://arxiv.org/abs/1607.06450)) brings every word's vector back
# to a known size. Subtract its mean and divide by its standard deviation. Then scale and shift each feature by two learned vectors, γ and β (⊙
# multiplies entry by entry):
#
# $$\mathrm{LayerNorm}(x) = \gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta
# \qquad \mu = \frac{1}{d}\sum_i x_i \qquad \sigma^2 = \frac{1}{d}\sum_i (x_i - \mu)^2$$
#
# A word with four features, in numbers:

# %%
word = [1.0, 2.0, 3.0, 6.0]
mean = sum(word) / 4
variance = sum((feature - mean) ** 2 for feature in word) / 4
deviation = math.sqrt(variance)
print("mean", mean, " variance", variance, " standard deviation", round(deviation, 3))
print("normalised:", [round((feature - mean) / deviation, 3) for feature in word])

# %% [markdown]
# ### Exercise 1: `layer_norm`
#
# Normalise each word separately, over its own features: the last axis. Neither the other words nor the other sentences of the batch play a
# part (that is the difference from batch normalisation).

# %% nbgrader={"grade": false, "grade_id": "layer_norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
def layer_norm(
    x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float = 1e-6
) -> torch.Tensor:
    """Layer normalisation (Ba et al. 2016): each word's features get mean 0 and
    variance 1, then γ and β. Written out, without PyTorch's own layer_norm.

    Args:
        x: (..., features), float32.
        gamma, beta: (features,), the learned scale and offset.
        eps: added to the variance, so that nothing is ever divided by 0.

    Returns:
        (..., features), float32, too. The variance is the mean of the squared distances
        from the mean: divided by d, not by d - 1. Gradients reach x, gamma and beta.
    """
    # 1. Mean and variance of each word, (..., 1).
    ### BEGIN SOLUTION
    mean = x.mean(dim=-1, keepdim=True)
    variance = (x - mean).square().mean(dim=-1, keepdim=True)
    ### END SOLUTION
    # 2. Normalise, then scale and shift.
    ### BEGIN SOLUTION
    return gamma * (x - mean) / torch.sqrt(variance + eps) + beta
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: the shapes do not fit</summary>
#
# `x.mean(dim=-1)` drops the axis that it averages over. `keepdim=True` keeps it, with length 1, so that the result broadcasts against `x`.
# </details>
# <details><summary>Hint 2: nearly right, a little too small</summary>
#
# By default, PyTorch's `var` divides by $d - 1$. Look for `correction` in its documentation.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_layer_norm", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_pytorch.layer_norm")

# %% [markdown]
# PyTorch has this as a layer, `nn.LayerNorm`, with γ as its `weight` and β as its `bias`. From here on you use that.
#
# ### Exercise 2: `FeedForward`
#
# Attention moves information *between* words. Each word then processes it in a small network that sees one word at a time and is the same
# for all positions (Vaswani et al. 2017, equation 2):
#
# $$\mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2$$
#
# The check sets the weights itself, so it has to find them by the names given in the docstring. The same is true of all exercises that follow.

# %% nbgrader={"grade": false, "grade_id": "FeedForward", "locked": false, "schema_version": 3, "solution": true, "task": false}
class FeedForward(nn.Module):
    """Position-wise feed-forward network (Vaswani et al. 2017, equation 2), without
    residual connection and dropout.

    Its parameters are those of two `nn.Linear` layers: `linear1`, from embedding_dim to
    fully_connected_dim, and `linear2`, back again.

    As in every module of this lab, gradients reach the inputs and all parameters, and
    `forward` leaves the module in the mode it is in, training or evaluation.
    """

    def __init__(self, embedding_dim: int, fully_connected_dim: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.linear1 = nn.Linear(embedding_dim, fully_connected_dim)
        self.linear2 = nn.Linear(fully_connected_dim, embedding_dim)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (..., embedding_dim) -> (..., embedding_dim), in x's dtype."""
        ### BEGIN SOLUTION
        return self.linear2(torch.relu(self.linear1(x)))
        ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: how does a linear layer know its sizes?</summary>
#
# `nn.Linear(inputs, outputs)` takes two sizes: how many numbers come in for each word, and how many go out. The first layer goes from the narrow width to
# the wide one. And the second? Each layer contains its own $W$ and $b$, so you do not have to make any matrix.
# </details>
# <details><summary>Hint 2: how do I take max(0, ...) of a whole tensor?</summary>
#
# This function is called the *rectified linear unit*, and PyTorch has it under the abbreviation of that name, as a function and as a layer. Read
# equation 2 from the inside outwards: what is computed first, what next, what last?
# </details>
# <details><summary>Hint 3: the check finds no parameter linear1.weight</summary>
#
# It looks for the layers under the names `linear1` and `linear2`. They have to be attributes of the module (`self.`...), created in
# `__init__`; `forward` only uses them.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_FeedForward", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_pytorch.FeedForward")

# %% [markdown]
# ## 3. The encoder
#
# ### Add & norm
#
# Attention and the feed-forward network are the two **sub-layers** of an encoder layer. Neither is used alone. The output of each is *added* to
# what went in (a **residual connection**, [He et al. 2016](https://arxiv.org/abs/1512.03385)), and the sum is normalised:
#
# $$x \leftarrow \mathrm{LayerNorm}\big(x + \mathrm{Dropout}(\mathrm{Sublayer}(x))\big)$$
#
# **Dropout** sets some of the numbers to 0 while the model is trained, here one in ten, chosen at random each time ([Srivastava et al.
# 2014](https://jmlr.org/papers/v15/srivastava14a.html)). So no feature can rely on any single other one.
#
# Why the sum and the LayerNorm? Measure it. Here are 24 encoder layers with random weights: complete, without the sum, without the LayerNorm, and without both.
# On the way up, the cell records how large the vectors are, and how similar the words of a sentence are to each other (the mean cosine between two
# words). On the way down, it records how large a gradient reaches each layer.

# %% tags=["skip-grading"]
from course_utils.widgets.predict import measured, predict

predict("transformer_pytorch.depth")

# %% tags=["skip-grading"]
from course_utils.plots import show_figure
from course_utils.plots.transformer import curves_over_depth


def travel(residual: bool, normalise: bool, depth: int = 24) -> list[list[float]]:
    """Size, likeness of the words, and gradient after each of `depth` random layers."""
    torch.manual_seed(0)
    states = [torch.randn(8, 10, 64, requires_grad=True)]
    for _ in range(depth):
        attention, network = MultiHeadAttention(64, 4), FeedForward(64, 256)
        x = states[-1]
        for sublayer in (lambda x, attend=attention: attend(x, x, x)[0], network):
            x = x + sublayer(x) if residual else sublayer(x)
            x = nn.functional.layer_norm(x, (64,)) if normalise else x
        x.retain_grad()
        states.append(x)
    (states[-1] * torch.randn(8, 10, 64)).sum().backward()
    unit = [nn.functional.normalize(x.detach(), dim=-1) for x in states]
    alike = [float((u @ u.mT).mean() * 10 / 9 - 1 / 9) for u in unit]
    sizes = [float(x.detach().std()) for x in states]
    return [sizes, alike, [float(x.grad.norm()) for x in states]]


ways = {
    "both": (True, True), "no sum": (False, True),
    "no LayerNorm": (True, False), "neither": (False, False),
}
journeys = {name: travel(*way) for name, way in ways.items()}

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
titles = ["size of the vectors", "likeness of the words", "gradient that arrives"]
panels = {
    title: {name: found[number] for name, found in journeys.items()}
    for number, title in enumerate(titles)
}
show_figure(
    curves_over_depth(panels, log=[True, False, True]),
    alt="Three panels over 24 layers. With sum and LayerNorm the vectors keep their "
    "size, the words slowly become alike, and the gradient stays level. Without "
    "the sum all words are alike after two layers; without LayerNorm the size "
    "grows from layer to layer; with neither, the gradient falls by many orders "
    "of magnitude.",
)
arrives = {name: found[2][0] for name, found in journeys.items()}
faintest = arrives.pop("neither")
measured("transformer_pytorch.depth",
         shown=faintest < 1e-3 * min(arrives.values()))

# %% [markdown]
# Without the sum, attention averages the words until they are all the same, after a layer or two ([Dong et al. 2021](https://arxiv.org/abs/2103.03404) prove it): ten words
# that say one thing. With the sum they still grow alike, as the middle panel shows, but slowly: after 24 random layers they can still be told apart.
# LayerNorm keeps the size steady, whatever the sub-layers do, and with it the gradient. Remove both, and practically no gradient reaches the
# lower layers.
#
# ### Find the missing control
#
# The claim of the paragraph above: without the sum, the words become the same *because attention averages them*. Somebody objects: "There is a
# feed-forward network in every layer, too. Perhaps that does it."

# %% tags=["skip-grading"]
from course_utils.widgets.controls import find_the_control


@torch.no_grad()
def alike(name: str, seed=0, heads=4, attend=True, residual=False) -> list[str]:
    """Likeness of the words after 1, 4 and 24 random layers, with LayerNorm."""
    torch.manual_seed(seed)
    x, after = torch.randn(8, 10, 64), []
    for _ in range(24):
        attention, network = MultiHeadAttention(64, heads), FeedForward(64, 256)
        for part in [lambda x, look=attention: look(x, x, x)[0]] * attend + [network]:
            x = x + part(x) if residual else part(x)
            x = nn.functional.layer_norm(x, (64,))
        unit = nn.functional.normalize(x, dim=-1)
        after.append(float((unit @ unit.mT).mean() * 10 / 9 - 1 / 9))
    return [name, *(f"{after[layer - 1]:.2f}" for layer in (1, 4, 24))]


find_the_control(
    "transformer_pytorch.who_averages",
    ["", "after 1 layer", "after 4", "after 24"],
    [alike("no sum"), alike("with the sum", residual=True)],
    [lambda: [alike(f"no sum, seed {seed}", seed) for seed in (1, 2)],
     lambda: [alike("no sum, 16 heads", heads=16)],
     lambda: [alike(f"no sum, no attention, seed {seed}", seed, attend=False)
              for seed in range(3)],
     lambda: [alike(f"with the sum, seed {seed}", seed, residual=True)
              for seed in (1, 2)]],
)

# %% [markdown]
# ### Sum or norm?
#
# So when you read that *Transformers don't suffer from vanishing gradients*, remember: it is true that the path between two **words** no
# longer grows with their distance. But the path through the **layers** is as long as ever. The figure shows what keeps it open: the sum *or*
# LayerNorm is enough for the gradient, which vanishes only without both. But without the sum the words do not stay apart. (These layers
# are random. Training can push words apart again, or together.)
#
# Where should the LayerNorm go? The paper puts it after the sum (**post-norm**). Most later models put it before the sub-layer
# (**pre-norm**). Follow the residual path from $x$ upwards: in which form does it meet no LayerNorm?

# %% tags=["skip-grading", "picture"]
from course_utils.plots.transformer import post_and_pre_norm

post_and_pre_norm()

# %% [markdown]
# The same as formulas:
#
# $$\begin{aligned}
# \text{post-norm: } x &\leftarrow \mathrm{norm}(x + \mathrm{dropout}(\mathrm{sublayer}(x))) \\
# \text{pre-norm: } x &\leftarrow x + \mathrm{dropout}(\mathrm{sublayer}(\mathrm{norm}(x)))
# \end{aligned}$$
#
# In the next exercise you write both, with the switch `norm_first`. Section 9 compares them.
#
# ### Exercise 3: `EncoderLayer`

# %% nbgrader={"grade": false, "grade_id": "EncoderLayer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class EncoderLayer(nn.Module):
    """A layer of the encoder (Vaswani et al. 2017, section 3.1): self-attention, then
    the feed-forward network.

    Each of the two has its own LayerNorm, norm1 and norm2. Dropout is applied to the
    output of a sub-layer, before x is added; in evaluation mode nothing is dropped.
    """

    def __init__(
        self, embedding_dim: int, num_heads: int, fully_connected_dim: int,
        dropout_rate: float = 0.1, layernorm_eps: float = 1e-6,
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(
        self, x: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """x: (batch, src_len, embedding_dim); mask: (batch, 1, 1, src_len), True = may
        attend; None hides nothing. Returns x's shape.

        `self.self_attention(query, key, value, mask)` gives (output, weights).
        """
        if not self.norm_first:
            # Post-norm: sub-layer, dropout, sum, LayerNorm; twice.
            ### BEGIN SOLUTION
            attended, _ = self.self_attention(x, x, x, mask)
            x = self.norm1(x + self.dropout(attended))
            x = self.norm2(x + self.dropout(self.feed_forward(x)))
            ### END SOLUTION
        else:
            # Pre-norm: LayerNorm, sub-layer, dropout, sum; twice. Only the sub-layer
            # sees the normalised copy.
            ### BEGIN SOLUTION
            normed = self.norm1(x)
            attended, _ = self.self_attention(normed, normed, normed, mask)
            x = x + self.dropout(attended)
            x = x + self.dropout(self.feed_forward(self.norm2(x)))
            ### END SOLUTION
        return x

# %% [markdown]
# <details><summary>Hint 1: it is right without dropout, and wrong with it</summary>
#
# `self.dropout` is a module: it knows whether the layer is in training or evaluation mode. Apply it to the output of a sub-layer, before
# anything is added. The check uses dropout_rate=1: then in training each sub-layer's output is 0, and only the residual path is left.
# </details>
# <details><summary>Hint 2: the check says that a LayerNorm is used twice, but my values look fine</summary>
#
# A fresh LayerNorm has γ = 1 and β = 0, so two fresh ones are the same. The check gives them different values.
# </details>
# <details><summary>Hint 3: one case fails and I cannot see why</summary>
#
# `case = inputs_of("transformer_pytorch.EncoderLayer", case=1)` gives you its inputs: `case["config"]` for the constructor, `case["x"]` and
# `case["mask"]` as arrays (`torch.from_numpy` turns them into tensors).
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_EncoderLayer", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_pytorch.EncoderLayer")

# %% [markdown]
# ### Exercise 4: `Encoder`
#
# The encoder goes from ids to the memory. Look up each word's embedding and multiply it by $\sqrt{d_\mathrm{model}}$ (section 3.4 of the paper). Add
# the positions. Apply dropout to the sum (section 5.4). Then go
# through the layers, one after the other.
#
# Most of the constructor is written already. The embeddings start with a spread of $1/\sqrt{d_\mathrm{model}}$, so that after the multiplication it
# is 1. The paper gives no reason for multiplying. Probably it makes the embeddings as large as the positions. Positions are not parameters:
# `register_buffer` keeps them in the module, but out of the optimizer.

# %% nbgrader={"grade": false, "grade_id": "Encoder", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Encoder(nn.Module):
    """Embedding and positions, then num_layers encoder layers in `layers`; pre-norm has
    one more LayerNorm at the end.
    """

    def __init__(
        self, num_layers: int, embedding_dim: int, num_heads: int,
        fully_connected_dim: int, source_vocab_size: int, max_len: int,
        dropout_rate: float = 0.1, layernorm_eps: float = 1e-6,
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        nn.init.normal_(self.embedding.weight, std=embedding_dim**-0.5)
        positions = sinusoidal_positions(max_len, embedding_dim)
        self.register_buffer("positions", positions, persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        last_norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm = last_norm if norm_first else nn.Identity()
        # `self.layers`: the encoder layers, each with its own weights, where PyTorch
        # finds them.
        ### BEGIN SOLUTION
        self.layers = nn.ModuleList(
            EncoderLayer(embedding_dim, num_heads, fully_connected_dim,
                         dropout_rate, layernorm_eps, norm_first)
            for _ in range(num_layers)
        )
        ### END SOLUTION

    def forward(
        self, source_ids: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """source_ids: (batch, src_len); mask: (batch, 1, 1, src_len), None hides
        nothing. Returns the memory, (batch, src_len, embedding_dim).
        """
        # 1. Embeddings, scaled; positions 0, 1, 2, ... (one row of self.positions
        # each); dropout.
        ### BEGIN SOLUTION
        scale = math.sqrt(self.embedding.embedding_dim)
        x = self.dropout(scale * self.embedding(source_ids)
                         + self.positions[: source_ids.shape[1]])
        ### END SOLUTION
        # 2. The layers.
        ### BEGIN SOLUTION
        for encoder_layer in self.layers:
            x = encoder_layer(x, mask)
        ### END SOLUTION
        return self.norm(x)

# %% [markdown]
# <details><summary>Hint 1: there is no parameter layers.0...</summary>
#
# A plain Python list hides its modules: PyTorch does not look inside. It does look inside an `nn.ModuleList`. And `[layer] * 2` is the same
# layer twice.
# </details>
# <details><summary>Hint 2: I get "The size of tensor a (7) must match the size of tensor b (11)"</summary>
#
# The table of positions has `max_len` rows, but a sentence has fewer words. Take only as many rows as there are words, from the start. Which axis of
# `source_ids` counts them?
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_Encoder", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_pytorch.Encoder")

# %% [markdown]
# Try it with one short sentence, alone and padded. Without a mask its real words look at the padding, and the sentence means
# something else as soon as there is a longer sentence in the batch. With the mask it is the same sentence, alone or in company.

# %%
torch.manual_seed(1)
small_encoder = Encoder(2, 16, 4, 32, source_vocab_size=50, max_len=20).eval()
alone = torch.tensor([[7, 8, 2]])
in_company = torch.tensor([[7, 8, 2, 0, 0, 0]])  # the same, padded for a neighbour
real = torch.tensor([[[[True, True, True, False, False, False]]]])
with torch.no_grad():
    wanted = small_encoder(alone)
    for name, mask in {"no mask": None, "with the mask": real}.items():
        moved = (small_encoder(in_company, mask)[:, :3] - wanted).abs().max()
        print(f"{name:14} largest change of a real word: {moved:.6f}")

# %% [markdown]
# ## 4. The decoder
#
# A decoder layer has three sub-layers, each with add & norm:
#
# 1. **masked self-attention**: each English word looks at those before it and at itself;
# 2. **cross-attention**: queries from the English words, keys *and* values from the memory (lab 02's encoder-decoder attention);
# 3. the feed-forward network.
#
# ### Exercise 5: `DecoderLayer`
#
# The layer takes two masks. Ask of each: whose keys is it about? In the pre-norm form only `x` is normalised; the memory has already been
# normalised, at the end of the encoder.

# %% nbgrader={"grade": false, "grade_id": "DecoderLayer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class DecoderLayer(nn.Module):
    """A layer of the decoder (section 3.1): masked self-attention, cross-attention,
    feed-forward network.

    norm1, norm2 and norm3 belong to them, in this order. Dropout is as in the encoder
    layer.
    """

    def __init__(
        self, embedding_dim: int, num_heads: int, fully_connected_dim: int,
        dropout_rate: float = 0.1, layernorm_eps: float = 1e-6,
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(
        self, x: torch.Tensor, memory: torch.Tensor,
        target_mask: torch.Tensor | None = None,
        source_mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """
        Args:
            x: (batch, tgt_len, embedding_dim).
            memory: (batch, src_len, embedding_dim).
            target_mask: (batch, 1, tgt_len, tgt_len), the past and no padding.
            source_mask: (batch, 1, 1, src_len). A mask that is None hides nothing.

        Returns:
            output (batch, tgt_len, embedding_dim); the weights of the self-attention
            (batch, heads, tgt_len, tgt_len) and of the cross-attention (batch, heads,
            tgt_len, src_len).
        """
        if not self.norm_first:
            ### BEGIN SOLUTION
            attended, self_weights = self.self_attention(x, x, x, target_mask)
            x = self.norm1(x + self.dropout(attended))
            attended, cross_weights = self.cross_attention(
                x, memory, memory, source_mask
            )
            x = self.norm2(x + self.dropout(attended))
            x = self.norm3(x + self.dropout(self.feed_forward(x)))
            ### END SOLUTION
        else:
            ### BEGIN SOLUTION
            normed = self.norm1(x)
            attended, self_weights = self.self_attention(
                normed, normed, normed, target_mask
            )
            x = x + self.dropout(attended)
            attended, cross_weights = self.cross_attention(
                self.norm2(x), memory, memory, source_mask
            )
            x = x + self.dropout(attended)
            x = x + self.dropout(self.feed_forward(self.norm3(x)))
            ### END SOLUTION
        return x, self_weights, cross_weights

# %% [markdown]
# <details><summary>Hint 1: where do I begin?</summary>
#
# With your EncoderLayer: its two sub-layers are the first and the last of these three. The one in the middle is new, and is wrapped in the
# same way. Keep the weights that each attention returns as its second result: this layer returns them, too.
# </details>
# <details><summary>Hint 2: the sizes of tensors do not match in the cross-attention</summary>
#
# The output has one row for each *query*, so the queries come from `x`. Keys and values belong together, in pairs, so both come from
# `memory`; and a mask is about the keys.
# </details>
# <details><summary>Hint 3: post-norm is right, pre-norm is not</summary>
#
# For each of the three sub-layers, ask two questions. What goes in? (A copy of `x`, normalised by the norm with the same number.) What is the
# result added to? (`x` as it was.) The memory is not normalised here.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_DecoderLayer", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_pytorch.DecoderLayer")

# %% [markdown]
# ### Exercise 6: `Decoder`
#
# The decoder is like the encoder, but every layer gets the memory, and the decoder keeps each layer's cross-attention weights. At the end of the lab
# you will look at them.

# %% nbgrader={"grade": false, "grade_id": "Decoder", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Decoder(nn.Module):
    """Embedding and positions, then num_layers decoder layers; pre-norm has one more
    LayerNorm at the end.
    """

    def __init__(
        self, num_layers: int, embedding_dim: int, num_heads: int,
        fully_connected_dim: int, target_vocab_size: int, max_len: int,
        dropout_rate: float = 0.1, layernorm_eps: float = 1e-6,
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(target_vocab_size, embedding_dim)
        nn.init.normal_(self.embedding.weight, std=embedding_dim**-0.5)
        positions = sinusoidal_positions(max_len, embedding_dim)
        self.register_buffer("positions", positions, persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        last_norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm = last_norm if norm_first else nn.Identity()
        sizes = (embedding_dim, num_heads, fully_connected_dim)
        options = (dropout_rate, layernorm_eps, norm_first)
        layers = [DecoderLayer(*sizes, *options) for _ in range(num_layers)]
        self.layers = nn.ModuleList(layers)

    def forward(
        self, target_ids: torch.Tensor, memory: torch.Tensor,
        target_mask: torch.Tensor | None = None,
        source_mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """
        Args:
            target_ids: (batch, tgt_len).
            memory: (batch, src_len, embedding_dim).
            target_mask, source_mask: as in DecoderLayer.

        Returns:
            output (batch, tgt_len, embedding_dim); a list with each layer's
            cross-attention weights, in order, each (batch, heads, tgt_len, src_len).
        """
        # 1. Embeddings, scaled; positions; dropout: as in the encoder.
        ### BEGIN SOLUTION
        scale = math.sqrt(self.embedding.embedding_dim)
        x = self.dropout(scale * self.embedding(target_ids)
                         + self.positions[: target_ids.shape[1]])
        ### END SOLUTION
        # 2. The layers, and what each of them looked at.
        ### BEGIN SOLUTION
        cross_attention = []
        for decoder_layer in self.layers:
            x, _, cross_weights = decoder_layer(x, memory, target_mask, source_mask)
            cross_attention.append(cross_weights)
        ### END SOLUTION
        return self.norm(x), cross_attention

# %% [markdown]
# <details><summary>Hint 1: may I copy from the encoder?</summary>
#
# The first line, yes. Then look at what has a different name here: the ids, their embedding, and the number of words.
# </details>
# <details><summary>Hint 2: I keep getting a tuple where a tensor should be</summary>
#
# A decoder layer returns three things. Which one does the next layer read? Which one is kept in the list? And which one is not needed here?
# </details>
# <details><summary>Hint 3: right without masks, wrong with them</summary>
#
# Each layer takes both masks. What order does your DecoderLayer's `forward` take them in? Passing them by name is safe.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_Decoder", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_pytorch.Decoder")

# %% [markdown]
# ## 5. Three attentions, two masks
#
# | attention | queries | keys, values | mask |
# |---|---|---|---|
# | encoder's self-attention | French | French | French padding |
# | decoder's self-attention | English | English | English padding **and** the future |
# | cross-attention | English | French | French padding |
#
# Most mistakes happen in the last row: the queries are English, but a mask is about keys. If both sentences happen to have the same length,
# the wrong mask fits, and nothing warns you.
#
# ### Exercise 7: `make_masks`
#
# The attention's scores have the shape (batch, heads, q_len, k_len). Give each mask four axes, with length 1 where it is the same for all.

# %% nbgrader={"grade": false, "grade_id": "make_masks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def make_masks(
    source_ids: torch.Tensor, target_ids: torch.Tensor, pad_id: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    """The masks of a batch; True = may attend.

    Args:
        source_ids: (batch, src_len). target_ids: (batch, tgt_len). Padding, with the id
            pad_id, is at the end.

    Returns:
        source_mask (batch, 1, 1, src_len), booleans: the source's real words.
        target_mask (batch, 1, tgt_len, tgt_len), booleans: for each target position
        (row) the real words (columns) up to and including itself.
    """
    ### BEGIN SOLUTION
    source_mask = (source_ids != pad_id)[:, None, None, :]
    length = target_ids.shape[1]
    square = torch.ones(length, length, dtype=torch.bool, device=target_ids.device)
    causal = square.tril()
    target_mask = (target_ids != pad_id)[:, None, None, :] & causal
    ### END SOLUTION
    return source_mask, target_mask

# %% [markdown]
# <details><summary>Hint 1: new axes, and the triangle</summary>
#
# `ids[:, None, :]` puts an axis of length 1 in the middle. `torch.tril` keeps the lower triangle of a matrix, even one of booleans; or
# compare two `torch.arange`, one as a column and one as a row. `&` is *and* for boolean tensors, and it broadcasts.
# </details>
# <details><summary>Hint 2: which words of the target may be seen?</summary>
#
# There are two conditions, and both must be true. The word is real: this depends on the sentence and on the column. The word is not later than the row: this is
# the same for all sentences. Make a mask for each, look at both shapes, and let broadcasting combine them.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_make_masks", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_pytorch.make_masks")

# %% [markdown]
# Here are all the masks of one real batch: Jane's sentence and a short one. What the decoder reads begins with `<bos>` (section 7 says
# why).

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
from course_utils.data.batches import encode_batch
from course_utils.plots.transformer import MaskTable, mask_tables

source = torch.from_numpy(encode_batch([splits.test[0].source, "Elle parle"], french))
target = torch.from_numpy(encode_batch([splits.test[0].target, "She speaks"], english))
target = torch.cat([torch.ones(2, 1, dtype=torch.long), target], dim=1)[:, :-1]
masks = [mask.numpy() for mask in make_masks(source, target)]
tables = []
for row in range(2):
    fr, en = french.tokens(source[row].tolist()), english.tokens(target[row].tolist())
    tables += [
        MaskTable("encoder: French to French", masks[0][row, 0], fr, fr),
        MaskTable("decoder: English to English", masks[1][row, 0], en, en),
        MaskTable("cross: English to French", masks[0][row, 0], en, fr),
    ]
show_figure(
    mask_tables(tables),
    alt="Six tables of who may look at whom. In Jane's sentence everything French is "
    "allowed and English forms a triangle. In the short sentence, columns of "
    "padding are blocked in all three tables.",
)

# %% [markdown]
# ## 6. The Transformer
#
# ### Exercise 8: `Transformer`
#
# Encoder, decoder, and one last linear layer that gives every English word a score at every position: the **logits**. There is no softmax
# at the end: the loss takes logits. (You may read that *the final softmax gives log-probabilities*. It gives probabilities; log-softmax
# gives their logarithms.)
#
# You know by now which mask goes where.

# %% nbgrader={"grade": false, "grade_id": "Transformer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Transformer(nn.Module):
    """The encoder-decoder of Vaswani et al. (2017), figure 1, with padding id 0."""

    def __init__(
        self, num_layers: int, embedding_dim: int, num_heads: int,
        fully_connected_dim: int, source_vocab_size: int, target_vocab_size: int,
        max_len: int, dropout_rate: float = 0.1, layernorm_eps: float = 1e-6,
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        sizes = (num_layers, embedding_dim, num_heads, fully_connected_dim)
        options = (max_len, dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, *options)
        self.decoder = Decoder(*sizes, target_vocab_size, *options)
        self.final_linear = nn.Linear(embedding_dim, target_vocab_size)

    def forward(
        self, source_ids: torch.Tensor, target_ids: torch.Tensor
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """
        Args:
            source_ids: (batch, src_len). target_ids: (batch, tgt_len), what the decoder
                reads.

        Returns:
            logits (batch, tgt_len, target_vocab_size), and the decoder's list of
            cross-attention weights. Results at the target's padding are ignored.
        """
        # 1. The masks, from the ids.
        ### BEGIN SOLUTION
        source_mask, target_mask = make_masks(source_ids, target_ids)
        ### END SOLUTION
        # 2. Read the source.
        ### BEGIN SOLUTION
        memory = self.encoder(source_ids, source_mask)
        ### END SOLUTION
        # 3. Write the target: the decoder's output, then logits.
        ### BEGIN SOLUTION
        output, cross_attention = self.decoder(
            target_ids, memory, target_mask, source_mask
        )
        logits = self.final_linear(output)
        ### END SOLUTION
        return logits, cross_attention

# %% [markdown]
# <details><summary>Hint 1: which parts exist already?</summary>
#
# Four: your `make_masks`, and three attributes of this class. Follow a sentence through figure 1 of the paper, and write down what each part takes
# and what it returns: their docstrings tell you.
# </details>
# <details><summary>Hint 2: which mask goes where?</summary>
#
# There are three attentions and two masks: look at the table at the beginning of section 5. The encoder has one of the three, the decoder has two.
# </details>
# <details><summary>Hint 3: I get "linear(): argument 'input' must be Tensor, not tuple"</summary>
#
# The decoder returns two things: its output, and the list of attention weights. Only one of them is turned into logits; the other is returned as it
# is.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_Transformer", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_pytorch.Transformer")

# %% [markdown]
# Your Transformer is complete. The paper's base model has six layers and a width of 512. Yours is smaller, so that it trains while you
# wait. Where are its parameters?

# %% tags=["skip-grading"]
from course_utils.display import show_table

CONFIG = {
    "num_layers": 2, "embedding_dim": 128, "num_heads": 4, "fully_connected_dim": 512,
    "source_vocab_size": len(french), "target_vocab_size": len(english),
    "max_len": 32, "dropout_rate": 0.1,
}


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


torch.manual_seed(0)
model = Transformer(**CONFIG)
parts = {
    "embeddings": [model.encoder.embedding, model.decoder.embedding],
    "encoder's layers": model.encoder.layers,
    "decoder's layers": model.decoder.layers,
    "final linear layer": [model.final_linear],
}
rows = [
    [name, f"{sum(map(parameters, modules)):,}"] for name, modules in parts.items()
]
show_table(["part", "parameters"], [*rows, ["in all", f"{parameters(model):,}"]])

# %% [markdown]
# And is it *the* Transformer? PyTorch has ready-made layers, `nn.TransformerEncoderLayer` and `nn.TransformerDecoderLayer`. The course has
# built a model of the same shape from them; it takes over your weights, and the two must agree, padding included. (PyTorch stacks
# the matrices of query, key and value into one, and its padding masks are True where *blocked*.)

# %% tags=["skip-grading"]
from course_utils.models.translator import Checkpoint, LibraryTranslator

for norm_first in (False, True):
    ours = Transformer(**CONFIG, norm_first=norm_first).eval()
    config = CONFIG | {"norm_first": norm_first}
    checkpoint = Checkpoint(ours.state_dict(), config, french, english)
    theirs = LibraryTranslator(checkpoint).model
    with torch.no_grad():
        logits, looks = ours(source, target)
        their_logits, their_looks = theirs(source, target)
    print(
        f"norm_first={norm_first}: largest difference of the logits",
        f"{(logits - their_logits).abs().max():.1e}, of the attention weights",
        f"{(looks[-1] - their_looks[-1]).abs().max():.1e}",
    )

# %% [markdown]
# ## Part 2: train and use
#
# **A good place for a break.** The machine is built and agrees with PyTorch's own. Save the notebook, and come back for the second sitting: you teach the model
# to translate, let it write, and look at where it looked. If you go on another day, run the cell at the top first, *Continue here*.
#
# ## 7. Learning to translate
#
# ### Teacher forcing and the shifted target
#
# When the model translates, it reads its own words. In training that would be slow and, at first, hopeless: after a wrong word the rest
# seldom fits. So in training the decoder reads the **right** words, whatever it would have written itself. This is called
# **teacher forcing**. And because of the causal mask, one pass trains all positions of the sentence at once.
#
# One thing is essential: at each position the decoder reads the *previous* word and is asked for the next one. What it reads is the target
# **shifted right** by one, with `<bos>` at the front.
#
# ### Exercise 9: `shift_right`
#
# The labels already end with `<eos>`. `<bos>` goes in front, everything moves one place to the right, and the last column drops off. (In
# shorter sentences the decoder then reads the `<eos>`, too. That does no harm: the label there is padding, and padding is not counted.) For
# Jane's sentence:

# %% tags=["skip-grading"]
labels = english.tokens(english.encode(splits.test[0].target))
reads = ["<bos>", *labels[:-1]]
print("the decoder reads:  ", "".join(f"{token:>11}" for token in reads))
print("and should write:   ", "".join(f"{token:>11}" for token in labels))

# %% nbgrader={"grade": false, "grade_id": "shift_right", "locked": false, "schema_version": 3, "solution": true, "task": false}
def shift_right(labels: torch.Tensor, bos_id: int = 1) -> torch.Tensor:
    """What the decoder reads in training: BOS, then the labels, one position later.

    Args:
        labels: (batch, tgt_len), int64, each row y1, ..., yn, EOS, padding. They are
            not changed.

    Returns:
        (batch, tgt_len): a new tensor of whole numbers (int64, for an embedding); its
            rows are bos_id and the labels without the last column.
    """
    ### BEGIN SOLUTION
    begin = torch.full_like(labels[:, :1], bos_id)
    return torch.cat([begin, labels[:, :-1]], dim=1)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: how do I get a column of BOS?</summary>
#
# You need a tensor of shape (batch, 1) with the same id everywhere. `torch.full` fills a shape with a number; `torch.full_like` takes shape *and* type
# from another tensor, a single column of the labels, for example.
# </details>
# <details><summary>Hint 2: how do the two parts become one?</summary>
#
# `torch.cat` joins tensors along the axis that you name. Words are side by side, sentences one below the other: which axis is it here?
# </details>
# <details><summary>Hint 3: my result has one column too many</summary>
#
# You added a column at the front, so the last one has to go. It is never an input, because no word follows it. Slices can count from the
# end.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_shift_right", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_pytorch.shift_right")

# %% [markdown]
# ### Exercise 10: `label_smoothed_loss`
#
# The loss is the cross-entropy between what is wanted, $q$, and what the model believes, $p = \mathrm{softmax}(\text{logits})$:
#
# $$\mathrm{loss} = -\sum_c q_c \log p_c$$
#
# Plain cross-entropy wants the right word to have probability 1. That can never be reached: the logits would have to be infinite,
# so the model is pushed to be more and more certain. **Label smoothing** ([Szegedy et al. 2016](https://arxiv.org/abs/1512.00567), section 7; section 5.4 of the paper uses it
# with $\epsilon = 0.1$) asks for a little doubt. Szegedy et al. spread $\epsilon$ over *all* $V$ classes, the right one included: it gets
# $1 - \epsilon + \epsilon / V$. Many translation systems choose otherwise (OpenNMT and *The annotated Transformer*, for example), and so do you:
# $1 - \epsilon$ for the right word, and $\epsilon$ shared equally by all others. All others but one: **padding is not a word**, and gets nothing.
#
# $$q_c = \begin{cases} 1 - \epsilon & c \text{ is the label} \\ 0 & c \text{ is padding} \\ \epsilon / (V - 2) & \text{otherwise}\end{cases}$$
#
# with $V$ classes in the vocabulary. A batch is full of padding, and positions whose *label* is padding do not count, neither in the sum
# nor in the number it is divided by.
#
# Here are six classes, with label 3 and $\epsilon = 0.1$, and a model that gives the label one half. The last printed line explains why the
# loss in this lab never comes near 0: even a perfect model keeps the doubt that the labels ask for. (With the 316 words of this lab's
# English, it cannot get below 0.90.)

# %% tags=["skip-grading"]
wanted = [0.0, 0.025, 0.025, 0.9, 0.025, 0.025]  # class 0 is padding
believed = [0.05, 0.1, 0.15, 0.5, 0.1, 0.1]
terms = [-q * math.log(p) for q, p in zip(wanted, believed, strict=True)]
show_table(
    ["class", "wanted q", "believed p", "−q log p"],
    [
        [str(c), f"{q:.3f}", f"{p:.2f}", f"{term:.4f}"]
        for c, (q, p, term) in enumerate(zip(wanted, believed, terms, strict=True))
    ],
)
print(f"loss {sum(terms):.6f}")
print(f"without smoothing {-math.log(0.5):.6f}")
lowest = -sum(q * math.log(q) for q in wanted if q)
print(f"the lowest that smoothing allows {lowest:.6f}")

# %% nbgrader={"grade": false, "grade_id": "label_smoothed_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def label_smoothed_loss(
    logits: torch.Tensor, labels: torch.Tensor, smoothing: float = 0.1, pad_id: int = 0
) -> torch.Tensor:
    """Cross-entropy with label smoothing, the mean over all real labels of the batch.

    At a position whose label is y, the wanted probabilities are 1 - smoothing for the
    class y, 0 for the class pad_id, and smoothing / (V - 2) for each of the other V - 2
    classes. Example with V = 6, pad_id = 0, y = 3, smoothing = 0.1: wanted [0, 0.025,
    0.025, 0.9, 0.025, 0.025]; with softmax(logits) = [0.05, 0.1, 0.15, 0.5, 0.1, 0.1]
    the position's loss is 0.843954.

    Args:
        logits: (batch, tgt_len, V); they may be large.
        labels: (batch, tgt_len). Positions with the label pad_id do not count.

    Returns:
        a tensor of shape (): the sum of the losses of all real positions, divided by
            their number. Gradients reach the logits.
    """
    # 1. What the model believes: log-probabilities, (batch, tgt_len, V).
    ### BEGIN SOLUTION
    log_probs = torch.log_softmax(logits, dim=-1)
    ### END SOLUTION
    # 2. What is wanted, and the loss of each position, (batch, tgt_len).
    ### BEGIN SOLUTION
    num_classes = logits.shape[-1]
    wanted = torch.full_like(log_probs, smoothing / (num_classes - 2))
    wanted[..., pad_id] = 0
    wanted.scatter_(-1, labels.unsqueeze(-1), 1 - smoothing)
    losses = -(wanted * log_probs).sum(dim=-1)
    ### END SOLUTION
    # 3. The mean over the real labels.
    ### BEGIN SOLUTION
    return losses[labels != pad_id].mean()
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: wanted probabilities for all positions at once</summary>
#
# Start with a tensor that contains the small share everywhere. Then set the special entries: the padding's column, and the label's place in each row.
# `tensor.scatter(-1, index, value)` writes a value at the places given by an index of shape (batch, tgt_len, 1). Or do without it: the sum
# over all classes can be split into the label's term and the sum of all log-probabilities except two.
# </details>
# <details><summary>Hint 2: inf or nan for large logits</summary>
#
# `log(softmax(x))` rounds small probabilities to 0, whose logarithm is -inf. `log_softmax` avoids that 0.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_label_smoothed_loss", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_pytorch.label_smoothed_loss")

# %% [markdown]
# Beware: `torch.nn.functional.cross_entropy(label_smoothing=0.1)` is the formula of Szegedy et al.: $\epsilon / V$ for every class, including
# the label and padding. With a vocabulary of thousands the two hardly differ, but with few classes they do.
#
# ### Exercise 11: `warmup_schedule`
#
# At the start the weights are random and Adam has seen few gradients, so large steps do harm (section 9 measures it). That is why the learning rate starts small,
# grows for some steps, and then falls slowly (equation 3 of the paper, with an extra factor for models of other sizes):
#
# $$\mathrm{rate} = \text{factor} \cdot d_\mathrm{model}^{-0.5} \cdot \min\left(\mathrm{step}^{-0.5},\; \mathrm{step} \cdot \mathrm{warmup}^{-1.5}\right)$$

# %% nbgrader={"grade": false, "grade_id": "warmup_schedule", "locked": false, "schema_version": 3, "solution": true, "task": false}
def warmup_schedule(
    step: int, d_model: int, warmup_steps: int, factor: float = 1.0
) -> float:
    """The learning rate for a step, counted from 1 (Vaswani et al. 2017, equation 3,
    times factor).
    """
    ### BEGIN SOLUTION
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: how do I write these powers?</summary>
#
# `a ** b`, and the exponent may be negative or a fraction: $4^{-0.5} = 1/\sqrt{4} = 0.5$. Python's own `min` takes two numbers.
# </details>
# <details><summary>Hint 2: is my curve right?</summary>
#
# Try two steps on paper, with warmup 4. At step 4 the terms of the minimum are $4^{-0.5} = 0.5$ and $4 \cdot 4^{-1.5} = 0.5$: they are equal, so this
# is the peak. At step 1 they are 1 and 0.125. Which of the two counts?
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_warmup_schedule", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_pytorch.warmup_schedule")

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
from course_utils.plots.transformer import schedule_curves

ways = {
    "this lab": (128, 200), "three times the warm-up": (128, 600),
    "a wider model: d_model 512": (512, 200),
}
show_figure(
    schedule_curves({
        name: np.array([warmup_schedule(step, *way, 0.4) for step in range(1, 1501)])
        for name, way in ways.items()
    }),
    alt="Three curves of the learning rate: each grows in a straight line to a peak "
    "and then falls like one over the square root of the step. A longer warm-up "
    "gives a later and lower peak; a wider model has lower rates everywhere.",
)

# %% [markdown]
# ### Exercise 12: `train_step`
#
# Now everything comes together: forward, loss, gradients, update. Any model that is called with the same arguments as your Transformer will do.

# %% nbgrader={"grade": false, "grade_id": "train_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    source_ids: torch.Tensor,
    labels: torch.Tensor,
    learning_rate: float,
    smoothing: float = 0.1,
) -> float:
    """One step of training with teacher forcing; the weights change, and the optimizer
    goes on with this learning rate.

    Args:
        model: `model(source_ids, decoder_input)` gives (logits, attention). It is put
            into training mode and stays in it.
        optimizer: holds the model's parameters; its rate is `group["lr"]` of each group
            in `optimizer.param_groups`.
        source_ids: (batch, src_len). labels: (batch, tgt_len), each row y1, ..., yn,
            EOS, padding.
        learning_rate: for this step, whatever the optimizer had before.

    Returns:
        the label-smoothed loss of this batch, before the weights changed.
    """
    # 1. Training mode, and the learning rate.
    ### BEGIN SOLUTION
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    ### END SOLUTION
    # 2. Forward: the decoder reads the shifted labels. Then the loss.
    ### BEGIN SOLUTION
    logits, _ = model(source_ids, shift_right(labels))
    loss = label_smoothed_loss(logits, labels, smoothing)
    ### END SOLUTION
    # 3. Gradients of this batch alone, and the update.
    ### BEGIN SOLUTION
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ### END SOLUTION
    return loss.item()

# %% [markdown]
# <details><summary>Hint 1: the first step is right, the second is not</summary>
#
# `backward` adds to the existing gradients. Clear them before, not after.
# </details>
# <details><summary>Hint 2: what does the decoder read, and what is the loss compared with?</summary>
#
# It reads the labels shifted by one place, and the loss compares its logits with the labels as they are. You have written a function for each of the
# two.
# </details>
# <details><summary>Hint 3: the learning rate is not what was asked for</summary>
#
# An optimizer keeps its parameters in groups, `optimizer.param_groups`, and each group is a dict with its own rate. Set it in all of them,
# before the update.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_train_step", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_pytorch.train_step")

# %% [markdown]
# ## 8. Writing a sentence
#
# Now the model works without a teacher. The decoder gets `<bos>` and says how probable each word is as the next one. **Greedy search**
# takes the most probable word, appends it, and asks again, until the model says `<eos>`. A model that reads its own words in this way is
# called **autoregressive**.
#
# Press *next* a few times. The numbers come from the translator that ships with the course, which has the same sizes as yours. How many times
# is the decoder called for a sentence of five words, and why?

# %% tags=["skip-grading", "picture"]
from course_utils.widgets.decoding import decoding_loop

decoding_loop()

# %% [markdown]
# The decoder is called six times for five words: the last call says `<eos>`. Two more things are easy to miss. The decoder gives logits at
# every position, but only those at the last word are used. And no word gets a share
# of 1: the labels of exercise 10 asked for 0.9, and left the rest to all other words. A large language model runs the same loop, with a hundred
# thousand words and word pieces instead of 316.
#
# ### Exercise 13: `greedy_decode`
#
# Translate a whole batch at once; its sentences end at different steps. A sentence that has ended is filled up with padding; when all have
# ended, stop. The check passes in a *scripted* model: it is called like yours, but its output is fixed in advance, so there is only one
# right answer.

# %% nbgrader={"grade": false, "grade_id": "greedy_decode", "locked": false, "schema_version": 3, "solution": true, "task": false}
@torch.no_grad()
def greedy_decode(
    model, source_ids: torch.Tensor, max_len: int,
    bos_id: int = 1, eos_id: int = 2, pad_id: int = 0,
) -> torch.Tensor:
    """Translates a batch, taking the most probable next word at every step.

    Args:
        model: `model(source_ids, target_ids)`, both tensors, gives (logits (batch,
            tgt_len, V), attention); the logits at position i are for the word that
            follows target_ids[:, : i + 1]. target_ids always begin with bos_id.
            It never says bos_id or pad_id.
        source_ids: (batch, src_len).
        max_len: the most words a sentence may have; one that has not ended by then is
            cut off.

    Returns:
        (batch, length), length at most max_len: the words of each sentence without BOS;
        pad_id in the place of EOS and after it. Whether there is a last column with
        nothing but padding does not matter. The model is not called again once every
        sentence has ended.
    """
    target_ids = source_ids.new_full((len(source_ids), 1), bos_id)
    ended = torch.zeros(len(source_ids), dtype=torch.bool, device=source_ids.device)
    for _ in range(max_len):
        # 1. The most probable next word of each sentence, (batch,).
        ### BEGIN SOLUTION
        logits, _ = model(source_ids, target_ids)
        next_word = logits[:, -1].argmax(dim=-1)
        ### END SOLUTION
        # 2. Which sentences have ended? They get padding. Append the words, and stop if
        # all have ended.
        ### BEGIN SOLUTION
        ended = ended | (next_word == eos_id)
        next_word = torch.where(ended, pad_id, next_word)
        target_ids = torch.cat([target_ids, next_word[:, None]], dim=1)
        if ended.all():
            break
        ### END SOLUTION
    return target_ids[:, 1:]

# %% [markdown]
# <details><summary>Hint 1: every word is the first one</summary>
#
# The logits have a row for each word that you put in. The last row predicts the next word. The first row always predicts what follows `<bos>`.
# </details>
# <details><summary>Hint 2: a sentence goes on after its end</summary>
#
# Once `ended` is True for a sentence, it stays True. Combine its old value with what has ended in this step. `torch.where` then
# chooses between padding and the word.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_greedy_decode", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_pytorch.greedy_decode")

# %% [markdown]
# ### Training
#
# You have all the parts. The model is trained for a fixed number of steps. From time to time it translates 300 validation sentences, and the cell
# shows the share that are right to the last letter (**exact match**).
#
# If you do not want to wait, set `RUN_TRAINING = False`: then the weights that come with the course are loaded into *your* model. The training runs
# of section 9 are skipped, and section 11 trains for a single step.

# %% tags=["skip-grading"]
from course_utils.data.batches import batches, encode_batch
from course_utils.models.translator import load_weights, save_weights
from course_utils.training import corpus_bleu, exact_match, fit

RUN_TRAINING = True  # False: use the weights that come with the course
STEPS, WARMUP, FACTOR = 1200, 200, 0.4


def ids_for(model: nn.Module, ids: np.ndarray) -> torch.Tensor:
    """A batch of ids as a tensor, on the model's device."""
    return torch.from_numpy(ids).to(next(model.parameters()).device)


def translate_all(model: nn.Module, sentences: list[str]) -> list[str]:
    """Translates sentences greedily, a batch at a time."""
    model.eval()
    found = []
    for start in range(0, len(sentences), 250):
        ids = ids_for(model, encode_batch(sentences[start : start + 250], french))
        found += [english.decode(row) for row in greedy_decode(model, ids, max_len=24)]
    return found


def score(model: nn.Module, pairs) -> float:
    """The share of exact matches."""
    written = translate_all(model, [pair.source for pair in pairs])
    return exact_match(written, [pair.target for pair in pairs])


# %% tags=["skip-grading"]
def endless_batches():
    """Epoch after epoch, each in a different order."""
    for epoch in range(1_000):
        yield from batches(splits.train, french, english, batch_size=64, seed=epoch)


def schedule(step: int) -> float:
    return warmup_schedule(step, CONFIG["embedding_dim"], WARMUP, FACTOR)


def train(
    model: nn.Module, name: str, schedule=schedule, evaluate: bool = True, **budget
):
    """Trains a model that is called like the Transformer; returns the history for the
    curves.
    """
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)

    def step(batch, number: int) -> float:
        ids = (ids_for(model, side) for side in (batch.source, batch.target))
        return train_step(model, optimizer, *ids, schedule(number))

    validate = (lambda: score(model, splits.validation)) if evaluate else None
    look = {"evaluate": validate, "evaluate_every": 300}
    return fit(step, endless_batches(), name=name, **look, **budget)

# %% [markdown]
# Look at the model before training, then after it. Here is the untrained model, with a real batch and with Jane's sentence:

# %% tags=["skip-grading"]
predict("transformer_pytorch.untrained")

# %% tags=["skip-grading"]
batch = next(endless_batches())
source_ids, labels = (ids_for(model, side) for side in (batch.source, batch.target))
with torch.no_grad():
    logits, _ = model.eval()(source_ids, shift_right(labels))
loss = float(label_smoothed_loss(logits, labels))
print(f"loss of the untrained model: {loss:.2f}")
print(f"ln {len(english)} = {math.log(len(english)):.2f}")
said = translate_all(model, [splits.test[0].source])[0]
print("before:", said or "(it writes nothing)")
measured("transformer_pytorch.untrained",
         shown=0 < loss - math.log(len(english)) < 1)

# %% tags=["skip-grading"]
history = None
if RUN_TRAINING:
    history = train(model, "Transformer", steps=STEPS)
else:
    weights = load_weights(expected=model.state_dict(), vocabularies=(french, english))
    model.load_state_dict(weights.tensors())
print("after: ", translate_all(model, [splits.test[0].source])[0])

# %% [markdown]
# *Jane visits Africa in September*, from a model that has never seen this sentence.
#
# Now the test, on sentences that were never used for anything. **Exact match** is strict and easy to read. **BLEU** ([Papineni et al.
# 2002](https://doi.org/10.3115/1073083.1073135))
# is what machine translation usually reports. It counts how many groups of one to four words a translation has in common with the reference, and
# gives a number from 0 to 100.

# %% tags=["skip-grading"]
from course_utils.plots.training import learning_curves

if history:
    show_figure(
        learning_curves([history], by="steps"),
        alt="Left: the loss falls steeply, then levels off well above 0. Right: the "
        "share of exact matches rises from 0 to nearly 1.",
    )
sets = {
    "new sentences": splits.test,
    "words that never met": splits.unseen_pairings[:500],
}
written = {
    name: translate_all(model, [pair.source for pair in pairs])
    for name, pairs in sets.items()
}
rows = []
for name, pairs in sets.items():
    wanted = [pair.target for pair in pairs]
    exact, bleu = exact_match(written[name], wanted), corpus_bleu(written[name], wanted)
    rows.append([name, str(len(pairs)), f"{exact:.1%}", f"{bleu:.1f}"])
show_table(["", "sentences", "exact match", "BLEU"], rows)

# %% [markdown]
# The second line is meant to be the harder test: each of its sentences combines two words that never appeared together in training. The model
# has learned what a verb does and what a country is called, not a list of pairs.
#
# And what does it get wrong? The numbers hide that; look at the sentences.

# %% tags=["skip-grading"]
from course_utils.plots.training import failure_gallery

for name, pairs in sets.items():
    print(f"{name}:")
    triples = [(pair.source, pair.target, guess)
               for pair, guess in zip(pairs, written[name], strict=True)]
    failure_gallery(*zip(*triples, strict=True))

# %% [markdown]
# There may be only a handful. Look for patterns all the same. Are the wrong ones long? Is a small word missing, or a clause? Has an
# adjective gone to the wrong noun, or been written
# twice? A translation with one wrong word counts as wrong here; whether it is a bad translation is another question, and BLEU gives part of
# the answer.
#
# ### Exercise 14: `beam_search` (optional)
#
# Greedy search takes the best word *now*. The best sentence may begin with the second-best word. **Beam search** keeps several beginnings,
# called hypotheses, and lets them compete.
#
# What do they compete on? The probability of the whole sentence: the product of its words' probabilities, or the sum of their logarithms. But
# each extra word adds a negative number, so a long sentence easily loses against a short one, even if each of its words is likely. So
# the sum is divided by a power of the length ([Wu et al. 2016](https://arxiv.org/abs/1609.08144) use a similar form):
#
# $$\mathrm{score}(y) = \frac{1}{|y|^{\alpha}} \sum_t \log p(y_t \mid y_{<t}, x)$$
#
# With $\alpha = 0$ sums are compared, with $\alpha = 1$ means. Below are two hypotheses with numbers: the product prefers the short one,
# the mean the long one.
#
# Write the search as the docstring describes it. It is the longest function in the lab; the loop around it is already there.

# %% tags=["skip-grading"]
# The probabilities of their words, EOS included.
hypotheses = {"short": [0.45, 0.5], "long": [0.4, 0.8, 0.8, 0.85]}
rows = []
for name, chances in hypotheses.items():
    total = sum(math.log(chance) for chance in chances)
    numbers = (math.prod(chances), total, total / len(chances))
    rows.append([name, *(f"{number:.4f}" for number in numbers)])
show_table(["hypothesis", "product", "sum of logs", "mean of logs"], rows)

# %% nbgrader={"grade": false, "grade_id": "beam_search", "locked": false, "schema_version": 3, "solution": true, "task": false}
@torch.no_grad()
def beam_search(
    model, source_ids: torch.Tensor, beam_size: int, max_len: int,
    length_penalty: float = 1.0, bos_id: int = 1, eos_id: int = 2,
) -> tuple[torch.Tensor, float]:
    """Translates one sentence, keeping the best beam_size hypotheses at every step.

    A hypothesis is the words so far, without BOS. Its score is the sum of its words'
    log-probabilities, divided by length ** length_penalty; the length counts EOS. This
    score is used whenever hypotheses are compared.

    At each step, every hypothesis that has not ended is continued with every word of
    the vocabulary; one that has ended stays as it is. Of all these, the beam_size with
    the best scores are kept. The search is over when all that are kept have ended, or
    after max_len steps. The best hypothesis of the last beam is the result, ended or
    not.

    Args:
        model: `model(source_ids, target_ids)` gives (logits (batch, tgt_len, V),
            attention), as in greedy_decode.
        source_ids: (1, src_len). beam_size: from 1 to the size of the vocabulary.
        max_len: the most words a hypothesis may have, EOS included.

    Returns:
        ids, a tensor (length,): the words without BOS and EOS; and their score.
    """
    def score(words: list[int], total: float) -> float:
        """total: the sum of the log-probabilities of the words."""
        ### BEGIN SOLUTION
        return total / len(words) ** length_penalty
        ### END SOLUTION

    # (words, sum of their log-probabilities), the best one first
    beam: list[tuple[list[int], float]] = [([], 0.0)]
    for _ in range(max_len):
        # 1. Hypotheses that have ended stay; the others are extended by each word of
        # the vocabulary.
        ### BEGIN SOLUTION
        ended = [(words, total) for words, total in beam
                 if words and words[-1] == eos_id]
        running = [(words, total) for words, total in beam
                   if not words or words[-1] != eos_id]
        if not running:
            break
        prefixes = source_ids.new_tensor([[bos_id, *words] for words, _ in running])
        logits, _ = model(source_ids.expand(len(running), -1), prefixes)
        log_probs = torch.log_softmax(logits[:, -1], dim=-1).tolist()
        candidates = ended + [
            ([*words, word], total + log_prob)
            for (words, total), row in zip(running, log_probs, strict=True)
            for word, log_prob in enumerate(row)
        ]
        ### END SOLUTION
        # 2. The best of all these form the new beam.
        ### BEGIN SOLUTION
        beam = sorted(candidates, key=lambda hypothesis: score(*hypothesis),
                      reverse=True)[:beam_size]
        ### END SOLUTION
    words, total = beam[0]
    found = [word for word in words if word != eos_id]
    return source_ids.new_tensor(found), score(words, total)

# %% [markdown]
# <details><summary>Hint 1: how do I organise the candidates?</summary>
#
# Go through the beam. Put each hypothesis that has ended into a list as it is. Ask the model about the others, one by one or all in one batch: they
# are all the same length. Put each of their continuations into the same list, with the sum of its log-probabilities. Then
# sort.
# </details>
# <details><summary>Hint 2: my scores are above 0</summary>
#
# Log-probabilities are never positive. The model gives logits: apply `log_softmax` first.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_beam_search", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_pytorch.beam_search")

# %% tags=["skip-grading"]
predict("transformer_pytorch.beam")

# %% tags=["skip-grading"]
pairs = [pair for some in sets.values() for pair in some]
guesses = [guess for some in written.values() for guess in some]
both = list(zip(pairs, guesses, strict=True))
groups = {
    "right": [(pair, guess) for pair, guess in both if guess == pair.target][:20],
    "wrong": [(pair, guess) for pair, guess in both if guess != pair.target][:20],
}
for name, group in groups.items():
    found = []
    for pair, _ in group:
        source_ids = ids_for(model, encode_batch([pair.source], french))
        ids, _ = beam_search(model, source_ids, beam_size=4, max_len=24)
        found.append(english.decode(ids))
    triples = [(*one, words) for one, words in zip(group, found, strict=True)]
    right = sum(words == pair.target for pair, _, words in triples)
    print(f"{len(group)} sentences that greedy search got {name}:", end=" ")
    print(f"a beam of 4 gets {right} of them right")
    for pair, guess, words in triples:
        if words != guess:
            print(f"    {pair.source}", f"greedy: {guess}", f"beam:   {words}",
                  sep="\n        ")
measured("transformer_pytorch.beam", shown=right <= len(group) / 4)  # the wrong ones

# %% [markdown]
# Where greedy search is right, the beam hardly ever disagrees. Where it is wrong, the beam seldom helps: it can find the right sentence only if the
# model gives it a better score than its mistake. (These are a handful of sentences, so take this as a hint.) Every sentence of this grammar
# has exactly one right translation. Real text has many, and there beam search is widely used. And it has a price: four hypotheses are
# four times the work.

# %% [markdown]
# ## 9. Comparisons (optional)
#
# **A good place for a break.** Your model translates. The core path goes on with section 10, which is short. If you go on another day, run the first code cell: it brings back the weights that you trained, too.
#
# ### Against an LSTM of the same size
#
# The rival is a good version of the model in lab 01: one LSTM reads in both directions, another one writes, and attention connects them ([Luong et
# al. 2015](https://arxiv.org/abs/1508.04025)). It has about as many parameters as your Transformer, and learns with your `train_step` from the same batches, with
# the same learning rates, for the same number of seconds.

# %% tags=["skip-grading"]
from course_utils.models.recurrent import RecurrentTranslator

if history:
    torch.manual_seed(0)
    vocabularies = len(french), len(english)
    lstm = RecurrentTranslator.of_size(
        parameters(model), *vocabularies, embedding_dim=128
    )
    print(f"parameters: Transformer {parameters(model):,}, LSTM {parameters(lstm):,}")
    lstm_history = train(lstm, "LSTM", seconds=history.seconds[-1])
    show_figure(
        learning_curves([history, lstm_history]),
        alt="Loss and exact match of the Transformer and the LSTM over the same "
        "seconds of training. The two learn about equally fast and end close "
        "together.",
    )
    rows = [["steps in these seconds", str(history.steps), str(lstm_history.steps)]]
    for name, pairs in sets.items():
        ours = exact_match(written[name], [pair.target for pair in pairs])
        theirs = score(lstm, pairs)
        rows.append([f"{name}, exact match", f"{ours:.1%}", f"{theirs:.1%}"])
    show_table(["", "Transformer", "LSTM"], rows)

# %% [markdown]
# They are about equal. Is that a disappointment? Both models have attention from each English word to the French ones. On sentences of ten words an LSTM is at its best: no two words are far apart, and little is lost by reading them one after the
# other. This data does not need what the Transformer is better at. One is long texts: lab 01 measured what distance does to a recurrent network. The
# others are many layers, and computers that process thousands of things at once. A Transformer can give them all positions of all sentences. An LSTM has to wait for
# the previous word. If your last two lines differ by a point or two, do not read much into it: a different seed moves them, too.
#
# By how much? That is a question for an experiment, not for a guess. Set `TRY_SEEDS = True`: each model is trained three times for 400
# steps, from other random weights, which takes about two minutes. Only a difference between the means that is clearly larger than the spread
# within a row says something about the models. In one measurement, the Transformer got 91.2 % ± 1.6 % and the LSTM 75.9 % ± 4.1 %. So
# after 400 steps each, the Transformer is clearly ahead. In equal *time* the LSTM takes more steps, and in the end both know the grammar.

# %% tags=["skip-grading"]
TRY_SEEDS = False
rows, size = [], parameters(model)
for name in ("Transformer", "LSTM") if TRY_SEEDS else ():
    exact = []
    for seed in range(3):
        torch.manual_seed(seed)
        rival = Transformer(**CONFIG)
        if name == "LSTM":
            rival = RecurrentTranslator.of_size(
                size, len(french), len(english), embedding_dim=128
            )
        train(rival, f"{name}, seed {seed}", evaluate=False, steps=400)
        exact.append(score(rival, splits.validation))
    spread = f"{np.mean(exact):.1%} ± {np.std(exact, ddof=1):.1%}"
    rows.append([name, *(f"{share:.1%}" for share in exact), spread])
if rows:
    head = ["exact match", "seed 0", "seed 1", "seed 2", "mean ± standard deviation"]
    show_table(head, rows)

# %% [markdown]
# ### How many layers?
#
# The paper's model has six layers in each half, yours has two. Would one do? Here are some training runs, measured once with three seeds each. All
# models but one have the same width as yours, 128, and all learn from the same batches. The last two columns are exact matches in percent, one for each seed:
#
# | layers in each half | parameters | steps | processor time | new sentences | words that never met |
# |---|---|---|---|---|---|
# | 1 | 602,940 | 400 | 22 s | 89, 87, 92 | 80, 84, 85 |
# | 2 | 1,065,788 | 400 | 37 to 38 s | 90, 93, 93 | 83, 89, 88 |
# | 1, with width 176 | 1,065,468 | 400 | 26 to 27 s | 92, 94, 92 | 85, 90, 89 |
# | 4 | 1,991,484 | 400 | 68 to 76 s | 91, 93, 91 | 85, 91, 85 |
# | 1 | 602,940 | 800 | 38 to 43 s | 99, 98, 99 | 96, 98, 97 |
# | 4 | 1,991,484 | 200 | 31 to 33 s | 50, 49, 52 | 42, 42, 46 |
#
# After 400 *steps*, two layers are a little ahead of one on average. Depth need not be the reason: one wider layer with as many parameters does as well in less time, and four layers are no better than two. And a step through one layer takes little more than half the time of a step through two.
#
# In about equal *time* (400 steps with two layers, 800 with one, 200 with four), one layer is clearly ahead, and four are far behind. Here practice
# is worth more than depth. That need not be so elsewhere. Lab 03, section 11, has a task that a small network learns with two
# layers and not with one, and real text has more to learn than this grammar. So the number of layers is chosen like the other sizes: by trying some on validation data.

# %% [markdown]
# ### Pre-norm or post-norm?
#
# Now for the comparison promised in section 3. The difference shows in deep models, so here are narrow models with six layers, trained for a few
# steps each. Both forms have a long warm-up first. Then both have a warm-up of ten steps, which raises the learning rate at once and to a higher
# peak.

# %% tags=["skip-grading"]
predict("transformer_pytorch.warm_up")

# %% tags=["skip-grading"]
def deep_run(name: str, norm_first: bool, warmup: int, steps: int = 150):
    """A short run of a narrow model of six layers."""
    torch.manual_seed(0)
    sizes = CONFIG | {"num_layers": 6, "embedding_dim": 64, "fully_connected_dim": 128}
    deep = Transformer(**sizes, norm_first=norm_first)

    def rate(step: int) -> float:
        return warmup_schedule(step, 64, warmup, 0.5)

    return train(deep, name, rate, evaluate=False, steps=steps)


if RUN_TRAINING:
    runs = [
        deep_run("post-norm", False, 150),
        deep_run("pre-norm", True, 150),
        deep_run("post-norm, short warm-up", False, 10),
        deep_run("pre-norm, short warm-up", True, 10),
    ]
    show_figure(
        learning_curves(runs, by="steps"),
        alt="The loss of four runs. With the long warm-up post-norm and pre-norm fall "
        "almost together. With the short one pre-norm falls more slowly, and "
        "post-norm hardly falls at all.",
    )
    last = [float(np.mean(run.losses[-25:])) for run in runs]
    measured("transformer_pytorch.warm_up", shown=last[2] == max(last))

# %% [markdown]
# With the long warm-up both learn, and pre-norm is a little ahead (with each of three seeds, by 0.20 to 0.22 after 150 steps). With the short one, pre-norm is slowed down, and post-norm does not get off the ground.
# Xiong et al. (2020) show why. In post-norm, the gradients near the output are large when training begins, and large steps then lead in the wrong
# direction. In pre-norm these gradients are small from the start. So the paper's model *needs* its warm-up. Most deep models since then are
# pre-norm: they are more forgiving. (They are not better in the end: where post-norm can be trained, it is often a little ahead; [Liu et al.
# 2020](https://arxiv.org/abs/2004.08249).)
#
# ## 10. The payoff: what did it look at?
#
# Nobody ever told the model which French word belongs to which English one. It had pairs of whole sentences, and a loss. Ask the decoder's
# cross-attention where it looked before each word that it wrote:

# %% tags=["skip-grading"]
from course_utils.plots.alignment import Alignment, alignment_heads


def translate(text: str) -> tuple[str, Alignment]:
    """The translation, and what the decoder looked at before each word."""
    model.eval()
    source_ids = ids_for(model, encode_batch([text], french))
    ids = greedy_decode(model, source_ids, max_len=24)[0].tolist()
    words = [word for word in ids if word]  # no padding
    labels = source_ids.new_tensor([[*words, 2]])  # with EOS
    with torch.no_grad():
        _, looks = model(source_ids, shift_right(labels))
    weights = torch.cat(looks).cpu().numpy()  # (layers, heads, tgt_len, src_len)
    tokens = french.tokens(source_ids[0]), english.tokens(labels[0])
    return english.decode(words), Alignment(*tokens, weights)


said, alignment = translate("Jane visite l'Afrique en septembre")
print(said)
show_figure(
    alignment_heads(alignment),
    alt="A heat map for each head of the decoder's last layer, English rows against "
    "French columns. Before it writes Jane the decoder looks at Jane, before "
    "visits at visite, before Africa at Afrique, before September at septembre.",
)

# %% [markdown]
# Read a row from left to right: before it wrote *Africa*, where was it looking? At *Afrique*, and so on down the diagonal. The
# diagonal has a step at *l'*: English has no article there. Does the head perhaps just look at the word with the same number? Then it would rest on
# *l'* before *Africa*, the third word. It has found *Afrique*, the fourth. Heads may do the same work or divide
# it, and one that has nothing to look for may rest on `<eos>`. Try `alignment_heads(alignment, layer=0)`, too.
#
# A word of caution, as in lab 02: this is where a layer *looked*. It is not an explanation of the decision. What it looks at is the encoder's
# output, and there every French position has already been mixed with the others. The column *Afrique* marks where the word was, but the vector there
# says more than that one word.
#
# Now it is your turn. Type French, using words that the model knows; try an adjective, a negation, a question, a different word order.
# Where does it break?

# %% tags=["skip-grading"]
from course_utils.plots.translate import translate_box

translate_box(
    translate,
    [
        "Jane visite l'Afrique en septembre",
        "Ma sœur n'aime plus la voiture rouge de Paul",
        "Est-ce que les enfants iront au Canada en été ?",
        "Le vieux chien de mon professeur est petit",
    ],
    vocabulary=french,
)

# %% [markdown]
# ### Without a kernel
#
# The box above asks your model, so it falls silent when the kernel ends. But what does a translator need? Its numbers, its vocabularies, and
# arithmetic. The next cell puts all three into this page: the numbers of your model, and JavaScript that computes with them. Save the notebook and open it
# tomorrow: without running anything, you can still type French here.
#
# Choose a single head, and go through the English words. The table below compares greedy search with a beam of 4.

# %% tags=["skip-grading", "picture"]
from course_utils.widgets.type_french import type_french

type_french("model", "french", "english")

# %% [markdown]
# ### Keep it (optional)
#
# A trained model consists of its weights and of the sizes and vocabularies that give them meaning. `save_weights` puts all of this into one
# file (safetensors: numbers only, nothing that could be executed). Loading it into a different model must fail, and say why.

# %% tags=["skip-grading"]
import tempfile
from pathlib import Path

from course_utils.models.translator import WeightsMismatch

path = Path(tempfile.mkdtemp()) / "my_translator.safetensors"
save_weights(model.state_dict(), path, CONFIG, french, english)
twin = Transformer(**CONFIG)
saved = load_weights(
    path, expected=twin.state_dict(), vocabularies=(french, english)
)
twin.load_state_dict(saved.tensors())
french_sentences = [pair.source for pair in splits.test]
same = translate_all(twin, french_sentences) == written["new sentences"]
size = path.stat().st_size / 1e6
print(f"{size:.1f} MB; the copy translates as the original does: {same}")
try:
    narrow = Transformer(**CONFIG | {"embedding_dim": 64})
    load_weights(path, expected=narrow.state_dict())
except WeightsMismatch as error:
    said = str(error).replace(str(path), path.name).partition(". ")[0]
    print(said.replace("; ", ";\n  "))

# %% [markdown]
# ## 11. Break it (optional)
#
# A translator that works does not show what its parts are for. So take yours, remove one piece at a time, and look at two things: the loss,
# and the translations. Look first right after the piece is removed, and again after some more steps of training without it, because training makes up
# for what it can.
#
# | what is missing | how |
# |---|---|
# | nothing | for comparison: the same extra steps |
# | the causal mask | each English word may look at those that follow it |
# | the shift | in training, the decoder reads the very word that it has to write next |
# | the padding mask | French padding may be looked at, in the encoder and in the cross-attention |
# | the right padding mask | in the cross-attention, the English padding is masked instead of the French (this needs both sentences padded to the same length; otherwise the shapes would not fit) |
# | the positions | all positions are 0, in the encoder and in the decoder |
#
# The collapsed cells make these copies of your model. The table says all that you need to know about them.

# %% tags=["skip-grading"]
predict("transformer_pytorch.broken")

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
class SeesFuture(MultiHeadAttention):
    """Attention that loses the causal mask: what one query may look at, all may."""

    def forward(self, query, key, value, mask):
        return super().forward(query, key, value, mask.any(dim=-2, keepdim=True))


class SeesPadding(MultiHeadAttention):
    """Attention that loses its mask."""

    def forward(self, query, key, value, mask):
        return super().forward(query, key, value)


# %% tags=["skip-grading"] jupyter={"source_hidden": true}
class OtherMask(MultiHeadAttention):
    """Attention that takes the mask `wrong` instead of the one that it is given."""

    def forward(self, query, key, value, mask):
        return super().forward(query, key, value, self.wrong)


class WrongPadding(Transformer):
    """Your Transformer, with the target's padding in the cross-attention."""

    def forward(self, source_ids, target_ids):
        room = source_ids.shape[1] - target_ids.shape[1]
        wrong = nn.functional.pad(target_ids != 0, (0, room))  # cut, if below 0
        for layer in self.decoder.layers:
            layer.cross_attention.wrong = wrong[:, None, None]
        return super().forward(source_ids, target_ids)


class NoShift(Transformer):
    """Your Transformer, with the shift undone in training."""

    def forward(self, source_ids, target_ids):
        if self.training:
            eos = torch.full_like(target_ids[:, :1], 2)
            target_ids = torch.cat([target_ids[:, 1:], eos], dim=1)
        return super().forward(source_ids, target_ids)


# %% tags=["skip-grading"] jupyter={"source_hidden": true}
def without(piece: str, trained: bool = True) -> nn.Module:
    """A copy of your model that lacks a piece: trained, or with random weights."""
    kinds = {"the shift": NoShift, "the right padding mask": WrongPadding}
    broken = kinds.get(piece, Transformer)(**CONFIG)
    if trained:
        broken.load_state_dict(model.state_dict())
    encoder, decoder = broken.encoder, broken.decoder
    if piece == "the causal mask":
        for layer in decoder.layers:
            # the same weights, another forward
            layer.self_attention.__class__ = SeesFuture
    if piece == "the padding mask":
        for attention in (
            *(layer.self_attention for layer in encoder.layers),
            *(layer.cross_attention for layer in decoder.layers),
        ):
            attention.__class__ = SeesPadding
    if piece == "the right padding mask":
        for layer in decoder.layers:
            layer.cross_attention.__class__ = OtherMask
    if piece == "the positions":
        encoder.positions.zero_()
        decoder.positions.zero_()
    return broken


# %% tags=["skip-grading"]
EXTRA = 30 if RUN_TRAINING else 1  # steps without the piece
some, rows, said = splits.validation[:60], [], []
pieces = ["causal mask", "shift", "padding mask", "right padding mask", "positions"]
for piece in ["nothing", *(f"the {name}" for name in pieces)]:
    broken = without(piece)
    exact = [score(broken, some)]
    losses = train(broken, piece, lambda step: 5e-4, evaluate=False, steps=EXTRA).losses
    exact.append(score(broken, some))
    loss = [losses[0], float(np.mean(losses[-10:]))]
    numbers = (f"{loss[0]:.2f}", f"{exact[0]:.0%}", f"{loss[1]:.2f}", f"{exact[1]:.0%}")
    rows.append([piece, *numbers])
    said.append([piece, translate_all(broken, [splits.test[0].source])[0]])

# %% tags=["skip-grading"]
after = f"after {EXTRA} step{'s' * (EXTRA > 1)}"
head = ["missing", "loss at once", "exact match", f"loss {after}", "exact match"]
show_table(head, rows)
floor = 0.9 * math.log(0.9) + 0.1 * math.log(0.1 / (len(english) - 2))
print(f"\nthe lowest loss that the smoothing allows: {-floor:.2f}\n")
print(f"Jane's sentence {after} without ...")
for piece, sentence in said:
    print(f"    {piece:24}{sentence[:70]}")
if RUN_TRAINING and rows:
    worst = min(rows, key=lambda row: float(row[4].rstrip("%")))
    measured("transformer_pytorch.broken", shown=worst[0] == "the shift")

# %% [markdown]
# - Losing **the shift** does most harm. In training the loss falls fast without it: copying the word in front of you is easy. But when the model
#   translates, there is nothing to copy, and it repeats itself.
# - Losing **the causal mask** shows something subtler. At first the loss is worse, because the future is new to the decoder; then it falls as the
#   decoder learns to use it. The translations stay right: when the model writes, there is no future to look at, and it had learned to
#   translate before. A model that *never* had the mask does not learn to translate: it only has to read the next word off its input.
# - Losing **the padding mask** costs a few sentences, but only those that share a batch with longer ones. Such a mistake stays hidden
#   as long as you test with one sentence at a time.
# - Losing **the right padding mask** hardly shows in the loss, but most translations are wrong, and the extra steps do not fix them. In training
#   the English sentence is complete, so its mask covers few French words or none. But when the model writes, the sentence has a single word at
#   first. Then the decoder may look at a single French word, and at one more with each word that it has written.
# - Losing **the positions** costs less than you might think. Without them the French sentence is a bag of words to the model, and its row shows how
#   often that is enough. A likely reason, not tested here: the words of this grammar are nearly always in the same order. Those of real text are not.
#
# To see the causal mask at its worst, begin with random weights. Set `FROM_SCRATCH = True`: two models are trained for 400 steps each, one with
# the mask and one without. Compare their losses, then their translations. With three seeds, the model with the mask ended at a loss of 1.01 each time and got
# 87 to 93 % of 60 sentences right. The one without it ended at 0.96, and got 2 % right. The lower loss belongs to the model that cannot translate.

# %% tags=["skip-grading"]
FROM_SCRATCH = False
rows, said = [], []
for piece in ("nothing", "the causal mask") if FROM_SCRATCH else ():
    torch.manual_seed(0)
    broken = without(piece, trained=False)
    losses = train(broken, piece, evaluate=False, steps=400).losses
    loss, exact = float(np.mean(losses[-10:])), score(broken, some)
    rows.append([piece, f"{loss:.2f}", f"{exact:.0%}"])
    said.append([piece, translate_all(broken, [splits.test[0].source])[0]])
if rows:
    show_table(["missing", "loss after 400 steps", "exact match"], rows)
    for piece, sentence in said:
        print(f"    {piece:18}{sentence[:70]}")

# %% [markdown]
# ## 12. At work (optional)
#
# Your code is right. At work it also has to run on other people's hardware, to be fast, and to look the way colleagues expect. Here are the
# tools for that, most of them tried on *your* model and measured on this machine.
#
# ### One code, any device
#
# A tensor lives on a **device**: the CPU, an NVIDIA GPU (`cuda`), a Mac's GPU (`mps`). All operands of an operation have to be on the
# same one. So choose the device once, move the model and each batch there, and let every *new* tensor take the device of one that you were
# given: `torch.ones(n, device=ids.device)`, `ids.new_full(...)`, `torch.zeros_like(ids)`. A bare `torch.ones(n)` ends up on the CPU, and
# the error comes on the day when somebody runs your code on a GPU.
#
# You can find such tensors without a GPU: let PyTorch put everything that names no device on `meta`, a device without any memory. Code that ignores
# the device of its inputs then fails at once.

# %% tags=["skip-grading"]
gpu = torch.accelerator.is_available()
device = torch.accelerator.current_accelerator() if gpu else torch.device("cpu")
moved = Transformer(**CONFIG).to(device).eval()
moved.load_state_dict(model.state_dict())
pairs = splits.test[:64]
source_ids = encode_batch([pair.source for pair in pairs], french)
labels = encode_batch([pair.target for pair in pairs], english)
source_ids = torch.from_numpy(source_ids).to(device)
labels = torch.from_numpy(labels).to(device)
with torch.no_grad():
    logits, _ = moved(source_ids, shift_right(labels))
calls = {
    "shift_right": lambda: shift_right(labels),
    "Transformer": lambda: moved(source_ids, shift_right(labels)),
    "label_smoothed_loss": lambda: label_smoothed_loss(logits, labels),
    "greedy_decode": lambda: greedy_decode(moved, source_ids, 24),
    "a bare torch.ones": lambda: source_ids + torch.ones(1),
}
rows = []
for name, call in calls.items():
    try:
        with torch.device("meta"):
            call()
        rows.append([f"`{name}`", "on any device"])
    except (RuntimeError, NotImplementedError):
        rows.append([f"`{name}`", "makes a tensor that names no device"])
show_table([f"this machine has: {device}", "runs"], rows)

# %% [markdown]
# If one of your functions fails like the last line, look in it for `torch.ones`, `zeros`, `full`, `arange` or `tensor` without `device=`. To train
# on a GPU, move each model that you train right after it is made: `model.to(device)`. No other line of this lab has to change, because
# `ids_for` puts every batch where its model is.
#
# ### A `DataLoader` with your own collate function
#
# Projects feed models with a `DataLoader`: it shuffles, collects examples, and can prepare them in other processes while the model computes
# (`num_workers`). Sentences have different lengths, so you tell it how a list of pairs becomes a batch, with a **collate function**.

# %% tags=["skip-grading"]
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


def collate(pairs) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids of the sources and of the targets, each (batch, len), padded with 0."""
    sources = [torch.tensor(french.encode(pair.source)) for pair in pairs]
    targets = [torch.tensor(english.encode(pair.target)) for pair in pairs]
    sides = [pad_sequence(ids, batch_first=True) for ids in (sources, targets)]
    return tuple(sides)


def padding(found) -> str:
    """The share of padding in batches of (source, target)."""
    ids = np.concatenate([np.ravel(table) for batch in found for table in batch])
    return f"{(ids == 0).mean():.1%}"


few = splits.train[:3200]
loader = DataLoader(few, batch_size=64, shuffle=True, collate_fn=collate)
ours = batches(few, french, english, batch_size=64, seed=0)
show_table(
    ["batches of 64 pairs", "padding"],
    [["DataLoader: any pairs together", padding(loader)],
     ["this lab: pairs of similar length together", padding(ours)]],
)

# %% [markdown]
# Padding is computed and thrown away. So this lab's `batches` puts sentences of similar length together (**bucketing**); with a
# `DataLoader` you do it in a `batch_sampler`. On a GPU, `pin_memory=True` and `batch.to(device, non_blocking=True)` let the copy happen
# while the model computes.
#
# ### AdamW and a scheduler
#
# Your `train_step` sets the learning rate itself. In projects a **scheduler** does it, with one `step()` after each of the optimizer's.
# `LambdaLR` multiplies the optimizer's rate by a function of the step, and counts from 0. The optimizer is usually AdamW ([Loshchilov & Hutter
# 2019](https://arxiv.org/abs/1711.05101)): Adam, with a weight decay that pulls the weights themselves towards 0, usually the matrices only, not biases and LayerNorm. The
# rates have to be those of your schedule:

# %% tags=["skip-grading"]
weights = list(moved.parameters())
groups = [
    {"params": [w for w in weights if w.dim() > 1], "weight_decay": 0.01},
    {"params": [w for w in weights if w.dim() == 1], "weight_decay": 0.0},
]
adamw = torch.optim.AdamW(groups, lr=1.0, betas=(0.9, 0.98), eps=1e-9)
scheduler = torch.optim.lr_scheduler.LambdaLR(adamw, lambda step: schedule(step + 1))
rates = []
for _ in range(500):
    rates.append(scheduler.get_last_lr()[0])
    adamw.step()  # there are no gradients: nothing moves
    scheduler.step()
assert np.allclose(rates, [schedule(step) for step in range(1, 501)])
print("decay:", len(groups[0]["params"]), "matrices; no decay:",
      len(groups[1]["params"]), "vectors")
chosen = [f"{rates[step - 1]:.1e}" for step in (1, 200, 500)]
print("rates of the steps 1, 200 and 500:", *chosen)

# %% [markdown]
# ### Attention in one call
#
# `F.scaled_dot_product_attention` computes $\mathrm{softmax}(QK^\top/\sqrt{d})\,V$, and can do so without ever writing down the whole table of
# weights ([Dao et al. 2022](https://arxiv.org/abs/2205.14135)). Here it takes the place of the attention in every layer of your model: the
# same weights, another `forward`. The logits
# must be the same, and the cell insists on it. What you lose is the weights: there is nothing left to look at.

# %% tags=["skip-grading"]
import copy
import time

from torch.nn import functional as F


class FusedAttention(MultiHeadAttention):
    """The same attention by PyTorch's own function; it has no weights to return."""

    def in_heads(self, layer, x):
        """(batch, len, d_model) -> (batch, heads, len, head size)."""
        return layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        queries = self.in_heads(self.w_query, query)
        keys = self.in_heads(self.w_key, key)
        values = self.in_heads(self.w_value, value)
        mixed = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
        return self.w_output(mixed.transpose(1, 2).flatten(-2)), None


def fused_copy(module: nn.Module) -> nn.Module:
    """A copy in which every attention is the fused one."""
    module = copy.deepcopy(module)
    for part in module.modules():
        if isinstance(part, MultiHeadAttention):
            part.__class__ = FusedAttention
    return module


# %% tags=["skip-grading"]
def clock(call, repeats: int = 5) -> float:
    """Milliseconds of the fastest of some calls, after one to warm up."""
    call()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        if gpu:
            torch.accelerator.synchronize()  # a GPU returns before it has finished
        times.append(time.perf_counter() - began)
    return 1e3 * min(times)


fused, real = fused_copy(moved), labels != 0
rows = []
with torch.no_grad():
    fused_logits, _ = fused(source_ids, shift_right(labels))
    torch.testing.assert_close(fused_logits[real], logits[real], rtol=1e-4, atol=1e-4)
    for length in (16, 256, 1024):
        x = torch.randn(2, length, 128, device=device)
        ours = MultiHeadAttention(128, 4).to(device)
        theirs = fused_copy(ours)
        torch.testing.assert_close(theirs(x, x, x)[0], ours(x, x, x)[0])
        times = [
            clock(lambda attention=attention, x=x: attention(x, x, x))
            for attention in (ours, theirs)
        ]
        rows.append([str(length), f"{times[0]:.2f}", f"{times[1]:.2f}"])
head = ["words", "your attention, ms", "in one call, ms"]
show_table(head, rows, "One layer, 2 sentences")

# %% [markdown]
# For the short sentences of this lab it hardly matters. For long texts it does. Your attention writes, masks and normalises a table of length ×
# length numbers for each head. Moving these to memory and back takes longer than computing them.
#
# ### Half the bits: bfloat16
#
# Inside `torch.autocast`, matrix products are computed in **bfloat16**: 16 bits, with the range of float32 but only 8 bits of precision.
# The weights stay in float32. On a GPU so do the softmax, the norms and losses, because they are sensitive; on a CPU the softmax of your attention is
# computed in bfloat16, too. The cell below takes no risk with the loss: it computes it after the `with` block, from logits turned back into float32.
# What is kept in bfloat16 for the backward pass takes half the memory. Whether it is faster depends on the hardware. On today's GPUs it is, by a
# factor of two or more. On a CPU it is only if the CPU has instructions for it.

# %% tags=["skip-grading"]
def forward_and_backward(half: bool) -> None:
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
        found, _ = moved(source_ids, shift_right(labels))
    label_smoothed_loss(found.float(), labels).backward()


with torch.no_grad(), torch.autocast(device.type, dtype=torch.bfloat16):
    half_logits, _ = moved(source_ids, shift_right(labels))
moved_by = (half_logits - logits)[real].abs().max()
same = (half_logits.argmax(-1) == logits.argmax(-1))[real].float().mean()
print(f"{half_logits.dtype}: logits differ by up to {moved_by:.2f},", end=" ")
print(f"but {same:.1%} of the most probable words are the same")
times = [
    clock(lambda half=half: forward_and_backward(half), repeats=2)
    for half in (False, True)
]
print(f"forward and backward: float32 {times[0]:.0f} ms, bfloat16 {times[1]:.0f} ms")

# %% [markdown]
# ### `torch.compile`
#
# Python runs your model one operation after the other. `torch.compile(model)` records them, fuses what it can, and writes new code for this
# model and these shapes, in C++ or for the GPU. That costs time at the first call, and again when shapes change (`dynamic=True` writes
# code for any length), and it needs a C++ compiler on the machine.
#
# It was measured once on two CPU cores that did nothing else, with batches of 64 sentences. The first call of one encoder layer took 18 seconds,
# part of which went into starting the compiler. The first call of the whole model took 8 s more. After that a forward pass took 7.4 ms instead of 11.8. So for the forward pass
# alone, the model's 8 seconds are paid back after about 1,800 batches. Forward and backward together cost another 16 seconds at first, and then took
# 37.8 ms instead of 35.4: for training, compiling never paid off on that machine. On a GPU it often does. Set `TRY_COMPILE = True` to measure it on
# yours, which takes about a minute. (PyTorch keeps the code in a folder. If it finds the code of an earlier run there, the first call is faster.)

# %% tags=["skip-grading"]
def costs(name: str, module: nn.Module, work) -> list[str]:
    """Times some work with a module and with its compiled form: the first call, later
    ones, and after how many it pays."""
    compiled = torch.compile(module)
    began = time.perf_counter()
    found = work(compiled)
    first = time.perf_counter() - began
    torch.testing.assert_close(found, work(module), rtol=1e-4, atol=1e-4)
    ours, theirs = (
        clock(lambda f=f: work(f), repeats=20) for f in (module, compiled)
    )
    pays = f"{1e3 * first / (ours - theirs):,.0f} calls" if theirs < ours else "never"
    return [name, f"{first:.0f} s", f"{ours:.1f}", f"{theirs:.1f}", pays]


# %% tags=["skip-grading"]
TRY_COMPILE, rows = False, []
vectors = torch.randn(64, 12, CONFIG["embedding_dim"], device=device)
ids = (source_ids, shift_right(labels))


def loss_and_gradients(model) -> torch.Tensor:
    loss = label_smoothed_loss(model(*ids)[0], labels)
    loss.backward()
    return loss.detach()


if TRY_COMPILE:
    try:
        with torch.no_grad():
            layer = moved.encoder.layers[0]
            rows.append(costs("a layer of your encoder", layer, lambda f: f(vectors)))
            rows.append(costs("your model, forward", moved, lambda f: f(*ids)[0]))
        rows.append(costs("forward and backward", moved, loss_and_gradients))
    except RuntimeError as error:  # nothing else in this lab needs a compiler
        print("Not compiled; is there a C++ compiler, such as g++ or clang++?")
        print(str(error).strip().splitlines()[0])
if rows:
    head = ["64 sentences", "first call", "yours, ms", "compiled, ms", "pays after"]
    show_table(head, rows)

# %% [markdown]
# ### When the model does not fit
#
# Two tools need no measurement here, but you will meet them in every training script:
#
# - **Gradient accumulation.** If a batch of 256 does not fit into memory, compute four batches of 64, and call `backward` on each. Let the optimizer
#   take one step at the end. Gradients add up (that is why you clear them). Divide by the number of words in *all four*, or short
#   batches count too much.
# - **Checkpointing** ([Chen et al. 2016](https://arxiv.org/abs/1604.06174)). The backward pass needs what each layer computed. Keep only each layer's input, and compute the rest
#   again when it is needed (`torch.utils.checkpoint`): about a third more time, and far less memory in deep models.
#
# ## 13. From 2017 to today (optional)
#
# You have built the Transformer of 2017. Today's language models have kept its plan and changed its parts. Four changes are found almost everywhere,
# and each takes a few lines in *your* block:
#
# | change | what | why |
# |---|---|---|
# | pre-norm | your own switch | deep models train more easily (Xiong et al. 2020) |
# | RMSNorm | divide by the root of the mean square; no mean, no β | as good as LayerNorm, and cheaper ([Zhang & Sennrich 2019](https://arxiv.org/abs/1910.07467)) |
# | SwiGLU | two projections, one opens or shuts the other | better at the same size ([Shazeer 2020](https://arxiv.org/abs/2002.05202)) |
# | rotary positions | turn queries and keys by their position (lab 04) | relative positions, nothing to add ([Su et al. 2021](https://arxiv.org/abs/2104.09864)) |
#
# SwiGLU has three matrices instead of two, so its inner width is two thirds as large. Rotary positions act inside the self-attentions, so
# nothing is added to the embeddings any more. Each run adds one change to those before. Set `TRY_TODAY = True`; five short training runs take one to two
# minutes. With three seeds, all four changes together took the loss after 300 steps from 1.10, 1.10 and 1.12 to 1.05, 1.06 and 1.07. The exact match stayed between 75 % and 80 %,
# with and without them: a model this small has little to gain.

# %% tags=["skip-grading"]
from course_utils.models.rotary import rotate


class SwiGLU(nn.Module):
    """A gated feed-forward network (Shazeer 2020, equation 6)."""

    def __init__(self, embedding_dim: int, inner_dim: int) -> None:
        super().__init__()
        self.gate = nn.Linear(embedding_dim, inner_dim, bias=False)
        self.inner = nn.Linear(embedding_dim, inner_dim, bias=False)
        self.outer = nn.Linear(inner_dim, embedding_dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (..., embedding_dim) -> (..., embedding_dim)."""
        return self.outer(F.silu(self.gate(x)) * self.inner(x))


class RotaryAttention(FusedAttention):
    """Self-attention whose queries and keys are turned by their positions."""

    def in_heads(self, layer, x):
        found = super().in_heads(layer, x)
        with x.device:  # `rotate` makes a table of angles and names no device for it
            return found if layer is self.w_value else rotate(found)


# %% tags=["skip-grading"]
def modern(changes: tuple[str, ...]) -> nn.Module:
    """Your Transformer with some of its parts replaced by today's."""
    torch.manual_seed(0)
    found = Transformer(**CONFIG, norm_first="pre-norm" in changes)
    width, inner = CONFIG["embedding_dim"], CONFIG["fully_connected_dim"]
    for half in (found.encoder, found.decoder):
        for layer in half.layers:
            if "SwiGLU" in changes:
                layer.feed_forward = SwiGLU(width, 2 * inner // 3)
            if "rotary" in changes:
                layer.self_attention.__class__ = RotaryAttention
        if "rotary" in changes:
            half.positions.zero_()
        for owner in [half, *half.layers]:
            for name, norm in list(owner.named_children()):
                if "RMSNorm" in changes and isinstance(norm, nn.LayerNorm):
                    setattr(owner, name, nn.RMSNorm(width, eps=1e-6))
    return found


# %% tags=["skip-grading"]
TRY_TODAY = False
rows, changes = [], ("pre-norm", "RMSNorm", "SwiGLU", "rotary")
for number in range(len(changes) + 1) if TRY_TODAY else ():
    translator = modern(changes[:number])
    name = f"+ {changes[number - 1]}" if number else "2017"
    losses = train(translator, name, evaluate=False, steps=300).losses
    exact = score(translator, splits.validation)
    loss = float(np.mean(losses[-25:]))
    rows.append([name, f"{parameters(translator):,}", f"{loss:.3f}", f"{exact:.1%}"])
if rows:
    show_table(["", "parameters", "loss after 300 steps", "exact match"], rows)

# %% [markdown]
# ## Common mistakes, by their symptom
#
# | what you see | likely cause |
# |---|---|
# | training is too good to be true, translations are nonsense | the model sees the future: no causal mask, or the target is not shifted |
# | `The size of tensor a must match the size of tensor b` in the cross-attention | (memory, memory, x), or the target's mask: queries from x, keys, values and mask from the source |
# | a translation depends on the other sentences in the batch | a padding mask is missing: in the encoder, or in the cross-attention |
# | evaluation gives a different result each time | dropout is on: `model.eval()`, and dropout as a module |
# | the loss falls a little, then stays the same | probabilities instead of logits; the learning rate; embeddings not scaled |
# | the loss explodes in the first steps | no warm-up, min and max swapped, steps counted from 0 |
# | the loss depends on how much padding there is | padding is counted in the mean |
# | the loss does not come near 0 | it cannot, with label smoothing |
# | every translation is one word, again and again | the logits are read at position 0 |
# | the translation is right but does not stop | the code does not look for EOS, or it was never among the labels |
# | beam search gives very short sentences | sums are compared: no length penalty |
# | the first layer learns, others do not | the same layer several times, or a plain list of layers |
#
# ## Review quiz

# %% tags=["skip-grading"]
from course_utils import quiz

quiz("transformer_pytorch")

# %% [markdown]
# ## Going further
#
# - **Dates.** Nothing in your model knows about French. Give it dates in six regional styles with their ISO form, letter by letter, and it
#   learns those. Set `TRY_DATES = True` and wait two or three minutes.

# %% tags=["skip-grading"]
from course_utils.data.dates import date_pairs

TRY_DATES = False
dates = split_pairs(date_pairs(8_000, seed=5), validation=100, test=200, seed=5)
print(dates.train[0].source, "->", dates.train[0].target)
if TRY_DATES:
    forms, isos = [[getattr(pair, side) for pair in dates.train]
                   for side in ("source", "target")]
    letters = Vocabulary.from_texts(forms, unit="character")
    digits = Vocabulary.from_texts(isos, unit="character")
    sizes = {"source_vocab_size": len(letters), "target_vocab_size": len(digits)}
    reader = Transformer(**CONFIG | sizes | {"max_len": 48})
    optimizer = torch.optim.Adam(reader.parameters(), betas=(0.9, 0.98), eps=1e-9)

    def date_step(batch, number: int) -> float:
        ids = (ids_for(reader, side) for side in (batch.source, batch.target))
        return train_step(reader, optimizer, *ids, schedule(number))

    def date_batches():
        for epoch in range(99):
            yield from batches(dates.train, letters, digits, 64, epoch)

    fit(date_step, date_batches(), steps=1500, name="dates")
    ids = ids_for(reader, encode_batch([pair.source for pair in dates.test], letters))
    read = [digits.decode(row) for row in greedy_decode(reader.eval(), ids, max_len=12)]
    wanted = [pair.target for pair in dates.test]
    print(f"exact match {exact_match(read, wanted):.1%}")

# %% [markdown]
# - **Speed.** `greedy_decode` rereads the whole sentence for every word. The keys and values of the words so far do not change, so you can
#   keep them (lab 08).
# - **More of the paper.** It shares one matrix between both embeddings and the final layer (section 3.4), and averages the weights of the
#   last few checkpoints. Try both.
# - **The same again, in Keras.** Lab 06 builds this model in the other framework and runs your weights in it.
# - Read: Vaswani et al. (2017), [*Attention is all you need*](https://arxiv.org/abs/1706.03762), now from beginning to end; Rush (2018), [*The annotated Transformer*](https://doi.org/10.18653/v1/W18-2509); Xiong et
#   al. (2020), [*On layer normalization in the Transformer architecture*](https://arxiv.org/abs/2002.04745), on why post-norm needs its warm-up.
#
# Save the notebook. If your course uses nbgrader, press **Validate**, then submit it.
