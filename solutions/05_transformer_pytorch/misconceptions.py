"""Wrong ways to write lab 05's exercises. Each must lose points and be recognised as itself."""

import math

import torch
from torch import nn

from course_utils.models.torch_attention import MultiHeadAttention, sinusoidal_positions
from grader.author.catalogue import misconception


# ---------------------------------------------------------------------------------- layer_norm


@misconception(
    "layer_norm",
    "Your spread is a little too large. `Tensor.var` and `Tensor.std` estimate the variance of a population "
    "from a sample and divide by n - 1, unless told otherwise (look up `correction`). LayerNorm divides by n.",
)
def sample_variance(x, gamma, beta, eps=1e-6):
    """The variance is divided by n - 1 instead of n."""
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True)
    return gamma * (x - mean) / (var + eps).sqrt() + beta


@misconception(
    "layer_norm",
    "Right for ordinary rows, off where a row hardly varies: there it matters where eps stands. Is it added "
    "before or after the square root is taken?",
)
def eps_outside_the_root(x, gamma, beta, eps=1e-6):
    """eps is added to the standard deviation instead of the variance."""
    mean = x.mean(-1, keepdim=True)
    std = x.std(-1, keepdim=True, correction=0)
    return gamma * (x - mean) / (std + eps) + beta


@misconception(
    "layer_norm",
    "After the division each row should have variance 1. Dividing numbers by c divides their variance by c "
    "squared: what must c be?",
)
def divided_by_the_variance(x, gamma, beta, eps=1e-6):
    """The row is divided by its variance instead of its standard deviation."""
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True, correction=0)
    return gamma * (x - mean) / (var + eps) + beta


@misconception(
    "layer_norm",
    "The rows keep their offset. First centre each row at 0, then divide. (Leaving the centring out is a "
    "method of its own, RMSNorm; it divides by something else, too.)",
)
def mean_not_subtracted(x, gamma, beta, eps=1e-6):
    """The mean is not subtracted."""
    var = x.var(-1, keepdim=True, correction=0)
    return gamma * x / (var + eps).sqrt() + beta


@misconception(
    "layer_norm",
    "Each *word* is normalised by itself, over its own features. Yours mixes the words of a sentence. Which "
    "axis counts the features?",
)
def over_the_words(x, gamma, beta, eps=1e-6):
    """Mean and variance run over the words of a sentence instead of a word's features."""
    mean = x.mean(-2, keepdim=True)
    var = x.var(-2, keepdim=True, correction=0)
    return gamma * (x - mean) / (var + eps).sqrt() + beta


@misconception(
    "layer_norm",
    "That is what BatchNorm does: the result for a sentence depends on which other sentences are in the "
    "batch. LayerNorm looks at one word only.",
)
def over_the_batch(x, gamma, beta, eps=1e-6):
    """Mean and variance run over the first axis, as in batch normalisation."""
    mean = x.mean(0, keepdim=True)
    var = x.var(0, keepdim=True, correction=0)
    return gamma * (x - mean) / (var + eps).sqrt() + beta


@misconception(
    "layer_norm",
    "`x.mean()` without an axis is one number for the whole batch. Every word needs a mean and a variance of "
    "its own.",
)
def over_everything(x, gamma, beta, eps=1e-6):
    """One mean and one variance are taken over the whole tensor."""
    var = x.var(correction=0)
    return gamma * (x - x.mean()) / (var + eps).sqrt() + beta


@misconception(
    "layer_norm",
    "γ stretches, β moves: one is multiplied, the other added. Yours have changed places.",
)
def gamma_and_beta_swapped(x, gamma, beta, eps=1e-6):
    """γ is added and β multiplied."""
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True, correction=0)
    return beta * (x - mean) / (var + eps).sqrt() + gamma


@misconception(
    "layer_norm",
    "The rows are standardised, and then? Two learned vectors let the network choose another scale and offset "
    "for every feature.",
)
def gamma_and_beta_forgotten(x, gamma, beta, eps=1e-6):
    """The normalised row is returned without γ and β."""
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True, correction=0)
    return (x - mean) / (var + eps).sqrt()


@misconception(
    "layer_norm",
    "A row of equal numbers has variance 0, and 0 / 0 is NaN. That is what eps is for.",
)
def eps_forgotten(x, gamma, beta, eps=1e-6):
    """eps is not used, so a row of equal numbers gives NaN."""
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True, correction=0)
    return gamma * (x - mean) / var.sqrt() + beta


@misconception(
    "layer_norm",
    "A mean over the last axis has one axis less: (3, 5, 8) becomes (3, 5), which does not broadcast against "
    "(3, 5, 8). Keep the axis, with length 1.",
)
def axis_dropped(x, gamma, beta, eps=1e-6):
    """The mean loses its axis, so that the shapes do not fit."""
    mean, var = x.mean(-1), x.var(-1, correction=0)
    return gamma * (x - mean) / (var + eps).sqrt() + beta


# ---------------------------------------------------------------------------------- FeedForward


@misconception(
    "FeedForward",
    "Two linear layers in a row are one linear layer: nothing is gained. Equation 2 has a max(0, ...) between "
    "them.",
)
class no_activation(nn.Module):
    """There is no ReLU between the two layers."""

    def __init__(self, embedding_dim, fully_connected_dim):
        super().__init__()
        self.linear1 = nn.Linear(embedding_dim, fully_connected_dim)
        self.linear2 = nn.Linear(fully_connected_dim, embedding_dim)

    def forward(self, x):
        return self.linear2(self.linear1(x))


@misconception(
    "FeedForward",
    "The ReLU stands between the layers. At the end it would forbid the sub-layer ever to subtract anything "
    "from x.",
)
class relu_at_the_end(nn.Module):
    """The ReLU comes after the second layer instead of between the two."""

    def __init__(self, embedding_dim, fully_connected_dim):
        super().__init__()
        self.linear1 = nn.Linear(embedding_dim, fully_connected_dim)
        self.linear2 = nn.Linear(fully_connected_dim, embedding_dim)

    def forward(self, x):
        return self.linear2(self.linear1(x)).relu()


@misconception(
    "FeedForward",
    "The second layer's output goes out as it is. With a ReLU there, the sub-layer could only ever add to x, "
    "never subtract.",
)
class relu_twice(nn.Module):
    """There is a second ReLU after the second layer."""

    def __init__(self, embedding_dim, fully_connected_dim):
        super().__init__()
        self.linear1 = nn.Linear(embedding_dim, fully_connected_dim)
        self.linear2 = nn.Linear(fully_connected_dim, embedding_dim)

    def forward(self, x):
        return self.linear2(self.linear1(x).relu()).relu()


@misconception(
    "FeedForward",
    "Many later models (BERT, GPT-2) use GELU. The paper's equation 2 is max(0, ...), and so is this "
    "exercise.",
)
class gelu_for_relu(nn.Module):
    """The activation is GELU instead of ReLU."""

    def __init__(self, embedding_dim, fully_connected_dim):
        super().__init__()
        self.linear1 = nn.Linear(embedding_dim, fully_connected_dim)
        self.linear2 = nn.Linear(fully_connected_dim, embedding_dim)

    def forward(self, x):
        return self.linear2(nn.functional.gelu(self.linear1(x)))


@misconception(
    "FeedForward",
    "Adding x is the layer's business (the next exercise). If it happens here as well, it is added twice.",
)
class residual_inside(nn.Module):
    """x is added to the result here already."""

    def __init__(self, embedding_dim, fully_connected_dim):
        super().__init__()
        self.linear1 = nn.Linear(embedding_dim, fully_connected_dim)
        self.linear2 = nn.Linear(fully_connected_dim, embedding_dim)

    def forward(self, x):
        return x + self.linear2(self.linear1(x).relu())


@misconception(
    "FeedForward",
    "This network works on every position by itself (*position-wise*): no word sees another. Only attention "
    "moves anything between words.",
)
class over_the_words_axis(nn.Module):
    """The layers' outputs for the words of a sentence are averaged."""

    def __init__(self, embedding_dim, fully_connected_dim):
        super().__init__()
        self.linear1 = nn.Linear(embedding_dim, fully_connected_dim)
        self.linear2 = nn.Linear(fully_connected_dim, embedding_dim)

    def forward(self, x):
        return self.linear2(self.linear1(x).relu()).mean(-2, keepdim=True).expand_as(x)


@misconception(
    "FeedForward",
    "`nn.Linear(inputs, outputs)`: the first layer goes from the narrow width to the wide one, the second "
    "goes back.",
)
class widths_swapped(nn.Module):
    """The sizes of the linear layers are not the ones asked for."""

    def __init__(self, embedding_dim, fully_connected_dim):
        super().__init__()
        self.linear1 = nn.Linear(fully_connected_dim, embedding_dim)
        self.linear2 = nn.Linear(embedding_dim, fully_connected_dim)

    def forward(self, x):
        return self.linear1(self.linear2(x).relu())


@misconception(
    "FeedForward",
    "The ReLU stands between the layers. Before them it would throw away the sign of everything that comes "
    "in.",
)
class activation_first(nn.Module):
    """The ReLU comes before the first layer."""

    def __init__(self, embedding_dim, fully_connected_dim):
        super().__init__()
        self.linear1 = nn.Linear(embedding_dim, fully_connected_dim)
        self.linear2 = nn.Linear(fully_connected_dim, embedding_dim)

    def forward(self, x):
        return self.linear2(self.linear1(x.relu()))



class FeedForward(nn.Module):
    """The right one: in a submission it is the learner's own, defined earlier in the notebook."""

    def __init__(self, embedding_dim, fully_connected_dim):
        super().__init__()
        self.linear1 = nn.Linear(embedding_dim, fully_connected_dim)
        self.linear2 = nn.Linear(fully_connected_dim, embedding_dim)

    def forward(self, x):
        return self.linear2(self.linear1(x).relu())


# ---------------------------------------------------------------------------------- EncoderLayer


@misconception(
    "EncoderLayer",
    "Each sub-layer has a LayerNorm of its own, with its own γ and β. Freshly made ones are all alike (γ = 1, "
    "β = 0), so at the start of training nothing shows. Which of yours is never used?",
)
class same_norm_twice(nn.Module):
    """The first LayerNorm is used for both sub-layers."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            n = self.norm1(x)
            x = x + self.dropout(self.self_attention(n, n, n, mask)[0])
            return x + self.dropout(self.feed_forward(self.norm1(x)))
        x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))
        return self.norm1(x + self.dropout(self.feed_forward(x)))


@misconception(
    "EncoderLayer",
    "Add & norm has two halves. Without the sum, everything that a sub-layer does not pass on is lost, and "
    "gradients have to go through every sub-layer.",
)
class no_residuals(nn.Module):
    """The residual connections are missing: x is not added to what a sub-layer gives."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            n = self.norm1(x)
            x = self.dropout(self.self_attention(n, n, n, mask)[0])
            return self.dropout(self.feed_forward(self.norm2(x)))
        x = self.norm1(self.dropout(self.self_attention(x, x, x, mask)[0]))
        return self.norm2(self.dropout(self.feed_forward(x)))


@misconception(
    "EncoderLayer",
    "The sum is there for the attention, and missing for the feed-forward network. Both sub-layers are "
    "wrapped in the same way.",
)
class second_residual_missing(nn.Module):
    """x is added after the attention, but not after the feed-forward network."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            n = self.norm1(x)
            x = x + self.dropout(self.self_attention(n, n, n, mask)[0])
            return self.dropout(self.feed_forward(self.norm2(x)))
        x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))
        return self.norm2(self.dropout(self.feed_forward(x)))


@misconception(
    "EncoderLayer",
    "What is added is what *this* sub-layer was given. The layer's first input is no longer that when the "
    "feed-forward network's turn comes: what the attention has found is lost on the way.",
)
class residual_from_the_input(nn.Module):
    """The feed-forward network's output is added to the layer's input instead of the attention's result."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            n = self.norm1(x)
            y = x + self.dropout(self.self_attention(n, n, n, mask)[0])
            return x + self.dropout(self.feed_forward(self.norm2(y)))
        y = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))
        return self.norm2(x + self.dropout(self.feed_forward(y)))


