"""The time and memory of a backtest: seconds from past backtests of its kind, memory from its bars;
and the limits of users and workers.
"""

from math import ceil
from typing import Final, NamedTuple

from django.conf import settings
from django.db import connection
from django.db.models import F, Sum

from apps.accounts.models import User
from apps.backtests.models import Backtest, BacktestKind, BacktestStatus, WorkSpeed
from apps.backtests.running import queries
from apps.backtests.running.submissions import STUDY_FIELDS
from apps.core.errors import Code, ServiceError
from apps.core.machine import memory_limit
from apps.core.times import duration_text
from apps.market.candles import estimate_bars

BYTES_OF_A_MEGABYTE: Final = 10**6
# A worker's memory for each bar, measured with two averages and a stop by the average true range
# (tests/faults/test_worker_memory.py); sets of a search share columns.
BYTES_OF_A_BAR, BYTES_OF_A_SEARCHED_BAR = 120, 280
# The scores of a set of a search, twice while they are joined; the scores of a path are fewer.
BYTES_OF_AN_ITEM: Final = 400
OWN_MEGABYTES: Final = 190


class Memory(NamedTuple):
    """A worker's memory for a backtest beside its own: bytes of each bar, and of all sets
    or paths.
    """

    bars: int
    of_a_bar: int
    of_items: int

    @property
    def megabytes(self) -> float:
        return (self.bars * self.of_a_bar + self.of_items) / BYTES_OF_A_MEGABYTE

    def bars_within(self, megabytes: float) -> int:
        """Return the number of bars that would fit."""
        return int(max(megabytes * BYTES_OF_A_MEGABYTE - self.of_items, 0)) // self.of_a_bar


class TooMuchMemory(ServiceError):
    """The backtest needs more memory than a worker may use for one."""

    code = Code.UNPROCESSABLE_ENTITY
    message = (
        "Its {bars:,} bars over all symbols would need about {megabytesNeeded:,} MB of memory; a"
        " worker may use {megabytesAllowed:,} MB for a backtest, enough for about {fits:,} bars."
        " Shorten the range, or choose fewer symbols or a longer timeframe."
    )


class TooManySeconds(ServiceError):
    """The user's backtests would exceed the user's limit of worker time."""

    code = Code.UNPROCESSABLE_ENTITY
    message = (
        "It would take about {estimated} (h:mm:ss) of one worker. Your queued and running backtests"
        " may take {limit} together, and take {used}; about {fitting} {unit} would fit."
    )


def record_speed(backtest: Backtest, *, seconds: float, bars: int) -> None:
    """Record the time of one worker for a backtest with this number of bars over all symbols."""
    with connection.cursor() as cursor:
        cursor.execute(queries.RECORD_SPEED, [backtest.kind, seconds, _units(backtest, bars)])


def estimate_seconds(backtest: Backtest) -> float | None:
    """Return the time one worker would take; None before the first measurement of its kind."""
    speed = WorkSpeed.objects.filter(kind=backtest.kind).first()
    if speed is None:
        return None
    units = _units(backtest, stored_bars_of(backtest))
    return max(round(speed.seconds / speed.units * units, 1), 0.1)


def _units(backtest: Backtest, bars: int) -> float:
    """Return the work in units that its time grows with: simulated bars, or paths."""
    items = count_items(backtest)
    if backtest.kind == BacktestKind.MONTE_CARLO:
        return float(items)
    return float(items * max(bars, 1))


def count_items(backtest: Backtest) -> int:
    """Return the simulations of a search or the paths of a Monte Carlo; 1 for a plain backtest."""
    kind = BacktestKind(backtest.kind)
    if kind is BacktestKind.BACKTEST:
        return 1
    return STUDY_FIELDS[kind].model.read(backtest.study or {}).items


def stored_bars_of(backtest: Backtest) -> int:
    """Estimate the bars of all symbols that a worker reads."""
    return estimate_bars(
        backtest.symbols, backtest.timeframe, start=backtest.start, end=backtest.end
    )


def memory_of(backtest: Backtest) -> Memory:
    of_items = BYTES_OF_AN_ITEM * count_items(backtest)
    of_a_bar = _bytes_of_a_bar(BacktestKind(backtest.kind))
    return Memory(stored_bars_of(backtest), of_a_bar, of_items)


def require_memory(backtest: Backtest) -> None:
    """Raise TooMuchMemory if the backtest needs more memory than a worker may use."""
    memory, allowed = memory_of(backtest), settings.BACKTEST_MEGABYTES
    if memory.megabytes > allowed:
        raise TooMuchMemory(
            bars=memory.bars,
            megabytesNeeded=ceil(memory.megabytes),
            megabytesAllowed=allowed,
            fits=memory.bars_within(allowed),
        )


def most_bars_read(kind: BacktestKind) -> int:
    """Return the most bars that a worker reads: a tenth more than fit, because stored bars are only
    estimated at submission.
    """
    fits = settings.BACKTEST_MEGABYTES * BYTES_OF_A_MEGABYTE // _bytes_of_a_bar(kind)
    return fits + fits // 10


def _bytes_of_a_bar(kind: BacktestKind) -> int:
    searches = kind in (BacktestKind.WALK_FORWARD, BacktestKind.OPTIMIZATION)
    return BYTES_OF_A_SEARCHED_BAR if searches else BYTES_OF_A_BAR


def describe_memory(backtest: Backtest, *, was_too_much: bool) -> str:
    """Describe the memory that a worker needs for the backtest and, if it `was_too_much`, the
    number of bars that fit this machine.
    """
    memory, items = memory_of(backtest), count_items(backtest)
    held = f"{memory.bars:,} bars over all symbols"
    if items > 1:
        held += f", and {items:,} sets or paths,"
    text = (
        f"Its {held} take a worker about {memory.megabytes:,.0f} MB beside its own"
        f" {OWN_MEGABYTES} MB."
    )
    if not was_too_much:
        return text
    limit = memory_limit() / BYTES_OF_A_MEGABYTE
    left = limit / settings.BACKTEST_WORKERS - OWN_MEGABYTES
    # The estimate has proved too low.
    fitting = min(memory.bars_within(left), memory.bars // 2)
    return (
        f"{text} The machine has {limit:,.0f} MB for all its processes, of which"
        f" {settings.BACKTEST_WORKERS} may run backtests: about {fitting:,} bars would fit. Shorten"
        " the range, or name fewer symbols or a longer timeframe."
    )


def require_seconds(backtest: Backtest, *, owner: User) -> None:
    """Raise TooManySeconds if a new backtest exceeds the user's limit; the caller has locked the
    user's row.
    """
    seconds, limit = backtest.estimated_seconds, settings.QUOTA_BACKTEST_SECONDS
    unfinished = Backtest.objects.owned_by(owner).filter(
        status__in=(BacktestStatus.QUEUED, BacktestStatus.RUNNING)
    )
    left = F("estimated_seconds") * (100 - F("progress")) / 100.0
    used = unfinished.aggregate(seconds=Sum(left))["seconds"] or 0.0
    if seconds is None or used + seconds <= limit:
        return
    share = max(limit - used, 0.0) / seconds
    is_plain = backtest.kind == BacktestKind.BACKTEST
    raise TooManySeconds(
        estimated=duration_text(seconds),
        limit=duration_text(limit),
        used=duration_text(used),
        fitting=int(100 * share) if is_plain else f"{int(count_items(backtest) * share):,}",
        unit="% of its bars" if is_plain else "simulations or paths",
        estimatedSeconds=seconds,
        limitSeconds=limit,
        usedSeconds=round(used, 1),
    )
