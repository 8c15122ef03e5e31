"""Counters behind Django's cache interface, in PostgreSQL each change one atomic statement.

Django's own cache in a database reads and then writes, so that of calls at the same moment most
are not counted.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.redis import RedisCache
from django.db import connection
from django.utils import timezone

from apps.core.models import Counter

ADD = """
    INSERT INTO core_counter (key, count, expires_at) VALUES (%s, %s, %s)
    ON CONFLICT (key) DO UPDATE SET count = excluded.count, expires_at = excluded.expires_at
    WHERE core_counter.expires_at < %s
    RETURNING count
"""
INCREASE = """
    UPDATE core_counter SET count = count + %s WHERE key = %s AND expires_at >= %s RETURNING count
"""


HIT = """
    INSERT INTO core_counter (key, count, expires_at) VALUES (%s, 1, %s)
    ON CONFLICT (key) DO UPDATE SET
        count = CASE WHEN core_counter.expires_at < %s THEN 1 ELSE core_counter.count + 1 END,
        expires_at = CASE WHEN core_counter.expires_at < %s THEN excluded.expires_at
            ELSE core_counter.expires_at END
    RETURNING count
"""


class PostgresCounters(BaseCache):
    """`hit`, `add`, `incr`, `decr` and `get` of whole numbers; the rest of a cache is not there.

    The clock is the database's client's: windows are minutes long, machines' clocks are not.
    """

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        """Any: Django's own shape of a cache's parameters."""
        super().__init__(params)

    def hit(self, key: str, timeout: float) -> int:
        """Count one more, from one on where there is no counter yet; what it stands at."""
        now = timezone.now()
        expires = now + timedelta(seconds=timeout)
        count = _one(HIT, [self.make_and_validate_key(key), expires, now, now])
        assert count is not None, "an upsert without a condition answers with its row"
        return count

    def add(
        self,
        key: str,
        value: int,
        timeout: float | None = DEFAULT_TIMEOUT,
        version: int | None = None,
    ) -> bool:
        """Set a counter that is not there or has expired; whether it was so."""
        now = timezone.now()
        expires = now + timedelta(seconds=self._seconds(timeout))
        return (
            _one(ADD, [self.make_and_validate_key(key, version), value, expires, now]) is not None
        )

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Raises ValueError for a counter that is not there, as Django's caches do."""
        found = _one(INCREASE, [delta, self.make_and_validate_key(key, version), timezone.now()])
        if found is None:
            raise ValueError(f"no counter {key}")
        return found

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        """Any: as Django's caches have it."""
        rows = Counter.objects.filter(
            key=self.make_and_validate_key(key, version), expires_at__gte=timezone.now()
        )
        found = rows.values_list("count", flat=True).first()
        return default if found is None else found

    def clear(self) -> None:
        Counter.objects.all().delete()

    def _seconds(self, timeout: float | None) -> float:
        return float(self.default_timeout or 0) if timeout is DEFAULT_TIMEOUT else timeout or 0


class RedisCounters(RedisCache):
    """The same for many machines."""

    def hit(self, key: str, timeout: float) -> int:
        """As of PostgresCounters. Raises ConnectionError, whatever fails."""
        from redis.exceptions import RedisError  # where it counts: it is long to import

        try:
            while not self.add(key, 1, timeout):
                with suppress(ValueError):  # it has expired in between
                    return int(self.incr(key))
        except RedisError as error:
            raise ConnectionError(str(error)) from error
        return 1


def _one(statement: str, arguments: Sequence[str | int | datetime]) -> int | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)
        row = cursor.fetchone()
    return None if row is None else int(row[0])
