"""Rows of models by SQL that the ORM cannot express, or that every request runs.

The ORM generates its SQL on each use, and `raw()` maps columns to fields on each use.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Model

Row = TypeVar("Row", bound=Model)


def columns_of(model: type[Model], alias: str) -> str:
    """Return the columns of a model as a statement selects them, in the order of its fields.

    A prepared `SELECT *` would fail on open connections after a newer machine adds a column.
    """
    return ", ".join(f"{alias}.{field.column}" for field in model._meta.concrete_fields)


def instance_of(model: type[Row], values: Sequence[Any]) -> Row:
    """Return the instance with these values of `columns_of`, as the ORM would."""
    names, converters = _fields_of(model)
    row = list(values)
    for index, convert in converters:
        row[index] = convert(row[index], None, connection)
    return model.from_db(DEFAULT_DB_ALIAS, names, row)


@cache
def _fields_of(
    model: type[Model],
) -> tuple[tuple[str, ...], Sequence[tuple[int, Callable[..., Any]]]]:
    """Return the field names, and the converters of values with their indexes.

    A generated column uses the converters of its output field.
    """
    fields = model._meta.concrete_fields
    converters = [
        (index, convert)
        for index, field in enumerate(fields)
        for convert in getattr(field, "output_field", field).get_db_converters(connection)
    ]
    return tuple(field.attname for field in fields), converters