@misconception(
    "EncoderLayer",
    "Add & norm, in this order: the LayerNorm takes the *sum*. What you wrote leaves the sum without any "
    "normalisation.",
)
class norm_before_add(nn.Module):
    """The sub-layer's output is normalised first, and x is added afterwards."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            n = self.norm1(x)
            x = x + self.dropout(self.self_attention(n, n, n, mask)[0])
            return x + self.dropout(self.feed_forward(self.norm2(x)))
        x = x + self.norm1(self.dropout(self.self_attention(x, x, x, mask)[0]))
        return x + self.norm2(self.dropout(self.feed_forward(x)))


@misconception(
    "EncoderLayer",
    "Your pre-norm form is right, and it is what you get for norm_first=False, too. The paper's layer "
    "normalises after the sum.",
)
class always_pre_norm(nn.Module):
    """norm_first is ignored: the layer is pre-norm always."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            n = self.norm1(x)
            x = x + self.dropout(self.self_attention(n, n, n, mask)[0])
            return x + self.dropout(self.feed_forward(self.norm2(x)))
        n = self.norm1(x)
        x = x + self.dropout(self.self_attention(n, n, n, mask)[0])
        return x + self.dropout(self.feed_forward(self.norm2(x)))


@misconception(
    "EncoderLayer",
    "Your post-norm form is right, and it is what you get for norm_first=True, too. There the sub-layers get "
    "a normalised copy, and x itself is never normalised.",
)
class always_post_norm(nn.Module):
    """norm_first is ignored: the layer is post-norm always."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))
            return self.norm2(x + self.dropout(self.feed_forward(x)))
        x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


@misconception(
    "EncoderLayer",
    "In the pre-norm form only the sub-layer sees the normalised copy. The sum is with x as it was: that is "
    "the free path from the first layer to the last.",
)
class pre_norm_loses_x(nn.Module):
    """In the pre-norm form the sub-layer's output is added to the normalised x."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            x = self.norm1(x)
            x = x + self.dropout(self.self_attention(x, x, x, mask)[0])
            x = self.norm2(x)
            return x + self.dropout(self.feed_forward(x))
        x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


@misconception(
    "EncoderLayer",
    "In self-attention, queries, keys and values come from one and the same sequence. In the pre-norm form "
    "that is the normalised copy: all three times.",
)
class pre_norm_of_queries_only(nn.Module):
    """In the pre-norm form only the queries are normalised; keys and values come from x as it is."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self.dropout(self.self_attention(self.norm1(x), x, x, mask)[0])
            return x + self.dropout(self.feed_forward(self.norm2(x)))
        x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


@misconception(
    "EncoderLayer",
    "Everything is right as long as no word is padding. The layer was given a mask; who needs it?",
)
class mask_not_passed(nn.Module):
    """The mask never reaches the attention."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            n = self.norm1(x)
            x = x + self.dropout(self.self_attention(n, n, n)[0])
            return x + self.dropout(self.feed_forward(self.norm2(x)))
        x = self.norm1(x + self.dropout(self.self_attention(x, x, x)[0]))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


@misconception(
    "EncoderLayer",
    "`nn.functional.dropout` does not know your module's mode: it drops always, unless it is told not to. The "
    "layer has a dropout module, and a module knows.",
)
class dropout_always_on(nn.Module):
    """Dropout is applied in evaluation mode, too."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            n = self.norm1(x)
            x = x + nn.functional.dropout(self.self_attention(n, n, n, mask)[0], self.dropout.p)
            return x + nn.functional.dropout(self.feed_forward(self.norm2(x)), self.dropout.p)
        x = self.norm1(x + nn.functional.dropout(self.self_attention(x, x, x, mask)[0], self.dropout.p))
        return self.norm2(x + nn.functional.dropout(self.feed_forward(x), self.dropout.p))


@misconception(
    "EncoderLayer",
    "Dropout belongs to what the sub-layer gives, *before* x is added (section 5.4 of the paper). On the sum "
    "it would also cut holes into the residual path.",
)
class dropout_of_the_sum(nn.Module):
    """Dropout is applied to the sum instead of the sub-layer's output."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            n = self.norm1(x)
            x = self.dropout(x + self.self_attention(n, n, n, mask)[0])
            return self.dropout(x + self.feed_forward(self.norm2(x)))
        x = self.norm1(self.dropout(x + self.self_attention(x, x, x, mask)[0]))
        return self.norm2(self.dropout(x + self.feed_forward(x)))


@misconception(
    "EncoderLayer",
    "In evaluation everything is right. In training, what each sub-layer gives goes through dropout before it "
    "is added.",
)
class no_dropout(nn.Module):
    """There is no dropout at all."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            n = self.norm1(x)
            x = x + self.self_attention(n, n, n, mask)[0]
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.self_attention(x, x, x, mask)[0])
        return self.norm2(x + self.feed_forward(x))


@misconception(
    "EncoderLayer",
    "The sub-layers work one after the other: the second reads what the first has made. Where does the result "
    "of yours go?",
)
class attention_thrown_away(nn.Module):
    """The feed-forward network reads the layer's input; what the attention found is not used."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            n = self.norm1(x)
            self.dropout(self.self_attention(n, n, n, mask)[0])
            return x + self.dropout(self.feed_forward(self.norm2(x)))
        self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))
        return self.norm2(x + self.dropout(self.feed_forward(x)))



class EncoderLayer(nn.Module):
    """The right one: in a submission it is the learner's own, defined earlier in the notebook."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            n = self.norm1(x)
            x = x + self.dropout(self.self_attention(n, n, n, mask)[0])
            return x + self.dropout(self.feed_forward(self.norm2(x)))
        x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


# ---------------------------------------------------------------------------------- Encoder


@misconception(
    "Encoder",
    "The entries of an embedding are small at the start (about 1 / √embedding_dim), those of the positions "
    "are sines and cosines: the words drown. Section 3.4 of the paper multiplies the embeddings by something.",
)
class embeddings_not_scaled(nn.Module):
    """The embeddings are not multiplied by √embedding_dim."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, source_ids, mask=None):
        x = self.dropout(self.embedding(source_ids) + self.positions[: source_ids.shape[1]])
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


@misconception(
    "Encoder",
    "The right quantity, but not its square root (section 3.4 of the paper): now the positions drown in the "
    "words.",
)
class scaled_by_the_whole_width(nn.Module):
    """The embeddings are multiplied by embedding_dim instead of its square root."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, source_ids, mask=None):
        x = self.dropout(self.embedding(source_ids) * self.embedding.embedding_dim + self.positions[: source_ids.shape[1]])
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


@misconception(
    "Encoder",
    "You know this square root from attention, where the scores are divided by one. Here the embeddings are "
    "too small, not too large.",
)
class embeddings_divided(nn.Module):
    """The embeddings are divided by √embedding_dim instead of multiplied."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, source_ids, mask=None):
        x = self.dropout(self.embedding(source_ids) / math.sqrt(self.embedding.embedding_dim) + self.positions[: source_ids.shape[1]])
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


@misconception(
    "Encoder",
    "Only the embeddings are scaled, to bring them to the size of the positions. If both grow, nothing is "
    "gained.",
)
class positions_scaled_too(nn.Module):
    """The positions are added first, and then everything is scaled."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, source_ids, mask=None):
        x = self.dropout((self.embedding(source_ids) + self.positions[: source_ids.shape[1]]) * math.sqrt(self.embedding.embedding_dim))
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


@misconception(
    "Encoder",
    "Without positions the encoder sees a bag of words (lab 04): *Jane visits Africa* and *Africa visits "
    "Jane* would be the same.",
)
class positions_forgotten(nn.Module):
    """The positions are not added."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, source_ids, mask=None):
        x = self.dropout(self.embedding(source_ids) * math.sqrt(self.embedding.embedding_dim))
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


@misconception(
    "Encoder",
    "The table has max_len rows, your sentence has fewer words. Take as many rows as there are words.",
)
class all_positions_at_once(nn.Module):
    """The whole table of positions is added, however long the sentence is."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, source_ids, mask=None):
        x = self.dropout(self.embedding(source_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


@misconception(
    "Encoder",
    "`len(ids)` and `ids.shape[0]` count the sentences of the batch. The words are counted by the other axis.",
)
class positions_of_the_batch(nn.Module):
    """Positions are taken by the number of sentences instead of the number of words."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, source_ids, mask=None):
        x = self.dropout(self.embedding(source_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: len(source_ids)])
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


@misconception(
    "Encoder",
    "Section 5.4 of the paper: dropout is applied to the sums of the embeddings and the positional encodings, "
    "too, before the first layer.",
)
class no_dropout_of_the_sum(nn.Module):
    """There is no dropout on the sum of embeddings and positions."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, source_ids, mask=None):
        x = self.embedding(source_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: source_ids.shape[1]]
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


@misconception(
    "Encoder",
    "The order is: scale, add the positions, then drop. In yours the positions always come through.",
)
class dropout_of_the_embeddings_only(nn.Module):
    """Dropout is applied to the embeddings before the positions are added."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, source_ids, mask=None):
        x = self.dropout(self.embedding(source_ids) * math.sqrt(self.embedding.embedding_dim)) + self.positions[: source_ids.shape[1]]
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


@misconception(
    "Encoder",
    "Everything is right as long as no word is padding. The encoder was given a mask; each of its layers "
    "needs it.",
)
class mask_not_handed_on(nn.Module):
    """The layers do not get the mask."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, source_ids, mask=None):
        x = self.dropout(self.embedding(source_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: source_ids.shape[1]])
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


@misconception(
    "Encoder",
    "A stack: each layer reads what the layer below has written. In yours all of them read the embeddings, "
    "and only the last one is heard.",
)
class layers_not_chained(nn.Module):
    """Every layer gets the embeddings; only the last one's output counts."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, source_ids, mask=None):
        x = self.dropout(self.embedding(source_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: source_ids.shape[1]])
        for layer in self.layers:
            output = layer(x, mask)
        return self.norm(output)


@misconception(
    "Encoder",
    "`[layer] * n` makes a list with n references to a single layer: all share one set of weights. Construct "
    "a new layer for each place.",
)
class one_layer_many_times(nn.Module):
    """The list holds one and the same layer several times."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        layer = EncoderLayer(embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first)
        self.layers = nn.ModuleList([layer] * num_layers)
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, source_ids, mask=None):
        x = self.dropout(self.embedding(source_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: source_ids.shape[1]])
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


@misconception(
    "Encoder",
    "A module finds its parts among its attributes, but not inside a plain list: such layers have no "
    "parameters for the optimizer, are not saved, and stay in training mode. There is a list made for "
    "modules.",
)
class plain_list_of_layers(nn.Module):
    """The layers are in a plain Python list, which PyTorch does not look into."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = [EncoderLayer(*sizes) for _ in range(num_layers)]
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, source_ids, mask=None):
        x = self.dropout(self.embedding(source_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: source_ids.shape[1]])
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


@misconception(
    "Encoder",
    "Post-norm is right; with norm_first=True nothing changes inside the layers. The layers have to be told.",
)
class norm_first_not_handed_on(nn.Module):
    """The layers are made without norm_first and so are always post-norm."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, source_ids, mask=None):
        x = self.dropout(self.embedding(source_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: source_ids.shape[1]])
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)



class Encoder(nn.Module):
    """The right one: in a submission it is the learner's own, defined earlier in the notebook."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, source_ids, mask=None):
        x = self.dropout(self.embedding(source_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: source_ids.shape[1]])
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


# ---------------------------------------------------------------------------------- DecoderLayer


