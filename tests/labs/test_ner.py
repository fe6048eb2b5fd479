"""Lab 09: spans survive the way to word pieces and back, scores are seqeval's, the model is Hugging Face's; figures and words hold."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_notebooks import printed_without_training

from course_utils.checking.exercise import PUBLIC_SEED
from course_utils.checking.outcome import try_case
from course_utils.data.entities import Entity
from course_utils.data.resumes import LABELS, make_resumes, resume_splits
from course_utils.data.resumes_by_hand import cooks_list, resumes_by_hand
from course_utils.data.sentences_by_hand import KINDS, entities_said, load_asked, sentences_by_hand
from course_utils.models.pretrained import load_tokenizer, new_encoder
from course_utils.models.shipped_tagger import load_tagger
from course_utils.plots import entities as plots
from grader.author import training
from grader.reference.lab import Lab

LAB = "09_named_entity_recognition"
TAGS = ["O", *(f"{prefix}-{label}" for label in LABELS for prefix in "BI")]
TAG_IDS = {tag: number for number, tag in enumerate(TAGS)}


@pytest.fixture(scope="module")
def lab(labs) -> Lab:
    return labs[LAB]


@pytest.fixture(scope="module")
def reference(lab) -> SimpleNamespace:
    """The exercises of lab 09 as its solution defines them."""
    return SimpleNamespace(
        **{exercise.name: lab.reference[exercise.name] for exercise in lab.exercises.values()}
    )


@pytest.fixture(scope="module")
def tokenize():
    """Offsets and word ids of a text."""
    tokenizer = load_tokenizer()

    def pieces(text: str) -> tuple[list[tuple[int, int]], list[int | None]]:
        found = tokenizer(text, return_offsets_mapping=True)
        return [tuple(place) for place in found["offset_mapping"]], found.word_ids()

    return pieces


def words_of(offsets, word_ids) -> list[tuple[int, int]]:
    """Where each word begins and ends."""
    places: dict[int, tuple[int, int]] = {}
    for (start, end), word in zip(offsets, word_ids, strict=True):
        if word is not None:
            places[word] = (places.get(word, (start, end))[0], end)
    return list(places.values())


def there_and_back(reference, offsets, word_ids, entities) -> list[Entity]:
    labels = reference.align_labels(offsets, word_ids, entities, TAG_IDS)
    return reference.decode_entities(labels, offsets, word_ids, TAGS)


# ---------------------------------------------------------------------------------- alignment


TEXTS = st.text(max_size=80) | st.text("abcXYZ .,-@/'\n\té漢", max_size=80)


@settings(deadline=None, max_examples=200)
@given(text=TEXTS, data=st.data())
def test_any_spans_of_words_in_any_text_come_back_exactly(reference, tokenize, text, data):
    offsets, word_ids = tokenize(text)
    words = words_of(offsets, word_ids)
    edges = sorted(data.draw(st.sets(st.integers(0, len(words)), max_size=8))) if words else []
    spans = []
    for first, behind in itertools.pairwise(edges):
        if data.draw(st.booleans()):
            label = data.draw(st.sampled_from(LABELS[:3]))
            spans.append(Entity(words[first][0], words[behind - 1][1], label))
    assert there_and_back(reference, offsets, word_ids, spans) == spans


@settings(deadline=None, max_examples=200)
@given(text=TEXTS, data=st.data())
def test_any_spans_of_characters_come_back_as_the_words_that_begin_in_them(reference, tokenize, text, data):
    offsets, word_ids = tokenize(text)
    edges = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    spans = [
        Entity(start, end, data.draw(st.sampled_from(LABELS[:3]))) for start, end in itertools.pairwise(edges)
    ]
    wanted = []
    for start, end, label in spans:
        inside = [word for word in words_of(offsets, word_ids) if start <= word[0] < end]
        if inside:
            wanted.append(Entity(inside[0][0], inside[-1][1], label))
    once = there_and_back(reference, offsets, word_ids, spans)
    assert once == wanted
    assert there_and_back(reference, offsets, word_ids, once) == once


@settings(deadline=None)
@given(
    lengths=st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3), max_size=12),
    gaps=st.lists(st.integers(0, 2), min_size=12, max_size=12),
    kinds=st.lists(st.sampled_from([None, "continue", *LABELS[:3]]), min_size=12, max_size=12),
)
def test_spans_of_made_up_pieces_come_back_exactly_whatever_the_tokenizer(reference, lengths, gaps, kinds):
    offsets, word_ids, places, at = [(0, 0)], [None], [], 0
    for number, (pieces, gap) in enumerate(zip(lengths, gaps, strict=False)):
        at += gap
        begin = at
        for length in pieces:
            offsets.append((at, at + length))
            word_ids.append(number)
            at += length
        places.append((begin, at))
    spans: list[Entity] = []
    for (start, end), kind in zip(places, kinds, strict=False):
        if kind == "continue" and spans:
            spans[-1] = spans[-1]._replace(end=end)
        elif kind not in (None, "continue"):
            spans.append(Entity(start, end, kind))
    assert there_and_back(reference, [*offsets, (0, 0)], [*word_ids, None], spans) == spans


def cell_of(lab, definition: str, names: dict) -> SimpleNamespace:
    """What the notebook's cell with a definition defines, among these names and those of the solution."""
    (source,) = [cell.source for cell in lab.source().cells if f"\n{definition}" in f"\n{cell.source}"]
    scope = {**lab.reference, "tokenizer": load_tokenizer(), **names}
    exec(source, scope)
    return SimpleNamespace(**scope)


