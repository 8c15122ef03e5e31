"""Live trading equals the backtest, bar by bar: rules 11 and 16 through conditions and ranges.

Live here means the abilities of any live run: at each row it holds the bars up to now, as far back
as rule 11 reads, computes the signals from these bars alone, and continues from saved bytes.
"""

from typing import Any

import numpy as np
import pytest

from apps.engine.candles import TIMEFRAMES, WARMUP_BARS, Candles, block_id, block_start, ist_day
from apps.engine.candles.candles import frozen
from apps.engine.candles.resampling import resample
from apps.engine.indicators.aligned_candles import AlignedCandles
from apps.engine.indicators.series import CandleSource
from apps.engine.kernel import codes as c
from apps.engine.kernel import kernel as k
from apps.engine.kernel import records as r
from apps.engine.kernel import saved
from apps.engine.language.strategy import Strategy, parse
from apps.engine.signals.alerts import Times
from apps.engine.signals.columns import SymbolBars
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.signals.signals import atr_columns, signals_of
from apps.engine.simulation.plan import Contract, contract_rows, plan_of
from apps.engine.simulation.simulate import History, SimulationResult, simulate
from tests.engine.configurations import CROSS, complete
from tests.engine.random_cases import bars_of, check_arrays

CAPITAL = 1_000_000.0
SYMBOLS = ("NSE:ONE", "NSE:TWO")
DAY = 86_400


def always_in(timeframe: str) -> Strategy:
    """Return a strategy whose indicators depend on the start of their array.

    OBV sums from there, and averages remember it.
    """
    flow = {"type": "indicator_value", "indicator": {"type": "OBV"}, "operator": "above"}
    fast, slow = {"type": "SMA", "period": 3}, {"type": "SMA", "period": 7, "offset": 1}
    short_cross = {**CROSS, "indicator1": fast, "indicator2": slow}
    return parse(
        complete(
            basicInfo={"strategyType": "swing", "timeframe": timeframe, "symbols": list(SYMBOLS)},
            positionSizing={
                "method": "volatility_based",
                "riskPercentage": 2,
                "atrPeriod": 5,
                "pyramiding": {"enabled": True, "maxEntries": 3},
            },
            entryConditions={
                "positionType": "both",
                "logicalOperator": "OR",
                "confirmationCandles": 2,
                "conditions": [
                    CROSS,
                    flow | {"value": 0},
                    short_cross,
                    *_of_longer(timeframe),
                    {"type": "signal", "name": "scan", "side": "long", "within": 2},
                ],
            },
            exitConditions={
                "stopLoss": {"type": "atr", "atrPeriod": 10},
                "takeProfit": {"type": "risk_reward", "ratio": 2},
                "trailingStop": {"enabled": True, "type": "atr", "activationThreshold": 0.5},
                "maxHoldingCandles": 12,
                "conditions": [
                    {
                        "type": "indicator_value",
                        "indicator": {"type": "CCI", "period": 5},
                        "operator": "crosses_below",
                        "value": 60,
                    },
                    {"type": "signal", "name": "leave", "side": "both"},
                ],
                "logicalOperator": "OR",
            },
            executionSettings={
                "mode": "paper",
                "exchange": "NSE",
                "orderType": "market",
                "slippage": 0.05,
                "productType": "carryforward",
            },
        )
    )


LONGER = {"5m": "1h", "1h": "4h", "4h": "1d", "1d": "1w"}


def _of_longer(timeframe: str) -> list[dict[str, Any]]:
    if timeframe not in LONGER:
        return []
    flow = {"type": "OBV", "timeframe": LONGER[timeframe]}
    return [
        {"type": "indicator_value", "indicator": flow, "operator": "rising", "candles": 2},
        {"type": "indicator_value", "indicator": flow, "operator": "crosses_above", "value": 0},
    ]


def walk(timeframe: str, count: int, seed: int, *, last_start: int) -> Candles:
    """Return a random walk of `count` bars on a market that never closes, with gaps, up to a
    moment.
    """
    rng = np.random.default_rng(seed)
    step = TIMEFRAMES[timeframe]
    time = last_start - step * np.flatnonzero(rng.random(count) < 0.95)[::-1]
    n = len(time)
    close = 500 * np.exp(np.cumsum(rng.normal(0, 0.004, n)))
    opened = close * np.exp(rng.normal(0, 0.001, n))
    return Candles.build(
        time,
        open=opened,
        high=np.maximum(opened, close) * 1.002,
        low=np.minimum(opened, close) * 0.998,
        close=close,
        volume=rng.integers(1, 1000, n).astype(float),
    )


def alerts_of(candles: Candles, timeframe: str) -> dict[str, Times]:
    """Return alerts among the last hundred bars, some of them at the very end of one."""
    rng, ends = np.random.default_rng(len(candles)), candles.time[-100:] + TIMEFRAMES[timeframe]
    drawn = [np.sort(rng.choice(ends, 12) - rng.integers(0, 3, 12)) for _ in range(2)]
    return dict(zip(("scan", "leave"), drawn, strict=True))


