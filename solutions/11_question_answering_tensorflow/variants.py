"""Correct versions of lab 11's exercises in other styles, written by people who have not seen the reference."""

# Each one is handed in alone, in place of the reference. Besides what the set-up cell imports, a version may use the
# `windows_of` that the notebook gives, and the exercises above it under their own names; in this file the plain
# versions below stand in for them. All else is imported or defined inside.

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

from course_utils.quiet import without_startup_messages

with without_startup_messages():
    import keras
    import tensorflow as tf

import numpy as np
from keras import ops

from course_utils.data.questions import QuestionExample
from course_utils.models.reader import features_of, stacked
from grader.catalogue import variant

# ---------------------------------------------------------------------------------- what the notebook gives, and the exercises above


def windows_of(question, context, tokenize, max_length, overlap):
    return features_of(QuestionExample(context, question, (), "asked", "asked"), tokenize, max_length, overlap)


def span_loss(start_logits, end_logits, start_positions, end_positions):
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits
    return tf.reduce_mean(loss(start_positions, start_logits) + loss(end_positions, end_logits)) / 2


def best_spans(start_logits, end_logits, in_context, max_answer_length):
    width = tf.shape(start_logits)[1]
    place = tf.range(width)
    ahead = place[tf.newaxis, :] - place[:, tf.newaxis]
    fits = (ahead >= 0) & (ahead < max_answer_length) & in_context[:, :, tf.newaxis] & in_context[:, tf.newaxis, :]
    sums = tf.where(fits, start_logits[:, :, tf.newaxis] + end_logits[:, tf.newaxis, :], -np.inf)
    flat = tf.reshape(sums, [-1, width * width])
    best = tf.argmax(flat, axis=1, output_type=tf.int32)
    return best // width, best % width, tf.reduce_max(flat, axis=1)


# ---------------------------------------------------------------------------------- answer_token_spans


@variant("answer_token_spans")
def spans_by_argmax(offsets, starts, ends):
    """argmax from the front, and from the back of the reversed table; gather with batch_dims."""
    token_starts, token_ends = offsets[..., 0], offsets[..., 1]
    touched = tf.cast((token_ends > starts[:, None]) & (token_starts < ends[:, None]), tf.int32)
    first = tf.argmax(touched, axis=1)
    last = touched.shape[1] - 1 - tf.argmax(tf.reverse(touched, axis=[1]), axis=1)
    whole = tf.reduce_any(touched > 0, axis=1)
    whole &= tf.gather(token_starts, first, batch_dims=1) <= starts
    whole &= tf.gather(token_ends, last, batch_dims=1) >= ends
    return tf.where(whole, first, 0), tf.where(whole, last, 0)


@variant("answer_token_spans")
def spans_by_the_least_and_the_greatest_place(offsets, starts, ends):
    """The least and the greatest number of a touched token, and of what the touched ones cover."""
    offsets = tf.cast(offsets, tf.int64)
    starts, ends = tf.cast(starts, tf.int64)[:, tf.newaxis], tf.cast(ends, tf.int64)[:, tf.newaxis]
    place = tf.range(tf.shape(offsets, out_type=tf.int64)[1])[tf.newaxis]
    lefts, rights = tf.unstack(offsets, axis=-1)
    touched = tf.logical_and(rights > starts, lefts < ends)
    far = tf.int64.max

    def least(values):
        return tf.reduce_min(tf.where(touched, values, far), axis=1)

    def greatest(values):
        return tf.reduce_max(tf.where(touched, values, -1), axis=1)

    whole = (least(lefts) <= starts[:, 0]) & (greatest(rights) >= ends[:, 0])
    zero = tf.zeros_like(least(place))
    return tf.where(whole, least(place), zero), tf.where(whole, greatest(place), zero)


@variant("answer_token_spans")
def spans_of_the_first_and_the_last_character(offsets, starts, ends):
    """Looks for the token with the answer's first character and for the one with its last."""

    @tf.function(reduce_retracing=True)
    def find(offsets, starts, ends):
        left, right = offsets[:, :, 0], offsets[:, :, 1]
        begins = (left <= starts[:, None]) & (starts[:, None] < right)
        stops = (left < ends[:, None]) & (ends[:, None] <= right)
        found = tf.reduce_any(begins, axis=-1) & tf.reduce_any(stops, axis=-1)
        found = tf.cast(found, tf.int64)
        return (
            found * tf.argmax(tf.cast(begins, tf.int8), axis=-1),
            found * tf.argmax(tf.cast(stops, tf.int8), axis=-1),
        )

    return find(offsets, starts, ends)


