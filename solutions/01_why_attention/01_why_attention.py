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
# # Lab 01: why attention
#
# Read a sentence once, close your eyes, and say it in another language. With five words that is easy. With fifty you would look at the
# text again. Until 2014 neural translators could not. **Attention** was invented to let them look back.
#
# **You need** lab 00 and the idea of a gradient.
#
# <details><summary>What you can do after this lab, and its exercises</summary>
#
# **After this lab you can**
#
# - write a recurrent network, and name its three problems;
# - compare a query with keys, and turn the scores into a weighted average;
# - read an alignment: which source word each translated word comes from;
# - say what attention does not know, and what it costs.
#
# | # | exercise | difficulty | importance | minutes | points |
# |---|---|---|---|---|---|
# | 1 | `rnn_forward` | ●●○○○ | ●●●○○ | 10 | 3 |
# | 2 | `additive_scores` | ●●●○○ | ●●●○○ | 12 | 4 |
# | 3 | `dot_product_scores` | ●●○○○ | ●●●●● | 6 | 3 |
# | 4 | `attend` | ●●○○○ | ●●●●● | 6 | 4 |
# | 5 | `reweight` | ●○○○○ | ●●●●○ | 4 | 2 |
# | 6 | `layer_cost` | ●●●○○ | ●●●●○ | 12 | 4 |
# </details>
#
# **Time:** about 115 minutes for you; the computer needs {measured_seconds} seconds for the whole notebook on two
# cores. **The core path** is exercises 1, 3, 4 and 5, about 57 minutes, plus 9 minutes for the review quiz. Breaks come before sections 6 and 7.
#
# The next cell gives you your own softmax from lab 00 if it passes its check, and ours otherwise. It says which.

# %%
import numpy as np

from course_utils import inputs_of
from course_utils.yours import softmax

np.set_printoptions(precision=3, suppress=True)

# %% tags=["skip-grading"]
from course_utils.display import show_table
from course_utils.widgets.predict import measured, predict

# %% [markdown]
# ## 1. One word after the other
#
# Sentences can have any length, but a network has a fixed number of weights. How can it read them? Four answers, all older than the
# Transformer:
#
# | method | how it reads | what it does not see |
# |---|---|---|
# | n-grams | counts runs of *n* words | everything before the last *n* − 1 words |
# | bag of words | adds up all words | their order |
# | convolution | each word with its neighbours | words beyond its kernel, unless layers are stacked (section 7) |
# | recurrent network | word by word, with a memory | you will measure this |
#
# The last one dominated until 2017. It keeps a vector, the **state**, and after each word it computes a new state from the word and the old
# state. Here the state is a single number. Only the first word carries information, a 1. The others carry none, 0. Watch how much of *Jane*
# is left.

# %% tags=["skip-grading"]
import math

memory = 0.0
for word, number in zip(["Jane", "visits", "Africa", "in", "September"],
                        [1, 0, 0, 0, 0], strict=True):
    before = memory
    memory = math.tanh(1.0 * number + 0.6 * before)
    print(f"{word:10} tanh(1.0 * {number} + 0.6 * {before:.3f}) = {memory:.3f}")

# %% [markdown]
# Remember two things for later. Each state needs the one before it, so you cannot compute the last without all the others. And each step
# multiplies what is left of *Jane* by something smaller than 1: here by 0.6, and tanh takes a little more away.
#
# ### Exercise 1: `rnn_forward`
#
# With vectors, the two numbers 1.0 and 0.6 become matrices, and there is a bias ([Elman 1990](https://doi.org/10.1207/s15516709cog1402_1)):
#
# $$h_t = \tanh(x_t\,W_\mathrm{input} + h_{t-1}\,W_\mathrm{hidden} + b)$$
#
# Vectors are rows in this course, so the matrix is on the right. The words are along the second-to-last axis of `x`. There may be more axes
# before it (a batch of sentences), which all go through the same steps.

# %% nbgrader={"grade": false, "grade_id": "rnn_forward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rnn_forward(
    x: np.ndarray,
    w_input: np.ndarray,
    w_hidden: np.ndarray,
    bias: np.ndarray,
    state: np.ndarray | None = None,
) -> np.ndarray:
    """Reads a sentence with a recurrent network:
    h_t = tanh(x_t @ w_input + h_{t-1} @ w_hidden + bias).

    Args:
        x: words as rows, (..., seq_len, d_input).
        w_input: (d_input, d_hidden).
        w_hidden: (d_hidden, d_hidden).
        bias: (d_hidden,).
        state: the state before the first word, (..., d_hidden). None means zeros.

    Returns:
        The state after each word, (..., seq_len, d_hidden). The state before the first
        word is not among them.
    """
    # 1. The state before the first word.
    ### BEGIN SOLUTION
    if state is None:
        state = np.zeros((*x.shape[:-2], w_hidden.shape[0]))
    ### END SOLUTION
    # 2. One state after the other; keep them all.
    states = []
    ### BEGIN SOLUTION
    for step in range(x.shape[-2]):
        state = np.tanh(x[..., step, :] @ w_input + state @ w_hidden + bias)
        states.append(state)
    ### END SOLUTION
    return np.stack(states, axis=-2)

# %% [markdown]
# <details><summary>Hint 1: which axis do I loop over?</summary>
#
# The words. They are the second-to-last axis, whatever comes before it. `x[..., 0, :]` is the first word of every sentence of
# the batch, and `x.shape[-2]` is how many words there are.
# </details>
# <details><summary>Hint 2: the shape of the zeros</summary>
#
# One state for each sentence: the axes before `x`'s last two, and then the features. `x.shape[:-2]` is a tuple of those leading axes; it is
# empty for a single sentence.
# </details>
# <details><summary>Hint 3: I keep getting a state that does not depend on earlier words</summary>
#
# Then the next step does not get the state that you have just computed. Which variable does it read?
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_rnn_forward", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("why_attention.rnn_forward")

# %% [markdown]
# PyTorch's layer runs the same loop. It stores its matrices transposed, for column vectors, and it has two biases where one would do. Given the
# layer's weights, your function returns the same states:

# %% tags=["skip-grading"]
import torch

torch.manual_seed(0)
rng = np.random.default_rng(0)
layer = torch.nn.RNN(3, 4, batch_first=True)
x = rng.standard_normal((2, 5, 3)).astype(np.float32)
with torch.no_grad():
    theirs, _ = layer(torch.tensor(x))
input_weights, hidden_weights, *biases = (
    parameter.detach().numpy() for parameter in layer.parameters()
)
ours = rnn_forward(x, input_weights.T, hidden_weights.T, sum(biases))
print(f"largest difference from PyTorch: {np.abs(ours - theirs.numpy()).max():.1e}")

# %% [markdown]
# ### Gates: GRU and LSTM (optional)
#
# A plain recurrent network rewrites its whole state at each word. The **LSTM** ([Hochreiter and Schmidhuber 1997](https://doi.org/10.1162/neco.1997.9.8.1735); the forget
# gate came with [Gers et al. 2000](https://doi.org/10.1162/089976600300015015)) and the **GRU** ([Cho et al. 2014](https://arxiv.org/abs/1406.1078))
# have *gates*. A gate has a number between 0 and 1 for each feature, computed from the word and the state. The number says how much of the feature
# is kept. In the formulas, $\sigma$ is
# the *sigmoid*, which turns any number into one between 0 and 1, and $\odot$ multiplies entry by entry.
#
# The GRU has two of them, an *update gate* $z_t$ and a *reset gate* $r_t$ (we leave out the biases):
#
# $$z_t = \sigma(x_t W_z + h_{t-1} U_z) \qquad r_t = \sigma(x_t W_r + h_{t-1} U_r)$$
#
# $$\tilde h_t = \tanh(x_t W + (r_t \odot h_{t-1})\,U) \qquad h_t = z_t \odot h_{t-1} + (1 - z_t) \odot \tilde h_t$$
#
# The last formula contains the idea. $\tilde h_t$ is a proposal for the new state, and it looks like the plain network's formula. Where
# $z_t$ is near 1, the old state passes through almost unchanged. Where it is near 0, the proposal takes its place. The reset gate
# decides how much of the past the proposal may use.
#
# The LSTM keeps a memory $c_t$ beside its state. It has one gate for forgetting, $f_t$, another for what comes in, $i_t$, and a third for what goes
# out to the state, $o_t$:
#
# $$c_t = f_t \odot c_{t-1} + i_t \odot g_t \qquad h_t = o_t \odot \tanh(c_t)$$
#
# $g_t$ is the new information. The new information and each gate have their own matrices. You can count them:

# %% tags=["skip-grading"]
rows = []
for name in ("RNN", "GRU", "LSTM"):
    layer = getattr(torch.nn, name)(64, 64)
    total = sum(parameter.numel() for parameter in layer.parameters())
    rows.append([name, f"{total:,}", f"{total // (2 * 64 * 64 + 2 * 64)}"])
show_table(["of width 64", "parameters", "times an RNN's"], rows)

# %% [markdown]
# Gates help a network remember, as section 2 will show. But it still reads one word after the other.

# %% [markdown]
# ## 2. First problem: distance
#
# Take 40 words, change the first, and see how far that moves your states. Near the change they move a lot. And further on?

# %% tags=["skip-grading"]
rng = np.random.default_rng(1)
d = 16
sentence = rng.standard_normal((40, d))
other = sentence.copy()
other[0] = rng.standard_normal(d)
matrices = [rng.standard_normal((d, d)) * 0.6 / np.sqrt(d) for _ in range(2)]
moved = (rnn_forward(other, *matrices, np.zeros(d))
         - rnn_forward(sentence, *matrices, np.zeros(d)))
far = (0, 1, 2, 5, 10, 20, 39)
show_table(
    ["words after the change", *map(str, far)],
    [["the state has moved by",
      *(f"{np.linalg.norm(moved[distance]):.1e}" for distance in far)]],
)

# %% [markdown]
# The last state hardly knows which word came first. For learning, that is worse than it sounds. The gradient takes the same path backwards.
# By the chain rule
#
# $$\frac{\partial h_T}{\partial h_t} = \prod_{s=t+1}^{T} \frac{\partial h_s}{\partial h_{s-1}}$$
#
# with one factor for each word in between. Each factor is a matrix. If it makes every vector shorter, the product of many is almost nothing: the gradient
# **vanishes**. If it makes some vectors longer, the product may be huge: the gradient **explodes** ([Bengio, Simard and Frasconi 1994](https://doi.org/10.1109/72.279181)). If a word far back
# was important, no signal gets back to
# say so.
#
# Two recurrent networks were built to lose less: the **GRU** and the **LSTM**. They have **gates**. A gate is a number between 0 and 1 for each feature,
# computed from the word and the state. In the GRU,
#
# $$h_t = z_t \odot h_{t-1} + (1 - z_t) \odot \tilde h_t$$
#
# ($\odot$ multiplies entry by entry). Where the gate $z_t$ is near 1, the old state passes through almost unchanged. Where it is near 0, a new
# proposal $\tilde h_t$ takes its place. The LSTM has one gate for what it forgets and one for what comes in. (*Gates* in section 1 has all formulas.)
#
# Now measure it in real layers, freshly initialised: how large is the gradient of the last output with respect to each of 100
# words? Choose an answer before you run the cell below it. A guess that turns out wrong teaches you more than a result you only read.

# %% tags=["skip-grading"]
predict("why_attention.fading")

# %% [markdown]
# The collapsed cell computes these gradients with PyTorch, for an RNN, a GRU, an LSTM and an attention layer. You need not read it.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
from contextlib import contextmanager


