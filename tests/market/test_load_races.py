"""Concurrent loads."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from apps.market.candles import reading
from tests.market.bars import are_same_candles, at, flat_candles, store_candles


@pytest.mark.django_db(transaction=True)
def test_concurrent_loads_of_one_block_lose_nothing() -> None:
    bars = flat_candles([at("2024-01-31 09:15") + 60 * i for i in range(32)])

    def load(part: int) -> None:
        try:
            store_candles("NSE:SBIN", "1m", bars.slice(4 * part, 4 * part + 4))
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(load, range(8)))
    assert are_same_candles(reading.read_bars("NSE:SBIN", "1m", start=0, end=2**33), bars)
