"""The check for enough stored history, without reading it."""

from collections.abc import Callable
from typing import Any

import pytest

from apps.engine.candles import TIMEFRAMES
from apps.market.candles import chunks, reading
from apps.market.candles.bar_counts import estimate_bars, lower_bounds
from tests.market.bars import at, flat_candles, rising_minutes, store_candles

START, END = at("2024-02-03 00:00"), at("2024-03-20 00:00")
pytestmark = pytest.mark.django_db


def hold_quarter(symbol: str) -> None:
    days = [f"2024-0{month}-{day:02}" for month in (1, 2, 3) for day in range(1, 29, 3)]
    store_candles(symbol, "1m", chunks.concat(rising_minutes(f"{day} 09:15", 375) for day in days))


def short(*symbols: str, timeframe: str, within: int, total: int) -> list[Any]:
    insufficient = reading.insufficient_history(
        symbols, timeframe, start=START, end=END, within=within, total=total
    )
    return list(insufficient)


@pytest.mark.parametrize("timeframe", list(TIMEFRAMES))
def test_no_bound_promises_more_bars_than_exist(timeframe: str) -> None:
    hold_quarter("NSE:SBIN")
    store_candles("NSE:SBIN", "5m", flat_candles([at("2024-03-04 09:15"), at("2024-03-04 09:20")]))
    for start, end in [(START, END), (0, 2**33), (START + 36_000, END + 36_000), (END, END + 60)]:
        bound = lower_bounds(["NSE:SBIN"], timeframe, start=start, end=end)["NSE:SBIN"]
        before, within = reading.count_bars("NSE:SBIN", timeframe, start=start, end=end)
        assert (bound.before <= before, bound.within <= within) == (True, True)


@pytest.mark.parametrize(
    ("timeframe", "error"), [("1m", 0.06), ("5m", 0.06), ("1h", 0.15), ("1d", 0.06)]
)
def test_the_bars_of_a_simulation_are_estimated(timeframe: str, error: float) -> None:
    """The estimate misses a partial last hour of a session."""
    hold_quarter("NSE:SBIN")
    hold_quarter("NSE:INFY")
    symbols = ["NSE:SBIN", "NSE:INFY", "NSE:TCS"]
    for start, end in [(START, END), (START, at("2024-03-05 00:00")), (0, 2**33)]:
        read = sum(
            len(reading.read_bars(name, timeframe, start=start, end=end, warmup=True))
            for name in symbols
        )
        estimate = estimate_bars(symbols, timeframe, start=start, end=end)
        assert estimate == pytest.approx(read, rel=error, abs=2 * len(symbols))


def test_enough_bars_are_found_in_one_query_for_all_symbols(
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    symbols = ["NSE:SBIN", "NSE:INFY", "NSE:TCS"]
    for symbol in symbols:
        hold_quarter(symbol)
    with django_assert_num_queries(1):
        assert short(*symbols, timeframe="5m", within=2, total=202) == []


def test_symbols_with_too_few_bars_are_reported_with_exact_counts() -> None:
    hold_quarter("NSE:SBIN")
    store_candles("NSE:INFY", "1m", rising_minutes("2024-02-05 09:15", 45))
    assert short("NSE:SBIN", "NSE:INFY", "NSE:TCS", timeframe="15m", within=2, total=4) == [
        ("NSE:INFY", (0, 3)),
        ("NSE:TCS", (0, 0)),
    ]


def test_bars_before_the_range_count_for_the_total_only() -> None:
    store_candles("NSE:SBIN", "1m", rising_minutes("2024-01-05 09:15", 300))
    assert short("NSE:SBIN", timeframe="1m", within=0, total=300) == []
    assert short("NSE:SBIN", timeframe="1m", within=1, total=1) == [("NSE:SBIN", (300, 0))]


def test_each_day_of_a_finer_timeframe_counts_as_one_bar() -> None:
    """Except two days, which the data may not complete."""
    hold_quarter("NSE:SBIN")
    bound = lower_bounds(["NSE:SBIN"], "1d", start=START, end=END)["NSE:SBIN"]
    counts = reading.count_bars("NSE:SBIN", "1d", start=START, end=END)
    assert (bound.before + 2, bound.within + 2) == counts


def test_weeks_are_counted_exactly() -> None:
    hold_quarter("NSE:SBIN")
    [(symbol, counts)] = short("NSE:SBIN", timeframe="1w", within=99, total=99)
    assert counts == reading.count_bars(symbol, "1w", start=START, end=END)
