"""Who is in a course on a learning platform, by LTI: the learners as a class list has them, and everybody else by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grader.errors import GraderError
from grader.left_out import LeftOut
from grader.people.lti import Member
from grader.people.roster import Person, contradictions, listed
from grader.people.students import student_id
from grader.people.tables import tidy


@dataclass(frozen=True)
class Class:
    """What a platform says about a class.

    Attributes:
        people: the learners.
        users: the platform's ids of the same people, in the same order.
        notes: about those who are in the course there and do not come onto the roster.
    """

    people: tuple[Person, ...]
    users: tuple[str, ...]
    notes: tuple[str, ...]


def class_of(members: Sequence[Member], known: Mapping[str, str]) -> Class:
    """The class that a platform lists.

    Args:
        known: the platform's id -> student on the roster, where it is known from before.

    Raises:
        GraderError: there is no learner, or two of them have the same id or address.
    """
    left = LeftOut()
    learners = []
    for member in members:
        who = member.name or member.email or member.user
        if not member.learns:
            left.add(
                "They are not learners in this course on the platform",
                f"{who} ({', '.join(member.roles) or 'no role'})",
            )
        elif not member.active:
            here = f" ({known[member.user]} here)" if member.user in known else ""
            left.add(
                "The platform no longer counts them as in the course; `grader roster remove ID` takes somebody off the roster",
                who + here,
            )
        else:
            learners.append(member)
    people = [_person(member) for member in learners]
    people = [
        replace(person, student=known.get(member.user, person.student))
        for person, member in zip(people, learners, strict=True)
    ]
    if faults := contradictions(people):
        raise GraderError(
            f"The platform's class list contradicts itself; nothing has changed.{listed(faults)}"
        )
    if not people:
        raise GraderError("The platform lists no learners in this course. Nothing has changed.")
    return Class(tuple(people), tuple(member.user for member in learners), left.sentences())


def _person(member: Member) -> Person:
    name, first, last, email = map(tidy, (member.name, member.first_name, member.last_name, member.email))
    if not (first or last):
        first, _, last = name.rpartition(" ")
    return Person(student_id(tidy(member.login) or email or member.user), first, last, email)
