"""A backtest: a strategy over the history of its symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine import errors
from apps.engine.candles import Candles
from apps.engine.charges import NO_CHARGES, ChargeRow, Schedule
from apps.engine.figures.facts import Facts
from apps.engine.figures.metrics import Performance, performance
from apps.engine.figures.paths import Excursions
from apps.engine.figures.trades import net_profit
from apps.engine.kernel import kernel
from apps.engine.kernel.codes import BY_EXPIRY, RUINED
from apps.engine.kernel.reasons import CHARGE_KINDS, REJECTIONS
from apps.engine.kernel.records import (
    CURVE,
    TRADE,
    Array,
    Market,
    Out,
    Plan,
    check_shapes,
    new_state,
)
from apps.engine.language.strategy import Strategy
from apps.engine.simulation.plan import (
    Contract,
    MissingCalendar,
    Terms,
    plan_of,
    terms_of,
)
from apps.engine.simulation.receipt import notes_on, receipt
from apps.engine.simulation.stage import Stage, stage_of
from apps.engine.simulation.timeline import Cues, History, Track, cue, join

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

Progress = Callable[[float], None]

ROWS_AT_A_TIME = 100_000
"""Rows between two reports of progress: milliseconds of work for each symbol."""

TRADES_AT_A_TIME = 1_000
"""Trades the kernel may write before it hands them over."""

EVERY_ROW = slice(None)


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a simulation found.

    `trades`: TRADE records in the order of their exits, `symbol` an index into `symbols`; `curve`:
    CURVE records, one a row; `results` turns both into what clients read. `excursions`: how
    far prices went beside each trade. `performance`: see `metrics`. `receipt`: what the result
    rests on, with `notes` on how far it can be trusted.
    """

    symbols: tuple[str, ...]
    trades: Array
    curve: Array
    excursions: Excursions | None
    performance: Performance
    receipt: dict[str, object]


class Played(NamedTuple):
    """What the kernel left: TRADE records by exit, time and equity f8[rows] of each row, signals
    rejected by reason, rupees paid by kind of charge.
    """

    trades: Array
    time: NDArray[np.int64]
    equity: NDArray[np.float64]
    rejected: dict[str, int]
    paid: dict[str, float]
    ruined: bool


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
    least every ROWS_AT_A_TIME rows; what it raises ends the simulation. `seed` is for whoever
    draws from the result later; it is only recorded. Raises InsufficientData, MissingCalendar,
    TooManyTrades.
    """
    report = on_progress or to_nobody
    stage = stage_of(strategy, histories, start=start, end=end, report=report)
    schedule = charged(strategy, schedule)
    plan = plan_of(strategy)
    terms, cued = terms_of(stage.contracts, schedule), stage.cued(strategy, plan)
    played = play(plan, *cued, terms, capital=capital, report=report)
    return result_of(strategy, stage, schedule, played, capital=capital, seed=seed)


def result_of(
    strategy: Strategy,
    stage: Stage,
    schedule: Schedule,
    played: Played,
    *,
    capital: float,
    seed: int,
) -> Result:
    """What was played, with its figures and its receipt."""
    trades, curve = played.trades, curve_of(played)
    facts = Facts(trades, curve, capital, stage.candles)
    return Result(
        symbols=stage.symbols,
        trades=trades,
        curve=curve,
        excursions=facts.excursions,
        performance=performance(facts, rejected=played.rejected, paid=played.paid),
        receipt=receipt(
            strategy,
            stage.histories,
            stage.tracks,
            schedule,
            start=stage.start,
            end=stage.end,
            capital=capital,
            seed=seed,
            notes=notes_on(strategy, stage.histories, stage.tracks, schedule, ruined=played.ruined),
        ),
    )


def charged(strategy: Strategy, schedule: Schedule) -> Schedule:
    """The schedule, unless the strategy wants no charges."""
    return NO_CHARGES if strategy.executionSettings.charges == "none" else schedule


def to_nobody(done: float) -> None:
    """Progress that nobody asked for."""


def play(
    plan: Plan,
    market: Market,
    signals: NDArray[np.uint8],
    terms: Terms,
    *,
    capital: float,
    report: Progress,
    rows: slice = EVERY_ROW,
    out: Out | None = None,
) -> Played:
    """Step through the rows of the market, or some of them, then close what is open.

    `market` and `signals` are those of `timeline.cue`, `terms` of the same symbols. What was
    played lies in `out`, as `room_for` makes it, until that is used again.
    """
    units, rates = terms.units[0], terms.rates
    changes = np.searchsorted(market.day, terms.days)  # the rows in which units are new
    state = new_state(symbols=len(units), cash=capital)
    account = state.account[0]
    out = out or room_for(market)
    check_shapes(state, market, signals, units, out)
    first, last, _ = rows.indices(len(market.time))
    row, drained = first, []
    while row < last and account["status"] != RUINED:
        begun = int(np.searchsorted(changes, row, side="right"))
        units, stop = terms.units[begun], min(row + ROWS_AT_A_TIME, last, *changes[begun:])
        ran = kernel.run(state, market, signals, row, stop, plan, units, rates, out)
        row = ran.row
        drained.append(out.trades[: ran.trades].tobytes())
        if account["trades"] > errors.MOST_TRADES:
            raise errors.TooManyTrades
        report((row - first) / (last - first))
    drained.append(out.trades[: kernel.finish(state, units, rates, out)].tobytes())
    # As bytes and by `take`: NumPy joins and picks records a field at a time, 20 times as slow.
    trades = np.frombuffer(b"".join(drained), TRADE)
    trades = trades.take(np.argsort(trades["exit_time"], kind="stable"))
    out.equity[row - 1] = capital + net_profit(trades)  # the account's equity but for last bits
    return Played(
        trades,
        market.time[first:row],
        out.equity[first:row],
        dict(zip(REJECTIONS, account["rejected"].tolist(), strict=True)),
        dict(zip(CHARGE_KINDS, (account["paid"] / 100).tolist(), strict=True)),
        bool(account["status"] == RUINED),
    )


def room_for(market: Market) -> Out:
    """Where `play` writes."""
    rows, symbols = market.cell.shape
    return Out(np.empty(2 * symbols + TRADES_AT_A_TIME, TRADE), np.empty(rows))


def curve_of(played: Played) -> Array:
    curve = np.empty(len(played.time), CURVE)
    curve["time"], curve["equity"] = played.time, played.equity
    return curve


def warm_up() -> None:
    """Compile the kernel, or load it from its cache: the first simulation then does not wait."""
    one = np.ones(2)
    bars = Candles.build([0, 60], open=one, high=one, low=one, close=one, volume=one)
    track = Track("", bars, bars, np.empty(0, np.uint8), {})
    cues = Cues(np.zeros(2, np.uint8), np.empty((0, 4)))
    cued = cue(join([track]), [cues])
    terms = terms_of([Contract()], NO_CHARGES)
    play(Plan(), *cued, terms, capital=1.0, report=to_nobody)
    units, out = terms.units[0], Out(np.empty(2, TRADE), one)
    kernel.settle(new_state(symbols=1, cash=1.0), 0, BY_EXPIRY, units, terms.rates, out)