@misconception(
    "DecoderLayer",
    "The decoder's words ask, the encoder's memory answers: the query comes from x, key *and* value come from "
    "memory. There must be one output for each target word.",
)
class memory_asks(nn.Module):
    """In the cross-attention the memory asks, and x answers with the values: (memory, memory, x)."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, target_mask)
            x = x + self.dropout(a)
            a, cross_weights = self.cross_attention(memory, memory, self.norm2(x), source_mask)
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm3(x))), self_weights, cross_weights
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = self.norm1(x + self.dropout(a))
        a, cross_weights = self.cross_attention(memory, memory, x, source_mask)
        x = self.norm2(x + self.dropout(a))
        return self.norm3(x + self.dropout(self.feed_forward(x))), self_weights, cross_weights


@misconception(
    "DecoderLayer",
    "A key is what a source word is found by, a value what it says. Both belong to the same word, so both "
    "come from memory.",
)
class values_from_x(nn.Module):
    """In the cross-attention the values come from x instead of memory."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, target_mask)
            x = x + self.dropout(a)
            a, cross_weights = self.cross_attention(self.norm2(x), memory, self.norm2(x), source_mask)
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm3(x))), self_weights, cross_weights
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = self.norm1(x + self.dropout(a))
        a, cross_weights = self.cross_attention(x, memory, x, source_mask)
        x = self.norm2(x + self.dropout(a))
        return self.norm3(x + self.dropout(self.feed_forward(x))), self_weights, cross_weights


@misconception(
    "DecoderLayer",
    "That is self-attention once more: x asks and x answers. A decoder that never reads the memory can only "
    "guess likely sentences.",
)
class memory_never_read(nn.Module):
    """The cross-attention attends to x, so the source sentence is never read."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, target_mask)
            x = x + self.dropout(a)
            a, cross_weights = self.cross_attention(self.norm2(x), self.norm2(x), self.norm2(x))
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm3(x))), self_weights, cross_weights
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = self.norm1(x + self.dropout(a))
        a, cross_weights = self.cross_attention(x, x, x)
        x = self.norm2(x + self.dropout(a))
        return self.norm3(x + self.dropout(self.feed_forward(x))), self_weights, cross_weights


@misconception(
    "DecoderLayer",
    "The source sentences have different lengths, and what stands behind their ends is padding. Which mask "
    "says so, and who must know?",
)
class source_mask_forgotten(nn.Module):
    """The cross-attention gets no mask, so it looks at the source's padding."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, target_mask)
            x = x + self.dropout(a)
            a, cross_weights = self.cross_attention(self.norm2(x), memory, memory)
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm3(x))), self_weights, cross_weights
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = self.norm1(x + self.dropout(a))
        a, cross_weights = self.cross_attention(x, memory, memory)
        x = self.norm2(x + self.dropout(a))
        return self.norm3(x + self.dropout(self.feed_forward(x))), self_weights, cross_weights


@misconception(
    "DecoderLayer",
    "The mask of an attention is about its *keys*. In the cross-attention the keys are source words, so it "
    "takes the source's padding; and no source word lies in the future. (With source and target of equal "
    "length this mistake raises no error.)",
)
class target_mask_in_cross_attention(nn.Module):
    """The cross-attention gets the target's mask."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, target_mask)
            x = x + self.dropout(a)
            a, cross_weights = self.cross_attention(self.norm2(x), memory, memory, target_mask)
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm3(x))), self_weights, cross_weights
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = self.norm1(x + self.dropout(a))
        a, cross_weights = self.cross_attention(x, memory, memory, target_mask)
        x = self.norm2(x + self.dropout(a))
        return self.norm3(x + self.dropout(self.feed_forward(x))), self_weights, cross_weights


@misconception(
    "DecoderLayer",
    "In training the whole target is there at once. Without its mask the decoder reads off the next word "
    "instead of predicting it: splendid in training, helpless when it has to write.",
)
class target_mask_forgotten(nn.Module):
    """The self-attention gets no mask, so every word sees the words after it."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n)
            x = x + self.dropout(a)
            a, cross_weights = self.cross_attention(self.norm2(x), memory, memory, source_mask)
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm3(x))), self_weights, cross_weights
        a, self_weights = self.self_attention(x, x, x)
        x = self.norm1(x + self.dropout(a))
        a, cross_weights = self.cross_attention(x, memory, memory, source_mask)
        x = self.norm2(x + self.dropout(a))
        return self.norm3(x + self.dropout(self.feed_forward(x))), self_weights, cross_weights


@misconception(
    "DecoderLayer",
    "target_mask belongs to the self-attention among the target's words, source_mask to the attention that "
    "looks at the source.",
)
class masks_swapped(nn.Module):
    """The two masks have changed places."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, source_mask)
            x = x + self.dropout(a)
            a, cross_weights = self.cross_attention(self.norm2(x), memory, memory, target_mask)
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm3(x))), self_weights, cross_weights
        a, self_weights = self.self_attention(x, x, x, source_mask)
        x = self.norm1(x + self.dropout(a))
        a, cross_weights = self.cross_attention(x, memory, memory, target_mask)
        x = self.norm2(x + self.dropout(a))
        return self.norm3(x + self.dropout(self.feed_forward(x))), self_weights, cross_weights


@misconception(
    "DecoderLayer",
    "Each sub-layer has a LayerNorm of its own, with its own γ and β. Freshly made ones are all alike, so at "
    "the start of training nothing shows. Which of yours are never used?",
)
class one_norm_for_all(nn.Module):
    """The first LayerNorm is used for all three sub-layers."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, target_mask)
            x = x + self.dropout(a)
            a, cross_weights = self.cross_attention(self.norm1(x), memory, memory, source_mask)
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm1(x))), self_weights, cross_weights
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = self.norm1(x + self.dropout(a))
        a, cross_weights = self.cross_attention(x, memory, memory, source_mask)
        x = self.norm1(x + self.dropout(a))
        return self.norm1(x + self.dropout(self.feed_forward(x))), self_weights, cross_weights


@misconception(
    "DecoderLayer",
    "Three sub-layers, three LayerNorms. One of yours is used twice and one never; perhaps a line was copied.",
)
class second_norm_twice(nn.Module):
    """The second LayerNorm is used again after the feed-forward network."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, target_mask)
            x = x + self.dropout(a)
            a, cross_weights = self.cross_attention(self.norm2(x), memory, memory, source_mask)
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm2(x))), self_weights, cross_weights
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = self.norm1(x + self.dropout(a))
        a, cross_weights = self.cross_attention(x, memory, memory, source_mask)
        x = self.norm2(x + self.dropout(a))
        return self.norm2(x + self.dropout(self.feed_forward(x))), self_weights, cross_weights


@misconception(
    "DecoderLayer",
    "Each sub-layer's output is added to what the sub-layer was given. Without the sum the decoder forgets, "
    "after the cross-attention, which word it was writing.",
)
class no_residuals_in_the_decoder(nn.Module):
    """The residual connections are missing: x is not added to what a sub-layer gives."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, target_mask)
            x = self.dropout(a)
            a, cross_weights = self.cross_attention(self.norm2(x), memory, memory, source_mask)
            x = self.dropout(a)
            return self.dropout(self.feed_forward(self.norm3(x))), self_weights, cross_weights
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = self.norm1(self.dropout(a))
        a, cross_weights = self.cross_attention(x, memory, memory, source_mask)
        x = self.norm2(self.dropout(a))
        return self.norm3(self.dropout(self.feed_forward(x))), self_weights, cross_weights


@misconception(
    "DecoderLayer",
    "Add & norm, in this order: the LayerNorm takes the *sum*. What you wrote leaves the sum without any "
    "normalisation.",
)
class norm_before_the_sum(nn.Module):
    """The sub-layer's output is normalised first, and x is added afterwards."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, target_mask)
            x = x + self.dropout(a)
            a, cross_weights = self.cross_attention(self.norm2(x), memory, memory, source_mask)
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm3(x))), self_weights, cross_weights
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = x + self.norm1(self.dropout(a))
        a, cross_weights = self.cross_attention(x, memory, memory, source_mask)
        x = x + self.norm2(self.dropout(a))
        return x + self.norm3(self.dropout(self.feed_forward(x))), self_weights, cross_weights


@misconception(
    "DecoderLayer",
    "The two attentions have different weights: what a target word wants to know of its neighbours is another "
    "question than what it wants to know of the source.",
)
class one_attention_for_both(nn.Module):
    """The self-attention's module is used for the cross-attention, too."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, target_mask)
            x = x + self.dropout(a)
            a, cross_weights = self.self_attention(self.norm2(x), memory, memory, source_mask)
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm3(x))), self_weights, cross_weights
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = self.norm1(x + self.dropout(a))
        a, cross_weights = self.self_attention(x, memory, memory, source_mask)
        x = self.norm2(x + self.dropout(a))
        return self.norm3(x + self.dropout(self.feed_forward(x))), self_weights, cross_weights


@misconception(
    "DecoderLayer",
    "`nn.functional.dropout` does not know your module's mode: it drops always, unless it is told not to. The "
    "layer has a dropout module, and a module knows.",
)
class dropout_always(nn.Module):
    """Dropout is applied in evaluation mode, too."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, target_mask)
            x = x + nn.functional.dropout(a, self.dropout.p)
            a, cross_weights = self.cross_attention(self.norm2(x), memory, memory, source_mask)
            x = x + nn.functional.dropout(a, self.dropout.p)
            return x + nn.functional.dropout(self.feed_forward(self.norm3(x)), self.dropout.p), self_weights, cross_weights
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = self.norm1(x + nn.functional.dropout(a, self.dropout.p))
        a, cross_weights = self.cross_attention(x, memory, memory, source_mask)
        x = self.norm2(x + nn.functional.dropout(a, self.dropout.p))
        return self.norm3(x + nn.functional.dropout(self.feed_forward(x), self.dropout.p)), self_weights, cross_weights


@misconception(
    "DecoderLayer",
    "In evaluation everything is right. In training, what each of the three sub-layers gives goes through "
    "dropout before it is added.",
)
class dropout_forgotten(nn.Module):
    """There is no dropout at all."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, target_mask)
            x = x + a
            a, cross_weights = self.cross_attention(self.norm2(x), memory, memory, source_mask)
            x = x + a
            return x + self.feed_forward(self.norm3(x)), self_weights, cross_weights
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = self.norm1(x + a)
        a, cross_weights = self.cross_attention(x, memory, memory, source_mask)
        x = self.norm2(x + a)
        return self.norm3(x + self.feed_forward(x)), self_weights, cross_weights


@misconception(
    "DecoderLayer",
    "Your post-norm form is right, and it is what you get for norm_first=True, too. There the sub-layers get "
    "a normalised copy, and x itself is never normalised.",
)
class norm_first_ignored(nn.Module):
    """norm_first is ignored: the layer is post-norm always."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = self.norm1(x + self.dropout(a))
        a, cross_weights = self.cross_attention(x, memory, memory, source_mask)
        x = self.norm2(x + self.dropout(a))
        return self.norm3(x + self.dropout(self.feed_forward(x))), self_weights, cross_weights


@misconception(
    "DecoderLayer",
    "In the pre-norm form a sub-layer gets a normalised copy of x. The memory comes from the encoder, which "
    "has normalised it already at its own end.",
)
class memory_normalised_too(nn.Module):
    """In the pre-norm form the memory is normalised with the decoder's LayerNorm, too."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, target_mask)
            x = x + self.dropout(a)
            a, cross_weights = self.cross_attention(self.norm2(x), self.norm2(memory), self.norm2(memory), source_mask)
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm3(x))), self_weights, cross_weights
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = self.norm1(x + self.dropout(a))
        a, cross_weights = self.cross_attention(x, memory, memory, source_mask)
        x = self.norm2(x + self.dropout(a))
        return self.norm3(x + self.dropout(self.feed_forward(x))), self_weights, cross_weights


