"""Replays of stored candles from the console, and the end of any replay.

A replay moves the market's time for everybody. So operators may begin one, and anybody who has the
machine and the service alone.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import transaction

from apps.accounts.models import User
from apps.algorithms.models import Algorithm, AlgorithmStatus, AlgorithmTransition
from apps.core import audit
from apps.core.audit import Action
from apps.core.errors import Fault, Forbidden, InvalidInput
from apps.core.times import indian_time, moment
from apps.engine.candles import TIMEFRAMES
from apps.market.candles import stored_series, stored_timeframes_of
from apps.market.services import (
    Feed,
    FeedKind,
    FeedPlan,
    begin_feed,
    change_speed,
    end_feed,
    end_replay,
    enqueue_replay,
    lock_feed,
    replayed_until,
)
from apps.trading.models import Run
from apps.trading.runs.status_changes import prepare_change
from apps.webhooks.events import EventPayload, write_events

MOST_SYMBOLS: Final = 50
REPLAY_ENDED: Final = "the replay has ended"
# Symbols that are proposed if no algorithm runs.
_PROPOSED: Final = 10


@dataclass(frozen=True, slots=True)
class ReplayRange:
    """The stored candles that a replay can play: their shortest timeframe, the symbols that have
    it, and the first and last moments.
    """

    symbols: tuple[str, ...]
    timeframe: str
    first: datetime
    last: datetime


def may_replay(user: User) -> bool:
    """Return whether the user may begin and end replays, at this moment."""
    is_alone = settings.EMBEDDED_DATABASE and settings.SERVES_LOOPBACK_ALONE
    return user.is_staff or (is_alone and User.objects.count() == 1)


def _require_right(user: User) -> None:
    if not may_replay(user):
        raise Forbidden(reason="Only an operator can replay history: it moves everybody's market.")


def propose_symbols() -> list[str]:
    """Return the symbols of the algorithms that run or, if none does, some with stored minutes."""
    symbols = set()
    for run in Run.objects.live().select_related("state"):
        symbols |= {*run.configuration["basicInfo"]["symbols"], *run.state.read_symbols}
    if symbols:
        return sorted(symbols)[:MOST_SYMBOLS]
    stored = stored_series(timeframe="1m").values_list("symbol", flat=True)
    return sorted(set(stored))[:_PROPOSED]


def find_range(symbols: Collection[str]) -> ReplayRange | None:
    """Return the stored candles of these symbols in their shortest timeframe; None without any."""
    series = [
        (symbol, str(row["timeframe"]), str(row["first"]), str(row["last"]))
        for symbol, rows in stored_timeframes_of(symbols).items()
        for row in rows
    ]
    if not series:
        return None
    shortest = min((timeframe for _, timeframe, *_ in series), key=TIMEFRAMES.__getitem__)
    played = [row for row in series if row[1] == shortest]
    first = datetime.fromisoformat(min(first for *_, first, _ in played))
    last = datetime.fromisoformat(max(last for *_, last in played))
    return ReplayRange(tuple(symbol for symbol, *_ in played), shortest, first, last)


@transaction.atomic
def start_replay(
    *,
    user: User,
    symbols: Sequence[str],
    start: int | None,
    until: int | None,
    speed: float | None,
    now: datetime,
) -> Feed:
    """Request a replay of stored candles; a worker plays it.

    Symbols without candles of the shortest timeframe are left out. After an earlier replay it
    continues where the market's time stands. Raises Forbidden, InvalidInput, FeedIsActive.
    """
    _require_right(user)
    if not 1 <= len(symbols) <= MOST_SYMBOLS:
        raise InvalidInput(Fault("symbols", f"must be 1 to {MOST_SYMBOLS} symbols"))
    stored = find_range(symbols)
    if stored is None:
        raise InvalidInput(Fault("symbols", "have no stored candles: load some on the Data page"))
    replayed = replayed_until()
    begins = replayed if replayed is not None else start
    if begins is None:
        begins = int(stored.first.timestamp())
    ends = int(stored.last.timestamp()) + TIMEFRAMES[stored.timeframe]
    ends = min(until or ends, ends)
    if begins >= ends:
        last = indian_time(stored.last)
        raise InvalidInput(Fault("from", f"must be earlier: the last stored candle is of {last}"))
    feed = begin_feed(
        FeedPlan(
            kind=FeedKind.REPLAY,
            symbols=stored.symbols,
            timeframe=stored.timeframe,
            start=begins,
            until=ends,
            speed=speed,
            by_worker=True,
        ),
        now=now,
    )
    details = {"symbols": list(stored.symbols), "from": indian_time(moment(begins)), "speed": speed}
    audit.record(Action.REPLAY_STARTED, None, actor=audit.user(user), now=now, **details)
    enqueue_replay()
    return feed


@transaction.atomic
def change_replay_speed(*, user: User, speed: float | None, now: datetime) -> bool:
    """Change the speed of the replay under way; return whether there is one. Raises Forbidden."""
    _require_right(user)
    changed = change_speed(speed, now=now)
    if changed:
        enqueue_replay()
    return changed


def stop_replay(*, user: User, now: datetime) -> bool:
    """End the replay for a user; return whether there was one. Raises Forbidden."""
    _require_right(user)
    return finish_replay(actor=audit.user(user), now=now)


@transaction.atomic
def finish_replay(*, actor: audit.Actor, now: datetime) -> bool:
    """Return the market to the current time, and pause the active algorithms: they would wait for
    bars that nobody brings, and fail. Return whether there was a replay.
    """
    feed = lock_feed()
    was_feed = feed.kind == FeedKind.REPLAY and end_feed(feed.token)
    if not (end_replay() or was_feed):
        return False
    audit.record(Action.REPLAY_ENDED, None, actor=actor, now=now)
    write_events(list(_pause_all(now=now)), now=now)
    return True


def _pause_all(*, now: datetime) -> Iterator[EventPayload]:
    active = Algorithm.objects.filter(status=AlgorithmStatus.ACTIVE)
    for algorithm in list(active.order_by("pk").locked()):
        run = algorithm.runs.live().first()
        yield prepare_change(
            AlgorithmTransition.PAUSE, algorithm, run=run, actor=None, reason=REPLAY_ENDED, now=now
        )
