"""Wrong ways to write lab 04's exercises. Each must lose points and be recognised as itself."""

import numpy as np
import torch
from torch import nn

from grader.author.catalogue import misconception

# ---------------------------------------------------------------------------------- get_angles


@misconception(
    "get_angles",
    "In the exponent stands 2i, where i is the number of the *pair*. With k in its place, features 2i and 2i + 1 get two "
    "different frequencies, and most of them are far too slow. Which pair do features 6 and 7 belong to?",
)
def feature_for_pair(positions, features, d_model):
    """The exponent uses the feature's number k where the number of its pair, k // 2, belongs."""
    return positions / 10000 ** (2 * features / d_model)


@misconception(
    "get_angles",
    "Your even features are right, your odd ones a little too slow: `/` gives halves where `//` rounds down. A sine and the "
    "cosine beside it must share one angle.",
)
def true_division(positions, features, d_model):
    """The feature's number is halved without rounding down, so that a pair's two features differ."""
    return positions / 10000 ** (2 * (features / 2) / d_model)


@misconception(
    "get_angles",
    "The paper's 2i *is* already the number of an even feature (i counts pairs). Doubling it once more uses up the whole range of "
    "wavelengths in the first half of the features.",
)
def doubled_exponent(positions, features, d_model):
    """The exponent is twice as large as it should be: 4i / d_model instead of 2i / d_model."""
    return positions / 10000 ** (2 * (2 * (features // 2)) / d_model)


@misconception(
    "get_angles",
    "The exponent is 2i / d_model, and i = k // 2 counts the pairs. Without the 2, i reaches only half of d_model, and the wavelengths "
    "end near 100 · 2π instead of near 10000 · 2π.",
)
def factor_two_missing(positions, features, d_model):
    """The exponent lacks the factor 2: i / d_model instead of 2i / d_model."""
    return positions / 10000 ** (features // 2 / d_model)


@misconception(
    "get_angles",
    "Count the zeros: the base of the powers has four. With 1000 the slowest wave is ten times too fast.",
)
def base_1000(positions, features, d_model):
    """The base of the powers is 1000 instead of 10000."""
    return positions / 1000 ** (2 * (features // 2) / d_model)


@misconception(
    "get_angles",
    "The exponent must run from 0 to nearly 1 over the features, whatever their number. Yours is a whole number: already the second pair hardly "
    "moves. What is 2i divided by?",
)
def exponent_not_divided(positions, features, d_model):
    """The exponent 2i is not divided by d_model."""
    return positions / 10000.0 ** (2 * (features // 2))


@misconception(
    "get_angles",
    "Python computes a power before a division. Without parentheses around the whole exponent, the power is divided by d_model, and not "
    "the exponent.",
)
def parentheses_missing(positions, features, d_model):
    """The power is divided by d_model instead of the exponent: parentheses are missing."""
    return positions / 10000.0 ** (2 * (features // 2)) / d_model


@misconception(
    "get_angles",
    "Later features are to turn *slower*, yours turn faster and faster. A negative exponent, or a division; not both, and not neither.",
)
def multiplied_by_power(positions, features, d_model):
    """The position is multiplied by the power of 10000 instead of divided by it."""
    return positions * 10000 ** (2 * (features // 2) / d_model)


@misconception(
    "get_angles",
    "`features` may hold only some of the features, so its length says nothing about the whole encoding. The number that "
    "the exponent needs is an argument.",
)
def number_of_features_given(positions, features, d_model):
    """The exponent is divided by the number of features asked for instead of d_model."""
    return positions / 10000 ** (2 * (features // 2) / features.shape[-1])


@misconception(
    "get_angles",
    "In Python `^` is no power: it is the bitwise exclusive or, which floats do not have. A power is written with two stars.",
)
def caret_for_power(positions, features, d_model):
    """The power is written with `^`, which is another operator in Python."""
    return positions / 10000 ^ (2 * (features // 2) / d_model)


# ---------------------------------------------------------------------------------- positional_encoding


def get_angles(positions, features, d_model):
    """The right one: in a submission it is the learner's own, defined earlier in the notebook."""
    return positions * np.exp(-np.log(10000) * 2 * (features // 2) / d_model)


@misconception(
    "positional_encoding",
    "Sine and cosine are in each other's place. Feature 0 is a sine, so position 0 must begin with sin(0); yours begins with cos(0).",
)
def sine_and_cosine_swapped(max_len, d_model):
    """Even features are cosines and odd ones sines."""
    angles = get_angles(np.arange(max_len)[:, None], np.arange(d_model)[None, :], d_model)
    return np.where(np.arange(d_model) % 2 == 0, np.cos(angles), np.sin(angles))


@misconception(
    "positional_encoding",
    "All the right numbers, in another order: you put all sines first and then all cosines, as some libraries do (tensor2tensor, Marian). "
    "In the paper's equations, and here, they alternate.",
)
def halves_concatenated(max_len, d_model):
    """All sines come first, then all cosines, instead of alternating."""
    angles = get_angles(np.arange(max_len)[:, None], np.arange(0, d_model, 2)[None, :], d_model)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)


@misconception(
    "positional_encoding",
    "Every feature of yours is a sine. The odd features must be cosines of the same angles; with the sine alone, two positions of a wave can "
    "look alike.",
)
def sines_only(max_len, d_model):
    """All features are sines; there is no cosine."""
    return np.sin(get_angles(np.arange(max_len)[:, None], np.arange(d_model)[None, :], d_model))


@misconception(
    "positional_encoding",
    "Your odd features are the cosine of a sine: the array had been overwritten by sines before the cosines were taken. Keep the angles until "
    "you have both.",
)
def cosine_of_the_sine(max_len, d_model):
    """The cosine is taken of values that had been replaced by their sines already."""
    encoding = np.sin(get_angles(np.arange(max_len)[:, None], np.arange(d_model)[None, :], d_model))
    encoding[:, 1::2] = np.cos(encoding[:, 1::2])
    return encoding


@misconception(
    "positional_encoding",
    "Sine and cosine alternate from *position* to position in your table. A single slice in square brackets picks rows; they should "
    "alternate along the features, the columns.",
)
def alternating_positions(max_len, d_model):
    """Sine and cosine alternate along the positions instead of along the features."""
    angles = get_angles(np.arange(max_len)[:, None], np.arange(d_model)[None, :], d_model)
    return np.where(np.arange(max_len)[:, None] % 2 == 0, np.sin(angles), np.cos(angles))


@misconception(
    "positional_encoding",
    "Your first row is that of position 1. Positions are counted from 0, and position 0 is sin(0), cos(0), sin(0), ...",
)
def counted_from_one(max_len, d_model):
    """Positions are counted from 1."""
    angles = get_angles(np.arange(1, max_len + 1)[:, None], np.arange(d_model)[None, :], d_model)
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angles), np.cos(angles))


@misconception(
    "positional_encoding",
    "Your row 0 is all zeros. Some code keeps it free for padding, but here row 0 is the first word, and cos(0) is not 0.",
)
def first_row_zero(max_len, d_model):
    """Row 0 is all zeros, as if position 0 stood for padding."""
    angles = get_angles(np.arange(max_len)[:, None], np.arange(d_model)[None, :], d_model)
    encoding = np.where(np.arange(d_model) % 2 == 0, np.sin(angles), np.cos(angles))
    encoding[0] = 0.0
    return encoding


@misconception(
    "positional_encoding",
    "The values are right, but there is an axis of length 1 in front. Such an axis is not needed for a batch: NumPy and PyTorch broadcast "
    "(max_len, d_model) by themselves.",
)
def batch_axis_in_front(max_len, d_model):
    """An axis of length 1 for the batch stands in front: (1, max_len, d_model)."""
    angles = get_angles(np.arange(max_len)[:, None], np.arange(d_model)[None, :], d_model)
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angles), np.cos(angles))[None]


@misconception(
    "positional_encoding",
    "Your positions are shares of the whole: with another max_len, the same word would stand at another place. A position is a whole "
    "number, and its encoding does not know how long the table is.",
)
def positions_as_shares(max_len, d_model):
    """Positions are divided by max_len, so that an encoding depends on the length of the table."""
    angles = get_angles(np.arange(max_len)[:, None] / max_len, np.arange(d_model)[None, :], d_model)
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angles), np.cos(angles))


@misconception(
    "positional_encoding",
    "Sines and cosines are in the right places, but a sine and the cosine beside it have different angles: their squares do not sum to 1. "
    "Your `get_angles` already turns a feature's number into its pair's; or did you count the features yourself?",
)
def pair_of_two_angles(max_len, d_model):
    """The two features of a pair have different angles: k stands where k // 2 belongs."""
    angles = np.arange(max_len)[:, None] / 10000 ** (2 * np.arange(d_model) / d_model)
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angles), np.cos(angles))


# ---------------------------------------------------------------------------------- shift_matrix


@misconception(
    "shift_matrix",
    "Your matrix steps back: it turns PE(pos) into PE(pos - offset). The minus sign is in the wrong corner. (In textbooks a rotation acts on "
    "(cos, sin); here the sine comes first.)",
)
def shifted_back(offset, d_model):
    """The rotation goes the wrong way: the matrix is transposed."""
    angles = get_angles(np.array([[offset]]), np.arange(0, d_model, 2)[None, :], d_model)[0]
    matrix = np.zeros((d_model, d_model))
    for pair, angle in enumerate(angles):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        matrix[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = turn
    return matrix


@misconception(
    "shift_matrix",
    "sin(a + b) has a plus between its two terms; cos(a + b) has a minus. Without the minus the matrix is no rotation: it stretches and squeezes.",
)
def no_minus_sign(offset, d_model):
    """Both sines have a plus: the matrix is symmetric and no rotation."""
    angles = get_angles(np.array([[offset]]), np.arange(0, d_model, 2)[None, :], d_model)[0]
    matrix = np.zeros((d_model, d_model))
    for pair, angle in enumerate(angles):
        turn = np.array([[np.cos(angle), np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        matrix[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = turn
    return matrix


@misconception(
    "shift_matrix",
    "This matrix fits an encoding with all sines first. Here the sine and the cosine of a pair are neighbours, so the four numbers of a pair "
    "form a small square on the diagonal.",
)
def shift_for_halves(offset, d_model):
    """The matrix fits an encoding whose sines all come before its cosines."""
    angles = get_angles(np.array([[offset]]), np.arange(0, d_model, 2)[None, :], d_model)[0]
    cosines, sines = np.diag(np.cos(angles)), np.diag(np.sin(angles))
    return np.block([[cosines, sines], [-sines, cosines]])


@misconception(
    "shift_matrix",
    "All your blocks are the same, but each pair has a frequency of its own: the fast pairs turn far when you take a step, the slow ones hardly at all.",
)
def one_angle_for_all_pairs(offset, d_model):
    """Every pair turns by the same angle, that of the fastest one."""
    turn = np.array([[np.cos(offset), np.sin(offset)], [-np.sin(offset), np.cos(offset)]])
    return np.kron(np.eye(d_model // 2), turn)


@misconception(
    "shift_matrix",
    "You asked for the angles of features 0, 1, 2, ... d_model/2 - 1 and took them for pairs. Pair i has the features 2i and 2i + 1: "
    "which features must you ask for, to get each pair's angle once?",
)
def pairs_taken_for_features(offset, d_model):
    """The number of a pair is used as the number of a feature, so the pairs turn too fast."""
    angles = get_angles(np.array([[offset]]), np.arange(d_model // 2)[None, :], d_model)[0]
    matrix = np.zeros((d_model, d_model))
    for pair, angle in enumerate(angles):
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        matrix[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = turn
    return matrix


@misconception(
    "shift_matrix",
    "A sine of a sum needs the sine *and* the cosine. With numbers on the diagonal only, each feature is merely stretched, and none of them learns "
    "from its partner.",
)
def diagonal_only(offset, d_model):
    """Only the cosines on the diagonal are there: no feature takes anything from its partner."""
    angles = get_angles(np.array([[offset]]), np.arange(d_model)[None, :], d_model)[0]
    return np.diag(np.cos(angles))


@misconception(
    "shift_matrix",
    "Taking `offset` steps means applying one step that many times: a *power* of the matrix for one step, or angles that are `offset` times as large. "
    "Multiplying the matrix itself makes vectors longer.",
)
def one_step_times_offset(offset, d_model):
    """The matrix for one step is multiplied by the offset."""
    angles = get_angles(np.array([[1]]), np.arange(0, d_model, 2)[None, :], d_model)[0]
    matrix = np.zeros((d_model, d_model))
    for pair, angle in enumerate(angles):
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        matrix[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = turn
    return offset * matrix


@misconception(
    "shift_matrix",
    "Your matrix moves the entries of a vector to other *features*. What should move is the position: every feature stays where it is and "
    "gets the value that it has `offset` positions further on.",
)
def features_moved(offset, d_model):
    """The matrix moves the entries along the features instead of moving the position."""
    return np.eye(d_model, k=offset)


# ---------------------------------------------------------------------------------- embed_tokens


def positional_encoding(max_len, d_model):
    """The right one: in a submission it is the learner's own, defined earlier in the notebook."""
    angles = get_angles(np.arange(max_len)[:, None], np.arange(d_model)[None, :], d_model)
    return np.where(np.arange(d_model) % 2 == 0, np.sin(angles), np.cos(angles))


@misconception(
    "embed_tokens",
    "The table's rows go in as they are. Their entries are small, and without the factor the positions drown them: see section 3.4 of the paper.",
)
def words_not_scaled(token_ids, table):
    """The embeddings are not multiplied by the square root of d_model."""
    return table[token_ids] + positional_encoding(token_ids.shape[-1], table.shape[-1])


@misconception(
    "embed_tokens",
    "d_model is the right quantity, but the factor is its square root: a vector of d_model entries of size 1/√d_model has length 1, and becomes √d_model long.",
)
def words_scaled_by_d_model(token_ids, table):
    """The embeddings are multiplied by d_model instead of its square root."""
    return table[token_ids] * table.shape[-1] + positional_encoding(token_ids.shape[-1], table.shape[-1])


@misconception(
    "embed_tokens",
    "You divide where the paper multiplies. Dividing belongs to the scores of attention; here the words must become *larger*.",
)
def words_divided(token_ids, table):
    """The embeddings are divided by the square root of d_model instead of multiplied."""
    words = table[token_ids] / np.sqrt(table.shape[-1])
    return words + positional_encoding(token_ids.shape[-1], table.shape[-1])


@misconception(
    "embed_tokens",
    "The table has a row for each word of the vocabulary and a column for each feature. You took the number of rows; d_model is the number of columns.",
)
def scaled_by_vocabulary(token_ids, table):
    """The factor is the square root of the vocabulary's size."""
    return table[token_ids] * np.sqrt(len(table)) + positional_encoding(token_ids.shape[-1], table.shape[-1])


@misconception(
    "embed_tokens",
    "The factor reaches the positions as well. It is meant for the words alone; scale first, then add.",
)
def sum_scaled(token_ids, table):
    """Words and positions are both scaled: the factor comes after the sum."""
    x = table[token_ids] + positional_encoding(token_ids.shape[-1], table.shape[-1])
    return x * np.sqrt(table.shape[-1])


@misconception(
    "embed_tokens",
    "The words are scaled, but their order is lost: nothing of the positions is in the result.",
)
def positions_forgotten(token_ids, table):
    """The positions are not added."""
    return table[token_ids] * np.sqrt(table.shape[-1])


@misconception(
    "embed_tokens",
    "For a single sentence all is well; a batch fails. `len(...)` and `shape[0]` count the *sentences* there. Which axis counts the tokens of a "
    "sentence, whatever stands in front of it?",
)
def encoded_by_batch(token_ids, table):
    """The first axis, the batch, is taken for the positions."""
    return table[token_ids] * np.sqrt(table.shape[-1]) + positional_encoding(len(token_ids), table.shape[-1])


@misconception(
    "embed_tokens",
    "You look up the encoding with the token's *id*, so for the model a word always stands in the same place. The row is chosen by where the token stands.",
)
def positions_by_token_id(token_ids, table):
    """The encoding's rows are chosen by the token's id instead of by its position."""
    encoding = positional_encoding(len(table), table.shape[-1])
    return table[token_ids] * np.sqrt(table.shape[-1]) + encoding[token_ids]


@misconception(
    "embed_tokens",
    "Each token's vector is twice as long as it should be: words in the first half, positions in the second. In a Transformer the two are *added*; "
    "the features are shared.",
)
def positions_concatenated(token_ids, table):
    """The positions are put beside the words instead of added to them."""
    words = table[token_ids] * np.sqrt(table.shape[-1])
    encoding = positional_encoding(token_ids.shape[-1], table.shape[-1])
    return np.concatenate([words, np.broadcast_to(encoding, words.shape)], axis=-1)


@misconception(
    "embed_tokens",
    "Words and positions are multiplied. Where a sine is 0 (feature 0 of position 0, say) the word's feature is wiped out. They are to be *added*.",
)
def positions_multiplied(token_ids, table):
    """Words and positions are multiplied instead of added."""
    words = table[token_ids] * np.sqrt(table.shape[-1])
    return words * positional_encoding(token_ids.shape[-1], table.shape[-1])


@misconception(
    "embed_tokens",
    "The result is right, but the caller's table has grown: `*=` changes the array itself, and with the next sentence it grows again. Make a new array.",
)
def table_scaled_in_place(token_ids, table):
    """The table itself is scaled, so that it grows with every call."""
    table *= np.sqrt(table.shape[-1])
    return table[token_ids] + positional_encoding(token_ids.shape[-1], table.shape[-1])


# ---------------------------------------------------------------------------------- LearnedPositionalEmbedding


@misconception(
    "LearnedPositionalEmbedding",
    "Your rows follow the *first* axis of x. That is right for code that puts the sequence first, as older PyTorch tutorials do; here the batch comes "
    "first, and every sentence must get the same rows.",
)
class RowsByBatch(nn.Module):
    """The rows are chosen by the sentence's place in the batch instead of by the position."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(max_len, d_model))

    def forward(self, x):
        if x.shape[1] > len(self.table):
            raise ValueError("too long")
        return x + self.table[: x.shape[0]].unsqueeze(1)


@misconception(
    "LearnedPositionalEmbedding",
    "It works only for a sequence that is exactly as long as the table. Most are shorter: take as many rows as there are positions.",
)
class WholeTable(nn.Module):
    """The whole table is added, whatever the length of the sequence."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(max_len, d_model))

    def forward(self, x):
        if x.shape[1] > len(self.table):
            raise ValueError("too long")
        return x + self.table.unsqueeze(0)


@misconception(
    "LearnedPositionalEmbedding",
    "A plain tensor is not a parameter: the optimizer never sees it, and it is not saved with the model. PyTorch has a class for tensors that "
    "are to be learned.",
)
class PlainTensor(nn.Module):
    """The table is a plain tensor, which no optimizer finds."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = torch.zeros(max_len, d_model)

    def forward(self, x):
        if x.shape[1] > len(self.table):
            raise ValueError("too long")
        return x + self.table[: x.shape[1]]


@misconception(
    "LearnedPositionalEmbedding",
    "The values are right, but no gradient reaches the table: it will never be learned. `.detach()`, `.data`, `no_grad` and "
    "`requires_grad=False` all cut the connection.",
)
class CutOff(nn.Module):
    """The table is cut off from the gradient, so that it never changes in training."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(max_len, d_model))

    def forward(self, x):
        if x.shape[1] > len(self.table):
            raise ValueError("too long")
        return x + self.table[: x.shape[1]].detach()


@misconception(
    "LearnedPositionalEmbedding",
    "What comes out are the positions alone; the words are gone. The layer *adds* its rows to x.",
)
class PositionsOnly(nn.Module):
    """The positions are returned without the words."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(max_len, d_model))

    def forward(self, x):
        if x.shape[1] > len(self.table):
            raise ValueError("too long")
        return self.table[: x.shape[1]].expand(x.shape)


@misconception(
    "LearnedPositionalEmbedding",
    "A sequence longer than the table is cut off silently: its last tokens just vanish. Somebody will look for them for a long time. Refuse it with a "
    "ValueError that says how long it is and how many rows there are.",
)
class CutsSilently(nn.Module):
    """A sequence that is too long is cut off without a word."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(max_len, d_model))

    def forward(self, x):
        x = x[:, : len(self.table)]
        return x + self.table[: x.shape[1]]


@misconception(
    "LearnedPositionalEmbedding",
    "All tokens beyond the end of the table get its last row: for the model they stand in one and the same place. A sequence that is too long is to "
    "be refused with a ValueError.",
)
class LastRowRepeated(nn.Module):
    """Positions beyond the table all get its last row."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(max_len, d_model))

    def forward(self, x):
        return x + self.table[torch.arange(x.shape[1]).clamp(max=len(self.table) - 1)]


@misconception(
    "LearnedPositionalEmbedding",
    "A sequence that is too long ends in an error from deep inside PyTorch, which does not say what is wrong. Compare the lengths first, and "
    "raise a ValueError with both of them.",
)
class ErrorFromInside(nn.Module):
    """The length is not checked: PyTorch's own error comes instead of a ValueError."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Embedding(max_len, d_model)

    def forward(self, x):
        return x + self.table(torch.arange(x.shape[1]))


@misconception(
    "LearnedPositionalEmbedding",
    "The result is right, but the caller's x has changed: `x += ...` writes into the tensor that was handed in, and whoever still needs it (a residual "
    "connection) gets another one. Make a new tensor.",
)
class AddsInPlace(nn.Module):
    """The positions are added to the caller's own tensor, in place."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(max_len, d_model))

    def forward(self, x):
        if x.shape[1] > len(self.table):
            raise ValueError("too long")
        x += self.table[: x.shape[1]]
        return x


@misconception(
    "LearnedPositionalEmbedding",
    "Your first token gets row 1, and a sequence as long as the table does not fit. Rows are counted from 0. (RoBERTa's table does begin "
    "later, because of its padding; here there is none.)",
)
class RowsFromOne(nn.Module):
    """The first token gets row 1 instead of row 0."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(max_len, d_model))

    def forward(self, x):
        if x.shape[1] > len(self.table):
            raise ValueError("too long")
        return x + self.table[1 : x.shape[1] + 1]


# ---------------------------------------------------------------------------------- rotary_embedding


@misconception(
    "rotary_embedding",
    "You pair feature i with feature i + d_k/2, as Llama's code and many libraries do. It is a rotary embedding too, but of another convention: "
    "here, as in the paper, neighbours (2i, 2i + 1) are partners.",
)
def halves_paired(x, positions=None):
    """Feature i is paired with feature i + d_k / 2 instead of with its neighbour."""
    positions = np.arange(x.shape[-2]) if positions is None else positions
    half = x.shape[-1] // 2
    angles = get_angles(positions[:, None], np.arange(0, x.shape[-1], 2)[None, :], x.shape[-1])
    angles = np.concatenate([angles, angles], axis=-1)
    partner = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    return x * np.cos(angles) + partner * np.sin(angles)


@misconception(
    "rotary_embedding",
    "You turn the other way round. Scores would still depend on the distance only, but with the sign of the distance reversed: the minus "
    "belongs to the first feature of a pair.",
)
def turned_back(x, positions=None):
    """The pairs are turned the wrong way."""
    positions = np.arange(x.shape[-2]) if positions is None else positions
    angles = get_angles(positions[:, None], np.arange(0, x.shape[-1], 2)[None, :], x.shape[-1])
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = [even * np.cos(angles) + odd * np.sin(angles), odd * np.cos(angles) - even * np.sin(angles)]
    return np.stack(turned, axis=-1).reshape(x.shape)


@misconception(
    "rotary_embedding",
    "One of the four terms has a minus. Without it the pair is not turned but stretched: its length changes.",
)
def rotary_without_minus(x, positions=None):
    """The minus sign is missing, so that the pairs are not turned."""
    positions = np.arange(x.shape[-2]) if positions is None else positions
    angles = get_angles(positions[:, None], np.arange(0, x.shape[-1], 2)[None, :], x.shape[-1])
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = [even * np.cos(angles) + odd * np.sin(angles), even * np.sin(angles) + odd * np.cos(angles)]
    return np.stack(turned, axis=-1).reshape(x.shape)


@misconception(
    "rotary_embedding",
    "All your pairs turn at the same speed, one radian a position. Each pair has a frequency of its own, as in the sinusoidal encoding.",
)
def one_speed(x, positions=None):
    """All pairs turn at the same speed."""
    positions = np.arange(x.shape[-2]) if positions is None else positions
    angles = positions[:, None] * np.ones(x.shape[-1] // 2)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = [even * np.cos(angles) - odd * np.sin(angles), even * np.sin(angles) + odd * np.cos(angles)]
    return np.stack(turned, axis=-1).reshape(x.shape)


@misconception(
    "rotary_embedding",
    "You asked for the angles of features 0, 1, 2, ... d_k/2 - 1 and took them for pairs. Pair i has the features 2i and 2i + 1.",
)
def rotary_pairs_for_features(x, positions=None):
    """The number of a pair is used as the number of a feature, so the pairs turn too fast."""
    positions = np.arange(x.shape[-2]) if positions is None else positions
    angles = get_angles(positions[:, None], np.arange(x.shape[-1] // 2)[None, :], x.shape[-1])
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = [even * np.cos(angles) - odd * np.sin(angles), even * np.sin(angles) + odd * np.cos(angles)]
    return np.stack(turned, axis=-1).reshape(x.shape)


@misconception(
    "rotary_embedding",
    "Everything is right as long as the positions are 0, 1, 2, ... Positions that are handed in have no effect. (A model that writes word by word "
    "needs them: its newest word alone is not at position 0.)",
)
def positions_ignored(x, positions=None):
    """The positions that are handed in are ignored."""
    angles = get_angles(np.arange(x.shape[-2])[:, None], np.arange(0, x.shape[-1], 2)[None, :], x.shape[-1])
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = [even * np.cos(angles) - odd * np.sin(angles), even * np.sin(angles) + odd * np.cos(angles)]
    return np.stack(turned, axis=-1).reshape(x.shape)


@misconception(
    "rotary_embedding",
    "For a single sentence all is well; with a batch in front it fails: `len(x)` and `x.shape[0]` count sentences then. Which axis counts the "
    "positions, whatever stands in front?",
)
def rotary_by_batch(x, positions=None):
    """The first axis is taken for the positions, so that a batch does not fit."""
    positions = np.arange(len(x)) if positions is None else positions
    angles = get_angles(positions[:, None], np.arange(0, x.shape[-1], 2)[None, :], x.shape[-1])
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = [even * np.cos(angles) - odd * np.sin(angles), even * np.sin(angles) + odd * np.cos(angles)]
    return np.stack(turned, axis=-1).reshape(x.shape)


@misconception(
    "rotary_embedding",
    "When the second feature of a pair is computed, the first has been overwritten by its new value already. Both new values need both *old* ones: "
    "keep these.",
)
def first_feature_overwritten(x, positions=None):
    """The second feature of a pair is computed from the new value of the first."""
    positions = np.arange(x.shape[-2]) if positions is None else positions
    angles = get_angles(positions[:, None], np.arange(0, x.shape[-1], 2)[None, :], x.shape[-1])
    rotated = x.copy()
    rotated[..., 0::2] = rotated[..., 0::2] * np.cos(angles) - rotated[..., 1::2] * np.sin(angles)
    rotated[..., 1::2] = rotated[..., 0::2] * np.sin(angles) + rotated[..., 1::2] * np.cos(angles)
    return rotated


@misconception(
    "rotary_embedding",
    "The result is right, but the caller's x has changed: you write into the array that was handed in. Make a new one.",
)
def rotated_in_place(x, positions=None):
    """The caller's own array is overwritten."""
    positions = np.arange(x.shape[-2]) if positions is None else positions
    angles = get_angles(positions[:, None], np.arange(0, x.shape[-1], 2)[None, :], x.shape[-1])
    even, odd = x[..., 0::2].copy(), x[..., 1::2].copy()
    x[..., 0::2] = even * np.cos(angles) - odd * np.sin(angles)
    x[..., 1::2] = even * np.sin(angles) + odd * np.cos(angles)
    return x


@misconception(
    "rotary_embedding",
    "This adds sines and cosines to the vectors, as the sinusoidal encoding does. A rotary embedding adds nothing: it *turns* each pair, and the length "
    "of a vector stays.",
)
def added_not_turned(x, positions=None):
    """Sines and cosines are added, as in the sinusoidal encoding; nothing is turned."""
    positions = np.arange(x.shape[-2]) if positions is None else positions
    angles = get_angles(positions[:, None], np.arange(x.shape[-1])[None, :], x.shape[-1])
    return x + np.where(np.arange(x.shape[-1]) % 2 == 0, np.sin(angles), np.cos(angles))


@misconception(
    "rotary_embedding",
    "Your first vector is turned already, as if it stood at position 1. Positions are counted from 0, and at position 0 nothing turns.",
)
def rotary_from_one(x, positions=None):
    """Positions are counted from 1 where none are handed in."""
    positions = np.arange(1, x.shape[-2] + 1) if positions is None else positions
    angles = get_angles(positions[:, None], np.arange(0, x.shape[-1], 2)[None, :], x.shape[-1])
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = [even * np.cos(angles) - odd * np.sin(angles), even * np.sin(angles) + odd * np.cos(angles)]
    return np.stack(turned, axis=-1).reshape(x.shape)
