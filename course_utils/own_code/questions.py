"""Questions about a definition, made of what its changes do (:mod:`course_utils.own_code.trials`). No answer is written by hand.

The options of a question are of one form, so that none gives itself away, and exactly one of them is right at every seed that was tried.
"""

from __future__ import annotations

import ast
import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils.checking.exercise import Exercise, Inputs
from course_utils.own_code.calls import Call, try_calls
from course_utils.own_code.changes import Change, changes, lines_shown
from course_utils.own_code.trials import (
    ERROR,
    MIXED,
    SAME,
    SHAPE,
    VALUES,
    Effect,
    Trial,
    Tried,
    is_called_plainly,
    try_changes,
)
from course_utils.quiz import Option, Question

EASY, MIDDLE, HARD = 1, 2, 3
_IN_SIGHT = {"negation", "number", "comparison", "part left out", "step left out", "sign", "related function"}
"""Kinds of changes after which nobody expects an error or another shape, so that "other values" goes without saying."""
_LONGEST = 110
"""Characters of an option."""
_BY_HEART = 40
"""The largest size that a reader may have to work out."""
_FEW = 8
"""Numbers of an array that are shown one by one."""
_ON_CONDITION = re.compile(r"\b(unless|once|as long as|as often|whatever|without|undone)\b", re.IGNORECASE)
"""Words of a sentence that speaks of some cases only, or of something that is not returned: what becomes of it can be argued about."""


@dataclass(frozen=True)
class Asked:
    """A question about one's own code.

    Attributes:
        kind: what is asked for; questions of one kind have the same words.
        difficulty: ``EASY`` to ``HARD``: an easy one can be read off one line, a hard one takes the right input in mind.
        lines: numbers of the lines that it is about.
    """

    exercise: str
    kind: str
    difficulty: int
    question: Question
    lines: tuple[int, ...]


def ask_about(
    exercise: Exercise,
    key: str,
    source: str,
    namespace: Mapping[str, Any],
    until: float,
    chance: random.Random,
) -> list[Asked]:
    """All questions that can be asked about a definition; none if nothing useful is found in it.

    Args:
        source: from :func:`course_utils.own_code.changes.definition_of`.
        until: when to stop, as :func:`time.process_time` counts.
        chance: decides which of the questions that are alike is asked, and the order of options.
    """
    found = [each for each in changes(source) if _can_be_quoted(each.old) and _can_be_quoted(each.new)]
    tried = try_changes(exercise, key, source, found, namespace, until) if found else None
    if tried is None:
        return []
    kinds = (_breaks, _leaves, *((_happens, _inputs, _changes_that, _shape) if _is_seen(exercise) else ()))
    asked = [each for kind in kinds for each in kind(tried, chance)]
    asked += _returns(tried, try_calls(exercise, key, source, found, namespace, until), chance)
    chance.shuffle(asked)
    return asked


def _can_be_quoted(line: str) -> bool:
    """Whether a line is short enough, and can be read without those before and after it."""
    opened = [line.count(bracket) for bracket in "([{"]
    return len(line) <= _LONGEST and "`" not in line and opened == [line.count(each) for each in ")]}"]


def chosen(asked: Sequence[Asked], count: int) -> list[Asked]:
    """A choice from easy to hard that differs in exercise, kind and line as far as it can."""
    left, taken = list(asked), []
    while left and len(taken) < count:

        def cost(each: Asked) -> tuple:
            return (
                sum(
                    each.exercise == other.exercise and set(each.lines) == set(other.lines) for other in taken
                ),
                sum(each.kind == other.kind for other in taken),
                sum(each.exercise == other.exercise for other in taken),
                sum(each.difficulty == other.difficulty for other in taken),
            )

        best = min(left, key=cost)
        taken.append(best)
        left = [each for each in left if each is not best and not _gives_away(each, best)]
    return sorted(taken, key=lambda each: each.difficulty)


