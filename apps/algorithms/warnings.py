"""Warnings about a complete strategy from masters, market rules and its own limits."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Final

import numpy as np

from apps.alerts.services import first_alerts
from apps.algorithms.configuration import to_fault
from apps.core.errors import Fault
from apps.core.times import INDIA, day_number
from apps.engine.candles import DAY, TIMEFRAMES, Sessions, Symbol
from apps.engine.language import Strategy
from apps.market.candles import stored_history_of
from apps.market.rulebook import (
    CONTRACT_EXPIRED,
    DEFAULT_BROKER,
    RuleSet,
    broker_names,
    calendars_of,
    expired_among,
    expiry_of,
    lot_of,
    sessions_of,
    untradable_symbols,
)
from apps.symbols import services as symbols
from apps.symbols.services import SymbolCheck

# A window of entries over night with so few candles names the end of a session.
_SHORT_WINDOW: Final = 3


def warnings_of(
    strategy: Strategy,
    *,
    owner_id: str,
    now: datetime,
    rule_set: RuleSet,
    calendars: Mapping[str, Sessions] | None = None,
) -> Iterator[Fault]:
    """Check the strategy against the masters and the rule set at `now`, and the owner's alerts.

    The number of statements does not grow with its symbols; `calendars` of its symbols are read if
    needed and not given.
    """
    today = now.astimezone(INDIA).date()
    verdicts = symbols.check_all(symbols=strategy.basicInfo.symbols, now=now)
    if TIMEFRAMES[strategy.basicInfo.timeframe] < DAY:
        calendars = calendars or calendars_of(strategy.basicInfo.symbols, rule_set=rule_set)
        yield from _square_offs_out_of_session(strategy, calendars, today)
        yield from _windows_at_the_end(strategy, calendars, today)
    yield from read_symbols_without_candles(strategy)
    yield from names_without_alerts(strategy, owner_id=owner_id)
    yield from _less_than_lots(strategy, rule_set, verdicts, today)
    if strategy.size_warning is not None:
        yield to_fault(strategy.size_warning)
    yield from _unknown_broker(strategy, rule_set)
    yield from _delivery_shorts(strategy, verdicts)
    yield from _volume_of_indexes(strategy, verdicts)
    expired = expired_among(strategy.basicInfo.symbols, rule_set=rule_set, now=now)
    reasons = {
        **dict.fromkeys(expired, CONTRACT_EXPIRED),
        **dict(untradable_symbols(strategy, rule_set=rule_set, day=today)),
    }
    for index, verdict in enumerate(verdicts):
        if reason := _untradable_reason(verdict, reasons.get(verdict.symbol)):
            yield Fault(f"basicInfo.symbols[{index}]", f"{verdict.symbol} {reason}")


def _candles_of_a_session(
    strategy: Strategy, calendars: Mapping[str, Sessions], today: date
) -> Iterator[tuple[str, range, int]]:
    """Yield, for each symbol, the starts of candles and the close of an ordinary session, in
    seconds since midnight.

    The hours are those in force today, holiday or not; symbols with unknown hours are left out.
    """
    day = np.array([day_number(today)], np.int32)
    for symbol, sessions in calendars.items():
        opens, closes = (int(hour[0]) for hour in sessions.regular_hours(day))
        if opens >= 0:
            yield symbol, range(opens, closes, TIMEFRAMES[strategy.basicInfo.timeframe]), closes


def _windows_at_the_end(
    strategy: Strategy, calendars: Mapping[str, Sessions], today: date
) -> Iterator[Fault]:
    """Warn of entry hours that no candle before the square-off fills, and of short ones at the
    session's end whose signals are filled on another day.

    A signal trades at the open of the next candle, and an intraday entry never waits for another
    session (engine rules 1 and 9).
    """
    windows = {path: window.seconds for path, window in strategy.entry_windows() if window.seconds}
    overnight = not strategy.is_intraday and strategy.exitConditions.squareOffTime is None
    for symbol, candles, closes in _candles_of_a_session(strategy, calendars, today):
        end = strategy.last_entry(closes)
        for path, (begin, to) in windows.items():
            starts = [start for start in candles if begin <= start < to]
            if not starts:
                continue
            last = _clock(starts[-1])
            if overnight and starts[-1] == candles[-1] and len(starts) <= _SHORT_WINDOW:
                message = (
                    f"{symbol}: this window's last candle, {last}, is the session's last: its"
                    " signal is filled at the next session's first open. For an entry on the day"
                    f" itself end the window at {last}."
                )
                yield Fault(path, message)
            elif not overnight and starts[0] + candles.step >= end:
                message = (
                    "No candle of this window can be filled before the square-off at"
                    f" {_clock(end)}."
                )
                yield Fault(path, message)


def read_symbols_without_candles(strategy: Strategy) -> Iterator[Fault]:
    """Warn of other symbols of which nothing is stored that the conditions can read."""
    own = strategy.basicInfo.timeframe
    for path, operand, candles in strategy.operands():
        symbol, timeframe = operand.on, candles.timeframe or own
        if symbol and not len(stored_history_of([symbol], timeframe)[symbol].days):
            message = f"No candles of {symbol} are stored that make {timeframe}: load them first."
            yield Fault(path, message)


def names_without_alerts(strategy: Strategy, *, owner_id: str) -> Iterator[Fault]:
    """Warn of conditions on alerts of which none has come yet."""
    came = first_alerts(owner_id=owner_id, names=strategy.alert_names)
    for path, condition in strategy.alert_signals():
        if condition.name not in came:
            message = "No alert of this name has come yet. Until one does, the condition is false."
            yield Fault(f"{path}.name", message, condition.name)


def _square_offs_out_of_session(
    strategy: Strategy, calendars: Mapping[str, Sessions], today: date
) -> Iterator[Fault]:
    """Warn of a square-off before the opening or after the last candle of an ordinary session.

    Entries stop at the square-off, which happens at the open of a candle (engine rule 9).
    """
    square_off, timeframe = strategy.exitConditions.squareOffTime, strategy.basicInfo.timeframe
    if square_off is None:
        return
    for symbol, candles, closes in _candles_of_a_session(strategy, calendars, today):
        opens, last_candle, message = candles[0], candles[-1], ""
        if square_off <= _clock(opens):
            message = f"{symbol} opens at {_clock(opens)}: nothing is entered from {square_off} on."
        elif square_off >= _clock(closes):
            message = f"{symbol} closes at {_clock(closes)}: {square_off} is never reached."
        elif square_off > _clock(last_candle):
            message = (
                f"The last {timeframe} candle of {symbol} starts at {_clock(last_candle)}:"
                f" no candle starts at {square_off} or later."
            )
        if message:
            yield Fault("exitConditions.squareOffTime", message, square_off)


def _clock(seconds: int) -> str:
    """Return seconds since midnight as HH:MM."""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}"


def _less_than_lots(
    strategy: Strategy, rule_set: RuleSet, verdicts: Sequence[SymbolCheck], today: date
) -> Iterator[Fault]:
    """Warn of a quantity that is rounded down to zero lots (engine rule 6)."""
    sizing = strategy.positionSizing
    if sizing.method != "fixed_quantity":
        return
    for verdict in verdicts:
        instrument = verdict.instrument
        terms = symbols.terms_from(instrument, today) if instrument else None
        expiry = expiry_of(
            Symbol.parse(verdict.symbol), sessions_of(verdict.symbol, rule_set=rule_set)
        )
        lot, _ = lot_of(rule_set, verdict.symbol, terms, expiry)
        if sizing.quantity < lot:
            message = f"{verdict.symbol} comes in lots of {lot:g}: a smaller entry is never filled"
            yield Fault("positionSizing.quantity", f"{message} (below_one_lot).", sizing.quantity)


def _unknown_broker(strategy: Strategy, rule_set: RuleSet) -> Iterator[Fault]:
    """Warn of a broker whose prices are unknown: the default broker's charges then apply."""
    broker, charges = strategy.executionSettings.broker, strategy.executionSettings.charges
    if not broker or charges == "none":
        return
    known = broker_names(rule_set)
    if broker.strip().lower() not in known:
        message = (
            f"No prices of the broker {broker} are known: charged as {DEFAULT_BROKER}."
            f" Known are {', '.join(known)}."
        )
        yield Fault("executionSettings.broker", message, broker)


