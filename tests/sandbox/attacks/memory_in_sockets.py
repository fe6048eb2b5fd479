"""Memory in the buffers of sockets and pipes, of many processes that each hold few."""

EXTRA = [
    """
import fcntl, os, socket, time
begin()
reading, writing = os.pipe()
def fill():
    held, pairs = 0, []
    try:
        while len(pairs) < 110:
            pair = socket.socketpair()
            pairs.append(pair)
            for end in pair:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**20)
                end.setblocking(False)
                try:
                    while True:
                        held += end.send(b"x" * 65536)
                except BlockingIOError:
                    pass
    except OSError:
        pass
    os.write(writing, f"{held}\\n".encode())
    time.sleep(30)
for _ in range(24):
    try:
        if os.fork() == 0:
            fill()
            os._exit(0)
    except OSError:
        break
time.sleep(1.2)
os.set_blocking(reading, False)
held = sum(map(int, os.read(reading, 10**5).split()))
print("REACHED" if held > 700 * 2**20 else "TRIED", held // 2**20, "MiB in buffers", flush=True)
"""
]
STATE = ("graded", "out of memory")
POINTS = "all"
