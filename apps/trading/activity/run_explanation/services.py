"""Explain a candle of a paper run: its conditions at the close, over the bars that the run used,
and the recorded outcome of its signal and its positions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from apps.accounts.models import User
from apps.alerts.services import alert_times
from apps.algorithms import services as algorithms
from apps.core.errors import Code, Fault, InvalidInput, ServiceError
from apps.core.times import day_in_india, moment
from apps.engine import (
    BarExplanation,
    EngineError,
    PositionExplanation,
    StrategyAtBar,
    SymbolSeries,
)
from apps.engine.language import parse
from apps.engine.live import SignalEvaluator
from apps.market.rulebook import calendars_of
from apps.trading.live.contract_terms import contract_terms_for
from apps.trading.live.indicator_window import build_indicator_window
from apps.trading.live.stream_cache import underlying_before
from apps.trading.models import (
    BarRow,
    BarStream,
    Intent,
    Order,
    OrderStatus,
    Position,
    Run,
    RunState,
    SessionStart,
    Signal,
    Trade,
)
from apps.trading.runs import bar_streams
from apps.trading.runs.bar_rows import row_as_used

# Outcomes of an entry beside the reasons that signals record.
ENTERED: Final = "entered"
WAITING: Final = "waiting"
NO_SIGNAL: Final = "no_signal"
NOT_RANKED: Final = "not_ranked"
BOTH_SIDES: Final = "both_sides"
UNKNOWN_RANGES: Final = "unknown_ranges"
POSITION_HELD: Final = "position_held"
NOT_RECORDED: Final = "not_recorded"

_BUYS: Final = {"long": "buy", "short": "sell"}


class NoCandleOfRun(ServiceError):
    """No run was stepped by a candle at that moment, or the candle is no longer kept."""

    code = Code.NOT_FOUND
    message = "No run of this algorithm has a candle of {symbol} that holds that moment."


class CannotBeExplained(ServiceError):
    """The steps, or the rules of the market, can no longer be read."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The candle cannot be explained: {reason}"


@dataclass(frozen=True, slots=True)
class EntryOutcome:
    """The outcome of an entry signal; `order` is the resulting order."""

    reason: str
    side: str | None = None
    order: Order | None = None


@dataclass(frozen=True, slots=True)
class HeldInCandle:
    """A position that was open in the candle; `trade` is None unless it ended there."""

    position: Position
    trade: Trade | None
    explanation: PositionExplanation


@dataclass(frozen=True, slots=True)
class RunExplanation:
    run: Run
    bar: BarExplanation
    entry: EntryOutcome
    positions: list[HeldInCandle]


@dataclass(frozen=True, slots=True)
class _SeenCandle:
    """The last candle of a symbol's series, as a run saw it."""

    run: Run
    at_bar: StrategyAtBar

    @property
    def series(self) -> SymbolSeries:
        return self.at_bar.series

    @property
    def time(self) -> int:
        return int(self.series.candles.time[0])


def explain_run(*, owner: User, algorithm_id: str, symbol: str, at: int) -> RunExplanation:
    """Explain the candle of a symbol that holds the moment `at` (epoch seconds).

    Raises AlgorithmNotFound, InvalidInput, NoCandleOfRun, CannotBeExplained.
    """
    algorithm = algorithms.read(owner=owner, algorithm_id=algorithm_id)
    entered = SessionStart.objects.filter(run__algorithm=algorithm, first_row__lte=at)
    session = entered.select_related("run").order_by("-first_row").first()
    if session is None:
        raise NoCandleOfRun(symbol=symbol)
    try:
        candle = _read_candle(session, symbol, at)
        signals, known = candle.at_bar.signals, candle.at_bar.ranges_known
        positions = [_explain_position(candle, position) for position in _positions_in(candle)]
    except EngineError as refusal:
        raise CannotBeExplained(reason=str(refusal)) from refusal
    return RunExplanation(
        run=candle.run,
        bar=candle.at_bar.explain(),
        entry=_entry_outcome(candle, signals, positions, known=known),
        positions=positions,
    )


