"""Wrong ways to write lab 04's exercises. Each must lose points and be recognised as itself."""

import numpy as np
import torch
from torch import nn

from grader.catalogue import misconception, slip

# ---------------------------------------------------------------------------------- get_angles

slip("get_angles", "feature_for_pair",
     "The exponent uses the feature's number k where the number of its pair, k // 2, belongs.",
     "In the exponent stands 2i, where i is the number of the *pair*. With k in its place, features 2i and "
     "2i + 1 get two different frequencies, and most of them are far too slow. Which pair do features 6 and "
     "7 belong to?",
     ("features // 2", "features"))

slip("get_angles", "true_division",
     "The feature's number is halved without rounding down, so that a pair's two features differ.",
     "Your even features are right, your odd ones a little too slow: `/` gives halves where `//` rounds "
     "down. A sine and the cosine beside it must share one angle.",
     ("features // 2", "features / 2"))

slip("get_angles", "doubled_exponent",
     "The exponent is twice as large as it should be: 4i / d_model instead of 2i / d_model.",
     "The paper's 2i *is* already the number of an even feature (i counts pairs). Doubling it once more "
     "uses up the whole range of wavelengths in the first half of the features.",
     ("2 * pairs", "2 * 2 * pairs"))

slip("get_angles", "factor_two_missing",
     "The exponent lacks the factor 2: i / d_model instead of 2i / d_model.",
     "The exponent is 2i / d_model, and i = k // 2 counts the pairs. Without the 2, i reaches only half of "
     "d_model, and the wavelengths end near 100 · 2π instead of near 10000 · 2π.",
     ("2 * pairs", "pairs"))

slip("get_angles", "base_1000", "The base of the powers is 1000 instead of 10000.",
     "Count the zeros: the base of the powers has four. With 1000 the slowest wave is ten times too fast.",
     ("10000 **", "1000 **"))

slip("get_angles", "exponent_not_divided", "The exponent 2i is not divided by d_model.",
     "The exponent must run from 0 to nearly 1 over the features, whatever their number. Yours is a whole "
     "number: already the second pair hardly moves. What is 2i divided by?",
     ("10000 ** (2 * pairs / d_model)", "10000.0 ** (2 * pairs)"))

slip("get_angles", "parentheses_missing",
     "The power is divided by d_model instead of the exponent: parentheses are missing.",
     "Python computes a power before a division. Without parentheses around the whole exponent, the power "
     "is divided by d_model, and not the exponent.",
     ("10000 ** (2 * pairs / d_model)", "10000.0 ** (2 * pairs) / d_model"))

slip("get_angles", "multiplied_by_power",
     "The position is multiplied by the power of 10000 instead of divided by it.",
     "Later features are to turn *slower*, yours turn faster and faster. A negative exponent, or a "
     "division; not both, and not neither.",
     ("positions / 10000", "positions * 10000"))

slip("get_angles", "number_of_features_given",
     "The exponent is divided by the number of features asked for instead of d_model.",
     "`features` may hold only some of the features, so its length says nothing about the whole encoding. "
     "The number that the exponent needs is an argument.",
     ("pairs / d_model", "pairs / features.shape[-1]"))

slip("get_angles", "caret_for_power", "The power is written with `^`, which is another operator in Python.",
     "In Python `^` is no power: it is the bitwise exclusive or, which floats do not have. A power is "
     "written with two stars.",
     ("10000 ** (2 * pairs / d_model)", "10000 ^ 2 * pairs / d_model"))


# ---------------------------------------------------------------------------------- positional_encoding

slip("positional_encoding", "sine_and_cosine_swapped", "Even features are cosines and odd ones sines.",
     "Sine and cosine are in each other's place. Feature 0 is a sine, so position 0 must begin with sin(0); "
     "yours begins with cos(0).",
     ("np.sin(", "np.cos("), ("np.cos(", "np.sin("))

slip("positional_encoding", "halves_concatenated",
     "All sines come first, then all cosines, instead of alternating.",
     "All the right numbers, in another order: you put all sines first and then all cosines, as some "
     "libraries do (tensor2tensor, Marian). In the paper's equations, and here, they alternate.",
     ("encoding[:, 0::2]", "encoding[:, : d_model // 2]"),
     ("encoding[:, 1::2]", "encoding[:, d_model // 2 :]"))

slip("positional_encoding", "sines_only", "All features are sines; there is no cosine.",
     "Every feature of yours is a sine. The odd features must be cosines of the same angles; with the sine "
     "alone, two positions of a wave can look alike.",
     ("np.cos(", "np.sin("))