@misconception(
    "DecoderLayer",
    "The caller knows what is what by the order alone: the output, then the weights of the self-attention, "
    "then those of the cross-attention.",
)
class weights_exchanged(nn.Module):
    """The two attention weights are returned in each other's place."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, target_mask)
            x = x + self.dropout(a)
            a, cross_weights = self.cross_attention(self.norm2(x), memory, memory, source_mask)
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm3(x))), cross_weights, self_weights
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = self.norm1(x + self.dropout(a))
        a, cross_weights = self.cross_attention(x, memory, memory, source_mask)
        x = self.norm2(x + self.dropout(a))
        return self.norm3(x + self.dropout(self.feed_forward(x))), cross_weights, self_weights


@misconception(
    "DecoderLayer",
    "The order is: masked self-attention, cross-attention, feed-forward (figure 1 of the paper). A word first "
    "collects what has been written so far, then asks the source.",
)
class cross_attention_first(nn.Module):
    """The cross-attention comes before the self-attention."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            a, cross_weights = self.cross_attention(self.norm2(x), memory, memory, source_mask)
            x = x + self.dropout(a)
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, target_mask)
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm3(x))), self_weights, cross_weights
        a, cross_weights = self.cross_attention(x, memory, memory, source_mask)
        x = self.norm2(x + self.dropout(a))
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = self.norm1(x + self.dropout(a))
        return self.norm3(x + self.dropout(self.feed_forward(x))), self_weights, cross_weights



class DecoderLayer(nn.Module):
    """The right one: in a submission it is the learner's own, defined earlier in the notebook."""

    def __init__(
        self, embedding_dim, num_heads, fully_connected_dim, dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embedding_dim, num_heads)
        self.feed_forward = FeedForward(embedding_dim, fully_connected_dim)
        self.norm1 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm2 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.norm3 = nn.LayerNorm(embedding_dim, eps=layernorm_eps)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm_first = norm_first

    def forward(self, x, memory, target_mask=None, source_mask=None):
        if self.norm_first:
            n = self.norm1(x)
            a, self_weights = self.self_attention(n, n, n, target_mask)
            x = x + self.dropout(a)
            a, cross_weights = self.cross_attention(self.norm2(x), memory, memory, source_mask)
            x = x + self.dropout(a)
            return x + self.dropout(self.feed_forward(self.norm3(x))), self_weights, cross_weights
        a, self_weights = self.self_attention(x, x, x, target_mask)
        x = self.norm1(x + self.dropout(a))
        a, cross_weights = self.cross_attention(x, memory, memory, source_mask)
        x = self.norm2(x + self.dropout(a))
        return self.norm3(x + self.dropout(self.feed_forward(x))), self_weights, cross_weights


# ---------------------------------------------------------------------------------- Decoder


@misconception(
    "Decoder",
    "The decoder's embeddings are scaled like the encoder's (section 3.4 of the paper). Without it the words "
    "drown in the positions.",
)
class target_embeddings_not_scaled(nn.Module):
    """The embeddings are not multiplied by √embedding_dim."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(target_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, target_ids, memory, target_mask=None, source_mask=None):
        x, cross_weights = self.dropout(self.embedding(target_ids) + self.positions[: target_ids.shape[1]]), []
        for layer in self.layers:
            x, _, weights = layer(x, memory, target_mask, source_mask)
            cross_weights.append(weights)
        return self.norm(x), cross_weights


@misconception(
    "Decoder",
    "The decoder needs positions as much as the encoder. With the causal mask alone it knows how many words "
    "came before, but not which of them stood where.",
)
class target_positions_forgotten(nn.Module):
    """The positions are not added."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(target_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, target_ids, memory, target_mask=None, source_mask=None):
        x, cross_weights = self.dropout(self.embedding(target_ids) * math.sqrt(self.embedding.embedding_dim)), []
        for layer in self.layers:
            x, _, weights = layer(x, memory, target_mask, source_mask)
            cross_weights.append(weights)
        return self.norm(x), cross_weights


@misconception(
    "Decoder",
    "Dropout is applied to the sums of the embeddings and the positional encodings in both stacks (section "
    "5.4 of the paper).",
)
class no_dropout_of_the_target_sum(nn.Module):
    """There is no dropout on the sum of embeddings and positions."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(target_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, target_ids, memory, target_mask=None, source_mask=None):
        x, cross_weights = self.embedding(target_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: target_ids.shape[1]], []
        for layer in self.layers:
            x, _, weights = layer(x, memory, target_mask, source_mask)
            cross_weights.append(weights)
        return self.norm(x), cross_weights


@misconception(
    "Decoder",
    "Look at the order of a decoder layer's parameters: the target's mask comes before the source's. Passing "
    "them by name would make it safe.",
)
class masks_in_the_wrong_order(nn.Module):
    """The layers get the two masks in the wrong order."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(target_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, target_ids, memory, target_mask=None, source_mask=None):
        x, cross_weights = self.dropout(self.embedding(target_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: target_ids.shape[1]]), []
        for layer in self.layers:
            x, _, weights = layer(x, memory, source_mask, target_mask)
            cross_weights.append(weights)
        return self.norm(x), cross_weights


@misconception(
    "Decoder",
    "Right only as long as nothing is masked. The decoder was given two masks, and every layer needs both.",
)
class no_masks_for_the_layers(nn.Module):
    """The layers get no masks."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(target_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, target_ids, memory, target_mask=None, source_mask=None):
        x, cross_weights = self.dropout(self.embedding(target_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: target_ids.shape[1]]), []
        for layer in self.layers:
            x, _, weights = layer(x, memory)
            cross_weights.append(weights)
        return self.norm(x), cross_weights


@misconception(
    "Decoder",
    "The source's padding is looked at: of the two masks that the decoder was given, only one reaches the "
    "layers.",
)
class no_source_mask_for_the_layers(nn.Module):
    """The layers get the target's mask only."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(target_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, target_ids, memory, target_mask=None, source_mask=None):
        x, cross_weights = self.dropout(self.embedding(target_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: target_ids.shape[1]]), []
        for layer in self.layers:
            x, _, weights = layer(x, memory, target_mask)
            cross_weights.append(weights)
        return self.norm(x), cross_weights


@misconception(
    "Decoder",
    "Every layer has a cross-attention of its own, and they look at different things: keep them all, in "
    "order.",
)
class weights_of_the_last_layer_only(nn.Module):
    """Only the last layer's cross-attention is returned."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(target_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, target_ids, memory, target_mask=None, source_mask=None):
        x, cross_weights = self.dropout(self.embedding(target_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: target_ids.shape[1]]), []
        for layer in self.layers:
            x, _, weights = layer(x, memory, target_mask, source_mask)
            cross_weights = [weights]
        return self.norm(x), cross_weights


@misconception(
    "Decoder",
    "A decoder layer returns two kinds of weights. An alignment between source and target needs those with a "
    "column for each *source* word.",
)
class self_attention_collected(nn.Module):
    """The self-attention's weights are collected instead of the cross-attention's."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(target_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, target_ids, memory, target_mask=None, source_mask=None):
        x, cross_weights = self.dropout(self.embedding(target_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: target_ids.shape[1]]), []
        for layer in self.layers:
            x, weights, _ = layer(x, memory, target_mask, source_mask)
            cross_weights.append(weights)
        return self.norm(x), cross_weights


@misconception(
    "Decoder",
    "A stack: each layer reads what the layer below has written. In yours all of them read the embeddings.",
)
class every_layer_reads_the_embeddings(nn.Module):
    """Every layer gets the embeddings; only the last one's output counts."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(target_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, target_ids, memory, target_mask=None, source_mask=None):
        x, cross_weights = self.dropout(self.embedding(target_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: target_ids.shape[1]]), []
        for layer in self.layers:
            output, _, weights = layer(x, memory, target_mask, source_mask)
            cross_weights.append(weights)
        return self.norm(output), cross_weights


@misconception(
    "Decoder",
    "Every decoder layer asks the same memory: the encoder's final output. It must not be overwritten on the "
    "way up.",
)
class memory_overwritten(nn.Module):
    """Each layer's output is also handed to the next layer as memory."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(target_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, target_ids, memory, target_mask=None, source_mask=None):
        x, cross_weights = self.dropout(self.embedding(target_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: target_ids.shape[1]]), []
        for number, layer in enumerate(self.layers):
            x, _, weights = layer(x, memory if number == 0 else x, target_mask, source_mask if number == 0 else None)
            cross_weights.append(weights)
        return self.norm(x), cross_weights



class Decoder(nn.Module):
    """The right one: in a submission it is the learner's own, defined earlier in the notebook."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        self.embedding = nn.Embedding(target_vocab_size, embedding_dim)
        self.register_buffer("positions", sinusoidal_positions(max_len, embedding_dim), persistent=False)
        self.dropout = nn.Dropout(dropout_rate)
        sizes = embedding_dim, num_heads, fully_connected_dim, dropout_rate, layernorm_eps, norm_first
        self.layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embedding_dim, eps=layernorm_eps) if norm_first else nn.Identity()

    def forward(self, target_ids, memory, target_mask=None, source_mask=None):
        x, cross_weights = self.dropout(self.embedding(target_ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: target_ids.shape[1]]), []
        for layer in self.layers:
            x, _, weights = layer(x, memory, target_mask, source_mask)
            cross_weights.append(weights)
        return self.norm(x), cross_weights


# ---------------------------------------------------------------------------------- make_masks


@misconception(
    "make_masks",
    "The target needs two things at once: no padding, and no future. Yours blocks the padding only, so the "
    "decoder may copy the next word.",
)
def no_causal_part(source_ids, target_ids, pad_id=0):
    """The target's mask marks padding only: every word sees the words after it."""
    source_mask = source_ids.ne(pad_id)[:, None, None]
    target_mask = target_ids.ne(pad_id)[:, None, None].expand(-1, -1, target_ids.shape[1], -1)
    return source_mask, target_mask


@misconception(
    "make_masks",
    "The future is blocked. Now also the padding, which differs from sentence to sentence: so the mask needs "
    "a batch axis, too.",
)
def no_padding_of_the_target(source_ids, target_ids, pad_id=0):
    """The target's mask is causal only: its padding is not marked."""
    source_mask = source_ids.ne(pad_id)[:, None, None]
    order = torch.arange(target_ids.shape[1])
    return source_mask, (order <= order[:, None]).expand(len(target_ids), 1, -1, -1)


@misconception(
    "make_masks",
    "Position i may look at positions 0 to i, itself included. In yours the first word has nothing at all to "
    "look at.",
)
def own_position_blocked(source_ids, target_ids, pad_id=0):
    """No target word may look at itself."""
    source_mask = source_ids.ne(pad_id)[:, None, None]
    order = torch.arange(target_ids.shape[1])
    return source_mask, target_ids.ne(pad_id)[:, None, None] & (order < order[:, None])


@misconception(
    "make_masks",
    "Row i, column j: allowed if j is not later than i. Yours allows the other triangle.",
)
def past_blocked(source_ids, target_ids, pad_id=0):
    """The triangle is upside down: words see the future and not the past."""
    source_mask = source_ids.ne(pad_id)[:, None, None]
    order = torch.arange(target_ids.shape[1])
    return source_mask, target_ids.ne(pad_id)[:, None, None] & (order >= order[:, None])


@misconception(
    "make_masks",
    "In this course True means *may attend*. `torch.nn.Transformer`'s padding masks are the other way round, "
    "which is where this often comes from.",
)
def true_is_blocked(source_ids, target_ids, pad_id=0):
    """True marks what is blocked."""
    order = torch.arange(target_ids.shape[1])
    target_mask = target_ids.ne(pad_id)[:, None, None] & (order <= order[:, None])
    return source_ids.eq(pad_id)[:, None, None], ~target_mask


@misconception(
    "make_masks",
    "A mask says which *keys* may be looked at, and keys are the last axis. What a padding position itself "
    "sees does not matter: nobody reads its output.",
)
def padding_of_the_queries(source_ids, target_ids, pad_id=0):
    """The target's padding is marked on the rows (queries) instead of the columns (keys)."""
    source_mask = source_ids.ne(pad_id)[:, None, None]
    order = torch.arange(target_ids.shape[1])
    return source_mask, target_ids.ne(pad_id)[:, None, :, None] & (order <= order[:, None])


