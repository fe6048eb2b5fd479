"""The text in a learner's file: which encoding it is in, and what to say where nobody can know."""

from __future__ import annotations

import re
import unicodedata

from course_utils.data.own import FileProblem

SAVE = "Save it as “CSV UTF-8” (in a spreadsheet: File, Save as)."

_WEST = ("äöüßàâæçéèêëîïôœùûÿáíóúñìòåøªº", "ãõáâàéêíóôúüçñªº")
_ICELAND = "áðéíóúýþæö"
_ALPHABETS = {
    "cp1250": ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîşţ", "čćđšž"),
    "cp1254": ("çğıöşüâîûİ",),
    "cp1257": ("ąčęėįšųūž", "āčēģīķļņšūž", "äõöüšž"),
    "cp1251": ("абвгдеёжзийклмнопрстуфхцчшщъыьэюя", "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя"),
    "koi8_r": ("абвгдеёжзийклмнопрстуфхцчшщъыьэюя",),
    "cp866": ("абвгдеёжзийклмнопрстуфхцчшщъыьэюя",),
    "cp1253": ("αάβγδεέζηήθιίϊΐκλμνξοόπρσςτυύϋΰφχψωώ",),
    "cp1255": ("אבגדהוזחטיךכלםמןנסעףפץצקרשת",),
    "cp1256": ("ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىي",),
    "mac_roman": _WEST,
    "cp850": _WEST,
    "iso8859_2": ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áéíóöőúüű"),
    "shift_jis": ("CJK HIRAGANA KATAKANA",),
    "gb18030": ("CJK",),
    "big5": ("CJK",),
    "euc_kr": ("HANGUL",),
    "euc_jp": ("CJK HIRAGANA KATAKANA",),
}
"""Encoding -> the letters beyond a to z of each language that is often in it; or the scripts, where there are thousands of letters."""

_OFTEN = {
    "cp1251": "оеаинтсл",
    "koi8_r": "оеаинтсл",
    "cp866": "оеаинтсл",
    "cp1253": "αοιετσνη",
    "cp1255": "יוהלארמת",
    "cp1256": "الينمورت",
}
"""The commonest letters, where the bytes of one encoding are letters in several others."""

_COMMON_HAN = "的一是不了在人有我他这来到大说们为子和你地出道也时年得就那要下以生会自着去之过家学對這個來說們為時過學對後沒發開無很太好"


def decoded(name: str, data: bytes, notes: list[str], encoding: str | None) -> str:
    """The text of a file.

    Raises:
        FileProblem: the encoding cannot be known, or it is not what it is said to be.
    """
    wide = _wide(data)
    try:
        text = data.decode(encoding or wide or "utf-8-sig")
    except LookupError:
        raise FileProblem(
            f"there is no encoding {encoding!r}. Common ones: utf-8, cp1252, cp1251, utf-16."
        ) from None
    except UnicodeDecodeError as error:
        if encoding or wide:
            raise FileProblem(
                f"{name} is not in {encoding or wide}: byte {error.start} (line {data.count(10, 0, error.start) + 1}) does not fit. {SAVE}"
            ) from None
        text = _halves(data, notes) or _damaged(name, data, notes, error)
        text = text or _by_alphabet(name, data, notes, error.start)
    else:
        if encoding or wide:
            notes.append(f"Encoding: {(encoding or wide).upper()}.")
        if broken := _saved_wrongly(text):
            notes.append(
                f"Is {encoding} right? It has “{broken}”, which looks like UTF-8: leave encoding= out."
                if encoding
                else f"It was once saved in the wrong encoding: it has “{broken}”. Export it again."
            )
        if (lost := text.find("�")) >= 0:
            notes.append(
                f"Characters were lost before (�), first in line {text.count(chr(10), 0, lost) + 1}: “{_line_at(text, lost)}”. Export it again."
            )
    if (place := text.find("\0")) >= 0:
        raise FileProblem(
            f"{name} is no text file: line {text.count(chr(10), 0, place) + 1} has a zero byte. {SAVE}"
        )
    return text.removeprefix("\ufeff")


