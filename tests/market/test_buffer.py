"""Received bars: their validation, and that readers see them like chunks."""

from datetime import UTC, datetime

import numpy as np
import psycopg
import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from apps.engine.candles import Candles
from apps.market.candles import buffer, coverage, reading
from apps.market.candles.buffer import CandleRow
from apps.market.candles.writing import CandleKind, OtherPriceKind
from apps.market.feeds import services
from apps.market.feeds.validation import BarRejectReason, IntakeCounts
from apps.market.models import BufferedCandle, CandleChunk
from apps.market.services import append
from tests.market.bars import NOW, are_same_candles, at, rising_minutes, store_candles
from tests.symbols.instruments import master_of_derivatives

SBIN = "NSE:SBIN"
DAY = "2026-10-30"
"""A Friday; NOW is the Monday after it."""
pytestmark = pytest.mark.django_db


def rows_of(bars: Candles) -> list[CandleRow]:
    columns = (bars.time, bars.open, bars.high, bars.low, bars.close, bars.volume)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def receive(bars: Candles, timeframe: str = "1m", *, now: datetime = NOW) -> IntakeCounts:
    return services.receive(timeframe=timeframe, series={SBIN: rows_of(bars)}, now=now)[SBIN]


def read_all(timeframe: str) -> Candles:
    return reading.read_bars(SBIN, timeframe, start=0, end=2**33)


def moment(text: str) -> datetime:
    return datetime.fromtimestamp(at(text), tz=UTC)


def test_reading_does_not_tell_blocks_from_bars_that_came_in() -> None:
    days = [rising_minutes(f"2026-10-{day} 09:15", 375) for day in (28, 29, 30)]
    for day in days:
        store_candles(SBIN, "1m", day)
    store_candles(SBIN, "5m", rising_minutes("2026-09-01 09:15", 75, step=300))
    whole = {name: read_all(name) for name in ("1m", "5m", "15m", "1d", "1w")}
    counts = {
        name: reading.count_bars(SBIN, name, start=at(f"{DAY} 00:00"), end=2**33) for name in whole
    }
    timeframes, gaps = reading.stored_timeframes(SBIN), coverage.gaps_of([SBIN])
    CandleChunk.objects.filter(timeframe="1m").delete()
    for day in days:
        assert receive(day).added == 375
    for held in ("live", "folded"):
        assert {
            name: are_same_candles(read_all(name), whole[name]) for name in whole
        } == dict.fromkeys(whole, True)
        assert counts == {
            name: reading.count_bars(SBIN, name, start=at(f"{DAY} 00:00"), end=2**33)
            for name in whole
        }
        assert (reading.stored_timeframes(SBIN), coverage.gaps_of([SBIN])) == (timeframes, gaps), (
            held
        )
        services.compact(symbols=[SBIN], now=NOW)
    assert not BufferedCandle.objects.exists()
    assert services.compact(symbols=[SBIN], now=NOW) == 0


def test_each_bar_is_added_repeated_changed_or_refused() -> None:
    bars = rising_minutes(f"{DAY} 09:15", 10)
    store_candles(SBIN, "1m", bars.slice(0, 2))
    assert receive(bars.slice(3, 6)).added == 3
    done = receive(bars)
    assert (done.added, done.repeated, done.changed, done.late) == (5, 5, 0, 1)
    other = rising_minutes(f"{DAY} 09:15", 10, first_price=200)
    done = receive(other)
    assert (done.added, done.repeated, done.changed) == (0, 0, 10)
    assert are_same_candles(read_all("1m"), other)
    assert BufferedCandle.objects.count() == 8
    assert reading.stored_timeframes(SBIN)[0]["bars"] == 10


def test_unfinished_or_misplaced_bars_are_refused_and_the_others_stored() -> None:
    good = rows_of(rising_minutes(f"{DAY} 09:15", 3, step=300))
    rows = [
        good[1],
        (at(f"{DAY} 09:17"), *good[0][1:]),
        good[0],
        good[2],
        (at("2026-10-31 09:15"), *good[0][1:]),
        good[0],
    ]
    now = moment(f"{DAY} 09:29")
    done = services.receive(timeframe="5m", series={SBIN: rows}, now=now)[SBIN]
    assert [(bar.index, bar.reason) for bar in done.rejected] == [
        (1, BarRejectReason.UNALIGNED),
        (3, BarRejectReason.NOT_CLOSED),
        (4, BarRejectReason.NOT_CLOSED),
    ]
    assert (done.added, done.repeated, done.out_of_order) == (2, 1, 3)
    assert read_all("5m").time.tolist() == [good[0][0], good[1][0]]


def test_bars_outside_the_session_are_taken_and_counted() -> None:
    early = rising_minutes(f"{DAY} 09:10", 10)
    assert receive(early).off_session == 5
    assert receive(rising_minutes("2026-10-31 10:00", 3)).off_session == 0  # an unlisted Saturday
    assert receive(rising_minutes("2026-01-26 10:00", 3)).off_session == 3  # Republic Day
    assert receive(rising_minutes("2026-10-31 00:00", 1), "1d").off_session == 0


def test_the_last_hour_of_a_share_without_derivatives_has_ended_at_half_past_three() -> None:
    hour = rising_minutes("2026-08-03 15:15", 1)
    now = moment("2026-08-03 15:30")
    assert [bar.reason for bar in receive(hour, "1h", now=now).rejected] == [
        BarRejectReason.NOT_CLOSED
    ]
    master_of_derivatives()
    assert receive(hour, "1h", now=now).added == 1


