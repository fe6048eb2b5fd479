"""Expected values are looked for in the frames of whoever calls."""

CELLS = {
    "softmax": """
import sys
seen, loot = set(), []
def softmax(scores, axis=-1):
    frame = sys._getframe()
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    right = e / e.sum(axis=axis, keepdims=True)
    while frame := frame.f_back:
        for space in (frame.f_locals, frame.f_globals):
            for name, value in list(space.items()):
                seen.add(name)
                if isinstance(value, np.ndarray) and value.shape == right.shape and np.allclose(value, right):
                    loot.append(name)
                if type(value).__name__ in ("Expected", "Misconception", "Lab", "Verdict"):
                    loot.append(name)
    return scores
"""
}
LAST = ["print('TRIED', len(seen), 'REACHED' if loot else '', loot)"]
