"""Wrong ways to write lab 02's exercises. Each must lose points and be recognised as itself."""

from grader.catalogue import slip

# ---------------------------------------------------------------------------------- project_qkv

slip("project_qkv", "key_and_query_swapped", "Query and key are exchanged.",
     "Which matrix makes the query, and which the key? And in which order does the docstring list the results?",
     ("return query, key, value", "return key, query, value"))

slip("project_qkv", "value_from_key_weights", "The value is the same as the key.",
     "Keys and values come from the same words, but through different matrices: the key is what a word is "
     "found by, the value is what it has to say. Which matrix makes the value that you return?",
     ("x @ w_value", "x @ w_key"))

slip("project_qkv", "value_not_projected", "The value is x itself, without a projection.",
     "The value is not the word's vector itself but a projection of it, like query and key. (In the toy "
     "version without learned weights, all three are the word itself; here there are three matrices.)",
     ("value = x @ w_value", "value = x"))

slip("project_qkv", "weights_transposed", "A matrix is transposed before it is multiplied.",
     "In this course vectors are rows: x has shape (..., seq_len, d_model), and d_model meets the *first* "
     "axis of a matrix of shape (d_model, d_k). Write the two shapes side by side: the inner sizes must be "
     "equal.",
     ("x @ w_query", "x @ w_query.T"), ("x @ w_key", "x @ w_key.T"), ("x @ w_value", "x @ w_value.T"))

slip("project_qkv", "multiplied_entry_by_entry", "x is multiplied by a matrix entry by entry, with `*`.",
     "`*` multiplies numbers that stand at the same place, and needs arrays of one shape. A projection is a matrix product: "
     "each new number is a sum of products. Which operator is that in NumPy?",
     ("x @ w_query", "x * w_query"), ("x @ w_key", "x * w_key"), ("x @ w_value", "x * w_value"))

slip("project_qkv", "single_sentence_only", "It works for one sentence only, not for a batch.",
     "Your code leaves no room for a batch. A matrix product works on the last two axes and leaves any "
     "leading axes alone, so nothing needs to be unpacked or reshaped.",
     ("    query = x",
      "    seq_len, d_model = x.shape\n"
      "    query = x"))


# ---------------------------------------------------------------------------------- attend_one_word

slip("attend_one_word", "one_word_unscaled",
     "The scores go into the softmax without being divided by the square root of d_k.",
     "Step 4 has no effect on your weights. The longer the vectors, the larger their dot products tend to be. Look up "
     "what the scores are divided by.",
     (" / np.sqrt(query.size)", ""))

slip("attend_one_word", "one_word_divided_by_d_k", "The scores end up divided by d_k, not by its square root.",
     "d_k is the length of a key, so the scale is its *square root*, once: the spread of a sum of d_k products "
     "grows with √d_k.",
     ("np.sqrt(query.size)", "query.size"))

slip("attend_one_word", "one_word_scaled_by_d_model",
     "The scores are divided by the square root of d_model instead of d_k.",
     "d_k is the length of the query and key vectors, after the projection; d_model is the length of a "
     "word's vector before it. Which of the two lengths does the dot product run over?",
     ("query.size", "x.shape[-1]"))

slip("attend_one_word", "one_word_scaled_by_seq_len",
     "The scores are divided by the square root of the number of words.",
     "The scale must not depend on how many words there are. The dot product runs over the entries of one "
     "query and one key: how many entries is that?",
     ("query.size", "len(x)"))

slip("attend_one_word", "one_word_scaled_by_d_v",
     "The scores are divided by the square root of d_v instead of d_k.",
     "You take the length of a value. But values have no part in a score: a score is the dot product of a query and a "
     "key. How many products are added up there?",
     ("query.size", "values.shape[-1]"))

slip("attend_one_word", "one_word_without_softmax",
     "The scores themselves are used as weights, without a softmax.",
     "The scores say how well each word fits, but they are not shares yet: they can be negative and do not "
     "sum to 1. One step is missing between the scaled scores and the weighted sum.",
     ("softmax(scores)", "scores"))

slip("attend_one_word", "one_word_overflows",
     "For large scores an exponential overflows, and the weights are NaN.",
     "exp(900) is more than a float can hold: infinity, and infinity divided by infinity is NaN. What did lab 00 do about that? "
     "Its `softmax` is there.",
     ("softmax(scores)", "np.exp(scores) / np.exp(scores).sum()"))

