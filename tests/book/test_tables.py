"""nbgrader's tables as the grader writes them down, beside those that nbgrader itself makes."""

from __future__ import annotations

from nbgrader.api import Base
from sqlalchemy import Column

from grader.book import tables


def form_of(column: Column) -> tuple[str, bool, bool | None, object]:
    """What an entry depends on: the column's type, its key, whether it may be empty, and what is entered if nothing is said."""
    default = column.default and (column.default.arg if column.default.is_scalar else "made anew")
    return repr(column.type), column.primary_key, column.nullable, default


def test_the_tables_are_nbgrader_s():
    own = {table.name: table for table in tables.STUDENT.metadata.sorted_tables}
    assert len(own) == 8
    for name, table in own.items():
        theirs = Base.metadata.tables[name]
        assert {each.name: form_of(each) for each in table.columns} == {
            each.name: form_of(each) for each in theirs.columns
        }, name
    assert Base.metadata.tables.keys() == tables.NBGRADER_S


def test_an_id_is_made_as_nbgrader_makes_it():
    made, others = (
        {each.c.id.default.arg(None) for _ in range(3)}
        for each in (tables.GRADE, Base.metadata.tables["grade"])
    )
    assert len(made) == 3 and {(len(each), int(each, 16) >= 0) for each in made | others} == {(32, True)}