@misconception(
    "make_masks",
    "With *or*, the future is allowed as long as it is no padding. A key must satisfy both conditions.",
)
def both_with_or(source_ids, target_ids, pad_id=0):
    """The two conditions of the target's mask are joined with or."""
    source_mask = source_ids.ne(pad_id)[:, None, None]
    order = torch.arange(target_ids.shape[1])
    return source_mask, target_ids.ne(pad_id)[:, None, None] | (order <= order[:, None])


@misconception(
    "make_masks",
    "The mask is laid over scores of shape (batch, heads, q_len, k_len). It needs axes of length 1 for the "
    "heads and for the queries, so that it broadcasts to the right places.",
)
def axes_missing(source_ids, target_ids, pad_id=0):
    """The source's mask has the shape (batch, src_len)."""
    order = torch.arange(target_ids.shape[1])
    return source_ids.ne(pad_id), target_ids.ne(pad_id)[:, None, None] & (order <= order[:, None])


@misconception(
    "make_masks",
    "Numbers 0 and 1 are not booleans: `~` and indexing mean something else for them. A comparison gives "
    "booleans by itself.",
)
def masks_as_numbers(source_ids, target_ids, pad_id=0):
    """The masks hold the numbers 0 and 1 instead of booleans."""
    source_mask = source_ids.ne(pad_id)[:, None, None]
    order = torch.arange(target_ids.shape[1])
    return source_mask.float(), (target_ids.ne(pad_id)[:, None, None] & (order <= order[:, None])).float()


@misconception(
    "make_masks",
    "Right as long as padding is 0. The caller says with pad_id which id stands for padding.",
)
def pad_id_ignored(source_ids, target_ids, pad_id=0):
    """Padding is compared with 0, whatever pad_id is."""
    source_mask = source_ids.ne(0)[:, None, None]
    order = torch.arange(target_ids.shape[1])
    return source_mask, target_ids.ne(0)[:, None, None] & (order <= order[:, None])



def make_masks(source_ids, target_ids, pad_id=0):
    """The right one: in a submission it is the learner's own, defined earlier in the notebook."""
    order = torch.arange(target_ids.shape[1])
    return source_ids.ne(pad_id)[:, None, None], target_ids.ne(pad_id)[:, None, None] & (order <= order[:, None])


# ---------------------------------------------------------------------------------- Transformer


@misconception(
    "Transformer",
    "The loss takes a log-softmax itself. Probabilities that go through a softmax again are nearly equal, and "
    "training crawls. (And the final softmax gives probabilities; their logarithm is what log-softmax gives.)",
)
class softmax_at_the_end(nn.Module):
    """A softmax is applied: probabilities come out instead of logits."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        sizes, options = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *options)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *options)
        self.final_linear = nn.Linear(embedding_dim, target_vocab_size)

    def forward(self, source_ids, target_ids):
        source_mask, target_mask = make_masks(source_ids, target_ids)
        memory = self.encoder(source_ids, source_mask)
        x, weights = self.decoder(target_ids, memory, target_mask, source_mask)
        return self.final_linear(x).softmax(-1), weights


@misconception(
    "Transformer",
    "The exercise asks for logits: what the final linear layer gives, as it is. A softmax does not care, but "
    "whoever looks at the logits does.",
)
class log_softmax_at_the_end(nn.Module):
    """A log-softmax is applied: log-probabilities come out instead of logits."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        sizes, options = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *options)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *options)
        self.final_linear = nn.Linear(embedding_dim, target_vocab_size)

    def forward(self, source_ids, target_ids):
        source_mask, target_mask = make_masks(source_ids, target_ids)
        memory = self.encoder(source_ids, source_mask)
        x, weights = self.decoder(target_ids, memory, target_mask, source_mask)
        return self.final_linear(x).log_softmax(-1), weights


@misconception(
    "Transformer",
    "The decoder gives a vector of embedding_dim numbers for each position. One more layer turns it into a "
    "score for each word of the target's vocabulary.",
)
class no_final_layer(nn.Module):
    """The decoder's output is returned without the final linear layer."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        sizes, options = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *options)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *options)
        self.final_linear = nn.Linear(embedding_dim, target_vocab_size)

    def forward(self, source_ids, target_ids):
        source_mask, target_mask = make_masks(source_ids, target_ids)
        memory = self.encoder(source_ids, source_mask)
        x, weights = self.decoder(target_ids, memory, target_mask, source_mask)
        return x, weights


@misconception(
    "Transformer",
    "Right as long as the source has no padding. With it, real source words look at padding, and a sentence's "
    "translation depends on its neighbours in the batch.",
)
class encoder_without_mask(nn.Module):
    """The encoder gets no mask."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        sizes, options = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *options)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *options)
        self.final_linear = nn.Linear(embedding_dim, target_vocab_size)

    def forward(self, source_ids, target_ids):
        source_mask, target_mask = make_masks(source_ids, target_ids)
        memory = self.encoder(source_ids)
        x, weights = self.decoder(target_ids, memory, target_mask, source_mask)
        return self.final_linear(x), weights


@misconception(
    "Transformer",
    "Right as long as the source has no padding. The encoder was told where the padding is; the decoder, "
    "which looks at the same source words, must be told, too.",
)
class decoder_without_source_mask(nn.Module):
    """The decoder's cross-attention gets no mask of the source."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        sizes, options = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *options)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *options)
        self.final_linear = nn.Linear(embedding_dim, target_vocab_size)

    def forward(self, source_ids, target_ids):
        source_mask, target_mask = make_masks(source_ids, target_ids)
        memory = self.encoder(source_ids, source_mask)
        x, weights = self.decoder(target_ids, memory, target_mask)
        return self.final_linear(x), weights


@misconception(
    "Transformer",
    "Every target word sees the words after it: in training the answer lies open. Which of the two masks does "
    "the decoder's self-attention need?",
)
class decoder_without_target_mask(nn.Module):
    """The decoder's self-attention gets no mask."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        sizes, options = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *options)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *options)
        self.final_linear = nn.Linear(embedding_dim, target_vocab_size)

    def forward(self, source_ids, target_ids):
        source_mask, target_mask = make_masks(source_ids, target_ids)
        memory = self.encoder(source_ids, source_mask)
        x, weights = self.decoder(target_ids, memory, None, source_mask)
        return self.final_linear(x), weights


@misconception(
    "Transformer",
    "In the cross-attention the keys are source words: it is the *source's* padding that must not be looked "
    "at. With source and target of equal length nobody would be warned.",
)
class target_mask_for_the_memory(nn.Module):
    """The decoder's cross-attention gets the target's mask."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        sizes, options = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *options)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *options)
        self.final_linear = nn.Linear(embedding_dim, target_vocab_size)

    def forward(self, source_ids, target_ids):
        source_mask, target_mask = make_masks(source_ids, target_ids)
        memory = self.encoder(source_ids, source_mask)
        x, weights = self.decoder(target_ids, memory, target_mask, target_mask)
        return self.final_linear(x), weights


@misconception(
    "Transformer",
    "make_masks takes the source first. Given the other way round, each mask has the length of the other "
    "sentence.",
)
class source_and_target_swapped(nn.Module):
    """The masks are made with source and target in each other's place."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        sizes, options = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *options)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *options)
        self.final_linear = nn.Linear(embedding_dim, target_vocab_size)

    def forward(self, source_ids, target_ids):
        target_mask, source_mask = make_masks(target_ids, source_ids)
        memory = self.encoder(source_ids, source_mask)
        x, weights = self.decoder(target_ids, memory, target_mask, source_mask)
        return self.final_linear(x), weights


@misconception(
    "Transformer",
    "The encoder's work is thrown away: the decoder has to get what comes *out* of the encoder.",
)
class decoder_reads_embeddings(nn.Module):
    """The decoder gets the source's embeddings as memory instead of the encoder's output."""

    def __init__(
        self, num_layers, embedding_dim, num_heads, fully_connected_dim, source_vocab_size, target_vocab_size, max_len,
        dropout_rate=0.1, layernorm_eps=1e-6, norm_first=False,
    ):
        super().__init__()
        sizes, options = (num_layers, embedding_dim, num_heads, fully_connected_dim), (dropout_rate, layernorm_eps, norm_first)
        self.encoder = Encoder(*sizes, source_vocab_size, max_len, *options)
        self.decoder = Decoder(*sizes, target_vocab_size, max_len, *options)
        self.final_linear = nn.Linear(embedding_dim, target_vocab_size)

    def forward(self, source_ids, target_ids):
        source_mask, target_mask = make_masks(source_ids, target_ids)
        memory = self.encoder.embedding(source_ids)
        x, weights = self.decoder(target_ids, memory, target_mask, source_mask)
        return self.final_linear(x), weights


# ---------------------------------------------------------------------------------- shift_right


@misconception(
    "shift_right",
    "At each position the decoder would read the very word that it has to predict there, and learn to copy. "
    "Its input must lag one word behind the labels.",
)
def input_not_shifted(labels, bos_id=1):
    """The decoder's input is the labels themselves."""
    return labels.clone()


@misconception(
    "shift_right",
    "Now the decoder reads the word *after* the one that it has to predict. At position 0 it should know "
    "nothing yet but that a sentence begins.",
)
def shifted_left(labels, bos_id=1):
    """The labels are shifted to the left instead of the right."""
    return torch.cat([labels[:, 1:], torch.full_like(labels[:, :1], bos_id)], 1)


@misconception(
    "shift_right",
    "Input and labels must be equally long: there is one label for each position. Whose turn is it to go when "
    "BOS comes in?",
)
def nothing_dropped(labels, bos_id=1):
    """BOS is put in front, but the last column is kept, so that the input is one longer than the labels."""
    return torch.cat([torch.full_like(labels[:, :1], bos_id), labels], 1)


@misconception(
    "shift_right",
    "The first word is lost, and nothing has moved: from position 1 on the decoder still reads what it has to "
    "predict.",
)
def begin_over_the_first_word(labels, bos_id=1):
    """BOS overwrites the first word instead of pushing it on."""
    begin = torch.full_like(labels[:, :1], bos_id)
    return torch.cat([begin, labels[:, 1:]], 1)


@misconception(
    "shift_right",
    "`torch.roll` brings what falls off at the end back to the front. The first word that the decoder reads "
    "must be BOS, always.",
)
def rolled_around(labels, bos_id=1):
    """The labels are rolled, so that the last column comes back in front instead of BOS."""
    return torch.roll(labels, 1, dims=1)


@misconception(
    "shift_right",
    "Padding is what nobody may attend to. The first position needs a word of its own, one that says: here a "
    "sentence begins.",
)
def padding_in_front(labels, bos_id=1):
    """The place in front is filled with padding instead of BOS."""
    return torch.cat([torch.zeros_like(labels[:, :1]), labels[:, :-1]], 1)


@misconception(
    "shift_right",
    "The first axis counts the sentences, the second the words. Yours gives each decoder the sentence of its "
    "neighbour.",
)
def shifted_over_the_batch(labels, bos_id=1):
    """The sentences are moved down by one row instead of one position to the right."""
    return torch.cat([torch.full_like(labels[:1], bos_id), labels[:-1]], 0)


@misconception(
    "shift_right",
    "The labels are needed again, for the loss. Make a new tensor, and leave the one that you were given as "
    "it is.",
)
def changed_in_place(labels, bos_id=1):
    """The labels themselves are changed."""
    shifted = labels[:, :-1].clone()
    labels[:, 0] = bos_id
    labels[:, 1:] = shifted
    return labels


@misconception(
    "shift_right",
    "Right as long as BOS has the id 1. The caller says which id it has.",
)
def begin_is_always_one(labels, bos_id=1):
    """BOS is written as 1, whatever the caller says."""
    return torch.cat([torch.ones_like(labels[:, :1]), labels[:, :-1]], 1)



