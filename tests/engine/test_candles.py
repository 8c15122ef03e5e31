"""Bars as columns, the blocks they fall into, and longer bars made of shorter ones."""

import csv
import gzip
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.engine.candles import IST, TIMEFRAMES, Candles, block_id, block_start, ist_day
from apps.engine.candles.candles import InvalidCandles
from apps.engine.candles.resampling import CannotResample, resample
from apps.engine.candles.sessions import Regime, Sessions

INDIA = timezone(timedelta(hours=5, minutes=30))
NSE = Sessions.build([Regime(0, 40_000, 33300, 55800)])


def at(text: str) -> int:
    """Return the epoch seconds of a time written as in Kolkata."""
    return int(datetime.fromisoformat(text).replace(tzinfo=INDIA).timestamp())


def said(time: int) -> str:
    return datetime.fromtimestamp(time, INDIA).strftime("%m-%d %H:%M")


def bars(*rows: tuple[str, float, float, float, float, float]) -> Candles:
    times, *columns = zip(*rows, strict=True)
    names = ("open", "high", "low", "close", "volume")
    return Candles.build([at(text) for text in times], **dict(zip(names, columns, strict=True)))


def flat(times: list[int]) -> Candles:
    price = np.full(len(times), 100.0)
    return Candles.build(times, open=price, high=price, low=price, close=price, volume=price)


def minutes(start: str, count: int, step: int = 60) -> list[int]:
    return [at(start) + step * i for i in range(count)]


# Columns


def test_columns_are_read_only_and_leave_the_given_arrays_alone() -> None:
    price = np.full(2, 100.0)
    candles = Candles.build([60, 120], open=price, high=price, low=price, close=price, volume=price)
    with pytest.raises(ValueError, match="read-only"):
        candles.close[0] = 1.0
    price[0] = 100.0  # still ours


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"time": [60, 60]}, "Bar 1 .* start after"),
        ({"time": [120, 60]}, "Bar 1 .* start after"),
        ({"close": [100, float("nan")]}, "Bar 1 .* not above 0"),
        ({"low": [0, 100]}, "Bar 0 .* not above 0"),
        ({"open": [-1, 100]}, "Bar 0 .* not above 0"),
        ({"high": [100, 99]}, "Bar 1 .* outside"),
        ({"low": [101, 100]}, "Bar 0 .* outside"),
        ({"close": [100, 103]}, "Bar 1 .* outside"),
        ({"volume": [-1, 0]}, "Bar 0 .* volume"),
        ({"volume": [float("inf"), 0]}, "Bar 0 .* volume"),
        ({"volume": [1]}, "one length"),
        ({"time": [[60, 120]]}, "one length"),
    ],
)
def test_invalid_bars_are_refused_by_number(change: dict[str, list[float]], said: str) -> None:
    good = {name: [100, 100] for name in ("open", "high", "low", "close", "volume")}
    with pytest.raises(InvalidCandles, match=said):
        Candles.build(**({"time": [60, 120]} | good | change))


def test_between_takes_the_start_and_leaves_the_end() -> None:
    candles = flat([60, 120, 180])
    assert candles.between(60, 180).time.tolist() == [60, 120]
    assert candles.between(61, 120).time.tolist() == []
    assert len(candles.between(0, 1000)) == 3


# Days and blocks


def test_a_day_begins_at_midnight_in_kolkata() -> None:
    times = np.array([at("1970-01-02 00:00"), at("1970-01-02 23:59"), at("1970-01-03 00:00")])
    assert ist_day(times).tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    ("timeframe", "last_of_one", "first_of_next"),
    [
        ("1m", "2024-01-31 23:59", "2024-02-01 00:00"),
        ("30m", "2024-12-31 23:59", "2025-01-01 00:00"),
        ("1h", "2024-12-31 23:59", "2025-01-01 00:00"),
        ("4h", "2024-12-31 23:59", "2025-01-01 00:00"),
        ("1d", "2029-12-31 00:00", "2030-01-01 00:00"),
        ("1w", "2019-12-30 00:00", "2020-01-06 00:00"),
    ],
)
def test_blocks_are_months_years_and_decades_in_kolkata(
    timeframe: str, last_of_one: str, first_of_next: str
) -> None:
    block, after = block_id(np.array([at(last_of_one), at(first_of_next)]), timeframe)
    assert after == block + 1


@given(st.integers(0, 4_000_000_000), st.sampled_from(sorted(TIMEFRAMES)))
def test_a_block_starts_where_its_number_begins(time: int, timeframe: str) -> None:
    block = int(block_id(np.array([time]), timeframe)[0])
    start = block_start(block, timeframe)
    assert start <= time < block_start(block + 1, timeframe)
    assert block_id(np.array([start - 1, start]), timeframe).tolist() == [block - 1, block]


# Resampling (rule 17)


def test_a_longer_bar_is_first_highest_lowest_last_and_sum() -> None:
    minutes = bars(
        ("2024-01-02 09:15", 10, 12, 9, 11, 5),
        ("2024-01-02 09:16", 11, 15, 11, 14, 6),
        ("2024-01-02 09:20", 14, 14, 13, 13, 7),
    )
    five = resample(minutes, "1m", "5m", NSE)
    assert [said(time) for time in five.time] == ["01-02 09:15", "01-02 09:20"]
    assert five.open.tolist() == [10, 14]
    assert five.high.tolist() == [15, 14]
    assert five.low.tolist() == [9, 13]
    assert five.close.tolist() == [14, 13]
    assert five.volume.tolist() == [11, 7]


