"""The range of a backtest: dates or timestamps as clients write them, half-open seconds as the engine reads them."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Final

from apps.core.errors import Fault, InvalidInput

IST: Final = timezone(timedelta(hours=5, minutes=30))
EARLIEST: Final = date(1990, 1, 1)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ACCEPTED: Final = "YYYY-MM-DD, or a timestamp with its zone such as 2024-01-01T03:45:00Z"


@dataclass(frozen=True, slots=True)
class Span:
    """Bars with start <= time < end, in epoch seconds; the texts are what the client wrote."""

    start: int
    end: int
    start_text: str
    end_text: str


def read_span(start_text: str, end_text: str, *, now: datetime) -> Span:
    """Rule 18: a date is a whole day in Asia/Kolkata, the last one included; a timestamp is the moment itself.

    Raises InvalidInput where a text is no date, the range is empty, or it starts before 1990 or after now.
    """
    start = _moment("startDate", start_text, last=False)
    end = _moment("endDate", end_text, last=True)
    if start > now:
        raise InvalidInput(Fault("startDate", "lies in the future", start_text))
    if start.astimezone(IST).date() < EARLIEST:
        raise InvalidInput(Fault("startDate", f"lies before {EARLIEST}", start_text))
    if end <= start:
        raise InvalidInput(Fault("endDate", "must not lie before startDate", end_text))
    return Span(int(start.timestamp()), int(end.timestamp()), start_text, end_text)


def _moment(field: str, text: str, *, last: bool) -> datetime:
    try:
        if _DATE.fullmatch(text):
            day = datetime.fromisoformat(text).replace(tzinfo=IST)
            return day + timedelta(days=1) if last else day
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise InvalidInput(Fault(field, f"is no date: write {_ACCEPTED}", text)) from None
    if moment.tzinfo is None:
        raise InvalidInput(Fault(field, f"has no zone: write {_ACCEPTED}", text))
    return moment.astimezone(UTC)
