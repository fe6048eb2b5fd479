"""Lab 05: its reference computes what PyTorch's own layers compute; its loss, its searches, its figures and its weights hold."""

from __future__ import annotations

import copy
import itertools
import math
from types import SimpleNamespace

import ipywidgets
import numpy as np
import pytest
import torch
from test_notebooks import printed_without_training
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from course_utils import plots
from course_utils.cases.properties import trained_in_training_mode, weights_have_moved
from course_utils.cases.torch_modules import WrongParameters, set_parameters
from course_utils.data.batches import encode_batch
from course_utils.data.vocabulary import Vocabulary
from course_utils.exercises.transformer_pytorch import GARDEN_PATH, ScriptedModel
from course_utils.models.recurrent import RecurrentTranslator
from course_utils.models.torch_attention import MultiHeadAttention, sinusoidal_positions
from course_utils.models.translator import (
    SHIPPED,
    Checkpoint,
    LibraryTranslator,
    WeightsMismatch,
    load_weights,
)
from course_utils.plots import translate as translate_plots
from course_utils.plots.alignment import Alignment, alignment_heads, alignment_html, strongest_links
from course_utils.plots.transformer import (
    MaskTable,
    break_even,
    curves_over_depth,
    mask_tables,
    schedule_curves,
)
from course_utils.plots.translate import translate_box, unknown_words
from grader.reference.lab import Lab

LAB = "05_transformer_pytorch"
BATCH, SRC_LEN, TGT_LEN, WIDTH, HEADS, INNER = 3, 7, 6, 20, 4, 28
CONFIG = {
    "num_layers": 2,
    "embedding_dim": WIDTH,
    "num_heads": HEADS,
    "fully_connected_dim": INNER,
    "source_vocab_size": 17,
    "target_vocab_size": 13,
    "max_len": 16,
    "dropout_rate": 0.1,
}
LETTERS = Vocabulary("abcdefghijklm"), Vocabulary("nopqrstuv")  # 17 and 13 entries


@pytest.fixture(scope="module")
def lab(labs) -> Lab:
    return labs[LAB]