slip("positional_encoding", "cosine_of_the_sine",
     "The cosine is taken of values that had been replaced by their sines already.",
     "Your odd features are the cosine of a sine: the array had been overwritten by sines before the "
     "cosines were taken. Keep the angles until you have both.",
     ("np.empty((max_len, d_model))", "np.sin(angles)"),
     ("np.cos(angles[:, 1::2])", "np.cos(encoding[:, 1::2])"))

slip("positional_encoding", "alternating_positions",
     "Sine and cosine alternate along the positions instead of along the features.",
     "Sine and cosine alternate from *position* to position in your table. A single slice in square "
     "brackets picks rows; they should alternate along the features, the columns.",
     ("[:, 0::2]", "[0::2]", 2), ("[:, 1::2]", "[1::2]", 2))

slip("positional_encoding", "counted_from_one", "Positions are counted from 1.",
     "Your first row is that of position 1. Positions are counted from 0, and position 0 is sin(0), cos(0), "
     "sin(0), ...",
     ("np.arange(max_len)", "np.arange(1, max_len + 1)"))

slip("positional_encoding", "first_row_zero", "Row 0 is all zeros, as if position 0 stood for padding.",
     "Your row 0 is all zeros. Some code keeps it free for padding, but here row 0 is the first word, and "
     "cos(0) is not 0.",
     ("    return encoding",
      "    encoding[0] = 0.0\n"
      "    return encoding"))

slip("positional_encoding", "batch_axis_in_front",
     "An axis of length 1 for the batch stands in front: (1, max_len, d_model).",
     "The values are right, but there is an axis of length 1 in front. Such an axis is not needed for a "
     "batch: NumPy and PyTorch broadcast (max_len, d_model) by themselves.",
     ("return encoding", "return encoding[np.newaxis]"))

slip("positional_encoding", "positions_as_shares",
     "Positions are divided by max_len, so that an encoding depends on the length of the table.",
     "Your positions are shares of the whole: with another max_len, the same word would stand at another "
     "place. A position is a whole number, and its encoding does not know how long the table is.",
     ("np.arange(max_len)[:, np.newaxis]", "np.arange(max_len)[:, np.newaxis] / max_len"))

slip("positional_encoding", "pair_of_two_angles",
     "The two features of a pair have different angles: k stands where k // 2 belongs.",
     "Sines and cosines are in the right places, but a sine and the cosine beside it have different angles: "
     "their squares do not sum to 1. Your `get_angles` already turns a feature's number into its pair's; or "
     "did you count the features yourself?",
     ("get_angles(np.arange(max_len)[:, np.newaxis], np.arange(d_model)[np.newaxis, :], d_model)",
      "np.arange(max_len)[:, np.newaxis] / 10000 ** (2 * np.arange(d_model) / d_model)"))


# ---------------------------------------------------------------------------------- shift_matrix

slip("shift_matrix", "shifted_back", "The rotation goes the wrong way: the matrix is transposed.",
     "Your matrix steps back: it turns PE(pos) into PE(pos - offset). The minus sign is in the wrong "
     "corner. (In textbooks a rotation acts on (cos, sin); here the sine comes first.)",
     ("= np.sin(turns)", "= -np.sin(turns)"), ("= -np.sin(turns)", "= np.sin(turns)"))

slip("shift_matrix", "no_minus_sign", "Both sines have a plus: the matrix is symmetric and no rotation.",
     "sin(a + b) has a plus between its two terms; cos(a + b) has a minus. Without the minus the matrix is "
     "no rotation: it stretches and squeezes.",
     ("-np.sin(turns)", "np.sin(turns)"))

slip("shift_matrix", "shift_for_halves",
     "The matrix fits an encoding whose sines all come before its cosines.",
     "This matrix fits an encoding with all sines first. Here the sine and the cosine of a pair are "
     "neighbours, so the four numbers of a pair form a small square on the diagonal.",
     ("np.arange(0, d_model, 2), np.arange(1, d_model, 2)",
      "np.arange(d_model // 2), np.arange(d_model // 2, d_model)"))

slip("shift_matrix", "one_angle_for_all_pairs",
     "Every pair turns by the same angle, that of the fastest one.",
     "All your blocks are the same, but each pair has a frequency of its own: the fast pairs turn far when "
     "you take a step, the slow ones hardly at all.",
     ("get_angles(np.array([[offset]]), np.arange(d_model)[np.newaxis, ::2], d_model)[0]",
      "np.full(d_model // 2, offset)"))

