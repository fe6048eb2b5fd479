"""``python -m course_utils portfolio``: a package of one's own, ``my_transformer/``, out of the notebooks that one has solved.

Only what passes its check goes in, as the learner wrote it. What is not solved is left out and named, and what is the course's is
marked. A folder that this command did not make is never touched.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from textwrap import dedent

from course_utils import exercises, labs, progress
from course_utils.checking.bypass import as_cell
from course_utils.checking.expected import FILE_NAME as EXPECTED
from course_utils.checking.expected import Expected, load_outcomes, save_expected
from course_utils.labs import LabInfo
from course_utils.own_code.button import Say, show_button
from course_utils.portfolio_check import NOT_CODE
from course_utils.portfolio_commands import COMMANDS, PARTS_FILE, shell_words
from course_utils.portfolio_source import Notebook, Statement, Unreadable, read_notebook
from course_utils.yours import OFFERS

PACKAGE = "my_transformer"
MARKER = ".made-by-transformer-labs.json"
"""In a folder that this command made: the files it wrote, and their SHA-256."""

LICENCES = ("MIT", "Apache-2.0", "none")
COURSE = Path(__file__).resolve().parents[1]
_FAILS = "it does not pass its check yet"
_SECONDS = 900
"""The checks of one lab may take this long."""

_YOURS = "course_utils.yours"
_MOST_OF_A_FILE = 200_000

MODULES: dict[str, dict[str, tuple[str, str]]] = {
    "start_here": {"softmax": ("The softmax", "softmax")},
    "why_attention": {
        "recurrent": ("A recurrent network", "rnn_forward"),
        "early_attention": (
            "Bahdanau's and Luong's attention",
            "additive_scores dot_product_scores attend reweight",
        ),
        "costs": ("What a layer costs", "layer_cost"),
    },
    "self_attention": {
        "masks": ("Masks", "padding_mask causal_mask combine_masks"),
        "attention": (
            "Scaled dot-product attention and its kinds",
            "project_qkv attend_one_word scaled_dot_product_attention causal_self_attention cross_attention",
        ),
    },
    "multi_head_attention": {
        "heads": (
            "Attention with several heads",
            "multi_head_attention_loop split_heads merge_heads multi_head_attention MultiHeadAttention count_parameters",
        ),
    },
    "positional_encoding": {
        "positions": (
            "Positions: sinusoids, learned, rotary",
            "get_angles positional_encoding shift_matrix embed_tokens LearnedPositionalEmbedding rotary_embedding",
        ),
    },
    "transformer_pytorch": {
        "layers": ("The layers of a Transformer", "layer_norm FeedForward EncoderLayer DecoderLayer"),
        "model": ("The Transformer", "Encoder Decoder make_masks Transformer"),
        "training": (
            "Training a Transformer",
            "shift_right label_smoothed_loss warmup_schedule train_step",
        ),
        "decoding": ("Writing a sentence word by word", "greedy_decode beam_search"),
    },
    "transformer_tensorflow": {
        "keras_layers": ("The layers in Keras", "FullyConnected EncoderLayer DecoderLayer"),
        "keras_model": ("The Transformer in Keras", "Encoder Decoder Transformer SavableTransformer"),
        "keras_training": (
            "Training the Transformer in Keras",
            "masked_loss masked_accuracy WarmupSchedule train_step",
        ),
        "keras_decoding": ("Writing a sentence word by word, in Keras", "greedy_decode"),
    },
    "text_classification": {
        "documents": (
            "Texts to classify",
            "samples_per_length split_by_group bag_of_ngrams bucketed_batches",
        ),
        "classifier": (
            "A classifier of texts in Keras",
            "PositionalEmbedding TransformerEncoder masked_mean build_classifier best_epoch calibration_error",
        ),
    },
    "language_model_and_summarizer": {
        "language_model": (
            "A language model",
            "shift_targets masked_loss DecoderBlock GPT perplexity NGramModel sampling_probabilities",
        ),
        "summaries": ("Summaries", "summary_features rouge_l"),
        "llama": (
            "The parts of a Llama-like model",
            "rms_norm swiglu grouped_query_attention attend_with_cache",
        ),
    },
    "named_entity_recognition": {
        "entities": (
            "Names in texts",
            "clean_entities align_labels encode_batch TokenClassifier token_loss train_epoch decode_entities entity_scores",
        ),
    },
    "question_answering_pytorch": {
        "reader": (
            "A reader that points at answers",
            "answer_token_span split_into_windows make_features SpanHead span_loss best_span exact_match f1 train_step answer",
        ),
    },
    "question_answering_tensorflow": {
        "keras_reader": (
            "The reader in Keras",
            "answer_token_spans padded_batches SpanHead weights_from_torch span_loss best_spans train_step answer",
        ),
    },
    "text_to_text": {
        "tokenizer": ("A tokenizer: byte-pair encoding", "pair_counts merge encode decode"),
        "tasks": (
            "Every task as text",
            "teacher_forcing_batch mixture as_text from_text span_corruption",
        ),
    },
    "your_own_dataset": {
        "data_sets": ("Data sets: validated, split", "validate_rows find_leaks split_by_group embed"),
        "lora": ("Low-rank adapters", "LoRALinear"),
        "metrics": (
            "Comparing models",
            "learning_curve bootstrap_interval calibration_error best_temperature model_card",
        ),
    },
}
"""Lab -> module of the package -> its title, and the exercises whose definitions it has. What is not here goes to a module named after its lab."""


class Refused(Exception):
    """No package is made. The message says why, and what to do."""


# ---------------------------------------------------------------------------------- what there is


@dataclass(frozen=True)
class Piece:
    """An exercise that is written: its definition and what that needs.

    Attributes:
        statements: all of it, imports and the definition too, in the order of the notebook.
    """

    key: str
    lab: LabInfo
    notebook: Notebook
    definition: Statement
    statements: tuple[Statement, ...]

    @property
    def name(self) -> str:
        return self.key.partition(".")[2]


@dataclass
class Work:
    """What the notebooks have: the pieces by key, in the order of the course, and why other exercises have none."""

    pieces: dict[str, Piece] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    labs: list[LabInfo] = field(default_factory=list)

    def leave_out(self, key: str, why: str) -> None:
        """Leaves out an exercise and, until nothing changes, what calls one that is left out."""
        self.pieces.pop(key, None)
        self.missing[key] = why
        self.without_callers()

    def without_callers(self) -> None:
        """Leaves out what calls an exercise that is not there: the package would not run."""
        while found := next(
            ((key, other) for key in self.pieces if (other := self._calls_missing(key))), None
        ):
            key, other = found
            del self.pieces[key]
            self.missing[key] = f"it calls `{other}`, which is not in the package"

    def _calls_missing(self, key: str) -> str:
        piece = self.pieces[key]
        slug = piece.lab.slug
        bound = {name for each in piece.statements if not each.imported for name in each.binds}
        return next(
            (
                name
                for name in piece.lab.exercises
                if name != piece.name and name in bound and f"{slug}.{name}" not in self.pieces
            ),
            "",
        )


def gather(found: Sequence[LabInfo]) -> Work:
    """What is written in the notebooks of these labs. Nothing is run."""
    work = Work(labs=list(found))
    for lab in found:
        try:
            notebook = read_notebook(lab.folder / f"{lab.slug}.ipynb")
        except Unreadable as error:
            work.missing |= {f"{lab.slug}.{name}": f"its notebook: {error}" for name in lab.exercises}
            continue
        for name in lab.exercises:
            key = f"{lab.slug}.{name}"
            limit = notebook.limit(key)
            definition = notebook.definition(name, limit)
            if definition is None or definition.imported:
                work.missing[key] = "no cell of the notebook defines it"
            elif definition.is_unwritten:
                work.missing[key] = "not written yet"
            else:
                work.pieces[key] = Piece(
                    key, lab, notebook, definition, tuple(notebook.needed(definition, limit))
                )
    work.without_callers()
    return work


# ---------------------------------------------------------------------------------- modules


@dataclass
class Module:
    """A module of the package.

    Attributes:
        keys: the exercises that it has.
        statements: what stands in it, without imports.
        imports: the lines that import.
        helpers: names that stand in it and are no exercise.
        own: names of the course's that are the learner's here -> their keys.
        course: what it imports from the course.
        others: the modules of the package that it imports from.
        files: the learner's own files that it imports.
    """

    name: str
    title: str
    lab: LabInfo
    keys: list[str] = field(default_factory=list)
    statements: dict[Statement, None] = field(default_factory=dict)
    imports: dict[str, None] = field(default_factory=dict)
    helpers: list[str] = field(default_factory=list)
    own: dict[str, str] = field(default_factory=dict)
    course: dict[str, None] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    files: dict[str, Path] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The module's text."""
        ordered = sorted(self.statements, key=lambda each: each.place)
        marked = (
            f"# Helper, from cell {each.cell} of the notebook; no check tries it on its own.\n{each.text}"
            if set(self.helpers) & each.binds
            else each.text
            for each in ordered
        )
        head = f'"""{self.title}. From lab {self.lab.number}, {self.lab.title}."""'
        texts = ["\n\n".join(filter(None, [head, *_import_lines(self.imports)])), *marked]
        return "\n\n\n".join(texts) + "\n"


