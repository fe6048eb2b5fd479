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
# # Lab 11: question answering, in TensorFlow
#
# *Where is Mary?* Lab 10 taught a network to point at the answer. Here you build the same reader in **Keras 3 on TensorFlow**. With the same weights
# both give the same numbers.
#
# Why build it twice? Because you will meet **graphs**, whatever you work with: `tf.function`, `torch.compile`, `jax.jit`, a model on a phone. A tool
# turns your Python into a graph of operations, and then runs the graph. Here you see what can go wrong with that, on a model whose right answers you
# know.
#
# So you write for **whole batches**: one graph handles all windows at once, where lab 10 took them one after the other. Windows and scores are given:
# you wrote them in lab 10.
#
# **After this lab you can**
#
# - find the tokens and the best spans of a whole batch;
# - feed windows of different lengths through `tf.data`;
# - load PyTorch's weights into a Keras layer;
# - compile one training step that works for every width;
# - save a reader that answers without your code.
#
# **You need** lab 10, and some Keras. **Time:** about 100 minutes; the computer needs {measured_seconds} seconds. **The core path** is
# sections 1 to 6, about 83 minutes, plus 6 minutes for the review quiz. Sittings: sections 1 to 4, 5 and 6.
#
# | # | exercise | difficulty | importance | minutes | points |
# |---|---|---|---|---|---|
# | 1 | `answer_token_spans` | ●●●●○ | ●●●●● | 12 | 4 |
# | 2 | `padded_batches` | ●●●○○ | ●●●●○ | 8 | 3 |
# | 3 | `SpanHead` | ●●○○○ | ●●●●○ | 6 | 3 |
# | 4 | `weights_from_torch` | ●●○○○ | ●●●○○ | 3 | 1 |
# | 5 | `span_loss` | ●●○○○ | ●●●●● | 4 | 3 |
# | 6 | `best_spans` | ●●●●○ | ●●●●● | 12 | 5 |
# | 7 | `train_step` | ●●●○○ | ●●●●● | 8 | 4 |
# | 8 | `answer` | ●●●○○ | ●●●●● | 8 | 4 |

# %%
import os

# Keras 3 also runs on PyTorch and JAX; set this before importing it.
os.environ["KERAS_BACKEND"] = "tensorflow"

from course_utils.quiet import without_startup_messages

with without_startup_messages():  # TensorFlow reports details of your processor
    import keras
    import tensorflow as tf

import numpy as np
from keras import ops

from course_utils import inputs_of
from course_utils.data.questions import QuestionExample
from course_utils.models.reader import features_of, stacked

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## 1. From characters to tokens, a batch at a time
#
# Here are a story, its question, and the position of the answer in characters. The tokenizer tells you where each word piece is: its **offsets**.

# %% tags=["skip-grading"]
from course_utils.data.stories import UNSEEN_NAMES, make_stories
from course_utils.display import show_table
from course_utils.models.pretrained import load_tokenizer, new_encoder
from course_utils.models.reader import pieces

tokenizer = load_tokenizer()
tokenize = pieces(tokenizer)  # text -> (ids, offsets)
story = make_stories(task=1, count=8, seed=7)[7]
ids, offsets = tokenize(story.context)
start, end = story.answers[0]
print(story.context, "\n" + story.question,
      f" characters {start} to {end}: {story.context[start:end]!r}")
found = zip(tokenizer.convert_ids_to_tokens(ids), offsets, strict=True)
rows = [[str(number), f"`{piece}`", str(place),
         "yes" if start <= place[0] < end else ""]
        for number, (piece, place) in enumerate(found)
        if start - 12 < place[0] < end + 12]
show_table(["token", "piece", "offsets", "in the answer"], rows)

# %% [markdown]
# ### Exercise 1: `answer_token_spans`
#
# In lab 10 you looked for the tokens of one window with a loop. Now do it for all windows of a batch, with tensors. `offsets` is (batch, seq_len, 2);
# for tokens that are not in the context, both numbers are -1.
#
# A token contains part of the answer if it ends after the answer's start and begins before its end. That gives a table of True and False, one row per window. Here is
# one row by hand, with an answer from character 5 to 12:

# %%
token_starts = np.array([-1, -1, 0, 5, 7, 12])
token_ends = np.array([-1, -1, 4, 7, 12, 13])
touched = (token_ends > 5) & (token_starts < 12)
print("touched:", touched.astype(int), " first:", touched.argmax(),
      " last:", 5 - touched[::-1].argmax())
print("tf.argmax of a row without any True:", int(tf.argmax(tf.constant([0, 0, 0]))),
      "- so check whether there is one")

# %% [markdown]
# The first True is where `argmax` finds the first 1. The last True is the first one when you read the row backwards. Then check for each window
# whether its tokens cover *all* of the answer. If they do not, or if there is no answer (start and end are 0), the target is (0, 0), the place of
# `[CLS]`.

# %% nbgrader={"grade": false, "grade_id": "answer_token_spans", "locked": false, "schema_version": 3, "solution": true, "task": false}
def answer_token_spans(
    offsets: tf.Tensor, starts: tf.Tensor, ends: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """The tokens that the answer of each window consists of.

    Args:
        offsets: (batch, seq_len, 2) whole numbers: each token's first character in the
            context, and the one after its last; (-1, -1) for tokens that are not in the
            context.
        starts, ends: (batch,) the answers' characters, end exclusive; 0 and 0 if there
            is no answer. All three arguments are int32, or all are int64.

    Returns:
        first, last: (batch,) whole numbers, both included: the fewest tokens that cover
        the answer. 0 and 0 if the window does not contain all of it, or there is none.
    """
    # 1. Which tokens contain part of the answer? (batch, seq_len)
    ### BEGIN SOLUTION
    offsets = tf.cast(offsets, tf.int32)
    starts, ends = tf.cast(starts, tf.int32), tf.cast(ends, tf.int32)
    begins, stops = offsets[..., 0], offsets[..., 1]
    touched = tf.cast(
        (begins >= 0) & (stops > starts[:, None]) & (begins < ends[:, None]), tf.int32
    )
    ### END SOLUTION
    # 2. The first and the last of them. (batch,)
    ### BEGIN SOLUTION
    first = tf.argmax(touched, axis=1, output_type=tf.int32)
    last = tf.shape(touched)[1] - 1 - tf.argmax(
        touched[:, ::-1], axis=1, output_type=tf.int32
    )
    ### END SOLUTION
    # 3. Do they cover all of it?
    ### BEGIN SOLUTION
    whole = (
        tf.cast(tf.reduce_max(touched, axis=1), tf.bool)
        & (tf.gather(begins, first, batch_dims=1) <= starts)
        & (tf.gather(stops, last, batch_dims=1) >= ends)
    )
    return tf.where(whole, first, 0), tf.where(whole, last, 0)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: one number from each row, from a different place in each</summary>
#
# `tf.gather(table, places, batch_dims=1)` takes from row 0 the entry at places[0], from row 1 the entry at places[1], and so on.
# </details>
# <details><summary>Hint 2: shapes (3, 22) and (3,) do not broadcast</summary>
#
# `starts[:, None]` has shape (3, 1): one number per row, for all its tokens.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_answer_token_spans", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("question_answering_tensorflow.answer_token_spans")

# %% [markdown]
# Test it where it counts: on every window of many questions. The text that the tokens cover must be the answer, letter by letter. (The windows come
# from the course's `features_of`, which does what your `make_features` did in lab 10.)

# %% tags=["skip-grading"]
from course_utils.data.paragraphs import load_paragraphs

examples = [*make_stories(1, 200, seed=1), *make_stories(3, 200, seed=1),
            *load_paragraphs()]
pairs = [(one, window) for one in examples
         for window in features_of(one, tokenize, max_length=160, overlap=48)]
places = np.array([[(-1, -1) if pair is None else pair for pair in window["offsets"]]
                   for _, window in pairs])
wanted = np.array([one.answers[0] if one.answers else (0, 0) for one, _ in pairs])
first, last = (
    part.numpy() for part in answer_token_spans(places, wanted[:, 0], wanted[:, 1])
)
found = [n for n in range(len(pairs)) if last[n]]
same = sum(
    pairs[n][0].context[places[n, first[n], 0] : places[n, last[n], 1]]
    == pairs[n][0].answer_texts[0]
    for n in found
)
print(f"{len(examples)} questions, {len(pairs)} windows, "
      f"{same} of {len(found)} targets come back complete")
del pairs, places  # windows take memory, and these are not needed any more

# %% [markdown]
# ## 2. Windows of different lengths
#
# A batch is a rectangle, but windows differ in length. Padding all of them to the maximum length wastes work. `padded_batch` of `tf.data` pads each
# batch only to **its own** longest row. The widths then differ from batch to batch. Remember that: it matters in section 5.

# %%
rows = tf.data.Dataset.from_generator(
    lambda: iter([{"ids": [5, 6, 7], "last": 2}, {"ids": [8], "last": 0},
                  {"ids": [9, 9], "last": 1}]),
    output_signature={"ids": tf.TensorSpec([None], tf.int32),
                      "last": tf.TensorSpec([], tf.int32)},
)
for batch in rows.padded_batch(2):
    print({name: tensor.numpy().tolist() for name, tensor in batch.items()})

# %% [markdown]
# ### Exercise 2: `padded_batches`
#
# Turn unpadded windows into batches. You make the attention mask: 1 at every token; the padding is automatically 0. `allowed` is True where an
# answer may begin or end: at tokens of the context, **and** at `[CLS]`, which means "no answer".

# %% nbgrader={"grade": false, "grade_id": "padded_batches", "locked": false, "schema_version": 3, "solution": true, "task": false}
def padded_batches(features: list[dict], batch_size: int) -> tf.data.Dataset:
    """Windows in batches, in the order given, each batch as wide as its longest window.

    Args:
        features: one dict per window, of different lengths: lists input_ids,
            token_type_ids and in_context (True at tokens of the context), and whole
            numbers start_position, end_position.
        batch_size: windows per batch; the last batch may have fewer.

    Returns:
        A dataset, which can be gone through again and again, of dicts of tensors:
        input_ids, attention_mask, token_type_ids (batch, width), int32, 0 at the
        padding (the mask is 1 at every token, even at one whose id is 0); allowed
        (batch, width), booleans, False at the padding; start_positions, end_positions
        (batch,), int32.
    """
    # 1. One row for each window.
    ### BEGIN SOLUTION
    def rows():
        for feature in features:
            yield {
                "input_ids": feature["input_ids"],
                "attention_mask": [1] * len(feature["input_ids"]),
                "token_type_ids": feature["token_type_ids"],
                "allowed": [True, *feature["in_context"][1:]],
                "start_positions": feature["start_position"],
                "end_positions": feature["end_position"],
            }
    ### END SOLUTION
    # 2. A dataset of rows, then of batches.
    ### BEGIN SOLUTION
    lists = dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"),
                          tf.TensorSpec([None], tf.int32))
    numbers = dict.fromkeys(("start_positions", "end_positions"),
                            tf.TensorSpec([], tf.int32))
    signature = {**lists, "allowed": tf.TensorSpec([None], tf.bool), **numbers}
    return tf.data.Dataset.from_generator(
        rows, output_signature=signature
    ).padded_batch(batch_size)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: what does from_generator need?</summary>
