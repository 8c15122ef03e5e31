"""Dates as moments, and the ends of a range as clients write them (engine rule 18)."""

import math
import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Final

from apps.core.errors import Fault, InvalidInput
from apps.engine.candles import IST

INDIA: Final = timezone(timedelta(seconds=IST))
EARLIEST: Final = datetime(1990, 1, 1, tzinfo=INDIA)
"""No candle is taken from before: NSE began to trade in 1994."""
LATEST: Final = datetime(9999, 1, 1, tzinfo=INDIA)
"""No moment is read from after: every one has a date in any zone, and so has the next day."""

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FORMS: Final = "YYYY-MM-DD, or a timestamp with its zone such as 2024-01-01T03:45:00Z"


def read_moment(field: str, text: str, *, last: bool) -> int:
    """Epoch seconds of one end of a range.

    A date is a day in Asia/Kolkata: its beginning, or with `last` the beginning of the next, so
    that the last day is included. A timestamp is itself.
    """
    try:
        moment = _moment(text, last=last)
    except (ValueError, OverflowError):
        raise InvalidInput(Fault(field, f"is no moment: write {_FORMS}", text)) from None
    if moment.tzinfo is None:
        raise InvalidInput(Fault(field, f"has no zone: write {_FORMS}", text))
    if moment > LATEST:
        raise InvalidInput(Fault(field, f"lies after the year {LATEST.year - 1}", text))
    return math.ceil(moment.timestamp())


def _moment(text: str, *, last: bool) -> datetime:
    moment = datetime.fromisoformat(text)
    if not _DATE.fullmatch(text):
        return moment
    return moment.replace(tzinfo=INDIA) + timedelta(days=1 if last else 0)


def day_in_india(seconds: int) -> date:
    """The date in Asia/Kolkata at a moment."""
    return datetime.fromtimestamp(seconds, tz=INDIA).date()


def midnight(day: date) -> int:
    """Epoch seconds of 00:00 in Asia/Kolkata of a date."""
    return int(datetime.combine(day, time(), tzinfo=UTC).timestamp()) - IST
