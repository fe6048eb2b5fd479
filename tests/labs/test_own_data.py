"""Lab 13: its files are what they are said to be, its code agrees with the libraries, and its predictions and report are graded."""

from __future__ import annotations

import contextlib
import io
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

from course_utils.checking.comparison import compare
from course_utils.checking.exercise import PUBLIC_SEED
from course_utils.checking.expected import FILE_NAME, load_expected
from course_utils.checking.outcome import encode, try_exercise
from course_utils.checking.report import Report
from course_utils.data import own
from course_utils.data.documentation import load_documentation
from course_utils.data.language import language_of
from course_utils.data.own import (
    COLUMNS,
    LIBRARIES,
    default_rows,
    kept_logits,
    kept_seconds,
    load_asked,
    load_unlabelled,
    three_parts,
    with_faults,
    write_rows,
)
from course_utils.data.own_file import read_file
from course_utils.display import show_table
from course_utils.evaluation import accuracy, interval, macro_f1, noise_floor, shuffled
from course_utils.maths import softmax
from course_utils.models.own_models import linear_head, measured_answers, simple_answers, without_overlaps
from course_utils.models.pretrained import encoder_folder, load_tokenizer, new_encoder
from grader.catalogue import run_cell
from grader.cli import app
from grader.course import Course
from grader.grade import autograde as grading
from grader.grade.judge import remarkable
from grader.handout.bundle import write_bundle
from grader.handout.demo import any_runner, hand_in, solved
from grader.reference.lab import Lab, checked_exercise, nbgrader_of

NAME = "13_your_own_dataset"


@pytest.fixture(scope="module")
def lab(labs) -> Lab:
    return labs[NAME]


# ---------------------------------------------------------------------------------- files


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
        assert {part: rows.shape for part, rows in kept.items()} == {"validation": (600, 6), "test": (300, 6)}
        assert 1 <= kept_seconds(name) < 100


# ---------------------------------------------------------------------------------- what a report says


def reported(lab, name: str, source: str) -> str:
    """The report about a solution, as plain text."""
    key, scope = f"{lab.slug}.{name}", {**lab.reference}
    exercise = lab.exercises[key]
    run_cell(source, "<attempt>", scope)
    expected = load_expected(lab.release_folder / FILE_NAME, key, exercise)
    outcomes = try_exercise(exercise, key, scope[name], PUBLIC_SEED, scope)
    return repr(Report(compare(exercise, outcomes, expected), key))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return faults", "return faults[:-1]", "(34, 'group')]; expected "),
        ("return faults", "return tuple(faults)", "It returned a tuple; expected a list of pairs."),
        ("return faults", "pass", "The result is None; expected a list of pairs. Does every way through the code end"),
        ('"spans"))', '"span"))', "There is a fault in the column 'span'; the columns of this task are group, text, spans."),
        ("[(number, column)", "[(column, number)", "A fault must be a pair: the number of a row, and the name of a column."),
        ("[(number, column)", "[number", "A fault must be a pair: the number of a row, and the name of a column."),
        ("[(number, column)", "[(str(number), column)", "The number of a row is a str; expected an int."),
        ("[(number, column)", "[(number - 9, column)", "There is a fault in row -8; the file has 35 rows, counted from 1."),
    ],
)  # fmt: skip
def test_a_report_about_a_list_of_faults_speaks_of_faults_and_not_of_arrays(lab, old, new, said):
    source = lab.solution_texts["validate_rows"]
    assert old in source
    text = reported(lab, "validate_rows", source.replace(old, new))
    assert said in text
    assert "array" not in text and "`faults`[" not in text


def test_faults_that_are_returned_twice_are_not_called_right(lab):
    source = lab.solution_texts["validate_rows"].replace("return faults", "return faults * 2")
    text = reported(lab, "validate_rows", source)
    assert "[(1, 'label'), (1, 'label')" in text and "`faults` is right" not in text


def test_a_limit_that_is_too_high_is_not_called_a_missing_truncation(lab):
    source = lab.solution_texts["embed"].replace("truncation=True", "truncation=True, max_length=128")
    text = reported(lab, "embed", source)
    assert "reach it uncut" in text and "did you leave the length to it?" in text


def test_the_language_model_was_asked_about_the_notebook_s_validation_texts_and_about_no_others(lab):
    rows = default_rows("classification")
    labels = [row["label"] for row in rows]
    split = three_parts([row["group"] for row in rows], labels, lab.reference["split_by_group"])
    texts = [rows[row]["text"] for row in split["validation"]]
    said, seconds = load_asked(texts)
    assert len(said) == 600 and set(said) <= set(LIBRARIES) and seconds > 10
    assert load_asked(texts[:-1]) == ([], 0.0)


# ---------------------------------------------------------------------------------- the unlabelled file


