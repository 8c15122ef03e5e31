"""A simulation of more bars than memory should hold, with the bytes of one that holds them all.

The bars are read three times: of one symbol after the other, for what the receipt tells; of all
symbols for some blocks of rule 11 at a time, through which the kernel goes on from where it was;
and of one symbol after the other, for what prices did around its trades.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from apps.engine import errors
from apps.engine.candles import Candles, block_id, block_start
from apps.engine.charges import Schedule
from apps.engine.kernel.codes import AT_LIMIT, RUNNING
from apps.engine.kernel.records import TRADE, Array, Plan, State, new_states
from apps.engine.language.strategy import Strategy
from apps.engine.metrics.batch import SimulationCurve, result_data_of
from apps.engine.metrics.benchmark import buy_and_hold
from apps.engine.metrics.excursions import Excursions, excursions_of
from apps.engine.metrics.fill_quality import FillQuality, fill_quality_of, unknown_fill_quality
from apps.engine.metrics.result_data import ResultData
from apps.engine.metrics.trade_bars import SymbolTrades, late_square_offs, trades_by_symbol
from apps.engine.signals.required_inputs import RequiredInputs, required_inputs
from apps.engine.simulation.market import combine_signals, join
from apps.engine.simulation.plan import NEVER, Terms, plan_of, terms_of
from apps.engine.simulation.receipt import CandleSeries, MarketFacts, SymbolFacts, hash_candles
from apps.engine.simulation.simulate import SimulationResult, charged, simulation_result_of
from apps.engine.simulation.simulations import (
    EVERY_ROW,
    Batch,
    ReportProgress,
    Simulation,
    TradedMarket,
    buffers_for,
    row_range_of,
)
from apps.engine.simulation.timeline import (
    History,
    SymbolSeries,
    count_warm_bars,
    require_warm_bars,
    signals_at_bars,
    symbol_series_of,
)

BARS_AT_A_TIME: Final = 800_000
"""Of all symbols, through which the kernel goes in one step, unless a single block has more."""
# The fractions of the work that the first reading makes up, and the first two.
_FACTS_KNOWN, _SIMULATED = 0.2, 0.85
# A slice without bars would keep the memory of all the others.
_NO_CANDLES: Final = Candles.build([], open=[], high=[], low=[], close=[], volume=[])

Times = NDArray[np.int64]


class CandlesChanged(errors.EngineError):
    """The candles of a symbol are others than when they were read before."""

    def __init__(self, symbol: str) -> None:
        super().__init__(
            f"Candles of {symbol} were stored while the simulation read them. Run it again."
        )


class SymbolReader(Protocol):
    """Reads the history of one symbol."""

    def read(self) -> History:
        """Return the history of the whole range, as `simulate` takes it."""

    def read_part(self, start: int, end: int) -> History:
        """Return the candles of a part of the range, with what rule 11 reads before it, at the
        prices of the whole range; contract and notes may be missing.
        """


def simulate_streamed(
    strategy: Strategy,
    readers: Sequence[SymbolReader],
    *,
    start: int,
    end: int,
    capital: float,
    schedule: Schedule,
    seed: int,
    on_progress: ReportProgress,
) -> SimulationResult:
    """Return what `simulate` does. `on_progress` is told the fraction that is done whenever a
    symbol was read; what it raises ends the simulation.

    Raises what `simulate` raises, and CandlesChanged.
    """
    schedule, inputs = charged(strategy, schedule), required_inputs(strategy)
    facts = _Facts.read(strategy, inputs, readers, (start, end), on_progress)
    plan = plan_of(strategy)
    histories = [symbol.history for symbol in facts.symbols]
    contracts = [history.contract.until(end) for history in histories]
    terms = terms_of([history.symbol for history in histories], contracts, schedule)
    run, done = _Run(plan, terms, capital), 0.0
    for first, stop, done_then in facts.parts(start, end):
        series = []
        for reader in readers:
            series.append(_part_of(strategy, reader, first, stop))
            on_progress(_FACTS_KNOWN + (_SIMULATED - _FACTS_KNOWN) * done)
        run.go_on(series, inputs, until=stop, is_last=stop == end)
        done = done_then
        if run.is_ruined:
            break
    result_data = run.result_data(capital)
    fills = _fill_in_prices(
        strategy, result_data, readers, facts, span=(start, end), report=on_progress
    )
    return simulation_result_of(
        strategy,
        MarketFacts(facts.symbols, facts.columns(), tuple(facts.candle_series), start, end),
        schedule,
        Simulation(result_data, run.states.account[0]),
        fills=fills,
        capital=capital,
        seed=seed,
    )


# ----------------------------------------------------------------------------------------- reading


class _RunLengths(NamedTuple):
    """A column of few values, each many times: at which longer candle each bar is."""

    values: Times
    counts: Times

    @classmethod
    def of(cls, column: Times) -> _RunLengths:
        first = np.flatnonzero(np.diff(column, prepend=column[:1] - 1))
        return cls(column[first], np.diff(first, append=len(column)))


class _Facts:
    """What is kept of the first reading."""

    def __init__(self, timeframe: str) -> None:
        self.symbols = list[SymbolFacts]()
        self.candle_series = list[CandleSeries]()
        self.flags = list[NDArray[np.uint8]]()
        self._seen = list[_RunLengths]()
        self._bars_by_block = Counter[int]()
        self._timeframe = timeframe

    @classmethod
    def read(
        cls,
        strategy: Strategy,
        inputs: RequiredInputs,
        readers: Sequence[SymbolReader],
        span: tuple[int, int],
        report: ReportProgress,
    ) -> _Facts:
        """Raises InsufficientBars, MissingCalendar."""
        facts, warm = cls(strategy.basicInfo.timeframe), list[int]()
        for number, reader in enumerate(readers, 1):
            history = reader.read()
            series = symbol_series_of(strategy, history, *span)
            warm.append(count_warm_bars(inputs, series))
            facts._add(history, series)
            report(_FACTS_KNOWN * number / len(readers))
        for symbol, count in zip(facts.symbols, warm, strict=True):
            require_warm_bars(symbol.history.symbol, count)
        return facts

    def _add(self, history: History, series: SymbolSeries) -> None:
        without_bars = replace(history, candles=_NO_CANDLES, higher_timeframes={})
        self.symbols.append(SymbolFacts.of(history, series)._replace(history=without_bars))
        self.candle_series.extend(hash_candles([series], self._timeframe))
        self.flags.append(series.flags)
        for longer in series.higher_timeframes.values():
            self._seen.append(_RunLengths.of(longer.seen))
        blocks, counts = np.unique(
            block_id(series.candles.time, self._timeframe), return_counts=True
        )
        self._bars_by_block.update(dict(zip(blocks.tolist(), counts.tolist(), strict=True)))

    def require_same(self, series: SymbolSeries) -> None:
        """Raise CandlesChanged unless these are the candles that were read first."""
        known = {(held.symbol, held.timeframe): held for held in self.candle_series}
        for held in hash_candles([series], self._timeframe):
            if held != known[held.symbol, held.timeframe]:
                raise CandlesChanged(series.symbol)

    def columns(self) -> Iterator[NDArray[Any]]:
        """Yield what `receipt.rule_columns` does. Any: numbers of two kinds."""
        yield from self.flags
        for values, counts in self._seen:
            yield np.repeat(values, counts)

    def parts(self, start: int, end: int) -> Iterator[tuple[int, int, float]]:
        """Yield spans of the range that hold about BARS_AT_A_TIME bars each, and the fraction of
        the bars that is done with each; the last one ends with the range.
        """
        edges, held, done = [start], 0, list[int]()
        for block in sorted(self._bars_by_block):
            bars = self._bars_by_block[block]
            if held and held + bars > BARS_AT_A_TIME:
                edges.append(block_start(block, self._timeframe))
                done.append(held)
                held = 0
            held += bars
        edges.append(end)
        done.append(held)
        shares = np.cumsum(done) / sum(done)
        for (first, stop), share in zip(pairwise(edges), shares.tolist(), strict=True):
            yield first, stop, share


def _part_of(strategy: Strategy, reader: SymbolReader, start: int, end: int) -> SymbolSeries:
    """The bars of a symbol in a part of the range, where it may have none."""
    history = reader.read_part(start, end)
    try:
        return symbol_series_of(strategy, history, start, end)
    except errors.InsufficientBars:
        return SymbolSeries(history.symbol, _NO_CANDLES, _NO_CANDLES, np.empty(0, np.uint8), {})


# -------------------------------------------------------------------------------------- simulating


class _Run:
    """One plan that goes through the parts of the range, and what it has left of them."""

    def __init__(self, plan: Plan, terms: Terms, capital: float) -> None:
        self._plan, self._terms = plan, terms
        self.states: State = new_states(terms.instruments, 1, cash=capital)
        self._trades = list[Array]()
        self._curve = list[tuple[Times, NDArray[np.float64]]]()

    @property
    def is_ruined(self) -> bool:
        return bool(self.states.account["status"][0] != RUNNING)

    def go_on(
        self, all_series: Sequence[SymbolSeries], inputs: RequiredInputs, *, until: int,
        is_last: bool,
    ) -> None:  # fmt: skip
        """Step through the rows of a part, after which the kernel is at the moment `until`."""
        symbol_signals = (
            signals_at_bars(
                inputs, self._plan, series.used, series.higher_timeframes,
                len(series.used) - len(series.candles),
            )
            for series in all_series
        )  # fmt: skip
        market, signals = combine_signals(join(all_series), symbol_signals)
        # A contract that ends later is none of this part's.
        ends = self._terms.ends
        terms = self._terms if is_last else self._terms._replace(
            ends=np.where(ends <= until, ends, NEVER)
        )  # fmt: skip
        row_range = row_range_of(market, EVERY_ROW, by_days=False)
        buffers = buffers_for(market, [row_range])
        batch = Batch(
            [self._plan], TradedMarket(market, terms), signals[np.newaxis], row_range,
            buffers._replace(equity=buffers.equity[0]), states=self.states,
        )  # fmt: skip
        for _ in batch.run(closes=is_last):
            pass
        self._trades.append(batch.written_trades(0))
        curve = batch.curve_of(0).curve
        self._curve.append((curve["time"], curve["equity"]))

    def result_data(self, capital: float) -> ResultData:
        """The data of its figures, without those that prices tell."""
        trades = np.frombuffer(b"".join(part.tobytes() for part in self._trades), TRADE)
        if len(self._terms.instruments) > 1:
            trades = trades.take(np.argsort(trades["exit_time"], kind="stable"))
        time, equity = (np.concatenate(column) for column in zip(*self._curve, strict=True))
        (data,) = result_data_of(
            trades,
            [len(trades)],
            [SimulationCurve({"time": time, "equity": equity}, None)],
            capital,
            (),
            by_limit=self._plan.order_by == AT_LIMIT,
        )
        equity[-1] = capital + data.net  # the account's but for last bits
        return data


# ------------------------------------------------------------------------------------------ prices


def _fill_in_prices(
    strategy: Strategy,
    data: ResultData,
    readers: Sequence[SymbolReader],
    facts: _Facts,
    *,
    span: tuple[int, int],
    report: ReportProgress,
) -> FillQuality:
    """Fill in what prices tell of the trades and of buying and holding; return how the trades were
    filled.
    """
    timeframe, count = strategy.basicInfo.timeframe, len(data.trades)
    excursions, fills = Excursions(np.empty(count), np.empty(count)), unknown_fill_quality(count)
    held, late = list[NDArray[np.float64]](), dict[int, int]()
    for number, reader in enumerate(readers):
        series = symbol_series_of(strategy, reader.read(), *span)
        facts.require_same(series)
        candles = series.candles
        held.append(buy_and_hold([candles], int(data.curve["time"][0]), data.ends))
        of_symbol = np.flatnonzero(data.trades["symbol"] == number)
        for own in _trades_of(data.trades.take(of_symbol), candles):
            furthest = excursions_of(own.trades, [own], by_limit=data.by_limit)
            quality = fill_quality_of([own], [facts.symbols[number].history.sessions], timeframe)
            for column, values in zip((*excursions, *fills), (*furthest, *quality), strict=True):
                column[of_symbol] = values
            late_here = late_square_offs([own], [candles], facts.flags[number])
            late |= {int(of_symbol[row]): time for row, time in late_here.items()}
        report(_SIMULATED + (1 - _SIMULATED) * (number + 1) / len(readers))
    benchmark = np.concatenate([[1.0], np.mean(held, axis=0)])
    vars(data).update(excursions=excursions, benchmark=benchmark, late=late, by_symbol=[])
    return fills


def _trades_of(trades: Array, candles: Candles) -> list[SymbolTrades]:
    """The trades of one symbol with its bars, as if it were the only one; none without trades."""
    return trades_by_symbol(trades, [candles])
