"""Wrong ways to write lab 06's exercises. Each must lose points and be recognised as itself.

Each repeats the whole class or function, so that it can be handed in as it is.
"""

from types import SimpleNamespace

import numpy as np

from course_utils.models.keras_translator import positional_encoding
from course_utils.quiet import without_startup_messages
from grader.author.catalogue import misconception

with without_startup_messages():
    import keras
    import tensorflow as tf
    from keras import ops



def create_padding_mask(token_ids, pad_id=0):
    return ops.not_equal(token_ids, pad_id)[:, None, None, :]


def create_look_ahead_mask(token_ids):
    place = ops.cumsum(ops.ones_like(token_ids), axis=1)
    return ops.greater_equal(place[:, None, :, None], place[:, None, None, :])

# What the notebook has beside the exercise in question; in a submission it is the learner's own. The layers here have the
# same parts and give the same numbers as the solution's, by few operations of NumPy: Keras takes ten times as long for a
# call, and the misconceptions below are called thousands of times. A test compares the two.


class Quick(keras.layers.Layer):
    """Has its variables from the beginning, and is called without what Keras does around a call."""

    def __call__(self, *args, **options):
        return self.call(*map(array, args), **options)

    def weight(self, *shape):
        return self.add_weight(shape=shape, initializer="zeros")

    def dense(self, inputs, outputs):
        return SimpleNamespace(kernel=self.weight(inputs, outputs), bias=self.weight(outputs))

    def attention(self, width):
        roles = ("query_dense", "key_dense", "value_dense", "output_dense")
        return SimpleNamespace(**{role: self.dense(width, width) for role in roles})

    def feed_forward(self, width, inner):
        wide, back = self.dense(width, inner), self.dense(inner, width)
        return SimpleNamespace(weights=[wide.kernel, wide.bias, back.kernel, back.bias])

    def norm(self, width):
        return SimpleNamespace(gamma=self.weight(width), beta=self.weight(width))


def array(x):
    return np.asarray(getattr(x, "value", x))


def linear(dense, x):
    return x @ array(dense.kernel) + array(dense.bias)


def normalised(norm, x, epsilon):
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(epsilon))
    return centred / deviation * array(norm.gamma) + array(norm.beta)


def widened(network, x):
    first, first_bias, second, second_bias = map(array, network.weights)
    return np.maximum(x @ first + first_bias, 0) @ second + second_bias


def attended(attention, num_heads, query, memory, mask):
    def heads(dense, x):
        return linear(dense, x).reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)

    queries, keys = heads(attention.query_dense, query), heads(attention.key_dense, memory)
    scores = queries @ keys.swapaxes(2, 3) / np.float32(queries.shape[-1] ** 0.5)
    if mask is not None:
        scores = np.where(array(mask), scores, np.float32(-1e9))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    mixed = weights @ heads(attention.value_dense, memory)
    return linear(attention.output_dense, mixed.swapaxes(1, 2).reshape(query.shape)), weights


def dropped(x, rate, training):
    return x * np.float32(not (training and rate == 1))  # the checks know the rates 0 and 1


class FullyConnected(Quick):
    def __init__(self, embedding_dim, fully_connected_dim):
        super().__init__()
        self.network = self.feed_forward(embedding_dim, fully_connected_dim)

    def call(self, x):
        return widened(self.network, x)


class EncoderLayer(Quick):
    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.num_heads, self.rate, self.epsilon, self.norm_first = num_heads, dropout_rate, layernorm_eps, norm_first
        self.mha, self.ffn = self.attention(embedding_dim), self.feed_forward(embedding_dim, fully_connected_dim)
        self.layernorm1, self.layernorm2 = self.norm(embedding_dim), self.norm(embedding_dim)

    def wrapped(self, x, norm, sublayer, training):
        if self.norm_first:
            return x + dropped(sublayer(normalised(norm, x, self.epsilon)), self.rate, training)
        return normalised(norm, x + dropped(sublayer(x), self.rate, training), self.epsilon)

    def call(self, x, training=False, mask=None):
        x = self.wrapped(x, self.layernorm1, lambda n: attended(self.mha, self.num_heads, n, n, mask)[0], training)
        return self.wrapped(x, self.layernorm2, lambda n: widened(self.ffn, n), training)


class DecoderLayer(EncoderLayer):
    def __init__(self, embedding_dim, num_heads, *sizes, **options):
        super().__init__(embedding_dim, num_heads, *sizes, **options)
        self.mha1, self.mha2, self.layernorm3 = self.mha, self.attention(embedding_dim), self.norm(embedding_dim)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        found = []

        def ask(attention, memory, mask):
            def sublayer(n):
                output, weights = attended(attention, self.num_heads, n, n if memory is None else memory, mask)
                found.append(weights)
                return output

            return sublayer

        x = self.wrapped(x, self.layernorm1, ask(self.mha1, None, look_ahead_mask), training)
        x = self.wrapped(x, self.layernorm2, ask(self.mha2, enc_output, padding_mask), training)
        return self.wrapped(x, self.layernorm3, lambda n: widened(self.ffn, n), training), *found


class Stack(Quick):
    def __init__(self, layer, sizes, words, max_len, rate, epsilon, norm_first):
        super().__init__()
        num_layers, self.width, *rest = sizes
        self.rate, self.epsilon, self.norm_first = rate, epsilon, norm_first
        self.embedding = SimpleNamespace(embeddings=self.weight(words, self.width))
        self.pos_encoding = array(positional_encoding(max_len, self.width))
        self.stack = [layer(self.width, *rest, rate, epsilon, norm_first) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = self.norm(self.width)

    def embed(self, ids, training):
        vectors = array(self.embedding.embeddings)[ids] * np.float32(self.width**0.5)
        return dropped(vectors + self.pos_encoding[: ids.shape[1]], self.rate, training)

    def end(self, x):
        return normalised(self.layernorm, x, self.epsilon) if self.norm_first else x


class Encoder(Stack):
    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False
    ):
        sizes = (num_layers, embedding_dim, num_heads, fully_connected_dim)
        super().__init__(EncoderLayer, sizes, source_vocab_size, max_len, dropout_rate, layernorm_eps, norm_first)
        self.enc_layers = self.stack

    def call(self, x, training=False, mask=None):
        x = self.embed(x, training)
        for layer in self.enc_layers:
            x = layer(x, training=training, mask=mask)
        return self.end(x)


class Decoder(Stack):
    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False
    ):
        sizes = (num_layers, embedding_dim, num_heads, fully_connected_dim)
        super().__init__(DecoderLayer, sizes, target_vocab_size, max_len, dropout_rate, layernorm_eps, norm_first)
        self.dec_layers = self.stack

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        kept, x = {}, self.embed(x, training)
        masks = {"look_ahead_mask": look_ahead_mask, "padding_mask": padding_mask}
        for i, layer in enumerate(self.dec_layers, start=1):
            x, w1, w2 = layer(x, enc_output, training=training, **masks)
            kept[f"decoder_layer{i}_block1_self_att"], kept[f"decoder_layer{i}_block2_decenc_att"] = w1, w2
        return self.end(x), kept


# ---------------------------------------------------------------------------------- FullyConnected


@misconception(
    "FullyConnected",
    "Two linear layers without anything between them are one linear layer: nothing is gained by the width. What "
    "stands between them in equation 2?",
)
def no_activation(embedding_dim, fully_connected_dim):
    """There is no ReLU."""
    return keras.Sequential(
        [keras.layers.Dense(fully_connected_dim), keras.layers.Dense(embedding_dim)]
    )


@misconception(
    "FullyConnected",
    "Look where the maximum with 0 stands in equation 2. Behind the second layer it would throw away everything "
    "negative that a word has to say.",
)
def activation_at_the_end(embedding_dim, fully_connected_dim):
    """The ReLU stands behind the second layer instead of the first."""
    return keras.Sequential(
        [keras.layers.Dense(fully_connected_dim), keras.layers.Dense(embedding_dim, activation="relu")]
    )


@misconception(
    "FullyConnected",
    "Equation 2 has one maximum, not two. The second layer's output is added to x, and must be able to lower a "
    "feature as well as to raise it.",
)
def activation_twice(embedding_dim, fully_connected_dim):
    """There is a ReLU behind both layers."""
    return keras.Sequential(
        [keras.layers.Dense(fully_connected_dim, activation="relu"), keras.layers.Dense(embedding_dim, activation="relu")]
    )


@misconception(
    "FullyConnected",
    "GELU is what BERT and GPT use, and a fine choice for a model of one's own. The paper, and the weights you "
    "load later, have the ReLU.",
)
def gelu_instead(embedding_dim, fully_connected_dim):
    """The activation is GELU instead of ReLU."""
    return keras.Sequential(
        [keras.layers.Dense(fully_connected_dim, activation="gelu"), keras.layers.Dense(embedding_dim)]
    )


@misconception(
    "FullyConnected",
    "The network widens first and comes back to the width of the words, so that the result can be added to x. "
    "Which number says how wide it is in between?",
)
def widths_swapped(embedding_dim, fully_connected_dim):
    """The two widths have changed places."""
    return keras.Sequential(
        [keras.layers.Dense(embedding_dim, activation="relu"), keras.layers.Dense(fully_connected_dim)]
    )


@misconception(
    "FullyConnected",
    "The network has two layers, with a wider place in between: that is where it can tell many cases apart.",
)
def one_layer_only(embedding_dim, fully_connected_dim):
    """There is only one layer, from embedding_dim to embedding_dim."""
    return keras.Sequential(
        [keras.layers.Dense(embedding_dim, activation="relu")]
    )

# ---------------------------------------------------------------------------------- EncoderLayer


@misconception(
    "EncoderLayer",
    "Add & norm has two halves. Without the sum, everything that a sub-layer does not pass on is lost, and "
    "gradients must go through every sub-layer.",
)
class residuals_missing(keras.layers.Layer):
    """The residual connections are missing: x is not added to what a sub-layer gives."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        if self.norm_first:
            n = self.layernorm1(x)
            x = self.dropout(self.mha(n, n, attention_mask=mask), training=training)
            return self.dropout(self.ffn(self.layernorm2(x)), training=training)
        x = self.layernorm1(self.dropout(self.mha(x, x, attention_mask=mask), training=training))
        return self.layernorm2(self.dropout(self.ffn(x), training=training))


@misconception(
    "EncoderLayer",
    "What is added is what *this* sub-layer was given. When the feed-forward network's turn comes, that is no "
    "longer the layer's input: what the attention has found is lost on the way.",
)
class second_residual_from_the_layer_s_input(keras.layers.Layer):
    """The feed-forward network's output is added to the layer's input instead of the attention's result."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        if self.norm_first:
            n = self.layernorm1(x)
            y = x + self.dropout(self.mha(n, n, attention_mask=mask), training=training)
            return x + self.dropout(self.ffn(self.layernorm2(y)), training=training)
        y = self.layernorm1(x + self.dropout(self.mha(x, x, attention_mask=mask), training=training))
        return self.layernorm2(x + self.dropout(self.ffn(y), training=training))


@misconception(
    "EncoderLayer",
    "Each sub-layer has a LayerNormalization of its own, with its own γ and β. Freshly made ones are all alike (γ "
    "= 1, β = 0), so nothing shows before the training.",
)
class same_norm_twice(keras.layers.Layer):
    """One LayerNormalization serves both sub-layers."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = self.layernorm1
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        if self.norm_first:
            n = self.layernorm1(x)
            x = x + self.dropout(self.mha(n, n, attention_mask=mask), training=training)
            return x + self.dropout(self.ffn(self.layernorm2(x)), training=training)
        x = self.layernorm1(x + self.dropout(self.mha(x, x, attention_mask=mask), training=training))
        return self.layernorm2(x + self.dropout(self.ffn(x), training=training))


@misconception(
    "EncoderLayer",
    "Count how often each of the two norms is called. Keras makes the weights of a layer when it is called; one "
    "of yours never gets any.",
)
class second_norm_never_used(keras.layers.Layer):
    """layernorm2 is made, but layernorm1 is called in both places."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        if self.norm_first:
            n = self.layernorm1(x)
            x = x + self.dropout(self.mha(n, n, attention_mask=mask), training=training)
            return x + self.dropout(self.ffn(self.layernorm1(x)), training=training)
        x = self.layernorm1(x + self.dropout(self.mha(x, x, attention_mask=mask), training=training))
        return self.layernorm1(x + self.dropout(self.ffn(x), training=training))


