"""Grading on hand-in: whose turn it is, how often, and what becomes of hand-ins when anything goes wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path

import nbformat
import pytest
from classroom import START, KernelFree, with_gradebook
from hypothesis import given
from hypothesis import strategies as st
from nbgrader.utils import notebook_hash
from project import ROOT

from grader.book.attempts import Attempt
from grader.book.gradebook import Gradebook
from grader.book.log import ATTEMPT
from grader.course import Course
from grader.errors import GraderError
from grader.files import SECRET
from grader.grade import autograde as grading
from grader.grade.resume import Again
from grader.grade.watch import DAY, HandIn, Queue, Watch, place_of
from grader.handout.demo import solved
from grader.people.roster import Person
from grader.reference.lab import Lab, is_solution
from grader.show.returning import KEPT, return_feedback, say_kept

NOON = datetime(2030, 1, 31, 12)
HOUR = timedelta(hours=1)


# ---------------------------------------------------------------------------------- whose turn it is


def names(queue: Queue, now: datetime = NOON) -> list[str]:
    """Who is graded, one after the other, if nothing else arrives."""
    found = []
    while hand_in := queue.take(now):
        found.append(hand_in.handed_in)
    return found


def test_ten_hand_ins_of_one_person_keep_nobody_waiting_for_more_than_one():
    queue = Queue(per_day=20)
    for number in range(10):
        queue.put(HandIn("anna", f"anna {number}", NOON))
        queue.put(HandIn(f"s{number}", f"s{number}", NOON))
    assert names(queue) == ["anna 9", *(f"s{number}" for number in range(10))]


def test_what_comes_after_a_person_s_turn_goes_to_the_end():
    queue = Queue(per_day=20)
    for student in ("anna", "ben"):
        queue.put(HandIn(student, student, NOON))
    assert queue.take(NOON).student == "anna"
    queue.put(HandIn("anna", "another", NOON))
    assert names(queue) == ["ben", "another"]


ARRIVALS = st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans()), max_size=80)


@given(ARRIVALS, st.integers(1, 4))
def test_whatever_arrives_when_nobody_is_passed_twice_and_nobody_gets_more_than_the_bound(arrivals, per_day):
    queue, passed, waiting, taken = Queue(per_day), {}, {}, {}
    for number, (student, takes) in enumerate(arrivals):
        queue.put(HandIn(student, str(number), NOON))
        waiting.setdefault(student, number)
        if takes and (hand_in := queue.take(NOON)):
            mine = hand_in.student
            assert hand_in.handed_in == str(
                max(n for n, (who, _) in enumerate(arrivals[: number + 1]) if who == mine)
            )
            taken[mine] = taken.get(mine, 0) + 1
            for other in waiting.keys() - {mine}:
                if taken.get(other, 0) < per_day:
                    passed[other, mine] = passed.get((other, mine), 0) + 1
                    assert passed[other, mine] == 1 and waiting[mine] < waiting[other]
            del waiting[mine]
            passed = {pair: count for pair, count in passed.items() if pair[0] != mine}
    assert all(count <= per_day for count in taken.values())
    names(queue)
    assert {each.student for each, _ in queue.held(NOON)} == {
        student for student in waiting if taken.get(student, 0) == per_day
    }


# ---------------------------------------------------------------------------------- how often


def used(*hours_ago: float) -> Queue:
    queue = Queue(per_day=2)
    queue.attempts["anna"] = [Attempt(NOON - each * HOUR, str(each)) for each in hours_ago]
    return queue


@pytest.mark.parametrize(
    ("hours_ago", "free"),
    [((), None), ((3,), None), ((30, 3), None), ((23, 3), NOON + HOUR), ((30, 20, 3), NOON + 4 * HOUR)],
)
def test_more_than_the_bound_within_24_hours_waits(hours_ago, free):
    queue = used(*hours_ago)
    queue.put(HandIn("anna", "new", NOON))
    assert queue.free_from(HandIn("anna", "new", NOON), NOON) == free
    assert names(queue) == ([] if free else ["new"])
    if free:
        assert names(queue, free) == ["new"]


def test_the_last_hand_in_before_the_deadline_is_graded_when_it_has_passed():
    queue = used(3, 2)
    in_time = HandIn("anna", "new", NOON, due=NOON + HOUR)
    assert queue.free_from(in_time, NOON) == NOON + HOUR
    assert queue.free_from(in_time, NOON + HOUR) is None
    late = HandIn("anna", "new", NOON + 2 * HOUR, due=NOON + HOUR)
    assert queue.free_from(late, NOON + 2 * HOUR) == NOON - 3 * HOUR + DAY


def test_only_one_attempt_over_the_bound_is_graded_because_the_deadline_has_passed():
    queue = used(3, 2)
    queue.put(HandIn("anna", "new", NOON, due=NOON))
    assert names(queue) == ["new"]
    queue.put(HandIn("anna", "another, of which its author says that it is older", NOON, due=NOON))
    assert names(queue) == []


def test_an_attempt_that_was_broken_off_is_begun_again_and_is_the_same_attempt():
    queue = used(3, 2)
    queue.put(HandIn("anna", "2", NOON))
    assert names(queue) == ["2"] and len(queue.attempts["anna"]) == 2


def test_attempts_are_in_the_log_and_stay_those_of_a_person_whose_ids_are_merged(tmp_path):
    course = with_gradebook(Course(tmp_path))
    lab = Lab(course, START)
    with Gradebook.open(course) as gradebook:
        for handed_in in ("a", "b", "b"):
            gradebook.begin_attempt(lab, "ann", Attempt(NOON, handed_in))
        assert gradebook.unreturned(lab) == {"ann"}
        gradebook.note_returned(lab, "ann")
        gradebook.merge("ann", "anna", [])
        assert gradebook.attempts(lab, NOON - HOUR) == {"anna": [Attempt(NOON, "a"), Attempt(NOON, "b")]}
        assert gradebook.attempts(lab, NOON) == {} and gradebook.unreturned(lab) == set()
        told = [(each.lab, each.student, each.after) for each in gradebook.changes() if each.what == ATTEMPT]
    assert told == [(START, "ann", "2030-01-31 12:00 UTC")] * 2


# ---------------------------------------------------------------------------------- a lab that is watched


class Clock:
    """A clock that moves on when somebody waits."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds)

    def read(self) -> float:
        return self.seconds

    def pause(self, seconds: float) -> None:
        self.seconds += 5 * seconds  # more than between two looks


