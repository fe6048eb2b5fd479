"""Wrong ways to write lab 05's exercises. Each must lose points and be recognised as itself."""

from grader.catalogue import slip

CUT_OFF = "The result is computed without gradients, so nothing before it can be trained."

WHAT_CUTS_IT_OFF = (
    "Your numbers are right, but no gradient gets past them. In training, gradients flow from the loss back "
    "through every step to the weights. `no_grad`, `detach`, `.data`, `.item()` and a detour through NumPy "
    "each stop them. Which of these do you use, and what for?"
)

# ---------------------------------------------------------------------------------- layer_norm

slip("layer_norm", "sample_variance", "The variance is divided by n - 1 instead of n.",
     "Your standard deviation is a little too large. By default, `Tensor.var` and `Tensor.std` divide by n - "
     "1, which is meant for estimating a variance from a sample (look up `correction`). LayerNorm divides by "
     "n.",
     ("(x - mean).square().mean(dim=-1, keepdim=True)", "x.var(dim=-1, keepdim=True)"))

slip("layer_norm", "eps_outside_the_root", "eps is added to the standard deviation instead of the variance.",
     "If eps is small, your result is right for ordinary rows, but wrong for rows that hardly vary. Those "
     "rows show where eps is added. Should it be added before or after the square root is taken?",
     ("torch.sqrt(variance + eps)", "(torch.sqrt(variance) + eps)"))

slip("layer_norm", "divided_by_the_variance",
     "The row is divided by its variance instead of its standard deviation.",
     "After the division, each row should have variance 1. Dividing numbers by c divides their variance by "
     "c². So what must c be?",
     ("torch.sqrt(variance + eps)", "(variance + eps)"))

slip("layer_norm", "root_mean_square", "The rows are divided by their root mean square, and the mean is not subtracted.",
     "This is RMSNorm, which many newer models use. It does not centre the rows. LayerNorm first subtracts "
     "each row's mean, and then divides by the spread around that mean.",
     ("variance = (x - mean).square()", "variance = x.square()"), ("gamma * (x - mean)", "gamma * x"))

slip("layer_norm", "mean_not_subtracted", "The mean is not subtracted from the row that is divided.",
     "Your rows keep their offset. First centre each row at 0, then divide. (RMSNorm leaves out the "
     "centring, but it also divides by something else.)",
     ("gamma * (x - mean)", "gamma * x"))

slip("layer_norm", "over_the_words",
     "The mean and variance are taken over the words of a sentence instead of over a word's features.",
     "Each *word* is normalised by itself, over its own features. Your version mixes the words of a "
     "sentence. Which axis holds the features?",
     ("dim=-1", "dim=-2", 2))

slip("layer_norm", "over_the_batch", "The mean and variance are taken over the first axis instead of the last.",
     "Your result for a sentence depends on which other sentences are in the batch, as it does in batch "
     "normalisation. LayerNorm looks at one word only. Which axis holds its features?",
     ("dim=-1", "dim=0", 2))

slip("layer_norm", "over_everything", "One mean and one variance are taken over the whole tensor.",
     "`x.mean()` without an axis is one number for the whole batch. Every word needs a mean and a variance "
     "of its own.",
     ("dim=-1, keepdim=True", "", 2))

slip("layer_norm", "gamma_and_beta_swapped", "γ is added and β is multiplied.",
     "γ stretches and β shifts: one is multiplied, the other is added. You have them the wrong way round.",
     ("gamma * (x", "beta * (x"), ("+ beta", "+ gamma"))

slip("layer_norm", "gamma_and_beta_forgotten", "The normalised row is returned without γ and β.",
     "Your rows are standardised, but one step is missing. Two learned vectors let the network choose a "
     "different scale and offset for each feature.",
     ("gamma * (x - mean)", "(x - mean)"), (" + beta", ""))

slip("layer_norm", "eps_forgotten", "eps has no effect, so a row of equal numbers gives NaN.",
     "A row of equal numbers has variance 0, and 0 / 0 is NaN. eps is there to keep what you divide by above 0.",
     ("variance + eps", "variance"))

slip("layer_norm", "axis_dropped", "The mean or the variance loses its axis, so the shapes do not fit.",
     "Taking a mean or a variance over the last axis removes that axis: (3, 5, 8) becomes (3, 5), and that does "
     "not broadcast against (3, 5, 8). Keep the axis, with length 1.",
     (", keepdim=True", "", 2))


slip("layer_norm", "no_gradient", CUT_OFF, WHAT_CUTS_IT_OFF,
     ("def layer_norm(", "@torch.no_grad()\ndef layer_norm("))

slip("layer_norm", "x_cut_off", "Gradients reach γ and β, but not x, so no layer below this one can be trained.",
     "γ and β can learn, but the layers below cannot. `x.detach()` and `x.numpy()` both cut x off from the "
     "computation that PyTorch tracks. Can you compute everything with tensor functions instead?",
     ("mean = x.mean(", "x = x.detach()\n    mean = x.mean("))

slip("layer_norm", "statistics_cut_off", "The mean and the variance count as constants: no gradient goes through them.",
     "Your numbers are right, but your gradients are not. The mean and the variance depend on x, so "
     "gradients have to flow through them, too. Are they detached, or computed under `no_grad`?",
     ("    # 2.", "    mean, variance = mean.detach(), variance.detach()\n    # 2."))


# ---------------------------------------------------------------------------------- FeedForward

slip("FeedForward", "no_activation", "No ReLU acts between the two layers.",
     "Two linear layers in a row can do no more than a single one. That is why equation 2 has a max(0, ...) "
     "between them.",
     ("torch.relu(self.linear1(x))", "self.linear1(x)"))

slip("FeedForward", "relu_at_the_end", "The ReLU comes after the second layer instead of between the two.",
     "The ReLU belongs between the layers. At the end, it makes every negative output 0, so the sub-layer "
     "could never subtract anything from x.",
     ("self.linear2(torch.relu(self.linear1(x)))", "torch.relu(self.linear2(self.linear1(x)))"))

slip("FeedForward", "relu_twice", "There is a second ReLU after the second layer.",
     "Return the second layer's output as it is. A ReLU there makes every negative output 0, so the "
     "sub-layer could only add to x, never subtract.",
     ("return self.linear2(torch.relu(self.linear1(x)))",
      "return torch.relu(self.linear2(torch.relu(self.linear1(x))))"))

slip("FeedForward", "gelu_for_relu", "The activation is GELU instead of ReLU.",
     "Many later models (BERT, GPT-2) use GELU. Equation 2 of the paper has max(0, ...), which is ReLU, and "
     "this exercise follows the paper.",
     ("torch.relu", "nn.functional.gelu"))

slip("FeedForward", "residual_inside", "x is already added to the result here.",
     "Adding x is the job of the encoder layer (the next exercise). If you do it here as well, x is added "
     "twice.",
     ("return self.linear2", "return x + self.linear2"))

slip("FeedForward", "over_the_words_axis", "The layers' outputs for the words of a sentence are averaged.",
     "This network is *position-wise*: it treats each word alone, and no word sees another. Only attention "
     "moves information between words.",
     ("torch.relu(self.linear1(x)))", "torch.relu(self.linear1(x))).mean(dim=-2, keepdim=True).expand_as(x)"))

slip("FeedForward", "widths_swapped", "The sizes of the linear layers are not the ones asked for.",
     "`nn.Linear(inputs, outputs)` takes the size of the input first. The first layer goes from the narrow "
     "size to the wide one, and the second goes back.",
     ("nn.Linear(embedding_dim, fully_connected_dim)", "nn.Linear(fully_connected_dim, embedding_dim)"),
     ("nn.Linear(fully_connected_dim, embedding_dim)", "nn.Linear(embedding_dim, fully_connected_dim)"),
     ("self.linear2(torch.relu(self.linear1(x)))", "self.linear1(torch.relu(self.linear2(x)))"))

slip("FeedForward", "dropout_inside", "In training the output is different, as with dropout.",
     "Equation 2 has no dropout. In the paper, dropout is applied to this network's *output*, before x is "
     "added. The layer around it does that.",
     ("self.linear2(torch.relu(self.linear1(x)))",
      "self.linear2(nn.functional.dropout(torch.relu(self.linear1(x)), 0.1, self.training))"))

slip("FeedForward", "activation_first", "The ReLU comes before the first layer.",
     "The ReLU belongs between the layers. Before them, it throws away every negative value of the input.",
     ("torch.relu(self.linear1(x))", "self.linear1(torch.relu(x))"))