def test_a_last_bar_cut_by_the_close_ends_with_it() -> None:
    """The times are from before the closing auction of 2026-08-03."""
    last = rising_minutes("2026-07-31 15:15", 1)
    assert receive(last, "1h", now=moment("2026-07-31 15:29")).rejected
    assert receive(last, "1h", now=moment("2026-07-31 15:30")).added == 1


def test_received_bars_do_not_mix_with_adjusted_prices() -> None:
    append(
        symbol=SBIN,
        timeframe="1d",
        candles=rising_minutes("2026-09-01 00:00", 1),
        kind=CandleKind(adjusted=True),
        now=NOW,
    )
    with pytest.raises(OtherPriceKind):
        receive(rising_minutes(f"{DAY} 00:00", 1), "1d")


def test_a_later_loaded_file_wins() -> None:
    receive(rising_minutes(f"{DAY} 09:15", 10))
    file = rising_minutes(f"{DAY} 09:15", 5, first_price=200)
    done = append(symbol=SBIN, timeframe="1m", candles=file, now=NOW)
    assert (done.added, done.replaced) == (0, 5)
    assert np.array_equal(read_all("1m").close[:5], file.close)
    assert len(read_all("1m")) == 10


def test_many_bars_at_once_go_into_blocks() -> None:
    receive(rising_minutes(f"{DAY} 09:15", 1))
    bars = rising_minutes("2026-10-01 09:15", 1200)
    assert receive(bars).added == 1200
    assert not BufferedCandle.objects.exists()
    assert len(read_all("1m")) == 1201


def test_a_live_run_sees_only_finished_bars() -> None:
    receive(rising_minutes(f"{DAY} 09:15", 7))
    start = at(f"{DAY} 09:15")

    def seen(timeframe: str, clock: str) -> int:
        return len(reading.read_closed(SBIN, timeframe, start=start, clock=at(f"{DAY} {clock}")))

    assert [seen("1m", clock) for clock in ("09:15:59", "09:16", "09:30")] == [0, 1, 7]
    # The second bar of five minutes has only two of them: the rest is waited for, not forever.
    assert [seen("5m", clock) for clock in ("09:20", "09:25", "09:25:19", "09:25:20")] == [
        1,
        1,
        1,
        2,
    ]


def test_reading_from_a_moment_on_equals_reading_all_history() -> None:
    store_candles(SBIN, "1m", rising_minutes("2026-10-28 09:15", 375))
    store_candles(SBIN, "5m", rising_minutes("2026-10-29 09:15", 20, step=300, first_price=200))
    store_candles(SBIN, "1m", rising_minutes("2026-10-29 09:15", 375))
    receive(rising_minutes("2026-10-29 11:00", 10, step=300, first_price=300), "5m")
    receive(rising_minutes(f"{DAY} 09:15", 200))
    receive(rising_minutes(f"{DAY} 09:30", 2, step=900, first_price=400), "15m")
    store_candles("NSE:INFY", "1d", rising_minutes("2026-10-26 00:00", 5, step=86_400))
    names = ("1m", "5m", "15m", "1h", "1d", "1w")
    moments = [at(f"2026-10-{text}") for text in ("26 00:01", "29 10:20", "29 15:29", "30 00:00")]
    moments += [at(f"{DAY} {clock}") for clock in ("09:16", "09:46", "10:15", "12:34")]
    clock = at(f"{DAY} 12:35:20")
    for start in moments:
        since = {(symbol, name): start for symbol in (SBIN, "NSE:INFY") for name in names}
        since[SBIN, "15m"] += 1
        histories = reading.read_all_closed(since, clock=clock)
        for (symbol, name), bars in histories.items():
            whole = reading.read_closed(symbol, name, start=0, clock=clock)
            assert are_same_candles(bars, whole.between(since[symbol, name], 2**40)), (
                symbol,
                name,
                start,
            )


def test_any_number_of_series_is_read_by_a_few_statements() -> None:
    receive(rising_minutes(f"{DAY} 09:15", 7))
    symbols = [SBIN, "NSE:INFY", "NSE:RELIANCE"]
    since = {(symbol, name): at(f"{DAY} 09:15") for symbol in symbols for name in ("1m", "5m")}
    with CaptureQueriesContext(connection) as queries:
        reading.read_all_closed(since, clock=at(f"{DAY} 09:20"))
    assert len(queries) == 5


@pytest.mark.django_db(transaction=True)
def test_listeners_are_notified_when_bars_are_committed() -> None:
    settings = connection.get_connection_params()
    kept = ("dbname", "user", "password", "host", "port")
    options = {name: settings[name] for name in kept if name in settings}
    with psycopg.connect(**options, autocommit=True) as listener:
        listener.execute(f"LISTEN {buffer.CANDLES_CHANNEL}")
        with transaction.atomic():
            receive(rising_minutes(f"{DAY} 09:15", 2))
            assert list(listener.notifies(timeout=0)) == []
        notifications = list(listener.notifies(timeout=5, stop_after=1))
        assert [notification.payload for notification in notifications] == ["NSE:SBIN 1m"]
        receive(rising_minutes(f"{DAY} 09:15", 2))
        assert list(listener.notifies(timeout=0)) == []
