"""Moments on the wire, and from epoch seconds."""

from datetime import UTC, datetime


def wire_time(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds and Z, as every time leaves the service."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(seconds: int) -> datetime:
    """Of epoch seconds, in UTC."""
    return datetime.fromtimestamp(seconds, UTC)
