"""Lanes: runs that see the same rows. Runs are put on them, and they are woken when bars come."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import date, datetime
from itertools import groupby
from operator import itemgetter
from typing import Final

from django.db import connection
from django.db.models import Exists, Max, OuterRef

from apps.engine.candles import TIMEFRAMES
from apps.engine.kernel.records import new_state, save
from apps.engine.language.strategy import Strategy
from apps.market import clock
from apps.market.dates import day_in_india, day_number
from apps.market.models import BufferedCandle
from apps.trading.models import BarStream, DailyLoss, OrderStatus, Run, RunState

INCLUDE_OUT_OF_SESSION: Final = "includeOutOfSession"
"""The key of executionSettings that parts streams of the same symbols."""
_EVER: Final = 2**62
_LANE: Final = BarStream._meta.db_table
_STATE: Final = RunState._meta.db_table
_WAKE: Final = f"""
    UPDATE {_LANE} SET wake_at = %(now)s WHERE id IN (
        SELECT id FROM {_LANE} AS stream
        WHERE (wake_at IS NULL OR wake_at > %(now)s)
            AND (%(symbols)s::text[] IS NULL
                OR timeframe = ANY(%(timeframes)s) AND symbols ?| %(symbols)s)
            AND (row_time IS NULL OR row_time < %(newest)s)
            AND EXISTS (SELECT FROM {_STATE} WHERE lane_id = stream.id)
        FOR NO KEY UPDATE SKIP LOCKED
    )
"""


def subscribe(run: Run, strategy: Strategy, *, since: int) -> None:
    """Let the run be stepped by every row that closes after `since`, the market's time (epoch
    seconds). A runner finds its stream: one that is new would make starts wait for one another.
    """
    symbols = strategy.basicInfo.symbols
    state = new_state(symbols=len(symbols), cash=float(run.capital))
    lost = _lost_before(run, day := day_in_india(since))
    state.account["day"], state.account["day_start"] = day_number(day), float(run.capital) + lost
    RunState.objects.create(
        run=run,
        data=save(state),
        since=since,
        equity=float(run.capital),
        peak=float(run.capital),
    )


def _lost_before(run: Run, day: date) -> float:
    """What earlier runs of the algorithm have lost that day, which its limit counts too."""
    lost = DailyLoss.objects.filter(algorithm_id=run.algorithm_id, day=day).first()
    return float(lost.loss) if lost else 0.0


def assign_runs(*, now: datetime) -> None:
    """Put the runs that have no stream yet on theirs, and have those looked at."""
    found: dict[tuple[str, tuple[str, ...], bool], list[str]] = defaultdict(list)
    states = RunState.objects.filter(stream=None)
    for run_id, basics, settings in states.values_list(
        "run_id", "run__configuration__basicInfo", "run__configuration__executionSettings"
    ):
        included = settings.get(INCLUDE_OUT_OF_SESSION, False)
        found[basics["timeframe"], tuple(basics["symbols"]), included].append(run_id)
    for (timeframe, symbols, included), run_ids in sorted(found.items()):
        stream = get_bar_stream(symbols, timeframe, include_out_of_session=included)
        RunState.objects.filter(run__in=run_ids, stream=None).update(stream=stream)
        BarStream.objects.filter(pk=stream.pk).update(wake_at=now)


def get_bar_stream(
    symbols: Sequence[str], timeframe: str, *, include_out_of_session: bool = False
) -> BarStream:
    """It is there for good once it is."""
    identity = [timeframe, *symbols, *([INCLUDE_OUT_OF_SESSION] if include_out_of_session else [])]
    key = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
    fields = {
        "symbols": list(symbols),
        "timeframe": timeframe,
        "include_out_of_session": include_out_of_session,
    }
    return BarStream.objects.get_or_create(key=key, defaults=fields)[0]


def start_with_replay(streams: Collection[BarStream], *, market_now: int) -> None:
    """Runs that were started before a replay of the past began wait for its first bars."""
    began = clock.replay_began()
    if began is not None:
        waiting = RunState.objects.filter(stream__in=streams, row_time=None, since__gt=market_now)
        waiting.update(since=began)


def unsubscribe(run: Run, *, now: datetime) -> None:
    """The run, which has ended, holds nothing any more: no further row is its concern, and what it
    waited to enter comes to nothing.
    """
    RunState.objects.filter(run=run).delete()
    waiting = run.orders.filter(status=OrderStatus.OPEN)
    of_signal = waiting.filter(bar_time=OuterRef("bar_time"), symbol=OuterRef("symbol"))
    entries = run.signals.filter(Exists(of_signal), action="entry", followed=True)
    entries.update(followed=False, reason=run.end_reason)
    ended_at = clock.market_moment(now)
    waiting.update(status=OrderStatus.CANCELLED, reason=run.end_reason, ended_at=ended_at)


def wake(symbols: Collection[str], timeframe: str, *, newest: int = _EVER, now: datetime) -> int:
    """Have the streams looked at that bars of `timeframe` concern; returns how many there are. The
    start of the newest bar (epoch seconds) tells those that have been through it already.

    One that is being worked on is left out: it is woken again by whoever calls this again.
    """
    longer = [name for name, length in TIMEFRAMES.items() if length >= TIMEFRAMES[timeframe]]
    return _wake(list(symbols), longer, newest, now)


def wake_all(*, now: datetime) -> None:
    """As `wake`, all streams with runs."""
    _wake(None, [], _EVER, now)


def wake_for_new_bars(*, since: datetime, now: datetime) -> None:
    """Have those streams looked at that bars concern which came in since then."""
    came = BufferedCandle.objects.filter(received_at__gte=since).order_by("timeframe")
    for timeframe, rows in groupby(
        came.values_list("timeframe", "symbol").annotate(Max("time")), itemgetter(0)
    ):
        found = list(rows)
        newest = max(time for _, _, time in found)
        wake([symbol for _, symbol, _ in found], timeframe, newest=newest, now=now)


def _wake(symbols: list[str] | None, timeframes: list[str], newest: int, now: datetime) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            _WAKE,
            {"now": now, "timeframes": timeframes, "symbols": symbols, "newest": newest},
        )
        return int(cursor.rowcount)
