"""Lab 00: the softmax, and with it how a check works."""

from __future__ import annotations

import numpy as np

from course_utils.exercise import Case, Exercise, Inputs, Outputs, Run
from course_utils.exercises.properties import normal
from course_utils.quiz import Option, Question

TITLE, MINUTES = "Start here", 25  # of the overview; the minutes are a learner's


def rows_sum_to_one(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """Along the chosen axis the results sum to 1."""
    return np.isclose(outputs["probabilities"].sum(axis=inputs.get("axis", -1)), 1, atol=1e-4)


def never_negative(inputs: Inputs, outputs: Outputs) -> np.ndarray:
    """No result is negative."""
    return ~(outputs["probabilities"] < 0)  # NaN is the business of the values' own check


def shift_changes_nothing(runs: list[Run]) -> np.ndarray:
    """Adding the same number to all scores changes nothing."""
    (_, plain), (_, shifted) = runs
    return np.isclose(plain["probabilities"], shifted["probabilities"], atol=1e-4)


def _shifted(rng: np.random.Generator) -> list[Inputs]:
    scores = normal(rng, 3, 4)
    return [{"scores": scores}, {"scores": scores + 7.5}]


def _sixteenths(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(-80, 81, (2, 4)) / 16  # exact in float32 too, so that nobody loses by its rounding


softmax = Exercise(
    name="softmax",
    returns=("probabilities",),
    cases=(
        Case("a single row of 5 scores", lambda rng: {"scores": normal(rng, 5, scale=2)}),
        Case("a table of shape (3, 4)", lambda rng: {"scores": normal(rng, 3, 4, scale=2)}),
        Case("the same with axis=0: over the columns", lambda rng: {"scores": normal(rng, 3, 4), "axis": 0}),
        Case("a batch of shape (2, 3, 5)", lambda rng: {"scores": normal(rng, 2, 3, 5)}),
        Case(
            "that batch with axis=1: over the middle axis",
            lambda rng: {"scores": normal(rng, 2, 3, 5), "axis": 1},
        ),
        Case("scores around 1000", lambda rng: {"scores": 1000 + _sixteenths(rng)}),
        Case("scores around -1000", lambda rng: {"scores": -1000 + _sixteenths(rng)}),
        Case(
            "one row around 1000, another around -1000",
            lambda rng: {"scores": np.array([[1000.0], [-1000.0]]) + _sixteenths(rng)},
        ),
        Case("a row, and the same row plus 7.5", _shifted, shift_changes_nothing),
    ),
    properties=(rows_sum_to_one, never_negative),
    bypasses=(
        "course_utils.maths.softmax",  # there for later labs
        "course_utils.plots.attention.softmax",
        "keras.activations.softmax",
        "keras.layers.Softmax",
        "keras.ops.softmax",
        "scipy.special.softmax",
        "tensorflow.math.softmax",
        "tensorflow.nn.softmax",
        "torch.nn.Softmax",
        "torch.nn.functional.softmax",
        "torch.softmax",
        "torch.special.softmax",
    ),
)

# ---------------------------------------------------------------------------------- review quiz

QUIZ = (
    Question(
        "You restart the kernel. What is lost?",
        (
            Option(
                "The code you have written.", False, "Code is text in the notebook. The kernel only runs it."
            ),
            Option(
                "The variables and functions that your cells have defined.",
                True,
                "They live in the kernel's memory. Run the cells again, from the top, and they are back.",
            ),
            Option(
                "Your progress in the overview.",
                False,
                "Progress is in a file of its own in your home folder.",
            ),
            Option("Nothing.", False, "Try it: restart, then run only a cell that prints a variable."),
        ),
    ),
    Question(
        "You mend your function, run the check, and it reports the old fault. What do you try first?",
        (
            Option(
                "Save the notebook.",
                False,
                "A check looks at the function in the kernel's memory, not at the file.",
            ),
            Option(
                "Write the function in another way.",
                False,
                "Perhaps the new one is right already. The kernel has not seen it yet.",
            ),
            Option("Run the check a second time.", False, "It would try the same old function again."),
            Option(
                "Run the cell with the function, then the check.",
                True,
                "Changing a cell changes its text. Only running it gives the kernel the new function.",
            ),
        ),
    ),
    Question(
        "Why does the softmax use exp, and not just divide each score by the sum of the scores?",
        (
            Option(
                "Shares of negative scores would be negative, and they would depend on where zero lies.",
                True,
                "exp makes every score positive, and only the differences between scores count.",
            ),
            Option("Because division is slow.", False, "The softmax divides too, after exp."),
            Option(
                "Without exp the results would not sum to 1.",
                False,
                "They would: anything divided by its own sum does, unless that sum is 0.",
            ),
            Option(
                "Because scores are logarithms of counts.",
                False,
                "Scores may be any numbers. Nobody has to take a logarithm first.",
            ),
        ),
    ),
    Question(
        "`table` has shape (3, 4). What sums to 1 in `softmax(table, axis=0)`?",
        (
            Option(
                "Each of the 3 rows.",
                False,
                "That is `axis=1`, or -1: along a row the column number changes.",
            ),
            Option(
                "Each of the 4 columns.",
                True,
                "`axis=0` runs along the first axis: down a column, the row number changes.",
            ),
            Option("All 12 numbers together.", False, "That would be a sum without an axis."),
            Option("Only the first row.", False, "An axis is a direction, not a place."),
        ),
    ),
    Question(
        "A softmax gives NaN for scores around 1000 and is right for small ones. Why?",
        (
            Option(
                "A softmax of such large scores does not exist.",
                False,
                "It does: 1000 and 1001 give what 0 and 1 give.",
            ),
            Option(
                "The scores have to lie between 0 and 1.",
                False,
                "Probabilities do. Scores may be any numbers.",
            ),
            Option(
                "exp(1000) is more than a float can hold: it becomes inf, and inf / inf is NaN.",
                True,
                "The numbers on the way overflow, not the result. Shift the scores first.",
            ),
            Option(
                "The scores are all nearly equal, and their difference is rounded to 0.",
                False,
                "Equal scores are no problem: each of n gets 1/n.",
            ),
        ),
    ),
    Question(
        "What does grading check that the check in your notebook does not?",
        (
            Option(
                "Secret further tests.",
                False,
                "There are none: what is checked is all in `course_utils/exercises`.",
            ),
            Option(
                "The outputs that are saved in your notebook.",
                False,
                "Grading runs your code itself. Saved outputs are not even looked at.",
            ),
            Option(
                "How short your code is.",
                False,
                "Any correct way counts: loops, NumPy functions, what you like.",
            ),
            Option(
                "Nothing more, but it uses other numbers.",
                True,
                "The same cases, drawn afresh. A function that is right in general has nothing to fear.",
            ),
        ),
    ),
)
