"""Submissions from nbgrader's exchange, a folder or a learning platform's zip -> ``grading/submitted``.

One notebook per student or team is taken, the Python files beside it, and requests to look again at what was graded; everything else that
was handed in is named. A request leaves the work as it is: what lies beside one takes the place of nothing that was collected before.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from shlex import quote
from zoneinfo import ZoneInfo

from grader.book.gradebook import Gradebook, roster_of, teams_of
from grader.book.requests import MAX_REQUESTS, Asked, TooMany
from grader.errors import GraderError
from grader.files import SECRET, TIMESTAMP, Unreadable, find_notebook, printable
from grader.people.roster import NotSure
from grader.people.students import folded
from grader.receive.choose import Chooser, beside_it
from grader.receive.exchange import in_exchange
from grader.receive.names import Aside, File, Reader, file_of, name_reader
from grader.receive.recognise import Recognised, nobody_known, recognise, see_that_it_was_handed_in, sentence
from grader.receive.refused import remember
from grader.receive.regrade import Desk, is_request
from grader.receive.sources import Offer, in_folder, in_zip, leads_out, looked_into
from grader.receive.store import (
    NEW,
    REPLACED,
    UNCHANGED,
    folders_of,
    keep_number,
    leave_reason,
    receipt_of,
    same,
    see_that_folders_are_ours,
    store,
)
from grader.receive.team import HandedIn, collected_later, give_to, is_own, last_of
from grader.receive.whose import NOT_ON_THE_ROSTER, Ask, Reception
from grader.reference.lab import Lab

REFUSED, ASKED = "refused", "request"
OUTCOMES = NEW, REPLACED, UNCHANGED, REFUSED, ASKED


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
"""For at most this many files that look like requests but are not, the reason is listed."""

Confirm = Callable[[str, Sequence[str]], None]
"""Gets what a source is taken for, and what makes that doubtful. It raises :class:`GraderError` to stop before anything is collected."""


def when_sure(said: str, doubts: Sequence[str]) -> None:
    """Stops whenever there is a doubt.

    Raises:
        GraderError: there is one.
    """
    if doubts:
        raise GraderError(
            f"It is not certain what this is, and nothing was collected. {doubts[0]}. Taken for: {said} If that is right, add --yes; "
            "otherwise say what it is with --as (docs/collecting.md)."
        )


def collect(
    lab: Lab,
    source: Path | None = None,
    shared_account: bool = False,
    ask: Ask | None = None,
    confirm: Confirm = when_sure,
    layout: str = "",
    zone: ZoneInfo | None = None,
    anyway: bool = False,
) -> list[Collected]:
    """Puts submissions where grading looks for them, one notebook per student with the Python files beside it.

    A student whose work is refused gets a folder with the reason, and grading then reports the submission as
    unreadable; anything collected from them before stays.

    Args:
        source: a folder, or a zip as learning platforms make it. None: nbgrader's exchange.
        shared_account: all submissions in the exchange belong to one user of the system, so that their owner says
            nothing about who handed them in.
        ask: is asked where several people on the roster may be meant. None: such work is refused.
        confirm: gets what the source is taken for, before anything is collected.
        layout: the name of the source's layout; empty: its names say which one it is.
        zone: of the times in the platform's names. None: it is not known, so that they only tell attempts apart.
        anyway: what is this lab's is collected even if most of the source is another lab's.

    Returns: a row for each student, sorted by id, followed by files that belong to nobody.

    Raises:
        GraderError: the source cannot be used at all, or there is nothing in it.
    """
    reception = Reception(lab, roster_of(lab.course), teams_of(lab.course, lab.name))
    with Desk.opened(lab.course) as desk, _opened(lab, source, shared_account, desk) as offers:
        taken = _recognised(lab, source, offers, reception, layout)
        offers = list(taken.offers) if taken else offers
        found = _found(lab, taken, offers, reception, zone)
        if taken and found.files:
            files = [file for file in found.files if not file.receipt]
            strangers = {each.student for each in files if NOT_ON_THE_ROSTER in each.note}
            said = sentence(taken, files, len(strangers), bool(reception.roster.people), found.aside)
            unknown = () if found.unclear else nobody_known(files, reception.roster)
            confirm(said, (*taken.doubts, *unknown))
        rows = list(_collect(lab, offers, found, reception, ask, desk, anyway))
        alone = not rows and any(map(is_request, offers))
    if alone:
        raise GraderError(
            f"{source} contains regrade requests, but no submission of {lab.name}. Run grader requests add {quote(str(source))}"
        )
    if not rows:
        raise GraderError(
            f"{source or 'The exchange'} has no submission of {lab.name}. In a folder or zip, name files "
            f"<student>/{lab.notebook_name} or <student>_{lab.notebook_name}, or leave the names that your learning "
            "platform gave (docs/collecting.md)."
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
    return bool(student) and folders_of(lab, student)[0].is_dir()


@contextmanager
def _opened(lab: Lab, source: Path | None, shared_account: bool, desk: Desk) -> Iterator[list[Offer]]:
    if source is None:
        yield looked_into(in_exchange(lab, shared_account, partial(desk.accepts, lab)))
    elif source.is_dir():
        yield looked_into(in_folder(source.resolve()))
    elif source.is_file():
        with in_zip(source) as offers:
            yield looked_into(offers)
    else:
        raise GraderError(f"{source} does not exist, or is neither a folder nor a zip file.")


def _recognised(
    lab: Lab, source: Path | None, offers: Sequence[Offer], reception: Reception, layout: str
) -> Recognised | None:
    """What a source is taken for; None for the exchange, or if it has no files."""
    if source is None or not offers:
        return None
    see_that_it_was_handed_in(lab, source, offers)
    stem = source.resolve().name if source.is_dir() else source.stem
    return recognise(lab, offers, stem, reception.roster, layout)


@dataclass(frozen=True)
class _Found:
    """What a source contains.

    Attributes:
        files: those of which it is known whose they are.
        unclear: those that may be several people's on the roster, and whose.
        of_nobody: rows for files that should be somebody's but are not.
        aside: names of what is no submission of this lab.
    """

    files: list[File]
    unclear: list[tuple[File, NotSure]]
    of_nobody: list[Collected]
    aside: list[str]


def _found(
    lab: Lab, taken: Recognised | None, offers: Sequence[Offer], reception: Reception, zone: ZoneInfo | None
) -> _Found:
    found = _Found([], [], [], [])
    packed = [offer for offer in offers if not (offer.student or offer.forged)]
    whose = name_reader(lab, packed, taken.layout if taken else None, reception.roster, zone)
    for each in _files(whose, offers):
        if isinstance(each, Collected):
            found.of_nobody.append(each)
        elif isinstance(each, str):
            found.aside.append(each)
        else:
            try:
                found.files.append(reception.known(each))
            except NotSure as error:
                found.unclear.append((each, error))
    return found


def _files(whose: Reader, offers: Sequence[Offer]) -> Iterator[File | Collected | str]:
    """Whose each file is; rows for files that should be somebody's but are not; and what is no submission of this lab."""
    for offer in offers:
        try:
            if offer.forged:
                raise Unreadable(offer.forged)
            if offer.student:
                yield file_of(offer, offer.student, offer.name, login=offer.student)
            elif leads_out(offer.parts[0]):
                raise Unreadable("Its path leads out of the archive.")
            else:
                yield from whose(offer)
        except Unreadable as error:
            yield Collected("", offer.shown, REFUSED, str(error))
        except Aside:
            yield offer.shown