@contextmanager
def one_core():
    """Small matrices are not worth spreading over several cores. Write @one_core()
    above a function to use it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@one_core()
def gradient_norms(read, n: int = 100, d: int = 64, batch: int = 16) -> np.ndarray:
    """Norm of the last output's gradient with respect to each word, by distance:
    (n,)."""
    x = torch.randn(batch, n, d, dtype=torch.float64, requires_grad=True)
    last = read(x)[:, -1]  # in float64, because float32 ends at 1e-45
    (gradient,) = torch.autograd.grad((last * torch.randn_like(last)).sum(), x)
    return gradient.norm(dim=-1).mean(dim=0).flip(0).numpy()


torch.manual_seed(0)
options = {"batch_first": True, "dtype": torch.float64}
plain, large = torch.nn.RNN(64, 64, **options), torch.nn.RNN(64, 64, **options)
gru = torch.nn.GRU(64, 64, **options)
lstm, open_lstm = torch.nn.LSTM(64, 64, **options), torch.nn.LSTM(64, 64, **options)
attention = torch.nn.MultiheadAttention(64, num_heads=1, **options)
with torch.no_grad():
    large.weight_hh_l0.mul_(3.5)
    open_lstm.bias_ih_l0[64:128] = 2.0  # the forget gates begin near sigmoid(2) = 0.88

# %% tags=["skip-grading"]
from course_utils.plots import show_figure
from course_utils.plots.sequences import gradient_over_distance

norms = {
    "RNN": gradient_norms(lambda x: plain(x)[0]),
    "RNN, weights × 3.5": gradient_norms(lambda x: large(x)[0]),
    "GRU": gradient_norms(lambda x: gru(x)[0]),
    "LSTM": gradient_norms(lambda x: lstm(x)[0]),
    "LSTM, forget gates open": gradient_norms(lambda x: open_lstm(x)[0]),
    "attention": gradient_norms(lambda x: attention(x, x, x)[0]),
}
places = (1, 10, 50, 99)
show_table(
    ["gradient at distance", *map(str, places), "mean factor per word"],
    [
        [name, *(f"{values[at]:.0e}" for at in places),
         f"{(values[99] / values[1]) ** (1 / 98):.2f}"]
        for name, values in norms.items()
    ],
)
show_figure(
    gradient_over_distance(norms),
    alt="Gradient norm against distance, logarithmic: RNN, GRU and LSTM fall in "
    "straight lines, the RNN with large weights rises, the LSTM with open forget gates "
    "falls slowly, attention stays level.",
)
measured("why_attention.fading", shown=norms["RNN"][99] < 0.5**98 * norms["RNN"][1])

# %% [markdown]
# Read the picture from the bottom. On a logarithmic axis a straight line is a constant factor per step. The last column of the table has this
# factor. The RNN loses more than half of its gradient at every single word. Gates make the line less steep, and a forget gate
# that starts open makes it flatter still. That is why LSTMs were worth having. Yet each word in between still costs a factor.
# With larger weights the plain network's gradient explodes instead.
#
# Attention is the level line. Its output is a sum over *all* words, so every word is one step away, the first as well as the last. (The
# line is low: the weights add up to 1, so a hundred words have 1/100 each on average. But it does not fall.)
#
# **Discuss with a neighbour,** or write two sentences. *The keys, which I had left on the table of the café in which we had
# met the day before, **were** gone.* What has to survive in the state so that a network writes *were* and not *was*? Over how many
# words?

# %% [markdown]
# ## 3. Second problem: one vector for everything
#
# For translation, two recurrent networks were put together ([Sutskever et al. 2014](https://arxiv.org/abs/1409.3215), Cho et al. 2014). The **encoder** reads the
# source sentence. Its last state, one vector of fixed size, is all that the **decoder** gets. That vector has the same size for three words
# as for thirty.

# %% tags=["skip-grading"]
from course_utils.plots.recurrent import encoder_decoder

encoder_decoder()

# %% [markdown]
# A toy task shows what that does: translating phrases like *le chat noir et la gare vide* into *the black cat and the empty station*. The
# data is made up, so there is as much of it as we like, and we know which words belong together. Noun and adjective change places. The
# adjective has to agree in French (*noir*, *noire*) but not in English. The collapsed cell makes the sentences; look only at the
# two that it prints.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
NOUNS = ("le chat cat, le chien dog, le livre book, le train train, le pont bridge, "
         "le jardin garden,\n    la maison house, la voiture car, la fleur flower, "
         "la gare station, la rue street, la porte door")  # article, French, English
ADJECTIVES = ("noir noire black, blanc blanche white, vert verte green, "
              "bleu bleue blue,\n    rouge rouge red, vide vide empty, "
              "ouvert ouverte open, froid froide cold")  # masculine, feminine, English
nouns = np.array([entry.split() for entry in NOUNS.split(",")])
adjectives = np.array([entry.split() for entry in ADJECTIVES.split(",")])
french = ["et", *sorted({*nouns[:, :2].flat, *adjectives[:, :2].flat})]
english = ["<start>", "and", "the", *sorted({*nouns[:, 2], *adjectives[:, 2]})]


def ids(words: np.ndarray, vocabulary: list[str]) -> torch.Tensor:
    """Words -> their numbers in a vocabulary, without the last word of each row (a
    surplus "et" or "and")."""
    return torch.tensor(
        np.vectorize(vocabulary.index)(words).reshape(len(words), -1)[:, :-1])


def sentences(phrases: int, count: int,
              rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """French and English sentences with that many phrases, as word ids,
    (count, 4 * phrases - 1)."""
    noun = nouns[rng.integers(0, len(nouns), (count, phrases))]
    adjective = adjectives[rng.integers(0, len(adjectives), (count, phrases))]
    agreeing = np.where(noun[..., 0] == "le", adjective[..., 0], adjective[..., 1])
    et, the, also = (np.full((count, phrases), word) for word in ("et", "the", "and"))
    source = np.stack([noun[..., 0], noun[..., 1], agreeing, et], axis=-1)
    target = np.stack([the, adjective[..., 2], noun[..., 2], also], axis=-1)
    return ids(source, french), ids(target, english)

for source, target in zip(*sentences(3, 2, np.random.default_rng(0)), strict=True):
    print(" ".join(french[i] for i in source))
    print("  ->", " ".join(english[i] for i in target))

# %% [markdown]
# Each phrase has three words, and *et* joins the phrases. Each phrase is one of 12 × 8 = 96, so a sentence of four phrases is one of 96⁴,
# about 85 million. That is too many to memorise.
#
# The translator has an encoder that reads in both directions (like Bahdanau's) and a decoder. Its code is collapsed. If you open it, look at
# `context`, which is what the decoder sees of the French sentence. Here it is the same vector, `summary`, for every word.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
from torch import nn


class Translator(nn.Module):
    """A GRU that reads French and a GRU that writes English; the first passes a single
    vector of `width` numbers to the second."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.french_vectors = nn.Embedding(len(french), 64)
        self.english_vectors = nn.Embedding(len(english), 64)
        self.encoder = nn.GRU(64, width // 2, batch_first=True, bidirectional=True)
        self.decoder = nn.GRU(64, 64, batch_first=True)
        self.first_state = nn.Linear(width, 64)
        self.to_word = nn.Linear(64 + width, len(english))

    def read(self, source):
        """All states of the encoder (batch, k_len, width); and the last of each
        direction, joined (batch, width)."""
        memory, (forwards, backwards) = self.encoder(self.french_vectors(source))
        return memory, torch.cat([forwards, backwards], dim=-1)

    def context(self, states, memory, summary):
        """What the decoder sees of the French sentence at each word,
        (batch, q_len, width)."""
        return summary[:, None].expand(-1, states.shape[1], -1)

    def write(self, words, state, memory, summary):
        """Scores for the word after each of `words`, and the decoder's last state."""
        states, state = self.decoder(self.english_vectors(words), state)
        return self.to_word(torch.cat(
            [states, self.context(states, memory, summary)], dim=-1)), state

    def begin(self, summary):
        return torch.tanh(self.first_state(summary))[None]

# %% [markdown]
# Training shows the model the correct English words up to some point and asks for the next one. Sentences have 1 to 5 phrases. In the test, the model
# translates newly drawn sentences, and each word that it writes becomes its next input. (Training has seen all of the shortest sentences.) The next two cells are an
# ordinary training loop and an ordinary decoding loop. You write both yourself in lab 05.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
@one_core()
def train(model: Translator, steps: int = 1000, watch=None) -> None:
    """Trains on sentences of 1 to 5 phrases, new ones in each step; calls watch(step)
    every 20 steps."""
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    slower = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, 2 - 2 * step / steps)
    )
    rng, losses = np.random.default_rng(0), []
    for step in range(steps):
        if watch and step % 20 == 0:
            watch(step)
        source, target = sentences(rng.integers(1, 6), 32, rng)
        shown = nn.functional.pad(target[:, :-1], (1, 0))  # <start> has number 0
        memory, summary = model.read(source)
        scores, _ = model.write(shown, model.begin(summary), memory, summary)
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), target.flatten())
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        slower.step()
        if (step + 1) % 200 == 0:
            print(f"steps {step - 198:4} to {step + 1:4}: "
                  f"mean loss {sum(losses[-200:]) / 200:.3f}")

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
@one_core()
@torch.no_grad()
def translate(model: Translator, source: torch.Tensor) -> torch.Tensor:
    """The likeliest word at each step, as many words as the source has."""
    memory, summary = model.read(source)
    state, words = model.begin(summary), torch.zeros(len(source), 1, dtype=torch.long)
    for _ in range(source.shape[1]):
        scores, state = model.write(words[:, -1:], state, memory, summary)
        words = torch.cat([words, scores.argmax(-1)], dim=1)
    return words[:, 1:]


def right(model: Translator, phrases: int) -> float:
    """The share of 300 new sentences that are translated without any mistake."""
    source, target = sentences(phrases, 300, np.random.default_rng(100 + phrases))
    return (translate(model, source) == target).all(dim=1).float().mean().item()

# %% tags=["skip-grading"]
predict("why_attention.room")

# %% tags=["skip-grading"]
import time

torch.manual_seed(0)
one_vector = Translator()
started = time.perf_counter()
train(one_vector)
print(f"{time.perf_counter() - started:.0f} seconds")


lengths = [4 * phrases - 1 for phrases in range(1, 7)]
accuracy = {"one vector": [right(one_vector, phrases) for phrases in range(1, 7)]}
show_table(
    ["words in the sentence", *map(str, lengths)],
    [["sentences without a mistake",
      *(f"{share:.0%}" for share in accuracy["one vector"])]],
)
measured("why_attention.room", shown=accuracy["one vector"][4] < 0.15)

# %% [markdown]
# Short sentences go well. With each extra phrase more goes wrong, and soon hardly a sentence is right any more. The usual explanation is that
# the vector is full: 64 numbers have no room for five phrases. It sounds right. Is it? Two experiments can tell. Give the translator twice the
# **room**, a vector of 128 numbers, and the same practice. And give it twice the **practice**, 2000 steps, in the same room.

# %% tags=["skip-grading"]
torch.manual_seed(0)
roomy = Translator(width=128)
train(roomy)
torch.manual_seed(0)
patient = Translator()
train(patient, steps=2000)
for name, model in {"twice the room": roomy, "twice the practice": patient}.items():
    accuracy[f"one vector, {name}"] = [right(model, phrases) for phrases in range(1, 7)]