def _wide(data: bytes) -> str:
    """The encoding of a text with several bytes for each character; empty if there is one."""
    half = data[:2000]
    if data[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        return "utf-32"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    if half[1::2].count(0) > len(half) // 5:
        return "utf-16-le"
    return "utf-16-be" if half[0::2].count(0) > len(half) // 5 else ""


def _line_at(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    line = text[start : (text.find("\n", place) + 1 or len(text) + 1) - 1].strip()
    return line[max(0, place - start - 30) :][:60] if place - start > 50 else line[:60]


def _halves(data: bytes, notes: list[str]) -> str:
    """The text of a file in which an emoji is two characters of UTF-8, as Java and some data bases write it; else empty."""
    try:
        text = data.decode("utf-8-sig", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeError:
        return ""
    notes.append("Encoding: CESU-8.")
    return text


def _damaged(name: str, data: bytes, notes: list[str], error: UnicodeDecodeError) -> str:
    """The text of a file in UTF-8 in which a few bytes are wrong, with � in their place; empty if it is in another encoding."""
    text = data.decode("utf-8-sig", "replace")
    bad = text.count("�")
    whole = len(text) - len(text.encode("ascii", "ignore")) - bad
    if whole < bad:
        return ""
    lines = [number for number, line in enumerate(text.split("\n"), 1) if "�" in line]
    where = f"byte {error.start + 1:,} (0x{data[error.start]:02X}, in line {lines[0]}: “{_line_at(text, text.find('�'))}”)"
    if len(lines) > 3:
        raise FileProblem(
            f"{name}: some lines are in UTF-8, and {len(lines)} are not, first at {where}. "
            "Were files of two encodings joined? Save each of them as UTF-8 before you join them."
        )
    others = f" and {bad - 1} more (lines {', '.join(map(str, lines))})" if bad > 1 else ""
    cut_off = error.reason == "unexpected end of data"
    notes.append(
        f"Encoding: UTF-8, but {where}{others} is no character, so � stands there. "
        + ("Was the file cut off?" if cut_off else "Correct it in the file.")
    )
    return text


def _by_alphabet(name: str, data: bytes, notes: list[str], place: int) -> str:
    """The text of a file of one byte for each character: Windows-1252, if its letters are those of Western Europe.

    Raises:
        FileProblem: they are not.
    """
    start = data.rfind(b"\n", 0, place) + 1
    of_line = data[start : (data.find(b"\n", place) + 1 or len(data) + 1) - 1]
    line = data.count(b"\n", 0, place) + 1
    text = data.decode("cp1252", "replace")
    seen = of_line.decode("cp1252", "replace").strip()[:60]
    letters = re.findall(r"[^\W\d_]", text[:200_000])
    foreign = sum(not letter.isascii() for letter in letters)
    western = "�" not in text and foreign <= 0.3 * len(letters) and not _odd(text)
    found: dict[str, tuple[float, str, str]] = {}
    for encoding, alphabets in _ALPHABETS.items():
        if western and encoding in ("mac_roman", "cp850", "iso8859_2"):
            continue
        reads = of_line.decode(encoding, "replace").strip()[:60]
        if reads != seen and (letters_there := _letters(data, encoding, alphabets)):
            often = sum(map(letters_there.count, _OFTEN.get(encoding, ""))) / len(letters_there)
            found.setdefault(reads, (-often, encoding, letters_there))
    others = sorted(
        (often, encoding, reads, len(set(there))) for reads, (often, encoding, there) in found.items()
    )
    usual = _letters(data, "cp1252", _WEST)
    if western and (usual or _letters(data, "cp1252", (_ICELAND,)) or all(each[3] < 2 for each in others)):
        also = "" if usual else "".join(
            f" In {encoding} it would be “{reads}”: encoding={encoding!r}." for _, encoding, reads, _ in others[:2]
        )  # fmt: skip
        notes.append(f"Encoding: not UTF-8, so Windows-1252 was taken. Is line {line} right? “{seen}”{also}")
        return text
    shown = "".join(f", “{reads}” in {encoding}" for _, encoding, reads, _ in others[:4])
    example = others[0][1] if others else "cp1251"
    raise FileProblem(
        f"{name}, line {line}: the encoding is not known. This line would read “{seen}” in Windows-1252{shown}. "
        f'Say which it is: read_file(FILE, TASK, encoding="{example}"). Or save the file as “CSV UTF-8” (in a spreadsheet: File, Save as).'
    )


def _odd(text: str) -> bool:
    """Whether there is what no text has: capital letters or marks of Windows-1252 inside of words."""
    return bool(
        re.search(r"[a-z][ŠŽŸŒ†‡‰¡¢¤§¨ª«¬®¯±²³µ¶¸¹º»¼½¾¿×÷ˆ˜‹›ƒ][a-z]|[a-z][ŸŒ†‡‰]|[a-z][‚„”ƒ][a-z]", text)
    )


def _letters(data: bytes, encoding: str, alphabets: tuple[str, ...]) -> str:
    """The letters beyond a to z, and what stands between letters, if all of it is of one of the languages; else nothing."""
    # superscripts of units and notes are no letters: m³, cm²
    data = re.sub(rb"\b[A-Za-z]{0,2}[\xb2\xb3\xb9](?![A-Za-z])", b"", data[:200_000])
    try:
        text = data.decode(encoding, "ignore" if len(data) > 100_000 else "strict")
    except UnicodeDecodeError:
        return ""
    found = "".join(re.findall(r"(?<=[^\W\d_])[^\x00-\x7f](?=[^\W\d_])|[^\W\d_\x00-\x7f]", text))
    if alphabets[0].isascii():
        scripts = alphabets[0].split()
        names = [unicodedata.name(letter, "?").split()[0].partition("-")[0] for letter in found]
        right = sum(each in scripts for each in names) > 0.95 * len(names)
        kana = len(scripts) == 1 or any(each != "CJK" for each in names)
        usual = scripts != ["CJK"] or any(letter in _COMMON_HAN for letter in found)
        return found if right and kana and usual else ""
    if sum(map(str.isupper, found)) > sum(map(str.islower, found)) and found.upper() != found.lower():
        return ""
    if encoding in _OFTEN and re.search(f"[A-Za-z][{re.escape(alphabets[0])}]", text):
        return ""  # a word of two scripts
    strange = set(found)
    fits = any(
        all(each.lower() in alphabet or each in alphabet + "’‘–—…" for each in strange)
        for alphabet in alphabets
    )
    return found if fits else ""


def _saved_wrongly(text: str) -> str:
    """A place where UTF-8 was once read as another encoding, and then saved, or where UTF-7 is; empty if there is none."""
    if seven := re.search(r"[A-Za-z]\+A[MNOP][A-Za-z0-9+/]{1,10}-", text[:2_000_000]):
        return _line_at(text, seven.start())
    for number, found in enumerate(re.finditer(r"[^\x00-\x7f]{2,}", text[:2_000_000])):
        if number > 2000:
            break
        for encoding in ("cp1252", "latin-1", "mac_roman"):
            try:
                meant = found[0].encode(encoding).decode("utf-8")
            except UnicodeError:
                continue
            if all(each.isprintable() or each == "\xa0" for each in meant):
                return _line_at(text, found.start())
    return ""
