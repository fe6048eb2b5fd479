"""Which column of a learner's file is which column of a task: by its name, or else by its values."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from course_utils.data.own import COLUMNS, FileProblem

Record = tuple[str, dict[str, Any]]
"""Where a row stands in its file ("line 7"), and its columns as the file names them."""

NAMES: Mapping[str, Mapping[str, str]] = {
    "classification": {
        "text": "text sentence sentences content body message comment review tweet utterance post description abstract headline document "
        "data input prompt phrase texte testo satz kommentar nachricht texto",
        "label": "label_text label_name label category categories class classes labels target sentiment intent topic tag rating stars y "
        "output completion klasse kategorie classe catégorie categoria categoría clase étiquette etiqueta etichetta",
    },
    "entities": {
        "text": "text sentence content body message document data texte texto testo satz",
        "spans": "spans entities ents annotations annotation labels label ner_tags tags tag ner",
        "tokens": "tokens words",
        "tags": "ner_tags ner tags tag labels label",
    },
    "questions": {
        "context": "context passage paragraph article document text",
        "question": "question query q frage pregunta domanda",
        "answer": "answer answer_text answers antwort réponse respuesta risposta",
        "start": "start answer_start begin offset start_offset answer_offset",
    },
}
"""Task -> column -> the names it may have in a file, the first that is there is taken."""

GROUPS = (
    "group groups group_id author author_id user user_id customer customer_id client patient source doc_id document_id document "
    "session session_id conversation conversation_id speaker thread gruppe groupe grupo gruppo"
)

SAMPLE = 2000
"""So many rows are looked at where values tell what a column is."""


def norm(name: Any) -> str:
    """A column's name in a form in which those that mean the same are equal."""
    return re.sub(r"[\s_\-.]+", "_", unicodedata.normalize("NFKC", str(name)).strip("\ufeff\"' ").casefold())


def norms(names: str) -> set[str]:
    return {norm(name) for name in names.split()}


KNOWN = norms(" ".join(" ".join(each.values()) for each in NAMES.values()) + " " + GROUPS)
"""Every name that a column of any task may have."""

TEXTS = norms(
    " ".join(each.get("text", "") for each in NAMES.values()) + " tokens words context passage question"
)
"""The names of columns with texts."""


def listed(things: Iterable[Any], most: int = 12) -> str:
    """Things as Python shows them, with commas; of many, the first."""
    things = [*things]
    return ", ".join(map(repr, things[:most])) + (", …" if len(things) > most else "")


