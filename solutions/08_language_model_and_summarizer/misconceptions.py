"""Wrong ways to write lab 08's exercises. Each must lose points and be recognised as itself."""

from grader.catalogue import slip

# ---------------------------------------------------------------------------------- shift_targets

slip("shift_targets", "not_shifted", "The targets are the inputs themselves.",
     "Your model is asked for the token that it has just been given. That needs no model. The target is the "
     "*next* token.",
     ("ids[:, 1:].clone()", "ids[:, :-1].clone()"))

slip("shift_targets", "wrong_way", "Inputs and targets are exchanged: the model has to predict the token before.",
     "You have moved the row in the wrong direction. The model sees the beginning of a row and should "
     "predict what comes next.",
     ("inputs = ids[:, :-1]", "inputs = ids[:, 1:]"), ("ids[:, 1:].clone()", "ids[:, :-1].clone()"))

slip("shift_targets", "two_ahead", "The targets are two places ahead.",
     "You have moved the targets by two places. The next token is one place ahead.",
     ("inputs = ids[:, :-1]", "inputs = ids[:, :-2]"), ("ids[:, 1:].clone()", "ids[:, 2:].clone()"))

slip("shift_targets", "last_token_kept", "The last token stays in the inputs, and the targets go round in a circle.",
     "The first token of a row comes back at the end of your targets. Nothing follows the last token, so the "
     "last token is not an input.",
     ("inputs = ids[:, :-1]", "inputs = ids"), ("ids[:, 1:].clone()", "ids.roll(-1, dims=1)"))

slip("shift_targets", "padding_is_a_target", "Padding stays in the targets.",
     "The model would learn to write padding, and short rows would count as much as long ones. Mark padding in the targets.",
     ("    targets[targets == pad_id] = ignore_id\n", ""))

slip("shift_targets", "zero_is_padding", "Every 0 counts as padding.",
     "Padding has the number pad_id. That is often 0, but not always. Here, 0 may be an ordinary token.",
     ("targets == pad_id", "targets == 0"))

slip("shift_targets", "always_minus_100", "Padding is always marked with -100.",
     "The mark is an argument. -100 is only its usual value.",
     ("= ignore_id", "= -100"))

slip("shift_targets", "inputs_masked_too", "Padding is marked in the inputs, too.",
     "An embedding has no row for the mark. Leave the inputs as they are; the mark belongs in the targets.",
     ("    targets[targets == pad_id] = ignore_id\n",
      "    targets[targets == pad_id] = ignore_id\n    inputs = inputs.masked_fill(inputs == pad_id, ignore_id)\n"))

slip("shift_targets", "after_padding", "A target is ignored where the *input* is padding.",
     "The target after the last real token is already padding, but your version counts it. What has to be "
     "compared with pad_id?",
     ("targets[targets == pad_id]", "targets[inputs == pad_id]"))

slip("shift_targets", "ids_changed", "The given ids are changed.",
     "A slice shares its memory with the original tensor, so writing into the slice changes the ids. Make a "
     "copy first.",
     ("ids[:, 1:].clone()", "ids[:, 1:]"))


# ---------------------------------------------------------------------------------- masked_loss

slip("masked_loss", "mean_over_all_places", "The sum is divided by the number of all places.",
     "You also divide by the places that do not count. So more padding makes your loss smaller.",
     ("counts.sum().clamp(min=1)", "targets.numel()"))

slip("masked_loss", "mean_of_rows", "The mean of each row is taken first, then the mean of the rows.",
     "In your loss a short row counts as much as a long one, so each of its tokens counts more. All tokens "
     "that count should count the same.",
     ("return -chosen.sum() / counts.sum().clamp(min=1)",
      "each = torch.zeros(targets.shape).masked_scatter(counts, -chosen[:, 0])\n"
      "    return (each.sum(dim=1) / counts.sum(dim=1).clamp(min=1)).mean()"))

slip("masked_loss", "sum_for_mean", "The loss is the sum over the places that count, not their mean.",
     "Your loss grows with the size of the batch, and so do the gradients. Divide by the number of places "
     "that count.",
     (" / counts.sum().clamp(min=1)", ""))

slip("masked_loss", "sign", "The loss has the wrong sign.",
     "Log-probabilities are below 0, and training makes a loss smaller. So yours would make the right token "
     "less likely.",
     ("-chosen.sum()", "chosen.sum()"))

slip("masked_loss", "probabilities", "Probabilities are used instead of their logarithms.",
     "You have the right tokens' probabilities. The loss takes their logarithm, so a probability near 0 "
     "costs a lot.",
     ("log_softmax(dim=-1)", "softmax(dim=-1)"))

slip("masked_loss", "logits_for_log_probabilities", "The logits are taken as log-probabilities.",
     "Logits can be any numbers. The softmax turns the logits of all tokens together into probabilities, and "
     "the log-softmax into log-probabilities.",
     ("logits[counts].log_softmax(dim=-1)", "logits[counts]"))

slip("masked_loss", "overflow", "For large logits an exponential overflows or becomes 0.",
     "For logits of several hundred, the exponentials of most tokens are 0 or infinite, so the loss is "
     "wrong. There is a function that takes softmax and logarithm in one step.",
     ("log_softmax(dim=-1)", "softmax(dim=-1).log()"))

slip("masked_loss", "nan_for_large_logits", "For logits of several hundred the loss is NaN.",
     "In float32, the exponential of several hundred is infinite, and infinity divided by infinity is NaN. "
     "So is 0 times the logarithm of 0. There is a function that takes softmax and logarithm in one step.",
     ("logits[counts].log_softmax(dim=-1)", "(logits[counts].exp() / logits[counts].exp().sum(dim=-1, keepdim=True)).log()"))

slip("masked_loss", "bits", "The logarithm is to the base 2.",
     "Your loss is in bits. It should be in nats, which means the natural logarithm.",
     ("return -chosen.sum()", "return -chosen.sum() / math.log(2)"))

slip("masked_loss", "nothing_ignored", "Every place counts, and a negative target is treated as token 0.",
     "Places with ignore_id have no target, but you count them with some token. Leave them out of both the "
     "sum and the number you divide by.",
     ("counts = targets != ignore_id", "counts = torch.ones_like(targets, dtype=torch.bool)\n    targets = targets.clamp(min=0)"))

slip("masked_loss", "only_minus_100", "The mark is taken to be -100, whatever ignore_id is.",
     "The mark for places that do not count is an argument. -100 is only its usual value. Any other mark is "
     "used as an index and is out of range.",
     ("targets != ignore_id", "targets != -100"))

slip("masked_loss", "nan_for_nothing", "If nothing counts, the loss is NaN.",
     "A batch in which nothing counts gives NaN, and a single NaN ruins all weights. What does the docstring "
     "promise?",
     (".clamp(min=1)", ""))

slip("masked_loss", "over_the_places", "The softmax runs over the places instead of the vocabulary.",
     "At each place, the probabilities of all tokens sum to 1. Which axis is the vocabulary?",
     ("log_softmax(dim=-1)", "log_softmax(dim=0)"))


