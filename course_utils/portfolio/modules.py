"""The definitions as modules of a package: each in its place, and imports set right."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from course_utils import exercises
from course_utils.labs import LabInfo
from course_utils.portfolio.homes import PACKAGE, home_of
from course_utils.portfolio.pieces import Work
from course_utils.portfolio_source import Statement
from course_utils.yours import OFFERS

_YOURS = "course_utils.yours"

_MOST_OF_A_FILE = 200_000


@dataclass
class Module:
    """A module of the package.

    Attributes:
        keys: the exercises that it has.
        statements: what stands in it, without imports.
        imports: the lines that import.
        helpers: names that stand in it and are no exercise.
        own: names of the course's that are the learner's here -> their keys.
        course: what it imports from the course.
        others: the modules of the package that it imports from.
        files: the learner's own files that it imports.
    """

    name: str
    title: str
    lab: LabInfo
    keys: list[str] = field(default_factory=list)
    statements: dict[Statement, None] = field(default_factory=dict)
    imports: dict[str, None] = field(default_factory=dict)
    helpers: list[str] = field(default_factory=list)
    own: dict[str, str] = field(default_factory=dict)
    course: dict[str, None] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    files: dict[str, Path] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The module's text."""
        ordered = sorted(self.statements, key=lambda each: each.place)
        marked = (
            f"# Helper, from cell {each.cell} of the notebook; no check tries it on its own.\n{each.text}"
            if set(self.helpers) & each.binds
            else each.text
            for each in ordered
        )
        head = f'"""{self.title}. From lab {self.lab.number}, {self.lab.title}."""'
        texts = ["\n\n".join(filter(None, [head, *_import_lines(self.imports)])), *marked]
        return "\n\n\n".join(texts) + "\n"


def _import_lines(imports: Mapping[str, object]) -> list[str]:
    """Lines that import, in groups: libraries, the course, the package; and then what is made of them."""
    groups: dict[int, list[str]] = {0: [], 1: [], 2: [], 3: []}
    for line in sorted(imports, key=lambda each: (each.startswith("from "), each)):
        of_course, of_package = line.startswith("from course_utils"), line.startswith(f"from {PACKAGE}")
        group = 1 if of_course else 2 if of_package else 0 if line.startswith(("import ", "from ")) else 3
        groups[group].append(line)
    keras = any(re.match(r"(import|from) (keras|tensorflow)\b", line) for line in groups[0])
    return [*([_BACKEND] if keras else []), *("\n".join(lines) for lines in groups.values() if lines)]


_BACKEND = 'import os\n\nos.environ.setdefault("KERAS_BACKEND", "tensorflow")  # before Keras is imported'


def modules_of(work: Work, refused: frozenset[str] = frozenset()) -> dict[str, Module]:
    """The package's modules by name.

    Args:
        refused: labs in which the course's versions of earlier work stay.
    """
    merged: frozenset[str] = frozenset()
    while True:
        made = _modules(work, refused, merged)
        try:
            TopologicalSorter({name: module.others for name, module in made.items()}).prepare()
        except CycleError as error:  # modules that need each other become one
            merged |= {made[name].lab.slug for name in error.args[1]}
        else:
            return made


def _modules(work: Work, refused: frozenset[str], merged: frozenset[str]) -> dict[str, Module]:
    made: dict[str, Module] = {}
    owner: dict[tuple[str, Statement], str] = {}
    for key, piece in work.pieces.items():
        name, title = home_of(key, merged)
        made.setdefault(name, Module(name, title, piece.lab)).keys.append(key)
        owner[piece.lab.slug, piece.definition] = name
    for key, piece in work.pieces.items():
        for each in piece.statements:
            if not each.imported:
                owner.setdefault((piece.lab.slug, each), home_of(key, merged)[0])
    named = {(piece.lab.slug, piece.definition) for piece in work.pieces.values()}
    for piece in work.pieces.values():
        slug = piece.lab.slug
        for each in piece.statements:
            if each.imported:
                continue
            module = made[owner[slug, each]]
            if each in module.statements:
                continue
            module.statements[each] = None
            if (slug, each) not in named:
                module.helpers += sorted(each.binds)
            for name in sorted(each.needs):
                others = [other for other in piece.statements if name in other.binds and other is not each]
                if not others or name in each.binds:
                    continue
                meant = others[-1]
                if meant.imported:
                    _import(module, meant, piece.lab, work, refused, merged)
                elif (home := owner[slug, meant]) != module.name:
                    module.imports[f"from {PACKAGE}.{home} import {name}"] = None
                    module.others.add(home)
    return made


def _import(
    module: Module, each: Statement, lab: LabInfo, work: Work, refused: frozenset[str], merged: frozenset[str]
) -> None:
    """Adds an import, of the learner's own version where there is one."""
    (local,) = each.binds
    top = each.imported.partition(".")[0]
    offer = next(
        (
            name
            for name, each_offer in OFFERS.items()
            if each.imported in (each_offer.course, f"{_YOURS}.{name}")
        ),
        None,
    )
    if offer and OFFERS[offer].key in work.pieces and lab.slug not in refused:
        key = OFFERS[offer].key
        home, its_name = home_of(key, merged)[0], key.partition(".")[2]
        module.own[local] = key
        module.others.add(home)
        if OFFERS[offer].fit:
            module.course["course_utils.yours.fitted"] = None
            module.imports["from course_utils.yours import fitted  # the course's"] = None
            module.imports[f"from {PACKAGE}.{home} import {its_name} as _{its_name}"] = None
            line = (
                f'{local} = fitted("{offer}", _{its_name})  # yours, so that it takes what this lab gives it'
            )
            module.imports[line] = None
        else:
            module.imports[
                f"from {PACKAGE}.{home} import {its_name}{'' if local == its_name else f' as {local}'}"
            ] = None
    elif top == "course_utils":
        full = OFFERS[offer].course if offer else each.imported  # not what asks the notebooks whose it is
        module.course[full] = None
        text = each.text.replace(f"from {_YOURS} ", f"from {full.rpartition('.')[0]} ")
        module.imports[f"{text}  # the course's"] = None
    elif (file := lab.folder / f"{top}.py").is_file() and file.name != exercises.FILE_NAME:
        module.files[top] = file
        text = re.sub(rf"^import {top}\b", f"from {PACKAGE} import {top}", each.text)
        module.imports[re.sub(rf"^from {top}\b", f"from {PACKAGE}.{top}", text)] = None
    else:
        module.imports[each.text] = None


def write_modules(folder: Path, made: Mapping[str, Module]) -> None:
    """Writes the modules, and the learner's own files that they import, into a folder."""
    for file, text in _module_files(made).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, "utf-8")


def _module_files(made: Mapping[str, Module]) -> dict[str, str]:
    files = {
        "__init__.py": '"""A Transformer of my own, built exercise by exercise in the course Transformer labs."""\n'
    }
    for name, module in made.items():
        files[f"{name}.py"] = module.text
        for top, file in module.files.items():
            files[f"{top}.py"] = text_in(file)
    return files


def text_in(file: Path) -> str:
    """The beginning of a file of the learner's."""
    with file.open("rb") as opened:
        return opened.read(_MOST_OF_A_FILE).decode("utf-8", "replace")
