"""A learning platform by LTI 1.3: its list of members (Names and Role Provisioning Services 2.0) and its gradebook (Assignment and Grade Services 2.0).

PyLTI1p3 signs the request for a token (1EdTech Security Framework 1.0, section 4.1), asks for it, and words scores and columns. Services are asked by
:mod:`grader.people.server`, with its bounds: the library's own requests have none, follow redirects, and write addresses of pages in small letters.
"""

from __future__ import annotations

import importlib.util
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import requests

from grader.course import Course
from grader.errors import GraderError
from grader.files import printable, toml_of
from grader.people.server import Answer, Server, address_of

if TYPE_CHECKING:
    from pylti1p3.registration import Registration as OfTheLibrary

FILE = "lti.toml"
"""In ``grading/``: how the platform knows this course."""

_SCOPES = "https://purl.imsglobal.org/spec"
MEMBERS = f"{_SCOPES}/lti-nrps/scope/contextmembership.readonly"
COLUMNS = f"{_SCOPES}/lti-ags/scope/lineitem"
RESULTS = f"{_SCOPES}/lti-ags/scope/result.readonly"
SCORES = f"{_SCOPES}/lti-ags/scope/score"

_KEYS = ("issuer", "client_id", "token_url", "members_url", "lineitems_url", "private_key", "audience")
_NEEDED = ("issuer", "client_id", "token_url", "private_key")
_LONGEST = 2000
"""Characters of a setting, an address or a token."""
_INSTEAD = "use files: `grader export --format csv` writes one, and `grader roster import` and `grader collect` read them"
_ROLE = re.compile(r"(?:https?://purl\.imsglobal\.org/vocab/lis/v2/membership(?:/(\w+))?#)?(\w+)")
_TESTER = "http://purl.imsglobal.org/vocab/lti/system/person#TestUser"


class NotAllowed(GraderError):
    """The platform does not let this tool use a service."""


@dataclass(frozen=True)
class Registration:
    """How a platform knows this course: what stands in ``grading/lti.toml``.

    Attributes:
        file: where it stands.
        audience: whom a request for a token is addressed to.
        key: the private key, as PEM.
    """

    file: Path
    issuer: str
    client_id: str
    token_url: str
    members_url: str
    lineitems_url: str
    audience: str
    key: str = field(repr=False)

    def public(self) -> Mapping[str, Any]:
        """The public key, as platforms take it (a JSON Web Key)."""
        return _of_the_library(self).get_jwks()[0]


@dataclass(frozen=True)
class Member:
    """Somebody in the course. Texts are as they came, and empty where there is none.

    Attributes:
        user: the platform's id, which scores have, too.
        login: an id outside the platform.
        roles: in this course, such as ``Learner``, or ``Instructor`` and then ``TeachingAssistant``.
        active: whether the platform still counts them as in the course.
    """

    user: str
    name: str
    first_name: str
    last_name: str
    email: str
    login: str
    roles: tuple[str, ...]
    active: bool

    @property
    def learns(self) -> bool:
        return "Learner" in self.roles


@dataclass(frozen=True)
class Column:
    """A column of the platform's gradebook.

    Attributes:
        url: its id, which is its address.
    """

    url: str
    label: str
    points: float


def read_registration(course: Course) -> Registration:
    """What stands in ``grading/lti.toml``.

    Raises:
        GraderError: something in it is missing or cannot be used, the key's file is open to others, or PyLTI1p3 is not installed.
    """
    file = course.grading / FILE
    try:
        found = toml_of(file.read_text("utf-8"))
    except FileNotFoundError:
        raise GraderError(
            f"There is no {file}, which says how the learning platform knows this course. docs/lti.md has one to copy."
        ) from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise GraderError(
            f"{file} cannot be read: {printable(str(why), 200)}. docs/lti.md has one to copy."
        ) from None

    def wrong(key: str, how: str) -> GraderError:
        return GraderError(f"{file}: `{key}` {how}. docs/lti.md says what belongs there.")

    for key in found:
        if key not in _KEYS:
            raise wrong(printable(key, 50), f"is no setting; there are {', '.join(_KEYS)}")
    for key in _KEYS:
        value = found.setdefault(key, "")
        if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
            raise wrong(key, "is no text in quotes on one line")
        if key in _NEEDED and not value:
            raise wrong(key, "is missing")
        if key.endswith("_url") and value and not address_of(value):
            raise wrong(key, "is no address that begins with https://")
    _see_that_it_is_installed(course)
    key = _private_key(file.parent / found["private_key"], wrong)
    registration = Registration(
        file,
        *(found[name] for name in _KEYS[:5]),
        audience=found["audience"] or found["token_url"],
        key=key,
    )
    try:
        kind = registration.public()
    except Exception:  # the library's many names for it, some of which quote what they have read
        kind = {}
    if kind.get("kty") != "RSA" or len(kind["n"]) < 2048 // 6:  # base64
        raise wrong("private_key", "names no RSA key of 2048 bits or more, in PEM and without a password")
    return registration