@variant("answer_token_spans")
def spans_row_by_row_in_map_fn(offsets, starts, ends):
    """tf.map_fn over the windows, with tf.cond for windows without the answer; one tensor of two columns."""

    def of_one(window):
        pairs, start, end = window
        numbers = tf.reshape(tf.where((pairs[:, 1] > start) & (pairs[:, 0] < end)), [-1])

        def when_touched():
            first, last = numbers[0], numbers[-1]
            covered = (pairs[first, 0] <= start) & (end <= pairs[last, 1])
            return tf.stack([first, last]) * tf.cast(covered, tf.int64)

        return tf.cond(tf.size(numbers) > 0, when_touched, lambda: tf.zeros(2, tf.int64))

    found = tf.map_fn(of_one, (offsets, starts, ends), fn_output_signature=tf.TensorSpec([2], tf.int64))
    return tuple(tf.unstack(found, axis=1))


@variant("answer_token_spans")
def spans_in_numpy(places, left, right):
    """A loop over windows in NumPy, made into tensors at the end; other names."""
    first, last = [], []
    for pairs, start, end in zip(np.asarray(places), np.asarray(left), np.asarray(right), strict=True):
        inside = np.flatnonzero(pairs[:, 1] > 0)
        a = b = 0
        if end > start and len(inside) and pairs[inside[0], 0] <= start and end <= pairs[inside[-1], 1]:
            a = min(n for n in inside if pairs[n, 1] > start)
            b = max(n for n in inside if pairs[n, 0] < end)
        first.append(a)
        last.append(b)
    return tf.constant(first, tf.int32), tf.constant(last, tf.int32)


@variant("answer_token_spans")
def spans_by_counting(offsets, starts, ends):
    """Counts the tokens before the first and behind the last touched one, by cumulative sums in keras.ops."""
    offsets = ops.convert_to_tensor(offsets)
    starts, ends = ops.expand_dims(starts, 1), ops.expand_dims(ends, 1)
    left, right = offsets[..., 0], offsets[..., 1]
    touched = ops.cast(ops.logical_and(right > starts, left < ends), "int32")
    before = ops.cumsum(touched, axis=1) == 0
    behind = ops.flip(ops.cumsum(ops.flip(touched, axis=1), axis=1), axis=1) == 0
    first = ops.sum(ops.cast(before, "int32"), axis=1)
    last = ops.shape(touched)[1] - 1 - ops.sum(ops.cast(behind, "int32"), axis=1)
    # A touched token that has the first character, and one that has the last.
    has_start = ops.any(ops.logical_and(touched == 1, left <= starts), axis=1)
    has_end = ops.any(ops.logical_and(touched == 1, right >= ends), axis=1)
    whole = ops.logical_and(has_start, has_end)
    print("windows with the answer:", ops.sum(ops.cast(whole, "int32")))
    return ops.where(whole, first, 0), ops.where(whole, last, 0)


# ---------------------------------------------------------------------------------- padded_batches


@variant("padded_batches")
def batches_from_a_generator(features, batch_size):
    """from_generator with a signature, and padded_batch."""

    def rows():
        for one in features:
            yield {
                "input_ids": one["input_ids"],
                "attention_mask": [1] * len(one["input_ids"]),
                "token_type_ids": one["token_type_ids"],
                "allowed": [True, *one["in_context"][1:]],
                "start_positions": one["start_position"],
                "end_positions": one["end_position"],
            }

    row = tf.TensorSpec([None], tf.int32)
    number = tf.TensorSpec([], tf.int32)
    signature = {
        "input_ids": row,
        "attention_mask": row,
        "token_type_ids": row,
        "allowed": tf.TensorSpec([None], tf.bool),
        "start_positions": number,
        "end_positions": number,
    }
    return tf.data.Dataset.from_generator(rows, output_signature=signature).padded_batch(batch_size)


@variant("padded_batches")
def batches_of_ragged_tensors(features, batch_size):
    """Ragged tensors, cut into batches, and made rectangular batch by batch."""
    table = {}
    for name in ("input_ids", "token_type_ids"):
        table[name] = tf.ragged.constant([one[name] for one in features], dtype=tf.int32)
    table["attention_mask"] = tf.ones_like(table["input_ids"])
    table["allowed"] = tf.ragged.constant([[True, *one["in_context"][1:]] for one in features], dtype=tf.bool)
    for side in ("start", "end"):
        table[f"{side}_positions"] = tf.constant([one[f"{side}_position"] for one in features])

    def rectangular(batch):
        return {
            name: part.to_tensor() if isinstance(part, tf.RaggedTensor) else part for name, part in batch.items()
        }

    return tf.data.Dataset.from_tensor_slices(table).batch(batch_size).map(rectangular).prefetch(1)


