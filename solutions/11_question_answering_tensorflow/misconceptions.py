"""Wrong ways to write lab 11's exercises. Each must lose points and be recognised as itself.

Each repeats the whole function or class, so that it can be handed in as it is.
"""

import numpy as np

from course_utils.data.questions import QuestionExample
from course_utils.models.reader import features_of, stacked
from course_utils.quiet import without_startup_messages
from grader.author.catalogue import misconception

with without_startup_messages():
    import keras
    import tensorflow as tf
    from keras import ops

# What the notebook has beside the exercise in question; in a submission it is the learner's own.


def windows_of(question, context, tokenize, max_length, overlap):
    return features_of(QuestionExample(context, question, (), "q", "q"), tokenize, max_length, overlap)


def answer_token_spans(offsets, starts, ends):
    rows = []
    for pairs, start, end in zip(np.asarray(offsets), np.asarray(starts), np.asarray(ends), strict=True):
        hit = [i for i, (a, b) in enumerate(pairs) if a >= 0 and b > start and a < end]
        whole = hit and pairs[hit[0]][0] <= start and pairs[hit[-1]][1] >= end
        rows.append((hit[0], hit[-1]) if whole else (0, 0))
    return tf.constant([r[0] for r in rows]), tf.constant([r[1] for r in rows])


ROWS = ("input_ids", "attention_mask", "token_type_ids", "allowed")


def padded_batches(features, batch_size):
    made = []
    for f in features:
        made.append({
            "input_ids": f["input_ids"], "attention_mask": [1 for _ in f["input_ids"]],
            "token_type_ids": f["token_type_ids"], "allowed": [True, *list(f["in_context"])[1:]],
            "start_positions": f["start_position"], "end_positions": f["end_position"],
        })
    kinds = {k: tf.TensorSpec([None] if k in ROWS else [], tf.bool if k == "allowed" else tf.int32) for k in made[0]}
    return tf.data.Dataset.from_generator(lambda: iter(made), output_signature=kinds).padded_batch(batch_size)


def span_loss(start_logits, end_logits, start_positions, end_positions):
    ce = tf.nn.sparse_softmax_cross_entropy_with_logits
    both = ce(start_positions, start_logits) + ce(end_positions, end_logits)
    return 0.5 * tf.reduce_mean(both)


def best_spans(start_logits, end_logits, in_context, max_answer_length):
    length = start_logits.shape[1]
    places = tf.range(length)
    gap = places[None, :] - places[:, None]
    fine = (gap >= 0) & (gap < max_answer_length) & in_context[:, :, None] & in_context[:, None]
    sums = tf.where(fine, start_logits[:, :, None] + end_logits[:, None], -1e30)
    flat = tf.reshape(sums, (len(sums), -1))
    best = tf.argmax(flat, -1)
    return best // length, best % length, tf.reduce_max(flat, -1)


# ---------------------------------------------------------------------------------- answer_token_spans


@misconception(
    "answer_token_spans",
    "The last token belongs to the answer: both numbers are included. For an answer of one token they are equal.",
)
def last_tokens_exclusive(offsets, starts, ends):
    """The last token is counted exclusively, one too many."""
    first, last = answer_token_spans(offsets, starts, ends)
    return first, tf.where(last > 0, last + 1, last)


@misconception(
    "answer_token_spans",
    "`argmax` of a row without any True is 0, and that looks like a result. But where a window holds only a part of the answer, there is a "
    "True, and half an answer comes out. Ask whether the tokens cover all of it.",
)
def parts_of_answers_kept(offsets, starts, ends):
    """Of an answer that the window cuts off, the part that is left is the target."""
    pairs = np.asarray(offsets)
    hit = (pairs[..., 0] >= 0) & (pairs[..., 1] > np.asarray(starts)[:, None]) & (pairs[..., 0] < np.asarray(ends)[:, None])
    any_ = hit.any(1)
    return (
        tf.constant(np.where(any_, hit.argmax(1), 0)),
        tf.constant(np.where(any_, hit.shape[1] - 1 - hit[:, ::-1].argmax(1), 0)),
    )


