"""From submissions to the gradebook: judging, many at once, and what need not be done again."""
