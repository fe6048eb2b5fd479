"""Unix sockets of the host, by name and by path."""

EXTRA = [
    """
import socket
for address in ("\\0@ABSTRACT@", "@SOCKET@", "/proc/1/root@SOCKET@", "/run/dbus/system_bus_socket", "/var/run/docker.sock",
                "/run/systemd/private", "\\0/tmp/.X11-unix/X0"):
    def knock():
        client = socket.socket(socket.AF_UNIX)
        client.connect(address)
        return client.send(b"hello")
    attempt("connect to " + repr(address), knock)
others = [line.split()[-1] for line in open("/proc/net/unix") if "@ABSTRACT@" in line]
print("REACHED" if others else "TRIED", others)
"""
]
POINTS = "all"
