"""Wrong ways to write lab 04's exercises. Each must lose points and be recognised as itself."""

import numpy as np
import torch
from torch import nn

from grader.catalogue import misconception, slip

# ---------------------------------------------------------------------------------- get_angles

slip("get_angles", "feature_for_pair",
     "The exponent uses the feature's number k where the number of its pair, k // 2, belongs.",
     "The exponent contains 2i, where i is the number of the *pair*. With k in place of i, features 2i and "
     "2i + 1 get two different frequencies, and most of them are far too slow. Which pair do features 6 and "
     "7 belong to?",
     ("features // 2", "features"))

slip("get_angles", "true_division",
     "The exponent is k / d_model for every feature k, so the two features of a pair differ.",
     "Your even features are right, but your odd ones are a little too slow. A sine and the cosine beside it must "
     "share one angle: which number do features 6 and 7 have in common? (`/` gives halves where `//` rounds down.)",
     ("features // 2", "features / 2"))

slip("get_angles", "doubled_exponent",
     "The exponent is twice as large as it should be: 4i / d_model instead of 2i / d_model.",
     "The paper's 2i *is* already the number of an even feature (i counts pairs). If you double it again, "
     "the first half of the features uses up the whole range of wavelengths.",
     ("2 * pairs", "2 * 2 * pairs"))

slip("get_angles", "factor_two_missing",
     "The exponent is half of what it should be: i / d_model instead of 2i / d_model.",
     "The exponent is 2i / d_model, and i = k // 2 counts the pairs. Without the 2, i reaches only half of "
     "d_model, and the wavelengths end near 100 · 2π instead of near 10000 · 2π.",
     ("2 * pairs", "pairs"))

slip("get_angles", "base_1000", "The base of the powers is 1000 instead of 10000.",
     "Count the zeros: the base of the powers has four. With 1000 the slowest wave is ten times too fast.",
     ("10000 **", "1000 **"))

slip("get_angles", "exponent_not_divided",
     "All angles beyond the first pair are nearly 0, as if the exponent 2i were not divided by d_model.",
     "The exponent must run from 0 to nearly 1 over the features, whatever their number. What you divide by "
     "grows far too fast: even the second pair hardly moves. What is 2i divided by?",
     ("10000 ** (2 * pairs / d_model)", "10000.0 ** (2 * pairs)"))

slip("get_angles", "parentheses_missing",
     "The power is divided by d_model instead of the exponent.",
     "Python computes a power before a division. Without parentheses around the whole exponent, it is the "
     "power that is divided by d_model, not the exponent.",
     ("10000 ** (2 * pairs / d_model)", "10000.0 ** (2 * pairs) / d_model"))

slip("get_angles", "multiplied_by_power",
     "The position ends up multiplied by 10000^(2i / d_model) instead of divided by it.",
     "Later features should turn more *slowly*, but yours turn faster and faster. You need either a negative "
     "exponent or a division, but not both.",
     ("positions / 10000", "positions * 10000"))

slip("get_angles", "number_of_features_given",
     "The exponent is divided by the number of features asked for instead of d_model.",
     "`features` may hold only some of the features, so its length says nothing about the whole encoding. "
     "The number that the exponent needs is one of the arguments.",
     ("pairs / d_model", "pairs / features.shape[-1]"))

slip("get_angles", "caret_for_power", "The power is written with `^`, which is another operator in Python.",
     "In Python `^` is not a power: it is the bitwise exclusive or, which does not exist for floats. A power "
     "is written with two stars.",
     ("10000 ** (2 * pairs / d_model)", "10000 ^ 2 * pairs / d_model"))

slip("get_angles", "floor_in_the_exponent",
     "Every angle is the position itself: all features turn at the same speed.",
     "The exponent should grow from 0 to nearly 1 over the pairs, but yours acts as if it were 0 for all of them. Is "
     "it rounded down? Only the number of the pair is a whole number.",
     ("(2 * pairs / d_model)", "(2 * pairs // d_model)"))


# ---------------------------------------------------------------------------------- positional_encoding

