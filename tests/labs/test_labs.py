"""What holds in every lab beside what its build proves: that reference and variants earn everything, and misconceptions are known."""

from __future__ import annotations

import inspect
import itertools
import re

import pytest
from project import LABS, ROOT

from course_utils.cases.torch_modules import call_with_tensors
from course_utils.checking.comparison import compare
from course_utils.checking.exercise import PUBLIC_SEED, call_function
from course_utils.checking.expected import FILE_NAME, load_expected
from course_utils.checking.outcome import try_exercise
from grader.reference.lab import Lab, is_solution, nbgrader_of


def exercises_of_all_labs(course_labs: list[str]) -> list:
    from grader.course import Course

    return [
        pytest.param(name, key, marks=[pytest.mark.slow] if "tensorflow" in name else [])  # seconds for each
        for name in course_labs
        for key in Lab.load(Course(ROOT), name).exercises
    ]


EXERCISES = exercises_of_all_labs(LABS)


@pytest.mark.parametrize("lab, key", EXERCISES)
def test_the_untouched_stub_earns_nothing_and_is_told_so(labs, lab, key):
    exercise = labs[lab].exercises[key]
    namespace = {**labs[lab].reference}
    stub = next(
        cell
        for cell in labs[lab].release().cells
        if is_solution(cell) and nbgrader_of(cell)["grade_id"] == exercise.name
    )
    exec(stub.source, namespace)
    outcomes = try_exercise(exercise, key, namespace[exercise.name], PUBLIC_SEED, namespace)
    expected = load_expected(labs[lab].release_folder / FILE_NAME, key, exercise)
    verdict = compare(exercise, outcomes, expected)
    assert verdict.score == 0 and verdict.passed == 0
    assert "part of it is not written yet" in verdict.summary


def test_inputs_come_in_the_order_of_the_parameters(labs):
    """Otherwise a right solution would be told that its parameters are in another order."""
    seen = 0
    for lab in labs.values():
        for key, exercise in lab.exercises.items():
            if exercise.call not in (call_function, call_with_tensors):
                continue
            parameters = inspect.signature(lab.reference[exercise.name]).parameters.values()
            needed = [each.name for each in parameters if each.default is each.empty]
            for case in exercise.cases:
                for inputs in case.runs(key, PUBLIC_SEED):
                    assert [name for name in inputs if name in needed] == needed, f"{key}: {case.title}"
                    seen += len(needed) > 1
    assert seen


def test_no_case_hides_a_mistake_behind_equal_sizes(labs):
    seen = 0
    for lab in labs.values():
        for key, exercise in lab.exercises.items():
            for case in exercise.cases:
                # for code that guesses from sizes
                if "sizes equal" in case.title or case.title.startswith("as many queries as keys"):
                    continue
                told_apart = []
                for inputs in case.runs(key, PUBLIC_SEED):
                    # a text in pieces has a key for each query; a module's queries, keys and values are as long as words
                    if {"query", "key"} <= set(inputs) and not {"pieces", "construct"} & set(inputs):
                        sizes = inputs["query"].shape[-2:] + inputs["key"].shape[-2:-1]
                        sizes += inputs["value"].shape[-1:] if "value" in inputs else ()
                        told_apart.append(len(set(sizes)) == len(sizes))
                # a run with equal sizes may stand beside one in which a mix-up is seen
                assert any(told_apart) or not told_apart, f"{case.title}: q_len, d_k, k_len, d_v"
                seen += len(told_apart)
    assert seen


def _sections(lab: Lab) -> list[list[str]]:
    """Of each section, its heading and those of its parts."""
    text = "\n".join(cell.source for cell in lab.release().cells if cell.cell_type == "markdown")
    found: list[list[str]] = []
    for level, heading in re.findall(r"^(#+) (.*)$", text, re.MULTILINE):
        if len(level) <= 2:
            found.append([])
        found[-1].append(heading)
    return found


def _headings(lab: Lab) -> set[str]:
    return set(itertools.chain(*_sections(lab)))


def test_the_sections_that_the_table_of_topics_names_are_in_the_labs(labs):
    """And each section with a number is named, or a part of it; those without one (symptoms, the quiz) are the same in every lab."""
    text = (ROOT / "docs" / "topics.md").read_text("utf-8")
    by_number = {name[:2]: lab for name, lab in labs.items()}
    parts = re.findall(r"## Lab (\d\d): [^\n]*\n(.*?)(?=\n## |\Z)", text, re.DOTALL)
    assert [number for number, _ in parts] == list(by_number)
    for number, part in parts:
        lab = by_number[number]
        headings = _headings(lab)
        named = [
            name
            for row in re.findall(r"^\| .* \| (.*) \|$", part, re.MULTILINE)[1:]
            for name in row.split("; ")
        ]
        assert named, lab.name
        assert not set(named) - headings, lab.name
        numbered = [section for section in _sections(lab) if re.match(r"\d+\. ", section[0])]
        assert numbered, lab.name
        assert [section[0] for section in numbered if not set(section) & set(named)] == [], lab.name
    claims = re.findall(
        r"^\| .*\| (\d\d) \| (.*) \|$", text.split("\n## What is often said")[1], re.MULTILINE
    )
    assert len(claims) > 10
    for number, section in claims:
        assert section in _headings(by_number[number]), (number, section)


def test_each_lab_leads_to_the_map_and_to_the_labs_before_and_after_it(labs):
    cells = {name: lab.release().cells for name, lab in labs.items()}
    for place, name in enumerate(LABS):
        top, end = (re.findall(r"\]\((\.\./[^)]*)\)", cells[name][at].source) for at in (0, -1))
        back, on = (
            [f"../{other}/{labs[other].notebook_name}" for other in others]
            for others in (LABS[max(place - 1, 0) : place], LABS[place + 1 : place + 2])
        )
        wanted = ["../START.md", *back, *on]
        assert top[: len(wanted)] == wanted, name  # below it the text may lead elsewhere
        assert end[-len(on) - 1 :] == [*on, "../START.md"], name
        for link in [*back, *on]:
            assert (labs[name].release_folder / link).is_file()
