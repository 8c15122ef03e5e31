"""Rows of models by statements that the ORM cannot say, or that every request runs.

The ORM writes a statement anew each time it is asked, and `raw()` finds out anew which column is
which field.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Model

Row = TypeVar("Row", bound=Model)


def columns_of(model: type[Model], alias: str) -> str:
    """Return the columns of a model as a statement selects them, in the order of its fields.

    A prepared `SELECT *` would fail on each connection once a newer machine has added a column.
    """
    return ", ".join(f"{alias}.{field.column}" for field in model._meta.concrete_fields)


def instance_of(model: type[Row], values: Sequence[Any]) -> Row:
    """Return the instance that these values of `columns_of` are, as the ORM would."""
    names, converters = _fields_of(model)
    row = list(values)
    for index, convert in converters:
        row[index] = convert(row[index], None, connection)
    return model.from_db(DEFAULT_DB_ALIAS, names, row)


@cache
def _fields_of(
    model: type[Model],
) -> tuple[tuple[str, ...], Sequence[tuple[int, Callable[..., Any]]]]:
    """Return the names of the fields, and what converts some of their values, with its index.

    A generated column is converted as the field of what it generates.
    """
    fields = model._meta.concrete_fields
    converters = [
        (index, convert)
        for index, field in enumerate(fields)
        for convert in getattr(field, "output_field", field).get_db_converters(connection)
    ]
    return tuple(field.attname for field in fields), converters