@misconception(
    "answer_token_spans",
    "You compare with <= or < on the wrong side: an answer may end exactly where the window's last token ends, and begin where its first "
    "begins. Ends are exclusive.",
)
def answers_at_the_borders_lost(offsets, starts, ends):
    """An answer that begins or ends where the window's text does is taken as cut off."""
    first, last = (part.numpy() for part in answer_token_spans(offsets, starts, ends))
    pairs = np.asarray(offsets)
    for n, row in enumerate(pairs):
        known = row[row[:, 0] >= 0]
        if last[n] and (known[0, 0] >= np.asarray(starts)[n] or known[-1, 1] <= np.asarray(ends)[n]):
            first[n] = last[n] = 0
    return tf.constant(first), tf.constant(last)


@misconception(
    "answer_token_spans",
    "You look for tokens that begin and end exactly where the answer does. An answer may begin or end within a token.",
)
def equal_borders_only(offsets, starts, ends):
    """An answer is found only if it begins and ends where tokens do."""
    begins = tf.cast(offsets[..., 0] == starts[:, None], tf.int32) * tf.cast(ends > 0, tf.int32)[:, None]
    stops = tf.cast(offsets[..., 1] == ends[:, None], tf.int32)
    both = tf.reduce_max(begins, 1) * tf.reduce_max(stops, 1)
    return both * tf.argmax(begins, 1, tf.int32), both * tf.argmax(stops, 1, tf.int32)


@misconception(
    "answer_token_spans",
    "`argmax` finds the *first* greatest entry. For the last True, read the row backwards, or number the tokens before you take the maximum.",
)
def first_taken_for_last(offsets, starts, ends):
    """The first token of the answer is given as its last one, too."""
    first, last = answer_token_spans(offsets, starts, ends)
    return first, tf.where(last > 0, first, 0)


@misconception(
    "answer_token_spans",
    "(-1, -1) marks tokens that are not of the context. Where there is no answer, start and end are 0 and 0; a window's target is then 0, where "
    "[CLS] stands, and not -1.",
)
def minus_one_where_nothing_is(offsets, starts, ends):
    """-1 stands for no answer."""
    first, last = answer_token_spans(offsets, starts, ends)
    return tf.where(last > 0, first, -1), tf.where(last > 0, last, -1)


@misconception(
    "answer_token_spans",
    "Places count from the beginning of the window, [CLS] being 0. Yours count from the first token of the context.",
)
def counted_in_the_context(offsets, starts, ends):
    """Tokens are counted from the first token of the context."""
    first, last = answer_token_spans(offsets, starts, ends)
    front = tf.argmax(tf.cast(offsets[..., 0] >= 0, tf.int32), 1, tf.int32)
    return tf.where(last > 0, first - front, 0), tf.where(last > 0, last - front, 0)


# ---------------------------------------------------------------------------------- padded_batches


def _changed(features, batch_size, **new):
    return padded_batches(features, batch_size).map(lambda b: {**b, **{k: f(b) for k, f in new.items()}})


@misconception(
    "padded_batches",
    "All batches have the width of the longest window of all. `padded_batch` fills each batch up to its own longest row, unless you give it a shape.",
)
def padded_to_the_longest_of_all(features, batch_size):
    """Every batch is padded to the longest window of all of them."""
    width = max(len(f["input_ids"]) for f in features)
    return padded_batches(features, batch_size).map(
        lambda b: {
            k: tf.pad(v, [[0, 0], [0, width - tf.shape(v)[1]]]) if k in ROWS else v for k, v in b.items()
        }
    )