@misconception(
    "EncoderLayer",
    "Add & norm, in this order: the norm takes the *sum*. What you wrote leaves the sum without any "
    "normalisation, and is neither post-norm nor pre-norm.",
)
class norm_before_add(keras.layers.Layer):
    """Post-norm normalises the sub-layer's output, and adds x afterwards."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        if self.norm_first:
            n = self.layernorm1(x)
            x = x + self.dropout(self.mha(n, n, attention_mask=mask), training=training)
            return x + self.dropout(self.ffn(self.layernorm2(x)), training=training)
        x = x + self.layernorm1(self.dropout(self.mha(x, x, attention_mask=mask), training=training))
        return x + self.layernorm2(self.dropout(self.ffn(x), training=training))


@misconception(
    "EncoderLayer",
    "Right for the paper's order. With norm_first=True the norm moves: from the sum to the way into the "
    "sub-layer, and the sum stays as it is.",
)
class norm_first_ignored(keras.layers.Layer):
    """norm_first is ignored: the layer is always post-norm."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        if self.norm_first and x is None:
            n = self.layernorm1(x)
            x = x + self.dropout(self.mha(n, n, attention_mask=mask), training=training)
            return x + self.dropout(self.ffn(self.layernorm2(x)), training=training)
        x = self.layernorm1(x + self.dropout(self.mha(x, x, attention_mask=mask), training=training))
        return self.layernorm2(x + self.dropout(self.ffn(x), training=training))


@misconception(
    "EncoderLayer",
    "In self-attention queries, keys and values come from *one* sequence. With pre-norm that is the normalised "
    "one, for all three.",
)
class pre_norm_of_the_queries_only(keras.layers.Layer):
    """In pre-norm only the queries are normalised; keys and values come from x as it was."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        if self.norm_first:
            n = self.layernorm1(x)
            x = x + self.dropout(self.mha(n, x, attention_mask=mask), training=training)
            return x + self.dropout(self.ffn(self.layernorm2(x)), training=training)
        x = self.layernorm1(x + self.dropout(self.mha(x, x, attention_mask=mask), training=training))
        return self.layernorm2(x + self.dropout(self.ffn(x), training=training))


@misconception(
    "EncoderLayer",
    "The residual path of a pre-norm layer is never normalised: that is its point. What is added to, then?",
)
class pre_norm_added_to_the_norm(keras.layers.Layer):
    """In pre-norm the sub-layer's output is added to the normalised x instead of x."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        if self.norm_first:
            n = self.layernorm1(x)
            x = n + self.dropout(self.mha(n, n, attention_mask=mask), training=training)
            n = self.layernorm2(x)
            return n + self.dropout(self.ffn(n), training=training)
        x = self.layernorm1(x + self.dropout(self.mha(x, x, attention_mask=mask), training=training))
        return self.layernorm2(x + self.dropout(self.ffn(x), training=training))


@misconception(
    "EncoderLayer",
    "The layer is given a mask, and the words attend to padding all the same. Look up how Keras's attention wants "
    "to be told.",
)
class mask_not_handed_on(keras.layers.Layer):
    """The mask does not reach the attention."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        if self.norm_first:
            n = self.layernorm1(x)
            x = x + self.dropout(self.mha(n, n), training=training)
            return x + self.dropout(self.ffn(self.layernorm2(x)), training=training)
        x = self.layernorm1(x + self.dropout(self.mha(x, x), training=training))
        return self.layernorm2(x + self.dropout(self.ffn(x), training=training))


@misconception(
    "EncoderLayer",
    "In this course, and in Keras's attention, True means *may attend*. (In torch.nn.MultiheadAttention, and in "
    "some texts, it means *blocked*.) The mask needs no turning.",
)
class mask_of_padding(keras.layers.Layer):
    """The mask is turned round, as if True meant padding."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        mask = None if mask is None else ops.logical_not(mask)
        if self.norm_first:
            n = self.layernorm1(x)
            x = x + self.dropout(self.mha(n, n, attention_mask=mask), training=training)
            return x + self.dropout(self.ffn(self.layernorm2(x)), training=training)
        x = self.layernorm1(x + self.dropout(self.mha(x, x, attention_mask=mask), training=training))
        return self.layernorm2(x + self.dropout(self.ffn(x), training=training))


@misconception(
    "EncoderLayer",
    "A model that answers differently each time it is asked. Who knows whether this is training? The caller, who "
    "says so by an argument.",
)
class dropout_always_on(keras.layers.Layer):
    """Dropout acts in every call, because training=True is written into the layer."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        if self.norm_first:
            n = self.layernorm1(x)
            x = x + self.dropout(self.mha(n, n, attention_mask=mask), training=True)
            return x + self.dropout(self.ffn(self.layernorm2(x)), training=True)
        x = self.layernorm1(x + self.dropout(self.mha(x, x, attention_mask=mask), training=True))
        return self.layernorm2(x + self.dropout(self.ffn(x), training=True))


@misconception(
    "EncoderLayer",
    "In training nothing is dropped. The layer must have a Dropout for what each sub-layer gives, and this must "
    "be told when it is training.",
)
class dropout_never_on(keras.layers.Layer):
    """Dropout never acts: it is missing, or it is told training=False."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        if self.norm_first:
            n = self.layernorm1(x)
            x = x + self.dropout(self.mha(n, n, attention_mask=mask), training=False)
            return x + self.dropout(self.ffn(self.layernorm2(x)), training=False)
        x = self.layernorm1(x + self.dropout(self.mha(x, x, attention_mask=mask), training=False))
        return self.layernorm2(x + self.dropout(self.ffn(x), training=False))


@misconception(
    "EncoderLayer",
    "The residual path must stay whole: only what a sub-layer *adds* is dropped out (section 5.4: before it is "
    "added and normalised).",
)
class dropout_of_the_sum(keras.layers.Layer):
    """Dropout acts on the sum instead of the sub-layer's output."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        if self.norm_first:
            n = self.layernorm1(x)
            x = self.dropout(x + self.mha(n, n, attention_mask=mask), training=training)
            return self.dropout(x + self.ffn(self.layernorm2(x)), training=training)
        x = self.layernorm1(self.dropout(x + self.mha(x, x, attention_mask=mask), training=training))
        return self.layernorm2(self.dropout(x + self.ffn(x), training=training))


@misconception(
    "EncoderLayer",
    "`MultiHeadAttention(dropout=...)` drops attention *weights*. Some courses have it so; this model drops what "
    "the sub-layer gives, after its last linear layer.",
)
class dropout_inside_the_attention(keras.layers.Layer):
    """The first dropout acts on the attention weights, inside of Keras's attention, instead of its output."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads, dropout=dropout_rate)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        if self.norm_first:
            n = self.layernorm1(x)
            x = x + self.mha(n, n, attention_mask=mask, training=training)
            return x + self.dropout(self.ffn(self.layernorm2(x)), training=training)
        x = self.layernorm1(x + self.mha(x, x, attention_mask=mask, training=training))
        return self.layernorm2(x + self.dropout(self.ffn(x), training=training))


@misconception(
    "EncoderLayer",
    "`key_dim` is the size of one head. With embedding_dim for each of them it works, but there are num_heads "
    "times as many weights; the paper shares the width out among the heads.",
)
class heads_of_full_width(keras.layers.Layer):
    """Each head is as wide as the whole model: key_dim is embedding_dim."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads, key_dim=embedding_dim)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        if self.norm_first:
            n = self.layernorm1(x)
            x = x + self.dropout(self.mha(n, n, attention_mask=mask), training=training)
            return x + self.dropout(self.ffn(self.layernorm2(x)), training=training)
        x = self.layernorm1(x + self.dropout(self.mha(x, x, attention_mask=mask), training=training))
        return self.layernorm2(x + self.dropout(self.ffn(x), training=training))


@misconception(
    "EncoderLayer",
    "The numbers are nearly right. Keras's LayerNormalization has an epsilon of its own, a thousand times the "
    "usual one, unless you say another.",
)
class epsilon_of_keras(keras.layers.Layer):
    """layernorm_eps is not handed on, so that the norms have Keras's own epsilon of 1e-3."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization()
        self.layernorm2 = keras.layers.LayerNormalization()
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        if self.norm_first:
            n = self.layernorm1(x)
            x = x + self.dropout(self.mha(n, n, attention_mask=mask), training=training)
            return x + self.dropout(self.ffn(self.layernorm2(x)), training=training)
        x = self.layernorm1(x + self.dropout(self.mha(x, x, attention_mask=mask), training=training))
        return self.layernorm2(x + self.dropout(self.ffn(x), training=training))


@misconception(
    "EncoderLayer",
    "What is made in `call` has new random weights each time, and nothing can ever train it. `__init__` makes the "
    "parts, `call` uses them.",
)
class layers_made_in_call(keras.layers.Layer):
    """The attention is made anew in every call."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.sizes = num_heads, embedding_dim // num_heads
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        mha = keras.layers.MultiHeadAttention(*self.sizes)
        if self.norm_first:
            n = self.layernorm1(x)
            x = x + self.dropout(mha(n, n, attention_mask=mask), training=training)
            return x + self.dropout(self.ffn(self.layernorm2(x)), training=training)
        x = self.layernorm1(x + self.dropout(mha(x, x, attention_mask=mask), training=training))
        return self.layernorm2(x + self.dropout(self.ffn(x), training=training))

# ---------------------------------------------------------------------------------- Encoder


@misconception(
    "Encoder",
    "Section 3.4 multiplies the embeddings by √d_model. Without it the positions, with entries up to 1, drown the "
    "words.",
)
class embeddings_not_scaled(keras.layers.Layer):
    """The embeddings are not multiplied by the square root of embedding_dim."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(source_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.enc_layers = [EncoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        x = self.embedding(x)
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        for layer in self.enc_layers:
            x = layer(x, training=training, mask=mask)
        return self.layernorm(x) if self.norm_first else x


@misconception(
    "Encoder",
    "That is what attention does with its scores. Embeddings start small and are made larger: check the direction.",
)
class embeddings_divided(keras.layers.Layer):
    """The embeddings are divided by the square root of embedding_dim."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(source_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.enc_layers = [EncoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        x = self.embedding(x) * self.embedding_dim**-0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        for layer in self.enc_layers:
            x = layer(x, training=training, mask=mask)
        return self.layernorm(x) if self.norm_first else x


@misconception(
    "Encoder",
    "Close: the factor of section 3.4 is a square root. With the whole width the words drown the positions.",
)
class scaled_by_the_whole_width(keras.layers.Layer):
    """The embeddings are multiplied by embedding_dim instead of its square root."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(source_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.enc_layers = [EncoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        x = self.embedding(x) * self.embedding_dim
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        for layer in self.enc_layers:
            x = layer(x, training=training, mask=mask)
        return self.layernorm(x) if self.norm_first else x


