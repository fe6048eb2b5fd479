"""Class lists as learning platforms and spreadsheets write them: each gives the right people, or is refused with what to do."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import GraderError
from grader.people import tables
from grader.people.roster import Person, read_roster

JANE = Person("jdoe", "Jane", "Doe", "jdoe@uni.example", "Monday")
ZOE = Person("zvd", "Zoë", "van Dyk", "zvd@uni.example", "Tuesday")
MAILS = (
    Person("jdoe@uni.example", "Jane", "Doe", "jdoe@uni.example"),
    Person("zvd@uni.example", "Zoë", "van Dyk", "zvd@uni.example"),
)
BOTH = (JANE, ZOE)


def rows(heading: str, between: str = ",", order: str = "i f l m s", extra: str = "") -> str:
    """A list of both: a heading and their cells in an order (id, first, last, mail, section, name, full name with a comma)."""
    lines = [heading]
    for who in BOTH:
        cells = {
            "i": who.student,
            "f": who.first_name,
            "l": who.last_name,
            "m": who.email,
            "s": who.section,
            "n": who.name,
            "c": f'"{who.last_name}, {who.first_name}"',
            "-": "",
            "#": f"#{who.student}",
            "p": "Student",
        }
        lines.append(between.join(cells[each] for each in order.split()))
    return "\n".join([*lines, *([extra] if extra else [])]) + "\n"


def sheet(
    *lines: list[object], strings: bool = True, extra: str = "", name: str = "worksheets/sheet1.xml"
) -> bytes:
    """An .xlsx with these rows, as spreadsheets write it."""
    shared: list[str] = []

    def cell(value: object, place: str) -> str:
        if isinstance(value, (int, float)):
            return f'<c r="{place}"><v>{value}</v></c>'
        text = str(value).replace("&", "&amp;").replace("<", "&lt;")
        if not strings:
            return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'
        shared.append(text)
        return f'<c r="{place}" t="s"><v>{len(shared) - 1}</v></c>'

    body = "".join(
        f'<row r="{line}">'
        + "".join(
            cell(v, f"{tables.column_name(column)}{line}") for column, v in enumerate(values) if v != ""
        )
        + "</row>"
        for line, values in enumerate(lines, 1)
    )
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    rel = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    parts = {
        "xl/workbook.xml": f'<workbook {main} {rel}><sheets><sheet name="hidden" sheetId="2" state="hidden" r:id="rId9"/>'
        '<sheet name="People" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="rId1" Target="{name}"/></Relationships>',
        f"xl/{name}": f"{extra}<worksheet {main}><sheetData>{body}</sheetData></worksheet>",
        "xl/sharedStrings.xml": f"<sst {main}>"
        + "".join(f"<si><r><t>{each}</t></r><rPh><t>kana</t></rPh></si>" for each in shared)
        + "</sst>",
    }
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in parts.items():
            archive.writestr(path, text)
    return data.getvalue()


HEAD = ["Username", "First name", "Last name", "Email", "Group"]
CELLS = [[who.student, who.first_name, who.last_name, who.email, who.section] for who in BOTH]
CANVAS = """Student,ID,{0}Section,Lab 02 (77)
    Points Possible,,{1},,20.0
