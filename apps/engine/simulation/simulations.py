"""Plans simulated over a market: the kernel's output for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine import errors
from apps.engine.candles.candles import Candles
from apps.engine.kernel import kernel
from apps.engine.kernel.codes import AT_LIMIT, BY_EXPIRY, RUINED, RUNNING
from apps.engine.kernel.reasons import CHARGE_KINDS, REDUCTIONS, REJECTIONS, WAITS
from apps.engine.kernel.records import (
    FILL,
    FILLS_A_ROW,
    NO_FILLS,
    NO_SAMPLING,
    PLAN,
    TRADE,
    Array,
    ArrayMismatch,
    MarketRows,
    Plan,
    Rules,
    Sampling,
    SimulationOutput,
    Span,
    State,
    check_shapes,
    new_states,
)
from apps.engine.results.batch import SimulationCurve, fill_in_returns, result_data_of
from apps.engine.results.equity import day_ends
from apps.engine.results.result_data import ResultData
from apps.engine.simulation.plan import NEVER, Terms

ReportProgress = Callable[[float], None]
Floats = NDArray[np.float64]

CELLS_AT_A_TIME = 10_000_000
"""Rows x symbols between two reports of progress: some 20 ms of work."""
TRADES_AT_A_TIME = 1_000
"""Trades the kernel may write before it hands them over."""
EVERY_ROW = slice(None)


def ignore_progress(done: float) -> None:
    """Ignore progress."""


class RowRange(NamedTuple):
    """Rows [first, end) of a market.

    Equity is stored at the close of each row, or only of the `sampled` ones. `time` has the times
    of the points of equity, and `day_ends` are the last of each date, if known.
    """

    first: int
    end: int
    time: NDArray[np.int64]
    sampled: NDArray[np.int64] | None = None
    day_ends: NDArray[np.int64] | None = None


def row_range_of(market: MarketRows, rows: slice, *, by_days: bool) -> RowRange:
    """Return the range; `by_days` stores equity only at the last row of each date."""
    first, end, _ = rows.indices(len(market.time))
    time = market.time[first:end]
    ends = day_ends(time)
    if by_days:
        return RowRange(first, end, time[ends], first + ends, np.arange(len(ends)))
    return RowRange(first, end, time, None, ends)


class Simulation(NamedTuple):
    """The kernel's output for a plan: the data of its metrics, and the account at the end.

    The trades are in the order of their exits; `fills` are in order of time, if requested.
    """

    result_data: ResultData
    account: Array
    fills: Array = NO_FILLS

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
        """The rejected signals, counted by reason."""
        return dict(zip(REJECTIONS, self.account["rejected"].tolist(), strict=True))

    @property
    def reduced(self) -> dict[str, int]:
        """The entries with fewer lots than their sizing, counted by the tightest limit."""
        return dict(zip(REDUCTIONS, self.account["reduced"].tolist(), strict=True))

    @property
    def waited(self) -> dict[str, int]:
        """The exits that waited at a locked price, and their bars in all."""
        return dict(zip(WAITS, self.account["waited"].tolist(), strict=True))

    @property
    def paid(self) -> dict[str, float]:
        """The rupees paid by kind of charge."""
        return dict(zip(CHARGE_KINDS, (self.account["paid"] / 100).tolist(), strict=True))

    @property
    def ruined(self) -> bool:
        return bool(self.account["status"] == RUINED)


class TradedMarket(NamedTuple):
    """A market, its terms of trading, and the candles of the same symbols for figures beside
    prices.
    """

    market: MarketRows
    terms: Terms
    candles: Sequence[Candles] = ()


def simulate_plan(
    plan: Plan,
    traded: TradedMarket,
    signals: NDArray[np.uint8],
    *,
    capital: float,
    report: ReportProgress,
    rows: slice = EVERY_ROW,
    keep_fills: bool = False,
) -> Simulation:
    """Step through the rows of the market, or some of them, then close open positions.

    `signals` come from `PreparedData.with_signals`; metrics beside prices need the candles.
    """
    market = traded.market
    first, end, _ = rows.indices(len(market.time))
    row_range = RowRange(first, end, market.time[first:end])
    buffers = buffers_for(market, [row_range])
    if keep_fills:
        fills = FILLS_A_ROW * market.symbols + 2 * TRADES_AT_A_TIME
        buffers = buffers._replace(fills=np.empty(fills, FILL))
    return simulate_plans(
        [plan],
        traded,
        signals[np.newaxis],
        [row_range],
        capital=capital,
        report=report,
        buffers=buffers,
    )[0]


class Buffers(NamedTuple):
    """Reusable memory of simulations: new memory costs time for each.

    `equity` is f8[parts, plans, points]; `curve` f8[rows] belongs to one plan if rows are sampled.
    """

    trades: Array  # TRADE
    equity: Floats
    curve: Floats
    by_days: bool  # it is for parts with sampled rows
    fills: Array = NO_FILLS  # FILL, if the fills of one plan are stored


def buffers_for(market: MarketRows, row_ranges: Sequence[RowRange], plans: int = 1) -> Buffers:
    """Return buffers for this many plans at once in all of the parts."""
    rows, symbols = market.rows, market.symbols
    sampled = [len(row_range.sampled) for row_range in row_ranges if row_range.sampled is not None]
    equity = np.empty((len(row_ranges), plans, max(sampled, default=rows)))
    trades = np.empty(2 * symbols + plans * TRADES_AT_A_TIME, TRADE)
    return Buffers(trades, equity, np.empty(rows if sampled else 0), bool(sampled))


def simulate_plans(
    plans: Sequence[Plan],
    traded: TradedMarket,
    signals: NDArray[np.uint8],
    row_ranges: Sequence[RowRange],
    *,
    capital: float,
    report: ReportProgress,
    buffers: Buffers,
) -> list[Simulation]:
    """Simulate each plan, with its own signals u1[plans, symbols, rows], over each range.

    `report` gets the fraction done, every CELLS_AT_A_TIME. Equity is in `buffers` until their next
    use. Raises TooManyTrades.
    """
    market, _, candles = traded
    if len(row_ranges) > len(buffers.equity) or len(plans) > buffers.equity.shape[1]:
        raise ArrayMismatch("The buffers do not hold so many simulations.")
    batches = list[_Batch]()
    for row_range, equity in zip(row_ranges, buffers.equity[:, : len(plans)], strict=False):
        batch = _Batch(
            plans, traded, signals, row_range, buffers._replace(equity=equity), capital=capital
        )
        for fraction in batch.run():
            report((len(batches) + fraction) / len(row_ranges))
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
    if buffers.by_days:
        fill_in_returns(results)
    return [
        Simulation(result, batch.states.account[number], batch.fills)
        for result, (batch, number) in zip(results, pairs, strict=True)
    ]


class _Segment(NamedTuple):
    """Rows up to `stop` with the same contracts, and the slots whose contracts then end."""

    stop: int
    contracts: Array
    ending: Sequence[int]


def _segments(market: MarketRows, row_range: RowRange, terms: Terms) -> list[_Segment]:
    """Divide a part at changes and ends of contracts (rule 13)."""
    changes = np.searchsorted(market.day, terms.days)
    ends = np.searchsorted(market.time, terms.ends)
    within = [
        row for row in (*changes.tolist(), *ends.tolist()) if row_range.first < row < row_range.end
    ]
    segments, row = list[_Segment](), row_range.first
    for stop in sorted({*within, row_range.end}):
        contracts = terms.units[np.searchsorted(changes, row, side="right")]
        order = np.argsort(terms.ends, kind="stable")
        ending = order[(ends[order] == stop) & (terms.ends[order] < NEVER)].tolist()
        segments.append(_Segment(stop, contracts, ending))
        row = stop
    return segments


class _Batch:
    """Plans over some rows of a market."""

    def __init__(
        self,
        plans: Sequence[Plan],
        traded: TradedMarket,
        signals: NDArray[np.uint8],
        row_range: RowRange,
        buffers: Buffers,
        *,
        capital: float,
    ) -> None:
        market, terms = traded.market, traded.terms
        self.market, self.terms, self.signals, self.row_range = market, terms, signals, row_range
        self.states = new_states(terms.instruments, len(plans), cash=capital)
        self._rules = Rules(np.array(plans, PLAN), terms.instruments, terms.units[0], terms.rates)
        self._output = SimulationOutput(buffers.trades, buffers.equity, buffers.fills)
        sampled = row_range.sampled
        self._sampling = NO_SAMPLING if sampled is None else Sampling(sampled, buffers.curve)
        self._written: list[list[bytes]] = [[] for _ in plans]
        self._filled: list[bytes] = []
        curve = buffers.equity[0] if sampled is None else buffers.curve
        first = State(self.states.account[:1], self.states.positions[0], self.states.orders[0])
        check_shapes(
            first,
            market,
            signals[0],
            self._rules._replace(plan=self._rules.plan[:1]),
            self._output._replace(equity=curve),
        )
        if not len(signals) == len(buffers.equity) == len(plans):
            raise ArrayMismatch("Each plan has its own signals and equity.")

    def run(self) -> Iterator[float]:
        """Step through the part's rows and close open positions; yield the fraction done."""
        row, end = self.row_range.first, self.row_range.end
        most = max(CELLS_AT_A_TIME // self.states.positions.size, 1)
        segments = _segments(self.market, self.row_range, self.terms)
        for segment in segments:
            self._rules = self._rules._replace(contracts=segment.contracts)
            while row < segment.stop:
                stop = min(segment.stop, row + most)
                self._run_rows(row, stop, NEVER if segment.ending else end)
                row = stop
                yield (row - self.row_range.first) / (end - self.row_range.first)
            for slot in segment.ending:
                self._settle(slot, row)
        if row == self.row_range.first or segments[-1].ending:
            self._run_rows(end, end, end)  # closes the remaining positions

    @property
    def fills(self) -> Array:
        """Return FILL records in order of time, if the fills of one plan are stored."""
        return np.frombuffer(b"".join(self._filled), FILL)

    def trades_of(self, number: int) -> Array:
        """Return TRADE records in the order of their exits, once all rows are run."""
        # As bytes and by `take`: NumPy joins and picks records a field at a time, 20 times as slow.
        trades = np.frombuffer(b"".join(self._written[number]), TRADE)
        if self.states.positions.shape[1] == 1:
            return trades
        return trades.take(np.argsort(trades["exit_time"], kind="stable"))

    def curve_of(self, number: int) -> SimulationCurve:
        """Return the equity at the stored rows; the last row of a ruined account ends it."""
        row_range, equity = self.row_range, self._output.equity[number]
        end = row_range.first + int(self.states.account["rows"][number])
        time, rows, ends = row_range.time, row_range.sampled, row_range.day_ends
        if end < row_range.end:
            time, ends = self.market.time[row_range.first : end], None
            if rows is not None:
                rows = np.append(rows[rows < end - 1], end - 1)
                time = self.market.time[rows]
        points = equity[row_range.first : end] if rows is None else equity[: len(rows)]
        return SimulationCurve({"time": time, "equity": points}, ends)

    def _run_rows(self, first: int, stop: int, end: int) -> None:
        number, row, accounts = 0, first, self.states.account
        while number < len(accounts):
            before = accounts["trades"].copy()
            number, row, trades, fills, _ = kernel.run_all(
                self.states,
                self.market,
                self.signals,
                self._rules,
                self._output,
                self._sampling,
                Span(first, stop, number, row, end),
            )
            self._filled.append(self._output.fills[:fills].tobytes())
            if trades:
                self._keep(np.cumsum(accounts["trades"] - before).tolist())
            if accounts["trades"].max() > errors.MOST_TRADES:
                raise errors.TooManyTrades

    def _settle(self, slot: int, stop: int) -> None:
        """Settle the contract of a slot after the row before `stop`, for every plan with money; the
        equity at that row is then the remaining one.
        """
        accounts, positions, orders = self.states
        for number in np.flatnonzero(accounts["status"] == RUNNING).tolist():
            state = State(accounts[number : number + 1], positions[number], orders[number])
            rules = self._rules._replace(plan=self._rules.plan[number : number + 1])
            output = self._output._replace(equity=self._output.equity[number])
            settlement = self.terms.settlements[slot]
            if trades := kernel.settle(state, rules, output, slot, BY_EXPIRY, settlement):
                self._set_equity(number, stop - 1, float(accounts["equity"][number]))
                self._written[number].append(self._output.trades[:trades].tobytes())
                self._filled.append(self._output.fills[:trades].tobytes())

    def _set_equity(self, number: int, row: int, equity: float) -> None:
        sampled, points = self.row_range.sampled, self._output.equity[number]
        if sampled is None:
            points[row] = equity
        else:
            points[np.flatnonzero(sampled == row)] = equity

    def _keep(self, ends: Sequence[int]) -> None:
        """Copy the trades that end at these indices for each plan."""
        for written, (begin, end) in zip(self._written, pairwise([0, *ends]), strict=True):
            if begin < end:
                written.append(self._output.trades[begin:end].tobytes())
