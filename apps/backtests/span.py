"""The range of a backtest: as clients write it, and in the half-open seconds the engine reads."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.core.errors import Fault, InvalidInput
from apps.market.dates import EARLIEST, day_in_india, midnight, read_moment


@dataclass(frozen=True, slots=True)
class Span:
    """Bars with start <= time < end, in epoch seconds; the texts are what the client wrote."""

    start: int
    end: int
    start_text: str
    end_text: str


def read_span(start_text: str, end_text: str, *, now: datetime) -> Span:
    """Dates are whole days in Asia/Kolkata, the last one included (engine rule 18).

    Raises InvalidInput where a text is no moment, the range is empty, or it starts before 1990 or
    after now.
    """
    start = read_moment("startDate", start_text, last=False)
    end = read_moment("endDate", end_text, last=True)
    if start > now.timestamp():
        raise InvalidInput(Fault("startDate", "lies in the future", start_text))
    if start < EARLIEST.timestamp():
        raise InvalidInput(Fault("startDate", f"lies before {EARLIEST.date()}", start_text))
    if end <= start:
        raise InvalidInput(Fault("endDate", "must not lie before startDate", end_text))
    return Span(start, end, start_text, end_text)


def ends_in_future(end: int, *, asked_at: datetime) -> bool:
    """Whether a range that ends before `end` (epoch seconds) goes on after the date in India on
    which it was asked for.
    """
    tomorrow = day_in_india(int(asked_at.timestamp())) + timedelta(days=1)
    return end > midnight(tomorrow)
