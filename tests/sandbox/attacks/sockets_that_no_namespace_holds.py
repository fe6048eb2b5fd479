"""Kinds of sockets that a network namespace does not hold back, such as those to a virtual machine's host."""

EXTRA = [
    """
import socket
def vsock():
    client = socket.socket(40, socket.SOCK_STREAM)
    client.settimeout(0.5)
    with contextlib.suppress(OSError):
        client.connect((1, @VSOCK@))  # this machine itself
    return "a socket to virtual machines"
attempt("vsock", vsock)
for name, family, kind, protocol in (("kernel crypto", 38, socket.SOCK_SEQPACKET, 0), ("bluetooth", 31, socket.SOCK_RAW, 1),
                                     ("qrtr", 42, socket.SOCK_DGRAM, 0), ("tipc pair", None, 0, 0), ("xdp", 44, socket.SOCK_RAW, 0), ("tipc", 30, socket.SOCK_DGRAM, 0),
                                     ("can", 29, socket.SOCK_RAW, 1), ("rds", 21, socket.SOCK_SEQPACKET, 0), ("smc", 43, socket.SOCK_STREAM, 0)):
    attempt(name, lambda: socket.socket(family, kind, protocol) if family else socket.socketpair(30, socket.SOCK_SEQPACKET))
"""
]
POINTS = "all"
