"""The check engine: exercises are tried, their outcomes compared with what is expected, and reported. Nothing of any lab."""
