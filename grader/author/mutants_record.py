"""``mutants.json`` beside a lab: what became of the mutants of its references when they were last tried, with a fingerprint of all that this
depends on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict

from course_utils.exercises import FILE_NAME as EXERCISES
from grader.author.survivors import EQUIVALENT, Report, Survivor
from grader.course import text_of
from grader.imports import code_of, imported, reached
from grader.reference.lab import Lab

FILE_NAME = "mutants.json"

_DECIDES = {
    "grader.author.legal",
    "grader.reference.mutants",
    *(
        f"course_utils.checking.{name}"
        for name in ("chance", "checks", "exercise", "outcome", "rounding", "time_limit")
    ),
}
"""What makes the mutants and the inputs, and what decides the points of an output. Diagnoses and reports do not."""


def fingerprint(lab: Lab) -> str:
    """SHA-256 of what the figures depend on: the solutions, the cases, the code that judges, and the mutations themselves. Comments,
    docstrings and layout do not count, nor do the correct variants: they only keep the search for inputs within what is promised.
    """
    texts = [*lab.solution_texts.values(), (lab.folder / EXERCISES).read_text("utf-8")]
    digest = hashlib.sha256()
    for text in texts:
        digest.update(code_of(text))
    if (known := lab.folder / EQUIVALENT).is_file():
        digest.update(known.read_bytes())
    modules = {*_DECIDES, *(name for text in texts for name in imported(text))}
    for name, path in sorted(reached(modules).items()):
        if name.startswith("course_utils/cases/") or name.removesuffix(".py").replace("/", ".") in _DECIDES:
            digest.update(name.encode() + code_of(path.read_text("utf-8")))
    return digest.hexdigest()


def complaints(lab: Lab) -> list[str]:
    """Why ``mutants.json`` no longer says what the checks let pass; empty if it does, or if there is none."""
    file = lab.folder / FILE_NAME
    if not file.exists():
        return []
    try:
        recorded = json.loads(text_of(file))["fingerprint"]
    except (ValueError, TypeError, KeyError) as error:
        return [f"{file} cannot be read ({error!r}). Run `grader mutate {lab.name}`, and commit the file."]
    if recorded != fingerprint(lab):
        return [
            f"{file} is stale: what it depends on has changed. Run `grader mutate {lab.name}`, and commit the file."
        ]
    return []


def keep_record(lab: Lab, report: Report) -> None:
    """Writes ``mutants.json``: of each exercise, how many mutants were tried, are the same, and are excused; and the survivors."""
    counts = {
        name: [number, report.same.get(name, 0), report.excused.get(name, 0)]
        for name, number in report.tried.items()
    }
    text = f"""{{
"fingerprint": "{fingerprint(lab)}",
"mutants": {{
{_rows(f"{json.dumps(name)}: {numbers}" for name, numbers in counts.items())}
}},
"survivors": [
{_rows(json.dumps(asdict(each), ensure_ascii=False) for each in report.survivors)}
]
}}
"""
    (lab.folder / FILE_NAME).write_text(text, "utf-8")


def _rows(rows: Iterator[str]) -> str:
    return ",\n".join(f" {row}" for row in rows)


def recorded(lab: Lab) -> Report:
    """The last run, as ``mutants.json`` says."""
    record = json.loads((lab.folder / FILE_NAME).read_text("utf-8"))
    tried, same, excused = (
        {name: counts[at] for name, counts in record["mutants"].items()} for at in range(3)
    )
    return Report(tried, same, excused, [Survivor(**each) for each in record["survivors"]])