class Class:
    """A lab that learners hand in to through the exchange. All of them are one user of this machine."""

    def __init__(self, lab: Lab, inbound: Path, runner: KernelFree) -> None:
        self.lab, self.inbound, self.runner = lab, inbound, runner
        self.clock, self.lines, self.count = Clock(), [], 0

    def submits(self, student: str, notebook: nbformat.NotebookNode | bytes | None = None) -> str:
        """Hands in as nbgrader does. Returns the submission's secret."""
        self.count += 1
        notebook = solved(self.lab) if notebook is None else notebook
        if not isinstance(notebook, bytes):
            cell = next(cell for cell in notebook.cells if is_solution(cell))
            cell.source = f"# {student}-{self.count}\n{cell.source}"
            notebook = json.dumps(notebook).encode()
        stamp, secret = f"{self.clock.now():%Y-%m-%d %H:%M:%S}.{self.count:06} UTC", f"{self.count:0128}"
        folder = self.inbound / f"{student}+{self.lab.name}+{stamp}+{self.count}"
        folder.mkdir()
        (folder / self.lab.notebook_name).write_bytes(notebook)
        (folder / "timestamp.txt").write_text(stamp)
        (folder / SECRET).write_text(secret)
        return secret

    def watch(self, rounds: int = 3, per_day: int = 5, jobs: int | None = None, **other) -> list[str]:
        """Starts a watch that looks a few times. Returns what it has said."""

        def tell_kept(hand_in: HandIn, free: datetime) -> None:
            say_kept(self.lab, hand_in.student, hand_in.when, free, hand_in.due, per_day, exchange=True)

        before = len(self.lines)
        how = {
            "give_back": lambda student: return_feedback(self.lab, student, exchange=True),
            "tell_kept": tell_kept,
            "say": self.lines.append,
            "now": self.clock.now,
            "clock": self.clock.read,
            "pause": self.clock.pause,
        }
        how |= other
        place = how.pop("place", None) or place_of(self.lab, None, shared_account=True)
        watch = Watch(self.lab, self.runner, 5, place, Queue(per_day), jobs, **how)
        watch.go_on(iter(range(rounds)))
        return [line.partition("  ")[2] for line in self.lines[before:]]

    def page(self, secret: str) -> str:
        """What the learner fetches for a submission; empty if there is nothing."""
        name = notebook_hash(secret=secret, notebook_id=self.lab.slug)
        file = self.inbound.parent / "feedback" / f"{name}.html"
        return file.read_text("utf-8") if file.exists() else ""

    def scores(self) -> dict[str, float]:
        with Gradebook.open(self.lab.course) as gradebook:
            return {result.student: result.score for result in gradebook.results(self.lab)}


