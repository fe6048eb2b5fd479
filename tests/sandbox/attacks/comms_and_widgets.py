"""Comms and widgets: models with scripts, targets that claim to be the grader's."""

WIRE = True
FEEDBACK = True
POINTS = "all"
EXTRA = [
    """
from ipywidgets import HTML, IntSlider, Button
from IPython.display import display
display(HTML("<img src=x onerror='window.attacked = 1'>"), IntSlider(description="<script>window.attacked = 1</script>"))
publish("comm_open", {"comm_id": "x", "target_name": "grader", "data": {"score": 5}, "target_module": "os"})
publish("display_data", {"data": {"application/vnd.jupyter.widget-view+json": {"model_id": "x", "version_major": 2, "version_minor": 0},
    "application/vnd.jupyter.widget-state+json": {"state": {}}, "text/plain": "TRIED"}, "metadata": {}})
"""
]