slip("shift_matrix", "pairs_taken_for_features",
     "The number of a pair is used as the number of a feature, so the pairs turn too fast.",
     "You asked for the angles of features 0, 1, 2, ... d_model/2 - 1 and took them for pairs. Pair i has "
     "the features 2i and 2i + 1: which features must you ask for, to get each pair's angle once?",
     ("np.arange(d_model)[np.newaxis, ::2]", "np.arange(d_model // 2)[np.newaxis, :]"))

slip("shift_matrix", "diagonal_only",
     "Only the cosines on the diagonal are there: no feature takes anything from its partner.",
     "A sine of a sum needs the sine *and* the cosine. With numbers on the diagonal only, each feature is "
     "merely stretched, and none of them learns from its partner.",
     ("    matrix[sine, cosine] = np.sin(turns)\n"
      "    matrix[cosine, sine] = -np.sin(turns)\n",
      ""))

slip("shift_matrix", "one_step_times_offset", "The matrix for one step is multiplied by the offset.",
     "Taking `offset` steps means applying one step that many times: a *power* of the matrix for one step, "
     "or angles that are `offset` times as large. Multiplying the matrix itself makes vectors longer.",
     ("[[offset]]", "[[1]]"), ("return matrix", "return offset * matrix"))


@misconception(
    "shift_matrix",
    "Your matrix moves the entries of a vector to other *features*. What should move is the position: every feature stays where it is and "
    "gets the value that it has `offset` positions further on.",
)
def features_moved(offset, d_model):
    """The matrix moves the entries along the features instead of moving the position."""
    return np.eye(d_model, k=offset)


# ---------------------------------------------------------------------------------- embed_tokens

slip("embed_tokens", "words_not_scaled", "The embeddings are not multiplied by the square root of d_model.",
     "The table's rows go in as they are. Their entries are small, and without the factor the positions "
     "drown them: see section 3.4 of the paper.",
     (" * np.sqrt(d_model)", ""))

slip("embed_tokens", "words_scaled_by_d_model",
     "The embeddings are multiplied by d_model instead of its square root.",
     "d_model is the right quantity, but the factor is its square root: a vector of d_model entries of size "
     "1/√d_model has length 1, and becomes √d_model long.",
     ("np.sqrt(d_model)", "d_model"))

slip("embed_tokens", "words_divided",
     "The embeddings are divided by the square root of d_model instead of multiplied.",
     "You divide where the paper multiplies. Dividing belongs to the scores of attention; here the words "
     "must become *larger*.",
     ("* np.sqrt(d_model)", "/ np.sqrt(d_model)"))

slip("embed_tokens", "scaled_by_vocabulary", "The factor is the square root of the vocabulary's size.",
     "The table has a row for each word of the vocabulary and a column for each feature. You took the "
     "number of rows; d_model is the number of columns.",
     ("np.sqrt(d_model)", "np.sqrt(len(table))"))

slip("embed_tokens", "sum_scaled", "Words and positions are both scaled: the factor comes after the sum.",
     "The factor reaches the positions as well. It is meant for the words alone; scale first, then add.",
     (" * np.sqrt(d_model)", ""),
     ("words + positional_encoding(seq_len, d_model)",
      "(words + positional_encoding(seq_len, d_model)) * np.sqrt(d_model)"))

slip("embed_tokens", "positions_forgotten", "The positions are not added.",
     "The words are scaled, but their order is lost: nothing of the positions is in the result.",
     (" + positional_encoding(seq_len, d_model)", ""))

slip("embed_tokens", "encoded_by_batch", "The first axis, the batch, is taken for the positions.",
     "For a single sentence all is well; a batch fails. `len(...)` and `shape[0]` count the *sentences* "
     "there. Which axis counts the tokens of a sentence, whatever stands in front of it?",
     ("token_ids.shape[-1]", "len(token_ids)"))

slip("embed_tokens", "positions_by_token_id",
     "The encoding's rows are chosen by the token's id instead of by its position.",
     "You look up the encoding with the token's *id*, so for the model a word always stands in the same "
     "place. The row is chosen by where the token stands.",
     ("positional_encoding(seq_len, d_model)", "positional_encoding(len(table), d_model)[token_ids]"))

slip("embed_tokens", "positions_concatenated",
     "The positions are put beside the words instead of added to them.",
     "Each token's vector is twice as long as it should be: words in the first half, positions in the "
     "second. In a Transformer the two are *added*; the features are shared.",
     ("words + positional_encoding(seq_len, d_model)",
      "np.concatenate(np.broadcast_arrays(words, positional_encoding(seq_len, d_model)), axis=-1)"))