def _import_lines(imports: Mapping[str, object]) -> list[str]:
    """Lines that import, in groups: libraries, the course, the package; and then what is made of them."""
    groups: dict[int, list[str]] = {0: [], 1: [], 2: [], 3: []}
    for line in sorted(imports, key=lambda each: (each.startswith("from "), each)):
        of_course, of_package = line.startswith("from course_utils"), line.startswith(f"from {PACKAGE}")
        group = 1 if of_course else 2 if of_package else 0 if line.startswith(("import ", "from ")) else 3
        groups[group].append(line)
    keras = any(re.match(r"(import|from) (keras|tensorflow)\b", line) for line in groups[0])
    return [*([_BACKEND] if keras else []), *("\n".join(lines) for lines in groups.values() if lines)]


_BACKEND = 'import os\n\nos.environ.setdefault("KERAS_BACKEND", "tensorflow")  # before Keras is imported'


def modules_of(work: Work, refused: frozenset[str] = frozenset()) -> dict[str, Module]:
    """The package's modules by name.

    Args:
        refused: labs in which the course's versions of earlier work stay.
    """
    merged: frozenset[str] = frozenset()
    while True:
        made = _modules(work, refused, merged)
        try:
            TopologicalSorter({name: module.others for name, module in made.items()}).prepare()
        except CycleError as error:  # modules that need each other become one
            merged |= {made[name].lab.slug for name in error.args[1]}
        else:
            return made


