"""The rules of a term: what each lab weighs, what is dropped, late days, rounding, grades. They are one TOML text, which is checked when somebody
enters it into the gradebook. It is kept there, so a backup has it and the log says who changed it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlalchemy import Column, Connection, MetaData, String, Table, select
from sqlalchemy.dialects.sqlite import insert

from grader.book.statuses import Status
from grader.errors import GraderError
from grader.files import toml_of

RULES = Table(
    "transformer_labs_rules",
    MetaData(),
    Column("name", String(16), primary_key=True),
    Column("text", String, nullable=False),
)
_TERM = "term"
_LONGEST = 100_000
"""The most characters of the rules, which the log keeps each time that they are entered."""
_MOST_DAYS = 366


COUNTS, BONUS, LEFT_OUT = "counts", "bonus", "left out"
"""What the rules may say of everything that is not on a lab's core path."""


@dataclass(frozen=True)
class Category:
    """Labs that weigh something together.

    Attributes:
        drop_lowest: so many of a student's lowest do not count.
        optional: how what is not on the core path counts in these labs.
    """

    name: str
    weight: Decimal
    labs: tuple[str, ...]
    drop_lowest: int = 0
    optional: str = COUNTS


@dataclass(frozen=True)
class Rules:
    """The rules of a term.

    Attributes:
        categories: what counts. A lab that is in none does not.
        labs: lab -> what it weighs in its category, where that is not 1.
        optional: how what is not on the core path counts in labs that are in no category: as all else, only as points beyond 100 %, or not at all.
        decimals: of the final percentage.
        grades: the least percentage for each grade, the best first; empty if there are none.
        late_days: for the term.
        on_request: whether late days are spent only where an instructor enters it.
        days: usual time for a lab, of which 1.5 times the time is half as much again.
    """

    categories: tuple[Category, ...]
    labs: Mapping[str, Decimal] = field(default_factory=dict)
    optional: str = COUNTS
    decimals: int = 1
    grades: tuple[tuple[str, Decimal], ...] = ()
    late_days: int = 0
    on_request: bool = False
    days: Decimal = Decimal(7)

    def weight_of(self, lab: str) -> Decimal:
        """What a lab weighs in its category."""
        return self.labs.get(lab, Decimal(1))

    def optional_in(self, lab: str) -> str:
        """How what is not on a lab's core path counts there."""
        return next((each.optional for each in self.categories if lab in each.labs), self.optional)

    def more_time(self, time: Status) -> timedelta:
        """How much more than the usual time for a lab somebody has who has this many times as much."""
        return timedelta(days=(float(time.amount) - 1) * float(self.days))


def default(labs: Sequence[str]) -> Rules:
    """The rules where none were entered: all labs weigh the same, and nothing is dropped."""
    return Rules((Category("labs", Decimal(100), tuple(labs)),))


_KEYS = ("drop_lowest", "decimals", "optional", "late_days", "spend", "days", "categories", "labs", "grades")


def parsed(text: str, lab_named: Callable[[str], str], labs: Sequence[str], file: str = "The rules") -> Rules:
    """The rules that a text says.

    Args:
        lab_named: the lab that somebody means who writes its name or number.
        labs: all labs of the course.
        file: what messages call the text.

    Raises:
        GraderError: it is no TOML, or says something that no rule says. The message names the place.
    """
    if len(text) > _LONGEST:
        raise GraderError(
            f"{file} has more than {_LONGEST:,} characters. Is it the right file? Nothing has changed."
        )
    try:
        return _Reader(file, lab_named).rules(toml_of(text), labs)
    except ValueError as error:  # no TOML, or a number of thousands of digits
        raise GraderError(f"{file} cannot be read as TOML: {error}. Nothing has changed.") from None


