"""Final grades: what may come in any order, what can never be, that what is shown adds up, and how late days are spent."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.book.counting import Counted
from grader.book.grades import InLab, apportioned, final
from grader.book.late_days import DAY, Work, spent
from grader.book.results import Result, late_by, points_of
from grader.book.rules import Category, Rules, default, parsed
from grader.book.statuses import NONE, Kind, Marks, Status, see_that_the_lab_fits, understood
from grader.errors import GraderError
from grader.show.class_facts import share_of

LABS = [f"{number:02}_lab" for number in range(6)]
points = st.integers(0, 2000).map(lambda hundredths: Decimal(hundredths) / 100)


@st.composite
def in_lab(draw, lab: str) -> InLab:
    most = draw(st.sampled_from([Decimal(5), Decimal(20), Decimal("20.5")]))
    score = draw(points)
    counts = draw(st.booleans())
    return InLab(lab, "graded", counts, most, score=score, droppable=draw(st.booleans()))


@st.composite
def rules(draw) -> Rules:
    where = draw(st.lists(st.integers(0, 3), min_size=len(LABS), max_size=len(LABS)))
    weight = st.integers(1, 50).map(Decimal)
    categories = [
        Category(f"c{number}", draw(weight), of, draw(st.integers(0, 4)))
        for number in range(3)
        if (of := tuple(lab for lab, place in zip(LABS, where, strict=True) if place == number))
    ]
    weights = {lab: draw(weight) for lab in LABS if draw(st.booleans())}
    return Rules(tuple(categories), weights, decimals=draw(st.integers(0, 2)))


all_labs = st.tuples(*(in_lab(lab) for lab in LABS))


@given(all_labs, rules(), st.randoms())
def test_the_order_of_labs_and_categories_never_matters(labs, the_rules, chance: random.Random):
    expected = final(labs, the_rules)
    shuffled, categories = list(labs), list(the_rules.categories)
    chance.shuffle(shuffled)
    chance.shuffle(categories)
    categories = [
        Category(
            each.name, each.weight, tuple(sorted(each.labs, key=lambda _: chance.random())), each.drop_lowest
        )
        for each in categories
    ]
    again = final(shuffled, Rules(tuple(categories), the_rules.labs, decimals=the_rules.decimals))
    assert again == expected


@given(all_labs, rules())
def test_what_the_labs_add_is_the_percentage_which_is_never_negative_or_more_than_100(labs, the_rules):
    found = final(labs, the_rules)
    if found.percentage is None:
        assert not any(each.adds or each.weight for each in found.labs)
        return
    assert sum(each.adds for each in found.labs) == found.percentage
    assert 0 <= found.percentage <= 100 and all(each.adds >= 0 for each in found.labs)
    assert sum(each.weight for each in found.labs) == 1
    exact = sum(100 * each.weight * each.share for each in found.labs)
    assert abs(Fraction(found.percentage) - exact) <= Fraction(1, 200)


@given(all_labs, rules())
def test_dropping_the_lowest_never_lowers_a_category_and_always_leaves_a_lab(labs, the_rules):
    for each in the_rules.categories:
        one = Category(each.name, each.weight, each.labs, each.drop_lowest)
        none = Category(each.name, each.weight, each.labs)
        with_, without = (final(labs, Rules((category,), the_rules.labs)) for category in (one, none))
        assert (with_.percentage is None) == (without.percentage is None)
        if with_.percentage is not None:
            assert with_.percentage >= without.percentage - Decimal("0.01")


CELLS = {"a": 2.0, "b": 6.0, "c": 2.0, "d": 3.0}
gradings = st.fixed_dictionaries(
    {cell: st.none() | st.integers(0, int(4 * most)).map(lambda n: n / 4) for cell, most in CELLS.items()}
)
decisions = st.sampled_from(
    [
        Marks(),
        Marks(frozenset([Status("x", "l", Kind.PENALTY, "10%")])),
        Marks(frozenset([Status("x", "l", Kind.PENALTY, "2")])),
    ]
)


def share(points: dict, counts: Counted, marks: Marks = NONE) -> float:
    """The share of the points that count, as reports have it and final grades have it."""
    result = Result("x", points, frozenset(), None, timedelta(), 0.0, None, counts=counts, marks=marks)
    reported = share_of(result, CELLS)
    most = Decimal(f"{result.most(CELLS):.2f}")
    in_grade = InLab("l", "graded", True, most, score=Decimal(f"{result.score:.2f}")).share
    assert float(in_grade) == pytest.approx(reported, abs=0.01)
    return reported


beside = st.sets(st.sampled_from(["b", "c", "d"])).map(frozenset)  # "a" is on the core path


@given(gradings, gradings, beside, decisions)
def test_with_the_core_path_alone_no_other_points_matter_not_even_those_that_wait_for_somebody(
    points, others, cells, marks
):
    changed = points | {cell: others[cell] for cell in cells}
    counts = Counted(left_out=cells)
    assert share(points, counts, marks) == share(changed, counts, marks)
    assert counts.most(CELLS) == {cell: most for cell, most in CELLS.items() if cell not in cells}


@given(gradings, beside, decisions, st.data())
def test_a_bonus_never_lowers_a_grade(points, cells, marks, data):
    core, bonus = (share(points, counts, marks) for counts in (Counted(left_out=cells), Counted(bonus=cells)))
    assert 0 <= core <= 1 and 0 <= bonus <= 1
    assert bonus >= core
    cell = data.draw(st.sampled_from(sorted(CELLS)))
    more = points | {cell: CELLS[cell]} if points[cell] is not None else points
    assert share(more, Counted(bonus=cells), marks) >= bonus


@given(gradings, beside)
def test_a_bonus_is_never_worth_less_than_where_everything_counts(points, cells):
    read = {cell: each or 0.0 for cell, each in points.items()}
    assert share(read, Counted(bonus=cells)) >= share(read, Counted()) - 1e-9
    assert share(dict(CELLS), Counted(bonus=cells)) == share(dict(CELLS), Counted(left_out=cells)) == 1


@given(st.dictionaries(st.text(max_size=3), st.fractions(0, 100), max_size=8))
def test_parts_are_rounded_so_that_they_add_up(exact):
    found = apportioned(exact)
    total = sum(exact.values(), Fraction(0))
    assert abs(Fraction(sum(found.values(), Decimal(0))) - total) <= Fraction(1, 200)
    assert all(abs(Fraction(found[name]) - value) < Fraction(1, 100) for name, value in exact.items())


status = st.one_of(
    st.sampled_from([Kind.EXCUSED, Kind.ZERO, Kind.DROPPED]).map(
        lambda kind: Status("a", "00", kind, "", "why")
    ),
    st.sampled_from(["2", "0.5", "30", "10%", "100%"]).map(
        lambda text: Status("a", "00", Kind.PENALTY, text, "why")
    ),
)


@given(st.lists(status, max_size=5), st.floats(0, 30), st.floats(0, 40), st.randoms())
def test_decisions_may_come_in_any_order_and_points_are_never_negative(statuses, earned, penalty, chance):
    def result(marks: Marks) -> Result:
        return Result("a", {"cell": earned}, frozenset(), None, timedelta(), penalty, None, marks=marks)

    one = result(Marks(tuple(statuses)))
    other = list(statuses)
    chance.shuffle(other)
    again = result(Marks(tuple(other)))
    assert one.score == pytest.approx(again.score, abs=1e-9) and str(one.marks) == str(again.marks)
    assert (one.marks.excused, one.marks.dropped) == (again.marks.excused, again.marks.dropped)
    assert 0 <= one.score <= earned and one.deducted >= 0
    assert one.marks.zeroed is any(each.kind is Kind.ZERO for each in statuses)
    assert not (one.marks.zeroed and (one.marks.excused or one.score))
    if not statuses:
        assert one.score == max(0.0, earned - penalty)


def test_the_stronger_of_two_decisions_counts_and_penalties_add_up():
    def marks(*typed: str) -> Marks:
        return Marks(tuple(Status("a", "00_lab", *understood(each)) for each in typed))

    found = [
        marks(),
        marks("dropped"),
        marks("dropped", "excused"),
        marks("excused", "zero"),
        marks("zero", "dropped"),
    ]
    assert [each.zeroed for each in found] == [False, False, False, True, True]
    assert [each.excused for each in found] == [False, False, True, False, False]
    assert [each.dropped for each in found] == [False, True, False, False, False]
    of_all = marks("penalty 10%", "penalty 1").deducted(20, 16)  # points, whatever lateness has cost
    assert of_all == 3
    assert marks("penalty 10%", "penalty 1").deducted(20, 2) == 2 == marks("zero").deducted(20, 2)
    waiting = Result("a", {"x": None, "y": 1}, frozenset(), None, timedelta(), 0.0, None)
    assert waiting.most({"x": 2, "y": 3}) == 3  # what a human still has to give is no part of it


def test_an_excused_lab_does_not_count_and_a_zero_is_never_dropped():
    labs = [
        InLab("00_lab", "graded", True, Decimal(10), score=Decimal(10)),
        InLab("01_lab", "graded", True, Decimal(10), score=Decimal(2)),
        InLab("02_lab", "zero", True, Decimal(10), score=Decimal(0), droppable=False),
        InLab("03_lab", "excused", False, Decimal(10)),
    ]
    rules_ = [Rules((Category("labs", Decimal(100), tuple(LABS), count),)) for count in (0, 1, 2)]
    none, one, two = (final(labs, each) for each in rules_)
    assert none.percentage == Decimal("40.00") and not any(each.dropped for each in none.labs)
    assert one.percentage == Decimal("50.00")  # the zero is the lowest, and stays
    assert [each.dropped for each in one.labs] == [False, True, False, False]
    assert two.percentage == Decimal("50.00")  # the best one would lower the mean
    equal = final([labs[1], replace(labs[1], lab="00_lab")], rules_[1])
    assert [each.dropped for each in equal.labs] == [True, False]


def test_a_lab_in_no_category_is_not_waited_for():
    labs = [InLab(lab, "graded", True, Decimal(10), score=Decimal(5), open=True) for lab in LABS[:2]]
    assert final(labs, Rules((Category("labs", Decimal(100), ("00_lab",)),))).open == ("00_lab",)


def test_what_is_shown_is_what_is_rounded():
    """89.4951 is shown as 89.50, and 90 is what one gets who rounds that."""
    labs = [InLab("00_lab", "graded", True, Decimal("100000"), score=Decimal("89495.10"))]
    whole, tenths = (
        final(
            labs,
            Rules(default(LABS).categories, decimals=each, grades=(("A", Decimal(90)), ("B", Decimal(80)))),
        )
        for each in (0, 1)
    )
    assert (whole.percentage, whole.rounded, whole.grade) == (Decimal("89.50"), Decimal(90), "A")
    assert (str(tenths.rounded), tenths.grade) == ("89.5", "B")


@pytest.mark.parametrize(
    ("auto", "manual", "again", "extra", "points"),
    [
        (3, None, False, None, 3),
        (3, 1, True, None, 1),
        (0, None, True, 0.5, 0.5),
        (1, None, False, -2, 0),
        (None, 2, False, 0.5, 2.5),
        (None, 0, False, None, 0),
        (None, 2, True, None, None),
        (None, None, False, None, None),
    ],
)
def test_a_cell_s_points_are_those_that_a_human_gave_before_the_automatic_ones(
    auto, manual, again, extra, points
):
    row = {"auto_score": auto, "manual_score": manual, "needs_manual_grade": again, "extra_credit": extra}
    assert points_of(row) == points


@pytest.mark.parametrize(
    ("handed_in", "due", "extension", "late"),
    [(5, 2, None, 3), (5, 2, 2, 1), (2, 5, None, 0), (5, None, 1, 0), (None, 2, None, 0)],
)
def test_a_work_is_late_by_what_is_beyond_its_deadline_and_more_time(handed_in, due, extension, late):
    times = {"timestamp": handed_in, "duedate": due}
    row = {name: day and datetime(2027, 1, day) for name, day in times.items()}
    assert late_by(row | {"extension": extension and extension * DAY}) == late * DAY


# ---------------------------------------------------------------------------------- late days


def penalty(late: timedelta) -> float:
    return 10.0 * -(-late // DAY)


def works(*late: float) -> list[Work]:
    return [
        Work(LABS[place], datetime(2027, 1, 1) + timedelta(days=7 * place), timedelta(days=days))
        for place, days in enumerate(late)
    ]


@given(st.lists(st.floats(0, 6), max_size=6), st.integers(0, 6), st.randoms())
def test_late_days_depend_on_deadlines_only_and_are_never_more_than_there_are(late, budget, chance):
    found = spent(works(*late), budget, penalty)
    shuffled = works(*late)
    chance.shuffle(shuffled)
    assert spent(shuffled, budget, penalty) == found
    assert sum(found.values()) <= budget and all(days > 0 for days in found.values())


def test_late_days_are_spent_from_the_first_deadline_on_and_only_where_they_help():
    assert spent(works(1.5, 0, 2, 3), 5, penalty) == {LABS[0]: 2, LABS[2]: 2, LABS[3]: 1}
    assert spent(works(1.5, 2), 5, lambda late: 0.0) == {}  # no penalty, so nothing to spend a day on
    assert spent(works(3, 1), 2, lambda late: 50.0 if late else 0.0) == {
        LABS[1]: 1
    }  # two of three days would not help


# ---------------------------------------------------------------------------------- what is typed


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("excused", (Kind.EXCUSED, "")),
        (" Zero ", (Kind.ZERO, "")),
        ("penalty 2,5", (Kind.PENALTY, "2.5")),
        ("penalty 123.4567", (Kind.PENALTY, "123.4567")),
        ("penalty 4000", (Kind.PENALTY, "4000")),
        ("extension 1234.50", (Kind.EXTENSION, "1234.5")),
        ("extension 3650", (Kind.EXTENSION, "3650")),
        ("penalty 100%", (Kind.PENALTY, "100%")),
        ("late days 100", (Kind.LATE_DAYS, "100")),
        ("time 10", (Kind.TIME, "10")),
        ("penalty 10 %", (Kind.PENALTY, "10%")),
        ("late day 1", (Kind.LATE_DAYS, "1")),
        ("time ×1.5", (Kind.TIME, "1.5")),
        ("extension 3", (Kind.EXTENSION, "3")),
    ],
)
def test_a_status_is_understood_as_people_write_it(typed, meant):
    assert understood(typed) == meant


@pytest.mark.parametrize(
    "typed",
    ["", "ill", "penalty", "excused 2", "penalty -2", "penalty 0", "penalty 101%", "late days 1.5", "late days 0",
     "late days 101", "time 1", "time 10.1", "time 50%", "extension 0", "extension 3650.1", "extension nan", "penalty 1e9", "zero%"],
)  # fmt: skip
def test_what_is_no_status_is_one_sentence(typed):
    with pytest.raises(GraderError) as raised:
        understood(typed)
    assert "\n" not in str(raised.value)


def test_a_status_is_about_one_lab_or_about_all():
    see_that_the_lab_fits(Status("a", "", Kind.TIME, "1.5"))
    with pytest.raises(GraderError, match="leave out the lab"):
        see_that_the_lab_fits(Status("a", "00", Kind.TIME, "1.5"))
    with pytest.raises(GraderError, match="say which"):
        see_that_the_lab_fits(Status("a", "", Kind.EXCUSED))


def named(text: str) -> str:
    found = [lab for lab in LABS if lab.startswith(text)]
    if len(found) != 1 or not text:
        raise GraderError(f"There is no lab {text!r}.")
    return found[0]


def test_rules_say_what_they_say():
    found = parsed(
        """
        drop_lowest = 1
        decimals = 0
        optional = "bonus"
        late_days = 5
        spend = "on request"
        days = 14
        [categories.first]
        weight = 40
        labs = ["00", "01"]
        [categories.second]
        weight = 60.5
        labs = ["02", "03"]
        drop_lowest = 0
        optional = "left out"
        [labs]
        "02" = 2
        [grades]
        B = 75
        A = 90
        """,
        named,
        LABS,
    )
    assert found.categories == (
        Category("first", Decimal(40), (LABS[0], LABS[1]), 1, "bonus"),
        Category("second", Decimal("60.5"), (LABS[2], LABS[3]), 0, "left out"),
    )
    assert found.weight_of(LABS[2]) == 2 and found.weight_of(LABS[0]) == 1
    assert found.grades == (("A", Decimal(90)), ("B", Decimal(75)))
    assert (found.optional, found.decimals, found.late_days, found.on_request) == ("bonus", 0, 5, True)
    assert [found.optional_in(lab) for lab in (LABS[0], LABS[2], LABS[5])] == ["bonus", "left out", "bonus"]
    assert found.more_time(Status("a", "", Kind.TIME, "1.5")) == timedelta(days=7)
    assert parsed("", named, LABS) == default(LABS)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("drop = 1", "drop"),
        ("drop_lowest = -1", "drop_lowest"),
        ("drop_lowest = true", "drop_lowest"),
        ("decimals = 1.5", "decimals"),
        ("optional = 'bonuss'", "optional"),
        ("optional = ['bonus']", "optional"),
        ("[categories.first]\nweight = 1\nlabs = ['00']\noptional = 'core'", "categories.first.optional"),
        ("days = 0", "days"),
        ("days = nan", "days"),
        ("days = 'seven'", "days"),
        ("late_days = 5.5", "late_days"),
        ("spend = 3", "spend"),
        ("spend = []", "spend"),
        ("categories = 3", "categories"),
        ("[categories]\nfirst = 3", "categories.first"),
        ("[categories.first]\nlabs = ['00']", "categories.first.weight"),
        ("[categories.first]\nweight = 1\nlabs = []", "categories.first.labs"),
        ("[categories.first]\nweight = 1\nlabs = ['00', '00_lab']", "twice"),
        ("[categories.first]\nweight = 1\nlabs = ['17']", "categories.first.labs"),
        (
            "[categories.a]\nweight = 1\nlabs = ['00']\n[categories.b]\nweight = 1\nlabs = ['00']",
            "categories.b.labs",
        ),
        ("[categories.a]\nweight = 1\nlabs = ['00']\n[labs]\n'01' = 2", "labs.01_lab"),
        ("[labs]\n'00' = 0", "labs.00"),
        ("[grades]\nA = 101", "grades.A"),
        ("[grades]\nA = 90\nB = 90", "grades"),
        ("late_days = = 3", "line 1, column"),
    ],
)
def test_rules_that_say_something_else_are_one_sentence_with_the_place(text, place):
    with pytest.raises(GraderError) as raised:
        parsed(text, named, LABS, "term.toml")
    assert place in str(raised.value) and "term.toml" in str(raised.value) and "\n" not in str(raised.value)
