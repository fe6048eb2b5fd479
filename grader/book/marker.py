"""What the gradebook remembers of a graded submission, by which a later run sees that nothing is left to do (:mod:`grader.grade.resume`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Marker:
    """What the gradebook remembers of one graded submission.

    Attributes:
        handed_in: fingerprint of the submission, see :func:`grader.receive.handed_in.fingerprint_of_submission`.
        lab: fingerprint of everything else that the grade depends on, see :func:`grader.grade.resume.fingerprint_of_lab`.
        notebook: SHA-256 of the graded notebook's file.
    """

    handed_in: str
    lab: str
    notebook: str
    state: str
    score: float
    max_score: float
    by_hand: int
    recognised: tuple[str, ...]
    notes: tuple[str, ...]
    given: tuple[str, ...] = ()
    possible: tuple[str, ...] = ()
    stands_out: tuple[str, ...] = ()
