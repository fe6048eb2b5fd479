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
# # Lab 13: from text to text
#
# Every model that you have built so far got numbers for words. Who decides what a word is? Here you write the answer that GPT-2
# and most models since have given: a tokenizer that is *learned* from text and that can write anything.
#
# **After this lab you can**
#
# - learn a vocabulary by byte-pair encoding, and cut any text with it;
# - measure what a vocabulary does to numbers, names, accents and code.
#
# **You need** lab 05. **Time:** about 55 minutes for you; the computer needs {measured_seconds} seconds for the whole notebook on two
# cores.
#
# | # | exercise | difficulty | importance | minutes | points |
# |---|---|---|---|---|---|
# | 1 | `pair_counts` | ●●○○○ | ●●●●● | 5 | 2 |
# | 2 | `merge` | ●●○○○ | ●●●●● | 6 | 3 |
# | 3 | `encode` | ●●●○○ | ●●●●● | 7 | 3 |
# | 4 | `decode` | ●○○○○ | ●●●○○ | 3 | 2 |

# %%
import itertools
from collections import Counter

from course_utils.data.byte_pairs import (
    BytePairs, count_words, single_bytes, split_words, vocabulary_of)

# %% tags=["skip-grading"]
from course_utils.display import show_table
from course_utils.plots import show_figure
from course_utils.plots.text_to_text import token_text
from course_utils.widgets.predict import measured, predict

# %% [markdown]
# ## 1. What is a word?
#
# Lab 05 gave every word a number. A word that was not on its list became `<unk>`, and nobody could tell what it had been. Lab 08 gave
# every letter a number. Then nothing is unknown, but a name of eight letters takes eight steps to write.
#
# **Byte-pair encoding** ([Sennrich et al. 2016](https://arxiv.org/abs/1508.07909)) is between the two. Begin with single characters. Find the
# two neighbours that stand side by side most often, and make them one new token. Do it again, and again. Frequent words become one token,
# rare words stay in pieces, and nothing is ever unknown.
#
# GPT-2 ([Radford et al. 2019](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf)) begins
# with the 256 **bytes** instead of characters. Any text in any script is bytes. In UTF-8 a plain letter is one byte, *é* is two, and an emoji is four:

# %% tags=["skip-grading"]
for letter in ("e", "é", "€", "😀"):
    print(letter, list(letter.encode()))

# %% [markdown]
# A text is cut into words first, and no token reaches over the end of a word. A word takes the space before it along. So *cat* at the
# beginning of a text and *cat* after a space are different words:

# %% tags=["skip-grading"]
print(split_words("Jane's cat sleeps, the cat of 2026."))

# %% [markdown]
# We learn from French sentences of lab 05 and their translations. A text needs no order for this: count each different word once. A word is a tuple of tokens, and a token is of
# Python's type `bytes`. At first each token is a single byte.

# %% tags=["skip-grading"]
from course_utils.data.translation import translation_pairs
import itertools

pairs = translation_pairs(3_000, seed=13)
texts = [text for pair in pairs for text in pair]
words = count_words(texts)
print(f"{len(texts):,} sentences, {len(words):,} different words")
for word, count in sorted(words.items(), key=lambda item: -item[1])[:3]:
    print(count, word)

# %% [markdown]
# ## 2. Count, merge, repeat
#
# ### Exercise 1: `pair_counts`
#
# How often does each pair of neighbours stand in the text? A word that occurs 40 times counts its pairs 40 times:
#
# | word | times | pairs |
# |---|---|---|
# | `l o w` | 5 | `l o` 5, `o w` 5 |
# | `s l o w` | 2 | `s l` 2, `l o` 2, `o w` 2 |
# | together | | `l o` 7, `o w` 7, `s l` 2 |