slip("FeedForward", "no_gradient", CUT_OFF, WHAT_CUTS_IT_OFF,
     ("    def forward(", "    @torch.no_grad()\n    def forward("))


# ---------------------------------------------------------------------------------- EncoderLayer

slip("EncoderLayer", "same_norm_twice", "The first LayerNorm is used for both sub-layers.",
     "Each sub-layer has its own LayerNorm, with its own γ and β. New ones are all alike (γ = 1, β = 0), so "
     "the mistake does not show at the start of training. Which of yours is never used?",
     ("self.norm2(x", "self.norm1(x", 2))

slip("EncoderLayer", "no_residuals",
     "The residual connections are missing: x is not added to the output of a sub-layer.",
     "“Add & norm” has two halves, and the sum is missing. Without it, everything that a sub-layer does not "
     "pass on is lost, and gradients have no direct way past the sub-layers.",
     ("x + self.dropout(", "self.dropout(", 4))

slip("EncoderLayer", "second_residual_missing",
     "x is added after the attention, but not after the feed-forward network.",
     "You add x after the attention, but the feed-forward network needs a sum of its own. Both sub-layers "
     "are wrapped in the same way.",
     ("x + self.dropout(self.feed_forward", "self.dropout(self.feed_forward", 2))

slip("EncoderLayer", "residual_from_the_input",
     "The feed-forward network's output is added to the layer's input instead of the attention's result.",
     "Add what *this* sub-layer was given. The feed-forward network was given the attention's result, not "
     "the layer's input. If you add that input, the attention's result is missing from the sum.",
     ("x = self.norm1(x", "y = self.norm1(x"), ("self.feed_forward(x)", "self.feed_forward(y)"),
     ("x = x + self.dropout(attended)", "y = x + self.dropout(attended)"),
     ("self.norm2(x))", "self.norm2(y))"))

slip("EncoderLayer", "norm_before_add",
     "The sub-layer's output is normalised first, and x is added afterwards.",
     "“Add & norm” also gives the order: first add, then normalise the *sum*. Your sum is not normalised.",
     ("self.norm1(x + self.dropout(attended))", "x + self.norm1(self.dropout(attended))"),
     ("self.norm2(x + self.dropout(self.feed_forward(x)))",
      "x + self.norm2(self.dropout(self.feed_forward(x)))"))

slip("EncoderLayer", "always_pre_norm", "The layer is always pre-norm, whatever norm_first says.",
     "Your pre-norm form is right, but you also get it for norm_first=False. The paper's layer normalises "
     "after the sum.",
     ("self.norm_first = norm_first", "self.norm_first = True"))

slip("EncoderLayer", "norm_first_inverted", "norm_first=True gives post-norm, and norm_first=False gives pre-norm.",
     "Both forms are right, but they are swapped: norm_first=True means pre-norm.",
     ("self.norm_first = norm_first", "self.norm_first = not norm_first"))

slip("EncoderLayer", "always_post_norm", "The layer is always post-norm, whatever norm_first says.",
     "Your post-norm form is right, but you also get it for norm_first=True. In the pre-norm form the "
     "sub-layers get a normalised copy, and x itself is never normalised.",
     ("self.norm_first = norm_first", "self.norm_first = False"))

slip("EncoderLayer", "pre_norm_loses_x",
     "In the pre-norm form the sub-layer's output is added to the normalised x.",
     "In the pre-norm form, only the sub-layer sees the normalised copy. Add its output to x itself, not to "
     "the copy. That keeps a direct path from the first layer to the last.",
     ("normed = self.norm1(x)", "x = normed = self.norm1(x)"),
     ("x + self.dropout(self.feed_forward(self.norm2(x)))",
      "self.norm2(x) + self.dropout(self.feed_forward(self.norm2(x)))"))

slip("EncoderLayer", "pre_norm_of_queries_only",
     "In the pre-norm form only the queries are normalised; keys and values come from x as it is.",
     "In self-attention, queries, keys and values all come from the same sequence. In the pre-norm form, "
     "that is the normalised copy for all three.",
     ("normed, normed, normed, mask", "normed, x, x, mask"))

slip("EncoderLayer", "mask_not_passed", "The mask has no effect.",
     "Your layer is right as long as there is no padding. But it was given a mask. Which of its parts needs "
     "that mask?",
     ("x, x, x, mask", "x, x, x"), ("normed, normed, normed, mask", "normed, normed, normed"))

slip("EncoderLayer", "dropout_always_on", "Dropout is applied in evaluation mode, too.",
     "`nn.functional.dropout` does not know which mode your module is in. It always drops, unless you switch "
     "it off yourself. Your layer has a dropout module, and a module knows its mode.",
     ("self.dropout = nn.Dropout(dropout_rate)",
      "self.dropout = lambda given: nn.functional.dropout(given, dropout_rate)"))

slip("EncoderLayer", "dropout_of_the_sum", "Dropout is applied to the sum instead of the sub-layer's output.",
     "Apply dropout to the output of the sub-layer, *before* x is added (section 5.4 of the paper). Applied "
     "to the sum, it also deletes parts of x, which should pass unchanged.",
     ("x + self.dropout(attended)", "self.dropout(x + attended)", 2),
     ("x + self.dropout(self.feed_forward(", "self.dropout(x + self.feed_forward(", 2))

slip("EncoderLayer", "no_dropout", "In training, dropout has no effect.",
     "In evaluation mode your layer is right. In training, dropout has to act on each sub-layer's output "
     "before x is added. Does your dropout have the right rate, and do you use what it returns?",
     ("self.dropout = nn.Dropout(dropout_rate)", "self.dropout = nn.Identity()"))

slip("EncoderLayer", "dropout_twice", "Dropout is applied twice, one after the other.",
     "At rates 0 and 1 this makes no difference. But at rate 0.1 you drop nearly twice as many values as you "
     "should. Apply dropout once: after the sub-layer, before x is added.",
     ("self.dropout = nn.Dropout(dropout_rate)",
      "self.dropout = nn.Sequential(nn.Dropout(dropout_rate), nn.Dropout(dropout_rate))"))

slip("EncoderLayer", "attention_thrown_away",
     "The attention has no effect: the feed-forward network reads the layer's input.",
     "The sub-layers work one after the other: the second one reads the result of the first. What does yours "
     "read?",
     ("x = self.norm1(x", "found = self.norm1(x"),
     ("x = x + self.dropout(attended)", "found = x + self.dropout(attended)"))


slip("EncoderLayer", "no_gradient", CUT_OFF, WHAT_CUTS_IT_OFF,
     ("    def forward(", "    @torch.no_grad()\n    def forward("))


# ---------------------------------------------------------------------------------- Encoder

slip("Encoder", "embeddings_not_scaled", "The embeddings lack the factor √embedding_dim.",
     "At first, the entries of an embedding are small (about 1 / √embedding_dim). The positions are sines "
     "and cosines, which are much larger, so they drown out the words. What does section 3.4 of the paper "
     "multiply the embeddings by?",
     ("scale * self.embedding", "self.embedding"))

slip("Encoder", "scaled_by_the_whole_width",
     "The embeddings are multiplied by embedding_dim instead of its square root.",
     "You have the right quantity, but you need its square root (section 3.4 of the paper). As it is, the "
     "words drown out the positions.",
     ("math.sqrt(self.embedding.embedding_dim)", "self.embedding.embedding_dim"))

slip("Encoder", "embeddings_divided", "The embeddings are divided by √embedding_dim instead of multiplied.",
     "In attention, the scores are divided by such a square root because they are too large. Here the "
     "embeddings are too small.",
     ("scale * self.embedding(source_ids)", "self.embedding(source_ids) / scale"))

slip("Encoder", "positions_scaled_too", "The positions are multiplied by √embedding_dim, too.",
     "Only the embeddings are scaled, to bring them to the size of the positions. If you scale both, the "
     "positions are still much larger than the words.",
     ("scale * self.embedding(source_ids)", "scale * (self.embedding(source_ids)"),
     ("source_ids.shape[1]]", "source_ids.shape[1]])"))

slip("Encoder", "positions_forgotten", "The layers read the embeddings without the positions.",
     "Without positions the encoder sees a bag of words (lab 04): it cannot tell *Jane visits Africa* from "
     "*Africa visits Jane*.",
     (" + self.positions[: source_ids.shape[1]]", ""))

