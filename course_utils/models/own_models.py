"""Models of a learner's own rows, from the file to a card: a linear classifier of any classes, and encoders for entities and for questions.

Labs 09 and 10 build what is inside of the latter two by hand; here they are put together from the tools of work (`AutoModelFor...`,
`Trainer`), so that a file of one's own gets a model that is measured, saved, loaded again and tried. Lab 13 is the user.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.data.language import language_of
from course_utils.data.own import COLUMNS, Row
from course_utils.evaluation import accuracy, interval, span_f1

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

BASE = "sentence-transformers/all-MiniLM-L6-v2"
"""What everybody calls the encoder of the course."""
BASE_LICENSE, BASE_LANGUAGE = "apache-2.0", "en"

# ---------------------------------------------------------------------------------- classification


def linear_head(
    features: Any, labels: np.ndarray, classes: int, **options: Any
) -> Callable[[Any], np.ndarray]:
    """A logistic regression that gives logits for every class, however many were among its labels.

    scikit-learn's gives one number for two classes, nothing for a class that no label has, and refuses to learn from one class. Here two
    classes have two logits with the same probabilities; an absent class has the share that Laplace's rule leaves it.

    Args:
        labels: numbers, 0 <= label < classes.
        options: of scikit-learn's LogisticRegression.

    Returns:
        features -> (rows, classes), logarithms of shares.
    """
    from sklearn.linear_model import LogisticRegression

    seen = np.unique(labels)
    absent = np.log(1 / (len(labels) + classes))
    model = (
        LogisticRegression(**{"max_iter": 1000, **options}).fit(features, labels) if len(seen) > 1 else None
    )

    def logits(others: Any) -> np.ndarray:
        count = others.shape[0] if hasattr(others, "shape") else len(others)
        found = np.full((count, classes), absent)
        found[:, seen] = 0.0 if model is None else model.predict_log_proba(others)
        return found

    return logits


# ---------------------------------------------------------------------------------- entities and questions


def tags_words(task: str) -> bool:
    """Whether a task asks for a label of each word piece, and not for the place of an answer."""
    return task == "entities"


@dataclass
class OwnModel:
    """A model of one's own rows: what it is, and the names of what it tells apart (tags; none for questions)."""

    task: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    tags: tuple[str, ...] = ()

    def answers(self, rows: Sequence[Mapping[str, Any]]) -> list[list[list[Any]]]:
        """For each row, the spans that the model finds, as [start, end, label]. Of a question that is one, without a label."""
        return [_entities(self, row) if tags_words(self.task) else _answer(self, row) for row in rows]

    def save(self, folder: str | Path) -> None:
        """Writes everything that :func:`load_model` needs."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def load_model(task: str, folder: str | Path) -> OwnModel:
    """The model that was saved in a folder."""
    from transformers import AutoTokenizer

    model = _automatic(task).from_pretrained(folder, local_files_only=True).eval()
    tags = [model.config.id2label[number] for number in range(model.config.num_labels)]
    return OwnModel(
        task,
        model,
        AutoTokenizer.from_pretrained(folder, local_files_only=True),
        tuple(tags) if tags_words(task) else (),
    )


def _automatic(task: str) -> Any:
    from transformers import AutoModelForQuestionAnswering, AutoModelForTokenClassification

    return AutoModelForTokenClassification if tags_words(task) else AutoModelForQuestionAnswering


def without_overlaps(spans: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The longest spans of which none overlaps another: a tag for each word piece can say no more."""
    kept: list[list[Any]] = []
    for start, end, label in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
        if all(end <= other[0] or other[1] <= start for other in kept):
            kept.append([start, end, label])
    return sorted(kept)


LONGEST, STRIDE, QUESTION = 256, 64, 128
"""Word pieces of a window, how many of them the next one has, too, and how many of a question are read: the rest is for the context."""


