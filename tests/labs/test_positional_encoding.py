"""Lab 04: its mathematics, its equality with what libraries compute, its figures, and what its payoff promises."""

from __future__ import annotations

import base64
import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_utils import plots
from course_utils.checking.outcome import try_case
from course_utils.exercises.positional_encoding import learned_positional_embedding
from course_utils.maths import scaled_dot_product_attention
from course_utils.plots import positions
from course_utils.widgets.clocks import Clocks

LAB = "04_positional_encoding"


@pytest.fixture(scope="module")
def reference(labs) -> SimpleNamespace:
    """The exercises of lab 04 as its solution defines them."""
    lab = labs[LAB]
    return SimpleNamespace(
        **{exercise.name: lab.reference[exercise.name] for exercise in lab.exercises.values()}
    )


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(4)


# ---------------------------------------------------------------------------------- attention and order


def test_attention_without_positions_shuffles_its_outputs_with_its_inputs(rng):
    x, order = rng.standard_normal((6, 5)), rng.permutation(6)
    plain, _ = scaled_dot_product_attention(x, x, x)
    shuffled, _ = scaled_dot_product_attention(x[order], x[order], x[order])
    np.testing.assert_allclose(shuffled, plain[order], rtol=1e-12)


def test_with_positions_the_outputs_depend_on_the_order(reference, rng):
    ids, table = np.arange(6), rng.standard_normal((6, 8))

    def outputs(ids):
        x = reference.embed_tokens(ids, table)
        return scaled_dot_product_attention(x, x, x)[0]

    assert np.abs(outputs(ids[::-1]) - outputs(ids)[::-1]).min(axis=-1).max() > 1e-3


# ---------------------------------------------------------------------------------- sinusoids

pairs = st.integers(1, 40)
places = st.integers(0, 3000)
offsets = st.integers(-500, 500)


@given(place=places, n_pairs=pairs)
@settings(max_examples=60, deadline=None)
def test_a_row_is_made_of_the_papers_equations(labs, place, n_pairs):
    encode = labs[LAB].reference["positional_encoding"]
    row = encode(place + 1, 2 * n_pairs)[place]
    for i in range(n_pairs):
        angle = place / 10000 ** (2 * i / (2 * n_pairs))
        assert np.isclose(row[2 * i], np.sin(angle)) and np.isclose(row[2 * i + 1], np.cos(angle))


def test_the_encoding_is_marians_with_its_halves_interleaved(reference):
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    theirs = MarianSinusoidalPositionalEmbedding(60, 32).create_weight().numpy()
    ours = reference.positional_encoding(60, 32)
    np.testing.assert_allclose(np.hstack([ours[:, 0::2], ours[:, 1::2]]), theirs, atol=1e-6)


def test_wavelengths_are_a_geometric_progression_from_two_pi_to_one_step_before_its_ten_thousandfold(
    reference,
):
    per_step = reference.get_angles(np.array([[1]]), np.arange(512)[None], 512)[0, ::2]
    lengths = 2 * np.pi / per_step
    np.testing.assert_allclose(lengths[1:] / lengths[:-1], 10000 ** (2 / 512), rtol=1e-9)
    np.testing.assert_allclose(lengths[[0, -1]], [2 * np.pi, 2 * np.pi * 10000 ** (510 / 512)], rtol=1e-9)


@given(first=places, second=places, offset=st.integers(0, 500), n_pairs=pairs)
@settings(max_examples=60, deadline=None)
def test_dot_products_depend_on_the_distance_only(labs, first, second, offset, n_pairs):
    get_angles = labs[LAB].reference["get_angles"]

    def encode(place):
        angles = get_angles(np.array([[place]]), np.arange(0, 2 * n_pairs, 2)[None], 2 * n_pairs)[0]
        return np.concatenate([np.sin(angles), np.cos(angles)])

    here, moved = (encode(first + k) @ encode(second + k) for k in (0, offset))
    assert np.isclose(here, moved, atol=1e-8) and np.isclose(here, encode(second) @ encode(first))


def test_an_odd_number_of_features_is_refused(reference):
    with pytest.raises(ValueError, match="even"):
        reference.positional_encoding(4, 7)


# ---------------------------------------------------------------------------------- shift_matrix


