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
# # Lab 06: the Transformer in TensorFlow
#
# *Jane visite l'Afrique en septembre* becomes *Jane visits Africa in September* once more. Here you build the model of lab 05 in **Keras 3 on
# TensorFlow**. At the end you load PyTorch's weights into it, and both give the same translations, word by word. Lab 05 says why the model is
# built as it is. You see where Keras may surprise you.
#
# **You need** [lab 05](../05_transformer_pytorch/transformer_pytorch.ipynb).
#
# <details><summary>What you can do after this lab, and its exercises</summary>
#
# **After this lab you can**
#
# - write a Transformer as Keras layers;
# - run a training step in four ways;
# - save a model, and notice when it comes back wrong;
# - move weights between PyTorch and Keras.
#
# | # | exercise | difficulty | importance | minutes | points |
# |---|---|---|---|---|---|
# | 1 | `FullyConnected` | ●○○○○ | ●●○○○ | 3 | 1 |
# | 2 | `EncoderLayer` | ●●●○○ | ●●●●● | 15 | 4 |
# | 3 | `Encoder` | ●●○○○ | ●●●●○ | 8 | 3 |
# | 4 | `DecoderLayer` | ●●●○○ | ●●●●● | 12 | 5 |
# | 5 | `Decoder` | ●●○○○ | ●●●○○ | 5 | 3 |
# | 6 | `Transformer` | ●●●○○ | ●●●●● | 8 | 4 |
# | 7 | `masked_loss` | ●●●○○ | ●●●●● | 10 | 4 |
# | 8 | `masked_accuracy` | ●○○○○ | ●●○○○ | 3 | 1 |
# | 9 | `WarmupSchedule` | ●●○○○ | ●●●○○ | 6 | 2 |
# | 10 | `train_step` | ●●●○○ | ●●●●● | 8 | 4 |
# | 11 | `greedy_decode` | ●●●○○ | ●●●●○ | 8 | 3 |
# | 12 | `SavableTransformer` | ●●○○○ | ●●●○○ | 4 | 2 |
# </details>
#
# **Time:** about 135 minutes; the computer needs {measured_seconds} seconds. **The core path** is everything not marked *(optional)*, about 117 minutes,
# plus 6 minutes for the review quiz. Sittings: sections 1 to 4, 5 to 7, 8 to 10.

# %%
import os
import warnings

# Keras 3 also runs on PyTorch and JAX; set this before importing it
os.environ["KERAS_BACKEND"] = "tensorflow"

from course_utils.quiet import without_startup_messages

with without_startup_messages():  # TensorFlow reports details of your processor
    import keras
    import tensorflow as tf

import numpy as np
from keras import ops

# your own from lab 04 if it passes its check, else ours; it says which
from course_utils.yours import positional_encoding

# a sentence may have one word
warnings.filterwarnings("ignore", message="You are using a softmax over axis")
np.set_printoptions(precision=3, suppress=True)
print("Keras", keras.__version__, "on", keras.backend.backend(), tf.__version__)

# %% [markdown]
# Here is all that you build. The drawing fills in.

# %% tags=["skip-grading"]
from course_utils.plots.whole import show_transformer

show_transformer("transformer_tensorflow")

# %% [markdown]
# ## 1. One model, two languages
#
# The names of the sizes are those of a widely used course assignment, and of lab 05:
#
# | name here | the paper's symbol | its value there |
# |---|---|---|
# | `embedding_dim` | $d_{model}$ | 512 |
# | `num_heads` | $h$ | 8 |
# | `fully_connected_dim` | $d_{ff}$ | 2048 |
# | `num_layers` | $N$ | 6 |
# | `dropout_rate` | $P_{drop}$ | 0.1 |
#
# The next table shows what is called differently, or done differently, in the two frameworks. Come back to it when something behaves oddly.
#
# | | PyTorch (lab 05) | Keras on TensorFlow (here) |
# |---|---|---|
# | a part of a model | `nn.Module`, its `forward` | `keras.layers.Layer`, its `call` |
# | how wide is the input? | given in the constructor | found out at the first call |
# | training or not | a state: `model.train()`, `model.eval()` | an argument: `model(x, training=True)` |
# | a linear layer | `nn.Linear(in, out)`, weight (out, in) | `Dense(out)`, kernel (in, out) |
# | several layers in a list | `nn.ModuleList` | an ordinary list |
# | heads in the weights | rows of a (d_model, d_model) weight | an axis: kernel (d_model, heads, head size) |
# | a boolean mask | True = blocked in `nn.MultiheadAttention` | True = may attend in `attention_mask` |
# | default epsilon of LayerNorm | 1e-5 | 1e-3 |
# | order of a loss | (logits, labels) | (labels, logits) |
# | gradients | `loss.backward()`, then `zero_grad()` | `tf.GradientTape`, nothing to clear |
# | compiled | eager, until `torch.compile` | eager too, until `tf.function` |
# | the training loop | you write it | you write it, or `compile` and `fit` |
# | batches | `DataLoader` | `tf.data.Dataset` |
# | a trained model on disk | a state dict, as safetensors | a `.keras` file: configuration and weights |
#
# Three of Keras's conventions are worth seeing before you start.

# %%
x = np.ones((2, 3, 4), dtype="float32")
layer = keras.layers.Dense(5)
print("before the first call:", [tuple(weight.shape) for weight in layer.weights])
layer(x)
print("after the first call: ", [tuple(weight.shape) for weight in layer.weights])

dropout = keras.layers.Dropout(0.5)
print("training=False:", dropout(x, training=False)[0, 0].numpy())
print("training=True: ", dropout(x, training=True)[0, 0].numpy(),
      "  half of it is 0, the rest is doubled")
try:
    dropout(x, True)
except ValueError as error:
    print("by position:   ", str(error).partition(".")[0])

# %% [markdown]
# 1. **Variables come with the first call.** Before that, `Dense(5)` cannot know that its kernel is (4, 5). So a model that was never called
#    has no weights to set or load. This matters again in exercise 12. The method that creates them is `build`.
# 2. **`training` is an argument.** With `training=True`, each number is dropped with a probability of one half, so of four it may drop three.
#    Keras passes it on to inner layers automatically. Pass it on explicitly all the same: it makes the code easier to
#    read.
# 3. **Only tensors may be positional arguments.** `training` is not a tensor, so it goes by keyword, and here the masks do, too. Older notebooks that write
#    `layer(x, True, mask)` stop with this error.
#
# ### `build`: a layer with variables of its own (optional)
#
# Your layers below are made of Keras's layers, so they create no variables themselves. A layer with variables of its own creates them in `build`.
# Keras calls this method once, before the first `call`, with the shape of the input. Here is RMSNorm ([Zhang and Sennrich
# 2019](https://arxiv.org/abs/1910.07467)), which Llama uses instead of LayerNormalization. It only divides by the root of the mean square,
# and learns a scale:

# %%
class RMSNorm(keras.layers.Layer):
    """x / sqrt(mean of x²) * scale, over the last axis (Zhang and Sennrich 2019)."""

    def __init__(self, epsilon=1e-6, **kwargs):  # the constructor knows no shapes
        super().__init__(**kwargs)
        self.epsilon = epsilon

    def build(self, input_shape):  # the shape of the first input
        self.scale = self.add_weight(
            shape=(input_shape[-1],), initializer="ones", name="scale"
        )

    def call(self, x):
        mean_square = ops.mean(ops.square(x), axis=-1, keepdims=True)
        return x * ops.rsqrt(mean_square + self.epsilon) * self.scale


norm = RMSNorm()
print("before the first call:", norm.weights, " built:", norm.built)
size = ops.sqrt(ops.mean(ops.square(norm(3 * x)), axis=-1))
print("rms of what comes out:", size[0].numpy())
print("after the first call: ", [(w.name, tuple(w.shape)) for w in norm.weights])
in_keras = keras.layers.RMSNormalization()
print("the same as Keras's:  ", np.allclose(norm(x), in_keras(x)))

# %% [markdown]
# `add_weight` registers the variable: it now belongs to the layer's `weights`, gets gradients and is saved. A plain `tf.Variable` created inside `call`
# would be a new one at every call.
#
# ## 2. What you are given: positions and masks
#
# You wrote them in labs 02 and 04. **True = may attend**, here and everywhere in this lab.

# %%
def create_padding_mask(token_ids, pad_id=0):
    """(batch, len) ids -> (batch, 1, 1, len): True where there is a real token.

    It holds for every head and every query.
    """
    return ops.not_equal(token_ids, pad_id)[:, None, None, :]


def create_look_ahead_mask(token_ids):
    """(batch, len) ids -> (batch, 1, len, len): True where a key may be seen.

    That is, where the key (column) is not later than the query (row).
    """
    # 1, 2, 3, ... in each row, however long it is
    place = ops.cumsum(ops.ones_like(token_ids), axis=1)
    return ops.greater_equal(place[:, None, :, None], place[:, None, None, :])


# the second sentence is "Jane rit", with two columns of padding
tiny = ops.convert_to_tensor([[4, 9, 6, 2], [4, 7, 0, 0]])
padding, look_ahead = create_padding_mask(tiny), create_look_ahead_mask(tiny)
print("padding:   ", padding.shape, padding[1, 0].numpy().astype(int))
print("look ahead:", look_ahead.shape)
print(look_ahead[1, 0].numpy().astype(int))
print("both, for the second sentence (rows: queries, columns: keys):")
print((look_ahead & padding)[1, 0].numpy().astype(int))
print("positions: ", positional_encoding(11, 20).shape)

# %% [markdown]
# Why count with `cumsum` instead of `range`? A compiled function is traced once for sentences of *any* length, so Python cannot know the length.
#
# The four axes are (batch, heads, queries, keys), and axes of length 1 broadcast. Keras also accepts (batch, queries, keys), which some notebooks
# use.
#
# ## 3. The encoder
#
# ### Exercise 1: `FullyConnected`
#
# This is the feed-forward network of section 3.3 of the paper, the same for each word:
#
# $$\mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2$$

