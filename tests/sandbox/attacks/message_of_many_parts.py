"""One message of a hundred parts, each below the limit, two gigabytes together."""

WIRE = True
EXTRA = [
    """
part = bytes(20 * 2**20)
def flood():
    for _ in range(120):
        app.iopub_thread.socket.send(part, zmq.SNDMORE, copy=False)
    app.iopub_thread.socket.send(b"end")
print("TRIED", flush=True)
app.iopub_thread.schedule(flood)
time.sleep(2)
"""
]
GRADER_MAY_GROW = 1500 * 2**20  # 768 MiB, and what comes until it is looked at again; 2.4 GB are sent
STATE = ("graded", "timed out", "crashed", "out of memory")
POINTS = (0, 5)