class Columns:
    """The columns of some records, for a task.

    Attributes:
        there: their names in the file, in its order.
        guessed: those that their values and not their names told, column of the task -> the file's.
        blank: the column that has groups by its name, and no value in any row.
    """

    def __init__(self, name: str, task: str, records: Sequence[Record]) -> None:
        self.name, self.task = name, task
        found: dict[str, None] = {}
        for _, record in records:
            found.update(dict.fromkeys(record))
        self.there = [column for column in found if column not in (None, "")]
        self._records, self._sample = records, [row for _, row in records[:SAMPLE]]
        self.guessed: dict[str, str] = {}
        self.blank: str | None = None

    def find(self, given: Mapping[str, str]) -> dict[str, str]:
        """The task's name of a column -> the file's.

        Args:
            given: the file's name of a column -> the task's.

        Raises:
            FileProblem: a column is missing, or what is given does not fit.
        """
        self._check(given)
        taken = {role: column for column, role in given.items()}
        names = dict(NAMES[self.task])
        if "tokens" in names:
            tagged = self._named(names["tokens"], taken) and self._named(names["tags"], taken)
            for role in ("text", "spans") if tagged else ("tokens", "tags"):
                names.pop(role)
        for role, some in names.items():
            if role not in taken and (column := self._named(some, taken, texts=role in _TEXTS)):
                taken[role] = column
        groups = GROUPS + (" title" if self.task == "questions" else "")
        if "group" not in taken and (column := self._named(groups, taken)):
            taken["group"] = column
        if "group" in taken and self._empty(taken["group"]):
            self.blank = taken.pop("group")
        self._guess(taken, [role for role in names if role not in taken])
        missing = [role for role in names if role not in (*taken, "start")]
        if missing:
            raise self._missing(missing, taken)
        return taken

    def _check(self, given: Mapping[str, str]) -> None:
        for column, role in given.items():
            if column not in self.there:
                raise FileProblem(f"{self.name} has no column {column!r}; it has {listed(self.there, 99)}.")
            if role not in COLUMNS[self.task]:
                raise FileProblem(
                    f"{self.task} has no column {role!r}; it has {', '.join(COLUMNS[self.task])}."
                )
            if twice := [other for other in given if given[other] == role and other != column]:
                raise FileProblem(
                    f"columns= gives {role} two columns, {column!r} and {twice[0]!r}; keep one of them."
                )

    def like_groups(self, taken: Mapping[str, str]) -> list[str]:
        """The free columns whose values come again: five of them at least, in two rows each on average."""
        found = []
        for column in self._free(taken):
            values = [value for value in self._values(column) if isinstance(value, str | int)]
            if 5 <= len({str(value) for value in values}) <= len(values) / 2 and _words(values) < 4:
                found.append(column)
        return found

    def _free(self, taken: Mapping[str, str]) -> list[str]:
        return [column for column in self.there if column not in taken.values()]

    def _named(self, names: str, taken: Mapping[str, str], texts: bool = False) -> str | None:
        """The free column that has the first of the names.

        Args:
            texts: pass by a column of numbers or ids, such as a "document" that only says which one, where another column has words.
        """
        by_norm: dict[str, str] = {}
        for column in self._free(taken):
            by_norm.setdefault(norm(column), column)
        found = [by_norm[norm(name)] for name in names.split() if norm(name) in by_norm]
        found = [column for column in found if not self._empty(column)] or found
        if texts and found and _ids(self._values(found[0])):
            wordy = [column for column in found[1:] if not _ids(self._values(column))]
            if wordy or any(_words(self._values(column)) > 1.5 for column in self._free(taken)):
                return wordy[0] if wordy else None
        return found[0] if found else None

    def _empty(self, column: str) -> bool:
        """Whether no row has anything in a column."""
        return not any(
            str(row.get(column) or "").strip() or row.get(column) in (0, []) for _, row in self._records
        )

    def _values(self, column: str) -> list[Any]:
        return [row[column] for row in self._sample if row.get(column) not in (None, "")]

    def _guess(self, taken: dict[str, str], missing: Sequence[str]) -> None:
        """What the names do not say, the values may: the longest texts, and the only column with few different values."""
        for role in ("text", "label"):
            if role not in missing:
                continue
            left = self._fitting(role, taken)
            if role == "text" and left:
                left = [max(left, key=lambda column: sum(len(str(value)) for value in self._values(column)))]
            if len(left) == 1:
                taken[role] = self.guessed[role] = left[0]

    def _fitting(self, role: str, taken: Mapping[str, str]) -> list[str]:
        """The free columns whose values look like those of a column of the task."""
        fitting = []
        for column in self._free(taken):
            values = self._values(column)
            plain = [value for value in values if isinstance(value, str | int | float)]
            if not values:
                continue
            if role in _TEXTS:
                fits = all(isinstance(value, str) for value in values) and (
                    sum(map(len, values)) >= 10 * len(values) or (_words(values) > 1.5 and not _ids(values))
                )
                fits = fits and not _no_prose(values)
            elif role == "label":
                different = len({str(value) for value in values})
                fits = len(plain) == len(values) and 1 < different <= max(2, len(values) / 3)
                fits = fits and _words(values) < 4
            elif role in ("spans", "tokens", "tags"):
                fits = all(isinstance(value, list | dict) or str(value).startswith("[") for value in values)
            else:
                fits = role == "answer" and all(isinstance(value, str) for value in values)
                fits = fits and not _ids(values)
            if fits:
                fitting.append(column)
        return fitting

    def _missing(self, missing: Sequence[str], taken: Mapping[str, str]) -> FileProblem:
        """What to say where columns are missing: which are there, and what to write, if a free column looks right for it."""
        says = f"{self.name} has no column that is known as {' or '.join(missing)}; it has {listed(self.there) or 'none'}. "
        if other := self._other_task():
            return FileProblem(f'{says}It looks like a file for {other}: read_file(FILE, "{other}").')
        said, several, used = [], [], dict(taken)
        for role in missing:
            fitting = self._fitting(role, used)
            if len(fitting) == 1:
                used[role] = fitting[0]
            if len(fitting) > 1:
                several.append(f"For {role}, {listed(fitting, 6)} look possible.")
            if role == "spans" and not fitting:
                several.append(
                    'A row needs its whole text, and where each entity stands in it: [[0, 3, "PER"]] for the first three characters.'
                )
            column = fitting[0] if len(fitting) == 1 else f"COLUMN WITH THE {role.upper()}"
            said.append(f'"{column}": "{role}"')
        example = f"read_file(FILE, TASK, columns={{{', '.join(said)}}})"
        return FileProblem(
            f"{says}{' '.join([*several, ''])}Rename the column in the file, or say which it is: {example}."
        )

    def _other_task(self) -> str | None:
        """Another task whose columns are all there."""
        for other, names in NAMES.items():
            if other == self.task:
                continue
            found = {role: self._named(some, {}) for role, some in names.items()}
            if other == "entities":
                tagged = found["tokens"] and self._named("ner_tags tags", {})
                placed = found["text"] and found["spans"] in self._fitting("spans", {})
                if tagged or placed:
                    return other
            elif all(found[role] or role == "start" for role in found) and (
                found.get("label") not in self._fitting("spans", {})
            ):
                return other
        return None


_TEXTS = ("text", "context", "question")


def _words(values: Sequence[Any]) -> float:
    """How many words a value has, on the average; 0 for anything but texts."""
    if not values or not all(isinstance(value, str) for value in values):
        return 0.0
    return sum(len(value.split()) for value in values) / len(values)


def _ids(values: Sequence[Any]) -> bool:
    """Whether all values are numbers, or words with a digit: 17, doc-3, 2024/05."""
    return bool(values) and all(
        isinstance(value, int | float) or bool(re.fullmatch(r"\S*\d\S*", str(value).strip()))
        for value in values
    )


def _no_prose(values: Sequence[str]) -> bool:
    """Whether all values are addresses of people or pages, or a third of their characters are digits, as in dates and times."""
    together = "".join("".join(values).split())
    return sum(map(str.isdigit, together)) * 3 >= len(together) or all(
        re.fullmatch(r"\S+(@|://)\S+", value.strip()) for value in values
    )