slip("attend_one_word", "one_word_asks_with_its_key", "The word asks with its key instead of its query.",
     "You have the right word, but the wrong vector of it. What a word wants to know and what it is found by "
     "are two vectors, made by two matrices. Which one asks?",
     ("x[position] @ w_query", "x[position] @ w_key"))

slip("attend_one_word", "one_word_sums_words",
     "The weights sum up the words themselves instead of their values.",
     "The weights come from comparing the query with the keys, but what they are applied to is something "
     "else. What does a word hand over once it has been found?",
     ("weights @ values", "weights @ x"))

slip("attend_one_word", "one_word_counted_from_one",
     "The word before `position` is taken, as if positions were counted from 1.",
     "Positions are counted from 0: word 0 is the first. `x[position]` needs no correction.",
     ("x[position]", "x[position - 1]"))


# ---------------------------------------------------------------------------------- scaled_dot_product_attention

slip("scaled_dot_product_attention", "no_scaling",
     "The scores go into the softmax without being divided by the square root of d_k.",
     "The spread of the dot product of two vectors with d_k entries grows like √d_k. Without dividing by "
     "that, the softmax saturates: nearly all weight falls on one key, and its gradient vanishes. Equation 1 "
     "of Vaswani et al. has one more part than you use.",
     (" / np.sqrt(key.shape[-1])", ""))

slip("scaled_dot_product_attention", "divided_by_d_k", "The scores end up divided by d_k, not by its square root.",
     "Close: d_k is the right quantity, but the *spread* (standard deviation) of a sum of d_k independent "
     "products grows with its square root. Divide by that, and only once.",
     ("np.sqrt(key.shape[-1])", "key.shape[-1]"))

slip("scaled_dot_product_attention", "multiplied_by_root_d_k",
     "The scores end up multiplied by the square root of d_k instead of divided by it.",
     "The scores are already too large and should shrink, but you make them grow. Check the direction of the "
     "scaling.",
     ("/ np.sqrt(key.shape[-1])", "* np.sqrt(key.shape[-1])"))

slip("scaled_dot_product_attention", "scaled_by_key_length",
     "The scores are divided by the square root of the number of keys.",
     "The scale must not depend on how long the sentence is. The dot product runs over the *last* axis of "
     "query and key: the length of that axis is what counts.",
     ("key.shape[-1]", "key.shape[-2]"))

slip("scaled_dot_product_attention", "scaled_by_number_of_queries",
     "The scores are divided by the square root of the number of queries.",
     "How many queries there are is the size of the query's second-to-last axis. (`len(query)` and "
     "`query.shape[0]` go wrong in a similar way.) d_k is how *long* each query is: the last axis.",
     ("key.shape[-1]", "query.shape[-2]"))

slip("scaled_dot_product_attention", "scaled_by_d_v",
     "The scores are divided by the square root of d_v instead of d_k.",
     "You take the length of a value. In many models it equals that of a key, but values have no part in the scores: the "
     "dot product runs over the entries of a query and a key.",
     ("key.shape[-1]", "value.shape[-1]"))

slip("scaled_dot_product_attention", "key_not_transposed",
     "The key is not transposed, so the shapes do not fit.",
     "(q_len, d_k) times (k_len, d_k) does not fit: the inner sizes must be equal. One of the two has to be "
     "transposed so that the product runs over d_k.",
     ("np.swapaxes(key, -1, -2)", "key"))

slip("scaled_dot_product_attention", "all_axes_transposed",
     "With a batch, the key's axes end up in the wrong order, so it works for one sentence only.",
     "A batch of keys (2, 6, 3) has to become (2, 3, 6): the last two axes change places, and the batch stays "
     "in front. What does yours become? (`.T` reverses *all* axes. Axes counted from the front are others in a "
     "batch.)",
     ("np.swapaxes(key, -1, -2)", "key.T"))

slip("scaled_dot_product_attention", "softmax_over_queries",
     "The softmax runs over the queries instead of the keys.",
     "Each *query* shares out its attention over the keys, so each row of the weights should sum to 1. In "
     "yours, each column does. Which axis of the scores counts the keys?",
     ("softmax(scores)", "softmax(scores, axis=-2)"))