@misconception(
    "padded_batches",
    "Your attention mask is 1 everywhere, at the padding, too. Make it before the windows are padded: then the padding gets its 0 by itself.",
)
def padding_is_attended(features, batch_size):
    """The attention mask is 1 at the padding."""
    return _changed(features, batch_size, attention_mask=lambda b: tf.ones_like(b["attention_mask"]))


@misconception(
    "padded_batches",
    "[CLS] stands for no answer, and has to be allowed: otherwise the model can never say that there is none, and the loss of such windows is enormous.",
)
def cls_not_allowed(features, batch_size):
    """allowed is False at [CLS]."""
    def without(b):
        return b["allowed"] & (tf.range(tf.shape(b["allowed"])[1]) > 0)[None]

    return _changed(features, batch_size, allowed=without)


@misconception(
    "padded_batches",
    "An answer consists of words of the context only. In yours the question, or [SEP], is allowed, too.",
)
def every_token_allowed(features, batch_size):
    """allowed is True at every token that is no padding."""
    return _changed(features, batch_size, allowed=lambda b: b["attention_mask"] > 0)


@misconception(
    "padded_batches",
    "The windows at the end are lost: `drop_remainder` leaves out the last batch if it is not full.",
)
def rest_dropped(features, batch_size):
    """The last batch is dropped if it is not full."""
    full = len(features) - len(features) % batch_size
    return padded_batches(features[:full], batch_size)


@misconception(
    "padded_batches",
    "The order is not the one that was given. Shuffling is done elsewhere, on the windows, where batches of equal lengths are made.",
)
def order_changed(features, batch_size):
    """The windows come in another order, here by their length."""
    return padded_batches(sorted(features, key=lambda f: len(f["input_ids"])), batch_size)


@misconception(
    "padded_batches",
    "Segment 1 is the context's. Your token_type_ids are 0 everywhere, or not taken from the features.",
)
def segments_lost(features, batch_size):
    """token_type_ids are 0 everywhere."""
    return _changed(features, batch_size, token_type_ids=lambda b: tf.zeros_like(b["token_type_ids"]))


# ---------------------------------------------------------------------------------- SpanHead


@misconception(
    "SpanHead",
    "Column 0 of the kernel is for the start, column 1 for the end. Yours are the other way round.",
)
class ColumnsSwapped(keras.layers.Layer):
    """Start and end logits have changed places."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = keras.layers.Dense(2)

    def call(self, hidden, allowed):
        end, start = tf.unstack(self.dense(hidden), axis=-1)
        return tf.where(allowed, start, -1e9), tf.where(allowed, end, -1e9)


@misconception(
    "SpanHead",
    "The logits are as the layer gives them, at the question and at the padding, too. What is the argument `allowed` for?",
)
class NothingIsBlocked(keras.layers.Layer):
    """The places that are not allowed keep their logits."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = keras.layers.Dense(2)

    def call(self, hidden, allowed):
        return tuple(tf.unstack(self.dense(hidden), axis=-1))


@misconception(
    "SpanHead",
    "True means allowed in this course. You block what is allowed, and leave the rest.",
)
class AllowedIsBlocked(keras.layers.Layer):
    """The allowed places are blocked, and the others not."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = keras.layers.Dense(2)

    def call(self, hidden, allowed):
        start, end = tf.unstack(self.dense(hidden), axis=-1)
        return tf.where(allowed, -1e9, start), tf.where(allowed, -1e9, end)


@misconception(
    "SpanHead",
    "A logit of 0 is nothing special: it is more than -5. A forbidden place needs a logit so low that no other is lower, minus a billion for example.",
)
class ZeroIsNotForbidden(keras.layers.Layer):
    """Forbidden places get 0 instead of a very low logit."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = keras.layers.Dense(2)

    def call(self, hidden, allowed):
        start, end = tf.unstack(self.dense(hidden), axis=-1)
        return start * tf.cast(allowed, start.dtype), end * tf.cast(allowed, end.dtype)


