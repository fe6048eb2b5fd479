"""The guides are true: links lead somewhere, what they name exists, and numbers and lists that the code also has are the code's.

``tests/commands/test_commands.py`` reads the commands on lines of their own, ``tests/test_prose.py`` the language.
"""

from __future__ import annotations

import doctest
import importlib
import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from project import LABS, ROOT
from typer.main import get_group

from course_utils.checking.exercise import Exercise
from course_utils.data.documentation import load_documentation
from course_utils.data.language_names import load_language_names
from course_utils.data.own import default_rows, load_unlabelled
from course_utils.data.paragraphs import load_paragraphs
from course_utils.data.resume_templates import TEMPLATES
from course_utils.data.stories import SEEN_NAMES, UNSEEN_NAMES, Names
from course_utils.data.summaries import load_summaries
from course_utils.own_code import practice
from course_utils.progress import PROGRESS_VARIABLE
from grader import files
from grader.book import backups, readings
from grader.book import requests as requests_of_learners
from grader.cli import COMMANDS
from grader.commands import week
from grader.grade import autograde, results
from grader.handout import kit
from grader.people import server
from grader.receive import beside, pictures, regrade, sources
from grader.reference import teaching_notes
from grader.run import kernels
from grader.run.states import Limited as RunLimits
from grader.sandbox.preloaded import Limits
from grader.show import class_facts, pages, progress_bar, viva

GUIDES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")),
    *sorted((ROOT / "docs").glob("*.md")),
]
WORDS = dict(
    enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
        ]
    )
)
MIB = 2**20


def text_of(guide: Path) -> str:
    return guide.read_text("utf-8")


def each_guide(function):
    return pytest.mark.parametrize("guide", GUIDES, ids=lambda file: file.name)(function)


# ---------------------------------------------------------------------------------- links and names


def anchors(page: str) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    page = re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#{1,6} +(.+?) *$", page, re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles)
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


@each_guide
def test_a_link_leads_to_a_file_and_to_a_heading_in_it(guide):
    lost = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(guide)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, heading = target.partition("#")
        file = guide.parent / name if name else guide
        if not file.exists() or (heading and heading not in anchors(text_of(file))):
            lost.append(target)
    assert not lost


MADE = ("site", "kit", "live", "lite", "notebooks/START.md")
"""Folders and pages that commands make."""


def named(guide: Path) -> Iterator[str]:
    """Paths of the project that a guide names as code."""
    rooms = "benchmarks|course_utils|deploy|docs|grader|notebooks|scripts|solutions|tests"
    for code in re.findall(r"`([^`\n]+)`|^ {4,}(\S.*)$", text_of(guide), re.MULTILINE):
        yield from re.findall(rf"(?<![\w/.~-])((?:{rooms})/[\w./-]*\w)", " ".join(code))


@each_guide
def test_a_file_that_a_guide_names_is_there(guide):
    if guide.name == "CHANGELOG.md":  # it also names what there was
        return
    placeholder = re.compile(r"\bNN|_$|LAB\b|14_")
    assert [
        path
        for path in named(guide)
        if not placeholder.search(path) and not path.startswith(MADE) and not (ROOT / path).exists()
    ] == []


@each_guide
def test_a_target_of_make_that_a_guide_names_is_there(guide):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    typed = re.findall(r"(?:`|^ {4,})(?:\w+=\S+ )?make ([a-z][a-z-]*)", text_of(guide), re.MULTILINE)
    assert {*typed} <= targets


def options_of(words: list[str]) -> set[str] | None:
    """The options of the command that a call names, a subcommand's or those of all; None if there is no such command."""
    module = next((commands[words[0]][0] for commands in COMMANDS.values() if words[0] in commands), None)
    if module is None:
        return None
    command = get_group(importlib.import_module(f"grader.commands.{module}").app).commands[words[0]]
    below = getattr(command, "commands", {})
    every = [below[words[1]]] if words[1:2] and words[1] in below else [command, *below.values()]
    return {
        option for each in every for param in each.params for option in (*param.opts, *param.secondary_opts)
    }


@each_guide
def test_a_command_that_a_sentence_names_is_there_with_its_options(guide):
    wrong = []
    for call in re.findall(r"`(?:\.venv/bin/)?grader ([a-z][^`\n]*)`", text_of(guide)):
        words = call.split()
        options, typed = (
            options_of(words),
            {word.partition("=")[0] for word in words if word.startswith("--")},
        )
        if options is None or not typed <= options | {"--help"}:
            wrong.append(call)
    assert not wrong


@pytest.mark.parametrize(
    "guide", [each for each in GUIDES if ">>> " in text_of(each)], ids=lambda file: file.name
)
def test_the_examples_of_a_guide_come_out_as_written(guide):
    failed, tried = doctest.testfile(str(guide), module_relative=False, encoding="utf-8")
    assert failed == 0 and tried > 10