slip("Encoder", "all_positions_at_once",
     "The whole table of positions is added, however long the sentence is.",
     "The table has max_len rows, but your sentence has fewer words. Take only as many rows as there are "
     "words.",
     ("self.positions[: source_ids.shape[1]]", "self.positions"))

slip("Encoder", "positions_of_the_batch",
     "The number of positions is taken from the number of sentences instead of the number of words.",
     "`len(ids)` and `ids.shape[0]` count the sentences of the batch. The words are on the other axis.",
     ("source_ids.shape[1]", "len(source_ids)"))

slip("Encoder", "no_dropout_of_the_sum", "Dropout has no effect on the sum of embeddings and positions.",
     "Section 5.4 of the paper also applies dropout to the sum of the embeddings and the positional "
     "encodings, before the first layer.",
     ("x = self.dropout(scale", "x = (scale"))

slip("Encoder", "dropout_of_the_embeddings_only",
     "Dropout is applied to the embeddings before the positions are added.",
     "The order is: scale, add the positions, then apply dropout. In your version the positions are never "
     "dropped.",
     ("self.dropout(scale * self.embedding(source_ids)", "(self.dropout(scale * self.embedding(source_ids))"))

slip("Encoder", "mask_not_handed_on", "The mask has no effect on the layers.",
     "Your encoder is right as long as there is no padding. It was given a mask, and each of its layers "
     "needs it.",
     ("encoder_layer(x, mask)", "encoder_layer(x)"))

slip("Encoder", "layers_not_chained", "Only the last layer has an effect: it reads the embeddings.",
     "The layers form a stack: each one reads the output of the one below it. In your version the last one "
     "reads the embeddings, so the work of the others is lost.",
     ("x = encoder_layer(x, mask)", "output = encoder_layer(x, mask)"), ("self.norm(x)", "self.norm(output)"))

slip("Encoder", "one_layer_many_times", "One and the same layer is applied several times.",
     "The same weights are used at every place of the stack. `[layer] * n` makes a list that contains one "
     "layer n times. Do you make a new layer for each place, and does your loop call each of them?",
     ("EncoderLayer(embedding_dim", "[EncoderLayer(embedding_dim"),
     ("for _ in range(num_layers)", "] * num_layers"))

slip("Encoder", "plain_list_of_layers",
     "The layers are where PyTorch does not look for them: in a plain Python list, for example.",
     "A module finds its parts among its attributes, but it does not look inside a plain list. So the "
     "optimizer misses these layers' parameters, they are not saved, and the layers always stay in training "
     "mode. PyTorch has a special list for modules.",
     ("nn.ModuleList(", "list("))

slip("Encoder", "norm_first_not_handed_on", "The layers are always post-norm, whatever norm_first says.",
     "Post-norm is right, but norm_first=True changes nothing inside your layers. Pass it on to them.",
     ("layernorm_eps, norm_first)", "layernorm_eps)"))

slip("Encoder", "eps_not_handed_on", "The layers use a tiny eps such as their default, whatever layernorm_eps says.",
     "The LayerNorms inside your layers do not use the layernorm_eps that the encoder was given. Which of "
     "the encoder's arguments do its layers take, too?",
     ("dropout_rate, layernorm_eps, norm_first)", "dropout_rate, norm_first=norm_first)"))


slip("Encoder", "no_gradient", CUT_OFF, WHAT_CUTS_IT_OFF,
     ("    def forward(", "    @torch.no_grad()\n    def forward("))

slip("Encoder", "mask_guessed", "Without a mask, the words with id 0 are still hidden.",
     "Only the mask that the encoder is given decides what is hidden. Without a mask, every word may be "
     "looked at, whatever its id. Where does your mask come from?",
     ("        # 1. Emb", "        if mask is None:\n            mask = (source_ids != 0)[:, None, None, :]\n        # 1. Emb"))


# ---------------------------------------------------------------------------------- DecoderLayer

slip("DecoderLayer", "memory_asks",
     "In the cross-attention the memory asks, and x answers with the values: (memory, memory, x).",
     "The decoder's words ask and the encoder's memory answers: the query comes from x, while key *and* "
     "value come from memory. There must be one output for each target word.",
     (" x, memory, memory, source_mask", " memory, memory, x, source_mask"),
     (" self.norm2(x), memory, memory,", " memory, memory, self.norm2(x),"))

slip("DecoderLayer", "values_from_x", "In the cross-attention the values come from x instead of memory.",
     "The key is what a source word is found by; the value is what it says. Both belong to the same word, so "
     "both come from memory.",
     (" x, memory, memory,", " x, memory, x,"),
     (" self.norm2(x), memory, memory,", " self.norm2(x), memory, self.norm2(x),"))

slip("DecoderLayer", "memory_never_read",
     "The cross-attention attends to x, so the source sentence is never read.",
     "That is a second self-attention: x asks and x answers. A decoder that never reads the memory can only "
     "guess likely sentences.",
     (" x, memory, memory, source_mask", " x, x, x"),
     (" self.norm2(x), memory, memory, source_mask", " self.norm2(x), self.norm2(x), self.norm2(x)"))

slip("DecoderLayer", "source_mask_forgotten", "The source's mask has no effect: the cross-attention looks at padding.",
     "The source sentences have different lengths, so the shorter ones end in padding. Which mask marks it, "
     "and which attention needs that mask?",
     ("memory, memory, source_mask", "memory, memory", 2))

slip("DecoderLayer", "target_mask_in_cross_attention", "The cross-attention gets the target's mask.",
     "The mask of an attention is about its *keys*. In the cross-attention the keys are source words, so it "
     "needs the mask of the source's padding. All source words are known, so there is no future to hide. (If "
     "source and target are equally long, this mistake raises no error.)",
     ("memory, memory, source_mask", "memory, memory, target_mask", 2))

slip("DecoderLayer", "target_mask_forgotten", "The target's mask has no effect: every word sees the words after it.",
     "In training, the decoder gets the whole target at once. Without the mask, it copies the next word "
     "instead of predicting it. It then does very well in training, but it cannot write by itself.",
     ("x, x, x, target_mask", "x, x, x"), ("normed, normed, normed, target_mask", "normed, normed, normed"))

slip("DecoderLayer", "masks_swapped", "The two masks are swapped.",
     "target_mask belongs to the self-attention, which looks at target words. source_mask belongs to the "
     "cross-attention, which looks at source words.",
     ("x, x, x, target_mask", "x, x, x, source_mask"), ("normed, target_mask", "normed, source_mask"),
     ("memory, source_mask", "memory, target_mask", 2))

slip("DecoderLayer", "one_norm_for_all", "The first LayerNorm is used for all three sub-layers.",
     "Each sub-layer has its own LayerNorm, with its own γ and β. New ones are all alike, so the mistake "
     "does not show at the start of training. Which of yours are never used?",
     ("self.norm2(x", "self.norm1(x", 2), ("self.norm3(x", "self.norm1(x", 2))

slip("DecoderLayer", "second_norm_twice", "The second LayerNorm is used again for the feed-forward network.",
     "There are three sub-layers and three LayerNorms. You use one of them twice and another one never. Did "
     "you copy a line?",
     ("self.norm3(x", "self.norm2(x", 2))

slip("DecoderLayer", "no_residuals_in_the_decoder",
     "The residual connections are missing: x is not added to the output of a sub-layer.",
     "The output of each sub-layer is added to what that sub-layer was given. Without this sum, the "
     "cross-attention passes on only what it found in the source, and the decoder forgets which word it was "
     "writing.",
     ("x + self.dropout(", "self.dropout(", 6))

slip("DecoderLayer", "norm_before_the_sum",
     "The sub-layer's output is normalised first, and x is added afterwards.",
     "“Add & norm” also gives the order: first add, then normalise the *sum*. Your sum is not normalised.",
     ("self.norm1(x + self.dropout(attended))", "x + self.norm1(self.dropout(attended))"),
     ("self.norm2(x + self.dropout(attended))", "x + self.norm2(self.dropout(attended))"),
     ("self.norm3(x + self.dropout(self.feed_forward(x)))",
      "x + self.norm3(self.dropout(self.feed_forward(x)))"))

slip("DecoderLayer", "one_attention_for_both",
     "The module of the self-attention is also used for the cross-attention.",
     "The two attentions need weights of their own. What a target word looks for among its neighbours is not "
     "what it looks for in the source.",
     ("= self.cross_attention(", "= self.self_attention(", 2))

