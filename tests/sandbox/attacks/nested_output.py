"""Outputs nested just as deeply as one reader can follow and the next one cannot."""

WIRE = True
POINTS = "all"
STATE = ("graded", "timed out")  # on a busy machine so many messages take longer than a cell may
EXTRA = [
    """
print("TRIED", flush=True)
for depth in range(60, 1000, 5):
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        inner = opening * depth + b"1" + closing * depth
        raw(*signed(header("display_data"), me(), b"{}", b'{"data": {"text/plain": ' + inner + b'}, "metadata": {}}'))
        raw(*signed(header("display_data"), me(), b"{}", b'{"data": {}, "metadata": {"x": ' + inner + b"}}"))
time.sleep(0.5)
"""
]