def _windows(tokenizer: Any, task: str, row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The windows of a row: ids, and for each piece of the text (of the context) where it stands in it."""
    if tags_words(task):
        first = (row["text"],)
    else:
        asked = row["question"]
        pieces = tokenizer(
            asked, add_special_tokens=False, truncation=True, max_length=QUESTION, return_offsets_mapping=True
        )["offset_mapping"]
        first = (asked[: pieces[-1][1]] if len(pieces) == QUESTION else asked, row["context"])
    made = tokenizer(
        *first,
        truncation=True if tags_words(task) else "only_second",
        max_length=LONGEST,
        stride=STRIDE,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    windows = []
    for number in range(len(made["input_ids"])):
        part = made.sequence_ids(number)
        inside = [each == (0 if tags_words(task) else 1) for each in part]
        windows.append(
            {
                **{
                    name: made[name][number]
                    for name in ("input_ids", "token_type_ids", "attention_mask")
                    if name in made
                },
                "places": [
                    place if real else None
                    for place, real in zip(made["offset_mapping"][number], inside, strict=True)
                ],
            }
        )
    return windows


def _examples(
    tokenizer: Any, task: str, rows: Sequence[Row], tags: Sequence[str]
) -> list[dict[str, list[int] | int]]:
    """What the Trainer learns from: each window with its tags, or with the pieces where its answer begins and ends."""
    examples = []
    for row in rows:
        spans = without_overlaps(row["spans"]) if tags_words(task) else []
        for window in _windows(tokenizer, task, row):
            places = window.pop("places")
            if "spans" in COLUMNS[task]:
                window["labels"] = [_tag_of(place, spans, tags) for place in places]
            else:
                start, end = row["start"], row["start"] + len(row["answer"])
                inside = [
                    number
                    for number, place in enumerate(places)
                    if place and place[0] < end and place[1] > start
                ]
                whole = inside and places[inside[0]][0] <= start and places[inside[-1]][1] >= end
                # where the answer is not in the window, both places are [CLS]
                window["start_positions"], window["end_positions"] = (
                    (inside[0], inside[-1]) if whole else (0, 0)
                )
            examples.append(window)
    return examples


def _tag_of(place: tuple[int, int] | None, spans: Sequence[Sequence[Any]], tags: Sequence[str]) -> int:
    if place is None:
        return -100
    for start, end, label in spans:
        if start < place[1] and place[0] < end:
            return tags.index(f"B-{label}" if place[0] <= start else f"I-{label}")
    return 0


def train_model(
    task: str,
    rows: Sequence[Row],
    validation: Sequence[Row],
    folder: str | Path,
    epochs: int | None = None,
    seed: int = 0,
) -> OwnModel:
    """Fine-tunes the course's encoder with a new head, and keeps the epoch with the lowest loss on the validation rows.

    Args:
        task: "entities" or "questions".
        folder: for what the Trainer keeps while it trains.
        epochs: at most; it ends earlier where the loss has not fallen for three of them. None: as many as make about 300 steps, 3 at least.
    """
    import torch
    from transformers import (
        DataCollatorForTokenClassification,
        DataCollatorWithPadding,
        EarlyStoppingCallback,
        PrinterCallback,
        Trainer,
        TrainingArguments,
    )

    from course_utils.models.pretrained import encoder_folder, load_tokenizer

    tokenizer = load_tokenizer()
    labels = sorted({span[2] for row in rows for span in row["spans"]}) if tags_words(task) else []
    tags = ("O", *(f"{mark}-{label}" for label in labels for mark in "BI")) if tags_words(task) else ()
    torch.manual_seed(seed)
    names = {"id2label": dict(enumerate(tags)), "label2id": {tag: number for number, tag in enumerate(tags)}}
    model = _automatic(task).from_pretrained(encoder_folder(), **(names if tags else {}))
    model.base_model.embeddings.requires_grad_(False)
    known = set(labels)
    validation = [
        {**row, "spans": [span for span in row["spans"] if span[2] in known]} if tags else row
        for row in validation
    ]
    examples = _examples(tokenizer, task, rows, tags)
    steps = -(-len(examples) // 8)  # of an epoch
    # the head is new: it learns faster than what was pretrained
    head = [
        weight for name, weight in model.named_parameters() if name.startswith(("classifier", "qa_outputs"))
    ]
    inside = [weight for weight in model.base_model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(
        [{"params": inside, "lr": 2e-4}, {"params": head, "lr": 3e-3}], weight_decay=0.01
    )
    arguments = TrainingArguments(
        output_dir=str(folder), num_train_epochs=epochs or max(3, -(-300 // steps)), per_device_train_batch_size=8, per_device_eval_batch_size=32,
        lr_scheduler_type="linear", max_grad_norm=1.0,
        seed=seed, use_cpu=True, dataloader_pin_memory=False, eval_strategy="epoch", save_strategy="epoch", save_total_limit=1,
        save_only_model=True, load_best_model_at_end=True, metric_for_best_model="eval_loss", logging_strategy="no", report_to=[],
        disable_tqdm=True,
    )  # fmt: skip
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=examples,
        eval_dataset=_examples(tokenizer, task, validation, tags),
        data_collator=DataCollatorForTokenClassification(tokenizer)
        if tags
        else DataCollatorWithPadding(tokenizer),
        processing_class=tokenizer,
        optimizers=(optimizer, None),
        callbacks=[EarlyStoppingCallback(early_stopping_patience=3)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return OwnModel(task, model.eval(), tokenizer, tags)


def _logits(own: OwnModel, window: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
    import torch

    own.model.eval()
    batch = {name: torch.tensor([value]) for name, value in window.items() if name != "places"}
    with torch.no_grad():
        found = own.model(**batch)
    if own.tags:
        return (found.logits[0].numpy(),)
    return found.start_logits[0].numpy(), found.end_logits[0].numpy()


def _entities(own: OwnModel, row: Mapping[str, Any]) -> list[list[Any]]:
    """Each piece's tag from the window that has it first; a new span begins where B- or another label stands."""
    tag_at: dict[tuple[int, int], str] = {}
    for window in _windows(own.tokenizer, own.task, row):
        said = _logits(own, window)[0].argmax(axis=1)
        for place, number in zip(window["places"], said, strict=True):
            if place is not None:
                tag_at.setdefault(tuple(place), own.tags[number])
    spans: list[list[Any]] = []
    before = "O"
    for (start, end), tag in sorted(tag_at.items()):
        label = tag[2:]
        if tag != "O":
            same_word = spans and spans[-1][1] == start and row["text"][start - 1 : start + 1].isalnum()
            if before[2:] == label and before != "O" and (tag.startswith("I-") or same_word):
                spans[-1][1] = end
            else:
                spans.append([start, end, label])
        before = tag
    return spans


MOST_PIECES = 30
"""Of an answer."""


def _answer(own: OwnModel, row: Mapping[str, Any]) -> list[list[Any]]:
    """The span with the highest sum of both logits, over all windows of the context."""
    best, found = -np.inf, [0, 0]
    for window in _windows(own.tokenizer, own.task, row):
        start, end = _logits(own, window)
        real = [number for number, place in enumerate(window["places"]) if place]
        for first in real:
            for last in range(first, min(first + MOST_PIECES, real[-1] + 1)):
                if start[first] + end[last] > best:
                    best = start[first] + end[last]
                    found = [window["places"][first][0], window["places"][last][1]]
    return [[*found, ""]]


# ---------------------------------------------------------------------------------- measured


@dataclass(frozen=True)
class Measured:
    """How good answers are: `measure` names what `score` is, `interval` has its 95 %, and `parts` the same of each label."""

    measure: str
    score: float
    interval: tuple[float, float]
    parts: Mapping[str, float]


def measured_answers(task: str, rows: Sequence[Row], answers: Sequence[Sequence[Sequence[Any]]]) -> Measured:
    """F1 of whole spans with their labels, or the mean F1 of the words of an answer, with the interval over the groups of the rows."""
    groups = [row["group"] for row in rows]
    if "spans" not in COLUMNS[task]:
        shares = np.array(
            [
                _word_f1(row["context"][said[0][0] : said[0][1]], row["answer"])
                for row, said in zip(rows, answers, strict=True)
            ]
        )
        exact = np.mean(
            [
                row["context"][said[0][0] : said[0][1]].split() == row["answer"].split()
                for row, said in zip(rows, answers, strict=True)
            ]
        )
        sure = interval(accuracy(shares), groups)
        return Measured("F1 of words", sure.value, (sure.low, sure.high), {"exactly right": float(exact)})
    true_spans = [[tuple(span) for span in without_overlaps(row["spans"])] for row in rows]
    said_spans = [[tuple(span) for span in said] for said in answers]
    sure = interval(span_f1(true_spans, said_spans), groups)
    by_label: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for true, found in zip(map(set, true_spans), map(set, said_spans), strict=True):
        for label in {span[2] for span in true | found}:
            ours, theirs = ({span for span in spans if span[2] == label} for spans in (true, found))
            by_label[label][0] += 2 * len(ours & theirs)
            by_label[label][1] += len(ours) + len(theirs)
    parts = {label: twice / total for label, (twice, total) in sorted(by_label.items())}
    return Measured("F1 of entities", sure.value, (sure.low, sure.high), parts)


def _word_f1(said: str, true: str) -> float:
    """Of the words of both answers, small letters, as SQuAD counts them without its articles."""
    ours, theirs = (Counter(text.lower().split()) for text in (said, true))
    both = (ours & theirs).total()
    return 2 * both / max(ours.total() + theirs.total(), 1)


def simple_answers(task: str, training: Sequence[Row], rows: Sequence[Row]) -> list[list[list[Any]]]:
    """What takes no model: words that were always an entity in the training rows; or the first words of a context, as many as answers have."""
    import re

    if "spans" not in COLUMNS[task]:
        usual = int(np.median([len(row["answer"]) for row in training]))
        return [[[0, min(usual, len(row["context"])), ""]] for row in rows]
    known: dict[str, Counter[str]] = defaultdict(Counter)
    for row in training:
        for start, end, label in without_overlaps(row["spans"]):
            known[row["text"][start:end]][label] += 1
    longest_first = sorted(known, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)") if known else None
    return [
        [
            [found.start(), found.end(), known[found[0]].most_common(1)[0][0]]
            for found in (pattern.finditer(row["text"]) if pattern else ())
        ]
        for row in rows
    ]


# ---------------------------------------------------------------------------------- a card from the file

_WHAT = {"classification": "texts", "entities": "texts", "questions": "questions"}


def limits_of(
    task: str, name: str, training: Sequence[Row], test: Sequence[Row], grouped: bool = True
) -> list[str]:
    """What a model of these rows cannot do, or what its figures do not say, as the rows show it: sentences for a model card."""
    text = "context" if task == "questions" else "text"
    limits = []
    if task == "classification":
        counts = Counter(row["label"] for row in [*training, *test])
        shown = ", ".join(f"{label} ({count})" for label, count in counts.most_common(12))
        limits.append(
            f"It tells {len(counts)} classes apart and names one of them whatever it reads: {shown}."
        )
        learned = Counter(row["label"] for row in training)
        if rare := sorted(label for label in counts if learned[label] < 10):
            limits.append(
                f"It learned fewer than 10 texts of {', '.join(rare[:12])}, so it hardly ever gives these labels."
            )
    elif tags_words(task):
        counts = Counter(span[2] for row in training for span in row["spans"])
        limits.append(
            f"It finds {', '.join(f'{label} ({count})' for label, count in counts.most_common(12))}, and nothing else."
        )
        if any(len(without_overlaps(row["spans"])) < len(row["spans"]) for row in [*training, *test]):
            limits.append("Where spans overlap, it finds the longest one at most.")
    else:
        limits.append("It always gives an answer, also where the text has none.")
    lengths = [len(row[text].split()) for row in training]
    groups = {row["group"] for row in test}
    limits.append(
        f"It was measured once, on {len(test)} {_WHAT[task]} of {len(groups)} groups of {name}, "
        + (
            "of which it learned none."
            if grouped
            else "split row by row: how it does with a new group is not known."
        )
    )
    limits.append(
        f"It learned from texts of {min(lengths)} to {max(lengths)} words; others may be harder for it."
    )
    language = language_of(row[text] for row in training)
    if language != BASE_LANGUAGE:
        limits.append(
            f"The texts are in another language ({language}) than those its encoder was pretrained with ({BASE_LANGUAGE})."
            if language != "und"
            else "The language of the texts could not be told."
        )
    return limits


def _between(measured: Measured) -> str:
    return "{:.3f} to {:.3f}".format(*measured.interval)


def task_card(
    name: str, own: OwnModel, training: Sequence[Row], test: Sequence[Row],
    measured: Measured, simple: Measured, floor: Measured, limits: Sequence[str],
) -> str:  # fmt: skip
    """A model card for entities or questions, in the form of lab 13's `model_card` with the measures of its task.

    measured, simple, floor: of the model, of what takes no model, and of the model's answers given to other rows.
    """
    kind = "token-classification" if own.task == "entities" else "question-answering"
    text = "text" if own.task == "entities" else "context"
    front = {
        "license": BASE_LICENSE,
        "language": language_of(row[text] for row in training),
        "base_model": BASE,
        "pipeline_tag": kind,
    }
    results = {
        f"training {_WHAT[own.task]}": len(training),
        f"test {_WHAT[own.task]}": len(test),
        measured.measure: f"{measured.score:.3f}",
        "95 % interval": _between(measured),
        "without a model": f"{simple.score:.3f} ({_between(simple)})",
        "each answer given to the next row": f"{floor.score:.3f} ({_between(floor)})",
        **{part: f"{score:.3f}" for part, score in measured.parts.items()},
    }
    lines = ["---", *(f"{key}: {json.dumps(value)}" for key, value in front.items()), "---", f"# {name}", ""]
    lines += ["## Results", "", "| measure | value |", "|---|---|"]
    lines += [f"| {measure} | {value} |" for measure, value in results.items()]
    lines += ["", "## Limits", "", *(f"- {limit}" for limit in limits)]
    return "\n".join([*lines, ""])
