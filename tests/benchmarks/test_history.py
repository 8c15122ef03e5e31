"""What blocks buy against a table of single candles."""

import numpy as np
import pytest
from django.db import connection

from apps.engine.candles import Candles
from apps.market import store
from tests.benchmarks.side_by_side import compare
from tests.benchmarks.walks import minutes
from tests.market.bars import hold

pytestmark = [pytest.mark.bench, pytest.mark.django_db]

ROWS = "SELECT time, open, high, low, close, volume FROM one_candle_a_row ORDER BY time"


def rows_of(candles: Candles) -> None:
    """The same bars as one row each, for as long as the transaction lives."""
    columns = (candles.time, candles.open, candles.high, candles.low, candles.close, candles.volume)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMP TABLE one_candle_a_row (time bigint PRIMARY KEY, open float8, high float8,"
            " low float8, close float8, volume float8) ON COMMIT DROP"
        )
        with cursor.copy("COPY one_candle_a_row FROM STDIN") as copy:
            for row in zip(*(column.tolist() for column in columns), strict=True):
                copy.write_row(row)


def read_rows() -> np.ndarray:
    with connection.cursor() as cursor:
        cursor.execute(ROWS)
        return np.array(cursor.fetchall())


def test_a_year_of_minutes_from_blocks_against_rows() -> None:
    candles = minutes(93_000)
    hold("NSE:NIFTY", "1m", candles)
    rows_of(candles)
    start, end = int(candles.time[0]), int(candles.time[-1]) + 60

    def read_blocks() -> Candles:
        return store.read("NSE:NIFTY", "1m", start=start, end=end)

    assert np.array_equal(read_blocks().close, read_rows()[:, 4])
    ratio = compare(
        f"{len(candles):,} minutes, blocks against rows", read_blocks, read_rows, rounds=9
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(length(data)) FROM market_candleblock")
        blocks = cursor.fetchone()[0]
        cursor.execute("SELECT pg_total_relation_size('one_candle_a_row')")
        rows = cursor.fetchone()[0]
    print(f"stored: {blocks / len(candles):.1f} bytes a bar against {rows / len(candles):.1f}")
    assert ratio > 0
