"""Correct versions of lab 07's exercises in other styles, as different learners would write them."""

# Each one is handed in alone, in place of the reference. Besides what the set-up cell imports, a version may use what the
# notebook gives, and the exercises above it under their own names; in this file the plain versions below stand in for
# them. All else is imported or defined inside.

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

from course_utils.quiet import without_startup_messages

with without_startup_messages():
    import keras
    import tensorflow as tf

import numpy as np
from keras import ops

from grader.catalogue import variant

# ---------------------------------------------------------------------------------- what the notebook gives, and the exercises above


def masked_mean(states, mask=None):
    if mask is None:
        return ops.mean(states, axis=1)
    weights = ops.cast(mask, "float32")[..., None]
    return ops.sum(weights * states, axis=1) / (ops.sum(weights, axis=1) + 1e-9)


class MaskedMean(keras.layers.Layer):
    def call(self, states, mask=None):
        return masked_mean(states, mask)

    def compute_mask(self, states, mask=None):
        return None

    def compute_output_shape(self, shape):
        return (shape[0], shape[2])


class PositionalEmbedding(keras.layers.Layer):
    def __init__(self, vocabulary_size, max_len, embedding_dim, use_positions=True, **kwargs):
        super().__init__(**kwargs)
        self.token_embeddings = keras.layers.Embedding(vocabulary_size, embedding_dim)
        self.position_embeddings = keras.layers.Embedding(max_len, embedding_dim) if use_positions else None

    def call(self, ids):
        words = self.token_embeddings(ids)
        if self.position_embeddings is None:
            return words
        return words + self.position_embeddings(ops.cumsum(ops.ones_like(ids), axis=1) - 1)

    def compute_mask(self, ids, mask=None):
        return ids != 0


