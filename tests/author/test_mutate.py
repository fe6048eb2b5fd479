"""Small mistakes made on purpose: which there are, and which of them the checks let pass."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest
from project import LABS, ROOT, turn_of
from typer.testing import CliRunner

from course_utils.checking.outcome import try_case
from grader.author.each_mutant import _drawn_by, _mutants_of, each_mutant
from grader.author.faults import SEEDS
from grader.author.mutants_record import FILE_NAME, complaints, keep_record, recorded
from grader.author.mutate import _Judge, mutate
from grader.author.new import new_lab
from grader.author.survivors import ENOUGH, EQUIVALENT, Report, Survivor, entries_for
from grader.cli import app
from grader.course import Course, CourseError
from grader.reference.lab import Lab
from grader.reference.mutants import LEFT, mutants

CODE = '''
def clipped(x, low=0, *, strict=True):
    """Numbers that are not below a limit.

    x: a list.
    """
    print("called with", x)
    kept = [max(low, number - 1.5) for number in x[1:] if number is not None and number > low]
    if strict and len(kept) < 2:
        raise ValueError("too few: " + str(len(kept)))
    if len(kept) > 3:
        kept = kept[:3]
    return kept, sum(kept)
'''


MODULE = """
class Layer:
    def forward(self, x, training=False, mask=None):
        if mask is None:
            return self.norm(self.inner(x))
        scores = (x @ x.T).max(dim=-1, keepdim=True)
        attended, weights = self.attend(x, x, attention_mask=mask)
        kept = list(mask)
        kept.append(np.zeros(3, dtype=np.int64))
        for at in range(3):
            scores += x - 0.5
            if 0 < at <= len(kept):
                break
        best = sorted(mask, key=lambda pair: (pair[1], pair[0]))
        found = [np.asarray(each, int)[:at] for each in best if len(each)]
        rows = np.concatenate([attended, weights, scores])[:, 0]
        return self.dropout(self.norm(rows), training=training), "-".join(found), f"a{at}b", dict(name="here")
"""


TEXTS = """
def label(model, text, scores, marks, known, *, rate=0.1):
    model.train()
    words = text.split()
    if words[0] == text:
        words = [' '.join(words), known[text]]
    ids = scores.astype(np.int64)
    count = float(sum(marks))
    low = scores.masked_fill(marks, -torch.inf) + marks * -1e9 + rate * count
    return (words, ids, scores + low)