slip("DecoderLayer", "dropout_always", "Dropout is applied in evaluation mode, too.",
     "`nn.functional.dropout` does not know which mode your module is in. It always drops, unless you switch "
     "it off yourself. Your layer has a dropout module, and a module knows its mode.",
     ("self.dropout = nn.Dropout(dropout_rate)",
      "self.dropout = lambda given: nn.functional.dropout(given, dropout_rate)"))

slip("DecoderLayer", "dropout_forgotten", "In training, dropout has no effect.",
     "In evaluation mode your layer is right. In training, dropout has to act on the output of each of the "
     "three sub-layers before x is added. Does your dropout have the right rate, and do you use what it "
     "returns?",
     ("self.dropout = nn.Dropout(dropout_rate)", "self.dropout = nn.Identity()"))

slip("DecoderLayer", "norm_first_inverted", "norm_first=True gives post-norm, and norm_first=False gives pre-norm.",
     "Both forms are right, but they are swapped: norm_first=True means pre-norm.",
     ("self.norm_first = norm_first", "self.norm_first = not norm_first"))

slip("DecoderLayer", "norm_first_ignored", "The layer is always post-norm, whatever norm_first says.",
     "Your post-norm form is right, but you also get it for norm_first=True. In the pre-norm form the "
     "sub-layers get a normalised copy, and x itself is never normalised.",
     ("self.norm_first = norm_first", "self.norm_first = False"))

slip("DecoderLayer", "memory_normalised_too",
     "In the pre-norm form the memory is normalised with the decoder's LayerNorm, too.",
     "In the pre-norm form, a sub-layer gets a normalised copy of x. The memory needs no such copy: the "
     "encoder has already normalised it at its end.",
     ("self.norm2(x), memory, memory", "self.norm2(x), self.norm2(memory), self.norm2(memory)"))

slip("DecoderLayer", "weights_exchanged",
     "The two kinds of attention weights are returned in the wrong order.",
     "The caller can tell the two kinds of weights apart only by their order. The output comes first, then "
     "the self-attention's weights, then the cross-attention's.",
     ("return x, self_weights, cross_weights", "return x, cross_weights, self_weights"))

slip("DecoderLayer", "cross_attention_first", "The cross-attention comes before the self-attention.",
     "The order is: masked self-attention, cross-attention, feed-forward (figure 1 of the paper). A word "
     "first collects what has been written so far, and then asks the source.",
     ("self_weights = self.self_attention(x, x, x, target_mask)\n"
      "            x = self.norm1(x",
      "cross_weights = self.cross_attention(x, memory, memory, source_mask)\n"
      "            x = self.norm2(x"),
     ("cross_weights = self.cross_attention(\n"
      "                x, memory, memory, source_mask\n"
      "            )\n"
      "            x = self.norm2(x",
      "self_weights = self.self_attention(x, x, x, target_mask)\n"
      "            x = self.norm1(x"),
     ("normed = self.norm1(x)\n"
      "            attended, self_weights = self.self_attention(\n"
      "                normed, normed, normed, target_mask\n"
      "            )",
      "attended, cross_weights = self.cross_attention(self.norm2(x), memory, memory, source_mask)"),
     ("attended, cross_weights = self.cross_attention(\n"
      "                self.norm2(x), memory, memory, source_mask\n"
      "            )",
      "normed = self.norm1(x)\n"
      "            attended, self_weights = self.self_attention(normed, normed, normed, target_mask)"))


slip("DecoderLayer", "no_gradient", CUT_OFF, WHAT_CUTS_IT_OFF,
     ("    def forward(", "    @torch.no_grad()\n    def forward("))

slip("DecoderLayer", "memory_cut_off", "No gradient reaches the memory, so the encoder cannot be trained.",
     "The decoder's own weights can learn. But the encoder learns only through its memory: gradients have to "
     "reach it through the cross-attention. What do you do to the memory before the cross-attention?",
     ("        if not self.norm_first:", "        memory = memory.detach()\n        if not self.norm_first:"))


# ---------------------------------------------------------------------------------- Decoder

slip("Decoder", "target_embeddings_not_scaled", "The embeddings lack the factor √embedding_dim.",
     "The decoder's embeddings are scaled just like the encoder's (section 3.4 of the paper). Otherwise the "
     "words get lost next to the positions.",
     ("scale * self.embedding", "self.embedding"))

slip("Decoder", "target_positions_forgotten", "The layers read the embeddings without the positions.",
     "The decoder needs positions as much as the encoder does. The causal mask alone tells a layer which "
     "words came before, but not in which order.",
     (" + self.positions[: target_ids.shape[1]]", ""))

slip("Decoder", "no_dropout_of_the_target_sum", "Dropout has no effect on the sum of embeddings and positions.",
     "Section 5.4 of the paper applies dropout to the sum of the embeddings and the positional encodings, in "
     "the encoder and in the decoder.",
     ("x = self.dropout(scale", "x = (scale"))

slip("Decoder", "masks_in_the_wrong_order",
     "The source's mask is applied to the target's words, alone or together with their own mask.",
     "Each mask belongs to one sentence: target_mask to the target's words, source_mask to the memory. In "
     "which order does a decoder layer take them? If you pass them by name, the order does not matter.",
     ("(x, memory, target_mask, source_mask)", "(x, memory, source_mask, target_mask)"))

slip("Decoder", "no_masks_for_the_layers", "The masks have no effect on the layers.",
     "Your decoder is right only as long as nothing is masked. It was given two masks, and every layer "
     "needs both.",
     ("(x, memory, target_mask, source_mask)", "(x, memory)"))

slip("Decoder", "no_source_mask_for_the_layers", "Of the two masks, only the target's has an effect on the layers.",
     "Your layers look at the source's padding. The decoder was given two masks, and every layer needs both.",
     ("(x, memory, target_mask, source_mask)", "(x, memory, target_mask)"))

slip("Decoder", "weights_of_the_last_layer_only", "Only the last layer's cross-attention is returned.",
     "Each layer has its own cross-attention, and each looks at different things. Keep the weights of all "
     "layers, in order.",
     ("cross_attention.append(cross_weights)", "cross_attention = [cross_weights]"))

slip("Decoder", "self_attention_collected",
     "The self-attention's weights are collected instead of the cross-attention's.",
     "A decoder layer returns two kinds of weights. An alignment between source and target needs those with "
     "a column for each *source* word.",
     ("x, _, cross_weights =", "x, cross_weights, _ ="))

slip("Decoder", "every_layer_reads_the_embeddings",
     "Every layer gets the embeddings, so only the last layer's output counts.",
     "The layers form a stack: each one reads the output of the one below it. In your version all of them "
     "read the embeddings.",
     ("x, _, cross_weights =", "output, _, cross_weights ="), ("self.norm(x)", "self.norm(output)"))

slip("Decoder", "memory_overwritten", "Each layer's output is also handed to the next layer as memory.",
     "Every decoder layer reads the same memory: the encoder's final output. It must not be overwritten on "
     "the way up.",
     ("cross_attention.append(cross_weights)",
      "cross_attention.append(cross_weights)\n"
      "            memory, source_mask = x, None"))


slip("Decoder", "no_gradient", CUT_OFF, WHAT_CUTS_IT_OFF,
     ("    def forward(", "    @torch.no_grad()\n    def forward("))

slip("Decoder", "mask_guessed", "Without a mask, the words with id 0 are still hidden.",
     "Only the masks that the decoder is given decide what is hidden. Without a mask, every word may be "
     "looked at, whatever its id. Where does your mask come from?",
     ("        # 1. Emb", "        if target_mask is None:\n            target_mask = (target_ids != 0)[:, None, None, :]\n        # 1. Emb"))


# ---------------------------------------------------------------------------------- make_masks

slip("make_masks", "no_causal_part",
     "The target's mask marks only the padding: every word sees the words after it.",
     "The target's mask has to hide two things: the padding and the future. Yours blocks only the padding, "
     "so the decoder can copy the next word.",
     (" & causal", ".expand(-1, -1, length, -1)"))

slip("make_masks", "no_padding_of_the_target", "The target's mask is only causal: the padding is not marked.",
     "You have blocked the future. Now block the padding as well. It differs from sentence to sentence, so "
     "the mask also needs a batch axis.",
     ("(target_ids != pad_id)[:, None, None, :] & causal", "causal.expand(len(target_ids), 1, -1, -1)"))