def _read_candle(session: SessionStart, symbol: str, at: int) -> _SeenCandle:
    """Rebuild the bars that the run's indicators used at that candle."""
    run, strategy = session.run, parse(session.run.configuration)
    basic = strategy.basicInfo
    if symbol not in basic.symbols:
        raise InvalidInput(
            Fault("symbol", "is not a symbol of this run", symbol, allowed=basic.symbols)
        )
    stream = bar_streams.stream_of(strategy)
    by_symbol = calendars_of([*stream.symbols, *stream.read_symbols])
    calendars = [by_symbol[name] for name in stream.symbols]
    read_calendars = [by_symbol[name] for name, _ in stream.read_series]
    row, index = _row_at(stream, session, at), basic.symbols.index(symbol)
    if row is None:
        raise NoCandleOfRun(symbol=symbol)
    snapshot = row_as_used(row, stream, calendars)
    closes = snapshot.closes
    if at >= closes or not snapshot.has(index):
        raise NoCandleOfRun(symbol=symbol)
    segment_start = _segment_start(stream, session, row.time)
    window = build_indicator_window(
        stream, [*calendars, *read_calendars], segment_start=segment_start, before=snapshot.time
    )
    window.add(snapshot)
    terms = contract_terms_for(strategy, stream, snapshot, first=day_in_india(segment_start))
    calendar = terms.calendars[index]
    aligned = window.aligned(index, strategy.aligned_sources, calendar, closes=closes)
    used = window.bars(index)
    last, no_flags = used.slice(len(used) - 1, len(used)), np.empty(0, np.uint8)
    alerts = alert_times(
        owner_id=run.account_id, names=strategy.alert_names, symbols=[symbol], until=closes
    )
    series = SymbolSeries(symbol, used, last, no_flags, aligned, calendar, alerts=alerts[symbol])
    contract, bar = terms.contracts[index], len(used) - 1
    underlying_of = partial(underlying_before, stream.symbols, snapshot)
    evaluator = SignalEvaluator(window, stream.symbols, snapshot, underlying_of)
    ranking = evaluator.ranking(strategy, terms)
    return _SeenCandle(run, StrategyAtBar.of(strategy, contract, series, bar, ranking))


def _row_at(stream: BarStream, session: SessionStart, at: int) -> BarRow | None:
    """Return the last row up to the moment that the run processed."""
    rows = stream.rows.filter(time__gte=session.first_row, time__lte=at)
    state = RunState.objects.filter(run=session.run_id).first()
    if state is not None:
        rows = rows.filter(time__lte=state.row_time or 0)
    elif session.run.released_at is not None:
        rows = rows.filter(used_at__lte=session.run.released_at)
    return rows.order_by("-time").first()


def _segment_start(stream: BarStream, session: SessionStart, time: int) -> int:
    """Return the start of the row's segment.

    The start of an earlier segment is no longer known; bars before the session are then the stored
    ones.
    """
    start = stream.segment_start
    return session.first_row if start is None or time < start else start


def _entry_outcome(
    candle: _SeenCandle,
    signals: Sequence[str],
    positions: list[HeldInCandle],
    *,
    known: bool,
) -> EntryOutcome:
    """Return the recorded outcome of the signal, or the reason why there is none."""
    recorded = list(
        Signal.objects.filter(
            run=candle.run,
            symbol=candle.series.symbol,
            bar_time=moment(candle.time),
            action="entry",
        ).order_by("side")
    )
    if len(recorded) == 1:
        return _recorded_outcome(candle, recorded[0])
    if signals and known and not recorded and not candle.at_bar.is_picked:
        return EntryOutcome(NOT_RANKED, signals[0] if len(signals) == 1 else None)
    if recorded or len(signals) > 1:
        return EntryOutcome(BOTH_SIDES)
    if not signals:
        return EntryOutcome(NO_SIGNAL)
    if not known:
        return EntryOutcome(UNKNOWN_RANGES)
    is_held = any(held.trade is None for held in positions)
    return EntryOutcome(POSITION_HELD if is_held else NOT_RECORDED, signals[0])


def _recorded_outcome(candle: _SeenCandle, signal: Signal) -> EntryOutcome:
    orders = Order.objects.filter(
        run=candle.run,
        symbol=signal.symbol,
        bar_time=signal.bar_time,
        side=_BUYS[signal.side],
        intent__in=(Intent.ENTRY, Intent.ADD),
    )
    order = orders.prefetch_related("fills").first()
    if not signal.followed:
        return EntryOutcome(signal.reason, signal.side, order)
    is_open = order is not None and order.status == OrderStatus.OPEN
    return EntryOutcome(WAITING if is_open else ENTERED, signal.side, order)


def _positions_in(candle: _SeenCandle) -> list[Position]:
    """Return the positions that were open in the candle, including one closed at its open."""
    time = moment(candle.time)
    rows = Position.objects.filter(
        run=candle.run, symbol=candle.series.symbol, opened_at__lte=time
    ).exclude(closed_at__lt=time)
    return list(rows.order_by("opened_at"))


def _explain_position(candle: _SeenCandle, position: Position) -> HeldInCandle:
    trade = Trade.objects.filter(
        run=candle.run,
        symbol=position.symbol,
        entry_time=position.opened_at,
        exit_time=moment(candle.time),
    ).first()
    return HeldInCandle(
        position=position,
        trade=trade,
        explanation=candle.at_bar.explain_position(
            "long" if position.quantity > 0 else "short",
            entered=int(position.opened_at.timestamp()),
            price=float(position.entry_price),
        ),
    )
