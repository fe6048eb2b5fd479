"""Lab 10: features lead back to their answers, scores follow SQuAD's rules, parts equal the libraries', figures have words."""

from __future__ import annotations

import random
import re
from types import SimpleNamespace

import ipywidgets
import numpy as np
import pytest
import squad_rules
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_notebooks import printed_without_training

from course_utils import plots
from course_utils.cases.reading import PieceTokenizer
from course_utils.data.paragraphs import NOTHING, load_asked, load_paragraphs
from course_utils.data.questions import QuestionExample, Span
from course_utils.data.stories import UNSEEN_NAMES, make_stories
from course_utils.exercises.question_answering_pytorch import split_into_windows
from course_utils.models import reader
from course_utils.models.pretrained import load_tokenizer
from course_utils.models.pretrained import new_encoder as load_fresh_encoder
from course_utils.models.shipped_readers import FILES, load_histories, load_reader, save_reader
from course_utils.plots import spans as span_plots
from course_utils.plots.spans import Answered, answer_gallery, question_box, score_bars, show_strips
from grader.author import training

LAB = "10_question_answering_pytorch"
SEP, CLS, PAD = 102, 101, 0


@pytest.fixture(scope="module")
def reference(labs) -> SimpleNamespace:
    """The lab's solved functions and classes."""
    return SimpleNamespace(**labs[LAB].reference)


@pytest.fixture(scope="module")
def tokenize():
    return reader.pieces(load_tokenizer())


@pytest.fixture
def shown(monkeypatch) -> list[dict]:
    """What is published, by MIME type."""
    bundles: list[dict] = []
    monkeypatch.setattr(span_plots, "publish", bundles.append)
    monkeypatch.setattr(plots, "publish", bundles.append)
    return bundles


# ---------------------------------------------------------------------------------- targets lead back to answers


def decoded(example: QuestionExample, features: list[dict]) -> list[str]:
    """What the targets of an example's windows say, cut out of its context."""
    return [
        example.context[
            feature["offsets"][feature["start_position"]][0] : feature["offsets"][feature["end_position"]][1]
        ]
        for feature in features
        if feature["end_position"]
    ]


EXAMPLES = [
    *(example for task in (1, 2, 3) for example in make_stories(task, 40, seed=3)),
    *make_stories(1, 40, seed=4, names=UNSEEN_NAMES),
    *load_paragraphs(),
]


@pytest.mark.parametrize("max_length", [64, 160])
def test_every_target_of_every_window_is_its_answer_letter_by_letter(reference, tokenize, max_length):
    count = 0
    for example in EXAMPLES:
        answer = next(iter(example.answers), None)
        given = reference.make_features(
            example.question, example.context, answer, tokenize, max_length, overlap=24
        )
        texts = decoded(example, given)
        assert all(text == example.answer_texts[0] for text in texts), example.id
        assert bool(texts) == bool(example.answers), example.id  # no answer is longer than the overlap
        count += len(texts)
    assert count > 600


letters = st.text(st.sampled_from("abcdéß'.,-( \n\t0"), min_size=1, max_size=120)


@settings(max_examples=150, deadline=None)
@given(letters, st.integers(0, 10_000), st.integers(0, 8))
def test_any_stretch_of_any_text_comes_back_from_its_target(labs, context, seed, overlap):
    made = SimpleNamespace(**labs[LAB].reference)
    tokenizer = PieceTokenizer()
    _, offsets = tokenizer(context)
    if not offsets:
        return
    drawn = random.Random(seed)
    first = drawn.randrange(len(offsets))
    last = drawn.randrange(first, min(len(offsets), first + 4))
    answer = Span(offsets[first][0], offsets[last][1])
    example = QuestionExample(context, "ab cd?", (answer,), "x", "x")
    features = made.make_features("ab cd?", context, answer, tokenizer, 20, overlap)
    texts = decoded(example, features)
    assert all(text == context[slice(*answer)] for text in texts)
    assert texts or last - first >= overlap  # at most `overlap` tokens are whole in some window
    assert features == [
        {key: feature[key] for key in features[0]}
        for feature in reader.features_of(example, tokenizer, 20, overlap)
    ]


def test_a_window_takes_another_right_answer_if_it_has_not_the_first(tokenize):
    context = "one two. " + "and so on. " * 30 + "three four."
    example = QuestionExample(
        context, "What?", (Span(len(context) - 11, len(context) - 1), Span(0, 7)), "x", "x"
    )
    windows = reader.features_of(example, tokenize, 48, 8)
    assert decoded(example, windows[:1]) == ["one two"]
    assert decoded(example, windows[-1:]) == ["three four"]


