"""What received alerts did: the signals of the candles in which they were received."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.accounts.models import User
from apps.alerts.models import ReceivedAlert
from apps.core.times import INDIA, midnight, moment
from apps.engine.candles import DAY, bar_ends
from apps.engine.language import Strategy, parse
from apps.market.candles import read_bars
from apps.market.rulebook import calendars_of
from apps.trading.models import BarRow, BarStream, Run, RunState, SessionStart, Signal
from apps.trading.runs import bar_streams
from apps.trading.runs.bar_rows import unpack_bars

# So many dates hold a session: an alert of a holiday counts at the bar after it.
_DAYS_AHEAD: Final = timedelta(days=10)


@dataclass(frozen=True, slots=True)
class AlertEffect:
    """What an alert did to a run that reads it.

    `bar_time` is the start of the bar at whose close it counted, for these of the run's symbols;
    `signals` are those of that bar, none where other conditions were not true.
    """

    run: Run
    bar_time: datetime
    symbols: Sequence[str]
    signals: Sequence[Signal]


class _UsedBars(NamedTuple):
    """The starts of a symbol's bars that stepped a run, and the ends of the bar before them and of
    each.
    """

    times: NDArray[np.int64]
    edges: NDArray[np.int64]

    def bar_of(self, alert: ReceivedAlert) -> int | None:
        """Return the start of the bar at whose close the alert counted, None without one."""
        index = int(np.searchsorted(self.edges, alert.received_at.timestamp()))
        return int(self.times[index - 1]) if 0 < index < len(self.edges) else None


@dataclass(frozen=True, slots=True)
class _ReadingRun:
    """A run that reads alerts, and its bars by symbol."""

    run: Run
    strategy: Strategy
    bars: Mapping[str, _UsedBars]

    def symbols_by_bar(self, alert: ReceivedAlert) -> Mapping[int, Sequence[str]]:
        """Return the bars at whose close the alert counted, each with its symbols."""
        symbols: dict[int, list[str]] = defaultdict(list)
        if alert.name in self.strategy.alert_names:
            for symbol, bars in self.bars.items():
                time = bars.bar_of(alert) if alert.symbol in ("", symbol) else None
                if time is not None:
                    symbols[time].append(symbol)
        return symbols


def effects_of(
    *, owner: User, alerts: Sequence[ReceivedAlert]
) -> Mapping[str, Sequence[AlertEffect]]:
    """Return what each of the owner's alerts did, keyed by its id; nothing for alerts that no run
    has read, or not yet.
    """
    effects: dict[str, list[AlertEffect]] = defaultdict(list)
    if not alerts:
        return effects
    received = [alert.received_at for alert in alerts]
    signals = _SignalsOfBars(owner, min(received), max(received))
    for reader in _reading_runs(owner, min(received), max(received)):
        for alert in alerts:
            for time, symbols in reader.symbols_by_bar(alert).items():
                arisen = signals.of(reader.run, moment(time), symbols)
                effects[alert.pk].append(AlertEffect(reader.run, moment(time), symbols, arisen))
    return effects


def running_since(*, owner: User) -> Mapping[str, datetime]:
    """Return when each of the owner's runs that go on began, keyed by its algorithm."""
    runs = Run.objects.filter(account=owner.pk, ended_at=None)
    return dict(runs.values_list("algorithm_id", "started_at"))


class _SignalsOfBars:
    """The signals of a user's runs around alerts, read once."""

    def __init__(self, owner: User, first: datetime, last: datetime) -> None:
        bounds = first - _DAYS_AHEAD, last + _DAYS_AHEAD  # a weekly bar begins a week before
        self._signals: dict[tuple[str, datetime], list[Signal]] = defaultdict(list)
        for signal in Signal.objects.filter(run__account=owner.pk, bar_time__range=bounds).order_by(
            "pk"
        ):
            self._signals[signal.run_id, signal.bar_time].append(signal)

    def of(self, run: Run, bar_time: datetime, symbols: Sequence[str]) -> list[Signal]:
        signals = self._signals.get((run.pk, bar_time), ())
        return [signal for signal in signals if signal.symbol in symbols]


def _reading_runs(owner: User, first: datetime, last: datetime) -> Iterator[_ReadingRun]:
    """Yield the runs with sessions around these moments whose conditions read alerts."""
    days = first.astimezone(INDIA).date(), (last + _DAYS_AHEAD).astimezone(INDIA).date()
    sessions = SessionStart.objects.filter(run__account=owner.pk, day__range=days)
    ordered = sessions.select_related("run__algorithm").order_by("-run__started_at", "run", "day")
    for run, entered in groupby(ordered, attrgetter("run")):
        strategy = parse(run.configuration)
        if strategy.alert_names:
            stream = bar_streams.stream_of(strategy)
            bars = _used_bars(stream, list(_rows_of(run, stream, list(entered))))
            yield _ReadingRun(run, strategy, bars)


def _used_bars(stream: BarStream, rows: Sequence[BarRow]) -> Mapping[str, _UsedBars]:
    """Return the bars of each symbol that has any in these rows."""
    calendars, count, used = calendars_of(stream.symbols), len(stream.symbols), {}
    all_times = np.array([row.time for row in rows], np.int64)
    data = b"".join(bytes(row.bars) for row in rows)
    opens = unpack_bars(data, len(all_times) * count)[:, 0]
    has_bar = ~np.isnan(opens).reshape(len(all_times), count)
    for symbol, own in zip(stream.symbols, has_bar.T, strict=True):
        times = all_times[own]
        if len(times):
            since = int(times[0]) - _DAYS_AHEAD // timedelta(seconds=1)
            earlier = read_bars(symbol, stream.timeframe, start=since, end=int(times[0])).time[-1:]
            ends = bar_ends(np.append(earlier, times), stream.timeframe, calendars[symbol])
            used[symbol] = _UsedBars(times, ends if len(earlier) else np.append(times[:1], ends))
    return used


def _rows_of(run: Run, stream: BarStream, sessions: Sequence[SessionStart]) -> Iterator[BarRow]:
    """Yield the rows of sessions that the run was stepped by."""
    state = RunState.objects.filter(run=run.pk).first()
    for session in sessions:
        ends = midnight(session.day) + DAY
        rows = stream.rows.filter(time__gte=session.first_row, time__lt=ends)
        if state is not None:
            rows = rows.filter(time__lte=state.row_time or 0)
        elif run.released_at is not None:
            rows = rows.filter(used_at__lte=run.released_at)
        yield from rows.order_by("time").only("time", "bars")