@variant("padded_batches")
def batches_padded_by_hand(windows, size):
    """Makes each batch in NumPy; the generator yields whole batches; other names."""

    def batches():
        for begin in range(0, len(windows), size):
            part = windows[begin : begin + size]
            width = max(len(one["input_ids"]) for one in part)
            ids, mask, kinds = (np.zeros((len(part), width), dtype=np.int32) for _ in range(3))
            allowed = np.zeros((len(part), width), dtype=bool)
            for row, one in enumerate(part):
                length = len(one["input_ids"])
                ids[row, :length] = one["input_ids"]
                kinds[row, :length] = one["token_type_ids"]
                mask[row, :length] = 1
                allowed[row, :length] = one["in_context"]
            allowed[:, 0] = True
            yield {
                "input_ids": ids,
                "attention_mask": mask,
                "token_type_ids": kinds,
                "allowed": allowed,
                "start_positions": np.array([one["start_position"] for one in part], np.int32),
                "end_positions": np.array([one["end_position"] for one in part], np.int32),
            }

    table = dict.fromkeys(["input_ids", "attention_mask", "token_type_ids"], tf.TensorSpec([None, None], tf.int32))
    table["allowed"] = tf.TensorSpec([None, None], tf.bool)
    table |= dict.fromkeys(["start_positions", "end_positions"], tf.TensorSpec([None], tf.int32))
    return tf.data.Dataset.from_generator(batches, output_signature=table)


@variant("padded_batches")
def batches_in_one_bucket(features, batch_size):
    """bucket_by_sequence_length with a single bucket; mask and [CLS] come in by map."""
    rows = tf.data.Dataset.range(len(features))
    ids = tf.ragged.constant([one["input_ids"] for one in features])
    kinds = tf.ragged.constant([one["token_type_ids"] for one in features])
    inside = tf.ragged.constant([one["in_context"] for one in features])
    targets = tf.constant([[one["start_position"], one["end_position"]] for one in features])

    def look_up(number):
        row = ids[number]
        return {
            "input_ids": row,
            "attention_mask": tf.ones_like(row),
            "token_type_ids": kinds[number],
            "allowed": inside[number] | (tf.range(tf.size(row)) == 0),
            "start_positions": targets[number, 0],
            "end_positions": targets[number, 1],
        }

    return rows.map(look_up).bucket_by_sequence_length(
        lambda row: tf.size(row["input_ids"]), bucket_boundaries=[100_000], bucket_batch_sizes=[batch_size] * 2
    )


@variant("padded_batches")
def batches_zipped_column_by_column(features, batch_size):
    """A dataset for each key, each padded by itself, and zipped; NumPy arrays from a generator."""

    def column(rows, dtype):
        rows = [np.asarray(row, dtype=dtype) for row in rows]
        spec = tf.TensorSpec([None] * rows[0].ndim, dtype)
        made = tf.data.Dataset.from_generator(lambda: iter(rows), output_signature=spec)
        return made.padded_batch(batch_size, drop_remainder=False)

    columns = {
        "input_ids": column([one["input_ids"] for one in features], np.int32),
        "attention_mask": column([np.ones(len(one["input_ids"])) for one in features], np.int32),
        "token_type_ids": column([one["token_type_ids"] for one in features], np.int32),
        "allowed": column([np.r_[True, one["in_context"][1:]] for one in features], bool),
        "start_positions": column([one["start_position"] for one in features], np.int32),
        "end_positions": column([one["end_position"] for one in features], np.int32),
    }
    return tf.data.Dataset.zip(columns)


# ---------------------------------------------------------------------------------- SpanHead


@variant("SpanHead")
class HeadWithDense(keras.layers.Layer):
    """As most notebooks have it: Dense(2), tf.where with -1e9, unstack."""

    def __init__(self, **kwargs) -> None:
        super().__init__(**kwargs)
        self.dense = keras.layers.Dense(2)

    def call(self, hidden, allowed):
        logits = tf.where(allowed[..., tf.newaxis], self.dense(hidden), -1e9)
        start, end = tf.unstack(logits, axis=-1)
        return start, end


