"""docs/claims.md says what each claim of a lab rests on; every line of it is looked up in the lab.

A claim whose words have changed, a section that has another heading and a name that the lab no longer has are found here, and so
is a measured result that no line speaks of.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import pytest
from project import LABS, ROOT

COLUMNS = ("section", "claim", "shown by", "rival", "outcome")
OUTCOMES = ("holds", "control added", "changed", "cited")


@dataclass(frozen=True)
class Line:
    """A line of a lab's table, and where it stands."""

    number: int
    lab: str
    section: str
    claim: str
    evidence: str
    rival: str
    outcome: str

    def __str__(self) -> str:
        return f"docs/claims.md, line {self.number} ({self.lab})"


def lines() -> list[Line]:
    """Every line of every lab's table; raises an AssertionError where the page has another form."""
    found, lab = [], ""
    for number, text in enumerate((ROOT / "docs/claims.md").read_text("utf-8").splitlines(), 1):
        if heading := re.fullmatch(r"#+ (.+)", text):
            lab = heading[1] if text.startswith("## ") else ""
        elif lab and text.startswith("|"):
            cells = tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", text)[1:-1])
            assert len(cells) == len(COLUMNS), (
                f"line {number} has {len(cells)} columns instead of {len(COLUMNS)}"
            )
            if cells != COLUMNS and not re.fullmatch(r"[-| ]+", text):
                found.append(Line(number, lab, *cells))
    return found


@cache
def source(lab: str) -> str:
    return next((ROOT / "solutions" / lab).glob("[0-9][0-9]_*.py")).read_text("utf-8")


@cache
def sections(lab: str) -> dict[str, str]:
    """Heading (without a standing such as *(optional)*) -> the words below it up to the next heading that is as high, comments'
    marks and line breaks taken away. The title's is the whole lab."""
    headings = list(
        re.finditer(r"^# (#+) (.+?)(?: \((?:optional|before lab \d\d)[^)]*\))?$", source(lab), re.M)
    )
    found = {}
    for place, heading in enumerate(headings):
        ends = (later.start() for later in headings[place + 1 :] if len(later[1]) <= len(heading[1]))
        found[heading[2]] = words(source(lab)[heading.start() : next(ends, None)])
    return found


def words(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"^# ?", "", text, flags=re.M))


LINES = lines()


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.lab}-{line.number}")
def test_a_claim_is_really_in_its_section(line: Line):
    assert line.lab in LABS, f"{line}: there is no such lab"
    assert line.section in sections(line.lab), f"{line}: the lab has no heading {line.section!r}"
    text = sections(line.lab)[line.section]
    quotes, measured = re.findall("“([^”]+)”", line.claim), re.findall(r"`\[(\w+)\]`", line.claim)
    assert quotes or measured, f"{line}: the claim quotes nothing of the lab"
    for quote in quotes:
        for part in quote.split(" ... "):
            assert part in text, f"{line}: {part!r} is not in {line.section!r}"
    for name in measured:
        assert re.search(rf'measured\( ?"\w+\.{name}"', text), (
            f"{line}: {line.section!r} does not measure {name!r}"
        )


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.lab}-{line.number}")
def test_what_shows_a_claim_and_its_rival_are_in_the_lab(line: Line):
    assert line.evidence and line.rival, f"{line}: evidence or rival is empty"
    for name in re.findall("`([^`]+)`", line.evidence + line.rival):
        assert name in words(source(line.lab)), f"{line}: {name!r} is nowhere in the lab"
    assert line.outcome.startswith(tuple(f"**{each}**" for each in OUTCOMES)), f"{line}: another outcome"


@pytest.mark.parametrize("lab", sorted({line.lab for line in LINES}))
def test_each_measured_result_of_a_lab_has_a_line(lab: str):
    measured = set(re.findall(r'^ *measured\(\s*"\w+\.(\w+)"', source(lab), re.M))
    listed = {name for line in LINES if line.lab == lab for name in re.findall(r"`\[(\w+)\]`", line.claim)}
    assert measured <= listed, f"no line for {sorted(measured - listed)}"


@pytest.mark.parametrize("lab", [*LABS[:8], *LABS[9:12]])
def test_whether_a_result_is_called_measured_is_computed_from_its_numbers(lab: str):
    calls = re.findall(r"^ *measured\((.*?)\)$", source(lab), re.M | re.S)
    assert calls and not [call for call in calls if "shown=" not in call]
