"""Correct versions of lab 06's exercises in other styles, as different learners would write them."""

# Each one is handed in alone, in place of the reference. Besides what the set-up cell imports, a version may use the
# masks that the notebook gives, and the exercises above it under their own names; in this file the plain versions below
# stand in for them. All else is imported or defined inside.

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

from course_utils.quiet import without_startup_messages

with without_startup_messages():
    import keras
    import tensorflow as tf

import numpy as np
from keras import ops

from course_utils.models.keras_translator import positional_encoding
from grader.catalogue import variant

# ---------------------------------------------------------------------------------- the masks and the exercises above


def create_padding_mask(token_ids, pad_id=0):
    return (token_ids != pad_id)[:, tf.newaxis, tf.newaxis, :]


def create_look_ahead_mask(token_ids):
    place = tf.range(tf.shape(token_ids)[1])
    past = place[:, tf.newaxis] >= place
    return tf.repeat(past[tf.newaxis, tf.newaxis], tf.shape(token_ids)[0], axis=0)


def FullyConnected(embedding_dim, fully_connected_dim):
    dense = keras.layers.Dense
    return keras.Sequential([dense(fully_connected_dim, activation="relu"), dense(embedding_dim)])


class _Layer(keras.layers.Layer):
    """What the layers of encoder and decoder share."""

    def __init__(self, width, heads, inner, rate=0.1, eps=1e-6, norm_first=False, **kwargs):
        super().__init__(**kwargs)
        self.norm_first, self.dropout, self.ffn = norm_first, keras.layers.Dropout(rate), FullyConnected(width, inner)
        for name in self.attentions:
            setattr(self, name, keras.layers.MultiHeadAttention(heads, width // heads))
        for number in range(1, len(self.attentions) + 2):
            setattr(self, f"layernorm{number}", keras.layers.LayerNormalization(epsilon=eps))

    def wrap(self, x, norm, sublayer, training):
        """Returns the new x, and all else that the sub-layer gives."""
        out, *rest = sublayer(norm(x) if self.norm_first else x)
        x = x + self.dropout(out, training=training)
        return x if self.norm_first else norm(x), *rest


class EncoderLayer(_Layer):
    attentions = ("mha",)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        x, *_ = self.wrap(x, self.layernorm1, lambda y: [self.mha(y, y, attention_mask=mask)], training)
        return self.wrap(x, self.layernorm2, lambda y: [self.ffn(y)], training)[0]


class DecoderLayer(_Layer):
    attentions = ("mha1", "mha2")

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        def ask(attention, y, keys, mask):
            return attention(y, keys, attention_mask=mask, return_attention_scores=True)

        x, own = self.wrap(x, self.layernorm1, lambda y: ask(self.mha1, y, y, look_ahead_mask), training)
        x, cross = self.wrap(x, self.layernorm2, lambda y: ask(self.mha2, y, enc_output, padding_mask), training)
        return self.wrap(x, self.layernorm3, lambda y: [self.ffn(y)], training)[0], own, cross


class _Stack(keras.layers.Layer):
    """What encoder and decoder share."""

    def __init__(self, layer, count, width, heads, inner, words, max_len, rate, eps, norm_first, **kwargs):
        super().__init__(**kwargs)
        self.embedding, self.dropout = keras.layers.Embedding(words, width), keras.layers.Dropout(rate)
        self.pos_encoding, self.scale = positional_encoding(max_len, width), float(width) ** 0.5
        self.stack = [layer(width, heads, inner, rate, eps, norm_first) for _ in range(count)]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=eps)
        self.norm_first = norm_first

    def embed(self, ids, training):
        x = self.embedding(ids) * self.scale + self.pos_encoding[: ops.shape(ids)[1]]
        return self.dropout(x, training=training)

    def end(self, x):
        return self.layernorm(x) if self.norm_first else x


class Encoder(_Stack):
    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        sizes = (num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len)
        super().__init__(EncoderLayer, *sizes, dropout_rate, layernorm_eps, norm_first, **kwargs)
        self.enc_layers = self.stack

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        x = self.embed(x, training)
        for layer in self.enc_layers:
            x = layer(x, training=training, mask=mask)
        return self.end(x)


class Decoder(_Stack):
    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        sizes = (num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len)
        super().__init__(DecoderLayer, *sizes, dropout_rate, layernorm_eps, norm_first, **kwargs)
        self.dec_layers = self.stack

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        x, weights = self.embed(x, training), {}
        masks = {"look_ahead_mask": look_ahead_mask, "padding_mask": padding_mask}
        for number, layer in enumerate(self.dec_layers, start=1):
            x, own, cross = layer(x, enc_output, training=training, **masks)
            weights[f"decoder_layer{number}_block1_self_att"] = own
            weights[f"decoder_layer{number}_block2_decenc_att"] = cross
        return self.end(x), weights


class Transformer(keras.Model):
    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        sizes, rest = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *rest, norm_first)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *rest, norm_first)
        self.final_layer = keras.layers.Dense(target_vocab_size)

    def call(self, source_ids, target_ids, training=False):
        real, written = create_padding_mask(source_ids), create_padding_mask(target_ids)
        memory = self.encoder(source_ids, training=training, mask=real)
        masks = {"look_ahead_mask": create_look_ahead_mask(target_ids) & written, "padding_mask": real}
        x, weights = self.decoder(target_ids, memory, training=training, **masks)
        return self.final_layer(x), weights


def masked_loss(labels, logits, smoothing=0.1, pad_id=0):
    count, log_p = logits.shape[-1], tf.nn.log_softmax(logits)
    q = tf.one_hot(labels, count, on_value=1 - smoothing, off_value=smoothing / (count - 2))
    q *= 1 - tf.one_hot(pad_id, count)
    real = tf.cast(labels != pad_id, log_p.dtype)
    return -tf.reduce_sum(q * log_p * real[..., tf.newaxis]) / tf.reduce_sum(real)


# ---------------------------------------------------------------------------------- FullyConnected


@variant("FullyConnected")
def network_with_a_relu_layer(embedding_dim, fully_connected_dim):
    """A sequence to which layers are added, ReLU as a layer of its own."""
    network = keras.Sequential(name="ffn")
    network.add(keras.layers.Dense(units=fully_connected_dim))
    network.add(keras.layers.ReLU())
    network.add(keras.layers.Dense(units=embedding_dim))
    return network


