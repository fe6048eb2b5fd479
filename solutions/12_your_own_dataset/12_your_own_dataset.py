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
# # Lab 12: your own data set
#
# You have a few hundred texts, somebody has labelled them in a spreadsheet, and you are to build a model. So far in this course the data were
# ready and the question was how the model works. Now the model is ready, and the question is everything else. Is the file sound? Is the test
# honest? How many labels are enough? Does the large model beat the small one, or was it luck? Can its probabilities be trusted? And how do you
# hand it to somebody else?
#
# You bring a file, or take the one that is here. You climb a **ladder** of five models, from one that learns next to nothing to one that trains
# ten million numbers, and measure at each rung what you gained.
#
# **After this lab you can**
#
# - find the faults of a data set, with row and column, before a model learns them;
# - split by group so that every class is tested and nothing leaks;
# - use a pretrained encoder frozen, with LoRA, and fine-tuned, and say which one is worth its price;
# - say how sure a comparison is, and how sure a model should be: bootstrap, calibration, temperature;
# - do the same with the tools that people use at work: `datasets`, `Trainer`, `peft`, a model card.
#
# **You need** lab 03 (what an encoder is made of) and lab 07 (splits, calibration); some PyTorch. **Time:** about 90 minutes for you; the
# computer needs {measured_seconds} seconds for the whole notebook on two cores. Without the optional parts (◇) you need about 60.
#
# | # | exercise | difficulty | importance | minutes | points |
# |---|---|---|---|---|---|
# | 1 | `validate_rows` | ●●●○○ | ●●●●● | 12 | 3 |
# | 2 | `find_leaks` | ●●○○○ | ●●●●● | 8 | 2 |
# | 3 | `split_by_group` | ●●●○○ | ●●●●● | 8 | 3 |
# | 4 | `embed` | ●●●○○ | ●●●●● | 9 | 3 |
# | 5 | `learning_curve` | ●●○○○ | ●●●●○ | 7 | 2 |
# | 6 | `LoRALinear` | ●●●○○ | ●●●●● | 10 | 4 |
# | 7 | `bootstrap_interval` | ●●○○○ | ●●●●● | 6 | 2 |
# | 8 | `calibration_error` | ●●○○○ | ●●○○○ | 6 | 2 |
# | 9 | `best_temperature` | ●●○○○ | ●●●○○ | 5 | 2 |
# | 10 | `model_card` | ●●○○○ | ●●○○○ | 8 | 2 |
# | 11 | `predictions` | ●○○○○ | ●●●●○ | 3 | 4 |
#
# At the end you write a short **report** (4 points), which a person grades.

# %%
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from course_utils.data.own import COLUMNS, LIBRARIES, Row

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## 1. A file
#
# One row is one example. Besides its text it has a **group**: whatever its examples have in common, such as an author, a customer, a day. There are
# three tasks, with three kinds of rows:

# %% tags=["skip-grading"]
from course_utils.data.own import default_rows, read_rows, write_rows

for task, columns in COLUMNS.items():
    rows = default_rows(task)
    print(f"{task}: {len(rows)} rows in {len({row['group'] for row in rows})} groups")
    for column in columns:
        print(f"    {column:9} {str(rows[7][column])[:90]!r}")

# %% [markdown]
# `COLUMNS` says which columns a task has, and the type of each. A span is `[start, end, label]`, counted in characters, with `end` exclusive; `start`
# is where the answer begins in its context.
#
# The default set for classification is real text: the first sentences of docstrings, with the names of the libraries masked. Which of six
# libraries does a sentence come from? Its group is the module. **To use your own file**, put its path here. It may be CSV with a header, or
# JSON lines with one object on each line. (The ladder below classifies. With entities or questions, do sections 1 and 2 with your file, and
# take the model from lab 09 or 10.)

# %% tags=["skip-grading"]
import tempfile

FILE, TASK = None, "classification"  # for example: FILE, TASK = "tickets.csv", "classification"

folder = Path(tempfile.mkdtemp())
if FILE is None:
    FILE = folder / "sentences.csv"
    write_rows(FILE, default_rows("classification"))
rows = read_rows(FILE)
print(Path(FILE).read_text("utf-8")[:230])
print(len(rows), "rows; labels:", dict(Counter(str(row.get("label")) for row in rows).most_common(12)))