# %% nbgrader={"grade": false, "grade_id": "FullyConnected", "locked": false, "schema_version": 3, "solution": true, "task": false}
def FullyConnected(embedding_dim: int, fully_connected_dim: int) -> keras.Layer:
    """The position-wise feed-forward network with ReLU (Vaswani et al. 2017, eq. 2).

    Args:
        embedding_dim: width of the input and the output.
        fully_connected_dim: width in between.

    Returns:
        A Keras layer, for example a keras.Sequential, made of two Dense layers: (...,
        embedding_dim) -> (..., fully_connected_dim) -> (..., embedding_dim). Both have
        biases. No other weights. As in every layer of this lab, gradients reach the
        inputs and all weights.
    """
    ### BEGIN SOLUTION
    return keras.Sequential([
        keras.layers.Dense(fully_connected_dim, activation="relu"),
        keras.layers.Dense(embedding_dim),
    ])
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint: layers one after the other</summary>
#
# `keras.Sequential` takes a list of layers and is a layer itself. You can specify the ReLU when you create the layer: look at the arguments of
# `keras.layers.Dense`.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_FullyConnected", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_tensorflow.FullyConnected")

# %% [markdown]
# ### Exercise 2: `EncoderLayer`
#
# The layer has two sub-layers, each wrapped in dropout, a residual connection and a LayerNormalization
# ([lab 05, section 3](../05_transformer_pytorch/transformer_pytorch.ipynb) measures what they are for). `norm_first` chooses between the paper's form
# and the one that is usual today:
#
# | form | one sub-layer |
# |---|---|
# | post-norm | $x \leftarrow \mathrm{norm}(x + \mathrm{dropout}(\mathrm{sublayer}(x)))$ |
# | pre-norm | $x \leftarrow x + \mathrm{dropout}(\mathrm{sublayer}(\mathrm{norm}(x)))$ |
#
# **A trap: the argument `mask`.** For Keras an argument of exactly this name says *which steps of this layer's input are padding*. Ours says
# which word may attend to which. So Keras complains that your layer does not support masking. Forums advise setting `supports_masking =
# True`. Then Keras attaches our mask to the layer's output. The next attention finds it there and applies it again, in its own way. We keep
# the name because it is so common. Each layer that takes a `mask` therefore has two lines that stop Keras from passing it on. They are
# written for you.
#
# For attention, use `keras.layers.MultiHeadAttention`, the equivalent of what you built in lab 03. Its `key_dim` is the size of **one** head.
# In the paper this is embedding_dim / num_heads. Then the number of weights does not depend on the number of heads:

# %% tags=["skip-grading"]
from course_utils.display import show_table

words = np.random.default_rng(0).standard_normal((1, 6, 128)).astype("float32")
rows = []
for heads, key_dim in [(1, 128), (4, 32), (8, 16), (8, 128)]:
    attention = keras.layers.MultiHeadAttention(num_heads=heads, key_dim=key_dim)
    attention(words, words)
    kernel = tuple(attention.query_dense.kernel.shape)
    rows.append([f"{heads} of {key_dim}", str(kernel), f"{attention.count_params():,}"])
show_table(["heads", "kernel of the queries", "weights"], rows)

hardly = np.array([[0.01, -0.01, 0.02, -0.02]], dtype="float32")  # hardly varies
rows = []
for epsilon in (1e-3, 1e-6):
    normed = keras.layers.LayerNormalization(epsilon=epsilon)(hardly)
    rows.append([f"{epsilon:g}", f"{float(ops.std(normed)):.3f}"])
show_table(["epsilon of the LayerNormalization", "standard deviation"], rows)

# %% [markdown]
# The last row of the first table is what one well-known assignment does (`key_dim=embedding_dim`). It works, but attention has about as many
# times the weights as there are heads: here eight. The second table shows why you have to pass on `layernorm_eps`. With Keras's default of 1e-3, a
# vector that hardly
# varies does not come out with a standard deviation of 1.

# %% nbgrader={"grade": false, "grade_id": "EncoderLayer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class EncoderLayer(keras.layers.Layer):
    """One layer of the encoder: self-attention, then the feed-forward network.

    (Vaswani et al. 2017, section 3.1.)

    Its parts with weights, by name: `mha` (a keras.layers.MultiHeadAttention with
    biases and heads of size embedding_dim // num_heads), `ffn` (your FullyConnected),
    `layernorm1` and `layernorm2` (the LayerNormalization of the first and of the second
    sub-layer, with epsilon=layernorm_eps).

    Dropout (a `keras.layers.Dropout`) acts on the output of a sub-layer, before it is
    added, and only if `training` is True; not inside the attention.

    Call:
        x: (batch, len, embedding_dim).
        training: whether dropout acts.
        mask: True = may attend; broadcasts to (batch, heads, len, len). None allows
            everything.
        Returns (batch, len, embedding_dim).
    """

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        # 1. The parts that the docstring names, and dropout.
        ### BEGIN SOLUTION
        self.mha = keras.layers.MultiHeadAttention(
            num_heads, key_dim=embedding_dim // num_heads
        )
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout1 = keras.layers.Dropout(dropout_rate)
        self.dropout2 = keras.layers.Dropout(dropout_rate)
        ### END SOLUTION

    def compute_mask(self, inputs, previous_mask):
        return None  # our `mask` is about attention, not about padding of the output

    def call(self, x, training=False, mask=None):
        # 2. Self-attention, wrapped: post-norm, or pre-norm if norm_first.
        ### BEGIN SOLUTION
        asked = self.layernorm1(x) if self.norm_first else x
        attended = self.mha(asked, asked, attention_mask=mask)
        x = x + self.dropout1(attended, training=training)
        if not self.norm_first:
            x = self.layernorm1(x)
        ### END SOLUTION
        # 3. The feed-forward network, wrapped in the same way.
        ### BEGIN SOLUTION
        widened = self.ffn(self.layernorm2(x) if self.norm_first else x)
        x = x + self.dropout2(widened, training=training)
        if not self.norm_first:
            x = self.layernorm2(x)
        ### END SOLUTION
        return x

# %% [markdown]
# <details><summary>Hint 1: how is Keras's attention called?</summary>
#
# With the queries and then the **values**; the keys are a third argument, which defaults to the values. `help(keras.layers.MultiHeadAttention)` lists the
# rest; one of its arguments takes our mask as it is.
# </details>
# <details><summary>Hint 2: what is added to what?</summary>
#
# A sub-layer's output is added to the input of that *wrapped sub-layer*: for the second one, that is the result of the first.
# </details>
# <details><summary>Hint 3: pre-norm</summary>
#
# The norm moves from the sum to the input of the sub-layer. Queries, keys and values all come from the normalised x. The result is added to x
# as it was before the norm.
# </details>
# <details><summary>Hint 4: I get "there is a weight too many"</summary>
#
# The check sets every weight by the name of its part. A layer that is never used, or has a different name, is one too many.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_EncoderLayer", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_tensorflow.EncoderLayer")

# %% [markdown]
# Here is a mask at work. The sentence has 6 words and 2 columns of padding. The cell changes the content of the padding and prints which
# outputs change.

# %%
layer = EncoderLayer(16, 4, 24)
states = np.random.default_rng(1).standard_normal((1, 8, 16)).astype("float32")
other = states.copy()
other[:, 6:] = np.random.default_rng(2).standard_normal((1, 2, 16))
real = np.arange(8)[None, None, None, :] < 6  # (1, 1, 1, 8)
for name, mask in {"no mask": None, "mask": real}.items():
    before = layer(states, training=False, mask=mask)
    after = layer(other, training=False, mask=mask)
    print(f"{name:8} change at each word: {np.abs(after - before).max(axis=-1)[0]}")

# %% [markdown]
# The outputs at the padding still change, as they must. Each output is computed from the vector at its own place, too: it is the query, and it is added in
# the residual connection. That does no harm, since no word attends to the padding.
#
# ### Exercise 3: `Encoder`
#
# Ids become vectors (an embedding). These are multiplied by $\sqrt{d_{model}}$, and their positions are added (sections 3.4 and 3.5). Then
# dropout is applied to the sum, and `num_layers` layers follow, one after the other. Why the root? Keras's embeddings start with entries
# between −0.05 and 0.05;
# those of the sinusoids go up to 1. Lab 04, section 5 compares the sizes.
#
# A pre-norm stack adds to $x$ again and again without ever normalising the sum. So it gets one more LayerNormalization at the end.

# %% nbgrader={"grade": false, "grade_id": "Encoder", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Encoder(keras.layers.Layer):
    """The encoder: embedding, positions, and a stack of layers.

    (Vaswani et al. 2017, sections 3.1, 3.4 and 3.5.)

    Its parts with weights, by name: `embedding` (a keras.layers.Embedding),
    `enc_layers` (a list of num_layers EncoderLayers, all different), and, with
    norm_first=True and only then, `layernorm` (a LayerNormalization with
    epsilon=layernorm_eps at the end of the stack).

    Call:
        x: ids of the source, (batch, src_len), src_len <= max_len.
        training: whether dropout acts (on the sum of embeddings and positions, and in
            the layers).
        mask: True = may attend, (batch, 1, 1, src_len); None allows everything.
        Returns (batch, src_len, embedding_dim). Results at padding are ignored.
    """

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim,
        source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(source_vocab_size, embedding_dim)
        # a tensor, (max_len, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        # 1. The layers; and the norm at the end, if norm_first.
        ### BEGIN SOLUTION
        self.enc_layers = [
            EncoderLayer(
                embedding_dim, num_heads, fully_connected_dim,
                dropout_rate, layernorm_eps, norm_first,
            )
            for _ in range(num_layers)
        ]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        ### END SOLUTION

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        # 2. Embeddings, scaled; the first src_len positions added; dropout.
        ### BEGIN SOLUTION
        x = (self.embedding(x) * self.embedding_dim**0.5
             + self.pos_encoding[: ops.shape(x)[1]])
        x = self.dropout(x, training=training)
        ### END SOLUTION
        # 3. Through all layers; and the norm at the end, if norm_first.
        ### BEGIN SOLUTION
        for layer in self.enc_layers:
            x = layer(x, training=training, mask=mask)
        if self.norm_first:
            x = self.layernorm(x)
        ### END SOLUTION
        return x

# %% [markdown]
# <details><summary>Hint 1: how long is the sentence?</summary>
#
# `ops.shape(x)[1]` is the length, even while TensorFlow traces a function; `self.pos_encoding` can be sliced with it.
# </details>
# <details><summary>Hint 2: a list of layers</summary>
#
# An ordinary list is enough: Keras finds the layers in it. Make a new layer for each place; the same layer twice would share its weights.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_Encoder", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_tensorflow.Encoder")

