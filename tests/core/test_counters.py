"""Counters that lose nothing of what is counted at the same moment."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core.cache import caches
from django.db import connection
from django.utils import timezone

from apps.core.counters import RedisCounters
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
def test_a_counter_whose_time_is_over_is_not_there() -> None:
    cache = caches["default"]
    cache.add("a", 5, 60)
    Counter.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert cache.get("a") is None
    with pytest.raises(ValueError, match="no counter"):
        cache.incr("a")
    assert cache.add("a", 1, 60)
    assert cache.get("a") == 1


def test_redis_that_is_not_there_is_an_error_of_connections() -> None:
    cache = RedisCounters("redis://127.0.0.1:1", {})
    for call in (lambda: cache.add("a", 1, 60), lambda: cache.incr("a"), lambda: cache.get("a")):
        with pytest.raises(ConnectionError):
            call()


@pytest.mark.django_db(transaction=True)
def test_what_eight_count_at_the_same_moment_is_all_counted() -> None:
    def count(worker: int) -> list[int]:
        cache = caches["default"]
        try:
            return [1 if cache.add("a", 1, 60) else cache.incr("a") for _ in range(50)]
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        seen = [number for numbers in pool.map(count, range(8)) for number in numbers]
    assert sorted(seen) == list(range(1, 401))
