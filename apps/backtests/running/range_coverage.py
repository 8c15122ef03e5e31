"""The stored share of a backtest's range for its symbols, and the warning of low coverage."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from apps.backtests.running.receipts import CoveredReceipt
from apps.core.times import day_in_india, day_number
from apps.engine import History, Note
from apps.engine.candles import DAY, IST, TIMEFRAME_SECONDS, Candles, Sessions, in_session
from apps.engine.results import SimulationReceipt
from apps.market.candles import SessionCoverage, coverage_of, history_of_bars
from apps.market.rulebook import expiry_dates

# Below this share of the range's sessions a warning leads the report.
WARNING_PERCENT: Final = 90
_MAX_NAMED: Final = 5
_NO_END: Final = 2**31 - 1


def coverage_of_histories(
    histories: Sequence[History],
    timeframe: str,
    *,
    start: int,
    end: int,
    now: datetime,
    include_out_of_session: bool,
    since: Mapping[str, int | None],
) -> Iterator[SessionCoverage]:
    """Yield the coverage of the range by the bars that a simulation reads: of the traded symbols,
    then of the other ones that conditions read.

    `since` has the first stored day of each symbol.
    """
    first, last = past_days(start, end, now=now)
    for history in histories:
        bars = history.candles.between(start, end)
        if not include_out_of_session:
            bars = bars.select(in_session(bars.time, timeframe, history.sessions))
        assert history.sessions is not None  # every symbol of a market has a calendar
        coverage = coverage_of(
            history.symbol,
            history_of_bars(bars, timeframe, since=since[history.symbol]),
            history.sessions,
            first_day=first,
            last_day=_last_day(bars, last, history.contract.ends),
        )
        yield replace(coverage, generated_until=history.generated_until)
    traded = {history.symbol for history in histories}
    for other in histories[0].other_symbols:
        if other.symbol not in traded:
            timeframe_read = min(other.candles, key=TIMEFRAME_SECONDS.__getitem__)
            bars = other.candles[timeframe_read].between(start, end)
            assert other.sessions is not None  # every symbol of a market has a calendar
            coverage = coverage_of(
                other.symbol,
                history_of_bars(bars, timeframe_read, since=since[other.symbol]),
                other.sessions,
                first_day=first,
                last_day=_last_day(bars, last, None),
            )
            yield replace(coverage, generated_until=other.generated_until)


def past_days(start: int, end: int, *, now: datetime) -> tuple[int, int]:
    """Return the first and last day number of a range, limited to days that are over at `now`.

    The range goes from `start` to before `end`, in epoch seconds.
    """
    return _day(start), min(_day(end - 1), _day(int(now.timestamp())) - 1)


def _last_day(bars: Candles, last: int, contract_ends: int | None) -> int:
    """Return `last`, but not before the last bar, whose session may not be over, nor after the
    contract's end.
    """
    last = max(last, _day(int(bars.time[-1]))) if len(bars) else last
    return last if contract_ends is None else min(last, _day(contract_ends))


def _day(time: int) -> int:
    return (time + IST) // DAY


def last_session_days(calendars: Mapping[str, Sessions]) -> Mapping[str, int]:
    """Return the day number of each symbol's last session, by their calendars: the expiry, or never
    for a share.
    """
    expiries = expiry_dates(calendars)
    return {
        symbol: day_number(expiries[symbol]) if symbol in expiries else _NO_END
        for symbol in calendars
    }


def low_coverage_notes(coverages: Sequence[SessionCoverage]) -> list[Note]:
    """Return a note if any symbol has bars on less than WARNING_PERCENT of the range's sessions."""
    low = [
        coverage for coverage in coverages if coverage.is_under(WARNING_PERCENT, coverage.sessions)
    ]
    if not low:
        return []
    named = "; ".join(_describe(coverage) for coverage in low[:_MAX_NAMED])
    more = f"; and {len(low) - _MAX_NAMED} symbols more" if len(low) > _MAX_NAMED else ""
    message = (
        f"Low coverage of the range: {named}{more}. The metrics describe these sessions alone."
    )
    return [Note("low_coverage", message)]


def add_coverage(
    receipt: SimulationReceipt, coverages: Sequence[SessionCoverage]
) -> CoveredReceipt:
    """Return the receipt with the coverage of the range; its warning leads the notes."""
    return {
        **receipt,
        "coverage": [coverage.to_wire() for coverage in coverages],
        "notes": [*(note.to_wire() for note in low_coverage_notes(coverages)), *receipt["notes"]],
    }


def _describe(coverage: SessionCoverage) -> str:
    times = (coverage.first_bar, coverage.last_bar)
    dates = [day_in_india(time) for time in times if time is not None]
    span = f", from {dates[0]} to {dates[1]}" if dates else ""
    return (
        f"{coverage.symbol} has bars on {coverage.held_sessions:,} of {coverage.sessions:,}"
        f" sessions ({coverage.percentage:g} %){span}"
    )
