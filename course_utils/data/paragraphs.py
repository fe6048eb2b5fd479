"""Paragraphs of natural prose with questions about them, written for this course.

They are in three files, one entry per document: paragraphs.json to train on, paragraphs_development.json to choose
settings on, and paragraphs_test.json to test on. Answers are marked in the text itself, ``In {1:1869} the chemist
{2:Dmitri Mendeleev} ...``, and a question names the marks that answer it: where an answer stands is decided by the person who
wrote the question, even if the same words occur in several places. A question without marks has no answer.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

from course_utils.data.questions import QuestionExample, Span

FOLDER = Path(__file__).parent
FILES = {
    "training": FOLDER / "paragraphs.json",
    "development": FOLDER / "paragraphs_development.json",
    "test": FOLDER / "paragraphs_test.json",
}
ASKED = FOLDER / "paragraphs_asked.json"
NOTHING = "nothing"
"""What SmolLM2 was told to answer if a text does not say it."""


@functools.cache
def load_paragraphs(part: str = "training") -> tuple[QuestionExample, ...]:
    """All questions of a part, in the order of its file.

    Args:
        part: "training", "development" or "test". No document is in two of them.

    Raises:
        ValueError: there is no such part.
    """
    if part not in FILES:
        raise ValueError(f"There is no part {part!r} of the paragraphs; choose one of {', '.join(FILES)}.")
    examples = []
    for document in json.loads(FILES[part].read_text(encoding="utf-8")):
        context, spans = read_marks(" ".join(document["text"]))
        for number, asked in enumerate(document["questions"], start=1):
            examples.append(
                QuestionExample(
                    context=context,
                    question=asked["question"],
                    answers=tuple(spans[mark] for mark in asked["answers"]),
                    id=f"{document['id']}-{number}",
                    document=document["id"],
                )
            )
    return tuple(examples)


def load_asked(part: str) -> tuple[dict[str, str], int]:
    """The id of each question of a part -> what SmolLM2 answered after some examples, empty if it said nothing; and the seconds it took.

    It says nothing also where it finds that likelier than a limit that was chosen on the development part.

    Args:
        part: "test", or "development", of which every third question is kept.
    """
    kept = json.loads(ASKED.read_text("utf-8"))
    limit = kept["tried"][str(kept["shown"])]["limit"]
    found = {
        question: "" if line == NOTHING or share >= limit else line
        for question, (line, share) in kept[part]["said"].items()
    }
    return found, kept[part]["seconds"]


def read_marks(marked: str) -> tuple[str, dict[int, Span]]:
    """The text without its marks, and the span that each mark encloses.

    Raises:
        ValueError: a mark is not closed or was not opened, or two have the same number.
    """
    text = ""
    opened: list[tuple[int, int]] = []
    spans: dict[int, Span] = {}
    for number, closing, plain in re.findall(r"\{(\d+):|(\})|(.[^{}]*)", marked, re.DOTALL):
        if number:
            opened.append((int(number), len(text)))
        elif closing and opened:
            mark, start = opened.pop()
            if mark in spans:
                raise ValueError(f"There are two marks {mark}.")
            spans[mark] = Span(start, len(text))
        elif closing or plain.startswith("{"):
            raise ValueError(f"Not a mark, after {text[-30:]!r}: {closing or plain[:30]!r}.")
        else:
            text += plain
    if opened:
        raise ValueError(f"Mark {opened[-1][0]} is not closed.")
    return text, spans