slip("embed_tokens", "positions_multiplied", "Words and positions are multiplied instead of added.",
     "Words and positions are multiplied. Where a sine is 0 (feature 0 of position 0, say) the word's "
     "feature is wiped out. They are to be *added*.",
     ("words + positional", "words * positional"))

slip("embed_tokens", "table_scaled_in_place", "The table itself is scaled, so that it grows with every call.",
     "The result is right, but the caller's table has grown: `*=` changes the array itself, and with the "
     "next sentence it grows again. Make a new array.",
     ("words = table[token_ids] * np.sqrt(d_model)",
      "table *= np.sqrt(d_model)\n"
      "    words = table[token_ids]"))


# ---------------------------------------------------------------------------------- LearnedPositionalEmbedding

slip("LearnedPositionalEmbedding", "RowsByBatch",
     "The rows are chosen by the sentence's place in the batch instead of by the position.",
     "Your rows follow the *first* axis of x. That is right for code that puts the sequence first, as older "
     "PyTorch tutorials do; here the batch comes first, and every sentence must get the same rows.",
     ("self.table[:seq_len]", "self.table[: x.shape[0]].unsqueeze(1)"))

slip("LearnedPositionalEmbedding", "WholeTable",
     "The whole table is added, whatever the length of the sequence.",
     "It works only for a sequence that is exactly as long as the table. Most are shorter: take as many "
     "rows as there are positions.",
     ("self.table[:seq_len]", "self.table"))

slip("LearnedPositionalEmbedding", "PlainTensor", "The table is a plain tensor, which no optimizer finds.",
     "A plain tensor is not a parameter: the optimizer never sees it, and it is not saved with the model. "
     "PyTorch has a class for tensors that are to be learned.",
     ("nn.Parameter(0.02 * torch.randn(max_len, d_model))", "0.02 * torch.randn(max_len, d_model)"))

slip("LearnedPositionalEmbedding", "CutOff",
     "The table is cut off from the gradient, so that it never changes in training.",
     "The values are right, but no gradient reaches the table: it will never be learned. `.detach()`, "
     "`.data`, `no_grad` and `requires_grad=False` all cut the connection.",
     ("self.table[:seq_len]", "self.table[:seq_len].detach()"))

slip("LearnedPositionalEmbedding", "PositionsOnly", "The positions are returned without the words.",
     "What comes out are the positions alone; the words are gone. The layer *adds* its rows to x.",
     ("x + self.table[:seq_len]", "self.table[:seq_len].expand(x.shape)"))

slip("LearnedPositionalEmbedding", "CutsSilently", "A sequence that is too long is cut off without a word.",
     "A sequence longer than the table is cut off silently: its last tokens just vanish. Somebody will look "
     "for them for a long time. Refuse it with a ValueError that says how long it is and how many rows "
     "there are.",
     ("if seq_len > max_len:\n"
      '            raise ValueError(f"The sequence has {seq_len} positions, but the table only has {max_len} rows.")',
      "x = x[:, :max_len]"))

slip("LearnedPositionalEmbedding", "LastRowRepeated", "Positions beyond the table all get its last row.",
     "All tokens beyond the end of the table get its last row: for the model they stand in one and the same "
     "place. A sequence that is too long is to be refused with a ValueError.",
     ("        if seq_len > max_len:\n"
      '            raise ValueError(f"The sequence has {seq_len} positions, but the table only has {max_len} rows.")\n',
      ""),
     ("self.table[:seq_len]", "self.table[torch.arange(seq_len).clamp(max=max_len - 1)]"))


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


slip("LearnedPositionalEmbedding", "AddsInPlace",
     "The positions are added to the caller's own tensor, in place.",
     "The result is right, but the caller's x has changed: `x += ...` writes into the tensor that was "
     "handed in, and whoever still needs it (a residual connection) gets another one. Make a new tensor.",
     ("return x + self.table[:seq_len]",
      "x += self.table[:seq_len]\n"
      "        return x"))

slip("LearnedPositionalEmbedding", "RowsFromOne", "The first token gets row 1 instead of row 0.",
     "Your first token gets row 1, and a sequence as long as the table does not fit. Rows are counted from "
     "0. (RoBERTa's table does begin later, because of its padding; here there is none.)",
     ("self.table[:seq_len]", "self.table[1 : seq_len + 1]"))