# %% nbgrader={"grade": false, "grade_id": "pair_counts", "locked": false, "schema_version": 3, "solution": true, "task": false}
def pair_counts(words: dict[tuple[bytes, ...], int]) -> dict[tuple[bytes, bytes], int]:
    """How often two tokens are neighbours in a text.

    Args:
        words: each different word as a tuple of tokens, and how often it occurs.

    Returns:
        (left token, right token) -> how often they stand side by side, in this order,
        in the whole text. In `a a a` the pair `a a` stands twice. Pairs that never
        occur are not in it.
    """
    ### BEGIN SOLUTION
    counts = Counter()
    for word, count in words.items():
        for left, right in itertools.pairwise(word):
            counts[left, right] += count
    return dict(counts)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: what are the neighbours in a word?</summary>
#
# A word of n tokens has n - 1 pairs of neighbours: each token but the last one, with the one after it. `itertools.pairwise` gives all of them.
# </details>
# <details><summary>Hint 2: my numbers are too small</summary>
#
# Is each word counted once, or as often as it occurs? And if a pair stands twice in a word?
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_pair_counts", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("text_to_text.pair_counts")

# %% [markdown]
# Which pairs of French and English are the most frequent?

# %% tags=["skip-grading"]
counts = pair_counts(words)
for pair in sorted(counts, key=counts.get, reverse=True)[:6]:
    print(f"{counts[pair]:6,}  {token_text(pair[0])} {token_text(pair[1])}")

# %% [markdown]
# ### Exercise 2: `merge`
#
# Now the pair becomes one token, wherever it stands in a word. Go from left to right. What has been merged is used up: `a a a` with the pair `a a` becomes `aa a`.

# %% nbgrader={"grade": false, "grade_id": "merge", "locked": false, "schema_version": 3, "solution": true, "task": false}
def merge(word: tuple[bytes, ...], pair: tuple[bytes, bytes]) -> tuple[bytes, ...]:
    """The word with one token wherever the two tokens of the pair are neighbours.

    Args:
        word: tokens.
        pair: two tokens. What counts is whether the *tokens* are these, not their
            letters together: `a bc` is not the pair `ab c`.

    Returns:
        A tuple of tokens: the same bytes in the same order. Pairs are found from left
        to right, and no token is used twice.
    """
    ### BEGIN SOLUTION
    merged, place = [], 0
    while place < len(word):
        if word[place : place + 2] == pair:
            merged.append(pair[0] + pair[1])
            place += 2
        else:
            merged.append(word[place])
            place += 1
    return tuple(merged)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: why is a `for` loop over the places awkward?</summary>
#
# After a pair has been merged, you go on two places further, and otherwise one. A `while` loop with a place of its own can do both.
# </details>
# <details><summary>Hint 2: a token is missing, or stands there twice</summary>
#
# Take `x a b y` and the pair `a b`, and write down the place and the result after each round. How far does the place move in each case? And is the last token looked at?
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_merge", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("text_to_text.merge")

# %% [markdown]
# With your two functions, learning is five lines: count, take the most frequent pair, merge it in every word, and write the pair down. If two
# pairs are equally frequent, the one whose tokens have the smaller numbers is taken. Nothing depends on that rule, but it makes the result the
# same every time.

# %% tags=["skip-grading"]
def learn_merges(words: dict, number: int) -> list[tuple[bytes, bytes]]:
    """The first merges of byte-pair encoding."""
    merges = []
    for _ in range(number):
        rank = {token: place for place, token in enumerate(vocabulary_of(merges))}
        counts = pair_counts(words)
        if not counts:
            break
        best = min(counts, key=lambda pair: (
            -counts[pair], rank[pair[0]], rank[pair[1]]))
        words = {merge(word, best): count for word, count in words.items()}
        merges.append(best)
    return merges


merges = learn_merges(words, 300)
print(", ".join(token_text(left + right) for left, right in merges[:24]))
print("...", ", ".join(token_text(left + right) for left, right in merges[-12:]))

