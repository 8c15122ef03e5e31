"""An indicator that reads ahead is caught; the catalogue has none."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from apps.engine.candles import Candles
from apps.engine.candles.resampling import resample
from apps.engine.evidence.look_ahead import CUTS, SHUFFLED_FUTURES, LookAhead, look_ahead_of
from apps.engine.indicators.aligned_candles import AlignedCandles
from apps.engine.indicators.series import ReadOther, Series, Table, over
from apps.engine.language.strategy import Strategy
from apps.engine.signals import columns
from apps.engine.simulation.timeline import History
from tests.benchmarks.random_candles import session_bars
from tests.engine.evidence_inputs import evidence_on
from tests.engine.strategies import sma_cross, strategy

CROSS = strategy(entryConditions={"positionType": "both", "conditions": [sma_cross(3, 8)]})
LONGER = strategy(
    entryConditions={
        "positionType": "both",
        "conditions": [
            sma_cross(3, 8),
            {
                "type": "indicator_value",
                "indicator": {"type": "RSI", "period": 3, "timeframe": "15m"},
                "operator": "above",
                "value": 40,
            },
        ],
    }
)


def looked(
    steps: Strategy, *, sessions: int = 4, seed: int = 1, longer: tuple[str, ...] = ()
) -> LookAhead:
    histories = []
    for number, symbol in enumerate(steps.basicInfo.symbols):
        candles = session_bars(sessions, seed=seed + number)
        higher = {name: resample(candles, "1m", name, None) for name in longer}
        histories.append(History(symbol, candles, higher_timeframes=higher))
    return look_ahead_of(evidence_on(steps, histories))


def reading_ahead(
    bars: int, at_the_end: Callable[[Table], Table]
) -> Callable[[Series, Candles, Iterable[slice], ReadOther], Iterator[Table]]:
    """Make indicators that read so many bars ahead; at the end, they use the known bars."""

    def ahead(
        series: Series, candles: Candles, parts: Iterable[slice], read_other: ReadOther
    ) -> Iterator[Table]:
        for table in over(series, candles, parts, read_other):
            shifted = at_the_end(table)
            shifted[:, :-bars] = table[:, bars:]
            yield shifted

    return ahead


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    "at_the_end",
    [np.copy, lambda table: np.full_like(table, np.nan), np.zeros_like],
    ids=["repeated", "unknown", "zero"],
)
def test_an_indicator_that_reads_one_bar_ahead_is_caught_every_time(
    monkeypatch: pytest.MonkeyPatch, seed: int, at_the_end: Callable[[Table], Table]
) -> None:
    monkeypatch.setattr(columns, "over", reading_ahead(1, at_the_end))
    result = looked(CROSS, sessions=2, seed=seed)
    assert len(result.changed) > result.cuts / 4


def test_a_level_that_reads_one_bar_ahead_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its conditions read the hours alone, and its stop is too far away to be reached."""
    low = {"type": "MIN", "period": 5, "source": "low"}
    far = {"type": "CALC", "operator": "multiply", "operands": [low, 0.5]}
    steps = strategy(
        entryConditions={
            "positionType": "long",
            "conditions": [{"type": "time_window", "from": "10:00", "to": "10:05"}],
        },
        exitConditions={"stopLoss": {"type": "level", "price": far}, "maxHoldingCandles": 30},
    )
    assert looked(steps).changed == ()
    monkeypatch.setattr(columns, "over", reading_ahead(1, np.copy))
    assert looked(steps).changed


@pytest.mark.parametrize("seed", range(3))
def test_indicators_of_the_past_pass(seed: int) -> None:
    result = looked(CROSS, seed=seed)
    assert (result.cuts, result.futures, result.changed) == (CUTS, SHUFFLED_FUTURES, ())
    assert result.decisions > CUTS


def test_ranges_longer_timeframes_and_many_symbols_are_looked_at() -> None:
    many = LONGER.model_copy(
        update={"basicInfo": LONGER.basicInfo.model_copy(update={"symbols": ("NSE:A", "NSE:B")})}
    )
    result = looked(many, longer=("15m",))
    assert (result.cuts > CUTS / 2, result.changed) == (True, ())


def test_a_longer_candle_that_counts_before_it_is_closed_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    aligned = AlignedCandles.of

    def early(*arguments: Any) -> AlignedCandles:
        higher = aligned(*arguments)
        return higher._replace(seen=np.minimum(higher.seen + 1, len(higher.candles) - 1))

    monkeypatch.setattr(AlignedCandles, "of", early)
    assert looked(LONGER, longer=("15m",)).changed


def test_without_a_decision_nothing_is_certified() -> None:
    never = strategy(exitConditions={"stopLoss": {"type": "percentage", "percentage": 1}})
    flat = session_bars(2)
    far = Candles.build(
        flat.time,
        open=flat.open + 1e6,
        high=flat.high + 1e6,
        low=flat.low + 1e6,
        close=flat.close + 1e6,
        volume=flat.volume,
    )
    result = look_ahead_of(evidence_on(never, [History("NSE:TEST", far)]))
    assert (result.cuts, result.decisions, result.changed) == (0, 0, ())


def test_the_certificate_names_the_decisions_themselves() -> None:
    first, again = looked(CROSS).certificate, looked(CROSS).certificate
    assert first == again
    assert first["hash"] != looked(CROSS, seed=2).certificate["hash"]