@pytest.fixture(scope="module")
def reference(lab) -> SimpleNamespace:
    """The exercises of lab 05 as its solution defines them."""
    return SimpleNamespace(**{one.name: lab.reference[one.name] for one in lab.exercises.values()})


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def shaken(module: nn.Module) -> nn.Module:
    """The module in evaluation mode, with no parameter left at a special value (γ = 1, β = 0, bias 0)."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3 * torch.randn_like(parameter) / math.sqrt(parameter.shape[-1])
    return module.eval()


def some_ids() -> tuple[torch.Tensor, torch.Tensor]:
    """Source and target with padding at their ends."""
    source, target = torch.randint(4, 13, (BATCH, SRC_LEN)), torch.randint(4, 13, (BATCH, TGT_LEN))
    source[1, 4:], source[2, 5:], target[0, 3:], target[2, 4:] = 0, 0, 0, 0
    return source, target


def close(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


# ---------------------------------------------------------------------------------- what the course gives


def test_the_course_s_attention_is_torchs(reference):
    ours, theirs = (
        shaken(MultiHeadAttention(WIDTH, HEADS)),
        nn.MultiheadAttention(WIDTH, HEADS, batch_first=True),
    )
    with torch.no_grad():
        rows = [ours.w_query, ours.w_key, ours.w_value]
        theirs.in_proj_weight.copy_(torch.cat([row.weight for row in rows]))
        theirs.in_proj_bias.copy_(torch.cat([row.bias for row in rows]))
        theirs.out_proj.weight.copy_(ours.w_output.weight)
        theirs.out_proj.bias.copy_(ours.w_output.bias)
    query, memory = torch.randn(BATCH, TGT_LEN, WIDTH), torch.randn(BATCH, SRC_LEN, WIDTH)
    real = torch.arange(SRC_LEN) < torch.tensor([7, 4, 5])[:, None]
    output, weights = ours(query, memory, memory, real[:, None, None])
    wanted = theirs(query, memory, memory, key_padding_mask=~real, average_attn_weights=False)
    close(output, wanted[0])
    close(weights, wanted[1])
    close(
        ours(query, memory, memory, real[:, None])[0], output
    )  # without an axis for the heads, as in lab 03
    assert not weights[~real[:, None, None].expand_as(weights)].any()


def test_a_query_that_may_look_at_nothing_gets_weights_of_0():
    x = torch.randn(1, 2, WIDTH)
    mask = torch.tensor([[[[True, True], [False, False]]]])
    _, weights = MultiHeadAttention(WIDTH, HEADS)(x, x, x, mask)
    assert not weights[:, :, 1].any() and weights.isfinite().all()


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match="3 heads"):
        MultiHeadAttention(20, 3)


def test_positions_are_the_paper_s_sines_and_cosines():
    found = sinusoidal_positions(50, WIDTH)
    for pos, i in itertools.product(range(50), range(WIDTH // 2)):
        angle = pos / 10000 ** (2 * i / WIDTH)
        assert found[pos, 2 * i] == pytest.approx(math.sin(angle), abs=1e-6)
        assert found[pos, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-6)


# ---------------------------------------------------------------------------------- layers and model


def test_layer_norm_is_torchs(reference):
    x, gamma, beta = 3 * torch.randn(4, 5, 8) + 2, torch.randn(8), torch.randn(8)
    close(reference.layer_norm(x, gamma, beta, 1e-5), nn.functional.layer_norm(x, (8,), gamma, beta, 1e-5))


@pytest.mark.parametrize("norm_first", [False, True])
def test_the_transformer_is_the_one_of_torchs_own_layers(reference, norm_first):
    config = CONFIG | {"norm_first": norm_first}
    ours = shaken(reference.Transformer(**config))
    theirs = LibraryTranslator(Checkpoint(ours.state_dict(), config, *LETTERS)).model
    source, target = some_ids()
    with torch.no_grad():
        (logits, looks), (their_logits, their_looks) = ours(source, target), theirs(source, target)
    close(logits, their_logits)
    assert len(looks) == len(their_looks) == 2
    for own, their in zip(looks, their_looks, strict=True):
        close(own, their)


def test_a_state_with_a_parameter_too_many_is_refused_by_the_twin(reference):
    state = reference.Transformer(**CONFIG).state_dict() | {"encoder.norm.weight": torch.ones(WIDTH)}
    with pytest.raises(WeightsMismatch, match=r"encoder\.norm\.weight"):
        LibraryTranslator(Checkpoint(state, CONFIG, *LETTERS))


# ---------------------------------------------------------------------------------- training


def test_the_loss_without_smoothing_is_torchs_cross_entropy(reference):
    logits, labels = torch.randn(3, 5, 9), torch.randint(0, 9, (3, 5))
    labels[0, 2:] = 0
    wanted = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=0)
    close(reference.label_smoothed_loss(logits, labels, smoothing=0.0), wanted)


def test_the_example_of_the_loss_s_docstring_is_right(reference):
    believed = torch.tensor([[[0.05, 0.1, 0.15, 0.5, 0.1, 0.1]]])
    loss = reference.label_smoothed_loss(believed.log(), torch.tensor([[3]]), 0.1)
    assert f"{loss:.6f}" == "0.843954"
    assert "0.843954" in reference.label_smoothed_loss.__doc__


def test_the_target_is_shifted_as_transformers_does_it(reference):
    from transformers.models.bart.modeling_bart import shift_tokens_right

    labels = torch.tensor([[7, 8, 2, 0], [9, 5, 6, 2]])
    wanted = shift_tokens_right(labels, pad_token_id=0, decoder_start_token_id=1)
    assert torch.equal(reference.shift_right(labels), wanted)


def test_the_schedule_peaks_where_its_two_branches_meet(reference):
    rates = [reference.warmup_schedule(step, 128, 300, 0.5) for step in range(1, 2000)]
    assert int(np.argmax(rates)) + 1 == 300
    assert max(rates) == pytest.approx(0.5 * 128**-0.5 * 300**-0.5)


def test_a_training_step_is_torchs_sgd(reference):
    from torch.optim import SGD

    config = CONFIG | {"dropout_rate": 0.0}
    ours, theirs = reference.Transformer(**config), reference.Transformer(**config)
    theirs.load_state_dict(ours.state_dict())
    source, labels = some_ids()
    reference.train_step(ours, SGD(ours.parameters(), lr=9.0), source, labels, learning_rate=0.1)
    optimizer = SGD(theirs.parameters(), lr=0.1)
    reference.label_smoothed_loss(theirs(source, reference.shift_right(labels))[0], labels).backward()
    optimizer.step()
    for own, their in zip(ours.parameters(), theirs.parameters(), strict=True):
        close(own, their)


# ---------------------------------------------------------------------------------- searches


class RandomModel:
    """Logits that depend on the whole prefix, and no end before the last step."""

    words, eos = 6, 2

    def __call__(self, source_ids, target_ids):
        rows = []
        for prefix in target_ids.tolist():
            rng = np.random.default_rng(prefix)
            rows.append(torch.tensor(2 * rng.standard_normal((len(prefix), self.words)), dtype=torch.float32))
        return torch.stack(rows), None

    def log_probability(self, words: tuple[int, ...]) -> float:
        total = 0.0
        for place, word in enumerate(words):
            last, _ = self(None, torch.tensor([[1, *words[:place]]]))
            total += float(last[0, -1].log_softmax(-1)[word])
        return total


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
def test_a_beam_wide_enough_finds_the_best_of_all_sentences(reference, length_penalty):
    model, longest = RandomModel(), 3
    inner = [word for word in range(model.words) if word != model.eos]
    ended = [(*words, model.eos) for n in range(longest) for words in itertools.product(inner, repeat=n)]
    cut_off = list(itertools.product(inner, repeat=longest))
    scores = {words: model.log_probability(words) / len(words) ** length_penalty for words in ended + cut_off}
    best = max(scores, key=scores.get)
    ids, score = reference.beam_search(model, torch.zeros(1, 1, dtype=int), 10_000, longest, length_penalty)
    assert ids.tolist() == [word for word in best if word != model.eos]
    assert score == pytest.approx(scores[best], abs=1e-5)


def test_the_garden_path_leads_greedy_search_astray_and_not_a_beam_of_two(reference, lab):
    case = lab.exercises["transformer_pytorch.beam_search"].cases[0]
    inputs = case.runs("any", 1)[0]
    model, source = inputs["model"], torch.from_numpy(inputs["source_ids"])
    _, wide = reference.beam_search(model, source, 2, 8)
    _, narrow = reference.beam_search(model, source, 1, 8)
    assert wide > narrow
    assert max(GARDEN_PATH[""], key=GARDEN_PATH[""].get) == "a"


def test_a_scripted_model_gives_the_probabilities_that_are_written_down():
    model = ScriptedModel({(): {3: 0.5, 4: 0.3}, (3,): {2: 0.9}}, words=6)
    logits, _ = model(torch.zeros(1, 2, dtype=int), torch.tensor([[1, 3]]))
    chances = logits.softmax(-1)[0]
    close(chances[0, 3:5], torch.tensor([0.5, 0.3]))
    assert chances[1, 2] == pytest.approx(0.9)
    assert not torch.allclose(logits[0, 0].exp().sum(), torch.tensor(1.0))  # so log_softmax is needed


def test_a_scripted_model_refuses_what_a_transformer_could_not_take():
    with pytest.raises(ValueError, match=r"\(1,\) and \(1, 1\)"):
        ScriptedModel({}, words=6)(torch.zeros(1, dtype=int), torch.ones(1, 1, dtype=int))
    for ids in (np.ones((1, 1), int), [[1]], torch.ones(1, 1)):
        with pytest.raises(TypeError, match="a tensor of whole numbers"):
            ScriptedModel({}, words=6)(torch.zeros(1, 1, dtype=int), ids)


# ---------------------------------------------------------------------------------- parameters of a learner's module


def test_setting_parameters_says_what_is_missing_wrong_or_too_many():
    layer = nn.Linear(3, 2)
    right = {"weight": np.zeros((2, 3), np.float32), "bias": np.ones(2, np.float32)}
    set_parameters(layer, right)
    assert layer.bias.tolist() == [1, 1]
    with pytest.raises(WrongParameters, match="no parameter `gain`"):
        set_parameters(layer, right | {"gain": right["bias"]})
    with pytest.raises(WrongParameters, match=r"`weight` has shape \(2, 3\); expected \(3, 2\)"):
        set_parameters(layer, right | {"weight": np.zeros((3, 2), np.float32)})
    with pytest.raises(WrongParameters, match="too many: `bias`"):
        set_parameters(layer, {"weight": right["weight"]})
    with pytest.raises(WrongParameters, match="is a int"):
        set_parameters(3, right)
    layer.again = layer.weight
    with pytest.raises(WrongParameters, match="`again` is `weight` under a second name"):
        set_parameters(layer, right)


# ---------------------------------------------------------------------------------- the recurrent translator


def test_the_recurrent_translator_has_the_size_that_is_asked_for():
    model = RecurrentTranslator.of_size(1_000_000, 460, 316, 128)
    assert sum(parameter.numel() for parameter in model.parameters()) == pytest.approx(1_000_000, rel=0.01)


def test_the_recurrent_translator_looks_at_no_padding_and_at_no_later_word():
    model = RecurrentTranslator(17, 13, 8, 12).eval()
    source, target = some_ids()
    logits, (looks,) = model(source, target)
    assert logits.shape == (BATCH, TGT_LEN, 13) and looks.shape == (BATCH, 1, TGT_LEN, SRC_LEN)
    close(looks.sum(-1), torch.ones(BATCH, 1, TGT_LEN))
    longer = torch.cat([source, torch.zeros(BATCH, 2, dtype=torch.long)], dim=1)
    close(model(longer, target)[0], logits)
    changed = target.clone()
    changed[:, 4:] = 5
    close(model(source, changed)[0][:, :4], logits[:, :4])


# ---------------------------------------------------------------------------------- the weights that come with the course


@pytest.fixture(scope="module")
def notebook_names(lab) -> dict:
    """The names of the notebook's cells that make data and vocabularies, exercises included."""
    names = dict(lab.reference)
    for cell in lab.source().cells:
        if "splits = split_pairs" in cell.source or "CONFIG = {" in cell.source:
            exec(cell.source, names)
    return names


