"""Dates are whole IST days, the last included; timestamps are moments (engine rule 18)."""

from datetime import UTC, datetime

import pytest

from apps.backtests.running.submissions import read_date_range
from apps.core.errors import InvalidInput

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def seconds(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


@pytest.mark.parametrize(
    ("first", "last", "start", "end"),
    [
        ("2024-01-01", "2024-01-01", "2024-01-01T00:00+05:30", "2024-01-02T00:00+05:30"),
        ("2024-02-29", "2024-12-31", "2024-02-29T00:00+05:30", "2025-01-01T00:00+05:30"),
        ("2024-01-01T03:45:00Z", "2024-01-01T10:00:00Z", "2024-01-01T03:45Z", "2024-01-01T10:00Z"),
        ("2024-01-01T09:15:00+05:30", "2024-01-02", "2024-01-01T03:45Z", "2024-01-02T18:30Z"),
        ("2024-01-01", "2030-01-01", "2024-01-01T00:00+05:30", "2030-01-02T00:00+05:30"),
        ("2024-01-01", "9998-12-31", "2024-01-01T00:00+05:30", "9999-01-01T00:00+05:30"),
    ],
)
def test_a_range_is_half_open_in_seconds(first: str, last: str, start: str, end: str) -> None:
    span = read_date_range(first, last, now=NOW)
    assert (span.start, span.end) == (seconds(start), seconds(end))
    assert (span.start_date, span.end_date) == (first, last)


@pytest.mark.parametrize(
    ("first", "last", "field"),
    [
        ("2024-02-30", "2024-03-01", "startDate"),
        ("2024-1-1", "2024-03-01", "startDate"),
        ("20240101", "2024-03-01", "startDate"),
        ("yesterday", "2024-03-01", "startDate"),
        ("", "2024-03-01", "startDate"),
        ("2024-01-01T09:15:00", "2024-03-01", "startDate"),
        ("2024-01-01", "10000-01-01", "endDate"),
        ("2024-01-02", "2024-01-01", "endDate"),
        ("2024-01-01T10:00:00Z", "2024-01-01T10:00:00Z", "endDate"),
        ("2026-01-02", "2026-01-03", "startDate"),
        ("1970-01-01", "2024-01-01", "startDate"),
        ("0001-01-01", "2024-01-01", "startDate"),
        ("2024-01-01", "9999-12-31", "endDate"),
        ("2024-01-01", "9999-12-31T23:59:59Z", "endDate"),
        ("2024-01-01", "9999-12-31T23:59:59.999999+05:30", "endDate"),
        ("2024-01-01", "9999-12-31T23:59:59-23:59", "endDate"),
        ("2024-01-01", "9999-01-01", "endDate"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused(first: str, last: str, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_date_range(first, last, now=NOW)
    assert refused.value.details["field"] == field