# %% [markdown]
# ### Exercise 1: `validate_rows`
#
# Files that people have typed have faults, and a model learns from them without complaint. A **fault** has a place: a row, counted from 1, and a
# column. There are two kinds of faults.
#
# 1. *The value itself.* The column is missing in the row; or its value is not of the type in `COLUMNS`; or it is a text with nothing but white space.
# 2. *Columns that do not fit each other*, in rows whose columns are all right by themselves. A span must satisfy 0 ≤ start < end ≤ length of the
#    text, or the fault is in `spans`. The answer must stand in the context exactly at `start`, which is not negative, or the fault is in `start`.
#
# An empty list of spans is no fault: a text may have no entities. Here is one row with two faults, and one with a fault that only shows when two
# columns are compared:

# %%
bad = [{"group": "", "text": "a short text", "label": 4},
       {"group": "g", "context": "It rained in May.", "question": "When?", "answer": "May", "start": 12}]
print("row 1: `group` is blank, and `label` is no text:", [(1, "group"), (1, "label")])
print("row 2: at 12 the context has", repr(bad[1]["context"][12:15]), "and not", repr(bad[1]["answer"]) + ":", [(2, "start")])

# %% nbgrader={"grade": false, "grade_id": "validate_rows", "locked": false, "schema_version": 3, "solution": true, "task": false}
def validate_rows(rows: list[Row], task: str) -> list[tuple[int, str]]:
    """The place of every fault, in the order of the file and of COLUMNS[task].

    Args:
        rows: dicts, column -> value; whatever a file may contain.
        task: a key of COLUMNS, which gives each column's type.

    Returns:
        (row, column) of each fault: rows are counted from 1; each place is there once.
    """
    faults = []
    for number, row in enumerate(rows, start=1):
        # 1. Columns whose own value is missing, of another type, or blank.
        ### BEGIN SOLUTION
        wrong = []
        for column, kind in COLUMNS[task].items():
            value = row.get(column)
            if not isinstance(value, kind) or (kind is str and not value.strip()):
                wrong.append(column)
        faults += [(number, column) for column in wrong]
        ### END SOLUTION
        # 2. If there are none: columns that do not fit each other.
        ### BEGIN SOLUTION
        if wrong:
            continue
        if task == "entities":
            size = len(row["text"])
            if any(not 0 <= start < end <= size for start, end, _ in row["spans"]):
                faults.append((number, "spans"))
        if task == "questions":
            start, answer = row["start"], row["answer"]
            if start < 0 or row["context"][start : start + len(answer)] != answer:
                faults.append((number, "start"))
        ### END SOLUTION
    return faults

# %% [markdown]
# <details><summary>Hint 1: a KeyError</summary>
#
# A column that is missing is a fault to report, not a reason to stop. How do you ask a dict for a key that may not be there?
# </details>
# <details><summary>Hint 2: types</summary>
#
# `isinstance(value, kind)` is False for None, too. Only texts can be blank; `strip` takes white space away from both ends.
# </details>
# <details><summary>Hint 3: a row that has a fault is reported twice, or raises</summary>
#
# The second kind of fault can only be looked for where every column has passed: a missing text has no length.
# </details>
# <details><summary>Hint 4: negative positions</summary>
#
# Python counts a negative position from the end, so a slice may find the right answer at a wrong place.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_validate_rows", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("your_own_dataset.validate_rows")

# %% [markdown]
# Now your file, the other two default sets, and a copy of a part of the first one that several people have "improved":

# %% tags=["skip-grading"]
from course_utils.data.own import with_faults

improved = with_faults(default_rows("classification")[::20])
for name, some, task in [("your file", rows, TASK), ("improved", improved, "classification"),
                         ("entities", default_rows("entities"), "entities"), ("questions", default_rows("questions"), "questions")]:
    faults = validate_rows(some, task)
    print(f"{name}: {len(some)} rows, {len(faults)} faults")
    for number, column in faults[:10]:
        print(f"    row {number}, column {column}: {some[number - 1].get(column)!r}")

# %% [markdown]
# ### Exercise 2: `find_leaks`
#
# The rows at the end of the "improved" file are copies of others, in capitals and with two spaces somewhere. If a copy is in the training set and another in
# the test set, that is a **leak**: the model has seen the answer. If two copies have different labels, that is a **contradiction**: one of the labels is wrong.
#
# Two texts count as the same if they are equal once they are written in small letters and every run of white space is replaced by one space:

