"""Arrays of objects, structures, texts, dates and complex numbers; huge ones; ones without any axis."""

CELLS = {
    "softmax": """
class Evil:
    def __reduce__(self): return (print, ("REACHED",))
    def __float__(self): return 1.0
makers = iter([
    lambda s: np.array([Evil()] * s.size, object).reshape(s.shape),
    lambda s: np.zeros(s.shape, [("a", float), ("b", object)]),
    lambda s: np.full(s.shape, "1.0"),
    lambda s: np.zeros(s.shape, "M8[s]"),
    lambda s: np.zeros(s.shape, complex),
    lambda s: np.zeros(2**22),
    lambda s: np.broadcast_to(0.0, (2**20, 2**20)),
    lambda s: np.float64(1),
    lambda s: np.ma.masked_all(s.shape),
    lambda s: np.zeros(s.shape, np.longdouble),
])
calls = []
def softmax(scores, axis=-1):
    calls.append(1)
    return next(makers)(scores)
"""
}
LAST = ["print('TRIED', len(calls))"]
PROBE = "TRIED 1"