slip("masked_loss", "no_gradient", "The result is computed without gradients, so nothing before it can be trained.",
     "Your numbers are right, but no gradient gets past them: `no_grad`, `detach`, `.item()` and a detour "
     "through NumPy all do that. In training, gradients have to get back through every step to the logits. "
     "Which of your lines stops them?",
     ("def masked_loss(", "@torch.no_grad()\ndef masked_loss("))

slip("masked_loss", "constant_for_nothing", "If nothing counts, the loss has no way back to the logits.",
     "Where nothing counts, your 0 is a new number that was not computed from the logits, so `backward` fails "
     "there. A sum over no places is 0, too, and it still belongs to them. Can you do without a case of its own?",
     ("    counts = targets != ignore_id\n",
      "    counts = targets != ignore_id\n    if not counts.any():\n        return torch.tensor(0.0)\n"))


# ---------------------------------------------------------------------------------- DecoderBlock

slip("DecoderBlock", "NoMask", "Every place sees all others: the mask is missing, or has no effect.",
     "The later tokens are the answer, and your block can see them. So the loss in training falls to nearly "
     "nothing. But when the model writes, there are no later tokens to look at. If you keep a mask from call "
     "to call, does it fit the length of x?",
     ("normed, normed, normed, past)", "normed, normed, normed)"))

slip("DecoderBlock", "FutureOnly", "The mask lets each place see itself and what comes after it.",
     "You use the upper triangle. Row 0 belongs to the first place, which may see only itself.",
     (".tril()", ".triu()"))

slip("DecoderBlock", "NotItself", "A place may not see itself.",
     "Without the diagonal, the first place has nothing to look at, and no place knows which token it has "
     "just been given. The target is the *next* token, so a place may see its own.",
     (".tril()", ".tril(diagonal=-1)"))

slip("DecoderBlock", "PostNorm", "The sums are normalised, as in the paper of 2017.",
     "That is post-norm: it normalises after the sum. This block normalises a *copy* before the sub-layer, "
     "and leaves the sum alone.",
     ("normed = self.norm1(x)", "normed = x"),
     ("x = x + self.dropout(attended)", "x = self.norm1(x + self.dropout(attended))"),
     ("self.expand(self.norm2(x))", "self.expand(x)"),
     ("return x + self.dropout(self.contract(hidden))", "return self.norm2(x + self.dropout(self.contract(hidden)))"))

slip("DecoderBlock", "OneNorm", "The first LayerNorm is used for both sub-layers.",
     "Each sub-layer has its own LayerNorm. New ones are all alike, so the mistake does not show before "
     "training. Which one is never used?",
     ("self.norm2(x)", "self.norm1(x)"))

slip("DecoderBlock", "NoResidual", "x is not added to the output of the attention.",
     "Without the sum, a place loses everything about itself that attention does not pass on.",
     ("x = x + self.dropout(attended)", "x = self.dropout(attended)"))

slip("DecoderBlock", "NoSecondResidual", "x is not added to the output of the network.",
     "The network's output is added to x as it was before the network, in the same way as the attention's "
     "output.",
     ("return x + self.dropout", "return self.dropout"))

slip("DecoderBlock", "NormedResidual", "The output of the attention is added to the normalised copy.",
     "Only the sub-layer sees the normalised copy. Its output is added to x as it was before. Do you still "
     "have that x?",
     ("normed = self.norm1(x)", "x = self.norm1(x)\n        normed = x"))

slip("DecoderBlock", "Relu", "The network uses ReLU instead of GELU.",
     "The Transformer of 2017 uses ReLU here. GPT uses GELU, which is smooth and lets small negative values "
     "through.",
     ("nn.functional.gelu(", "torch.relu("))

slip("DecoderBlock", "TanhGelu", "GELU is computed by its approximation with tanh.",
     "This approximation of GELU comes from a time when the exact one was slow. The two differ from the "
     "third digit on. Use the exact one.",
     ("gelu(self.expand(self.norm2(x)))", "gelu(self.expand(self.norm2(x)), approximate='tanh')"))

slip("DecoderBlock", "NoActivation", "Nothing acts between the two linear layers.",
     "Two linear layers in a row are no more than one linear layer. GELU belongs between them.",
     ("nn.functional.gelu(self.expand(self.norm2(x)))", "self.expand(self.norm2(x))"))

slip("DecoderBlock", "NoDropout", "Dropout has no effect.",
     "In training mode, dropout belongs after each of the two sub-layers, before the sum.",
     ("self.dropout(attended)", "attended"), ("self.dropout(self.contract(hidden))", "self.contract(hidden)"))

slip("DecoderBlock", "DropoutAfterSum", "Dropout comes after the sum.",
     "You drop entries of the residual path as well. Apply dropout to the sub-layer's output, then add.",
     ("x = x + self.dropout(attended)", "x = self.dropout(x + attended)"),
     ("return x + self.dropout(self.contract(hidden))", "return self.dropout(x + self.contract(hidden))"))

slip("DecoderBlock", "Parallel", "The network works on the block's input instead of the attention's result.",
     "Some models run both side by side. Here the network comes second: it sees the sum of x and what "
     "attention has found.",
     ("x = x + self.dropout(attended)", "before, x = x, x + self.dropout(attended)"), ("self.norm2(x)", "self.norm2(before)"))


slip("DecoderBlock", "NoGradient", "The result is computed without gradients, so nothing before it can be trained.",
     "Your numbers are right, but no gradient gets past them: `no_grad`, `detach`, `.item()` and a detour "
     "through NumPy all do that. In training, gradients have to get back through every step to x and to all "
     "weights. Which of your lines stops them?",
     ("    def forward(", "    @torch.no_grad()\n    def forward("))


# ---------------------------------------------------------------------------------- GPT

slip("GPT", "NoPositions", "The tokens go into the blocks without their positions.",
     "A causal mask tells a model a little about order, but not where a token is. Add the embedding of its "
     "position.",
     ("self.token_embedding(ids) + self.position_embedding(places)", "self.token_embedding(ids)"))

slip("GPT", "PositionsFrom1", "Positions are counted from 1.",
     "The first position is number 0. If a row is as long as the table, counting from 1 goes past its end.",
     ("torch.arange(ids.shape[1])", "torch.arange(1, ids.shape[1] + 1)"))

slip("GPT", "PositionOfTheBatch", "Positions are counted down the batch.",
     "Which axis contains the tokens of a row? Every token of your first row has position 0.",
     ("torch.arange(ids.shape[1])", "torch.arange(ids.shape[0])[:, None]"))

slip("GPT", "Multiplied", "Token and position embeddings are multiplied.",
     "A token's embedding and its position's embedding are added, entry by entry.",
     ("self.token_embedding(ids) + self.position", "self.token_embedding(ids) * self.position"))

slip("GPT", "NoFinalNorm", "The logits are computed without the last LayerNorm.",
     "In a pre-norm model, nothing has normalised the sum of all blocks yet. `self.norm` does that, before "
     "the logits.",
     ("self.norm(x) @", "x @"))

