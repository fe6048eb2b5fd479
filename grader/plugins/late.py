"""Points off for late work, as a plugin of nbgrader's. ``docs/instructors.md`` says how to switch it on."""

from __future__ import annotations

import math

from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Float


class PenaltyPerDay(LateSubmissionPlugin):
    """So many percent of what was earned for each day that has begun, after a time of grace."""

    percent = Float(10.0, min=0.0, max=100.0, help="Percent of the score a day.").tag(config=True)
    grace_minutes = Float(10.0, min=0.0, help="So late is not late.").tag(config=True)

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float:
        """Points off, of ``score``, for work that is ``total_seconds_late``."""
        seconds = total_seconds_late - 60 * self.grace_minutes
        days = max(0, math.ceil(seconds / 86_400))
        return round(min(score, score * days * self.percent / 100), 2)
