"""Submissions from nbgrader's exchange, a folder or an LMS's zip -> ``grading/submitted``.

One notebook per student is taken, the Python files beside it, and requests to look again at what was graded; everything else that
was handed in is named. A request leaves the work as it is: what lies beside one takes the place of nothing that was collected before.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from shlex import quote

from grader.course import make_private
from grader.errors import GraderError
from grader.grade.gradebook import Gradebook, roster_of
from grader.grade.requests import MAX_REQUESTS, Asked, TooMany
from grader.lab import Lab
from grader.receive.beside import MAX_NAMED, NOT_TAKEN, Beside, note, sort_out
from grader.receive.exchange import in_exchange
from grader.receive.files import (
    MAX_BYTES,
    REASON_FILE,
    SECRET,
    TIMESTAMP,
    Unreadable,
    file_bytes,
    find_notebook,
    printable,
    time_of,
)
from grader.receive.names import PLAIN, File, file_of, layout, name_reader
from grader.receive.refused import remember
from grader.receive.regrade import Desk, is_request
from grader.receive.sources import Offer, in_folder, in_zip, leads_out
from grader.receive.students import MOODLE_NUMBER, folded, stored_moodle_number
from grader.roster import NotSure, Person, Roster, is_called

OUTCOMES = NEW, REPLACED, UNCHANGED, REFUSED, ASKED = "new", "replaced", "unchanged", "refused", "request"


@dataclass(frozen=True)
class Collected:
    """What happened to one student's work, or to one file whose owner is not known (``student`` is then empty).

    Attributes:
        file: its path in the source, safe to show.
        outcome: ``NEW``, ``REPLACED`` (what was there is kept in ``grading/earlier``), ``UNCHANGED``, ``REFUSED``, or
            ``ASKED`` (a request to look again; the work that was collected before stays as it is).
        why: why it was refused, or anything else to know about it.
    """

    student: str
    file: str
    outcome: str
    why: str = ""


_FAULTS_TOLD = 3
"""So many files of a student's that are named like requests and are none are told with the reason."""

Ask = Callable[[str, Sequence[Person]], Person | None]
"""Asks whose work something is: what it is called, and who it may be. None: nobody can say."""


def collect(
    lab: Lab, source: Path | None = None, shared_account: bool = False, ask: Ask | None = None
) -> list[Collected]:
    """Puts submissions where grading looks for them, one notebook per student with the Python files beside it.

    A student whose work is refused gets a folder with the reason, and grading then reports the submission as
    unreadable; anything collected from them before stays.

    Args:
        source: a folder, or a zip as Canvas and Moodle make it. None: nbgrader's exchange.
        shared_account: all submissions in the exchange belong to one user of the system, so that their owner says
            nothing about who handed them in.
        ask: is asked where several people on the roster may be meant. None: such work is refused.

    Returns: a row for each student, sorted by id, followed by files that belong to nobody.

    Raises:
        GraderError: the source cannot be used at all, or there is nothing in it.
    """
    with Desk.opened(lab.course) as desk, _opened(lab, source, shared_account, desk) as offers:
        reception = _Reception(lab, roster_of(lab.course), ask)
        rows = list(_collect(lab, offers, reception, desk))
        alone = not rows and any(map(is_request, offers))
    if alone:
        raise GraderError(
            f"{source} holds requests to look again, but no submission of {lab.name}. Run grader requests add {quote(str(source))}"
        )
    if not rows:
        raise GraderError(
            f"{source or 'The exchange'} has no submission of {lab.name}. In a folder or zip, name files "
            f"<student>/{lab.notebook_name} or <student>_{lab.notebook_name}, or leave the names that Canvas or "
            "Moodle gave."
        )
    remember(
        lab,
        [(row.file, row.why) for row in rows if row.outcome == REFUSED and not _has_folder(lab, row.student)],
    )
    if reception.learned:
        with Gradebook.open(lab.course) as gradebook:
            gradebook.enter_people(reception.learned.values())
    return rows