def _home_of(key: str, merged: frozenset[str]) -> tuple[str, str]:
    slug, _, name = key.partition(".")
    for module, (title, names) in MODULES.get(slug, {}).items():
        if name in names.split() and slug not in merged:
            return module, title
    return slug, "All exercises"


def _modules(work: Work, refused: frozenset[str], merged: frozenset[str]) -> dict[str, Module]:
    made: dict[str, Module] = {}
    owner: dict[tuple[str, Statement], str] = {}
    for key, piece in work.pieces.items():
        name, title = _home_of(key, merged)
        made.setdefault(name, Module(name, title, piece.lab)).keys.append(key)
        owner[piece.lab.slug, piece.definition] = name
    for key, piece in work.pieces.items():
        for each in piece.statements:
            if not each.imported:
                owner.setdefault((piece.lab.slug, each), _home_of(key, merged)[0])
    named = {(piece.lab.slug, piece.definition) for piece in work.pieces.values()}
    for piece in work.pieces.values():
        slug = piece.lab.slug
        for each in piece.statements:
            if each.imported:
                continue
            module = made[owner[slug, each]]
            if each in module.statements:
                continue
            module.statements[each] = None
            if (slug, each) not in named:
                module.helpers += sorted(each.binds)
            for name in sorted(each.needs):
                others = [other for other in piece.statements if name in other.binds and other is not each]
                if not others or name in each.binds:
                    continue
                meant = others[-1]
                if meant.imported:
                    _import(module, meant, piece.lab, work, refused, merged)
                elif (home := owner[slug, meant]) != module.name:
                    module.imports[f"from {PACKAGE}.{home} import {name}"] = None
                    module.others.add(home)
    return made


def _import(
    module: Module, each: Statement, lab: LabInfo, work: Work, refused: frozenset[str], merged: frozenset[str]
) -> None:
    """Adds an import, of the learner's own version where there is one."""
    (local,) = each.binds
    top = each.imported.partition(".")[0]
    offer = next(
        (
            name
            for name, each_offer in OFFERS.items()
            if each.imported in (each_offer.course, f"{_YOURS}.{name}")
        ),
        None,
    )
    if offer and OFFERS[offer].key in work.pieces and lab.slug not in refused:
        key = OFFERS[offer].key
        home, its_name = _home_of(key, merged)[0], key.partition(".")[2]
        module.own[local] = key
        module.others.add(home)
        if OFFERS[offer].fit:
            module.course["course_utils.yours.fitted"] = None
            module.imports["from course_utils.yours import fitted  # the course's"] = None
            module.imports[f"from {PACKAGE}.{home} import {its_name} as _{its_name}"] = None
            line = (
                f'{local} = fitted("{offer}", _{its_name})  # yours, so that it takes what this lab gives it'
            )
            module.imports[line] = None
        else:
            module.imports[
                f"from {PACKAGE}.{home} import {its_name}{'' if local == its_name else f' as {local}'}"
            ] = None
    elif top == "course_utils":
        full = OFFERS[offer].course if offer else each.imported  # not what asks the notebooks whose it is
        module.course[full] = None
        text = each.text.replace(f"from {_YOURS} ", f"from {full.rpartition('.')[0]} ")
        module.imports[f"{text}  # the course's"] = None
    elif (file := lab.folder / f"{top}.py").is_file() and file.name != exercises.FILE_NAME:
        module.files[top] = file
        text = re.sub(rf"^import {top}\b", f"from {PACKAGE} import {top}", each.text)
        module.imports[re.sub(rf"^from {top}\b", f"from {PACKAGE}.{top}", text)] = None
    else:
        module.imports[each.text] = None


