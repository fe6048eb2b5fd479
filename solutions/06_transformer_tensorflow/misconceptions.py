"""Wrong ways to write lab 06's exercises. Each must lose points and be recognised as itself."""

from types import SimpleNamespace

import numpy as np

from course_utils.models.keras_translator import positional_encoding
from course_utils.quiet import without_startup_messages
from grader.catalogue import slip, stand_in

with without_startup_messages():
    import keras
    import tensorflow as tf
    from keras import ops


def create_padding_mask(token_ids, pad_id=0):
    return ops.not_equal(token_ids, pad_id)[:, None, None, :]


def create_look_ahead_mask(token_ids):
    place = ops.cumsum(ops.ones_like(token_ids), axis=1)
    return ops.greater_equal(place[:, None, :, None], place[:, None, None, :])

CUT_OFF = "The result is cut off from what it is computed from, so nothing before it can be trained."

WHAT_CUTS_IT_OFF = (
    "Your numbers are right, but no gradient gets past them. In training, gradients flow from the loss back "
    "through every step to the weights. `stop_gradient`, `.numpy()` and any other detour through NumPy stop "
    "them. Which of these do you use, and what for?"
)

# What the notebook has beside the exercise in question; in a submission it is the learner's own. The layers here stand in
# for the solution's: they have the same parts and give the same numbers and gradients, by few operations of TensorFlow. Keras takes
# many times as long for a call, and the misconceptions below are called thousands of times. A test compares the two.


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
    return tf.convert_to_tensor(getattr(x, "value", x))


def linear(dense, x):
    return x @ array(dense.kernel) + array(dense.bias)


def normalised(norm, x, epsilon):
    centred = x - tf.reduce_mean(x, axis=-1, keepdims=True)
    scale = tf.math.rsqrt(tf.reduce_mean(centred * centred, axis=-1, keepdims=True) + epsilon)
    return centred * scale * array(norm.gamma) + array(norm.beta)


def widened(network, x):
    first, first_bias, second, second_bias = map(array, network.weights)
    return tf.nn.relu(x @ first + first_bias) @ second + second_bias