slip("GPT", "NotTied", "The logits come from a layer of its own.",
     "You have a second table for the output. Here the weights are tied: the logits are dot products with "
     "the token embeddings themselves.",
     ("        self.blocks = nn.ModuleList", "        self.head = nn.Linear(embedding_dim, vocabulary_size, bias=False)\n        self.blocks = nn.ModuleList"),
     ("self.norm(x) @ self.token_embedding.weight.T", "self.head(self.norm(x))"))

slip("GPT", "SameBlock", "One and the same block is used again and again.",
     "If a list contains one module several times, there is only one set of weights. Do you create a new "
     "block for each layer, and is each one called?",
     ("nn.ModuleList(\n            DecoderBlock(embedding_dim, num_heads, dropout_rate)\n"
      "            for _ in range(num_layers)\n        )",
      "nn.ModuleList([DecoderBlock(embedding_dim, num_heads, dropout_rate)] * num_layers)"),
     ("for block in self.blocks:", "for block in [self.blocks[0]] * len(self.blocks):"))

slip("GPT", "PlainList", "The blocks are in a plain list.",
     "PyTorch does not find modules in a plain list, so an optimizer would never train them. There is a "
     "special list for modules.",
     ("nn.ModuleList(\n            DecoderBlock(embedding_dim, num_heads, dropout_rate)\n"
      "            for _ in range(num_layers)\n        )",
      "[DecoderBlock(embedding_dim, num_heads, dropout_rate) for _ in range(num_layers)]"))

slip("GPT", "LastBlockMissing", "The last block has no effect.",
     "Your output lacks the work of one block. Count the blocks that your loop visits.",
     ("for block in self.blocks:", "for block in self.blocks[:-1]:"))

slip("GPT", "Probabilities", "It returns probabilities.",
     "The loss applies the log-softmax itself. Return the logits as they are.",
     ("return self.norm(x) @ self.token_embedding.weight.T", "return (self.norm(x) @ self.token_embedding.weight.T).softmax(dim=-1)"))

slip("GPT", "Scaled", "The token embeddings are multiplied by the root of the width.",
     "The Transformer of 2017 does that, because its positions have a fixed size. Here the positions are learned, and nothing is multiplied.",
     ("self.dropout(self.token_embedding(ids) +", "self.dropout(math.sqrt(self.token_embedding.embedding_dim) * self.token_embedding(ids) +"))

slip("GPT", "NoDropout", "Dropout has no effect on the sum of token and position.",
     "In training mode, the sum of token and position goes through dropout before the first block.",
     ("self.dropout(self.token_embedding(ids) + self.position_embedding(places))",
      "self.token_embedding(ids) + self.position_embedding(places)"))

slip("GPT", "NormFirst", "The final LayerNorm comes before the blocks.",
     "Each block normalises its own input. `self.norm` belongs at the end, after the last block.",
     ("self.dropout(self.token_embedding(ids) + self.position_embedding(places))",
      "self.norm(self.dropout(self.token_embedding(ids) + self.position_embedding(places)))"), ("self.norm(x) @", "x @"))


slip("GPT", "NoGradient", "The result is computed without gradients, so nothing before it can be trained.",
     "Your numbers are right, but no gradient gets past them: `no_grad`, `detach`, `.item()` and a detour "
     "through NumPy all do that. In training, gradients have to get back through every step to all weights. "
     "Which of your lines stops them?",
     ("    def forward(", "    @torch.no_grad()\n    def forward("))

slip("GPT", "TableDetached", "The table of tokens is detached where the logits are computed.",
     "The logits are right, but the table is used twice, and only one use trains it. `.data` and `.detach()` "
     "give the numbers without their gradients. Writing should train the table as reading does.",
     ("self.token_embedding.weight.T", "self.token_embedding.weight.detach().T"))


# ---------------------------------------------------------------------------------- perplexity

slip("perplexity", "batches_equal", "Every batch counts the same.",
     "A batch of three tokens counts as much as a batch of fifty. Weight each batch by its number of tokens.",
     ("sum(loss * count for loss, count in zip(losses, counts, strict=True))", "sum(losses) / len(losses) * sum(counts)"))

slip("perplexity", "mean_of_perplexities", "The mean of the batches' perplexities is taken.",
     "Take the exponential last. A mean of exponentials is larger than the exponential of the mean.",
     ("math.exp(nats / sum(counts))",
      "sum(math.exp(loss) * count for loss, count in zip(losses, counts, strict=True)) / sum(counts)"))

slip("perplexity", "base_two", "The perplexity is a power of 2.",
     "Use e for nats and 2 for bits. The losses are in nats.",
     ("math.exp(nats / sum(counts))", "2 ** (nats / sum(counts))"))

slip("perplexity", "no_exponential", "The mean loss itself is returned.",
     "That is the mean loss in nats. The perplexity is its exponential.",
     ("math.exp(nats / sum(counts))", "nats / sum(counts)"))

slip("perplexity", "negative_exponent", "The perplexity is upside down, as with a negative exponent.",
     "You have the geometric mean of the probabilities. The perplexity is 1 divided by that, so it is at "
     "least 1.",
     ("math.exp(nats / sum(counts))", "math.exp(-nats / sum(counts))"))

slip("perplexity", "nats_per_character", "Nats per character are returned as bits.",
     "One bit is about 0.69 nats. Convert: how many bits is one nat?",
     ("nats / math.log(2) / characters", "nats / characters"))

slip("perplexity", "bits_the_wrong_way", "Nats are converted to bits the wrong way round.",
     "One nat is more than one bit, so the number of bits is larger than the number of nats. Yours is "
     "smaller.",
     ("nats / math.log(2) / characters", "nats * math.log(2) / characters"))

slip("perplexity", "bits_per_token", "The bits are per token, not per character.",
     "You have divided by the number of tokens. A token may stand for several characters, so a fair "
     "comparison of models needs bits per character.",
     ("nats / math.log(2) / characters", "nats / math.log(2) / sum(counts)"))

slip("perplexity", "perplexity_per_character", "The perplexity is per character.",
     "You have divided by the characters before the exponential. The exercise asks for the perplexity per "
     "token.",
     ("math.exp(nats / sum(counts))", "math.exp(nats / characters)"))

slip("perplexity", "total_bits", "The bits of the whole text are returned.",
     "That is the number of bits for the whole text. Divide by its length in characters.",
     ("nats / math.log(2) / characters", "nats / math.log(2)"))

slip("perplexity", "swapped", "The two results are in the wrong order.",
     "The docstring gives the order of the results: first the perplexity, then the bits.",
     ("return math.exp(nats / sum(counts)), nats / math.log(2) / characters",
      "return nats / math.log(2) / characters, math.exp(nats / sum(counts))"))


# ---------------------------------------------------------------------------------- NGramModel

slip("NGramModel", "LongestOnly", "Only the longest context is counted.",
     "Your model has no counts for shorter contexts, so it has nothing to fall back on. Count every context, "
     "from the empty one up.",
     ("for size in range(min(n - 1, place) + 1):\n                    context", "for size in [min(n - 1, place)]:\n                    context"))