slip("scaled_dot_product_attention", "exp_without_denominator",
     "The weights are exp(scores) themselves, not their shares of the sum.",
     "exp() makes the scores positive, but it does not turn them into shares: the rows do not sum to 1 yet. "
     "The softmax also has a denominator.",
     ("softmax(scores)", "np.exp(scores)"))

slip("scaled_dot_product_attention", "output_from_raw_scores",
     "The output is computed from the scores and the values, not from the weights and the values.",
     "Your weights are right, but you compute the output with something else: the raw scores. The weighted "
     "sum of the values needs the result of the softmax.",
     ("    scores = query", "    scores = raw = query"), ("weights @ value", "raw @ value"))

slip("scaled_dot_product_attention", "weights_and_output_swapped",
     "Output and weights are exchanged.",
     "The caller tells the results apart only by the order in which you return them. Compare the order in the "
     "docstring with yours.",
     ("return output, weights", "return weights, output"))

slip("scaled_dot_product_attention", "tiny_instead_of_huge",
     "Blocked scores are set to 1e-9 instead of -1e9.",
     "1e-9 is a tiny positive number, close to 0, and a score of 0 is quite an ordinary one. To get no "
     "weight after the softmax, a score must be hugely *negative*. Check both signs: that of the number and "
     "that of its exponent.",
     ("-1e9", "1e-9"),
     ("    if mask is not None:\n"
      "        weights = np.where(mask, weights, 0.0)\n",
      ""))

slip("scaled_dot_product_attention", "blocked_not_low_enough",
     "A blocked score is not low enough: some scores that are allowed are lower, and then get no weight.",
     "The number that you put into blocked places must lie far below every score that is allowed. How low can a score be if "
     "the vectors are very long? Take a number that no score comes near, or minus infinity.",
     ("-1e9", "-1e4"))

slip("scaled_dot_product_attention", "mask_ignored",
     "The mask has no effect.",
     "Without a mask everything is right, but a mask changes nothing. `np.where(...)` and `masked_fill` do "
     "not change the array they are given: they return a new one. Do you keep the result, is it what goes "
     "into the softmax, and are the blocked scores far below the others?",
     ("scores = np.where(mask", "np.where(mask"),
     ("    if mask is not None:\n"
      "        weights = np.where(mask, weights, 0.0)\n",
      ""))

slip("scaled_dot_product_attention", "mask_inverted",
     "The mask is read the wrong way round: allowed keys are blocked.",
     "In this course True means *may attend* (as in PyTorch's scaled_dot_product_attention). Other texts use "
     "1 for *blocked*, which is just the opposite. Which places do you overwrite?",
     ("np.where(mask, scores, -1e9)", "np.where(mask, -1e9, scores)"),
     ("np.where(mask, weights, 0.0)", "np.where(mask, 0.0, weights)"))

slip("scaled_dot_product_attention", "mask_added_raw",
     "A blocked score is only 1 lower next to the others, as if the mask itself (True = 1) were added.",
     "A difference of 1 nudges the scores and blocks nothing. A mask that is *added* must first be turned into "
     "numbers: 0 for allowed, and a hugely negative number for blocked.",
     ("np.where(mask, scores, -1e9)", "scores + mask"),
     ("    if mask is not None:\n"
      "        weights = np.where(mask, weights, 0.0)\n",
      ""))

slip("scaled_dot_product_attention", "mask_multiplied_after_softmax",
     "Blocked weights are 0, but the others are what they are without a mask, and no longer sum to 1.",
     "The blocked keys have their part in the softmax, in the sum that everything is divided by. Setting that "
     "part to 0 leaves the rest summing to less than 1. Block *before* the softmax, so that the allowed keys "
     "share everything.",
     ("    if mask is not None:\n"
      "        scores = np.where(mask, scores, -1e9)\n",
      ""),
     ("np.where(mask, weights, 0.0)", "weights * mask"))

slip("scaled_dot_product_attention", "mask_added_after_softmax",
     "The huge negative number goes into the weights instead of the scores.",
     "The huge negative number belongs to the *scores*. In the weights, after the softmax, it is just a huge "
     "negative weight. Move the mask one step earlier.",
     ("    if mask is not None:\n"
      "        scores = np.where(mask, scores, -1e9)\n",
      ""),
     ("np.where(mask, weights, 0.0)", "weights + np.where(mask, 0, -1e9)"))

