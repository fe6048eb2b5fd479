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

_FITS = 0.6
"""Of a title's words, at least such a share must be in what is said."""

_COMMON = frozenset(
    re.findall(
        r"\w+",
        """
    about after again also another because been before both cannot case cases check does each every everything fail fails
    expected first from gets given have here into just keep keeping last like made make many more most must need
    needs nothing number numbers only other others output outputs over place places result returns right same says
    should some than that their them then there these they thing this those three took used uses using values want
    wanted wants what when where which while whose will with without wrong your
        """,
    )
)
"""Words that two texts may share without being about the same thing."""


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
        " ".join(f"{each.title} {each.hint}" for each in verdict.possible),
        " ".join(each.sentence for each in verdict.symptoms if each.name != "the form is right"),
        " ".join(check.detail for check in failing),
        " ".join(check.title for check in failing) if len(failing) < len(tried) else "",
    ]
    titles = [_words(hint.title) for hint in hints]
    for text in said:
        wanted = _words(text)
        fits = [len(title & wanted) / len(title) if title else 0.0 for title in titles]
        best = max(fits, default=0.0)
        if best >= _FITS and fits.count(best) == 1:
            return fits.index(best)
    return None


def _words(text: str) -> set[str]:
    """What a text is about: its longer words, cut to their first letters so that "masks" and "masked" are one."""
    return {
        word[:4]
        for word in re.findall(r"[a-z]{3,}", text.lower())
        if word not in _COMMON and (len(word) > 3 or word in ("nan", "inf", "sum"))
    }