slip("NGramModel", "ContextTooLong", "Contexts of n tokens are counted and used.",
     "An n-gram has n tokens altogether: n - 1 tokens of context and the one that follows.",
     ("range(min(n - 1, place) + 1)", "range(min(n, place) + 1)"), ("min(self.n - 1, len(context))", "min(self.n, len(context))"))

slip("NGramModel", "ContextTooShort", "The longest context is never used.",
     "A range does not include its end. Contexts of n - 1 tokens count, too.",
     ("range(min(self.n - 1, len(context)) + 1)", "range(min(self.n - 1, len(context)))"))

slip("NGramModel", "FirstTokens", "The first tokens of the context are looked up.",
     "What follows depends on the *last* tokens of the context. You look at its first tokens.",
     ("tuple(context[len(context) - size :])", "tuple(context[:size])"))

slip("NGramModel", "NoSmoothing", "The counts alone decide; the shorter context only helps where there are none.",
     "A token that was never seen after this context gets the probability 0. A single such token makes a "
     "whole text impossible. Mix in the probabilities of the shorter context.",
     ("mixed = self.strength * found", "mixed = 0 * found if counted else found.copy()"),
     ("found = mixed / (counted.total() + self.strength)", "found = mixed / mixed.sum()"))

slip("NGramModel", "EqualShares", "Every context is mixed with equal shares.",
     "You have added the same amount to each token. For a rare context, the answer should be close to that "
     "of the *shorter* context, not to equal shares.",
     ("mixed = self.strength * found", "mixed = np.full(self.vocabulary_size, self.strength / self.vocabulary_size)"))

slip("NGramModel", "StrengthForEach", "The strength is added to each token, not shared out.",
     "You add the strength once for each token of the vocabulary. All tokens together should get that much, "
     "shared out by the shorter context's probabilities.",
     ("mixed = self.strength * found", "mixed = np.full(self.vocabulary_size, self.strength)"),
     ("found = mixed / (counted.total() + self.strength)", "found = mixed / mixed.sum()"))

slip("NGramModel", "AddedToEachOnly",
     "The strength is added to every count, but only once to the number that they are divided by.",
     "Your probabilities sum to more than 1: everything that is added to the counts must also be added to "
     "the number you divide by. The shorter context's probabilities sum to 1. So how much do you add if you "
     "use those?",
     ("mixed = self.strength * found", "mixed = np.full(self.vocabulary_size, self.strength)"))

slip("NGramModel", "VocabularyBelow", "The strength in the denominator is multiplied by the size of the vocabulary.",
     "Your probabilities sum to less than 1. That denominator belongs to a method that adds the strength to "
     "each token. Here all tokens share it. How much do you add to the counts of all tokens together?",
     ("(counted.total() + self.strength)", "(counted.total() + self.strength * self.vocabulary_size)"))

slip("NGramModel", "AddOne", "1 is added to the count of each token, whatever the strength is.",
     "This is add-one smoothing: it never asks the shorter contexts, and `strength` has no effect. All "
     "tokens together should get `strength` more, shared out by the shorter context's probabilities.",
     ("mixed = self.strength * found", "mixed = np.ones(self.vocabulary_size)"),
     ("found = mixed / (counted.total() + self.strength)", "found = mixed / mixed.sum()"))

slip("NGramModel", "StrengthIgnored", "The strength is taken to be 1, whatever is passed.",
     "Your model mixes in the right way, but always with the same weight. The argument `strength` says how "
     "much the shorter context counts.",
     ("mixed = self.strength * found", "mixed = 1.0 * found"),
     ("(counted.total() + self.strength)", "(counted.total() + 1.0)"))

slip("NGramModel", "WithoutTheStrengthBelow", "The strength is missing in the denominator.",
     "Your probabilities sum to more than 1. What you add to the counts has to be added to the number you "
     "divide by, too.",
     ("found = mixed / (counted.total() + self.strength)", "found = mixed / max(counted.total(), 1)"))

slip("NGramModel", "AcrossRows", "Contexts reach from one list into the next.",
     "The last letter of one name and the first letter of the next do not belong together. Count each list "
     "by itself.",
     ("for row in sequences:", "for row in [[token for each in sequences for token in each]]:"))

slip("NGramModel", "KindsCounted", "Each different follower counts once, however often it came.",
     "How *often* did each token follow? (The length of a Counter is the number of different tokens in it.)",
     ("counted.total() + self.strength)", "len(counted) + self.strength)"),
     ("mixed[token] += number", "mixed[token] += 1"))

slip("NGramModel", "ContextReversed",
     "Contexts are counted in one order of their tokens, and looked up in the reverse one.",
     "The tokens of a context have an order: use the order of the text, both when you count and when you "
     "look up.",
     ("tuple(context[len(context) - size :])", "tuple(context[len(context) - size :][::-1])"))

slip("NGramModel", "OwnTokenIncluded", "The token itself belongs to its context.",
     "Your contexts end with the very token that should be predicted. A context ends just before that token.",
     ("row[place - size : place]", "row[place - size + 1 : place + 1]"))


# ---------------------------------------------------------------------------------- sampling_probabilities

slip("sampling_probabilities", "temperature_multiplied", "The logits are multiplied by the temperature.",
     "A high temperature should bring the probabilities closer together. Yours makes the likely tokens even "
     "likelier.",
     ("logits / temperature", "logits * temperature"))

slip("sampling_probabilities", "temperature_ignored", "The temperature has no effect.",
     "Your probabilities are the same at every temperature. The temperature has to act on the logits. (If "
     "you divide probabilities by the temperature and then by their sum, they do not change.)",
     ("logits / temperature", "logits"))

slip("sampling_probabilities", "top_k_as_zero_logits", "Tokens that top-k cuts off get the logit 0.",
     "A logit of 0 does not mean a probability of 0, because the exponential of 0 is 1. Which logit has the "
     "exponential 0?",
     ("scaled.masked_fill(scaled < smallest, -torch.inf)", "scaled.masked_fill(scaled < smallest, 0.0)"))

slip("sampling_probabilities", "top_k_smallest", "The k *least* likely tokens are kept.",
     "You keep the wrong end. Top-k keeps the tokens with the largest logits.",
     ("scaled.topk(top_k, dim=-1).values", "scaled.topk(top_k, dim=-1, largest=False).values"), ("scaled < smallest", "scaled > smallest"))

slip("sampling_probabilities", "top_k_one_less", "One token too few is kept by top-k.",
     "The k-th likeliest token is kept, too. Remove only the tokens *below* it.",
     ("scaled < smallest", "scaled <= smallest"))

slip("sampling_probabilities", "top_k_of_all_rows", "One limit is used for all rows.",
     "Each row has its own k-th likeliest token. You compare all rows with one number.",
     ("scaled.topk(top_k, dim=-1).values[..., -1:]", "scaled.topk(top_k, dim=-1).values[..., -1:].max()"))

slip("sampling_probabilities", "nucleus_too_small", "The token that takes the sum over the limit is dropped.",
     "Without that token, the sum is below top_p. For each token, look at the sum of the tokens *before* it. "
     "Then the token that reaches the limit is kept.",
     ("sum_before = falling.cumsum(dim=-1) - falling", "sum_before = falling.cumsum(dim=-1)"))

