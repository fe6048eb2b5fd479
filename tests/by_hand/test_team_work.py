"""A team's work is graded once, and every member has its points, its feedback and what people give for it, and nobody else has."""

from __future__ import annotations

import csv
import json
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from classroom import START, KernelFree, book_of, gradebook_undone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner
from written import written_lab

from grader.book.answers import FIRST, Mark
from grader.book.gradebook import Gradebook
from grader.book.points import digest
from grader.book.readings import Readings, Settings
from grader.book.requests import Asked
from grader.book.results import Result
from grader.book.statuses import Kind, Status
from grader.cli import app
from grader.files import TIMESTAMP
from grader.grade import autograde as grading
from grader.grade.resume import Again
from grader.handout.demo import solved
from grader.people.roster import Person
from grader.receive.collect import collect
from grader.reference.lab import Lab
from grader.show.class_facts import analyse
from grader.show.feedback import generate_feedback
from grader.show.similar import write_similar

TEAMS = {"anna": "red", "ben": "red", "carl": "red", "dora": "blue", "emil": "blue"}
PEOPLE = [*TEAMS, "fay"]
DUE = datetime(2027, 1, 10)


@pytest.fixture(scope="module")
def kept_lab(tmp_path_factory) -> Lab:
    lab = written_lab(tmp_path_factory.mktemp("course"), 1)
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_people(
            Person(each, each.title(), "Ey", section=TEAMS.get(each, "")) for each in PEOPLE
        )
        gradebook.enter_teams(TEAMS)
        gradebook.set_deadline(lab, DUE)
    return lab


@pytest.fixture
def lab(kept_lab, monkeypatch):
    """A course with two teams of which nothing has been handed in; what a test does is undone."""
    monkeypatch.chdir(kept_lab.course.root)
    with gradebook_undone(kept_lab.course):
        yield kept_lab
    _clear(kept_lab)


def _clear(lab: Lab) -> None:
    for place in ("submitted", "autograded", "feedback", "earlier", "reports"):
        for student in PEOPLE:
            shutil.rmtree(lab.course.grading / place / student, ignore_errors=True)


RIGHT, EMPTY, WRONG = range(3)


def work(lab: Lab, kind: int = RIGHT, answer: str = "Because.") -> bytes:
    """A notebook that is right, empty or wrong, with a written answer."""
    mistake = next(iter(lab.misconceptions.values()))[0]
    texts = (
        {},
        dict.fromkeys(lab.solution_texts, "raise NotImplementedError"),
        {mistake.exercise: mistake.source},
    )
    notebook = solved(lab, texts[kind])
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "why":
            cell.source = answer
    return json.dumps(notebook).encode()


def hand_in(lab: Lab, works: dict[str, tuple[bytes, int]]) -> Path:
    """A source with the work of each, handed in so many hours after the deadline, and collects it."""
    source = lab.course.root / "handed_in"
    shutil.rmtree(source, ignore_errors=True)
    for student, (data, hours) in works.items():
        (source / student).mkdir(parents=True)
        (source / student / lab.notebook_name).write_bytes(data)
        (source / student / TIMESTAMP).write_text(f"{DUE + timedelta(hours=hours):%Y-%m-%d %H:%M:%S} UTC")
    collect(lab, source)
    return source


def graded(lab: Lab, student: str | None = None, again: Again = Again.CHANGED) -> tuple[list[str], int]:
    """Who has been graded now, and how many notebooks were run for it."""
    runner = KernelFree(lab.course.root / "runs")
    before = len(runner.runs())
    records = list(grading.autograde(lab, grading.submissions(lab, student), runner, 5, again=again))
    return sorted(each.student for each in records if not each.kept), len(runner.runs()) - before


def results(lab: Lab) -> dict[str, Result]:
    with Gradebook.open(lab.course) as gradebook:
        return {each.student: each for each in gradebook.results(lab) if each.student in PEOPLE}


def same(one: Result, other: Result) -> bool:
    """Whether two have the same points and comments in every cell."""
    return (one.points, one.comments, one.untouched) == (other.points, other.comments, other.untouched)


def read(lab: Lab, points: float, comment: str = "") -> list[str]:
    """Reads every answer that is given out, and returns whose copies were."""
    with Gradebook.open(lab.course) as gradebook:
        readings = Readings(gradebook, lab)
        readings.deal(Settings(("ana",)))
        works = [each for each in readings.works().values() if each.student in PEOPLE]
        for each in works:
            seen = {answer.cell: answer.points for answer in each.answers}
            readings.hold(each.page, FIRST, "ana")
            told = {"why": Mark("ana", points, (0,), comment, each.answers[0].text)}
            readings.read(each.page, FIRST, "ana", told, seen)
    return sorted(each.student for each in works)


