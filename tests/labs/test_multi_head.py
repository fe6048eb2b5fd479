"""Lab 03: its reference computes what torch, Keras and the pretrained encoder compute; its figures, browser and words hold.

Comparisons with the libraries are in float64. No query row is fully blocked there: what comes of one is a
convention (NaN, or equal weights, in the libraries). Lab 03's own checks fix the course's.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from project import drawn

from course_utils import plots
from course_utils.checking.comparison import compare
from course_utils.checking.exercise import PUBLIC_SEED
from course_utils.data.meanings import PARAPHRASES, SENSES, Judged, judge
from course_utils.data.word_pairs import TO_CHOOSE, TO_TEST, places
from course_utils.display import show_table
from course_utils.maths import scaled_dot_product_attention
from course_utils.models.pretrained import load_tokenizer
from course_utils.plots import heads as head_plots
from course_utils.widgets.head_columns import HeadColumns
from course_utils.widgets.heads import LONGEST, HeadBrowser
from grader.reference.lab import Lab

LAB = "03_multi_head_attention"
BATCH, HEADS, Q_LEN, K_LEN, D_K, D_V, D_MODEL = 2, 3, 5, 7, 4, 6, 12
# D_K is a square because Keras rounds 1 / √D_K to float32, whatever the layer's own dtype is.


@pytest.fixture(scope="module")
def lab(labs) -> Lab:
    return labs[LAB]


@pytest.fixture(scope="module")
def reference(lab) -> SimpleNamespace:
    """The exercises of lab 03 as its solution defines them."""
    return SimpleNamespace(
        **{exercise.name: lab.reference[exercise.name] for exercise in lab.exercises.values()}
    )


def some_mask(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """True = may attend. Every row blocks a key and allows one."""
    mask = rng.random(shape) < 0.5
    mask[..., 0], mask[..., -1] = True, False
    return rng.permuted(mask, axis=-1)


def sentences(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.standard_normal((BATCH, Q_LEN, D_MODEL)), rng.standard_normal((BATCH, K_LEN, D_MODEL))


def matrices(rng: np.random.Generator, d_k: int, d_v: int, num_heads: int = HEADS) -> list[np.ndarray]:
    widths = [num_heads * d_k, num_heads * d_k, num_heads * d_v]
    return [
        *(rng.standard_normal((D_MODEL, width)) / np.sqrt(D_MODEL) for width in widths),
        rng.standard_normal((num_heads * d_v, D_MODEL)) / np.sqrt(D_MODEL),
    ]


def assert_same(ours: tuple, theirs: tuple) -> None:
    """The same outputs and the same weights, shapes included."""
    for name, our, their in zip(("output", "weights"), ours, theirs, strict=True):
        np.testing.assert_allclose(our, their, rtol=1e-9, atol=1e-12, err_msg=name, strict=True)


MASKS = pytest.mark.parametrize(
    "mask_shape", [None, (Q_LEN, K_LEN), (BATCH, 1, K_LEN), (BATCH, Q_LEN, K_LEN)], ids=str
)


# ---------------------------------------------------------------------------------- the mathematics


def test_the_courses_ready_attention_is_what_lab_02_builds(labs, rng):
    query, key, value = (rng.standard_normal((BATCH, HEADS, n, D_K)) for n in (Q_LEN, K_LEN, K_LEN))
    mask = some_mask(rng, BATCH, 1, Q_LEN, K_LEN)
    mask[1, 0, 2] = False  # a query that may look at nothing
    lab_02 = labs["02_self_attention"].reference["scaled_dot_product_attention"]
    for allowed in (None, mask):
        ours = scaled_dot_product_attention(query, key, value, allowed)
        assert_same(ours, lab_02(query, key, value, allowed))
        if allowed is not None:
            assert not ours[1][~np.broadcast_to(mask, ours[1].shape)].any()


@MASKS
def test_the_loop_over_heads_equals_all_heads_at_once(reference, rng, mask_shape):
    mask = some_mask(rng, *mask_shape) if mask_shape else None
    given_ = (*sentences(rng), *matrices(rng, D_K, D_V), HEADS, mask)
    assert_same(reference.multi_head_attention_loop(*given_), reference.multi_head_attention(*given_))


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3), st.lists(st.integers(1, 3), max_size=2))
def test_merging_what_was_split_gives_it_back(labs, num_heads, seq_len, d_k, lead):
    names = labs[LAB].reference
    x = np.random.default_rng(0).standard_normal((*lead, seq_len, num_heads * d_k))
    split = names["split_heads"](x, num_heads)
    assert split.shape == (*lead, num_heads, seq_len, d_k)
    assert np.array_equal(names["merge_heads"](split), x)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("num_heads", [1, 2, 3, 6])
def test_the_formula_counts_the_parameters_of_the_module_which_do_not_depend_on_the_heads(
    reference, num_heads, bias
):
    module = reference.MultiHeadAttention(D_MODEL, num_heads, bias=bias)
    really = sum(parameter.numel() for parameter in module.parameters())
    share = D_MODEL // num_heads
    assert really == reference.count_parameters(D_MODEL, num_heads, share, share, bias)
    assert really == reference.count_parameters(D_MODEL, 1, D_MODEL, D_MODEL, bias)


def test_the_bias_of_the_keys_changes_nothing(reference, rng):
    """As "Going further" says: it adds the same number to all scores of a query."""
    import torch

    torch.manual_seed(0)
    module = reference.MultiHeadAttention(D_MODEL, HEADS).double()
    x, memory = map(torch.tensor, sentences(rng))
    with torch.no_grad():
        before = module(x, memory, memory)
        module.w_key.bias.copy_(torch.tensor(rng.standard_normal(D_MODEL)))
        after = module(x, memory, memory)
    assert_same(before, after)


# ---------------------------------------------------------------------------------- torch's layer


def module_with(reference, weights: list[np.ndarray], biases: list[np.ndarray] | None = None):
    """The reference's module in float64 with the given matrices (in, out) and biases."""
    import torch

    module = reference.MultiHeadAttention(D_MODEL, HEADS, bias=biases is not None).double()
    layers = (module.w_query, module.w_key, module.w_value, module.w_output)
    with torch.no_grad():
        for layer, weight in zip(layers, weights, strict=True):
            layer.weight.copy_(torch.tensor(weight.T))
        for layer, bias in zip(layers, biases or [], strict=False):
            layer.bias.copy_(torch.tensor(bias))
    return module


