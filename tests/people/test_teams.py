"""Who is in which team of which lab: from a class list, from a list of teams, or one at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from classroom import with_gradebook
from collecting import LAB, OTHER, course_with_two_labs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from grader.book.gradebook import Gradebook
from grader.book.statuses import Kind, Status
from grader.cli import app
from grader.course import Course
from grader.errors import GraderError
from grader.people.roster import Person, Roster, read_roster
from grader.people.team_names import Spellings
from grader.people.teams import read_teams

FIRST, LATER = OTHER, LAB
PEOPLE = (
    Person("anna", "Anna", "Ey", "anna@example.org", "Monday", "11"),
    Person("ben", "Ben", "Be", "ben@example.org", "Monday", "12"),
    Person("carl", "Carl", "Ce", "carl@example.org", "Tuesday", "13"),
)


@pytest.fixture
def course(tmp_path, monkeypatch) -> Course:
    course = with_gradebook(course_with_two_labs(tmp_path / "course"))
    with Gradebook.open(course) as gradebook:
        gradebook.enter_people(PEOPLE)
    monkeypatch.chdir(course.root)
    return course


def teams(course: Course, lab: str = LATER) -> dict[str, str]:
    with Gradebook.open(course) as gradebook:
        return gradebook.teams(lab)


def grader(*arguments: str) -> str:
    ended = CliRunner().invoke(app, ["roster", *arguments])
    assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
    return " ".join(ended.output.split())


def listed(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "teams.csv"
    file.write_text(text, "utf-8")
    return file


def logged(course: Course, student: str) -> list[tuple[str, str, str, str]]:
    with Gradebook.open(course) as gradebook:
        return [
            (line.lab, line.before, line.after, line.why)
            for line in gradebook.changes(student=student)
            if line.what == "team"
        ]


def has_work(course: Course, student: str, lab: str) -> None:
    (course.submitted / student / lab).mkdir(parents=True)


def test_a_class_list_s_column_puts_people_into_teams_of_all_labs(course, tmp_path):
    told = grader(
        "import", str(listed(tmp_path, "id,name,Team\nanna,Anna Ey,Red\nben,Ben Be,red\ncarl,Carl Ce,\n"))
    )
    assert "Team changed: anna, ben." in told
    for lab in (FIRST, LATER):
        assert teams(course, lab) == {"anna": "Red", "ben": "Red"}
    grader("import", str(listed(tmp_path, "id,team\nanna,\nben,alone\n")))
    assert teams(course) == {"anna": "Red"}  # what a list leaves empty stays


def test_people_whom_a_list_calls_by_another_id_are_put_into_the_team_under_their_own(course, tmp_path):
    told = grader("import", str(listed(tmp_path, "id,email,team\nab12,anna@example.org,red\n")))
    assert "ab12 is anna" in told and teams(course) == {"anna": "red"}


@pytest.mark.parametrize(
    "text",
    [
        "student,team\nanna,red\nben,red\n",
        "Name;E-Mail;Team\nAnna Ey;anna@example.org;red\nBen Be;ben@example.org;Red \n",
        "Vorname\tNachname\tTeam\nAnna\tEy\tred\nBe\tBen\tred\n",
        "name,canvas_user_id,user_id,login_id,sections,group_name,canvas_group_id,group_id\nA. Ey,11,,,Monday,red,5,\nB. Be,12,,,Monday,red,5,\n",
    ],
)
def test_a_list_of_teams_is_read_however_it_says_who(course, tmp_path, text):
    grader("teams", str(listed(tmp_path, text)))
    assert teams(course) == {"anna": "red", "ben": "red"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("student,team\nanna,red\nben,red\nanna,blue\n", "row 4, column B: anna is in “red” by row 2"),
        ("student,team\nanna,red\nAnna Ey,\n", "row 3, column A: 'Anna Ey' is not on the roster"),
        ('student,team\nanna,"red, blue"\n', "row 2, column B: “red, blue” reads as several teams"),
        ("student,team\nanna,red\nzoe,red\n", "row 3, column A: 'zoe' is not on the roster"),
        ("student,team\nanna,red\n,red\n", "row 3, column A: it does not say who"),
        ("student,team\nanna,-\n", "row 2, column B: “-” cannot be a team's name"),
        ("student,team\nanna," + "x" * 61 + "\n", "row 2, column B: “xxx"),
        ("student,section\nanna,red\n", "line 1 is no heading of a list of teams"),
        ("student,team\nanna,\nben,\n", "names no team: its column “team” is empty"),
        ("", "is empty"),
        ("student,team\nanna,blue, green\n", "row 2, column C: this cell has no heading"),
        ("student,team,team\nanna,red,blue\n", "row 1, column C: it is called “team”, as column B is"),
        ("id,email,team\nanna,ben@example.org,red\n", "row 2, column A: one cell says anna, and another ben"),
        ("id,name,team\nanna,Ben Be,red\n", "row 2, column A: one cell says anna, and another ben"),
    ],
)
def test_what_is_wrong_in_a_list_is_named_by_row_and_column_and_nothing_changes(course, tmp_path, text, said):
    grader("team", "carl", "blue")
    told = grader("teams", str(listed(tmp_path, text)))
    assert said in told and "othing has changed" in told
    assert teams(course) == {"carl": "blue"}


def test_a_class_list_with_two_teams_in_a_cell_changes_nothing_at_all(course, tmp_path):
    told = grader("import", str(listed(tmp_path, "id,name,team\nzoe,Zoë,red\nanna,Anna Ey,red;blue\n")))
    assert "row 3, column C: “red;blue” reads as several teams" in told
    assert teams(course) == {}
    with Gradebook.open(course) as gradebook:
        assert "zoe" not in gradebook.roster()


def test_joining_and_leaving_is_logged_with_the_lab_from_which_on_it_holds(course):
    grader("team", "ben", "red", "--because", "pairs of week 1")
    grader("team", "Ben Be", "blue", "--from", "02", "--because", "moved")
    grader("team", "ben", "alone", "--lab", "00", "--because", "ill")
    assert teams(course, FIRST) == {} and teams(course, LATER) == {"ben": "blue"}
    assert logged(course, "ben") == [
        (FIRST, "alone", "red, from this lab on", "pairs of week 1"),
        (LATER, "red", "blue, from this lab on", "moved"),
        (FIRST, "red", "alone, in this lab only", "ill"),
    ]


def test_where_work_is_collected_a_team_stays_unless_the_lab_is_named(course, tmp_path):
    grader("teams", str(listed(tmp_path, "id,team\nanna,red\nben,red\n")))
    has_work(course, "anna", FIRST)
    told = grader("teams", str(listed(tmp_path, "id,team\ncarl,red\nben,blue\n")))
    assert f"{FIRST}: left as it was for anna and their teams" in told
    assert teams(course, FIRST) == {"anna": "red", "ben": "red"}
    assert teams(course, LATER) == {"anna": "red", "ben": "blue", "carl": "red"}
    told = grader("team", "ben", "blue", "--lab", "00")
    assert f"{FIRST}: work of anna was collected before. It stays" in told
    assert teams(course, FIRST) == {"anna": "red", "ben": "blue"}


def test_somebody_who_left_the_course_is_in_no_team_and_comes_back_into_it(course):
    grader("team", "anna", "red")
    grader("team", "ben", "red")
    with Gradebook.open(course) as gradebook:
        gradebook.remove_people(["ben"])
    assert teams(course) == {"anna": "red"}
    with Gradebook.open(course) as gradebook:
        gradebook.enter_people([PEOPLE[1]])
    assert teams(course) == {"anna": "red"}  # nothing was known of him, so his id may be another's now


def test_leaving_the_course_or_a_section_is_logged_with_what_is_taken_back(course, tmp_path):
    grader("team", "ben", "red")
    with Gradebook.open(course) as gradebook:
        gradebook.enter_statuses(
            [
                Status("ben", "", Kind.TIME, "1.5", "letter"),
                Status("ben", LATER, Kind.EXTENSION, "2", "moved"),
                Status("anna", LATER, Kind.EXTENSION, "2", "moved"),
            ]
        )
        before = len(gradebook.changes())
    told = grader("remove", "ben", "--because", "left on 3 November")
    assert f"Taken back with that: ben: time 1.5 in all labs; ben: extension 2 in {LATER}." in told
    grader("import", str(listed(tmp_path, "id,section\nanna,Tuesday\n")), "--because", "she moved")
    grader("import", str(listed(tmp_path, "id,section\nben,Tuesday\nzoe,Monday\n")))
    with Gradebook.open(course) as gradebook:
        found = gradebook.changes()[before:]
        assert gradebook.statuses() == [] and list(gradebook.all_extensions()) == [("anna", LATER)]
    assert sorted((each.what, each.student, each.before, each.after, each.why) for each in found) == [
        ("extension", "ben", "2 d", "", "left on 3 November"),
        ("roster", "anna", "section Monday", "section Tuesday", "she moved"),
        ("roster", "ben", "", "section Tuesday", ""),
        ("roster", "ben", "section Monday", "", "left on 3 November"),
        ("status", "ben", "time 1.5", "", "left on 3 November"),
        ("team", "ben", "red", "alone, from this lab on", "left on 3 November"),
    ]
    assert all(each.who != "unknown" for each in found)


def test_two_ids_that_become_one_person_are_in_the_team_of_the_one_that_stays_or_else_of_the_other(course):
    grader("team", "ben", "red")
    grader("team", "carl", "blue")
    with Gradebook.open(course) as gradebook:
        gradebook.merge("ben", "anna", ())
        assert gradebook.teams(LATER) == {"anna": "red", "carl": "blue"}
        gradebook.merge("carl", "anna", ())
        assert gradebook.teams(LATER) == {"anna": "red"}


def test_the_teams_are_shown_with_their_labs_and_members(course, tmp_path):
    grader("teams", str(listed(tmp_path, "id,team\nanna,red\nben,red\ncarl,blue\n")))
    grader("team", "carl", "red", "--from", "02")
    out = tmp_path / "out.csv"
    told = grader("teams", "--out", str(out))
    assert "2 teams" in told
    assert out.read_text("utf-8-sig").splitlines() == [
        "Team,Labs,Members",
        f"blue,{FIRST},carl",
        f'red,{FIRST},"anna, ben"',
        f'red,{LATER},"anna, ben, carl"',
    ]


def test_what_does_not_go_together_is_refused(course, tmp_path):
    file = str(listed(tmp_path, "id,team\nanna,red\n"))
    assert "use one or the other" in grader("teams", file, "--from", "02", "--lab", "02")
    assert "go with FILE" in grader("teams", "--lab", "02")
    assert "not on the roster" in grader("team", "zoe", "red")
    assert "reads as several teams" in grader("team", "anna", "a,b")
    assert "There is no lab" in grader("team", "anna", "red", "--lab", "77")
    assert teams(course) == {}


_moves = st.lists(
    st.tuples(
        st.sampled_from([each.student for each in PEOPLE]),
        st.sampled_from(["", "red", "blue"]),
        st.sampled_from([[FIRST], [LATER], [FIRST, LATER], None]),
    ),
    max_size=6,
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_moves)
def test_everybody_is_in_the_team_that_was_named_last_for_a_lab_and_the_log_tells_the_same(course, moves):
    wanted = {lab: {} for lab in (FIRST, LATER)}
    with Gradebook.open(course) as gradebook:
        gradebook.enter_teams({each.student: "" for each in PEOPLE})
        for student, team, labs in moves:
            gradebook.enter_teams({student: team}, labs)
            for lab in labs or (FIRST, LATER):
                wanted[lab][student] = team
        for lab, said in wanted.items():
            assert gradebook.teams(lab) == {student: team for student, team in said.items() if team}
            for student, team in said.items():
                lines = [each for each in gradebook.changes(student=student) if each.what == "team"]
                held = [
                    each for each in lines if each.lab <= lab and not each.after.endswith("in this lab only")
                ]
                held += [each for each in lines if each.lab == lab and each not in held]
                last = max(held, key=lines.index, default=None)
                assert (last.after.partition(",")[0] if last else "alone") == (team or "alone")


def test_a_list_of_teams_finds_nobody_on_an_empty_roster(tmp_path):
    with pytest.raises(GraderError, match="row 2, column A: 'anna' is not on the roster"):
        read_teams(listed(tmp_path, "id,team\nanna,red\n"), Roster())


def test_a_team_is_called_as_it_was_first_written():
    spellings = Spellings(["Team Rot"])
    assert [spellings.team(text) for text in ("team  rot", "Blau", "BLAU", "Alone")] == [
        "Team Rot",
        "Blau",
        "Blau",
        "",
    ]


def test_a_group_of_a_class_list_is_a_section_and_no_team(tmp_path):
    found = read_roster(listed(tmp_path, "id,name,Group,Group name\nanna,Anna Ey,Monday,M\n"))
    assert found.people[0].section == "Monday" and found.teams == {}
