"""Bar streams: runs on the same bar rows subscribe to one stream, and arriving bars wake it."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from django.db import connection
from django.db.models import Exists, OuterRef

from apps.core.times import day_in_india, day_number
from apps.engine.candles import TIMEFRAME_SECONDS, TIMEFRAMES
from apps.engine.language import Strategy
from apps.engine.live import State, save_state
from apps.market.candles import read_bars, received_since
from apps.market.services import market_moment, replay_start
from apps.trading.models import BarStream, DailyLoss, Intent, OrderStatus, Run, RunState, queries
from apps.trading.runs.bar_rows import has_in_rows

# The key of executionSettings that keeps streams of the same symbols apart.
INCLUDE_OUT_OF_SESSION: Final = "includeOutOfSession"
_END_OF_TIME: Final = 2**62

# The read symbols of a stream with their timeframes, in order.
ReadSeries: TypeAlias = tuple[tuple[str, str], ...]


def subscribe(run: Run, strategy: Strategy, *, since: int) -> None:
    """Subscribe the run to every row that closes after `since` (market's time, epoch seconds).

    A runner assigns it to its stream: if starts created streams here, they would wait for one
    another.
    """
    symbols = strategy.basicInfo.symbols
    state = State.first(symbols, cash=float(run.capital))
    day = day_in_india(since)
    # The day's limit also counts the losses of earlier runs of the algorithm.
    lost = DailyLoss.objects.filter(algorithm_id=run.algorithm_id, day=day).first()
    state.account["day"] = day_number(day)
    state.account["day_start"] = float(run.capital) + (float(lost.loss) if lost else 0.0)
    RunState.objects.create(
        run=run,
        read_symbols=read_symbols_of(strategy),
        data=save_state(state),
        since=since,
        equity=float(run.capital),
        peak=float(run.capital),
    )


def unsubscribe(run: Run, *, now: datetime) -> None:
    """End the subscription of a run that has ended and holds nothing.

    Its pending orders are cancelled, and the signals of pending entries marked as not executed.
    """
    RunState.objects.filter(run=run).delete()
    pending = run.orders.filter(status=OrderStatus.OPEN)
    of_signal = pending.exclude(intent=Intent.EXIT).filter(
        bar_time=OuterRef("bar_time"), symbol=OuterRef("symbol")
    )
    entries = run.signals.filter(Exists(of_signal), action="entry", followed=True)
    entries.update(followed=False, reason=run.end_reason)
    ended_at = market_moment(now)
    pending.update(status=OrderStatus.CANCELLED, reason=run.end_reason, ended_at=ended_at)


def note_resume(run: Run, *, at: int) -> None:
    """Count the missing bars of a resumed run from this moment on (market's time)."""
    RunState.objects.filter(run=run).update(resumed_at=at)


def assign_runs(*, now: datetime) -> None:
    """Assign runs without a stream to their streams, and wake these streams."""
    by_stream: dict[tuple[str, tuple[str, ...], bool, ReadSeries], list[str]] = defaultdict(list)
    states = RunState.objects.filter(stream=None)
    for run_id, basics, settings, read in states.values_list(
        "run_id",
        "run__configuration__basicInfo",
        "run__configuration__executionSettings",
        "read_symbols",
    ):
        included, symbols = settings.get(INCLUDE_OUT_OF_SESSION, False), tuple(basics["symbols"])
        identity = basics["timeframe"], symbols, included, tuple(sorted(read.items()))
        by_stream[identity].append(run_id)
    for (timeframe, symbols, included, series), run_ids in sorted(by_stream.items()):
        stream = get_bar_stream(
            symbols, timeframe, include_out_of_session=included, read_symbols=dict(series)
        )
        RunState.objects.filter(run__in=run_ids, stream=None).update(stream=stream)
        BarStream.objects.filter(pk=stream.pk).update(wake_at=now)


def read_symbols_of(strategy: Strategy) -> dict[str, str]:
    """Return the symbols that conditions read beside the traded ones, each with the timeframe in
    which rows have its candles: the shortest one read, if it makes the longer ones.
    """
    basic, read = strategy.basicInfo, {}
    for symbol, timeframes in strategy.read_symbols.items():
        if symbol not in basic.symbols:
            lengths = [TIMEFRAME_SECONDS[name] for name in timeframes]
            shortest = min(timeframes, key=TIMEFRAME_SECONDS.__getitem__)
            divides = all(length % min(lengths) == 0 for length in lengths)
            read[symbol] = shortest if divides else basic.timeframe
    return read


def stream_of(strategy: Strategy) -> BarStream:
    """Return the stream of runs of these steps."""
    return get_bar_stream(
        strategy.basicInfo.symbols,
        strategy.basicInfo.timeframe,
        include_out_of_session=strategy.executionSettings.includeOutOfSession,
        read_symbols=read_symbols_of(strategy),
    )


def get_bar_stream(
    symbols: Sequence[str],
    timeframe: str,
    *,
    include_out_of_session: bool = False,
    read_symbols: Mapping[str, str] = {},
) -> BarStream:
    """Return the stream, created when it is first needed; a stream is never deleted."""
    identity: list[object] = [timeframe, *symbols]
    identity += [INCLUDE_OUT_OF_SESSION] if include_out_of_session else []
    identity += [dict(sorted(read_symbols.items()))] if read_symbols else []
    key = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
    fields = {
        "symbols": list(symbols),
        "timeframe": timeframe,
        "include_out_of_session": include_out_of_session,
        "read_symbols": dict(read_symbols),
    }
    return BarStream.objects.get_or_create(key=key, defaults=fields)[0]


def start_with_replay(streams: Collection[BarStream], *, market_now: int) -> None:
    """Move the start of runs that were started before a replay of the past began to its
    first bars.
    """
    start = replay_start()
    if start is not None:
        waiting = RunState.objects.filter(stream__in=streams, row_time=None, since__gt=market_now)
        waiting.update(since=start)


def wake(
    symbols: Collection[str], timeframe: str, *, newest: int = _END_OF_TIME, now: datetime
) -> int:
    """Wake the streams that use bars of `timeframe`; return their number.

    Streams that have processed the bar that starts at `newest` (epoch seconds) are skipped. A
    leased stream is skipped too; it is woken when the caller repeats the call.
    """
    length = TIMEFRAMES[timeframe]
    longer = [name for name, other in TIMEFRAMES.items() if other >= length]
    return _wake(list(symbols), longer, newest, length, now)


def wake_all(*, now: datetime) -> None:
    """Wake all streams that have runs."""
    _wake(None, [], _END_OF_TIME, 0, now)


def wake_for_new_bars(*, since: datetime, now: datetime) -> None:
    """Wake the streams that use bars received since then."""
    for timeframe, rows in groupby(received_since(since), itemgetter(0)):
        bars = list(rows)
        newest = max(time for _, _, time in bars)
        wake([symbol for _, symbol, _ in bars], timeframe, newest=newest, now=now)


def _wake(
    symbols: list[str] | None, timeframes: list[str], newest: int, length: int, now: datetime
) -> int:
    values: dict[str, Any] = {
        "now": now,
        "timeframes": timeframes,
        "symbols": symbols,
        "newest": newest,
        "length": length,
    }
    with connection.cursor() as cursor:
        cursor.execute(queries.WAKE_STREAMS, values)
        return int(cursor.rowcount)


class UnfedAlgorithm(NamedTuple):
    """An algorithm that trades, and its symbols without bars."""

    algorithm_id: str
    name: str
    timeframe: str
    symbols: tuple[str, ...]


def find_unfed_algorithms(
    symbols: Collection[str], timeframe: str, *, stored_from: int | None = None
) -> Iterator[UnfedAlgorithm]:
    """Yield the algorithms with symbols that a feed of these bars does not bring.

    A replay that starts at `stored_from` (epoch seconds) also brings the stored bars of other
    symbols.
    """
    live = Run.objects.live().select_related("algorithm", "state")
    for run in live.order_by("algorithm__name", "pk"):
        basics = run.configuration["basicInfo"]
        own: str = basics["timeframe"]
        series = [(symbol, own) for symbol in basics["symbols"]]
        series += [
            (symbol, name)
            for symbol, name in sorted(run.state.read_symbols.items())
            if has_in_rows(own, name)
        ]
        missing = tuple(
            symbol
            for symbol, name in series
            if (symbol not in symbols or TIMEFRAME_SECONDS[name] < TIMEFRAMES[timeframe])
            and not _is_stored(symbol, name, stored_from)
        )
        if missing:
            yield UnfedAlgorithm(run.algorithm_id, run.algorithm.name, own, missing)


def _is_stored(symbol: str, timeframe: str, since: int | None) -> bool:
    return (
        since is not None and len(read_bars(symbol, timeframe, start=since, end=_END_OF_TIME)) > 0
    )