slip("sampling_probabilities", "nucleus_unsorted", "The sum runs in the order of the vocabulary.",
     "The nucleus is the set of the *likeliest* tokens. Sort before you add up.",
     ("falling, order = probabilities.sort(dim=-1, descending=True)",
      "falling, order = probabilities, torch.arange(probabilities.shape[-1]).expand_as(probabilities)"))

slip("sampling_probabilities", "nucleus_from_below", "The sum begins with the least likely token.",
     "So you keep the unlikely tokens, which the nucleus should cut off. With which token should the sum "
     "begin?",
     ("descending=True", "descending=False"))

slip("sampling_probabilities", "not_put_back", "The sorted probabilities are returned.",
     "The numbers are right, but they belong to other tokens: after sorting, the likeliest token comes "
     "first. Put each number back in its place.",
     ("torch.zeros_like(probabilities).scatter(-1, order, falling)", "falling"))

slip("sampling_probabilities", "put_back_by_gather",
     "The sorted probabilities are rearranged by the same order once more, not put back.",
     "`gather` with the order of the sort rearranges the numbers a second time. The opposite operation "
     "writes each number to the place it came from.",
     ("torch.zeros_like(probabilities).scatter(-1, order, falling)", "falling.gather(-1, order)"))

slip("sampling_probabilities", "not_renormalised", "After the nucleus, the probabilities sum to less than 1.",
     "The sum lacks the probabilities that were cut off. Divide by the sum of those that are left.",
     ("        probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)\n", ""))

slip("sampling_probabilities", "threshold_for_nucleus", "Tokens with a probability of at least 1 - top_p are kept.",
     "You compare single tokens with a limit. The nucleus is about the *sum* of the likeliest tokens.",
     ("falling.masked_fill(sum_before >= top_p, 0.0)", "falling.masked_fill((falling < 1 - top_p) & (sum_before > 0), 0.0)"))


slip("sampling_probabilities", "one_more_at_equality", "If the sum of the likeliest tokens is exactly top_p, one more is kept.",
     "With probabilities of 0.5, 0.3 and 0.2 and a top_p of 0.5, the first token alone is enough: its sum is "
     "at least 0.5. What does your code do if the sum and the limit are equal?",
     ("sum_before >= top_p", "sum_before > top_p"))

slip("sampling_probabilities", "overflow", "For large logits an exponential overflows.",
     "The exponential of a large number such as 800 is infinite, and infinity divided by infinity is NaN. If "
     "you first subtract the largest logit of a row, the softmax stays the same.",
     ("scaled.softmax(dim=-1)", "scaled.exp() / scaled.exp().sum(dim=-1, keepdim=True)"))

slip("sampling_probabilities", "low_logit_for_minus_infinity", "Tokens that top-k cuts off get the logit -10,000.",
     "Logits may be lower than -10,000. Then the tokens that you cut off become the likeliest. Only one "
     "number is below all others.",
     ("scaled.masked_fill(scaled < smallest, -torch.inf)", "scaled.masked_fill(scaled < smallest, -1e4)"))


# ---------------------------------------------------------------------------------- summary_features

slip("summary_features", "loss_on_the_article", "The article's tokens are targets, too.",
     "The model would spend most of its effort on learning to write articles. Mark the article's targets.",
     ("[ignore_id] * len(article) + [*summary_ids, eos_id]", "[*article[1:], sep_id, *summary_ids, eos_id]"))

slip("summary_features", "first_word_lost", "The target at the separator does not count.",
     "At the separator, the model should predict the first word of the summary. You have marked one place "
     "too many, so the model never learns how to begin.",
     ("[ignore_id] * len(article) + [*summary_ids, eos_id]", "[ignore_id] * (len(article) + 1) + [*summary_ids, eos_id][1:]"))

slip("summary_features", "separator_is_learned", "The separator is a target.",
     "The separator follows the article. The model never needs to write it, because you add it yourself.",
     ("[ignore_id] * len(article) + [*summary_ids, eos_id]",
      "[ignore_id] * (len(article) - 1) + [sep_id, *summary_ids, eos_id]"))

slip("summary_features", "not_shifted", "The targets are not shifted.",
     "At each place, the target is the *next* token. Yours are the inputs' own tokens.",
     ("[ignore_id] * len(article) + [*summary_ids, eos_id]", "[ignore_id] * (len(article) + 1) + summary_ids"))

slip("summary_features", "no_end", "The end token is not a target.",
     "A model that has never learned to end goes on for ever. The end follows the last word of the summary, "
     "so it must be a target.",
     ("[*summary_ids, eos_id]", "[*summary_ids, ignore_id]"))

slip("summary_features", "end_goes_in", "The end is an input, too.",
     "There is nothing to predict after the end, so the end is not an input. Inputs and targets are one "
     "token shorter than the whole.",
     ("[*article, sep_id, *summary_ids]", "[*article, sep_id, *summary_ids, eos_id]"),
     ("[*summary_ids, eos_id]", "[*summary_ids, eos_id, ignore_id]"),
     ("max_len - len(summary_ids) - 1", "max_len - len(summary_ids) - 2"))

slip("summary_features", "end_for_separator", "The end token marks the border, too.",
     "The separator marks the border between article and summary. The end has another meaning.",
     ("[*article, sep_id,", "[*article, eos_id,"))

slip("summary_features", "summary_cut", "If the whole is too long, its end is cut off, which is the end of the summary.",
     "You have cut off the end of the whole, which is the end of the summary. The model would learn "
     "summaries without an end. Cut the article instead.",
     ("article = article_ids[:room]", "article = article_ids"),
     ("inputs = [*article, sep_id, *summary_ids]", "inputs = [*article, sep_id, *summary_ids][:max_len]"),
     ("[*summary_ids, eos_id]\n", "[*summary_ids, eos_id]\n    targets = targets[:max_len]\n"))

slip("summary_features", "article_loses_its_beginning", "An article that is too long loses its beginning.",
     "You have kept the end of the article. In most articles the beginning says more, and the docstring asks "
     "for the beginning.",
     ("article_ids[:room]", "article_ids[max(0, len(article_ids) - room) :]"))

slip("summary_features", "never_cut", "An article that is too long is not cut.",
     "The inputs may have at most max_len tokens, because a model has no positions for more.",
     ("article_ids[:room]", "article_ids"))

slip("summary_features", "cut_one_more", "The room for the article is counted one token too small.",
     "Only the inputs count towards max_len: the article, the separator and the summary. The end is not an "
     "input.",
     ("max_len - len(summary_ids) - 1", "max_len - len(summary_ids) - 2"))

slip("summary_features", "always_minus_100", "Places that do not count are always marked with -100.",
     "The mark is an argument. -100 is only its usual value.",
     ("[ignore_id] *", "[-100] *"))


# ---------------------------------------------------------------------------------- rouge_l

