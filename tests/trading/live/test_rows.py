"""The closing of a row, and its content (engine rule 16)."""

from datetime import datetime

import numpy as np

from apps.core.times import INDIA
from apps.engine.candles import Candles
from apps.engine.live import BarSnapshot
from apps.market.candles.reading import GRACE_PERIOD
from apps.market.rulebook.sessions import sessions_of
from apps.trading.runs.bar_rows import (
    UnreadCandles,
    find_closed_rows,
    gives_up_at,
    pack_bars,
    pack_read,
    unpack_bars,
    unpack_read,
)
from tests.market.bars import at

OPENING = 1_780_285_500  # 2026-06-01, 09:15 in Asia/Kolkata
CALENDARS = [sessions_of("NSE:RELIANCE"), sessions_of("NSE:SBIN")]


def series(*times: int) -> Candles:
    price = [100.0 + n for n in range(len(times))]
    return Candles.build(times, open=price, high=price, low=price, close=price, volume=price)


def test_a_row_closes_when_all_its_symbols_have_their_bars() -> None:
    both = [series(OPENING), series(OPENING)]
    outlook = find_closed_rows(both, "5m", CALENDARS, start=OPENING, now=OPENING + 300)
    (row,) = outlook.rows
    assert (row.time, row.closes) == (OPENING, OPENING + 300)
    assert outlook.next_poll == OPENING + 600 + GRACE_PERIOD
    assert row.bars.tolist() == [[100.0] * 5, [100.0] * 5]


def test_a_row_waits_for_a_missing_bar_and_then_runs_without_it() -> None:
    both_series = [series(OPENING), series()]
    end = OPENING + 300
    waiting = find_closed_rows(
        both_series, "5m", CALENDARS, start=OPENING, now=end + GRACE_PERIOD - 1
    )
    assert (waiting.rows, waiting.next_poll) == ([], end + GRACE_PERIOD)
    (row,) = find_closed_rows(
        both_series, "5m", CALENDARS, start=OPENING, now=end + GRACE_PERIOD
    ).rows
    assert row.has(0)
    assert not row.has(1)
    assert np.isnan(row.bars[1]).all()


def test_a_later_bar_proves_that_none_is_missing() -> None:
    gap = [series(OPENING, OPENING + 300), series(OPENING + 300)]
    outlook = find_closed_rows(gap, "5m", CALENDARS, start=OPENING, now=OPENING + 600)
    assert [row.time for row in outlook.rows] == [OPENING, OPENING + 300]
    assert not outlook.rows[0].has(1)


def test_bars_that_are_not_over_yet_wait_for_their_end() -> None:
    both = [series(OPENING), series(OPENING)]
    assert find_closed_rows(both, "5m", CALENDARS, start=OPENING, now=OPENING + 299) == (
        [],
        OPENING + 300,
    )


def test_the_last_hour_and_the_day_close_with_the_session() -> None:
    close = OPENING + 22_500  # 15:30, before the closing auction of 2026-08-03
    last = close - 900
    (row,) = find_closed_rows([series(last)], "1h", CALENDARS[:1], start=OPENING, now=close).rows
    assert row.closes == close
    midnight = OPENING - 33_300
    (day,) = find_closed_rows(
        [series(midnight)], "1d", CALENDARS[:1], start=OPENING, now=close
    ).rows
    assert day.closes == close


def look(timeframe: str, last: str, now: str) -> str:
    """Return when the row after the `last` one is polled, in Asia/Kolkata."""
    start, moment = at(f"2026-{last}") + 1, at(f"2026-{now}")
    due = find_closed_rows([series()], timeframe, CALENDARS[:1], start=start, now=moment).next_poll
    assert due is not None
    return f"{datetime.fromtimestamp(due - GRACE_PERIOD, INDIA):%m-%d %H:%M}"


def test_the_next_bar_is_looked_for_when_its_grace_period_is_over_and_no_sooner() -> None:
    assert look("15m", "06-05 09:15", "06-05 09:30") == "06-05 09:45"
    assert look("15m", "06-05 09:15", "06-05 09:45") == "06-05 09:45"
    assert look("15m", "06-05 09:15", "06-05 09:46") == "06-05 10:00"
    assert look("15m", "06-05 15:15", "06-05 15:30") == "06-08 09:30"
    assert look("1h", "06-05 14:15", "06-05 15:15") == "06-05 15:30"
    assert look("1h", "06-05 14:15", "06-06 11:00") == "06-08 10:15"
    assert look("4h", "06-05 09:15", "06-05 13:15") == "06-05 15:30"
    assert look("1d", "06-05 00:00", "06-05 15:30") == "06-08 15:30"
    assert look("1d", "06-04 00:00", "06-05 09:15") == "06-05 15:30"
    assert look("1w", "06-01 00:00", "06-08 00:00") == "06-15 00:00"
    assert look("1w", "05-25 00:00", "06-05 16:00") == "06-08 00:00"


