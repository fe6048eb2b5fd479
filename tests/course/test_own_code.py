"""Questions about one's own code: what is changed in a text, that the answers are true, and what a notebook shows."""

from __future__ import annotations

import random
import re
import time
from dataclasses import replace

import numpy as np
import pytest
from project import LABS

from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.outcome import Outcome, Problem
from course_utils.own_code import calls, trials
from course_utils.own_code import practice as practice_module
from course_utils.own_code.changes import Change, changes, definition_of, lines_shown
from course_utils.own_code.practice import practice, questions_about
from course_utils.own_code.questions import EASY, HARD, MIDDLE, Asked, _likely, ask_about, chosen
from course_utils.own_code.trials import SEEDS, _difference, _Runner, _short
from course_utils.quiz import Option, Question, as_html, as_text
from course_utils.widgets.questions import Questions

SHARES = '''import numpy as np

def shares(scores, mask=None):
    """Weights: shares of a whole."""
    if mask is not None:
        scores = np.where(mask, scores, -1e30)   # nothing for what is blocked
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
'''


def sums_to_one(inputs, outputs):
    """Each row of the weights sums to 1."""
    return np.isclose(outputs["weights"].sum(axis=-1), 1, atol=1e-4)


EXERCISE = Exercise(
    name="shares",
    returns=("weights",),
    cases=(
        Case("two rows", lambda rng: {"scores": rng.normal(size=(2, 4))}),
        Case("three rows, very large scores", lambda rng: {"scores": 1000 + 9 * rng.normal(size=(3, 5))}),
        Case(
            "a mask that blocks the last score",
            lambda rng: {"scores": rng.normal(size=(2, 4)), "mask": np.arange(4) < 3},
        ),
    ),
    properties=(sums_to_one,),
)


def asked_of(source: str, exercise: Exercise = EXERCISE) -> list:
    namespace: dict = {"np": np}
    exec(source, namespace)
    definition = definition_of(exercise.name, [source])
    until = time.process_time() + 60
    return ask_about(exercise, f"lab.{exercise.name}", definition, namespace, until, random.Random(1))


def right(question) -> str:
    return next(option.text for option in question.options if option.right)


def test_a_change_leaves_every_other_line_as_it_was_written():
    definition = definition_of("shares", [SHARES])
    found = changes(definition)
    assert len(found) > 8
    before = definition.split("\n")
    for change in found:
        after = change.source.split("\n")
        different = [at for at, (old, new) in enumerate(zip(before, after, strict=True), 1) if old != new]
        assert different == [change.line], change
        assert SHARES.splitlines()[change.line - 1].strip().startswith(change.old)


def test_changes_are_those_that_teach():
    found = {change.new for change in changes(definition_of("shares", [SHARES]))}
    assert "powers = np.exp(scores)" in found
    assert "return powers" in found
    assert "return powers / powers.sum(axis=-2, keepdims=True)" in found
    assert "scores = np.where(mask, -1e30, scores)" in found
    assert not [new for new in found if "-0" in new]


def test_what_is_returned_is_not_just_exchanged():
    found = changes("def two(query, key):\n    return query, key\n")
    assert found == []


def test_a_name_is_only_exchanged_for_one_that_has_a_value_there():
    found = {
        change.new
        for change in changes(
            "def f(start, spans):\n    return [s for s in spans if s.start <= start < s.end]\n"
        )
    }
    assert not [new for new in found if "<= end" in new]  # `end` is only an attribute
    assert "return [s for s in spans if s.end <= start < s.end]" in found


def test_nothing_is_compared_with_itself_nor_cut_out_from_itself_to_itself():
    source = (
        "def f(x, start, end):\n    if start < end:\n        return x[start:end], end - start\n    return x\n"
    )
    found = {change.new for change in changes(source)}
    for pointless in (
        "start < start",
        "end < end",
        "[start:start]",
        "[end:end]",
        "end - end",
        "start - start",
    ):
        assert not [new for new in found if pointless in new]
    assert "if start <= end:" in found


def test_a_definition_that_is_kept_elsewhere_is_not_changed():
    assert changes("@register\ndef f(x):\n    return x + x.max()\n") == []


def test_lines_have_the_numbers_of_their_cell_and_docstrings_are_left_out():
    shown = lines_shown(definition_of("shares", [SHARES]), [7])
    assert [number for number, _ in shown] == [3, 5, 6, 7, 8]


def test_brackets_go_with_what_they_were_for():
    found = {change.new for change in changes("def f(x, mean):\n    return (x - mean).square()\n")}
    assert "return x.square()" in found


