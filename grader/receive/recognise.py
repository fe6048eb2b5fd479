"""What a source is taken for before anything is collected: who packed it, whether a folder around everything is a student's, and whether
that is certain. One layout is used for a whole source, because single names are chosen by learners.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote

from grader.errors import GraderError
from grader.files import Unreadable, printable
from grader.people.roster import NotSure, Roster
from grader.receive.layouts import CLASSES, STUDENTS, Layout, Titles, key, layouts, names_of_layouts
from grader.receive.names import NOTEBOOK, Aside, File, is_work, name_reader, plain
from grader.receive.sources import Offer, is_zip, leads_out
from grader.reference.lab import Lab

_LEVELS = 4
"""At most this many folders around everything are looked through."""
_CLASS = re.compile(
    r"labs?\b|lab[\W_]*\d|hw|homework|assign|exercise|week|submi|abgabe|übung|tarea|devoir|class|section|group|gruppe|kurs|course|sheet|blatt",
    re.IGNORECASE,
)
"""How names of assignments and classes begin."""
_ODD = re.compile(
    r"^\d+-\d+ - |\d{4}[-._]\d{2}[-._]\d{2}|\b\d{1,2}[.:]?\d{2} ?[ap]m\b|attempt|versuch|intento|submission[ _-]?\d|assign|\d{5,}[-_ ]+\d{4,}",
    re.IGNORECASE,
)
"""What names of people do not contain, and those that a learning platform makes often do."""


@dataclass(frozen=True)
class Recognised:
    """What a source is taken for.

    Attributes:
        layout: who packed it; None: nobody, but it has a folder or file for each student.
        offers: its files, without what is around all of them.
        doubts: sentences that say why that is not certain; empty if it is.
    """

    layout: Layout | None
    offers: tuple[Offer, ...]
    doubts: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called in a sentence."""
        return self.layout.name if self.layout else "A folder or file for each student"


@dataclass(frozen=True)
class _View:
    """The files of a source without the folders (or the archive) around all of them, whose names are ``around``."""

    around: tuple[str, ...]
    offers: tuple[Offer, ...]


def recognise(lab: Lab, offers: Sequence[Offer], stem: str, roster: Roster, wanted: str = "") -> Recognised:
    """What a source is taken for.

    Args:
        stem: the source's name.
        wanted: the layout that somebody says it has; empty: find out.

    Raises:
        GraderError: there is no layout of that name, or the source does not have it.
    """
    return _Source(lab, offers, stem, roster).taken_for(wanted)


