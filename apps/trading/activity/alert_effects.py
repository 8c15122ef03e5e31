"""What received alerts did: the signals of the candles in which they were received."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Final

import numpy as np

from apps.accounts.models import User
from apps.alerts.models import ReceivedAlert
from apps.core.times import INDIA, midnight, moment
from apps.engine.candles import DAY, Sessions
from apps.engine.language import Strategy, parse
from apps.market.candles import read_bars
from apps.market.rulebook import calendars_of
from apps.trading.models import BarStream, Run, RunState, SessionStart, Signal
from apps.trading.runs import bar_streams
from apps.trading.runs.bar_rows import nominal_end

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


@dataclass(frozen=True, slots=True)
class _ReadingRun:
    """A run that reads alerts: the starts of the rows that it was stepped by, and the ends of these
    and of the bar before them.
    """

    run: Run
    strategy: Strategy
    times: Sequence[int]
    ends: Sequence[int]

    def row_of(self, alert: ReceivedAlert) -> int | None:
        """Return the start of the row at whose close the alert counted, None without one."""
        index = int(np.searchsorted(self.ends, alert.received_at.timestamp()))
        return self.times[index - 1] if 0 < index < len(self.ends) else None

    def symbols_of(self, alert: ReceivedAlert) -> Sequence[str]:
        """Return the symbols for which it reads the alert."""
        if alert.name not in self.strategy.alert_names:
            return ()
        symbols = self.strategy.basicInfo.symbols
        return [symbol for symbol in symbols if alert.symbol in ("", symbol)]


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
            symbols, time = reader.symbols_of(alert), reader.row_of(alert)
            if symbols and time is not None:
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
            times = list(_rows_of(run, stream, list(entered)))
            by_symbol = calendars_of(stream.symbols)
            calendars = [by_symbol[symbol] for symbol in stream.symbols]
            ends = [nominal_end(time, stream.timeframe, calendars) for time in times]
            if times:
                before = _end_of_bar_before(stream, times[0], calendars)
                yield _ReadingRun(run, strategy, times, [before, *ends])


def _end_of_bar_before(stream: BarStream, time: int, calendars: Sequence[Sessions]) -> int:
    """Return the end of the newest bar before a row; the row's start without any."""
    since = time - _DAYS_AHEAD // timedelta(seconds=1)
    starts = [
        start
        for symbol in stream.symbols
        for start in read_bars(symbol, stream.timeframe, start=since, end=time).time[-1:].tolist()
    ]
    return nominal_end(max(starts), stream.timeframe, calendars) if starts else time


def _rows_of(run: Run, stream: BarStream, sessions: Sequence[SessionStart]) -> Iterator[int]:
    """Yield the starts of the rows of sessions that the run was stepped by."""
    state = RunState.objects.filter(run=run.pk).first()
    for session in sessions:
        ends = midnight(session.day) + DAY
        rows = stream.rows.filter(time__gte=session.first_row, time__lt=ends)
        if state is not None:
            rows = rows.filter(time__lte=state.row_time or 0)
        elif run.released_at is not None:
            rows = rows.filter(used_at__lte=run.released_at)
        yield from rows.order_by("time").values_list("time", flat=True)