# %% [markdown]
# ## 4. The decoder
#
# A decoder layer has three sub-layers. **Block 1** is self-attention under the look-ahead mask: no word sees a later one. **Block 2** is
# cross-attention: the words written so far ask the encoder's output. **Block 3** is the feed-forward network.
#
# | | queries | keys and values | mask |
# |---|---|---|---|
# | block 1, `mha1` | x | x | `look_ahead_mask`: causal, and the target's padding |
# | block 2, `mha2` | result of block 1 | `enc_output` | `padding_mask`: the **source's** padding |
#
# The two masks have different sizes, (tgt_len, tgt_len) and (1, src_len). If both sentences happen to have the same length, swapping the
# masks causes no error message.
#
# ### Exercise 4: `DecoderLayer`

# %% nbgrader={"grade": false, "grade_id": "DecoderLayer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class DecoderLayer(keras.layers.Layer):
    """One layer of the decoder: self-attention, cross-attention, feed-forward.

    (Vaswani et al. 2017, section 3.1.)

    Its parts with weights, by name: `mha1` (self-attention) and `mha2`
    (cross-attention), both as in the EncoderLayer; `ffn`; `layernorm1`, `layernorm2`,
    `layernorm3`, one per sub-layer. Dropout, residuals and norms wrap each of the three
    as in the EncoderLayer. `enc_output` is never normalised here.

    Call:
        x: (batch, tgt_len, embedding_dim).
        enc_output: what the encoder made of the source, (batch, src_len,
            embedding_dim).
        training: whether dropout acts.
        look_ahead_mask: for block 1, True = may attend, (batch, 1, tgt_len, tgt_len),
            or None.
        padding_mask: for block 2, True = may attend, (batch, 1, 1, src_len), or None.
            A mask that is None allows everything.
        Returns x (batch, tgt_len, embedding_dim), the attention weights of block 1
        (batch, heads, tgt_len, tgt_len), and those of block 2 (batch, heads, tgt_len,
        src_len).
    """

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        # 1. The parts that the docstring names, and dropout.
        ### BEGIN SOLUTION
        self.mha1 = keras.layers.MultiHeadAttention(
            num_heads, key_dim=embedding_dim // num_heads
        )
        self.mha2 = keras.layers.MultiHeadAttention(
            num_heads, key_dim=embedding_dim // num_heads
        )
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm3 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout1 = keras.layers.Dropout(dropout_rate)
        self.dropout2 = keras.layers.Dropout(dropout_rate)
        self.dropout3 = keras.layers.Dropout(dropout_rate)
        ### END SOLUTION

    def call(
        self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None
    ):
        # 2. Block 1: x asks itself.
        ### BEGIN SOLUTION
        asked = self.layernorm1(x) if self.norm_first else x
        attended, attn_weights_block1 = self.mha1(
            asked, asked, attention_mask=look_ahead_mask, return_attention_scores=True
        )
        x = x + self.dropout1(attended, training=training)
        if not self.norm_first:
            x = self.layernorm1(x)
        ### END SOLUTION
        # 3. Block 2: x asks the encoder's output.
        ### BEGIN SOLUTION
        asked = self.layernorm2(x) if self.norm_first else x
        attended, attn_weights_block2 = self.mha2(
            asked, enc_output, attention_mask=padding_mask, return_attention_scores=True
        )
        x = x + self.dropout2(attended, training=training)
        if not self.norm_first:
            x = self.layernorm2(x)
        ### END SOLUTION
        # 4. Block 3: the feed-forward network.
        ### BEGIN SOLUTION
        widened = self.ffn(self.layernorm3(x) if self.norm_first else x)
        x = x + self.dropout3(widened, training=training)
        if not self.norm_first:
            x = self.layernorm3(x)
        ### END SOLUTION
        return x, attn_weights_block1, attn_weights_block2

# %% [markdown]
# <details><summary>Hint 1: the attention weights</summary>
#
# Keras's attention returns them as a second result if you ask for them: look for an argument about *scores* in its help. What you get has already
# been through the softmax.
# </details>
# <details><summary>Hint 2: cross-attention</summary>
#
# Who asks, and who answers? The result must have a row for each **target** word, so the queries are the target's. Keys and values both come from the
# encoder's output.
# </details>
# <details><summary>Hint 3: incompatible shapes, with 6 and 7 in them</summary>
#
# The cases have 6 target words and 7 source words. A mask is in the wrong block, or queries and values are swapped.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_DecoderLayer", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_tensorflow.DecoderLayer")

# %% [markdown]
# The look-ahead mask stops a decoder from reading ahead. The cell changes the last of five words. With the mask, the outputs before it must not change.

# %%
layer = DecoderLayer(16, 4, 24)
rng = np.random.default_rng(2)
written = rng.standard_normal((1, 5, 16)).astype("float32")
memory = rng.standard_normal((1, 7, 16)).astype("float32")
changed = written.copy()
changed[:, 4] += 3
causal = create_look_ahead_mask(ops.ones((1, 5), dtype="int32"))
for name, mask in {"no mask": None, "look ahead": causal}.items():
    before, _, _ = layer(written, memory, training=False, look_ahead_mask=mask)
    after, block1, block2 = layer(changed, memory, training=False, look_ahead_mask=mask)
    print(f"{name:11} change at each word: {np.abs(after - before).max(axis=-1)[0]}")
print("attention weights of block 1:", block1.shape, " of block 2:", block2.shape)

# %% [markdown]
# (Keras can also make the causal mask itself, with `use_causal_mask=True`. It is combined with `attention_mask` by *and*. It belongs in block 1 only: in
# block 2 it would hide the end of the French sentence from the first English words.)
#
# ### Exercise 5: `Decoder`
#
# The decoder is like the encoder, with two additions: the encoder's output goes into **every** layer, and the attention weights of every layer are kept
# in a dict. You will want to look at them.

# %% nbgrader={"grade": false, "grade_id": "Decoder", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Decoder(keras.layers.Layer):
    """The decoder: embedding, positions, and layers that also look at the encoder.

    Its parts with weights, by name: `embedding`, `dec_layers` (a list of num_layers
    DecoderLayers, all different), and, with norm_first=True and only then, `layernorm`,
    as in the Encoder.

    Call:
        x: ids of the target, (batch, tgt_len), tgt_len <= max_len.
        enc_output: (batch, src_len, embedding_dim).
        training, look_ahead_mask, padding_mask: as in the DecoderLayer.
        Returns x (batch, tgt_len, embedding_dim) and attention_weights, a dict. For
        layer 1, 2, ... it has the weights of block 1 under
        "decoder_layer1_block1_self_att", "decoder_layer2_block1_self_att", ..., and
        those of block 2 under "decoder_layer1_block2_decenc_att",
        "decoder_layer2_block2_decenc_att", ...
    """

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim,
        target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(target_vocab_size, embedding_dim)
        # a tensor, (max_len, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        # 1. The layers; and the norm at the end, if norm_first.
        ### BEGIN SOLUTION
        self.dec_layers = [
            DecoderLayer(
                embedding_dim, num_heads, fully_connected_dim,
                dropout_rate, layernorm_eps, norm_first,
            )
            for _ in range(num_layers)
        ]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        ### END SOLUTION

    def call(
        self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None
    ):
        attention_weights = {}
        # 2. Embeddings, scaled; positions; dropout. As in the Encoder.
        ### BEGIN SOLUTION
        x = (self.embedding(x) * self.embedding_dim**0.5
             + self.pos_encoding[: ops.shape(x)[1]])
        x = self.dropout(x, training=training)
        ### END SOLUTION
        # 3. Through all layers, and their attention weights into the dict; the norm at
        #    the end, if norm_first.
        ### BEGIN SOLUTION
        for number, layer in enumerate(self.dec_layers, start=1):
            x, block1, block2 = layer(
                x, enc_output, training=training,
                look_ahead_mask=look_ahead_mask, padding_mask=padding_mask,
            )
            attention_weights[f"decoder_layer{number}_block1_self_att"] = block1
            attention_weights[f"decoder_layer{number}_block2_decenc_att"] = block2
        if self.norm_first:
            x = self.layernorm(x)
        ### END SOLUTION
        return x, attention_weights

# %% [markdown]
# <details><summary>Hint 1: names with a number in them</summary>
#
# `enumerate` counts while a loop runs, from any number you like, and an f-string puts the number into a name.
# </details>
# <details><summary>Hint 2: what does a layer return?</summary>
#
# Three things: x for the next layer, and the attention weights of block 1 and of block 2. `enc_output` is the same for all layers: never assign to it.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_Decoder", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_tensorflow.Decoder")

# %% [markdown]
# ## 5. The whole model
#
# **A good place for a break.** Encoder and decoder are done. Next you put them together, and the model learns to translate. If you go on
# another day, run the cell at the top first, *Continue here*.
#
# ### Exercise 6: `Transformer`
#
# Encoder, decoder, and a last linear layer that gives a number for each English word. Only three decisions are left, all about masks: who may look at
# whom in the encoder, in block 1, and in block 2? In some courses you pass the three masks to the model. Here the model makes them from the
# ids, so you cannot forget one.
#
# The numbers that come out are **logits**: any numbers, before the softmax. Many notebooks put `activation="softmax"` into the last layer, and then take the
# logarithm of its output in the loss. If a prediction is very confident and wrong, the softmax of the right word can be 0 in float32. Its
# logarithm is minus infinity, and the gradient is NaN. (Keras's own losses replace 0 with a small number. Then the loss is finite, but
# the gradient is 0.) A loss that gets logits subtracts the maximum first, and stays finite. Greedy decoding does not need the softmax: the
# largest logit has the largest probability.

# %%
# sure that it is class 1; the label is 2
sure = ops.convert_to_tensor([[0.0, 200.0, 0.0]])
probabilities = ops.softmax(sure)
print("softmax, then logarithm:", float(-ops.log(probabilities)[0, 2]))
print("straight from logits:   ", float(-ops.log_softmax(sure)[0, 2]))