class _Reader:
    def __init__(self, file: str, lab_named: Callable[[str], str]) -> None:
        self.file, self.lab_named = file, lab_named

    def _fault(self, where: str, what: str) -> GraderError:
        return GraderError(f"{self.file}: {where} {what} Nothing has changed.")

    def rules(self, found: Mapping[str, Any], labs: Sequence[str]) -> Rules:
        self._only(found, "", _KEYS)
        lowest = self._whole(found, "", "drop_lowest", 0, 100)
        optional = self._word(found, "", "optional", (COUNTS, BONUS, LEFT_OUT))
        weights = {}
        for name, value in self._table(found, "labs").items():
            lab = self._lab(f"labs.{name}", name)
            if lab in weights:
                raise self._fault(f"labs.{name}", f"is {lab}, which is there twice.")
            weights[lab] = self._number(f"labs.{name}", value, above=0)
        categories = [
            self._category(name, value, lowest, optional)
            for name, value in self._table(found, "categories").items()
        ]
        if not categories:
            categories = [Category("labs", Decimal(100), tuple(labs), lowest, optional)]
        owner: dict[str, str] = {}
        for each in categories:
            for lab in each.labs:
                if lab in owner:
                    raise self._fault(
                        f"categories.{each.name}.labs", f"has {lab}, which {owner[lab]} has already."
                    )
                owner[lab] = each.name
        if strange := [lab for lab in weights if lab not in owner]:
            raise self._fault(f"labs.{strange[0]}", "weighs something, and is in no category.")
        return Rules(
            tuple(categories),
            weights,
            optional,
            self._whole(found, "", "decimals", 1, 2),
            self._grades(found),
            self._whole(found, "", "late_days", 0, 100),
            self._word(found, "", "spend", ("automatically", "on request")) == "on request",
            self._number("days", found.get("days", 7), above=0, most=_MOST_DAYS),
        )

    def _only(self, found: Mapping[str, Any], where: str, keys: Sequence[str]) -> None:
        if strange := [key for key in found if key not in keys]:
            raise self._fault(f"{where}{strange[0]}", f"is not a rule. The rules are: {', '.join(keys)}.")

    def _table(self, found: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        value = found.get(key, {})
        if not isinstance(value, dict):
            raise self._fault(
                key, f"is not a table: write [{key}] on a line of its own, and its rules below."
            )
        return value

    def _category(self, name: str, found: Any, lowest: int, optional: str) -> Category:
        where = f"categories.{name}"
        if not isinstance(found, dict):
            raise self._fault(where, f"is not a table: write [{where}], and below it weight and labs.")
        self._only(found, f"{where}.", ("weight", "labs", "drop_lowest", "optional"))
        named = found.get("labs")
        if not isinstance(named, list) or not named or not all(isinstance(each, str) for each in named):
            raise self._fault(f"{where}.labs", 'is missing, or no list of labs, as in labs = ["01", "02"].')
        if "weight" not in found:
            raise self._fault(f"{where}.weight", "is missing.")
        labs = [self._lab(f"{where}.labs", each) for each in named]
        if len({*labs}) < len(labs):
            raise self._fault(f"{where}.labs", "names a lab twice.")
        return Category(
            name,
            self._number(f"{where}.weight", found["weight"], above=0),
            tuple(labs),
            self._whole(found, f"{where}.", "drop_lowest", lowest, 100),
            self._word(found, f"{where}.", "optional", (COUNTS, BONUS, LEFT_OUT), optional),
        )

    def _lab(self, where: str, name: str) -> str:
        try:
            return self.lab_named(name)
        except GraderError as error:
            raise self._fault(where, f"names no lab of the course. {error}") from None

    def _number(self, where: str, value: Any, above: int | None = None, most: int = 1_000_000) -> Decimal:
        try:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InvalidOperation
            number = Decimal(str(value))
        except InvalidOperation:
            number = Decimal("nan")
        if not number.is_finite() or number > most or (above is not None and number <= above):
            more = f" greater than {above}" if above is not None else ""
            raise self._fault(where, f"is {value!r}, and has to be a number{more}, at most {most:,}.")
        return number

    def _whole(self, found: Mapping[str, Any], where: str, key: str, usual: int, most: int) -> int:
        value = found.get(key, usual)
        if type(value) is not int or not 0 <= value <= most:
            raise self._fault(
                f"{where}{key}", f"is {value!r}, and has to be a whole number from 0 to {most}."
            )
        return value

    def _word(
        self, found: Mapping[str, Any], where: str, key: str, words: Sequence[str], usual: str = ""
    ) -> str:
        value = found.get(key, usual or words[0])
        if value not in words:
            choice = f"{', '.join(map(repr, words[:-1]))} or {words[-1]!r}"
            raise self._fault(f"{where}{key}", f"is {value!r}, and has to be {choice}.")
        return value

    def _grades(self, found: Mapping[str, Any]) -> tuple[tuple[str, Decimal], ...]:
        least = {
            name: self._number(f"grades.{name}", value)
            for name, value in self._table(found, "grades").items()
        }
        for name, value in least.items():
            if not 0 <= value <= 100:
                raise self._fault(f"grades.{name}", f"is {value}, and has to be a percentage from 0 to 100.")
        if len({*least.values()}) < len(least):
            raise self._fault("grades", "has two grades from the same percentage.")
        return tuple(sorted(least.items(), key=lambda each: -each[1]))


# ---------------------------------------------------------------------------------- in the gradebook


def text_in(db: Connection) -> str:
    """The text of the rules; empty if none were entered."""
    return db.execute(select(RULES.c.text).filter_by(name=_TERM)).scalar() or ""


def enter(db: Connection, text: str) -> None:
    """Enters the text of the rules in place of what is there."""
    add = insert(RULES).values(name=_TERM, text=text)
    db.execute(add.on_conflict_do_update(index_elements=["name"], set_={"text": add.excluded.text}))