@given(offset=offsets, n_pairs=pairs)
@settings(max_examples=60, deadline=None)
def test_the_shift_matrix_moves_every_position_by_the_offset(labs, offset, n_pairs):
    lab = labs[LAB].reference
    encoding = lab["positional_encoding"](700, 2 * n_pairs)
    start = max(0, -offset)
    here = encoding[start : 700 - max(0, offset)]
    moved = here @ lab["shift_matrix"](offset, 2 * n_pairs).T
    np.testing.assert_allclose(moved, encoding[start + offset :][: len(here)], atol=1e-9)


@given(first=offsets, second=offsets, n_pairs=pairs)
@settings(max_examples=60, deadline=None)
def test_shift_matrices_are_rotations_that_compose(labs, first, second, n_pairs):
    shift = labs[LAB].reference["shift_matrix"]
    a, b, both = (shift(offset, 2 * n_pairs) for offset in (first, second, first + second))
    np.testing.assert_allclose(a.T @ a, np.eye(2 * n_pairs), atol=1e-12)
    assert np.isclose(np.linalg.det(a), 1)
    np.testing.assert_allclose(a @ b, both, atol=1e-9)
    np.testing.assert_allclose(shift(-first, 2 * n_pairs), a.T, atol=1e-12)


def test_no_other_matrix_moves_all_positions(reference):
    """The encodings of all positions span the space, so what is compared with is the only right answer."""
    encoding = reference.positional_encoding(4000, 10)
    assert np.linalg.matrix_rank(encoding) == 10


# ---------------------------------------------------------------------------------- learned positions


def tried(learner):
    """What the check makes of a class: an outcome for each case."""
    return [
        try_case(
            learned_positional_embedding, case, "positional_encoding.LearnedPositionalEmbedding", learner, 7
        )
        for case in learned_positional_embedding.cases
    ]


def test_an_embedding_and_a_parameter_are_both_accepted(reference):
    import torch
    from torch import nn

    class ByLookUp(nn.Module):
        def __init__(self, max_len, d_model):
            super().__init__()
            self.table = nn.Embedding(max_len, d_model)

        def forward(self, x):
            if x.shape[1] > self.table.num_embeddings:
                raise ValueError("too long")
            return x + self.table(torch.arange(x.shape[1]))

    for ours, theirs in zip(tried(reference.LearnedPositionalEmbedding), tried(ByLookUp), strict=True):
        assert ours.problem is None and theirs.problem is None
        for run, other in zip(ours.runs, theirs.runs, strict=True):
            assert all(np.allclose(run[name], other[name]) for name in run)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda torch, n, d: torch.zeros(n, d), "a plain Tensor"),
        (lambda torch, n, d: None, "missing"),
        (lambda torch, n, d: torch.nn.Linear(n, d), "a Linear"),
        (
            lambda torch, n, d: torch.nn.Parameter(torch.zeros(1, n, d)),
            r"has shape \(1, 7, 6\).*must be \(7, 6\)",
        ),
        (lambda torch, n, d: torch.nn.Embedding(d, n), r"has shape \(6, 7\).*must be \(7, 6\)"),
    ],
    ids=["tensor", "none", "another module", "an axis too many", "turned round"],
)
def test_a_table_that_is_no_parameter_or_of_another_shape_is_named(make, words):
    import torch

    class Other(torch.nn.Module):
        def __init__(self, max_len, d_model):
            super().__init__()
            self.table = make(torch, max_len, d_model)

        def forward(self, x):
            return x

    problem = tried(Other)[0].problem
    assert problem.kind == "exception" and re.search(words, problem.message)


def test_a_forward_without_return_and_one_that_gives_numpy_are_named(reference):
    class Nothing(reference.LearnedPositionalEmbedding):
        def forward(self, x):
            super().forward(x)

    class Numpy(reference.LearnedPositionalEmbedding):
        def forward(self, x):
            return super().forward(x).detach().numpy()

    assert "returned None" in tried(Nothing)[0].problem.message
    assert "returned a ndarray" in tried(Numpy)[0].problem.message


# ---------------------------------------------------------------------------------- rotary embeddings


def test_rotary_is_that_of_roformer(reference, rng):
    import torch
    from transformers.models.roformer import modeling_roformer as roformer

    x = rng.standard_normal((2, 3, 7, 8))
    angles = roformer.RoFormerSinusoidalPositionalEmbedding(7, 8).create_weight()[None, None].double()
    theirs, _ = roformer.RoFormerSelfAttention.apply_rotary_position_embeddings(
        angles, torch.tensor(x), torch.tensor(x)
    )
    np.testing.assert_allclose(reference.rotary_embedding(x), theirs.numpy(), atol=1e-5)


