"""Finds uses of the ready-made thing that an exercise asks learners to build, in a notebook's source.

Code is read, never run: names are resolved through imports and aliases in the syntax tree, and only what
the exercise's own definition reaches counts. So a comparison with the ready-made thing in another cell, or
its name in a comment or a string, does not count as a use. The source may be hostile: anything that cannot be
parsed is left out, the work grows in proportion to the text, and nothing here recurses into nested code.

It finds what a learner writes in good faith, and the most obvious ways around that (``getattr``, ``vars``,
``attrgetter``, ``sys.modules`` and ``import_module`` with a name in quotes). It does not find every disguise. It does not follow names that code
puts together while it runs (``exec``, ``getattr`` with a computed name), and knows no methods of what code returns. For these there is a second
witness (:mod:`course_utils.checking.witness`). Files that the code imports are
followed if a cell writes them with ``%%writefile``, which is also how files beside the notebook are passed on (:func:`as_cell`).
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from course_utils.checking.cells import MAX_PARSED, MAX_TOTAL, file_written
from course_utils.checking.exercise import Exercise
from course_utils.checking.mentions import MAX_LINE, Graph
from course_utils.checking.ready_made import names_of

_SAME = (  # a name that begins with the first can also be written with the second
    ("keras.", "tensorflow.keras."),
    ("keras.", "keras.src."),
    ("torch.nn.", "torch.nn.modules."),
    ("torch.nn.", "torch.nn.modules.activation."),
    ("torch.nn.", "torch.nn.modules.normalization."),
    ("torch.nn.", "torch.nn.modules.sparse."),
    ("torch.nn.", "torch.nn.modules.transformer."),
    ("torch.nn.functional.", "torch._C._nn."),
    ("torch.nn.functional.", "torch.ops.aten."),
    ("torch.", "torch.ops.aten."),
    ("torch.", "torch._VF."),
)

_BY_NAME = (
    "import_module",
    "__import__",
    "getattr",
    "attrgetter",
    "modules",
    "vars",
    "__dict__",
    "__getattribute__",
)
"""If the text gets something by its name in quotes, it contains one of these words."""

_MOST_FILES = 20
"""At most this many modules are followed; of others, only the text is searched."""


@dataclass(frozen=True)
class Use:
    """A use of something ready-made: its full ``name``, and the line of its cell (from 1) where it is; 0 if that is not known."""

    name: str
    line: int
    text: str


def as_cell(name: str, text: str) -> str:
    """How a Python file is passed on among the sources: as the cell that would write it."""
    return f"%%writefile {name}\n{text}"


def uses_of(
    exercise: Exercise, others: Iterable[Exercise], sources: Sequence[str], name: str | None = None
) -> tuple[Use, ...]:
    """What :func:`find_bypass` finds for an exercise of a lab; nothing if it declares no bypasses.

    An earlier exercise that this one ``uses`` and that declares the same bypasses is not searched. It is judged on its own, so one ready-made call
    costs the points of one exercise only.

    Args:
        others: the exercises of the lab.
        sources: the code cells that ran, oldest first.
        name: the name of the definition, if it differs from the exercise's.
    """
    if not exercise.bypasses:
        return ()
    judged = judged_elsewhere(exercise, others)
    return find_bypass(sources, exercise.name if name is None else name, exercise.bypasses, judged)


def judged_elsewhere(exercise: Exercise, others: Iterable[Exercise]) -> frozenset[str]:
    """The earlier exercises of a lab that this one ``uses`` and that declare the same bypasses."""
    return frozenset(
        other.name
        for other in others
        if other.name in exercise.uses and set(exercise.bypasses) <= set(other.bypasses)
    )


def find_bypass(
    sources: Sequence[str], name: str, bypasses: Sequence[str], judged: Collection[str] = ()
) -> tuple[Use, ...]:
    """The first use of each ready-made thing that the last definition of ``name`` reaches. Never raises.

    It reaches its own lines, those of every function, class and variable of the notebook that it mentions, and
    those that these mention in turn. Annotations and ``isinstance`` do not count as uses.

    Args:
        sources: the notebook's code cells, oldest first; with or without IPython's magics.
        bypasses: full dotted names, such as ``torch.nn.MultiheadAttention``; other names under which the
            libraries offer the same thing, and what does the same work, count as well.
        judged: names of the notebook that are not searched.
    """
    spellings = {same for full in names_of(bypasses) for same in _spellings(full)}
    if not _mentioned(spellings, sources):
        return ()
    cells, others = _newest(sources)
    files: dict[str, list[str]] = {}  # module -> its text, as often as it is written
    code = []
    for cell in cells:
        if not (file := file_written(cell)):
            code.append(cell)
        elif file[0] in files or len(files) < _MOST_FILES:
            files.setdefault(file[0], []).append(file[1])
        else:
            others.append(file[1])
    notebook = Graph(spellings, frozenset(judged), files)
    for cell in code:
        notebook.run_cell(cell)
    uses = tuple(Use(*mention) for mention in notebook.mentions_reached_from(name))
    return uses or tuple(_mentions(bypasses, others))


def _mentioned(spellings: Collection[str], cells: Sequence[str]) -> bool:
    """Whether a use is possible at all. For almost every honest notebook this makes the full analysis unnecessary.

    The names of the library and of the ready-made thing must occur in the text, normalised as Python does it (NFKC). In a string they may be
    written with escapes.
    """
    text = unicodedata.normalize("NFKC", "\n".join(cells))
    if any(word in text for word in _BY_NAME):
        return True
    names = ((full.partition(".")[0], full.rpartition(".")[2]) for full in spellings)
    return any(library in text and thing in text for library, thing in names)


def _spellings(full: str) -> Iterator[str]:
    yield full
    for usual, other in _SAME:
        if full.startswith(usual):
            yield other + full.removeprefix(usual)


def _newest(sources: Sequence[str]) -> tuple[list[str], list[str]]:
    """The latest cells, up to the limits for parsing, and the others; both oldest first."""
    kept, others, total = [], [], 0
    for source in reversed(sources):
        total += len(source)
        (kept if len(source) <= MAX_PARSED and total <= MAX_TOTAL else others).append(source)
    return kept[::-1], others[::-1]


def _mentions(bypasses: Sequence[str], cells: Sequence[str]) -> Iterator[Use]:
    """Lines that name something ready-made, in cells too long to be parsed, so that padding a cell hides nothing."""
    for full in bypasses:
        for cell in cells:
            lines = enumerate(cell.split("\n"), start=1)
            named = ((at, line) for at, line in lines if full.rpartition(".")[2] in line.partition("#")[0])
            yield from (Use(full, at, line.strip()[:MAX_LINE]) for at, line in itertools.islice(named, 1))
