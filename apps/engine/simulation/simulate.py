"""A backtest: a strategy over the history of its symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from apps.engine.candles import Candles
from apps.engine.charges import NO_CHARGES, ChargeRow, Schedule
from apps.engine.kernel import kernel
from apps.engine.kernel.codes import BY_EXPIRY
from apps.engine.kernel.records import (
    CURVE,
    TRADE,
    Array,
    Output,
    Plan,
    new_state,
    rules_of,
)
from apps.engine.language.strategy import Strategy
from apps.engine.metrics.excursions import Excursions
from apps.engine.metrics.fill_quality import FillQuality, fill_quality_of
from apps.engine.metrics.table import Performance, performance
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.signals.signals import NO_RANGES
from apps.engine.simulation.market import cue, join
from apps.engine.simulation.plan import (
    Contract,
    MissingCalendar,
    plan_of,
    terms_of,
)
from apps.engine.simulation.simulations import Played, Progress, TradedMarket, play, to_nobody
from apps.engine.simulation.receipt import hash_candles, notes_on, notes_on_fills, receipt
from apps.engine.simulation.prepared_data import Stage, stage_of
from apps.engine.simulation.timeline import Cues, History, Track

__all__ = [
    "NO_CHARGES",
    "ChargeRow",
    "Contract",
    "History",
    "MissingCalendar",
    "Result",
    "Schedule",
    "simulate",
    "warm_up",
]


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a simulation found.

    `trades`: TRADE records in the order of their exits, `symbol` an index into `symbols`; `curve`:
    CURVE records, one a row; `results` turns both into what clients read. `excursions`: how
    far prices went beside each trade. `fills`: how late the fills of each came, and what their bars
    traded. `performance`: see `metrics.table`. `receipt`: what the result
    rests on, with `notes` on how far it can be trusted.
    """

    symbols: tuple[str, ...]
    trades: Array
    curve: Array
    excursions: Excursions | None
    fills: FillQuality
    performance: Performance
    receipt: dict[str, object]


def simulate(
    strategy: Strategy,
    histories: Sequence[History],
    *,
    start: int,
    end: int,
    capital: float,
    schedule: Schedule = NO_CHARGES,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> Result:
    """Run `strategy` over the bars with start <= time < end (epoch seconds), from `capital` rupees.

    Symbols trade in the order of `histories`. `on_progress` is told the fraction that is done, at
    least every CELLS_AT_A_TIME bars; what it raises ends the simulation. `seed` is for whoever
    draws from the result later; it is only recorded. Raises InsufficientBars, MissingCalendar,
    TooManyTrades.
    """
    report = on_progress or to_nobody
    stage = stage_of(strategy, histories, start=start, end=end, report=report)
    schedule = charged(strategy, schedule)
    plan = plan_of(strategy)
    with ThreadPoolExecutor(1) as pool:  # hashing takes as long as simulating, and needs no lock
        candles_hash = pool.submit(hash_candles, stage.tracks)
        terms = terms_of(stage.symbols, stage.contracts, schedule)
        market, signals = stage.cued(required_inputs(strategy), plan)
        traded = TradedMarket(market, terms, stage.candles)
        played = play(plan, traded, signals, capital=capital, report=report)
        return result_of(
            strategy, stage, schedule, played, capital=capital, seed=seed,
            candles_hash=candles_hash.result,
        )  # fmt: skip


def result_of(
    strategy: Strategy,
    stage: Stage,
    schedule: Schedule,
    played: Played,
    *,
    capital: float,
    seed: int,
    candles_hash: Callable[[], str] | None = None,
) -> Result:
    """What was played, with its figures and its receipt. `candles_hash` returns what
    `hash_candles` does, where it is worked out elsewhere.
    """
    result_data = played.result_data
    calendars = [history.sessions for history in stage.histories]
    fills = fill_quality_of(result_data.by_symbol, calendars, strategy.basicInfo.timeframe)
    notes = [
        *notes_on(strategy, stage, schedule, ruined=played.ruined),
        *notes_on_fills(result_data.trades["quantity"], fills),
    ]
    metrics = performance(result_data, rejected=played.rejected, paid=played.paid)
    return Result(
        symbols=stage.symbols,
        trades=result_data.trades,
        curve=curve_of(played),
        excursions=result_data.excursions,
        fills=fills,
        performance=metrics,
        receipt=receipt(
            strategy, stage, schedule, capital=capital, seed=seed, notes=notes,
            candles_hash=candles_hash() if candles_hash else hash_candles(stage.tracks),
        ),
    )  # fmt: skip


def charged(strategy: Strategy, schedule: Schedule) -> Schedule:
    """The schedule, unless the strategy wants no charges."""
    return NO_CHARGES if strategy.executionSettings.charges == "none" else schedule


def curve_of(played: Played) -> Array:
    curve = np.empty(len(played.time), CURVE)
    curve["time"], curve["equity"] = played.time, played.equity
    return curve


def warm_up() -> None:
    """Compile the kernel, or load it from its cache: the first simulation then does not wait."""
    price = np.ones(2)
    bars = Candles.build([0, 60], open=price, high=price, low=price, close=price, volume=price)
    track = Track("", bars, bars, np.empty(0, np.uint8), {})
    cues = Cues(np.zeros(2, np.uint8), NO_RANGES)
    market, signals = cue(join([track]), [cues])
    terms = terms_of([""], [Contract()], NO_CHARGES)
    play(Plan(), TradedMarket(market, terms), signals, capital=1.0, report=to_nobody)
    rules = rules_of(Plan(), terms.instruments, terms.units[0], terms.rates)
    output = Output(np.empty(2, TRADE), price)
    kernel.settle(new_state(terms.instruments, cash=1.0), rules, output, 0, BY_EXPIRY)
