"""Ready-made attention, which several labs have learners build."""

from __future__ import annotations

READY_MADE = (  # what would do the work of the attention functions
    "torch.nn.functional.scaled_dot_product_attention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.MultiheadAttention",
    "keras.layers.Attention",
    "keras.layers.MultiHeadAttention",
    "keras.layers.GroupQueryAttention",
    "keras.ops.dot_product_attention",
    "course_utils.maths.scaled_dot_product_attention",  # there for later labs
    "course_utils.models.torch_attention.MultiHeadAttention",
)
