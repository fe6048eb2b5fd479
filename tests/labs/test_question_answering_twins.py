"""Lab 11: its reader equals lab 10's for equal weights, step by step; its batches and graphs are what it says."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from test_notebooks import printed_without_training

from course_utils.cases.reading import reader_batch, reader_weights
from course_utils.data.paragraphs import load_paragraphs
from course_utils.data.stories import make_stories
from course_utils.models import reader
from course_utils.models.pretrained import load_encoder, load_tokenizer
from course_utils.models.shipped_readers import load_reader
from grader.author import training

TORCH, TENSORFLOW = "10_question_answering_pytorch", "11_question_answering_tensorflow"
READ = ("input_ids", "attention_mask", "token_type_ids")


@pytest.fixture(scope="module")
def ten(labs) -> SimpleNamespace:
    return SimpleNamespace(**labs[TORCH].reference)


@pytest.fixture(scope="module")
def eleven(labs) -> SimpleNamespace:
    return SimpleNamespace(**labs[TENSORFLOW].reference)


@pytest.fixture(scope="module")
def tokenize():
    return reader.pieces(load_tokenizer())


@pytest.fixture(scope="module")
def readers(ten, eleven):
    """Both labs' readers, called as each lab does, with the same weights."""
    import keras
    import tensorflow as tf

    from course_utils.models.keras_encoder import keras_encoder

    torch.manual_seed(0)
    head = ten.SpanHead(384)
    encoder = load_encoder()

    class TorchReader(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = head

        def forward(self, input_ids, attention_mask, token_type_ids, allowed):
            return head(encoder(input_ids, attention_mask, token_type_ids).last_hidden_state, allowed)

    class KerasReader(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.head = keras_encoder(), eleven.SpanHead()

        def call(self, inputs, training=False):
            return self.head(
                self.encoder({name: inputs[name] for name in READ}, training=False), inputs["allowed"]
            )

    theirs = KerasReader()
    theirs({**{name: tf.ones((1, 4), tf.int32) for name in READ}, "allowed": tf.ones((1, 4), tf.bool)})
    state = {f"linear.{name}": tensor.numpy() for name, tensor in head.linear.state_dict().items()}
    theirs.head.set_weights(eleven.weights_from_torch(state))
    return TorchReader(), theirs


def test_logits_of_both_readers_are_equal_to_1e_4(readers, tokenize):
    examples = [*make_stories(1, 3, seed=1), *load_paragraphs()[:3]]
    arrays = reader.stacked([reader.features_of(one, tokenize)[0] for one in examples])
    with torch.no_grad():
        mine = readers[0](*(torch.from_numpy(arrays[name]) for name in (*READ, "allowed")))
    theirs = readers[1](arrays)
    for ours, other in zip(mine, theirs, strict=True):
        assert np.allclose(ours.numpy(), np.asarray(other), atol=1e-4)


def test_both_answer_functions_give_the_same_answers(ten, eleven, readers, tokenize):
    for example in [*make_stories(2, 3, seed=5), *load_paragraphs()[::120]]:
        asked = example.question, example.context
        mine = ten.answer(*asked, readers[0], tokenize, 96, 24, threshold=-100.0)
        theirs = eleven.answer(*asked, readers[1], tokenize, 96, 24, threshold=-100.0)
        assert mine[:2] == theirs[:2]
        assert mine[2] == pytest.approx(theirs[2], abs=1e-3)


def test_loss_spans_and_targets_are_lab_10_s(ten, eleven, tokenize):
    import tensorflow as tf

    rng = np.random.default_rng(3)
    logits = rng.normal(0, 3, (2, 6, 14)).astype("float32")
    inside = np.zeros((6, 14), bool)
    inside[:, 4:13] = True
    start, end = rng.integers(0, 14, (2, 6))
    mine = ten.span_loss(*map(torch.from_numpy, (*logits, start, end)))
    assert float(mine) == pytest.approx(float(eleven.span_loss(*map(tf.constant, (*logits, start, end)))))
    first, last, score = (
        np.asarray(part) for part in eleven.best_spans(*map(tf.constant, (*logits, inside)), 5)
    )
    for row in range(6):
        found = ten.best_span(*map(torch.from_numpy, (*logits[:, row], inside[row])), 5)
        assert found == (first[row], last[row], pytest.approx(float(score[row])))
    for example in load_paragraphs()[:60:3]:
        windows = reader.features_of(example, tokenize, 96, 24)
        places = np.array([[pair or (-1, -1) for pair in window["offsets"]] for window in windows])
        answer = example.answers[0] if example.answers else (0, 0)
        rows = [np.full(len(windows), place) for place in answer]
        found = [part.numpy().tolist() for part in eleven.answer_token_spans(places, *rows)]
        wanted = [ten.answer_token_span(window["offsets"], *answer) for window in windows]
        assert list(zip(*found, strict=True)) == wanted


def test_a_training_step_moves_the_weights_as_lab_10_s_does(ten, eleven):
    import keras
    import tensorflow as tf

    from course_utils.exercises.question_answering_pytorch import _tiny_reader as torch_reader
    from course_utils.exercises.question_answering_tensorflow import _tiny_reader as keras_reader

    rng = np.random.default_rng(0)
    weights, batch = reader_weights(rng, 2.0), reader_batch(rng, 3, 9)
    mine = torch_reader(weights)
    rows = {name: torch.from_numpy(array) for name, array in batch.items()}
    loss = ten.train_step(mine, torch.optim.SGD(mine.parameters(), 0.1), rows, 0.5, 1e9)
    weights["output_weight"] = weights.pop("output")
    theirs, optimizer = keras_reader(weights), keras.optimizers.SGD(0.5)
    assert float(theirs.frozen) == 0.5  # half of each logit, and in training it doubles them
    rows = {name: tf.constant(array) for name, array in batch.items()}
    assert float(eleven.train_step(theirs, optimizer, rows, 1e9)) == pytest.approx(loss, abs=1e-5)
    for name in ("embedding", "kind"):
        moved = getattr(theirs, name).numpy()
        assert np.allclose(moved, getattr(mine, name).detach().numpy(), atol=1e-5)
        assert not np.allclose(moved, weights[name])


def test_padded_batches_hold_what_stacked_holds(eleven, tokenize):
    windows = [reader.features_of(one, tokenize)[0] for one in make_stories(1, 5, seed=2)]
    bare = [
        {
            **{
                name: window[name][: sum(window["attention_mask"])]
                for name in ("input_ids", "token_type_ids")
            },
            "in_context": [pair is not None for pair in window["offsets"][: sum(window["attention_mask"])]],
            **{name: window[name] for name in ("start_position", "end_position")},
        }
        for window in windows
    ]
    batches = list(eleven.padded_batches(bare, 3))
    for begin, batch in zip((0, 3), batches, strict=True):
        for name, array in reader.stacked(windows[begin : begin + 3]).items():
            assert np.array_equal(batch[name].numpy(), array), name


def tiny(seed: int):
    """A small reader, three batches of different widths for it, and the names that the lab's cells need."""
    import tensorflow as tf

    from course_utils.exercises.question_answering_tensorflow import _tiny_reader

    rng = np.random.default_rng(seed)
    weights = reader_weights(rng, 1.0)
    weights["output_weight"] = weights.pop("output")
    batches = [
        {
            name: tf.constant(array, tf.bool if array.dtype == bool else tf.int32)
            for name, array in reader_batch(rng, 3, width).items()
        }
        for width in (9, 12, 15)
    ]
    return _tiny_reader(weights), batches


def test_one_graph_serves_batches_of_every_width(eleven):
    import keras
    import tensorflow as tf

    (model, batches), optimizer = tiny(1), keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)
    signature = {
        name: tf.TensorSpec([None] * part.shape.rank, part.dtype) for name, part in batches[0].items()
    }
    traced = []

    @tf.function(input_signature=[signature])
    def step(batch):
        traced.append(True)
        return eleven.train_step(model, optimizer, batch)

    losses = [float(step(batch)) for batch in batches]
    assert len(traced) == 1 and np.isfinite(losses).all()


# ---------------------------------------------------------------------------------- the tools of work, and the shipped weights


def cell_with(lab, sign: str) -> str:
    (source,) = (
        cell.source for cell in lab.source().cells if cell.cell_type == "code" and sign in cell.source
    )
    return source


def test_fit_takes_the_steps_of_the_lab_s_own_loop_and_reports_their_mean(labs, eleven):
    import time

    import keras
    import tensorflow as tf

    names = {**vars(eleven), "time": time, "rate_at": lambda number, count: 0.1 * number / count}
    exec(cell_with(labs[TENSORFLOW], "class Fitted("), names)
    model, batches = tiny(2)
    before, optimizer, by_hand = model.get_weights(), keras.optimizers.SGD(0.5), []
    for number, batch in enumerate(batches, 1):
        optimizer.learning_rate = 0.1 * number / 3
        by_hand.append(float(eleven.train_step(model, optimizer, batch)))
    trained = model.get_weights()
    model.set_weights(before)
    fitted, watch = names["Fitted"](model), names["Watch"]()
    fitted.compile(optimizer=keras.optimizers.SGD(0.5))
    signature = {
        name: tf.TensorSpec([None] * part.shape.rank, part.dtype) for name, part in batches[0].items()
    }
    data = tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=signature)
    result = fitted.fit(data, steps_per_epoch=3, shuffle=False, callbacks=[watch], verbose=0)
    assert watch.losses == pytest.approx(by_hand, rel=1e-5) and len(set(by_hand)) == 3
    assert result.history["loss"] == pytest.approx([np.mean(by_hand)], rel=1e-5)
    for weight, mine, old, wanted in zip(model.weights, model.get_weights(), before, trained, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-4, atol=1e-6)
        assert np.allclose(mine, old) != weight.trainable


