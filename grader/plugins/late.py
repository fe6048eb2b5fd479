"""Deducting points for late work, as a plugin for nbgrader. ``docs/grading-details.md`` says how to switch it on."""

from __future__ import annotations

import math

from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Float


class PenaltyPerDay(LateSubmissionPlugin):
    """Deducts a percentage of the points earned for each day that has begun, after a grace period."""

    percent = Float(10.0, min=0.0, max=100.0, help="Percent of the score per day.").tag(config=True)
    grace_minutes = Float(10.0, min=0.0, help="Work up to this late is not counted as late.").tag(config=True)

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float:
        """The points to deduct from ``score`` for work that is ``total_seconds_late``."""
        seconds = total_seconds_late - 60 * self.grace_minutes
        days = max(0, math.ceil(seconds / 86_400))
        return round(min(score, score * days * self.percent / 100), 2)
