"""axe-core finds nothing in reports and in the attention stepper, in both themes; tests/handout/test_live.py asks it about the pages that run."""

from __future__ import annotations

import numpy as np
import pytest
from accessible import needs_axe, violations
from classroom import START
from playwright.sync_api import sync_playwright
from test_browser import CHROMIUM, FLAGS

from course_utils.checking.comparison import compare
from course_utils.checking.exercise import PUBLIC_SEED
from course_utils.checking.expected import FILE_NAME, load_expected
from course_utils.checking.outcome import try_exercise
from course_utils.checking.report import Report
from course_utils.widgets.stepper import AttentionStepper
from grader.handout import site
from grader.handout.lab_pages import live_widget


@pytest.fixture(scope="module")
def parts(labs) -> dict[str, str]:
    """Name -> HTML, as the site's pages have it."""
    lab = labs[START]
    (key, (wrong, *_)), *_ = lab.misconceptions.items()
    exercise = next(each for each in lab.exercises.values() if each.name == key.partition(".")[2])
    namespace = {"np": np}
    exec(wrong.source, namespace)
    expected = load_expected(lab.release_folder / FILE_NAME, key, exercise)
    found = {}
    for name, attempt in {
        "wrong": namespace[exercise.name],
        "right": lab.reference[exercise.name],
    }.items():
        verdict = compare(exercise, try_exercise(exercise, key, attempt, PUBLIC_SEED), expected)
        found[f"report on what is {name}"] = Report(verdict, key)._repr_html_()
    x = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 3.0]])
    stepper = AttentionStepper(["one", "two", "three"], x, x, x).live()
    found["stepper"] = live_widget(stepper.get_state(), "<p>still</p>")
    return found


@needs_axe
@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: scripts/setup_browser.sh says how")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_reports_and_the_stepper_have_no_violation(parts, theme):
    style, script = (site.FILES.joinpath(name).read_text("utf-8") for name in ("style.css", "widgets.js"))
    ground = "body { background: var(--jp-layout-color0); color: var(--jp-content-font-color1); }"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, part in parts.items():
            page = browser.new_page()
            page.set_content(
                f'<!doctype html><html lang="en" data-theme="{theme}"><title>{name}</title><style>{style}{ground}</style>'
                f"<main><h1>{name}</h1>{part}</main><script>{script}</script></html>"
            )
            if name == "stepper":
                page.get_by_text("Step 1 of 6").wait_for()
            assert violations(page) == [], name
            page.close()
        # The ruler itself: what is wrong on purpose is found.
        page = browser.new_page()
        page.set_content(
            '<!doctype html><html lang="en"><title>x</title><main><h1>x</h1><button></button></main></html>'
        )
        assert [each.partition(" ")[0] for each in violations(page)] == ["button-name"]
        browser.close()