slip("rouge_l", "run_for_subsequence", "The longest common *run* is measured: the words have to be neighbours.",
     "In a subsequence, other words may stand in between. If two words differ, the length is not 0. It is "
     "the larger of two neighbours in the table.",
     ("                lengths[i + 1][j + 1] = max(lengths[i][j + 1], lengths[i + 1][j])\n", "                lengths[i + 1][j + 1] = 0\n"),
     ("common = lengths[-1][-1]", "common = max(map(max, lengths))"))

slip("rouge_l", "order_ignored", "Words in common are counted in any order.",
     "That is ROUGE-1. In ROUGE-L the order matters: the common words must have the same order in both "
     "texts.",
     ("common = lengths[-1][-1]", "common = (Counter(candidate) & Counter(reference)).total()"))

slip("rouge_l", "different_words", "Each different common word is counted once.",
     "A set loses the order of the words, and how often each one occurs. Find the longest common "
     "subsequence.",
     ("common = lengths[-1][-1]", "common = len(set(candidate) & set(reference))"))

slip("rouge_l", "greedy", "Each word is looked for after the last one that was found.",
     "If you take the first match, you may skip words that would have matched later. The table compares both "
     "possibilities.",
     ("common = lengths[-1][-1]",
      "common, start = 0, 0\n    for word in candidate:\n        if word in reference[start:]:\n"
      "            start = reference.index(word, start) + 1\n            common += 1"))

slip("rouge_l", "swapped", "Precision and recall are exchanged.",
     "Precision asks how much of what was *written* is right, so divide by the candidate's length. Recall "
     "asks how much of the reference was found.",
     ("common / len(candidate), common / len(reference)", "common / len(reference), common / len(candidate)"))

slip("rouge_l", "arithmetic_mean", "F1 is the plain mean of precision and recall.",
     "F1 is the *harmonic* mean. It is high only if precision and recall are both high.",
     ("2 * precision * recall / (precision + recall)", "(precision + recall) / 2"))

slip("rouge_l", "geometric_mean", "F1 is the geometric mean of precision and recall.",
     "The square root of the product is the geometric mean. F1 is the harmonic mean: twice the product, "
     "divided by the sum.",
     ("2 * precision * recall / (precision + recall)", "math.sqrt(precision * recall)"))

slip("rouge_l", "factor_two", "The factor 2 in F1 is missing.",
     "If precision and recall are equal, F1 should be the same number. Yours is half of it.",
     ("2 * precision * recall /", "precision * recall /"))

slip("rouge_l", "by_the_longer_one", "Both are divided by the longer text's length.",
     "Precision and recall have different denominators: the candidate's length and the reference's.",
     ("common / len(candidate), common / len(reference)",
      "common / max(len(candidate), len(reference)), common / max(len(candidate), len(reference))"))

slip("rouge_l", "nothing_in_common", "If nothing is in common, F1 is 0 / 0.",
     "Without a common word, precision and recall are both 0, so the formula for F1 divides 0 by 0. The "
     "docstring says what to return.",
     ("    if common == 0:\n        return 0.0, 0.0, 0.0\n", ""))

slip("rouge_l", "beginnings", "Words are compared place by place.",
     "One extra word at the beginning moves all the others, and your count falls to nearly nothing. The "
     "common words may stand at different places.",
     ("common = lengths[-1][-1]", "common = sum(word == other for word, other in zip(candidate, reference, strict=False))"))

slip("rouge_l", "last_row_missed", "The last word of each text is left out.",
     "The table has one row and one column more than there are words. The answer is in its last corner.",
     ("lengths[-1][-1]", "lengths[-2][-2]"),
     ("[[0] * (len(reference) + 1) for _ in range(len(candidate) + 1)]",
      "[[0] * (len(reference) + 1) for _ in range(max(len(candidate), 1) + 1)]"))


slip("rouge_l", "capitals_ignored", "Capital letters make no difference.",
     "You ignore capital letters. Only the caller can decide whether that is wanted, so compare words as "
     "they are.",
     ("if word == other:", "if word.lower() == other.lower():"))


# ---------------------------------------------------------------------------------- rms_norm

slip("rms_norm", "mean_subtracted", "The mean is subtracted, as in LayerNorm.",
     "RMSNorm leaves the mean where it is. It only divides each row.",
     ("mean_square = x.square()", "x = x - x.mean(dim=-1, keepdim=True)\n    mean_square = x.square()"))

slip("rms_norm", "variance", "The row is divided by its standard deviation.",
     "The standard deviation measures the distance from the mean. RMSNorm squares the features as they are.",
     ("x.square().mean(dim=-1, keepdim=True)", "x.var(dim=-1, keepdim=True, correction=0)"))

slip("rms_norm", "sum_for_mean", "The row is divided by its length: the squares are summed, not averaged.",
     "You have divided by the root of the *sum* of squares, so the result gets smaller as rows get wider. "
     "Take the mean.",
     (".mean(dim=-1, keepdim=True)", ".sum(dim=-1, keepdim=True)"))

slip("rms_norm", "no_root", "The row is divided by the mean square itself.",
     "The root is missing: RMS means the *root* of the mean square.",
     ("torch.rsqrt(mean_square + eps)", "1 / (mean_square + eps)"))

slip("rms_norm", "eps_outside", "eps is added to the root instead of the mean square.",
     "For ordinary rows this makes almost no difference, but for rows of very small numbers it does. eps "
     "belongs under the root.",
     ("torch.rsqrt(mean_square + eps)", "1 / (torch.sqrt(mean_square) + eps)"))

slip("rms_norm", "eps_forgotten", "eps has no effect.",
     "A row of zeros has the mean square 0, and 0 / 0 is NaN. eps prevents that.",
     ("mean_square + eps", "mean_square"))

slip("rms_norm", "no_weight", "The weight has no effect.",
     "Each feature has a learned scale, and yours has no effect.",
     ("weight * x *", "x *"))

slip("rms_norm", "weight_plus_one", "Each feature is multiplied by its weight plus 1.",
     "Some models (Gemma) store the weight minus 1. Here you multiply by the weight as it is.",
     ("weight * x *", "(1 + weight) * x *"))

slip("rms_norm", "over_the_words", "The mean is taken over the words.",
     "Each word is normalised by itself, over its own features. Which axis holds them?",
     ("dim=-1", "dim=-2"))

slip("rms_norm", "over_everything", "One mean is taken over all words.",
     "A mean without an axis is one number for the whole batch. Each word needs its own.",
     (".mean(dim=-1, keepdim=True)", ".mean()"))

slip("rms_norm", "axis_dropped", "The mean loses its axis.",
     "The mean loses its axis. Its shape (5,) does not fit a tensor of shape (5, 6). Keep the axis, with "
     "length 1.",
     ("mean(dim=-1, keepdim=True)", "mean(dim=-1)"))

slip("rms_norm", "weight_added", "The weight is added.",
     "γ is a scale, so you multiply by it. RMSNorm has no offset.",
     ("weight * x * torch.rsqrt(mean_square + eps)", "weight + x * torch.rsqrt(mean_square + eps)"))