def shift_right(labels, bos_id=1):
    """The right one: in a submission it is the learner's own, defined earlier in the notebook."""
    return torch.cat([torch.full_like(labels[:, :1], bos_id), labels[:, :-1]], 1)


# ---------------------------------------------------------------------------------- label_smoothed_loss


@misconception(
    "label_smoothed_loss",
    "A position whose label is padding is not a word: there is nothing to learn there. Yours adds its loss, "
    "and so extra padding changes the result.",
)
def padding_counts(logits, labels, smoothing=0.1, pad_id=0):
    """Padding positions count in the mean."""
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, smoothing / (logits.shape[-1] - 2))
    q[..., pad_id] = 0
    q = q.scatter(-1, labels[..., None], 1 - smoothing)
    loss = -(q * log_p).sum(-1).mean()
    return loss


@misconception(
    "label_smoothed_loss",
    "The sum is right, its divisor is not: how many positions have a *real* label? More padding must not make "
    "the loss smaller.",
)
def divided_by_all_positions(logits, labels, smoothing=0.1, pad_id=0):
    """The padding's losses are set to 0, but the sum is divided by all positions."""
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, smoothing / (logits.shape[-1] - 2))
    q[..., pad_id] = 0
    q = q.scatter(-1, labels[..., None], 1 - smoothing)
    loss = -((q * log_p).sum(-1) * labels.ne(pad_id)).mean()
    return loss


@misconception(
    "label_smoothed_loss",
    "The result grows with the number of words in the batch, and with it the gradient. Take the mean over the "
    "real labels.",
)
def summed_not_averaged(logits, labels, smoothing=0.1, pad_id=0):
    """The losses are added up instead of averaged."""
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, smoothing / (logits.shape[-1] - 2))
    q[..., pad_id] = 0
    q = q.scatter(-1, labels[..., None], 1 - smoothing)
    loss = -(q * log_p).sum(-1)[labels != pad_id].sum()
    return loss


@misconception(
    "label_smoothed_loss",
    "Then a word of a short sentence weighs more than one of a long sentence. All real labels of the batch "
    "count alike.",
)
def mean_of_sentence_means(logits, labels, smoothing=0.1, pad_id=0):
    """Each sentence's mean is taken first, and then the mean over the sentences."""
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, smoothing / (logits.shape[-1] - 2))
    q[..., pad_id] = 0
    q = q.scatter(-1, labels[..., None], 1 - smoothing)
    real = labels.ne(pad_id)
    loss = -((q * log_p).sum(-1) * real).sum(1).div(real.sum(1)).mean()
    return loss


@misconception(
    "label_smoothed_loss",
    "Without smoothing everything is right. With it, the label gets only 1 - ε, and the others share ε.",
)
def no_smoothing(logits, labels, smoothing=0.1, pad_id=0):
    """The smoothing is ignored: it is plain cross-entropy."""
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, 0.0)
    q[..., pad_id] = 0
    q = q.scatter(-1, labels[..., None], 1.0)
    loss = -(q * log_p).sum(-1)[labels != pad_id].mean()
    return loss


@misconception(
    "label_smoothed_loss",
    "No word is ever padding, so a model that gives padding a share of its belief is wrong for nothing. Two "
    "classes get none of ε: the label, which has its own part, and the padding.",
)
def smoothing_of_the_pad_column(logits, labels, smoothing=0.1, pad_id=0):
    """The padding's column gets a share of the smoothing, too."""
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, smoothing / (logits.shape[-1] - 1))
    q = q.scatter(-1, labels[..., None], 1 - smoothing)
    loss = -(q * log_p).sum(-1)[labels != pad_id].mean()
    return loss


@misconception(
    "label_smoothed_loss",
    "Check the sum of the wanted probabilities: it should be 1. Over how many classes do you spread ε, and by "
    "what number do you divide it?",
)
def shares_do_not_sum_to_one(logits, labels, smoothing=0.1, pad_id=0):
    """The padding's column is left out, but ε is divided as if it were not."""
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, smoothing / (logits.shape[-1] - 1))
    q[..., pad_id] = 0
    q = q.scatter(-1, labels[..., None], 1 - smoothing)
    loss = -(q * log_p).sum(-1)[labels != pad_id].mean()
    return loss


@misconception(
    "label_smoothed_loss",
    "`torch.nn.functional.cross_entropy(label_smoothing=...)` spreads ε over *all* classes: the label gets a "
    "bit of it back, and the padding gets a share. Here it goes to the other classes only, and not to the "
    "padding.",
)
def smoothing_over_all_classes(logits, labels, smoothing=0.1, pad_id=0):
    """ε is spread over all classes, the label included, as torch's cross_entropy does."""
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, smoothing / logits.shape[-1])
    q = q.scatter(-1, labels[..., None], 1 - smoothing + smoothing / logits.shape[-1])
    loss = -(q * log_p).sum(-1)[labels != pad_id].mean()
    return loss


@misconception(
    "label_smoothed_loss",
    "log_softmax (and cross_entropy) takes logits. If it is given probabilities, all between 0 and 1, every "
    "class looks nearly as good as any other.",
)
def softmax_twice(logits, labels, smoothing=0.1, pad_id=0):
    """The logits go through a softmax twice."""
    log_p = logits.softmax(-1).log_softmax(-1)
    q = torch.full_like(log_p, smoothing / (logits.shape[-1] - 2))
    q[..., pad_id] = 0
    q = q.scatter(-1, labels[..., None], 1 - smoothing)
    loss = -(q * log_p).sum(-1)[labels != pad_id].mean()
    return loss


@misconception(
    "label_smoothed_loss",
    "For logits far apart, a softmax rounds small probabilities to 0, and log 0 is -inf. `log_softmax` "
    "computes the same without ever making the 0.",
)
def log_of_softmax(logits, labels, smoothing=0.1, pad_id=0):
    """The logarithm is taken of the softmax, which is 0 for very small probabilities."""
    log_p = logits.softmax(-1).log()
    q = torch.full_like(log_p, smoothing / (logits.shape[-1] - 2))
    q[..., pad_id] = 0
    q = q.scatter(-1, labels[..., None], 1 - smoothing)
    loss = -(q * log_p).sum(-1)[labels != pad_id].mean()
    return loss


@misconception(
    "label_smoothed_loss",
    "Smoothing is a small doubt: most of the probability, 1 - ε, stays with the label.",
)
def label_gets_the_rest(logits, labels, smoothing=0.1, pad_id=0):
    """The label's share and the others' are exchanged: the label gets ε."""
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, (1 - smoothing) / (logits.shape[-1] - 2))
    q[..., pad_id] = 0
    q = q.scatter(-1, labels[..., None], smoothing)
    loss = -(q * log_p).sum(-1)[labels != pad_id].mean()
    return loss


@misconception(
    "label_smoothed_loss",
    "Log-probabilities are negative. A loss is to be made small, and the probability of the right word large: "
    "there is a minus sign in the equation.",
)
def sign_forgotten(logits, labels, smoothing=0.1, pad_id=0):
    """The minus sign is missing."""
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, smoothing / (logits.shape[-1] - 2))
    q[..., pad_id] = 0
    q = q.scatter(-1, labels[..., None], 1 - smoothing)
    loss = (q * log_p).sum(-1)[labels != pad_id].mean()
    return loss


@misconception(
    "label_smoothed_loss",
    "Right as long as padding is 0. The caller says with pad_id which label stands for padding, and which "
    "column it has.",
)
def pad_is_always_zero(logits, labels, smoothing=0.1, pad_id=0):
    """Padding is taken to be 0, whatever pad_id is."""
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, smoothing / (logits.shape[-1] - 2))
    q[..., 0] = 0
    q = q.scatter(-1, labels[..., None], 1 - smoothing)
    loss = -(q * log_p).sum(-1)[labels != 0].mean()
    return loss



def label_smoothed_loss(logits, labels, smoothing=0.1, pad_id=0):
    """The right one: in a submission it is the learner's own, defined earlier in the notebook."""
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, smoothing / (logits.shape[-1] - 2))
    q[..., pad_id] = 0
    q = q.scatter(-1, labels[..., None], 1 - smoothing)
    return -(q * log_p).sum(-1)[labels != pad_id].mean()


# ---------------------------------------------------------------------------------- warmup_schedule


@misconception(
    "warmup_schedule",
    "Draw the two curves: a line that rises, and 1/√step that falls. The rate follows the lower of the two, "
    "so it starts small. Yours starts huge.",
)
def max_for_min(step, d_model, warmup_steps, factor=1.0):
    """The larger of the two terms is taken instead of the smaller."""
    return factor * d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)


@misconception(
    "warmup_schedule",
    "The rate is largest at the very first step, when the weights are still random. The second term of the "
    "minimum makes it start small.",
)
def no_warmup(step, d_model, warmup_steps, factor=1.0):
    """Only the falling part is there: the warm-up is missing."""
    return factor * d_model**-0.5 * step**-0.5


@misconception(
    "warmup_schedule",
    "After the warm-up the rate has to fall again. That is what the minimum with the other term is for.",
)
def never_falls(step, d_model, warmup_steps, factor=1.0):
    """Only the rising part is there: the rate grows for ever."""
    return factor * d_model**-0.5 * step * warmup_steps**-1.5


@misconception(
    "warmup_schedule",
    "At step = warmup_steps the two terms must be equal, or the curve has a jump or no warm-up at all. With "
    "your exponent, what is the second term there?",
)
def wrong_power_of_warmup(step, d_model, warmup_steps, factor=1.0):
    """The warm-up's length has the exponent -0.5 instead of -1.5."""
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-0.5)


@misconception(
    "warmup_schedule",
    "A ramp from 0 to 1 meets 1/√step far too early, and at a far too high rate. At step = warmup_steps both "
    "terms must give the same.",
)
def linear_ramp_only(step, d_model, warmup_steps, factor=1.0):
    """The second term is step / warmup_steps, not scaled to meet the first one."""
    return factor * d_model**-0.5 * min(step**-0.5, step / warmup_steps)


@misconception(
    "warmup_schedule",
    "Wider models take smaller steps: the exponent of d_model is negative.",
)
def grows_with_the_width(step, d_model, warmup_steps, factor=1.0):
    """The rate is multiplied by √d_model instead of divided."""
    return factor * d_model**0.5 * min(step**-0.5, step * warmup_steps**-1.5)


@misconception(
    "warmup_schedule",
    "Equation 3 has one more factor in front of the minimum: wider models take smaller steps.",
)
def width_forgotten(step, d_model, warmup_steps, factor=1.0):
    """d_model is not used."""
    return factor * min(step**-0.5, step * warmup_steps**-1.5)


@misconception(
    "warmup_schedule",
    "Right as long as the factor is 1. It scales the whole curve; small models can take larger or smaller "
    "steps than the paper's.",
)
def factor_forgotten(step, d_model, warmup_steps, factor=1.0):
    """The factor is not used."""
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


@misconception(
    "warmup_schedule",
    "Steps are counted from 1 here, as in the paper: at step = warmup_steps the rate is at its peak. Nothing "
    "needs to be added.",
)
def steps_from_zero(step, d_model, warmup_steps, factor=1.0):
    """Steps are counted from 0, so that every rate is the next one's."""
    return factor * d_model**-0.5 * min((step + 1) ** -0.5, (step + 1) * warmup_steps**-1.5)


@misconception(
    "warmup_schedule",
    "The rising part is right. After it the rate falls too fast: four times the steps should halve it, not "
    "quarter it.",
)
def linear_decay(step, d_model, warmup_steps, factor=1.0):
    """After the warm-up the rate falls like 1/step instead of 1/√step."""
    return factor * d_model**-0.5 * min(warmup_steps**0.5 / step, step * warmup_steps**-1.5)


# ---------------------------------------------------------------------------------- train_step


