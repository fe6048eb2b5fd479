"""What the notebooks import. Light on purpose: importing it loads neither torch nor TensorFlow."""

from course_utils.check import CheckFailed, check, inputs_of

__all__ = ["CheckFailed", "check", "inputs_of"]