"""


@cache
def changes(code: str, lines: frozenset[int] | None = None) -> set[tuple[str, str]]:
    return {(mutant.kind, mutant.new) for mutant in mutants(code, lines)}


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("another comparison", "number >= low"),
        ("and for or", "number is not None or number > low"),
        ("a condition left out", "if number > low]"),
        ("another operation", "number + 1.5"),
        ("an operand left out", "max(low, number)"),
        ("operands swapped", "1.5 - number"),
        ("another number", "number - 15.0"),
        ("off by one", "x[2:]"),
        ("a bound left out", "x[:]"),
        ("a related function", "min(low"),
        ("a call left out", "[number - 1.5 for"),
        ("arguments swapped", "max(number - 1.5, low)"),
        ("returned values swapped", "return (sum(kept), kept)"),
        ("a branch never taken", "if False:"),
        ("an argument ignored", "low = 0"),
        ("an argument ignored", "strict = True"),
        ("a loop one short", "in list(x[1:])[:-1]"),
        ("truth instead of None", "if number and number > low"),
        ("another variable", "return (kept, sum(number))"),
        ("a statement left out", "pass"),
        ("a loop that begins late", "in list(x[1:])[1:]"),
        ("a condition left out", "in x[1:] if True]"),
        ("another sign", "number - -1.5"),
        ("an input changed in place", "x.__isub__(0.5)"),
        ("an input changed in place", "best = (mask.sort(key=lambda pair: (pair[1], pair[0])), mask)[1]"),
        ("a copy left out", "kept = mask"),
        ("the first instead of the largest", "scores = (x @ x.T)[..., :1]"),
        ("a transpose left out", "(x @ x).max"),
        ("another operation", "(x * x.T).max"),
        ("another comparison", "if 0 < at < len(kept)"),
        ("another comparison", "if 0 <= at <= len(kept)"),
        ("another text", "''.join(found)"),
        ("another dtype", "dtype=np.float32"),
        ("another dtype", "np.asarray(each, float)"),
        ("an argument left out", "np.zeros(3)"),
        ("an argument by position", "self.attend(x, x, mask)"),
        ("a training flag fixed", "training=True"),
        ("dropout once more", "self.dropout(self.dropout(self.norm(rows))"),
        ("dropout once more", "self.norm(self.dropout(self.inner(x)))"),
        ("a layer used twice", "self.norm(self.inner(self.inner(x)))"),
        ("replaced instead of added to", "scores = x - 0.5"),
        ("another sort key", "(pair[0], pair[1])"),
        ("a part of a sort key left out", "lambda pair: (pair[1],)"),
        ("returned values swapped", "weights, attended"),
        ("an element left out", "np.concatenate([attended, weights])"),
        ("elements swapped", "np.concatenate([weights, attended, scores])"),
        ("elements swapped", "[0, :]"),
        ("off by one", "[:at + 1]"),
        ("off by one", "[:at - 1]"),
        ("a loop ended after its first round", "break"),
        ("a related function", "np.stack([attended"),
        ("a cast left out", "ids = scores"),
        ("a cast left out", "count = sum(marks)"),
        ("normalised once more", "words = text.lower().split()"),
        ("normalised once more", "words = text.strip().split()"),
        ("normalised once more", "words = sorted(text.split())"),
        ("normalised once more", "' '.join(sorted(words))"),
        ("normalised once more", "if words[0].lower() == text.lower()"),
        ("normalised once more", "known[text.lower()]"),
        ("a number that is not low enough", "masked_fill(marks, -100.0)"),
        ("a number that is not low enough", "marks * -100.0"),
        ("another default", "rate=1.0"),
        ("another default", "strict=False"),
        ("a module left in evaluation mode", "model.eval()"),
        ("the gradient cut", "(scores + low).detach()"),
        ("the gradient cut", "scores = scores.detach()"),
    ],
)
def test_mistakes_of_every_kind_are_made(kind, part):
    assert [
        new for code in (CODE, MODULE, TEXTS) for found, new in changes(code) if found == kind and part in new
    ]


def test_indices_that_mean_the_same_in_either_order_are_not_swapped():
    found = {(mutant.kind, mutant.new) for mutant in mutants("f = lambda x: x[..., :, None]")}
    assert ("elements swapped", "f = lambda x: x[..., None, :]") in found
    assert ("elements swapped", "f = lambda x: x[:, ..., None]") not in found


def test_names_of_layers_keys_and_parts_of_messages_are_no_mistakes():
    text = "f = lambda x: (Layer(x, name='here'), x['key'], {'key': x}, f'a {x}', zip(x, x, strict=True))"
    kept = ("name='here'", "['key']", "{'key': ", "f'a ", "strict=True")
    for mutant in mutants(text):
        if mutant.kind in ("an argument left out", "another text", "the other truth value"):
            assert all(part in mutant.new for part in kept)


def test_a_copy_that_nothing_changes_and_a_name_with_another_value_are_not_confused_with_the_input():
    text = "def f(x, y):\n    y = list(y)\n    z = list(x)\n    return y + z, x + z"
    kinds = {(mutant.kind, mutant.new) for mutant in mutants(text)}
    assert not [kind for kind, _ in kinds if kind == "a copy left out"]
    assert [new for kind, new in kinds if kind == "an input changed in place"] == [
        "return (y + z, x.__iadd__(z))"
    ]


def test_what_a_solution_says_is_left_alone_and_every_mutant_compiles_and_differs():
    found = mutants(CODE)
    assert not [mutant for mutant in found if "called with" in mutant.old or "too few" in mutant.old]
    assert all('"""Numbers that' in mutant.source for mutant in found)
    assert len({mutant.source for mutant in found}) == len(found) > 50
    for mutant in found:
        compile(mutant.source, "<mutant>", "exec")