def _private_key(file: Path, wrong: Callable[[str, str], GraderError]) -> str:
    try:
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):
            raise wrong("private_key", f"names {file}, which is no file")
        if mode & 0o077:
            raise wrong("private_key", f"names {file}, which others may open: run `chmod 600 {file}`")
        text = file.read_text("ascii")
    except (OSError, ValueError) as error:
        raise wrong("private_key", f"names {file}, which cannot be read ({type(error).__name__})") from None
    if "PRIVATE KEY" not in text:
        raise wrong("private_key", f"names {file}, which has no private key in PEM")
    return text


def _see_that_it_is_installed(course: Course) -> None:
    """
    Raises:
        GraderError: PyLTI1p3 is neither in the environment nor in ``.build/lti``.
    """
    folder = course.build / "lti"
    if importlib.util.find_spec("pylti1p3") is None and (folder / "pylti1p3").is_dir():
        sys.path.append(str(folder))  # last, so that whatever the environment has comes from there
    if importlib.util.find_spec("pylti1p3") is None:
        raise GraderError(
            "LTI needs the package PyLTI1p3, which is not installed. `scripts/setup_extra.sh lti` installs it into .build/lti, beside the environment."
        )


def _of_the_library(registration: Registration) -> OfTheLibrary:
    from pylti1p3.registration import Registration as OfTheLibrary

    found = OfTheLibrary().set_issuer(registration.issuer).set_client_id(registration.client_id)
    found.set_auth_token_url(registration.token_url).set_auth_audience(registration.audience)
    # The library takes the public half out of either, and names the key after it in what it signs.
    return found.set_tool_private_key(registration.key).set_tool_public_key(registration.key)


