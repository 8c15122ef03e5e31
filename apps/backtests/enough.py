"""Whether as much history is held as a backtest needs, told without running it."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import numpy as np
from django.conf import settings

from apps.backtests.coverage import days_of, last_days_of
from apps.backtests.histories import longer_candles
from apps.backtests.span import Span
from apps.core.errors import Code, ServiceError
from apps.engine.errors import LEAST_BARS
from apps.engine.indicators.longer import longer_of
from apps.engine.language import strategy as engine
from apps.engine.studies.configs import WalkForwardConfig
from apps.engine.studies.windows import sessions_needed
from apps.market import store
from apps.market.bar_counts import lower_bounds
from apps.market.calendars import calendar_of, calendars_of
from apps.market.coverage import SessionCoverage, coverage_of, stored_history_of

_SURELY_SEEN: Final = 2
"""So many candles more than the warm-up have begun when one more than it is over."""


class InsufficientData(ServiceError):
    """Too little history is held of a symbol for the asked range."""

    code = Code.INSUFFICIENT_DATA
    message = (
        "{symbol} has {barsInRange} bars in this range that are usable after a warm-up of"
        " {warmUpBars} bars of {timeframe}; {needed} are needed."
    )


class TooLittleCoverage(ServiceError):
    """Too few sessions of the asked range are held of a symbol."""

    code = Code.INSUFFICIENT_DATA
    message = (
        "{symbol} has bars on {heldSessions} of the {sessionsSince} sessions of this range since"
        " {since}, the first day that is held of it; {minimumPercentage} % are needed."
    )


class TooFewSessions(ServiceError):
    """Too few session days are held in the asked range for the windows of a walk-forward."""

    code = Code.INSUFFICIENT_DATA
    message = "{sessions} session days are held in this range; {windows} windows need {needed}."


def require_data(strategy: engine.Strategy, span: Span) -> None:
    """Refuse at once what cannot give a result: of each symbol, too few bars in the range at which
    all is known that the strategy reads.

    What is known at a bar stays known, so each timeframe is looked at by itself.
    """
    _require_own(strategy, span)
    for timeframe, warmup in engine.longer_warmups(strategy).items():
        for symbol in _unsure_of(strategy, timeframe, warmup, span):
            usable = _last_that_see(strategy, symbol, timeframe, warmup, span)
            if usable < LEAST_BARS:
                raise _too_little(symbol, timeframe, warmup, usable)


def _too_little(symbol: str, timeframe: str, warmup: int, usable: int) -> InsufficientData:
    return InsufficientData(
        symbol=symbol,
        timeframe=timeframe,
        barsInRange=usable,
        warmUpBars=warmup,
        needed=LEAST_BARS,
        **_held(symbol),
    )


def _held(symbol: str) -> dict[str, object]:
    """What is held of a symbol, as the details of a refusal say it."""
    rows = store.stored_timeframes(symbol)
    return {
        "held": rows,
        "firstBar": min((str(row["first"]) for row in rows), default=None),
        "lastBar": max((str(row["last"]) for row in rows), default=None),
    }


def require_coverage(strategy: engine.Strategy, span: Span, *, now: datetime) -> None:
    """Refuse at once a range of which a symbol holds less than BACKTEST_MIN_COVERAGE percent of
    the sessions since the first day that is held of it.
    """
    basic = strategy.basicInfo
    holdings = stored_history_of(basic.symbols, basic.timeframe)
    calendars = calendars_of(basic.symbols)
    first, last = days_of(span.start, span.end, now=now)
    coverages = [
        coverage_of(
            symbol, holdings[symbol], calendars[symbol], first_day=first, last_day=min(last, expiry)
        )
        for symbol, expiry in last_days_of(basic.symbols).items()
    ]
    require_least(coverages)


def require_least(coverages: Iterable[SessionCoverage]) -> None:
    """Raise TooLittleCoverage for the first coverage under BACKTEST_MIN_COVERAGE percent."""
    minimum = settings.BACKTEST_MIN_COVERAGE
    for coverage in coverages:
        if coverage.is_under(minimum, coverage.sessions_since):
            raise TooLittleCoverage(minimumPercentage=minimum, **coverage.to_wire())


def _require_own(strategy: engine.Strategy, span: Span) -> None:
    """Of the strategy's own timeframe."""
    basic, warmup = strategy.basicInfo, engine.warmup_bars(strategy)
    for symbol, (before, held) in store.insufficient_history(
        basic.symbols,
        basic.timeframe,
        start=span.start,
        end=span.end,
        within=LEAST_BARS,
        total=LEAST_BARS + warmup,
    ):
        raise _too_little(
            symbol, basic.timeframe, warmup, max(min(held, before + held - warmup), 0)
        )


def _unsure_of(strategy: engine.Strategy, timeframe: str, warmup: int, span: Span) -> Sequence[str]:
    """The symbols that need a closer look: the catalogue promises enough longer candles neither
    before the range nor, with bars after that, before the middle of it.
    """
    basic, unsure = strategy.basicInfo, strategy.basicInfo.symbols
    for moment in (span.start, (span.start + span.end) // 2):
        before = lower_bounds(unsure, timeframe, start=moment, end=moment)
        after = lower_bounds(unsure, basic.timeframe, start=moment, end=span.end)
        unsure = tuple(
            symbol
            for symbol in unsure
            if before[symbol].before < warmup + _SURELY_SEEN or after[symbol].within < LEAST_BARS
        )
    return unsure


def _last_that_see(
    strategy: engine.Strategy, symbol: str, timeframe: str, warmup: int, span: Span
) -> int:
    """How many of the last LEAST_BARS bars of the range see enough longer candles."""
    own = strategy.basicInfo.timeframe
    bars = store.read_page(symbol, own, start=None, end=span.end, limit=LEAST_BARS).candles
    candles = longer_candles(symbol, own, timeframe, start=span.start, end=span.end)
    seen = longer_of(bars, own, candles, timeframe, calendar_of(symbol)).seen
    return int(np.count_nonzero(seen >= warmup))


def require_sessions(strategy: engine.Strategy, span: Span, config: WalkForwardConfig) -> None:
    """Refuse at once a range whose windows would test on less than a day (engine rule 19)."""
    needed = sessions_needed(config.windows, config.trainRatio)
    basic = strategy.basicInfo
    held = store.count_days(
        basic.symbols, basic.timeframe, start=span.start, end=span.end, most=needed
    )
    if held < needed:
        raise TooFewSessions(sessions=held, needed=needed, windows=config.windows)
