"""For all servers of the hub: frames, which JupyterHub forbids by default, and kernels that nobody else can listen to."""

import socket

from tornado.http1connection import HTTP1Connection

c = get_config()  # noqa: F821 (given by traitlets)
# JupyterLab shows formgrader and feedback in frames.
c.ServerApp.tornado_settings = {"headers": {"Content-Security-Policy": "frame-ancestors 'self'"}}
# A kernel shows code and results to any process that connects to its port, and every user of this machine can.
c.KernelManager.transport_encryption = "required"
# Of kernels that start at the same time, one may take the port that was chosen for another's. With ports that are kept, that one is started again at
# the same port, in vain; so each start chooses anew.
c.KernelManager.cache_ports = False


def _stays_open(self, start_line, headers, usual=HTTP1Connection._can_keep_alive):
    """A course's service listens at a socket, and the hub's proxy opens a connection to it for each request, which it closes after the answer.
    Tornado would close it first. On a socket, unlike at a port, the proxy's last write of a form (of 0 bytes) then fails if the answer was fast.
    The proxy then shows the page of a server that is down, although everything is done. On a busy machine that happened to 2 to 13 of 100 forms;
    with this, to none of 800 (29 November 2026).
    """
    return self.stream.socket.family == socket.AF_UNIX or usual(self, start_line, headers)


HTTP1Connection._can_keep_alive = _stays_open