class Platform:
    """The course on its platform."""

    def __init__(self, registration: Registration) -> None:
        self._registration, self._tokens = registration, _Tokens(registration)
        self._services: dict[str, _Service] = {}

    def members(self) -> list[Member]:
        """Everybody in the course, whatever their roles.

        Raises:
            GraderError: the platform refuses, fails, or does not answer as the standard says.
        """
        service = self._service("members_url", MEMBERS)
        accept = {"Accept": "application/vnd.ims.lti-nrps.v2.membershipcontainer+json"}
        found: dict[str, Member] = {}
        for answer in service.all_pages("members_url", "members", accept):
            container = service.json(answer, dict).get("members")
            if not isinstance(container, list):
                raise service.strange("it lists no members")
            for each in container:
                member = _member(service, each)
                if found.setdefault(member.user, member) != member:
                    raise GraderError(
                        f"{service.address} lists {service.said(member.name or member.user)!r} twice, and differently. Perhaps somebody is changing the class "
                        "there: run the same command again."
                    )
        return list(found.values())

    def column(self, lab: str) -> Column | None:
        """The column that this tool has made for a lab; None if there is no such column.

        Raises:
            GraderError: there are several, or the platform cannot be asked.
        """
        service = self._service("lineitems_url", COLUMNS)
        accept = {"Accept": "application/vnd.ims.lis.v2.lineitemcontainer+json"}
        found = {
            column.url: column
            for answer in service.all_pages("lineitems_url", "columns", accept, resource_id=lab)
            for each in service.json(answer, list)
            if isinstance(each, dict) and each.get("resourceId") == lab
            for column in [_column(service, each)]
        }
        if len(found) > 1:
            labels = ", ".join(repr(each.label) for each in found.values())
            raise GraderError(
                f"The platform's gradebook has {len(found)} columns of this tool for {lab}: {labels}. Remove all but one there."
            )
        return next(iter(found.values()), None)

    def make_column(self, lab: str, label: str, points: float) -> Column:
        """Makes a lab's column.

        Raises:
            GraderError: the platform refuses or fails. It may have made it all the same: the same command then finds it.
        """
        from pylti1p3.lineitem import LineItem

        service = self._service("lineitems_url", COLUMNS)
        wanted = LineItem().set_label(label).set_score_maximum(points).set_resource_id(lab)
        kind = "application/vnd.ims.lis.v2.lineitem+json"
        answer = service.ask(
            "POST",
            self._registration.lineitems_url,
            repeatable=False,
            data=wanted.get_value(),
            headers={"Content-Type": kind, "Accept": kind},
        )
        return _column(service, service.json(answer, dict))

    def results(self, column: Column) -> dict[str, float | None]:
        """The platform's id of somebody -> points in a column. Who has no result there may be missing.

        Raises:
            NotAllowed: this tool may not read them.
            GraderError: the platform cannot be asked.
        """
        service = self._service("lineitems_url", RESULTS)
        accept = {"Accept": "application/vnd.ims.lis.v2.resultcontainer+json"}
        found: dict[str, float | None] = {}
        for answer in service.all_pages(_below(column.url, "results"), "results", accept):
            for each in service.json(answer, list):
                if not isinstance(each, dict):
                    raise service.strange("one of the results is not an object")
                user = _user(service, each.get("userId"), "one of the results")
                points = service.number(each.get("resultScore"), "the points of a result")
                most = service.number(each.get("resultMaximum", 1), "the most points of a result")
                if points is not None and most is not None and most > 0:
                    points *= column.points / most
                elif points is not None:
                    raise service.strange("the most points of a result are no usable number")
                if found.setdefault(user, points) != points:
                    raise GraderError(
                        f"{service.address} lists the result of {service.said(user)!r} twice, and differently. Perhaps somebody is grading there: run the same "
                        "command again."
                    )
        return found

    def send(self, column: Column, user: str, points: float, comment: str) -> bool:
        """Sends a score. Returns whether the platform has taken it: it may not know this user.

        Raises:
            GraderError: the platform refuses all scores, fails, or cannot be reached.
        """
        from pylti1p3.grade import Grade

        service = self._service("lineitems_url", SCORES)
        grade = Grade().set_user_id(user).set_score_given(points).set_score_maximum(column.points)
        grade.set_activity_progress("Completed").set_grading_progress("FullyGraded")
        # the standard wants the time of the grade with parts of a second; a platform ignores what is older than what it has
        grade.set_timestamp(datetime.now(UTC).isoformat(timespec="microseconds"))
        if comment:
            grade.set_comment(comment)
        answer = service.ask(
            "POST",
            _below(column.url, "scores"),
            accept=(202, 204, 400, 404, 409, 422),
            data=grade.get_value(),
            headers={"Content-Type": "application/vnd.ims.lis.v1.score+json"},
        )
        return answer.status < 300

    def _service(self, setting: str, scope: str) -> _Service:
        if scope not in self._services:
            self._services[scope] = _Service(self._registration, setting, scope, self._tokens)
        return self._services[scope]


class _Tokens(Server):
    """Where the platform gives tokens. PyLTI1p3 takes it for a session of ``requests``."""

    def __init__(self, registration: Registration) -> None:
        super().__init__(address_of(registration.token_url), "a learning platform", _INSTEAD)
        self._registration = registration

    def token(self, scope: str) -> str:
        """A new token for a service."""
        from pylti1p3.service_connector import ServiceConnector

        return ServiceConnector(_of_the_library(self._registration), self).get_access_token([scope])

    def post(self, url: str, data: Mapping[str, str]) -> SimpleNamespace:
        self.secrets.append(data["client_assertion"])
        said = self.json(self.ask("POST", url, data=data), dict)
        token, kind = said.get("access_token"), said.get("token_type")
        usable = isinstance(token, str) and token.isascii() and token.isprintable() and " " not in token
        if not (usable and 0 < len(token) <= 4 * _LONGEST and str(kind).lower() == "bearer"):
            raise self.strange("it gives no usable token")
        self.secrets.append(token)
        return SimpleNamespace(ok=True, json=lambda: {"access_token": token})

    def refusal(self, answer: Answer) -> GraderError:
        if b'"invalid_scope"' in answer.body or b'"unauthorized_client"' in answer.body:
            return NotAllowed(
                f"{self.address} does not let this tool use the service: switch it on in the tool's settings there."
            )
        if answer.status in (400, 401):
            return GraderError(
                f"{self.address} gives no token. Compare `client_id`, `token_url` and `audience` in {self._registration.file} with the platform's settings, and give it "
                "the key that `grader roster lti --public-key` shows."
            )
        return super().refusal(answer)