slip("rms_norm", "no_gradient", "The result is computed without gradients, so nothing before it can be trained.",
     "Your numbers are right, but no gradient gets past them: `no_grad`, `detach`, `.item()` and a detour "
     "through NumPy all do that. In training, gradients have to get back through every step to x and to the "
     "weight. Which of your lines stops them?",
     ("def rms_norm(", "@torch.no_grad()\ndef rms_norm("))


# ---------------------------------------------------------------------------------- swiglu

slip("swiglu", "sigmoid_for_silu", "The gate is a sigmoid.",
     "That is the gated linear unit (GLU) of 2016. SiLU multiplies the sigmoid by its argument as well.",
     ("gate * torch.sigmoid(gate)", "torch.sigmoid(gate)"))

slip("swiglu", "sigmoid_overflows", "The gradients are NaN where a gate is far below 0.",
     "exp(-gate) is infinite there. Your output survives that, since a number divided by infinity is 0, but the "
     "gradient does not: it becomes 0 · ∞, which is NaN. `torch.sigmoid` avoids this.",
     ("gate * torch.sigmoid(gate)", "gate / (1 + torch.exp(-gate))"))

slip("swiglu", "gate_and_up_exchanged", "The SiLU is on `w_up`, not on `w_gate`.",
     "Both products have the same shape, so there is no error. The gate goes through the SiLU, and the other "
     "product does not.",
     ("gate = x @ w_gate.T", "gate = x @ w_up.T"), ("(x @ w_up.T)", "(x @ w_gate.T)"))

slip("swiglu", "relu", "The gate uses ReLU.",
     "That is ReGLU, which belongs to the same family. SwiGLU uses SiLU.",
     ("gate * torch.sigmoid(gate)", "torch.relu(gate)"))

slip("swiglu", "gelu", "The gate uses GELU.",
     "That is GEGLU, which belongs to the same family. It is close, but not the same. SwiGLU uses SiLU.",
     ("gate * torch.sigmoid(gate)", "nn.functional.gelu(gate)"))

slip("swiglu", "no_activation", "The gate has no activation.",
     "Without the SiLU, your result is only a product of two linear maps.",
     ("gate * torch.sigmoid(gate)", "gate"))

slip("swiglu", "no_gate", "`w_up` has no effect: the SiLU alone is passed on.",
     "You have an ordinary network with SiLU. Multiply its hidden values by the result of `w_up`, entry by "
     "entry.",
     (" * (x @ w_up.T)", ""))

slip("swiglu", "added", "Gate and content are added.",
     "A gate lets values through or holds them back, so it is multiplied.",
     ("(gate * torch.sigmoid(gate) * (x @ w_up.T))", "(gate * torch.sigmoid(gate) + x @ w_up.T)"))

slip("swiglu", "activation_on_both", "Both products go through the SiLU.",
     "Only the gate goes through the SiLU. What the gate lets through stays as it is.",
     ("(gate * torch.sigmoid(gate) * (x @ w_up.T))", "(nn.functional.silu(gate) * nn.functional.silu(x @ w_up.T))"))

slip("swiglu", "activation_after_the_product", "The SiLU is taken of the product.",
     "First take the SiLU of the gate, then multiply by the other product.",
     ("(gate * torch.sigmoid(gate) * (x @ w_up.T))", "nn.functional.silu(gate * (x @ w_up.T))"))

slip("swiglu", "not_transposed", "The weights are not transposed.",
     "The weights are stored as (out, in). If you multiply rows of features by a matrix, its first axis must "
     "be the inputs.",
     ("w_gate.T", "w_gate"))

slip("swiglu", "residual_inside", "x is added to the result.",
     "The block adds x later. This function returns only the network's output.",
     ("return (gate", "return x + (gate"))


slip("swiglu", "no_gradient", "The result is computed without gradients, so nothing before it can be trained.",
     "Your numbers are right, but no gradient gets past them: `no_grad`, `detach`, `.item()` and a detour "
     "through NumPy all do that. In training, gradients have to get back through every step to x and to all "
     "weights. Which of your lines stops them?",
     ("def swiglu(", "@torch.no_grad()\ndef swiglu("))


# ---------------------------------------------------------------------------------- grouped_query_attention

slip("grouped_query_attention", "tiled", "The query heads get the key heads in the order 0 1 2 0 1 2, not 0 0 1 1 2 2.",
     "Query heads 0 and 1 should share key head 0. Yours get key heads 0 and 1, as if the whole row of heads "
     "were repeated. There is no error, but the model writes nonsense.",
     ("key.repeat_interleave(group, dim=1)", "key.repeat(1, group, 1, 1)"), ("value.repeat_interleave(group, dim=1)", "value.repeat(1, group, 1, 1)"))

slip("grouped_query_attention", "values_tiled", "The values are repeated in another order than the keys.",
     "Each key belongs to its own value. You have repeated keys and values in two different orders.",
     ("value.repeat_interleave(group, dim=1)", "value.repeat(1, group, 1, 1)"))

slip("grouped_query_attention", "first_key_head", "All query heads use the first key head.",
     "Your queries look only at key head 0. Each group of query heads has its own key head.",
     ("key.repeat_interleave(group, dim=1)", "key[:, :1]"), ("value.repeat_interleave(group, dim=1)", "value[:, :1]"))

slip("grouped_query_attention", "key_heads_averaged", "Keys and values are averaged over their heads.",
     "The heads differ for a reason. Repeat each of them for its group of query heads.",
     ("key.repeat_interleave(group, dim=1)", "key.mean(dim=1, keepdim=True)"),
     ("value.repeat_interleave(group, dim=1)", "value.mean(dim=1, keepdim=True)"))

slip("grouped_query_attention", "not_repeated", "Keys or values, or both, still have fewer heads than the queries.",
     "Nine query heads do not fit with three heads of keys or values. Repeat these so that every query head "
     "has one head of keys and one of values, and use the result.",
     ("key.repeat_interleave(group, dim=1)", "key"), ("value.repeat_interleave(group, dim=1)", "value"))

slip("grouped_query_attention", "not_scaled", "The scores go into the softmax without being divided.",
     "Divide the scores by the root of the size of a head. Otherwise the softmax saturates.",
     (" / math.sqrt(query.shape[-1])", ""))

slip("grouped_query_attention", "scaled_by_all_heads", "The scores are divided by the root of the whole width.",
     "Each head computes its own dot products, and their size depends on the size of *one* head.",
     ("math.sqrt(query.shape[-1])", "math.sqrt(query.shape[1] * query.shape[-1])"))

slip("grouped_query_attention", "scaled_by_d_v", "The scores are divided by the root of the size of a value.",
     "Values have no part in the scores: a score is the dot product of a query and a key. How many products "
     "does it add up?",
     ("math.sqrt(query.shape[-1])", "math.sqrt(value.shape[-1])"))

slip("grouped_query_attention", "divided_by_d_k",
     "The scores end up divided by the size of a head, not by its square root.",
     "The size of a head is the right quantity. But the spread of a sum of that many products grows with its "
     "square root. (Do you divide by the root twice?)",
     ("math.sqrt(query.shape[-1])", "query.shape[-1]"))

