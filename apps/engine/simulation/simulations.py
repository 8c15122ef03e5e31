"""Plans played over a market: what the kernel leaves of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine import errors
from apps.engine.candles import Candles
from apps.engine.kernel import kernel
from apps.engine.kernel.codes import AT_LIMIT, BY_EXPIRY, RUINED, RUNNING
from apps.engine.kernel.reasons import CHARGE_KINDS, REJECTIONS
from apps.engine.kernel.records import (
    NO_SAMPLING,
    PLAN,
    TRADE,
    Array,
    ArrayMismatch,
    Market,
    Output,
    Plan,
    Rules,
    Sampling,
    Span,
    State,
    check_shapes,
    new_states,
)
from apps.engine.metrics.batch import PlayCurve, fill_in_returns, result_data_of
from apps.engine.metrics.equity import day_ends
from apps.engine.metrics.result_data import ResultData
from apps.engine.simulation.plan import NEVER, Terms

Progress = Callable[[float], None]
Floats = NDArray[np.float64]

CELLS_AT_A_TIME = 10_000_000
"""Rows x symbols between two reports of progress: some 20 ms of work."""
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

    result_data: ResultData
    account: Array

    @property
    def trades(self) -> Array:
        return self.result_data.trades

    @property
    def time(self) -> NDArray[np.int64]:
        return self.result_data.curve["time"]

    @property
    def equity(self) -> Floats:
        return self.result_data.curve["equity"]

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


class TradedMarket(NamedTuple):
    """A market, the terms that it is traded by, and the candles of the same symbols, which figures
    beside prices need.
    """

    market: Market
    terms: Terms
    candles: Sequence[Candles] = ()


def play(
    plan: Plan,
    traded: TradedMarket,
    signals: NDArray[np.uint8],
    *,
    capital: float,
    report: Progress,
    rows: slice = EVERY_ROW,
) -> Played:
    """Step through the rows of the market, or some of them, then close what is open.

    `signals` are those of `Stage.cued`; figures beside prices need the candles of the market.
    """
    market = traded.market
    first, end, _ = rows.indices(len(market.time))
    part = Part(first, end, market.time[first:end])
    return play_all(
        [plan], traded, signals[np.newaxis], [part], capital=capital, report=report,
        room=room_for(market, [part]),
    )[0]  # fmt: skip


class Room(NamedTuple):
    """Where is played: new memory would have to be made ready by the system for each play.

    `equity` is f8[parts, plans, points]; `curve` f8[rows] is that of one play where rows are
    sampled.
    """

    trades: Array  # TRADE
    equity: Floats
    curve: Floats
    by_days: bool  # it is for parts of which rows are sampled


def room_for(market: Market, parts: Sequence[Part], plans: int = 1) -> Room:
    """For so many plans at once in all of the parts."""
    rows, symbols = market.cell.shape
    sampled = [len(part.sampled) for part in parts if part.sampled is not None]
    equity = np.empty((len(parts), plans, max(sampled, default=rows)))
    trades = np.empty(2 * symbols + plans * TRADES_AT_A_TIME, TRADE)
    return Room(trades, equity, np.empty(rows if sampled else 0), bool(sampled))


def play_all(
    plans: Sequence[Plan],
    traded: TradedMarket,
    signals: NDArray[np.uint8],
    parts: Sequence[Part],
    *,
    capital: float,
    report: Progress,
    room: Room,
) -> list[Played]:
    """Each plan, with its own of the signals u1[plans, symbols, rows], over each of the parts.

    `report` is told the fraction that is done, every CELLS_AT_A_TIME. Equity lies in `room` until
    that is used again. Raises TooManyTrades.
    """
    market, _, candles = traded
    if len(parts) > len(room.equity) or len(plans) > room.equity.shape[1]:
        raise ArrayMismatch("There is no room for so many plays.")
    batches = list[_Batch]()
    for part, equity in zip(parts, room.equity[:, : len(plans)], strict=False):
        batch = _Batch(plans, traded, signals, part, room._replace(equity=equity), capital=capital)
        for fraction in batch.run():
            report((len(batches) + fraction) / len(parts))
        batches.append(batch)
    pairs = [(batch, number) for number in range(len(plans)) for batch in batches]
    trades = [batch.trades_of(number) for batch, number in pairs]
    curves = [batch.curve_of(number) for batch, number in pairs]
    ends = np.cumsum([len(written) for written in trades]).tolist()
    by_limit = plans[0].order_by == AT_LIMIT  # no number changes it
    joined = np.frombuffer(b"".join(written.tobytes() for written in trades), TRADE)
    results = result_data_of(
        joined, ends, curves, capital, candles, by_limit=by_limit, flags=market.flags
    )
    for result in results:
        result.curve["equity"][-1] = capital + result.net  # the account's equity but for last bits
    if room.by_days:
        fill_in_returns(results)
    accounts = [batch.states.account[number] for batch, number in pairs]
    return [Played(*both) for both in zip(results, accounts, strict=True)]


class _Segment(NamedTuple):
    """Rows up to `stop` in which contracts are the same, and the slots whose contracts then end."""

    stop: int
    contracts: Array
    ending: Sequence[int]


def _segments(market: Market, part: Part, terms: Terms) -> list[_Segment]:
    """Divide a part where contracts change or end (rule 13)."""
    changes = np.searchsorted(market.day, terms.days)
    ends = np.searchsorted(market.time, terms.ends)
    within = [row for row in (*changes.tolist(), *ends.tolist()) if part.first < row < part.end]
    segments, row = list[_Segment](), part.first
    for stop in sorted({*within, part.end}):
        contracts = terms.units[np.searchsorted(changes, row, side="right")]
        order = np.argsort(terms.ends, kind="stable")
        ending = order[(ends[order] == stop) & (terms.ends[order] < NEVER)].tolist()
        segments.append(_Segment(stop, contracts, ending))
        row = stop
    return segments


class _Batch:
    """Plans over some rows of a market."""

    def __init__(
        self, plans: Sequence[Plan], traded: TradedMarket, signals: NDArray[np.uint8], part: Part,
        room: Room, *, capital: float,
    ) -> None:  # fmt: skip
        market, terms = traded.market, traded.terms
        self.market, self.terms, self.signals, self.part = market, terms, signals, part
        self.states = new_states(terms.instruments, len(plans), cash=capital)
        self._rules = Rules(np.array(plans, PLAN), terms.instruments, terms.units[0], terms.rates)
        self._output = Output(room.trades, room.equity)
        sampled = part.sampled
        self._sampling = NO_SAMPLING if sampled is None else Sampling(sampled, room.curve)
        self._written: list[list[bytes]] = [[] for _ in plans]
        curve = room.equity[0] if sampled is None else room.curve
        first = State(self.states.account[:1], self.states.positions[0], self.states.orders[0])
        check_shapes(
            first, market, signals[0], self._rules._replace(plan=self._rules.plan[:1]),
            self._output._replace(equity=curve),
        )  # fmt: skip
        if not len(signals) == len(room.equity) == len(plans):
            raise ArrayMismatch("Each plan has its own signals and equity.")

    def run(self) -> Iterator[float]:
        """Step through the part's rows and close what is open; yield the fraction that is done."""
        row, end = self.part.first, self.part.end
        most = max(CELLS_AT_A_TIME // self.states.positions.size, 1)
        for segment in _segments(self.market, self.part, self.terms):
            self._rules = self._rules._replace(contracts=segment.contracts)
            while row < segment.stop:
                stop = min(segment.stop, row + most)
                self._run_rows(row, stop, NEVER if segment.ending else end)
                row = stop
                yield (row - self.part.first) / (end - self.part.first)
            for slot in segment.ending:
                self._settle(slot)
        self._run_rows(end, end, end)  # closes what is still open

    def trades_of(self, number: int) -> Array:
        """TRADE records in the order of their exits, once all rows are run."""
        # As bytes and by `take`: NumPy joins and picks records a field at a time, 20 times as slow.
        trades = np.frombuffer(b"".join(self._written[number]), TRADE)
        if self.states.positions.shape[1] == 1:
            return trades
        return trades.take(np.argsort(trades["exit_time"], kind="stable"))

    def curve_of(self, number: int) -> PlayCurve:
        """The equity at the rows that are kept; the last row of a ruined account ends it."""
        part, equity = self.part, self._output.equity[number]
        end = part.first + int(self.states.account["rows"][number])
        time, rows, ends = part.time, part.sampled, part.day_ends
        if end < part.end:
            time, ends = self.market.time[part.first : end], None
            if rows is not None:
                rows = np.append(rows[rows < end - 1], end - 1)
                time = self.market.time[rows]
        points = equity[part.first : end] if rows is None else equity[: len(rows)]
        return PlayCurve({"time": time, "equity": points}, ends)

    def _run_rows(self, first: int, stop: int, end: int) -> None:
        number, row, accounts = 0, first, self.states.account
        while number < len(accounts):
            before = accounts["trades"].copy()
            number, row, trades, _, _ = kernel.run_all(
                self.states, self.market, self.signals, self._rules, self._output, self._sampling,
                Span(first, stop, number, row, end),
            )  # fmt: skip
            if trades:
                self._keep(np.cumsum(accounts["trades"] - before).tolist())
            if accounts["trades"].max() > errors.MOST_TRADES:
                raise errors.TooManyTrades

    def _settle(self, slot: int) -> None:
        """Let the contract of a slot expire for every plan that has money."""
        accounts, positions, orders = self.states
        for number in np.flatnonzero(accounts["status"] == RUNNING).tolist():
            state = State(accounts[number : number + 1], positions[number], orders[number])
            rules = self._rules._replace(plan=self._rules.plan[number : number + 1])
            output = self._output._replace(equity=self._output.equity[number])
            if trades := kernel.settle(state, rules, output, slot, BY_EXPIRY):
                self._written[number].append(self._output.trades[:trades].tobytes())

    def _keep(self, ends: Sequence[int]) -> None:
        """Take the trades over, which end there for each plan."""
        for written, (begin, end) in zip(self._written, pairwise([0, *ends]), strict=True):
            if begin < end:
                written.append(self._output.trades[begin:end].tobytes())