slip("scaled_dot_product_attention", "scores_multiplied_by_mask",
     "Blocked scores become 0 instead of hugely negative.",
     "A blocked score of 0 (by a product with the mask, say) blocks nothing: exp(0) is 1, and that key still gets "
     "some weight, often more than others do. What score leads to a weight of 0?",
     ("np.where(mask, scores, -1e9)", "scores * mask"),
     ("    if mask is not None:\n"
      "        weights = np.where(mask, weights, 0.0)\n",
      ""))

slip("scaled_dot_product_attention", "first_mask_row_for_all",
     "Only the mask's first row is used, for every query.",
     "Different queries may be allowed different keys: the mask has a row for each query. You use its first "
     "row for all of them.",
     ("        scores = np.where(mask",
      "        mask = np.broadcast_to(mask[..., :1, :], scores.shape)\n"
      "        scores = np.where(mask"))

slip("scaled_dot_product_attention", "two_dimensional_only",
     "It works for a single sentence only, not for a batch.",
     "For one sentence it works, but with more axes it fails. The sizes you need are the last ones, "
     "`shape[-1]` and `shape[-2]`, whatever comes before them, and the matrix product already works on the "
     "last two axes.",
     ("    scores = query",
      "    q_len, d_k = query.shape\n"
      "    scores = query"))

slip("scaled_dot_product_attention", "nan_on_blocked_row",
     "A row in which every key is blocked turns into NaN.",
     "A row whose keys are all blocked has nothing to share out: -inf minus -inf, or 0 divided by 0, is NaN, "
     "and one NaN spreads through all later layers. The docstring says what such a row should give: set it "
     "to that.",
     ("-1e9", "-np.inf"),
     ("    if mask is not None:\n"
      "        weights = np.where(mask, weights, 0.0)\n",
      ""))

slip("scaled_dot_product_attention", "uniform_on_blocked_row",
     "A row in which every key is blocked shares its attention equally among the blocked keys.",
     "With every key at the same very low score the softmax gives equal shares: a word that may "
     "attend to nothing gets the average of everything. The docstring says what such a row should give.",
     ("    if mask is not None:\n"
      "        weights = np.where(mask, weights, 0.0)\n",
      ""))

slip("scaled_dot_product_attention", "unmasked_on_blocked_row",
     "A row in which every key is blocked gets the weights that it would have without a mask.",
     "If every key gets the same penalty, the differences between the scores stay, and differences are all "
     "that the softmax sees: the row comes out as if there were no mask. The docstring says what such a row "
     "should give.",
     ("np.where(mask, scores, -1e9)", "scores + np.where(mask, 0, -1e9)"),
     ("    if mask is not None:\n"
      "        weights = np.where(mask, weights, 0.0)\n",
      ""))

slip("scaled_dot_product_attention", "query_and_key_exchanged",
     "Query and key have changed places: there is a row of scores for each key.",
     "Each row of the scores should belong to a query, and each column to a key. Yours is the other way round, so the "
     "softmax shares out the wrong thing, and the weights do not fit the values. Who asks, and who is asked?",
     ("query @ np.swapaxes(key, -1, -2)", "key @ np.swapaxes(query, -1, -2)"))

slip("scaled_dot_product_attention", "inverted_and_zeroed_again",
     "Rows in which a key is blocked end up at 0, or nearly: even the allowed keys get nothing.",
     "Does one step give all the weight to the blocked keys (the mask inverted, or a sign), so that another, which "
     "sets them to 0, leaves nothing? Or does one blocked key cost its whole row? Look at the weights after each "
     "step that uses the mask.",
     ("np.where(mask, scores, -1e9)", "np.where(mask, -1e9, scores)"))

slip("scaled_dot_product_attention", "mask_as_a_condition",
     "An array is used as a condition, as in `if mask:`.",
     "A mask has many truth values, and `if` wants one. You want to know whether there is a mask at all, so ask whether it "
     "is None.",
     ("    if mask is not None:\n        scores", "    if mask:\n        scores"))


# ---------------------------------------------------------------------------------- masks

slip("padding_mask", "padding_marked_true", "True marks the padding instead of the real tokens.",
     "In this course True means *may attend*, so True marks the real tokens. Yours marks the padding.",
     ("!= pad_id", "== pad_id"))