@variant("FullyConnected")
def network_as_a_class(embedding_dim, fully_connected_dim):
    """A layer class with two Dense layers and tf.maximum."""

    class Network(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.first = keras.layers.Dense(fully_connected_dim)
            self.second = keras.layers.Dense(embedding_dim, activation=None)

        def call(self, x):
            return self.second(tf.maximum(self.first(x), 0.0))

    return Network()


@variant("FullyConnected")
def network_whose_last_layer_is_made_first(embedding_dim, fully_connected_dim):
    """A layer class whose second Dense layer is made, and so listed, before its first."""

    class Network(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.contract = keras.layers.Dense(embedding_dim)
            self.expand = keras.layers.Dense(fully_connected_dim, activation="relu")

        def call(self, x):
            return self.contract(self.expand(x))

    return Network()


@variant("FullyConnected")
def network_made_in_build(embedding_dim, fully_connected_dim):
    """Dense layers that are made when the width is known, and a lambda for the activation."""

    class Network(keras.layers.Layer):
        def build(self, input_shape):
            self.inner = keras.layers.Dense(fully_connected_dim, activation=lambda x: x * ops.cast(x > 0, x.dtype))
            self.outer = keras.layers.Dense(input_shape[-1])
            self.inner.build(input_shape)
            self.outer.build((*input_shape[:-1], fully_connected_dim))

        def call(self, inputs):
            return self.outer(self.inner(inputs))

    return Network()


@variant("FullyConnected")
def network_of_einsum_layers(embedding_dim, fully_connected_dim):
    """EinsumDense, the general form of Dense."""
    einsum = keras.layers.EinsumDense
    return keras.Sequential(
        [
            einsum("...m,mf->...f", output_shape=fully_connected_dim, bias_axes="f", activation=tf.nn.relu),
            einsum("...f,fm->...m", output_shape=embedding_dim, bias_axes="m"),
        ]
    )


@variant("FullyConnected")
def network_of_four_weights(embedding_dim, fully_connected_dim):
    """Adds the weights itself, and calculates in float64."""

    class Network(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.w1 = self.add_weight(shape=(embedding_dim, fully_connected_dim), name="w1")
            self.b1 = self.add_weight(shape=(fully_connected_dim,), initializer="zeros", name="b1")
            self.w2 = self.add_weight(shape=(fully_connected_dim, embedding_dim), name="w2")
            self.b2 = self.add_weight(shape=(embedding_dim,), initializer="zeros", name="b2")

        def call(self, x):
            w1, b1, w2, b2 = (ops.cast(weight, "float64") for weight in (self.w1, self.b1, self.w2, self.b2))
            hidden = ops.relu(ops.matmul(ops.cast(x, "float64"), w1) + b1)
            return ops.cast(ops.matmul(hidden, w2) + b2, "float32")

    return Network()


# ---------------------------------------------------------------------------------- EncoderLayer


@variant("EncoderLayer")
class LayerWithTwoCalls(keras.layers.Layer):
    """One method for each form, and a dropout for each sub-layer."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        self.mha = keras.layers.MultiHeadAttention(num_heads=num_heads, key_dim=embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim=embedding_dim, fully_connected_dim=fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout1 = keras.layers.Dropout(dropout_rate)
        self.dropout2 = keras.layers.Dropout(dropout_rate)

    def compute_mask(self, inputs, previous_mask):
        return None

    def post_norm(self, x, training, mask):
        attended = self.mha(query=x, value=x, key=x, attention_mask=mask, training=training)
        middle = self.layernorm1(keras.layers.add([x, self.dropout1(attended, training=training)]))
        return self.layernorm2(middle + self.dropout2(self.ffn(middle), training=training))

    def pre_norm(self, x, training, mask):
        normal = self.layernorm1(x)
        attended = self.mha(query=normal, value=normal, key=normal, attention_mask=mask, training=training)
        middle = x + self.dropout1(attended, training=training)
        return middle + self.dropout2(self.ffn(self.layernorm2(middle)), training=training)

    def call(self, x, training=False, mask=None):
        return (self.pre_norm if self.norm_first else self.post_norm)(x, training, mask)


@variant("EncoderLayer")
class LayerMadeInBuild(keras.layers.Layer):
    """Makes its parts when the input's width is known; a loop over the two sub-layers."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        self.sizes = embedding_dim, num_heads, fully_connected_dim
        self.rate, self.eps, self.norm_first = dropout_rate, layernorm_eps, norm_first

    def build(self, input_shape):
        width, heads, inner = self.sizes
        self.mha = keras.layers.MultiHeadAttention(heads, width // heads, output_shape=width)
        self.ffn = FullyConnected(width, inner)
        self.layernorm1, self.layernorm2 = (keras.layers.LayerNormalization(epsilon=self.eps) for _ in range(2))
        self.drop = keras.layers.Dropout(self.rate)
        self.mha.build(input_shape, input_shape)
        self.layernorm1.build(input_shape)
        self.layernorm2.build(input_shape)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        def attend(y):
            return self.mha(y, y, y, attention_mask=mask)

        for norm, sublayer in [(self.layernorm1, attend), (self.layernorm2, self.ffn)]:
            if self.norm_first:
                x = x + self.drop(sublayer(norm(x)), training=training)
            else:
                x = norm(x + self.drop(sublayer(x), training=training))
        return x


@variant("EncoderLayer")
class LayerWithItsOwnAttention(keras.layers.Layer):
    """Uses the matrices of Keras's attention, writes the attention itself by einsum with -1e9, drops by keras.random."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(axis=-1, epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(axis=-1, epsilon=layernorm_eps)
        self.rate, self.pre = dropout_rate, norm_first
        self.seeds = keras.random.SeedGenerator()

    def build(self, input_shape):
        self.mha.build(input_shape, input_shape)

    def compute_mask(self, inputs, previous_mask):
        return None

    def attend(self, x, mask):
        q, k, v = self.mha.query_dense(x), self.mha.key_dense(x), self.mha.value_dense(x)
        scores = tf.einsum("bqhd,bkhd->bhqk", q, k) / tf.sqrt(float(q.shape[-1]))
        if mask is not None:
            scores += -1e9 * (1.0 - tf.cast(mask, scores.dtype))
        return self.mha.output_dense(tf.einsum("bhqk,bkhd->bqhd", tf.nn.softmax(scores), v))

    def drop(self, x, training):
        return keras.random.dropout(x, self.rate, seed=self.seeds) if training else x

    def call(self, x, training=False, mask=None):
        before = self.layernorm1(x) if self.pre else x
        x = x + self.drop(self.attend(before, mask), training)
        x = x if self.pre else self.layernorm1(x)
        before = self.layernorm2(x) if self.pre else x
        x = x + self.drop(self.ffn(before), training)
        return x if self.pre else self.layernorm2(x)


@variant("EncoderLayer")
class LayerWithMomentsInDoublePrecision(keras.layers.Layer):
    """Writes the normalisation out in float64, and copies the mask for each head."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        self.norm_first, self.heads = norm_first, num_heads
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads, dropout=0.0)
        self.ffn = keras.Sequential(
            [keras.layers.Dense(fully_connected_dim, activation="relu"), keras.layers.Dense(embedding_dim)]
        )
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout = keras.layers.Dropout(rate=dropout_rate)

    def build(self, x_shape):
        for norm in (self.layernorm1, self.layernorm2):
            norm.build(x_shape)

    def compute_mask(self, inputs, previous_mask):
        return None

    def normalise(self, norm, x):
        wide = tf.cast(x, tf.float64)
        mean, variance = tf.nn.moments(wide, axes=[-1], keepdims=True)
        unit = (wide - mean) * tf.math.rsqrt(variance + norm.epsilon)
        return tf.cast(unit, tf.float32) * norm.gamma + norm.beta

    def call(self, x, training=False, mask=None):
        if mask is not None:
            length = ops.shape(x)[1]
            mask = ops.broadcast_to(ops.cast(mask, "bool"), (ops.shape(x)[0], self.heads, length, length))
        y = self.normalise(self.layernorm1, x) if self.norm_first else x
        x += self.dropout(self.mha(y, y, attention_mask=mask), training=training)
        if not self.norm_first:
            x = self.normalise(self.layernorm1, x)
        y = self.normalise(self.layernorm2, x) if self.norm_first else x
        x += self.dropout(self.ffn(y), training=training)
        if not self.norm_first:
            x = self.normalise(self.layernorm2, x)
        return x


# ---------------------------------------------------------------------------------- Encoder


@variant("Encoder")
class EncoderInTheOrdinaryWay(keras.layers.Layer):
    """As many notebooks have it: tf.math.sqrt, tf.shape, range."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.num_layers, self.norm_first = embedding_dim, num_layers, norm_first
        self.embedding = keras.layers.Embedding(source_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        self.enc_layers = [
            EncoderLayer(
                embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
            )
            for _ in range(num_layers)
        ]
        if norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        seq_len = tf.shape(x)[1]
        x = self.embedding(x)
        x *= tf.math.sqrt(tf.cast(self.embedding_dim, tf.float32))
        x += self.pos_encoding[tf.newaxis, :seq_len, :]
        x = self.dropout(x, training=training)
        for i in range(self.num_layers):
            x = self.enc_layers[i](x, training=training, mask=mask)
        if self.norm_first:
            x = self.layernorm(x)
        return x


@variant("Encoder")
class EncoderMadeInBuild(keras.layers.Layer):
    """Makes everything in build, looks words up with tf.gather, and walks through the layers with reduce."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        self.count, self.words, self.max_len = num_layers, source_vocab_size, max_len
        self.layer_sizes = (embedding_dim, num_heads, fully_connected_dim)
        self.options = {"dropout_rate": dropout_rate, "layernorm_eps": layernorm_eps, "norm_first": norm_first}

    def build(self, input_shape):
        width, *rest = self.layer_sizes
        self.embedding = keras.layers.Embedding(self.words, width)
        self.embedding.build(input_shape)
        self.waves = positional_encoding(self.max_len, width)
        self.enc_layers = []
        while len(self.enc_layers) < self.count:
            self.enc_layers.append(EncoderLayer(width, *rest, *self.options.values()))
        self.drop = keras.layers.Dropout(self.options["dropout_rate"])
        if self.options["norm_first"]:
            self.layernorm = keras.layers.LayerNormalization(epsilon=self.options["layernorm_eps"])

    def compute_mask(self, inputs, previous_mask):
        return None

    def call(self, x, training=False, mask=None):
        from functools import reduce

        words = tf.gather(ops.convert_to_tensor(self.embedding.embeddings), x) * self.layer_sizes[0] ** 0.5
        start = self.drop(words + tf.gather(self.waves, tf.range(tf.shape(x)[1])), training=training)
        x = reduce(lambda y, layer: layer(y, training=training, mask=mask), self.enc_layers, start)
        return self.layernorm(x) if self.options["norm_first"] else x


@variant("Encoder")
class EncoderWithItsOwnLayers(keras.layers.Layer):
    """Defines its layer inside; one-hot vectors, and positions calculated again in float64."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)

        class Block(keras.layers.Layer):
            def __init__(self):
                super().__init__()
                self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
                self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
                self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
                self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
                self.drop = keras.layers.Dropout(dropout_rate)

            def call(self, x, allowed=None, training=False):
                y = self.layernorm1(x) if norm_first else x
                x = x + self.drop(self.mha(y, y, attention_mask=allowed, training=training), training=training)
                x = x if norm_first else self.layernorm1(x)
                y = self.layernorm2(x) if norm_first else x
                x = x + self.drop(self.ffn(y), training=training)
                return x if norm_first else self.layernorm2(x)

        self.embedding = keras.layers.Embedding(source_vocab_size, embedding_dim)
        self.embedding.build(None)
        self.enc_layers = tuple(Block() for _ in range(num_layers))
        self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps) if norm_first else None
        self.drop = keras.layers.Dropout(dropout_rate)
        self.words, self.width = source_vocab_size, embedding_dim

    def compute_mask(self, inputs, previous_mask):
        return None

    def positions(self, length):
        place = tf.cast(tf.range(length), tf.float64)[:, tf.newaxis]
        feature = np.arange(self.width)
        angle = place / np.power(10000.0, (feature - feature % 2) / self.width)
        return tf.cast(tf.where(feature % 2 == 0, tf.sin(angle), tf.cos(angle)), tf.float32)

    def call(self, x, training=False, mask=None):
        import math

        table = ops.multiply(self.embedding.embeddings, math.sqrt(self.width))
        length = ops.shape(x)[1]
        x = ops.einsum("blv,ve->ble", ops.one_hot(x, self.words), table)
        x = self.drop(x + self.positions(length), training=training)
        for block in self.enc_layers:
            x = block(x, allowed=mask, training=training)
        return x if self.layernorm is None else self.layernorm(x)


# ---------------------------------------------------------------------------------- DecoderLayer


@variant("DecoderLayer")
class DecoderLayerWrittenOut(keras.layers.Layer):
    """Block after block, with everything by keyword, and one return for each form."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        self.norm_first = norm_first
        head_size = embedding_dim // num_heads
        self.mha1 = keras.layers.MultiHeadAttention(num_heads=num_heads, key_dim=head_size, value_dim=head_size)
        self.mha2 = keras.layers.MultiHeadAttention(num_heads=num_heads, key_dim=head_size, value_dim=head_size)
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.layernorm3 = keras.layers.LayerNormalization(epsilon=layernorm_eps)
        self.dropout1 = keras.layers.Dropout(dropout_rate)
        self.dropout2 = keras.layers.Dropout(dropout_rate)
        self.dropout3 = keras.layers.Dropout(dropout_rate)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        if self.norm_first:
            normal = self.layernorm1(x)
            out, block1 = self.mha1(
                query=normal, key=normal, value=normal,
                attention_mask=look_ahead_mask, return_attention_scores=True, training=training,
            )
            x = x + self.dropout1(out, training=training)
            out, block2 = self.mha2(
                query=self.layernorm2(x), key=enc_output, value=enc_output,
                attention_mask=padding_mask, return_attention_scores=True, training=training,
            )
            x = x + self.dropout2(out, training=training)
            return x + self.dropout3(self.ffn(self.layernorm3(x)), training=training), block1, block2
        out, block1 = self.mha1(
            query=x, key=x, value=x, attention_mask=look_ahead_mask, return_attention_scores=True, training=training
        )
        x = self.layernorm1(x + self.dropout1(out, training=training))
        out, block2 = self.mha2(
            query=x, key=enc_output, value=enc_output,
            attention_mask=padding_mask, return_attention_scores=True, training=training,
        )
        x = self.layernorm2(x + self.dropout2(out, training=training))
        return self.layernorm3(x + self.dropout3(self.ffn(x), training=training)), block1, block2


@variant("DecoderLayer")
class DecoderLayerMadeInBuild(keras.layers.Layer):
    """Makes its parts in build, loops over three sub-layers, and takes masks of three axes."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        self.d, self.h, self.inner = embedding_dim, num_heads, fully_connected_dim
        self.rate, self.eps, self.norm_first = dropout_rate, layernorm_eps, norm_first

    def build(self, x_shape, enc_output_shape):
        self.mha1 = keras.layers.MultiHeadAttention(self.h, self.d // self.h)
        self.mha2 = keras.layers.MultiHeadAttention(self.h, self.d // self.h)
        self.mha1.build(x_shape, x_shape)
        self.mha2.build(x_shape, enc_output_shape)
        self.ffn = FullyConnected(self.d, self.inner)
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=self.eps)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=self.eps)
        self.layernorm3 = keras.layers.LayerNormalization(epsilon=self.eps)
        self.dropouts = [keras.layers.Dropout(self.rate) for _ in range(3)]

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        seen = []

        def look(attention, queries, keys, mask):
            mask = None if mask is None else mask[:, 0]
            out, weights = attention(queries, keys, attention_mask=mask, return_attention_scores=True)
            seen.append(weights)
            return out

        steps = [
            (self.layernorm1, lambda y: look(self.mha1, y, y, look_ahead_mask)),
            (self.layernorm2, lambda y: look(self.mha2, y, enc_output, padding_mask)),
            (self.layernorm3, lambda y: self.ffn(y)),
        ]
        for (norm, sublayer), dropout in zip(steps, self.dropouts, strict=True):
            result = dropout(sublayer(norm(x) if self.norm_first else x), training=training)
            x = ops.add(x, result)
            x = x if self.norm_first else norm(x)
        return x, *seen


@variant("DecoderLayer")
class DecoderLayerWithItsOwnAttention(keras.layers.Layer):
    """Writes both attentions by matmul with minus infinity, in float64, from the matrices of Keras's layers."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        for name in ("mha1", "mha2"):
            setattr(self, name, keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads))
        for name in ("layernorm1", "layernorm2", "layernorm3"):
            setattr(self, name, keras.layers.LayerNormalization(epsilon=layernorm_eps))
        self.ffn = FullyConnected(embedding_dim, fully_connected_dim)
        self.dropout, self.norm_first = keras.layers.Dropout(dropout_rate), norm_first

    def build(self, x_shape, enc_output_shape):
        self.mha1.build(query_shape=x_shape, value_shape=x_shape)
        self.mha2.build(query_shape=x_shape, value_shape=enc_output_shape)

    def attend(self, matrices, asking, asked, mask):
        def heads(dense, words):
            return tf.transpose(tf.cast(dense(words), tf.float64), [0, 2, 1, 3])

        q, k, v = (
            heads(dense, words)
            for dense, words in (
                (matrices.query_dense, asking), (matrices.key_dense, asked), (matrices.value_dense, asked),
            )
        )
        scores = tf.matmul(q, k, transpose_b=True) / np.sqrt(q.shape[-1])
        if mask is not None:
            scores = tf.where(mask, scores, -np.inf)
        exps = tf.exp(scores - tf.reduce_max(scores, axis=-1, keepdims=True))
        weights = exps / tf.reduce_sum(exps, axis=-1, keepdims=True)
        found = tf.transpose(weights @ v, [0, 2, 1, 3])
        return matrices.output_dense(tf.cast(found, tf.float32)), tf.cast(weights, tf.float32)

    def wrapped(self, x, norm, sublayer, training):
        if self.norm_first:
            return x + self.dropout(sublayer(norm(x)), training=training)
        return norm(x + self.dropout(sublayer(x), training=training))

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        kept = {}

        def block1(y):
            out, kept["own"] = self.attend(self.mha1, y, y, look_ahead_mask)
            return out

        def block2(y):
            out, kept["cross"] = self.attend(self.mha2, y, enc_output, padding_mask)
            return out

        x = self.wrapped(x, self.layernorm1, block1, training)
        x = self.wrapped(x, self.layernorm2, block2, training)
        x = self.wrapped(x, self.layernorm3, self.ffn, training)
        return x, kept["own"], kept["cross"]


# ---------------------------------------------------------------------------------- Decoder


@variant("Decoder")
class DecoderInTheOrdinaryWay(keras.layers.Layer):
    """A loop over numbers, and two entries into the dict at each turn."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        self.embedding_dim, self.norm_first, self.num_layers = embedding_dim, norm_first, num_layers
        self.embedding = keras.layers.Embedding(target_vocab_size, embedding_dim)
        self.pos_encoding = positional_encoding(max_len, embedding_dim)
        self.dropout = keras.layers.Dropout(dropout_rate)
        self.dec_layers = []
        for _ in range(num_layers):
            self.dec_layers.append(
                DecoderLayer(
                    embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
                )
            )
        if self.norm_first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        attention_weights = {}
        length = tf.shape(x)[1]
        x = self.embedding(x) * tf.sqrt(float(self.embedding_dim)) + self.pos_encoding[:length, :]
        x = self.dropout(x, training=training)
        for i in range(self.num_layers):
            x, block1, block2 = self.dec_layers[i](
                x, enc_output, training=training, look_ahead_mask=look_ahead_mask, padding_mask=padding_mask
            )
            attention_weights[f"decoder_layer{i + 1}_block1_self_att"] = block1
            attention_weights[f"decoder_layer{i + 1}_block2_decenc_att"] = block2
        if self.norm_first:
            x = self.layernorm(x)
        return x, attention_weights


@variant("Decoder")
class DecoderThatCallsItself(keras.layers.Layer):
    """Recursion over the layers, which joins the dicts; one-hot vectors for the words."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        sizes = (embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.dec_layers = [DecoderLayer(*sizes) for _ in range(num_layers)]
        self.embedding = keras.layers.Embedding(target_vocab_size, embedding_dim)
        self.embedding.build(None)
        self.waves = positional_encoding(max_len, embedding_dim)
        self.layernorm = keras.layers.LayerNormalization(epsilon=layernorm_eps) if norm_first else None
        self.drop = keras.layers.Dropout(dropout_rate)

    def climb(self, number, x, enc_output, **options):
        if number > len(self.dec_layers):
            return x, {}
        x, own, cross = self.dec_layers[number - 1](x, enc_output, **options)
        x, above = self.climb(number + 1, x, enc_output, **options)
        name = f"decoder_layer{number}_block"
        return x, {f"{name}1_self_att": own, f"{name}2_decenc_att": cross} | above

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        words = ops.matmul(ops.one_hot(x, self.embedding.input_dim), self.embedding.embeddings)
        words = words * self.embedding.output_dim**0.5 + self.waves[None, : ops.shape(x)[1]]
        x, weights = self.climb(
            1, self.drop(words, training=training), enc_output,
            training=training, look_ahead_mask=look_ahead_mask, padding_mask=padding_mask,
        )
        return (x if self.layernorm is None else self.layernorm(x)), weights


@variant("Decoder")
class DecoderWithItsOwnLayers(keras.layers.Layer):
    """Made in build, with a layer defined there, and a dict made of pairs at the end."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        self.n, self.width, self.heads, self.inner = num_layers, embedding_dim, num_heads, fully_connected_dim
        self.words, self.longest = target_vocab_size, max_len
        self.rate, self.eps, self.first = dropout_rate, layernorm_eps, norm_first

    def build(self, x_shape, enc_output_shape):
        outer = self

        class Block(keras.layers.Layer):
            def __init__(self):
                super().__init__()
                self.mha1 = keras.layers.MultiHeadAttention(outer.heads, outer.width // outer.heads)
                self.mha2 = keras.layers.MultiHeadAttention(outer.heads, outer.width // outer.heads)
                self.ffn = FullyConnected(outer.width, outer.inner)
                for i in "123":
                    setattr(self, "layernorm" + i, keras.layers.LayerNormalization(epsilon=outer.eps))
                self.drop = keras.layers.Dropout(outer.rate)
                self.pre = outer.first

            def call(self, x, memory, own_mask=None, memory_mask=None, training=False):
                options = {"return_attention_scores": True, "training": training}
                y = self.layernorm1(x) if self.pre else x
                y, own = self.mha1(y, y, attention_mask=own_mask, **options)
                x = x + self.drop(y, training=training)
                x = x if self.pre else self.layernorm1(x)
                y = self.layernorm2(x) if self.pre else x
                y, cross = self.mha2(y, memory, attention_mask=memory_mask, **options)
                x = x + self.drop(y, training=training)
                x = x if self.pre else self.layernorm2(x)
                y = self.ffn(self.layernorm3(x) if self.pre else x)
                x = x + self.drop(y, training=training)
                return x if self.pre else self.layernorm3(x), (own, cross)

        self.embedding = keras.layers.Embedding(input_dim=self.words, output_dim=self.width)
        self.dec_layers = [Block() for _ in range(self.n)]
        self.drop = keras.layers.Dropout(self.rate)
        if self.first:
            self.layernorm = keras.layers.LayerNormalization(epsilon=self.eps)

    def call(self, x, enc_output, training=False, look_ahead_mask=None, padding_mask=None):
        places = tf.range(tf.shape(x)[1])
        waves = tf.nn.embedding_lookup(positional_encoding(self.longest, self.width), places)
        x = self.drop(tf.add(self.embedding(x) * np.sqrt(self.width, dtype="float32"), waves), training=training)
        pairs = []
        for i, block in enumerate(self.dec_layers):
            x, found = block(x, enc_output, own_mask=look_ahead_mask, memory_mask=padding_mask, training=training)
            names = [f"decoder_layer{i + 1}_{part}" for part in ("block1_self_att", "block2_decenc_att")]
            pairs.extend(zip(names, found, strict=True))
        return (self.layernorm(x) if self.first else x), dict(pairs)


# ---------------------------------------------------------------------------------- Transformer


@variant("Transformer")
class TransformerWithMasksByTensorFlow(keras.Model):
    """sequence_mask and band_part, and the last layer made in build."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        options = {
            "max_len": max_len, "dropout_rate": dropout_rate,
            "layernorm_eps": layernorm_eps, "norm_first": norm_first,
        }
        sizes = (num_layers, embedding_dim, num_heads, fully_connected_dim)
        self.encoder = Encoder(*sizes, source_vocab_size=source_vocab_size, **options)
        self.decoder = Decoder(*sizes, target_vocab_size=target_vocab_size, **options)
        self.words = target_vocab_size

    def build(self, source_ids_shape, target_ids_shape):
        self.final_layer = keras.layers.Dense(self.words, activation="linear")

    def real(self, ids):
        count = tf.math.count_nonzero(ids, axis=1)
        return tf.sequence_mask(count, maxlen=tf.shape(ids)[1])[:, None, None, :]

    def call(self, source_ids, target_ids, training=False):
        size = tf.shape(target_ids)[1]
        past = tf.cast(tf.linalg.band_part(tf.ones((size, size)), -1, 0), tf.bool)
        source_mask = self.real(source_ids)
        look_ahead = tf.logical_and(past[None, None, :, :], self.real(target_ids))
        enc_output = self.encoder(source_ids, training=training, mask=source_mask)
        dec_output, attention_weights = self.decoder(
            target_ids, enc_output, training=training, look_ahead_mask=look_ahead, padding_mask=source_mask
        )
        return self.final_layer(dec_output), attention_weights


@variant("Transformer")
class TransformerInSmallMethods(keras.Model):
    """encode and decode as methods, with the notebook's masks, and the last layer applied by einsum."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        before, behind = (num_layers, embedding_dim, num_heads, fully_connected_dim), (max_len, dropout_rate)
        self.encoder = Encoder(*before, source_vocab_size, *behind, layernorm_eps, norm_first)
        self.decoder = Decoder(*before, target_vocab_size, *behind, layernorm_eps, norm_first)
        self.final_layer = keras.layers.Dense(target_vocab_size, use_bias=True)
        self.final_layer.build((None, None, embedding_dim))

    def encode(self, source_ids, training):
        mask = create_padding_mask(source_ids)
        return self.encoder(source_ids, training=training, mask=mask), mask

    def decode(self, target_ids, memory, memory_mask, training):
        mask = ops.logical_and(create_padding_mask(target_ids), create_look_ahead_mask(target_ids))
        x, looks = self.decoder(
            target_ids, memory, training=training, look_ahead_mask=mask, padding_mask=memory_mask
        )
        logits = ops.einsum("bte,ev->btv", x, self.final_layer.kernel) + self.final_layer.bias
        return logits, looks

    def call(self, source_ids, target_ids, training=False):
        memory, memory_mask = self.encode(source_ids, training)
        return self.decode(target_ids, memory, memory_mask, training)


@variant("Transformer")
class TransformerInOneClass(keras.Model):
    """Encoder and decoder are mere holders of parts; one method runs both stacks."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        super().__init__(**kwargs)
        import math

        class Holder(keras.layers.Layer):
            def __init__(self, **parts):
                super().__init__()
                for name, part in parts.items():
                    setattr(self, name, part)

        def norm():
            return keras.layers.LayerNormalization(epsilon=layernorm_eps)

        def block(*attentions):
            parts = {
                name: keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads) for name in attentions
            }
            parts |= {f"layernorm{i + 1}": norm() for i in range(len(attentions) + 1)}
            return Holder(ffn=FullyConnected(embedding_dim, fully_connected_dim), **parts)

        def stack(words, name, *attentions):
            parts = {name: [block(*attentions) for _ in range(num_layers)]}
            if norm_first:
                parts["layernorm"] = norm()
            return Holder(embedding=keras.layers.Embedding(words, embedding_dim), **parts)

        self.encoder = stack(source_vocab_size, "enc_layers", "mha")
        self.decoder = stack(target_vocab_size, "dec_layers", "mha1", "mha2")
        self.final_layer = keras.layers.Dense(target_vocab_size)
        self.drop, self.pre = keras.layers.Dropout(dropout_rate), norm_first
        self.waves, self.scale = positional_encoding(max_len, embedding_dim), math.sqrt(embedding_dim)

    def start(self, part, ids, training):
        x = part.embedding(ids) * self.scale + self.waves[: ops.shape(ids)[1]]
        return self.drop(x, training=training)

    def add(self, x, norm, sublayer, training):
        if self.pre:
            return x + self.drop(sublayer(norm(x)), training=training)
        return norm(x + self.drop(sublayer(x), training=training))

    def call(self, source_ids, target_ids, training=False):
        real = ops.not_equal(source_ids, 0)[:, None, None, :]
        place = ops.arange(ops.shape(target_ids)[1])
        past = ops.not_equal(target_ids, 0)[:, None, None, :] & (place[None, :] <= place[:, None])
        memory, looks = self.start(self.encoder, source_ids, training), {}
        for layer in self.encoder.enc_layers:
            memory = self.add(
                memory, layer.layernorm1, lambda y, part=layer: part.mha(y, y, attention_mask=real), training
            )
            memory = self.add(memory, layer.layernorm2, layer.ffn, training)
        memory = self.encoder.layernorm(memory) if self.pre else memory

        x = self.start(self.decoder, target_ids, training)
        for number, layer in enumerate(self.decoder.dec_layers, start=1):
            name = f"decoder_layer{number}_block"

            def look(attention, y, keys, mask, key):
                y, looks[key] = attention(y, keys, attention_mask=mask, return_attention_scores=True)
                return y

            x = self.add(
                x, layer.layernorm1,
                lambda y, part=layer.mha1, key=f"{name}1_self_att": look(part, y, y, past, key), training,
            )
            x = self.add(
                x, layer.layernorm2,
                lambda y, part=layer.mha2, key=f"{name}2_decenc_att": look(part, y, memory, real, key), training,
            )
            x = self.add(x, layer.layernorm3, layer.ffn, training)
        return self.final_layer(self.decoder.layernorm(x) if self.pre else x), looks