def in_formgrader(lab: Lab, student: str, points: float) -> None:
    """Gives points as formgrader does, with nbgrader's own objects."""
    with book_of(lab.course) as book:
        grade = book.find_grade("why", lab.slug, lab.name, student)
        grade.manual_score, grade.needs_manual_grade = points, False
        book.db.commit()


def test_a_team_s_work_is_run_once_and_all_have_its_points(lab):
    hand_in(lab, {"ben": (work(lab, EMPTY), -1), "fay": (work(lab), -1)})
    assert graded(lab, again=Again.NEW) == (["anna", "ben", "carl", "fay"], 2)
    found = results(lab)
    assert same(found["anna"], found["ben"]) and same(found["anna"], found["carl"])
    assert 0 == found["anna"].score < found["fay"].score and "dora" not in found
    assert graded(lab, again=Again.NEW) == ([], 0)
    assert graded(lab, "carl", Again.ALL) == (["anna", "ben", "carl"], 1)
    notebooks = {
        (lab.course.autograded / each / START / lab.notebook_name).read_bytes() for each in ("anna", "ben")
    }
    assert len(notebooks) == 1


def test_one_copy_is_read_and_every_member_has_the_points_the_comment_and_the_lines(lab):
    hand_in(lab, {"ben": (work(lab), -1), "fay": (work(lab), -1)})
    graded(lab, again=Again.NEW)
    assert read(lab, 1, "Say why they are positive.") == ["ben", "fay"]
    found = results(lab)
    for student in ("anna", "ben", "carl"):
        assert found[student].points["why"] == 1 and not found[student].waiting
        assert found[student].comments["why"] == "Say why they are positive."
    with Gradebook.open(lab.course) as gradebook:
        lines = Readings(gradebook, lab).lines()
        assert lines["anna"] == lines["ben"] != {}
        assert Readings(gradebook, lab).lines("carl") == {"carl": lines["ben"]}
        told = [line for line in gradebook.changes(student="carl") if line.what == "points by hand"]
        assert [(line.who, line.after) for line in told] == [("ana", "1")]
    in_formgrader(lab, "carl", 2.5)
    assert {results(lab)[student].points["why"] for student in ("anna", "ben", "carl")} == {2.5}
    assert results(lab)["fay"].points["why"] == 1


def test_points_by_hand_stay_and_are_asked_for_again_when_the_team_hands_in_another_answer(lab):
    hand_in(lab, {"anna": (work(lab), -5)})
    graded(lab, again=Again.NEW)
    read(lab, 2)
    hand_in(lab, {"carl": (work(lab, answer="Another."), -2)})
    graded(lab, again=Again.NEW)
    found = results(lab)
    assert same(found["anna"], found["ben"]) and same(found["anna"], found["carl"])
    with Gradebook.open(lab.course) as gradebook:
        (open_one,) = [each for each in Readings(gradebook, lab).works().values() if each.student in PEOPLE]
    assert open_one.student == "carl" and open_one.answers[0].again
    read(lab, 3)
    assert {results(lab)[student].points["why"] for student in ("anna", "ben", "carl")} == {3}


def test_nbgrader_s_own_grading_of_one_copy_has_nobody_look_again_at_the_same_answer(lab):
    hand_in(lab, {"anna": (work(lab), -5)})
    graded(lab, again=Again.NEW)
    read(lab, 2)
    with (
        Gradebook.open(lab.course) as gradebook,
        gradebook.with_answers(lab, "ben", {"why": digest("Because.")}),
        book_of(lab.course) as book,
    ):
        book.find_grade("why", lab.slug, START, "ben").needs_manual_grade = True
        book.db.commit()
    with book_of(lab.course) as book:
        asked = [
            book.find_grade("why", lab.slug, START, each).needs_manual_grade
            for each in ("anna", "ben", "carl")
        ]
    assert asked == [False] * 3
    in_formgrader(lab, "ben", 3)
    assert {results(lab)[student].points["why"] for student in ("anna", "ben", "carl")} == {3}


