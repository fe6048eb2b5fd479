"""json and base64, which carry the arrays, carry something else."""

EXTRA = [
    """
import base64, json
calls = []
real = base64.b64encode
base64.b64encode = lambda data, *a: calls.append("b64") or real(b"\\x00" * len(data))
dumps = json.dumps
def forged(value, *a, **k):
    calls.append("json")
    return dumps(value, *a, **k).replace('"score": 0', '"score": 1')
json.dumps = forged
"""
]
CELLS = {"softmax": "def softmax(scores, axis=-1):\n    return scores"}
LAST = ["print('TRIED', sorted(set(calls)))"]
PROBE = "'b64'"