@pytest.fixture
def watched(tmp_path, monkeypatch) -> Class:
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_CONFIG_PATH"):
        monkeypatch.setenv(name, str(tmp_path / "config"))
    for folder in ("solutions", "notebooks"):
        shutil.copytree(ROOT / folder / START, tmp_path / "course" / folder / START)
    inbound = tmp_path / "exchange" / "transformer-labs" / "inbound"
    inbound.mkdir(parents=True)
    for place in (inbound.parents[1], inbound):
        place.chmod(0o1777)
    settings = (ROOT / "nbgrader_config.py").read_text()
    settings += f"\nget_config().Exchange.root = {str(inbound.parents[1])!r}\n"
    (tmp_path / "course" / "nbgrader_config.py").write_text(settings)
    course = with_gradebook(Course(tmp_path / "course"))
    return Class(Lab.load(course, START), inbound, KernelFree(tmp_path / "runs"))


def test_what_arrives_is_graded_and_its_feedback_is_where_the_learner_fetches_it(watched):
    ann, ben = watched.submits("ann"), watched.submits("ben", watched.lab.release())
    said = watched.watch()
    assert said == [
        "ann: graded, 5 of 5 points from the checks; feedback returned",
        "ben: graded, 0 of 5 points from the checks; feedback returned",
    ]
    assert "5 of 5 points" in watched.page(ann) and "0 of 5 points" in watched.page(ben)
    assert watched.watch() == [] and len(watched.runner.runs()) == 2


def test_what_is_over_the_bound_is_kept_and_told_and_graded_when_there_is_room_again(watched):
    for _ in range(2):
        watched.submits("ann")
        watched.watch(per_day=2)
    assert len(watched.runner.runs()) == 2
    kept = watched.submits("ann", watched.lab.release())
    ben = watched.submits("ben")
    said = watched.watch(per_day=2)
    assert (
        said[0]
        == "ann: kept, because all attempts of 24 hours are used (2); to be graded after 2030-02-01 12:00 UTC"
    )
    assert said[1].startswith("ben: graded") and watched.page(ben)
    assert "at most 2 times in 24 hours" in watched.page(kept) and "2030-02-01, 12:00 UTC" in watched.page(
        kept
    )
    assert watched.scores()["ann"] == 5
    watched.clock.seconds += 24 * 3600
    assert watched.watch(per_day=2) == ["ann: graded, 0 of 5 points from the checks; feedback returned"]
    assert "0 of 5 points" in watched.page(kept) and watched.scores()["ann"] == 0
    assert not list((watched.lab.course.root / KEPT).rglob("*.html"))


