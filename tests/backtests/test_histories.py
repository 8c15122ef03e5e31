"""The engine's input from the stored bars."""

from datetime import date

import pytest

from apps.backtests.running.histories import TooManyBars, load_histories
from apps.engine.candles.candles import shared_columns
from apps.engine.simulation.timeline import History
from apps.market.services import market_rules_of
from tests.engine.strategies import strategy
from tests.market.bars import are_same_candles, at, rising_minutes, store_candles

pytestmark = pytest.mark.django_db

BARS = rising_minutes("2024-01-01 09:15", 300)
LATER = rising_minutes("2024-01-01 09:20", 200, first_price=50)
DAY = date(2024, 1, 1)
HELD = {"NSE:INFY": BARS, "NSE:TCS": BARS, "NSE:SBIN": LATER}


def read(symbols: list[str], *, max_bars: int = 1000) -> list[History]:
    basics = {"strategyType": "momentum", "timeframe": "1m", "symbols": symbols}
    wanted = strategy(basicInfo=basics)
    start, end = at("2024-01-01 00:00"), at("2024-01-02 00:00")
    return load_histories(
        market_rules_of(wanted, first=DAY, last=DAY),
        owner_id="",
        start=start,
        end=end,
        max_bars=max_bars,
        on_progress=lambda done: None,
    )


def test_many_symbols_share_one_table() -> None:
    for symbol, bars in HELD.items():
        store_candles(symbol, "1m", bars)
    candles = [history.candles for history in read(list(HELD))]
    assert all(map(are_same_candles, candles, HELD.values()))
    assert shared_columns(candles) is not None
    assert candles[0].time is candles[1].time
    assert shared_columns([history.candles for history in read(["NSE:INFY"])]) is None


def test_no_more_bars_are_read_than_a_worker_should_hold() -> None:
    for symbol, bars in HELD.items():
        store_candles(symbol, "1m", bars)
    assert len(read(list(HELD), max_bars=800)) == 3
    with pytest.raises(TooManyBars):
        read(list(HELD), max_bars=799)
