"""Signing in from a learning platform by LTI 1.3, for jupyterhub_config.py: what ``lti.toml`` says, and what jupyterhub-ltiauthenticator leaves open.

A platform says who somebody is. Who may come in, and who teaches, the hub's own lists say; the roles that a platform names count for nothing here.
"""

from __future__ import annotations

import json
import pwd
import re
import tomllib
from pathlib import Path
from typing import Any

from tornado.web import HTTPError
from traitlets import Set, Unicode

try:
    from ltiauthenticator.lti13.auth import LTI13Authenticator
    from ltiauthenticator.lti13.handlers import LTI13LoginInitHandler
except ImportError:  # a hub that was set up by an earlier version
    raise SystemExit(
        "lti.toml needs the package jupyterhub-ltiauthenticator, which this hub does not have: run setup.sh without --settings-only."
    ) from None

KEYS = (
    "issuer",
    "client_id",
    "deployment_id",
    "authorize_url",
    "jwks_endpoint",
    "username_key",
    "email_domain",
)
_CLAIM = "https://purl.imsglobal.org/spec/lti/claim"
_ACCOUNT = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,31}", re.ASCII)
_MOST_COURSES = 200


def read(file: Path) -> dict[str, str]:
    """What a file ``lti.toml`` says.

    Raises:
        SystemExit: something in it is missing or cannot be used; so the hub does not start.
    """
    try:
        found = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SystemExit(f"{file} cannot be read: {error}. docs/lti.md has one to copy.") from None
    for key in {**dict.fromkeys(KEYS), **found}:
        value = found.setdefault(key, "")
        local = isinstance(value, str) and re.match(r"http://(127\.0\.0\.1|localhost)[:/]", value)
        if key not in KEYS:
            how = f"is no setting; there are {', '.join(KEYS)}"
        elif not isinstance(value, str) or not value.isprintable():
            how = "is no text in quotes on one line"
        elif not value and key != "email_domain":
            how = "is missing"
        elif key in ("authorize_url", "jwks_endpoint") and not (value.startswith("https://") or local):
            how = "is no address that begins with https://"
        else:
            continue
        raise SystemExit(f"{file}: `{key}` {how}. docs/lti.md says what belongs there.")
    if found["username_key"] == "email" and not found["email_domain"]:
        raise SystemExit(
            f"{file}: `email_domain` is missing: with addresses as names, only those of one domain can say who somebody is."
        )
    return found


class FromACourse(LTI13LoginInitHandler):
    """The beginning: a browser comes from the platform, and is sent back there to be named."""

    def post(self) -> None:
        if self.get_argument("iss", "") != self.authenticator.issuer:
            raise HTTPError(400, "Open this hub from your course on the learning platform.")
        (client,) = self.authenticator.client_id
        if self.get_argument("client_id", client) != client:
            raise HTTPError(400, "The learning platform knows this hub by another client id.")
        self.request.arguments["client_id"] = [client.encode()]  # a platform may leave it out
        super().post()

    get = post

    def _set_oauth_cookie(self, key: str, value: str) -> None:
        """The answer comes as a form from another site, with which browsers send only cookies that are marked for that."""
        marks: dict[str, Any] = {}
        if self.authenticator.get_uri_scheme(self.request) == "https":
            marks = {"samesite": "None", "secure": True}
        self._set_cookie(key, value, expires_days=1, httponly=True, encrypted=True, **marks)


class FromPlatform(LTI13Authenticator):
    """Takes the platform's word for who somebody is, and for nothing else."""

    login_service = "your course on the learning platform"
    login_handler = FromACourse
    deployment_id = Unicode(config=True, help="By which the platform knows the tool's place in it.")
    email_domain = Unicode(
        config=True, help="Of an address that is a name, this is left out; any other is refused."
    )
    instructors = Set(Unicode(), config=True, help="Whose course's addresses are kept.")
    addresses = Unicode(config=True, help="The file in which they are.")

    async def authenticate(self, handler: Any, data: dict[str, Any] | None = None) -> dict[str, str]:
        """The account of the person whom a message, which is checked by then, names.

        Raises:
            HTTPError: it names nobody whom the hub's lists have.
        """
        data = data or {}
        if data.get(f"{_CLAIM}/deployment_id") != self.deployment_id:
            raise HTTPError(
                403,
                "The learning platform's tool is not the one that this hub knows: its deployment differs.",
            )
        name = self.get_username(data)
        if name not in self.allowed_users:
            raise HTTPError(
                403, f"{name} is on the list of no course of this hub. Ask your instructor to add you."
            )
        try:
            pwd.getpwnam(name)
        except KeyError:
            raise HTTPError(
                403, f"{name} has no account on this machine yet: the hub's administrator runs setup.sh."
            ) from None
        if name in self.instructors and self.addresses:
            keep_addresses(Path(self.addresses), data)
        return {"name": name}  # and nothing of the message, which would be kept in the hub's database

    def get_username(self, token: dict[str, Any]) -> str:
        """The account's name, from the claim that is configured and from no other: to fall back on another one would let it choose.

        Raises:
            HTTPError: there is none, or it is no name of an account.
        """
        key, said = self.username_key, token
        if key.startswith("custom_"):
            key, said = key.removeprefix("custom_"), token.get(f"{_CLAIM}/custom")
        name = said.get(key) if isinstance(said, dict) else None
        if isinstance(name, str) and self.email_domain and "@" in name:
            name, _, domain = name.rpartition("@")
            name = name if domain.casefold() == self.email_domain.casefold() else ""
        # before small letters: there are characters whose small letter is an ordinary one
        if not isinstance(name, str) or not _ACCOUNT.fullmatch(name):
            raise HTTPError(
                403, f"The learning platform gives no name that can be an account's ({self.username_key})."
            )
        return name.lower()


def keep_addresses(file: Path, token: dict[str, Any]) -> None:
    """Keeps where a platform lists the people and the columns of a course, which only its messages say, for the course's own ``lti.toml``."""
    context, members, columns = (
        token.get(name) if isinstance(token.get(name), dict) else {}
        for name in (
            f"{_CLAIM}/context",
            "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice",
            "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint",
        )
    )
    now = {
        "title": context.get("title", ""),
        "members_url": members.get("context_memberships_url", ""),
        "lineitems_url": columns.get("lineitems", ""),
    }
    course = context.get("id")
    if not all(
        isinstance(each, str) and len(each) < 2000 and each.isprintable() for each in (course, *now.values())
    ):
        return
    try:
        known = tomllib.loads(file.read_text("utf-8")) if file.exists() else {}
    except ValueError:
        known = {}
    if known.get(course) == now or (course not in known and len(known) >= _MOST_COURSES):
        return
    known[course] = now
    quoted = json.dumps  # of printable text, JSON's quotes are TOML's
    lines = [
        line
        for one, said in known.items()
        for line in (
            f"[{quoted(one, ensure_ascii=False)}]",
            *(f"{key} = {quoted(value, ensure_ascii=False)}" for key, value in said.items()),
            "",
        )
    ]
    scratch = file.with_suffix(".new")
    scratch.write_text("\n".join(lines), "utf-8")
    scratch.replace(file)


def settings_of(found: dict[str, str]) -> dict[str, Any]:
    """The same as settings of :class:`FromPlatform`."""
    return {**found, "client_id": {found["client_id"]}, "jwks_algorithms": ["RS256"]}