def test_the_shipped_weights_fit_the_lab_s_model_and_vocabularies(reference, notebook_names):
    model = reference.Transformer(**notebook_names["CONFIG"])
    vocabularies = notebook_names["french"], notebook_names["english"]
    found = load_weights(expected=model.state_dict(), vocabularies=vocabularies)
    assert found.config == notebook_names["CONFIG"]
    assert SHIPPED.stat().st_size < 5_000_000


def test_the_shipped_weights_translate_jane_s_sentence_in_both_models(reference):
    checkpoint = load_weights()
    library = LibraryTranslator(checkpoint)
    text = "Jane visite l'Afrique en septembre"
    said, alignment = library(text)
    assert said == "Jane visits Africa in September"
    ours = reference.Transformer(**checkpoint.config).eval()
    ours.load_state_dict(checkpoint.tensors())
    ids = reference.greedy_decode(
        ours, torch.from_numpy(encode_batch([text], checkpoint.source_vocabulary)), 24
    )
    assert checkpoint.target_vocabulary.decode(ids[0].tolist()) == said
    assert alignment.target[-1] == "<eos>" and alignment.source[-1] == "<eos>"


def test_the_shipped_weights_look_at_jane_s_french_words_before_they_write_the_english_ones():
    _, alignment = LibraryTranslator.shipped()("Jane visite l'Afrique en septembre")
    looks = dict(zip(alignment.target, alignment.mean(), strict=True))
    words = {"Jane": "Jane", "visits": "visite", "Africa": "Afrique", "in": "en", "September": "septembre"}
    for english, french in words.items():
        assert alignment.source[looks[english].argmax()] == french
        assert looks[english].max() > 0.5