slip("positional_encoding", "sine_and_cosine_swapped", "Even features are cosines and odd ones sines.",
     "You have swapped sine and cosine. Feature 0 is a sine, so position 0 must begin with sin(0); yours "
     "begins with cos(0).",
     ("np.sin(", "np.cos("), ("np.cos(", "np.sin("))

slip("positional_encoding", "halves_concatenated",
     "All sines come first, then all cosines, instead of alternating.",
     "You have all the right numbers, but in a different order: you put all sines first and then all "
     "cosines, as some libraries do (tensor2tensor, Marian). In the paper's equations, and here, they "
     "alternate.",
     ("encoding[:, 0::2]", "encoding[:, : d_model // 2]"),
     ("encoding[:, 1::2]", "encoding[:, d_model // 2 :]"))

slip("positional_encoding", "sines_only", "All features are sines; there is no cosine.",
     "All your features are sines. The odd features must be cosines of the same angles: with the sine alone, "
     "two different positions along a wave can look alike.",
     ("np.cos(", "np.sin("))

slip("positional_encoding", "cosine_of_the_sine",
     "The cosines are taken of sines instead of angles.",
     "Your odd features are the cosine of a sine. Was an array of angles overwritten with sines before you took "
     "the cosines? Keep the angles until you have both.",
     ("np.empty((max_len, d_model))", "np.sin(angles)"),
     ("np.cos(angles[:, 1::2])", "np.cos(encoding[:, 1::2])"))

slip("positional_encoding", "alternating_positions",
     "Sine and cosine alternate along the positions instead of along the features.",
     "Sine and cosine alternate from *position* to position in your table. A single slice in square "
     "brackets picks rows; they should alternate along the features, the columns.",
     ("[:, 0::2]", "[0::2]", 2), ("[:, 1::2]", "[1::2]", 2))

slip("positional_encoding", "counted_from_one", "Positions are counted from 1.",
     "Your first row is the one for position 1. Positions are counted from 0, and the row for position 0 is "
     "sin(0), cos(0), sin(0), ...",
     ("np.arange(max_len)", "np.arange(1, max_len + 1)"))

slip("positional_encoding", "first_row_zero", "Row 0 is all zeros, as if position 0 meant padding.",
     "Your row 0 is all zeros. Some code keeps it free for padding, but here row 0 is the first word, and "
     "cos(0) is not 0.",
     ("    return encoding",
      "    encoding[0] = 0.0\n"
      "    return encoding"))

slip("positional_encoding", "batch_axis_in_front",
     "There is an extra axis of length 1 for the batch in front: (1, max_len, d_model).",
     "The values are right, but there is an axis of length 1 in front. A batch does not need such an axis: "
     "NumPy and PyTorch broadcast (max_len, d_model) by themselves.",
     ("return encoding", "return encoding[np.newaxis]"))

slip("positional_encoding", "positions_as_shares",
     "Positions are divided by max_len, so an encoding depends on the length of the table.",
     "Your positions are fractions of the length: with a different max_len, the same word would seem to be "
     "in a different place. A position is a whole number, and its encoding must not depend on how long the "
     "table is.",
     ("np.arange(max_len)[:, np.newaxis]", "np.arange(max_len)[:, np.newaxis] / max_len"))

slip("positional_encoding", "pair_of_two_angles",
     "The two features of a pair have different angles: k is used where k // 2 belongs.",
     "Sines and cosines are in the right places, but a sine and the cosine beside it have different angles: "
     "their squares do not sum to 1. Your `get_angles` already turns the number of a feature into that of "
     "its pair. Or did you compute the angles yourself?",
     ("get_angles(np.arange(max_len)[:, np.newaxis],\n"
      "                        np.arange(d_model)[np.newaxis, :], d_model)",
      "np.arange(max_len)[:, np.newaxis] / 10000 ** (2 * np.arange(d_model) / d_model)"))


