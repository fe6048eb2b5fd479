"""Lab 06 in Keras: its layers beside formulas and libraries, what its checks see, and its way into files and back."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from test_notebooks import printed_without_training

from course_utils.checking.outcome import try_exercise
from course_utils.exercises import transformer_tensorflow as exercises
from grader.author import training

pytestmark = pytest.mark.slow  # TensorFlow takes seconds to begin, and to trace

SIZES = {"num_layers": 2, "embedding_dim": 20, "num_heads": 4, "fully_connected_dim": 28, "max_len": 11}
VOCABULARIES = {"source_vocab_size": 17, "target_vocab_size": 13}
LAYER = (20, 4, 28)


@pytest.fixture(scope="module")
def lab(labs) -> SimpleNamespace:
    """The solved notebook's names."""
    return SimpleNamespace(**labs["06_transformer_tensorflow"].reference)


@pytest.fixture
def savable(lab) -> type:
    """The solved class, registered once more: Keras knows classes by name, and other tests define unsolved ones."""
    import keras

    return keras.saving.register_keras_serializable(package="transformer_labs")(lab.SavableTransformer)


@pytest.fixture(scope="module")
def translator() -> SimpleNamespace:
    from course_utils.models import keras_translator

    return keras_translator


@pytest.fixture
def batch() -> tuple[np.ndarray, np.ndarray]:
    """Padded ids: (3, 7) of the source, (3, 6) of the target."""
    rng = np.random.default_rng(0)
    source, target = rng.integers(4, 17, (3, 7)), rng.integers(4, 13, (3, 6))
    source[1, 4:], source[2, 5:], target[0, 3:], target[:, 0] = 0, 0, 0, 1
    return source, target


def example(key: str, case: int = 0, run: int = 0) -> dict:
    exercise = exercises.__dict__[key]
    return exercise.cases[case].runs(f"transformer_tensorflow.{exercise.name}", 5)[run]


# ---------------------------------------------------------------------------------- positions and weights


@pytest.mark.parametrize("norm_first", [False, True])
def test_weights_come_back_from_keras_as_they_went_in(lab, translator, batch, norm_first):
    model = lab.Transformer(**SIZES, **VOCABULARIES, norm_first=norm_first)
    model(*batch)
    first = translator.get_weights(model)
    state = {name: np.random.default_rng(1).standard_normal(array.shape) for name, array in first.items()}
    translator.set_weights(model, state)
    for name, array in translator.get_weights(model).items():
        np.testing.assert_allclose(array, state[name], rtol=1e-6, err_msg=name)
    assert sum(array.size for array in state.values()) == model.count_params()
    assert ("encoder.norm.weight" in state) == norm_first


def test_weights_that_do_not_fit_are_refused_with_the_reason_and_change_nothing(lab, translator, batch):
    model = lab.Transformer(**SIZES, **VOCABULARIES)
    model(*batch)
    state = translator.get_weights(model)
    for change, message in (
        (
            {"final_linear.weight": np.zeros((99, 20))},
            "kernel has shape (20, 13), which cannot hold `final_linear.weight`",
        ),
        ({"encoder.layers.2.norm1.weight": np.zeros(20)}, "the number of layers differs"),
        ({"decoder.norm.weight": np.zeros(20)}, "norm_first=True"),
    ):
        wrong = {name: array + 1 for name, array in state.items()} | change
        with pytest.raises(translator.WrongWeights, match=".*") as caught:
            translator.set_weights(model, wrong)
        assert message in str(caught.value)
    shorter = {name: array for name, array in state.items() if name != "final_linear.bias"}
    with pytest.raises(translator.WrongWeights, match="too many, `final_linear.bias`"):
        translator.set_weights(model, shorter)
    for name, array in translator.get_weights(model).items():
        np.testing.assert_array_equal(array, state[name])


