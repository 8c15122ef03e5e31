"""Moments on the wire."""

from datetime import datetime


def wire_time(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds and Z, as every time leaves the service."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