@pytest.mark.slow
def test_the_deadline_s_last_hand_in_is_graded_after_it_though_it_was_over_the_bound(watched):
    with Gradebook.open(watched.lab.course) as gradebook:
        gradebook.set_deadline(watched.lab, NOON + HOUR)
        gradebook.extend(watched.lab, "ben", HOUR)
    for student in ("ann", "ben"):
        watched.submits(student, watched.lab.release())
    watched.watch(per_day=1)
    pages = {student: watched.submits(student) for student in ("ann", "ben")}
    watched.watch(per_day=1)
    assert "13:00 UTC (the deadline)" in watched.page(pages["ann"])
    assert "14:00 UTC (the deadline)" in watched.page(pages["ben"])
    watched.clock.seconds = 3600
    said = watched.watch(per_day=1)
    assert said[0].startswith("ben: kept") and said[1:] == [
        "ann: graded, 5 of 5 points from the checks; feedback returned"
    ]
    assert watched.scores() == {"ann": 5, "ben": 0}


# ---------------------------------------------------------------------------------- when anything goes wrong


def stopped(*_) -> None:
    raise KeyboardInterrupt


def attempts(watched: Class) -> dict[str, int]:
    with Gradebook.open(watched.lab.course) as gradebook:
        return {student: len(all_) for student, all_ in gradebook.attempts(watched.lab, NOON - DAY).items()}


def test_a_watch_that_was_stopped_before_it_returned_feedback_returns_it_and_grades_nothing_again(watched):
    ann = watched.submits("ann")
    with pytest.raises(KeyboardInterrupt):
        watched.watch(give_back=stopped)
    assert not watched.page(ann)
    assert watched.watch() == ["ann: graded before; feedback returned"]
    assert "5 of 5 points" in watched.page(ann)
    assert len(watched.runner.runs()) == 1 and attempts(watched) == {"ann": 1}
    assert watched.watch() == []


def test_a_watch_that_was_stopped_while_it_graded_goes_on_and_it_is_the_same_attempt(watched, monkeypatch):
    ann, ben = watched.submits("ann"), watched.submits("ben")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(KernelFree, "run", stopped)
        watched.watch(per_day=1)
    assert attempts(watched) == {"ann": 1} and not watched.page(ann)
    assert len(watched.watch(per_day=1)) == 2
    assert watched.page(ann) and watched.page(ben) and attempts(watched) == {"ann": 1, "ben": 1}


def test_broken_hand_ins_stop_nothing_and_are_not_tried_for_ever(watched, monkeypatch):
    run = KernelFree.run

    def fails_for_ben(self, notebook, seed, folder=None):
        executed = run(self, notebook, seed, folder)
        if "# ben" in next(cell for cell in notebook.cells if is_solution(cell)).source:
            raise RuntimeError("the grader itself fails")
        return executed

    monkeypatch.setattr(KernelFree, "run", fails_for_ben)
    ann = watched.submits("ann", b"{")
    watched.submits("ben")
    os.mkfifo(watched.inbound / f"cleo+{START}+2030-01-31 12:00:00 UTC+x")
    (watched.inbound / f"nobody+{START}+when").mkdir()
    dan = watched.submits("dan")
    said = " ".join(watched.watch(rounds=9))
    assert "ann: unreadable, 0 of 5" in said and "dan: graded, 5 of 5" in said
    assert "the grader itself fails" in said and "tries it again" in said
    assert "could not be" in watched.page(ann) and watched.page(dan)
    assert len(watched.runner.runs()) == 2  # ben's once, and dan's


@pytest.mark.slow
def test_one_that_is_still_being_written_is_left_until_it_is_complete(watched):
    watched.submits("ann")
    (folder,) = watched.inbound.iterdir()
    whole = (folder / watched.lab.notebook_name).read_bytes()
    pieces = iter((whole[:100], whole[:1000], whole))

    def write(seconds: float) -> None:
        if (piece := next(pieces, None)) is not None:
            (folder / watched.lab.notebook_name).write_bytes(piece)
        watched.clock.pause(seconds)

    (folder / watched.lab.notebook_name).write_bytes(b"")
    said = watched.watch(rounds=6, pause=write)
    assert said == ["ann: graded, 5 of 5 points from the checks; feedback returned"]


