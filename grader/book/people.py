"""Who is in the gradebook, and who of them is on the roster."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import Connection, bindparam, delete, select
from sqlalchemy.dialects.sqlite import insert

from grader.book import log, statuses, teams
from grader.book.database import Database
from grader.book.statuses import Kind, Status
from grader.book.tables import EXTENSIONS, LTI_USERS, MORE_TIME, ROSTER, STUDENT, SUBMISSION, TAKEN
from grader.people.roster import Person


class People(Database):
    """What the gradebook knows about people."""

    def students(self) -> list[str]:
        """The ids of all students in the gradebook, sorted."""
        with self.reading() as connection:
            return sorted(connection.execute(select(STUDENT.c.id)).scalars())

    def people(self, student: str | None = None) -> dict[str, Person]:
        """Student -> what the gradebook knows of everybody in it, sorted by id.

        Args:
            student: only of this one; None: of everybody.
        """
        query = select(STUDENT, ROSTER.c.section).outerjoin(ROSTER, ROSTER.c.student == STUDENT.c.id)
        if student is not None:
            query = query.where(STUDENT.c.id == student)
        with self.reading() as connection:
            rows = connection.execute(query.order_by(STUDENT.c.id)).mappings().all()
        return {
            row["id"]: Person(
                row["id"],
                *(row[name] or "" for name in ("first_name", "last_name", "email", "section", "lms_user_id")),
            )
            for row in rows
        }

    def sections(self, student: str | None = None) -> dict[str, str]:
        """Student -> section, of those on the roster.

        Args:
            student: only of this one; None: of everybody.
        """
        query = select(ROSTER.c.student, ROSTER.c.section)
        if student is not None:
            query = query.where(ROSTER.c.student == student)
        with self.reading() as connection:
            return {row.student: row.section for row in connection.execute(query)}

    def roster(self) -> dict[str, Person]:
        """The same of those who are on the roster."""
        with self.reading() as connection:
            listed = set(connection.execute(select(ROSTER.c.student)).scalars())
        return {student: person for student, person in self.people().items() if student in listed}

    def enter_people(self, people: Iterable[Person], why: str = "") -> None:
        """Puts people on the roster, or replaces what is there about them.

        Args:
            why: the reason, for the log.
        """
        people = list(people)
        if not people:
            return
        add, listed = insert(STUDENT), insert(ROSTER)
        known = {name: add.excluded[name] for name in ("first_name", "last_name", "email", "lms_user_id")}
        students = [
            {
                "id": each.student,
                "first_name": each.first_name or None,
                "last_name": each.last_name or None,
                "email": each.email or None,
                "lms_user_id": each.canvas or None,
            }
            for each in people
        ]
        sections = [{"student": each.student, "section": each.section} for each in people]
        with self.transaction() as db:
            log.give_reason(db, why)
            db.execute(add.on_conflict_do_update(index_elements=["id"], set_=known), students)
            db.execute(
                listed.on_conflict_do_update(
                    index_elements=["student"], set_={"section": listed.excluded.section}
                ),
                sections,
            )

    def remove_people(self, students: Iterable[str], why: str = "") -> list[Status]:
        """Takes people off the roster. The gradebook forgets those of whom it has no submission, and their teams. Returns what was decided about
        them, which is taken back.

        Args:
            why: the reason, for the log.
        """
        students = list(students)
        with self.transaction() as db:
            log.give_reason(db, why)
            db.execute(delete(ROSTER).where(ROSTER.c.student.in_(students)))
            with_work = select(SUBMISSION.c.student_id)
            db.execute(delete(STUDENT).where(STUDENT.c.id.in_(students), STUDENT.c.id.not_in(with_work)))
            known = set(db.execute(select(STUDENT.c.id).where(STUDENT.c.id.in_(students))).scalars())
            gone = [student for student in students if student not in known]
            teams.leave(db, gone, self.course.labs())
            db.execute(delete(LTI_USERS).where(LTI_USERS.c.student.in_(gone)))
            return _take_back(db, gone)

    def lti_users(self, platform: str) -> dict[str, str]:
        """Student -> the id by which a learning platform knows them, of those of whom that is known."""
        with self.reading() as db:
            return {
                row.student: row.user for row in db.execute(select(LTI_USERS).filter_by(platform=platform))
            }

    def note_lti_users(self, platform: str, users: Mapping[str, str]) -> None:
        """Notes by which ids a platform knows students. An id is one student's only."""
        if not users:
            return
        rows = [{"student": who, "platform": platform, "user": user} for who, user in users.items()]
        here = delete(LTI_USERS).where(LTI_USERS.c.platform == platform)
        with self.transaction() as db:
            for name in ("student", "user"):
                db.execute(
                    here.where(LTI_USERS.c[name] == bindparam("value")),
                    [{"value": row[name]} for row in rows],
                )
            db.execute(insert(LTI_USERS), rows)


def _take_back(db: Connection, students: Collection[str]) -> list[Status]:
    """Takes back all statuses and extensions of people of whom the gradebook knows nothing else, and returns them."""
    extended = db.execute(select(EXTENSIONS).where(EXTENSIONS.c.student.in_(students)))
    found = statuses.statuses_in(db, among=students)
    found += [
        Status(row.student, row.assignment, Kind.EXTENSION, f"{row.seconds / 86400:.10g}") for row in extended
    ]
    for table in (statuses.STATUSES, EXTENSIONS, MORE_TIME, TAKEN):
        db.execute(delete(table).where(table.c.student.in_(students)))
    return found
