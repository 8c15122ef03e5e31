"""How complete the held history of a symbol is: sessions that the calendar has and it has not, and
what its bars look like.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np

from apps.engine.candles import TIMEFRAMES, Candles, ist_days
from apps.engine.sessions import Sessions
from apps.market import candle_chunks, intraday_buffer, store
from apps.market.calendars import calendar_of
from apps.market.dates import midnight
from apps.market.models import CandleChunk
from apps.market.quality import Days, Quality, inspect, missing_days, year_of

MOST_GAPS: Final = 100
MOST_INSPECTED: Final = 1_000_000
"""The newest bars of a timeframe that are looked at: a decade of minutes."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Sessions in a row without a bar."""

    first: date
    last: date
    sessions: int


@dataclass(frozen=True, slots=True)
class Gaps:
    """Of one timeframe. `gaps` are the newest MOST_GAPS, oldest first; `missing` counts the
    sessions of all. Of `unchecked` years nobody knows the holidays, so none is missed in them.
    """

    days: int
    missing: int
    gaps: tuple[Gap, ...]
    unchecked: tuple[int, ...]


def gaps_of(symbol: str) -> Mapping[str, Gaps]:
    """By timeframe that is held but weeks, told by the catalogue of blocks without reading one."""
    sessions = calendar_of(symbol)
    return {
        timeframe: _gaps(np.unique(np.concatenate(days)), sessions)
        for timeframe, days in _days_held(symbol).items()
    }


def quality_of(symbol: str, timeframe: str) -> Quality | None:
    """Of the newest MOST_INSPECTED bars, adjusted for what is known of splits; None without one."""
    found = store.read_page(
        symbol, timeframe, start=None, end=None, limit=MOST_INSPECTED, adjusted=True
    )
    return _inspected(symbol, timeframe, found.candles)


def _inspected(symbol: str, timeframe: str, candles: Candles) -> Quality | None:
    if not len(candles):
        return None
    return inspect(symbol, candles, timeframe, calendar_of(symbol))


def _days_held(symbol: str) -> Mapping[str, list[Days]]:
    rows = CandleChunk.objects.filter(symbol=symbol).exclude(timeframe="1w").order_by()
    held: dict[str, list[Days]] = defaultdict(list)
    for timeframe, start, bits in rows.values_list("timeframe", "period_start", "days"):
        held[timeframe].append(candle_chunks.days_from_bits(bytes(bits), midnight(start)))
    for timeframe, bars in intraday_buffer.read(
        symbol, [name for name in TIMEFRAMES if name != "1w"]
    ).items():
        held[timeframe].append(ist_days(bars.time))
    return held


def _gaps(days: Days, sessions: Sessions) -> Gaps:
    missing = missing_days(days, sessions)
    years = np.unique(year_of(days))
    known = years if sessions.years is None else sessions.years
    return Gaps(
        days=len(days),
        missing=len(missing),
        gaps=tuple(_runs(missing, days))[-MOST_GAPS:],
        unchecked=tuple(years[~np.isin(years, known)].tolist()),
    )


def _runs(missing: Days, days: Days) -> Sequence[Gap]:
    """Missing sessions are in a row while the same number of held days comes before them."""
    if not len(missing):
        return ()
    before = np.searchsorted(days, missing)
    parts = np.split(missing, np.flatnonzero(np.diff(before)) + 1)
    return [Gap(_date(part[0]), _date(part[-1]), len(part)) for part in parts]


def _date(day: np.int32) -> date:
    found: date = np.datetime64(int(day), "D").item()
    return found
