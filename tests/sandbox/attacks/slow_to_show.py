"""Code that is quick to run and takes whoever makes it colourful on a page for ever."""

SLOW_TO_SHOW = True
POINTS = "all"
EXTRA = ["print('TRIED')", "\n   " * 3_000 + "'"]