def _has_folder(lab: Lab, student: str) -> bool:
    """Whether grading will tell of a student's work, or of why it was refused."""
    return bool(student) and _folders(lab, student)[0].is_dir()


@contextmanager
def _opened(lab: Lab, source: Path | None, shared_account: bool, desk: Desk) -> Iterator[list[Offer]]:
    if source is None:
        yield in_exchange(lab, shared_account, partial(desk.accepts, lab))
    elif source.is_dir():
        yield _without_wrapper(lab, in_folder(source.resolve()), source.name)
    elif source.is_file():
        with in_zip(source) as offers:
            yield _without_wrapper(lab, offers, source.stem)
    else:
        raise GraderError(f"{source} does not exist, or is neither a folder nor a zip file.")


def _without_wrapper(lab: Lab, offers: list[Offer], stem: str) -> list[Offer]:
    """The same files without the folder that is put around everything when a whole folder is packed.

    Raises:
        GraderError: it could be that folder, or one student's folder that contains names like an LMS's.
    """
    tops = {offer.parts[0] if len(offer.parts) > 1 else "" for offer in offers}
    if len(tops) != 1 or tops == {""}:
        return offers
    (top,) = tops
    inside = [Offer(offer.parts[1:], offer.read) for offer in offers]
    if top in (stem, lab.name):
        return inside
    if layout(inside) is not PLAIN:
        raise GraderError(
            f"Everything lies in one folder, {printable(top)!r}, with names in it as an LMS gives them. If that folder is "
            f"what the LMS packed, collect that folder: unpack the zip if it is one, and run grader collect {lab.name} "
            f"<path of that folder>. If it is one student's, name the notebook in it {lab.notebook_name}."
        )
    return offers


def _files(lab: Lab, offers: Sequence[Offer], with_roster: bool) -> Iterator[File | Collected]:
    """Whose each file is, and rows for files that should be somebody's but are not. Anything that is not a submission of
    this lab is left out.
    """
    packed = [offer for offer in offers if not (offer.student or offer.forged)]
    whose = name_reader(lab, packed, with_roster)
    for offer in offers:
        try:
            if offer.forged:
                raise Unreadable(offer.forged)
            if offer.student:
                yield file_of(offer, offer.student, offer.parts[-1])
            elif leads_out(offer.parts[0]):
                raise Unreadable("Its path leads out of the archive.")
            elif found := whose(offer):
                yield found
        except Unreadable as error:
            yield Collected("", offer.shown, REFUSED, str(error))


# ---------------------------------------------------------------------------------- into the course


class _Reception:
    """Finds whose work it is on the roster, and remembers Canvas's numbers that it learns on the way.

    Args:
        roster: if it is empty, ids stay as the names in the source give them.
        ask: see :func:`collect`.
    """

    def __init__(self, lab: Lab, roster: Roster, ask: Ask | None) -> None:
        self.roster, self.ask = roster, ask
        numbers = {student: stored_moodle_number(lab, student) for student in roster.people}
        self.of_moodle = {number: student for student, number in numbers.items() if number}  # in this lab
        self.learned: dict[str, Person] = {}

    def known(self, file: File) -> File:
        """The file with the id that its student has on the roster.

        Raises:
            Unreadable: several people may be meant.
        """
        if not self.roster.people:
            return file
        try:
            person = self._person(file)
        except NotSure as error:
            (people,) = error.args
            person = self.ask(f"{file.called} ({file.offer.shown})", people) if self.ask else None
            if not person:
                listed = ", ".join(f"{each.student} ({each.name})" for each in people[:10])
                raise Unreadable(
                    f"Several people on the roster are called {printable(file.called)!r}: {listed}. Run `grader collect` in a "
                    "terminal, where it asks whose this is. If two of these ids are one person's: grader roster merge OLD ID"
                ) from None
        if not person:
            return replace(file, note=" ".join(filter(None, (file.note, "Not on the roster."))))
        if file.number and not file.moodle_number and not person.canvas:
            self.learned[person.student] = replace(person, canvas=file.number)
        # What the roster does not say was found by a number: is it the same person?
        told = not file.called or is_called(person, file.called)
        return replace(
            file, student=person.student, note="" if told else f"Handed in as {printable(file.called)!r}."
        )

    def _person(self, file: File) -> Person | None:
        """
        Raises:
            NotSure: several people may be meant.
        """
        if file.moodle_number and (before := self.of_moodle.get(file.moodle_number)):
            return self.roster.by_id(before)
        if not file.number and (person := self.roster.by_id(file.student)):
            return person
        if not file.called:
            return None
        if file.number and not file.moodle_number:
            return self.roster.by_canvas(file.number, file.called)
        return self.roster.by_name(file.called)