class _Source:
    def __init__(self, lab: Lab, offers: Sequence[Offer], stem: str, roster: Roster) -> None:
        self.lab, self.roster = lab, roster
        self.stem = stem.casefold()
        self.natural = {self.stem, lab.name.casefold()}
        self.views = list(_views(offers))

    def taken_for(self, wanted: str) -> Recognised:
        """See :func:`recognise`."""
        if not wanted:
            return self._by_names() or self._ours()
        known = {key(name): layout for name, layout in layouts().items()}
        if wanted not in names_of_layouts():
            raise GraderError(f"There is no layout {wanted!r}. Layouts: {', '.join(names_of_layouts())}.")
        if wanted == STUDENTS:
            return Recognised(None, self._base().offers)
        if wanted == CLASSES:
            return Recognised(None, _without_top(self._base().offers))
        layout = known[wanted]
        view, share = max(
            ((view, self._share(layout, view)) for view in self.views), key=lambda each: each[1]
        )
        if not share:
            raise GraderError(
                f"Nothing in it has a name like the names that {layout.name} gives files, e.g. {self._example(self.views[0])!r}. Leave --as out to see what it seems to be."
            )
        return Recognised(layout, view.offers)

    # ------------------------------------------------------------------ platforms

    def _by_names(self) -> Recognised | None:
        """What the names say, if they are some platform's."""
        for weak in (False, True):
            for view in self.views:
                shares = {each: self._share(each, view) for each in layouts().values() if each.weak == weak}
                if fitting := [each for each, share in shares.items() if share == 1]:
                    found = self._fitting(view, fitting)
                    if found:
                        return found
        for view in self.views:  # most of it, but not all
            shares = {each: self._share(each, view) for each in layouts().values() if not each.weak}
            best = max(shares, key=shares.__getitem__)
            if 0.5 < shares[best] < 1:
                said = [(offer, best.read(offer.path)) for offer in _telling(view.offers)]
                odd = [offer for offer, each in said if not each]
                tops = sorted({each.title for _, each in said if each and each.title})
                doubt = (
                    f"Most names are as {best.name} gives them, but {len(odd)} of {len(said)} are not, e.g. {odd[0].shown!r}: these would be left aside"
                    if odd
                    else f"The names are as {best.name} gives them, but lie in several folders, as {printable(', '.join(tops))!r}"
                )
                return Recognised(best, view.offers, (doubt, *self._around(view, best)))
        return self._several()

    def _several(self) -> Recognised | None:
        """What lies at the top, if each of it is what a platform has packed: one archive or folder for each section."""
        top = self._base()
        inside = _View(top.around, _without_top(top.offers))
        names = sorted({offer.parts[0] for offer in _telling(top.offers)})
        if len(names) < 2 or inside.offers == top.offers:
            return None
        shares = {
            each: self._share(each, inside) for each in layouts().values() if not (each.weak or each.common)
        }
        best = max(shares, key=shares.__getitem__)
        if shares[best] < 1 or any(self._found(_bare(name, self.lab)) is not None for name in names):
            return None
        doubt = (
            f"Each of {len(names)} folders or archives, e.g. {printable(names[0])!r}, contains names as {best.name} gives them. If these are students, "
            f"add --as {STUDENTS}"
        )
        return Recognised(best, inside.offers, (doubt,))

    def _fitting(self, view: _View, fitting: Sequence[Layout]) -> Recognised | None:
        """The layout among those that fit all names; None if it is rather one of ours."""
        special = [each for each in fitting if each.anonymous] or [
            each for each in fitting if not each.common
        ]
        special = special or list(fitting)
        if len(special) > 1:
            best, *others = special
            either = " or ".join([best.name, *(each.name for each in others)])
            doubt = f"{self._example(view)!r} is a name that either {either} may have given"
            return Recognised(best, view.offers, (doubt,))
        (layout,) = special
        if not (layout.common or layout.weak):
            return Recognised(layout, view.offers, self._around(view, layout))
        here, ours = self._hits(layout, view), self._hits(None, self._base())
        if (
            here > ours
            or (here == ours and here and not layout.weak)
            or (not ours and _named_like(self.lab, layout, view.offers))
        ):
            return Recognised(layout, view.offers, self._around(view, layout))
        if ours or (layout.weak and not _has_title(self.lab, layout, view.offers)):
            return None  # these are names that people give, too
        people = {
            said.login or said.called for offer in _telling(view.offers) if (said := layout.read(offer.path))
        }
        if layout.common and not layout.weak and len(people) > 1:
            return Recognised(layout, view.offers, self._around(view, layout))
        doubt = f"Names like {self._example(view)!r} may be {layout.name}'s, or somebody's own"
        return Recognised(layout, view.offers, (doubt,))

    def _share(self, layout: Layout, view: _View) -> float:
        """How many of the names that tell something a platform may have given."""
        said = [
            (offer, layout.read(offer.path))
            for offer in _telling(view.offers)
            if not layout.is_beside(offer.path)
        ]
        if not said:
            return 0.0
        fits = [each for _, each in said if each]
        titles = Counter(each.title for each in fits)
        if len(titles) > 1:  # a title is the same for all: another one may be what a student's folder holds
            _, count = titles.most_common(1)[0]
            return min(count / len(said), 0.99)
        if layout.between and fits and not layout.dates and not Titles(layout, fits).title:
            return 0.0
        if layout.metadata and not any(
            p.fullmatch(offer.path) for offer in view.offers for p in layout.metadata
        ):
            return 0.0
        return len(fits) / len(said)

    def _around(self, view: _View, layout: Layout) -> tuple[str, ...]:
        """A doubt, if what is around everything may be a student."""
        inside = {said.title for offer in _telling(view.offers) if (said := layout.read(offer.path))} - {""}
        strange = [name for name in (*view.around, *inside) if not self._is_natural(name)]
        if not strange:
            return ()
        if strange[0] in inside and self._found(strange[0]) is None:
            return ()  # the platform itself packs such a folder
        return (
            f"Everything lies in one folder, {printable(strange[0])!r}, with names in it as {layout.name} gives them. If that folder is "
            f"what {layout.name} packed, collect that folder: unpack the zip if it is one, and run grader collect {self.lab.name} "
            f"<path of that folder>, or add --as {quote(key(layout.name))}. If it is one student's, name the notebook in it {self.lab.notebook_name}",
        )

    # ------------------------------------------------------------------ our own

    def _ours(self) -> Recognised:
        view = self._base()
        sure, doubt = self._is_class(view)
        if sure or doubt:
            inside = _without_top(view.offers)
            return Recognised(None, inside, (doubt,) if doubt else self._odd(_View((), inside)))
        return Recognised(None, view.offers, self._odd(view))

    def _base(self) -> _View:
        """Without the folders that packing puts around everything."""
        base = self.views[0]
        for view in self.views[1:]:
            if not all(map(self._is_natural, view.around)):
                break
            base = view
        return base

    def _is_class(self, view: _View) -> tuple[bool, str]:
        """Whether the folders at the top are a class's or its sections', and not students'; and a doubt about that."""
        inside: dict[str, set[str]] = {}
        for offer in view.offers:
            if is_work(offer):
                top = offer.parts[0] if len(offer.parts) > 1 else ""
                inside.setdefault(top, set()).add(offer.parts[1] if len(offer.parts) > 1 else "")
        tops = [top for top in inside if top]
        if not tops or "" in inside or self.lab.name in tops:
            return False, ""
        below = [name for top in tops for name in inside[top]]
        if any(
            self._is_ours(name) for name in below
        ):  # a lab's folder, or its notebook: so the folder above is a student's
            return False, ""
        if self.roster.people:
            if any(self._found(top) is not None for top in tops):
                return False, ""
            here = sum(self._found(_bare(name, self.lab)) is not None for name in below)
            if here > 1 and 2 * here > len(below):  # one name alone, a learner may have given
                return True, ""
        deep = all(len(offer.parts) > 2 for offer in view.offers if is_work(offer))
        if all(len(inside[top]) > 1 for top in tops) or (deep and all(map(_CLASS.match, tops))):
            one = f"Everything lies in one folder, {printable(tops[0])!r}, with {len(below)} folder{'s' * (len(below) > 1)} or notebook{'s' * (len(below) > 1)} in it"
            many = f"There are {len(tops)} folders, e.g. {printable(tops[0])!r}, each with folders or notebooks in it"
            doubt = f"{one if len(tops) == 1 else many}. If these are students, add --as {CLASSES}; if {printable(tops[0])!r} is a student, add --as {STUDENTS}"
            return False, doubt
        return False, ""

    def _is_ours(self, name: str) -> bool:
        notebook = NOTEBOOK.fullmatch(name)
        return name in self.lab.course.labs() or bool(notebook and plain(notebook["stem"]) == self.lab.slug)

    def _odd(self, view: _View) -> tuple[str, ...]:
        """A doubt, if the names are not those of people."""
        names = {_bare(offer.parts[0], self.lab) for offer in _telling(view.offers)}
        names -= {*self.lab.course.labs()}
        if any(self._found(name) is not None for name in names):
            return ()
        strange = sorted(name for name in names if _ODD.search(name))
        if len(strange) > 1 and 2 * len(strange) > len(names):
            return (
                f"The names look as a learning platform gives them, but of none that is known here, e.g. {printable(strange[0])!r}",
            )
        return ()

    # ------------------------------------------------------------------ what is known

    def _is_natural(self, name: str) -> bool:
        """Whether packing or downloading the source gives a folder this name: the source's, or what that begins with, as in
        ``Lab 02-20261010T120000Z-001.zip`` and ``Lab 02 (1).zip``.
        """
        bare = name.casefold().removesuffix(".zip")
        longer = re.match(rf"{re.escape(bare)}[-_ (]+(?:\d|final|copy)", self.stem)
        return bare in self.natural or longer is not None

    def _found(self, name: str) -> object | None:
        try:
            return self.roster.find(name, name)
        except NotSure as error:
            return error

    def _hits(self, layout: Layout | None, view: _View) -> int:
        """How many people on the roster are found in a view."""
        if not self.roster.people:
            return 0
        found = set()
        reader = name_reader(self.lab, view.offers, layout, self.roster)
        for file in _read(reader, _telling(view.offers)):
            try:
                if person := self.roster.find(file.login, file.called, file.canvas):
                    found.add(person.student)
            except NotSure as error:
                found.add(error.args[0][0].student)
        return len(found)

    def _example(self, view: _View) -> str:
        return next(iter(_telling(view.offers)), view.offers[0]).shown