@pytest.mark.parametrize("name", ["start", "check", "report", "feedback"])
def test_a_picture_shows_today_s_labs_and_checks(tmp_path, monkeypatch, name):
    monkeypatch.setenv(PROGRESS_VARIABLE, str(tmp_path / "progress.json"))
    script = runpy.run_path(str(ROOT / "scripts/make_pictures.py"))
    with Image.open(ROOT / f"docs/images/{name}.png") as picture:
        shown = picture.info.get(script["SHOWN"])
    text = script["map_text"](tmp_path) if name == "start" else script["checks_text"]()
    assert shown == script["fingerprint"](text), f"run scripts/make_pictures.py, and look at {name}.png"


# ---------------------------------------------------------------------------------- numbers and lists


def number(value: int) -> str:
    return f"{value:,}"


IN_GUIDES = {
    "instructors.md": [
        f"more than {week._EVERYBODY} submissions",
        f"name the {WORDS[pages.TALK_TO]} to talk to first",
        f"up to {WORDS[viva.QUESTIONS]} questions",
        f"{WORDS[class_facts.MANY_MISCONCEPTIONS]} misconceptions at once",
    ],
    "grading-details.md": [
        f"At most {beside.MAX_TAKEN} files of {number(beside.MAX_CHARACTERS)} characters, {number(beside.MAX_CHARACTERS_ALL)} in all",
        f"at most {number(pictures.LONGEST_SIDE)} pixels wide or high, {pictures.MAX_PICTURES} in all",
        f"more than {pictures.MAX_PIXELS // 10**6} million pixels or {pictures.MAX_RAW // MIB} MiB",
        f"more than {number(results.MAX_SOURCE)} characters is shown in part",
        f"The first {number(regrade.MAX_WORDS)} characters of a file count",
        f"more than {regrade.MAX_FILE // 2**10} KiB is refused, and so is the {requests_of_learners.MAX_REQUESTS + 1}st",
        f"more than {backups.LARGE // 10**6} MB",
        f"at most every {WORDS[backups.PAUSE.seconds // 60]} minutes. The newest {WORDS[backups.NEWEST]} copies",
        f"at most {backups.MOST_BYTES // 10**6} MB together",
        f"predictions for {len(json.loads((ROOT / 'solutions/13_your_own_dataset/hidden.json').read_text())['label'])} texts",
    ],
    "canvas.md": [
        f"more than {server.ANSWER_BYTES // MIB} MiB",
        f"more than {WORDS[server.ANSWER_SECONDS // 60]} minutes for one request",
    ],
    "large-classes.md": [
        f"take {autograde.SECOND_RUNS_SECONDS // 60} minutes at most by the clock",
        f"{files.MAX_BYTES // MIB} MiB for each file",
        f"may unpack to {WORDS[sources.MAX_GROWTH]} times its own size, or to {sources.MAX_UNPACKED // 2**30} GiB",
        f"{sources.MAX_INSIDE // MIB} MiB for the archives that one student",
        f"{number(sources.MAX_ENTRIES)} files for a folder",
    ],
    "sandbox.md": [
        f"{Limits.memory // 2**30} GiB for all its processes together",
        f"at most {Limits.processes}, threads included",
        f"{Limits.disk // MIB} MiB each, in memory",
        f"fill {3 * Limits.disk // MIB} MiB in its three folders",
        f"{RunLimits.output_bytes // MIB} MiB per notebook, {kernels.MAX_MESSAGE // MIB} MiB per message, {Limits.disk // MIB} MiB per file; {Limits.files} open files",
        f"may compute for {RunLimits.cell_seconds} s",
        f"in a check {Exercise.seconds:g} seconds",
    ],
    "teaching.md": [
        "plans for {}, {} and {} weeks".format(*kit.WEEKS),
        f"{WORDS[teaching_notes.MISTAKES]} typical mistakes",
        f"at least {WORDS[teaching_notes.EXERCISES_OF_NOTES]} questions under *Exam*",
    ],
    "viva.md": [f"up to {WORDS[viva.QUESTIONS]} questions"],
}
"""What a guide must say word for word, with the numbers that the code has."""


@pytest.mark.parametrize("name", IN_GUIDES)
def test_limits_and_counts_in_a_guide_are_those_of_the_code(name):
    text = " ".join(text_of(ROOT / "docs" / name).split())
    assert [phrase for phrase in IN_GUIDES[name] if phrase not in text] == []


def test_half_minutes_half_hours_and_whole_hours_are_those_of_the_code():
    assert progress_bar.LINE_SECONDS == 30
    assert readings.HELD.total_seconds() == 30 * 60
    assert RunLimits.notebook_seconds == 60 * 60
    assert kit.EXAM_QUESTIONS == 20 and practice.QUESTIONS == viva.QUESTIONS


