"""JupyterHub for the courses in ``courses/*.json`` beside this file, which setup.sh writes. docs/jupyterhub.md explains it."""

import json
import os
import sys
from pathlib import Path
from urllib.parse import quote, urlsplit

from jupyterhub.auth import PAMAuthenticator
from jupyterhub.proxy import ConfigurableHTTPProxy
from jupyterhub.utils import subdomain_hook_idna
from tornado.web import RequestHandler

c = get_config()  # noqa: F821 (given by traitlets)
prefix = Path(__file__).resolve().parent
state = prefix / "state"
courses = [json.loads(path.read_text("utf-8")) for path in sorted((prefix / "courses").glob("*.json"))]
learner_bin = prefix / "learner" / ".venv" / "bin"
groups = {}  # name -> who is in it
for course in courses:
    groups[f"formgrade-{course['id']}"] = course["instructors"]
    groups[f"nbgrader-{course['id']}"] = course["learners"]

# While the hub is down, any process of a learner could listen at a port of 1024 or more first, and get what was meant for the hub: passwords,
# tokens, an instructor's session. So the hub's own ports are root's (below 1024), and a course's service has a socket, in a folder into which only the
# course's account and root may write (setup.sh makes it).
sockets = {course["id"]: prefix / "sockets" / course["id"] / "server" for course in courses}

os.umask(0o077)  # servers inherit it: what learners make is theirs alone

c.JupyterHub.bind_url = os.environ.get("TRANSFORMER_HUB_URL", "http://127.0.0.1:800")
# The address at which the hub asks whether a service is there: its own front door.
service_address = c.JupyterHub.bind_url.rstrip("/")
c.JupyterHub.hub_bind_url = os.environ.get("TRANSFORMER_HUB_API_URL", "http://127.0.0.1:801")
c.JupyterHub.db_url = f"sqlite:///{state / 'jupyterhub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(state / "cookie_secret")
c.JupyterHub.log_level = "WARN"  # each request would put names and file names in the log
subdomains = prefix / "subdomains"  # setup.sh --subdomains
if own_origins := subdomains.exists():
    address = urlsplit(subdomains.read_text("utf-8").strip())
    c.JupyterHub.subdomain_host = address.geturl()
    # A page can set cookies for all names below the hub's, except those that begin so; else a learner's page could log others in as the learner.
    c.JupyterHub.cookie_host_prefix_enabled = True

    class ToItsOrigin(RequestHandler):
        """Leads from a service's address at the hub, which JupyterHub does not know any more, to the one that it has now."""

        def get(self, name):
            host = subdomain_hook_idna(name, address.hostname, kind="service")
            port = f":{address.port}" if address.port else ""
            self.redirect(f"{address.scheme}://{host}{port}{self.request.uri.removeprefix('/hub')}")

    names = "|".join(course["id"] for course in courses)
    c.JupyterHub.extra_handlers = [(rf"/services/({names})(?:/.*)?", ToItsOrigin)]


class ToSockets(ConfigurableHTTPProxy):
    """Leads what is for a course's service to its socket. JupyterHub itself knows services with ports only."""

    async def add_service(self, service):
        target = f"unix+http://{quote(str(sockets[service.name]), safe='')}"
        await self.add_route(service.proxy_spec, target, {"service": service.name})

    async def get_all_routes(self):
        """What the proxy has; of a service that is led to its socket, the address by which the hub knows it."""
        routes = await super().get_all_routes()
        for route in routes.values():
            if route["data"].get("service") in sockets and route["target"].startswith("unix+http:"):
                route["target"] = service_address
        return routes


c.JupyterHub.proxy_class = ToSockets
c.ConfigurableHTTPProxy.command = [
    "/usr/bin/env",
    "node",
    str(prefix / "node/node_modules/configurable-http-proxy/bin/configurable-http-proxy"),
    "--no-prepend-path",  # with it, 5.1 asks a socket for each path twice over; the hub's addresses have none
]
c.ConfigurableHTTPProxy.log_level = "warn"
c.ConfigurableHTTPProxy.pid_file = str(state / "proxy.pid")
c.ConfigurableHTTPProxy.api_url = os.environ.get("TRANSFORMER_PROXY_API_URL", "http://127.0.0.1:802")


class CourseLists:
    """Who may log in: the people of the courses, however they say who they are.

    By itself JupyterHub only ever adds people and members of groups. Here it forgets, when it starts, people who are on no list
    any more, with all their tokens, and takes people out of the groups that they have left.
    """

    def add_user(self, user):
        """Told of each user that the hub knows. With ``delete_invalid_users``, it forgets those for whom this raises."""
        if user.name not in self.allowed_users:
            raise ValueError(f"{user.name} is on the list of no course")
        user.groups = [group for group in user.groups if user.name in groups.get(group.name, ())]
        return super().add_user(user)