def test_buckets_start_at_the_opening_not_at_the_clock() -> None:
    day = flat(minutes("2024-01-02 09:15", 375))
    starts = [said(time) for time in resample(day, "1m", "1h", NSE).time]
    assert starts[:2] == ["01-02 09:15", "01-02 10:15"]
    assert starts[-1] == "01-02 15:15"  # fifteen minutes, cut by the close
    assert len(starts) == 7


def test_bars_outside_the_session_keep_to_themselves() -> None:
    times = [at(f"2024-01-02 {clock}") for clock in ("09:08", "09:15", "15:29", "15:30", "16:14")]
    hours = resample(flat(times), "1m", "1h", NSE)
    assert [said(time) for time in hours.time] == [
        "01-02 08:15",
        "01-02 09:15",
        "01-02 15:15",
        "01-02 15:30",
    ]
    assert hours.volume.tolist() == [100, 100, 100, 200]


def test_without_hours_for_the_date_buckets_count_from_midnight() -> None:
    day = flat(minutes("2024-01-02 09:15", 60))
    for sessions in (None, Sessions.build([])):
        assert [said(time) for time in resample(day, "1m", "1h", sessions).time] == [
            "01-02 09:00",
            "01-02 10:00",
        ]


def test_a_day_is_stamped_at_midnight_and_a_week_on_monday() -> None:
    days = flat([at(f"2024-{day} 09:15") for day in ("01-05", "01-06", "01-07", "01-08", "01-12")])
    assert [said(time) for time in resample(days, "5m", "1d", NSE).time][:2] == [
        "01-05 00:00",
        "01-06 00:00",
    ]
    weekly = resample(days, "5m", "1w", NSE)
    assert [said(time) for time in weekly.time] == ["01-01 00:00", "01-08 00:00"]
    daily_first = resample(resample(days, "5m", "1d", NSE), "1d", "1w", None)
    assert daily_first.time.tolist() == weekly.time.tolist()
    assert daily_first.volume.tolist() == weekly.volume.tolist() == [300, 200]


@pytest.mark.parametrize(
    ("target", "until", "kept"),
    [
        ("5m", "2024-01-02 09:24", 1),
        ("5m", "2024-01-02 09:25", 2),
        ("1h", "2024-01-02 15:29", 0),
        ("1d", "2024-01-02 15:29", 0),
        ("1d", "2024-01-02 15:30", 1),
        ("1w", "2024-01-07 23:59", 0),
        ("1w", "2024-01-08 00:00", 1),
    ],
)
def test_unfinished_bars_are_dropped_on_request(target: str, until: str, kept: int) -> None:
    start = "2024-01-02 15:15" if target == "1h" else "2024-01-02 09:15"
    ten = flat(minutes(start, 10))
    assert len(resample(ten, "1m", target, NSE, until=at(until))) == kept


def test_an_unfinished_bucket_is_kept_unless_a_moment_is_given() -> None:
    seven = flat(minutes("2024-01-02 09:15", 7))
    assert resample(seven, "1m", "5m", NSE).volume.tolist() == [500, 200]


def test_the_close_of_the_session_finishes_a_short_last_bucket() -> None:
    last = flat(minutes("2024-01-02 15:15", 15))
    assert len(resample(last, "1m", "1h", NSE, until=at("2024-01-02 15:30"))) == 1


def test_a_shorter_bar_cannot_be_made() -> None:
    with pytest.raises(CannotResample):
        resample(flat([at("2024-01-02 00:00")]), "1d", "1h", NSE)


def test_the_same_timeframe_and_no_bars_come_back_as_they_are() -> None:
    minute = flat([60])
    assert resample(minute, "1m", "1m", NSE) is minute
    assert len(resample(flat([]), "1m", "1d", NSE)) == 0


@given(
    st.lists(st.integers(0, 14 * 1440), min_size=1, max_size=60, unique=True),
    st.sampled_from(["5m", "15m", "30m", "1h", "4h", "1d", "1w"]),
)
@settings(max_examples=40, deadline=None)
def test_no_bar_is_lost_and_the_steps_do_not_matter(minute: list[int], target: str) -> None:
    minutes = flat([at("2024-01-01 00:00") + 60 * i for i in sorted(minute)])
    longer = resample(minutes, "1m", target, NSE)
    assert longer.volume.sum() == minutes.volume.sum()
    assert (longer.time <= minutes.time[-1]).all()
    through_five = resample(resample(minutes, "1m", "5m", NSE), "5m", target, NSE)
    assert through_five.time.tolist() == longer.time.tolist()
    assert through_five.volume.tolist() == longer.volume.tolist()


def test_quarter_hours_of_a_year_of_minutes_are_whole(market_data: Path) -> None:
    """153 full days of 25 quarter hours, and the three that the source describes as odd."""
    with gzip.open(market_data / "NIFTY_1m_2024.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [f"{r['Date'][:4]}-{r['Date'][4:6]}-{r['Date'][6:]}T{r['Time']}" for r in rows]
    times = np.array(texts, "M8[s]").astype(np.int64) - IST
    columns = {n: [float(r[n.title()]) for r in rows] for n in ("open", "high", "low", "close")}
    minutes = Candles.build(times, **columns, volume=np.zeros(len(rows)))
    quarters = resample(minutes, "1m", "15m", NSE)
    _, per_day = np.unique(ist_day(quarters.time), return_counts=True)
    assert (per_day == 25).sum() == 153
    first = minutes.time < quarters.time[1]
    assert quarters.high[0] == minutes.high[first].max()
    assert quarters.close[0] == minutes.close[first][-1]
    daily = resample(minutes, "1m", "1d", NSE)
    assert len(daily) == 156
    assert daily.high.max() == minutes.high.max()