slip("padding_mask", "padding_on_query_axis",
     "The tokens are on the query axis: shape (..., seq_len, 1) instead of (..., 1, seq_len).",
     "The mask is applied to scores of shape (..., q_len, k_len), and it is the padded *keys* that no query "
     "may look at. So the tokens belong on the last axis, with the new axis of length 1 just before it.",
     ("[..., np.newaxis, :]", "[..., np.newaxis]"))

slip("padding_mask", "padding_without_query_axis",
     "There is no axis for the queries: the shape is that of token_ids.",
     "A mask of shape (batch, seq_len) does not line up with scores (batch, q_len, k_len): NumPy would take "
     "the batch axis for the queries. Give it an axis of length 1 where the queries are.",
     ("(token_ids != pad_id)[..., np.newaxis, :]", "token_ids != pad_id"))

slip("padding_mask", "padding_always_zero", "Padding is found only if its id is 0.",
     "The id of the padding is an argument, `pad_id`. It is 0 only by default.",
     ("!= pad_id", "!= 0"))

slip("padding_mask", "padding_taken_to_be_last",
     "As many places are marked as there are real tokens, but always from the start.",
     "Padding may also stand in front: decoders that write several sentences at once pad that way. Ask each place what it "
     "holds.",
     ("(token_ids != pad_id)",
      "(np.arange(token_ids.shape[-1]) < (token_ids != pad_id).sum(axis=-1, keepdims=True))"))

slip("padding_mask", "padding_of_floats", "The mask holds the numbers 0 and 1 instead of booleans.",
     "The numbers 0 and 1 are not booleans: `~` gives -1 and -2 for integers and an error for floats, and "
     "adding them to scores blocks nothing. A comparison gives booleans directly.",
     ("(token_ids != pad_id)", "np.where(token_ids == pad_id, 0.0, 1.0)"))

slip("causal_mask", "causal_diagonal_blocked", "The diagonal is blocked: no word may look at itself.",
     "A word may look at itself: at position i it may look at words 0 to i, including word i. Otherwise the "
     "first word would have nothing to look at. Check where your triangle begins.",
     ("dtype=bool))", "dtype=bool), -1)"))

slip("causal_mask", "anti_causal", "The mask is the wrong triangle: words see the future, not the past.",
     "Row i is the word that looks, and column j is the word it looks at. Yours lets a word see what comes "
     "after it and hides what came before. Which triangle holds j ≤ i?",
     ("np.tril(", "np.triu("))

slip("causal_mask", "future_marked_true", "True marks the blocked future instead of what may be attended to.",
     "Your True marks the places to be *blocked* (as in older TensorFlow tutorials and in "
     "`torch.nn.MultiheadAttention`). In this course True means *may attend*.",
     ("np.tril(", "np.triu("), ("dtype=bool))", "dtype=bool), 1)"))

slip("causal_mask", "sees_one_ahead", "Every word also sees the next one.",
     "Each word may see one word more than the word before it. Yours lets every word see one too many: "
     "itself *and* the next one.",
     ("dtype=bool))", "dtype=bool), 1)"))

slip("causal_mask", "causal_of_floats", "The mask holds the numbers 0 and 1 instead of booleans.",
     "The numbers 0 and 1 are not booleans. Ask NumPy for an array of type bool.",
     (", dtype=bool", ""))

slip("combine_masks", "second_overwrites_first", "The second mask replaces the first.",
     "The first mask is forgotten as soon as the second comes. A key may be attended to only if *both* allow "
     "it.",
     ("first & second", "second"))

slip("combine_masks", "either_allows", "A key is allowed as soon as one of the masks allows it.",
     "With *or*, a key that one mask blocks is let back in by the other. True means *may attend*, and both "
     "masks must allow it.",
     ("first & second", "first | second"))

slip("combine_masks", "masks_added", "The masks are added as numbers.",
     "Adding masks as numbers gives 1 where only one of them allows a key, and 2 where both do, not True and "
     "False. There is an operator for *both* on boolean arrays.",
     ("first & second", "first.astype(int) + second.astype(int)"))

