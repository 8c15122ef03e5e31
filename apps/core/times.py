"""Times on the wire, in mails and from epoch seconds; dates in India; durations."""

import math
import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Final

from apps.core.errors import Fault, InvalidInput

_INDIA_OFFSET: Final = 19_800  # seconds
INDIA: Final = timezone(timedelta(seconds=_INDIA_OFFSET))
# The last moment that is accepted: it and the next day have a date in any zone.
LATEST: Final = datetime(9999, 1, 1, tzinfo=INDIA)

_EPOCH: Final = date(1970, 1, 1)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FORMS: Final = "YYYY-MM-DD, or a timestamp with its zone such as 2024-01-01T03:45:00Z"


def wire_time(moment: datetime) -> str:
    """Return ISO 8601 in UTC with milliseconds and Z, the form of every time on the wire.

    It is faster than `isoformat`, for lists with many times.
    """
    utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ" % (  # noqa: UP031  # an f-string takes as long
        utc.year,
        utc.month,
        utc.day,
        utc.hour,
        utc.minute,
        utc.second,
        utc.microsecond // 1000,
    )


def moment(seconds: int) -> datetime:
    """Return the time of epoch seconds, in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


def indian_time(moment: datetime) -> str:
    """Return a moment as people in India write it: 2 November 2026, 09:30 IST."""
    local = moment.astimezone(INDIA)
    return f"{local.day} {local:%B %Y, %H:%M} IST"


def duration_text(seconds: float) -> str:
    """Return hours, minutes and seconds, after days if there are any: 1 day, 2:03:04."""
    return str(timedelta(seconds=round(seconds)))


def read_moment(field: str, text: str, *, last: bool) -> int:
    """Return one end of a range in epoch seconds.

    A date is a day in Asia/Kolkata: its beginning, or with `last` the beginning of the next day, so
    that the last day is included. A timestamp is taken as it is. Raises InvalidInput.
    """
    try:
        moment = datetime.fromisoformat(text)
        if _DATE.fullmatch(text):
            moment = moment.replace(tzinfo=INDIA) + timedelta(days=1 if last else 0)
    except (ValueError, OverflowError):
        raise InvalidInput(Fault(field, f"is not a time: write {_FORMS}", text)) from None
    if moment.tzinfo is None:
        raise InvalidInput(Fault(field, f"has no zone: write {_FORMS}", text))
    if moment > LATEST:
        raise InvalidInput(Fault(field, f"lies after the year {LATEST.year - 1}", text))
    return math.ceil(moment.timestamp())


def day_in_india(seconds: int) -> date:
    """Return the date in Asia/Kolkata at a moment."""
    return datetime.fromtimestamp(seconds, tz=INDIA).date()


def midnight(day: date) -> int:
    """Return 00:00 in Asia/Kolkata of a date, in epoch seconds."""
    return int(datetime.combine(day, time(), tzinfo=UTC).timestamp()) - _INDIA_OFFSET


def day_number(day: date) -> int:
    """Return the days since 1970-01-01, as the engine counts dates."""
    return (day - _EPOCH).days
