"""The errors that are a message for the person at the keyboard. The command line shows their text and no traceback."""


class GraderError(Exception):
    """What the person who called the tool must know: what, where, and what to do next."""
