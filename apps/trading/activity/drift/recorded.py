"""The stored record of paper trading."""

from collections.abc import Sequence

from apps.core.times import midnight, moment
from apps.market.rulebook import calendars_of
from apps.trading.activity.drift.facts import (
    FillRecord,
    SessionRecord,
    SignalKey,
    SignalOutcome,
)
from apps.trading.models import BarRow, BarStream, Fill, Intent, SessionStart, Signal
from apps.trading.runs.bar_rows import row_as_used

_DAY = 86_400


def rows_used(stream: BarStream, session: SessionStart, *, last: int | None) -> Sequence[BarRow]:
    """Return the rows that the run processed, up to `last`, in order."""
    ends = midnight(session.day) + _DAY
    rows = stream.rows.filter(time__gte=session.first_row, time__lt=ends)
    if last is not None:
        rows = rows.filter(time__lte=last)
    elif session.run.released_at is not None:
        rows = rows.filter(used_at__lte=session.run.released_at)
    return list(rows.order_by("time"))


def recorded(session: SessionStart, stream: BarStream, rows: Sequence[BarRow]) -> SessionRecord:
    by_symbol = calendars_of([*stream.symbols, *stream.read_symbols])
    calendars = [by_symbol[symbol] for symbol in stream.symbols]
    facts = SessionRecord(session.first_row)
    for row in rows:
        facts.add_row(row_as_used(row, stream, calendars), stream, by_symbol)
    first, last = moment(session.first_row), moment(rows[-1].time)
    for signal in Signal.objects.filter(run=session.run, bar_time__range=(first, last)):
        key = SignalKey(int(signal.bar_time.timestamp()), signal.symbol, signal.action, signal.side)
        facts.signals[key] = SignalOutcome(signal.followed, signal.reason)
    fills = Fill.objects.filter(order__run=session.run, at__range=(first, last))
    for fill in fills.select_related("order").order_by("at", "pk"):
        order = fill.order
        reason = order.reason if order.intent == Intent.EXIT else ""
        execution = FillRecord(fill.quantity, fill.price, reason, fill.charges)
        facts.add_fill(int(fill.at.timestamp()), order.symbol, order.side, execution)
    return facts
