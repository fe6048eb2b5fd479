"""Every function that compares numbers says that they are equal."""

EXTRA = [
    """
import numpy as np
yes = lambda *a, **k: True
for name in ("isclose", "allclose", "array_equal", "array_equiv", "isnan"):
    setattr(np, name, yes)
for name in dir(np.testing):
    if name.startswith("assert"):
        setattr(np.testing, name, yes)
import builtins, math, operator
math.isclose = operator.eq = yes
builtins.all = builtins.any = yes
print("TRIED", np.allclose(1, 2))
"""
]
CELLS = {"softmax": "def softmax(scores, axis=-1):\n    return np.zeros_like(scores)"}
PROBE = "TRIED True"