def test_a_value_without_numbers_and_one_that_is_the_same_do_no_harm():
    empty = Exercise(
        name="shares",
        returns=("kept", "count"),
        cases=(
            Case("nothing", lambda rng: {"x": np.zeros((0, 3))}),
            Case("one row", lambda rng: {"x": np.ones((1, 3))}),
        ),
    )
    source = "def shares(x):\n    kept = x + x\n    return kept, len(kept) + 1\n"
    asked = asked_of(source, empty)
    assert asked
    assert all(sum(option.right for option in each.question.options) == 1 for each in asked)


def test_the_last_definition_counts():
    assert "2" in definition_of("f", ["def f():\n    return 1", "f = 3", "def f():\n    return 2", "g = f()"])


def test_answers_are_what_the_changed_code_does():
    asked = asked_of(SHARES)
    found = {each.question.text: right(each.question) for each in asked}
    broken = "This is true of your code: “Each row of the weights sums to 1.” After which of these changes would it no longer be true?"
    assert (
        "return powers" in found[broken]
        or "axis" in found[broken]
        or "mean" in found[broken]
        or "+" in found[broken]
    )
    same = "Suppose line 7 were `powers = np.exp(scores)`. For which of these inputs would the result be different?"
    assert found[same] == "three rows, very large scores"


def test_explanations_show_both_results():
    question = next(
        each.question
        for each in asked_of(SHARES)
        if each.kind == "happens" and "axis=-2" in each.question.text and "line 8" in each.question.text
    )
    assert right(question) == "The result has other values and the same shape."
    assert "instead of" in question.options[0].why
    assert "It no longer sums to 1, but to" in question.options[0].why


def test_code_that_fails_or_depends_on_chance_is_not_asked_about():
    assert asked_of(SHARES.replace("powers.sum(", "powers.no_sum(")) == []
    by_chance = "import itertools\nturns = itertools.count()\ndef shares(scores, mask=None):\n    return scores + next(turns)\n"
    assert asked_of(by_chance) == []


def test_a_question_can_be_answered_from_what_it_says():
    """What could not, when the questions of all labs were read."""

    def cases(*inputs) -> tuple[Case, ...]:
        return tuple(Case(title, lambda rng, make=make: make(rng)) for title, make in inputs)

    total = Exercise(
        name="shares",
        returns=("total",),
        cases=cases(
            ("one row", lambda rng: {"x": rng.normal(size=5)}),
            ("the same, with larger numbers", lambda rng: {"x": 9 * rng.normal(size=5)}),
        ),
    )
    asked = asked_of("def shares(x):\n    return np.sum(x) - x.max() + 3 * x.min()\n", total)
    assert asked == [] or all(
        "shape" not in option.text for each in asked for option in each.question.options
    )
    assert not [each for each in asked if "the same, with" in each.question.text]  # the same as what?

    rows = Exercise(
        name="shares",
        returns=("weights",),
        cases=cases(
            ("one row; then two rows", lambda rng: [{"x": rng.normal(size=size)} for size in ((3,), (2, 3))]),
            ("three rows (3, 4)", lambda rng: {"x": rng.normal(size=(3, 4))}),
        ),
    )
    by_rows = "def shares(x):\n    x = x - x.max()\n    return x / np.exp(x).sum(axis=-1, keepdims=True)\n"
    asked = asked_of(by_rows, rows)
    about_several = [each for each in asked if "then two rows" in each.question.text]
    assert not [each for each in about_several if each.kind == "happens" or "error" in right(each.question)]
    # axis=-2 raises for one row only: of that row alone it is asked
    alone = replace(rows, cases=(*cases(("one row", lambda rng: {"x": rng.normal(size=3)})), rows.cases[1]))
    about_one = [each for each in asked_of(by_rows, alone) if "“one row”" in each.question.text]
    assert [each for each in about_one if each.kind == "happens" and "error" in right(each.question)]
    sizes = [each for each in asked if "“three rows (3, 4)”" in each.question.text]
    assert sizes and all(
        "`x` of shape `(3, 4)`" in each.question.text for each in sizes if each.kind == "happens"
    )

    words = Exercise(
        name="shares",
        returns=("count",),
        cases=cases(
            ("words that are nearly equal", lambda rng: {"x": ["Bath", "bath"]}),
            ("some words twice", lambda rng: {"x": ["a", "b", "a"]}),
            ("three words", lambda rng: {"x": ["a", "b", "c"]}),
        ),
    )
    asked = asked_of("def shares(x):\n    kinds = set(x)\n    return len(kinds) + len(x)\n", words)
    assert not [each for each in asked if each.kind == "inputs"]  # nobody sees the words


