"""An answer that says it equals whatever it is compared with.

Takes full marks wherever the learner's object takes part in the comparison.
"""

CELLS = {
    "softmax": """
class Right(float):
    calls = []
    def __eq__(self, other): Right.calls.append("eq"); return True
    def __ne__(self, other): return False
    def __sub__(self, other): return Right(0)
    __rsub__ = __sub__
    def __abs__(self): return Right(0)
    def __le__(self, other): return True
    __lt__ = __ge__ = __gt__ = __le__
    def __bool__(self): return True
    def all(self, *a, **k): return True
    shape, dtype, size = (5,), np.dtype(float), 5

def softmax(scores, axis=-1):
    Right.calls.append("called")
    return Right()
"""
}
LAST = ["print('TRIED', Right.calls[:3])"]
PROBE = "TRIED ['called'"