# ---------------------------------------------------------------------------------- scores


@pytest.mark.parametrize("case", squad_rules.NORMALISED, ids=lambda case: case.rule)
def test_texts_are_normalised_as_squad_does(reference, case):
    assert reference.normalise(case.text) == case.normal
    assert " ".join(reader.plain_words(case.text)) == case.normal


@pytest.mark.parametrize("case", squad_rules.SCORED, ids=lambda case: case.rule)
def test_scores_are_those_of_squad_s_rules(reference, case):
    mine = reference.exact_match(case.prediction, case.gold), reference.f1(case.prediction, case.gold)
    for exact, f1 in (mine, reader.squad_scores(case.prediction, case.gold)):
        assert exact == case.exact
        assert f1 == pytest.approx(float(case.f1))


def test_a_mean_is_over_all_questions_and_needs_one_prediction_each():
    examples = make_stories(1, 4, seed=1)
    texts = [example.answer_texts[0] for example in examples]
    assert reader.score(["", *texts[1:]], examples) == reader.Scores(4, 0.75, 0.75)
    with pytest.raises(ValueError, match="3 predictions for 4"):
        reader.score(texts[1:], examples)


def test_the_rule_solves_task_1_and_fails_at_the_others():
    exact = {}
    for task in (1, 2, 3):
        stories = make_stories(task, 200, seed=5)
        exact[task] = reader.score(list(map(reader.place_beside_the_name, stories)), stories).exact
    assert exact[1] == 1 and exact[2] < 0.6 and exact[3] < 0.1
    stories = make_stories(1, 200, seed=5)
    assert 0.3 < reader.score(list(map(reader.last_place, stories)), stories).exact < 0.7
    drawn = list(map(reader.any_place, stories))
    assert 0.1 < reader.score(drawn, stories).exact < 0.5 and drawn == list(map(reader.any_place, stories))


def test_the_nearest_words_are_words_of_the_text():
    said = [reader.nearest_words(example) for example in load_paragraphs()]
    assert all(
        text and text in example.context for text, example in zip(said, load_paragraphs(), strict=True)
    )
    assert reader.score(said, load_paragraphs()).f1 > 0.15


# ---------------------------------------------------------------------------------- batches


def test_batches_hold_every_feature_once_and_equal_lengths_together(tokenize):
    features = [one for example in EXAMPLES[:200] for one in reader.features_of(example, tokenize)]
    batches = list(reader.batches_by_length(features, 16, seed=3))
    assert sorted(id(one) for batch in batches for one in batch) == sorted(map(id, features))
    padding = [reader.stacked(batch)["attention_mask"] for batch in batches]
    assert np.mean([mask.mean() for mask in padding]) > 0.9
    assert list(reader.batches_by_length(features, 16, seed=3)) == batches


def test_a_batch_is_cut_to_its_longest_and_allows_the_context_and_cls(tokenize):
    features = [reader.features_of(example, tokenize)[0] for example in make_stories(1, 5, seed=2)]
    batch = reader.stacked(features)
    assert batch["attention_mask"].any(axis=0).all() and not batch["attention_mask"].all()
    assert batch["allowed"][:, 0].all()
    expected = (batch["token_type_ids"] == 1) & (batch["input_ids"] != SEP)
    assert np.array_equal(batch["allowed"][:, 1:], expected[:, 1:])


# ---------------------------------------------------------------------------------- parity with the library


def test_head_and_loss_are_those_of_the_library_s_reader(reference):
    from transformers import BertConfig, BertForQuestionAnswering

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=40, hidden_size=12, num_hidden_layers=1, num_attention_heads=3, intermediate_size=20
    )
    library = BertForQuestionAnswering(config).eval()
    head = reference.SpanHead(12)
    head.linear.load_state_dict(library.qa_outputs.state_dict())
    ids, kinds = torch.randint(1, 40, (3, 9)), torch.randint(0, 2, (3, 9))
    start, end = torch.tensor([2, 0, 5]), torch.tensor([4, 0, 8])
    theirs = library(ids, token_type_ids=kinds, start_positions=start, end_positions=end)
    hidden = library.bert(ids, token_type_ids=kinds).last_hidden_state
    mine = head(hidden, torch.ones(3, 9, dtype=torch.bool))
    torch.testing.assert_close(mine[0], theirs.start_logits)
    torch.testing.assert_close(mine[1], theirs.end_logits)
    torch.testing.assert_close(reference.span_loss(*mine, start, end), theirs.loss)