# ---------------------------------------------------------------------------------- masked_loss


@variant("masked_loss")
def loss_in_two_terms(labels, logits, smoothing=0.1, pad_id=0):
    """The label's term, and the sum of all log-probabilities without two of them."""
    log_p = ops.log_softmax(logits, axis=-1)
    right = ops.squeeze(ops.take_along_axis(log_p, ops.expand_dims(labels, -1), axis=-1), axis=-1)
    others = ops.sum(log_p, axis=-1) - right - log_p[..., pad_id]
    losses = (smoothing - 1) * right - smoothing / (ops.shape(logits)[-1] - 2) * others
    real = ops.cast(ops.not_equal(labels, pad_id), losses.dtype)
    return ops.sum(losses * real) / ops.sum(real)


@variant("masked_loss")
def loss_by_keras_with_weights(labels, logits, smoothing=0.1, pad_id=0):
    """Keras's cross-entropy, which takes the mean with weights that are 0 at padding."""
    classes = logits.shape[-1]
    label = ops.one_hot(labels, classes)
    others = (1 - label) * (1 - ops.one_hot(pad_id, classes))
    wanted = (1 - smoothing) * label + smoothing / (classes - 2) * others
    mean = keras.losses.CategoricalCrossentropy(from_logits=True, reduction="mean_with_sample_weight")
    return mean(wanted, logits, sample_weight=ops.cast(ops.not_equal(labels, pad_id), "float32"))