slip("combine_masks", "python_and",
     "An array is used where Python needs a single True or False, as with `and` or `if`.",
     "Python's `and`, `or`, `not` and `if` want one True or False, and an array has many. NumPy has an operator "
     "that combines two boolean arrays entry by entry; and `is None` tells you whether a mask is missing.",
     ("first & second", "first and second"))

slip("combine_masks", "combined_but_not_returned", "Where there are two masks, nothing is returned.",
     "Your function combines the two masks but does not hand the result back, so the caller gets None. But "
     "None means that everything is allowed. Does every path through the function end by handing a mask back?",
     ("return first & second", "first & second"))

slip("combine_masks", "none_not_handled", "A mask that is None is not handled.",
     "None means a mask that allows everything, so then the other mask alone decides. NumPy cannot combine "
     "an array with None for you.",
     ("    if first is None:\n"
      "        return second\n"
      "    if second is None:\n"
      "        return first\n",
      ""))


# ---------------------------------------------------------------------------------- the kinds of attention

slip("causal_self_attention", "no_causal_mask",
     "The causal mask has no effect: every word sees the whole sentence.",
     "Nothing hides the future: every word sees the whole sentence. The causal mask has to reach the "
     "attention.",
     ("combine_masks(causal_mask(x.shape[-2]), token_mask)", "token_mask"))

slip("causal_self_attention", "padding_forgotten", "The padding mask has no effect: words attend to padding.",
     "The causal mask acts, but `token_mask` blocks nothing, so words look at padding. Both masks have to apply "
     "at once: combine them.",
     ("combine_masks(causal_mask(x.shape[-2]), token_mask)", "causal_mask(x.shape[-2])"))

slip("causal_self_attention", "padding_replaces_causal",
     "The padding mask replaces the causal mask instead of joining it.",
     "When there is a padding mask, it replaces the causal one, so words can see the future again. Both "
     "masks have to apply at once: combine them.",
     ("combine_masks(causal_mask(x.shape[-2]), token_mask)",
      "causal_mask(x.shape[-2]) if token_mask is None else token_mask"))

slip("causal_self_attention", "causal_without_self",
     "No word may look at itself: the diagonal of the causal mask is blocked.",
     "Position i may look at positions 0 to i, itself included. Your words cannot look at themselves, and "
     "the first has nothing to look at.",
     ("causal_mask(x.shape[-2])", "causal_mask(x.shape[-2]) & ~np.eye(x.shape[-2], dtype=bool)"))

slip("causal_self_attention", "causal_without_projections",
     "x itself is used as query and key, without projections.",
     "Queries, keys and values are three *projections* of x. Without the projections for queries and keys, "
     "every word mostly finds itself.",
     ("project_qkv(x, w_query, w_key, w_value)", "x, x, x @ w_value"))

slip("cross_attention", "memory_asks",
     "The memory asks and x answers: queries and keys come from the wrong sides.",
     "The roles are swapped: the *decoder's* words x ask, and the encoder's memory answers. There must be "
     "one output for each word of x.",
     ("query = x @", "query = memory @"), ("memory @ w_key, memory @ w_value", "x @ w_key, x @ w_value"),
     (", memory_mask)", ")"))

slip("cross_attention", "memory_ignored",
     "Keys and values come from x: this is self-attention, and memory is never looked at.",
     "This is self-attention: x asks and x answers, so the source sentence is never looked at. Which of the "
     "three come from memory?",
     ("memory @ w_key, memory @ w_value", "x @ w_key, x @ w_value"), (", memory_mask)", ")"))

slip("cross_attention", "memory_mask_forgotten", "The memory's padding mask has no effect.",
     "Words attend to the padding of the source sentence. The memory's mask has to act in the attention.",
     (", memory_mask)", ")"))

slip("cross_attention", "causal_cross_attention", "A causal mask is applied to the memory.",
     "The whole source sentence is known from the beginning: nothing in memory is 'the future'. A causal "
     "mask belongs to the decoder's self-attention only.",
     ("    query =",
      "    causal = np.tri(x.shape[-2], memory.shape[-2], dtype=bool)\n"
      "    query ="),
     (", memory_mask)", ", combine_masks(causal, memory_mask))"))

slip("cross_attention", "values_not_projected", "The values are the memory itself, without a projection.",
     "The keys are projected with the key's matrix and the values with the value's. What a word is found by "
     "and what it says are two different things, though both come from memory.",
     ("memory @ w_value", "memory"))