@pytest.fixture(scope="module")
def encode(lab):
    """The notebook's own way from a text to word pieces."""
    return cell_of(lab, "def encode(", {}).encode


def test_every_entity_of_the_resumes_comes_back_as_the_notebook_encodes_them(lab, reference, encode):
    resumes = [*make_resumes(240, seed=7), *resumes_by_hand()]
    assert sum("\t" in resume.text for resume in resumes) > 10  # these come back only if tabs separate words
    for resume in resumes:
        row = encode(resume.text)
        assert there_and_back(reference, row["offsets"], row["word_ids"], list(resume.entities)) == list(
            resume.entities
        )


def test_a_text_that_is_too_long_for_the_encoder_is_read_to_its_end_far_from_the_cuts(lab, encode):
    given = vars(cell_of(lab, "def windows_of(", {}))
    finder = cell_of(lab, "def find_entities(", {**given, "encode": encode, "TAGS": TAGS})

    class Edges(torch.nn.Module):
        """Tag 1 at the first and the last forty pieces of whatever it reads at once, tag 0 elsewhere."""

        def forward(self, input_ids, attention_mask):
            assert input_ids.shape[1] <= 512
            logits = torch.zeros(*input_ids.shape, len(TAGS))
            logits[..., 0] = 1
            for row, length in enumerate(attention_mask.sum(dim=1)):
                logits[row, 1:41, 1] = logits[row, length - 41 : length - 1, 1] = 2
            return logits

    short, long = (encode("word " * count) for count in (300, 1400))
    for row, tags in zip((short, long), finder.tags_of(Edges(), [short, long]), strict=True):
        assert len(tags) == len(row["input_ids"])
        assert tags == [0, *[1] * 40, *[0] * (len(tags) - 82), *[1] * 40, 0]


def test_the_model_that_comes_with_the_course_finds_what_the_trained_one_finds(lab, reference, encode):
    given = vars(cell_of(lab, "def windows_of(", {}))
    finder = cell_of(lab, "def find_entities(", {**given, "encode": encode, "TAGS": TAGS})
    model = reference.TokenClassifier(new_encoder(), len(TAGS))
    model.load_state_dict({key: torch.from_numpy(array) for key, array in load_tagger().items()})
    unseen = resume_splits(train=48).unseen_documents[:40]
    gold = [list(resume.entities) for resume in unseen]
    found = finder.find_entities(model, [resume.text for resume in unseen])
    assert reference.entity_scores(gold, found)["all"][2] > 0.9
    cook, kept = cooks_list()
    message = (
        "course_utils/data/cooks_list.json is not the answer of these weights: measure.py --save writes both"
    )
    assert finder.find_entities(model, [cook.text]) == [kept], message


