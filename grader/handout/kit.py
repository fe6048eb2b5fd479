"""What teachers want at hand: for each lab a page, its pictures one to a screen, its quiz and an examination on paper; and plans of a term. Most of
it is made of the lab itself; what only a teacher knows is in the lab's ``teaching.md``.

The pages hold solutions. They are for those who teach, and nothing of them is in what learners get.
"""

from __future__ import annotations

import random
import re
import shutil
import string
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from nbformat import NotebookNode

from course_utils.own_code.practice import questions_about
from course_utils.own_code.questions import chosen
from course_utils.quiz import FILE_NAME as QUIZ
from course_utils.quiz import Question, read_questions
from grader.author.rules import ROW
from grader.core_path import pieces
from grader.course import Course, text_of
from grader.handout.site import (
    Say,
    ends,
    results_of,
    run_sphinx,
    see_that_it_may_be_replaced,
    write_static,
)
from grader.reference.lab import Lab, checked_exercise
from grader.reference.teaching_notes import NOTES, Notes, Task, read_notes

EXAM_QUESTIONS = 20
_SPOKEN = 2
"""Of them, so many that a lab has for pairs."""
WEEKS = (4, 8, 13)
_MARK = ".teaching-kit"
"""A file that says that a folder is a kit, and may be replaced by another."""
_SECONDS = 60.0
"""CPU time for making questions about a lab's code."""

# ---------------------------------------------------------------------------------- a term's plan


def plan(minutes: Mapping[str, int], weeks: int) -> list[list[str]]:
    """Labs in their order, shared out over weeks so that the fullest week is as light as it can be.

    Args:
        minutes: lab -> what its core path takes.

    Returns:
        the labs of each week; with more weeks than labs, the last weeks are empty, for whatever took longer.

    Raises:
        ValueError: there is no week.
    """
    if weeks < 1:
        raise ValueError(f"A term has at least one week, not {weeks}.")
    names = list(minutes)
    for most in sorted(
        {sum(list(minutes.values())[i:j]) for i in range(len(names)) for j in range(i + 1, len(names) + 1)}
    ):
        found: list[list[str]] = [[]]
        for name in names:
            if found[-1] and sum(minutes[each] for each in found[-1]) + minutes[name] > most:
                found.append([])
            found[-1].append(name)
        if max(minutes.values()) <= most and len(found) <= weeks:
            return found + [[] for _ in range(weeks - len(found))]
    return [[] for _ in range(weeks)]


# ---------------------------------------------------------------------------------- pages


@dataclass
class Page:
    """What is written of a lab."""

    lab: Lab
    notes: Notes | None
    questions: tuple[Question, ...]
    exam: list[Task] = field(default_factory=list)
    pictures: list[tuple[str, str]] = field(default_factory=list)


def build_kit(course: Course, out: Path, run: Collection[str], say: Say = print) -> Path:
    """Makes the kit, and puts it in place of an earlier one only if nothing is wrong with it.

    Args:
        out: its folder.
        run: the labs that are run, solved, if no earlier run of the same lab is at hand; others come without their pictures.

    Returns:
        the first page.

    Raises:
        CourseError: a lab is unknown or fails, its notes are not complete, or the folder contains something else.
    """
    see_that_it_may_be_replaced(out, _MARK, "a teaching kit")
    labs = [Lab.load(course, name) for name in course.labs()]
    for name in run:
        Lab.load(course, name)
    pages = []
    for lab in labs:
        page = Page(lab, read_notes(lab), read_questions(text_of(lab.folder / QUIZ)))
        say(f"{lab.name}: questions about its code ...")
        page.exam = examination(page)
        result = results_of(lab, course.build / "executed", lab.name in run, say)
        page.pictures = list(pictures(result)) if result else []
        pages.append(page)
    with tempfile.TemporaryDirectory() as scratch:
        source, built = Path(scratch, "source"), Path(scratch, "html")
        source.mkdir()
        write_static(source / "_static")
        _write(pages, source)
        say("Sphinx makes the pages ...")
        run_sphinx(source, built, Path(scratch, "doctrees"))
        for page in pages:
            if page.pictures:
                (built / f"{page.lab.name}_pictures.html").write_text(_slides(page), "utf-8")
        (built / _MARK).write_text("The folder of a teaching kit; `grader kit` replaces it.\n", "utf-8")
        if out.exists():
            shutil.rmtree(out)
        shutil.copytree(built, out)
    if without := [page.lab.name for page in pages if not page.pictures]:
        say(f"Without pictures, because they were not run: {', '.join(without)}.")
    if without := [page.lab.name for page in pages if not page.notes]:
        say(f"Without notes for teaching, because there is no {NOTES}: {', '.join(without)}.")
    return out / "index.html"


