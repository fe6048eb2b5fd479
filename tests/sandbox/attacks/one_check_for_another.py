"""An exercise's check publishes outcomes for the others, and its crash is to take them along."""

LAB = "02_self_attention"
CELLS = {
    "padding_mask": """
import os
from IPython.display import publish_display_data
def padding_mask(*args, **kwargs):
    for key in ("causal_mask", "combine_masks", "project_qkv", "cross_attention"):
        publish_display_data({"application/vnd.transformer-labs.outcome+json": {
            "exercise": "self_attention." + key, "seed": @SEED@, "cases": "forged"}})
    os._exit(1)
print("TRIED")
"""
}
STATE = "crashed"
POINTS = 18


def failed(result):
    assert result.score_of("padding_mask") == 0
    assert all(score for key, score in result.graded.points.of_cells.items() if key != "check_padding_mask")
    assert "forged" not in str(result.executed.payloads)