def test_the_best_span_is_the_best_of_all_that_are_possible(reference):
    rng = np.random.default_rng(0)
    for _ in range(200):
        length = int(rng.integers(6, 15))
        start, end = (torch.tensor(rng.normal(-3, 4, length)) for _ in range(2))
        inside = torch.zeros(length, dtype=torch.bool)
        inside[3:-1] = True
        longest = int(rng.integers(1, length))
        pairs = [
            (float(start[i] + end[j]), i, j)
            for i in range(3, length - 1)
            for j in range(i, min(i + longest, length - 1))
        ]
        score, first, last = max(pairs)
        assert reference.best_span(start, end, inside, longest) == (first, last, pytest.approx(score))


def cell_of(lab, definition: str, names: dict) -> SimpleNamespace:
    """What the notebook's cell with a definition defines, among these names and those of the solution."""
    (source,) = [cell.source for cell in lab.source().cells if f"\n{definition}" in f"\n{cell.source}"]
    scope = {**lab.reference, "tokenizer": load_tokenizer(), **names}
    exec(source, scope)
    return SimpleNamespace(**scope)


def test_rows_made_with_the_library_s_tokenizer_are_the_lab_s_features(labs, reference, tokenize):
    import datasets

    given = {"datasets": datasets, "MAX_LENGTH": 96, "OVERLAP": 24}
    examples = load_paragraphs()[::30]
    squad = cell_of(labs[LAB], "def as_squad(", given).as_squad(examples)
    made = cell_of(labs[LAB], "def in_windows(", given).in_windows(squad[:])
    features = [
        {**feature, "id": one.id}
        for one in examples
        for feature in reference.make_features(
            one.question, one.context, next(iter(one.answers), None), tokenize, 96, 24
        )
    ]
    assert made["id"] == [feature["id"] for feature in features]
    for row, feature in enumerate(features):
        length = sum(feature["attention_mask"])
        assert made["input_ids"][row] == feature["input_ids"][:length]
        assert made["start_positions"][row] == feature["start_position"]
        assert made["end_positions"][row] == feature["end_position"]
        assert [tuple(pair) if pair else None for pair in made["places"][row]] == feature["offsets"][:length]


def test_the_cell_for_the_hub_works_with_a_local_mirror_of_its_form(labs, tmp_path):
    import inspect

    import datasets
    from transformers import AutoModelForQuestionAnswering, DistilBertConfig, DistilBertForQuestionAnswering

    from course_utils.models.pretrained import fetch

    torch.manual_seed(0)
    tokenizer = load_tokenizer()
    tokenizer.model_input_names = ["input_ids", "attention_mask"]  # DistilBERT's does not make token_type_ids
    tokenizer.save_pretrained(tmp_path / "model")
    config = DistilBertConfig(vocab_size=len(tokenizer), dim=32, hidden_dim=64, n_layers=1, n_heads=2)
    DistilBertForQuestionAnswering(config).save_pretrained(tmp_path / "model")
    context = "word " * 500 + "Leeds"
    rows = [
        {
            "id": str(at),
            "title": "x",
            "context": context if at else "Leeds",
            "question": "Where is Mrs Okafor?",
            "answers": {"text": ["Leeds"], "answer_start": [len(context) - 5 if at else 0]},
        }
        for at in range(3)
    ]
    (tmp_path / "data").mkdir()
    for part in ("train", "validation"):
        datasets.Dataset.from_list(rows).to_parquet(tmp_path / "data" / f"{part}.parquet")
    given = {"nn": torch.nn, "torch": torch, "inspect": inspect, "datasets": datasets, "fetch": fetch}
    given |= {"load_tokenizer": load_tokenizer, "pieces": reader.pieces, "np": np}
    given |= {"AutoModelForQuestionAnswering": AutoModelForQuestionAnswering}
    given |= {"FromHub": cell_of(labs[LAB], "class FromHub(", given).FromHub}
    cell = cell_of(labs[LAB], "def read_from_hub(", given)
    assert (
        cell_of(labs[LAB], "ONLINE = ", {}).ONLINE is False
    )  # nothing is fetched unless somebody asks for it
    names = str(tmp_path / "model"), str(tmp_path / "data")
    assert cell.read_from_hub(*names, count=1) == (1.0, 1.0)  # the only word there is
    assert all(0 <= value <= 1 for value in cell.read_from_hub(*names))  # with several windows


