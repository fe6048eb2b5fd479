"""What the package of one's own can do at once: each command is the learner's parts, with weights that come with the course.

The code here is the course's: it loads weights, cuts texts into tokens and joins words again. The parts are handed to it by
their exercises' keys.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

Parts = Mapping[str, Any]

PARTS_FILE = "parts.json"
"""In the package: exercise -> module, and for each command whose code it runs."""

_READ_AT_ONCE = 512
"""The pretrained encoder can read at most this many word pieces."""


class CannotAnswer(Exception):
    """A command cannot do what it was asked. The message says why, in words for people."""


def _fill(model: Any, tensors: Mapping[str, Any]) -> None:
    """Puts the course's weights into a learner's model, which may keep a table that is computed, such as positions, as its own.

    Raises:
        CannotAnswer: a parameter is not among the weights, or the other way round.
    """
    found = model.load_state_dict(dict(tensors), strict=False)
    lost = [*set(found.missing_keys) & {name for name, _ in model.named_parameters()}, *found.unexpected_keys]
    if lost:
        raise CannotAnswer(f"The course's weights do not fit your model: {', '.join(sorted(lost))}.")


def translate(parts: Parts, sentence: str) -> str:
    """Translates a French sentence with the weights of lab 05.

    Raises:
        CannotAnswer: the sentence is empty, or has words that the model has never seen.
    """
    import torch

    from course_utils.data.batches import encode_batch
    from course_utils.models.translator import load_weights
    from course_utils.plots.translate import unknown_words

    if not sentence.strip():
        raise CannotAnswer("There is nothing to translate.")
    weights = load_weights()
    if unknown := unknown_words(sentence, weights.source_vocabulary):
        raise CannotAnswer(
            f"The model has never seen {', '.join(unknown)}. It knows {len(weights.source_vocabulary)} French words, with their capitals."
        )
    model = parts["transformer_pytorch.Transformer"](**weights.config)
    _fill(model, weights.tensors())
    model.eval()
    ids = torch.from_numpy(encode_batch([sentence], weights.source_vocabulary))
    (row,) = parts["transformer_pytorch.greedy_decode"](model, ids, max_len=24)
    return weights.target_vocabulary.decode(row)


def go_on(parts: Parts, text: str, count: int = 24) -> str:
    """What SmolLM2 would say next, to the end of the line: its likeliest tokens, with the parts of lab 08.

    Raises:
        CannotAnswer: the text is empty, or the package with the weights is missing.
    """
    import torch

    from course_utils.models import smollm

    try:
        sizes, weights = smollm.load_sizes(), dict(smollm.read_weights())
    except RuntimeError as error:
        raise CannotAnswer(str(error)) from None
    slug = "language_model_and_summarizer"
    rms_norm, swiglu = (_of_its_type(parts[f"{slug}.{name}"]) for name in ("rms_norm", "swiglu"))
    attend = parts[f"{slug}.attend_with_cache"]
    tokenizer = smollm.load_tokenizer()
    new = torch.tensor([tokenizer.encode(text).ids])
    if not new.numel():
        raise CannotAnswer("There is no text to go on from.")
    caches: list[Any] = [None] * sizes.num_layers
    written: list[int] = []
    with torch.no_grad():
        while len(written) < count:
            x = weights["token_embedding"][new]
            for layer in range(sizes.num_layers):
                part = {name: weights[f"blocks.{layer}.{name}"] for name in _LAYER}
                normed = rms_norm(x, part["norm1"], sizes.eps)
                query, key, value = (
                    (normed @ part[name].T).unflatten(-1, (-1, sizes.head_dim)).transpose(1, 2)
                    for name in ("w_query", "w_key", "w_value")
                )
                attended, caches[layer] = attend(query, key, value, caches[layer], sizes.rotary_base)
                x = x + attended.to(x.dtype).transpose(1, 2).flatten(2) @ part["w_output"].T
                normed = rms_norm(x, part["norm2"], sizes.eps)
                x = x + swiglu(normed, part["w_gate"], part["w_up"], part["w_down"])
            last = rms_norm(x[:, -1], weights["norm"], sizes.eps)
            token = int((last @ weights["token_embedding"].T).argmax())
            if token == smollm.end_id() or "\n" in tokenizer.decode([token]):
                break
            written.append(token)
            new = torch.tensor([[token]])
    return text + tokenizer.decode(written)


def _of_its_type(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result has the type of its first argument: one that computes in float64 is right, too."""
    return lambda first, *others: function(first, *others).to(first.dtype)


_LAYER = ("norm1", "w_query", "w_key", "w_value", "w_output", "norm2", "w_gate", "w_up", "w_down")