# %% [markdown]
# Read the list as the story of a text: first the pieces of frequent words, at last whole words, in both languages. Nobody said which language is which.
#
# The package `tokenizers` does the same in Rust, for all of today's models. Does it learn *your* merges, in your order?

# %% tags=["skip-grading"]
from course_utils.data.byte_pairs import library_merges

theirs = library_merges(texts, 300)
same = sum(mine == other for mine, other in zip(merges, theirs, strict=True))
print(f"{same} of {len(theirs)} merges are the same, one by one")

# %% [markdown]
# Here is how a word comes together. Each row is one merge of the list that finds something in it:

# %% tags=["skip-grading"]
from course_utils.plots.text_to_text import show_merges

word = single_bytes(" septembre")
steps = [(None, word)]
for pair in merges:
    after = merge(word, pair)
    if after != word:
        steps.append((pair, after))
    word = after
show_merges(steps)

# %% [markdown]
# ## 3. Any text, and back
#
# ### Exercise 3: `encode`
#
# To cut a *new* text, do what learning did, in the same order: split it into words, begin with single bytes, and apply one merge after the other. No counting any
# more: the list of merges is all that has been learned. Then look up the number of each token. The **vocabulary** has the 256 single bytes and then one token for
# each merge; `vocabulary_of(merges)` lists it, and a token's **id** is its place there.

# %% nbgrader={"grade": false, "grade_id": "encode", "locked": false, "schema_version": 3, "solution": true, "task": false}
def encode(text: str, merges: list[tuple[bytes, bytes]]) -> list[int]:
    """The ids of a text's tokens, without the package `tokenizers`.

    Args:
        text: any text. `split_words(text)` gives its words, `single_bytes(word)` the
            bytes of a word.
        merges: pairs in the order in which they were learned.

    Returns:
        For each token its place in `vocabulary_of(merges)`. A list of int.
    """
    ### BEGIN SOLUTION
    id_of = {token: number for number, token in enumerate(vocabulary_of(merges))}
    ids = []
    for piece in split_words(text):
        word = single_bytes(piece)
        for pair in merges:
            word = merge(word, pair)
        ids.extend(id_of[token] for token in word)
    return ids
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: in which order?</summary>
#
# A later merge is often made of tokens of an earlier one. So the first merge is applied first, everywhere in the word, and only then the second one.
# </details>
# <details><summary>Hint 2: a token is not in the vocabulary, or the ids are wrong</summary>
#
# The ids of single bytes are not the bytes' values: GPT-2 puts those that print first. Look each token up in the list that `vocabulary_of` gives, single bytes and merged ones
# alike.
# </details>
# <details><summary>Hint 3: merges reach over the end of a word</summary>
#
# Apply the merges to each word alone, and put only the ids together.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_encode", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("text_to_text.encode")

# %% [markdown]
# ### Exercise 4: `decode`
#
# The way back is shorter: look up the bytes of each id, put them together, and read them as UTF-8. A model may write half a letter, since *é* can be two tokens. What
# is no text becomes the sign `�` then.

# %% nbgrader={"grade": false, "grade_id": "decode", "locked": false, "schema_version": 3, "solution": true, "task": false}
def decode(ids: list[int], merges: list[tuple[bytes, bytes]]) -> str:
    """The text of ids: the way back from `encode`.

    Args:
        ids: places in `vocabulary_of(merges)`, perhaps none.

    Returns:
        The text. Bytes that are no UTF-8 become U+FFFD, as `bytes.decode` does it with
        errors="replace".
    """
    ### BEGIN SOLUTION
    vocabulary = vocabulary_of(merges)
    return b"".join(vocabulary[number] for number in ids).decode(errors="replace")
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: accents come back as `��`</summary>
#
# A single byte of *é* is no text. First put the bytes of all tokens together, and then decode once.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_decode", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("text_to_text.decode")

# %% [markdown]
# Whatever you type comes back, even what the tokenizer has never seen. Try a text of your own:

