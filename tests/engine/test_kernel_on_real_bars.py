"""The kernel over whole real files: against the reference implementation, and row by row."""

from collections.abc import Iterator, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.algorithms.services import BUILT_IN_TEMPLATES
from apps.engine.candles import ist_day
from apps.engine.candles.resampling import resample
from apps.engine.candles.sessions import in_session
from apps.engine.errors import InsufficientBars
from apps.engine.kernel import records as r
from apps.engine.kernel.codes import RUNNING
from apps.engine.kernel.kernel import run
from apps.engine.language.strategy import Strategy, parse
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.charges import ChargeRow
from apps.engine.simulation.plan import plan_of, terms_of
from apps.engine.simulation.prepared_data import prepare_data
from apps.engine.simulation.simulations import ignore_progress
from apps.engine.simulation.timeline import History
from apps.market.rulebook.sessions import sessions_of
from tests.engine.random_cases import RANGE_FACTORS, bars_of, reference_of, sparse_case, whole
from tests.engine.test_kernel_proofs import assert_equal
from tests.market.candle_files import ImportedSeries

FILES = (
    "NIFTY_1m_2024.csv.gz",
    "BHEL_5m_2025-26.parquet",
    "BANKNIFTY_15m_2018-23.csv.gz",
    "nse_raw_SBIN_2008-26.csv.gz",
)
RATES = (ChargeRow("", 0, *([0.0003, 20.0] + [0.0001] * 7 + [15.0])),)
Steps = Mapping[str, Any]


class Outcome(NamedTuple):
    """The whole outcome of a run as bytes."""

    state: bytes
    trades: bytes
    fills: bytes
    equity: bytes


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", FILES)
def test_the_reference_agrees_over_whole_files(market_data: Path, name: str) -> None:
    candles = ImportedSeries(market_data / name).candles
    rows = len(candles)
    bars = bars_of(np.column_stack([candles.open, candles.high, candles.low, candles.close]))
    ranges = (bars.high - bars.low + 0.05)[:, None] * RANGE_FACTORS
    market = r.MarketRows(
        candles.time,
        ist_day(candles.time).astype(np.int32),
        np.arange(rows, dtype=np.int32)[:, None],
        bars,
        ranges,
        np.zeros(0, np.uint8),
    )
    trailed = 0
    for seed in range(8):
        case = sparse_case(np.random.default_rng(seed), market)
        reference = reference_of(case)
        assert_equal(whole(case), reference)
        trailed += len(reference.trades)
    assert trailed > 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", FILES)
def test_templates_and_random_strategies_are_the_same_row_by_row(
    market_data: Path, name: str
) -> None:
    """They are every template of one symbol that trades on such candles, and 25 random strategies
    on each file.
    """
    loaded, traded = ImportedSeries(market_data / name), 0
    for steps in all_steps(loaded.symbol, loaded.timeframe):
        strategy = parse(steps)
        plan, end = plan_of(strategy), int(loaded.candles.time[-1]) + 1
        history = history_for(strategy, loaded)
        data = prepare_data(strategy, [history], start=0, end=end, report=ignore_progress)
        try:
            market, signals = data.with_signals(required_inputs(strategy), plan)
        except InsufficientBars:
            continue
        terms = terms_of(data.symbols, data.contracts, RATES)
        rules = r.rules_of(plan, terms.instruments, terms.units[0], terms.rates)
        at_once, by_row = (outcome_of(market, signals, rules, step) for step in (market.rows, 1))
        assert at_once == by_row, steps
        traded += bool(at_once.trades)
    assert traded > 10


def history_for(strategy: Strategy, loaded: ImportedSeries) -> History:
    """Return the history of a file, with the longer timeframes that a strategy reads."""
    candles, timeframe, sessions = loaded.candles, loaded.timeframe, sessions_of(loaded.symbol)
    used = candles.select(in_session(candles.time, timeframe, sessions))
    longer = {
        name: resample(used, timeframe, name, sessions)
        for name in strategy.higher_timeframe_warmups
    }
    return History(loaded.symbol, candles, sessions, higher_timeframes=longer)


