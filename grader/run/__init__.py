"""Running a rebuilt notebook, and collecting what its checks publish."""

import logging

_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())
_log.propagate = False  # messages about a learner's kernel do not belong in anybody's terminal
