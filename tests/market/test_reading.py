"""Stored candles, their changes by loads, and reading them."""

from typing import Any

import numpy as np
import pytest

from apps.engine.candles import WARMUP_BARS, Candles
from apps.engine.candles.resampling import resample
from apps.engine.candles.sessions import in_session
from apps.market.candles import bar_history, chunks, reading, slices
from apps.market.candles.writing import RealHistoryExists, WriteCounts
from apps.market.models import CandleChunk
from apps.market.rulebook.sessions import sessions_of
from apps.market.services import append, append_all
from tests.market.bars import NOW, are_same_candles, at, flat_candles, rising_minutes, store_candles

SBIN = "NSE:SBIN"
pytestmark = pytest.mark.django_db


def days(first: str, count: int) -> list[int]:
    return [at(f"{first} 00:00") + 86400 * i for i in range(count)]


def read_all(timeframe: str) -> Candles:
    return reading.read_bars(SBIN, timeframe, start=0, end=2**33)


def test_bars_come_back_as_they_were_stored() -> None:
    bars = rising_minutes("2024-01-31 09:15", 375)
    store_candles(SBIN, "1m", bars)
    assert are_same_candles(read_all("1m"), bars)


def test_bars_replaced_during_a_read_are_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store_candles(SBIN, "1m", rising_minutes("2024-01-31 09:15", 10))
    later = rising_minutes("2024-02-01 09:15", 10)

    def replace_once(chunks: Any) -> dict[int, bytes]:
        monkeypatch.undo()
        append_all(series={SBIN: later}, timeframe="1m", replace=[SBIN], now=NOW)
        return slices.read_data(chunks)

    monkeypatch.setattr(bar_history, "read_data", replace_once)
    assert are_same_candles(read_all("1m"), later)


def test_the_range_is_half_open() -> None:
    store_candles(SBIN, "1m", rising_minutes("2024-01-31 09:15", 10))
    read = reading.read_bars(SBIN, "1m", start=at("2024-01-31 09:17"), end=at("2024-01-31 09:20"))
    assert read.time.tolist() == [at(f"2024-01-31 09:{m}") for m in (17, 18, 19)]


def test_a_load_is_cut_into_months() -> None:
    store_candles(SBIN, "1m", flat_candles([at("2024-01-31 15:29"), at("2024-02-01 09:15")]))
    starts = CandleChunk.objects.values_list("period_start", flat=True)
    assert [str(start) for start in starts] == ["2024-01-01", "2024-02-01"]


def test_loading_again_changes_nothing() -> None:
    bars = rising_minutes("2024-01-31 09:15", 375)
    store_candles(SBIN, "1m", bars)
    before = list(CandleChunk.objects.values())
    later = NOW.replace(year=2027)
    done = append(symbol=SBIN, timeframe="1m", candles=bars, now=later)
    assert done == WriteCounts(repeated=375)
    assert list(CandleChunk.objects.values()) == before


def test_overlapping_loads_add_new_bars_and_replace_changed_bars() -> None:
    store_candles(SBIN, "1m", rising_minutes("2024-01-31 09:15", 10))
    corrected = flat_candles(
        [at("2024-01-31 09:14"), at("2024-01-31 09:15"), at("2024-01-31 09:16")],
        [99.0, 100.0, 500.0],
    )
    done = append(symbol=SBIN, timeframe="1m", candles=corrected, now=NOW)
    assert done == WriteCounts(added=1, repeated=1, replaced=1)
    assert read_all("1m").close.tolist()[:4] == [99.0, 100.0, 500.0, 100.1]
    assert len(read_all("1m")) == 11


def test_a_sample_is_not_mixed_into_real_bars() -> None:
    store_candles(SBIN, "1d", flat_candles(days("2024-01-01", 5)))
    with pytest.raises(RealHistoryExists):
        store_candles(SBIN, "1m", rising_minutes("2024-01-31 09:15", 2), synthetic=True)
    assert len(reading.stored_timeframes(SBIN)) == 1


def test_an_unknown_symbol_has_no_bars() -> None:
    assert len(read_all("15m")) == 0
    assert reading.stored_timeframes(SBIN) == []
    assert reading.count_bars(SBIN, "1m", start=0, end=2**33) == (0, 0)


@pytest.mark.parametrize("timeframe", ["5m", "15m", "30m", "1h", "4h", "1d"])
def test_longer_bars_are_made_from_minutes(timeframe: str) -> None:
    held = chunks.concat(rising_minutes(f"2024-01-{d} 09:15", 375) for d in (30, 31))
    store_candles(SBIN, "1m", held)
    assert are_same_candles(read_all(timeframe), resample(held, "1m", timeframe, sessions_of(SBIN)))


def test_a_stored_day_beats_one_made_from_minutes() -> None:
    store_candles(
        SBIN, "1m", chunks.concat(rising_minutes(f"2024-01-{d} 09:15", 375) for d in (30, 31))
    )
    store_candles(SBIN, "1d", flat_candles(days("2024-01-30", 1), 777.0))
    assert read_all("1d").close.tolist() == [777.0, 118.7]


def test_each_day_uses_the_coarsest_sufficient_timeframe() -> None:
    store_candles(
        SBIN, "1m", chunks.concat(rising_minutes(f"2024-01-{d} 09:15", 375) for d in (30, 31))
    )
    store_candles(SBIN, "5m", rising_minutes("2024-01-31 09:15", 75, step=300, first_price=500.0))
    quarters = read_all("15m")
    assert quarters.open.tolist()[0] == 100.0
    assert quarters.open.tolist()[25] == 500.0
    assert len(quarters) == 50


