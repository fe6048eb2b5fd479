"""Submissions in nbgrader's exchange. Everybody may write there, so the owner of a folder tells whose work it is."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.apps.baseapp import NbGrader
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import Exchange, ExchangeCollect

from grader.book import file as gradebook_file
from grader.course import Course
from grader.errors import GraderError
from grader.files import SECRET, Unreadable, opened_folder, printable, time_of
from grader.people.students import student_id
from grader.receive.sources import Offer, listed, refusing, user_name
from grader.reference.lab import Lab

_LOOKED_INTO = 20
"""This many of a student's submissions, the newest, are searched for regrade requests."""


def in_exchange(lab: Lab, shared_account: bool, asks: Callable[[Offer], bool]) -> list[Offer]:
    """The submissions of a lab that nbgrader would collect, and those that claim to be somebody else's.

    A submission with a request to look again counts as work only if its student has handed in nothing else. Of those that do not
    count, the requests are returned, and what lies beside the last one.

    Args:
        asks: whether a file is a request that its student may make.

    Raises:
        GraderError: the exchange is not set up.
    """
    app = nbgrader_app(lab.course)
    # nbgrader looks up the due date in the gradebook, and would otherwise create its file
    with gradebook_file.opened(lab.course):
        pass
    inbound = _Inbound(
        lab,
        shared_account,
        asks,
        coursedir=CourseDirectory(parent=app),
        authenticator=Authenticator(parent=app),
        parent=app,
    )
    inbound.coursedir.assignment_id = lab.name
    try:
        inbound.start()
    except ExchangeError as error:
        raise GraderError(
            f"nbgrader's exchange cannot be used: {error}. Set c.Exchange.root in {lab.course.root / 'nbgrader_config.py'} "
            "to a folder that everybody can write to, and release the lab there with nbgrader. Or give the folder "
            f"or the zip of an LMS: grader collect {lab.name} SOURCE."
        ) from None
    forged = dict(inbound.forged)
    offers = [Offer((name,), refusing(why), forged=why) for name, why in sorted(forged.items())]
    for record in inbound.src_records:
        if record["filename"] not in forged:
            offers += inbound.files_of(record)
    chosen = {record["filename"] for record in inbound.src_records}
    for records in inbound.asking:
        for number, record in enumerate(record for record in records if record["filename"] not in chosen):
            files = inbound.files_of(record)
            offers += [replace(offer, beside_request=True) for offer in files if not number or asks(offer)]
    return offers


def _in_record(lab: Lab, inbound: Path, record: dict, shared_account: bool) -> Iterator[Offer]:
    """The files of one submission in the exchange. nbgrader lets everybody write into its folder, so the owner of each
    file is checked.
    """
    who, name = student_id(record["username"]), record["filename"]
    stamp = record["timestamp"] if record["timestamp"] > datetime.min else None
    owner = None if shared_account else record["owner"]
    found, why = [], "In the exchange it is not a folder with files."
    with (
        suppress(OSError, GraderError),
        opened_folder(inbound) as outer,
        opened_folder(name, outer) as folder,
    ):
        if owner in (None, os.fstat(folder).st_uid):
            found = listed(inbound, folder, (name,), owner)
        else:
            why = "It was replaced while it was being collected. Collect again."
    secret = b""
    for offer in found:
        if offer.parts == (name, SECRET):
            with suppress(Unreadable):
                secret = offer.read()[:1000]  # nbgrader's own secrets have 128 bytes
    for offer in found:
        yield replace(offer, student=who, stamp=stamp, secret=secret)
    if not found:
        yield Offer((name, lab.notebook_name), refusing(why), student=who, stamp=stamp)


class _Inbound(ExchangeCollect):
    """nbgrader's own choice of which submission counts (the last, or the last before the due date), without its copying. That follows links, stops
    at one bad submission, and deletes what was collected before.

    Forged submissions are left out of that choice, and those with a request to look again wherever there are others: to ask
    must not make anybody's work late.
    """

    def __init__(
        self, lab: Lab, shared_account: bool, asks: Callable[[Offer], bool], **settings: Any
    ) -> None:
        super().__init__(**settings)
        self.lab, self.asks = lab, asks
        self.shared_account = shared_account or not self.check_owner
        self.forged: list[tuple[str, str]] = []  # name in the exchange, and why
        self.asking: list[list[dict]] = []  # each student's submissions with requests, the newest first

    def files_of(self, record: dict) -> list[Offer]:
        return list(_in_record(self.lab, Path(self.inbound_path), record, self.shared_account))

    def copy_files(self) -> None:
        pass

    def _path_to_record(self, path):
        name = Path(path).name
        username, _, stamp = name.rsplit("+", 3)[:3]
        # a name without a time would stop the collection of the whole class
        return {"username": username, "filename": name, "timestamp": time_of(stamp) or datetime.min}

    def _sort_by_timestamp(self, records):
        """nbgrader calls this with all submissions under one user's name, to choose from."""
        real = super()._sort_by_timestamp([record for record in records if not self._is_forged(record)])
        asking = [record for record in real[:_LOOKED_INTO] if any(map(self.asks, self.files_of(record)))]
        self.asking.append(asking)
        return (
            [record for record in real if record not in asking] or real or super()._sort_by_timestamp(records)
        )

    def _is_forged(self, record) -> bool:
        name, username = record["filename"], record["username"]
        try:
            record["owner"] = os.lstat(Path(self.inbound_path) / name).st_uid
        except OSError:  # it has disappeared in the meantime
            record["owner"] = None
            return False
        if self.shared_account or user_name(record["owner"]) == username:
            return False
        self.forged.append((name, _why_forged(username, record["owner"])))
        return True


def _why_forged(username: str, owner: int) -> str:
    return (
        f"It claims to be {printable(username)}'s, but belongs to {printable(user_name(owner))} on this machine: who handed it in? "
        "If all submissions belong to one user of the machine, collect with --shared-account."
    )


def exchange_of(course: Course) -> Path:
    """The folder of nbgrader's exchange, as this computer and this course configure it. It may not exist."""
    app = nbgrader_app(course)
    return Path(Exchange(coursedir=CourseDirectory(parent=app), parent=app).root)


def inbound_of(course: Course) -> Path:
    """The folder of the exchange that submissions are put into.

    Raises:
        GraderError: it is not there, or cannot be read.
    """
    inbound = exchange_of(course) / course.course_id() / "inbound"
    if not os.access(inbound, os.R_OK | os.X_OK):
        raise GraderError(
            f"{inbound} is not there, or cannot be read. Set c.Exchange.root in {course.root / 'nbgrader_config.py'} to a folder that "
            "everybody can write to, and release the lab there with nbgrader; or name the folder that is handed in to."
        )
    return inbound


def nbgrader_app(course: Course) -> NbGrader:
    """nbgrader with the configuration of this computer and this course, and with its own log messages silenced."""
    app = NbGrader()
    app.log.setLevel(logging.CRITICAL + 1)
    app.load_cwd_config = False
    app.load_config_file()
    app.update_config(course.configuration())
    return app