# ---------------------------------------------------------------------------------- into the course


def _collect(
    lab: Lab,
    offers: Sequence[Offer],
    found: _Found,
    reception: Reception,
    ask: Ask | None,
    desk: Desk,
    anyway: bool,
) -> Iterator[Collected]:
    by_student: dict[str, list[File]] = {}
    of_nobody = list(found.of_nobody)
    files = list(found.files)
    for file, error in found.unclear:
        try:
            files.append(reception.asked(file, error.args[0], ask))
        except Unreadable as why:
            of_nobody.append(Collected("", file.offer.shown, REFUSED, str(why)))
    for file in files:
        by_student.setdefault(file.student, []).append(file)
    chooser = Chooser(lab)
    # in the exchange, learners have said themselves which lab it is for, so each is reported by itself
    works = [
        [file for file in files if _is_work(file) and not file.offer.student] for files in by_student.values()
    ]
    chooser.see_that_it_is_this_lab([files for files in works if files], anyway)
    rivals = _rivals(itertools.chain.from_iterable(by_student.values()))
    stamps = {offer.parts: offer for offer in offers if offer.parts[-1:] == (TIMESTAMP,) and not offer.inside}
    seen: dict[str, str] = {}  # ids as seen by file systems that ignore case
    rows: list[Collected] = []
    for student in sorted(by_student):
        if (other := seen.setdefault(folded(student), student)) != student:
            why = f"The name differs from {other!r} in capitals only. Rename one, and collect again."
            rows.append(Collected(student, by_student.pop(student)[0].offer.shown, REFUSED, why))
    for members in _groups(by_student, reception.teams):
        if len(members) > 1:
            theirs = {student: by_student[student] for student in members if student in by_student}
            team = reception.teams[members[0]]
            rows += _collect_team(lab, team, members, theirs, stamps, rivals, desk, chooser)
        else:
            (student,) = members
            rows.append(
                _collect_one(
                    lab, student, by_student[student], stamps, rivals.get(student, ""), desk, chooser
                )
            )
    yield from sorted(rows, key=lambda row: row.student)
    yield from of_nobody