@misconception(
    "train_step",
    "The first step is right, later ones are not: `backward` *adds* to the gradients that are there. Who "
    "clears them, and when?",
)
def gradients_not_cleared(model, optimizer, source_ids, labels, learning_rate, smoothing=0.1):
    """The gradients are never set to zero, so that they add up from step to step."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    inputs = shift_right(labels)
    logits = model(source_ids, inputs)[0]
    loss = label_smoothed_loss(logits, labels, smoothing)
    loss.backward()
    optimizer.step()
    return float(loss)


@misconception(
    "train_step",
    "The loss is right, and the weights stay what they were. Either the gradients are cleared between "
    "backward and step, or there is no step at all. The order is: clear, compute, use.",
)
def nothing_changes(model, optimizer, source_ids, labels, learning_rate, smoothing=0.1):
    """No weight changes: the gradients are cleared before they are used, or the step is missing."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    inputs = shift_right(labels)
    logits = model(source_ids, inputs)[0]
    loss = label_smoothed_loss(logits, labels, smoothing)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return float(loss)


@misconception(
    "train_step",
    "A step uses the gradients that are there at that moment: in yours, those of the batch before (and none "
    "at all the first time). The order is: clear, compute, use.",
)
def step_before_backward(model, optimizer, source_ids, labels, learning_rate, smoothing=0.1):
    """The step is taken before backward, with the gradients of the batch before."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    inputs = shift_right(labels)
    logits = model(source_ids, inputs)[0]
    loss = label_smoothed_loss(logits, labels, smoothing)
    optimizer.step()
    optimizer.zero_grad()
    loss.backward()
    return float(loss)


@misconception(
    "train_step",
    "After an evaluation a model is still in evaluation mode: without dropout. Everything seems right, and it "
    "overfits. Put it into training mode at each step; that costs nothing.",
)
def left_in_evaluation_mode(model, optimizer, source_ids, labels, learning_rate, smoothing=0.1):
    """The model is not put into training mode."""
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    inputs = shift_right(labels)
    logits = model(source_ids, inputs)[0]
    loss = label_smoothed_loss(logits, labels, smoothing)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss)


@misconception(
    "train_step",
    "The optimizer was made with some learning rate and keeps it until somebody changes it, in each of its "
    "`param_groups`.",
)
def learning_rate_ignored(model, optimizer, source_ids, labels, learning_rate, smoothing=0.1):
    """The learning rate is not given to the optimizer, which keeps its old one."""
    model.train()
    inputs = shift_right(labels)
    logits = model(source_ids, inputs)[0]
    loss = label_smoothed_loss(logits, labels, smoothing)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss)


@misconception(
    "train_step",
    "Teacher forcing means: at each position the decoder reads the *right previous* word. Yours reads the "
    "word that it is to predict, and the loss falls to nothing without anything learned.",
)
def labels_as_input(model, optimizer, source_ids, labels, learning_rate, smoothing=0.1):
    """The decoder reads the labels themselves: the target is not shifted."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    inputs = labels
    logits = model(source_ids, inputs)[0]
    loss = label_smoothed_loss(logits, labels, smoothing)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss)


@misconception(
    "train_step",
    "The model is trained to repeat the word that it has just read. What it is to predict lies one word ahead "
    "of what it reads.",
)
def input_as_labels(model, optimizer, source_ids, labels, learning_rate, smoothing=0.1):
    """The loss compares with the decoder's input instead of the labels."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    inputs = shift_right(labels)
    logits = model(source_ids, inputs)[0]
    loss = label_smoothed_loss(logits, inputs, smoothing)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss)


@misconception(
    "train_step",
    "Right for the usual smoothing of 0.1, which the loss takes by itself. The caller may want another.",
)
def smoothing_not_passed(model, optimizer, source_ids, labels, learning_rate, smoothing=0.1):
    """The smoothing is not passed on to the loss."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    inputs = shift_right(labels)
    logits = model(source_ids, inputs)[0]
    loss = label_smoothed_loss(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss)


@misconception(
    "train_step",
    "The loss takes a log-softmax itself. Given probabilities, it sees numbers between 0 and 1 that hardly "
    "differ, and the gradients are tiny.",
)
def probabilities_for_the_loss(model, optimizer, source_ids, labels, learning_rate, smoothing=0.1):
    """The loss gets probabilities instead of logits."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    inputs = shift_right(labels)
    logits = model(source_ids, inputs)[0].softmax(-1)
    loss = label_smoothed_loss(logits, labels, smoothing)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss)


@misconception(
    "train_step",
    "Asked for is the loss that the gradients belong to, before the weights change. A second pass through the "
    "model costs as much as the first.",
)
def loss_after_the_step(model, optimizer, source_ids, labels, learning_rate, smoothing=0.1):
    """The loss that is returned is computed after the step."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    inputs = shift_right(labels)
    logits = model(source_ids, inputs)[0]
    loss = label_smoothed_loss(logits, labels, smoothing)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss = label_smoothed_loss(model(source_ids, inputs)[0], labels, smoothing)
    return float(loss)


# ---------------------------------------------------------------------------------- greedy_decode