slip("grouped_query_attention", "scaled_by_the_length", "The scores are divided by the root of the number of keys.",
     "Large dot products come from the size of a head, not from the number of keys.",
     ("math.sqrt(query.shape[-1])", "math.sqrt(key.shape[2])"))

slip("grouped_query_attention", "mask_inverted", "The mask blocks what it should allow.",
     "You block exactly the keys that should be seen. In this course, True means *may attend*.",
     ("masked_fill(~mask", "masked_fill(mask"))

slip("grouped_query_attention", "mask_ignored", "The mask has no effect.",
     "In your version, every query sees every key.",
     ("    if mask is not None:\n        scores = scores.masked_fill(~mask, -torch.inf)\n", ""))

slip("grouped_query_attention", "mask_after_softmax", "The weights are set to 0 after the softmax.",
     "The blocked keys have already taken their share, so the other weights sum to less than 1. Block the "
     "scores instead.",
     ("    if mask is not None:\n        scores = scores.masked_fill(~mask, -torch.inf)\n    return scores.softmax(dim=-1) @ value",
      "    shares = scores.softmax(dim=-1)\n    return (shares if mask is None else shares * mask) @ value"))

slip("grouped_query_attention", "softmax_over_queries", "The softmax runs over the queries.",
     "Each query shares out its attention over the keys, so the softmax runs over the last axis.",
     ("softmax(dim=-1)", "softmax(dim=-2)"))

slip("grouped_query_attention", "masked_with_zero", "Blocked scores are set to 0.",
     "A score of 0 is an ordinary score: its exponential is 1, so a blocked key still gets some weight.",
     ("-torch.inf", "0.0"))


slip("grouped_query_attention", "masked_with_a_low_number", "Blocked scores are set to a number, such as -10,000, that is not low enough.",
     "Allowed scores may be lower than -10,000, and then a blocked key gets the attention. Only one number "
     "is below all others.",
     ("-torch.inf", "-1e4"))


slip("grouped_query_attention", "no_gradient", "The result is computed without gradients, so nothing before it can be trained.",
     "Your numbers are right, but no gradient gets past them: `no_grad`, `detach`, `.item()` and a detour "
     "through NumPy all do that. In training, gradients have to get back through every step to query, key "
     "and value. Which of your lines stops them?",
     ("def grouped_query_attention(", "@torch.no_grad()\ndef grouped_query_attention("))


# ---------------------------------------------------------------------------------- attend_with_cache

slip("attend_with_cache", "positions_from_0", "The new tokens' positions start from 0 again.",
     "The second piece does not begin at position 0. Its positions follow those of all tokens in the cache. "
     "Your result is right if everything comes at once, but not if it comes in pieces.",
     ("rotate(query, past, rotary_base), rotate(key, past, rotary_base)", "rotate(query, 0, rotary_base), rotate(key, 0, rotary_base)"))

slip("attend_with_cache", "query_from_0", "Only the keys' positions continue; those of the queries start from 0 again.",
     "A query has the position of its token, just like the key.",
     ("rotate(query, past, rotary_base)", "rotate(query, 0, rotary_base)"))

slip("attend_with_cache", "one_too_far", "The new tokens begin one position too far.",
     "If the cache contains 5 tokens, they have the positions 0 to 4. Which is the next one?",
     ("past = 0 if cache is None else cache[0].shape[2]", "past = 0 if cache is None else cache[0].shape[2]\n    first = past + (cache is not None)"),
     ("rotate(query, past, rotary_base), rotate(key, past, rotary_base)", "rotate(query, first, rotary_base), rotate(key, first, rotary_base)"))

slip("attend_with_cache", "rotated_twice", "The keys in the cache are rotated again.",
     "The keys in the cache have already been rotated. Rotate the new ones first, then join them.",
     ("    query, key = rotate(query, past, rotary_base), rotate(key, past, rotary_base)\n", "    query = rotate(query, past, rotary_base)\n"),
     ("        value = torch.cat([cache[1], value], dim=2)\n", "        value = torch.cat([cache[1], value], dim=2)\n    key = rotate(key, 0, rotary_base)\n"))

slip("attend_with_cache", "cached_before_rotation", "The keys are kept as they were before their rotation.",
     "The keys in your cache have not been rotated, so every step would have to rotate all of them. The "
     "docstring asks for rotated keys.",
     ("    query, key = rotate(query, past, rotary_base), rotate(key, past, rotary_base)\n", "    query = rotate(query, past, rotary_base)\n"),
     ("grouped_query_attention(query, key, value, mask)", "grouped_query_attention(query, rotate(key, 0, rotary_base), value, mask)"))

slip("attend_with_cache", "values_rotated", "The values are rotated, too.",
     "The rotation is there for the scores, which compare queries and keys. Values carry the content, so "
     "leave them as they are.",
     ("rotate(key, past, rotary_base)\n", "rotate(key, past, rotary_base)\n    value = rotate(value, past, rotary_base)\n"))

slip("attend_with_cache", "base_ignored", "The angles always have the base 10,000.",
     "The base is an argument: SmolLM2 uses 100,000. With the wrong base, nearly all angles are wrong.",
     ("rotate(query, past, rotary_base), rotate(key, past, rotary_base)", "rotate(query, past), rotate(key, past)"))

slip("attend_with_cache", "corner_diagonal", "The mask's diagonal begins in the corner.",
     "The first new token may see the whole cache, not only its first token. Compare your mask with the "
     "table of ones and zeros above.",
     (".tril(diagonal=past)", ".tril()"))

slip("attend_with_cache", "no_mask", "New tokens see the ones after them: the mask is missing, or has no effect.",
     "A single new token needs no mask. But a prompt brings many tokens at once, and none of them may see "
     "the later ones.",
     (".tril(diagonal=past)", ""))

slip("attend_with_cache", "new_ones_in_front", "The new keys and values are put in front of the cache.",
     "New tokens belong at the end. In your order, the mask hides some of the cached tokens, and new tokens "
     "can see later ones.",
     ("[cache[0], key]", "[key, cache[0]]"), ("[cache[1], value]", "[value, cache[1]]"))

slip("attend_with_cache", "only_the_new_ones_kept", "The cache that is returned holds only the new tokens.",
     "The next step finds only the last piece in the cache, and nothing before it. Return the whole cache.",
     ("query, key = rotate(query, past, rotary_base), rotate(key, past, rotary_base)\n",
      "query, key = rotate(query, past, rotary_base), rotate(key, past, rotary_base)\n    new = (key, value)\n"),
     ("mask), (key, value)", "mask), new"))

slip("attend_with_cache", "values_not_kept",
     "Attention gets the keys of all tokens, but the values of the new ones only.",
     "There are now more keys than values. Each key has its own value, so keep both.",
     ("        value = torch.cat([cache[1], value], dim=2)\n", ""))

slip("attend_with_cache", "diagonal_blocked", "If there is a cache, a new token may not see itself.",
     "The mask stops one token too early. A token may see itself, because its target is the next token.",
     (".tril(diagonal=past)", ".tril(diagonal=max(past - 1, 0))"))
