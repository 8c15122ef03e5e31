"""The history of each symbol for a simulation: bars with their warm-up, sessions and contract."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Final

import numpy as np

from apps.alerts.services import alert_times
from apps.core.times import day_in_india, midnight
from apps.engine import EngineError, History, Note, OtherSymbol
from apps.engine.candles import DAY, TIMEFRAMES, Candles, CandleTable, Symbol, start_of_block
from apps.market.candles import (
    AdjustedCandles,
    find_split_candidates,
    payouts_of,
    read_adjusted,
    read_bars,
)
from apps.market.rulebook import MarketRules, calendars_of

# The splits that a note names.
_MAX_SPLITS_NAMED: Final = 5


class TooManyBars(EngineError):
    """The range has more history than a worker may read, or hold in memory."""

    def __init__(self, max_bars: int) -> None:
        super().__init__(
            f"The range holds more than {max_bars:,} bars over all symbols, the most that a worker"
            " may hold. Shorten it, or name fewer symbols or a longer timeframe."
        )


def load_histories(
    rules: MarketRules,
    *,
    owner_id: str,
    start: int,
    end: int,
    max_bars: int,
    on_progress: Callable[[float], None] = lambda done: None,
) -> list[History]:
    """Return the histories in the order of the symbols, which is also their trading order (engine
    rule 2), with the alerts that the owner received by the end.

    `on_progress` receives the fraction read after each symbol; its exceptions end the reading.
    Raises TooManyBars.
    """
    symbols = rules.strategy.basicInfo.symbols
    read = _read_other_symbols(rules, start=start, end=end)
    alerts = alert_times(
        owner_id=owner_id,
        names=rules.strategy.alert_names,
        symbols=symbols,
        until=end + TIMEFRAMES[rules.strategy.basicInfo.timeframe],  # the last bar may end then
    )
    histories, bars = [], sum(len(candles) for other in read for candles in other.candles.values())
    table = CandleTable.build(max_bars) if len(symbols) > 1 else None
    for symbol in symbols:
        history = _read(rules, symbol, start=start, end=end)
        bars += sum(map(len, (history.candles, *history.higher_timeframes.values())))
        if bars > max_bars:
            raise TooManyBars(max_bars)
        generated = [history.generated_until, *(other.generated_until for other in read)]
        history = replace(
            history,
            other_symbols=read,
            alerts=alerts[symbol],
            generated_until=max(filter(None, generated), default=None),
        )
        if table:
            history = replace(history, candles=table.add(history.candles))
        histories.append(history)
        on_progress(len(histories) / len(symbols))
    return histories


def _read_other_symbols(rules: MarketRules, *, start: int, end: int) -> list[OtherSymbol]:
    """Return the symbols that conditions read beside the traded ones."""
    own, read = rules.strategy.basicInfo.timeframe, rules.strategy.read_symbols
    calendars = calendars_of(list(read), rule_set=rules.rule_set) if read else {}
    other_symbols = []
    for symbol, timeframes in read.items():
        priced = {
            name: longer_candles(symbol, own, name, start=start, end=end) for name in timeframes
        }
        generated = (adjusted.generated_until for adjusted in priced.values())
        other_symbols.append(
            OtherSymbol(
                symbol,
                {name: adjusted.candles for name, adjusted in priced.items()},
                calendars[symbol],
                generated_until=max(filter(None, generated), default=None),
                notes=_adjustment_notes(symbol, *next(iter(priced.items()))[::-1]),
            )
        )
    return other_symbols


def _read(rules: MarketRules, symbol: str, *, start: int, end: int) -> History:
    """Return the history of a symbol with its contract and all notes."""
    timeframe = rules.strategy.basicInfo.timeframe
    adjusted = read_adjusted(
        symbol, timeframe, start=start, end=end, calendar=rules.sessions(symbol)
    )
    history = symbol_history(rules, symbol, adjusted.candles, start=start)
    longer = {
        name: longer_candles(symbol, timeframe, name, start=start, end=end)
        for name in rules.strategy.higher_timeframe_warmups
    }
    ends = (priced.generated_until for priced in (adjusted, *longer.values()))
    return replace(
        history,
        notes=(*_adjustment_notes(symbol, adjusted, timeframe), *history.notes),
        higher_timeframes={name: priced.candles for name, priced in longer.items()},
        underlying=underlying_candles(rules, symbol, start=start, end=end),
        days=official_days(history, timeframe, start=start, end=end),
        payouts=payouts_of(
            symbol, first=day_in_india(start), last=day_in_india(end), actions=adjusted.actions
        ),
        generated_until=max((end for end in ends if end is not None), default=None),
    )


def symbol_history(rules: MarketRules, symbol: str, candles: Candles, *, start: int) -> History:
    """Return the bars with the sessions and the contract of the symbol."""

    def price_on(day: date) -> float:
        """Return the close of the first bar of the range from that day on, else of the last bar."""
        since = max(start, midnight(day))
        at = min(int(np.searchsorted(candles.time, since)), len(candles) - 1)
        return float(candles.close[at]) if len(candles) else 0.0

    contract = rules.contract(symbol, price_on)
    return History(
        symbol,
        candles,
        rules.sessions(symbol),
        contract,
        notes=rules.notes(symbol),
        expiry_notes=rules.expiry_notes(symbol),
    )


def _adjustment_notes(symbol: str, adjusted: AdjustedCandles, timeframe: str) -> tuple[Note, ...]:
    """Return notes on corporate actions: adjusted ones, those of unknown effect, and likely missing
    splits.
    """
    missing = unadjusted_split_notes(symbol, adjusted.candles, timeframe)
    if adjusted.unpriced:
        unknown = ", ".join(f"{action.kind} of {action.ex_date}" for action in adjusted.unpriced)
        message = (
            f"Prices of {symbol} are not adjusted for: {unknown}. A fall on that day is no loss of"
            " a holder."
        )
        missing = (Note("unadjusted_action", message), *missing)
    if not adjusted.actions:
        return missing
    actions = ", ".join(
        f"{action.kind} {action.terms} of {action.ex_date}" for action in adjusted.actions
    )
    return (Note("adjusted_prices", f"Prices of {symbol} are adjusted for: {actions}."), *missing)


def unadjusted_split_notes(symbol: str, candles: Candles, timeframe: str) -> tuple[Note, ...]:
    """Return a note if the prices of a share fall from one day to the next as in a split."""
    if timeframe == "1w" or Symbol.parse(symbol).type != "equity":
        return ()
    splits = find_split_candidates(candles)
    if not splits:
        return ()
    ratios = ", ".join(
        f"{split.ratio.numerator}:{split.ratio.denominator} on {np.datetime64(split.day, 'D')}"
        for split in splits[:_MAX_SPLITS_NAMED]
    )
    message = f"Prices of {symbol} look split and are not adjusted for it: {ratios}."
    return (Note("looks_unadjusted", message),)


def longer_candles(symbol: str, own: str, longer: str, *, start: int, end: int) -> AdjustedCandles:
    """Return the longer candles that a simulation in the timeframe `own` can see (rule 11)."""
    return read_adjusted(symbol, longer, start=start_of_block(start, own), end=end)


def underlying_candles(rules: MarketRules, symbol: str, *, start: int, end: int) -> Candles | None:
    """Return the candles, as traded, of the underlying of an option that may be sold (engine rule
    6).
    """
    underlying, timeframe = rules.margin_underlying(symbol), rules.strategy.basicInfo.timeframe
    if underlying is None:
        return None
    since = start - History.UNDERLYING_DAYS * DAY - TIMEFRAMES[timeframe]
    return read_bars(underlying, timeframe, start=since, end=end)


def official_days(history: History, timeframe: str, *, start: int, end: int) -> Candles | None:
    """Return the daily candles that decide whether prices of a share may be locked (engine rule
    22).
    """
    if TIMEFRAMES[timeframe] >= DAY:
        return None
    if not history.may_be_locked(timeframe):
        return None
    return read_adjusted(
        history.symbol, "1d", start=start - History.CLOSE_DAYS * DAY, end=end
    ).candles