show_table(
    ["words in the sentence", *map(str, lengths)],
    [[name, *(f"{share:.0%}" for share in shares)]
     for name, shares in accuracy.items()],
    "Sentences without a mistake",
)

# %% [markdown]
# Twice the room changes little. Twice the practice moves the drop: sentences of 15 words, most of which failed, now come out right more often.
# So for four phrases the vector was **not** full. What the translator lacked was practice in packing and unpacking. For five phrases this table
# cannot tell; see *Going further*. And each further phrase is harder. If every phrase failed equally often, about 69 % at three phrases would mean
# about 61 % at four (0.69 to the power of 4/3). It is only about 15 %. (After 4000 steps the same 64 numbers get 87 % of the sentences of 15 words right; it
# takes a minute to try.) Cho et al. (2014, *On the
# properties of neural machine translation*) saw quality fall with length for real sentences, too.
#
# ## 4. Looking back
#
# What do *you* do with a long sentence? You look at the text again, at the right place. Two comparisons help:
#
# - **Your eyes.** You see sharply only in a small spot, about as wide as your thumb at arm's length. Everything around it is blurred. So
#   your eyes jump several times a second to wherever the next piece of information is ([Rayner 1998](https://doi.org/10.1037/0033-2909.124.3.372)). You do not store the
#   page; you know where to look.
# - **A search.** You type a *query* into a library's catalogue. It compares your query with the *keys* of all books: titles,
#   authors, subjects. It gives you the *value* that belongs to the best key: the book.
#
# Attention is both, made soft so that gradients can flow through it. Instead of picking one place, it gives each place a share. Instead
# of returning one value, it returns the average of all values, weighted by these shares.
#
# Bahdanau, Cho and Bengio ([2015](https://arxiv.org/abs/1409.0473)) did this for translation. They did not throw away the encoder's
# other states. There is one for each source word. When the decoder writes a word, it *looks back*. It compares its own state with each of the
# encoder's states, and takes an average of them. In this average the best matches weigh more. In today's terms:
#
# - the **query** is the decoder's state: what am I looking for?
# - the **keys** are the encoder's states: what can be found where?
# - the **values** are what is averaged. Here they are the encoder's states again; in lab 02 keys and values become different things.
#
# $$\text{weights} = \mathrm{softmax}(\mathrm{score}(\text{query}, \text{keys})) \qquad \text{context} = \sum_j \text{weights}_j\,\text{value}_j$$

# %% tags=["skip-grading"]
encoder_decoder(looking_back=True)

# %% [markdown]
# Nothing is squeezed into one vector: a longer sentence has more states to look at. What is still open is how to compare a
# query with a key. There are two classical answers: an additive score and a dot product. The second one won, and the core path goes
# straight to it (exercise 3).
#
# ### Bahdanau's score (optional)
#
# The first answer (in the paper's appendix A.1.2) is a small network with one hidden layer:
#
# $$\mathrm{score}(q, k) = \tanh(q\,W_\mathrm{query} + k\,W_\mathrm{key}) \cdot v$$
#
# Two matrices bring query and key to the same length, so the two may differ in length to begin with. Then they are added, and $v$ weights
# the features of the result. That is why this kind is called **additive**. In numbers, for a query that looks for a noun:

# %% tags=["skip-grading"]
asks = [1.0, -0.5]  # the query, times its matrix
# the keys, times theirs
answers = {"le": [-1.0, 0.2], "chat": [0.8, -0.4], "noir": [0.1, 0.9]}
v = [1.5, -1.0]
rows, fits = [], []
for word, answer in answers.items():
    bent = [math.tanh(a + b) for a, b in zip(asks, answer, strict=True)]
    fits.append(sum(weight * entry for weight, entry in zip(v, bent, strict=True)))
    rows.append([word, str(np.add(asks, answer)), str(np.array(bent)),
                 f"{fits[-1]:.3f}"])
for row, share in zip(rows, np.exp(fits) / np.exp(fits).sum(), strict=True):
    row.append(f"{share:.3f}")
show_table(["word", "sum", "tanh", "score", "weight"], rows)

# %% [markdown]
# ### Exercise 2: `additive_scores` (optional)
#
# Now do this for all queries with all keys at once. The sum needs every pair, so you need an array with an axis for the queries, an axis
# for the keys, and one for the features: (..., q_len, k_len, d_align). Broadcasting creates it: a column of queries plus a row of keys is a
# table.

# %% nbgrader={"grade": false, "grade_id": "additive_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def additive_scores(
    query: np.ndarray, key: np.ndarray,
    w_query: np.ndarray, w_key: np.ndarray, v: np.ndarray,
) -> np.ndarray:
    """How well each query fits each key: tanh(q @ w_query + k @ w_key) · v
    (Bahdanau et al. 2015).

    Args:
        query: (..., q_len, d_query).
        key: (..., k_len, d_key), with the same leading axes.
        w_query: (d_query, d_align).
        w_key: (d_key, d_align).
        v: (d_align,).

    Returns:
        The scores, before any softmax, (..., q_len, k_len).
    """
    # 1. Query and key, brought to the same length: (..., q_len, d_align) and
    # (..., k_len, d_align).
    ### BEGIN SOLUTION
    asked = query @ w_query
    offered = key @ w_key
    ### END SOLUTION
    # 2. Every query with every key, through the tanh: (..., q_len, k_len, d_align).
    ### BEGIN SOLUTION
    pairs = np.tanh(asked[..., :, np.newaxis, :] + offered[..., np.newaxis, :, :])
    ### END SOLUTION
    # 3. One number per pair: (..., q_len, k_len).
    ### BEGIN SOLUTION
    return pairs @ v
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: a table of sums</summary>
#
# For plain numbers: with `a` of shape (4,) and `b` of shape (6,), `a[:, np.newaxis] + b` has shape (4, 6) and contains every sum. Where
# does the new axis go when the features come after it and perhaps a batch before it? Write the two shapes that you want to add one below
# the other.
# </details>
# <details><summary>Hint 2: from features to one number</summary>
#
# A matrix product with a vector sums over the last axis, whatever axes come before it.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_additive_scores", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("why_attention.additive_scores")

# %% [markdown]
# What is the tanh for? For small numbers tanh(*z*) is nearly *z*, as if it were not there. So shrink both matrices to a thousandth, and
# multiply `v` by a thousand to make up for it. Here are two quite different queries:

# %% tags=["skip-grading"]
rng = np.random.default_rng(35)
two_queries, three_keys = rng.standard_normal((2, 4)), rng.standard_normal((3, 4))
w_q, w_k, v = (
    rng.standard_normal((4, 5)), rng.standard_normal((4, 5)), rng.standard_normal(5)
)
print("with the tanh, one row per query:\n",
      softmax(additive_scores(two_queries, three_keys, w_q, w_k, v)))
nearly_linear = additive_scores(two_queries, three_keys,
                                w_q / 1000, w_k / 1000, v * 1000)
print("practically without it:\n", softmax(nearly_linear))

# %% [markdown]
# Without it both queries get the same weights, so the query has no effect! The score is then a number from the query plus a number from the
# key, and the softmax ignores what is added to a whole row. The tanh makes query and key interact.

# %% [markdown]
# ### Exercise 3: `dot_product_scores`
#
# Luong, Pham and Manning ([2015](https://arxiv.org/abs/1508.04025)) tried simpler scores. If query and key have the same length, multiply them entry by entry and
# add up: the **dot** product. It is large when both point the same way. If the lengths differ, a learned matrix in between makes them fit;
# they call this **general**:
#
# $$\mathrm{score}(q, k) = q \cdot k \qquad\qquad \mathrm{score}(q, k) = q\,W \cdot k$$
#
# All queries with all keys are then one matrix product, with no need for an array of pairs and features. That is why the Transformer uses
# this one.

# %% nbgrader={"grade": false, "grade_id": "dot_product_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def dot_product_scores(
    query: np.ndarray, key: np.ndarray, w: np.ndarray | None = None
) -> np.ndarray:
    """How well each query fits each key: "dot" and "general" of Luong et al. 2015,
    section 3.1.

    Args:
        query: (..., q_len, d_query).
        key: (..., k_len, d_key), with the same leading axes.
        w: (d_query, d_key) for "general". None means "dot"; then d_query = d_key.

    Returns:
        The scores, without scaling and before any softmax, (..., q_len, k_len).
    """
    ### BEGIN SOLUTION
    if w is not None:
        query = query @ w
    return query @ np.swapaxes(key, -1, -2)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: every query with every key</summary>
#
# (q_len, d) times (d, k_len) gives (q_len, k_len), and each entry is one dot product. Your keys have shape (k_len, d):
# swap their *last two* axes. `.T` reverses all of them, which goes wrong with a batch.
# </details>
# <details><summary>Hint 2: where does w go?</summary>
#
# Look at its shape: (d_query, d_key). What can it be multiplied with from the left, and how long is the result?
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_dot_product_scores", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("why_attention.dot_product_scores")

# %% [markdown]
# How much does the simpler score save? Here is how many numbers are in memory when a sentence of 1000 words with 512 features each is
# compared with itself:

# %% tags=["skip-grading"]
n, d = 1000, 512
show_table(["score", "shape", "numbers", "GB"], [
    ["additive, before v", f"{n:,} x {n:,} x {d}", f"{n * n * d:,}",
     f"{4 * n * n * d / 1e9:.3f}"],
    ["dot product", f"{n:,} x {n:,}", f"{n * n:,}", f"{4 * n * n / 1e9:.3f}"],
])

# %% [markdown]
# ### Exercise 4: `attend`
#
# Now all of attention, with your dot-product scores: scores, shares, average. Each **query** distributes its attention over the keys. (Why
# is nothing scaled here? Luong does not. Lab 02 shows what goes wrong with long vectors, and the small
# correction that made it *scaled* dot-product attention.)

# %% nbgrader={"grade": false, "grade_id": "attend", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attend(
    query: np.ndarray, key: np.ndarray, value: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Attention with plain dot-product scores: no matrix in between, no scaling.

    Args:
        query: (..., q_len, d_key).
        key: (..., k_len, d_key).
        value: (..., k_len, d_value).

    Returns:
        context (..., q_len, d_value): for each query, the average of the values,
            weighted by its weights;
        weights (..., q_len, k_len): for each query, shares of the keys that sum to 1.
    """
    # 1. Scores, and from them the weights of each query.
    ### BEGIN SOLUTION
    weights = softmax(dot_product_scores(query, key))
    ### END SOLUTION
    # 2. The weighted averages.
    ### BEGIN SOLUTION
    context = weights @ value
    ### END SOLUTION
    return context, weights

# %% [markdown]
# <details><summary>Hint 1: along which axis is the softmax?</summary>
#
# The weights of *one query* sum to 1. The scores have a row for each query and a column for each key; `softmax` works along
# the last axis unless you say otherwise.
# </details>
# <details><summary>Hint 2: an average as a matrix product</summary>
#
# A row of weights times the matrix of values adds up the *rows* of that matrix, each multiplied by its weight.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_attend", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("why_attention.attend")

# %% [markdown]
# Here are three keys and three values that are easy to follow. There are three queries, too: one like the first key, one between the first and the
# second, and one that is all zeros.

# %% tags=["skip-grading"]
some_keys = np.array([[3.0, 0.0], [0.0, 3.0], [-3.0, 0.0]])
some_values = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
rows = []
for said, asked in {"like key 0": [1.0, 0.0], "between 0 and 1": [0.8, 0.8],
                    "nothing": [0.0, 0.0]}.items():
    context, weights = attend(np.array([asked]), some_keys, some_values)
    rows.append([said, str(weights[0]), str(context[0])])
show_table(["query", "weights", "context"], rows)

# %% [markdown]
# A query that asks for nothing in particular gets the plain average of everything. Keep that in mind for section 6.
#
# ## 5. The payoff: a translator that looks back
#
# The new translator is the old one with a different `context`: scores, softmax, weighted average, as in your `attend`, written in PyTorch
# so that gradients flow through it. (The scores come from the small network of *Bahdanau's score* in section 4, which you may have skipped. With dot
# products, only the lines that compare would differ. As in Luong's translator, the decoder first takes its step and
# then looks. So in training one call computes all steps.)

# %% tags=["skip-grading"]
class LookingTranslator(Translator):
    """The same, but at each word the decoder looks at all states of the encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.w_query = nn.Linear(64, 32, bias=False)
        self.w_key = nn.Linear(64, 32, bias=False)
        self.v = nn.Linear(32, 1, bias=False)

    def context(self, states, memory, summary):
        compared = self.w_query(states).unsqueeze(2).add(
            self.w_key(memory).unsqueeze(1)).tanh()
        # (batch, q_len, k_len)
        self.seen = self.v(compared).squeeze(-1).softmax(dim=-1)
        return self.seen.matmul(memory)


