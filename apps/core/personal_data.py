"""Everything that is stored of one user, in one archive: a table of each kind, as CSV and as JSON.

Which rows are the user's follows from the models: those that refer to the user, and those that
refer to them in turn. What is stored in packed form an app unpacks by `unpacked`.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any, Final

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import QuerySet

DataRow = Mapping[str, object]
Unpack = Callable[[str], Iterable[DataRow]]

# Columns that prove who somebody is: a copy of them would be a credential.
SECRET_COLUMNS: Final = frozenset(
    {"password", "secret", "previous_secret", "digest", "token_id", "previous_token_id"}
)
_UNPACKED: Final[dict[str, Unpack]] = {}


def unpacked(name: str) -> Callable[[Unpack], Unpack]:
    """Register a function that yields rows of a user's that no column shows, as a table."""

    def register(unpack: Unpack) -> Unpack:
        _UNPACKED[name] = unpack
        return unpack

    return register


def write_archive(user_id: str, into: IO[bytes]) -> None:
    """Write a ZIP file with two files for each table of the user's that has rows."""
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, rows in _tables(user_id):
            _write_table(archive, name, rows)


def _tables(user_id: str) -> Iterator[tuple[str, Iterable[DataRow]]]:
    for model, path in paths_to_user().items():
        rows: QuerySet[Any, Any] = model._default_manager.filter(**{path: user_id})
        columns = [field.attname for field in model._meta.concrete_fields if _is_shown(field)]
        yield model._meta.db_table, rows.order_by("pk").values(*columns).iterator()
    for name, unpack in _UNPACKED.items():
        yield name, unpack(user_id)


def _is_shown(field: models.Field[Any, Any]) -> bool:
    return not isinstance(field, models.BinaryField) and field.attname not in SECRET_COLUMNS


def paths_to_user() -> dict[type[models.Model], str]:
    """Return the models whose rows belong to a user, each with the lookup that leads there."""
    user = get_user_model()
    paths: dict[type[models.Model], str] = {user: "pk"}
    grew = True
    while grew:
        grew = False
        for model in apps.get_models():
            if model in paths:
                continue
            for field in model._meta.concrete_fields:
                owner = field.related_model if field.is_relation else None
                if isinstance(owner, type) and owner in paths and not field.null:
                    paths[model] = f"{field.name}__{paths[owner]}"
                    grew = True
                    break
    return paths


def _write_table(archive: zipfile.ZipFile, name: str, rows: Iterable[DataRow]) -> None:
    """Write one table row by row, so that none has to fit into memory twice."""
    table, lines = io.StringIO(newline=""), []
    writer = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(table, list(row))
            writer.writeheader()
        writer.writerow({column: _cell(value) for column, value in row.items()})
        lines.append(json.dumps(row, cls=DjangoJSONEncoder))
    if writer is not None:
        archive.writestr(f"{name}.csv", table.getvalue())
        archive.writestr(f"{name}.json", "[\n" + ",\n".join(lines) + "\n]\n")


def _cell(value: object) -> object:
    """Return a value as a spreadsheet shows it, and never takes it for a formula."""
    if isinstance(value, dict | list):
        return json.dumps(value, cls=DjangoJSONEncoder)
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value
