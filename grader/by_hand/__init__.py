"""Answers that people grade: who reads which, on which page, by which rubric, and how far two readers agree."""
