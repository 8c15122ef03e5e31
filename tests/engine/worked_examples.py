"""Worked examples of the strategy language: steps and candles, and the trades that they make.

Times are Indian. Charges and slippage are none unless the steps say so, a contract has lot 1 and
tick 0.05, and sessions are from 09:15 to 15:30.
"""

import json
from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from apps.engine.candles.candles import TIMEFRAMES, Candles
from apps.engine.candles.resampling import resample
from apps.engine.candles.sessions import Override, Regime, Sessions
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.language.strategy import parse
from apps.engine.simulation.simulate import simulate
from apps.engine.simulation.timeline import History, OtherSymbol

_INDIA = timezone(timedelta(hours=5, minutes=30))
_OPENS, _CLOSES = 33_300, 55_800
_EPOCH = date(1970, 1, 1)
_MILLIONTH = 6


class Outcome(NamedTuple):
    """The trades of an example as records of the wire, refusals by reason, and the last equity."""

    trades: list[dict[str, Any]]
    refused: dict[str, int]
    equity: float


@cache
def examples(part: str) -> dict[str, dict[str, Any]]:
    """Return a part of the examples, by id or name. Any: JSON."""
    text = Path(__file__).with_name("language_examples.json").read_text()
    return {entry.get("id") or entry["name"]: entry for entry in json.loads(text)[part]}


def expected(example: dict[str, Any]) -> Outcome:
    """Return the outcome that an example tells."""
    wanted = example["expected"]
    return Outcome(wanted["trades"], wanted["rejectedSignals"], wanted["finalEquity"])


def play(example: dict[str, Any]) -> Outcome:
    """Return the outcome of an example in the engine."""
    strategy = parse(example["steps"])
    calendar = sessions_of(example)
    read = [
        OtherSymbol(symbol, _in_timeframes(example, symbol, calendar, timeframes), calendar)
        for symbol, timeframes in strategy.read_symbols.items()
    ]
    histories = [
        History(
            symbol,
            candles_of(example["candles"][symbol]),
            calendar,
            higher_timeframes=_in_timeframes(
                example, symbol, calendar, strategy.higher_timeframe_warmups
            ),
            other_symbols=read,
        )
        for symbol in strategy.basicInfo.symbols
    ]
    capital = strategy.executionSettings.initialCapital
    result = simulate(strategy, histories, start=0, end=2**40, capital=capital)
    rejected: dict[str, int] = result.performance["rejectedSignals"]  # type: ignore[assignment]
    trades = [
        {
            "symbol": result.symbols[trade["symbol"]],
            "side": "long" if trade["side"] > 0 else "short",
            "quantity": float(trade["quantity"]),
            "entryTime": _clock(trade["entry_time"]),
            "entryPrice": round(float(trade["entry_price"]), _MILLIONTH),
            "exitTime": _clock(trade["exit_time"]),
            "exitPrice": round(float(trade["exit_price"]), _MILLIONTH),
            "exitReason": EXIT_REASONS[trade["reason"]],
            "profit": round(float(trade["gross"] - trade["charges"]), _MILLIONTH),
            "bars": int(trade["bars"]),
        }
        for trade in result.trades
    ]
    refused = {reason: count for reason, count in rejected.items() if count}
    return Outcome(trades, refused, round(float(result.curve["equity"][-1]), _MILLIONTH))


def _in_timeframes(
    example: dict[str, Any], symbol: str, calendar: Sessions, timeframes: Iterable[str]
) -> dict[str, Candles]:
    """Return the candles of a symbol in each timeframe."""
    timeframe = example["steps"]["basicInfo"]["timeframe"]
    candles = candles_of(example["candles"][symbol])
    until = int(candles.time[-1]) + TIMEFRAMES[timeframe]
    return {name: resample(candles, timeframe, name, calendar, until=until) for name in timeframes}


def candles_of(rows: list[list[Any]]) -> Candles:
    """Return rows of time, open, high, low, close and volume as candles."""
    times, opens, highs, lows, closes, volumes = zip(*rows, strict=True)
    return Candles.build(
        [int(_moment(time).timestamp()) for time in times],
        open=opens,
        high=highs,
        low=lows,
        close=closes,
        volume=volumes,
    )


def sessions_of(example: dict[str, Any]) -> Sessions:
    """Return the calendar of an example: its sessions, if it lists them, else all weekdays."""
    dates = [date.fromisoformat(day) for day in example.get("calendar", {}).get("sessions", ())]
    days = Counter((day - _EPOCH).days for day in dates)
    closed = [
        Override(day)
        for day in range(min(days, default=0), max(days, default=-1))
        if day not in days
    ]
    return Sessions.build([Regime(0, 40_000, _OPENS, _CLOSES)], closed)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=_INDIA)


def _clock(seconds: int) -> str:
    return datetime.fromtimestamp(int(seconds), _INDIA).strftime("%Y-%m-%dT%H:%M")