def test_a_layer_with_other_parts_is_told_which_one_is_missing_or_wrong(lab, translator):
    import keras

    x = np.ones((1, 3, 20), dtype="float32")
    inputs = example("encoder_layer")

    def refusal(spoil, call=True) -> str:
        layer = lab.EncoderLayer(*LAYER)
        spoil(layer)
        if call:
            layer(x, training=False, mask=None)
        with pytest.raises(translator.WrongLayer) as caught:
            translator.set_weights(layer, inputs["weights"], translator.encoder_layer)
        return str(caught.value)

    assert "there is no `mha` (but: `ffn`" in refusal(lambda layer: delattr(layer, "mha"), call=False)
    assert "`mha` has no weights: it is never called" in refusal(lambda layer: None, call=False)
    assert "`layernorm1` is a Dense" in refusal(
        lambda layer: setattr(layer, "layernorm1", keras.layers.Dense(20))
    )

    def add_a_layer(layer):
        layer.dropout1 = keras.Sequential([layer.dropout1, keras.layers.Dense(20)])

    assert "there is a weight too many" in refusal(add_a_layer)


# ---------------------------------------------------------------------------------- layers


def test_layers_hang_no_mask_on_their_output_and_raise_no_warning(lab):
    import keras

    mask = exercises.source_mask()
    ids = example("encoder", 1)["x"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = lab.EncoderLayer(*LAYER)(np.ones((3, 7, 20), dtype="float32"), training=True, mask=mask)
        stack = lab.Encoder(**SIZES, source_vocab_size=17)(ids, training=False, mask=mask)
    for output in (one, stack):
        assert getattr(output, "_keras_mask", None) is None
        assert keras.ops.shape(output) == (3, 7, 20)


def test_an_embedding_that_masks_by_itself_is_accepted_in_the_encoder(lab):
    import keras

    class Encoder(lab.Encoder):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            words, width = options["source_vocab_size"], options["embedding_dim"]
            self.embedding = keras.layers.Embedding(words, width, mask_zero=True)

    inputs = example("encoder", 1)
    ours = exercises.encoder.call(lab.Encoder, inputs)
    theirs = exercises.encoder.call(Encoder, inputs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


# ---------------------------------------------------------------------------------- loss and schedule


def test_an_optimizer_with_the_schedule_comes_back_from_its_configuration(lab):
    import keras

    optimizer = keras.optimizers.Adam(lab.WarmupSchedule(64, warmup_steps=7, factor=1.5))
    config = keras.optimizers.serialize(optimizer)
    custom = {"WarmupSchedule": lab.WarmupSchedule}
    again = keras.optimizers.deserialize(config, custom_objects=custom)
    for step in (0, 6, 50):
        wanted = 1.5 * 64**-0.5 * min((step + 1) ** -0.5, (step + 1) * 7**-1.5)
        assert float(again._learning_rate(step)) == pytest.approx(wanted, rel=1e-5)


# ---------------------------------------------------------------------------------- training and decoding


def tiny(lab, **config):
    import keras

    keras.utils.set_random_seed(3)
    return lab.Transformer(**{**SIZES, "num_layers": 1}, **VOCABULARIES, dropout_rate=0.0, **config)


def test_a_compiled_step_does_what_the_plain_one_does_and_is_traced_once_for_all_lengths(lab, batch):
    import keras
    import tensorflow as tf

    source, target = (tf.constant(ids, tf.int64) for ids in batch)
    losses, traces = {}, []
    for name in ("plain", "compiled"):
        model = tiny(lab)
        model(source, target)
        optimizer = keras.optimizers.Adam(1e-2)
        optimizer.build(model.trainable_variables)

        def step(source, labels, model=model, optimizer=optimizer):
            traces.append(source.shape)
            return lab.train_step(model, optimizer, source, labels)

        if name == "compiled":
            traces.clear()
            step = tf.function(step, input_signature=[tf.TensorSpec([None, None], tf.int64)] * 2)
        losses[name] = [float(step(source[:, :n], target[:, :n])) for n in (6, 4, 5, 6)]
    assert len(traces) == 1
    np.testing.assert_allclose(losses["plain"], losses["compiled"], rtol=1e-4)
    assert losses["plain"][-1] < losses["plain"][0]


# ---------------------------------------------------------------------------------- files


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_model_comes_back_from_its_file_without_being_told_its_class(savable, batch, tmp_path, norm_first):
    import keras

    model = savable(**SIZES, **VOCABULARIES, norm_first=norm_first, dropout_rate=0.3)
    logits, _ = model(*batch)
    model.save(tmp_path / "model.keras")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again(*batch)[0], logits, atol=1e-6)
    assert again.get_config()["dropout_rate"] == 0.3


def test_a_file_is_read_if_it_holds_the_expected_model_and_else_refused_with_the_reason(
    lab, savable, translator, batch, tmp_path
):
    path, expected = tmp_path / "model.keras", {**SIZES, **VOCABULARIES}
    model = savable(**expected)
    logits, _ = model(*batch)
    model.save(path)
    np.testing.assert_allclose(translator.load_translator(path, expected)(*batch)[0], logits, atol=1e-6)

    class Almost(lab.Transformer):
        def get_config(self):
            return {**super().get_config(), **expected}

    almost = Almost(**expected)
    almost(*batch)
    almost.save(tmp_path / "almost.keras")
    (tmp_path / "damaged.keras").write_bytes(path.read_bytes()[:1000])
    for name, wanted, message in (
        ("model.keras", {**expected, "target_vocab_size": 14}, "target_vocab_size 13 instead of 14"),
        ("missing.keras", expected, "there is no missing.keras"),
        ("damaged.keras", expected, "damaged.keras cannot be read"),
        ("almost.keras", expected, "build_from_config"),
    ):
        with pytest.raises(translator.WrongWeights) as caught:
            translator.load_translator(tmp_path / name, wanted, {"Almost": Almost})
        assert message in str(caught.value)


def test_a_learner_may_skip_the_training_and_the_whole_lab_runs_with_the_weights_from_pytorch(
    labs, its_turn, tmp_path
):
    its_turn(1, 5)  # of the labs that come with weights
    lab = labs["06_transformer_tensorflow"]
    said = printed_without_training(lab, tmp_path)
    assert not training.broken(lab, training.figures(lab, said))
    assert "after training: Jane visits Africa in September" in said
    assert "equal translations: 60 of 60" in said


# ---------------------------------------------------------------------------------- the checks


@pytest.mark.parametrize("name", ["fully_connected", "encoder_layer", "encoder", "decoder_layer", "decoder"])
def test_the_quick_layers_beside_the_misconceptions_give_the_solution_s_numbers(labs, lab, name):
    entries = labs["06_transformer_tensorflow"].misconceptions["transformer_tensorflow.Transformer"]
    quick = entries[0].value.call.__globals__  # where the others' stand-ins are
    exercise = exercises.__dict__[name]
    key = f"transformer_tensorflow.{exercise.name}"
    ours, theirs = (
        try_exercise(exercise, key, getattr(where, exercise.name), 5)
        for where in (lab, SimpleNamespace(**quick))
    )
    for one, other in zip(ours, theirs, strict=True):
        assert one.problem is None and other.problem is None
        for run, same in zip(one.runs, other.runs, strict=True):
            for output in run:
                np.testing.assert_allclose(same[output], run[output], atol=1e-5)


def test_what_a_check_sees_does_not_depend_on_keras_s_seed(lab):
    import keras

    outcomes = []
    for seed in (1, 2):
        keras.utils.set_random_seed(seed)

        class EncoderLayer(lab.EncoderLayer):
            """A class of its own, for which layers are made anew."""

        outcomes.append(
            try_exercise(exercises.encoder_layer, "transformer_tensorflow.EncoderLayer", EncoderLayer, 7)
        )
    for one, other in zip(*outcomes, strict=True):
        for run, same in zip(one.runs, other.runs, strict=True):
            np.testing.assert_array_equal(run["output"], same["output"])


def test_a_layer_is_made_anew_when_a_part_of_it_is_defined_anew():
    cell = "import keras\ndef FullyConnected(a, b):\n    return keras.Sequential([keras.layers.Dense(b{}), keras.layers.Dense(a)])"
    layer = (
        "class Twice(keras.layers.Layer):\n"
        "    def __init__(self, embedding_dim, fully_connected_dim):\n"
        "        super().__init__()\n"
        "        self.inner = FullyConnected(embedding_dim, fully_connected_dim)\n"
        "    def call(self, x):\n"
        "        return self.inner(x)\n"
    )
    notebook: dict = {"__name__": "notebook"}
    exec(cell.format("") + "\n" + layer, notebook)
    inputs = example("fully_connected")
    first, again = (
        exercises.fully_connected.call(notebook["Twice"], inputs)["output"].numpy() for _ in range(2)
    )
    assert (again == first).all()
    exec(cell.format(", activation='relu'"), notebook)
    assert not np.allclose(exercises.fully_connected.call(notebook["Twice"], inputs)["output"], first)


def test_errors_inside_of_keras_are_told_without_what_keras_wraps_around_them():
    import keras

    class Broken(keras.layers.Layer):
        def __init__(self, embedding_dim, fully_connected_dim):
            super().__init__()
            self.dense = keras.layers.Dense(3)

        def call(self, x):
            return self.dense(x) + x

    outcomes = try_exercise(exercises.fully_connected, "transformer_tensorflow.FullyConnected", Broken, 7)
    message = outcomes[0].problem.message
    assert "Incompatible shapes: [3,7,3] vs. [3,7,20]" in message
    assert "\x1b" not in message and "Arguments received" not in message and len(message) < 100


def test_the_scripted_model_rewards_only_the_prefix_that_it_said():
    model = exercises.ScriptedModel({10: [7, 8, 2]}, words=12, bos_id=1, eos_id=2, pad_id=0)
    source = np.array([[10, 5]])
    assert model(source, np.array([[1, 7, 8]]))[0].numpy().argmax(-1).tolist() == [[7, 8, 2]]

    def said(*prefix, **options):
        return model(source, np.array([prefix]), **options)[0].numpy().argmax(-1)[0].tolist()

    seven, lost, still_lost = said(1, 9, 8)
    assert seven == 7 and lost == still_lost and lost not in (7, 8, 2)
    # padding, the end, a word: what comes back tells them apart
    by_start = [said(start, 7) for start in (0, 2, 3)]
    assert len({first for first, _ in by_start}) == 3 and all(first == then for first, then in by_start)
    assert not {word for words in by_start for word in words} & {7, 8, 2, *said(1, 7, training=True)}


def test_a_feed_forward_network_that_drops_in_training_is_seen():
    import keras

    def network(embedding_dim, fully_connected_dim, rate):
        wide = keras.layers.Dense(fully_connected_dim, activation="relu")
        return keras.Sequential([wide, keras.layers.Dropout(rate), keras.layers.Dense(embedding_dim)])

    for rate, same in ((0.0, True), (0.1, False)):
        found = exercises.fully_connected.call(partial(network, rate=rate), example("fully_connected"))
        assert found["same in training"] == same


def test_tensorflow_starts_without_a_word_and_errors_still_come_through():
    code = (
        "from course_utils.quiet import without_startup_messages\n"
        "with without_startup_messages():\n    import keras, tensorflow\n"
        "import os, sys\nos.write(2, b'still there')\n"
        "try:\n    with without_startup_messages():\n        import no_such_module\n"
        "except ModuleNotFoundError:\n    print('raised')\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr) == ("raised\n", "still there")
