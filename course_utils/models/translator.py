"""The trained translator of labs 05 and 06: its weights in a file, and a model of PyTorch's own layers that reads them.

The file (safetensors) holds the parameters under the names that docs/translation.md lists, and, as metadata, the
model's configuration and both vocabularies. Only NumPy reads and writes it, so that both frameworks can use it.
:class:`LibraryTranslator` consists of ``torch.nn.TransformerEncoderLayer`` and ``TransformerDecoderLayer``: an independent twin
to compare the labs' own models with.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from course_utils.data.batches import encode_batch
from course_utils.data.vocabulary import SPECIAL, Vocabulary

if TYPE_CHECKING:
    import torch

    from course_utils.plots.alignment import Alignment

SHIPPED = Path(__file__).parents[1] / "weights" / "translator.safetensors"
"""The weights that come with the course; docs/translation.md says how they were made."""

_FORMAT = "transformer-labs translator 1"
_LISTED = 3  # names that an error lists


class WeightsMismatch(ValueError):
    """A file's weights do not belong to this model; the message says what differs and what to do."""


@dataclass(frozen=True)
class Checkpoint:
    """The contents of a weights file.

    Attributes:
        state: parameter name -> array of float32.
        config: the model's hyperparameters, as passed to its constructor.
        source_vocabulary, target_vocabulary: the meaning of the ids.
    """

    state: Mapping[str, np.ndarray]
    config: Mapping[str, Any]
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary

    def tensors(self) -> dict[str, torch.Tensor]:
        """The state as torch tensors, for ``load_state_dict``."""
        import torch

        return {name: torch.from_numpy(array.copy()) for name, array in self.state.items()}


def save_weights(
    state: Mapping[str, Any],
    path: Path | str,
    config: Mapping[str, Any],
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
    half: bool = False,
) -> None:
    """Writes a file that :func:`load_weights` reads.

    Args:
        state: parameter name -> array or torch tensor, such as ``model.state_dict()``.
        path: the file; it is replaced completely.
        config: hyperparameters: numbers, texts and booleans by name.
        half: store 16 bits per number instead of 32.
    """
    from safetensors.numpy import save

    kind = np.float16 if half else np.float32
    arrays = {name: np.ascontiguousarray(_array(value), dtype=kind) for name, value in state.items()}
    metadata = {
        "format": _FORMAT,
        "config": json.dumps(dict(config), sort_keys=True),
        "source_tokens": json.dumps(_words_of(source_vocabulary), ensure_ascii=False),
        "target_tokens": json.dumps(_words_of(target_vocabulary), ensure_ascii=False),
    }
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_bytes(save(arrays, metadata))
    os.replace(unfinished, path)


def load_weights(
    path: Path | str = SHIPPED,
    expected: Mapping[str, Any] | None = None,
    vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
) -> Checkpoint:
    """Reads a weights file, and makes sure that the weights are the expected ones.

    Args:
        path: the file; default: the weights that come with the course.
        expected: parameter name -> anything with a shape, such as ``model.state_dict()``. None accepts anything.
        vocabularies: the source and target vocabularies to be used with the model. None accepts any.

    Raises:
        WeightsMismatch: the file is missing or damaged, or names, shapes or vocabularies differ.
    """
    state, metadata = _read(Path(path))
    if expected is not None:
        _compare_parameters(state, expected, metadata["config"], path)
    found = tuple(Vocabulary(json.loads(metadata[f"{side}_tokens"])) for side in ("source", "target"))
    if vocabularies is not None:
        for side, there, here in zip(("source", "target"), found, vocabularies, strict=True):
            _compare_vocabularies(side, there, here, path)
    arrays = {name: array.astype(np.float32) for name, array in state.items()}
    return Checkpoint(arrays, json.loads(metadata["config"]), *found)


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise WeightsMismatch(
            f"There are no weights at {path}. Save a model there first, or use the course's own."
        )
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            state = {name: file.get_tensor(name) for name in sorted(file.keys())}
    except SafetensorError as error:
        raise WeightsMismatch(
            f"{path} is damaged or not a safetensors file ({error}). Save or fetch it again."
        ) from None
    if metadata.get("format") != _FORMAT:
        raise WeightsMismatch(
            f"{path} contains weights that are not a translator's. Were they saved with save_weights?"
        )
    return state, metadata