def test_only_the_learner_s_lines_are_changed():
    given = "def f(x):\n    y = x + 1\n    z = y * 2\n    return z"
    assert {mutant.old for mutant in mutants(given, {3})} == {"z = y * 2"}


def test_a_norm_of_a_module_is_confused_with_another():
    module = "class M:\n    def forward(self, x):\n        return self.norm2(x + self.norm1(x))"
    assert ("another attribute", "return self.norm1(x + self.norm1(x))") in changes(module)


# ---------------------------------------------------------------------------------- a lab


@pytest.fixture
def lab(tmp_path) -> Lab:
    """A small lab in a course of its own, whose solution doubles numbers."""
    for name in ("solutions", "notebooks"):
        (tmp_path / name).mkdir()
    new_lab(Course(tmp_path), "00_tiny")
    return Lab(Course(tmp_path), "00_tiny")


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def again(lab: Lab) -> Lab:
    """The lab as it lies there now."""
    return Lab(lab.course, lab.name)


AT_FIVE_AXES = "np.multiply(np.abs(x) if np.ndim(x) > 4 else x, 2)"


def test_what_differs_for_no_legal_input_needs_no_excuse(lab):
    edit(lab.folder / "00_tiny.py", "np.multiply(x, 2)", AT_FIVE_AXES)
    report = mutate(again(lab), jobs=1)
    assert report.survivors == [] and report.same["double"] >= 1  # no input has so many axes


@pytest.mark.slow
def test_what_differs_for_a_legal_input_is_a_hole_and_names_the_input(lab):
    edit(lab.folder / "00_tiny.py", "np.multiply(x, 2)", "np.multiply(x, 2) if len(x) > 1 else x + x")
    report = mutate(again(lab), jobs=1)
    holes = {each.new.partition(" else ")[2]: each for each in report.survivors}
    assert {"x", "x - x"} <= set(holes)  # no case has just one number or row
    hole = holes["x - x"]
    assert "sizes of " in hole.differs and "become 1" in hole.differs and " at seed " in hole.differs
    assert 0 < report.share() < 1 and str(hole).endswith(f"\n  differs for {hole.differs}")

    entries = entries_for(report.survivors)
    (lab.folder / EQUIVALENT).write_text(entries)
    with pytest.raises(CourseError, match="an entry of double gives no reason"):
        mutate(again(lab), jobs=1)
    (lab.folder / EQUIVALENT).write_text(entries.replace('""', '"no row is so short"'))
    report = mutate(again(lab), jobs=1)
    assert report.survivors == [] and report.excused["double"] == len(holes) and report.unused == []

    lines = json.dumps([hole.old])
    (lab.folder / EQUIVALENT).write_text(f'[[double]]\nreason = "no row is so short"\nchanges = [{lines}]\n')
    report = mutate(again(lab), jobs=1)
    assert report.survivors == [] and report.excused["double"] == len(holes) and report.unused == []


def test_an_excuse_for_what_loses_points_or_makes_no_difference_is_unused(lab):
    edit(lab.folder / "00_tiny.py", "np.multiply(x, 2)", AT_FIVE_AXES)
    old = "twice_as_much = " + AT_FIVE_AXES
    lines = json.dumps([[old, old.replace("> 4", ">= 4")], [old, old.replace("x, 2", "x, 3")]])
    (lab.folder / EQUIVALENT).write_text(f'[[double]]\nreason = "few axes"\nchanges = {lines}\n')
    report = mutate(again(lab), jobs=1)
    assert len(report.unused) == 2 and report.excused == {}


def test_what_no_output_can_show_is_told(lab):
    text = "def double(x, net=None):\n    if net:\n        net.train()\n    return torch.add(x, x)"
    (mutant,) = (each for each in mutants(text) if each.kind == LEFT and "eval" in each.new)
    survivor = Survivor("double", "reference", mutant.kind, mutant.old, mutant.new, 7)
    assert survivor.may_be_wrong and str(survivor).endswith("no output can show it")