# %% tags=["skip-grading"]
for text in ("Jane visite l'Afrique en septembre", "Zürich, 東京, 😀", "x[i] += 1"):
    ids = encode(text, merges)
    tokens = [token_text(vocabulary_of(merges)[number]) for number in ids]
    print(f"{len(text):2} characters, {len(ids):2} tokens: {' | '.join(tokens)}")
    assert decode(ids, merges) == text

# %% [markdown]
# ## 4. What a vocabulary does
#
# More merges make shorter texts: fewer steps to write, fewer places to attend to. They also need a larger table of embeddings, and a rare token gets little training. How much does
# size buy? Measure it on three kinds of text that were not used for learning: more of the same sentences, prose of Python documentation, and code.

# %% tags=["skip-grading"]
predict("text_to_text.vocabulary")

# %% tags=["skip-grading"]
from course_utils.data.descriptions import load_descriptions
from course_utils.plots.text_to_text import compression_curves

kinds = {
    "new sentences of the same kind":
        [text for pair in translation_pairs(3_400, seed=14)[3_000:] for text in pair],
    "English of NumPy's documentation": [one.text for one in load_descriptions()],
}
many, curves = library_merges(texts, 2_000), {}
for name, some in kinds.items():
    curves[name] = {}
    for number in (0, 50, 100, 200, 400, 800, 1_600):
        tokens = BytePairs(many[:number])
        total = sum(len(tokens.encode(text)) for text in some)
        curves[name][len(tokens)] = sum(map(len, some)) / total
show_figure(
    compression_curves(curves),
    alt="Two rising lines. Characters for each token against the size of the "
    "vocabulary: steep at first, then flat. On documentation the line stays lower.",
)
for name, points in curves.items():
    print(name, {size: f"{value:.2f}" for size, value in points.items()})
measured("text_to_text.vocabulary")

# %% [markdown]
# The first merges buy most. Twice the vocabulary is never half the length. And what was learned from one kind of text is of less use for another: a vocabulary knows
# what it was learned from.
#
# SmolLM2 of lab 08 has 49,152 tokens, learned from English web pages and code. The same method, so the same list of merges, only longer. How does it cut what is *not* English?

# %% tags=["skip-grading"]
predict("text_to_text.septembre")

# %% tags=["skip-grading"]
from course_utils.models import smollm

SAMPLES = {
    "English word": " September", "French word": " septembre",
    "accents": " été à Orléans", "number": " 1234567", "name": " Nkechinyere",
    "code": "for i in range(10):",
    "Japanese": "東京",
}
if smollm.is_installed():
    large, rows = smollm.load_tokenizer(), []
    for name, text in SAMPLES.items():
        cut = [large.decode([number]).replace(" ", "␣")
               for number in large.encode(text).ids]
        own = [token_text(vocabulary_of(merges)[number])
               for number in encode(text, merges)]
        rows.append([name, " | ".join(cut), str(len(cut)), str(len(own))])
    show_table(["", "SmolLM2 cuts it into", "tokens", "with your 300 merges"], rows)
    measured("text_to_text.septembre")
else:
    print("SmolLM2 is not installed; lab 08 says how to get it.")

# %% [markdown]
# ## Common mistakes, by their symptom
#
# | what you see | likely cause |
# |---|---|
# | accents come back as `��` | each token is decoded alone |
# | a token is not in the vocabulary | merges applied in another order than they were learned |
# | the merges differ from the package's after a while | another rule for ties, or words not counted as often as they occur |
#
# ## Review quiz

# %% tags=["skip-grading"]
from course_utils import quiz

quiz("text_to_text")

# %% [markdown]
# ## Going further
#
# - Learn merges from a language that you speak, and compare the lengths of a text and of its translation. Who pays more for the same sentence?
# - Sennrich et al. (2016), [*Neural machine translation of rare words with subword units*](https://arxiv.org/abs/1508.07909).
#
# Save the notebook. If your course uses nbgrader, press **Validate**, then submit it.
