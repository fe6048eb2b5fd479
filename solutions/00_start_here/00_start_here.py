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
# # Lab 00: start here
#
# Every lab works in the same way. You learn how by doing a small one: you write the **softmax**, which turns scores into probabilities.
# A Transformer uses it in each of its layers.
#
# **After this lab you can**
#
# - run a notebook, restart it, and say what is saved;
# - fix your code with what a check tells you;
# - explain why *exp*, and not plain division, turns scores into probabilities;
# - write a softmax that works along any axis and never overflows;
# - validate a lab and hand it in.
#
# **You need** Python functions and the basics of NumPy arrays. **Time:** about 30 minutes for you; the
# computer needs {measured_seconds} seconds. If you already know notebooks, run the first cell of section 1, which
# imports NumPy, and continue with section 2. The core path is sections 2 to 6, about 20 minutes.
#
# | # | exercise | difficulty | importance | minutes | points |
# |---|---|---|---|---|---|
# | 1 | `softmax` | ●●○○○ | ●●●●● | 8 | 5 |

# %% [markdown]
# ## 1. How a lab works
#
# A notebook is a column of **cells**. Some hold text, like this one. Others hold Python code.
#
# Click into the code cell below and press **Shift+Enter**. It runs, its output appears under it, and the next cell is
# selected. Press Shift+Enter again and again, and you walk through the whole lab.

# %%
import numpy as np

print("It runs. NumPy is version", np.__version__)

# %% [markdown]
# A number in square brackets on the left, like `[1]`, means that the cell has run; the numbers count the runs. `[*]` means that it is still
# running.
#
# ### The kernel remembers
#
# Code runs in a Python process in the background, the **kernel**. Cells that you run later can use everything that a cell has defined. The
# order in which you *run* the cells counts, not their order on the page. Run the first of the next two cells once, and the second
# one three times.

# %% tags=["skip-grading"]
visits = 0

# %% tags=["skip-grading"]
visits = visits + 1
print("visits:", visits)

# %% [markdown]
# The variable `visits` grows with each run, because the kernel keeps it. Sometimes this causes trouble. Your code may work only because the
# kernel still has a variable from a cell that you have changed or deleted.
#
# The cure is a fresh start: menu **Kernel**, then **Restart Kernel and Run All Cells**. Do this before you hand in a lab. If everything still
# works, your notebook does not depend on old variables.
#
# ### What is saved
#
# | | where | kept when you close everything? |
# |---|---|---|
# | your text and code, and the outputs | in the notebook's file, when you press Ctrl+S (Cmd+S on a Mac) and automatically every two minutes | yes |
# | variables and functions | in the kernel's memory | no: run the cells again; after a break, begin with the first code cell, *Continue here* |
# | which exercises you have solved | in a small file; `START.md`, the map of the course, says where | yes |
#
# ### Cells that wait for you
#
# Wherever you have something to write, you will find these two lines:
#
# ```python
# # YOUR CODE HERE
# raise NotImplementedError
# ```
#
# Replace both with your code. You may add cells wherever you like. A **check cell** follows each exercise. You can run a check as often as
# you want. A failed check costs no points.
#
# ### Is everything there?
#
# The next cell checks your Python, the course's packages, and the machine. If something is missing or too old, it tells you which command
# fixes it.

# %% tags=["skip-grading"]
from course_utils import check_environment

check_environment()

# %% [markdown]
# ## 2. From scores to probabilities
#
# How might a sentence that begins with *Jane visits* continue? A language model gives each word that it knows a **score**, which can be any
# number. A higher score means a better fit. Here are four words and made-up scores.

# %% tags=["skip-grading"]
from course_utils.display import show_table

words = ["Africa", "Rome", "September", "yesterday"]
scores = np.array([2.0, 1.0, 0.0, -1.0])

show_table(["word", "score"],
           [[word, f"{score:.1f}"] for word, score in zip(words, scores, strict=True)])