def test_the_sizes_of_data_sets_in_a_guide_are_those_of_the_data():
    documented = load_documentation()
    parts = {name: load_paragraphs(name) for name in ("training", "development", "test")}
    names = load_language_names()
    sizes = {
        "data-documentation.md": [
            f"{number(len(documented))} first sentences of docstrings, from {WORDS[len({each.library for each in documented})]}",
            f"*first* part: {number(len(load_documentation(first_part=True)))} sentences",
        ],
        "data-questions.md": [
            f"{sum(len({each.document for each in part}) for part in parts.values())} texts with {number(sum(map(len, parts.values())))} questions",
            *(
                f"| `{name}` | {len({each.document for each in part})} | {len(part)} | {sum(not each.answers for each in part)} |"
                for name, part in parts.items()
            ),
            "({} people, {} places, {} objects)".format(*sizes_of(SEEN_NAMES)),
            "({}, {}, {})".format(*sizes_of(UNSEEN_NAMES)),
        ],
        "data-own.md": [
            f"{number(len(default_rows('classification')))} sentences of documentation",
            f"{len(default_rows('entities'))} made résumés",
            f"{len(load_unlabelled())} sentences about",
        ],
        "data-language-model.md": [f"about {number(round(len(names), -3))} first names"],
        "data-entities.md": [f"{len(TEMPLATES)} layouts"],
        "data-text-to-text.md": [f"{number(len(load_summaries()))} docstrings"],
    }
    assert len({each.language for each in names}) == 20
    assert {
        name: lost
        for name, phrases in sizes.items()
        if (lost := [each for each in phrases if each not in " ".join(text_of(ROOT / "docs" / name).split())])
    } == {}


def sizes_of(names: Names) -> tuple[int, int, int]:
    return len(names.people), len(names.places), len(names.objects)


def said(guide: str, pattern: str) -> str:
    """What stands at the one place of a page in docs/ where the pattern fits."""
    (found,) = re.findall(pattern, " ".join(text_of(ROOT / "docs" / guide).split()))
    return found


def test_a_week_takes_the_commands_that_the_guide_lists():
    count, listed = said("instructors.md", r"a week takes (\w+) commands: (.+?)\.")
    commands = re.findall(r"`(\w+)`", listed)
    assert count == WORDS[len(commands)]
    assert [name for name in COMMANDS["Each week"] if name in commands] == commands


def test_the_platforms_are_counted_and_each_is_known_to_the_code():
    count = said("instructors.md", r"reads the downloads of \[(\w+) platforms\]")
    table = re.findall(r"^\| \*\*(.+?)\*\*", text_of(ROOT / "docs/collecting.md"), re.MULTILINE)
    table.remove("something else")
    assert count == WORDS[len(table)]
    known = (ROOT / "grader/receive/layouts.toml").read_text("utf-8").lower()
    assert [name for name in table if name.split()[0].lower() not in known] == []


def test_the_labs_that_use_what_a_learner_built_are_those_of_the_table():
    page = text_of(ROOT / "docs/portfolio.md")
    rows = re.findall(r"^\| (\d\d(?:, \d\d)*) \| (.+) \|$", page, re.MULTILINE)
    listed = {lab: cell for labs, cell in rows for lab in labs.split(", ")}
    used = {}
    for name in LABS:
        source = text_of(ROOT / f"solutions/{name}/{name}.py")
        if found := re.findall(
            r"^from course_utils\.yours import ([\w, ]+?)(?: *#.*)?$", source, re.MULTILINE
        ):
            used[name[:2]] = {each for names in found for each in names.split(", ")}
    assert used.keys() == listed.keys()
    assert not [
        (lab, each) for lab, names in used.items() for each in names if f"`{each}`" not in listed[lab]
    ]


def test_the_readme_is_short_and_begins_with_what_one_needs():
    lines = text_of(ROOT / "README.md").splitlines()
    first = "\n".join(lines[:14])
    assert len(lines) <= 120
    assert ".gif)" in first and "\n    make lab" in first
    assert "For learners" in first and "For teachers" in first
    assert len([line for line in lines if re.match(r"\| \[\d\d ", line)]) == len(LABS)


@each_guide
def test_what_was_measured_has_its_date_or_the_command_that_measures_it(guide):
    """Seconds, minutes and sizes that somebody measured once are out of date some day: the reader must see from when they are."""
    if guide.name in ("CHANGELOG.md", "claims.md"):  # what was when it was written; each line names its test
        return
    undated = []
    for block in re.split(r"\n(?=\s*\n|\s*[-*] )", text_of(guide)):
        words = " ".join(block.split())
        measured = re.search(
            r"\b[Mm]easured (?:with|before|by|on|in)\b|\btook \d|\bon (?:\w+ )?(?:\w+ )?two (?:\w+ )?cores",
            words,
        )
        if (
            measured
            and re.search(r"\d ?(?:s|seconds|minutes|MB|GB|MiB)\b", words)
            and not re.search(r"\b20\d\d\b|make bench", words)
        ):
            undated.append(words[:200])
    assert not undated