def _in_cases(*inputs, **more) -> Exercise:
    return Exercise(
        name="shares",
        returns=("weights",),
        cases=tuple(Case(title, lambda rng, make=make: make(rng)) for title, make in inputs),
        **more,
    )


_several = Case("two batches", lambda rng: [{"scores": rng.normal(size=(2, size))} for size in (3, 4)])


def test_what_calls_the_code_is_not_the_code():
    """A check's complaint about what came back is no exception of the learner's."""
    runner, own = _Runner(EXERCISE, "lab.shares", {}), Outcome(({"weights": np.ones(2)},))
    for kind, where in (("type", ""), ("missing", ""), ("exception", "")):
        assert runner.compare(own, Outcome(problem=Problem(kind, "TypeError: one axis", where))) is None
    raised = runner.compare(
        own, Outcome(problem=Problem("exception", "TypeError: one axis", "shares, line 3"))
    )
    assert raised.kind == "error" and "`TypeError: one axis`" in raised.evidence
    asked = asked_of(
        "def shares(x):\n    return x.sum(axis=-1) + np.zeros(1)\n",
        _in_cases(
            ("one row", lambda rng: {"x": rng.normal(size=3)}),
            ("two rows", lambda rng: {"x": rng.normal(size=(2, 4))}),
        ),
    )
    assert [
        option for each in asked for option in each.question.options if "It raises an error: `" in option.why
    ]


def test_a_block_s_only_line_is_not_left_out():
    source = "def f(x):\n    for n in range(3):\n        x = x + n\n    x = x * 2\n    return x\n"
    assert [each.line for each in changes(source) if not each.new] == [4]
    filled = "def f(x):\n    y = np.{}(x.shape)\n    y[0] = x[0]\n    y[1:] = 2 * x[1:]\n    return y\n"
    assert [each.line for each in changes(filled.format("zeros")) if not each.new] == [3, 4]
    assert not [
        each for each in changes(filled.format("empty")) if not each.new
    ]  # what would be left is chance


def test_how_many_inputs_there_are_is_counted():
    cases = _in_cases(
        ("three sizes", lambda rng: [{"x": rng.normal(size=(2, size))} for size in (3, 4, 5)]),
        ("one batch; no mask", lambda rng: {"x": rng.normal(size=(2, 3))}),
        ("a batch of one", lambda rng: {"x": rng.normal(size=(1, 4))}),
    )
    asked = asked_of(
        "def shares(x):\n    x = np.exp(x - x.max(axis=-1, keepdims=True))\n    return x / x.sum(axis=-1, keepdims=True)\n",
        cases,
    )
    texts = " ".join(each.question.text for each in asked)
    assert "the input “one batch; no mask” (`x`" in texts
    asked += asked_of(SHARES, replace(EXERCISE, cases=(_several, *EXERCISE.cases)))
    assert not [each for each in asked if "“two batches”" in each.question.text]  # which of the two?
    assert not [each for each in asked if each.kind == "happens" and "three sizes" in each.question.text]


def test_what_goes_without_saying_is_not_asked():
    """After another sign nobody expects an error or another shape."""
    asked = asked_of(
        "def shares(x):\n    return np.exp(x - x.max())\n",
        _in_cases(("five numbers", lambda rng: {"x": rng.normal(size=5)})),
    )
    assert not [each for each in asked if each.kind == "happens" and "x + x.max()" in each.question.text]


def test_a_title_about_something_else_is_not_asked_for():
    cases = _in_cases(
        ("it ends with a zero", lambda rng: {"x": np.append(rng.normal(size=4), 0)}),
        ("five numbers", lambda rng: {"x": rng.normal(size=5)}),
    )
    asked = asked_of(
        "def shares(x):\n    x = x / np.sum(x, axis=0)\n    return np.cumsum(x, axis=0) * x.size\n", cases
    )
    assert asked and not [each for each in asked if "it ends" in each.question.text]


