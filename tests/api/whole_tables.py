"""Read whole tables as clients do."""

import csv
import io
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
from rest_framework.test import APIClient

from apps.core.api.resources import ARROW


def whole_csv(client: APIClient, path: str) -> list[dict[str, str]]:
    """Return the rows of a whole table that comes as CSV."""
    answer = client.get(path, headers={"Accept": "text/csv"})
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/csv; charset=utf-8")
    return list(csv.DictReader(io.StringIO(answer.getvalue().decode())))


def whole_arrow(client: APIClient, path: str) -> list[dict[str, Any]]:
    """Return the rows of a whole table that comes as an Arrow stream, values as on the wire."""
    answer = client.get(path, headers={"Accept": ARROW})
    assert (answer.status_code, answer["Content-Type"]) == (200, ARROW)
    table = pa.ipc.open_stream(answer.getvalue()).read_all()
    return [{name: _wire(value) for name, value in row.items()} for row in table.to_pylist()]


def _wire(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value


def text(row: dict[str, Any]) -> dict[str, str]:
    """Return a row of JSON as the line of a CSV has it."""
    return {name: "" if value is None else str(value) for name, value in row.items()}