def test_who_joins_after_the_answers_were_read_has_the_points_and_who_leaves_and_writes_another_answer_waits(
    lab,
):
    hand_in(lab, {"anna": (work(lab), -5)})
    graded(lab, again=Again.NEW)
    read(lab, 2)
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_teams({"fay": "red", "ben": ""}, [START])
    before = results(lab)
    graded(lab, again=Again.NEW)
    assert results(lab) == before  # a change of teams changes nothing that is graded
    hand_in(lab, {"anna": (work(lab), -5)})
    assert graded(lab, again=Again.NEW) == (["fay"], 1)
    assert same(results(lab)["fay"], results(lab)["anna"])
    hand_in(lab, {"ben": (work(lab, EMPTY, "Alone."), -4)})
    assert graded(lab, again=Again.NEW) == (["ben"], 1)
    in_formgrader(lab, "anna", 0)
    found = results(lab)
    assert found["ben"].points["why"] is None and found["fay"].points["why"] == 0


def test_a_decision_on_one_member_s_request_counts_for_all(lab):
    hand_in(lab, {"anna": (work(lab, EMPTY), -5), "fay": (work(lab, EMPTY), -5)})
    graded(lab, again=Again.NEW)
    cell = next(cell for cell, points in results(lab)["anna"].points.items() if points == 0)
    in_lab = {result.student: result.submission for result in results(lab).values()}
    with Gradebook.open(lab.course) as gradebook:
        number, _ = gradebook.ask(Asked(in_lab["ben"], "ben", START, cell, "Please look.", "r.md", DUE))
        gradebook.decide(number, 1.0, "You are right.")
    found = results(lab)
    assert {found[student].points[cell] for student in ("anna", "ben", "carl")} == {1.0}
    assert found["fay"].points[cell] == 0


def test_lateness_excuses_and_penalties_are_each_member_s_own(lab):
    hand_in(lab, {"anna": (work(lab), 30)})
    graded(lab, again=Again.NEW)
    with Gradebook.open(lab.course) as gradebook:
        gradebook.extend(lab, "ben", timedelta(days=3))
        gradebook.enter_statuses(
            [
                Status("carl", START, Kind.EXCUSED, "", "ill"),
                Status("anna", START, Kind.PENALTY, "1", "nothing done"),
            ]
        )
        gradebook.enter_lateness(lab)
    found = results(lab)
    assert found["anna"].late == timedelta(hours=30) and found["ben"].late == timedelta()
    assert found["anna"].deducted == 1 and found["ben"].deducted == 0
    assert found["carl"].marks.excused and not found["anna"].marks.excused


def test_a_team_is_compared_once_and_its_members_are_never_a_pair(lab):
    own = "\n".join(
        f"rows_{number} = [index * {number} + 7 for index in range({number})]" for number in range(3, 30)
    )
    notebook = json.loads(work(lab))
    cell = {
        "cell_type": "code",
        "source": own,
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "id": "mine",
    }
    notebook["cells"].insert(4, cell)
    data = json.dumps(notebook).encode()
    hand_in(lab, {"anna": (data, -5), "fay": (data, -5)})
    _, table, found = write_similar(lab)
    assert [each.student for each in found.works] == ["anna", "fay", "s00"]
    assert [[each.student for each in pair.works] for pair in found.pairs] == [["anna", "fay"]]
    page, _, _ = write_similar(lab)
    assert "Anna Ey (anna) with Ben Ey (ben), Carl Ey (carl) and Fay Ey (fay)" in page.read_text()
    assert "Anna Ey with Ben Ey (ben), Carl Ey (carl)" in table.read_text("utf-8-sig")
    with Gradebook.open(lab.course) as gradebook:
        gradebook.enter_teams({"fay": "red"}, [START])
    assert not write_similar(lab)[2].pairs


def grader(*arguments: str) -> str:
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == 0, ended.output
    return " ".join(ended.output.split())


def test_the_figures_of_a_check_count_a_team_s_work_once_and_the_people_all(lab):
    hand_in(lab, {"ben": (work(lab, WRONG), -1), "fay": (work(lab), -1)})
    graded(lab, again=Again.NEW)
    found = analyse(lab, list(results(lab).values()), PEOPLE)
    (mistake,) = found.misconceptions
    assert mistake.students == ("anna", "ben", "carl") and len(found.graded) == 4
    for facts in found.exercises:
        if facts.name == mistake.exercise:
            assert (facts.figures.count, facts.figures.passed) == (2, 1)
    sectioned = analyse(lab, [each for student, each in results(lab).items() if student != "ben"], PEOPLE)
    assert {facts.figures.count + facts.waiting for facts in sectioned.exercises} == {2}