def attended(attention, num_heads, query, memory, mask):
    def heads(dense, x):
        parts = tf.reshape(linear(dense, x), (tf.shape(x)[0], tf.shape(x)[1], num_heads, x.shape[-1] // num_heads))
        return tf.transpose(parts, (0, 2, 1, 3))

    queries, keys = heads(attention.query_dense, query), heads(attention.key_dense, memory)
    scores = tf.matmul(queries, keys, transpose_b=True) * queries.shape[-1] ** -0.5
    if mask is not None:
        scores = tf.where(array(mask), scores, -1e9)
    weights = tf.nn.softmax(scores)
    mixed = weights @ heads(attention.value_dense, memory)
    return linear(attention.output_dense, tf.reshape(tf.transpose(mixed, (0, 2, 1, 3)), tf.shape(query))), weights


DRAWS = np.random.default_rng(0)  # which numbers are dropped does not matter: the checks see what is left of them


def dropped(x, rate, training):
    if not training or rate == 0:
        return x
    kept = DRAWS.random(x.shape, np.float32) >= rate
    return x * (kept / np.float32(1 - rate) if rate < 1 else 0)


@stand_in
class FullyConnected(Quick):
    def __init__(self, embedding_dim, fully_connected_dim):
        super().__init__()
        self.network = self.feed_forward(embedding_dim, fully_connected_dim)

    def call(self, x, training=None):
        return widened(self.network, x)


@stand_in
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


@stand_in
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
        vectors = tf.gather(array(self.embedding.embeddings), ids) * self.width**0.5
        return dropped(vectors + self.pos_encoding[: tf.shape(ids)[1]], self.rate, training)

    def end(self, x):
        return normalised(self.layernorm, x, self.epsilon) if self.norm_first else x


@stand_in
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


@stand_in
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

slip("FullyConnected", "no_activation", "No ReLU acts between the two layers.",
     "Two linear layers with nothing in between can do no more than a single one, so the extra width would "
     "be useless. What stands between them in equation 2?",
     (', activation="relu"', ""))

slip("FullyConnected", "activation_at_the_end", "The ReLU comes after the second layer instead of the first.",
     "Where does equation 2 take the maximum with 0? After the second layer, it would remove everything "
     "negative from the result.",
     (', activation="relu"', ""), ("Dense(embedding_dim)", 'Dense(embedding_dim, activation="relu")'))

slip("FullyConnected", "activation_twice", "There is a ReLU after each of the two layers.",
     "Equation 2 has one maximum, not two. The second layer's output is added to x, so it must be able to "
     "lower a feature as well as raise it.",
     ("Dense(embedding_dim)", 'Dense(embedding_dim, activation="relu")'))

slip("FullyConnected", "gelu_instead", "The activation is GELU instead of ReLU.",
     "GELU is what BERT and GPT use, and it is a fine choice for a model of your own. The paper uses ReLU, "
     "and so does the model whose weights you load later.",
     ('"relu"', '"gelu"'))

slip("FullyConnected", "widths_swapped",
     "The first layer has embedding_dim features instead of fully_connected_dim.",
     "The network first widens the vectors. Then it brings them back to the width of the words, so that the "
     "result can be added to x. Which argument says how wide it is in between?",
     ("Dense(fully_connected_dim", "Dense(embedding_dim"),
     ("Dense(embedding_dim)", "Dense(fully_connected_dim)"))

slip("FullyConnected", "one_layer_only", "There is only one layer, from embedding_dim to embedding_dim.",
     "The network has two layers, and it is wider in between. The extra width lets it tell many cases apart.",
     ('Dense(fully_connected_dim, activation="relu"),\n'
      "        keras.layers.Dense(embedding_dim),",
      'Dense(embedding_dim, activation="relu"),'))

slip("FullyConnected", "dropout_inside", "In training the output is different, as with dropout.",
     "Equation 2 has no dropout. In the paper, dropout is applied to this network's *output*, before it is "
     "added to x. The layer around this network does that.",
     ('activation="relu"),\n', 'activation="relu"),\n        keras.layers.Dropout(0.1),\n'))


slip("FullyConnected", "no_gradient", CUT_OFF, WHAT_CUTS_IT_OFF,
     ('keras.layers.Dense(embedding_dim),', 'keras.layers.Dense(embedding_dim),\n        keras.layers.Lambda(ops.stop_gradient),'))


# ---------------------------------------------------------------------------------- EncoderLayer

slip("EncoderLayer", "norm_first_inverted", "norm_first=True gives post-norm, and norm_first=False gives pre-norm.",
     "Both forms are right, but they are swapped: norm_first=True means pre-norm.",
     ("self.norm_first = norm_first", "self.norm_first = not norm_first"))

slip("EncoderLayer", "residuals_missing",
     "The residual connections are missing: x is not added to the output of a sub-layer.",
     "“Add & norm” has two halves, and the sum is missing. Without it, everything that a sub-layer does not "
     "pass on is lost, and gradients have no direct way past the sub-layers.",
     ("x = x + self.dropout", "x = self.dropout", 2))

slip("EncoderLayer", "second_residual_from_the_layer_s_input",
     "The feed-forward network's output is added to the layer's input instead of the attention's result.",
     "Add what *this* sub-layer was given. The feed-forward network was given the attention's result, not "
     "the layer's input. If you add that input, the attention's result is missing from the sum.",
     ("x = x + self.dropout1(", "given, x = x, x + self.dropout1("),
     ("x = x + self.dropout2(", "x = given + self.dropout2("))

slip("EncoderLayer", "same_norm_twice", "A single LayerNormalization is used for both sub-layers.",
     "Each sub-layer has its own LayerNormalization, with its own γ and β. New ones are all alike (γ = 1, β "
     "= 0), so the mistake does not show before training.",
     ("self.layernorm2 = keras.layers.LayerNormalization(epsilon=layernorm_eps)",
      "self.layernorm2 = self.layernorm1"))

slip("EncoderLayer", "second_norm_never_used", "layernorm2 is created but never called.",
     "Keras creates a layer's weights when the layer is called, so this one never gets any. Each sub-layer "
     "has its own norm. Count how often you call each of the two.",
     ("self.layernorm2(x)", "self.layernorm1(x)", 2))

slip("EncoderLayer", "norm_before_add", "Post-norm normalises the sub-layer's output and adds x afterwards.",
     "“Add & norm” also gives the order: first add, then normalise the *sum*. Your sum is not normalised, so "
     "your layer is neither post-norm nor pre-norm.",
     ("x = x + self.dropout1(attended, training=training)\n"
      "        if not self.norm_first:\n"
      "            x = self.layernorm1(x)",
      "attended = self.dropout1(attended, training=training)\n"
      "        x = x + (attended if self.norm_first else self.layernorm1(attended))"),
     ("x = x + self.dropout2(widened, training=training)\n"
      "        if not self.norm_first:\n"
      "            x = self.layernorm2(x)",
      "widened = self.dropout2(widened, training=training)\n"
      "        x = x + (widened if self.norm_first else self.layernorm2(widened))"))

slip("EncoderLayer", "norm_first_ignored", "The layer is always post-norm, whatever norm_first says.",
     "Your layer is right for the paper's order. With norm_first=True, the norm is applied to the "
     "sub-layer's input instead of the sum, and the sum stays as it is.",
     ("self.norm_first = norm_first", "self.norm_first = False"))

slip("EncoderLayer", "pre_norm_of_the_queries_only",
     "In pre-norm only the queries are normalised; keys and values come from x as it is.",
     "In self-attention, queries, keys and values come from *one* sequence. In pre-norm, all three come from "
     "the normalised copy.",
     ("self.mha(asked, asked,", "self.mha(asked, x,"))

slip("EncoderLayer", "pre_norm_added_to_the_norm",
     "In pre-norm the sub-layer's output is added to the normalised x instead of x.",
     "A pre-norm layer never normalises its residual path: that is the point of it. So what should the "
     "output be added to?",
     ("asked = self.layernorm1(x)", "asked = x = self.layernorm1(x)"),
     ("widened = self.ffn(self.layernorm2(x) if self.norm_first else x)",
      "x = self.layernorm2(x) if self.norm_first else x\n"
      "        widened = self.ffn(x)"))

slip("EncoderLayer", "mask_not_handed_on", "The mask has no effect.",
     "The layer is given a mask, but its words still attend to padding. Look up how Keras's attention takes "
     "a mask.",
     (", attention_mask=mask", ""))

slip("EncoderLayer", "mask_of_padding", "The mask is inverted, as if True meant padding.",
     "In this course, and in Keras's attention, True means *may attend*. (In torch.nn.MultiheadAttention, "
     "and in some texts, it means *blocked*.) You do not need to invert the mask.",
     ("attention_mask=mask", "attention_mask=None if mask is None else ops.logical_not(mask)"))

slip("EncoderLayer", "dropout_always_on", "Dropout acts in every call, whatever training says.",
     "Your layer gives a different answer each time it is called. Only the caller knows whether this is "
     "training, and it says so with an argument.",
     ("training=training", "training=True", 2))

slip("EncoderLayer", "dropout_never_on", "In training, dropout has no effect.",
     "Your layer drops nothing in training. It needs a Dropout for the output of each sub-layer. Does that "
     "Dropout know when it is training, and do you use what it returns?",
     ("training=training", "training=False", 2))

slip("EncoderLayer", "dropout_of_the_sum", "Dropout acts on the sum instead of the sub-layer's output.",
     "The residual path must stay whole. Dropout acts only on what a sub-layer *adds*, before it is added "
     "and normalised (section 5.4 of the paper).",
     ("x = x + self.dropout1(attended,", "x = self.dropout1(x + attended,"),
     ("x = x + self.dropout2(widened,", "x = self.dropout2(x + widened,"))

slip("EncoderLayer", "dropout_inside_the_attention",
     "The first dropout acts inside the attention instead of on its output.",
     "`MultiHeadAttention(dropout=...)` drops attention *weights*. Some courses do it that way. This model "
     "drops parts of the sub-layer's output, after its last linear layer.",
     ("key_dim=embedding_dim // num_heads", "key_dim=embedding_dim // num_heads, dropout=dropout_rate"),
     ("attention_mask=mask", "attention_mask=mask, training=training"),
     ("self.dropout1(attended, training=training)", "attended"))

slip("EncoderLayer", "dropout_inside_the_attention_too",
     "Dropout acts inside the attention as well, on the attention weights, for example.",
     "You apply dropout to the output of each sub-layer, which is right. But attention weights are dropped "
     "as well, as `MultiHeadAttention(dropout=...)` does. This model has no dropout inside the attention.",
     ("key_dim=embedding_dim // num_heads", "key_dim=embedding_dim // num_heads, dropout=dropout_rate"))

slip("EncoderLayer", "heads_of_full_width",
     "Each head is as wide as the whole model: key_dim is embedding_dim.",
     "`key_dim` is the size of one head. With embedding_dim for each head, the layer works, but it has "
     "num_heads times as many weights. In the paper, the heads share the width among them.",
     ("key_dim=embedding_dim // num_heads", "key_dim=embedding_dim"))

slip("EncoderLayer", "epsilon_of_keras",
     "The norms use an epsilon of 1e-3, which is Keras's own, whatever layernorm_eps says.",
     "Your numbers are nearly right. Unless you choose an epsilon, Keras's LayerNormalization uses its own "
     "default, which is much larger than the one asked for.",
     ("LayerNormalization(epsilon=layernorm_eps)", "LayerNormalization()", 2))

slip("EncoderLayer", "layers_made_in_call", "The attention is created anew in every call.",
     "A layer that is created in `call` has new random weights each time, so it can never be trained. Create "
     "the parts in `__init__`, and only use them in `call`.",
     ("self.mha = keras.layers.MultiHeadAttention(\n"
      "            num_heads, key_dim=embedding_dim // num_heads\n"
      "        )",
      "self.sizes = num_heads, embedding_dim // num_heads"),
     ("self.mha(asked", "keras.layers.MultiHeadAttention(*self.sizes)(asked"),
     ("self.dropout1 = keras.layers.Dropout(dropout_rate)\n"
      "        self.dropout2",
      "self.dropout"),
     ("self.dropout1(attended", "self.dropout(attended"), ("self.dropout2(widened", "self.dropout(widened"))

slip("EncoderLayer", "dropout_inside_the_attention_only", "Dropout acts inside the attention, and nowhere else.",
     "`MultiHeadAttention(dropout=...)` drops attention *weights*. This model applies dropout to the output "
     "of both sub-layers: the attention and the feed-forward network.",
     ("key_dim=embedding_dim // num_heads", "key_dim=embedding_dim // num_heads, dropout=dropout_rate"),
     ("attention_mask=mask", "attention_mask=mask, training=training"),
     ("self.dropout1(attended, training=training)", "attended"),
     ("self.dropout2(widened, training=training)", "widened"))

slip("EncoderLayer", "training_by_position", "training is handed to a layer by position: `layer(x, training)`.",
     "Keras takes only tensors by position; options such as `training` are passed by name.",
     ("attended, training=training", "attended, training"), ("widened, training=training", "widened, training"))


slip("EncoderLayer", "no_gradient", CUT_OFF, WHAT_CUTS_IT_OFF,
     ('self.layernorm2(x)\n        return x', 'self.layernorm2(x)\n        return ops.stop_gradient(x)'))


# ---------------------------------------------------------------------------------- Encoder

slip("Encoder", "embeddings_not_scaled", "The embeddings lack the factor √embedding_dim.",
     "Section 3.4 of the paper multiplies the embeddings by √d_model. Without that, the positions, whose "
     "entries go up to 1, drown out the words.",
     (" * self.embedding_dim**0.5", ""))

slip("Encoder", "embeddings_divided", "The embeddings are divided by the square root of embedding_dim.",
     "Attention divides its scores by such a square root. But embeddings start out small, so they should be "
     "made larger.",
     ("embedding_dim**0.5", "embedding_dim**-0.5"))

slip("Encoder", "scaled_by_the_whole_width",
     "The embeddings are multiplied by embedding_dim instead of its square root.",
     "Close: the factor in section 3.4 of the paper is a square root. With the whole width, the words drown "
     "out the positions.",
     ("self.embedding_dim**0.5", "self.embedding_dim"))

slip("Encoder", "positions_scaled_too", "The positions are multiplied by √embedding_dim, too.",
     "Only the embeddings are scaled. Then the positions are added, unchanged.",
     ("(self.embedding(x) * self.embedding_dim**0.5\n"
      "             + self.pos_encoding[: ops.shape(x)[1]])",
      "(self.embedding(x) + self.pos_encoding[: ops.shape(x)[1]]) * self.embedding_dim**0.5"))

slip("Encoder", "positions_forgotten", "The layers read the embeddings without the positions.",
     "Attention does not see the order of words (lab 04). Nothing tells your model that *Jane* comes first.",
     (" + self.pos_encoding[: ops.shape(x)[1]]", ""))

slip("Encoder", "embeddings_not_dropped", "Dropout has no effect on the sum of embeddings and positions.",
     "Your layers have their dropout. But section 5.4 of the paper also applies it to the sum of embeddings "
     "and positions, before the first layer.",
     ("        x = self.dropout(x, training=training)\n", ""))

slip("Encoder", "mask_not_handed_on_to_the_layers", "The mask has no effect on the layers.",
     "The encoder is given a mask, but its layers still look at padding. Pass the mask on to each of them.",
     (", mask=mask", ""))

slip("Encoder", "last_layer_only", "Only the last layer has an effect: it reads the embeddings.",
     "The layers form a chain: the output of one layer is the input of the next. Whose output does your "
     "last layer read?",
     ("for layer in self.enc_layers",
      "given = x\n"
      "        for layer in self.enc_layers"),
     ("layer(x, training", "layer(given, training"))

slip("Encoder", "one_layer_many_times", "A single layer is created, and it is in the list num_layers times.",
     "`[layer] * n` makes a list that contains *one* layer n times, so every place has the same weights. "
     "Create a new layer for each place.",
     ("            for _ in range(num_layers)\n"
      "        ]",
      "        ] * num_layers"))

slip("Encoder", "last_norm_forgotten", "A pre-norm stack ends without a LayerNormalization.",
     "A pre-norm stack never normalises its sums, so they grow from layer to layer. Something has to bring "
     "them back at the end.",
     ("        if self.norm_first:\n"
      "            x = self.layernorm(x)\n",
      ""))

slip("Encoder", "last_norm_always", "A post-norm stack also ends with a LayerNormalization.",
     "The last layer of a post-norm stack already ends with a norm. Only a pre-norm stack needs one more.",
     ("if norm_first:\n"
      "            self.layernorm =",
      "self.layernorm ="),
     ("if self.norm_first:\n"
      "            x =",
      "x ="))

slip("Encoder", "norm_first_not_handed_on", "The layers are always post-norm, whatever norm_first says.",
     "Your stack has its last norm, but its layers do not know about norm_first. They take an argument for "
     "it, too.",
     ("layernorm_eps, norm_first,", "layernorm_eps,"))


slip("Encoder", "no_gradient", CUT_OFF, WHAT_CUTS_IT_OFF,
     ('self.layernorm(x)\n        return x', 'self.layernorm(x)\n        return ops.stop_gradient(x)'))


# ---------------------------------------------------------------------------------- DecoderLayer

slip("DecoderLayer", "the_encoder_s_output_asks",
     "In block 2 the queries come from the encoder's output, and the keys and values from the decoder.",
     "The decoder writes the translation, so its words ask, and there is one row for each *target* word. The "
     "encoder's output answers, with keys and values.",
     ("asked, enc_output, attention_mask=padding_mask", "enc_output, asked"))

slip("DecoderLayer", "keys_from_the_decoder",
     "In block 2 the values come from the encoder's output, but the keys from the decoder's words.",
     "Comparing queries with keys gives the weights, and the weights are applied to the values. So each "
     "value needs one key, and both come from the encoder's output.",
     ("asked, enc_output,", "asked, enc_output, asked,"))

slip("DecoderLayer", "never_looks_at_the_source",
     "Block 2 is a second self-attention: the encoder's output is never used.",
     "Your decoder never looks at the French sentence, so it invents its translation. Where should the keys "
     "and values of block 2 come from?",
     ("asked, enc_output, attention_mask=padding_mask", "asked, asked, attention_mask=look_ahead_mask"))

slip("DecoderLayer", "no_look_ahead_mask", "Block 1's mask does not act, so words see the future.",
     "In training, the right answer is one place to the right. Without the look-ahead mask, your decoder "
     "simply reads it, and then it cannot write by itself.",
     (" attention_mask=look_ahead_mask,", ""))

slip("DecoderLayer", "no_padding_mask", "Block 2's mask does not act, so it looks at the source's padding.",
     "The shorter French sentences of a batch end in padding, which means nothing. Block 2 has a mask for "
     "that.",
     (" attention_mask=padding_mask,", ""))

slip("DecoderLayer", "masks_swapped", "Block 1 gets padding_mask, which is about the source's words.",
     "A mask hides keys. The keys of block 1 are the words written so far; the keys of block 2 are the "
     "French words. Which mask belongs to which block?",
     ("attention_mask=look_ahead_mask", "attention_mask=padding_mask"),
     ("attention_mask=padding_mask", "attention_mask=look_ahead_mask"))

slip("DecoderLayer", "block_2_is_causal_too",
     "Block 2 is causal as well: the n-th target word sees only the first n source words.",
     "The French sentence is known from the start, so there is no future to hide in it. *septembre* may be "
     "needed for the very first English word.",
     ("attention_mask=padding_mask,", "attention_mask=padding_mask, use_causal_mask=True,"))

slip("DecoderLayer", "one_attention_for_both", "mha2 is created but never called.",
     "Looking at your own words and looking at the French ones are different tasks, so they need different "
     "weights. One of your attention layers is never called.",
     ("self.mha2(", "self.mha1("))

slip("DecoderLayer", "residual_of_block_2_from_x",
     "The output of block 2 is added to the layer's input instead of the result of block 1.",
     "The output of each block is added to what *that block* was given. Your second sum leaves out what "
     "block 1 has found.",
     ("asked = self.layernorm1(x)",
      "given = x\n"
      "        asked = self.layernorm1(x)"),
     ("x = x + self.dropout2", "x = given + self.dropout2"))

slip("DecoderLayer", "second_norm_for_block_3_too", "layernorm2 is used for the second and the third block.",
     "There are three blocks and three norms, each with its own γ and β. New ones are all alike, so the "
     "mistake does not show before training.",
     ("self.layernorm3 = keras.layers.LayerNormalization(epsilon=layernorm_eps)",
      "self.layernorm3 = self.layernorm2"))

slip("DecoderLayer", "encoder_output_normalised",
     "In pre-norm the encoder's output is normalised once more in block 2.",
     "A pre-norm encoder ends with its own norm, so its output is already normalised. Only the decoder's x "
     "goes through the norm of the block.",
     ("asked, enc_output,", "asked, self.layernorm2(enc_output) if self.norm_first else enc_output,"))

slip("DecoderLayer", "decoder_layer_always_post_norm", "The layer is always post-norm, whatever norm_first says.",
     "Your layer is right for the paper's order. With norm_first=True, each norm is applied to its block's "
     "input instead of the sum.",
     ("self.norm_first = norm_first", "self.norm_first = False"))

slip("DecoderLayer", "weights_swapped",
     "The attention weights are returned in the wrong order: those of block 2 first.",
     "The layer returns three things, and the caller relies on their order: x, then the weights of block 1, "
     "then those of block 2.",
     ("return x, attn_weights_block1, attn_weights_block2",
      "return x, attn_weights_block2, attn_weights_block1"))

slip("DecoderLayer", "decoder_dropout_always_on", "Dropout acts in every call, whatever training says.",
     "Your translation changes each time you ask for it. Only the caller knows whether this is training, and "
     "it says so with an argument.",
     ("training=training", "training=True", 3))

slip("DecoderLayer", "decoder_dropout_inside_the_attentions_only",
     "Dropout acts inside the two attentions instead of on their outputs.",
     "`MultiHeadAttention(dropout=...)` drops attention *weights*. This model applies dropout to a "
     "sub-layer's output, before it is added.",
     ("key_dim=embedding_dim // num_heads", "key_dim=embedding_dim // num_heads, dropout=dropout_rate", 2),
     ("attention_mask=look_ahead_mask", "attention_mask=look_ahead_mask, training=training"),
     ("attention_mask=padding_mask", "attention_mask=padding_mask, training=training"),
     ("self.dropout1(attended, training=training)", "attended"),
     ("self.dropout2(attended, training=training)", "attended"))

slip("DecoderLayer", "decoder_dropout_never_on", "In training, dropout has no effect.",
     "Your layer drops nothing in training. It needs a Dropout for the output of each of the three "
     "sub-layers. Does that Dropout know when it is training, and do you use what it returns?",
     ("training=training", "training=False", 3))


slip("DecoderLayer", "enc_output_cut_off", "No gradient reaches enc_output, so the encoder cannot be trained.",
     "The decoder's own weights can learn. But the encoder learns only through its output: gradients have to "
     "reach it through block 2. What do you do to enc_output before block 2?",
     ("asked, enc_output,", "asked, ops.stop_gradient(enc_output),"))

slip("DecoderLayer", "no_gradient", CUT_OFF, WHAT_CUTS_IT_OFF,
     ('return x, attn', 'return ops.stop_gradient(x), attn'))


# ---------------------------------------------------------------------------------- Decoder

slip("Decoder", "target_embeddings_not_scaled", "The embeddings lack the factor √embedding_dim.",
     "The decoder's embeddings are treated like the encoder's. Section 3.4 of the paper multiplies both by "
     "√d_model.",
     (" * self.embedding_dim**0.5", ""))

slip("Decoder", "target_positions_forgotten", "The layers read the embeddings without the positions.",
     "The decoder must also know the order of the words it has written. The look-ahead mask alone tells a "
     "layer which words came before, but not where they stand.",
     (" + self.pos_encoding[: ops.shape(x)[1]]", ""))

slip("Decoder", "masks_not_handed_on", "The masks have no effect on the layers.",
     "The decoder is given two masks, but its layers still see the future and the padding. Pass the masks on "
     "to each of them.",
     ("                look_ahead_mask=look_ahead_mask, padding_mask=padding_mask,\n", ""))

slip("Decoder", "padding_mask_not_handed_on", "Of the two masks, only look_ahead_mask has an effect on the layers.",
     "Block 1 cannot see the future any more, but block 2 still looks at the source's padding. You have two "
     "masks to pass on.",
     (", padding_mask=padding_mask", ""))

slip("Decoder", "source_seen_by_the_first_layer_only",
     "The encoder's output goes into the first layer only; each later layer gets the output of the one "
     "before it instead.",
     "Every decoder layer asks the *encoder's* output. In your version, the second layer asks the first one. "
     "The name `enc_output` should mean the same thing throughout.",
     ("] = block2",
      "] = block2\n"
      "            enc_output, padding_mask = x, None"))

slip("Decoder", "last_layer_of_the_decoder_only",
     "Every layer gets the embeddings, so only the last layer's output counts.",
     "The layers form a chain: the output of one layer is the input of the next. Whose output does your "
     "last layer read?",
     ("for number, layer",
      "given = x\n"
      "        for number, layer"),
     ("x, enc_output, training=training", "given, enc_output, training=training"))

slip("Decoder", "names_counted_from_0", "The names of the attention weights do not count the layers from 1.",
     "The first layer is called decoder_layer1, as the docstring says. Which number does your counting start "
     "with?",
     ("start=1", "start=0"))

slip("Decoder", "weights_of_the_last_layer_only",
     "The dict holds the attention weights of a single layer.",
     "Each layer needs its own names, with its number in them. Store its weights as soon as you have called "
     "it. A dict keeps only one value for each name, so a later value overwrites an earlier one.",
     ("decoder_layer{number}_", "decoder_layer1_", 2))

slip("Decoder", "blocks_of_the_decoder_swapped",
     "The weights of block 1 are stored under the name of block 2, and the other way round.",
     "block1 is self-attention, block2 is cross-attention. In which order does a layer return them?",
     ("] = block1", "] = block2"), ("] = block2", "] = block1"))

slip("Decoder", "target_embeddings_not_dropped", "Dropout has no effect on the sum of embeddings and positions.",
     "Your layers have their dropout. But section 5.4 of the paper also applies it to the sum of embeddings "
     "and positions, in both stacks.",
     ("        x = self.dropout(x, training=training)\n", ""))

slip("Decoder", "last_norm_of_the_decoder_forgotten", "A pre-norm decoder ends without a LayerNormalization.",
     "As in the encoder, a pre-norm stack never normalises its sums, so something has to do that at the end.",
     ("        if self.norm_first:\n"
      "            x = self.layernorm(x)\n",
      ""))


slip("Decoder", "no_gradient", CUT_OFF, WHAT_CUTS_IT_OFF,
     ('return x, attention_weights', 'return ops.stop_gradient(x), attention_weights'))


# ---------------------------------------------------------------------------------- Transformer

slip("Transformer", "probabilities_for_logits", "A softmax is applied: probabilities come out instead of logits.",
     "The docstring asks for logits. The loss applies the softmax itself, in a way that does not overflow. "
     "With two softmaxes, the model hardly learns.",
     ("Dense(target_vocab_size)", 'Dense(target_vocab_size, activation="softmax")'))

slip("Transformer", "no_mask_for_the_future", "In block 1 only the padding is hidden: words see the future.",
     "The target mask has two parts, and a key must be allowed by both. Yours hides the padding but not the "
     "words to come, and those are the answers.",
     ("create_look_ahead_mask(target_ids) & ", ""))

slip("Transformer", "target_padding_in_block_2",
     "Block 2 gets the target's padding mask instead of the source's.",
     "A mask hides keys, and the keys of block 2 are the French words. If both sentences are equally long, "
     "this mistake does not even raise an error.",
     ("dec_padding_mask = enc_padding_mask", "dec_padding_mask = create_padding_mask(target_ids)"))

slip("Transformer", "no_padding_mask_in_block_2", "In block 2 the source's mask has no effect.",
     "Your decoder looks at the source's padding. You can use the encoder's mask again, because it is about "
     "the same words.",
     ("dec_padding_mask = enc_padding_mask", "dec_padding_mask = None"))

slip("Transformer", "no_padding_mask_in_the_encoder", "In the encoder the source's mask has no effect.",
     "In your encoder, French words look at padding. So extra columns of padding change your translation, "
     "and they should not.",
     (", mask=enc_padding_mask", ""))

slip("Transformer", "causal_encoder", "The encoder is causal as well.",
     "The whole French sentence is known, so its words may look ahead. Only the decoder has a future to "
     "hide.",
     ("mask=enc_padding_mask)", "mask=enc_padding_mask & create_look_ahead_mask(source_ids))"))

slip("Transformer", "masks_of_padding", "The source's padding mask is True at the padding.",
     "In this lab True means *may attend*. Your mask says where the padding is, which is the opposite.",
     ("create_padding_mask(source_ids)", "ops.logical_not(create_padding_mask(source_ids))"))

slip("Transformer", "weights_forgotten", "Only the logits are returned.",
     "The docstring asks for two results. You will look at the attention weights, which the decoder "
     "returns, later in this lab.",
     ("return logits, attention_weights", "return logits"))

slip("Transformer", "no_last_layer", "The decoder's output is returned without the last layer.",
     "The decoder returns embedding_dim numbers for each position. To choose a word you need one number for "
     "each word of English.",
     ("self.final_layer(dec_output)", "dec_output"))

slip("Transformer", "encoder_always_in_training", "In the encoder dropout acts in every call, whatever training says.",
     "Your translation of a sentence is random even with training=False. How does the encoder know whether "
     "this is training?",
     ("self.encoder(source_ids, training=training", "self.encoder(source_ids, training=True"))


@stand_in
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


slip("Transformer", "encoder_cut_off", "No gradient reaches the encoder: only the decoder can be trained.",
     "A pretrained encoder may be used in this way, but yours has learned nothing yet. What happens to its output before the decoder gets it?",
     ("target_ids, enc_output,", "target_ids, ops.stop_gradient(enc_output),"))

slip("Transformer", "no_gradient", CUT_OFF, WHAT_CUTS_IT_OFF,
     ('return logits, attention', 'return ops.stop_gradient(logits), attention'))


# ---------------------------------------------------------------------------------- masked_loss

slip("masked_loss", "padding_counts", "Positions whose label is padding count like real words.",
     "There is nothing to learn at padding. You include its loss, so more padding changes the result.",
     ("ops.sum(losses * real) / ops.sum(real)", "ops.mean(losses)"))

slip("masked_loss", "divided_by_all_positions",
     "The losses of the real labels are added up, but divided by the number of all positions.",
     "Your sum is right, but you divide it by the wrong number. How many positions have a *real* label? More "
     "padding must not make the loss smaller.",
     ("ops.sum(losses * real) / ops.sum(real)", "ops.mean(losses * real)"))

slip("masked_loss", "summed_not_averaged", "The losses are added up but not divided by anything.",
     "The result grows with the number of words in the batch, and so does the gradient. A mean does not "
     "grow.",
     (" / ops.sum(real)", ""))

slip("masked_loss", "divided_by_the_batch", "The sum is divided by the number of sentences instead of words.",
     "This way a batch of long sentences has a larger loss than one of short sentences. Each real *label* "
     "counts once: how many of them are there?",
     ("/ ops.sum(real)", "/ labels.shape[0]"))

slip("masked_loss", "mean_of_the_sentences_means",
     "The mean is taken within each sentence first, and then over the sentences.",
     "This way a word in a short sentence counts more than a word in a long one. All real labels in the "
     "batch should count the same.",
     ("ops.sum(losses * real) / ops.sum(real)",
      "ops.mean(ops.sum(losses * real, axis=1) / ops.sum(real, axis=1))"))

slip("masked_loss", "smoothing_ignored", "The smoothing has no effect: this is plain cross-entropy.",
     "Without smoothing your loss is right. With smoothing, the label gets only 1 - ε, and the other words "
     "share ε.",
     ("(1 - smoothing) * is_label + smoothing / (classes - 2) * is_other", "is_label"))

slip("masked_loss", "smoothing_of_the_pad_column_too",
     "Padding gets a share of the smoothing, as if it were a word.",
     "The right word is never padding, so the model should not learn to give padding any probability. Two "
     "classes get no share of ε: the label and the padding.",
     (" * (1 - ops.one_hot(pad_id, classes))", ""), ("classes - 2", "classes - 1"))

slip("masked_loss", "pad_column_not_emptied",
     "Padding gets a share of the smoothing, on top of those of the other words.",
     "You divide ε by the right number, but hand out one share more than that. Add up the probabilities that "
     "the model should give: the sum is above 1. Which class should get nothing?",
     (" * (1 - ops.one_hot(pad_id, classes))", ""))

slip("masked_loss", "shares_do_not_sum_to_1", "Padding is left out, but ε is divided as if it were not.",
     "Add up the probabilities that the model should give: the sum should be 1. Over how many classes do you "
     "spread ε, and what do you divide it by?",
     ("classes - 2", "classes - 1"))

slip("masked_loss", "keras_s_own_smoothing",
     "ε is spread over all classes, including the label and the padding, as Keras's label_smoothing does.",
     "Keras's `label_smoothing` gives every class ε / V, so the label and the padding get a share, too. The "
     "docstring asks for a different distribution.",
     ("smoothing / (classes - 2) * is_other", "smoothing / classes"))

slip("masked_loss", "logits_taken_for_probabilities", "The logits are taken for probabilities.",
     "Logits can be negative and do not sum to 1. If a loss expects probabilities, you have to say that it "
     "gets logits. Otherwise it clips them and takes logarithms of meaningless numbers.",
     ("ops.log_softmax(logits)",
      "ops.log(ops.clip(logits / ops.sum(logits, axis=-1, keepdims=True), 1e-7, 1.0))"))

slip("masked_loss", "softmax_twice", "The softmax is taken twice.",
     "The loss applies a softmax to what it gets. If that is already the result of a softmax, all "
     "probabilities become nearly equal, and the model learns little.",
     ("ops.log_softmax(logits)", "ops.log_softmax(ops.softmax(logits))"))

slip("masked_loss", "logarithm_of_the_softmax", "For large logits an exponential overflows or becomes 0.",
     "Your loss is right for small logits. The exponential of several hundred is too large for float32, and "
     "that of minus several hundred is 0, whose logarithm is minus infinity. One function gives the "
     "logarithm of a softmax directly and avoids both.",
     ("ops.log_softmax(logits)", "ops.log(ops.softmax(logits))"))

slip("masked_loss", "padding_is_always_0", "pad_id is ignored: padding is assumed to be 0.",
     "Your loss is right as long as padding has the id 0. Another vocabulary may use another id, so the "
     "function has an argument for it.",
     ("ops.one_hot(pad_id,", "ops.one_hot(0,"), ("ops.not_equal(labels, pad_id)", "ops.not_equal(labels, 0)"))

slip("masked_loss", "sign_forgotten", "The loss has the wrong sign.",
     "Logarithms of probabilities are negative, and training makes the loss *small*. Minimising yours makes "
     "the right word less probable.",
     ("-ops.sum(", "ops.sum("))


slip("masked_loss", "no_gradient", CUT_OFF, WHAT_CUTS_IT_OFF,
     ('return ops.sum(losses * real) / ops.sum(real)', 'return ops.stop_gradient(ops.sum(losses * real) / ops.sum(real))'))


# ---------------------------------------------------------------------------------- masked_accuracy

slip("masked_accuracy", "padding_counts_as_right", "Positions of padding count like words.",
     "Padding is easy to predict. So if a model has learned to predict it, a batch with much padding looks "
     "very good. Count only positions with a real label.",
     ('ops.sum(ops.cast(right & real, "float32")) / ops.sum(ops.cast(real, "float32"))',
      'ops.mean(ops.cast(right, "float32"))'))

slip("masked_accuracy", "accuracy_divided_by_all_positions",
     "Only real labels are counted as right, but the sum is divided by all positions.",
     "If there is much padding, even a perfect model would get a low accuracy. At how many positions can the "
     "model be right at all?",
     ('ops.sum(ops.cast(right & real, "float32")) / ops.sum(ops.cast(real, "float32"))',
      'ops.mean(ops.cast(right & real, "float32"))'))

slip("masked_accuracy", "right_padding_over_real_labels",
     "All correct positions are counted, including the padding, but only divided by the number of real "
     "labels.",
     "Your result can be larger than 1. Count the same positions above and below the line of the fraction.",
     ("right & real", "right"))

slip("masked_accuracy", "share_of_whole_sentences", "A sentence counts only if all of its words are right.",
     "That is the exact match of whole sentences, which is useful, too. But the exercise asks for the share "
     "of *words*.",
     ('ops.sum(ops.cast(right & real, "float32")) / ops.sum(ops.cast(real, "float32"))',
      'ops.mean(ops.cast(ops.all(right | ~real, axis=1), "float32"))'))

slip("masked_accuracy", "mean_of_the_sentences_shares",
     "The share is taken within each sentence first, and then averaged over the sentences.",
     "This way a word in a short sentence counts more than a word in a long one. All real labels in the "
     "batch should count the same.",
     ('ops.sum(ops.cast(right & real, "float32")) / ops.sum(ops.cast(real, "float32"))',
      'ops.mean(ops.sum(ops.cast(right & real, "float32"), axis=1) / ops.sum(ops.cast(real, "float32"), axis=1))'))

slip("masked_accuracy", "best_position_for_each_class",
     "The largest logit is searched among the positions instead of the classes.",
     "At each position, the model chooses among the *classes*. Which axis of the logits do they lie on?",
     ("axis=-1", "axis=1"))

slip("masked_accuracy", "accuracy_with_padding_0", "pad_id is ignored: padding is assumed to be 0.",
     "Your accuracy is right as long as padding has the id 0. The function has an argument for it.",
     ("ops.not_equal(labels, pad_id)", "ops.not_equal(labels, 0)"))

slip("masked_accuracy", "share_of_the_wrong", "The share of wrong words is returned.",
     "That is the error rate. The accuracy is the share of words that are right.",
     ("        ops.sum(", "        1 - ops.sum("))

slip("masked_accuracy", "int64_against_int32",
     "The predictions are int64 and the labels int32, and TensorFlow does not compare the two.",
     "`argmax` gives int64. Give both sides the same kind of number before you compare them.",
     ("ops.equal(\n"
      "        ops.cast(labels, \"int32\"), ops.cast(ops.argmax(logits, axis=-1), \"int32\")\n"
      "    )",
      "tf.equal(tf.cast(labels, \"int32\"), tf.argmax(logits, axis=-1))"))


# ---------------------------------------------------------------------------------- WarmupSchedule

slip("WarmupSchedule", "counted_from_0",
     "The step is used as Keras passes it, so the rate lags one update behind.",
     "Keras passes the number of updates made *before* this one, so the first is 0. The paper counts 1, 2, "
     "3. So count the update that is being made, too.",
     (" + 1.0", ""))

slip("WarmupSchedule", "larger_of_the_two", "The larger of the two terms is taken instead of the smaller.",
     "The rate should start low and grow. Which of the two terms is small at the beginning, and which at "
     "the end?",
     ("ops.minimum", "ops.maximum"))

slip("WarmupSchedule", "exponents_swapped", "The exponents -0.5 and -1.5 are swapped.",
     "The two terms must be equal at the peak, where n is warmup_steps. Replace n by that value, and add up "
     "the exponents.",
     ("n**-0.5", "n**-1.5"), ("warmup_steps**-1.5", "warmup_steps**-0.5"))

slip("WarmupSchedule", "width_multiplied",
     "The rate is multiplied by the square root of embedding_dim instead of divided.",
     "Wider models need smaller steps: the exponent of d_model is negative.",
     ("embedding_dim**-0.5", "embedding_dim**0.5"))

slip("WarmupSchedule", "width_forgotten", "The rate does not depend on embedding_dim.",
     "Equation 3 has one more factor, which depends on the width of the model. Apart from it, your rate is "
     "right.",
     ("self.embedding_dim**-0.5 * ", ""))

slip("WarmupSchedule", "factor_forgotten", "The factor has no effect.",
     "Your rate is right as long as factor is 1. The whole rate is multiplied by it.",
     ("self.factor * ", ""))

slip("WarmupSchedule", "never_falls", "After the warm-up the rate stays where it is.",
     "Up to the peak your rate is right. After that it has to fall, with the inverse square root of the "
     "step.",
     ("n**-0.5", "self.warmup_steps**-0.5"))

slip("WarmupSchedule", "step_stays_an_integer", "The step is used as an integer.",
     "The optimizer counts its steps in integers, and TensorFlow does not mix integers and floats by itself. "
     "First convert the step to a float.",
     ('ops.cast(step, "float32") + 1.0', "step + 1"))

slip("WarmupSchedule", "configuration_incomplete", "The configuration lacks warmup_steps and factor.",
     "A schedule loaded from a file must be the same as the saved one. So everything that the constructor "
     "was given belongs in the configuration.",
     ('            "warmup_steps": self.warmup_steps, "factor": self.factor,\n', ""))


# ---------------------------------------------------------------------------------- train_step

slip("train_step", "reads_the_answer", "The decoder reads the labels themselves, without the shift.",
     "At each position, the model reads exactly the word that it should predict. The loss will be wonderful, "
     "and the translations will be worthless.",
     ("ops.concatenate([begin, labels[:, :-1]], axis=1)", "labels"))

slip("train_step", "moved_the_other_way", "The labels are shifted to the left instead of the right.",
     "The decoder's input must be one step *behind* the labels: BOS first. Your input is ahead of them and "
     "starts with the second word.",
     ("[begin, labels[:, :-1]]", "[labels[:, 1:], begin]"))

slip("train_step", "begins_with_the_end", "EOS is put in front instead of BOS.",
     "The first token that the decoder reads must say that a sentence begins. Its id is one of your "
     "arguments.",
     ("labels[:, :1], bos_id", "labels[:, :1], 2"))

slip("train_step", "dropout_off_in_training", "The model is called as for inference: no dropout.",
     "There is no error, but the model overfits. Keras does not know by itself that this is training. The "
     "call to the model has to say so.",
     ("training=True", "training=False"))

slip("train_step", "nothing_is_updated", "No weight changes: there are no gradients, or they are not used.",
     "The loss is right, but the weights do not change. Does the optimizer get the gradients, together with "
     "the weights they belong to?",
     ("    optimizer.apply(gradients, model.trainable_variables)\n", ""))

slip("train_step", "step_uphill", "The step goes up the gradient instead of down.",
     "An optimizer already subtracts what you give it. You have one minus sign too many, so the loss grows.",
     ("optimizer.apply(gradients,", "optimizer.apply([-gradient for gradient in gradients],"))

slip("train_step", "loss_after_the_tape",
     "The tape does not see the whole way from the weights to the loss, so there is no gradient.",
     "A tape records only what is computed while it runs. It must see every step from the weights to the "
     "loss.",
     ("        loss = masked_loss", "    loss = masked_loss"))

slip("train_step", "loss_through_numpy", "The loss is turned into a number, which is no longer a tensor.",
     "While TensorFlow traces a function there are no numbers yet, only a plan. Convert the loss to a number "
     "later, where you call the compiled step.",
     ("return loss", "return loss.numpy()"))

slip("train_step", "step_loses_the_smoothing", "The loss always has a smoothing of 0.1, whatever the caller says.",
     "Your step is right for a smoothing of 0.1, the default of the loss. But the caller may want another "
     "value.",
     ("logits, smoothing)", "logits)"))

slip("train_step", "labels_and_logits_swapped",
     "Labels and logits are passed to the loss in the wrong order.",
     "Keras's order is labels first, PyTorch's is logits first. Look at the signature of your loss.",
     ("masked_loss(labels, logits", "masked_loss(logits, labels"))

slip("train_step", "bos_as_a_label", "The loss is computed with the decoder's input instead of the labels.",
     "Your model is trained to repeat the word that it is reading: BOS at the first position, and never EOS. "
     "What should it predict?",
     ("masked_loss(labels", "masked_loss(target_ids"))


slip("train_step", "gradients_clipped", "The gradients are clipped before the update.",
     "Clipping is common, but the exercise does not ask for it. Where the gradients are large, it makes your "
     "update shorter than the optimizer would make it.",
     ("optimizer.apply(gradients,", "optimizer.apply(tf.clip_by_global_norm(gradients, 5.0)[0],"))


# ---------------------------------------------------------------------------------- greedy_decode

slip("greedy_decode", "reads_the_first_position", "At every step the next word is what the model says after BOS alone.",
     "The logits have one row for each word so far. The row of the *last* word says what comes next; the "
     "first row always says what follows BOS. Does the model get all words so far? Which row do you read?",
     ("logits[:, -1]", "logits[:, 0]"))

slip("greedy_decode", "goes_on_after_the_end", "Words after a sentence's end are kept.",
     "After its EOS, a sentence is finished. What the model says about it later means nothing. Remember "
     "which sentences have ended.",
     ("ops.where(ended, pad_id", "ops.where(ops.equal(word, eos_id), pad_id"))

slip("greedy_decode", "never_stops_early",
     "The model is asked again when every sentence has ended.",
     "The result is right, but you waste time. Once all sentences have ended, there is nothing more to ask "
     "the model. Do you stop, and do you stop before the next call?",
     ("        if ops.all(ended):\n"
      "            break\n",
      ""))

slip("greedy_decode", "stops_with_the_first", "It stops as soon as one sentence has ended.",
     "The sentences of a batch end at different steps. Go on until *all* of them have ended.",
     ("ops.all(ended)", "ops.any(ended)"))

slip("greedy_decode", "begin_kept", "BOS is returned as the first word.",
     "BOS is what you gave the model to start with. The model did not write it.",
     ("return ids[:, 1:]", "return ids"))

slip("greedy_decode", "end_kept", "EOS is returned as a word.",
     "EOS only says that the sentence is over. It is not a word of the translation, so put padding in its "
     "place.",
     ("ended = ended | ops.equal(word, eos_id)\n"
      "        word = ops.where(ended, pad_id, word)",
      "word = ops.where(ended, pad_id, word)\n"
      "        ended = ended | ops.equal(word, eos_id)"))

slip("greedy_decode", "only_the_last_word_read",
     "The model is given only the last word instead of all words so far.",
     "The model remembers nothing from one call to the next. Give it all the words it has written so far.",
     ("model(source_ids, ids,", "model(source_ids, ids[:, -1:],"))

slip("greedy_decode", "begins_with_the_end_of_sentence", "The decoder is started with EOS instead of BOS.",
     "In training, the decoder's input always began with BOS. Print what you pass to the model at the first "
     "step.",
     ("1), bos_id", "1), eos_id"))

slip("greedy_decode", "begins_with_padding", "The decoder is started with padding, or with 0, instead of BOS.",
     "In training, the decoder's input always began with BOS. Print what you pass to the model at the first "
     "step.",
     ("1), bos_id", "1), pad_id"))

slip("greedy_decode", "translates_in_training", "The model is called with training=True.",
     "Dropout belongs to training. When the model translates, it should use everything it has learned.",
     ("ids, training=False)", "ids, training=True)"))

slip("greedy_decode", "source_and_target_exchanged", "The model gets the source sentence in the target's place.",
     "The model takes the source sentence first, then the words written so far. Compare your call with the "
     "docstring.",
     ("_ = model(source_ids, ids,", "_ = model(ids, source_ids,"))

slip("greedy_decode", "one_word_too_few", "If a sentence is cut off after max_len words, one word too few is returned.",
     "max_len counts the words that are *written*, and BOS is not one of them. The last column is not always "
     "EOS: a sentence that is cut off ends with a word.",
     ("range(max_len)", "range(max_len - 1)"))

slip("greedy_decode", "largest_in_absolute_value",
     "The most negative logit is chosen: the least, or the largest in absolute value.",
     "A strongly negative logit means that this is almost certainly not the word. Take the largest logit, "
     "with its sign.",
     ("logits[:, -1]", "ops.abs(logits[:, -1])"))

slip("greedy_decode", "usual_ids_only", "BOS is assumed to be 1, whatever bos_id is.",
     "Your function is right for the usual vocabulary. But the ids of BOS, EOS and padding are arguments.",
     ("    ids = ops.full(",
      "    bos_id, eos_id, pad_id = 1, 2, 0\n"
      "    ids = ops.full("))


# ---------------------------------------------------------------------------------- SavableTransformer

slip("SavableTransformer", "never_built", "The loaded model is not built before its weights are read.",
     "The model that you load has random weights. A model that was never called has no variables yet, so the "
     "saved weights have no place to go.",
     ('two_words = ops.ones((1, 2), dtype="int32")\n'
      "        self(two_words, two_words)",
      "pass"))

slip("SavableTransformer", "sizes_only",
     "The configuration holds the sizes, but not norm_first, layernorm_eps and dropout_rate.",
     "Anything that is missing from the configuration gets its default value when you load the model. "
     "Everything that the constructor was given belongs in it.",
     ("return {**super().get_config(), **self.config}",
      'rest = ("norm_first", "layernorm_eps", "dropout_rate")\n'
      "        return {**super().get_config(), **{key: self.config[key] for key in self.config if key not in rest}}"))

slip("SavableTransformer", "configuration_without_the_arguments",
     "The configuration is Keras's own, without the constructor's arguments.",
     "Keras knows only a model's name and the type of its numbers. Only your class can say how many layers "
     "it has.",
     ("{**super().get_config(), **self.config}", "super().get_config()"))

slip("SavableTransformer", "built_with_one_input", "The model is built with only one input.",
     "This model takes two inputs: the ids of the source and of the target. A call with only one of them "
     "fails, so no variables are created.",
     ("self(two_words, two_words)", "self(two_words)"))

slip("SavableTransformer", "dropout_forgotten_in_the_configuration", "The configuration lacks dropout_rate.",
     "In inference everything is right. But if you continue training after loading, the dropout rate is no "
     "longer the same. Compare the configuration with the constructor.",
     ("return {**super().get_config(), **self.config}",
      "config = {**super().get_config(), **self.config}\n"
      '        config.pop("dropout_rate", None)\n'
      "        return config"))