def _collect(lab: Lab, offers: Sequence[Offer], reception: _Reception, desk: Desk) -> Iterator[Collected]:
    by_student: dict[str, list[File]] = {}
    of_nobody = []
    for found in _files(lab, offers, bool(reception.roster.people)):
        if isinstance(found, Collected):
            of_nobody.append(found)
            continue
        try:
            known = reception.known(found)
        except Unreadable as error:
            of_nobody.append(Collected("", found.offer.shown, REFUSED, str(error)))
        else:
            by_student.setdefault(known.student, []).append(known)
    _see_that_it_is_this_lab(lab, by_student.values())
    rivals = _rivals(itertools.chain.from_iterable(by_student.values()))
    stamps = {offer.parts: offer for offer in offers if offer.parts[-1:] == (TIMESTAMP,)}
    seen: dict[str, str] = {}  # ids as seen by file systems that ignore case
    for student in sorted(by_student):
        files = by_student[student]
        if (other := seen.setdefault(folded(student), student)) != student:
            why = f"The name differs from {other!r} in capitals only. Rename one, and collect again."
            yield Collected(student, files[0].offer.shown, REFUSED, why)
        else:
            yield _collect_one(lab, student, files, stamps, rivals.get(student, ""), desk)
    yield from of_nobody


def _see_that_it_is_this_lab(lab: Lab, handed_in: Iterable[Sequence[File]]) -> None:
    """
    Raises:
        GraderError: all notebooks have the name of one other lab's, so it is that lab's source.
    """
    names = [{file.stem for file in files if file.stem} for files in handed_in]
    names = [each for each in names if each]
    others = {_other_lab(lab, next(iter(each))) if len(each) == 1 else None for each in names}
    if len(names) > 1 and len(others) == 1 and (other := others.pop()):
        raise GraderError(
            f"All {len(names)} notebooks have the name of another lab's, {other.partition('_')[2]}.ipynb, so nothing was collected. If they are of "
            f"that lab: grader collect {other}"
        )


def _other_lab(lab: Lab, stem: str) -> str | None:
    """The lab whose notebook is called so, if it is another one."""
    return next(
        (name for name in lab.course.labs() if name != lab.name and name.partition("_")[2] == stem), None
    )


def _rivals(files: Iterable[File]) -> dict[str, str]:
    """Students whose work is in two places of a source, or has the same number as somebody else's -> what to say."""
    claims: dict[str, dict[tuple[str, ...], set[str]]] = {}  # what is claimed -> source -> students
    for file in files:
        if file.source and file.sure:
            for what in (f"{file.student!r}", file.number and f"the number {file.number}"):
                if what:
                    claims.setdefault(what, {}).setdefault(file.source, set()).add(file.student)
    found = {}
    for what, sources in claims.items():
        if len(sources) > 1:
            listed = " and ".join(repr(printable("/".join(source))) for source in list(sources)[:5])
            why = f"Two claim to be {what}: {listed}. Find out whose they are, and remove or rename the wrong one."
            found |= dict.fromkeys(itertools.chain.from_iterable(sources.values()), why)
    return found