def outcome_of(
    market: r.MarketRows, signals: NDArray[np.uint8], rules: r.Rules, step: int
) -> Outcome:
    """Run so many rows in each call; with one, every slot is active in every row."""
    state = r.new_state(rules.instruments, cash=1_000_000.0)
    output = r.SimulationOutput(
        np.empty(1_000, r.TRADE), np.zeros(market.rows), np.empty(3_000, r.FILL)
    )
    trades, fills, row = [], [], 0
    while row < market.rows and state.account["status"][0] == RUNNING:
        stop = min(row + step, market.rows)
        while row < stop and state.account["status"][0] == RUNNING:
            done = run(state, market, signals, rules, output, row, stop)
            trades.append(output.trades[: done.trades].tobytes())
            fills.append(output.fills[: done.fills].tobytes())
            row = done.row
    states = b"".join(array.tobytes() for array in state)
    return Outcome(states, b"".join(trades), b"".join(fills), output.equity[:row].tobytes())


def all_steps(symbol: str, timeframe: str) -> Iterator[Steps]:
    """Yield the templates of intraday or daily candles of one symbol, and random strategies."""
    of_symbol = {"symbols": [symbol], "timeframe": timeframe}
    for template in BUILT_IN_TEMPLATES:
        basic = template.steps["basicInfo"]
        is_alone = len(basic["symbols"]) == 1 and not parse(template.steps).read_symbols
        if is_alone and (basic["timeframe"] == "1d") == (timeframe == "1d"):
            yield {**template.steps, "basicInfo": {**basic, **of_symbol}}
    rng = np.random.default_rng(len(symbol) + len(timeframe))
    for trail, _ in zip(cycle(TRAILS), range(25), strict=False):
        yield random_steps(rng, of_symbol, trail)


TRAILS: tuple[Steps, ...] = (
    {"type": "percentage", "percentage": 0.5},
    {"type": "percentage", "percentage": 3},
    {"type": "percentage", "percentage": 15},
    {"type": "points", "points": 8},
    {"type": "atr", "atrPeriod": 14, "atrMultiplier": 2},
    {"type": "atr", "atrPeriod": 50, "atrMultiplier": 15},
    {},
)


def random_steps(rng: np.random.Generator, of_symbol: Steps, trail: Steps) -> Steps:
    """Draw averages that cross, or a price at a new level, with exits of every kind."""

    def one_of(*values: Any) -> Any:
        return values[int(rng.integers(0, len(values)))]

    fast, slow = int(rng.integers(3, 40)), int(rng.integers(50, 250))
    crossing = {
        "type": "indicator_indicator",
        "operator": one_of("crosses_above", "crosses_below"),
        "indicator1": {"type": one_of("SMA", "EMA"), "period": fast},
        "indicator2": {"type": one_of("SMA", "EMA"), "period": slow},
    }
    strength = {
        "type": "indicator_value",
        "indicator": {"type": "RSI", "period": fast},
        "operator": "crosses_above",
        "value": one_of(30, 50, 75),
    }
    product = one_of("intraday", "carryforward", "carryforward", "carryforward")
    exits: dict[str, Any] = {
        "trailingStop": {**trail, "enabled": True} if trail else None,
        "stopLoss": {"type": "percentage", "percentage": one_of(1, 5, 30)},
        "takeProfit": one_of(None, None, {"type": "percentage", "percentage": one_of(1, 10)}),
        "maxHoldingCandles": one_of(None, None, 5, 500),
        "exitOnOppositeSignal": one_of(True, False),
    }
    return {
        "basicInfo": {"strategyType": "momentum", **of_symbol},
        "positionSizing": {
            "method": "fixed_quantity",
            "quantity": int(rng.integers(1, 20)),
            "pyramiding": one_of({"enabled": False}, {"enabled": True, "maxEntries": 3}),
        },
        "entryConditions": {
            "positionType": one_of("long", "short", "both"),
            "conditions": [one_of(crossing, crossing, strength)],
        },
        "exitConditions": {name: value for name, value in exits.items() if value is not None},
        "riskParameters": {
            "maxPositionSize": 1e7,
            "maxDailyLoss": one_of(1e9, 20_000),
            "maxOpenPositions": 1,
        },
        "executionSettings": {
            "mode": "paper",
            "exchange": "NSE",
            "productType": product,
            "slippage": 0.02,
            **one_of(
                {"orderType": "market"},
                {"orderType": "market"},
                {"orderType": "limit", "limitOffset": 0.1},
                {"orderType": "stop", "limitOffset": 0.1},
            ),
        },
    }