@variant("SpanHead")
class HeadWithItsOwnWeights(keras.layers.Layer):
    """Adds kernel and bias in build(), and blocks by minus infinity; returns a list."""

    def __init__(self, **kwargs) -> None:
        super().__init__(**kwargs)
        self.never = float("-inf")

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], 2), initializer="glorot_uniform", name="kernel")
        self.bias = self.add_weight(shape=(2,), initializer="zeros", name="bias")

    def call(self, hidden, allowed):
        logits = tf.einsum("bth,hk->kbt", hidden, self.kernel) + self.bias[:, None, None]
        return [tf.where(allowed, part, self.never) for part in tf.unstack(logits)]


@variant("SpanHead")
class HeadWithEinsumDense(keras.layers.Layer):
    """EinsumDense, split by keras.ops, and a penalty that is added."""

    def __init__(self, **kwargs) -> None:
        super().__init__(**kwargs)
        self.score = keras.layers.EinsumDense("...h,hk->...k", output_shape=2, bias_axes="k")

    def call(self, hidden, allowed):
        penalty = (1.0 - ops.cast(allowed, hidden.dtype)) * -1e9
        start, end = ops.split(self.score(hidden), 2, axis=-1)
        return ops.squeeze(start, axis=-1) + penalty, ops.squeeze(end, axis=-1) + penalty


@variant("SpanHead")
class HeadBuiltForBothShapes(keras.layers.Layer):
    """Dense made in build() with both shapes as arguments; float64 inside."""

    def __init__(self, **kwargs) -> None:
        super().__init__(**kwargs)
        self.dense = None

    def build(self, hidden_shape, allowed_shape):
        self.dense = keras.layers.Dense(units=2, use_bias=True)
        self.dense.build(hidden_shape)
        super().build(hidden_shape)

    def call(self, hidden, allowed):
        wide = ops.matmul(ops.cast(hidden, "float64"), ops.cast(self.dense.kernel, "float64"))
        logits = ops.cast(wide + ops.cast(self.dense.bias, "float64"), "float32")
        seen = ops.cast(allowed, "float32")
        start, end = (logits[..., side] * seen + (seen - 1) * 1e6 for side in (0, 1))
        return start, end


@variant("SpanHead")
class HeadWithATransposedTable(keras.layers.Layer):
    """A chain of layers, one Lambda among them, a table (2, batch, seq_len), and a graph."""

    def __init__(self, **kwargs) -> None:
        super().__init__(**kwargs)
        turn = keras.layers.Lambda(lambda x: tf.transpose(x, [2, 0, 1]))
        self.chain = [keras.layers.Dense(2, activation="linear", kernel_initializer="he_normal"), turn]

    def build(self, hidden_shape):
        self.chain[0].build(hidden_shape)  # before the graph is made, or the first weights would stay in it

    @tf.function
    def call(self, hidden, allowed):
        for layer in self.chain:
            hidden = layer(hidden)
        blocked = tf.fill(tf.shape(hidden), hidden.dtype.min)
        both = tf.broadcast_to(allowed[tf.newaxis], tf.shape(hidden))
        logits = tf.where(both, hidden, blocked)
        return logits[0], logits[1]


# ---------------------------------------------------------------------------------- weights_from_torch


@variant("weights_from_torch")
def weights_transposed(state):
    """A transpose."""
    return [state["linear.weight"].T, state["linear.bias"]]


@variant("weights_from_torch")
def weights_column_by_column(state):
    """The two rows become two columns; everything is copied."""
    for_start, for_end = state["linear.weight"]
    kernel = np.column_stack((for_start, for_end)).astype("float32")
    return [kernel, np.array(state["linear.bias"], copy=True)]


@variant("weights_from_torch")
def weights_number_by_number(state_dict):
    """Copies one number after the other; other names."""
    weight = state_dict["linear.weight"]
    outputs, inputs = weight.shape
    kernel = np.zeros((inputs, outputs), dtype=weight.dtype)
    for o in range(outputs):
        for i in range(inputs):
            kernel[i][o] = weight[o][i]
    return kernel, state_dict["linear.bias"].copy()


@variant("weights_from_torch")
def weights_by_einsum(state):
    """einsum on whatever ends in weight."""
    found = {}
    for name, array in state.items():
        found[name.split(".")[-1]] = np.einsum("oi->io", array) if name.endswith("weight") else np.asarray(array)
    return [found["weight"], found["bias"]]


