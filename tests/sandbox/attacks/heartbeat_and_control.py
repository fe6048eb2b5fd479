"""The kernel's own sockets are closed, its heartbeat stopped, its context destroyed."""

WIRE = True
EXTRA = [
    """
print("TRIED", flush=True)
time.sleep(1)  # closed without lingering, a socket drops what it has not sent yet
app.heartbeat.context.destroy(0) if hasattr(app.heartbeat, "context") else None
app.control_socket.close(0)
app.stdin_socket.close(0)
app.shell_socket.close(0)
app.iopub_thread.schedule(lambda: app.iopub_thread.socket.close(0))
time.sleep(0.3)
"""
]
STATE = ("timed out", "crashed")
POINTS = "all"
