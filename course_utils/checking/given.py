"""Follow-through: whether an exercise is right given a mistake in an earlier one that it calls.

Nothing is trusted for this but outcomes that are judged anyway. This module compares them. What it compares them with comes from
:mod:`grader.reference.follow`, or is the reference itself if the notebook ran with a working earlier exercise (:mod:`grader.grade.working`). In the
first case the earlier exercise must be known exactly. In every case it gives what a misconception gives, or (in grading) a small mistake in the
reference. The later one must give, in every case,
what the reference gives with that mistake in the earlier one's place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from course_utils.checking.bypass import Use
from course_utils.checking.checks import CheckResult, checks_of, difference, score_of, seen_at_work
from course_utils.checking.exercise import Exercise
from course_utils.checking.expected import Expected, Misconception
from course_utils.checking.outcome import Outcome


@dataclass(frozen=True)
class Given:
    """What holds of an exercise given mistakes in earlier ones.

    Attributes:
        earlier: the names of the exercises with the mistakes, in the order of the lab.
        checks: those that can hold with these mistakes.
        score: share of the exercise's points, 0 to 1, before the course's own share is applied.
        working: whether it holds with the reference in the place of the earlier ones, which give no usable values. (Only grading
            can tell.)
    """

    earlier: tuple[str, ...]
    checks: tuple[CheckResult, ...]
    score: float
    working: bool = False

    @property
    def summary(self) -> str:
        """Ends a sentence that begins with the exercise's name."""
        names = " and ".join(f"`{name}`" for name in self.earlier)
        whole = all(check.passed for check in self.checks)
        if self.working:
            return f"{'right' if whole else 'every value is right'} with a working {names}. Fix your {names} first."
        right = "correct" if whole else "every value is correct"
        mistakes = "mistake" if len(self.earlier) == 1 else "mistakes"
        return f"{right}, given the {mistakes} in your {names}. Fix {names} first."


def same(exercise: Exercise, outcomes: Sequence[Outcome], others: Sequence[Outcome]) -> bool:
    """Whether two implementations give the same values in every case, and both leave the inputs unchanged or both do not.

    Where there are no values, nothing is the same.
    """
    pairs = list(zip(outcomes, others, strict=True))
    changes = [bool(outcome.changed_inputs) == bool(other.changed_inputs) for outcome, other in pairs]
    return all(changes) and _same_values(exercise, pairs)


def _same_values(exercise: Exercise, pairs: Iterable[tuple[Outcome, Outcome]]) -> bool:
    return all(not other.problem and not difference(exercise, outcome, other) for outcome, other in pairs)


def exactly(exercise: Exercise, outcomes: Sequence[Outcome], expected: Expected) -> tuple[Misconception, ...]:
    """The misconceptions that give these outcomes in every case; usually one or none, and none of what is right."""
    if same(exercise, outcomes, expected.reference):
        return ()
    return tuple(
        each for each, wrongly in expected.misconceptions.items() if same(exercise, outcomes, wrongly)
    )


def given_earlier(
    exercise: Exercise,
    outcomes: Sequence[Outcome],
    expected: Expected,
    earlier: Sequence[str],
    substituted: Sequence[Outcome],
    bypass: Sequence[Use] = (),
) -> Given | None:
    """What holds given the mistakes in the ``earlier`` exercises; None if the values are not those that follow from them.

    A property that the mistakes themselves break cannot hold, so it does not count against the learner. All others do.

    Args:
        substituted: the reference's outcomes with these mistakes in place.
    """
    if (
        bypass
        or seen_at_work(outcomes)
        or not _same_values(exercise, zip(outcomes, substituted, strict=True))
    ):
        return None
    wanted = replace(expected, reference=tuple(substituted))
    own, best = checks_of(exercise, outcomes, wanted), checks_of(exercise, substituted, wanted)
    possible = tuple(mine for mine, other in zip(own, best, strict=True) if mine.passed or other.passed)
    excused = [replace(mine, passed=mine.passed or mine not in possible) for mine in own]
    return Given(tuple(earlier), possible, score_of(excused))


def all_earlier(exercise: Exercise, exercises: dict[str, Exercise]) -> tuple[str, ...]:
    """The names of the exercises that this one uses, and of those that these use in turn, in the order of the lab.

    Args:
        exercises: those of the lab, by name.
    """
    found: set[str] = set()
    left = list(exercise.uses)
    while left:
        if (name := left.pop()) in exercises and name not in found:
            found.add(name)
            left += exercises[name].uses
    return tuple(name for name in exercises if name in found)