# ---------------------------------------------------------------------------------- only what passes


def keep_what_passes(work: Work, said: Callable[[str], None]) -> dict[str, Module]:
    """The modules of what passes its check, as it stands in them. What does not is left out of ``work``."""
    refused: frozenset[str] = frozenset()
    known: dict[str, tuple[str, dict[str, str]]] = {}  # lab -> the text that was checked, what was said of it
    while True:
        made = modules_of(work, refused)
        failed: dict[str, str] = {}
        for lab in work.labs:
            its = {name: module for name, module in made.items() if module.lab == lab}
            if not its:
                continue
            text = json.dumps([module.text for module in its.values()])
            if known.get(lab.slug, ("", {}))[0] != text:
                count = sum(len(module.keys) for module in its.values())
                said(f"Lab {lab.number}: checking {count} of your exercises ...")
                faults = _faults(work, made, its)
                if any(faults.values()) and any(module.own for module in its.values()):
                    others = modules_of(work, refused | {lab.slug})
                    again = _faults(work, others, {name: others[name] for name in its if name in others})
                    if sum(map(bool, again.values())) < sum(map(bool, faults.values())):
                        refused |= {lab.slug}
                        faults = again
                known[lab.slug] = text, faults
            failed |= {
                key: fault for key, fault in known[lab.slug][1].items() if fault and key in work.pieces
            }
        if not failed:
            return modules_of(work, refused)
        for key in [key for key in work.pieces if key in failed]:  # in the order of the course
            if key in work.pieces:  # else it calls one that failed
                fault = failed[key]
                work.leave_out(key, fault if fault == NOT_CODE else f"{_FAILS}: {fault}")


def _faults(work: Work, made: Mapping[str, Module], its: Mapping[str, Module]) -> dict[str, str]:
    """What the checks say about the exercises in some modules of one lab, tried in a process of their own."""
    keys = {key: f"{PACKAGE}.{name}" for name, module in its.items() for key in module.keys}
    piece = work.pieces[next(iter(keys))]
    sources = list(piece.notebook.sources)
    sources += [
        as_cell(file.name, _text_in(file)) for module in its.values() for file in module.files.values()
    ]
    asked = json.dumps({"modules": keys, "folder": str(piece.lab.folder.resolve()), "sources": sources})
    with tempfile.TemporaryDirectory() as scratch:
        _write_modules(Path(scratch) / PACKAGE, made)
        environment = {name: value for name, value in os.environ.items() if name != "TRANSFORMER_LABS_SEED"}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(COURSE), os.environ.get("PYTHONPATH")]))
        environment |= {
            "KERAS_BACKEND": "tensorflow",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, "-m", "course_utils.portfolio_check", scratch]
        try:
            printed = subprocess.run(
                command,
                input=asked,
                text=True,
                capture_output=True,
                cwd=scratch,
                env=environment,
                timeout=_SECONDS,
            ).stdout
            why = "its process came to an end before it was checked"
        except subprocess.TimeoutExpired as error:
            printed = (error.stdout or b"").decode("utf-8", "replace")
            why = "its check takes too long"
    found = dict.fromkeys(keys, why)
    for line in printed.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:  # what the learner's code wrote to the descriptor itself
            continue
        if isinstance(entry, dict):
            found |= {key: fault for key, fault in entry.items() if key in found and isinstance(fault, str)}
    return found


def _write_modules(folder: Path, made: Mapping[str, Module]) -> None:
    for file, text in _module_files(made).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, "utf-8")


def _module_files(made: Mapping[str, Module]) -> dict[str, str]:
    files = {
        "__init__.py": '"""A Transformer of my own, built exercise by exercise in the course Transformer labs."""\n'
    }
    for name, module in made.items():
        files[f"{name}.py"] = module.text
        for top, file in module.files.items():
            files[f"{top}.py"] = _text_in(file)
    return files