class _Service(Server):
    """One of the platform's services. All of its addresses are on the server that the registration names."""

    def __init__(self, registration: Registration, setting: str, scope: str, tokens: _Tokens) -> None:
        """
        Raises:
            GraderError: the registration does not have the address.
        """
        url = getattr(registration, setting)
        if not url:
            raise GraderError(
                f"{registration.file}: `{setting}` is missing. docs/lti.md says where its value comes from."
            )
        super().__init__(address_of(url), "a learning platform", _INSTEAD)
        self._registration, self._setting, self._scope, self._tokens = registration, setting, scope, tokens
        self._token, self.secrets = "", tokens.secrets

    def all_pages(self, url: str, what: str, accept: Mapping[str, str], **filtered: str) -> Iterator[Answer]:
        """The answers with all pages of a list.

        Args:
            url: its address, or the setting that has it.
        """
        parts = urlsplit(getattr(self._registration, url, url))
        query = urlencode([*parse_qsl(parts.query, keep_blank_values=True), *filtered.items()])
        return self.pages(parts._replace(query=query).geturl(), what, f"{self.address}/", headers=accept)

    def ask(self, method: str, url: str, **how: Any) -> Answer:
        """As any server is asked, and once more with a new token where the first one has expired."""
        accept = (*how.pop("accept", ()), 401)
        fresh = not self._token
        self._token = self._token or self._tokens.token(self._scope)
        answer = super().ask(method, url, accept=accept, **how)
        if answer.status == 401 and not fresh:
            self._token = self._tokens.token(self._scope)
            answer = super().ask(method, url, accept=accept, **how)
        if answer.status == 401:
            raise self.refusal(answer)
        return answer

    def authorise(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request

    def refusal(self, answer: Answer) -> GraderError:
        if answer.status in (401, 403):
            return NotAllowed(
                f"{self.address} refuses: this tool may not use the service ({self._scope.rpartition('/')[2]}). Switch it on in the tool's settings there, and compare "
                f"`{self._setting}` in {self._registration.file}."
            )
        if answer.status == 404:
            return GraderError(
                f"{self.address} refuses: there is no such course or column. Compare `{self._setting}` in {self._registration.file} with what the platform says."
            )
        return super().refusal(answer)


def _member(service: Server, said: object) -> Member:
    if not isinstance(said, dict):
        raise service.strange("one of the members is not an object")
    user, roles = _user(service, said.get("user_id"), "one of the members"), said.get("roles")
    if not isinstance(roles, list) or not all(isinstance(role, str) for role in roles):
        raise service.strange("it does not say as what a member is in the course")
    status = said.get("status", "Active")
    if status not in ("Active", "Inactive", "Deleted"):
        raise service.strange("whether a member is active is none of Active, Inactive and Deleted")
    parts = [_ROLE.fullmatch(role[:200]) for role in roles]
    text = {
        key: service.said(said[key]) if isinstance(said.get(key), str) else ""
        for key in ("name", "given_name", "family_name", "email", "ext_user_username", "lis_person_sourcedid")
    }
    return Member(
        user,
        text["name"] or f"{text['given_name']} {text['family_name']}".strip(),
        text["given_name"],
        text["family_name"],
        text["email"],
        text["ext_user_username"] or text["lis_person_sourcedid"],
        ()
        if _TESTER in roles
        else tuple(dict.fromkeys(name for part in parts if part for name in part.groups() if name)),
        status == "Active",
    )


def _user(service: Server, value: object, whose: str) -> str:
    text = str(value) if type(value) is int and 0 < value < 10**20 else value
    if not (isinstance(text, str) and 0 < len(text) <= 255 and text.isprintable()):
        raise service.strange(f"{whose} has no usable id")
    return text


def _column(service: Server, said: Mapping[str, Any]) -> Column:
    url, label = said.get("id"), said.get("label")
    points = service.number(said.get("scoreMaximum"), "the points of a column")
    if not isinstance(url, str) or not isinstance(label, str) or points is None or points <= 0:
        raise service.strange("a column has no address, label or points")
    if len(url) > _LONGEST or not url.startswith(f"{service.address}/"):
        raise GraderError(
            f"{service.address} has a column at another address, {service.said(url)!r}. Nothing was sent there."
        )
    return Column(url, service.said(label), points)


def _below(url: str, name: str) -> str:
    """The address of a column's scores or results: its own may have a query."""
    parts = urlsplit(url)
    return parts._replace(path=f"{parts.path.rstrip('/')}/{name}").geturl()
