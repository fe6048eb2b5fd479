"""Replies to requests that nobody made, whose names are megabytes long and are remembered."""

WIRE = True
POINTS = "all"
EXTRA = [
    """
identities = kernel._parent_ident.get("shell", [])
def flood():
    for number in range(60):
        parent = json.dumps({"msg_id": str(number) + "x" * 15_000_000}).encode()
        app.shell_socket.send_multipart([*identities, *signed(header("execute_reply"), parent, b"{}", b"{}")[1:]])
        time.sleep(0.02)
print("TRIED", len(identities), flush=True)
flood()
time.sleep(2.5)
"""
]
PROBE = "TRIED 1"
STATE = ("graded", "timed out")
