"""Counters behind Django's cache interface, in PostgreSQL, with one atomic statement for each
change. Django's DatabaseCache reads and then writes, and so loses counts of concurrent calls.
"""

import logging
import math
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.redis import RedisCache
from django.db import connection
from django.utils import timezone

from apps.core.models import Counter

# Redis answers within a millisecond; after so long nobody waits for it.
SECONDS_TO_COUNT: Final = 0.2
SECONDS_BETWEEN_ATTEMPTS: Final = 5.0
SECONDS_BETWEEN_WARNINGS: Final = 60.0
MOST_REMEMBERED: Final = 10_000

log = logging.getLogger(__name__)

ADD = """
    INSERT INTO core_counter (key, count, expires_at) VALUES (%s, %s, %s)
    ON CONFLICT (key) DO UPDATE SET count = excluded.count, expires_at = excluded.expires_at
    WHERE core_counter.expires_at < %s
    RETURNING count
"""
INCREASE = """
    UPDATE core_counter SET count = count + %s WHERE key = %s AND expires_at >= %s
    RETURNING count, expires_at
"""


class PostgresCounters(BaseCache):
    """`add`, `incr`, `decr` and `get` of whole numbers; other cache methods are missing.

    Time is this process's: windows last minutes, and clocks of machines differ by less. Django
    makes one instance for each thread. An instance remembers until when a counter exists, so that
    `add` sends no query within a window.
    """

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._expiries: dict[str, datetime] = {}

    def add(
        self,
        key: str,
        value: int,
        timeout: float | None = DEFAULT_TIMEOUT,
        version: int | None = None,
    ) -> bool:
        """Set a counter that does not exist or has expired; return whether it was set."""
        now, name = timezone.now(), self.make_and_validate_key(key, version)
        if name in self._expiries and self._expiries[name] >= now:
            return False
        expires = now + timedelta(seconds=self._seconds(timeout))
        return _fetch(ADD, [name, value, expires, now]) is not None

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Raises ValueError if the counter does not exist, as Django's caches do."""
        name = self.make_and_validate_key(key, version)
        row = _fetch(INCREASE, [delta, name, timezone.now()])
        if row is None:
            self._expiries.pop(name, None)
            raise ValueError(f"no counter {key}")
        if len(self._expiries) >= MOST_REMEMBERED:
            self._expiries.clear()
        count, self._expiries[name] = row
        return int(count)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        rows = Counter.objects.filter(
            key=self.make_and_validate_key(key, version), expires_at__gte=timezone.now()
        )
        count = rows.values_list("count", flat=True).first()
        return default if count is None else count

    def clear(self) -> None:
        self._expiries.clear()
        Counter.objects.all().delete()

    def _seconds(self, timeout: float | None) -> float:
        return float(self.default_timeout or 0) if timeout is DEFAULT_TIMEOUT else timeout or 0


class RedisOutage:
    """Whether this process avoids Redis for a while after a timeout."""

    def __init__(self) -> None:
        self._ends_at = self._next_line_at = -math.inf

    @property
    def is_on(self) -> bool:
        return time.monotonic() < self._ends_at

    def begin(self, error: Exception) -> None:
        now = time.monotonic()
        self._ends_at = now + SECONDS_BETWEEN_ATTEMPTS
        if now >= self._next_line_at:
            self._next_line_at = now + SECONDS_BETWEEN_WARNINGS
            log.warning("PostgreSQL counts instead of Redis: %s", error)


_outage: Final = RedisOutage()


class RedisCounters(RedisCache):
    """Counters in Redis for many machines; PostgreSQL takes over while Redis is slow or down.

    The two do not share their counts, so after a switch the limit is higher until the window ends.
    """

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        from redis.backoff import NoBackoff  # imported late: it takes long
        from redis.retry import Retry

        in_time = {
            "socket_timeout": SECONDS_TO_COUNT,
            "socket_connect_timeout": SECONDS_TO_COUNT,
            "retry": Retry(NoBackoff(), 0),
        }
        super().__init__(location, {**params, "OPTIONS": in_time})
        self._substitute = PostgresCounters("", params)

    def add(self, *args: Any, **options: Any) -> bool:
        in_redis = partial(super().add, *args, **options)
        return bool(_count(in_redis, partial(self._substitute.add, *args, **options)))

    def incr(self, *args: Any, **options: Any) -> int:
        in_redis = partial(super().incr, *args, **options)
        return int(_count(in_redis, partial(self._substitute.incr, *args, **options)))

    def get(self, *args: Any, **options: Any) -> Any:
        in_redis = partial(super().get, *args, **options)
        return _count(in_redis, partial(self._substitute.get, *args, **options))


def _count(in_redis: Callable[[], Any], in_postgres: Callable[[], Any]) -> Any:
    from redis.exceptions import RedisError

    if not _outage.is_on:
        try:
            return in_redis()
        except RedisError as error:
            _outage.begin(error)
    return in_postgres()


def _fetch(statement: str, arguments: Sequence[str | int | datetime]) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row
