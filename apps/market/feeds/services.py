"""Taking bars in as they close, and putting them into blocks after the session."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np
from django.db import transaction
from django.db.models import Max

from apps.accounts.models import User
from apps.core import audit
from apps.core.audit import Action
from apps.core.errors import Code, ServiceError
from apps.core.times import wire_time
from apps.engine.candles import Candles, ist_day
from apps.market import blocks, editions, live, writing
from apps.market.blocks import EMPTY, overlaid, picked
from apps.market.feeds.incoming import Received, sift
from apps.market.live import Row
from apps.market.models import CandleBlock, LiveCandle, Replay
from apps.market.moments import day_in_india, midnight
from apps.market.rulebook.sessions import sessions_of

_MANY: Final = 1000
"""More bars at once than a feed has of one symbol; beside the blocks they would slow readers."""
_AT_ONCE: Final = 200
"""Symbols of one transaction."""


class ReplayRuns(ServiceError):
    """The market's time is another one just now."""

    code = Code.CONFLICT
    message = (
        "History is being replayed, at {marketTime}: bars of now would mix with it. Try again when"
        " an operator has ended the replay."
    )


@transaction.atomic
def receive_from(
    *, operator: User, timeframe: str, series: Mapping[str, Sequence[Row]], now: datetime
) -> Mapping[str, Received]:
    """`receive` of some symbols, all or none, on record. Raises also ReplayRuns."""
    if replay := Replay.objects.first():
        raise ReplayRuns(marketTime=wire_time(datetime.fromtimestamp(replay.moment, tz=UTC)))
    writing.lock(series)
    received = {
        symbol: receive(symbol=symbol, timeframe=timeframe, rows=rows, now=now)
        for symbol, rows in series.items()
    }
    details = {
        "symbols": list(series), "timeframe": timeframe,
        "received": sum(map(len, series.values())),
        "added": sum(each.added for each in received.values()),
        "changed": sum(each.changed for each in received.values()),
    }  # fmt: skip
    actor = audit.user(operator)
    audit.record(Action.CANDLES_RECEIVED, actor=actor, subject=None, details=details, now=now)
    return received


@transaction.atomic
def receive(*, symbol: str, timeframe: str, rows: Sequence[Row], now: datetime) -> Received:
    """Take bars that have closed, in any order, from a feed (rows as `live.Row`, each a bar).

    What is held already and differs is changed: rows that were traded on keep what they used. A
    generated sample of the symbol is dropped. Whoever listens on `live.CHANNEL` is told when the
    transaction commits. Raises OtherPricesHeld.
    """
    sessions = sessions_of(symbol, book=editions.current())
    sifted = sift(rows, timeframe, sessions, now=int(now.timestamp()))
    writing.lock([symbol])
    dropped = writing.admit(symbol, timeframe)
    bars, in_blocks = sifted.candles, _in_blocks(symbol, timeframe, sifted.candles)
    came_in = live.held(symbol, [timeframe]).get(timeframe, EMPTY)
    last = _last(symbol, timeframe, came_in)
    fresh, changed, repeated = writing.compared(overlaid([in_blocks, came_in]), bars)
    corrected = changed & np.isin(bars.time, in_blocks.time)
    if corrected.any():
        writing.append({symbol: picked(bars, corrected)}, timeframe, now=now)
    _keep(symbol, timeframe, picked(bars, fresh | changed & ~corrected), now=now)
    if fresh.any() or changed.any():
        live.tell([symbol], timeframe)
    return Received(
        added=int(fresh.sum()),
        repeated=sifted.repeated + int(repeated.sum()),
        changed=int(changed.sum()),
        late=int((fresh & (bars.time < last)).sum()),
        out_of_order=sifted.out_of_order,
        off_session=sifted.off_session,
        dropped=dropped,
        refused=sifted.refused,
    )


@transaction.atomic
def fold(*, symbols: Collection[str], now: datetime) -> int:
    """Put the bars that came in into their blocks; readers see no difference. How many."""
    writing.lock(symbols)
    return writing.fold(symbols, now=now)


def fold_ended(*, now: datetime) -> int:
    """Fold what came in before today in Asia/Kolkata, some symbols at a time. How many bars.

    It can be called again at any time, and by several at once: what is folded is not there to be
    folded again.
    """
    today = midnight(day_in_india(int(now.timestamp())))
    ended = LiveCandle.objects.filter(time__lt=today).order_by("symbol")
    symbols = list(ended.values_list("symbol", flat=True).distinct())
    parts = (symbols[first : first + _AT_ONCE] for first in range(0, len(symbols), _AT_ONCE))
    return sum(fold(symbols=part, now=now) for part in parts)


def _in_blocks(symbol: str, timeframe: str, bars: Candles) -> Candles:
    """What blocks hold on the days of these bars, and around them."""
    if not len(bars):
        return EMPTY
    days = {block.start: ist_day(block.candles.time) for block in blocks.split(bars, timeframe)}
    stored = CandleBlock.objects.filter(symbol=symbol, timeframe=timeframe)
    found = [
        key
        for key, first, bits in stored.values_list("pk", "block_start", "days")
        if (start := midnight(first)) in days
        and np.isin(days[start], blocks.days_of(bytes(bits), start)).any()
    ]
    data = stored.filter(pk__in=found).order_by("block_start").values_list("data", flat=True)
    return blocks.decode(*map(bytes, data))


def _last(symbol: str, timeframe: str, came_in: Candles) -> int:
    """The start of the newest bar of this timeframe; 0 without one."""
    stored = CandleBlock.objects.filter(symbol=symbol, timeframe=timeframe)
    newest = stored.aggregate(last=Max("last_time"))["last"]
    in_blocks = 0 if newest is None else int(newest.timestamp())
    return max(in_blocks, int(came_in.time[-1])) if len(came_in) else in_blocks


def _keep(symbol: str, timeframe: str, bars: Candles, *, now: datetime) -> None:
    """Many bars are history, and go where it is."""
    if not len(bars):
        return
    if len(bars) <= _MANY:
        live.keep(symbol, timeframe, bars, now=now)
    else:
        writing.fold([symbol], now=now)
        writing.append({symbol: bars}, timeframe, now=now)