# %% [markdown]
# It has more to look at than the old one: all states instead of the last. Is that what helps, or is it the choice among them? So a third
# translator gets all states, too, but without a choice: their plain average.

# %% tags=["skip-grading"]
class AveragingTranslator(Translator):
    """The same, but at each word the decoder sees the average of all states."""

    def context(self, states, memory, summary):
        average = memory.mean(dim=1, keepdim=True)
        return average.expand(-1, states.shape[1], -1)


torch.manual_seed(0)
averaging = AveragingTranslator()
train(averaging)

# %% [markdown]
# Now the one that looks back. While it trains, we keep its weights for one sentence every 20 steps, so that you can watch them afterwards. What will the finished model
# do?

# %% tags=["skip-grading"]
predict("why_attention.partner")

# %% tags=["skip-grading"]
predict("why_attention.sixth")

# %% tags=["skip-grading"]
line = ["la", "maison", "blanche", "et", "le", "chat", "noir", "et",
        "la", "gare", "vide"]
meant = ["the", "white", "house", "and", "the", "black", "cat", "and",
         "the", "empty", "station"]
one_line = ids(np.array([[*line, "et"]]), french)
its_words = ids(np.array([[*meant, "and"]]), english)
kept = {}  # step -> (q_len, k_len)


@torch.no_grad()
def keep(step: int) -> None:
    """Keeps the weights while the model reads `line` and is shown the words of
    `meant`."""
    memory, summary = looking.read(one_line)
    shown = nn.functional.pad(its_words[:, :-1], (1, 0))
    looking.write(shown, looking.begin(summary), memory, summary)
    kept[step] = looking.seen[0].numpy()


torch.manual_seed(0)
looking = LookingTranslator()
started = time.perf_counter()
train(looking, watch=keep)
keep(1000)
print(f"{time.perf_counter() - started:.0f} seconds")

# %% tags=["skip-grading"]
from course_utils.plots.sequences import accuracy_by_length

for name, model in {"plain average": averaging, "looking back": looking}.items():
    accuracy[name] = [right(model, phrases) for phrases in range(1, 7)]
show_table(
    ["words in the sentence", *map(str, lengths)],
    [[name, *(f"{share:.0%}" for share in shares)]
     for name, shares in accuracy.items()],
    "Sentences without a mistake",
)
show_figure(
    accuracy_by_length(lengths, accuracy, trained_up_to=19),
    alt="Share of sentences without a mistake against their length: with one vector "
    "and the plain average it falls to zero, a little later after twice the practice; "
    "the model that looks back stays high up to the longest sentences of the training, "
    "and falls beyond.",
)
measured("why_attention.sixth",
         shown=accuracy["looking back"][5] < accuracy["looking back"][4])

# %% [markdown]
# The data, the encoder, the decoder and the steps are the same. The plain average of all states is hardly better than the one vector, so it is the
# *choice* that helps. With half as many steps as the model `patient`, the one that looks back is far better on long sentences: every French word is
# still there when its turn comes. It is not perfect: among the longest sentences seen in training, some still contain a mistake.
#
# Is it luck? A result depends on chance: on the first weights, and on the sentences. Here are three runs each, measured when this lab was written. The first has
# the seed of this notebook; on another processor it may differ a little from yours:
#
# | sentences without a mistake, in % | 11 words | 15 words | 19 words |
# |---|---|---|---|
# | one vector | 69, 47, 69 | 15, 6, 9 | 1, 0, 0 |
# | ... twice the room | 74, 70, 74 | 9, 10, 13 | 0, 0, 1 |
# | ... twice the practice | 94, 92, 97 | 52, 34, 47 | 7, 3, 6 |
# | plain average of all states | 79, 66, 70 | 12, 7, 8 | 1, 1, 0 |
# | looking back | 100, 100, 100 | 98, 100, 100 | 86, 99, 94 |
#
# On sentences longer than any in training it stumbles, too: it never had to find a sixth phrase.
#
# ### Where does it look?
#
# Here are the weights that you kept. Each row is an English word about to be written, each column a French word. Drag the slider
# from the first step, where the weights are nearly uniform because nothing has been learned, to the last.

# %% tags=["skip-grading"]
from course_utils.widgets.training import watch_it_learn

watch_it_learn(meant, line, kept)
white, blanche = meant.index("white"), line.index("blanche")
measured("why_attention.partner", shown=kept[1000][white].argmax() == blanche)

# %% [markdown]
# Nobody told the model which words belong together; it only ever saw which word comes next. It found that *white* comes from *blanche*, one place further on, and
# *house* from *maison*, one place back. Figure 3 of Bahdanau et al. (2015) shows the same zigzag for real French, in *zone
# économique européenne*, *European Economic Area*.
#
# Is it always like that? Count over 300 new sentences, with the states of the trained model. Queries are the decoder's states while it
# writes, keys are the encoder's states.

# %% tags=["skip-grading"]
@torch.no_grad()
def states_while_translating(
    source: torch.Tensor,
) -> tuple[np.ndarray, np.ndarray, torch.Tensor]:
    """Queries (batch, q_len, 64), keys (batch, k_len, 64), and the English words
    (batch, q_len)."""
    memory, summary = looking.read(source)
    words = translate(looking, source)
    shown = looking.english_vectors(nn.functional.pad(words[:, :-1], (1, 0)))
    queries, _ = looking.decoder(shown, looking.begin(summary))
    looking.context(queries, memory, summary)  # leaves its weights in looking.seen
    return queries.numpy(), memory.numpy(), words


source, target = sentences(4, 300, np.random.default_rng(7))
states_while_translating(source)
looked_at = looking.seen.numpy().argmax(axis=-1)
place = np.arange(source.shape[1])
# English adjective 1 <- French 2, noun 2 <- French 1
partner = np.where(place % 4 == 1, place + 1, place - 1)
content = (place % 4 == 1) | (place % 4 == 2)
found, straight = (
    (looked_at == partner)[:, content].mean(), (place == partner)[content].mean()
)
print(f"adjectives and nouns that look most at their French partner: {found:.1%}")
print(f"... if each looked at the word in its own place:             {straight:.1%}")

# %% [markdown]
# Now look at the rows *the* and *and*. They look somewhere as well, but that probably means little: these words can be predicted without looking at
# the French. Weights show where a model **looked**. Whether that is *why* it wrote a word is another question, and much
# debated ([Jain and Wallace 2019](https://arxiv.org/abs/1902.10186), [Wiegreffe and Pinter 2019](https://arxiv.org/abs/1908.04626)).
#
# **Type French, and see the alignment.** The translator knows twelve nouns, eight adjectives, *le*, *la* and *et*. Point at an English word
# (or move to it with the Tab key) to see where it looked. Try a sentence with a wrong gender, such as *le maison noir*. Try six phrases.

# %% tags=["skip-grading"]
from course_utils.widgets.alignment import type_and_align


def align(text: str) -> tuple[list[str], list[str], np.ndarray]:
    """The French words, the English ones, and the weights (q_len, k_len)."""
    pieces = text.lower().replace(",", " ").split()
    if not pieces:
        raise ValueError("Type a few words first, for example: le chat noir")
    if strange := [piece for piece in pieces if piece not in french]:
        raise ValueError(f"I do not know {', '.join(strange)}. "
                         f"I know: {', '.join(french)}")
    source = torch.tensor([[french.index(piece) for piece in pieces]])
    _, _, words = states_while_translating(source)
    return pieces, [english[word] for word in words[0]], looking.seen[0].numpy()


type_and_align(
    align, [" ".join(line), "le livre ouvert et la rue froide", "le maison noir"]
)

# %% [markdown]
# ### With your own function (optional)
#
# Take the trained states and the trained matrices out of PyTorch and give them to **your** `additive_scores`. With a softmax it must give
# the weights that the model itself used.

# %% tags=["skip-grading"]
w_q, w_k = (part.weight.detach().numpy().T for part in (looking.w_query, looking.w_key))
v = looking.v.weight.detach().numpy()[0]
queries, keys, _ = states_while_translating(one_line)
alignment = softmax(additive_scores(queries, keys, w_q, w_k, v))[0]
difference = np.abs(alignment - looking.seen[0].numpy()).max()
print(f"largest difference from the model's own weights: {difference:.1e}")

# %% [markdown]
# ## 6. Attention without weights
#
# **A good place for a break.** The translator looks back, and you have seen where. If you go on another day, run the cell at the top first, *Continue here*.
#
# The translator had matrices to learn. How much of attention is left without learned matrices? Let each word of a sentence use its own vector as query,
# as key and as value:
#
# $$y_i = \sum_j w_{ij}\,x_j \qquad w_{ij} = \mathrm{softmax}_j(x_i \cdot x_j)$$
#
# Each word becomes an average of all words, in which those with a large dot product weigh more. Nothing is learned, so nothing is hidden.
# Take three words with two features: *train* (1.0, 0.5), *station* (1.2, 0.2) and *the* (0.1, 0.0).

# %% tags=["skip-grading"]
predict("why_attention.shares")

# %% tags=["skip-grading"]
three = {"train": [1.0, 0.5], "station": [1.2, 0.2], "the": [0.1, 0.0]}
rows = []
for one, vector in three.items():
    products = [sum(a * b for a, b in zip(vector, other, strict=True))
                for other in three.values()]
    parts = [math.exp(product) for product in products]
    shares = [part / sum(parts) for part in parts]
    mixed = [
        sum(s * entry for s, entry in zip(shares, feature, strict=True))
        for feature in zip(*three.values(), strict=True)
    ]
    rows.append([one, *(str(np.array(each)) for each in (products, shares, mixed))])
show_table(["word", "products", "shares", "becomes"], rows)
measured("why_attention.shares",
         shown=np.dot(three["train"], three["station"])
         > np.dot(three["train"], three["train"]))

# %% [markdown]
# A dot product is large for two reasons: the vectors point the same way, or they are long. *Station* is the longest of the three, and even
# *train* gives *station* a little more than it gives itself. *The* is so short that its products are all near 0: it averages everything.
#
# ### Exercise 5: `reweight`
#
# You have already written nearly all of it. What is the query here, what is the key, and what is the value?