@pytest.mark.slow
def test_a_learner_may_skip_the_training_and_both_readers_come_with_the_course(labs, its_turn, tmp_path):
    its_turn(3, 5)  # of the labs that come with weights
    lab = labs[LAB]
    said = printed_without_training(lab, tmp_path)
    assert not training.broken(lab, training.figures(lab, said))
    assert "every window and every target is the same as yours: True" in said
    assert not re.search(r"seconds for \d+ steps", said)  # nothing was trained


@pytest.mark.parametrize("name", FILES)
def test_readers_that_come_with_the_course_are_whole_and_answer(labs, reference, tokenize, name):
    head, encoder = reference.SpanHead(384), load_fresh_encoder().eval()
    state = {key: torch.from_numpy(array) for key, array in load_reader(name).items()}
    for part, module in (("head.", head), ("encoder.", encoder)):
        module.load_state_dict(
            {key.removeprefix(part): value for key, value in state.items() if key.startswith(part)}
        )
    embeddings = [key for key in state if "embeddings" in key]
    plain = load_fresh_encoder().state_dict()
    assert all(torch.equal(state[key], plain[key.removeprefix("encoder.")]) for key in embeddings)

    class Whole(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.head = encoder, head

        def forward(self, input_ids, attention_mask, token_type_ids, allowed):
            return head(encoder(input_ids, attention_mask, token_type_ids).last_hidden_state, allowed)

    examples = make_stories(1, 20, 900) if name == "stories" else load_paragraphs("development")[:40]
    said = [
        one.context[
            slice(*reference.answer(one.question, one.context, Whole(), tokenize, threshold=-1e9)[:2])
        ]
        for one in examples
    ]
    assert reader.score(said, examples).f1 > (0.85 if name == "stories" else 0.3)


def test_a_reader_that_does_not_come_with_the_course_is_named():
    with pytest.raises(ValueError, match="'poems'.*stories, prose"):
        load_reader("poems")


def test_the_kept_learning_curves_are_of_the_labs_recipe_and_have_its_plateau_and_its_drop():
    runs = load_histories()
    assert len({run.name for run in runs}) == len(runs) == 3
    for run in runs:
        exact = {found.step: found.score for found in run.evaluations}
        assert run.steps == 200 and [*exact] == [40, 80, 120, 160, 200]
        assert (
            run.losses[0] > 3 and 1.5 < np.mean(run.losses[30:45]) < 2.1 and np.mean(run.losses[-10:]) < 0.1
        )
        assert exact[40] < 0.5 and exact[200] == 1


def test_a_saved_reader_keeps_the_best_part_of_what_was_learned(tmp_path, monkeypatch):
    monkeypatch.setitem(FILES, "stories", tmp_path / "reader_stories.safetensors")
    state = load_reader_of_nothing()
    rng, key = np.random.default_rng(0), "encoder.encoder.layer.1.output.dense.weight"
    learned = rng.normal(size=(384, 2)) @ rng.normal(size=(2, 1536)) / 50
    state[key] = state[key] + learned.astype(np.float32)
    state["encoder.encoder.layer.1.output.dense.bias"] += 0.25
    save_reader("stories", state, rank=2)
    again = load_reader("stories")
    assert again.keys() == state.keys()
    assert all(np.allclose(again[name], state[name], atol=2e-3) for name in state)
    assert (tmp_path / "reader_stories.safetensors").stat().st_size < 20_000


def load_reader_of_nothing() -> dict[str, np.ndarray]:
    """The weights of a reader whose encoder is the pretrained one."""
    encoder = load_fresh_encoder().state_dict()
    state = {f"encoder.{key}": value.numpy().copy() for key, value in encoder.items()}
    return state | {
        "head.linear.weight": np.ones((2, 384), np.float32),
        "head.linear.bias": np.zeros(2, np.float32),
    }


# ---------------------------------------------------------------------------------- figures and widgets


def test_strips_say_in_words_where_the_probability_lies(shown):
    show_strips(
        ["[CLS]", "the", "kit", "##chen"],
        {"start": np.array([0.1, 0.1, 0.8, 0]), "end": np.eye(4)[3]},
        (2, 3),
    )
    (bundle,) = shown
    assert "start: kit (token 2) 0.80" in bundle["text/plain"]
    assert "end: ##chen (token 3) 1.00" in bundle["text/plain"]
    assert bundle["text/html"].count("outline") == 4 and ">chen<" in bundle["text/html"]
    with pytest.raises(ValueError, match="3 numbers for 4 tokens"):
        show_strips(["a", "b", "c", "d"], {"start": np.zeros(3)})


def test_the_gallery_marks_what_is_right_and_what_was_said(shown):
    context = "Ann ran to the <park>. Bob went to the park."
    right, none = Span(39, 43), ()
    examples = [
        QuestionExample(context, "Where is Bob?", (right,), "1", "1"),
        QuestionExample(context, "Where is Cy?", none, "2", "2"),
        QuestionExample(context, "Where is Ann?", (Span(15, 21),), "3", "3"),
    ]
    answer_gallery(examples, [Answered(15, 21, 1.0), Answered(0, 0, -1.0), Answered(0, 0, -2.0)])
    (bundle,) = shown
    assert bundle["text/plain"].startswith("2 of 3 questions")
    assert "to the {<park>}. Bob went to the [park]." in bundle["text/plain"]
    assert "&lt;park&gt;" in bundle["text/html"] and "no answer" in bundle["text/html"]
    answer_gallery(examples[:1], [Answered(39, 43, 1.0)])
    assert shown[1]["text/plain"].startswith("0 of 1 questions")
    of_two_texts = [
        QuestionExample(context, f"{number}?", (right,), str(number), document)
        for number, document in enumerate("aab")
    ]
    answer_gallery(of_two_texts, [Answered(0, 3, 1.0)] * 3, limit=2)
    assert "2 of them" in shown[2]["text/plain"]
    assert [line for line in shown[2]["text/plain"].splitlines() if line.endswith("?")] == ["0?", "2?"]


def test_the_box_answers_what_is_typed_and_has_examples_without_a_kernel(monkeypatch):
    calls = []
    monkeypatch.setattr(
        span_plots, "show_live", lambda widget, html, text: calls.append((widget, html, text))
    )

    def answer(question: str, context: str) -> Answered:
        place = context.find("park")
        return Answered(place, place + 4, 2.0) if place >= 0 else Answered(0, 0, -3.0)

    question_box(answer, [("Where?", "She is in the park."), ("Where?", "She is <nowhere>.")])
    ((widget, html, text),) = calls
    assert "-> park (margin 2.0)" in text and "No answer in this text" in text
    assert "&lt;nowhere&gt;" in html and "<mark" in html
    fields = {child.description: child for child in widget.children if not isinstance(child, ipywidgets.HTML)}
    result = widget.children[-1]
    fields["text"].value = "A park & a <lake>."
    assert "A <mark" in result.value and "&lt;lake&gt;" in result.value
    fields["question"].value = " "
    assert "Type a text" in result.value
    fields["examples"].value = 1
    assert fields["text"].value == "She is <nowhere>."
    fields["text"].value = "x" * 5000
    assert "too long" in result.value


def test_score_bars_have_a_bar_for_each_reader_and_set():
    table = {"task 1": {"reader": 0.97, "rule": 1.0}, "task 2": {"reader": 0.4, "rule": 0.3}}
    figure = score_bars(table, "Exact match")
    (axes,) = figure.axes
    assert sorted(patch.get_width() for patch in axes.patches) == [0.3, 0.4, 0.97, 1.0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["reader", "rule"]


def test_what_a_language_model_answered_is_kept_for_the_questions_that_the_lab_compares_on(reference):
    for part, every, f1, spoken, elsewhere in (
        ("development", 3, 0.365, 69, 20),
        ("test", 1, 0.303, 200, 77),
    ):
        questions = load_paragraphs(part)[::every]
        answers, seconds = load_asked(part)
        assert list(answers) == [one.id for one in questions] and NOTHING not in answers.values()
        assert seconds > 60
        scores = [reference.f1(answers[one.id], one.answer_texts) for one in questions]
        assert np.mean(scores) == pytest.approx(f1, abs=0.0005)  # as the lab and its page say
        said = [(answers[one.id], one.context) for one in questions if answers[one.id]]
        assert len(said) == spoken and sum(answer not in context for answer, context in said) == elsewhere


def test_a_wrong_place_is_named_with_its_window_not_with_all_of_them():
    """A text in thousands of windows took more than the limit of time, only to prepare messages that nobody saw."""
    windows = [(0, 4), (2, 6.0), (4, 8)]
    with pytest.raises(TypeError) as refused:
        split_into_windows.call(lambda length, size, overlap: windows, {"length": 8, "size": 4, "overlap": 2})
    assert str(refused.value) == "(2, 6.0): end is 6.0; expected a whole number, to index with."