def test_the_notebook_s_alignment_has_a_row_for_each_word_and_the_end_and_none_for_padding(
    lab, reference, notebook_names
):
    names = notebook_names | {"encode_batch": encode_batch}
    checkpoint = load_weights()
    names["model"] = reference.Transformer(**checkpoint.config)
    names["model"].load_state_dict(checkpoint.tensors())
    exec(cells_with(lab, "def ids_for", "def translate(text").partition("said, alignment")[0], names)
    said, alignment = names["translate"]("Jane visite l'Afrique en septembre")
    assert said == "Jane visits Africa in September"
    assert list(alignment.target) == [*said.split(), "<eos>"]


@pytest.mark.slow
@pytest.mark.parametrize("part", ["test", "unseen_pairings"])
def test_the_shipped_weights_translate_95_of_100_sentences_exactly(reference, notebook_names, part):
    checkpoint = load_weights()
    model = reference.Transformer(**checkpoint.config).eval()
    model.load_state_dict(checkpoint.tensors())
    pairs = getattr(notebook_names["splits"], part)[:500]
    ids = torch.from_numpy(encode_batch([pair.source for pair in pairs], checkpoint.source_vocabulary))
    written = [
        checkpoint.target_vocabulary.decode(row) for row in reference.greedy_decode(model, ids, 24).tolist()
    ]
    assert sum(map(str.__eq__, written, [pair.target for pair in pairs])) >= 0.95 * len(pairs)


