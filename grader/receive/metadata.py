"""Who handed in what, and when, where a platform packs that in a file of its own: Gradescope's ``submission_metadata.yml``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import yaml

from grader.errors import GraderError
from grader.files import Unreadable
from grader.receive.layouts import Layout
from grader.receive.sources import Offer

_MAX_BYTES = 20 * 2**20


@dataclass(frozen=True)
class Submitter:
    """Somebody as Gradescope knows them. ``sid`` is the id that the instructor has entered there."""

    name: str
    sid: str
    email: str


@dataclass(frozen=True)
class Submitted:
    """Who handed in a submission together, and when (UTC)."""

    people: tuple[Submitter, ...]
    when: datetime | None


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Reads YAML with the tags of Ruby's objects, as if they were plain: nothing is ever made of them."""


def _plain(loader: Any, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


_Loader.add_multi_constructor("!ruby/", _plain)


def submitters(layout: Layout, offers: Iterable[Offer]) -> Mapping[str, Submitted]:
    """A submission's number -> who handed it in; empty if the file is not there.

    Raises:
        GraderError: it cannot be read.
    """
    file = next(
        (offer for offer in offers if any(each.fullmatch(offer.path) for each in layout.metadata)), None
    )
    if file is None:
        return {}
    try:
        data = file.read()
        if len(data) > _MAX_BYTES:
            raise Unreadable(f"It has more than {_MAX_BYTES // 2**20} MiB.")
        found = yaml.load(data.decode("utf-8"), _Loader)
    except Unreadable as error:
        raise GraderError(f"{file.shown} cannot be read. {error}") from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError, OverflowError):
        raise GraderError(
            f"{file.shown}, which says who handed in what, is damaged. Export the submissions again."
        ) from None
    entries = found if isinstance(found, dict) else {}
    return {
        str(key).removeprefix("submission_").removesuffix(".pdf"): _submitted(entry)
        for key, entry in entries.items()
        if isinstance(entry, dict)
    }


def _submitted(entry: Mapping[Any, Any]) -> Submitted:
    listed = entry.get(":submitters")
    people = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return Submitted(
        tuple(
            Submitter(*(str(each.get(key) or "").strip() for key in (":name", ":sid", ":email")))
            for each in people[:50]
        ),
        _time(entry.get(":created_at")),
    )


def _time(value: Any) -> datetime | None:
    """A time (UTC); Ruby writes one as it is, or as an object with its parts."""
    if isinstance(value, dict):
        value = value.get("utc")
    if not isinstance(value, datetime):
        return None
    return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
