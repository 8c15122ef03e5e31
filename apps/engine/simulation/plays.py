"""Plans played over a market: what the kernel leaves of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine import errors
from apps.engine.candles import Candles
from apps.engine.kernel.codes import AT_LIMIT, RUINED
from apps.engine.kernel.many import PLAN, Dated, Plays, Sets, Written, run_many
from apps.engine.kernel.reasons import CHARGE_KINDS, REJECTIONS
from apps.engine.kernel.records import (
    NOWHERE,
    POSITION,
    TRADE,
    Array,
    Market,
    Misfit,
    Out,
    Plan,
    State,
    check_shapes,
    new_state,
)
from apps.engine.metrics.equity import day_ends
from apps.engine.metrics.many import Told, facts_of, know_returns
from apps.engine.metrics.result_data import ResultData
from apps.engine.simulation.plan import NEVER, Terms

Progress = Callable[[float], None]
Floats = NDArray[np.float64]

CELLS_AT_A_TIME = 10_000_000
"""Rows x symbols between two reports of progress: some 20 ms of work."""
TRADES_AT_A_TIME = 1_000
"""Trades the kernel may write before it hands them over."""
CELLS_NEAR, LEAST_ROWS = 32_768, 1_024
"""Rows x symbols of which the bars stay in the cache while many plays are run over them."""
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

    facts: ResultData
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
        report=report, room=room_for(market, [part]),
    )[0]  # fmt: skip


class Room(NamedTuple):
    """Where is played: new memory would have to be made ready by the system for each play.

    `equity` is f8[plays, points].
    """

    written: Written
    equity: Floats
    by_days: bool  # it is for parts of which rows are sampled


def room_for(market: Market, parts: Sequence[Part], plans: int = 1) -> Room:
    """For so many plans at once in all of the parts."""
    rows, symbols = market.cell.shape
    sampled = [len(one.sampled) for one in parts if one.sampled is not None]
    plays = plans * len(parts)
    most = 2 * symbols + TRADES_AT_A_TIME * plays
    written = Written(np.empty(most, TRADE), np.empty(most, np.int64))
    return Room(written, np.empty((plays, max(sampled, default=rows))), bool(sampled))


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
    symbols = terms.units.shape[1]
    dated, sets = _dated(terms, market), _sets(plans, signals, parts)
    plays = _plays(len(plans), symbols, parts, capital, room)
    state = State(plays.accounts[:1], plays.positions[0])
    check_shapes(state, market, signals[0], terms.units[0], Out(room.written.trades, NOWHERE))
    if len(plays.equity) < len(plays.rows):
        raise Misfit("There is no room for so many plays.")
    trades, ends = _run(plays, sets, market, dated, written=room.written, report=report)
    told = [_told(market, parts[k % len(parts)], plays, k) for k in range(len(ends))]
    by_limit = plans[0].order_by == AT_LIMIT  # no number changes it
    facts = facts_of(trades, ends, told, capital, candles, by_limit=by_limit, flags=market.flags)
    for one in facts:
        one.curve["equity"][-1] = capital + one.net  # the account's equity but for last bits
    if room.by_days:
        know_returns(facts)
    return [Played(one, plays.accounts[k]) for k, one in enumerate(facts)]


def _run(
    plays: Plays, sets: Sets, market: Market, dated: Dated, *, written: Written, report: Progress
) -> tuple[Array, list[int]]:
    """All trades, one play after the other by their exits; and where those of each play end."""
    symbols, several = plays.positions.shape[1], len(plays.rows) > 1
    most, trades, owners = CELLS_AT_A_TIME // symbols, list[bytes](), list[NDArray[np.int64]]()
    stretch = max(CELLS_NEAR // symbols, LEAST_ROWS) if several else most
    while not plays.over.all():
        n = run_many(plays, sets, market, dated, stretch, most, written)
        trades.append(written.trades[:n].tobytes())
        owners.append(written.owners[:n].copy())
        if plays.accounts["trades"].max() > errors.MOST_TRADES:
            raise errors.TooManyTrades
        report(_done(plays, sets))
    # As bytes and by `take`: NumPy joins and picks records a field at a time, 20 times as slow.
    made, owner = np.frombuffer(b"".join(trades), TRADE), np.concatenate(owners)
    if symbols > 1:
        made = made.take(np.lexsort((made["exit_time"], owner)))
    elif several:  # those of a lone symbol are in order
        made = made.take(np.argsort(owner, kind="stable"))
    return made, np.cumsum(np.bincount(owner, minlength=len(plays.rows))).tolist()


def _dated(terms: Terms, market: Market) -> Dated:
    """The rows in which units are new, and those before which contracts end (rule 13)."""
    changes = np.searchsorted(market.day, terms.days)
    ends = np.searchsorted(market.time, terms.ends)
    in_order = np.argsort(terms.ends, kind="stable")
    ended = in_order[terms.ends[in_order] < NEVER]
    return Dated(changes, terms.units, terms.rates, ends[ended], ended)


def _sets(plans: Sequence[Plan], signals: NDArray[np.uint8], parts: Sequence[Part]) -> Sets:
    counts = [0 if one.sampled is None else len(one.sampled) for one in parts]
    begins = accumulate(counts, initial=0)
    edges = [
        (one.first, one.end, begin, begin + count)
        for one, begin, count in zip(parts, begins, counts, strict=False)
    ]
    return Sets(np.array(plans, PLAN), signals, np.array(edges, np.int64))


def _plays(plans: int, symbols: int, parts: Sequence[Part], capital: float, room: Room) -> Plays:
    """Each before its first row."""
    count, blank = plans * len(parts), new_state(symbols=symbols, cash=capital)
    sampled = [one.sampled for one in parts if one.sampled is not None]
    return Plays(
        np.repeat(blank.account, count),
        np.zeros((count, symbols), POSITION),
        np.tile(np.array([one.first for one in parts], np.int64), plans),
        np.zeros(count, np.bool_),
        np.concatenate([np.empty(0, np.int64), *sampled]),
        room.equity[:count],
    )


def _done(plays: Plays, sets: Sets) -> float:
    """How much of the rows of all."""
    first, end = sets.parts[:, 0], sets.parts[:, 1]
    whole = (end - first).sum() * len(sets.plans)
    return float((plays.rows.reshape(-1, len(first)) - first).sum() / whole)


def _told(market: Market, part: Part, plays: Plays, k: int) -> Told:
    """The curve of play `k`."""
    row, sampled, time, ends = int(plays.rows[k]), part.sampled, part.time, part.day_ends
    points = len(time) if row == part.end else _points_before(row, part)  # or ruined
    if points < len(time) or row < part.end:
        time, ends = np.append(time[: points - 1], market.time[row - 1]), None
    begin = 0 if sampled is not None else part.first
    return Told({"time": time, "equity": plays.equity[k, begin : begin + points]}, ends)


def _points_before(row: int, part: Part) -> int:
    """Of equity, with that of the last row that was run."""
    if part.sampled is None:
        return row - part.first
    return int(np.searchsorted(part.sampled, row - 1)) + 1