def _text_in(file: Path) -> str:
    with file.open("rb") as opened:
        return opened.read(_MOST_OF_A_FILE).decode("utf-8", "replace")


# ---------------------------------------------------------------------------------- the rest of the package


def commands_of(work: Work, made: Mapping[str, Module]) -> dict[str, dict[str, list[str]]]:
    """The commands whose parts are all there -> whose code they run: ``yours`` and ``course``."""
    found = {}
    for name, command in COMMANDS.items():
        if not all(key in work.pieces for key in command.needs):
            continue
        seen, reached = set(command.needs), list(command.needs)
        theirs: dict[str, None] = {}
        for key in reached:  # grows
            piece = work.pieces[key]
            statements = {other.definition: k for k, other in work.pieces.items() if other.lab == piece.lab}
            imported = {each.imported: next(iter(each.binds)) for each in piece.statements if each.imported}
            own = {
                local: its
                for module in made.values()
                if module.lab == piece.lab
                for local, its in module.own.items()
            }
            others = [statements[each] for each in piece.statements if each in statements]
            others += [own[local] for local in imported.values() if local in own]
            theirs |= {
                full.rpartition(".")[2]: None
                for full, local in imported.items()
                if full.startswith("course_utils.") and local not in own
            }
            for other in others:
                if other not in seen:
                    seen.add(other)
                    reached.append(other)
        labels = [
            f"`{key.partition('.')[2]}` (lab {work.pieces[key].lab.number})"
            for key in work.pieces
            if key in seen
        ]
        found[name] = {"yours": labels, "course": list(theirs)}
    return found


def _tests(work: Work, made: Mapping[str, Module]) -> str:
    checks = {key: f"{PACKAGE}.{module.name}" for module in made.values() for key in module.keys}
    lines = "\n".join(f'    "{key}": "{module}",' for key, module in checks.items())
    return f'''"""The course's checks of what is in this package, at the seed that learners see. They need the course's own package.

What is tried is in checks/*/exercises.py, what must come out in checks/*/expected.npz. The course wrote these.
"""

import os
from pathlib import Path

import pytest

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.pop("TRANSFORMER_LABS_SEED", None)

from course_utils.portfolio_check import fault_in_module  # noqa: E402

CHECKS = {{
{lines}
}}


@pytest.mark.parametrize("exercise, module", CHECKS.items(), ids=list(CHECKS))
def test_it_passes_the_check_of_its_exercise(exercise, module):
    folder = Path(__file__).parent / "checks" / exercise.partition(".")[0]
    assert not fault_in_module(exercise, module, folder)
'''


def _write_checks(folder: Path, work: Work) -> None:
    """What is tried and what comes out: no misconceptions, no hints, no other exercise's arrays."""
    for lab in work.labs:
        its = [key for key, piece in work.pieces.items() if piece.lab == lab]
        if not its:
            continue
        (folder / lab.slug).mkdir(parents=True)
        shutil.copy(lab.folder / exercises.FILE_NAME, folder / lab.slug)
        known, _ = load_outcomes(lab.folder / EXPECTED)
        expected = {key: Expected((), known[key].reference) for key in its}
        save_expected(folder / lab.slug / EXPECTED, expected, {})


_DISTRIBUTIONS = ("numpy", "torch", "keras", "tensorflow", "transformers")


def _pyproject(made: Mapping[str, Module], licence: str, author: str, may_publish: bool) -> str:
    texts = "\n".join(line for module in made.values() for line in module.imports)
    used = [name for name in _DISTRIBUTIONS if re.search(rf"^(?:import|from) {name}\b", texts, re.MULTILINE)]
    lines = [
        "[build-system]",
        'requires = ["setuptools>=77"]',
        'build-backend = "setuptools.build_meta"',
        "",
        "[project]",
        'name = "my-transformer"',
        'version = "0.1.0"',
        'description = "A Transformer of my own, from attention to a trained translator"',
        'readme = "README.md"',
        'requires-python = ">=3.11"',
        f"dependencies = {json.dumps(used)}",
    ]
    if author:
        lines.append(f"authors = [{{ name = {json.dumps(author, ensure_ascii=False)} }}]")
    if licence != "none":
        lines += [f'license = "{licence}"', 'license-files = ["LICENSE", "LICENSE-course"]']
    if not may_publish:
        lines.append('classifiers = ["Private :: Do Not Upload"]')
    lines += [
        "",
        "[project.optional-dependencies]",
        'test = ["pytest"]',
        "",
        "[tool.setuptools]",
        f'packages = ["{PACKAGE}"]',
        "",
        "[tool.setuptools.package-data]",
        f'{PACKAGE} = ["{PARTS_FILE}"]',
        "",
        "[tool.pytest.ini_options]",
        'testpaths = ["tests"]',
        "",
    ]
    return "\n".join(lines)