class TransformerEncoder(keras.layers.Layer):
    def __init__(self, embedding_dim, dense_dim, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = keras.Sequential([keras.layers.Dense(dense_dim, "relu"), keras.layers.Dense(embedding_dim)])
        self.layernorm1, self.layernorm2 = keras.layers.LayerNormalization(), keras.layers.LayerNormalization()

    def call(self, inputs, mask=None):
        seen = None if mask is None else mask[:, None, :]
        x = self.layernorm1(inputs + self.mha(inputs, inputs, attention_mask=seen))
        return self.layernorm2(x + self.ffn(x))


# ---------------------------------------------------------------------------------- samples_per_length


@variant("samples_per_length")
def ratio_by_numpy(texts, threshold=1_500):
    """NumPy's mean of an array of lengths; counts spaces and adds one."""
    lengths = np.array([text.count(" ") + 1 for text in texts])
    ratio = lengths.size / lengths.mean()
    return ratio, bool(ratio > threshold)


@variant("samples_per_length")
def ratio_in_one_fraction(texts, threshold=1_500):
    """The square of the number of samples, divided by all words."""
    words = " ".join(texts).split()
    ratio = len(texts) ** 2 / len(words)
    if ratio > threshold:
        return ratio, True
    return ratio, False


@variant("samples_per_length")
def ratio_by_a_loop(samples, limit=1_500):
    """A loop with a running total, other names."""
    total = 0
    for sample in samples:
        for _word in sample.split(" "):
            total += 1
    mean = total / len(samples)
    return np.float32(len(samples) / mean), len(samples) > limit * mean


# ---------------------------------------------------------------------------------- split_by_group


@variant("split_by_group")
def split_by_cumulative_sizes(groups, order, share):
    """Cumulative sizes in NumPy; a group goes in if there were too few before it."""
    groups = np.array(groups)
    sizes = np.array([(groups == group).sum() for group in order])
    before = np.cumsum(sizes) - sizes
    chosen = [group for group, taken in zip(order, before, strict=True) if taken < share * len(groups)]
    return np.isin(groups, chosen)


@variant("split_by_group")
def split_by_a_growing_mask(groups, order, share):
    """Adds the samples of one group after another to a mask, and counts the mask."""
    names = np.asarray(groups)
    mask = np.zeros(len(names), dtype=bool)
    queue = list(order)
    while queue and mask.mean() < share:
        mask |= names == queue.pop(0)
    return mask


@variant("split_by_group")
def split_as_a_list(groups, order, share):
    """Plain lists from beginning to end; a list of booleans comes back."""
    test_groups, count = [], 0
    for name in order:
        if count / len(groups) >= share:
            continue
        test_groups.append(name)
        count += groups.count(name)
    return [name in test_groups for name in groups]


# ---------------------------------------------------------------------------------- bag_of_ngrams


@variant("bag_of_ngrams")
def bags_by_sets(texts, index, n):
    """The set of a text's n-grams, made by zip, met with the index."""
    rows = []
    for text in texts:
        words = text.split(" ")
        found = set()
        for size in range(1, n + 1):
            found |= {" ".join(group) for group in zip(*(words[start:] for start in range(size)), strict=False)}
        rows.append([float(gram in found) for gram in sorted(index, key=index.get)])
    return np.array(rows)


@variant("bag_of_ngrams")
def bags_by_searching(texts, index, n):
    """For each n-gram of the index, looks whether it stands in the text between spaces."""
    bags = np.zeros((len(texts), len(index)))
    for gram, column in index.items():
        if gram.count(" ") < n:
            bags[:, column] = [f" {gram} " in f" {text} " for text in texts]
    return bags


@variant("bag_of_ngrams")
def bags_from_every_start(texts, index, n):
    """From every word on, the groups of one to n words, as long as the text goes on; booleans come back as float32."""
    bags = np.zeros((len(texts), len(index)), dtype=np.float32)
    for number, text in enumerate(texts):
        words = text.split()
        for begin in range(len(words)):
            for end in range(begin + 1, min(begin + n, len(words)) + 1):
                gram = " ".join(words[begin:end])
                if gram in index:
                    bags[number, index[gram]] = 1.0
    return bags


# ---------------------------------------------------------------------------------- bucketed_batches


@variant("bucketed_batches")
def batches_by_hand(sentences, labels, batch_size, boundaries):
    """Fills the buckets in Python; the dataset yields finished batches."""

    def batch(pairs):
        longest = max(len(sentence) for sentence, _ in pairs)
        ids = np.zeros((len(pairs), longest), dtype=np.int32)
        for row, (sentence, _) in zip(ids, pairs, strict=True):
            row[: len(sentence)] = sentence
        return ids, np.array([label for _, label in pairs], dtype=np.int32)

    def all_batches():
        buckets = [[] for _ in range(len(boundaries) + 1)]
        for sentence, label in zip(sentences, labels, strict=True):
            bucket = buckets[sum(len(sentence) >= boundary for boundary in boundaries)]
            bucket.append((sentence, label))
            if len(bucket) == batch_size:
                yield batch(bucket)
                bucket.clear()
        for bucket in buckets:
            if bucket:
                yield batch(bucket)

    signature = (tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.int32))
    return tf.data.Dataset.from_generator(all_batches, output_signature=signature)


@variant("bucketed_batches")
def batches_from_a_ragged_tensor(sentences, labels, batch_size, boundaries):
    """Slices of a ragged tensor, then the method for buckets."""
    pairs = tf.data.Dataset.from_tensor_slices((tf.ragged.constant(sentences, dtype=tf.int32), tf.constant(labels, tf.int32)))
    pairs = pairs.map(lambda sentence, label: (tf.ensure_shape(sentence, [None]), label))
    return pairs.bucket_by_sequence_length(
        lambda sentence, label: tf.size(sentence), boundaries, [batch_size] * (1 + len(boundaries)),
        padded_shapes=([None], []),
    )


@variant("bucketed_batches")
def batches_of_each_bucket(sentences, labels, batch_size, boundaries):
    """One dataset for each bucket, with padded_batch, one after the other."""
    spec = (tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32))
    import itertools

    edges = [0, *boundaries, 10**9]
    whole = None
    for low, high in itertools.pairwise(edges):
        inside = [(s, y) for s, y in zip(sentences, labels, strict=True) if low <= len(s) < high]
        if inside:
            part = tf.data.Dataset.from_generator(lambda rows=inside: rows, output_signature=spec).padded_batch(batch_size)
            whole = part if whole is None else whole.concatenate(part)
    return whole