TWICE = """twice_as_much = np.multiply(x, 2)
    if len(x) == 1:
        twice_as_much = -twice_as_much
    if len(x) == 1:
        twice_as_much = -twice_as_much"""
"""Without either line, a single number or row has the other sign. No case has one."""


def test_gradients_are_cut_with_the_words_of_the_framework_and_not_where_there_are_none():
    def cut(text: str) -> list[str]:
        return [mutant.new for mutant in mutants(text) if mutant.kind == "the gradient cut"]

    assert cut("def f(x):\n    return keras.ops.exp(x)") == [
        "return keras.ops.stop_gradient(keras.ops.exp(x))",
        "x = keras.ops.stop_gradient(x)",
    ]
    assert cut("def f(x):\n    return np.exp(x)") == []


@pytest.mark.slow
def test_of_two_places_with_the_same_line_only_the_one_that_is_named_is_excused(lab):
    edit(lab.folder / "00_tiny.py", "twice_as_much = np.multiply(x, 2)", TWICE)

    def places() -> list[int | None]:
        report = mutate(again(lab), jobs=1)
        found = [each for each in report.survivors if each.old == "if len(x) == 1:"]
        return [each.place for each in found if each.new == "if False:"]

    assert places() == [1, 2]
    entry = '[[double]]\nreason = "no row is so short"\nchanges = [["if len(x) == 1:", "if False:"{place}]]\n'
    (lab.folder / EQUIVALENT).write_text(entry.format(place=""))
    assert places() == [1, 2]  # which of them is meant?
    (lab.folder / EQUIVALENT).write_text(entry.format(place=", 2"))
    assert places() == [1]
    (lab.folder / EQUIVALENT).write_text(entry.format(place=", 3"))
    (unused,) = mutate(again(lab), jobs=1).unused
    assert str(unused) == "'if len(x) == 1:' at place 3 to 'if False:'"


def test_a_survivor_at_another_place_is_another_one(lab):
    def survivor(**more) -> Survivor:
        return Survivor("double", "reference", "a statement left out", "x = 1", "pass", 7, **more)

    keep_record(lab, Report({"double": 10}, {"double": 2}, {"double": 1}, [survivor(place=1)]))
    assert recorded(lab).share() == pytest.approx(6 / 7)
    known = {each.change for each in recorded(lab).survivors}
    assert survivor(place=1).change in known
    assert survivor(place=2).change not in known and survivor().change not in known
    assert "at place 2\n  - x = 1\n" in str(survivor(place=2))


def test_the_figures_are_told_for_each_exercise():
    survivors = [Survivor("second", "reference", "off by one", "x", f"y{at}", 7) for at in range(2)]
    report = Report({"first": 900, "second": 100}, {"first": 12, "second": 10}, {"first": 8}, survivors)
    assert report.share("first") == 1 and report.share("second") == pytest.approx(88 / 90)
    assert report.share() == pytest.approx(968 / 970) and report.share() > ENOUGH
    assert not report.is_enough and Report({"first": 900}, {"first": 12}, {"first": 8}, []).is_enough
    first, second, both = report.figures("00_both").splitlines()
    assert first == (
        "  first: 900 mutants, 12 are the same, 8 excused, 0 survive; of those that are wrong, 100.00% lose points at every seed"
    )
    assert second.endswith("97.78% lose points at every seed, fewer than the 99.5% that are needed")
    assert (
        both.startswith("00_both: 1000 mutants, 22 are the same, 8 excused, 2 survive; ") and "99.79%" in both
    )


