"""Submissions are given out evenly, the same each time, and what somebody has begun stays."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from grader.book.split import Item, first_readers, second_readers

NAMES = ("ana", "ben", "cem", "dia", "eva", "fay")
READERS = st.sets(st.sampled_from(NAMES), min_size=1)
SECTIONS = st.lists(st.sampled_from(["", "Mon", "Tue", "Wed"]), max_size=60)


def items_of(sections: list[str], start: int = 0) -> list[Item]:
    return [Item(f"page{n}", f"lab/s{n}", section) for n, section in enumerate(sections, start)]


def spread(found: dict[str, str], readers: set[str]) -> int:
    counted = Counter(found.values())
    loads = [counted[reader] for reader in readers]
    return max(loads) - min(loads)


@given(SECTIONS, READERS, st.booleans(), st.randoms())
def test_a_split_is_even_and_does_not_depend_on_any_order(sections, readers, by_section, chance):
    items = items_of(sections)
    found = first_readers(items, {}, sorted(readers), by_section=by_section)
    assert found.keys() == {item.page for item in items}
    assert spread(found, readers) <= 1
    shuffled, names = list(items), list(readers)
    chance.shuffle(shuffled)
    chance.shuffle(names)
    assert first_readers(shuffled, {}, names, by_section=by_section) == found


@given(SECTIONS, SECTIONS, READERS, st.booleans())
def test_later_submissions_move_none_of_the_earlier_ones(early, late, readers, by_section):
    items = items_of(early)
    before = first_readers(items, {}, readers, by_section=by_section)
    after = first_readers(
        items + items_of(late, len(early)), before, readers, by_section=by_section, begun=set(before)
    )
    assert before.items() <= after.items()
    assert first_readers(items, before, readers, by_section=by_section) == before
    assert len(after) == len(early) + len(late) and spread(after, readers) <= 1


@given(SECTIONS, READERS, READERS, st.booleans(), st.data())
def test_readers_come_and_go_and_what_is_begun_stays(sections, readers, later, by_section, data):
    items = items_of(sections)
    before = first_readers(items, {}, readers, by_section=by_section)
    begun = data.draw(st.sets(st.sampled_from(sorted(before)))) if before else set()
    new = later - readers
    after = first_readers(items, before, later, new, by_section, begun)
    assert after.keys() == before.keys()
    for page, reader in after.items():
        assert reader in later or page in begun
        assert page not in begun or reader == before[page]
        assert reader == before[page] or before[page] not in later or reader in new
    if not begun:
        assert spread(after, later) <= 1


def test_as_few_move_to_a_new_reader_as_possible():
    items = items_of([""] * 30)
    before = first_readers(items, {}, ["ana", "ben"])
    after = first_readers(items, before, ["ana", "ben", "cem"], ["cem"])
    assert Counter(after.values()) == {"ana": 10, "ben": 10, "cem": 10}
    assert sum(before[page] != reader for page, reader in after.items()) == 10


def test_a_section_has_one_reader_where_sections_are_as_large_as_shares():
    items = items_of(["Mon", "Tue", "Wed"] * 20)
    found = first_readers(items, {}, ["ana", "ben", "cem"], by_section=True)
    assert all(
        len({found[item.page] for item in items if item.section == day}) == 1 for day in ("Mon", "Tue", "Wed")
    )
    mixed = first_readers(items, {}, ["ana", "ben", "cem"])
    assert any(
        len({mixed[item.page] for item in items if item.section == day}) > 1 for day in ("Mon", "Tue", "Wed")
    )


@given(SECTIONS, st.sets(st.sampled_from(NAMES), min_size=2), st.floats(0, 1), st.floats(0, 1), st.data())
def test_a_sample_has_the_size_asked_for_and_grows_without_changing(sections, readers, one, two, data):
    items = items_of(sections)
    first = first_readers(items, {}, readers)
    share, more = sorted((one, two))
    sample = second_readers(items, first, {}, readers, share)
    assert len(sample) - share * len(items) < 1 and len(sample) >= share * len(items) - 1e-6
    assert all(reader != first[page] for page, reader in sample.items())
    assert second_readers(items, first, {}, readers, share) == sample
    assert sample.items() <= second_readers(items, first, sample, readers, more).items()
    begun = data.draw(st.sets(st.sampled_from(sorted(sample)))) if sample else set()
    assert second_readers(items, first, sample, readers, 0, begun).keys() == begun
    of_first = Counter(first[page] for page in sample)
    assert max(of_first.values(), default=0) - min((of_first[each] for each in readers), default=0) <= 2


@given(SECTIONS, st.sets(st.sampled_from(NAMES), min_size=2), st.sets(st.sampled_from(NAMES), min_size=2))
def test_nobody_reads_twice_when_readers_change(sections, readers, later):
    items = items_of(sections)
    first = first_readers(items, {}, readers)
    second = second_readers(items, first, {}, readers, 0.5)
    moved = first_readers(items, first, later, later - readers, second=second)
    again = second_readers(items, moved, second, later, 0.5)
    assert moved.keys() == first.keys() and set(moved.values()) | set(again.values()) <= later
    assert all(moved[page] != reader for page, reader in again.items())
    assert len(again) == len(second)


def test_seconds_are_spread_over_the_readers():
    items = items_of([""] * 300)
    first = first_readers(items, {}, NAMES[:5])
    second = second_readers(items, first, {}, NAMES[:5], 0.1)
    assert len(second) == 30 and set(Counter(second.values()).values()) == {6}
    assert set(Counter(first[page] for page in second).values()) == {6}