class WithPassword(CourseLists, PAMAuthenticator):
    """With the machine's own passwords."""


c.JupyterHub.authenticator_class = WithPassword
c.PAMAuthenticator.open_sessions = False
if (platform := prefix / "lti.toml").exists():  # docs/lti.md
    sys.path.insert(0, str(prefix))
    import lti_sign_in

    class FromCourse(CourseLists, lti_sign_in.FromPlatform):
        """From a course on a learning platform."""

    c.JupyterHub.authenticator_class = FromCourse
    for setting, value in lti_sign_in.settings_of(lti_sign_in.read(platform)).items():
        c.FromPlatform[setting] = value
    c.FromPlatform.instructors = {name for course in courses for name in course["instructors"]}
    c.FromPlatform.addresses = str(state / "lti-courses.toml")
    c.LTI13LaunchValidator.time_leeway = 30  # seconds by which the platform's clock may differ
c.Authenticator.allowed_users = {name for members in groups.values() for name in members}
c.Authenticator.allow_existing_users = False
c.Authenticator.delete_invalid_users = True
c.JupyterHub.load_groups = {name: {"users": members} for name, members in groups.items()}

# Learners' servers. The limits take effect with systemd only: nothing else here can hold a user to them.
if Path("/run/systemd/system").is_dir():
    c.JupyterHub.spawner_class = "systemd"
    c.SystemdSpawner.mem_limit = "4G"
    c.SystemdSpawner.cpu_limit = 2.0
    c.SystemdSpawner.isolate_tmp = True
    c.SystemdSpawner.unit_extra_properties = {"UMask": "0077"}  # systemd's services do not inherit the hub's
else:
    c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"
c.Spawner.cmd = [str(learner_bin / "python"), "-m", "at_the_map"]
c.Spawner.args = [
    "--ServerApp.log_level=WARN",
    f"--LabApp.extra_labextensions_path={prefix / 'learner/course_utils/lab_style'}",  # the width of prose, and widgets that stay
]
c.Spawner.environment = {
    "PATH": f"{learner_bin}:/usr/local/bin:/usr/bin:/bin",
    "KERAS_BACKEND": "tensorflow",
    "CUDA_VISIBLE_DEVICES": "",
}
c.Spawner.disable_user_config = True  # files in a learner's home do not change what their server serves


def to_the_map(spawner):
    """Before a server starts: it opens the map of its owner's first course, and writes those of all (learner/at_the_map.py)."""
    mine = [course["id"] for course in courses if spawner.user.name in course["learners"]]
    spawner.environment = {**spawner.environment, "TRANSFORMER_COURSES": " ".join(mine)}
    spawner.default_url = f"/lab/tree/{mine[0]}/START.md" if mine else "/lab"


c.Spawner.pre_spawn_hook = to_the_map
c.Spawner.start_timeout = 120
c.Spawner.http_timeout = 120

# A server may ask the hub for its owner's groups: nbgrader's list of courses comes from there.
c.JupyterHub.load_roles = [
    {"name": "server", "scopes": ["users:activity!user", "access:servers!server", "read:users!user"]}
]
c.JupyterHub.services = []

# One service per course: the project's JupyterLab with formgrader, as the course's own account, for all its instructors.
for course in courses:
    name, bin_folder = course["id"], Path(course["root"]) / ".venv/bin"
    c.JupyterHub.load_roles += [
        {
            "name": f"formgrade-{name}",
            "scopes": [f"access:services!service={name}"],
            "groups": [f"formgrade-{name}"],
        },
    ]
    c.JupyterHub.services += [
        {
            "name": name,
            "url": service_address,
            "command": [
                "/usr/bin/env",
                "JUPYTERHUB_SERVICE_URL=http+unix:///",  # no port; the socket is below
                f"JUPYTERHUB_COOKIE_HOST_PREFIX_ENABLED={own_origins:d}",  # JupyterHub 6.1 tells users' servers only
                str(bin_folder / "python"),
                "-m",
                "jupyterhub.singleuser",
                f"--ServerApp.sock={sockets[name]}",
                "--ServerApp.sock_mode=0600",
                f"--ServerApp.root_dir={course['root']}",
                "--ServerApp.default_url=/lab",
                "--ServerApp.jpserver_extensions=grader.by_hand.page=True",
                "--ServerApp.log_level=WARN",
            ],
            "user": course["account"],
            "cwd": course["root"],
            "environment": {"PATH": f"{bin_folder}:/usr/local/bin:/usr/bin:/bin"},
            "oauth_no_confirm": True,
        }
    ]
