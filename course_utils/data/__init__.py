"""Data that the labs make or read."""
