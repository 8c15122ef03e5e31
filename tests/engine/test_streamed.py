"""A simulation by parts of the range has the bytes of one that holds all bars."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from apps.engine.candles import WARMUP_BARS, Candles, ist_day, start_of_block
from apps.engine.charges import ChargeRow
from apps.engine.errors import InsufficientBars
from apps.engine.language.strategy import Strategy
from apps.engine.resampling import resample
from apps.engine.sessions import Regime, Sessions, in_session
from apps.engine.simulation import streamed
from apps.engine.simulation.plan import Contract
from apps.engine.simulation.simulate import History, SimulationResult, simulate
from apps.engine.simulation.simulations import ignore_progress
from apps.engine.simulation.streamed import CandlesChanged, simulate_streamed
from tests.benchmarks.walks import session_bars
from tests.engine.strategies import sma_cross, strategy

HOURS = Sessions.build([Regime(0, 40_000, 33_300, 55_800)], [])
LENGTH, TIMEFRAME = 900, "15m"
CANDLES = session_bars(400, length=LENGTH, seed=3)
DAYS = ist_day(CANDLES.time)
START, END = int(CANDLES.time[25 * 150]), int(CANDLES.time[-40])
RATES = (ChargeRow("shares", 0, *([0.0003, 20.0] + [0.0001] * 7 + [15.0])),)


def thinned(candles: Candles, seed: int, keep: float) -> Candles:
    """Bars are missing, and some come before the session opens."""
    drawn = np.random.default_rng(seed).random(len(candles))
    kept = candles.select(drawn < keep)
    early = kept.select(np.random.default_rng(seed).random(len(kept)) < 0.01)
    time = np.concatenate([kept.time, early.time - 7200 * 3])
    order = np.unique(time, return_index=True)[1]
    return Candles.build(
        time[order],
        **{
            name: np.concatenate([getattr(kept, name), getattr(early, name)])[order]
            for name in ("open", "high", "low", "close", "volume")
        },
    )


def history(name: str, candles: Candles, contract: Contract) -> History:
    longer = {
        "1h": resample(
            candles.select(in_session(candles.time, TIMEFRAME, HOURS)), TIMEFRAME, "1h", HOURS
        )
    }
    return History(name, candles, HOURS, contract, higher_timeframes=longer)


def walk(seed: int) -> Candles:
    return session_bars(400, length=LENGTH, seed=seed)


LARGER_LOT = int(DAYS[25 * 200]), Contract(lot=3.0, segment="shares")
LAST_CLOSE = int(CANDLES.time[25 * 300 - 1]) + LENGTH
HISTORIES = [
    history("NSE:THIN", thinned(walk(4), 1, 0.6), Contract(margin=0.01, segment="shares")),
    history("NSE:WHOLE", CANDLES, Contract(segment="shares", later=(LARGER_LOT,))),
    history("NSE:LATE", walk(5).slice(25 * 230, 25 * 390), Contract(multiplier=2.0)),
    history("NSE:ENDS", walk(6).slice(0, 25 * 300), Contract(ends=LAST_CLOSE)),
]


class Reader:
    """Reads as little of a history as rule 11 allows."""

    def __init__(self, whole: History) -> None:
        self.whole = whole

    def read(self) -> History:
        return self.whole

    def read_part(self, start: int, end: int) -> History:
        candles = self.whole.candles
        block = int(np.searchsorted(candles.time, start_of_block(start, TIMEFRAME)))
        inside = np.flatnonzero(in_session(candles.time[:block], TIMEFRAME, HOURS))
        first = int(inside[-WARMUP_BARS]) if len(inside) >= WARMUP_BARS else 0
        longer = {name: held.between(0, end) for name, held in self.whole.higher_timeframes.items()}
        return History(
            self.whole.symbol, candles.slice(first, len(candles)).between(0, end), HOURS,
            higher_timeframes=longer,
        )  # fmt: skip


BASICS = {"timeframe": TIMEFRAME}
BOTH = {"positionType": "both", "conditions": [sma_cross(5, 21)]}
HOURLY = {
    "type": "indicator_value", "operator": "above", "value": 55,
    "indicator": {"type": "RSI", "period": 9, "timeframe": "1h"},
}  # fmt: skip
STRATEGIES = {
    "crossing": strategy(basicInfo=BASICS, entryConditions=BOTH),
    "ranges": strategy(
        basicInfo=BASICS,
        entryConditions=BOTH,
        exitConditions={"stopLoss": {"type": "atr", "atrPeriod": 14, "atrMultiplier": 2}},
        executionSettings={"productType": "intraday"},
    ),
    "limits": strategy(
        basicInfo=BASICS,
        entryConditions=BOTH,
        executionSettings={"orderType": "limit", "limitOffset": 0.05},
        riskParameters={"maxOpenPositions": 2},
    ),
    "hourly": strategy(
        basicInfo=BASICS,
        entryConditions={"positionType": "long", "conditions": [HOURLY]},
        exitConditions={"maxHoldingCandles": 40},
        executionSettings={"includeOutOfSession": True},
    ),
    "ruin": strategy(
        basicInfo=BASICS,
        entryConditions=BOTH,
        positionSizing={"method": "fixed_quantity", "quantity": 300},
        executionSettings={"slippage": 5},
    ),
}


def bytes_of(result: SimulationResult) -> dict[str, Any]:
    return {
        **{
            name: getattr(result, name)
            for name in ("symbols", "performance", "receipt", "candle_series")
        },
        "trades": result.trades.tobytes(),
        "curve": result.curve.tobytes(),
        "excursions": [column.tobytes() for column in result.excursions or ()],
        "fills": [column.tobytes() for column in result.fills],
    }


def streamed_of(wanted: Strategy, histories: list[History], **changes: Any) -> SimulationResult:
    return simulate_streamed(
        wanted,
        list(map(Reader, histories)),
        **{
            "start": START, "end": END, "capital": 1e6, "schedule": RATES, "seed": 7,
            "on_progress": ignore_progress, **changes,
        },
    )  # fmt: skip


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("bars_at_a_time", [1, 4_000])
@pytest.mark.parametrize("count", [1, 4])
def test_parts_give_the_bytes_of_the_whole(
    monkeypatch: pytest.MonkeyPatch, name: str, bars_at_a_time: int, count: int
) -> None:
    monkeypatch.setattr(streamed, "BARS_AT_A_TIME", bars_at_a_time)
    histories = HISTORIES[:count]
    fractions = list[float]()
    parts = streamed_of(STRATEGIES[name], histories, on_progress=fractions.append)
    whole = simulate(
        STRATEGIES[name], histories, start=START, end=END, capital=1e6, schedule=RATES, seed=7
    )
    assert len(whole.trades) > 20
    assert (whole.curve["time"][-1] < CANDLES.time[-200]) == (name == "ruin")
    assert bytes_of(parts) == bytes_of(whole)
    assert fractions == sorted(fractions)
    assert len(fractions) > 2 * count
    assert fractions[-1] == 1


@pytest.mark.parametrize("bars", [0, 20])
def test_too_few_bars_are_refused_as_in_the_whole(bars: int) -> None:
    few = replace(HISTORIES[2], candles=HISTORIES[2].candles.slice(0, bars))
    histories = [HISTORIES[0], few]
    span: dict[str, Any] = {"start": START, "end": END, "capital": 1e6}
    with pytest.raises(InsufficientBars) as whole:
        simulate(STRATEGIES["crossing"], histories, **span)
    with pytest.raises(InsufficientBars) as parts:
        streamed_of(STRATEGIES["crossing"], histories)
    assert str(parts.value) == str(whole.value)


def test_candles_that_are_stored_meanwhile_end_the_simulation() -> None:
    changed = walk(7)

    class Changing(Reader):
        reads = 0

        def read(self) -> History:
            self.reads += 1
            return self.whole if self.reads == 1 else replace(self.whole, candles=changed)

    with pytest.raises(CandlesChanged, match="Candles of NSE:WHOLE were stored"):
        simulate_streamed(
            STRATEGIES["crossing"], [Reader(HISTORIES[0]), Changing(HISTORIES[1])],
            start=START, end=END, capital=1e6, schedule=RATES, seed=7, on_progress=ignore_progress,
        )  # fmt: skip