@pytest.mark.slow
def test_a_learner_may_skip_the_training_and_the_whole_lab_runs_with_the_shipped_weights(
    lab, its_turn, tmp_path
):
    its_turn(2, 5)  # of the labs that come with weights
    said = printed_without_training(lab, tmp_path)
    assert not training.broken(lab, training.figures(lab, said))
    assert "2 MB were loaded, for 43 MB of weights" in said and "steps [" not in said
    assert "the loaded model finds the same: True" in said


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False], ids=["tags with names", "plain numbers"])
def test_the_cell_for_the_hub_works_with_a_local_mirror_of_its_form(lab, tmp_path, named):
    import datasets
    from transformers import DistilBertConfig, DistilBertModel

    torch.manual_seed(0)
    tokenizer = load_tokenizer()
    tokenizer.model_input_names = ["input_ids", "attention_mask"]  # DistilBERT's does not make token_type_ids
    tokenizer.save_pretrained(tmp_path / "model")
    config = DistilBertConfig(vocab_size=len(tokenizer), dim=32, hidden_dim=64, n_layers=1, n_heads=2)
    DistilBertModel(config).save_pretrained(tmp_path / "model")
    names = ["O", *(f"{prefix}-{label}" for label in ("PER", "ORG", "LOC", "MISC") for prefix in "BI")]
    kind = datasets.Features(
        {
            "id": datasets.Value("string"),
            "tokens": datasets.List(datasets.Value("string")),
            "ner_tags": datasets.List(datasets.ClassLabel(names=names) if named else datasets.Value("int64")),
        }
    )
    for part in ("train", "validation"):
        rows = [
            {
                "id": str(at),
                "tokens": ["Mrs", "Ana", "Okafor-Braithwaite", "left", "Leeds", "."],
                "ner_tags": [0, 1, 2, 0, 5, 0],
            }
            for at in range(200)
        ]
        (tmp_path / "data").mkdir(exist_ok=True)
        datasets.Dataset.from_list(rows, features=kind).to_parquet(tmp_path / "data" / f"{part}.parquet")
    read = []

    def entity_scores(gold, predicted):
        read.append(gold)
        return lab.reference["entity_scores"](gold, predicted)

    given = {"load_tokenizer": load_tokenizer, "new_encoder": new_encoder}
    given |= vars(cell_of(lab, "def news_rows(", given)) | {"entity_scores": entity_scores}
    cell = cell_of(lab, "def learn_from_hub(", given)
    assert cell_of(lab, "ONLINE = ", {}).ONLINE is False  # nothing is fetched unless somebody asks for it
    scores = cell.learn_from_hub(str(tmp_path / "model"), str(tmp_path / "data"), sentences=160, rate=5e-3)
    assert scores == (1.0, 1.0, 1.0)
    (gold,) = read
    assert {tuple(entity.label for entity in sentence) for sentence in gold} == {("PER", "LOC")}


def test_the_texts_by_hand_have_trimmed_spans_of_every_label_and_no_mark_is_left():
    texts = resumes_by_hand()
    assert len(texts) == 30
    for written in texts:
        assert not set("[]") & set(written.text)
        assert list(written.entities) == sorted(written.entities)
        assert all(
            (span := written.text[entity.start : entity.end]) and span == span.strip()
            for entity in written.entities
        )
        assert all(before.end <= after.start for before, after in itertools.pairwise(written.entities))
    assert {entity.label for written in texts for entity in written.entities} == set(LABELS)


# ---------------------------------------------------------------------------------- cleaning


def test_the_sentences_by_hand_have_exact_spans_and_no_piece_is_in_both_parts():
    sentences = sentences_by_hand()
    assert len(sentences) == 150
    for one in sentences:
        assert not set("[]") & set(one.text), one.text
        assert [*one.entities] == sorted(one.entities), one.text
        for entity, after in itertools.pairwise([*one.entities, Entity(len(one.text), len(one.text), "")]):
            words = one.text[entity.start : entity.end]
            assert words and words == words.strip(' ,.;:!?"') and entity.end <= after.start, one.text
            assert not re.search(r"\w$", one.text[: entity.start]), words  # a word is not cut in two
            assert not re.match(r"\w", one.text[entity.end :]), words
    parts = {part: sentences_by_hand(part) for part in ("development", "test")}
    assert sentences == tuple(sorted([*parts["development"], *parts["test"]], key=sentences.index))
    assert not {one.piece for one in parts["development"]} & {one.piece for one in parts["test"]}
    for part in parts.values():
        assert {kind: sum(one.kind == kind for one in part) for kind in KINDS} == dict.fromkeys(KINDS, 25)
        counts = Counter(entity.label for one in part for entity in one.entities)
        assert set(counts) == {"person", "place", "organisation", "date"} and min(counts.values()) >= 15
    with pytest.raises(ValueError, match="no part 'train'"):
        sentences_by_hand("train")


