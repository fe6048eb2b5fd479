"""Of all that a student handed in for a lab: the one notebook that counts, and what was handed in with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from grader.errors import GraderError
from grader.files import MAX_BYTES, Unreadable, printable
from grader.receive.beside import MAX_NAMED, Beside, sort_out
from grader.receive.likely import Labs
from grader.receive.names import File
from grader.receive.sources import Offer
from grader.reference.lab import Lab

_BEGINNINGS = {
    b"<": "a web page",
    b"PK\x03\x04": "a zip, or a document of an office program",
    b"%PDF": "a PDF",
    b"{\\rtf": "a text with layout (RTF)",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"\x1f\x8b": "a compressed file",
    b"\xd0\xcf\x11\xe0": "a document of an office program",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
}
"""How files of other kinds begin, which learners rename or save by mistake. What else is wrong with a notebook, grading tells."""


Choice = tuple[File, bytes, str]
"""The one notebook of a student's files that counts, its content, and what to say about the choice."""


class OfAnotherLab(Unreadable):
    """A notebook that has another lab's name, or its cells."""

    def __init__(self, lab: str, why: str) -> None:
        super().__init__(why)
        self.lab = lab


_MOST_KEPT = 200 * 2**20
"""At most this many bytes of notebooks stay in memory after a look at which lab they are of, so that they are not read twice."""


class Chooser:
    """Chooses the notebooks that count in one source of a lab's work."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.labs = lab, Labs(lab.course)
        self.kept: dict[File, Choice] = {}

    def see_that_it_is_this_lab(self, handed_in: Collection[Sequence[File]], anyway: bool = False) -> None:
        """
        Args:
            handed_in: the files of each student.
            anyway: what is this lab's is to be collected even if it is less than half.

        Raises:
            GraderError: most notebooks are other labs', so it is probably another lab's source.
        """
        others: Counter[str] = Counter()
        ours, size = 0, 0
        for files in handed_in:
            try:
                self.kept[files[0]] = _choose(self.lab, files, self.labs)
            except OfAnotherLab as error:
                others[error.lab] += 1
                continue
            except Unreadable:
                continue
            ours += 1
            size += len(self.kept[files[0]][1])
            if (anyway and ours) or 2 * ours >= len(handed_in) or size > _MOST_KEPT:
                return
        count = others.total()
        if count + ours < 2 or count <= ours:
            return
        ((other, _),) = others.most_common(1)
        share = f"{count} of {count + ours}" if ours else "Both" if count == 2 else f"All {count}"
        the_rest = f". To collect only the rest for {self.lab.name}, add --yes." if ours else ""
        raise GraderError(
            f"{share} notebooks are another lab's, going by their names or cells, so nothing was collected. If they were handed in for that "
            f"lab: grader collect {other} SOURCE{the_rest}"
        )

    def choose(self, files: Sequence[File]) -> Choice:
        """Of a student's files, the one that counts.

        Raises:
            OfAnotherLab: it is another lab's.
            Unreadable: there is none, it is not clear which, or it cannot be read.
        """
        known = self.kept.pop(files[0], None) if files else None
        return known or _choose(self.lab, files, self.labs)


def _other_lab(lab: Lab, stem: str) -> str | None:
    """The lab whose notebook is called so, if it is another one."""
    return next(
        (name for name in lab.course.labs() if name != lab.name and name.partition("_")[2] == stem), None
    )


def _choose(lab: Lab, files: Sequence[File], labs: Labs) -> Choice:
    notebooks = [file for file in files if file.stem]
    if not notebooks:
        raise Unreadable(_why_no_notebook(files))
    attempts = {(file.attempt, file.unclear) for file in notebooks}
    if len(attempts) > 1 and any(unclear for _, unclear in attempts):
        listed = ", ".join(sorted({file.offer.shown for file in notebooks})[:5])
        raise Unreadable(f"Several attempts, and it is not clear which is the last: {listed}. Keep one.")
    notebooks = [file for file in notebooks if file.attempt == max(attempts)[0]]
    pool = [file for file in notebooks if file.stem == lab.slug] or notebooks
    best = [file for file in pool if file.order == max(file.order for file in pool)]
    if len({file.stem for file in pool}) > 1:
        best = pool
    contents = {file.offer.read(): file for file in reversed(best[:5])}
    if len(contents) > 1 or len(best) > 5:
        listed = ", ".join(file.offer.shown for file in best[:5])
        raise Unreadable(f"Several notebooks, and it is not clear which one counts: {listed}. Keep one.")
    data, chosen = contents.popitem()
    if other := _other_lab(lab, chosen.stem):
        raise OfAnotherLab(other, f"It has the name of another lab's notebook. Is it work for {other}?")
    if len(data) > MAX_BYTES:
        raise Unreadable(f"It is larger than {MAX_BYTES // 2**20} MiB. Clear the notebook's outputs.")
    if what := _foreign(data):
        raise Unreadable(
            f"{printable(chosen.offer.name)} is {what}, not a notebook. Have the notebook itself handed in."
        )
    if another := labs.clearly_another(lab, data):
        raise OfAnotherLab(
            another.name,
            f"{printable(chosen.offer.name)} is the notebook of {another.name}, not of {lab.name}. Hand in the one of {lab.name}.",
        )
    return chosen, data, f"The last of {len(attempts)} attempts." if len(attempts) > 1 else ""


def _foreign(data: bytes) -> str:
    """What a file is that certainly is no notebook; empty if it may be one."""
    start = data[:200].removeprefix(b"\xef\xbb\xbf").lstrip()
    return next((what for beginning, what in _BEGINNINGS.items() if start.startswith(beginning)), "")


def beside_it(lab: Lab, chosen: File, files: Sequence[File]) -> Beside:
    """What a student handed in with the notebook that counts, in the same attempt."""
    folder = _place(chosen.offer)[:-1]
    others = [
        file for file in files if file is not chosen and file.attempt == chosen.attempt and not file.receipt
    ]
    found = []
    for file in sorted(others, key=lambda file: file.order):
        parts = _place(file.offer)
        inside = parts[len(folder) : -1] if parts[: len(folder)] == folder else parts[:-1]
        found.append(((*inside, file.name or file.offer.name), file.offer.read))
    return sort_out(lab, found)


def _place(offer: Offer) -> tuple[str, ...]:
    return (*offer.parts, *offer.inside)


def _why_no_notebook(files: Sequence[File]) -> str:
    names = [file.offer.name for file in files]
    listed = ", ".join(printable(name) for name in names[:MAX_NAMED])
    if len(names) > MAX_NAMED:
        listed += f" and {len(names) - MAX_NAMED} more"
    for file in files:
        if file.offer.name.lower().endswith(".zip"):
            file.offer.read()  # says why it was not opened
    archives = any(
        name.lower().endswith((".zip", ".7z", ".rar", ".gz", ".tar", ".tgz", ".bz2", ".xz")) for name in names
    )
    advice = " Archives other than zips are not opened: hand in the notebook itself." if archives else ""
    return f"There is no notebook among what was handed in ({listed}).{advice}"