@variant("masked_loss")
def loss_of_the_real_positions(labels, logits, smoothing=0.1, pad_id=0):
    """Takes the real positions out first, and TensorFlow's cross-entropy of them."""
    real = tf.not_equal(labels, pad_id)
    few, rows = tf.boolean_mask(labels, real), tf.boolean_mask(logits, real)
    classes = rows.shape[-1]
    wanted = tf.where(
        tf.range(classes) == tf.cast(few, tf.int32)[:, tf.newaxis],
        1 - smoothing,
        tf.where(tf.range(classes) == pad_id, 0.0, smoothing / (classes - 2)),
    )
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=wanted, logits=rows))


@variant("masked_loss")
def loss_in_double_precision(labels, logits, smoothing=0.1, pad_id=0):
    """logsumexp in float64 minus the wanted mean of the logits; a table of wanted rows, one for each label."""
    logits = tf.cast(logits, tf.float64)
    size = logits.shape[-1]
    table = np.full((size, size), smoothing / (size - 2))
    np.fill_diagonal(table, 1 - smoothing)
    table[:, pad_id] = 0
    wanted = tf.gather(tf.constant(table), labels)
    losses = tf.reduce_logsumexp(logits, axis=-1) - tf.einsum("blv,blv->bl", wanted, logits)
    real = tf.cast(tf.math.not_equal(labels, pad_id), tf.float64)
    return tf.tensordot(losses, real, axes=2) / tf.reduce_sum(real)