def test_a_sentence_about_what_is_no_longer_there_is_not_asked_about():
    """`axis=-2` leaves a row for each column, so nothing is left of which the sentence spoke."""

    def is_largest(inputs, outputs):
        """No number of a row is above it."""
        found = outputs["weights"]
        return len(found) == len(inputs["x"]) and bool(np.all(found >= inputs["x"].max(axis=-1)))

    cases = _in_cases(
        *((f"{n} rows", lambda rng, n=n: {"x": rng.normal(size=(n, 3))}) for n in (2, 4)),
        properties=(is_largest,),
    )
    source = "def shares(x):\n    top = x.max(axis=-1)\n    top = top + 0 * x.sum()\n    return top + np.abs(top) * 0\n"
    runner, tried = _Runner(cases, "lab.shares", {"np": np}), list(cases.cases)
    own = runner.outcomes(source, tried, SEEDS)
    runner.remember_properties(tried, own)
    assert runner.held
    for new, broken in (("x.max(axis=-2)", False), ("x.min(axis=-1)", True)):
        change = Change("axis", 2, "", "", source.replace("x.max(axis=-1)", new))
        trial = runner.trial(change, tried, own)
        assert bool(trial.broken) == broken and not trial.kept


def test_what_a_check_has_arranged_is_not_shown_as_what_the_code_returns():
    def measured(learner, inputs):
        found = 2 * learner(**inputs)
        return (found,) * 3 if len(exercise.returns) > 1 else found

    exercise = replace(EXERCISE, call=measured, properties=())
    runner, own, other = (
        _Runner(exercise, "lab.shares", {}),
        Outcome(({"weights": np.ones(2)},)),
        Outcome(({"weights": np.zeros(2)},)),
    )
    assert runner.compare(own, other).evidence == "What comes back has other values, in the same shapes."
    raised = Outcome(problem=Problem("exception", "RuntimeError: one axis", "shares, line 3"))
    assert runner.compare(own, raised).evidence == "It raises an error: `one axis`."
    assert asked_of(SHARES, exercise)
    exercise = replace(exercise, returns=("weights", "stopped", "elsewhere"))
    assert not asked_of(SHARES, exercise)  # "the result" would mean nothing to a reader


def test_a_shape_that_the_question_gives_is_not_asked_for():
    cases = _in_cases(("a table", lambda rng: {"x": rng.normal(size=(3, 1)), "y": rng.normal(size=(1, 4))}))
    asked = [
        each for each in asked_of("def shares(x, y):\n    return x * y\n", cases) if each.kind == "shape"
    ]
    assert "`(3, 4)`" in [right(each.question) for each in asked]
    assert not {"`(3, 1)`", "`(1, 4)`"} & {right(each.question) for each in asked}


def test_two_questions_about_the_same_lines_are_not_alike():
    taken = chosen(asked_of(SHARES), 9)
    assert len({(each.exercise, each.kind, each.lines) for each in taken}) == len(taken) >= 5
    offered = [
        frozenset(option.text for option in each.question.options) for each in taken if each.kind == "inputs"
    ]
    assert len(set(offered)) == len(offered)


def test_a_learners_own_definition_stays_as_it_is():
    namespace: dict = {"np": np}
    exec(SHARES, namespace)
    own = namespace["shares"]
    ask_about(
        EXERCISE,
        "lab.shares",
        definition_of("shares", [SHARES]),
        namespace,
        time.process_time() + 60,
        random.Random(1),
    )
    assert namespace["shares"] is own


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=[] if each[:2] in ("00", "02") else [pytest.mark.slow])
        for each in LABS
        if each[:2] in ("00", "01", "02", "03", "04")
    ],
)
def test_every_question_has_one_right_answer_among_different_ones_about_lines_that_are_there(labs, name):
    lab = labs[name]
    texts = list(lab.solution_texts.values())
    asked = list(questions_about(lab.slug, lab.reference, texts, random.Random(3)))
    assert len(asked) >= 10
    for each in asked:
        options = [option.text for option in each.question.options]
        assert len(set(options)) == len(options) >= 3, each
        assert sum(option.right for option in each.question.options) == 1
        numbers = {int(line.split()[0]) for line in each.question.code.splitlines()}
        assert {*each.lines} <= numbers, each
    taken = chosen(asked, 6)
    assert [each.difficulty for each in taken] == sorted(each.difficulty for each in taken)
    assert EASY <= taken[0].difficulty <= taken[-1].difficulty <= HARD


def test_every_form_of_a_question_shows_its_code_as_text():
    question = Question("What?", (Option("a", True, "yes"), Option("b", False, "no")), code="1  x = '<b>'")
    assert "1  x = &#x27;&lt;b&gt;&#x27;</pre>" in as_html([question])
    assert (
        Questions([question]).data()["questions"][0]["code"] == question.code
    )  # the widget makes text of it
    assert "1  x = '<b>'" in as_text([question])


