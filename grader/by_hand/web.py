"""What the pages for those who teach have in common: who may see them, and that nothing on them can run but their own script."""

from __future__ import annotations

import functools
import os
import re
import secrets
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

import jinja2
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web

from grader.book import log
from grader.by_hand.overview import ADDRESS, WEEK
from grader.by_hand.rights import Refused, Rights, notice_changes, rights_of
from grader.course import Course
from grader.errors import GraderError
from grader.reference.lab import Lab
from grader.show.feedback_page import Markdown
from grader.show.pages import title_of

_HUB = "JUPYTERHUB_SERVICE_PREFIX"
"""In the environment of a server that JupyterHub has started, so that users are who they say they are."""


_NUMBER = re.compile(r"-?(?:[0-9]{1,9}(?:[.,][0-9]{0,15})?|[.,][0-9]{1,15})")


def number_in(text: str) -> float:
    """A number as people write it into a form.

    Raises:
        ValueError: it is something else. Python's own ``float`` also takes ``1_0``, ``1e-320`` and the digits of other scripts.
    """
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError(text)
    return float(text.strip().replace(",", "."))


def as_part(text: str) -> str:
    """A text as one part of an address."""
    return quote(text, safe="")


def allowed(method: Callable[..., Any]) -> Callable[..., Awaitable[None]]:
    """For whom Jupyter lets in. What the person at the keyboard must know is shown as a page. What is entered is logged as theirs."""

    @web.authenticated
    @authorized
    @functools.wraps(method)
    def checked(self: Page, *names: str) -> None:
        try:
            with log.acting(self.who()):
                notice_changes(self.course)
                method(self, *names)
        except GraderError as error:
            self.set_status(403 if isinstance(error, Refused) else 409)
            self.show("message", title="That did not work", message=str(error))

    return checked


class Page(JupyterHandler):
    """A page made from ``template``, which lies beside this module."""

    auth_resource = "by-hand"
    template = "page.html"
    script_may_load = "'none'"

    def initialize(self, course: Course) -> None:
        self.course = course

    @functools.cached_property
    def nonce(self) -> str:
        """What allows the page's own script to run, and nothing else."""
        return secrets.token_urlsafe(16)

    @property
    def content_security_policy(self) -> str:
        return (
            f"default-src 'none'; script-src 'nonce-{self.nonce}'; style-src 'unsafe-inline'; img-src data:; "
            f"connect-src {self.script_may_load}; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
        )

    def show(self, view: str, **facts: Any) -> None:
        """Answers with a view of the template."""
        self.finish(
            template_of(self.template).render(
                view=view,
                nonce=self.nonce,
                root=url_path_join(self.base_url, ADDRESS),
                week=url_path_join(self.base_url, WEEK),
                base=self.base_url,
                **facts,
            )
        )

    def go_to(self, *parts: str) -> None:
        """Leads to another address below Jupyter's. A part may be whatever somebody has written into this one."""
        self.redirect(url_path_join(self.base_url, *map(as_part, parts)))

    def lab(self, text: str) -> Lab:
        """The lab that an address names, by its number or its name, as for a command.

        Raises:
            CourseError: there is no such lab.
        """
        return Lab.load(self.course, self.course.lab_named(text))

    def who(self) -> str:
        """The name of the user who is logged in, if a hub vouches for it; else nothing."""
        return self.current_user.username if _HUB in os.environ else ""

    @functools.cached_property
    def rights(self) -> Rights:
        """
        Raises:
            GraderError: the list of assistants cannot be read.
        """
        return rights_of(self.course, self.who())


@functools.cache
def template_of(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("grader", "by_hand"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "as_part": as_part,
        "course_text": lambda source: Markdown(trusted=True)(source),
        "answer": lambda cell: Markdown(trusted=False)(cell.source, cell.get("attachments")),
    }
    environment.globals["title_of"] = title_of
    return environment.get_template(name)