slip("make_masks", "own_position_blocked", "No target word may look at itself.",
     "Position i may look at positions 0 to i, itself included. In your mask, the first word may look at "
     "nothing at all.",
     (".tril()", ".tril(-1)"))

slip("make_masks", "past_blocked", "The triangle is upside down: words see the future but not the past.",
     "In row i, column j is allowed if j is not later than i. Yours allows the other triangle.",
     (".tril()", ".triu()"))

slip("make_masks", "true_is_blocked", "True marks what is blocked.",
     "In this course True means *may attend*. The padding masks of `torch.nn.Transformer` mean the opposite, "
     "which often causes this mistake.",
     ("return source_mask, target_mask", "return ~source_mask, ~target_mask"))

slip("make_masks", "padding_of_the_queries",
     "The target's padding is blocked on the rows (queries), whether or not it is blocked on the columns, too.",
     "A mask says which *keys* may be looked at. So block padding on the last axis, which is that of the "
     "keys, and nowhere else. What a padding position itself sees does not matter, because nobody reads its "
     "output.",
     ("(target_ids != pad_id)[:, None, None, :]", "(target_ids != pad_id)[:, None, :, None]"))

slip("make_masks", "both_with_or", "The two conditions of the target's mask are combined with *or*.",
     "With *or*, the future is allowed as long as it is not padding. A key must satisfy both conditions.",
     ("& causal", "| causal"))

slip("make_masks", "axes_missing", "The source's mask has the shape (batch, src_len).",
     "The mask is applied to scores of shape (batch, heads, q_len, k_len). It needs axes of length 1 for "
     "the heads and for the queries, so that it broadcasts to the right places.",
     ("(source_ids != pad_id)[:, None, None, :]", "source_ids != pad_id"))

slip("make_masks", "masks_as_numbers", "The masks hold the numbers 0 and 1 instead of booleans.",
     "The numbers 0 and 1 are not booleans: `~` and indexing mean something else for them. A comparison "
     "already gives you booleans.",
     ("return source_mask, target_mask", "return source_mask.float(), target_mask.float()"))

slip("make_masks", "pad_id_ignored", "Padding is assumed to be 0, whatever pad_id is.",
     "Your masks are right as long as the padding id is 0. The argument pad_id says which id stands for "
     "padding.",
     ("!= pad_id", "!= 0", 2))


# ---------------------------------------------------------------------------------- Transformer

slip("Transformer", "softmax_at_the_end", "A softmax is applied: probabilities come out instead of logits.",
     "The loss applies a log-softmax itself. If it gets probabilities, the second softmax makes them nearly "
     "equal, and training becomes very slow. (Remember: a softmax gives probabilities; only a log-softmax "
     "gives their logarithms.)",
     ("self.final_linear(output)", "self.final_linear(output).softmax(dim=-1)"))

slip("make_masks", "larger_than_padding", "Words are taken to have higher ids than padding.",
     "This works as long as pad_id is 0. With another pad_id, some words have lower ids than padding. Ask "
     "whether an id is *different* from pad_id.",
     ("source_ids != pad_id", "source_ids > pad_id"), ("target_ids != pad_id", "target_ids > pad_id"))

slip("Transformer", "log_softmax_at_the_end",
     "A log-softmax is applied: log-probabilities come out instead of logits.",
     "The exercise asks for logits: the output of the final linear layer, unchanged. A softmax gives the "
     "same result for both, but people who look at the logits themselves see other numbers.",
     ("self.final_linear(output)", "self.final_linear(output).log_softmax(dim=-1)"))

slip("Transformer", "no_final_layer", "The decoder's output is returned without the final linear layer.",
     "The decoder returns a vector of embedding_dim numbers for each position. One more layer turns it into "
     "a score for each word of the target's vocabulary.",
     ("logits = self.final_linear(output)", "logits = output"))

slip("Transformer", "encoder_without_mask", "In the encoder the source's mask has no effect.",
     "Your model is right as long as the source has no padding. Otherwise the real source words look at "
     "padding, and the translation of a sentence depends on the other sentences in the batch.",
     ("self.encoder(source_ids, source_mask)", "self.encoder(source_ids)"))

slip("Transformer", "decoder_without_source_mask", "In the cross-attention the source's mask has no effect.",
     "Your model is right as long as the source has no padding. The encoder gets the mask of the source's "
     "padding. The decoder looks at the same source words, so it needs that mask, too.",
     ("memory, target_mask, source_mask", "memory, target_mask"))

slip("Transformer", "decoder_without_target_mask", "In the decoder's self-attention the target's mask has no effect.",
     "Every target word sees the words after it, so in training it can copy the answer. Which of the two "
     "masks does the decoder's self-attention need?",
     ("memory, target_mask, source_mask", "memory, None, source_mask"))

slip("Transformer", "target_mask_for_the_memory", "The decoder's cross-attention gets the target's mask.",
     "In the cross-attention the keys are source words, so the *source's* padding has to be hidden. If "
     "source and target are equally long, this mistake does not even raise an error.",
     ("memory, target_mask, source_mask", "memory, target_mask, target_mask"))

slip("Transformer", "source_and_target_swapped",
     "The source's mask is causal and the target's is not, as if the two sentences were swapped.",
     "Only the decoder has a future to hide. make_masks takes the source first and returns the source's mask "
     "first. What do you pass to it, and what do you call its results?",
     ("source_mask, target_mask = make_masks(source_ids, target_ids)",
      "target_mask, source_mask = make_masks(target_ids, source_ids)"))

slip("Transformer", "decoder_reads_embeddings",
     "The decoder gets the source's embeddings as memory instead of the encoder's output.",
     "The work of the encoder's layers is lost. The decoder has to read the encoder's *output*.",
     ("self.encoder(source_ids, source_mask)", "self.encoder.embedding(source_ids)"))


slip("Transformer", "no_gradient", CUT_OFF, WHAT_CUTS_IT_OFF,
     ("    def forward(", "    @torch.no_grad()\n    def forward("))

slip("Transformer", "encoder_cut_off", "No gradient reaches the encoder: only the decoder can be trained.",
     "A pretrained encoder may be used in this way, but yours has learned nothing yet. What do you do with "
     "the encoder's output? Is anything wrapped around its call?",
     ("memory = self.encoder(source_ids, source_mask)", "memory = self.encoder(source_ids, source_mask).detach()"))

slip("Transformer", "switches_its_mode", "In its forward, the model or a part of it is put into evaluation mode.",
     "A training loop sets training mode once. After one call of your forward, dropout stays off. Only the "
     "caller knows whether this is training, so leave the mode as it is.",
     ("        # 1. The masks", "        self.eval()\n        # 1. The masks"))

slip("Transformer", "dropout_in_the_encoder_only", "In training, dropout has no effect in the decoder.",
     "In evaluation mode your model is right. Both stacks need the dropout rate. What do you pass to the "
     "decoder when you create it?",
     ("self.decoder = Decoder(*sizes, target_vocab_size, *options)",
      "self.decoder = Decoder(*sizes, target_vocab_size, max_len, 0.0, layernorm_eps, norm_first)"))


# ---------------------------------------------------------------------------------- shift_right

slip("shift_right", "input_not_shifted", "The decoder's input is the labels themselves.",
     "At each position, the decoder reads the very word that it has to predict, so it learns to copy. Its "
     "input must be one word behind the labels.",
     ("torch.cat([begin, labels[:, :-1]], dim=1)", "labels.clone()"))

slip("shift_right", "shifted_left", "The labels are shifted to the left instead of the right.",
     "Now the decoder reads the word *after* the one that it has to predict. At position 0 it should know "
     "only that a sentence begins.",
     ("[begin, labels[:, :-1]]", "[labels[:, 1:], begin]"))

slip("shift_right", "nothing_dropped",
     "BOS is put in front but the last column is kept, so the input is one longer than the labels.",
     "The input must be as long as the labels, because each position has one label. If BOS is added at the "
     "front, which column has to go?",
     ("labels[:, :-1]", "labels"))

slip("shift_right", "begin_over_the_first_word",
     "BOS overwrites the first word instead of pushing it to the right.",
     "The first word is lost, and nothing has moved. From position 1 on, the decoder still reads the word "
     "that it has to predict.",
     ("labels[:, :-1]", "labels[:, 1:]"))