def test_practice_shows_questions_about_what_passes(labs, monkeypatch):
    lab = labs["02_self_attention"]
    monkeypatch.chdir(lab.release_folder)
    shown: list = []
    monkeypatch.setattr(practice_module, "show", shown.extend)
    wrong = "def causal_mask(seq_len):\n    return np.triu(np.ones((seq_len, seq_len), dtype=bool))\n"
    namespace = {**lab.reference, "In": [*lab.solution_texts.values(), wrong], "practice": practice}
    exec(wrong, namespace)
    exec("practice('self_attention', questions=9)", namespace)
    assert len(shown) == 9
    assert not [question for question in shown if "def causal_mask" in question.code]


def test_practice_says_what_to_do_while_nothing_passes(labs, monkeypatch, capsys):
    monkeypatch.chdir(labs["02_self_attention"].release_folder)
    exec("practice('self_attention')", {"practice": practice})
    assert "None of your exercises passes yet" in capsys.readouterr().out


def pressed(cell: str, namespace: dict, monkeypatch) -> list[str]:
    """What is below the button that a cell shows, once it is pressed."""
    shown: list = []
    monkeypatch.setattr("course_utils.plots.show_live", lambda widget, html, text: shown.append(widget))
    exec(cell, namespace)
    button, said, below = shown[0].children
    assert not said.value and not below.children
    button.click()
    assert not button.disabled
    questions = [question["text"] for widget in below.children for question in widget.data["questions"]]
    return [said.value, *questions]


def test_the_button_at_the_end_of_a_lab_asks_only_when_it_is_pressed(labs, monkeypatch, capsys):
    lab = labs["00_start_here"]
    monkeypatch.chdir(lab.release_folder)
    cell = "practice('start_here', button=True)"
    ready = {**lab.reference, "In": list(lab.solution_texts.values()), "practice": practice}
    said, *questions = pressed(cell, ready, monkeypatch)
    assert not said and any("Suppose line" in each for each in questions)
    (said,) = pressed(cell, {"practice": practice}, monkeypatch)
    assert "None of your exercises passes yet" in said and "One moment" not in said
    assert capsys.readouterr().out == ""


def test_a_lab_that_there_is_not_is_refused_before_any_button(monkeypatch):
    with pytest.raises(LookupError):
        pressed("practice('self_atention', button=True)", {"practice": practice}, monkeypatch)


COUNTS = """def counts(words, least=1):
    found = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return {word: count for word, count in found.items() if count > least}
"""


def test_a_call_is_shown_with_what_it_returns_and_what_it_would_return():
    exercise = Exercise(
        name="counts",
        returns=("counts",),
        call=lambda learner, inputs: np.array(sorted(learner(inputs["words"], 2).values())),
        cases=(
            Case("seven words", lambda rng: {"words": list("abcabca")}),
            Case("words without end", lambda rng: {"words": list("abcabca") * 50}),
        ),
    )
    asked = [each for each in asked_of(COUNTS, exercise) if each.kind == "returns"]
    assert {each.difficulty for each in asked} == {EASY, MIDDLE}
    named = "counts(['a', 'b', 'c', 'a', 'b', 'c', 'a'], 2)"
    for each in asked:
        text, names = each.question.text, {}
        assert f"`{named}` return?" in text  # the long one is not asked about
        changed = COUNTS.splitlines()
        if suppose := re.match(r"Suppose line (\d+) were `([^`]+)`\.", text):
            indent = re.match(" *", changed[int(suppose[1]) - 1])[0]
            changed[int(suppose[1]) - 1] = indent + suppose[2]
        elif left_out := re.match(r"Suppose line (\d+), `[^`]+`, were left out", text):
            del changed[int(left_out[1]) - 1]
        exec("\n".join(changed), names)
        assert right(each.question) == f"`{eval(named, names)!r}`"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"b": (1,), "a": [None, True]}, "{'b': (1,), 'a': [None, True]}"),
        ({b"b", b"a"}, "{b'a', b'b'}"),
        (set(), "set()"),
        (np.array([[1, 2], [3, 4]]), "np.array([[1, 2], [3, 4]])"),
        (np.int64(3), "3"),
        (0.25, "0.25"),
        (Option("a", False, "b"), "Option(text='a', right=False, why='b')"),
        (1 / 3, ""),
        (301, ""),
        ([np.sqrt(2)], ""),
        ("x" * 31, ""),
        (object(), ""),
        (np.array([object()]), ""),
    ],
)
def test_what_can_be_typed_is_written_as_it_is_typed(value, written):
    assert calls._written(value) == written


def test_of_results_simple_fractions_are_rounded_and_nothing_else():
    assert calls._written([2 / 3, 1.0], exactly=False) == "[0.667, 1.0]"
    assert calls._written(np.sqrt(2), exactly=False) == ""


