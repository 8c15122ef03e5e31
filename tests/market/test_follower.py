"""A feed continues during an outage of the database; its bars are stored afterwards."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any
from zlib import crc32

import pytest
from django.db import connection, transaction

from apps.market.candles import reading, writing
from apps.market.candles.buffer import CandleRow
from apps.market.feeds import follower
from apps.market.feeds.services import receive
from tests.market.bars import at
from tests.trading.test_races import wait_until_somebody_waits

SBIN = "NSE:SBIN"
OPENING = at("2026-10-30 09:15")

pytestmark = pytest.mark.django_db(transaction=True)


def fixed_ticks(minutes: int) -> Iterator[Mapping[str, CandleRow]]:
    """Yield this many minutes, with a moment of silence after each."""
    for minute in range(minutes):
        yield {SBIN: (OPENING + 60 * minute, 100, 101, 99, 100, 5)}
        yield {}


class Outage:
    """The server ends the connection at each of the next attempts to store."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, attempts: int) -> None:
        self.left, self._receive = attempts, receive
        monkeypatch.setattr(follower, "receive", self)
        monkeypatch.setattr(follower, "RETRY", 0.0)

    def __call__(self, **bars: object) -> None:
        if self.left:
            self.left -= 1
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        self._receive(**bars)  # type: ignore[arg-type]  # as they were given


def followed(minutes: int) -> Sequence[int]:
    """Return the minutes, from 0, in the order of storing."""
    batches = follower.follow(fixed_ticks(minutes))
    return [(bars[SBIN][0] - OPENING) // 60 for bars in batches]


def held() -> Sequence[int]:
    bars = reading.read_bars(SBIN, "1m", start=OPENING, end=OPENING + 3600)
    return [(time - OPENING) // 60 for time in bars.time.tolist()]


def test_bars_received_during_an_outage_are_stored_afterwards(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Outage(monkeypatch, attempts=5)
    caplog.set_level(logging.WARNING)
    assert followed(5) == held() == [0, 1, 2, 3, 4]
    assert [record.message.split(":")[0][:20] for record in caplog.records] == [
        "the database is lost",
        "the database is back",
    ]


def test_the_follower_keeps_a_limited_number_of_bars(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(follower, "MOST_WAITING", 2)
    Outage(monkeypatch, attempts=7)
    assert followed(5) == held() == [2, 3, 4]
    assert "1 are dropped" in caplog.text


def test_the_follower_reports_its_lost_bars_at_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Outage(monkeypatch, attempts=99)
    assert followed(3) == held() == []
    assert "3 bars were not stored" in caplog.text


def test_received_bars_and_an_import_of_the_same_symbols_lock_in_one_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bars come in the opposite order to the locks of the load."""
    symbols = [f"NSE:SHARE{letter}" for letter in "ABCD"]
    symbols.sort(key=lambda symbol: crc32(symbol.encode()) % writing._LOCK_BUCKETS, reverse=True)
    connected, begun, make_way = Event(), Event(), writing.make_way

    def load() -> None:
        try:
            connection.ensure_connection()
            connected.set()
            begun.wait(10)
            with transaction.atomic():
                writing.lock_symbols(symbols)
        finally:
            connection.close()

    def make_way_later(*given: Any, **named: Any) -> Mapping[str, int]:
        begun.set()
        wait_until_somebody_waits()
        return make_way(*given, **named)

    monkeypatch.setattr(writing, "make_way", make_way_later)
    bar = (OPENING, 100.0, 101.0, 99.0, 100.0, 5.0)
    with ThreadPoolExecutor(1) as pool:
        loaded = pool.submit(load)
        connected.wait(10)
        follower._store(dict.fromkeys(symbols, bar))
        loaded.result()