@variant("masked_loss")
def loss_position_by_position(labels, logits, smoothing=0.1, pad_id=0):
    """Python's loops over sentences and positions."""
    losses = []
    for sentence, rows in zip(np.asarray(labels), tf.unstack(logits), strict=True):
        for label, row in zip(sentence.tolist(), tf.unstack(rows), strict=True):
            if label == pad_id:
                continue
            row = row - tf.reduce_max(row)
            log_p = row - tf.math.log(tf.reduce_sum(tf.exp(row)))
            wanted = [smoothing / (len(row) - 2)] * len(row)
            wanted[label], wanted[pad_id] = 1 - smoothing, 0.0
            losses.append(-tf.reduce_sum(log_p * wanted))
    return tf.add_n(losses) / len(losses)


# ---------------------------------------------------------------------------------- masked_accuracy


@variant("masked_accuracy")
def accuracy_of_the_real_positions(labels, logits, pad_id=0):
    """Takes the real positions out first, then the mean."""
    real = labels != pad_id
    best = tf.argmax(tf.boolean_mask(logits, real), axis=-1, output_type=tf.int64)
    return tf.reduce_mean(tf.cast(best == tf.cast(tf.boolean_mask(labels, real), tf.int64), tf.float32))


@variant("masked_accuracy")
def accuracy_by_multiplying(labels, logits, pad_id=0):
    """Booleans as 0 and 1, multiplied."""
    guessed = ops.cast(ops.argmax(logits, axis=-1), "int32")
    labels = ops.cast(labels, "int32")
    right = ops.cast(ops.equal(guessed, labels), "float32")
    real = ops.cast(ops.not_equal(labels, pad_id), "float32")
    return ops.divide(ops.sum(right * real), ops.sum(real))


