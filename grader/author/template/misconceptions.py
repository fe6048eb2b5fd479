"""Wrong ways to write lab @NUMBER@'s exercises. Each must lose points and be recognised as itself."""

from grader.catalogue import slip

slip(
    "double",
    "added_two",
    "Two is added.",
    "Adding two is not the same as taking a number twice. Try both with 5.",
    ("np.multiply(x, 2)", "np.add(x, 2)"),
)