@misconception(
    "SpanHead",
    "These are shares, not logits: a softmax has been taken. The loss takes one itself.",
)
class SoftmaxInTheHead(keras.layers.Layer):
    """A softmax is applied, so that shares come back instead of logits."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = keras.layers.Dense(2)

    def call(self, hidden, allowed):
        start, end = tf.unstack(self.dense(hidden), axis=-1)
        return tf.nn.softmax(tf.where(allowed, start, -1e9)), tf.nn.softmax(tf.where(allowed, end, -1e9))


@misconception(
    "SpanHead",
    "A new Dense layer is made at every call: its weights are random each time, and nobody trains or saves them. Layers are made in the constructor.",
)
class MadeInTheCall(keras.layers.Layer):
    """The Dense layer is made in call, anew each time."""

    def call(self, hidden, allowed):
        start, end = tf.unstack(keras.layers.Dense(2)(hidden), axis=-1)
        return tf.where(allowed, start, -1e9), tf.where(allowed, end, -1e9)


@misconception(
    "SpanHead",
    "The numbers are there, but in wrong places: reshaping mixes tokens and logits. The two logits of a token lie side by side in the *last* axis.",
)
class Reshaped(keras.layers.Layer):
    """(batch, seq_len, 2) is reshaped to (2, batch, seq_len)."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = keras.layers.Dense(2)

    def call(self, hidden, allowed):
        start, end = tf.unstack(tf.reshape(self.dense(hidden), (2, *allowed.shape)))
        return tf.where(allowed, start, -1e9), tf.where(allowed, end, -1e9)


# ---------------------------------------------------------------------------------- weights_from_torch


@misconception(
    "weights_from_torch",
    "The shape fits, the numbers do not: reshaping reads row by row. What PyTorch has in a row, Keras has in a column.",
)
def reshaped_instead_of_transposed(state):
    """The weight is reshaped instead of transposed."""
    weight = state["linear.weight"]
    return [weight.reshape(weight.shape[::-1]), state["linear.bias"]]


@misconception(
    "weights_from_torch",
    "The kernel has the shape that PyTorch has. Keras multiplies from the other side: (in, out).",
)
def not_transposed(state):
    """The weight is handed over as it is."""
    return [state["linear.weight"], state["linear.bias"]]


@misconception(
    "weights_from_torch",
    "Start and end have changed places on the way. Row 0 becomes column 0.",
)
def rows_in_reverse(state):
    """The rows are taken in reverse order."""
    return [state["linear.weight"][::-1].T, state["linear.bias"][::-1]]


@misconception(
    "weights_from_torch",
    "The bias is lost: a trained bias is not 0. It is the second of the two weights.",
)
def bias_of_zeros(state):
    """The bias is set to zeros."""
    return [state["linear.weight"].T, np.zeros(2, np.float32)]


# ---------------------------------------------------------------------------------- span_loss


@misconception(
    "span_loss",
    "Keras takes your logits for probabilities, because nobody told it otherwise. Look up `from_logits`.",
)
def taken_for_probabilities(start_logits, end_logits, start_positions, end_positions):
    """from_logits is left at False."""
    ce = keras.losses.sparse_categorical_crossentropy
    return 0.5 * tf.reduce_mean(ce(start_positions, start_logits) + ce(end_positions, end_logits))


@misconception(
    "span_loss",
    "A softmax, and then a cross-entropy that takes another one: the loss can never come near 0.",
)
def two_softmaxes(start_logits, end_logits, start_positions, end_positions):
    """A softmax is taken before a cross-entropy of logits."""
    return span_loss(tf.nn.softmax(start_logits), tf.nn.softmax(end_logits), start_positions, end_positions)


@misconception(
    "span_loss",
    "Your loss is exactly twice as large: start and end are added, not averaged.",
)
def both_added(start_logits, end_logits, start_positions, end_positions):
    """The two cross-entropies are added instead of averaged."""
    return 2 * span_loss(start_logits, end_logits, start_positions, end_positions)