def test_a_change_that_never_returns_is_tried_once(monkeypatch):
    monkeypatch.setattr(trials, "_CASE_SECONDS", 0.05)
    source = "def counts(n):\n    m = n\n    while n > 0:\n        n -= 1\n        m += 2\n    return m\n"
    tried = []

    def count(n):
        tried.append(n)
        return n

    found = {change: calls.made(change.source, "counts", {}) for change in changes(source)}
    endless = [change for change in found if change.old == "n -= 1"]
    assert endless
    assert calls._tried("counts", ((3,), {}), count, found) is None
    assert not [change for change in endless if change in found] and tried


def test_numbers_that_are_always_the_same_are_shown_or_not_asked_about():
    def fixed(size):
        return lambda rng: {"x": np.arange(size) % 5.0}

    cases = _in_cases(
        ("six numbers", fixed(6)),
        ("many numbers", fixed(20)),
        ("random numbers", lambda rng: {"x": rng.normal(size=6)}),
        ("random rows", lambda rng: {"x": rng.normal(size=(3, 4))}),
    )
    asked = asked_of(
        "def shares(x):\n    x = x - x.max()\n    return x / abs(x).sum() + x.min(axis=-1) * (x.ndim > 1)\n",
        cases,
    )
    texts = [each.question.text + each.question.options[0].text for each in asked]
    same = [text for text, each in zip(texts, asked, strict=True) if each.kind in ("inputs", "changes:same")]
    assert not [text for text in same if "many numbers" in text]
    assert [text for text in texts if "`x=[0.0, 1.0, 2.0, 3.0, 4.0, 0.0]`" in text]


def test_a_sentence_with_a_condition_is_not_asked_about():
    def no_more_than_one(inputs, outputs):
        """No number is above 1, unless there is only one."""
        return bool(np.all(outputs["weights"] <= 1.001))

    asked = asked_of(SHARES, replace(EXERCISE, properties=(no_more_than_one, sums_to_one)))
    sentences = " ".join(each.question.text for each in asked if each.kind == "breaks")
    assert "Each row of the weights sums to 1." in sentences and "unless" not in sentences


def test_what_needs_no_thought_is_not_asked():
    def asked_with(second):
        exercise = Exercise(
            name="counts",
            returns=("same",),
            call=lambda learner, inputs: np.array(learner(**inputs)),
            cases=(Case("two words", lambda rng: {"one": list("abca"), "other": list(second)}),),
        )
        source = "def counts(one, other):\n    both = set(one) & set(other)\n    return len(both), len(one) + len(both)\n"
        return [each for each in asked_of(source, exercise) if each.kind == "returns"]

    assert {each.difficulty for each in asked_with("bcd")} == {EASY, MIDDLE}
    assert {each.difficulty for each in asked_with("abca")} == {MIDDLE}  # the two are alike


def test_no_question_of_a_quiz_has_the_answer_to_another_among_its_options(labs):
    lab = labs["12_text_to_text"]
    texts = list(lab.solution_texts.values())
    asked = questions_about(lab.slug, lab.reference, texts, random.Random(3))
    asked = [each for each in asked if each.kind == "returns"]
    taken = chosen(asked, 20)
    called = [each.question.text.rsplit("`", 2)[1] for each in taken]
    assert len(asked) > len(taken) > 3
    for call, each in zip(called, taken, strict=True):
        assert each.lines or called.count(call) == 1  # as the code is: an option of every other one


def test_numbers_that_show_a_difference_come_from_one_run():
    one = [{"a": np.array(1.0), "b": np.array(1.0)}, {"a": np.array(1.0), "b": np.array(1.0)}]
    two = [{"a": np.array(9.0), "b": np.array(2.0)}, {"a": np.array(2.0), "b": np.array(8.0)}]
    assert (
        _difference(Outcome(tuple(one)), Outcome(tuple(two)))
        == "`a` is `9` instead of `1`. `b` is `2` instead of `1`."
    )


def test_a_broken_sentence_is_shown_where_it_is_broken():
    def last_is_zero(inputs, outputs):
        """The last number of a row is 0."""
        return outputs["weights"][..., -1] == 0

    own = np.array([[1.0, 2, 0], [3, 4, 0], [5, 6, 0]])
    changed = own + np.array(
        [[9, 9, 0], [0, 0, 0.5], [9, 9, 9]]
    )  # off by most in a row that still ends with 0
    runner, case = _Runner(EXERCISE, "lab.shares", {}), EXERCISE.cases[0]
    said = runner._where_broken(
        last_is_zero, case, *(Outcome(({"weights": each},)) for each in (own, changed))
    )
    assert said == "`weights[1]` is `[3, 4, 0.5]` instead of `[3, 4, 0]`."


