"""A backtest: a strategy over the history of its symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from apps.engine.candles.candles import Candles
from apps.engine.kernel import kernel
from apps.engine.kernel.codes import BY_EXPIRY
from apps.engine.kernel.records import (
    CURVE,
    LAST_CLOSE,
    TRADE,
    Array,
    Plan,
    SimulationOutput,
    new_state,
    rules_of,
)
from apps.engine.language.strategy import Strategy
from apps.engine.results.excursions import Excursions
from apps.engine.results.fill_quality import FillQuality, fill_quality_of
from apps.engine.results.table import Performance, performance
from apps.engine.results.wire_receipt import SimulationReceipt
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.signals.signals import NO_RANGES
from apps.engine.simulation.charges import NO_CHARGES, ChargeRow, Schedule
from apps.engine.simulation.market import combine_signals, join
from apps.engine.simulation.plan import Contract, MissingCalendar, plan_of, terms_of
from apps.engine.simulation.prepared_data import PreparedData, prepare_data
from apps.engine.simulation.receipt import (
    CandleSeries,
    hash_candles,
    notes_on,
    notes_on_expiries,
    notes_on_fills,
    notes_on_payouts,
    receipt,
)
from apps.engine.simulation.simulations import (
    ReportProgress,
    Simulation,
    TradedMarket,
    ignore_progress,
    simulate_plan,
)
from apps.engine.simulation.timeline import History, SymbolSeries, SymbolSignals

__all__ = [
    "NO_CHARGES",
    "ChargeRow",
    "Contract",
    "History",
    "MissingCalendar",
    "Schedule",
    "SimulationResult",
    "simulate",
    "warm_up",
]


@dataclass(frozen=True, slots=True, eq=False)
class SimulationResult:
    """The result of a simulation.

    `trades`: TRADE records in the order of their exits, `symbol` an index into `symbols`; `curve`:
    CURVE records, one a row; `results` converts both to the wire form. `excursions`: the moves of
    prices during each trade. `fills`: the delays of each trade's fills, and the volume of their
    bars. `performance`: see `metrics.table`. `receipt`: the inputs of the result, with `notes` on
    its limits; `candle_series`: its candles by month.
    """

    symbols: tuple[str, ...]
    trades: Array
    curve: Array
    excursions: Excursions | None
    fills: FillQuality
    performance: Performance
    receipt: SimulationReceipt
    candle_series: tuple[CandleSeries, ...] = ()


def simulate(
    strategy: Strategy,
    histories: Sequence[History],
    *,
    start: int,
    end: int,
    capital: float,
    schedule: Schedule = NO_CHARGES,
    seed: int = 0,
    on_progress: ReportProgress | None = None,
) -> SimulationResult:
    """Run `strategy` over the bars with start <= time < end (epoch seconds), from `capital` rupees.

    Symbols trade in the order of `histories`. `on_progress` gets the fraction done, at least every
    CELLS_AT_A_TIME bars; its exceptions end the simulation. `seed` is only recorded, for later
    draws from the result. Raises InsufficientBars, MissingCalendar, TooManyTrades.
    """
    report = on_progress or ignore_progress
    data = prepare_data(strategy, histories, start=start, end=end, report=report)
    schedule = charged(strategy, schedule)
    plan = plan_of(strategy)
    with ThreadPoolExecutor(1) as pool:  # hashing takes as long as simulating, and needs no lock
        timeframe = strategy.basicInfo.timeframe
        candle_series = pool.submit(hash_candles, data.all_series, timeframe)
        terms = terms_of(data.symbols, data.contracts, schedule)
        market, signals = data.with_signals(required_inputs(strategy), plan)
        traded = TradedMarket(market, terms, data.candles)
        simulation = simulate_plan(plan, traded, signals, capital=capital, report=report)
        return result_of(
            strategy,
            data,
            schedule,
            simulation,
            capital=capital,
            seed=seed,
            candle_series=candle_series.result,
        )


def result_of(
    strategy: Strategy,
    data: PreparedData,
    schedule: Schedule,
    simulation: Simulation,
    *,
    capital: float,
    seed: int,
    candle_series: Callable[[], tuple[CandleSeries, ...]] | None = None,
) -> SimulationResult:
    """Return a simulation with its figures and its receipt.

    `candle_series` replaces `hash_candles` if the hashes are computed elsewhere.
    """
    calendars = [history.sessions for history in data.histories]
    timeframe, result_data = strategy.basicInfo.timeframe, simulation.result_data
    fills = fill_quality_of(result_data.by_symbol, calendars, timeframe)
    hashes = candle_series() if candle_series else hash_candles(data.all_series, timeframe)
    notes = [
        *notes_on(strategy, data, schedule, simulation),
        *notes_on_fills(result_data.trades["quantity"], fills),
        *notes_on_expiries(data, result_data.trades),
        *notes_on_payouts(data, result_data.trades, capital),
    ]
    return SimulationResult(
        symbols=data.symbols,
        trades=result_data.trades,
        curve=curve_of(simulation),
        excursions=result_data.excursions,
        fills=fills,
        performance=performance(
            result_data,
            rejected=rejected_signals(strategy, simulation),
            reduced=simulation.reduced,
            waited=simulation.waited,
            paid=simulation.paid,
        ),
        receipt=receipt(strategy, data, schedule, hashes, capital=capital, seed=seed, notes=notes),
        candle_series=hashes,
    )


def rejected_signals(strategy: Strategy, simulation: Simulation) -> dict[str, int]:
    """Return the counts by reason, without reasons of fields that the strategy does not set."""
    risk = strategy.riskParameters
    are_set = {
        "daily_profit_limit": risk.maxDailyProfit is not None,
        "entry_limit": bool(risk.maxEntriesPerDay or risk.maxEntriesPerSymbol),
        "cooldown": risk.cooldown is not None,
        "level_beyond_entry": any(
            path.startswith("exitConditions") and "trailing" not in path
            for path in strategy.level_operands
        ),
    }
    return {name: n for name, n in simulation.rejected.items() if are_set.get(name, True)}


def charged(strategy: Strategy, schedule: Schedule) -> Schedule:
    """Return the schedule, unless the strategy wants no charges."""
    return NO_CHARGES if strategy.executionSettings.charges == "none" else schedule


def curve_of(simulation: Simulation) -> Array:
    curve = np.empty(len(simulation.time), CURVE)
    curve["time"], curve["equity"] = simulation.time, simulation.equity
    return curve


def warm_up() -> None:
    """Compile the kernel, or load it from its cache, so that the first simulation does not wait."""
    price = np.ones(2)
    bars = Candles.build([0, 60], open=price, high=price, low=price, close=price, volume=price)
    symbol_series = SymbolSeries("", bars, bars, np.empty(0, np.uint8), {})
    symbol_signals = SymbolSignals(np.zeros(2, np.uint8), NO_RANGES)
    market, signals = combine_signals(join([symbol_series]), [symbol_signals])
    terms = terms_of([""], [Contract()], NO_CHARGES)
    simulate_plan(Plan(), TradedMarket(market, terms), signals, capital=1.0, report=ignore_progress)
    rules = rules_of(Plan(), terms.instruments, terms.units[0], terms.rates)
    output = SimulationOutput(np.empty(2, TRADE), price)
    kernel.settle(new_state(terms.instruments, cash=1.0), rules, output, 0, BY_EXPIRY, LAST_CLOSE)
