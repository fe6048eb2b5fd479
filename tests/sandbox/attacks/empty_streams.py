"""Thousands of empty outputs, each of them kept, by turns on stdout and stderr."""

WIRE = True
POINTS = "all"
EXTRA = [
    """
print("TRIED", flush=True)
sent = 0
parent = me()
texts = [json.dumps({"name": name, "text": ""}).encode() for name in ("stdout", "stderr")]
def send():
    global sent
    for _ in range(300):
        app.iopub_thread.socket.send_multipart(signed(header("stream"), parent, b"{}", texts[sent % 2]))
        sent += 1
for _ in range(40):
    app.iopub_thread.schedule(send)
    time.sleep(0.04)
time.sleep(0.5)
"""
]
STATE = ("graded", "timed out")


def failed(result):
    assert len(result.outputs()) < 2_000, len(result.outputs())
    assert len(result.graded.notebook) < 2**20