def called(module, *arrays: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    import torch

    with torch.no_grad():
        found = module(*(None if array is None else torch.tensor(array) for array in arrays))
    return tuple(tensor.numpy() for tensor in found)


def torch_layer(query, key, value, weights, biases=None, mask=None) -> tuple[np.ndarray, np.ndarray]:
    """Output and weights of torch's layer with copied weights. Its masks are True where nobody may attend."""
    import torch

    layer = torch.nn.MultiheadAttention(
        D_MODEL, HEADS, bias=biases is not None, batch_first=True, dtype=torch.float64
    )
    *inputs, output = weights
    if mask is not None:  # one table for each sentence and head
        blocked = ~np.broadcast_to(mask, (BATCH, Q_LEN, K_LEN))
        mask = torch.tensor(np.repeat(blocked, HEADS, axis=0))
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.tensor(np.concatenate([weight.T for weight in inputs])))
        layer.out_proj.weight.copy_(torch.tensor(output.T))
        if biases is not None:
            layer.in_proj_bias.copy_(torch.tensor(np.concatenate(biases[:3])))
            layer.out_proj.bias.copy_(torch.tensor(biases[3]))
        found = layer(*map(torch.tensor, (query, key, value)), attn_mask=mask, average_attn_weights=False)
    return tuple(tensor.numpy() for tensor in found)


