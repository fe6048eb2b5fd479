"""Signing in on a real hub from a platform that is as strict as the standards let it be: the hub's own settings, with the authenticator's own handlers.

The hub runs without its proxy and its services, which test_jupyterhub.py tries; accounts are those that every Debian has.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import pwd
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
import requests
from fake_lti import (
    CLIENT,
    COLUMNS,
    DEPLOYMENT,
    LEARNER,
    QUERY,
    SPEC,
    TEACHER,
    FakePlatform,
    key,
    member,
    needs_lti,
    signed,
)
from playwright.sync_api import sync_playwright
from project import ROOT
from test_browser import CHROMIUM, FLAGS

DEPLOY, EXTRA = ROOT / "deploy/jupyterhub", ROOT / ".build/hub"
CLAIM = f"{SPEC}/lti/claim"
LEARNS, TEACHES, STRANGER, NO_ACCOUNT = "nobody", "daemon", "bin", "hubtest-not-there"

pytestmark = [
    pytest.mark.slow,
    needs_lti,
    pytest.mark.skipif(
        not (EXTRA / "ltiauthenticator").is_dir(),
        reason="the extra `hub` of pyproject.toml is not installed: `scripts/setup_extra.sh hub` does that where the package index has it",
    ),
    pytest.mark.skipif(
        not {LEARNS, TEACHES, STRANGER} <= {each.pw_name for each in pwd.getpwall()},
        reason="needs the accounts that every Debian has",
    ),
]

CONFIG = """
load_subconfig("jupyterhub_config.py")
from jupyterhub.proxy import Proxy

class NoProxy(Proxy):
    async def start(self): pass
    async def stop(self): pass
    async def add_route(self, *_): pass
    async def delete_route(self, *_): pass
    async def get_all_routes(self): return {}

c.JupyterHub.proxy_class = NoProxy
c.JupyterHub.services = []
c.JupyterHub.load_roles = []
"""


def settings_of(platform: FakePlatform, **other: str) -> str:
    said = {
        "issuer": platform.url,
        "client_id": CLIENT,
        "deployment_id": DEPLOYMENT,
        "authorize_url": f"{platform.url}/auth",
        "jwks_endpoint": f"{platform.url}/jwks",
        "username_key": "custom_username",
        **other,
    }
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in said.items())


@pytest.fixture(scope="module")
def platform() -> Iterator[FakePlatform]:
    fake = FakePlatform(
        [
            member("1", "Nora", "Body", TEACHER, login=LEARNS, email="daemon@x.edu"),  # who teaches, the lists say
            member("2", "Damon", "Roe", LEARNER, login=TEACHES),
            member("3", "Ben", "Inn", TEACHER, login=STRANGER),
            member("4", "No", "Account", login=NO_ACCOUNT),
            member("5", "Kel", "Vin", login="Nobody"),
            member("nobody", "Has", "None"),
        ]
    )  # fmt: skip
    with fake.serving() as fake.url:
        yield fake


@pytest.fixture(scope="module")
def hub(platform, tmp_path_factory) -> Iterator[Path]:
    """The hub's folder; the platform knows its address."""
    prefix = tmp_path_factory.mktemp("hub")
    for folder in ("state", "courses"):
        (prefix / folder).mkdir()
    for name in ("jupyterhub_config.py", "lti_sign_in.py"):
        shutil.copyfile(DEPLOY / name, prefix / name)
    listed = {"id": "nlp", "root": str(prefix), "account": "nobody", "exchange": str(prefix)}
    listed |= {"instructors": [TEACHES], "learners": [LEARNS, NO_ACCOUNT]}
    (prefix / "courses/nlp.json").write_text(json.dumps(listed))
    (prefix / "lti.toml").write_text(settings_of(platform))
    (prefix / "test_config.py").write_text(CONFIG)
    ports = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    front, own = (f"http://127.0.0.1:{each.getsockname()[1]}" for each in ports)
    for each in ports:
        each.close()
    environment = os.environ | {
        "PYTHONPATH": str(EXTRA),
        "TRANSFORMER_HUB_URL": front,
        "TRANSFORMER_HUB_API_URL": own,
    }
    command = [sys.executable, "-m", "jupyterhub", "-f", "test_config.py"]
    with (prefix / "hub.log").open("w") as log:
        process = subprocess.Popen(command, cwd=prefix, env=environment, stdout=log, stderr=log)
    try:
        for _ in range(600):
            assert process.poll() is None, (prefix / "hub.log").read_text()
            try:
                if requests.get(f"{own}/hub/health", timeout=5).ok:
                    break
            except requests.ConnectionError:
                time.sleep(0.2)
        platform.hub = own
        yield prefix
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@dataclass
class Visit:
    """A browser between the platform and the hub, which brings a message to the hub."""

    browser: requests.Session
    where: str
    form: dict[str, str]

    @classmethod
    def begun(cls, platform: FakePlatform, user: str, **start: str) -> Visit:
        browser = requests.Session()
        first = browser.get(
            f"{platform.hub}/hub/lti13/oauth_login",
            params=platform.start(user) | start,
            allow_redirects=False,
        )
        assert first.status_code == 302, first.text
        page = requests.get(first.headers["Location"], timeout=30)
        assert page.status_code == 200, page.text
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.text))
        (where,) = re.findall(r'action="([^"]+)"', page.text)
        return cls(browser, unescape(where), fields)

    @property
    def nonce(self) -> str:
        payload = self.form["id_token"].split(".")[1]
        return json.loads(base64.urlsafe_b64decode(payload + "=="))["nonce"]

    def bring(self, **other: str) -> requests.Response:
        return self.browser.post(self.where, data=self.form | other, allow_redirects=False, timeout=60)

    def whose(self, platform: FakePlatform) -> str:
        """Who is signed in now; empty if nobody is."""
        page = self.browser.get(f"{platform.hub}/hub/home", timeout=60)
        found = re.search(r'user: "([^"]*)"', page.text)
        return found[1] if found and page.url.endswith("/hub/home") else ""