# %% nbgrader={"grade": false, "grade_id": "reweight", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reweight(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Attention of a sentence to itself without any learned weight.

    Args:
        x: words as rows, (..., seq_len, d).

    Returns:
        y (..., seq_len, d): y_i = Σ_j w_ij x_j;
        weights (..., seq_len, seq_len): w_ij, the softmax over j of the dot products
            x_i · x_j.
    """
    ### BEGIN SOLUTION
    return attend(x, x, x)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint</summary>
#
# Compare the formula with what `attend` computes. The score of words *i* and *j* is a query times a key: which vector is in each place? And
# what is averaged?
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_reweight", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("why_attention.reweight")

# %% [markdown]
# ### The word *station*
#
# *The train left the station on time.* A station can be many things. Here *train* tells you which. Can `reweight` tell? Take real word
# vectors: the table of a pretrained encoder (MiniLM, [Wang et al. 2020](https://arxiv.org/abs/2002.10957)). It has one vector of 384 numbers for each
# word, the same in every sentence.

# %% tags=["skip-grading"]
from course_utils.models.pretrained import load_encoder, load_tokenizer, read
from course_utils.plots.attention import word_bars

tokenizer = load_tokenizer()
# (30522, 384)
table = load_encoder().embeddings.word_embeddings.weight.detach().numpy()


def word_vectors(sentence: str) -> tuple[list[str], np.ndarray]:
    """The pieces of a sentence, and a vector for each, (seq_len, 384)."""
    pieces = tokenizer(sentence, add_special_tokens=False)["input_ids"]
    return tokenizer.convert_ids_to_tokens(pieces), table[pieces]


words, x = word_vectors("The train left the station on time")
y, weights = reweight(x)
station = words.index("station")
show_table(["*station* times ...", *words],
           [["product", *(f"{fit:.2f}" for fit in x @ x[station])]])
show_figure(
    word_bars(words, weights[station],
              "What station looks at, without any learned weight"),
    alt="Bar chart: station gives about half of its attention to itself, and the next "
    "largest shares to train and then to time.",
)

# %% [markdown]
# After itself, *station* looks most at *train*. The vectors were learned, but nobody trained this attention. It is there because the two
# vectors point in similar directions. One reason for that is that the two words often appear in the same texts.
#
# What has the average done to the word? Put *station* into five sentences. Each of five other words belongs to one of them. Measure how close the
# new vector comes to each of these words (the cosine: 1 = the same direction, 0 = nothing in common):

# %% tags=["skip-grading"]
lines = {
    "railway": "The train left the station on time",
    "broadcast": "The radio station played the song again",
    "orbit": "The space station circled the earth",
    "crime": "The police station was full of thieves",
    "electricity": "The power station burned coal and gas",
}
directions = table / np.linalg.norm(table, axis=1, keepdims=True)


def station_in(sentence: str) -> np.ndarray:
    """The direction of station's new vector, (384,)."""
    words, x = word_vectors(sentence)
    mixed = reweight(x)[0][words.index("station")]
    return mixed / np.linalg.norm(mixed)


probes = directions[tokenizer.convert_tokens_to_ids(list(lines))]  # (5, 384)
alone = directions[tokenizer.convert_tokens_to_ids("station")]
stations = np.array([station_in(line) for line in lines.values()])  # (5, 384)
named = zip(["station, the word alone", *lines.values()], [alone, *stations],
            strict=True)
show_table(
    ["nearness to", *lines],
    [[name, *(f"{near:.2f}" for near in probes @ direction)]
     for name, direction in named],
)

# %% [markdown]
# Read each column from top to bottom. Each probe word is nearest to *station* in its own sentence: one word, five meanings.
#
# ### Find the missing control
#
# So attention finds out which station is meant. Or does it? A table like this one shows *that* something happens. To show *why*, it needs another
# table beside it, in which the supposed cause is missing and everything else is the same: a **control**. Choose one and see what it gives.

# %% tags=["skip-grading"]
def found(name: str, mixed: list[np.ndarray], probes: np.ndarray = probes) -> list[str]:
    """How many probes are nearest to station in their own sentence, and their lead."""
    nearness = probes @ np.array([each / np.linalg.norm(each) for each in mixed]).T
    lead = nearness.diagonal() - np.sort(
        np.where(np.eye(5, dtype=bool), -1, nearness), axis=1)[:, -1]
    return [name, f"{(lead > 0).sum()} of 5", f"{lead.mean():.2f}"]


def backwards() -> list[list[str]]:
    mixed = []
    for line in lines.values():
        words, x = word_vectors(line)
        mixed.append(reweight(x[::-1])[0][::-1][words.index("station")])
    return [found("read backwards", mixed)]


def other_probes() -> list[list[str]]:
    others = ["locomotive", "music", "satellite", "arrest", "energy"]
    return [found("five other probes", list(stations),
                  directions[tokenizer.convert_tokens_to_ids(others)])]


def plain_average() -> list[list[str]]:
    return [found("plain average",
                  [word_vectors(line)[1].mean(axis=0) for line in lines.values()])]


def without_sentence() -> list[list[str]]:
    return [found("the word alone", [alone] * 5)]

# %% tags=["skip-grading"]
from course_utils.widgets.controls import find_the_control

find_the_control(
    "why_attention.company", ["", "probes found", "ahead of the next sentence by"],
    [found("`reweight`", list(stations))],
    [backwards, other_probes, plain_average, without_sentence],
)

# %% [markdown]
# It is the *company* that gives a word its meaning here: a plain average of all words finds as many probes, and is further ahead. What `reweight` adds is a choice of company. It gives half
# of its attention to the word itself. To choose better, it would have to learn what to look for: lab 02.
#
# Which of the encoder's 30,522 words does each *station* move towards, more than the other four do?

# %% tags=["skip-grading"]
vocabulary = np.array(tokenizer.convert_ids_to_tokens(range(len(table))))
whole = np.array([piece.isalpha() and len(piece) > 2 for piece in vocabulary])
nearness = directions @ stations.T  # (30522, 5)
rows = []
for column, text in enumerate(lines.values()):
    gain = nearness[:, column] - nearness.mean(axis=1)
    gain[~whole | np.isin(vocabulary, text.lower().split())] = -np.inf
    rows.append([text, ", ".join(vocabulary[np.argsort(-gain)[:6]])])
show_table(["sentence", "where its station moves"], rows)

# %% [markdown]
# Look at the first line: *trained* and *training* are there as well. The table has only one vector for *train*, whatever it means, and
# reweighting cannot separate the meanings. That needs several layers, and matrices that learn what to look for.
#
# ### Who is *it*?
#
# A pronoun is the hardest case of a word with several meanings: on its own it means nothing at all. In these two sentences, made famous by
# [Uszkoreit (2017)](https://research.google/blog/transformer-a-novel-neural-network-architecture-for-language-understanding/), one word
# decides who *it* is, the animal or the street. The table gives the share of each noun with `reweight`, and then how near *it* is to both
# nouns, layer by layer, in the encoder that the vectors come from. That encoder's attention is learned.

# %% tags=["skip-grading"]
rows_of_it = []
for how in ("tired", "wide"):
    sentence = f"The animal did not cross the street because it was too {how}"
    words, x = word_vectors(sentence)
    shares = reweight(x)[1][words.index("it")]
    inside = read(sentence)
    directed = inside.hidden / np.linalg.norm(inside.hidden, axis=-1, keepdims=True)
    # (7, 384): before layer 1, then after each layer
    it = directed[:, inside.tokens.index("it")]
    for noun in ("animal", "street"):
        near = (directed[:, inside.tokens.index(noun)] * it).sum(axis=-1)  # (7,)
        share = shares[words.index(noun)]
        rows_of_it.append([
            f"too {how}: {noun}", f"{share:.3f}",
            *(f"{near[k]:.2f}" for k in (0, 2, 4, 6)),
        ])  # fmt: skip
show_table(
    ["it looks at ...", "share by `reweight`", "nearness at first", "after layer 2",
     "after 4", "after 6"],
    rows_of_it,
)

# %% [markdown]
# Without learned weights *it* gives each noun nearly the same share in both sentences. In the trained encoder *it* moves towards the animal in both
# sentences. With *wide* it stays further from the animal and comes nearer to the street. So the layers do use the last word, but in this
# small encoder the animal still wins.
#
# **Discuss with a neighbour,** or write two sentences. *It* must find *tired* as well as *animal*. Which word has to look at which, in which
# order, so that this works? How many layers does it take at least?

# %% [markdown]
# ### What attention without weights does not know
#
# With no weights, nothing is hidden. So you can say in advance what matters to `reweight` and what does not.

# %% tags=["skip-grading"]
predict("why_attention.order")

# %% [markdown]
# Three claims: order has no influence, distance has none either, and any length will do. The next cell tries to prove each of them wrong:

# %% tags=["skip-grading"]
words, x = word_vectors("The train left the station on time")
y, _ = reweight(x)
_, far = word_vectors("The station on time left the train")
same = {
    "read backwards, the same vectors:": (reweight(x[::-1])[0][::-1], y),
    "train at the other end, the same station:": (reweight(far)[0][1], y[station]),
    "said twice, the same station:":
        (reweight(np.concatenate([x, x]))[0][station], y[station]),
}
held = {claim: np.allclose(*both, atol=1e-5) for claim, both in same.items()}
for claim, holds in held.items():
    print(f"{claim:42}{holds}")
_, long = word_vectors(" ".join(["The train left the station on time"] * 60))
print(f"{'420 words, the same code:':42}{reweight(long)[0].shape}")
measured("why_attention.order", shown=all(held.values()))

# %% [markdown]
# The first two are serious gaps: *the dog bites the man* and *the man bites the dog* have the same words. Lab 04 closes them. The third
# shows that attention is an average: it sees *which* words there are and in what proportion.
#
# One more warning: longer vectors have larger products. Before a word enters the encoder's first layer, its position is added. Then a LayerNorm (lab
# 05) stretches every vector to nearly the same length, far longer than those of the table:

# %% tags=["skip-grading"]
entering = read("The train left the station on time")
# (9, 384): the encoder adds [CLS] at the beginning and [SEP] at the end
x = entering.hidden[0]
place = entering.tokens.index("station")
in_the_table = np.linalg.norm(table[tokenizer.convert_tokens_to_ids("station")])
print(f"length of station: {in_the_table:.1f} in the table, "
      f"{np.linalg.norm(x[place]):.1f} here")
show_table(["*station* looks at ...", *entering.tokens],
           [["share", *(f"{share:.3f}" for share in reweight(x)[1][place])]])

# %% [markdown]
# All of its attention is on itself. The softmax is **saturated**: one share is nearly 1, and a small change of the scores changes nothing. So it passes
# on almost no gradient, and little is learned. Lab 02 fixes that with a division and
# with learned matrices.
#
# Type your own sentence and one of its words, one with several meanings: *bank*, *spring*, *date*, *book*.

# %% tags=["skip-grading"]
from course_utils.plots.sequences import sentence_explorer


def look(sentence: str, word: str) -> tuple[list[str], np.ndarray, str]:
    """What one word of a sentence looks at, and which words its vector moves to
    most."""
    pieces, x = word_vectors(sentence)
    if word.lower() not in pieces:
        raise ValueError(f"`{word}` is not among the pieces of this sentence: "
                         f"{', '.join(pieces)}")
    place = pieces.index(word.lower())
    y, weights = reweight(x)
    content = whole & (np.char.str_len(vocabulary) > 4) & ~np.isin(vocabulary, pieces)
    moves = directions @ (y[place] / np.linalg.norm(y[place])
                          - x[place] / np.linalg.norm(x[place]))
    nearest = vocabulary[np.argsort(-np.where(content, moves, -np.inf))[:6]]
    return pieces, weights[place], f"The word moves towards: {', '.join(nearest)}"