@pytest.mark.slow
def test_mutants_that_never_end_or_kill_their_process_lose_points(lab, monkeypatch):
    monkeypatch.setattr("grader.author.each_mutant._SILENT_SECONDS", 20)
    loop = "twice_as_much, left = x, 1\n    while left > 0:\n        twice_as_much, left = np.multiply(x, 2), left - 1"
    edit(lab.folder / "00_tiny.py", "twice_as_much = np.multiply(x, 2)", loop)
    edit(lab.folder / "exercises.py", 'returns=("doubled",),', 'returns=("doubled",),\n    seconds=0.3,')
    deadly = "import os\n    left = 3\n    if left == 4:\n        os.abort()\n    return x * 2"
    with (lab.folder / "variants.py").open("a") as file:
        file.write(
            f'\n\n@variant("double")\ndef deadly(x):\n    """Ends the process, if it is changed."""\n    {deadly}\n'
        )
    reports = [mutate(again(lab), jobs=2, of_variants=of_variants) for of_variants in (None, 99)]
    assert all(report.tried["double"] > 20 for report in reports)
    assert not [
        each.new
        for report in reports
        for each in report.survivors
        if "left + 1" in each.new or each.new in ("while left == 0:", "if left != 4:", "if True:")
    ]


def test_a_mutant_that_never_ends_is_stopped_by_what_its_original_took(lab, monkeypatch):
    limits = []

    def noting(exercise, *rest):
        limits.append(exercise.seconds)
        return try_case(exercise, *rest)

    monkeypatch.setattr("grader.author.mutate.try_case", noting)
    judge = _Judge(lab, "double")
    endless = "def double(x):\n    while True:\n        pass"
    begin = time.process_time()
    assert judge(endless, {}) is None
    took = time.process_time() - begin
    assert len({*limits}) > 1 and max(limits) == judge.exercise.seconds  # of the original
    assert limits[-1] < 2 and took < judge.exercise.seconds

    slow = "import time\ndef double(x):\n    end = time.process_time() + 0.3\n"
    slow += "    while time.process_time() < end:\n        pass\n    return x * 2"
    assert judge(slow, {}) is not None  # slower than the original, but it ends


def test_a_judge_that_cannot_be_made_is_an_error_and_no_mutant(lab):
    with pytest.raises(CourseError, match="the reference of double cannot be run"):
        list(each_mutant(lab, ["double"], 1, lambda *_: os._exit(1)))


def test_the_case_that_was_wrong_at_one_seed_comes_first_at_the_next(lab, monkeypatch):
    tried = []

    def noting(exercise, case, key, learner, seed):
        tried.append((seed, exercise.cases.index(case)))
        return try_case(exercise, case, key, learner, seed)

    judge = _Judge(lab, "double")
    judge._limited_as("reference")
    monkeypatch.setattr("grader.author.mutate.try_case", noting)
    wrong_in_the_second = "def double(x):\n    return x * (2 if x.ndim == 1 else 3)"
    assert judge(wrong_in_the_second, {}) is None
    first, *others = SEEDS
    assert tried == [(first, 0), (first, 1), *((seed, 1) for seed in others)]


def test_a_smaller_sample_of_the_variants_mutants_is_a_part_of_a_larger_one(lab):
    few, more = (
        [(of, mutant.source) for of, mutant, _ in _mutants_of(lab, "double", most)] for most in (1, 99)
    )
    assert set(few) < set(more) and len(few) == len({of for of, _ in more}) == 3
    assert {of for of, *_ in _mutants_of(lab, "double")} == {"reference"}


def test_an_edited_line_draws_only_its_own_mutants_again(lab):
    def sample(text: str) -> list[tuple[str, str]]:
        return [(each.old, each.new) for each in sorted(mutants(text), key=_drawn_by)]

    text = "def f(x):\n    y = x[1:] + 1.5\n    z = y * 2\n    return y, z"
    before, after = sample(text), sample(text.replace("y * 2", "y * 3"))
    assert [each for each in before if "z = " not in each[0]] == [
        each for each in after if "z = " not in each[0]
    ]


def test_mutants_of_variants_are_a_search_that_records_nothing(lab):
    with (lab.folder / "variants.py").open("a") as file:
        file.write(
            '\n\n@variant("double")\ndef by_length(x):\n    """Adds where there is one."""\n    return x * 2 if len(x) > 1 else x + x\n'
        )
    report = mutate(again(lab), jobs=1, of_variants=99)
    found = {(each.of, each.new.partition(" else ")[2]) for each in report.survivors}
    assert ("by_length", "x - x") in found and {of for of, _ in found} == {"by_length"}
    assert report.unused == [] and not (lab.folder / FILE_NAME).exists()


