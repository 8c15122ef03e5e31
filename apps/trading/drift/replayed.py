"""What the backtester makes of a session: the engine's own steps, from the state in which the run
began it, over the candles that are stored now, with nobody stepping in.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from apps.algorithms.lifecycle import Status
from apps.engine.kernel.codes import ENTER, ENTER_LONG
from apps.engine.kernel.records import save
from apps.market import rule_sets, store
from apps.market.calendars import calendars_of
from apps.market.dates import day_in_india, midnight
from apps.trading.bar_rows import PRICES, Row, nominal_end, unpacked, visible_bars
from apps.trading.booking.interpret import Outcome, outcome_of
from apps.trading.booking.record import SIDES
from apps.trading.drift.facts import Bar, Execution, Facts, SignalKey, Verdict
from apps.trading.live.step import Member, Standing, play
from apps.trading.live.stream_cache import Desk
from apps.trading.models import Intent, Lane, LaneRow, SessionStart
from apps.trading.money import price
from apps.trading.step_result import Step


def replayed(
    lane: Lane, sessions: Sequence[SessionStart], rows: Mapping[str, Sequence[LaneRow]]
) -> Mapping[str, Facts]:
    """By run: of each the rows that it went through are played. The sessions are of one day."""
    first = min(session.first_row for session in sessions)
    goes_on = _goes_on([one for one in sessions if one.first_row == first])
    last = max(part[-1].time for part in rows.values())
    begun, book = _from(lane, first, goes_on=goes_on), rule_sets.current_rule_set()
    hours = calendars_of(lane.symbols, book=book)
    desk, terms_desk = Desk.of(begun, book, hours), Desk.of(lane, book, hours)
    playing = {one.run_id: _Playing(one) for one in sessions}
    for row in _stored(lane, desk, first, last, without=_without_bars(lane, rows)):
        due = [
            session.run_id
            for session in sessions
            if session.first_row <= row.time <= rows[session.run_id][-1].time
        ]
        desk.open_window(row)
        view = desk.view(due, row)
        for member in view.members:
            one, terms = playing[member.run.pk], terms_desk.terms_on(member, row)
            one.went(
                row, play(one.standing(member), row, view.cues[member.ear], terms, view.changes)
            )
        desk.lane.row_time = row.time
    return {run: one.facts for run, one in playing.items()}


def _goes_on(sessions: Sequence[SessionStart]) -> bool:
    """Whether the lane had rows before this day: one of these runs has been through some."""
    earlier = SessionStart.objects.filter(day__lt=sessions[0].day)
    return earlier.filter(run__in=[one.run_id for one in sessions]).exists()


def _from(lane: Lane, first: int, *, goes_on: bool) -> Lane:
    """The lane as it was before its row at `first`, had its stretch begun there: what is read of
    earlier bars is then what is stored of them. Rows of earlier days came before it if it
    `goes_on`.
    """
    earlier = lane.rows.filter(time__lt=first).order_by("-time")
    if not goes_on:
        earlier = earlier.filter(time__gte=midnight(day_in_india(first)))
    copy = Lane(
        pk=lane.pk, symbols=lane.symbols, timeframe=lane.timeframe, key=lane.key,
        include_out_of_session=lane.include_out_of_session,
    )  # fmt: skip
    copy.began, copy.row_time = first, earlier.values_list("time", flat=True).first()
    return copy


def _without_bars(lane: Lane, rows: Mapping[str, Sequence[LaneRow]]) -> Collection[int]:
    """The rows that were put there because time had passed."""
    count = len(lane.symbols)
    used = {row.time: bytes(row.bars) for part in rows.values() for row in part}
    return [time for time, bars in used.items() if np.isnan(unpacked(bars, count)).all()]


def _stored(
    lane: Lane, desk: Desk, first: int, last: int, *, without: Collection[int]
) -> Iterable[Row]:
    """Rows of all bars that are stored of these moments, and those `without` any. When the last row
    was over its bar was there, be it made of shorter ones of which the last are missing.
    """
    times, timeframe = np.array(list(without), np.int64), lane.timeframe
    over = nominal_end(last, timeframe, desk.calendars)
    series = [
        visible_bars(
            lane,
            store.read(symbol, timeframe, start=first, end=last + 1, until=over),
            timeframe,
            calendar,
        )
        for symbol, calendar in zip(lane.symbols, desk.calendars, strict=True)
    ]
    for time in np.unique(np.concatenate([times, *(bars.time for bars in series)])).tolist():
        bars = np.full((len(series), len(PRICES)), np.nan)
        for symbol, candles in enumerate(series):
            found = candles.between(time, time + 1)
            if len(found):
                bars[symbol] = [getattr(found, name)[0] for name in PRICES]
        yield Row(time, nominal_end(time, timeframe, desk.calendars), bars)


class _Playing:
    """A run on its way through the session."""

    def __init__(self, session: SessionStart) -> None:
        self.facts = Facts()
        self._first_row, self._data = session.first_row, bytes(session.data)
        self._waiting: dict[str, SignalKey] = {}

    def standing(self, member: Member) -> Standing:
        """Active, and nothing is wanted of it."""
        return Standing(
            member=member, data=self._data, row_time=None, peak=0.0, drawdown=0.0,
            drawdown_amount=0.0, status=Status.ACTIVE, ended_at=None, close_asked_at=None,
            halted_since=None, closing={}, cancelled=(),
        )  # fmt: skip

    def went(self, row: Row, step: Step) -> None:
        self._data = save(step.state)
        outcome, symbols = outcome_of(step), step.strategy.basicInfo.symbols
        for at in filter(row.has, range(len(symbols))):
            self.facts.bars[row.time, symbols[at]] = Bar(*row.bars[at].tolist())
        self._fills(outcome)
        self._verdicts(outcome)
        self._signals(outcome, row.time)
        self.facts.undecided = frozenset(self._ignored_so_far(step))

    def _ignored_so_far(self, step: Step) -> Iterator[SignalKey]:
        """Entries that wait beside a position and are told only if that is closed first. They were
        signalled at the position's last close.
        """
        symbols = step.strategy.basicInfo.symbols
        for index in np.flatnonzero(step.state.positions["pending"] & ENTER).tolist():
            position, symbol = step.state.positions[index], symbols[index]
            if symbol not in self._waiting:
                side = "long" if position["pending"] & ENTER_LONG else "short"
                yield SignalKey(int(position["time"]), symbol, "entry", side)

    def _fills(self, outcome: Outcome) -> None:
        for one in outcome.executions:
            reason = one.reason if one.intent is Intent.EXIT else ""
            execution = Execution(one.quantity, price(one.price), reason, one.charges)
            self.facts.add_fill(one.time, one.symbol, one.side, execution)

    def _verdicts(self, outcome: Outcome) -> None:
        """What became of the entries that waited."""
        for one in outcome.refused:
            recalled = SignalKey(one.held_since, one.symbol, "entry", one.side)
            self._settle(recalled, Verdict(False, one.reason))
        for execution in outcome.executions:
            if execution.intent is not Intent.EXIT:
                side, since = SIDES[execution.side], execution.held_since
                recalled = SignalKey(since, execution.symbol, "entry", side)
                self._settle(recalled, Verdict(True, ""))

    def _settle(self, recalled: SignalKey, verdict: Verdict) -> None:
        """Of what waited since it was heard; else beside a position, and then since the last bar at
        whose close that was held. What waited since the session before is told of that one.
        """
        key = self._waiting.pop(recalled.symbol, recalled)
        if key.time >= self._first_row:
            self.facts.signals[key] = verdict

    def _signals(self, outcome: Outcome, time: int) -> None:
        for one in outcome.heard:
            key = SignalKey(time, one.symbol, one.action, one.side)
            is_open = one.action == "entry" and not one.reason
            if is_open:
                self._waiting[one.symbol] = key
            verdict = Verdict(None, None) if is_open else Verdict(not one.reason, one.reason)
            self.facts.signals[key] = verdict
