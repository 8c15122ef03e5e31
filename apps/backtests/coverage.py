"""How much of a backtest's range is held of its symbols, and the warning of too little."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from apps.engine.candles import DAY, IST, Candles
from apps.engine.sessions import session_bars
from apps.engine.simulation.timeline import History, Note
from apps.market.coverage import (
    SessionCoverage,
    coverage_of,
    history_of_bars,
    stored_history_of,
)
from apps.market.dates import day_in_india, day_number
from apps.symbols.services import expiries_of

LEAST_PERCENT: Final = 90
"""Under this share of the range's sessions a warning leads the report."""
_MOST_NAMED: Final = 5
_NO_END: Final = 2**31 - 1


def days_of(start: int, end: int, *, now: datetime) -> tuple[int, int]:
    """The first and the last date (day numbers) of the range from `start` to before `end` (epoch
    seconds) that are over at `now`.
    """
    return _day(start), min(_day(end - 1), _day(int(now.timestamp())) - 1)


def last_days_of(symbols: Sequence[str]) -> Mapping[str, int]:
    """By symbol, in the given order, the day number of its last session; of shares there is none
    before the end of time.
    """
    expiries = expiries_of(symbols)
    return {
        symbol: day_number(expiries[symbol]) if symbol in expiries else _NO_END
        for symbol in symbols
    }


def coverage_of_histories(
    histories: Sequence[History],
    timeframe: str,
    *,
    start: int,
    end: int,
    now: datetime,
    include_out_of_session: bool,
    since: Mapping[str, int | None],
) -> list[SessionCoverage]:
    """The coverage of the range of a simulation by the bars that it reads in it; `since` is by
    symbol the first day that is held of it.
    """
    first, last = days_of(start, end, now=now)
    coverages = []
    for history in histories:
        bars = history.candles.between(start, end)
        if not include_out_of_session:
            bars = session_bars(bars, timeframe, history.sessions)
        assert history.sessions is not None  # every symbol of a market has a calendar
        coverages.append(
            coverage_of(
                history.symbol,
                history_of_bars(bars, timeframe, since=since[history.symbol]),
                history.sessions,
                first_day=first,
                last_day=_last_day(bars, last, history.contract.ends),
            )
        )
    return coverages


def first_held_days(symbols: Collection[str], timeframe: str) -> Mapping[str, int | None]:
    """By symbol the first day that is held of it in any timeframe."""
    return {symbol: held.since for symbol, held in stored_history_of(symbols, timeframe).items()}


def warning_of(coverages: Sequence[SessionCoverage]) -> list[Note]:
    """A note if of any symbol less than LEAST_PERCENT of the range's sessions are held."""
    low = [
        coverage for coverage in coverages if coverage.is_under(LEAST_PERCENT, coverage.sessions)
    ]
    if not low:
        return []
    named = "; ".join(_in_words(coverage) for coverage in low[:_MOST_NAMED])
    more = f"; and {len(low) - _MOST_NAMED} symbols more" if len(low) > _MOST_NAMED else ""
    message = (
        f"Little of the range is held: {named}{more}. The figures speak of the held sessions alone."
    )
    return [Note("low_coverage", message)]


def receipt_with(
    receipt: Mapping[str, object], coverages: Sequence[SessionCoverage]
) -> dict[str, object]:
    """The receipt of a result with the coverage of its range, whose warning leads the notes."""
    notes: Any = receipt["notes"]
    return {
        **receipt,
        "coverage": [coverage.to_wire() for coverage in coverages],
        "notes": [*map(asdict, warning_of(coverages)), *notes],
    }


def _in_words(coverage: SessionCoverage) -> str:
    times = (coverage.first_bar, coverage.last_bar)
    dates = [day_in_india(time) for time in times if time is not None]
    span = f", from {dates[0]} to {dates[1]}" if dates else ""
    return (
        f"{coverage.symbol} has bars on {coverage.held_sessions:,} of {coverage.sessions:,}"
        f" sessions ({coverage.percentage:g} %){span}"
    )


def _last_day(bars: Candles, last: int, contract_ends: int | None) -> int:
    """Not before the last bar, whose session may be under way, nor after a contract's end."""
    last = max(last, _day(int(bars.time[-1]))) if len(bars) else last
    return last if contract_ends is None else min(last, _day(contract_ends))


def _day(time: int) -> int:
    return (time + IST) // DAY
