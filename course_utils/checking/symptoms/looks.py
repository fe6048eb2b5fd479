"""The looks at wrong arrays: one table says in which order they are taken, and when each may speak."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from course_utils.checking.symptoms import forms, functions, places, values
from course_utils.checking.symptoms.pairs import Found, Pair, evidence
from course_utils.checking.symptoms.symptom import Symptom

_ENOUGH = 3
"""This many different numbers show that something is no chance."""


@dataclass(frozen=True)
class Look:
    """A way to look at a wrong array.

    Attributes:
        see: gives what may be said about the array, the most telling first.
        evidence: of fewer different numbers, what it sees in all failing cases is not said.
        of_first_case: of so many different numbers, what it sees in the first failing case alone is worth saying, too; None: never.
        of_size: whether what it sees tells how large the expected values are.
        vague: whether what it sees says less than almost anything else.
    """

    see: Callable[[Pair], Iterable[Found]]
    evidence: int = 0
    of_first_case: int | None = None
    of_size: bool = False
    vague: bool = False


LOOKS = (
    Look(forms.another_kind, of_first_case=0),
    Look(forms.axis_of_one, of_first_case=0),
    Look(values.another_output, of_first_case=0),
    Look(forms.transposed, of_first_case=0),
    Look(forms.too_short_or_long, of_first_case=0),
    Look(forms.summarised, of_first_case=0),
    Look(forms.same_numbers_in_another_shape, of_first_case=0),
    Look(values.one_value, of_first_case=0),
    Look(values.opposite, of_first_case=0),
    Look(values.an_input, evidence=_ENOUGH, of_first_case=_ENOUGH),
    Look(values.plus_an_input, of_first_case=0),
    Look(functions.plain_factor, of_first_case=2, of_size=True),
    Look(functions.one_minus, of_first_case=0),
    Look(functions.function_of_it, evidence=_ENOUGH, of_first_case=_ENOUGH),
    Look(functions.shares_of_multiple, of_first_case=0, of_size=True),
    Look(values.rounded_or_not, evidence=_ENOUGH, of_first_case=_ENOUGH),
    Look(places.shifted, evidence=_ENOUGH, of_first_case=_ENOUGH),
    Look(places.reordered, of_first_case=0),
    Look(functions.one_factor, evidence=_ENOUGH, of_size=True),
    Look(functions.one_offset, evidence=_ENOUGH, of_size=True),
    Look(places.other_places, of_first_case=0),
    Look(places.where_a_mask_is),
    Look(places.ends_and_diagonals),
    Look(functions.factor_of_rows, evidence=_ENOUGH, of_size=True),
    Look(functions.offset_of_rows, evidence=_ENOUGH, of_size=True),
    Look(places.all_rows_alike),
    Look(values.not_a_number, of_first_case=0),
    Look(places.zeros_expected, of_size=True),
    Look(places.zeros_instead),
    Look(places.negative_expected, of_size=True),
    Look(values.too_many_or_few),
    Look(values.off_by_one, of_size=True),
    Look(values.nearly, of_first_case=_ENOUGH, of_size=True),
    Look(values.one_sided, evidence=_ENOUGH, of_size=True, vague=True),
)
"""All looks, from the most telling to the least."""


def common(pairs: Sequence[Pair]) -> Symptom | None:
    """The most telling symptom that all of these arrays share; its sentence is about ``{it}``."""
    found = _first_shared(pairs, [(look, look.evidence) for look in LOOKS])
    if found and not found.vague:
        return found
    if varies := functions.factor_of_its_own(pairs):
        return Symptom(*varies, of_size=True)
    return found


def of_first_case(pairs: Sequence[Pair]) -> Symptom | None:
    """The most telling symptom that the arrays of one case share, if it is worth saying of one case."""
    looks = [(look, look.of_first_case) for look in LOOKS if look.of_first_case is not None]
    return _first_shared(pairs, looks)


def _first_shared(pairs: Sequence[Pair], looks: Iterable[tuple[Look, int]]) -> Symptom | None:
    """What the first of some looks, each with the evidence that it needs, sees in all of these arrays."""
    for look, needed in looks:
        shared = _seen(look, pairs[0])
        for pair in pairs[1:]:
            if not shared:
                break
            here = _seen(look, pair)
            shared = [each for each in shared if each in here]
        if shared and (not needed or evidence(pairs) >= needed):
            return Symptom(*shared[0], of_size=look.of_size, vague=look.vague)
    return None


def _seen(look: Look, pair: Pair) -> list[Found]:
    try:
        return list(look.see(pair))
    except (ValueError, TypeError, IndexError, OverflowError):  # shapes or kinds that it is not made for
        return []
