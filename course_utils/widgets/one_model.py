"""One model, seven tasks: lab 12's model in the page. It answers what is typed behind a prefix there, piece by piece, and asks no kernel."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.data.byte_pairs import SINGLE
from course_utils.data.translation import JANE
from course_utils.data.words import word_tokens
from course_utils.display import TEXT, a_table
from course_utils.widgets.in_page import InPage, rounded

if TYPE_CHECKING:
    from course_utils.data.tasks import TaskData
    from course_utils.models.text_to_text import Writer

FILES = (
    "percent.js", "arithmetic.js", "encoder_decoder.js", "words.js", "byte_pairs.js", "text_to_text.js", "looks.js", "one_model.js",
)  # fmt: skip
"""Of the ES module of *One model, seven tasks*, in order."""

_TOLD = "These are the numbers of the model that ships with the course, rounded to 8 bits each."


@dataclass(frozen=True)
class Task:
    """A task of lab 12's model, as its page tells of it.

    Attributes:
        does: what the model makes of a text.
        trained: what the training texts look like.
        right: answers that were right, of 300 test texts (docs/data-text-to-text.md, like the next two).
        bare, other: of the first 100, without a prefix and under another task's.
        examples: texts without the prefix.
        capitals: whether its training texts have capital letters.
        closed: whether its texts are made of a list of words, so that one can say which word is not on it.
    """

    name: str
    does: str
    trained: str
    right: int
    bare: int
    other: int
    examples: tuple[str, ...]
    capitals: bool = False
    closed: bool = False


TASKS = (
    Task(
        "translation",
        "translates",
        "French sentences of lab 05, made of a few hundred words",
        right=298,
        bare=1,
        other=4,
        examples=(JANE.source, "Paul pense que nous avons eu un beau chien"),
        capitals=True,
        closed=True,
    ),
    Task(
        "headline",
        "writes a headline",
        "articles of one kind: somebody with a job, from some place, did something on some day",
        right=290,
        bare=53,
        other=68,
        examples=(
            "kobena , a pilot from tamuri , repaired the bridge on monday .",
            "it rained on monday . sifo , a painter from rima , visited the stadium on monday .",
        ),
    ),
    Task(
        "verb",
        "says which verb comes next",
        "sentences that stop before “is” or “are”, with other nouns in between",
        right=300,
        bare=81,
        other=45,
        examples=(
            "in town the old keys near the cabinet that faced the door still",
            "the carpet across from the garden that resembled the poems that followed the new pilots often",
        ),
        closed=True,
    ),
    Task(
        "acceptability",
        "judges whether the verb fits, and names its reason first",
        "such sentences with “is here” or “are here” at the end, which fits in half of them",
        right=300,
        bare=38,
        other=0,
        examples=(
            "in town the bridges below the famous drivers near the fountain certainly are here",
            "in summer the teacher behind the old blanket near the new fountains always are here",
        ),
        closed=True,
    ),
    Task(
        "language",
        "says which language a name is from",
        "names on lists of 20 languages; some names are on several",
        right=118,
        bare=2,
        other=6,
        examples=("rossi", "karhunen", "zvonko"),
    ),
    Task(
        "entities",
        "lists the entities in a line of a résumé, in order",
        "lines of made-up résumés; it often leaves out, or mixes up, words that it has never seen",
        right=243,
        bare=5,
        other=0,
        examples=(
            "Contact: k.parker@mail.example, Bengaluru",
            "Bachelor of Science, University of Porto, 2014",
        ),
        capitals=True,
    ),
    Task(
        "similarity",
        "compares two sentences: the words that both share, how many they are out of how many, and five times that share",
        "pairs of lab 05's English sentences; nobody rated them",
        right=236,
        bare=11,
        other=8,
        examples=(
            "Jane visits Africa in September / Paul visits Asia in September",
            "They sold my old birds / The girl sold my old birds in April",
        ),
        capitals=True,
        closed=True,
    ),
)

LANGUAGE = next(task for task in TASKS if task.name == "language")

LIMITS = (
    "It has seven tasks and no others. It was never trained to chat, to answer questions or to follow requests.",
    "It does not summarise real texts. On 100 descriptions of Python functions, its “headline:” reached a ROUGE-1 of .043; the first sentence of each has .185.",
    "It does not always do what the prefix says. Under another task's prefix, 68 of 100 articles still got the right headline. A likely reason is that no other task's texts look like an article.",
)
"""What the page says that the model cannot do; docs/data-text-to-text.md has the measurements."""

LIMIT_OF_NAMES = "It often cannot tell a name's language: {right} of 300 are right. Always saying the language that is most frequent in training gets {usual}."


@functools.cache
def examples_of_tasks() -> dict[str, TaskData]:
    """Lab 12's examples, which take seconds to make."""
    from course_utils.data.tasks import load_tasks

    return load_tasks()


@functools.cache
def writer() -> Writer:
    """Lab 12's model."""
    import torch

    from course_utils.models.text_to_text import Writer

    with torch.random.fork_rng(devices=[]):  # a new module draws weights before it gets the trained ones
        return Writer.shipped()


def state() -> dict[str, np.ndarray]:
    """Its arrays."""
    return {name: value.numpy() for name, value in writer().model.state_dict().items()}


def about() -> dict[str, Any]:
    """What the page has to know besides: its byte pairs, its tasks, and which words their training texts have."""
    from course_utils.data.tasks import PREFIXES
    from course_utils.models.text_to_text import CONFIG

    data, tokens = examples_of_tasks(), writer().tokens
    ids = {token: number for number, token in enumerate(tokens.vocabulary)}

    def words_of(task: Task) -> list[str]:
        prefix = PREFIXES[task.name]
        pieces = {piece for one in data[task.name].train for piece in one.source.removeprefix(prefix).split()}
        return sorted({word for piece in pieces for word in word_tokens(piece)})

    answers = Counter(one.target for one in data["language"].train)
    usual = sum(one.target == answers.most_common(1)[0][0] for one in data["language"].test)
    tasks = [
        {**asdict(task), "prefix": PREFIXES[task.name], "words": words_of(task) if task.closed else []}
        for task in TASKS
    ]
    return {
        "config": CONFIG,
        "single": [token[0] for token in SINGLE],
        "merges": [[ids[left], ids[right]] for left, right in tokens.merges],
        "tasks": tasks,
        "limits": [*LIMITS, LIMIT_OF_NAMES.format(right=LANGUAGE.right, usual=usual)],
        "longest_text": max(len(one.source.split()) for each in data.values() for one in each.train),
    }


def widget() -> InPage:
    """The widget, with the shipped model."""
    from course_utils.data.tasks import PREFIXES

    tensors, numbers, _ = rounded(state())
    texts = [PREFIXES[task.name] + task.examples[0] for task in TASKS]
    html, text = a_table(["text", "answer"], zip(texts, writer().write(texts), strict=True))
    still = f'<div style="{TEXT}">{html}<p>{escape(_TOLD)} In a notebook that draws widgets, you can type here.</p></div>'
    alt = f"One model, seven tasks: texts with a prefix, and what the model writes. {_TOLD}\n{text}"
    return InPage(FILES, {**about(), "tensors": tensors}, numbers, _TOLD, still, alt)


def one_model() -> None:
    """Shows the widget."""
    widget().show()