def test_the_unlabelled_texts_are_new_and_their_labels_are_as_unequal_as_in_life(lab):
    texts, documented = load_unlabelled(), load_documentation()
    assert len(texts) == len({text.lower() for text in texts}) == 300
    assert not {text.lower() for text in texts} & {one.text.lower() for one in documented}
    counts = Counter(lab.hidden["label"].tolist())
    assert set(counts) == set(LIBRARIES)
    assert min(counts.values()) >= 40 and len(set(counts.values())) > 3


@pytest.mark.slow
def test_no_package_on_this_computer_holds_an_unlabelled_text(its_turn):
    """So there is nowhere to look the labels up: every Python source of the environment is searched, whatever its marks and capitals."""
    its_turn(3, 7)
    wanted = {plain(text) for text in load_unlabelled()}
    firsts = {text.split()[0] for text in wanted}
    by_beginning = {" ".join(text.split()[:4]): text for text in wanted}
    searched = 0
    for file in Path(np.__file__).parents[1].rglob("*.py"):
        searched += 1
        words = plain(file.read_text("utf-8", errors="replace")).split()
        for place in (place for place, word in enumerate(words) if word in firsts):
            text = by_beginning.get(" ".join(words[place : place + 4]))
            assert text is None or " ".join(words[place : place + len(text.split())]) != text, file
    assert searched > 5_000


