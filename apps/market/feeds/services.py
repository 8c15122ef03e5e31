"""Taking bars in as they close, and putting them into blocks after the session."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

import numpy as np
from django.db import transaction
from django.db.models import Max

from apps.accounts.models import User
from apps.core import audit
from apps.core.audit import Action
from apps.core.errors import Code, ServiceError
from apps.core.times import wire_time
from apps.engine.candles import Candles, ist_day
from apps.market import candle_chunks, candle_writer, intraday_buffer
from apps.market.calendars import calendars_of
from apps.market.candle_chunks import overlay
from apps.market.dates import day_in_india, midnight
from apps.market.feeds.validation import IntakeCounts, ValidatedBars, validate
from apps.market.intraday_buffer import CandleRow
from apps.market.models import BufferedCandle, CandleChunk, Replay
from apps.market.quality import Flags

_MANY: Final = 1000
"""More bars at once than a feed has of one symbol; beside the blocks they would slow readers."""
_AT_ONCE: Final = 200
"""Symbols of one transaction."""


class ReplayInProgress(ServiceError):
    """The market's time is another one just now."""

    code = Code.CONFLICT
    message = (
        "History is being replayed, at {marketTime}: bars of now would mix with it. Try again when"
        " an operator has ended the replay."
    )


@transaction.atomic
def receive_from_operator(
    *, operator: User, timeframe: str, series: Mapping[str, Sequence[CandleRow]], now: datetime
) -> Mapping[str, IntakeCounts]:
    """`receive` of some symbols, all or none, on record. Raises also ReplayRuns."""
    if replay := Replay.objects.first():
        raise ReplayInProgress(marketTime=wire_time(datetime.fromtimestamp(replay.moment, tz=UTC)))
    received = receive(timeframe=timeframe, series=series, now=now)
    details = {
        "symbols": list(series), "timeframe": timeframe,
        "received": sum(map(len, series.values())),
        "added": sum(each.added for each in received.values()),
        "changed": sum(each.changed for each in received.values()),
    }  # fmt: skip
    actor = audit.user(operator)
    audit.record(Action.CANDLES_RECEIVED, None, actor=actor, now=now, **details)
    return received


@transaction.atomic
def receive(
    *, timeframe: str, series: Mapping[str, Sequence[CandleRow]], now: datetime
) -> Mapping[str, IntakeCounts]:
    """Take bars that have closed, by symbol and in any order, from a feed (rows as `live.Row`, each
    a bar); what became of them, by symbol. However many symbols there are, it takes a few
    statements.

    What is held already and differs is changed: rows that were traded on keep what they used. A
    generated sample of a symbol is dropped. Whoever listens on `live.CHANNEL` is told when the
    transaction commits. Raises OtherPricesHeld.
    """
    calendars, at = calendars_of(series), int(now.timestamp())
    sifted = {
        symbol: validate(rows, timeframe, calendars[symbol], now=at)
        for symbol, rows in series.items()
    }
    candle_writer.lock_symbols(series)
    dropped = candle_writer.replace_samples(series, timeframe)
    bars = {symbol: one.candles for symbol, one in sifted.items()}
    compared = _compare(bars, timeframe)
    _write(bars, compared, timeframe, now=now)
    return {
        symbol: _received(one, compared[symbol], dropped.get(symbol, 0))
        for symbol, one in sifted.items()
    }


class _Comparison(NamedTuple):
    """Which bars of a symbol are new, which differ from the one that is held, which of those are in
    a block, and which are the same. `last` is the start of the newest that is held, 0 without one.
    """

    fresh: Flags
    changed: Flags
    corrected: Flags
    repeated: Flags
    last: int


def _compare(series: Mapping[str, Candles], timeframe: str) -> Mapping[str, _Comparison]:
    in_blocks, came_in = _in_blocks(series, timeframe), intraday_buffer.read_at(series, timeframe)
    last = _last(series, timeframe)
    found = {}
    for symbol, bars in series.items():
        held = overlay([in_blocks[symbol], came_in[symbol]])
        fresh, changed, repeated = candle_writer.compare(held, bars)
        corrected = changed & np.isin(bars.time, in_blocks[symbol].time)
        found[symbol] = _Comparison(fresh, changed, corrected, repeated, last.get(symbol, 0))
    return found


