"""Deletion of many rows in batches."""

from typing import Any, Final

from django.db.models import QuerySet

BATCH: Final = 1000
"""Rows that one statement deletes, so that none holds its locks for long."""


def delete_in_batches(rows: QuerySet[Any]) -> int:
    """Return how many rows were deleted."""
    total = 0
    while deleted := rows.model.objects.filter(pk__in=rows.values("pk")[:BATCH]).delete()[0]:
        total += deleted
    return total