# ---------------------------------------------------------------------------------- PositionalEmbedding


@variant("PositionalEmbedding")
class EmbeddingWithMaskZero(keras.layers.Layer):
    """mask_zero in the embedding of words, whose mask is passed on; places counted along the last axis."""

    def __init__(self, vocabulary_size, max_len, embedding_dim, use_positions=True, **kwargs):
        super().__init__(**kwargs)
        self.vocabulary_size, self.max_len, self.embedding_dim = vocabulary_size, max_len, embedding_dim
        self.use_positions = use_positions
        self.token_embeddings = keras.layers.Embedding(vocabulary_size, embedding_dim, mask_zero=True)
        self.position_embeddings = None
        if use_positions:
            self.position_embeddings = keras.layers.Embedding(max_len, embedding_dim)

    def call(self, ids):
        vectors = self.token_embeddings(ids)
        if self.use_positions:
            places = ops.cumsum(ops.ones_like(ids), axis=-1) - 1
            vectors += self.position_embeddings(places)
        return vectors

    def compute_mask(self, ids, mask=None):
        return self.token_embeddings.compute_mask(ids)

    def get_config(self):
        config = super().get_config()
        config.update(
            vocabulary_size=self.vocabulary_size, max_len=self.max_len, embedding_dim=self.embedding_dim,
            use_positions=self.use_positions,
        )
        return config