slip("positional_encoding", "cosine_with_its_own_exponent",
     "The exponent is k / d_model for every feature k, so the two features of a pair differ.",
     "Your sines are right, but the cosines are a little too slow: feature 2i + 1 belongs to pair i, and has the angle of "
     "the sine beside it. Your `get_angles` is there for that. Or is it where the angles differ?",
     ("get_angles(np.arange(max_len)[:, np.newaxis],\n"
      "                        np.arange(d_model)[np.newaxis, :], d_model)",
      "np.arange(max_len)[:, np.newaxis] / 10000 ** (np.arange(d_model) / d_model)"))


# ---------------------------------------------------------------------------------- shift_matrix

slip("shift_matrix", "shifted_back", "The rotation goes the wrong way: the matrix is transposed.",
     "Your matrix steps backwards: it turns PE(pos) into PE(pos - offset). Which corner of a block needs the minus "
     "sign? (In textbooks a rotation acts on (cos, sin); here the sine comes first.)",
     ("= np.sin(turns)", "= -np.sin(turns)"), ("= -np.sin(turns)", "= np.sin(turns)"))

slip("shift_matrix", "no_minus_sign", "Both sines have a plus, so the matrix is symmetric and not a rotation.",
     "sin(a + b) has a plus between its two terms; cos(a + b) has a minus. Without the minus, the matrix is "
     "not a rotation: it stretches and squeezes.",
     ("-np.sin(turns)", "np.sin(turns)"))

slip("shift_matrix", "shift_for_halves",
     "The matrix fits an encoding whose sines all come before its cosines.",
     "This matrix fits an encoding with all sines first. Here the sine and the cosine of a pair are "
     "neighbours, so the four numbers for a pair form a small block on the diagonal.",
     ("np.arange(0, d_model, 2), np.arange(1, d_model, 2)",
      "np.arange(d_model // 2), np.arange(d_model // 2, d_model)"))

slip("shift_matrix", "one_angle_for_all_pairs",
     "Every pair turns by the same angle, that of the fastest one.",
     "All your blocks are the same, but each pair has a frequency of its own: the fast pairs turn far when "
     "you take a step, the slow ones hardly at all.",
     ("get_angles(np.array([[offset]]), np.arange(d_model)[np.newaxis, ::2],\n"
      "                       d_model)[0]",
      "np.full(d_model // 2, offset)"))

slip("shift_matrix", "pairs_taken_for_features",
     "The number of a pair is used as the number of a feature, so the pairs turn too fast.",
     "You asked for the angles of features 0, 1, 2, ... d_model/2 - 1 and took them for pairs. Pair i has "
     "the features 2i and 2i + 1: which features must you ask for to get each pair's angle once?",
     ("np.arange(d_model)[np.newaxis, ::2]", "np.arange(d_model // 2)[np.newaxis, :]"))