slip("shift_right", "rolled_around",
     "The labels are rolled, so the last column comes back in front instead of BOS.",
     "`torch.roll` moves the last column to the front. But the first word that the decoder reads must always "
     "be BOS.",
     ("torch.cat([begin, labels[:, :-1]], dim=1)", "torch.roll(labels, 1, dims=1)"))

slip("shift_right", "padding_in_front", "The position in front is filled with padding instead of BOS.",
     "Masks hide padding, so no word may attend to it. The first position needs a token that says: a "
     "sentence begins here.",
     ("torch.full_like(labels[:, :1], bos_id)", "torch.zeros_like(labels[:, :1])"))

slip("shift_right", "shifted_over_the_batch",
     "The sentences are moved down by one row instead of one position to the right.",
     "The first axis counts the sentences, the second one the words. Your version gives each decoder input "
     "the sentence of its neighbour.",
     ("labels[:, :1]", "labels[:1]"), ("labels[:, :-1]], dim=1", "labels[:-1]], dim=0"))

slip("shift_right", "changed_in_place", "The labels themselves are modified.",
     "The labels are still needed for the loss. Make a new tensor, and leave the one that you were given "
     "unchanged.",
     ("return torch.cat([begin, labels[:, :-1]], dim=1)",
      "labels[:] = torch.cat([begin, labels[:, :-1]], dim=1)\n"
      "    return labels"))

slip("shift_right", "begin_is_always_one", "BOS always has the id 1, whatever the caller says.",
     "Your function is right as long as BOS has the id 1. But the caller may pass another id.",
     ("torch.full_like(labels[:, :1], bos_id)", "torch.ones_like(labels[:, :1])"))

slip("shift_right", "floats", "The result holds floats instead of whole numbers.",
     "`torch.ones`, `torch.zeros` and `torch.full` with a float make floats. Joined to ids, they turn the "
     "ids into floats, too. But an embedding needs whole numbers. Take the dtype from the labels.",
     ("torch.full_like(labels[:, :1], bos_id)", "torch.full(labels[:, :1].shape, float(bos_id))"))


# ---------------------------------------------------------------------------------- label_smoothed_loss

slip("label_smoothed_loss", "padding_counts", "Padding positions count towards the mean.",
     "A position whose label is padding is not a word, so there is nothing to learn there. You include its "
     "loss, so more padding changes the result.",
     ("losses[labels != pad_id].mean()", "losses.mean()"))

slip("label_smoothed_loss", "divided_by_all_positions",
     "The losses of the real labels are added up, but divided by the number of all positions.",
     "Your sum is right, but you divide it by the wrong number. How many positions have a *real* label? More "
     "padding must not make the loss smaller.",
     ("losses[labels != pad_id].mean()", "(losses * (labels != pad_id)).mean()"))

slip("label_smoothed_loss", "summed_not_averaged", "The losses are added up instead of averaged.",
     "The result grows with the number of words in the batch, and so does the gradient. Take the mean over "
     "the real labels.",
     ("].mean()", "].sum()"))

slip("label_smoothed_loss", "divided_by_the_batch", "The sum is divided by the number of sentences instead of words.",
     "This way a batch of long sentences has a larger loss than one of short sentences. Each real *label* "
     "counts once: how many of them are there?",
     ("losses[labels != pad_id].mean()", "losses[labels != pad_id].sum() / labels.shape[0]"))

slip("label_smoothed_loss", "mean_of_sentence_means",
     "The mean is taken within each sentence first, and then over the sentences.",
     "This way a word in a short sentence counts more than a word in a long one. All real labels in the "
     "batch should count the same.",
     ("return losses[labels != pad_id].mean()",
      "real = labels != pad_id\n"
      "    return ((losses * real).sum(dim=1) / real.sum(dim=1)).mean()"))

slip("label_smoothed_loss", "no_smoothing", "The smoothing has no effect: this is plain cross-entropy.",
     "Without smoothing your loss is right. With smoothing, the label gets only 1 - ε, and the other words "
     "share ε.",
     ("smoothing / (num_classes - 2))", "0.0)"), ("1 - smoothing)", "1.0)"))

slip("label_smoothed_loss", "smoothing_of_the_pad_column",
     "The padding's column gets a share of the smoothing, too.",
     "The right word is never padding, so a model should not be rewarded for giving padding any probability. "
     "Two classes get no share of ε: the label, which has its own part, and padding.",
     ("num_classes - 2)", "num_classes - 1)"), ("    wanted[..., pad_id] = 0\n", ""))

slip("label_smoothed_loss", "pad_column_not_emptied",
     "The padding's column gets a share of the smoothing, on top of those of the other words.",
     "You divide ε by the right number, but hand out one share more than that. Add up the probabilities that "
     "the model should give: the sum is above 1. Which class should get nothing?",
     ("    wanted[..., pad_id] = 0\n", ""))

slip("label_smoothed_loss", "shares_do_not_sum_to_one",
     "The padding's column is left out, but ε is divided as if it were not.",
     "Add up the probabilities that the model should give: the sum should be 1. Over how many classes do you "
     "spread ε, and what do you divide it by?",
     ("num_classes - 2)", "num_classes - 1)"))

slip("label_smoothed_loss", "smoothing_over_all_classes",
     "ε is spread over all classes, including the label, as torch's cross_entropy does.",
     "`torch.nn.functional.cross_entropy(label_smoothing=...)` spreads ε over *all* classes, so the label "
     "and the padding get a share, too. Here ε goes only to the other classes.",
     ("smoothing / (num_classes - 2)", "smoothing / num_classes"), ("    wanted[..., pad_id] = 0\n", ""),
     ("1 - smoothing)", "1 - smoothing + smoothing / num_classes)"))

slip("label_smoothed_loss", "logits_for_log_probabilities", "The logits are taken for log-probabilities.",
     "Logits can be any numbers. The loss needs the logarithms of probabilities that sum to 1 over the "
     "classes. Which function turns logits into these logarithms?",
     ("torch.log_softmax(logits, dim=-1)", "logits.clone()"))

slip("label_smoothed_loss", "probabilities_for_their_logarithms", "Probabilities are used instead of their logarithms.",
     "Your loss lies between -1 and 0, because it is minus a mean probability. The cross-entropy takes "
     "logarithms, so a probability near 0 costs a lot.",
     ("torch.log_softmax(logits, dim=-1)", "torch.softmax(logits, dim=-1)"))

slip("label_smoothed_loss", "softmax_twice", "The logits go through a softmax twice.",
     "log_softmax and cross_entropy take logits. If they get probabilities, which all lie between 0 and 1, "
     "every class looks nearly as good as any other.",
     ("torch.log_softmax(logits, dim=-1)", "torch.log_softmax(torch.softmax(logits, dim=-1), dim=-1)"))

slip("label_smoothed_loss", "log_of_softmax", "For large logits an exponential overflows or becomes 0.",
     "The exponential of minus several hundred is 0, and the logarithm of 0 is -inf. The exponential of "
     "several hundred is too large for float32. `log_softmax` avoids both.",
     ("torch.log_softmax(logits, dim=-1)", "torch.softmax(logits, dim=-1).log()"))

slip("label_smoothed_loss", "label_gets_the_rest",
     "The label's share and the others' share are swapped: the label gets ε.",
     "Smoothing adds only a little doubt: most of the probability, 1 - ε, stays with the label.",
     ("log_probs, smoothing /", "log_probs, (1 - smoothing) /"),
     ("1 - smoothing)\n"
      "    losses",
      "smoothing)\n"
      "    losses"))

slip("label_smoothed_loss", "sign_forgotten", "The loss has the wrong sign.",
     "Log-probabilities are negative. Training makes the loss small, and that should make the right word's "
     "probability large. So the equation has a minus sign. How many minus signs do you have?",
     ("losses = -(", "losses = ("))

slip("label_smoothed_loss", "pad_is_always_zero", "Padding is assumed to be 0, whatever pad_id is.",
     "Your loss is right as long as padding is 0. The argument pad_id says which label is padding, and so "
     "which column belongs to padding.",
     ("wanted[..., pad_id]", "wanted[..., 0]"), ("labels != pad_id", "labels != 0"))


slip("label_smoothed_loss", "no_gradient", CUT_OFF, WHAT_CUTS_IT_OFF,
     ("def label_smoothed_loss(", "@torch.no_grad()\ndef label_smoothed_loss("))


# ---------------------------------------------------------------------------------- warmup_schedule