@misconception(
    "Encoder",
    "Only the embeddings are scaled. The positions are added to what comes out of that, as they are.",
)
class positions_scaled_too(keras.layers.Layer):
    """The positions are added before the scaling, so that they are scaled as well."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(source_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.enc_layers = [EncoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        x = self.embedding(x)
        x = (x + self.pos_encoding[: ops.shape(x)[1]]) * self.embedding_dim**0.5
        x = self.dropout(x, training=training)
        for layer in self.enc_layers:
            x = layer(x, training=training, mask=mask)
        return self.layernorm(x) if self.norm_first else x


@misconception(
    "Encoder",
    "Attention does not see the order of words (lab 04). Nothing tells your model that *Jane* comes first.",
)
class positions_forgotten(keras.layers.Layer):
    """The positions are not added."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(source_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.enc_layers = [EncoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        x = self.embedding(x) * self.embedding_dim**0.5
        x = self.dropout(x, training=training)
        for layer in self.enc_layers:
            x = layer(x, training=training, mask=mask)
        return self.layernorm(x) if self.norm_first else x


@misconception(
    "Encoder",
    "The layers have their dropout, but section 5.4 also has one on the sum of embeddings and positions, before "
    "the first layer.",
)
class embeddings_not_dropped(keras.layers.Layer):
    """There is no dropout on the sum of embeddings and positions."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(source_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.enc_layers = [EncoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        x = self.embedding(x) * self.embedding_dim**0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        for layer in self.enc_layers:
            x = layer(x, training=training, mask=mask)
        return self.layernorm(x) if self.norm_first else x


@misconception(
    "Encoder",
    "The encoder is given a mask, and its layers look at padding all the same: each of them has to be told.",
)
class mask_not_handed_on_to_the_layers(keras.layers.Layer):
    """The layers do not get the mask."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(source_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.enc_layers = [EncoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        x = self.embedding(x) * self.embedding_dim**0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        for layer in self.enc_layers:
            x = layer(x, training=training)
        return self.layernorm(x) if self.norm_first else x


@misconception(
    "Encoder",
    "A stack is a chain: what one layer gives is what the next one takes. Whose output does your last layer read?",
)
class last_layer_only(keras.layers.Layer):
    """Every layer gets the embeddings, so that only the last one counts."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(source_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.enc_layers = [EncoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        x = self.embedding(x) * self.embedding_dim**0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        given = x
        for layer in self.enc_layers:
            x = layer(given, training=training, mask=mask)
        return self.layernorm(x) if self.norm_first else x


@misconception(
    "Encoder",
    "`[layer] * n` is a list of n names for *one* layer: they would share all weights. Each place needs a layer "
    "that was made for it.",
)
class one_layer_many_times(keras.layers.Layer):
    """One layer is made and stands in the list num_layers times."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(source_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.enc_layers = [EncoderLayer(*sizes)] * num_layers
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        x = self.embedding(x) * self.embedding_dim**0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        for layer in self.enc_layers:
            x = layer(x, training=training, mask=mask)
        return self.layernorm(x) if self.norm_first else x


@misconception(
    "Encoder",
    "In a pre-norm stack the sums are never normalised, and grow from layer to layer. Something has to bring them "
    "back at the end.",
)
class last_norm_forgotten(keras.layers.Layer):
    """A pre-norm stack ends without a LayerNormalization."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(source_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.enc_layers = [EncoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        x = self.embedding(x) * self.embedding_dim**0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        for layer in self.enc_layers:
            x = layer(x, training=training, mask=mask)
        return x


@misconception(
    "Encoder",
    "The last layer of a post-norm stack ends in a norm already. The additional one belongs to pre-norm only.",
)
class last_norm_always(keras.layers.Layer):
    """A post-norm stack ends in a LayerNormalization too."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(source_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.enc_layers = [EncoderLayer(*sizes) for _ in range(num_layers)]
        self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        x = self.embedding(x) * self.embedding_dim**0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        for layer in self.enc_layers:
            x = layer(x, training=training, mask=mask)
        return self.layernorm(x)


