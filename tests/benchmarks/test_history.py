"""Chunks against a table of single candles: to read, to load, to store."""

import csv
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.db import connection
from django.db.models import Sum

from apps.engine.candles import Candles
from apps.market import services
from apps.market.candles import chunks, reading
from apps.market.models import CandleChunk
from tests.benchmarks.random_candles import session_bars
from tests.benchmarks.side_by_side import compare
from tests.market.bars import NOW, store_candles
from tests.market.candle_files import ImportedSeries

pytestmark = [pytest.mark.bench, pytest.mark.django_db]

SYMBOL = "NSE:WALK"
NAMES = ("time", "open", "high", "low", "close", "volume")

# Sessions of 375 minutes that make about 100,000 and 1,000,000 bars.
YEAR, DECADE = 267, 2667

MANY = 10_000_000
"""Bars of other symbols to read one symbol's year among."""

_COPIES = """
INSERT INTO market_candlechunk (symbol, timeframe, synthetic, adjusted, period_start, bars,
    first_time, last_time, days, data, sha256, updated_at)
SELECT %s || n, timeframe, synthetic, adjusted, period_start, bars, first_time, last_time, days,
    data, sha256, updated_at
FROM market_candlechunk, generate_series(1, %s) AS n WHERE symbol = %s
"""

Row = Sequence[float]


@pytest.fixture
def rows_table(db: None) -> None:
    """Make a table with one candle a row, for this transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMP TABLE one_candle_a_row (time bigint PRIMARY KEY, open float8, high float8,"
            " low float8, close float8, volume float8) ON COMMIT DROP"
        )


def rows_of(candles: Candles) -> Iterable[Row]:
    return zip(*(getattr(candles, name).tolist() for name in NAMES), strict=True)


def load_rows(rows: Iterable[Row]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE one_candle_a_row")
        with cursor.copy("COPY one_candle_a_row FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)


def read_rows() -> np.ndarray:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(NAMES)} FROM one_candle_a_row ORDER BY time")
        return np.array(cursor.fetchall())


@pytest.fixture
def csv_file(tmp_path: Path) -> Path:
    path = tmp_path / "NSE_WALK_1m_decade.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(NAMES)
        for stamp, *numbers in rows_of(session_bars(DECADE)):
            writer.writerow([datetime.fromtimestamp(stamp, tz=UTC).isoformat(), *numbers])
    return path


@pytest.fixture
def parquet_file(tmp_path: Path) -> Path:
    path, walk = tmp_path / "NSE_WALK_1m_decade.parquet", session_bars(DECADE)
    stamps = pa.array(walk.time).cast(pa.timestamp("s", tz="UTC"))
    numbers = {name: getattr(walk, name) for name in NAMES[1:]}
    pq.write_table(pa.table({"time": stamps, **numbers}), path)
    return path


def rows_of_csv(path: Path) -> Iterable[Row]:
    with path.open(newline="") as file:
        reader = csv.reader(file)
        next(reader)
        for stamp, *numbers in reader:
            yield [int(datetime.fromisoformat(stamp).timestamp()), *map(float, numbers)]


def rows_of_parquet(path: Path) -> Iterable[Row]:
    columns: list[list[Any]] = [column.to_pylist() for column in pq.read_table(path).columns]
    stamps, *numbers = columns
    return zip((int(stamp.timestamp()) for stamp in stamps), *numbers, strict=True)


def compare_loads(path: Path, read_plainly: Callable[[Path], Iterable[Row]]) -> None:
    """Compare loading a file with every check and report to inserting rows without any."""
    bars, seconds = DECADE * 375, []

    def load() -> None:
        CandleChunk.objects.all().delete()
        begun = time.perf_counter()
        loaded = ImportedSeries(path)
        done = services.append(
            symbol=loaded.symbol, timeframe=loaded.timeframe, candles=loaded.candles, now=NOW
        )
        seconds.append(time.perf_counter() - begun)
        assert done.added == bars

    name = f"{bars:,} minutes from {path.suffix[1:]}, checked into blocks against unchecked rows"
    compare(name, load, lambda: load_rows(read_plainly(path)), rounds=2)
    print(f"{bars / min(seconds):,.0f} bars a second at best")


def print_sizes(name: str, candles: Candles, timeframe: str) -> None:
    cut = chunks.split(candles, timeframe)
    stored = sum(len(chunks.encode(block.candles)) for block in cut) / len(candles)
    load_rows(rows_of(candles))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_total_relation_size('one_candle_a_row')")
        rows = cursor.fetchone()[0] / len(candles)
    print(
        f"\n{name}: {stored:.1f} bytes a bar against {rows:.1f} as rows, {rows / stored:.1f} times"
    )


def test_reading_a_year_of_minutes(rows_table: None) -> None:
    candles = session_bars(YEAR)
    store_candles(SYMBOL, "1m", candles)
    load_rows(rows_of(candles))
    start, end = int(candles.time[0]), int(candles.time[-1]) + 60

    def read_blocks() -> Candles:
        return reading.read_bars(SYMBOL, "1m", start=start, end=end)

    assert np.array_equal(read_blocks().close, read_rows()[:, 4])
    compare(f"{len(candles):,} minutes read, blocks against rows", read_blocks, read_rows, rounds=9)


@pytest.mark.timeout(600)
def test_reading_a_year_among_many() -> None:
    """Reading takes the time of the chunks in the requested span, regardless of others: an index
    finds each, and it is read by its key. So a tenth of the bars shows the same as all would.
    """
    store_candles(SYMBOL, "1m", session_bars(YEAR))
    end = 2**33

    def read() -> Candles:
        return reading.read_bars(SYMBOL, "1m", start=0, end=end)

    alone, busy = median_of(read), median_of(read, time.process_time)
    with connection.cursor() as cursor:
        cursor.execute(_COPIES, [SYMBOL + "C", MANY // len(read()), SYMBOL])
        cursor.execute("ANALYZE market_candlechunk")
    among = median_of(read)
    bars = CandleChunk.objects.aggregate(bars=Sum("bars"))["bars"]
    print(f"\na year of {len(read()):,} minutes alone: {alone * 1000:.1f} ms", end="")
    print(f", of which this process works {busy * 1000:.1f} ms")
    print(f"among {bars:,} bars: {among * 1000:.1f} ms, {among / alone:.2f} times as long")


def median_of(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the median seconds of a call."""
    taken = []
    for _ in range(15):
        begun = clock()
        call()
        taken.append(clock() - begun)
    return median(taken)


@pytest.mark.timeout(600)
def test_loading_csv(rows_table: None, csv_file: Path) -> None:
    compare_loads(csv_file, rows_of_csv)


@pytest.mark.timeout(600)
def test_loading_parquet(rows_table: None, parquet_file: Path) -> None:
    compare_loads(parquet_file, rows_of_parquet)


@pytest.mark.parametrize(("timeframe", "length"), [("1m", 60), ("5m", 300)])
def test_the_size_of_walks(rows_table: None, timeframe: str, length: int) -> None:
    print_sizes(f"walk, {timeframe}", session_bars(YEAR, length=length), timeframe)


@pytest.mark.parametrize(
    ("name", "timeframe"), [("INFY_1m_2024-25.parquet", "1m"), ("BHEL_5m_2025-26.parquet", "5m")]
)
def test_the_size_of_real_bars(
    rows_table: None, name: str, timeframe: str, market_data: Path
) -> None:
    print_sizes(name, ImportedSeries(market_data / name).candles, timeframe)