def _views(offers: Sequence[Offer]) -> Iterable[_View]:
    """A source as it is, and without one, two, … of the folders around everything."""
    view = _View((), tuple(offers))
    yield view
    for _ in range(_LEVELS):
        here = [offer for offer in view.offers if not leads_out(offer.parts[0])]
        tops = {offer.parts[0] if len(offer.parts) > 1 or offer.inside else "" for offer in here}
        if len(tops) != 1 or tops == {""} or len(here) < len(view.offers):
            return
        (top,) = tops
        view = _View((*view.around, top), _without_top(view.offers))
        yield view


def _without_top(offers: Iterable[Offer]) -> tuple[Offer, ...]:
    """The same without the folder, or the archive, at the top; what lies beside folders stays."""
    return tuple(
        replace(offer, parts=offer.parts[1:])
        if len(offer.parts) > 1
        else replace(offer, parts=offer.inside, inside=())
        if offer.inside
        else offer
        for offer in offers
    )


def _telling(offers: Sequence[Offer]) -> list[Offer]:
    """The files whose names tell who packed a source: one for each entry at the top with something handed in; if there are none, all."""
    inside = [offer for offer in offers if not leads_out(offer.parts[0])]
    return [offer for offer in inside if is_work(offer)] or inside


def _named_like(lab: Lab, layout: Layout, offers: Sequence[Offer]) -> bool:
    """Whether what follows a name of a weak layout is always the lab's notebook: no name of a person ends so by chance."""
    if not layout.weak or layout.between:
        return False
    files = [said.file for offer in _telling(offers) if (said := layout.read(offer.path))]
    stems = [NOTEBOOK.fullmatch(file) for file in files]
    return bool(stems) and all(each and plain(each["stem"]) == lab.slug for each in stems)