def test_what_a_language_model_was_asked_is_the_test_half_and_a_name_that_is_not_there_counts_as_wrong():
    asked, seconds = load_asked()
    assert list(asked) == [one.text for one in sentences_by_hand("test")] and seconds > 0
    text = "Ada met Bo and Ada in Bern."
    assert entities_said(text, "person: Ada, Bo, Ada; place: Bern; mood: Bern") == [
        Entity(0, 3, "person"),
        Entity(8, 10, "person"),
        Entity(15, 18, "person"),
        Entity(22, 26, "place"),
    ]
    invented = entities_said(text, "person: Ada, Eve; date: 2013")
    assert [text[one.start : one.end] for one in invented[:1]] == ["Ada"]
    assert len(set(invented)) == 3 and all(one.start < 0 for one in invented[1:])
    assert entities_said(text, "nothing") == entities_said(text, "") == []


@given(
    text=st.text("ab \n\t.", max_size=30),
    places=st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 30), st.sampled_from(LABELS[:3])), max_size=8
    ),
)
def test_cleaning_leaves_trimmed_spans_apart_from_each_other_and_does_nothing_the_second_time(
    reference, text, places
):
    spans = [Entity(min(a, b, len(text)), min(max(a, b), len(text)), label) for a, b, label in places]
    clean = reference.clean_entities(text, spans)
    assert all(text[start:end] == text[start:end].strip() != "" for start, end, _ in clean)
    assert all(one.end <= other.start for one, other in itertools.pairwise(clean))
    assert reference.clean_entities(text, clean) == clean
    assert bool(clean) == any(text[start:end].strip() for start, end, _ in spans)
    longest = max((len(text[start:end].strip()) for start, end, _ in spans), default=0)
    assert max((end - start for start, end, _ in clean), default=0) == longest


# ---------------------------------------------------------------------------------- scores


def on_words(reference, tags: list[str]) -> list[Entity]:
    """What tags of words of three letters, with a space between them, stand for."""
    offsets = [(4 * i, 4 * i + 3) for i in range(len(tags))]
    return reference.decode_entities([TAGS.index(tag) for tag in tags], offsets, list(range(len(tags))), TAGS)


def assert_scores_as_seqeval(reference, gold: list[list[str]], predicted: list[list[str]]) -> None:
    from seqeval.metrics import classification_report

    theirs = classification_report(gold, predicted, output_dict=True, zero_division=0)
    ours = reference.entity_scores(
        *([on_words(reference, tags) for tags in part] for part in (gold, predicted))
    )
    names = {"all": "micro avg"} | {label: label for label in ours if label != "all"}
    for our_name, their_name in names.items():
        row = [float(theirs[their_name][key]) for key in ("precision", "recall", "f1-score")]
        np.testing.assert_allclose(ours[our_name], row, atol=1e-12, err_msg=our_name)


