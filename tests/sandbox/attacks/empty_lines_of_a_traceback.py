"""An error with millions of empty lines, which count as nothing and are all kept."""

WIRE = True
STATE = ("graded", "timed out")
POINTS = (0, 5)
SECONDS = 30
EXTRA = [
    """
payload = b'{"ename": "E", "evalue": "e", "traceback": [' + b",".join([b'""'] * 2_000_000) + b"]}"
print("TRIED", len(payload), flush=True)
for _ in range(3):
    raw(*signed(header("error"), me(), b"{}", payload))
time.sleep(1)
"""
]


def failed(result):
    errors = [
        o for c in result.executed.notebook.cells for o in c.get("outputs", []) if o.output_type == "error"
    ]
    assert sum(len(error.traceback) for error in errors) < 1_000_000