def test_a_saved_reader_answers_as_before_for_every_width_after_its_folder_is_gone(labs, eleven, capsys):
    import tensorflow as tf

    from course_utils.display import show_table

    reader, batches = tiny(3)
    signature = dict.fromkeys(READ, tf.TensorSpec([None, None], tf.int32))
    names = {
        **vars(eleven),
        "reader": reader,
        "show_table": show_table,
        "SIGNATURE": signature | {"allowed": tf.TensorSpec([None, None], tf.bool)},
    }
    for sign in ("class Service(", "tf.saved_model.save("):
        exec(cell_with(labs[TENSORFLOW], sign), names)
    assert not names["Path"](names["folder"]).exists() and "saved_model.pb" in capsys.readouterr().out
    exec(cell_with(labs[TENSORFLOW], "def served(").partition("\n\n\n")[0], names)
    for batch in batches:
        for mine, wanted in zip(names["served"](batch), reader(batch), strict=True):
            np.testing.assert_allclose(mine, wanted, rtol=1e-5)


@pytest.fixture
def mirror(tmp_path) -> SimpleNamespace:
    """The course's reader of prose and some questions in the form that models and data have on the hub."""
    import datasets
    from transformers import AutoModelForQuestionAnswering

    from course_utils.models.pretrained import encoder_folder

    model = AutoModelForQuestionAnswering.from_pretrained(encoder_folder(), local_files_only=True).eval()
    state = {
        re.sub("^encoder", "bert", key).replace("head.linear", "qa_outputs"): torch.from_numpy(array)
        for key, array in load_reader("prose").items()
    }
    model.load_state_dict(state, strict=False)  # the library's reader has no pooler
    model.save_pretrained(tmp_path / "model")
    load_tokenizer().save_pretrained(tmp_path / "model")
    rows = [
        {
            "id": example.id,
            "title": example.document,
            "context": example.context,
            "question": example.question,
            "answers": {
                "text": list(example.answer_texts),
                "answer_start": [start for start, _ in example.answers],
            },
        }
        for example in load_paragraphs("development")[:48:3]
    ]
    (tmp_path / "data").mkdir()
    for part in ("train", "validation"):
        datasets.Dataset.from_list(rows).to_parquet(tmp_path / "data" / f"{part}.parquet")
    return SimpleNamespace(
        model=model, rows=rows, model_name=str(tmp_path / "model"), data_name=str(tmp_path / "data")
    )