@variant("masked_accuracy")
def accuracy_in_numpy(labels, logits, pad_id=0):
    """NumPy counts, and the share becomes a tensor."""
    labels, guessed = np.asarray(labels), np.argmax(np.asarray(logits), axis=2)
    real = labels != pad_id
    return tf.constant(np.count_nonzero(real & (guessed == labels)) / np.count_nonzero(real))


@variant("masked_accuracy")
def accuracy_by_top_k(labels, logits, pad_id=0):
    """top_k for the best class, and a quotient of two counts, in float64."""
    best = tf.math.top_k(logits, k=1).indices[..., 0]
    labels = tf.cast(labels, best.dtype)
    real = tf.math.not_equal(labels, pad_id)
    right = tf.logical_and(tf.equal(best, labels), real)
    return tf.math.count_nonzero(right) / tf.math.count_nonzero(real)


@variant("masked_accuracy")
def accuracy_by_a_metric(labels, logits, pad_id=0):
    """Keras's metric, with weights that are 0 at padding."""
    metric = keras.metrics.SparseCategoricalAccuracy()
    metric.update_state(labels, logits, sample_weight=ops.cast(ops.not_equal(labels, pad_id), "float32"))
    return metric.result()


# ---------------------------------------------------------------------------------- WarmupSchedule