def _groups(students: Iterable[str], teams: Mapping[str, str]) -> list[list[str]]:
    """All who have handed in something, each with the other members of the team, sorted."""
    members: dict[str, list[str]] = {}
    for student, team in sorted(teams.items()):
        members.setdefault(team, []).append(student)
    groups = {}
    for student in sorted(students):
        group = members[teams[student]] if student in teams else [student]
        groups[group[0]] = group
    return list(groups.values())


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


@dataclass(frozen=True)
class _Taken:
    """What of a student's files can be taken.

    Attributes:
        file: the notebook that was chosen.
        told: what to say about it.
        aside: files beside a request.
    """

    work: HandedIn
    file: File
    told: tuple[str, ...]
    aside: tuple[File, ...]


@dataclass(frozen=True)
class _Refused:
    """That nothing of a student's files can be taken.

    Attributes:
        receipt: None if it is not certain that there is such a student.
    """

    student: str
    file: File
    why: str
    receipt: Mapping[str, bytes] | None
    rival: bool


def _collect_one(
    lab: Lab,
    student: str,
    handed_in: Sequence[File],
    stamps: dict[tuple[str, ...], Offer],
    rival: str,
    desk: Desk,
    chooser: Chooser,
) -> Collected:
    """
    Args:
        rival: why it is not clear that the files are the student's; empty if it is clear.
    """
    found = _looked_at(lab, student, handed_in, stamps, rival, desk, chooser)
    if isinstance(found, Collected):
        return found
    if isinstance(found, _Refused):
        return _refuse(lab, found)
    work = found.work
    outcome, told = store(lab, student, work.data, work.beside, work.receipt)
    is_own(lab, student)
    return _row(lab, found, outcome, told)


def _row(lab: Lab, found: _Taken, outcome: str, *more: str) -> Collected:
    """What has happened to work that could be taken."""
    work = found.work
    keep_number(lab, found.file)
    taken = f"Taken with it: {', '.join(work.beside.modules)}." if work.beside.modules else ""
    notes = [*found.told, taken, *work.beside.sentences(), *more]
    notes += _left_aside(lab, work.student, found.aside)
    return Collected(work.student, work.shown, outcome, " ".join(filter(None, notes)))


def _refuse(lab: Lab, found: _Refused) -> Collected:
    """Sees to it that grading tells of work that cannot be taken."""
    why = leave_reason(lab, found.student, found.why, found.receipt)
    if not found.rival:
        keep_number(lab, found.file)
    return Collected(found.student, found.file.offer.shown, REFUSED, why)


def _looked_at(
    lab: Lab,
    student: str,
    handed_in: Sequence[File],
    stamps: dict[tuple[str, ...], Offer],
    rival: str,
    desk: Desk,
    chooser: Chooser,
) -> Collected | _Taken | _Refused:
    """What of a student's files can be taken; a row, if there is nothing more to do. Nothing is stored but requests."""
    files = [file for file in handed_in if _is_work(file)]
    known = next(iter(files), handed_in[0])
    try:
        see_that_folders_are_ours(lab, student)
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
        known, data, said = chooser.choose(files)
        beside = beside_it(lab, known, files)
    except Unreadable as error:
        sure = any(file.sure or file.listed for file in handed_in) and not rival
        return _Refused(student, known, str(error), receipt_of(known, stamps) if sure else None, bool(rival))
    attempt = known.attempt[0] if known.attempt[0] > datetime.min else None
    work = HandedIn(student, known.offer.shown, data, beside, receipt_of(known, stamps), attempt)
    late = f"{known.late} marks it as late." if known.late else ""
    aside = tuple(file for file in handed_in if file.offer.beside_request)
    return _Taken(work, known, (known.note, late, said, *told), aside)