slip("shift_matrix", "diagonal_only",
     "Only the cosines on the diagonal are there: no feature takes anything from its partner.",
     "A sine of a sum needs the sine *and* the cosine. With numbers only on the diagonal, each feature is "
     "merely scaled, and none of them receives anything from its partner.",
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

slip("embed_tokens", "words_not_scaled",
     "The embeddings go into the sum without being multiplied by the square root of d_model.",
     "You add the rows of the table as they are. Their entries are small, and without the factor the "
     "positions drown them out: see section 3.4 of the paper.",
     (" * np.sqrt(d_model)", ""))

slip("embed_tokens", "words_scaled_by_d_model",
     "The embeddings end up multiplied by d_model, not by its square root.",
     "d_model is the right quantity, but the factor is its square root, once: a vector of d_model entries of size "
     "1/√d_model has length 1, and becomes √d_model long.",
     ("np.sqrt(d_model)", "d_model"))

slip("embed_tokens", "words_divided",
     "The embeddings are divided by the square root of d_model instead of multiplied by it.",
     "You divide where the paper multiplies. The division belongs to the attention scores; here the words "
     "must become *larger*.",
     ("* np.sqrt(d_model)", "/ np.sqrt(d_model)"))

slip("embed_tokens", "scaled_by_vocabulary", "The factor is the square root of the vocabulary's size.",
     "The table has a row for each word of the vocabulary and a column for each feature. You took the "
     "number of rows; d_model is the number of columns.",
     ("np.sqrt(d_model)", "np.sqrt(len(table))"))

slip("embed_tokens", "sum_scaled", "The positions are scaled as well as the words.",
     "The factor scales the positions as well, but it is meant for the words alone. Scale first, then add.",
     (" * np.sqrt(d_model)", ""),
     ("words + positional_encoding(seq_len, d_model)",
      "(words + positional_encoding(seq_len, d_model)) * np.sqrt(d_model)"))

slip("embed_tokens", "positions_forgotten", "The positions have no effect.",
     "The words are scaled, but their order is lost: the result contains nothing about the positions.",
     (" + positional_encoding(seq_len, d_model)", ""))

slip("embed_tokens", "encoded_by_batch", "The first axis, the batch, is treated as the positions.",
     "For a single sentence it works, but a batch fails: there, `len(...)` and `shape[0]` count the "
     "*sentences*. Which axis counts the tokens of a sentence, whatever comes before it?",
     ("token_ids.shape[-1]", "len(token_ids)"))

slip("embed_tokens", "positions_by_token_id",
     "The encoding's rows are chosen by the token's id instead of by its position.",
     "You look up the encoding with the token's *id*, so to the model a word always seems to be in the same "
     "place. What chooses the row must be the place of the token in the sentence.",
     ("positional_encoding(seq_len, d_model)", "positional_encoding(len(table), d_model)[token_ids]"))

slip("embed_tokens", "positions_concatenated",
     "The positions are put beside the words instead of being added to them.",
     "Each token's vector is twice as long as it should be: words in the first half, positions in the "
     "second. In a Transformer the two are *added*: they share the same features.",
     ("words + positional_encoding(seq_len, d_model)",
      "np.concatenate(np.broadcast_arrays(words, positional_encoding(seq_len, d_model)), axis=-1)"))

slip("embed_tokens", "positions_multiplied", "Words and positions are multiplied instead of added.",
     "You multiply words and positions. Where a sine is 0 (say, in feature 0 of position 0), the word's "
     "feature is wiped out. They should be *added*.",
     ("words + positional", "words * positional"))

slip("embed_tokens", "table_scaled_in_place", "The table itself is scaled, so it grows with every call.",
     "The result is right, but the caller's table has grown: `*=` changes the array itself, and with the "
     "next sentence the table grows again. Make a new array.",
     ("words = table[token_ids] * np.sqrt(d_model)",
      "table *= np.sqrt(d_model)\n"
      "    words = table[token_ids]"))


# ---------------------------------------------------------------------------------- LearnedPositionalEmbedding

slip("LearnedPositionalEmbedding", "RowsByBatch",
     "The rows are chosen by the sentence's place in the batch instead of by the token's position.",
     "Your rows follow the *first* axis of x. That is right for code that puts the sequence first, as older "
     "PyTorch tutorials do; here the batch comes first, and every sentence must get the same rows.",
     ("self.table[:seq_len]", "self.table[: x.shape[0]].unsqueeze(1)"))

slip("LearnedPositionalEmbedding", "WholeTable",
     "The whole table is added, whatever the length of the sequence.",
     "It works only for a sequence that is exactly as long as the table. Most sequences are shorter: take as "
     "many rows as there are positions.",
     ("self.table[:seq_len]", "self.table"))

slip("LearnedPositionalEmbedding", "PlainTensor", "The table is a plain tensor, which no optimizer finds.",
     "A plain tensor is not a parameter: the optimizer never sees it, and it is not saved with the model. "
     "PyTorch has a class for tensors that should be learned.",
     ("nn.Parameter(0.02 * torch.randn(max_len, d_model))", "0.02 * torch.randn(max_len, d_model)"))

slip("LearnedPositionalEmbedding", "CutOff",
     "The table is cut off from the gradient, so it never changes in training.",
     "The values are right, but no gradient reaches the table: it will never be learned. `.detach()`, "
     "`.data`, `no_grad` and `requires_grad=False` all cut the connection.",
     ("self.table[:seq_len]", "self.table[:seq_len].detach()"))

slip("LearnedPositionalEmbedding", "WordsCutOff",
     "The words are cut off from the gradient, so nothing before this layer is trained.",
     "The values are right, but no gradient gets back to x, and with it none to the embeddings of the words, which are made before "
     "this layer. Which line cuts x off?",
     ("return x + self", "return x.detach() + self"))

slip("LearnedPositionalEmbedding", "PositionsOnly", "The positions are returned without the words.",
     "Only the positions come out; the words are gone. The layer *adds* its rows to x.",
     ("x + self.table[:seq_len]", "self.table[:seq_len].expand(x.shape)"))

slip("LearnedPositionalEmbedding", "CutsSilently", "A sequence that is too long is cut off instead of refused.",
     "You cut off a sequence that is longer than the table: its last tokens just vanish, and nobody learns "
     "why. Refuse it with a ValueError that says how long it is and how many rows there are.",
     ("if seq_len > max_len:\n"
      '            raise ValueError(f"The sequence has {seq_len} positions, "\n'
      '                             f"but the table only has {max_len} rows.")',
      "x = x[:, :max_len]"))

slip("LearnedPositionalEmbedding", "LastRowRepeated", "Positions beyond the table all get its last row.",
     "All tokens beyond the end of the table get its last row, so to the model they all seem to be in the "
     "same place. Refuse a sequence that is too long with a ValueError.",
     ("        if seq_len > max_len:\n"
      '            raise ValueError(f"The sequence has {seq_len} positions, "\n'
      '                             f"but the table only has {max_len} rows.")\n',
      ""),
     ("self.table[:seq_len]", "self.table[torch.arange(seq_len).clamp(max=max_len - 1)]"))


@misconception(
    "LearnedPositionalEmbedding",
    "A sequence that is too long ends in an error from deep inside PyTorch, which does not say what is wrong. Compare the lengths first, and "
    "raise a ValueError with both of them.",
)
class ErrorFromInside(nn.Module):
    """A sequence that is too long gets no ValueError: PyTorch raises its own error."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Embedding(max_len, d_model)

    def forward(self, x):
        return x + self.table(torch.arange(x.shape[1]))


slip("LearnedPositionalEmbedding", "AddsInPlace",
     "The positions are added to the caller's own tensor, in place.",
     "The result is right, but the caller's x has changed: `x += ...` writes into the tensor that was passed "
     "in, and whatever still needs the old one (a residual connection, for example) finds it changed. Make a "
     "new tensor.",
     ("return x + self.table[:seq_len]",
      "x += self.table[:seq_len]\n"
      "        return x"))

slip("LearnedPositionalEmbedding", "RowsFromOne", "The first token gets row 1 instead of row 0.",
     "Your first token gets row 1, so a sequence as long as the table does not fit. Rows are counted from 0. "
     "(In RoBERTa's table the first token does get a later row, because of the padding; here there is no "
     "padding.)",
     ("self.table[:seq_len]", "self.table[1 : seq_len + 1]"))


# ---------------------------------------------------------------------------------- rotary_embedding

slip("rotary_embedding", "halves_paired",
     "Feature i is paired with feature i + d_k / 2 instead of with its neighbour.",
     "You pair feature i with feature i + d_k/2, as Llama's code and many libraries do. That is a rotary "
     "embedding too, but it follows a different convention: here, as in the paper, neighbours (2i, 2i + 1) "
     "are partners.",
     ("x[..., 0::2], x[..., 1::2]", "x[..., : d_k // 2], x[..., d_k // 2 :]"),
     ("rotated[..., 0::2]", "rotated[..., : d_k // 2]"), ("rotated[..., 1::2]", "rotated[..., d_k // 2 :]"))

slip("rotary_embedding", "turned_back", "The pairs are turned the wrong way.",
     "You turn the pairs the wrong way. Scores would still depend only on the distance, but with its sign "
     "reversed. What becomes of the pair (1, 0)?",
     ("first * cos - second * sin", "first * cos + second * sin"),
     ("first * sin + second * cos", "second * cos - first * sin"))

slip("rotary_embedding", "rotary_without_minus",
     "The minus sign is missing, so the pairs are not turned.",
     "One of the four terms has a minus. Without it, the pair is not turned but stretched and squeezed: its "
     "length changes.",
     ("first * cos - second * sin", "first * cos + second * sin"))

slip("rotary_embedding", "one_speed", "All pairs turn at the same speed.",
     "All your pairs turn at the same speed, one radian per position. Each pair has a frequency of its own, "
     "as in the sinusoidal encoding.",
     ("get_angles(positions[:, np.newaxis], np.arange(d_k)[np.newaxis, ::2], d_k)",
      "positions[:, np.newaxis] * np.ones(d_k // 2)"))

slip("rotary_embedding", "rotary_pairs_for_features",
     "The number of a pair is used as the number of a feature, so the pairs turn too fast.",
     "You asked for the angles of features 0, 1, 2, ... d_k/2 - 1 and took them for pairs. Pair i has the "
     "features 2i and 2i + 1.",
     ("np.arange(d_k)[np.newaxis, ::2]", "np.arange(d_k // 2)[np.newaxis, :]"))

slip("rotary_embedding", "positions_ignored", "The positions that are passed in have no effect.",
     "Everything is right as long as the positions are 0, 1, 2, ... But positions that are passed in have no "
     "effect. (A model that writes word by word needs them: it passes in its newest word alone, and that "
     "word is not at position 0.)",
     ("    if positions is None:\n"
      "        positions =",
      "    positions ="))

slip("rotary_embedding", "rotary_by_batch",
     "The first axis is taken for the positions, so a batch does not fit.",
     "For a single sentence it works, but with a batch it fails: there, `len(x)` and `x.shape[0]` count "
     "sentences. Which axis counts the positions, whatever comes before it?",
     ("np.arange(x.shape[-2])", "np.arange(len(x))"))

slip("rotary_embedding", "first_feature_overwritten",
     "The second feature of a pair is computed from the new value of the first.",
     "When you compute the second feature of a pair, the first has already been overwritten with its new "
     "value. Both new values need both *old* ones, so keep the old ones.",
     ("first, second = x[..., 0::2], x[..., 1::2]\n"
      "    rotated = np.empty(x.shape)",
      "rotated = x.copy()\n"
      "    first, second = rotated[..., 0::2], rotated[..., 1::2]"))

slip("rotary_embedding", "rotated_in_place", "The caller's own array is overwritten.",
     "The caller's x has changed: you write into the array that was passed in, which may even hold whole numbers only. Make "
     "a new one.",
     ("first, second = x[..., 0::2], x[..., 1::2]\n"
      "    rotated = np.empty(x.shape)",
      "first, second = x[..., 0::2].copy(), x[..., 1::2].copy()\n"
      "    rotated = x"))

slip("rotary_embedding", "added_not_turned",
     "Sines and cosines are added, as in the sinusoidal encoding; nothing is turned.",
     "You add sines and cosines to the vectors, as the sinusoidal encoding does. A rotary embedding adds "
     "nothing: it *turns* each pair, and the length of a vector stays the same.",
     ("first * cos - second * sin", "first + sin"), ("first * sin + second * cos", "second + cos"))

slip("rotary_embedding", "rotary_from_one", "Positions are counted from 1 when none are passed in.",
     "Your first vector is already turned, as if it were at position 1. Positions are counted from 0, and at "
     "position 0 nothing turns.",
     ("np.arange(x.shape[-2])", "np.arange(1, x.shape[-2] + 1)"))

slip("rotary_embedding", "cut_to_whole_numbers", "The result has the type of x, so whole numbers stay whole numbers.",
     "`np.empty_like(x)` and a copy of x have its dtype. Sines and cosines are floats: make an array that can hold them.",
     ("np.empty(x.shape)", "np.empty_like(x)"))

slip("rotary_embedding", "cosine_and_sine_exchanged", "Cosine and sine have changed places.",
     "At position 0 nothing should turn: the angle is 0, its cosine is 1 and its sine is 0. Put these two numbers into your "
     "two lines: do you get the pair back?",
     ("cos, sin = np.cos(angles), np.sin(angles)", "sin, cos = np.cos(angles), np.sin(angles)"))
