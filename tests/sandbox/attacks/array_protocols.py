"""Conversion protocols that answer with arrays made for whoever asks."""

CELLS = {
    "softmax": """
asked = []
class Anything:
    def __init__(self, shape): self.shape = shape
    def detach(self): asked.append("detach"); return self
    def cpu(self): asked.append("cpu"); return self
    def numpy(self):
        asked.append("numpy")
        return np.zeros(self.shape).view(Sub)
    @property
    def __array_interface__(self):
        asked.append("interface")
        return {"shape": (2**40,), "typestr": "<f8", "data": (0, False), "version": 3}
    def __array_function__(self, function, types, args, kwargs): asked.append("function"); return True
    def __array_ufunc__(self, *args, **kwargs): asked.append("ufunc"); return True

class Sub(np.ndarray):
    def __array_function__(self, function, types, args, kwargs): asked.append("function"); return True
    def __array_ufunc__(self, *args, **kwargs): asked.append("ufunc"); return True
    def __array_finalize__(self, other): asked.append("finalize")
    def __ne__(self, other): return np.zeros(1, bool)
    def __eq__(self, other): return True
    def tobytes(self, *a): asked.append("tobytes"); return b"right"

def softmax(scores, axis=-1):
    return Anything(scores.shape)
"""
}
LAST = ["print('TRIED', asked[:4])"]
PROBE = "TRIED ['numpy'"