_MAIN = f'''"""``python -m {PACKAGE}``: what this code can do, with weights that come with the course. The course wrote this file."""

import os
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

try:
    from course_utils.portfolio_commands import main
except ModuleNotFoundError as error:
    sys.exit(f"The weights come with the course, whose package is not installed here ({{error.name}}). Run this in the course's environment.")

if __name__ == "__main__":
    sys.exit(main("{PACKAGE}", sys.argv[1:]))
'''


def may_publish() -> bool:
    """Whether the course allows learners to publish their work: ``publish`` in ``[tool.transformer-labs]`` of its pyproject.toml."""
    try:
        settings = tomllib.loads((COURSE / "pyproject.toml").read_text("utf-8"))
    except (OSError, ValueError):
        return True
    return settings.get("tool", {}).get("transformer-labs", {}).get("publish", True) is not False


def _readme(work: Work, made: Mapping[str, Module], commands: Mapping[str, Mapping], licence: str) -> str:
    scores = progress.load()
    count = sum(len(lab.exercises) for lab in work.labs)
    lines = ["# My Transformer", ""]
    if not may_publish():
        lines += [
            "> **Please do not publish this folder.** My instructors ask for that, because it has answers to exercises "
            "that others still have before them. Keep it to yourself, or in a private repository.",
            "",
        ]
    lines += [
        f"I wrote this code in the course Transformer labs: {len(work.pieces)} of its {count} exercises, each of which passes the course's "
        "check. Signatures and docstrings came with the exercises, and so did the lines of a function that were not left to write.",
        "",
        "## What it can do",
        "",
    ]
    for name, whose in commands.items():
        example = shell_words(COMMANDS[name].example)
        lines += [f"    python -m {PACKAGE} {name} {example}", ""]
        lines += [
            f"{_sentence(COMMANDS[name].says)}. Mine: {', '.join(whose['yours'])}. "
            + (
                f"The course's: {', '.join(f'`{each}`' for each in whose['course'])}, and what loads the weights."
                if whose["course"]
                else "The course's: what loads the weights."
            ),
            "",
        ]
    for name in COMMANDS:
        if name not in commands:
            lacking = [key.partition(".")[2] for key in COMMANDS[name].needs if key not in work.pieces]
            lines += [
                f"Not yet: `{name}`, which {COMMANDS[name].says}. It needs {', '.join(f'`{each}`' for each in lacking)}.",
                "",
            ]
    lines += [
        "The weights are the course's and come with its package, so these commands run in the course's environment.",
        "",
        "## What is in it",
        "",
        "| module | what I wrote | lab | solved with |",
        "|---|---|---|---|",
    ]
    for module in made.values():
        names = ", ".join(f"`{key.partition('.')[2]}`" for key in module.keys)
        tries = sum(scores.get(key, {}).get("attempts", 0) for key in module.keys)
        solved = f"{tries} {'attempt' if tries == 1 else 'attempts'}" if tries else ""
        lines.append(
            f"| `{PACKAGE}.{module.name}` | {names} | {module.lab.number} {module.lab.title} | {solved} |"
        )
    helpers = [
        f"`{name}` in `{PACKAGE}.{module.name}`" for module in made.values() for name in module.helpers
    ]
    if helpers:
        lines += [
            "",
            f"Helpers from the same notebooks, mine or the course's, which no check tries on their own: {', '.join(helpers)}.",
        ]
    course = sorted({each for module in made.values() for each in module.course})
    if course:
        lines += [
            "",
            "## What is the course's",
            "",
            "These are imported from the course's package and marked `# the course's` where they are:",
            "",
            *(f"- `{each}`" for each in course),
            "",
            "So are `tests/`, `__main__.py`, and all weights. The course does not publish its package on PyPI, so pip cannot install it from there: "
            "modules that import it run in the course's environment.",
        ]
    own = {f"`{name}` in `{PACKAGE}.{module.name}`" for module in made.values() for name in module.own}
    if own:
        lines += [
            "",
            f"Where the labs import the course's version of something I had built, this package uses mine: {', '.join(sorted(own))}.",
        ]
    if work.missing:
        lines += ["", "## What is missing", "", "| exercise | lab | why | best score |", "|---|---|---|---|"]
        for lab in work.labs:
            for key in (
                f"{lab.slug}.{name}" for name in lab.exercises if f"{lab.slug}.{name}" in work.missing
            ):
                best = scores.get(key, {}).get("best")
                score = "" if best is None else f"{int(100 * best)} %"
                why = work.missing[key].replace("|", r"\|").replace("\n", " ")
                lines.append(f"| `{key.partition('.')[2]}` | {lab.number} {lab.title} | {why} | {score} |")
    lines += [
        "",
        "## Tests",
        "",
        "    pip install --no-deps .",
        "    pytest",
        "",
        "They are the course's checks, at the seed that learners see: the same cases, properties and expected arrays as in the notebooks.",
        "",
        "## Licence",
        "",
        "None yet: without one, others may read this code but not use it."
        if licence == "none"
        else f"{licence}, see `LICENSE`.",
        "Signatures, docstrings, given lines and tests are the course's, under the terms in `LICENSE-course`.",
        "",
    ]
    return "\n".join(lines)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _licence_text(licence: str, author: str) -> str:
    course = (COURSE / "LICENSE").read_text("utf-8")
    if licence == "MIT":
        return re.sub(
            r"^Copyright .*$",
            f"Copyright (c) {date.today().year} {author}",
            course,
            count=1,
            flags=re.MULTILINE,
        )
    return (Path(__file__).parent / "licences" / "Apache-2.0.txt").read_text("utf-8")