"Doe, Jane",1001,{2}Monday,12
"van Dyk, Zoë",1002,{3}Tuesday,
"Student, Test",1003,{1}Monday,
"""
OF_CANVAS = (
    Person("jdoe", "Jane", "Doe", "", "Monday", "1001"),
    Person("zvd", "Zoë", "van Dyk", "", "Tuesday", "1002"),
)
BY_NUMBER = (
    Person("doejane_1001", "Jane", "Doe", "", "Monday", "1001"),
    Person("vandykzoë_1002", "Zoë", "van Dyk", "", "Tuesday", "1002"),
)

LISTS: dict[str, tuple[str | bytes, tuple[Person, ...]]] = {
    # platforms
    "canvas": (CANVAS.format("SIS User ID,SIS Login ID,", ",", "S1,jdoe,", "S2,zvd,"), OF_CANVAS),
    "canvas, with a login only": (CANVAS.format("SIS Login ID,", "", "jdoe,", "zvd,"), OF_CANVAS),
    "canvas, without SIS Login ID": (CANVAS.format("", "", "", "").replace(",,,,20", ",,,20"), BY_NUMBER),
    "canvas, without points": (
        'Student,ID,Section\n"Doe, Jane",1001,Monday\n"van Dyk, Zoë",1002,Tuesday\n',
        BY_NUMBER,
    ),
    "canvas, with a row about posting": (
        CANVAS.format("SIS User ID,SIS Login ID,", ",", "S1,jdoe,", "S2,zvd,").replace(
            "20.0\n", "20.0\n,,,,,Manual Posting\n"
        ),
        OF_CANVAS,
    ),
    "moodle": (rows("First name,Last name,Username,Email address,Groups", order="f l i m s"), BOTH),
    "moodle with roles": (
        rows(
            "Username,First name,Last name,Email address,Groups,Roles",
            order="i f l m s p",
            extra="t,Tea,Cher,t@x,,Teacher",
        ),
        BOTH,
    ),
    "brightspace's grades": (
        rows(
            "Username,First Name,Last Name,Email,Sections,End-of-Line Indicator", order="# f l m s -"
        ).replace(",\n", ",#\n"),
        BOTH,
    ),
    "brightspace's own ids": (
        rows("OrgDefinedId,First Name,Last Name,Email,Sections", order="# f l m s"),
        BOTH,
    ),
    "brightspace's user names and ids": (
        rows("OrgDefinedId,Username,Last Name,First Name,Email,Section", order="- i l f m s"),
        BOTH,
    ),
    "blackboard, text that is called .xls": (
        rows("Last Name\tFirst Name\tUsername\tEmail\tSection", "\t", "l f i m s").encode("utf-16"),
        BOTH,
    ),
    "blackboard, quoted": (
        rows('"Last Name","First Name","Username","Email","Section","Availability"', order="l f i m s -"),
        BOTH,
    ),
    "sakai": (rows("Name,User ID,Email Address,Role,Groups", order="c i m p s"), BOTH),
    "ilias": (rows("Login;Nachname;Vorname;E-Mail;Gruppe;Rolle", ";", "i l f m s p"), BOTH),
    "gradescope": (
        rows("Name,SID,Email,Role,Sections", order="c i m p s", extra="T A,ta,ta@x,TA,"),
        BOTH,
    ),
    "gradescope, names apart": (rows("First Name,Last Name,SID,Email,Sections", order="f l i m s"), BOTH),
    "teams": (rows("First Name,Last Name,Email Address", order="f l m"), MAILS),
    "google classroom": (rows("Last Name,First Name,Email Address", order="l f m"), MAILS),
    "github classroom": (
        rows("identifier,github_username,github_id,name", order="i - - n"),
        (
            Person("jdoe", "Jane", "Doe"),
            Person("zvd", "Zoë van", "Dyk"),
        ),
    ),
    "prairielearn": (
        rows("UID,UIN,Name,Role", order="m i c p"),
        (
            Person("jdoe@uni.example", "Jane", "Doe"),
            Person("zvd@uni.example", "Zoë", "van Dyk"),
        ),
    ),
    "nbgrader": (rows("id,first_name,last_name,email,section"), BOTH),
    # languages
    "German": (rows("Anmeldename;Vorname;Nachname;E-Mail-Adresse;Gruppe", ";"), BOTH),
    "German, by matriculation number": (
        rows("Matrikelnummer;Vorname;Familienname;E-Mail;Gruppen", ";"),
        BOTH,
    ),
    "French": (rows("Nom d'utilisateur;Prénom;Nom de famille;Adresse de courriel;Groupes", ";"), BOTH),
    "Spanish": (rows("Nombre de usuario,Nombre,Apellido(s),Dirección de correo,Grupos"), BOTH),
    "Italian": (rows("Nome utente,Nome,Cognome,Indirizzo email,Gruppi"), BOTH),
    "Portuguese": (rows("Nome de usuário,Nome,Sobrenome,Endereço de email,Grupos"), BOTH),
    "Dutch": (rows("Gebruikersnaam;Voornaam;Achternaam;E-mailadres;Groepen", ";"), BOTH),
    "Polish": (rows("Numer albumu,Imię,Nazwisko,Adres e-mail,Grupy"), BOTH),
    "Turkish": (rows("Kullanıcı adı,Adı,Soyadı,E-posta adresi,Gruplar"), BOTH),
    "Swedish": (rows("Användarnamn,Förnamn,Efternamn,E-postadress,Grupper"), BOTH),
    "Russian": (rows("Логин,Имя,Фамилия,Адрес электронной почты,Группа"), BOTH),
    "Chinese": (rows("学号,名,姓,邮箱,班级"), BOTH),
    # spreadsheets
    "cp1252": (rows("Benutzername;Vorname;Nachname;E-Mail;Gruppe", ";").encode("cp1252"), BOTH),
    "utf-8 with a mark": (rows("id,first name,last name,email,section").encode("utf-8-sig"), BOTH),
    "utf-16 without a mark": (rows("id,first name,last name,email,section").encode("utf-16-le"), BOTH),
    "utf-16, the other way round, without a mark": (
        rows("id,first name,last name,email,section").encode("utf-16-be"),
        BOTH,
    ),
    "sep=": ("sep=;\n" + rows("id;first name;last name;email;section", ";"), BOTH),
    "sep= and bars": ("sep=|\n" + rows("id|first name|last name|email|section", "|"), BOTH),
    "lines end as on Windows": (rows("id,first name,last name,email,section").replace("\n", "\r\n"), BOTH),
    "a title above": (
        "Introduction to NLP\nExported 2026-10-10, by Ann\n\n"
        + rows("id,first name,last name,email,section"),
        BOTH,
    ),
    "a title above, with as many cells": (
        "Course:;NLP;;;\nTerm:;Fall;;;\n" + rows("Login;Vorname;Nachname;E-Mail;Gruppe", ";"),
        BOTH,
    ),
    "formulas that keep zeros": ('id,name\n"=""00123""","Doe, Jane"\n', (Person("00123", "Jane", "Doe"),)),
    "whole numbers with decimals": ('id,name\n1234.0,"Doe, Jane"\n', (Person("1234", "Jane", "Doe"),)),
    "headings that are repeated": (
        rows("id,first name,last name,email,section", extra="id,first name,last name,email,section"),
        BOTH,
    ),
    "xlsx": (sheet(HEAD, *CELLS), BOTH),
    "xlsx, with texts in cells": (sheet(HEAD, *CELLS, strings=False), BOTH),
    "xlsx, with a title": (sheet(["NLP, fall"], [""], HEAD, *CELLS), BOTH),
    "xlsx, with numbers": (
        sheet(["Matrikelnummer", "Name"], [1234567, "Doe, Jane"], [7654321.0, "van Dyk, Zoë"]),
        (Person("1234567", "Jane", "Doe"), Person("7654321", "Zoë", "van Dyk")),
    ),
    "xlsx, from Canvas": (
        sheet(
            ["Student", "ID", "SIS Login ID", "Section"],
            ["    Points Possible"],
            ["Doe, Jane", 1001, "jdoe", "Monday"],
        ),
        OF_CANVAS[:1],
    ),
}