@variant("WarmupSchedule")
class RateByTensorFlow(keras.optimizers.schedules.LearningRateSchedule):
    """tf.math throughout, as in many tutorials."""

    def __init__(self, embedding_dim, warmup_steps=4000, factor=1.0):
        super().__init__()
        self.embedding_dim, self.warmup_steps, self.factor = embedding_dim, warmup_steps, factor

    def __call__(self, step):
        step = tf.cast(step, tf.float32) + 1.0
        width = tf.cast(self.embedding_dim, tf.float32)
        return self.factor * tf.math.rsqrt(width) * tf.minimum(tf.math.rsqrt(step), step * self.warmup_steps**-1.5)

    def get_config(self):
        return {
            "embedding_dim": self.embedding_dim,
            "warmup_steps": self.warmup_steps,
            "factor": self.factor,
        }


@variant("WarmupSchedule")
class RateWithABranch(keras.optimizers.schedules.LearningRateSchedule):
    """Knows the peak from the start, and asks on which side of it the step is."""

    def __init__(self, embedding_dim: int, warmup_steps: int = 4000, factor: float = 1.0):
        super().__init__()
        import math

        self.given = {"embedding_dim": embedding_dim, "warmup_steps": warmup_steps, "factor": factor}
        self.warmup = float(warmup_steps)
        self.peak = factor / math.sqrt(embedding_dim * warmup_steps)

    def __call__(self, step):
        n = ops.cast(step, "float32") + 1
        return self.peak * ops.where(n < self.warmup, n / self.warmup, ops.sqrt(self.warmup / n))

    def get_config(self):
        return dict(self.given)


@variant("WarmupSchedule")
class RateInDoublePrecision(keras.optimizers.schedules.LearningRateSchedule):
    """float64 inside, and the smallest of two stacked terms."""

    def __init__(self, embedding_dim, warmup_steps=4000, factor=1.0):
        self.embedding_dim = embedding_dim
        self.warmup_steps = warmup_steps
        self.factor = factor

    def __call__(self, step):
        n = tf.cast(step + 1, tf.float64)
        terms = tf.stack([n**-0.5, n * np.float64(self.warmup_steps) ** -1.5])
        rate = np.float64(self.factor) * np.float64(self.embedding_dim) ** -0.5 * tf.reduce_min(terms, axis=0)
        return tf.cast(rate, tf.float32)

    def get_config(self):
        return {name: getattr(self, name) for name in ("embedding_dim", "warmup_steps", "factor")}


@variant("WarmupSchedule")
class RateByLogarithms(keras.optimizers.schedules.LearningRateSchedule):
    """Adds up logarithms, and keeps the arguments under names of its own."""

    def __init__(self, embedding_dim: int, warmup_steps: int = 4000, factor: float = 1.0):
        super().__init__()
        from math import log

        self._arguments = (embedding_dim, warmup_steps, factor)
        self._start = log(factor) - log(embedding_dim) / 2
        self._slope = -1.5 * log(warmup_steps)

    def __call__(self, step):
        n = ops.log(1.0 + ops.cast(step, "float32"))
        return ops.exp(self._start + ops.minimum(-n / 2, n + self._slope))

    def get_config(self) -> dict:
        return dict(zip(("embedding_dim", "warmup_steps", "factor"), self._arguments, strict=True))


# ---------------------------------------------------------------------------------- train_step


@variant("train_step")
def step_with_a_concatenated_input(model, optimizer, source_ids, labels, smoothing=0.1, bos_id=1):
    """concat, and apply_gradients with pairs."""
    begin = tf.fill([tf.shape(labels)[0], 1], tf.cast(bos_id, labels.dtype))
    decoder_input = tf.concat([begin, labels[:, :-1]], axis=1)
    with tf.GradientTape() as tape:
        logits, _ = model(source_ids, decoder_input, training=True)
        loss = masked_loss(labels, logits, smoothing=smoothing)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


@variant("train_step")
def step_with_a_rolled_input(model, optimizer, source_ids, labels, smoothing=0.1, bos_id=1):
    """Rolls the labels and replaces the first column; a persistent tape, and optimizer.apply."""
    first = ops.equal(ops.cumsum(ops.ones_like(labels), axis=1), 1)
    reads = ops.where(first, ops.cast(bos_id, labels.dtype), ops.roll(labels, 1, axis=1))
    with tf.GradientTape(persistent=True) as tape:
        loss = masked_loss(labels, model(source_ids, reads, training=True)[0], smoothing)
    weights = model.trainable_weights
    optimizer.apply([tape.gradient(loss, weight) for weight in weights], weights)
    del tape
    return loss


@variant("train_step")
def step_with_its_own_loss(model, optimizer, source_ids, labels, smoothing=0.1, bos_id=1):
    """Pads the labels on the left, and writes the loss out in a function of its own."""
    decoder_input = tf.pad(labels[:, :-1], [[0, 0], [1, 0]], constant_values=bos_id)

    def loss_of_batch():
        outputs = model(source_ids, decoder_input, training=True)
        log_p = tf.nn.log_softmax(outputs[0])
        right = tf.gather(log_p, labels, batch_dims=2)
        rest = tf.reduce_sum(log_p[:, :, 1:], axis=-1) - right
        each = (1 - smoothing) * right + smoothing / (log_p.shape[-1] - 2) * rest
        return -tf.reduce_mean(tf.boolean_mask(each, labels != 0))

    with tf.GradientTape() as tape:
        loss = loss_of_batch()
    optimizer.apply_gradients(
        [(gradient, weight) for gradient, weight in zip(
            tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True
        )]
    )
    return loss


