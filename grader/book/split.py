"""Who reads which submission: evenly, the same each time, and without taking away what somebody has begun.

The names of the lab and the student decide in which order submissions are given out, not the time of submission or the alphabet. So nobody reads
all the late ones.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """A submission to give out.

    Attributes:
        page: its id in the gradebook.
        name: what its place in the order is drawn from.
        section: of its student; empty if there is none.
    """

    page: str
    name: str
    section: str = ""


def first_readers(
    items: Sequence[Item],
    kept: Mapping[str, str],
    readers: Collection[str],
    newcomers: Collection[str] = (),
    by_section: bool = False,
    begun: Collection[str] = (),
    second: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Page -> reader, for all items. Numbers of submissions differ by one at most, unless what is kept or begun says otherwise.

    Args:
        kept: page -> reader, as it was given out before. It stays, unless the reader is not among the readers any more.
        newcomers: readers who were not there before: they get some that others have not begun, so that all have as many.
        by_section: a section goes to as few readers as an even split allows.
        begun: pages that stay with their reader in any case.
        second: page -> who reads it a second time, and so cannot be its first reader.
    """
    second = second or {}
    found = {
        item.page: kept[item.page]
        for item in items
        if item.page in kept and (item.page in begun or kept[item.page] in readers)
    }
    ordered = _in_order(items)
    load = _loads(found, readers)
    rest = [item for item in ordered if item.page not in found]
    if by_section:
        _give_sections(found, load, items, rest, second)
    else:
        for item in rest:
            _give(found, load, item, second)
    _even_out(found, load, [item.page for item in ordered if item.page not in begun], newcomers, second)
    return found


def _give_sections(
    found: dict[str, str],
    load: Counter[str],
    items: Sequence[Item],
    rest: Sequence[Item],
    second: Mapping[str, str],
) -> None:
    """Gives the rest out, each section to as few readers as possible, largest sections first."""
    goal = Counter(load)
    for _ in rest:
        goal[_least(goal, goal)] += 1
    sections = {item.page: item.section for item in items}
    known: dict[str, Counter[str]] = defaultdict(Counter)
    for page, reader in found.items():
        known[sections[page]][reader] += 1
    sizes = Counter(item.section for item in rest)
    for item in sorted(rest, key=lambda item: (-sizes[item.section], item.section)):
        fit = [each for each in load if load[each] < goal[each] and each != second.get(item.page)]
        if fit:
            of_section = known[item.section]
            reader = min(fit, key=lambda each: (-of_section[each], load[each] - goal[each], each))
            found[item.page] = reader
            load[reader] += 1
        else:
            _give(found, load, item, second)
        known[item.section][found[item.page]] += 1


def _even_out(
    found: dict[str, str],
    load: Counter[str],
    free: Sequence[str],
    newcomers: Collection[str],
    second: Mapping[str, str],
) -> None:
    """Moves as few of the free pages as possible to newcomers, until they have as many as the others."""
    movable: dict[str, list[str]] = defaultdict(list)
    for page in free:
        if page in found:
            movable[found[page]].append(page)
    while newcomers:
        taker = _least(load, newcomers)
        givers = [each for each in load if any(second.get(page) != taker for page in movable[each])]
        giver = max(givers, key=lambda each: (load[each], each), default=taker)
        if load[giver] <= load[taker] + 1:
            return
        page = next(page for page in reversed(movable[giver]) if second.get(page) != taker)
        movable[giver].remove(page)
        movable[taker].append(page)
        found[page] = taker
        load[giver], load[taker] = load[giver] - 1, load[taker] + 1


def second_readers(
    items: Sequence[Item],
    first: Mapping[str, str],
    kept: Mapping[str, str],
    readers: Collection[str],
    share: float,
    begun: Collection[str] = (),
) -> dict[str, str]:
    """Page -> second reader, for a sample. Of each first reader it has as many, as far as that is possible.

    Args:
        first: page -> first reader. Items without one are left out.
        kept: page -> second reader, as it was given out before.
        share: of the items, from 0 to 1; rounded up.
        begun: pages whose second reading stays where it is, in any case.
    """
    items = [item for item in items if item.page in first]
    found = {
        item.page: kept[item.page]
        for item in items
        if item.page in kept
        and (item.page in begun or (kept[item.page] in readers and kept[item.page] != first[item.page]))
    }
    wanted = math.ceil(share * len(items) - 1e-9)
    ordered = _in_order(items, "second reading")
    for item in reversed(ordered):
        if len(found) <= wanted:
            break
        if item.page in found and item.page not in begun:
            del found[item.page]
    load = _loads(found, readers)
    waiting: dict[str, list[Item]] = defaultdict(list)
    for item in reversed(ordered):  # the next one is the last
        if item.page not in found and any(each != first[item.page] for each in readers):
            waiting[first[item.page]].append(item)
    drawn = Counter(first[page] for page in found)
    while len(found) < wanted and any(waiting.values()):
        whose = min((each for each in waiting if waiting[each]), key=lambda each: (drawn[each], each))
        drawn[whose] += 1
        others = [each for each in load if each > whose] + [each for each in load if each < whose]
        reader = min(others, key=lambda each: load[each])  # in turn, where they have as many
        found[waiting[whose].pop().page] = reader
        load[reader] += 1
    return found


def _in_order(items: Sequence[Item], purpose: str = "") -> list[Item]:
    return sorted(items, key=lambda item: hashlib.sha256(f"{purpose}/{item.name}".encode()).digest())


def _loads(found: Mapping[str, str], readers: Collection[str]) -> Counter[str]:
    counted = Counter(found.values())
    return Counter({reader: counted[reader] for reader in sorted(readers)})


def _least(load: Mapping[str, int], among: Collection[str]) -> str | None:
    return min(among, key=lambda each: (load[each], each), default=None)


def _give(found: dict[str, str], load: Counter[str], item: Item, other: Mapping[str, str]) -> None:
    """Gives an item to the reader who has the fewest, but not to the one who reads it in the other role. With nobody else it stays open."""
    if reader := _least(load, [each for each in load if each != other.get(item.page)]):
        found[item.page] = reader
        load[reader] += 1