def _compare_parameters(
    state: Mapping[str, np.ndarray], expected: Mapping[str, Any], config: str, path: Path | str
) -> None:
    faults = []
    if missing := sorted(set(expected) - set(state)):
        faults.append(f"the model has parameters that the file does not have: {_some(missing)}")
    if more := sorted(set(state) - set(expected)):
        faults.append(f"the file has parameters that the model does not have: {_some(more)}")
    for name in sorted(set(state) & set(expected)):
        if state[name].shape != (wanted := tuple(expected[name].shape)):
            faults.append(f"{name} has the shape {state[name].shape} in the file and {wanted} in the model")
    if faults:
        more_faults = f"; and {len(faults) - _LISTED} more" if len(faults) > _LISTED else ""
        raise WeightsMismatch(
            f"The weights in {path} belong to a different model: {'; '.join(faults[:_LISTED])}{more_faults}. They were "
            f"saved from a model made with {config}. Make yours with the same sizes, or train it."
        )


def _compare_vocabularies(side: str, there: Vocabulary, here: Vocabulary, path: Path | str) -> None:
    theirs, ours = _words_of(there), _words_of(here)
    if theirs == ours:
        return
    if len(theirs) != len(ours):
        what = f"it has {len(there)} entries there and {len(here)} here"
    else:
        place = next(
            number for number, pair in enumerate(zip(theirs, ours, strict=True)) if pair[0] != pair[1]
        )
        what = f"the id {place + len(SPECIAL)} means {theirs[place]!r} there and {ours[place]!r} here"
    raise WeightsMismatch(
        f"The weights in {path} were trained with a different {side} vocabulary: {what}. Use the vocabularies that were "
        "saved with the weights, or train again."
    )


def _some(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _words_of(vocabulary: Vocabulary) -> list[str]:
    return vocabulary.tokens(range(len(SPECIAL), len(vocabulary)))


def _array(value: Any) -> np.ndarray:
    return value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)


# ---------------------------------------------------------------------------------- PyTorch's own layers


def _twin_class() -> type:
    import torch
    from torch import nn

    from course_utils.models.torch_attention import sinusoidal_positions

    class Twin(nn.Module):
        """See :class:`LibraryTranslator`."""

        def __init__(self, config: Mapping[str, Any]) -> None:
            super().__init__()
            width, norm_first = config["embedding_dim"], config.get("norm_first", False)
            settings = {
                "d_model": width,
                "nhead": config["num_heads"],
                "dim_feedforward": config["fully_connected_dim"],
                "dropout": config.get("dropout_rate", 0.1),
                "layer_norm_eps": config.get("layernorm_eps", 1e-6),
                "norm_first": norm_first,
                "batch_first": True,
            }
            stack = range(config["num_layers"])
            self.lower = nn.ModuleList([nn.TransformerEncoderLayer(**settings) for _ in stack])
            self.upper = nn.ModuleList([nn.TransformerDecoderLayer(**settings) for _ in stack])
            self.words_in = nn.Embedding(config["source_vocab_size"], width)
            self.words_out = nn.Embedding(config["target_vocab_size"], width)
            self.ends = nn.ModuleList(
                [
                    nn.LayerNorm(width, settings["layer_norm_eps"]) if norm_first else nn.Identity()
                    for _ in "ab"
                ]
            )
            self.scores = nn.Linear(width, config["target_vocab_size"])
            self.drop = nn.Dropout(settings["dropout"])
            places = sinusoidal_positions(config["max_len"], width)
            self.register_buffer("places", places, persistent=False)
            self.seen: list[torch.Tensor] = []
            for layer in self.upper:
                layer.multihead_attn.register_forward_pre_hook(_ask_for_weights, with_kwargs=True)
                layer.multihead_attn.register_forward_hook(
                    lambda _module, _given, got: self.seen.append(got[1])
                )

        def _embed(self, table: nn.Embedding, ids: torch.Tensor) -> torch.Tensor:
            return self.drop(table(ids).mul(math.sqrt(table.weight.size(1))) + self.places[: ids.size(1)])

        def forward(
            self, source_ids: torch.Tensor, target_ids: torch.Tensor
        ) -> tuple[torch.Tensor, list[torch.Tensor]]:
            """(logits, cross-attention of each layer), as lab 05's Transformer gives them."""
            padding = source_ids.eq(Vocabulary.pad_id)  # torch.nn's padding masks mark what is blocked
            memory = self._embed(self.words_in, source_ids)
            for layer in self.lower:
                memory = layer(memory, src_key_padding_mask=padding)
            memory = self.ends[0](memory)
            later = torch.ones(target_ids.size(1), target_ids.size(1), dtype=torch.bool).triu(1)
            hidden = self._embed(self.words_out, target_ids)
            self.seen.clear()
            for layer in self.upper:
                hidden = layer(
                    hidden,
                    memory,
                    tgt_mask=later,
                    tgt_key_padding_mask=target_ids.eq(Vocabulary.pad_id),
                    memory_key_padding_mask=padding,
                )
            return self.scores(self.ends[1](hidden)), list(self.seen)

        def load_canonical(self, state: Mapping[str, Any]) -> Self:
            """Takes over parameters under the names of lab 05's model; returns itself."""
            given = {name: torch.from_numpy(np.array(_array(value))) for name, value in state.items()}
            own = {}
            for name in self.state_dict():
                own[name] = torch.cat([given.pop(part) for part in canonical_names(name)])
            if given:
                raise WeightsMismatch(
                    f"The state has parameters that this model does not have: {_some(given)}."
                )
            self.load_state_dict(own)
            return self

    return Twin


