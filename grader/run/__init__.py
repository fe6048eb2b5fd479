"""A rebuilt notebook is run, and what its checks publish is collected."""

import logging

_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())
_log.propagate = False  # what is said about a learner's kernel is for nobody's terminal