def _delivery_shorts(strategy: Strategy, verdicts: Sequence[SymbolCheck]) -> Iterator[Fault]:
    """Warn of shares that are sold short and held overnight, which exchanges do not allow."""
    position_type = strategy.entryConditions.positionType
    if strategy.is_intraday or position_type == "long":
        return
    shares = [verdict.symbol for verdict in verdicts if verdict.type == "equity"]
    if shares:
        message = f"{', '.join(shares)} sold short in delivery: exchanges allow that intraday only."
        yield Fault("entryConditions.positionType", message, position_type)


def _volume_of_indexes(strategy: Strategy, verdicts: Sequence[SymbolCheck]) -> Iterator[Fault]:
    """Warn of conditions on the volume of an index: it has no volume, so they are unknown (engine
    rule 11).
    """
    indexes = [verdict.symbol for verdict in verdicts if verdict.type == "index"]
    if not indexes:
        return
    for path, operand, candles in strategy.volume_operands():
        if candles.symbol:
            continue  # it reads the volume of another symbol
        message = (
            f"{operand.type} reads the volume, and an index has none of its own. Without it a"
            f" condition on {operand.type} is never true: {', '.join(indexes)}."
        )
        yield Fault(path, message)


def _untradable_reason(verdict: SymbolCheck, missing_rule: str | None) -> str:
    if not verdict.tradable or missing_rule:
        return f"cannot be traded: {verdict.reason or missing_rule}"
    return "is an index: it can be simulated, not bought" if verdict.type == "index" else ""