# %% [markdown]
# Scores are easy to make and hard to use. Is a 2 a lot? How often should the model choose *Rome*? **Probabilities** answer
# that. We want them to have three properties:
#
# 1. no probability is negative;
# 2. they sum to 1;
# 3. a higher score gives a higher probability.
#
# ### A first try: plain division
#
# To make numbers sum to 1, divide each of them by their sum.

# %% tags=["skip-grading"]
total = scores.sum()
show_table(
    ["word", "score", "divided by the sum"],
    [*([word, f"{score:.1f}", f"{score / total:.2f}"]
       for word, score in zip(words, scores, strict=True)),
     ["sum", f"{total:.1f}", f"{(scores / total).sum():.2f}"]],
)

# %% [markdown]
# They sum to 1, but *yesterday* has a probability of −0.50. And what if the scores sum to 0?
#
# There is a less obvious problem as well. Scores have no natural zero: only their **differences** mean anything. What does plain division
# do when all scores go up by 100?
#
# Questions like the next one come before some results. Make a choice first, then run the cell below it. Nothing is recorded, and a wrong
# guess costs nothing. If the result surprises you, stop and find out why.

# %% tags=["skip-grading"]
from course_utils.widgets.predict import measured, predict

predict("start_here.plus")

# %% tags=["skip-grading"]
rows = [[name, *(f"{share:.3f}" for share in shifted / shifted.sum())]
        for name, shifted in [("scores", scores), ("scores plus 100", scores + 100)]]
show_table(["divided by their sum", *words], rows)
even = (scores + 100) / (scores + 100).sum()
measured("start_here.plus", shown=np.ptp(even) < 0.01)

# %% [markdown]
# So plain division does not work for scores.
#
# ### A better try: exp first
#
# The exponential function makes every number positive. The larger number stays the larger one. And it turns *differences* into *ratios*:
# $e^{a} / e^{b} = e^{a-b}$.

# %% tags=["skip-grading"]
powers = np.exp(scores)
shares = powers / powers.sum()
show_table(
    ["word", "score", "exp(score)", "divided by the sum"],
    [*([words[i], f"{scores[i]:.1f}", f"{powers[i]:.3f}", f"{shares[i]:.3f}"]
       for i in range(4)),
     ["sum", "", f"{powers.sum():.3f}", f"{shares.sum():.3f}"]],
)

# %% [markdown]
# Now you have four probabilities. They are positive, they sum to 1, and they are in the order of the scores. Each score is 1 higher than the next
# one, so each word has
# $e^1 \approx 2.718$ times the probability of the next. Try it: divide one number of the last column by the one below it.

# %% tags=["skip-grading"]
from course_utils.plots import show_figure
from course_utils.plots.softmax import exponential_curve

show_figure(
    exponential_curve(scores, words),
    alt="The curve of exp from left to right, always above zero, rising ever more "
    "steeply. The four scores are points on it: exp(-1) is 0.37, exp(0) is 1, "
    "exp(1) is 2.72 and exp(2) is 7.39.",
)

# %% [markdown]
# **What to notice:** the curve never touches zero, so (apart from rounding) no probability is ever exactly 0. And it gets steeper and
# steeper: every step to the right multiplies the height by the same factor.
#
# This is the softmax. For scores $s_1, \dots, s_n$,
#
# $$\operatorname{softmax}(s)_i = \frac{e^{s_i}}{\sum_{j=1}^{n} e^{s_j}}$$
#
# John Bridle gave it its name in 1990: a *soft* version of "take the maximum". The largest score gets the largest share, but not all of it.

# %% [markdown]
# ## 3. Shifted scores, large scores
#
# ### Adding the same number changes nothing
#
# Add $c$ to every score. Each exponential is multiplied by $e^c$, and so is their sum. The factor cancels:
#
# $$\frac{e^{s_i + c}}{\sum_j e^{s_j + c}} = \frac{e^c \, e^{s_i}}{e^c \sum_j e^{s_j}} = \operatorname{softmax}(s)_i$$