# %%
for text in ["  Returns  The AXES.\n", "returns the axes."]:
    print(repr(text), "has the words", text.lower().split())

# %% nbgrader={"grade": false, "grade_id": "find_leaks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def find_leaks(
    texts: list[str], labels: list[str], in_test: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What occurs more than once in a data set. Capitals and the amount of white space do not count.

    Args:
        texts, labels: of each row.
        in_test: (rows,) True where a row is in the test set, False where it is in the training set.

    Returns:
        first: (rows,) integers: the first row with the same text, counted from 0; for most rows, the row itself.
        contradicted: (rows,) True where any row with the same text has another label.
        leaked: (rows,) True for a row of the test set whose text is in the training set, too.
    """
    # 1. Texts in a form in which the same are equal.
    ### BEGIN SOLUTION
    plain = [" ".join(text.lower().split()) for text in texts]
    ### END SOLUTION
    # 2. The first row with each text.
    ### BEGIN SOLUTION
    rows: dict[str, int] = {}
    first = [rows.setdefault(text, row) for row, text in enumerate(plain)]
    ### END SOLUTION
    # 3. Texts with more than one label.
    ### BEGIN SOLUTION
    labels_of: dict[str, set] = {}
    for text, label in zip(plain, labels, strict=True):
        labels_of.setdefault(text, set()).add(label)
    contradicted = [len(labels_of[text]) > 1 for text in plain]
    ### END SOLUTION
    # 4. Texts of the test set that are in the training set.
    ### BEGIN SOLUTION
    trained = {text for text, test in zip(plain, in_test, strict=True) if not test}
    leaked = [bool(test) and text in trained for text, test in zip(plain, in_test, strict=True)]
    ### END SOLUTION
    return np.array(first), np.array(contradicted), np.array(leaked)

# %% [markdown]
# <details><summary>Hint 1: without comparing every row with every other</summary>
#
# A dict from text to row, or from text to its set of labels, needs one pass. `setdefault` keeps what is there first.
# </details>
# <details><summary>Hint 2: leaked rows are missing</summary>
#
# The copy in the training set may stand before the row of the test set or behind it. Collect the whole training set first.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_find_leaks", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("your_own_dataset.find_leaks")

# %% tags=["skip-grading"]
def cleaned(rows: list[Row]) -> list[Row]:
    """Rows without faults and without contradictions, each text once."""
    faulty = {number for number, _ in validate_rows(rows, "classification")}
    kept = [row for number, row in enumerate(rows, 1) if number not in faulty]
    no_test = np.zeros(len(kept), dtype=bool)
    first, contradicted, _ = find_leaks([row["text"] for row in kept], [row["label"] for row in kept], no_test)
    once = (first == np.arange(len(kept))) & ~contradicted
    print(f"{len(rows)} rows: {len(faulty)} faulty, {contradicted.sum()} contradicted; {once.sum()} are left")
    return [row for row, keep in zip(kept, once, strict=True) if keep]


_ = cleaned(improved)
rows = cleaned(rows if TASK == "classification" else default_rows("classification"))  # from here on the lab classifies

# %% [markdown]
# (Whether a text with two labels is a fault is for you to decide. Sometimes it is the most interesting row of the file, because people disagree about it.)
#
# ## 2. An honest split
#
# In lab 07 you kept whole groups together, because a model recognises the *module* of a sentence and looks better than it is. How much of each class came into
# the test set was left to chance. With few rows you cannot afford that: a rare class might be missing altogether. So now the split is also
# **stratified**: every class gets its share.
#
# ### Exercise 3: `split_by_group`
#
# Go through the groups in the given order. The **main class** of a group is its most frequent one (of equally frequent ones, the first in the
# alphabet). If the test set has fewer than `share` of all rows of that class, the group goes into it, as a whole. Then *all* of its rows count, those
# of other classes, too. If not, pass the group over and go on with the next.

# %% nbgrader={"grade": false, "grade_id": "split_by_group", "locked": false, "schema_version": 3, "solution": true, "task": false}
def split_by_group(groups: list[str], labels: list[str], order: list[str], share: float) -> np.ndarray:
    """Which rows belong to the test set, so that no group is on both sides and every class gets its share.

    Args:
        groups, labels: of each row.
        order: every group once, in the order in which they are asked.
        share: of the rows of each class.

    Returns:
        (rows,) booleans: True = test.
    """
    total, taken, chosen = Counter(labels), Counter(), set()
    for group in order:
        # 1. How many rows of each class has the group, and which is its main class?
        ### BEGIN SOLUTION
        inside = Counter(label for other, label in zip(groups, labels, strict=True) if other == group)
        main = max(sorted(inside), key=lambda label: inside[label])
        ### END SOLUTION
        # 2. Does it go into the test set?
        ### BEGIN SOLUTION
        if taken[main] < share * total[main]:
            chosen.add(group)
            taken += inside
        ### END SOLUTION
    return np.array([group in chosen for group in groups])

# %% [markdown]
# <details><summary>Hint 1: the most frequent, and among equals the first</summary>
#
# `max` returns the first of several that are equally large, in the order in which it gets them. Which order makes that the first in the alphabet?
# </details>
# <details><summary>Hint 2: nearly the right rows</summary>
#
# A group that is taken brings rows of other classes with it. They are in the test set now, so they count for those classes.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_split_by_group", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("your_own_dataset.split_by_group")

# %% [markdown]
# You need three parts: at most 300 rows for the **test**, at most 150 for **validation**, and a **pool** of 1,000 that plays the part of the rows that
# somebody has labelled. In the pool the classes take turns, so that its first 24 or 96 rows have all of them.

# %% tags=["skip-grading"]
def balanced(labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The rows in an order in which the classes take turns."""
    turn = np.zeros(len(rows), dtype=int)
    for label in np.unique(labels[rows]):
        inside = labels[rows] == label
        turn[inside] = np.arange(inside.sum())
    return rows[np.argsort(turn, kind="stable")]