@misconception(
    "greedy_decode",
    "The logits have one row for each word of the prefix. The row of the *last* word says what comes next; "
    "the first row says what follows BOS, every time.",
)
def reads_the_first_position(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """The next word is read off the first position instead of the last."""
    ids = torch.full((len(source_ids), 1), bos_id)
    done = torch.zeros(len(source_ids), dtype=torch.bool)
    for _ in range(max_len):
        word = model(source_ids, ids)[0][:, 0].argmax(-1)
        done |= word == eos_id
        word[done] = pad_id
        ids = torch.cat([ids, word[:, None]], 1)
        if done.all():
            break
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "Once a sentence has its EOS, it is finished: whatever the model says about it afterwards is chatter. "
    "Fill up with padding.",
)
def goes_on_after_the_end(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """Words after a sentence's end are kept."""
    ids = torch.full((len(source_ids), 1), bos_id)
    done = torch.zeros(len(source_ids), dtype=torch.bool)
    for _ in range(max_len):
        word = model(source_ids, ids)[0][:, -1].argmax(-1)
        done |= word == eos_id
        word[word == eos_id] = pad_id
        ids = torch.cat([ids, word[:, None]], 1)
        if done.all():
            break
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "The result is right, but most of the time is wasted: once all sentences have ended, there is nothing to "
    "ask.",
)
def never_stops_early(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """It always takes max_len steps, also when every sentence has ended."""
    ids = torch.full((len(source_ids), 1), bos_id)
    done = torch.zeros(len(source_ids), dtype=torch.bool)
    for _ in range(max_len):
        word = model(source_ids, ids)[0][:, -1].argmax(-1)
        done |= word == eos_id
        word[done] = pad_id
        ids = torch.cat([ids, word[:, None]], 1)
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "The sentences of a batch end at different steps. Go on until *all* of them have ended.",
)
def stops_with_the_first(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """It stops as soon as one sentence has ended."""
    ids = torch.full((len(source_ids), 1), bos_id)
    done = torch.zeros(len(source_ids), dtype=torch.bool)
    for _ in range(max_len):
        word = model(source_ids, ids)[0][:, -1].argmax(-1)
        done |= word == eos_id
        word[done] = pad_id
        ids = torch.cat([ids, word[:, None]], 1)
        if done.any():
            break
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "BOS is what you gave the model to begin with, not something it said.",
)
def begin_kept(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """BOS is returned as the first word."""
    ids = torch.full((len(source_ids), 1), bos_id)
    done = torch.zeros(len(source_ids), dtype=torch.bool)
    for _ in range(max_len):
        word = model(source_ids, ids)[0][:, -1].argmax(-1)
        done |= word == eos_id
        word[done] = pad_id
        ids = torch.cat([ids, word[:, None]], 1)
        if done.all():
            break
    return ids


@misconception(
    "greedy_decode",
    "EOS says that the sentence is over; it is no word of the translation. In its place comes padding.",
)
def end_kept(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """EOS is returned as a word."""
    ids = torch.full((len(source_ids), 1), bos_id)
    done = torch.zeros(len(source_ids), dtype=torch.bool)
    for _ in range(max_len):
        word = model(source_ids, ids)[0][:, -1].argmax(-1)
        word[done] = pad_id
        ids = torch.cat([ids, word[:, None]], 1)
        done |= word == eos_id
        if done.all():
            break
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "The model has no memory of its own between two calls: what it should know of its own words must be in "
    "the prefix. (Real systems keep keys and values instead; lab 08.)",
)
def only_the_last_word_asked(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """The model is given only the last word instead of the whole prefix."""
    ids = torch.full((len(source_ids), 1), bos_id)
    done = torch.zeros(len(source_ids), dtype=torch.bool)
    for _ in range(max_len):
        word = model(source_ids, ids[:, -1:])[0][:, -1].argmax(-1)
        done |= word == eos_id
        word[done] = pad_id
        ids = torch.cat([ids, word[:, None]], 1)
        if done.all():
            break
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "In training the decoder's input always began with BOS. A prefix that begins with anything else is one "
    "that the model has never seen.",
)
def begins_with_the_end(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """The decoder is started with EOS instead of BOS."""
    ids = torch.full((len(source_ids), 1), eos_id)
    done = torch.zeros(len(source_ids), dtype=torch.bool)
    for _ in range(max_len):
        word = model(source_ids, ids)[0][:, -1].argmax(-1)
        done |= word == eos_id
        word[done] = pad_id
        ids = torch.cat([ids, word[:, None]], 1)
        if done.all():
            break
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "max_len counts the words that are written. BOS is not written, so there are max_len steps.",
)
def one_word_short(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """BOS is counted as one of the max_len words."""
    ids = torch.full((len(source_ids), 1), bos_id)
    done = torch.zeros(len(source_ids), dtype=torch.bool)
    for _ in range(max_len - 1):
        word = model(source_ids, ids)[0][:, -1].argmax(-1)
        done |= word == eos_id
        word[done] = pad_id
        ids = torch.cat([ids, word[:, None]], 1)
        if done.all():
            break
    return ids[:, 1:]


@misconception(
    "greedy_decode",
    "After its end a sentence is filled up with pad_id, so that the caller can tell words from filling in one "
    "way only.",
)
def filled_with_the_end(model, source_ids, max_len, bos_id=1, eos_id=2, pad_id=0):
    """Ended sentences are filled up with EOS instead of padding."""
    ids = torch.full((len(source_ids), 1), bos_id)
    done = torch.zeros(len(source_ids), dtype=torch.bool)
    for _ in range(max_len):
        word = model(source_ids, ids)[0][:, -1].argmax(-1)
        done |= word == eos_id
        word[done] = eos_id
        ids = torch.cat([ids, word[:, None]], 1)
        if done.all():
            break
    return ids[:, 1:]


# ---------------------------------------------------------------------------------- beam_search


@misconception(
    "beam_search",
    "Each further word adds a negative number, so a longer sentence has a lower sum even if every word of it "
    "is certain. Your search prefers short sentences, whatever length_penalty says.",
)
def sums_compared(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """The length penalty is ignored: sums of log-probabilities are compared."""
    def score(hypothesis):
        words, total = hypothesis
        return total

    beam = [([], 0.0)]
    for _ in range(max_len):
        longer = []
        for words, total in beam:
            if words[-1:] == [eos_id]:
                longer.append((words, total))
                continue
            prefix = torch.tensor([[bos_id, *words]])
            log_p = model(source_ids, prefix)[0][0, -1].log_softmax(-1)
            longer += [([*words, word], total + float(p)) for word, p in enumerate(log_p)]
        beam = sorted(longer, key=score, reverse=True)[:beam_size]
        if all(words[-1:] == [eos_id] for words, _ in beam):
            break
    words, total = max(beam, key=score)
    return torch.tensor([word for word in words if word != eos_id], dtype=torch.long), score((words, total))


@misconception(
    "beam_search",
    "By the time the score is used, the sentence that would have won may be out of the beam. The same score "
    "is used whenever hypotheses are compared.",
)
def normalised_at_the_end_only(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """Sums are compared while searching; the length counts only at the end."""
    def score(hypothesis):
        words, total = hypothesis
        return total / max(len(words), 1) ** length_penalty

    beam = [([], 0.0)]
    for _ in range(max_len):
        longer = []
        for words, total in beam:
            if words[-1:] == [eos_id]:
                longer.append((words, total))
                continue
            prefix = torch.tensor([[bos_id, *words]])
            log_p = model(source_ids, prefix)[0][0, -1].log_softmax(-1)
            longer += [([*words, word], total + float(p)) for word, p in enumerate(log_p)]
        beam = sorted(longer, key=lambda hypothesis: hypothesis[1], reverse=True)[:beam_size]
        if all(words[-1:] == [eos_id] for words, _ in beam):
            break
    words, total = max(beam, key=score)
    return torch.tensor([word for word in words if word != eos_id], dtype=torch.long), score((words, total))


@misconception(
    "beam_search",
    "Then a long sentence is punished twice. The score is a mean log-probability a word (for "
    "length_penalty=1).",
)
def multiplied_by_the_length(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """The sum is multiplied by the length instead of divided."""
    def score(hypothesis):
        words, total = hypothesis
        return total * max(len(words), 1) ** length_penalty

    beam = [([], 0.0)]
    for _ in range(max_len):
        longer = []
        for words, total in beam:
            if words[-1:] == [eos_id]:
                longer.append((words, total))
                continue
            prefix = torch.tensor([[bos_id, *words]])
            log_p = model(source_ids, prefix)[0][0, -1].log_softmax(-1)
            longer += [([*words, word], total + float(p)) for word, p in enumerate(log_p)]
        beam = sorted(longer, key=score, reverse=True)[:beam_size]
        if all(words[-1:] == [eos_id] for words, _ in beam):
            break
    words, total = max(beam, key=score)
    return torch.tensor([word for word in words if word != eos_id], dtype=torch.long), score((words, total))


@misconception(
    "beam_search",
    "EOS is predicted like any word, and its log-probability is in the sum. So it counts in the length, too.",
)
def end_not_counted(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """The length is counted without EOS."""
    def score(hypothesis):
        words, total = hypothesis
        return total / max(len([word for word in words if word != eos_id]), 1) ** length_penalty

    beam = [([], 0.0)]
    for _ in range(max_len):
        longer = []
        for words, total in beam:
            if words[-1:] == [eos_id]:
                longer.append((words, total))
                continue
            prefix = torch.tensor([[bos_id, *words]])
            log_p = model(source_ids, prefix)[0][0, -1].log_softmax(-1)
            longer += [([*words, word], total + float(p)) for word, p in enumerate(log_p)]
        beam = sorted(longer, key=score, reverse=True)[:beam_size]
        if all(words[-1:] == [eos_id] for words, _ in beam):
            break
    words, total = max(beam, key=score)
    return torch.tensor([word for word in words if word != eos_id], dtype=torch.long), score((words, total))


@misconception(
    "beam_search",
    "Logits of different positions cannot be compared: any number may be added to all logits of a position. "
    "log_softmax makes them comparable.",
)
def logits_added_up(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """Logits are added up instead of log-probabilities."""
    def score(hypothesis):
        words, total = hypothesis
        return total / max(len(words), 1) ** length_penalty

    beam = [([], 0.0)]
    for _ in range(max_len):
        longer = []
        for words, total in beam:
            if words[-1:] == [eos_id]:
                longer.append((words, total))
                continue
            prefix = torch.tensor([[bos_id, *words]])
            log_p = model(source_ids, prefix)[0][0, -1]
            longer += [([*words, word], total + float(p)) for word, p in enumerate(log_p)]
        beam = sorted(longer, key=score, reverse=True)[:beam_size]
        if all(words[-1:] == [eos_id] for words, _ in beam):
            break
    words, total = max(beam, key=score)
    return torch.tensor([word for word in words if word != eos_id], dtype=torch.long), score((words, total))


@misconception(
    "beam_search",
    "The probability of a sentence is the *product* of its words' probabilities; logarithms turn it into a "
    "sum. A sum of probabilities means nothing and grows with the length.",
)
def probabilities_added_up(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """Probabilities are added up instead of their logarithms."""
    def score(hypothesis):
        words, total = hypothesis
        return total / max(len(words), 1) ** length_penalty

    beam = [([], 0.0)]
    for _ in range(max_len):
        longer = []
        for words, total in beam:
            if words[-1:] == [eos_id]:
                longer.append((words, total))
                continue
            prefix = torch.tensor([[bos_id, *words]])
            log_p = model(source_ids, prefix)[0][0, -1].softmax(-1)
            longer += [([*words, word], total + float(p)) for word, p in enumerate(log_p)]
        beam = sorted(longer, key=score, reverse=True)[:beam_size]
        if all(words[-1:] == [eos_id] for words, _ in beam):
            break
    words, total = max(beam, key=score)
    return torch.tensor([word for word in words if word != eos_id], dtype=torch.long), score((words, total))


@misconception(
    "beam_search",
    "That is greedy search. Either the beam is cut to one, or each hypothesis is continued with its own best "
    "word only, so that from the single one at the start no second ever grows. Continue each with *every* "
    "word, then keep the beam_size best of all.",
)
def only_one_kept(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """There is never more than one hypothesis: the best word at each step."""
    def score(hypothesis):
        words, total = hypothesis
        return total / max(len(words), 1) ** length_penalty

    beam = [([], 0.0)]
    for _ in range(max_len):
        longer = []
        for words, total in beam:
            if words[-1:] == [eos_id]:
                longer.append((words, total))
                continue
            prefix = torch.tensor([[bos_id, *words]])
            log_p = model(source_ids, prefix)[0][0, -1].log_softmax(-1)
            longer += [([*words, word], total + float(p)) for word, p in enumerate(log_p)]
        beam = sorted(longer, key=score, reverse=True)[:1]
        if all(words[-1:] == [eos_id] for words, _ in beam):
            break
    words, total = max(beam, key=score)
    return torch.tensor([word for word in words if word != eos_id], dtype=torch.long), score((words, total))


@misconception(
    "beam_search",
    "The first sentence to end is a short one, and one of the others may still overtake it. Stop when all "
    "hypotheses in the beam have ended.",
)
def first_end_wins(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """The search stops as soon as any hypothesis in the beam has ended, and returns it."""
    def score(hypothesis):
        words, total = hypothesis
        return total / max(len(words), 1) ** length_penalty

    beam = [([], 0.0)]
    for _ in range(max_len):
        longer = []
        for words, total in beam:
            if words[-1:] == [eos_id]:
                longer.append((words, total))
                continue
            prefix = torch.tensor([[bos_id, *words]])
            log_p = model(source_ids, prefix)[0][0, -1].log_softmax(-1)
            longer += [([*words, word], total + float(p)) for word, p in enumerate(log_p)]
        beam = sorted(longer, key=score, reverse=True)[:beam_size]
        ended = [hypothesis for hypothesis in beam if hypothesis[0][-1:] == [eos_id]]
        if ended:
            beam = ended
            break
    words, total = max(beam, key=score)
    return torch.tensor([word for word in words if word != eos_id], dtype=torch.long), score((words, total))


@misconception(
    "beam_search",
    "A sentence that has ended is not continued, but it is not lost either: it stays in the beam with its "
    "score, and may be the answer.",
)
def ends_forgotten(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """Hypotheses that have ended are dropped from the beam."""
    def score(hypothesis):
        words, total = hypothesis
        return total / max(len(words), 1) ** length_penalty

    beam = [([], 0.0)]
    for _ in range(max_len):
        longer = []
        for words, total in beam:
            if words[-1:] == [eos_id]:
                pass
                continue
            prefix = torch.tensor([[bos_id, *words]])
            log_p = model(source_ids, prefix)[0][0, -1].log_softmax(-1)
            longer += [([*words, word], total + float(p)) for word, p in enumerate(log_p)]
        beam = sorted(longer, key=score, reverse=True)[:beam_size]
        if all(words[-1:] == [eos_id] for words, _ in beam):
            break
    words, total = max(beam, key=score)
    return torch.tensor([word for word in words if word != eos_id], dtype=torch.long), score((words, total))


@misconception(
    "beam_search",
    "After EOS a sentence is over. In yours more words follow, each of which lowers its sum.",
)
def ends_continued(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """Hypotheses are continued after their end."""
    def score(hypothesis):
        words, total = hypothesis
        return total / max(len(words), 1) ** length_penalty

    beam = [([], 0.0)]
    for _ in range(max_len):
        longer = []
        for words, total in beam:
            if False:
                pass
                continue
            prefix = torch.tensor([[bos_id, *words]])
            log_p = model(source_ids, prefix)[0][0, -1].log_softmax(-1)
            longer += [([*words, word], total + float(p)) for word, p in enumerate(log_p)]
        beam = sorted(longer, key=score, reverse=True)[:beam_size]
        pass
    words, total = max(beam, key=score)
    return torch.tensor([word for word in words if word != eos_id], dtype=torch.long), score((words, total))


@misconception(
    "beam_search",
    "BOS is what you gave the model to begin with, not something it said.",
)
def begin_returned(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """The ids that are returned begin with BOS."""
    def score(hypothesis):
        words, total = hypothesis
        return total / max(len(words), 1) ** length_penalty

    beam = [([], 0.0)]
    for _ in range(max_len):
        longer = []
        for words, total in beam:
            if words[-1:] == [eos_id]:
                longer.append((words, total))
                continue
            prefix = torch.tensor([[bos_id, *words]])
            log_p = model(source_ids, prefix)[0][0, -1].log_softmax(-1)
            longer += [([*words, word], total + float(p)) for word, p in enumerate(log_p)]
        beam = sorted(longer, key=score, reverse=True)[:beam_size]
        if all(words[-1:] == [eos_id] for words, _ in beam):
            break
    words, total = max(beam, key=score)
    return torch.tensor([bos_id] + [word for word in words if word != eos_id]), score((words, total))


@misconception(
    "beam_search",
    "EOS counts for the score, but it is no word of the translation.",
)
def end_returned(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """The ids that are returned end with EOS."""
    def score(hypothesis):
        words, total = hypothesis
        return total / max(len(words), 1) ** length_penalty

    beam = [([], 0.0)]
    for _ in range(max_len):
        longer = []
        for words, total in beam:
            if words[-1:] == [eos_id]:
                longer.append((words, total))
                continue
            prefix = torch.tensor([[bos_id, *words]])
            log_p = model(source_ids, prefix)[0][0, -1].log_softmax(-1)
            longer += [([*words, word], total + float(p)) for word, p in enumerate(log_p)]
        beam = sorted(longer, key=score, reverse=True)[:beam_size]
        if all(words[-1:] == [eos_id] for words, _ in beam):
            break
    words, total = max(beam, key=score)
    return torch.tensor(words), score((words, total))


@misconception(
    "beam_search",
    "The search itself is right. The caller asks for the score that the hypotheses were compared by.",
)
def sum_returned(model, source_ids, beam_size, max_len, length_penalty=1.0, bos_id=1, eos_id=2):
    """The sum of log-probabilities is returned instead of the score."""
    def score(hypothesis):
        words, total = hypothesis
        return total / max(len(words), 1) ** length_penalty

    beam = [([], 0.0)]
    for _ in range(max_len):
        longer = []
        for words, total in beam:
            if words[-1:] == [eos_id]:
                longer.append((words, total))
                continue
            prefix = torch.tensor([[bos_id, *words]])
            log_p = model(source_ids, prefix)[0][0, -1].log_softmax(-1)
            longer += [([*words, word], total + float(p)) for word, p in enumerate(log_p)]
        beam = sorted(longer, key=score, reverse=True)[:beam_size]
        if all(words[-1:] == [eos_id] for words, _ in beam):
            break
    words, total = max(beam, key=score)
    return torch.tensor([word for word in words if word != eos_id], dtype=torch.long), total
