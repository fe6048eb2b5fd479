"""A web server for tests that stands for Canvas, and time that passes only while somebody sleeps."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

SECRET = "7~secret"

Reply = tuple[int, dict[str, str], str | bytes | Iterable[bytes]]


@contextlib.contextmanager
def serving(answer: Callable[[str, str, str | None, str], Reply]) -> Iterator[str]:
    """Serves what a function answers to method, target, token and form. A body of several parts is sent as they come, without its length."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            form = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            status, headers, body = answer(self.command, self.path, self.headers.get("Authorization"), form)
            whole = body.encode() if isinstance(body, str) else body
            if isinstance(whole, bytes):
                headers = {"Content-Length": str(len(whole))} | headers
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # the client may have had enough
                for part in [whole] if isinstance(whole, bytes) else whole:
                    self.wfile.write(part)

        do_POST = do_PUT = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.naps: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)

    def monotonic(self) -> float:
        return sum(self.naps)


@dataclass
class ToRead:
    """What Canvas says: path below /api/v1 -> an object, or a list, of which each page has one entry.

    Attributes:
        refuse: answers for the next requests, in the place of its own.
        next_page: the address of each next page, in the place of its own.
    """

    says: dict[str, Any]
    refuse: list[Reply] = field(default_factory=list)
    next_page: str = ""
    requests: list[str] = field(default_factory=list)
    url: str = ""

    def answer(self, method: str, target: str, token: str | None, _: str) -> Reply:
        self.requests.append(f"{method} {target}")
        if self.refuse:
            return self.refuse.pop(0)
        parts = urlsplit(target)
        said = self.says.get(parts.path.removeprefix("/api/v1"))
        if token != f"Bearer {SECRET}" or said is None:
            return 404 if token else 401, {}, "{}"
        if not isinstance(said, list):
            return 200, {}, json.dumps(said)
        page = int(parse_qs(parts.query).get("page", ["1"])[0])
        following = self.next_page or f"{self.url}{parts.path}?page={page + 1}"
        more = {"Link": f'<{following}>; rel="next"'} if page < len(said) else {}
        return 200, more, json.dumps(said[page - 1 : page])
