"""A loop that swallows every exception and ignores every signal."""

CELLS = {
    "softmax": """
import signal
print("TRIED", flush=True)
def softmax(scores, axis=-1):
    for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM, signal.SIGXCPU):
        signal.signal(number, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 0)
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue
"""
}
STATE = "timed out"