sentence_explorer(look, [("The river bank was muddy", "bank"),
                         ("The bank gave us the money", "bank")])

# %% [markdown]
# ### Attention's relatives (optional)
#
# Making one vector out of many is called **pooling**, and attention is one kind of it. The kinds differ in what sets the weights.
#
# - **Mean pooling** gives every word the same weight.
# - **TF-IDF** gives a word more weight if it occurs often here (term frequency, TF) and in few other texts (inverse document
#   frequency, IDF). The weight belongs to the word: it is the same for every query.
# - **Max pooling** takes, feature by feature, the largest number. That is a weight of 1 for one word and 0 for all others,
#   chosen for each feature by itself: hard attention without a query.
# - **Attention** lets the query decide.
#
# Here they are side by side on the same sentence. The texts for IDF are the five sentences above; a word that occurs twice here has two
# bars; together they are its TF. For max pooling, a bar is the share of the 384 features that a word wins (if two words are equal, the first wins).

# %% tags=["skip-grading"]
from course_utils.plots.sequences import weights_in_panels

texts = [set(line.lower().split()) for line in lines.values()]
words, x = word_vectors("The train left the station on time")
found_in = np.array([sum(word in text for text in texts) for word in words])
tf_idf = np.log(len(texts) / found_in) + 1
wins = np.bincount(x.argmax(axis=0), minlength=len(words))
shares = {
    "mean": np.full(len(words), 1 / len(words)),
    "TF-IDF": tf_idf / tf_idf.sum(),
    "max pooling": wins / wins.sum(),
    "attention: station asks": reweight(x)[1][words.index("station")],
    "attention: left asks": reweight(x)[1][words.index("left")],
}
show_figure(
    weights_in_panels(words, shares),
    alt="Five panels of weights for the words of one sentence: equal for the mean; "
    "lowest for 'the' and 'station' with TF-IDF; largest for train with max pooling; "
    "attention gives most weight to the word that asks.",
)
steep = [softmax(sharpness * x[:, 0]) @ x[:, 0] for sharpness in (0, 10, 100, 1000)]
print("feature 0, softmax of itself, sharper each time:", np.array(steep),
      " max:", x[:, 0].max().round(3))
print("feature 0, mean:                           ", x[:, 0].mean().round(3))

# %% [markdown]
# TF-IDF gives *station* little weight, because it is in all five texts. Attention gives it a lot, if *station* is the query.
#
# The lines below the figure show how they are related. A softmax of zeros gives the mean. Make it sharper and sharper, and it becomes the
# maximum. Attention is in between, and it is the only one whose weights change with the word that asks.
#
# ### Where do the vectors come from? (optional)
#
# One reason why the vectors of *train* and *station* are similar: the two words keep similar company. So let us make some vectors, from nothing but counting. The text
# is real: 8,470 sentences that describe functions of Python libraries. For each pair of the 600 most frequent words, count how often they occur at most four places apart in a sentence. Each row of this table says what company a word keeps.
#
# Frequent words such as *the* occur near everything, so raw counts say little. So divide each count by what chance would give, and take the
# logarithm. This is **pointwise mutual information** (PMI); negative values are set to 0 here. Then keep the 64 strongest directions of the
# table, which a *singular value decomposition* (SVD) finds. Now each word has 64 numbers. They are made once, from all sentences together, and are the same in every sentence.

# %% tags=["skip-grading"]
import re
from collections import Counter

from course_utils.data.documentation import load_documentation

documents = [re.findall("[a-z]+", each.text.lower()) for each in load_documentation()]
every_word = [word for text in documents for word in text]
frequent = [word for word, _ in Counter(every_word).most_common(600)]
place_of = {word: place for place, word in enumerate(frequent)}


def meetings(texts: list[list[str]]) -> np.ndarray:
    """How often two words stand at most four places apart, (600, 600)."""
    counts = np.zeros((600, 600))
    for text in texts:
        places = [place_of.get(word, -1) for word in text]
        for gap in range(1, 5):
            for one, other in zip(places, places[gap:], strict=False):
                if one >= 0 and other >= 0:
                    counts[one, other] += 1
    return counts + counts.T


def positive_pmi(counts: np.ndarray) -> np.ndarray:
    """The logarithm of how much more often than by chance; 0 where it is less often."""
    share = counts / counts.sum()
    alone = share.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(share / (alone * alone.T)), 0)

# %% tags=["skip-grading"]
def strongest(square: np.ndarray, size: int = 64) -> np.ndarray:
    """A vector of this size for each row, (600, size)."""
    left, strength, _ = np.linalg.svd(square)
    return left[:, :size] * np.sqrt(strength[:size])


