"""Plans played over a market: what the kernel leaves of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine import errors
from apps.engine.candles import Candles
from apps.engine.kernel import kernel
from apps.engine.kernel.codes import AT_LIMIT, BY_EXPIRY, RUINED, RUNNING
from apps.engine.kernel.reasons import CHARGE_KINDS, REJECTIONS
from apps.engine.kernel.records import (
    TRADE,
    Array,
    ArrayMismatch,
    Market,
    Output,
    Plan,
    Rules,
    check_shapes,
    new_state,
    rules_of,
)
from apps.engine.lazy import lazy
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


class TradedMarket(NamedTuple):
    """A market, the terms that it is traded by, and the candles of the same symbols, which figures
    beside prices need.
    """

    market: Market
    terms: Terms
    candles: Sequence[Candles] = ()


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
        [plan], TradedMarket(market, terms, candles), signals[np.newaxis], [part], capital=capital,
        report=report, room=room_for(market, [part]),
    )[0]  # fmt: skip


class Room(NamedTuple):
    """Where is played: new memory would have to be made ready by the system for each play.

    `equity` is f8[plays, points]; `curve` f8[rows] is that of one play where rows are sampled.
    """

    trades: Array  # TRADE
    equity: Floats
    curve: Floats
    by_days: bool  # it is for parts of which rows are sampled


def room_for(market: Market, parts: Sequence[Part], plans: int = 1) -> Room:
    """For so many plans at once in all of the parts."""
    rows, symbols = market.cell.shape
    sampled = [len(one.sampled) for one in parts if one.sampled is not None]
    equity = np.empty((plans * len(parts), max(sampled, default=rows)))
    trades = np.empty(2 * symbols + TRADES_AT_A_TIME, TRADE)
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
    market, terms, candles = traded
    count = len(plans) * len(parts)
    if len(room.equity) < count:
        raise ArrayMismatch("There is no room for so many plays.")
    simulations, curves = list[_Simulation](), list[Told]()
    segments = [_segments(market, part, terms) for part in parts]
    for plan, signals_of_plan in zip(plans, signals, strict=True):
        rules = rules_of(plan, terms.instruments, terms.units[0], terms.rates)
        for part, segments_of_part in zip(parts, segments, strict=True):
            done, equity = len(simulations), room.equity[len(simulations)]
            output = Output(room.trades, equity if part.sampled is None else room.curve)
            simulation = _Simulation(market, signals_of_plan, rules, output, capital)
            for fraction in simulation.run(part, segments_of_part):
                report((done + fraction) / count)
            simulations.append(simulation)
            curves.append(_curve(market, part, simulation, equity))
    ends = np.cumsum([len(one.trades) for one in simulations]).tolist()
    by_limit = plans[0].order_by == AT_LIMIT  # no number changes it
    trades = np.frombuffer(b"".join([one.trades.tobytes() for one in simulations]), TRADE)
    facts = facts_of(trades, ends, curves, capital, candles, by_limit=by_limit, flags=market.flags)
    for one in facts:
        one.curve["equity"][-1] = capital + one.net  # the account's equity but for last bits
    if room.by_days:
        know_returns(facts)
    accounts = [one.state.account[0] for one in simulations]
    return [Played(*both) for both in zip(facts, accounts, strict=True)]


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


class _Simulation:
    """One plan over some rows of a market."""

    def __init__(
        self, market: Market, signals: NDArray[np.uint8], rules: Rules, output: Output,
        capital: float,
    ) -> None:  # fmt: skip
        self.market, self.signals, self.rules, self.output = market, signals, rules, output
        self.state = new_state(rules.instruments, cash=capital)
        self.row = 0
        self._written = list[bytes]()
        check_shapes(self.state, market, signals, rules, output)

    @lazy
    def trades(self) -> Array:
        """TRADE records in the order of their exits, once all rows are run."""
        # As bytes and by `take`: NumPy joins and picks records a field at a time, 20 times as slow.
        trades = np.frombuffer(b"".join(self._written), TRADE)
        if len(self.state.positions) == 1:
            return trades
        return trades.take(np.argsort(trades["exit_time"], kind="stable"))

    @property
    def is_running(self) -> bool:
        return bool(self.state.account["status"][0] == RUNNING)

    def run(self, part: Part, segments: Sequence[_Segment]) -> Iterator[float]:
        """Step through the part's rows and close what is open; yield the fraction that is done."""
        self.row = part.first
        for stop, contracts, ending in segments:
            self.rules = self.rules._replace(contracts=contracts)
            while self.row < stop and self.is_running:
                self._run_rows(stop)
                yield (self.row - part.first) / (part.end - part.first)
            for slot in ending if self.is_running else ():
                self._keep(kernel.settle(self.state, self.rules, self.output, slot, BY_EXPIRY))
            if not self.is_running:
                break
        self._keep(kernel.finish(self.state, self.rules, self.output))

    def _run_rows(self, stop: int) -> None:
        most = max(CELLS_AT_A_TIME // len(self.state.positions), 1)
        progress = kernel.run(
            self.state, self.market, self.signals, self.rules, self.output, self.row,
            min(stop, self.row + most),
        )  # fmt: skip
        self.row = progress.row
        self._keep(progress.trades)
        if self.state.account["trades"][0] > errors.MOST_TRADES:
            raise errors.TooManyTrades

    def _keep(self, trades: int) -> None:
        if trades:
            self._written.append(self.output.trades[:trades].tobytes())


def _curve(market: Market, part: Part, simulation: _Simulation, points: Floats) -> Told:
    """The equity of a part at the rows that are kept; the last row of a ruined account ends it.

    `points` is memory for it.
    """
    row, equity = simulation.row, simulation.output.equity
    time, rows, ends = part.time, part.sampled, part.day_ends
    if row < part.end:
        time, ends = market.time[part.first : row], None
        if rows is not None:
            rows = np.append(rows[rows < row - 1], row - 1)
            time = market.time[rows]
    if rows is None:
        return Told({"time": time, "equity": equity[part.first : row]}, ends)
    points[: len(rows)] = equity[rows]
    return Told({"time": time, "equity": points[: len(rows)]}, ends)
