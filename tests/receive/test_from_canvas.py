"""Class list, deadlines, excuses and lateness from Canvas, against a small server that says what Canvas's documentation has."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from classroom import START, new_course, with_gradebook, without_gradebook
from fake_canvas import SECRET, Clock, ToRead, serving
from typer.testing import CliRunner

from grader.book.gradebook import Gradebook
from grader.book.sent import Sent
from grader.book.statuses import Kind, Status
from grader.cli import app
from grader.course import Course
from grader.errors import GraderError
from grader.files import LATE, TIMESTAMP
from grader.people import server
from grader.people.canvas import TOKEN
from grader.people.roster import Person, in_section
from grader.reference.lab import Lab

C, A = "/courses/12", "/courses/12/assignments/345"
DUE = datetime(2026, 11, 2, 22, 59)
ASSIGNMENT = {
    "id": 345,
    "name": "Start [copy]",
    "due_at": "2026-11-02T22:59:00Z",
    "points_possible": 5,
    "grading_type": "points",
}


def user(number: int | str, name: str, section: int = 71, kind: str = "StudentEnrollment", **more) -> dict:
    enrolled = [{"type": kind, "course_section_id": section}]
    return {"id": number, "sortable_name": name, "enrollments": enrolled, **more}


def submission(number: int | str, **more) -> dict:
    return {"user_id": number, "score": None, "excused": False, "late": False, "seconds_late": 0, **more}


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return new_course(tmp_path_factory.mktemp("course"))


@pytest.fixture
def lab(course) -> Iterator[Lab]:
    with_gradebook(course)
    yield Lab.load(course, START)
    without_gradebook(course)


@pytest.fixture
def there(lab, monkeypatch) -> Iterator[ToRead]:
    fake = ToRead(
        {
            f"{C}/sections": [{"id": 71, "name": "Monday"}, {"id": "72", "name": "Tuesday"}],
            f"{C}/users": [
                user(1001, "Doe, Jane", login_id="jdoe", email="jane@x.edu"),
                user("1002", "van Dyk, Zoë", 72, login_id="zvd"),
                user(1003, "Student, Test", kind="StudentViewEnrollment"),
                user(1004, "Cher, Tea", kind="TeacherEnrollment", login_id="tea"),
                user(1005, "Ota, Ai", 72, login_id=None, sis_user_id="ota@x.edu"),
            ],
            A: ASSIGNMENT,
            f"{A}/overrides": [],
            f"{A}/submissions": [submission(1001), submission("1002"), submission(1005)],
        }
    )
    monkeypatch.chdir(lab.course.root)
    monkeypatch.setenv(TOKEN, SECRET)
    monkeypatch.setattr(server, "time", Clock())
    with serving(fake.answer) as fake.url:
        yield fake


def take_class(there: ToRead, *more: str):
    return CliRunner().invoke(app, ["roster", "canvas", there.url, "--course", "12", *more])


def take_dates(there: ToRead, *more: str):
    numbers = ("--course", "12", "--assignment", "345")
    return CliRunner().invoke(app, ["status", "canvas", START, there.url, *numbers, *more])


def said(result) -> str:
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert SECRET not in result.output
    return " ".join(result.output.split())


def roster(lab: Lab) -> dict[str, Person]:
    with Gradebook.open(lab.course) as gradebook:
        return gradebook.roster()


CLASS = {
    "jdoe": Person("jdoe", "Jane", "Doe", "jane@x.edu", "Monday", "1001"),
    "zvd": Person("zvd", "Zoë", "van Dyk", "", "Tuesday", "1002"),
    "ota@x.edu": Person("ota@x.edu", "Ai", "Ota", "ota@x.edu", "Tuesday", "1005"),
}


# ---------------------------------------------------------------------------------- the class list


def test_students_are_shown_first_and_entered_if_one_wants_it(there, lab):
    assert "3 in Canvas: 3 new" in said(take_class(there)) and roster(lab) == {}
    result = take_class(there, "--enter")
    assert result.exit_code == 0 and roster(lab) == CLASS, result.output
    assert "0 new, 0 changed" in said(take_class(there, "--enter"))


def test_who_is_on_the_roster_keeps_the_id_and_nobody_is_removed(there, lab):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("jane", "J.", "Doe", canvas="1001"), Person("gone", "Go", "Ne")])
    text = said(take_class(there, "--enter"))
    assert "jdoe is jane" in text and "not in Canvas: gone" in text
    assert (
        roster(lab).keys() == {"jane", "gone", "zvd", "ota@x.edu"} and roster(lab)["jane"].section == "Monday"
    )


def test_who_is_in_two_sections_belongs_to_both_and_not_to_one_that_was_left(there, lab):
    active = {"type": "StudentEnrollment", "enrollment_state": "active"}
    left = {"type": "StudentEnrollment", "enrollment_state": "completed", "course_section_id": 73}
    there.says[f"{C}/sections"].append({"id": 73, "name": "Friday"})
    both = [active | {"course_section_id": 71}, active | {"course_section_id": 72}, left]
    there.says[f"{C}/users"][0]["enrollments"] = both
    there.says[f"{C}/users"][1]["enrollments"] = [left]
    assert "2 in Canvas" in said(take_class(there, "--enter"))
    people = roster(lab).values()
    assert in_section(people, "Monday") == {"jdoe"} and in_section(people, "Tuesday") == {"jdoe", "ota@x.edu"}
    with pytest.raises(GraderError, match="no section 'Friday'"):
        in_section(people, "Friday")


def test_a_class_of_twenty_pages_with_a_wait_is_read(there, lab):
    there.says[f"{C}/users"] = [user(n, f"Doe, {n}", login_id=f"s{n}") for n in range(1, 21)]
    there.refuse = [(429, {"Retry-After": "9"}, "")]
    assert "20 in Canvas: 20 new" in said(take_class(there, "--enter")) and len(roster(lab)) == 20


def test_a_server_that_gives_the_token_back_as_a_name_does_not_get_it_onto_the_roster(there, lab):
    there.says[f"{C}/users"] = [user(1, f"Doe, {SECRET}\x1b[2J", login_id="j")]
    assert take_class(there, "--enter").exit_code == 0
    name = roster(lab)["j"].first_name
    assert SECRET not in name and "\x1b" not in name and "…" in name


def test_somebody_who_is_listed_twice_and_alike_counts_once(there, lab):
    there.says[f"{C}/users"].append(user(1001, "Doe, Jane", login_id="jdoe", email="jane@x.edu"))
    assert "3 in Canvas" in said(take_class(there))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {f"{C}/users": [user(1, "Doe, J"), user("1", "Doe, K")]},
            "lists the student 1 twice, and differently",
        ),
        (
            {f"{C}/users": [user(1, "A, B", login_id="x"), user(2, "C, D", login_id="X")]},
            "contradicts itself",
        ),
        ({f"{C}/users": [{"id": 1, "name": "A"}]}, "as what 1 is in the course"),
        ({f"{C}/users": [{"name": "A", "enrollments": []}]}, "has no usable id"),
        ({f"{C}/users": [user(1, "A", section="x/../y")]}, "a section of 1 has no usable id"),
        ({f"{C}/users": [7]}, "is not an object"),
        ({f"{C}/users": [user(4, "Cher, Tea", kind="TaEnrollment")]}, "lists no students"),
        ({f"{C}/users": {"errors": []}}, "not the JSON"),
        ({f"{C}/sections": [{"id": 1}]}, "a section has no name"),
        ({f"{C}/sections": None}, "no such course"),
    ],
)
def test_a_class_list_that_cannot_be_used_is_one_sentence(there, lab, change, says):
    there.says |= change
    result = take_class(there, "--enter")
    assert result.exit_code == 1 and says in said(result) and roster(lab) == {}


@pytest.mark.parametrize("take", [take_class, take_dates])
@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_is_one_sentence(there, lab, take, status):
    there.refuse = [(status, {}, "{}")]
    result = take(there, "--enter")
    assert result.exit_code == 1 and "refuses" in said(result) and roster(lab) == {}


@pytest.mark.parametrize("where", ["http://localhost:9/api/v1/x", "itself"])
def test_the_next_page_is_on_the_same_server_and_another_one(there, lab, where):
    there.next_page = where if where != "itself" else f"{there.url}/api/v1{C}/sections?per_page=100"
    text = said(take_class(there, "--enter"))
    assert "another address" in text or "does not end" in text
    assert roster(lab) == {} and len(there.requests) < 4


def test_a_name_that_fits_somebody_else_s_id_is_asked_about(there, lab):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("z", "Zoë", "van Dyk")])
    assert "--same-names" in said(take_class(there, "--enter")) and len(roster(lab)) == 1
    assert take_class(there, "--enter", "--same-names").exit_code == 0 and "zvd" not in roster(lab)


# ---------------------------------------------------------------------------------- deadlines, excuses, lateness


@pytest.fixture
def class_(lab) -> None:
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people(CLASS.values())


def test_due_dates_extensions_and_excuses_are_taken_with_a_reason(there, lab, class_):
    there.says[f"{A}/overrides"] = [
        {"id": 1, "title": "Jane", "student_ids": ["1001"], "due_at": "2026-11-04T23:59:00+01:00"},
        {"id": 2, "title": "Tuesday", "course_section_id": 72, "due_at": "2026-11-03T22:59:00Z"},
        {"id": 3, "title": "seen later", "student_ids": [1002], "unlock_at": None},
    ]
    there.says[f"{A}/submissions"][1] |= {"excused": True}
    text = said(take_dates(there))
    assert "Nothing has changed" in text and "The assignment in Canvas: “Start [copy]”." in text
    with Gradebook.open(lab.course) as gradebook:
        assert gradebook.deadline(lab) is None and gradebook.statuses() == []
    result = take_dates(there, "--enter", "--because", "as in Canvas")
    assert result.exit_code == 0, result.output
    with Gradebook.open(lab.course) as gradebook:
        assert gradebook.deadline(lab) == DUE
        one, two = timedelta(days=1), timedelta(days=2)
        assert gradebook.extensions(lab) == {"jdoe": two, "zvd": one, "ota@x.edu": one}
        assert gradebook.statuses(START) == [Status("zvd", START, Kind.EXCUSED, "", "as in Canvas")]
        whys = {(change.what, change.why) for change in gradebook.changes(START)}
    assert {("deadline", "as in Canvas"), ("extension", "as in Canvas")} <= whys
    assert "0 new in Canvas" in said(take_dates(there, "--enter"))


def test_what_is_here_already_stays_unless_it_is_to_be_replaced(there, lab, class_):
    there.says[f"{A}/overrides"] = [{"student_ids": [1001], "due_at": "2026-11-05T22:59:00Z"}]
    there.says[f"{A}/submissions"][2] |= {"excused": True}
    with Gradebook.open(lab.course) as gradebook:
        gradebook.register(lab)
        gradebook.set_deadline(lab, DUE + timedelta(days=1))
        gradebook.extend(lab, "jdoe", timedelta(days=9))
        gradebook.enter_statuses([Status("ota@x.edu", START, Kind.ZERO, "", "copied")])
    text = said(take_dates(there, "--enter"))
    assert (
        "0 new in Canvas" in text
        and "Left out: jdoe. They have another extension" in text
        and "a zero here" in text
    )
    assert "The deadline here, 2026-11-03 22:59 UTC" in text
    assert take_dates(there, "--enter", "--replace").exit_code == 0
    with Gradebook.open(lab.course) as gradebook:
        assert gradebook.deadline(lab) == DUE and gradebook.extensions(lab) == {"jdoe": timedelta(days=3)}
        assert [each.kind for each in gradebook.statuses(START)] == [Kind.ZERO]


def test_a_date_of_a_group_is_its_members_and_of_a_section_not_that_of_who_has_left_it(there, lab, class_):
    there.says |= {
        f"{A}/overrides": [
            {"group_id": 5, "title": "Red", "due_at": "2026-11-05T22:59:00Z"},
            {"course_section_id": 72, "title": "Tuesday", "due_at": "2026-11-04T22:59:00Z"},
        ],
        "/groups/5/users": [{"id": 1001}, {"id": "1002"}],
    }
    there.says[f"{C}/users"][4]["enrollments"][0]["enrollment_state"] = (
        "completed"  # she is in no other section
    )
    assert take_dates(there, "--enter").exit_code == 0
    with Gradebook.open(lab.course) as gradebook:
        assert gradebook.extensions(lab) == dict.fromkeys(["jdoe", "zvd"], timedelta(days=3))


# ---------------------------------------------------------------------------------- what Canvas has no longer


def excused_and_extended(there: ToRead) -> None:
    """Zoë is excused in Canvas, and Jane has two days more."""
    there.says[f"{A}/overrides"] = [{"student_ids": [1001], "due_at": "2026-11-04T22:59:00Z"}]
    there.says[f"{A}/submissions"][1] |= {"excused": True}


def neither(there: ToRead) -> None:
    there.says[f"{A}/overrides"] = []
    there.says[f"{A}/submissions"][1] |= {"excused": False}


def decided(lab: Lab) -> tuple[set[str], dict[str, timedelta]]:
    """Who is excused here, and who has more time."""
    with Gradebook.open(lab.course) as gradebook:
        found = gradebook.statuses(START)
        return {each.student for each in found if each.kind is Kind.EXCUSED}, gradebook.extensions(lab)


def test_an_excuse_and_an_extension_that_canvas_has_no_longer_are_withdrawn(there, lab, class_):
    excused_and_extended(there)
    assert take_dates(there, "--enter").exit_code == 0
    both = decided(lab)
    assert both == ({"zvd"}, {"jdoe": timedelta(days=2)})
    neither(there)
    text = said(take_dates(there))
    assert (
        "2 new in Canvas" in text and "no longer excused in Canvas" in text and "no longer more time" in text
    )
    assert decided(lab) == both
    assert take_dates(there, "--enter").exit_code == 0 and decided(lab) == (set(), {})
    with Gradebook.open(lab.course) as gradebook:
        gone = {(each.student, each.before, each.after, each.why) for each in gradebook.changes(START)[-2:]}
    assert gone == {
        ("jdoe", "2 d", "", "no longer more time in Canvas"),
        ("zvd", "excused", "", "no longer excused in Canvas"),
    }
    assert "0 new in Canvas" in said(take_dates(there, "--enter"))
    excused_and_extended(there)
    assert take_dates(there, "--enter").exit_code == 0 and decided(lab) == both


def test_what_somebody_has_entered_here_is_not_withdrawn(there, lab, class_):
    """Also if it is what Canvas had: then somebody wants it, whatever Canvas says."""
    excused_and_extended(there)
    assert take_dates(there, "--enter").exit_code == 0
    run = CliRunner().invoke
    assert run(app, ["extend", START, "jdoe", "--days", "2"]).exit_code == 0
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_statuses([Status("zvd", START, Kind.EXCUSED, "", "excused in Canvas")])
    neither(there)
    text = said(take_dates(there, "--enter"))
    assert "0 new in Canvas" in text and "zvd. Excused here and not in Canvas" in text
    assert decided(lab) == ({"zvd"}, {"jdoe": timedelta(days=2)})


def test_only_the_assignment_that_something_came_from_withdraws_it(there, lab, class_):
    excused_and_extended(there)
    assert take_dates(there, "--enter").exit_code == 0
    both = decided(lab)
    neither(there)
    there.says |= {
        path.replace("345", "346"): said for path, said in there.says.items() if path.startswith(A)
    }
    other = ["status", "canvas", START, there.url, "--course", "12", "--assignment", "346", "--enter"]
    assert "0 new in Canvas" in said(CliRunner().invoke(app, other)) and decided(lab) == both


def test_who_has_left_the_course_in_canvas_keeps_excuse_and_extension(there, lab, class_):
    excused_and_extended(there)
    assert take_dates(there, "--enter").exit_code == 0
    there.says |= {f"{A}/overrides": [], f"{A}/submissions": [submission(1005)]}
    assert take_dates(there, "--enter").exit_code == 0
    assert decided(lab) == ({"zvd"}, {"jdoe": timedelta(days=2)})


def test_an_extension_from_canvas_follows_canvas(there, lab, class_):
    excused_and_extended(there)
    assert take_dates(there, "--enter").exit_code == 0
    override = there.says[f"{A}/overrides"][0]
    override["due_at"] = "2026-11-05T22:59:00Z"
    assert take_dates(there, "--enter").exit_code == 0 and decided(lab)[1] == {"jdoe": timedelta(days=3)}
    override["due_at"] = "2026-11-02T22:59:00Z"  # as everybody
    assert "no longer more time" in said(take_dates(there, "--enter")) and decided(lab)[1] == {}


@pytest.mark.parametrize("due", ["2026-11-04T22:59:00Z", None])
def test_an_extension_stays_while_everybody_has_more_time_in_canvas_than_here(there, lab, class_, due):
    """The due date of all has moved to hers, or is gone; here, the deadline is still the old one."""
    excused_and_extended(there)
    assert take_dates(there, "--enter").exit_code == 0
    there.says |= {A: ASSIGNMENT | {"due_at": due, "published": False}, f"{A}/overrides": []}
    text = said(take_dates(there, "--enter"))
    assert "0 new in Canvas" in text and "is not published in Canvas" in text
    assert decided(lab)[1] == {"jdoe": timedelta(days=2)}
    if due:
        assert take_dates(there, "--enter", "--replace").exit_code == 0 and decided(lab)[1] == {}
        with Gradebook.open(lab.course) as gradebook:
            assert gradebook.deadline(lab) == DUE + timedelta(days=2)


def test_an_excuse_that_was_sent_and_is_withdrawn_here_does_not_come_back(there, lab, class_):
    there.says[f"{A}/submissions"][1] |= {"excused": True}
    place = f"{there.url}{A}"
    with Gradebook.open(lab.course) as gradebook:
        gradebook.note_sent(lab, place, {"zvd": Sent(excused=True)})
    assert "zvd. Excused in Canvas by an excuse that was withdrawn here" in said(take_dates(there, "--enter"))
    assert decided(lab)[0] == set()
    assert take_dates(there, "--enter", "--replace").exit_code == 0 and decided(lab)[0] == {"zvd"}
    there.says[f"{A}/submissions"][1] |= {"excused": False}
    assert take_dates(there, "--enter").exit_code == 0 and decided(lab)[0] == set()
    there.says[f"{A}/submissions"][1] |= {"excused": True}  # once more, in Canvas
    assert take_dates(there, "--enter").exit_code == 0 and decided(lab)[0] == {"zvd"}


def test_of_two_ids_of_one_person_what_came_from_canvas_goes_with_it_unless_both_have_it(there, lab, class_):
    excused_and_extended(there)
    assert take_dates(there, "--enter").exit_code == 0
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("jane", "Jane", "Doe"), Person("zoe", "Zoë", "van Dyk")])
        gradebook.enter_statuses([Status("zoe", START, Kind.EXCUSED, "", "ill")])
        gradebook.merge("jdoe", "jane", [])
        gradebook.merge("zvd", "zoe", [])
    neither(there)
    assert take_dates(there, "--enter").exit_code == 0
    assert decided(lab) == ({"zoe"}, {})


def test_without_a_date_for_everybody_the_earliest_one_is_the_deadline(there, lab, class_):
    there.says[A] = ASSIGNMENT | {"due_at": None}
    there.says[f"{A}/overrides"] = [
        {"course_section_id": "71", "due_at": "2026-11-02T22:59:00Z"},
        {"course_section_id": "72", "due_at": "2026-11-04T22:59:00Z"},
    ]
    assert take_dates(there, "--enter").exit_code == 0
    with Gradebook.open(lab.course) as gradebook:
        assert gradebook.deadline(lab) == DUE
        assert gradebook.extensions(lab) == dict.fromkeys(["ota@x.edu", "zvd"], timedelta(days=2))


def test_dates_that_nobody_can_have_here_are_named(there, lab, class_):
    there.says[f"{A}/overrides"] = [
        {"student_ids": [1001], "due_at": "2026-11-01T22:59:00Z"},
        {"student_ids": [1002], "due_at": None},
        {"course_id": 12, "title": "Everyone", "due_at": "2026-11-09T22:59:00Z"},
        {"student_ids": [1005], "due_at": "2090-11-09T22:59:00Z"},
        {"student_ids": [4711], "due_at": "2026-11-09T22:59:00Z"},
    ]
    text = said(take_dates(there, "--enter"))
    for part in ("jdoe. Canvas gives them less", "zvd. They have no due date", "Everyone. These dates",
                 "ota@x.edu. Their date in Canvas is too far", "4711. Students with another date"):  # fmt: skip
        assert part in text
    with Gradebook.open(lab.course) as gradebook:
        assert gradebook.extensions(lab) == {}


def test_how_late_work_is_that_is_only_marked_as_late(there, lab, class_):
    for who in ("jdoe", "zvd"):
        folder = lab.course.submitted / who / START
        folder.mkdir(parents=True, exist_ok=True)
        (folder / TIMESTAMP).unlink(missing_ok=True)
        (folder / LATE).write_text("Canvas")
    there.says[f"{A}/submissions"][0] |= {"late": True, "seconds_late": 5400}
    text = said(take_dates(there))
    assert "Left out: zvd. How late they are is not known in Canvas" in text
    assert (lab.course.submitted / "jdoe" / START / LATE).exists()
    assert "grader autograde" in said(take_dates(there, "--enter"))
    folder = lab.course.submitted / "jdoe" / START
    assert (folder / TIMESTAMP).read_text() == "2026-11-03 00:29:00.000000 UTC" and not (
        folder / LATE
    ).exists()
    assert (lab.course.submitted / "zvd" / START / LATE).exists()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({A: ASSIGNMENT | {"due_at": "2026-11-02T22:59:00"}}, "no time with a zone"),
        ({A: ASSIGNMENT | {"due_at": "tomorrow"}}, "no time with a zone"),
        ({A: ASSIGNMENT | {"due_at": 5}}, "no time with a zone"),
        ({A: ASSIGNMENT | {"due_at": "0001-01-01T00:00:00+14:00"}}, "no time with a zone"),
        ({A: []}, "not the JSON"),
        ({f"{A}/overrides": [{"student_ids": [1001], "due_at": "2026-11-02"}]}, "no time with a zone"),
        ({f"{A}/overrides": [{"student_ids": "all", "due_at": None}]}, "are no list"),
        ({f"{A}/overrides": [{"student_ids": [None], "due_at": None}]}, "has no usable id"),
        ({f"{A}/overrides": ["x"]}, "is not an object"),
        ({f"{A}/submissions": [submission(1001, late="yes")]}, "neither true nor false"),
        ({f"{A}/submissions": [submission(1001, late=True, seconds_late="9")]}, "no usable number"),
        ({f"{A}/submissions": [submission(1001, late=True, seconds_late=-500)]}, "late by less than nothing"),
        ({f"{A}/submissions": None}, "no such course or assignment"),
    ],
)
def test_dates_that_cannot_be_used_are_one_sentence_and_nothing_changes(there, lab, class_, change, says):
    there.says |= change
    result = take_dates(there, "--enter")
    assert result.exit_code == 1 and says in said(result)
    with Gradebook.open(lab.course) as gradebook:
        assert gradebook.deadline(lab) is None and gradebook.statuses() == []


def test_two_students_with_one_number_are_refused(there, lab, class_):
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people([Person("jane_1001", "Jane", "Doe")])
    result = take_dates(there, "--enter")
    assert result.exit_code == 1 and "have the same number in Canvas, 1001" in said(result)


def test_a_deadline_is_not_entered_without_what_comes_with_it(lab, class_):
    """Late days that do not suffice are refused, and the deadline goes with them."""
    with Gradebook.open(lab.course) as gradebook:
        gradebook.register(lab)
        with pytest.raises(Exception, match="late days"):
            gradebook.enter_statuses(
                [Status("jdoe", START, Kind.LATE_DAYS, "2", "asked")], (lab, DUE, "as in Canvas")
            )
        assert gradebook.deadline(lab) is None