# ---------------------------------------------------------------------------------- the folder


def make(
    notebooks: Path, out: Path, licence: str = "none", author: str = "", said: Callable[[str], None] = print
) -> Work:
    """Makes the package, or makes it anew.

    Args:
        notebooks: the folder with the labs' folders.
        out: where the package goes. It must not exist, be empty, or have been made by this function.
        licence: one of ``LICENCES``.
        author: the name in the licence.
        said: gets each line about what is going on.

    Returns:
        what went in, and what is missing.

    Raises:
        Refused: there is nothing to make it of, or the folder is not ours; the message says what to do.
    """
    if licence == "MIT" and not author.strip():
        raise Refused('The MIT licence names its author. Say who you are: --author "Your Name".')
    before = _made_before(out)
    found = labs.labs_in(notebooks)
    if not found:
        raise Refused(
            f"There are no labs in {notebooks}. Run this in the course's folder, or say where they are: --notebooks FOLDER."
        )
    work = gather(found)
    if not work.pieces:
        raise Refused(_nothing_yet(work))
    made = keep_what_passes(work, said)
    if not work.pieces:
        raise Refused(_nothing_yet(work))
    commands = commands_of(work, made)
    with tempfile.TemporaryDirectory() as scratch:
        new = Path(scratch) / "new"
        (new / "tests").mkdir(parents=True)
        _write_modules(new / PACKAGE, made)
        homes = {key: module.name for module in made.values() for key in module.keys}
        parts = {"modules": homes, "commands": commands}
        texts = {
            f"{PACKAGE}/{PARTS_FILE}": json.dumps(parts, indent=1) + "\n",
            f"{PACKAGE}/__main__.py": _MAIN,
            "tests/test_checks.py": _tests(work, made),
            "README.md": _readme(work, made, commands, licence),
            "pyproject.toml": _pyproject(made, licence, author.strip(), may_publish()),
            "LICENSE-course": (COURSE / "LICENSE").read_text("utf-8"),
            ".gitignore": "__pycache__/\n.pytest_cache/\nbuild/\n*.egg-info/\n",
        }
        if licence != "none":
            texts["LICENSE"] = _licence_text(licence, author.strip())
        for name, text in texts.items():
            (new / name).write_text(text, "utf-8")
        _write_checks(new / "tests" / "checks", work)
        _put(new, out, before, said)
    return work


def _made_before(out: Path) -> dict[str, str]:
    """The files that were made in a folder, and their SHA-256; nothing if there is no such folder or it is empty.

    Raises:
        Refused: it is somebody else's.
    """
    if not os.path.lexists(out) or (out.is_dir() and not out.is_symlink() and not any(out.iterdir())):
        return {}
    try:
        known = json.loads((out / MARKER).read_text("utf-8"))["files"]
        if not out.is_symlink() and all(isinstance(each, str) for pair in known.items() for each in pair):
            return known
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    raise Refused(
        f"{out} is there already, and this command did not make it, so it is left as it is. Rename it, or choose another name: --out FOLDER."
    )


