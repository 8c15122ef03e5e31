"""The active feed: one live feed or replay at a time, leased by the process that brings bars."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Final, TypeVar

from django.db import Error, transaction
from django.db.models import F

from apps.core import database
from apps.core.database import is_passing
from apps.core.errors import Code, ServiceError
from apps.core.times import indian_time, moment, wire_time
from apps.market.candles import stored_timeframes_of, time_since_receipt
from apps.market.feeds.clock import replayed_until
from apps.market.models import Feed, FeedKind, Replay

# How long a lease holds without being renewed, and how often it is renewed.
FEED_LEASE: Final = timedelta(seconds=10)
RENEWAL_SECONDS: Final = 2.0
# The longest sleep of a replay: so soon it notices that it was ended.
_SLEEP_SECONDS: Final = 0.5
# A feed that sends bars to the API has sent some since then.
_RECENT: Final = timedelta(minutes=15)

_Item = TypeVar("_Item")


class FeedIsActive(ServiceError):
    """Another feed brings bars."""

    code = Code.CONFLICT
    message = "There is {feed} already. End it before another feed begins."


class ReplayInProgress(ServiceError):
    """A replay is running, so the market's time differs from the current time."""

    code = Code.CONFLICT
    message = (
        "History is being replayed, at {marketTime}: bars of now would mix with it. Try again when"
        " an operator has ended the replay."
    )


class FeedEnded(Exception):
    """The feed was ended, or another process has taken it over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPlan:
    """The bars that a feed brings; of a replay also the range and the speed, None for the
    fastest.
    """

    kind: FeedKind
    symbols: Sequence[str]
    timeframe: str
    start: int | None = None
    until: int | None = None
    speed: float | None = None
    by_worker: bool = False


def refuse_during_replay() -> None:
    """Raises ReplayInProgress."""
    if replay := Replay.objects.first():
        raise ReplayInProgress(marketTime=wire_time(datetime.fromtimestamp(replay.moment, tz=UTC)))


def read_feed(now: datetime) -> Feed | None:
    """Return the active feed; None without one."""
    feed = Feed.objects.exclude(kind="").first()
    return feed if feed is not None and feed.is_active(now) else None


def lock_feed() -> Feed:
    """Return the row of the active feed, locked and created on first use."""
    Feed.objects.bulk_create([Feed()], ignore_conflicts=True)
    return Feed.objects.select_for_update().get(pk=Feed.SINGLETON_ID)


@transaction.atomic
def begin_feed(plan: FeedPlan, *, now: datetime) -> Feed:
    """Make this feed the active one. A worker takes over the lease of its replay.

    Raises FeedIsActive and, for a live feed, ReplayInProgress.
    """
    feed = lock_feed()
    if feed.is_active(now):
        raise FeedIsActive(feed=feed.description)
    if plan.kind is FeedKind.LIVE:
        refuse_during_replay()
    feed.kind, feed.symbols, feed.timeframe = plan.kind, list(plan.symbols), plan.timeframe
    feed.start, feed.until, feed.speed = plan.start, plan.until, plan.speed
    feed.by_worker, feed.began_at = plan.by_worker, now
    feed.token += 1
    feed.leased_until = now if plan.by_worker else now + FEED_LEASE
    feed.save()
    return feed


def take_over(*, now: datetime) -> Feed | None:
    """Lease the replay that waits for a worker; None without one."""
    waiting = Feed.objects.filter(by_worker=True, leased_until__lte=now).exclude(kind="")
    if not waiting.update(token=F("token") + 1, leased_until=now + FEED_LEASE):
        return None
    return Feed.objects.get()


def is_waiting_for_worker(*, now: datetime) -> bool:
    """Return whether a requested replay is played by nobody."""
    return Feed.objects.filter(by_worker=True, leased_until__lte=now).exclude(kind="").exists()


def renew_feed(token: int) -> None:
    """Renew the lease with this token. Raises FeedEnded."""
    until = database.now() + FEED_LEASE
    if not Feed.objects.filter(token=token).exclude(kind="").update(leased_until=until):
        raise FeedEnded


def give_back(token: int, *, now: datetime) -> None:
    """Let another worker continue the replay at once."""
    Feed.objects.filter(token=token).update(leased_until=now)


def change_speed(speed: float | None, *, now: datetime) -> bool:
    """Change the speed of a worker's replay, which a worker then takes over; return whether there
    is one.
    """
    replays = Feed.objects.filter(kind=FeedKind.REPLAY, by_worker=True)
    return replays.update(speed=speed, token=F("token") + 1, leased_until=now) > 0


def end_feed(token: int | None = None) -> bool:
    """End the active feed, or only the one of this lease; return whether there was one."""
    active = Feed.objects.exclude(kind="")
    if token is not None:
        active = active.filter(token=token)
    return active.update(kind="", by_worker=False, token=F("token") + 1) > 0


def renewing(items: Iterable[_Item], *, token: int) -> Iterator[_Item]:
    """Yield the items, and renew the lease meanwhile, except while the database is unreachable.

    Raises FeedEnded.
    """
    renewed_at = time.monotonic()
    for item in items:
        if time.monotonic() - renewed_at >= RENEWAL_SECONDS:
            renewed_at = time.monotonic()
            _try_to_renew(token)
        yield item


def renewing_wait(
    token: int,
    *,
    sleep: Callable[[float], None],
    stopping: Callable[[], bool] = lambda: False,
) -> Callable[[float], None]:
    """Return a function that waits for some seconds, and renews the lease meanwhile.

    It raises FeedEnded, also when the process is to stop.
    """

    def wait(seconds: float) -> None:
        renewed_at = time.monotonic()
        if stopping():
            raise FeedEnded
        while seconds > 0:
            if stopping():
                raise FeedEnded
            part = min(seconds, _SLEEP_SECONDS)
            sleep(part)
            seconds -= part
            if time.monotonic() - renewed_at >= RENEWAL_SECONDS:
                renewed_at = time.monotonic()
                _try_to_renew(token)

    return wait


def _try_to_renew(token: int) -> None:
    try:
        renew_feed(token)
    except Error as error:
        if not is_passing(error):
            raise


def feed_warning(symbols: Collection[str], *, now: datetime) -> str:
    """Return why algorithms on these symbols wait for prices; "" if a feed brings them."""
    feed, replayed = read_feed(now), replayed_until()
    if feed is not None and feed.kind == FeedKind.REPLAY:
        return ""
    if feed is not None:
        missing = ", ".join(symbol for symbol in symbols if symbol not in feed.symbols)
        return f"The live feed does not bring {missing}." if missing else ""
    if replayed is not None:
        time_of_market = indian_time(moment(replayed))
        return f"The replay stands still at {time_of_market}. Continue it or end it."
    age = time_since_receipt()
    if age is not None and age < _RECENT:
        return ""
    newest = {
        symbol: max((str(row["last"]) for row in rows), default="")
        for symbol, rows in stored_timeframes_of(symbols).items()
    }
    symbol, last = min(newest.items(), key=itemgetter(1))
    known = (
        f"The last candle of {symbol} is of {indian_time(datetime.fromisoformat(last))}."
        if last
        else f"There are no candles of {symbol}."
    )
    return f"No feed brings prices now. {known} An algorithm waits until a feed or replay begins."