slip("warmup_schedule", "max_for_min", "The larger of the two terms is taken instead of the smaller.",
     "Draw the two curves: a rising straight line, and 1/√step, which falls. The rate follows the lower of "
     "the two, so it starts small. Yours starts huge.",
     ("min(", "max("))

slip("warmup_schedule", "no_warmup", "There is no warm-up: the rate falls from the first step on.",
     "Your rate is largest at the very first step, when the weights are still random. The second term of the "
     "minimum makes the rate start small.",
     ("min(step**-0.5, step * warmup_steps**-1.5)", "step**-0.5"))

slip("warmup_schedule", "never_falls", "The rate does not fall after the warm-up: it goes on growing.",
     "After the warm-up the rate has to fall again. That is why the equation takes the minimum with the "
     "other term.",
     ("min(step**-0.5, step * warmup_steps**-1.5)", "step * warmup_steps**-1.5"))

slip("warmup_schedule", "wrong_power_of_warmup",
     "The warm-up's length has the exponent -0.5 instead of -1.5.",
     "At step = warmup_steps the two terms must be equal; otherwise the rate peaks at the wrong step, or "
     "there is no warm-up at all. What is your second term at that step?",
     ("warmup_steps**-1.5", "warmup_steps**-0.5"))

slip("warmup_schedule", "linear_ramp_only",
     "The second term is step / warmup_steps, which is not scaled to meet the first one.",
     "A ramp from 0 to 1 meets 1/√step much too early, at a rate that is much too high. The two terms must "
     "be equal at step = warmup_steps.",
     ("step * warmup_steps**-1.5", "step / warmup_steps"))

slip("warmup_schedule", "grows_with_the_width", "The rate is multiplied by √d_model instead of divided.",
     "Wider models take smaller steps: the exponent of d_model is negative.",
     ("d_model**-0.5", "d_model**0.5"))

slip("warmup_schedule", "width_forgotten", "The rate does not depend on d_model.",
     "Equation 3 has one more factor, in front of the minimum: wider models take smaller steps.",
     ("d_model**-0.5 * ", ""))

slip("warmup_schedule", "factor_forgotten", "The factor has no effect.",
     "Your rate is right as long as the factor is 1. The factor scales the whole curve, before and after the "
     "peak. A small model may need larger or smaller steps than the paper's.",
     ("factor * ", ""))

slip("warmup_schedule", "steps_from_zero",
     "Steps are counted from 0, so every rate is that of the next step.",
     "Here steps are counted from 1, as in the paper: the rate peaks at step = warmup_steps. You do not need "
     "to add anything.",
     ("min(step**-0.5, step *", "min((step + 1) ** -0.5, (step + 1) *"))

slip("warmup_schedule", "linear_decay", "After the warm-up the rate falls like 1/step instead of 1/√step.",
     "The rising part is right. After it, your rate falls too fast: after four times as many steps it should "
     "be a half, not a quarter.",
     ("min(step**-0.5", "min(warmup_steps**0.5 / step"))


# ---------------------------------------------------------------------------------- train_step

slip("train_step", "gradients_not_cleared",
     "Old gradients are not cleared before a step: those of its batch are added to them.",
     "`backward` *adds* to the gradients that are already there, from an earlier step or another loss. When "
     "do you clear them: before `backward`, only after the step, or never?",
     ("    optimizer.zero_grad()\n", ""))

slip("train_step", "nothing_changes", "No weight changes: there is no step, or it finds no gradients.",
     "The loss is right, but the weights do not change. A step uses the gradients that are there at that "
     "moment. The order is: clear, compute, use. Is one of the three missing, or in the wrong place?",
     ("optimizer.zero_grad()\n"
      "    loss.backward()",
      "loss.backward()\n"
      "    optimizer.zero_grad()"))

slip("train_step", "step_before_backward", "The step is taken before backward, so it uses older gradients.",
     "A step uses the gradients that are there at that moment. Yours uses those of the previous batch, and "
     "the first time there are no gradients yet. The order is: clear, compute, use.",
     ("optimizer.zero_grad()\n"
      "    loss.backward()\n"
      "    optimizer.step()",
      "optimizer.step()\n"
      "    optimizer.zero_grad()\n"
      "    loss.backward()"))

slip("train_step", "left_in_evaluation_mode", "The model is not in training mode when it computes the logits.",
     "After an evaluation, a model is still in evaluation mode, without dropout. There is no error, but the "
     "model overfits. Set training mode at every step; that costs nothing.",
     ("    model.train()\n", ""))

slip("train_step", "learning_rate_ignored",
     "The optimizer steps with its old learning rate.",
     "The optimizer keeps the learning rate it was created with until you change it, in each of its "
     "`param_groups`.",
     ('        group["lr"] = learning_rate', "        pass"))

slip("train_step", "rate_put_back", "After the step the optimizer has its old learning rate.",
     "The step is right. But afterwards the optimizer that was given should have the rate of this step. Set it in its "
     "`param_groups`, do not change it back, and do not make an optimizer of your own.",
     ('    for group in optimizer.param_groups:\n'
      '        group["lr"] = learning_rate\n',
      '    rates = [group["lr"] for group in optimizer.param_groups]\n'
      '    for group in optimizer.param_groups:\n'
      '        group["lr"] = learning_rate\n'),
     ("    optimizer.step()\n",
      "    optimizer.step()\n"
      "    for group, rate in zip(optimizer.param_groups, rates):\n"
      '        group["lr"] = rate\n'))

slip("train_step", "rate_of_the_first_group_only", "Only the first group gets the learning rate.",
     "An optimizer can have several groups of parameters, each with its own rate. In yours, the other groups "
     "keep their old rate.",
     ("in optimizer.param_groups:", "in optimizer.param_groups[:1]:"))

slip("train_step", "labels_as_input", "The decoder reads the labels themselves: the target is not shifted.",
     "Teacher forcing means that at each position the decoder reads the *right previous* word. Yours reads "
     "the word that it should predict. So the loss gets very low, but the model learns nothing useful.",
     ("shift_right(labels)", "labels"))

slip("train_step", "input_as_labels", "The loss is computed with the decoder's input instead of the labels.",
     "Your model is trained to repeat the word that it has just read. It should predict the word one place "
     "further on.",
     ("label_smoothed_loss(logits, labels", "label_smoothed_loss(logits, shift_right(labels)"))

slip("train_step", "smoothing_not_passed", "The loss always has a smoothing of 0.1, whatever the caller says.",
     "Your step is right for a smoothing of 0.1, the default of the loss. But the caller may want another "
     "value.",
     ("(logits, labels, smoothing)", "(logits, labels)"))

slip("train_step", "probabilities_for_the_loss", "The loss gets probabilities instead of logits.",
     "The loss applies a log-softmax itself. Probabilities lie between 0 and 1 and hardly differ, so this "
     "log-softmax gives nearly equal values, and the gradients are tiny.",
     ("label_smoothed_loss(logits,", "label_smoothed_loss(logits.softmax(dim=-1),"))

slip("train_step", "loss_after_the_step", "The returned loss is computed after the step.",
     "Return the loss that the gradients were computed from, before the weights change. Yours also runs the "
     "model a second time for nothing.",
     ("return loss.item()",
      "logits, _ = model(source_ids, shift_right(labels))\n"
      "    return label_smoothed_loss(logits, labels, smoothing).item()"))


slip("train_step", "gradients_clipped", "The gradients are clipped before the step.",
     "Clipping is common, but the exercise does not ask for it. Where the gradients are large, it makes your "
     "step shorter than the learning rate says.",
     ("    optimizer.step()", "    torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)\n    optimizer.step()"))

slip("train_step", "evaluation_mode_afterwards", "After the step the model is in evaluation mode.",
     "The step itself is right. But the docstring says that the model stays in training mode: leave it "
     "there.",
     ("return loss.item()", "model.eval()\n    return loss.item()"))


# ---------------------------------------------------------------------------------- greedy_decode

slip("greedy_decode", "reads_the_first_position", "At every step the next word is what the model says after BOS alone.",
     "The logits have one row for each word so far. The row of the *last* word says what comes next; the "
     "first row always says what follows BOS. Does the model get all words so far? Which row do you read?",
     ("logits[:, -1]", "logits[:, 0]"))

