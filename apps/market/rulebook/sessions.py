"""Trading hours by exchange, segment and date, read from `sessions.csv` beside this file.

A segment is told by the symbol's form. NSE and BSE: `equity` (shares, and indices, which keep the
cash segment's hours) and `derivatives`. MCX and NCDEX: by the commodity, `commodities.csv`; one not
listed there is `non_agri` on MCX, `agri` on NCDEX.

From 2026-08-03 continuous trading in shares with derivatives ends at 15:15, in all others at 15:30.
The form does not tell one from the other; the cash segment's row says 15:15, so that a position is
never left to a minute in which its share may not trade.

`closes_us_winter` is the close while New York is not on daylight saving time; time zone data says
when that is, so the rows need no date for each change of clock. Holidays and special days are not
listed yet: every Monday to Friday is a session, any other day has its regime's hours.
"""

import csv
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from apps.engine.sessions import Regime, Sessions
from apps.engine.symbols import parse

_FOLDER: Final = Path(__file__).parent / "bundled"
_EPOCH: Final = date(1970, 1, 1)
_NEW_YORK: Final = ZoneInfo("America/New_York")
_LAST_DATE: Final = date(2050, 12, 31)
"""How long a row without a last date holds."""

_UNLISTED: Final = {"MCX": "non_agri", "NCDEX": "agri"}


def sessions_of(symbol: str) -> Sessions:
    """The calendar a symbol trades by; InvalidSymbol for a text that is none."""
    known = parse(symbol)
    if known.exchange in _UNLISTED:
        listed = _commodities().get((known.exchange, known.root))
        return segment_sessions(known.exchange, listed or _UNLISTED[known.exchange])
    segment = "equity" if known.type == "equity" else "derivatives"
    return segment_sessions(known.exchange, segment)


@cache
def segment_sessions(exchange: str, segment: str) -> Sessions:
    """The calendar of one segment."""
    rows = [
        row
        for row in _rows("sessions.csv")
        if (row["exchange"], row["segment"]) == (exchange, segment)
    ]
    return Sessions.build(regime for row in rows for regime in _regimes(row))


@cache
def _commodities() -> Mapping[tuple[str, str], str]:
    return {(row["exchange"], row["root"]): row["group"] for row in _rows("commodities.csv")}


def _rows(name: str) -> list[dict[str, str]]:
    with (_FOLDER / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _regimes(row: Mapping[str, str]) -> Iterator[Regime]:
    first = date.fromisoformat(row["first_date"])
    last = date.fromisoformat(row["last_date"]) if row["last_date"] else _LAST_DATE
    opens, winter = _seconds(row["opens"]), row["closes_us_winter"]
    if not winter:
        yield Regime(_day(first), _day(last), opens, _seconds(row["closes"]))
        return
    for saving, dates in groupby(_dates(first, last), key=_us_daylight_saving):
        span = list(dates)
        closes = _seconds(row["closes"] if saving else winter)
        yield Regime(_day(span[0]), _day(span[-1]), opens, closes)


def _dates(first: date, last: date) -> Iterator[date]:
    return (first + timedelta(days=n) for n in range((last - first).days + 1))


def _us_daylight_saving(day: date) -> bool:
    """New York's clocks change on Sundays; India's evening of a date is its noon."""
    noon = datetime.combine(day, time(17), tzinfo=UTC).astimezone(_NEW_YORK)
    return bool(noon.dst())


def _day(day: date) -> int:
    return (day - _EPOCH).days


def _seconds(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 3600 + int(minutes) * 60