# ---------------------------------------------------------------------------------- rotary_embedding

slip("rotary_embedding", "halves_paired",
     "Feature i is paired with feature i + d_k / 2 instead of with its neighbour.",
     "You pair feature i with feature i + d_k/2, as Llama's code and many libraries do. It is a rotary "
     "embedding too, but of another convention: here, as in the paper, neighbours (2i, 2i + 1) are partners.",
     ("x[..., 0::2], x[..., 1::2]", "x[..., : d_k // 2], x[..., d_k // 2 :]"),
     ("rotated[..., 0::2]", "rotated[..., : d_k // 2]"), ("rotated[..., 1::2]", "rotated[..., d_k // 2 :]"))

slip("rotary_embedding", "turned_back", "The pairs are turned the wrong way.",
     "You turn the other way round. Scores would still depend on the distance only, but with the sign of "
     "the distance reversed: the minus belongs to the first feature of a pair.",
     ("first * cos - second * sin", "first * cos + second * sin"),
     ("first * sin + second * cos", "second * cos - first * sin"))

slip("rotary_embedding", "rotary_without_minus",
     "The minus sign is missing, so that the pairs are not turned.",
     "One of the four terms has a minus. Without it the pair is not turned but stretched: its length "
     "changes.",
     ("first * cos - second * sin", "first * cos + second * sin"))

slip("rotary_embedding", "one_speed", "All pairs turn at the same speed.",
     "All your pairs turn at the same speed, one radian a position. Each pair has a frequency of its own, "
     "as in the sinusoidal encoding.",
     ("get_angles(positions[:, np.newaxis], np.arange(d_k)[np.newaxis, ::2], d_k)",
      "positions[:, np.newaxis] * np.ones(d_k // 2)"))

slip("rotary_embedding", "rotary_pairs_for_features",
     "The number of a pair is used as the number of a feature, so the pairs turn too fast.",
     "You asked for the angles of features 0, 1, 2, ... d_k/2 - 1 and took them for pairs. Pair i has the "
     "features 2i and 2i + 1.",
     ("np.arange(d_k)[np.newaxis, ::2]", "np.arange(d_k // 2)[np.newaxis, :]"))

slip("rotary_embedding", "positions_ignored", "The positions that are handed in are ignored.",
     "Everything is right as long as the positions are 0, 1, 2, ... Positions that are handed in have no "
     "effect. (A model that writes word by word needs them: its newest word alone is not at position 0.)",
     ("    if positions is None:\n"
      "        positions =",
      "    positions ="))

slip("rotary_embedding", "rotary_by_batch",
     "The first axis is taken for the positions, so that a batch does not fit.",
     "For a single sentence all is well; with a batch in front it fails: `len(x)` and `x.shape[0]` count "
     "sentences then. Which axis counts the positions, whatever stands in front?",
     ("np.arange(x.shape[-2])", "np.arange(len(x))"))

slip("rotary_embedding", "first_feature_overwritten",
     "The second feature of a pair is computed from the new value of the first.",
     "When the second feature of a pair is computed, the first has been overwritten by its new value "
     "already. Both new values need both *old* ones: keep these.",
     ("first, second = x[..., 0::2], x[..., 1::2]\n"
      "    rotated = np.empty(x.shape)",
      "rotated = x.copy()\n"
      "    first, second = rotated[..., 0::2], rotated[..., 1::2]"))

slip("rotary_embedding", "rotated_in_place", "The caller's own array is overwritten.",
     "The result is right, but the caller's x has changed: you write into the array that was handed in. "
     "Make a new one.",
     ("first, second = x[..., 0::2], x[..., 1::2]\n"
      "    rotated = np.empty(x.shape)",
      "first, second = x[..., 0::2].copy(), x[..., 1::2].copy()\n"
      "    rotated = x"))

slip("rotary_embedding", "added_not_turned",
     "Sines and cosines are added, as in the sinusoidal encoding; nothing is turned.",
     "This adds sines and cosines to the vectors, as the sinusoidal encoding does. A rotary embedding adds "
     "nothing: it *turns* each pair, and the length of a vector stays.",
     ("first * cos - second * sin", "first + sin"), ("first * sin + second * cos", "second + cos"))

slip("rotary_embedding", "rotary_from_one", "Positions are counted from 1 where none are handed in.",
     "Your first vector is turned already, as if it stood at position 1. Positions are counted from 0, and "
     "at position 0 nothing turns.",
     ("np.arange(x.shape[-2])", "np.arange(1, x.shape[-2] + 1)"))
