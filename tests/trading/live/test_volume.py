"""A run trades by volume as its backtest does (engine rules 6 and 11)."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from apps.accounts.models import User
from apps.engine.candles.candles import frozen
from apps.trading.live.runner import Runner
from tests.trading.live.market_day import (
    DAY,
    FIRST,
    backtested,
    catch_up,
    crossing_steps,
    random_candles,
    session_starts,
    started,
    store_bars,
)
from tests.trading.live.test_runner import expected_of, trades_of

pytestmark = pytest.mark.django_db

SYMBOL, LENGTH = "NSE:RELIANCE", 1800
RISING = {
    "type": "indicator_value",
    "indicator": {"type": "OBV"},
    "operator": "at_or_above",
    "value": -1_000_000,
}


@pytest.mark.parametrize("silent_days", [2, 1])
def test_orders_by_volume_wait_until_there_is_some(alice: User, silent_days: int) -> None:
    bars = random_candles(3, session_starts(2, LENGTH))
    silent = bars.time < FIRST + silent_days * DAY
    bars = replace(bars, volume=frozen(np.where(silent, 0.0, bars.volume)))
    given = crossing_steps(
        [SYMBOL],
        "30m",
        entryConditions={"positionType": "long", "conditions": [RISING]},
        exitConditions={
            "maxHoldingCandles": 3,
            "stopLoss": {"type": "percentage", "percentage": 5},
        },
    )
    run, series = started(alice, given), {SYMBOL: bars}
    store_bars(series, "30m")
    catch_up(series, "30m", LENGTH, Runner())

    result = backtested(run, start=FIRST, end=FIRST + 7 * DAY)
    assert trades_of(run) == expected_of(result)
    assert bool(len(result.trades)) == (silent_days < 2)
    assert (result.trades["entry_time"] > FIRST + silent_days * DAY).all()


def test_an_entry_takes_the_same_share_of_the_volume_of_its_bar(alice: User) -> None:
    bars = random_candles(3, session_starts(2, LENGTH))
    bars = replace(bars, volume=frozen((np.arange(len(bars)) * 7 % 400).astype(np.float64)))
    settings = {
        "executionSettings": {
            "mode": "paper",
            "exchange": "NSE",
            "orderType": "market",
            "maxVolumeShare": 10,
        }
    }
    given = crossing_steps(
        [SYMBOL],
        "30m",
        exitConditions={
            "maxHoldingCandles": 3,
            "stopLoss": {"type": "percentage", "percentage": 5},
        },
        **settings,
    )
    run, series = started(alice, given), {SYMBOL: bars}
    store_bars(series, "30m")
    catch_up(series, "30m", LENGTH, Runner())

    result = backtested(run, start=FIRST, end=FIRST + 7 * DAY)
    assert trades_of(run) == expected_of(result)
    assert len(set(result.trades["quantity"].tolist())) > 1
    reduced: Any = result.performance["reducedEntries"]
    assert reduced["volume"] > 1
