"""A web server for tests that stands for a learning platform, as strict as the standards let it be: LTI 1.3 with the 1EdTech Security Framework 1.0, Names and Role
Provisioning Services 2.0, and Assignment and Grade Services 2.0. Its addresses look like Moodle's: those of columns have a query.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from email.message import Message
from functools import cache
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
from fake_canvas import Reply, serving
from project import ROOT
from typer.testing import Result

_FOLDER = ROOT / ".build" / "lti"
if importlib.util.find_spec("pylti1p3") is None and _FOLDER.is_dir():
    sys.path.append(str(_FOLDER))
needs_lti = pytest.mark.skipif(
    importlib.util.find_spec("pylti1p3") is None,
    reason="the extra `lti` of pyproject.toml is not installed: `scripts/setup_extra.sh lti` does that where the package index has it",
)

CLIENT, DEPLOYMENT = "aBc-10000", "1"
SPEC = "https://purl.imsglobal.org/spec"
ROLE = "http://purl.imsglobal.org/vocab/lis/v2/membership"
LEARNER, TEACHER = f"{ROLE}#Learner", f"{ROLE}#Instructor"
ASSISTANT = f"{ROLE}/Instructor#TeachingAssistant"
NRPS = f"{SPEC}/lti-nrps/scope/contextmembership.readonly"
AGS = {name: f"{SPEC}/lti-ags/scope/{name}" for name in ("lineitem", "result.readonly", "score")}
KINDS = {
    "members": "application/vnd.ims.lti-nrps.v2.membershipcontainer+json",
    "column": "application/vnd.ims.lis.v2.lineitem+json",
    "columns": "application/vnd.ims.lis.v2.lineitemcontainer+json",
    "results": "application/vnd.ims.lis.v2.resultcontainer+json",
    "score": "application/vnd.ims.lis.v1.score+json",
}
QUERY = "type_id=3"
COLUMNS = "/services/2/lineitems"
PROGRESS = {"Initialized", "Started", "InProgress", "Submitted", "Completed"}
GRADING = {"FullyGraded", "Pending", "PendingManual", "Failed", "NotReady"}


@cache
def key(whose: str) -> Any:
    """A key pair: ``tool``, ``platform`` or anybody else's."""
    from jwcrypto.jwk import JWK

    return JWK.generate(kty="RSA", size=2048, kid=whose)


def pem(whose: str = "tool") -> str:
    return key(whose).export_to_pem(private_key=True, password=None).decode()


def signed(claims: Mapping[str, Any], whose: str = "platform", **header: str) -> str:
    """A JSON Web Token."""
    from jwcrypto.jwt import JWT

    token = JWT({"alg": "RS256", "kid": "platform"} | header, dict(claims))
    token.make_signed_token(key(whose))
    return token.serialize()


class Refused(Exception):
    """Status and what is wrong."""


def see(holds: object, status: int, why: str) -> None:
    if not holds:
        raise Refused(status, why)


def member(user: str, given: str, family: str, *roles: str, **more: Any) -> dict[str, Any]:
    names = {"name": f"{given} {family}", "given_name": given, "family_name": family}
    return {"user_id": user, "status": "Active", "roles": list(roles or (LEARNER,)), **names, **more}


