"""Pairs of submissions that are alike: what is found, what is not, and that renaming, layout and damage do not matter."""

from __future__ import annotations

import ast
import csv
import io
import tokenize

import pytest
from classroom import ATTENTION, START, KernelFree, new_course, with_gradebook
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from grader.book.gradebook import Gradebook
from grader.cli import app
from grader.errors import GraderError
from grader.grade import autograde as grading
from grader.handout.demo import hand_in, solved
from grader.people.roster import Person
from grader.reference.lab import Lab
from grader.show.fingerprints import all_hashes, fingerprints, members, tokens_of
from grader.show.similar import COMMON_TO, Reader, Work, compare, marked, write_similar, wrong_values

ORIGINAL = """
def blank_table(words):
    table = []
    for row in range(words):
        table.append([False for _ in range(words)])
    return table


def look_back(table, row):
    seen = 0
    while seen <= row:
        table[row][seen] = not table[row][seen]
        seen += 1
    return seen


def causal_mask(seq_len):
    table = blank_table(seq_len)
    counted = [look_back(table, row) for row in range(seq_len)]
    assert sum(counted) == seq_len * (seq_len + 1) // 2
    return np.asarray(table, dtype=bool)
"""
COPY = '''
# my own work!
def paint(grid: list, line: int) -> int:
    """Paints one line."""
    k = 0
    while (k <= line):
        grid[line][k] = (not grid[line][k])   # flip
        k += 1
    return k

def causal_mask(n):
    g = fresh( n )
    numbers = [paint(g, i)
               for i in range(n)]
    assert sum(numbers) == n * (n + 1) // 2, "odd"
    return np.asarray(g, dtype=bool)

def fresh(n):
    """An empty grid."""
    g = []

    for i in range(n):
        g.append([False for j in range(n)])
    return g
'''


@pytest.fixture(scope="module")
def lab(labs) -> Lab:
    return labs[ATTENTION]


@pytest.fixture(scope="module")
def reader(lab) -> Reader:
    return Reader(lab)


def in_own_styles(lab: Lab, number: int) -> dict[str, str]:
    """Each exercise by one of its variants: students with different numbers take different ones while there are any."""
    return {found[0].exercise: found[number].source for found in lab.variants.values() if number < len(found)}


# ---------------------------------------------------------------------------------- fingerprints


class _Renamed(ast.NodeTransformer):
    """Gives the names that code makes for itself new ones."""

    def __init__(self, names: dict[str, str], of_classes: set[str]) -> None:
        self.names = names
        self.of_classes = of_classes

    def visit_Name(self, node):
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)

    def visit_Attribute(self, node):
        if node.attr in self.of_classes and not node.attr.startswith("__"):
            node.attr = self.names.get(node.attr, node.attr)
        return self.generic_visit(node)

    def visit_arg(self, node):
        node.arg = self.names.get(node.arg, node.arg)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node):
        node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)


def own_names(tree: ast.AST) -> list[str]:
    nodes = list(ast.walk(tree))
    names = {node.arg for node in nodes if isinstance(node, ast.arg)}
    names |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return sorted(names | {node.name for node in nodes if isinstance(node, ast.FunctionDef)})