# ---------------------------------------------------------------------------------- other devices, broken and modern copies


def cells_with(lab: Lab, *signs: str) -> str:
    """The text of the notebook's cells that define something, as one."""
    cells = lab.source().cells
    return "\n".join(next(cell.source for cell in cells if sign in cell.source) for sign in signs)


@pytest.fixture(scope="module")
def workshop(lab, notebook_names) -> dict:
    """The names of sections 11 to 13, around a trained model."""
    names = notebook_names | {"copy": copy, "math": math, "RUN_TRAINING": False}
    checkpoint = load_weights()
    names["model"] = lab.reference["Transformer"](**checkpoint.config).eval()
    names["model"].load_state_dict(checkpoint.tensors())
    exec(cells_with(lab, "class SeesFuture", "class OtherMask", "def without"), names)
    exec(cells_with(lab, "class FusedAttention", "class SwiGLU", "def modern"), names)
    return names


def test_no_tensor_of_the_reference_is_bound_to_a_device(reference):
    model = shaken(reference.Transformer(**CONFIG))
    source, target = some_ids()
    target = target.clamp(max=12)
    logits = model(source, target)[0].detach()
    with torch.device("meta"):  # what names no device lands there, and cannot meet the others
        torch.testing.assert_close(model(source, target)[0], logits)
        for mask in reference.make_masks(source, target):
            assert mask.device.type == "cpu"
        assert reference.shift_right(target).device.type == "cpu"
        assert reference.label_smoothed_loss(logits, target).device.type == "cpu"
        assert reference.greedy_decode(model, source, 5).device.type == "cpu"
        words, score = reference.beam_search(model, source[:1], 2, 5)
        assert words.device.type == "cpu" and score < 0


class Elsewhere(torch.Tensor):
    """A tensor on a device that this machine lacks. Its device is called meta; its numbers are in `here`."""

    @staticmethod
    def __new__(cls, here: torch.Tensor):
        return cls._make_wrapper_subclass(
            cls, here.shape, strides=here.stride(), dtype=here.dtype, device="meta"
        )

    def __init__(self, here: torch.Tensor) -> None:
        self.here = here

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is torch.Tensor.tolist:
            return args[0].here.tolist()
        if function is torch.Tensor.new_tensor:  # puts its numbers on the device unseen
            return cls(args[0].here.new_tensor(*args[1:]))
        if function is torch.Tensor.numpy:
            raise TypeError("can't convert a tensor of another device to numpy. Use Tensor.cpu() first")
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return AnotherDevice().__torch_dispatch__(function, types, args, kwargs)