@variant("train_step")
def step_after_the_tape_has_stopped(model, optimizer, source_ids, labels, smoothing=0.1, bos_id=1):
    """Makes the input on the tape, watches the variables itself, and returns a tensor of its own."""
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        for variable in model.trainable_variables:
            tape.watch(variable.value)
        column = ops.full_like(labels[:, :1], bos_id)
        decoder_input = ops.concatenate([column, labels], axis=1)[:, :-1]
        logits = model(source_ids, decoder_input, training=True)[0]
        loss = masked_loss(labels, logits, smoothing)
        with tape.stop_recording():
            gradients = tape.gradient(loss, [variable.value for variable in model.trainable_variables])
    optimizer.apply(gradients, model.trainable_variables)
    return tf.identity(loss)


# ---------------------------------------------------------------------------------- greedy_decode


@variant("greedy_decode")
def decode_a_list_of_columns(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """Collects columns in a list, and counts who is still running in NumPy."""
    columns = [np.full(len(source_ids), bos_id, dtype="int32")]
    running = np.ones(len(source_ids), dtype=bool)
    while running.any() and len(columns) <= max_len:
        logits, _ = model(source_ids, tf.constant(np.stack(columns, axis=1)), training=False)
        words = np.asarray(logits)[:, -1].argmax(axis=-1)
        running &= words != eos_id
        columns.append(np.where(running, words, pad_id).astype("int32"))
    return tf.constant(np.stack(columns, axis=1)[:, 1:])


@variant("greedy_decode")
def decode_sentence_by_sentence(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """One sentence after the other, as Python lists, filled up at the end."""
    found = []
    for i in range(source_ids.shape[0]):
        ids = [bos_id]
        while len(ids) <= max_len:
            logits, _ = model(source_ids[i : i + 1], tf.constant([ids]), training=False)
            word = int(tf.argmax(logits[0, -1]))
            if word == eos_id:
                break
            ids.append(word)
        found.append(ids[1:])
    return keras.utils.pad_sequences(found, padding="post", value=pad_id)


@variant("greedy_decode")
def decode_and_cut_afterwards(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """Lets ended sentences talk on, and cuts from their first EOS on."""
    ids = tf.fill([tf.shape(source_ids)[0], 1], bos_id)
    for _ in tf.range(max_len):
        logits, _ = model(source_ids, ids, training=False)
        word = tf.math.top_k(logits[:, -1, :], k=1).indices
        ids = tf.concat([ids, word], axis=-1)
        if tf.reduce_all(tf.reduce_any(ids == eos_id, axis=1)):
            break
    written = ids[:, 1:]
    over = tf.cumsum(tf.cast(written == eos_id, tf.int32), axis=1) > 0
    return tf.where(over, pad_id, written)


@variant("greedy_decode")
def decode_by_while_loop(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """TensorFlow's while_loop, with a TensorArray of words."""
    rows = tf.shape(source_ids)[0]

    def go_on(step, words, ended):
        return tf.logical_and(step < max_len, tf.logical_not(tf.reduce_all(ended)))

    def write(step, words, ended):
        so_far = tf.transpose(words.stack()[: step + 1])
        logits, _ = model(source_ids, so_far, training=False)
        word = tf.argmax(tf.nn.softmax(logits[:, step]), axis=-1, output_type=tf.int32)
        ended = tf.logical_or(ended, word == eos_id)
        return step + 1, words.write(step + 1, tf.where(ended, pad_id, word)), ended

    begin = tf.TensorArray(tf.int32, size=1, dynamic_size=True, clear_after_read=False, element_shape=[None])
    begin = begin.write(0, tf.fill([rows], bos_id))
    _, words, _ = tf.while_loop(go_on, write, (0, begin, tf.zeros([rows], tf.bool)))
    return tf.transpose(words.stack())[:, 1:]


@variant("greedy_decode")
def decode_into_a_full_table(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """A table of max_len columns, made before and returned whole; only unfinished sentences are asked about."""
    sources = np.asarray(source_ids)
    table = np.full((len(sources), max_len + 1), pad_id, dtype="int32")
    table[:, 0] = bos_id
    still = list(range(len(sources)))
    for step in range(max_len):
        if not still:
            break
        logits, _ = model(ops.convert_to_tensor(sources[still]), ops.convert_to_tensor(table[still, : step + 1]),
                          training=False)
        words = ops.convert_to_numpy(ops.argmax(logits[:, -1], axis=-1))
        for row, word in zip(list(still), words, strict=True):
            if word == eos_id:
                still.remove(row)
            else:
                table[row, step + 1] = word
    return ops.convert_to_tensor(table[:, 1:])


# ---------------------------------------------------------------------------------- SavableTransformer


@variant("SavableTransformer")
@keras.saving.register_keras_serializable(package="transformer_labs")
class SavableByACall(Transformer):
    """Calls itself with a short sentence, and joins two dicts."""

    def __init__(self, **config):
        super().__init__(**config)
        self.config = config

    def get_config(self):
        return super().get_config() | self.config

    def build_from_config(self, config):
        ids = tf.ones((1, 2), dtype=tf.int32)
        self(ids, ids, training=False)


@variant("SavableTransformer")
@keras.saving.register_keras_serializable(package="transformer_labs")
class SavablePartByPart(Transformer):
    """Runs encoder, decoder and last layer one by one, and updates a dict."""

    def __init__(self, **config):
        super().__init__(**config)
        self.config = config

    def get_config(self):
        config = super().get_config()
        config.update(self.config)
        return config

    def build_from_config(self, config):
        words = np.array([[1, 2, 3]])
        memory = self.encoder(words)
        x, _ = self.decoder(words, memory)
        self.final_layer(x)
        self.built = True


@variant("SavableTransformer")
@keras.saving.register_keras_serializable(package="transformer_labs")
class SavableWithAllArguments(Transformer):
    """Names all arguments, also those with default values, and does not look at what build_from_config gets."""

    def __init__(
        self, *, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size,
        max_len, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False, **kwargs,
    ):
        arguments = {
            "num_layers": num_layers,
            "embedding_dim": embedding_dim,
            "num_heads": num_heads,
            "fully_connected_dim": fully_connected_dim,
            "source_vocab_size": source_vocab_size,
            "target_vocab_size": target_vocab_size,
            "max_len": max_len,
            "dropout_rate": dropout_rate,
            "layernorm_eps": layernorm_eps,
            "norm_first": norm_first,
        }
        super().__init__(**arguments, **kwargs)
        self._arguments = arguments

    def get_config(self):
        return {**super().get_config(), **self._arguments}

    def build_from_config(self, _):
        with tf.device("CPU"):
            _ = self.call(ops.zeros((2, 1), dtype="int64"), ops.ones((2, 3), dtype="int64"))


@variant("SavableTransformer")
@keras.saving.register_keras_serializable(package="transformer_labs")
class SavableInAGraph(Transformer):
    """Makes its variables while a graph is traced that is never run."""

    def __init__(self, **config):
        super().__init__(**config)
        self.config = config

    def get_config(self):
        base = super().get_config()
        return {**{name: value for name, value in base.items() if name not in self.config}, **self.config}

    def build_from_config(self, config):
        ids = tf.TensorSpec([None, None], tf.int32)
        run = tf.function(lambda source, target: self(source, target), autograph=False)
        run.get_concrete_function(ids, ids)
