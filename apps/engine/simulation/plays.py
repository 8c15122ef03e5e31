"""Plans played over a market: what the kernel leaves of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine import errors
from apps.engine.candles import Candles
from apps.engine.figures.equity import day_ends
from apps.engine.figures.facts import Facts
from apps.engine.kernel.codes import RUINED
from apps.engine.kernel.many import PLAN, At, Dated, Found, Sets, found_of, run_many
from apps.engine.kernel.reasons import CHARGE_KINDS, REJECTIONS
from apps.engine.kernel.records import TRADE, Array, Market, Out, Plan, check_shapes, new_state
from apps.engine.simulation.plan import Terms

Progress = Callable[[float], None]
Floats = NDArray[np.float64]

CELLS_AT_A_TIME = 1_000_000
"""Rows x symbols between two reports of progress: milliseconds of work."""
TRADES_AT_A_TIME = 1_000
"""Trades the kernel may write before it hands them over."""
EVERY_ROW = slice(None)


def to_nobody(done: float) -> None:
    """Progress that nobody asked for."""


class Part(NamedTuple):
    """Rows [first, end) of a market. Equity is kept at the close of each, or where there are
    `sampled` of those rows alone. `time` is that of the points of equity, and `day_ends` are the
    last of each date, where they are known.
    """

    first: int
    end: int
    time: NDArray[np.int64]
    sampled: NDArray[np.int64] | None = None
    day_ends: NDArray[np.int64] | None = None


def part_of(market: Market, rows: slice, *, by_days: bool) -> Part:
    """By days: equity is kept at the last row of each date alone."""
    first, end, _ = rows.indices(len(market.time))
    time = market.time[first:end]
    ends = day_ends(time)
    if by_days:
        return Part(first, end, time[ends], first + ends, np.arange(len(ends)))
    return Part(first, end, time, None, ends)


class Played(NamedTuple):
    """What the kernel left of a plan: what figures are made of, and the ACCOUNT record at the end.

    The trades are in the order of their exits.
    """

    facts: Facts
    account: Array

    @property
    def trades(self) -> Array:
        return self.facts.trades

    @property
    def time(self) -> NDArray[np.int64]:
        return self.facts.curve["time"]

    @property
    def equity(self) -> Floats:
        return self.facts.curve["equity"]

    @property
    def rejected(self) -> dict[str, int]:
        """Signals by the reason of their rejection."""
        return dict(zip(REJECTIONS, self.account["rejected"].tolist(), strict=True))

    @property
    def paid(self) -> dict[str, float]:
        """Rupees by kind of charge."""
        return dict(zip(CHARGE_KINDS, (self.account["paid"] / 100).tolist(), strict=True))

    @property
    def ruined(self) -> bool:
        return bool(self.account["status"] == RUINED)


def play(
    plan: Plan,
    market: Market,
    signals: NDArray[np.uint8],
    terms: Terms,
    *,
    capital: float,
    report: Progress,
    rows: slice = EVERY_ROW,
    candles: Sequence[Candles] = (),
) -> Played:
    """Step through the rows of the market, or some of them, then close what is open.

    `market` and `signals` are those of `timeline.cue`, `terms` and `candles` of the same symbols;
    figures beside prices need the candles.
    """
    first, end, _ = rows.indices(len(market.time))
    part = Part(first, end, market.time[first:end])
    return play_all(
        [plan], market, signals[np.newaxis], terms, [part], capital=capital, candles=candles,
        report=report, room=room_for(market, []),
    )[0]  # fmt: skip


class Room(NamedTuple):
    """Where is played: new memory would have to be made ready by the system for each play.

    `out` is what the kernel writes to, `equity` f8[plays, points] what stays of it.
    """

    out: Out
    equity: Floats

    by_days: bool  # it is for parts of which rows are sampled


def room_for(market: Market, parts: Sequence[Part], plans: int = 1) -> Room:
    """For so many plans at once in all of the parts, or where no rows are sampled one in one."""
    rows, symbols = market.cell.shape
    sampled = [len(one.sampled) for one in parts if one.sampled is not None]
    trades = np.empty(2 * symbols + TRADES_AT_A_TIME, TRADE)
    if not sampled:
        return Room(Out(trades, np.empty(0)), np.empty((1, rows)), by_days=False)
    equity = np.empty((plans * len(parts), max(sampled)))
    return Room(Out(trades, np.empty(0)), equity, by_days=True)


def play_all(
    plans: Sequence[Plan],
    market: Market,
    signals: NDArray[np.uint8],
    terms: Terms,
    parts: Sequence[Part],
    *,
    capital: float,
    candles: Sequence[Candles],
    report: Progress,
    room: Room,
) -> list[Played]:
    """Each plan, with its own of the signals u1[plans, rows, symbols], over each of the parts.

    `report` is told the fraction that is done, every CELLS_AT_A_TIME. Equity lies in `room` until
    that is used again. Raises TooManyTrades.
    """
    units = terms.units
    blank, state = (new_state(symbols=units.shape[1], cash=capital) for _ in range(2))
    check_shapes(state, market, signals[0], units[0], room.out)
    changes = np.searchsorted(market.day, terms.days)  # the rows in which units are new
    sets = _sets(plans, signals, parts)
    found = _found(room.equity[: len(plans) * len(parts)], parts)
    dated, most = Dated(changes, units, terms.rates), CELLS_AT_A_TIME // units.shape[1]
    at, drained = At(0, -1, 0), list[bytes]()
    while at.play < len(found.trades):
        at = run_many(state, blank, market, sets, dated, at, most, room.out, found)
        drained.append(room.out.trades[: at.trades].tobytes())
        if found.trades.max() > errors.MOST_TRADES:
            raise errors.TooManyTrades
        report(_done(at, parts) / len(found.trades))
    # As bytes and by `take`: NumPy joins and picks records a field at a time, 20 times as slow.
    trades, stop = np.frombuffer(b"".join(drained), TRADE), np.cumsum(found.trades).tolist()
    played = []
    for k, (begin, end) in enumerate(zip([0, *stop], stop, strict=False)):
        own = trades[begin:end]
        if units.shape[1] > 1:
            own = own.take(np.argsort(own["exit_time"], kind="stable"))
        curve, ends = _curve(market, parts[k % len(parts)], found, k)
        facts = Facts(own, curve, capital, candles, ends)
        curve["equity"][-1] = capital + facts.net  # the account's equity but for last bits
        played.append(Played(facts, found.accounts[k]))
    return played


def _sets(plans: Sequence[Plan], signals: NDArray[np.uint8], parts: Sequence[Part]) -> Sets:
    counts = [0 if one.sampled is None else len(one.sampled) for one in parts]
    begins = accumulate(counts, initial=0)
    edges = [
        (one.first, one.end, begin, begin + count)
        for one, begin, count in zip(parts, begins, counts, strict=False)
    ]
    return Sets(np.array(plans, PLAN), signals, np.array(edges, np.int64))


def _found(equity: Floats, parts: Sequence[Part]) -> Found:
    sampled = [one.sampled for one in parts if one.sampled is not None]
    return found_of(equity, np.concatenate([np.empty(0, np.int64), *sampled]))


def _done(at: At, parts: Sequence[Part]) -> float:
    """How many plays are done, and how much of the next one."""
    part = parts[at.play % len(parts)]
    return at.play + max(at.row - part.first, 0) / (part.end - part.first)


def _curve(
    market: Market, part: Part, found: Found, k: int
) -> tuple[dict[str, Array], NDArray[np.int64] | None]:
    """Of play `k`, and its points that end days, where they are known."""
    row, sampled, time, ends = int(found.rows[k]), part.sampled, part.time, part.day_ends
    points = len(time) if row == part.end else _points_before(row, part)  # or ruined
    if points < len(time) or row < part.end:
        time, ends = np.append(time[: points - 1], market.time[row - 1]), None
    begin = 0 if sampled is not None else part.first
    return {"time": time, "equity": found.equity[k, begin : begin + points]}, ends


def _points_before(row: int, part: Part) -> int:
    """Of equity, with that of the last row that was run."""
    if part.sampled is None:
        return row - part.first
    return int(np.searchsorted(part.sampled, row - 1)) + 1