@variant("weights_from_torch")
def weights_by_tensorflow(state):
    """TensorFlow transposes."""
    return [tf.transpose(tf.constant(state["linear.weight"])).numpy(), tf.constant(state["linear.bias"]).numpy()]


# ---------------------------------------------------------------------------------- span_loss


@variant("span_loss")
def loss_of_keras_functions(s, e, i, j):
    """keras.losses, told that these are logits; other names."""
    each = [
        keras.losses.sparse_categorical_crossentropy(right, logits, from_logits=True)
        for right, logits in ((i, s), (j, e))
    ]
    return tf.add_n([tf.reduce_mean(losses) for losses in each]) / 2


@variant("span_loss")
def loss_of_a_keras_object(start_logits, end_logits, start_positions, end_positions):
    """One loss object for both, and starts and ends below each other."""
    measure = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum_over_batch_size")
    right = tf.concat([start_positions, end_positions], axis=0)
    return measure(right, tf.concat([start_logits, end_logits], axis=0))


@variant("span_loss")
def loss_by_gather(start_logits, end_logits, start_positions, end_positions):
    """Logarithms of the shares, and of each row the right one."""

    @tf.function
    def one_side(logits, right):
        return -tf.reduce_mean(tf.gather(tf.nn.log_softmax(logits, axis=-1), right, axis=1, batch_dims=1))

    return 0.5 * (one_side(start_logits, start_positions) + one_side(end_logits, end_positions))


@variant("span_loss")
def loss_of_one_hot_targets(start_logits, end_logits, start_positions, end_positions):
    """Targets as rows with a single 1, and softmax_cross_entropy_with_logits."""
    width = tf.shape(start_logits)[-1]
    losses = tf.stack([
        tf.nn.softmax_cross_entropy_with_logits(tf.one_hot(start_positions, width), start_logits),
        tf.nn.softmax_cross_entropy_with_logits(tf.one_hot(end_positions, width), end_logits),
    ])
    return tf.reduce_mean(losses)


@variant("span_loss")
def loss_in_double_precision(start_logits, end_logits, start_positions, end_positions):
    """logsumexp less the right logit, written out in float64; a tensor of shape (1,)."""
    total = tf.zeros((), tf.float64)
    for logits, right in [(start_logits, start_positions), (end_logits, end_positions)]:
        wide = tf.cast(logits, tf.float64)
        top = tf.stop_gradient(tf.reduce_max(wide, axis=1, keepdims=True))
        normaliser = tf.math.log(tf.reduce_sum(tf.exp(wide - top), axis=1)) + top[:, 0]
        index = tf.stack([tf.range(tf.size(right)), tf.cast(right, tf.int32)], axis=1)
        total += tf.reduce_mean(normaliser - tf.gather_nd(wide, index))
    return tf.reshape(total / 2, [1])


@variant("span_loss")
def loss_in_keras_ops(start_logits, end_logits, start_positions, end_positions):
    """keras.ops all the way, the product with a mask of the right places."""
    place = ops.arange(ops.shape(start_logits)[1])
    loss = 0.0
    for logits, right in zip((start_logits, end_logits), (start_positions, end_positions), strict=True):
        hit = ops.equal(place[None, :], ops.cast(right, place.dtype)[:, None])
        picked = ops.sum(ops.where(hit, logits, 0.0), axis=-1)
        loss = loss + ops.mean(ops.logsumexp(logits, axis=-1) - picked)
    return ops.divide(loss, 2.0)


# ---------------------------------------------------------------------------------- best_spans


@variant("best_spans")
def best_in_a_band(start_logits, end_logits, in_context, max_answer_length):
    """A table, band_part as a mask, argmax of the flat table."""
    width = start_logits.shape[1]
    sums = start_logits[:, :, None] + end_logits[:, None, :]
    inside = tf.cast(in_context, tf.float32)
    above = min(max_answer_length - 1, width)
    pairs = tf.linalg.band_part(inside[:, :, None] * inside[:, None, :], 0, above)
    flat = tf.reshape(tf.where(pairs > 0, sums, sums.dtype.min), [-1, width * width])
    best = tf.argmax(flat, axis=-1)
    return best // width, best % width, tf.reduce_max(flat, axis=-1)


