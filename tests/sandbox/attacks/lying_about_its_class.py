"""An object that claims to be an array, with its own idea of shape, type and bytes."""

CELLS = {
    "softmax": """
calls = []
class Array:
    __class__ = np.ndarray
    dtype = np.dtype(float)
    nbytes = 8
    def __init__(self, shape): self.shape = shape
    def __array__(self, *a, **k): calls.append("__array__"); return np.full(self.shape, np.nan)
    def astype(self, *a): calls.append("astype"); return self
    def tobytes(self): calls.append("tobytes"); return b"right"
    def __getattr__(self, name): calls.append(name); raise AttributeError(name)

def softmax(scores, axis=-1):
    return Array(scores.shape)
"""
}
LAST = ["print('TRIED', calls)"]
PROBE = "TRIED ['__array_struct__'"