# %% nbgrader={"grade": false, "grade_id": "Transformer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Transformer(keras.Model):
    """The encoder-decoder (Vaswani et al. 2017, figure 1).

    Its parts with weights, by name: `encoder`, `decoder`, and `final_layer` (a
    keras.layers.Dense with a bias and no activation).

    Call:
        source_ids: (batch, src_len), padded with 0.
        target_ids: what the decoder reads, beginning with BOS, (batch, tgt_len), padded
            with 0.
        training: whether dropout acts.
        Returns logits (batch, tgt_len, target_vocab_size), and the decoder's dict of
        attention weights. Results at the target's padding are ignored.
    """

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim,
        source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        sizes = num_layers, embedding_dim, num_heads, fully_connected_dim
        rest = dropout_rate, layernorm_eps, norm_first
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *rest)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *rest)
        # 1. The last layer.
        ### BEGIN SOLUTION
        self.final_layer = keras.layers.Dense(target_vocab_size)
        ### END SOLUTION

    def call(self, source_ids, target_ids, training=False):
        # 2. Who may look at whom: in the encoder, in block 1 and in block 2.
        ### BEGIN SOLUTION
        enc_padding_mask = create_padding_mask(source_ids)
        look_ahead_mask = (
            create_look_ahead_mask(target_ids) & create_padding_mask(target_ids)
        )
        dec_padding_mask = enc_padding_mask  # block 2 looks at the source
        ### END SOLUTION
        # 3. Encoder, decoder, last layer.
        ### BEGIN SOLUTION
        enc_output = self.encoder(source_ids, training=training, mask=enc_padding_mask)
        dec_output, attention_weights = self.decoder(
            target_ids, enc_output, training=training,
            look_ahead_mask=look_ahead_mask, padding_mask=dec_padding_mask,
        )
        logits = self.final_layer(dec_output)
        ### END SOLUTION
        return logits, attention_weights

# %% [markdown]
# <details><summary>Hint 1: two masks into one</summary>
#
# `&` between two boolean tensors is True where both are, and broadcasts. `create_padding_mask(tiny)` and `create_look_ahead_mask(tiny)` were
# combined in section 2.
# </details>
# <details><summary>Hint 2: which padding does block 2 have to hide?</summary>
#
# A mask hides **keys**. Where do the keys of the cross-attention come from?
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_Transformer", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_tensorflow.Transformer")

# %% [markdown]
# ## 6. What is to be learned
#
# ### Exercise 7: `masked_loss`
#
# This is the label-smoothed loss of [lab 05, exercise 10](../05_transformer_pytorch/transformer_pytorch.ipynb), in Keras's order of
# arguments. The label gets $1 - \varepsilon$, and the other words share $\varepsilon$. Padding gets nothing, and a position whose label is
# padding does not count. With $V$ classes:
#
# $$q_k = \begin{cases} 1 - \varepsilon & k = \text{label} \\ 0 & k = \text{pad} \\ \varepsilon / (V - 2) & \text{otherwise} \end{cases} \qquad\qquad
# \text{loss} = -\frac{1}{n} \sum_{i:\, \text{label}_i \ne \text{pad}} \; \sum_k q_{ik} \log p_{ik}$$
#
# where $n$ is the number of positions with a real label, in the whole batch. Keras has `label_smoothing`, too, but it means something else by it (as
# PyTorch does, after [Szegedy et al. 2016](https://arxiv.org/abs/1512.00567)): it spreads $\varepsilon$ over *all* classes. Here are both, with five classes, padding 0, label 3 and
# $\varepsilon = 0.1$:

# %% tags=["skip-grading"]
logits_of_a_word = np.array([0.5, 1.0, 0.0, 2.0, -1.0])
log_p = logits_of_a_word - np.log(np.exp(logits_of_a_word).sum())
wanted_shares = {
    "yours": np.array([0.0, 0.1 / 3, 0.1 / 3, 0.9, 0.1 / 3]),  # V - 2 = 3 others
    # 0.1 / 5 for each
    "Keras's `label_smoothing`": np.array([0.02, 0.02, 0.02, 0.92, 0.02]),
}
show_table(
    ["wanted by", *["pad, 0", "1", "2", "label, 3", "4"], "loss", "lowest possible"],
    [
        [name, *[f"{share:.3f}" for share in q], f"{-(q * log_p).sum():.4f}",
         f"{-(q[q > 0] * np.log(q[q > 0])).sum():.4f}"]
        for name, q in wanted_shares.items()
    ],
)
by_keras = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)
print(f"Keras itself says {by_keras(np.eye(5)[[3]], logits_of_a_word[None]):.4f}")

# %% nbgrader={"grade": false, "grade_id": "masked_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def masked_loss(
    labels: tf.Tensor, logits: tf.Tensor, smoothing: float = 0.1, pad_id: int = 0
) -> tf.Tensor:
    """Cross-entropy with label smoothing, mean over the real labels of the batch.

    (Vaswani et al. 2017, section 5.4.)

    The wanted distribution gives 1 - smoothing to the label, 0 to pad_id, and smoothing
    / (V - 2) to each of the other classes. Example: V = 5, pad_id 0, label 3, smoothing
    0.1 -> [0, 0.1/3, 0.1/3, 0.9, 0.1/3]. Positions whose label is pad_id do not count,
    neither in the sum nor in the number it is divided by. Large logits must not
    overflow.

    Args:
        labels: (batch, len), int32 or int64. At least one is real.
        logits: before the softmax, (batch, len, V).
        smoothing: ε.
        pad_id: the id of padding.

    Returns:
        A tensor of shape (), from which gradients reach the logits.
    """
    # 1. The wanted distribution, (batch, len, V).
    ### BEGIN SOLUTION
    classes = logits.shape[-1]
    is_label = ops.one_hot(labels, classes)
    is_other = (1 - is_label) * (1 - ops.one_hot(pad_id, classes))
    wanted = (1 - smoothing) * is_label + smoothing / (classes - 2) * is_other
    ### END SOLUTION
    # 2. The cross-entropy at each position, (batch, len).
    ### BEGIN SOLUTION
    losses = -ops.sum(wanted * ops.log_softmax(logits), axis=-1)
    ### END SOLUTION
    # 3. Its mean over the real labels.
    ### BEGIN SOLUTION
    real = ops.cast(ops.not_equal(labels, pad_id), losses.dtype)
    return ops.sum(losses * real) / ops.sum(real)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: the wanted distribution</summary>
#
# `ops.one_hot(labels, classes)` has a 1 at each label. Which tensor has a 1 everywhere else? And how do you get a 0 into its pad column?
# </details>
# <details><summary>Hint 2: can I use Keras's loss?</summary>
#
# `keras.losses.CategoricalCrossentropy` takes such a distribution as `y_true`. Tell it that it gets logits, and to leave the mean to you (`reduction`). Its own
# `label_smoothing` spreads ε over *all* classes, including the label and the padding: that is a different distribution.
# </details>
# <details><summary>Hint 3: more padding makes my loss smaller</summary>
#
# Then the padding is counted in the number that you divide by.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_masked_loss", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_tensorflow.masked_loss")

# %% [markdown]
# Here is what happens if you forget the mask; Keras does not remind you. The batch has two sentences. The model is bad at words and good at
# padding. The masked loss does not change when padding is added. The plain mean gets better and better although nothing was learned:

# %% tags=["skip-grading"]
rows = []
for extra in (0, 5, 20):
    labels_padded = np.pad([[4, 2, 3, 1], [3, 1, 0, 0]], ((0, 0), (0, extra)))
    guesses = np.random.default_rng(3).normal(size=(2, 4, 6))
    guesses = np.concatenate([guesses, np.zeros((2, extra, 6))], axis=1)
    guesses[labels_padded == 0] = [9.0, 0, 0, 0, 0, 0]  # sure of the padding
    guesses = guesses.astype("float32")
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    plain = cross_entropy(labels_padded, guesses)
    honest = masked_loss(ops.convert_to_tensor(labels_padded), guesses, smoothing=0.0)
    rows.append([str(extra), f"{float(plain):.3f}", f"{float(honest):.3f}"])
show_table(["more columns of padding", "plain mean", "masked"], rows)

# %% [markdown]
# ### Exercise 8: `masked_accuracy`
#
# The accuracy is the share of real labels that get the largest logit. It is easier to read than the loss. Padding must be left out here, too.

# %% nbgrader={"grade": false, "grade_id": "masked_accuracy", "locked": false, "schema_version": 3, "solution": true, "task": false}
def masked_accuracy(labels: tf.Tensor, logits: tf.Tensor, pad_id: int = 0) -> tf.Tensor:
    """The share of the real labels of the batch that have the largest logit, 0 to 1.

    Args:
        labels: (batch, len), int32 or int64.
        logits: (batch, len, V).
        pad_id: positions with this label do not count.

    Returns:
        A tensor of shape ().
    """
    ### BEGIN SOLUTION
    right = ops.equal(
        ops.cast(labels, "int32"), ops.cast(ops.argmax(logits, axis=-1), "int32")
    )
    real = ops.not_equal(labels, pad_id)
    return (
        ops.sum(ops.cast(right & real, "float32")) / ops.sum(ops.cast(real, "float32"))
    )
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: TensorFlow does not compare int32 with int64</summary>
#
# `ops.cast` brings both to one type. It also turns booleans into 0 and 1, which you can add up.
# </details>
# <details><summary>Hint 2: what is divided by what?</summary>
#
# Count the positions that are right *and* real, and divide by the number of real positions. You do not need the total number of positions.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_masked_accuracy", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_tensorflow.masked_accuracy")

# %% [markdown]
# ## 7. How it is learned
#
# ### Exercise 9: `WarmupSchedule`
#
# The paper's learning rate (equation 3) grows for a while and then falls; lab 05 shows the curve, and what happens without it:
#
# $$\mathrm{lr} = \mathrm{factor} \cdot d_{model}^{-0.5} \cdot \min\left(n^{-0.5},\; n \cdot \mathrm{warmup\_steps}^{-1.5}\right), \qquad n = 1, 2, 3, \dots$$
#
# In PyTorch you set the rate before each step. In Keras a schedule is an object, and the optimizer calls it before each update. It passes the
# number of updates **made so far**, which is 0 before the first one. At that point the paper's $n$ is 1.