def test_a_row_of_two_markets_is_polled_at_the_end_of_either_session() -> None:
    both = [sessions_of("NSE:SBIN"), sessions_of("NSE:SBIN26AUGFUT")]
    looks, now = [], at("2026-08-03 15:15")
    for _ in range(3):
        due = find_closed_rows(
            [series()], "1h", both, start=at("2026-08-03 14:15"), now=now
        ).next_poll
        assert due is not None
        looks.append(f"{datetime.fromtimestamp(due, INDIA):%d %H:%M:%S}")
        now = due
    assert looks == ["03 15:15:20", "03 15:40:20", "04 10:15:20"]


def silent(timeframe: str, *, since: int, now: int = OPENING) -> str:
    """Return the time in Asia/Kolkata."""
    due = gives_up_at(timeframe, CALENDARS[:1], since=since, now=now)
    assert due is not None
    return f"{datetime.fromtimestamp(due, INDIA):%m-%d %H:%M}"


def test_a_stream_gives_up_after_ten_missing_bars_of_one_or_more_sessions() -> None:
    monday = OPENING - 33_300
    assert silent("15m", since=OPENING) == "06-01 11:45"
    assert silent("30m", since=OPENING + 3 * 3600) == "06-02 14:15"
    assert silent("1h", since=OPENING) == "06-02 12:15"
    assert silent("4h", since=OPENING) == "06-05 15:30"
    assert silent("1d", since=monday) == "06-12 15:30"
    assert silent("1d", since=OPENING + 22_500) == "06-15 15:30"
    assert silent("1w", since=monday) == "08-10 00:00"
    assert silent("1w", since=OPENING) == "08-10 00:00"


def test_no_bar_is_late_in_a_session_with_unknown_hours() -> None:
    friday, muhurat = at("2026-11-06 15:30"), at("2026-11-08 12:00")
    assert silent("15m", since=friday, now=muhurat) == "11-09 11:45"
    assert silent("1d", since=friday) == "11-23 15:15"
    assert gives_up_at("15m", CALENDARS[:1], since=0, now=at("2031-06-02 09:00")) is None


def test_a_row_is_kept_to_the_last_bit() -> None:
    bars = np.array([[0.1, 0.3, 0.1, 0.2, 7.0], [np.nan] * 5])
    kept = unpack_bars(pack_bars(BarSnapshot(0, 60, bars)), 2)
    assert kept.tobytes() == bars.tobytes()


def test_a_row_waits_for_a_candle_of_a_read_symbol_twenty_seconds_after_its_end() -> None:
    evening, noon = at("2026-06-01 20:00"), at("2026-06-01 15:15")
    commodities = [sessions_of("MCX:CRUDEOIL")]

    def rows(start: int, seconds: int) -> int:
        """Return the number of rows this long after the end of a bar, without its candle."""
        unread = UnreadCandles(series(), "15m", CALENDARS[0], OPENING, None)
        now = start + 900 + seconds
        known = [series(start)]
        return len(
            find_closed_rows(known, "15m", commodities, start=start, now=now, unread=[unread]).rows
        )

    assert [rows(noon, seconds) for seconds in (0, GRACE_PERIOD - 1, GRACE_PERIOD)] == [0, 0, 1]
    assert rows(evening, 0) == 1


def test_candles_of_read_symbols_are_kept_to_the_last_bit() -> None:
    read = series(OPENING, OPENING + 300), series(), series(OPENING)
    row = BarSnapshot(OPENING, OPENING + 300, np.ones((1, 5)), read=read)
    kept = unpack_read([None, pack_read(row)], 3)
    for own, restored in zip(read, kept, strict=True):
        for name in ("time", *Candles.NUMBERS):
            assert getattr(own, name).tobytes() == getattr(restored, name).tobytes()
    assert pack_read(BarSnapshot(OPENING, OPENING + 300, np.ones((1, 5)))) is None
