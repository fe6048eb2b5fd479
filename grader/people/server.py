"""A learning platform's server, of which nothing is believed: an address may be wrong, and a server broken or hostile.

So every answer has a limit in bytes and seconds, and a list in pages and minutes. A value is used only if it is what the platform's documentation
says. Whatever else comes is one sentence. Requests are made one after the other, which platforms rarely throttle; where one does (429), they wait
as long as it says.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests

from grader.errors import GraderError
from grader.files import printable

_TRIES = 6
PATIENCE = 300
"""Seconds until a platform must have given its whole list, or done what it was asked to do."""
_LONGEST_WAIT = 120
"""Seconds between two tries."""
_TIMEOUT = 60
"""Seconds without a byte."""
ANSWER_SECONDS = 120
ANSWER_BYTES = 8 * 2**20
"""Unpacked. As Python objects, JSON takes up to 30 times its size."""
PAGES = 1000


@dataclass(frozen=True)
class Answer:
    """What a server says, and in ``following`` the address of a list's next page, as it came."""

    status: int
    retry_after: str
    following: str
    location: str
    body: bytes


class Server:
    """Asks a server.

    Attributes:
        address: scheme, host and port, as they are shown.
        kind: what it should be, for messages.
        instead: what else can be done if its answers cannot be used; a sentence's second half.
        secrets: what is never shown.
    """

    def __init__(self, address: str, kind: str, instead: str) -> None:
        self.address, self.kind, self.instead = address, kind, instead
        self._session = requests.Session()
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))  # none is needed
        # else `requests` reads all of a redirect's body, even where it does not follow it
        self._session.get_redirect_target = lambda _: None
        self.secrets: list[str] = []

    # requests

    def pages(self, url: str, what: str, within: str, **how: Any) -> Iterator[Answer]:
        """The answers with all pages of a list.

        Args:
            what: is listed, for messages.
            within: how the addresses of all pages begin.
            how: as for ``requests``.
        """
        asked: set[str] = set()
        deadline = time.monotonic() + PATIENCE
        while url:
            if url in asked or len(asked) == PAGES or time.monotonic() > deadline:
                raise GraderError(
                    f"The list of {what} of {self.address} does not end: page {len(asked)} continues at {self.said(url)!r}. Try again later; if it stays so, "
                    f"{self.instead}."
                )
            asked.add(url)
            answer = self.ask("GET", url, **how)
            yield answer
            try:
                url = urljoin(url, answer.following) if answer.following else ""
            except ValueError:  # no address at all
                url = answer.following
            if url and not url.startswith(within):
                raise GraderError(
                    f"{self.address} continues its list at another address, {self.said(url)!r}. Nothing was sent there. Is the address right?"
                )

    def ask(
        self, method: str, url: str, accept: tuple[int, ...] = (), repeatable: bool = True, **how: Any
    ) -> Answer:
        """Makes a request, and again where the server is busy.

        Args:
            accept: states besides 200 and 201 that are no error.
            repeatable: to make the request again changes nothing: it may have been carried out although there was no answer.
            how: as for ``requests``.

        Raises:
            GraderError: the server refuses, fails, or cannot be reached.
        """
        for attempt in range(_TRIES):
            answer = self.in_time(method, url, **how)
            throttled = self.throttles(answer)
            if not throttled and not (repeatable and answer.status in (502, 503, 504)):
                break
            asked = answer.retry_after if answer.retry_after.isascii() else ""
            if asked.isdigit() and (len(asked) > 9 or int(asked) > _LONGEST_WAIT):
                raise GraderError(
                    f"{self.address} wants {printable(asked, 9)} s without requests, longer than this waits. Run the same command again after that."
                )
            if attempt < _TRIES - 1:
                time.sleep(int(asked) if asked.isdigit() else 2**attempt)
        if answer.status in (200, 201, *accept):
            return answer
        if throttled:
            raise GraderError(
                f"{self.address} is throttling requests. Run the same command again in a few minutes."
            )
        if answer.status >= 500:
            raise GraderError(
                f"{self.address} fails with status {answer.status}. Run the same command again later."
            )
        raise self.refusal(answer)

    def throttles(self, answer: Answer) -> bool:
        """Whether an answer says that there were too many requests."""
        return answer.status == 429

    def refusal(self, answer: Answer) -> GraderError:
        """What to say about an answer that is a refusal."""
        return GraderError(
            f"{self.address} refuses: it answers with status {answer.status}. Is the address right?"
        )

    def authorise(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Puts the token into a request. By default there is none, and none from a .netrc either."""
        return request

    def in_time(self, method: str, url: str, **how: Any) -> Answer:
        """Makes a request, in a thread: a server that sends one byte a minute is never late by a timeout of `requests`."""
        results: SimpleQueue[Answer | GraderError] = SimpleQueue()

        def ask() -> None:
            try:
                results.put(self._request(method, url, **how))
            except GraderError as error:
                results.put(error)
            except Exception as error:  # what a network and a server can do wrong has many names
                results.put(
                    GraderError(
                        f"{self.address} cannot be reached, or breaks its answer off: {type(error).__name__}. Check the address and the network, then run the same command again."
                    )
                )

        Thread(target=ask, daemon=True).start()
        try:
            result = results.get(timeout=ANSWER_SECONDS)
        except Empty:
            raise GraderError(
                f"{self.address} has not finished an answer in {ANSWER_SECONDS} s. Run the same command again later."
            ) from None
        if isinstance(result, GraderError):
            raise result
        return result

    def _request(self, method: str, url: str, **how: Any) -> Answer:
        # no redirects, which could take a token elsewhere; auth, because a header would give way to a .netrc
        settled = {"timeout": _TIMEOUT, "allow_redirects": False, "stream": True}
        with self._session.request(method, url, **{"auth": self.authorise, **how, **settled}) as answer:
            body = bytearray()
            for part in answer.iter_content(2**16):
                body += part
                if len(body) > ANSWER_BYTES:
                    raise GraderError(
                        f"{self.address} answers with more than {ANSWER_BYTES >> 20} MB, which {self.kind} does not. Is the address right? If so, {self.instead}."
                    )
            following = answer.links.get("next", {}).get("url", "")
            retry_after, location = (answer.headers.get(name, "") for name in ("Retry-After", "Location"))
            return Answer(answer.status_code, retry_after, following, location, bytes(body))

    # what may be wrong with an answer

    def json(self, answer: Answer, kind: type) -> Any:
        """What an answer has, as JSON of a kind.

        Raises:
            GraderError: it is something else.
        """
        try:
            found = json.loads(answer.body, parse_constant=_refuse)
        except (
            ValueError,
            RecursionError,
        ):  # none at all, a number of thousands of digits, or absurdly nested
            found = None
        if not isinstance(found, kind):
            raise self.strange("this is not the JSON that was asked for")
        return found

    def number(self, value: object, what: str) -> float | None:
        """A number that the server gave, or None.

        Raises:
            GraderError: it is something else.
        """
        if value is None:
            return None
        if type(value) not in (int, float) or not -1e9 < value < 1e9:  # NaN is neither
            raise self.strange(f"{what} are no usable number")
        return float(value)

    def said(self, text: str) -> str:
        """A text of the server's, made safe to show."""
        for secret in self.secrets:
            text = text.replace(secret, "…")
        return printable(text, 200)

    def strange(self, how: str) -> GraderError:
        """What to say about an answer that cannot be used."""
        return GraderError(
            f"{self.address} does not answer as {self.kind} does: {how}. Is the address right? If so, {self.instead}."
        )


def address_of(url: str) -> str:
    """Scheme, host and port of an address with HTTPS, or of one on this machine; empty for any other."""
    try:
        parts = urlsplit(url)
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        port = parts.port  # may raise, too
    except ValueError:
        return ""
    secure = parts.scheme == "https" or (parts.scheme == "http" and local)
    usable = secure and parts.hostname and not parts.username and port != 0
    return f"{parts.scheme}://{parts.netloc}" if usable else ""


def _refuse(constant: str) -> None:
    """Python's parser takes NaN and Infinity, which are no JSON."""
    raise ValueError(constant)
