"""Market rules as tables of bars: prices, signals, and the expected fills.

    play('''
    day 1
    1 | 100 101 99 100 | long       |
    2 | 100 102 97 101 | late       | long 100, stop_loss 98
    ''', stop_rate=0.02)

A line has four parts: bar (its time in minutes) | open high low close | marks | expected.

Marks are:

- signals: long, short, exit_long, exit_short, close_long, close_short;
- `late` (the bar starts after the square-off) and `last` (the session's last bar), both also with
  `delivery` (the contract is delivered after that session);
- `upper` and `lower`: the price is locked (rule 22);
- `margin 500`: the money that a sold unit locks beside its value;
- `levels stop 98 target 104 trail 99 share 0.5`: what operands say at the close, some of them;
- `atr 1` or `atr 1,2,3,4`: all ranges, or those of size, stop, target and trail;
- requests from outside before the bar: `kill_switch` or `stale_data` (it blocks entries), `let`
  (it unblocks them), `stop` (it closes positions) and `expire`.

Expected are the fills of that bar: a side with the position's average entry, an exit reason with
its price (of several parts the average), or `step` with the quantity and the price of a part.
Positions that are open after the last line are closed there (`end_of_data`). The reference
implementation also plays every table and must agree to the last bit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import frozen
from apps.engine.kernel import codes as c
from apps.engine.kernel import records as r
from apps.engine.kernel.reasons import EXIT_REASONS, REJECTIONS
from apps.engine.kernel.records import Plan
from tests.engine.random_cases import (
    Case,
    Outside,
    account_of,
    bars_of,
    fills_of,
    reduced,
    reference_of,
    rejected,
    run_to,
    waited,
)

SIGNALS = {
    "long": c.ENTER_LONG,
    "short": c.ENTER_SHORT,
    "exit_long": c.EXIT_LONG,
    "exit_short": c.EXIT_SHORT,
    "close_long": c.CLOSE_LONG,
    "close_short": c.CLOSE_SHORT,
}
ASKED = ("kill_switch", "stale_data", "let", "stop", "expire")
FLAGS = {
    "late": c.AFTER_SQUARE_OFF,
    "last": c.LAST_OF_SESSION,
    "delivery": c.BEFORE_DELIVERY,
    "upper": c.LOCKED_UP,
    "lower": c.LOCKED_DOWN,
}
SQUARES_OFF = c.AFTER_SQUARE_OFF | c.LAST_OF_SESSION
NO_RATES = np.zeros(0, r.RATE)


@dataclass
class Line:
    time: int
    day: int
    bar: tuple[float, ...]
    expected: list[str]
    signal: int = 0
    asked: str = ""
    flag: int = 0
    margin: float = 0.0
    volume: float = 0.0
    atr: tuple[float, ...] = (0.0,) * r.RANGES
    levels: tuple[float, ...] = (np.nan,) * r.LEVELS


@dataclass
class Played:
    """The result of a played table."""

    trades: NDArray[Any]
    fills: NDArray[Any]
    curve: list[float]
    account: Any  # an ACCOUNT record, after everything was closed
    rejected: dict[str, int]
    reduced: dict[str, int]
    waited: list[int]


def play(
    *tables: str,
    cash: float = 1_000_000.0,
    contract: Mapping[str, float] | None = None,
    rates: NDArray[Any] = NO_RATES,
    squaring: bool = False,
    **plan: Any,
) -> Played:
    """Play one table for each symbol and check its expectations; the size is 1 by default."""
    lines = [_read(table) for table in tables]
    flags = [line.flag for own in lines for line in own]
    squaring = squaring or (
        any(flag & SQUARES_OFF for flag in flags)
        and not any(flag & c.BEFORE_DELIVERY for flag in flags)
    )
    case = Case(
        *_market(lines, squaring or any(flags)),
        Plan(**{"max_positions": 50, "squares_off": squaring, **plan}),
        _contracts(len(tables), **(contract or {})),
        rates,
        cash,
        _outside(lines),
    )
    played = _run(case)
    for symbol, own in enumerate(lines):
        trades = played.trades[played.trades["symbol"] == symbol]
        for line in own:
            seen = _fills(trades, line.time) + _parts(played.fills, symbol, line.time)
            assert sorted(seen) == sorted(line.expected), f"bar {line.time}"
    return played


def _read(table: str) -> list[Line]:
    lines, day = [], 1
    for text in filter(None, map(str.strip, table.splitlines())):
        if text.startswith("day"):
            day = int(text.split()[1])
            continue
        time, prices, marks, expected = (part.strip() for part in text.split("|"))
        bar = tuple(map(float, prices.split()))
        line = Line(int(time), day, bar, [e.strip() for e in expected.split(",") if e.strip()])
        _mark(line, marks.split())
        lines.append(line)
    return lines


def _mark(line: Line, marks: list[str]) -> None:
    while marks:
        mark = marks.pop(0)
        if mark == "levels":
            line.levels = _levels(marks)
        elif mark == "atr":
            atr = tuple(map(float, marks.pop(0).split(",")))
            line.atr = atr * r.RANGES if len(atr) == 1 else (*atr, 0.0)
        elif mark == "volume":
            line.volume = float(marks.pop(0))
        elif mark == "margin":
            line.margin = float(marks.pop(0))
        elif mark in ASKED:
            line.asked = mark
        elif mark in FLAGS:
            line.flag |= FLAGS[mark]
        else:
            line.signal |= SIGNALS[mark]


def _levels(marks: list[str]) -> tuple[float, ...]:
    """Return the levels at the head of the marks, equal for both sides, and remove them."""
    columns = {
        "stop": (c.STOP_LEVEL, c.STOP_LEVEL + 1),
        "target": (c.TARGET_LEVEL, c.TARGET_LEVEL + 1),
        "trail": (c.TRAIL_LEVEL, c.TRAIL_LEVEL + 1),
        "share": (c.SHARE,),
    }
    levels = [np.nan] * r.LEVELS
    while marks and marks[0] in columns:
        name, value = marks.pop(0), float(marks.pop(0))
        for column in columns[name]:
            levels[column] = value
    return tuple(levels)


def _market(lines: list[list[Line]], squaring: bool) -> tuple[r.MarketRows, NDArray[np.uint8]]:
    days = {line.time: line.day for own in lines for line in own}
    times = sorted(days)
    cell = np.full((len(times), len(lines)), -1, np.int32)
    signals = np.zeros(cell.shape, np.uint8)
    flat = [(symbol, line) for symbol, own in enumerate(lines) for line in own]
    for index, (symbol, line) in enumerate(flat):
        cell[times.index(line.time), symbol] = index
        signals[times.index(line.time), symbol] = line.signal
    market = r.MarketRows(
        frozen(np.array(times, np.int64) * 60),
        np.array([days[time] for time in times], np.int32),
        cell,
        bars_of([line.bar for _, line in flat]),
        np.array([line.atr for _, line in flat]),
        np.array([line.flag for _, line in flat] if squaring else [], np.uint8),
        np.array([line.margin for _, line in flat] if any(line.margin for _, line in flat) else []),
        np.array([line.volume for _, line in flat]),
        np.array([line.levels for _, line in flat]),
    )
    return market, signals


def _outside(lines: list[list[Line]]) -> dict[int, Outside]:
    """Return the requests before each row, for one symbol."""
    outside, rejection = {}, None
    for row, line in enumerate(lines[0]):
        if line.asked in REJECTIONS:
            rejection = REJECTIONS.index(line.asked)
        if line.asked == "let":
            rejection = None
        expired, closed = ((0,) if line.asked == request else () for request in ("expire", "stop"))
        if line.asked:
            outside[row] = Outside(expired, rejection, closed)
    return outside


def _contracts(symbols: int, **fields: float) -> NDArray[Any]:
    contract = {"lot": 1.0, "multiplier": 1.0, "margin": 1.0, "tick": 500.0, "segment": 0, **fields}
    return np.array(
        [tuple(contract[name] for name in r.CONTRACT.names or ())] * symbols, r.CONTRACT
    )


def _run(case: Case) -> Played:
    rows = len(case.signals)
    fills, refusals = np.zeros(400, r.FILL), np.zeros(400, r.REFUSAL)
    running = run_to(
        case, out=r.SimulationOutput(np.zeros(200, r.TRADE), np.zeros(rows), fills, refusals)
    )
    running.finish()
    reference, outcome = reference_of(case), running.outcome
    reference.finish()
    trades, account = np.frombuffer(outcome.trades, r.TRADE), account_of(outcome)
    assert trades.tolist() == reference.trades
    assert np.frombuffer(outcome.curve).tolist() == reference.curve
    assert outcome.fills == fills_of(reference)
    assert np.frombuffer(outcome.refusals, r.REFUSAL).tolist() == reference.refusals
    assert account["paid"].tolist() == reference.paid
    assert rejected(outcome) == reference.rejected
    assert reduced(outcome) == reference.reduced
    assert waited(outcome) == reference.waited
    return Played(
        trades,
        np.frombuffer(outcome.fills, r.FILL),
        reference.curve,
        account,
        reference.rejected,
        reference.reduced,
        reference.waited,
    )


def _fills(trades: NDArray[Any], time: int) -> list[str]:
    entries = trades[trades["entry_time"] == time * 60]
    exits = trades[trades["exit_time"] == time * 60]
    sides = [f"{'long' if t['side'] > 0 else 'short'} {t['entry_price']:.10g}" for t in entries]
    return sides + [f"{EXIT_REASONS[t['reason']]} {t['exit_price']:.10g}" for t in exits]


def _parts(fills: NDArray[Any], symbol: int, time: int) -> list[str]:
    parts = fills[(fills["symbol"] == symbol) & (fills["time"] == time * 60)]
    parts = parts[parts["reason"] == c.BY_STEP]
    return [f"step {part['quantity']:.10g} at {part['price']:.10g}" for part in parts]