class AnotherDevice(TorchDispatchMode):
    """Within it, the device meta computes, and tensors of two devices cannot meet, as with a GPU."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        found = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        there = any(isinstance(tensor, Elsewhere) for tensor in found)
        copies = function in (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)
        if there and not copies and any(type(tensor) is torch.Tensor and tensor.dim() for tensor in found):
            raise RuntimeError(f"Expected all tensors to be on the same device: {function}")
        if kwargs.get("device") is not None:
            there = torch.device(kwargs["device"]).type == "meta"
            kwargs = kwargs | {"device": torch.device("cpu")}
        args_here, kwargs_here = tree_map(
            lambda leaf: leaf.here if isinstance(leaf, Elsewhere) else leaf, (args, kwargs)
        )
        result = function(*args_here, **kwargs_here)
        if function._schema.is_mutable:
            return args[0]
        return tree_map(
            lambda leaf: Elsewhere(leaf) if there and isinstance(leaf, torch.Tensor) else leaf, result
        )


def moved(model: nn.Module) -> nn.Module:
    """The model with all its weights and buffers on the other device."""
    for part in model.modules():
        for name, weight in part._parameters.items():
            part._parameters[name] = nn.Parameter(Elsewhere(weight.detach())) if weight is not None else None
        for name, buffer in part._buffers.items():
            part._buffers[name] = Elsewhere(buffer)
    return model


def test_tensors_of_two_devices_cannot_meet_where_the_tests_pretend_another_one():
    with AnotherDevice():
        there = torch.ones(3, device="meta")
        assert (there + there.new_ones(1)).cpu().tolist() == [2, 2, 2]
        with pytest.raises(RuntimeError, match="same device"):
            there + torch.ones(3)
        with pytest.raises(TypeError, match="cpu"):
            there.numpy()


def test_a_model_that_was_moved_to_another_device_trains_and_translates_there(
    lab, notebook_names, workshop, capsys
):
    names = workshop | notebook_names | {"measured": lambda key, shown=True: None}
    names["CONFIG"] = names["CONFIG"] | {"num_layers": 1, "embedding_dim": 16, "fully_connected_dim": 16}
    exec(cells_with(lab, "def ids_for", "def endless_batches", "class SwiGLU", "def modern"), names)
    pairs = names["splits"].test[:2]
    names |= {"sets": {"some": pairs}, "written": {"some": ["", pairs[1].target]}}
    with AnotherDevice():
        for model in (names["Transformer"](**names["CONFIG"]), names["modern"](("pre-norm", "rotary"))):
            model.final_linear.bias.data[2] = 9  # short sentences, which end at once
            names["model"] = moved(model)
            history = names["train"](model, "a step elsewhere", steps=1, evaluate=False)
            assert history.steps == 1
            assert len(names["translate_all"](model, [pair.source for pair in pairs])) == 2
        exec(cells_with(lab, "def translate(text").partition("said, alignment")[0], names)
        _, alignment = names["translate"](pairs[0].source)
        assert alignment.weights.shape[:2] == (1, 4)
        exec(cells_with(lab, "beam_size=4, max_len=24"), names)
    assert "a beam of 4 gets" in capsys.readouterr().out


def test_a_model_without_a_piece_lacks_exactly_that_piece(workshop, reference):
    torch.manual_seed(0)
    source, target = torch.randint(4, 200, (2, 8)), torch.randint(4, 200, (2, 6))
    source[1, 5:] = 0
    future, longer = target.clone(), torch.cat([source, torch.zeros(2, 3, dtype=torch.long)], dim=1)
    future[:, 4:] = 5
    order = torch.tensor([2, 0, 1, 3, 4, 5, 6, 7])

    def same(one, other) -> bool:
        return torch.allclose(one, other, atol=1e-4)

    pieces = ("the causal mask", "the shift", "the padding mask", "the right padding mask", "the positions")
    for piece in ("nothing", *pieces):
        model = workshop["without"](piece).eval()
        with torch.no_grad():
            logits = model(source, target)[0]
            hidden = source.clone()
            hidden[:, 6:] = 9  # the target has 6 words: behind them its mask hides the source
            looks = [torch.cat(model(ids, target)[1])[..., 6:] for ids in (source, hidden)]
            assert (not any(look.any() for look in looks)) == (piece == "the right padding mask")
            assert same(model(source, future)[0][:, :4], logits[:, :4]) == (piece != "the causal mask")
            assert same(model(longer, target)[0], logits) == (piece != "the padding mask")
            assert same(model(source[:, order], target)[0], logits) == (piece == "the positions")
            whole = same(workshop["model"](source, target)[0], logits)
            assert whole == (piece in ("nothing", "the shift"))
            model.train()
            for part in model.modules():
                part.p = 0.0 if isinstance(part, nn.Dropout) else None
            shifted = torch.cat([target[:, 1:], torch.full((2, 1), 2)], dim=1)
            undone = same(model(source, target)[0], workshop["model"](source, shifted)[0])
            assert undone == (piece == "the shift")


def test_the_fused_attention_is_the_learner_s(workshop):
    ours = MultiHeadAttention(WIDTH, HEADS)
    theirs = workshop["fused_copy"](ours)
    query, memory = torch.randn(2, 5, WIDTH), torch.randn(2, 7, WIDTH)
    mask = torch.rand(2, 1, 5, 7) > 0.4
    mask[..., 0] = True
    torch.testing.assert_close(theirs(query, memory, memory, mask)[0], ours(query, memory, memory, mask)[0])
    assert type(ours) is MultiHeadAttention


def test_a_modern_model_has_todays_parts_and_about_as_many_parameters(workshop):
    old, new = workshop["modern"](()), workshop["modern"](("pre-norm", "RMSNorm", "SwiGLU", "rotary"))
    sizes = [sum(p.numel() for p in model.parameters()) for model in (old, new)]
    assert abs(sizes[1] / sizes[0] - 1) < 0.01
    kinds = {type(part).__name__ for part in new.modules()}
    assert {"RMSNorm", "SwiGLU", "RotaryAttention"} <= kinds and not {"LayerNorm", "FeedForward"} & kinds
    source, target = torch.randint(4, 200, (2, 8)), torch.randint(4, 200, (2, 6))
    future = target.clone()
    future[:, 4:] = 5
    with torch.no_grad():
        logits = new.eval()(source, target)[0]
        torch.testing.assert_close(new(source, future)[0][:, :4], logits[:, :4])
        assert not torch.allclose(new(source.flip(1), target)[0], logits, atol=1e-3)  # it knows the order


# ---------------------------------------------------------------------------------- figures and the text field


def an_alignment() -> Alignment:
    weights = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 3, 5))
    return Alignment(["l'", "<été>", "vient", "<eos>"], ["the", "summer", "is", "coming", "<eos>"], weights)


def test_every_head_and_their_mean_have_a_panel():
    figure = alignment_heads(an_alignment(), layer=0)
    titles = [axes.get_title() for axes in figure.axes if axes.get_visible() and axes.get_title()]
    assert titles == ["head 1", "head 2", "head 3", "mean of the heads"]


def test_weights_of_another_shape_are_no_alignment():
    with pytest.raises(ValueError, match=r"layers, heads, 1, 2"):
        Alignment(["a", "b"], ["c"], np.ones((1, 1, 2, 2)))


def test_an_alignment_in_words_names_the_strongest_link_of_each_word():
    alignment = an_alignment()
    lines = strongest_links(alignment).splitlines()
    assert len(lines) == 5
    for line, row in zip(lines, alignment.mean(), strict=True):
        assert f"<- {alignment.source[row.argmax()]} ({row.max():.2f})" in line
    assert "&lt;été&gt;" in alignment_html(alignment)


def test_an_alignment_says_on_hover_what_a_number_means_and_lists_what_else_was_possible():
    plain = an_alignment()
    choices = [[(word, 0.9), ("<other>", 0.05)] for word in plain.target]
    alignment = Alignment(plain.source, plain.target, plain.weights, choices)
    html = alignment_html(alignment)
    assert html.count("<td title=") == 5 * 4 and html.count("&lt;other&gt; 5%") == 5
    assert f"before “the”: {plain.mean()[0, 2]:.0%} of the attention on “vient”" in html
    assert "first choices" in html and "first choices" not in alignment_html(plain)
    assert strongest_links(alignment).splitlines()[1].endswith("summer 90%, <other> 5%")
    with pytest.raises(ValueError, match="1 of 5 tokens"):
        Alignment(plain.source, plain.target, plain.weights, choices[:1])


@pytest.fixture
def bundle(monkeypatch) -> dict:
    found: dict = {}

    def keep(widget, html, text):
        found.update(widget=widget, html=html, text=text)

    monkeypatch.setattr(translate_plots, "show_live", keep)
    return found


WORDS = Vocabulary(["Jane", "vient", "l'", "été", "."])


def test_the_text_field_translates_what_is_typed_and_stands_for_itself_without_a_kernel(bundle):
    asked = []
    translate_box(
        lambda text: (asked.append(text) or text.upper(), an_alignment()), ["Jane vient", "l'été vient"]
    )
    assert "JANE VIENT" in bundle["html"] and "L'ÉTÉ VIENT" in bundle["text"]
    field = next(part for part in bundle["widget"].children if isinstance(part, ipywidgets.Text))
    result = next(part for part in bundle["widget"].children if isinstance(part, ipywidgets.HTML))
    field.value = "Jane <b>"
    assert asked[-1] == "Jane <b>" and "JANE &lt;B&gt;" in result.value


@pytest.mark.parametrize(
    "text, words",
    [
        ("Jane voyage", "“voyage”"),
        ("jane vient", "distinguishes capitals"),
        ("", "Type a French sentence"),
        ("Jane " * 40, "too long"),
    ],
)
def test_what_cannot_be_translated_gets_a_kind_message_and_no_translation(bundle, text, words):
    def translate(typed: str):
        raise AssertionError(f"asked to translate {typed!r}")

    translate_box(translate, [text], vocabulary=WORDS)
    assert words in bundle["text"] and words in bundle["html"]


def test_unknown_words_are_named_once_each_and_known_ones_not():
    assert unknown_words("Jane l'hiver vient, l'hiver.", WORDS) == ["hiver", ","]
    assert unknown_words("Jane vient.", WORDS) == []


def test_figures_of_the_lab_draw_what_they_are_given():
    depth = curves_over_depth(
        {"a": {"x": np.ones(3), "y": np.ones(3)}, "b": {"x": np.ones(3)}}, [True, False]
    )
    assert [axes.get_yscale() for axes in depth.axes] == ["log", "linear"]
    mask = np.array([[True, False]])
    tables = [MaskTable("one", mask, "ab", "cd"), MaskTable("two", mask, "abc", "cd")]
    figure = mask_tables(tables, rows=3)
    assert [axes.get_visible() for axes in figure.axes] == [True, True, False]
    assert len(figure.axes[1].texts) == 3  # the row of the mask is repeated for all three queries
    assert len(schedule_curves({"one": np.arange(5.0), "two": np.ones(5)}).axes[0].lines) == 4
    axes = break_even({"one": (2.0, 0.1), "two": (1.0, 0.5)}, steps=100).axes[0]
    assert [line.get_ydata()[-1] for line in axes.lines] == pytest.approx([2 + 99 * 0.1, 1 + 99 * 0.5])
    assert plots.show_figure  # all of them go through it


# ---------------------------------------------------------------------------------- the recipe


@pytest.mark.slow
def test_a_learner_may_skip_the_training_and_the_whole_lab_runs_with_the_shipped_weights(
    lab, its_turn, tmp_path
):
    its_turn(0, 5)  # of the labs that come with weights
    said = printed_without_training(lab, tmp_path)
    assert "after:  Jane visits Africa in September" in said


# ---------------------------------------------------------------------------------- properties of a training step


def test_a_step_in_evaluation_mode_or_one_that_moves_only_some_weights_does_not_hold():
    weights = {"embedding": np.zeros(3), "output": np.ones((2, 2))}
    moved = {f"weight {name}": array + 0.1 for name, array in weights.items()}
    assert weights_have_moved({"weights": weights}, moved).all()
    as_before = moved | {"weight output": np.ones((2, 2))}
    assert weights_have_moved({"weights": weights}, as_before).tolist() == [True, False]
    for mode in (True, False):
        assert bool(trained_in_training_mode({}, {"in training mode": np.array(mode)})) == mode
