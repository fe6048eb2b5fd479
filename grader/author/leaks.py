"""Finds lines of solutions in whatever is handed out, in whatever form: notebooks, pages, pictures, archives.

A statement is sought in two ways. One is a run of its characters without spaces, quotes and backslashes: that finds it behind a prompt, joined with
others, or in a string of a string. The other is its tokens, between which a comment, the end of a line and the next line's prompt or number may
stand. Escapes, tags and
packed data are undone first, in every order that occurs. What is only part of a statement, such as an argument, many calls have: it counts as a whole line only.
"""

from __future__ import annotations

import ast
import base64
import bz2
import html
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from urllib.parse import unquote

_ARRAY = b"\x93NUMPY"
_ARCHIVES = (b"PK\3\4", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"x\x01", b"x\x5e", b"x\x9c", b"x\xda")
"""How zip, gzip, bz2, xz and zlib begin."""
_IN_PICTURE = re.compile(rb"zTXt[^\0]*\0\0|iTXt[^\0]*\0\x01\0[^\0]*\0[^\0]*\0")
"""What stands before a text that is packed in a PNG."""
_UNPACKED = 2**26
"""At most this many bytes of a packed file are looked at."""
_NESTED = 3
_KEPT = 2**16
"""A file of at most so many bytes is read once, however many bundles it is in."""

_COLOURS = re.compile(r"\x1b?\[\d+(?:;\d+)*m")
_INVISIBLE = r"\u00ad\u200b-\u200f\u2060\ufeff\ufffd"
_QUOTES = r"'\"`\u2018-\u201f"
_LINE_END = re.compile(r"\\+[ntr]")
"""In a string of a string."""
_NOTHING = re.compile(rf"{_LINE_END.pattern}|[\s\\{_QUOTES}{_INVISIBLE}]+|,(?=[\s\\{_QUOTES}]*[)\]}}])")
"""What stands between the characters of a line in one form and not in another, the comma after the last argument included."""
_INSIDE = re.compile(rf"[\\{_INVISIBLE}]+")
_CODE_POINT = re.compile(r"\\+(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([0-3][0-7]{2}))")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--|-->|<!\[CDATA\[|\]\]>")
_LINE_TAG = re.compile(r"</?(?:(t[dh])|br|div|li|p|pre|text|tr)\b[^<>]*>", re.IGNORECASE)
_PACKED = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_WORD = re.compile(r"\w+")

_MARK = r"(?:>>>|\.\.\.:?|In \[\d+\]:|(?:-+>\s*)?\d+\s*[:|]?|[+>|#*-]|//)"
"""What may stand before a line: a prompt, an arrow, a number, the sign of a quotation or of a difference."""
_CLOSE = (")", "]", "}")
_PROMPT = rf"[\s,\[{_QUOTES}]*(?:{_MARK}[\s{_QUOTES}]*)?"
_BEGINS = re.compile(rf"(?:\A|[\n;{_QUOTES}]){_PROMPT}\Z")
_ENDS = re.compile(rf"[ \t]*(?:\Z|[\n;#|{_QUOTES}])")
"""What stands before and behind a whole line."""
_FAR = 100
"""A prompt has fewer characters."""


class Secrets:
    """Lines that nobody may find, and whose they are."""

    def __init__(self, lines: Mapping[str, str], public: str = "") -> None:
        """
        Args:
            lines: a line, or a statement of several -> whose it is.
            public: what everybody may see: lines that it shows are no secret.
        """
        secrets = [_Secret(line, owner) for line, owner in lines.items()]
        if public:
            shown = set(_Index(secrets).those_in(_Form(public)))
            secrets = [each for each in secrets if each not in shown]
        self._index = _Index(secrets)

    def shown_by(self, data: bytes | str) -> list[tuple[str, str]]:
        """The lines that a file's content or a text shows, each with whose it is."""
        data = data.encode("utf-8", "replace") if isinstance(data, str) else data
        found: dict[_Secret, None] = {}
        for form in _read_again(data) if len(data) <= _KEPT else _texts(data):
            found |= dict.fromkeys(self._index.those_in(form))
        return [(each.line, each.owner) for each in found]


