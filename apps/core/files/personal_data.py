"""All data stored about one user, in one archive: for each table a CSV and a JSON file.

The models determine which rows belong to the user: rows with a foreign key to the user, and rows
that refer to those. An app registers a function with `unpacked` for data in packed form.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import IO, Any, Final, Protocol, cast

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import QuerySet

DataRow = Mapping[str, object]
Unpack = Callable[[str], Iterable[DataRow]]

# Columns that prove who somebody is: a copy of them would be a credential.
SECRET_COLUMNS: Final = frozenset(
    {
        "password",
        "secret",
        "previous_secret",
        "digest",
        "secret_digest",
        "token_id",
        "previous_token_id",
    }
)
# Rows that are read at once: some hold a megabyte of JSON.
_ROWS_READ: Final = 50
_UNPACKED: Final[dict[str, Unpack]] = {}


def unpacked(name: str) -> Callable[[Unpack], Unpack]:
    """Register a function that yields rows of a user as a table, for data in packed columns."""

    def register(unpack: Unpack) -> Unpack:
        _UNPACKED[name] = unpack
        return unpack

    return register


class Sink(Protocol):
    """The file that an archive is written to, from beginning to end."""

    def write(self, data: bytes, /) -> int: ...

    def flush(self) -> None: ...


def write_archive(user_id: str, into: Sink) -> None:
    """Write a ZIP file with two files for each table of the user's that has rows."""
    with zipfile.ZipFile(cast(IO[bytes], into), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, rows in _tables(user_id):
            _write_table(archive, name, rows)


def _tables(user_id: str) -> Iterator[tuple[str, Iterable[DataRow]]]:
    for model, path in paths_to_user().items():
        if getattr(model, "is_copy_of_data", False):
            continue
        rows: QuerySet[Any, Any] = model._default_manager.filter(**{path: user_id})
        columns = [field.attname for field in model._meta.concrete_fields if _is_shown(field)]
        yield model._meta.db_table, rows.order_by("pk").values(*columns).iterator(_ROWS_READ)
    for name, unpack in _UNPACKED.items():
        yield name, unpack(user_id)


def _is_shown(field: models.Field[Any, Any]) -> bool:
    return not isinstance(field, models.BinaryField) and field.attname not in SECRET_COLUMNS


def paths_to_user() -> dict[type[models.Model], str]:
    """Return the lookup path to the user, keyed by the model whose rows belong to one."""
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
    """Write one table row by row: its CSV into the archive, its JSON into a file for later."""
    iterator = iter(rows)
    first = next(iterator, None)
    if first is None:
        return
    with tempfile.TemporaryFile() as file:
        with _text_file(archive, f"{name}.csv") as table, gzip.open(file, "wt", 1) as lines:
            writer = csv.DictWriter(table, list(first))
            writer.writeheader()
            separator = "[\n"
            for row in chain([first], iterator):
                writer.writerow({column: _cell(value) for column, value in row.items()})
                lines.write(separator + json.dumps(row, cls=DjangoJSONEncoder))
                separator = ",\n"
            lines.write("\n]\n")
        file.seek(0)
        with gzip.open(file, "rt") as lines, _text_file(archive, f"{name}.json") as document:
            shutil.copyfileobj(lines, document)


def _text_file(archive: zipfile.ZipFile, name: str) -> io.TextIOWrapper:
    member = archive.open(name, "w", force_zip64=True)
    return io.TextIOWrapper(member, encoding="utf-8", newline="")


def _cell(value: object) -> object:
    """Return a value for a spreadsheet, which must never take it for a formula."""
    if isinstance(value, dict | list):
        return json.dumps(value, cls=DjangoJSONEncoder)
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value