@pytest.mark.slow
def test_the_cells_for_the_hub_read_a_checkpoint_into_the_lab_s_reader(
    labs, ten, eleven, mirror, tokenize, capsys
):
    names = {**vars(eleven), "tokenize": tokenize, "pieces": reader.pieces}
    names |= {"make_stories": make_stories, "load_tokenizer": load_tokenizer}
    for sign in ("class Reader(", "def compiled(", "def reader_from_hub(", "def read_from_hub("):
        exec(cell_with(labs[TENSORFLOW], sign), names)
    keras_reader = names["reader_from_hub"](mirror.model_name)

    def as_lab_10_s(input_ids, attention_mask, token_type_ids, allowed):
        found = mirror.model(input_ids, attention_mask, token_type_ids)
        return [logits.masked_fill(~allowed, -1e9) for logits in (found.start_logits, found.end_logits)]

    as_lab_10_s.eval = lambda: None
    windows = [reader.features_of(one, tokenize)[0] for one in load_paragraphs()[:3]]
    arrays = reader.stacked(windows)
    with torch.no_grad():
        wanted = as_lab_10_s(*(torch.from_numpy(arrays[name]) for name in (*READ, "allowed")))
    for mine, theirs in zip(keras_reader(arrays), wanted, strict=True):
        assert np.allclose(np.asarray(mine), theirs.numpy(), atol=1e-4)

    expected = {"has an answer": [], "has none": []}
    for row in mirror.rows:
        start, end, _ = ten.answer(row["question"], row["context"], as_lab_10_s, tokenize, 384, 128, 30)
        right = row["answers"]["text"]
        kind = "has an answer" if right else "has none"
        expected[kind].append(reader.squad_scores(row["context"][start:end], right))
    assert {(0, 0.0), (1, 1.0)} <= {*expected["has an answer"]} and (1, 1.0) in expected["has none"]
    assert names["read_from_hub"](mirror.model_name, mirror.data_name) == expected
    few = names["read_from_hub"](mirror.model_name, mirror.data_name, count=2)
    assert sum(map(len, few.values())) == 2

    capsys.readouterr()
    exec(cell_with(labs[TENSORFLOW], "ONLINE = "), names)
    assert "nothing is fetched" in capsys.readouterr().out  # unless somebody asks for it


@pytest.mark.slow
def test_a_learner_may_skip_the_training_and_lab_10_s_reader_answers_in_keras(labs, its_turn, tmp_path):
    its_turn(4, 5)  # of the labs that come with weights
    lab = labs[TENSORFLOW]
    said = printed_without_training(lab, tmp_path)
    assert not training.broken(lab, training.figures(lab, said))
    assert re.search(r"^Where is Jane\? +market +\d", said, re.MULTILINE)
