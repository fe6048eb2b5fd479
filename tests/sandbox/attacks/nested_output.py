"""Outputs nested just as deeply as one reader can follow and the next one cannot."""

WIRE = True
POINTS = "all"
EXTRA = [
    """
print("TRIED", flush=True)
def nested(depths):
    for depth in depths:
        for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
            inner = opening * depth + b"1" + closing * depth
            raw(*signed(header("display_data"), me(), b"{}", b'{"data": {"text/plain": ' + inner + b'}, "metadata": {}}'))
            raw(*signed(header("display_data"), me(), b"{}", b'{"data": {}, "metadata": {"x": ' + inner + b"}}"))
""",
    # on a busy machine, one cell has not the time for all of them
    *(f"nested(range({first}, {min(first + 100, 1000)}, 5))" for first in range(60, 1000, 100)),
    "time.sleep(0.5)",
]
