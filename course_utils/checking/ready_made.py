"""What does the same work as the ready-made things that an exercise declares: other names of libraries, and PyTorch's operations.

An exercise names a few things that would do its work (``bypasses``); a library offers the same under other names, as methods, or one
step removed. Both witnesses use this table: the reader of source text (:mod:`course_utils.checking.bypass`) for the names,
and the one that watches while the code runs (:mod:`course_utils.checking.witness`) for both. A building block is not in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Work:
    """Something that learners build, and what does it for them.

    Attributes:
        declared_by: an exercise that names one of these does not want any of the rest either.
        names: full dotted names of functions and classes of which the use is enough.
        operations: what PyTorch calls it: functions, methods of tensors, and what its dispatcher runs.
    """

    declared_by: frozenset[str]
    names: frozenset[str]
    operations: frozenset[str] = frozenset()


def _work(declared_by: str, names: str, operations: str = "") -> Work:
    return Work(frozenset(declared_by.split()), frozenset(names.split()), frozenset(operations.split()))


_WORKS = (
    _work(
        "torch.softmax torch.nn.functional.softmax scipy.special.softmax keras.ops.softmax tensorflow.nn.softmax",
        """
        scipy.special.softmax scipy.special.log_softmax scipy.special.logsumexp scipy.misc.logsumexp
        sklearn.utils.extmath.softmax sklearn.neural_network._base.inplace_softmax
        transformers.pipelines.text_classification.softmax
        torch.log_softmax torch.logsumexp torch.logcumsumexp torch.special.log_softmax torch.special.logsumexp torch.sparse.softmax
        torch.nn.functional.log_softmax torch.nn.functional.softmin torch.nn.functional.gumbel_softmax
        torch.nn.LogSoftmax torch.nn.Softmin torch.nn.Softmax2d torch.distributions.Categorical
        torch.nn.functional.scaled_dot_product_attention
        keras.activations.log_softmax keras.ops.log_softmax keras.ops.logsumexp keras.ops.nn.softmax
        keras.src.backend.tensorflow.nn.softmax keras.src.backend.tensorflow.nn.log_softmax
        keras.src.backend.torch.nn.softmax keras.src.backend.numpy.nn.softmax keras.src.backend.jax.nn.softmax
        tensorflow.nn.log_softmax tensorflow.math.log_softmax tensorflow.math.reduce_logsumexp tensorflow.reduce_logsumexp
        tensorflow.nn.softmax_cross_entropy_with_logits tensorflow.nn.sparse_softmax_cross_entropy_with_logits
        tensorflow.raw_ops.Softmax tensorflow.raw_ops.LogSoftmax
        tensorflow.python.ops.gen_nn_ops.softmax tensorflow.python.ops.gen_nn_ops.log_softmax jax.nn.softmax
        course_utils.maths.softmax
        """,
        """
        softmax _softmax _safe_softmax log_softmax _log_softmax softmin gumbel_softmax logsumexp logcumsumexp
        special_softmax special_log_softmax special_logsumexp _sparse_softmax
        _sparse_log_softmax _masked_softmax masked_softmax scaled_dot_product_attention _scaled_dot_product_flash_attention_for_cpu
        _scaled_dot_product_attention_math cross_entropy cross_entropy_loss
        """,
    ),
    _work(
        "torch.nn.functional.scaled_dot_product_attention keras.ops.dot_product_attention",
        """
        torch.nn.attention.flex_attention.flex_attention keras.layers.AdditiveAttention
        keras.src.layers.attention.grouped_query_attention.GroupedQueryAttention
        keras.src.backend.tensorflow.nn.dot_product_attention keras.src.backend.torch.nn.dot_product_attention
        transformers.integrations.sdpa_attention.sdpa_attention_forward
        transformers.models.bert.modeling_bert.eager_attention_forward
        transformers.models.gpt2.modeling_gpt2.eager_attention_forward
        transformers.models.llama.modeling_llama.eager_attention_forward
        """,
        """
        scaled_dot_product_attention _scaled_dot_product_attention_math _scaled_dot_product_flash_attention
        _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention
        _scaled_dot_product_fused_attention_overrideable _safe_softmax multi_head_attention_forward _native_multi_head_attention
        _transformer_encoder_layer_fwd
        """,
    ),
    _work(
        "torch.nn.MultiheadAttention",
        """
        torch.nn.TransformerEncoderLayer torch.nn.TransformerDecoderLayer
        keras.src.layers.attention.grouped_query_attention.GroupedQueryAttention
        """,
        "multi_head_attention_forward _native_multi_head_attention _transformer_encoder_layer_fwd",
    ),
    _work(
        "torch.nn.TransformerEncoderLayer",
        """
        torch.nn.Transformer torch.nn.TransformerEncoder torch.nn.TransformerDecoder torch.nn.TransformerDecoderLayer
        transformers.models.bert.modeling_bert.BertLayer transformers.models.gpt2.modeling_gpt2.GPT2Block
        """,
        "_transformer_encoder_layer_fwd",
    ),
    _work(
        "torch.nn.functional.layer_norm",
        """
        torch.nn.GroupNorm torch.nn.InstanceNorm1d torch.nn.BatchNorm1d torch.nn.functional.group_norm
        torch.nn.functional.instance_norm torch.nn.functional.batch_norm keras.layers.GroupNormalization
        keras.ops.batch_normalization sklearn.preprocessing.scale sklearn.preprocessing.StandardScaler scipy.stats.zscore
        """,
        """
        layer_norm native_layer_norm group_norm native_group_norm instance_norm batch_norm native_batch_norm
        _native_batch_norm_legit _batch_norm_impl_index rms_norm _fused_rms_norm
        """,
    ),
    _work(
        "torch.nn.functional.rms_norm",
        """
        transformers.models.t5.modeling_t5.T5LayerNorm transformers.models.mistral.modeling_mistral.MistralRMSNorm
        transformers.models.qwen2.modeling_qwen2.Qwen2RMSNorm
        """,
        "rms_norm _fused_rms_norm",
    ),
    _work(
        "torch.nn.functional.cross_entropy",
        """
        keras.losses.SparseCategoricalCrossentropy keras.losses.CategoricalCrossentropy keras.losses.sparse_categorical_crossentropy
        keras.ops.sparse_categorical_crossentropy keras.ops.categorical_crossentropy
        tensorflow.nn.sparse_softmax_cross_entropy_with_logits tensorflow.nn.softmax_cross_entropy_with_logits
        torch.distributions.Categorical.log_prob sklearn.metrics.log_loss
        transformers.loss.loss_utils.ForCausalLMLoss transformers.loss.loss_utils.fixed_cross_entropy
        """,
        "cross_entropy cross_entropy_loss nll_loss nll_loss_nd nll_loss_forward nll_loss2d nll_loss2d_forward linear_cross_entropy",
    ),
    _work(
        "torch.nn.RNN",
        "torch.nn.modules.rnn.RNNBase torch._VF.rnn_tanh",
        "rnn_tanh rnn_tanh_cell _cudnn_rnn mkldnn_rnn_layer",
    ),
)


@cache
def works_of(bypasses: tuple[str, ...]) -> tuple[Work, ...]:
    """What an exercise does not want to be done for learners: one entry for each of the works that its names stand for, and
    one for each further name.
    """
    found = [work for work in _WORKS if not work.declared_by.isdisjoint(bypasses)]
    known = frozenset().union(*(work.names | work.declared_by for work in found))
    return (*found, *(Work(frozenset(), frozenset((name,))) for name in bypasses if name not in known))


YOURS = {
    f"course_utils.{module}.{name}": f"course_utils.yours.{name}"
    for module, name in (
        ("maths", "softmax"),
        ("maths", "scaled_dot_product_attention"),
        ("models.torch_attention", "MultiHeadAttention"),
        ("models.torch_attention", "sinusoidal_positions"),
        ("models.keras_translator", "positional_encoding"),
        ("data.summaries", "rouge_l"),
        ("models.lora", "LoRALinear"),
    )
}
"""The course's own -> the name under which a later lab gets it, or what the learner has built: in grading always the course's."""


def names_of(bypasses: Iterable[str]) -> tuple[str, ...]:
    """The declared names first, then those that do the same work."""
    declared = tuple(bypasses)
    others = {name for work in works_of(declared) for name in work.names}
    others |= {YOURS[name] for name in others.union(declared) & YOURS.keys()}
    return (*declared, *sorted(others - set(declared)))