def plain(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def test_nothing_that_learners_get_holds_the_hidden_labels(lab):
    hidden = [str(label) for label in lab.hidden["label"]]
    digits = "".join(str(LIBRARIES.index(label)) for label in hidden)
    handed_out = [*filter(Path.is_file, lab.release_folder.iterdir()), *own.UNLABELLED.parent.rglob("*.json")]
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
        **{"accuracy": accuracy, "interval": interval, "macro_f1": macro_f1, "show_table": show_table},
        **{"noise_floor": noise_floor, "shuffled": shuffled, "perfect": lambda shares: (0.0, 0.1)},
        **{"kept": {}, "groups": [row["group"] for row in rows], "validation_groups": None},
        "file": None,
        "language_of": language_of,
        "warning": "",
        "FILE": folder / "which-library.csv",
        "Path": Path,
        "rows": rows,
        "batch_of": lambda some: tokenizer(some, padding=True, truncation=True, return_tensors="pt"),
        "texts": [row["text"] for row in rows],
        "names": list(LIBRARIES),
        "y": np.array([LIBRARIES.index(row["label"]) for row in rows]),
        "chosen": np.arange(6),
        "validation": np.arange(6, 12),
        "by_group": {"second test": np.arange(12, len(rows))},
        "usual": 0,
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
    test = published["by_group"]["second test"]
    labels = published["y"][test]
    with torch.no_grad():
        batch = published["batch_of"]([published["texts"][row] for row in test])
        logits = published["adapted"].eval()(**batch).logits.numpy()
    assert f"| accuracy | {(logits.argmax(axis=1) == labels).mean():.3f} |" in published["card"]
    error = lab.reference["calibration_error"](published["softmax"](logits), labels)
    assert f"| calibration error | {error:.3f} |" in published["card"]
    assert "| training texts | 0 |" in published["card"]
    assert "It was not trained" in published["card"]
    assert "# Which library" in published["card"] and "language: en" in published["card"]
    assert (
        f"on {len(test)} texts of" in published["card"] and "groups of which-library.csv" in published["card"]
    )
    assert all(name in published["card"] for name in LIBRARIES)


# ---------------------------------------------------------------------------------- with a file of one's own


def test_a_linear_head_has_a_logit_for_every_class():
    """Two classes, of which scikit-learn gives one number; one class only, of which it learns nothing; and one that no label has."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    features, labels = rng.standard_normal((40, 3)), np.arange(40) % 2
    two = linear_head(features, labels, 2)(features)
    assert np.allclose(
        softmax(two), LogisticRegression(max_iter=1000).fit(features, labels).predict_proba(features)
    )
    three = softmax(linear_head(features, labels, 3)(features))
    assert three.shape == (40, 3) and (three[:, 2] < 0.03).all() and (three[:, 2] > 0).all()
    assert (linear_head(features, np.ones(40, int), 3)(features).argmax(axis=1) == 1).all()


def test_a_perfect_model_has_the_error_that_the_lab_calls_the_noise_floor(lab):
    """300 texts and a model that is right about six in ten: the error is far from 0 although nothing is wrong."""
    made = {**lab.reference, "np": np}
    (cell,) = [cell for cell in lab.source().cells if "def perfect(" in cell.source]
    exec(cell.source, made)
    shares = softmax(np.random.default_rng(0).standard_normal((300, 6)) * 1.5)
    low, high = made["perfect"](shares)
    assert 0.02 < low < 0.05 < high < 0.12


CLASSES = {
    2: ("works", "broken"),
    3: ("works", "broken", "late"),
    9: tuple(f"kind {number}" for number in range(9)),
}


def own_file(folder: Path, classes: int, rows: int = 120, header: str = "Sentence;Category;user") -> Path:
    """A file as somebody has it: semicolons, Windows-1252, other names, a rare class."""
    rng = np.random.default_rng(classes)
    names = CLASSES[classes]
    lines = [header]
    for number in range(rows):
        label = int(rng.integers(len(names))) if number % 3 else 0
        lines.append(
            f"the parcel n\u00b0 {number} was {names[label]} {'again ' * (number % 3)};{names[label]};{number % 40}"
        )
    (folder / "my-parcels.csv").write_bytes("\n".join([*lines, ""]).encode("cp1252"))
    return folder / "my-parcels.csv"


def walked(lab: Lab, folder: Path, file: Path, task: str, **changes: str) -> tuple[dict[str, Any], str]:
    """What the solved notebook leaves behind, with a file in the place of the default set, and what it prints."""
    made: dict[str, Any] = {"__name__": "walked"}
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for cell in lab.source().cells:
            if cell.cell_type != "code" or checked_exercise(cell):
                continue
            code = cell.source.replace(
                'FILE, TASK = None, "classification"', f"FILE, TASK = {str(file)!r}, {task!r}"
            )
            code = code.replace("load_unlabelled()", "load_unlabelled()[:8]")  # they are not about this file
            for old, new in changes.items():
                code = code.replace(old.replace("_is_", " = "), new)
            exec(compile(code, cell.id, "exec"), made)
    return made, said.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("classes", CLASSES)
def test_a_file_with_any_number_of_classes_goes_from_top_to_bottom_without_training(lab, tmp_path, classes):
    """`RUN_TRAINING = False`: what was kept for the default set is not taken for this one."""
    file = own_file(tmp_path, classes)
    made, said = walked(
        lab,
        tmp_path,
        file,
        "classification",
        **{"RUN_TRAINING, LABELS_is_True": "RUN_TRAINING, LABELS = False"},
    )
    assert "columns separated by semicolons" in said and "Windows-1252" in said
    assert set(made["kept"]) == {"frozen"} and "LoRA: not trained" in said
    assert made["names"] == sorted(CLASSES[classes])
    assert made["kept"]["frozen"].shape == (len(made["validation"]), classes)
    assert made["winner"] in ("frozen", "TF-IDF") and "SmolLM2, asked" not in made["said"]
    assert "second test" not in made["by_group"] and "The same texts chose its epoch" in made["card"]
    assert "# My parcels" in made["card"] and "groups of my-parcels.csv" in made["card"]
    assert all(name in made["card"] for name in CLASSES[classes])
    assert "which-library" not in made["card"].lower() and "librar" not in made["card"].lower()


@pytest.mark.slow
def test_a_file_with_two_classes_is_trained_on_saved_loaded_and_tried(lab, tmp_path):
    made, said = walked(
        lab,
        tmp_path,
        own_file(tmp_path, 2, rows=60),
        "classification",
        **{"num_train_epochs=20": "num_train_epochs=1", "epochs: int_is_8": "epochs: int = 1"},
    )
    assert set(made["kept"]) == {"frozen", "LoRA", "fine-tuned"}
    assert all(logits.shape == (len(made["validation"]), 2) for logits in made["kept"].values())
    assert "the same logits after loading: True" in said
    assert f"| training texts | {len(made['chosen'])} |" in made["card"]
    assert (made["saved"] / "README.md").read_text() == made["card"]


# ---------------------------------------------------------------------------------- entities and questions


@pytest.mark.slow
@pytest.mark.parametrize("task", ["entities", "questions"])
def test_entities_and_questions_go_from_a_file_to_a_model_with_a_card(lab, tmp_path, task):
    """Section 8 with a file of one's own: split, trained, measured, saved, loaded, tried, and described."""
    rows = (
        default_rows(task)[:24]
        if task == "questions"
        else [
            {
                "group": str(number % 12),
                "text": f"Ada met Bob in room {number}, and it was the day for it.",
                "spans": [[0, 3, "PER"], [8, 11, "PER"], [0, 11, "PAIR"]][: 1 + number % 3],
            }
            for number in range(24)
        ]
    )
    if task == "questions":
        rows = [
            {
                **row,
                "group": str(number % 8),
                "context": row["context"][: row["start"] + len(row["answer"]) + 60][-300:],
            }
            for number, row in enumerate(rows)
        ]
        rows = [{**row, "start": row["context"].find(row["answer"])} for row in rows]
    write_rows(tmp_path / "my-own.jsonl", [*rows, {**rows[0], "group": ""}])
    made: dict[str, Any] = {
        **lab.reference,
        "np": np,
        "Path": Path,
        "folder": tmp_path,
        "RUN_TRAINING": True,
        "TASK": task,
    }
    made |= {
        "FILE": tmp_path / "my-own.jsonl",
        "file": read_file(tmp_path / "my-own.jsonl", task),
        "default_rows": default_rows,
    }
    made |= {"groups_that_split": own.groups_that_split, "three_parts": own.three_parts}
    cells = [cell.source for cell in lab.source().cells if cell.cell_type == "code" and "ROAD" in cell.source]
    assert len(cells) == 2
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for code in cells:
            exec(code.replace('folder / "road")', 'folder / "road", epochs=1)'), made)
    assert "1 rows with faults are left out" in said.getvalue()
    assert made["own"].answers(made["test_rows"]) == made["model"].answers(made["test_rows"])
    low, high = made["scores"].interval
    assert 0 <= low <= made["scores"].score <= high <= 1
    assert (tmp_path / "own-model" / "README.md").read_text() == made["card"]
    assert (
        "# my-own" in made["card"]
        and 'language: "en"' in made["card"]
        and "groups of my-own.jsonl" in made["card"]
    )
    assert (
        f"| {len(made['train_rows'])} |" in made["card"] and f"| {len(made['test_rows'])} |" in made["card"]
    )


def test_of_spans_that_overlap_the_longest_stays():
    spans = [[0, 3, "PER"], [0, 11, "PAIR"], [20, 23, "PER"], [22, 30, "ORG"]]
    assert without_overlaps(spans) == [[0, 11, "PAIR"], [22, 30, "ORG"]]


def test_whole_spans_and_words_of_answers_are_measured():
    rows = [
        {"group": "a", "text": "Ada met Bob", "spans": [[0, 3, "PER"], [8, 11, "PER"]]},
        {"group": "b", "text": "in May", "spans": [[3, 6, "DATE"]]},
    ]
    exact = measured_answers("entities", rows, [row["spans"] for row in rows])
    assert (exact.score, dict(exact.parts)) == (1, {"DATE": 1, "PER": 1})
    assert exact.interval == (pytest.approx(0.025**0.5), 1)  # of two groups, all right: that says little
    half = measured_answers("entities", rows, [[[0, 3, "PER"], [8, 11, "DATE"]], []])
    assert half.score == pytest.approx(2 / 5) and half.parts == {"DATE": 0, "PER": pytest.approx(2 / 3)}
    asked = [
        {"group": "a", "context": "It rained in May.", "question": "When?", "answer": "in May", "start": 10}
    ]
    found = measured_answers("questions", asked, [[[10, 17, ""]]])
    assert found.score == pytest.approx(0.5) and found.parts == {"exactly right": 0}


def test_what_takes_no_model_is_measured_beside_it():
    training = [{"text": "Ada met Bob", "spans": [[0, 3, "PER"]]}]
    assert simple_answers("entities", training, [{"text": "Adam and Ada"}]) == [[[9, 12, "PER"]]]
    assert simple_answers("entities", [{"text": "a", "spans": []}], [{"text": "Ada"}]) == [[]]


# ---------------------------------------------------------------------------------- handed in


def test_predictions_that_are_better_than_anybodys_are_told_to_whoever_teaches(lab):
    """And to nobody else: it is no check, and it moves no points."""
    (key,) = [key for key in lab.exercises if key.endswith(".predictions")]
    expected = lab.expected(5)

    def remarks(right: int) -> tuple[str, ...]:
        labels = [str(label) for label in lab.hidden["label"]]
        wrong = [LIBRARIES[LIBRARIES.index(label) - 1] for label in labels]
        outcomes = lab.outcomes(key, lambda texts: labels[:right] + wrong[right:], 5)
        return remarkable(lab, expected, {key: encode(outcomes)})

    assert remarks(270) == ()
    (note,) = remarks(271)
    assert note.startswith("predictions: More than 90 % are right") and "ask how it was done" in note
    assert remarkable(lab, expected, {}) == ()
    assert len(lab.exercises[key].goals) == 4


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
    assert "better than always the same label (19 %)" in pages["poor"] and "Not reached." in pages["poor"]
    assert "There are 8 labels for 300 texts" in pages["broken"]
    digits = "".join(str(LIBRARIES.index(str(label))) for label in lab.hidden["label"])
    assert not any(digits[:40] in page for page in pages.values())


@pytest.mark.slow
def test_an_untouched_report_earns_nothing_and_waits_for_nobody(tmp_path):
    course = Course(new_course(tmp_path).root)
    lab = Lab.load(course, NAME)
    hand_in(course, lab, "ada", lab.release())
    (record,) = grading.autograde(lab, grading.submissions(lab), any_runner(lab), 5)
    assert (record.score, record.by_hand) == (0, 0)