# %% nbgrader={"grade": false, "grade_id": "WarmupSchedule", "locked": false, "schema_version": 3, "solution": true, "task": false}
class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """The learning rate of Vaswani et al. 2017, equation 3, times a factor.

    Call:
        step: how many updates were made before this one, 0 for the first: an integer
            tensor, as in Keras's optimizers.
        Returns the rate for this update, a float tensor.

    `get_config` returns the constructor's arguments by name, as a dict, so that an
    optimizer can be saved with its schedule.
    """

    def __init__(
        self, embedding_dim: int, warmup_steps: int = 4000, factor: float = 1.0
    ):
        super().__init__()
        self.embedding_dim, self.factor = embedding_dim, factor
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        ### BEGIN SOLUTION
        n = ops.cast(step, "float32") + 1.0
        shape = ops.minimum(n**-0.5, n * self.warmup_steps**-1.5)
        return self.factor * self.embedding_dim**-0.5 * shape
        ### END SOLUTION

    def get_config(self) -> dict:
        ### BEGIN SOLUTION
        return {
            "embedding_dim": self.embedding_dim,
            "warmup_steps": self.warmup_steps, "factor": self.factor,
        }
        ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: an integer to the power of -0.5</summary>
#
# TensorFlow refuses. The step is an integer tensor: make it a float first.
# </details>
# <details><summary>Hint 2: right everywhere, but one step late</summary>
#
# Keras counts from 0, the paper from 1.
# </details>
# <details><summary>Hint 3: what belongs in get_config?</summary>
#
# The three arguments of the constructor, under their own names: `WarmupSchedule(**config)` must create the same schedule again.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_WarmupSchedule", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_tensorflow.WarmupSchedule")

# %% [markdown]
# What is `get_config` good for? To save an optimizer, Keras turns it into a dict, together with its schedule. The cell does this and makes an
# optimizer from the dict again:

# %% tags=["skip-grading"]
optimizer = keras.optimizers.Adam(WarmupSchedule(128, warmup_steps=200, factor=0.4))
as_dict = keras.optimizers.serialize(optimizer)
print(as_dict["config"]["learning_rate"]["config"])
names = {"WarmupSchedule": WarmupSchedule}
again = keras.optimizers.deserialize(as_dict, custom_objects=names)
rows = []
for made in (0, 99, 199, 399, 1199):  # updates made so far
    optimizer.iterations.assign(made), again.iterations.assign(made)
    rates = [float(one.learning_rate) for one in (optimizer, again)]
    rows.append([str(made), *[f"{rate:.6f}" for rate in rates]])
show_table(["updates made", "learning rate", "after restoring"], rows)

# %% [markdown]
# ### Exercise 10: `train_step`
#
# As in lab 05 the model learns with **teacher forcing**. The decoder reads the right translation, shifted by one place with BOS in front, and
# predicts the next word at each position. For the labels *Jane visits Africa* EOS it reads BOS *Jane visits Africa*. Here `train_step` does the shift itself.
#
# The ids may be int32 or int64 (section 9 trains with int64). TensorFlow cannot join the two, so give the column of BOS the labels' type.
#
# This is how a step works in TensorFlow: compute the loss **inside** a `tf.GradientTape`, which records the computation; ask the tape for the gradients; pass them to
# the optimizer.

# %% nbgrader={"grade": false, "grade_id": "train_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_step(model, optimizer, source_ids, labels, smoothing=0.1, bos_id=1):
    """One step of training with teacher forcing. It must also work inside tf.function.

    Args:
        model: called as model(source_ids, target_ids, training=...); gives (logits,
            attention_weights).
        optimizer: one of Keras's.
        source_ids: (batch, src_len).
        labels: the translations' words, then EOS, then padding, (batch, tgt_len). Both
            are int32 or int64.
        smoothing: for masked_loss.
        bos_id: what the decoder's input begins with.

    Returns:
        The loss before the update, a tensor.
    """
    # 1. What the decoder reads: the labels shifted by one, BOS in front; equally long.
    ### BEGIN SOLUTION
    begin = ops.full_like(labels[:, :1], bos_id)
    target_ids = ops.concatenate([begin, labels[:, :-1]], axis=1)
    ### END SOLUTION
    # 2. The loss of the model in training mode, on the tape.
    ### BEGIN SOLUTION
    with tf.GradientTape() as tape:
        logits, _ = model(source_ids, target_ids, training=True)
        loss = masked_loss(labels, logits, smoothing)
    ### END SOLUTION
    # 3. Gradients, and the update.
    ### BEGIN SOLUTION
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    ### END SOLUTION
    return loss

# %% [markdown]
# <details><summary>Hint 1: the gradients are all None</summary>
#
# The tape only knows what was computed inside the `with` block: the model's call and the loss both belong there. The tape cannot follow a
# detour through NumPy (`.numpy()`, `float(...)`).
# </details>
# <details><summary>Hint 2: a column of BOS</summary>
#
# `ops.full_like` makes a tensor of the same shape and type, full of one number. Which part of the labels has the right shape?
# </details>
# <details><summary>Hint 3: the optimizer</summary>
#
# It needs the gradients *and* what they are gradients of, in the same order: the model keeps a list of what can be trained.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_train_step", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_tensorflow.train_step")

# %% [markdown]
# ### `tf.function` and `fit`
#
# If you call the step as it is, Python carries out each of its operations. With `tf.function`, Python records the step **once**, as a graph.
# This is called *tracing*, and it happens in the first call. All later calls run the graph. Watch when Python runs:

# %% tags=["skip-grading"]
# any batch, any length: one trace
@tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)])
def count_words(ids):
    print("  Python is here, with", ids)
    return tf.reduce_sum(tf.cast(ids != 0, tf.int32))


for length in (3, 4, 5):
    print(f"length {length}: {int(count_words(tf.ones((2, length), tf.int32)))} words")

# %% [markdown]
# Without the signature the function would be traced again for each new length. A traced function must not rely on what Python does: no `loss.numpy()`, no
# `print` of values, no list that grows.
#
# **`fit`** is the usual way in Keras. `model.fit` calls a *method* named `train_step` for each batch, as a graph. Keras's own version calls
# the model with one input and uses the loss that you gave to `compile`. Your model takes two inputs and returns two things, so it needs its
# own method. You have written its body already:

# %% tags=["skip-grading"]
class Fitted(Transformer):
    """A Transformer that Keras's `fit` can train: each batch goes through your step."""

    def train_step(self, data):  # the method calls your function of the same name
        source_ids, labels = data
        loss = train_step(self, self.optimizer, source_ids, labels)
        (mean,) = self.metrics  # Keras keeps it for us: the mean over the epoch
        mean.update_state(loss)
        return {"loss": mean.result(), "batch_loss": loss}  # for `fit` and callbacks


# %% [markdown]
# ### Four ways to run one step (optional)
#
# You know three ways by now: eagerly, as a graph, and inside `fit`. **XLA** goes further than a graph: `jit_compile=True` turns it into machine code, and
# merges operations that follow each other. It has to know all shapes, so it compiles again for every new length.
#
# Do all four do the same? Train the same small model in each of the four ways, from the same weights and on the same five batches. Then
# compare the losses and the time. (There is no dropout, because each way would draw different random numbers.)

# %% tags=["skip-grading"]
from course_utils.widgets.predict import measured, predict

predict("transformer_tensorflow.first_step")

# %% tags=["skip-grading"]
import time

small = {
    "num_layers": 1, "embedding_dim": 64, "num_heads": 4, "fully_connected_dim": 256,
    "source_vocab_size": 100, "target_vocab_size": 90, "max_len": 20,
}
ids = np.random.default_rng(4).integers(4, 90, (5, 64, 12))
first_weights = None


def fresh():
    """The same model with the same weights each time, ready to be trained."""
    global first_weights
    keras.utils.set_random_seed(4)
    model = Fitted(**small, dropout_rate=0.0)
    model(ids[0], ids[0])
    first_weights = first_weights or model.get_weights()
    model.set_weights(first_weights)
    model.compile(optimizer=keras.optimizers.Adam(1e-3))
    model.optimizer.build(model.trainable_variables)
    return model


# %% tags=["skip-grading"]
class Watch(keras.callbacks.Callback):
    """Keeps the loss and the time of every batch of `fit`."""

    def on_train_begin(self, logs=None):
        self.losses, self.times = [], [time.perf_counter()]

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(logs["batch_loss"])
        self.times.append(time.perf_counter())


def by_hand(decorate):
    """Losses and times of five batches, then the time for one of another length."""
    model = fresh()
    step = decorate(lambda batch: train_step(model, model.optimizer, batch, batch))
    losses, times = [], [time.perf_counter()]
    for batch in [*map(tf.constant, ids), tf.constant(ids[0][:, :9])]:
        losses.append(float(step(batch)))
        times.append(time.perf_counter())
    return losses[:-1], np.diff(times)

# %% tags=["skip-grading"]
def by_fit():
    """The same by `fit`."""
    batches_of = tf.data.Dataset.from_tensor_slices((ids, ids))
    model, watch = fresh(), Watch()
    model.fit(batches_of, shuffle=False, verbose=0, callbacks=[watch])
    return watch.losses, np.diff(watch.times)


signature = [tf.TensorSpec([None, None], tf.int64)]
runs = {
    "eager": by_hand(lambda step: step),
    "graph: `tf.function`": by_hand(tf.function(input_signature=signature)),
    "XLA: `jit_compile=True`": by_hand(tf.function(jit_compile=True)),
    "`fit`, with your step as a method": by_fit(),
}
rows = [
    [name, f"{spent[0]:.1f} s", f"{1000 * np.median(spent[1:5]):.0f} ms",
     f"{spent[5]:.2f} s" if len(spent) > 5 else "",
     f"{losses[0]:.5f}", f"{losses[-1]:.5f}"]
    for name, (losses, spent) in runs.items()
]
head = ["first call", "then", "new length", "first loss", "fifth loss"]
show_table(["the step runs", *head], rows)
first, *later = runs["graph: `tf.function`"][1][:5]
measured("transformer_tensorflow.first_step",
         shown=first > max(1, 10 * np.median(later)))

# %% [markdown]
# And over more steps? Where two lines cross in the figure, the slower start has paid for itself.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
from course_utils.plots import show_figure
from course_utils.plots.transformer import break_even