# %% tags=["skip-grading"]
rows = []
for c in (0, 100, -3):
    powers = np.exp(scores + c)
    rows.append([f"c = {c}", *(f"{share:.6f}" for share in powers / powers.sum())])
show_table(["", *words], rows)

# %% [markdown]
# The probabilities are the same all three times. Compare that with plain division above.
#
# ### Large scores overflow
#
# There is a largest 64-bit float. It has 309 digits before the decimal point. Any result that is larger becomes `inf`.
# How large may a score be?

# %% tags=["skip-grading"]
predict("start_here.overflow")

# %% tags=["skip-grading"]
print("largest float:", np.finfo(float).max)
rows, largest_right = [], 0.0
with np.errstate(over="ignore", invalid="ignore"):  # NumPy would print warnings here
    for size in (10.0, 700.0, 710.0, 1000.0):
        powers = np.exp(np.array([size, size - 1]))
        rows.append([f"{size:.0f} and {size - 1:.0f}", str(powers),
                     str(powers / powers.sum())])
        if np.isfinite(powers / powers.sum()).all():
            largest_right = size
show_table(["scores", "exp", "softmax"], rows)
measured("start_here.overflow", shown=700 <= largest_right < 1000)

# %% [markdown]
# These four pairs have the same difference, so they should have the same softmax. But in the last two there is a `nan`, *not a number*: infinity
# divided by infinity. Every number computed from it is `nan` too. So a single large score can spoil everything that is computed after it.
#
# **Discuss with a neighbour,** or write two sentences. Put two facts together: large scores overflow, but adding any number to all scores changes nothing.
# Which number would you add so that `exp` can never overflow? You will need it in the exercise.

# %% [markdown]
# ## 4. Along which axis?
#
# Scores usually come in tables. Suppose that three friends each give points to four cities. That is a table of shape (3, 4). An **axis** is a
# direction in which you
# can move through an array. Here axis 0 goes down, from row to row, and axis 1 goes across, from column to column. The last
# axis can also be called -1.

# %% tags=["skip-grading"]
points = np.array([
    [1.0, 2.0, 3.0, 4.0],  # Ada
    [0.0, 5.0, 0.0, 5.0],  # Ben
    [2.0, 2.0, 2.0, 2.0],  # Cleo
])
print("sum over axis 0, one for each city:  ", points.sum(axis=0))
print("sum over axis 1, one for each friend:", points.sum(axis=1))
print("sum over axis -1, the last:          ", points.sum(axis=-1))
print("sum without an axis:                 ", points.sum())

# %% [markdown]
# | | axis | shape of the sum | what is added up |
# |---|---|---|---|
# | `points.sum(axis=0)` | 0, the first | (4,) | each column, over the friends |
# | `points.sum(axis=1)` | 1, the last | (3,) | each row, over the cities |
# | `points.sum(axis=-1)` | the last, here 1 | (3,) | the same |
# | `points.sum()` | none | () | all twelve numbers |
#
# The axis that you name is the one that **disappears**: if you sum an array of shape (3, 4) over axis 1, shape (3,) is left. Now you want to divide each row by
# its own sum.

# %% tags=["skip-grading"]
predict("start_here.rows")

# %% tags=["skip-grading"]
try:
    points / points.sum(axis=1)
    refused = False
except ValueError as error:
    refused = True
    print("without keepdims:", error)

print("\nshape with keepdims:", points.sum(axis=1, keepdims=True).shape)
print(points / points.sum(axis=1, keepdims=True))
measured("start_here.rows", shown=refused)

# %% [markdown]
# NumPy aligns shapes from the right. With (3, 4) and (3,) it would have to pair 4 cities with 3 friends, so it refuses. With `keepdims=True`
# the axis stays, with length 1. Then (3, 4) and (3, 1) fit, and NumPy repeats the one column for all four cities. This is called **broadcasting**.
#
# Broadcasting works for any axis and any number of axes. Other functions that remove an axis, like `max`, accept `keepdims` too.

# %% [markdown]
# ## 5. See a check fail
#
# Your first check should fail on purpose, so that you know what it looks like. Here is plain division once more, as a function. We check it
# as if it were a softmax.