def _collect_one(
    lab: Lab,
    student: str,
    handed_in: Sequence[File],
    stamps: dict[tuple[str, ...], Offer],
    rival: str,
    desk: Desk,
) -> Collected:
    """
    Args:
        rival: why it is not clear that the files are the student's; empty if it is clear.
    """
    files = [file for file in handed_in if not (is_request(file.offer) or file.offer.beside_request)]
    known = next(iter(files), handed_in[0])
    try:
        _see_that_folders_are_ours(lab, student)
    except Unreadable as error:
        return Collected(student, known.offer.shown, REFUSED, str(error))
    asked, faults = ({}, []) if rival else _requests(desk, student, handed_in)
    different = {(each.lab, each.cell, each.words): each for each in asked.values()}
    told = [_enter(desk, each) for each in different.values()] + faults
    has_work = any(file.stem for file in files)
    with_work = any(each.lab == lab.name and not offer.beside_request for offer, each in asked.items())
    if asked and (not has_work or (with_work and _is_collected(lab, student))):
        why = " ".join(filter(None, [known.note, *told, *_left_aside(lab, student, handed_in)]))
        return Collected(student, known.offer.shown, ASKED, why)
    try:
        if rival:
            raise Unreadable(rival)
        if faults and not has_work:
            raise Unreadable(" ".join(faults))
        chosen, data = _choose(lab, files)
        known = chosen
        beside = _beside(lab, chosen, files)
        outcome = _store(lab, student, data, beside, _receipt(chosen.offer, stamps))
    except Unreadable as error:
        sure = any(file.sure for file in handed_in) and not rival
        why = _leave_reason(lab, student, str(error), _receipt(known.offer, stamps) if sure else None)
        if not rival:
            _keep_number(lab, known)
        return Collected(student, known.offer.shown, REFUSED, why)
    _keep_number(lab, known)
    taken = f"Taken with it: {', '.join(beside.modules)}." if beside.modules else ""
    late = "Canvas marks it as late." if known.late else ""
    notes = [known.note, late, *told, taken, *beside.sentences()]
    notes += _left_aside(lab, student, [file for file in handed_in if file.offer.beside_request])
    return Collected(student, known.offer.shown, outcome, " ".join(filter(None, notes)))


def _requests(desk: Desk, student: str, files: Iterable[File]) -> tuple[dict[Offer, Asked], list[str]]:
    """The requests among a student's files, and what is wrong with those that are none."""
    asked: dict[Offer, Asked] = {}
    faults: dict[str, None] = {}
    for file in itertools.islice((file for file in files if is_request(file.offer)), MAX_REQUESTS):
        try:
            asked[file.offer] = desk.read(file.offer, student)
        except Unreadable as error:
            faults[f"{printable(file.offer.parts[-1])}: {error}"] = None
    more = (
        [f"{len(faults) - _FAULTS_TOLD} more files are no requests, either."]
        if len(faults) > _FAULTS_TOLD
        else []
    )
    return asked, [*list(faults)[:_FAULTS_TOLD], *more]


def _enter(desk: Desk, asked: Asked) -> str:
    """Enters a request. Returns what to say about it."""
    try:
        number, new = desk.enter(asked)
    except TooMany as error:
        return str(error)
    return f"Request {number} about {desk.exercise(asked)}{'' if new else ', which was here already'}."


def _is_collected(lab: Lab, student: str) -> bool:
    present, _ = find_notebook(_folders(lab, student)[0], lab.notebook_name)
    return present.is_symlink() or present.exists()


def _left_aside(lab: Lab, student: str, files: Iterable[File]) -> list[str]:
    """What to say about notebooks that were not taken because a request lies beside them; nothing if they are the collected one."""
    present, _ = find_notebook(_folders(lab, student)[0], lab.notebook_name)
    for file in itertools.islice((file for file in files if file.stem), 5):
        with suppress(Unreadable):
            if not _same(present, file.offer.read()):
                return [_NOT_TAKEN]
    return []


_NOT_TAKEN = (
    "The notebook beside it is not the one that was collected, and was not taken: if it is meant as new work, have it handed in "
    "without the request."
)