class _Index:
    """Secrets by their longest word, because few forms have any of a lab's."""

    def __init__(self, secrets: Sequence[_Secret]) -> None:
        self._secrets = secrets
        self._with: dict[str, set[int]] = {}
        for number, each in enumerate(secrets):
            for words in (each.inner, each.words):
                self._with.setdefault(max(words, key=len, default=""), set()).add(number)

    def those_in(self, form: _Form) -> list[_Secret]:
        there = self._with.keys() & (form.run_words | form.words | {""})
        numbers = sorted(set().union(*(self._with[word] for word in there)))
        return [each for number in numbers if (each := self._secrets[number]).stands_in(form)]


class _Form:
    """A text as it is written, squeezed (``run``), and as lines, with the words of both."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.run = squeezed(text)

    @cached_property
    def run_words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.run))

    @cached_property
    def lines(self) -> str:
        return _as_lines(self._text)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.lines))


@dataclass(frozen=True)
class _Secret:
    line: str
    owner: str

    def stands_in(self, form: _Form) -> bool:
        if self._is_statement and self.inner <= form.run_words and self._run in form.run:
            return True
        if not self.words <= form.words:
            return False
        return any(
            self._is_statement
            or (
                _BEGINS.search(form.lines, max(0, found.start() - _FAR), found.start())
                and _ENDS.match(form.lines, found.end())
            )
            for found in self._tokens.finditer(form.lines)
        )

    @cached_property
    def _run(self) -> str:
        return squeezed(self.line)

    @cached_property
    def inner(self) -> frozenset[str]:
        """The words of the run but for those at both ends, which may have grown together with what stands beside them."""
        return frozenset(_WORD.findall(self._run)[1:-1])

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(_as_lines(self.line)))

    @cached_property
    def _tokens(self) -> re.Pattern[str]:
        tokens = re.findall(r"\w+|[^\w\s]", _as_lines(self.line))
        if (
            not self._is_statement
        ):  # its quotes belong to it: ``"a", "b"`` is a list of names, and not what gets a and b
            return re.compile(
                r"[^\S\n]*".join(f"[{_QUOTES}]" if each in "'\"" else re.escape(each) for each in tokens)
            )
        first, *others = (each for each in tokens if each not in "'\"`")
        pairs = zip(others, [*others[1:], ""], strict=True)
        return re.compile(
            re.escape(first)
            + "".join(_and_then(one) for one, next in pairs if one != "," or next not in _CLOSE)
        )

    @cached_property
    def _is_statement(self) -> bool:
        """Whether the line says something by itself, and is not one of several lines of a statement, or only names."""
        try:
            tree = ast.parse(f"def f():\n {self.line}{' pass' if self.line.endswith(':') else ''}")
        except SyntaxError:
            return False
        (statement,) = tree.body[0].body
        return not self.line.endswith(",") and (
            not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Call)
        )


def _and_then(token: str) -> str:
    """A pattern for a token and what stands before it: at most the end of a line, or of a text in a list, and how the next one begins. Nothing in it
    is tried in two ways, because of a page there would be too many.
    """
    comma = f"(?:{_and_then(',')})?" if token in _CLOSE else ""
    wanted = re.escape(token)
    between = "".join(each for each in (",", r"\[") if each != wanted)
    end = rf"(?:#[^\n]*?)?(?:\n|(?<=[{_QUOTES}]),)[\s{between}{_QUOTES}]*+"
    prompt = rf"(?!{wanted}){_MARK}[\s{_QUOTES}]*+"
    return rf"{comma}(?>(?:[^\S\n]|[{_QUOTES}])*+(?:{end}(?:{prompt})?)?){wanted}"


def _as_lines(text: str) -> str:
    """A text without what may stand within a word, and with ends of lines instead of what a string writes for them."""
    return _INSIDE.sub("", _LINE_END.sub("\n", _COLOURS.sub("", text)))


def squeezed(text: str) -> str:
    """A text without whatever differs between one form of a line and another."""
    return _NOTHING.sub("", _COLOURS.sub("", text))


@lru_cache(maxsize=300)
def _read_again(data: bytes) -> list[_Form]:
    """The same for a file of the course's code, which is in every lab's bundle."""
    return list(_texts(data))


def _texts(data: bytes, nested: int = 0) -> Iterator[_Form]:
    """All that a reader may find in a content."""
    if data.startswith(_ARRAY):
        header, _, data = data.partition(b"\n")
        kinds = header.partition(b"descr")[2]  # the magic string itself has a U
        if not any(kind in kinds for kind in (b"u1", b"i1", b"S", b"U", b"O")):
            return  # numbers
    data = _without_weights(data)
    text, is_binary = _decoded(data), False
    if text is None:
        text = data.replace(b"\0", b"").decode("latin-1")
        is_binary = bool(_CONTROL.search(text))
    if is_binary:  # a picture, numbers, a font
        if not (data.startswith(_ARCHIVES[0]) and zipfile.is_zipfile(io.BytesIO(data))):
            yield _Form(text)
    else:
        seen = set()
        for each in dict.fromkeys(_forms(text)):  # most are the same
            if (form := _Form(each)).run not in seen:
                seen.add(form.run)
                yield form
    if nested < _NESTED:
        for part in _unpacked(data, text):
            yield from _texts(part, nested + 1)


def _without_weights(data: bytes) -> bytes:
    """Of a file of weights (safetensors: a length, a table in JSON, numbers) the table, unless its numbers may be characters."""
    end = 8 + int.from_bytes(data[:8], "little")
    if data[8:10] != b'{"' or not 8 < end <= len(data) or re.search(rb'"[UI]8"', data[:end]):
        return data
    return data[8:end]


def _decoded(data: bytes) -> str | None:
    """What a content says, if it is Unicode."""
    with suppress(UnicodeDecodeError):
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8")
        return text.replace("\0", "")  # UTF-32, or either without its mark
    return None


def _forms(text: str) -> Iterator[str]:
    """A text as it stands, and with escapes and tags undone. Code may look like a tag, so tags also stay."""
    plain, tagless = text, text
    yield plain
    if _percents(text) != text:
        yield unquote(text.replace("+", " "))  # as a form on a page sends it
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
        return chr(int(found[3], 8) if found[3] else int(found[1] or found[2], 16))

    return _CODE_POINT.sub(character, text) if "\\" in text else text


def _without_tags(text: str) -> str:
    return _TAG.sub("", _LINE_TAG.sub(lambda tag: " " if tag[1] else "\n", text)) if "<" in text else text


def _percents(text: str) -> str:
    return unquote(text) if re.search(r"%[0-9A-Fa-f]{2}", text) else text


def _unpacked(data: bytes, text: str) -> Iterator[bytes]:
    """What is packed in a content: an archive's files, a compressed stream, data in base64 or in hexadecimal digits."""
    if data.startswith(_ARCHIVES[0]):
        with (
            suppress(
                zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError
            ),  # nobody can open it
            zipfile.ZipFile(io.BytesIO(data)) as archive,
        ):
            yield "\n".join(archive.namelist()).encode()
            yield archive.comment
            for each in archive.infolist():
                with archive.open(each) as file:
                    yield file.read(_UNPACKED)
    elif data.startswith(b"\x1f\x8b"):
        yield from _inflated(data, 31)
    elif data.startswith(b"BZh"):
        with suppress(OSError):
            yield bz2.BZ2Decompressor().decompress(data, _UNPACKED)
    elif data.startswith(b"\xfd7zXZ"):
        with suppress(lzma.LZMAError):
            yield lzma.LZMADecompressor().decompress(data, _UNPACKED)
    elif data.startswith(b"# Sphinx inventory"):
        yield from _inflated(data.split(b"\n", 4)[-1])
    elif data.startswith(b"\x89PNG"):
        for found in _IN_PICTURE.finditer(data):
            yield from _inflated(data[found.end() :])
    else:
        if data.startswith(_ARCHIVES):
            yield from _inflated(data)
        joined = re.sub(r"\\n|\s", "", text)  # base64 is often broken into lines
        for found in dict.fromkeys(_PACKED.findall(joined)):
            for decode in (_of_base64, bytes.fromhex):
                with suppress(ValueError):
                    part = decode(found)
                    if part.startswith(_ARCHIVES) or _decoded(part) is not None:  # a long word gives anything
                        yield part


def _of_base64(text: str) -> bytes:
    """
    Raises:
        ValueError: it is no base64, neither the usual one nor that for addresses.
    """
    packed = text.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)


def _inflated(data: bytes, form: int = zlib.MAX_WBITS) -> Iterator[bytes]:
    with suppress(zlib.error):
        yield zlib.decompressobj(form).decompress(data, _UNPACKED)


def files_in(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """The files of a folder that is handed out, and what is in them."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes()
