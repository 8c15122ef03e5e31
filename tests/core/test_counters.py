"""Counters lose no concurrent counts."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta

import pytest
from django.core.cache import caches
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from apps.core.database import counters
from apps.core.database.counters import PostgresCounters, RedisCounters, RedisOutage
from apps.core.models import Counter


@pytest.mark.django_db
def test_a_counter_is_added_once_and_then_counts() -> None:
    cache = caches["default"]
    assert cache.add("a", 1, 60)
    assert not cache.add("a", 1, 60)
    assert (cache.incr("a"), cache.incr("a", 3), cache.decr("a")) == (2, 5, 4)
    assert (cache.get("a"), cache.get("b", 7)) == (4, 7)
    cache.clear()
    assert cache.get("a") is None


@pytest.mark.django_db
def test_an_expired_counter_is_gone() -> None:
    cache = caches["default"]
    cache.add("a", 5, 60)
    Counter.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert cache.get("a") is None
    with pytest.raises(ValueError, match="no counter"):
        cache.incr("a")
    assert cache.add("a", 1, 60)
    assert cache.get("a") == 1


@pytest.mark.django_db
def test_adding_a_known_counter_needs_no_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    cache = PostgresCounters("", {})
    cache.add("a", 1, 60)
    cache.incr("a")
    with django_assert_num_queries(1):
        assert not cache.add("a", 1, 60)
        assert cache.incr("a") == 3


@pytest.mark.django_db
def test_a_deleted_counter_starts_again() -> None:
    cache = PostgresCounters("", {})
    cache.add("a", 1, 60)
    cache.incr("a")
    Counter.objects.all().delete()
    assert not cache.add("a", 1, 60)
    with pytest.raises(ValueError, match="no counter"):
        cache.incr("a")
    assert cache.add("a", 1, 60)


@pytest.fixture
def outage(monkeypatch: pytest.MonkeyPatch) -> RedisOutage:
    outage = RedisOutage()
    monkeypatch.setattr(counters, "_outage", outage)
    return outage


@pytest.fixture(params=["gone", "frozen"])
def redis_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the URL of a server that refuses connections, or accepts them without answering."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        if request.param == "gone":
            server.close()
        yield f"redis://127.0.0.1:{port}"


@pytest.mark.django_db
@pytest.mark.usefixtures("outage")
def test_postgresql_counts_while_redis_does_not(
    redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    cache = RedisCounters(redis_url, {})
    begun = time.monotonic()
    assert cache.add("a", 1, 60)
    assert time.monotonic() - begun < 2.0  # the library alone would try for seconds
    assert not cache.add("a", 1, 60)
    assert (cache.incr("a"), cache.incr("a", 3), cache.get("a")) == (2, 5, 5)
    assert RedisCounters(redis_url, {}).get("a") == 5  # of another thread
    assert Counter.objects.count() == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "PostgreSQL counts" in caplog.text


@pytest.mark.usefixtures("db")
def test_an_outage_is_logged_once_a_minute_and_redis_is_tried_again(
    outage: RedisOutage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    seconds = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: seconds)
    states = []
    for _ in range(13):  # one minute
        outage.begin(ConnectionError("gone"))
        states.append(outage.is_on)
        seconds += counters.SECONDS_BETWEEN_ATTEMPTS
        states.append(outage.is_on)
    assert states == [True, False] * 13
    assert len(caplog.records) == 2


@pytest.mark.django_db(transaction=True)
def test_eight_concurrent_counts_are_all_counted() -> None:
    def count(worker: int) -> list[int]:
        cache = caches["default"]
        try:
            return [1 if cache.add("a", 1, 60) else cache.incr("a") for _ in range(50)]
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        seen = [number for numbers in pool.map(count, range(8)) for number in numbers]
    assert sorted(seen) == list(range(1, 401))