def _has_title(lab: Lab, layout: Layout, offers: Sequence[Offer]) -> bool:
    """Whether what all names begin with may be an assignment's: it has a number, or a word of the lab's name."""
    said = [each for offer in _telling(offers) if (each := layout.read(offer.path))]
    titles = Titles(layout, said)
    words = {word for word in re.split(r"\W|_", titles.title.lower()) if word}
    like_a_lab = any(word.isdigit() for word in words) or bool(words & {*lab.slug.split("_")})
    return like_a_lab and not all(titles.login(each.who).isdigit() for each in said)


def _bare(name: str, lab: Lab) -> str:
    """What is left of an entry's name as the name of a person."""
    if is_zip(name):
        name = name[: -len(".zip")]
    elif notebook := NOTEBOOK.fullmatch(name):
        name = notebook["stem"]
    return re.sub(rf"[_ -]{re.escape(lab.slug)}\Z", "", name, flags=re.IGNORECASE)


def _read(reader: Callable[[Offer], list[File]], offers: Iterable[Offer]) -> Iterable[File]:
    for offer in offers:
        try:
            yield from reader(offer)
        except (Unreadable, Aside):
            continue


def see_that_it_was_handed_in(lab: Lab, source: Path, offers: Iterable[Offer]) -> None:
    """
    Raises:
        GraderError: it is what learners get, and nothing in it says whose it would be.
    """
    paths = {offer.parts for offer in offers if not offer.inside}
    for name in lab.course.labs():
        inside = ("notebooks", name, "lab.json")
        if inside in paths or (Lab(lab.course, name).handed_out_as, *inside) in paths:
            raise GraderError(
                f"{source} is what learners get for {name}, and nothing in it says whose it is, so nothing was collected. If it is somebody's "
                "work, name it <student>.zip, put it into a folder, and collect that folder."
            )


# ---------------------------------------------------------------------------------- what it says first


def nobody_known(files: Sequence[File], roster: Roster) -> tuple[str, ...]:
    """A doubt, if there is a roster and nobody in a source is on it."""
    people = sorted({file.student for file in files})
    if not roster.people or not people or any(file.listed for file in files):
        return ()
    named = ", ".join(people[:3]) + (", …" if len(people) > 3 else "")
    return (f"Nobody in it is on the roster ({printable(named)})",)


def sentence(
    taken: Recognised, files: Sequence[File], strangers: int, roster: bool, aside: Sequence[str]
) -> str:
    """What is said before anything is collected: what the source is taken for, how many people, and what is remarkable.

    Args:
        strangers: how many are not on the roster.
        roster: whether there is one.
        aside: names of files that are nobody's work.
    """
    attempts: dict[str, set] = {}
    for file in files:
        attempts.setdefault(file.student, set()).add((file.attempt, file.unclear))
    several = Counter(len(each) for each in attempts.values() if len(each) > 1)
    people = len(attempts)
    parts = [f"{taken.name}, {people} {'person' if people == 1 else 'people'}"]
    if several:
        most = " or ".join(map(str, sorted(several)))
        parts[0] += (
            f", {sum(several.values())} with {most.replace('2', 'two') if most == '2' else most} attempts: the later one counts"
        )
    late = {file.student for file in files if file.late}
    if late:
        parts.append(f"{len(late)} marked as late")
    if roster:
        parts.append(f"{strangers} not on the roster" if strangers else "all on the roster")
    if aside:
        named = ", ".join(aside[:3]) + (", …" if len(aside) > 3 else "")
        parts.append(
            f"{len(aside)} other file{'s are' if len(aside) > 1 else ' is'} not work for this lab ({named})"
        )
    local = {file.student for file in files if file.local and " " not in file.local}
    times = (
        f" The names say when {len(local)} {'person' if len(local) == 1 else 'people'} handed in, but not in which time zone, so no times are "
        "entered. To enter them, collect again with your site's zone, for example --zone Europe/Berlin."
        if local
        else ""
    )
    return f"{'; '.join(parts)}.{times}"
