"""The same trades, equity and figures as vectorbt, on generated prices where both rules agree.

The conditions are: no bar reaches a stop from its open, because vectorbt checks none in the bar of
an entry; ticks are so small that no level is rounded, because it rounds none; there are no charges;
cash is ample; and an open position at the end is valued at the last close by it and closed there by
us. One difference is left: an entry at the very open at which a gap has closed a position. We make
it, and vectorbt does not.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apps.engine.candles import DAY, IST, Candles
from apps.engine.results.trade_figures import net_profits
from apps.engine.simulation.simulate import Contract, History, SimulationResult, simulate
from tests.benchmarks.peers.runners import ENVIRONMENT
from tests.engine.strategies import sma_cross, strategy

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

SCRIPT = Path(__file__).with_name("vectorbt_run.py")
ANNUAL = 252**0.5
LOSSES = {"maxDrawdown", "averageDrawdown", "valueAtRisk95", "valueAtRisk99", "expectedShortfall95"}
PERCENT = {"winRate", "cagr", "annualVolatility", "alpha", "bestDay", "worstDay", "benchmarkReturn"}
"""By our names; fractions there, and losses below 0."""


@pytest.fixture(scope="module")
def candles() -> Candles:
    """Return 2,000 days in paise: gaps of half a percent, ranges under one."""
    rng = np.random.default_rng(5)
    gap, body = rng.normal(0, 0.003, 2000), rng.uniform(-0.006, 0.0062, 2000)
    close = 1000 * np.cumprod((1 + gap) * (1 + body))
    opened = np.round(close / (1 + body), 2)
    close = np.round(close, 2)
    wick = opened[:, None] * rng.uniform(0, 0.002, (2000, 2))
    return Candles.build(
        np.arange(2000) * DAY - IST,
        open=opened,
        close=close,
        volume=np.zeros(2000),
        high=np.round(np.maximum(opened, close) + wick[:, 0], 2),
        low=np.round(np.minimum(opened, close) - wick[:, 1], 2),
    )


@pytest.fixture(scope="module")
def vectorbt(candles: Candles, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the output of the script. Any: JSON."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        pytest.skip(f"no vectorbt in {ENVIRONMENT}: `make bench` installs it")
    path = tmp_path_factory.mktemp("bars") / "bars.npy"
    names = ("time", "open", "high", "low", "close")
    np.save(path, np.array([getattr(candles, name) for name in names], float))
    environment = os.environ | {"NUMBA_CACHE_DIR": str(ENVIRONMENT / "numba")}
    environment.pop("NUMBA_CACHE_LOCATOR_CLASSES", None)  # a class that is not in that environment
    done = subprocess.run(
        [str(python), str(SCRIPT), str(path)], stdout=subprocess.PIPE, env=environment, check=True
    )
    return json.loads(done.stdout)


def simulated(candles: Candles, *, sides: str, exits: dict[str, Any]) -> SimulationResult:
    given = strategy(
        basicInfo={"timeframe": "1d"},
        positionSizing={"quantity": 10},
        entryConditions={"positionType": sides, "conditions": [sma_cross(5, 20)]},
        exitConditions={"stopLoss": None, **exits},
    )
    history = History("NSE:TEST", candles, contract=Contract(tick=0.0001))
    return simulate(given, [history], start=-IST, end=2**40, capital=1e6)


def reversing(candles: Candles) -> SimulationResult:
    return simulated(candles, sides="both", exits={"exitOnOppositeSignal": True})


def assert_equal(result: SimulationResult, candles: Candles, vectorbt: dict[str, Any]) -> None:
    trades = result.trades
    assert np.searchsorted(candles.time, trades["entry_time"]).tolist() == vectorbt["entry_idx"]
    assert np.searchsorted(candles.time, trades["exit_time"]).tolist() == vectorbt["exit_idx"]
    assert (trades["side"] < 0).tolist() == [direction == 1 for direction in vectorbt["direction"]]
    for values, name in (
        (trades["entry_price"], "entry_price"),
        (trades["exit_price"], "exit_price"),
        (net_profits(trades), "pnl"),
        (result.curve["equity"], "equity"),
    ):
        np.testing.assert_allclose(values, vectorbt[name], rtol=1e-12, atol=1e-6, err_msg=name)


def test_reversing_at_each_cross(candles: Candles, vectorbt: Any) -> None:
    result = reversing(candles)
    assert len(result.trades) > 100
    assert_equal(result, candles, vectorbt["reversing"])


def test_long_entries_with_a_stop_and_a_target_equal_vectorbt(
    candles: Candles, vectorbt: Any
) -> None:
    levels = {
        "stopLoss": {"type": "percentage", "percentage": 1},
        "takeProfit": {"type": "percentage", "percentage": 2},
    }
    result = simulated(candles, sides="long", exits=levels)
    assert len(result.trades) > 50
    assert_equal(result, candles, vectorbt["stopped"])


def test_figures(candles: Candles, vectorbt: Any) -> None:
    """Its moments are corrected for the size of the sample, its information ratio uses days, and
    our rupees are rounded.
    """
    expected, n = vectorbt["figures"], len(candles)
    expected["skewness"] *= (n - 2) / (n * (n - 1)) ** 0.5
    expected["kurtosis"] = 3 + (expected["kurtosis"] * (n - 2) * (n - 3) / (n - 1) - 6) / (n + 1)
    expected["informationRatio"] *= ANNUAL
    for name in LOSSES:
        expected[name] *= -1
    for name in PERCENT | LOSSES:
        expected[name] *= 100
    for name in ("expectancy", "averageWin", "averageLoss"):
        expected[name] = round(expected[name], 4)
    metrics = reversing(candles).performance
    assert {name: metrics[name] for name in expected} == pytest.approx(expected, rel=1e-9)
