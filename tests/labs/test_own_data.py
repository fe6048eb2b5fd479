"""Lab 12: its files are what they are said to be, its code agrees with the libraries, and its predictions and report are graded."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
import torch
from classroom import book_of, new_course
from typer.testing import CliRunner

from course_utils.data import own
from course_utils.data.documentation import load_documentation
from course_utils.data.own import (
    COLUMNS,
    LIBRARIES,
    default_rows,
    kept_logits,
    kept_seconds,
    load_unlabelled,
    read_rows,
    with_faults,
    write_rows,
)
from course_utils.maths import softmax
from course_utils.models.pretrained import encoder_folder, load_tokenizer, new_encoder
from grader.cli import app
from grader.course import Course
from grader.demo import any_runner, hand_in, solved
from grader.grade import autograde as grading
from grader.handout.bundle import write_bundle
from grader.lab import Lab, checked_exercise, nbgrader_of

NAME = "12_your_own_dataset"
SMALL = {
    "classification": [{"group": "a", "text": 'one, "two"\nthree', "label": "x"}],
    "entities": [{"group": "é", "text": "Ada Lovelace", "spans": [[0, 12, "Name"]]}],
    "questions": [{"group": "a", "context": "in May", "question": "When?", "answer": "May", "start": 3}],
}


@pytest.fixture(scope="module")
def lab(labs) -> Lab:
    return labs[NAME]


# ---------------------------------------------------------------------------------- files


@pytest.mark.parametrize("ending", [".csv", ".CSV", ".jsonl"])
@pytest.mark.parametrize("task", COLUMNS)
def test_a_file_is_read_as_it_was_written(tmp_path, task, ending):
    write_rows(tmp_path / f"rows{ending}", SMALL[task] * 2)
    assert read_rows(tmp_path / f"rows{ending}") == SMALL[task] * 2


def test_a_spreadsheet_s_byte_order_mark_is_no_part_of_the_first_column(tmp_path):
    (tmp_path / "rows.csv").write_bytes(b"\xef\xbb\xbfgroup,text,label\r\na,b,c\r\n")
    assert read_rows(tmp_path / "rows.csv") == [{"group": "a", "text": "b", "label": "c"}]


def test_what_cannot_be_read_as_a_number_or_as_spans_stays_a_text(tmp_path):
    (tmp_path / "rows.csv").write_text('group,spans,start\na,"[[0, 1",1.5\n')
    assert read_rows(tmp_path / "rows.csv") == [{"group": "a", "spans": "[[0, 1", "start": "1.5"}]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("rows.csv", "group,text\na,b\nc,d,e\n", "line 3: there are 3 cells, and the header has 2"),
        ("rows.jsonl", '{"a": 1}\n\n{"a": \n', "line 3: this is not JSON"),
        ("rows.jsonl", "[1]\n", "line 1: this is a list"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=said):
        read_rows(tmp_path / name)


@pytest.mark.parametrize("task", COLUMNS)
def test_the_default_sets_have_no_faults(lab, task):
    rows = default_rows(task)
    assert len(rows) >= 150
    assert lab.reference["validate_rows"](rows, task) == []
    assert len({row["group"] for row in rows}) > 20
    assert all(list(row) == list(COLUMNS[task]) for row in rows)


def test_the_improved_file_has_faults_copies_and_contradictions(lab):
    rows = default_rows("classification")[::20]
    improved = with_faults(rows)
    assert sorted(column for _, column in lab.reference["validate_rows"](improved, "classification")) >= [
        "label"
    ]
    assert len(improved) == len(rows) + 6
    good = [row for row in improved if isinstance(row.get("label"), str)]
    first, contradicted, _ = lab.reference["find_leaks"](
        [row["text"] for row in good], [row["label"] for row in good], np.zeros(len(good), bool)
    )
    assert (first != np.arange(len(good))).sum() == 6
    assert contradicted.sum() == 4


def test_the_kept_logits_are_those_of_the_notebook_s_split():
    for name in ("LoRA", "fine-tuned"):
        kept = kept_logits(name)
        assert {part: rows.shape for part, rows in kept.items()} == {"validation": (150, 6), "test": (300, 6)}
        assert 1 <= kept_seconds(name) < 100


# ---------------------------------------------------------------------------------- the unlabelled file


def test_the_unlabelled_texts_are_new_and_come_from_modules_that_are_not_in_the_default_set(lab):
    texts, documented = load_unlabelled(), load_documentation()
    assert len(texts) == len({text.lower() for text in texts}) == 300
    assert not {text.lower() for text in texts} & {one.text.lower() for one in documented}
    assert not set(lab.hidden["module"]) & {one.module for one in documented}
    assert Counter(lab.hidden["label"].tolist()) == dict.fromkeys(LIBRARIES, 50)


def test_nothing_that_learners_get_holds_the_hidden_labels(lab):
    hidden = [str(label) for label in lab.hidden["label"]]
    digits = "".join(str(LIBRARIES.index(label)) for label in hidden)
    handed_out = [*lab.release_folder.iterdir(), *own.UNLABELLED.parent.rglob("*.json")]
    for file in handed_out:
        text = file.read_bytes().decode("utf-8", "replace")
        assert digits[:40] not in text
        assert json.dumps(hidden[:8])[1:-1] not in text
        assert file.name != "hidden.json"
    with np.load(lab.release_folder / "expected.npz") as arrays:
        assert not any(arrays[name].any() for name in arrays.files if ".predictions/" in name)


@pytest.mark.slow
def test_the_zip_for_learners_has_the_texts_and_not_their_labels(lab, tmp_path):
    names = write_bundle(lab, tmp_path / "lab.zip")
    assert any(name.endswith("unlabelled.json") for name in names)
    assert not any("hidden" in name or "solutions" in name for name in names)


# ---------------------------------------------------------------------------------- beside the libraries


def test_lora_is_that_of_peft(lab):
    from peft import LoraConfig, get_peft_model

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.query = torch.nn.Linear(6, 9)

        def forward(self, x):
            return self.query(x)

    torch.manual_seed(0)
    net = Net()
    own_layer = lab.reference["LoRALinear"](torch.nn.Linear(6, 9), rank=3, alpha=7)
    own_layer.base.load_state_dict(net.query.state_dict())
    adapted = get_peft_model(net, LoraConfig(r=3, lora_alpha=7, target_modules=["query"]))
    layer = adapted.base_model.model.query
    with torch.no_grad():
        layer.lora_B["default"].weight.normal_()
        own_layer.down.copy_(layer.lora_A["default"].weight)
        own_layer.up.copy_(layer.lora_B["default"].weight)
    x = torch.randn(4, 5, 6)
    assert torch.allclose(own_layer(x), adapted(x), atol=1e-5)
    assert torch.allclose(own_layer.merged()(x), adapted.merge_and_unload()(x), atol=1e-5)


def test_embedding_with_the_pretrained_encoder_does_not_depend_on_the_batch(lab):
    texts = load_unlabelled()[:7]
    encoder, tokenizer = new_encoder(), load_tokenizer()
    together = lab.reference["embed"](encoder, tokenizer, texts, 4)
    alone = lab.reference["embed"](encoder, tokenizer, texts, 1)
    assert together.shape == (7, 384)
    assert np.allclose(together, alone, atol=1e-4)


def test_the_best_temperature_makes_a_model_that_is_too_sure_calibrated_again(lab):
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((4000, 4)) * 1.5
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(4, p=row) for row in shares])
    found = lab.reference["best_temperature"](3 * logits, labels, np.linspace(0.5, 6, 111))
    assert 2.7 < found < 3.3
    error = lab.reference["calibration_error"]
    sure = np.exp(3 * logits) / np.exp(3 * logits).sum(axis=1, keepdims=True)
    assert error(shares, labels) < 0.03 < 0.1 < error(sure, labels)


# ---------------------------------------------------------------------------------- with the tools of work

HUB_NAME = "somebody/which-library"


class FakeHub:
    """A hub with one repository, which is a folder; as `HfApi`, and as what loads a model where no network brings the base."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.private = folder, False

    def __call__(self) -> FakeHub:
        return self

    def create_repo(self, repo_id: str, *, private: bool, exist_ok: bool) -> None:
        assert repo_id == HUB_NAME and exist_ok
        self.private = private

    def upload_folder(self, *, repo_id: str, folder_path: Path) -> str:
        assert repo_id == HUB_NAME
        shutil.copytree(folder_path, self.folder)
        return "uploaded"

    def load(self, name: str, **options):
        """`AutoPeftModelForSequenceClassification.from_pretrained`, with the base from this computer."""
        from peft import AutoPeftModelForSequenceClassification

        assert name == HUB_NAME
        here = shutil.copytree(self.folder, self.folder.with_name("downloaded"))
        config = json.loads((here / "adapter_config.json").read_text())
        (here / "adapter_config.json").write_text(
            json.dumps(config | {"base_model_name_or_path": str(encoder_folder())})
        )
        return AutoPeftModelForSequenceClassification.from_pretrained(here, **options)