@variant("best_spans")
def best_by_length(start_logits, end_logits, in_context, max_answer_length):
    """All spans of one length beside each other; the best of each, then the best of those."""
    width = int(start_logits.shape[1])
    never = start_logits.dtype.min
    scores, firsts, lasts = [], [], []
    for extra in range(min(max_answer_length, width)):
        sums = start_logits[:, : width - extra] + end_logits[:, extra:]
        possible = in_context[:, : width - extra] & in_context[:, extra:]
        sums = tf.where(possible, sums, never)
        first = tf.argmax(sums, axis=1, output_type=tf.int32)
        scores.append(tf.reduce_max(sums, axis=1))
        firsts.append(first)
        lasts.append(first + extra)
    winner = tf.argmax(tf.stack(scores, axis=1), axis=1)
    return tuple(tf.gather(tf.stack(part, axis=1), winner, batch_dims=1) for part in (firsts, lasts, scores))


@variant("best_spans")
def best_end_of_each_start(start_logits, end_logits, in_context, max_answer_length):
    """First the best end for each start, then the best start; float64 in a graph."""

    @tf.function
    def find(s, e, inside):
        place = tf.range(tf.shape(s)[1])
        reach = (place[None, :] >= place[:, None]) & (place[None, :] < place[:, None] + max_answer_length)
        blocked = tf.constant(-np.inf, tf.float64)
        s = tf.where(inside, tf.cast(s, tf.float64), blocked)
        e = tf.where(reach[None] & inside[:, None, :], tf.cast(e, tf.float64)[:, None, :], blocked)
        best_end, its_logit = tf.argmax(e, axis=2), tf.reduce_max(e, axis=2)
        total = s + its_logit
        first = tf.argmax(total, axis=1)
        return first, tf.gather(best_end, first, batch_dims=1), tf.cast(tf.reduce_max(total, axis=1), tf.float32)

    return find(start_logits, end_logits, in_context)


@variant("best_spans")
def best_window_by_window(s, e, mask, longest):
    """tf.map_fn over the windows; lists the possible pairs of each, and takes the best of the list; other names."""

    def of_one(window):
        start, end, inside = window
        places = tf.cast(tf.reshape(tf.where(inside), [-1]), tf.int32)
        i, j = (tf.reshape(part, [-1]) for part in tf.meshgrid(places, places, indexing="ij"))
        fits = (j >= i) & (j - i < longest)
        i, j = tf.boolean_mask(i, fits), tf.boolean_mask(j, fits)
        sums = tf.gather(start, i) + tf.gather(end, j)
        best = tf.argmax(sums)
        return i[best], j[best], sums[best]

    return tf.map_fn(
        of_one, (s, e, mask), fn_output_signature=(tf.int32, tf.int32, tf.float32)
    )


@variant("best_spans")
def best_in_python(start_logits, end_logits, in_context, max_answer_length):
    """Loops over Python's numbers, made into tensors at the end."""
    found = []
    for starts, ends, inside in zip(*(np.asarray(x) for x in (start_logits, end_logits, in_context)), strict=True):
        best = (-np.inf, 0, 0)
        for i in np.flatnonzero(inside):
            for j in range(i, min(i + max_answer_length, len(ends))):
                if inside[j]:
                    best = max(best, (float(starts[i]) + float(ends[j]), int(i), j))
        found.append(best)
    scores, first, last = zip(*found, strict=True)
    return tf.constant(first), tf.constant(last), tf.constant(scores, tf.float32)


@variant("best_spans")
def best_of_top_k(start_logits, end_logits, in_context, max_answer_length):
    """Blocked logits are far down, the upper and the lower corner of the table as well; top_k and unravel_index."""
    batch, width = start_logits.shape
    down = ops.where(in_context, 0.0, -1e20)
    table = ops.expand_dims(start_logits + down, 2) + ops.expand_dims(end_logits + down, 1)
    ones = np.ones((width, width), dtype="float32")
    table = table - 1e20 * (1 - np.triu(ones) * np.tril(ones, k=max_answer_length - 1))
    _, number = tf.math.top_k(tf.reshape(table, (batch, width * width)), k=1)
    first, last = tf.unravel_index(number[:, 0], (width, width))
    rows = np.arange(batch)
    score = np.asarray(start_logits)[rows, first] + np.asarray(end_logits)[rows, last]
    print(first, last, score)
    return first, last, tf.constant(score)


# ---------------------------------------------------------------------------------- train_step


@variant("train_step")
def step_as_most_write_it(model, optimizer, batch, max_norm=1.0):
    """clip_by_global_norm and apply_gradients."""
    with tf.GradientTape() as tape:
        start_logits, end_logits = model(batch, training=True)
        loss = span_loss(start_logits, end_logits, batch["start_positions"], batch["end_positions"])
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients, _ = tf.clip_by_global_norm(gradients, max_norm)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


