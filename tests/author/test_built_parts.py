"""What the build adds to every lab: one sentence about language models, and a closing part that is never graded."""

from __future__ import annotations

import pytest
from project import LABS

from grader.author import rules, training
from grader.handout.learners import ASSISTANTS
from grader.reference.built_parts import CLOSING_HEADING, POLICY, POLICY_HEADING, policy_sentence
from grader.reference.lab import SKIP_TAG, nbgrader_of


@pytest.mark.parametrize("name", LABS)
def test_every_lab_says_it_once_and_closes_with_what_is_the_learner_s_own(labs, name):
    lab = labs[name]
    cells = lab.source().cells
    assert cells[0].source.endswith(policy_sentence())
    (start,) = (place for place, cell in enumerate(cells) if cell.source.startswith(CLOSING_HEADING))
    questions, package = cells[start + 1 : start + 3]
    assert f'practice("{lab.slug}", button=True)' in questions.source
    assert "portfolio.button()" in package.source
    for cell in (questions, package):
        assert cell.metadata["tags"] == [SKIP_TAG] and not nbgrader_of(cell)
    assert cells[start + 3].source.startswith("## Going further")
    assert list(rules._first_page(lab, lab.source())) == []


def test_the_sentence_comes_from_the_policy_that_learners_get(tmp_path):
    assert POLICY == ASSISTANTS
    assert policy_sentence() in " ".join(POLICY.read_text("utf-8").split())
    changed = tmp_path / "policy.md"
    changed.write_text(f"# Help\n\n{POLICY_HEADING}\n\nNo language models,\nplease.\n\n## Else\n\nMore.\n")
    assert policy_sentence(changed) == "No language models, please."
    changed.write_text("# Help\n\nNothing.\n")
    assert policy_sentence(changed) == ""


def test_what_the_build_adds_needs_no_new_training(labs, monkeypatch):
    lab = labs["13_your_own_dataset"]
    before = training.fingerprint(lab)
    monkeypatch.setattr("grader.reference.built_parts._PACKAGE", "import torch\n\ntorch.zeros(3)")
    assert "torch.zeros(3)" in [cell.source.split("\n")[-1] for cell in lab.source().cells]
    assert training.fingerprint(lab) == before
