"""The checks for sufficient stored history, before a backtest is queued."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import numpy as np
from django.conf import settings

from apps.backtests.running.histories import longer_candles
from apps.backtests.running.range_coverage import last_session_days, past_days
from apps.backtests.running.submissions import DateRange
from apps.core.errors import Code, ServiceError
from apps.engine import History
from apps.engine.candles import TIMEFRAME_SECONDS
from apps.engine.language import AlignedCandles, Strategy
from apps.engine.results import METRICS
from apps.engine.studies import WalkForwardConfig
from apps.market.candles import (
    SessionCoverage,
    count_days,
    coverage_of,
    insufficient_history,
    lower_bounds,
    read_page,
    stored_history_of,
    stored_timeframes,
)
from apps.market.rulebook import calendar_of, calendars_of

# When one candle more than the warm-up is complete, so many more than the warm-up have begun.
_BEGUN_CANDLES: Final = 2


class InsufficientHistory(ServiceError):
    """Too little history of a symbol is stored for the range."""

    code = Code.INSUFFICIENT_DATA
    message = (
        "{symbol} has {barsInRange} bars in this range that are usable after a warm-up of"
        " {warmUpBars} bars of {timeframe}; {needed} are needed."
    )


class TooLittleCoverage(ServiceError):
    """A symbol has bars on too few sessions of the range."""

    code = Code.INSUFFICIENT_DATA
    message = (
        "{symbol} has bars on {heldSessions} of the {sessionsSince} sessions of this range since"
        " {since}, its first stored day; {minimumPercentage} % are needed."
    )


class TooFewStoredSessions(ServiceError):
    """Too few session days of the range are stored for the windows of a walk-forward."""

    code = Code.INSUFFICIENT_DATA
    message = "{sessions} session days are stored in this range; {windows} windows need {needed}."


class WindowsTooShort(ServiceError):
    """The windows of a walk-forward test on too few days for an annual figure."""

    code = Code.INSUFFICIENT_DATA
    message = (
        "{sessions} session days are stored in this range; {objective} needs {needed}: {windows}"
        " windows with tests of at least {least} days each. Choose {fitting} instead, fewer"
        " windows, or a longer range."
    )


def require_bars(strategy: Strategy, date_range: DateRange) -> None:
    """Require enough bars of each symbol in the range at which every indicator has its warm-up.

    An indicator that has its warm-up at a bar keeps it, so each timeframe is checked separately.
    Raises InsufficientHistory.
    """
    basic, warmup = strategy.basicInfo, strategy.warmup_bars
    for symbol, (before, stored) in insufficient_history(
        basic.symbols,
        basic.timeframe,
        start=date_range.start,
        end=date_range.end,
        within=History.LEAST_BARS,
        total=History.LEAST_BARS + warmup,
    ):
        usable = max(min(stored, before + stored - warmup), 0)
        raise _insufficient_history(symbol, basic.timeframe, warmup, usable)
    for timeframe, warmup in strategy.higher_timeframe_warmups.items():
        for symbol in _symbols_to_inspect(strategy, timeframe, warmup, date_range):
            usable = _count_usable_bars(strategy, symbol, timeframe, warmup, date_range)
            if usable < History.LEAST_BARS:
                raise _insufficient_history(symbol, timeframe, warmup, usable)
    for symbol, timeframes in strategy.read_symbols.items():
        for timeframe, warmup in timeframes.items():
            _require_bars_of_read_symbol(symbol, timeframe, warmup, date_range)


def _require_bars_of_read_symbol(
    symbol: str, timeframe: str, warmup: int, date_range: DateRange
) -> None:
    """Require enough bars of a symbol that conditions read, before the range or in it."""
    for _, (before, stored) in insufficient_history(
        [symbol],
        timeframe,
        start=date_range.start,
        end=date_range.end,
        within=1,
        total=History.LEAST_BARS + warmup,
    ):
        usable = max(min(stored, before + stored - warmup), 0)
        raise _insufficient_history(symbol, timeframe, warmup, usable)


def _insufficient_history(
    symbol: str, timeframe: str, warmup: int, usable: int
) -> InsufficientHistory:
    stored = stored_timeframes(symbol)
    return InsufficientHistory(
        symbol=symbol,
        timeframe=timeframe,
        barsInRange=usable,
        warmUpBars=warmup,
        needed=History.LEAST_BARS,
        held=stored,
        firstBar=min((str(row["first"]) for row in stored), default=None),
        lastBar=max((str(row["last"]) for row in stored), default=None),
    )


def require_coverage(strategy: Strategy, date_range: DateRange, *, now: datetime) -> None:
    """Require bars of each symbol on BACKTEST_MIN_COVERAGE percent of the range's sessions since
    its first stored day.

    Raises TooLittleCoverage.
    """
    basic = strategy.basicInfo
    stored = dict(stored_history_of(basic.symbols, basic.timeframe))
    for symbol, timeframes in strategy.read_symbols.items():
        shortest = min(timeframes, key=TIMEFRAME_SECONDS.__getitem__)
        stored.setdefault(symbol, stored_history_of([symbol], shortest)[symbol])
    calendars = calendars_of(list(stored))
    first, last = past_days(date_range.start, date_range.end, now=now)
    coverages = [
        coverage_of(
            symbol, stored[symbol], calendars[symbol], first_day=first, last_day=min(last, expiry)
        )
        for symbol, expiry in last_session_days(calendars).items()
    ]
    require_min_coverage(coverages)


def require_min_coverage(coverages: Iterable[SessionCoverage]) -> None:
    """Raise TooLittleCoverage for the first coverage below BACKTEST_MIN_COVERAGE percent."""
    minimum = settings.BACKTEST_MIN_COVERAGE
    for coverage in coverages:
        if coverage.is_under(minimum, coverage.sessions_since):
            raise TooLittleCoverage(minimumPercentage=minimum, **coverage.to_wire())


def _symbols_to_inspect(
    strategy: Strategy, timeframe: str, warmup: int, date_range: DateRange
) -> Sequence[str]:
    """Return the symbols whose candles must be read to decide.

    For these the catalogue does not guarantee enough longer candles before the range, or before its
    middle with bars after it.
    """
    basic, symbols = strategy.basicInfo, strategy.basicInfo.symbols
    for moment in (date_range.start, (date_range.start + date_range.end) // 2):
        before = lower_bounds(symbols, timeframe, start=moment, end=moment)
        after = lower_bounds(symbols, basic.timeframe, start=moment, end=date_range.end)
        symbols = tuple(
            symbol
            for symbol in symbols
            if before[symbol].before < warmup + _BEGUN_CANDLES
            or after[symbol].within < History.LEAST_BARS
        )
    return symbols


def _count_usable_bars(
    strategy: Strategy, symbol: str, timeframe: str, warmup: int, date_range: DateRange
) -> int:
    """Count the bars with enough longer candles, among the last LEAST_BARS of the range."""
    own = strategy.basicInfo.timeframe
    bars = read_page(symbol, own, start=None, end=date_range.end, limit=History.LEAST_BARS).candles
    longer = longer_candles(symbol, own, timeframe, start=date_range.start, end=date_range.end)
    seen = AlignedCandles.of(bars, own, longer.candles, timeframe, calendar_of(symbol)).seen
    return int(np.count_nonzero(seen >= warmup))


def require_sessions(strategy: Strategy, date_range: DateRange, config: WalkForwardConfig) -> None:
    """Require sessions for windows that test on at least a day each (engine rule 19), or on more
    days if the objective is annual.

    Raises TooFewStoredSessions, WindowsTooShort.
    """
    basic = strategy.basicInfo
    least = config.test_days(basic.timeframe)
    needed = config.sessions_needed()
    wanted = config.sessions_needed(days=least)
    sessions = count_days(
        basic.symbols, basic.timeframe, start=date_range.start, end=date_range.end, most=wanted
    )
    if sessions < needed:
        raise TooFewStoredSessions(sessions=sessions, needed=needed, windows=config.windows)
    if sessions < wanted:
        raise WindowsTooShort(
            sessions=sessions,
            needed=wanted,
            windows=config.windows,
            least=least,
            objective=config.objective,
            fitting=METRICS[config.objective].annual,
        )