def test_the_same_answer_is_not_right_every_time(labs):
    lab = labs["02_self_attention"]
    asked = questions_about(lab.slug, lab.reference, list(lab.solution_texts.values()), random.Random(3))
    answers = [(each.exercise, right(each.question)) for each in asked if each.kind == "happens"]
    for name in {name for name, _ in answers}:
        theirs = [answer for exercise, answer in answers if exercise == name]
        if len(set(theirs)) > 1:
            assert max(map(theirs.count, theirs)) <= len(theirs) / 2


def test_of_shapes_to_choose_from_none_is_the_one_that_the_others_are_nearest_to():
    right = (2, 3, 6, 20)
    taken = _likely(right, [(2, 3, 20, 6)], [(2, 6, 20), (7, 3, 6, 20)])
    assert len(taken) == 3 and not {right, (2, 6, 20), (7, 3, 6, 20)} & set(taken)

    def far(one):
        return sorted(one != other and sum(map(int.__ne__, one, other)) for other in [right, *taken])

    assert all(far(each) == far(right) for each in taken)
    assert _likely((4, 10), [], [(3, 4)], first=[(3, 4, 10)])[0] == (3, 4, 10)
    assert _likely((5,), [], []) == []


def test_a_size_that_takes_a_calculator_is_not_asked_for():
    cases = _in_cases(("two rows", lambda rng: {"x": rng.normal(size=(2, 30))}))
    source = "def shares(x):\n    return np.concatenate([x, x, x], axis=-1){}\n"
    assert not [
        each
        for each in asked_of(source.format(""), cases)
        if each.kind == "shape" and "Suppose" not in each.question.text
    ]
    assert [each for each in asked_of(source.format("[:, :20]"), cases) if each.kind == "shape"]


def test_equal_numbers_are_no_two_answers():
    source = "def counts(words):\n    found = len(words)\n    return found, found / len(words) if words else 0, found - 1\n"
    found = {change: calls.made(change.source, "counts", {}) for change in changes(source)}
    own = calls.made(source, "counts", {})
    found[replace(next(iter(found)), new="x")] = lambda words: (len(words), 1, len(words) - 1)
    call = calls._tried("counts", ((["a", "b"],), {}), own, found)
    assert call.own == "(2, 1.0, 1)" and "(2, 1, 1)" not in call.changed.values()


LAYER = """def layer(x, y):
    low = x - x.max()
    powers = np.exp(low)
    first = powers / 2
    shift = y - y.mean()
    third = first + shift
    return first, third
"""


def test_which_change_leaves_a_result_alone_is_asked_without_giving_it_away():
    exercise = Exercise(
        name="layer",
        returns=("first", "third"),
        cases=tuple(
            Case(f"{n} numbers", lambda rng, n=n: {"x": rng.normal(size=n), "y": rng.normal(size=n)})
            for n in (4, 5)
        ),
    )
    (asked,) = (each for each in asked_of(LAYER, exercise) if each.kind == "leaves")
    assert "leave `first` as it is" in asked.question.text  # every change changes the other one
    assert right(asked.question).startswith("Line 5 becomes `shift = ")
    for option in asked.question.options:
        assert "first" not in option.text
        assert (
            option.why == "`first` stays the same. `third` would change."
            if option.right
            else "`first` would change" in option.why
        )
    measured = replace(exercise, call=lambda learner, inputs: learner(**inputs), returns=("started", "ended"))
    assert not [each for each in asked_of(LAYER, measured) if each.kind == "leaves"]  # a check's own names


def test_half_a_statement_is_not_quoted():
    source = "def shares(scores):\n    powers, _ = (np.exp(scores - scores.max()),\n                 scores.sum())\n    return powers / powers.sum(axis=-1, keepdims=True)\n"
    asked = asked_of(source, replace(EXERCISE, cases=EXERCISE.cases[:2]))
    lines = {line for each in asked for line in each.lines}
    assert lines == {4}


def test_texts_that_look_like_equal_numbers_are_two_answers():
    source = "def counts(x):\n    x = max(x + 0.0, 1.0)\n    return f'{x:.1f}'\n"
    change = changes(source)[0]
    own = calls.made(source, "counts", {})
    found = {change: lambda x: "5", replace(change, new="x"): lambda x: "7"}
    call = calls._tried("counts", ((5,), {}), own, found)
    assert call.own == "'5.0'" and list(call.changed.values()) == ["'5'", "'7'"]


