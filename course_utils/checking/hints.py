"""Which hints of an exercise a learner sees, and which of them is open: the one that belongs to what went wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence

from course_utils.checking.comparison import Verdict
from course_utils.checking.expected import Hint

_WHOLE_WAY = re.compile(r"\bin words\b|\ball the steps\b|\bstep by step\b|\bthe whole way\b", re.IGNORECASE)
"""In the title of a hint that goes the whole way. It opens later than the others."""

_LATER = 3
"""The attempt at which the first of these opens; another one opens with each further attempt."""

_FITS = 0.7
"""Of a title's words, at least such a share must be in what is said."""

_SAYS_LITTLE = frozenset(
    re.findall(
        r"\w+",
        """
    about again all also and another any are because been both but can cannot case cases check does each every everything
    expected fail fails for from get gets getting given had has have here how into its just keep keeping like made make
    need needs new not nothing one only result results returns said says should some than that the their them then there
    these they thing this those took used uses using values want wanted wants was what when where which while who whose
    why will with you your
        """,
    )
)
"""Words that two texts may share without being about the same thing."""

_NOT_MEANT = re.compile(
    r"“[^”]*”"  # the title of a case, which may be one that is right
    r"|\([^()]*, line \d+ of its cell: .*"
    r"|\bnothing\b[^.;:]*"
    r"|\b(?:no|without)\s+\w+"
    r"|(?:`[^`]*`(?:, | and )?)+ (?:is|are) right\b"
)
"""What a text names without saying that something is wrong with it."""

_OF_NO_HELP = ("the form is right", "weights")
"""Symptoms whose sentences name many things, of which only one is meant."""


def shown(hints: Sequence[Hint], attempts: int, solved: bool, verdict: Verdict) -> str:
    """The hints as Markdown, each folded but the one that belongs to the verdict, which comes first and is open.

    Before the first attempt there is one hint. After it there are all, except for those that go the whole way.
    """
    numbered = list(enumerate(hints, 1))
    whole_way = [each for each in numbered if _WHOLE_WAY.search(each[1].title)]
    waiting = [] if solved else whole_way[max(0, attempts - _LATER + 1) :]
    visible = [each for each in numbered if each not in waiting]
    if not attempts and not solved:
        visible, waiting = numbered[:1], []
    found = fitting([hint for _, hint in visible], verdict) if attempts else None
    if found is not None:
        visible.insert(0, visible.pop(found))
    parts = []
    for place, (number, hint) in enumerate(visible):
        title = f"Hint {number} of {len(hints)}{hint.title and ': '}{hint.title}"
        state = " open" if found is not None and not place else ""
        parts.append(f"<details{state}><summary>{title}</summary>\n\n{hint.text}\n\n</details>")
    if not attempts and not solved and len(hints) > 1:
        parts.append("More hints open when you have tried.")
    if waiting:
        parts.append(f"Hint {waiting[0][0]} opens when you have tried {max(_LATER, attempts + 1)} times.")
    return "\n\n".join(parts)


def fitting(hints: Sequence[Hint], verdict: Verdict) -> int | None:
    """The place of the hint whose title says what the report says: of a possible cause, a symptom, or the cases that fail beside
    others that do not. None if none stands out, or if the mistake is known for certain: then the report says what helps.
    """
    if verdict.recognised:
        return None
    tried = [check for check in verdict.checks if check.case is not None]
    failing = [check for check in tried if not check.passed]
    said = [
        _words(text)
        for text in (
            " ".join(f"{each.title} {each.hint}" for each in verdict.possible),
            " ".join(each.sentence for each in verdict.symptoms if each.name not in _OF_NO_HELP),
            " ".join(check.detail for check in failing),
        )
    ]
    said.append(
        said[-1] | _only_in([each.title for each in failing], [each.title for each in tried if each.passed])
    )
    titles = [_words(_complaint(hint.title)) for hint in hints]
    for wanted in said:
        # of two whose words are all there, the one with more of them is meant
        fits = [(len(title & wanted) / len(title), len(title)) if title else (0.0, 0) for title in titles]
        best = max(fits, default=(0.0, 0))
        if best[0] >= _FITS and fits.count(best) == 1:
            return fits.index(best)
    return None


def _only_in(failing: Sequence[str], passing: Sequence[str]) -> set[str]:
    """What all cases that fail are about, and no case that passes; nothing if none does."""
    if not failing or not passing:
        return set()
    return set.intersection(*map(_words, failing)).difference(*map(_words, passing))


def _complaint(title: str) -> str:
    """Of a title such as "right without masks, wrong with them", what is wrong."""
    if re.search(r"\bright\b.*\bwrong\b.*\b(?:it|them)$", title):
        return re.sub(r"\b(?:right|without|wrong)\b", "", title)
    parts = re.split(r", (?:and |but )?", title)
    return " ".join(part for part in parts if not re.search(r"\bright\b", part)) or title


def _words(text: str) -> set[str]:
    """What a text says of something: its words, cut to their first letters so that "masks" and "masked" are one."""
    meant = _NOT_MEANT.sub(" ", text).lower().replace("too many", "too long").replace("axes", "axis")
    return {word.rstrip("s")[:4] for word in re.findall(r"[a-z]{3,}", meant) if word not in _SAYS_LITTLE}