#
# It needs a *function* that starts afresh at each call and gives one row after the other: with `yield`, for example. And it needs `output_signature`,
# which looks like one row: the same keys, with a `TensorSpec` in place of each value. The shape of a list of varying length is `[None]`, and that of
# a single number is `[]`.
# </details>
# <details><summary>Hint 2: the mask is 1 at the padding, too</summary>
#
# Make the mask of each window while it has no padding yet: a 1 for each of its tokens. `padded_batch` then fills it up with 0, and booleans with False.
# </details>
# <details><summary>Hint 3: allowed is wrong at one place in each row</summary>
#
# `in_context` is False at `[CLS]`. `allowed` is True there, and equal to it everywhere else. Make a new list: the features themselves must stay
# unchanged.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_padded_batches", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("question_answering_tensorflow.padded_batches")

# %% [markdown]
# ## 3. The reader
#
# ### Exercise 3: `SpanHead`
#
# This is the head of lab 10: two logits for each token, one for the start of the answer and one for its end. In Keras one `Dense(2)` does this;
# column 0 of its kernel is for the start. Where an answer cannot be, the logit is -10,000 or less.

# %% nbgrader={"grade": false, "grade_id": "SpanHead", "locked": false, "schema_version": 3, "solution": true, "task": false}
class SpanHead(keras.layers.Layer):
    """Two logits for each token: is it the first of the answer, is it the last?

    Its weights are those of one Dense layer: a kernel (hidden_size, 2), column 0 for
    the start and column 1 for the end, and a bias (2,).
    """

    def __init__(self, **kwargs) -> None:
        super().__init__(**kwargs)
        ### BEGIN SOLUTION
        self.dense = keras.layers.Dense(2)
        ### END SOLUTION

    def call(
        self, hidden: tf.Tensor, allowed: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """hidden: (batch, seq_len, hidden_size); allowed: (batch, seq_len), True where
        an answer may begin or end.

        Returns (start_logits, end_logits), each (batch, seq_len); where not allowed,
        they are -10,000 or less. In a graph, batch and seq_len may be unknown.
        Gradients must reach hidden and both weights.
        """
        ### BEGIN SOLUTION
        # (batch, seq_len, 2)
        logits = ops.where(allowed[..., None], self.dense(hidden), -1e9)
        return logits[..., 0], logits[..., 1]
        ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: where is the layer created?</summary>
#
# In the constructor, once. It does not know `hidden_size` there, and need not: Keras creates the kernel at the first call. `call` uses the layer, and separates the two
# columns of the last axis.
# </details>
# <details><summary>Hint 2: which places are blocked?</summary>
#
# `ops.where(condition, a, b)` takes from a where the condition is True, otherwise from b. The logits have one axis more than `allowed`: give
# `allowed` one of length 1 at the end, or handle the two columns one after the other.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_SpanHead", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("question_answering_tensorflow.SpanHead")

# %% [markdown]
# ### Exercise 4: `weights_from_torch`
#
# PyTorch's `nn.Linear` keeps its weight as (out, in) and computes $x W^\top + b$. Keras's `Dense` keeps its kernel as (in, out) and computes
# $x W + b$. The numbers are the same, only arranged differently.

# %% nbgrader={"grade": false, "grade_id": "weights_from_torch", "locked": false, "schema_version": 3, "solution": true, "task": false}
def weights_from_torch(state: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The weights of lab 10's SpanHead in the form that Keras expects.

    Args:
        state: "linear.weight" (2, hidden_size), row 0 for the start; "linear.bias"
            (2,).

    Returns:
        [kernel (hidden_size, 2), bias (2,)], for `set_weights` of a SpanHead.
    """
    ### BEGIN SOLUTION
    return [state["linear.weight"].T, state["linear.bias"]]
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint: the shape is right, the numbers are not</summary>
#
# `reshape` keeps the order in which the numbers are read, and only breaks the lines in other places. What was a *row* in PyTorch must become a
# *column* here.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_weights_from_torch", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("question_answering_tensorflow.weights_from_torch")

# %% [markdown]
# The next cell builds the whole reader: the encoder in Keras, loaded from the same weights file that PyTorch uses, with your head on top. Then both
# readers get the same random head and the same three stories, and you compare their logits.

# %% tags=["skip-grading"]
from course_utils.widgets.predict import measured, predict

predict("question_answering_tensorflow.twins")

# %% tags=["skip-grading"]
from course_utils.models.keras_encoder import keras_encoder

READ = ("input_ids", "attention_mask", "token_type_ids")


class Reader(keras.Model):
    """The pretrained encoder with your span head."""

    def __init__(self, model_name: str | None = None) -> None:
        super().__init__()
        self.encoder, self.head = keras_encoder(model_name), SpanHead()
        for layer in self.encoder.layers:
            layer.trainable = not layer.name.endswith("_embeddings")

    def call(self, inputs: dict, training: bool = False):
        # No dropout in the encoder, even in training: lab 10 says why.
        hidden = self.encoder({name: inputs[name] for name in READ}, training=False)
        return self.head(hidden, inputs["allowed"])


reader = Reader()
batch = {name: tf.constant(array) for name, array in stacked([
    features_of(one, tokenize)[0] for one in make_stories(1, 3, seed=11)
]).items()}
reader(batch)  # creates the head's weights
print(f"{sum(int(np.prod(weight.shape)) for weight in reader.trainable_weights):,} "
      "weights are trained")

# %% tags=["skip-grading"]
import torch

torch.manual_seed(1)
linear = torch.nn.Linear(384, 2)
torch.nn.init.normal_(linear.weight, std=0.02)
torch.nn.init.zeros_(linear.bias)
head_state = {f"linear.{name}": tensor.detach().numpy()
              for name, tensor in linear.state_dict().items()}
reader.head.set_weights(weights_from_torch(head_state))

encoder = new_encoder().eval()
with torch.no_grad():
    states = encoder(
        *(torch.from_numpy(batch[name].numpy()) for name in READ)
    ).last_hidden_state
    theirs = linear(states).numpy()
mine = np.stack([np.asarray(part) for part in reader(batch)], axis=-1)
allowed = batch["allowed"].numpy()
show_table(
    ["first story, start logit of token", *map(str, range(8, 14))],
    [[name, *(f"{logit:.4f}" for logit in logits[0, 8:14, 0])]
     for name, logits in {"PyTorch": theirs, "TensorFlow": mine}.items()],
)
apart = np.abs(mine - theirs)[allowed].max()
print(f"largest difference: {apart:.1e}")
measured("question_answering_tensorflow.twins", shown=apart < 1e-5)
del encoder

# %% [markdown]
# A model is not its framework: with the same weights and the same inputs, only rounding makes a difference. Sums are computed in a different order. Over hundreds
# of training steps such small differences can grow, so two trained readers need not be equal.
#
# ### Exercise 5: `span_loss`
#
# The loss is the same as in lab 10: the mean of two cross-entropies, for the start and for the end. Keras has one trap: its cross-entropies expect
# **probabilities** unless you pass `from_logits=True`. PyTorch's always take logits.

# %% nbgrader={"grade": false, "grade_id": "span_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def span_loss(
    start_logits: tf.Tensor, end_logits: tf.Tensor,
    start_positions: tf.Tensor, end_positions: tf.Tensor,
) -> tf.Tensor:
    """The mean of the cross-entropies of start and end, over a batch.

    Args:
        start_logits, end_logits: (batch, seq_len); any size, and -1e9 where no answer
            may be.
        start_positions, end_positions: (batch,) the right tokens, int32 or int64; 0 (no
            answer) is a class like any other.

    Returns:
        a tensor with one number, through which gradients flow.
    """
    ### BEGIN SOLUTION
    cross_entropy = keras.losses.sparse_categorical_crossentropy
    # (batch,)
    start_loss = cross_entropy(start_positions, start_logits, from_logits=True)
    end_loss = cross_entropy(end_positions, end_logits, from_logits=True)
    return tf.reduce_mean(start_loss + end_loss) / 2
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: which of Keras's cross-entropies?</summary>
#
# The targets are class numbers, not rows of 0 and 1: Keras calls that *sparse*. The functions in `keras.losses` take the targets first, then the logits, and return one loss
# for each window.
# </details>
# <details><summary>Hint 2: the loss is finite, but far from the right one</summary>
#
# You cannot tell from a number whether it is a logit. Look at the arguments of the function that you call:
# `help(keras.losses.sparse_categorical_crossentropy)`.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_span_loss", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("question_answering_tensorflow.span_loss")

# %% [markdown]
# ## 4. The best span of every window
#
# ### Exercise 6: `best_spans`
#
# As in lab 10, the score of a span from $i$ to $j$ is $s_i + e_j$, and it is possible if $i \le j < i + m$ and both are tokens of the context. For a
# whole batch that is a table (batch, seq_len, seq_len), and possible pairs are a **band** along its diagonal. `tf.linalg.band_part(table, below,
# above)` keeps that many diagonals below and above the main one, and sets the rest to 0 (`above` may not exceed the number of columns):

# %%
print(tf.linalg.band_part(tf.ones((5, 5), tf.int32), 0, 2).numpy())
sums = tf.constant([[1, 2, 0], [0, 9, 3]])
best = int(tf.argmax(tf.reshape(sums, [-1])))
print(f"the best of {sums.numpy().tolist()}: number {best} of the flat table, "
      f"row {best // 3}, column {best % 3}")

# %% nbgrader={"grade": false, "grade_id": "best_spans", "locked": false, "schema_version": 3, "solution": true, "task": false}
def best_spans(
    start_logits: tf.Tensor, end_logits: tf.Tensor,
    in_context: tf.Tensor, max_answer_length: int,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The best possible span of each window of a batch.

    Args:
        start_logits, end_logits: (batch, seq_len) numbers of any size.
        in_context: (batch, seq_len) True at tokens of the context; an answer consists
            only of such tokens (not of [CLS]).
        max_answer_length: the most tokens that an answer may have, at least 1; more
            than a window has is allowed, too.

    Returns:
        first, last, score, each (batch,): tokens, both included, and
        start_logits[first] + end_logits[last]. Of equally good spans, any one.
    """
    # 1. The score of every pair, (batch, seq_len, seq_len): one row per start, one
    #    column per end.
    ### BEGIN SOLUTION
    scores = start_logits[:, :, None] + end_logits[:, None, :]
    ### END SOLUTION
    # 2. Which pairs are possible? The others get a score below all of these.
    ### BEGIN SOLUTION
    both = tf.cast(in_context[:, :, None] & in_context[:, None, :], tf.int32)
    longest = tf.minimum(max_answer_length, tf.shape(both)[1])
    possible = tf.linalg.band_part(both, 0, longest - 1) > 0
    scores = tf.where(possible, scores, scores.dtype.min)
    ### END SOLUTION
    # 3. The best of each table, and its row and column.
    ### BEGIN SOLUTION
    length = tf.shape(scores)[1]
    flat = tf.reshape(scores, (-1, length * length))
    best = tf.argmax(flat, axis=1, output_type=tf.int32)
    return best // length, best % length, tf.reduce_max(flat, axis=1)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: all results are from the first window</summary>
#
# Flatten each window's table separately: the batch axis stays.
# </details>
# <details><summary>Hint 2: it is wrong only if all logits are far below 0</summary>
#
# Multiplying by a mask of zeros makes scores of 0. Which scores are less than 0?
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_best_spans", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("question_answering_tensorflow.best_spans")

# %% [markdown]
# ## 5. Training in a graph
#
# **A good place for a break.** The reader is built and can choose the best span of every window. Next it learns, and you compare it with
# its twin. If you go on another day, run the cell at the top first, *Continue here*.
#
# ### Exercise 7: `train_step`
#
# TensorFlow records the forward pass on a **tape**, and follows it back to compute the gradients. What is not on the tape has no gradient. Then the
# gradients are clipped to a maximum norm for all of them together, as in lab 10 (`tf.clip_by_global_norm`), and the optimizer applies them.
#
# The check runs your step inside `tf.function`, as the lab does. There it is *traced*: Python runs once, with tensors that have no values yet. The
# result is a graph. Before that, **AutoGraph** rewrites your code, so that more of Python works than you might expect.

# %% tags=["skip-grading"]
predict("question_answering_tensorflow.traced")

# %% tags=["skip-grading"]
traced, kept = [], []


@tf.function
def doubled_if_positive(x):
    # Plain Python: it runs while the graph is made, and leaves no trace in it.
    traced.append(tuple(x.shape))
    kept.append(x)
    # AutoGraph makes a tf.cond of this: both branches are in the graph.
    if tf.reduce_sum(x) > 0:
        x = x * 2
    return float(tf.reduce_sum(x))  # and a tf.cast of this


rows = []
for values in ([1.0, 2.0], [-1.0, -2.0], [1.0, 2.0, 3.0]):
    result = doubled_if_positive(tf.constant(values))
    rows.append([str(values), f"{result.numpy():.1f}", ", ".join(map(str, traced))])
show_table(["called with", "returns", "traced so far for the shapes"], rows)
print("what the list kept:", kept[0])
graph = doubled_if_positive.get_concrete_function(tf.constant([1.0, 2.0])).graph
show_table(["operations of the graph for two numbers", "kind", "takes"],
           [[op.name, op.type, ", ".join(each.op.name for each in op.inputs)]
            for op in graph.get_operations()])
measured("question_answering_tensorflow.traced", shown=len(traced) == 2)

# %% [markdown]
# The second call found its graph ready. The third has another shape, so everything was **traced again**: with a new shape at every batch you would
# pay for that at every batch.
#
# The last table is one of the two graphs: ten operations. Your `if` is one of them, `cond`. The two lists and their `append` are not there. And there
# are three things that AutoGraph does not solve:
#
# | in a graph | what happens |
# |---|---|
# | `loss.numpy()` | an AttributeError: the tensor has no value yet (`float(loss)` does not help: in a graph its result is a tensor, too) |
# | `losses.append(loss)`, `count += 1`, `print(loss)` | runs once, while tracing, and then never again; the list keeps a tensor without a value. Use `tf.print` and variables instead |
# | a Python number that changes, passed as an argument | a new graph for every number: pass tensors instead |

# %% nbgrader={"grade": false, "grade_id": "train_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_step(
    model, optimizer, batch: dict[str, tf.Tensor], max_norm: float = 1.0
) -> tf.Tensor:
    """One step of training; the weights change.

    Args:
        model: `model(inputs, training=True)` gives (start_logits, end_logits); it takes
            the whole batch as its inputs, and uses what it needs. Its
            `trainable_variables` are trained.
        optimizer: a Keras optimizer, with its learning rate set.
        batch: as made by padded_batches. In a graph, its sizes may be unknown.
        max_norm: the maximum norm of all gradients together; they are scaled down if it
            is higher.

    Returns:
        the loss of this batch before the weights changed, a tensor.
    """
    # 1. The forward pass and the loss, on a tape.
    ### BEGIN SOLUTION
    with tf.GradientTape() as tape:
        start_logits, end_logits = model(batch, training=True)
        loss = span_loss(
            start_logits, end_logits, batch["start_positions"], batch["end_positions"]
        )
    ### END SOLUTION
    # 2. Gradients, clipped, and the update.
    ### BEGIN SOLUTION
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients, _ = tf.clip_by_global_norm(gradients, max_norm)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    ### END SOLUTION
    return loss

# %% [markdown]
# <details><summary>Hint 1: the gradients are None</summary>
#
# The tape records only what happens inside its `with` block. The model's call belongs in there, and so does the loss. And both must stay tensors: NumPy leaves no trace
# on a tape.
# </details>
# <details><summary>Hint 2: gradients, and the weights they belong to</summary>
#
# `tape.gradient` returns a list in the order of the variables that you ask for. `tf.clip_by_global_norm` returns *two* things: the list, and the norm before clipping.
# The optimizer's `apply_gradients` needs pairs of a gradient and its variable; `zip` makes them.
# </details>
# <details><summary>Hint 3: it works when I call it, but fails in the check</summary>
#
# The check runs your step in a graph. There a tensor has no value yet, so `.numpy()` fails, and appending to a list, or counting, happens only once.
# You need no `if` either: `clip_by_global_norm` decides by itself whether anything needs to be scaled down.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_train_step", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("question_answering_tensorflow.train_step")

# %% [markdown]
# ### The same trap in PyTorch
#
# `torch.compile` makes graphs, too. A **backend** gets each graph, and returns what is to run in its place. The backend below counts graphs and
# compiles nothing, so it needs no compiler. Both libraries get the same function, with a `print` in it, and the same four calls. How many graphs does
# each make, and how often does the `print` run?

# %% tags=["skip-grading"]
import contextlib
import io

graphs = []


def doubled(x):
    print("Python runs")
    return 2 * x


def prints(function, ones) -> str:
    """How often `print` runs in four calls."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for width in (2, 2, 3, 4):
            function(ones([width]))
    return str(said.getvalue().count("runs"))


def counting(graph, inputs):
    """A backend for torch.compile: it notes the graph, and runs it as it is."""
    graphs.append(graph)
    return graph.forward

# %% tags=["skip-grading"]
rows = []
for name, signature in {"": None,
                        ", `None` in its signature": [tf.TensorSpec([None])]}.items():
    function = tf.function(doubled, input_signature=signature)
    ran = prints(function, tf.ones)
    rows.append([f"`tf.function`{name}",
                 str(function.experimental_get_tracing_count()), ran])
for dynamic in (False, True, None):
    torch.compiler.reset()  # forgets the graphs
    graphs.clear()
    function = torch.compile(doubled, backend=counting, dynamic=dynamic)
    ran = prints(function, torch.ones)
    rows.append([f"`torch.compile`, `dynamic={dynamic}`", str(len(graphs)), ran])
show_table(["widths 2, 2, 3, 4", "graphs", "runs of `print`"], rows)

# %% [markdown]
# The trap is the same: with fixed shapes, each width costs a graph. The way out is the same, too: leave the width open, with `None` here and with
# `dynamic=True` there. (PyTorch's default, `None`, tries a fixed width first and leaves it open from the second width on. So it makes two graphs.)
#
# But `print` is not the same. In TensorFlow it runs only while a graph is made. `torch.compile` still runs it at every call: the graph ends above the
# `print`, Python takes over, and what follows becomes another graph. This is called a **graph break**. To see one, write `x = x + 1` above the `print`
# and run both cells again: PyTorch then makes twice as many graphs.
#
# ### Exercise 8: `answer`
#
# As in lab 10, go from a question and a text to a place in the text, but for all windows at once. The **margin** is the score of the best span of all
# windows minus the *lowest* of the windows' no-answer scores, $s_0 + e_0$ at `[CLS]`. The window that is least convinced of "not here" decides. There is
# an answer if the margin is above the threshold.
# `windows_of` gives the windows, with offsets (None outside the context); `stacked` turns them into arrays: `input_ids`, `attention_mask`,
# `token_type_ids`, and `allowed`, which is True in the context and at `[CLS]`.

# %%
def windows_of(
    question: str, context: str, tokenize, max_length: int, overlap: int
) -> list[dict]:
    """The windows of a context, for one question about it, to be given to `stacked`.

    Each is a dict: lists input_ids, token_type_ids, attention_mask and offsets, of
    max_length entries, padding included, and numbers start_position, end_position.
    """
    return features_of(QuestionExample(context, question, (), "asked", "asked"),
                       tokenize, max_length, overlap)

# %% nbgrader={"grade": false, "grade_id": "answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def answer(
    question: str,
    context: str,
    model,
    tokenize,
    max_length: int = 160,
    overlap: int = 48,
    max_answer_length: int = 16,
    threshold: float = 0.0,
) -> tuple[int, int, float]:
    """Where in the context the answer is.

    Args:
        model: `model(inputs, training=False)` gives (start_logits, end_logits), each
            (windows, width); inputs is a dict of tensors (windows, width): input_ids,
            attention_mask, token_type_ids, allowed.
        tokenize, max_length, overlap: for windows_of. max_answer_length: for
            best_spans.
        threshold: an answer is given if the margin is greater than this.

    Returns:
        (start, end, margin): the answer is context[start:end]; (0, 0, margin) if there
        is none.
    """
    windows = windows_of(question, context, tokenize, max_length, overlap)
    # 1. Ask the model about all windows: `stacked(windows)` is a dict of arrays, which
    #    are as wide as the longest window.
    ### BEGIN SOLUTION
    arrays = stacked(windows)
    names = ("input_ids", "attention_mask", "token_type_ids", "allowed")
    start_logits, end_logits = model(
        {name: tf.constant(arrays[name]) for name in names}, training=False
    )
    ### END SOLUTION
    # 2. The best span of all windows; [CLS] is allowed, but is not a token of the
    #    context.
    ### BEGIN SOLUTION
    in_context = arrays["allowed"].copy()
    in_context[:, 0] = False
    first, last, score = best_spans(
        start_logits, end_logits, tf.constant(in_context), max_answer_length
    )
    window = int(tf.argmax(score))
    ### END SOLUTION
    # 3. The margin, and back to characters.
    ### BEGIN SOLUTION
    nothing = tf.reduce_min(start_logits[:, 0] + end_logits[:, 0])
    margin = float(score[window] - nothing)
    if margin <= threshold:
        return 0, 0, margin
    offsets = windows[window]["offsets"]
    return offsets[int(first[window])][0], offsets[int(last[window])][1], margin
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: [CLS] is the answer</summary>
#
# `stacked` says where an answer is *allowed*, `[CLS]` included; `best_spans` needs to know what is *context*. They differ in one column. Change a
# copy: the model needs `allowed` as it is.
# </details>
# <details><summary>Hint 2: the wrong window wins</summary>
#
# `best_spans` returns three lists with one number for each window. The window with the highest score decides; take its first, its last and its
# offsets. The no-answer score is the lowest of *all* windows, whichever one has won.
# </details>
# <details><summary>Hint 3: tensors where numbers are needed</summary>
#
# Offsets are Python lists, and tensors do not work well as indices for them: `int(...)` makes a number. Nothing runs in a graph here, so that is
# fine. And the answer ends where its last token *ends*.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_answer", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("question_answering_tensorflow.answer")

# %% [markdown]
# ## 6. The payoff
#
# The recipe is the same as in lab 10: 200 batches of 16 stories, frozen embeddings, no dropout. The learning rate rises in the first tenth of the
# steps and then falls to 0. The step is compiled **once**: its signature has `None` where widths differ. Without it TensorFlow makes a new graph for every
# new width. In section 7 you see how long it takes to make one: it is part of the first step of `fit`.
#
# The training takes about two minutes. If you do not want to wait, or share a computer with others, set `RUN_TRAINING = False`: then lab 10's
# reader, trained in PyTorch, is loaded into *yours*. Its encoder is loaded like the pretrained one, and its head with your `weights_from_torch`.

# %% tags=["skip-grading"]
import time
from course_utils.models.reader import (any_place, batches_by_length, last_place,
                                        place_beside_the_name, score)
from course_utils.training import fit

RUN_TRAINING = True  # False: use the weights that come with the course
STEPS, BATCH_SIZE, RATE = 200, 16, 2e-4
SIGNATURE = {name: tf.TensorSpec([None, None], tf.int32) for name in READ}
SIGNATURE["allowed"] = tf.TensorSpec([None, None], tf.bool)
TARGETS = {name: tf.TensorSpec([None], tf.int32)
           for name in ("start_positions", "end_positions")}


def compiled(model):
    """The reader as a graph, called like the reader itself."""
    graph = tf.function(lambda inputs: model(inputs, training=False),
                        input_signature=[SIGNATURE])
    def call(inputs: dict, training: bool = False):
        return graph({name: tf.cast(inputs[name], spec.dtype)
                      for name, spec in SIGNATURE.items()})
    return call


def ask(model, examples) -> list[tuple[int, int, float]]:
    """What a reader answers for each example; with this threshold it always gives an
    answer.
    """
    return [answer(one.question, one.context, model, tokenize, threshold=-1e9)
            for one in examples]


def said_texts(examples, answers) -> list[str]:
    return [one.context[start:end]
            for one, (start, end, _) in zip(examples, answers, strict=True)]

# %% tags=["skip-grading"]
def rate_at(number: int, count: int) -> float:
    """The learning rate of a step, counted from 1: it rises for a tenth of them, then
    falls to 0.
    """
    return RATE * min(1, number / (0.1 * count), (count - number + 1) / (0.9 * count))


def unpadded(feature: dict) -> dict:
    """A window without its padding, as padded_batches expects it."""
    length = sum(feature["attention_mask"])
    lists = {name: feature[name][:length] for name in ("input_ids", "token_type_ids")}
    inside = [pair is not None for pair in feature["offsets"][:length]]
    return {**lists, "in_context": inside,
            **{name: feature[name] for name in ("start_position", "end_position")}}


# %% tags=["skip-grading"]
def train(model, examples, name: str, validation, evaluate_every: int = 40):
    """One pass over the examples; returns the history for the curves."""
    features = [window for one in examples
                for window in features_of(one, tokenize, 160, 48)]
    ordered = [unpadded(one)
               for part in batches_by_length(features, BATCH_SIZE, seed=0)
               for one in part]
    del features  # from here on only the windows without padding are needed
    batches, count = padded_batches(ordered, BATCH_SIZE), -(-len(ordered) // BATCH_SIZE)
    optimizer = keras.optimizers.AdamW(RATE, weight_decay=0.01)
    optimizer.build(model.trainable_variables)
    run = tf.function(lambda batch: train_step(model, optimizer, batch),
                      input_signature=[{**SIGNATURE, **TARGETS}])
    asked = compiled(model)

    def step(batch, number: int) -> float:
        optimizer.learning_rate = rate_at(number, count)
        return float(run(batch))

    def evaluate() -> float:
        return score(said_texts(validation, ask(asked, validation)), validation).exact

    return fit(step, batches, steps=count, evaluate=evaluate,
               evaluate_every=evaluate_every, name=name)

# %% tags=["skip-grading"]
from course_utils.models.keras_encoder import set_encoder_weights
from course_utils.models.shipped_readers import load_reader
from course_utils.plots import show_figure
from course_utils.plots.training import learning_curves

if RUN_TRAINING:
    stories = make_stories(1, STEPS * BATCH_SIZE, seed=110)
    validation = make_stories(1, 40, seed=800)
    began = time.monotonic()
    history = train(reader, stories, "task 1", validation)
    print(f"{time.monotonic() - began:.0f} seconds for {history.steps} steps, "
          "graphs included")
    show_figure(
        learning_curves([history], by="steps"),
        alt="Left: the loss falls quickly, then slowly on a plateau, then drops to "
        "nearly 0. Right: exact match on validation stories stays below a half at "
        "first, then jumps to nearly 1.",
    )
    del stories, validation
else:
    parts = {"encoder": {}, "head": {}}
    for key, array in load_reader("stories").items():  # with PyTorch's names and shapes
        part, _, name = key.partition(".")
        parts[part][name] = array
    set_encoder_weights(reader.encoder, parts["encoder"])
    reader.head.set_weights(weights_from_torch(parts["head"]))
    del parts

# %% [markdown]
# If you trained it, you see the plateau and drop that lab 10 shows; the drop may come at another step. Now measure, with sets and baselines as in lab 10:
# new stories with known and with unseen names, tasks 2 and 3, and some of the prose. These sets are for **development**: here you compare, look for a
# control and read mistakes. The test has other stories; it is opened once, at the end of this section.
#
# The reader was trained on task 1 only. For prose, the baseline takes
# the capitalised words in the nearest sentence. The last row of each set is the floor: for stories a random place; for prose the reader's answer to
# another question. *Smallest difference*: with so few questions, a rival whose score is nearer to yours than this could look better or worse by luck
# alone. (This supposes that their mistakes have nothing to do with each other.)

# %% tags=["skip-grading"]
predict("question_answering_tensorflow.two_facts")

# %% tags=["skip-grading"]
from course_utils.data.questions import split_by_document
from course_utils.models.reader import nearest_words

asked = compiled(reader)
sets = {
    "task 1, known names": make_stories(1, 120, seed=900),
    "task 1, unseen names": make_stories(1, 120, seed=901, names=UNSEEN_NAMES),
    "task 2, known names": make_stories(2, 60, seed=902),
    "task 3, known names": make_stories(3, 60, seed=903),
    "prose": split_by_document(load_paragraphs(), held_out=0.25, seed=0)[1],
}

# %% tags=["skip-grading"]
from course_utils.evaluation import (
    accuracy, interval, paired, show_scores, smallest_difference)
from course_utils.models.reader import squad_scores


def exactly(texts, examples):
    """What exact match is made of: whether each answer is right (lab 07)."""
    return accuracy([squad_scores(text, one.answer_texts)[0]
                     for text, one in zip(texts, examples, strict=True)])

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
given = {name: ask(asked, examples) for name, examples in sets.items()}
table, scored, exact = {}, [], {}
for name, examples in sets.items():
    simple = nearest_words if name == "prose" else last_place
    mine = said_texts(examples, given[name])
    documents = [one.document for one in examples]
    said = {
        "your reader": mine,
        "last place / capitals": [simple(one) for one in examples],
        "a rule for task 1": [place_beside_the_name(one) for one in examples],
        "any place / next question": [*mine[1:], mine[0]] if name == "prose"
        else [any_place(one) for one in examples],
    }
    found = {who: score(texts, examples) for who, texts in said.items()}
    table[name] = {who: result.exact for who, result in found.items()}
    for who, result in found.items():
        right = exact[name, who] = exactly(said[who], examples)
        sure = interval(right, documents)
        least = 100 * smallest_difference(right, documents)
        scored.append([f"{name}: {who}", f"{100 * result.exact:.1f}",
                       f"{100 * sure.low:.1f} to {100 * sure.high:.1f}",
                       f"{least:.1f}" if said[who] is mine else "",
                       f"{100 * result.f1:.1f}", str(len(examples))])

# %% tags=["skip-grading"]
show_table(["set: who", "exact match in %", "95 % interval", "smallest difference",
            "F1", "questions"], scored)

# %% [markdown]
# Is the reader ahead of a baseline, or is it luck with the questions? All of them answered the *same* questions, so compare them in pairs (lab 07), in points of exact match:

# %% tags=["skip-grading"]
others, gaps = list(said)[1:], {}
for name, examples in sets.items():
    documents = [one.document for one in examples]
    for who in others:
        gaps[name, who] = paired(exact[name, "your reader"], exact[name, who],
                                 documents)
show_table(["your reader minus", *others], [
    [name, *(f"{100 * gap.value:+.0f} ({100 * gap.low:+.0f} to {100 * gap.high:+.0f}), "
             f"{gap.verdict}" for gap in (gaps[name, who] for who in others))]
    for name in sets])
measured("question_answering_tensorflow.two_facts",
         shown=gaps["task 2, known names", "last place / capitals"].low <= 0)

# %% [markdown]
# The scores as a figure. In each set, compare your reader with the two others:

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
from course_utils.plots.spans import score_bars

show_figure(
    score_bars(table, "Exact match on stories and documents that nobody has seen"),
    alt="Bars: on task 1 the reader is near 100 percent with known and with unseen "
    "names, and so is the rule; on tasks 2 and 3 and on prose, which it was not "
    "trained for, it is far lower.",
)

# %% [markdown]
# Your figures come from one training run. Four were measured when this lab was written, with exact match in %:
#
# | seed | task 1, known names | task 1, unseen names | task 2 | task 3 |
# |---|---|---|---|---|
# | 1, the lab's | 100.0 | 98.3 | 13.3 | 10.0 |
# | 1, on one core | 98.3 | 97.5 | 21.7 | 18.3 |
# | 2 | 99.2 | 100.0 | 21.7 | 13.3 |
# | 3 | 98.3 | 90.0 | 28.3 | 16.7 |
#
# Even the same seed gives other figures on another number of cores, because rounding grows over 200 steps. So do not compare your table with lab 10's. The two readers
# differ in their framework *and* in their first weights, and one run of each cannot tell which of these matters.
#
# As in lab 10, a rule of six lines solves task 1 as well. And look at the other sets. On tasks 2 and 3 the reader cannot be told apart from any place of the
# story: what it learned on task 1 is of no visible use there. (Does it help to start the harder task from the weights of the
# easier one? Try it here: `train` accepts any examples.)
#
# ### Find the missing control
#
# Somebody sees the first table and claims: *the reader was never trained on task 2, and yet it is right in about a quarter of these stories. So some of what it
# learned about questions carries over.* Somebody else objects: *perhaps it is right that often whatever you ask about.* Which of these four controls
# answers the objection?

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
import random

from course_utils.widgets.controls import find_the_control

hard = sets["task 2, known names"]


def task_2(name: str, examples, questions=None) -> list[str]:
    """Exact match of the reader; with other questions if there are any."""
    questions = questions or [one.question for one in examples]
    found = [answer(question, one.context, asked, tokenize, threshold=-1e9)
             for question, one in zip(questions, examples, strict=True)]
    return in_percent(name, said_texts(examples, found), examples)


def in_percent(name: str, texts, examples) -> list[str]:
    sure = interval(exactly(texts, examples), [one.document for one in examples])
    return [name, str(len(examples)), f"{100 * sure.value:.1f}",
            f"{100 * sure.low:.1f} to {100 * sure.high:.1f}"]


def more_stories():
    return [task_2("other stories", make_stories(2, 60, seed=904))]


def unseen_names():
    return [task_2("unseen names", make_stories(2, 60, 905, names=UNSEEN_NAMES))]

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
def last_places():
    return [in_percent("the last place", [last_place(one) for one in hard], hard)]


def things_elsewhere():
    """The same stories, each with a question about a thing that is not in it."""
    things, rows = sorted({one.question.split()[-1] for one in hard}), []
    for seed in (0, 1, 2):
        draw, questions = random.Random(seed), []
        for one in hard:
            others = [thing for thing in things if thing.strip("?") not in one.context]
            questions.append(f"Where is the {draw.choice(others)}")
        rows.append(task_2(f"a thing that is not there, draw {seed}", hard, questions))
    return rows

# %% tags=["skip-grading"]
find_the_control(
    "question_answering_tensorflow.carried_over",
    ["task 2", "stories", "exact match in %", "95 % interval"],
    [task_2("the reader", hard)],
    [more_stories, unseen_names, last_places, things_elsewhere])

# %% [markdown]
# The claim is false, as far as 60 stories can show it. When this lab was written, the reader was right in 21.7 % of them. Asked about a thing that is not in the story,
# it was right in 21.7 % again, in each of three draws. (Right means: it gave the answer to the question that was *not* asked.) So on task 2 its answers hardly depend on the question.
#
# **Discuss with a neighbour,** or write two sentences. The reader is right about names that it has never met, and fails on task 2: what has it learned?
#
# ### Where it looks, and what it gets wrong
#
# These are the strips and the failures of lab 10. The darker a token, the higher its probability as the first or the last token of the answer. Among
# the failures, the right answer is in a green box and in [brackets], and the reader's answer is underlined and in {braces}.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
from course_utils.plots.spans import Answered, answer_gallery, show_strips

example = sets["task 1, unseen names"][0]
arrays = stacked(windows_of(example.question, example.context, tokenize, 160, 48)[:1])
shares = [tf.nn.softmax(part)[0].numpy() for part in asked(arrays)]
show_strips(tokenizer.convert_ids_to_tokens(arrays["input_ids"][0]),
            {"start": shares[0], "end": shares[1]})
for name in ("task 1, unseen names", "task 2, known names", "prose"):
    answer_gallery(sets[name], [Answered(*said) for said in given[name]],
                   limit=2, title=f"questions ({name})")

# %% [markdown]
# ### The test, once
#
# Now open the test for your reader, with the rule and the floor. It has other stories, and nothing was chosen by them. The second table says what the
# answers cost.

# %% tags=["skip-grading"]
tests = {
    "task 1, known names": make_stories(1, 120, seed=910),
    "task 1, unseen names": make_stories(1, 120, seed=911, names=UNSEEN_NAMES),
    "task 2, known names": make_stories(2, 60, seed=912),
}
finders = {"any place": lambda some: [any_place(one) for one in some],
           "a rule for task 1": lambda some: [place_beside_the_name(one)
                                              for one in some],
           "your reader": lambda some: said_texts(some, ask(asked, some))}
seconds = dict.fromkeys(finders, 0.0)
for name, examples in tests.items():
    right = {}
    for who, find in finders.items():
        began = time.perf_counter()
        right[who] = exactly(find(examples), examples)
        seconds[who] += time.perf_counter() - began
    show_scores(f"test, {name}: exact match", right,
                [one.document for one in examples], beside="any place")
megabytes = 4 * reader.count_params() / 1e6
show_table(
    [f"{sum(map(len, tests.values()))} stories", "MB of weights", "seconds"],
    [[who, f"{megabytes if who == 'your reader' else 0:.0f}", f"{each:.2f}"]
     for who, each in seconds.items()])

# %% [markdown]
# When this lab was written, the reader was right about 99.2 % of the test stories with known names and 98.3 % of those with unseen names. That is what the
# development sets had promised. On task 2 it could not be told apart from any place. The rule needs no weights and a hundredth of a second.
#
# ### Your own text
#
# Change names, add sentences, ask about somebody who is not there.

# %% tags=["skip-grading"]
from course_utils.plots.spans import question_box

question_box(
    lambda question, context: Answered(*answer(question, context, asked, tokenize)),
    [
        ("Where is Jane?", "Jane travelled to the airport. Peter went to the office. "
                           "Jane ran to the market."),
        ("Where is Napoleon?", "Jane travelled to the airport. Peter went to the "
                               "office. Jane ran to the market."),
    ],
)

# %% [markdown]
# ## 7. At work (optional)
#
# ### `fit` instead of your own loop
#
# Your loop is about twenty lines. Colleagues expect more of a training run: checkpoints, early stopping, a log, several GPUs. You would have to add
# all this yourself. Keras has a loop that can do it already: `fit`. Does it do the same as yours? It needs three things: a dataset, an optimizer, and
# a model with a *method* `train_step`. You nearly have them.
#
# **The dataset.** Your `padded_batches` takes windows in the order given. `tf.data` can do the rest, too: `bucket_by_sequence_length` puts windows of
# similar length together, and `prefetch` makes the next batch while the model is busy with this one. The stories here are of task 2, which is harder:
# people carry the thing that the question asks for.

# %% tags=["skip-grading"]
def bucketed(
    features: list[dict], boundaries: list[int], batch_size: int
) -> tf.data.Dataset:
    """Batches in random order; in each, windows from one bucket of lengths."""
    rows = padded_batches(features, 1).unbatch().cache()  # single windows, made once
    return (
        rows.shuffle(len(features), seed=0)
        .bucket_by_sequence_length(
            lambda row: tf.size(row["input_ids"]),
            boundaries, [batch_size] * (len(boundaries) + 1),
        )
        .prefetch(tf.data.AUTOTUNE)
    )


harder = make_stories(2, 320, seed=120)
features = [unpadded(window) for one in harder
            for window in features_of(one, tokenize, 160, 48)]
rows = []
for name, boundaries in {"one for all": [], "four buckets": [50, 58, 66]}.items():
    batches = bucketed(features, boundaries, BATCH_SIZE)
    masks = [batch["attention_mask"].numpy() for batch in batches]
    places = sum(mask.size for mask in masks)
    padding = 1 - sum(mask.sum() for mask in masks) / places
    rows.append([name, str(len(masks)), f"{places:,}", f"{padding:.1%}"])
show_table(["buckets", "batches", "places computed", "padding"], rows)

# %% [markdown]
# **The model.** `Fitted` is a thin shell: your reader is in it, with the same weights, and your step is its method. `fit` calls that as a graph, with
# the optimizer from `compile`. Now the trap. The loss that `fit` reports is a mean over the epoch, and it comes from Keras's own **metric**, which your
# step has to feed. If you return only `{"loss": loss}`, nothing complains and the training is right, but `fit` reports a loss of 0.
#
# **The callback.** A callback does everything else that should happen before or after a batch or an epoch. Here it sets the learning rate of each
# step, and keeps a list of the losses.

# %% tags=["skip-grading"]
class Fitted(keras.Model):
    """Your reader as `fit` wants it."""

    def __init__(self, reader) -> None:
        super().__init__()
        self.reader = reader

    def train_step(self, batch: dict) -> dict:  # the method calls your function
        loss = train_step(self.reader, self.optimizer, batch)
        (mean,) = self.metrics  # Keras keeps it, and starts it anew at each epoch
        mean.update_state(loss)
        return {"loss": mean.result(), "batch_loss": loss}


class Watch(keras.callbacks.Callback):
    """Sets the learning rate before each step, and keeps the loss after it."""

    def on_train_begin(self, logs=None):
        self.losses, self.ended = [], [time.perf_counter()]

    def on_train_batch_begin(self, batch, logs=None):
        self.model.optimizer.learning_rate = rate_at(batch + 1, self.params["steps"])

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(float(logs["batch_loss"]))
        self.ended.append(time.perf_counter())

# %% [markdown]
# Both loops begin with the reader as it is now, and take the same few small batches of task 2. To be quick, they train only the head and the last of
# the encoder's six layers. This time your own loop calls your step directly, without a graph.

# %% tags=["skip-grading"]
FIT_STEPS, LOOP_STEPS = (8 if RUN_TRAINING else 4), 4
# The same batches for both.
few = bucketed(features, [50, 58, 66], batch_size=4).take(FIT_STEPS).cache()
for layer in reader.encoder.layers:
    layer.trainable = layer.name.startswith("layer_5")
before = [weight.numpy() for weight in reader.trainable_weights]


def new_optimizer():
    optimizer = keras.optimizers.AdamW(RATE, weight_decay=0.01)
    optimizer.build(reader.trainable_variables)
    return optimizer


def by_hand() -> tuple[list[float], list[float]]:
    """The losses of your loop's first steps, and the seconds of each."""
    optimizer, losses, ended = new_optimizer(), [], [time.perf_counter()]
    for number, batch in enumerate(few, 1):  # to the end, or nothing is cached
        if number <= LOOP_STEPS:
            optimizer.learning_rate = rate_at(number, FIT_STEPS)
            losses.append(float(train_step(reader, optimizer, batch)))
            ended.append(time.perf_counter())
    return losses, np.diff(ended)


def as_before() -> None:
    for weight, array in zip(reader.trainable_weights, before, strict=True):
        weight.assign(array)


# %% tags=["skip-grading"]
losses, spent = by_hand()
as_before()
fitted, watch = Fitted(reader), Watch()
fitted.compile(optimizer=new_optimizer())
result = fitted.fit(
    few.repeat(), steps_per_epoch=FIT_STEPS, shuffle=False, callbacks=[watch], verbose=0
)  # shuffle=False: the dataset has done it
as_before()  # so few steps of task 2 teach little
for layer in reader.encoder.layers:
    layer.trainable = not layer.name.endswith("_embeddings")
np.testing.assert_allclose(watch.losses[:LOOP_STEPS], losses, rtol=1e-3)
np.testing.assert_allclose(result.history["loss"], np.mean(watch.losses), rtol=1e-3)
show_table(
    ["the loss of step", *map(str, range(1, LOOP_STEPS + 1)),
     "first step", "then, each"],
    [
        [name, *(f"{loss:.4f}" for loss in found[:LOOP_STEPS]),
         f"{times[0]:.1f} s", f"{np.median(times[1:]):.2f} s"]
        for name, found, times in (
            ("your loop", losses, spent), ("`fit`", watch.losses, np.diff(watch.ended))
        )
    ],
)  # fmt: skip
print(f"fit reports {result.history['loss'][0]:.4f}: "
      f"the mean of its {FIT_STEPS} losses")

# %% [markdown]
# The losses agree to within rounding. So choose by how much code you want to write, and how much you want to see. `fit` needs less code, and works with callbacks that
# others have published. In your loop nothing is hidden: two models that train each other, or a batch that depends on the last loss, are easier there.
# The first step of `fit` makes the graph. Compare the seconds in the last two columns: how many steps does it take until that has paid off? And what
# `fit` reports is the mean over the whole epoch, so early in training it lags behind.
#
# ### Out of the notebook: a SavedModel
#
# Your reader answers only while this notebook is running. A website, a phone or a program in C++ knows neither your classes nor Keras. For them TensorFlow
# has the **SavedModel**: a folder with a *graph* and its weights, but without Python. What you hand over is a `tf.Module` with a function that has an input
# signature: the widths are open, the types are fixed, and `training=False` is part of the graph. TensorFlow Serving runs such a folder behind a web
# address; here this notebook is the server. It loads the folder with `tf.saved_model.load`, without any of your classes. Then the folder is deleted.

# %% tags=["skip-grading"]
class Service(tf.Module):
    """What others get: the weights, and one function that reads a batch of windows."""

    def __init__(self, reader) -> None:
        super().__init__()
        self.variables_of_reader = reader.variables  # what is not kept is not saved
        named = [tf.TensorSpec(spec.shape, spec.dtype, name)
                 for name, spec in SIGNATURE.items()]

        @tf.function(input_signature=named)
        def read(input_ids, attention_mask, token_type_ids, allowed):
            parts = (input_ids, attention_mask, token_type_ids, allowed)
            start_logits, end_logits = reader(dict(zip(SIGNATURE, parts, strict=True)),
                                              training=False)
            return {"start_logits": start_logits, "end_logits": end_logits}

        self.read = read

# %% tags=["skip-grading"]
import tempfile
from pathlib import Path

tf.get_logger().setLevel("WARNING")  # it would report where it writes
with tempfile.TemporaryDirectory() as folder:
    service = Service(reader)
    tf.saved_model.save(service, folder, signatures={"read": service.read})
    sizes = {file.relative_to(folder): file.stat().st_size / 1e6
             for file in sorted(Path(folder).rglob("*")) if file.is_file()}
    show_table(["file", "MB"], [[f"`{name}`", f"{sizes[name]:.1f}"] for name in sizes])
    loaded = tf.saved_model.load(folder)
    print("loaded as", type(loaded).__name__, "with", list(loaded.signatures))

# %% [markdown]
# The folder is gone, but the loaded graph still works. It takes tensors, not a question: the tokenizer, the windows and the best span are not in it.
# If you serve a reader, ship those too, in the same version. Here your `answer` does that part, and gets the loaded graph as its model.

# %% tags=["skip-grading"]
def served(inputs: dict, training: bool = False):
    """The loaded graph, called like the reader."""
    found = loaded.signatures["read"](**{
        name: tf.cast(inputs[name], spec.dtype) for name, spec in SIGNATURE.items()
    })
    return found["start_logits"], found["end_logits"]


context = ("Jane travelled to the airport. Peter went to the office. "
           "Jane ran to the market.")
rows = []
for question in ("Where is Jane?", "Where is Peter?"):
    start, end, margin = answer(question, context, served, tokenize)
    rows.append([question, context[start:end], f"{margin:.1f}"])
show_table(["question", "answer", "margin"], rows)

# %% tags=["skip-grading"]
arrays, rows = stacked(windows_of("Where is Jane?", context, tokenize, 160, 48)), []
mine = [np.asarray(part) for part in reader(arrays)]
for name, model in {"Keras": reader, "your graph": asked, "SavedModel": served}.items():
    times = []
    for _ in range(5):
        began = time.perf_counter()
        found = model(arrays, training=False)
        times.append(time.perf_counter() - began)
    apart = max(np.abs(np.asarray(a) - b).max()
                for a, b in zip(found, mine, strict=True))
    assert apart < 1e-3
    rows.append([name, f"{1000 * min(times):.0f} ms", f"{apart:.0e}"])
show_table(["one window through", "time", "largest difference from Keras"], rows)

# %% [markdown]
# The logits are the same as your reader's, without its code. (Keras can write the folder itself, with `keras.export.ExportArchive` or `model.export`.
# It is worth looking at the size afterwards: with the versions of this course, `ExportArchive` wrote every weight of this reader twice, 181 MB.)
#
# ### With a network: a reader of full size
#
# Everything so far came with the course. Transformers 5 has PyTorch classes only, and `TFAutoModelForQuestionAnswering` is gone. But the weights of a
# model on the Hugging Face hub are a file of names and arrays, which is not tied to a framework. So you can read them into **your** reader: the
# encoder as before, and the head, which is called `qa_outputs` there, through your `weights_from_torch`.
#
# If this computer has a network, set `ONLINE = True`. The last of these cells then fetches a MiniLM with 12 layers, fine-tuned on SQuAD 2.0 (133 MB), and that set's
# validation questions (Rajpurkar et al. 2018). Half of them have no answer, so your threshold matters, too. On the whole set the model's card reports an exact
# match of 76.1 and an F1 of 79.5. The Keras encoder has the layers of BERT, as this model has. Lab 10's DistilBERT has other layers, so its weights
# do not fit.

# %% tags=["skip-grading"]
from functools import partial

from safetensors import safe_open
from transformers.utils import cached_file

from course_utils.models.pretrained import fetch


def reader_from_hub(model_name: str) -> Reader:
    """Your reader, with the weights of a BERT that was fine-tuned on questions."""
    path = fetch(partial(cached_file, filename="model.safetensors"), model_name)
    with safe_open(path, framework="np") as file:
        state = {f"linear.{part}": file.get_tensor(f"qa_outputs.{part}")
                 for part in ("weight", "bias")}
    model = Reader(model_name)
    model(stacked(windows_of("Where?", "Here.", tokenize, 16, 2)))  # makes the head
    model.head.set_weights(weights_from_torch(state))
    return model

# %% tags=["skip-grading"]
import datasets

from course_utils.models.reader import squad_scores


def read_from_hub(model_name: str, data_name: str, count: int = 200) -> dict:
    """Exact match and F1 of each of the first validation questions, by kind."""
    cut = load_tokenizer(model_name)
    special = cut.cls_token_id, cut.sep_token_id, cut.pad_token_id
    if special != (101, 102, 0):
        raise ValueError(f"{model_name} has other special tokens than BERT: {special}")
    model = compiled(reader_from_hub(model_name))
    rows = datasets.load_dataset(data_name)["validation"]
    scores = {"has an answer": [], "has none": []}
    for row in rows.select(range(min(count, len(rows)))):
        asked = row["question"], row["context"]
        start, end, _ = answer(*asked, model, pieces(cut), 384, 128, 30)
        right = row["answers"]["text"]
        kind = "has an answer" if right else "has none"
        scores[kind].append(squad_scores(row["context"][start:end], right))
    return scores

# %% tags=["skip-grading"]
from course_utils.models.pretrained import hub_reachable

ONLINE = False
HUB_MODEL = "deepset/minilm-uncased-squad2"
HUB_DATA = "rajpurkar/squad_v2"

if not ONLINE:
    print("ONLINE is False: nothing is fetched. With True,")
    print(f"{HUB_MODEL} would answer questions of {HUB_DATA} as your reader.")
elif not hub_reachable():
    print("the hub cannot be reached; run this cell again where there is a network")
else:
    datasets.disable_progress_bars()
    rows = [[kind, str(len(pairs)),
             *(f"{100 * share:.1f}" for share in np.mean(pairs, axis=0))]
            for kind, pairs in read_from_hub(HUB_MODEL, HUB_DATA).items() if pairs]
    show_table(["the question", "how many", "exact match in %", "F1"], rows)

# %% [markdown]
# ## Common mistakes, by their symptom
#
# | what you see | likely cause |
# |---|---|
# | the loss hardly moves, and differs from lab 10's | logits treated as probabilities: `from_logits=True` forgotten |
# | logits differ from PyTorch's in the first digit | the kernel reshaped instead of transposed |
# | every window has the answer of the first one | the table flattened over the batch axis |
# | a new line about retracing, and a long wait, at every batch | no input signature: a graph for every width |
# | `'SymbolicTensor' object has no attribute 'numpy'` | `.numpy()` inside a graph: there the tensor has no value yet |
# | `OperatorNotAllowedInGraphError` | `if` on a tensor in code that AutoGraph does not rewrite, such as a library's |
# | a list has one entry after a hundred steps | Python's side effects happen while a graph is traced, not when it runs |
# | no gradients: `None` in the list | the forward pass is not on the tape, or went through NumPy |
# | right on long windows, wrong on short ones in the same batch | no attention mask: the model reads padding, too |
# | impossible spans win now and then | 0 instead of a very low score outside the band |
# | `fit` reports a loss of 0 | a `train_step` of your own that returns its loss and does not update Keras's metric |
# | a loaded SavedModel refuses arrays that the Keras model takes | other types: NumPy's whole numbers have 64 bits, the signature says 32 |

# %% [markdown]
# ## Review quiz

# %% tags=["skip-grading"]
from course_utils import quiz

quiz("question_answering_tensorflow")

# %% [markdown]
# ## Going further
#
# - **More in the graph.** Let the `Service` call your `best_spans`, too: then a program in another language gets places instead of logits. How large is the folder if
#   you save the weights as `tf.float16`?
# - **No answer.** Add stories with questions about somebody who is not in them. How many does it take until the margin means something?
# - **One weights file for both.** Save your trained reader's head and encoder as safetensors with PyTorch's names, and load them in lab 10.
# - [Abadi et al. (2016)](https://arxiv.org/abs/1605.08695) on TensorFlow's graphs; Devlin et al. (2019), [*BERT*](https://arxiv.org/abs/1810.04805), sections 4.2 and 4.3.
#
# Save the notebook. If your course uses nbgrader, press **Validate**, then submit it.