slip("greedy_decode", "goes_on_after_the_end", "Words after a sentence's end are kept.",
     "After its EOS, a sentence is finished. What the model says about it later means nothing. Fill the rest "
     "with padding.",
     ("torch.where(ended, pad_id", "torch.where(next_word == eos_id, pad_id"))

slip("greedy_decode", "never_stops_early",
     "The model is asked again when every sentence has ended.",
     "The result is right, but you waste time. Once all sentences have ended, there is nothing more to ask "
     "the model. Do you stop, and do you stop before the next call?",
     ("        if ended.all():\n"
      "            break\n",
      ""))

slip("greedy_decode", "stops_with_the_first", "It stops as soon as one sentence has ended.",
     "The sentences of a batch end at different steps. Go on until *all* of them have ended.",
     ("ended.all()", "ended.any()"))

slip("greedy_decode", "begin_kept", "BOS is returned as the first word.",
     "BOS is what you gave the model to start with. The model did not write it.",
     ("return target_ids[:, 1:]", "return target_ids"))

slip("greedy_decode", "end_kept", "EOS is returned as a word.",
     "EOS only says that the sentence is over. It is not a word of the translation, so put padding in its "
     "place.",
     ("ended = ended | (next_word == eos_id)\n"
      "        next_word = torch.where(ended, pad_id, next_word)",
      "next_word = torch.where(ended, pad_id, next_word)\n"
      "        ended = ended | (next_word == eos_id)"))

slip("greedy_decode", "only_the_last_word_asked",
     "The model is given only the last word instead of all words so far.",
     "The model remembers nothing from one call to the next. Give it all the words it has written so far. "
     "(Real systems keep keys and values instead; that is the topic of lab 08.)",
     ("logits, _ = model(source_ids, target_ids)", "logits, _ = model(source_ids, target_ids[:, -1:])"))

slip("greedy_decode", "begins_with_the_end", "The decoder is started with EOS instead of BOS.",
     "In training, the decoder's input always began with BOS. Print what you pass to the model at the first "
     "step.",
     ("1), bos_id)", "1), eos_id)"))

slip("greedy_decode", "begins_with_padding", "The decoder is started with padding instead of BOS.",
     "In training, the decoder's input always began with BOS. Print what you pass to the model at the first "
     "step.",
     ("1), bos_id)", "1), pad_id)"))

slip("greedy_decode", "source_and_target_exchanged", "The model gets the source sentence in the target's place.",
     "The model takes the source sentence first, then the words written so far. Compare your call with the "
     "docstring.",
     ("_ = model(source_ids, target_ids)", "_ = model(target_ids, source_ids)"))

slip("greedy_decode", "one_word_short", "If a sentence is cut off after max_len words, one word too few is returned.",
     "The model may write max_len words, and BOS is not one of them. After max_len steps, all of them are "
     "there. If the sentence was cut off, the last one is a word, too.",
     ("range(max_len)", "range(max_len - 1)"))

slip("greedy_decode", "filled_with_the_end",
     "Sentences that have ended are filled up with EOS instead of padding.",
     "After its end, a sentence is filled up with pad_id, so that the caller has only one kind of filling to "
     "deal with.",
     ("torch.where(ended, pad_id", "torch.where(ended, eos_id"))


# ---------------------------------------------------------------------------------- beam_search

slip("beam_search", "sums_compared",
     "The length penalty is ignored: the sums of log-probabilities are compared.",
     "Each further word adds a negative number. So a longer sentence has a lower sum, even if the model is "
     "quite sure of every word. Your search prefers short sentences, whatever length_penalty says.",
     ("total / len(words) ** length_penalty", "total"))

slip("beam_search", "normalised_at_the_end_only",
     "Sums are compared during the search; the length counts only at the end.",
     "When you use the score, the best sentence may already have dropped out of the beam. Use the same score "
     "whenever you compare hypotheses.",
     ("score(*hypothesis)", "hypothesis[1]"),
     ("words, total = beam[0]", "words, total = max(beam, key=lambda hypothesis: score(*hypothesis))"))

slip("beam_search", "ranked_by_sums",
     "Hypotheses are ranked by their sums; the length counts only in the score that is returned.",
     "Each further word adds a negative number, so ranking by sums prefers short sentences. Use the same "
     "score whenever you compare hypotheses.",
     ("score(*hypothesis)", "hypothesis[1]"))

slip("beam_search", "multiplied_by_the_length", "The sum is multiplied by the length instead of divided.",
     "This punishes long sentences twice. With length_penalty=1, the score should be the mean "
     "log-probability per word.",
     ("total / len(words)", "total * len(words)"))

slip("beam_search", "end_not_counted", "The length is counted without EOS.",
     "EOS is predicted like any other word, and its log-probability is part of the sum. So it counts "
     "towards the length, too.",
     ("len(words) ** length_penalty",
      "max(len([word for word in words if word != eos_id]), 1) ** length_penalty"))

slip("beam_search", "logits_added_up", "Logits are added up instead of log-probabilities.",
     "You cannot compare logits of different positions: adding one number to all logits of a position does "
     "not change its probabilities. log_softmax makes them comparable.",
     ("torch.log_softmax(logits[:, -1], dim=-1)", "logits[:, -1]"))

slip("beam_search", "probabilities_added_up", "Probabilities are added up instead of their logarithms.",
     "The probability of a sentence is the *product* of its words' probabilities; logarithms turn it into a "
     "sum. A sum of probabilities means nothing and grows with the length.",
     ("torch.log_softmax", "torch.softmax"))

slip("beam_search", "only_one_kept",
     "There is never more than one hypothesis: only the best word at each step survives.",
     "This is greedy search. Either you cut the beam to one hypothesis, or you continue each one with its "
     "best word only, so the single one at the start never becomes two. Continue each hypothesis with "
     "*every* word, then keep the beam_size best of all.",
     ("[:beam_size]", "[:1]"))

slip("beam_search", "first_end_wins",
     "The search stops as soon as any hypothesis in the beam has ended, and returns it.",
     "The first sentence to end is usually a short one, and another may still overtake it. Stop when all "
     "hypotheses in the beam have ended.",
     ("reverse=True)[:beam_size]",
      "reverse=True)[:beam_size]\n"
      "        if any(words[-1] == eos_id for words, _ in beam):\n"
      "            beam = [(words, total) for words, total in beam if words[-1] == eos_id]\n"
      "            break"))

slip("beam_search", "ends_forgotten", "Hypotheses that have ended are dropped from the beam.",
     "A hypothesis that has ended is not continued, but it must not be lost. It stays in the beam with its "
     "score, and it may turn out to be the answer.",
     ("candidates = ended + [", "candidates = ["))

slip("beam_search", "best_end_wins", "The search stops as soon as the best hypothesis has ended.",
     "The best hypothesis so far has ended, but the score is a mean. One that is still running can overtake "
     "it with words that are nearly certain. Stop when *all* hypotheses in the beam have ended.",
     ("reverse=True)[:beam_size]",
      "reverse=True)[:beam_size]\n"
      "        if beam[0][0][-1] == eos_id:\n"
      "            break"))

slip("beam_search", "ends_beside_the_beam", "Hypotheses that have ended are kept beside the beam and take no place in it.",
     "Your beam has more than beam_size hypotheses. One that has ended competes with the others for its place. Only the best "
     "beam_size stay, ended or not.",
     ("candidates = ended + [", "candidates = ["),
     ("beam = sorted(candidates,", "beam = ended + sorted(candidates,"),
     ("words, total = beam[0]", "words, total = max(beam, key=lambda hypothesis: score(*hypothesis))"))

slip("beam_search", "ends_continued", "Hypotheses are continued after their end.",
     "After EOS a sentence is over. In your search more words follow, and each of them lowers its sum.",
     ("running = [(words, total) for words, total in beam\n"
      "                   if not words or words[-1] != eos_id]",
      "running, ended = beam, []"))

slip("beam_search", "begin_returned", "The ids that are returned begin with BOS.",
     "BOS is what you gave the model to begin with, not something it said.",
     ("found = [word for", "found = [bos_id] + [word for"))

slip("beam_search", "end_returned", "The ids that are returned end with EOS.",
     "EOS counts towards the score, but it is not a word of the translation.",
     ("[word for word in words if word != eos_id]", "words"))

slip("beam_search", "sum_returned", "The sum of log-probabilities is returned instead of the score.",
     "The search itself is right. But the caller wants the score that you used to compare the hypotheses.",
     ("new_tensor(found), score(words, total)", "new_tensor(found), total"))
