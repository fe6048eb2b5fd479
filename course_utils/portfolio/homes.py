"""What the package is called, which course it is of, and which of its modules has which exercise."""

from __future__ import annotations

import tomllib
from pathlib import Path

PACKAGE = "my_transformer"

COURSE = Path(__file__).resolve().parents[2]

MODULES: dict[str, dict[str, tuple[str, str]]] = {
    "start_here": {"softmax": ("The softmax", "softmax")},
    "why_attention": {
        "recurrent": ("A recurrent network", "rnn_forward"),
        "early_attention": (
            "Bahdanau's and Luong's attention",
            "additive_scores dot_product_scores attend reweight",
        ),
        "costs": ("What a layer costs", "layer_cost"),
    },
    "self_attention": {
        "masks": ("Masks", "padding_mask causal_mask combine_masks"),
        "attention": (
            "Scaled dot-product attention and its kinds",
            "project_qkv attend_one_word scaled_dot_product_attention causal_self_attention cross_attention",
        ),
    },
    "multi_head_attention": {
        "heads": (
            "Attention with several heads",
            "multi_head_attention_loop split_heads merge_heads multi_head_attention MultiHeadAttention count_parameters",
        ),
    },
    "positional_encoding": {
        "positions": (
            "Positions: sinusoids, learned, rotary",
            "get_angles positional_encoding shift_matrix embed_tokens LearnedPositionalEmbedding rotary_embedding",
        ),
    },
    "transformer_pytorch": {
        "layers": ("The layers of a Transformer", "layer_norm FeedForward EncoderLayer DecoderLayer"),
        "model": ("The Transformer", "Encoder Decoder make_masks Transformer"),
        "training": (
            "Training a Transformer",
            "shift_right label_smoothed_loss warmup_schedule train_step",
        ),
        "decoding": ("Writing a sentence word by word", "greedy_decode beam_search"),
    },
    "transformer_tensorflow": {
        "keras_layers": ("The layers in Keras", "FullyConnected EncoderLayer DecoderLayer"),
        "keras_model": ("The Transformer in Keras", "Encoder Decoder Transformer SavableTransformer"),
        "keras_training": (
            "Training the Transformer in Keras",
            "masked_loss masked_accuracy WarmupSchedule train_step",
        ),
        "keras_decoding": ("Writing a sentence word by word, in Keras", "greedy_decode"),
    },
    "text_classification": {
        "documents": (
            "Texts to classify",
            "samples_per_length split_by_group bag_of_ngrams bucketed_batches",
        ),
        "classifier": (
            "A classifier of texts in Keras",
            "PositionalEmbedding TransformerEncoder masked_mean build_classifier best_epoch calibration_error",
        ),
    },
    "language_model_and_summarizer": {
        "language_model": (
            "A language model",
            "shift_targets masked_loss DecoderBlock GPT perplexity NGramModel sampling_probabilities",
        ),
        "summaries": ("Summaries", "summary_features rouge_l"),
        "llama": (
            "The parts of a Llama-like model",
            "rms_norm swiglu grouped_query_attention attend_with_cache",
        ),
    },
    "named_entity_recognition": {
        "entities": (
            "Names in texts",
            "clean_entities align_labels encode_batch TokenClassifier token_loss train_epoch decode_entities entity_scores",
        ),
    },
    "question_answering_pytorch": {
        "reader": (
            "A reader that points at answers",
            "answer_token_span split_into_windows make_features SpanHead span_loss best_span exact_match f1 train_step answer",
        ),
    },
    "question_answering_tensorflow": {
        "keras_reader": (
            "The reader in Keras",
            "answer_token_spans padded_batches SpanHead weights_from_torch span_loss best_spans train_step answer",
        ),
    },
    "text_to_text": {
        "tokenizer": ("A tokenizer: byte-pair encoding", "pair_counts merge encode decode"),
        "tasks": (
            "Every task as text",
            "teacher_forcing_batch mixture as_text from_text span_corruption",
        ),
        "summaries_of_texts": (
            "Summaries of real text: split, measured, chosen",
            "select_pairs rouge_n length_penalty",
        ),
    },
    "your_own_dataset": {
        "data_sets": ("Data sets: validated, split", "validate_rows find_leaks split_by_group embed"),
        "lora": ("Low-rank adapters", "LoRALinear"),
        "metrics": (
            "Comparing models",
            "learning_curve bootstrap_interval calibration_error best_temperature model_card",
        ),
    },
}
"""Lab -> module of the package -> its title, and the exercises whose definitions it has. What is not here goes to a module named after its lab."""


def home_of(key: str, merged: frozenset[str]) -> tuple[str, str]:
    """The module of an exercise, and its title.

    Args:
        merged: labs that have one module, because those that they would have need each other.
    """
    slug, _, name = key.partition(".")
    for module, (title, names) in MODULES.get(slug, {}).items():
        if name in names.split() and slug not in merged:
            return module, title
    return slug, "All exercises"


def may_publish() -> bool:
    """Whether the course allows learners to publish their work: ``publish`` in ``[tool.transformer-labs]`` of its pyproject.toml."""
    try:
        settings = tomllib.loads((COURSE / "pyproject.toml").read_text("utf-8"))
    except (OSError, ValueError):
        return True
    return settings.get("tool", {}).get("transformer-labs", {}).get("publish", True) is not False