@pytest.mark.slow
def test_what_is_handed_in_while_the_same_person_s_work_is_graded_is_graded_after_it(watched):
    secrets = [watched.submits("ann", watched.lab.release())]

    def give_back(student: str) -> None:
        return_feedback(watched.lab, student, exchange=True)
        if len(secrets) == 1:
            secrets.append(watched.submits("ann"))

    said = watched.watch(rounds=6, give_back=give_back)
    assert [line[:16] for line in said] == ["ann: graded, 0 o", "ann: graded, 5 o"]
    assert "0 of 5 points" in watched.page(secrets[0]) and "5 of 5 points" in watched.page(secrets[1])


@pytest.mark.slow
def test_feedback_that_cannot_be_returned_now_is_returned_later(watched):
    ann, tries = watched.submits("ann"), []

    def give_back(student: str) -> None:
        tries.append(student)
        if len(tries) < 3:
            raise GraderError("Another `grader feedback` is at work.")
        return_feedback(watched.lab, student, exchange=True)

    said = watched.watch(rounds=30, give_back=give_back)
    assert len(said) == 2 and "Another `grader feedback` is at work" in said[0]
    assert tries == ["ann"] * 3 and watched.page(ann)


def test_two_watches_of_one_lab_are_refused_and_grading_beside_it_is_waited_for(watched):
    watched.submits("ann")
    course = watched.lab.course
    with (
        grading.locked(course, f"watch-{START}.lock", ""),
        pytest.raises(GraderError, match="Another `grader watch 00_start_here` is at work"),
    ):
        watched.watch()
    with grading.alone(course):
        said = watched.watch()
    assert len(said) == 1 and said[0].startswith("What was handed in waits. Another `grader autograde`")
    assert len(watched.watch()) == 1


@pytest.mark.slow
def test_what_an_instructor_grades_while_it_waits_is_not_graded_twice_and_left_for_the_instructor_to_return(
    watched,
):
    ann, lab, lock = watched.submits("ann"), watched.lab, ExitStack()

    def pause(seconds: float) -> None:
        if watched.lines and not watched.runner.runs():  # the watch has said that it waits
            lock.close()
            list(grading.autograde(lab, grading.submissions(lab), watched.runner, 5))
        watched.clock.pause(seconds)

    with lock:
        lock.enter_context(grading.alone(lab.course))
        said = watched.watch(rounds=5, pause=pause)
    assert said[1:] == [] and not watched.page(ann)
    assert len(watched.runner.runs()) == 1 and attempts(watched) == {}


def test_an_exchange_or_folder_that_is_not_there_is_said_at_once(watched, tmp_path):
    with pytest.raises(GraderError, match="is not a folder"):
        place_of(watched.lab, tmp_path / "nowhere")
    shutil.rmtree(watched.inbound)
    with pytest.raises(GraderError, match="inbound is not there"):
        place_of(watched.lab, None)


@pytest.mark.slow
def test_a_folder_is_watched_too(watched, tmp_path):
    folder = tmp_path / "handed in"
    (folder / "ann").mkdir(parents=True)
    (folder / "ann" / watched.lab.notebook_name).write_text(json.dumps(solved(watched.lab)))
    said = watched.watch(
        place=place_of(watched.lab, folder),
        give_back=lambda student: return_feedback(watched.lab, student, exchange=False),
    )
    assert said == [
        f"ann: graded, 5 of 5 points from the checks; feedback page in grading/feedback/ann/{START}, not returned yet"
    ]
    assert (watched.lab.course.feedback / "ann" / START / f"{watched.lab.slug}.html").exists()


# ---------------------------------------------------------------------------------- what repeated feedback tells


@pytest.mark.slow
def test_wrong_answers_that_are_handed_in_again_and_again_are_told_the_same(watched):
    pages = []
    for number in ("1000.5", "2000.5", "4000.5"):
        wrong = f"def softmax(scores, axis=-1):\n    return {number} + 0 * np.asarray(scores, float)\n"
        secret = watched.submits("ann", solved(watched.lab, {"softmax": wrong}))
        watched.watch()
        page = watched.page(secret).replace(number, "NUMBER")
        pages.append(re.sub(r"ann-\d", "ann", page))
    assert "other values than expected" in pages[0]
    assert len({re.sub(r"\s+", " ", page) for page in pages}) == 1


