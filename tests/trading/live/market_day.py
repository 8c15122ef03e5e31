"""Bars of some sessions, given to runners row by row, and a backtest over the same bars."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.backtests.running.histories import load_histories
from apps.core.times import day_in_india
from apps.engine.candles import Candles
from apps.engine.language import strategy as engine
from apps.engine.simulation.simulate import SimulationResult, simulate
from apps.market import services as market
from apps.market.candles.reading import GRACE_PERIOD
from apps.market.feeds import clock
from apps.market.services import market_rules_of
from apps.trading import services
from apps.trading.live.runner import Runner
from apps.trading.models import Run
from apps.trading.runs import bar_streams
from tests import make

FIRST: Final = 1_780_285_500  # Monday, 2026-06-01, 09:15 in Asia/Kolkata
DAY: Final = 86_400
SESSION: Final = 22_500

Series = Mapping[str, Candles]


def session_starts(days: int, length: int, *, first: int = FIRST) -> list[int]:
    """Return starts of the bars of this many sessions, from a Monday's opening on."""
    opens = [first + DAY * day for day in range(2 * days) if day % 7 < 5][:days]
    return [start for opening in opens for start in range(opening, opening + SESSION, length)]


def random_candles(
    seed: int, starts: Sequence[int], *, wild: float = 0.003, missing: float = 0.0
) -> Candles:
    """Return random walks of prices on the tick, with some bars missing."""
    rng = np.random.default_rng(seed)
    kept = np.array(starts)[rng.random(len(starts)) >= missing]
    close = np.round(500 * np.exp(np.cumsum(rng.normal(0, wild, len(kept)))) * 20) / 20
    opened = np.r_[close[:1], close[:-1]]
    wick = np.round(rng.uniform(0, wild, len(kept)) * 500 * 20) / 20
    return Candles.build(
        kept,
        open=opened,
        high=np.maximum(opened, close) + wick,
        low=np.minimum(opened, close) - wick,
        close=close,
        volume=rng.integers(1, 9_000, len(kept)),
    )


def crossing_steps(symbols: Iterable[str], timeframe: str, **replaced: object) -> dict[str, Any]:
    """Return steps with frequent entries; a keyword replaces a whole step."""
    fast, slow = {"type": "EMA", "period": 3}, {"type": "EMA", "period": 8}
    crossing = {
        "type": "indicator_indicator",
        "indicator1": fast,
        "operator": "crosses_above",
        "indicator2": slow,
    }
    basics = {"strategyType": "momentum", "timeframe": timeframe, "symbols": list(symbols)}
    entries = {"positionType": "both", "conditions": [crossing]}
    return make.steps(**{"basicInfo": basics, "entryConditions": entries, **replaced})


def started(owner: User, configuration: Mapping[str, Any], *, at: int = FIRST) -> Run:
    """Return a run that starts at the market's time `at`."""
    clock.move(at, symbols=[], timeframe="1m", now=make.NOW)
    algorithm: Algorithm = make.algorithm(owner, **configuration)
    services.start(owner=owner, algorithm_id=algorithm.pk, now=make.NOW)
    return algorithm.runs.live().get()


def store_bars(series: Series, timeframe: str) -> None:
    """Store the bars; runs see those that are over by the market's time."""
    for symbol, bars in series.items():
        market.append(symbol=symbol, timeframe=timeframe, candles=bars, now=make.NOW)


def replay(series: Series, timeframe: str, length: int, runner: Runner, *, since: int = 0) -> None:
    """Advance the market's time from bar to bar."""
    starts = np.unique(np.concatenate([bars.time for bars in series.values()]))
    for start in starts[starts >= since].tolist():
        step(runner, list(series), timeframe, start + length + GRACE_PERIOD)


def catch_up(series: Series, timeframe: str, length: int, runner: Runner) -> None:
    """Advance the market's time to the end of all bars at once, and process them: the same steps as
    in a replay, with fewer polls.
    """
    last = max(int(bars.time[-1]) for bars in series.values())
    step(runner, list(series), timeframe, last + length + GRACE_PERIOD)


def step(runner: Runner, symbols: Sequence[str], timeframe: str, at: int) -> None:
    """Move the clock, and process everything that is due."""
    clock.move(at, symbols=symbols, timeframe=timeframe, now=make.NOW)
    bar_streams.assign_runs(now=make.NOW)
    bar_streams.wake(symbols, timeframe, now=make.NOW)
    while runner.work(now=make.NOW):
        pass


def backtested(run: Run, *, start: int, end: int) -> SimulationResult:
    """Return a backtest of the run, over the stored bars."""
    strategy = engine.parse(run.configuration)
    rules = market_rules_of(strategy, first=day_in_india(start), last=day_in_india(end))
    histories = load_histories(
        rules,
        owner_id=run.account_id,
        start=start,
        end=end,
        max_bars=10_000_000,
        on_progress=lambda done: None,
    )
    return simulate(
        strategy,
        histories,
        start=start,
        end=end,
        capital=strategy.executionSettings.initialCapital,
        schedule=rules.schedule,
    )
