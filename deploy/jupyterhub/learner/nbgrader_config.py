"""nbgrader for learners on the hub: the Assignment List shows the courses whose groups they are in."""

c = get_config()  # noqa: F821 (given by traitlets)
c.Exchange.root = "@EXCHANGE@"
c.Exchange.path_includes_course = True  # two courses may have labs of one name
c.ExchangeFactory.submit = "closed_exchange.Submit"
c.Authenticator.plugin_class = "nbgrader.auth.JupyterHubAuthPlugin"
c.KernelManager.transport_encryption = "required"  # for Validate; see jupyter_server_config.py
