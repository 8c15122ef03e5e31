"""Why there was, or was no, entry at a candle of a completed backtest."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from apps.accounts.models import User
from apps.backtests import results
from apps.backtests.histories import MOST_BARS, histories_of
from apps.backtests.kinds import Kind
from apps.backtests.models import Backtest
from apps.backtests.results import Trades
from apps.core.errors import Code, Fault, InvalidInput, ServiceError
from apps.engine import strategy as engine
from apps.engine.candles import TIMEFRAMES
from apps.engine.errors import EngineError
from apps.engine.explain import SideFound, ranges_known, sides_at
from apps.engine.results import wire_times
from apps.engine.strategy import Strategy
from apps.engine.timeline import Track, track_of
from apps.engine.verdict import Bar, Told, Verdict, verdict
from apps.market.contracts import rules_of
from apps.market.moments import day_in_india

KINDS: Final = (Kind.BACKTEST, Kind.MONTE_CARLO)
"""The others try many configurations: their trades are not those of one."""


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
class Explanation:
    """`trade` is the one that the verdict speaks of, as clients see trades; prices in rupees."""

    symbol: str
    strategy: Strategy
    candle: dict[str, object]
    sides: list[SideFound]
    verdict: Verdict
    trade: dict[str, object] | None


def explain(*, owner: User, backtest_id: str, symbol: str, at: int) -> Explanation:
    """At the candle of a symbol of the backtest that holds the moment `at` (epoch seconds).

    Computed over the candles that are held now. Raises BacktestNotFound, NotCompleted,
    NotOneConfiguration, InvalidInput, NoCandle, HistoryGone.
    """
    backtest = results.completed(owner=owner, backtest_id=backtest_id)
    if backtest.kind not in KINDS:
        raise NotOneConfiguration(kind=backtest.kind)
    if symbol not in backtest.symbols:
        raise InvalidInput(
            Fault("symbol", "is none of this backtest's", symbol, allowed=backtest.symbols)
        )
    strategy = engine.parse(backtest.configuration)
    try:
        track = _track(backtest, strategy, symbol)
        place = _candle_at(track, strategy, at)
        bar = len(track.used) - len(track.candles) + place
        sides = sides_at(strategy, track, bar)
        known = ranges_known(strategy, track, bar)
    except EngineError as refusal:
        raise HistoryGone(reason=str(refusal)) from refusal
    trades, curve = results.whole(backtest)
    found = verdict(
        strategy,
        _bar(track, place, backtest.symbols.index(symbol)),
        [one.side for one in sides if one.signal],
        Told(trades.records, curve, float(backtest.initial_capital), _rejected(backtest)),
        ranges_known=known,
    )
    return Explanation(
        symbol,
        strategy,
        _candle(track, place),
        sides,
        found,
        _trade(trades, found, backtest),
    )


def _track(backtest: Backtest, strategy: Strategy, symbol: str) -> Track:
    """What the backtest read of one symbol, read again."""
    info = strategy.basicInfo.model_copy(update={"symbols": (symbol,)})
    alone = strategy.model_copy(update={"basicInfo": info})
    rules = rules_of(alone, first=day_in_india(backtest.start), last=day_in_india(backtest.end))
    (history,) = histories_of(
        rules,
        start=backtest.start,
        end=backtest.end,
        most_bars=MOST_BARS,
        on_progress=lambda done: None,
    )
    return track_of(alone, history, backtest.start, backtest.end)


def _candle_at(track: Track, strategy: Strategy, at: int) -> int:
    """The number, in the range, of the candle that holds the moment. Raises NoCandle."""
    time = track.candles.time
    place = int(np.searchsorted(time, at, side="right")) - 1
    if place < 0 or at >= time[place] + TIMEFRAMES[strategy.basicInfo.timeframe]:
        near = {"before": time[max(place, 0) : place + 1], "after": time[place + 1 : place + 2]}
        nearest = {name: wire_times(found)[0] for name, found in near.items() if len(found)}
        raise NoCandle(symbol=track.symbol, nearest=nearest)
    return place


def _bar(track: Track, place: int, symbol: int) -> Bar:
    time, flags = track.candles.time, track.flags
    after = place + 1
    return Bar(
        symbol,
        int(time[place]),
        int(time[after]) if after < len(time) else None,
        int(flags[after]) if after < len(flags) else 0,
    )


def _rejected(backtest: Backtest) -> dict[str, int]:
    counted: dict[str, int] = (backtest.performance or {}).get("rejectedSignals", {})
    return counted


def _candle(track: Track, place: int) -> dict[str, object]:
    one = track.candles.slice(place, place + 1)
    names = ("open", "high", "low", "close", "volume")
    prices = {name: float(getattr(one, name)[0]) for name in names}
    return {"time": wire_times(one.time)[0], **prices}


def _trade(trades: Trades, found: Verdict, backtest: Backtest) -> dict[str, object] | None:
    if found.trade is None:
        return None
    return trades.of(slice(found.trade, found.trade + 1)).told(backtest.symbols)[0]
