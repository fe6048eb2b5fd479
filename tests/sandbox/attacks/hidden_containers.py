"""Output made of empty lists, which have no size but need memory in whoever reads them."""

WIRE = True
STATE = ("graded", "timed out")
POINTS = (0, 5)
SECONDS = 45
EXTRA = [
    """
payload = b'{"data": {"text/plain": [' + b",".join([b"[]"] * 1_500_000) + b']}, "metadata": {}, "transient": {}}'
print("TRIED", len(payload), flush=True)
for _ in range(3):
    raw(*signed(header("display_data"), me(), b"{}", payload))
    time.sleep(0.1)
time.sleep(1)
"""
]


def failed(result):
    kept = sum(
        len(output.get("data", {}).get("text/plain", ""))
        for cell in result.executed.notebook.cells
        for output in cell.get("outputs", [])
    )
    assert kept < 1_000_000, kept
