"""Finds lines of solutions in whatever is handed out, in whatever form: notebooks, pages, pictures, archives.

A statement is sought as a run of its characters without spaces, quotes and backslashes: so it is found behind a prompt or a line number, in a
traceback, joined with others, broken over lines, in a string of a string. Escapes, tags and packed data are undone first, in every order that occurs.
What is only part of a statement, such as an argument, many calls have: it counts as a whole line only.
"""

from __future__ import annotations

import ast
import base64
import binascii
import html
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

_ARRAY = b"\x93NUMPY"
_ARCHIVES = (b"PK\3\4", b"\x1f\x8b")
_UNPACKED = 2**26
"""At most this many bytes of a packed file are looked at."""
_NESTED = 3
_KEPT = 2**16
"""A file of at most so many bytes is read once, however many bundles it is in."""

_COLOURS = re.compile(r"\x1b?\[\d+(?:;\d+)*m")
_NOTHING = re.compile(r"\\+[ntr]|[\s\\'\"`\u2018-\u201f\u00ad\u200b-\u200f\u2060\ufeff\ufffd]+")
"""What stands between the characters of a line in one form and not in another, line breaks of strings included."""
_CODE_POINT = re.compile(r"\\+(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|0(33))")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--|-->|<!\[CDATA\[|\]\]>")
_PACKED = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_WORD = re.compile(r"\w+")
_LINE_END = re.compile(r"\n|\\+n|;")
_PROMPT = re.compile(r"[\s>+:|\"'\[\d-]+")


class Secrets:
    """Lines that nobody may find, and whose they are."""

    def __init__(self, lines: Mapping[str, str], public: str = "") -> None:
        """
        Args:
            lines: a line -> whose it is.
            public: what everybody may see: lines that it shows are no secret.
        """
        runs = ((line, owner, squeezed(line)) for line, owner in lines.items())
        # The words at both ends may have grown together with what stands beside them.
        self._lines = [
            (*each, frozenset(_WORD.findall(each[2])[1:-1]), _is_statement(each[0])) for each in runs
        ]
        if public:
            run = squeezed(public)
            shown = set(self._in(public, run, frozenset(_WORD.findall(run))))
            self._lines = [each for each in self._lines if each[:2] not in shown]

    def shown_by(self, data: bytes | str) -> list[tuple[str, str]]:
        """The lines that a file's content or a text shows, each with whose it is."""
        data = data.encode("utf-8", "replace") if isinstance(data, str) else data
        found: dict[tuple[str, str], None] = {}
        for each in _read_again(data) if len(data) <= _KEPT else _read(data):
            found |= dict.fromkeys(self._in(*each))
        return list(found)

    def _in(self, form: str, text: str, words: frozenset[str]) -> Iterator[tuple[str, str]]:
        """The lines in a text, as it is written and squeezed, with the words of the latter."""
        whole = None
        for line, owner, run, inner, statement in self._lines:
            if inner <= words and run in text:
                if not statement and whole is None:
                    whole = {_squeezed_line(each) for each in _LINE_END.split(form)}
                if statement or run in whole:
                    yield line, owner


def _is_statement(line: str) -> bool:
    """Whether a line says something by itself, and is not one of several lines of a statement, or only names."""
    try:
        tree = ast.parse(f"def f():\n {line}{' pass' if line.endswith(':') else ''}")
    except SyntaxError:
        return False
    (statement,) = tree.body[0].body
    return not line.endswith(",") and (
        not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Call)
    )


def _squeezed_line(text: str) -> str:
    return squeezed(text[found.end() :] if (found := _PROMPT.match(text)) else text)


def squeezed(text: str) -> str:
    """A text without whatever differs between one form of a line and another."""
    return _NOTHING.sub("", _COLOURS.sub("", text))


def _read(data: bytes) -> Iterator[tuple[str, str, frozenset[str]]]:
    for form, text in _texts(data):
        yield form, text, frozenset(_WORD.findall(text))


@lru_cache(maxsize=300)
def _read_again(data: bytes) -> list[tuple[str, str, frozenset[str]]]:
    """The same for a file of the course's code, which is in every lab's bundle."""
    return list(_read(data))


def _texts(data: bytes, nested: int = 0) -> Iterator[tuple[str, str]]:
    """All that a reader may find in a content, as it is written and squeezed."""
    if data.startswith(_ARRAY):
        header, _, data = data.partition(b"\n")
        if not any(kind in header for kind in (b"u1", b"i1", b"S", b"U", b"O")):
            return  # numbers
    text = _decoded(data)
    if text is None:  # a picture, numbers, a font
        text = data.replace(b"\0", b"").decode("latin-1")
        yield text, squeezed(text)
    else:
        seen = set()
        for form in dict.fromkeys(_forms(text)):  # most are the same
            if (run := squeezed(form)) not in seen:
                seen.add(run)
                yield form, run
    if nested < _NESTED:
        for part in _unpacked(data, text):
            yield from _texts(part, nested + 1)


def _decoded(data: bytes) -> str | None:
    """What a content says, if it is text."""
    with suppress(UnicodeDecodeError):
        return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8")
    return None


def _forms(text: str) -> Iterator[str]:
    """A text as it stands, and with escapes and tags undone. Code may look like a tag, so tags also stay."""
    plain, tagless = text, text
    yield plain
    for _ in range(2):
        for undo in (_code_points, html.unescape, _percents):
            plain = undo(plain)
            yield plain
        for undo in (_code_points, _without_tags, html.unescape, _percents):
            tagless = undo(tagless)
            yield tagless
    yield _without_tags(tagless)


def _code_points(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        return "\x1b" if found[3] else chr(int(found[1] or found[2], 16))

    return _CODE_POINT.sub(character, text) if "\\" in text else text


def _without_tags(text: str) -> str:
    return _TAG.sub("", text)


def _percents(text: str) -> str:
    return unquote(text) if re.search(r"%[0-9A-Fa-f]{2}", text) else text


def _unpacked(data: bytes, text: str) -> Iterator[bytes]:
    """What is packed in a content: an archive's files, a compressed stream, data in base64."""
    if data.startswith(_ARCHIVES[0]):
        with (
            suppress(
                zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError
            ),  # nobody can open it
            zipfile.ZipFile(io.BytesIO(data)) as archive,
        ):
            yield "\n".join(archive.namelist()).encode()
            for each in archive.infolist():
                with archive.open(each) as file:
                    yield file.read(_UNPACKED)
    elif data.startswith(_ARCHIVES[1]):
        with suppress(zlib.error):
            yield zlib.decompressobj(31).decompress(data, _UNPACKED)
    elif data.startswith(b"# Sphinx inventory"):
        with suppress(zlib.error):
            yield zlib.decompressobj().decompress(data.split(b"\n", 4)[-1], _UNPACKED)
    else:
        joined = re.sub(r"\\n|\s", "", text)  # base64 is often broken into lines
        for found in dict.fromkeys(_PACKED.findall(joined)):
            with suppress(binascii.Error):
                part = base64.b64decode(
                    found.rstrip("=") + "=" * (-len(found.rstrip("=")) % 4), validate=True
                )
                if part.startswith(_ARCHIVES) or _decoded(part) is not None:  # a long word gives anything
                    yield part


def files_in(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """The files of a folder that is handed out, and what is in them."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes()
