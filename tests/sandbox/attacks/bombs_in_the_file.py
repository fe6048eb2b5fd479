"""A notebook file that is a bomb for whoever parses it: nested, or made of a million pieces."""

STATE = "unreadable"
PROBE = None


def submit(notebook, folder):
    cells = (
        '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": ['
        + "[" * 400_000
        + "]" * 400_000
        + "]}"
    )
    (folder / "start_here.ipynb").write_text(cells)