def tag(parts: Parts, text: str) -> str:
    """The names, employers, degrees and skills in a résumé, a line each, with the weights of lab 09.

    Raises:
        CannotAnswer: the text is empty, or longer than the encoder can read at once.
    """
    import torch

    from course_utils.data.resumes import LABELS
    from course_utils.models.pretrained import load_tokenizer, new_encoder
    from course_utils.models.shipped_tagger import load_tagger

    slug = "named_entity_recognition"
    tags = ["O", *(f"{prefix}-{label}" for label in LABELS for prefix in "BI")]
    model = parts[f"{slug}.TokenClassifier"](new_encoder(), len(tags))
    _fill(model, {name: torch.from_numpy(array) for name, array in load_tagger().items()})
    model.eval()
    tokenizer = load_tokenizer()
    visible = text.replace("\n", "¶").replace("\t", "|")
    pieces = tokenizer(visible, return_offsets_mapping=True, verbose=False)
    ids = pieces["input_ids"]
    if len(ids) <= 2:
        raise CannotAnswer("There is nothing to tag.")
    if len(ids) > _READ_AT_ONCE:
        raise CannotAnswer(
            f"The text has {len(ids)} word pieces, and the encoder reads {_READ_AT_ONCE} at once. Give it a part of the text."
        )
    row = {"input_ids": ids, "labels": [-100] * len(ids)}
    batch = parts[f"{slug}.encode_batch"]([row], tokenizer.pad_token_id)
    with torch.no_grad():
        best = model(batch["input_ids"], batch["attention_mask"])[0].argmax(dim=-1).tolist()
    offsets = [tuple(place) for place in pieces["offset_mapping"]]
    found = parts[f"{slug}.decode_entities"](best[: len(ids)], offsets, pieces.word_ids(), tags)
    lines = [f"{entity.label:<12} {text[entity.start : entity.end]}" for entity in found]
    return "\n".join(lines) or "Nothing was found."


def answer(parts: Parts, question: str, context: str) -> str:
    """The words of a text that answer a question about it, with the weights of lab 10.

    Raises:
        CannotAnswer: the question or the text is empty.
    """
    import torch
    from torch import nn

    from course_utils.models.pretrained import load_tokenizer, new_encoder
    from course_utils.models.reader import pieces
    from course_utils.models.shipped_readers import load_reader

    if not question.strip() or not context.strip():
        raise CannotAnswer("An answer needs a question, and a text to find it in.")
    slug = "question_answering_pytorch"

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = new_encoder()
            self.head = parts[f"{slug}.SpanHead"](self.encoder.config.hidden_size)

        def forward(self, input_ids, attention_mask, token_type_ids, allowed):
            hidden = self.encoder(input_ids, attention_mask, token_type_ids).last_hidden_state
            return self.head(hidden, allowed)

    model = Reader()
    _fill(model, {name: torch.from_numpy(array) for name, array in load_reader("prose").items()})
    always = -1e9  # how sure it must be: not at all, since someone has asked
    start, end, _ = parts[f"{slug}.answer"](
        question, context, model.eval(), pieces(load_tokenizer()), threshold=always
    )
    return context[start:end] or "No answer was found."


@dataclass(frozen=True)
class Command:
    """A command of the package.

    Attributes:
        run: takes the parts and the texts.
        needs: the exercises whose code it calls; these call others.
        says: what it does, in a line.
        example: the texts that the README shows.
    """

    run: Callable[..., str]
    needs: tuple[str, ...]
    says: str
    example: tuple[str, ...]


_STORY = "The ferry was built in 1931. In spring Peter repaired its engine, and Jane painted the boat green."

COMMANDS = {
    "translate": Command(
        translate,
        ("transformer_pytorch.Transformer", "transformer_pytorch.greedy_decode"),
        "translates a French sentence into English",
        ("Jane visite l'Afrique en septembre",),
    ),
    "continue": Command(
        go_on,
        tuple(
            f"language_model_and_summarizer.{name}" for name in ("rms_norm", "swiglu", "attend_with_cache")
        ),
        "goes on with a text, with the weights of SmolLM2-135M",
        ("The capital of France is",),
    ),
    "tag": Command(
        tag,
        tuple(
            f"named_entity_recognition.{name}"
            for name in ("TokenClassifier", "encode_batch", "decode_entities")
        ),
        "finds names, employers, degrees and skills in a résumé",
        ("Amara Okafor\nData analyst at Woods & Miller Ltd since 2019, based in Porto, Portugal.",),
    ),
    "answer": Command(
        answer,
        ("question_answering_pytorch.SpanHead", "question_answering_pytorch.answer"),
        "answers a question about a text, in words of the text",
        ("Who painted the boat?", _STORY),
    ),
}


def main(package: str, arguments: Sequence[str]) -> int:
    """Runs a command on the parts in a package. Its answer goes to standard output, whose code it was to standard error.

    Returns:
        what the process ends with: 0, or 1 if the command cannot do it.
    """
    known = json.loads((files(package) / PARTS_FILE).read_text("utf-8"))
    parser = argparse.ArgumentParser(
        prog=f"python -m {package}",
        description="Your own code at work, with weights that come with the course.",
    )
    choices = parser.add_subparsers(dest="command", required=True)
    for name in known["commands"]:
        command = COMMANDS[name]
        chosen = choices.add_parser(name, help=command.says, description=f"It {command.says}.")
        names = ("question", "text") if len(command.example) == 2 else ("text",)
        for each in names:
            chosen.add_argument(each)
    given = vars(parser.parse_args(arguments))
    name = given.pop("command")
    parts = {
        key: getattr(importlib.import_module(f"{package}.{known['modules'][key]}"), key.partition(".")[2])
        for key in COMMANDS[name].needs
    }
    print(whose(known["commands"][name]), file=sys.stderr)
    try:
        print(COMMANDS[name].run(parts, *given.values()))
    except CannotAnswer as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def whose(command: Mapping[str, Sequence[str]]) -> str:
    """Whose code a command runs, in two sentences."""
    theirs = ", ".join(command["course"]) or "only the loading of weights and texts"
    return f"Yours: {', '.join(command['yours'])}. The course's: {theirs}.".replace("`", "")


def shell_words(texts: Sequence[str]) -> str:
    """Texts as a shell takes them: each in double quotes, with line breaks as spaces."""
    return " ".join('"' + re.sub(r"\s+", " ", text) + '"' for text in texts)
