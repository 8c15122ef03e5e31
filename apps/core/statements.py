"""Queries that requests ask all day, written by the ORM once and then only run.

To write a query takes the ORM several times as long as it takes PostgreSQL to answer it. What is
kept is the text of a query, never a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import orjson
from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import JSONField, Model, QuerySet
from django.db.models.expressions import BaseExpression
from django.db.models.query import get_related_populators
from django.db.models.sql.compiler import SQLCompiler
from psycopg import sql

Row = TypeVar("Row")
Instance = TypeVar("Instance", bound=Model)

Values = Sequence[Any]
"""The columns of one row. Any: they are of many types."""
Converter = Callable[[Any, BaseExpression, Any], Any]
"""From a value, its column and the connection, as Django has it. Any: values of many types."""


class Slot(str):
    """Stands in a queryset for the argument of this name."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Statement(Generic[Row]):
    """A query: its text, whose arguments its placeholders get, and how a row of it is read."""

    text: str
    parameters: Sequence[Slot]
    read: Callable[[Values], Row]

    def rows(self, **arguments: object) -> list[Row]:
        """Run it; every Slot needs its argument."""
        values = [arguments[name] for name in self.parameters]
        rows = connection.ask(self.text, values)  # type: ignore[attr-defined]  # of config.database
        return [self.read(row) for row in rows]

    def first(self, **arguments: object) -> Row | None:
        return next(iter(self.rows(**arguments)), None)


def instances(queryset: QuerySet[Instance]) -> Statement[Instance]:
    """Whole instances, with what `select_related` names."""
    text, parameters, convert, compiler = _compiled(queryset)
    known: dict[str, Any] = compiler.klass_info or {}
    own = known["select_fields"]
    names = [compiler.select[place][0].target.attname for place in own]
    related = get_related_populators(known, compiler.select, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]  # typed for Django 6

    def read(row: Values) -> Instance:
        row = convert(row)
        instance = queryset.model.from_db(DEFAULT_DB_ALIAS, names, row[: len(own)])
        for populator in related:
            populator.populate(row, instance)
        return instance

    return Statement(text, parameters, read)


def mappings(queryset: QuerySet[Any, Any]) -> Statement[dict[str, Any]]:
    """What `values` names. Any: the columns are of many types."""
    text, parameters, convert, _ = _compiled(queryset)
    names = list(queryset.query.selected or ())
    return Statement(text, parameters, lambda row: dict(zip(names, convert(row), strict=True)))


@dataclass(frozen=True, slots=True)
class Listing(Generic[Row]):
    """A list of which one page at a time is read, and with it how many rows there are in all."""

    _page: Statement[tuple[int, Row | None]]

    def page(self, part: slice, **arguments: object) -> tuple[list[Row], int]:
        """The rows of that part, none past the end, and the number of all."""
        limit = part.stop - part.start
        found = self._page.rows(limit=limit, offset=part.start, **arguments)
        return [row for _, row in found if row is not None], found[0][0]


def listing(queryset: QuerySet[Any, Any]) -> Listing[dict[str, Any]]:
    """Of an ordered queryset of `values`, the first of which is never null.

    With one row on its left the join is a loop over the page, in the page's order.
    """
    rows, every = mappings(queryset), mappings(queryset.order_by())
    text = f"""
        SELECT every.total, page.* FROM (SELECT COUNT(*) AS total FROM ({every.text}) mine) every
        LEFT JOIN ({rows.text} LIMIT %s OFFSET %s) page ON TRUE
    """
    parameters = [*every.parameters, *rows.parameters, Slot("limit"), Slot("offset")]

    def read(row: Values) -> tuple[int, dict[str, Any] | None]:
        return row[0], None if row[1] is None else rows.read(row[1:])

    return Listing(Statement(text, parameters, read))


def _compiled(
    queryset: QuerySet[Any, Any],
) -> tuple[str, Sequence[Slot], Callable[[Values], Values], SQLCompiler]:
    """Text, parameters, what makes Python's values of a row's, and the compiler with the rest."""
    compiler = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
    text, parameters = _with_constants(*compiler.as_sql())
    converters = compiler.get_converters([column for column, *_ in compiler.select])
    readers = [(place, _reader(*each)) for place, each in converters.items()]

    def convert(row: Values) -> Values:
        values = list(row)
        for place, reader in readers:
            values[place] = reader(values[place])
        return values

    return text, parameters, convert, compiler


def _reader(steps: Sequence[Converter], column: BaseExpression) -> Callable[[Any], Any]:
    """What makes Python's value of one that the database sent. Any: values of many types."""
    if isinstance(column.output_field, JSONField):
        return _json
    return partial(_through, steps, column)


def _json(text: str | None) -> Any:
    """As JSONField reads it, in a tenth of the time. Any: JSON."""
    return None if text is None else orjson.loads(text)


def _through(steps: Sequence[Converter], column: BaseExpression, value: Any) -> Any:
    """The field's own steps, one after the other. Any: values of many types."""
    for step in steps:
        value = step(value, column, connection)
    return value


def _with_constants(text: str, parameters: Sequence[object]) -> tuple[str, Sequence[Slot]]:
    """What is the same at each run stands in the text, where it can show that a partial index
    will do, whatever the arguments are.
    """
    pieces = text.split("%s")
    places = [
        "%s" if isinstance(value, Slot) else sql.quote(value).replace("%", "%%")
        for value in parameters
    ]
    joined = "".join(map("".join, zip(pieces, [*places, ""], strict=True)))
    return joined, [value for value in parameters if isinstance(value, Slot)]