# %% tags=["skip-grading"]
from course_utils import report_on


def shares(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    total = scores.sum(axis=axis, keepdims=True)
    return scores / total


report_on("start_here.softmax", shares)

# %% [markdown]
# Read such a report from the top:
#
# - **The first line** says how many checks pass. They share the points equally, so a function that is right in some cases earns part of
#   them.
# - **"Your results are those of a well-known mistake"** appears when your results equal those of a known mistake. Your code may look
#   different, but it gives the same results. The report explains the mistake and leaves the fix to you. If no known mistake fits, it says
#   *what stands out*, or names *one possible cause*. These are only hints; the report is not certain.
# - **Each line with a mark** is one check, or several folded together. Most run your function and compare its values with the correct ones. If they
#   differ, you see how many do and where the difference is largest. The others are *properties*, which hold for every softmax.
#
# Two properties hold even here: the shares sum to 1, and the inputs are unchanged. But properties alone earn no points if every case is
# wrong. Even a function that returns only zeros has some of these properties.
#
# ### How hints work
#
# Below the report of a check cell (not below this one) you find folded **hints**. A title says what you might see, such as "I get NaN". Click the one that fits.
#
# - Before your first attempt you see only the first hint: where to begin.
# - After an attempt all of them are there. If one fits the report, it comes first and is open.
# - From the third attempt on you see one more, with all the steps in words. No hint gives the code.
#
# Hints cost no points, and nobody sees whether you read them. Try for a few minutes on your own first.

# %% [markdown]
# ## 6. Your turn
#
# ### Exercise 1: `softmax`
#
# Write the softmax for arrays of any shape, along any axis, for scores of any size. Two to four lines are enough, but loops are fine too.
# Do not change the array `scores` itself.
#
# <details><summary>Hint: where do I begin?</summary>
#
# Forget axes and large scores for now. Take the worked example of section 2: which three steps lead from the scores to the last column? Write
# them down and run the check. Part of it will pass already.
#
# </details>
#
# <details><summary>Hint: my result has the wrong sums, or the shapes do not fit</summary>
#
# Sum along the argument <code>axis</code>, and keep that axis with length 1. Section 4 does this for axis 1.
#
# </details>
#
# <details><summary>Hint: I get NaN for scores around 1000</summary>
#
# Section 3 says that you may add any number to all scores, even a negative one. Make the largest score 0. Then the largest exponential is exp(0) = 1.
#
# </details>
#
# <details><summary>Hint: I get NaN for scores around −1000 only</summary>
#
# Then all exponentials become 0, and so does their sum. The same shift helps, provided that you always subtract the largest score, even when it is
# negative.
#
# </details>
#
# <details><summary>Hint: what are all the steps, in words?</summary>
#
# 1. Find the largest score along the axis, keep the axis, and subtract it from the scores.
# 2. Take exp of that.
# 3. Divide by the sum along the axis, with the axis kept.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    """Turns scores into probabilities along one axis.

    Args:
        scores: array of any shape, with numbers of any size.
        axis: the axis along which the results sum to 1; -1 is the last one.

    Returns:
        Array of the same shape: exp(score), divided by the sum of all exp(score) along
        ``axis``.

    Source: Bridle (1990), Probabilistic interpretation of feedforward classification
    network outputs.
    """
    ### BEGIN SOLUTION
    shifted = scores - scores.max(axis=axis, keepdims=True)
    exponentials = np.exp(shifted)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
    ### END SOLUTION


# %% [markdown]
# Run the cell above, then the check. If it does not pass at once, fix the function, run *its* cell again, then run the check again.

# %% nbgrader={"grade": true, "grade_id": "check_softmax", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
from course_utils import check

check("start_here.softmax")

# %% [markdown]
# A check that fails stops *Run All*, so that you notice. Everything below this cell needs your softmax.
#
# To look at a case yourself, ask for its inputs and try your function on them. Cases are numbered from 0, in the order of the report.
# Some cases have several inputs. Then you get a list of them, and the report says which one to try.

# %% tags=["skip-grading"]
from course_utils import inputs_of

case = inputs_of("start_here.softmax", case=2)
print(case)
print("\nyour result:\n", softmax(**case).round(3))
print("\nits sums over the last axis:\n", softmax(**case).sum(axis=-1))

# %% [markdown]
# ## 7. Your softmax at work: temperature
#
# Divide all scores by a number before the softmax, and you control how much the largest score wins by. That number is called the
# **temperature**. Many programs that use a language model let you set it. Here is your function at work on *Jane
# visits*.

# %% tags=["skip-grading"]
predict("start_here.temperature")

# %% tags=["skip-grading"]
from course_utils.plots.softmax import bars_at_temperatures

temperatures = (0.2, 1.0, 3.0, 20.0)
show_figure(
    bars_at_temperatures({t: softmax(scores / t) for t in temperatures}, words),
    alt="Four bar charts of the same four words. At temperature 0.2 Africa has nearly "
    "all the probability. At temperature 1 the bars fall by the same factor from word "
    "to word. At 20 all four are nearly equal.",
)
measured("start_here.temperature", shown=np.ptp(softmax(scores / 20)) < 0.05)

# %% [markdown]
# **What to notice:** from left to right, the scores and their order are the same, but the proportions change. A low temperature comes close
# to "always take the largest". A high one comes close to "take any of them". At 1 you see the numbers of section 2.
#
# Keep the left panel in mind. There the other words have almost no probability left, and a small change of the scores changes almost nothing.
# Lab 02 shows what this means for learning, and divides by $\sqrt{d_k}$ to avoid it.
#
# **Discuss with a neighbour,** or write two sentences. Would you choose a high or a low temperature for a poem, for a weather report, and for
# a program? What does a temperature of 0 stand for, and what happens if you put it into the formula?
#
# ### The same as the library's
#
# Every library has a softmax. You have written your own to know what happens inside. Here it is compared with PyTorch's on scores
# around 1000. Importing PyTorch takes a few seconds, once in each notebook.

# %% tags=["skip-grading"]
import torch

table = 1000 + 3 * np.random.default_rng(0).normal(size=(3, 4))
difference = np.abs(
    softmax(table) - torch.softmax(torch.tensor(table), dim=-1).numpy()
).max()
print("largest score in the table:", table.max().round(1))
print("largest difference to torch.softmax:", difference)

# %% [markdown]
# A difference this small is rounding: two correct computations may differ in the last digits.
#
# ## 8. Validate and hand in
#
# **In a course with nbgrader.** Save the notebook, then press **Validate** in the bar above it. Validate runs the whole
# notebook from the top in a fresh kernel, and tells you which checks fail. This takes as long as running the notebook. When all checks pass,
# open the menu **Nbgrader**, **Assignment List**, and press **Submit** next to the lab. You can submit again until the deadline; the last
# submission counts. If your course collects files in another way, for example through a learning platform, upload the notebook file
# `start_here.ipynb` there.
#
# **On your own.** There is nothing to submit. Choose *Restart Kernel and Run All Cells*; if it runs to the end, all checks pass. The
# progress overview below keeps count.
#
# **What happens in grading.** Your functions are run once more, on the same cases with different numbers. There are no hidden tests. Printed
# text, warnings, extra cells and personal style cost nothing. Check cells are replaced with fresh ones, so changing them has no effect.

# %% [markdown]
# ### What comes next
#
# A **Transformer** is a neural network that reads a whole sequence at once: words, pieces of an image, the notes of a tune. In each
# layer every position looks at all others, decides how much each of them matters, and mixes what it finds into its own numbers. This
# looking is called *attention*. Vaswani et al. ([2017](https://arxiv.org/abs/1706.03762)) built a translator from nothing but attention
# layers with small networks between them. The models that chat, translate, search and write code today are its descendants.
#
# You build one in this course, from the softmax that you have just written to a translator that you train yourself:
#
# | labs | what you can do afterwards |
# |---|---|
# | 01 to 04 | say why attention was invented, write it yourself, with many heads and with positions, and look into a real model |
# | 05 and 06 | put the whole Transformer together, in PyTorch and in Keras, and train it to translate |
# | 07 to 13 | classify texts, write a language model, find names, answer questions, turn text into text, and compare models honestly on your own data |
#
# <details><summary>What it is used for, and in which labs</summary>
#
# Anything that comes as a sequence can be read in this way. Some uses, and where the course shows you how they work:
#
# | use | what goes in, what comes out | lab |
# |---|---|---|
# | autocompletion, chat | the text so far, and its next word | 08 |
# | translation | a sentence, and the same in another language | 05, 06 |
# | summaries | a text, and a shorter one | 08, 12 |
# | market intelligence, sorting mail | a review, a report, a letter, and a label | 07; 13 with your own texts |
# | names in documents | a text, and a label for each word | 09 |
# | answers to questions | a question and a text, and a place in it | 10, 11 |
# | correcting grammar and spelling | a sentence, and whether it is correct | 12, grammar only |
# | speech recognition | pieces of sound, and what was said | 02, section 10: two voices |
# | pictures, also of text (OCR) | patches of a picture, and what they show | 02, section 10: one picture without its noise |
# | music, molecules, shopping | notes, parts of a chain, things bought, and what comes next or belongs together | 02, section 10 |
# </details>

# %% [markdown]
# ## Common mistakes, by their symptom
#
# | what you see | likely cause |
# |---|---|
# | `NameError: name 'np' is not defined` | the kernel was restarted; run the cells above first (menu Run, Run All Above Selected Cell) |
# | you changed the function, but the check still says the same | the function's cell was not run after the change |
# | `[*]` does not go away | it is still computing, perhaps in an endless loop: press the ■ button in the bar |
# | the check: `part of it is not written yet` | the line `raise NotImplementedError` is still there |
# | the check: `It returned None` | the `return` line is missing |
# | `could not be broadcast together` | the sum or the maximum has lost its axis: `keepdims` |
# | the check: `scores` was changed in place | `scores -= ...` writes into the array that was passed in; `scores - ...` makes a new one |
# | all numbers are tiny, and the whole array sums to 1 | a sum without an axis |
# | right for tables, wrong for a row or a batch | a fixed axis instead of the argument `axis` |
# | `nan` | exp of large scores; or of very negative ones, and then 0 / 0 |
# | `Error displaying widget` | the widget belongs to a kernel that is gone: run its cell again |
# | `expected.npz is not in this notebook's folder` | the notebook was moved without its folder |

# %% [markdown]
# ## Review quiz
#
# Choose an answer with the mouse, or with the keyboard: Esc leaves the code, Tab moves from answer to answer, Enter chooses. Every answer
# explains itself, even the wrong ones. Nothing is recorded.

# %% tags=["skip-grading"]
from course_utils import quiz

quiz("start_here")

# %% [markdown]
# ## Your progress
#
# This shows all labs and what you have solved so far. You can run it in any lab.

# %% tags=["skip-grading"]
from course_utils import progress

progress.overview()

# %% [markdown]
# ## Going further
#
# - **Two words only.** For two scores, the softmax of the first one is $1 / (1 + e^{-(s_1 - s_2)})$, the logistic function. Can you
#   derive it?
# - **Logarithms.** Very small probabilities become 0. That is why losses use the *logarithm* of the softmax, computed
#   directly: $s_i - \log \sum_j e^{s_j}$. Where does this overflow, and how would you fix it?
# - **Its gradient.** Show that the derivative of the i-th probability $p_i$ with respect to its own score is $p_i (1 - p_i)$. When is it
#   near 0?
# - Bridle, J. S. (1990), [*Probabilistic interpretation of feedforward classification network outputs, with relationships to
#   statistical pattern recognition*](https://doi.org/10.1007/978-3-642-76153-9_28): the paper that named the softmax.
