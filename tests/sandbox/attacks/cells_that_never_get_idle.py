"""Dozens of cells that reply but never say that they are idle, so that each is waited for."""

WIRE = True
RUNNER = {"notebook_seconds": 4}
EXTRA = [
    """
send = kernel.session.send
def mute(stream, kind, content=None, *args, **kwargs):
    name = kind if isinstance(kind, str) else kind.get("msg_type")
    if name == "status":
        return
    return send(stream, kind, content, *args, **kwargs)
kernel.session.send = mute
print("TRIED", flush=True)
""",
    *(f"waste = {number}" for number in range(6)),
]
STATE = ("graded", "timed out")
POINTS = (0, 5)
SECONDS = 36