def examination(page: Page) -> list[Task]:
    """Questions to choose from, as many as there is room for: a teacher's own, some that the lab has for pairs, those about the reference's code,
    and the quiz.
    """
    lab = page.lab
    texts = [cell.source for cell in lab.source().cells if cell.cell_type == "code"]
    quiz = [_as_task(each, "the quiz") for each in page.questions if not each.name]
    predicted = [_as_task(each, "the lab's predictions") for each in page.questions if each.name]
    own = [*page.notes.exam] if page.notes else []
    spoken = page.notes.discussion.items() if page.notes else ()
    own += [Task(asked, said, 2, "a discussion in pairs") for asked, said in list(spoken)[:_SPOKEN]]
    room = EXAM_QUESTIONS - len(own)
    about = chosen(
        list(questions_about(lab.slug, lab.reference, texts, random.Random(lab.name), seconds=_SECONDS)),
        max(room - len(quiz), room // 2),
    )
    code = [_as_task(asked.question, f"the code of `{asked.exercise}`") for asked in about]
    return [*own, *code, *quiz, *predicted][:EXAM_QUESTIONS]


def _as_task(question: Question, source: str) -> Task:
    letters = list(zip(string.ascii_uppercase, question.options, strict=False))
    code = f"\n\n```python\n{question.code}\n```" if question.code else ""
    options = "\n".join(f"- **{letter}** {option.text}" for letter, option in letters)
    letter, right = next((letter, option) for letter, option in letters if option.right)
    text, why = map(_of_nobody, (question.text, right.why))
    return Task(f"{text}{code}\n\n{options}", f"**{letter}.** {why}", 1, source)


def _of_nobody(text: str) -> str:
    """What is said of a learner's own code, for an examination that shows code which nobody in the room wrote."""
    return text.replace("your code", "this code").replace("Your code", "This code")


def pictures(notebook: NotebookNode) -> Iterator[tuple[str, str]]:
    """Heading and HTML of each picture that a solved notebook shows, in order, without the reports of checks."""
    heading = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            found = re.findall(r"^#{2,4} (.+)$", cell.source, flags=re.MULTILINE)
            heading = found[-1] if found else heading
            continue
        if checked_exercise(cell):
            continue
        for output in cell.get("outputs", []):
            html = output.get("data", {}).get("text/html", "")
            html = html if isinstance(html, str) else "".join(html)
            if re.search(r"<(img|svg)\b", html):
                yield heading, html


def _write(pages: Sequence[Page], source: Path) -> None:
    """All pages as Sphinx reads them."""
    (source / "index.md").write_text(_first(pages), "utf-8")
    for page in pages:
        name = page.lab.name
        (source / f"{name}.md").write_text(_lesson(page), "utf-8")
        for what, title, tasks in (
            ("quiz", "quiz", [_as_task(each, "the quiz") for each in page.questions if not each.name]),
            ("exam", "questions for an examination", page.exam),
        ):
            heading = f"Lab {page.lab.info.number}, {page.lab.info.title}: {title}"
            (source / f"{name}_{what}.md").write_text(_paper(heading, tasks), "utf-8")
            (source / f"{name}_{what}_solutions.md").write_text(_paper(heading, tasks, solved=True), "utf-8")


def _first(pages: Sequence[Page]) -> str:
    minutes = {page.lab.name: page.lab.info.core_minutes or page.lab.info.minutes for page in pages}
    infos = {page.lab.name: page.lab.info for page in pages}
    lines = [
        "# Teaching kit",
        "",
        "For each lab: what to show, what goes wrong, what to talk about, its pictures for the wall, and its quiz and an examination on "
        "paper. **These pages contain solutions.** They are for those who teach.",
        "",
        "| lab | core path | all of it | after | pages |",
        "|---|---|---|---|---|",
    ]
    for page in pages:
        name, info = page.lab.name, page.lab.info
        shown = f', <a href="{name}_pictures.html">pictures</a>' if page.pictures else ""
        lines.append(
            f"| {info.number} {info.title} | {minutes[name]} min | {info.minutes} min | {', '.join(info.needs) or '–'} | "
            f"[to teach it]({name}.md){shown}, [quiz]({name}_quiz.md), [exam]({name}_exam.md) |"
        )
    for weeks in WEEKS:
        lines += ["", f"## {weeks} weeks", "", "| week | labs | minutes on the core path |", "|---|---|---|"]
        for number, names in enumerate(plan(minutes, weeks), 1):
            said = "; ".join(f"{infos[name].number} {infos[name].title}" for name in names)
            lines.append(
                f"| {number} | {said or 'what took longer'} | {sum(minutes[name] for name in names) or '–'} |"
            )
    lines += [
        "",
        "Minutes are for reading and writing on the core path, discussions not included. Where a week is too full, each lab's page says "
        "what to leave out.",
    ]
    for caption, ending in {"To teach": "", "On paper": "_quiz", "Examinations": "_exam"}.items():
        lines += ["", "```{toctree}", ":hidden:", f":caption: {caption}", ""]
        lines += [
            f"{page.lab.name}{ending}{kind}"
            for page in pages
            for kind in (("", "_solutions") if ending else ("",))
        ]
        lines += ["```"]
    return "\n".join([*lines, ""])


def _lesson(page: Page) -> str:
    lab, notes, info = page.lab, page.notes, page.lab.info
    shown = (
        f' · <a href="{lab.name}_pictures.html">Its pictures, one to a screen</a>' if page.pictures else ""
    )
    core = f"about {info.core_minutes} minutes for the core path, " if info.core_minutes else "about "
    lines = [
        f"# Lab {info.number}: {info.title}",
        "",
        f"Learners build {info.builds}. It comes after {', '.join(f'lab {each}' for each in info.needs) or 'nothing'}, and takes {core}"
        f"{info.minutes} for all of it.",
        "",
        f"[Quiz on paper]({lab.name}_quiz.md) · [Questions for an examination]({lab.name}_exam.md){shown}",
        "",
        "## What they can do at the end",
        "",
        ends(lab),
        "## The way through it",
        "",
        "| section | exercises, with minutes | can it wait? |",
        "|---|---|---|",
        *_way(lab),
        "",
    ]
    return "\n".join([*lines, *(_from_notes(lab, notes) if notes else ())])


def _from_notes(lab: Lab, notes: Notes) -> Iterator[str]:
    yield from ("## On the board", "", notes.board, "", "## If time is short", "", notes.short, "")
    yield from ("## Mistakes that many make", "")
    for mistake in notes.mistakes:
        entries = lab.misconceptions[f"{lab.slug}.{mistake.exercise}"]
        entry = next(each for each in entries if each.name == mistake.name)
        yield from (f"### `{mistake.exercise}`: {entry.title}", "")
        yield from (f"**Ask:** {mistake.ask}", "", f"**Listen for:** {mistake.listen}", "")
        yield from (f"*What the check says:* {entry.hint}", "")
    yield from ("## To talk about", "")
    for question, answer in notes.discussion.items():
        yield from (question if "*" in question else f"**{question}**", "", answer, "")


def _way(lab: Lab) -> Iterator[str]:
    """A row for each section: heading, exercises with their minutes, whether it is on the core path."""
    source = lab.source()
    minutes = {name: needed for name, needed, _ in ROW.findall(source.cells[0].source)}
    rows: dict[str, tuple[list[str], str]] = {}
    heading = ""
    for piece in pieces(source):
        if found := re.match(r"## (.+)", piece.text):
            heading = found[1]
            wait = {"": "", "optional": "yes"}.get(piece.until, f"until lab {piece.until}")
            rows[heading] = ([], wait)
        elif heading and (name := checked_exercise(piece.cell)):
            name = name.partition(".")[2]
            later = {"": "", "optional": ", optional"}.get(piece.until, f", before lab {piece.until}")
            rows[heading][0].append(
                f"`{name}` {minutes.get(name, '?')}{later if not rows[heading][1] else ''}"
            )
    for title, (names, wait) in rows.items():
        yield f"| {title} | {'; '.join(names) or '–'} | {wait or 'no'} |"


def _paper(heading: str, tasks: Sequence[Task], solved: bool = False) -> str:
    points = sum(task.points for task in tasks)
    lines = [
        f"# {heading}{' (solutions)' if solved else ''}",
        "",
        f"{len(tasks)} questions, {points} points."
        + ("" if solved else " Choose from them; printing leaves out what is around them."),
        "",
    ]
    for number, task in enumerate(tasks, 1):
        plural = "s" * (task.points != 1)
        lines += [f"## {number}. ({task.points} point{plural})", "", task.text, ""]
        if solved:
            lines += ["`````{admonition} Solution", task.solution, "`````", "", f"*From {task.source}.*", ""]
    return "\n".join(lines)


def _slides(page: Page) -> str:
    """The pictures of a lab, one to a screen, and on paper one to a sheet. Arrow keys and the space bar go on."""
    info = page.lab.info
    slides = "".join(
        f'<section tabindex="0" aria-label="{escape(title)}"><h2>{escape(title)}</h2><div>{html}</div></section>'
        for title, html in page.pictures
    )
    return f"""<!doctype html>
<html lang="en" data-theme="light"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Lab {info.number}: {escape(info.title)}, its pictures</title>
<style>
html{{scroll-snap-type:y mandatory;color-scheme:light}} body{{margin:0;background:#fff;color:#1b1b1b;font:18px/1.4 system-ui,sans-serif}}
section{{box-sizing:border-box;min-height:100vh;padding:2vh 4vw;scroll-snap-align:start;display:flex;flex-direction:column;gap:2vh;outline:none}}
section>div{{flex:1;display:flex;flex-direction:column;justify-content:center;align-items:center;min-width:0;overflow:auto}}
h2{{margin:0;font-size:1.4rem}} img{{width:auto!important;min-width:min(60vw,60rem);max-height:82vh!important;object-fit:contain}}
@media print{{section{{break-after:page;min-height:0}} @page{{size:A4 landscape;margin:10mm}}}}
</style></head><body>{slides}</body></html>
"""