def _put(new: Path, out: Path, before: Mapping[str, str], said: Callable[[str], None]) -> None:
    """Replaces what was made before. A file that somebody has changed since is kept beside the new one."""
    out.mkdir(parents=True, exist_ok=True)
    made = {path.relative_to(new).as_posix(): path for path in sorted(new.rglob("*")) if path.is_file()}
    digests = {name: _digest(path) for name, path in made.items()}
    for name in (*before, *made):
        if not (out / name).parent.resolve().is_relative_to(out.resolve()):
            raise Refused(
                f"{out / name} would lie outside of {out}, because of a link. Remove the link, or choose another name: --out FOLDER."
            )
    (out / MARKER).write_text(
        json.dumps({"files": digests}, indent=1) + "\n", "utf-8"
    )  # first: it may be cut short
    for name, digest in before.items():
        there = out / name
        if there.is_symlink() or not there.is_file():
            continue
        if _digest(there) in (digest, digests.get(name)):
            there.unlink()
        else:
            _keep(there, said)
    for name, path in made.items():
        there = out / name
        there.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(there):
            _keep(there, said)
        shutil.copyfile(path, there)


def _keep(there: Path, said: Callable[[str], None]) -> None:
    number = 1
    while os.path.lexists(
        kept := there.with_name(f"{there.name}.before{'' if number == 1 else f'-{number}'}")
    ):
        number += 1
    there.rename(kept)
    said(f"You have changed {there.name}: yours is kept as {kept.name}.")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _nothing_yet(work: Work) -> str:
    lab = work.labs[0]
    failed = [(key, why) for key, why in work.missing.items() if why.startswith(_FAILS)]
    if failed:
        key, _ = failed[0]
        number = next(each.number for each in work.labs if each.slug == key.partition(".")[0])
        return (
            f"There is nothing to make a package of yet: of what you have written, nothing passes its check. Begin with `{key.partition('.')[2]}` "
            f"in lab {number}: its check says what is missing. Then run this again."
        )
    return (
        f"There is nothing to make a package of yet: no exercise is solved. Begin with lab {lab.number}, {lab.title}: open "
        f"{lab.name}/{lab.slug}.ipynb, write `{lab.exercises[0]}`, and run the check below it. Then save the notebook and run this again."
    )


def main(arguments: Sequence[str]) -> int:
    """The command.

    Returns:
        what the process ends with: 0, or 1 if no package was made.
    """
    parser = argparse.ArgumentParser(
        prog="python -m course_utils portfolio", description=dedent(__doc__.split("\n\n")[1])
    )
    parser.add_argument("--notebooks", type=Path, default=_notebooks(), help="the folder with the labs")
    parser.add_argument(
        "--out", type=Path, default=_beside_the_labs(), help="where the package goes (default: %(default)s)"
    )
    parser.add_argument(
        "--license", choices=LICENCES, default="none", help="under which others may use your code"
    )
    parser.add_argument("--author", default="", help="your name, for the licence")
    given = parser.parse_args(arguments)
    try:
        work = make(given.notebooks, given.out, given.license, given.author)
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(_result(work, given.out)))
    return 0


def _result(work: Work, out: Path) -> list[str]:
    count = sum(len(lab.exercises) for lab in work.labs)
    lines = [
        f"{out} has {len(work.pieces)} of {count} exercises: your own code. Its README.md says what is in it and what is missing."
    ]
    if not may_publish():
        lines.append("Please do not publish it: your instructors ask for that.")
    return lines


def package(license: str = "none", author: str = "") -> None:
    """The command, for a cell of a notebook.

    Args:
        license: "MIT", "Apache-2.0" or "none".
        author: your name, for the licence.
    """
    main(["--license", license, "--author", author])


def button() -> None:
    """A button that makes the package, without a licence, for the end of a notebook."""

    def work(say: Say) -> None:
        out = _beside_the_labs()
        try:
            lines = _result(make(_notebooks(), out, said=say), out)
        except Refused as error:
            lines = [str(error)]
        except OSError as error:  # in a browser without an operating system, programs cannot be started
            lines = [
                f"The package cannot be made here: {error}. Download your notebooks, and make it in the course's folder."
            ]
        for line in lines:
            say(line)

    show_button(
        "Make a package of my code",
        work,
        "in the notebook, this button makes `my_transformer`, an installable package of what you have solved.",
    )


def _notebooks() -> Path:
    """The labs' folder: beside the course's package, or where one stands."""
    here = Path.cwd()
    near = next((each for each in (here / "notebooks", here, here.parent) if labs.labs_in(each)), None)
    return near or COURSE / "notebooks"


def _beside_the_labs() -> Path:
    """Where the package goes: here, or, from inside a lab's folder, beside that."""
    return (Path.cwd().parent if labs.read(Path.cwd()) else Path.cwd()) / PACKAGE
