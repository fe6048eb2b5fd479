"""Messages by the hundred thousand: displays, updates, clears, comms."""

WIRE = True
EXTRA = [
    """
contents = [
    ("display_data", {"data": {"text/plain": "TRIED"}, "metadata": {}, "transient": {"display_id": "d"}}),
    ("update_display_data", {"data": {"text/plain": "TRIED"}, "metadata": {}, "transient": {"display_id": "d"}}),
    ("clear_output", {"wait": True}), ("comm_open", {"comm_id": "c", "target_name": "t", "data": {}}),
    ("comm_msg", {"comm_id": "c", "data": {}}), ("status", {"execution_state": "busy"}),
]
parent = me()
frames = [(header(kind), json.dumps(content).encode()) for kind, content in contents]
def flood():
    for number in range(30_000):
        kind, content = frames[number % len(frames)]
        app.iopub_thread.socket.send_multipart(signed(kind, parent, b"{}", content), zmq.NOBLOCK)
app.iopub_thread.schedule(flood)
time.sleep(2)
"""
]
STATE = ("graded", "timed out")
POINTS = (0, 5)  # the check's own message may drown in the flood
