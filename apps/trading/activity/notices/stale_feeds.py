"""Notices of a feed that has stopped: no bar came in the session for some minutes."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from django.conf import settings
from django.db import transaction

from apps.core.times import day_in_india, day_number, moment, wire_time
from apps.engine.candles import Sessions
from apps.market.candles import received_since
from apps.market.rulebook import calendars_of
from apps.market.services import replayed_until
from apps.trading.models import FeedOutage, RunState
from apps.trading.runs.bar_rows import next_bar_end, nominal_end
from apps.webhooks.events import EventType, write_event


@dataclass(frozen=True, slots=True)
class AwaitedBars:
    """A live run that waits for bars: the end of its last bar, None before the first, and when the
    next was due (epoch seconds).
    """

    algorithm: Mapping[str, object]
    symbols: Collection[str]
    last_end: int | None
    started: int
    due: int | None
    is_in_session: bool


def notice_stale_feeds(*, now: datetime) -> int:
    """Tell the users whose runs wait for bars although the feed should bring them; return how many
    users. A replay moves the clock itself, so it is never late.
    """
    if replayed_until() is not None:
        return 0
    minutes, clock = settings.FEED_STALE_MINUTES, int(now.timestamp())
    patience = timedelta(minutes=minutes)
    fresh = {symbol for _, symbol, _ in received_since(now - patience)}
    count = 0
    for account_id, awaited in sorted(_awaited(clock).items()):
        open_now = [bars for bars in awaited if bars.is_in_session]
        if any(fresh.intersection(bars.symbols) for bars in open_now):
            continue
        late = [
            bars
            for bars in open_now
            if bars.due is not None and bars.due + patience.total_seconds() <= clock
        ]
        if late:
            count += _write(account_id, awaited, late, now)
    return count


def _awaited(clock: int) -> Mapping[str, list[AwaitedBars]]:
    """Return the live runs with the bars that they wait for, keyed by account."""
    states = (
        RunState.objects.filter(run__ended_at=None, stream__isnull=False)
        .select_related("run__algorithm", "stream")
        .only(
            "since",
            "row_time",
            "run__account_id",
            "run__algorithm__name",
            "stream__symbols",
            "stream__timeframe",
        )
        .order_by("run__algorithm__name", "run")
    )
    rows = list(states)
    calendars = calendars_of(
        {symbol for row in rows for symbol in (row.stream.symbols if row.stream else ())}
    )
    awaited: dict[str, list[AwaitedBars]] = defaultdict(list)
    for row in rows:
        stream, run = row.stream, row.run
        assert stream is not None
        own = [calendars[symbol] for symbol in stream.symbols]
        last = None if row.row_time is None else nominal_end(row.row_time, stream.timeframe, own)
        awaited[run.account_id].append(
            AwaitedBars(
                algorithm={
                    "algorithmId": run.algorithm_id,
                    "algorithmName": run.algorithm.name,
                    "symbols": stream.symbols,
                    "timeframe": stream.timeframe,
                },
                symbols=stream.symbols,
                last_end=last,
                started=row.since,
                due=next_bar_end(stream.timeframe, own, since=max(last or 0, row.since)),
                is_in_session=_is_open(own, clock),
            )
        )
    return awaited


def _is_open(calendars: Sequence[Sessions], clock: int) -> bool:
    """Return whether any of the markets is certainly open."""
    day = np.array([day_number(day_in_india(clock))], np.int32)
    return any(
        bool(calendar.is_session(day)[0] and calendar.is_certain(day)[0])
        and calendar.hours(day)[0][0] <= clock < calendar.hours(day)[1][0]
        for calendar in calendars
    )


@transaction.atomic
def _write(
    account_id: str, awaited: Sequence[AwaitedBars], late: Sequence[AwaitedBars], now: datetime
) -> bool:
    """Write the event of an outage, unless the user knows of it."""
    ends = [bars.last_end for bars in awaited if bars.last_end is not None]
    since = max(ends, default=max(bars.started for bars in awaited))
    _, is_new = FeedOutage.objects.get_or_create(
        account_id=account_id, since=since, defaults={"noticed_at": now}
    )
    if is_new:
        waited = int(now.timestamp()) - min(bars.due for bars in late if bars.due is not None)
        data = {
            "lastBarAt": wire_time(moment(since)) if ends else None,
            "minutes": waited // 60,
            "algorithms": [bars.algorithm for bars in late],
        }
        write_event(
            EventType.FEED_STALE, owner_id=account_id, algorithm_id=account_id, data=data, now=now
        )
    return is_new