def parts(groups: list[str], labels: list[str], seed: int = 0) -> dict[str, np.ndarray]:
    """The numbers of the rows in the test set, the validation set and the pool."""
    rng, labels, groups = np.random.default_rng(seed), np.array(labels), np.array(groups)
    order = rng.permutation(np.unique(groups)).tolist()
    test = split_by_group(groups.tolist(), labels.tolist(), order, 0.11)
    rest = np.flatnonzero(~test)
    left = set(groups[rest])
    also = split_by_group(groups[rest].tolist(), labels[rest].tolist(), [group for group in order if group in left], 0.06)
    pool = balanced(labels, rng.permutation(rest[~also]))[:1000]
    return {"pool": pool, "validation": rng.permutation(rest[also])[:150], "test": rng.permutation(np.flatnonzero(test))[:300]}

# %% tags=["skip-grading"]
texts, groups, names = [row["text"] for row in rows], [row["group"] for row in rows], sorted({row["label"] for row in rows})
y = np.array([names.index(row["label"]) for row in rows])
by_group = parts(groups, [names[label] for label in y])
at_random = parts([str(number) for number in range(len(rows))], [names[label] for label in y])  # each row a group of its own
for part, numbers in by_group.items():
    print(f"{part:10} {len(numbers):5} rows, {len({groups[row] for row in numbers}):4} groups, of each class {np.bincount(y[numbers])}")

# %% [markdown]
# ## 3. The ladder
#
# This is what you will climb. Grey is what you are given, such as the pretrained encoder of labs 03, 09 and 10. Orange is what is trained
# with your labels.

# %% tags=["skip-grading"]
from course_utils.plots import show_figure
from course_utils.plots.own_data import ladder

show_figure(
    ladder(),
    alt="Five columns, from left to right: majority, TF-IDF with a linear layer, frozen encoder with a linear layer, "
    "LoRA (narrow strips beside the six frozen layers are trained), full fine-tuning (all six layers are trained).",
)

# %% [markdown]
# The first rung always gives the most frequent class. The second counts words, gives those that occur in few texts more weight (TF-IDF), and hands the
# weights to a logistic regression. Both take no time. Whatever is more expensive has to beat them.
#
# ### Exercise 4: `embed`
#
# On the third rung the encoder stays as it is. It turns each text into a vector, the mean of the states of its word pieces, and a logistic regression
# learns from the vectors. The texts go through the encoder in batches, each padded to its longest text. If padding came into the mean, a text's vector
# would depend on its neighbours.
#
# Three more things are easily forgotten: dropout has to be off, no gradients are needed, and a text that is too long has to be truncated.

