"""For all servers of the hub: JupyterLab shows formgrader and feedback in frames, which JupyterHub forbids by default."""

c = get_config()  # noqa: F821 (given by traitlets)
c.ServerApp.tornado_settings = {"headers": {"Content-Security-Policy": "frame-ancestors 'self'"}}
