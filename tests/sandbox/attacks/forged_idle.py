"""A cell says that it has ended, and goes on computing while the others run."""

WIRE = True
EXTRA = [
    """
parent = kernel.get_parent()
publish("status", {"execution_state": "idle"}, parent)
kernel.session.send(
    app.shell_socket, "execute_reply", {"status": "ok"}, parent=parent, ident=kernel._parent_ident.get("shell", []))
print("TRIED", flush=True)
time.sleep(60)
"""
]
STATE = "timed out"
POINTS = (0, 5)  # what it delays may be lost to it