@MASKS
def test_the_numpy_functions_equal_torchs_layer(reference, rng, mask_shape):
    x, memory = sentences(rng)
    weights = matrices(rng, D_MODEL // HEADS, D_MODEL // HEADS)
    mask = some_mask(rng, *mask_shape) if mask_shape else None
    theirs = torch_layer(x, memory, memory, weights, mask=mask)
    for ours in (reference.multi_head_attention_loop, reference.multi_head_attention):
        assert_same(ours(x, memory, *weights, HEADS, mask), theirs)


@pytest.mark.parametrize("bias", [True, False])
@MASKS
def test_the_module_equals_torchs_layer_for_any_query_key_and_value(reference, rng, mask_shape, bias):
    query, key = sentences(rng)
    value = rng.standard_normal(key.shape)
    weights = matrices(rng, D_MODEL // HEADS, D_MODEL // HEADS)
    biases = [rng.standard_normal(D_MODEL) for _ in weights] if bias else None
    mask = some_mask(rng, *mask_shape) if mask_shape else None
    ours = called(module_with(reference, weights, biases), query, key, value, mask)
    assert_same(ours, torch_layer(query, key, value, weights, biases, mask))


# ---------------------------------------------------------------------------------- Keras' layer


@pytest.mark.slow
@MASKS
def test_the_numpy_functions_equal_keras_layer_also_where_heads_do_not_fit_into_d_model(
    reference, keras, rng, mask_shape
):
    x, memory = sentences(rng)
    weights = matrices(rng, D_K, D_V)
    mask = some_mask(rng, *mask_shape) if mask_shape else None
    layer = keras.layers.MultiHeadAttention(
        num_heads=HEADS, key_dim=D_K, value_dim=D_V, use_bias=False, dtype="float64"
    )
    layer.build(x.shape, memory.shape)
    *inputs, output = weights  # Keras gives the heads an axis of their own
    layer.set_weights(
        [*(weight.reshape(D_MODEL, HEADS, -1) for weight in inputs), output.reshape(HEADS, D_V, D_MODEL)]
    )
    found = layer(x, memory, attention_mask=mask, return_attention_scores=True)
    theirs = tuple(map(keras.ops.convert_to_numpy, found))
    for ours in (reference.multi_head_attention_loop, reference.multi_head_attention):
        assert_same(ours(x, memory, *weights, HEADS, mask), theirs)


# ---------------------------------------------------------------------------------- the pretrained encoder

TEXTS = (
    "Jane visits Africa in September.",
    "The cat sat on the mat because the mat was warm.",
    "The doctor told the nurse that the doctor would be late.",
)


@pytest.fixture(scope="module")
def readings():
    from course_utils.models.pretrained import read

    return [read(text) for text in TEXTS]


def learned_module(reference, layer: int):
    import torch

    from course_utils.models.pretrained import attention_weights

    module = reference.MultiHeadAttention(384, 12)
    learned = attention_weights(layer)
    with torch.no_grad():
        for name in ("query", "key", "value", "output"):
            getattr(module, f"w_{name}").weight.copy_(torch.tensor(learned[f"w_{name}"].T))
            getattr(module, f"w_{name}").bias.copy_(torch.tensor(learned[f"b_{name}"]))
    return module


@pytest.mark.slow
@pytest.mark.parametrize("layer", range(1, 7))
def test_the_module_with_a_pretrained_layers_weights_gives_that_layers_output_to_1e_5(reference, layer):
    import torch

    from course_utils.models.pretrained import load_encoder, load_tokenizer

    batch, encoder, theirs = (
        load_tokenizer()(list(TEXTS), padding=True, return_tensors="pt"),
        load_encoder(),
        [],
    )
    dense = encoder.encoder.layer[layer - 1].attention.output.dense
    hook = dense.register_forward_hook(lambda _, inputs, output: theirs.append(output))
    with torch.no_grad():
        seen = encoder(**batch, output_hidden_states=True, output_attentions=True)
        hook.remove()
        words, real = seen.hidden_states[layer - 1], batch["attention_mask"].bool()
        output, weights = learned_module(reference, layer)(words, words, words, real[:, None, :])
    assert (output - theirs[0]).abs().max() < 1e-5
    assert (weights - seen.attentions[layer - 1]).abs().max() < 1e-5


@pytest.mark.slow
def test_the_heads_that_the_lab_names_look_where_it_says(readings):
    shares = head_plots.mean_patterns(readings)
    assert head_plots.strongest(shares["previous token"]) == (1, 3)
    assert shares["previous token"][0, 2] > 0.95
    assert head_plots.strongest(shares["next token"]) == (2, 9) and shares["next token"][1, 8] > 0.5
    assert {(1, 9), (3, 10)} <= {tuple(place + 1) for place in np.argwhere(shares["same word"] > 0.25)}
    assert shares["[CLS]"][1:].mean() > 0.4 > 0.1 > shares["[SEP]"].mean()


@pytest.mark.slow
def test_from_layer_2_on_values_at_cls_are_short_except_in_the_one_head_that_does_not_look_there(
    reference, readings
):
    import torch

    for layer in range(2, 7):
        values = learned_module(reference, layer).w_value(torch.tensor(readings[1].hidden[layer - 1]))
        lengths = np.linalg.norm(reference.split_heads(values.detach().numpy(), 12), axis=-1)
        relative = lengths[:, 0] / lengths[:, 1:-1].mean(axis=1)
        short = relative < 0.22
        assert short.all() if layer != 4 else (~short).nonzero()[0].tolist() == [11]
        assert np.median(relative) < 0.12
    assert head_plots.pattern_shares(readings[1].tokens, readings[1].attention)["[CLS]"][3, 11] < 0.15


@pytest.mark.slow
def test_a_second_head_is_needed_by_a_linear_reader_and_by_any_if_the_books_are_noisy(lab, its_turn):
    """The cells of section 7, as they are."""
    its_turn(1, 3)
    names = dict(lab.reference)
    for cell in lab.source().cells:
        if any(f"def {each}(" in cell.source for each in ("telephone_books", "train", "both_right")):
            exec(cell.source.partition("\nrows = ")[0], names)
    noise, sizes = 0.2, set()

    def both(heads: int, hidden: int, noise: float = 0.0, steps: int = 400) -> float:
        attention, reader = names["train"](heads, hidden, noise, 0, steps)
        sizes.add(sum(parameter.numel() for parameter in attention.parameters()))
        return names["both_right"](attention, reader, noise)

    assert both(1, 0) < 0.5 and both(2, 0) > 0.95
    assert both(1, 128) > 0.95  # what is mixed can be taken apart, but by a linear reader
    assert both(1, 512, noise, steps=1600) < 0.75 and both(2, 0, noise) > 0.95
    assert len(sizes) == 1


# ---------------------------------------------------------------------------------- what the check says

CLASS = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.h = num_heads
{init}

    def forward(self, query, key, value, mask=None):
        import math
        batch = query.shape[0]
        heads = lambda t: {heads}
        q, k, v = heads(self.w_query(query)), heads(self.w_key(key)), heads(self.w_value({values}))
        logits = torch.einsum("bhqd,bhkd->bhqk", q, k) * {scale}
        if mask is not None:
            mask = {mask}
            logits = {masked}
        weights = torch.softmax(logits, dim={dim})
        weights = torch.nan_to_num(weights)
        if mask is not None:
            weights = weights * {kept}
        context = torch.einsum("bhqk,bhkd->b{order}", weights, v).reshape(batch, query.shape[1], -1)
        return {returned}
"""
RIGHT = {
    "init": "        for name in ('w_query', 'w_key', 'w_value', 'w_output'):\n"
    "            setattr(self, name, nn.Linear(d_model, d_model, bias))",
    "heads": "torch.stack(t.chunk(self.h, dim=-1), dim=1)",
    "values": "value",
    "scale": "(key.shape[-1] // self.h) ** -0.5",
    "mask": "mask[(None,) * (3 - mask.ndim)][:, None]",
    "masked": "logits.masked_fill(mask.logical_not(), float('-inf'))",
    "dim": "3",
    "kept": "mask",
    "order": "qhd",
    "returned": "self.w_output(context), weights",
}
WRITTEN_DIFFERENTLY = {
    "ViewWithoutTranspose": {"heads": "t.reshape(batch, self.h, t.shape[1], -1)"},
    "MergedWithoutTranspose": {"order": "hqd"},
    "ValueFromKey": {"values": "key"},
    "ScaledByDModel": {"scale": "1 / math.sqrt(key.shape[-1])"},
    "ScaledByNumberOfHeads": {"scale": "1 / math.sqrt(self.h)"},
    "SoftmaxOverHeads": {"dim": "-3"},
    "MaskInverted": {"masked": "logits.masked_fill(mask, float('-inf'))", "kept": "~mask"},
    "MaskWithoutEffect": {"masked": "logits", "kept": "1"},
    "OutputLayerNeverUsed": {"returned": "context, weights"},
    "WeightsAveraged": {"returned": "self.w_output(context), weights.mean(dim=1)"},
    "BiasIgnored": {"init": RIGHT["init"].replace(", bias)", ")")},
    "LinearMadeInForward": {
        "init": "        self.layers = [nn.Linear(d_model, d_model, bias) for _ in range(4)]"
    },
}


@pytest.fixture(scope="module")
def verdict(lab):
    """Judges a module's source at the public seed. What is expected is computed once."""
    key = f"{lab.slug}.MultiHeadAttention"
    expected = lab.expected(PUBLIC_SEED)[key]

    def judged(source: str):
        names = dict(lab.reference)
        exec(source, names)
        return compare(
            lab.exercises[key], lab.outcomes(key, names["MultiHeadAttention"], PUBLIC_SEED), expected
        )

    return judged


def test_a_module_written_in_quite_another_style_earns_everything(verdict):
    found = verdict(CLASS.format(**RIGHT))
    assert found.score == 1, [check for check in found.checks if not check.passed]


@pytest.mark.parametrize("mistake", WRITTEN_DIFFERENTLY)
def test_a_mistake_in_another_style_is_recognised(verdict, mistake):
    found = verdict(CLASS.format(**RIGHT | WRITTEN_DIFFERENTLY[mistake]))
    assert [each.name for each in (*found.recognised, *found.possible)] == [mistake]


@pytest.mark.parametrize(
    "change, words",
    [
        (WRITTEN_DIFFERENTLY["LinearMadeInForward"], "no parameter `w_query.weight` (it has: none)"),
        ({"init": RIGHT["init"].replace("d_model, d_model", "d_model // num_heads, d_model")}, "has shape (12, 4)"),
        ({"values": "value + torch.rand(1)"}, "two different outputs"),
        ({"returned": "self.w_output(context).detach(), weights"}, "no gradient reaches `query`, `key`, `value` or any weight"),
        ({"returned": "self.w_output(context.detach()), weights"}, "or the weight `w_key.bias` (and 5 others)"),
        ({"init": WRITTEN_DIFFERENTLY["BiasIgnored"]["init"]}, "there must be no `w_query.bias`"),
    ],
    ids=["in forward", "another shape", "random", "no gradient", "cut off", "bias ignored"],
)  # fmt: skip
def test_a_module_that_is_not_built_as_asked_is_told_what_is_wrong(verdict, change, words):
    details = [check.detail for check in verdict(CLASS.format(**RIGHT | change)).checks]
    assert any(words in detail for detail in details), details


def test_a_class_that_is_no_module_is_told_so(verdict):
    found = verdict("class MultiHeadAttention:\n    def __init__(self, *args, **more): pass")
    assert found.score == 0 and "is no nn.Module" in found.checks[0].detail


def test_a_tensor_changed_in_place_is_noticed(verdict):
    found = verdict(CLASS.format(**RIGHT | {"values": "value.add_(0.1)"}))
    assert not next(check for check in found.checks if "left unchanged" in check.title).passed


# ---------------------------------------------------------------------------------- measuring patterns

TOKENS = ("[CLS]", "a", "b", "a", "[SEP]")


def test_a_head_that_looks_at_one_pattern_only_has_share_one_there():
    previous = np.eye(5, k=-1)
    previous[0, 0] = 1
    shares = head_plots.pattern_shares(TOKENS, previous)
    assert shares["previous token"] == 1 and shares["next token"] == 0 and shares["itself"] == 0
    assert shares["[CLS]"] == pytest.approx(1 / 3)  # the first word's previous token
    same_word = np.eye(5)[[0, 3, 2, 1, 4]]
    assert head_plots.pattern_shares(TOKENS, same_word)["same word"] == 1


def test_even_attention_has_even_shares_and_each_layer_and_head_its_own():
    attention = np.full((2, 3, 5, 5), 1 / 5)
    attention[1, 2] = np.eye(5)[[4] * 5]
    shares = head_plots.pattern_shares(TOKENS, attention)
    assert all(share.shape == (2, 3) and np.allclose(share[0], 1 / 5) for share in shares.values())
    assert shares["[SEP]"][1, 2] == 1 and head_plots.strongest(shares["[SEP]"]) == (2, 3)


def test_a_pattern_that_a_sentence_does_not_have_is_no_number_and_left_out_of_the_mean():
    without = SimpleNamespace(tokens=("[CLS]", "a", "b", "[SEP]"), attention=np.full((2, 3, 4, 4), 1 / 4))
    with_it = SimpleNamespace(tokens=TOKENS, attention=np.full((2, 3, 5, 5), 1 / 5))
    assert np.isnan(head_plots.pattern_shares(without.tokens, without.attention)["same word"]).all()
    means = head_plots.mean_patterns([without, with_it])
    assert np.allclose(means["same word"], 1 / 5) and np.allclose(means["itself"], (1 / 4 + 1 / 5) / 2)


# ---------------------------------------------------------------------------------- figures and the browser


def made_up(sentence: str) -> SimpleNamespace:
    """As `read` does for a sentence, with 2 layers of 3 heads; layer 2, head 3 looks at the previous token."""
    tokens = ("[CLS]", *sentence.split(), "[SEP]")
    attention = np.random.default_rng(len(tokens)).dirichlet(np.ones(len(tokens)), (2, 3, len(tokens)))
    attention[1, 2] = np.eye(len(tokens), k=-1)
    attention[1, 2, 0, 0] = 1
    return SimpleNamespace(tokens=tokens, attention=attention)


def browser(sentence: str = "the cat <b> the mat", **options) -> HeadBrowser:
    return HeadBrowser(made_up, sentence, ((1, 2), (2, 3)), **options)


def test_the_figures_of_the_lab_can_be_drawn(published):
    plots.show_figure(head_plots.split_figure(3, 2, 4), alt="Split.")
    plots.show_figure(
        head_plots.pattern_grid(head_plots.mean_patterns([made_up("a b a"), made_up("b a b c")])), alt="Grid."
    )
    assert len(published) == 2


def test_without_a_kernel_the_browser_shows_its_two_heads_in_a_picture_and_in_text():
    shown = browser()
    picture = base64.b64decode(re.search(r"svg\+xml;base64,([^\"]+)", shown.still()).group(1)).decode()
    texts = "".join(ElementTree.fromstring(picture).itertext())
    assert "Layer 1, head 2" in texts and "Layer 2, head 3" in texts and "<b>" in texts
    assert picture.count("<image ") == 2 * 3  # every head
    text = shown.alt()
    assert "Layer 1, head 2" in text and "same word" in text
    assert text.count("\n") == 2 * (
        1 + 8
    )  # for each head a summary, and a table with a head and a line a token


def test_the_browser_gives_the_page_every_head_in_thousandths_and_the_pairs_of_every_pattern():
    data = browser().data()
    json.dumps(data, allow_nan=False)
    np.testing.assert_allclose(
        np.array(data["thousandths"]) / 1000, made_up("the cat <b> the mat").attention, atol=5e-4
    )
    pairs = {pattern["name"]: pattern["pairs"] for pattern in data["patterns"]}
    assert pairs["same word"] == [(1, 4), (4, 1)] and pairs["[SEP]"][-1] == (5, 6)
    assert data["markers"] == [0, 6] and data["lengths"] is None and data["heads"] == [[0, 1], [1, 2]]


def test_the_browser_reads_a_sentence_that_is_typed_and_asks_for_the_lengths_of_its_values():
    live = browser(value_lengths=lambda reading: reading.attention[:, :, 0]).live()
    live.asked = {"sentence": "quite another one"}
    assert live.data["tokens"] == ["[CLS]", "quite", "another", "one", "[SEP]"] and live.error == ""
    np.testing.assert_allclose(
        live.data["lengths"], made_up("quite another one").attention[:, :, 0], atol=5e-4
    )


def test_the_browser_says_what_it_cannot_read_and_keeps_what_it_showed():
    def read(sentence: str) -> SimpleNamespace:
        if sentence == "broken":
            raise RuntimeError("The pretrained encoder is not installed <here>.")
        return made_up(sentence)

    live = HeadBrowser(read, "the first").live()
    before = live.data
    for typed, said in {"": "Type at least one word", "broken": "not installed <here>"}.items():
        live.asked = {"sentence": typed}
        assert said in live.error and live.data == before


def test_a_head_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="2 layers of 3 heads; there is no head 3, 1"):
        HeadBrowser(made_up, "a b", ((1, 1), (3, 1)))


def test_a_long_sentence_is_cut_and_its_last_word_is_not_taken_for_the_end():
    data = browser(" ".join(["word"] * 30)).data()
    assert len(data["tokens"]) == LONGEST and data["cut"] == 32 - LONGEST and data["markers"] == [0]
    pairs = {pattern["name"]: pattern["pairs"] for pattern in data["patterns"]}
    assert pairs["[SEP]"] == [] and (LONGEST - 1, LONGEST - 2) in pairs["previous token"]


def test_the_picture_of_lines_has_a_line_for_every_weight_that_can_be_seen():
    weights = np.array([[1.0, 0.0], [0.3, 0.7]])
    assert head_plots.head_lines(["a", "<b>"], weights).count("<line ") == 3
    chosen = head_plots.head_lines(["a", "<b>"], weights, chosen=1)
    assert chosen.count("<line ") == 2 and "a 0.30" in chosen and "&lt;b&gt; 0.70" in chosen


# ---------------------------------------------------------------------------------- breaking it


def test_an_encoder_is_judged_by_partners_and_by_senses():
    """One that knows only the words' letters finds some partners; one that says the same of everything finds none."""
    rng = np.random.default_rng(0)
    blind = judge(lambda sentences: np.ones((len(sentences), 3)))
    assert blind.senses == 0 and blind.margin == pytest.approx(0) and blind.found <= 1 / 6
    guessing = judge(lambda sentences: rng.standard_normal((len(sentences), 50)))
    assert guessing.similarities.shape == (12, 12) and guessing.found < 0.5 and 0.2 < guessing.senses < 0.8
    meanings = {}
    for pair in PARAPHRASES:
        meanings |= dict.fromkeys(pair, rng.standard_normal(50))
    for _, sentence, same, other in SENSES:
        meanings |= dict.fromkeys((sentence, same), rng.standard_normal(50)) | {
            other: rng.standard_normal(50)
        }
    knowing = judge(lambda sentences: np.array([meanings[sentence] for sentence in sentences]))
    assert knowing.found == knowing.senses == 1 and knowing.margin > 0.5


@pytest.mark.parametrize("twenty", [TO_CHOOSE, TO_TEST])
def test_marked_words_are_single_tokens_and_their_pairs_lie_as_the_page_on_data_says(twenty):
    tokenizer, steps, firsts = load_tokenizer(), Counter(), 0
    for marked in twenty:
        tokens = tokenizer.tokenize(marked.sentence)
        words = {*marked.determiner, *marked.verb, *marked.pronoun, marked.other}
        assert all(tokens.count(word.lower()) == 1 for word in words), marked.sentence
        assert sum(token in {"he", "she", "him", "her", "his"} for token in tokens) == 1
        (determiner, noun), (verb, subject) = places(tokens, *marked.determiner), places(tokens, *marked.verb)
        steps["determiner", noun - determiner] += 1
        steps["side by side"] += verb - subject == 1
        assert 1 <= verb - subject <= 6
        name, other = places(tokens, marked.pronoun[1], marked.other)
        firsts += name < other
    assert len(twenty) == 20 and firsts == 10 and steps["side by side"] == 4
    assert [steps["determiner", step] for step in (1, 2, 3)] == [8, 8, 4]


def test_no_sentence_to_choose_on_is_one_to_test_on():
    assert len({marked.sentence for marked in TO_CHOOSE + TO_TEST}) == 40


def test_a_word_with_two_meanings_stands_in_both_sentences_and_not_in_the_third():
    for word, sentence, same, other in SENSES:
        assert all(re.search(rf"\b{word}\b", text, re.IGNORECASE) for text in (sentence, other)), word
        assert not re.search(rf"\b{word}\b", same, re.IGNORECASE), word


@pytest.fixture(scope="module")
def inside_the_encoder(labs) -> Callable[[str], Judged]:
    """What the lab's own cells make of the encoder, by the name of the version."""
    names = dict(labs[LAB].reference) | {"show_table": show_table}
    for cell in labs[LAB].source().cells:
        if (
            cell.cell_type == "code"
            and re.search(
                r"^(def with_learned_weights|encoder = load|class SoftmaxOverQueries)|def sentence_vectors",
                cell.source,
                re.M,
            )
        ) or "encoder = load_encoder()" in cell.source:
            exec(cell.source, names)
    kinds = {
        "as it is": names["whole"],
        "softmax over queries": names["over_queries"],
        "no attention": names["none"],
    }
    return lambda kind: judge(lambda sentences: names["sentence_vectors"](sentences, kinds[kind]))


def test_broken_attention_finds_partners_but_no_senses(inside_the_encoder):
    whole, *broken = map(inside_the_encoder, ("as it is", "softmax over queries", "no attention"))
    assert whole.found == 1 and whole.senses > 0.75
    for each in broken:
        assert each.found > 0.9 and each.senses < 0.65 and each.margin < whole.margin / 4


def test_a_softmax_over_queries_is_one(reference, inside_the_encoder, labs):
    """The trick of the lab, letting the keys ask, against the definition."""
    import torch

    names = dict(labs[LAB].reference)
    cell = next(c.source for c in labs[LAB].source().cells if "class SoftmaxOverQueries" in c.source)
    exec(cell.partition("\n\n\ndef not_divided")[0], names)
    torch.manual_seed(0)
    module = names["SoftmaxOverQueries"](D_MODEL, HEADS).double()
    x, mask = torch.randn(2, 5, D_MODEL, dtype=torch.float64), torch.ones(2, 1, 5, dtype=torch.bool)
    with torch.no_grad():
        output, weights = module(x, x, x, mask)
        queries, keys, values = (
            layer(x).reshape(2, 5, HEADS, -1).transpose(1, 2)
            for layer in (module.w_query, module.w_key, module.w_value)
        )
        wanted = (queries @ keys.mT / (D_MODEL / HEADS) ** 0.5).softmax(dim=-2)
        expected = module.w_output((wanted @ values).transpose(1, 2).reshape(2, 5, -1))
    torch.testing.assert_close(weights, wanted)
    torch.testing.assert_close(output, expected)


# ---------------------------------------------------------------------------------- the lab's text


def test_the_numbers_that_the_prose_says_about_jane_are_those_that_its_cells_compute(lab):
    names = lab.reference
    assert np.round(names["found"][1], 2).tolist() == [0.37, 0.16, 0.43]
    assert np.round(names["weights"][1, [0, 4]], 2).tolist() == [0.36, 0.41]
    _, by_head = names["multi_head_attention_loop"](
        names["jane"], names["jane"], names["w_query"], names["w_key"], names["w_value"], np.eye(3, 4), 3
    )
    assert round(float(by_head[0, 1, 0]), 2) == 0.93 and round(float(by_head[2, 1, 4]), 2) == 0.92
    assert np.round(names["output"][2, [1, 3]], 2).tolist() == [0.99, 0.93]


# ---------------------------------------------------------------------------------- what belongs to a head


def columns(
    rng, words=("a", "<b>", "c"), features=("one", "two"), heads=3
) -> tuple[HeadColumns, list[np.ndarray]]:
    shapes = [(len(words), 2), (2, heads * 2), (2, heads * 2), (2, heads * 3), (heads * 3, 2)]
    arrays = [rng.standard_normal(shape) for shape in shapes]
    return HeadColumns(words, *arrays, heads, features, word=1), arrays


def test_the_picture_of_a_heads_columns_shows_what_the_reference_computes(reference, rng):
    picture, (x, *matrices) = columns(rng)
    output, weights = reference.multi_head_attention(x, x, *matrices, 3)
    np.testing.assert_allclose(picture.output, output)
    np.testing.assert_allclose(picture.weights, weights)
    for head in range(3):
        only = np.zeros_like(matrices[3])
        rows = slice(head * 3, head * 3 + 3)
        only[rows] = matrices[3][rows]
        alone, _ = reference.multi_head_attention(x, x, *matrices[:3], only, 3)
        np.testing.assert_allclose(picture.joined[:, rows] @ only[rows], alone)


def test_the_still_picture_of_a_heads_columns_holds_every_number_of_its_word(rng):
    picture, (x, w_query, *_, w_output) = columns(rng)
    texts = [element.text for element in drawn(picture.still()).iter("{http://www.w3.org/2000/svg}text")]
    shown = [
        x[1],
        w_query,
        picture.query[1],
        picture.weights[:, 1],
        picture.joined[1],
        w_output,
        picture.output[1],
    ]
    for number in np.concatenate([np.ravel(array) for array in shown]):
        assert f"{number:.2f}" in texts
    assert "<b>" in texts and "head 2" in texts
    assert "Head 2 has columns 4 to 5" in picture.alt() and "rows 6 to 8 of W^O" in picture.alt()


def test_a_picture_of_heads_that_do_not_fit_is_refused(rng):
    _, arrays = columns(rng)
    with pytest.raises(ValueError, match="4 heads do not fit"):
        HeadColumns("abc", *arrays, 4, ["one", "two"])