def said(answer: requests.Response) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


def test_people_of_the_lists_come_in_with_the_rights_that_the_lists_give(hub, platform):
    for user, name in (("1", LEARNS), ("2", TEACHES)):
        visit = Visit.begun(platform, user)
        answer = visit.bring()
        assert answer.status_code == 302 and visit.whose(platform) == name, said(answer)
    database = (hub / "state/jupyterhub.sqlite").read_bytes()
    assert b"Transformers" not in database and b"Nora" not in database  # nothing of the message is kept
    listed = subprocess.run(
        [sys.executable, "-c", "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("
         "'SELECT users.name, groups.name FROM users JOIN user_group_map ON users.id = user_id JOIN groups ON groups.id = group_id').fetchall())",
         hub / "state/jupyterhub.sqlite"], capture_output=True, text=True, check=True).stdout  # fmt: skip
    assert f"('{TEACHES}', 'formgrade-nlp')" in listed and f"('{LEARNS}', 'formgrade-nlp')" not in listed


def test_the_addresses_of_a_course_are_kept_when_an_instructor_comes_and_at_no_other_time(hub, platform):
    file = hub / "state/lti-courses.toml"
    file.unlink(missing_ok=True)
    assert Visit.begun(platform, "1").bring().status_code == 302 and not file.exists()
    assert Visit.begun(platform, "2").bring().status_code == 302
    assert tomllib.loads(file.read_text()) == {
        "2": {
            "title": "Transformers",
            "members_url": f"{platform.url}/services/members",
            "lineitems_url": f"{platform.url}{COLUMNS}?{QUERY}",
        }
    }
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("user", "why"),
    [
        ("3", f"{STRANGER} is on the list of no course"),
        ("4", f"{NO_ACCOUNT} has no account on this machine"),
        (
            "nobody",
            "gives no name that can be an account's",
        ),  # another claim, which could be chosen, is not taken for it
    ],
)
def test_who_is_on_no_list_or_has_no_account_or_name_is_refused(hub, platform, user, why):
    visit = Visit.begun(platform, user)
    answer = visit.bring()
    assert answer.status_code == 403 and why in said(answer), said(answer)
    assert visit.whose(platform) == ""


@pytest.mark.parametrize(
    "name", ["nobody;id", "../nobody", "daemo\u0274", "DAEMON\u0130", "\u212aim", "nobody\n", "-r", "", 7, None, ["nobody"], "daemon@x.edu", "a" * 33]
)  # fmt: skip
def test_a_name_that_cannot_be_an_account_s_is_refused(hub, platform, name):
    visit = Visit.begun(platform, "1")
    claims = platform.claims("1", visit.nonce, **{f"{CLAIM}/custom": {"username": name}})
    answer = visit.bring(id_token=signed(claims))
    assert answer.status_code == 403 and "no name that can be an account's" in said(answer)
    assert visit.whose(platform) == ""