@misconception(
    "span_loss",
    "The end has no gradient: it is never trained. Both ends of an answer are classifications.",
)
def end_forgotten(start_logits, end_logits, start_positions, end_positions):
    """Only the start counts."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(start_positions, start_logits))


@misconception(
    "span_loss",
    "Start logits meet end positions. Look at what belongs to what.",
)
def crossed(start_logits, end_logits, start_positions, end_positions):
    """Start logits are compared with end positions, and the reverse."""
    return span_loss(start_logits, end_logits, end_positions, start_positions)


@misconception(
    "span_loss",
    "Your loss grows with the batch: it sums over the windows instead of averaging.",
)
def batch_summed(start_logits, end_logits, start_positions, end_positions):
    """The loss is summed over the batch."""
    return len(start_logits) * span_loss(start_logits, end_logits, start_positions, end_positions)


@misconception(
    "span_loss",
    "Position 0 is [CLS], and stands for no answer. That is a class to be learned, not padding to be left out.",
)
def zero_left_out(start_logits, end_logits, start_positions, end_positions):
    """Windows whose target is 0 are left out."""
    keep = start_positions > 0
    parts = [tf.boolean_mask(part, keep) for part in (start_logits, end_logits, start_positions, end_positions)]
    return span_loss(*parts)


# ---------------------------------------------------------------------------------- best_spans


@misconception(
    "best_spans",
    "Start and end are chosen each for itself: nothing keeps the end from coming before the start. It is the best *pair* that is wanted.",
)
def chosen_apart(start_logits, end_logits, in_context, max_answer_length):
    """The best start and the best end are taken independently."""
    starts, ends = tf.where(in_context, start_logits, -1e9), tf.where(in_context, end_logits, -1e9)
    return tf.argmax(starts, 1), tf.argmax(ends, 1), tf.reduce_max(starts, 1) + tf.reduce_max(ends, 1)


@misconception(
    "best_spans",
    "The best of *all* windows together comes out, or everything is counted from the first window. Flatten each window's table by itself.",
)
def flattened_over_the_batch(start_logits, end_logits, in_context, max_answer_length):
    """The table is flattened over the batch, so that all windows get the same span."""
    first, last, score = best_spans(start_logits, end_logits, in_context, max_answer_length)
    n = int(tf.argmax(score))
    rows = len(score)
    return tf.repeat(first[n], rows), tf.repeat(last[n], rows), tf.repeat(score[n], rows)


@misconception(
    "best_spans",
    "Rows are starts and columns are ends, but you take the quotient for the end. Number k of a flattened table stands in row k // length.",
)
def row_and_column_swapped(start_logits, end_logits, in_context, max_answer_length):
    """First and last have changed places."""
    first, last, score = best_spans(start_logits, end_logits, in_context, max_answer_length)
    return last, first, score


@misconception(
    "best_spans",
    "Outside of the band there are zeros, and a zero is more than a sum of logits far below 0. Impossible pairs need a score below all.",
)
def zeros_outside_the_band(start_logits, end_logits, in_context, max_answer_length):
    """Impossible pairs have score 0."""
    length = start_logits.shape[1]
    both = in_context[:, :, None] & in_context[:, None]
    sums = (start_logits[:, :, None] + end_logits[:, None]) * tf.cast(both, tf.float32)
    flat = tf.reshape(tf.linalg.band_part(sums, 0, max_answer_length - 1), (len(sums), -1))
    best = tf.argmax(flat, 1)
    return best // length, best % length, tf.reduce_max(flat, 1)


@misconception(
    "best_spans",
    "From i to j are j - i + 1 tokens, both ends included. With `max_answer_length` diagonals above the main one your answers may be one token too long.",
)
def band_too_wide(start_logits, end_logits, in_context, max_answer_length):
    """Answers may be one token too long."""
    return best_spans(start_logits, end_logits, in_context, max_answer_length + 1)


@misconception(
    "best_spans",
    "The main diagonal is missing: an answer of a single token begins and ends with it.",
)
def diagonal_missing(start_logits, end_logits, in_context, max_answer_length):
    """The last token must come after the first."""
    length = start_logits.shape[1]
    gap = tf.range(length)[None] - tf.range(length)[:, None]
    fine = (gap > 0) & (gap < max_answer_length) & in_context[:, :, None] & in_context[:, None]
    flat = tf.reshape(tf.where(fine, start_logits[:, :, None] + end_logits[:, None], -1e30), (len(start_logits), -1))
    best = tf.argmax(flat, 1)
    return best // length, best % length, tf.reduce_max(flat, 1)


@misconception(
    "best_spans",
    "Your answers are pieces of the question if their logits are high. The argument `in_context` says where an answer may be.",
)
def anywhere(start_logits, end_logits, in_context, max_answer_length):
    """Tokens outside of the context may be answers."""
    return best_spans(start_logits, end_logits, tf.ones_like(in_context), max_answer_length)


# ---------------------------------------------------------------------------------- train_step


@misconception(
    "train_step",
    "Without training=True the model runs as in an evaluation: dropout stays off while it learns.",
)
def not_in_training(model, optimizer, batch, max_norm=1.0):
    """The model is not told that it is in training."""
    with tf.GradientTape() as tape:
        loss = span_loss(*model(batch), batch["start_positions"], batch["end_positions"])
    gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, model.trainable_variables), max_norm)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


@misconception(
    "train_step",
    "The loss is right, and no weight moves: the gradients are computed and never applied.",
)
def never_applied(model, optimizer, batch, max_norm=1.0):
    """The gradients are not applied."""
    with tf.GradientTape() as tape:
        loss = span_loss(*model(batch, training=True), batch["start_positions"], batch["end_positions"])
    tape.gradient(loss, model.trainable_variables)
    return loss


@misconception(
    "train_step",
    "The gradients are used at their full length. Clip them between the tape and the optimizer.",
)
def full_length(model, optimizer, batch, max_norm=1.0):
    """The gradients are not clipped."""
    with tf.GradientTape() as tape:
        loss = span_loss(*model(batch, training=True), batch["start_positions"], batch["end_positions"])
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    return loss


@misconception(
    "train_step",
    "You clip each weight's gradient by itself. The norm of all *together* is meant: one factor for all, so that the direction stays.",
)
def clipped_one_by_one(model, optimizer, batch, max_norm=1.0):
    """The gradient of each weight is clipped by its own norm."""
    with tf.GradientTape() as tape:
        loss = span_loss(*model(batch, training=True), batch["start_positions"], batch["end_positions"])
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply([tf.clip_by_norm(part, max_norm) for part in gradients], model.trainable_variables)
    return loss


@misconception(
    "train_step",
    "The forward pass is not under the tape: it was not written down, and all gradients are None. Both, the model and the loss, belong under it.",
)
def outside_the_tape(model, optimizer, batch, max_norm=1.0):
    """The forward pass happens before the tape begins to record."""
    start, end = model(batch, training=True)
    with tf.GradientTape() as tape:
        loss = span_loss(start, end, batch["start_positions"], batch["end_positions"])
    gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, model.trainable_variables), max_norm)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


@misconception(
    "train_step",
    "Inside a graph the loss has no value yet: it cannot become a Python number there. Return the tensor.",
)
def number_inside_the_graph(model, optimizer, batch, max_norm=1.0):
    """The loss is made a Python number inside the graph."""
    with tf.GradientTape() as tape:
        loss = span_loss(*model(batch, training=True), batch["start_positions"], batch["end_positions"])
    gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, model.trainable_variables), max_norm)
    optimizer.apply(gradients, model.trainable_variables)
    return loss.numpy()


# ---------------------------------------------------------------------------------- answer


def _asked(question, context, model, tokenize, max_length, overlap, max_answer_length, training=False):
    windows = windows_of(question, context, tokenize, max_length, overlap)
    batch = {k: tf.constant(v) for k, v in stacked(windows).items() if k in ROWS}
    start, end = model(batch, training=training)
    inside = batch["allowed"] & (tf.range(start.shape[1]) > 0)[None]
    return windows, [part.numpy() for part in best_spans(start, end, inside, max_answer_length)], (start + end)[:, 0].numpy()


def _told(windows, spans, nothing, threshold, half=1, more=0):
    n = int(spans[2].argmax())
    margin = float(spans[2][n] - nothing.min())
    if margin <= threshold:
        return 0, 0, margin
    pairs = windows[n]["offsets"]
    return pairs[spans[0][n]][0], pairs[spans[1][n]][half] + more, margin


@misconception(
    "answer",
    "You found the right tokens, and then looked for their text with `find`: it gives the first place where these words stand. The offsets say which "
    "place it is.",
)
def text_found_again(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """The answer's place is looked up with find(), which gives the first mention."""
    start, end, margin = _told(*_asked(question, context, model, tokenize, max_length, overlap, max_answer_length), threshold)
    place = context.find(context[start:end])
    return (place, place + end - start, margin) if end else (0, 0, margin)