def test_an_unfinished_bar_is_not_seen() -> None:
    store_candles(SBIN, "1m", rising_minutes("2024-01-31 09:15", 40))
    assert read_all("15m").time.tolist() == [at("2024-01-31 09:15"), at("2024-01-31 09:30")]
    assert len(read_all("1d")) == 0


def test_a_hole_at_the_end_of_an_earlier_day_does_not_hide_its_last_bar() -> None:
    store_candles(SBIN, "1m", rising_minutes("2024-01-30 09:15", 40))
    store_candles(SBIN, "1m", rising_minutes("2024-01-31 09:15", 375))
    assert len(read_all("15m")) == 3 + 25
    assert len(read_all("1d")) == 2


def test_weeks_are_made_from_days_across_the_turn_of_a_decade() -> None:
    sessions = [day for day in days("2019-12-30", 12) if (day // 86400 + 4) % 7 < 5]
    store_candles(SBIN, "1d", flat_candles(sessions, [float(i + 1) for i in range(len(sessions))]))
    weeks = read_all("1w")
    assert weeks.time.tolist() == [at("2019-12-30 00:00"), at("2020-01-06 00:00")]
    assert weeks.open.tolist() == [1.0, 6.0]
    assert weeks.close.tolist() == [5.0, 10.0]


def test_an_unfinished_week_is_not_seen_and_a_stored_one_is() -> None:
    store_candles(SBIN, "1d", flat_candles(days("2024-01-01", 5) + days("2024-01-08", 4)))
    assert read_all("1w").time.tolist() == [at("2024-01-01 00:00")]
    store_candles(SBIN, "1w", flat_candles([at("2024-01-01 00:00")], 777.0))
    assert read_all("1w").close.tolist() == [777.0]


def test_warmup_is_the_beginning_of_the_block_and_2000_bars_before_it() -> None:
    held = chunks.concat(
        rising_minutes(f"2024-{month}-{day:02} 09:15", 375)
        for month in ("01", "02")
        for day in range(1, 9)
    )
    store_candles(SBIN, "1m", held)
    start, end = at("2024-02-05 00:00"), at("2024-02-06 00:00")
    read = reading.read_bars(SBIN, "1m", start=start, end=end, warmup=True)
    first_of_block = int(np.searchsorted(held.time, at("2024-02-01 00:00")))
    stop = int(np.searchsorted(held.time, end))
    assert are_same_candles(read, held.slice(first_of_block - WARMUP_BARS, stop))


def test_a_short_history_is_all_warmup() -> None:
    held = rising_minutes("2024-01-31 09:15", 375)
    store_candles(SBIN, "1m", held)
    read = reading.read_bars(
        SBIN, "1m", start=at("2024-01-31 09:20"), end=at("2024-01-31 09:25"), warmup=True
    )
    assert are_same_candles(read, held.slice(0, 10))


def test_count_equals_the_length_of_read() -> None:
    store_candles(
        SBIN,
        "1m",
        chunks.concat(rising_minutes(f"2024-0{m}-05 09:15", 375) for m in (1, 2, 3, 4)),
    )
    start, end = at("2024-01-05 09:20"), at("2024-04-05 09:20")
    for timeframe in ("1m", "15m", "1d"):
        read = reading.read_bars(SBIN, timeframe, start=start, end=end, warmup=True)
        within = len(read.between(start, end))
        assert reading.count_bars(SBIN, timeframe, start=start, end=end) == (
            len(read) - within,
            within,
        )


def page(**span: Any) -> Candles:
    return reading.read_page(SBIN, "1m", **span).candles


def test_a_page_is_the_first_bars_from_a_moment_or_the_last_before_one() -> None:
    held = chunks.concat(rising_minutes(f"2024-0{m}-05 09:15", 10) for m in (1, 2, 3))
    store_candles(SBIN, "1m", held)
    end = at("2024-03-05 09:17")
    assert are_same_candles(page(start=None, end=None, limit=15), held.slice(15, 30))
    assert are_same_candles(page(start=None, end=end, limit=15), held.slice(7, 22))
    start = at("2024-01-05 09:20")
    assert are_same_candles(page(start=start, end=None, limit=15), held.slice(5, 20))
    assert are_same_candles(page(start=start, end=end, limit=500), held.slice(5, 22))


def test_coverage_lists_each_timeframe() -> None:
    store_candles(SBIN, "1d", flat_candles(days("2009-12-31", 2)))
    store_candles(SBIN, "1m", rising_minutes("2024-01-31 09:15", 375))
    assert reading.stored_timeframes(SBIN) == [
        {
            "timeframe": "1m",
            "first": "2024-01-31T03:45:00.000Z",
            "last": "2024-01-31T09:59:00.000Z",
            "bars": 375,
        },
        {
            "timeframe": "1d",
            "first": "2009-12-30T18:30:00.000Z",
            "last": "2009-12-31T18:30:00.000Z",
            "bars": 2,
        },
    ]


def test_a_warm_up_counts_only_bars_in_session() -> None:
    """Each day has 25 bars in its session, and two before it."""
    opens = [at("2024-01-01 09:15") + 86_400 * day for day in range(200) if day % 7 < 5]
    times = [start + 900 * n for start in opens for n in range(-2, 25)]
    store_candles(SBIN, "15m", flat_candles(times))
    first = at("2024-06-01 00:00")
    read = reading.read_bars(SBIN, "15m", start=first, end=first + 86_400 * 7, warmup=True)
    early = read.between(0, first)
    inside = in_session(early.time, "15m", sessions_of(SBIN))
    assert int(np.count_nonzero(inside)) == WARMUP_BARS
    assert inside[0]
    assert len(early) > WARMUP_BARS + 100
