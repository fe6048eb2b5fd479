"""Wrong ways to write lab @NUMBER@'s exercises. Each must lose points and be recognised as itself."""

from grader.catalogue import slip

slip(
    "double",
    "added_two",
    "Two is added.",
    "Adding two is not the same as taking a number twice. Try both with 5.",
    ("np.multiply(x, 2)", "np.add(x, 2)"),
)

slip(
    "double",
    "trebled",
    "The numbers are multiplied by three.",
    "What does your function return for 1, and what is 1 and 1?",
    ("np.multiply(x, 2)", "np.multiply(x, 3)"),
)

slip(
    "double",
    "halved",
    "The numbers are halved.",
    "Is your result larger or smaller than what went in? Try it with 8.",
    ("np.multiply(x, 2)", "np.divide(x, 2)"),
)