N, S, C = "Name", "Skills", "College"
CRAFTED = {
    "all right": ([[f"B-{N}", f"I-{N}", "O"]], [[f"B-{N}", f"I-{N}", "O"]]),
    "a wrong end": ([[f"B-{N}", f"I-{N}", "O"]], [[f"B-{N}", "O", "O"]]),
    "a wrong beginning": ([["O", f"B-{N}", f"I-{N}"]], [[f"B-{N}", f"I-{N}", f"I-{N}"]]),
    "a wrong label": ([[f"B-{N}", "O", f"B-{S}"]], [[f"B-{C}", "O", f"B-{S}"]]),
    "I- after O": ([["O", f"B-{N}", f"I-{N}"]], [["O", f"I-{N}", f"I-{N}"]]),
    "I- after another label": ([[f"B-{N}", f"B-{S}"]], [[f"B-{N}", f"I-{S}"]]),
    "neighbours": ([[f"B-{S}", f"B-{S}", f"I-{S}"]], [[f"B-{S}", f"I-{S}", f"I-{S}"]]),
    "an entity at the end": ([["O", f"B-{S}"], [f"B-{S}", "O"]], [["O", f"B-{S}"], ["O", f"B-{S}"]]),
    "the same place in two texts": ([[f"B-{N}", "O"], ["O", "O"]], [["O", "O"], [f"B-{N}", "O"]]),
    "nothing predicted": ([[f"B-{N}", "O"]], [["O", "O"]]),
    "a label that is not there": ([[f"B-{N}", "O"]], [[f"B-{N}", f"B-{C}"]]),
    "frequent and rare labels": (
        [[f"B-{S}"] * 8 + [f"B-{N}", f"B-{C}"]],
        [[f"B-{S}"] * 7 + ["O", f"B-{C}", f"B-{C}"]],
    ),
}


@pytest.mark.parametrize("gold, predicted", CRAFTED.values(), ids=CRAFTED)
def test_scores_are_those_of_seqeval_on_crafted_cases(reference, gold, predicted):
    assert_scores_as_seqeval(reference, gold, predicted)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.lists(st.tuples(*[st.sampled_from(TAGS[:7])] * 2), min_size=1, max_size=9), min_size=1, max_size=4
    )
)
@example([[("B-Name", "I-Name")]])
def test_scores_are_those_of_seqeval_on_any_tags(reference, documents):
    gold, predicted = ([[pair[side] for pair in document] for document in documents] for side in (0, 1))
    if all(tag == "O" for document in gold + predicted for tag in document):
        return  # seqeval has no report about nothing
    assert_scores_as_seqeval(reference, gold, predicted)


# ---------------------------------------------------------------------------------- model and loss


def test_model_and_loss_are_those_of_hugging_face(reference):
    import torch
    from transformers import BertConfig, BertForTokenClassification

    config = BertConfig(
        vocab_size=50,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=40,
        num_labels=7,
    )
    theirs = BertForTokenClassification(config).eval()
    ours = reference.TokenClassifier(theirs.bert, 7).eval()
    ours.classifier.load_state_dict(theirs.classifier.state_dict())
    rng = np.random.default_rng(0)
    rows = [
        {"input_ids": rng.integers(1, 50, n).tolist(), "labels": [-100, *rng.integers(0, 7, n - 1).tolist()]}
        for n in (9, 4, 6)
    ]
    batch = reference.encode_batch(rows, 0)
    expected = theirs(**batch)
    logits = ours(batch["input_ids"], batch["attention_mask"])
    torch.testing.assert_close(logits, expected.logits)
    torch.testing.assert_close(reference.token_loss(logits, batch["labels"]), expected.loss)


# ---------------------------------------------------------------------------------- what learners are told


@pytest.mark.parametrize(
    "name, wrong, told",
    [
        (
            "clean_entities",
            lambda text, entities: 5,
            "returned a int; expected a list of Entity(start, end, label)",
        ),
        (
            "clean_entities",
            lambda text, entities: [(0, 1)],
            "(0, 1) is in the list; expected (start, end, label)",
        ),
        ("clean_entities", lambda text, entities: [(0, 1, "B-Name")], "'B-Name' is no label here"),
        ("align_labels", lambda offsets, word_ids, entities, label_ids: [0], "returned 1 labels for"),
        ("encode_batch", lambda rows, pad_id: {"input_ids": [[1]]}, "`input_ids` is a list"),
        (
            "TokenClassifier",
            lambda encoder, num_labels, dropout_rate: 3,
            "it is a int; expected a torch.nn.Module",
        ),
        (
            "TokenClassifier",
            lambda encoder, num_labels, dropout_rate: encoder,
            "parameter too many: `embedding`",
        ),
        ("token_loss", lambda logits, labels: 0.5, "returned a float; expected a tensor"),
        ("entity_scores", lambda gold, predicted: {}, "in the dict; it has: nothing"),
        ("entity_scores", lambda gold, predicted: 0.5, "returned a float; expected a dict"),
    ],
)
def test_what_has_the_wrong_form_is_told_what_is_expected(lab, name, wrong, told):
    key = f"{lab.slug}.{name}"
    outcome = try_case(lab.exercises[key], lab.exercises[key].cases[0], key, wrong, PUBLIC_SEED)
    assert told in outcome.problem.message