@variant("train_step")
def step_with_its_own_loss(model, optimizer, batch, max_norm=1.0):
    """The loss written here; watches the weights itself; optimizer.apply."""
    weights = model.trainable_variables
    inputs = {name: part for name, part in batch.items() if not name.endswith("_positions")}
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        for weight in weights:
            tape.watch(weight.value)
        logits = tf.stack(model(inputs, training=True))
        right = tf.stack([batch["start_positions"], batch["end_positions"]])
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=right, logits=logits))
    slopes = tape.gradient(loss, [weight.value for weight in weights])
    norm = tf.linalg.global_norm(slopes)
    slopes, _ = tf.clip_by_global_norm(slopes, clip_norm=max_norm, use_norm=norm)
    optimizer.apply(slopes, weights)
    return loss


@variant("train_step")
def step_with_an_if(model, optimizer, batch, max_norm=1.0):
    """An `if` on a tensor, which AutoGraph turns into a branch of the graph."""
    with tf.GradientTape() as tape:
        start, end = model(batch, training=True)
        loss = span_loss(start, end, batch["start_positions"], batch["end_positions"])
    gradients = tape.gradient(loss, model.trainable_variables)
    norm = tf.linalg.global_norm(gradients)
    if norm > max_norm:
        gradients = [part * max_norm / norm for part in gradients]
    optimizer.apply(gradients, model.trainable_variables)
    return loss


@variant("train_step")
def step_with_a_shortened_loss(model, optimizer, batch, max_norm=1.0):
    """Asks the tape twice: for the norm, then for the gradients of a loss that is scaled down."""
    with tf.GradientTape(persistent=True) as tape:
        found = model(batch, training=True)
        loss = span_loss(found[0], found[1], batch["start_positions"], batch["end_positions"])
    variables = model.trainable_variables
    length = tf.linalg.global_norm(tape.gradient(loss, variables))
    scale = tf.where(length > max_norm, max_norm / length, 1.0)
    gradients = tape.gradient(loss, variables, output_gradients=scale)
    del tape
    optimizer.apply_gradients(list(zip(gradients, variables, strict=True)))
    return loss


@variant("train_step")
def step_with_a_clipping_optimizer(model, optimizer, batch, max_norm=1.0):
    """Tells the optimizer to clip, as Keras' optimizers can."""
    optimizer.global_clipnorm = max_norm
    with tf.GradientTape() as tape:
        start, end = model(batch, training=True)
        loss = span_loss(start, end, batch["start_positions"], batch["end_positions"])
    variables = model.trainable_weights
    optimizer.apply(tape.gradient(loss, variables), variables)
    return loss


@variant("train_step")
def step_in_small_functions(model, optimizer, batch, max_norm=1.0):
    """A function for the loss, one for the gradients, a graph within the graph; prints while it is traced."""

    def loss_of():
        start, end = model(batch, training=True)
        losses = [
            ops.mean(keras.losses.sparse_categorical_crossentropy(batch[name], logits, from_logits=True))
            for name, logits in (("start_positions", start), ("end_positions", end))
        ]
        return ops.mean(ops.stack(losses))

    @tf.function
    def gradients_and_loss():
        with tf.GradientTape() as tape:
            loss = loss_of()
        return tape.gradient(loss, model.trainable_variables), loss

    gradients, loss = gradients_and_loss()
    print("traced with", len(gradients), "gradients")
    clipped, norm = tf.clip_by_global_norm(gradients, tf.cast(max_norm, tf.float32))
    optimizer.apply(clipped, model.trainable_variables)
    return loss + 0 * norm


# ---------------------------------------------------------------------------------- answer


@variant("answer")
def answer_in_one_batch(
    question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0
):
    """All windows at once, best_spans, argmax and reduce_min."""
    windows = windows_of(question, context, tokenize, max_length, overlap)
    batch = stacked(windows)
    names = ("input_ids", "attention_mask", "token_type_ids", "allowed")
    starts, ends = model({name: tf.constant(batch[name]) for name in names}, training=False)
    in_context = np.array(batch["allowed"])
    in_context[:, 0] = False
    first, last, score = best_spans(starts, ends, tf.constant(in_context), max_answer_length)
    number = int(tf.argmax(score))
    margin = float(score[number] - tf.reduce_min(starts[:, 0] + ends[:, 0]))
    if margin <= threshold:
        return 0, 0, margin
    offsets = windows[number]["offsets"]
    return offsets[int(first[number])][0], offsets[int(last[number])][1], margin