def _choose(lab: Lab, files: Sequence[File]) -> tuple[File, bytes]:
    """The one notebook of a student's files that counts, and its content.

    Raises:
        Unreadable: there is none, it is not clear which, or it cannot be read.
    """
    notebooks = [file for file in files if file.stem]
    if not notebooks:
        raise Unreadable(_why_no_notebook(files))
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
        raise Unreadable(f"It has the name of another lab's notebook. Is it work for {other}?")
    if len(data) > MAX_BYTES:
        raise Unreadable(f"It is larger than {MAX_BYTES // 2**20} MiB. Clear the notebook's outputs.")
    return chosen, data


def _beside(lab: Lab, chosen: File, files: Sequence[File]) -> Beside:
    """What a student handed in with the notebook that counts."""
    folder = chosen.offer.parts[:-1]
    others = sorted((file for file in files if file is not chosen), key=lambda file: file.order)
    found = []
    for file in others:
        parts = file.offer.parts
        inside = parts[len(folder) : -1] if parts[: len(folder)] == folder else parts[:-1]
        found.append(((*inside, file.name or parts[-1]), file.offer.read))
    return sort_out(lab, found)


def _why_no_notebook(files: Sequence[File]) -> str:
    names = [file.offer.parts[-1] for file in files]
    listed = ", ".join(printable(name) for name in names[:MAX_NAMED])
    if len(names) > MAX_NAMED:
        listed += f" and {len(names) - MAX_NAMED} more"
    archives = any(name.lower().endswith((".zip", ".7z", ".rar", ".gz", ".tar")) for name in names)
    advice = " Archives inside are not unpacked: hand in the notebook itself." if archives else ""
    return f"There is no notebook among what was handed in ({listed}).{advice}"


def _receipt(offer: Offer, stamps: dict[tuple[str, ...], Offer]) -> dict[str, bytes]:
    """The files that say when a submission was handed in, and under which secret its feedback is found."""
    stamp = offer.stamp or _stamp_beside(offer, stamps)
    receipt = {
        TIMESTAMP: f"{stamp:%Y-%m-%d %H:%M:%S.%f} UTC".encode() if stamp else b"",
        SECRET: offer.secret,
    }
    return {name: data for name, data in receipt.items() if data}


def _stamp_beside(offer: Offer, stamps: dict[tuple[str, ...], Offer]) -> datetime | None:
    """When it was handed in, according to nbgrader's file in the same folder. None if that does not say."""
    try:
        beside = stamps[(*offer.parts[:-1], TIMESTAMP)]
        return time_of(beside.read()[:100].decode("utf-8").strip())
    except (KeyError, Unreadable, UnicodeDecodeError):
        return None


def _folders(lab: Lab, student: str) -> tuple[Path, Path]:
    """Where a student's submission is, and where its earlier versions are kept."""
    return lab.course.submitted / student / lab.name, lab.course.grading / "earlier" / student / lab.name


def _see_that_folders_are_ours(lab: Lab, student: str) -> None:
    """
    Raises:
        Unreadable: writing there would write somewhere else, or is not possible.
    """
    for folder in _folders(lab, student):
        for place in (folder.parent, folder):
            if place.is_symlink() or (place.exists() and not place.is_dir()):
                where = place.relative_to(lab.course.root)
                raise Unreadable(f"{where} is a link or a file, where a folder should be. Move it away.")