@pytest.fixture(scope="module")
def published(lab, tmp_path_factory):
    """What the section with the tools of work leaves behind if nothing is trained and somebody fills in a name."""
    folder = tmp_path_factory.mktemp("published")
    hub = FakeHub(folder / "hub")
    rows, tokenizer = default_rows("classification")[::100], load_tokenizer()
    made = {
        **lab.reference,
        **{"np": np, "torch": torch, "nn": torch.nn, "time": time, "Any": Any, "softmax": softmax},
        **{"tokenizer": tokenizer, "RUN_TRAINING": False, "LABELS": 6, "folder": folder, "majority": 0.25},
        "batch_of": lambda some: tokenizer(some, padding=True, truncation=True, return_tensors="pt"),
        "texts": [row["text"] for row in rows],
        "names": list(LIBRARIES),
        "y": np.array([LIBRARIES.index(row["label"]) for row in rows]),
        "chosen": np.arange(6),
        "test": np.arange(6, len(rows)),
        "draws": np.random.default_rng(0).integers(0, len(rows) - 6, (50, len(rows) - 6)),
        "hub": hub,
    }
    inside = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("huggingface_hub.HfApi", hub)
        patch.setattr("course_utils.models.pretrained.hub_reachable", lambda: True)
        for cell in lab.source().cells:
            if cell.cell_type == "markdown":
                headings = re.findall(r"^## .*", cell.source, re.MULTILINE)
                inside = "With the tools of work" in headings[-1] if headings else inside
            elif inside and not checked_exercise(cell):
                code = cell.source.replace("HUB_NAME = None", f"HUB_NAME = {HUB_NAME!r}")
                exec(
                    code.replace("AutoPeftModelForSequenceClassification.from_pretrained(", "hub.load("), made
                )
    return made