@misconception(
    "answer",
    "The places count in a text whose white space was stripped. The answer is cut out of the one that was given.",
)
def stripped_first(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """The context is stripped first, so that all places are off."""
    return _told(*_asked(question, context.strip(), model, tokenize, max_length, overlap, max_answer_length), threshold)


@misconception(
    "answer",
    "Your answers lack their last token: they end where it begins. A pair of offsets has two halves.",
)
def ends_where_the_last_token_begins(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """The answer ends where its last token begins."""
    found = _asked(question, context, model, tokenize, max_length, overlap, max_answer_length)
    return _told(*found, threshold, half=0)


@misconception(
    "answer",
    "Your answers are a letter too long: the ends of offsets are exclusive already, as those of a slice.",
)
def end_plus_one(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """1 is added to the answer's end, which is exclusive already."""
    found = _asked(question, context, model, tokenize, max_length, overlap, max_answer_length)
    return _told(*found, threshold, more=1)


@misconception(
    "answer",
    "Only the first window counts in yours: `score[0]`. Which window has the best span?",
)
def window_zero(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """Only the first window counts."""
    windows, spans, nothing = _asked(question, context, model, tokenize, max_length, overlap, max_answer_length)
    return _told(windows[:1], [part[:1] for part in spans], nothing[:1], threshold)


@misconception(
    "answer",
    "It always finds something. Compare the margin with the threshold: a question may have no answer in this text.",
)
def never_nothing(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """The threshold is not used, so that there is always an answer."""
    found = _asked(question, context, model, tokenize, max_length, overlap, max_answer_length)
    return _told(*found, float("-inf"))


@misconception(
    "answer",
    "Windows that do not hold the answer rightly say that there is none. One of them must not outvote the window that found it: the least of the no-answer "
    "scores counts.",
)
def outvoted(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """The greatest of the windows' no-answer scores counts instead of the least."""
    windows, spans, nothing = _asked(question, context, model, tokenize, max_length, overlap, max_answer_length)
    return _told(windows, spans, nothing.max(keepdims=True), threshold)


@misconception(
    "answer",
    "The model is asked with training=True: dropout then makes answers random.",
)
def asked_as_in_training(question, context, model, tokenize, max_length=160, overlap=48, max_answer_length=16, threshold=0.0):
    """The model is asked as in training."""
    found = _asked(question, context, model, tokenize, max_length, overlap, max_answer_length, training=True)
    return _told(*found, threshold)
