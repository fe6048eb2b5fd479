"""From submissions to the gradebook: judging them, many at once, and skipping what need not be done again."""