def test_capitals_do_not_make_another_person(hub, platform):
    visit = Visit.begun(platform, "5")
    assert visit.bring().status_code == 302 and visit.whose(platform) == LEARNS


FORGED = {
    "by another key": lambda claims: signed(claims, "somebody"),
    "by a key that is not there": lambda claims: signed(claims, "platform", kid="other"),
    "for another tool": lambda claims: signed(claims | {"aud": "other"}),
    "for several, not authorised": lambda claims: signed(claims | {"aud": [CLIENT, "other"]}),
    "from another platform": lambda claims: signed(claims | {"iss": "https://evil.example"}),
    "too old": lambda claims: signed(claims | {"exp": int(time.time()) - 60}),
    "issued long ago": lambda claims: signed(claims | {"iat": int(time.time()) - 3600}),
    "with another nonce": lambda claims: signed(claims | {"nonce": "0" * 64}),
    "of another deployment": lambda claims: signed(claims | {f"{CLAIM}/deployment_id": "2"}),
    "of another version": lambda claims: signed(claims | {f"{CLAIM}/version": "1.1"}),
    "without a signature": lambda claims: f"{signed(claims).rpartition('.')[0]}.",
    "that says it needs no signature": lambda claims: ".".join(
        [*(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in ({"alg": "none"}, claims)), ""]
    ),
    "signed with the public key as a password": lambda claims: _with_public_key(claims),
    "that is none": lambda claims: "abc",
}  # fmt: skip


def _with_public_key(claims: dict) -> str:
    import hashlib
    import hmac

    parts = ({"alg": "HS256", "kid": "platform"}, claims)
    head = ".".join(
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts
    )
    mark = hmac.new(key("platform").export_to_pem(), head.encode(), hashlib.sha256).digest()
    return f"{head}.{base64.urlsafe_b64encode(mark).rstrip(b'=').decode()}"


@pytest.mark.parametrize("how", FORGED)
def test_a_message_is_refused(hub, platform, how):
    visit = Visit.begun(platform, "2")
    answer = visit.bring(id_token=FORGED[how](platform.claims("2", visit.nonce)))
    assert answer.status_code in (400, 401, 403) and visit.whose(platform) == "", said(answer)


def test_a_platform_s_clock_may_be_some_seconds_ahead(hub, platform):
    visit = Visit.begun(platform, "2")
    ahead = int(time.time()) + 15
    answer = visit.bring(id_token=signed(platform.claims("2", visit.nonce, iat=ahead, exp=ahead + 300)))
    assert answer.status_code == 302 and visit.whose(platform) == TEACHES


def test_a_message_is_good_once_and_in_the_browser_that_asked_for_it(hub, platform):
    visit = Visit.begun(platform, "2")
    stolen = Visit(requests.Session(), visit.where, visit.form)
    assert stolen.bring().status_code == 400 and stolen.whose(platform) == ""
    other = Visit.begun(platform, "1")
    assert other.bring(**visit.form).status_code == 400 and other.whose(platform) == ""
    assert visit.bring(state="e30=").status_code == 400  # and its cookies are used up now
    assert visit.bring().status_code == 400 and visit.whose(platform) == ""
    again = Visit.begun(platform, "2")
    assert again.bring().status_code == 302
    again.browser.cookies.clear()
    assert again.bring().status_code == 400 and again.whose(platform) == ""


def test_who_does_not_come_from_the_platform_is_told_where_to_begin(hub, platform):
    start = f"{platform.hub}/hub/lti13/oauth_login"
    for wrong in ({}, platform.start("1") | {"iss": "https://evil.example"}):
        answer = requests.get(start, params=wrong, timeout=30)
        assert answer.status_code == 400 and "Open this hub from your course" in said(answer)
    answer = requests.get(start, params=platform.start("1") | {"client_id": "other"}, timeout=30)
    assert answer.status_code == 400 and "another client id" in said(answer)
    without = {name: value for name, value in platform.start("1").items() if name != "client_id"}
    sent = requests.get(start, params=without, allow_redirects=False, timeout=30).headers["Location"]
    assert (
        sent.startswith(f"{platform.url}/auth?")
        and dict(parse_qsl(urlsplit(sent).query))["client_id"] == CLIENT
    )
    assert "learning platform" in said(requests.get(f"{platform.hub}/hub/login", timeout=30))