def test_an_unknown_exercise_and_a_broken_list_of_equivalents_are_named(lab):
    with pytest.raises(CourseError, match="no exercise 'half'. It has double"):
        mutate(lab, jobs=1, only="half")
    (lab.folder / EQUIVALENT).write_text('[[double]]\nold = "x"\n')
    with pytest.raises(CourseError, match="equivalent.toml: an entry of double has old. Write"):
        mutate(lab, jobs=1)
    (lab.folder / EQUIVALENT).write_text('[[double]]\nreason = "none"\nchanges = [["x", 2]]\n')
    with pytest.raises(CourseError, match="equivalent.toml: a change of double is .'x', 2.. Write"):
        mutate(lab, jobs=1)


def test_the_record_is_stale_as_soon_as_a_solution_or_a_case_changes(lab):
    assert complaints(lab) == []  # none is needed
    keep_record(lab, mutate(lab, jobs=1))
    assert complaints(again(lab)) == []
    for name, old, new in (
        ("00_tiny.py", "np.multiply(x, 2)", "np.multiply(2, x)"),
        ("exercises.py", "a row of 3", "one row of 3"),
    ):
        edit(lab.folder / name, old, new)
        assert "is stale" in complaints(again(lab))[0]
        edit(lab.folder / name, new, old)
    edit(lab.folder / "variants.py", "@variant", "# a comment\n@variant")
    assert complaints(again(lab)) == []
    (lab.folder / FILE_NAME).write_text("{}")
    assert "cannot be read" in complaints(lab)[0]


# ---------------------------------------------------------------------------------- the labs


@pytest.mark.parametrize("name", LABS)
def test_of_the_mistakes_in_each_exercise_nearly_all_lose_points(labs, name):
    report = recorded(labs[name])  # every lab has a record
    assert list(report.tried) and set(report.tried) == {each.name for each in labs[name].exercises.values()}
    assert {each: report.share(each) for each in report.tried if report.share(each) < ENOUGH} == {}


@pytest.mark.parametrize("name", LABS)
def test_what_the_checks_of_a_lab_let_pass_is_recorded_as_they_are_now(labs, name):
    assert complaints(labs[name]) == []


NEW_SURVIVORS = """
import sys
from pathlib import Path
from grader.author.mutants_record import recorded
from grader.author.mutate import mutate
from grader.course import Course
from grader.reference.lab import Lab

lab = Lab.load(Course(Path(sys.argv[1])), sys.argv[2])
known = {each.change for each in recorded(lab).survivors}
print([each for each in mutate(lab, jobs=1, only=sys.argv[3]).survivors if each.change not in known])
"""


@pytest.mark.slow
def test_no_more_mistakes_pass_than_are_recorded(labs):
    """Two exercises each day, of labs that are far from each other: all labs take hours."""
    every = [(lab.name, exercise.name) for lab in labs.values() for exercise in lab.exercises.values()]
    turns = -(-len(every) // 2)
    for lab, exercise in every[turn_of(turns) :: turns]:
        # from a process in which TensorFlow has not computed anything yet: its forks would wait for threads that they do not have
        command = [sys.executable, "-c", NEW_SURVIVORS, str(ROOT), lab, exercise]
        said = subprocess.run(command, capture_output=True, text=True)
        assert (said.returncode, said.stdout) == (0, "[]\n"), (exercise, said.stdout, said.stderr)


def test_the_command_ends_with_an_error_if_too_much_survives_but_not_for_variants(monkeypatch):
    monkeypatch.chdir(ROOT)
    hole = [Survivor("softmax", "reference", "off by one", "x", "y", 7)]
    for survivors, options, status in (([], [], 0), (hole, [], 1), (hole, ["--variants"], 0)):
        report = Report({"softmax": 100}, {}, {}, survivors)
        monkeypatch.setattr("grader.author.mutate.mutate", lambda *_, report=report: report)
        done = CliRunner().invoke(app, ["mutate", "00", "--exercise", "softmax", *options])
        assert done.exit_code == status, done.output
