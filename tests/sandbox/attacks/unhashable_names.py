"""Messages whose parent is named by a list, so that looking it up fails in the grader."""

WIRE = True
POINTS = "all"
EXTRA = [
    """
for name in ([], {}, [[]], 3, None, True, 1e9):
    parent = json.dumps({"msg_id": name}).encode()
    raw(*signed(header("stream"), parent, b"{}", json.dumps({"name": "stdout", "text": "x"}).encode()))
    frames = signed(header("execute_reply"), parent, b"{}", b"{}")[1:]
    identities = kernel._parent_ident.get("shell", []) if hasattr(kernel, "_parent_ident") else []
    app.shell_socket.send_multipart([*identities, *frames])
print("TRIED", len(identities), flush=True)
time.sleep(0.5)
"""
]
PROBE = "TRIED 1"