def read(tmp_path: Path, data: str | bytes):
    file = tmp_path / "list.csv"
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_roster(file)


@pytest.mark.parametrize("name", LISTS)
def test_each_list_gives_the_people_in_it(tmp_path, name):
    data, people = LISTS[name]
    assert read(tmp_path, data).people == people


REFUSED: dict[str, tuple[str | bytes, str]] = {
    "a shortened number": (
        "id,name\n123,Ann\n1.23E+08,Ben\n",
        r"row 3, column A: '1.23E\+08' is an id that a spreadsheet has shortened.*text",
    ),
    "a shortened number with a comma": (
        "name;Matrikelnummer\nBen;1,23E+08\n",
        r"row 2, column B: '1,23E\+08'",
    ),
    "a shortened number in an .xlsx": (sheet(["id"], ["1.5E+10"]), r"row 2, column A: '1.5E\+10'"),
    "an old Excel file": (b"\xd0\xcf\x11\xe0rest", r"an old Excel file \(.xls\).*CSV UTF-8.*\.xlsx"),
    "a web page": (b"\n<html><table>", "a web page.*save it as"),
    "a PDF": (b"%PDF-1.7", "is a PDF"),
    "a word processor's": (sheet(["id"]).replace(b"workbook", b"document"), "another kind"),
    "polish in cp1250": (
        "id;name\na;Łukasz\n".encode("cp1250"),
        "encoding that is not known: line 2 would read “a;£ukasz”",
    ),
    "russian in cp1251": ("id;name\na;Иван\n".encode("cp1251"), "encoding that is not known"),
    "what was saved in the wrong encoding": (
        "id,name\na,JosÃ©\n",
        "once saved in the wrong encoding: it has “a,JosÃ©”",
    ),
    "of an old Mac": ("id;name\na;José\n".encode("mac_roman"), "encoding that is not known"),
    "nothing that says who": (
        "Vorname,Nachname\nA,B\n",
        "does not say who is who.*It has: Vorname, Nachname.*headings.toml",
    ),
    "half an .xlsx": (sheet(HEAD, *CELLS)[:300], "cannot be read as an .xlsx"),
    "an .xlsx with definitions": (
        sheet(HEAD, extra='<!DOCTYPE x [<!ENTITY a "b">]>'),
        "has definitions of its own",
    ),
    "a heading that is there twice": (
        "id,name,id\na,Ann,b\n",
        "row 1, column C: it is called “id”, as column A is",
    ),
    "an id that is there twice": (
        "name,id\nAnn,a\nBen,b\nCarl,A\n",
        r"row 4, column B \(and row 2\): 'Ann' and 'Carl' have the id 'a'",
    ),
    "an address that is there twice": (
        "id,name,email\na,Ann,x@y\nb,Ben,X@y\n",
        r"row 3, column C \(and row 2\): 'Ann' and 'Ben' have the e-mail address 'x@y'",
    ),
    "a comma without quotes": ("id,name\na,Ey, Ann\n", "row 2, column C: this cell has no heading"),
    "a quote that is not closed": (
        'id,name\na,Ann\nb,"Ben\nc,Carl\n',
        "from line 3 on: unexpected end of data. A quote that begins a cell",
    ),
    "only teachers": ("id,role\nt,Teacher\n", "headings, but no student"),
    "bytes": (bytes(range(256)) * 4, "save it as"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_says_what_it_saw_and_how_to_save_it_anew(tmp_path, name):
    data, words = REFUSED[name]
    with pytest.raises(GraderError, match=f"(?s){words}"):
        read(tmp_path, data)


def test_what_was_assumed_or_left_out_is_told(tmp_path):
    text = "NLP\nBenutzername;Vorname;Nachname;Rolle\nj;Jörg;Doe;Student/in\nt;Tea;Cher;Tutor/in\n"
    notes = " ".join(read(tmp_path, text.encode("cp1252")).notes)
    assert (
        "read as Windows-1252" in notes and "no students: Tutor/in: Tea Cher" in notes and "line 2" in notes
    )


def test_who_is_a_student_and_something_else_is_a_student(tmp_path):
    assert [each.student for each in read(tmp_path, 'id,roles\na,"Student, Tutor"\nb,Visiting\n').people] == [
        "a",
        "b",
    ]


def test_an_xlsx_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MAX_BYTES", 5000)
    with pytest.raises(GraderError, match="unpacks to more than"):
        read(tmp_path, sheet(HEAD, *[["x" * 9] * 5] * 200))


@given(st.binary(max_size=300), st.sampled_from([b"", b"PK\x03\x04", b"\xff\xfe", b"sep=;\n", b"id,name\n"]))
def test_no_file_is_too_odd_to_be_read_or_refused(tmp_path_factory, data, start):
    file = tmp_path_factory.getbasetemp() / "odd.csv"
    file.write_bytes(start + data)
    try:
        assert read_roster(file).people
    except GraderError as error:
        assert str(file) in str(error)