def test_the_folder_on_the_hub_is_complete_and_names_no_folder_of_the_computer(published):
    assert published["hub"].private
    files = {file.name: file.read_bytes() for file in published["hub"].folder.iterdir()}
    assert {"README.md", "adapter_config.json", "adapter_model.safetensors", "tokenizer.json"} <= set(files)
    assert files["README.md"].decode() == published["card"]
    config = json.loads(files["adapter_config.json"])
    assert config["base_model_name_or_path"] == "sentence-transformers/all-MiniLM-L6-v2"
    for name, content in files.items():
        for place in (published["folder"], encoder_folder(), encoder_folder().parent, Path.home()):
            assert str(place).encode() not in content, name


def test_what_is_loaded_from_the_hub_is_the_model_that_was_published(published):
    with torch.no_grad():
        there, here = (
            published[model].eval()(**published["example"]).logits for model in ("anywhere", "adapted")
        )
    assert torch.allclose(there, here, atol=1e-5)
    assert published["anywhere"].config.id2label == dict(enumerate(LIBRARIES))


def test_the_model_card_is_that_of_the_model_in_its_folder(lab, published):
    """Its figures are those of the published adapter, and it says that nothing was trained."""
    test, labels = published["test"], published["y"][published["test"]]
    with torch.no_grad():
        batch = published["batch_of"]([published["texts"][row] for row in test])
        logits = published["adapted"].eval()(**batch).logits.numpy()
    assert f"| accuracy | {(logits.argmax(axis=1) == labels).mean():.3f} |" in published["card"]
    error = lab.reference["calibration_error"](published["softmax"](logits), labels)
    assert f"| calibration error | {error:.3f} |" in published["card"]
    assert "| training texts | 0 |" in published["card"]
    assert "It was not trained" in published["card"]
    assert all(name in published["card"] for name in LIBRARIES)


