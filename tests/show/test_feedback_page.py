"""The page a learner gets: whole without network, with the score, what came out, and comments."""

from __future__ import annotations

import re

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbgrader.converters import GenerateFeedback
from nbgrader.coursedir import CourseDirectory

from grader.course import Course
from grader.grade.results import FACTS
from grader.run.states import UNREADABLE
from grader.show.feedback_page import MAX_FORMULA, FeedbackPage, as_html, typeset

CODE = "0123456789abcdef" * 2
SCORES = {"score": 4.5, "max_score": 7.0, "late_penalty": 0.5}
SCORES |= {"notebook": "small", "assignment": "00_small", "submission": CODE, "whose": "Ann Kim (ak1)"}


def graded(grade_id: str, points: float, score: float, **more) -> dict:
    return {"nbgrader": {"grade_id": grade_id, "grade": True, "points": points, "score": score, **more}}


def check(score: float, auto: float, mistakes=()) -> dict:
    facts = {"summary": "double: 1 of 2 checks passed.", "misconceptions": list(mistakes)}
    data = {"text/html": "<div>the report</div>", "text/plain": repr(auto)}
    output = new_output("execute_result", data=data, execution_count=1, metadata={FACTS: facts})
    return new_code_cell('check("small.double")', metadata=graded("check_double", 2, score), outputs=[output])


def page(*cells, **facts) -> str:
    return as_html(new_notebook(cells=[new_markdown_cell("# A small lab\n\nProse."), *cells]), SCORES | facts)


def test_it_begins_with_the_score_and_what_came_out_of_each_exercise():
    text = page(check(1.0, 1.0, ["Two is *added*."]))
    assert text.count("A small lab</h1>") == 1 and "Prose." in text
    assert re.search(r"</h1>\s*<p[^>]*>Ann Kim \(ak1\)</p>", text)
    assert re.search(r"4\.5 of 7 points\s+<small>\(0\.5 deducted", text)
    assert '<a href="#check_double">double</a>' in text and 'id="check_double"' in text
    assert "<td>1 of 2 checks passed. <b>Common misconception:</b> Two is <em>added</em>." in text
    assert "1 / 2" in text and "the report" in text and "by hand" not in text


def test_of_a_file_that_could_not_be_read_no_cell_is_said_to_have_run():
    state = {"transformer_labs": {"state": UNREADABLE}}
    text = as_html(new_notebook(cells=[check(0.0, 0.0)], metadata=state), SCORES)
    assert "<td>not checked, because the file could not be read." in text


def test_points_that_a_human_gave_are_said_to_be_so():
    text = page(check(2.0, 1.0))
    assert "2 / 2" in text and "Points given by hand" in text


def test_whoever_is_excused_reads_that_there_is_no_score():
    cells = [
        check(0.0, 0.0),
        new_markdown_cell("Because", metadata=graded("why", 3, 0, solution=True, waiting=True)),
    ]
    text = page(*cells, score=0.0, excused=True, decided="excused: ill, note of 3 November")
    assert re.search(
        r'class="score">No score\s+<small>\(excused: ill, note of 3 November\)</small>\s*</p>', text
    )
    assert "of 7 points" not in text and "1 of 2 checks passed" in text


def test_what_nobody_has_graded_yet_is_not_called_wrong():
    text = page(new_markdown_cell("Because", metadata=graded("why", 3, 0, solution=True, waiting=True)))
    assert (
        "(3 more to be graded by your instructor)" in text and "to be graded by your instructor</td>" in text
    )
    assert "– / 3" in text and "not graded yet" in text and "✗" not in text and "0 of 3" not in text


def test_nothing_is_fetched_and_nothing_runs():
    text = page(check(1.0, 1.0), new_markdown_cell(r"$$\frac{a}{b}$$"), new_code_cell("1 < 2"))
    assert "<script" not in text and "<link" not in text
    assert all(source.startswith("data:") for source in re.findall(r'src="([^"]*)"', text))


def test_comments_and_written_answers_are_text():
    meta = graded("why", 3, 2, solution=True, comment="**Good**, <script>say</script> more")
    text = page(new_markdown_cell("Because <b>x</b>", metadata=meta))
    assert "<strong>Good</strong>" in text and "<script>" not in text and "<b>x</b>" not in text
    assert "2 of 3 points" in text


@pytest.mark.parametrize("meta", [{}, graded("why", 3, 2, solution=True)], ids=["the lab's", "the learner's"])
def test_a_link_leads_somewhere_from_a_page_that_lies_alone_or_it_is_text(meta):
    source = "[The map](../START.md), [lab *03*](../03_heads/heads.ipynb) and [mine](notes.md)"
    text = page(new_markdown_cell(source, metadata=meta))
    assert "<p>The map, lab <em>03</em> and mine</p>" in text
    urls = ["https://arxiv.org/abs/1706.03762", "mailto:a@example.org", "#elsewhere"]
    text = page(new_markdown_cell(" ".join(f"[there]({url})" for url in urls), metadata=meta))
    assert " ".join(f'<a href="{url}">there</a>' for url in urls) in text


def test_outputs_are_shown_as_text():
    stream = new_output("stream", name="stdout", text="<i>\x1b[31mred\x1b[0m")
    error = new_output("error", ename="E", evalue="<v>", traceback=["<line>"])
    text = page(new_code_cell("go()", outputs=[stream, error]))
    assert "&lt;i&gt;" in text and "&lt;v&gt;" in text and "&lt;line&gt;" in text and "ansi-red-fg" in text


def test_a_formula_is_a_picture_that_says_what_it_shows():
    text = page(new_markdown_cell(r"Scale by $\sqrt{d_k}$."))
    assert r'alt="\sqrt{d_k}"' in text and "$" not in text.partition("<main>")[2]


@pytest.mark.parametrize("tex", [r"\nonsense{x}", "x" * (MAX_FORMULA + 1), "{", ""])
def test_a_formula_that_cannot_be_drawn_is_shown_as_it_was_written(tex):
    assert typeset(tex) is None
    if tex:
        assert "<code>" in page(new_markdown_cell(f"So ${tex}$."))


def test_several_lines_of_a_formula_are_drawn_one_under_the_other():
    text = page(new_markdown_cell(r"$$\begin{aligned} a &= b \\ c &= d \end{aligned}$$"))
    assert text.count('class="maths"') == 2


def test_every_way_to_make_feedback_makes_this_page(tmp_path):
    config = Course(tmp_path).nbgrader_config()
    made = GenerateFeedback(coursedir=CourseDirectory(config=config), config=config)
    assert made.exporter_class is FeedbackPage
