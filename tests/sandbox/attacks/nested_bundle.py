"""A bundle nested thousands of levels deep."""

WIRE = True
CELLS = {
    "softmax": """
import sys
def deep(data):
    for depth in (100, 300, 400, 450, 480, 500, 900, 5000, 100_000):
        content = b'{"data": {"application/vnd.transformer-labs.outcome+json": {"exercise": "start_here.softmax", ' \
                  b'"seed": @SEED@, "cases": ' + b"[" * depth + b"]" * depth + b'}}, "metadata": {}, "transient": {}}'
        raw(*signed(header("display_data"), me(), b"{}", content))
sys.modules["course_utils.checking.check"]._display = deep
print("TRIED")
def softmax(scores, axis=-1):
    return scores
"""
}