def _write(
    series: Mapping[str, Candles],
    compared: Mapping[str, _Comparison],
    timeframe: str,
    *,
    now: datetime,
) -> None:
    """What corrects a block goes there; many bars of a symbol are history, and go there too."""
    corrections = {
        symbol: series[symbol].where(one.corrected)
        for symbol, one in compared.items()
        if one.corrected.any()
    }
    new = {
        symbol: series[symbol].where(one.fresh | one.changed & ~one.corrected)
        for symbol, one in compared.items()
    }
    history = {symbol: bars for symbol, bars in new.items() if len(bars) > _MANY}
    if corrections:
        candle_writer.append(corrections, timeframe, now=now)
    if history:
        candle_writer.compact(history, now=now)
        candle_writer.append(history, timeframe, now=now)
    intraday_buffer.save(
        {symbol: new[symbol] for symbol in new.keys() - history}, timeframe, now=now
    )
    if told := [symbol for symbol, one in compared.items() if (one.fresh | one.changed).any()]:
        intraday_buffer.notify(told, timeframe)


def _received(sifted: ValidatedBars, compared: _Comparison, dropped: int) -> IntakeCounts:
    return IntakeCounts(
        added=int(compared.fresh.sum()),
        repeated=sifted.repeated + int(compared.repeated.sum()),
        changed=int(compared.changed.sum()),
        late=int((compared.fresh & (sifted.candles.time < compared.last)).sum()),
        out_of_order=sifted.out_of_order,
        off_session=sifted.off_session,
        dropped=dropped,
        refused=sifted.refused,
    )


@transaction.atomic
def compact(*, symbols: Collection[str], now: datetime) -> int:
    """Put the bars that came in into their blocks; readers see no difference. How many."""
    candle_writer.lock_symbols(symbols)
    return candle_writer.compact(symbols, now=now)


def compact_ended(*, now: datetime) -> int:
    """Fold what came in before today in Asia/Kolkata, some symbols at a time. How many bars.

    It can be called again at any time, and by several at once: what is folded is not there to be
    folded again.
    """
    today = midnight(day_in_india(int(now.timestamp())))
    ended = BufferedCandle.objects.filter(time__lt=today).order_by("symbol")
    symbols = list(ended.values_list("symbol", flat=True).distinct())
    parts = (symbols[first : first + _AT_ONCE] for first in range(0, len(symbols), _AT_ONCE))
    return sum(compact(symbols=part, now=now) for part in parts)


def _in_blocks(series: Mapping[str, Candles], timeframe: str) -> Mapping[str, Candles]:
    """By symbol, what blocks hold on the days of its bars, and around them."""
    days = {
        (symbol, day_in_india(block.start)): ist_day(block.candles.time)
        for symbol, bars in series.items()
        for block in candle_chunks.split(bars, timeframe)
    }
    stored = CandleChunk.objects.filter(timeframe=timeframe)
    asked = stored.filter(symbol__in=series, period_start__in={start for _, start in days})
    wanted = [
        key
        for key, symbol, first, bits in asked.values_list("pk", "symbol", "period_start", "days")
        if (symbol, first) in days
        and np.isin(
            days[symbol, first], candle_chunks.days_from_bits(bytes(bits), midnight(first))
        ).any()
    ]
    found: dict[str, list[bytes]] = {symbol: [] for symbol in series}
    rows = stored.filter(pk__in=wanted).order_by("symbol", "period_start")
    for symbol, data in rows.values_list("symbol", "data"):
        found[symbol].append(bytes(data))
    return {symbol: candle_chunks.decode(*data) for symbol, data in found.items()}


def _last(symbols: Collection[str], timeframe: str) -> Mapping[str, int]:
    """The start of the newest bar of this timeframe, of those alone that have any."""
    stored = CandleChunk.objects.filter(symbol__in=symbols, timeframe=timeframe).order_by()
    newest = stored.values("symbol").annotate(last=Max("last_time"))
    found = dict(intraday_buffer.last_starts(symbols, timeframe))
    for symbol, last in newest.values_list("symbol", "last"):
        found[symbol] = max(found.get(symbol, 0), int(last.timestamp()))
    return found