costs = {
    name.replace("`", ""): (spent[0], np.median(spent[1:5]))
    for name, (losses, spent) in runs.items()
}
show_figure(
    break_even(costs, steps=2000),
    alt="Seconds in all against the number of steps, both axes logarithmic. The eager "
    "step is the cheapest for the first steps and by far the dearest after a hundred. "
    "XLA begins highest, because it compiles; graph and fit begin lower and run side "
    "by side.",
)

# %% [markdown]
# The losses agree, so the choice is about time. Read from the figure after how many steps the graph overtakes the eager step, and whether XLA
# ever overtakes the graph. `fit` is a graph, too: it saves you the loop, not the computing. XLA compiles again at every new length. These
# times are for your computer and a small model; on another machine, above all on a GPU, they can be quite different. So measure before
# you switch XLA on. (Keras's `compile` takes `jit_compile`, too. Its default, `"auto"`, uses XLA on a GPU and not on a CPU.)

# %% [markdown]
# ### Exercise 11: `greedy_decode`
#
# After training the decoder reads what it has written itself, as in [lab 05, section 8](../05_transformer_pytorch/transformer_pytorch.ipynb): look at the
# logits of the **last** position, take the largest, append it, repeat. A sentence is finished once it has produced EOS. The others continue.

# %% nbgrader={"grade": false, "grade_id": "greedy_decode", "locked": false, "schema_version": 3, "solution": true, "task": false}
def greedy_decode(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """Writes the translations of a batch, always taking the most probable next word.

    Args:
        model: called as model(source_ids, ids_so_far, training=False); gives (logits,
            attention_weights). It never says bos_id or pad_id.
        source_ids: (batch, src_len).
        max_len: the most words to write.
        bos_id, eos_id, pad_id: begin, end, padding.

    Returns:
        ids (batch, n), whole numbers, n <= max_len: the words without BOS; pad_id in
        the place of EOS and after it. Whether there is a last column with nothing but
        padding does not matter. The model is not called again once every sentence has
        ended.
    """
    ids = ops.full((ops.shape(source_ids)[0], 1), bos_id, dtype="int32")
    ended = ops.zeros((ops.shape(source_ids)[0],), dtype="bool")
    for _ in range(max_len):
        # 1. The next word of each sentence, (batch,).
        ### BEGIN SOLUTION
        logits, _ = model(source_ids, ids, training=False)
        word = ops.cast(ops.argmax(logits[:, -1], axis=-1), "int32")
        ### END SOLUTION
        # 2. Which sentences have ended? They get padding. Append the words; stop if all
        #    have ended.
        ### BEGIN SOLUTION
        ended = ended | ops.equal(word, eos_id)
        word = ops.where(ended, pad_id, word)
        ids = ops.concatenate([ids, word[:, None]], axis=1)
        if ops.all(ended):
            break
        ### END SOLUTION
    # 3. What was written.
    ### BEGIN SOLUTION
    return ids[:, 1:]
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: which of the logits?</summary>
#
# They have a row for each word so far: (batch, length, V). The row of the last word tells you what comes next.
# </details>
# <details><summary>Hint 2: sentences that have ended</summary>
#
# Keep a boolean for each sentence. Once True, it stays True: which operation combines the old value with the new one? `ops.where` then chooses between padding
# and the word.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_greedy_decode", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_tensorflow.greedy_decode")

# %% [markdown]
# ### Given: beam search (optional)
#
# Exercise 14 of lab 05 (optional) has lists of hypotheses. Here are the same rules with arrays, one row for each hypothesis: the model sees the whole beam as one
# batch. A hypothesis that has ended can only be continued by EOS, and this changes neither its score nor its length. A test of the course
# makes sure that both frameworks find the same words with the same scores. Section 9 uses this beam search on your trained model.

# %%
def beam_search(
    model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2
):
    """The best translation of one sentence (1, src_len): words without EOS, score."""
    prefixes = np.full((1, 1), bos_id)  # (beam, 1 + words so far), the best one first
    totals, lengths, ended = np.zeros(1), np.zeros(1), np.zeros(1, dtype=bool)
    scores = totals
    for _ in range(max_len):
        if ended.all():
            break
        source = np.repeat(source_ids, len(prefixes), axis=0)
        logits, _ = model(source, prefixes, training=False)
        gains = np.array(ops.log_softmax(logits[:, -1]), dtype="float64")  # (beam, V)
        gains[ended] = np.where(np.arange(gains.shape[1]) == eos_id, 0, -np.inf)
        grown = lengths + ~ended
        totals = totals[:, None] + gains
        ranked = totals / grown[:, None] ** length_penalty
        best = np.argsort(-ranked, axis=None, kind="stable")[:beam_size]
        rows, words = np.unravel_index(best, ranked.shape)
        prefixes = np.concatenate([prefixes[rows], words[:, None]], axis=1)
        totals, scores = totals[rows, words], ranked[rows, words]
        lengths, ended = grown[rows], ended[rows] | (words == eos_id)
    return [int(word) for word in prefixes[0, 1:] if word != eos_id], float(scores[0])

# %% [markdown]
# ## 8. A model that survives the night
#
# **A good place for a break.** The model is whole, and it can learn. What is left is saving it, training it, and comparing it with its
# twin. If you go on another day, run the cell at the top first, *Continue here*.
#
# A `.keras` file contains two things: how to recreate the model (its *configuration*), and its weights. See what happens to yours:

# %%
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
sizes = {
    "embedding_dim": 16, "num_heads": 4, "fully_connected_dim": 24,
    "source_vocab_size": 20, "target_vocab_size": 18,
}
one_source = ops.convert_to_tensor([[5, 7, 9]])
one_target = ops.convert_to_tensor([[1, 4]])
fragile = Transformer(num_layers=1, **sizes, max_len=8)
fragile(one_source, one_target)
try:
    fragile.save(folder / "fragile.keras")
except NotImplementedError as error:
    print("No configuration:", " ".join(str(error).split()).partition(" in order")[0])

# %% [markdown]
# So it needs `get_config`: a dict of the constructor's arguments. (For a plain `Layer` with numbers as arguments Keras does that by itself. For a
# `Model` it does not.) With `get_config`, saving works. Loading seems to work, too. Does it?

# %% tags=["skip-grading"]
from course_utils.widgets.predict import measured, predict

predict("transformer_tensorflow.loaded")

# %%
class AlmostSavable(Transformer):
    """Knows its configuration, and nothing else."""

    def get_config(self):
        return {**super().get_config(), "num_layers": 1, **sizes, "max_len": 8}


almost = AlmostSavable(num_layers=1, **sizes, max_len=8)
logits, _ = almost(one_source, one_target)
almost.save(folder / "almost.keras")
with warnings.catch_warnings(record=True) as complaints:
    warnings.simplefilter("always")
    names = {"AlmostSavable": AlmostSavable}
    back = keras.saving.load_model(folder / "almost.keras", custom_objects=names)
print("logits before:", logits[0, 0, :4].numpy())
print("logits after: ", back(one_source, one_target)[0][0, 0, :4].numpy())
print("a warning, easily overlooked:", str(complaints[0].message).partition(" in `")[0])

# %% tags=["skip-grading"]
again, _ = back(one_source, one_target)
measured("transformer_tensorflow.loaded",
         shown=not np.allclose(again, logits, atol=0.1))

# %% [markdown]
# The model that came back is **random**. Variables are created by the first call; the loaded model was never called, so there was nothing to put the
# weights into. Keras tries to call it by itself, but cannot know that this model takes *two* inputs of ids. So the class has to say how it is
# built. Before Keras reads the weights, it calls the method `build_from_config`. There you create the variables, for instance by calling the
# model once with a sentence of two words.
#
# ### Exercise 12: `SavableTransformer`
#
# The decorator registers the class under a name, so that `load_model` finds it without `custom_objects`.

# %% nbgrader={"grade": false, "grade_id": "SavableTransformer", "locked": false, "schema_version": 3, "solution": true, "task": false}
@keras.saving.register_keras_serializable(package="transformer_labs")
class SavableTransformer(Transformer):
    """A Transformer that a .keras file restores exactly: configuration and weights.

    It is constructed with the arguments of Transformer, all by keyword:
    SavableTransformer(num_layers=2, ...).
    """

    def __init__(self, **config):
        super().__init__(**config)
        self.config = config  # only the given arguments; the rest have their defaults

    def get_config(self) -> dict:
        """What keras.Model.get_config returns, and the constructor's arguments.

        SavableTransformer(**config) makes a model of the same sizes.
        """
        ### BEGIN SOLUTION
        return {**super().get_config(), **self.config}
        ### END SOLUTION

    def build_from_config(self, config: dict) -> None:
        """Creates all variables of a model that has just been constructed.

        `config` holds shapes, which are not needed.
        """
        ### BEGIN SOLUTION
        two_words = ops.ones((1, 2), dtype="int32")
        self(two_words, two_words)
        ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: how do two dicts become one?</summary>
#
# `{**first, **second}` has the entries of both. What is `self.config`, and what does the parent class already know (`super()`)?
# </details>
# <details><summary>Hint 2: what is a sentence of two words?</summary>
#
# Ids of shape (batch, length): (1, 2). It may be any two words: the shapes of the variables do not depend on them.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_SavableTransformer", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("transformer_tensorflow.SavableTransformer")

# %% [markdown]
# ## 9. Training, as Keras people do it
#
# ### `tf.data`: buckets
#
# The data is the same as in lab 05, and so are the two test sets: new sentences, and sentences with words that never met in training.

# %% tags=["skip-grading"]
from course_utils.data.batches import encode_batch
from course_utils.data.pairs import split_pairs
from course_utils.data.translation import translation_pairs
from course_utils.data.vocabulary import Vocabulary

everything = translation_pairs(24_000, seed=5)
splits = split_pairs(everything, validation=300, test=500, seed=5)
french = Vocabulary.from_texts(pair.source for pair in splits.train)
english = Vocabulary.from_texts(pair.target for pair in splits.train)
print(f"{len(splits.train)} pairs; words: {len(french)} French, {len(english)} English")
print(splits.test[0].source, " ids:", french.encode(splits.test[0].source))

# %% [markdown]
# In TensorFlow a `tf.data.Dataset` prepares the batches. It is a chain of steps that runs in C++ threads beside the training. Ragged tensors
# store sentences of different lengths. A batch has to be a rectangle, so short sentences are padded, and the work on padding is wasted.
# `bucket_by_sequence_length` puts sentences of similar length together. Compare how much of a batch is padding:

# %% tags=["skip-grading"]
predict("transformer_tensorflow.buckets")

# %% tags=["skip-grading"]
def as_tensors(source, labels):
    """Each sentence comes out of a ragged tensor; from here on it is a plain one."""
    return source, labels


def longer_side(source, labels):
    """The length that decides which bucket a pair goes into."""
    return tf.maximum(tf.size(source), tf.size(labels))


def pipeline(pairs, boundaries, batch_size=64):
    """Batches (source, labels) of padded ids; each bucket ends below its boundary."""
    source = [french.encode(pair.source) for pair in pairs]
    labels = [english.encode(pair.target) for pair in pairs]
    ragged = tuple(tf.ragged.constant(ids, dtype=tf.int64) for ids in (source, labels))
    return (
        tf.data.Dataset.from_tensor_slices(ragged)
        .map(as_tensors)
        .shuffle(len(pairs), seed=0)  # in a new order each epoch
        .bucket_by_sequence_length(
            longer_side,
            bucket_boundaries=boundaries,
            bucket_batch_sizes=[batch_size] * (len(boundaries) + 1),
        )
        .prefetch(tf.data.AUTOTUNE)  # the next batches are made while one is trained on
    )


BOUNDARIES = [7, 8, 9, 10, 11, 12, 13]

# %% tags=["skip-grading"]
rows, shares = [], []
for name, boundaries in {"one for all": [], "eight buckets": BOUNDARIES}.items():
    data = pipeline(splits.train, boundaries)
    found = [part.numpy() for batch in data for part in batch]
    places = sum(part.size for part in found)
    shares.append(sum((part == 0).sum() for part in found) / places)
    rows.append([name, str(len(found) // 2), f"{places:,}", f"{shares[-1]:.1%}"])
show_table(["buckets", "batches", "places computed", "padding"], rows)
measured("transformer_tensorflow.buckets", shown=0.35 < shares[0] < 0.45)

# %% [markdown]
# Each epoch still contains every sentence once, in a new random order. Only sentences of similar length are now in a batch together. With
# `pad_to_bucket_boundary=True` each bucket would have one fixed length, so XLA would compile only once for each bucket.
#
# ### `compile` and `fit`, with callbacks
#
# The model has the same sizes as lab 05's, and trains for the same number of steps. `fit` calls your step; **callbacks** do everything else that belongs to a training run:
#
# - `ExactMatch`, our own, translates the validation sentences with your `greedy_decode` at the end of each epoch. It puts the share of
#   translations without any mistake into the epoch's `logs`. The callbacks after it find it there.
# - `ModelCheckpoint` saves the model whenever that share is the best so far.
# - `EarlyStopping` ends the training if that share has not improved for two epochs, and restores the best weights. It starts to watch after three
#   epochs, because at first hardly any sentence is right.
#
# The learning rate needs no callback: the optimizer asks your `WarmupSchedule`.
#
# If you do not want to wait, or share a computer with others, set `RUN_TRAINING = False`. Then the weights that come with the course are
# loaded into *your* model. They were trained in PyTorch.

# %% tags=["skip-grading"]
from course_utils.training import corpus_bleu, exact_match

RUN_TRAINING = True  # False: use the weights that come with the course
STEPS, WARMUP, FACTOR = 1200, 200, 0.4
CONFIG = {
    "num_layers": 2, "embedding_dim": 128, "num_heads": 4, "fully_connected_dim": 512,
    "source_vocab_size": len(french), "target_vocab_size": len(english),
    "max_len": 32, "dropout_rate": 0.1,
}


def compiled(model):
    """The model's forward pass as a graph; called like the model."""
    signature = [tf.TensorSpec([None, None], tf.int64)] * 2
    forward = tf.function(lambda *ids: model(*ids), input_signature=signature)
    return lambda source_ids, target_ids, training=False: forward(
        tf.cast(source_ids, tf.int64), tf.cast(target_ids, tf.int64)
    )


def translate_all(translator, pairs):
    """Translates the pairs' sources greedily, a batch at a time."""
    found = []
    for start in range(0, len(pairs), 250):
        texts = [pair.source for pair in pairs[start : start + 250]]
        source = tf.constant(encode_batch(texts, french))
        ids = greedy_decode(translator, source, max_len=24)
        found += [english.decode(row) for row in ids.numpy()]
    return found

# %% tags=["skip-grading"]
@keras.saving.register_keras_serializable(package="transformer_labs")
class Translator(Fitted, SavableTransformer):
    """Both at once: trained by `fit` with your step, and saved whole."""


class ExactMatch(keras.callbacks.Callback):
    """Adds `exact_match` to an epoch's logs: the share without a mistake."""

    def __init__(self, translator, pairs):
        super().__init__()
        self.translator, self.pairs = translator, pairs

    def on_epoch_end(self, epoch, logs=None):
        found = translate_all(self.translator, self.pairs)
        logs["exact_match"] = exact_match(found, [pair.target for pair in self.pairs])
        logs["learning_rate"] = float(self.model.optimizer.learning_rate)


keras.utils.set_random_seed(0)
model = Translator(**CONFIG)
two_words = tf.ones((1, 2), tf.int64)
model(two_words, two_words)  # creates the variables
translator = compiled(model)
print(f"{model.count_params():,} weights")
print("before training:", translate_all(translator, splits.test[:1])[0][:70])

# %% tags=["skip-grading"]
from course_utils.models.keras_translator import set_weights
from course_utils.models.translator import load_weights

best = folder / "translator.keras"
epochs = 6
if RUN_TRAINING:
    schedule = WarmupSchedule(CONFIG["embedding_dim"], WARMUP, FACTOR)
    model.compile(
        optimizer=keras.optimizers.Adam(schedule, beta_1=0.9, beta_2=0.98, epsilon=1e-9)
    )
    most = {"monitor": "exact_match", "mode": "max"}
    history = model.fit(
        pipeline(splits.train, BOUNDARIES).repeat(),
        epochs=epochs, steps_per_epoch=STEPS // epochs, verbose=2,
        shuffle=False,  # the pipeline has done it
        callbacks=[
            ExactMatch(translator, splits.validation),
            keras.callbacks.ModelCheckpoint(best, save_best_only=True, **most),
            keras.callbacks.EarlyStopping(
                patience=2, start_from_epoch=3, restore_best_weights=True, **most
            ),
        ],
    )
else:
    set_weights(model, load_weights(vocabularies=(french, english)).state)
    model.save(best)
print("after training:", translate_all(translator, splits.test[:1])[0])

# %% [markdown]
# *Jane visits Africa in September*, from a sentence that it has never seen. (Write your own loop if `fit` cannot do what you want: training two
# models on each other's answers, for example. You can use the same `train_step` in it.)
#
# Now the two test sets, and the mistakes. Lab 05 says what **BLEU** counts.

# %% tags=["skip-grading"]
from course_utils.plots.training import failure_gallery

sets = {
    "new sentences": splits.test,
    "words that never met": splits.unseen_pairings[:500],
}
answers = {name: translate_all(translator, pairs) for name, pairs in sets.items()}
rows = []
for name, pairs in sets.items():
    both = answers[name], [pair.target for pair in pairs]
    exact, bleu = f"{exact_match(*both):.1%}", f"{corpus_bleu(*both):.1f}"
    rows.append([name, str(len(pairs)), exact, bleu])
show_table(["", "sentences", "exact match", "BLEU"], rows)
asked = [pair for pairs in sets.values() for pair in pairs]
given = [text for texts in answers.values() for text in texts]
failure_gallery([pair.source for pair in asked], [pair.target for pair in asked], given)

# %% [markdown]
# ### Would a beam have done better? (optional)
#
# Try beam search on ten sentences that greedy search got right, and on up to ten that it got wrong.

# %% tags=["skip-grading"]
both = list(zip(asked, given, strict=True))
groups = {
    "right": [pair for pair, text in both if text == pair.target][:10],
    "wrong": [pair for pair, text in both if text != pair.target][:10],
}
rows = []
for name, pairs in groups.items():
    ids = [encode_batch([pair.source], french) for pair in pairs]
    found = [beam_search(translator, row, 4, max_len=24)[0] for row in ids]
    found = [english.decode(words) for words in found]
    right = sum(text == pair.target for text, pair in zip(found, pairs, strict=True))
    rows.append([name, str(len(pairs)), str(right)])
show_table(["by greedy search", "sentences", "right with a beam of 4"], rows)

# %% [markdown]
# ### Keep it (optional)
#
# `ModelCheckpoint` has written configuration, weights and the state of the optimizer into one file. After loading such a file, always
# compare, as you did above. `load_translator` reads the file with `keras.saving.load_model`. It makes sure that the model has the sizes you
# expect and all of its weights.

# %% tags=["skip-grading"]
from course_utils.models.keras_translator import WrongWeights, load_translator

back = load_translator(best, CONFIG)
sample = tf.constant(encode_batch([splits.test[0].source], french))
before, after = model(sample, two_words)[0], back(sample, two_words)[0]
print(f"{best.name}: {best.stat().st_size / 2**20:.1f} MB")
print("largest difference after loading:", float(ops.max(ops.abs(before - after))))
try:  # one word more
    load_translator(best, CONFIG | {"target_vocab_size": len(english) + 1})
except WrongWeights as error:
    print("with a different vocabulary:", error)

# %% [markdown]
# ## 10. The twin
#
# The course comes with weights that were trained in PyTorch. Can *your* Keras model use them? A PyTorch matrix is (out, in), a Keras one (in, out);
# and Keras keeps the heads as an axis. So each weight is transposed and cut into heads. Here it is by hand for one of them:

# %% tags=["skip-grading"]
from course_utils.models.keras_translator import get_weights
from course_utils.models.translator import Checkpoint, LibraryTranslator

checkpoint = load_weights()
twin = SavableTransformer(**checkpoint.config)
twin(two_words, two_words)
set_weights(twin, checkpoint.state)

theirs = checkpoint.state["encoder.layers.0.self_attention.w_query.weight"]
ours = twin.encoder.enc_layers[0].mha.query_dense.kernel
heads = checkpoint.config["num_heads"]
by_hand = theirs.T.reshape(theirs.shape[1], heads, -1)
print("PyTorch (out, in):", theirs.shape)
print("Keras (in, heads, head size):", tuple(ours.shape))
print("transposed and cut by hand, equal to yours:", np.allclose(by_hand, ours))

# %% [markdown]
# `set_weights` did the same with all of them. Now compare your model with one that is made of PyTorch's own layers
# (`nn.TransformerEncoderLayer`, `nn.TransformerDecoderLayer`). It has the same weights and gets the same batch, with padding in both
# languages.

# %% tags=["skip-grading"]
predict("transformer_tensorflow.twins")

# %% tags=["skip-grading"]
import torch

in_pytorch = LibraryTranslator(checkpoint)
words = checkpoint.source_vocabulary, checkpoint.target_vocabulary
some = splits.test[:60]
source = encode_batch([pair.source for pair in some], words[0])
target = encode_batch([pair.target for pair in some], words[1])
begin = np.ones((len(some), 1), dtype=np.int64)
target = np.concatenate([begin, target[:, :-1]], axis=1)  # teacher forcing
with torch.no_grad():
    their_logits, _ = in_pytorch.model(*map(torch.from_numpy, (source, target)))
our_logits, _ = twin(source, target)
apart = np.abs(our_logits.numpy() - their_logits.numpy())[target != 0]
print(f"logits of {apart.shape[0]} words, {apart.shape[1]} each, "
      f"between {their_logits.min():.0f} and {their_logits.max():.0f}")
print(f"largest difference: {apart.max():.1e}")
written = greedy_decode(compiled(twin), tf.constant(source), max_len=24).numpy()
our_words = [words[1].decode(row) for row in written]
their_words = [in_pytorch(pair.source)[0] for pair in some]
equal = sum(map(str.__eq__, our_words, their_words))
print(f"equal translations: {equal} of {len(some)}")
measured("transformer_tensorflow.twins", shown=equal == len(some))

# and back: what you trained, in PyTorch's layers
yours = LibraryTranslator(Checkpoint(get_weights(model), CONFIG, french, english))
print("your weights, PyTorch's layers:", yours(splits.test[0].source)[0])

# %% [markdown]
# The difference is no larger than float32 rounding. So the architecture belongs to neither framework. It is in the paper, and now you know it.
#
# ### Find the missing control
#
# The claim: *the logits differ by rounding only, so every weight is in its place.* Somebody objects: *would you have noticed if one were not? Perhaps the
# result hardly depends on it.* Which of these four controls answers the objection?

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
from course_utils.widgets.controls import find_the_control


def compared(name: str, source=source, target=target, theirs=None) -> list[str]:
    """How far logits are apart, and how often the likeliest word is the same."""
    if theirs is None:
        with torch.no_grad():
            theirs = in_pytorch.model(*map(torch.from_numpy, (source, target)))[0]
    ours, theirs = (np.asarray(part)[target != 0]
                    for part in (twin(source, target)[0], theirs))
    equal = np.sum(ours.argmax(axis=-1) == theirs.argmax(axis=-1))
    return [name, f"{np.abs(ours - theirs).max():.0e}", f"{equal} of {len(ours)}"]


def other_sentences():
    pairs = splits.test[60:120]
    source = encode_batch([pair.source for pair in pairs], words[0])
    target = encode_batch([pair.target for pair in pairs], words[1])
    return [compared("other sentences", source, np.pad(
        target[:, :-1], [(0, 0), (1, 0)], constant_values=words[1].bos_id))]


def random_words():
    ids = np.random.default_rng(0)
    source, target = (ids.integers(4, len(one), size=(60, 9)) for one in words)
    return [compared("random words", source, target)]

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
def twice():
    return [compared("Keras, and Keras again", theirs=twin(source, target)[0])]


def with_mistakes():
    """Four mistakes, one at a time; each is taken back."""
    attention = twin.encoder.enc_layers[0].mha
    query, key = attention.query_dense, attention.key_dense
    kernel, bias, rows = query.kernel.numpy(), query.bias.numpy(), []
    query.kernel.assign(kernel.reshape(len(kernel), -1).T.reshape(kernel.shape))
    rows.append(compared("one square matrix not transposed"))
    query.kernel.assign(kernel)
    query.bias.assign(0 * bias)
    rows.append(compared("one bias of the queries left out"))
    query.bias.assign(bias)
    bias = key.bias.numpy()
    key.bias.assign(0 * bias)
    size = np.abs(bias).max()
    rows.append(compared(f"one bias of the keys left out, up to {size:.2f}"))
    key.bias.assign(bias)
    norms = [layer for layer in twin._flatten_layers()
             if isinstance(layer, keras.layers.LayerNormalization)]
    for norm in norms:
        norm.epsilon = 1e-3
    rows.append(compared("epsilon 1e-3, Keras's default, for 1e-6"))
    for norm in norms:
        norm.epsilon = 1e-6
    return rows

# %% tags=["skip-grading"]
find_the_control(
    "transformer_tensorflow.would_it_show",
    ["PyTorch and Keras", "largest difference", "likeliest word is the same"],
    [compared("60 sentences")],
    [other_sentences, with_mistakes, random_words, twice])

# %% [markdown]
# Of the mistakes made on purpose, three are far above rounding. The fourth comes out *as* rounding: without its bias, every key is moved by the same vector. Then all
# scores of a query move by the same number, and softmax does not notice (lab 03, *A bias that does nothing*). So a wrong bias of a key cannot be seen, and does no harm.
# The 60 sentences cannot speak for the row of a word that is not in them, either; the random words reach more rows. What the comparison does show: **every weight that these sentences use, and
# that can make a difference, is in its place.**
#
# Look at the last column, too. The most likely word hardly changes: a model with a mistake may write the same words. Compare numbers, not texts.
#
# If such a comparison ever fails for a model of yours, look at the largest difference. In this table an epsilon makes 8e-3, a bias 5e-2 and a matrix 4; yours will differ.
# A few millionths are rounding. Otherwise look for the large mistakes first: a matrix that was not transposed, then a mask or a missing factor (not tried here), a bias, an epsilon.
#
# ## 11. Your own sentence (optional)
#
# Type a French sentence. The model knows only a small grammar, so stay close to the examples. Each row stands for one word, just before it is written.
# You see where block 2 of the last layer looks (the mean of its heads; lab 05 shows each head). On the right are the most probable words,
# with their probabilities. Where does the model hesitate?

# %% tags=["skip-grading"]
from course_utils.plots.alignment import Alignment
from course_utils.plots.translate import translate_box


def translate(text):
    """(translation, where it looked and what else it considered) by your model."""
    source = encode_batch([text], french)
    ids = greedy_decode(translator, source, max_len=24)[0].numpy()
    said = [int(word) for word in ids if word != 0]
    logits, looked = translator(source, tf.constant([[english.bos_id, *said]]))
    layers = range(1, CONFIG["num_layers"] + 1)
    blocks = [looked[f"decoder_layer{i}_block2_decenc_att"][0] for i in layers]
    shares, choices = tf.math.top_k(ops.softmax(logits[0]), k=3)  # (words, 3)
    words = [english.tokens(row) for row in choices.numpy()]
    pairs = zip(words, shares.numpy(), strict=True)
    choices = [list(zip(*pair, strict=True)) for pair in pairs]
    tokens = english.tokens([*said, english.eos_id])
    alignment = Alignment(french.tokens(source[0]), tokens, np.stack(blocks), choices)
    return english.decode(said), alignment


translate_box(translate, [pair.source for pair in splits.test[:6]], vocabulary=french)

# %% [markdown]
# Even where it is sure, the first choice gets about 90 %. That is the share that label smoothing asked for. (The table shows where a layer
# looked, not why the model decided as it did. Lab 02 mentions the debate.)
#
# ## Common mistakes, by their symptom
#
# | what you see | likely cause |
# |---|---|
# | `Only input tensors may be passed as positional arguments` | `layer(x, True, mask)`: write `training=` and `mask=` |
# | `This layer does not support masking`, or shapes that do not fit in the second layer | Keras attaches your `mask` to the output: `compute_mask` must return None |
# | loss near its lowest possible value after seconds, translations are nonsense | no look-ahead mask, or labels that are not shifted: it reads the answer |
# | the loss gets better when sentences get more padding | padding is in the mean |
# | the loss hardly moves from the start | a softmax before a loss that takes logits |
# | the loss levels off well above 0, but the translations are right | label smoothing: its best value is not 0 |
# | NaN at the first confident prediction | the logarithm of a softmax |
# | different answers for the same sentence | `training=True` somewhere inside |
# | translations change with what else is in the batch | a padding mask is missing |
# | each step takes as long as the first one | no `input_signature`: it is traced again for every length; or XLA, which compiles for every length |
# | `fit` says that the loss is 0 | your `train_step` method returns only `"loss"`, but does not update the metric of that name |
# | `fit` asks you to build the model first | it cannot guess a model's second input: call the model once before |
# | a loaded model writes nonsense | it was never built before its weights were read |
# | nearly PyTorch's numbers, but off by a percent | epsilon of the LayerNormalization |

# %% [markdown]
# ## Review quiz

# %% tags=["skip-grading"]
from course_utils import quiz

quiz("transformer_tensorflow")

# %% [markdown]
# ## Going further
#
# - **Pre-norm.** Train with `norm_first=True`. Lab 05 compares both forms with a warm-up of 10 steps; does your Keras model behave in the same way?
# - **XLA in `fit`.** Set `pad_to_bucket_boundary=True` and `jit_compile=True` in `compile`. How many times does it compile, and after how many epochs has it
#   paid off on your computer?
# - **Steps in one go.** `compile(steps_per_execution=20)` runs 20 batches before Python sees one of them again. What becomes faster, and what do
#   callbacks no longer see?
# - **Speed.** `greedy_decode` runs the encoder again for every word. How would you call encoder and decoder separately? Lab 08 continues from there and keeps keys and
#   values.
# - **A third language.** Keras 3 also runs on JAX and on PyTorch. What in this notebook would you have to change? Only the parts that use `tf`.
# - Vaswani et al. (2017), [*Attention is all you need*](https://arxiv.org/abs/1706.03762): you can now read all of it.
#
# Save the notebook. If your course uses nbgrader, press **Validate**, then submit it.
