"""Counters behind Django's cache interface, in PostgreSQL each change one atomic statement.

Django's own cache in a database reads and then writes, so that of calls at the same moment most
are not counted.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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


class PostgresCounters(BaseCache):
    """`add`, `incr`, `decr` and `get` of whole numbers; the rest of a cache is not there.

    The clock is the database's client's: windows are minutes long, clocks of machines differ less.
    """

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)

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
            _fetch_number(ADD, [self.make_and_validate_key(key, version), value, expires, now])
            is not None
        )

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Raises ValueError for a counter that is not there, as Django's caches do."""
        count = _fetch_number(
            INCREASE, [delta, self.make_and_validate_key(key, version), timezone.now()]
        )
        if count is None:
            raise ValueError(f"no counter {key}")
        return count

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        rows = Counter.objects.filter(
            key=self.make_and_validate_key(key, version), expires_at__gte=timezone.now()
        )
        count = rows.values_list("count", flat=True).first()
        return default if count is None else count

    def clear(self) -> None:
        Counter.objects.all().delete()

    def _seconds(self, timeout: float | None) -> float:
        return float(self.default_timeout or 0) if timeout is DEFAULT_TIMEOUT else timeout or 0


class RedisCounters(RedisCache):
    """Counters for many machines. Whatever fails is a ConnectionError."""

    def add(self, *args: Any, **options: Any) -> bool:
        with _as_connection_error():
            return bool(super().add(*args, **options))

    def incr(self, *args: Any, **options: Any) -> int:
        with _as_connection_error():
            return int(super().incr(*args, **options))

    def get(self, *args: Any, **options: Any) -> Any:
        with _as_connection_error():
            return super().get(*args, **options)


@contextmanager
def _as_connection_error() -> Iterator[None]:
    from redis.exceptions import RedisError  # imported late: it takes long

    try:
        yield
    except RedisError as error:
        raise ConnectionError(str(error)) from error


def _fetch_number(statement: str, arguments: Sequence[str | int | datetime]) -> int | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)
        row = cursor.fetchone()
    return None if row is None else int(row[0])