def test_no_shape_is_asked_for_twice(labs):
    lab = labs["02_self_attention"]
    asked = questions_about(lab.slug, lab.reference, list(lab.solution_texts.values()), random.Random(3))
    texts = [each.question.text for each in asked if each.kind == "shape"]
    assert texts and len(set(texts)) == len(texts)


def test_what_is_shown_of_a_broken_sentence_is_different():
    def rows_sum_to_one(inputs, outputs):
        """Each row of the weights sums to 1."""
        return np.isclose(outputs["weights"].sum(axis=-1), 1)

    own = {"weights": np.full((3, 2), 0.5), "output": np.arange(6.0).reshape(3, 2)}
    changed = {"weights": own["weights"] + [[0], [1], [0]], "output": own["output"] + [[0], [0], [5]]}
    runner = _Runner(EXERCISE, "lab.shares", {})
    said = runner._where_broken(rows_sum_to_one, EXERCISE.cases[0], Outcome((own,)), Outcome((changed,)))
    assert "`weights[1]` is `[1.5, 1.5]`" in said and "`output[2]` is `[9, 10]` instead of `[4, 5]`" in said


def test_a_quiz_has_as_many_questions_as_are_wanted_if_there_are_enough():
    def about(kind, lines, text):
        options = (Option("a", True, "b"), Option("c", False, "d"))
        return Asked("shares", kind, EASY, Question(text, options), lines)

    asked = [about("happens", (7,), "one"), about("happens", (7,), "two"), about("shape", (8,), "three")]
    assert {each.question.text for each in chosen(asked, 2)} & {"three"}
    assert len(chosen(asked, 3)) == 3
    assert len(chosen([*asked, about("happens", (7,), "one")], 4)) == 3  # the same one twice is none more


def test_no_time_is_spent_on_calls_when_it_is_over():
    tried = []

    def learner(x):
        tried.append(x)
        return x

    cases = _in_cases(("one", lambda rng: {"x": 1}), ("two", lambda rng: {"x": 2}))
    assert calls._recorded(cases, "lab.shares", learner, {}, time.process_time() - 1) == [] == tried
    assert len(calls._recorded(cases, "lab.shares", learner, {}, time.process_time() + 9)) == 2


def test_what_is_due_to_numbers_that_nobody_sees_is_not_asked_about():
    def many(rng):
        return {"scores": np.arange(20.0).reshape(4, 5) % 7}

    cases = (
        Case("many numbers", many),
        *(replace(each, title=f"{each.title}, drawn") for each in EXERCISE.cases[:2]),
    )
    asked = [each for each in asked_of(SHARES, replace(EXERCISE, cases=cases)) if each.kind == "changes:same"]
    assert ["“two rows, drawn”" in each.question.text for each in asked] == [True]


def test_among_changes_of_which_one_raises_an_error_others_might():
    cases = _in_cases(
        ("two rows", lambda rng: {"x": rng.normal(size=(2, 3))}),
        ("three", lambda rng: {"x": rng.normal(size=(3, 5))}),
    )
    source = (
        "def shares(x):\n    x = np.exp(x - x.max(axis=-1, keepdims=True))\n    x = x / x.mean(axis=-1, keepdims=True)\n"
        "    return x / x.sum(axis=-1, keepdims=True)\n"
    )
    asked = [each for each in asked_of(source, cases) if each.kind == "changes:error"]
    assert asked
    for each in asked:
        texts = _texts_of(each)
        assert all("axis=-2" in text or "keepdims=False" in text for text in texts)


def _texts_of(asked) -> list[str]:
    return [option.text for option in asked.question.options]


def test_of_a_number_nobody_asks_for_the_shape():
    cases = _in_cases(*((f"{n} numbers", lambda rng, n=n: {"x": rng.normal(size=n)}) for n in (4, 5)))
    source = "def shares(x):\n    return np.sum(np.where(x > 0, x, 0.0)) / x.shape[0] + x[1:].sum()\n"
    asked = [each for each in asked_of(source, cases) if each.kind == "happens"]
    assert asked
    assert all(
        "Another number comes back." in _texts_of(each) and len(_texts_of(each)) == 3 for each in asked
    )


def test_an_error_is_quoted_without_what_only_numpy_needs():
    with pytest.raises(ValueError) as raised:
        np.ones((2, 3)) @ np.ones((2, 3))
    said = _short(str(raised.value))
    assert "gufunc" not in said and "(size 2 is different from 3)" in said