def _store(lab: Lab, student: str, data: bytes, beside: Beside, receipt: Mapping[str, bytes]) -> str:
    """Writes a submission, and says whether it is ``NEW``, ``REPLACED`` an earlier one, or is ``UNCHANGED``.

    Raises:
        GraderError: it cannot be written.
    """
    folder, earlier = _folders(lab, student)
    target = folder / lab.notebook_name
    present, _ = find_notebook(folder, lab.notebook_name)
    there = present.is_symlink() or present.exists()
    modules = {name: text.encode() for name, text in beside.modules.items()}
    old = [path for path in folder.glob("*.py") if path.is_symlink() or path.is_file()] if there else []
    unchanged = (
        there
        and _same(present, data)
        and {path.name for path in old} == set(modules)
        and all(_same(folder / name, module) for name, module in modules.items())
    )
    try:
        if unchanged:
            # of equal submissions, the time of the first one counts; feedback is found under the secret of the last one
            if SECRET in receipt:
                _scratch(folder, SECRET, receipt[SECRET]).replace(folder / SECRET)
            _note_left(folder, beside)
            return UNCHANGED
        make_private(folder)
        scratch = _scratch(folder, target.name, data)
        if there:
            _keep(earlier, [present, folder / TIMESTAMP, folder / SECRET, folder / NOT_TAKEN, *old])
        for name, module in modules.items():
            _scratch(folder, name, module).replace(folder / name)
        _note_left(folder, beside)
        scratch.replace(target)
        _write_receipt(folder, receipt)
        (folder / REASON_FILE).unlink(missing_ok=True)
    except OSError as error:
        raise GraderError(
            f"{target} cannot be written: {error.strerror}. Make sure that the disk has room."
        ) from None
    return REPLACED if there else NEW


def _note_left(folder: Path, beside: Beside) -> None:
    """Writes down what else was handed in, so that grading can say so."""
    if beside.left:
        _scratch(folder, NOT_TAKEN, note(beside.left)).replace(folder / NOT_TAKEN)
    else:
        (folder / NOT_TAKEN).unlink(missing_ok=True)


def _keep_number(lab: Lab, file: File) -> None:
    """Keeps Moodle's number for a student in this lab: exports need it, even if later versions arrive another way.

    Raises:
        GraderError: it cannot be written.
    """
    folder, _ = _folders(lab, file.student)
    if not file.moodle_number or not folder.is_dir():
        return
    if stored_moodle_number(lab, file.student) != file.moodle_number:
        try:
            _scratch(folder, MOODLE_NUMBER, file.moodle_number.encode()).replace(folder / MOODLE_NUMBER)
        except OSError as error:
            raise GraderError(f"{folder} cannot be written to: {error.strerror}.") from None


def _write_receipt(folder: Path, receipt: Mapping[str, bytes]) -> None:
    for name in (TIMESTAMP, SECRET):
        if name in receipt:
            _scratch(folder, name, receipt[name]).replace(folder / name)
        else:  # left by a submission that was refused before
            (folder / name).unlink(missing_ok=True)


def _same(path: Path, data: bytes) -> bool:
    try:
        return file_bytes(path) == data
    except Unreadable:
        return False


def _scratch(folder: Path, name: str, data: bytes) -> Path:
    """A new file beside the one that it is going to replace."""
    scratch = folder / f".{name}.new"
    scratch.unlink(missing_ok=True)
    with scratch.open("xb") as file:  # x: does not follow a link that somebody has put there
        file.write(data)
    return scratch


def _keep(earlier: Path, files: Iterable[Path]) -> None:
    """Moves a submission's files to a folder of their own, named with the next free number."""
    make_private(earlier)
    number = 1
    while (place := earlier / str(number)).exists():
        number += 1
    place.mkdir()
    for file in files:
        if file.is_symlink() or file.exists():
            file.replace(place / file.name)


def _leave_reason(lab: Lab, student: str, why: str, receipt: Mapping[str, bytes] | None) -> str:
    """Makes sure that grading reports a submission that was refused. Returns what to say about it.

    Args:
        receipt: None if it is not certain that there is such a student.

    Raises:
        GraderError: it cannot be written.
    """
    folder, _ = _folders(lab, student)
    present, _ = find_notebook(folder, lab.notebook_name)
    if present.is_symlink() or present.exists():
        return f"{why} What was collected before stays."
    if receipt is not None:
        try:
            make_private(folder)
            _scratch(folder, REASON_FILE, why.encode("utf-8", "replace")).replace(folder / REASON_FILE)
            _write_receipt(folder, receipt)
        except OSError as error:
            raise GraderError(f"{folder} cannot be written to: {error.strerror}.") from None
    return why