def test_rotary_is_that_of_llama_with_the_features_in_its_order(reference, rng):
    import torch
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    x = rng.standard_normal((2, 3, 7, 8))
    config = LlamaConfig(hidden_size=24, num_attention_heads=3, head_dim=8)
    cos, sin = LlamaRotaryEmbedding(config)(torch.tensor(x), torch.arange(7)[None])
    halves = np.r_[0:8:2, 1:8:2]
    query = torch.tensor(x[..., halves])
    theirs, _ = apply_rotary_pos_emb(query, query, cos, sin)
    np.testing.assert_allclose(reference.rotary_embedding(x)[..., halves], theirs.numpy(), atol=1e-5)


@given(at=places, to=places, offset=st.integers(0, 3000), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_scores_of_turned_vectors_depend_on_the_distance_only(labs, at, to, offset, seed):
    rotate = labs[LAB].reference["rotary_embedding"]
    query, key = np.random.default_rng(seed).standard_normal((2, 1, 8))
    here, later = (rotate(query, np.array([at + k])) @ rotate(key, np.array([to + k])).T for k in (0, offset))
    np.testing.assert_allclose(here, later, atol=1e-8)


def test_a_turn_of_unit_vectors_is_the_transposed_shift_matrix(reference):
    """The sinusoids have the sine first, rotary pairs the cosine: the same turn, in the other direction."""
    units = np.repeat(np.eye(8)[:, None], 5, axis=1)  # each unit vector at each position
    turns = reference.rotary_embedding(units)
    for place in range(5):
        np.testing.assert_allclose(turns[:, place], reference.shift_matrix(place, 8), atol=1e-12)


# ---------------------------------------------------------------------------------- figures and widget


def test_the_figures_can_be_drawn(published, rng):
    table = rng.random((20, 20))
    for figure in (
        positions.encoding_and_waves(np.sin(table), [0, 3, 7]),
        positions.wavelengths({"one": np.arange(1, 9), "other": np.full(8, 3)}),
        positions.similarity_and_distance(table, starts=[0, 10, 19], title="Any"),
        positions.accuracy_by_length([4, 8], {"one": [1.0, 0.5], "other": [0.5, 0.5]}, trained=4),
    ):
        plots.show_figure(figure, alt="One of them.")
    assert len(published) == 4


def test_a_similarity_curve_has_distance_zero_at_its_start(rng):
    table = rng.random((20, 20))
    lines = positions.similarity_and_distance(table, starts=[5], title="Any").axes[1].lines
    at_zero = lines[0].get_ydata()[list(lines[0].get_xdata()).index(0)]
    assert at_zero == table[5, 5]


@pytest.mark.parametrize("offset", [None, 4])
def test_clocks_say_in_words_what_their_hands_show(offset):
    clocks = Clocks(np.arange(41)[:, None] * np.array([1.0, 0.1]), offset=offset)
    assert "pair 1: sin  0.296  cos  0.955" in clocks.alt()
    assert clocks.still().count('alt="pair') == 6
    assert ("turns by 0.400 radians" in clocks.alt()) == (offset is not None)
    assert ("turned by 0.400 rad" in clocks.still()) == (offset is not None)


def test_a_clock_hand_stands_at_twelve_at_position_zero_and_goes_clockwise():
    still = Clocks(np.array([[0.0], [np.pi / 2]]), start=1).still()
    drawn = [base64.b64decode(data).decode() for data in re.findall(r"svg\+xml;base64,([^\"]+)", still)]
    tips = re.findall(r'x2="([\d.]+)" y2="([\d.]+)" stroke-width="4"', "".join(drawn))
    assert tips == [("50.0", "12.0"), ("88.0", "50.0")]


def test_the_page_gets_what_it_needs_to_move_the_hands():
    angles = np.arange(41)[:, None] * np.array([1.0])
    assert Clocks(angles).data() | {"angles": 0} == {
        "angles": 0,
        "offsets": 0,
        "start": 3,
        "offset": 0,
    }
    data = Clocks(angles, offset=2).data()
    assert data["angles"][40] == [40.0] and (data["offsets"], data["offset"]) == (10, 2)
