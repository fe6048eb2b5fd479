"""``python -m course_utils portfolio``: a package of one's own, ``my_transformer/``, out of the notebooks that one has solved.

Only what passes its check goes in, as the learner wrote it. It leaves out and names what is not solved, and marks what is the course's. A folder
that this command did not make is never touched.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent

from course_utils import labs
from course_utils.own_code.button import Say, show_button
from course_utils.portfolio.figures import figures_of
from course_utils.portfolio.folder import Refused, made_before, put
from course_utils.portfolio.homes import COURSE, PACKAGE, may_publish
from course_utils.portfolio.modules import write_modules
from course_utils.portfolio.passing import FAILS, keep_what_passes
from course_utils.portfolio.pieces import Work, gather
from course_utils.portfolio.texts import LICENCES, texts_of, write_checks


def make(
    notebooks: Path, out: Path, licence: str = "none", author: str = "", said: Callable[[str], None] = print
) -> Work:
    """Makes the package, or makes it anew.

    Args:
        notebooks: the folder with the labs' folders.
        out: where the package goes. It must not exist, be empty, or have been made by this function.
        licence: one of ``LICENCES``.
        author: the name in the licence.
        said: gets each line about what is going on.

    Returns:
        what went in, and what is missing.

    Raises:
        Refused: there is nothing to make it of, or the folder is not ours; the message says what to do.
    """
    if licence == "MIT" and not author.strip():
        raise Refused('The MIT licence names its author. Say who you are: --author "Your Name".')
    before = made_before(out)
    found = labs.labs_in(notebooks)
    if not found:
        raise Refused(
            f"There are no labs in {notebooks}. Run this in the course's folder, or say where they are: --notebooks FOLDER."
        )
    work = gather(found)
    if not work.pieces:
        raise Refused(_nothing_yet(work))
    made = keep_what_passes(work, said)
    if not work.pieces:
        raise Refused(_nothing_yet(work))
    with tempfile.TemporaryDirectory() as scratch:
        new = Path(scratch) / "new"
        (new / "tests").mkdir(parents=True)
        write_modules(new / PACKAGE, made)
        figures = figures_of(work)
        for name, text in texts_of(work, made, licence, author.strip(), figures).items():
            (new / name).write_text(text, "utf-8")
        for figure in figures:
            (new / "figures").mkdir(exist_ok=True)
            (new / "figures" / figure.file).write_bytes(figure.data)
        write_checks(new / "tests" / "checks", work)
        put(new, out, before, said)
    return work


def _nothing_yet(work: Work) -> str:
    lab = work.labs[0]
    failed = [(key, why) for key, why in work.missing.items() if why.startswith(FAILS)]
    if failed:
        key, _ = failed[0]
        number = next(each.number for each in work.labs if each.slug == key.partition(".")[0])
        return (
            f"There is nothing to make a package of yet: of what you have written, nothing passes its check. Begin with `{key.partition('.')[2]}` "
            f"in lab {number}: its check says what is missing. Then run this again."
        )
    return (
        f"There is nothing to make a package of yet: no exercise is solved. Begin with lab {lab.number}, {lab.title}: open "
        f"{lab.name}/{lab.slug}.ipynb, write `{lab.exercises[0]}`, and run the check below it. Then save the notebook and run this again."
    )


def main(arguments: Sequence[str]) -> int:
    """The command.

    Returns:
        what the process ends with: 0, or 1 if no package was made.
    """
    parser = argparse.ArgumentParser(
        prog="python -m course_utils portfolio", description=dedent(__doc__.split("\n\n")[1])
    )
    parser.add_argument("--notebooks", type=Path, default=_notebooks(), help="the folder with the labs")
    parser.add_argument(
        "--out", type=Path, default=_beside_the_labs(), help="where the package goes (default: %(default)s)"
    )
    parser.add_argument(
        "--license", choices=LICENCES, default="none", help="under which others may use your code"
    )
    parser.add_argument("--author", default="", help="your name, for the licence")
    given = parser.parse_args(arguments)
    try:
        work = make(given.notebooks, given.out, given.license, given.author)
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(_result(work, given.out)))
    return 0


def _result(work: Work, out: Path) -> list[str]:
    count = sum(len(lab.exercises) for lab in work.labs)
    lines = [
        f"{out} has {len(work.pieces)} of {count} exercises: your own code. Its README.md says what is in it and what is missing."
    ]
    if not may_publish():
        lines.append("Please do not publish it: your instructors ask for that.")
    return lines


def package(license: str = "none", author: str = "") -> None:
    """The command, for a cell of a notebook.

    Args:
        license: "MIT", "Apache-2.0" or "none".
        author: your name, for the licence.
    """
    main(["--license", license, "--author", author])


def button() -> None:
    """A button that makes the package, without a licence, for the end of a notebook."""

    def work(say: Say) -> None:
        out = _beside_the_labs()
        try:
            lines = _result(make(_notebooks(), out, said=say), out)
        except Refused as error:
            lines = [str(error)]
        except OSError as error:  # in a browser without an operating system, programs cannot be started
            lines = [
                f"The package cannot be made here: {error}. Download your notebooks, and make it in the course's folder."
            ]
        for line in lines:
            say(line)

    show_button(
        "Make a package of my code",
        work,
        "in the notebook, this button makes `my_transformer`, an installable package of what you have solved.",
    )


def _notebooks() -> Path:
    """The labs' folder: beside the course's package, or where one stands."""
    here = Path.cwd()
    near = next((each for each in (here / "notebooks", here, here.parent) if labs.labs_in(each)), None)
    return near or COURSE / "notebooks"


def _beside_the_labs() -> Path:
    """Where the package goes: here, or, from inside a lab's folder, beside that."""
    return (Path.cwd().parent if labs.read(Path.cwd()) else Path.cwd()) / PACKAGE