# ---------------------------------------------------------------------------------- handed in


def report_cell(notebook):
    return next(cell for cell in notebook.cells if nbgrader_of(cell).get("grade_id") == "report")


@pytest.mark.slow
def test_predictions_and_report_go_from_release_to_feedback(tmp_path, monkeypatch):
    """Released, handed in, collected, graded, the report graded as formgrader does it, and handed back."""
    course = new_course(tmp_path)
    lab = Lab.load(course, NAME)
    monkeypatch.chdir(course.root)

    def command(*arguments: str) -> str:
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
        return done.output

    command("release", NAME)
    good = solved(lab)
    report_cell(good).source = "The data are first sentences of docstrings ..."
    poor = solved(lab, {"predictions": 'def predictions(texts):\n    return ["torch"] * len(texts)'})
    broken = solved(lab, {"predictions": 'def predictions(texts):\n    return ["torch"] * 8'})
    (tmp_path / "sent").mkdir()
    for student, notebook in {"good": good, "poor": poor, "broken": broken}.items():
        (tmp_path / "sent" / f"{student}_{lab.notebook_name}").write_text(nbformat.writes(notebook))
    command("collect", NAME, str(tmp_path / "sent"))
    records = {
        record.student: record
        for record in grading.autograde(lab, grading.submissions(lab), any_runner(lab), 5, jobs=2)
    }
    automatic = lab.points - lab.points_of_cells["report"]
    assert records["good"].score == automatic
    assert (
        records["poor"].score
        == records["broken"].score
        == automatic - lab.points_of_cells["check_predictions"]
    )
    assert [records[name].by_hand for name in ("good", "poor", "broken")] == [1, 0, 0]

    with book_of(course) as book:
        grade = book.find_grade("report", lab.slug, NAME, "good")
        assert grade.needs_manual_grade
        assert book.find_grade("check_predictions", lab.slug, NAME, "poor").auto_score == 0
        grade.manual_score, grade.needs_manual_grade = 3, False
        book.find_comment("report", lab.slug, NAME, "good").manual_comment = "No example of a mistake."
        book.db.commit()
    command("feedback", NAME)
    pages = {
        student: (course.feedback / student / NAME / f"{lab.slug}.html").read_text() for student in records
    }
    assert "No example of a mistake." in pages["good"]
    assert f"{automatic + 3:g} of {lab.points:g} points" in " ".join(pages["good"].split())
    assert "better than always the same label (17 %)" in pages["poor"] and "Not reached." in pages["poor"]
    assert "there are 8 labels for 300 texts" in pages["broken"]
    digits = "".join(str(LIBRARIES.index(str(label))) for label in lab.hidden["label"])
    assert not any(digits[:40] in page for page in pages.values())


@pytest.mark.slow
def test_an_untouched_report_earns_nothing_and_waits_for_nobody(tmp_path):
    course = Course(new_course(tmp_path).root)
    lab = Lab.load(course, NAME)
    hand_in(course, lab, "ada", lab.release())
    (record,) = grading.autograde(lab, grading.submissions(lab), any_runner(lab), 5)
    assert (record.score, record.by_hand) == (0, 0)