# %% nbgrader={"grade": false, "grade_id": "embed", "locked": false, "schema_version": 3, "solution": true, "task": false}
def embed(encoder: nn.Module, tokenizer: Any, texts: list[str], batch_size: int = 32) -> np.ndarray:
    """One vector per text: the mean of the encoder's states over its word pieces, [CLS] and [SEP] included.

    Args:
        encoder: gives an object with ``last_hidden_state`` (batch, len, hidden) for what the tokenizer gives.
        tokenizer: called with texts, ``padding=True, truncation=True, return_tensors="pt"``, it gives a dict
            with ``input_ids`` and ``attention_mask``, (batch, len); 1 = real.
        texts: in any order.
        batch_size: the encoder never gets more texts than this at once.

    Returns:
        (texts, hidden), in the order of the texts, without gradients.
    """
    ### BEGIN SOLUTION
    encoder.eval()
    vectors = []
    ### END SOLUTION
    for start in range(0, len(texts), batch_size):
        # 1. A batch of texts -> word pieces -> states (batch, len, hidden).
        ### BEGIN SOLUTION
        batch = tokenizer(texts[start : start + batch_size], padding=True, truncation=True, return_tensors="pt")
        with torch.no_grad():
            states = encoder(**batch).last_hidden_state
        ### END SOLUTION
        # 2. The mean over real pieces (batch, hidden).
        ### BEGIN SOLUTION
        real = batch["attention_mask"].unsqueeze(-1)
        vectors.append((states * real).sum(dim=1) / real.sum(dim=1))
        ### END SOLUTION
    # 3. All batches as one array.
    ### BEGIN SOLUTION
    return torch.cat(vectors).numpy()
    ### END SOLUTION

# %% [markdown]
# <details><summary>Hint 1: every number is off by the same amount</summary>
#
# The encoder is in training mode when you get it.
# </details>
# <details><summary>Hint 2: vectors depend on the batch</summary>
#
# The mask is needed twice: by the encoder, so that no word looks at padding, and by you, in the mean. Two stars before a dict hand on everything that
# is in it.
# </details>
# <details><summary>Hint 3: shapes</summary>
#
# The mask is (batch, len), the states are (batch, len, hidden). A new axis at the end of the mask makes them fit. Divide by the number of real pieces
# of each text.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check_embed", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("your_own_dataset.embed")

# %% [markdown]
# Now all texts that the lab needs, once. Sorted by length, the texts of a batch are about equally long, so there is little padding.

# %% tags=["skip-grading"]
from course_utils.data.own import load_unlabelled
from course_utils.models.pretrained import load_tokenizer, new_encoder

tokenizer, unlabelled = load_tokenizer(), load_unlabelled()


def embed_sorted(encoder: nn.Module, texts: list[str]) -> np.ndarray:
    """The vectors in the order of the texts, computed in the order of their lengths."""
    order = np.argsort([len(text) for text in texts])
    vectors = embed(encoder, tokenizer, [texts[place] for place in order])
    return vectors[np.argsort(order)]


began = time.perf_counter()
needed = np.unique(np.concatenate([*by_group.values(), at_random["pool"][:400], at_random["test"]]))
vectors = np.zeros((len(texts), 384), dtype=np.float32)
vectors[needed] = embed_sorted(new_encoder(), [texts[row] for row in needed])
print(f"{len(needed)} texts, vectors of {vectors.shape[1]} numbers, {time.perf_counter() - began:.0f} seconds")

# %% [markdown]
# First the question of section 2: how much better does a model *look* if the split ignores groups? Here is the same model with 400 labels, and two splits:

# %% tags=["skip-grading"]
from sklearn.linear_model import LogisticRegression

for name, split in {"by group": by_group, "at random": at_random}.items():
    some, others = split["pool"][:400], split["test"]
    accuracy = LogisticRegression(max_iter=1000).fit(vectors[some], y[some]).score(vectors[others], y[others])
    print(f"split {name:9} frozen encoder, 400 labels: accuracy {accuracy:.3f}")
