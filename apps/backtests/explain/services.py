"""Why there was, or was no, entry at a candle of a completed backtest, and what of the positions
that lived in it.
"""

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from apps.accounts.models import User
from apps.backtests import results
from apps.backtests.histories import MAX_BARS, load_histories
from apps.backtests.models import Backtest, BacktestKind
from apps.backtests.results import Trades
from apps.core.errors import Code, ServiceError
from apps.engine.candles import TIMEFRAMES
from apps.engine.errors import EngineError
from apps.engine.language import strategy as engine
from apps.engine.language.conditions import Side
from apps.engine.language.strategy import Strategy
from apps.engine.simulation.explain import (
    SideFound,
    exits_at,
    opposite_at,
    ranges_known,
    sides_at,
    signals_at,
)
from apps.engine.simulation.levels import Levels, levels_of, orders_reached
from apps.engine.simulation.plan import Contract
from apps.engine.simulation.results import wire_times
from apps.engine.simulation.timeline import Track, track_of
from apps.engine.simulation.verdict import Bar, Told, Verdict, lived_at, verdict
from apps.market.contracts import market_rules_of
from apps.market.dates import day_in_india

# The other kinds try many configurations: their trades are not those of one.
EXPLAINABLE_KINDS: Final = (BacktestKind.BACKTEST, BacktestKind.MONTE_CARLO)


class NotOneConfiguration(ServiceError):
    """A study whose trades come from several configurations."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The trades of a {kind} are not those of one configuration; run a plain backtest."


class NoCandle(ServiceError):
    """The backtest read no candle that holds the moment."""

    code = Code.NOT_FOUND
    message = "No candle of {symbol} in this backtest holds that moment."


class HistoryGone(ServiceError):
    """Candles or rules that the backtest read are not there any more."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "This cannot be read again: {reason}"


@dataclass(frozen=True, slots=True)
class Lived:
    """A position that lived in the candle: its trade as clients see it, and whether that ended
    there; the levels that it was held against, None where they are not known; what speaks for an
    exit at the candle's close: `conditions`, and the opposite signal, None where that closes none.
    """

    trade: dict[str, object]
    ended: bool
    levels: Levels | None
    conditions: SideFound
    opposite: bool | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """`trade` is the one that the verdict speaks of, as clients see trades; prices in rupees."""

    symbol: str
    strategy: Strategy
    candle: dict[str, object]
    sides: list[SideFound]
    verdict: Verdict
    trade: dict[str, object] | None
    positions: list[Lived]


class _Seen(NamedTuple):
    """What the backtest read of one symbol, read again, and the candle's number in its range."""

    backtest: Backtest
    strategy: Strategy
    contract: Contract
    track: Track
    place: int

    @property
    def bar(self) -> int:
        """The candle's number in `track.used`."""
        return len(self.track.used) - len(self.track.candles) + self.place

    @property
    def symbol(self) -> int:
        """Its place among those of the backtest."""
        return results.symbol_index(self.track.symbol, self.backtest)

    @property
    def time(self) -> int:
        return int(self.track.candles.time[self.place])


def explain(*, owner: User, backtest_id: str, symbol: str, at: int) -> Explanation:
    """At the candle of a symbol of the backtest that holds the moment `at` (epoch seconds).

    Computed over the candles that are held now. Raises BacktestNotFound, NotCompleted,
    NotOneConfiguration, InvalidInput, NoCandle, HistoryGone.
    """
    backtest = results.fetch_completed(owner=owner, backtest_id=backtest_id)
    if backtest.kind not in EXPLAINABLE_KINDS:
        raise NotOneConfiguration(kind=backtest.kind)
    results.symbol_index(symbol, backtest)
    trades, curve = results.load_result(backtest)
    try:
        seen = _seen(backtest, symbol, at)
        sides = sides_at(seen.strategy, seen.track, seen.bar)
        signals = signals_at(sides, seen.strategy, seen.track, seen.bar)
        known = ranges_known(seen.strategy, seen.track, seen.bar)
        positions = [
            _lived(seen, trades, index)
            for index in lived_at(trades.records, seen.symbol, seen.time)
        ]
    except EngineError as refusal:
        raise HistoryGone(reason=str(refusal)) from refusal
    found = verdict(
        seen.strategy,
        _bar(seen),
        signals,
        Told(trades.records, curve, float(backtest.initial_capital), _rejected(backtest)),
        ranges_known=known,
    )
    trade = None if found.trade is None else _trade(trades, found.trade, backtest)
    return Explanation(symbol, seen.strategy, _candle(seen), sides, found, trade, positions)


def _seen(backtest: Backtest, symbol: str, at: int) -> _Seen:
    """Raises NoCandle, and what the engine refuses."""
    strategy = engine.parse(backtest.configuration)
    info = strategy.basicInfo.model_copy(update={"symbols": (symbol,)})
    alone = strategy.model_copy(update={"basicInfo": info})
    rules = market_rules_of(
        alone, first=day_in_india(backtest.start), last=day_in_india(backtest.end)
    )
    (history,) = load_histories(
        rules,
        start=backtest.start,
        end=backtest.end,
        max_bars=MAX_BARS,
        on_progress=lambda done: None,
    )
    track = track_of(alone, history, backtest.start, backtest.end)
    return _Seen(backtest, strategy, history.contract, track, _candle_at(track, strategy, at))


def _candle_at(track: Track, strategy: Strategy, at: int) -> int:
    """The number, in the range, of the candle that holds the moment. Raises NoCandle."""
    time = track.candles.time
    place = int(np.searchsorted(time, at, side="right")) - 1
    if place < 0 or at >= time[place] + TIMEFRAMES[strategy.basicInfo.timeframe]:
        near = {"before": time[max(place, 0) : place + 1], "after": time[place + 1 : place + 2]}
        nearest = {name: wire_times(found)[0] for name, found in near.items() if len(found)}
        raise NoCandle(symbol=track.symbol, nearest=nearest)
    return place


def _lived(seen: _Seen, trades: Trades, index: int) -> Lived:
    strategy, track, bar = seen.strategy, seen.track, seen.bar
    record = trades.records[index]
    side: Side = "long" if record["side"] > 0 else "short"
    return Lived(
        trade=_trade(trades, index, seen.backtest),
        ended=bool(record["exit_time"] == seen.time),
        levels=levels_of(record, strategy, seen.contract, track, bar),
        conditions=exits_at(side, strategy, track, bar),
        opposite=opposite_at(side, strategy, track, bar),
    )


def _bar(seen: _Seen) -> Bar:
    time, opens, flags = seen.track.candles.time, seen.track.candles.open, seen.track.flags
    after = seen.place + 1
    return Bar(
        seen.symbol,
        seen.time,
        int(time[after]) if after < len(time) else None,
        int(flags[after]) if after < len(flags) else 0,
        float(opens[after]) if after < len(opens) else math.nan,
        orders_reached(seen.strategy, seen.contract, seen.track.candles, seen.place),
    )


def _rejected(backtest: Backtest) -> dict[str, int]:
    counted: dict[str, int] = (backtest.performance or {}).get("rejectedSignals", {})
    return counted


def _candle(seen: _Seen) -> dict[str, object]:
    one = seen.track.candles.slice(seen.place, seen.place + 1)
    names = ("open", "high", "low", "close", "volume")
    prices = {name: float(getattr(one, name)[0]) for name in names}
    return {"time": wire_times(one.time)[0], **prices}


def _trade(trades: Trades, index: int, backtest: Backtest) -> dict[str, object]:
    return trades.select(slice(index, index + 1)).to_wire(backtest.symbols)[0]