def test_from_the_class_list_to_the_term_page_every_member_has_the_team_s_work(lab, tmp_path):
    roster = tmp_path / "students.csv"
    roster.write_text("id,name,team\nanna,Anna Ey,red\nben,Ben Ey,Red\nfay,Fay Ey,red\n")
    assert "Team changed: fay." in grader("roster", "import", str(roster))
    source = hand_in(lab, {"fay": (work(lab, WRONG), -2), "anna": (work(lab), -9)})
    told = grader("collect", "00", str(source), "--yes")
    assert "unchanged: 4" in told  # it was collected above
    graded(lab)
    read(lab, 3)
    points = results(lab)["fay"].score
    assert generate_feedback(lab).pages >= 4
    pages = {
        (lab.course.feedback / each / START / f"{lab.slug}.html").is_file()
        for each in ("anna", "ben", "carl", "fay")
    }
    assert pages == {True}
    table = tmp_path / "grades.csv"
    grader("export", "--out", str(table))
    rows = {
        row["student_id"]: row
        for row in csv.DictReader(table.read_text("utf-8-sig").splitlines())
        if row["assignment"] == START
    }
    assert {float(rows[each]["score"]) for each in ("anna", "ben", "carl", "fay")} == {points}
    assert "dora" not in rows or not rows["dora"]["timestamp"]
    page = tmp_path / "term.html"
    grader("term", "--out", str(page))
    assert all(each in page.read_text() for each in ("Anna Ey", "Ben Ey", "Carl Ey", "Fay Ey"))


@st.composite
def terms(draw) -> list[tuple]:
    """What happens in a term: work is handed in (no two at the same time), graded, read, given points in formgrader, collected again."""
    hours = iter(draw(st.permutations(range(-40, 0))))
    steps: list[tuple] = []
    for _ in range(draw(st.integers(2, 5))):
        who = draw(st.lists(st.sampled_from(PEOPLE), min_size=1, max_size=3, unique=True))
        steps.append(("hand in", {each: (draw(st.integers(0, 2)), next(hours)) for each in who}))
        steps += draw(st.lists(st.sampled_from([("grade",), ("read",), ("again",)]), max_size=2))
    return steps


@pytest.fixture(scope="module")
def points_of(kept_lab) -> dict[int, dict[str, float]]:
    """Kind of work -> what one person gets for it from the checks."""
    found = {}
    with gradebook_undone(kept_lab.course):
        for kind in (RIGHT, EMPTY, WRONG):
            hand_in(kept_lab, {"fay": (work(kept_lab, kind), kind - 9)})
            graded(kept_lab, "fay")
            found[kind] = {
                cell: points for cell, points in results(kept_lab)["fay"].points.items() if cell != "why"
            }
    _clear(kept_lab)
    assert found[RIGHT] != found[EMPTY]
    return found


@pytest.mark.slow
@settings(max_examples=6, deadline=None, suppress_health_check=[*HealthCheck])
@given(terms())
def test_each_member_has_exactly_the_points_of_the_work_that_counts_whatever_happens(
    kept_lab, points_of, steps
):
    with gradebook_undone(kept_lab.course):
        try:
            _walk(kept_lab, points_of, steps)
        finally:
            _clear(kept_lab)


def _walk(lab: Lab, points_of: dict[int, dict[str, float]], steps: list[tuple]) -> None:
    handed_in: dict[str, dict[int, int]] = {}  # team, or person in none -> hour -> kind of work
    sources = []
    for step in steps:
        if step[0] == "hand in":
            sources.append(
                {student: (work(lab, kind, f"At {hour}."), hour) for student, (kind, hour) in step[1].items()}
            )
            hand_in(lab, sources[-1])
            for student, (kind, hour) in step[1].items():
                if student in TEAMS:
                    handed_in.setdefault(TEAMS[student], {})[hour] = kind
                else:
                    handed_in[student] = {hour: kind}
        elif step[0] == "grade":
            graded(lab)
        elif step[0] == "read" and results(lab):
            read(lab, len(sources) % 4)
        elif step[0] == "again":
            hand_in(lab, _of_teams(sources[:1]) or sources[-1])
    graded(lab)
    read(lab, 2)
    found = results(lab)
    for student in PEOPLE:
        own = handed_in.get(TEAMS.get(student, student))
        assert (student in found) == bool(own), student
        if own:
            expected = {**points_of[own[max(own)]], "why": 2}
            assert found[student].points == expected and not found[student].waiting, student
    hand_in(lab, _of_teams(sources) or sources[-1])
    assert graded(lab) == ([], 0) and results(lab) == found


def _of_teams(sources: list[dict]) -> dict:
    return {student: each for source in sources for student, each in source.items() if student in TEAMS}