def cosines(vectors: np.ndarray) -> np.ndarray:
    """How similar each word is to each other one; a word itself comes last."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit @ unit.T - 9 * np.eye(len(unit))


counts = meetings(documents)
made = strongest(positive_pmi(counts))
similar = cosines(made)
rows = []
for word in ("matrix", "node", "file", "tokens", "true"):
    nearest = (-similar[place_of[word]]).argsort()[:5]
    rows.append([word, ", ".join(frequent[other] for other in nearest)])
show_table(["word", "the five nearest of 599"], rows)

# %% [markdown]
# Is that good, or did we choose five nice words? Here is a test with nothing chosen by eye. Take all words that also occur with an *s* at the end: *node* and
# *nodes*, *return* and *returns*. How often is one of the two among the five nearest words of the other? The vectors do not know how a word is
# spelled. By chance it would be 5 of 599, which is 0.8 %.

# %% tags=["skip-grading"]
pairs = [(place_of[word], place_of[word + "s"]) for word in frequent
         if len(word) > 2 and word + "s" in place_of]
pairs += [(other, one) for one, other in pairs]


def partners_in(close: np.ndarray) -> str:
    """The share of words whose partner is among their five nearest, from a table of
    how near each word is to each other one."""
    return f"{np.mean([(close[a] > close[a, b]).sum() < 5 for a, b in pairs]):.0%}"


def partners_near(vectors: np.ndarray) -> str:
    return partners_in(cosines(vectors))


def shuffled_text(seed: int) -> list[list[str]]:
    """The same words and lengths of sentences, all words in a random order."""
    mixed = np.random.default_rng(seed).permutation(every_word)
    ends = np.cumsum([len(text) for text in documents])[:-1]
    return [list(part) for part in np.split(mixed, ends)]

# %% tags=["skip-grading"]
drawn = [np.random.default_rng(seed).standard_normal((600, 64)) for seed in range(3)]
shuffled = [meetings(shuffled_text(seed)) for seed in range(3)]
mixed = [strongest(positive_pmi(table)) for table in shuffled]
often = np.log(counts.sum(axis=1))
as_frequent = -np.abs(often - often[:, None]) - 9 * np.eye(600)
show_table([f"partner among the five nearest, {len(pairs)} words", ""], [
    ["PMI, the 64 strongest directions", partners_near(made)],
    ["PMI, whole rows of 600 numbers", partners_near(positive_pmi(counts))],
    ["counts, the 64 strongest directions", partners_near(strongest(counts))],
    ["counts, whole rows", partners_near(counts)],
    ["log(1 + count), whole rows", partners_near(np.log1p(counts))],
    ["PMI of the shuffled text, three times", "  ".join(map(partners_near, mixed))],
    ["no vectors: words that are as frequent", partners_in(as_frequent)],
    ["random vectors, three times", "  ".join(map(partners_near, drawn))],
])

# %% [markdown]
# What counts is which words stand together: if the text is shuffled, the same words give next to nothing. And PMI finds far more than raw counts. Much of that is
# due to the logarithm: with whole rows, log(1 + count) alone finds about four fifths as many. With 64 numbers a word finds nearly as many of the 134
# partners as with its whole row. And with a vocabulary of 30,000 words, a whole row would be 30,000 numbers long.
#
# Two methods made word vectors famous, and both start from the same co-occurrences. **GloVe** ([Pennington et al.
# 2014](https://aclanthology.org/D14-1162/)) counts them in up to 42 billion words, and looks for vectors whose products give the logarithms of the
# counts. **word2vec** ([Mikolov et al. 2013](https://arxiv.org/abs/1310.4546)) never writes the table. Each word gets two vectors, one as a word and
# one as a neighbour, both random at first. Then the method reads the text and learns to tell real neighbours from words drawn at random. The product
# of the two vectors should be large for a real pair, and small for each of five drawn ones. This is a *skip-gram with negative sampling*. The authors trained
# theirs on a billion words of news. Our text has 86,000 words, and training takes seconds:

# %% tags=["skip-grading"]
def some_pairs(
    met: torch.Tensor, frequency: torch.Tensor, batch: int
) -> list[torch.Tensor]:
    """Real and made-up pairs: how often each came, two tables (600, 600).

    met: every meeting of the text, as 600 * word + neighbour."""
    real = met[torch.randint(len(met), (batch,))]
    # the same words, each with five others instead of its neighbour
    others = frequency.multinomial(5 * batch, replacement=True)
    made_up = real.repeat(5) // 600 * 600 + others
    return [torch.bincount(each, minlength=360_000).view(600, 600)
            for each in (real, made_up)]


# %% tags=["skip-grading"]
@one_core()
def skip_gram(
    counts: np.ndarray, seed: int, steps: int = 100, batch: int = 20_000
) -> tuple[np.ndarray, np.ndarray]:
    """A vector for each word, (600, 64), and its products with the vectors of the
    neighbours, (600, 600)."""
    torch.manual_seed(seed)
    often = counts[counts > 0].astype(int)
    met = torch.tensor(np.repeat(np.flatnonzero(counts), often))
    frequency = torch.tensor(counts.sum(axis=0)) ** 0.75
    word, beside = (nn.Parameter(0.1 * torch.randn(600, 64)) for _ in range(2))
    optimizer = torch.optim.Adam([word, beside], lr=0.05)
    for _ in range(steps):
        real, made_up = some_pairs(met, frequency, batch)
        fits = word @ beside.T
        loss = -(real * nn.functional.logsigmoid(fits)
                 + made_up * nn.functional.logsigmoid(-fits)).sum() / batch
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return word.detach().numpy(), (word @ beside.T).detach().numpy()

# %% tags=["skip-grading"]
learned = [skip_gram(counts, seed) for seed in range(3)]
ways = {"counted: PMI": similar, "learned: skip-gram": cosines(learned[0][0]),
        "random vectors": cosines(drawn[0])}
show_table(["the three nearest", *ways], [
    [word, *(", ".join(frequent[other] for other in row.argsort()[:-4:-1])
             for row in (near[place_of[word]] for near in ways.values()))]
    for word in ("matrix", "node", "file", "tokens", "true")
])


def trainings(name: str, found: list[tuple[np.ndarray, np.ndarray]]) -> list[str]:
    """The same test, and how the products go along with the PMI, of some trainings."""
    alone, met = counts.sum(axis=1), counts > 0
    pmi = np.log(counts[met] / np.outer(alone, alone)[met])
    alike = [np.corrcoef(products[met], pmi)[0, 1] for _, products in found]
    return [name, "  ".join(partners_near(vectors) for vectors, _ in found),
            "  ".join(f"{each:z.2f}" for each in alike)]


show_table(["three training runs", "partner among the five nearest",
            "products and PMI"], [
    trainings("skip-gram", learned),
    trainings("before training",
              [skip_gram(counts, seed, steps=0) for seed in range(3)]),
    trainings("shuffled text",
              [skip_gram(table, seed) for seed, table in enumerate(shuffled)]),
])

# %% [markdown]
# So vectors can be learned from real and made-up neighbours alone. Here they find a little less than the counts do, and three training runs differ by
# ten points. That does not show that counting is better: with settings chosen as carefully for both, neither is ahead ([Levy, Goldberg & Dagan
# 2015](https://aclanthology.org/Q15-1016/)).
#
# The last column is about a theorem. If the vectors are long enough, the products converge to the PMI minus log 5, where 5 is the number of drawn words ([Levy & Goldberg
# 2014](https://papers.nips.cc/paper/2014/hash/feab05aa91085b7a8012516bc3533958-Abstract.html)). So word2vec factors the table that it never writes.
# After this short training the products are only on the way there: their correlation with the PMI is about 0.5. Before training it is 0, and on the shuffled text below 0.
#
# A Transformer counts nothing beforehand: its table starts with random numbers and is trained with everything else, as in lab 05.

# %% [markdown]
# ## 7. Third problem: waiting, and what it costs not to
#
# **A good place for a break.** The first part, *why attention*, is done. The second, *what it costs*, is sections 7 to 9; its core takes about ten
# minutes. If you go on another day, run the cell at the top first, *Continue here*.
#
# A recurrent network cannot start on word 5 before it has finished word 4, however many cores you have. A **convolution**
# can: it computes each position from the inputs around it, all positions at the same time. Take a kernel of width 3 that looks at a
# position and the two before it. Then no position waits for another. ByteNet ([Kalchbrenner et al. 2016](https://arxiv.org/abs/1610.10099)) and
# ConvS2S ([Gehring et al. 2017](https://arxiv.org/abs/1705.03122)) translated this way just before the Transformer appeared.
#
# The catch is the range. One layer sees three words. Two layers see five, three see seven. It takes a tall stack to connect the first and
# the last word of a long sentence. *Dilated* convolutions leave gaps, wider from layer to layer (1, 3, 9,
# ... for kernel 3), and reach further. And attention? The figure shows what feeds the last output, and in orange the shortest path to it
# from the first input, found by search:

# %% tags=["skip-grading"]
from course_utils.plots.sequences import ways_figure

kinds = ("recurrent", "convolutional", "dilated", "self-attention")
show_figure(
    ways_figure(kinds, n=10),
    alt="Four networks over 10 positions. Recurrent: one chain of 10 steps. "
    "Convolutional with kernel 3: a stack of 5 layers. Dilated: 3 layers. "
    "Self-attention: one step from every input.",
)

# %% [markdown]
# So recurrent networks wait. Convolutions do not wait, but each layer sees only a few neighbours. Attention does not wait, and every
# word is one step away. What does that cost? The optional rest of this section counts it, and section 8 measures it. The core path
# continues with section 9.
#
# ### Count it by hand (optional)
#
# Vaswani et al. ([2017](https://arxiv.org/abs/1706.03762), table 1) compare layers by three numbers.
#
# - *Operations* are the work: the multiplications in one layer.
# - *Sequential steps* are those that have to wait for each other inside one layer.
# - *Path length* is the number of steps on the orange path in the figure.
#
# Fill the table for n = 5 words of d = 4 features and kernel 3: replace the zeros with your numbers, on paper first. The
# first row shows how: five queries, each with five keys, each product with 4 multiplications; nothing waits; one step. (A recurrent
# layer's path counts its states, both ends included.) What counts as an operation, as in the paper:
#
# - *recurrent*: at each position, the old state times its (d, d) matrix; the word's own matrix is left out;
# - *convolutional* and *dilated*: three (d, d) matrices at every position, including the first ones, where part of the kernel lies before
#   the first word.
#
# Run the cell as often as you like.

# %% tags=["skip-grading"]
mine = {  # kind: (operations, sequential steps, path length)
    "self-attention": (5 * 5 * 4, 1, 1),
    "recurrent": (0, 0, 0),
    "convolutional": (0, 0, 0),
    "dilated": (0, 0, 0),
}

# %% [markdown]
# The collapsed cell runs each layer with a counter in its innermost loop, and searches for the path, as for the figure. Then it compares.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
from course_utils.plots.sequences import way_through


def counted(kind: str, n: int = 5, d: int = 4, kernel: int = 3) -> tuple[int, int, int]:
    """Multiplications, sequential steps and path length of one layer, by counting loops
    and by search."""
    operations = 0
    for _position in range(n):
        for _read in range({"self-attention": n, "recurrent": 1}.get(kind, kernel)):
            for _feature in range(d):
                # a dot product, or a (d, d) matrix
                for _output in range(1 if kind == "self-attention" else d):
                    operations += 1
    return operations, n if kind == "recurrent" else 1, len(way_through(kind, n)) - 1


def told_beside(
    yours: tuple[int, int, int], right_ones: tuple[int, int, int]
) -> list[str]:
    """Each of your numbers with a tick, or with "count again"."""
    return [f"{a} {'✓' if a == b else 'count again'}"
            for a, b in zip(yours, right_ones, strict=True)]


show_table(
    ["n = 5, d = 4, kernel 3", "operations", "sequential steps", "path length"],
    [[kind, *told_beside(numbers, counted(kind))] for kind, numbers in mine.items()],
)

# %% [markdown]
# ### Exercise 6: `layer_cost` (optional)
#
# Now turn your table into formulas in n, d and the kernel's width. The paper writes O(), which drops constants; you compute exact
# numbers, so the docstring says precisely what counts.

# %% nbgrader={"grade": false, "grade_id": "layer_cost", "locked": false, "schema_version": 3, "solution": true, "task": false}
def layer_cost(kind: str, n: int, d: int, kernel: int = 3) -> tuple[int, int, int]:
    """What a layer costs for n positions of d features, counted as in table 1 of
    Vaswani et al. 2017.

    Args:
        kind: "self-attention", "recurrent", "convolutional" or "dilated".
        n: number of positions, at least 1.
        d: number of features, of the input and of the output.
        kernel: width of a convolution, at least 2: a position sees itself and the
            kernel - 1 places before it. In a stack of "dilated" ones the layers see
            places that are 1, kernel, kernel**2, ... apart.

    Returns:
        Three whole numbers.
        operations: multiplications in one layer. Self-attention: those of the scores, a
            dot product for each pair of positions (the averaging costs the same again;
            O() hides that factor, and we leave it out). Recurrent: the state times its
            (d, d) matrix, at each position. Convolutional and dilated: at each
            position, one (d, d) matrix for each place of the kernel (places before the
            first word count too).
        sequential_steps: how many steps of one layer must wait for each other; 1 if
            none has to.
        path_length: of the way from the first input to the last output. Self-attention
            and convolutions: the number of layers to be stacked until the last output
            depends on the first input, at least 1. For a dilated stack that is the
            smallest L of at least 1 with kernel**L >= n. Recurrent: n, the number of
            states on the path, both ends included.

    Raises:
        ValueError: the kind is not one of the four; the message names it.
    """
    ### BEGIN SOLUTION
    if kind == "self-attention":
        return n * n * d, 1, 1
    if kind == "recurrent":
        return n * d * d, n, n
    if kind == "convolutional":
        return kernel * n * d * d, 1, max(1, -(-(n - 1) // (kernel - 1)))
    if kind == "dilated":
        layers = 1
        while kernel**layers < n:
            layers += 1
        return kernel * n * d * d, 1, layers
    raise ValueError(f"unknown kind of layer: {kind!r}")
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: how far does a stack of convolutions see?</summary>
#
# Count in the figure. One layer of kernel 3 reaches 2 places back, two layers 4, three layers 6. How far back is the first of
# n positions, seen from the last?
# </details>
# <details><summary>Hint 2: rounding up whole numbers</summary>
#
# Half a layer does not exist. `math.ceil(a / b)` rounds up. So does `-(-a // b)`, using only whole numbers.
# </details>
# <details><summary>Hint 3: the logarithm of a dilated stack</summary>
#
# A loop that multiplies by `kernel` until it is large enough needs no logarithm. If you use one, watch out for rounding:
# `math.log(125, 5)` is a hair above 3, and rounded up it is 4.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_layer_cost", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("why_attention.layer_cost")

# %% [markdown]
# Your formulas against the search that drew the figure, then as curves: how the work and the path grow from a sentence to a book.

# %% tags=["skip-grading"]
from course_utils.plots.sequences import costs_against_length

print("path lengths equal those of the search:", all(
    layer_cost(kind, n, 8)[2] == len(way_through(kind, n)) - 1
    for kind in kinds for n in range(1, 30)
))
grid = [2**power for power in range(3, 18)]
costs = {kind: np.array([layer_cost(kind, n, 512) for n in grid]) for kind in kinds}
show_figure(
    costs_against_length(grid, costs, d=512),
    alt="Two panels against length, both logarithmic, for 512 features. Operations: "
    "self-attention rises twice as steeply as the others and crosses the recurrent "
    "layer at n = 512. Path length: recurrent and convolutional rise with n, dilated "
    "slowly, self-attention stays at 1.",
)
for n, what in {30: "a sentence", 500: "a page", 100_000: "a book"}.items():
    show_table(
        [f"{what}, n = {n:,}", "operations", "sequential steps", "path length"],
        [[kind, *(f"{number:,}" for number in layer_cost(kind, n, 512))]
         for kind in kinds],
    )

# %% [markdown]
# For a sentence self-attention has the smallest numbers in all three columns. For a book it has by far the most operations. n²·d and n·d²
# are equal where n = d.
#
# These numbers correct two claims that you will come across. *"Attention takes logarithmic time"*: its path has length
# 1, and the logarithm belongs to dilated convolutions. The work grows with n². *"d is much larger than n, so attention is
# cheaper"*: for sentences, yes. For long texts it is the other way round.

# %% [markdown]
# ## 8. What the clock says (optional)
#
# Operations are one thing, time another: a core that waits does nothing. Now measure on **your** machine: a forward pass of PyTorch's RNN and LSTM,
# a convolution, and one attention product. Each has 64 features and gets one sentence at a time, from 16 words to 8192. By
# operations, attention and RNN cost the same at 64 words. And by the clock?

# %% tags=["skip-grading"]
predict("why_attention.clock")

# %% [markdown]
# The collapsed cell is the stopwatch.

# %% tags=["skip-grading"] jupyter={"source_hidden": true}
def milliseconds(work, *inputs) -> float:
    """The best of 3 to 50 runs, as many as fit into 0.3 seconds: the least disturbed
    one."""
    runs = []
    while len(runs) < 3 or (len(runs) < 50 and sum(runs) < 0.3):
        start = time.perf_counter()
        work(*inputs)
        runs.append(time.perf_counter() - start)
    return 1000 * min(runs)


@torch.no_grad()
def layer_times(
    lengths: list[int], batch: int = 1, d: int = 64
) -> dict[str, list[float]]:
    """Name of a layer -> milliseconds for each length."""
    rnn, lstm = nn.RNN(d, d, batch_first=True), nn.LSTM(d, d, batch_first=True)
    convolution = nn.Conv1d(d, d, kernel_size=3, padding=1)
    times = {"RNN": [], "LSTM": [], "convolution": [], "attention": []}
    for n in lengths:
        x = torch.randn(batch, n, d)
        # (batch, 1, n, d): PyTorch's function wants an axis for heads
        head = x[:, None]
        times["RNN"].append(milliseconds(rnn, x))
        times["LSTM"].append(milliseconds(lstm, x))
        times["convolution"].append(
            milliseconds(convolution, x.transpose(1, 2).contiguous()))
        times["attention"].append(milliseconds(
            nn.functional.scaled_dot_product_attention, head, head, head))
    return times

# %% [markdown]
# The two grey curves are n²·d and n·d², your `layer_cost`, each shifted so that it meets the measured time of the longest sequence: only
# their *slope* can be compared. The crossing is where attention becomes slower than the RNN, interpolated between the two nearest
# measurements.

# %% tags=["skip-grading"]
from course_utils.plots.sequences import times_against_length


def crossing(lengths: list[int], slower_at_first: list[float],
             faster_at_first: list[float]) -> float | None:
    """The last length at which two measured curves cross, between two measurements;
    None if they do not."""
    lead = np.log(slower_at_first) - np.log(faster_at_first)
    for i in reversed(range(1, len(lengths))):
        if lead[i - 1] > 0 >= lead[i]:
            part = lead[i - 1] / (lead[i - 1] - lead[i])
            return float(lengths[i - 1] ** (1 - part) * lengths[i] ** part)
    return None


lengths = [2**power for power in range(4, 14)]
layer_times(lengths[:2])  # a first run warms up
times = layer_times(lengths)
curves = {}
for law, kind, layer in [("n²·d", "self-attention", "attention"),
                         ("n·d²", "recurrent", "RNN")]:
    operations = np.array([layer_cost(kind, n, 64)[0] for n in lengths])
    curves[law] = operations * times[layer][-1] / operations[-1]
meeting = crossing(lengths, times["RNN"], times["attention"])
show_figure(
    times_against_length(lengths, times, curves, meeting),
    alt="Milliseconds against length, both logarithmic: RNN and LSTM rise in "
    "proportion to n; attention starts far below, follows n squared for long sequences "
    "and overtakes them; the convolution is fastest for those.",
)

# %% tags=["skip-grading"]
def told(place: float | None, longest: int) -> str:
    return (f"beyond n = {longest}" if place is None
            else f"near n = {place:.0f}, {place / 64:.1f} times d")


with_lstm = crossing(lengths, times["LSTM"], times["attention"])
print("by operations, attention and RNN are equal at n = d = 64")
print("by the clock, attention becomes slower than the RNN ",
      told(meeting, lengths[-1]))
print("by the clock, attention becomes slower than the LSTM",
      told(with_lstm, lengths[-1]))
share, more = (
    times["attention"][1] / times["RNN"][1], times["attention"][-1] / times["RNN"][-1]
)
print(f"32 words:    attention takes {share:.2f} of the RNN's time")
print(f"8,192 words: attention takes {more:.1f} times the RNN's time")
ratio = times["LSTM"][-1] / times["RNN"][-1]
print("an LSTM does 4 times the multiplications of an RNN; "
      f"here it takes {ratio:.1f} times as long")
fewer = lengths[:-3]
batches = layer_times(fewer, batch=16)
meeting_of_16 = crossing(fewer, batches["RNN"], batches["attention"])
print("16 sentences at a time: attention becomes slower than the RNN",
      told(meeting_of_16, fewer[-1]))
measured("why_attention.clock", shown=meeting is None or meeting > 128)

# %% [markdown]
# What to look for in your numbers:
#
# - The RNN's line has the slope of n·d² from the beginning: each extra word costs one more step of waiting. Attention's
#   has the slope of n²·d, but only for long sequences. Short ones cost next to nothing, because all their work is done at
#   once.
# - So the clock's crossing usually lies well beyond n = d, where counting operations would put it. The difference is the
#   price of waiting. The more a machine does in parallel, the further right the crossing tends to lie.
# - The RNN and the LSTM show it again: the ratio of their times is quite different from the ratio of their multiplications. A library that
#   computes an LSTM's products in advance can even make it the faster one.
# - With 16 sentences at a time each step of the RNN has more to do, and less time is wasted: the crossing moves.
#
# And an attention *product* is not a whole attention layer, which also has four projections of n·d² multiplications each (labs 02 and 03).
#
# Your own functions cross as well, though perhaps somewhere else: every library spends its time differently. Time `rnn_forward` and
# `attend`:

# %% tags=["skip-grading"]
rng = np.random.default_rng(3)
matrices = [rng.standard_normal((64, 64)) / 8 for _ in range(2)]
rows = []
for n in (16, 64, 256, 1024, 2048):
    x = rng.standard_normal((n, 64)) / 8
    recurrent = milliseconds(rnn_forward, x, *matrices, np.zeros(64))
    attention = milliseconds(attend, x, x, x)
    faster = "`attend`" if attention < recurrent else "`rnn_forward`"
    rows.append([f"{n}", f"{recurrent:.2f}", f"{attention:.2f}", faster])
show_table(["n", "`rnn_forward`, ms", "`attend`, ms", "faster"], rows)

# %% [markdown]
# ## 9. What you can say now
#
# | problem of the recurrent encoder-decoder | what you measured | how convolutions handle it | how attention handles it |
# |---|---|---|---|
# | one word after the other | n steps, each of which waits for the one before (by the clock: section 8, optional) | all positions at once | all positions at once |
# | one vector for everything | long sentences need far more practice, and a vector twice as wide helps little | nothing by themselves | looks at every state |
# | the gradient fades over distance | straight lines downwards | a path of about n / (kernel − 1) layers, or log n if they are dilated | a path of one step |
#
# The Transformer's own paper gives its reasons in one table (Vaswani et al. 2017, table 1; *n* words, *d* features, kernel *k*):
#
# | layer | operations | steps that wait | longest path | where you measure it |
# |---|---|---|---|---|
# | self-attention | n² · d | 1 | 1 | sections 2, 5 and 8 |
# | recurrent | n · d² | n | n | sections 2, 3 and 8 |
# | convolutional | k · n · d² | 1 | n / k, or logₖ n if dilated | sections 7 and 8 |
#
# The paper leaves out constant factors. So where it says n / k, exercise 6 counts about n / (k − 1).
#
# And four more claims that you can now correct:
#
# | you may read | what is true |
# |---|---|
# | "Transformers do not suffer from vanishing gradients." | The path between two *positions* no longer grows with their distance. The path through the *layers* still grows with depth. Residual connections and normalisation take care of that (lab 05). |
# | "A Transformer is a CNN plus attention." | It has no convolution. What it shares with a CNN is that all positions are computed at once. |
# | "Keys and values are the same." | In `reweight` and in the translator of this lab, yes. From lab 02 on they come from the same source but have separate projections. |
# | "Attention weights explain the decision." | They show where a layer looked. Think of the rows *the* and *and*. |
#
# **Discuss with a neighbour,** or write two sentences. You want to summarise books of 100,000 words on a laptop. Which of this lab's ways
# to read would you take, and what would you give up?
#
# ### What came after (optional)
#
# The Transformer kept attention, and dropped recurrence and convolution. Its price, n²·d, has kept people
# busy ever since. Many of the answers bring back something older.

# %% tags=["skip-grading"]
from course_utils.plots.recurrent import time_line

time_line()

# %% [markdown]
# The line returns to where it began. *Reformer* looks only at keys that a hash puts near the query. *Linear attention* leaves out the softmax, and
# then attention can be computed like a recurrent network, with a state of fixed size. *Mamba* uses such a state again. It is trained in parallel,
# with gates that depend on the word, as in the GRU. And the old question is back as well: how much fits into one state?
#
# **Sparse attention** keeps the softmax but scores fewer pairs. In *Longformer* ([Beltagy et al. 2020](https://arxiv.org/abs/2004.05150)) each word looks
# at its neighbours, and a few chosen words look at all others and are seen by all. In *BigBird* ([Zaheer et al. 2020](https://arxiv.org/abs/2007.14062)) each word
# also looks at some random words. What does this save, and what does it cost? Take 4,096 words. In one layer, a word hears of those that it looks at, and of all that these
# have already heard of. How many layers does it take until the last word has heard of the second?

# %% tags=["skip-grading"]
def layers_until_heard(sees: np.ndarray) -> int:
    """sees: (n, n), True where a query looks at a key. Layers from the second word to
    the last."""
    new, layers = np.arange(len(sees)) == 1, 0
    heard = new.copy()
    while not heard[-1]:
        new, layers = sees[:, new].any(axis=1) & ~heard, layers + 1
        heard |= new
    return layers


n, reach = 4096, 32
near = abs(np.arange(n)[:, None] - np.arange(n)) <= reach
with_first = near.copy()
with_first[0] = with_first[:, 0] = True  # the first word sees all, and all see it
drawn = np.eye(n, dtype=bool)
drawn[np.arange(n)[:, None], np.random.default_rng(0).integers(n, size=(n, 64))] = True
ways = {"all words": np.ones((n, n), dtype=bool),
        "32 neighbours on each side": near,
        "the same, and the first word": with_first,
        "itself and 64 words at random": drawn}
show_table(
    ["each word looks at", "pairs", "of all", "layers"],
    [[name, f"{sees.sum():,}", f"{sees.mean():.1%}", f"{layers_until_heard(sees)}"]
     for name, sees in ways.items()])

# %% [markdown]
# A window needs 1.6 % of the pairs, and 128 layers: its path is as long as that of a convolution of width 65. One word that everybody sees makes it two layers. But
# then everything that goes far has to fit into the numbers of this one word, and you know that problem from section 3. With random words it takes two
# layers as well, but no word chose them because it needs them.
#
# ## Common mistakes, by their symptom
#
# | what you see | likely cause |
# |---|---|
# | `NameError: name 'np' is not defined` | the kernel was restarted; run the cells above first (menu Run, Run All Above Selected Cell) |
# | each state depends on its own word only | the new state is not passed to the next step |
# | right for one sentence, wrong or an error for a batch | a loop over the first axis, `.T`, or new axes counted from the front |
# | one state too many, or all states one step late | the state before the first word is stored |
# | `operands could not be broadcast together` | queries and keys added without a new axis each |
# | every query gets the same weights | no tanh in the additive score |
# | `matmul: Input operand 1 has a mismatch` | the keys are not transposed, or `w` is on the wrong side |
# | columns sum to 1, rows do not | softmax over the queries |
# | contexts far outside the range of the values | raw scores as weights |
# | NaN | exp of a large score, without subtracting the maximum |
# | `reweight` gives back x | the sum runs over the wrong word: $x_i$ instead of $x_j$ |
# | one layer too few, or path 0 | rounded down, or n = 1 forgotten |
#
# ## Review quiz

# %% tags=["skip-grading"]
from course_utils import quiz

quiz("why_attention")

# %% [markdown]
# ## Going further
#
# - **Room after all?** Give `Translator` a vector of 128 numbers *and* 4000 steps. Does it beat 64 numbers and 4000 steps? Look at 19 words.
# - **Other scores.** Replace the additive score of `LookingTranslator` with Luong's *general*. Does it learn faster? Does the alignment
#   look different?
# - **Order, cheaply.** Add each word's position to one of its features before `reweight`. What happens to *train* and
#   *station* when you move them apart? Lab 04 does it properly.
# - **Where is the crossing?** Change `d` and `batch` in `layer_times`. Which of the two moves it more?
# - Two short papers, whose main formulas you have built: Bahdanau, Cho and Bengio (2015), [*Neural machine translation by jointly learning to align
#   and translate*](https://arxiv.org/abs/1409.0473). Luong, Pham and Manning (2015), [*Effective approaches to attention-based neural machine
#   translation*](https://arxiv.org/abs/1508.04025).
# - Cho, van Merriënboer, Bahdanau and Bengio (2014), [*On the properties of neural machine
#   translation*](https://arxiv.org/abs/1409.1259), shows the drop with length that you measured.
#
# Save the notebook. If your course uses nbgrader, press **Validate**, then submit it.