@misconception(
    "Encoder",
    "The stack has its last norm, but what do its layers know? They have an argument for it, too.",
)
class norm_first_not_handed_on(keras.layers.Layer):
    """The layers are not told about norm_first, and stay post-norm."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(source_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps)
        self.enc_layers = [EncoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        x = self.embedding(x) * self.embedding_dim**0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        for layer in self.enc_layers:
            x = layer(x, training=training, mask=mask)
        return self.layernorm(x) if self.norm_first else x

# ---------------------------------------------------------------------------------- DecoderLayer


@misconception(
    "DecoderLayer",
    "Who writes the translation? The decoder: its words ask, so there is a row for each *target* word. The "
    "encoder's output answers, with keys and values.",
)
class the_encoder_s_output_asks(keras.layers.Layer):
    """In block 2 the queries come from the encoder's output, keys and values from the decoder."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha1 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.mha2 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm3 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        q = self.layernorm1(x) if self.norm_first else x
        a, w1 = self.mha1(q, q, attention_mask=look_ahead_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm1(x)
        q = self.layernorm2(x) if self.norm_first else x
        a, w2 = self.mha2(enc_output, q, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm2(x)
        f = self.ffn(self.layernorm3(x) if self.norm_first else x)
        x = x + self.dropout(f, training=training)
        x = x if self.norm_first else self.layernorm3(x)
        return x, w1, w2


@misconception(
    "DecoderLayer",
    "Weights are found by comparing with keys, and then weigh the values: there must be a key for each value. "
    "Both come from the encoder's output.",
)
class keys_from_the_decoder(keras.layers.Layer):
    """In block 2 the values come from the encoder's output, but the keys from the decoder's words."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha1 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.mha2 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm3 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        q = self.layernorm1(x) if self.norm_first else x
        a, w1 = self.mha1(q, q, attention_mask=look_ahead_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm1(x)
        q = self.layernorm2(x) if self.norm_first else x
        a, w2 = self.mha2(q, enc_output, q, attention_mask=padding_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm2(x)
        f = self.ffn(self.layernorm3(x) if self.norm_first else x)
        x = x + self.dropout(f, training=training)
        x = x if self.norm_first else self.layernorm3(x)
        return x, w1, w2


@misconception(
    "DecoderLayer",
    "Your decoder invents its translation, because it never looks at the French sentence. What are keys and "
    "values of block 2 made from?",
)
class never_looks_at_the_source(keras.layers.Layer):
    """Block 2 is a second self-attention: the encoder's output is never used."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha1 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.mha2 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm3 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        q = self.layernorm1(x) if self.norm_first else x
        a, w1 = self.mha1(q, q, attention_mask=look_ahead_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm1(x)
        q = self.layernorm2(x) if self.norm_first else x
        a, w2 = self.mha2(q, q, attention_mask=look_ahead_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm2(x)
        f = self.ffn(self.layernorm3(x) if self.norm_first else x)
        x = x + self.dropout(f, training=training)
        x = x if self.norm_first else self.layernorm3(x)
        return x, w1, w2


@misconception(
    "DecoderLayer",
    "In training the right answer stands one place to the right. Without the look-ahead mask your decoder just "
    "reads it, and has learned nothing when it is on its own.",
)
class no_look_ahead_mask(keras.layers.Layer):
    """Block 1 has no mask, so that words see the future."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha1 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.mha2 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm3 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        q = self.layernorm1(x) if self.norm_first else x
        a, w1 = self.mha1(q, q, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm1(x)
        q = self.layernorm2(x) if self.norm_first else x
        a, w2 = self.mha2(q, enc_output, attention_mask=padding_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm2(x)
        f = self.ffn(self.layernorm3(x) if self.norm_first else x)
        x = x + self.dropout(f, training=training)
        x = x if self.norm_first else self.layernorm3(x)
        return x, w1, w2


@misconception(
    "DecoderLayer",
    "The French sentences of a batch have padding at their ends, which says nothing. Block 2 has a mask for that.",
)
class no_padding_mask(keras.layers.Layer):
    """Block 2 has no mask, so that the source's padding is looked at."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha1 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.mha2 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm3 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        q = self.layernorm1(x) if self.norm_first else x
        a, w1 = self.mha1(q, q, attention_mask=look_ahead_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm1(x)
        q = self.layernorm2(x) if self.norm_first else x
        a, w2 = self.mha2(q, enc_output, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm2(x)
        f = self.ffn(self.layernorm3(x) if self.norm_first else x)
        x = x + self.dropout(f, training=training)
        x = x if self.norm_first else self.layernorm3(x)
        return x, w1, w2


@misconception(
    "DecoderLayer",
    "A mask hides keys. The keys of block 1 are the words written so far, those of block 2 are the French words: "
    "which mask is about which?",
)
class masks_swapped(keras.layers.Layer):
    """The two masks have changed places."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha1 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.mha2 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm3 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        q = self.layernorm1(x) if self.norm_first else x
        a, w1 = self.mha1(q, q, attention_mask=padding_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm1(x)
        q = self.layernorm2(x) if self.norm_first else x
        a, w2 = self.mha2(q, enc_output, attention_mask=look_ahead_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm2(x)
        f = self.ffn(self.layernorm3(x) if self.norm_first else x)
        x = x + self.dropout(f, training=training)
        x = x if self.norm_first else self.layernorm3(x)
        return x, w1, w2


@misconception(
    "DecoderLayer",
    "The French sentence is known from the start; nothing in it is the future. *septembre* may be needed for the "
    "first English word already.",
)
class block_2_is_causal_too(keras.layers.Layer):
    """Block 2 is causal as well: the n-th target word sees only the first n source words."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha1 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.mha2 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm3 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        q = self.layernorm1(x) if self.norm_first else x
        a, w1 = self.mha1(q, q, attention_mask=look_ahead_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm1(x)
        q = self.layernorm2(x) if self.norm_first else x
        a, w2 = self.mha2(
            q, enc_output, attention_mask=padding_mask, return_attention_scores=True, use_causal_mask=True
        )
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm2(x)
        f = self.ffn(self.layernorm3(x) if self.norm_first else x)
        x = x + self.dropout(f, training=training)
        x = x if self.norm_first else self.layernorm3(x)
        return x, w1, w2


@misconception(
    "DecoderLayer",
    "Asking one's own words and asking the French ones are different tasks with different weights. One of your "
    "attention layers is never called.",
)
class one_attention_for_both(keras.layers.Layer):
    """The same attention layer, mha1, serves both blocks."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha1 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.mha2 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm3 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        q = self.layernorm1(x) if self.norm_first else x
        a, w1 = self.mha1(q, q, attention_mask=look_ahead_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm1(x)
        q = self.layernorm2(x) if self.norm_first else x
        a, w2 = self.mha1(q, enc_output, attention_mask=padding_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm2(x)
        f = self.ffn(self.layernorm3(x) if self.norm_first else x)
        x = x + self.dropout(f, training=training)
        x = x if self.norm_first else self.layernorm3(x)
        return x, w1, w2


@misconception(
    "DecoderLayer",
    "Each block is wrapped by itself: what it gives is added to what *it* began with. Your second sum forgets "
    "what block 1 has found.",
)
class residual_of_block_2_from_x(keras.layers.Layer):
    """What block 2 gives is added to the layer's input instead of the result of block 1."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha1 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.mha2 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm3 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        given = x
        q = self.layernorm1(x) if self.norm_first else x
        a, w1 = self.mha1(q, q, attention_mask=look_ahead_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm1(x)
        q = self.layernorm2(x) if self.norm_first else x
        a, w2 = self.mha2(q, enc_output, attention_mask=padding_mask, return_attention_scores=True)
        x = given + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm2(x)
        f = self.ffn(self.layernorm3(x) if self.norm_first else x)
        x = x + self.dropout(f, training=training)
        x = x if self.norm_first else self.layernorm3(x)
        return x, w1, w2


@misconception(
    "DecoderLayer",
    "Three blocks, three norms, each with its own γ and β. They are equal when they are made, so nothing shows "
    "before the training.",
)
class second_norm_for_block_3_too(keras.layers.Layer):
    """layernorm2 serves the second and the third block."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha1 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.mha2 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm3 = self.layernorm2
        self.dropout = keras.layers.Dropout(dropout_rate)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        q = self.layernorm1(x) if self.norm_first else x
        a, w1 = self.mha1(q, q, attention_mask=look_ahead_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm1(x)
        q = self.layernorm2(x) if self.norm_first else x
        a, w2 = self.mha2(q, enc_output, attention_mask=padding_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm2(x)
        f = self.ffn(self.layernorm3(x) if self.norm_first else x)
        x = x + self.dropout(f, training=training)
        x = x if self.norm_first else self.layernorm3(x)
        return x, w1, w2


@misconception(
    "DecoderLayer",
    "A pre-norm encoder ends in a norm of its own, so its output comes normalised. Only the decoder's x goes "
    "through the block's norm.",
)
class encoder_output_normalised(keras.layers.Layer):
    """In pre-norm the encoder's output is normalised once more in block 2."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha1 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.mha2 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm3 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        q = self.layernorm1(x) if self.norm_first else x
        a, w1 = self.mha1(q, q, attention_mask=look_ahead_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm1(x)
        q = self.layernorm2(x) if self.norm_first else x
        a, w2 = self.mha2(q, self.layernorm2(enc_output) if self.norm_first else enc_output, attention_mask=padding_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm2(x)
        f = self.ffn(self.layernorm3(x) if self.norm_first else x)
        x = x + self.dropout(f, training=training)
        x = x if self.norm_first else self.layernorm3(x)
        return x, w1, w2


@misconception(
    "DecoderLayer",
    "Right for the paper's order. With norm_first=True each norm moves from the sum to the way into its block.",
)
class decoder_layer_always_post_norm(keras.layers.Layer):
    """norm_first is ignored: the layer is always post-norm."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha1 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.mha2 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm3 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        q = self.layernorm1(x) if self.norm_first and x is None else x
        a, w1 = self.mha1(q, q, attention_mask=look_ahead_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first and x is None else self.layernorm1(x)
        q = self.layernorm2(x) if self.norm_first and x is None else x
        a, w2 = self.mha2(q, enc_output, attention_mask=padding_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first and x is None else self.layernorm2(x)
        f = self.ffn(self.layernorm3(x) if self.norm_first and x is None else x)
        x = x + self.dropout(f, training=training)
        x = x if self.norm_first and x is None else self.layernorm3(x)
        return x, w1, w2


@misconception(
    "DecoderLayer",
    "Three things come back, and the order is the contract: x, then the weights of block 1, then those of block 2.",
)
class weights_swapped(keras.layers.Layer):
    """The attention weights come back in the wrong order: those of block 2 first."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha1 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.mha2 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm3 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        q = self.layernorm1(x) if self.norm_first else x
        a, w1 = self.mha1(q, q, attention_mask=look_ahead_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm1(x)
        q = self.layernorm2(x) if self.norm_first else x
        a, w2 = self.mha2(q, enc_output, attention_mask=padding_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=training)
        x = x if self.norm_first else self.layernorm2(x)
        f = self.ffn(self.layernorm3(x) if self.norm_first else x)
        x = x + self.dropout(f, training=training)
        x = x if self.norm_first else self.layernorm3(x)
        return x, w2, w1


@misconception(
    "DecoderLayer",
    "A translation that changes each time you ask. Who knows whether this is training? The caller, who says so by "
    "an argument.",
)
class decoder_dropout_always_on(keras.layers.Layer):
    """Dropout acts in every call, because training=True is written into the layer."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha1 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.mha2 = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm3 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(dropout_rate)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        q = self.layernorm1(x) if self.norm_first else x
        a, w1 = self.mha1(q, q, attention_mask=look_ahead_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=True)
        x = x if self.norm_first else self.layernorm1(x)
        q = self.layernorm2(x) if self.norm_first else x
        a, w2 = self.mha2(q, enc_output, attention_mask=padding_mask, return_attention_scores=True)
        x = x + self.dropout(a, training=True)
        x = x if self.norm_first else self.layernorm2(x)
        f = self.ffn(self.layernorm3(x) if self.norm_first else x)
        x = x + self.dropout(f, training=True)
        x = x if self.norm_first else self.layernorm3(x)
        return x, w1, w2


# ---------------------------------------------------------------------------------- Decoder


@misconception(
    "Decoder",
    "The decoder's embeddings are treated as the encoder's: section 3.4 multiplies both by √d_model.",
)
class target_embeddings_not_scaled(keras.layers.Layer):
    """The embeddings are not multiplied by the square root of embedding_dim."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(target_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.dec_layers = [DecoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        kept = {}
        x = self.embedding(x)
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        masks = {"look_ahead_mask": look_ahead_mask, "padding_mask": padding_mask}
        for i, layer in enumerate(self.dec_layers, start=1):
            x, w1, w2 = layer(x, enc_output, training=training, **masks)
            kept[f"decoder_layer{i}_block1_self_att"], kept[f"decoder_layer{i}_block2_decenc_att"] = w1, w2
        return self.layernorm(x) if self.norm_first else x, kept


@misconception(
    "Decoder",
    "The decoder has to know the order of the words it has written, too. The look-ahead mask alone says what came "
    "before, not where.",
)
class target_positions_forgotten(keras.layers.Layer):
    """The positions are not added."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(target_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.dec_layers = [DecoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        kept = {}
        x = self.embedding(x) * self.embedding_dim**0.5
        x = self.dropout(x, training=training)
        masks = {"look_ahead_mask": look_ahead_mask, "padding_mask": padding_mask}
        for i, layer in enumerate(self.dec_layers, start=1):
            x, w1, w2 = layer(x, enc_output, training=training, **masks)
            kept[f"decoder_layer{i}_block1_self_att"], kept[f"decoder_layer{i}_block2_decenc_att"] = w1, w2
        return self.layernorm(x) if self.norm_first else x, kept


@misconception(
    "Decoder",
    "The decoder is given two masks, and its layers see the future and the padding all the same: each layer has "
    "to be told.",
)
class masks_not_handed_on(keras.layers.Layer):
    """The layers get no masks."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(target_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.dec_layers = [DecoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        kept = {}
        x = self.embedding(x) * self.embedding_dim**0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        for i, layer in enumerate(self.dec_layers, start=1):
            x, w1, w2 = layer(x, enc_output, training=training)
            kept[f"decoder_layer{i}_block1_self_att"], kept[f"decoder_layer{i}_block2_decenc_att"] = w1, w2
        return self.layernorm(x) if self.norm_first else x, kept


@misconception(
    "Decoder",
    "Block 1 is honest now, but block 2 looks at the source's padding. There are two masks to hand on.",
)
class padding_mask_not_handed_on(keras.layers.Layer):
    """The layers get the look-ahead mask, but not the padding mask."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(target_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.dec_layers = [DecoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        kept = {}
        x = self.embedding(x) * self.embedding_dim**0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        masks = {"look_ahead_mask": look_ahead_mask}
        for i, layer in enumerate(self.dec_layers, start=1):
            x, w1, w2 = layer(x, enc_output, training=training, **masks)
            kept[f"decoder_layer{i}_block1_self_att"], kept[f"decoder_layer{i}_block2_decenc_att"] = w1, w2
        return self.layernorm(x) if self.norm_first else x, kept


@misconception(
    "Decoder",
    "Every decoder layer asks the *encoder's* output. In yours the second layer asks the first one: the name "
    "`enc_output` should mean the same thing all along.",
)
class source_seen_by_the_first_layer_only(keras.layers.Layer):
    """The encoder's output goes into the first layer only; later layers get what the layer before gave."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(target_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.dec_layers = [DecoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        kept = {}
        x = self.embedding(x) * self.embedding_dim**0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        masks = {"look_ahead_mask": look_ahead_mask, "padding_mask": padding_mask}
        for i, layer in enumerate(self.dec_layers, start=1):
            x, w1, w2 = layer(x, enc_output, training=training, **{**masks, "padding_mask": padding_mask if i == 1 else None})
            enc_output = x
            kept[f"decoder_layer{i}_block1_self_att"], kept[f"decoder_layer{i}_block2_decenc_att"] = w1, w2
        return self.layernorm(x) if self.norm_first else x, kept


@misconception(
    "Decoder",
    "A stack is a chain: what one layer gives is what the next one takes. Whose output does your last layer read?",
)
class last_layer_of_the_decoder_only(keras.layers.Layer):
    """Every layer gets the embeddings, so that only the last one counts."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(target_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.dec_layers = [DecoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        kept = {}
        x = self.embedding(x) * self.embedding_dim**0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        masks = {"look_ahead_mask": look_ahead_mask, "padding_mask": padding_mask}
        given = x
        for i, layer in enumerate(self.dec_layers, start=1):
            x, w1, w2 = layer(given, enc_output, training=training, **masks)
            kept[f"decoder_layer{i}_block1_self_att"], kept[f"decoder_layer{i}_block2_decenc_att"] = w1, w2
        return self.layernorm(x) if self.norm_first else x, kept


@misconception(
    "Decoder",
    "The first layer is called decoder_layer1, as the docstring says. Where does your counting begin?",
)
class names_counted_from_0(keras.layers.Layer):
    """The layers are counted from 0 in the names of the attention weights."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(target_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.dec_layers = [DecoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        kept = {}
        x = self.embedding(x) * self.embedding_dim**0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        masks = {"look_ahead_mask": look_ahead_mask, "padding_mask": padding_mask}
        for i, layer in enumerate(self.dec_layers, start=0):
            x, w1, w2 = layer(x, enc_output, training=training, **masks)
            kept[f"decoder_layer{i}_block1_self_att"], kept[f"decoder_layer{i}_block2_decenc_att"] = w1, w2
        return self.layernorm(x) if self.norm_first else x, kept


@misconception(
    "Decoder",
    "A dict keeps one value for each name: the second layer overwrites what the first one has put there. The "
    "number has to move on.",
)
class weights_of_the_last_layer_only(keras.layers.Layer):
    """All layers write their attention weights under the names of the first."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(target_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.dec_layers = [DecoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        kept = {}
        x = self.embedding(x) * self.embedding_dim**0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        masks = {"look_ahead_mask": look_ahead_mask, "padding_mask": padding_mask}
        for layer in self.dec_layers:
            x, w1, w2 = layer(x, enc_output, training=training, **masks)
            kept["decoder_layer1_block1_self_att"], kept["decoder_layer1_block2_decenc_att"] = w1, w2
        return self.layernorm(x) if self.norm_first else x, kept


@misconception(
    "Decoder",
    "block1 is self-attention, block2 is cross-attention. Look at the order in which a layer gives them back.",
)
class blocks_of_the_decoder_swapped(keras.layers.Layer):
    """The weights of block 1 are kept under the name of block 2, and the other way round."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(target_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.dec_layers = [DecoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        kept = {}
        x = self.embedding(x) * self.embedding_dim**0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        masks = {"look_ahead_mask": look_ahead_mask, "padding_mask": padding_mask}
        for i, layer in enumerate(self.dec_layers, start=1):
            x, w1, w2 = layer(x, enc_output, training=training, **masks)
            kept[f"decoder_layer{i}_block1_self_att"], kept[f"decoder_layer{i}_block2_decenc_att"] = w2, w1
        return self.layernorm(x) if self.norm_first else x, kept


@misconception(
    "Decoder",
    "The layers have their dropout, but section 5.4 also has one on the sum of embeddings and positions, in both "
    "stacks.",
)
class target_embeddings_not_dropped(keras.layers.Layer):
    """There is no dropout on the sum of embeddings and positions."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(target_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.dec_layers = [DecoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        kept = {}
        x = self.embedding(x) * self.embedding_dim**0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        masks = {"look_ahead_mask": look_ahead_mask, "padding_mask": padding_mask}
        for i, layer in enumerate(self.dec_layers, start=1):
            x, w1, w2 = layer(x, enc_output, training=training, **masks)
            kept[f"decoder_layer{i}_block1_self_att"], kept[f"decoder_layer{i}_block2_decenc_att"] = w1, w2
        return self.layernorm(x) if self.norm_first else x, kept


@misconception(
    "Decoder",
    "As in the encoder: the sums of a pre-norm stack are never normalised, and something has to do that at the "
    "end.",
)
class last_norm_of_the_decoder_forgotten(keras.layers.Layer):
    """A pre-norm decoder ends without a LayerNormalization."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len, dropout_rate=0.1,
        layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first = embedding_dim, norm_first
        self.embedding = keras.layers.Embedding(target_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.dec_layers = [DecoderLayer(*sizes) for _ in range(num_layers)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        kept = {}
        x = self.embedding(x) * self.embedding_dim**0.5
        x = x + self.pos_encoding[: ops.shape(x)[1]]
        x = self.dropout(x, training=training)
        masks = {"look_ahead_mask": look_ahead_mask, "padding_mask": padding_mask}
        for i, layer in enumerate(self.dec_layers, start=1):
            x, w1, w2 = layer(x, enc_output, training=training, **masks)
            kept[f"decoder_layer{i}_block1_self_att"], kept[f"decoder_layer{i}_block2_decenc_att"] = w1, w2
        return x, kept

# ---------------------------------------------------------------------------------- Transformer


@misconception(
    "Transformer",
    "The docstring asks for logits: the loss takes the softmax itself, and does it without overflow. Twice a "
    "softmax is a loss that hardly learns.",
)
class probabilities_for_logits(keras.Model):
    """The last layer has a softmax, so that probabilities come out instead of logits."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        sizes, more = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *more)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *more)
        self.final_layer = keras.layers.Dense(target_vocab_size, activation="softmax")

    def call(self, source_ids, target_ids, training=False):
        padding = create_padding_mask(source_ids)
        causal = ops.logical_and(create_look_ahead_mask(target_ids), create_padding_mask(target_ids))
        memory = self.encoder(source_ids, training=training, mask=padding)
        x, w = self.decoder(target_ids, memory, training=training, look_ahead_mask=causal, padding_mask=padding)
        return self.final_layer(x), w


@misconception(
    "Transformer",
    "The target mask has two parts, and a key must be allowed by the one *and* by the other. Yours hides the "
    "padding, but not the words to come, and those are the answers.",
)
class no_mask_for_the_future(keras.Model):
    """Block 1 lets words see the future: the look-ahead mask is missing, or connected by *or*."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        sizes, more = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *more)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *more)
        self.final_layer = keras.layers.Dense(target_vocab_size)

    def call(self, source_ids, target_ids, training=False):
        padding = create_padding_mask(source_ids)
        causal = create_padding_mask(target_ids)
        memory = self.encoder(source_ids, training=training, mask=padding)
        x, w = self.decoder(target_ids, memory, training=training, look_ahead_mask=causal, padding_mask=padding)
        return self.final_layer(x), w


@misconception(
    "Transformer",
    "A mask hides keys, and the keys of block 2 are the French words. Where both sentences are of equal length, "
    "this mistake makes no noise at all.",
)
class target_padding_in_block_2(keras.Model):
    """Block 2 gets the padding mask of the target instead of the source."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        sizes, more = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *more)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *more)
        self.final_layer = keras.layers.Dense(target_vocab_size)

    def call(self, source_ids, target_ids, training=False):
        padding = create_padding_mask(source_ids)
        causal = ops.logical_and(create_look_ahead_mask(target_ids), create_padding_mask(target_ids))
        memory = self.encoder(source_ids, training=training, mask=padding)
        x, w = self.decoder(target_ids, memory, training=training, look_ahead_mask=causal, padding_mask=create_padding_mask(target_ids))
        return self.final_layer(x), w


@misconception(
    "Transformer",
    "The decoder looks at the source's padding. The encoder's mask can be used once more: it is about the same "
    "words.",
)
class no_padding_mask_in_block_2(keras.Model):
    """Block 2 gets no mask."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        sizes, more = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *more)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *more)
        self.final_layer = keras.layers.Dense(target_vocab_size)

    def call(self, source_ids, target_ids, training=False):
        padding = create_padding_mask(source_ids)
        causal = ops.logical_and(create_look_ahead_mask(target_ids), create_padding_mask(target_ids))
        memory = self.encoder(source_ids, training=training, mask=padding)
        x, w = self.decoder(target_ids, memory, training=training, look_ahead_mask=causal)
        return self.final_layer(x), w


@misconception(
    "Transformer",
    "In the encoder French words look at padding. Extra columns of padding change your translation, and they "
    "should not.",
)
class no_padding_mask_in_the_encoder(keras.Model):
    """The encoder gets no mask."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        sizes, more = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *more)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *more)
        self.final_layer = keras.layers.Dense(target_vocab_size)

    def call(self, source_ids, target_ids, training=False):
        padding = create_padding_mask(source_ids)
        causal = ops.logical_and(create_look_ahead_mask(target_ids), create_padding_mask(target_ids))
        memory = self.encoder(source_ids, training=training)
        x, w = self.decoder(target_ids, memory, training=training, look_ahead_mask=causal, padding_mask=padding)
        return self.final_layer(x), w


@misconception(
    "Transformer",
    "The French sentence is known as a whole; its words may look ahead. Only the decoder has a future to hide.",
)
class causal_encoder(keras.Model):
    """The encoder is causal, too."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        sizes, more = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *more)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *more)
        self.final_layer = keras.layers.Dense(target_vocab_size)

    def call(self, source_ids, target_ids, training=False):
        padding = create_padding_mask(source_ids)
        causal = ops.logical_and(create_look_ahead_mask(target_ids), create_padding_mask(target_ids))
        memory = self.encoder(source_ids, training=training, mask=ops.logical_and(padding, create_look_ahead_mask(source_ids)))
        x, w = self.decoder(target_ids, memory, training=training, look_ahead_mask=causal, padding_mask=padding)
        return self.final_layer(x), w


@misconception(
    "Transformer",
    "In this lab True means *may attend*. Your masks say where the padding is, which is the opposite.",
)
class masks_of_padding(keras.Model):
    """The padding masks are True at the padding."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        sizes, more = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *more)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *more)
        self.final_layer = keras.layers.Dense(target_vocab_size)

    def call(self, source_ids, target_ids, training=False):
        padding = ops.equal(source_ids, 0)[:, None, None, :]
        causal = ops.logical_and(create_look_ahead_mask(target_ids), create_padding_mask(target_ids))
        memory = self.encoder(source_ids, training=training, mask=padding)
        x, w = self.decoder(target_ids, memory, training=training, look_ahead_mask=causal, padding_mask=padding)
        return self.final_layer(x), w


@misconception(
    "Transformer",
    "The docstring names two results. The attention weights that the decoder gives are what you will look at "
    "later.",
)
class weights_forgotten(keras.Model):
    """Only the logits come back."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        sizes, more = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *more)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *more)
        self.final_layer = keras.layers.Dense(target_vocab_size)

    def call(self, source_ids, target_ids, training=False):
        padding = create_padding_mask(source_ids)
        causal = ops.logical_and(create_look_ahead_mask(target_ids), create_padding_mask(target_ids))
        memory = self.encoder(source_ids, training=training, mask=padding)
        x, w = self.decoder(target_ids, memory, training=training, look_ahead_mask=causal, padding_mask=padding)
        return self.final_layer(x)


@misconception(
    "Transformer",
    "The decoder gives embedding_dim numbers for each position. To choose a word you need a number for each word "
    "of English.",
)
class no_last_layer(keras.Model):
    """What comes out is the decoder's output, without the last layer."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        sizes, more = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *more)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *more)
        self.final_layer = keras.layers.Dense(target_vocab_size)

    def call(self, source_ids, target_ids, training=False):
        padding = create_padding_mask(source_ids)
        causal = ops.logical_and(create_look_ahead_mask(target_ids), create_padding_mask(target_ids))
        memory = self.encoder(source_ids, training=training, mask=padding)
        x, w = self.decoder(target_ids, memory, training=training, look_ahead_mask=causal, padding_mask=padding)
        return x, w


@misconception(
    "Transformer",
    "The translation of a sentence is random, although you say training=False. One part of the model does not "
    "hear it.",
)
class encoder_always_in_training(keras.Model):
    """The encoder is always told training=True."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        sizes, more = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *more)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *more)
        self.final_layer = keras.layers.Dense(target_vocab_size)

    def call(self, source_ids, target_ids, training=False):
        padding = create_padding_mask(source_ids)
        causal = ops.logical_and(create_look_ahead_mask(target_ids), create_padding_mask(target_ids))
        memory = self.encoder(source_ids, training=True, mask=padding)
        x, w = self.decoder(target_ids, memory, training=training, look_ahead_mask=causal, padding_mask=padding)
        return self.final_layer(x), w


class Transformer(keras.Model):
    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs
    ):
        super().__init__(**kwargs)
        sizes, more = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *more)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *more)
        self.final_layer = keras.layers.Dense(target_vocab_size)

    def call(self, source_ids, target_ids, training=False):
        padding = create_padding_mask(source_ids)
        causal = ops.logical_and(create_look_ahead_mask(target_ids), create_padding_mask(target_ids))
        memory = self.encoder(source_ids, training=training, mask=padding)
        x, w = self.decoder(target_ids, memory, training=training, look_ahead_mask=causal, padding_mask=padding)
        return self.final_layer(x), w

# ---------------------------------------------------------------------------------- masked_loss


@misconception(
    "masked_loss",
    "There is nothing to learn at padding. Yours adds its loss, and so extra padding changes the result.",
)
def padding_counts(labels, logits, smoothing=0.1, pad_id=0):
    """Positions whose label is padding count like words."""
    classes = logits.shape[-1]
    label, pad = ops.one_hot(labels, classes), ops.one_hot(pad_id, classes)
    q = (1 - smoothing) * label + smoothing / (classes - 2) * (1 - label) * (1 - pad)
    losses = -ops.sum(q * ops.log_softmax(logits), axis=-1)
    return ops.mean(losses)


@misconception(
    "masked_loss",
    "The sum is right, its divisor is not: how many positions have a *real* label? More padding must not make the "
    "loss smaller.",
)
def divided_by_all_positions(labels, logits, smoothing=0.1, pad_id=0):
    """Padding's losses are set to 0, but the sum is divided by all positions."""
    classes = logits.shape[-1]
    label, pad = ops.one_hot(labels, classes), ops.one_hot(pad_id, classes)
    q = (1 - smoothing) * label + smoothing / (classes - 2) * (1 - label) * (1 - pad)
    losses = -ops.sum(q * ops.log_softmax(logits), axis=-1)
    real = ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.mean(losses * real)


@misconception(
    "masked_loss",
    "The result grows with the number of words in the batch, and with it the gradient. A mean does not.",
)
def summed_not_averaged(labels, logits, smoothing=0.1, pad_id=0):
    """The losses are added up, and not divided by anything."""
    classes = logits.shape[-1]
    label, pad = ops.one_hot(labels, classes), ops.one_hot(pad_id, classes)
    q = (1 - smoothing) * label + smoothing / (classes - 2) * (1 - label) * (1 - pad)
    losses = -ops.sum(q * ops.log_softmax(logits), axis=-1)
    real = ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.sum(losses * real)


@misconception(
    "masked_loss",
    "Then a batch of long sentences has a larger loss than one of short sentences. Each real *label* counts once: "
    "how many are there?",
)
def divided_by_the_batch(labels, logits, smoothing=0.1, pad_id=0):
    """The sum is divided by the number of sentences instead of words."""
    classes = logits.shape[-1]
    label, pad = ops.one_hot(labels, classes), ops.one_hot(pad_id, classes)
    q = (1 - smoothing) * label + smoothing / (classes - 2) * (1 - label) * (1 - pad)
    losses = -ops.sum(q * ops.log_softmax(logits), axis=-1)
    real = ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.sum(losses * real) / labels.shape[0]


@misconception(
    "masked_loss",
    "Then a word of a short sentence weighs more than one of a long sentence. All real labels of the batch count "
    "alike.",
)
def mean_of_the_sentences_means(labels, logits, smoothing=0.1, pad_id=0):
    """Each sentence's mean is taken first, and then the mean over the sentences."""
    classes = logits.shape[-1]
    label, pad = ops.one_hot(labels, classes), ops.one_hot(pad_id, classes)
    q = (1 - smoothing) * label + smoothing / (classes - 2) * (1 - label) * (1 - pad)
    losses = -ops.sum(q * ops.log_softmax(logits), axis=-1)
    real = ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.mean(ops.sum(losses * real, axis=1) / ops.sum(real, axis=1))


@misconception(
    "masked_loss",
    "Without smoothing everything is right. With it, the label is to get only 1 - ε, and others share ε.",
)
def smoothing_ignored(labels, logits, smoothing=0.1, pad_id=0):
    """The smoothing is ignored: it is plain cross-entropy."""
    classes = logits.shape[-1]
    q = ops.one_hot(labels, classes)
    losses = -ops.sum(q * ops.log_softmax(logits), axis=-1)
    real = ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.sum(losses * real) / ops.sum(real)


@misconception(
    "masked_loss",
    "No word is ever padding, so the model should not be asked to believe in it. Two classes get no share of ε: "
    "the label and the padding.",
)
def smoothing_of_the_pad_column_too(labels, logits, smoothing=0.1, pad_id=0):
    """Padding gets a share of the smoothing, as if it were a word."""
    classes = logits.shape[-1]
    label = ops.one_hot(labels, classes)
    q = (1 - smoothing) * label + smoothing / (classes - 1) * (1 - label)
    losses = -ops.sum(q * ops.log_softmax(logits), axis=-1)
    real = ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.sum(losses * real) / ops.sum(real)


@misconception(
    "masked_loss",
    "Add up your wanted distribution: it should give 1. Among how many classes do you share ε out, and by what do "
    "you divide it?",
)
def shares_do_not_sum_to_1(labels, logits, smoothing=0.1, pad_id=0):
    """Padding is left out, but ε is divided as if it were not."""
    classes = logits.shape[-1]
    label, pad = ops.one_hot(labels, classes), ops.one_hot(pad_id, classes)
    q = (1 - smoothing) * label + smoothing / (classes - 1) * (1 - label) * (1 - pad)
    losses = -ops.sum(q * ops.log_softmax(logits), axis=-1)
    real = ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.sum(losses * real) / ops.sum(real)


@misconception(
    "masked_loss",
    "Keras's `label_smoothing` gives every class ε / V: the label gets a bit of it back, and padding gets a "
    "share. The docstring wants another distribution.",
)
def keras_s_own_smoothing(labels, logits, smoothing=0.1, pad_id=0):
    """ε is spread over all classes, the label and the padding included, as Keras's label_smoothing does."""
    classes = logits.shape[-1]
    label = ops.one_hot(labels, classes)
    q = (1 - smoothing) * label + smoothing / classes
    losses = -ops.sum(q * ops.log_softmax(logits), axis=-1)
    real = ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.sum(losses * real) / ops.sum(real)


@misconception(
    "masked_loss",
    "Logits can be negative and do not sum to 1. A loss that expects probabilities must be told that it gets "
    "something else, or it takes the logarithm of clipped nonsense.",
)
def logits_taken_for_probabilities(labels, logits, smoothing=0.1, pad_id=0):
    """The logits are taken for probabilities: from_logits is forgotten."""
    classes = logits.shape[-1]
    label, pad = ops.one_hot(labels, classes), ops.one_hot(pad_id, classes)
    q = (1 - smoothing) * label + smoothing / (classes - 2) * (1 - label) * (1 - pad)
    losses = -ops.sum(q * ops.log(ops.clip(logits / ops.sum(logits, axis=-1, keepdims=True), 1e-7, 1.0)), axis=-1)
    real = ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.sum(losses * real) / ops.sum(real)


@misconception(
    "masked_loss",
    "The loss takes the softmax of what it gets. If that is a softmax already, all probabilities come out nearly "
    "equal, and little is learned.",
)
def softmax_twice(labels, logits, smoothing=0.1, pad_id=0):
    """The softmax is taken twice."""
    classes = logits.shape[-1]
    label, pad = ops.one_hot(labels, classes), ops.one_hot(pad_id, classes)
    q = (1 - smoothing) * label + smoothing / (classes - 2) * (1 - label) * (1 - pad)
    losses = -ops.sum(q * ops.log_softmax(ops.softmax(logits)), axis=-1)
    real = ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.sum(losses * real) / ops.sum(real)


@misconception(
    "masked_loss",
    "Right for small logits. For large ones a probability is 0 in float32, its logarithm minus infinity. There is "
    "a function that does both steps at once, and exactly.",
)
def logarithm_of_the_softmax(labels, logits, smoothing=0.1, pad_id=0):
    """The logarithm is taken of the finished softmax, which can be 0."""
    classes = logits.shape[-1]
    label, pad = ops.one_hot(labels, classes), ops.one_hot(pad_id, classes)
    q = (1 - smoothing) * label + smoothing / (classes - 2) * (1 - label) * (1 - pad)
    losses = -ops.sum(q * ops.log(ops.softmax(logits)), axis=-1)
    real = ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.sum(losses * real) / ops.sum(real)


@misconception(
    "masked_loss",
    "Right as long as padding has the id 0. The function has an argument for it, and another vocabulary may have "
    "another number.",
)
def padding_is_always_0(labels, logits, smoothing=0.1, pad_id=0):
    """pad_id is ignored: padding is taken to be 0."""
    classes = logits.shape[-1]
    label, pad = ops.one_hot(labels, classes), ops.one_hot(0, classes)
    q = (1 - smoothing) * label + smoothing / (classes - 2) * (1 - label) * (1 - pad)
    losses = -ops.sum(q * ops.log_softmax(logits), axis=-1)
    real = ops.cast(ops.not_equal(labels, 0), "float32")
    return ops.sum(losses * real) / ops.sum(real)


@misconception(
    "masked_loss",
    "Logarithms of probabilities are negative, and a loss is to be made *small*. Minimising yours makes the right "
    "word less probable.",
)
def sign_forgotten(labels, logits, smoothing=0.1, pad_id=0):
    """The sign is missing: the loss is negative."""
    classes = logits.shape[-1]
    label, pad = ops.one_hot(labels, classes), ops.one_hot(pad_id, classes)
    q = (1 - smoothing) * label + smoothing / (classes - 2) * (1 - label) * (1 - pad)
    losses = ops.sum(q * ops.log_softmax(logits), axis=-1)
    real = ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.sum(losses * real) / ops.sum(real)


def masked_loss(labels, logits, smoothing=0.1, pad_id=0):
    classes = logits.shape[-1]
    label, pad = ops.one_hot(labels, classes), ops.one_hot(pad_id, classes)
    q = (1 - smoothing) * label + smoothing / (classes - 2) * (1 - label) * (1 - pad)
    losses = -ops.sum(q * ops.log_softmax(logits), axis=-1)
    real = ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.sum(losses * real) / ops.sum(real)

# ---------------------------------------------------------------------------------- masked_accuracy


@misconception(
    "masked_accuracy",
    "Padding is easy to predict, and a batch with much of it looks very good. Only positions with a real label "
    "count.",
)
def padding_counts_as_right(labels, logits, pad_id=0):
    """Positions of padding count, and are mostly right."""
    right = ops.equal(ops.cast(labels, "int32"), ops.cast(ops.argmax(logits, axis=-1), "int32"))
    return ops.mean(ops.cast(right, "float32"))


@misconception(
    "masked_accuracy",
    "With much padding even a perfect model would get a low number. By how many positions can it be right at all?",
)
def accuracy_divided_by_all_positions(labels, logits, pad_id=0):
    """Only real labels are counted as right, but all positions are divided by."""
    right = ops.equal(ops.cast(labels, "int32"), ops.cast(ops.argmax(logits, axis=-1), "int32"))
    right, real = ops.cast(right, "float32"), ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.mean(right * real)


@misconception(
    "masked_accuracy",
    "A share cannot be larger than 1. What is counted above must be part of what is counted below.",
)
def right_padding_over_real_labels(labels, logits, pad_id=0):
    """All hits are counted, those at the padding too, but divided by the real labels."""
    right = ops.equal(ops.cast(labels, "int32"), ops.cast(ops.argmax(logits, axis=-1), "int32"))
    right, real = ops.cast(right, "float32"), ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.sum(right) / ops.sum(real)


@misconception(
    "masked_accuracy",
    "That is the exact match of sentences, a fine number as well. Asked for is the share of *words*.",
)
def share_of_whole_sentences(labels, logits, pad_id=0):
    """A sentence counts only if all of its words are right."""
    right = ops.equal(ops.cast(labels, "int32"), ops.cast(ops.argmax(logits, axis=-1), "int32"))
    right, real = ops.cast(right, "float32"), ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.mean(ops.cast(ops.all(ops.equal(right * real, real), axis=1), "float32"))


@misconception(
    "masked_accuracy",
    "Then a word of a short sentence weighs more than one of a long sentence. All real labels of the batch count "
    "alike.",
)
def mean_of_the_sentences_shares(labels, logits, pad_id=0):
    """Each sentence's share is taken first, and then the mean over the sentences."""
    right = ops.equal(ops.cast(labels, "int32"), ops.cast(ops.argmax(logits, axis=-1), "int32"))
    right, real = ops.cast(right, "float32"), ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.mean(ops.sum(right * real, axis=1) / ops.sum(real, axis=1))


@misconception(
    "masked_accuracy",
    "Which axis of the logits counts the classes? The model chooses among *those*, at each position.",
)
def best_position_for_each_class(labels, logits, pad_id=0):
    """The largest logit is looked for over the positions instead of the classes."""
    right = ops.equal(ops.cast(labels, "int32"), ops.cast(ops.argmax(logits, axis=1), "int32"))
    right, real = ops.cast(right, "float32"), ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.sum(right * real) / ops.sum(real)


@misconception(
    "masked_accuracy",
    "Right as long as padding has the id 0. The function has an argument for it.",
)
def accuracy_with_padding_0(labels, logits, pad_id=0):
    """pad_id is ignored: padding is taken to be 0."""
    right = ops.equal(ops.cast(labels, "int32"), ops.cast(ops.argmax(logits, axis=-1), "int32"))
    right, real = ops.cast(right, "float32"), ops.cast(ops.not_equal(labels, 0), "float32")
    return ops.sum(right * real) / ops.sum(real)


@misconception(
    "masked_accuracy",
    "That is the error rate. The accuracy counts the words that are right.",
)
def share_of_the_wrong(labels, logits, pad_id=0):
    """The share of wrong words comes back."""
    right = ops.equal(ops.cast(labels, "int32"), ops.cast(ops.argmax(logits, axis=-1), "int32"))
    right, real = ops.cast(right, "float32"), ops.cast(ops.not_equal(labels, pad_id), "float32")
    return 1 - ops.sum(right * real) / ops.sum(real)


def masked_accuracy(labels, logits, pad_id=0):
    right = ops.equal(ops.cast(labels, "int32"), ops.cast(ops.argmax(logits, axis=-1), "int32"))
    right, real = ops.cast(right, "float32"), ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.sum(right * real) / ops.sum(real)

# ---------------------------------------------------------------------------------- WarmupSchedule


@misconception(
    "WarmupSchedule",
    "Keras says how many updates were made *before*: 0 at the first one. The paper counts them 1, 2, 3. Your "
    "first update changes nothing.",
)
class counted_from_0(keras.optimizers.schedules.LearningRateSchedule):
    """The step is used as it comes, so that the first update has a rate of 0."""

    def __init__(self, embedding_dim, warmup_steps=4000, factor=1.0):
        super().__init__()
        self.embedding_dim, self.warmup_steps, self.factor = embedding_dim, warmup_steps, factor

    def __call__(self, step):
        n = ops.cast(step, "float32")
        rate = ops.minimum(n**-0.5, n * self.warmup_steps**-1.5)
        return self.factor * self.embedding_dim**-0.5 * rate

    def get_config(self):
        return dict(embedding_dim=self.embedding_dim, warmup_steps=self.warmup_steps, factor=self.factor)


@misconception(
    "WarmupSchedule",
    "The rate should begin low and grow. Which of the two terms is small in the beginning, and which in the end?",
)
class larger_of_the_two(keras.optimizers.schedules.LearningRateSchedule):
    """The larger of the two terms is taken instead of the smaller."""

    def __init__(self, embedding_dim, warmup_steps=4000, factor=1.0):
        super().__init__()
        self.embedding_dim, self.warmup_steps, self.factor = embedding_dim, warmup_steps, factor

    def __call__(self, step):
        n = ops.cast(step, "float32") + 1
        rate = ops.maximum(n**-0.5, n * self.warmup_steps**-1.5)
        return self.factor * self.embedding_dim**-0.5 * rate

    def get_config(self):
        return dict(embedding_dim=self.embedding_dim, warmup_steps=self.warmup_steps, factor=self.factor)


@misconception(
    "WarmupSchedule",
    "The two terms must be equal at the peak, where n is warmup_steps. Put that in, and add up the exponents.",
)
class exponents_swapped(keras.optimizers.schedules.LearningRateSchedule):
    """The exponents -0.5 and -1.5 have changed places."""

    def __init__(self, embedding_dim, warmup_steps=4000, factor=1.0):
        super().__init__()
        self.embedding_dim, self.warmup_steps, self.factor = embedding_dim, warmup_steps, factor

    def __call__(self, step):
        n = ops.cast(step, "float32") + 1
        rate = ops.minimum(n**-1.5, n * self.warmup_steps**-0.5)
        return self.factor * self.embedding_dim**-0.5 * rate

    def get_config(self):
        return dict(embedding_dim=self.embedding_dim, warmup_steps=self.warmup_steps, factor=self.factor)


@misconception(
    "WarmupSchedule",
    "Wider models need smaller steps: the exponent of d_model is negative.",
)
class width_multiplied(keras.optimizers.schedules.LearningRateSchedule):
    """The rate is multiplied by the square root of embedding_dim instead of divided."""

    def __init__(self, embedding_dim, warmup_steps=4000, factor=1.0):
        super().__init__()
        self.embedding_dim, self.warmup_steps, self.factor = embedding_dim, warmup_steps, factor

    def __call__(self, step):
        n = ops.cast(step, "float32") + 1
        rate = ops.minimum(n**-0.5, n * self.warmup_steps**-1.5)
        return self.factor * self.embedding_dim**0.5 * rate

    def get_config(self):
        return dict(embedding_dim=self.embedding_dim, warmup_steps=self.warmup_steps, factor=self.factor)


@misconception(
    "WarmupSchedule",
    "Equation 3 has three factors. Yours is right up to one that depends on the width of the model.",
)
class width_forgotten(keras.optimizers.schedules.LearningRateSchedule):
    """embedding_dim plays no part in the rate."""

    def __init__(self, embedding_dim, warmup_steps=4000, factor=1.0):
        super().__init__()
        self.embedding_dim, self.warmup_steps, self.factor = embedding_dim, warmup_steps, factor

    def __call__(self, step):
        n = ops.cast(step, "float32") + 1
        rate = ops.minimum(n**-0.5, n * self.warmup_steps**-1.5)
        return self.factor * rate

    def get_config(self):
        return dict(embedding_dim=self.embedding_dim, warmup_steps=self.warmup_steps, factor=self.factor)


@misconception(
    "WarmupSchedule",
    "Right where factor is 1. The whole rate is multiplied by it.",
)
class factor_forgotten(keras.optimizers.schedules.LearningRateSchedule):
    """factor plays no part in the rate."""

    def __init__(self, embedding_dim, warmup_steps=4000, factor=1.0):
        super().__init__()
        self.embedding_dim, self.warmup_steps, self.factor = embedding_dim, warmup_steps, factor

    def __call__(self, step):
        n = ops.cast(step, "float32") + 1
        rate = ops.minimum(n**-0.5, n * self.warmup_steps**-1.5)
        return self.embedding_dim**-0.5 * rate

    def get_config(self):
        return dict(embedding_dim=self.embedding_dim, warmup_steps=self.warmup_steps, factor=self.factor)


@misconception(
    "WarmupSchedule",
    "Up to the peak it is right. Then the rate has to fall, with the inverse square root of the step.",
)
class never_falls(keras.optimizers.schedules.LearningRateSchedule):
    """After the warm-up the rate stays where it is."""

    def __init__(self, embedding_dim, warmup_steps=4000, factor=1.0):
        super().__init__()
        self.embedding_dim, self.warmup_steps, self.factor = embedding_dim, warmup_steps, factor

    def __call__(self, step):
        n = ops.cast(step, "float32") + 1
        rate = ops.minimum(self.warmup_steps**-0.5, n * self.warmup_steps**-1.5)
        return self.factor * self.embedding_dim**-0.5 * rate

    def get_config(self):
        return dict(embedding_dim=self.embedding_dim, warmup_steps=self.warmup_steps, factor=self.factor)


@misconception(
    "WarmupSchedule",
    "The optimizer counts in integers, and TensorFlow does not mix integers with fractions by itself. Turn the "
    "count into a float first.",
)
class step_stays_an_integer(keras.optimizers.schedules.LearningRateSchedule):
    """The step is used as the integer that it is."""

    def __init__(self, embedding_dim, warmup_steps=4000, factor=1.0):
        super().__init__()
        self.embedding_dim, self.warmup_steps, self.factor = embedding_dim, warmup_steps, factor

    def __call__(self, step):
        n = step + 1
        rate = ops.minimum(n**-0.5, n * self.warmup_steps**-1.5)
        return self.factor * self.embedding_dim**-0.5 * rate

    def get_config(self):
        return dict(embedding_dim=self.embedding_dim, warmup_steps=self.warmup_steps, factor=self.factor)


@misconception(
    "WarmupSchedule",
    "A schedule that comes back from a file has to be the one that was saved. All that the constructor was given "
    "belongs into the configuration.",
)
class configuration_incomplete(keras.optimizers.schedules.LearningRateSchedule):
    """The configuration lacks warmup_steps and factor."""

    def __init__(self, embedding_dim, warmup_steps=4000, factor=1.0):
        super().__init__()
        self.embedding_dim, self.warmup_steps, self.factor = embedding_dim, warmup_steps, factor

    def __call__(self, step):
        n = ops.cast(step, "float32") + 1
        rate = ops.minimum(n**-0.5, n * self.warmup_steps**-1.5)
        return self.factor * self.embedding_dim**-0.5 * rate

    def get_config(self):
        return dict(embedding_dim=self.embedding_dim)

# ---------------------------------------------------------------------------------- train_step


@misconception(
    "train_step",
    "At each position the model reads exactly the word that it should predict. The loss will be wonderful, and "
    "the translations worthless.",
)
def reads_the_answer(model, optimizer, source_ids, labels, smoothing=0.1, bos_id=1):
    """The decoder reads the labels as they are, not moved."""
    target_ids = labels
    with tf.GradientTape() as tape:
        logits, _ = model(source_ids, target_ids, training=True)
        loss = masked_loss(labels, logits, smoothing)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


@misconception(
    "train_step",
    "What the decoder reads lies one step *behind* the labels: BOS first. Yours lies ahead, and begins with the "
    "second word.",
)
def moved_the_other_way(model, optimizer, source_ids, labels, smoothing=0.1, bos_id=1):
    """The labels are moved to the left instead of the right."""
    target_ids = ops.concatenate([labels[:, 1:], ops.full_like(labels[:, :1], bos_id)], axis=1)
    with tf.GradientTape() as tape:
        logits, _ = model(source_ids, target_ids, training=True)
        loss = masked_loss(labels, logits, smoothing)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


@misconception(
    "train_step",
    "The first thing that the decoder reads says that a sentence begins. Its id is an argument.",
)
def begins_with_the_end(model, optimizer, source_ids, labels, smoothing=0.1, bos_id=1):
    """EOS is put in front instead of BOS."""
    target_ids = ops.concatenate([ops.full_like(labels[:, :1], 2), labels[:, :-1]], axis=1)
    with tf.GradientTape() as tape:
        logits, _ = model(source_ids, target_ids, training=True)
        loss = masked_loss(labels, logits, smoothing)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


@misconception(
    "train_step",
    "Everything seems right, and the model overfits. Keras does not know by itself that this is training: whoever "
    "calls the model says so.",
)
def dropout_off_in_training(model, optimizer, source_ids, labels, smoothing=0.1, bos_id=1):
    """The model is called as for inference: no dropout."""
    target_ids = ops.concatenate([ops.full_like(labels[:, :1], bos_id), labels[:, :-1]], axis=1)
    with tf.GradientTape() as tape:
        logits, _ = model(source_ids, target_ids, training=False)
        loss = masked_loss(labels, logits, smoothing)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


@misconception(
    "train_step",
    "The loss is right, and the weights stay what they were. The optimizer never hears of the gradients.",
)
def nothing_is_updated(model, optimizer, source_ids, labels, smoothing=0.1, bos_id=1):
    """The gradients are computed, and not used."""
    target_ids = ops.concatenate([ops.full_like(labels[:, :1], bos_id), labels[:, :-1]], axis=1)
    with tf.GradientTape() as tape:
        logits, _ = model(source_ids, target_ids, training=True)
        loss = masked_loss(labels, logits, smoothing)
    tape.gradient(loss, model.trainable_variables)
    return loss


@misconception(
    "train_step",
    "An optimizer subtracts what it is given. A minus too many, and the loss grows.",
)
def step_uphill(model, optimizer, source_ids, labels, smoothing=0.1, bos_id=1):
    """The step goes up the gradient instead of down."""
    target_ids = ops.concatenate([ops.full_like(labels[:, :1], bos_id), labels[:, :-1]], axis=1)
    with tf.GradientTape() as tape:
        logits, _ = model(source_ids, target_ids, training=True)
        loss = masked_loss(labels, logits, smoothing)
        gain = -loss
    gradients = tape.gradient(gain, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


@misconception(
    "train_step",
    "A tape knows what was computed while it ran. Between the weights and the loss there must be no gap.",
)
def loss_after_the_tape(model, optimizer, source_ids, labels, smoothing=0.1, bos_id=1):
    """The loss is computed outside of the tape, so that there is no gradient."""
    target_ids = ops.concatenate([ops.full_like(labels[:, :1], bos_id), labels[:, :-1]], axis=1)
    with tf.GradientTape() as tape:
        logits, _ = model(source_ids, target_ids, training=True)
    loss = masked_loss(labels, logits, smoothing)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


@misconception(
    "train_step",
    "While a function is traced there are no numbers yet, only a plan. Turn it into a number where the compiled "
    "step is called.",
)
def loss_through_numpy(model, optimizer, source_ids, labels, smoothing=0.1, bos_id=1):
    """The loss is turned into a Python number."""
    target_ids = ops.concatenate([ops.full_like(labels[:, :1], bos_id), labels[:, :-1]], axis=1)
    with tf.GradientTape() as tape:
        logits, _ = model(source_ids, target_ids, training=True)
        loss = masked_loss(labels, logits, smoothing)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss.numpy()


@misconception(
    "train_step",
    "Your loss has its default smoothing, whatever the caller of the step says.",
)
def step_loses_the_smoothing(model, optimizer, source_ids, labels, smoothing=0.1, bos_id=1):
    """The smoothing is not handed on to the loss."""
    target_ids = ops.concatenate([ops.full_like(labels[:, :1], bos_id), labels[:, :-1]], axis=1)
    with tf.GradientTape() as tape:
        logits, _ = model(source_ids, target_ids, training=True)
        loss = masked_loss(labels, logits)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


@misconception(
    "train_step",
    "Keras's order is labels first, PyTorch's is logits first. Look at the signature of your loss.",
)
def labels_and_logits_swapped(model, optimizer, source_ids, labels, smoothing=0.1, bos_id=1):
    """Labels and logits are handed to the loss in the wrong order."""
    target_ids = ops.concatenate([ops.full_like(labels[:, :1], bos_id), labels[:, :-1]], axis=1)
    with tf.GradientTape() as tape:
        logits, _ = model(source_ids, target_ids, training=True)
        loss = masked_loss(logits, labels, smoothing)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


@misconception(
    "train_step",
    "The model is asked to predict the word that it is just reading: BOS at the first position, never EOS. What "
    "should it predict?",
)
def bos_as_a_label(model, optimizer, source_ids, labels, smoothing=0.1, bos_id=1):
    """The loss compares with what the decoder reads instead of the labels."""
    target_ids = ops.concatenate([ops.full_like(labels[:, :1], bos_id), labels[:, :-1]], axis=1)
    with tf.GradientTape() as tape:
        logits, _ = model(source_ids, target_ids, training=True)
        loss = masked_loss(target_ids, logits, smoothing)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss

# ---------------------------------------------------------------------------------- greedy_decode


@misconception(
    "greedy_decode",
    "The logits have a row for each word so far. The row of the *last* word says what comes next; the first row "
    "says what follows BOS, every time.",
)
def reads_the_first_position(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """The next word is read off the first position instead of the last."""
    ids = np.full((len(source_ids), 1), bos_id, dtype="int32")
    ended = np.zeros(len(source_ids), dtype=bool)
    for _ in range(max_len):
        logits, _ = model(source_ids, ids, training=False)
        word = np.array(logits)[:, 0].argmax(axis=-1).astype("int32")
        ended |= word == eos_id
        word[ended] = pad_id
        ids = np.concatenate([ids, word[:, None]], axis=1)
        if ended.all():
            break
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "Once a sentence has said EOS it is finished: whatever the model says about it afterwards is chatter. "
    "Remember which ones have ended.",
)
def goes_on_after_the_end(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """Words after a sentence's end are kept."""
    ids = np.full((len(source_ids), 1), bos_id, dtype="int32")
    ended = np.zeros(len(source_ids), dtype=bool)
    for _ in range(max_len):
        logits, _ = model(source_ids, ids, training=False)
        word = np.array(logits)[:, -1].argmax(axis=-1).astype("int32")
        ended |= word == eos_id
        word[word == eos_id] = pad_id
        ids = np.concatenate([ids, word[:, None]], axis=1)
        if ended.all():
            break
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "The result is right, but most of the time is wasted: once all sentences have ended there is nothing more to "
    "ask.",
)
def never_stops_early(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """It always takes max_len steps, also when every sentence has ended."""
    ids = np.full((len(source_ids), 1), bos_id, dtype="int32")
    ended = np.zeros(len(source_ids), dtype=bool)
    for _ in range(max_len):
        logits, _ = model(source_ids, ids, training=False)
        word = np.array(logits)[:, -1].argmax(axis=-1).astype("int32")
        ended |= word == eos_id
        word[ended] = pad_id
        ids = np.concatenate([ids, word[:, None]], axis=1)
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "The sentences of a batch end at different steps. Go on until *all* of them have ended.",
)
def stops_with_the_first(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """It stops as soon as one sentence has ended."""
    ids = np.full((len(source_ids), 1), bos_id, dtype="int32")
    ended = np.zeros(len(source_ids), dtype=bool)
    for _ in range(max_len):
        logits, _ = model(source_ids, ids, training=False)
        word = np.array(logits)[:, -1].argmax(axis=-1).astype("int32")
        ended |= word == eos_id
        word[ended] = pad_id
        ids = np.concatenate([ids, word[:, None]], axis=1)
        if ended.any():
            break
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "BOS is what you gave the model to begin with, not something that it wrote.",
)
def begin_kept(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """BOS comes back as the first word."""
    ids = np.full((len(source_ids), 1), bos_id, dtype="int32")
    ended = np.zeros(len(source_ids), dtype=bool)
    for _ in range(max_len):
        logits, _ = model(source_ids, ids, training=False)
        word = np.array(logits)[:, -1].argmax(axis=-1).astype("int32")
        ended |= word == eos_id
        word[ended] = pad_id
        ids = np.concatenate([ids, word[:, None]], axis=1)
        if ended.all():
            break
    return ids


@misconception(
    "greedy_decode",
    "EOS says that the sentence is over; it is no word of the translation. The docstring wants padding in its "
    "place.",
)
def end_kept(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """EOS comes back as a word."""
    ids = np.full((len(source_ids), 1), bos_id, dtype="int32")
    ended = np.zeros(len(source_ids), dtype=bool)
    for _ in range(max_len):
        logits, _ = model(source_ids, ids, training=False)
        word = np.array(logits)[:, -1].argmax(axis=-1).astype("int32")
        word[ended] = pad_id
        ids = np.concatenate([ids, word[:, None]], axis=1)
        ended |= word == eos_id
        if ended.all():
            break
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "The model remembers nothing from call to call. All that it has written must be handed over each time.",
)
def only_the_last_word_read(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """The model is given the last word only, instead of all words so far."""
    ids = np.full((len(source_ids), 1), bos_id, dtype="int32")
    ended = np.zeros(len(source_ids), dtype=bool)
    for _ in range(max_len):
        logits, _ = model(source_ids, ids[:, -1:], training=False)
        word = np.array(logits)[:, -1].argmax(axis=-1).astype("int32")
        ended |= word == eos_id
        word[ended] = pad_id
        ids = np.concatenate([ids, word[:, None]], axis=1)
        if ended.all():
            break
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "In training the decoder's input always began with BOS. A beginning that it has never seen leads anywhere.",
)
def begins_with_the_end_of_sentence(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """The decoder is started with EOS instead of BOS."""
    ids = np.full((len(source_ids), 1), eos_id, dtype="int32")
    ended = np.zeros(len(source_ids), dtype=bool)
    for _ in range(max_len):
        logits, _ = model(source_ids, ids, training=False)
        word = np.array(logits)[:, -1].argmax(axis=-1).astype("int32")
        ended |= word == eos_id
        word[ended] = pad_id
        ids = np.concatenate([ids, word[:, None]], axis=1)
        if ended.all():
            break
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "max_len counts the words that are *written*, and BOS is not one of them.",
)
def one_word_too_few(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """BOS is counted as a written word, so that there is one step too few."""
    ids = np.full((len(source_ids), 1), bos_id, dtype="int32")
    ended = np.zeros(len(source_ids), dtype=bool)
    for _ in range(max_len - 1):
        logits, _ = model(source_ids, ids, training=False)
        word = np.array(logits)[:, -1].argmax(axis=-1).astype("int32")
        ended |= word == eos_id
        word[ended] = pad_id
        ids = np.concatenate([ids, word[:, None]], axis=1)
        if ended.all():
            break
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "A strongly negative logit means: certainly not this word. The largest one wins, signs included.",
)
def largest_in_absolute_value(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """The logit with the largest absolute value is chosen."""
    ids = np.full((len(source_ids), 1), bos_id, dtype="int32")
    ended = np.zeros(len(source_ids), dtype=bool)
    for _ in range(max_len):
        logits, _ = model(source_ids, ids, training=False)
        word = np.abs(np.array(logits))[:, -1].argmax(axis=-1).astype("int32")
        ended |= word == eos_id
        word[ended] = pad_id
        ids = np.concatenate([ids, word[:, None]], axis=1)
        if ended.all():
            break
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "Right for the usual vocabulary. The function has arguments for them.",
)
def usual_ids_only(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """The ids of begin, end and padding are taken to be 1, 2 and 0."""
    bos_id, eos_id, pad_id = 1, 2, 0
    ids = np.full((len(source_ids), 1), bos_id, dtype="int32")
    ended = np.zeros(len(source_ids), dtype=bool)
    for _ in range(max_len):
        logits, _ = model(source_ids, ids, training=False)
        word = np.array(logits)[:, -1].argmax(axis=-1).astype("int32")
        ended |= word == eos_id
        word[ended] = pad_id
        ids = np.concatenate([ids, word[:, None]], axis=1)
        if ended.all():
            break
    return ids[:, 1:]

# ---------------------------------------------------------------------------------- SavableTransformer


@misconception(
    "SavableTransformer",
    "The model that comes back is random. A model that was never called has no variables, so that there is "
    "nothing to put the weights into.",
)
class never_built(Transformer):
    """The loaded model is not built before its weights are read."""

    def __init__(self, **config):
        super().__init__(**config)
        self.config = config

    def get_config(self):
        return {**super().get_config(), **self.config}

    def build_from_config(self, config):
        pass


@misconception(
    "SavableTransformer",
    "Whatever is not in the configuration comes back with its default value. Everything that the constructor was "
    "given belongs into it.",
)
class sizes_only(Transformer):
    """The configuration holds the sizes, but not norm_first, layernorm_eps and dropout_rate."""

    def __init__(self, **config):
        super().__init__(**config)
        self.config = config

    def get_config(self):
        rest = ("norm_first", "layernorm_eps", "dropout_rate")
        return {**super().get_config(), **{key: value for key, value in self.config.items() if key not in rest}}

    def build_from_config(self, config):
        ids = ops.ones((1, 2), dtype="int32")
        self(ids, ids)


@misconception(
    "SavableTransformer",
    "Keras knows the name and the type of numbers of a model. How many layers it has, only the class can say.",
)
class configuration_without_the_arguments(Transformer):
    """The configuration is Keras's own, without the constructor's arguments."""

    def __init__(self, **config):
        super().__init__(**config)
        self.config = config

    def get_config(self):
        return super().get_config()

    def build_from_config(self, config):
        ids = ops.ones((1, 2), dtype="int32")
        self(ids, ids)


@misconception(
    "SavableTransformer",
    "This model takes two: the source's ids and the target's. A call with one of them fails, and then there are "
    "no variables.",
)
class built_with_one_input(Transformer):
    """The model is built with one input only."""

    def __init__(self, **config):
        super().__init__(**config)
        self.config = config

    def get_config(self):
        return {**super().get_config(), **self.config}

    def build_from_config(self, config):
        ids = ops.ones((1, 2), dtype="int32")
        self(ids)


@misconception(
    "SavableTransformer",
    "In inference everything is right. Train on after loading, and the model has another dropout than before: "
    "compare the configuration with the constructor.",
)
class dropout_forgotten_in_the_configuration(Transformer):
    """The configuration lacks dropout_rate."""

    def __init__(self, **config):
        super().__init__(**config)
        self.config = config

    def get_config(self):
        config = {**super().get_config(), **self.config}
        config.pop("dropout_rate", None)
        return config

    def build_from_config(self, config):
        ids = ops.ones((1, 2), dtype="int32")
        self(ids, ids)