@dataclass
class FakePlatform:
    """Its class and gradebook, and every request that it got.

    Attributes:
        granted: the scopes that this tool may have.
        lifetime: how many requests a token is good for.
        columns: number -> column, without its address.
        results: number of a column -> id of a member -> points.
        deaf: members whose scores are taken and not entered.
        refuse: answers for the next requests for anything but a token, in the place of its own.
        lie: makes of every answer, given its place, another one.
        hub: the address that people are sent back to when they sign in.
    """

    members: list[dict[str, Any]] = field(default_factory=list)
    granted: set[str] = field(default_factory=lambda: {NRPS, *AGS.values()})
    lifetime: int = 1000
    columns: dict[int, dict[str, Any]] = field(default_factory=dict)
    results: dict[int, dict[str, float]] = field(default_factory=dict)
    stamps: dict[tuple[int, str], datetime] = field(default_factory=dict)
    deaf: set[str] = field(default_factory=set)
    refuse: list[Reply] = field(default_factory=list)
    lie: Callable[[str, Reply], Reply] = lambda place, reply: reply
    hub: str = ""
    requests: list[str] = field(default_factory=list)
    scores: list[dict[str, Any]] = field(default_factory=list)
    tokens: dict[str, list[Any]] = field(default_factory=dict)
    assertions: list[str] = field(default_factory=list)
    url: str = ""
    _known: set[str] = field(default_factory=set)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def serving(self) -> AbstractContextManager[str]:
        return serving(self.answer, lambda headers: headers)

    @property
    def secrets(self) -> list[str]:
        """What must be in no output."""
        return [*self.tokens, *self.assertions, *pem().splitlines()[1:-1]]

    def what_is_said(self, result: Result) -> tuple[int, str]:
        """The exit status of a command and what it says, after making sure that it is no traceback and that nothing secret is in it."""
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert not [secret for secret in self.secrets if secret in result.output]
        return result.exit_code, " ".join(result.output.split())

    def answer(self, method: str, target: str, headers: Message, body: str) -> Reply:
        self.requests.append(f"{method} {target}")
        parts = urlsplit(target)
        place = f"{method} {parts.path.rpartition('/')[2]}"
        try:
            if self.refuse and place != "POST token":
                return self.refuse.pop(0)
            reply = self._answer(method, parts.path, dict(parse_qsl(parts.query)), headers, body)
        except Refused as error:
            status, why = error.args
            reply = status, {"Content-Type": "application/json"}, json.dumps({"error": why})
        return self.lie(place, reply)

    def _answer(self, method: str, path: str, query: dict[str, str], headers: Message, body: str) -> Reply:
        match (method, path):
            case ("POST", "/token"):
                see(headers.get_content_type() == "application/x-www-form-urlencoded", 400, "invalid_request")
                return self._token({name: values[0] for name, values in parse_qs(body).items()})
            case ("GET", "/jwks"):
                public = key("platform").export_public(as_dict=True) | {"alg": "RS256", "use": "sig"}
                return 200, {"Content-Type": "application/json"}, json.dumps({"keys": [public]})
            case ("GET", "/auth"):
                return self._auth(query)
            case ("GET", "/services/members"):
                self._see_that_it_may(headers, NRPS)
                return self._pages(headers, "members", self.members, path, query)
            case ("GET", _) if path == COLUMNS:
                self._see_that_it_may(headers, AGS["lineitem"])
                found = [{"id": self._column(number), **each} for number, each in self.columns.items()]
                wanted = query.get("resource_id")
                found = [each for each in found if wanted in (None, each.get("resourceId"))]
                return self._pages(headers, "columns", found, path, query)
            case ("POST", _) if path == COLUMNS:
                self._see_that_it_may(headers, AGS["lineitem"])
                return self._make_column(headers, query, body)
        number, _, what = path.removeprefix(f"{COLUMNS}/").partition("/lineitem/")
        see(number.isdigit() and int(number) in self.columns and query.get("type_id") == "3", 404, "none")
        if (method, what) == ("POST", "scores"):
            self._see_that_it_may(headers, AGS["score"])
            return self._enter(headers, int(number), body)
        see((method, what) == ("GET", "results"), 404, "none")
        self._see_that_it_may(headers, AGS["result.readonly"])
        results = [
            {"id": f"{self.url}/r/{user}", "userId": user, "resultScore": points / 2, "resultMaximum": self.columns[int(number)]["scoreMaximum"] / 2}
            for user, points in self.results.get(int(number), {}).items()
        ]  # fmt: skip
        return self._pages(headers, "results", results, path, query)

    # tokens

    def _token(self, form: dict[str, str]) -> Reply:
        """1EdTech Security Framework, 4.1: OAuth 2.0 client credentials, the client known by a JWT (RFC 7523)."""
        from jwcrypto.jws import JWS

        kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        see(form.get("grant_type") == "client_credentials", 400, "unsupported_grant_type")
        see(form.get("client_assertion_type") == kind, 400, "invalid_request")
        self.assertions.append(form["client_assertion"])
        token = JWS()
        token.deserialize(form["client_assertion"])
        try:
            token.verify(key("tool"), alg="RS256")
        except Exception:
            raise Refused(400, "invalid_client") from None
        claims, now = json.loads(token.payload), time.time()
        see(token.jose_header["kid"] == key("tool").thumbprint(), 400, "invalid_client")
        see(claims["iss"] == claims["sub"] == CLIENT, 400, "invalid_client")
        see(claims["aud"] in (f"{self.url}/token", [f"{self.url}/token"]), 400, "invalid_client")
        see(claims["iat"] <= now < claims["exp"] <= now + 3600, 400, "invalid_client")
        see(claims["jti"] and claims["jti"] not in self._known, 400, "invalid_client")
        self._known.add(claims["jti"])
        scopes = set(form["scope"].split())
        see(scopes and scopes <= self.granted, 400, "invalid_scope")
        bearer = f"secret-token-{next(self._numbers)}"
        self.tokens[bearer] = [scopes, self.lifetime]
        said = {"access_token": bearer, "token_type": "Bearer", "expires_in": 3600, "scope": form["scope"]}
        return 200, {"Content-Type": "application/json"}, json.dumps(said)

    def _see_that_it_may(self, headers: Message, scope: str) -> None:
        kind, _, bearer = (headers.get("Authorization") or "").partition(" ")
        see(kind == "Bearer" and bearer in self.tokens, 401, "invalid_token")
        scopes, left = self.tokens[bearer]
        see(left > 0, 401, "invalid_token")
        self.tokens[bearer][1] -= 1
        see(scope in scopes, 403, "insufficient_scope")

    # services

    def _pages(
        self, headers: Message, kind: str, entries: list[Any], path: str, query: dict[str, str]
    ) -> Reply:
        """Two entries a page."""
        see(headers.get("Accept") == KINDS[kind], 406, "not acceptable")
        start = 2 * int(query.get("Page", 0))
        page = entries[start : start + 2]
        said = {"id": self.url, "context": {"id": "2"}, "members": page} if kind == "members" else page
        more = {"Content-Type": KINDS[kind]}
        if entries[start + 2 :]:
            following = f"{self.url}{path}?{urlencode(query | {'Page': start // 2 + 1})}"  # capitals count
            more["Link"] = f'<{self.url}{path}?x=1>; rel="differences", <{following}>; rel="next"'
        return 200, more, json.dumps(said)

    def _column(self, number: int) -> str:
        return f"{self.url}{COLUMNS}/{number}/lineitem?{QUERY}"

    def _make_column(self, headers: Message, query: dict[str, str], body: str) -> Reply:
        see(query.get("type_id") == "3", 404, "none")
        see(headers.get("Content-Type") == KINDS["column"], 415, "unsupported media type")
        asked = json.loads(body)
        see(isinstance(asked["label"], str) and asked["scoreMaximum"] > 0 and "id" not in asked, 400, "bad")
        number = next(self._numbers)
        self.columns[number] = asked
        return 201, {"Content-Type": KINDS["column"]}, json.dumps({"id": self._column(number), **asked})

    def _enter(self, headers: Message, number: int, body: str) -> Reply:
        see(headers.get("Content-Type") == KINDS["score"], 415, "unsupported media type")
        score = json.loads(body)
        see(any(each["user_id"] == score["userId"] for each in self.members), 404, "no such user")
        when = datetime.fromisoformat(score["timestamp"])
        see(when.tzinfo and "." in score["timestamp"], 400, "timestamp")
        see(score["activityProgress"] in PROGRESS and score["gradingProgress"] in GRADING, 400, "progress")
        given, most = score["scoreGiven"], score["scoreMaximum"]
        see(type(given) in (int, float) and given >= 0 and most > 0, 400, "score")
        see(isinstance(score.get("comment", ""), str), 400, "comment")
        self.scores.append(score)
        last = self.stamps.get((number, score["userId"]))
        see(last is None or last <= when, 409, "older than what is there")
        self.stamps[number, score["userId"]] = when
        if score["gradingProgress"] == "FullyGraded" and score["userId"] not in self.deaf:
            scaled = given * self.columns[number]["scoreMaximum"] / most
            self.results.setdefault(number, {})[score["userId"]] = scaled
        return 204, {}, ""

    # signing in

    def start(self, user: str) -> dict[str, str]:
        """What a browser brings to the tool's address for logins when somebody follows the link in their course."""
        return {
            "iss": self.url,
            "login_hint": user,
            "target_link_uri": f"{self.hub}/hub/",
            "lti_message_hint": f"hint-{user}",
            "client_id": CLIENT,
            "lti_deployment_id": DEPLOYMENT,
        }

    def _auth(self, asked: dict[str, str]) -> Reply:
        """1EdTech Security Framework, 5.1.1.2 and 5.1.1.3: a page whose form brings the message to the tool."""
        for name, value in {
            "response_type": "id_token",
            "response_mode": "form_post",
            "scope": "openid",
            "prompt": "none",
            "client_id": CLIENT,
            "redirect_uri": f"{self.hub}/hub/lti13/oauth_callback",
            "lti_message_hint": f"hint-{asked['login_hint']}",
        }.items():
            see(asked.get(name) == value, 400, name)
        see(asked.get("nonce") and asked.get("state"), 400, "nonce")
        form = {"state": asked["state"], "id_token": signed(self.claims(asked["login_hint"], asked["nonce"]))}
        fields = "".join(
            f'<input type="hidden" name="{name}" value="{escape(value)}">' for name, value in form.items()
        )
        page = f'<form method="post" action="{escape(asked["redirect_uri"])}">{fields}</form><script>document.forms[0].submit()</script>'
        return 200, {"Content-Type": "text/html"}, page

    def claims(self, user: str, nonce: str, **other: Any) -> dict[str, Any]:
        """The message with which somebody comes."""
        who = next(each for each in self.members if each["user_id"] == user)
        now, claim = int(time.time()), f"{SPEC}/lti/claim"
        return {
            "iss": self.url,
            "aud": CLIENT,
            "sub": user,
            "iat": now,
            "exp": now + 300,
            "nonce": nonce,
            **{name: who[name] for name in ("name", "email") if name in who},
            f"{claim}/message_type": "LtiResourceLinkRequest",
            f"{claim}/version": "1.3.0",
            f"{claim}/deployment_id": DEPLOYMENT,
            f"{claim}/target_link_uri": f"{self.hub}/hub/",
            f"{claim}/resource_link": {"id": "7"},
            f"{claim}/roles": who["roles"],
            f"{claim}/context": {"id": "2", "title": "Transformers"},
            f"{claim}/custom": {"username": who["login"]} if "login" in who else {},
            f"{SPEC}/lti-nrps/claim/namesroleservice": {
                "context_memberships_url": f"{self.url}/services/members",
                "service_versions": ["2.0"],
            },
            f"{SPEC}/lti-ags/claim/endpoint": {
                "scope": [*AGS.values()],
                "lineitems": f"{self.url}{COLUMNS}?{QUERY}",
            },
            **other,
        }


def register(grading: Path, url: str, **other: str) -> Path:
    """Writes ``lti.toml`` and the tool's key into a folder."""
    file = grading / "lti-key.pem"
    file.touch(0o600)
    file.write_text(pem())
    said = {
        "issuer": url,
        "client_id": CLIENT,
        "token_url": f"{url}/token",
        "members_url": f"{url}/services/members",
        "lineitems_url": f"{url}{COLUMNS}?{QUERY}",
        "private_key": file.name,
        **other,
    }
    toml = grading / "lti.toml"
    toml.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in said.items()))
    return toml