@variant("answer")
def answer_window_by_window(
    question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0
):
    """Asks about one window after the other, with arrays made here."""
    best, place, least = -np.inf, (0, 0), np.inf
    for window in windows_of(question, context, tokenize, max_length, overlap):
        offsets = window["offsets"]
        inside = tf.constant([[pair is not None for pair in offsets]])
        inputs = {
            name: tf.constant([window[name]], tf.int32) for name in ("input_ids", "attention_mask", "token_type_ids")
        }
        inputs["allowed"] = tf.concat([tf.ones((1, 1), tf.bool), inside[:, 1:]], axis=1)
        start, end = model(inputs, training=False)
        first, last, score = (part[0].numpy() for part in best_spans(start, end, inside, max_answer_length))
        if score > best:
            best, place = score, (offsets[first][0], offsets[last][1])
        least = min(least, float(start[0, 0] + end[0, 0]))
    margin = best - least
    return (*place, margin) if margin > threshold else (0, 0, margin)


@variant("answer")
def answer_by_its_own_table(
    q, text, reader, cut, max_length=160, overlap=48, max_answer_length=16, threshold=0.0
):
    """A table (windows, starts, ends) in NumPy instead of best_spans; other names."""
    windows = windows_of(q, text, cut, max_length, overlap)
    given = {name: tf.convert_to_tensor(part) for name, part in stacked(windows).items()}
    start, end = (np.asarray(part, dtype=np.float64) for part in reader(given, training=False))
    inside = given["allowed"].numpy() & (np.arange(start.shape[1]) > 0)
    ahead = np.arange(start.shape[1]) - np.arange(start.shape[1])[:, None]
    possible = inside[:, :, None] & inside[:, None, :] & (ahead >= 0) & (ahead < max_answer_length)
    table = np.where(possible, start[:, :, None] + end[:, None, :], -np.inf)
    window, first, last = np.unravel_index(np.argmax(table), table.shape)
    margin = table.max() - (start + end)[:, 0].min()
    if not margin > threshold:
        return (0, 0, margin)
    offsets = windows[window]["offsets"]
    return (offsets[first][0], offsets[last][1], margin)


@variant("answer")
def answer_from_sorted_candidates(
    question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0
):
    """Candidates with their characters, sorted; in_context from the segments and the mask."""
    windows = windows_of(question, context, tokenize, max_length, overlap)
    arrays = stacked(windows)
    inputs = {
        "input_ids": tf.cast(arrays["input_ids"], tf.int32),
        "attention_mask": tf.cast(arrays["attention_mask"], tf.int32),
        "token_type_ids": tf.cast(arrays["token_type_ids"], tf.int32),
        "allowed": tf.cast(arrays["allowed"], tf.bool),
    }
    starts, ends = model(inputs, training=False)
    inside = tf.logical_and(inputs["allowed"], inputs["token_type_ids"] == 1)
    candidates = []
    for window, i, j, score in zip(
        windows, *(part.numpy().tolist() for part in best_spans(starts, ends, inside, max_answer_length)), strict=True
    ):
        candidates.append((score, window["offsets"][i][0], window["offsets"][j][1]))
    nothing = sorted(float(s) + float(e) for s, e in zip(starts[:, 0], ends[:, 0], strict=True))
    score, start, end = sorted(candidates, reverse=True)[0]
    margin = score - nothing[0]
    print(question, context[start:end], margin)
    found = margin > threshold
    return start * found, end * found, margin


@variant("answer")
def answer_with_ops(
    question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0
):
    """keras.ops; the places of all windows in a table; leaves it to the model's default that this is no training."""
    windows = windows_of(question, context, tokenize, max_length=max_length, overlap=overlap)
    places = np.array([[pair or (-1, -1) for pair in window["offsets"]] for window in windows])
    batch = {name: ops.convert_to_tensor(part) for name, part in stacked(windows).items()}
    starts, ends = model(batch)
    places = places[:, : starts.shape[1]]
    inside = ops.convert_to_tensor(places[..., 1] > 0)
    first, last, score = (
        ops.convert_to_numpy(part) for part in best_spans(starts, ends, inside, max_answer_length)
    )
    nothing = ops.min(ops.add(starts[:, 0], ends[:, 0]))
    winner = np.argmax(score)
    margin = ops.convert_to_numpy(score[winner] - nothing).item()
    if margin > threshold:
        return places[winner, first[winner], 0], places[winner, last[winner], 1], margin
    return 0, 0, margin