def _ask_for_weights(_module: Any, given: tuple, options: dict) -> tuple[tuple, dict]:
    return given, {**options, "need_weights": True, "average_attn_weights": False}


def canonical_names(name: str) -> list[str]:
    """The parameters of lab 05's model that make up one of the twin's: torch.nn stacks query, key and value."""
    sides = {"lower": "encoder", "upper": "decoder"}
    whole = {"words_in": "encoder.embedding", "words_out": "decoder.embedding", "scores": "final_linear"}
    parts = name.split(".")
    if parts[0] in whole:
        return [f"{whole[parts[0]]}.{parts[1]}"]
    if parts[0] == "ends":
        return [f"{('encoder', 'decoder')[int(parts[1])]}.norm.{parts[2]}"]
    layer = f"{sides[parts[0]]}.layers.{parts[1]}"
    attention = {"self_attn": "self_attention", "multihead_attn": "cross_attention"}.get(parts[2])
    if attention is None:
        inner = f"feed_forward.{parts[2]}" if parts[2].startswith("linear") else parts[2]
        return [f"{layer}.{inner}.{parts[3]}"]
    if parts[3] == "out_proj":
        return [f"{layer}.{attention}.w_output.{parts[4]}"]
    kind = parts[3].removeprefix("in_proj_")
    return [f"{layer}.{attention}.w_{role}.{kind}" for role in ("query", "key", "value")]


class LibraryTranslator:
    """A translator of PyTorch's own layers with trained weights: French in, English out.

    ``translator(text)`` gives (translation, alignment). ``translator.model(source_ids, target_ids)`` gives
    (logits, cross-attention weights of each layer), as lab 05's Transformer does.

    Args:
        checkpoint: from :func:`load_weights`.
        max_len: the most tokens a translation may have.
    """

    def __init__(self, checkpoint: Checkpoint, max_len: int = 24) -> None:
        self.checkpoint, self.max_len = checkpoint, max_len
        self.model = _twin_class()(checkpoint.config).load_canonical(checkpoint.state).eval()

    @classmethod
    def shipped(cls) -> Self:
        """The translator with the weights that come with the course."""
        return cls(load_weights())

    def __call__(self, text: str) -> tuple[str, Alignment]:
        """Writes the most probable next word at each step, until the sentence ends.

        Raises:
            ValueError: the text has more tokens than the model has positions.
        """
        import torch

        from course_utils.plots.alignment import Alignment

        source, target = self.checkpoint.source_vocabulary, self.checkpoint.target_vocabulary
        given, places = encode_batch([text], source), self.checkpoint.config["max_len"]
        if given.shape[1] > places:
            raise ValueError(f"The sentence has {given.shape[1]} tokens; this model reads at most {places}.")
        said: list[int] = []
        with torch.inference_mode():
            while len(said) < self.max_len and said[-1:] != [target.eos_id]:
                so_far = torch.tensor([[target.bos_id, *said]])
                scores, looks = self.model(torch.from_numpy(given), so_far)
                said.append(int(scores[0, -1].argmax()))
        weights = np.stack([layer[0].numpy() for layer in looks])
        return target.decode(said), Alignment(source.tokens(given[0]), target.tokens(said), weights)