# ---------------------------------------------------------------------------------- figures and words

TEXT = "Ana <Silva> knows SQL\nand R"
GOLD = [Entity(0, 11, "Name"), Entity(18, 21, "Skills"), Entity(26, 27, "Skills")]


def test_marked_text_keeps_every_character_and_escapes_what_is_html():
    html = plots.entities_html(TEXT, GOLD, plots.tints(LABELS))
    assert "Ana &lt;Silva&gt;" in html and html.count("<mark") == 3 and "<Silva>" not in html
    assert plots.entities_text(TEXT, GOLD) == "[Ana <Silva>|Name] knows [SQL|Skills]\nand [R|Skills]"


def test_of_overlapping_entities_one_is_shown():
    overlapping = [Entity(0, 3, "Name"), Entity(2, 11, "Name")]
    assert plots.entities_text(TEXT, overlapping) == "[Ana|Name] <Silva> knows SQL\nand R"


def test_every_label_has_a_colour_of_its_own():
    assert len(set(plots.tints(LABELS).values())) == len(LABELS)


def test_the_confusion_counts_each_true_entity_once_and_what_was_invented():
    found = [[Entity(0, 3, "Name"), Entity(18, 21, "College"), Entity(12, 17, "Name")]]
    counts = plots.confusion([GOLD], found, ["Name", "Skills", "College"])
    assert counts.tolist() == [[1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert plots.confusion_figure(counts, ["Name", "Skills", "College"]).axes


def test_failures_are_told_apart_by_kind():
    found = [Entity(0, 3, "Name"), Entity(18, 21, "College"), Entity(12, 17, "Name")]
    for last, kind in (([], "missed"), ([Entity(22, 27, "College")], "both wrong")):
        errors = plots.failures([TEXT], [GOLD], [[*found, *last]])
        assert [error.kind for error in errors] == ["wrong edges", "wrong label", kind, "invented"]
        assert {error.kind for error in errors} <= set(plots.KINDS_OF_FAILURE)
    assert not plots.failures([TEXT], [GOLD], [GOLD])


def test_the_gallery_says_in_plain_text_what_should_be_and_what_was_found(capsys):
    plots.show_failures(plots.failures([TEXT], [GOLD], [GOLD[:1]]))
    shown = capsys.readouterr().out
    assert "2 errors: 2 missed" in shown and "should be SQL · Skills; found –" in shown and "⏎" in shown


def test_the_box_shows_its_first_text_where_no_kernel_is_behind_it(capsys):
    plots.entity_box(lambda text: GOLD, TEXT, LABELS)
    assert "[SQL|Skills]" in capsys.readouterr().out


def test_the_box_finds_again_when_the_text_changes(monkeypatch):
    shown = []
    monkeypatch.setattr(plots, "show_live", lambda widget, **_: shown.append(widget))
    plots.entity_box(lambda text: [Entity(0, 3, "Name")], TEXT, LABELS)
    box, _, picture = shown[0].children
    box.value = "Bob & Co"
    assert "Bob<span" in picture.value and "&amp; Co" in picture.value
    box.value = "  "
    assert "<mark" not in picture.value


def test_the_bar_counts_steps_over_several_loops_and_ends_with_one_line(capsys):
    bar = plots.Progress(5, "training")
    assert list(bar([1, 2, 3])) == [1, 2, 3]
    bar.note = "F1 0.5"
    assert list(bar([4, 5])) == [4, 5]
    bar.close()
    shown = capsys.readouterr().out
    assert bar.done == 5 and "5/5 steps" in shown and shown.count("\n") == 1 and "F1 0.5" in shown


def test_figures_are_drawn_from_what_a_training_leaves():
    assert len(plots.training_curves([3.0, 1.0, 0.5], {"validation": [(1, 0.2), (3, 0.8)]}).axes) == 2
    scores = {"rules": {"Name": (0.1, 0.2, 0.13)}, "model": {"Name": (1, 1, 1), "Skills": (1, 0.5, 0.67)}}
    assert plots.f1_by_label(scores, ["Name", "Skills"]).axes