def test_a_link_leads_nowhere_else(hub, platform):
    for target in ("https://evil.example/x", "//evil.example/x", "https://evil.example//evil.example/x"):
        answer = Visit.begun(platform, "1", target_link_uri=target).bring()
        assert answer.status_code == 302 and urlsplit(answer.headers["Location"]).netloc == ""


def test_behind_https_the_cookies_of_the_way_come_back_with_a_form_from_another_site(hub, platform):
    start = f"{platform.hub}/hub/lti13/oauth_login"
    answer = requests.get(
        start,
        params=platform.start("1"),
        headers={"X-Forwarded-Proto": "https"},
        allow_redirects=False,
        timeout=30,
    )
    cookies = answer.raw.headers.getlist("Set-Cookie")
    ours = [each for each in cookies if each.startswith("lti13authenticator-")]
    assert len(ours) == 2 and all(
        {"SameSite=None", "Secure", "HttpOnly"} <= set(each.split("; ")) for each in ours
    )


@contextlib.contextmanager
def with_tls(address: str, folder: Path) -> Iterator[str]:
    """A web server with TLS in front of the hub, as docs/lti.md wants it."""
    pair = folder / "tls.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=hub",
            "-keyout", pair, "-out", folder / "tls.crt"]  # fmt: skip
    subprocess.run(made, check=True, capture_output=True)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            with closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)) as hub:
                headers = {**self.headers, "X-Forwarded-Proto": "https", "Connection": "close"}
                hub.request(self.command, self.path, body, headers)
                answer = hub.getresponse()
                content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", pair)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"https://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: scripts/setup_browser.sh says how")
@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_a_browser_comes_from_another_site_to_a_hub_behind_https_and_is_signed_in(
    hub, platform, monkeypatch, tmp_path
):
    """The platform's scheme is another one, so that browsers count it as another site."""
    with with_tls(platform.hub, tmp_path) as front, sync_playwright() as playwright:
        monkeypatch.setattr(platform, "hub", front)
        with closing(playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)) as chromium:
            page = chromium.new_context(ignore_https_errors=True).new_page()
            start = platform.start("1") | {"target_link_uri": f"{front}/hub/home"}
            page.goto(f"{front}/hub/lti13/oauth_login?{urlencode(start)}")
            page.wait_for_url("**/hub/home")
            assert page.evaluate("jhdata.user") == LEARNS


def test_the_log_has_no_message_in_it(hub, platform):
    visit = Visit.begun(platform, "3")
    assert visit.bring().status_code == 403
    log = (hub / "hub.log").read_text()
    assert visit.form["id_token"] not in log and "Traceback" not in log, log


def test_a_hub_of_an_earlier_version_says_what_to_run():
    code = f"import sys; sys.path[:0] = {[str(EXTRA), str(DEPLOY)]}; sys.modules['ltiauthenticator'] = None; import lti_sign_in"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.endswith("run setup.sh without --settings-only.\n")


READ = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[1:3]
import lti_sign_in
for file in sys.argv[3:]:
    try:
        lti_sign_in.read(Path(file))
        print("fine")
    except SystemExit as error:
        print(error)
"""


def test_settings_that_are_wrong_are_refused_with_file_key_and_cure(platform, tmp_path):
    wrong = {
        "": "",
        "cannot be read": "a = [",
        "`issuer` is missing": settings_of(platform, issuer=""),
        "`deployment_id` is missing": settings_of(platform, deployment_id=""),
        "`jwks_endpoint` is no address": settings_of(platform, jwks_endpoint="http://x.edu/jwks"),
        "`authorize_url` is no address": settings_of(platform, authorize_url="ftp://x.edu/"),
        "`clientid` is no setting": settings_of(platform, clientid="x"),
        "`client_id` is no text": settings_of(platform).replace(f'"{CLIENT}"', "7"),
        "`email_domain` is missing": settings_of(platform, username_key="email"),
    }
    wrong[""] = settings_of(platform, username_key="email", email_domain="x.edu")
    files = []
    for number, text in enumerate(wrong.values()):
        files.append(tmp_path / f"{number}.toml")
        files[-1].write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", READ, EXTRA, DEPLOY, *files], capture_output=True, text=True, check=True
    )
    fine, *lines = done.stdout.splitlines()
    assert fine == "fine" and len(lines) == len(files) - 1
    for expected, file, line in zip([*wrong][1:], files[1:], lines, strict=True):
        assert line.startswith(str(file)) and expected in line and line.endswith("."), line