def live(strategy: Strategy, candles: list[Candles], start: int) -> tuple[bytes, bytes]:
    """Return (trades, equity at closes) as bytes."""
    timeframe, plan = strategy.basicInfo.timeframe, plan_of(strategy)
    contracts = contract_rows([Contract()] * len(candles), {"": 0})
    times = np.unique(np.concatenate([c.time for c in candles]))
    instruments = np.arange(len(candles))
    rules = r.rules_of(plan, instruments, contracts, np.zeros(0, r.RATE))
    data = saved.save(r.new_state(instruments, cash=CAPITAL))
    trades, curve = b"", b""
    out = r.SimulationOutput(np.zeros(2 * len(candles), r.TRADE), np.zeros(1))
    for now in times[times >= start].tolist():
        block = int(block_id(np.array([now]), timeframe)[0])
        cell = np.full((1, len(candles)), -1, np.int32)
        signals = np.zeros((len(candles), 1), np.uint8)
        bars: list[Any] = []
        ranges = []
        for s, own in enumerate(candles):
            begin, stop = np.searchsorted(own.time, (block_start(block, timeframe), now + 1))
            seen = own.slice(max(int(begin) - WARMUP_BARS, 0), int(stop))
            if not len(seen) or seen.time[-1] != now:
                continue
            n = len(seen)
            cell[0, s] = len(bars)
            bars.append((seen.open[-1], seen.high[-1], seen.low[-1], seen.close[-1]))
            ranges.append(
                np.nan_to_num(
                    atr_columns(required_inputs(strategy), SymbolBars(seen), n - 1, n)[-1]
                )
            )
            known = higher_timeframes_seen(seen, own.between(0, now + 1), timeframe)
            received = {
                name: times[times <= now + TIMEFRAMES[timeframe]]
                for name, times in alerts_of(own, timeframe).items()
            }
            signals[s, 0] = signals_of(
                required_inputs(strategy), SymbolBars(seen, known, alerts=received), n - 1, n
            )[-1]
        time = frozen(np.array([now]))
        market = r.MarketRows(
            time,
            ist_day(time),
            cell,
            bars_of(bars),
            np.array(ranges),
            np.empty(0, np.uint8),
        )
        state = saved.load(data, instruments)
        check_arrays(state, market, signals, rules, out)
        ran = k.run(state, market, signals, rules, out, 0, 1)
        data = saved.save(state)
        trades += out.trades[: ran.trades].tobytes()
        curve += out.equity.tobytes()
    return trades, curve


def longer_candles(candles: Candles, timeframe: str) -> dict[str, Candles]:
    """Return the longer candles that are finished by the last of these bars."""
    if timeframe not in LONGER:
        return {}
    name, until = LONGER[timeframe], int(candles.time[-1]) + TIMEFRAMES[timeframe]
    return {name: resample(candles, timeframe, name, None, until=until)}


def higher_timeframes_seen(
    seen: Candles, known: Candles, timeframe: str
) -> dict[CandleSource, AlignedCandles]:
    """Return the longer candles closed by the bars known now, as a live run has them."""
    return {
        CandleSource(timeframe=name): AlignedCandles.of(seen, timeframe, candles, name, None)
        for name, candles in longer_candles(known, timeframe).items()
    }


def backtest(strategy: Strategy, candles: list[Candles], start: int) -> SimulationResult:
    timeframe = strategy.basicInfo.timeframe
    histories = [
        History(
            symbol,
            own,
            higher_timeframes=longer_candles(own, timeframe),
            alerts=alerts_of(own, timeframe),
        )
        for symbol, own in zip(SYMBOLS, candles, strict=True)
    ]
    return simulate(strategy, histories, start=start, end=2**40, capital=CAPITAL)


@pytest.mark.parametrize(
    ("timeframe", "edge", "bars"),
    [
        ("5m", "2024-02-01", 4_000),
        ("1h", "2024-01-01", 4_000),
        ("4h", "2024-01-01", 600),  # fewer than rule 11 would read: all there are
        ("1d", "2020-01-01", 3_000),
        ("1w", "2020-01-06", 2_400),  # the first Monday of the decade
    ],
)
def test_rule_16_live_is_the_backtest_over_the_edge_of_a_block(
    timeframe: str, edge: str, bars: int
) -> None:
    step = TIMEFRAMES[timeframe]
    first_of_block = int(np.datetime64(edge, "s").astype(int)) - 19_800
    last = first_of_block + 25 * step
    candles = [walk(timeframe, bars, seed, last_start=last) for seed in (1, 2)]
    strategy, start = always_in(timeframe), first_of_block - 25 * step
    result = backtest(strategy, candles, start)
    trades, curve = live(strategy, candles, start)
    closed = result.trades[result.trades["reason"] != c.BY_END_OF_DATA]
    assert len(closed) > 10
    assert len(set(result.trades["symbol"].tolist())) == 2
    assert trades == closed.tobytes()
    assert curve[:-8] == result.curve["equity"][:-1].tobytes()
