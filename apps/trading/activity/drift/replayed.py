"""The backtester's result for a session: the engine's own steps, from the run's state at its start,
over the candles stored now, without interventions.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from apps.algorithms.models import AlgorithmStatus
from apps.core.times import day_in_india, midnight
from apps.engine.candles import TIMEFRAME_SECONDS, Candles, Sessions
from apps.engine.live import BarSnapshot, SignalBits, save_state
from apps.market.candles import read_bars
from apps.market.rulebook import calendars_of, current_rule_set
from apps.trading.activity.drift.facts import (
    FillRecord,
    SessionRecord,
    SignalKey,
    SignalOutcome,
)
from apps.trading.booking.interpret import StepOutcome, interpret_step
from apps.trading.booking.record import POSITION_SIDES
from apps.trading.booking.step_result import BarStep
from apps.trading.live.step import RunContext, RunSnapshot, step_bar
from apps.trading.live.stream_cache import BarStreamCache
from apps.trading.models import BarRow, BarStream, Intent, SessionStart
from apps.trading.models.money import price
from apps.trading.runs.bar_rows import (
    UnreadCandles,
    has_in_rows,
    nominal_end,
    unpack_bars,
    visible_bars,
)


def replayed(
    stream: BarStream, sessions: Sequence[SessionStart], rows: Mapping[str, Sequence[BarRow]]
) -> Mapping[str, SessionRecord]:
    """Return the backtester's record of sessions of one day, keyed by run, over the rows that the
    runs processed.
    """
    first = min(session.first_row for session in sessions)
    goes_on = _goes_on([session for session in sessions if session.first_row == first])
    last = max(part[-1].time for part in rows.values())
    begun, rule_set = _from(stream, first, goes_on=goes_on), current_rule_set()
    hours = calendars_of([*stream.symbols, *stream.read_symbols], rule_set=rule_set)
    cache = BarStreamCache.create(begun, rule_set, hours)
    terms_cache = BarStreamCache.create(stream, rule_set, hours)
    replays = {session.run_id: _SessionReplay(session, stream, hours) for session in sessions}
    for row in _stored(stream, cache, first, last, used=_used_bars(stream, rows)):
        due = [
            session.run_id
            for session in sessions
            if session.first_row <= row.time <= rows[session.run_id][-1].time
        ]
        cache.open_window(row)
        evaluation = cache.evaluate(due, row)
        for context in evaluation.contexts:
            replay, terms = (
                replays[context.run.pk],
                terms_cache.terms_on(context, row, settles=bool(evaluation.changes.expiring)),
            )
            replay.add_step(
                row,
                step_bar(
                    replay.snapshot(context),
                    row,
                    evaluation.signals[context.signal_key],
                    terms,
                    evaluation.changes,
                ),
            )
        cache.stream.row_time = row.time
    return {run: replay.facts for run, replay in replays.items()}


def _goes_on(sessions: Sequence[SessionStart]) -> bool:
    """Return whether the stream had rows before this day that one of these runs processed."""
    earlier = SessionStart.objects.filter(day__lt=sessions[0].day)
    return earlier.filter(run__in=[session.run_id for session in sessions]).exists()


def _from(stream: BarStream, first: int, *, goes_on: bool) -> BarStream:
    """Return a copy of the stream with a segment that starts at its row at `first`: earlier bars
    are then read from the store. With `goes_on`, rows of earlier days come before it.
    """
    earlier = stream.rows.filter(time__lt=first).order_by("-time")
    if not goes_on:
        earlier = earlier.filter(time__gte=midnight(day_in_india(first)))
    copy = BarStream(
        pk=stream.pk,
        symbols=stream.symbols,
        timeframe=stream.timeframe,
        key=stream.key,
        include_out_of_session=stream.include_out_of_session,
        read_symbols=stream.read_symbols,
    )
    copy.segment_start, copy.row_time = first, earlier.values_list("time", flat=True).first()
    return copy


def _used_bars(
    stream: BarStream, rows: Mapping[str, Sequence[BarRow]]
) -> Mapping[int, NDArray[np.float64]]:
    """Return the bars of the rows that the runs processed, keyed by time."""
    used = {row.time: bytes(row.bars) for part in rows.values() for row in part}
    return {time: unpack_bars(bars, len(stream.symbols)) for time, bars in used.items()}


def _stored(
    stream: BarStream,
    cache: BarStreamCache,
    first: int,
    last: int,
    *,
    used: Mapping[int, NDArray[np.float64]],
) -> Iterable[BarSnapshot]:
    """Yield rows of all stored bars of these moments, and the empty rows among those `used`, which
    were inserted because time had passed.

    The bar of the last row is complete at its end, even if it is made of shorter bars and the last
    of those are missing.
    """
    without = [time for time, bars in used.items() if np.isnan(bars).all()]
    times, timeframe = np.array(without, np.int64), stream.timeframe
    over = nominal_end(last, timeframe, cache.calendars)
    series = [
        visible_bars(
            stream,
            read_bars(symbol, timeframe, start=first, end=last + 1, until=over),
            timeframe,
            calendar,
        ).between(first, max(first, ends))
        for symbol, calendar, ends in zip(
            stream.symbols, cache.calendars, cache.ends_of_contracts(), strict=True
        )
    ]
    unread = list(_unread(stream, cache, first, over))
    for time in np.unique(np.concatenate([times, *(bars.time for bars in series)])).tolist():
        bars = np.full((len(series), len(Candles.NUMBERS)), np.nan)
        for symbol, candles in enumerate(series):
            candle = candles.between(time, time + 1)
            if len(candle):
                bars[symbol] = [getattr(candle, name)[0] for name in Candles.NUMBERS]
        missing = np.isnan(used[time][:, 0]) if time in used else np.ones(len(series), np.bool_)
        late = frozenset(np.flatnonzero(missing & ~np.isnan(bars[:, 0])).tolist())
        closes = nominal_end(time, timeframe, cache.calendars)
        read = tuple(candles.take(time, closes) for candles in unread)
        yield BarSnapshot(time, closes, bars, late, read)


def _unread(
    stream: BarStream, cache: BarStreamCache, first: int, over: int
) -> Iterator[UnreadCandles]:
    """Yield the stored candles of each read symbol that ended after `first`, up to `over`."""
    for (symbol, timeframe), calendar in zip(stream.read_series, cache.read_calendars, strict=True):
        start = first - TIMEFRAME_SECONDS[timeframe] + 1
        end = over if has_in_rows(stream.timeframe, timeframe) else start
        bars = read_bars(symbol, timeframe, start=start, end=end, until=over)
        visible = visible_bars(stream, bars, timeframe, calendar)
        yield UnreadCandles(visible, timeframe, calendar, start, first)


class _SessionReplay:
    """The backtester's run through a session."""

    def __init__(
        self, session: SessionStart, stream: BarStream, calendars: Mapping[str, Sessions]
    ) -> None:
        self.facts = SessionRecord(session.first_row)
        self._stream, self._calendars = stream, calendars
        self._first_row, self._data = session.first_row, bytes(session.data)
        self._waiting: dict[str, SignalKey] = {}

    def snapshot(self, context: RunContext) -> RunSnapshot:
        """Return the run as active, without pending requests."""
        return RunSnapshot(
            context=context,
            data=self._data,
            row_time=None,
            peak=0.0,
            drawdown=0.0,
            drawdown_amount=0.0,
            status=AlgorithmStatus.ACTIVE,
            ended_at=None,
            close_requested_at=None,
            kill_switch_since=None,
            closing={},
            cancelled=(),
        )

    def add_step(self, row: BarSnapshot, step: BarStep) -> None:
        self._data = save_state(step.state)
        outcome = interpret_step(step)
        self.facts.add_row(row, self._stream, self._calendars)
        self._add_fills(outcome)
        self._settle_entries(outcome)
        self._add_signals(outcome, row.time)
        self.facts.undecided = frozenset(self._ignored_so_far(step))

    def _ignored_so_far(self, step: BarStep) -> Iterator[SignalKey]:
        """Return the entries that wait beside a position and count only if it is closed first.

        Their signals came at the position's last close.
        """
        pending = step.state.orders["pending"][:, 0]
        for index in np.flatnonzero(pending & SignalBits.ENTER).tolist():
            position, symbol = step.state.positions[index], step.symbols[index]
            if symbol not in self._waiting:
                side = "long" if pending[index] & SignalBits.ENTER_LONG else "short"
                yield SignalKey(int(position["time"]), symbol, "entry", side)

    def _add_fills(self, outcome: StepOutcome) -> None:
        for execution in outcome.executions:
            reason = execution.reason if execution.intent is Intent.EXIT else ""
            fill = FillRecord(execution.quantity, price(execution.price), reason, execution.charges)
            self.facts.add_fill(execution.time, execution.symbol, execution.side, fill)

    def _settle_entries(self, outcome: StepOutcome) -> None:
        """Record the outcome of the entries that waited."""
        for rejected in outcome.rejected:
            if rejected.by_distance:
                continue
            late = SignalKey(rejected.held_since, rejected.symbol, "entry", rejected.side)
            self._settle(late, SignalOutcome(False, rejected.reason))
        for execution in outcome.executions:
            by_signal = outcome.step.strategy.positionSizing.pyramiding.distance is None
            if execution.intent is Intent.ENTRY or (execution.intent is Intent.ADD and by_signal):
                side, since = POSITION_SIDES[execution.side], execution.held_since
                late = SignalKey(since, execution.symbol, "entry", side)
                self._settle(late, SignalOutcome(True, ""))

    def _settle(self, late: SignalKey, verdict: SignalOutcome) -> None:
        """Record the outcome of an entry at the bar of its signal.

        An entry that waited beside a position (`late`) is recorded at the last bar at the close of
        which that position was open. An entry that has waited since the session before belongs to
        that session.
        """
        key = self._waiting.pop(late.symbol, late)
        if key.time >= self._first_row:
            self.facts.signals[key] = verdict

    def _add_signals(self, outcome: StepOutcome, time: int) -> None:
        for signal in outcome.signals:
            key = SignalKey(time, signal.symbol, signal.action, signal.side)
            if signal.action == "entry" and not signal.reason:
                self._waiting[signal.symbol] = key
                self.facts.signals[key] = SignalOutcome(None, None)
            else:
                self.facts.signals[key] = SignalOutcome(not signal.reason, signal.reason)