def with_comments(text: str, words: list[str]) -> str:
    """The text with a comment at the end of lines where one may be, and above them."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    ends = {token.start[0] for token in tokens if token.type == tokenize.NEWLINE}
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        word = words[number % len(words)]
        lines += [f"{line}  # {word}", f"# {word}", ""] if number in ends else [line]
    return "\n".join(lines)


@settings(deadline=None)
@given(data=st.data())
def test_new_names_another_layout_and_comments_change_no_fingerprint(lab, reader, data) -> None:
    entries = [entry for found in lab.variants.values() for entry in found]
    text = data.draw(st.sampled_from([*(entry.source for entry in entries), ORIGINAL]))
    tree = ast.parse(text)
    old = own_names(tree)
    new = data.draw(st.permutations([f"name_{number}" for number in range(len(old))]))
    words = data.draw(st.lists(st.text("abc #'\"", max_size=20), min_size=1, max_size=5))
    changed = with_comments(
        ast.unparse(_Renamed(dict(zip(old, new, strict=True)), members(tree)).visit(tree)), words
    )
    before, after = (fingerprints(tokens_of(each, reader.known)) for each in (text, changed))
    assert before.keys() == after.keys()


@settings(deadline=None)
@given(text=st.text() | st.text("def x():\n\t (['=1\"\\#@"))
def test_no_text_is_too_damaged(text) -> None:
    tokens = tokens_of(text)
    assert fingerprints(tokens).keys() <= all_hashes(tokens)


@pytest.mark.parametrize(
    "text", ["(" * 5000, "-" * 15000 + "1", "x = " + "[" * 90 + "]" * 90, "9" * 10000, "\0", "\ud800 = 1"]
)
def test_code_that_breaks_parsers_has_no_fingerprints_or_few(text) -> None:
    assert len(fingerprints(tokens_of(text))) < 100


def test_a_line_that_does_not_parse_hides_only_itself() -> None:
    whole = fingerprints(tokens_of(ORIGINAL))
    broken = fingerprints(tokens_of(ORIGINAL.replace("    seen = 0", "    seen = = 0")))
    assert len(whole.keys() & broken.keys()) > len(whole) / 2


def test_fingerprints_are_at_the_lines_of_their_code() -> None:
    lines = set().union(*fingerprints(tokens_of(ORIGINAL)).values())
    assert lines <= set(range(2, 22)) and {5, 12, 13, 20} <= lines


@settings(deadline=None)
@given(words=st.lists(st.sampled_from("abcdef"), min_size=16, max_size=60), before=st.integers(0, 40))
def test_whatever_is_long_enough_and_shared_is_found(words, before) -> None:
    one = [(word, 1) for word in words]
    other = [(f"other {number}", 1) for number in range(before)] + one
    assert fingerprints(one).keys() & fingerprints(other).keys()


# ---------------------------------------------------------------------------------- pairs


def test_independent_solutions_are_not_reported(lab, reader) -> None:
    works = [reader.work(f"s{number}", in_own_styles(lab, number)) for number in range(12)]
    assert compare(works) == ([], [])


@pytest.mark.parametrize("name", [ATTENTION, "01_why_attention", "03_multi_head_attention"])
def test_nor_are_they_if_the_lab_does_not_know_them(labs, name) -> None:
    unaware = Lab(labs[name].course, name)
    unaware.__dict__["variants"] = {}
    reader = Reader(unaware)
    works = [reader.work(f"s{number}", in_own_styles(labs[name], number)) for number in range(5)]
    assert all(work.all_prints for work in works[:4])
    assert compare(works) == ([], [])


def test_what_much_of_the_class_has_in_common_makes_no_pairs_but_is_said(reader) -> None:
    works = [reader.work(f"s{number:02}", {"causal_mask": ORIGINAL}) for number in range(COMMON_TO + 1)]
    pairs, crowds = compare(works)
    assert pairs == [] and crowds == [
        ("causal_mask", tuple(f"s{number:02}" for number in range(COMMON_TO + 1)))
    ]


def test_identical_wrong_results_count_more_than_alike_code(reader) -> None:
    odd = {"causal_mask": ("`out[1]` differs: got 0.12345, expected 1.",)}
    works = [
        reader.work("copy-1", {"causal_mask": ORIGINAL}),
        reader.work("copy-2", {"causal_mask": COPY}),
        reader.work("odd-1", {"causal_mask": ORIGINAL.replace("+= 1", "+= 2").replace("<=", "<")}, odd),
        Work("odd-2", {"causal_mask": "..."}, {"causal_mask": {}}, odd),
        *(reader.work(f"s{number}", {}) for number in range(30)),
    ]
    pairs, _ = compare(works)
    by_students = {tuple(work.student for work in pair.works): pair for pair in pairs}
    assert by_students["odd-1", "odd-2"].exercises["causal_mask"].wrong == odd["causal_mask"]
    assert by_students["odd-1", "odd-2"].evidence > by_students["copy-1", "odd-1"].evidence


def test_shared_lines_are_marked(reader) -> None:
    works = [
        reader.work("a", {"causal_mask": ORIGINAL}),
        reader.work("b", {"causal_mask": f"first = 1\n{COPY}"}),
    ]
    (pair,), _ = compare(works)
    shown = dict(marked(works[1], "causal_mask", pair.prints))
    assert shown["    while (k <= line):"] and not shown["# my own work!"] and not shown["first = 1"]


# ---------------------------------------------------------------------------------- a whole class


def test_a_copy_with_other_names_in_another_order_is_at_the_top(tmp_path, monkeypatch) -> None:
    course = with_gradebook(new_course(tmp_path))
    lab = Lab.load(course, ATTENTION)
    for number in range(8):
        hand_in(course, lab, f"s{number}", solved(lab, in_own_styles(lab, number)))
    hand_in(course, lab, "anna", solved(lab, {"causal_mask": ORIGINAL}))
    hand_in(
        course, lab, "ben", solved(lab, {"causal_mask": COPY, "padding_mask": "def padding_mask(:\n  <b>"})
    )
    hand_in(course, lab, "corrupt", b"{")
    with Gradebook.open(course) as gradebook:
        gradebook.enter_people(
            [
                Person("anna", "Anna", "Lee <i>", section="early"),
                Person("ben", "Ben", "Wu", section="late"),
                Person("s0", section="other"),
            ]
        )
    before = course.gradebook.read_bytes()
    monkeypatch.chdir(course.root)
    said = CliRunner().invoke(app, ["similar", ATTENTION])
    assert said.exit_code == 0 and "10 compared; pairs to look at: 1." in said.output, said.output
    page = (course.grading / "reports" / f"{ATTENTION}-similar.html").read_text()
    assert (
        "Anna Lee &lt;i&gt; (anna) and Ben Wu (ben)" in page
        and "does not prove" in page
        and "<script" not in page
    )
    assert "1 cannot be read" in page and "10 of them are not graded" in page
    rows = list(csv.DictReader((course.grading / "reports" / f"{ATTENTION}-similar.csv").open()))
    assert [(row["student"], row["other student"]) for row in rows] == [("anna", "ben")]
    assert int(rows[0]["causal_mask alike (%)"]) >= 60 and rows[0]["project_qkv alike (%)"] == ""
    assert course.gradebook.read_bytes() == before
    for section, pairs in (
        ("early", 1),
        ("late", 1),
        ("other", 0),
    ):  # everybody is compared, whoever is shown
        said = CliRunner().invoke(app, ["similar", ATTENTION, "--section", section])
        assert f"10 compared; pairs to look at: {pairs}." in said.output, said.output
        page = (course.grading / "reports" / f"{ATTENTION}-similar-{section}.html").read_text()
        assert ("Ben Wu (ben)" in page) == bool(pairs) and f"with somebody of {section} to look at" in page


def test_identical_wrong_results_are_read_from_what_was_graded(tmp_path) -> None:
    course = with_gradebook(new_course(tmp_path))
    lab = Lab.load(course, START)
    known = next(iter(lab.misconceptions.values()))[0].source
    odd = [
        "def softmax(x):\n    e = np.exp(1.0371 * x)\n    return e / e.sum(axis=-1, keepdims=True)",
        "def softmax(v):\n    t = 1.0371\n    return np.power(np.e, v * t) / np.sum(np.exp(t * v), -1)[..., None]",
    ]
    texts = {"anna": odd[0], "ben": odd[1], "slip-1": known, "slip-2": f"# mine\n{known}"}
    folders = [hand_in(course, lab, who, solved(lab, {"softmax": text})) for who, text in texts.items()]
    list(grading.autograde(lab, folders, KernelFree(tmp_path / "log"), grading.class_seed(lab), jobs=1))
    _, _, found = write_similar(lab, tmp_path / "page.html")
    assert [[work.student for work in pair.works] for pair in found.pairs] == [["anna", "ben"]]
    assert "got" in found.pairs[0].whole.wrong[0] and found.ungraded == 0
    hand_in(course, lab, "ben", solved(lab, {"softmax": odd[1] + "\n"}))  # a newer one than what was graded
    _, _, found = write_similar(lab, tmp_path / "page.html")
    assert found.pairs == () and found.ungraded == 1


def test_two_who_hold_the_same_two_misconceptions_are_no_pair(tmp_path) -> None:
    course = with_gradebook(new_course(tmp_path))
    lab = Lab.load(course, ATTENTION)
    known = {entry.name: entry for entries in lab.misconceptions.values() for entry in entries}
    earlier, own = known["divided_by_d_k"], known["memory_mask_forgotten"]
    texts = {
        earlier.exercise: earlier.source,
        own.exercise: own.source,
    }  # together, they give what neither gives alone
    odd = "def project_qkv(x, a, b, c):\n    return 1.0371 * x @ a, x @ b, x @ c"
    folders = [hand_in(course, lab, who, solved(lab, texts)) for who in ("ann", "bo")]
    folders += [hand_in(course, lab, who, solved(lab, {"project_qkv": odd})) for who in ("cy", "di")]
    list(grading.autograde(lab, folders, KernelFree(tmp_path / "log"), grading.class_seed(lab), jobs=1))
    _, _, found = write_similar(lab, tmp_path / "page.html")
    assert [[work.student for work in pair.works] for pair in found.pairs] == [["cy", "di"]]
    assert {*found.pairs[0].exercises} == {"project_qkv"}  # what follows from it is right with a working one


def test_wrong_values_are_told_only_if_they_could_not_be_chance() -> None:
    assert wrong_values(["`out[1]` differs: got 0.12345, expected 0.5."]) == (
        "out[1] differs: got 0.12345, expected 0.5.",
    )
    assert wrong_values(["3 of 9 values differ, most at `out[1, 2]`: got True, expected False."]) == ()
    assert wrong_values(["`out` differs: got 1e-05, expected 2."]) == ()
    assert wrong_values(["`out` has shape (2,); expected (3,)."]) == ()


def test_nothing_collected_and_a_page_that_cannot_be_written_are_said(tmp_path) -> None:
    course = with_gradebook(new_course(tmp_path))
    lab = Lab.load(course, START)
    with pytest.raises(GraderError, match="Collect submissions"):
        write_similar(lab)
    hand_in(course, lab, "anna", solved(lab))
    (tmp_path / "file").write_text("")
    with pytest.raises(GraderError, match="Choose another file with --out"):
        write_similar(lab, tmp_path / "file" / "page.html")
