"""Receiving bars as they close, and compaction of the intraday buffer after the session."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

import numpy as np
from django.db import transaction
from django.db.models import Max

from apps.accounts.models import User
from apps.core import audit
from apps.core.audit import Action
from apps.core.times import day_in_india, midnight
from apps.engine.candles import Candles, ist_day
from apps.market.candles import buffer, writing
from apps.market.candles.buffer import CandleRow
from apps.market.candles.chunks import days_from_bits, decode, overlay, split
from apps.market.candles.quality import Flags
from apps.market.feeds.active_feed import refuse_during_replay
from apps.market.feeds.validation import IntakeCounts, ValidatedBars, validate_bars
from apps.market.models import BufferedCandle, CandleChunk
from apps.market.rulebook.calendars import calendars_of

# More bars at once than a feed has of one symbol; in the buffer they would slow readers.
_MANY: Final = 1000
# Symbols of one transaction of the compaction.
_COMPACTION_BATCH: Final = 200


@transaction.atomic
def receive_from_operator(
    *,
    operator: User,
    timeframe: str,
    series: Mapping[str, Sequence[CandleRow]],
    replace_sample: bool = False,
    now: datetime,
) -> Mapping[str, IntakeCounts]:
    """Do as `receive` for an operator, and record it in the audit log.

    Raises also ReplayInProgress.
    """
    refuse_during_replay()
    received = receive(timeframe=timeframe, series=series, replace_sample=replace_sample, now=now)
    details = {
        "symbols": list(series),
        "timeframe": timeframe,
        "received": sum(map(len, series.values())),
        "added": sum(counts.added for counts in received.values()),
        "changed": sum(counts.changed for counts in received.values()),
        "dropped": sum(counts.dropped for counts in received.values()),
    }
    actor = audit.user(operator)
    audit.record(Action.CANDLES_RECEIVED, None, actor=actor, now=now, **details)
    return received


@transaction.atomic
def receive(
    *,
    timeframe: str,
    series: Mapping[str, Sequence[CandleRow]],
    replace_sample: bool = False,
    now: datetime,
) -> Mapping[str, IntakeCounts]:
    """Store closed bars of a feed by symbol, in any order, and return the counts by symbol.

    It takes a few statements for any number of symbols. A differing stored bar is changed, but rows
    that runs have used keep their bars. Bars follow a generated sample, or with `replace_sample`
    replace it. The listeners of `buffer.CANDLES_CHANNEL` are notified when the transaction commits.
    Raises OtherPriceKind, SampleInTheWay.
    """
    calendars, at = calendars_of(series), int(now.timestamp())
    validated = {
        symbol: validate_bars(rows, timeframe, calendars[symbol], now=at)
        for symbol, rows in series.items()
    }
    writing.lock_symbols(series)
    bars = {symbol: accepted.candles for symbol, accepted in validated.items()}
    dropped = writing.make_way(bars, timeframe, replace_sample=replace_sample, now=now)
    comparisons = _compare(bars, timeframe)
    _write(bars, comparisons, timeframe, now=now)
    return {
        symbol: _counts(accepted, comparisons[symbol], dropped.get(symbol, 0))
        for symbol, accepted in validated.items()
    }


class _Comparison(NamedTuple):
    """A comparison of a symbol's bars with the stored ones: new, differing, differing in a chunk,
    and equal. `last` is the start of the newest stored bar, 0 without one.
    """

    fresh: Flags
    changed: Flags
    corrected: Flags
    repeated: Flags
    last: int


def _compare(series: Mapping[str, Candles], timeframe: str) -> Mapping[str, _Comparison]:
    in_chunks = _read_chunks(series, timeframe)
    buffered = buffer.read_at(series, timeframe)
    last = _last_starts(series, timeframe)
    comparisons = {}
    for symbol, bars in series.items():
        stored = overlay([in_chunks[symbol], buffered[symbol]])
        fresh, changed, repeated = writing.compare(stored, bars)
        corrected = changed & np.isin(bars.time, in_chunks[symbol].time)
        comparisons[symbol] = _Comparison(fresh, changed, corrected, repeated, last.get(symbol, 0))
    return comparisons


def _write(
    series: Mapping[str, Candles],
    comparisons: Mapping[str, _Comparison],
    timeframe: str,
    *,
    now: datetime,
) -> None:
    """Write corrections to the chunks that they correct.

    Many bars of a symbol are history, and go to chunks too; others go to the intraday buffer.
    """
    corrections = {
        symbol: series[symbol].select(comparison.corrected)
        for symbol, comparison in comparisons.items()
        if comparison.corrected.any()
    }
    new = {
        symbol: series[symbol].select(comparison.fresh | comparison.changed & ~comparison.corrected)
        for symbol, comparison in comparisons.items()
    }
    history = {symbol: bars for symbol, bars in new.items() if len(bars) > _MANY}
    if corrections:
        writing.merge_candles(corrections, timeframe, now=now)
    if history:
        writing.compact_into_chunks(history, now=now)
        writing.merge_candles(history, timeframe, now=now)
    buffer.store_bars({symbol: new[symbol] for symbol in new.keys() - history}, timeframe, now=now)
    updated = [
        symbol
        for symbol, comparison in comparisons.items()
        if (comparison.fresh | comparison.changed).any()
    ]
    if updated:
        buffer.notify(updated, timeframe)


def _counts(accepted: ValidatedBars, compared: _Comparison, dropped: int) -> IntakeCounts:
    return IntakeCounts(
        added=int(compared.fresh.sum()),
        repeated=accepted.repeated + int(compared.repeated.sum()),
        changed=int(compared.changed.sum()),
        late=int((compared.fresh & (accepted.candles.time < compared.last)).sum()),
        out_of_order=accepted.out_of_order,
        off_session=accepted.off_session,
        dropped=dropped,
        rejected=accepted.rejected,
    )


@transaction.atomic
def compact(*, symbols: Collection[str], now: datetime) -> int:
    """Move buffered bars into their chunks and return their number; readers see no difference."""
    writing.lock_symbols(symbols)
    return writing.compact_into_chunks(symbols, now=now)


def compact_ended(*, now: datetime) -> int:
    """Compact the bars from before today in Asia/Kolkata, some symbols at a time; return their
    number.

    It can be repeated at any time, and several workers may call it at once.
    """
    today = midnight(day_in_india(int(now.timestamp())))
    ended = BufferedCandle.objects.filter(time__lt=today).order_by("symbol")
    symbols = list(ended.values_list("symbol", flat=True).distinct())
    batches = (
        symbols[first : first + _COMPACTION_BATCH]
        for first in range(0, len(symbols), _COMPACTION_BATCH)
    )
    return sum(compact(symbols=batch, now=now) for batch in batches)


def _read_chunks(series: Mapping[str, Candles], timeframe: str) -> Mapping[str, Candles]:
    """Return the bars of the chunks with bars on the days of the given bars, keyed by symbol."""
    days = {
        (symbol, day_in_india(chunk.start)): ist_day(chunk.candles.time)
        for symbol, bars in series.items()
        for chunk in split(bars, timeframe)
    }
    stored = CandleChunk.objects.filter(timeframe=timeframe)
    catalogue = stored.filter(symbol__in=series, period_start__in={start for _, start in days})
    chunk_ids = [
        key
        for key, symbol, first, bits in catalogue.values_list(
            "pk", "symbol", "period_start", "days"
        )
        if (symbol, first) in days
        and np.isin(days[symbol, first], days_from_bits(bytes(bits), midnight(first))).any()
    ]
    chunks: dict[str, list[bytes]] = {symbol: [] for symbol in series}
    rows = stored.filter(pk__in=chunk_ids).order_by("symbol", "period_start")
    for symbol, data in rows.values_list("symbol", "data"):
        chunks[symbol].append(bytes(data))
    return {symbol: decode(*data) for symbol, data in chunks.items()}


def _last_starts(symbols: Collection[str], timeframe: str) -> Mapping[str, int]:
    """Return the start of the newest bar of this timeframe, keyed by symbol, for symbols
    with bars.
    """
    stored = CandleChunk.objects.filter(symbol__in=symbols, timeframe=timeframe).order_by()
    newest = stored.values("symbol").annotate(last=Max("last_time"))
    starts = dict(buffer.last_starts(symbols, timeframe))
    for symbol, last in newest.values_list("symbol", "last"):
        starts[symbol] = max(starts.get(symbol, 0), int(last.timestamp()))
    return starts
