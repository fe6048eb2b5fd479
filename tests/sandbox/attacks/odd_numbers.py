"""NaN, infinities, and numbers far out of range, in every kind of float and integer."""

CELLS = {
    "softmax": """
import itertools
odd = itertools.cycle([np.nan, np.inf, -np.inf, 1e308, -1e308, np.float16(65504), -1, 2**63 - 1, 5e-324])
calls = []
def softmax(scores, axis=-1):
    calls.append(1)
    return np.full(np.shape(scores), next(odd))
"""
}
LAST = ["print('TRIED', len(calls) >= 9)"]
PROBE = "TRIED True"
