"""For all servers of the hub: frames, which JupyterHub forbids by default, and kernels that nobody else can listen to."""

c = get_config()  # noqa: F821 (given by traitlets)
# JupyterLab shows formgrader and feedback in frames.
c.ServerApp.tornado_settings = {"headers": {"Content-Security-Policy": "frame-ancestors 'self'"}}
# A kernel tells code and results to whoever connects to its port, and every user of this machine can.
c.KernelManager.transport_encryption = "required"
