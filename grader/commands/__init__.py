"""The commands of ``grader``: a module for each occasion, loaded when one of its commands is called (:mod:`grader.cli`).

What a command needs beyond its arguments is imported in its function, so that help, and a slip on the command line, cost next to nothing.
"""
