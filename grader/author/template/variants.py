"""Other correct ways to write lab @NUMBER@'s exercises, written without looking at the reference."""

from grader.catalogue import variant


@variant("double")
def added_to_itself(x):
    """Adds x to itself."""
    return x + x


@variant("double")
def divided_by_a_half(x):
    """Divides by a half."""
    return x / 0.5


@variant("double")
def less_its_negative(x):
    """Subtracts the negative."""
    return x - (-x)
