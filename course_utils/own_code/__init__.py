"""Questions about a learner's own code, whose answers are found by running it with one small change.

:mod:`~course_utils.own_code.changes` makes the changes, :mod:`~course_utils.own_code.trials` runs them,
:mod:`~course_utils.own_code.questions` asks about what came out, and :mod:`~course_utils.own_code.practice` shows that in a notebook.
"""