def _gives_away(one: Asked, other: Asked) -> bool:
    """Whether two questions have the same answers to choose from, or one of them has the answer to the other among these."""
    if (one.exercise, one.kind) != (other.exercise, other.kind):
        return False
    if one.kind == "returns" and not (one.lines and other.lines):
        return _call_in(one) == _call_in(other)
    return one.question.text == other.question.text or (one.kind == "inputs" and _texts(one) == _texts(other))


def _call_in(asked: Asked) -> str:
    return asked.question.text.rsplit("`", 2)[1]


def _texts(asked: Asked) -> set[str]:
    return {option.text for option in asked.question.options}


# ---------------------------------------------------------------------------------- the kinds


def _inputs(tried: Tried, chance: random.Random) -> Iterator[Asked]:
    """For which input would the result be different, or of another shape, or the same?"""
    texts = [
        node.value
        for node in ast.walk(ast.parse(tried.source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > 2
    ]
    one = len(tried.exercise.returns) == 1
    a_result, all_of_it = ("the result", "the result") if one else ("a result", "all results")
    for trial in tried.trials:
        titles = [
            title
            for title, effect in trial.effects.items()
            if len(title) <= _LONGEST
            and effect.kind != MIXED
            and not _is_opaque(tried, title)
            and not _leans_on_another(title)
            and title not in tried.several  # a title that speaks of several is hard to choose
        ]
        for wanted, words, difficulty in (
            ({VALUES, SHAPE}, f"For which of these inputs would {a_result} be different?", HARD),
            ({SHAPE}, f"For which of these inputs would {a_result} have another shape?", MIDDLE),
            ({ERROR}, "For which of these inputs would it raise an error?", MIDDLE),
            ({SAME}, f"For which of these inputs would {all_of_it} still be the same?", HARD),
        ):
            right = [title for title in titles if trial.effects[title].kind in wanted]
            wrong = [title for title in titles if trial.effects[title].kind not in wanted]
            if wanted == {VALUES, SHAPE}:  # whether an error is a different result could be argued about
                wrong = [title for title in wrong if trial.effects[title].kind == SAME]
            wrong = [title for title in wrong if _can_be_told(tried, title, trial.effects[title])]
            if len(right) != 1 or len(wrong) < 2:
                continue
            if not _can_be_told(tried, right[0], trial.effects[right[0]]):
                continue
            if any(text in right[0] for text in texts):  # the branch of that name: nothing to think about
                continue
            offered = right + chance.sample(wrong, min(3, len(wrong)))
            sized = any(
                trial.effects[title].kind in (SHAPE, ERROR) or title in tried.fixed for title in offered
            )
            options = [
                Option(
                    f"{title}{_sizes(tried, title) or '' if sized else ''}",
                    title in right,
                    _what(trial.effects[title]),
                )
                for title in offered
            ]
            yield _asked(
                tried, "inputs", difficulty, [trial.change], f"{_if(trial.change)} {words}", options, chance
            )


def _happens(tried: Tried, chance: random.Random) -> Iterator[Asked]:
    """What happens to what is returned? No answer is right more often than all others together, as far as there are others."""
    if len(tried.exercise.returns) > 2:
        return
    two = len(tried.exercise.returns) == 2
    found: dict[str, list[tuple[Trial, str, Sequence[str], str]]] = {}
    for trial in chance.sample(tried.trials, len(tried.trials)):
        possible = [
            (title, effect, *answered)
            for title, effect in trial.effects.items()
            if _says_enough(tried, trial, title, effect)
            and (answered := _of_two(tried, effect) if two else _of_one(tried, title, effect))
        ]
        if possible:
            title, effect, right, answers = min(
                chance.sample(possible, len(possible)), key=lambda each: len(found.get(each[2], ()))
            )
            found.setdefault(right, []).append((trial, title, answers, _what(effect)))
    counts = sorted(map(len, found.values()))
    most = max(1, sum(counts[:-1]))
    for right, several in found.items():
        for trial, title, answers, why in several[:most]:
            options = [Option(text, text == right, why) for text in answers]
            words = (
                f"{_if(trial.change)} What would happen with {_input(tried, title)}{_sizes(tried, title)}?"
            )
            difficulty = EASY if right in (_ERROR, _SHAPE) else HARD if right == _SAME else MIDDLE
            yield _asked(tried, "happens", difficulty, [trial.change], words, options, chance)


_ERROR, _SHAPE = "It raises an error.", "The result has another shape."
_SAME, _VALUES = "Nothing changes.", "The result has other values and the same shape."


def _says_enough(tried: Tried, trial: Trial, title: str, effect: Effect) -> bool:
    """Whether a reader can tell what happens with an input, and has to think about it."""
    return (
        effect.kind != MIXED
        and len(title) <= _LONGEST
        and _sizes(tried, title) is not None
        and not _leans_on_another(title)
        and not (effect.kind == SAME and _is_opaque(tried, title))
        and not (
            effect.kind == VALUES and trial.change.kind in _IN_SIGHT and len(tried.exercise.returns) != 2
        )
    )


def _of_two(tried: Tried, effect: Effect) -> tuple[str, Sequence[str]] | None:
    """The right answer and all answers where two values come back."""
    a, b = tried.exercise.returns
    only_a, only_b, both = (
        f"`{a}` changes, `{b}` does not.",
        f"`{b}` changes, `{a}` does not.",
        f"`{a}` and `{b}` change.",
    )
    if effect.kind == SAME:
        return None
    right = {(a,): only_a, (b,): only_b, (a, b): both, (): _ERROR}[effect.names]
    return right, (only_a, only_b, both, _ERROR)


def _of_one(tried: Tried, title: str, effect: Effect) -> tuple[str, Sequence[str]] | None:
    """The right answer and all answers where one value comes back."""
    answers = {VALUES: _VALUES, SHAPE: _SHAPE, ERROR: _ERROR, SAME: _SAME}
    if _is_one_number(tried, title):  # it has no shape to speak of
        answers = {VALUES: "Another number comes back.", ERROR: _ERROR, SAME: _SAME}
    return (answers[effect.kind], tuple(answers.values())) if effect.kind in answers else None


def _breaks(tried: Tried, chance: random.Random) -> Iterator[Asked]:
    """After which change is a sentence no longer true?"""
    for title in dict.fromkeys(title for trial in tried.trials for title in trial.broken):
        if _ON_CONDITION.search(title):
            continue
        right = [trial for trial in tried.trials if title in trial.broken]
        wrong = [trial for trial in tried.trials if title in trial.kept]
        yield from _one_of(
            tried, "breaks", MIDDLE, right, wrong, chance,
            f"This is true of your code: “{title}” After which of these changes would it no longer be true?",
            lambda trial, title=title: trial.broken.get(title) or "It would still be true, although the result changes.",
        )  # fmt: skip


def _changes_that(tried: Tried, chance: random.Random) -> Iterator[Asked]:
    """Which change makes no difference, raises an error, or gives another shape?"""
    for case in tried.cases:
        title = case.title
        there = [trial for trial in tried.trials if title in trial.effects]
        sizes = _sizes(tried, title)
        if len(title) > _LONGEST or len(there) < 3 or sizes is None or _leans_on_another(title):
            continue
        for kind, words, difficulty in (
            (SAME, "would make no difference", HARD),
            (ERROR, "would raise an error", EASY),
            (
                SHAPE,
                f"would change the shape of {'the' if len(tried.exercise.returns) == 1 else 'a'} result",
                EASY,
            ),
        ):
            if kind == SAME and _is_opaque(tried, title):
                continue
            right = [trial for trial in there if trial.effects[title].kind == kind]
            wrong = [trial for trial in there if trial.effects[title].kind == VALUES]
            if kind != SAME:
                wrong = [trial for trial in wrong if trial.change.kind not in _IN_SIGHT]
            yield from _one_of(
                tried, f"changes:{kind}", difficulty, right, wrong, chance,
                f"Take {_input(tried, title)}{sizes}. Which of these changes {words}?",
                lambda trial, title=title: _what(trial.effects[title]),
            )  # fmt: skip


def _leaves(tried: Tried, chance: random.Random) -> Iterator[Asked]:
    """Which change leaves one of several results alone, whatever the input?"""
    written = {node.id for node in ast.walk(ast.parse(tried.source)) if isinstance(node, ast.Name)}
    known = [name for name in tried.exercise.returns if name in written]  # else a check's name for it
    touched = {
        trial.change: {name for each in trial.effects.values() for name in each.names}
        for trial in tried.trials
        if len(trial.effects) == len(tried.cases)
        and all(each.kind != ERROR for each in trial.effects.values())
    }
    for name in known if len(tried.exercise.returns) > 1 else ():
        # a line that speaks of it gives the answer away
        others = [each for each in tried.trials if not re.search(rf"\b{name}\b", each.change.old)]
        right = [each for each in others if name not in touched.get(each.change, {name})]
        wrong = [each for each in others if name in touched.get(each.change, ())]

        def why(trial: Trial, name: str = name) -> str:
            if name not in touched[trial.change]:
                return f"`{name}` stays the same. {_listed(touched[trial.change])} would change."
            title = next(title for title, each in trial.effects.items() if name in each.names)
            return f"`{name}` would change, for instance with {_input(tried, title)}."

        yield from _one_of(
            tried, "leaves", HARD, right, wrong, chance,
            f"Your code returns `{name}`, among other things. Which of these changes would leave `{name}` as it is, for every input?",
            why,
        )  # fmt: skip


def _shape(tried: Tried, chance: random.Random) -> Iterator[Asked]:
    """What does ``print(result.shape)`` show, as the code is, or with a change?"""
    for title, (inputs, came) in tried.shapes.items() if is_called_plainly(tried.exercise) else ():
        if not (described := _described(inputs, title in tried.fixed)):
            continue
        given = [value.shape for value in inputs.values() if isinstance(value, np.ndarray)]
        call = f"You call `{tried.exercise.name}` with {described}."
        for name, shape in came.items():
            others = [trial.shapes[title][name] for trial in tried.trials if title in trial.shapes]
            near = _likely(shape, [*others, *came.values()], given)
            if shape not in given and len(set(shape)) > 1 and len(near) == 3 and not _is_sum(shape, inputs):
                why = f"`{name}` has the shape `{shape}`."
                options = [Option(f"`{each}`", each is shape, why) for each in (shape, *near)]
                words = f"{call} What does `print({name}.shape)` print for the `{name}` that it returns?"
                yield _asked(tried, "shape", EASY, [], words, options, chance)
            same = [
                trial
                for trial in tried.trials
                if title in trial.effects
                and trial.effects[title].kind in (SAME, VALUES)
                and trial.change.kind not in _IN_SIGHT
            ]
            other = [trial for trial in tried.trials if title in trial.shapes]
            for trial in [*other, *chance.sample(same, min(2, len(same)))]:
                new = trial.shapes.get(title, came)[name]
                near = _likely(new, others, given, [shape] * (new != shape))
                if new in given or len(set(new)) < 2 or len(near) < 3 or _is_sum(new, inputs):
                    continue
                without = f", and `{shape}` without it" if new != shape else ", as without it"
                why = f"`{name}` has the shape `{new}` with the change{without}."
                options = [Option(f"`{each}`", each is new, why) for each in (new, *near)]
                words = f"{_if(trial.change)} {call} What would `print({name}.shape)` print for the `{name}` that it returns?"
                yield _asked(tried, "shape", MIDDLE, [trial.change], words, options, chance)


def _returns(tried: Tried, calls: Sequence[Call], chance: random.Random) -> Iterator[Asked]:
    """What does a call return, as the code is, or with a change? The other options are what it returns with other changes."""
    for call in calls:
        by_result = {text: change for change, text in call.changed.items() if text != call.own}

        def why(
            text: str, right: str, changed: bool, own: str = call.own, by_result: Mapping = by_result
        ) -> str:
            if text == right == own:
                return f"It was run: this is what comes back{', the same as without the change' if changed else ''}."
            if text == right:
                return f"The changed code was run. As your code is now, it returns `{own}`."
            if text == own:
                return "That is what your code returns as it is now."
            return f"That is what it would return {_on_condition(by_result[text])}."

        for change in [None, *call.changed]:
            right = call.changed[change] if change else call.own
            others = [text for text in by_result if text != right]
            if call.is_plain and not change:
                continue
            asks_for_another = change and right != call.own
            others = chance.sample(others, min(2 if asks_for_another else 3, len(others)))
            others += [call.own] * bool(asks_for_another)
            if len(others) < 2:
                continue
            options = [
                Option(f"`{text}`", text == right, why(text, right, change is not None))
                for text in (right, *others)
            ]
            words = f"{_if(change)} What would" if change else "What does"
            yield _asked(
                tried, "returns", MIDDLE if change else EASY, [change] if change else [],
                f"{words} `{call.text}` return?", options, chance,
            )  # fmt: skip


# ---------------------------------------------------------------------------------- parts


def _one_of(
    tried: Tried,
    kind: str,
    difficulty: int,
    right: Sequence[Trial],
    wrong: Sequence[Trial],
    chance: random.Random,
    words: str,
    why: Any,
) -> Iterator[Asked]:
    """A question whose options are changes, of different lines as far as there are any."""
    if not right or len(wrong) < 2:
        return
    taken = [chance.choice(list(right))]
    for _ in range(3):
        lines = [each.change.line for each in taken]
        rest = [each for each in wrong if each not in taken]
        if rest:
            taken.append(min(chance.sample(rest, len(rest)), key=lambda each: lines.count(each.change.line)))
    options = [Option(_named(each.change), each is taken[0], why(each)) for each in taken]
    yield _asked(tried, kind, difficulty, [each.change for each in taken], words, options, chance)


def _asked(
    tried: Tried,
    kind: str,
    difficulty: int,
    about: Sequence[Change],
    words: str,
    options: Sequence[Option],
    chance: random.Random,
) -> Asked:
    lines = tuple(sorted({each.line for each in about}))
    shown = lines_shown(tried.source, lines)
    width = len(str(shown[-1][0]))
    code = "\n".join(f"{number:>{width}}  {line}" for number, line in shown)
    mixed = chance.sample(list(options), len(options))
    question = Question(words, tuple(mixed), code=code)
    return Asked(tried.exercise.name, kind, difficulty, question, lines)


def _if(change: Change) -> str:
    return f"Suppose {_on_condition(change).removeprefix('if ')}."


def _on_condition(change: Change) -> str:
    if change.new:
        return f"if line {change.line} were `{change.new}`"
    return f"if line {change.line}, `{change.old}`, were left out"


def _named(change: Change) -> str:
    return (
        f"Line {change.line} becomes `{change.new}`."
        if change.new
        else f"Line {change.line}, `{change.old}`, is left out."
    )


def _sizes(tried: Tried, title: str) -> str | None:
    """The sizes of an input; None if they cannot be said in a few words, so that nobody could tell what shape comes out."""
    if title in tried.several:  # of which of them?
        return None
    if title in tried.shapes and (described := _described(tried.shapes[title][0], title in tried.fixed)):
        return f" ({described})"
    arrays = any(isinstance(value, np.ndarray) for value in tried.inputs[title].values())
    return "" if not arrays and "(" in title and any(each.isdigit() for each in title) else None


def _can_be_told(tried: Tried, title: str, effect: Effect) -> bool:
    """Whether a title alone says enough to know what happens: errors and shapes depend on sizes."""
    return effect.kind in (SAME, VALUES) or _sizes(tried, title) is not None


def _is_seen(exercise: Exercise) -> bool:
    """Whether "the result" means something to a reader: what comes back, not several things that a check has measured."""
    return is_called_plainly(exercise) or len(exercise.returns) == 1


def _is_opaque(tried: Tried, title: str) -> bool:
    """Whether nobody can tell from a title what the input does. It is a model, a text or records, or the sum of much that is random, or everything
    depends on fixed numbers that are too many to be shown.
    """
    inputs = tried.inputs[title]
    return (
        any(callable(each) or _has_text(each) for each in inputs.values())
        or (title in tried.fixed and any(_is_large(each) for each in inputs.values()))
        or re.search(r"dropout_rate(=0\.| between)", title) is not None
    )


def _leans_on_another(title: str) -> bool:
    """Whether a title can be understood only beside another one: "the same, with biases", "it ends with a full stop"."""
    return re.search(r"^(the same|as before|other|another|again|once more)\b|\bit\b", title) is not None


def _is_large(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.size > _FEW and np.unique(value).size > 1


def _is_one_number(tried: Tried, title: str) -> bool:
    """Whether nothing with a shape comes back."""
    return title in tried.shapes and not any(tried.shapes[title][1].values())


def _has_text(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(isinstance(each, str | dict) or _has_text(each) for each in value)
    return isinstance(value, dict) or (isinstance(value, str) and " " in value)


def _listed(names: set[str]) -> str:
    return " and ".join(f"`{name}`" for name in sorted(names))


def _input(tried: Tried, title: str) -> str:
    return f"the input{'s' if title in tried.several else ''} “{title}”"


def _what(effect: Effect) -> str:
    return {SAME: "The result is the same: here the change makes no difference."}.get(
        effect.kind, effect.evidence
    )


def _described(inputs: Inputs, fixed: bool) -> str:
    """Inputs in words; empty if they cannot be said in a few.

    Args:
        fixed: whether the numbers are the same at every seed; few of them are then shown, else only their shape.
    """
    parts = []
    for name, value in inputs.items():
        if fixed and isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and 0 < value.size <= _FEW:
            parts.append(
                f"`{name}={np.round(value.astype(float), 3).tolist() if value.dtype.kind == 'f' else value.tolist()}`"
            )
        elif isinstance(value, np.ndarray) or hasattr(value, "shape"):
            parts.append(f"`{name}` of shape `{tuple(value.shape)}`")
        elif value is None or isinstance(value, bool | int | float):
            parts.append(f"`{name}={value:.3g}`" if isinstance(value, float) else f"`{name}={value}`")
        else:
            return ""
    return ", ".join(parts) if 0 < len(parts) <= 7 else ""


def _likely(
    shape: tuple[int, ...],
    others: Sequence[tuple[int, ...]],
    given: Sequence[tuple[int, ...]],
    first: Sequence[tuple[int, ...]] = (),
) -> list[tuple[int, ...]]:
    """Three other shapes that one could think of, or as many as there are. The third has the mistakes of the first and of the second. So none of
    the four is the one that all others are nearest to.

    Args:
        others: what comes back with a change, or beside it: the likeliest.
        given: shapes of inputs, which are never right and never offered.
        first: what has to be offered.
    """
    sizes = dict.fromkeys(size for each in [shape, *others, *given] for size in each)
    found = dict.fromkeys([*first, *others])
    if len(shape) > 1:
        found[(*shape[:-2], shape[-1], shape[-2])] = None
    for at in range(len(shape)):
        found |= dict.fromkeys((*shape[:at], size, *shape[at + 1 :]) for size in sizes)
    left = [each for each in found if each != shape and (each not in given or each in first)]
    for one, two in itertools.combinations(left, 2):
        both = tuple(b if b != right else a for a, b, right in zip(one, two, shape, strict=False))
        if len(one) == len(two) == len(shape) and both not in (shape, one, two, *given):
            return [one, two, both]
        if one is not left[0]:
            break
    return left[:3]


def _is_sum(shape: tuple[int, ...], inputs: Inputs) -> bool:
    """Whether a size must be computed from large numbers."""
    given = {size for value in inputs.values() for size in getattr(value, "shape", (value,))}
    return any(size > _BY_HEART and size not in given for size in shape)
