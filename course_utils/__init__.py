"""What the notebooks import. Light on purpose: importing it loads neither torch nor TensorFlow.

Matplotlib and ipywidgets, too, are imported only by what shows a figure or a widget.
"""

from course_utils.checking.check import CheckFailed, check, inputs_of, report_on
from course_utils.environment import check_environment
from course_utils.own_code.practice import practice
from course_utils.quiz import quiz

__all__ = ["CheckFailed", "check", "check_environment", "inputs_of", "practice", "quiz", "report_on"]