def test_in_the_end_everything_is_graded_with_a_seed_that_no_feedback_on_hand_in_was_about(watched):
    lab = watched.lab
    seeds = [grading.class_seed(lab, on_hand_in) for on_hand_in in (False, True, False, True)]
    assert seeds[:2] == seeds[2:] and seeds[0] != seeds[1]
    watched.submits("ann")
    watched.watch()
    (record,) = grading.autograde(
        lab, grading.submissions(lab), watched.runner, seeds[0], again=Again.CHANGED
    )
    assert not record.kept and record.score == 5
    assert watched.watch() == []  # and that stays


# ---------------------------------------------------------------------------------- several processes


@pytest.mark.slow
def test_a_class_hands_in_at_once_and_a_notebook_that_takes_long_keeps_nobody_waiting(watched):
    slow = solved(watched.lab)
    next(cell for cell in slow.cells if is_solution(cell)).source += "\nimport time\ntime.sleep(15)\n"
    secrets = {"ann": [watched.submits("ann", slow) for _ in range(3)][-1]}
    secrets |= {f"s{number}": watched.submits(f"s{number}") for number in range(3)}
    more = iter(range(3, 6))

    def give_back(student: str) -> None:
        return_feedback(watched.lab, student, exchange=True)
        watched.clock.seconds += 200  # longer than processes take something new, if nothing takes long
        if (number := next(more, None)) is not None:
            secrets[f"s{number}"] = watched.submits(f"s{number}")

    said = watched.watch(rounds=12, jobs=2, give_back=give_back)
    assert [line.partition(":")[0] for line in said][-1] == "ann" and len(said) == 7
    assert all("5 of 5 points" in watched.page(secret) for secret in secrets.values())
    assert sorted(watched.runner.runs()) == sorted(["ann-3", *(f"s{n}-{n + 4}" for n in range(6))])


def test_a_team_s_work_is_run_once_and_returned_to_each_member(watched):
    with Gradebook.open(watched.lab.course) as gradebook:
        gradebook.enter_people(Person(each, each.title(), "Ey") for each in ("ann", "ben", "eve"))
        gradebook.enter_teams({"ann": "red", "ben": "red"})
    ann = watched.submits("ann")
    told = "graded, 5 of 5 points from the checks; feedback"
    ben_s = f"ben: {told} page in grading/feedback/ben/{START}, not returned yet"  # who hands in nothing can fetch nothing
    assert watched.watch() == [f"ann: {told} returned", ben_s]
    assert watched.scores() == {"ann": 5, "ben": 5} and watched.runner.runs() == ["ann-1"]
    assert "5 of 5 points" in watched.page(ann)
    assert watched.watch() == []
    watched.submits("ben")
    ann_s = f"ann: {told} page in grading/feedback/ann/{START}, not returned yet"
    assert watched.watch() == [f"ben: {told} returned", ann_s] and watched.runner.runs() == ["ann-1", "ben-2"]
    with Gradebook.open(watched.lab.course) as gradebook:
        counted = gradebook.attempts(watched.lab, NOON - HOUR)
    assert {student: len(found) for student, found in counted.items()} == {"ann": 2, "ben": 2}
    watched.submits("ann")  # whoever of them hands in, the bound is the team's
    (kept, *_) = watched.watch(per_day=2)
    assert kept.startswith("ann: kept, because all attempts of 24 hours are used (2)")
    assert len(watched.runner.runs()) == 2


def test_while_a_team_s_work_is_graded_nothing_else_of_the_team_is():
    queue = Queue(per_day=5)
    queue.put(HandIn("ben", "newer", NOON, copies={"ann": "theirs"}))
    assert queue.take(NOON, {"ann"}) is None and queue.take(NOON, {"eve"}).handed_in == "newer"