def _collect_team(
    lab: Lab,
    team: str,
    members: Sequence[str],
    handed_in: Mapping[str, Sequence[File]],
    stamps: dict[tuple[str, ...], Offer],
    rivals: Mapping[str, str],
    desk: Desk,
    chooser: Chooser,
) -> Iterator[Collected]:
    """
    Args:
        members: all of the team.
        handed_in: the files of those who have handed in anything.
    """
    found = {
        student: _looked_at(lab, student, files, stamps, rivals.get(student, ""), desk, chooser)
        for student, files in handed_in.items()
    }
    taken = {student: each for student, each in found.items() if isinstance(each, _Taken)}
    refused = {student: each for student, each in found.items() if isinstance(each, _Refused)}
    yield from (each for each in found.values() if isinstance(each, Collected))
    if not taken:
        yield from _refuse_team(lab, team, members, refused)
        return
    try:
        counts = last_of([each.work for each in taken.values()])
    except Unreadable as error:
        for student, each in taken.items():
            refused[student] = _Refused(student, each.file, str(error), each.work.receipt, False)
        yield from _refuse_team(lab, team, members, refused)
        return
    counts = collected_later(lab, team, members, counts) or counts
    for student in members:
        mine = taken.get(student)
        same = mine is not None and mine.work.content == counts.content
        if student == counts.student:
            more = f"It counts for team {team}." if len(found) > 1 else ""
        else:
            more = f"What {counts.student} handed in counts for team {team}."
        if student in refused:
            more = f"{refused[student].why} {more}"
            keep_number(lab, refused[student].file)
        try:
            see_that_folders_are_ours(lab, student)
        except Unreadable as error:
            if student not in found:
                yield Collected(student, counts.shown, REFUSED, str(error))
            continue
        outcome, told = give_to(
            lab, student, team, counts, mine.work.receipt.get(SECRET, b"") if mine and same else b""
        )
        if mine:
            yield _row(lab, mine, outcome, "" if same else "It is not the last.", more, told)
        else:
            shown = refused[student].file.offer.shown if student in refused else counts.shown
            yield Collected(student, shown, outcome, f"{more} {told}".strip())


def _refuse_team(
    lab: Lab, team: str, members: Sequence[str], refused: Mapping[str, _Refused]
) -> Iterator[Collected]:
    """Sees to it that grading tells all members of work that cannot be taken."""
    yield from (_refuse(lab, each) for each in refused.values())
    sure = [each for each in refused.values() if each.receipt is not None]
    for student in members if sure else ():
        if student not in refused:
            why = f"Handed in by {sure[-1].student} for team {team}: {sure[-1].why}"
            with suppress(Unreadable):
                see_that_folders_are_ours(lab, student)
                receipt = {name: data for name, data in (sure[-1].receipt or {}).items() if name != SECRET}
                told = leave_reason(lab, student, why, receipt)
                yield Collected(student, sure[-1].file.offer.shown, REFUSED, told)


def _is_work(file: File) -> bool:
    return not (is_request(file.offer) or file.offer.beside_request)


def _requests(desk: Desk, student: str, files: Iterable[File]) -> tuple[dict[Offer, Asked], list[str]]:
    """The requests among a student's files, and what is wrong with files that look like one."""
    asked: dict[Offer, Asked] = {}
    faults: dict[str, None] = {}
    for file in itertools.islice((file for file in files if is_request(file.offer)), MAX_REQUESTS):
        try:
            asked[file.offer] = desk.read(file.offer, student)
        except Unreadable as error:
            faults[f"{printable(file.offer.name)}: {error}"] = None
    more = (
        [f"{len(faults) - _FAULTS_TOLD} more files are not requests, either."]
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
    present, _ = find_notebook(folders_of(lab, student)[0], lab.notebook_name)
    return present.is_symlink() or present.exists()


def _left_aside(lab: Lab, student: str, files: Iterable[File]) -> list[str]:
    """What to say about notebooks that were not taken because a request lies beside them; nothing if they are the collected one."""
    present, _ = find_notebook(folders_of(lab, student)[0], lab.notebook_name)
    for file in itertools.islice((file for file in files if file.stem), 5):
        with suppress(Unreadable):
            if not same(present, file.offer.read()):
                return [_NOT_TAKEN]
    return []


_NOT_TAKEN = (
    "The notebook beside it is another one than was collected, so it was not taken. If it is meant as new work, have it handed in "
    "without the request."
)