@variant("PositionalEmbedding")
class EmbeddingBySlicing(keras.layers.Layer):
    """The first rows of the table of places, cut to the length of the ids; scales nothing."""

    def __init__(self, vocabulary_size, max_len, embedding_dim, use_positions=True, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.sizes = (vocabulary_size, max_len, embedding_dim, use_positions)
        self.token_embeddings = keras.layers.Embedding(input_dim=vocabulary_size, output_dim=embedding_dim)
        self.position_embeddings = (
            keras.layers.Embedding(input_dim=max_len, output_dim=embedding_dim) if use_positions else None
        )

    def build(self, shape):
        self.token_embeddings.build(shape)
        if self.sizes[3]:
            self.position_embeddings.build(shape)
        self.built = True

    def call(self, ids):
        x = self.token_embeddings(ids)
        if self.sizes[3]:
            rows = ops.convert_to_tensor(self.position_embeddings.embeddings)
            counts = ops.cumsum(ops.ones_like(ids), axis=1)
            x = x + ops.take(rows, ops.subtract(counts, 1), axis=0)
        return x

    def compute_mask(self, ids, mask=None):
        return ops.logical_not(ops.equal(ids, 0))

    def get_config(self):
        names = ("vocabulary_size", "max_len", "embedding_dim", "use_positions")
        return super().get_config() | dict(zip(names, self.sizes, strict=True))


@variant("PositionalEmbedding")
class EmbeddingByOneHot(keras.layers.Layer):
    """Places as one-hot rows times the table; positive ids are real."""

    def __init__(self, vocabulary_size, max_len, embedding_dim, use_positions=True, **kwargs):
        super().__init__(**kwargs)
        self.arguments = dict(
            vocabulary_size=vocabulary_size, max_len=max_len, embedding_dim=embedding_dim, use_positions=use_positions
        )
        self.token_embeddings = keras.layers.Embedding(vocabulary_size, embedding_dim)
        self.position_embeddings = keras.layers.Embedding(max_len, embedding_dim) if use_positions else None

    def build(self, input_shape):
        self.token_embeddings.build(input_shape)
        if self.position_embeddings:
            self.position_embeddings.build(input_shape)

    def call(self, ids, training=None):
        out = self.token_embeddings(ids)
        if self.position_embeddings is None:
            return out
        place = ops.cumsum(ops.cast(ops.not_equal(ids, -1), "int32"), axis=1) - 1
        rows = ops.one_hot(place, self.arguments["max_len"])
        return out + ops.matmul(rows, self.position_embeddings.embeddings)

    def compute_mask(self, inputs, mask=None):
        return ops.greater(inputs, 0)

    def get_config(self):
        return dict(super().get_config(), **self.arguments)


# ---------------------------------------------------------------------------------- TransformerEncoder


@variant("TransformerEncoder")
class EncoderAsInTheBook(keras.layers.Layer):
    """The mask widened with tf.newaxis; query, value and key by name; layers made in a list."""

    def __init__(self, embedding_dim, dense_dim, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.embedding_dim, self.dense_dim, self.num_heads = embedding_dim, dense_dim, num_heads
        self.mha = keras.layers.MultiHeadAttention(num_heads=num_heads, key_dim=int(embedding_dim / num_heads))
        layers = [keras.layers.Dense(dense_dim, activation="relu"), keras.layers.Dense(embedding_dim)]
        self.ffn = keras.Sequential(layers)
        self.layernorm1 = keras.layers.LayerNormalization()
        self.layernorm2 = keras.layers.LayerNormalization()
        self.supports_masking = True

    def call(self, inputs, mask=None):
        if mask is not None:
            mask = mask[:, tf.newaxis, :]
        attention = self.mha(query=inputs, value=inputs, key=inputs, attention_mask=mask)
        middle = self.layernorm1(inputs + attention)
        return self.layernorm2(middle + self.ffn(middle))

    def get_config(self):
        config = super().get_config()
        config.update({"embedding_dim": self.embedding_dim, "dense_dim": self.dense_dim, "num_heads": self.num_heads})
        return config


@variant("TransformerEncoder")
class EncoderWithAFullMask(keras.layers.Layer):
    """A mask for every pair of words, made by multiplying; ops.add and a ReLU layer."""

    def __init__(self, embedding_dim, dense_dim, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.kept = {"embedding_dim": embedding_dim, "dense_dim": dense_dim, "num_heads": num_heads}
        self.supports_masking = True
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads, dropout=0.0)
        self.ffn = keras.Sequential([keras.layers.Dense(dense_dim), keras.layers.ReLU(), keras.layers.Dense(embedding_dim)])
        self.layernorm1, self.layernorm2 = (keras.layers.LayerNormalization(epsilon=1e-3) for _ in range(2))

    def call(self, inputs, mask=None, training=False):
        table = None
        if mask is not None:
            real = ops.cast(mask, "int32")
            table = ops.cast(ops.ones_like(real)[:, :, None] * real[:, None, :], "bool")
        x = self.layernorm1(ops.add(inputs, self.mha(inputs, inputs, inputs, attention_mask=table, training=training)))
        return self.layernorm2(ops.add(x, self.ffn(x, training=training)))

    def get_config(self):
        return dict(list(super().get_config().items()) + list(self.kept.items()))


@variant("TransformerEncoder")
class EncoderWithKerasAdd(keras.layers.Layer):
    """keras.layers.add for the sums, a build of its own, compute_mask written out."""

    def __init__(self, embedding_dim, dense_dim, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.arguments = (embedding_dim, dense_dim, num_heads)
        self.supports_masking = True
        self.mha = keras.layers.MultiHeadAttention(num_heads, embedding_dim // num_heads)
        self.ffn = keras.Sequential()
        self.ffn.add(keras.layers.Dense(dense_dim, activation=ops.relu))
        self.ffn.add(keras.layers.Dense(embedding_dim))
        self.layernorm1 = keras.layers.LayerNormalization(axis=-1)
        self.layernorm2 = keras.layers.LayerNormalization(axis=-1)

    def build(self, shape):
        self.mha.build(shape, shape)
        self.ffn.build(shape)
        self.layernorm1.build(shape)
        self.layernorm2.build(shape)

    def compute_mask(self, inputs, mask=None):
        return mask

    def call(self, inputs, mask=None):
        keys = None if mask is None else ops.expand_dims(mask, axis=1)
        first = self.layernorm1(keras.layers.add([inputs, self.mha(inputs, inputs, attention_mask=keys)]))
        second = self.layernorm2(keras.layers.add([self.ffn(first), first]))
        return second

    def get_config(self):
        embedding_dim, dense_dim, num_heads = self.arguments
        return {**super().get_config(), "embedding_dim": embedding_dim, "dense_dim": dense_dim, "num_heads": num_heads}


# ---------------------------------------------------------------------------------- masked_mean


@variant("masked_mean")
def mean_by_where(states, mask=None):
    """where puts zeros into the padding; the number of words is at least 1."""
    if mask is None:
        mask = ops.ones(ops.shape(states)[:2], dtype="bool")
    total = ops.sum(ops.where(mask[..., None], states, 0.0), axis=1)
    count = ops.sum(ops.cast(mask, "float32"), axis=1, keepdims=True)
    return total / ops.where(count > 0, count, 1.0)


@variant("masked_mean")
def mean_by_shares(states, mask=None):
    """Weights that sum to 1, and one product with the states."""
    weights = tf.ones(tf.shape(states)[:2]) if mask is None else tf.cast(mask, tf.float32)
    weights = tf.math.divide_no_nan(weights, tf.reduce_sum(weights, axis=1, keepdims=True))
    return tf.einsum("bl,blw->bw", weights, states)


@variant("masked_mean")
def mean_sentence_by_sentence(states, mask=None):
    """One sentence after the other, with boolean_mask."""
    if mask is None:
        return tf.reduce_mean(states, axis=1)

    def mean(sentence):
        words = tf.boolean_mask(*sentence)
        return tf.reduce_sum(words, axis=0) / tf.maximum(tf.cast(tf.shape(words)[0], states.dtype), 1)

    return tf.map_fn(mean, (states, mask), fn_output_signature=states.dtype)


# ---------------------------------------------------------------------------------- build_classifier


@variant("build_classifier")
def a_sequential_model(
    vocabulary_size, max_len, num_classes, embedding_dim=64, dense_dim=128, num_heads=4,
    dropout_rate=0.5, learning_rate=1e-3, use_positions=True,
):
    """keras.Sequential, with the input as its first entry."""
    model = keras.Sequential([
        keras.Input((None,), dtype="int32"),
        PositionalEmbedding(vocabulary_size, max_len, embedding_dim, use_positions),
        TransformerEncoder(embedding_dim, dense_dim, num_heads),
        MaskedMean(),
        keras.layers.Dropout(dropout_rate),
        keras.layers.Dense(num_classes),
    ])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(learning_rate=learning_rate), loss=loss, metrics=["accuracy"])
    return model


@variant("build_classifier")
def with_keras_pooling(
    vocabulary_size, max_len, num_classes, embedding_dim=64, dense_dim=128, num_heads=4,
    dropout_rate=0.5, learning_rate=1e-3, use_positions=True,
):
    """Keras's own pooling, which knows masks; a name for each layer; a loss function of its own."""
    symbol = keras.Input(shape=(None,), dtype="int32", name="ids")
    embed = PositionalEmbedding(vocabulary_size, max_len, embedding_dim, use_positions=use_positions, name="embed")
    read = TransformerEncoder(embedding_dim=embedding_dim, dense_dim=dense_dim, num_heads=num_heads, name="read")
    pooled = keras.layers.GlobalAveragePooling1D()(read(embed(symbol)))
    logits = keras.layers.Dense(num_classes, name="head")(keras.layers.Dropout(dropout_rate)(pooled))
    model = keras.Model(inputs=symbol, outputs=logits)

    def loss(labels, scores):
        return ops.mean(keras.losses.sparse_categorical_crossentropy(labels, scores, from_logits=True))

    model.compile(loss=loss, optimizer=keras.optimizers.Adam(learning_rate), metrics=["accuracy"])
    return model


@variant("build_classifier")
def as_a_subclass(
    vocabulary_size, max_len, num_classes, embedding_dim=64, dense_dim=128, num_heads=4,
    dropout_rate=0.5, learning_rate=1e-3, use_positions=True,
):
    """A subclass of keras.Model with the layers as attributes."""

    class Classifier(keras.Model):
        def __init__(self):
            super().__init__()
            self.embed = PositionalEmbedding(vocabulary_size, max_len, embedding_dim, use_positions)
            self.encoder = TransformerEncoder(embedding_dim, dense_dim, num_heads)
            self.pool = MaskedMean()
            self.drop = keras.layers.Dropout(dropout_rate)
            self.head = keras.layers.Dense(num_classes)

        def call(self, ids, training=False):
            x = self.encoder(self.embed(ids), mask=ops.not_equal(ids, 0))
            x = self.pool(x, mask=ops.not_equal(ids, 0))
            return self.head(self.drop(x, training=training))

    model = Classifier()
    model.compile(
        optimizer=keras.optimizers.Adam(learning_rate),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
    )
    return model


# ---------------------------------------------------------------------------------- best_epoch


@variant("best_epoch")
def as_keras_does_it(losses, patience):
    """A waiting counter, as in Keras's callback."""
    lowest, best, waited = float("inf"), 0, 0
    for number, loss in enumerate(losses):
        if loss < lowest:
            lowest, best, waited = loss, number, 0
        else:
            waited += 1
            if waited == patience:
                break
    return best + 1, number + 1


@variant("best_epoch")
def by_cutting_the_list(losses, patience):
    """Finds the end first, with the lowest loss of each beginning; then argmin of what is left."""
    places = [int(np.argmin(losses[: end + 1])) for end in range(len(losses))]
    stops = [end for end, place in enumerate(places) if end - place >= patience]
    trained = losses[: stops[0] + 1] if stops else losses
    return int(np.argmin(trained)) + 1, len(trained)


@variant("best_epoch")
def with_while(losses, patience):
    """A while loop with two numbers; gives NumPy integers."""
    best = last = 1
    while last < len(losses) and last - best < patience:
        last += 1
        if losses[last - 1] < losses[best - 1]:
            best = last
    return np.int64(best), np.int64(last)


# ---------------------------------------------------------------------------------- calibration_error


@variant("calibration_error")
def error_by_bincount(probabilities, labels, bins=10):
    """bincount with weights: the sums of right answers and of confidence in each bin."""
    sure = probabilities.max(-1).astype(float)
    right = (probabilities.argmax(-1) == labels).astype(float)
    place = np.clip((sure * bins).astype(int), 0, bins - 1)
    gaps = np.bincount(place, right, bins) - np.bincount(place, sure, bins)
    return np.abs(gaps).sum() / len(labels), sure.mean() - right.mean()


@variant("calibration_error")
def error_by_edges(probabilities, labels, bins=10):
    """linspace for the edges, a loop over pairs of edges."""
    confidence, said = np.max(probabilities, axis=1), np.argmax(probabilities, axis=1)
    hits = np.equal(said, labels)
    import itertools

    edges = np.linspace(0, 1, bins + 1)
    edges[-1] = 1.1
    total = 0
    for low, high in itertools.pairwise(edges):
        inside = (confidence >= low) & (confidence < high)
        if np.count_nonzero(inside) == 0:
            continue
        total += np.count_nonzero(inside) * np.abs(np.mean(hits[inside]) - np.mean(confidence[inside]))
    return total / len(labels), np.mean(confidence) - np.mean(hits)


@variant("calibration_error")
def error_in_plain_python(probabilities, labels, bins=10):
    """Lists of a dictionary, one for each bin; no NumPy."""
    found = {}
    for row, label in zip(probabilities.tolist(), labels.tolist(), strict=True):
        confidence = max(row)
        entry = (confidence, row.index(confidence) == label)
        found.setdefault(min(int(confidence * bins), bins - 1), []).append(entry)
    n = len(labels)
    error = sum(abs(sum(hit for _, hit in each) - sum(sure for sure, _ in each)) for each in found.values()) / n
    every = [entry for each in found.values() for entry in each]
    return error, sum(sure - hit for sure, hit in every) / n
